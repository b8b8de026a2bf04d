"""A row of count c is the same as that row written c times: in every value, interval, test,
finding, slice and curve, digit for digit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.findings import rules
from calipers.measures import TASKS, definitions

ROWS = 40
COUNT = np.random.default_rng(3).choice([0, 1, 2, 5], ROWS, p=[0.1, 0.4, 0.4, 0.1])
WRITTEN = np.repeat(np.arange(ROWS), COUNT)


def _columns() -> dict[str, Any]:
    random = np.random.default_rng(11)
    positive = random.random(ROWS) < 0.4
    noise = {name: random.normal(size=(ROWS, 4)) for name in ("rough", "fine")}
    of_class = random.integers(0, 4, ROWS)
    labels = random.random((ROWS, 4)) < 0.4
    number = random.normal(size=ROWS).round(1)

    def each(make: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
        return {"rough": make(2 * noise["rough"]), "fine": make(noise["fine"])}

    def logistic(x: np.ndarray) -> np.ndarray:
        return np.clip(1 / (1 + np.exp(-x)), 0.01, 0.99).round(2)

    def softmax(z: np.ndarray) -> np.ndarray:
        return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)

    return {
        "positive": positive,
        "called": each(lambda z: positive ^ (z[:, 0] > 1)),
        "score": each(lambda z: positive + z[:, 0].round(1)),
        "probability": each(lambda z: logistic(2 * positive - 1 + z[:, 0])),
        "class": np.array(list("abcd"))[of_class],
        "class_called": each(lambda z: np.array(list("abcd"))[(of_class + (z[:, 0] > 1)) % 4]),
        "class_probability": each(lambda z: softmax(2 * np.eye(4)[of_class] + z)),
        "labels": labels,
        "label_probability": each(lambda z: logistic(2 * labels - 1 + z)),
        "number": number,
        "predicted": each(lambda z: (number + z[:, 0]).round(1)),
        "outputs": np.column_stack([number, labels @ [1.0, 2.0, 0.5, 1.5]]),
        "of_outputs": each(lambda z: (np.column_stack([number, labels[:, 0]]) + z[:, :2]).round(1)),
        "quantiles": each(
            lambda z: {0.1: (number + z[:, 0] - 1).round(1), 0.9: (number + z[:, 0] + 1).round(1)}
        ),
        "ensemble": each(lambda z: (number[:, None] + z).round(1)),
        "ratings": {
            f"{name}{k}": np.where(noise[name][:, k] > 0.8, (of_class + 1) % 4, of_class)
            for name in noise
            for k in range(3)
        },
        "weight": random.uniform(0.5, 2.0, ROWS).round(2),
        "cluster": np.array([f"site {k}" for k in random.integers(0, 12, ROWS)]),
        "age": random.integers(20, 80, ROWS),
    }


GIVEN = _columns()


@pytest.fixture(autouse=True)
def no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is written several times stands beside itself: the rule that looks whether
    neighbouring rows err alike finds that of rows, and is not asked of counts."""
    asked = {name: one for name, one in rules.RULES.items() if one.kind != "neighbors-alike"}
    monkeypatch.setattr(rules, "RULES", asked)


def _written(column: Any) -> Any:
    if isinstance(column, dict):
        return {name: _written(values) for name, values in column.items()}
    return column[WRITTEN]


#: The verb, and its columns, by what they are called there.
VERBS: dict[str, tuple[Callable[..., Any], dict[str, str], dict[str, Any]]] = {
    "labels": (
        cal.classification,
        {"truth": "positive", "predicted": "called"},
        {"measures": ["accuracy", "F1", "NPV"]},
    ),
    "scores": (
        cal.classification,
        {"truth": "positive", "score": "score"},
        {"threshold": "youden", "measures": ["PR-AUC", "MCC", "recall@precision=0.5"]},
    ),
    "probabilities": (
        cal.classification,
        {"truth": "positive", "probability": "probability"},
        {"measures": ["AUC", "Brier", "F1", "ECE"]},
    ),
    "classes": (cal.classification, {"truth": "class", "predicted": "class_called"}, {}),
    "class probabilities": (
        cal.classification,
        {"truth": "class", "probability": "class_probability"},
        {"measures": ["default", "macro-AUC", "top-2-accuracy"], "labels": list("abcd")},
    ),
    "label sets": (
        cal.multilabel,
        {"truth": "labels", "probability": "label_probability"},
        {"measures": ["example-F1", "macro-F1", "micro-AUC", "LRAP", "macro-Brier"]},
    ),
    "numbers": (cal.regression, {"truth": "number", "predicted": "predicted"}, {}),
    "outputs": (cal.regression, {"truth": "outputs", "predicted": "of_outputs"}, {}),
    "quantiles": (cal.regression, {"truth": "number", "quantiles": "quantiles"}, {}),
    "ensembles": (cal.regression, {"truth": "number", "ensemble": "ensemble"}, {}),
    "operating point": (cal.operating_point, {"truth": "positive", "score": "score"}, {}),
    "scores of cases": (
        cal.scores,
        {"score": "predicted"},
        {
            "measures": ["mean-score", "median-score", "pass-rate@0.5", "win-rate"],
            "reference_system": "fine",
        },
    ),
    "raters": (
        cal.agreement,
        {"ratings": "ratings"},
        {
            "raters": {n: [f"{n}{k}" for k in range(3)] for n in ("rough", "fine")},
            "measures": ["default", "Fleiss-kappa", "AC1"],
            "scale": "ordinal",
        },
    ),
}

