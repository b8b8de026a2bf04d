"""Rows of several labels: against scikit-learn and brute force."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import calipers as cal
from calipers.data.errors import InputError
from calipers.measures import parse
from calipers.statistics import LabelMatrices

NAMES = ("a", "b", "c", "d")
OF_ROWS = {
    "subset-accuracy": metrics.accuracy_score,
    "Hamming-loss": metrics.hamming_loss,
    "example-precision": metrics.precision_score,
    "example-recall": metrics.recall_score,
    "example-F1": metrics.f1_score,
    "example-Jaccard": metrics.jaccard_score,
}


def draw(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 4)) < rng.random(4)
    return truth, truth ^ (rng.random((n, 4)) < 0.2), rng.random(n) + 0.1


@pytest.mark.parametrize("seed", range(60))
def test_parity_with_scikit_learn(seed: int) -> None:
    """Of rows that have a value at all; of labels that occur."""
    truth, predicted, weight = draw(seed)
    ev = cal.multilabel(
        truth, predicted, weight=weight, interval="none",
        measures=[*OF_ROWS, "macro-F1", "micro-F1", "weighted-F1", "micro-precision", "recall[1]"],
    )  # fmt: skip
    has = {
        "example-precision": predicted.any(axis=1),
        "example-recall": truth.any(axis=1),
        "example-F1": (truth | predicted).any(axis=1),
        "example-Jaccard": (truth | predicted).any(axis=1),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, theirs in OF_ROWS.items():
            rows = has.get(name, np.ones(len(truth), bool))
            more: dict[str, Any] = {"average": "samples"} if name in has else {}
            expected = theirs(truth[rows], predicted[rows], sample_weight=weight[rows], **more)
            assert ev[name].value == pytest.approx(expected, abs=1e-12), name
            assert ev[name].n == rows.sum()
        occurs = np.flatnonzero((truth | predicted).any(axis=0))
        for average in ("macro", "micro", "weighted"):
            expected = metrics.f1_score(
                truth, predicted, sample_weight=weight, average=average, labels=occurs
            )
            assert ev[f"{average}-F1"].value == pytest.approx(expected, abs=1e-12)


def test_matrices_of_labels() -> None:
    truth, predicted, weight = draw(0)
    for w in (None, weight):
        found = LabelMatrices.from_sets(truth, predicted, NAMES, w)
        expected = metrics.multilabel_confusion_matrix(truth, predicted, sample_weight=w)
        np.testing.assert_allclose(found.counts, expected)
        again = LabelMatrices.from_bytes(found.to_bytes())
        np.testing.assert_array_equal(again.counts, found.counts)
    np.testing.assert_allclose((found + found).counts, 2 * found.counts)


def test_rows_as_sets_as_arrays_and_as_frames() -> None:
    import pandas as pd

    sets = [{"sun", "sea"}, ["sea"], (), {"sun"}]
    called = [{"sun"}, {"sea"}, set(), {"sun", "sea"}]
    table, guess = (np.array([["sea" in r, "sun" in r] for r in rows]) for rows in (sets, called))
    forms = [
        (sets, called, None),
        (table, guess, ["sea", "sun"]),
        (table.astype(int), guess.astype(float), ["sea", "sun"]),
        (pd.DataFrame(table, columns=["sea", "sun"]), guess, None),
    ]
    for truth, predicted, labels in forms:
        ev = cal.multilabel(truth, predicted, labels=labels, measures=["macro-F1", "recall[sun]"])
        assert ev["recall[sun]"].value == 1.0
        assert ev["macro-F1"].value == pytest.approx((2 / 4 + 1) / 2)  # sea: 1 hit of 2 and 2


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(
    "name", ["macro-F1", "micro-F1", "weighted-precision", "example-F1", "Hamming-loss"]
)
def test_analytic_and_bootstrap_agree(name: str, clustered: bool) -> None:
    truth, predicted, _ = draw(1, 1200)
    other = truth ^ (np.random.default_rng(9).random(truth.shape) < 0.15)
    cluster = np.random.default_rng(2).integers(0, 200, 1200) if clustered else None
    analytic, drawn = (
        cal.multilabel(
            truth, {"x": predicted, "y": other}, measures=[name], interval=i, cluster=cluster
        )
        for i in ("analytic", "bootstrap")
    )
    for one, two in (
        (analytic["x", name], drawn["x", name]),
        (analytic.comparison[name], drawn.comparison[name]),
    ):
        assert one.value == pytest.approx(two.value)
        assert one.high - one.low == pytest.approx(two.high - two.low, rel=0.15)


def test_rows_without_a_value_are_counted() -> None:
    ev = cal.multilabel([set(), {"a"}], [{"a"}, {"a"}], measures=["example-recall"])
    assert ev["example-recall"].value == 1.0
    assert ev["example-recall"].n == 1
    assert ev["example-recall"].undefined == {"nothing_to_share": 1}


@pytest.mark.parametrize(
    ("truth", "predicted", "options", "message"),
    [
        ([{"a"}], ["a"], {}, "predicted: is 'a' in row 0, expected a set or a list of labels"),
        ([{"a"}], [{"a"}, {"a"}], {}, "predicted: has 2 rows, truth has 1"),
        ([{"a"}], [{"b"}], {"labels": ["a"]}, "predicted: 'b' in row 0 is no label"),
        ([[]], [[]], {}, "no label occurs anywhere"),
        (np.full((2, 2), 0.5), np.zeros((2, 2)), {}, "truth: expected Booleans, or 0 and 1"),
        ([{"a"}], [{"a"}], {"measures": ["recall"]}, r"ask for recall\[a\], or for macro-recall"),
        ([{"a"}], [{"a"}], {"measures": ["recall[z]"]}, "'z' is no label"),
    ],
)
def test_input_errors(truth: Any, predicted: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cal.multilabel(truth, predicted, **options)


def test_names() -> None:
    assert str(parse("exact_match")) == "subset-accuracy"
    assert str(parse("f1_samples")) == "example-F1"
