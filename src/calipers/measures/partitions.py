"""Measures of clusters against true classes: formulas over the contingency table of both.

Of the N pairs of points, T are together in both partitions, A in classes and B in clusters. H is
entropy in nats, and I the mutual information of classes and clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import ContingencyTable, FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt

partition_measure = partial(
    measure,
    family="partitions",
    statistic=ContingencyTable,
    higher_is_better=True,
    perfect=1.0,
    range=(0, 1),
)

_NO_ROWS = {"no_rows": lambda t, _: t.total == 0}
_NO_PAIRS = {"too_few_points": lambda t, _: t.total < 2}
_NO_PAIR_TOGETHER = {
    "only_singletons": lambda t, _: (t.pair_counts[1] == 0) & (t.pair_counts[2] == 0)
}
_NO_PAIR_IN_EITHER = {
    "only_singletons": lambda t, _: (t.pair_counts[1] == 0) | (t.pair_counts[2] == 0)
}


#: Tolerance for rounding of a proportion.
_TOLERANCE = 1e-12

#: Means of the entropies of both partitions, by name.
MEANS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "arithmetic": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: np.sqrt(a * b),
    "min": lambda a, b: np.where(a < b, a, b),
    "max": lambda a, b: np.where(a < b, b, a),
}


@partition_measure(
    "ARI",
    aliases=("adjusted_rand_score", "adjusted-Rand", "adjusted_rand_index"),
    range=(-0.5, 1),
    no_skill=0.0,
    undefined=_NO_PAIRS,
    reference="Hubert and Arabie (1985)",
)
def adjusted_rand(t: ContingencyTable) -> FloatArray:
    """ARI (adjusted Rand index): (T − AB/N) / ((A + B)/2 − AB/N).

    T, A and B are the numbers of pairs of points that are together in both partitions, in the
    classes, and in the clusters; N is the number of all pairs. AB/N is the expected value of T for
    random partitions with clusters of the same sizes, for which the index is 0. It is 1 if both
    partitions are the same, also if all points are together or each is alone. It ranges from −½ to
    1 and is undefined for fewer than two points.
    """
    joint, classes, clusters, pairs = t.pair_counts
    expected = classes * clusters / pairs
    return np.where(
        _identity_mask(t), 1.0, (joint - expected) / ((classes + clusters) / 2 - expected)
    )


@partition_measure(
    "Rand", aliases=("rand_score", "RI"), undefined=_NO_PAIRS, reference="Rand (1971)"
)
def rand(t: ContingencyTable) -> FloatArray:
    """Rand index: the proportion of pairs of points on which both partitions agree.

    It is (N + 2T − A − B)/N, with the numbers of pairs as in ARI: T together in both partitions, A
    in the classes, B in the clusters, and N in all. It ranges from 0 to 1 and is undefined for
    fewer than two points.
    """
    joint, classes, clusters, pairs = t.pair_counts
    return np.asarray((pairs + 2 * joint - classes - clusters) / pairs)


@partition_measure(
    "pair-F1", undefined=_NO_PAIR_TOGETHER | _NO_PAIRS, reference="Larsen and Aone (1999)"
)
def pair_f1(t: ContingencyTable) -> FloatArray:
    """F1 of pairs: 2T/(A + B), the harmonic mean of precision T/B and recall T/A of pairs.

    A pair is positive if its points are in one class, and predicted positive if they are in one
    cluster: A pairs are positive, B are predicted positive, and T are both. It ranges from 0 to 1
    and is undefined if no pair is together, or for fewer than two points.
    """
    joint, classes, clusters, _ = t.pair_counts
    return np.asarray(2 * joint / (classes + clusters))


@partition_measure(
    "pair-Jaccard", undefined=_NO_PAIR_TOGETHER | _NO_PAIRS, reference="Jaccard (1912)"
)
def pair_jaccard(t: ContingencyTable) -> FloatArray:
    """Jaccard index of pairs: T/(A + B − T).

    Of the pairs together in either partition, it is the proportion together in both: T pairs are
    together in both, A in the classes and B in the clusters. It ranges from 0 to 1 and is undefined
    if no pair is together, or for fewer than two points.
    """
    joint, classes, clusters, _ = t.pair_counts
    return np.asarray(joint / (classes + clusters - joint))


@partition_measure(
    "Fowlkes-Mallows",
    aliases=("fowlkes_mallows_score", "FMI"),
    undefined=_NO_PAIR_IN_EITHER | _NO_PAIRS,
    reference="Fowlkes and Mallows (1983)",
)
def fowlkes_mallows(t: ContingencyTable) -> FloatArray:
    """Fowlkes–Mallows index: T/√(AB), the geometric mean of precision and recall of pairs.

    A pair is positive if its points are in one class, and predicted positive if they are in one
    cluster: A pairs are positive, B are predicted positive, and T are both. It ranges from 0 to 1
    and is undefined if no pair is together in the classes, or none in the clusters, or for fewer
    than two points.
    """
    joint, classes, clusters, _ = t.pair_counts
    return np.asarray(np.sqrt(joint / classes) * np.sqrt(joint / clusters))


@partition_measure(
    "MI",
    aliases=("mutual_info_score", "mutual-information"),
    range=(0, inf),
    perfect=None,
    no_skill=0.0,
    interval="information",
    undefined=_NO_ROWS,
    reference="Shannon (1948)",
)
def mutual_information(t: ContingencyTable) -> FloatArray:
    """Mutual information: I = Σ p(c, k) log(p(c, k)/(p(c)·p(k))) in nats.

    It tends to increase with the number of clusters, also by chance. It is nonnegative; it is
    undefined without points.
    """
    return t.entropies_and_information[2]


@partition_measure(
    "NMI",
    aliases=("normalized_mutual_info_score",),
    no_skill=0.0,
    interval="information",
    undefined=_NO_ROWS,
    reference="Strehl and Ghosh (2002)",
)
def normalized_information(t: ContingencyTable, average: str = "arithmetic") -> FloatArray:
    """Normalized mutual information: I over a mean of both entropies.

    I is the mutual information of classes and clusters. The measure is 1 if all points are in one
    class and in one cluster. It is above 0 for independent partitions, for which AMI is adjusted.
    It ranges from 0 to 1 and is undefined without points.
    """  # noqa: D401  # a noun
    class_entropy, cluster_entropy, information = t.entropies_and_information
    mean = MEANS[average](class_entropy, cluster_entropy)
    return _clip_trivial(t, np.where(information > 0, information / mean, 0.0))


@partition_measure(
    "AMI",
    aliases=("adjusted_mutual_info_score", "adjusted_mutual_information"),
    range=(-inf, 1),
    no_skill=0.0,
    interval="information",
    undefined=_NO_ROWS | {"no_adjustment_range": lambda t, p: _all_by_chance_mask(t, p["average"])},
    reference="Vinh, Epps and Bailey (2010)",
)
def adjusted_information(t: ContingencyTable, average: str = "arithmetic") -> FloatArray:
    """AMI (adjusted mutual information): (I − E)/(mean of both entropies − E).

    I is the mutual information of classes and clusters, and E its expected value for random
    partitions with clusters of the same sizes. It is 1 if both partitions are the same, and at most
    1. It is undefined without points, or if E is the mean of both entropies, as when every point is
    alone in one partition.
    """
    class_entropy, cluster_entropy, information = t.entropies_and_information
    expected = t.expected_information
    max_excess = MEANS[average](class_entropy, cluster_entropy) - expected
    nontrivial_mask = (t.n_nonempty[0] > 1) & (t.n_nonempty[1] > 1)
    value = np.where(
        _identity_mask(t),
        1.0,
        np.where(nontrivial_mask, (information - expected) / max_excess, 0.0),
    )
    return np.where(_all_by_chance_mask(t, average), np.nan, _clip_trivial(t, value))


def _identity_mask(t: ContingencyTable) -> npt.NDArray[np.bool_]:
    """Return whether both partitions are the same."""
    return np.asarray(
        (t.pair_counts[0] == t.pair_counts[1]) & (t.pair_counts[0] == t.pair_counts[2])
    )


def _all_by_chance_mask(t: ContingencyTable, average: str) -> npt.NDArray[np.bool_]:
    """Return whether the expected information is all there is, as if every point is alone."""
    class_entropy, cluster_entropy, _ = t.entropies_and_information
    max_information = MEANS[average](class_entropy, cluster_entropy)
    nontrivial_mask = (t.n_nonempty[0] > 1) & (t.n_nonempty[1] > 1)
    chance_mask = max_information - t.expected_information <= _TOLERANCE * max_information
    return np.asarray(nontrivial_mask & ~_identity_mask(t) & chance_mask)


@partition_measure(
    "homogeneity",
    aliases=("homogeneity_score",),
    no_skill=0.0,
    interval="information",
    undefined=_NO_ROWS,
    reference="Rosenberg and Hirschberg (2007)",
)
def homogeneity(t: ContingencyTable) -> FloatArray:
    """Homogeneity: I/H(classes), the proportion of the entropy of classes that clusters explain.

    I is the mutual information of classes and clusters, and H the entropy. The measure is 1 if
    there is only one class. It ranges from 0 to 1 and is undefined without points.
    """
    class_entropy, _, information = t.entropies_and_information
    return np.where(class_entropy > 0, np.minimum(information / class_entropy, 1.0), 1.0)


@partition_measure(
    "completeness",
    aliases=("completeness_score",),
    no_skill=1.0,
    interval="information",
    undefined=_NO_ROWS,
    reference="Rosenberg and Hirschberg (2007)",
)
def completeness(t: ContingencyTable) -> FloatArray:
    """Completeness: I/H(clusters), the proportion of the entropy of clusters that classes explain.

    I is the mutual information of classes and clusters, and H the entropy. The measure is 1 if
    there is only one cluster. It ranges from 0 to 1 and is undefined without points.
    """
    _, cluster_entropy, information = t.entropies_and_information
    return np.where(cluster_entropy > 0, np.minimum(information / cluster_entropy, 1.0), 1.0)


@partition_measure(
    "V-measure",
    aliases=("v_measure_score",),
    interval="information",
    undefined=_NO_ROWS,
    reference="Rosenberg and Hirschberg (2007)",
)
def v_measure(t: ContingencyTable, beta: float = 1.0) -> FloatArray:
    """V-measure: the weighted harmonic mean of homogeneity h and completeness c.

    It is (1 + β)hc/(βh + c), 0 if both are 0, and completeness if β is infinite. With β = 1 it
    equals NMI with the arithmetic mean of the entropies. It ranges from 0 to 1 and is undefined
    without points.
    """
    h, c = homogeneity(t), completeness(t)
    weight = 1 / (1 + beta)  # of homogeneity
    return np.where(h * c > 0, h * c / ((1 - weight) * h + weight * c), 0.0)


@partition_measure(
    "purity", interval="majority", undefined=_NO_ROWS, reference="Zhao and Karypis (2004)"
)
def purity(t: ContingencyTable) -> FloatArray:
    """Purity: the proportion of points that belong to the most frequent class of their cluster.

    It tends to increase with the number of clusters, up to 1 for clusters of one point. It ranges
    from 0 to 1 and is undefined without points.
    """
    return np.asarray(t.majority_counts.sum(axis=-1) / t.total)


@partition_measure(
    "cluster-accuracy",
    aliases=("clustering_accuracy", "unsupervised-accuracy"),
    interval="matching",
    undefined=_NO_ROWS,
    reference="Kuhn (1955); Yang, Xu, Nie, Yan and Zhuang (2010)",
)
def cluster_accuracy(t: ContingencyTable) -> FloatArray:
    """Clustering accuracy: accuracy under the best one-to-one assignment of clusters to classes.

    Each cluster is assigned to a class of its own, so that most points are in the class of their
    cluster (the Hungarian method); the points of clusters or classes that are left over are errors.
    Unlike purity it does not increase with the number of clusters. It ranges from 0 to 1 and is
    undefined without points.
    """
    matched = np.where(t.matched_cells, t.cell_counts, 0.0)
    return np.asarray(matched.sum(axis=-1) / t.total)


def _clip_trivial(t: ContingencyTable, value: FloatArray) -> FloatArray:
    """Return values clipped to 1, and 1 if all points are in one class and in one cluster."""
    nonempty_mask = t.total > 0
    trivial_mask = (t.n_nonempty[0] == 1) & (t.n_nonempty[1] == 1)
    return np.where(nonempty_mask, np.where(trivial_mask, 1.0, np.minimum(value, 1.0)), np.nan)
