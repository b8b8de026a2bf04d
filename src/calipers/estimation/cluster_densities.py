"""Density-based validity of clusters: their spanning trees, and what is between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.distances import point_distances
from calipers.estimation.undefined import undefined_reasons
from calipers.inference.point_estimate import PointEstimate
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ClusterDensities, FloatArray, IntArray

if TYPE_CHECKING:
    from calipers.inference.settings import MeasureLike, Settings

#: Number of distances that are computed together.
_BLOCK_DISTANCES = 1 << 20


@dataclass(frozen=True, eq=False)
class DensitySeparations:
    """Sparseness of clusters and separation from the others, by mutual reachability.

    ``noise`` is the index of the cluster whose points are noise, if there is one. A cluster of a
    single point is noise as well, since it has no density.
    """

    points: FloatArray
    cluster: IntArray
    n_clusters: int
    metric: str
    noise: int | None
    settings: Settings

    @cached_property
    def statistic(self) -> ClusterDensities:
        """Sparseness and separation of each cluster."""
        size = np.bincount(self.cluster, minlength=self.n_clusters).astype(np.float64)
        size[size == 1] = 0.0
        if self.noise is not None:
            size[self.noise] = 0.0
        sparseness = np.zeros(self.n_clusters)
        separation = np.full(self.n_clusters, np.inf)
        trees: dict[int, tuple[FloatArray, FloatArray]] = {}
        for index in np.flatnonzero(size):
            points = self.points[self.cluster == index]
            # Ties of distances are broken by coordinates, so that the order of rows has no effect.
            points = points[np.lexsort(points.T[::-1])]
            cores = _core_distances(points, self.metric)
            sparseness[index], inner = _spanning_tree(points, cores, self.metric)
            trees[int(index)] = points[inner], cores[inner]
        indices = list(trees)
        for position, first in enumerate(indices):
            for second in indices[position + 1 :]:
                between = _separation(*trees[first], *trees[second], self.metric)
                pair = [first, second]
                separation[pair] = np.minimum(separation[pair], between)
        return ClusterDensities(np.float64(len(self.points)), size, sparseness, separation)

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no point has a value of its own."""

    def influence(self, measure: MeasureLike, total: object = None) -> None:
        """Return None, as a value depends on single edges of the trees."""

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate, which has no interval."""
        n, definition = len(self.points), measure.definition
        return PointEstimate(
            value=float(measure.apply(self.statistic)),
            kind="edges of spanning trees",
            settings=self.settings,
            n=n,
            unit="points",
            bounds=definition.range,
            undefined=undefined_reasons(measure, self.statistic, n),
            higher_is_better=definition.higher_is_better,
        )


def _blocks(points: FloatArray, n_others: int) -> Iterator[slice]:
    step = max(1, _BLOCK_DISTANCES // max(1, n_others * points.shape[1]))
    for start in range(0, len(points), step):
        yield slice(start, start + step)


def _core_distances(points: FloatArray, metric: str) -> FloatArray:
    """Return the all-points core distance of each point of a cluster.

    It is the power mean with exponent −d of the distances to the other points, in d dimensions; 0
    if another point is at the same place.
    """
    n, dimension = points.shape
    cores = np.empty(n)
    with np.errstate(divide="ignore", invalid="ignore"):  # of points at the same place
        for block in _blocks(points, n):
            logs = np.log(point_distances(points[block], points, metric))
            rows = np.arange(n)[block]
            logs[np.arange(len(rows)), rows] = np.inf  # the point itself does not count
            nearest = logs.min(axis=1)
            scaled = np.where(
                np.isfinite(nearest)[:, None], dimension * (nearest[:, None] - logs), -np.inf
            )
            mean = np.exp(scaled).sum(axis=1) / (n - 1)
            cores[block] = np.where(
                np.isfinite(nearest), np.exp(nearest - np.log(mean) / dimension), 0.0
            )
    return cores


def _spanning_tree(points: FloatArray, cores: FloatArray, metric: str) -> tuple[float, IntArray]:
    """Return the longest inner edge of a minimum spanning tree, and its inner points.

    Edges have the mutual reachability as their length; of equal ones that between the nearer points
    is chosen. Inner points have several edges, and inner edges connect two of them. If there are
    none, all points or edges count as inner.
    """
    n = len(points)
    best, raw = np.full(n, np.inf), np.full(n, np.inf)
    parent, outside = np.zeros(n, np.intp), np.ones(n, bool)
    edges, lengths = np.empty((n - 1, 2), np.intp), np.empty(n - 1)
    current = 0
    for step in range(n - 1):
        outside[current] = False
        distance = point_distances(points[current : current + 1], points, metric)[0]
        reach = np.maximum(np.maximum(distance, cores), cores[current])
        closer = outside & ((reach < best) | ((reach == best) & (distance < raw)))
        best[closer], raw[closer], parent[closer] = reach[closer], distance[closer], current
        candidates = np.flatnonzero(outside)
        nearest = candidates[best[candidates] == best[candidates].min()]
        current = int(nearest[raw[nearest].argmin()])
        edges[step], lengths[step] = (parent[current], current), best[current]
    is_inner = np.bincount(edges.ravel(), minlength=n) > 1
    inner_edges = is_inner[edges].all(axis=1)
    inner = np.flatnonzero(is_inner) if is_inner.any() else np.arange(n)
    return float(lengths[inner_edges].max() if inner_edges.any() else lengths.max()), inner


def _separation(
    points: FloatArray, cores: FloatArray, others: FloatArray, other_cores: FloatArray, metric: str
) -> float:
    """Return the smallest mutual reachability of two points of different clusters."""
    smallest = np.inf
    for block in _blocks(points, len(others)):
        distance = point_distances(points[block], others, metric)
        reach = np.maximum(np.maximum(distance, cores[block, None]), other_cores)
        smallest = min(smallest, float(reach.min()))
    return float(smallest)
