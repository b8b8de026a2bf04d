"""Measures of the mean of a value per row: losses, squared errors, proportions of rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.estimation.proportions import proportion_intervals
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import bayesian_bootstrap, intervals
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import IntervalFunction, PointEstimate, UnitValues
from calipers.inference.resampling import bootstrap_means, bootstrap_weighted_means
from calipers.inference.variance_estimators import Influence, MeanVariance, StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.measures.regression import SQUARED_LOSSES
from calipers.statistics import FloatArray, Histogram, Moments, SkewMoments
from calipers.statistics.histogram import MAX_TAIL_VALUES

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings


#: Minimum tail index of the roots for which squares have a variance; and the maximum distance of
#: half a row beyond the data, as a multiple of the largest value.
MIN_TAIL_INDEX, MAX_TAIL_RATIO = 2.2, 25.0

#: A sum of squares above this, and below its inverse, has a sum of cubes with all digits.
_SMALL_VARIANCE = 1e-150

#: Minimum number of values in the tail.
MIN_TAIL_VALUES = 5


def expected_exceedance(squares: FloatArray, rows: int | None = None) -> float:
    """Return the expected size of a square above the largest one, by extrapolating the tail.

    It is x·α/(α − 2), that of a Pareto tail from the largest x on, with Hill's index α (1975) of
    the roots of the largest √n squares. ``rows`` is n if only the largest squares are given.

    >>> round(expected_exceedance(np.square(np.linspace(0.01, 1, 100))), 3)  # next to no tail
    1.133
    """
    from calipers import _core

    n = len(squares)
    n_tail = max(int(math.sqrt(n if rows is None else rows)), MIN_TAIL_VALUES)
    n_tail = min(n_tail, MAX_TAIL_VALUES - 1, n - 1)
    tail = _core.largest_values(squares, n_tail + 1)
    index, largest = MIN_TAIL_INDEX, float(tail.max(initial=0.0))
    if n_tail > 0:
        tail_threshold = float(tail[0])
        if tail_threshold > 0:
            mean = float(np.log(tail[1:] / tail_threshold).sum()) / n_tail / 2
            index = max(MIN_TAIL_INDEX, 1 / mean) if mean > 0 else math.inf
    ratio = index / (index - 2) if math.isfinite(index) else 1.0
    return largest * min(ratio, MAX_TAIL_RATIO)


@dataclass(frozen=True, eq=False)
class RowLosses:
    """Sample of rows with a value each."""

    values: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings
    #: What values can be, where that is narrower than the range of the measure.
    value_range: tuple[float, float] | None = None

    @cached_property
    def statistic(self) -> Moments:
        """Moments of the values."""
        return Moments.from_rows(self.values, self.weight)

    def batch_statistic(self, measure: MeasureLike) -> SkewMoments:
        """Return the statistic of these rows that is merged over batches for a measure.

        It includes a histogram of the values if the interval of the measure needs it.
        """

        def compute_statistic() -> SkewMoments:
            moments = SkewMoments.from_rows(self.values, self.weight)
            if self.clusters is not None or not (is_square or is_bounded):
                return moments
            spread = Histogram.from_rows(self.values, self.weight, store_tail=is_square)
            return replace(moments, spread=spread)

        is_square, definition = is_mean_square(measure), measure.definition
        value_range = definition.range if self.value_range is None else self.value_range
        is_bounded = bool(np.isfinite(value_range).all()) and definition.interval != "far_end"
        is_bounded &= is_mean(measure) and definition.counts_hits is None
        return cached(self, ("added", is_square, is_bounded), compute_statistic)

    def point_estimate(self, measure: MeasureLike, trials: float | None = None) -> PointEstimate:
        """Return the point estimate of a measure of the mean."""
        rows = self.values, self.weight, self.clusters, self.settings
        return estimate_mean_loss(measure, *rows, trials, self.value_range)

    def row_values(self, measure: MeasureLike) -> FloatArray:
        """Return the value of each row."""
        return self.values

    def influence(self, measure: MeasureLike, total: Moments | None = None) -> Influence | None:
        """Return the influence values of a measure.

        ``total`` are the moments of all rows, if these are a batch of them.
        """
        return loss_influence(measure, self.values, self.weight, self.clusters, total)


def estimate_from_moments(
    measure: MeasureLike,
    moments: Moments,
    settings: Settings,
    n_rows: int,
    value_range: tuple[float, float] | None = None,
    cluster_influence: Influence | None = None,
) -> PointEstimate:
    """Estimate a measure of a mean from the moments of a value per row.

    With third moments the estimate also has limits, for streamed rows. ``value_range`` is the range
    of the values, if that is narrower than the range of the measure; ``cluster_influence`` are the
    influence values of the clusters.
    """
    value, definition = float(measure.apply(moments)), measure.definition
    derivative = loss_derivative(measure, value, moments)
    bounds = definition.range if value_range is None else value_range
    fields: dict[str, Any] = {}
    if isinstance(moments, SkewMoments):
        mean_intervals = _MeanIntervals(measure, moments, bounds)
        if cluster_influence is not None:
            mean_intervals = _ClusterIntervals(measure, moments, bounds, cluster_influence)
        methods = mean_intervals.methods()
        if definition.counts_hits is not None and cluster_influence is None:
            methods |= proportion_intervals(value, moments.effective_size)
        fields = {
            "compute_scaled_skewness": lambda: abs(mean_intervals.scaled_skewness),
            "methods": methods,
        }
    return PointEstimate(
        value=value,
        kind="mean of a value per row",
        settings=settings,
        n=n_rows,
        bounds=bounds,
        # Of rows without a finite value those are the reason, and not all that there are.
        undefined=undefined_reasons(measure, moments, moments.infinite or n_rows),
        higher_is_better=definition.higher_is_better,
        effective_sizes=lambda: (moments.effective_size,),
        compute_error=lambda: StandardError(derivative * moments.standard_error, "delta"),
        kurtosis_z=(lambda: excess_kurtosis_z(moments)) if is_mean_square(measure) else None,
        has_far_bound=definition.interval == "far_end",
        **fields,
    )


def is_mean_square(measure: MeasureLike) -> bool:
    """Return whether a measure is a function of a mean of squares."""
    return measure.definition.row_formula in SQUARED_LOSSES


def excess_kurtosis_z(squares: Moments) -> float:
    """Return the excess kurtosis about 0 of the roots of squares, in its standard errors."""
    mean = squares.mean
    if not (mean > 0 and np.isfinite(squares.m2)):
        return 0.0
    excess = 1 + squares.m2 / squares.weight / mean / mean - 3
    return float(excess / np.sqrt(24 / squares.effective_size))


def estimate_mean_loss(
    measure: MeasureLike,
    loss: FloatArray,
    weight: FloatArray | None,
    clusters: ClusterIndex | None,
    settings: Settings,
    trials: float | None = None,
    value_range: tuple[float, float] | None = None,
) -> PointEstimate:
    """Return the point estimate of a measure of the mean of a value per row.

    ``trials`` is the effective number of rows if they are independent and each is right or wrong,
    so that the mean is a proportion; ``value_range`` is the range of the values, if that is
    narrower than the range of the measure.

    The standard error of a function of the mean (a root mean square, a total, an exponential) is
    that of the mean times the derivative. The units test the equality of means, which is not the
    same as the equality of functions of them.
    """
    # Of rows without weights the third moments come along in the same pass.
    moments_type = SkewMoments if weight is None and clusters is None else Moments
    moments = moments_type.from_rows(loss, weight)
    estimate = estimate_from_moments(measure, moments, settings, len(loss), value_range)
    loss_intervals = _LossIntervals(
        measure, moments, loss, weight, clusters, settings, estimate.bounds
    )

    return replace(
        estimate,
        weight=weight,
        clusters=clusters,
        compute_scaled_skewness=lambda: abs(loss_intervals.scaled_skewness),
        compute_error=None,
        influence=lambda: loss_influence(measure, loss, weight, clusters),
        units=UnitValues(loss, weight, clusters),
        value_is_unit_mean=is_mean(measure),
        replicates=loss_intervals.replicates,
        jackknife=loss_intervals.jackknife_values,
        methods={
            **loss_intervals.methods(),
            **({} if trials is None else proportion_intervals(estimate.value, trials)),
        },
    )


def skewness_of_mean(moments: Moments, values: FloatArray, weight: FloatArray | None) -> float:
    """Return the skewness, over √n, of the influence of rows on a mean; 0 if nothing varies.

    Deviations are scaled if powers of them overflow or vanish.
    """
    from calipers import _core

    if isinstance(moments, SkewMoments) and _SMALL_VARIANCE < moments.v2 < 1 / _SMALL_VARIANCE:
        return moments.skewness
    scale = math.sqrt(moments.m2 / moments.weight) if moments.weight > 0 else 0.0
    if not 0 < scale < math.inf:
        return 0.0
    *_, cubes = _core.cube_sums(values, moments.mean, scale, weight)
    return float(cubes / (math.sqrt(moments.v2) / scale) ** 3)


def is_mean(measure: MeasureLike) -> bool:
    """Return whether a measure is the mean itself, and not a function of it."""
    return measure.definition.interval not in ("root_mean", "exponential", "total")


def loss_influence(
    measure: MeasureLike,
    loss: FloatArray,
    weight: FloatArray | None,
    clusters: ClusterIndex | None,
    total: Moments | None = None,
) -> Influence | None:
    """Return the influence values of a measure of the mean loss, if it has a derivative.

    ``total`` are the moments of all rows, if these are a batch of them.
    """
    if is_mean(measure):
        variance_estimator = MeanVariance(weight, clusters, total_moments=total)
        return Influence(
            loss,
            variance_estimator,
            "normal" if variance_estimator.clusters is None else "Student t",
        )
    moments = Moments.from_rows(loss, weight) if total is None else total
    derivative = loss_derivative(measure, float(measure.apply(moments)), moments)
    if total is not None and not total.mean:
        derivative = 0.0  # rows in batches are not resampled; the root of 0 would not vary
    if not np.isfinite(derivative):
        return None
    scaled = None if total is None else replace(total, mean=derivative * total.mean)
    variance_estimator = MeanVariance(weight, clusters, total_moments=scaled)
    return Influence(derivative * loss, variance_estimator)


def loss_derivative(measure: MeasureLike, value: float, moments: Moments) -> float:
    """Return the derivative of a measure by the mean loss; NaN if undefined, as of √ at 0."""
    match measure.definition.interval:
        case "root_mean":
            return 1 / (2 * value) if value > 0 else float("nan")
        case "exponential":
            return value
        case "total":
            return moments.weight
    return 1.0


class _MeanIntervals:
    """Intervals of a function of a mean, from moments of independent rows."""

    clusters: ClusterIndex | None = None

    def __init__(self, measure: MeasureLike, moments: Moments, bounds: tuple[float, float]) -> None:
        self.measure, self.moments, self.bounds = measure, moments, bounds
        self.function_kind = measure.definition.interval

    def value_at_mean(self, means: FloatArray) -> FloatArray:
        """Evaluate the measure at other means."""
        return self.measure.apply(replace(self.moments, mean=means))  # type: ignore[arg-type]

    def methods(self) -> dict[str, IntervalFunction]:
        """Return the interval methods by name, without those that need the rows."""
        methods: dict[str, IntervalFunction] = {
            "delta": self.error_interval,
            "hall": self.skew_corrected_interval,
        }
        if self.function_kind == "root_mean":
            methods["chi-square"] = self.chi_square_interval
        else:
            methods["t"] = self.student_interval
        spread = self.value_histogram
        if spread is not None and is_mean(self.measure) and np.isfinite(self.bounds).all():
            methods["bayesian-bootstrap"] = lambda level: bayesian_bootstrap.mean_interval(
                spread, self.bounds, level
            )
        return methods

    @property
    def value_histogram(self) -> Histogram | None:
        """Histogram of the values, if it is known without the rows."""
        has_histogram = isinstance(self.moments, SkewMoments) and self.clusters is None
        return self.moments.spread if has_histogram else None  # type: ignore[attr-defined]

    @cached_property
    def scaled_skewness(self) -> float:
        """Skewness of the rows, or of sums by cluster, over √n, as a measure of non-normality."""
        moments = self.moments
        has_skewness = isinstance(moments, SkewMoments) and np.isfinite(moments.mean)
        return moments.skewness if has_skewness else 0.0  # type: ignore[attr-defined]

    def skew_corrected_interval(self, level: float) -> Interval:
        """Return Student's t interval, corrected for skewness."""
        degrees = self.moments.effective_size - 1
        if self.clusters is not None:
            degrees = self.clusters.df
        mean, se, positive = self.moments.mean, self.mean_error, self.bounds[0] >= 0
        interval = intervals.hall_interval(
            mean, se, self.scaled_skewness, degrees, level, is_nonnegative=positive
        )
        if self.clusters is None and interval.reason is None and is_mean_square(self.measure):
            high = self.tail_upper_limit(level)
            interval = replace(
                interval, high=max(interval.high, high) if np.isfinite(high) else interval.high
            )
        if self.clusters is not None and self.clusters.n_clusters < 2:
            return intervals.no_interval(interval.method, "too_few_clusters")
        return self.transform_limits(self.annotate_clusters(interval))

    def tail_upper_limit(self, level: float) -> float:
        """Return the upper limit of a mean of squares with half a row above the largest square.

        It is NaN if the distribution of the squares is unknown.
        """
        if self.value_histogram is None:
            return float("nan")
        end = expected_exceedance(self.value_histogram.largest, self.value_histogram.rows)
        return bayesian_bootstrap.upper_limit(self.value_histogram, end, level)

    def annotate_clusters(self, interval: Interval) -> Interval:
        """Add the number of clusters to the method of an interval."""
        return (
            interval
            if self.clusters is None
            else replace(interval, method=self.clusters.annotate_method(interval.method))
        )

    def transform_limits(self, interval: Interval) -> Interval:
        """Transform an interval of the mean to one of the measure."""
        if interval.reason is not None:
            return interval
        limits = np.array([interval.low, interval.high])
        limits = np.maximum(limits, 0.0) if self.bounds[0] >= 0 else limits
        low, high = self.value_at_mean(limits).tolist()
        return replace(interval, low=low, high=high, se=self.standard_error)

    @property
    def mean_error(self) -> float:
        """Standard error of the mean."""
        return self.moments.standard_error

    @property
    def standard_error(self) -> float:
        """Standard error of the measure."""
        return self.derivative * self.mean_error

    @property
    def derivative(self) -> float:
        """Derivative of the measure by the mean."""
        return loss_derivative(self.measure, float(self.measure.apply(self.moments)), self.moments)

    def error_interval(self, level: float) -> Interval:
        """Return the interval from the standard error of the mean."""
        if self.clusters is None:
            return self.mean_interval(self.mean_error, level)
        if not self.clusters.df > 0:
            return intervals.no_interval("none", "too_few_clusters")
        student_se = intervals.student_se(self.mean_error, self.clusters.df, level)
        interval = self.mean_interval(student_se, level)
        name = self.clusters.annotate_method(f"{interval.method}, cluster-robust")
        return replace(interval, method=name, se=self.standard_error)

    def mean_interval(self, se: float, level: float) -> Interval:
        """Return the normal interval of the measure from a standard error of the mean."""
        mean = self.moments.mean
        if self.function_kind == "root_mean":
            return intervals.root_mean_interval(mean, se, level)
        interval = intervals.normal_interval(mean, se, level)
        if self.function_kind not in ("total", "exponential"):
            return interval
        return self.transform_limits(
            interval if interval.reason else replace(interval, method="normal, of the mean")
        )

    def student_interval(self, level: float) -> Interval:
        """Return Student's t interval."""
        if self.clusters is not None:
            return replace(
                self.error_interval(level), method=self.clusters.annotate_method("Student t")
            )
        n, se = self.moments.effective_size, self.mean_error
        mean_interval = intervals.student_interval(self.moments.mean, se, n, level)
        if mean_interval.reason is not None:
            return mean_interval
        interval = self.mean_interval(intervals.student_se(se, n - 1, level), level)
        return replace(
            interval, method=interval.method.replace("normal", "Student t"), se=self.standard_error
        )

    def chi_square_interval(self, level: float) -> Interval | None:
        """Return the chi-square interval, adjusted for kurtosis."""
        if self.clusters is not None:
            return None
        mean = self.moments.mean
        kurtosis = self.mean_square / mean**2 if mean > 0 else 3.0
        root = float(self.measure.apply(self.moments))
        return intervals.chi_square_interval(root, self.moments.effective_size, kurtosis, level)

    @property
    def mean_square(self) -> float:
        """Mean of the squares of the values."""
        moments = self.moments
        return moments.m2 / moments.weight + moments.mean**2


