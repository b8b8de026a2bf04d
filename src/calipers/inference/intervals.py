"""Confidence intervals from an estimate and its standard error or replicates.

Every function returns an :class:`Interval` with the name of the method.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference.transformations import TRANSFORMATIONS, Transformation, expit
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import effective_size
from calipers.statistics.base import dot, row_blocks, sample_quantiles

if TYPE_CHECKING:
    from calipers.statistics import FloatArray, ScoreTable
    from calipers.statistics.scores import AreaSummary

NAN = float("nan")

#: With a larger proportion of undefined replicates than this, there is no bootstrap interval.
MAX_UNDEFINED_PROPORTION = 0.05

#: Values with at most this relative difference are equal up to rounding.
ROUNDING_TOLERANCE = 1e-12

#: Limit at which the bootstrap-t clips the distance of a replicate, in standard errors.
MAX_ABS_T = 8.0

#: From this many degrees of freedom, three terms of an expansion give Student's quantile.
MIN_DF_FOR_EXPANSION = 100_000


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence limits with the name of the method, or the reason why there are none.

    Attributes
    ----------
    low, high : float
        Confidence limits; NaN if there is no interval.
    method : str
        Name of the method.
    reason : str or None
        Why there is no interval.
    se : float
        Standard error that the interval is based on, or NaN.
    """

    low: float
    high: float
    method: str
    reason: str | None = None
    se: float = NAN

    def widen(self, value: float, se: float, name: str) -> Interval:
        """Return the interval with its distances from the value in proportion to a standard error.

        ``name`` is that of the error. If it is not larger than that of the interval, the interval
        does not change.
        """
        if self.reason or not (self.se > 0 and math.isfinite(se)):
            return self
        factor = max(1.0, se / self.se)
        low, high = value - factor * (value - self.low), value + factor * (self.high - value)
        method = self.method if factor <= 1 + ROUNDING_TOLERANCE else f"{self.method}, {name}"
        return replace(self, low=low, high=high, method=method, se=factor * self.se)

    def add_caution(self, caution: str) -> Interval:
        """Return the interval with a caution added to its method; unchanged without an interval."""
        if self.reason or f", but {caution}" in self.method:
            return self
        return replace(self, method=f"{self.method}, but {caution}")

    def clip(self, lowest: float, highest: float) -> Interval:
        """Return the interval clipped to the range of the measure."""
        if lowest <= self.low and self.high <= highest:
            return self
        low, high = max(self.low, lowest), min(self.high, highest)
        return replace(self, low=float(low), high=float(high))

    def extend_to_value(self, value: float) -> Interval:
        """Return the interval, extended to the value if this is outside."""
        if self.reason or self.low <= value <= self.high:
            return self
        return replace(self, low=min(self.low, value), high=max(self.high, value))


def no_interval(method: str, reason: str) -> Interval:
    """Return an absent interval with the reason."""
    return Interval(NAN, NAN, method, reason)


def normal_quantile(level: float) -> float:
    """Return the normal quantile with upper tail (1 − level)/2."""
    from statistics import NormalDist  # brings fractions, decimals and random numbers along

    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=64)
