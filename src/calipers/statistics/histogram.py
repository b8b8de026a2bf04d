"""Histogram of values in bounded memory: distinct values while they are few, else bins."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

#: Number of distinct values above which they are binned, and maximum number of bins.
MAX_GROUPS = 1024

#: Number of the largest values that are stored on request.
MAX_TAIL_VALUES = 1024


@dataclass(frozen=True, eq=False)
class Histogram(Statistic):
    """Mean, Σw and Σw² of the rows in each of at most :data:`MAX_GROUPS` groups.

    The groups are single rows with a weight while there are few rows, distinct values while there
    are few of these, and otherwise the bins ``cell``·width ≤ x < (``cell`` + 1)·width. The width is
    the smallest power of two with which the bins cover the range, so that the same rows have the
    same bins however they are divided into batches.

    Parameters
    ----------
    rows : int
        Number of rows.
    min_value, max_value : float
        Smallest and largest value.
    width : float
        Width of the bins; 0 if there are none.
    single : bool
        Whether every group is a single row.
    n_largest : int
        Number of the largest values to store.
    mean : ndarray of shape (G,)
        Mean of each group.
    sums : ndarray of shape (G,)
        Sum of the weights of each group.
    squares : ndarray of shape (G,)
        Sum of the squared weights of each group.
    cell : ndarray of shape (G,)
        Index of each bin; empty if there are none.
    largest : ndarray
        Largest values, if they are stored.

    Examples
    --------
    >>> small = Histogram.from_rows(np.array([0.0, 1.0, 1.0]))
    >>> small.mean.tolist(), small.sums.tolist()
    ([0.0, 1.0], [1.0, 2.0])
    >>> rows = np.arange(3000.0)
    >>> large = Histogram.from_rows(rows[:1500]) + Histogram.from_rows(rows[1500:])
    >>> large.width, len(large.mean), float(large.sums.sum())
    (4.0, 750, 3000.0)
    """

    rows: int
    min_value: float
    max_value: float
    width: float
    single: bool
    n_largest: int
    mean: FloatArray
    sums: FloatArray
    squares: FloatArray
    cell: IntArray
    largest: FloatArray

    @classmethod
    def from_rows(
        cls, values: FloatArray, weight: FloatArray | None = None, *, store_tail: bool = False
    ) -> Self:
        """Create the histogram of values, without rows of weight 0.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Value of each row.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.
        store_tail : bool, default=False
            Whether to store the largest values, at most :data:`MAX_TAIL_VALUES`.

        Returns
        -------
        Histogram
            Statistic of the rows.
        """
        x = np.asarray(values, np.float64)
        if weight is not None:
            used_mask = weight > 0
            if not used_mask.all():
                x, weight = x[used_mask], weight[used_mask]
            # Strided weights would be added up in another order.
            weight = np.ascontiguousarray(weight)
        n_largest = MAX_TAIL_VALUES if store_tail else 0
        from calipers import _core

        min_value, max_value = _core.value_ends(x) if len(x) else (math.inf, -math.inf)
        empty, empty_index = np.zeros(0), np.zeros(0, np.int64)
        tail = _top_values(x, n_largest)
        result = cls(
            len(x),
            min_value,
            max_value,
            0.0,
            single=False,
            n_largest=n_largest,
            mean=empty,
            sums=empty,
            squares=empty,
            cell=empty_index,
            largest=tail,
        )
        if not result.is_bounded:
            return result
        if weight is not None and len(x) <= MAX_GROUPS:
            return replace(result, single=True, mean=x, sums=weight, squares=np.square(weight))
        if _has_few_values(x):
            return result._merge_equal(x, weight, None if weight is None else np.square(weight))
        width = _width(min_value, max_value)
        first = math.floor(min_value / width)
        n_bins = math.floor(max_value / width) - first + 1
        return result._set_bins(width, first, *_core.bin_sums(x, width, first, n_bins, weight))

    @classmethod
    def from_groups(
        cls, values: FloatArray, sums: FloatArray, squares: FloatArray, rows: int
    ) -> Self:
        """Create the histogram of groups of rows with equal values.

        Parameters
        ----------
        values : ndarray of shape (G,)
            Value of each group.
        sums : ndarray of shape (G,)
            Sum of the weights of each group.
        squares : ndarray of shape (G,)
            Sum of the squared weights of each group.
        rows : int
            Number of rows in all.

        Returns
        -------
        Histogram
            Statistic of the rows.

        Examples
        --------
        >>> values, sums = np.array([0.0, 1.0]), np.array([1.0, 5.0])
        >>> histogram = Histogram.from_groups(values, sums, np.ones(2), 3)
        >>> histogram.rows, histogram.mean.tolist(), histogram.sums.tolist()
        (3, [0.0, 1.0], [1.0, 5.0])
        """
        result = replace(cls.from_rows(values), rows=rows)
        return result._merge_equal(values, sums, squares) if result.is_bounded else result

    @property
    def is_bounded(self) -> bool:
        """Whether there are values, all of them finite."""
        return math.isfinite(self.max_value - self.min_value)

    def __add__(self, other: Self) -> Self:
        limits = min(self.min_value, other.min_value), max(self.max_value, other.max_value)
        tail = _top_values(np.concatenate([self.largest, other.largest]), self.n_largest)
        result = replace(
            self,
            rows=self.rows + other.rows,
            min_value=limits[0],
            max_value=limits[1],
            largest=tail,
        )
        if not other.rows or not self.rows:
            return replace(other if other.rows else self, largest=tail)
        if not result.is_bounded:
            empty = np.zeros(0)
            return replace(
                result, mean=empty, sums=empty, squares=empty, cell=empty.astype(np.int64)
            )
        has_few_rows = (self.single or other.single) and result.rows <= MAX_GROUPS
        has_few_rows &= self._has_rows and other._has_rows
        x, sums, squares = map(
            np.concatenate,
            zip(
                *(
                    (histogram._row_groups if has_few_rows else histogram._groups)
                    for histogram in (self, other)
                ),
                strict=True,
            ),
        )
        if has_few_rows:
            return replace(result, single=True, mean=x, sums=sums, squares=squares)
        result = replace(result, single=False)
        if not (self.width or other.width):
            return result._merge_equal(x, sums, squares)
        width = _width(*limits)
        return result._bin(np.concatenate([self._cells(width), other._cells(width)]), width,
                            x, sums, squares)  # fmt: skip

    @property
    def _groups(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.mean, self.sums, self.squares

    @property
    def _has_rows(self) -> bool:
        """Whether the weight of each row is known: groups are single rows, or of rows of weight 1.

        Groups of rows of unknown weights (:meth:`from_groups`) have other sums.
        """
        return self.single or (
            bool((self.sums == self.squares).all()) and float(self.sums.sum()) == self.rows
        )

    @property
    def _row_groups(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Groups of single rows; if they were merged, the rows have weight 1."""
        if self.single:
            return self._groups
        ones = np.ones(self.rows)
        return np.repeat(self.mean, self.sums.astype(np.int64)), ones, ones

    def _cells(self, width: float) -> IntArray:
        """Return the bin of each group, for bins of this width, which are not finer."""
        if not self.width:
            return np.floor(self.mean / width).astype(np.int64)
        return self.cell // round(width / self.width)

    def _merge_equal(
        self, x: FloatArray, sums: FloatArray | None, squares: FloatArray | None
    ) -> Self:
        """Merge equal values; if there are many, merge the values of each bin."""
        if _has_few_values(x):
            distinct, index = np.unique(x, return_inverse=True)
            if len(distinct) <= MAX_GROUPS:
                group_sums = _bin_sums(index.reshape(-1), sums, squares, len(distinct))
                return replace(self, width=0.0, single=False, mean=distinct, sums=group_sums[0],
                               squares=group_sums[1], cell=np.zeros(0, np.int64))  # fmt: skip
        width = _width(self.min_value, self.max_value)
        return self._bin(np.floor(x / width).astype(np.int64), width, x, sums, squares)

    def _bin(
        self,
        cell: IntArray,
        width: float,
        x: FloatArray,
        sums: FloatArray | None,
        squares: FloatArray | None,
    ) -> Self:
        first = math.floor(self.min_value / width)
        index, n_bins = cell - first, math.floor(self.max_value / width) - first + 1
        bin_weights, bin_squares = _bin_sums(index, sums, squares, n_bins)
        total = np.asarray(np.bincount(index, x if sums is None else sums * x, n_bins), np.float64)
        return self._set_bins(width, first, bin_weights, bin_squares, total)

    def _set_bins(
        self,
        width: float,
        first: int,
        bin_weights: FloatArray,
        bin_squares: FloatArray,
        total: FloatArray,
    ) -> Self:
        """Return the histogram with the weights, their squares and the values of these bins."""
        nonempty_bins = np.flatnonzero(bin_weights)
        return replace(
            self,
            width=width,
            single=False,
            mean=total[nonempty_bins] / bin_weights[nonempty_bins],
            sums=bin_weights[nonempty_bins],
            squares=bin_squares[nonempty_bins],
            cell=nonempty_bins + first,
        )

    def transform(self, shift: float, factor: float = 1.0) -> Self:
        """Return the histogram of a linear function of the values.

        Its groups are no longer bins. The largest values are stored if they are those of the
        largest of the original values, and not with a factor below 0.

        Parameters
        ----------
        shift : float
            Constant to add.
        factor : float, default=1.0
            Factor of the values.

        Returns
        -------
        Histogram
            Histogram of ``factor`` · x + ``shift``.
        """
        limits = sorted((factor * self.min_value + shift, factor * self.max_value + shift))
        empty = np.zeros(0, np.int64)
        is_increasing = factor >= 0
        return replace(
            self,
            min_value=limits[0],
            max_value=limits[1],
            mean=factor * self.mean + shift,
            width=0.0,
            cell=empty,
            n_largest=self.n_largest if is_increasing else 0,
            largest=factor * self.largest + shift if is_increasing else np.zeros(0),
        )

    def divide_weights(self, common_weight: float) -> Self:
        """Return the histogram with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        Histogram
            Histogram of the same rows with weight 1.
        """
        result = replace(self, sums=np.rint(self.sums / common_weight))
        result = replace(result, squares=result.sums)
        return (
            result._merge_equal(result.mean, result.sums, result.squares) if self.single else result
        )


