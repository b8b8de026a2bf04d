"""Clusters of points: their moments, and the nearest and farthest points of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClusterMoments(Statistic):
    """Of each of k clusters the number of points, their mean, and the sum of squared distances to
    it, which merge as those of Chan, Golub and LeVeque (1983); and the sum of distances to given
    ``centres``, which are those of all points wherever that sum is read.

    >>> points, cluster = np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1])
    >>> moments = ClusterMoments.from_rows(points, cluster, 2)
    >>> moments.mean.tolist(), moments.squares.tolist(), moments.apart.tolist()
    ([[1.0], [5.0]], [2.0, 0.0], [2.0, 0.0])
    """

    size: FloatArray
    mean: FloatArray
    squares: FloatArray
    centres: FloatArray
    apart: FloatArray

    @classmethod
    def from_rows(
        cls,
        points: FloatArray,
        cluster: npt.NDArray[np.integer[Any]],
        clusters: int,
        centres: FloatArray | None = None,
    ) -> Self:
        """Of points (n, d) and the cluster of each as a position; ``centres`` are their means
        unless given."""
        size = np.bincount(cluster, minlength=clusters).astype(np.float64)
        mean = cluster_sums(points, cluster, clusters) / np.maximum(size, 1.0)[:, None]
        off = points - mean[cluster]
        # The sums of what is off are what rounding left of the means.
        mean = mean + cluster_sums(off, cluster, clusters) / np.maximum(size, 1.0)[:, None]
        off = points - mean[cluster]
        squares = np.bincount(cluster, np.einsum("ij,ij->i", off, off), clusters)
        centres = mean if centres is None else centres
        off = points - centres[cluster]
        apart = np.bincount(cluster, np.sqrt(np.einsum("ij,ij->i", off, off)), clusters)
        return cls(size, mean, squares.astype(np.float64), centres, apart.astype(np.float64))

    def __add__(self, other: Self) -> Self:
        if not np.array_equal(self.centres, other.centres):
            raise ValueError("the distances are to different centres")
        size = self.size + other.size
        share = (other.size / np.maximum(size, 1.0))[:, None]
        step = other.mean - self.mean
        moved = np.square(step).sum(axis=1) * self.size * share[:, 0]
        return type(self)(
            size,
            self.mean + share * step,
            self.squares + other.squares + moved,
            self.centres,
            self.apart + other.apart,
        )

    @cached_property
    def total(self) -> FloatArray:
        """All points."""
        return np.asarray(self.size.sum())

    @cached_property
    def n_clusters(self) -> FloatArray:
        """The clusters that have points."""
        return np.asarray(np.count_nonzero(self.size), np.float64)

    @cached_property
    def within_sum_squares(self) -> FloatArray:
        """The sum of squared distances to the means of clusters."""
        return np.asarray(self.squares.sum())

    @cached_property
    def between(self) -> FloatArray:
        """That of the means to the mean of all, each as often as its cluster has points."""
        middle = (self.size @ self.mean) / max(float(self.total), 1.0)
        return np.asarray(self.size @ np.square(self.mean - middle).sum(axis=1))

    @cached_property
    def gaps(self) -> FloatArray:
        """The distance of any two means (k, k)."""
        each = [np.square(one - self.mean).sum(axis=1) for one in self.mean]  # never (k, k, d)
        return np.asarray(np.sqrt(np.stack(each)))

    @cached_property
    def worst(self) -> FloatArray:
        """Of each cluster the largest of its overlaps with another (k,)."""
        return np.asarray(self.overlaps.max(axis=-1))

    @cached_property
    def overlaps(self) -> FloatArray:
        """Of any two clusters the sum of mean distances to their centres over the distance of
        these (k, k); 0 of one and itself, and where one has no points."""
        spread = self.apart / np.maximum(self.size, 1.0)
        there = (self.size > 0)[:, None] & (self.size > 0) & ~np.eye(len(self.size), dtype=bool)
        far = self.gaps
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (spread[:, None] + spread) / far
        return np.where(there, np.where(far > 0, ratio, np.inf), 0.0)


def cluster_sums(
    points: FloatArray, cluster: npt.NDArray[np.integer[Any]], clusters: int
) -> FloatArray:
    """The sum of the points of each cluster (k, d)."""
    columns = [np.bincount(cluster, column, clusters) for column in points.T]
    return np.stack(columns, axis=1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ClusterSeparation(Statistic):
    """The smallest distance of points of any two of k clusters, infinite where there is none and of
    a cluster and itself, and the largest of two points of each; built from pairs of points.

    >>> pairs = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2.0, 5.0, 1.0])
    >>> found = ClusterSeparation.from_pairs(*pairs, 2)
    >>> float(found.apart.min()), found.widest.tolist()
    (5.0, [2.0, 1.0])
    """

    apart: FloatArray
    widest: FloatArray

    @classmethod
    def from_pairs(
        cls,
        first: npt.NDArray[np.integer[Any]],
        second: npt.NDArray[np.integer[Any]],
        distance: FloatArray,
        clusters: int,
    ) -> Self:
        """Of pairs of points, the cluster of either and their distance."""
        apart, widest = np.full((clusters, clusters), np.inf), np.zeros(clusters)
        same = first == second
        np.minimum.at(apart, (first[~same], second[~same]), distance[~same])
        np.maximum.at(widest, first[same], distance[same])
        return cls(np.minimum(apart, apart.T), widest)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            np.minimum(self.apart, other.apart), np.maximum(self.widest, other.widest)
        )
