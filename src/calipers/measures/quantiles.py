"""Measures of predicted quantiles, and of the prediction intervals between two of them.

The central interval of nominal coverage c is between the quantiles (1 − c)/2 and (1 + c)/2.
"""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.goodness_of_fit import ZERO_TRUTH, relative_error_measure
from calipers.measures.registration import measure
from calipers.measures.regression import NO_ROWS, loss_measure, magnitude, pinball
from calipers.statistics import (
    EnsembleRows,
    FloatArray,
    Moments,
    NumericMoments,
    QuantileRows,
)

_quantile_loss = partial(loss_measure, family="quantiles")
_row_proportion = partial(
    measure,
    family="quantiles",
    statistic=Moments,
    higher_is_better=None,
    range=(0, 1),
    undefined=NO_ROWS,
    counts_hits=True,
)


def mean_pinball_losses(truth: FloatArray, predicted: QuantileRows) -> FloatArray:
    """Compute the mean of the pinball losses over the levels."""
    level_losses = [pinball(truth, predicted.quantile(level), level) for level in predicted.levels]
    return np.asarray(np.mean(level_losses, axis=0))


def _quantile_crps(truth: FloatArray, predicted: QuantileRows) -> FloatArray:
    return 2 * mean_pinball_losses(truth, predicted)


def _interval_scores(truth: FloatArray, predicted: QuantileRows, coverage: float) -> FloatArray:
    low, high = predicted.interval_limits(coverage)
    excess = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return np.asarray(high - low + 2 / (1 - coverage) * excess)


def coverage_indicator(truth: FloatArray, predicted: QuantileRows, coverage: float) -> FloatArray:
    """Return 1 for rows whose truth is in the central interval, endpoints included, else 0."""
    low, high = predicted.interval_limits(coverage)
    return np.asarray((low <= truth) & (truth <= high), np.float64)


def _interval_widths(truth: FloatArray, predicted: QuantileRows, coverage: float) -> FloatArray:
    low, high = predicted.interval_limits(coverage)
    return np.asarray(high - low)


def _below_quantile_indicator(
    truth: FloatArray, predicted: QuantileRows, level: float
) -> FloatArray:
    return np.asarray(truth <= predicted.quantile(level), np.float64)


@_quantile_loss(
    "mean-pinball",
    aliases=("mean_quantile_loss", "average_pinball_loss"),
    row_formula=mean_pinball_losses,
)
def mean_pinball(m: Moments) -> FloatArray:
    """Mean pinball loss: the mean over all levels α of the pinball loss.

    The loss is α·(y − q) above the quantile q, and (1 − α)·(q − y) below it. Its expected value is
    minimal for the true quantiles, so it rewards both sharpness and calibration.
    ``pinball(alpha=0.9)`` is the loss of one level. As the number of levels increases, twice the
    mean tends to the continuous ranked probability score (Gneiting and Raftery 2007). It is
    nonnegative; it is undefined if there are no rows.
    """
    return np.asarray(m.mean)


@_quantile_loss("WIS", aliases=("weighted_interval_score",), row_formula=_quantile_crps)
def weighted_interval_score(m: Moments) -> FloatArray:
    """Weighted interval score: twice the mean pinball loss of all levels.

    For K central intervals and the median it is the sum of the absolute error of the median times
    ½, and of the interval scores, each times half of its nominal non-coverage, over K + ½ (Bracher,
    Ray, Gneiting and Reich 2021). It is nonnegative if quantiles do not cross; it is undefined if
    there are no rows.
    """
    return np.asarray(m.mean)


@relative_error_measure(
    "WQL",
    family="quantile-ratios",
    aliases=("weighted_quantile_loss", "mean_weighted_sum_quantile_loss"),
    row_formula=_quantile_crps,
    relative_to=magnitude,
    undefined=ZERO_TRUTH,
    reference="Salinas, Flunkert, Gasthaus and Januschowski 2020",
)
def weighted_quantile_loss(m: NumericMoments) -> FloatArray:
    """Weighted quantile loss: twice the mean pinball loss of all levels over the mean of |truth|.

    It is the WIS over the mean of |truth|, and WAPE if the median is the only quantile. It is
    nonnegative if quantiles do not cross; it is undefined if there are no rows, or if all true
    values are 0.
    """
    return np.asarray(m.residual / m.truth)


def _ensemble_crps(truth: FloatArray, members: EnsembleRows, *, fair: bool = False) -> FloatArray:
    error = np.abs(members.values - truth[:, None]).mean(axis=1)
    size = len(members.levels)
    pairs = size / max(size - 1, 1) if fair else 1.0
    return np.asarray(error - pairs / 2 * members.mean_distance())


@_quantile_loss(
    "CRPS",
    family="ensembles",
    aliases=("continuous_ranked_probability_score", "crps_ensemble"),
    # The fair score may be below 0, which only the other one has as its best value.
    range=(-inf, inf),
    perfect=None,
    row_formula=_ensemble_crps,
    reference="Gneiting and Raftery 2007; Ferro 2014",
)
def continuous_ranked_probability_score(m: Moments, *, fair: bool = False) -> FloatArray:
    """Continuous ranked probability score of an ensemble: mean of |x − y| − ½·mean of |x − x′|.

    The first mean is over the members x, the second over all ordered pairs of members. It is that
    of the empirical distribution of the members, and the absolute error of a single one. With
    ``fair`` the second mean is over pairs of different members: its expected value then does not
    depend on the number of members, so that ensembles of different size can be compared, and it may
    be negative. Otherwise it is nonnegative; it is undefined if there are no rows. Of predicted
    quantiles, ``WIS`` approximates it.
    """
    return np.asarray(m.mean)


