"""Point estimates of measures computed from scores, such as AUC and average precision.

They are computed from a table of the distinct scores and from its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.estimation import effective_sample_size
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals, proportions
from calipers.inference.influence import (
    group_jackknife,
    measure_influence,
    standard_error,
)
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.inference.method_limits import MAX_AREA_SKEWNESS, MIN_ROWS_BEYOND_THRESHOLD
from calipers.inference.point_estimate import IntervalFunction, PointEstimate
from calipers.inference.score_bootstrap import (
    BootstrapInputs,
    ScoreReplicates,
    stratified_replicates,
)
from calipers.inference.variance_estimators import (
    Influence,
    StandardError,
    TwoClassVariance,
)
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import FloatArray, ScoreOrder, ScoreTable, SkewMoments
from calipers.statistics.base import BLOCK_ROWS
from calipers.statistics.scores import DEFAULT_AREAS, AreaSummary

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.measures.definition import AreaTransform

#: Kinds of areas, by ``definition.interval``.
_KIND_BY_INTERVAL = {"auc": "AUC", "gini": "Gini", "pr_logit": "precision-recall area"}

#: For a rate at a fixed value of the other rate: the parameter that fixes it, and the index of its
#: class (0 positive, 1 negative).
_FIXED_RATES = {"FPR@recall": ("recall", 0), "recall@FPR": ("fpr", 1)}
#: Kinds of areas under interpolated curves, by the name of the area.
_INTERPOLATED_KINDS = {
    "PR-AUC": "interpolated precision-recall area",
    "AP-DG": "interpolated precision",
}


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Sample of rows with a binary truth and a score, and its bootstrap."""

    positive: npt.NDArray[np.bool_]
    score: npt.NDArray[np.floating[Any]]
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings
    #: Measures that are bootstrapped together.
    joint_measures: tuple[MeasureLike, ...] = ()

    @cached_property
    def order(self) -> ScoreOrder:
        """Sort order of the scores."""
        return ScoreOrder(self.score)

    @cached_property
    def table(self) -> ScoreTable:
        """Table of distinct scores."""
        return ScoreTable.from_rows(self.positive, self.score, self.weight)

    @property
    def statistic(self) -> ScoreTable:
        """Table of distinct scores."""
        return self.table

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no measure of scores is a mean over rows."""

    @cached_property
    def standalone_replicates(self) -> ScoreReplicates:
        """Bootstrap replicates for the interval of this system alone."""
        return ScoreReplicates(
            self.table, self.settings, self.bootstrap_inputs(), self.joint_measures
        )

    @cached_property
    def paired_replicates(self) -> ScoreReplicates:
        """Bootstrap replicates that resample the same rows (or clusters) for every system."""
        return ScoreReplicates(
            self.table, self.settings, self.bootstrap_inputs(is_paired=True), self.joint_measures
        )

    def bootstrap_inputs(self, *, is_paired: bool = False) -> BootstrapInputs | None:
        """Return truth, score order, weight and resampling unit, or None if the table suffices.

        Units are the clusters, if there are any, else the rows if ``is_paired``, so that all
        systems draw the same.
        """
        unit = np.arange(len(self.positive), dtype=np.uint32) if is_paired else None
        if self.clusters is not None:
            unit = self.clusters.codes
        if self.weight is None and unit is None:
            return None
        return self.positive, self.order, self.weight, unit

    def influence(self, measure: MeasureLike, total: ScoreTable | None = None) -> Influence | None:
        """Return the influence values of a measure.

        ``total`` is the table of all rows, if these are a batch of them.
        """
        score_index: npt.NDArray[np.integer[Any]]
        if total is None:
            score_influence, score_index = (
                measure_influence(measure, self.table),
                self.order.score_index,
            )
        else:  # cached, since each of many batches needs it for several measures
            score_influence = cached(
                total, ("influence", measure), lambda: measure_influence(measure, total)
            )
            score_index = cached(
                self, ("score_index", total), lambda: total.score_index(self.order)
            )
        if score_influence is None:
            return None
        curve_area = measure.definition.area
        influence_values = score_influence.take(self.positive, score_index)
        influence_values = (
            influence_values if self.weight is None else influence_values * self.weight
        )
        is_pairwise = curve_area is not None and curve_area.name == "AUC"
        variance_estimator = self.variance_estimator(total, pairs=is_pairwise)
        return Influence(influence_values, variance_estimator, error_name(measure, self.clusters))

    def second_pass_statistic(self, measure: MeasureLike, total: ScoreTable) -> SkewMoments | None:
        """Return moments of the influence values of an area, for weighted rows.

        Their skewness shows whether a few rows dominate the area. With equal weights the table
        alone gives it, and None is returned; the table ``total`` of all rows decides, since the
        weights within one batch may be equal by chance.
        """
        if self.clusters is not None or measure.definition.area is None or not total.has_weights:
            return None
        influence = self.influence(measure, total)
        return None if influence is None else SkewMoments.from_rows(influence.column)

    def variance_estimator(
        self, total: ScoreTable | None, *, pairs: bool = False
    ) -> TwoClassVariance:
        """Return the variance estimator of the influence values of these rows."""
        sizes = None if total is None else intervals.class_sizes(total)
        return TwoClassVariance(
            self.weight,
            self.clusters,
            positive=self.positive,
            is_pairwise=pairs,
            effective_class_sizes=sizes,
        )

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of scores."""
        # A pass that gives the standard error as well, where temporary columns would be long; its
        # sums are of another order, so that equal halves of few rows could differ by rounding.
        estimate = estimate_from_table(
            measure,
            self.table,
            self.settings,
            len(self.positive),
            uses_compiled_areas=self.clusters is None
            and len(self.table.scores) > BLOCK_ROWS
            and not self.table.has_weights,
        )
        score_estimate = _ScoreEstimate(self, measure, estimate.value)
        estimate = replace(
            estimate,
            weight=self.weight,
            clusters=self.clusters,
            influence=score_estimate.influence,
            compute_error=score_estimate.standard_error,
            standalone_replicates=lambda: self.standalone_replicates.evaluate(measure),
            replicates=lambda: self.paired_replicates.evaluate(measure),
            stratified_replicates=score_estimate.stratified_replicates,
            studentized_replicates=score_estimate.studentized_replicates,
            jackknife=score_estimate.influence_or_jackknife,
            group_jackknife=lambda: group_jackknife(
                measure, self.table, self.paired_replicates.ranked_rows
            ),
            methods=score_estimate.interval_methods(),
        )
        return effective_sample_size.add_auc_interval(
            measure, estimate, [(1.0, estimate)], score_estimate.acceleration
        )


