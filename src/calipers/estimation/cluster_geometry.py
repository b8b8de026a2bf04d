"""Measures of cluster geometry: point estimates with the influence values of the points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.distances import DistanceMatrix, PointDistances
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals
from calipers.inference.influence import STEP
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import PointEstimate, lazy_difference
from calipers.inference.transformations import SCALES
from calipers.inference.variance_estimators import Influence, StandardError, VarianceEstimator
from calipers.statistics import ClusterMoments, ClusterSeparation, FloatArray, IntArray
from calipers.statistics.clusters import cluster_sums

if TYPE_CHECKING:
    from calipers.inference.settings import MeasureLike, Settings


@dataclass(frozen=True, eq=False)
class ClusterDispersion:
    """Dispersion of points about the centres of their clusters.

    For a batch of the points, ``centres`` and ``leans`` are those of all points.
    """

    points: FloatArray
    cluster: IntArray
    clusters: int
    settings: Settings
    centres: FloatArray | None = None
    leans: FloatArray | None = None

    @cached_property
    def statistic(self) -> ClusterMoments:
        """Moments of the clusters."""
        return ClusterMoments.from_rows(self.points, self.cluster, self.clusters, self.centres)

    @property
    def leaning(self) -> FloatArray:
        """Sums by cluster of the unit vectors from its centre to its points."""
        assert self.centres is not None
        return cluster_sums(
            _unit_vectors(self.points - self.centres[self.cluster]), self.cluster, self.clusters
        )

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no point has a value of its own."""

    def influence(self, measure: MeasureLike, whole: Any = None) -> Influence | None:
        """Return the influence values of a measure.

        They follow from what each point contributes to the sums of squares, and to the overlaps of
        its cluster with others.
        """
        moments: ClusterMoments = self.statistic if whole is None else whole
        if not np.isfinite(float(measure.apply(moments))):
            return None
        # Points may be so near to each other that what moves the value has no size.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            moved = self._point_influence(measure, moments)
            if whole is not None:
                return influence(moved, self._mean(measure, moments), float(moments.total))
        return influence(moved) if np.isfinite(moved).all() else None

    def _mean(self, measure: MeasureLike, moments: ClusterMoments) -> float:
        """Return the mean of the derivatives of all points, to which overlaps contribute 0."""
        n, size = float(moments.total), moments.size
        within = float((moments.squares * size / np.maximum(size - 1, 1.0)).sum())
        apart = float(moments.within_sum_squares + moments.between)
        mean = _slope(measure, moments, "within_sum_squares") * within
        return mean + _slope(measure, moments, "between") * (apart * n / max(n - 1, 1.0) - within)

    def _point_influence(self, measure: MeasureLike, moments: ClusterMoments) -> FloatArray:
        """Return the derivative of the value by the proportion of each point."""
        middle = (moments.size @ moments.mean) / float(moments.total)
        off, cluster = self.points - moments.mean[self.cluster], self.cluster
        squares = np.einsum("ij,ij->i", off, off)
        apart = np.square(self.points - middle).sum(axis=1)
        # Without a point a cluster's centre is elsewhere, so that more goes than its square.
        n, size = float(moments.total), moments.size[cluster]
        within = squares * size / np.maximum(size - 1, 1.0)
        moved = _slope(measure, moments, "within_sum_squares") * within
        moved += _slope(measure, moments, "between") * (apart * n / max(n - 1, 1.0) - within)
        by_overlap = self._overlap_derivatives(measure, moments)
        if by_overlap.any():
            far = np.sqrt(squares)
            size = np.maximum(moments.size, 1.0)
            leans = self.leans
            if leans is None:
                leans = cluster_sums(_unit_vectors(off), cluster, self.clusters)
            lean = leans / size[:, None]
            spread = far - np.einsum("ij,ij->i", off, lean[cluster])
            # What the distance of two centres does to their overlap, along the line of both.
            gaps = np.where(moments.gaps == 0, np.inf, moments.gaps)
            along = by_overlap * moments.overlaps / gaps**2
            means = zip(along, moments.mean, strict=True)
            pull = np.stack([by_other @ (mean - moments.mean) for by_other, mean in means])
            each = (by_overlap / gaps).sum(axis=1)
            mean = (moments.apart / size)[cluster]
            by_point = each[cluster] * (spread - mean)
            by_point -= np.einsum("ij,ij->i", off, pull[cluster])
            moved = moved + by_point / size[cluster]
        return np.asarray(moved * n)

    def _overlap_derivatives(self, measure: MeasureLike, moments: ClusterMoments) -> FloatArray:
        """Return the derivatives by each overlap of two clusters, in either order.

        They are the derivatives by the largest overlap of each cluster, divided evenly among ties.
        """
        worst, ends = moments.worst, []
        for sign in (1, -1):
            some = worst * (1 + sign * STEP * np.eye(self.clusters))
            ends.append(
                measure.apply(_replace_derived(moments, worst=some)) + np.zeros(self.clusters)
            )
        steps = 2 * STEP * worst
        by_worst = (ends[0] - ends[1]) / np.where(steps > 0, steps, np.inf)
        at_worst = moments.overlaps == worst[:, None]
        found = np.where(at_worst, (by_worst / at_worst.sum(axis=1))[:, None], 0.0)
        return np.asarray(found + found.T)

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure of cluster moments."""
        return estimate_geometry(measure, self.statistic, len(self.points), self.settings, self)


def _unit_vectors(off: FloatArray) -> FloatArray:
    """Return unit vectors; the zero vector stays 0."""
    far = np.sqrt(np.einsum("ij,ij->i", off, off))
    return np.asarray(off / np.where(far > 0, far, np.inf)[:, None])


def _replace_derived(moments: ClusterMoments, **parts: FloatArray) -> ClusterMoments:
    """Return the moments with other values of their derived attributes."""
    made = replace(moments)
    made.__dict__.update(parts)
    return made


def _slope(measure: MeasureLike, moments: ClusterMoments, name: str) -> float:
    """Return the derivative of a measure by a sum of squares."""
    at = getattr(moments, name)
    ends = [
        float(measure.apply(_replace_derived(moments, **{name: at * (1 + h)})))
        for h in (STEP, -STEP)
    ]
    step = 2 * STEP * float(at)
    return (ends[0] - ends[1]) / step if step > 0 else 0.0


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

    def influence(self, measure: MeasureLike, whole: Any = None) -> None:
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


def influence(
    moved: FloatArray, mean: float | None = None, number: float | None = None
) -> Influence:
    """Return the influence values from derivatives by the proportion of each point.

    For a batch of the points, ``mean`` and ``number`` are the mean derivative and the number of all
    points.
    """
    n = len(moved) if number is None else number
    centred = moved - (moved.mean() if mean is None else mean)
    return Influence(centred / n * math.sqrt(n / max(n - 1, 1)), VarianceEstimator(), "Student t")


def estimate_geometry(
    measure: MeasureLike,
    statistic: Any,
    n: int,
    settings: Settings,
    of: Any,
    sampled_from: int | None = None,
) -> PointEstimate:
    """Return the point estimate of a measure of cluster geometry that has an influence.

    ``sampled_from`` is the number of all points, if these are a sample of them.
    """
    value, definition = float(measure.apply(statistic)), measure.definition
    gone = of if hasattr(of, "differing") else None

    def error() -> StandardError | Interval:
        found = of.influence(measure)
        if found is None:
            return intervals.no_interval("none", "undefined_value")
        return StandardError(found.error.se, "Student t", float(n - 1))

    def limits(level: float) -> Interval:
        made = _limits(value, error, n, definition.range, level)
        if sampled_from is None:
            return made
        return replace(made, method=f"{made.method}, of {n:,} sampled points")

    return PointEstimate(
        value=value,
        kind="measure of distances",
        settings=settings,
        n=n,
        n_total=sampled_from,
        unit="points",
        bounds=definition.range,
        undefined=undefined_reasons(measure, statistic, n),
        higher_is_better=definition.higher_is_better,
        sizes=lambda: (float(n),),
        skewness_size=lambda: _skewness(of, measure),
        joint_distribution=_PairedClusterings(of.cluster, getattr(of, "point_counts", None), gone),
        influence=lambda: of.influence(measure),
        error=error,
        methods={"Student t": limits},
    )


@dataclass(frozen=True, eq=False)
class _PairedClusterings:
    """Joint distribution of two clusterings of the same points.

    Their difference depends on the points that are in different clusters.
    """

    cluster: IntArray
    #: How many points each of these stands for.
    point_counts: FloatArray | None = None
    #: Points that are gone, of which it is known how differences are spread.
    gone: Any = None

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two point estimates on the same points."""
        assert isinstance(second.joint_distribution, _PairedClusterings)
        moved, other = (
            lazy_difference(first.influence, second.influence),
            second.joint_distribution.cluster,
        )
        gone, theirs = self.gone, second.joint_distribution.gone

        def error() -> StandardError | Interval:
            found = None if moved is None else moved()
            if found is None:
                return intervals.no_interval("none", "undefined_value")
            return StandardError(found.error.se, "Student t", float(max(first.n - 1, 0)))

        return first.difference(
            second,
            influence=moved,
            error=error,
            n_changed=lambda: n_mismatched(self.cluster, other, self.point_counts),
            unit_spread=None if gone is None else lambda: gone.differing(theirs),
        )


