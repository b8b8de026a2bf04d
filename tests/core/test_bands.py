"""Replicates of curves at the places of a grid, and Poisson counts of any mean."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chisquare, poisson

from calipers import _core


def test_lines_are_those_of_numpy_digit_for_digit() -> None:
    random = np.random.default_rng(0)
    x = np.cumsum(random.integers(0, 3, (40, 30)) / 7, axis=1)
    y = np.cumsum(random.random((40, 30)), axis=1)
    grid = np.union1d(np.linspace(-1, 12, 60), x[0])
    wanted = [np.interp(grid, *row) for row in zip(x, y, strict=True)]
    assert_array_equal(_core.interpolated_rows(x, y, grid), wanted)
    assert _core.interpolated_rows(np.zeros((0, 3)), np.zeros((0, 3)), grid).shape == (0, len(grid))


def precision_at(tp: np.ndarray, fp: np.ndarray, several: np.ndarray, recall: float) -> float:
    """At the first threshold that reaches the recall with a predicted positive, or before it."""
    target = recall * tp[-1]
    k = next(k for k in range(len(tp)) if tp[k] >= target and tp[k] + fp[k] > 0)
    way = 1.0
    if several[k] and tp[k] > target > 0:
        way = (target - tp[k - 1]) / (tp[k] - tp[k - 1])
    hits = tp[k - 1] + way * (tp[k] - tp[k - 1])
    return float(hits / (hits + (fp[k - 1] + way * (fp[k] - fp[k - 1]))))


def test_precision_of_replicates_threshold_by_threshold() -> None:
    random = np.random.default_rng(1)
    steps = random.poisson(0.7, (2, 60, 25)).astype(float)
    steps[:, :, -1] += 1  # a row of each class at the least
    tp, fp = np.concatenate([np.zeros((2, 60, 1)), np.cumsum(steps, axis=2)], axis=2)
    several = np.append(False, random.random(25) < 0.5)
    grid = np.linspace(0, 1, 41)
    made = _core.replicate_precision(tp, fp, several, grid)
    for i in range(60):
        wanted = [precision_at(tp[i], fp[i], several, recall) for recall in grid]
        assert made[i] == pytest.approx(wanted, rel=1e-14)


def test_wrong_shapes_of_curves() -> None:
    matrix, grid = np.zeros((2, 3)), np.zeros(1)
    with pytest.raises(ValueError, match="y has"):
        _core.interpolated_rows(matrix, np.zeros((2, 2)), grid)
    with pytest.raises(ValueError, match="several has"):
        _core.replicate_precision(matrix, matrix, np.zeros(2, bool), grid)
    with pytest.raises(ValueError, match="two thresholds"):
        _core.replicate_precision(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(1, bool), grid)


@pytest.mark.parametrize("mean", [1e-4, 0.3, 1.0, 7.9, 31.25, 255.5, 256.0, 300.75, 5000.3])
def test_counts_have_the_distribution_of_poisson(mean: float) -> None:
    """Against the probabilities of SciPy, in cells with 20 draws or more."""
    draws = _core.poisson_draws(np.array([3.0, mean]), 7, 40_000)[:, 1]
    edges = np.unique(poisson.ppf(np.linspace(0.002, 0.998, 41), mean))
    cumulative = np.concatenate([[0.0], poisson.cdf(edges, mean), [1.0]])
    expected = np.diff(cumulative) * len(draws)
    counted = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
    keep = expected >= 1
    assert counted[~keep].sum() <= 10
    if keep.sum() > 1:
        scaled = expected[keep] * counted[keep].sum() / expected[keep].sum()
        assert chisquare(counted[keep], scaled).pvalue > 1e-4


def test_counts_of_means_and_replicates_are_independent_and_reproducible() -> None:
    means = np.array([0.0, 2.5, 2.5, 300.0, 40.0])
    draws = _core.poisson_draws(means, 1, 20_000)
    assert (draws[:, 0] == 0).all()
    assert np.abs(np.corrcoef(draws[:, 1:].T) - np.eye(4)).max() < 0.03
    assert abs(np.corrcoef(draws[:-1, 1], draws[1:, 1])[0, 1]) < 0.03
    assert_array_equal(draws[:50], _core.poisson_draws(means, 1, 50))
    assert (draws[:50] != _core.poisson_draws(means, 2, 50)).any()
    for wrong in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match="a mean must be"):
            _core.poisson_draws(np.array([wrong]), 0, 1)
