"""Goodness of fit of predicted numbers: proportions of variance, and correlations."""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.regression import NO_ROWS, absolute_error, magnitude, weighted_quantile
from calipers.statistics import FloatArray, NumericMoments

_CONSTANT_TRUTH = {"constant_truth": lambda m, _: m.constant_mask("truth") & (m.weight > 0)}
_CONSTANT_PREDICTION = {
    "constant_prediction": lambda m, _: m.constant_mask("predicted") & (m.weight > 0)
}

fit_measure = partial(
    measure,
    family="fit",
    statistic=NumericMoments,
    higher_is_better=True,
    perfect=1.0,
    range=(-inf, 1),
    undefined=NO_ROWS | _CONSTANT_TRUTH,
    interval="fit",
)
correlation_measure = partial(
    measure,
    family="fit",
    higher_is_better=True,
    perfect=1.0,
    range=(-1, 1),
    interval="correlation",
)


def clip_correlation(value: FloatArray) -> FloatArray:
    """Clip correlations to [−1, 1], which rounding may exceed."""
    return np.clip(value, -1.0, 1.0)


def _effective_size(m: NumericMoments) -> FloatArray:
    """Compute Kish's effective number of rows, which is invariant to the scale of weights."""
    return np.square(m.weight) / np.maximum(m.squares, 1e-300)


@fit_measure(
    "R2",
    aliases=(
        "r2_score",
        "R-squared",
        "coefficient_of_determination",
        "NSE",
        "nash_sutcliffe_efficiency",
    ),
    reference="Nash and Sutcliffe 1970",
    skill_of="MSE",
    unexplained="residual_sum_squares",
)
def r_squared(m: NumericMoments) -> FloatArray:
    """R², the coefficient of determination: 1 − Σr²/Σ(y − ȳ)².

    In hydrology it is the Nash–Sutcliffe efficiency (NSE). It is 0 if the mean of the truth is
    always predicted, and below 0 for worse predictions. It is at most 1; it is undefined if there
    are no rows, or if the truth is constant.
    """
    return np.asarray(1 - m.residual_sum_squares / m.of_truth)


@fit_measure(
    "adjusted-R2",
    aliases=("adjusted_r2_score", "adj_r2", "adjusted_r_squared"),
    undefined=NO_ROWS
    | _CONSTANT_TRUTH
    | {
        "too_few_for_predictors": lambda m, parameters: (
            _effective_size(m) <= (parameters["predictors"] + 1) * (1 + 1e-9)
        )
    },
)
def adjusted_r_squared(m: NumericMoments, predictors: int) -> FloatArray:
    """R² adjusted for the number of predictors: 1 − (1 − R²)(n − 1)/(n − k − 1) (Theil 1961).

    It is for rows that a linear model of k predictors was fitted to, with n − 1 and n − k − 1
    degrees of freedom. For weighted rows n is their effective number, (Σw)²/Σw². It is at most 1;
    it is undefined if there are no rows, if the truth is constant, or if n is not above k + 1.
    """
    n = _effective_size(m)
    return np.asarray(1 - m.residual_sum_squares / m.of_truth * (n - 1) / (n - predictors - 1))


@fit_measure("explained-variance", aliases=("explained_variance_score",), unexplained="of_residual")
def explained_variance(m: NumericMoments) -> FloatArray:
    """Explained variance: 1 − variance of residuals/variance of the truth.

    Unlike R², it ignores a constant error. It is at most 1; it is undefined if there are no rows,
    or if the truth is constant.
    """
    return np.asarray(1 - m.of_residual / m.of_truth)


@correlation_measure(
    "Pearson",
    statistic=NumericMoments,
    aliases=("pearsonr", "Pearson-correlation"),
    undefined=NO_ROWS | _CONSTANT_TRUTH | _CONSTANT_PREDICTION,
)
def pearson(m: NumericMoments) -> FloatArray:
    """Pearson's correlation of truth and prediction.

    It is their covariance over the product of their standard deviations. It ranges from −1 to 1 and
    is undefined without rows, or if the truth or the prediction is constant.
    """
    return clip_correlation(m.of_both / (np.sqrt(m.of_truth) * np.sqrt(m.of_predicted)))


@correlation_measure(
    "CCC",
    statistic=NumericMoments,
    aliases=("concordance_correlation_coefficient",),
    undefined=NO_ROWS
    | {
        "constant_and_equal": lambda m, _: (
            m.constant_mask("truth")
            & m.constant_mask("predicted")
            & (np.square(m.residual) <= np.square(1e-15 * m.truth))
            & (m.weight > 0)
        )
    },
)
def concordance(m: NumericMoments) -> FloatArray:
    """Concordance correlation: 2·cov(y, p)/(var y + var p + (ȳ − p̄)²), with 1/n in all (Lin 1989).

    It is Pearson's correlation, reduced if the mean or the variance of the predictions differs from
    that of the truth. It ranges from −1 to 1 and is undefined without rows, or if truth and
    prediction are the same constant.
    """
    squared_bias = m.weight * np.square(m.residual)
    return clip_correlation(2 * m.of_both / (m.of_truth + m.of_predicted + squared_bias))


