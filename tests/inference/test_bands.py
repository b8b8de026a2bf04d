"""Bands that hold for a whole curve: how often the true curve stays within them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, kstwo, norm

import calipers as cal
from calipers import _core
from calipers.curves import score_data
from calipers.inference.bands import (
    ThresholdReplicates,
    kolmogorov_distance,
    pointwise_band,
    precision_limits,
    roc_limits,
    simultaneous_band,
)
from calipers.inference.settings import Settings
from calipers.statistics import ScoreTable

GRID = np.linspace(0, 1, 101)
INNER = GRID[1:]


@pytest.mark.parametrize("n", [5, 50, 1000])
def test_the_distance_is_kolmogorovs_or_more(n: int) -> None:
    for level in (0.8, 0.95, 0.99):
        exact = kstwo.ppf(level, n)
        assert exact <= kolmogorov_distance(n, level) <= 1.12 * exact


def test_a_replicate_by_hand() -> None:
    """5 positives and 5 negatives; two scores lie between the last places."""
    positive, negative = np.array([[0.0, 2, 3, 5]]), np.array([[0.0, 1, 1, 5]])
    drawn = ThresholdReplicates(np.array([0, 1, 2, 4]), positive, negative)
    at = np.array([1, 2])
    tpr, fpr = drawn.rates(at)
    assert (tpr.tolist(), fpr.tolist()) == ([[0.4, 0.6]], [[0.2, 0.2]])
    np.testing.assert_allclose(drawn.tpr(np.array([0.1, 0.2, 0.6])), [[0.2, 0.6, 0.8]])
    np.testing.assert_allclose(
        drawn.precision(np.array([0.4, 0.5, 0.8, 0.9])),
        [[2 / 3, 3 / 4, 4 / (4 + 3), 4.5 / (4.5 + 4)]],
    )
    np.testing.assert_allclose(drawn.gain(np.array([0.15, 0.35, 0.7])), [[0.2, 0.5, 0.8]])
    benefit = drawn.net_benefit(at, np.array([0.2, 0.4]))
    np.testing.assert_allclose(benefit, [[(2 - 1 / 4) / 10, (3 - 2 / 3) / 10]])


def test_percentiles_at_each_place() -> None:
    """Of those that have a value, where these are 95 of 100."""
    x = np.arange(100.0)[:, None] * [1, 2, 3]
    x[:5, 1], x[:6, 2] = np.nan, np.nan
    low, high = pointwise_band(x, 0.9)
    for place in (0, 1):
        some = x[np.isfinite(x[:, place]), place]
        expected = np.quantile(some, [0.05, 0.95])
        assert [low[place], high[place]] == pytest.approx(expected)
    assert np.isnan([low[2], high[2]]).all()


def points(table: ScoreTable) -> tuple[np.ndarray, np.ndarray]:
    matrix = table.confusion()
    return matrix.fp / matrix.negative, matrix.tp / matrix.positive


def test_the_precision_band_of_rectangles_and_prevalences() -> None:
    """The most and the least of πr/(πr + (1 − π)f) within rectangles about the points, π within
    Clopper and Pearson's limits; each of the three at the cube root of the level."""
    generator = np.random.default_rng(1)
    truth = generator.random(400) < 0.3
    fpr, tpr = points(ScoreTable.from_rows(truth, 2 * truth + generator.normal(size=400)))
    p, n = int(truth.sum()), int((~truth).sum())
    low, high = precision_limits(fpr, tpr, (p, n), INNER, 0.9)
    each = 0.9 ** (1 / 3)
    tall, wide = (np.sqrt(np.log(2 / (1 - each)) / (2 * k)) for k in (p, n))
    rare, common = binomtest(p, p + n).proportion_ci(each, "exact")
    for r, a, b in zip(INNER, low, high, strict=True):
        below, above = tpr[tpr < r - tall], tpr[tpr > r + tall]
        least = max(fpr[len(below) - 1] - wide, 0) if len(below) else 0.0
        most = min(fpr[len(fpr) - len(above)] + wide, 1) if len(above) else 1.0
        assert a == pytest.approx(rare * r / (rare * r + (1 - rare) * most), rel=1e-9)
        assert b == pytest.approx(common * r / (common * r + (1 - common) * least), rel=1e-9)


