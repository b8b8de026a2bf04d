"""Clusters against true classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import calipers as cal
from calipers.statistics import ContingencyTable
from worlds.world import Evaluate, Floats, Random, World

MEASURES = (
    *("ARI", "AMI", "NMI", "MI", "homogeneity", "completeness", "purity", "Rand"),
    *("Fowlkes-Mallows", "pair-F1", "pair-Jaccard"),
)

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


def partition(points: int, word: str) -> World:
    """One clustering."""
    shares = DESIGNS[word]

    def draw(random: Random) -> Evaluate:
        truth, cluster = _drawn(shares, points, random)
        return partial(cal.clustering, None, cluster, truth, measures=MEASURES)

    return World(
        kind="partitions",
        design=f"clusters, {word}",
        size=f"{points} points",
        found=lambda: at_infinity(shares, MEASURES),
        draw=draw,
        large=points >= 4 * shares.size and points >= 100,
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [partition(n, word) for word in DESIGNS for n in (30, 100, 400)]
