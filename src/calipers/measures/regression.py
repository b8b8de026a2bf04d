"""Measures of regression: means of a loss per row. A residual is prediction − truth."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, Moments
from calipers.statistics.regression import quantile

NO_ROWS = {"no_rows": lambda m, _: m.weight == 0}

loss_measure = partial(
    measure,
    family="regression",
    statistic=Moments,
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
    undefined=NO_ROWS,
    has_units=True,
)


def _infinite_loss_conditions(reason: str) -> dict[str, Any]:
    """Return the conditions for a measure that is undefined if the loss of a row is not finite."""
    return NO_ROWS | {reason: lambda m, _: ~np.isfinite(m.mean)}


# --- The best constant predictions ----------------------------------------------------------------


def weighted_mean(truth: FloatArray, weight: FloatArray | None, **_: Any) -> float:
    """Return the best constant prediction under squared error, and under every deviance."""
    return float(np.average(truth, weights=weight))


def weighted_quantile(truth: FloatArray, weight: FloatArray | None, alpha: float = 0.5) -> float:
    """Return the best constant prediction under the pinball loss; the median for absolute error."""
    if weight is None:
        return quantile(truth, alpha)
    used_mask = weight > 0
    return quantile(truth[used_mask], alpha, weight[used_mask])


def _log1p_mean(truth: FloatArray, weight: FloatArray | None) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.expm1(np.average(np.log1p(truth), weights=weight)))


def _percentage_error_median(truth: FloatArray, weight: FloatArray | None) -> float:
    with np.errstate(divide="ignore", over="ignore"):
        reciprocals = 1 / np.abs(truth)
    weights = reciprocals if weight is None else np.where(weight > 0, reciprocals, 0.0) * weight
    return weighted_quantile(truth, weights) if np.isfinite(weights).all() else float("nan")


# --- Losses ---------------------------------------------------------------------------------------


def squared_error(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Compute the squared error (predicted − truth)² of each row.

    Under the best constant prediction its mean is the variance of the truth.
    """
    error = predicted - truth
    return np.square(error, out=error)


