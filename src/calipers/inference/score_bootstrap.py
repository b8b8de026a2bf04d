"""Bootstrap of measures of scores, by replicates of the table of scores.

The core draws each row (or each resampling unit) a Poisson(1) number of times.

- Three areas are computed during resampling.
- For a measure that is attained at one threshold, a coarse curve of each replicate determines the
  segments that may contain this threshold (``Definition.needs_refinement``). The core resamples
  these segments again, and the formula of the measure is applied to them alone. Of many independent
  rows without weights the coarse curve does not need the rows: how often those of a block are drawn
  in total has a Poisson distribution as well, and given the totals, each draw falls on any row of
  its class and block with equal probability.
- For a measure of fixed bins, ``joint_positions`` determines the scores that can be combined.
- For any other measure the core returns the replicates as tables with a leading axis, in batches,
  and the formula is applied to these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, ScoreOrder, ScoreTable
from calipers.statistics.scores import DEFAULT_AREAS

if TYPE_CHECKING:
    from calipers.inference.settings import MeasureLike, Settings

#: What the core computes as it draws, in the order of its columns.
CORE_AREAS = DEFAULT_AREAS

#: Number of points of coarse curves that are searched at a time, per thread.
MAX_COARSE_POINTS = 100_000

#: A coarse curve has a point every 64 rows, or every 2^k times as many in a longer table.
MIN_ROWS_PER_POINT = 64

#: Above this number of rows, totals of blocks of independent rows are drawn before the rows.
MAX_ROWS_DRAWN_SINGLY = 20_000

#: How many numbers of either class the replicates held at a time may have, per thread.
MAX_BATCH_ELEMENTS = 1_000_000

#: More threads would take more memory than they save time.
MAX_THREADS = 8

T = TypeVar("T")

#: Truth, score or its order, weight or None, and resampling unit or None, of rows.
BootstrapInputs: TypeAlias = (
    "tuple[npt.NDArray[np.bool_], ScoreOrder | npt.NDArray[np.floating[Any]], "
    "FloatArray | None, npt.NDArray[np.uint32] | None]"
)

#: Function that returns a mask of the blocks that must be refined.
BlockSelector = Callable[[ScoreTable], npt.NDArray[np.bool_]]


class RankedRows(NamedTuple):
    """Rows by descending score.

    They have the class, whether the row is the last one with its score, the weight, and the
    resampling unit; the last two are None if there are no weights or units.
    """

    positive: npt.NDArray[np.bool_]
    last_mask: npt.NDArray[np.bool_]
    weight: FloatArray | None
    unit: npt.NDArray[np.uint32] | None


def ranked_rows(table: ScoreTable, rows: BootstrapInputs | None = None) -> RankedRows:
    """Return the rows of a table of scores, as the core resamples them.

    Without weights the table is sufficient: a count represents this number of equal rows. Otherwise
    ``rows`` has the columns that the bootstrap needs.
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
    truth, score, weight, unit = rows
    order = ScoreOrder.from_scores(score)
    return RankedRows(
        truth[order.row_order],
        order.is_last_of_score,
        None if weight is None else weight[order.row_order],
        None if unit is None else unit[order.row_order],
    )


