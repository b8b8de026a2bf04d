"""Clusters against true classes, and by their points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

import calipers as cal
from calipers.statistics import ContingencyTable
from worlds.world import Evaluate, Floats, Random, World

MEASURES = (
    *("ARI", "AMI", "NMI", "MI", "homogeneity", "completeness", "purity", "Rand"),
    *("Fowlkes-Mallows", "pair-F1", "pair-Jaccard", "V-measure"),
)
OF_ASSIGNMENTS = ("cluster-accuracy",)
OF_POINTS = ("silhouette", "simplified-silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS")
OF_SEPARATION = ("Xie-Beni",)
OF_PAIRS = ("ARI", "AMI", "V-measure", "purity")

#: Many points, of which pairs of one with itself count for nothing.
_MANY = 1e12


def noisy(classes: int, clusters: int, noise: float) -> Floats:
    """Equal classes, each of which has clusters of its own; a share of the points is anywhere."""
    own = np.arange(clusters) % classes == np.arange(classes)[:, None]
    apart = own / own.sum(axis=1, keepdims=True) if clusters >= classes else own
    return np.asarray(((1 - noise) * apart + noise / clusters) / classes)


#: The shares of class × cluster.
DESIGNS: Mapping[str, Floats] = {
    "by chance": noisy(3, 3, 1.0),
    "by chance, 10 clusters": noisy(3, 10, 1.0),
    "weak": noisy(3, 3, 0.8),
    "noisy": noisy(3, 3, 0.2),
    "nearly perfect": noisy(3, 3, 0.02),
    "perfect": noisy(3, 3, 0.0),
    "split": noisy(3, 6, 0.1),
    "10 classes, noisy": noisy(10, 10, 0.2),
    "uneven": np.outer([0.8, 0.15, 0.05], np.full(3, 0.1)) + np.diag([0.8, 0.15, 0.05]) * 0.7,
}


def at_infinity(shares: Floats, measures: Sequence[str]) -> dict[str, float]:
    """Measures of the shares of the cells."""
    classes, clusters = (tuple(map(str, range(size))) for size in shares.shape)
    own, other = np.nonzero(shares)
    table = ContingencyTable(shares[own, other] * _MANY, own, other, classes, clusters)
    table.__dict__["expected_information"] = np.float64(0.0)  # of so many points there is none
    return {name: float(cal.measure(name).apply(table)) for name in measures}


def _drawn(shares: Floats, points: int, random: Random) -> tuple[Any, Any]:
    cell = random.choice(shares.size, points, p=shares.ravel() / shares.sum())
    return np.divmod(cell, shares.shape[1])


def partition(
    points: int, word: str, measures: tuple[str, ...] = MEASURES, what: str = ""
) -> World:
    """One clustering."""
    shares = DESIGNS[word]

    def draw(random: Random) -> Evaluate:
        truth, cluster = _drawn(shares, points, random)
        return partial(cal.clustering, None, cluster, truth, measures=measures)

    return World(
        kind="partitions",
        design=f"clusters, {word}{what}",
        size=f"{points} points",
        found=lambda: at_infinity(shares, measures),
        draw=draw,
        large=points >= 4 * shares.size and points >= 100,
    )


def partition_pair(points: int, word: str) -> World:
    """Two clusterings of the same points, which are alike."""
    shares = DESIGNS[word]
    given = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)

    def draw(random: Random) -> Evaluate:
        truth = random.choice(len(shares), points, p=shares.sum(axis=1))
        chance = random.random((2, points, 1))
        chance[1] = np.where(random.random((points, 1)) < 0.5, chance[0], chance[1])
        own = (chance > given[truth]).sum(axis=2).clip(max=shares.shape[1] - 1)
        clusters = {"base": own[0], "new": own[1]}
        return partial(cal.clustering, None, clusters, truth, measures=OF_PAIRS)

    return World(
        kind="pairs",
        design=f"clusters, {word}, twice",
        size=f"{points} points",
        found=lambda: dict.fromkeys(OF_PAIRS, 0.0),
        draw=draw,
        large=points >= 4 * shares.size and points >= 100,
        tests=("normal",),
    )


# --- Clusters by their points ---------------------------------------------------------------------

CENTRES = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
#: Another rule by which points are put into clusters.
MOVED = CENTRES + np.array([[0.6, 0.6], [0.0, 0.6], [1.2, 0.0]])
#: How far points are from their centre.
SPREADS: Mapping[str, Any] = {
    "apart": lambda random, points: 0.6 * random.normal(size=(points, 2)),
    "overlapping": lambda random, points: 1.2 * random.normal(size=(points, 2)),
    "with heavy tails": lambda random, points: 0.6 * random.standard_t(4, (points, 2)),
}


def clustered(random: Random, points: int, word: str) -> tuple[Floats, Any]:
    """Points, and their clusters by either rule: that of the nearest centre."""
    at = CENTRES[random.integers(0, 3, points)] + SPREADS[word](random, points)
    rules = np.stack([CENTRES, MOVED])[:, None]
    return at, np.square(at[:, None] - rules).sum(axis=3).argmin(axis=2)


@cache
def _of_many(points: int, word: str, measures: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """What 400 data sets of as many points have on average by either rule: to a twentieth of the
    spread of one, which moves a coverage of 95% by 0.03."""
    random, total = np.random.default_rng(1987), np.zeros((len(measures), 2))
    for _ in range(400):
        at, rules = clustered(random, points, word)
        made = cal.clustering(at, dict(enumerate(rules)), interval="none", measures=measures)
        total += np.array([e.value for e in made.estimates]).reshape(2, -1).T
    return dict(zip(measures, map(tuple, (total / 400).tolist()), strict=True))


def lying(
    points: int, word: str, measures: tuple[str, ...] = OF_POINTS, what: str = "", *,
    pair: bool = False,
) -> World:  # fmt: skip
    """One clustering by a rule that is given, or two, that part 2.5 to 9% of the points."""

    def found() -> dict[str, float]:
        known = _of_many(points, word, measures)
        return {name: new - base if pair else new for name, (new, base) in known.items()}

    def draw(random: Random) -> Evaluate:
        at, (new, base) = clustered(random, points, word)
        given: Any = {"base": base, "new": new} if pair else new
        return partial(cal.clustering, at, given, measures=measures)

    kind, large = "pairs" if pair else "partitions", points >= 100
    if pair:  # with 20 points that differ
        large = points * (0.09 if word == "overlapping" else 0.025) >= 20
    design = f"points {word}{what}" + ", two rules" * pair
    return World(kind, design, f"{points} points", found, draw, large)


def of_one_cluster(points: int, word: str, sample: int | None = None) -> World:
    """The silhouettes of all points and of those of one cluster, or of a sample of both."""
    measures = ("silhouette", "silhouette[0]", "simplified-silhouette[0]")

    def found() -> dict[str, float]:
        random, total = np.random.default_rng(1988), np.zeros(len(measures))
        for _ in range(400):
            at, (rule, _) = clustered(random, points, word)
            made = cal.clustering(at, rule, interval="none", measures=measures)
            total += [e.value for e in made.estimates]
        return dict(zip(measures, (total / 400).tolist(), strict=True))

    def draw(random: Random) -> Evaluate:
        at, (rule, _) = clustered(random, points, word)
        return partial(cal.clustering, at, rule, sample=sample, measures=measures)

    some = "" if sample is None else f", {sample} of them sampled"
    design = f"one cluster of points {word}"
    return World("partitions", design, f"{points} points{some}", found, draw, points >= 300)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(partition(n, word) for word in DESIGNS for n in (30, 100, 400)),
        *(partition_pair(n, word) for word in ("weak", "noisy", "split") for n in (100, 400)),
        *(lying(n, word) for word in SPREADS for n in (30, 100, 400)),
        *(of_one_cluster(n, word) for word in SPREADS for n in (100, 400)),
        *(of_one_cluster(1000, word, sample=150) for word in SPREADS),
        *(lying(n, word, pair=True) for word in ("apart", "overlapping") for n in (100, 400)),
        *(
            partition(n, word, OF_ASSIGNMENTS, ", assigned")
            for word in DESIGNS
            for n in (30, 100, 400)
        ),
        *(
            lying(n, word, OF_SEPARATION, ", separation")
            for word in SPREADS
            for n in (30, 100, 400)
        ),
    ]
