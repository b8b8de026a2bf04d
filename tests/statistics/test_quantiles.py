"""Quantiles of samples are those of NumPy, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from calipers.statistics.base import sample_quantiles


@pytest.mark.parametrize("n", [1, 2, 3, 40, 41, 2000])
def test_quantiles_are_those_of_numpy(n: int) -> None:
    random = np.random.default_rng(n)
    for values in (random.normal(size=n), np.round(random.normal(size=n), 1), np.full(n, 0.3)):
        missing = np.append(values, np.nan)
        assert_array_equal(sample_quantiles(missing, [0.0, 0.5]), [np.nan, np.nan])
        for level in (0.5, 0.9, 0.95, 0.99, 1.0):
            probabilities = [(1 - level) / 2, (1 + level) / 2, random.random(), 0.5]
            assert_array_equal(
                sample_quantiles(values, probabilities), np.quantile(values, probabilities)
            )
