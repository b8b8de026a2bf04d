"""Losses of probabilities against scikit-learn, SciPy, ydf's vectors and the formulas of 003."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.measures.probabilities import (
    binary_cross_entropies,
    cross_entropy,
    log_losses,
    ranked_probability_losses,
    squared_errors,
)
from calipers.statistics import Moments

RANDOM = np.random.default_rng(11)
ROWS, CLASSES = 200, 4
TRUTH = RANDOM.integers(0, CLASSES, ROWS)
PROBABILITY = RANDOM.dirichlet(np.full(CLASSES, 0.7), ROWS)
WEIGHT = RANDOM.uniform(0.1, 3.0, ROWS)


def value(name: str, rows: np.ndarray, weight: np.ndarray | None = None) -> float:
    return float(cal.measure(name).apply(Moments.from_rows(rows, weight)))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_losses_of_several_classes_are_those_of_scikit_learn(weight: np.ndarray | None) -> None:
    labels = range(CLASSES)
    expected = metrics.log_loss(TRUTH, PROBABILITY, labels=labels, sample_weight=weight)
    assert value("log-loss", log_losses(TRUTH, PROBABILITY), weight) == pytest.approx(expected)
    assert value("perplexity", log_losses(TRUTH, PROBABILITY), weight) == pytest.approx(
        math.exp(expected)
    )
    expected = metrics.brier_score_loss(
        TRUTH, PROBABILITY, labels=labels, sample_weight=weight, scale_by_half=False
    )
    assert value("Brier", squared_errors(TRUTH, PROBABILITY), weight) == pytest.approx(expected)


def test_losses_of_two_classes_are_those_of_two_columns() -> None:
    truth, p = TRUTH % 2, PROBABILITY[:, 0]
    both = np.column_stack([1 - p, p])
    np.testing.assert_allclose(log_losses(truth, p), log_losses(truth, both))
    np.testing.assert_allclose(2 * squared_errors(truth, p), squared_errors(truth, both))
    np.testing.assert_allclose(
        binary_cross_entropies(truth, p), binary_cross_entropies(truth, both), rtol=1e-12
    )


#: YDF.md 1.13, item 1: the probabilities of the true class of four rows.
TRUE_CLASS = np.array([0.8, 0.2, 0.9, 0.2])
LABELS = np.array([1, 2, 2, 1])


@pytest.mark.parametrize("weight", [None, np.array([2.5, 1.0, 2.0, 4.0])])
def test_the_three_classes_of_ydf(weight: np.ndarray | None) -> None:
    rest = (1 - TRUE_CLASS) / 2
    probability = np.repeat(rest[:, None], 3, axis=1)
    probability[np.arange(4), LABELS] = TRUE_CLASS
    w = np.ones(4) if weight is None else weight
    expected = float(np.dot(w, -np.log(TRUE_CLASS)) / w.sum())
    assert value("log-loss", log_losses(LABELS, probability), weight) == pytest.approx(expected)
    share = w[LABELS == 1].sum() / w.sum()
    default = cross_entropy(np.array([share, 1 - share]), np.array([share, 1 - share]))
    ev = cal.classification(
        LABELS - 1,
        probability=probability[:, 2] / (probability[:, 1] + probability[:, 2]),
        weight=weight,
        measures=["log-loss"],
        interval="none",
    )
    assert ev["log-loss"].no_skill == pytest.approx(float(default))
    if weight is None:
        assert float(default) == pytest.approx(math.log(2))


def by_hand(truth: np.ndarray, probability: np.ndarray, delta: float) -> float:
    """The double sum of 003, §1.7, as it stands there."""
    total = 0.0
    for x in range(len(truth)):
        for k in range(probability.shape[1]):
            c = float(truth[x] == k)
            y = max(delta, min(1 - delta, probability[x, k]))
            total -= c * math.log(y) + (1 - c) * math.log(1 - y)
    return total


@pytest.mark.parametrize("delta", [1e-15, 0.01, 0.2])
def test_binary_cross_entropy_is_the_sum_over_rows_and_classes(delta: float) -> None:
    probability = PROBABILITY.copy()
    probability[0], probability[1] = np.eye(CLASSES)[0], np.eye(CLASSES)[1]
    rows = binary_cross_entropies(TRUTH, probability, delta)
    assert value("binary-cross-entropy", rows) == pytest.approx(by_hand(TRUTH, probability, delta))
    truth, p = TRUTH % 2, PROBABILITY[:, 0].clip(0.001)
    ev = cal.classification(
        truth, probability=p, measures=[f"binary_cross_entropy(delta={delta})"], interval="none"
    )
    assert ev.estimates[0].value == pytest.approx(
        by_hand(truth, np.column_stack([1 - p, p]), delta), rel=1e-12
    )


def test_a_certain_mistake_is_infinite_unless_it_is_clipped() -> None:
    ev = cal.classification(
        [0, 1, 1],
        probability=[0.5, 0.0, 1.0],
        measures=[
            "log-loss",
            "perplexity",
            "binary_cross_entropy",
            "binary_cross_entropy(delta=0)",
        ],
    )
    undefined = [e.undefined for e in ev]
    assert undefined == [{"zero_probability": 1}, {"zero_probability": 1}, {},
                         {"zero_probability": 1}]  # fmt: skip
    clipped = -2 * (math.log(0.5) + math.log(1e-15) + math.log1p(-1e-15))
    assert ev["binary-cross-entropy"].value == pytest.approx(clipped)


def test_cross_entropy_is_entropy_and_divergence() -> None:
    p, q = RANDOM.dirichlet(np.ones(5), (2, 30))
    expected = stats.entropy(p, axis=1) + stats.entropy(p, q, axis=1)
    np.testing.assert_allclose(cross_entropy(p, q), expected)
    impossible = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert cross_entropy(*impossible) == math.inf
    assert cross_entropy(impossible[0], impossible[0]) == 0


def test_uniform_probabilities_have_as_much_perplexity_as_classes() -> None:
    uniform = np.full((ROWS, CLASSES), 1 / CLASSES)
    assert value("perplexity", log_losses(TRUTH, uniform)) == pytest.approx(CLASSES)


def test_limits_of_functions_of_the_mean_are_those_of_the_mean() -> None:
    truth, p = TRUTH % 2, PROBABILITY[:, 0].clip(0.05, 0.95)
    names = ["log-loss", "perplexity", "binary_cross_entropy(delta=0)"]
    ev = cal.classification(truth, probability=p, measures=names)
    loss, perplexity, total = ev.estimates
    for end in ("low", "value", "high"):
        mean = getattr(loss, end)
        assert getattr(perplexity, end) == pytest.approx(math.exp(mean))
        assert getattr(total, end) == pytest.approx(2 * ROWS * mean)


def test_differences_of_functions_of_the_mean_agree_with_the_bootstrap() -> None:
    truth = TRUTH % 2
    systems = {
        name: np.clip(0.5 + (truth - 0.5) * pull + RANDOM.normal(0, 0.15, ROWS), 0.05, 0.95)
        for name, pull in (("near", 0.5), ("far", 0.3))
    }
    both = [
        cal.classification(
            truth,
            probability=systems,
            measures=["perplexity", "binary-cross-entropy"],
            interval=interval,
        ).comparison
        for interval in ("analytic", "bootstrap")
    ]
    for analytic, drawn in zip(*both, strict=True):
        assert analytic.value == pytest.approx(drawn.value)
        half = (drawn.high - drawn.low) / 2
        assert analytic.low == pytest.approx(drawn.low, abs=0.15 * half)
        assert analytic.high == pytest.approx(drawn.high, abs=0.15 * half)


def test_losses_of_clipped_probabilities_and_of_a_single_class() -> None:
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    probability = np.array([0.0, 0.5, 0.3, 1.0])
    expected = -np.log([0.1, 0.5, 0.7, 0.1])
    both = np.column_stack([1 - probability, probability])
    for table in (probability, both):
        assert log_losses(truth, table, 0.1) == pytest.approx(expected)
    assert log_losses(truth[1:3], probability[1:3]) == pytest.approx(expected[1:3])
    assert log_losses(np.ones(1), np.ones(1), 0.1) == pytest.approx(-np.log([0.9]))
    assert list(ranked_probability_losses(np.zeros(3), np.ones((3, 1)))) == [0, 0, 0]