def t_quantile(level: float, df: float) -> float:
    """Return the quantile of Student's t with upper tail (1 − level)/2.

    With at least 100,000 degrees of freedom ν it is the normal quantile plus the terms in 1/ν, 1/ν²
    and 1/ν³ (Abramowitz and Stegun 1964, 26.7.5), which is equally exact and avoids importing
    SciPy.

    Examples
    --------
    >>> round(t_quantile(0.95, 9), 4), round(t_quantile(0.95, 1e6), 6)
    (2.2622, 1.959966)
    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    if df < MIN_DF_FOR_EXPANSION:
        from scipy.special import stdtrit

        return float(stdtrit(df, (1 + level) / 2))
    z, inverse_df = normal_quantile(level), 1 / df
    y = z * z
    second, third = (5 * y + 16) * y + 3, ((3 * y + 19) * y + 17) * y - 15
    return z * (
        1 + inverse_df * ((y + 1) / 4 + inverse_df * (second / 96 + inverse_df * third / 384))
    )


def mover_interval(
    first: float,
    a: Interval,
    second: float,
    b: Interval,
    *,
    correlation: float = 0.0,
    margin: float = 0.0,
) -> Interval:
    """Return the MOVER interval of ``first − second`` for two estimates.

    Each side uses the facing limits of the two intervals. If both are Wilson's and independent,
    this is Newcombe's tenth method.

    Parameters
    ----------
    first, second : float
        The estimates.
    a, b : Interval
        Their intervals.
    correlation : float, default=0.0
        Correlation of the estimates (Zou and Donner 2008).
    margin : float, default=0.0
        Distance of limits of an independent error that the intervals do not have.

    Returns
    -------
    Interval
        The interval of the difference.

    Examples
    --------
    >>> from calipers.inference.proportions import wilson
    >>> a, b = wilson(56 / 70, 70, 0.95), wilson(48 / 80, 80, 0.95)  # Newcombe 1998, example (a)
    >>> interval = mover_interval(0.8, a, 0.6, b)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0524, 0.3339)
    """

    def distance(first_distance: float, second_distance: float) -> float:
        if not correlation:
            return math.hypot(first_distance, second_distance, margin)
        square = first_distance**2 + second_distance**2 + margin**2
        square -= 2 * correlation * first_distance * second_distance
        return math.sqrt(max(square, 0.0))

    value = first - second
    return Interval(
        value - distance(first - a.low, b.high - second),
        value + distance(a.high - first, second - b.low),
        "MOVER",
        se=distance(a.se, b.se),
    )


def transformed_interval(
    scale: Transformation, value: float, se: float, level: float, method: str
) -> Interval:
    """Return the normal interval on a transformed scale, from the standard error of the value."""
    return Interval(*scale.symmetric_limits(value, normal_quantile(level) * se), method, se=se)


def logit_interval(value: float, se: float, level: float, method: str) -> Interval:
    """Return the normal interval on the logit scale."""
    return transformed_interval(TRANSFORMATIONS["logit"], value, se, level, method)


def precision_recall_logit(area: float, positives: float, level: float) -> Interval:
    """Return the logit interval of an area under a precision-recall curve [L].

    The standard error on the logit scale is 1/√(n·a·(1 − a)) with n positives (Boyd, Eng and Page
    2013).
    """
    if not 0 < area < 1:
        return no_interval("logit [L]", "area_at_its_limit")
    return logit_interval(area, math.sqrt(area * (1 - area) / positives), level, "logit [L]")


def hanley_mcneil_se(area: float, positives: float, negatives: float) -> float:
    """Return Hanley and McNeil's (1982) standard error of the area under the ROC curve."""
    q1 = area / (2 - area)
    q2 = 2 * area**2 / (1 + area)
    variance = (
        area * (1 - area) + (positives - 1) * (q1 - area**2) + (negatives - 1) * (q2 - area**2)
    ) / (positives * negatives)
    return math.sqrt(max(variance, 0.0))


def delong_se(table: ScoreTable | AreaSummary) -> float:
    """Return DeLong's standard error of the area under the ROC curve.

    It is the root of the variance of the placements of positives divided by their number, plus the
    same for negatives. With weights, squared weights replace counts and Kish's effective sizes
    replace n.
    """
    return table.area("AUC")[1]


def auc_interval(area: float, table: ScoreTable | AreaSummary, level: float) -> Interval:
    """Return the default interval of an AUC.

    It is DeLong's on the logit scale; near the ends of the range the wider, on either side, of this
    and Hanley and McNeil's; Hanley and McNeil's if DeLong's variance is 0; and exact if the classes
    are completely separated.

    Parameters
    ----------
    area : float
        The AUC.
    table : ScoreTable or AreaSummary
        Table of the scores, or its area.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Notes
    -----
    An AUC is near an end if fewer than two rows of the smaller class are misplaced. There DeLong's
    variance is estimated from very few rows and its intervals are too narrow. Hanley and McNeil's
    alone would not suffice: being symmetric, it does not extend far enough down if only this sample
    is near the end.
    """
    n_smaller = min(class_sizes(table))
    if area in (0.0, 1.0):
        return separated_auc_interval(area, n_smaller, level)
    se = delong_se(table)
    if not se > 0:
        return hanley_interval(area, table, level)
    interval = logit_interval(area, se, level, "DeLong, logit")
    if n_smaller * min(area, 1 - area) >= 2:
        return interval
    hanley = hanley_interval(area, table, level)
    low, high = min(interval.low, hanley.low), max(interval.high, hanley.high)
    return Interval(low, high, "Hanley-McNeil [H] or DeLong, logit: the wider", se=se)


