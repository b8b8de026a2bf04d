"""Intervals: each function takes an estimate and what is known of its spread, and gives limits.

Every function returns an :class:`Interval` that carries the name of the method that made it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calipers.statistics import FloatArray, ScoreTable

NAN = float("nan")

#: Above this share of replicates without a value, a bootstrap says nothing.
MOST_DEGENERATE = 0.05


@dataclass(frozen=True, slots=True)
class Interval:
    """Limits and the method that made them, or NaN and the reason why there are none."""

    low: float
    high: float
    method: str
    reason: str | None = None

    def within(self, lowest: float, highest: float) -> Interval:
        """The part of the interval that the measure can reach at all."""
        return Interval(max(self.low, lowest), min(self.high, highest), self.method, self.reason)


def missing(method: str, reason: str) -> Interval:
    """No interval, and why."""
    return Interval(NAN, NAN, method, reason)


def z_of(level: float) -> float:
    """The normal quantile that leaves (1 − level)/2 above."""
    return NormalDist().inv_cdf((1 + level) / 2)


def wilson(share: float, n: float, level: float) -> Interval:
    """Wilson's score interval of a proportion of ``n`` (effective) trials [W].

    >>> interval = wilson(150 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.6857, 0.8049)
    """
    low, high = wilson_limits(np.float64(share), np.float64(n), level)
    return Interval(float(low), float(high), "Wilson [W]")


def wilson_limits(share: FloatArray, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The limits of :func:`wilson` for arrays; NaN where there are no trials."""
    z = z_of(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = 1 + z**2 / n
        centre = (share + z**2 / (2 * n)) / shrink
        half = z / shrink * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At 0 and at 1 the limit is exact; rounding would leave it a hair off.
    low = np.where(share <= 0, 0.0, centre - half)
    return low, np.where(share >= 1, 1.0, centre + half)


def clopper_pearson(share: float, n: float, level: float) -> Interval:
    """The exact interval of a proportion of ``n`` (effective) trials (Clopper and Pearson 1934).

    Its coverage is at least ``level`` whatever the proportion.

    >>> interval = clopper_pearson(20 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0622, 0.1502)
    """
    from scipy.special import betaincinv

    method = "Clopper-Pearson"
    if not n > 0:
        return missing(method, "too_few_rows")
    hits, tail = share * n, (1 - level) / 2
    low = 0.0 if share <= 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if share >= 1 else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return Interval(low, high, method)


def difference(first: float, a: Interval, second: float, b: Interval) -> Interval:
    """Interval of ``first − second`` from the intervals of two independent estimates, each side by
    the limits that face it (MOVER; Newcombe's tenth method where both are Wilson's).

    >>> a, b = wilson(56 / 70, 70, 0.95), wilson(48 / 80, 80, 0.95)  # Newcombe 1998, example (a)
    >>> interval = difference(0.8, a, 0.6, b)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0524, 0.3339)
    """
    value = first - second
    return Interval(
        value - math.hypot(first - a.low, b.high - second),
        value + math.hypot(a.high - first, second - b.low),
        "MOVER",
    )


def paired_shares(first: float, second: float, n: float, level: float) -> Interval:
    """Interval of ``first − second``, the shares of ``n`` (effective) rows in two sets of rows that
    have none in common: Wald's after adding a row to each set (Bonett and Price 2012).

    That is the difference of two paired proportions, such as two accuracies on the same rows, when
    the sets are the rows that only the one and only the other gets right.

    >>> interval = paired_shares(12 / 100, 4 / 100, 100, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.0017, 0.1585)
    """
    a, b = ((share * n + 1) / (n + 2) for share in (first, second))
    half = z_of(level) * math.sqrt((a + b - (a - b) ** 2) / (n + 2))
    return Interval(a - b - half, a - b + half, "Bonett-Price").within(-1.0, 1.0)


def on_logit(value: float, se: float, level: float, method: str) -> Interval:
    """Normal on the logit scale, with the standard error of the value itself."""
    eta = math.log(value / (1 - value))
    tau = z_of(level) * se / (value * (1 - value))
    return Interval(_expit(eta - tau), _expit(eta + tau), method)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def precision_recall_logit(area: float, positives: float, level: float) -> Interval:
    """Logit interval of an area under a precision-recall curve [L] (Boyd, Eng and Page 2013).

    The standard error on the logit scale is 1/√(n·a·(1 − a)) with n positives.
    """
    if not 0 < area < 1:
        return missing("logit [L]", "area_at_its_limit")
    return on_logit(area, math.sqrt(area * (1 - area) / positives), level, "logit [L]")


def hanley_mcneil(area: float, positives: float, negatives: float) -> float:
    """Hanley and McNeil's (1982) standard error of the area under the ROC curve."""
    q1 = area / (2 - area)
    q2 = 2 * area**2 / (1 + area)
    variance = (
        area * (1 - area) + (positives - 1) * (q1 - area**2) + (negatives - 1) * (q2 - area**2)
    ) / (positives * negatives)
    return math.sqrt(max(variance, 0.0))


def delong(table: ScoreTable) -> float:
    """DeLong's standard error of the area under the ROC curve.

    The variance of the placements among positives over the number of positives, plus that among
    negatives. With weights, squared weights take the place of counts and Kish's sizes that of n.
    """
    of_positive, of_negative = table.placements()
    return math.sqrt(
        _mean_variance(of_positive, table.positive, table.positive_squares)
        + _mean_variance(of_negative, table.negative, table.negative_squares)
    )


def _mean_variance(value: FloatArray, weight: FloatArray, squares: FloatArray) -> float:
    """Variance of a weighted mean of values that stand for ``weight`` rows each."""
    total = weight.sum()
    n = total**2 / squares.sum()
    if n <= 1:
        return NAN
    mean = np.dot(weight, value) / total
    return float(np.dot(squares, np.square(value - mean)) / total**2 * n / (n - 1))


def auc_interval(area: float, table: ScoreTable, level: float) -> Interval:
    """DeLong on the logit scale; Hanley and McNeil where the area is near its limits or DeLong's
    variance is 0; exact when the classes are separated completely.

    Near its limits: fewer than two rows of the smaller class are misplaced. There DeLong's variance
    rests on next to nothing and its intervals are too short.
    """
    positives = float(table.total_positive**2 / table.positive_squares.sum())
    negatives = float(table.total_negative**2 / table.negative_squares.sum())
    smaller = min(positives, negatives)
    if area in (0.0, 1.0):
        return separated(area, smaller, level)
    se = delong(table)
    if smaller * min(area, 1 - area) < 2 or not se > 0:
        half = z_of(level) * hanley_mcneil(area, positives, negatives)
        return Interval(area - half, area + half, "Hanley-McNeil [H]").within(0.0, 1.0)
    return on_logit(area, se, level, "DeLong, logit")


def separated(area: float, smaller: float, level: float) -> Interval:
    """Limits of the AUC when all positives lie above all negatives (or all below).

    Pair each row of the smaller class with another row of the larger one: the pairs are
    independent, each is in order with probability AUC, and complete separation needs all of them.
    So its probability is at most AUC^m, and the limit with AUC^m = (1 − level)/2 holds whatever
    the distributions.
    """
    bound = ((1 - level) / 2) ** (1 / smaller)
    low, high = (bound, 1.0) if area == 1.0 else (0.0, 1 - bound)
    return Interval(low, high, "exact bound, separated")


def normal_mean(mean: float, se: float, level: float) -> Interval:
    """Normal interval of a mean from its standard error."""
    if not math.isfinite(se):
        return missing("normal", "too_few_rows")
    if se == 0:
        return missing("normal", "no_spread")
    half = z_of(level) * se
    return Interval(mean - half, mean + half, "normal")


def root_mean(mean: float, se: float, level: float) -> Interval:
    """Interval of √mean, normal on the log scale by the delta method.

    It takes the spread of the squares as it is (their fourth moment), so that it needs no normal
    residuals as the χ² interval does.
    """
    if not math.isfinite(se) or mean <= 0:
        return missing("log-delta", "too_few_rows" if mean > 0 else "no_spread")
    factor = math.exp(z_of(level) * se / (2 * mean))
    return Interval(math.sqrt(mean) / factor, math.sqrt(mean) * factor, "log-delta")


def student(mean: float, se: float, n: int, level: float) -> Interval:
    """Student's t interval of a mean of ``n`` independent units."""
    from scipy.special import stdtrit

    if n < 2:
        return missing("Student t", "too_few_units")
    if not se > 0:
        return missing("Student t", "no_spread")
    half = float(stdtrit(n - 1, (1 + level) / 2)) * se
    return Interval(mean - half, mean + half, "Student t")


def percentile(replicates: FloatArray, level: float, method: str = "bootstrap [B]") -> Interval:
    """Percentile interval by interpolated order statistics of bootstrap replicates [B].

    Replicates without a value are left out; above 5% there is no interval.
    """
    defined = replicates[np.isfinite(replicates)]
    if len(defined) < (1 - MOST_DEGENERATE) * len(replicates) or len(defined) == 0:
        return missing(method, "degenerate_replicates")
    if np.ptp(defined) <= 1e-12 * np.abs(defined).max():
        # Resampling a perfect answer gives perfect answers; that is no certainty.
        return missing(method, "no_spread")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), method)


def bootstrap_t(
    mean: float, se: float, means: FloatArray, errors: FloatArray, level: float
) -> Interval:
    """Bootstrap-t interval of a mean: the quantiles of (mean* − mean)/se* take the place of
    Student's (Efron and Tibshirani 1993, §12.5)."""
    method = "bootstrap-t"
    if not se > 0:
        return missing(method, "no_spread")
    usable = np.isfinite(errors) & (errors > 0)
    if usable.sum() < (1 - MOST_DEGENERATE) * len(errors):
        return missing(method, "degenerate_replicates")
    t = (means[usable] - mean) / errors[usable]
    low, high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(mean - high * se), float(mean - low * se), method)
