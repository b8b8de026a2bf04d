"""Formatting of findings: systems, classes, lists, and numbers with the digits they support."""

from __future__ import annotations

import math
from collections.abc import Iterable

from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.lazy_dataclasses import dataclass
from calipers.report import numbers
from calipers.report.safe_names import join_words, shorten_name
from calipers.results.estimate import DEFAULT_SYSTEM_NAME, RATER_SET_NAME, Difference, Estimate


@dataclass(frozen=True, slots=True)
class IntervalNumber:
    """Number and its interval, formatted with the digits that the interval supports.

    A difference, ``f"{gain:+}"``, is formatted with the digits that its sign needs.

    Parameters
    ----------
    value : float
        The number.
    low, high : float
        Limits of the interval, NaN without an interval.
    """

    value: float
    low: float
    high: float

    @classmethod
    def from_estimate(cls, estimate: Estimate | Difference) -> IntervalNumber:
        """Return the number of an estimate or a difference.

        Parameters
        ----------
        estimate : Estimate or Difference
            Estimate, which may lack an interval.

        Returns
        -------
        IntervalNumber
            Its value and confidence limits.
        """
        return cls(estimate.value, estimate.low, estimate.high)

    @classmethod
    def from_interval(cls, value: float, interval: Interval) -> IntervalNumber:
        """Return a number with an interval.

        Parameters
        ----------
        value : float
            The number.
        interval : Interval
            Interval of the number.

        Returns
        -------
        IntervalNumber
            Number with the limits of the interval.
        """
        return cls(value, interval.low, interval.high)

    def __format__(self, spec: str) -> str:
        triple = self.value, self.low, self.high
        return numbers.rounding([triple], keep_sign=spec == "+").value_with_interval(*triple)

    def __neg__(self) -> IntervalNumber:
        return IntervalNumber(-self.value, -self.high, -self.low)

    def __sub__(self, other: IntervalNumber) -> IntervalNumber:
        """Return the difference of two independent numbers."""
        a, b = self.value, other.value
        return IntervalNumber.from_interval(
            a - b, intervals.mover_interval(a, self._interval, b, other._interval)
        )

    @property
    def _interval(self) -> Interval:
        return Interval(self.low, self.high, "")


def system_subject(system: str) -> str:
    """Return the name of a system at the start of a sentence."""
    return {DEFAULT_SYSTEM_NAME: "The system", RATER_SET_NAME: "The raters"}.get(
        system, shorten_name(system)
    )


def system_name(system: str) -> str:
    """Return the name of a system within a sentence."""
    return {DEFAULT_SYSTEM_NAME: "the system", RATER_SET_NAME: "the raters"}.get(
        system, shorten_name(system)
    )


def quote(label: object) -> str:
    """Return a class, a label or a slice as in a sentence."""
    return f"'{shorten_name(label)}'"


def round_count(number: float) -> str:
    """Format a count, rounded up to two significant digits."""
    exponent = max(0, math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / 10**exponent) * 10**exponent:,}"


def format_first(items: Iterable[str], max_items: int = 3) -> str:
    """Format the first texts of a list, and how many more there are."""
    listed = list(items)
    n_others = len(listed) - max_items
    return join_words([*listed[:max_items], f"{n_others} more"] if n_others > 0 else listed)


def format_proportions(proportions: Iterable[tuple[str, IntervalNumber]]) -> str:
    """Format the first classes or labels with their proportions: ``'a' (0.01 of the rows)``."""
    listed = (
        f"{label} ({value}{'' if k else ' of the rows'})"
        for k, (label, value) in enumerate(proportions)
    )
    return format_first(listed)
