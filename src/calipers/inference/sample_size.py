"""How many units are needed: half-widths that intervals are expected to have, standard errors from
assumed numbers, and the search for a size.

Assumed numbers are taken at their word: what is uncertain about them is left to the caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from calipers.inference.intervals import hanley_mcneil

NAN = float("nan")

#: More units than anybody will judge; the search for a size ends here.
MOST = 10**12


def smallest_n(holds: Callable[[int], bool], least: int = 2, most: int = MOST) -> int | None:
    """The smallest n from ``least`` on for which ``holds(n)``; None above ``most``.

    ``holds`` stays true once it is: power rises with n and half-widths fall. Where discrete data
    let it saw up and down, what comes back is a number that holds while the one below does not.

    >>> smallest_n(lambda n: n * n >= 5000)
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


def smallest_stable_n(power: Callable[[int], float], wanted: float, least: int = 2) -> int | None:
    """Like :func:`smallest_n` for the saw-toothed power of a discrete test: the smallest n from
    which on no larger one, as far as the teeth reach, falls below what is wanted.

    >>> from calipers.inference.power import share_power
    >>> smallest_stable_n(lambda n: share_power(0.9, 0.8, n), 0.8)
    112
    """
    found = smallest_n(lambda n: power(n) >= wanted, least)
    if found is None:
        return None
    # A tooth spans a few n: those that one more success in the critical region takes.
    clear, n = found, found
    while n < clear + 30 * math.isqrt(clear):
        n += 1
        if power(n) < wanted:
            clear = n + 1
    return clear


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


def paired_sd(sd: float, correlation: float) -> float:
    """Standard deviation of the differences of two systems whose values vary by ``sd`` each and
    correlate over units: sd·√(2(1 − r)).

    >>> round(paired_sd(0.25, 0.8), 4)
    0.1581
    """
    return sd * math.sqrt(2 * (1 - correlation))


def upper_sd(sd: float, n: int, confidence: float = 0.8) -> float:
    """One-sided upper limit of a standard deviation seen on ``n`` units: sd·√((n − 1)/χ²). A size
    planned with it is large enough with this confidence, as the pilot's own sd is not in about
    half of all cases (Browne 1995).

    >>> round(upper_sd(0.1, 25), 4)
    0.1153
    """
    from scipy.special import chdtri

    return sd * math.sqrt((n - 1) / float(chdtri(n - 1, confidence)))


def tukey_half_width(sd: float, systems: int, n: float, level: float = 0.95) -> float:
    """Half-width of Tukey's simultaneous intervals of all pairwise differences, q·sd/√n; ``sd`` is
    the residual one, taken as known but for the quantile.

    >>> round(tukey_half_width(0.2, 5, 100), 4)
    0.0775
    """
    return studentised_range(level, systems, (systems - 1) * (n - 1)) * sd / math.sqrt(n)


@lru_cache(maxsize=4096)
def studentised_range(level: float, systems: int, degrees: float) -> float:
    """The quantile of the studentised range, which is slow to integrate."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(level, systems, degrees))


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


def normal_auc_error(area: float, prevalence: float, n: float) -> float:
    """The standard error of the AUC of scores that are normal in both classes, with one spread:
    Hanley and McNeil's formula with the exact probabilities that two rows of a class both stand on
    the right side of one of the other, Φ₂(d/√2, d/√2; ½).

    >>> round(normal_auc_error(0.8, 0.1, 1000), 4)
    0.0229
    """
    from scipy.special import ndtri, owens_t

    both = area - 2 * float(owens_t(float(ndtri(area)), 1 / math.sqrt(3)))
    positives = prevalence * n
    negatives = n - positives
    spread = area * (1 - area) + (n - 2) * (both - area**2)
    return math.sqrt(spread / (positives * negatives))


def pr_auc_error(area: float, positives: float) -> float:
    """Standard error √(a(1 − a)/positives) of an area under the precision-recall curve (Boyd, Eng
    and Page 2013).

    >>> round(pr_auc_error(0.75, 100), 4)
    0.0433
    """
    return math.sqrt(area * (1 - area) / positives)


def paired_error(first: float, second: float, correlation: float) -> float:
    """Standard error of the difference of two estimates on the same rows, √(s₁² + s₂² − 2·r·s₁·s₂),
    from theirs and the correlation r of the estimates (for AUCs: Hanley and McNeil 1983).

    >>> round(paired_error(0.02, 0.03, 0.5), 4)
    0.0265
    """
    return math.sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0))


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