#: What the rows have besides.
BESIDES: dict[str, dict[str, Any]] = {
    "alone": {},
    "slices": {"slices": {"age": "age"}},
    "weights": {"weight": "weight"},
    "clusters": {"cluster": "cluster"},
}


def _both(name: str, besides: dict[str, Any]) -> tuple[Any, Any]:
    """What the verb makes of the counts, and of the rows written out."""
    verb, columns, options = VERBS[name]
    columns = {**columns, **besides}
    slices = columns.pop("slices", {})
    shared = {**options, "n_resamples": 100}
    if slices and verb in (cal.classification, cal.multilabel, cal.regression):
        shared["curves"] = False  # which are those of all rows, with slices as without

    def made(take: Callable[[Any], Any], **count: Any) -> Any:
        cut = {"slices": {k: take(GIVEN[of]) for k, of in slices.items()}} if slices else {}
        given = {what: take(GIVEN[column]) for what, column in columns.items()}
        if name == "operating point":
            given["score"] = given["score"]["fine"]
        return verb(**given, **cut, **count, **shared)

    return made(lambda column: column, count=COUNT), made(_written)


@pytest.mark.slow
@pytest.mark.parametrize("besides", BESIDES)
@pytest.mark.parametrize("name", VERBS)
def test_a_count_is_the_row_so_often(name: str, besides: str) -> None:
    if (name, besides) == ("operating point", "slices"):
        pytest.skip("has no slices")
    counted, written = (
        json.loads(of.to_json(details=True)) for of in _both(name, BESIDES[besides])
    )
    # What is counted is meant to be there again, so that one test less shares the error, and what
    # is found of rows that are written out is found here as well.
    here, there = (
        {(of["kind"], of["message"]) for of in made.pop("findings", ())}
        for made in (counted, written)
    )
    there = {of for of in there if of[0] != "duplicated-rows"}
    assert there <= here
    assert "duplicated-rows" not in {kind for kind, _ in here}
    assert len(here - there) <= 1
    assert counted == written


@pytest.mark.slow
def test_curves_and_comparisons_of_counts_are_those_of_the_rows() -> None:
    for name in ("probabilities", "class probabilities"):
        counted, written = _both(name, {})
        series = {} if name == "probabilities" else {"series": "b"}
        for kind in ("ROC", "PR", "calibration"):
            one, other = (cal.curve(ev, kind, "fine", **series) for ev in (counted, written))
            np.testing.assert_array_equal(one.x, other.x)
            np.testing.assert_array_equal(one.y, other.y)
        asked = {"baseline": "rough", "test": "bootstrap", "margin": 0.02, "n_resamples": 100}
        assert counted.compare(**asked).to_json() == written.compare(**asked).to_json()


def test_splits_of_counted_rows() -> None:
    counted, written = _both("numbers", {})
    fold = np.arange(ROWS) % 5
    made = cal.compare_splits(counted, design="k-fold", split=fold, count=COUNT)
    other = cal.compare_splits(written, design="k-fold", split=fold[WRITTEN])
    assert made.to_json() == other.to_json()


def test_regions_of_counted_rows() -> None:
    given = GIVEN["positive"], GIVEN["score"]["fine"]
    asked = {"ppv": 0.6, "npv": 0.6, "n_resamples": 100}
    counted = cal.rule_in_rule_out(*given, count=COUNT, **asked)
    written = cal.rule_in_rule_out(*map(_written, given), **asked)
    assert (counted.rule_in, counted.proportions) == (written.rule_in, written.proportions)


#: What a measure of each kind is called with, by what it reads.
CALLED = {
    "labels": ("positive", "called"),
    "scores": ("positive", "score"),
    "probabilities": ("positive", "probability"),
    "numbers": ("number", "predicted"),
}