def absolute_error(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Compute the absolute error of each row."""
    error = predicted - truth
    return np.abs(error, out=error)


def magnitude(truth: FloatArray) -> FloatArray:
    """Return |truth|, to which the errors of ratios are relative."""
    return np.abs(truth)


def _percentage_error(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    return np.where(truth == 0, inf, np.abs(predicted - truth) / np.abs(truth))


def _symmetric_percentage_error(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    error, magnitude = np.abs(predicted - truth), np.abs(truth) + np.abs(predicted)
    return 2 * np.where(magnitude == 0, 0.0, error / np.where(magnitude == 0, 1.0, magnitude))


def _squared_log_error(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    in_domain_mask = (truth > -1) & (predicted > -1)
    return np.where(in_domain_mask, np.square(np.log1p(predicted) - np.log1p(truth)), inf)


def _relative_to_naive(loss: FloatArray, naive_loss: float | FloatArray | None) -> FloatArray:
    """Return losses over those of the naive forecast, infinite if that has none.

    None stands for losses of rows that are relative to it already.
    """
    if naive_loss is None:
        return loss
    return np.where(np.equal(naive_loss, 0), inf, loss / np.where(naive_loss == 0, 1, naive_loss))


def _naive_weights(
    weight: FloatArray | None, naive_loss: float | FloatArray | None
) -> FloatArray | None:
    """Return the weights of rows in a mean of losses that are relative to the naive forecast."""
    if np.ndim(naive_loss) == 0 or not np.all(naive_loss):  # type: ignore[arg-type]
        return weight
    return np.asarray((1.0 if weight is None else weight) / naive_loss)  # type: ignore[operator]


def _scaled_error(
    truth: FloatArray, predicted: FloatArray, naive_mae: float | FloatArray | None = None
) -> FloatArray:
    return _relative_to_naive(absolute_error(truth, predicted), naive_mae)


def _truth_median(
    truth: FloatArray, weight: FloatArray | None, naive_mae: float | FloatArray | None = None
) -> float:
    return weighted_quantile(truth, _naive_weights(weight, naive_mae))


def pinball(truth: FloatArray, predicted: FloatArray, alpha: float = 0.5) -> FloatArray:
    """Compute the pinball loss: α·(y − p) for y above p, and (1 − α)·(p − y) below."""
    residual = truth - predicted
    return np.maximum(alpha * residual, (alpha - 1) * residual)


def deviance(truth: FloatArray, predicted: FloatArray, power: float) -> FloatArray:
    """Compute the unit deviance of Tweedie's distribution, infinite where it is not defined."""
    y, p = truth, predicted
    with np.errstate(all="ignore"):
        if power == 0:
            return np.square(y - p)
        if power == 1:
            unit_deviance = 2 * (np.where(y == 0, 0.0, y * np.log(y / p)) - y + p)
        elif power == 2:
            unit_deviance = 2 * (np.log(p / y) + y / p - 1)
        else:
            one_minus_power, two_minus_power = 1 - power, 2 - power
            truth_term = np.power(np.maximum(y, 0), two_minus_power) / (
                one_minus_power * two_minus_power
            )
            unit_deviance = 2 * (
                truth_term
                - y * p**one_minus_power / one_minus_power
                + p**two_minus_power / two_minus_power
            )
    in_domain_mask = (p > 0) & (power < 0 or (y >= 0 if power < 2 else y > 0))
    return np.where(
        in_domain_mask, np.maximum(unit_deviance, 0.0), inf
    )  # rounding may leave a hair below 0


#: Losses whose moments are computed without a column of them: whether they are squared.
DIRECT_LOSSES = {squared_error: True, absolute_error: False}
#: The losses that are squares, of which single rows may hold most.
SQUARED_LOSSES = (squared_error, _squared_log_error)


#: The losses of which a quantile, by default the median, is the best prediction or near it.
MEDIAN_LOSSES = (
    absolute_error,
    _percentage_error,
    _symmetric_percentage_error,
    _scaled_error,
    pinball,
)


@loss_measure(
    "RMSE",
    aliases=("root_mean_squared_error",),
    row_formula=squared_error,
    constant_prediction=weighted_mean,
    interval="root_mean",
)
def root_mean_squared_error(m: Moments) -> FloatArray:
    """Root mean squared error, √(mean of residual²), in the units of the truth.

    Large errors that occur with a probability below 3/n may be absent from a sample of n rows; the
    interval then does not account for them. It is nonnegative; it is undefined if there are no
    rows.
    """
    return np.asarray(np.sqrt(m.mean))


@loss_measure(
    "MSE",
    aliases=("mean_squared_error", "squared_error"),
    row_formula=squared_error,
    constant_prediction=weighted_mean,
)
def mean_squared_error(m: Moments) -> FloatArray:
    """Mean squared error: mean of residual².

    Large errors that occur with a probability below 3/n may be absent from a sample of n rows; the
    interval then does not account for them. It is nonnegative; it is undefined if there are no
    rows.
    """
    return np.asarray(m.mean)


@loss_measure(
    "MAE",
    aliases=("mean_absolute_error", "mean_average_error"),
    row_formula=absolute_error,
    constant_prediction=weighted_quantile,
)
def meanabsolute_error(m: Moments) -> FloatArray:
    """Mean absolute error: mean of |residual|.

    It is nonnegative; it is undefined if there are no rows.
    """
    return np.asarray(m.mean)


@loss_measure(
    "MASE",
    aliases=("mean_absolute_scaled_error",),
    row_formula=_scaled_error,
    constant_prediction=_truth_median,
    undefined=_infinite_loss_conditions("zero_naive_error"),
    has_units=False,
    reference="Hyndman and Koehler 2006",
)
def mean_absolute_scaled_error(m: Moments, naive_mae: float | None = None) -> FloatArray:
    """Mean absolute scaled error: mean of |residual| over the MAE of the naive forecast.

    It is below 1 for forecasts that are better than the naive forecast on the training data. The
    MAE of that is the mean of |y_t − y_{t−m}| over the training data in the order of time, with m =
    1, or the number of time steps in a season: of the ``training`` series of each row, or the
    number ``naive_mae``. It is taken as a known constant: intervals are those of the mean alone.
    The measure is nonnegative; it is undefined if there are no rows, or if the naive forecast of a
    series has no error.
    """
    return np.asarray(m.mean)


def _scaled_squared_error(
    truth: FloatArray, predicted: FloatArray, naive_rmse: float | FloatArray | None = None
) -> FloatArray:
    naive_square = None if naive_rmse is None else np.square(naive_rmse)
    return _relative_to_naive(squared_error(truth, predicted), naive_square)


def _truth_mean(
    truth: FloatArray, weight: FloatArray | None, naive_rmse: float | FloatArray | None = None
) -> float:
    naive_square = None if naive_rmse is None else np.square(naive_rmse)
    return weighted_mean(truth, _naive_weights(weight, naive_square))


@loss_measure(
    "RMSSE",
    aliases=("root_mean_squared_scaled_error", "Theil-U2"),
    row_formula=_scaled_squared_error,
    constant_prediction=_truth_mean,
    undefined=_infinite_loss_conditions("zero_naive_error"),
    has_units=False,
    interval="root_mean",
    reference="Theil 1966; Hyndman and Koehler 2006",
)
def root_mean_squared_scaled_error(m: Moments, naive_rmse: float | None = None) -> FloatArray:
    """Root mean squared scaled error: √(mean of residual² over the MSE of the naive forecast).

    It is below 1 for forecasts that are better than the naive one. The MSE of that is the mean of
    (y_t − y_{t−m})², with m = 1, or the number of time steps in a season: over the ``training``
    series of each row, as in the M5 competition, or the square of the number ``naive_rmse``; over
    the rows that are evaluated, it makes the measure Theil's U₂. It is taken as a known constant.
    The mean is over the rows of all series; M5 averages the roots of the series instead. The
    measure is nonnegative; it is undefined if there are no rows, or if the naive forecast of a
    series has no error.
    """
    return np.asarray(np.sqrt(m.mean))


@measure(
    "mean-error",
    aliases=("mean_bias_error", "MBE"),
    family="regression",
    statistic=Moments,
    row_formula=lambda truth, predicted: predicted - truth,
    higher_is_better=None,
    perfect=0.0,
    range=(-inf, inf),
    undefined=NO_ROWS,
    has_units=True,
)
def mean_error(m: Moments) -> FloatArray:
    """Mean error: the mean residual, above 0 if predictions are too high on average.

    It is undefined without rows.
    """
    return np.asarray(m.mean)


@loss_measure(
    "MAPE",
    aliases=("mean_absolute_percentage_error",),
    row_formula=_percentage_error,
    constant_prediction=_percentage_error_median,
    undefined=_infinite_loss_conditions("zero_truth"),
    has_units=False,
)
def mean_absolute_percentage_error(m: Moments) -> FloatArray:
    """Mean absolute percentage error: mean of |residual|/|truth|, as a proportion (0.1 is 10%).

    It is nonnegative; it is undefined if there are no rows, or if a true value is 0.
    """
    return np.asarray(m.mean)


@loss_measure(
    "sMAPE",
    aliases=("symmetric_mean_absolute_percentage_error",),
    row_formula=_symmetric_percentage_error,
    range=(0, 2),
    has_units=False,
    interval="far_end",
)
def symmetric_percentage_error(m: Moments) -> FloatArray:
    """Symmetric percentage error: mean of 2|residual|/(|truth| + |prediction|).

    A row in which both are 0 counts as 0. It ranges from 0 to 2 and is undefined without rows.
    """
    return np.asarray(m.mean)


@loss_measure(
    "MSLE",
    aliases=("mean_squared_log_error", "mean_squared_logarithmic_error"),
    row_formula=_squared_log_error,
    constant_prediction=_log1p_mean,
    undefined=_infinite_loss_conditions("minus_one_or_less"),
    has_units=False,
)
def mean_squared_log_error(m: Moments) -> FloatArray:
    """Mean squared logarithmic error: mean of (log(1 + prediction) − log(1 + truth))².

    It is nonnegative; it is undefined if there are no rows, or if a value is −1 or less.
    """
    return np.asarray(m.mean)


@loss_measure(
    "RMSLE",
    aliases=("root_mean_squared_log_error",),
    row_formula=_squared_log_error,
    constant_prediction=_log1p_mean,
    undefined=_infinite_loss_conditions("minus_one_or_less"),
    has_units=False,
    interval="root_mean",
)
def root_mean_squared_log_error(m: Moments) -> FloatArray:
    """Root mean squared logarithmic error: √(mean of (log(1 + prediction) − log(1 + truth))²).

    It is nonnegative; it is undefined if there are no rows, or if a value is −1 or less.
    """
    return np.asarray(np.sqrt(m.mean))


@loss_measure(
    "pinball",
    aliases=("mean_pinball_loss", "quantile_loss"),
    row_formula=pinball,
    constant_prediction=weighted_quantile,
)
def pinball_loss(m: Moments, alpha: float = 0.5) -> FloatArray:
    """Pinball loss of predictions of the α-quantile (Koenker and Bassett 1978).

    It is the mean of α·(truth − prediction) where the truth is above the prediction, and of (1 −
    α)·(prediction − truth) where it is below. For α = ½ it is half the MAE. It is nonnegative; it
    is undefined if there are no rows.
    """
    return np.asarray(m.mean)


_deviance_measure = partial(
    loss_measure,
    constant_prediction=weighted_mean,
    undefined=_infinite_loss_conditions("outside_of_domain"),
)


@_deviance_measure(
    "Poisson-deviance", aliases=("mean_poisson_deviance",), row_formula=partial(deviance, power=1)
)
def poisson_deviance(m: Moments) -> FloatArray:
    """Mean Poisson deviance: mean of 2(y·log(y/p) − y + p).

    The truth y has to be 0 or more, and the prediction p above 0; otherwise it is undefined, as it
    is without rows. It is 0 or more.
    """
    return np.asarray(m.mean)


@_deviance_measure(
    "gamma-deviance",
    aliases=("mean_gamma_deviance",),
    row_formula=partial(deviance, power=2),
    has_units=False,
)
def gamma_deviance(m: Moments) -> FloatArray:
    """Mean gamma deviance: mean of 2(log(p/y) + y/p − 1).

    The truth y and the prediction p have to be above 0; otherwise it is undefined, as it is without
    rows. It is 0 or more.
    """
    return np.asarray(m.mean)


@_deviance_measure("Tweedie-deviance", aliases=("mean_tweedie_deviance",), row_formula=deviance)
def tweedie_deviance(m: Moments, power: float) -> FloatArray:
    """Mean Tweedie deviance, whose variance is a power of the mean (Jørgensen 1987).

    The power 0 is the mean squared error, 1 the Poisson deviance, 2 that of the gamma distribution,
    3 that of the inverse Gaussian. For other powers k, below 0 or above 1, it is the mean of
    2(max(y, 0)^(2−k)/((1−k)(2−k)) − y·p^(1−k)/(1−k) + p^(2−k)/(2−k)). The prediction p has to be
    above 0, unless k is 0, and the truth y 0 or more for k ≥ 1 (above 0 for k ≥ 2); otherwise it is
    undefined, as it is without rows. It is 0 or more.
    """
    return np.asarray(m.mean)
