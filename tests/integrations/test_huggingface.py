"""``compute_metrics`` of the Trainer, against scikit-learn; with the real EvalPrediction where
transformers is installed."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import calipers as cal
from calipers.integrations.huggingface import compute_metrics

RANDOM = np.random.default_rng(5)


def prediction(logits: Any, truth: Any) -> Any:
    return SimpleNamespace(predictions=logits, label_ids=truth)


def softmax(logits: Any) -> Any:
    power = np.exp(logits)
    return power / power.sum(axis=-1, keepdims=True)


def test_two_classes() -> None:
    logits, truth = RANDOM.normal(size=(80, 2)), RANDOM.integers(0, 2, 80)
    found = compute_metrics(["accuracy", "f1", "AUC", "log-loss", "macro-F1"])(
        prediction(logits, truth)
    )
    called, p = logits.argmax(axis=1), softmax(logits)
    assert found == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(truth, called),
            "f1": metrics.f1_score(truth, called),
            "AUC": metrics.roc_auc_score(truth, p[:, 1]),
            "log-loss": metrics.log_loss(truth, p),
            "macro-F1": metrics.f1_score(truth, called, average="macro"),
        }
    )


def test_several_classes_with_names_and_intervals() -> None:
    logits, truth = RANDOM.normal(size=(90, 3)), RANDOM.integers(0, 3, 90)
    names = ["cat", "dog", "fox"]
    made = compute_metrics(["macro-F1", "recall[dog]"], labels=names, intervals=True)
    found = made(prediction((logits, "hidden states"), truth))
    called = logits.argmax(axis=1)
    assert found["macro-F1"] == pytest.approx(metrics.f1_score(truth, called, average="macro"))
    ev = cal.classification(
        np.array(names)[truth], np.array(names)[called], measures=["recall[dog]"]
    )
    own = ev["recall[dog]"]
    assert (found["recall[dog]_low"], found["recall[dog]_high"]) == (own.low, own.high)
    with pytest.raises(cal.InputError, match="2 names for 3 logits"):
        compute_metrics("accuracy", labels=["a", "b"])(prediction(logits, truth))


def test_tokens_that_do_not_count() -> None:
    logits, truth = RANDOM.normal(size=(6, 10, 4)), RANDOM.integers(0, 4, (6, 10))
    truth[:, 7:] = -100
    found = compute_metrics("accuracy")(prediction(logits, truth))
    expected = (logits.argmax(axis=-1) == truth)[:, :7].mean()
    assert found == pytest.approx({"accuracy": expected})


def test_several_labels_a_row() -> None:
    logits, truth = RANDOM.normal(size=(70, 3)), RANDOM.integers(0, 2, (70, 3)).astype(float)
    found = compute_metrics(["micro-F1", "macro-AUC"])(prediction(logits, truth))
    assert found == pytest.approx(
        {
            "micro-F1": metrics.f1_score(truth, logits > 0, average="micro"),
            "macro-AUC": metrics.roc_auc_score(truth, logits),
        }
    )


@pytest.mark.parametrize("shape", [(50,), (50, 1)])
def test_numbers(shape: tuple[int, ...]) -> None:
    said, truth = RANDOM.normal(size=shape), RANDOM.normal(size=50)
    found = compute_metrics(["RMSE", "R2"])(prediction(said, truth))
    expected = metrics.r2_score(truth, said.ravel())
    assert found["R2"] == pytest.approx(expected)


def test_it_can_be_pickled() -> None:
    made = compute_metrics(["accuracy"], labels=["n", "y"])
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.slow
def test_what_the_trainer_hands_over() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    logits, truth = RANDOM.normal(size=(40, 2)), RANDOM.integers(0, 2, 40)
    given = transformers.EvalPrediction(predictions=logits, label_ids=truth)
    found = compute_metrics(["accuracy"])(given)
    assert found == {"accuracy": metrics.accuracy_score(truth, logits.argmax(axis=1))}
