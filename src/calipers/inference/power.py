"""Power of tests and minimum detectable differences.

A test at ``level`` is two-sided unless stated otherwise, so that α = 5% at 0.95. Assumed values are
taken as exact: their uncertainty is left to the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from calipers.inference.intervals import normal_quantile
from calipers.inference.sample_size import studentized_range_quantile
from calipers.statistics import FloatArray

NAN = float("nan")

#: Relative difference at which the search stops.
_RELATIVE_TOLERANCE = 4e-16
#: Critical value of t above which the noise of the mean is below a part in 10¹⁰ of the detectable
#: difference.
_FAR_CRITICAL = 1e5

#: With so many degrees of freedom, the tail of t so many standard errors away is below 1e-17.
_MIN_DF_OF_FAR_TAIL, _FAR_TAIL = 100, 10.0

#: Number of tests with equal degrees of freedom above which their detectable differences are
#: interpolated, and the degree of the polynomial.
_MAX_SEARCHED, _DEGREE = 100, 40

#: Smallest and largest critical value for it, and the smallest power.
_SMOOTH_CRITICAL, _MIN_SMOOTH_POWER = (1.6, 8.0), 0.5

#: Largest error of the power of a detectable difference.
_POWER_TOLERANCE = 1e-14

#: With more degrees of freedom Student's t is the normal distribution to six digits, and the
#: computation of its density loses more digits than the approximation.
MAX_DF_FOR_T = 10**6

#: With more discordant rows McNemar's test is taken as normal: at 10⁸ of them its size is 0.04997.
MAX_EXACT_DISCORDANT = 10**8


# --- Differences measured in standard errors -----------------------------------------------------


def shift_power(noncentrality: float, level: float = 0.95, df: float | None = None) -> float:
    """Return the power of a two-sided test of a true difference in standard errors.

    Parameters
    ----------
    noncentrality : float
        True difference divided by its standard error.
    level : float, default=0.95
        Level of the test.
    df : float, optional
        Degrees of freedom of a t test. By default the test is normal.

    Returns
    -------
    float
        P(|T| > t) for T noncentral t with noncentrality ``noncentrality``, where t is the central
        quantile; without degrees both are normal.

    Examples
    --------
    >>> round(shift_power(2.802), 3)
    0.8
    """
    freedom = np.array(NAN if df is None else df)
    critical = _critical_values(np.array(level), freedom)
    return float(_two_sided_power(np.array(noncentrality), critical, freedom))


def _critical_values(level: FloatArray, df: FloatArray) -> FloatArray:
    """Return the critical value of each two-sided test, normal for NaN degrees."""
    from scipy.special import ndtri, stdtrit

    return np.where(np.isnan(df), ndtri((1 + level) / 2), stdtrit(df, (1 + level) / 2))


def _two_sided_power(shift: FloatArray, critical: FloatArray, df: FloatArray) -> FloatArray:
    """Return the power of tests by their critical values, element by element.

    NaN degrees mean the normal distribution.
    """
    from scipy.special import ndtr

    is_normal = np.isnan(df)
    normal = ndtr(shift - critical) + ndtr(-shift - critical) if is_normal.any() else NAN
    if is_normal.all():
        return np.asarray(normal)
    student = np.asarray(_upper_tail(critical, shift, df))
    # Hardly any power is on the side without the difference, if degrees are not few.
    is_far = (df >= _MIN_DF_OF_FAR_TAIL) & (shift + critical > _FAR_TAIL)
    is_near = np.broadcast_to(~is_far, student.shape)
    if is_near.all():
        student = student + _upper_tail(critical, -shift, df)
    elif is_near.any():
        terms = (np.broadcast_to(x, student.shape)[is_near] for x in (critical, -shift, df))
        student[is_near] += _upper_tail(*terms)
    return np.where(is_normal, normal, student)


def _upper_tail(critical: Any, shift: Any, df: Any) -> Any:
    """Return P(T > critical) of the noncentral t distribution, element by element."""
    from scipy.special import nctdtr, ndtr

    cdf = nctdtr(df, shift, critical)
    # SciPy returns NaN where the probability is 0 or 1 to all digits; the normal gives it there.
    return np.where(np.isnan(cdf), ndtr(shift - critical), 1 - cdf)


def detectable_differences(
    se: Sequence[float] | FloatArray,
    df: Sequence[float | None] | FloatArray,
    level: float | FloatArray = 0.95,
    power: float = 0.8,
) -> FloatArray:
    """Return the minimum detectable differences of two-sided tests.

    Parameters
    ----------
    se : sequence of float
        Standard errors of the differences.
    df : sequence of float or None
        Degrees of freedom of each test; None or NaN for a normal test.
    level : float or array of float, default=0.95
        Level of all tests, or of each.
    power : float, default=0.8
        Power.

    Returns
    -------
    ndarray
        The smallest true differences that the tests detect with probability ``power``; NaN if the
        standard error is not positive.

    Notes
    -----
    With degrees of freedom the power is exact by the noncentral t; otherwise the result is
    (z_{(1+level)/2} + z_power)·se except for the far tail. It describes what data of this size can
    show, not the observed difference. Tests with equal level and degrees of freedom, as of
    differences on the same topics, share the search.

    Examples
    --------
    >>> detectable_differences([0.01, 0.02, 0.01], [24, 24, None]).round(4).tolist()
    [0.0292, 0.0584, 0.028]
    """
    errors = np.asarray(se, np.float64)
    valid_mask = np.isfinite(errors) & (errors > 0)
    freedoms = np.array(df, np.float64)  # None is NaN
    valid_mask &= np.isnan(freedoms) | (freedoms >= 1)
    freedoms = np.nan_to_num(freedoms)
    shift = np.full(len(errors), NAN)
    tests = np.column_stack([freedoms, np.broadcast_to(level, errors.shape)])[valid_mask]
    distinct, test_index = np.unique(tests, axis=0, return_inverse=True)
    test_degrees, test_levels = distinct.T
    degrees = np.where(test_degrees == 0, NAN, test_degrees)
    shift[valid_mask] = _interpolated_noncentrality(
        degrees, _critical_values(test_levels, degrees), power
    )[test_index.reshape(-1)]
    return shift * errors


def _interpolated_noncentrality(df: FloatArray, critical: FloatArray, power: float) -> FloatArray:
    """Return the detectable difference in standard errors for each of ``df`` and critical values.

    With equal degrees it is a smooth function of the critical value, except at low levels, where
    the test in the wrong direction matters. Of many values it is a polynomial through Chebyshev
    points, which has 12 digits or more.
    """
    low, high = _SMOOTH_CRITICAL
    shifts, remaining = np.empty(len(df)), np.ones(len(df), bool)
    smooth = (low <= critical) & (critical <= high) & (power >= _MIN_SMOOTH_POWER)
    distinct, counts = np.unique(df[smooth], return_counts=True)
    for freedom in distinct[counts > _MAX_SEARCHED].tolist():
        same = smooth & (np.isnan(df) if math.isnan(freedom) else df == freedom)
        polynomial = np.polynomial.Chebyshev.interpolate(
            lambda x: _detectable_noncentrality(np.full(len(x), freedom), x, power),  # noqa: B023
            _DEGREE,
            domain=[critical[same].min(), critical[same].max()],
        )
        shifts[same], remaining = polynomial(critical[same]), remaining & ~same
    if remaining.any():
        shifts[remaining] = _detectable_noncentrality(df[remaining], critical[remaining], power)
    return shifts


def _detectable_noncentrality(df: FloatArray, critical: FloatArray, power: float) -> FloatArray:
    """Return the detectable difference in standard errors of each test, by its critical value."""
    from scipy.special import gammaincinv, ndtri

    # The noise of the numerator vanishes at such values, and t is δ over the root of χ²/df.
    is_far = critical > _FAR_CRITICAL
    if is_far.any():
        shifts = critical * np.sqrt(2 * gammaincinv(df / 2, power) / df)
        if not is_far.all():
            shifts[~is_far] = _detectable_noncentrality(df[~is_far], critical[~is_far], power)
        return np.asarray(shifts)

    def excess(x: FloatArray, tests: Any) -> FloatArray:
        return _two_sided_power(x, critical[tests], df[tests]) - power

    # Around the approximation by a normal whose variance is that of t.
    near = critical + ndtri(power) * np.sqrt(1 + np.nan_to_num(np.square(critical) / (2 * df)))
    low, high = 0.95 * near, 1.05 * near
    below, above = excess(low, slice(None)), excess(high, slice(None))
    wide = np.flatnonzero(~((below < 0) & (above >= 0)))
    if len(wide):
        low[wide] = 0.0
        high[wide] = np.where(excess(low[wide], wide) < 0, 8.0, 0.0)
        while len(short := wide[(excess(high[wide], wide) < 0) & (high[wide] > 0)]):
            high[short] *= 2
        below[wide], above[wide] = excess(low[wide], wide), excess(high[wide], wide)
    # By the Illinois rule (Dowell and Jarratt 1971), halving now and then where the power is flat:
    # importing SciPy's root finders takes longer than all of a small evaluation.
    active = np.arange(len(high))
    for turn in range(100):
        is_near = np.abs(high - low)[active] <= _RELATIVE_TOLERANCE * np.abs(high[active])
        active = active[~(is_near | (np.abs(above[active]) <= _POWER_TOLERANCE))]
        if not len(active):
            break
        a, b, low_a, high_a = below[active], above[active], low[active], high[active]
        with np.errstate(invalid="ignore", divide="ignore"):  # where the power is flat
            fraction = np.nan_to_num(b / (b - a)) if turn % 4 < 3 else 0.5
        x = high_a - fraction * (high_a - low_a)
        value = excess(x, active)
        crossed = value * b <= 0
        low[active], below[active] = np.where(crossed, high_a, low_a), np.where(crossed, b, a / 2)
        high[active], above[active] = x, value
    return np.asarray(high)


def non_inferiority_power(
    difference: float, margin: float, se: float, level: float = 0.95, df: float | None = None
) -> float:
    """Return the power of a non-inferiority test: a one-sided test at 1 − level.

    The test is that of :mod:`calipers.inference.hypotheses` that a difference is not below
    −``margin``.

    Parameters
    ----------
    difference : float
        True difference, positive if the first system is better.
    margin : float
        Non-inferiority margin.
    se : float
        Standard error of the difference.
    level : float, default=0.95
        Level of the test.
    df : float, optional
        Degrees of freedom of a t test. By default the test is normal.

    Returns
    -------
    float
        The power.

    Examples
    --------
    >>> round(non_inferiority_power(0.0, 0.025, 0.01), 3)
    0.804
    """
    from scipy.special import ndtr, ndtri, stdtrit

    shift = (difference + margin) / se
    if df is None:
        return float(ndtr(shift - ndtri(level)))
    return float(_upper_tail(stdtrit(df, level), shift, df))


def equivalence_power(
    difference: float, margin: float, se: float, level: float = 0.95, df: float | None = None
) -> float:
    """Return the power of an equivalence test: two one-sided tests, each at 1 − level.

    They show that a difference is within ±``margin`` (Schuirmann 1987).

    Parameters
    ----------
    difference : float
        True difference.
    margin : float
        Equivalence margin.
    se : float
        Standard error of the difference.
    level : float, default=0.95
        Level of each test.
    df : float, optional
        Degrees of freedom of t tests. By default the tests are normal.

    Returns
    -------
    float
        The power.

    Notes
    -----
    The power is exact: given the estimated standard error, the estimate is normal; its mean over
    the chi distribution of that error is integrated (Gauss-Legendre; it is Owen's Q).

    Examples
    --------
    >>> round(equivalence_power(0.0, 0.03, 0.01), 3)
    0.825
    """
    from scipy.special import chdtri, gammaln, ndtr, ndtri, stdtrit

    def inside_probability(half_width: FloatArray) -> FloatArray:
        """Return P(|estimate| + reach < margin)."""
        below = ndtr((margin - difference) / se - half_width)
        return np.maximum(below - ndtr(half_width - (margin + difference) / se), 0)

    if df is None or df > MAX_DF_FOR_T:
        return float(inside_probability(np.float64(ndtri(level))))
    critical, root = float(stdtrit(df, level)), math.sqrt(df)
    low, high = (math.sqrt(chdtri(df, tail)) for tail in (1 - 1e-13, 1e-13))
    # With a larger estimated error no estimate is within both margins.
    if critical * high > margin / se * root:
        high = margin / se * root / critical
    if high <= low:
        return 0.0
    node, weight = _quadrature_nodes()
    s = low + (node + 1) * (high - low) / 2
    chi_density = np.exp(
        (df - 1) * np.log(s) - s * s / 2 - (df / 2 - 1) * math.log(2) - float(gammaln(df / 2))
    )
    return (
        float(np.sum(weight * inside_probability(critical * s / root) * chi_density))
        * (high - low)
        / 2
    )


@lru_cache(maxsize=1)
def _quadrature_nodes() -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of the Gauss-Legendre quadrature, cached because they are slow."""
    return np.polynomial.legendre.leggauss(200)


# --- Proportions and areas -----------------------------------------------------------------------


def proportion_power(proportion: float, reference: float, n: float, level: float = 0.95) -> float:
    """Return the power to show that a proportion differs from a known reference.

    The test is whether Wilson's interval excludes the reference, which is the score test. The power
    is exact by the binomial distribution; it is a sawtooth function of n.

    Parameters
    ----------
    proportion : float
        True proportion.
    reference : float
        Known reference.
    n : float
        Number of trials.
    level : float, default=0.95
        Level of the test.

    Returns
    -------
    float
        The power.

    Examples
    --------
    >>> round(proportion_power(0.9, 0.8, 107), 4), round(proportion_power(0.9, 0.8, 108), 4)
    (0.8191, 0.8101)
    """
    from scipy.special import bdtr, bdtrc

    n = math.floor(n)
    center, half_width = (
        n * reference,
        normal_quantile(level) * math.sqrt(n * reference * (1 - reference)),
    )
    # Rejected are counts strictly beyond center ± reach.
    below, above = math.ceil(center - half_width) - 1, math.floor(center + half_width)
    power = 0.0
    if below >= 0:
        power += float(bdtr(below, n, proportion))
    if above < n:
        power += float(bdtrc(above, n, proportion))
    return power


def mcnemar_power(first_only: float, second_only: float, n: float, level: float = 0.95) -> float:
    """Return the power of McNemar's exact test of two accuracies on the same rows.

    The power is exact: that given the number of discordant rows, averaged over its binomial
    distribution (truncated where less than 1e-12 remains). Of more than 100 million discordant
    rows it is that of the score test, which is the same to 4 digits.

    Parameters
    ----------
    first_only, second_only : float
        Proportions of rows that only one and only the other system classifies correctly.
    n : float
        Number of rows.
    level : float, default=0.95
        Level of the test.

    Returns
    -------
    float
        The power.

    Examples
    --------
    >>> round(mcnemar_power(0.06, 0.03, 800), 3)
    0.785
    """
    from scipy.special import bdtr, bdtrc, ndtr
    from scipy.stats import binom

    n, discordant = math.floor(n), min(first_only + second_only, 1.0)
    if discordant <= 0:
        return 0.0
    if n * discordant > MAX_EXACT_DISCORDANT:
        difference = first_only - second_only
        ratio = math.sqrt(max(1 - difference**2 / discordant, 1e-300))
        shift, limit = abs(difference) * math.sqrt(n / discordant), normal_quantile(level)
        return float(ndtr((shift - limit) / ratio) + ndtr((-shift - limit) / ratio))
    low, high = (int(binom.ppf(q, n, discordant)) for q in (5e-13, 1 - 5e-13))
    rows = np.arange(max(low, 1), high + 1)
    if len(rows) == 0:
        return 0.0
    # The largest k with 2·P(X ≤ k) ≤ 1 − level at ½ each; −1 where nothing is extreme enough.
    tail = (1 - level) / 2
    k = binom.ppf(tail, rows, 0.5)
    k = np.where(bdtr(k, rows, 0.5) > tail, k - 1, k)
    first_proportion = first_only / discordant
    inside = np.maximum(k, 0)
    reject = bdtr(inside, rows, first_proportion) + bdtrc(rows - inside - 1, rows, first_proportion)
    return float(np.sum(np.where(k >= 0, reject, 0.0) * binom.pmf(rows, n, discordant)))


def two_proportions_power(first: float, second: float, n: float, level: float = 0.95) -> float:
    """Return the power of the score test of two independent proportions.

    Parameters
    ----------
    first, second : float
        True proportions p₁ and p₂.
    n : float
        Number of rows of each.
    level : float, default=0.95
        Level of the test.

    Returns
    -------
    float
        The power.

    Notes
    -----
    It is Φ((|p₁ − p₂| − z·√(2p̄q̄/n)) / √((p₁q₁ + p₂q₂)/n)) plus the far tail: the standard error
    under the null hypothesis is that of the pooled proportion (Fleiss, Levin and Paik 2003, ch. 4,
    without correction).

    Examples
    --------
    >>> round(two_proportions_power(0.9, 0.85, 686), 3)
    0.8
    """
    from scipy.special import ndtr

    pooled = (first + second) / 2
    half_width = normal_quantile(level) * math.sqrt(2 * pooled * (1 - pooled) / n)
    error = math.sqrt((first * (1 - first) + second * (1 - second)) / n)
    if error == 0:
        return float(first != second)
    shift = abs(first - second)
    return float(ndtr((shift - half_width) / error) + ndtr((-shift - half_width) / error))


def area_power(area: float, reference: float, se: float, level: float = 0.95) -> float:
    """Return the power to show that an area differs from a known reference.

    The test is whether its interval, normal on the logit scale, excludes the reference.

    Parameters
    ----------
    area : float
        True area.
    reference : float
        Known reference.
    se : float
        Standard error at ``area``.
    level : float, default=0.95
        Level of the test.

    Returns
    -------
    float
        The power.

    Examples
    --------
    >>> from calipers.inference.sample_size import hanley_mcneil_auc_se
    >>> round(area_power(0.7, 0.5, hanley_mcneil_auc_se(0.7, 0.5, 60)), 3)
    0.748
    """
    logit = math.log(area / (1 - area)) - math.log(reference / (1 - reference))
    return shift_power(abs(logit) * area * (1 - area) / se, level)


# --- Several systems -----------------------------------------------------------------------------


def anova_power(
    difference: float,
    sd: float,
    n_systems: int,
    n: float,
    level: float = 0.95,
    *,
    paired: bool = True,
) -> float:
    """Return the power of the analysis of variance of several systems (topic set size design).

    Parameters
    ----------
    difference : float
        True difference D between the best and the worst system.
    sd : float
        Standard deviation: if ``paired``, the residual one (without topic effects; that of a
        difference divided by √2); otherwise that within systems.
    n_systems : int
        Number m of systems.
    n : float
        Number of topics: of all systems if ``paired``, otherwise of each.
    level : float, default=0.95
        Level of the test.
    paired : bool, default=True
        Whether all systems are evaluated on the same topics.

    Returns
    -------
    float
        The power; NaN with fewer than two topics.

    Notes
    -----
    The least favorable case is assumed, in which all other systems are halfway between: λ =
    n·D²/(2·sd²), with (m − 1)(n − 1) degrees of freedom if ``paired`` and m(n − 1) otherwise (Sakai
    2016).

    Examples
    --------
    >>> round(anova_power(0.1, 0.2, 5, 100), 3)
    0.815
    """
    from scipy.special import fdtri, ncfdtr

    if n < 2:
        return NAN
    df_systems = n_systems - 1
    df_residual = (n_systems - 1) * (n - 1) if paired else n_systems * (n - 1)
    critical = float(fdtri(df_systems, df_residual, level))
    return float(1 - ncfdtr(df_systems, df_residual, n * difference**2 / (2 * sd**2), critical))


def tukey_power(
    difference: float, sd: float, n_systems: int, n: float, level: float = 0.95
) -> float:
    """Return the power to show that a given pair of systems differs, by Tukey's HSD test.

    Parameters
    ----------
    difference : float
        True difference D.
    sd : float
        Residual standard deviation, as in :func:`anova_power`.
    n_systems : int
        Number m of systems.
    n : float
        Number of topics, which are the same for all systems.
    level : float, default=0.95
        Level of the test.

    Returns
    -------
    float
        The power; NaN with fewer than two topics.

    Notes
    -----
    The power is P(|T| > q/√2) for T noncentral t with (m − 1)(n − 1) degrees of freedom and
    noncentrality D/(sd·√(2/n)), where q is the quantile of the studentized range.

    Examples
    --------
    >>> round(tukey_power(0.1, 0.2, 5, 100), 3)
    0.786
    """
    if n < 2:
        return NAN
    degrees = (n_systems - 1) * (n - 1)
    critical = studentized_range_quantile(level, n_systems, degrees) / math.sqrt(2)
    shift = abs(difference) / (sd * math.sqrt(2 / n))
    return float(_upper_tail(critical, shift, degrees) + _upper_tail(critical, -shift, degrees))
