"""Residuals of regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


#: Measures of how predictions follow the truth.
FITS = ("R2", "Pearson", "CCC", "Spearman", "MedAE", "D2-absolute-error")


def _normal(rows: int, random: Random) -> tuple[Any, Any]:
    predicted = random.normal(size=rows)
    return predicted + 0.6 * random.normal(size=rows), predicted


def _uneven(rows: int, random: Random) -> tuple[Any, Any]:
    predicted = random.normal(size=rows)
    return predicted + (0.2 + 0.4 * np.abs(predicted)) * random.normal(size=rows), predicted


def _skewed(rows: int, random: Random) -> tuple[Any, Any]:
    predicted = random.normal(size=rows)
    return np.exp(0.5 * (predicted + 0.5 * random.normal(size=rows))), np.exp(0.5 * predicted)


def _hopeless(rows: int, random: Random) -> tuple[Any, Any]:
    return random.normal(size=rows), 0.3 * random.normal(size=rows)


PREDICTIONS: Mapping[str, Callable[[int, Random], tuple[Any, Any]]] = {
    "as good as can be": _normal,
    "less sure where they are far out": _uneven,
    "of lognormal numbers": _skewed,
    "of something else": _hopeless,
}


def fits(rows: int, word: str) -> World:
    """Predictions that follow the truth."""
    of = PREDICTIONS[word]

    def found() -> dict[str, float]:
        """Of four million rows, half a percent of the length of any interval here."""
        truth, predicted = of(4_000_000, np.random.default_rng(5417))
        return {name: float(cal.measure(name)(truth, predicted)) for name in FITS}

    def draw(random: Random) -> Evaluate:
        return partial(cal.regression, *of(rows, random), measures=FITS)

    ways = ("delta", "percentile", "bca")
    size = f"{rows} rows"
    return World("numbers", f"predictions {word}", size, found, draw, rows >= 100, ways=ways)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    residuals = [numbers(n, word) for word in RESIDUALS for n in (30, 100, 300, 1000)]
    return [*residuals, *(fits(n, word) for word in PREDICTIONS for n in (30, 100, 300))]
