"""Sample size: expected half-widths of intervals, assumed standard errors, and the search for n.

Assumed values are taken as exact: their uncertainty is left to the caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from calipers.inference.intervals import hanley_mcneil_se

NAN = float("nan")

#: More units than anybody will judge; the search for a size ends here.
MAX_UNITS = 10**12


def smallest_n(
    condition: Callable[[int], bool], min_n: int = 2, max_n: int = MAX_UNITS
) -> int | None:
    """Return the smallest n for which a monotonic condition holds.

    Power increases with n and half-widths decrease. If discrete data make the condition a sawtooth,
    the result is a number that satisfies it while the previous one does not.

    Parameters
    ----------
    condition : callable
        Condition on n.
    min_n : int, default=2
        Smallest n to consider.
    max_n : int, default=10**12
        Largest n to consider.

    Returns
    -------
    int or None
        The number; None if it is above ``max_n``.

    Examples
    --------
    >>> smallest_n(lambda n: n * n >= 5000)
    71
    """
    if condition(min_n):
        return min_n
    low, high = min_n, 2 * min_n
    while not condition(high):
        if high >= max_n:
            return None
        low, high = high, min(2 * high, max_n)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


def smallest_stable_n(power: Callable[[int], float], target: float, min_n: int = 2) -> int | None:
    """Return the smallest n with the required power at every larger n as well.

    This is :func:`smallest_n` for the sawtooth power of a discrete test; larger numbers are checked
    as far as the teeth extend.

    Parameters
    ----------
    power : callable
        Power as a function of n.
    target : float
        Required power.
    min_n : int, default=2
        Smallest n to consider.

    Returns
    -------
    int or None
        The number; None if there is none.

    Examples
    --------
    >>> from calipers.inference.power import proportion_power
    >>> smallest_stable_n(lambda n: proportion_power(0.9, 0.8, n), 0.8)
    112
    """
    candidate = smallest_n(lambda n: power(n) >= target, min_n)
    if candidate is None:
        return None
    # A tooth spans a few n: those that one more success in the critical region takes.
    stable_n, n = candidate, candidate
    while n < stable_n + 30 * math.isqrt(stable_n):
        n += 1
        if power(n) < target:
            stable_n = n + 1
    return stable_n


# --- Means ---------------------------------------------------------------------------------------


def mean_half_width(sd: float, n: float, level: float = 0.95, df: float | None = None) -> float:
    """Return the expected half-width of Student's t interval of a mean.

    Parameters
    ----------
    sd : float
        Standard deviation of the units, or of the differences for a paired difference.
    n : float
        Number of units.
    level : float, default=0.95
        Confidence level.
    df : float, optional
        Degrees of freedom f. By default n − 1.

    Returns
    -------
    float
        The half-width; NaN with fewer than two units or less than one degree of freedom.

    Notes
    -----
    The half-width is t·E[s]/√n, where E[s] = sd·√(2/f)·Γ((f + 1)/2)/Γ(f/2) for normal units (Sakai
    2016 plans by the same expectation).

    Examples
    --------
    >>> round(mean_half_width(0.25, 50), 4)
    0.0707
    """
    from scipy.special import gammaln, stdtrit

    f = n - 1 if df is None else df
    if n < 2 or f < 1:
        return NAN
    sd_bias = math.sqrt(2 / f) * math.exp(gammaln((f + 1) / 2) - gammaln(f / 2))
    return float(stdtrit(f, (1 + level) / 2)) * sd * sd_bias / math.sqrt(n)


def paired_sd(sd: float, correlation: float) -> float:
    """Return the standard deviation of the differences between two correlated systems.

    Both have standard deviation ``sd`` over units; that of the differences is sd·√(2(1 − r)).

    Examples
    --------
    >>> round(paired_sd(0.25, 0.8), 4)
    0.1581
    """
    return sd * math.sqrt(2 * (1 - correlation))


def sd_upper_limit(sd: float, n: int, confidence: float = 0.8) -> float:
    """Return the one-sided upper limit of a standard deviation of ``n`` units, sd·√((n − 1)/χ²).

    A sample size planned with it is sufficient with this confidence; with the standard deviation of
    the pilot itself it is insufficient in about half of all cases (Browne 1995).

    Examples
    --------
    >>> round(sd_upper_limit(0.1, 25), 4)
    0.1153
    """
    from scipy.special import chdtri

    return sd * math.sqrt((n - 1) / float(chdtri(n - 1, confidence)))


def tukey_half_width(sd: float, n_systems: int, n: float, level: float = 0.95) -> float:
    """Return the half-width of Tukey's simultaneous intervals of all pairwise differences.

    It is q·sd/√n; ``sd`` is the residual standard deviation, assumed to be known except for the
    quantile.

    Examples
    --------
    >>> round(tukey_half_width(0.2, 5, 100), 4)
    0.0775
    """
    return (
        studentized_range_quantile(level, n_systems, (n_systems - 1) * (n - 1)) * sd / math.sqrt(n)
    )


@lru_cache(maxsize=4096)
def studentized_range_quantile(level: float, n_systems: int, df: float) -> float:
    """Return the quantile of the studentized range; it is cached because integration is slow."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(level, n_systems, df))


