"""Forecasts of several series of different sizes, each of which is forecast well or badly as a whole;
and ensembles, whose spread is that of the row or smaller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World

MEASURES = ("MASE", "RMSSE", "WAPE", "MAE")
STEPS, HORIZON = 60, 12
#: Standard deviation of the logarithms: of the sizes of series, and of how well they are forecast.
SIZES, SKILL = 0.5, 0.4


def _series(random: Random, n_series: int) -> tuple[Floats, Floats, Floats]:
    """Training data, the truth and the residuals of a forecast, a row for each series."""
    size = np.exp(random.normal(0, SIZES, (n_series, 1)))
    past = size * (5 + 0.3 * random.normal(size=(n_series, STEPS)).cumsum(axis=1))
    truth = past[:, -1:] + 0.3 * size * random.normal(size=(n_series, HORIZON)).cumsum(axis=1)
    spread = 0.3 * size * np.exp(random.normal(0, SKILL, (n_series, 1)))
    shared = random.normal(size=(n_series, 1))
    residual = spread * (0.5 * shared + random.normal(size=(n_series, HORIZON)))
    return past, truth, residual


@cache
def _truth() -> Mapping[str, float]:
    """Means over very many series."""
    past, truth, residual = _series(np.random.default_rng(0), 400_000)
    naive = np.diff(past)
    scaled = np.abs(residual) / np.abs(naive).mean(axis=1, keepdims=True)
    squared = np.square(residual) / np.square(naive).mean(axis=1, keepdims=True)
    return {
        "MASE": float(scaled.mean()),
        "RMSSE": float(np.sqrt(squared.mean())),
        "WAPE": float(np.abs(residual).mean() / np.abs(truth).mean()),
        "MAE": float(np.abs(residual).mean()),
    }


def _arguments(random: Random, n_series: int) -> tuple[Floats, Floats, Mapping[str, Any]]:
    """The truth, the residuals, and what is said of the series."""
    past, truth, residual = _series(random, n_series)
    names = [f"s{k}" for k in range(n_series)]
    said = {"series": np.repeat(names, HORIZON), "training": dict(zip(names, past, strict=True))}
    return truth.ravel(), residual.ravel(), {**said, "measures": MEASURES, "curves": False}


def forecasts(n_series: int) -> World:
    """A forecast of each series."""

    def draw(random: Random) -> Evaluate:
        truth, residual, said = _arguments(random, n_series)
        return partial(cal.regression, truth, truth + residual, **said)

    return World("forecasts", "one", f"{n_series} series", _truth, draw, n_series >= 40)


def forecast_pairs(n_series: int) -> World:
    """Two forecasts that are equally good, of which each row has errors of its own as well."""
    none = dict.fromkeys(MEASURES, 0.0)

    def draw(random: Random) -> Evaluate:
        truth, residual, said = _arguments(random, n_series)
        spread = np.abs(residual)
        systems = {
            name: truth + residual + spread * random.normal(size=len(truth))
            for name in ("base", "new")
        }
        return partial(cal.regression, truth, systems, **said)

    return World("forecasts", "two alike", f"{n_series} series", lambda: none, draw, n_series >= 40)


MEMBERS = 20
OF_ENSEMBLES = ("CRPS", "CRPS(fair=True)", "WQL", "interval-coverage@0.9", "RMSE")
#: How wide ensembles are, over the spread of what is forecast.
WIDTHS = {"an ensemble": 1.0, "an ensemble that is too narrow": 0.6}


def _ensemble(random: Random, rows: int, width: float) -> tuple[Floats, Floats]:
    """The truth and the members, about the same middle."""
    centre, spread = random.normal(size=rows), np.exp(random.normal(0, SIZES, rows))
    members = centre[:, None] + width * spread[:, None] * random.normal(size=(rows, MEMBERS))
    return centre + spread * random.normal(size=rows), members


@cache
def _ensemble_truth(width: float) -> Mapping[str, float]:
    """Means over very many rows."""
    truth, members = _ensemble(np.random.default_rng(0), 400_000, width)
    error = np.abs(members - truth[:, None]).mean()
    # Two members differ by √2 of a normal deviate.
    apart = width * float(np.exp(SIZES**2 / 2)) * 2 / np.sqrt(np.pi)
    crps = error - apart * (1 - 1 / MEMBERS) / 2
    ordered = np.sort(members, axis=1)
    low, high = (ordered[:, k : k + 2].mean(axis=1) for k in (0, MEMBERS - 2))
    return {
        "CRPS": float(crps),
        "CRPS(fair=True)": float(error - apart / 2),
        "WQL": float(crps / np.abs(truth).mean()),
        "interval-coverage@0.9": float(((low <= truth) & (truth <= high)).mean()),
        "RMSE": float(np.sqrt(np.square(members.mean(axis=1) - truth).mean())),
    }


def ensembles(rows: int, word: str) -> World:
    """One system."""
    width = WIDTHS[word]

    def draw(random: Random) -> Evaluate:
        truth, members = _ensemble(random, rows, width)
        return partial(cal.regression, truth, ensemble=members, measures=OF_ENSEMBLES, curves=False)

    found = partial(_ensemble_truth, width)
    return World("forecasts", word, f"{rows} rows", found, draw, rows >= 400)


def joint_ensembles(rows: int) -> World:
    """Ten members of two independent outputs, drawn as the truth is about what is predicted."""
    size = 10
    of_two = math.sqrt(math.pi)  # the mean distance of two
    root = math.sqrt(2.0) * math.gamma(0.75) / math.sqrt(math.pi)  # of |y₁ − y₂|, its root
    variance = 2 / math.sqrt(math.pi) - root**2
    truth_of_scores = {
        "energy-score": of_two * (1 - (1 - 1 / size) / 2),
        "energy-score(fair=True)": of_two / 2,
        "variogram-score": 2 * variance * (1 + 1 / size),
    }

    def draw(random: Random) -> Evaluate:
        centre = np.repeat(random.normal(size=(rows, 1)), 2, axis=1)
        truth = centre + random.normal(size=(rows, 2))
        members = centre[:, None] + random.normal(size=(rows, size, 2))
        measures = tuple(truth_of_scores)
        return partial(cal.regression, truth, ensemble=members, measures=measures, curves=False)

    name = "of two outputs"
    return World("ensembles", name, f"{rows} rows", lambda: truth_of_scores, draw, rows >= 400)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(make(n) for make in (forecasts, forecast_pairs) for n in (10, 40, 200)),
        *(ensembles(n, word) for word in WIDTHS for n in (20, 100, 400)),
        *(joint_ensembles(n) for n in (20, 100, 400)),
    ]
