"""Measures of cluster geometry: point estimates with the influence values of the points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.distances import DistanceMatrix, PointDistances
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals
from calipers.inference.influence import DERIVATIVE_STEP
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import JointDistribution, PointEstimate, lazy_difference
from calipers.inference.transformations import TRANSFORMATIONS
from calipers.inference.variance_estimators import Influence, StandardError, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ClusterMoments, ClusterSeparation, FloatArray, IntArray
from calipers.statistics.clusters import cluster_sums

if TYPE_CHECKING:
    from calipers.inference.settings import MeasureLike, Settings


@dataclass(frozen=True, eq=False)
class ClusterDispersion:
    """Dispersion of points about the centers of their clusters.

    For a batch of the points, ``centers`` and ``unit_vector_sums`` are those of all points.
    """

    points: FloatArray
    cluster: IntArray
    n_clusters: int
    settings: Settings
    centers: FloatArray | None = None
    unit_vector_sums: FloatArray | None = None

    @cached_property
    def statistic(self) -> ClusterMoments:
        """Moments of the clusters."""
        return ClusterMoments.from_rows(self.points, self.cluster, self.n_clusters, self.centers)

    @property
    def batch_unit_vector_sums(self) -> FloatArray:
        """Sums by cluster of the unit vectors from its centre to its points."""
        assert self.centers is not None
        return cluster_sums(
            _unit_vectors(self.points - self.centers[self.cluster]), self.cluster, self.n_clusters
        )

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no point has a value of its own."""

    def influence(self, measure: MeasureLike, total: Any = None) -> Influence | None:
        """Return the influence values of a measure.

        They follow from what each point contributes to the sums of squares, and to the overlaps of
        its cluster with others.
        """
        moments: ClusterMoments = self.statistic if total is None else total
        if not np.isfinite(float(measure.apply(moments))):
            return None
        # Points may be so near to each other that what moves the value has no size.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            derivatives = self._point_influence(measure, moments)
            if total is not None:
                return center_influence(
                    derivatives, self._mean_derivative(measure, moments), float(moments.total)
                )
        return center_influence(derivatives) if np.isfinite(derivatives).all() else None

    def _mean_derivative(self, measure: MeasureLike, moments: ClusterMoments) -> float:
        """Return the mean of the derivatives of all points, to which overlaps contribute 0."""
        n, size = float(moments.total), moments.size
        within = float((moments.squares * size / np.maximum(size - 1, 1.0)).sum())
        total_squares = float(moments.within_sum_squares + moments.between_sum_squares)
        mean = _sum_derivative(measure, moments, "within_sum_squares") * within
        return mean + _sum_derivative(measure, moments, "between_sum_squares") * (
            total_squares * n / max(n - 1, 1.0) - within
        )

    def _point_influence(self, measure: MeasureLike, moments: ClusterMoments) -> FloatArray:
        """Return the derivative of the value by the proportion of each point."""
        grand_mean = (moments.size @ moments.mean) / float(moments.total)
        deviations, cluster = self.points - moments.mean[self.cluster], self.cluster
        squares = np.einsum("ij,ij->i", deviations, deviations)
        total_squares = np.square(self.points - grand_mean).sum(axis=1)
        # Without a point a cluster's centre is elsewhere, so that more goes than its square.
        n, size = float(moments.total), moments.size[cluster]
        within = squares * size / np.maximum(size - 1, 1.0)
        derivatives = _sum_derivative(measure, moments, "within_sum_squares") * within
        derivatives += _sum_derivative(measure, moments, "between_sum_squares") * (
            total_squares * n / max(n - 1, 1.0) - within
        )
        derivatives = derivatives + self._center_distance_influence(measure, moments, deviations)
        overlap_derivatives = self._overlap_derivatives(measure, moments)
        if overlap_derivatives.any():
            distances = np.sqrt(squares)
            size = np.maximum(moments.size, 1.0)
            unit_vector_sums = self.unit_vector_sums
            if unit_vector_sums is None:
                unit_vector_sums = cluster_sums(_unit_vectors(deviations), cluster, self.n_clusters)
            mean_unit_vectors = unit_vector_sums / size[:, None]
            spread = distances - np.einsum("ij,ij->i", deviations, mean_unit_vectors[cluster])
            # What the distance of two centers does to their overlap, along the line of both.
            center_distances = np.where(
                moments.centroid_distances == 0, np.inf, moments.centroid_distances
            )
            distance_derivatives = (
                overlap_derivatives * moments.davies_bouldin_ratios / center_distances**2
            )
            means = zip(distance_derivatives, moments.mean, strict=True)
            center_derivatives = np.stack(
                [by_other @ (mean - moments.mean) for by_other, mean in means]
            )
            cluster_derivatives = (overlap_derivatives / center_distances).sum(axis=1)
            mean = (moments.summed_distances / size)[cluster]
            overlap_influence = cluster_derivatives[cluster] * (spread - mean)
            overlap_influence -= np.einsum("ij,ij->i", deviations, center_derivatives[cluster])
            derivatives = derivatives + overlap_influence / size[cluster]
        return np.asarray(derivatives * n)

    def _center_distance_influence(
        self, measure: MeasureLike, moments: ClusterMoments, deviations: FloatArray
    ) -> FloatArray:
        """Return what each point moves a measure by the smallest distance between two centers.

        A point pulls the center of its cluster, along the line of both; ties are shared evenly.
        """
        slope = _sum_derivative(measure, moments, "min_center_distance")
        if slope == 0:
            return np.zeros(len(deviations))
        smallest = float(moments.min_center_distance)
        pairs = np.argwhere(moments.center_pair_distances == smallest)
        pulls = np.zeros(moments.mean.shape)
        for first, second in pairs:  # in either order, so that each center is pulled once
            pulls[first] += (moments.mean[first] - moments.mean[second]) / smallest
        pulls *= 2 * slope / len(pairs) / np.maximum(moments.size, 1.0)[:, None]
        return np.asarray(np.einsum("ij,ij->i", deviations, pulls[self.cluster]))

    def _overlap_derivatives(self, measure: MeasureLike, moments: ClusterMoments) -> FloatArray:
        """Return the derivatives by each overlap of two clusters, in either order.

        They are the derivatives by the largest overlap of each cluster, divided evenly among ties.
        """
        worst, shifted_values = moments.max_overlaps, []
        for sign in (1, -1):
            shifted = worst * (1 + sign * DERIVATIVE_STEP * np.eye(self.n_clusters))
            shifted_values.append(
                measure.apply(_replace_derived(moments, max_overlaps=shifted))
                + np.zeros(self.n_clusters)
            )
        steps = 2 * DERIVATIVE_STEP * worst
        worst_derivatives = (shifted_values[0] - shifted_values[1]) / np.where(
            steps > 0, steps, np.inf
        )
        worst_mask = moments.davies_bouldin_ratios == worst[:, None]
        derivatives = np.where(
            worst_mask, (worst_derivatives / worst_mask.sum(axis=1))[:, None], 0.0
        )
        return np.asarray(derivatives + derivatives.T)

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of cluster moments."""
        return estimate_geometry(measure, self.statistic, len(self.points), self.settings, self)


def _unit_vectors(vectors: FloatArray) -> FloatArray:
    """Return unit vectors; the zero vector stays 0."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return np.asarray(vectors / np.where(lengths > 0, lengths, np.inf)[:, None])