# --- Areas ---------------------------------------------------------------------------------------


def hanley_mcneil_auc_se(area: float, prevalence: float, n: float) -> float:
    """Return Hanley and McNeil's (1982) standard error of the AUC on ``n`` rows.

    ``prevalence`` is the proportion of positive rows. The formula is exact if scores are
    exponential in both classes, and slightly too large for most other distributions.

    Examples
    --------
    >>> round(hanley_mcneil_auc_se(0.8, 0.1, 1000), 4)
    0.0272
    """
    positives = prevalence * n
    return hanley_mcneil_se(area, positives, n - positives)


def binormal_auc_se(area: float, prevalence: float, n: float) -> float:
    """Return the standard error of the AUC of scores that are normal with equal variance.

    It is Hanley and McNeil's formula with the exact probability that two rows of a class are both
    correctly ordered relative to one of the other, Φ₂(d/√2, d/√2; ½).

    Examples
    --------
    >>> round(binormal_auc_se(0.8, 0.1, 1000), 4)
    0.0229
    """
    from scipy.special import ndtri, owens_t

    joint_probability = area - 2 * float(owens_t(float(ndtri(area)), 1 / math.sqrt(3)))
    positives = prevalence * n
    negatives = n - positives
    spread = area * (1 - area) + (n - 2) * (joint_probability - area**2)
    return math.sqrt(spread / (positives * negatives))


def pr_auc_se(area: float, positives: float) -> float:
    """Return the standard error of an area under the precision-recall curve.

    It is √(a(1 − a)/positives) (Boyd, Eng and Page 2013).

    Examples
    --------
    >>> round(pr_auc_se(0.75, 100), 4)
    0.0433
    """
    return math.sqrt(area * (1 - area) / positives)


def paired_difference_se(first: float, second: float, correlation: float) -> float:
    """Return the standard error of the difference between two estimates on the same rows.

    It is √(s₁² + s₂² − 2·r·s₁·s₂), from their standard errors and the correlation r of the
    estimates (for AUCs: Hanley and McNeil 1983).

    Examples
    --------
    >>> round(paired_difference_se(0.02, 0.03, 0.5), 4)
    0.0265
    """
    return math.sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0))


# --- What changes every plan ---------------------------------------------------------------------


def bonferroni_level(level: float, n_comparisons: int) -> float:
    """Return the level of each of several comparisons for all of them to hold at ``level``.

    Examples
    --------
    >>> round(bonferroni_level(0.95, 10), 4)
    0.995
    """
    return 1 - (1 - level) / n_comparisons


def design_effect(size: float, correlation: float) -> float:
    """Return Kish's (1965) design effect, 1 + (size − 1)·correlation.

    It is the factor by which the number of rows increases if they come in clusters of ``size`` with
    this intracluster correlation.

    Examples
    --------
    >>> round(design_effect(20, 0.05), 4)
    1.95
    """
    return 1 + (size - 1) * correlation
