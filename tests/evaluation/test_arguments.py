"""What the verbs say of input that is meant for something else."""

from __future__ import annotations

import collections
import math
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calipers as cal

TRUTH = [0, 1, 0, 1, 0, 1]
P = [0.1, 0.8, 0.3, 0.7, 0.45, 0.6]
SETS = [{"a"}, {"b"}, {"a", "b"}]
RANDOM = np.random.default_rng(0)
QUICK: dict[str, Any] = {"interval": "none"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cal.classification(TRUTH, P),
            "predicted: 0.1 in row 0 is not a class of the truth; scores and probabilities are given "
            "as score= or probability=",
        ),
        (
            lambda: cal.classification(["a", "b", "c"] * 2, {"s": P}),
            "predicted 's': 0.1 in row 0 is not a class of the truth; scores and",
        ),
        (
            lambda: cal.classification(["a", "b", "c"] * 2, RANDOM.random((6, 3))),
            "predicted: has shape (6, 3), expected one value per row; a number for each class is "
            "given as score= or probability=",
        ),
        (
            lambda: cal.classification(RANDOM.random(300), P * 50),
            "truth: has 300 distinct numbers such as 0.",
        ),
        (
            lambda: cal.classification(np.arange(300), np.arange(300)),
            "truth: has 300 distinct numbers in 300 rows, which are unlikely to be classes;",
        ),
        (lambda: cal.classification(pd.DataFrame({"y": TRUTH}), P), "truth: is a table of 1 column;"),
        (lambda: cal.classification(pd.DataFrame({"y": TRUTH}), probability=P), "truth: is a table of 1 column;"),
        (lambda: cal.classification(pd.DataFrame({"y": TRUTH, "n": TRUTH}), P), "truth: is a distribution per row, which cannot be combined with predicted="),
        (lambda: cal.classification(TRUTH, pl.DataFrame({"a": TRUTH, "b": TRUTH})), "predicted: is a table of 2 columns; expected one column, or a dict"),
        (lambda: cal.classification(["a"] * 6, ["a"] * 6), "truth: has only one class ('a'), and the other is unknown; name both (labels=[…]), or"),
        (lambda: cal.classification(TRUTH, score=P, seed="a"), "seed is 'a', expected a whole number"),
        (lambda: cal.classification(TRUTH, score=P, seed=True), "seed is True, expected a whole number"),
        (lambda: cal.classification(TRUTH, score=P, measures=[3]), "measures is [3], expected names of measures such as 'AUC'"),
        (lambda: cal.classification(TRUTH, score=P, level="0.9"), "level is '0.9', expected a number"),
        (lambda: cal.classification(TRUTH, score=P, curves="no"), "curves is 'no', expected True or False"),
        (lambda: cal.compare({"a": 1}), "evaluation is {'a': 1}, expected an evaluation, as returned by the functions"),
        (lambda: cal.regression([1e46, 1], [1, 2]), "truth: is 1e+46 in row 0, expected numbers from -1e+45 to 1e+45"),
        (lambda: cal.regression(["1.5", "2"], [1, 2]), "truth: holds '1.5' in row 0, expected numbers"),
        (lambda: cal.regression(pd.Series(["1.5", "2"]), [1, 2]), "truth: holds '1.5' in row 0, expected numbers"),
        (lambda: cal.rule_in_rule_out(TRUTH, {"a": P, "b": P}, ppv=0.9), "score: holds 2 systems, expected one"),
    ],
)  # fmt: skip
def test_what_is_said(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(cal.InputError) as raised:
        call()
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.classification(y_true=TRUTH, score=P), "classification() has no y_true=; here it is truth="),
        (lambda: cal.classification(TRUTH, score=P, pos_label=1), "classification() has no pos_label=; here it is positive="),
        (lambda: cal.regression(P, P, sample_weight=P), "regression() has no sample_weight=; here it is weight="),
        (lambda: cal.classification(TRUTH, score=P, alpha=0.1), "classification() has no alpha=; here it is level=1 - alpha"),
        (lambda: cal.classification(TRUTH, TRUTH, average="macro"), "classification() has no average=; here it is measures=['macro-F1']"),
        (lambda: cal.measure("AUC")(TRUTH, P, sample_weight=P), "measure() has no sample_weight=; here it is weight="),
        (lambda: cal.classification(TRUTH, score=P, slice_by=P), "classification() has no slice_by=; here it is slices="),
        (lambda: cal.classification(TRUTH, score=P, cluster_by=P), "classification() has no cluster_by=; here it is cluster="),
        (lambda: cal.retrieval({}, {}, n_boot=3), "retrieval() has no n_boot=; here it is n_resamples="),
        (lambda: cal.clustering(P), "clustering(): missing a required argument: 'labels'"),
    ],
)  # fmt: skip
def test_names_of_other_tools(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message


def test_many_classes_are_classes_all_the_same() -> None:
    """Codes that repeat, half points, and whatever labels= names."""
    codes = np.arange(600) % 200
    assert cal.classification(codes, codes, measures=["accuracy"], **QUICK)["accuracy"].value == 1
    stars = np.arange(60) % 10 / 2
    assert len(cal.classification(stars, stars, **QUICK).confusion.labels) == 10
    numbers = np.arange(30) / 7
    named = cal.classification(numbers, numbers, labels=numbers, measures=["accuracy"], **QUICK)
    assert named["accuracy"].value == 1


@pytest.mark.parametrize(
    ("truth", "given", "positive"),
    [
        ([1, 1, 1], {"predicted": [1, 0, 1]}, "1"),
        ([0, 0, 0], {"predicted": [0, 0, 1]}, "1"),
        ([True] * 3, {"score": [0.3, 0.2, 0.9], "threshold": 0.5}, "True"),
        ([-1] * 3, {"predicted": [1, -1, -1]}, "1"),
        (["no"] * 3, {"predicted": ["no", "yes", "no"], "positive": "yes"}, "yes"),
        (["yes"] * 3, {"predicted": ["yes"] * 3, "positive": "yes"}, "yes"),
    ],
)
def test_a_truth_of_one_class_is_evaluated_where_it_can_be(
    truth: Any, given: dict[str, Any], positive: str
) -> None:
    ev = cal.classification(truth, **given, measures=["accuracy", "recall", "specificity"])
    assert ev.provenance["conventions"]["positive"] == positive
    all_positive = str(truth[0]) == positive
    assert np.isfinite(ev["accuracy"].value)
    assert np.isfinite(ev["recall"].value) == all_positive
    assert np.isfinite(ev["specificity"].value) != all_positive
    lacking = ev["specificity" if all_positive else "recall"]
    assert set(lacking.undefined) == {"no_negative" if all_positive else "no_positive"}
    assert f"All rows are of class {truth[0]}, none of" in ev.notes[0]
    str(ev)
    ev.to_html()


@pytest.mark.parametrize(
    "kind", [collections.UserDict, types.MappingProxyType, collections.ChainMap]
)
def test_judgments_and_runs_in_mappings_of_any_kind(kind: Callable[[Any], Any]) -> None:
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 2.0}}
    expected = cal.retrieval(qrels, run, measures=["AP"])["AP"].value
    for q, r in (
        (kind(qrels), kind(run)),
        ({"1": kind(qrels["1"])}, {"1": kind(run["1"])}),
        (kind({"1": kind(qrels["1"])}), {"r": kind(run)}),
    ):
        assert cal.retrieval(q, r, measures=["AP"])["AP"].value == expected


