"""Curves of calibration: against scikit-learn, and how often their bands hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import calibration, isotonic

import calipers as cal
from calipers.curves.calibration import calibrated_fits
from calipers.inference.bands import simultaneous_band
from calipers.inference.settings import Settings
from calipers.statistics import ScoreTable
from calipers.statistics.calibration import ProbabilityLevels


def rows(seed: int, n: int, stretch: float = 1.7) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are right if ``stretch`` is 1, and overconfident above."""
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    return random.random(n) < 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-stretch * x))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_the_isotonic_regression(weighted: bool) -> None:
    truth, p = rows(8, 300)
    weight = np.random.default_rng(8).uniform(0.1, 3, 300) if weighted else None
    ev = cal.classification(
        truth, probability=p, weight=weight, measures=["Brier"], n_resamples=100
    )
    curve = cal.curve(ev, "calibration")
    fit = isotonic.IsotonicRegression().fit(p, truth, sample_weight=weight)
    np.testing.assert_allclose(curve.y, fit.predict(curve.x), atol=1e-12)
    np.testing.assert_allclose(np.interp(p, curve.x, curve.y), fit.predict(p), atol=1e-12)
    assert curve.parameter == ("weight" if weighted else "rows")
    assert (curve.low <= curve.high).all()
    assert (curve.simultaneous_low <= curve.low).all()
    assert (curve.simultaneous_high >= curve.high).all()


def test_the_bins_are_those_of_scikit_learn() -> None:
    truth, p = rows(9, 300)
    ev = cal.classification(truth, probability=p, measures=["Brier"], interval="none")
    share, mean = calibration.calibration_curve(truth, p, n_bins=10, strategy="quantile")
    curve = cal.curve(ev, "calibration by bins")
    np.testing.assert_allclose(curve.x, mean)
    np.testing.assert_allclose(curve.y, share)
    np.testing.assert_array_equal(curve.threshold, np.full(10, 30))
    from calipers.inference.proportions import wilson

    limits = [wilson(y, 30, 0.95) for y in share]
    np.testing.assert_allclose(curve.low, [x.low for x in limits])
    np.testing.assert_allclose(curve.high, [x.high for x in limits])


def test_bins_as_asked_for() -> None:
    truth, p = rows(9, 300)
    ev = cal.classification(truth, probability=p, measures=["Brier"], interval="none")
    for ours, theirs in (("equal-width", "uniform"), ("equal-mass", "quantile")):
        share, mean = calibration.calibration_curve(truth, p, n_bins=6, strategy=theirs)
        curve = cal.curve(ev, "calibration by bins", bins=6, binning=ours)
        np.testing.assert_allclose(curve.x, mean)
        np.testing.assert_allclose(curve.y, share)
        assert curve.threshold.sum() == 300
        assert curve.method == f"Wilson [W], 6 bins of {ours.replace('-', ' ')}"
    for wrong in ({"bins": 0}, {"binning": "distinct"}, {"binning": "deciles"}):
        with pytest.raises(cal.InputError, match="expected"):
            cal.curve(ev, "calibration by bins", **wrong)
    with pytest.raises(cal.InputError, match="apply to 'calibration by bins', not to 'ROC'"):
        cal.curve(ev, "ROC", bins=5)


def test_the_histogram_holds_all_rows() -> None:
    truth, p = rows(10, 400)
    p[:3] = 0.0, 1.0, 0.5
    ev = cal.classification(truth, probability=p, measures=["Brier"], interval="none")
    curve = cal.curve(ev, "probabilities")
    expected, _ = np.histogram(p, np.linspace(0, 1, 21))
    np.testing.assert_allclose(curve.y[:-1], expected / 400)


@pytest.mark.slow
def test_the_band_holds_the_curves_of_calibrated_probabilities() -> None:
    inside, whole = [], []
    for seed in range(60):
        truth, p = rows(seed, 250, 1.0)
        ev = cal.classification(truth, probability=p, measures=["Brier"], n_resamples=1000)
        curve = cal.curve(ev, "calibration")
        y = np.interp(curve.band_x, curve.x, curve.y)
        within = (y >= curve.low - 1e-12) & (y <= curve.high + 1e-12)
        inside.append(within[10:-10].mean())
        whole.append(
            ((y >= curve.simultaneous_low - 1e-12) & (y <= curve.simultaneous_high + 1e-12)).all()
        )
    assert 0.92 <= np.mean(inside) <= 0.99
    assert np.mean(whole) >= 0.88
    truth, p = rows(1, 2000, 2.5)
    ev = cal.classification(truth, probability=p, measures=["Brier"], n_resamples=300)
    curve = cal.curve(ev, "calibration")
    y = np.interp(curve.band_x, curve.x, curve.y)
    assert ((y < curve.low) | (y > curve.high)).any()


def test_the_band_of_many_levels_is_that_of_their_means() -> None:
    truth, p = rows(11, 6000, 1.0)
    levels = ProbabilityLevels.from_table(ScoreTable.from_rows(truth, p))
    grid = np.linspace(0.2, 0.8, 7)
    coarse = calibrated_fits(levels, 1.0, grid, Settings(n_resamples=300))
    fine = calibrated_fits(
        levels.merge_levels(levels.equal_mass_starts(1999)),
        1.0,
        grid,
        Settings(n_resamples=300, seed=1),
    )
    np.testing.assert_allclose(coarse.std(axis=0), fine.std(axis=0), rtol=0.2)
    np.testing.assert_allclose(coarse.mean(axis=0), grid, atol=0.01)


def test_a_simultaneous_band_holds_its_share_of_curves() -> None:
    random = np.random.default_rng(12)
    replicates = np.cumsum(random.normal(size=(1000, 20)), axis=1)
    low, high = simultaneous_band(replicates, 0.9)
    inside = ((replicates >= low) & (replicates <= high)).all(axis=1).mean()
    assert 0.9 <= inside <= 0.92
    missing = np.full((10, 3), np.nan)
    assert np.isnan(simultaneous_band(missing, 0.9)).all()
