"""Residuals of regressions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import integrate, stats

import calipers as cal
from worlds.world import Evaluate, Random, World

RESIDUALS: Mapping[str, Any] = {
    "normal": stats.norm(),
    "t with 5 degrees of freedom": stats.t(5),
    "lognormal, σ = ½": stats.lognorm(0.5, -np.exp(0.125)),
    "lognormal, σ = 1": stats.lognorm(1.0, -np.exp(0.5)),
}


def numbers(rows: int, word: str) -> World:
    """Residuals of a regression."""
    of = RESIDUALS[word]

    def found() -> dict[str, float]:
        square = float(of.var() + of.mean() ** 2)
        above, below = integrate.quad(of.sf, 0, np.inf)[0], integrate.quad(of.cdf, -np.inf, 0)[0]
        return {"RMSE": float(np.sqrt(square)), "MSE": square, "MAE": float(above + below)}

    def draw(random: Random) -> Evaluate:
        truth = random.normal(size=rows)
        predicted = truth + of.rvs(rows, random)
        return partial(cal.regression, truth, predicted, measures=("RMSE", "MSE", "MAE"))

    ways = ("student", "delta", "chi-square", "percentile", "bca", "studentised")
    return World(
        "numbers", f"residuals {word}", f"{rows} rows", found, draw, rows >= 100, ways=ways
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [numbers(n, word) for word in RESIDUALS for n in (30, 100, 300, 1000)]
