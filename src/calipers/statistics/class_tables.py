"""Tables of scores of several classes, each against the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClassTables(Statistic):
    """A :class:`ScoreTable` for each of the classes ``labels``, of its scores against those of all
    others, and the weight of the rows of each; what is averaged over classes."""

    labels: tuple[str, ...]
    tables: tuple[Any, ...]
    sizes: FloatArray

    def __add__(self, other: Self) -> Self:
        both = zip(self.tables, other.tables, strict=True)
        tables = tuple(one + two for one, two in both)
        return replace(self, tables=tables, sizes=self.sizes + other.sizes)

    def with_tables(self, change: Callable[[Any], Any]) -> Self:
        """With other tables."""
        return replace(self, tables=tuple(map(change, self.tables)))

    def finalize(self) -> Self:
        """What was gathered as tables."""
        return self.with_tables(lambda table: table.finalize())

    def with_unit_weights(self, weight: float) -> Self:
        """Of rows that weigh 1 each."""
        made = self.with_tables(lambda table: table.with_unit_weights(weight))
        return replace(made, sizes=np.rint(self.sizes / weight))

    def compress(self, cells: int) -> Self:
        """With tables of so many cells at most, all together."""
        return self.with_tables(lambda table: table.compress(max(1, cells // len(self.tables))))

    @property
    def rows(self) -> int:
        """How many."""
        return int(self.tables[0].rows) if self.tables else 0

    @property
    def shares(self) -> FloatArray:
        """The share of each class."""
        with np.errstate(invalid="ignore"):  # there may be no weight
            return np.asarray(self.sizes / self.sizes.sum())