def error_name(measure: MeasureLike, clusters: ClusterIndex | None) -> str:
    """Return the name of the standard error of a measure of scores."""
    curve_area = measure.definition.area
    if curve_area is None or curve_area.name != "AUC":
        return "delta"
    if clusters is not None:
        return "Obuchowski"
    return "DeLong" if curve_area.scale == 1 else "delta"


def estimate_from_table(
    measure: MeasureLike,
    table: ScoreTable,
    settings: Settings,
    n_rows: int,
    *,
    uses_compiled_areas: bool = False,
) -> PointEstimate:
    """Estimate a measure from a table of scores.

    ``uses_compiled_areas`` takes the areas in :data:`DEFAULT_AREAS` (such as AUC and AP) from the
    compiled core, which computes them with their standard errors in one pass over the table.
    """
    definition = measure.definition
    curve_area = definition.area if uses_compiled_areas else None
    if (
        curve_area is not None
        and curve_area.name in DEFAULT_AREAS
        and not undefined_reasons(measure, table, n_rows)
    ):
        value = curve_area.scale * table.area(curve_area.name)[0] + curve_area.shift
    else:
        value = float(measure.apply(table))

    def compute_error() -> StandardError | None:
        se = standard_error(measure, table)
        return None if se is None else StandardError(se, "delta")

    # This estimate has no replicates. For a measure that is not an area, the intervals of the table
    # are for values at an end of the range only: any other value needs the bootstrap.
    is_area = definition.area is not None
    is_at_end = min(abs(value - end) for end in definition.range) <= intervals.ROUNDING_TOLERANCE
    return PointEstimate(
        value=value,
        kind=_kind(measure),
        settings=settings,
        n=n_rows,
        bounds=definition.range,
        undefined=undefined_reasons(measure, table, n_rows),
        higher_is_better=definition.higher_is_better,
        effective_sizes=lambda: intervals.class_sizes(table)[::-1],
        transform="logit" if definition.range == (0, 1) else None,
        caution=_rare_rate_caution(measure, table),
        compute_error=compute_error,
        methods=_table_intervals(measure, value, table) if is_area or is_at_end else {},
    )


