"""yardstick of R, by the formulas of its sources, on random data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal
from calipers.statistics import FloatArray


def trapezoids(x: FloatArray, y: FloatArray) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))


def of_classes(truth: FloatArray, event: FloatArray) -> dict[str, float]:
    """Its measures of predicted classes, of two."""
    tp, fp = float(np.sum(truth * event)), float(np.sum((1 - truth) * event))
    fn, tn = float(np.sum(truth * (1 - event))), float(np.sum((1 - truth) * (1 - event)))
    n, sens, spec = len(truth), tp / (tp + fn), tn / (tn + fp)
    ppv, npv, accuracy = tp / (tp + fp), tn / (tn + fn), (tp + tn) / n
    expected = ((tp + fn) * (tp + fp) + (tn + fp) * (tn + fn)) / n**2
    product = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return {
        "accuracy": accuracy,
        "bal_accuracy": (sens + spec) / 2,
        "detection_prevalence": (tp + fp) / n,
        "f_meas": 2 * ppv * sens / (ppv + sens),
        "fall_out": 1 - spec,
        "j_index": sens + spec - 1,
        "kap": (accuracy - expected) / (1 - expected),
        "markedness": ppv + npv - 1,
        "mcc": float((tp * tn - fp * fn) / product),
        "miss_rate": 1 - sens,
        "npv": npv,
        "ppv": ppv,
        "precision": ppv,
        "recall": sens,
        "roc_dist": float(np.hypot(1 - sens, 1 - spec)),
        "sens": sens,
        "sensitivity": sens,
        "spec": spec,
        "specificity": spec,
    }


def of_scores(truth: FloatArray, score: FloatArray) -> dict[str, float]:
    """Its measures of the probability of the event, by its curves of each different score."""
    thresholds = np.unique(score)[::-1]
    found = np.array([0.0, *(truth[score >= t].sum() for t in thresholds)])
    tested = np.array([0.0, *(np.sum(score >= t) for t in thresholds)])
    share, recall = truth.mean(), found / truth.sum()
    precision = np.array([1.0, *(found[1:] / tested[1:])])
    gain = trapezoids(tested / len(truth), recall)
    return {
        "average_precision": float(np.sum(np.diff(recall) * precision[1:])),
        "gain_capture": (gain - 0.5) / ((1 - share / 2) - 0.5),
        "pr_auc": trapezoids(recall, precision),
        "roc_auc": trapezoids((tested - found) / (1 - truth).sum(), recall),
    }


def of_numbers(truth: FloatArray, estimate: FloatArray) -> dict[str, float]:
    error = truth - estimate
    return {
        "mae": float(np.mean(abs(error))),
        "mse": float(np.mean(error**2)),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "rsq_trad": float(1 - np.sum(error**2) / np.sum((truth - truth.mean()) ** 2)),
    }


#: Its names that are not read here, and our measures of the same value.
HERE = {
    "bal_accuracy": "balanced-accuracy",
    "f_meas": "F1",
    "gain_capture": "Gini",
    "j_index": "J",
    "kap": "kappa",
    "roc_dist": "ROC-distance",
    "rsq_trad": "R2",
    "sens": "recall",
    "spec": "specificity",
}


def compared(certificate: Certificate, theirs: dict[str, float], function: Any, *columns: Any,
             because: dict[str, bool] | None = None, **options: Any) -> None:  # fmt: skip
    for name, value in theirs.items():
        measure = HERE.get(name, name)
        [ours] = function(*columns, measures=[measure], interval="none", **options).estimates
        tied = because if name == "pr_auc" else None
        certificate.compare("yardstick", name, ours.value, value, because=tied)


@pytest.mark.parametrize("case", range(6))
def test_formulas_of_yardstick(case: int, certificate: Certificate) -> None:
    """Scores are tied in every second case."""
    generator = np.random.default_rng([73, case])
    truth, score = generator.integers(0, 2, 80).astype(float), generator.random(80)
    score = np.round(score, 1) if case % 2 else score
    event = (score + truth / 3 > 0.6).astype(float)
    labels = truth.astype(int)
    of = {"positive": 1}
    compared(
        certificate, of_classes(truth, event), cal.classification, labels, event.astype(int), **of
    )
    compared(certificate, of_scores(truth, score), cal.classification, labels, score=score,
             because={"straight across ties": bool(case % 2)}, **of)  # fmt: skip
    numbers = generator.normal(size=80)
    compared(
        certificate, of_numbers(numbers, numbers + score), cal.regression, numbers, numbers + score
    )

    classes = generator.integers(0, 4, 80)
    classes[:4] = range(4)
    probability = generator.dirichlet(np.ones(4), 80)
    shares = np.bincount(classes) / 80
    areas = [
        of_scores((classes == k).astype(float), probability[:, k])["roc_auc"] for k in range(4)
    ]
    order = np.arange(4)
    below = (classes[:, None] <= order).astype(float)
    ranked = np.sum((below - np.cumsum(probability, axis=1)) ** 2, axis=1)
    for name, measure, value in (
        ("roc_aunu", "macro-AUC", float(np.mean(areas))),
        ("roc_aunp", "weighted-AUC", float(np.dot(shares, areas))),
        ("ranked_prob_score", "RPS", float(np.mean(ranked)) / 3),
    ):
        [ours] = cal.classification(
            classes, probability=probability, labels=[0, 1, 2, 3], measures=[measure], interval="none"
        ).estimates  # fmt: skip
        certificate.compare("yardstick", name, ours.value, value)

    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = np.sort(generator.normal(size=(80, 5)), axis=1)
    residual = numbers[:, None] - quantiles
    theirs = 2 * np.mean(np.maximum(levels * residual, (levels - 1) * residual))
    [ours] = cal.regression(
        numbers, quantiles={float(q): quantiles[:, j] for j, q in enumerate(levels)},
        measures=["weighted_interval_score"], interval="none",
    ).estimates  # fmt: skip
    certificate.compare("yardstick", "weighted_interval_score", ours.value, theirs)
