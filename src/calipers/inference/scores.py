"""The bootstrap of measures of scores: any of them, from replicates of the table of scores.

The core draws each row (or whatever rows are drawn by) a Poisson(1) number of times. Three areas it
computes as it draws; for every other measure it hands over the replicates as tables with a leading
axis, some at a time, and the measure's own formula is applied to them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from calipers.statistics import FloatArray, ScoreTable

if TYPE_CHECKING:
    from calipers.inference.estimate import MeasureLike, Settings

#: What the core computes as it draws, in the order of its columns.
AREAS = ("AUC", "PR-AUC", "AP")

#: How many numbers of either class the replicates held at a time may have, per thread.
AT_A_TIME = 1_000_000

#: More threads would take more memory than they save time.
MOST_THREADS = 8

T = TypeVar("T")


class RankedRows(NamedTuple):
    """Rows by descending score: the class, whether the row is the last of its score, the weight
    and what the row is drawn by, both None where there is nothing to say."""

    positive: npt.NDArray[np.bool_]
    last: npt.NDArray[np.bool_]
    weight: FloatArray | None
    unit: npt.NDArray[np.uint32] | None


def ranked_rows(table: ScoreTable, rows: Any = None) -> RankedRows:
    """The rows of a table of scores, for the core to draw.

    Without weights the table is enough: each of its counts stands for that many equal rows. Else
    ``rows`` are (truth, score, weight or None, what each row is drawn by or None).
    """
    if rows is None:
        positive = np.repeat(
            np.tile([True, False], len(table.scores)),
            np.column_stack([table.positive, table.negative]).ravel().astype(np.int64),
        )
        size = (table.positive + table.negative).astype(np.int64)
        last = np.zeros(len(positive), bool)
        last[np.cumsum(size) - 1] = True
        return RankedRows(positive, last, None, None)
    from calipers import _core

    truth, score, weight, unit = rows
    order = _core.order_descending(score)
    ordered = score[order]
    return RankedRows(
        truth[order],
        np.append(ordered[1:] != ordered[:-1], True),
        None if weight is None else weight[order],
        None if unit is None else unit[order],
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """Bootstrap replicates of a table of scores.

    ``rows`` are those of :func:`ranked_rows`; ``measures`` are computed in one pass over the
    replicates when the first of them is asked for.
    """

    table: ScoreTable
    settings: Settings
    rows: Any = None
    measures: tuple[MeasureLike, ...] = ()

    def of(self, measure: MeasureLike) -> FloatArray:
        """The value of a measure in each replicate; NaN where it has none."""
        name = measure.definition.name
        if name in AREAS:
            return np.asarray(self._areas[:, AREAS.index(name)])
        if measure in self._together:
            return np.asarray(self._values[self._together.index(measure)])
        return np.asarray(self._pass([measure])[0])

    @cached_property
    def ranked(self) -> RankedRows:
        """The rows that are drawn."""
        return ranked_rows(self.table, self.rows)

    @cached_property
    def _areas(self) -> FloatArray:
        from calipers import _core

        settings = self.settings
        areas, _, _ = _core.bootstrap_scores(
            *self.ranked, settings.seed, settings.resamples, None, None
        )
        return areas

    @cached_property
    def _together(self) -> list[MeasureLike]:
        """The measures that need the bootstrap for their interval."""
        return [m for m in self.measures if m.definition.on is ScoreTable and self._generic(m)]

    @staticmethod
    def _generic(measure: MeasureLike) -> bool:
        return measure.definition.name not in AREAS and measure.definition.interval in (
            None,
            "pivotal",
        )

    @cached_property
    def _values(self) -> FloatArray:
        return self._pass(self._together)

    def _pass(self, measures: Sequence[MeasureLike]) -> FloatArray:
        """The values of measures, shape (measures, replicates)."""
        parts = self.each(lambda table, _: np.array([m.apply(table) for m in measures]))
        return np.concatenate(list(parts), axis=1)

    def each(
        self, compute: Callable[[ScoreTable, ScoreTable | None], T], *, out_of_bag: bool = False
    ) -> Iterable[T]:
        """What ``compute`` makes of the replicates, a part after the other.

        It is given the tables of some replicates, which are their leading axis, and if asked for
        those of the rows that these replicates left out.
        """
        distinct, resamples = len(self.table.scores), self.settings.resamples
        step = max(1, AT_A_TIME // distinct)

        def part(start: int) -> T:
            return compute(*self._tables(start, min(step, resamples - start), out_of_bag))

        starts = range(0, resamples, step)
        threads = min(os.cpu_count() or 1, MOST_THREADS, len(starts))
        if threads == 1:
            return map(part, starts)
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(part, starts))

    def _tables(
        self, start: int, replicates: int, out_of_bag: bool
    ) -> tuple[ScoreTable, ScoreTable | None]:
        from calipers import _core

        drawn = _core.bootstrap_tables(
            *self.ranked, self.settings.seed, start, replicates, out_of_bag
        )
        by_class = drawn.reshape(replicates, -1, 2, len(self.table.scores))

        def table(kind: int) -> ScoreTable:
            positive, negative = by_class[:, kind, 0], by_class[:, kind, 1]
            return replace(
                self.table,
                positive=positive,
                negative=negative,
                positive_squares=positive,
                negative_squares=negative,
            )

        return table(0), table(1) if out_of_bag else None
