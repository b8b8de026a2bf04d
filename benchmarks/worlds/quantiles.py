"""Systems that predict quantiles: a spread that differs from row to row and is known to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import integrate, stats

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
MEASURES = (
    *("mean-pinball", "WIS", "interval-score@0.9", "interval-coverage@0.9"),
    *("mean-width@0.9", "quantile-coverage@0.05"),
)
#: Of each design what residuals are over their spread, and by how much quantiles, which are normal,
#: are too narrow.
DESIGNS: Mapping[str, tuple[Any, float]] = {
    "as they are said to be": (stats.norm(), 1.0),
    "too narrow": (stats.norm(), 0.6),
    "of residuals t with 5 degrees of freedom": (stats.t(5), 1.0),
}
#: The spread of a row is lognormal.
SIGMA = 0.5


def _quantiles(narrow: float) -> Floats:
    return np.asarray(narrow * stats.norm.ppf(LEVELS))


@cache
def truth_of(word: str) -> Mapping[str, float]:
    """Of a row of spread 1, times the mean spread where that counts."""
    of, narrow = DESIGNS[word]
    said, spread = _quantiles(narrow), float(np.exp(SIGMA**2 / 2))

    def pinball(level: float, q: float) -> float:
        above, below = integrate.quad(of.sf, q, np.inf)[0], integrate.quad(of.cdf, -np.inf, q)[0]
        return float(level * above + (1 - level) * below)

    losses = [pinball(level, q) for level, q in zip(LEVELS, said, strict=True)]
    low, high = said[0], said[-1]
    return {
        "mean-pinball": spread * float(np.mean(losses)),
        "WIS": spread * 2 * float(np.mean(losses)),
        # Of the ends of an interval of 1 − α the losses are α/2 of what it costs.
        "interval-score@0.9": spread * (losses[0] + losses[-1]) / 0.05,
        "interval-coverage@0.9": float(of.cdf(high) - of.cdf(low)),
        "mean-width@0.9": spread * float(high - low),
        "quantile-coverage@0.05": float(of.cdf(low)),
    }


def _said(centre: Floats, spread: Floats, narrow: float) -> dict[float, Floats]:
    values = centre[:, None] + spread[:, None] * _quantiles(narrow)
    return dict(zip(LEVELS, values.T, strict=True))


def quantiles(rows: int, word: str) -> World:
    """One system, which knows the middle and the spread of each row."""
    of, narrow = DESIGNS[word]

    def draw(random: Random) -> Evaluate:
        centre, spread = random.normal(size=rows), np.exp(random.normal(0, SIGMA, rows))
        truth = centre + spread * of.rvs(rows, random_state=random)
        said = _said(centre, spread, narrow)
        return partial(cal.regression, truth, quantiles=said, measures=MEASURES, curves=False)

    found = partial(truth_of, word)
    return World("quantiles", word, f"{rows} rows", found, draw, rows >= 400)


def quantile_pairs(rows: int) -> World:
    """Two systems that know the middle of a row alike."""
    measures = ("mean-pinball", "interval-score@0.9", "interval-coverage@0.9")
    none = dict.fromkeys(measures, 0.0)

    def draw(random: Random) -> Evaluate:
        centre, spread = random.normal(size=rows), np.exp(random.normal(0, SIGMA, rows))
        truth = centre + spread * random.normal(size=rows)
        said = {
            name: _said(centre + 0.3 * spread * random.normal(size=rows), spread, 1.0)
            for name in ("base", "new")
        }
        return partial(cal.regression, truth, quantiles=said, measures=measures, curves=False)

    return World("quantiles", "two systems alike", f"{rows} rows", lambda: none, draw, rows >= 400)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    sizes = (20, 100, 400)
    return [
        *(quantiles(n, word) for word in DESIGNS for n in sizes),
        *(quantile_pairs(n) for n in sizes),
    ]
