"""Evaluation in two passes over rows, on any engine.

The first pass accumulates the statistics of the batches, which determine all values. The second
pass maps each row to its influence values, given the statistics of all rows, and stores their inner
products (k² for k estimates), or sums by cluster if rows come in clusters. The result is an
influence function as for rows in memory: an element of a space whose norm is the standard error, to
which the algebra of point estimates applies. The second pass is run on demand: for a single system,
most standard errors follow from the statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.engines.base import Engine, identity
from calipers.engines.gram_matrix import (
    GramInfluence,
    Request,
    as_linear_combination,
    cluster_influence,
)
from calipers.engines.paired_differences import (
    JointConfusion,
    PairDifferences,
    SystemPair,
    distinct_pairs,
)
from calipers.engines.pass_tasks import (
    BatchSystems,
    FirstPass,
    FirstPassResult,
    InfluenceTask,
    LimitStatistics,
    PairTask,
    SecondPass,
    SecondPassResult,
    SquaredNorm,
)
from calipers.estimation.averages import RowSummary, estimate_from_tables
from calipers.estimation.case_scores import CaseValues, add_unscored
from calipers.estimation.counts import ClassCounts, PairedCounts
from calipers.estimation.effective_sample_size import add_auc_interval
from calipers.estimation.losses import estimate_from_moments, is_mean, loss_derivative
from calipers.estimation.multilabel import (
    RowValues,
    complete_streamed_estimate,
    reweight_clusters,
)
from calipers.estimation.poisson_bootstrap import add_replicates
from calipers.estimation.rater_agreement import (
    add_cluster_method,
    complete_clustered_difference,
    complete_streamed_difference,
)
from calipers.estimation.regression import add_streamed_intervals, pairwise_interval
from calipers.estimation.scores import fallback_intervals, table_acceleration
from calipers.estimation.statistic_estimates import applicable_measure, estimate_from_statistic
from calipers.inference import intervals
from calipers.inference.clusters import ClusterIndex
from calipers.inference.influence import measure_influence as score_influence
from calipers.inference.multinomial_cells import MultinomialCells
from calipers.inference.point_estimate import NO_SPREAD, UnitSummary
from calipers.inference.variance_estimators import Influence, TwoClassVariance
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import (
    ClassTables,
    ConfusionMatrix,
    Moments,
    NumericMoments,
    NumericRows,
    Ratings,
    ScoreRows,
    ScoreTable,
    StatisticVector,
    UnitDifferences,
)
from calipers.statistics.base import effective_size
from calipers.systems import costs
from calipers.systems.base import SystemOutput
from calipers.systems.multioutput import StreamedOutputLosses

if TYPE_CHECKING:
    from calipers.inference.intervals import Interval
    from calipers.inference.point_estimate import IntervalFunction, PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, Signs, Statistic, UnitSums

#: Maximum number of scores of the tables in which the influence of rows is looked up. With more
#: scores, standard errors have a relative error of about 1e-6.
MAX_TABLE_CELLS = 1 << 20


def _one_pass_interval() -> Interval:
    """Return the missing interval of a value whose second pass is impossible."""
    return intervals.no_interval("none", "one_pass")


def _no_auxiliary(systems: Mapping[str, SystemOutput]) -> int:
    return 0


def _fallback_intervals(
    measure: Measure, estimate: PointEstimate, table: ScoreTable, influence: Influence
) -> Mapping[str, IntervalFunction]:
    """Return the intervals by the numbers of clusters of each class.

    Between the ends of the range a proportion of the smaller class has none, because the numbers
    of its clusters do not show how much these vary, unless all clusters are equal.
    """
    space = influence.variance_estimator
    if not isinstance(space, TwoClassVariance):
        return {}
    methods = fallback_intervals(measure, estimate.value, table, space.clusters, space.positive)
    is_at_end = min(abs(estimate.value - end) for end in estimate.bounds) <= estimate.tolerance
    has_spread = influence.standard_error.se > NO_SPREAD
    return {} if has_spread and not is_at_end else methods


def _limit_cells(statistic: Any, max_cells: int = MAX_TABLE_CELLS) -> Any:
    """Compress the tables in which rows are looked up.

    The cells are divided among several tables.
    """
    if isinstance(statistic, StatisticVector):
        component_limit = max(
            MAX_TABLE_CELLS >> 4, 4 * MAX_TABLE_CELLS // max(len(statistic.components), 4)
        )
        return statistic.map_components(partial(_limit_cells, max_cells=component_limit))
    return (
        statistic.compress(max_cells)
        if isinstance(statistic, ScoreTable | ClassTables)
        else statistic
    )


@dataclass(frozen=True, eq=False)
class TwoPassEvaluation:
    """Evaluation of systems on the same rows in two passes.

    Attributes
    ----------
    engine : Engine
        Engine that has the rows.
    template_systems : dict of SystemOutput
        Systems by name, of the same kinds, on any rows.
    measures : sequence of Measure
        Requested measures.
    build : callable
        Function that creates the systems from a batch.
    columns : sequence of str
        Columns to read.
    limit_size : callable
        Function that limits the size of accumulated statistics.
    auxiliary_values : callable
        Function that computes an auxiliary result of every batch, whatever the measures.
    compared_pairs : sequence of tuple of str
        Pairs of systems to compare, the first minus the second.
    inspect_rows : callable, optional
        Function that returns what is stored of the inspected rows of a batch.
    extra_requests : sequence of tuple
        Additional pairs of system and measure whose statistics are accumulated.
    common_weight_of_all : callable, optional
        For a subset of the rows: function that returns the common weight of all rows, if it is
        equal.
    """

    engine: Engine
    template_systems: Mapping[str, SystemOutput]
    measures: Sequence[Measure]
    build: Callable[[Any], BatchSystems] = BatchSystems
    columns: Sequence[str] = ()
    limit_size: Callable[[Any], Any] = identity
    auxiliary_values: Callable[[Mapping[str, SystemOutput]], Any] = _no_auxiliary
    #: Pairs of systems to compare, the first minus the second.
    compared_pairs: Sequence[tuple[str, str]] = ()
    #: Function that returns what is stored of the inspected rows of a batch.
    inspect_rows: Callable[[BatchSystems], Any] | None = None
    #: Additional values whose statistics are accumulated in the first pass.
    extra_requests: Sequence[Request] = ()
    #: For a subset of rows: the common weight of all rows, if it is equal.
    common_weight_of_all: Callable[[], float] | None = None
    _completed_passes: list[str] = field(default_factory=list)
    _differences_by_pair: dict[Any, Any] = field(default_factory=dict)
    _cube_sums: dict[Request, float] = field(default_factory=dict)
    _cluster_cell_weights: dict[int, FloatArray] = field(default_factory=dict)

    def point_estimate(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> PointEstimate | None:
        """Return the point estimate of a measure from the accumulated statistics.

        The influence function is known, bootstrap replicates of rows are not.

        Parameters
        ----------
        system : str
            Name of the system.
        measure : Measure
            Measure to compute.
        settings : Settings, optional
            Settings of inference; by default those of the system.

        Returns
        -------
        PointEstimate or None
            Value with its sampling distribution; None if it cannot be computed from statistics.
        """
        request, first_result = (system, measure), self.first_pass_result
        if request not in self.statistics:
            return None
        template, statistic = self.template_systems[system], self.statistics[request]
        delegate, applied_measure = template.delegate(measure)
        value, terms = None, None
        if isinstance(statistic, StatisticVector):
            terms = delegate.terms(applied_measure)
        if isinstance(terms, StreamedOutputLosses):
            assert isinstance(statistic, StatisticVector)
            second_statistic = self._second_pass_statistic(request)
            if second_statistic is not None and self.common_weight != 1:
                second_statistic = second_statistic.divide_weights(self.common_weight)
            value, statistic = terms.combined_moments(applied_measure, statistic, second_statistic)
            applied_measure = applied_measure.plain

        scale = self._scale(request, applied_measure)

        def get_influence() -> Influence | None:
            influence = self.influences.get(request)
            return influence if influence is None or scale == 1 else scale * influence

        size = effective_size(first_result.weight.total, first_result.weight.squares)
        summary = RowSummary(
            first_result.rows,
            size,
            first_result.clustered,
            settings or template.settings,
            get_influence,
            partial(self._second_pass_statistic, request),
        )
        sample: Any = delegate.sample_for(applied_measure)

        @cache
        def by_cluster() -> Influence | None:
            influence = get_influence() if first_result.clustered else None
            if influence is None or not isinstance(sample, RowValues):
                return influence
            return reweight_clusters(influence)

        estimate = (
            self._moments_estimate(applied_measure, statistic, sample, summary, by_cluster())
            if isinstance(statistic, Moments)
            else self._statistic_estimate(delegate, applied_measure, statistic, summary)
        )
        if estimate is None:
            return None
        sizes = estimate.effective_sizes() or (size,)
        if not isinstance(statistic, Moments):
            # What two estimates share is known of their rows, which are gone, or of differences.
            estimate = replace(estimate, joint_distribution=None)
        if isinstance(statistic, ScoreRows):
            estimate = replace(estimate, bounds=sample.value_range)
            estimate = add_unscored(applied_measure, estimate, statistic.n_rows)
        if first_result.clustered:
            estimate = self._clustered_estimate(
                request, applied_measure, statistic, estimate, by_cluster()
            )
        else:
            estimate = self._independent_estimate(request, applied_measure, statistic, estimate)
        is_pairwise = estimate.kind in ("correlation", "proportion of pairs")
        if is_pairwise and 1 - abs(estimate.value) <= estimate.tolerance:
            clusters = estimate.clusters
            n_trials = size if clusters is None else float(clusters.n_clusters)
            limits = partial(pairwise_interval, estimate, n_trials, clusters)
            estimate = replace(estimate, methods={**estimate.methods, "of rows": limits})
        if (estimate.compute_error is None or value is not None) and not self.engine.is_rereadable:
            error = _one_pass_interval if self._has_influence(request) else None
            estimate = replace(estimate, compute_error=error)
        return replace(
            estimate,
            unit=template.unit if estimate.unit == SystemOutput.unit else estimate.unit,
            value=estimate.value if value is None else value,
            influence=get_influence,
            has_unequal_weights=first_result.weight.has_unequal_weights,
            effective_sizes=lambda: sizes,
            is_reduced=True,
            stratified_replicates=None,
            studentized_replicates=None,
            jackknife=None,
        )

    def _moments_estimate(
        self,
        measure: Measure,
        moments: Moments,
        sample: Any,
        summary: RowSummary,
        by_cluster: Influence | None,
    ) -> PointEstimate:
        """Return the point estimate of a function of a mean, with what is known of the units."""
        formula, value_range = (
            applicable_measure(measure, moments),
            getattr(sample, "value_range", None),
        )
        rows = summary.settings, summary.n_rows
        estimate = estimate_from_moments(formula, moments, *rows, value_range, by_cluster)
        if isinstance(sample, RowValues):
            estimate = complete_streamed_estimate(measure, estimate, moments, summary.n_rows)
        if isinstance(sample, CaseValues):
            estimate = sample.complete(estimate)
        if not self.engine.is_rereadable:
            return estimate
        rate = loss_derivative(formula, estimate.value, moments)

        def unit_influence() -> Influence | None:
            influence = summary.influence()
            return None if influence is None else (1 / rate) * influence

        units = UnitSummary(
            moments.mean,
            moments.effective_size,
            unit_influence,
            has_weights=self.first_pass_result.weight.has_unequal_weights,
        )
        return replace(estimate, units=units, value_is_unit_mean=is_mean(formula))

    def _independent_estimate(
        self, request: Request, measure: Measure, statistic: Any, estimate: PointEstimate
    ) -> PointEstimate:
        """Complete the point estimate of independent rows."""
        # Of counts, the replicates of this estimate are not those of another one's rows.
        replicates = estimate.standalone_replicates
        if isinstance(statistic, ConfusionMatrix):
            replicates = estimate.replicates if estimate.resampling_name else None
        estimate = replace(estimate, replicates=None, standalone_replicates=replicates)
        if isinstance(statistic, ClassTables):
            return replace(estimate, compute_scaled_skewness=lambda: self._skewness(request))
        if isinstance(statistic, NumericRows) and estimate.kind == "quantile":
            return costs.add_quantile_limits(measure, estimate, statistic)
        if isinstance(statistic, NumericMoments | NumericRows):
            if estimate.kind == "relative error":
                skewness = partial(self._skewness, request)
                estimate = replace(estimate, compute_scaled_skewness=skewness)
            return add_streamed_intervals(estimate, statistic)
        return estimate

    def _clustered_estimate(
        self,
        request: Request,
        measure: Measure,
        statistic: Any,
        estimate: PointEstimate,
        influence: Influence | None,
    ) -> PointEstimate:
        """Replace what holds for independent rows by what the clusters of the rows show."""
        clusters = None if influence is None else influence.variance_estimator.clusters
        counts = None if clusters is None else self._clustered_counts(request, estimate.settings)
        methods: Mapping[str, IntervalFunction] = {}
        replicates = None
        if counts is not None:
            by_cluster = counts.point_estimate(measure)
            methods, replicates = by_cluster.methods, by_cluster.replicates
        elif isinstance(statistic, ScoreTable) and influence is not None:
            methods = _fallback_intervals(measure, estimate, statistic, influence)
        elif isinstance(statistic, Ratings):
            methods = add_cluster_method(replace(estimate, influence=lambda: influence)).methods
        elif isinstance(statistic, Moments) and clusters is not None:
            methods = estimate.methods
        return replace(
            estimate,
            compute_error=None if influence is None else lambda: influence.standard_error,
            clusters=clusters,
            methods=methods,
            replicates=replicates,
            standalone_replicates=None,
            resampling_name="",
            posterior_draws=None,
        )

    def _clustered_counts(self, request: Request, settings: Settings) -> ClassCounts | None:
        """Return the counts of rows in clusters, as one row of each cluster and cell.

        It is None for other statistics, and if these weights need too much memory.
        """
        statistic, cell_weights = (
            self.statistics[request],
            self._cluster_cell_weights.get(self.statistic_numbers[request]),
        )
        if cell_weights is None:
            return None
        assert isinstance(statistic, ConfusionMatrix)
        cells = self._cells_by_cluster(cell_weights, (statistic.n_classes,) * 2)
        return ClassCounts(statistic, cells, settings)

    def _cells_by_cluster(self, weights: FloatArray, shape: tuple[int, ...]) -> MultinomialCells:
        """Return cells from the weight of the rows of each cluster in each of them."""
        cluster, cell_index = np.nonzero(weights)
        weight = weights[cluster, cell_index] / self.common_weight
        clusters = ClusterIndex(cluster.astype(np.uint32), len(weights), weight)
        return MultinomialCells.from_flat(cell_index.astype(np.int64), shape, weight, clusters)

    def cluster_cell_weights(self, system: str) -> FloatArray | None:
        """Return the weight of the rows of each cluster in each cell of the confusion matrix.

        Parameters
        ----------
        system : str
            Name of the system.

        Returns
        -------
        ndarray of shape (C, K * K) or None
            Weights of the C clusters; None if no requested measure takes the matrix of all K
            classes, or if there are too many of both.
        """
        template = self.template_systems[system]
        for (name, measure), statistic_number in (
            self.statistic_numbers.items() if self.influences else ()
        ):
            has_all_classes = name == system and template.delegate(measure)[0] is template
            if has_all_classes and statistic_number in self._cluster_cell_weights:
                return self._cluster_cell_weights[statistic_number] / self.common_weight
        return None

    def _skewness(self, request: Request) -> float:
        """Return the skewness over √n of the influence values, if it was accumulated."""
        influence = self.influences.get(request)
        se = 0.0 if influence is None else influence.standard_error.se
        return abs(self._cube_sums[request]) / se**3 if se > 0 else 0.0

    def difference(
        self, pair: tuple[str, str], measure: Measure, settings: Settings | None = None
    ) -> PointEstimate | None:
        """Return the difference of two systems, with the paired information of the rows.

        Parameters
        ----------
        pair : tuple of str
            Names of the systems; the second is subtracted from the first.
        measure : Measure
            Measure to compare by.
        settings : Settings, optional
            Settings of inference; by default those of the systems.

        Returns
        -------
        PointEstimate or None
            Difference with its sampling distribution; None if it cannot be computed from
            statistics.
        """
        first, second = (self.point_estimate(name, measure, settings) for name in pair)
        if first is None or second is None:
            return None
        if not self.engine.is_rereadable:
            return first - second
        if self._has_same_defined_rows(pair, measure):
            # Of these rows the difference is the mean of the paired differences.
            first, second = (replace(estimate, joint_distribution=None)
                             for estimate in (first, second))  # fmt: skip
        if self.first_pass_result.clustered:
            return self._clustered_difference(pair, measure, (first, second))
        joint_counts = self._joint_counts(pair, measure, first.settings)
        delegate, applied_measure = self.template_systems[pair[0]].delegate(measure)
        difference = (
            first - second
            if joint_counts is None
            else joint_counts.difference(applied_measure, first, second)
        )
        scale = self._scale((pair[0], measure), applied_measure)

        def scaled_differences() -> UnitDifferences | None:
            unit_differences = self.unit_differences(pair, measure)
            if unit_differences is None or scale == 1:
                return unit_differences
            return replace(
                unit_differences, spread=unit_differences.spread.transform(0.0, factor=scale)
            )

        if isinstance(self.statistics[pair[0], measure], Ratings):
            unit_differences = self.unit_differences(pair, measure)
            weight = self.first_pass_result.weight
            return (
                difference
                if unit_differences is None
                else complete_streamed_difference(
                    difference, unit_differences, weight.total / self.common_weight
                )
            )
        difference = replace(difference, unit_spread=scaled_differences)
        sample = delegate.sample_for(applied_measure)
        if isinstance(sample, CaseValues):
            return sample.complete_difference(
                applied_measure, difference, (first, second), lambda: self._signs(pair, measure)
            )
        return difference

    def _has_same_defined_rows(self, pair: tuple[str, str], measure: Measure) -> bool:
        """Return whether two means with undefined rows are of the same rows."""
        delegate, applied_measure = self.template_systems[pair[0]].delegate(measure)
        statistics = [self.statistics[name, measure] for name in pair]
        if not all(isinstance(statistic, Moments) for statistic in statistics):
            return False
        if not isinstance(delegate.sample_for(applied_measure), RowValues):
            return False
        signs = self._signs(pair, measure)
        n_common = None if signs is None else sum(signs)
        return all(statistic.rows == n_common for statistic in statistics)  # type: ignore[attr-defined]

    def _clustered_difference(
        self,
        pair: tuple[str, str],
        measure: Measure,
        estimates: tuple[PointEstimate, PointEstimate],
    ) -> PointEstimate:
        """Return the difference on clustered rows, with what the differences of rows show."""

        def moments() -> Moments | None:
            unit_differences = self.unit_differences(pair, measure)
            return None if unit_differences is None else unit_differences.moments

        difference = estimates[0] - estimates[1]
        joint_counts = self._joint_counts(pair, measure, difference.settings)
        if joint_counts is not None:
            by_cluster = joint_counts.difference(
                self.template_systems[pair[0]].delegate(measure)[1], *estimates
            )
            difference = replace(
                difference,
                compute_error=by_cluster.compute_error,
                methods=by_cluster.methods,
                replicates=by_cluster.replicates,
                posterior_draws=by_cluster.posterior_draws,
            )
        difference = replace(difference, signs=lambda: self._signs(pair, measure))
        if isinstance(self.statistics[pair[0], measure], Ratings):
            unit_differences = self.unit_differences(pair, measure)
            if unit_differences is None:
                return difference
            return complete_clustered_difference(
                difference, unit_differences, self.first_pass_result.rows
            )
        if isinstance(difference.units, UnitSummary):
            return replace(difference, units=replace(difference.units, moments=moments))
        return difference

    def _signs(self, pair: tuple[str, str], measure: Measure) -> Signs | None:
        """Return the numbers of rows on which the first system is higher, equal and lower."""
        unit_differences = self.unit_differences(pair, measure)
        return None if unit_differences is None else unit_differences.signs

    def _statistic_estimate(
        self, system: SystemOutput, measure: Measure, statistic: Any, summary: RowSummary
    ) -> PointEstimate | None:
        """Return the point estimate that follows from a statistic of all rows."""
        if isinstance(statistic, StatisticVector):
            part_estimates = [
                self._statistic_estimate(system, measure.plain, component, summary)
                for component in statistic.components
            ]
            combined_estimate: PointEstimate = system.terms(measure).point_estimate(
                measure, part_estimates, statistic, summary
            )
            return combined_estimate
        if isinstance(statistic, ClassTables):
            return estimate_from_tables(
                applicable_measure(measure, statistic),
                statistic,
                summary.settings,
                summary.n_rows,
                summary,
            )
        second_pass_statistic, rows = (
            None if summary.has_clusters else summary.second_pass_statistic,
            (summary.settings, summary.n_rows),
        )
        estimate = estimate_from_statistic(
            measure,
            statistic,
            *rows,
            uses_compiled_areas=True,
            second_pass_statistic=second_pass_statistic,
        )
        if estimate is None or summary.has_clusters or not isinstance(statistic, ScoreTable):
            return estimate
        formula = applicable_measure(measure, statistic)
        estimate, area = add_replicates(formula, estimate, statistic), formula.definition.area
        if area is None:
            return estimate

        def acceleration() -> float | None:
            closed_form = table_acceleration(
                formula, statistic, self.first_pass_result.weight.max_weight
            )
            return closed_form if closed_form is not None else summary.skewness / 6

        return add_auc_interval(
            formula, estimate, [(1.0, estimate)], acceleration, summary.effective_size
        )

    def needs_second_pass(self, system: str, measure: Measure) -> bool:
        """Return whether the standard error of a value needs a second pass over the rows."""
        template, statistic = self.template_systems[system], self.statistics[system, measure]
        if isinstance(statistic, StatisticVector):
            return self._has_influence((system, measure))
        estimate = estimate_from_statistic(
            template.delegate(measure)[1], statistic, template.settings, self.first_pass_result.rows
        )
        if estimate is None or estimate.compute_error is not None:
            return False
        return self._has_influence((system, measure))

    def _has_influence(self, request: Request) -> bool:
        """Return whether the influence function of a value is known."""
        system, measure = request
        statistic = self.influence_task.statistics[request]
        # Tables need not have the scores of the rows of these systems.
        if isinstance(statistic, StatisticVector) and isinstance(
            statistic.components[0], ScoreTable
        ):
            return True
        if isinstance(statistic, ScoreTable):
            applied_measure = self.template_systems[system].delegate(measure)[1]
            return score_influence(applied_measure, statistic) is not None
        if isinstance(statistic, ClassTables):
            return score_influence(measure.plain, statistic.tables[0]) is not None
        return self.template_systems[system].influence(measure, statistic) is not None

    def _run_pass(
        self, map_batch: Callable[[Any], Any], limit_size: Callable[[Any], Any] = identity
    ) -> Any:
        self._completed_passes.append("pass")
        return self.engine.reduce(
            map_batch, self.columns, limit_size, f"pass {len(self._completed_passes)}"
        )

    # --- Pass one --------------------------------------------------------------------------------

    @cached_property
    def statistic_numbers(self) -> Mapping[Request, int]:
        """Statistic number of each measure; measures with the same statistic have the same number.

        Measures that take several statistics are absent.
        """
        extra = set(self.extra_requests)
        return {
            request: statistic_number
            for request, statistic_number in self.all_statistic_numbers.items()
            if request not in extra
        }

    @cached_property
    def all_statistic_numbers(self) -> Mapping[Request, int]:
        """Numbers of all statistics, including the additional ones."""
        requests = [(name, measure) for name in self.template_systems for measure in self.measures]
        requests += self.extra_requests
        statistics = [
            self.template_systems[name].batch_statistic(measure) for name, measure in requests
        ]  # and so all are alive
        number_by_id: dict[int, int] = {}
        return {
            request: number_by_id.setdefault(id(statistic), len(number_by_id))
            for request, statistic in zip(requests, statistics, strict=True)
            if statistic is not None
        }

    @cached_property
    def first_pass_result(self) -> FirstPassResult:
        """First-pass result."""
        work = FirstPass(
            self.build, self.all_statistic_numbers, self.auxiliary_values, self.inspect_rows
        )
        result: FirstPassResult = self._run_pass(work, LimitStatistics(self.limit_size))
        return result.finalize(self.limit_size)

    @cached_property
    def common_weight(self) -> float:
        """Weight of every row if all are equal, which is equivalent to no weight; else 1."""
        if self.common_weight_of_all is not None:
            return self.common_weight_of_all()
        weight = self.first_pass_result.weight
        has_equal_weights = not weight.has_unequal_weights and math.isfinite(weight.max_weight)
        return weight.max_weight if has_equal_weights and weight.max_weight > 0 else 1.0

    @cached_property
    def statistics(self) -> Mapping[Request, Statistic]:
        """Statistic of all rows for each measure; equal weights are scaled to 1.

        Measures that take several statistics are absent.
        """
        return {
            request: statistic
            for request, statistic in self.all_statistics.items()
            if request in self.statistic_numbers
        }

    @cached_property
    def all_statistics(self) -> Mapping[Request, Statistic]:
        """Statistics of all rows, including the additional ones."""
        statistics, unit = self.first_pass_result.statistics, self.common_weight
        if unit != 1:
            statistics = {
                statistic_number: statistic.divide_weights(unit)
                for statistic_number, statistic in statistics.items()
            }
        return {
            request: statistics[statistic_number]
            for request, statistic_number in self.all_statistic_numbers.items()
            if statistic_number in statistics
        }

    @cached_property
    def _weighted_statistics(self) -> Mapping[Request, Statistic]:
        """Statistics with the weights as given."""
        return {
            request: self.first_pass_result.statistics[statistic_number]
            for request, statistic_number in self.statistic_numbers.items()
        }

    def _scale(self, request: Request, measure: Measure) -> float:
        """Return the ratio of a value with the given weights to that with weights of 1.

        It scales influence values: totals are proportional to the weights, other values do not
        depend on their scale.
        """
        if self.common_weight == 1:
            return 1.0
        statistic = self._weighted_statistics[request]
        formula = applicable_measure(measure, statistic)
        if not isinstance(statistic, formula.definition.statistic):
            return 1.0  # sums from which a line is fitted
        weighted_value, value = (
            float(formula.apply(item)) for item in (statistic, self.statistics[request])
        )
        is_equal = math.isclose(weighted_value, value, rel_tol=1e-6)
        has_ratio = weighted_value != 0 and math.isfinite(value) and not is_equal
        return value / weighted_value if has_ratio else 1.0

    @cached_property
    def values(self) -> dict[Request, float]:
        """Value of each measure."""
        return {request: self._value(*request) for request in self.statistics}

    def _value(self, system: str, measure: Measure) -> float:
        estimate = self.point_estimate(system, measure)
        if estimate is not None:
            return estimate.value
        statistic = self.statistics[system, measure]
        applied_measure = self.template_systems[system].delegate(measure)[1]
        return float(applicable_measure(applied_measure, statistic).apply(statistic))

    # --- Pass two --------------------------------------------------------------------------------

    @cached_property
    def influence_task(self) -> InfluenceTask:
        """Task that computes the influence values of a batch, as far as they are known."""
        limited_by_id: dict[int, Statistic] = {}
        for statistic in self._weighted_statistics.values():
            if id(statistic) not in limited_by_id:
                limited_by_id[id(statistic)] = _limit_cells(statistic)
        return InfluenceTask(
            self.build,
            {
                request: limited_by_id[id(statistic)]
                for request, statistic in self._weighted_statistics.items()
            },
        )

    @cached_property
    def influences(self) -> Mapping[Request, Influence]:
        """Influence function of each value; empty if a second pass is impossible."""
        if not self.engine.is_rereadable:
            return {}
        result, requests = self._second_pass_result, list(self.statistics)
        if result.cluster_sums:
            return {
                requests[k]: cluster_influence(
                    sums,
                    result.influence_kinds[k].name,
                    is_pairwise=result.influence_kinds[k].is_pairwise,
                )
                for k, sums in result.cluster_sums.items()
            }
        if not result.influence_kinds:
            return {}
        gram_influence, known_indices = (
            GramInfluence(
                inner_products=result.inner_products, recompute_norm=self._recompute_squared_norm
            ),
            list(result.influence_kinds),
        )
        known_requests = [requests[k] for k in known_indices]
        # One space of each kind, whose root is computed only once.
        dfs = dict.fromkeys(kind.df for kind in result.influence_kinds.values())
        influence_by_df = {
            degrees: replace(gram_influence, degrees_of_freedom=degrees) for degrees in dfs
        }
        return {
            request: Influence(
                as_linear_combination(request, known_requests),
                influence_by_df[result.influence_kinds[k].df],
                result.influence_kinds[k].name,
            )
            for k, request in zip(known_indices, known_requests, strict=True)
        }

    @property
    def clusters(self) -> ClusterIndex | None:
        """Clusters of the rows, if some value has an influence function; else None."""
        if not self.first_pass_result.clustered:
            return None
        spaces = (influence.variance_estimator for influence in self.influences.values())
        return next((space.clusters for space in spaces if space.clusters is not None), None)

    # --- Pairs of systems ------------------------------------------------------------------------

    @property
    def second_pass(self) -> SecondPass:
        """Task of the second pass."""
        return SecondPass(
            self.influence_task,
            self._make_pairs(self.compared_pairs),
            self.first_pass_result.weight.total,
            self._joint_measures,
        )

    @property
    def _joint_measures(self) -> Sequence[Measure]:
        """Measures by which three or more systems are tested together, if any are compared."""
        has_several = bool(self.compared_pairs) and len(self.template_systems) > 2
        return self.measures if has_several else ()

    def joint_sums(self, measure: Measure) -> UnitSums | None:
        """Return the sums of the values of all systems by a measure, or None.

        They are of independent rows of equal weight that can be read again, of systems that are
        compared by default.
        """
        if not self.engine.is_rereadable or measure not in self._joint_measures:
            return None
        index = list(self._joint_measures).index(measure)
        return self._second_pass_result.joint_sums.get(index)

    def _make_pairs(self, systems: Sequence[tuple[str, str]]) -> list[SystemPair]:
        """Return the comparisons of pairs of systems, by all measures that have a direction."""
        pairs = []
        for pair in systems:
            for measure in self.measures:
                first, second = (pair[0], measure), (pair[1], measure)
                has_values = first in self.statistic_numbers and second in self.statistic_numbers
                if not has_values or measure.definition.higher_is_better is None:
                    continue
                (delegate, applied_measure), statistic = (
                    self.template_systems[pair[0]].delegate(measure),
                    self.statistics[first],
                )
                is_count = isinstance(statistic, ConfusionMatrix)
                is_unit_mean = isinstance(statistic, Moments) and is_mean(
                    applicable_measure(applied_measure, statistic)
                )
                if is_unit_mean and isinstance(delegate.sample_for(applied_measure), RowValues):
                    pair_moments: Any = statistic, self.statistics[second]
                    is_unit_mean = all(
                        moments.rows == self.first_pass_result.rows for moments in pair_moments
                    )
                numbers = self.statistic_numbers[first], self.statistic_numbers[second]
                is_row_based = not is_count or applied_measure.definition.proportion_of is not None
                pairs.append(
                    SystemPair(
                        pair,
                        measure,
                        numbers,
                        is_row_based,
                        is_unit_mean,
                        self.first_pass_result.clustered,
                    )
                )
        return pairs

    def compare_pairs(self, systems: Sequence[tuple[str, str]]) -> None:
        """Compare all pairs of systems that have not been compared yet, in a single pass.

        Parameters
        ----------
        systems : sequence of tuple of str
            Pairs of names of systems.
        """
        if not self.engine.is_rereadable:
            return
        if set(systems) <= set(self.compared_pairs):
            self._second_pass_result  # noqa: B018
        new_pairs = [pair for pair in systems if pair not in self._differences_by_pair]
        if pairs := self._make_pairs(new_pairs):
            differences = self._run_pass(
                PairTask(self.influence_task, pairs, self.first_pass_result.weight.total)
            )
            self._store_differences(new_pairs, differences)

    def _store_differences(
        self, systems: Sequence[tuple[str, str]], differences: PairDifferences
    ) -> None:
        """Store the results for pairs of systems.

        If the most frequent difference was not counted in every batch, another pass is needed.
        """
        pairs, differences_by_index = self._make_pairs(systems), dict(differences.unit_differences)
        uncertain_pairs = {
            k: replace(pairs[k], known_values=unit_differences.classes)
            for k, unit_differences in differences_by_index.items()
            if not unit_differences.is_certain
        }
        if uncertain_pairs:
            work = PairTask(
                self.influence_task,
                list(uncertain_pairs.values()),
                self.first_pass_result.weight.total,
            )
            differences_by_index.update(
                zip(uncertain_pairs, self._run_pass(work).unit_differences.values(), strict=True)
            )
        joint_by_numbers = {
            pair.statistic_numbers: differences.joint_confusions.get(index)
            for index, pair in distinct_pairs(pairs)
        }
        self._differences_by_pair.update({pair: {} for pair in systems})
        for index, pair in enumerate(pairs):
            results_by_measure = self._differences_by_pair[pair.systems]
            results_by_measure[pair.measure] = (
                differences_by_index.get(index),
                joint_by_numbers[pair.statistic_numbers],
            )

    def unit_differences(self, pair: tuple[str, str], measure: Measure) -> UnitDifferences | None:
        """Return the row-wise differences of two systems, or None if they are unknown."""
        unit_differences = self._pair_differences(pair, measure)[0]
        return (
            unit_differences
            if unit_differences is None or self.common_weight == 1
            else unit_differences.divide_weights(self.common_weight)
        )

    def _pair_differences(
        self, pair: tuple[str, str], measure: Measure
    ) -> tuple[UnitDifferences | None, JointConfusion | FloatArray | None]:
        self.compare_pairs([pair])
        result: tuple[UnitDifferences | None, JointConfusion | FloatArray | None]
        result = self._differences_by_pair.get(pair, {}).get(measure, (None, None))
        return result

    def _joint_counts(
        self, pair: tuple[str, str], measure: Measure, settings: Settings
    ) -> PairedCounts | None:
        """Return the joint counts of truth and both predictions, if they determine the measure."""
        first, second = (self.statistics[name, measure] for name in pair)
        if not (isinstance(first, ConfusionMatrix) and isinstance(second, ConfusionMatrix)):
            return None
        has_unequal_weights, joint_confusion = (
            self.first_pass_result.weight.has_unequal_weights,
            self._pair_differences(pair, measure)[1],
        )
        if joint_confusion is None:
            return None

        def make_counts() -> PairedCounts | None:
            measures = tuple(
                self.template_systems[pair[0]].delegate(item)[1]
                for item in self.measures
                if self.statistics.get((pair[0], item)) is first
            )
            k = first.n_classes
            if not isinstance(joint_confusion, JointConfusion):
                cells = self._cells_by_cluster(joint_confusion, (k, k, k))
                truth, *predicted = np.unravel_index(cells.row_cells, cells.shape)
                first_counts, second_counts = (
                    ClassCounts(
                        matrix,
                        MultinomialCells.from_flat(
                            truth * k + classes, (k, k), cells.weight, cells.clusters
                        ),
                        settings,
                        measures,
                    )
                    for matrix, classes in zip((first, second), predicted, strict=True)
                )
                return PairedCounts(first_counts, second_counts)
            cells = joint_confusion.cells(
                k, self.common_weight, has_unequal_weights=has_unequal_weights
            )
            if cells.needs_row_draws:
                return None
            first_counts, second_counts = (
                ClassCounts.from_matrix(item, settings, measures) for item in (first, second)
            )
            return PairedCounts(first_counts, second_counts, cells)

        return cached(self, ("both", pair, id(first), settings), make_counts)

    @cached_property
    def _second_pass_result(self) -> SecondPassResult:
        """Second-pass result."""
        result: SecondPassResult = self._run_pass(self.second_pass)
        self._store_differences(self.compared_pairs, result.pair_differences)
        requests = list(self.statistics)
        self._cluster_cell_weights.update(
            {
                self.statistic_numbers[requests[k]]: weights
                for k, weights in result.cluster_cell_weights.items()
            }
        )
        self._cube_sums.update({requests[k]: sums for k, sums in result.cube_sums.items()})
        return result

    def _second_pass_statistic(self, request: Request) -> Any:
        """Return the statistic that a value has from the second pass, or None."""
        if not self.engine.is_rereadable:
            return None
        return self._second_pass_result.second_pass_statistics.get(
            list(self.statistics).index(request)
        )

    def _recompute_squared_norm(self, combination: FloatArray) -> float:
        """Compute the squared norm of a combination of the columns in a separate pass."""
        norm: SquaredNorm = self._run_pass(self.influence_task.squared_norm_task(combination))
        return norm.squares
