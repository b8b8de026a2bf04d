"""Sums of distances from points to those of clusters, and their extremes, without ever holding the
distances of all points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.statistics import FloatArray, IntArray
from calipers.statistics.clusters import sums_of

#: So many distances are read at a time.
_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Points:
    """Distances of points by one of the metrics of the core."""

    points: FloatArray
    metric: str
    clusters: int

    def sums(self, cluster: IntArray, weight: FloatArray | None = None) -> FloatArray:
        """From each point to those of each cluster."""
        if self.metric == "sqeuclidean":
            return self._squared(cluster, weight)
        from calipers import _core

        metric: Any = self.metric
        return np.asarray(_core.distance_sums(self.points, cluster, self.clusters, metric, weight))

    def extremes(self, cluster: IntArray) -> tuple[FloatArray, FloatArray]:
        """The smallest between any two clusters, and the largest within each."""
        from calipers import _core

        metric: Any = self.metric
        return _core.dunn_distances(self.points, cluster, self.clusters, metric)

    def _squared(self, cluster: IntArray, weight: FloatArray | None) -> FloatArray:
        """Σw‖x − y‖² = W‖x − m‖² + Σw‖y − m‖², with the mean m of the y."""
        w = np.ones(len(cluster)) if weight is None else weight
        total = np.bincount(cluster, w, self.clusters)
        centred = self.points - self.points.mean(axis=0)
        mean = sums_of(centred * w[:, None], cluster, self.clusters)
        mean /= np.where(total > 0, total, 1.0)[:, None]
        own = np.bincount(
            cluster, w * np.square(centred - mean[cluster]).sum(axis=1), self.clusters
        )
        out = np.empty((len(centred), self.clusters))
        for j in range(self.clusters):
            out[:, j] = total[j] * np.square(centred - mean[j]).sum(axis=1) + own[j]
        return out


@dataclass(frozen=True, eq=False)
class Matrix:
    """Distances that are given, of which some rows are read at a time."""

    rows: Any
    clusters: int

    def sums(self, cluster: IntArray, weight: FloatArray | None = None) -> FloatArray:
        """From each point to those of each cluster."""
        from calipers import _core

        n = len(cluster)
        step, out = max(1, _AT_ONCE // n), np.empty((n, self.clusters))
        for begin in range(0, n, step):
            some = np.ascontiguousarray(self.rows[begin : begin + step], np.float64)
            found, _ = _core.matrix_sums(some, cluster, self.clusters, weight, begin)
            out[begin : begin + step] = found
        return out

    def extremes(self, cluster: IntArray) -> tuple[FloatArray, FloatArray]:
        """The smallest between any two clusters, and the largest within each."""
        from calipers import _core

        n, k = len(cluster), self.clusters
        apart, widest = np.full((k, k), np.inf), np.zeros(k)
        step = max(1, _AT_ONCE // n)
        for begin in range(0, n, step):
            some = np.ascontiguousarray(self.rows[begin : begin + step], np.float64)
            near, wide, _ = _core.dunn_matrix(some, cluster, k, begin)
            apart, widest = np.minimum(apart, near), np.maximum(widest, wide)
        return apart, widest
