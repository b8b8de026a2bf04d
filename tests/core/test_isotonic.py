"""Isotonic fits against scikit-learn, level by level."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.isotonic import isotonic_regression

from calipers._core import isotonic_blocks, isotonic_fits, poisson_draws


@pytest.mark.parametrize("levels", [0, 1, 2, 40, 3000])
@pytest.mark.parametrize("most", [1, 30])
def test_blocks_are_where_the_fit_moves(levels, most):
    draw = np.random.default_rng(levels + most)
    total = draw.integers(1, most + 1, levels).astype(float)
    positive = draw.binomial(total.astype(int), np.sort(draw.random(levels))).astype(float)
    first = isotonic_blocks(positive, total)
    if not levels:
        assert len(first) == 0
        return
    fit = isotonic_regression(positive / total, sample_weight=total)
    assert_array_equal(first, np.append(0, np.flatnonzero(np.diff(fit) > 1e-12) + 1))


@pytest.mark.parametrize(("levels", "mean"), [(1, 0.5), (5, 0.5), (200, 1.0), (200, 20.0)])
def test_fits_of_replicates(levels, mean):
    """Levels that were not drawn are left out, and straight lines lead over them."""
    draw = np.random.default_rng(levels)
    p = np.sort(draw.random(levels))
    means = mean * np.concatenate([p, 1 - p])
    counts = poisson_draws(means, 3, 50)
    grid = np.union1d(np.linspace(0, 1, 31), p[: levels // 2])
    fits = isotonic_fits(p, means, grid, 3, 50)
    assert fits.shape == (50, len(grid))
    for fit, own in zip(fits, counts, strict=True):
        positive, negative = own[:levels], own[levels:]
        total = positive + negative
        drawn = total > 0
        if not drawn.any():
            assert np.isnan(fit).all()
            continue
        share = positive[drawn] / total[drawn]
        expected = isotonic_regression(share, sample_weight=total[drawn].astype(float))
        assert_allclose(fit, np.interp(grid, p[drawn], expected), atol=1e-12)


def test_wrong_shapes():
    p, grid = np.array([0.1, 0.2]), np.array([0.5])
    with pytest.raises(ValueError, match="mean"):
        isotonic_fits(p, np.zeros(3), grid, 0, 2)
    with pytest.raises(ValueError, match="total"):
        isotonic_blocks(p, np.ones(3))
    assert isotonic_fits(p, np.zeros(4), grid, 0, 0).shape == (0, 1)
    assert isotonic_fits(p, np.zeros(4), grid[:0], 0, 3).shape == (3, 0)
    assert np.isnan(isotonic_fits(grid[:0], grid[:0], grid, 0, 3)).all()
    with pytest.raises(ValueError, match="a mean must be"):
        isotonic_fits(p, np.array([1.0, np.nan, 1.0, 1.0]), grid, 0, 2)
