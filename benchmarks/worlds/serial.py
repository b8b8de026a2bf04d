"""Rows in the order of time, whose errors depend on those before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special, stats
from scipy.signal import lfilter

import calipers as cal
from worlds.world import CLASSIFICATION, Draw, Evaluate, Floats, Random, World

#: What residuals of a week are apart from their mean, with neighbours that correlate by 0.3.
WEEK: Floats = np.array([1.0, 0.8, 0.3, 0.0, -0.4, -0.9, -0.8])
RHOS, SIZES = (0.0, 0.3, 0.6, 0.8), (50, 200, 365, 1000)
NUMBERS = ("MAE", "MSE", "RMSE")


def autoregressive(random: Random, times: int, rho: float) -> Floats:
    """Normal numbers of variance 1, each of which correlates with the one before by ρ."""
    noise = random.normal(size=times + 200)
    series = lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise)
    return np.asarray(series)[200:]


def residuals(times: int, rho: float) -> World:
    """Of a forecast, AR(1)."""
    truth = {"MAE": float(np.sqrt(2 / np.pi)), "MSE": 1.0, "RMSE": 1.0}

    def draw(random: Random) -> Evaluate:
        error, time = autoregressive(random, times, rho), np.arange(times)
        return partial(cal.regression, np.zeros(times), error, time=time, measures=NUMBERS)

    return _world(f"residuals AR(1), ρ = {rho:g}", times, truth, draw)


def right_answers(times: int, rho: float) -> World:
    """Four of five, where an AR(1) series lies below its quantile."""
    cut = float(special.ndtri(0.8))

    def draw(random: Random) -> Evaluate:
        truth = random.random(times) < 0.5
        right = autoregressive(random, times, rho) < cut
        said, time = np.where(right, truth, ~truth), np.arange(times)
        return CLASSIFICATION(truth, said, time=time, measures=("accuracy",))

    return _world(f"answers that are right AR(1), ρ = {rho:g}", times, {"accuracy": 0.8}, draw)


def forecasts(times: int, rho: float, scale: float) -> World:
    """Two forecasts whose residuals are AR(1), those of the second ``scale`` times as large."""
    truth = {"MAE": (scale - 1) * float(np.sqrt(2 / np.pi))}

    def draw(random: Random) -> Evaluate:
        base, new = (autoregressive(random, times, rho) for _ in range(2))
        said, time = {"base": base, "new": scale * new}, np.arange(times)
        return partial(cal.regression, np.zeros(times), said, time=time, measures=("MAE",))

    design = f"two forecasts AR(1), ρ = {rho:g}" + (", one worse" if scale != 1 else "")
    return _world(design, times, truth, draw, tests=() if scale != 1 else ("t",))


def weekly(times: int) -> World:
    """Residuals with the pattern of a week, and AR(1) with ρ = 0.3."""
    folded = stats.norm.pdf(WEEK) * 2 + WEEK * (2 * special.ndtr(WEEK) - 1)
    truth = {"MAE": float(folded.mean()), "MSE": 1 + float(np.square(WEEK).mean())}
    truth["RMSE"] = float(np.sqrt(truth["MSE"]))

    def draw(random: Random) -> Evaluate:
        time = np.arange(times)
        error = WEEK[(time + random.integers(7)) % 7] + autoregressive(random, times, 0.3)
        return partial(cal.regression, np.zeros(times), error, time=time, measures=NUMBERS)

    return _world("residuals of a week, and AR(1), ρ = 0.3", times, truth, draw)


def _world(
    design: str, times: int, truth: dict[str, float], draw: Draw, tests: tuple[str, ...] = ()
) -> World:
    found: Callable[[], dict[str, float]] = partial(dict, truth)
    large = times >= 200
    return World("serial", design, f"{times} times", found, draw, large, tests=tests)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(residuals(n, rho) for rho in RHOS for n in SIZES),
        *(right_answers(n, rho) for rho in RHOS for n in SIZES),
        *(forecasts(n, rho, scale) for scale in (1.0, 1.2) for rho in RHOS for n in SIZES),
        *(weekly(n) for n in SIZES),
    ]
