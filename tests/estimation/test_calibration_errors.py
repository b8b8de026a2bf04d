"""Intervals of errors of calibration, against SciPy's distributions and simulated data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

import calipers as cal
from calipers.estimation.calibration import Bins, ProbabilityRows
from calipers.estimation.scores import ScoredRows
from calipers.inference.clusters import ClusterIndex
from calipers.inference.intervals import Interval
from calipers.inference.settings import Settings

ROWS = np.array([40.0, 25.0, 60.0])
PROBABILITY = np.array([0.1, 0.45, 0.8])


def bins(*share: float) -> Bins:
    return Bins(ROWS / ROWS.sum(), ROWS, PROBABILITY, np.array(share))


def root_by_hand(b: Bins) -> tuple[float, float]:
    """Patnaik's noncentral chi-square, inverted."""
    seen = (b.proportion * b.effective_rows + 0.5) / (b.effective_rows + 1)
    low = []
    for s in (seen, b.probability):
        v = s * (1 - s) / b.effective_rows
        c = (b.weight**2 * v**2).sum() / (b.weight * v).sum()
        nu, q = (b.weight * v).sum() / c, (b.weight * b.calibration_error**2).sum() / c

        def inverse(q: float, p: float, nu: float = nu, c: float = c) -> float:
            def apart(x: float) -> float:
                return float(stats.ncx2.cdf(q, nu, x)) - p

            start = 1e-9
            return float(np.sqrt(c * brentq(apart, start, 1e5))) if apart(start) > 0 else 0.0

        low.append(inverse(q, 0.975))
        if s is seen:
            high = inverse(max(q, stats.chi2.median(nu)), 0.025)
    return min(low), high


@pytest.mark.parametrize("share", [(0.3, 0.2, 0.95), (0.1, 0.44, 0.8), (0.0, 0.0, 1.0)])
def test_limits_of_the_root_mean_square_and_the_mean(share: tuple[float, ...]) -> None:
    b = bins(*share)
    low, high = root_by_hand(b)
    made = b.rms_error_interval(0.95)
    assert (made.low, made.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)
    ratio = (b.weight * np.abs(b.calibration_error)).sum() / np.sqrt(
        (b.weight * b.calibration_error**2).sum()
    )
    mean = b.mean_error_interval(0.95)
    expected = low * ratio, high * max(ratio, 0.9)
    assert (mean.low, mean.high) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_far_beyond_what_chance_makes_it_is_normal() -> None:
    n = np.full(10, 1e5)
    b = Bins(np.full(10, 0.1), n, np.linspace(0.1, 0.9, 10), np.linspace(0.2, 0.8, 10))
    low, high = root_by_hand(b)
    made = b.rms_error_interval(0.95)
    assert (made.low, made.high) == pytest.approx((low, high), rel=1e-4)


def test_limits_of_the_largest() -> None:
    b = bins(0.3, 0.2, 1.0)
    hits = np.round(b.proportion * b.effective_rows)

    def exact(tail: float) -> tuple[np.ndarray, np.ndarray]:
        low = stats.beta.ppf(tail, hits, b.effective_rows - hits + 1)
        high = stats.beta.ppf(1 - tail, hits + 1, b.effective_rows - hits)
        return np.where(hits == 0, 0.0, low), np.where(hits == b.effective_rows, 1.0, high)

    made = b.max_error_interval(0.95)
    low, high = exact(0.025)
    above = np.maximum(np.abs(low - PROBABILITY), np.abs(high - PROBABILITY)).max()
    low, high = exact(0.025 / 3)
    below = max(np.maximum(low - PROBABILITY, PROBABILITY - high).max(), 0)
    assert (made.low, made.high) == pytest.approx((below, above), rel=1e-9)


MEASURES = ["ECE", "RMSCE(bins=5)", "MCE(bins=5)", "ECE(estimator='sweep')"]


@pytest.mark.parametrize("interval", ["auto", "analytic"])
def test_no_interval_is_without_length(interval: str) -> None:
    """Where probabilities are as right as they can be, or wrong with certainty."""
    p = np.repeat([0.25, 0.5, 0.75], 40)
    right = np.tile([1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0], 10).reshape(10, 3, 4)
    calibrated = right.transpose(1, 0, 2).ravel()
    certain = np.repeat([1, 0], 60)
    for truth, said in ((calibrated, p), (certain, 1.0 * certain), (certain, 1.0 - certain)):
        ev = cal.classification(truth, probability=said, measures=MEASURES, interval=interval)
        for e in ev:
            if np.isfinite(e.value):
                assert 0 <= e.low <= e.value <= e.high <= 1
                assert e.high - e.low > 0.01, (e.measure, e.method)


@pytest.mark.slow
def test_calibrated_and_too_extreme_probabilities() -> None:
    """RMSCE had [0, 0] for nearly half of calibrated data sets, and MCE of probabilities that are
    too extreme held the truth 13 times of 100."""
    random = np.random.default_rng(3)
    held = {"ECE(bins=10)": 0, "RMSCE(bins=10)": 0, "MCE(binning='equal-mass', bins=10)": 0}
    simulations = 60
    for slope, exact in ((1.0, (0.0, 0.0, 0.0)), (1.5, (0.0606, 0.0656, 0.0890))):
        for _ in range(simulations):
            logit = 1.2 * random.normal(size=250)
            y = random.random(250) < 1 / (1 + np.exp(-logit))
            p = 1 / (1 + np.exp(-slope * logit))
            ev = cal.classification(
                y, probability=p, measures=list(held), interval="analytic", curves=False
            )
            for (name, truth), e in zip(zip(held, exact, strict=True), ev, strict=True):
                held[name] += e.low <= truth <= e.high
                assert e.low < e.high
    assert all(count >= 0.93 * 2 * simulations for count in held.values()), held


def test_rows_in_clusters_count_for_fewer() -> None:
    random = np.random.default_rng(4)
    p = np.repeat(random.uniform(0.1, 0.9, 40), 10)
    y = np.repeat(random.random(40) < p[::10], 10)
    site = np.repeat(np.arange(40), 10)
    alone = cal.classification(y, probability=p, measures=["RMSCE"])["RMSCE"]
    made = cal.classification(y, probability=p, measures=["RMSCE"], cluster=site)["RMSCE"]
    of_clusters = cal.classification(y[::10], probability=p[::10], measures=["RMSCE(bins=14)"])
    assert "40 clusters" in made.method
    assert alone.low > 0.1
    assert made.low < 0.05  # ten equal rows say no more than one
    assert made.high == pytest.approx(of_clusters[0].high, rel=0.2)


def test_scores_without_weight_are_in_no_bin() -> None:
    random = np.random.default_rng(0)
    site = np.repeat(np.arange(30), 10)
    p = np.round(random.random(300), 1)
    y = random.random(300) < np.clip(p**3 + random.normal(0, 0.3, 30)[site], 0, 1)
    weight = np.ones(300)
    weight[::10] = 0
    p[::10] = 0.2 + site[::10] / 1000
    used = weight > 0

    def interval(rows: Any) -> Interval:
        clusters = ClusterIndex(site[rows].astype(np.uint32), 30, weight[rows])
        sample = ScoredRows(y[rows], p[rows], weight[rows], clusters, Settings())
        return ProbabilityRows(sample).point_estimate(cal.measure("ECE")).methods["of bins"](0.95)

    assert interval(slice(None)) == interval(used)