class CoarseCurves(NamedTuple):
    """Coarse curves of replicates: scores that end within the same run of rows are combined.

    ``points`` are the true and the false positives, shape (B, 2, blocks + 1). Blocks begin at the
    rows ``first_index`` and at the indices ``block_starts`` of the table of scores.
    """

    points: FloatArray
    first_index: npt.NDArray[np.int64]
    block_starts: npt.NDArray[np.int64]

    def row_ranges(self, block: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the first row of each of some blocks, and the row after its last one."""
        return np.stack([self.first_index[block], self.first_index[block + 1]], axis=-1)


class RefinedCurves(NamedTuple):
    """Curves of some replicates, refined in the required segments.

    ``table`` has the replicates as its leading axis, and ``block_index`` has the index of each of
    its thresholds among all thresholds. ``refined_mask`` marks the refined blocks of the coarse
    curves.
    """

    table: ScoreTable
    block_index: npt.NDArray[np.int64]
    refined_mask: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ScoreReplicates:
    """Bootstrap replicates of a table of scores.

    ``row_columns`` are those of :func:`ranked_rows`; those of the ``measures`` that need tables are
    computed in one pass over the replicates when the first of them is requested.
    """

    table: ScoreTable
    settings: Settings
    row_columns: BootstrapInputs | None = None
    measures: tuple[MeasureLike, ...] = ()

    def evaluate(self, measure: MeasureLike) -> FloatArray:
        """Return the value of a measure in each replicate; NaN where it is undefined."""
        definition = measure.definition
        area = definition.area
        if _is_core_area(area):
            areas = self.areas[:, CORE_AREAS.index(area.name)]
            return np.asarray(area.scale * areas + area.shift)
        if definition.needs_refinement is not None:
            batches = self.refine(
                partial(definition.needs_refinement, **measure.parameters),
                lambda curves: measure.apply(curves.table),
                at_corner=definition.maximum_of is not None,
            )
            return np.concatenate(list(batches))
        runs = self._runs(measure)
        if runs is not None:
            return measure.apply(self._combine_runs(runs))
        if measure in self._table_measures:
            return np.asarray(self._values[self._table_measures.index(measure)])
        return np.asarray(self._compute_values([measure])[0])

    @cached_property
    def ranked_rows(self) -> RankedRows:
        """Rows to resample."""
        return ranked_rows(self.table, self.row_columns)

    @property
    def _draws_totals(self) -> bool:
        """Whether the totals of blocks of rows are drawn before the rows."""
        return self.row_columns is None and len(self.ranked_rows.last_mask) > MAX_ROWS_DRAWN_SINGLY

    @cached_property
    def areas(self) -> FloatArray:
        """The :data:`CORE_AREAS` of all replicates, with one row for each of them."""
        return self._drawn_rows[0]

    @cached_property
    def _drawn_rows(self) -> tuple[FloatArray, FloatArray]:
        """Areas of all replicates, and points of their coarse curves."""
        from calipers import _core

        settings = self.settings
        areas, curve = _core.bootstrap_coarse(
            *self.ranked_rows, settings.seed, settings.n_resamples, self._rows_per_point
        )
        return areas, curve.reshape(settings.n_resamples, 2, -1)

    @property
    def _rows_per_point(self) -> int:
        """Number of rows between two points of coarse curves.

        The number of points is of the order of the number of rows per refined block.
        """
        rows = len(self.ranked_rows.last_mask)
        return max(MIN_ROWS_PER_POINT, 1 << max(int(np.log2(max(rows, 1)) / 2 - 1), 0))

    @cached_property
    def coarse(self) -> CoarseCurves:
        """Coarse curves of all replicates."""
        from calipers import _core

        rows, step = len(self.ranked_rows.last_mask), self._rows_per_point
        stops = self._n_predicted_positive
        block = np.searchsorted(stops, np.arange(0, rows + step, step).clip(max=rows), "right") - 1
        if not self._draws_totals:
            return CoarseCurves(self._drawn_rows[1], stops[block], block)
        sizes, settings = self._block_sizes(block).astype(np.int64), self.settings
        points = _core.bootstrap_totals(sizes, settings.seed, settings.n_resamples)
        return CoarseCurves(points.reshape(settings.n_resamples, 2, -1), stops[block], block)

    def _block_sizes(self, block_starts: npt.NDArray[np.int64]) -> FloatArray:
        """Return the numbers of positives and negatives of blocks, shape (2, blocks)."""
        return np.diff(np.stack(self.table.cumulative_counts)[:, block_starts])

    def _totals_drawn(
        self, replicate: npt.NDArray[np.int64], block: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the positives and negatives that are drawn in some blocks of some replicates."""
        points = self.coarse.points
        return (points[replicate, :, block + 1] - points[replicate, :, block]).astype(np.int64)

    @cached_property
    def _n_predicted_positive(self) -> npt.NDArray[np.int64]:
        """Cumulative number of rows that are predicted positive, by threshold."""
        return np.append(0, np.flatnonzero(self.ranked_rows.last_mask) + 1)

    def refine(
        self,
        select_blocks: BlockSelector,
        compute: Callable[[RefinedCurves], T],
        *,
        at_corner: bool = False,
    ) -> Iterable[T]:
        """Apply ``compute`` to batches of replicates, refined where ``select_blocks`` requires it.

        ``select_blocks`` selects blocks of the coarse curves. With ``at_corner`` curves are only
        refined at the corners of their convex hull.
        """
        n_resamples, _, points = self.coarse.points.shape
        step = max(1, MAX_COARSE_POINTS // points)

        def compute_batch(start: int) -> T:
            return compute(
                self._refine_batch(start, min(start + step, n_resamples), select_blocks, at_corner)
            )

        return _map_in_threads(compute_batch, range(0, n_resamples, step))

    def _refine_batch(
        self, start: int, stop: int, select_blocks: BlockSelector, at_corner: bool
    ) -> RefinedCurves:
        from calipers import _core

        coarse = self.coarse
        curve = coarse.points[start:stop]
        with np.errstate(divide="ignore", invalid="ignore"):
            refined_mask = select_blocks(self._curve_table(curve))
        replicate, block = np.nonzero(refined_mask)
        tp, fp, block_offset, points = _core.bootstrap_points(
            *self.ranked_rows,
            self.settings.seed,
            start + replicate,
            coarse.row_ranges(block),
            curve[replicate, :, block],
            at_corner,
            self._totals_drawn(start + replicate, block) if self._draws_totals else None,
        )
        # Between the point (0, 0) and the end of the curve, which both belong to every table.
        replicate_index = np.repeat(replicate, points)
        n_points = np.bincount(replicate_index, minlength=len(curve))
        column = (
            1
            + np.arange(len(replicate_index))
            - np.repeat(np.cumsum(n_points) - n_points, n_points)
        )
        shape = len(curve), n_points.max(initial=0) + 2
        refined = np.empty((len(curve), 2, shape[1]))
        refined[...] = curve[..., -1:]
        refined[..., 0] = 0.0
        refined[replicate_index, 0, column], refined[replicate_index, 1, column] = tp, fp
        block_index = np.full(shape, coarse.block_starts[-1])
        block_index[:, 0] = 0
        block_index[replicate_index, column] = block_offset + np.repeat(
            coarse.block_starts[block], points
        )
        return RefinedCurves(self._curve_table(refined), block_index, refined_mask)

    def _curve_table(self, curve: FloatArray) -> ScoreTable:
        """Return the table of points of curves; its scores are placeholders."""
        return ScoreTable.from_cumulative_counts(
            np.zeros(curve.shape[-1] - 1), curve[:, 0], curve[:, 1]
        )

    @cached_property
    def totals(self) -> FloatArray:
        """Positives and negatives of each replicate, shape (B, 2)."""
        return self.coarse.points[..., -1]

    def out_of_bag_counts(
        self, threshold_index: npt.NDArray[np.int64], refined_mask: npt.NDArray[np.bool_]
    ) -> FloatArray:
        """Return the cells TN, FP, FN and TP of the out-of-bag rows of each replicate.

        The shape is (B, 4); ``threshold_index`` is the index of a threshold for each replicate,
        and ``refined_mask`` marks the blocks whose rows were drawn to find it, shape (B, blocks).
        Of other blocks only the totals are drawn, so that these have their expected number of
        out-of-bag rows, n(1 − 1/n)^k if k of n rows are drawn.
        """
        from calipers import _core

        n_predicted = self._n_predicted_positive[threshold_index]
        if not self._draws_totals:
            return _core.bootstrap_left_out(*self.ranked_rows, self.settings.seed, n_predicted)
        coarse = self.coarse
        sizes = self._block_sizes(coarse.block_starts)
        omission_probability = 1 - 1 / np.maximum(sizes, 1)
        cells = np.empty((len(n_predicted), 2, 2))
        # Arrays of few replicates at a time stay in the cache of the processor.
        step = max(1, MAX_COARSE_POINTS // coarse.points.shape[-1])
        for begin in range(0, len(n_predicted), step):
            batch = slice(begin, begin + step)
            expected_counts = sizes * np.power(omission_probability, np.diff(coarse.points[batch]))
            expected_counts *= ~refined_mask[batch, None]
            predicted_mask = coarse.first_index[1:] <= n_predicted[batch, None]
            cells[batch, :, 1] = np.einsum(
                "bcs,bs->bc", expected_counts, predicted_mask.astype(np.float64)
            )[:, ::-1]
            cells[batch, :, 0] = expected_counts.sum(axis=-1)[:, ::-1] - cells[batch, :, 1]
        replicate, block = np.nonzero(refined_mask)
        drawn_cells = _core.bootstrap_left_out_of(
            self.ranked_rows.positive,
            self.ranked_rows.last_mask,
            self.settings.seed,
            replicate,
            coarse.row_ranges(block),
            self._totals_drawn(replicate, block),
            n_predicted[replicate],
        )
        first_index = np.searchsorted(replicate, np.arange(len(n_predicted) + 1))
        running = np.zeros((len(replicate) + 1, 4))
        np.cumsum(drawn_cells, axis=0, out=running[1:])
        return cells.reshape(-1, 4) + running[first_index[1:]] - running[first_index[:-1]]

    @cached_property
    def _table_measures(self) -> list[MeasureLike]:
        """Measures that need the bootstrap for their interval, and tables for that."""
        return [
            m for m in self.measures if m.definition.statistic is ScoreTable and self._is_generic(m)
        ]

    def _is_generic(self, measure: MeasureLike) -> bool:
        definition = measure.definition
        if definition.area is not None or definition.needs_refinement is not None:
            return False
        needs_bootstrap = definition.interval in (None, "basic") or definition.binned is not None
        return needs_bootstrap and self._runs(measure) is None

    def _runs(self, measure: MeasureLike) -> npt.NDArray[np.int64] | None:
        """Return the ends of runs of scores that can be combined, as table indices, or None."""
        if measure.definition.joint_positions is None:
            return None
        position = measure.definition.joint_positions(self.table, **measure.parameters)
        if position is None:
            return None
        return np.append(np.flatnonzero(position[1:] != position[:-1]) + 1, len(position))

    def _combine_runs(self, runs: npt.NDArray[np.int64]) -> ScoreTable:
        """Return the tables of all replicates with combined runs of scores and their mean score."""
        from calipers import _core

        sums = _core.bootstrap_runs(
            *self.ranked_rows,
            self.settings.seed,
            self.settings.n_resamples,
            self._n_predicted_positive[runs],
            np.repeat(self.table.scores, np.diff(self._n_predicted_positive)),
        ).reshape(self.settings.n_resamples, -1, 3)
        positive, total = sums[..., 0], sums[..., 1]
        with np.errstate(invalid="ignore"):
            scores = sums[..., 2] / total
        table = replace(self.table, scores=scores)
        if self.table.has_weights:
            first = np.append(0, runs[:-1])
            positive_sums, negative_sums, positive_squares, negative_squares = (
                np.add.reduceat(column, first)
                for column in (
                    self.table.positive,
                    self.table.negative,
                    self.table.positive_squares,
                    self.table.negative_squares,
                )
            )
            table = replace(
                table,
                positive=positive_sums,
                negative=negative_sums,
                positive_squares=positive_squares,
                negative_squares=negative_squares,
            )
        return _replicate_table(table, positive, total - positive)

    @cached_property
    def _values(self) -> FloatArray:
        return self._compute_values(self._table_measures)

    def _compute_values(self, measures: Sequence[MeasureLike]) -> FloatArray:
        """Return the values of measures, shape (measures, replicates)."""
        batches = self.map_tables(lambda table, _: np.array([m.apply(table) for m in measures]))
        return np.concatenate(list(batches), axis=1)

    def map_tables(
        self, compute: Callable[[ScoreTable, ScoreTable | None], T], *, out_of_bag: bool = False
    ) -> Iterable[T]:
        """Apply ``compute`` to batches of replicates.

        It receives the tables of some replicates, with these as the leading axis, and if
        ``out_of_bag`` those of the out-of-bag rows of these replicates.
        """
        distinct, n_resamples = len(self.table.scores), self.settings.n_resamples
        step = max(1, MAX_BATCH_ELEMENTS // distinct)

        def compute_batch(start: int) -> T:
            return compute(*self._tables(start, min(step, n_resamples - start), out_of_bag))

        return _map_in_threads(compute_batch, range(0, n_resamples, step))

    def _tables(
        self, start: int, n_replicates: int, out_of_bag: bool
    ) -> tuple[ScoreTable, ScoreTable | None]:
        from calipers import _core

        weights = _core.bootstrap_tables(
            *self.ranked_rows, self.settings.seed, start, n_replicates, out_of_bag
        )
        class_weights = weights.reshape(n_replicates, -1, 2, len(self.table.scores))
        in_bag, *out_of_bag_tables = (
            _replicate_table(self.table, table[:, 0], table[:, 1])
            for table in class_weights.swapaxes(0, 1)
        )
        return in_bag, out_of_bag_tables[0] if out_of_bag_tables else None


def _is_core_area(area: Any) -> bool:
    """Check whether the core computes an area during resampling."""
    return area is not None and area.name in CORE_AREAS


def _replicate_table(table: ScoreTable, positive: FloatArray, negative: FloatArray) -> ScoreTable:
    """Return the table with other weights, with the replicates as its leading axis.

    The squares at each score are proportional to its weight, which is exact if the rows of a score
    have equal weights.
    """
    positive_squares, negative_squares = positive, negative
    if table.has_weights:
        positive_squares = positive * _mean_weight(table.positive_squares, table.positive)
        negative_squares = negative * _mean_weight(table.negative_squares, table.negative)
    return replace(
        table,
        positive=positive,
        negative=negative,
        positive_squares=positive_squares,
        negative_squares=negative_squares,
    )


def _mean_weight(squares: FloatArray, total: FloatArray) -> FloatArray:
    """Return Σw²/Σw of the rows at each score; 0 where there are none."""
    return np.divide(squares, total, out=np.zeros(total.shape), where=total > 0)


def _map_in_threads(compute_batch: Callable[[int], T], starts: range) -> Iterable[T]:
    """Return the results for the batches in order, computed in several threads."""
    threads = min(os.cpu_count() or 1, MAX_THREADS, len(starts))
    if threads <= 1:
        return map(compute_batch, starts)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(compute_batch, starts))


def stratified_replicates(table: ScoreTable, settings: Settings) -> Iterator[ScoreTable]:
    """Yield stratified bootstrap replicates of an unweighted table, in batches.

    Each class keeps its number of rows: rows of each class are drawn from a multinomial
    distribution.
    """
    generator = np.random.Generator(np.random.Philox(settings.seed))
    step = max(1, MAX_BATCH_ELEMENTS // len(table.scores))
    for begin in range(0, settings.n_resamples, step):
        size = min(step, settings.n_resamples - begin)
        positive, negative = (
            generator.multinomial(round(counts.sum()), counts / counts.sum(), size).astype(
                np.float64
            )
            if counts.sum() > 0
            else np.zeros((size, len(counts)))
            for counts in (table.positive, table.negative)
        )
        yield replace(
            table,
            positive=positive,
            negative=negative,
            positive_squares=positive,
            negative_squares=negative,
        )
