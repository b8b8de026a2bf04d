"""Classes and their scores, as calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peers.row import SKLEARN, Call, Data


def probabilities(rows: int) -> Data:
    """Two classes, and probabilities of 32 bits, which is what ydf takes."""
    import numpy as np

    random = np.random.default_rng(0)
    truth = (random.random(rows) < 0.3).astype(np.int64)
    logit = random.normal(1.5 * truth - 1.2, 1)
    return truth, (1 / (1 + np.exp(-logit))).astype(np.float32)


def auc_here(truth: Any, score: Any) -> list[float]:
    import calipers as cal

    return [cal.measure("AUC")(truth, score)]


def auc_there(truth: Any, score: Any) -> list[float]:
    from sklearn.metrics import roc_auc_score

    return [roc_auc_score(truth, score)]


def ap_here(truth: Any, score: Any) -> list[float]:
    import calipers as cal

    return [cal.measure("AP", family="scores")(truth, score)]


def ap_there(truth: Any, score: Any) -> list[float]:
    from sklearn.metrics import average_precision_score

    return [average_precision_score(truth, score)]


def ten_classes(rows: int) -> Data:
    """Labels of ten classes, what is predicted, and the probabilities that say so."""
    import numpy as np

    random = np.random.default_rng(0)
    truth = random.integers(0, 10, rows)
    probability = random.random((rows, 10))
    probability[np.arange(rows), truth] += 1
    probability /= probability.sum(axis=1, keepdims=True)
    return truth, probability.argmax(axis=1), probability


def ten_names(rows: int) -> Data:
    """The same with labels that are text."""
    import numpy as np

    truth, predicted, probability = ten_classes(rows)
    names = np.array([f"class {place}" for place in range(10)])
    return names[truth], names[predicted], probability


def report_here(truth: Any, predicted: Any, _: Any) -> list[float]:
    import calipers as cal

    made = cal.classification(truth, predicted, interval="none", curves=False)
    return [made["accuracy"].value, made["macro-F1"].value]


def report_there(truth: Any, predicted: Any, _: Any) -> list[float]:
    from sklearn.metrics import classification_report

    made = classification_report(truth, predicted, output_dict=True)
    return [made["accuracy"], made["macro avg"]["f1-score"]]


def loss_here(truth: Any, _: Any, probability: Any) -> list[float]:
    import calipers as cal

    return [cal.measure("log-loss")(truth, probability)]


def loss_there(truth: Any, _: Any, probability: Any) -> list[float]:
    from sklearn.metrics import log_loss

    return [log_loss(truth, probability)]


def everything_here(truth: Any, predicted: Any, probability: Any) -> list[float]:
    import calipers as cal

    made = cal.classification(
        truth, predicted, probability=probability, interval="analytic", curves=False
    )
    return [made["accuracy"].value, made["log-loss"].value]


def everything_there(truth: Any, predicted: Any, probability: Any) -> list[float]:
    from sklearn.metrics import classification_report, confusion_matrix, log_loss

    confusion_matrix(truth, predicted)
    made = classification_report(truth, predicted, output_dict=True)
    return [made["accuracy"], log_loss(truth, probability)]


_MILLION = 1_000_000
_EVERYTHING = {"Calipers": everything_here, SKLEARN: everything_there}

CALLS: Mapping[str, Call] = {
    "auc": Call(
        "AUC of {n:,} rows",
        *(_MILLION, probabilities, {"Calipers": auc_here, SKLEARN: auc_there}),
        check=300_000,
    ),
    "ap": Call(
        "average precision of {n:,} rows",
        *(_MILLION, probabilities, {"Calipers": ap_here, SKLEARN: ap_there}),
    ),
    "report": Call(
        "report of precision, recall and F1 of {n:,} rows, ten classes",
        *(_MILLION, ten_classes, {"Calipers": report_here, SKLEARN: report_there}),
    ),
    "loss": Call(
        "log loss of {n:,} rows, ten classes",
        *(_MILLION, ten_classes, {"Calipers": loss_here, SKLEARN: loss_there}),
    ),
    "everything": Call(
        "confusion matrix, report and log loss of {n:,} rows, ten classes; Calipers with every "
        "default measure and its interval",
        *(_MILLION, ten_classes, _EVERYTHING),
    ),
    "everything-text": Call(
        "the same with {n:,} labels that are text", _MILLION, ten_names, _EVERYTHING
    ),
}