@pytest.mark.parametrize(
    "definition",
    [
        d
        for task in ("classification", "regression")
        for family in TASKS[task]
        for d in definitions(family)
        if d.reads in CALLED
    ],
    ids=lambda d: d.name,
)
def test_a_measure_that_is_called(definition: Any) -> None:
    truth, said = (GIVEN[column] for column in CALLED[definition.reads])
    measure, said = definition.example(), said["fine"]
    for weight in (None, GIVEN["weight"]):
        weights = {} if weight is None else {"weight": weight}
        written = {} if weight is None else {"weight": _written(weight)}
        np.testing.assert_equal(
            measure(truth, said, count=COUNT, **weights),
            measure(_written(truth), _written(said), **written),
        )


def test_counts_of_a_table_of_any_kind_and_with_missing_values() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = {
        "y": ["ill", "well", "ill", "well", "ill"],
        "said": ["ill", "ill", "well", "well", None],
        "n": [20.0, 180.0, 10.0, 1820.0, 3.0],
        "site": ["a", "a", "b", "b", "b"],
    }
    asked = {"positive": "ill", "slices": ["site"], "missing": "drop", "n_resamples": 100}
    found = {
        cal.classification("y", "said", count="n", data=make(columns), **asked).to_json()
        for make in (dict, pd.DataFrame, pl.DataFrame, pa.table)
    }
    assert len(found) == 1
    assert cal.from_json(found.pop())["precision"].n == 2030


def test_a_row_that_counts_nothing_keeps_its_class() -> None:
    ev = cal.classification(["a", "b", "c"], ["a", "b", "c"], count=[3, 4, 0])
    assert ev.confusion.labels == ("a", "b", "c")
    assert ev["accuracy"].n == 7
    # Of the two classes of a test that nobody has failed, the other one is known all the same.
    ev = cal.classification(["ill", "well"], ["ill", "well"], count=[0, 9], positive="ill")
    assert ev["specificity"].value == 1
    assert ev["recall"].undefined


def test_a_test_in_four_rows() -> None:
    """Faecal occult blood: TP 20, FP 180, FN 10, TN 1,820; Wilson's limits computed by hand."""
    truth, said, people = [1, 0, 1, 0], [1, 1, 0, 0], [20, 180, 10, 1820]
    ev = cal.classification(truth, said, count=people)
    p, n, z = 0.1, 200, 1.959963984540054
    middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    limits = (np.array([-half, half]) + middle) / (1 + z**2 / n)
    np.testing.assert_allclose([ev["precision"].low, ev["precision"].high], limits, rtol=1e-12)
    assert limits.round(3).tolist() == [0.066, 0.149]
    # As weights, the four rows are the sample.
    weighted = cal.classification(truth, said, weight=people)["precision"]
    assert weighted.value == ev["precision"].value
    assert weighted.high - weighted.low > 0.7


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ([1, 2.5, 1, 1], "count: is 2.5 in row 1, expected a whole number of rows"),
        ([1, 2, -3, 1], "count: is -3 in row 2"),
        ([1, 2, np.nan, 1], "count: is NaN in row 2"),
        ([1, 2, np.inf, 1], "count: is infinite in row 2"),
        ([1, 2, None, 1], "count: 1 of 4 values are missing, the first in row 2"),
        (["1", "2", "3", "4"], "count: holds '1' in row 0, expected numbers"),
        ([1, 2, 3], "count: has 3 rows, truth has 4"),
        ([0, 0, 0, 0], "count: all counts are 0"),
        ([1e9, 1, 1, 1], "count: adds up to 1,000,000,003 rows, expected at most 100,000,000"),
    ],
)
def test_what_is_no_count(count: Any, message: str) -> None:
    for make in (
        lambda: cal.classification([0, 1, 0, 1], [0, 1, 1, 1], count=count),
        lambda: cal.multilabel([[0, 1]] * 4, [[0, 1]] * 4, count=count),
        lambda: cal.regression([0, 1, 0, 1], [0, 1, 1, 1], count=count),
        lambda: cal.measure("F1")([0, 1, 0, 1], [0, 1, 1, 1], count=count),
    ):
        with pytest.raises(cal.InputError) as raised:
            make()
        assert str(raised.value).startswith(message)


def test_errors_name_the_rows_that_were_given() -> None:
    with pytest.raises(cal.InputError, match=r"probability: is 1\.5 in row 2, expected"):
        cal.classification([0, 1, 1], probability=[0.1, 0.2, 1.5], count=[7, 8, 9])
    with pytest.raises(cal.InputError, match="slice 'x': has 2 rows, truth has 3"):
        cal.classification([0, 1, 1], [0, 1, 1], count=[7, 8, 9], slices={"x": [1, 2]})
    with pytest.raises(
        cal.InputError, match="is a mean over topics, which have no weight= and no count="
    ):
        cal.measure("nDCG")({"1": {"a": 1}}, {"1": {"a": 1.0}}, count=[2])