# --- Several labels a row -------------------------------------------------------------------------

TABLE = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]])
SAID = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]])


def ways(table: Any) -> list[Any]:
    rows = table.tolist()
    return [
        rows,
        [tuple(map(bool, row)) for row in rows],
        list(table.astype(float)),
        pd.Series(rows),
        pl.Series(rows),
        [np.array(row, bool) for row in rows],
    ]


def test_rows_of_0_and_1_are_an_indicator_table() -> None:
    expected = [e.value for e in cal.multilabel(TABLE, SAID, **QUICK)]
    for truth, said in zip(ways(TABLE), ways(SAID), strict=True):
        assert [e.value for e in cal.multilabel(truth, said, **QUICK)] == expected
        assert [e.value for e in cal.multilabel(TABLE, {"a": said}, **QUICK)] == expected


def test_sets_are_sets_whatever_they_hold() -> None:
    sets = [{0, 1}, {1, 0}]
    assert (
        cal.multilabel(sets, sets, measures=["Hamming-loss"], **QUICK)["Hamming-loss"].n_total == 2
    )
    ragged = cal.multilabel([[0, 1], [1], [0]], [[0], [1], []], **QUICK)
    assert ragged.provenance["conventions"]["labels"] == ["0", "1"]
    assert ragged["Hamming-loss"].value == pytest.approx(1 / 3)
    with pytest.raises(cal.InputError, match="predicted: its rows hold only 0 and 1, a column for"):
        cal.multilabel([[0, 1], [1]], [[0, 1], [1, 0]])


