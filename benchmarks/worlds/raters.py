"""Raters of the same items: how far they agree, and whether two sets of them agree alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

import calipers as cal
from calipers.statistics import Ratings
from worlds.world import Evaluate, Floats, Random, World

MEASURES = ("Krippendorff-alpha", "Fleiss-kappa", "percent-agreement")
ORDINAL = ("Krippendorff-alpha(scale='ordinal')",)

RARE = "two categories, one of a tenth"
#: Of each design the shares of the true categories, and how often a rater says the truth and not
#: any category by these shares.
DESIGNS: Mapping[str, tuple[tuple[float, ...], float]] = {
    "by chance": ((0.25, 0.25, 0.25, 0.25), 0.0),
    "fair": ((0.25, 0.25, 0.25, 0.25), 0.6),
    "good": ((0.25, 0.25, 0.25, 0.25), 0.85),
    "nearly perfect": ((0.25, 0.25, 0.25, 0.25), 0.98),
    RARE: ((0.9, 0.1), 0.8),
}
RATERS = 3


def _codes(random: Random, items: int, word: str, raters: int = RATERS) -> Floats:
    shares, right = DESIGNS[word]
    truth = random.choice(len(shares), items, p=shares)
    any_of = random.choice(len(shares), (items, raters), p=shares)
    codes = np.where(random.random((items, raters)) < right, truth[:, None], any_of)
    return np.asarray(codes, np.float64)


def _table(codes: Floats) -> dict[str, Floats]:
    return {f"r{k}": column for k, column in enumerate(codes.T)}


def at_infinity(word: str, measures: tuple[str, ...]) -> dict[str, float]:
    """Of each way to rate an item as many items as it is likely."""
    shares, right = DESIGNS[word]
    k = len(shares)
    said = right * np.eye(k) + (1 - right) * np.array(shares)  # truth × category
    ways = np.indices((k,) * RATERS).reshape(RATERS, -1).T
    chance = (np.array(shares)[:, None] * said[:, ways].prod(axis=2)).sum(axis=0)
    counts = (ways[:, :, None] == np.arange(k)).sum(axis=1)
    items = np.repeat(counts, np.round(chance * 1_000_000).astype(int), axis=0)
    r = Ratings.from_counts(items, list(map(str, range(k))), np.arange(float(k)))
    return {name: float(cal.measure(name).apply(r)) for name in measures}


def _large(items: int, word: str) -> bool:
    """Whether intervals are to hold as often as they say."""
    return items >= 50 and word != RARE


def raters(items: int, word: str) -> World:
    """Three raters."""
    measures = (*MEASURES, "Gwet-AC1", "Gwet-AC2", "Brennan-Prediger", *ORDINAL)

    def draw(random: Random) -> Evaluate:
        return partial(cal.agreement, _table(_codes(random, items, word)), measures=measures)

    return World(
        kind="raters",
        design=f"raters, {word}",
        size=f"{items} items",
        found=lambda: at_infinity(word, measures),
        draw=draw,
        large=_large(items, word),
    )


def two_sets(items: int, word: str) -> World:
    """Two sets of raters of the same items, who agree alike."""
    measures = (MEASURES[0], MEASURES[2])

    def draw(random: Random) -> Evaluate:
        table = _table(_codes(random, items, word, 2 * RATERS))
        names = list(table)
        sets = {"base": names[:RATERS], "new": names[RATERS:]}
        return partial(cal.agreement, table, sets, measures=measures)

    return World(
        kind="pairs",
        design=f"raters, {word}, two sets",
        size=f"{items} items",
        found=lambda: dict.fromkeys(measures, 0.0),
        draw=draw,
        large=_large(items, word),
        tests=("t", "normal"),
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(raters(n, word) for word in DESIGNS for n in (20, 50, 200)),
        *(two_sets(n, word) for word in DESIGNS for n in (20, 50, 200)),
    ]