def estimate_area(
    measure: MeasureLike,
    value: float,
    settings: Settings,
    n_rows: int,
    summary: AreaSummary | None = None,
) -> PointEstimate:
    """Estimate an area whose value is known and defined, without its table.

    ``summary`` has the areas of independent rows, which give its standard error and intervals.
    """
    definition = measure.definition
    estimate = PointEstimate(
        value=value,
        kind=_kind(measure),
        settings=settings,
        n=n_rows,
        bounds=definition.range,
        higher_is_better=definition.higher_is_better,
        transform="logit" if definition.range == (0, 1) else None,
    )
    if summary is None:
        return estimate
    assert definition.area is not None
    se = definition.area.scale * summary.area(definition.area.name)[1]
    return replace(
        estimate,
        effective_sizes=lambda: intervals.class_sizes(summary)[::-1],
        compute_error=lambda: StandardError(se, "delta"),
        methods=_area_intervals(definition.area, value, summary),
    )


def _kind(measure: MeasureLike) -> str:
    """Return the kind of the estimates of a measure of scores."""
    definition = measure.definition
    if definition.area is not None and definition.area.name in _INTERPOLATED_KINDS:
        return _INTERPOLATED_KINDS[definition.area.name]
    if definition.maximum_of is not None:
        return "maximum over thresholds"
    return _KIND_BY_INTERVAL.get(definition.interval, "measure of scores")


def table_acceleration(measure: MeasureLike, table: ScoreTable, max_weight: float) -> float | None:
    """Return the BCa acceleration of an area, if its table determines it.

    With unequal weights, of which ``max_weight`` is the largest, it is 0 if no row has enough
    influence to matter, else None.
    """
    assert measure.definition.area is not None
    if not table.has_weights:
        return table.acceleration(measure.definition.area.name)
    score_influence, se = measure_influence(measure, table), standard_error(measure, table)
    if score_influence is None or se is None:
        return None
    max_influence = max(float(np.abs(values).max(initial=0.0)) for values in score_influence)
    return 0.0 if max_influence * max_weight < MAX_AREA_SKEWNESS / 2 * se else None


def _rare_rate_caution(measure: MeasureLike, table: ScoreTable) -> str:
    """Return a caution if few rows of the class whose rate is fixed lie beyond the threshold."""
    if measure.definition.name not in _FIXED_RATES:
        return ""
    parameter, class_index = _FIXED_RATES[measure.definition.name]
    rate = measure.parameters[parameter]
    beyond = min(rate, 1 - rate) * intervals.class_sizes(table)[class_index]
    has_few_rows = 0 < beyond < MIN_ROWS_BEYOND_THRESHOLD * (1 - ROUNDING_TOLERANCE)
    return "few rows beyond the threshold" if has_few_rows else ""