def _replace_derived(moments: ClusterMoments, **derived_fields: FloatArray) -> ClusterMoments:
    """Return the moments with other values of their derived attributes."""
    result = replace(moments)
    result.__dict__.update(derived_fields)
    return result


def _sum_derivative(measure: MeasureLike, moments: ClusterMoments, name: str) -> float:
    """Return the derivative of a measure by a sum of squares."""
    sum_of_squares = getattr(moments, name)
    shifted_values = [
        float(measure.apply(_replace_derived(moments, **{name: sum_of_squares * (1 + h)})))
        for h in (DERIVATIVE_STEP, -DERIVATIVE_STEP)
    ]
    step = 2 * DERIVATIVE_STEP * float(sum_of_squares)
    return (shifted_values[0] - shifted_values[1]) / step if step > 0 else 0.0


@dataclass(frozen=True, eq=False)
class ClusterExtremes:
    """Smallest distances between points of different clusters, and cluster diameters."""

    cluster: IntArray
    geometry: PointDistances | DistanceMatrix
    settings: Settings

    @cached_property
    def statistic(self) -> ClusterSeparation:
        """Separation of the clusters over all pairs of points."""
        return ClusterSeparation(*self.geometry.extremes(self.cluster))

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no point has a value of its own."""

    def influence(self, measure: MeasureLike, total: Any = None) -> None:
        """Return None, as all but four points have no influence."""

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate, which has no interval."""
        n, definition = len(self.cluster), measure.definition
        return PointEstimate(
            value=float(measure.apply(self.statistic)),
            kind="extremes of distances",
            settings=self.settings,
            n=n,
            unit="points",
            bounds=definition.range,
            undefined=undefined_reasons(measure, self.statistic, n),
            higher_is_better=definition.higher_is_better,
        )


def center_influence(
    derivatives: FloatArray, mean: float | None = None, n_points: float | None = None
) -> Influence:
    """Return the influence values from derivatives by the proportion of each point.

    For a batch of the points, ``mean`` and ``n_points`` are the mean derivative and the number of
    all points.
    """
    n = len(derivatives) if n_points is None else n_points
    centered = derivatives - (derivatives.mean() if mean is None else mean)
    return Influence(centered / n * math.sqrt(n / max(n - 1, 1)), VarianceEstimator(), "Student t")


