"""Rows that are gathered before they are sorted: a few large sorts cost less than many merges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.lazily import numpy as np
from calipers.statistics.base import FloatArray, Statistic
from calipers.statistics.scores import ScoreTable

if TYPE_CHECKING:
    import numpy.typing as npt

#: So many rows are sorted at once.
ENOUGH = 1 << 22


@dataclass(frozen=True, eq=False)
class GatheredScores(Statistic):
    """Rows of several batches on the way to a :class:`ScoreTable`: the class, score and weight of
    each, a column a batch."""

    positive: tuple[npt.NDArray[np.bool_], ...]
    score: tuple[npt.NDArray[np.floating[Any]], ...]
    weight: tuple[FloatArray, ...] | None
    rows: int

    def __add__(self, other: GatheredScores | ScoreTable) -> GatheredScores | ScoreTable:  # type: ignore[override]
        if isinstance(other, ScoreTable):
            return self.settled() + other
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = self._weights + other._weights
        columns = self.positive + other.positive, self.score + other.score
        rows = self.rows + other.rows
        made = GatheredScores(*columns, weight, rows)
        return made.settled() if rows >= ENOUGH else made

    @property
    def _weights(self) -> tuple[FloatArray, ...]:
        """Those of each batch, which are 1 where none are given."""
        return self.weight or tuple(np.ones(len(column)) for column in self.positive)

    def __radd__(self, other: ScoreTable) -> ScoreTable:
        return other + self.settled()

    def settled(self) -> ScoreTable:
        """The table of the rows."""
        weight = None if self.weight is None else np.concatenate(self.weight)
        positive, score = np.concatenate(self.positive), np.concatenate(self.score)
        return ScoreTable.from_rows(positive, score, weight)
