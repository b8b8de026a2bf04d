"""Means and other summaries of values per topic: intervals and tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.proportions import proportion_intervals
from calipers.inference import bayesian_bootstrap, intervals, paired_tests
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import n_randomizations
from calipers.inference.point_estimate import (
    IntervalFunction,
    JointDistribution,
    PointEstimate,
    UnitValues,
)
from calipers.inference.resampling import bootstrap_weighted_means
from calipers.inference.summaries import Summary
from calipers.inference.variance_estimators import Influence, StandardError, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import Moments, count_signs, effective_size_from_weights, subtract_values

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.statistics import FloatArray, Signs


@dataclass(frozen=True, eq=False)
class TopicSummary:
    """Values of a measure per topic, NaN if undefined.

    ``pooling_columns`` is the weight of each topic if topics are pooled, ``unit_weight`` how much
    each topic counts if they count unequally; ``clusters`` and ``order`` are the clusters and the
    time order of the topics.
    """

    measure: MeasureLike
    values: FloatArray
    pooling_columns: FloatArray | None
    settings: Settings
    unit_weight: FloatArray | None = field(default=None, kw_only=True)
    clusters: ClusterIndex | None = field(default=None, kw_only=True)
    order: TimeOrder | None = field(default=None, kw_only=True)

    @cached_property
    def summary(self) -> Summary:
        """Summary that combines the values."""
        return Summary.from_definition(self.measure.definition)

    @cached_property
    def defined_mask(self) -> Any:
        """Mask of the topics with a value."""
        return self.summary.defined_mask(self.values, self.pooling_columns)

    @cached_property
    def is_complete(self) -> bool:
        """Whether all topics have a value."""
        return bool(self.defined_mask.all())

    @property
    def is_simple_mean(self) -> bool:
        """Whether the value is the mean of all topics, which are independent and count equally."""
        has_units = self.unit_weight is None and self.clusters is None and self.order is None
        return has_units and self.summary.kind == "mean" and self.is_complete

    @cached_property
    def all_columns(self) -> list[FloatArray]:
        """Columns whose means the summary uses; NaN for topics without a value."""
        return self.summary.columns(self.values, self.pooling_columns)

    @cached_property
    def columns(self) -> FloatArray:
        """Columns whose means the summary uses, for the topics with a value."""
        return np.asarray(np.column_stack(self.all_columns)[self.defined_mask])

    @cached_property
    def defined_weights(self) -> FloatArray | None:
        """Weights by importance of the topics with a value."""
        return None if self.unit_weight is None else self.unit_weight[self.defined_mask]

    @cached_property
    def first_moments(self) -> Moments:
        """Moments of the first column."""
        return Moments.from_rows(self.columns[:, 0], self.defined_weights)

    @cached_property
    def defined_clusters(self) -> ClusterIndex | None:
        """Clusters, in which topics without a value have weight 0."""
        return (
            None
            if self.clusters is None
            else defined_clusters(self.clusters, self.unit_weight, self.defined_mask)
        )

    @property
    def mean_derivatives(self) -> FloatArray:
        """Derivative of a mean by the value of each defined topic, u/Σu.

        For independent topics it is multiplied by √(n/(n − 1)), n being Kish's number of topics.
        """
        weights = (
            np.ones(len(self.columns)) if self.defined_weights is None else self.defined_weights
        )
        return self.derivatives_for_weights(weights)

    def derivatives_for_weights(self, weights: FloatArray) -> FloatArray:
        """Return the derivatives of a mean for topics of this importance."""
        n = effective_size_from_weights(weights)
        factor = np.sqrt(n / (n - 1) if n > 1 else np.nan) if self.clusters is None else 1.0
        return np.asarray(weights / weights.sum() * factor)

    def influence(self, columns: FloatArray, defined_mask: Any, value: float) -> Influence:
        """Return the influence values of a summary of the columns, over all topics.

        They are 0 for topics without a value. With clusters, the denominator of a ratio is the
        weight that they hold.
        """
        column = np.zeros(len(self.values))
        importance = None if self.unit_weight is None else self.unit_weight[defined_mask]
        if len(columns):
            steps = self.derivatives_for_weights(
                np.ones(len(columns)) if importance is None else importance
            )
            column[defined_mask] = topic_influence(self.summary, columns, value, importance) * steps
        if self.clusters is None:
            return Influence(column, VarianceEstimator(), "Student t")
        denominator, is_ratio = None, self.summary.kind == "pooled" and self.summary.formula is None
        if is_ratio:
            weights = np.ones(len(column)) if self.unit_weight is None else self.unit_weight
            denominator = np.zeros(len(column))
            denominator[defined_mask] = columns[:, 1] * weights[defined_mask]
        clusters = defined_clusters(self.clusters, self.unit_weight, defined_mask)
        return Influence(
            column, VarianceEstimator(None, clusters, denominator=denominator), "Student t"
        )


def defined_clusters(
    clusters: ClusterIndex, importance: FloatArray | None, defined_mask: Any
) -> ClusterIndex:
    """Return the clusters weighted by the importance of topics, 0 for those without a value."""
    if defined_mask.all():
        return replace(clusters, weight=importance)
    weights = np.ones(len(defined_mask)) if importance is None else importance
    return replace(clusters, weight=np.where(defined_mask, weights, 0.0))


@dataclass(frozen=True, eq=False)
class TopicIntervals:
    """Interval methods of one summary over topics.

    They are computed for the mean of the first column, and then transformed to the sum, or by the
    exponential; for pooled topics, for the ratio of the two columns.
    """

    topics: TopicSummary
    value: float
    draw_replicates: Callable[[], tuple[FloatArray, FloatArray]]

    def replicates(self) -> FloatArray:
        """Return bootstrap replicates of the summary."""
        return self.topics.summary.summarize_means(
            self.draw_replicates()[0], len(self.topics.columns)
        )

    def influence(self) -> Influence:
        """Return the influence values of the topics; 0 for topics without a value."""
        return self.topics.influence(self.topics.columns, self.topics.defined_mask, self.value)

    def methods(self) -> dict[str, IntervalFunction]:
        """Return the interval methods by name; for one topic only those that need no variance."""
        n = len(self.topics.columns)
        if self.topics.defined_clusters is not None:  # all else is that of any clusters
            return {"t": self._clustered_t_interval, "bayesian-bootstrap": self._bayesian_interval}
        proportion_methods: dict[str, IntervalFunction] = {}
        if self.topics.measure.definition.proportion_of == "topics":
            proportion_methods = proportion_intervals(
                self.value, self.topics.first_moments.effective_size
            )
        is_pooled = self.topics.summary.kind == "pooled"
        methods = self._ratio_intervals() if is_pooled else self._mean_intervals()
        if n < 2:
            methods = {
                name: lambda level: intervals.no_interval("none", "too_few_units")
                for name in methods
            }
        return {
            **proportion_methods,
            "delta": lambda level: None,
            **methods,
            "bayesian-bootstrap": self._bayesian_interval,
        }

    def _clustered_t_interval(self, level: float) -> Interval:
        error, clusters = self.influence().standard_error, self.topics.defined_clusters
        assert clusters is not None
        return clusters.student_interval(self.value, error.se, error.df, level, error.name)

    def _ratio_intervals(self) -> dict[str, IntervalFunction]:
        return {
            "percentile": lambda level: intervals.percentile(self.replicates(), level),
            "bca": self._pooled_bca,
            "studentized": self._pooled_t_interval,
            "t": self._pooled_student_interval,
        }

    def _mean_intervals(self) -> dict[str, IntervalFunction]:
        return {
            "percentile": lambda level: self._mean_interval(
                intervals.percentile(self.draw_replicates()[0][:, 0], level)
            ),
            "bca": lambda level: self._mean_interval(self._bca(level)),
            "studentized": lambda level: self._mean_interval(self._studentized_interval(level)),
            "skewness-corrected": lambda level: self._mean_interval(
                self._skew_corrected_interval(level)
            ),
            "t": lambda level: self._mean_interval(
                intervals.student_interval(
                    self._mean, self._se, self.topics.first_moments.effective_size, level
                )
            ),
        }

    @property
    def _values(self) -> tuple[FloatArray, FloatArray | None, float]:
        """Values of the topics, their weights, and their mean."""
        topics = self.topics
        if topics.summary.kind != "pooled" or topics.pooling_columns is None:
            return self._first_column, topics.defined_weights, self._mean
        if topics.summary.formula is not None:  # its linear part
            influence_values = topic_influence(
                topics.summary, topics.columns, self.value, topics.defined_weights
            )
            return self.value + influence_values, topics.defined_weights, self.value
        weight = topics.pooling_columns[topics.defined_mask] * (
            1.0 if topics.defined_weights is None else topics.defined_weights
        )
        return topics.values[topics.defined_mask], weight, self.value

    @property
    def _range_limits(self) -> tuple[float, float]:
        """Range of the values on the scale of the summary; if infinite, wider than all values."""
        limits = np.array(self.topics.measure.definition.range, np.float64)
        if self.topics.summary.kind == "geometric":
            limits = self.topics.summary.columns(limits)[0]
        values = self._values[0]
        if self.topics.summary.formula is not None:
            limits = np.array([np.fmin(limits[0], values.min()), np.fmax(limits[1], values.max())])
        # As `np.median`, which imports `numpy.ma`.
        half, ordered = len(values) // 2, np.sort(values)
        middle = float((ordered[half] + ordered[-half - 1]) / 2)
        distance = bayesian_bootstrap.endpoint_distance(values - middle)
        low, high = np.where(
            np.isfinite(limits), limits, (middle - distance, middle + distance)
        ).tolist()
        return low, high

    def _bayesian_interval(self, level: float) -> Interval:
        values, weight, _ = self._values
        clusters = self.topics.defined_clusters
        if clusters is not None:
            clusters = replace(clusters.take_rows(self.topics.defined_mask), weight=weight)
            if clusters.n_clusters < 2:
                return intervals.no_interval(bayesian_bootstrap.METHOD, "too_few_clusters")
            values, weight = clusters.cluster_means(values)
        interval = bayesian_bootstrap.mean_interval(values, self._range_limits, level, weight)
        interval = (
            interval if self.topics.summary.kind == "pooled" else self._mean_interval(interval)
        )
        return (
            interval
            if clusters is None
            else replace(interval, method=clusters.annotate_method(interval.method))
        )

    @cached_property
    def _deviations(self) -> FloatArray:
        values, weight, mean = self._values
        return (values - mean) * (1.0 if weight is None else weight / weight.mean())

    def skewness(self) -> float:
        """Return the absolute skewness over √n; 0 if nothing varies."""
        return abs(intervals.scaled_skewness(self.influence_values))

    @property
    def influence_values(self) -> FloatArray:
        """Influence of the topics, or of the clusters of them, up to a constant factor."""
        clusters = self.topics.defined_clusters
        if clusters is None:
            return self._deviations
        return np.bincount(clusters.codes[self.topics.defined_mask], self._deviations).astype(
            np.float64
        )

    @property
    def _first_column(self) -> FloatArray:
        first: FloatArray = self.topics.columns[:, 0]
        return first

    @property
    def _mean(self) -> float:
        return float(self.topics.first_moments.mean)

    @property
    def _se(self) -> float:
        return self.topics.first_moments.standard_error

    def _mean_interval(self, interval: Interval) -> Interval:
        """Transform an interval of the mean to one of the summary."""
        n, summary = len(self._first_column), self.topics.summary
        limits = summary.summarize_means(np.array([[interval.low], [interval.high]]), n)
        method = interval.method + (" of logarithms" if summary.kind == "geometric" else "")
        se = interval.se * summary_derivative(summary, self.value, n)
        return Interval(float(limits[0]), float(limits[1]), method, interval.reason, se)

    def _studentized_interval(self, level: float) -> Interval:
        means, errors = (columns[:, 0] for columns in self.draw_replicates())
        return intervals.bootstrap_t(self._mean, self._se, means, errors, level)

    def _skew_corrected_interval(self, level: float) -> Interval:
        return intervals.hall_interval(
            self._mean,
            self._se,
            intervals.scaled_skewness(self.influence_values),
            self.topics.first_moments.effective_size - 1,
            level,
            is_nonnegative=False,
        )

    def _bca(self, level: float) -> Interval:
        acceleration = intervals.acceleration(self._deviations)
        return intervals.bca(self._mean, self.draw_replicates()[0][:, 0], acceleration, level)

    def _pooled_bca(self, level: float) -> Interval:
        columns, n = self._weighted_columns, len(self.topics.columns)
        remaining_sums = columns.sum(axis=0) - columns
        jackknife_values = intervals.jackknife_influence(
            self.topics.summary.summarize_means(remaining_sums, n)
        )
        return intervals.bca(
            self.value, self.replicates(), intervals.acceleration(jackknife_values), level
        )

    def _pooled_t_interval(self, level: float) -> Interval:
        return pooled_t_interval(
            self.topics.summary, self._weighted_columns, self.value, self.topics.settings, level
        )

    def _pooled_student_interval(self, level: float) -> Interval:
        """Return Student's t interval of the linear approximation."""
        n = self.topics.first_moments.effective_size
        return intervals.student_interval(self.value, self.influence().standard_error.se, n, level)

    @property
    def _weighted_columns(self) -> FloatArray:
        """Columns multiplied by the importance of the topics."""
        importance = self.topics.defined_weights
        return (
            self.topics.columns if importance is None else self.topics.columns * importance[:, None]
        )


