"""How sums of what comes in batches keep within the memory that they may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.statistics import ClassTables, NumberRows, ScoreTable, Several
from calipers.statistics.scores import GatheredScores

#: Of the memory that may be taken, a table of scores gets this share while it is added up: two of
#: them, and the one that they make, are there at once.
_OF_TABLES = 0.15
#: The share of rows that are gathered before they are sorted, and what one takes while they are.
_OF_ROWS, _A_ROW = 0.25, 64
#: So many distinct scores are kept anyway.
LEAST_SCORES = 10_000
#: What a distinct score takes in a table: itself and four sums.
_A_SCORE = 40


@dataclass(frozen=True)
class Within:
    """Keeps a sum of statistics within the memory."""

    memory: int

    def __call__(self, statistic: Any) -> Any:
        """The statistic, or one that takes less."""
        if isinstance(statistic, ClassTables):
            return statistic.each(Within(self.memory // max(1, len(statistic.tables))))
        if isinstance(statistic, Several):
            each = Within(self.memory // max(len(statistic.parts), 1))
            return statistic.each(each)
        if isinstance(statistic, GatheredScores):
            few = statistic.rows * _A_ROW <= self.memory * _OF_ROWS
            return statistic if few else self(statistic.settled())
        if isinstance(statistic, ScoreTable):
            most = max(LEAST_SCORES, int(self.memory * _OF_TABLES) // _A_SCORE)
            return statistic.compress(most // 2) if len(statistic.scores) > most else statistic
        if isinstance(statistic, NumberRows):
            size = sum(of.nbytes for of in vars(statistic).values() if isinstance(of, np.ndarray))
            if size > self.memory / 2:
                raise InputError(
                    f"measures of ranks and medians take all rows in memory, {size / 2**30:,.1f} "
                    "GiB so far; leave them out, or allow more with memory="
                )
        return statistic
