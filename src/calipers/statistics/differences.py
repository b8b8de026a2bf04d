"""How differences of two systems on the same units are spread, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic
from calipers.statistics.histogram import Histogram

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: How many values are above 0, equal to it and below.
Signs: TypeAlias = tuple[int, int, int]

#: Values are equal that differ by no more of the largest.
ROUNDING = 1e-9


@dataclass(frozen=True)
class MajorityValue(Statistic):
    """The value that more than half of some rows have, but for rounding, if there is one, and how
    many of the rows among which it was ``counted`` have it. ``size`` is the largest of all values.

    Each batch counts its median, which is that value where more than half of its rows have it. By
    how many these are more than the others is the ``margin``, which others take away (Boyer and
    Moore 1991): where none is left no value is that common. Where the one that is left was not
    counted in every batch, it is not ``certain``, and ``known`` when the rows are looked at anew.

    >>> one, two = np.array([0.0, 0.0, 0.5]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> both = MajorityValue.of(one) + MajorityValue.of(two)
    >>> both.certain, (MajorityValue.of(one, both) + MajorityValue.of(two, both)).others
    (False, 3)
    """

    rows: int
    size: float
    value: float
    held: int
    counted: int
    margin: int

    @classmethod
    def from_values(cls, values: FloatArray, known: Self | None = None) -> Self:
        """Of values, all of them finite."""
        n = len(values)
        size = float(np.abs(values).max(initial=0.0)) if known is None else known.size
        value = known.value if known else float(np.median(values)) if n else 0.0
        held = int(np.count_nonzero(np.abs(values - value) <= ROUNDING * size))
        return cls(n, size, value, held, n, max(2 * held - n, 0))

    def __add__(self, other: Self) -> Self:
        most, least = (self, other) if self.margin >= other.margin else (other, self)
        size = max(self.size, other.size)
        made = replace(most, rows=self.rows + other.rows, size=size)
        if abs(most.value - least.value) > ROUNDING * size:
            return replace(made, margin=most.margin - least.margin)
        return replace(
            made,
            held=most.held + least.held,
            counted=most.counted + least.counted,
            margin=most.margin + least.margin,
        )

    @property
    def is_certain(self) -> bool:
        """Whether it is known how many rows have another value."""
        return not self.margin or self.counted == self.rows

    @property
    def n_others(self) -> int:
        """How many rows have another value; all of them where none is that common."""
        return self.rows - self.held if 2 * self.held > self.rows else self.rows


def count_signs(values: FloatArray, times: FloatArray | None = None) -> Signs:
    """How many values are above 0, equal to it and below, each of them so many ``times``.

    >>> count_signs(np.array([0.5, 0.0, -0.25, 1.0]))
    (2, 1, 1)
    >>> count_signs(np.array([0.5, 0.0]), times=np.array([3.0, 2.0]))
    (3, 2, 0)
    """
    above, equal, below = (
        int(np.count_nonzero(side) if times is None else round(times[side].sum()))
        for side in (values > 0, values == 0, values < 0)
    )
    return above, equal, below


def _sum_of_signs(one: Signs | None, other: Signs | None) -> Signs | None:
    """Those of both, where they are known of both."""
    if one is None or other is None:
        return None
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@dataclass(frozen=True, eq=False)
class UnitDifferences(Statistic):
    """Values of units whose mean a difference of two systems is, but for what they have in common:
    how they are spread, and how many differ at all. Of values of units these are those that are
    not 0 (``nonzero``); of how much each row moves the difference, those that do so otherwise than
    most rows, of either class. ``signs`` are how many units have a value above 0, none and one
    below, where units have values that can be compared one by one. ``exact`` says whether the
    difference is their mean, so that none is beyond the largest difference there can be.

    >>> UnitDifferences.of_values(np.array([0.0, 0.5, 0.0, -0.25])).differing
    2
    >>> UnitDifferences.of_rows(np.array([-0.1, 0.3, -0.1, -0.1])).differing
    1
    """

    spread: Histogram
    nonzero: int | None = None
    classes: tuple[MajorityValue, ...] = ()
    signs: Signs | None = None
    exact: bool = False

    @classmethod
    def from_values(cls, values: FloatArray, weight: FloatArray | None = None) -> Self:
        """Of differences of values of units."""
        spread = Histogram.from_rows(values, weight)
        sizes = np.abs(values)
        with np.errstate(invalid="ignore"):
            differ = int(np.count_nonzero(sizes > ROUNDING * sizes.max(initial=0.0)))
        return cls(spread, differ, signs=count_signs(values), exact=True)

    @classmethod
    def from_signs(cls, signs: Signs) -> Self:
        """Of units that are compared one by one and no more."""
        return cls(Histogram.from_rows(np.zeros(0)), signs=signs)

    @classmethod
    def from_rows(
        cls,
        values: FloatArray,
        weight: FloatArray | None = None,
        positive: npt.NDArray[np.bool_] | None = None,
        *,
        exact: bool = False,
        known: Sequence[MajorityValue] = (),
    ) -> Self:
        """Of how much each row moves a difference, times what all weigh; with the commonest values
        of all rows, where these are ``known``."""
        spread = Histogram.from_rows(values, weight)
        if not spread.is_bounded:
            return cls(spread, exact=exact)
        classes: list[Any] = [slice(None)] if positive is None else [positive, ~positive]
        found = zip(classes, known or (None, None), strict=False)
        common = tuple(MajorityValue.from_values(values[rows], of) for rows, of in found)
        return cls(spread, None, common, exact=exact)

    @property
    def is_certain(self) -> bool:
        """Whether it is known how many units differ."""
        return all(of.is_certain for of in self.classes)

    @property
    def differing(self) -> int:
        """How many units differ."""
        return sum(of.n_others for of in self.classes) if self.nonzero is None else self.nonzero

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.average(self.spread.mean, weights=self.spread.sums))

    def __add__(self, other: Self) -> Self:
        classes: Any = self.classes or other.classes
        if self.classes and other.classes:
            classes = tuple(a + b for a, b in zip(self.classes, other.classes, strict=True))
        return replace(
            self,
            spread=self.spread + other.spread,
            nonzero=_add_known(self.nonzero, other.nonzero),
            classes=classes,
            signs=_sum_of_signs(self.signs, other.signs),
        )

    def with_unit_weights(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        return replace(self, spread=self.spread.with_unit_weights(weight))


def _add_known(one: int | None, other: int | None) -> int | None:
    """The sum of what is known of both."""
    return None if one is None or other is None else one + other
