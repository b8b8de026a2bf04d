"""Measures of a clustering against true classes: estimates from their contingency table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals
from calipers.inference.influence import DERIVATIVE_STEP
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.inference.method_limits import MIN_POINTS_PER_CELL
from calipers.inference.point_estimate import JointDistribution, PointEstimate, UnitGroups
from calipers.inference.variance_estimators import (
    Influence,
    StandardError,
    VarianceEstimator,
    has_same_values,
)
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ContingencyTable, FloatArray, IntArray
from calipers.statistics.base import sample_quantiles

if TYPE_CHECKING:
    from calipers.inference.settings import MeasureLike, Settings


#: Number of values that are drawn at a time.
_MAX_DRAWN_ELEMENTS = 2_000_000

#: The prior goes to all cells up to this number of cells; otherwise to a number of empty cells in
#: each of a number of turns.
_MAX_PRIOR_CELLS, _N_SUBSET_CELLS, _N_PRIOR_SUBSETS = 125, 25, 40

#: What the prior adds in all.
_PRIOR_COUNT = 1.0

#: Maximum number of cells of a table, empty ones included, for which the bias is simulated.
MAX_SMOOTHED_CELLS = 10_000

#: Standard deviations of their difference by which a class is surely larger than another.
MIN_CLASS_DISTANCE = 2.0

#: Cells and contents of draws (b, C).
CellDraws = tuple[tuple[IntArray, ...], FloatArray]


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """Non-empty cells of a contingency table: their index along each axis, and their counts."""

    shape: tuple[int, ...]
    codes: tuple[IntArray, ...]
    point_counts: FloatArray

    @classmethod
    def from_codes(
        cls, codes: Sequence[IntArray], shape: Sequence[int], point_counts: FloatArray | None = None
    ) -> OccupiedCells:
        """Count points from their codes along each axis, ``point_counts`` of each entry."""
        flat = np.ravel_multi_index(tuple(codes), tuple(shape))
        cell_index, inverse = np.unique(flat, return_inverse=True)
        counts = np.bincount(inverse, point_counts, len(cell_index))
        axes = np.unravel_index(cell_index, tuple(shape))
        return cls(tuple(shape), tuple(axes), counts.astype(np.float64))

    def draw_posterior(
        self, settings: Settings, n_without_prior: int | None = None
    ) -> Iterator[CellDraws]:
        """Draw cell counts from their posterior.

        It is Dirichlet(counts + prior), times the number of points.
        If ``n_without_prior`` is given, this number of tables is drawn, without the prior.
        """
        random = np.random.Generator(np.random.Philox(settings.seed))
        n_remaining, cells = n_without_prior or settings.n_resamples, math.prod(self.shape)
        covers_all_cells = cells <= _MAX_PRIOR_CELLS
        turn_size = (
            n_remaining
            if covers_all_cells or n_without_prior
            else max(1, -(-n_remaining // _N_PRIOR_SUBSETS))
        )
        size = max(
            1, min(turn_size, _MAX_DRAWN_ELEMENTS // (len(self.point_counts) + _MAX_PRIOR_CELLS))
        )
        while n_remaining > 0:
            codes, shape = self.codes, self.point_counts
            if not n_without_prior:
                cell_index = (
                    np.arange(cells)
                    if covers_all_cells
                    else random.integers(0, cells, _N_SUBSET_CELLS)
                )
                codes, shape = self._add_cells(cell_index, _PRIOR_COUNT / len(cell_index))
            n_draws = min(size, n_remaining)
            gamma_draws = random.standard_gamma(shape, (n_draws, len(shape)))
            yield (
                codes,
                gamma_draws * (self.point_counts.sum() / gamma_draws.sum(axis=1, keepdims=True)),
            )
            n_remaining -= n_draws

    def _add_cells(
        self, cell_index: IntArray, added: float
    ) -> tuple[tuple[IntArray, ...], FloatArray]:
        """Return these cells with a count added to the cells at ``cell_index``."""
        occupied_index = np.ravel_multi_index(self.codes, self.shape)
        cell_index, inverse = np.unique(np.append(occupied_index, cell_index), return_inverse=True)
        counts = np.append(self.point_counts, np.full(len(inverse) - len(occupied_index), added))
        merged_counts = np.bincount(inverse, counts, len(cell_index)).astype(np.float64)
        return tuple(np.unravel_index(cell_index, self.shape)), merged_counts

    def plausible_proportions(self) -> list[FloatArray]:
        """Return plausible true cell proportions of two axes, for a simulation of the bias.

        Statistics of samples from them have a larger optimistic bias. The first are shrunk towards
        independence (Hausser and Strimmer 2009), by as much as sampling noise may explain, so that
        empty cells are possible. In the second, classes of a cluster that are not clearly smaller
        than its largest one are made equal. Tables of more than :data:`MAX_SMOOTHED_CELLS` cells
        have none.
        """
        if math.prod(self.shape) > MAX_SMOOTHED_CELLS:
            return []
        counts = np.zeros(self.shape)
        counts[self.codes] = self.point_counts
        n = float(counts.sum())
        proportions = counts / n
        target = proportions.sum(axis=1)[:, None] * proportions.sum(axis=0)
        squared_distance = float(np.square(target - proportions).sum())
        noise = (1 - float(np.square(proportions).sum())) / max(n - 1, 1.0)
        shrinkage = min(1.0, noise / squared_distance) if squared_distance > 0 else 1.0
        max_counts = counts.max(axis=0)
        near_mask = max_counts - counts <= MIN_CLASS_DISTANCE * np.sqrt(max_counts + counts)
        mean_count = (counts * near_mask).sum(axis=0) / near_mask.sum(axis=0)
        return [
            shrinkage * target + (1 - shrinkage) * proportions,
            np.where(near_mask, mean_count, counts) / n,
        ]


#: Factor of estimated biases, which may be underestimated by a half.
BIAS_INFLATION = 1.5

METHOD = "Dirichlet posterior"

#: Number of points at which proportions have no sampling error.
_ASYMPTOTIC_POINTS = 1e12

#: Where the error of a difference is taken from draws, and where these are of a normal.
_TAIL_PROBABILITIES, _Z_975 = (0.025, 0.975), 1.959963984540054

#: Number of tables from which the bias is estimated.
_N_BIAS_TABLES = 400


class PosteriorDraws(NamedTuple):
    """Draws of a value, with estimates of its bias.

    The biases are the one by the jackknife, and those that were simulated with plausible true cell
    proportions.
    """

    draws: FloatArray
    jackknife_bias: float
    simulated_biases: tuple[float, ...]

    @property
    def biases(self) -> FloatArray:
        """Estimates of the bias.

        A known bias may be underestimated by a half, except with classes made as equal as possible.
        """
        biases = np.array([self.jackknife_bias, *self.simulated_biases, 0.0, 0.0][:3])
        return biases * [BIAS_INFLATION, BIAS_INFLATION, 1.0]

    def limits(self, level: float) -> tuple[float, float]:
        """Return percentiles of the draws, corrected for bias.

        The lower limit is moved down by the largest bias, or up if all are negative; the upper one
        up if the value is too low.
        """
        low, high = sample_quantiles(self.draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return low - float(self.biases.max()), high - min(self.jackknife_bias, 0.0)


@dataclass(frozen=True, eq=False)
class PartitionRows:
    """Sample of points with a true class and a cluster each.

    Each entry stands for ``point_counts`` identical points. The measures in ``joint_measures`` are
    evaluated on the same draws.
    """

    truth: IntArray
    cluster: IntArray
    classes: tuple[str, ...]
    clusters: tuple[str, ...]
    settings: Settings
    joint_measures: tuple[Any, ...] = ()
    point_counts: FloatArray | None = None
    #: Function that returns known influence values of a measure, or None.
    known_influence: Callable[[Any], Influence | None] | None = None
    _posterior_cache: dict[Any, PosteriorDraws] = field(default_factory=dict, repr=False)
    _pair_cache: dict[Any, FloatArray] = field(default_factory=dict, repr=False)

    @cached_property
    def statistic(self) -> ContingencyTable:
        """Contingency table of classes and clusters."""
        codes = self.truth, self.cluster
        return ContingencyTable.from_codes(*codes, self.classes, self.clusters, self.point_counts)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.truth) if self.point_counts is None else int(self.point_counts.sum())

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no point has a value of its own."""

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of both partitions."""
        table, definition, n = self.statistic, measure.definition, self.n_points
        return PointEstimate(
            value=float(measure.apply(table)),
            kind="measure of partitions",
            settings=self.settings,
            n=n,
            unit="points",
            bounds=definition.range,
            undefined=undefined_reasons(measure, table, n),
            higher_is_better=definition.higher_is_better,
            effective_sizes=lambda: (float(n),),
            caution=self._caution if definition.interval == "information" else "",
            joint_distribution=_PartitionDistribution(measure, self),
            influence=lambda: self.influence(measure),
            compute_error=lambda: StandardError(
                float(np.std(self.posterior_draws(measure).draws)), METHOD
            ),
            methods={METHOD: partial(self._interval, measure)},
        )

    @property
    def _caution(self) -> str:
        cells = len(self.classes) * len(self.clusters)
        return "few points a cell" if self.n_points < MIN_POINTS_PER_CELL * cells else ""

    def influence(self, measure: MeasureLike, total: ContingencyTable | None = None) -> Influence:
        """Return the influence values of a measure.

        ``total`` is the table of all points, if these are some of them.
        """
        if (
            total is None
            and self.known_influence is not None
            and (known_influence := self.known_influence(measure)) is not None
        ):
            return known_influence
        scale = 1.0 if self.point_counts is None else np.sqrt(self.point_counts)
        return Influence(self.point_influence(measure, total) * scale, VarianceEstimator(), METHOD)

    def point_influence(
        self, measure: MeasureLike, total: ContingencyTable | None = None
    ) -> FloatArray:
        """Return the influence of a point of each entry, by numeric derivatives."""
        table = self.statistic if total is None else total
        steps = DERIVATIVE_STEP * np.eye(len(table.cell_counts)) * table.cell_counts
        shifted_values = [
            measure.apply(
                ContingencyTable.from_cells(
                    table.cell_counts + sign * steps, table.class_of, table.cluster_of, table
                )
            )
            for sign in (1, -1)
        ]
        slope = (shifted_values[0] - shifted_values[1]) / (2 * steps.diagonal())
        slope -= float((slope * table.cell_counts).sum() / table.cell_counts.sum())
        cell_index = table.class_of * len(self.clusters) + table.cluster_of
        cell = np.searchsorted(cell_index, self.truth * len(self.clusters) + self.cluster)
        return np.asarray(slope[cell])

    def posterior_draws(self, measure: Any) -> PosteriorDraws:
        """Return the posterior draws of a measure, computed for all requested measures at once."""
        if measure not in self._posterior_cache:
            measures = list(dict.fromkeys((measure, *self.joint_measures)))
            self._posterior_cache.update(self._compute_posterior_draws(measures))
        return self._posterior_cache[measure]

    def _compute_posterior_draws(self, measures: Sequence[Any]) -> dict[Any, PosteriorDraws]:
        table = self.statistic
        shape = len(self.classes), len(self.clusters)
        cells = OccupiedCells(shape, (table.class_of, table.cluster_of), table.cell_counts)
        draws = self._apply_to_draws(measures, cells.draw_posterior(self.settings))
        # Draws about counts are off as counts are about the truth; without the prior, which is not
        # to be taken off with that.
        without_prior = self._apply_to_draws(
            measures, cells.draw_posterior(self.settings, _N_BIAS_TABLES)
        )
        jackknife_bias = self._jackknife_biases(measures)
        simulated_biases = [
            self._simulated_biases(measures, cells, proportions)
            for proportions in cells.plausible_proportions()
        ]
        result = {}
        for measure in measures:
            value = float(measure.apply(table))
            deviation = _nanmean(without_prior[measure]) - value
            world_biases = tuple(world[measure] for world in simulated_biases)
            result[measure] = PosteriorDraws(
                draws[measure] - deviation, jackknife_bias[measure], world_biases
            )
        return result

    def _apply_to_draws(
        self,
        measures: Sequence[Any],
        draws: Iterable[CellDraws],
        axis: int = 1,
        emi_factor: float = 1.0,
    ) -> dict[Any, FloatArray]:
        """Evaluate measures on cell counts whose clusters are along an axis.

        Their expected mutual information is taken to be that of this table, times ``emi_factor``.
        """
        batches_by_measure: dict[Any, list[FloatArray]] = {measure: [] for measure in measures}
        for codes, counts in draws:
            tables = ContingencyTable.from_cells(
                counts, codes[0], codes[axis], self.statistic, emi_factor
            )
            for measure, batches in batches_by_measure.items():
                batches.append(np.atleast_1d(measure.apply(tables)))
        return {measure: np.concatenate(batches) for measure, batches in batches_by_measure.items()}

    def _jackknife_biases(self, measures: Sequence[Any]) -> dict[Any, float]:
        """Return the jackknife estimates of bias: (n − 1)·(mean without one point − value)."""
        table, sums = self.statistic, dict.fromkeys(measures, 0.0)
        n = float(table.total)
        separates_matched = any(m.definition.interval == "matching" for m in measures)
        for tables, points in table.leave_one_out(separates_matched=separates_matched):
            for measure in measures:
                sums[measure] += float((measure.apply(tables) * points).sum())
        biases = {m: (n - 1) * (total / n - float(m.apply(table))) for m, total in sums.items()}
        return {m: bias if math.isfinite(bias) else 0.0 for m, bias in biases.items()}

    def _simulated_biases(
        self, measures: Sequence[Any], cells: OccupiedCells, proportions: FloatArray
    ) -> dict[Any, float]:
        """Return the mean bias of measures in samples of the data's size from these proportions."""
        codes = tuple(axis_index.ravel() for axis_index in np.indices(cells.shape))
        random = np.random.Generator(np.random.Philox(self.settings.seed))
        n, flat_proportions = (
            round(float(cells.point_counts.sum())),
            proportions.ravel() / proportions.sum(),
        )
        counts = random.multinomial(n, flat_proportions, _N_BIAS_TABLES).astype(np.float64)
        sample_values = self._apply_to_draws(measures, [(codes, counts)])
        true_values = self._apply_to_draws(
            measures,
            [(codes, flat_proportions[None] * _ASYMPTOTIC_POINTS)],
            emi_factor=n / _ASYMPTOTIC_POINTS,
        )
        biases = {m: _nanmean(sample_values[m]) - float(true_values[m][0]) for m in measures}
        return {m: bias if math.isfinite(bias) else 0.0 for m, bias in biases.items()}

    def difference_draws(self, second: PartitionRows, measure: Any) -> FloatArray:
        """Return draws of the difference from another clustering of the same points."""
        cache, key = self._pair_cache, (second, measure)
        if key not in cache:
            cache.clear()
            shape = len(self.classes), len(self.clusters), len(second.clusters)
            codes = self.truth, self.cluster, second.cluster
            cells = OccupiedCells.from_codes(codes, shape, self.point_counts)
            measures = list(dict.fromkeys((measure, *self.joint_measures)))
            for joint_measure, (differences, without_prior) in self._cell_differences(
                second, measures, cells
            ).items():
                value = float(
                    joint_measure.apply(self.statistic) - joint_measure.apply(second.statistic)
                )
                cache[second, joint_measure] = differences - _nanmean(without_prior) + value
        return cache[key]

    def _cell_differences(
        self, second: PartitionRows, measures: Sequence[Any], cells: OccupiedCells
    ) -> dict[Any, tuple[FloatArray, FloatArray]]:
        """Return draws of the differences, with the prior and without it."""
        draws_by_prior = [
            [
                partition._apply_to_draws(
                    measures, cells.draw_posterior(self.settings, draws), axis
                )
                for partition, axis in ((self, 1), (second, 2))
            ]
            for draws in (None, _N_BIAS_TABLES)
        ]
        return {m: tuple(ours[m] - theirs[m] for ours, theirs in draws_by_prior) for m in measures}  # type: ignore[misc]

    def _interval(self, measure: MeasureLike, level: float) -> Interval:
        if len(self.statistic.cell_counts) == 1 == len(self.classes) * len(self.clusters):
            return intervals.no_interval(METHOD, "no_spread")  # no other table can be drawn
        posterior = self.posterior_draws(measure)
        if not np.isfinite(posterior.draws).all():
            return intervals.no_interval(METHOD, "undefined_replicates")
        value = float(measure.apply(self.statistic))
        # Of one cluster draws of most measures are what they are but for rounding.
        low, high = (
            value if abs(end - value) <= ROUNDING_TOLERANCE else end
            for end in posterior.limits(level)
        )
        return Interval(low, high, METHOD, se=float(np.std(posterior.draws)))


