"""One-vs-rest score tables of several classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClassTables(Statistic):
    """One-vs-rest score tables of several classes, for averages over classes.

    Parameters
    ----------
    labels : tuple of str
        Names of the K classes.
    tables : tuple of ScoreTable
        Table of the scores of each class, against all others.
    class_weights : ndarray of shape (K,)
        Total weight of the rows of each class.
    """

    labels: tuple[str, ...]
    tables: tuple[Any, ...]
    class_weights: FloatArray

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.tables, other.tables, strict=True)
        tables = tuple(first + second for first, second in pairs)
        return replace(self, tables=tables, class_weights=self.class_weights + other.class_weights)

    def map_tables(self, function: Callable[[Any], Any]) -> Self:
        """Return the statistic with a function applied to each table.

        Parameters
        ----------
        function : callable
            Function of the table of one class that returns the new table.

        Returns
        -------
        ClassTables
            Statistic with the new tables; the weights of the classes are the same.
        """
        return replace(self, tables=tuple(map(function, self.tables)))

    def finalize(self) -> Self:
        """Return the statistic with its buffers converted to tables.

        Returns
        -------
        ClassTables
            Statistic with one finalized table for each class.
        """
        return self.map_tables(lambda table: table.finalize())

    def divide_weights(self, common_weight: float) -> Self:
        """Return the statistic with every weight divided by ``common_weight``.

        Each row then has weight 1.

        Parameters
        ----------
        common_weight : float
            Weight that every row has.

        Returns
        -------
        ClassTables
            Statistic of the same rows with weight 1.
        """
        result = self.map_tables(lambda table: table.divide_weights(common_weight))
        return replace(result, class_weights=np.rint(self.class_weights / common_weight))

    def compress(self, max_cells: int) -> Self:
        """Compress the tables to at most this number of cells in all.

        Parameters
        ----------
        max_cells : int
            Maximum number of cells of all tables together, divided equally among them.

        Returns
        -------
        ClassTables
            Statistic with compressed tables, in which neighboring scores are merged.
        """
        return self.map_tables(lambda table: table.compress(max(1, max_cells // len(self.tables))))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.tables[0].rows) if self.tables else 0

    @property
    def proportions(self) -> FloatArray:
        """Proportion of each class."""
        with np.errstate(invalid="ignore"):  # there may be no weight
            return np.asarray(self.class_weights / self.class_weights.sum())
