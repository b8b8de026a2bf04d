"""Measures of counts for whoever has to choose a threshold: what errors cost, how near the ideal it
is, and what the predictive values would be where positives are rarer or more common."""

from __future__ import annotations

from calipers.lazily import numpy as np
from calipers.measures.counts import (
    BOTH_CLASSES,
    agreement,
    error,
    false_negative_rate,
    false_positive_rate,
    informedness,
    rate,
    ratio,
    recall,
    specificity,
)
from calipers.statistics import ConfusionMatrix, FloatArray


@rate(
    "precision@prevalence",
    aliases=("PPV@prevalence",),
    at="prevalence",
    undefined=BOTH_CLASSES
    | {"nothing_predicted_positive": lambda c, p: _called(c, p["prevalence"]) == 0},
)
def precision_at_prevalence(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """Precision (PPV) where the share π of all rows is positive, by Bayes' rule:
    recall·π / (recall·π + FPR·(1 − π))."""
    return recall(c) * prevalence / _called(c, prevalence)


def _called(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """The share that is predicted positive there."""
    return recall(c) * prevalence + false_positive_rate(c) * (1 - prevalence)


@rate(
    "NPV@prevalence",
    at="prevalence",
    undefined=BOTH_CLASSES
    | {"nothing_predicted_negative": lambda c, p: _passed(c, p["prevalence"]) == 0},
)
def npv_at_prevalence(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """NPV where the share π of all rows is positive, by Bayes' rule:
    specificity·(1 − π) / (specificity·(1 − π) + FNR·π)."""
    return specificity(c) * (1 - prevalence) / _passed(c, prevalence)


def _passed(c: ConfusionMatrix, prevalence: float) -> FloatArray:
    """The share that is predicted negative there."""
    return specificity(c) * (1 - prevalence) + false_negative_rate(c) * prevalence


@ratio(
    "cost",
    aliases=("expected-cost", "expected_cost"),
    higher_is_better=False,
    perfect=0.0,
    undefined={
        "no_rows": lambda c, _: c.total == 0,
        "no_positive": lambda c, p: (c.positive == 0) & (p["prevalence"] is not None),
        "no_negative": lambda c, p: (c.negative == 0) & (p["prevalence"] is not None),
    },
)
def expected_cost(
    c: ConfusionMatrix,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    prevalence: float | None = None,
) -> FloatArray:
    """Expected cost of a row: cost_fp·FP + cost_fn·FN over all rows.

    With a ``prevalence`` π it is that of a place where the share π is positive:
    cost_fp·FPR·(1 − π) + cost_fn·FNR·π.
    """
    if prevalence is None:
        return (cost_fp * c.fp + cost_fn * c.fn) / c.total
    wrong_negatives = cost_fp * false_positive_rate(c) * (1 - prevalence)
    return wrong_negatives + cost_fn * false_negative_rate(c) * prevalence


@error(
    "ROC-distance",
    aliases=("closest", "closest-topleft", "distance_to_corner"),
    range=(0, 2**0.5),
    undefined=BOTH_CLASSES,
)
def roc_distance(c: ConfusionMatrix) -> FloatArray:
    """Distance of the point (FPR, recall) from the ideal (0, 1): √(FPR² + FNR²)."""
    return np.hypot(false_positive_rate(c), false_negative_rate(c))


@agreement(
    "diagonal-distance",
    aliases=("distance-to-diagonal", "distance_to_diagonal"),
    range=(-(0.5**0.5), 0.5**0.5),
    perfect=0.5**0.5,
    undefined=BOTH_CLASSES,
)
def diagonal_distance(c: ConfusionMatrix) -> FloatArray:
    """Distance of the point (FPR, recall) from the diagonal of the ROC plane, where answers are
    chance: (recall − FPR)/√2, Youden's J over √2. Below 0 it lies under the diagonal, and the
    opposite answers would do better than chance."""
    return np.asarray(informedness(c) / np.sqrt(2.0))


@rate("sens-spec", aliases=("sensitivity-specificity", "sens_spec"), undefined=BOTH_CLASSES)
def sensitivity_specificity(c: ConfusionMatrix, sensitivity_share: float = 0.5) -> FloatArray:
    """Weighted sum of sensitivity and specificity: w·recall + (1 − w)·specificity."""
    return sensitivity_share * recall(c) + (1 - sensitivity_share) * specificity(c)