def topic_influence(
    summary: Summary, columns: FloatArray, value: float, importance: FloatArray | None = None
) -> FloatArray:
    """Return the influence of each topic on a summary.

    It is multiplied by the number of topics, or divided by the topic's proportion of the
    importance.
    """
    first, mean = columns[:, 0], partial(np.average, weights=importance)
    if summary.formula is not None:
        means = np.average(columns, weights=importance, axis=0)
        return np.asarray((columns - means) @ _summary_derivatives(summary, means[None])[0])
    if summary.kind == "pooled":
        return np.asarray((first - value * columns[:, 1]) / mean(columns[:, 1]))
    return np.asarray((first - mean(first)) * summary_derivative(summary, value, len(first)))


def summary_derivative(summary: Summary, value: float, n: int) -> float:
    """Return the derivative of a summary of n topics by the mean of its column."""
    return {"sum": float(n), "geometric": value}.get(summary.kind, 1.0)


def _summary_derivatives(summary: Summary, means: FloatArray) -> FloatArray:
    """Return the derivatives of a summary by each of its means, by central differences.

    Each row of ``means`` has its own.
    """
    from calipers.inference.influence import DERIVATIVE_STEP

    derivatives, step = np.zeros(means.shape), DERIVATIVE_STEP * np.maximum(means, 1e-300)
    for column in range(means.shape[1]):
        shift = np.zeros(means.shape)
        shift[:, column] = step[:, column]
        shifted_values = (summary.summarize_means(means + sign * shift, 1) for sign in (1, -1))
        derivatives[:, column] = np.subtract(*shifted_values) / (2 * step[:, column])
    return np.where(means > 0, derivatives, 0.0)