@pytest.mark.parametrize("replicates", [40, 61])
@pytest.mark.parametrize("level", [0.3, 0.75, 0.9, 0.99])
def test_a_simultaneous_band_by_trying_all_ranks(replicates: int, level: float) -> None:
    """With ties, and 5% of the replicates without a value."""
    x = np.round(np.random.default_rng(2).normal(size=(replicates, 4)), 1)
    x[:2] = np.nan
    whole = np.sort(x[2:], axis=0)
    ranks = [
        k for k in range((len(whole) - 1) // 2 + 1)
        if k == 0 or ((x[2:] >= whole[k]) & (x[2:] <= whole[-1 - k])).all(axis=1).mean() >= level
    ]  # fmt: skip
    low, high = simultaneous_band(x, level)
    np.testing.assert_array_equal(low, whole[max(ranks)])
    np.testing.assert_array_equal(high, whole[-1 - max(ranks)])
    x[:4] = np.nan
    assert np.isnan(simultaneous_band(x, level)).all()


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


# --- Replicates of blocks of rows -----------------------------------------------------------------


def drawn(table: ScoreTable, places: np.ndarray, n_resamples: int) -> ThresholdReplicates:
    return ThresholdReplicates.draw_by_block(table, places, Settings("auto", 0.95, n_resamples, 0))


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_vary_as_the_draws_of_their_rows(weighted: bool) -> None:
    """The sum of wN over rows, each N of Poisson(1), has the mean Σw and the variance Σw²."""
    generator = np.random.default_rng(3)
    truth, score = generator.random(4000) < 0.3, generator.random(4000)
    weight = generator.random(4000) * 3 if weighted else np.ones(4000)
    table = ScoreTable.from_rows(truth, score, weight if weighted else None)
    places = np.array([1, 5, 300, 2000, 2001, 3500])
    counted = drawn(table, places, 4000)
    assert counted.threshold_indices.tolist() == [0, *places, 4000]
    order = np.argsort(-score)
    for running, of in ((counted.positive, truth), (counted.negative, ~truth)):
        assert (running[:, 0] == 0).all()
        for at, place in enumerate(counted.threshold_indices):
            own = weight[order[:place]] * of[order[:place]]
            mean, variance = own.sum(), (own**2).sum()
            error = np.sqrt(variance / 4000)
            assert abs(running[:, at].mean() - mean) <= 4 * error
            if place:
                found = running[:, at].var() / max(variance, 1e-300)
                assert abs(found - 1) <= 0.12 or variance == 0


def test_blocks_of_one_score_are_read_at_their_ends() -> None:
    """Precision as at the thresholds there are, TPR on the straight lines between them."""
    generator = np.random.default_rng(4)
    truth = generator.random(300) < 0.4
    table = ScoreTable.from_rows(truth, generator.integers(0, 8, 300).astype(float))
    counted = drawn(table, np.arange(9), 60)
    precision, tpr = counted.precision(GRID), counted.tpr(GRID)
    for b in range(60):
        tp, fp = counted.positive[b], counted.negative[b]
        for at, share in enumerate(GRID):
            reached = next(k for k in range(9) if tp[k] >= share * tp[-1] and tp[k] + fp[k] > 0)
            assert precision[b, at] == pytest.approx(tp[reached] / (tp[reached] + fp[reached]))
            last = max(k for k in range(9) if fp[k] / fp[-1] <= share)
            if last == 8:
                assert tpr[b, at] == 1
                continue
            way = (share * fp[-1] - fp[last]) / (fp[last + 1] - fp[last])
            expected = (tp[last] + way * (tp[last + 1] - tp[last])) / tp[-1]
            assert tpr[b, at] == pytest.approx(expected)


def test_replicates_of_one_class_have_no_curve() -> None:
    table = ScoreTable.from_rows(np.arange(50) == 20, np.arange(50.0))
    counted = drawn(table, np.arange(51), 200)
    alone = counted.positive[:, -1] == 0
    assert 40 < alone.sum() < 110  # a share of 1/e
    for curve in (counted.tpr(GRID), counted.precision(GRID)):
        assert (np.isnan(curve).all(axis=1) == alone).all()
        assert (np.isfinite(curve).all(axis=1) == ~alone).all()


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [9, 1])
def test_bands_of_blocks_are_those_of_rows(decimals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    truth = generator.random(6000) < 0.3
    score = (truth + generator.normal(size=6000)).round(decimals)
    found = {}
    for most in (5000, 6000):
        monkeypatch.setattr(score_data, "_MAX_RESAMPLED_ROWS", most)
        ev = cal.classification(truth, score=score, measures=["AUC"])
        if most == 5000:
            monkeypatch.setattr(_core, "bootstrap_scores", None)
        found[most] = {kind: cal.curve(ev, kind) for kind in ("ROC", "PR", "gain", "cost")}
        monkeypatch.undo()
    for kind, block in found[5000].items():
        row = found[6000][kind]
        np.testing.assert_array_equal(block.band_x, row.band_x)
        inside = (row.band_x > 0.005) & (row.band_x < 0.995)
        width = (row.high - row.low)[inside]
        for edge in ("low", "high"):
            apart = np.abs(getattr(block, edge) - getattr(row, edge))[inside]
            # Both edges are quantiles of 2,000 draws, each with an error of 1.5% of the width.
            assert np.quantile(apart / np.maximum(width, 1e-3), 0.9) < 0.06, (kind, edge)
