"""Bands that hold for a whole curve: how often the true curve stays within them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstwo, norm

from calipers.inference.bands import kolmogorov_distance, precision_limits, roc_limits
from calipers.statistics import ScoreTable

GRID = np.linspace(0, 1, 101)
INNER = GRID[1:]


@pytest.mark.parametrize("n", [5, 50, 1000])
def test_the_distance_is_kolmogorovs_or_more(n: int) -> None:
    for level in (0.8, 0.95, 0.99):
        exact = kstwo.ppf(level, n)
        assert exact <= kolmogorov_distance(n, level) <= 1.12 * exact


def points(table: ScoreTable) -> tuple[np.ndarray, np.ndarray]:
    matrix = table.confusion()
    return matrix.fp / matrix.negative, matrix.tp / matrix.positive


def test_the_roc_band_is_the_union_of_rectangles() -> None:
    generator = np.random.default_rng(0)
    truth = generator.random(60) < 0.5
    fpr, tpr = points(ScoreTable.from_rows(truth, truth + generator.normal(size=60)))
    sizes = float(truth.sum()), float((~truth).sum())
    low, high = roc_limits(fpr, tpr, sizes, GRID, 0.9)
    tall, wide = (kolmogorov_distance(n, np.sqrt(0.9)) for n in sizes)
    for f, a, b in zip(GRID, low, high, strict=True):
        near = np.abs(fpr - f) <= wide
        assert a <= max(tpr[near].min() - tall, 0) + 1e-12
        assert b >= min(tpr[near].max() + tall, 1) - 1e-12
        # No wider than the next points on both sides make it.
        assert a >= tpr[fpr < f - wide].max(initial=0.0) - tall - 1e-12
        assert b <= tpr[fpr > f + wide].min(initial=1.0) + tall + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("positives", "negatives", "apart", "digits"),
    [(30, 30, 1.0, 9), (100, 100, 2.0, 9), (50, 1000, 1.0, 9), (100, 100, 1.0, 0)],
)
def test_the_true_curve_stays_within_its_bands(
    positives: int, negatives: int, apart: float, digits: int
) -> None:
    """Normal scores, whose curves are known; with ``digits`` 0 most of them are tied."""
    generator = np.random.default_rng(1)
    cuts = np.linspace(-6, 8, 4001) if digits else np.arange(-6, 9) - 0.5
    true_fpr, true_tpr = (norm.sf(cuts[::-1], loc=middle) for middle in (0.0, apart))
    share = positives / (positives + negatives)
    kept = {"ROC": 0, "PR": 0}
    trials = 400
    for _ in range(trials):
        n = positives + negatives
        truth = generator.random(n) < share
        score = np.round(apart * truth + generator.normal(size=n), digits)
        fpr, tpr = points(ScoreTable.from_rows(truth, score))
        sizes = float(truth.sum()), float((~truth).sum())
        low, high = roc_limits(fpr, tpr, sizes, GRID, 0.9)
        true = np.interp(GRID, true_fpr, true_tpr)
        kept["ROC"] += bool(np.all((low <= true + 1e-4) & (true <= high + 1e-4)))
        low, high = precision_limits(fpr, tpr, sizes, INNER, 0.9)
        at = np.interp(INNER, true_tpr, true_fpr)
        true = share * INNER / (share * INNER + (1 - share) * at)
        kept["PR"] += bool(np.all((low <= true + 1e-4) & (true <= high + 1e-4)))
    # Three standard errors below 90%; both promise 90% or more.
    assert min(kept.values()) / trials >= 0.9 - 3 * np.sqrt(0.09 / trials), kept


def test_better_data_make_narrower_bands() -> None:
    widths = []
    for n in (50, 500, 5000):
        generator = np.random.default_rng(2)
        truth = generator.random(n) < 0.4
        fpr, tpr = points(ScoreTable.from_rows(truth, truth + generator.normal(size=n)))
        sizes = float(truth.sum()), float((~truth).sum())
        for limits in (roc_limits, precision_limits):
            low, high = limits(fpr, tpr, sizes, GRID, 0.95)
            assert np.all((low >= 0) & (low <= high) & (high <= 1))
            widths.append((high - low).mean())
    assert widths[0] > widths[2] > widths[4]
    assert widths[1] > widths[3] > widths[5]
