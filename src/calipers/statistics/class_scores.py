"""Scores of several classes beside the true class of each row, and the rank of the true class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic, cell_sums

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClassScoreRows:
    """A table of shape (n, K), and what one pass over it says of each row.

    Losses per row are formulas over these columns, so that none goes over the table again.

    >>> rows = ClassScoreRows.of(np.array([0, 2]), np.array([[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]]))
    >>> rows.highest, rows.own, rows.other_squares
    (array([0, 2]), array([0.75, 0.5 ]), array([0.0625, 0.125 ]))
    """

    table: npt.NDArray[np.floating[Any]]
    #: The class of the highest value, the first of equals.
    highest: npt.NDArray[np.intp]
    #: The value of the class that the row is of.
    own: FloatArray
    #: The sum of the squares of the values of all other classes.
    other_squares: FloatArray

    @classmethod
    def from_scores(
        cls, truth: npt.NDArray[Any], table: npt.NDArray[np.floating[Any]] | Self
    ) -> Self:
        """Of the class of each row (n), as a position, and a table of any finite values (n, K)."""
        if isinstance(table, cls):
            return table
        from calipers import _core

        values: Any = table
        highest, own, squares, *_ = _core.class_rows(values, truth.astype(np.int64, copy=False))
        return cls(values, highest, own, squares)

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> ClassScoreRows:
        """Some of the rows."""
        return ClassScoreRows(
            self.table[rows], self.highest[rows], self.own[rows], self.other_squares[rows]
        )


@dataclass(frozen=True, eq=False)
class ClassRanks(Statistic):
    """Rows counted (weights summed) by the place of their true class among K classes.

    ``counts`` has shape ``(..., K, K)``: ``counts[a, t]`` is the weight of the rows in which ``a``
    classes score strictly higher than the true one and ``t`` others score the same; leading axes
    are replicates. ``squares`` holds the sums of squared weights. Without weights they are the
    same.
    """

    counts: FloatArray
    squares: FloatArray
    rows: int = 0

    @classmethod
    def from_rows(
        cls,
        truth: npt.NDArray[np.integer[Any]],
        score: npt.NDArray[np.floating[Any]],
        weight: FloatArray | None = None,
    ) -> Self:
        """From the true class of each row (n), as a position, and all classes' scores (n, K)."""
        k = score.shape[1]
        cell = rank_cells(truth, score)
        return cls(*cell_sums(cell, weight, k, k), len(cell))

    def __add__(self, other: Self) -> Self:
        if self.counts.shape != other.counts.shape:
            raise ValueError(f"{len(self.counts)} classes and {len(other.counts)} do not match")
        return self._add_parts(other, "counts", "squares", "rows")

    @property
    def total(self) -> FloatArray:
        """Everything."""
        return np.asarray(self.counts.sum(axis=(-1, -2)))


def rank_cells(
    truth: npt.NDArray[np.integer[Any]], score: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.int64]:
    """Of each row K times the number of classes above the true one, plus that of others tied."""
    from calipers import _core

    return _core.class_ranks(score, np.asarray(truth, np.int64))
