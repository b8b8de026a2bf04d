"""Internal cluster indices, from distances between points, and their known biases."""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.definition import Measure
from calipers.measures.registration import measure
from calipers.statistics import (
    ClusterDensities,
    ClusterMoments,
    ClusterSeparation,
    FloatArray,
    Moments,
)

#: By families and names.
_BIAS_DESCRIPTIONS = {
    "silhouettes": "few, well-separated clusters",
    "Calinski-Harabasz": "spherical clusters of similar size",
    "Davies-Bouldin": "clusters without a close neighbor, of any size",
    "Xie-Beni": "spherical clusters, the nearest two of which are far apart",
    "Dunn": "a large minimum distance between clusters",
    "DBCV": "clusters of any shape with sparse regions between them",
}


def bias_description(measure: Measure) -> str:
    """Return a short description of what an index favors; empty if none is known."""
    definition = measure.definition
    return _BIAS_DESCRIPTIONS.get(definition.name, _BIAS_DESCRIPTIONS.get(definition.family, ""))


def silhouettes(own_distance: FloatArray, nearest_distance: FloatArray, **_: object) -> FloatArray:
    """Compute silhouettes from the distances to its own cluster and to the nearest other one.

    The distance to the own cluster is NaN if it has no other point; the silhouette is then 0.
    """
    max_distance = np.maximum(own_distance, nearest_distance)
    value = (nearest_distance - own_distance) / np.where(max_distance > 0, max_distance, 1.0)
    return np.where(np.isnan(own_distance), 0.0, value)


silhouette = partial(
    measure,
    family="silhouettes",
    statistic=Moments,
    row_formula=silhouettes,
    higher_is_better=True,
    perfect=1.0,
    range=(-1, 1),
    undefined={"no_rows": lambda m, _: m.weight == 0, "one_cluster": lambda m, _: np.isnan(m.mean)},
)


@silhouette("silhouette", aliases=("silhouette_score",), reference="Rousseeuw (1987)")
def mean_silhouette(m: Moments, to: str = "points", exponent: int = 1) -> FloatArray:
    """Silhouette: the mean of (b − a)/max(a, b) over all points.

    For each point, a and b are the mean distances to the other points of its own cluster, and to
    the points of the nearest other cluster. The silhouette of a singleton is 0. The point itself
    does not count in a: for a cluster of n points it is a sum over n − 1, as in scikit-learn. Texts
    that divide by n, with the point's distance of 0 to itself in the sum, have a smaller a, (n −
    1)/n of this one, and so larger silhouettes, most of all in small clusters. It ranges from −1 to
    1 and is undefined without points, or for a single cluster.
    """
    return np.asarray(m.mean)


@silhouette("squared-silhouette", reference="Rousseeuw (1987)")
def squared_silhouette(m: Moments, to: str = "points", exponent: int = 2) -> FloatArray:
    """Silhouette with squared Euclidean distances.

    It is computed in time linear in the number of points. It ranges from −1 to 1 and is undefined
    without points, or for a single cluster.
    """
    return np.asarray(m.mean)


@silhouette("simplified-silhouette", reference="Vendramin, Campello and Hruschka (2010)")
def simplified_silhouette(m: Moments, to: str = "centers", exponent: int = 1) -> FloatArray:
    """Simplified silhouette: the silhouette with distances to centers instead of points.

    For each point, a and b are the Euclidean distances to the center of its own cluster and to the
    nearest other center. It ranges from −1 to 1 and is undefined without points, or for a single
    cluster.
    """
    return np.asarray(m.mean)


dispersion = partial(measure, family="dispersion", statistic=ClusterMoments, range=(0, inf))

_NO_ROWS = {"no_rows": lambda m, _: m.total == 0}
_ONE_CLUSTER = {"one_cluster": lambda m, _: (m.total > 0) & (m.n_clusters < 2)} | _NO_ROWS


@dispersion(
    "WCSS",
    aliases=("inertia", "within-cluster-sum-of-squares"),
    higher_is_better=False,
    interval="total",
    undefined=_NO_ROWS,
)
def within_sum_squares(m: ClusterMoments) -> FloatArray:
    """Within-cluster sum of squares W (inertia).

    The smallest possible W decreases with the number of clusters. It is nonnegative; it is
    undefined without points.
    """
    return np.where(m.total > 0, m.within_sum_squares, np.nan)


@dispersion(
    "Calinski-Harabasz",
    aliases=("calinski_harabasz_score", "CH", "variance-ratio"),
    higher_is_better=True,
    undefined=_ONE_CLUSTER
    | {"no_spread_within": lambda m, _: (m.n_clusters > 1) & _no_dispersion_mask(m)},
    reference="Caliński and Harabasz (1974)",
)
def calinski_harabasz(m: ClusterMoments) -> FloatArray:
    """Calinski–Harabasz index: B/(k − 1) over W/(n − k), of n points in k clusters.

    B and W are the sums of squares between and within clusters. It is nonnegative; it is undefined
    without points, for a single cluster, or if no cluster has any dispersion.
    """
    value = (
        m.between_sum_squares
        / (m.n_clusters - 1)
        / (m.within_sum_squares / (m.total - m.n_clusters))
    )
    return np.where((m.n_clusters > 1) & ~_no_dispersion_mask(m), value, np.nan)


