"""Intervals of proportions, and of the difference between two paired proportions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference.intervals import NAN, Interval, no_interval, normal_quantile

if TYPE_CHECKING:
    from calipers.statistics import FloatArray


def wilson(proportion: float, n: float, level: float) -> Interval:
    """Return Wilson's score interval of a proportion [W].

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = wilson(150 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.6857, 0.8049)
    """
    low, high = wilson_limits(np.float64(proportion), np.float64(n), level)
    return Interval(float(low), float(high), "Wilson [W]", se=_standard_error(proportion, n))


def _standard_error(proportion: float, n: float) -> float:
    """Return the standard error of a proportion of ``n`` trials."""
    return math.sqrt(max(proportion * (1 - proportion), 0.0) / n) if n > 0 else NAN


def wilson_limits(
    proportion: FloatArray, n: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of :func:`wilson` for arrays; NaN where there are no trials."""
    z = normal_quantile(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = 1 + z**2 / n
        center = (proportion + z**2 / (2 * n)) / shrink
        half = z / shrink * np.sqrt(proportion * (1 - proportion) / n + z**2 / (4 * n**2))
    # At 0 and at 1 the limit is exact; rounding would leave it a hair off.
    low = np.where(proportion <= 0, 0.0, center - half)
    return low, np.where(proportion >= 1, 1.0, center + half)


def clopper_pearson(proportion: float, n: float, level: float) -> Interval:
    """Return the exact interval of a proportion (Clopper and Pearson 1934).

    Its coverage is at least ``level`` for every proportion.

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = clopper_pearson(20 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0622, 0.1502)
    """
    return _beta_limits(proportion, n, level, "Clopper-Pearson", prior_counts=(0.0, 1.0))


def jeffreys(proportion: float, n: float, level: float) -> Interval:
    """Return Jeffreys' interval of a proportion.

    Its limits are the equal tails of Beta(hits + ½, misses + ½), but 0 without hits and 1 without
    misses (Brown, Cai and DasGupta 2001).

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = jeffreys(20 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0642, 0.1473)
    """
    return _beta_limits(proportion, n, level, "Jeffreys", prior_counts=(0.5, 0.5))


def _beta_limits(
    proportion: float, n: float, level: float, method: str, prior_counts: tuple[float, float]
) -> Interval:
    """Return an interval of quantiles of Beta distributions; 0 without hits, 1 without misses.

    The first number of ``prior_counts`` is added to the hits for the lower limit and to the misses
    for the upper one, the second to the other of the two.
    """
    from scipy.special import betaincinv

    if not n > 0:
        return no_interval(method, "too_few_rows")
    hits, tail, (first_added, second_added) = proportion * n, (1 - level) / 2, prior_counts
    misses = n - hits
    low = (
        0.0
        if proportion <= 0
        else float(betaincinv(hits + first_added, misses + second_added, tail))
    )
    high = (
        1.0
        if proportion >= 1
        else float(betaincinv(hits + second_added, misses + first_added, 1 - tail))
    )
    return Interval(low, high, method, se=_standard_error(proportion, n))


def agresti_coull(proportion: float, n: float, level: float) -> Interval:
    """Return Agresti and Coull's (1998) interval of a proportion.

    It is Wald's after adding z²/2 hits and z²/2 misses, clipped to [0, 1].

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = agresti_coull(20 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.065, 0.1501)
    """
    method = "Agresti-Coull"
    if not n > 0:
        return no_interval(method, "too_few_rows")
    z = normal_quantile(level)
    trials = n + z**2
    center = (proportion * n + z**2 / 2) / trials
    half = z * math.sqrt(center * (1 - center) / trials)
    interval = Interval(center - half, center + half, method, se=_standard_error(proportion, n))
    return interval.clip(0.0, 1.0)


def bonett_price(first: float, second: float, n: float, level: float) -> Interval:
    """Return Bonett and Price's (2012) interval of a difference between two disjoint proportions.

    It is Wald's after adding a row to each of two disjoint sets of rows. It is the difference
    between two paired proportions, such as two accuracies on the same rows, if the sets are the
    rows that only one and only the other system classifies correctly.

    Parameters
    ----------
    first, second : float
        Proportions of the rows in the two sets.
    n : float
        Number of (effective) rows.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval of ``first − second``.

    Examples
    --------
    >>> interval = bonett_price(12 / 100, 4 / 100, 100, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.0017, 0.1585)
    """
    a, b = ((proportion * n + 1) / (n + 2) for proportion in (first, second))
    se = math.sqrt((a + b - (a - b) ** 2) / (n + 2))
    half = normal_quantile(level) * se
    return Interval(a - b - half, a - b + half, "Bonett-Price", se=se).clip(-1.0, 1.0)


def quantile_ranks(q: float, n: int, level: float) -> tuple[int, int] | None:
    """Return the ranks of the order statistics that are confidence limits of a quantile.

    They cover the quantile with a probability of at least ``level`` for every distribution, because
    the number of values below it is binomial (Thompson 1936).

    Parameters
    ----------
    q : float
        Probability of the quantile.
    n : int
        Number of values.
    level : float
        Confidence level.

    Returns
    -------
    tuple of int or None
        Ranks of the lower and the upper limit, counted from 1; None if there are too few values on
        either side.

    Examples
    --------
    >>> quantile_ranks(0.5, 20, 0.95), quantile_ranks(0.95, 50, 0.95)
    ((6, 15), None)
    """
    from scipy.special import bdtr

    tail = (1 - level) / 2

    def smallest_rank(condition: Callable[[int], bool]) -> int:
        """Return the smallest rank from 0 for which ``enough`` holds; n if there is none."""
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if condition(middle) else (middle + 1, high)
        return low

    low = smallest_rank(lambda k: bool(bdtr(k, n, q) > tail))
    high = 1 + smallest_rank(lambda k: bool(bdtr(k, n, q) >= 1 - tail))
    return (low, high) if low >= 1 and high <= n else None
