"""Raters of the same items: how far they agree, and whether two sets of them agree alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from scipy import stats

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


#: How often a rater gives a grade beside the true one, and any grade at all.
GRADES: Mapping[str, tuple[float, float]] = {
    "one step off": (0.1, 0.0),
    "often one step off": (0.6, 0.0),
    "one step off, 2% any grade": (0.2, 0.02),
}
WEIGHTED = ("Gwet-AC2", "Brennan-Prediger(weighting='quadratic')", *ORDINAL)


def _grades(random: Random, items: int, word: str) -> Floats:
    beside, arbitrary = GRADES[word]
    truth = random.choice(5, items, p=(0.1, 0.2, 0.3, 0.25, 0.15))
    step = random.choice((-1, 1), (items, RATERS)) * (random.random((items, RATERS)) < beside)
    grades = np.clip(truth[:, None] + step, 0, 4)
    is_any = random.random((items, RATERS)) < arbitrary
    return np.where(is_any, random.integers(0, 5, (items, RATERS)), grades).astype(np.float64)


def grades(items: int, word: str) -> World:
    """Three raters who give grades, measured with weights of disagreements."""

    def found() -> dict[str, float]:
        given = _grades(np.random.default_rng(0), 400_000, word)
        counts = (given[:, :, None] == np.arange(5)).sum(axis=1)
        r = Ratings.from_counts(counts, list("01234"), np.arange(5.0))
        return {name: float(cal.measure(name).apply(r)) for name in WEIGHTED}

    def draw(random: Random) -> Evaluate:
        return partial(cal.agreement, _table(_grades(random, items, word)), measures=WEIGHTED)

    return World("raters", f"grades, {word}", f"{items} items", found, draw, items >= 50)


#: The reliability of three raters, two of them for differences: the spread of their error, and how
#: much higher each is on average.
RELIABILITIES: Mapping[str, tuple[float, tuple[float, ...]]] = {
    "fair": (1.0, (0.0, 0.0, 0.0)),
    "good, one higher": (0.5, (0.0, 0.0, 0.5)),
    "nearly perfect": (0.15, (0.0, 0.0, 0.2)),
}
FORMS = ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")
DIFFERENCES = ("Bland-Altman-bias", "Bland-Altman-lower", "Bland-Altman-upper")


def numbers(items: int, word: str, raters: int) -> World:
    """Raters who give numbers."""
    spread, shifts = RELIABILITIES[word]
    shifts = shifts[-raters:]
    measures = FORMS if raters > 2 else DIFFERENCES

    def found() -> dict[str, float]:
        rater, residual = float(np.var(shifts, ddof=1)), spread**2
        single = (1 + rater + residual, 1 + rater + residual, 1 + residual)
        means = (1 + (rater + residual) / raters, 1 + (rater + residual) / raters,
                 1 + residual / raters)  # fmt: skip
        half = stats.norm.ppf(0.975) * np.sqrt(2) * spread
        middle = shifts[0] - shifts[1]
        limits = (middle, middle - half, middle + half)
        forms = [1 / x for x in (*single, *means)]
        return dict(zip(measures, forms if raters > 2 else limits, strict=True))

    def draw(random: Random) -> Evaluate:
        item, error = random.normal(size=(items, 1)), random.normal(size=(items, raters))
        ratings = item + np.array(shifts) + spread * error
        return partial(cal.agreement, _table(ratings), measures=measures)

    return World(
        kind="raters",
        design=f"numbers of {raters} raters, {word}",
        size=f"{items} items",
        found=found,
        draw=draw,
        large=items >= 50,
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
        *(grades(n, word) for word in GRADES for n in (20, 50, 200)),
        *(numbers(n, word, k) for k in (3, 2) for word in RELIABILITIES for n in (20, 50, 200)),
        *(two_sets(n, word) for word in DESIGNS for n in (20, 50, 200)),
    ]
