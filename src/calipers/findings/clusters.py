"""Findings on clusterings: silhouettes, singletons, stability, and agreement with classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from calipers.findings.formatting import format_first, quote, system_name
from calipers.findings.rules import Claim, FindingDraft, Subject, rule
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count, format_number, format_p
from calipers.report.safe_names import join_words
from calipers.statistics import FloatArray, IntArray

#: Negative silhouettes are reported from this proportion of the points.
MIN_NEGATIVE_PROPORTION = 0.1

#: The smallest cluster that is tested for two groups; and √n times the standard deviation of the
#: proportion of variance that splitting n uniformly distributed points in two removes.
MIN_CLUSTER_SIZE, UNIFORM_SPLIT_SD = 40, 0.28

#: A cluster is unstable below the first mean Jaccard index, stable above the second (Hennig 2007).
MAX_UNSTABLE_JACCARD, MIN_STABLE_JACCARD = 0.6, 0.75

#: Singleton clusters are reported if clusters have this number of points on average.
MIN_MEAN_SIZE = 5


@dataclass(frozen=True)
class PermutationTest:
    """Permutation p-value of independence of clusters and true classes."""

    compute_p: Callable[[], float]


@dataclass(frozen=True, eq=False)
class PointSilhouettes:
    """Silhouettes of points, with their clusters and the nearest other clusters.

    Clusters are indices into ``names``.
    """

    names: tuple[str, ...]
    cluster: IntArray
    nearest: IntArray
    silhouettes: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """Number of points of each cluster."""
        return np.bincount(self.cluster, minlength=len(self.names)).astype(np.float64)

    @property
    def means(self) -> FloatArray:
        """Mean silhouette of each cluster."""
        sums = np.bincount(self.cluster, self.silhouettes, len(self.names))
        return np.asarray(sums / np.maximum(self.sizes, 1.0))

    @property
    def most_overlapping_pair(self) -> tuple[int, int, int]:
        """Pair of clusters with the most points of either that are closer to the other.

        The third value is the number of these points.
        """
        negative_mask, k = self.silhouettes < 0, len(self.names)
        cluster_pairs = np.sort([self.cluster[negative_mask], self.nearest[negative_mask]], axis=0)
        pairs, points = np.unique(cluster_pairs[0] * k + cluster_pairs[1], return_counts=True)
        max_index = int(points.argmax())
        return *divmod(int(pairs[max_index]), k), int(points[max_index])


@dataclass(frozen=True, eq=False)
class Bisections:
    """Proportion of the variance of each cluster that splitting it in two removes.

    The split and the variance are along the axis of largest variance. ``n_points`` are the numbers
    of points used.
    """

    names: tuple[str, ...]
    n_points: FloatArray
    proportions: FloatArray


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of clusters under bootstrap resampling.

    ``mean_jaccard`` are the mean Jaccard indices of each cluster and the most similar cluster of
    each bootstrap clustering, and ``mean_ari`` is the mean adjusted Rand index of these clusterings
    and the clustering.
    """

    names: tuple[str, ...]
    mean_jaccard: FloatArray
    mean_ari: float
    n_resamples: int


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Numbers of clusters of several clusterings of the same points, with internal measures.

    ``values`` has for each measure whether higher is better, and the value of each clustering.
    ``biases`` describes the biases of the measures.
    """

    n_clusters: Mapping[str, int]
    values: Mapping[str, tuple[bool, Mapping[str, float]]]
    biases: Mapping[str, str]


@rule("clusters-not-above-chance", "caution", PermutationTest, cost="replicates")
def not_above_chance(subject: Subject, independence: PermutationTest) -> Iterator[FindingDraft]:
    """ARI is not significantly above chance: its interval contains 0.

    In addition, the p-value of a permutation test that keeps the sizes of the clusters exceeds the
    significance level.
    """
    ari = subject.get_estimate("ARI")
    if ari.low <= 0 <= ari.high and (p := independence.compute_p()) > 1 - subject.level:
        yield FindingDraft(
            f"{subject.title}: the clusters do not agree significantly better than chance with the "
            f"classes (ARI {ari}, permutation {format_p(p)}).",
            {"ARI": ari, "p": p},
            subject.shown_among("ARI"),
        )


@rule("negative-mean-silhouette", "caution", PointSilhouettes, cost="rows", counts=True)
def negative_mean_silhouette(
    subject: Subject, clustering: PointSilhouettes
) -> Iterator[FindingDraft]:
    """At least one cluster of two or more points has a negative mean silhouette."""
    means = clustering.means
    indices = np.flatnonzero((means < 0) & (clustering.sizes > 1))
    if len(indices):
        worst = indices[np.argsort(means[indices], kind="stable")]
        listed = format_first(
            f"{quote(clustering.names[j])} ({format_number(float(means[j]))})" for j in worst
        )
        yield FindingDraft(
            f"{subject.title}: negative mean silhouette of {listed}. On average the points of such "
            "a cluster are closer to another cluster than to their own; consider fewer clusters.",
            {"clusters": float(len(indices)), "lowest mean silhouette": float(means[worst[0]])},
            subject.shown_among("silhouette"),
        )


@rule("negative-silhouettes", "information", PointSilhouettes, cost="rows", counts=True)
def negative_silhouettes(subject: Subject, clustering: PointSilhouettes) -> Iterator[FindingDraft]:
    """At least {MIN_NEGATIVE_PROPORTION:.0%} of the points have a negative silhouette."""
    proportion = float((clustering.silhouettes < 0).mean())
    if proportion >= MIN_NEGATIVE_PROPORTION:
        first, second, points = clustering.most_overlapping_pair
        yield FindingDraft(
            f"{subject.title}: {proportion:.0%} of the points have a negative silhouette, that is, "
            "they are closer on average to another cluster than to their own. The most frequent "
            f"pair of clusters is {quote(clustering.names[first])} and "
            f"{quote(clustering.names[second])} ({format_count(points, 'points')}).",
            {"proportion": proportion, "points of this pair": float(points)},
            subject.shown_among("silhouette"),
        )


@rule("singleton-clusters", "information", PointSilhouettes, cost="rows", counts=True)
def singleton_clusters(subject: Subject, clustering: PointSilhouettes) -> Iterator[FindingDraft]:
    """One or more clusters have a single point, and the mean size is {MIN_MEAN_SIZE} or more."""
    sizes = clustering.sizes
    n_singletons = int(np.count_nonzero(sizes == 1))
    if n_singletons and sizes.sum() >= MIN_MEAN_SIZE * np.count_nonzero(sizes):
        clause = (
            "one cluster is a singleton; its silhouette is"
            if n_singletons == 1
            else f"{n_singletons} clusters are singletons; their silhouettes are"
        )
        yield FindingDraft(
            f"{subject.title}: {clause} set to 0.",
            {"clusters": float(n_singletons)},
            subject.shown_among("silhouette"),
        )


@rule("disagreement-on-k", "information", ClusterCounts, cost="results", counts=True)
def disagreement_on_k(subject: Subject, counts: ClusterCounts) -> Iterator[FindingDraft]:
    """Clusterings with different numbers of clusters are best by different internal measures."""
    best: dict[str, list[str]] = {}
    for measure, (higher_is_better, values) in counts.values.items():
        defined = {name: x for name, x in values.items() if np.isfinite(x)}
        if len(defined) > 1:
            best_name = (max if higher_is_better else min)(defined, key=lambda name: defined[name])
            best.setdefault(best_name, []).append(measure)
    if len({counts.n_clusters[name] for name in best}) > 1:
        listed = "; ".join(
            f"{join_words([m + _bias_note(counts.biases[m]) for m in measures])} "
            f"select{'s' if len(measures) == 1 else ''} {system_name(name)} "
            f"({format_count(counts.n_clusters[name], 'clusters')})"
            for name, measures in best.items()
        )
        measures = [measure for measure_names in best.values() for measure in measure_names]
        yield FindingDraft(
            f"Internal measures disagree on the number of clusters: {listed}.",
            {
                f"clusters by {m}": float(counts.n_clusters[n])
                for n, measure_names in best.items()
                for m in measure_names
            },
            subject.shown_among(*measures),
        )


def _bias_note(description: str) -> str:
    return f" (which favors {description})" if description else ""


@rule("bimodal-cluster", "information", Bisections, cost="results", counts=True)
def bimodal_cluster(subject: Subject, bisections: Bisections) -> Iterator[Claim]:
    """At least one cluster of {MIN_CLUSTER_SIZE} or more points is bimodal along its longest axis.

    Splitting it in two along the axis of largest variance removes a significantly larger proportion
    of this variance than splitting uniformly distributed points (corrected for the number of
    clusters).
    """
    tested_mask = bisections.n_points >= MIN_CLUSTER_SIZE
    if not tested_mask.any():
        return
    p = np.ones(len(bisections.n_points))
    z = (
        (bisections.proportions - 0.75)
        * np.sqrt(np.maximum(bisections.n_points, 1))
        / UNIFORM_SPLIT_SD
    )
    for index in np.flatnonzero(tested_mask):
        p[index] = min(1.0, np.count_nonzero(tested_mask) * math.erfc(z[index] / math.sqrt(2)) / 2)
    yield Claim(
        float(p.min()),
        partial(_bimodal_message, subject, bisections, np.flatnonzero(p <= 1 - subject.level)),
    )


def _bimodal_message(subject: Subject, halves: Bisections, indices: IntArray) -> FindingDraft:
    ordered = indices[np.argsort(-halves.proportions[indices], kind="stable")]
    listed = format_first(
        f"{quote(halves.names[j])} ({halves.proportions[j]:.0%})" for j in ordered
    )
    return FindingDraft(
        f"{subject.title}: "
        f"{'a cluster appears' if len(indices) == 1 else f'{len(indices)} clusters appear'} "
        f"bimodal: splitting {listed} in two along the longest axis removes more of the variance "
        "than splitting uniformly distributed points (75%). Consider more clusters.",
        {
            "clusters": float(len(indices)),
            "largest proportion of the variance": float(halves.proportions[ordered[0]]),
        },
    )


def bisection_gain(projections: FloatArray) -> float:
    """Compute the largest proportion of the variance of numbers that splitting them in two removes.

    At least a fifth of the numbers is on either side. The proportion is 2/π for a normal
    distribution and ¾ for a uniform one.
    """
    x, n = np.sort(projections - projections.mean()), len(projections)
    below = np.arange(1, n)
    between = np.square(np.cumsum(x)[:-1]) * (1 / below + 1 / (n - below))
    total, is_allowed = float(x @ x), (below >= n / 5) & (n - below >= n / 5)
    return float(between[is_allowed].max() / total) if total > 0 and is_allowed.any() else 0.0


@rule("unstable-clusters", "caution", Stability, cost="results", counts=True)
def unstable_clusters(subject: Subject, stability: Stability) -> Iterator[FindingDraft]:
    """At least one cluster has a mean Jaccard index below {MAX_UNSTABLE_JACCARD} under bootstrap
    resampling.

    The mean is over the bootstrap clusterings, of the index of the cluster and the most similar
    cluster of each.
    """  # noqa: D205
    indices = np.flatnonzero(stability.mean_jaccard < MAX_UNSTABLE_JACCARD)
    if len(indices):
        worst = indices[np.argsort(stability.mean_jaccard[indices], kind="stable")]
        listed = format_first(
            f"{quote(stability.names[j])} ({stability.mean_jaccard[j]:.2f})" for j in worst
        )
        yield FindingDraft(
            f"{subject.title}: "
            f"{'a cluster is' if len(indices) == 1 else f'{len(indices)} clusters are'} not stable "
            f"under bootstrap resampling: {listed}. A mean Jaccard index below "
            f"{MAX_UNSTABLE_JACCARD} "
            "indicates that a cluster is not reproducible.",
            {
                "clusters": float(len(indices)),
                "lowest mean Jaccard index": float(stability.mean_jaccard[worst[0]]),
            },
        )
