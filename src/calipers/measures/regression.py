"""Measures of predicted numbers: a loss per row, averaged. A residual is prediction − truth."""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.lazily import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, Moments

loss = partial(
    measure,
    family="regression",
    on=Moments,
    higher_is_better=False,
    perfect=0.0,
    range=(0, inf),
    undefined={"no_rows": lambda m, _: m.weight == 0},
)


def weighted_mean(truth: FloatArray, weight: FloatArray | None) -> float:
    """The best constant prediction under squared error."""
    return float(np.average(truth, weights=weight))


def weighted_median(truth: FloatArray, weight: FloatArray | None) -> float:
    """The best constant prediction under absolute error."""
    order = np.argsort(truth)
    running = np.cumsum(np.ones(len(truth)) if weight is None else weight[order])
    return float(truth[order][np.searchsorted(running, running[-1] / 2)])


def _squared(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    return np.square(predicted - truth)


def _absolute(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    return np.abs(predicted - truth)


@loss(
    "RMSE",
    aliases=("root_mean_squared_error",),
    rows=_squared,
    constant=weighted_mean,
    interval="root_mean",
)
def root_mean_squared_error(m: Moments) -> FloatArray:
    """Root mean squared error, √(mean of residual²), in the units of the truth."""
    return np.asarray(np.sqrt(m.mean))


@loss("MSE", aliases=("mean_squared_error",), rows=_squared, constant=weighted_mean)
def mean_squared_error(m: Moments) -> FloatArray:
    """Mean squared error: mean of residual²."""
    return np.asarray(m.mean)


@loss("MAE", aliases=("mean_absolute_error",), rows=_absolute, constant=weighted_median)
def mean_absolute_error(m: Moments) -> FloatArray:
    """Mean absolute error: mean of |residual|."""
    return np.asarray(m.mean)
