"""Do two parts of the data differ? Two independent samples, such as a slice and the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.paired import Test

if TYPE_CHECKING:
    from calipers.statistics import FloatArray

NAN = float("nan")


def shares(first: float, n: float, second: float, m: float) -> Test:
    """Score test that two proportions of ``n`` and ``m`` (effective) trials are equal: normal, with
    the variance of the pooled proportion, p(1 − p)(1/n + 1/m).

    >>> round(shares(56 / 70, 70, 48 / 80, 80).p, 5)
    0.00805
    """
    name = "score, two proportions"
    if not (n > 0 and m > 0):
        return Test(NAN, name)
    pooled = min(1.0, (first * n + second * m) / (n + m))  # of weights, whose sums are rounded
    se = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    if se == 0:  # both are 0, or both 1
        return Test(1.0, name)
    return Test(math.erfc(abs(first - second) / se / math.sqrt(2)), name)


def fisher(first: float, n: float, second: float, m: float) -> Test | None:
    """Fisher's exact test that two proportions of ``n`` and ``m`` trials are equal: how probable it
    is, of all that can be where as many succeed together, what is no more probable than what was
    seen. None where trials or successes are no whole numbers, as those of weighted rows are not.

    >>> fisher(3 / 4, 4, 1 / 4, 4).p.__round__(4)  # Fisher's lady tasting tea
    0.4857
    """
    from scipy.special import gammaln

    name = "Fisher, exact"
    sizes = np.array([n, m], np.float64)
    hits = np.array([first * n, second * m], np.float64)
    if not (sizes.min() > 0 and _are_whole(sizes) and _are_whole(hits)):
        return None
    (n, m), (own, other) = np.rint(sizes), np.rint(hits)
    together = own + other
    k = np.arange(max(0.0, together - m), min(n, together) + 1)
    ways = -(
        gammaln(k + 1) + gammaln(n - k + 1) + gammaln(together - k + 1)
        + gammaln(m - together + k + 1)
    )  # fmt: skip
    chance = np.exp(ways - ways.max())
    # Equally probable ones differ by rounding.
    seen = chance[k == own][0] * (1 + 1e-7)
    return Test(min(1.0, float(chance[chance <= seen].sum() / chance.sum())), name)


def _are_whole(x: FloatArray) -> bool:
    return bool(np.allclose(x, np.rint(x), rtol=1e-9, atol=1e-6))


def agreed(made: Interval, test: Test, value: float, level: float) -> tuple[Interval, Test]:
    """An interval and a two-sided test that say the same of 0: the interval reaches as far as 0
    where the test does not exclude it, and the p-value is that of the interval, as if it were
    normal, where the interval does not. So both err no more often than either."""
    most = round(1 - level, 12)
    if made.reason is not None or math.isnan(test.p) or math.isnan(made.low):
        return made, test
    inside, small = made.low <= 0 <= made.high, test.p <= most
    if small and inside:
        half = value - made.low if value > 0 else made.high - value
        z = intervals.z_of(level) * abs(value) / half if half > 0 else 0.0
        return made, replace(test, p=max(math.erfc(z / math.sqrt(2)), most * (1 + 1e-9)))
    if not small and not inside:
        low, high, method = as_far_as_zero(made.low, made.high, made.method, "the test")
        return replace(made, low=low, high=high, method=method), test
    return made, test


def as_far_as_zero(low: float, high: float, method: str, by: str) -> tuple[float, float, str]:
    """Limits that reach 0, and the method, which says what does not exclude it.

    >>> as_far_as_zero(0.1, 0.3, "Welch, but few clusters", "Holm")
    (0.0, 0.3, 'Welch, to 0 by Holm, but few clusters')
    """
    name, but, cautions = method.partition(", but ")
    return min(low, 0.0), max(high, 0.0), f"{name}, to 0 by {by}{but}{cautions}"


def welch(
    value: float, errors: tuple[float, float], sizes: tuple[float, float], level: float
) -> tuple[Interval, Test]:
    """Interval and test of a difference of two means (Welch 1947): Student's t with
    (s₁² + s₂²)²/(s₁⁴/(n₁ − 1) + s₂⁴/(n₂ − 1)) degrees of freedom, s being the standard errors."""
    a, b = (error**2 for error in errors)
    if not (math.isfinite(a + b) and min(sizes) > 1):
        return intervals.missing("Welch", "too_few_rows"), Test(NAN, "Welch t")
    if a + b == 0:
        p = 1.0 if value == 0 else NAN
        return intervals.missing("Welch", "no_spread"), Test(p, "Welch t")
    share = a / (a + b)
    degrees = 1 / (share**2 / (sizes[0] - 1) + (1 - share) ** 2 / (sizes[1] - 1))
    made, test = by_error(value, math.sqrt(a + b), degrees, level, "Welch")
    return made, replace(test, name="Welch t")


def by_error(
    value: float, se: float, degrees: float, level: float, name: str
) -> tuple[Interval, Test]:
    """Student's interval and test of a difference from its standard error."""
    from scipy.special import stdtr, stdtrit

    if not math.isfinite(se):
        return intervals.missing(name, "too_few_clusters"), Test(NAN, name)
    if se == 0:
        return intervals.missing(name, "no_spread"), Test(1.0 if value == 0 else NAN, name)
    half = float(stdtrit(degrees, (1 + level) / 2)) * se
    p = 2 * float(stdtr(degrees, -abs(value) / se))
    return Interval(value - half, value + half, name, se=se), Test(p, name)


def inverted(interval: Callable[[float], Interval], name: str, at: float = 0.0) -> Test:
    """The test whose p-value is 1 − level of the interval that just reaches 0, or ``at``;
    ``interval`` makes that of a difference from its level."""
    from scipy.optimize import brentq

    def distance(log_alpha: float) -> float:
        """How far ``at`` lies outside the interval; below 0 inside, as where there is none."""
        made = interval(1 - math.exp(log_alpha))
        outside = max(made.low - at, at - made.high)
        return outside if outside == outside else -1.0

    # On the logarithm of p, down to where 1 − p is still told from 1. Brent's method takes some ten
    # intervals where halving took fifty.
    least, most = math.log(1e-12), -1e-12
    if distance(least) > 0:
        return Test(math.exp(least), name)
    if distance(most) <= 0:
        return Test(1.0, name)
    return Test(math.exp(brentq(distance, least, most, xtol=1e-13)), name)
