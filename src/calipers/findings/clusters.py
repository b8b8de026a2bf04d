"""Clusters: what is none, what is alone, and whether they have to do with the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from calipers.findings.rules import Said, Subject, rule
from calipers.findings.words import first, quoted, who
from calipers.report.names import joined
from calipers.report.numbers import number
from calipers.statistics import FloatArray, IntArray

#: From this share of the points on, those that lie nearer to another cluster are told.
SHARE = 0.1

#: A point by itself is told where clusters have so many points on average.
USUAL = 5


@dataclass(frozen=True)
class Independence:
    """The p-value of clusters that have nothing to do with the true classes."""

    p: Callable[[], float]


@dataclass(frozen=True, eq=False)
class Lying:
    """How points lie: the cluster of each as a position in ``names``, and its silhouette."""

    names: tuple[str, ...]
    cluster: IntArray
    silhouettes: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """The points of each cluster."""
        return np.bincount(self.cluster, minlength=len(self.names)).astype(np.float64)

    @property
    def means(self) -> FloatArray:
        """The mean silhouette of each cluster."""
        sums = np.bincount(self.cluster, self.silhouettes, len(self.names))
        return np.asarray(sums / np.maximum(self.sizes, 1.0))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Of several clusterings of the same points the number of clusters, and the values of measures
    that need no truth: which of them is higher where it is better, and the value of each."""

    clusters: Mapping[str, int]
    values: Mapping[str, tuple[bool, Mapping[str, float]]]


@rule("clusters-like-chance", "caution", Independence)
def by_chance(s: Subject, independence: Independence) -> Iterator[Said]:
    """The interval of the ARI contains 0, and where clusters of the same sizes are dealt out anew
    the ARI is as high or higher more often than one minus the level."""
    rand = s.of("ARI")
    if rand.low <= 0 <= rand.high and (p := independence.p()) > 1 - s.level:
        yield Said(
            f"{s.who}: clusters have not been shown to have anything to do with the classes; ARI "
            f"{rand}, permutation p = {number(p)}.",
            {"ARI": rand, "p": p},
            s.named("ARI"),
        )


@rule("no-cluster", "caution", Lying, counts=True)
def nearer_to_others(s: Subject, lying: Lying) -> Iterator[Said]:
    """The mean silhouette of a cluster of two points or more is below 0."""
    means = lying.means
    found = np.flatnonzero((means < 0) & (lying.sizes > 1))
    if len(found):
        worst = found[np.argsort(means[found], kind="stable")]
        said = first(f"{quoted(lying.names[j])} ({number(float(means[j]))})" for j in worst)
        yield Said(
            f"{s.who}: on average the points of {said} lie nearer to another cluster than to their "
            "own.",
            {"clusters": float(len(found)), "lowest mean silhouette": float(means[worst[0]])},
            s.named("silhouette"),
        )


@rule("points-elsewhere", "information", Lying, counts=True)
def points_elsewhere(s: Subject, lying: Lying) -> Iterator[Said]:
    """At least {SHARE} of the points have a silhouette below 0."""
    share = float((lying.silhouettes < 0).mean())
    if share >= SHARE:
        yield Said(
            f"{s.who}: {share:.0%} of the points lie nearer to another cluster than to their own.",
            {"share": share},
            s.named("silhouette"),
        )


@rule("points-alone", "information", Lying, counts=True)
def points_alone(s: Subject, lying: Lying) -> Iterator[Said]:
    """A cluster holds a single point, where clusters hold {USUAL} or more on average."""
    sizes = lying.sizes
    alone = int(np.count_nonzero(sizes == 1))
    if alone and sizes.sum() >= USUAL * np.count_nonzero(sizes):
        hold = "One cluster holds" if alone == 1 else f"{alone} clusters hold"
        yield Said(
            f"{s.who}: {hold.lower() if alone == 1 else hold} a single point, whose silhouette "
            "counts as 0.",
            {"clusters": float(alone)},
            s.named("silhouette"),
        )


@rule("numbers-of-clusters", "information", Numbers, counts=True)
def which_number(s: Subject, numbers: Numbers) -> Iterator[Said]:
    """Of several clusterings different ones are best by measures that need no truth."""
    best: dict[str, list[str]] = {}
    for measure, (higher, values) in numbers.values.items():
        known = {name: x for name, x in values.items() if np.isfinite(x)}
        if len(known) > 1:
            found = (max if higher else min)(known, key=lambda name: known[name])
            best.setdefault(found, []).append(measure)
    if len({numbers.clusters[name] for name in best}) > 1:
        said = "; ".join(
            f"{who(name)} with {numbers.clusters[name]} clusters by {joined(measures)}"
            for name, measures in best.items()
        )
        measures = [measure for of in best.values() for measure in of]
        yield Said(
            f"Measures disagree about the number of clusters: {said}.",
            {f"clusters by {m}": float(numbers.clusters[n]) for n, of in best.items() for m in of},
            s.named(*measures),
        )