def class_sizes(table: ScoreTable | AreaSummary) -> tuple[float, float]:
    """Return Kish's effective number of positives and of negatives; 0 if there are none."""
    return (
        effective_size(table.total_positive, table.total_positive_squares),
        effective_size(table.total_negative, table.total_negative_squares),
    )


def hanley_interval(area: float, table: ScoreTable | AreaSummary, level: float) -> Interval:
    """Return Wald's interval of an AUC with Hanley and McNeil's standard error [H]."""
    interval = normal_interval(area, hanley_mcneil_se(area, *class_sizes(table)), level)
    return replace(interval, method="Hanley-McNeil [H]").clip(0.0, 1.0)


def delong_interval(area: float, table: ScoreTable | AreaSummary, level: float) -> Interval:
    """Return Wald's interval of an AUC with DeLong's standard error."""
    interval = normal_interval(area, delong_se(table), level)
    return replace(interval, method="DeLong").clip(0.0, 1.0)


def separated_auc_interval(area: float, n_smaller: float, level: float) -> Interval:
    """Return the exact limits of the AUC if the classes are completely separated.

    Notes
    -----
    Pair each of the m rows of the smaller class with another row of the larger one: the pairs are
    independent, each is concordant with probability AUC, and complete separation requires all of
    them to be. So its probability is at most AUC^m, and the limit with AUC^m = (1 − level)/2 is
    valid for all distributions.
    """
    bound = ((1 - level) / 2) ** (1 / n_smaller)
    low, high = (bound, 1.0) if area == 1.0 else (0.0, 1 - bound)
    return Interval(low, high, "exact bound, separated")


def normal_interval(mean: float, se: float, level: float) -> Interval:
    """Return the normal interval of a mean from its standard error."""
    if not math.isfinite(se):
        return no_interval("normal", "too_few_rows")
    if se <= ROUNDING_TOLERANCE * abs(mean):
        return no_interval("normal", "no_spread")
    half_width = normal_quantile(level) * se
    return Interval(mean - half_width, mean + half_width, "normal", se=se)


def root_mean_interval(mean: float, se: float, level: float) -> Interval:
    """Return the interval of √mean, normal on the log scale by the delta method.

    It uses the observed variance of the squares (their fourth moment), so that it does not assume
    normal residuals as the χ² interval does.
    """
    if not math.isfinite(se) or mean <= 0:
        return no_interval("log-delta", "too_few_rows" if mean > 0 else "no_spread")
    root, factor = math.sqrt(mean), math.exp(normal_quantile(level) * se / (2 * mean))
    return Interval(root / factor, root * factor, "log-delta", se=se / (2 * root))


#: A kurtosis this far from 3, or three of its standard errors, is not that of normal residuals.
MAX_KURTOSIS_DEVIATION = 1.0


