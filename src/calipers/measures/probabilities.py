"""Measures of predicted probabilities: means of a loss per row.

A prediction is the probability of the positive class, with truth 1 or 0; or a row of probabilities
that sum to 1, one for each class, with the index of the class, from 0, as truth.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from math import inf
from typing import Any, TypeAlias

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import ClassScoreRows, FloatArray, Moments

loss_measure = partial(
    measure, family="probabilities", statistic=Moments, higher_is_better=False, is_multiclass=True
)

NO_ROWS = {"no_rows": lambda m, _: m.weight == 0}
ZERO_PROBABILITY = {"zero_probability": lambda m, _: ~np.isfinite(m.mean)}

#: Largest exponent x for which exp(x) is finite.
_MAX_EXPONENT = math.log(sys.float_info.max)


def base_rate(truth: FloatArray, weight: FloatArray | None, **_: Any) -> float:
    """Return the best constant probability under all these losses: the proportion of positives."""
    return float(np.average(truth, weights=weight))


#: Probabilities of the positive class, or of all classes with precomputed columns.
Probability: TypeAlias = "FloatArray | ClassScoreRows"


def true_class_probability(truth: FloatArray, probability: Probability) -> FloatArray:
    """Return the predicted probability of the true class of each row."""
    if isinstance(probability, np.ndarray) and probability.ndim == 1:
        return np.where(truth > 0, probability, 1 - probability)
    return ClassScoreRows.from_scores(truth, probability).true_class_score


def log_losses(truth: FloatArray, probability: Probability, delta: float = 0.0) -> FloatArray:
    """Compute −ln p(true class) of each row, with p clipped to [Δ, 1 − Δ] for ``delta`` = Δ.

    >>> log_losses(np.array([0, 2]), np.array([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])).round(3)
    array([-0.   ,  0.693])
    """
    true_probability = true_class_probability(truth, probability)
    losses = np.log(np.clip(true_probability, delta, 1 - delta) if delta else true_probability)
    return np.negative(losses, out=losses)


def squared_errors(truth: FloatArray, probability: Probability) -> FloatArray:
    """Compute (p − y)² of each row, summed over the classes if there is a column for each.

    >>> squared_errors(np.array([0, 2]), np.array([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]))
    array([0.   , 0.375])
    """
    if isinstance(probability, np.ndarray) and probability.ndim == 1:
        return np.square(probability - truth)
    rows = ClassScoreRows.from_scores(truth, probability)
    return np.asarray(rows.other_squares + np.square(1 - rows.true_class_score))


def binary_cross_entropies(
    truth: FloatArray, probability: Probability, delta: float = 1e-15
) -> FloatArray:
    """Compute −Σₖ (yₖ ln pₖ + (1 − yₖ) ln(1 − pₖ)) of each row, over all classes, also if two."""
    true_probability = np.clip(true_class_probability(truth, probability), delta, 1 - delta)
    if isinstance(probability, np.ndarray) and probability.ndim == 1:
        return -2 * np.log(true_probability)
    out = np.log1p(-true_probability) - np.log(true_probability)
    for column in ClassScoreRows.from_scores(
        truth, probability
    ).table.T:  # one by one, to need little memory
        out -= np.log1p(-np.clip(column.astype(np.float64, copy=False), delta, 1 - delta))
    return np.asarray(out)


def ranked_probability_losses(truth: FloatArray, probability: Probability) -> FloatArray:
    """Compute the mean over k of (P(class ≤ k) − 1[truth ≤ k])² of each row.

    >>> ranked_probability_losses(np.array([0, 2]), np.array([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]]))
    array([0.     , 0.40625])
    """
    if isinstance(probability, np.ndarray) and probability.ndim == 1:
        return np.square(probability - truth)
    table = ClassScoreRows.from_scores(truth, probability).table
    losses, cumulative = np.zeros(len(table)), np.zeros(len(table))
    for k in range(table.shape[1] - 1):
        cumulative += table[:, k]
        losses += np.square(cumulative - (truth <= k))
    return np.asarray(losses / max(table.shape[1] - 1, 1))


def cross_entropy(truth: FloatArray, model: FloatArray) -> FloatArray:
    """Compute H(p, q) = −Σ pₑ ln qₑ of distributions along the last axis, in nats.

    The arguments are arrays ``(..., K)`` of the true distribution p and of the model's q. An event
    of true probability 0 adds nothing, whatever its predicted probability. An event that is
    possible but has a predicted probability of 0 makes it infinite. ``cross_entropy(p, p)`` is the
    entropy of p.

    >>> float(cross_entropy(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25])).round(6))
    1.039721
    """
    truth, model = np.broadcast_arrays(truth, model)
    with np.errstate(divide="ignore"):
        log_model = np.log(model, out=np.zeros(model.shape), where=truth > 0)
    return np.asarray(-(truth * log_model).sum(axis=-1))[()]


def constant_loss(proportions: FloatArray, loss: str) -> FloatArray:
    """Compute the mean loss of the best constant prediction for K classes, their proportions.

    ``proportions`` has shape ``(..., K)``, the result ``(...)``. For ``"log-loss"`` it is the
    entropy of the proportions, for ``"Brier"`` 1 − Σ p².

    >>> constant_loss(np.array([0.5, 0.25, 0.25]), "Brier").item()
    0.625
    """
    if loss == "log-loss":
        return cross_entropy(proportions, proportions)
    return np.asarray(1 - np.square(proportions).sum(axis=-1))


@loss_measure(
    "log-loss",
    aliases=("log_loss", "logloss", "binary_log_loss", "cross-entropy"),
    range=(0, inf),
    perfect=0.0,
    undefined=NO_ROWS | ZERO_PROBABILITY,
    row_formula=log_losses,
    constant_prediction=base_rate,
)
def log_loss(m: Moments, delta: float = 0.0) -> FloatArray:
    """Log loss (cross-entropy): mean of −ln p(true class), in nats, without clipping.

    A true class with predicted probability 0 makes it infinite, which is reported as undefined with
    that reason and the number of such rows. ``delta`` = Δ clips each p to [Δ, 1 − Δ], so that every
    such row has a loss of −ln Δ: 34.5 for 1e-15, the default of scikit-learn before 1.3, where it
    was called eps. The log loss of the best constant prediction is the entropy of the labels. The
    log loss is nonnegative; it is also undefined if there are no rows. (``binary-cross-entropy`` is
    the one-vs-rest loss, summed over rows and classes.)
    """
    return np.asarray(m.mean)


@loss_measure(
    "Brier",
    aliases=("brier_score", "brier_score_loss"),
    range=(0, 2),
    range_of_two=(0, 1),
    perfect=0.0,
    undefined=NO_ROWS,
    row_formula=squared_errors,
    constant_prediction=base_rate,
    reference="Brier 1950",
)
def brier(m: Moments) -> FloatArray:
    """Brier score: mean of (p − y)² with y = 1 for the positive class, 0 for the other.

    With more than two classes (p − y)² is summed over the classes, as by Brier, so that the maximum
    is 2; with two classes it is half of that, with a maximum of 1. It is undefined without rows.
    """
    return np.asarray(m.mean)


@loss_measure(
    "RPS",
    aliases=("ranked-probability-score",),
    range=(0, 1),
    perfect=0.0,
    undefined=NO_ROWS,
    row_formula=ranked_probability_losses,
    constant_prediction=base_rate,
    depends_on_class_order=lambda *_: True,
    reference="Epstein 1969; Murphy 1971",
)
def ranked_probability_score(m: Moments) -> FloatArray:
    """Ranked probability score of K ordered classes: mean of Σ (P_k − Y_k)²/(K − 1).

    P_k is the predicted probability of the first k classes, and Y_k is 1 if the true class is among
    them, else 0. Probability is penalized the more, the farther it is from the true class. The
    order is that of ``labels=`` or of an ordered categorical; otherwise numbers are sorted by value
    and text alphabetically, which a note says. For two classes it is the Brier score. It ranges
    from 0 to 1 and is undefined without rows.
    """
    return np.asarray(m.mean)


@loss_measure(
    "binary-cross-entropy",
    aliases=("binary_cross_entropy",),
    range=(0, inf),
    perfect=0.0,
    undefined=NO_ROWS | ZERO_PROBABILITY,
    row_formula=binary_cross_entropies,
    constant_prediction=base_rate,
    interval="total",
)
def binary_cross_entropy(m: Moments, delta: float = 1e-15) -> FloatArray:
    """Binary cross-entropy, one-vs-rest, summed over rows and classes, in nats.

    It is −Σₓ Σₖ (cₖ(x) ln yₖ(x) + (1 − cₖ(x)) ln(1 − yₖ(x))), where cₖ(x) is 1 for the class of x
    and 0 for the others, and each yₖ(x) is clipped to [Δ, 1 − Δ] with ``delta`` = Δ. It increases
    with the number of rows; with two classes it is 2n times the log loss. It is nonnegative; it is
    undefined if there are no rows, or if it is infinite.
    """
    return np.asarray(m.weight * m.mean)


@loss_measure(
    "perplexity",
    range=(1, inf),
    perfect=1.0,
    undefined=NO_ROWS | {"zero_probability": lambda m, _: ~(np.asarray(m.mean) < _MAX_EXPONENT)},
    row_formula=log_losses,
    constant_prediction=base_rate,
    interval="exponential",
)
def perplexity(m: Moments, delta: float = 0.0) -> FloatArray:
    """Perplexity: exp(log loss), the number of equally likely classes with the same uncertainty.

    ``delta`` is that of the log loss. It is at least 1; it is undefined if there are no rows, or if
    it is infinite.
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(m.mean))
