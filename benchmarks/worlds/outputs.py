"""Predictions of three numbers a row, in units that differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from scipy import stats

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World

#: Units of the outputs, and how large residuals are beside predictions in them.
UNITS: Floats = np.array([1.0, 10.0, 100.0])
SIZES: Floats = np.array([0.4, 0.7, 1.0])

MEASURES = ("macro-R2", "variance-weighted-R2", "macro-RMSE", "macro-MAE", "macro-Spearman")

#: How much residuals of a row have in common, and the degrees of freedom of their t.
RESIDUALS: Mapping[str, tuple[float, float]] = {
    "residuals that go together": (0.8, np.inf),
    "residuals apart": (0.0, np.inf),
    "residuals t with 5 degrees of freedom that go together": (0.8, 5.0),
}


def normal(random: Random, rows: int, share: float) -> Floats:
    """Normal numbers of each row, of which it has a share in common."""
    own, common = random.normal(size=(rows, 3)), random.normal(size=(rows, 1))
    return np.asarray(np.sqrt(1 - share) * own + np.sqrt(share) * common)


def residuals(random: Random, rows: int, word: str) -> Floats:
    """With variance 1 each."""
    share, degrees = RESIDUALS[word]
    z = normal(random, rows, share)
    if not np.isfinite(degrees):
        return z
    return np.asarray(z * np.sqrt((degrees - 2) / random.chisquare(degrees, (rows, 1))))


def truth_of(word: str) -> dict[str, float]:
    """The variance of predictions is 1 in the unit of each, that of residuals the square of its
    size."""
    _, degrees = RESIDUALS[word]
    variance, within = np.square(UNITS) * (1 + SIZES**2), np.square(UNITS * SIZES)
    t = stats.t(degrees) if np.isfinite(degrees) else stats.norm()
    made = {
        "macro-R2": (1 / (1 + SIZES**2)).mean(),
        "variance-weighted-R2": 1 - within.sum() / variance.sum(),
        "macro-RMSE": (UNITS * SIZES).mean(),
        "macro-MAE": (UNITS * SIZES).mean() * t.expect(np.abs) / t.std(),
    }
    if not np.isfinite(degrees):
        together = 1 / np.sqrt(1 + SIZES**2)
        made["macro-Spearman"] = (6 / np.pi * np.arcsin(together / 2)).mean()
    return {name: float(value) for name, value in made.items()}


def outputs(rows: int, word: str) -> World:
    """One system."""
    names = tuple(truth_of(word))

    def draw(random: Random) -> Evaluate:
        said = normal(random, rows, 0.5) * UNITS
        truth = said + residuals(random, rows, word) * UNITS * SIZES
        return partial(cal.regression, truth, said, measures=names, curves=False)

    found = partial(truth_of, word)
    size, ways = f"{rows} rows", ("delta", "percentile", "bca")
    return World("outputs", word, size, found, draw, rows >= 100, ways=ways)


def output_pairs(rows: int) -> World:
    """Two systems that are alike, whose residuals go together."""
    none = dict.fromkeys(MEASURES, 0.0)

    def draw(random: Random) -> Evaluate:
        known, rest = normal(random, rows, 0.5), normal(random, rows, 0.5)
        errors = {name: rest + normal(random, rows, 0.8) for name in ("base", "new")}
        given = {n: UNITS * (known + SIZES / 2 * e) for n, e in errors.items()}
        truth = UNITS * (known + 0.2 * normal(random, rows, 0.0))
        return partial(cal.regression, truth, given, measures=MEASURES, curves=False)

    size, ways = f"{rows} rows", ("percentile",)
    return World("outputs", "two systems alike", size, lambda: none, draw, rows >= 100, ways)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    sizes = (20, 100, 500)
    return [
        *(outputs(n, word) for word in RESIDUALS for n in sizes),
        *(output_pairs(n) for n in sizes),
    ]
