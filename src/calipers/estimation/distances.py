"""Sums and extremes of distances between points and clusters.

They are computed without holding the distances of all pairs of points in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, IntArray
from calipers.statistics.clusters import cluster_sums

#: Number of distances that are read at a time.
_MAX_BATCH_ELEMENTS = 4_000_000


def point_distances(points: FloatArray, others: FloatArray, metric: str) -> FloatArray:
    """Return the distance of each of some points to each of some others.

    >>> point_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]), "euclidean")
    array([[5., 1.]])
    """
    if metric == "cosine":
        lengths = [np.linalg.norm(x, axis=1, keepdims=True) for x in (points, others)]
        unit_points, unit_others = points / lengths[0], others / lengths[1]
        difference = unit_points[:, None] - unit_others
        return np.asarray(np.square(difference).sum(axis=-1) / 2)
    difference = points[:, None] - others
    if metric == "manhattan":
        return np.asarray(np.abs(difference).sum(axis=-1))
    squares = np.einsum("ijk,ijk->ij", difference, difference)
    return np.asarray(squares if metric == "sqeuclidean" else np.sqrt(squares))


@dataclass(frozen=True, eq=False)
class PointDistances:
    """Distances between points by one of the metrics of the core."""

    points: FloatArray
    metric: str
    n_clusters: int

    def cluster_distance_sums(
        self, cluster: IntArray, indices: IntArray | None = None
    ) -> FloatArray:
        """Return the sum of distances to every cluster, for all points or those in ``indices``."""
        if self.metric == "sqeuclidean":
            selected = self.points if indices is None else self.points[indices]
            return self._squared_distances(selected, self.points, cluster, None, self.n_clusters)
        from calipers import _core

        metric: Any = self.metric
        k = self.n_clusters
        return np.asarray(_core.distance_sums(self.points, cluster, k, metric, None, indices))

    def weighted_distance_sums(
        self, rows: IntArray, others: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Return the weighted sum of the distances of each of these points from some others."""
        code = np.zeros(len(others), np.int64)
        if self.metric == "sqeuclidean":
            return self._squared_distances(self.points[rows], self.points[others], code, weight, 1)[
                :, 0
            ]
        from calipers import _core

        metric: Any = self.metric
        point_indices = np.concatenate([others, rows])
        weights = np.concatenate([weight, np.zeros(len(rows))])
        row_indices, codes = (
            np.arange(len(others), len(point_indices)),
            np.zeros(len(point_indices), np.int64),
        )
        sums = _core.distance_sums(
            self.points[point_indices], codes, 1, metric, weights, row_indices
        )
        return np.asarray(sums)[:, 0]

    def extremes(self, cluster: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest distances between clusters, and the largest within each."""
        from calipers import _core

        metric: Any = self.metric
        return _core.dunn_distances(self.points, cluster, self.n_clusters, metric)

    @staticmethod
    def _squared_distances(
        targets: FloatArray,
        points: FloatArray,
        code: IntArray,
        weight: FloatArray | None,
        n_codes: int,
    ) -> FloatArray:
        """Compute sums of squared distances: Σw‖x − y‖² = W‖x − m‖² + Σw‖y − m‖².

        m is the weighted mean of the y.
        """
        w = np.ones(len(code)) if weight is None else weight
        total, center = np.bincount(code, w, n_codes), points.mean(axis=0)
        centered = points - center
        mean = cluster_sums(centered * w[:, None], code, n_codes)
        mean /= np.where(total > 0, total, 1.0)[:, None]
        within_squares = np.bincount(
            code, w * np.square(centered - mean[code]).sum(axis=1), n_codes
        )
        out = np.empty((len(targets), n_codes))
        targets = centered if targets is points else targets - center
        for j in range(n_codes):
            out[:, j] = total[j] * np.square(targets - mean[j]).sum(axis=1) + within_squares[j]
        return out


@dataclass(frozen=True, eq=False)
class DistanceMatrix:
    """Precomputed distances, of which some rows are read at a time."""

    rows: Any
    n_clusters: int

    def cluster_distance_sums(
        self, cluster: IntArray, indices: IntArray | None = None
    ) -> FloatArray:
        """Return the sum of distances to every cluster, for all points or those in ``indices``."""
        from calipers import _core

        n = len(cluster) if indices is None else len(indices)
        step, out = max(1, _MAX_BATCH_ELEMENTS // len(cluster)), np.empty((n, self.n_clusters))
        for begin in range(0, n, step):
            end = begin + step
            rows = self.rows[begin:end] if indices is None else self.rows[indices[begin:end]]
            block = np.ascontiguousarray(rows, np.float64)
            out[begin:end], _ = _core.matrix_sums(block, cluster, self.n_clusters)
        return out

    def weighted_distance_sums(
        self, rows: IntArray, others: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Return the weighted sum of the distances of each of these points from some others."""
        step, out = max(1, _MAX_BATCH_ELEMENTS // len(self.rows)), np.zeros(len(rows))
        for begin in range(0, len(others), step):
            block = np.asarray(self.rows[others[begin : begin + step]], np.float64)
            out += weight[begin : begin + step] @ block[:, rows]
        return out

    def extremes(self, cluster: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest distances between clusters, and the largest within each."""
        from calipers import _core

        n, k = len(cluster), self.n_clusters
        min_distances, diameters = np.full((k, k), np.inf), np.zeros(k)
        step = max(1, _MAX_BATCH_ELEMENTS // n)
        for begin in range(0, n, step):
            block = np.ascontiguousarray(self.rows[begin : begin + step], np.float64)
            block_minima, block_diameters, _ = _core.dunn_matrix(block, cluster, k, begin)
            min_distances, diameters = (
                np.minimum(min_distances, block_minima),
                np.maximum(diameters, block_diameters),
            )
        return min_distances, diameters