def pooled_t_interval(
    summary: Summary, columns: FloatArray, value: float, settings: Settings, level: float
) -> Interval:
    """Return the bootstrap-t interval of a ratio r = Σx/Σw of topics (x, w).

    The standard error of each replicate is that of its linear approximation, √(Σ(x − rw)²/(n(n −
    1)))/w̄. With few topics of unequal size, percentile intervals are too narrow. For another
    function of means it is √(s′Cs/(n − 1)), with derivatives s and covariances C.
    """
    from calipers import _core

    if summary.formula is not None:
        return _function_t_interval(summary, columns, value, settings, level)
    w, n = columns[:, 1], len(columns)
    residuals = columns[:, 0] - value * w
    moment_columns = np.column_stack([w, residuals, residuals**2, residuals * w, w**2])
    means, _ = _core.bootstrap_means(moment_columns, settings.seed, settings.n_resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = means[:, 1] / means[:, 0]
        spread = means[:, 2] - 2 * deviations * means[:, 3] + deviations**2 * means[:, 4]
        errors = np.sqrt(np.maximum(spread, 0.0) / (n - 1)) / means[:, 0]
        se = float(np.sqrt(np.square(residuals).mean() / (n - 1)) / w.mean())
    return intervals.bootstrap_t(value, se, value + deviations, errors, level)


def _function_t_interval(
    summary: Summary, columns: FloatArray, value: float, settings: Settings, level: float
) -> Interval:
    from calipers import _core

    n, n_columns = columns.shape
    center = columns.mean(axis=0)
    deviations = columns - center  # so that squares keep their digits
    first, second = np.triu_indices(n_columns)
    moment_columns = np.column_stack([deviations, deviations[:, first] * deviations[:, second]])
    means, _ = _core.bootstrap_means(moment_columns, settings.seed, settings.n_resamples)

    def errors(shifts: FloatArray, products: FloatArray) -> FloatArray:
        slopes = _summary_derivatives(summary, center + shifts)
        coefficients = np.where(first == second, 1.0, 2.0) * slopes[:, first] * slopes[:, second]
        spread = (coefficients * (products - shifts[:, first] * shifts[:, second])).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(spread, 0.0) / (n - 1)))

    shifts, products = means[:, :n_columns], means[:, n_columns:]
    no_shift = np.zeros((1, n_columns))
    se = float(errors(no_shift, moment_columns[:, n_columns:].mean(axis=0)[None])[0])
    replicates = summary.summarize_means(center + shifts, n)
    return intervals.bootstrap_t(value, se, replicates, errors(shifts, products), level)