@dataclass(frozen=True, eq=False)
class _ScoreEstimate:
    """Estimate of one measure on some rows."""

    rows: ScoredRows
    measure: MeasureLike
    value: float

    @property
    def _table(self) -> ScoreTable:
        return self.rows.table

    def influence(self) -> Influence | None:
        """Return the influence values of the rows."""
        return self._influence

    @cached_property
    def _influence(self) -> Influence | None:
        return self.rows.influence(self.measure)

    def standard_error(self) -> StandardError | None:
        """Return the standard error of the value."""
        if self.rows.clusters is None:
            se = standard_error(self.measure, self._table)
            return None if se is None else StandardError(se, "delta")
        influence = self.influence()
        return None if influence is None else replace(influence.standard_error, name="delta")

    def acceleration(self) -> float | None:
        """Return the BCa acceleration of an area, if the table alone determines it."""
        curve_area = self.measure.definition.area
        if curve_area is None or self.rows.clusters is not None:
            return None
        weight = self.rows.weight
        max_weight = 1.0 if weight is None else float(weight.max(initial=0.0))
        return table_acceleration(self.measure, self._table, max_weight)

    def interval_methods(self) -> dict[str, IntervalFunction]:
        """Return the interval methods specific to areas and to maxima over thresholds."""
        clusters, curve_area = self.rows.clusters, self.measure.definition.area
        methods: dict[str, IntervalFunction] = {}
        if self.measure.definition.maximum_of is not None:
            methods["basic bootstrap, logit"] = self._basic_interval
        if clusters is None:
            return methods | _table_intervals(self.measure, self.value, self._table)
        if curve_area is not None and curve_area.name == "AUC":
            # Obuchowski's is DeLong's interval for clustered rows.
            methods["delong"] = self._obuchowski_interval
        columns = self._table, clusters, self.rows.positive
        return methods | fallback_intervals(self.measure, self.value, *columns)

    def _obuchowski_interval(self, level: float) -> Interval:
        clusters, influence = self.rows.clusters, self.influence()
        assert clusters is not None
        assert influence is not None
        error = influence.standard_error
        if np.isfinite(error.se) and not error.se > 0:
            return intervals.no_interval("Obuchowski", "no_spread")
        return clusters.student_interval(self.value, error.se, error.df, level, "Obuchowski")

    def _basic_interval(self, level: float) -> Interval:
        clusters = self.rows.clusters
        name = "bootstrap [B]" if clusters is None else clusters.bootstrap_name
        size, replicates = (
            min(intervals.class_sizes(self._table)),
            self.rows.standalone_replicates.evaluate(self.measure),
        )
        return intervals.basic_bootstrap_on_logit(
            self.value, replicates, size, level, f"basic {name}, logit"
        )

    def stratified_replicates(self) -> FloatArray | None:
        """Return replicates drawn class by class, for independent rows of equal weight."""
        if self.rows.clusters is not None or self._table.has_weights:
            return None
        tables = stratified_replicates(self._table, self.rows.settings)
        return np.concatenate([self.measure.apply(table) for table in tables])

    def influence_or_jackknife(self) -> tuple[FloatArray, FloatArray | None]:
        """Return influence values, or delete-a-group jackknife values, and row counts.

        The counts are the number of rows that share each value; None if each belongs to one row.
        """
        if self.rows.clusters is None:
            is_unweighted = not self._table.has_weights
            score_influence = (
                measure_influence(self.measure, self._table) if is_unweighted else None
            )
            if score_influence is not None:
                influence_values = np.concatenate(score_influence)
                return influence_values, np.concatenate(
                    [self._table.positive, self._table.negative]
                )
            row_influence = self.influence()
            if row_influence is not None:
                return row_influence.column, None
        return group_jackknife(
            self.measure, self._table, self.rows.standalone_replicates.ranked_rows
        ), None

    def studentized_replicates(self) -> tuple[float, FloatArray, FloatArray] | None:
        """Return the standard error, the replicates and their standard errors.

        They exist if the influence of rows has a formula, and rows are independent with equal
        weights.
        """
        if self.rows.bootstrap_inputs() is not None:
            return None
        score_influence = measure_influence(self.measure, self._table)
        if score_influence is None or self.measure.definition.area is None:
            return None

        def values_and_errors(table: ScoreTable, _: ScoreTable | None) -> FloatArray:
            table_influence = measure_influence(self.measure, table)
            assert table_influence is not None
            return np.stack([self.measure.apply(table), table_influence.standard_error(table)])

        replicates, errors = np.concatenate(
            list(self.rows.standalone_replicates.map_tables(values_and_errors)), axis=1
        )
        return float(score_influence.standard_error(self._table)), replicates, errors


