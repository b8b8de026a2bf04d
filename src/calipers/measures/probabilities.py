"""Measures of predicted probabilities: a loss per row, averaged."""

from __future__ import annotations

from functools import partial

import numpy as np

from calipers.measures.definition import INFINITY, FloatArray, Moments, measure

loss = partial(measure, family="probabilities", on=Moments, higher_is_better=False, perfect=0.0)

NO_ROWS = {"no_rows": lambda m, _: m.weight == 0}


def base_rate(truth: FloatArray, weight: FloatArray | None) -> float:
    """The best constant probability of both losses: the share of positives."""
    return float(np.average(truth, weights=weight))


def _log_loss(truth: FloatArray, probability: FloatArray) -> FloatArray:
    return -np.log(np.where(truth > 0, probability, 1 - probability))


def _squared_error(truth: FloatArray, probability: FloatArray) -> FloatArray:
    return np.square(probability - truth)


@loss(
    "log-loss",
    aliases=("log_loss", "logloss", "binary_log_loss"),
    range=(0, INFINITY),
    undefined=NO_ROWS | {"zero_probability": lambda m, _: ~np.isfinite(m.mean)},
    rows=_log_loss,
    constant=base_rate,
)
def log_loss(m: Moments) -> FloatArray:
    """Mean of −ln p(true class), in nats, unclipped.

    A true class that was given probability 0 makes it infinite, which is reported as undefined
    with that reason, not clipped to some large number. The default is the entropy of the labels.
    """
    return np.asarray(m.mean)


@loss(
    "Brier",
    aliases=("brier_score", "brier_score_loss"),
    range=(0, 1),
    undefined=NO_ROWS,
    rows=_squared_error,
    constant=base_rate,
    reference="Brier 1950",
)
def brier(m: Moments) -> FloatArray:
    """Brier score: mean of (p − y)² with y = 1 for the positive class, 0 for the other."""
    return np.asarray(m.mean)
