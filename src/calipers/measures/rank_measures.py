"""Rank-based measures of regression, the largest error, and skill scores."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from calipers.lazy_imports import numpy as np
from calipers.measures.goodness_of_fit import clip_correlation, correlation_measure, fit_measure
from calipers.measures.registration import measure
from calipers.measures.regression import deviance, pinball
from calipers.statistics import FloatArray, NumericRows
from calipers.statistics.regression import concordance_sums


def _constant_condition(column: str) -> Any:
    def constant_mask(rows: NumericRows, _: Any) -> Any:
        value, used_mask = np.broadcast_arrays(getattr(rows, column), rows.weight > 0)
        low, high = (
            extremum(value, axis=-1, initial=initial, where=used_mask)
            for extremum, initial in ((np.min, inf), (np.max, -inf))
        )
        return (low >= high) & (rows.total > 0)

    return constant_mask


_NO_ROWS = {"no_rows": lambda rows, _: rows.total == 0}
_CONSTANT_TRUTH = {"constant_truth": _constant_condition("truth")}


@correlation_measure(
    "Spearman",
    family="order",
    statistic=NumericRows,
    aliases=("spearmanr", "Spearman-correlation"),
    undefined=_NO_ROWS
    | _CONSTANT_TRUTH
    | {"constant_prediction": _constant_condition("predicted")},
)
def spearman(rows: NumericRows) -> FloatArray:
    """Spearman's rank correlation: Pearson's of the ranks of truth and prediction (Spearman 1904).

    Ties have midranks. With weights a rank is the weight below a value plus half of the weight at
    it. It ranges from −1 to 1 and is undefined without rows, or if the truth or the prediction is
    constant.
    """
    y, p = (
        sorted_values.midranks(rows.weight) - 0.5
        for sorted_values in (rows.sorted_truth, rows.sorted_predictions)
    )
    covariance, truth_variance, predicted_variance = (
        rows.mean(products) for products in (y * p, y * y, p * p)
    )
    return clip_correlation(covariance / (np.sqrt(truth_variance) * np.sqrt(predicted_variance)))


def _untied_sums(rows: NumericRows) -> tuple[FloatArray, FloatArray]:
    """Compute the weight of the rows with another truth, and with another prediction, by row."""
    totals = rows.total[..., None]
    truth, predicted = (
        totals - sorted_values.weight_sums(rows.weight)[..., sorted_values.value_index]
        for sorted_values in (rows.sorted_truth, rows.sorted_predictions)
    )
    return truth, predicted


def _kendall_influence(batch: NumericRows, rows: NumericRows) -> FloatArray:
    """Return the influence of the rows of a batch on Kendall's τ of all rows."""
    n = batch.n_rows
    without_weight = NumericRows(batch.truth, batch.predicted, np.zeros(n))
    joint = rows + without_weight
    concordance, (truth, predicted) = concordance_sums(joint), _untied_sums(joint)
    total, (concordant, truth_pairs, predicted_pairs) = (
        float(rows.total),
        (float(joint.weight @ sums) for sums in (concordance, truth, predicted)),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.sqrt(truth_pairs * predicted_pairs)
        tie_slopes = truth / truth_pairs + predicted / predicted_pairs
        column = total * (2 * concordance - concordant * tie_slopes) / size
    return np.asarray(column[len(column) - n :])


@correlation_measure(
    "Kendall",
    family="order",
    statistic=NumericRows,
    aliases=("kendalltau", "Kendall-tau", "kendall_tau_b"),
    undefined=_NO_ROWS
    | _CONSTANT_TRUTH
    | {"constant_prediction": _constant_condition("predicted")},
    moves=_kendall_influence,
    reference="Kendall 1945",
)
def kendall(rows: NumericRows) -> FloatArray:
    """Kendall's τ_b: concordant less discordant pairs of rows, over √(pairs untied in either).

    The denominator is the geometric mean of the numbers of pairs that are not tied in the truth,
    and in the prediction. With weights a pair counts with the product of both. It ranges from −1 to
    1 and is undefined without rows, or if the truth or the prediction is constant.
    """
    truth, predicted = _untied_sums(rows)
    concordant, truth_pairs, predicted_pairs = (
        (rows.weight * sums).sum(axis=-1) for sums in (concordance_sums(rows), truth, predicted)
    )
    return clip_correlation(concordant / (np.sqrt(truth_pairs) * np.sqrt(predicted_pairs)))


@measure(
    "MedAE",
    family="order",
    statistic=NumericRows,
    aliases=("median_absolute_error",),
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
    undefined=_NO_ROWS,
    interval="median",
    has_units=True,
)
def median_absolute_error(rows: NumericRows) -> FloatArray:
    """Median absolute error: the median of |residual|.

    For an even number of rows it is the mean of the two middle values. It is nonnegative; it is
    undefined if there are no rows.
    """
    return rows.sorted_errors.quantile(rows.weight, 0.5)


@measure(
    "max-error",
    family="order",
    statistic=NumericRows,
    aliases=("max_error", "maximum_error"),
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
    undefined=_NO_ROWS,
    interval="none",
    has_units=True,
)
def max_error(rows: NumericRows) -> FloatArray:
    """Maximum error: the largest |residual|.

    Its sampling distribution cannot be estimated from the rows, so it has no interval and systems
    are not compared by it. It is nonnegative; it is undefined if there are no rows.
    """
    error = np.abs(rows.predicted - rows.truth)
    return np.asarray(np.where(rows.weight > 0, error, 0.0).max(axis=-1, initial=0.0))


_skill_measure = partial(fit_measure, family="order", statistic=NumericRows)


def _skill_score(loss: FloatArray, constant_loss: FloatArray) -> FloatArray:
    return np.asarray(1 - loss / constant_loss)


def _minimum_pinball_loss(rows: NumericRows, alpha: float) -> FloatArray:
    """Compute the pinball loss of the quantile of the truth."""
    quantile = rows.sorted_truth.quantile(rows.weight, alpha)[..., None]
    return rows.mean(pinball(rows.truth, quantile, alpha))


_NOTHING_TO_SAVE = {
    "constant_without_loss": lambda rows, parameters: (
        (_minimum_pinball_loss(rows, parameters.get("alpha", 0.5)) == 0) & (rows.total > 0)
    )
}


@_skill_measure(
    "D2-pinball",
    aliases=("d2_pinball_score",),
    undefined=_NO_ROWS | _NOTHING_TO_SAVE,
    skill_of="pinball",
)
def d2_pinball(rows: NumericRows, alpha: float = 0.5) -> FloatArray:
    """D² for the pinball loss: 1 − loss/loss of the α-quantile of the truth.

    It is at most 1; it is undefined if there are no rows, or if the quantile of the truth has no
    loss.
    """
    loss = rows.mean(pinball(rows.truth, rows.predicted, alpha))
    return _skill_score(loss, _minimum_pinball_loss(rows, alpha))


@_skill_measure(
    "D2-absolute-error",
    aliases=("d2_absolute_error_score",),
    undefined=_NO_ROWS | _NOTHING_TO_SAVE,
    skill_of="MAE",
)
def d2_absolute(rows: NumericRows) -> FloatArray:
    """D² for the absolute error: 1 − MAE/MAE of the median of the truth.

    It is at most 1; it is undefined if there are no rows, or if the median of the truth has no
    error.
    """
    return d2_pinball(rows, 0.5)


def _n_outside_domain(rows: NumericRows, parameters: Any) -> Any:
    """Count the rows without a deviance."""
    invalid_mask = ~np.isfinite(deviance(rows.truth, rows.predicted, parameters["power"]))
    return (invalid_mask & (rows.weight > 0)).sum(axis=-1)


@_skill_measure(
    "D2-Tweedie",
    aliases=("d2_tweedie_score",),
    undefined=_NO_ROWS | _CONSTANT_TRUTH | {"outside_of_domain": _n_outside_domain},
    skill_of="Tweedie-deviance",
)
def d2_tweedie(rows: NumericRows, power: float) -> FloatArray:
    """D² for the Tweedie deviance: 1 − deviance/deviance of the mean of the truth.

    The power 1 is Poisson, 2 is gamma. It is at most 1; it is undefined if there are no rows, if
    the truth is constant, or if a value is outside of the domain of the deviance.
    """
    mean = rows.mean(rows.truth)[..., None]
    constant_deviance = rows.mean(deviance(rows.truth, mean, power))
    deviances = np.where(rows.weight > 0, deviance(rows.truth, rows.predicted, power), 0.0)
    return _skill_score(rows.mean(deviances), constant_deviance)