_ZERO_MEAN = {"zero_truth_mean": lambda m, _: (m.truth == 0) & (m.weight > 0)}


def _kling_gupta_components(m: NumericMoments, variant: str = "2009") -> FloatArray:
    """Compute r − 1, α − 1 and β − 1."""
    bias = m.predicted / m.truth
    spread = np.sqrt(m.of_predicted) / np.sqrt(m.of_truth)
    if variant == "2012":
        spread = spread / bias
    return np.stack([pearson(m) - 1, spread - 1, bias - 1], axis=-1)


@fit_measure(
    "KGE",
    components=_kling_gupta_components,
    aliases=("Kling-Gupta", "kling_gupta_efficiency"),
    undefined=NO_ROWS | _CONSTANT_TRUTH | _CONSTANT_PREDICTION | _ZERO_MEAN,
    reference="Gupta, Kling, Yilmaz and Martinez 2009; Kling, Fuchs and Paulin 2012",
)
def kling_gupta(m: NumericMoments, variant: str = "2009") -> FloatArray:
    """Kling–Gupta efficiency: 1 − √((r − 1)² + (α − 1)² + (β − 1)²).

    r is Pearson's correlation, α the standard deviation of the predictions over that of the truth,
    and β the mean of the predictions over that of the truth. In the ``variant`` ``"2012"`` α is
    that of the coefficients of variation, σ/μ. It is at most 1, and 1 − √2 if the mean of the truth
    is nearly always predicted. It is undefined if there are no rows, if the truth or the prediction
    is constant, or if the mean of the truth is 0.
    """
    return np.asarray(1 - np.sqrt(np.square(_kling_gupta_components(m, variant)).sum(axis=-1)))


relative_error_measure = partial(
    measure,
    family="fit",
    statistic=NumericMoments,
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
    interval="relative",
)


@relative_error_measure(
    "NRMSE",
    aliases=("normalized_root_mean_squared_error", "RSR"),
    undefined=NO_ROWS
    | {
        "constant_truth": lambda m, parameters: (
            m.constant_mask("truth") & (m.weight > 0) & (parameters["normalization"] == "sd")
        ),
        "zero_truth_mean": lambda m, parameters: (
            (m.truth == 0) & (m.weight > 0) & (parameters["normalization"] == "mean")
        ),
    },
)
def normalized_root_mean_squared_error(m: NumericMoments, normalization: str = "sd") -> FloatArray:
    """Root mean squared error, normalized by the standard deviation or the mean of the truth.

    By the standard deviation (``sd``, with 1/n) it is √(1 − R²), and 1 for always predicting the
    mean; by the ``mean`` of the truth, or its absolute value, it is the coefficient of variation of
    the RMSE. (By the range or an interquartile range, divide the RMSE and its limits by it; both
    are too uncertain to be estimated from the same rows.) It is nonnegative; it is undefined if
    there are no rows, if the truth is constant, or if its mean is 0.
    """
    mean_square = m.residual_sum_squares / m.weight
    if normalization == "mean":
        return np.asarray(np.sqrt(mean_square) / np.abs(m.truth))
    return np.asarray(np.sqrt(mean_square / (m.of_truth / m.weight)))


ZERO_TRUTH = NO_ROWS | {"zero_truth_everywhere": lambda m, _: (m.truth == 0) & (m.weight > 0)}


@relative_error_measure(
    "WAPE",
    aliases=("weighted_absolute_percentage_error", "ND", "normalized_deviation", "MAD-Mean-ratio"),
    row_formula=absolute_error,
    relative_to=magnitude,
    constant_prediction=weighted_quantile,
    undefined=ZERO_TRUTH,
    reference="Kolassa and Schütz 2007",
)
def weighted_absolute_percentage_error(m: NumericMoments) -> FloatArray:
    """Weighted absolute percentage error: Σ|residual|/Σ|truth|, as a proportion (0.1 is 10%).

    It is the MAPE with weights of |truth|, the MAE over the mean of |truth|, and in reports of
    forecasts the normalized deviation (ND). Rows in which the truth is 0 count with their error. It
    is nonnegative; it is undefined if there are no rows, or if all true values are 0.
    """
    return np.asarray(m.residual / m.truth)


@relative_error_measure(
    "Theil-U1",
    aliases=("theil_u1",),
    range=(0, 1),
    undefined=NO_ROWS
    | {
        "all_zero": lambda m, _: (
            (m.of_truth + m.of_predicted + np.square(m.truth) + np.square(m.predicted) == 0)
            & (m.weight > 0)
        )
    },
    reference="Theil 1961",
)
def theil_inequality(m: NumericMoments) -> FloatArray:
    """Theil's inequality coefficient U₁: RMSE/(√(mean of truth²) + √(mean of prediction²)).

    It ranges from 0, for perfect forecasts, to 1. It is undefined if there are no rows, or if all
    numbers are 0. (U₂, the error over that of the naive forecast, is RMSSE.)
    """
    sums = (
        m.of_truth + m.weight * np.square(m.truth),
        m.of_predicted + m.weight * np.square(m.predicted),
    )
    error = np.sqrt(m.residual_sum_squares)
    return np.asarray(np.minimum(error / (np.sqrt(sums[0]) + np.sqrt(sums[1])), 1.0))