@dataclass(frozen=True, eq=False)
class TopicRows(TopicSummary, JointDistribution):
    """Values per topic, with the name of their unit."""

    unit: str = "topics"
    undefined: Mapping[str, int] = field(default_factory=dict)

    def point_estimate(self, replicates: TopicReplicates, index: int) -> PointEstimate:
        """Return the point estimate, whose replicates are shared with other measures."""
        definition, n = self.measure.definition, int(np.count_nonzero(self.defined_mask))
        kind = "mean over topics"
        if definition.interval == "none":
            kind = "count"
        elif definition.proportion_of == "topics":
            kind = "proportion of topics"
        elif self.summary.kind == "pooled":
            kind = "topics pooled"
        value = self.summary.value(self.values, self.pooling_columns, self.unit_weight)
        topic_intervals = TopicIntervals(self, value, lambda: replicates.get(index))
        is_empty = kind == "topics pooled" and n > 0 and np.isnan(value)
        # With a formula the reasons of the topics apply.
        is_empty = is_empty and self.summary.formula is None
        return PointEstimate(
            value=value,
            kind=kind,
            settings=self.settings,
            n=n,
            unit=self.unit,
            bounds=definition.range,
            higher_is_better=definition.higher_is_better,
            undefined={**self.undefined, "nothing_retrieved": n} if is_empty else self.undefined,
            n_total=len(self.values),
            weight=self.unit_weight,
            clusters=self.defined_clusters,
            order=None if self.order is None else self.order.take_rows(self.defined_mask),
            effective_sizes=lambda: (self.first_moments.effective_size,),
            joint_distribution=self,
            compute_scaled_skewness=topic_intervals.skewness,
            influence=topic_intervals.influence,
            time_influence=lambda: topic_intervals.influence().influence_values[self.defined_mask],
            jackknife=None
            if self.clusters is None
            else lambda: (topic_intervals.influence_values, None),
            replicates=topic_intervals.replicates,
            methods=topic_intervals.methods() if n else {},
        )

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference over the topics on which both have a value."""
        assert isinstance(second.joint_distribution, TopicRows)
        [difference] = paired_differences([(first, second)], self.settings)
        return difference


@dataclass(frozen=True, eq=False)
class TopicReplicates:
    """Bootstrap replicates of the means of columns, and their standard errors.

    The topics are resampled once for all columns. ``columns_by_estimate`` returns the columns of
    each estimate, NaN if a topic has no value, and ``unit_weights`` that of the topics for each
    estimate.
    """

    columns_by_estimate: Callable[[], Sequence[Sequence[FloatArray]]]
    settings: Settings
    unit_weights: Sequence[FloatArray | None]
    #: Of topics in clusters, which are drawn whole, those of each reading.
    clusters: Sequence[ClusterIndex | None] = ()

    def get(self, index: int) -> tuple[FloatArray, FloatArray]:
        """Return the replicates and the standard errors of one estimate."""
        return self._replicates[index]

    @cached_property
    def _replicates(self) -> list[tuple[FloatArray, FloatArray]]:
        from calipers import _core

        columns_by_estimate = self.columns_by_estimate()
        if any(clusters is not None for clusters in self.clusters):
            return [
                (clusters.bootstrap_means(np.column_stack(columns), self.settings), np.zeros(0))
                for columns, clusters in zip(columns_by_estimate, self.clusters, strict=True)
                if clusters is not None
            ]
        if any(weight is not None for weight in self.unit_weights):
            ones = np.ones(len(columns_by_estimate[0][0]))
            return [
                bootstrap_weighted_means(columns, ones if weight is None else weight, self.settings)
                for columns, weight in zip(columns_by_estimate, self.unit_weights, strict=True)
            ]
        flat = np.column_stack([column for columns in columns_by_estimate for column in columns])
        means, errors = _core.bootstrap_means(flat, self.settings.seed, self.settings.n_resamples)
        # Each column's replicates side by side, as they are read.
        tables = [np.ascontiguousarray(values.T).T for values in (means, errors)]
        stops = np.cumsum([len(columns) for columns in columns_by_estimate])[:-1]
        return list(zip(*(np.split(table, stops, axis=1) for table in tables), strict=True))


def estimate_over_topics(all_topics: Sequence[TopicRows]) -> list[PointEstimate]:
    """Return the point estimates of several measures on the same topics, resampled together."""
    draws = TopicReplicates(
        lambda: [topics.all_columns for topics in all_topics],
        all_topics[0].settings,
        [topics.unit_weight for topics in all_topics],
        [topics.defined_clusters for topics in all_topics],
    )
    return [topics.point_estimate(draws, index) for index, topics in enumerate(all_topics)]


# --- Differences ----------------------------------------------------------------------------------


def paired_differences(
    pairs: Sequence[tuple[PointEstimate, PointEstimate]], settings: Settings
) -> Iterator[PointEstimate]:
    """Return the differences of pairs of point estimates, first minus second.

    Each is over the topics on which both have a value. The same resampled topics and the same
    random signs are used for all of them.
    """
    estimate_pairs = [_EstimatePair.from_estimates(first, second) for first, second in pairs]
    _subtract_together(estimate_pairs)
    # Columns of what the summaries need: of sums and means the difference itself.
    importance = [pair.importance for pair in estimate_pairs]
    clusters = [pair.clusters for pair in estimate_pairs]
    draws = TopicReplicates(
        lambda: [pair.resampled_columns() for pair in estimate_pairs],
        settings,
        importance,
        clusters,
    )
    signs = _SignFlips(estimate_pairs, settings)
    for index, pair in enumerate(estimate_pairs):
        yield pair.difference(draws, signs, index)


@dataclass(frozen=True, eq=False)
class _SignFlips:
    """Randomization tests on the same topics, with the same signs for all differences."""

    pairs: Sequence[_EstimatePair]
    settings: Settings
    _tests: dict[str, list[paired_tests.TestResult]] = field(default_factory=dict)

    def test(self, index: int, alternative: str) -> paired_tests.TestResult:
        """Return the test of one difference."""
        if alternative not in self._tests:
            table, n_resamples = (
                np.column_stack(
                    [
                        pair.differences
                        if pair.importance is None
                        else pair.differences * pair.importance
                        for pair in self.pairs
                    ]
                ),
                n_randomizations(self.settings),
            )
            tests = paired_tests.randomization_test(
                table, n_resamples, self.settings.seed, alternative
            )
            self._tests[alternative] = tests
        return self._tests[alternative][index]


@dataclass(frozen=True, eq=False)
class _EstimatePair:
    """Two point estimates of a measure, and the columns of both; NaN if either is undefined."""

    first: PointEstimate
    second: PointEstimate
    summary: Summary
    first_columns: list[FloatArray]
    second_columns: list[FloatArray]
    importance: FloatArray | None

    @classmethod
    def from_estimates(cls, first: PointEstimate, second: PointEstimate) -> _EstimatePair:
        """Create the pair; topics on which either is undefined have no value."""
        first_topics, second_topics = first.joint_distribution, second.joint_distribution
        assert isinstance(first_topics, TopicRows)
        assert isinstance(second_topics, TopicRows)
        if first_topics.is_complete and second_topics.is_complete:
            a, b = first_topics.all_columns, second_topics.all_columns
        else:
            absent_mask = ~(first_topics.defined_mask & second_topics.defined_mask)
            a, b = (
                topics.summary.columns(*_mask_topics(absent_mask, topics))
                for topics in (first_topics, second_topics)
            )
        return cls(first, second, first_topics.summary, a, b, first_topics.unit_weight)

    @cached_property
    def defined_mask(self) -> Any:
        """Mask of the topics on which both have a value."""
        return ~np.isnan(self.first_columns[0])

    @cached_property
    def clusters(self) -> ClusterIndex | None:
        """Clusters of topics, in which topics without both values have weight 0."""
        clusters = self.first_topics.clusters
        return (
            None
            if clusters is None
            else defined_clusters(clusters, self.importance, self.defined_mask)
        )

    @property
    def first_topics(self) -> TopicRows:
        """Topics of the first estimate."""
        assert isinstance(self.first.joint_distribution, TopicRows)
        return self.first.joint_distribution

    @property
    def second_topics(self) -> TopicRows:
        """Topics of the second estimate."""
        assert isinstance(self.second.joint_distribution, TopicRows)
        return self.second.joint_distribution

    @cached_property
    def differences(self) -> FloatArray:
        """Differences of the first column, first minus second."""
        return subtract_values(self.first_columns[0], self.second_columns[0])

    @cached_property
    def units(self) -> UnitValues:
        """Differences of the first column on the topics on which both have a value."""
        return self._units(self.differences[self.defined_mask])

    @property
    def is_mean(self) -> bool:
        """Whether the summary is the mean of the differences, or their sum."""
        return self.summary.kind in ("mean", "sum")

    def resampled_columns(self) -> list[FloatArray]:
        """Return the columns to resample."""
        return [self.differences] if self.is_mean else [*self.first_columns, *self.second_columns]

    def _defined_columns(self) -> tuple[FloatArray, FloatArray]:
        """Return the columns of both, for the topics on which both have a value."""
        first, second = (
            np.column_stack(columns)[self.defined_mask]
            for columns in (self.first_columns, self.second_columns)
        )
        return first, second

    def difference(self, draws: TopicReplicates, signs: _SignFlips, index: int) -> PointEstimate:
        """Return the difference, with its replicates and its test at index ``index``."""
        defined_mask, n = self.defined_mask, int(np.count_nonzero(self.defined_mask))
        importance = None if self.importance is None else self.importance[defined_mask]
        first_topics, second_topics = self.first_topics, self.second_topics

        def signs_of_topics() -> Signs:
            if self.is_mean:
                return self.units.signs
            values = subtract_values(first_topics.values, second_topics.values)
            return count_signs(values[defined_mask])

        def discordant() -> tuple[float, float]:
            signs = signs_of_topics()
            return float(signs[0]), float(signs[2])

        is_binary = first_topics.measure.definition.proportion_of == "topics"
        is_independent = importance is None and self.clusters is None and n > 0

        def effective_sizes() -> tuple[float, ...]:
            if importance is None:
                return (float(n),)
            first_column = self.first_columns[0][defined_mask]
            return (Moments.from_rows(first_column, importance).effective_size,)

        shared: dict[str, Any] = {
            "undefined": self.first.undefined,
            "signs": signs_of_topics,
            "is_binary": is_binary,
            "discordant_proportions": discordant if is_binary and is_independent else None,
            "effective_sizes": effective_sizes,
            "clusters": self.clusters,
            "order": None
            if first_topics.order is None
            else first_topics.order.take_rows(defined_mask),
        }
        if n == 0:
            return self.first.difference(self.second, n=n, value=np.nan, **shared)
        difference_fields: dict[str, Any]
        if self.is_mean:
            difference_fields = self._mean_fields(self.units, draws, signs, index)
        else:
            columns = self._defined_columns()
            difference_fields = self._function_fields(*columns, importance, draws, signs, index)
        if first_topics.clusters is not None or first_topics.order is not None:
            difference_fields |= self._dependent_fields(*self._defined_columns())
        return self.first.difference(self.second, n=n, **shared, **difference_fields)

    def _units(self, values: FloatArray) -> UnitValues:
        """Return values of the topics on which both have one, as units."""
        importance = None if self.importance is None else self.importance[self.defined_mask]
        clusters = None if self.clusters is None else self.clusters.take_rows(self.defined_mask)
        return UnitValues(values, importance, clusters)

    def _dependent_fields(self, a: FloatArray, b: FloatArray) -> dict[str, Any]:
        """Return the influence values for topics in clusters or in time order.

        With clusters, the signs of topics are not exchangeable, so there is no test by them.
        """

        def influence() -> Influence:
            influences = [
                topics.influence(columns, self.defined_mask, self._apply_summary(columns))
                for topics, columns in ((self.first_topics, a), (self.second_topics, b))
            ]
            return influences[0] - influences[1]

        fields = {
            "influence": influence,
            "time_influence": lambda: influence().influence_values[self.defined_mask],
        }
        if self.clusters is None:
            return fields
        return {
            **fields,
            "compute_error": None,
            "studentized_replicates": None,
            "permutation_test": None,
        }

    def _apply_summary(self, columns: FloatArray) -> float:
        """Evaluate the summary on the topics on which both have a value."""
        importance = None if self.importance is None else self.importance[self.defined_mask]
        means = np.average(columns, axis=0, weights=importance)
        return float(self.summary.summarize_means(means, len(columns)))

    def _mean_fields(
        self, units: UnitValues, draws: TopicReplicates, signs: _SignFlips, index: int
    ) -> dict[str, Any]:
        """Return the parts of a difference of means, or sums."""
        factor = len(units.values) if self.summary.kind == "sum" else 1

        def studentized() -> tuple[float, FloatArray, FloatArray]:
            means, errors = draws.get(index)
            return units.standard_error.se, means[:, 0], errors[:, 0]

        return {
            "value": units.mean * factor,
            "units": units,
            "factor": factor,
            "compute_error": lambda: StandardError(
                units.standard_error.se * factor, "Student t", units.standard_error.df
            ),
            "replicates": lambda: draws.get(index)[0][:, 0] * factor,
            "studentized_replicates": studentized,
            "permutation_test": partial(signs.test, index),
        }

    def _function_fields(
        self,
        a: FloatArray,
        b: FloatArray,
        importance: FloatArray | None,
        draws: TopicReplicates,
        signs: _SignFlips,
        index: int,
    ) -> dict[str, Any]:
        """Return the parts of a difference of geometric means, or ratios of means."""
        summary, settings, n = self.summary, self.first.settings, len(a)
        pair_values = [self._apply_summary(table) for table in (a, b)]

        def replicates() -> FloatArray:
            means, width = draws.get(index)[0], a.shape[1]
            first, second = means[:, :width], means[:, width:]
            return summary.summarize_means(first, n) - summary.summarize_means(second, n)

        def influence_differences() -> FloatArray:
            return topic_influence(summary, a, pair_values[0], importance) - topic_influence(
                summary, b, pair_values[1], importance
            )

        value = pair_values[0] - pair_values[1]
        difference_fields: dict[str, Any] = {
            "value": value,
            "linear_units": lambda: self._units(value + influence_differences()),
            "compute_error": lambda: replace(
                self._units(influence_differences()).standard_error, name="Student t"
            ),
            "jackknife": lambda: (self._units(influence_differences()).influence_values, None),
            "replicates": replicates,
        }
        if summary.kind == "geometric":
            return {
                **difference_fields,
                "units": self._units(subtract_values(a[:, 0], b[:, 0])),
                "value_is_unit_mean": False,
                "permutation_test": lambda alternative: signs.test(index, alternative),
            }
        n_resamples, (first, second) = n_randomizations(settings), (a, b)
        if importance is not None:
            first, second = (table * importance[:, None] for table in (a, b))
        return {
            **difference_fields,
            "permutation_test": lambda alternative: paired_tests.ratio_randomization_test(
                first, second, n_resamples, settings.seed, alternative, summary.formula
            ),
        }


def _subtract_together(pairs: Sequence[_EstimatePair]) -> None:
    """Compute the differences of all pairs that have independent topics of equal weight at once.

    For many pairs of few topics it takes a fraction of the time.
    """
    simple = [
        pair
        for pair in pairs
        if pair.importance is None
        and pair.is_mean
        and pair.clusters is None
        and pair.first_topics.is_complete
        and pair.second_topics.is_complete
    ]
    if len(simple) < 2:
        return
    table = subtract_values(
        np.stack([pair.first_columns[0] for pair in simple]),
        np.stack([pair.second_columns[0] for pair in simple]),
    )
    every_topic = np.ones(table.shape[1], bool)
    for pair, units in zip(simple, UnitValues.from_table(table), strict=True):
        pair.__dict__.update(differences=units.values, units=units, defined_mask=every_topic)


def _mask_topics(absent_mask: Any, topics: TopicRows) -> tuple[FloatArray, FloatArray | None]:
    """Return values and weights, with those of some topics set to NaN."""
    weight = topics.pooling_columns
    if weight is not None and weight.ndim > 1:
        weight = np.where(absent_mask[:, None], np.nan, weight)
    return np.where(absent_mask, np.nan, topics.values), weight
