"""How many units are needed, and what could be seen with those there are.

``…_power`` is the probability that a test at ``level`` (two-sided unless said otherwise, so that 5%
are left at 0.95) finds a difference which is there; ``…_half_width`` is half the length that an
interval is expected to have. Both are functions of ``n``, and :func:`needed` turns either into a
number of units. Assumed numbers are taken at their word: what is uncertain about them is left to
the caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from calipers.inference.intervals import (
    Interval,
    hanley_mcneil,
    on_logit,
    paired_shares,
    wilson,
    z_of,
)
from calipers.statistics import FloatArray

NAN = float("nan")

#: More units than anybody will judge; the search for a size ends here.
MOST = 10**12

#: With more degrees of freedom Student's t is the normal to six digits, and its density loses more.
NEARLY_NORMAL = 10**6

#: What share of the units of a t test a test of ranks needs, its asymptotic relative efficiency
#: turned over: π/3 where differences are normal, and never more than 125/108 of them, whatever
#: their distribution, as long as it is symmetric (Hodges and Lehmann 1956).
WILCOXON_UNITS = math.pi / 3


def needed(holds: Callable[[int], bool], least: int = 2, most: int = MOST) -> int | None:
    """The smallest n from ``least`` on for which ``holds(n)``; None above ``most``.

    ``holds`` stays true once it is: power rises with n and half-widths fall. Where discrete data
    let it saw up and down, what comes back is a number that holds while the one below does not.

    >>> needed(lambda n: n * n >= 5000)
    71
    """
    if holds(least):
        return least
    low, high = least, 2 * least
    while not holds(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def steadily_needed(power: Callable[[int], float], wanted: float, least: int = 2) -> int | None:
    """Like :func:`needed` for the saw-toothed power of a discrete test: the smallest n from which
    on no larger one, as far as the teeth reach, falls below what is wanted.

    >>> steadily_needed(lambda n: share_power(0.9, 0.8, n), 0.8)
    112
    """
    found = needed(lambda n: power(n) >= wanted, least)
    if found is None:
        return None
    # A tooth spans a few n: those that one more success in the critical region takes.
    clear, n = found, found
    while n < clear + 30 * math.isqrt(clear):
        n += 1
        if power(n) < wanted:
            clear = n + 1
    while clear > least and power(clear - 1) >= wanted:
        clear -= 1
    return clear


# --- Differences measured in standard errors -----------------------------------------------------


def shift_power(shift: float, level: float = 0.95, degrees: float | None = None) -> float:
    """Power of a two-sided test of a true difference of ``shift`` standard errors.

    P(|T| > t) for T noncentral t with ``degrees`` of freedom and noncentrality ``shift``, t being
    the central quantile; without degrees both are normal.

    >>> round(shift_power(2.802), 3)
    0.8
    """
    return float(_two_sided(np.array(shift), level, np.array(NAN if degrees is None else degrees)))


def _two_sided(shift: FloatArray, level: float, degrees: FloatArray) -> FloatArray:
    """:func:`shift_power` element by element; without degrees where these are NaN."""
    from scipy.special import ndtr, stdtrit

    z = z_of(level)
    normal = ndtr(shift - z) + ndtr(-shift - z)
    if np.isnan(degrees).all():
        return np.asarray(normal)
    critical = stdtrit(degrees, (1 + level) / 2)
    student = _above(critical, shift, degrees) + _above(critical, -shift, degrees)
    return np.where(np.isnan(degrees), normal, student)


def _above(critical: Any, shift: Any, degrees: Any) -> Any:
    """P(T > critical) of the noncentral t, element by element."""
    from scipy.special import nctdtr, ndtr

    inside = nctdtr(degrees, shift, critical)
    # SciPy gives up where what is left is 0 or 1 to all digits, as it is by the normal.
    return np.where(np.isnan(inside), ndtr(shift - critical), 1 - inside)


def detectable(
    se: float, level: float = 0.95, power: float = 0.8, degrees: float | None = None
) -> float:
    """The smallest true difference that a two-sided test would find with probability ``power``.

    ``se`` is the standard error of the difference; with ``degrees`` of freedom the test is
    Student's and the power exact by the noncentral t, else both are normal, and the answer is
    (z_{(1+level)/2} + z_power)·se but for the far tail. NaN where there is no spread to go by. It
    says what data of this size could have shown and nothing of the difference observed.

    >>> round(detectable(0.01), 4), round(detectable(0.01, degrees=24), 4)
    (0.028, 0.0292)
    """
    return float(all_detectable([se], [degrees], level, power)[0])


def all_detectable(
    se: Sequence[float],
    degrees: Sequence[float | None],
    level: float = 0.95,
    power: float = 0.8,
) -> FloatArray:
    """:func:`detectable` of each of several differences. Those of equal degrees of freedom, as the
    differences on the same topics are, share the search.

    >>> all_detectable([0.01, 0.02, 0.01], [24, 24, None]).round(4).tolist()
    [0.0292, 0.0584, 0.028]
    """
    errors = np.asarray(se, np.float64)
    known = np.isfinite(errors) & (errors > 0)
    known &= [freedom is None or freedom >= 1 for freedom in degrees]
    freedoms = np.array([NAN if freedom is None else freedom for freedom in degrees])[known]
    shift = np.full(len(errors), NAN)
    distinct, place = np.unique(freedoms, return_inverse=True)
    shift[known] = _detectable_shift(distinct, level, power)[place]
    return shift * errors


def _detectable_shift(degrees: FloatArray, level: float, power: float) -> FloatArray:
    """The detectable difference in standard errors, for each of ``degrees``."""
    low, high = np.zeros(degrees.shape), np.full(degrees.shape, 8.0)
    if power <= 1 - level:
        return low
    while (short := _two_sided(high, level, degrees) < power).any():
        high[short] *= 2
    # Halving, as importing SciPy's root finders takes longer than all of a small evaluation.
    for _ in range(60):
        middle = (low + high) / 2
        enough = _two_sided(middle, level, degrees) >= power
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def margin_power(
    difference: float, margin: float, se: float, level: float = 0.95, degrees: float | None = None
) -> float:
    """Power to show that a difference is not below −``margin`` by a one-sided test at 1 − level,
    as in :mod:`calipers.inference.margins`. ``difference`` is the true one, positive where the
    first system is better.

    >>> round(margin_power(0.0, 0.025, 0.01), 3)
    0.804
    """
    from scipy.special import ndtr, ndtri, stdtrit

    shift = (difference + margin) / se
    if degrees is None:
        return float(ndtr(shift - ndtri(level)))
    return float(_above(stdtrit(degrees, level), shift, degrees))


def equivalence_power(
    difference: float, margin: float, se: float, level: float = 0.95, degrees: float | None = None
) -> float:
    """Power to show that a difference lies within ±``margin`` by two one-sided tests, each at
    1 − level (Schuirmann 1987).

    Exact: given the estimated standard error, the estimate is normal; the mean over the chi
    distribution of that error is integrated (Gauss-Legendre; it is Owen's Q).

    >>> round(equivalence_power(0.0, 0.03, 0.01), 3)
    0.825
    """
    from scipy.special import ndtr, ndtri, stdtrit
    from scipy.stats import chi

    def within(reach: FloatArray) -> FloatArray:
        """P(|estimate| + reach < margin)."""
        below = ndtr((margin - difference) / se - reach)
        return np.maximum(below - ndtr(reach - (margin + difference) / se), 0)

    if degrees is None or degrees > NEARLY_NORMAL:
        return float(within(np.float64(ndtri(level))))
    critical, root = float(stdtrit(degrees, level)), math.sqrt(degrees)
    low, high = (float(chi.ppf(q, degrees)) for q in (1e-13, 1 - 1e-13))
    # With a larger estimated error no estimate is within both margins.
    if critical * high > margin / se * root:
        high = margin / se * root / critical
    if high <= low:
        return 0.0
    node, weight = np.polynomial.legendre.leggauss(200)
    s = low + (node + 1) * (high - low) / 2
    value = np.sum(weight * within(critical * s / root) * chi.pdf(s, degrees)) * (high - low) / 2
    return float(value)


# --- Means ---------------------------------------------------------------------------------------


def mean_half_width(
    sd: float, n: float, level: float = 0.95, degrees: float | None = None
) -> float:
    """Expected half-width of Student's t interval of a mean of ``n`` units.

    t·E[s]/√n, where E[s] = sd·√(2/f)·Γ((f + 1)/2)/Γ(f/2) for normal units and f ``degrees`` of
    freedom, n − 1 unless given (Sakai 2016 plans by the same expectation). Of a paired difference
    when ``sd`` is that of the differences.

    >>> round(mean_half_width(0.25, 50), 4)
    0.0707
    """
    from scipy.special import gammaln, stdtrit

    f = n - 1 if degrees is None else degrees
    if n < 2 or f < 1:
        return NAN
    expected = math.sqrt(2 / f) * math.exp(gammaln((f + 1) / 2) - gammaln(f / 2))
    return float(stdtrit(f, (1 + level) / 2)) * sd * expected / math.sqrt(n)


def mean_power(difference: float, sd: float, n: float, level: float = 0.95) -> float:
    """Power of the paired t test on ``n`` units whose differences have standard deviation ``sd``;
    exact for normal differences. The paired randomisation test has the same power to first order.

    >>> round(mean_power(0.02, 0.1, 199), 3), round(mean_power(0.02, 0.1, 198), 3)
    (0.802, 0.8)
    """
    if n < 2:
        return NAN
    return shift_power(difference * math.sqrt(n) / sd, level, n - 1)


def paired_sd(sd: float, correlation: float) -> float:
    """Standard deviation of the differences of two systems whose values vary by ``sd`` each and
    correlate over units: sd·√(2(1 − r)).

    >>> round(paired_sd(0.25, 0.8), 4)
    0.1581
    """
    return sd * math.sqrt(2 * (1 - correlation))


# --- Shares --------------------------------------------------------------------------------------


def share_half_width(share: float, n: float, level: float = 0.95) -> float:
    """Half the length of Wilson's interval when the share observed is the one assumed.

    >>> round(share_half_width(0.9, 385), 4)
    0.0301
    """
    made = wilson(share, n, level)
    return (made.high - made.low) / 2


def share_power(share: float, reference: float, n: float, level: float = 0.95) -> float:
    """Power to tell a share from a known reference: that Wilson's interval leaves ``reference``
    out, which is the score test. Exact, by the binomial distribution; it saws up and down with n.

    >>> round(share_power(0.9, 0.8, 107), 4), round(share_power(0.9, 0.8, 108), 4)
    (0.8191, 0.8101)
    """
    from scipy.special import bdtr, bdtrc

    n = math.floor(n)
    centre, reach = n * reference, z_of(level) * math.sqrt(n * reference * (1 - reference))
    # Rejected are counts strictly beyond centre ± reach.
    below, above = math.ceil(centre - reach) - 1, math.floor(centre + reach)
    power = 0.0
    if below >= 0:
        power += float(bdtr(below, n, share))
    if above < n:
        power += float(bdtrc(above, n, share))
    return power


def mcnemar_power(first_only: float, second_only: float, n: float, level: float = 0.95) -> float:
    """Power of McNemar's exact test of two accuracies on the same ``n`` rows.

    ``first_only`` and ``second_only`` are the shares of rows that only the one and only the other
    system gets right. Exact: the power given the number of discordant rows, over its binomial
    distribution (cut where less than 1e-12 is left).

    >>> round(mcnemar_power(0.06, 0.03, 800), 3)
    0.785
    """
    from scipy.special import bdtr, bdtrc
    from scipy.stats import binom

    n, discordant = math.floor(n), min(first_only + second_only, 1.0)
    if discordant <= 0:
        return 0.0
    low, high = (int(binom.ppf(q, n, discordant)) for q in (5e-13, 1 - 5e-13))
    rows = np.arange(max(low, 1), high + 1)
    if len(rows) == 0:
        return 0.0
    # The largest k with 2·P(X ≤ k) ≤ 1 − level at ½ each; −1 where nothing is extreme enough.
    tail = (1 - level) / 2
    k = binom.ppf(tail, rows, 0.5)
    k = np.where(bdtr(k, rows, 0.5) > tail, k - 1, k)
    share = first_only / discordant
    inside = np.maximum(k, 0)
    reject = bdtr(inside, rows, share) + bdtrc(rows - inside - 1, rows, share)
    return float(np.sum(np.where(k >= 0, reject, 0.0) * binom.pmf(rows, n, discordant)))


def difference_half_width(
    first_only: float, second_only: float, n: float, level: float = 0.95
) -> float:
    """Half the length of the Bonett-Price interval of a difference of two paired shares.

    >>> round(difference_half_width(0.06, 0.03, 800), 4)
    0.0209
    """
    made = paired_shares(first_only, second_only, n, level)
    return (made.high - made.low) / 2


def two_shares_power(first: float, second: float, n: float, level: float = 0.95) -> float:
    """Power of the score test of two independent shares, of ``n`` rows each.

    Φ((|p₁ − p₂| − z·√(2p̄q̄/n)) / √((p₁q₁ + p₂q₂)/n)) plus the far tail: the error under the test
    is that of the pooled share (Fleiss, Levin and Paik 2003, §4.1, without correction).

    >>> round(two_shares_power(0.9, 0.85, 686), 3)
    0.8
    """
    from scipy.special import ndtr

    pooled = (first + second) / 2
    reach = z_of(level) * math.sqrt(2 * pooled * (1 - pooled) / n)
    error = math.sqrt((first * (1 - first) + second * (1 - second)) / n)
    if error == 0:
        return float(first != second)
    shift = abs(first - second)
    return float(ndtr((shift - reach) / error) + ndtr((-shift - reach) / error))


# --- Areas ---------------------------------------------------------------------------------------


def auc_error(area: float, prevalence: float, n: float) -> float:
    """Hanley and McNeil's (1982) standard error of the AUC on ``n`` rows of which a share
    ``prevalence`` is positive. It is exact when scores are exponential in both classes, and a
    little large for most others.

    >>> round(auc_error(0.8, 0.1, 1000), 4)
    0.0272
    """
    positives = prevalence * n
    return hanley_mcneil(area, positives, n - positives)


def pr_auc_error(area: float, positives: float) -> float:
    """Standard error √(a(1 − a)/positives) of an area under the precision-recall curve (Boyd, Eng
    and Page 2013).

    >>> round(pr_auc_error(0.75, 100), 4)
    0.0433
    """
    return math.sqrt(area * (1 - area) / positives)


def area_half_width(area: float, se: float, level: float = 0.95) -> float:
    """Half the length of the interval of an area, which is normal on the logit scale.

    >>> round(area_half_width(0.75, pr_auc_error(0.75, 100)), 4)
    0.0845
    """
    made: Interval = on_logit(area, se, level, "logit")
    return (made.high - made.low) / 2


def area_power(area: float, reference: float, se: float, level: float = 0.95) -> float:
    """Power to tell an area from a known one: that its interval, normal on the logit scale, leaves
    ``reference`` out. ``se`` is the standard error at ``area``.

    >>> round(area_power(0.7, 0.5, auc_error(0.7, 0.5, 60)), 3)
    0.748
    """
    logit = math.log(area / (1 - area)) - math.log(reference / (1 - reference))
    return shift_power(abs(logit) * area * (1 - area) / se, level)


def paired_error(first: float, second: float, correlation: float) -> float:
    """Standard error of the difference of two estimates on the same rows, √(s₁² + s₂² − 2·r·s₁·s₂),
    from theirs and the correlation r of the estimates (for AUCs: Hanley and McNeil 1983).

    >>> round(paired_error(0.02, 0.03, 0.5), 4)
    0.0265
    """
    return math.sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0))


# --- Several systems -----------------------------------------------------------------------------


def anova_power(
    difference: float,
    sd: float,
    systems: int,
    n: float,
    level: float = 0.95,
    *,
    paired: bool = True,
) -> float:
    """Power of the analysis of variance of several systems, the best and the worst of which differ
    by ``difference``: topic set size design (Sakai 2016).

    The least favourable case is taken, in which all others lie halfway between: λ = n·D²/(2·sd²).
    ``paired``: all systems on the same ``n`` topics, ``sd`` being the residual one (topics taken
    out; that of a difference over √2), with (m − 1)(n − 1) degrees of freedom. Else each system on
    ``n`` topics of its own, ``sd`` being that within systems, with m(n − 1).

    >>> round(anova_power(0.1, 0.2, 5, 100), 3)
    0.815
    """
    from scipy.special import fdtri, ncfdtr

    if n < 2:
        return NAN
    between = systems - 1
    within = (systems - 1) * (n - 1) if paired else systems * (n - 1)
    critical = float(fdtri(between, within, level))
    return float(1 - ncfdtr(between, within, n * difference**2 / (2 * sd**2), critical))


def tukey_power(difference: float, sd: float, systems: int, n: float, level: float = 0.95) -> float:
    """Power to tell one given pair of several systems apart by Tukey's honestly significant
    differences, all on the same ``n`` topics; ``sd`` is the residual one, as in
    :func:`anova_power`.

    P(|T| > q/√2) for T noncentral t with (m − 1)(n − 1) degrees of freedom and noncentrality
    D/(sd·√(2/n)), q being the quantile of the studentised range.

    >>> round(tukey_power(0.1, 0.2, 5, 100), 3)
    0.786
    """
    if n < 2:
        return NAN
    degrees = (systems - 1) * (n - 1)
    critical = _studentised_range(level, systems, degrees) / math.sqrt(2)
    shift = abs(difference) / (sd * math.sqrt(2 / n))
    return float(_above(critical, shift, degrees) + _above(critical, -shift, degrees))


def tukey_half_width(sd: float, systems: int, n: float, level: float = 0.95) -> float:
    """Half-width of Tukey's simultaneous intervals of all pairwise differences, q·sd/√n; ``sd`` is
    the residual one, taken as known but for the quantile.

    >>> round(tukey_half_width(0.2, 5, 100), 4)
    0.0775
    """
    return _studentised_range(level, systems, (systems - 1) * (n - 1)) * sd / math.sqrt(n)


@lru_cache(maxsize=4096)
def _studentised_range(level: float, systems: int, degrees: float) -> float:
    """The quantile of the studentised range, which is slow to integrate."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(level, systems, degrees))


# --- What changes every plan ---------------------------------------------------------------------


def bonferroni(level: float, comparisons: int) -> float:
    """The level each of several comparisons needs for all of them to hold at ``level``.

    >>> round(bonferroni(0.95, 10), 4)
    0.995
    """
    return 1 - (1 - level) / comparisons


def design_effect(size: float, correlation: float) -> float:
    """How many times as many rows are needed when they come in clusters of ``size``, within which
    they correlate: 1 + (size − 1)·correlation (Kish 1965).

    >>> round(design_effect(20, 0.05), 4)
    1.95
    """
    return 1 + (size - 1) * correlation


def upper_sd(sd: float, n: int, confidence: float = 0.8) -> float:
    """One-sided upper limit of a standard deviation seen on ``n`` units: sd·√((n − 1)/χ²). A size
    planned with it is large enough with this confidence, as the pilot's own sd is not in about
    half of all cases (Browne 1995).

    >>> round(upper_sd(0.1, 25), 4)
    0.1153
    """
    from scipy.special import chdtri

    return sd * math.sqrt((n - 1) / float(chdtri(n - 1, confidence)))
