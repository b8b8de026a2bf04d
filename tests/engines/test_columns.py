"""Columns in memory and in batches: the same systems of them, and the same errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal
from calipers.data.errors import InputError

ROWS = 24
CLASSES = {2: [0, 1], 3: ["a", "b", "c"]}


def table(n_classes: int) -> pa.Table:
    random = np.random.default_rng(n_classes)
    classes = CLASSES[n_classes]
    shares = random.dirichlet(np.ones(n_classes), ROWS)
    columns = {"y": [classes[i % n_classes] for i in range(ROWS)]}
    for k, label in enumerate(classes):
        columns |= {str(label): shares[:, k], f"p_{label}": shares[:, k], f"q{k}": shares[:, k]}
    return pa.table(columns)


def outcomes(verb: Any, **arguments: Any) -> list[Any]:
    """Return the values, or the error, in memory and in batches."""
    found: list[Any] = []
    for engine in ("memory", "stream"):
        try:
            evaluation = verb(engine=engine, interval="none", **arguments)
        except InputError as error:
            found.append(str(error).removeprefix("the table: "))
        else:
            found.append({(x.system, x.measure): x.value for x in evaluation})
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("labels", ["found", "named"])
@pytest.mark.parametrize("positive", ["found", "named"])
@pytest.mark.parametrize("kind", ["score", "probability"])
def test_columns_are_of_classes_or_of_systems(
    n_classes: int, labels: str, positive: str, kind: str
) -> None:
    classes = CLASSES[n_classes]
    arguments: dict[str, Any] = {
        "truth": "y",
        "data": table(n_classes),
        "labels": classes if labels == "named" else None,
        "positive": classes[1] if positive == "named" else None,
    }
    for columns in (
        "q0", "p_*", ["p_*"], list(map(str, classes)), ["q0", "q1"], {"S": "p_*"},
        {"S": "p_*", "T": "q0"}, {str(label): f"p_{label}" for label in classes},
        {str(classes[0]): "q0"},
    ):  # fmt: skip
        memory, stream = outcomes(cal.classification, **{kind: columns}, **arguments)
        assert stream == pytest.approx(memory, nan_ok=True), columns


def test_scores_of_several_classes_against_one_are_systems() -> None:
    found = cal.classification(
        "y", score=["a", "b", "c"], positive="b", data=table(3), engine="stream"
    )
    assert found.systems == ("a", "b", "c")


def test_scores_of_two_named_classes_are_one_system() -> None:
    found = cal.classification("y", score=["0", "1"], labels=[0, 1], data=table(2), engine="stream")
    assert found.systems == ("system",)


LISTS = pa.array([[1], [2]] * 4)
STRUCTS = pa.array([{"a": 1}, {"a": 2}] * 4)
#: Arguments with a nested column ``s``, by the role that the error names.
NESTED: dict[str, tuple[Any, dict[str, Any]]] = {
    "slices": (cal.classification, {"truth": "y", "predicted": "p", "slices": "s"}),
    "cluster": (cal.classification, {"truth": "y", "predicted": "p", "cluster": "s"}),
    "weight": (cal.regression, {"truth": "y", "predicted": "p", "weight": "s"}),
    "truth": (cal.classification, {"truth": "s", "predicted": "p"}),
    "predicted": (cal.classification, {"truth": "y", "predicted": "s"}),
    "labels": (cal.clustering, {"features": None, "labels": "s", "truth": "y"}),
    "group": (cal.ranking, {"group": "s", "truth": "y", "score": "p"}),
    "score": (cal.multilabel, {"truth": "names", "score": "s"}),
    "ratings": (cal.agreement, {"raters": ["y", "s"]}),
    "cost": (cal.classification, {"truth": "y", "predicted": "p", "cost": {"c": "s"}}),
}


@pytest.mark.parametrize("role", NESTED)
@pytest.mark.parametrize("nested", [LISTS, STRUCTS], ids=["lists", "structs"])
def test_nested_columns_are_named_with_their_type(role: str, nested: pa.Array) -> None:
    verb, arguments = NESTED[role]
    data = pa.table({"y": [0, 1] * 4, "p": [0, 1] * 4, "names": [["a"], ["b"]] * 4, "s": nested})
    expected = f"{role}: the column 's' is of the type {nested.type}, expected a single value"
    for found in outcomes(verb, data=data, **arguments):
        assert found.startswith(expected)


def test_nested_columns_of_joined_tables_are_named() -> None:
    data, other = pa.table({"id": [1, 2], "y": [0, 1]}), pa.table({"id": [1, 2], "p": LISTS[:2]})
    with pytest.raises(InputError, match="predicted: the column 'p' is of the type list<"):
        cal.classification("y", other, data=data, id="id")


NAMING: dict[str, tuple[dict[str, Any], str]] = {
    "None among systems": ({"predicted": ["p", None]}, "None is not the name of a column"),
    "None among classes": ({"probability": {"S": ["p", None]}}, "None is not the name of a column"),
    "None among labels": ({"truth": ["y", None]}, "None is not the name of a column"),
    "a number": ({"score": ["p", 3]}, "3 is not the name of a column"),
    "no system": ({"probability": []}, "probability: is empty"),
    "no system by name": ({"score": {}}, "score: an empty dict, expected at least one system"),
}


@pytest.mark.parametrize("case", NAMING)
def test_faults_of_names_are_told_alike(case: str) -> None:
    arguments, message = NAMING[case]
    data = {"y": [0, 1] * 4, "p": [0.2, 0.7] * 4}
    for found in outcomes(cal.classification, data=data, **{"truth": "y", **arguments}):
        assert message in found


def test_values_with_a_missing_one_are_no_names() -> None:
    with pytest.raises(InputError, match="1 of 3 values are missing, the first in row 1"):
        cal.classification(["a", None, "b"], "p", data={"p": ["a", "b", "b"]})


def test_labels_of_a_stream_have_to_be_named() -> None:
    with pytest.raises(InputError, match="labels: does not name a column of data="):
        cal.clustering(None, None, "y", data={"y": [0, 1]}, engine="stream")


def test_the_classes_of_a_measure_are_quoted() -> None:
    data = {"y": ["a", "b", "c"], "p": [0.2, 0.4, 0.9]}
    message = "there are two classes, 'not b' and 'b', of which 'b' is the positive one"
    for found in outcomes(
        cal.classification, truth="y", score="p", positive="b", measures=["macro-AUC"], data=data
    ):
        assert message in found


def test_label_sets_may_be_lists() -> None:
    data = pa.table({"y": [["a"], ["a", "b"], ["b"]], "p": [["a"], ["b"], ["b"]]})
    memory, stream = outcomes(cal.multilabel, truth="y", predicted="p", data=data)
    assert stream == memory


@pytest.mark.parametrize("form", ["directory", "pattern", "list"])
def test_several_files_of_ranked_rows_are_read_in_batches_only(tmp_path: Path, form: str) -> None:
    rows = pa.table({"q": [1, 1, 2, 2], "y": [0, 1, 1, 0], "s": [0.1, 0.4, 0.3, 0.2]})
    for k in range(2):
        parquet.write_table(rows.slice(2 * k, 2), tmp_path / f"{k}.parquet")
    data: Any = {
        "directory": tmp_path,
        "pattern": str(tmp_path / "*.parquet"),
        "list": [tmp_path / "0.parquet", tmp_path / "1.parquet"],
    }[form]
    with pytest.raises(InputError, match=r"not a single file.* engine='stream'"):
        cal.ranking("q", "y", "s", data=data)
    expected = cal.ranking("q", "y", "s", data=rows)["P@1"].value
    assert cal.ranking("q", "y", "s", data=data, engine="stream")["P@1"].value == expected