def _has_few_values(x: FloatArray) -> bool:
    """Return whether values may be few distinct ones, as those of some thousand rows are."""
    # Of values that are not few, the first ones tell, and the others need not be sorted.
    for n in (2, 8):
        ordered = np.sort(x[: n * MAX_GROUPS])  # `np.unique` imports `numpy.ma`
        if np.count_nonzero(ordered[1:] != ordered[:-1]) >= MAX_GROUPS:
            return False
    return True


def _bin_sums(
    index: npt.NDArray[Any], sums: FloatArray | None, squares: FloatArray | None, n_bins: int
) -> tuple[FloatArray, FloatArray]:
    weight_sums = np.bincount(index, sums, n_bins).astype(np.float64)
    square_sums = (
        weight_sums if squares is None else np.bincount(index, squares, n_bins).astype(np.float64)
    )
    return weight_sums, square_sums


def _width(min_value: float, max_value: float) -> float:
    """Return the smallest power of two with which the bins cover the range."""
    width = 2.0 ** (math.frexp((max_value - min_value) / MAX_GROUPS)[1] - 1)
    while math.floor(max_value / width) - math.floor(min_value / width) >= MAX_GROUPS:
        width *= 2
    return width


def _top_values(x: FloatArray, n_largest: int) -> FloatArray:
    """Return the ``n_largest`` largest values."""
    if len(x) <= n_largest or not n_largest:
        return x[: len(x) if n_largest else 0]
    from calipers import _core

    return _core.largest_values(x, n_largest)
