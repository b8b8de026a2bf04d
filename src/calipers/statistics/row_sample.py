"""Samples of rows in bounded memory, for what sums do not determine.

Rows are sampled by their numbers (:class:`SampledRows`), or selected by the size of their residuals
(:class:`LargestResiduals`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, IntArray, Statistic, dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

#: Maximum number of rows, and of values of them, that are stored.
MAX_SAMPLED_ROWS = 100_000
MAX_SAMPLED_VALUES = 4_000_000
#: Number of the largest residuals that are stored.
MAX_LARGEST_RESIDUALS = 10_000


@dataclass(frozen=True, eq=False)
class SampledRows(Statistic):
    """Pseudorandom sample of rows, or all of them while they are few.

    A row is selected if its hashed number ends in ``level`` zero bits. The level is the smallest
    with which there are no more than :data:`MAX_SAMPLED_ROWS` rows and :data:`MAX_SAMPLED_VALUES`
    values, so that the sample does not depend on how the rows are divided into batches.

    Parameters
    ----------
    rows : int
        Number of all rows.
    level : int
        Number of zero bits; 0 if all rows are stored.
    number : ndarray of shape (n,)
        Number of each sampled row among all rows, ascending.
    columns : ndarray of shape (n, columns)
        Columns of the sampled rows.

    Examples
    --------
    >>> numbers = np.arange(250_000)
    >>> sample = SampledRows.from_rows(numbers[:200_000], [numbers[:200_000] / 2])
    >>> sample += SampledRows.from_rows(numbers[200_000:], [numbers[200_000:] / 2])
    >>> sample.rows, sample.level, len(sample.number), sample.is_complete
    (250000, 2, 62825, False)
    """

    rows: int
    level: int
    number: IntArray
    columns: FloatArray

    @classmethod
    def from_rows(
        cls, row_index: IntArray, columns: Sequence[FloatArray], min_level: int = 0
    ) -> Self:
        """Sample rows.

        Parameters
        ----------
        row_index : ndarray of shape (n,)
            Number of each row among all rows, ascending.
        columns : sequence of ndarray of shape (n,)
            Columns of the rows.
        min_level : int, default=0
            Smallest level.

        Returns
        -------
        SampledRows
            Sample of the rows.
        """
        row_indices = _sampled_positions(row_index, min_level) if min_level else slice(None)
        sampled_columns = np.column_stack([column[row_indices] for column in columns])
        return cls(len(row_index), min_level, row_index[row_indices], sampled_columns)._limit_rows()

    def _thin_to_level(self, level: int) -> Self:
        sampled = _sampled_positions(self.number, level)
        return replace(
            self, level=level, number=self.number[sampled], columns=self.columns[sampled]
        )

    def _limit_rows(self) -> Self:
        sample = self
        while len(sample.number) > min(
            MAX_SAMPLED_ROWS, MAX_SAMPLED_VALUES // self.columns.shape[1]
        ):
            sample = sample._thin_to_level(sample.level + 1)
        return sample

    def __add__(self, other: Self) -> Self:
        level = max(self.level, other.level)
        first, second = (
            sample if sample.level == level else sample._thin_to_level(level)
            for sample in (self, other)
        )
        row_index = np.concatenate([first.number, second.number])
        columns = np.concatenate([first.columns, second.columns])
        order: slice | IntArray = slice(None)
        if len(first.number) and len(second.number) and first.number[-1] > second.number[0]:
            order = np.argsort(row_index, kind="stable")
        rows = self.rows + other.rows
        return replace(
            self, rows=rows, level=level, number=row_index[order], columns=columns[order]
        )._limit_rows()

    @property
    def is_complete(self) -> bool:
        """Whether the sample has all rows."""
        return self.level == 0


@dataclass(frozen=True, eq=False)
class LargestResiduals(Statistic):
    """Rows with the largest absolute residuals.

    Parameters
    ----------
    rows : int
        Number of all rows.
    weight : float
        Weight of all rows.
    squares : float
        Weighted sum of squares of all residuals.
    number : ndarray of shape (n,)
        Number of each selected row among all rows.
    size : ndarray of shape (n,)
        Absolute residuals, descending; ties are ordered by number.
    row_weights : ndarray of shape (n,)
        Weights of the selected rows.

    Examples
    --------
    >>> largest = LargestResiduals.from_rows(np.arange(3), np.array([1.0, -3.0, 2.0]))
    >>> all_of = largest + LargestResiduals.from_rows(np.arange(3, 5), np.array([5.0, -3.0]))
    >>> all_of.number.tolist(), all_of.size.tolist(), all_of.rows, all_of.squares
    ([3, 1, 4, 2, 0], [5.0, 3.0, 3.0, 2.0, 1.0], 5, 48.0)
    """

    rows: int
    weight: float
    squares: float
    number: IntArray
    size: FloatArray
    row_weights: FloatArray

    @classmethod
    def from_rows(
        cls, row_index: IntArray, residual: FloatArray, weight: FloatArray | None = None
    ) -> Self:
        """Select the rows with the largest residuals.

        Parameters
        ----------
        row_index : ndarray of shape (n,)
            Number of each row among all rows.
        residual : ndarray of shape (n,)
            Residuals of the rows.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        LargestResiduals
            Statistic of the rows.
        """
        row_weights = np.ones(len(residual)) if weight is None else weight
        squares = dot(row_weights, np.square(residual))
        result = cls(
            len(residual),
            float(row_weights.sum()),
            squares,
            row_index,
            np.abs(residual),
            row_weights,
        )
        return result._select_largest()

    def _select_largest(self) -> Self:
        size, rows = self.size, np.arange(len(self.size))
        if len(size) > MAX_LARGEST_RESIDUALS:
            threshold = np.partition(size, len(size) - MAX_LARGEST_RESIDUALS)[
                len(size) - MAX_LARGEST_RESIDUALS
            ]
            rows = np.flatnonzero(size >= threshold)
        order = rows[np.lexsort((self.number[rows], -size[rows]))][:MAX_LARGEST_RESIDUALS]
        row_index, row_weights = self.number[order], self.row_weights[order]
        return replace(self, number=row_index, size=size[order], row_weights=row_weights)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.rows + other.rows,
            self.weight + other.weight,
            self.squares + other.squares,
            np.concatenate([self.number, other.number]),
            np.concatenate([self.size, other.size]),
            np.concatenate([self.row_weights, other.row_weights]),
        )._select_largest()


def sampling_level(rows: int | None) -> int:
    """Return a lower bound of the level of a sample of this number of rows."""
    return 0 if rows is None else max(0, (rows // MAX_SAMPLED_ROWS).bit_length() - 1)


def sampled_row_indices(n_rows: int) -> IntArray:
    """Return the rows of this number of rows that :class:`SampledRows` has of few columns.

    Examples
    --------
    >>> len(sampled_row_indices(250_000))
    62825
    """
    from calipers import _core

    level = sampling_level(n_rows)
    rows: IntArray = _core.sampled_range(n_rows, level)
    while len(rows) > MAX_SAMPLED_ROWS:
        level += 1
        rows = rows[_sampled_positions(rows, level)]
    return rows


def sample_phrase(n_sampled: int, n_rows: int) -> str:
    """Return the phrase that states the size of a sample."""
    return f"{n_sampled:,} of {n_rows:,} rows, spread evenly"


def _sampled_positions(row_index: IntArray, level: int) -> IntArray:
    """Return the positions of the rows of the sample of a level.

    The hash is SplitMix64 (Steele, Lea and Flood 2014).
    """
    from calipers import _core

    return _core.sampled_numbers(np.asarray(row_index, np.int64), level)