def n_mismatched(first: IntArray, second: IntArray, held: FloatArray | None = None) -> int:
    """Count the points that the two clusterings assign differently.

    In each direction, the points count that are not in the same cluster as most of those with which
    they share a cluster in the other clustering; the larger of the two counts is returned. Each
    entry stands for ``held`` identical points.
    """
    number = int(second.max(initial=0)) + 1
    pairs, inverse = np.unique(first * number + second, return_inverse=True)
    points = np.bincount(inverse, held, len(pairs))
    kept = []
    for cluster in np.divmod(pairs, number):
        most = np.zeros(int(cluster.max(initial=0)) + 1, dtype=points.dtype)
        np.maximum.at(most, cluster, points)
        kept.append(int(most.sum()))
    return (len(first) if held is None else int(held.sum())) - min(kept)


def _skewness(of: Any, measure: MeasureLike) -> float:
    """Return the absolute skewness of the influence values, or the one that was accumulated."""
    if hasattr(of, "skewness"):
        return float(of.skewness(measure))
    found = of.influence(measure)
    return 0.0 if found is None else abs(intervals.skewness(found.column))


def _limits(
    value: float,
    error: Callable[[], StandardError | Interval],
    n: int,
    bounds: tuple[float, float],
    level: float,
) -> Interval:
    """Return Student's t interval on Fisher's z scale; on the log scale without an upper bound."""
    found = error()
    if isinstance(found, Interval):
        return found
    if not found.se > 0:
        return intervals.no_interval(found.name, "no_spread")
    made = intervals.student(value, found.se, n, level)
    bounded = math.isfinite(bounds[1])
    scale, name = SCALES["fisher" if bounded else "log"], "Fisher's z" if bounded else "logarithms"
    if made.reason or not scale.is_defined(value):
        return made
    limits = scale.symmetric_limits(value, made.high - value)
    return Interval(*limits, f"Student t, of {name}", se=found.se)
