"""One number with its interval, and the difference of two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from calipers.results.serialization import BRIEF, NAN, OWN, Choices, Count, JsonSerializable, Level

#: The name of a system that was given without one.
UNNAMED = "system"
#: The only set of raters, where it has none.
ALL_RATERS = "raters"

#: What each reason for a missing interval means.
NO_INTERVAL = {
    "area_at_its_limit": "the area is 0 or 1",
    "degenerate_replicates": "more than 5% of the bootstrap replicates have no value",
    "undefined_replicates": "of tables as likely as the rows make them some have no value",
    "replicates_on_one_side": "all bootstrap replicates lie on one side of the value, or nearly so",
    "largest_of_rows": "how much larger errors can be than the largest seen cannot be known",
    "two_pairs": "two pairs of points decide, and nothing says how other points would lie",
    "no_spread": "nothing varies: all units, or all replicates, have one value",
    "too_few_rows": "fewer than two rows",
    "one_class": "the rows are all of one class",
    "too_few_units": "fewer than two units",
    "too_few_clusters": "fewer than two clusters",
    "too_few_replicates": "too few replicates, or units, for a limit at this level",
    "nothing_differs": "the two systems do not differ on any unit",
    "empty_complement": "there are no other rows to compare with",
    "undefined_value": "the value itself is undefined",
    "conventional_value": "the value stands by agreement where there is none",
    "not_requested": "no interval was asked for",
    "no_analytic_interval": "there is no analytic interval for this measure",
    "one_pass": "the input can be read only once, and this interval takes a second look",
    "no_interval_of_test": "no interval belongs to this test",
    "known_constant": "known beforehand; nothing is estimated",
    "exact_count": "a count of what is there; nothing is estimated",
    "p_value": "a test's statistic or p-value is no estimate of anything",
    "too_few_for_quantile": "too few units lie beyond the quantile",
    "of_system": "one number for the whole system; nothing is estimated",
    "no_rows_behind": "of how many rows the points are is not known",
    "one_value_an_item": "one value an item leaves nothing to resample",
    "too_few_folds": "fewer than two folds have a value",
    "no_mean_of_losses": "nested cross-validation takes means of a loss per row, and this is none",
}


@dataclass(frozen=True, slots=True)
class Estimate(JsonSerializable):
    """One number with its interval.

    ``n`` is how many units (rows or topics) the value is made of, ``of`` how many there were;
    ``undefined`` counts the others by reason. When the value itself is undefined, ``value`` is NaN
    and ``undefined`` says why. When only the interval is missing, ``no_interval`` says why.
    ``standard_error`` is the one behind the interval; ``default`` what the best constant answer
    would score, where such an answer exists.
    ``lower_bound`` and ``upper_bound`` say between which values judging the rest could move
    ``value``, where that was asked for; ``possible`` is then ``"exact"``, or ``"bound"`` where the
    two may be wider than need be.
    ``threshold`` is where a measure of scores that is read off one threshold is attained; +∞ where
    nothing is predicted positive. ``out_of_bag`` is the value on rows that the threshold was not
    chosen on, where a rule chose it on these; the ``optimism`` of choosing lies between
    ``optimism_low`` and ``optimism_high``.
    Of cross-validation ``value`` is averaged over folds, and ``pooled`` is that of the out-of-fold
    predictions of all rows together; it has no interval of its own, as one of rows would be too
    short: models of different folds share training rows.
    """

    measure: str
    value: float
    low: float = NAN
    high: float = NAN
    level: Level = 0.95
    method: str = "none"
    n: Count = 0
    n_total: Count = 0
    unit: str = "rows"
    undefined: Mapping[str, Count] = field(default_factory=dict)
    interval_reason: str | None = None
    standard_error: float = NAN
    no_skill: float = NAN
    system: str = field(default="", metadata=BRIEF)
    lower_bound: float = field(default=NAN, metadata=BRIEF)
    upper_bound: float = field(default=NAN, metadata=BRIEF)
    bounds_kind: Annotated[str, Choices(("sharp", "outer"))] | None = field(
        default=None, metadata=BRIEF
    )
    threshold: float = field(default=NAN, metadata=BRIEF)
    out_of_bag: float = field(default=NAN, metadata=BRIEF)
    optimism_low: float = field(default=NAN, metadata=BRIEF)
    optimism_high: float = field(default=NAN, metadata=BRIEF)
    pooled: float = field(default=NAN, metadata=BRIEF)
    # The name that the measure was asked for by, where that is another one.
    requested_name: str = field(default="", repr=False, compare=False, metadata=OWN)

    @property
    def display_name(self) -> str:
        """What people are to see the measure called."""
        return self.requested_name or self.measure

    @property
    def optimism(self) -> float:
        """By how much ``value`` exceeds ``out_of_bag``."""
        return self.value - self.out_of_bag

    @property
    def has_interval(self) -> bool:
        """Whether there are limits to show."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Limits the wrong way round."""
        yield from _check_order(self, "low", "high")
        yield from _check_order(self, "lower_bound", "upper_bound")

    def __str__(self) -> str:
        from calipers.report.headlines import estimate_sentence

        return estimate_sentence(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import estimate

        return estimate(self)


@dataclass(frozen=True, slots=True)
class Difference(JsonSerializable):
    """``system`` minus ``baseline`` on the same units: its interval, and a test of no difference.

    ``p`` is two-sided unless ``alternative`` says otherwise; ``p_adjusted`` accounts for the other
    differences of the same :class:`Comparison`. ``effect`` is Hedges' g for paired data. ``wins``,
    ``ties`` and ``losses`` count units on which the system is better, equal or worse by the
    measure's own direction. ``standard_error`` is that of ``value``, ``detectable`` the smallest
    true difference that a two-sided test at ``level`` would have found with a probability of 80%.
    ``differing`` counts units on which the two differ at all, where that is known; of clusterings,
    points that are in another cluster.
    Where a ``margin`` was stated, ``p_not_inferior`` is small where ``system`` is shown to be worse
    by less than the margin, ``p_equivalent`` where the two are shown to differ by less than it;
    both are adjusted, and ``margin_test`` names the test behind them. Fields that do not apply are
    NaN or None.
    """

    measure: str
    system: str
    baseline: str
    value: float
    low: float = NAN
    high: float = NAN
    level: Level = 0.95
    method: str = "none"
    p: float = NAN
    test: str = "none"
    alternative: str = "two-sided"
    p_adjusted: float = NAN
    effect_size: float = NAN
    wins: Count | None = None
    ties: Count | None = None
    losses: Count | None = None
    differing: Count | None = None
    n: Count = 0
    unit: str = "rows"
    undefined: Mapping[str, Count] = field(default_factory=dict)
    interval_reason: str | None = None
    higher_is_better: bool | None = None
    standard_error: float = NAN
    min_detectable: float = NAN
    margin: float = NAN
    p_noninferiority: float = NAN
    p_equivalence: float = NAN
    margin_test: str | None = None
    # As of an estimate.
    requested_name: str = field(default="", repr=False, compare=False, metadata=OWN)

    @property
    def display_name(self) -> str:
        """What people are to see the measure called."""
        return self.requested_name or self.measure

    @property
    def has_interval(self) -> bool:
        """Whether there are limits to show."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Limits the wrong way round, and p-values that are none."""
        yield from _check_order(self, "low", "high")
        yield from no_probabilities(self, "p", "p_adjusted", "p_noninferiority", "p_equivalence")

    def __str__(self) -> str:
        from calipers.report.verdict import sentence

        # What a p-value is adjusted for is known to the comparison only.
        return sentence(self, adjusted="" if self.p == self.p_adjusted else "adjusted ")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import difference

        return difference(self)


def no_probabilities(result: Any, *names: str) -> Iterator[tuple[str, str]]:
    """Fields that hold neither a number between 0 and 1 nor none."""
    for name in names:
        value = getattr(result, name)
        if value < 0 or value > 1:
            yield name, f"expected a number between 0 and 1 or null, found {value:g}"


def _check_order(result: Estimate | Difference, low: str, high: str) -> Iterator[tuple[str, str]]:
    lowest, highest = getattr(result, low), getattr(result, high)
    if lowest > highest:
        yield low, f"{lowest} lies above {high}, {highest}"