@_quantile_loss(
    "interval-score",
    suffix_parameter="coverage",
    aliases=("Winkler", "winkler_score", "mean_winkler_interval_score", "regression_mwi_score"),
    row_formula=_interval_scores,
)
def interval_score(m: Moments, coverage: float) -> FloatArray:
    """Interval score, also Winkler's: the width of the central interval with a penalty.

    It is the mean over rows of the width plus 2/α times the distance of the truth from the
    interval, with α = 1 − coverage. Its expected value is minimal for the true quantiles (Gneiting
    and Raftery 2007). It is nonnegative if quantiles do not cross; it is undefined if there are no
    rows.
    """
    return np.asarray(m.mean)


@_row_proportion(
    "interval-coverage",
    suffix_parameter="coverage",
    aliases=("PICP", "prediction_interval_coverage", "regression_coverage_score"),
    row_formula=coverage_indicator,
)
def interval_coverage(m: Moments, coverage: float) -> FloatArray:
    """Coverage: the proportion of rows whose truth lies within the central interval.

    Endpoints are included. It should equal the nominal coverage: above it the interval is too wide,
    below it too narrow. It ranges from 0 to 1 and is undefined without rows.
    """
    return np.asarray(m.mean)


@_row_proportion(
    "mean-width",
    suffix_parameter="coverage",
    range=(-inf, inf),
    counts_hits=None,
    aliases=("MPIW", "mean_interval_width", "regression_mean_width_score"),
    row_formula=_interval_widths,
)
def mean_width(m: Moments, coverage: float) -> FloatArray:
    """Mean width of the central interval: upper minus lower end.

    Of two intervals with the nominal coverage the narrower one is better; an interval with less
    than nominal coverage is not better for being narrow. A row whose quantiles cross has a negative
    width. It is undefined without rows.
    """
    return np.asarray(m.mean)


@_row_proportion(
    "quantile-coverage",
    suffix_parameter="level",
    aliases=("quantile_calibration", "share_below_quantile"),
    row_formula=_below_quantile_indicator,
)
def quantile_coverage(m: Moments, level: float) -> FloatArray:
    """Quantile coverage, the proportion of rows whose truth is at or below the predicted quantile.

    It should equal the level of the quantile. It ranges from 0 to 1 and is undefined without rows.
    """
    return np.asarray(m.mean)


# --- Ensembles of several outputs -----------------------------------------------------------------


def _energy_scores(truth: FloatArray, members: FloatArray, *, fair: bool = False) -> FloatArray:
    """Compute the energy score of each row; members have the shape (n, n_members, n_outputs)."""
    n_rows, size = members.shape[:2]
    distance = np.zeros(n_rows)
    for shift in range(1, size):  # each pair of different members, with a member further on
        difference = members - np.roll(members, shift, axis=1)
        distance += np.sqrt(np.square(difference).sum(axis=-1)).sum(axis=1)
    error = np.sqrt(np.square(members - truth[:, None]).sum(axis=-1)).mean(axis=1)
    pairs = size * max(size - 1, 1) if fair else size**2
    return np.asarray(error - distance / pairs / 2)


def _variogram_scores(truth: FloatArray, members: FloatArray, p: float) -> FloatArray:
    """Compute the variogram score of each row."""
    scores = np.zeros(len(truth))
    for i in range(truth.shape[1]):
        for j in range(truth.shape[1]):
            observed = np.abs(truth[:, i] - truth[:, j]) ** p
            expected = (np.abs(members[..., i] - members[..., j]) ** p).mean(axis=1)
            scores += np.square(observed - expected)
    return scores


_joint_loss = partial(_quantile_loss, family="joint-ensembles", perfect=None)


@_joint_loss(
    "energy-score",
    aliases=("energy_score", "es_ensemble"),
    range=(-inf, inf),
    row_formula=_energy_scores,
    reference="Gneiting and Raftery 2007",
)
def energy_score(m: Moments, *, fair: bool = False) -> FloatArray:
    """Energy score of an ensemble of several outputs: mean of ‖x − y‖ − ½·mean of ‖x − x′‖.

    The first mean is over the members x, the second over all ordered pairs of members, and the norm
    is Euclidean, so that outputs with large units count most. It is the CRPS for a single output.
    With ``fair`` the second mean is over pairs of different members, as in ``CRPS(fair=True)``, and
    the score may be negative. Otherwise it is nonnegative; it is undefined if there are no rows.
    """
    return np.asarray(m.mean)


@_joint_loss(
    "variogram-score",
    aliases=("variogram_score", "vs_ensemble"),
    range=(0, inf),
    row_formula=_variogram_scores,
    reference="Scheuerer and Hamill 2015",
)
def variogram_score(m: Moments, p: float = 0.5) -> FloatArray:
    """Variogram score of an ensemble: how well it predicts differences between outputs.

    It is the sum over ordered pairs of outputs i and j of (|yᵢ − yⱼ|ᵖ − mean of |xᵢ − xⱼ|ᵖ)², where
    the mean is over members. It is more sensitive than the energy score to correlations of the
    outputs, and does not see an error that all outputs share. It is nonnegative; it is undefined if
    there are no rows.
    """
    return np.asarray(m.mean)
