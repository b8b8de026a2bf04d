"""Measures of predicted quantiles, and of the intervals between two of them.

The central interval that is to hold a share c lies between the quantiles (1 − c)/2 and (1 + c)/2.
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.regression import NO_ROWS, loss, pinball
from calipers.statistics import FloatArray, Moments, QuantileRows

_score = partial(loss, family="quantiles")
_share = partial(
    measure,
    family="quantiles",
    statistic=Moments,
    higher_is_better=None,
    range=(0, 1),
    undefined=NO_ROWS,
    counts_hits=True,
)


def mean_over_levels(truth: FloatArray, said: QuantileRows) -> FloatArray:
    """The mean over the levels of their pinball losses."""
    each = [pinball(truth, said.quantile(level), level) for level in said.levels]
    return np.asarray(np.mean(each, axis=0))


def _quantile_crps(truth: FloatArray, said: QuantileRows) -> FloatArray:
    return 2 * mean_over_levels(truth, said)


def _winkler(truth: FloatArray, said: QuantileRows, coverage: float) -> FloatArray:
    low, high = said.interval_limits(coverage)
    outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return np.asarray(high - low + 2 / (1 - coverage) * outside)


def covered_rows(truth: FloatArray, said: QuantileRows, coverage: float) -> FloatArray:
    """1 where the truth lies within the central interval, its ends included, else 0."""
    low, high = said.interval_limits(coverage)
    return np.asarray((low <= truth) & (truth <= high), np.float64)


def _width(truth: FloatArray, said: QuantileRows, coverage: float) -> FloatArray:
    low, high = said.interval_limits(coverage)
    return np.asarray(high - low)


def _rows_below_quantile(truth: FloatArray, said: QuantileRows, level: float) -> FloatArray:
    return np.asarray(truth <= said.quantile(level), np.float64)


@_score(
    "mean-pinball",
    aliases=("mean_quantile_loss", "average_pinball_loss"),
    row_formula=mean_over_levels,
)
def mean_pinball(m: Moments) -> FloatArray:
    """Mean pinball loss: the mean over all levels α of the pinball loss, α·(y − q) above the
    quantile q, (1 − α)·(q − y) below it.

    It is least in the long run for the true quantiles, so that it asks them to be near and to hold
    what they promise at once. ``pinball(alpha=0.9)`` is that of one level. With ever more levels
    twice this is the continuous ranked probability score. Source: Gneiting and Raftery 2007."""
    return np.asarray(m.mean)


@_score("WIS", aliases=("weighted_interval_score",), row_formula=_quantile_crps)
def weighted_interval_score(m: Moments) -> FloatArray:
    """Weighted interval score: twice the mean pinball loss of all levels.

    Of K central intervals and the median it is the sum of the absolute error of the median times ½,
    and of interval scores, each times half its share outside, over K + ½. Source: Bracher, Ray,
    Gneiting and Reich 2021."""
    return np.asarray(m.mean)


@_score(
    "interval-score",
    suffix_parameter="coverage",
    aliases=("Winkler", "winkler_score", "mean_winkler_interval_score", "regression_mwi_score"),
    row_formula=_winkler,
)
def interval_score(m: Moments, coverage: float) -> FloatArray:
    """Interval score, also Winkler's: the mean over rows of the width of the central interval and
    2/α times by how much the truth is outside of it, with α = 1 − coverage.

    It is least in the long run for the true quantiles. Source: Gneiting and Raftery 2007."""
    return np.asarray(m.mean)


@_share(
    "interval-coverage",
    suffix_parameter="coverage",
    aliases=("PICP", "prediction_interval_coverage", "regression_coverage_score"),
    row_formula=covered_rows,
)
def interval_coverage(m: Moments, coverage: float) -> FloatArray:
    """Coverage: the proportion of rows whose truth lies within the central interval, endpoints
    included.

    It should equal the nominal coverage: above it the interval is too wide, below it too narrow.
    """
    return np.asarray(m.mean)


@_share(
    "mean-width",
    suffix_parameter="coverage",
    range=(-inf, inf),
    counts_hits=None,
    aliases=("MPIW", "mean_interval_width", "regression_mean_width_score"),
    row_formula=_width,
)
def mean_width(m: Moments, coverage: float) -> FloatArray:
    """Mean width of the central interval: upper less lower end.

    Of two intervals of the right coverage the narrower says more; one that holds too few is no
    better for being narrow. A row whose quantiles cross counts below 0."""
    return np.asarray(m.mean)


@_share(
    "quantile-coverage",
    suffix_parameter="level",
    aliases=("quantile_calibration", "share_below_quantile"),
    row_formula=_rows_below_quantile,
)
def quantile_coverage(m: Moments, level: float) -> FloatArray:
    """Quantile coverage, the proportion of rows whose truth is at or below the predicted
    quantile; it should equal the level of the quantile.
    """
    return np.asarray(m.mean)
