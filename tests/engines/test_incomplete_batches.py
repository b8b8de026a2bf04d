"""Batches without a complete row under missing="drop": the numbers of the other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError

ROWS, BATCH = 210, 70


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", BATCH)


def rows(first: int, last: int) -> pa.Table:
    """Return rows of which those from ``first`` to ``last`` are incomplete."""
    random = np.random.default_rng(7)
    truth = random.integers(0, 2, ROWS)
    kind = random.integers(0, 3, ROWS)
    shares = random.dirichlet(np.ones(3), ROWS)
    real = random.normal(size=ROWS)

    def column(values: Any) -> list[Any]:
        present = np.asarray(values).tolist()
        return [None if first <= k < last else value for k, value in enumerate(present)]

    near = 1 / (1 + np.exp(1 - 2 * truth - random.normal(size=ROWS)))
    return pa.table(
        {
            "y": truth,
            "kind": kind.astype(str),
            "real": real,
            "near": column(near),
            "far": random.random(ROWS),
            "called": column(kind[::-1].astype(str)),
            **{f"d_{k}": shares[:, k] for k in range(3)},
            **{f"p_{k}": column(shares[::-1, k]) for k in range(3)},
            "guess": column(real + random.normal(size=ROWS)),
            "other": real + random.normal(size=ROWS),
            "w": random.integers(1, 4, ROWS) / 2,
            "often": random.integers(0, 3, ROWS),
            "user": np.arange(ROWS) // 5,
            "place": random.integers(0, 3, ROWS).astype(str),
            "ms": random.random(ROWS) + 1,
        }
    )


#: The task, its columns, and its other arguments.
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "two classes": (cal.classification, {"truth": "y", "probability": ["near", "far"]}),
    "three classes": (cal.classification, {"truth": "kind", "predicted": "called"}),
    "their probabilities": (cal.classification, {"truth": "kind", "probability": "p_*"}),
    "distributions": (cal.classification, {"truth": "d_*", "probability": "p_*"}),
    "numbers": (cal.regression, {"truth": "real", "predicted": ["guess", "other"]}),
    "outputs": (
        cal.regression,
        {"truth": ["real", "other"], "predicted": {"real": "guess", "other": "far"}},
    ),
    "quantiles": (cal.regression, {"truth": "real", "quantiles": {0.5: "guess"}}),
    "labels": (
        cal.multilabel,
        {"truth": {"a": "y"}, "score": {"S": {"a": "near"}, "T": {"a": "far"}},
         "measures": ["macro-AUC"]},
    ),
    "raters": (cal.agreement, {"raters": ["kind", "called"], "measures": ["percent-agreement"]}),
    "clusterings": (cal.clustering, {"features": None, "labels": "called", "truth": "kind"}),
}  # fmt: skip
DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "w"},
    "repeated": {"count": "often"},
    "clustered": {"cluster": "user"},
    "sliced": {"slices": "place"},
    "costly": {},
}
RUN = [
    *((case, "plain") for case in CASES),
    *((case, design) for case in ("two classes", "numbers") for design in list(DESIGNS)[1:]),
]


def numbers(evaluation: Any) -> list[float]:
    found = [x for e in evaluation for x in (e.value, e.n, e.standard_error)]
    if evaluation.comparison is not None:
        found += [x for d in evaluation.comparison for x in (d.value, d.p)]
    if evaluation.slices is not None:
        found += [x.estimate.value for x in evaluation.slices]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, BATCH, 2 * BATCH], ids=["first", "middle", "last"])
@pytest.mark.parametrize(("case", "design"), RUN)
def test_batches_without_a_complete_row_are_skipped(case: str, design: str, first: int) -> None:
    verb, arguments = CASES[case]
    drop: dict[str, Any] = {} if case == "raters" else {"missing": "drop"}
    if design == "costly":
        drop["cost"] = {"ms": dict.fromkeys(list(arguments.values())[1], "ms")}
    memory, stream = (
        verb(
            **arguments, **DESIGNS[design], **drop, data=rows(first, first + BATCH), engine=engine,
            interval="analytic",
        )
        for engine in ("memory", "stream")
    )  # fmt: skip
    assert numbers(stream) == pytest.approx(numbers(memory), rel=1e-9, nan_ok=True)
    for note in memory.notes:
        if "left out" in note:
            assert note in stream.notes


@pytest.mark.parametrize("case", [case for case in CASES if case != "raters"])
@pytest.mark.parametrize("design", ["plain", "clustered", "repeated"])
def test_no_complete_row_is_an_error(case: str, design: str) -> None:
    verb, arguments = CASES[case]
    if case == "clusterings" and design == "clustered":
        return
    for engine in ("memory", "stream"):
        with pytest.raises(InputError, match="no row is complete"):
            verb(**arguments, **DESIGNS[design], data=rows(0, ROWS), engine=engine, missing="drop")


@pytest.mark.parametrize("options", [{"probability": "p"}, {"predicted": "h"}])
def test_classes_of_dropped_rows_are_unknown(options: dict[str, str]) -> None:
    """A class that only an incomplete row has is none, whatever its count."""
    data = {
        "y": [0, 1, 0, 1, 0, 1, 0, 2],
        "p": [0.2, 0.7, 0.6, 0.6, 0.4, 0.9, 0.3, None],
        "h": [0, 1, 1, 1, 0, 1, 0, None],
        "n": [1, 2, 1, 1, 3, 1, 1, 1],
    }
    for count in (None, "n"):
        memory, stream = (
            cal.classification(
                "y", data=pa.table(data), missing="drop", count=count, engine=engine, **options
            )
            for engine in ("memory", "stream")
        )
        assert [e.measure for e in stream] == [e.measure for e in memory]
        assert numbers(stream) == pytest.approx(numbers(memory), rel=1e-9, nan_ok=True)


def test_text_of_dropped_rows_is_no_class() -> None:
    data = pa.table({"y": list("abababz"), "h": [*"abbbab", None]})
    for engine in ("memory", "stream"):
        with pytest.raises(InputError, match="truth: has the classes 'a' and 'b'; say which"):
            cal.classification("y", "h", data=data, missing="drop", engine=engine)
        told = cal.classification("y", "h", data=data, missing="drop", positive="a", engine=engine)
        assert told.confusion is not None
        assert told.confusion.labels == ("b", "a")


def test_classes_without_a_complete_row_report_all_missing_values() -> None:
    data = pa.table({"y": [None, "a", "b"], "h": ["a", None, None], "w": [1.0, 2.0, 3.0]})
    for engine in ("memory", "stream"):
        with pytest.raises(InputError, match="values are missing: 1 in truth, 2 in predicted"):
            cal.classification("y", "h", data=data, missing="drop", weight="w", engine=engine)


#: Columns with an invalid cell in row 3; the row before it is incomplete.
INVALID: dict[str, tuple[str, dict[str, Any]]] = {
    "probability": ("classification", {"truth": "y", "probability": "p"}),
    "class": ("classification", {"truth": "y", "predicted": "k"}),
    "weight": ("regression", {"truth": "x", "predicted": "x", "weight": "w"}),
    "count": ("clustering", {"features": None, "labels": "y", "truth": "y", "count": "w"}),
    "number": ("regression", {"truth": "x", "predicted": "z"}),
    "slice": ("regression", {"truth": "x", "predicted": "x", "slices": ["z"]}),
    "label": ("multilabel", {"truth": ["y", "k"], "predicted": ["y", "k"]}),
    "point": ("clustering", {"features": ["x", "z"], "labels": "y"}),
    "grade": ("ranking", {"group": "g", "truth": "k", "score": "x"}),
}


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("name", INVALID)
def test_rows_in_errors_are_those_of_the_input(
    name: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows were counted after incomplete ones had been left out."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 3)
    table = {
        "y": [0, 1, None, 1, 0, 1], "p": [0.2, 0.3, 0.6, 1.7, 0.4, 0.9],
        "k": [0, 1, 1, 9.5, 1, 0], "w": [1, 1, 1, -1.5, 1, 1], "g": [1, 1, 1, 2, 2, 2],
        "x": [1.0, 2, None, 3, 4, 5], "z": [1, 2, 3, np.inf, 5, 6],
    }  # fmt: skip
    verb, options = INVALID[name]
    with pytest.raises(cal.InputError, match=r"\brow 3\b"):
        getattr(cal, verb)(**options, data=table, missing="drop", engine=engine)


def test_missing_clusters_have_one_message() -> None:
    table = {"y": [0, 1, 0, 1], "c": ["u", None, "v", None]}
    message = r"cluster: 2 of 4 values are missing, the first in rows 1, 3"
    for engine in ("memory", "stream"):
        with pytest.raises(cal.InputError, match=message):
            cal.classification("y", "y", data=table, cluster="c", engine=engine)