def chi_square_interval(root: float, n: float, kurtosis: float, level: float) -> Interval:
    """Return the χ² interval of a root mean square of residuals [X2].

    The limits are √(n/χ²) times the value, with both quantiles of χ² with n degrees of freedom.

    Parameters
    ----------
    root : float
        Root mean square of the residuals.
    n : float
        Number of (effective) residuals.
    kurtosis : float
        Kurtosis E r⁴/(E r²)² of the residuals.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Notes
    -----
    The interval assumes independent normal residuals with mean 0, whose kurtosis is 3. The name of
    the method includes the observed kurtosis if this is further from 3 than 1 and than three
    standard errors √(24/n): with kurtosis k the interval should be about √((k − 1)/2) times as
    wide.

    Examples
    --------
    >>> interval = chi_square_interval(4.0, 10, 3.0, 0.95)
    >>> round(interval.low, 6), round(interval.high, 6)
    (2.794868, 7.019734)
    """
    from scipy.special import chdtri

    method = "chi-square [X2]"
    if not n >= 1:
        return no_interval(method, "too_few_rows")
    if not root > 0:
        return no_interval(method, "no_spread")
    if abs(kurtosis - 3) > max(MAX_KURTOSIS_DEVIATION, 3 * math.sqrt(24 / n)):
        method += f", but kurtosis {kurtosis:.1f}, not 3"
    # chdtri inverts the upper tail.
    quantiles = (float(chdtri(n, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
    low, high = (root * math.sqrt(n / quantile) for quantile in quantiles)
    return Interval(low, high, method, se=root / math.sqrt(2 * n))


def student_interval(mean: float, se: float, n: float, level: float) -> Interval:
    """Return Student's t interval of a mean of independent units.

    Parameters
    ----------
    mean, se : float
        The mean and its standard error.
    n : float
        Number of (effective) units.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval, or the reason why there is none.
    """
    if n < 2:
        return no_interval("Student t", "too_few_units")
    if not se > ROUNDING_TOLERANCE * abs(mean):
        return no_interval("Student t", "no_spread")
    half = t_quantile(level, n - 1) * se
    return Interval(mean - half, mean + half, "Student t", se=se)


def normal_limit_interval(
    mean: float, sd: float, n_deviations: float, n: float, level: float
) -> Interval:
    """Return the exact interval of a limit of agreement of normal differences (Carkeet 2015).

    The limit is the mean plus a number z of standard deviations of n differences. √n times the
    distance of the true limit from the mean, over the standard deviation, has a noncentral t
    distribution with the noncentrality z√n. For z = 0 the interval is Student's.

    >>> interval = normal_limit_interval(1.0, 2.0, 1.96, 20, 0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (3.713, 7.028)
    >>> interval = normal_limit_interval(1.0, 2.0, 0.0, 20, 0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.064, 1.936)
    """
    from scipy.special import nctdtrit

    if not n >= 2:
        return no_interval("noncentral t", "too_few_units")
    if not sd > ROUNDING_TOLERANCE * abs(mean):
        return no_interval("noncentral t", "no_spread")
    se = sd * math.sqrt(1 / n + n_deviations**2 / (2 * (n - 1)))
    if n_deviations == 0:
        return student_interval(mean, se, n, level)
    low, high = (
        mean + sd / math.sqrt(n) * float(nctdtrit(n - 1, n_deviations * math.sqrt(n), tail))
        for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    return Interval(low, high, "noncentral t", se=se)


def hall_interval(
    mean: float, se: float, skewness: float, df: float, level: float, *, is_nonnegative: bool
) -> Interval:
    """Return Student's t interval of a mean, corrected for skewness (Hall 1992).

    With T = (mean − μ)/se and s the skewness over √n, T + aT² + a²T³/3 + s/6 is nearly normal for
    a = s/3; it rises with T, and its inverse takes Student's quantiles to those of T. However large
    one value is, T stays above about −7. The lower limit of a mean of non-negative values is
    found on the log scale, where a = s/3 − se/(2·mean).

    >>> interval = hall_interval(2.0, 0.5, 0.0, 9, 0.95, is_nonnegative=False)
    >>> round(interval.low, 4), round(interval.high, 4)  # Student's
    (0.8689, 3.1311)
    """
    method = "t, skewness-corrected"
    if not (df > 0 and math.isfinite(se)):
        return no_interval(method, "too_few_rows")
    if se <= ROUNDING_TOLERANCE * abs(mean):  # nothing, or what rounding left
        return no_interval(method, "no_spread")
    t = t_quantile(level, df)

    def inverse_transform(y: float, a: float) -> float:
        root = float(np.cbrt(1 + 3 * a * (y - skewness / 6)))
        return 3 * (y - skewness / 6) / (root**2 + root + 1)

    high = mean - se * inverse_transform(-t, skewness / 3)
    if is_nonnegative and mean > 0:
        relative = se / mean
        low = mean * math.exp(-relative * inverse_transform(t, skewness / 3 - relative / 2))
    else:
        low = mean - se * inverse_transform(t, skewness / 3)
    return Interval(low, high, method, se=se)


def percentile(replicates: FloatArray, level: float, method: str = "bootstrap [B]") -> Interval:
    """Return the percentile interval of bootstrap replicates [B].

    Limits are interpolated order statistics.

    Parameters
    ----------
    replicates : ndarray of shape (B,)
        Bootstrap replicates. Undefined ones are dropped; if they are more than 5%, there is no
        interval.
    level : float
        Confidence level.
    method : str, default="bootstrap [B]"
        Name of the method.

    Returns
    -------
    Interval
        The interval, or the reason why there is none.
    """
    usable = usable_replicates(replicates, method)
    if isinstance(usable, Interval):
        return usable
    low, high = sample_quantiles(usable, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), method, se=standard_deviation(usable))


def basic_bootstrap_on_logit(
    value: float, replicates: FloatArray, size: float, level: float, method: str
) -> Interval:
    """Return the basic bootstrap interval on the logit scale, for a biased value in [0, 1].

    The limits are percentiles of 2·logit(v) − logit(x) for replicates x of a value v.

    Notes
    -----
    Replicates of a maximum over thresholds have the upward bias of the value once more; the basic
    bootstrap removes it (Efron and Tibshirani 1993, §13.4). So that 0 and 1 have a logit, half a
    row of ``size`` is added on either side.

    Examples
    --------
    >>> replicates = np.linspace(0.5, 0.9, 101)
    >>> interval = basic_bootstrap_on_logit(0.6, replicates, 100, 0.9, "basic")
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.237, 0.6751)
    """
    usable = usable_replicates(replicates, method)
    if isinstance(usable, Interval):
        return usable

    def logit(x: FloatArray) -> FloatArray:
        proportion = (size * x + 0.5) / (size + 1)
        return np.asarray(np.log(proportion) - np.log1p(-proportion))

    quantiles = sample_quantiles(usable, [(1 + level) / 2, (1 - level) / 2])
    low, high = (expit(float(x)) for x in 2 * logit(np.float64(value)) - logit(quantiles))
    low, high = ((x * (size + 1) - 0.5) / size for x in (low, high))
    return Interval(low, high, method, se=standard_deviation(usable)).clip(0.0, 1.0)


def standard_deviation(replicates: FloatArray) -> float:
    """Return the standard deviation of replicates, √(Σ(x − x̄)²/(B − 1)), without overflow."""
    largest = float(max(-replicates.min(), replicates.max()))
    if 1e-100 < largest < 1e100 or not largest:
        return float(replicates.std(ddof=1))
    return float((replicates / largest).std(ddof=1)) * largest


def usable_replicates(replicates: FloatArray, method: str) -> FloatArray | Interval:
    """Return the defined replicates, or an absent interval if they are too few or all equal."""
    finite_mask = np.isfinite(replicates)
    defined = replicates if finite_mask.all() else replicates[finite_mask]
    if len(defined) < (1 - MAX_UNDEFINED_PROPORTION) * len(replicates) or len(defined) == 0:
        return no_interval(method, "degenerate_replicates")
    low, high = float(defined.min()), float(defined.max())
    if high - low <= ROUNDING_TOLERANCE * max(-low, high):
        # Resampling perfect predictions gives perfect predictions, which is not certainty.
        return no_interval(method, "no_spread")
    return defined


def jackknife_influence(values: FloatArray, counts: FloatArray | None = None) -> FloatArray:
    """Return jackknife influence values: the mean of the leave-one-out values minus each of them.

    ``counts`` is the number of units that each value represents.
    """
    count = np.ones(len(values)) if counts is None else counts
    used = np.isfinite(values)
    if not count[used].sum() > 0:
        return np.full(len(values), NAN)
    return np.asarray(np.dot(count[used], values[used]) / count[used].sum() - values)


def acceleration(influence: FloatArray, counts: FloatArray | None = None) -> float:
    """Return the acceleration a = ΣI³/(6·(ΣI²)^1.5) from influence values (Efron 1987).

    ``counts`` is the number of units that each value represents. The acceleration is 0 if all
    influence values are 0; undefined ones are dropped.

    Examples
    --------
    >>> round(acceleration(np.array([-1.0, -1.0, 2.0])), 6)
    0.068041
    """
    used = np.isfinite(influence) if counts is None else np.isfinite(influence) & (counts > 0)
    if not used.all():
        influence, counts = influence[used], None if counts is None else counts[used]
    size = max(influence.max(initial=0.0), -influence.min(initial=0.0))
    if size == 0:
        return 0.0
    squares = cubes = 0.0
    for rows in row_blocks(len(influence), 1):
        scaled = influence[rows] / size
        squared = np.square(scaled) if counts is None else counts[rows] * np.square(scaled)
        squares += float(squared.sum())
        cubes += dot(squared, scaled)
    return float(cubes / (6 * squares**1.5))


def scaled_skewness(influence: FloatArray) -> float:
    """Return the skewness of the influence on a mean divided by √n; 0 if nothing varies."""
    return 6 * acceleration(influence)


def bca(
    value: float,
    replicates: FloatArray,
    a: float,
    level: float,
    method: str = "bootstrap [B]",
) -> Interval:
    """Return the bias-corrected and accelerated percentile interval (Efron 1987).

    Parameters
    ----------
    value : float
        The estimate.
    replicates : ndarray of shape (B,)
        Bootstrap replicates. Undefined ones are treated as in :func:`percentile`.
    a : float
        Acceleration, as of :func:`acceleration`.
    level : float
        Confidence level.
    method : str, default="bootstrap [B]"
        Name of the bootstrap.

    Returns
    -------
    Interval
        The interval, or the reason why there is none.

    Notes
    -----
    The limits are the replicates at Φ(z₀ + (z₀ ± z)/(1 − a(z₀ ± z))), where Φ(z₀) is the proportion
    of replicates below the value (half of those equal to it) and a is the acceleration. There is no
    interval if all replicates are on one side of the value.
    """
    method = f"BCa {method}"
    usable = usable_replicates(replicates, method)
    if isinstance(usable, Interval):
        return usable
    # Replicates within rounding error of the value count as equal to it.
    deviations = usable - value
    deviations[np.abs(deviations) <= ROUNDING_TOLERANCE * max(1.0, abs(value))] = 0.0
    below = (np.mean(deviations < 0) + np.mean(deviations <= 0)) / 2
    if not 0 < below < 1:
        return no_interval(method, "replicates_on_one_side")
    from statistics import NormalDist

    normal = NormalDist()
    bias, z = normal.inv_cdf(below), normal_quantile(level)
    probabilities = []
    for end in (bias - z, bias + z):
        if 1 - a * end <= 0:
            return no_interval(method, "replicates_on_one_side")
        probabilities.append(normal.cdf(bias + end / (1 - a * end)))
    low, high = sample_quantiles(usable, probabilities)
    return Interval(float(low), float(high), method, se=standard_deviation(usable))


def bootstrap_t(
    value: float, se: float, replicates: FloatArray, errors: FloatArray, level: float
) -> Interval:
    """Return the bootstrap-t (studentized) interval (Efron and Tibshirani 1993, §12.5).

    Parameters
    ----------
    value, se : float
        The estimate and its standard error.
    replicates, errors : ndarray of shape (B,)
        Bootstrap replicates and the standard error of each.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval, or the reason why there is none.

    Notes
    -----
    The quantiles of (value* − value)/se* replace those of Student's t. Each replicate has its own
    standard error, which is close to 0 if the replicate lacks the only outlier; therefore t is
    clipped to ±8.
    """
    method = "bootstrap-t"
    if not se > 0:
        return no_interval(method, "no_spread")
    t = studentize(value, replicates, errors)
    if t is None:
        return no_interval(method, "degenerate_replicates")
    low, high = sample_quantiles(t, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value - high * se), float(value - low * se), method, se=se)


def studentize(value: float, replicates: FloatArray, errors: FloatArray) -> FloatArray | None:
    """Return (replicate − value)/se of each replicate, clipped to ±8.

    Return None if more than 5% of the replicates have no standard error, or there are none.
    """
    usable = np.isfinite(replicates) & np.isfinite(errors) & (errors > 0)
    if not usable.any() or usable.sum() < (1 - MAX_UNDEFINED_PROPORTION) * len(errors):
        return None
    return np.clip((replicates[usable] - value) / errors[usable], -MAX_ABS_T, MAX_ABS_T)


def student_se(se: float, df: float, level: float) -> float:
    """Return a standard error times t/z, so that normal limits become those of Student's t."""
    return se * t_quantile(level, df) / normal_quantile(level)