def _nanmean(values: FloatArray) -> float:
    """Return the mean of the values that are not NaN; NaN if there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


@dataclass(frozen=True, eq=False)
class _PartitionDistribution(JointDistribution):
    """Joint distribution of two clusterings of the same points.

    The cells of class × first × second are drawn together.
    """

    measure: Any
    partition: PartitionRows

    def is_joint_with(self, second: JointDistribution) -> bool:
        """Check whether the points have the same classes in both."""
        return isinstance(second, _PartitionDistribution) and has_same_values(
            self.partition.truth, second.partition.truth
        )

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two point estimates, with a standard error from the draws.

        It is that of a normal distribution whose limits reach as far as the draws do, and as far as
        the difference of the biases allows.
        """
        assert isinstance(second.joint_distribution, _PartitionDistribution)
        second_partition, measure = second.joint_distribution.partition, self.measure
        is_defined = bool(np.isfinite(first.value - second.value))

        def error() -> StandardError | Interval:
            if not is_defined:
                return intervals.no_interval("none", "undefined_value")
            value = first.value - second.value
            low, high = sample_quantiles(
                self.partition.difference_draws(second_partition, measure), _TAIL_PROBABILITIES
            ).tolist()
            bias_differences = (
                self.partition.posterior_draws(measure).biases
                - second_partition.posterior_draws(measure).biases
            )
            low, high = low - max(0.0, *bias_differences), high - min(0.0, *bias_differences)
            return StandardError(max(value - low, high - value) / _Z_975, METHOD)

        def influence() -> Influence:
            return self.partition.influence(measure) - second_partition.influence(measure)

        def groups() -> UnitGroups:
            """Return the influence of groups of identical points."""
            point_counts = self.partition.point_counts
            assert point_counts is not None
            slopes = self.partition.point_influence(measure) - second_partition.point_influence(
                measure
            )
            return UnitGroups(slopes * point_counts.sum(), point_counts, point_counts, point_counts)

        return first.difference(
            second,
            influence=influence,
            compute_error=error,
            unit_groups=None if self.partition.point_counts is None else groups,
        )
