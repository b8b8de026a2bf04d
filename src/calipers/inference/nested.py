"""The interval of nested cross-validation for the mean loss of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calipers.inference.intervals import Interval, z_of
from calipers.statistics import FloatArray

NAME = "nested cross-validation"


@dataclass(frozen=True, slots=True)
class Outer:
    """One fold of the outer loop: ``out`` are the losses on it of the model trained on all other
    folds, ``within`` those of the cross-validation of these others among themselves."""

    out: FloatArray
    within: FloatArray


@dataclass(frozen=True, slots=True)
class Nested:
    """What nested cross-validation says of the mean loss.

    ``within`` is the mean loss within the outer folds, ``plain`` that of ordinary cross-validation,
    ``bias`` by how much ``within`` is too large, as models there are trained on fewer rows.
    ``inflation`` is how much longer the interval is than one of independent rows, ``mse`` the mean
    squared error that it is from; below 0 it says nothing, and repetitions are too few.
    """

    interval: Interval
    within: float
    plain: float
    bias: float
    inflation: float
    mse: float


def nested(outer: Sequence[Outer], rows: int, folds: int, level: float = 0.95) -> Nested:
    """The interval of Bates, Hastie and Tibshirani for the error of a model trained on all
    ``rows``, from the outer folds of one repetition of ``folds``-fold cross-validation or several.

    With ē_in and ē_out the mean losses of an outer fold, MSE is the mean over folds of
    (ē_in − ē_out)² less the mean of var(e_out)/n_k; SE = inflation · sd(e_in)/√n, where inflation
    is √MSE over sd(e_in)/√(n(K − 1)/K), between 1 and √K. The interval is
    err_NCV − bias ± z·SE with err_NCV the mean of all e_in and
    bias = (1 + (K − 2)/K)(err_NCV − err_CV): models within are trained on the share (K − 2)/K of
    the rows, and where the error falls as 1/n that is what it costs.

    Undefined where all losses are equal.

    Source: Bates, Hastie and Tibshirani 2024, Journal of the American Statistical Association 119.

    >>> folds = [Outer(np.array([1.0, 3.0]), np.array([2.0, 4.0, 1.0, 2.0])) for _ in range(3)]
    >>> found = nested(folds, rows=6, folds=3)
    >>> found.within, found.plain, round(found.bias, 4), found.inflation
    (2.25, 2.0, 0.3333, 1.0)
    """
    within = np.concatenate([fold.within for fold in outer])
    mean, spread = float(within.mean()), float(within.std(ddof=1))
    plain = float(np.concatenate([fold.out for fold in outer]).mean())
    apart = [(float(fold.within.mean()) - float(fold.out.mean())) ** 2 for fold in outer]
    noise = [_variance(fold.out) / len(fold.out) for fold in outer]
    mse = float(np.mean(apart) - np.mean(noise))
    bias = (1 + (folds - 2) / folds) * (mean - plain)
    if not spread > 0:
        nothing = Interval(math.nan, math.nan, NAME, reason="no_spread")
        return Nested(nothing, mean, plain, bias, math.nan, mse)
    root = math.sqrt(max(0.0, mse)) / (spread / math.sqrt(rows * (folds - 1) / folds))
    inflation = min(max(1.0, root), math.sqrt(folds))
    se = inflation * spread / math.sqrt(rows)
    centre, reach = mean - bias, z_of(level) * se
    interval = Interval(centre - reach, centre + reach, NAME, se=se)
    return Nested(interval, mean, plain, bias, inflation, mse)


def _variance(losses: FloatArray) -> float:
    """Of a single row there is none to take off."""
    return float(losses.var(ddof=1)) if len(losses) > 1 else 0.0
