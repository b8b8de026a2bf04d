"""Distribution of the differences of two systems on the same units, in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic
from calipers.statistics.histogram import Histogram
from calipers.statistics.moments import Moments

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: Numbers of values above 0, equal to 0 and below 0.
Signs: TypeAlias = tuple[int, int, int]

#: Largest difference of equal values, relative to the larger one.
RELATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class MajorityValue(Statistic):
    """Majority value of some rows: the one that more than half of them have, if there is one.

    Values are equal if they differ by no more than rounding. Each batch counts its median, which is
    the majority value if more than half of its rows have it. The ``margin`` by which these rows
    outnumber the others is reduced by rows with other values (Boyer and Moore 1991): if nothing
    remains of it, there is no majority. If the remaining value was not counted in every batch, or
    with a tolerance that is too small among all rows, the count is not ``is_certain``; it is if the
    value is given as ``known_value`` in a second pass.

    Parameters
    ----------
    rows : int
        Number of rows.
    size : float
        Largest absolute value.
    value : float
        Majority value.
    n_majority : int
        Number of the counted rows that have it.
    counted : int
        Number of the rows among which it was counted.
    margin : int
        Surplus of the rows that have it.
    distance : float, default=inf
        Smallest distance of the values that were counted as others from the counted one.

    Examples
    --------
    >>> a, b = np.array([0.0, 0.0, 0.5]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> first = MajorityValue.from_values(a) + MajorityValue.from_values(b)
    >>> second = MajorityValue.from_values(a, first) + MajorityValue.from_values(b, first)
    >>> first.is_certain, second.n_others
    (False, 3)
    """

    rows: int
    size: float
    value: float
    n_majority: int
    counted: int
    margin: int
    distance: float = math.inf

    @classmethod
    def from_values(cls, values: FloatArray, known_value: Self | None = None) -> Self:
        """Count the majority value of finite values.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Values of the rows.
        known_value : MajorityValue, optional
            Majority value of all rows, from a first pass. By default the median is counted.

        Returns
        -------
        MajorityValue
            Statistic of the values.
        """
        n = len(values)
        size = float(np.abs(values).max(initial=0.0)) if known_value is None else known_value.size
        value = known_value.value if known_value else float(np.median(values)) if n else 0.0
        distances = np.abs(values - value)
        equal_mask = distances <= RELATIVE_TOLERANCE * size
        n_majority = int(np.count_nonzero(equal_mask))
        distance = float(np.where(equal_mask, math.inf, distances).min(initial=math.inf))
        return cls(n, size, value, n_majority, n, max(2 * n_majority - n, 0), distance)

    def __add__(self, other: Self) -> Self:
        major, minor = (self, other) if self.margin >= other.margin else (other, self)
        size, distance = max(self.size, other.size), min(self.distance, other.distance)
        result = replace(major, rows=self.rows + other.rows, size=size, distance=distance)
        if abs(major.value - minor.value) > RELATIVE_TOLERANCE * size:
            return replace(result, margin=major.margin - minor.margin)
        return replace(
            result,
            n_majority=major.n_majority + minor.n_majority,
            counted=major.counted + minor.counted,
            margin=major.margin + minor.margin,
        )

    @property
    def is_certain(self) -> bool:
        """Whether the number of rows with another value is known."""
        if self.distance <= RELATIVE_TOLERANCE * self.size:
            return False
        return not self.margin or self.counted == self.rows

    @property
    def n_others(self) -> int:
        """Number of rows with another value; all of them if there is no majority."""
        return self.rows - self.n_majority if 2 * self.n_majority > self.rows else self.rows


def subtract_values(first: FloatArray, second: FloatArray) -> FloatArray:
    """Subtract values of the same units; a difference within rounding error is 0.

    Whether two values are equal depends on these two alone, so that it is the same in a batch and
    among all rows.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Values of two systems on the same units.

    Returns
    -------
    ndarray of shape (n,)
        First minus second; NaN if both are infinite, with the same sign.

    Examples
    --------
    >>> subtract_values(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.25]))
    array([0.  , 0.25])
    """
    with np.errstate(invalid="ignore"):  # two infinite losses have no difference
        differences = np.asarray(first - second, np.float64)
    tolerance = RELATIVE_TOLERANCE * np.maximum(np.abs(first), np.abs(second))
    equal_mask = np.abs(differences) <= tolerance
    if not equal_mask.any():
        return differences
    equal_mask &= np.isfinite(differences)  # infinite ones are within an infinite tolerance
    return np.where(equal_mask, 0.0, differences)


def count_signs(values: FloatArray, counts: FloatArray | None = None) -> Signs:
    """Count the values above 0, equal to 0 and below 0.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values to count; differences as returned by :func:`subtract_values`.
    counts : ndarray of shape (n,), optional
        Number of times that each value counts. By default it is 1.

    Returns
    -------
    tuple of int
        Numbers of positive, zero and negative values.

    Examples
    --------
    >>> count_signs(np.array([0.5, 0.0, -0.25, 1.0]))
    (2, 1, 1)
    >>> count_signs(np.array([0.5, 0.0]), counts=np.array([3.0, 2.0]))
    (3, 2, 0)
    """
    n_above, n_equal, n_below = (
        int(np.count_nonzero(side) if counts is None else round(counts[side].sum()))
        for side in (values > 0, values == 0, values < 0)
    )
    return n_above, n_equal, n_below


def _max_equal_rows(histogram: Histogram) -> float:
    """Return an upper bound of the number of rows of weight 1 with equal values, from bins.

    Values that are equal up to rounding are in one bin, or in two next to each other, unless these
    are as narrow as rounding.
    """
    size = max(abs(histogram.min_value), abs(histogram.max_value))
    if not histogram.width > 4 * RELATIVE_TOLERANCE * size:
        return math.inf
    counts = histogram.sums
    return float((counts[1:] + counts[:-1]).max(initial=counts.max()))


def _add_sign_counts(first: Signs | None, second: Signs | None) -> Signs | None:
    """Add the sign counts of both, or return None if either is unknown."""
    if first is None or second is None:
        return None
    return first[0] + second[0], first[1] + second[1], first[2] + second[2]


@dataclass(frozen=True, eq=False)
class UnitDifferences(Statistic):
    """Distribution of the differences of two systems per unit, and the number of units that differ.

    The difference of the systems is the mean of the values, up to a constant that all have in
    common. They are either differences of unit values (a unit differs if its value is not 0) or
    influence values of rows (a row differs if its value is not the majority value of its class).

    Parameters
    ----------
    spread : Histogram
        Distribution of the values.
    nonzero : int, optional
        Number of units whose difference is not 0.
    classes : tuple of MajorityValue, default=()
        Majority values of the influence values, of each class.
    signs : tuple of int, optional
        Numbers of units with a difference above 0, equal to 0 and below 0, if units have values
        that can be compared one by one.
    exact : bool, default=False
        Whether the difference of the systems is the mean of the values, so that none of them is
        beyond the largest possible difference.
    moments : Moments, optional
        Moments of the differences without weights, if their distribution is not stored.

    Examples
    --------
    >>> UnitDifferences.from_values(np.array([0.0, 0.5, 0.0, -0.25])).n_differing
    2
    >>> UnitDifferences.from_influence_values(np.array([-0.1, 0.3, -0.1, -0.1])).n_differing
    1
    """

    spread: Histogram
    nonzero: int | None = None
    classes: tuple[MajorityValue, ...] = ()
    signs: Signs | None = None
    exact: bool = False
    moments: Moments | None = None

    @classmethod
    def from_values(cls, values: FloatArray, weight: FloatArray | None = None) -> Self:
        """Create the statistic of differences of values of units.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Difference of each unit, as returned by :func:`subtract_values`.
        weight : ndarray of shape (n,), optional
            Weights of the units. By default all are 1.

        Returns
        -------
        UnitDifferences
            Statistic of the units.
        """
        histogram = Histogram.from_rows(values, weight)
        signs = count_signs(values)
        return cls(histogram, signs[0] + signs[2], signs=signs, exact=True)

    @classmethod
    def from_signs(cls, signs: Signs, moments: Moments | None = None) -> Self:
        """Create the statistic of units without the distribution of their differences.

        Parameters
        ----------
        signs : tuple of int
            Numbers of units with a difference above 0, equal to 0 and below 0.
        moments : Moments, optional
            Moments of the differences, without weights.

        Returns
        -------
        UnitDifferences
            Statistic of the units.
        """
        return cls(Histogram.from_rows(np.zeros(0)), signs=signs, moments=moments)

    @classmethod
    def from_influence_values(
        cls,
        values: FloatArray,
        weight: FloatArray | None = None,
        positive: npt.NDArray[np.bool_] | None = None,
        *,
        is_mean_of_values: bool = False,
        known_values: Sequence[MajorityValue] = (),
        is_whole: bool = False,
    ) -> Self:
        """Create the statistic of influence values of rows, times the total weight.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Influence of each row on the difference, times the total weight.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.
        positive : ndarray of bool of shape (n,), optional
            Class of each row, if rows of either class have a majority value of their own.
        is_mean_of_values : bool, default=False
            Whether the difference is the mean of the values.
        known_values : sequence of MajorityValue, default=()
            Majority values of all rows, from a first pass.
        is_whole : bool, default=False
            Whether these are all rows. Classes without a majority value are then only counted.

        Returns
        -------
        UnitDifferences
            Statistic of the rows.
        """
        histogram = Histogram.from_rows(values, weight)
        if not histogram.is_bounded:
            return cls(histogram, exact=is_mean_of_values)
        n_positive = len(values) if positive is None else int(np.count_nonzero(positive))
        sizes = (n_positive,) if positive is None else (n_positive, len(values) - n_positive)
        pairs = zip((True, False), sizes, known_values or (None, None), strict=False)
        largest = _max_equal_rows(histogram) if is_whole and weight is None else math.inf
        majority_values = tuple(
            MajorityValue.from_values(
                values if positive is None else values[np.flatnonzero(positive == side)], majority
            )
            if 2 * largest > size
            else MajorityValue(size, size=0.0, value=0.0, n_majority=0, counted=0, margin=0)
            for side, size, majority in pairs
        )
        return cls(histogram, None, majority_values, exact=is_mean_of_values)

    @property
    def is_certain(self) -> bool:
        """Whether the number of units that differ is known."""
        return all(majority.is_certain for majority in self.classes)

    @property
    def n_differing(self) -> int:
        """Number of units that differ."""
        return (
            sum(majority.n_others for majority in self.classes)
            if self.nonzero is None
            else self.nonzero
        )

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return float(np.average(self.spread.mean, weights=self.spread.sums))

    def __add__(self, other: Self) -> Self:
        classes: Any = self.classes or other.classes
        if self.classes and other.classes:
            classes = tuple(a + b for a, b in zip(self.classes, other.classes, strict=True))
        return replace(
            self,
            spread=self.spread + other.spread,
            nonzero=_add_counts(self.nonzero, other.nonzero),
            classes=classes,
            signs=_add_sign_counts(self.signs, other.signs),
            moments=None
            if self.moments is None or other.moments is None
            else self.moments + other.moments,
        )

    def divide_weights(self, common_weight: float) -> Self:
        """Return the statistic with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        UnitDifferences
            Statistic of the same rows with weight 1.
        """
        return replace(self, spread=self.spread.divide_weights(common_weight))


def _add_counts(first: int | None, second: int | None) -> int | None:
    """Add two numbers, or return None if either is unknown."""
    return None if first is None or second is None else first + second
