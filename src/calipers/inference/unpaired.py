"""Do two parts of the data differ? Two independent samples, such as a slice and the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.paired import Test

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
    pooled = (first * n + second * m) / (n + m)
    se = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    if se == 0:  # both are 0, or both 1
        return Test(1.0, name)
    return Test(math.erfc(abs(first - second) / se / math.sqrt(2)), name)


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

    def leaves_out_zero(alpha: float) -> bool:
        made = interval(1 - alpha)
        return made.low > at or made.high < at

    # On the logarithm of p, down to where 1 − p is still told from 1.
    low, high = math.log(1e-12), 0.0
    if leaves_out_zero(math.exp(low)):
        return Test(math.exp(low), name)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if leaves_out_zero(math.exp(middle)) else (middle, high)
    return Test(1.0 if high == 0 else math.exp((low + high) / 2), name)
