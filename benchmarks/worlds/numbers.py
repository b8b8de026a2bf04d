"""Residuals of regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import integrate, special, stats

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World, even_grid


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

    ways = ("t", "hall", "delta", "chi-square", "percentile", "bca", "studentized")
    size = f"{rows} rows"
    large = rows >= (1000 if isinstance(of, WithOutliers) else 100)  # with 20 of the large ones
    return World("numbers", f"residuals {word}", size, found, draw, large, ways=ways)


#: Measures of how predictions follow the truth.
FITS = ("R2", "Pearson", "CCC", "Spearman", "MedAE", "D2-absolute-error")
#: Those of numbers that are 0 or above.
COUNTED = ("RMSLE", "Poisson-deviance", "D2-Tweedie(power=1)", "pinball(alpha=0.9)")


def _normal(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    return x + 0.6 * z, x


def _uneven(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    return x + (0.2 + 0.4 * np.abs(x)) * z, x


def _skewed(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    return np.exp(0.5 * (x + 0.5 * z)), np.exp(0.5 * x)


def _hopeless(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    return z, 0.3 * x


def _counts(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    rate = np.exp(1 + 0.6 * x)
    return np.asarray(stats.poisson.ppf(special.ndtr(z), rate)), rate


def _close(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    return 5 + x, 5 + x + 0.1 * z


def _close_in_proportion(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    return np.exp(x), np.exp(x + 0.1 * z)


#: Relative errors, and an efficiency that is near 1.
RELATIVE = ("KGE", "NRMSE", "Theil-U1")

#: Truth and prediction of two independent normal numbers.
Predict = Callable[[Floats, Floats], tuple[Floats, Floats]]
PREDICTIONS: Mapping[str, tuple[Predict, Sequence[str]]] = {
    "as good as can be": (_normal, FITS),
    "less sure where they are far out": (_uneven, FITS),
    "of lognormal numbers": (_skewed, FITS),
    "of something else": (_hopeless, FITS),
    "of counts": (_counts, COUNTED),
    "that are close": (_close, RELATIVE),
    "close to lognormal numbers": (_close_in_proportion, RELATIVE),
}


@cache
def _of_predictions(word: str) -> dict[str, float]:
    """On points that fill the square evenly, which is right to 0.0005."""
    of, names = PREDICTIONS[word]
    truth, predicted = of(*special.ndtri(even_grid(2, bits=19)))
    return {name: float(cal.measure(name)(truth, predicted)) for name in names}


def fits(rows: int, word: str) -> World:
    """Predictions that follow the truth."""
    of, names = PREDICTIONS[word]

    def draw(random: Random) -> Evaluate:
        return partial(cal.regression, *of(*random.normal(size=(2, rows))), measures=names)

    found = partial(_of_predictions, word)
    ways = ("delta", "percentile", "bca")
    size = f"{rows} rows"
    return World("numbers", f"predictions {word}", size, found, draw, rows >= 100, ways=ways)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    residuals = [numbers(n, word) for word in RESIDUALS for n in (30, 100, 300, 1000)]
    return [*residuals, *(fits(n, word) for word in PREDICTIONS for n in (30, 100, 300))]