def fallback_intervals(
    measure: MeasureLike,
    value: float,
    table: ScoreTable,
    clusters: ClusterIndex | None = None,
    positive: npt.NDArray[np.bool_] | None = None,
) -> dict[str, IntervalFunction]:
    """Return the intervals by the numbers of rows, or clusters, of each class.

    They apply where replicates and influence values show no spread or do not exist, as those of
    scores that separate the classes; for an AUC there is one only at 0 and 1, for clusters.
    ``clusters`` and ``positive`` are those of the rows, or of the parts of clusters of each class;
    without them rows are independent.
    """

    def sizes() -> tuple[float, float]:
        """Return the numbers of positives and negatives, or of clusters with such rows.

        They are 0 for a single cluster.
        """
        if clusters is None or positive is None:
            return intervals.class_sizes(table)
        return clusters.n_clusters_by_class(positive) if clusters.n_clusters > 1 else (0, 0)

    def missing_interval() -> Interval:
        """Return the reason for no interval if one of the sizes is 0."""
        has_one_cluster = clusters is not None and clusters.n_clusters < 2
        return intervals.no_interval("none", "too_few_clusters" if has_one_cluster else "one_class")

    def smaller_class_wilson(level: float) -> Interval:
        """Return Wilson's interval with n = number of rows, or clusters, of the smaller class."""
        rows, suffix = min(sizes()), "of the smaller class"
        if not rows > 0:
            return missing_interval()
        if definition.area_fraction is None:
            return _wilson_interval(value, rows, suffix, level)
        min_value = float(measure.apply(_worst_table(table)))
        # The rows outside of the range of a partial area carry no information on it.
        rows *= definition.area_fraction(measure.parameters)
        interval = _wilson_interval((value - min_value) / (1 - min_value), rows, suffix, level)
        low, high = (min_value + (1 - min_value) * end for end in (interval.low, interval.high))
        return replace(interval, low=low, high=high, se=(1 - min_value) * interval.se)

    def separated_interval(level: float) -> Interval:
        assert clusters is not None
        assert positive is not None
        auc = (value - curve_area.shift) / curve_area.scale
        if auc not in (0.0, 1.0):
            return intervals.no_interval("none", "too_few_clusters")
        return _transform_interval(curve_area, clusters.separated_interval(auc, positive, level))

    definition = measure.definition
    curve_area = definition.area
    if curve_area is not None and curve_area.name == "AUC":
        return {"area": separated_interval}
    if curve_area is not None:
        positives = sizes()[0]
        return {"of positives": partial(_positives_interval, value, positives, missing_interval())}
    is_proportion = definition.range == (0, 1) or definition.area_fraction is not None
    has_interval = is_proportion or definition.maximum_of is not None
    return {"of the smaller class": smaller_class_wilson} if has_interval else {}


def _worst_table(table: ScoreTable) -> ScoreTable:
    """Return the table with all negatives ranked above all positives."""
    at_low_score, at_high_score = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    return replace(
        table,
        scores=at_high_score,
        positive=at_low_score * table.total_positive,
        negative=at_high_score * table.total_negative,
        positive_squares=at_low_score * table.total_positive_squares,
        negative_squares=at_high_score * table.total_negative_squares,
    )


def _wilson_interval(value: float, n_rows: float, suffix: str, level: float) -> Interval:
    """Return Wilson's interval of a proportion of this number of rows, which is above 0."""
    interval = proportions.wilson(value, n_rows, level)
    return replace(interval, method=f"{interval.method}, {suffix}")


def _positives_interval(
    value: float, positives: float, missing: Interval, level: float
) -> Interval:
    """Return Wilson's interval with n = number of positives, or ``missing`` without positives.

    Average precision is a mean over positives.
    """
    if not positives > 0:
        return missing
    return _wilson_interval(value, positives, "of positives", level)


def _transform_interval(curve_area: Any, interval: Interval) -> Interval:
    """Transform the interval of an area to that of a linear function of it."""
    low, high = (curve_area.scale * end + curve_area.shift for end in (interval.low, interval.high))
    return replace(interval, low=low, high=high, se=curve_area.scale * interval.se)


def _table_intervals(
    measure: MeasureLike, value: float, table: ScoreTable
) -> dict[str, IntervalFunction]:
    """Return the intervals of a measure of independent rows, from the table alone."""
    curve_area = measure.definition.area
    if curve_area is None:
        return fallback_intervals(measure, value, table)
    return _area_intervals(curve_area, value, table)


def _area_intervals(
    curve_area: AreaTransform, value: float, table: ScoreTable | AreaSummary
) -> dict[str, IntervalFunction]:
    """Return the intervals of an area of independent rows.

    Those of a linear function of an AUC, A = (value − shift)/scale, are transformed back.
    """
    if curve_area.name != "AUC":
        positives = intervals.class_sizes(table)[0]
        methods: dict[str, IntervalFunction] = {
            "of positives": partial(
                _positives_interval, value, positives, intervals.no_interval("none", "one_class")
            )
        }
        if curve_area.name == "AP-DG":
            return methods
        on_logit = partial(intervals.precision_recall_logit, value, positives)
        return {**methods, "area": on_logit, "logit": on_logit}

    def transformed(
        method: Callable[[float, ScoreTable | AreaSummary, float], Interval], level: float
    ) -> Interval:
        return _transform_interval(
            curve_area, method((value - curve_area.shift) / curve_area.scale, table, level)
        )

    return {
        "area": partial(transformed, intervals.auc_interval),
        "delong": partial(transformed, intervals.delong_interval),
        "hanley": partial(transformed, intervals.hanley_interval),
    }
