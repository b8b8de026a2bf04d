"""Confidence limits of the ranks of several estimates, from simultaneous intervals of all pairs."""

from __future__ import annotations

import math

import numpy as np

from calipers.inference.max_statistic import MaxStatistic, t_quantile
from calipers.inference.method_limits import N_DRAWN_MAXIMA
from calipers.statistics import FloatArray, IntArray

#: With more pairs, Bonferroni's bound is used: of 2,000 pairs of independent estimates its
#: intervals are 2% wider, and of 20,000 pairs 1.5%.
_MAX_PAIRS = 2_000
#: Number of elements that are drawn at a time.
_AT_ONCE = 1 << 18


def pairwise_maxima(covariance: FloatArray, seed: int) -> MaxStatistic:
    """Return the maximum statistic of all pairwise differences of normal estimates.

    A difference is divided by its standard error. It is the studentized range of correlated
    estimates with known covariance, divided by √2.

    Examples
    --------
    >>> maxima = pairwise_maxima(np.eye(3), seed=0)  # Tukey's q of 3 means is 3.314
    >>> round(math.sqrt(2) * maxima.critical_value(0.025), 1), maxima.n_tests
    (3.3, 3)
    """
    k = len(covariance)
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    # The symmetric root, which is unique and continuous.
    root = (eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ eigenvectors.T
    with np.errstate(divide="ignore"):
        scales = 1 / pair_errors(covariance)
    scales[~np.isfinite(scales)] = 0.0  # a pair that does not vary is never the maximum
    random = np.random.Generator(np.random.Philox(seed))
    maxima = np.zeros((3, N_DRAWN_MAXIMA))
    maxima[1:] = -math.inf
    step = max(1, _AT_ONCE // k)
    for begin in range(0, N_DRAWN_MAXIMA, step):
        batch = slice(begin, min(begin + step, N_DRAWN_MAXIMA))
        draws = root @ random.standard_normal((k, batch.stop - begin))
        for i in range(k - 1):
            differences = (draws[i] - draws[i + 1 :]) * scales[i, i + 1 :, None]
            np.maximum(maxima[1, batch], differences.max(axis=0), out=maxima[1, batch])
            np.maximum(maxima[2, batch], -differences.min(axis=0), out=maxima[2, batch])
    maxima[0] = np.maximum(maxima[1], maxima[2])
    return MaxStatistic(maxima, k * (k - 1) // 2, is_normal=True)


def pair_errors(covariance: FloatArray) -> FloatArray:
    """Return the standard error of each difference of two estimates."""
    variances = np.diag(covariance)
    return np.sqrt(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))


def rank_limits(
    values: FloatArray,
    covariance: FloatArray,
    level: float,
    df: FloatArray | float | None,
    seed: int,
) -> tuple[IntArray, IntArray]:
    """Return the lowest and the highest rank that each estimate may have; the best has rank 1.

    The rank is at least 1 plus the number of estimates that are significantly higher, and at most
    the number of all minus those that are significantly lower, by simultaneous tests of all pairs.
    All ranks are covered together with at least the probability ``level`` (Mogstad, Romano, Shaikh
    and Wilhelm 2024).

    Degrees of freedom ``df`` may be those of each pair; with less than 1, its difference is never
    significant. None stands for the normal distribution.

    Examples
    --------
    >>> low, high = rank_limits(np.array([3.0, 0.0, 0.1]), np.eye(3) / 4, 0.95, None, seed=0)
    >>> low.tolist(), high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    k = len(values)
    if k < 2:
        return np.ones(k, np.int64), np.ones(k, np.int64)
    n_pairs, tail = k * (k - 1) // 2, (1 - level) / 2
    if n_pairs > _MAX_PAIRS:
        tail /= n_pairs
    else:
        tail = pairwise_maxima(covariance, seed).single_test_tail(tail)
    degrees = np.asarray(math.inf if df is None else df)
    critical = -t_quantile(tail, np.maximum(degrees, 1.0)) * pair_errors(covariance)
    higher = (values[:, None] - values > critical) & (degrees >= 1)
    return 1 + higher.sum(axis=0), k - higher.sum(axis=1)