class _ClusterIntervals(_MeanIntervals):
    """Intervals from moments of clustered rows, with the influence values of the clusters."""

    def __init__(
        self,
        measure: MeasureLike,
        moments: Moments,
        bounds: tuple[float, float],
        by_cluster: Influence,
    ) -> None:
        super().__init__(measure, moments, bounds)
        self.cluster_influence, self.clusters = by_cluster, by_cluster.variance_estimator.clusters

    @cached_property
    def scaled_skewness(self) -> float:
        """Skewness of the sums by cluster."""
        return intervals.scaled_skewness(self.cluster_influence.influence_values)

    @property
    def mean_error(self) -> float:
        """Cluster-robust standard error of the mean."""
        se = self.cluster_influence.standard_error.se
        return se / self.derivative if se > 0 else se


class _LossIntervals(_MeanIntervals):
    """Intervals from rows that are in memory."""

    def __init__(
        self,
        measure: MeasureLike,
        moments: Moments,
        loss: FloatArray,
        weight: FloatArray | None,
        clusters: ClusterIndex | None,
        settings: Settings,
        bounds: tuple[float, float],
    ) -> None:
        super().__init__(measure, moments, bounds)
        self.loss, self.weight = loss, weight
        self.clusters, self.settings = clusters, settings

    def replicates(self) -> FloatArray:
        """Return bootstrap replicates, resampling rows or clusters."""
        column = self.loss[:, None]
        return self.value_at_mean(
            bootstrap_means(column, self.weight, self.settings, self.clusters)[:, 0]
        )

    def methods(self) -> dict[str, IntervalFunction]:
        """Return the interval methods by name, without percentiles of the replicates."""
        methods = super().methods()
        if is_mean(self.measure) and np.isfinite(self.bounds).all():
            methods["bayesian-bootstrap"] = self.bayesian_interval
        if self.clusters is None:
            methods["studentized"] = self.bootstrap_t_interval
        return methods

    @cached_property
    def scaled_skewness(self) -> float:
        """Skewness of the rows, or of sums by cluster."""
        moments, loss = self.moments, self.loss
        if not np.isfinite(moments.mean):
            return 0.0
        if self.clusters is None:
            return skewness_of_mean(moments, loss, self.weight)
        if self.weight is not None:  # weight 0 removes even infinite values
            loss = np.where(self.weight > 0, loss, moments.mean)
        return intervals.scaled_skewness(
            UnitValues(loss, self.weight, self.clusters).influence_values
        )

    def tail_upper_limit(self, level: float) -> float:
        """Return the upper limit with half a row above the largest value."""
        end = expected_exceedance(self._used_values)
        return bayesian_bootstrap.upper_limit(self.loss, end, level, self.weight)

    @property
    def _used_values(self) -> FloatArray:
        """Values of the rows with positive weight."""
        return self.loss if self.weight is None else self.loss[self.weight > 0]

    @property
    def mean_error(self) -> float:
        """Standard error of the mean, cluster-robust if there are clusters."""
        if self.clusters is not None:
            return self.clusters.mean_error(self.loss).se
        return super().mean_error

    @property
    def mean_square(self) -> float:
        """Mean of the squared values of the rows."""
        return Moments.from_rows(np.square(self.loss), self.weight).mean

    def bayesian_interval(self, level: float) -> Interval:
        """Return the Bayesian bootstrap interval of bounded values, or of their cluster means."""
        values, weight = self.loss, self.weight
        if self.clusters is not None:
            if self.clusters.n_clusters < 2:
                return intervals.no_interval(bayesian_bootstrap.METHOD, "too_few_clusters")
            values, weight = self.clusters.cluster_means(values)
        interval = bayesian_bootstrap.mean_interval(values, self.bounds, level, weight)
        return self.annotate_clusters(interval)

    def jackknife_values(self) -> tuple[FloatArray, None]:
        """Return the jackknife values of rows or clusters."""
        w = np.ones(len(self.loss)) if self.weight is None else self.weight
        sums = np.column_stack([w * np.where(w > 0, self.loss, 0.0), w])
        if self.clusters is not None:
            sums = np.column_stack([np.bincount(self.clusters.codes, column) for column in sums.T])
        sums = sums[sums[:, 1] > 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = (sums[:, 0].sum() - sums[:, 0]) / (sums[:, 1].sum() - sums[:, 1])
            # A sum of what is not negative is not negative, but for rounding.
            means = np.maximum(means, 0.0) if self.loss.min(initial=0.0) >= 0 else means
            return intervals.jackknife_influence(self.value_at_mean(means)), None

    def bootstrap_t_interval(self, level: float) -> Interval:
        """Return the bootstrap-t interval of the mean."""
        means_and_errors, se = self._replicates_with_errors(), self.moments.standard_error
        return self.transform_limits(
            intervals.bootstrap_t(self.moments.mean, se, *means_and_errors, level)
        )

    def _replicates_with_errors(self) -> tuple[FloatArray, FloatArray]:
        """Return replicates of the mean, and the standard error of each."""
        from calipers import _core

        settings, loss, weight = self.settings, self.loss, self.weight
        if weight is None:
            means, errors = _core.bootstrap_means(
                loss[:, None], settings.seed, settings.n_resamples
            )
            return means[:, 0], errors[:, 0]
        means, errors = bootstrap_weighted_means([loss[weight > 0]], weight[weight > 0], settings)
        return means[:, 0], errors[:, 0]
