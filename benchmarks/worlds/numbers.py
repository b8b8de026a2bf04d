"""Residuals of regressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import integrate, stats

import calipers as cal
from worlds.world import Evaluate, Random, World


@dataclass(frozen=True)
class WithOutliers:
    """Normal residuals, of which a share is so many times as large."""

    share: float
    times: float

    def mean(self) -> float:
        """Of all."""
        return 0.0

    def var(self) -> float:
        """Of all."""
        return 1 + self.share * (self.times**2 - 1)

    def cdf(self, x: float) -> float:
        """Below x."""
        usual, odd = stats.norm.cdf(x), stats.norm.cdf(x / self.times)
        return float((1 - self.share) * usual + self.share * odd)

    def sf(self, x: float) -> float:
        """Above x."""
        return self.cdf(-x)

    def rvs(self, rows: int, random: Random) -> Any:
        """Some of them."""
        return random.normal(size=rows) * np.where(random.random(rows) < self.share, self.times, 1)


RESIDUALS: Mapping[str, Any] = {
    "normal": stats.norm(),
    "t with 5 degrees of freedom": stats.t(5),
    "lognormal, σ = ½": stats.lognorm(0.5, -np.exp(0.125)),
    "lognormal, σ = 1": stats.lognorm(1.0, -np.exp(0.5)),
    "normal, one of 50 ten times as large": WithOutliers(0.02, 10.0),
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

    ways = ("student", "hall", "delta", "chi-square", "percentile", "bca", "studentised")
    size = f"{rows} rows"
    large = rows >= (1000 if isinstance(of, WithOutliers) else 100)  # with 20 of the large ones
    return World("numbers", f"residuals {word}", size, found, draw, large, ways=ways)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [numbers(n, word) for word in RESIDUALS for n in (30, 100, 300, 1000)]