@dispersion(
    "Davies-Bouldin",
    aliases=("davies_bouldin_score", "DB"),
    higher_is_better=False,
    perfect=0.0,
    undefined=_ONE_CLUSTER
    | {"same_center": lambda m, _: (m.n_clusters > 1) & _same_center_mask(m)},
    reference="Davies and Bouldin (1979)",
)
def davies_bouldin(m: ClusterMoments) -> FloatArray:
    """Davies–Bouldin index: the mean over clusters of the largest (Sᵢ + Sⱼ)/Mᵢⱼ to any other.

    Sᵢ is the mean distance of the points of a cluster to their center, and Mᵢⱼ the distance of two
    centers. It is nonnegative; it is undefined without points, for a single cluster, or if two
    clusters have the same center.
    """
    value = np.where(m.size > 0, m.max_overlaps, 0.0).sum(axis=-1) / m.n_clusters
    return np.where((m.n_clusters > 1) & ~_same_center_mask(m), value, np.nan)


@dispersion(
    "Xie-Beni",
    aliases=("xie_beni_index", "XB"),
    higher_is_better=False,
    perfect=0.0,
    undefined=_ONE_CLUSTER
    | {"same_center": lambda m, _: (m.n_clusters > 1) & (m.min_center_distance == 0)},
    reference="Xie and Beni (1991)",
)
def xie_beni(m: ClusterMoments) -> FloatArray:
    """Xie–Beni index: W/n over the smallest squared distance of two centers.

    W is the within-cluster sum of squares of n points. It is the index for clusters without degrees
    of membership; some programs divide by the smallest distance of two points of different clusters
    instead. It is nonnegative; it is undefined without points, for a single cluster, or if two
    clusters have the same center.
    """
    value = m.within_sum_squares / m.total / np.square(m.min_center_distance)
    return np.where((m.n_clusters > 1) & (m.min_center_distance > 0), value, np.nan)


def _no_dispersion_mask(m: ClusterMoments) -> np.ndarray:
    # Rounding leaves a hair of the spread of all points.
    return np.asarray(
        m.within_sum_squares <= 1e-24 * (m.within_sum_squares + m.between_sum_squares)
    )


def _same_center_mask(m: ClusterMoments) -> np.ndarray:
    return np.asarray(np.isinf(m.davies_bouldin_ratios).any(axis=(-2, -1)))


@measure(
    "Dunn",
    aliases=("dunn_index",),
    family="separations",
    statistic=ClusterSeparation,
    higher_is_better=True,
    range=(0, inf),
    interval="none",
    undefined={
        "one_cluster": lambda s, _: np.isinf(s.min_distances).all(axis=(-2, -1)),
        "zero_diameter": lambda s, _: s.widest.max(axis=-1) == 0,
    },
    reference="Dunn (1974)",
)
def dunn(s: ClusterSeparation) -> FloatArray:
    """Dunn index: the smallest distance between clusters over the largest diameter of a cluster.

    The numerator is the smallest distance of two points of different clusters, and the denominator
    the largest of two points of one cluster. The index depends on two pairs of points only, so its
    sampling distribution cannot be estimated. It is nonnegative; it is undefined for a single
    cluster, or if no cluster has two distinct points.
    """
    min_distance, max_diameter = s.min_distances.min(axis=(-2, -1)), s.widest.max(axis=-1)
    return np.where(
        np.isinf(min_distance) | (max_diameter == 0), np.nan, min_distance / max_diameter
    )


@measure(
    "DBCV",
    aliases=("density_based_clustering_validation",),
    family="densities",
    statistic=ClusterDensities,
    higher_is_better=True,
    perfect=1.0,
    range=(-1, 1),
    interval="none",
    undefined={
        "no_rows": lambda s, _: s.total == 0,
        "one_cluster": lambda s, _: (s.total > 0) & (s.n_clusters < 2),
    },
    reference="Moulavi, Jaskowiak, Campello, Zimek and Sander 2014",
)
def density_based_validity(s: ClusterDensities) -> FloatArray:
    """Density-based validity: Σ(nᵢ/n)·(Sᵢ − Dᵢ)/max(Sᵢ, Dᵢ) over the clusters, of any shape.

    Dᵢ, the sparseness of a cluster of nᵢ points, is the longest edge between inner points of its
    minimum spanning tree, and Sᵢ the shortest edge from these to inner points of another cluster;
    inner points have several edges. The length of an edge is the mutual reachability: the largest
    of the distance of its two points and their core distances within their clusters. Noise, which
    is labeled −1, and clusters of a single point count in n only. Of edges of equal length, which
    are frequent, those between nearer points are taken, so that the value does not depend on the
    order of the rows; programs that take the first one differ somewhat. It depends on single edges,
    so its sampling distribution cannot be estimated. It ranges from −1 to 1; it is undefined
    without points, or if fewer than two clusters have several points.
    """
    longest = np.maximum(s.separation, s.sparseness)
    with np.errstate(invalid="ignore", divide="ignore"):
        validity = np.where(np.isinf(s.separation), 1.0, (s.separation - s.sparseness) / longest)
    validity = np.where(longest == 0, 0.0, validity)
    value = (np.where(s.size > 0, validity, 0.0) * s.size).sum(axis=-1) / s.total
    return np.where(s.n_clusters < 2, np.nan, value)
