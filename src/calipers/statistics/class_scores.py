"""Multiclass scores with the true class of each row, and the rank of the true class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic, cell_sums

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClassScoreRows:
    """Table of class scores, with columns computed in one pass over it.

    Losses per row are formulas of these columns, so that no other pass over the table is needed.

    Parameters
    ----------
    table : ndarray of shape (n, K)
        Score, or probability, of each class for each row.
    top_class : ndarray of shape (n,)
        Class of the highest value of the row, the first one of ties.
    true_class_score : ndarray of shape (n,)
        Value of the true class of the row.
    other_squares : ndarray of shape (n,)
        Sum of the squared values of all other classes.

    Examples
    --------
    >>> scores = np.array([[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]])
    >>> rows = ClassScoreRows.from_scores(np.array([0, 2]), scores)
    >>> rows.top_class, rows.true_class_score, rows.other_squares
    (array([0, 2]), array([0.75, 0.5 ]), array([0.0625, 0.125 ]))
    """

    table: npt.NDArray[np.floating[Any]]
    #: Class of the highest value, the first one of ties.
    top_class: npt.NDArray[np.intp]
    #: Value of the true class.
    true_class_score: FloatArray
    #: Sum of the squared values of all other classes.
    other_squares: FloatArray

    @classmethod
    def from_scores(
        cls, truth: npt.NDArray[Any], table: npt.NDArray[np.floating[Any]] | Self
    ) -> Self:
        """Create the columns from true classes and a table of scores.

        Parameters
        ----------
        truth : ndarray of shape (n,)
            True class of each row, as an index.
        table : ndarray of shape (n, K) or ClassScoreRows
            Finite values of each class. An instance of this class is returned as it is.

        Returns
        -------
        ClassScoreRows
            Table with its columns.
        """
        if isinstance(table, cls):
            return table
        from calipers import _core

        values: Any = table
        highest, true_class_score, squares, *_ = _core.class_rows(
            values, truth.astype(np.int64, copy=False)
        )
        return cls(values, highest, true_class_score, squares)

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> ClassScoreRows:
        """Select some of the rows, by a mask or by indices.

        Parameters
        ----------
        rows : ndarray of bool, shape (n,), or of int
            Mask of the rows to select, or their indices in the new order.

        Returns
        -------
        ClassScoreRows
            Table of the selected rows.
        """
        return ClassScoreRows(
            self.table[rows],
            self.top_class[rows],
            self.true_class_score[rows],
            self.other_squares[rows],
        )


@dataclass(frozen=True, eq=False)
class ClassRanks(Statistic):
    """Distribution of the rank of the true class among K classes.

    Parameters
    ----------
    counts : ndarray of shape (..., K, K)
        ``counts[a, t]`` is the weight of the rows in which ``a`` classes score strictly higher than
        the true one and ``t`` others score the same. Leading axes are replicates.
    squares : ndarray of shape (..., K, K)
        Sums of squared weights. Without weights they are the counts.
    rows : int, default=0
        Number of rows.
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
        """Count rows by the rank of their true class.

        Parameters
        ----------
        truth : ndarray of shape (n,)
            True class of each row, as an index.
        score : ndarray of shape (n, K)
            Score of each class.
        weight : ndarray of shape (n,), optional
            Weights of the rows. By default all are 1.

        Returns
        -------
        ClassRanks
            Statistic of the rows.
        """
        k = score.shape[1]
        cell = rank_cells(truth, score)
        return cls(*cell_sums(cell, weight, k, k), len(cell))

    def __add__(self, other: Self) -> Self:
        if self.counts.shape != other.counts.shape:
            raise ValueError(f"{len(self.counts)} classes and {len(other.counts)} do not match")
        return self._add_fields(other, "counts", "squares", "rows")

    @property
    def total(self) -> FloatArray:
        """Weight of all rows."""
        return np.asarray(self.counts.sum(axis=(-1, -2)))


def rank_cells(
    truth: npt.NDArray[np.integer[Any]], score: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.int64]:
    """Compute the cell of :class:`ClassRanks` that each row falls into.

    Parameters
    ----------
    truth : ndarray of shape (n,)
        True class of each row, as an index.
    score : ndarray of shape (n, K)
        Score of each class.

    Returns
    -------
    ndarray of shape (n,)
        K times the number of classes that score higher than the true one, plus the number of other
        classes that are tied with it.
    """
    from calipers import _core

    return _core.class_ranks(score, np.asarray(truth, np.int64))
