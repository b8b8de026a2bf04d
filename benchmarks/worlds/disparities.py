"""Disparities between groups: the largest difference and the smallest ratio, the lowest and the
highest value, where groups are equal and where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World

MEASURES = (
    *("demographic-parity-difference", "demographic-parity-ratio"),
    *("equalized-odds-difference", "equalized-odds-ratio"),
    *("accuracy-group-min", "accuracy-group-max"),
)
POSITIVE = 0.4
#: Of each design the recall of each group, from the first to the last: all alike, one by one lower,
#: or one alone lower. Rates of false positives are half of what recalls lack.
DESIGNS: Mapping[str, tuple[float, float, bool]] = {
    "equal": (0.8, 0.8, False),
    "graded": (0.9, 0.6, False),
    "one lower": (0.8, 0.6, True),
}
#: Rows of a group that is rare, for each hundred of another.
RARE = 20
#: Rows in a cluster, and the proportion of them that are a copy of its first row.
SIZE, COPIED = 5, 0.3


def _recalls(n_groups: int, word: str) -> Floats:
    first, last, alone = DESIGNS[word]
    if alone:
        return np.array([*[first] * (n_groups - 1), last])
    return np.linspace(first, last, n_groups)


def at_infinity(n_groups: int, word: str) -> dict[str, float]:
    """Of the rates of the groups."""
    recall = _recalls(n_groups, word)
    fpr = (1 - recall) / 2
    selected = POSITIVE * recall + (1 - POSITIVE) * fpr
    right = POSITIVE * recall + (1 - POSITIVE) * (1 - fpr)
    odds = [(np.ptp(x), x.min() / x.max()) for x in (recall, fpr)]
    values = (
        *(np.ptp(selected), selected.min() / selected.max()),
        *(max(gap for gap, _ in odds), min(ratio for _, ratio in odds)),
        *(right.min(), right.max()),
    )
    return dict(zip(MEASURES, map(float, values), strict=True))


def _disparities(
    truth: Any, predicted: Any, group: Any, cluster: Any, *, seed: int, **_: Any
) -> dict[str, cal.results.Estimate]:
    evaluation = cal.classification(
        *(truth, predicted),
        slices={"group": group},
        cluster=cluster,
        measures=["recall", "FPR", "detection-prevalence", "accuracy"],
        curves=False,
        seed=seed,
    )
    return {d.estimate.measure: d.estimate for d in cal.fairness(evaluation, measures=MEASURES)}


def disparities(n_groups: int, size: int, word: str, how: str = "") -> World:
    """Groups of so many rows, of which one may be rare; clusters may be within groups or across."""

    def draw(random: Random) -> Evaluate:
        sizes = np.full(n_groups, size)
        if how == "one rare":
            sizes[-1] = size * RARE // 100
        group = np.repeat(np.arange(n_groups), sizes)
        chance = random.random((2, len(group)))
        cluster = None
        if how.startswith("clusters"):
            cluster = np.arange(len(group)) // SIZE
            first = np.arange(len(group)) // SIZE * SIZE
            chance = np.where(random.random(len(group)) < COPIED, chance[:, first], chance)
            if how.endswith("across"):
                group = np.arange(len(group)) % n_groups
        recall = _recalls(n_groups, word)[group]
        truth = chance[0] < POSITIVE
        predicted = chance[1] < np.where(truth, recall, (1 - recall) / 2)
        return partial(_disparities, truth.astype(int), predicted.astype(int), group, cluster)

    return World(
        kind="disparities",
        design=f"{n_groups} groups, {word}{', ' * bool(how)}{how}",
        size=f"{size} rows each",
        found=lambda: at_infinity(n_groups, word),
        draw=draw,
        large=size >= 100,
        ranges=dict.fromkeys(MEASURES, (0.0, 1.0)),
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    hard = ("one rare", "clusters within", "clusters across")
    return [
        *(disparities(k, n, word) for word in DESIGNS for k in (2, 4, 8) for n in (50, 200)),
        *(disparities(k, 200, word, how) for how in hard for word in DESIGNS for k in (2, 8)),
    ]
