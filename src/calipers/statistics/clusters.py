"""Clusters of points: their moments, their separation and their diameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.statistics.base import FloatArray, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class ClusterMoments(Statistic):
    """Sizes, means and dispersions of k clusters.

    They are merged as those of Chan, Golub and LeVeque (1983).

    Parameters
    ----------
    size : ndarray of shape (k,)
        Number of points of each cluster.
    mean : ndarray of shape (k, d)
        Mean of the points of each.
    squares : ndarray of shape (k,)
        Sum of the squared distances of its points to the mean.
    centers : ndarray of shape (k, d)
        Points to which ``summed_distances`` has the distances; the means of all points wherever
        that is used.
    summed_distances : ndarray of shape (k,)
        Sum of the distances of its points to ``centers``.

    Examples
    --------
    >>> points, cluster = np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1])
    >>> moments = ClusterMoments.from_rows(points, cluster, 2)
    >>> moments.mean.tolist(), moments.squares.tolist(), moments.summed_distances.tolist()
    ([[1.0], [5.0]], [2.0, 0.0], [2.0, 0.0])
    """

    size: FloatArray
    mean: FloatArray
    squares: FloatArray
    centers: FloatArray
    summed_distances: FloatArray

    @classmethod
    def from_rows(
        cls,
        points: FloatArray,
        cluster: npt.NDArray[np.integer[Any]],
        n_clusters: int,
        centers: FloatArray | None = None,
    ) -> Self:
        """Compute the moments of points and their clusters.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            Coordinates of the points.
        cluster : ndarray of shape (n,)
            Cluster of each point, as an index.
        n_clusters : int
            Number of clusters k.
        centers : ndarray of shape (k, d), optional
            Points to which distances are summed. By default they are the means of these points.

        Returns
        -------
        ClusterMoments
            Statistic of the points.
        """
        size = np.bincount(cluster, minlength=n_clusters).astype(np.float64)
        mean = cluster_sums(points, cluster, n_clusters) / np.maximum(size, 1.0)[:, None]
        deviations = points - mean[cluster]
        # The sums of deviations are the rounding errors of the means.
        mean = mean + cluster_sums(deviations, cluster, n_clusters) / np.maximum(size, 1.0)[:, None]
        deviations = points - mean[cluster]
        squares = np.bincount(cluster, np.einsum("ij,ij->i", deviations, deviations), n_clusters)
        centers = mean if centers is None else centers
        deviations = points - centers[cluster]
        summed_distances = np.bincount(
            cluster, np.sqrt(np.einsum("ij,ij->i", deviations, deviations)), n_clusters
        )
        return cls(
            size, mean, squares.astype(np.float64), centers, summed_distances.astype(np.float64)
        )

    def __add__(self, other: Self) -> Self:
        if not np.array_equal(self.centers, other.centers):
            raise ValueError("the distances are to different centers")
        size = self.size + other.size
        proportion = (other.size / np.maximum(size, 1.0))[:, None]
        mean_difference = other.mean - self.mean
        between_squares = np.square(mean_difference).sum(axis=1) * self.size * proportion[:, 0]
        return type(self)(
            size,
            self.mean + proportion * mean_difference,
            self.squares + other.squares + between_squares,
            self.centers,
            self.summed_distances + other.summed_distances,
        )

    @cached_property
    def total(self) -> FloatArray:
        """Total number of points."""
        return np.asarray(self.size.sum())

    @cached_property
    def n_clusters(self) -> FloatArray:
        """Count of non-empty clusters."""
        return np.asarray(np.count_nonzero(self.size), np.float64)

    @cached_property
    def within_sum_squares(self) -> FloatArray:
        """Within-cluster sum of squares: squared distances to the means of clusters."""
        return np.asarray(self.squares.sum())

    @cached_property
    def between_sum_squares(self) -> FloatArray:
        """Between-cluster sum of squares: squared distances of the means to the overall mean.

        Each is multiplied by the number of points of the cluster.
        """
        overall_mean = (self.size @ self.mean) / max(float(self.total), 1.0)
        return np.asarray(self.size @ np.square(self.mean - overall_mean).sum(axis=1))

    @cached_property
    def centroid_distances(self) -> FloatArray:
        """Distances between the means of clusters (k, k)."""
        squared_distances = [
            np.square(mean - self.mean).sum(axis=1) for mean in self.mean
        ]  # never (k, k, d)
        return np.asarray(np.sqrt(np.stack(squared_distances)))

    @cached_property
    def min_center_distance(self) -> FloatArray:
        """Smallest distance between the means of two clusters; infinite for one."""
        return np.asarray(self.center_pair_distances.min(initial=np.inf))

    @cached_property
    def center_pair_distances(self) -> FloatArray:
        """Distances between the means of different clusters (k, k); infinite elsewhere."""
        nonempty = self.size > 0
        is_pair = nonempty[:, None] & nonempty & ~np.eye(len(nonempty), dtype=bool)
        return np.where(is_pair, self.centroid_distances, np.inf)

    @cached_property
    def max_overlaps(self) -> FloatArray:
        """Largest overlap of each cluster with another one (k,)."""
        return np.asarray(self.davies_bouldin_ratios.max(axis=-1))

    @cached_property
    def davies_bouldin_ratios(self) -> FloatArray:
        """Overlap of each pair of clusters, as in the Davies-Bouldin index (k, k).

        It is the sum of the mean distances to both centers, divided by the distance of the means; 0
        of a cluster with itself or with an empty one.
        """
        mean_distances = self.summed_distances / np.maximum(self.size, 1.0)
        valid_mask = (
            (self.size > 0)[:, None] & (self.size > 0) & ~np.eye(len(self.size), dtype=bool)
        )
        distances = self.centroid_distances
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (mean_distances[:, None] + mean_distances) / distances
        return np.where(valid_mask, np.where(distances > 0, ratio, np.inf), 0.0)


def cluster_sums(
    points: FloatArray, cluster: npt.NDArray[np.integer[Any]], n_clusters: int
) -> FloatArray:
    """Sum the points of each cluster (k, d)."""
    columns = [np.bincount(cluster, column, n_clusters) for column in points.T]
    return np.stack(columns, axis=1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ClusterSeparation(Statistic):
    """Smallest distances between clusters, and the diameters of clusters.

    Parameters
    ----------
    min_distances : ndarray of shape (k, k)
        Smallest distance of points of each pair of clusters; infinite if there are none, and of a
        cluster with itself.
    widest : ndarray of shape (k,)
        Largest distance of two points of each cluster.

    Examples
    --------
    >>> pairs = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2.0, 5.0, 1.0])
    >>> separation = ClusterSeparation.from_pairs(*pairs, 2)
    >>> float(separation.min_distances.min()), separation.widest.tolist()
    (5.0, [2.0, 1.0])
    """

    min_distances: FloatArray
    widest: FloatArray

    @classmethod
    def from_pairs(
        cls,
        first: npt.NDArray[np.integer[Any]],
        second: npt.NDArray[np.integer[Any]],
        distance: FloatArray,
        n_clusters: int,
    ) -> Self:
        """Compute the separation from pairs of points.

        Parameters
        ----------
        first, second : ndarray of shape (n,)
            Clusters of the two points of each pair, as indices.
        distance : ndarray of shape (n,)
            Distance of the two points.
        n_clusters : int
            Number of clusters k.

        Returns
        -------
        ClusterSeparation
            Statistic of the pairs.
        """
        min_distances, diameters = np.full((n_clusters, n_clusters), np.inf), np.zeros(n_clusters)
        same = first == second
        np.minimum.at(min_distances, (first[~same], second[~same]), distance[~same])
        np.maximum.at(diameters, first[same], distance[same])
        return cls(np.minimum(min_distances, min_distances.T), diameters)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            np.minimum(self.min_distances, other.min_distances),
            np.maximum(self.widest, other.widest),
        )


@dataclass(frozen=True, eq=False)
class ClusterDensities(Statistic):
    """Sparseness of clusters, and their separation from the nearest other cluster.

    Parameters
    ----------
    total : ndarray
        Number of points, with those of noise.
    size : ndarray of shape (k,)
        Number of points of each cluster; 0 for one whose points are noise.
    sparseness : ndarray of shape (k,)
        Longest edge between inner points of the spanning tree of each cluster.
    separation : ndarray of shape (k,)
        Shortest edge from an inner point of each cluster to one of another cluster; infinite if
        there is none.

    Examples
    --------
    >>> edges = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2.0, 5.0, 1.0])
    >>> densities = ClusterDensities.from_edges(*edges, 2)
    >>> densities.sparseness.tolist(), densities.separation.tolist()
    ([2.0, 1.0], [5.0, 5.0])
    """

    total: FloatArray
    size: FloatArray
    sparseness: FloatArray
    separation: FloatArray

    @classmethod
    def from_edges(
        cls,
        first: npt.NDArray[np.integer[Any]],
        second: npt.NDArray[np.integer[Any]],
        length: FloatArray,
        n_clusters: int,
    ) -> Self:
        """Compute the densities from edges, each of which counts as a point of its first cluster.

        Parameters
        ----------
        first, second : ndarray of shape (n,)
            Clusters of the two points of each edge, as indices.
        length : ndarray of shape (n,)
            Length of the edge.
        n_clusters : int
            Number of clusters k.

        Returns
        -------
        ClusterDensities
            Statistic of the edges.
        """
        sparseness, separation = np.zeros(n_clusters), np.full(n_clusters, np.inf)
        same = first == second
        np.maximum.at(sparseness, first[same], length[same])
        for end in (first, second):
            np.minimum.at(separation, end[~same], length[~same])
        size = np.bincount(first, minlength=n_clusters).astype(np.float64)
        return cls(np.asarray(size.sum()), size, sparseness, separation)

    @property
    def n_clusters(self) -> FloatArray:
        """Number of clusters that are not noise."""
        return np.asarray((self.size > 0).sum(axis=-1))

    def __add__(self, other: Self) -> Self:
        return type(self)(
            np.asarray(self.total + other.total),
            self.size + other.size,
            np.maximum(self.sparseness, other.sparseness),
            np.minimum(self.separation, other.separation),
        )
