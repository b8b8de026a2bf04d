"""Limits of ranks: Tukey's distribution, and their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import studentized_range

from calipers.inference.rank_limits import pairwise_maxima, rank_limits


@pytest.mark.parametrize("k", [2, 3, 6, 20])
def test_independent_estimates_have_the_studentized_range(k: int) -> None:
    found = pairwise_maxima(3 * np.eye(k), seed=1).critical_value(0.025)
    expected = studentized_range.ppf(0.95, k, 1e7) / math.sqrt(2)
    assert found == pytest.approx(expected, rel=0.012)


def test_a_common_error_does_not_matter() -> None:
    one, two = (
        pairwise_maxima(np.eye(4) + shift, seed=1).critical_value(0.025) for shift in (0, 5)
    )
    assert one == pytest.approx(two, rel=0.02)


def test_limits_by_hand() -> None:
    low, high = rank_limits(np.array([0.0, 9.0, 9.1, 20.0]), np.eye(4), 0.95, None, 0)
    assert (low.tolist(), high.tolist()) == ([4, 2, 2, 1], [4, 3, 3, 1])
    for k in (0, 1):
        assert [x.tolist() for x in rank_limits(np.zeros(k), np.eye(k), 0.95, None, 0)] == [
            [1] * k,
            [1] * k,
        ]


def test_few_degrees_of_freedom_make_ranks_less_certain() -> None:
    values, covariance = np.array([3.0, 0.0]), np.eye(2)
    assert rank_limits(values, covariance, 0.95, None, 0)[1].tolist() == [1, 2]
    assert rank_limits(values, covariance, 0.95, 3, 0)[1].tolist() == [2, 2]


@pytest.mark.parametrize("k", [5, 70])
def test_all_ranks_are_covered_together(k: int) -> None:
    generator = np.random.default_rng(2)
    true = np.linspace(0, 3, k)
    root = np.eye(k) + 0.3 * generator.normal(size=(k, k)) / math.sqrt(k)
    covariance = root @ root.T * 0.2
    rank = k - np.arange(k)
    covered, size = 0, 0.0
    for _ in range(200):
        values = true + generator.multivariate_normal(np.zeros(k), covariance)
        low, high = rank_limits(values, covariance, 0.9, None, 0)
        covered += bool(((low <= rank) & (rank <= high)).all())
        size += float((high - low).mean()) / 200
    assert covered >= 180
    assert size < k - 1.5  # and they say something
