"""Notes on rows that are read in batches are those of memory, and so is what they explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError
from calipers.evaluation import stream_columns

ROWS = 60
SIZES = [30, 10, 10, 5, 4, 1]

_random = np.random.default_rng(3)
DATA: dict[str, Any] = {
    "kind": np.array(["a", "b"] * 30),
    "guess": np.where(np.arange(ROWS) % 7 == 0, "c", np.array(["a", "b"] * 30)),
    "user": np.repeat(np.arange(6), SIZES),
    "x": _random.normal(size=ROWS),
    "y": _random.normal(size=ROWS),
    "w": _random.random(ROWS),
    "l_a": _random.integers(0, 2, ROWS),
    "l_b": _random.integers(0, 2, ROWS),
    "q_a": _random.random(ROWS),
    "q_b": _random.random(ROWS),
    "first": _random.integers(0, 3, ROWS),
    "second": _random.integers(0, 3, ROWS),
}

FEW_CLUSTERS: dict[str, Any] = {
    "classification": {"truth": "kind", "predicted": "guess", "labels": ["a", "b", "c"]},
    "regression": {"truth": "x", "predicted": "y", "weight": "w"},
    "multilabel": {"truth": "l_*", "probability": "q_*"},
    "agreement": {"raters": ["first", "second"]},
    "scores": {"score": ["first", "second"]},
}


def evaluate_both(task: str, **arguments: Any) -> tuple[Any, Any]:
    """Evaluate in memory and in batches."""
    arguments = {"data": DATA, **arguments}
    memory, stream = (getattr(cal, task)(engine=of, **arguments) for of in ("memory", "stream"))
    return memory, stream


@pytest.mark.parametrize("task", FEW_CLUSTERS)
def test_few_clusters(task: str) -> None:
    memory, stream = evaluate_both(task, cluster="user", **FEW_CLUSTERS[task])
    assert memory.notes[-1].endswith("the variation between clusters is poorly estimated.")
    assert set(memory.notes) < set(stream.notes)


def test_classes_without_rows() -> None:
    memory, stream = evaluate_both(
        "classification", truth="kind", predicted="guess", labels=["a", "b", "c", "d"]
    )
    assert memory.notes[0].startswith("No row has the classes c, d;")
    assert stream.notes[0] == memory.notes[0]
    assert cal.merge_states([stream]).notes[0] == memory.notes[0]


def test_states_name_the_results_that_they_do_not_have(tmp_path: Path) -> None:
    parts = [
        cal.regression(
            "x",
            "y",
            data={name: column[rows] for name, column in DATA.items()},
            engine="stream",
            **more,
        )
        for rows, more in (
            (slice(0, 20), {}),
            (slice(20, 40), {"cost": {"latency": {"system": "w"}}}),
            (slice(40, 60), {"slices": "user"}),
        )
    ]
    cal.save_state(parts[1], tmp_path / "costs.state")
    two = cal.merge_states([parts[0], tmp_path / "costs.state"])
    note = "are absent: states have statistics of all rows only."
    assert not any(note in text for text in cal.merge_states(parts[:1]).notes)
    assert f"Costs {note}" in two.notes
    assert f"Costs and slices {note}" in cal.merge_states([two, parts[2]]).notes


def with_gaps(column: Any, step: int) -> Any:
    return np.where(np.arange(ROWS) % step, column, np.nan)


GAPS: dict[str, Any] = {
    **DATA,
    "y": with_gaps(DATA["y"], 7),
    "other": with_gaps(DATA["x"], 9),
    "w": with_gaps(DATA["w"], 11),
    "q_b": with_gaps(DATA["q_b"], 8),
    "often": _random.integers(0, 3, ROWS),
    "number": with_gaps(DATA["first"], 10),
}

DROPPED: dict[str, tuple[str, dict[str, Any]]] = {
    "one column": ("regression", {"truth": "x", "predicted": "y", "count": "often"}),
    "several columns": (
        "regression",
        {"truth": "x", "predicted": ["y", "other"], "weight": "w", "count": "number"},
    ),
    "costs": ("regression", {"truth": "x", "predicted": "y", "cost": {"latency": "w"}}),
    "labels": ("multilabel", {"truth": "l_*", "probability": {"A": "q_*"}}),
    "outputs": ("regression", {"truth": ["x", "w"], "predicted": {"A": ["y", "other"]}}),
    "quantiles": ("regression", {"truth": "x", "quantiles": {0.1: "y", 0.9: "other"}}),
}


@pytest.mark.parametrize("case", DROPPED)
@pytest.mark.parametrize("size", [1 << 18, 13])
def test_missing_values(case: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", size)
    monkeypatch.setattr(stream_columns, "MAX_EXPANDED_ROWS", size)
    task, arguments = DROPPED[case]
    memory, stream = evaluate_both(task, data=GAPS, missing="drop", **arguments)
    assert "of 60 rows are left out because values are missing: " in memory.notes[0]
    assert stream.notes[0] == memory.notes[0]


@pytest.mark.parametrize("more", [{}, {"slice_bins": {"far": [0.0]}}])
def test_infinite_numbers_of_slices(more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 13)
    data = {**DATA, "far": np.where(np.arange(ROWS) == 50, np.inf, DATA["x"])}
    arguments: dict[str, Any] = {"truth": "x", "predicted": "y", "slices": "far", **more}
    for engine in ("memory", "stream"):
        with pytest.raises(InputError, match="slice 'far': is infinite in row 50, expected finite"):
            cal.regression(data=data, engine=engine, **arguments)
    ones = np.ones(ROWS)
    ones[50] = 0
    memory, stream = (
        cal.regression(data={**data, "one": ones}, weight="one", engine=engine, **arguments)
        for engine in ("memory", "stream")
    )
    assert [part.estimate.n for part in stream.slices] == [
        part.estimate.n for part in memory.slices
    ]


SINGLE_ROWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "sparse"},
    "counted": {"count": "sparse"},
    "incomplete": {"missing": "drop"},
}


@pytest.mark.parametrize("case", SINGLE_ROWS)
def test_clusters_of_one_row(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no clusters, if only the rows that count have one each."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 13)
    arguments = SINGLE_ROWS[case]
    rows = np.arange(ROWS)
    data = {
        **DATA,
        "y": GAPS["y"] if case == "incomplete" else DATA["y"],
        "sparse": (rows % 7 > 0) * 1,
        "id": rows if case == "plain" else np.where(rows % 7, rows, 1),
    }
    memory, stream = evaluate_both(
        "regression", truth="x", predicted="y", cluster="id", data=data, **arguments
    )
    for theirs, ours in zip(memory, stream, strict=True):
        assert ours.method == theirs.method
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert "clusters" not in stream.provenance["conventions"]
    merged = cal.merge_states([stream, stream_of_others(data, arguments)])
    assert merged["MAE"].interval_reason == "one_pass"  # a cluster may have rows in both


def stream_of_others(data: dict[str, Any], arguments: dict[str, Any]) -> Any:
    data = {name: column[::-1] for name, column in data.items()}
    return cal.regression("x", "y", data=data, cluster="id", engine="stream", **arguments)


@pytest.mark.parametrize("second", [1, 0])
def test_agreement_on_one_item(second: int) -> None:
    raters = {"A": ["a", "b"], "B": ["c", "d"]}
    data = {"a": [0], "b": [second], "c": [1], "d": [1]}
    compared = [
        ev.compare()[0]
        for ev in evaluate_both(
            "agreement", raters=raters, data=data, measures=["percent-agreement"]
        )
    ]
    assert compared[0].n == compared[1].n == 1
    assert compared[0].test == compared[1].test
    assert compared[1].p == compared[0].p
    assert compared[1].low == pytest.approx(compared[0].low, rel=1e-12)


def test_items_of_an_undefined_difference() -> None:
    raters = {"A": ["a", "b"], "B": ["a", "c"]}
    data = {"a": [0] * 20, "b": [0] * 20, "c": [None if i % 3 == 0 else 0 for i in range(20)]}
    memory, stream = evaluate_both("agreement", raters=raters, data=data)
    assert [difference.n for difference in memory.compare()] == [20, 20]
    assert [difference.n for difference in stream.compare()] == [20, 20]


@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"weight": "w", "cluster": "user"}])
def test_batches_without_rows_of_a_class(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are sorted by class have the standard errors of memory in small batches too."""
    random = np.random.default_rng(0)
    kind = np.sort(random.integers(0, 3, 200))
    scores = random.dirichlet(np.ones(3), 200) + 0.5 * np.eye(3)[kind]
    scores /= scores.sum(axis=1, keepdims=True)
    data = {
        "kind": kind,
        "w": np.exp(2 * random.normal(size=200)),
        "user": np.arange(200) // 7,
        **{f"p_{k}": column for k, column in enumerate(scores.T)},
    }
    monkeypatch.setattr(streams, "BATCH_ROWS", 30)
    memory, stream = evaluate_both(
        "classification",
        truth="kind",
        probability={"p": "p_*"},
        data=data,
        measures=["macro-AUC", "macro-AP"],
        **more,
    )
    for theirs, ours in zip(memory, stream, strict=True):
        assert ours.standard_error == pytest.approx(theirs.standard_error, rel=1e-9)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


@pytest.mark.parametrize("sharpness", [1.0, 9.0])
def test_few_influential_rows_of_classes(sharpness: float) -> None:
    """Averages of areas have the interval by effective rows if few rows decide, or none."""
    random = np.random.default_rng(0)
    kind = np.sort(random.integers(0, 3, 200))
    scores = random.dirichlet(np.ones(3), 200) + sharpness * np.eye(3)[kind]
    scores /= scores.sum(axis=1, keepdims=True)
    data = {"kind": kind, "w": np.exp(3 * random.normal(size=200))}
    memory, stream = evaluate_both(
        "classification",
        truth="kind",
        probability={"p": "p_*"},
        weight="w",
        data={**data, **{f"p_{k}": column for k, column in enumerate(scores.T)}},
        measures=["macro-AUC"],
    )
    theirs, ours = memory["macro-AUC"], stream["macro-AUC"]
    assert ours.method == theirs.method == "Wilson [W], effective rows"
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    merged = cal.merge_states([stream])["macro-AUC"]
    assert merged.value == pytest.approx(ours.value, rel=1e-12)