MATRIX = [[1820, 180], [10, 20]]


def _matrices() -> dict[str, dict[str, Any]]:
    """The same counts, in every form that a confusion matrix has."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = {"0": [1820, 10], "1": [180, 20]}
    turned = [[20, 10], [180, 1820]]
    return {
        "lists": {"confusion": MATRIX, "rows": "truth"},
        "array": {"confusion": np.array(MATRIX, float), "rows": "truth"},
        "columns": {"confusion": columns, "rows": "truth"},
        "pandas": {
            "confusion": pd.DataFrame(turned, index=[1, 0], columns=[1, 0]),
            "rows": "truth",
        },
        "polars": {"confusion": pl.DataFrame(columns), "rows": "truth"},
        "arrow": {"confusion": pa.table(columns), "rows": "truth"},
        "rows by name": {"truth": [1, 0], "confusion": {"1": [20, 180], "0": [10, 1820]}},
        "by prefix": {
            "truth": "y",
            "confusion": "n_*",
            "data": {"n_0": [1820, 10], "y": [0, 1], "n_1": [180, 20]},
        },
        "several rows of a class": {
            "truth": [0, 1, 0],
            "confusion": {"0": [1000, 10, 820], "1": [180, 20, 0]},
        },
    }


@pytest.mark.parametrize("form", _matrices())
def test_a_confusion_matrix_is_its_rows(form: str) -> None:
    counted = cal.classification([0, 0, 1, 1], [0, 1, 0, 1], count=np.ravel(MATRIX))
    asked = _matrices()[form]
    assert cal.classification(**asked).to_json(details=True) == counted.to_json(details=True)
    named = cal.classification(**{**asked, "confusion": {"FOBT": asked["confusion"]}})
    assert named.systems == ("FOBT",)


def test_a_confusion_matrix_of_several_classes() -> None:
    matrix = [[50, 3, 1], [4, 60, 0], [2, 2, 0]]
    truth, said = np.indices((3, 3)).reshape(2, -1)
    names = np.array(list("cab"))
    written = cal.classification(
        np.repeat(names[truth], np.ravel(matrix)),
        np.repeat(names[said], np.ravel(matrix)),
        labels=list("cab"),
    )
    found = cal.classification(confusion=matrix, rows="truth", labels=list("cab"))
    assert found.to_json(details=True) == written.to_json(details=True)
    assert found.confusion.labels == ("c", "a", "b")


def test_slices_of_a_confusion_matrix() -> None:
    rows = {"truth": [0, 1, 0, 1], "slices": {"sex": ["f", "f", "m", "m"]}}
    matrix = {"0": [800, 4, 1020, 6], "1": [80, 8, 100, 12]}
    ev = cal.classification(**rows, confusion=matrix, measures=["recall"])
    assert [part.estimate.value for part in ev.slices] == [8 / 12, 12 / 18]
    assert [part.estimate.n for part in ev.slices] == [892, 1138]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"confusion": {}}, "confusion: an empty dict, expected a matrix"),
        ({"confusion": [1, 2]}, "confusion: is not a table"),
        ({"confusion": [[1, 2, 3], [1, 2, 3]]}, "confusion: has 2 rows and 3 columns"),
        ({"confusion": [[1, 2], [1.5, 3]]}, "confusion: the column of '0': is 1.5 in row 1"),
        ({"confusion": [["a", "b"], ["c", "d"]]}, "confusion: holds 'a'"),
        ({"confusion": MATRIX, "labels": list("abc")}, "has 2 columns, labels= names 3 classes"),
        ({"confusion": MATRIX, "predicted": [2, 3]}, "its columns are called 0, 1, and predicted"),
        ({"confusion": MATRIX, "predicted": {"a": [1, 0]}}, "leave out predicted="),
        ({"confusion": MATRIX, "truth": [1, 0], "predicted": [1, 0]}, "leave out predicted="),
        ({"confusion": MATRIX, "truth": [1, 0, 1]}, "confusion: has 2 rows, truth has 3"),
        ({"confusion": [[0, 0], [0, 0]]}, "all counts are 0"),
        ({}, "truth= is missing"),
    ],
)
def test_what_is_no_confusion_matrix(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError) as raised:
        cal.classification(**asked)
    assert message in str(raised.value)


def test_rows_and_columns_of_a_frame_have_the_same_names() -> None:
    import pandas as pd

    with pytest.raises(cal.InputError, match="its rows are called 0, 1, its columns a, b"):
        cal.classification(confusion=pd.DataFrame(MATRIX, columns=["a", "b"]))