def estimate_geometry(
    measure: MeasureLike,
    statistic: Any,
    n: int,
    settings: Settings,
    sample: Any,
    n_population: int | None = None,
) -> PointEstimate:
    """Return the point estimate of a measure of cluster geometry that has an influence.

    ``n_population`` is the number of all points, if these are a sample of them.
    """
    value, definition = float(measure.apply(statistic)), measure.definition
    streamed = sample if hasattr(sample, "unit_differences") else None

    def error() -> StandardError | Interval:
        influence = sample.influence(measure)
        if influence is None:
            return intervals.no_interval("none", "undefined_value")
        return StandardError(influence.standard_error.se, "Student t", float(n - 1))

    def limits(level: float) -> Interval:
        interval = _student_interval(value, error, n, definition.range, level)
        if n_population is None:
            return interval
        return replace(interval, method=f"{interval.method}, of {n:,} sampled points")

    return PointEstimate(
        value=value,
        kind="measure of distances",
        settings=settings,
        n=n,
        n_total=n_population,
        unit="points",
        bounds=definition.range,
        undefined=undefined_reasons(measure, statistic, n),
        higher_is_better=definition.higher_is_better,
        effective_sizes=lambda: (float(n),),
        compute_scaled_skewness=lambda: _skewness(sample, measure),
        joint_distribution=_PairedClusterings(
            sample.cluster, getattr(sample, "point_counts", None), streamed
        ),
        influence=lambda: sample.influence(measure),
        compute_error=error,
        methods={"Student t": limits},
    )


@dataclass(frozen=True, eq=False)
class _PairedClusterings(JointDistribution):
    """Joint distribution of two clusterings of the same points.

    Their difference depends on the points that are in different clusters.
    """

    cluster: IntArray
    #: How many points each of these stands for.
    point_counts: FloatArray | None = None
    #: Accumulated distribution of the differences, if the points are no longer available.
    streamed: Any = None

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two point estimates on the same points."""
        assert isinstance(second.joint_distribution, _PairedClusterings)
        influence, other_cluster = (
            lazy_difference(first.influence, second.influence),
            second.joint_distribution.cluster,
        )
        streamed, other_streamed = self.streamed, second.joint_distribution.streamed

        def error() -> StandardError | Interval:
            point_influence = None if influence is None else influence()
            if point_influence is None:
                return intervals.no_interval("none", "undefined_value")
            return StandardError(
                point_influence.standard_error.se, "Student t", float(max(first.n - 1, 0))
            )

        return first.difference(
            second,
            influence=influence,
            compute_error=error,
            n_changed=lambda: n_mismatched(self.cluster, other_cluster, self.point_counts),
            unit_spread=None
            if streamed is None
            else lambda: streamed.unit_differences(other_streamed),
        )


def n_mismatched(first: IntArray, second: IntArray, point_counts: FloatArray | None = None) -> int:
    """Count the points that the two clusterings assign differently.

    In each direction, the points count that are not in the same cluster as most of those with which
    they share a cluster in the other clustering; the larger of the two counts is returned. Each
    entry stands for ``point_counts`` identical points.
    """
    n_clusters = int(second.max(initial=0)) + 1
    pairs, inverse = np.unique(first * n_clusters + second, return_inverse=True)
    points = np.bincount(inverse, point_counts, len(pairs))
    n_matched = []
    for cluster in np.divmod(pairs, n_clusters):
        max_counts = np.zeros(int(cluster.max(initial=0)) + 1, dtype=points.dtype)
        np.maximum.at(max_counts, cluster, points)
        n_matched.append(int(max_counts.sum()))
    return (len(first) if point_counts is None else int(point_counts.sum())) - min(n_matched)


def _skewness(sample: Any, measure: MeasureLike) -> float:
    """Return the absolute skewness of the influence values, or the one that was accumulated."""
    if hasattr(sample, "skewness"):
        return float(sample.skewness(measure))
    influence = sample.influence(measure)
    return 0.0 if influence is None else abs(intervals.scaled_skewness(influence.column))


def _student_interval(
    value: float,
    error: Callable[[], StandardError | Interval],
    n: int,
    bounds: tuple[float, float],
    level: float,
) -> Interval:
    """Return Student's t interval on Fisher's z scale; on the log scale without an upper bound."""
    standard_error = error()
    if isinstance(standard_error, Interval):
        return standard_error
    if not standard_error.se > 0:
        return intervals.no_interval(standard_error.name, "no_spread")
    interval = intervals.student_interval(value, standard_error.se, n, level)
    is_bounded = math.isfinite(bounds[1])
    scale, name = (
        TRANSFORMATIONS["fisher" if is_bounded else "log"],
        "Fisher's z" if is_bounded else "logarithms",
    )
    if interval.reason or not scale.is_defined(value):
        return interval
    limits = scale.symmetric_limits(value, interval.high - value)
    return Interval(*limits, f"Student t, of {name}", se=standard_error.se)