def test_scores_are_never_sets() -> None:
    score = RANDOM.random((4, 3))
    expected = [e.value for e in cal.multilabel(TABLE, score=score, **QUICK)]
    assert [e.value for e in cal.multilabel(TABLE, score=score.tolist(), **QUICK)] == expected
    assert [e.value for e in cal.multilabel(TABLE, score={"a": list(score)}, **QUICK)] == expected
    for call, message in (
        (
            lambda: cal.multilabel(score.tolist(), TABLE),
            "truth: holds 0.* expected labels; numbers",
        ),
        (
            lambda: cal.multilabel(SETS, score=[{"a"}] * 3),
            "score: expected a column of numbers .* not",
        ),
        (
            lambda: cal.multilabel(TABLE, score=[[0.1], [0.2, 0.3]] * 2),
            "score: rows differ in length",
        ),
    ):
        with pytest.raises(cal.InputError, match=message):
            call()


def test_predict_proba_of_scikit_learn_is_understood() -> None:
    from sklearn.ensemble import ExtraTreesClassifier

    x = RANDOM.random((40, 3))
    y = (x + 0.5 * RANDOM.random((40, 3)) > 0.8).astype(int)
    given = ExtraTreesClassifier(5, max_depth=2, random_state=0).fit(x, y).predict_proba(x)
    assert len(given) == 3
    assert given[0].shape == (40, 2)
    ev = cal.multilabel(y, probability={"a": given}, **QUICK)
    table = np.column_stack([of[:, 1] for of in given])
    assert [e.value for e in ev] == [e.value for e in cal.multilabel(y, probability=table, **QUICK)]
    for wrong, message in (
        ([*given[:2], given[2][:, :1]], "probability: the array of label 2 has one column"),
        ([*given[:2], given[2] * 2], "probability: the array of label 2 has shape"),
        ([*given[:2], given[2][:9]], "probability: the array of label 2 has shape"),
        (np.array(given), r"probability: has shape \(3, 40, 2\), expected \(rows, labels\)"),
    ):
        with pytest.raises(cal.InputError, match=message):
            cal.multilabel(y, probability=wrong)


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, math.nan, math.inf])
def test_every_verb_has_the_same_message_on_the_level(level: float) -> None:
    values = {"a": [0.1, 0.2, 0.3, 0.5], "b": [0.2, 0.2, 0.4, 0.4]}
    calls: list[Callable[..., Any]] = [
        partial(cal.classification, TRUTH, score=P),
        partial(cal.from_values, values),
        partial(cal.compare_splits, values, design="k-fold"),
        partial(cal.best_system, cal.from_values(values)),
        partial(cal.monitor, [1, 0, 1]),
    ]
    message = f"level is {level}, expected a proportion between 0 and 1 such as 0.95"
    for call in calls:
        with pytest.raises(cal.InputError) as error:
            call(level=level)
        assert str(error.value) == message
