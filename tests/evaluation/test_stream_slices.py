"""Slices of streams: the numbers of the same rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError

ROWS = 500
DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "w"},
    "clustered": {"cluster": "user"},
    "both": {"weight": "w", "cluster": "user"},
}
TASKS: dict[str, dict[str, Any]] = {
    "two": {
        "verb": "classification", "truth": "y", "probability": ["p", "q"],
        "measures": ["AUC", "log-loss", "accuracy", "F1", "calibration-slope"],
    },
    "several": {
        "verb": "classification", "truth": "kind", "predicted": "said",
        "measures": ["accuracy", "macro-F1", "MCC"],
    },
    "numbers": {
        "verb": "regression", "truth": "real", "predicted": {"a": "guess"},
        "measures": ["RMSE", "R2", "Pearson", "mean-error"],
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 90)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(7)
    latent = random.normal(size=ROWS)
    site = np.array(["a", "b", "c"])[random.integers(0, 3, ROWS)].astype(object)
    site[random.random(ROWS) < 0.1] = None
    age = random.normal(50, 10, ROWS).round(2)
    age[random.random(ROWS) < 0.05] = np.nan
    kinds = np.array(["x", "y", "z"])
    return pa.table(
        {
            "y": (random.random(ROWS) < 1 / (1 + np.exp(-latent))).astype(np.int8),
            "p": (1 / (1 + np.exp(-latent - random.normal(size=ROWS) / 3))).astype(np.float32),
            "q": 1 / (1 + np.exp(-latent - random.normal(size=ROWS))),
            "user": random.integers(0, 30, ROWS),
            "w": random.integers(0, 4, ROWS) / 3,
            "real": latent,
            "guess": latent + random.normal(size=ROWS),
            "kind": kinds[random.integers(0, 3, ROWS)],
            "said": kinds[random.integers(0, 3, ROWS)],
            "site": pa.array(site),
            "age": age,
            "arm": random.integers(1, 4, ROWS),
            "zero": np.where(random.random(ROWS) < 0.6, 0, random.normal(size=ROWS)),
            "half": (random.integers(0, 5, ROWS) / 10).astype(np.float32),
            "id": np.char.add("u", np.arange(ROWS).astype(str)),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("task", TASKS)
def test_slices_are_as_in_memory(table: pa.Table, task: str, design: str) -> None:
    given = {**TASKS[task], **DESIGNS[design]}
    verb = getattr(cal, given.pop("verb"))
    cuts: list[dict[str, Any]] = [
        {"slices": ["site", "age", "zero", "half"]},
        {"slices": ["arm*age"], "slice_bins": {"age": [40, 55]}},
    ]
    for cut in {"plain": cuts[:1], "both": cuts[:1]}.get(design, cuts[1:]):
        ours, theirs = (
            verb(
                data=table,
                engine=engine,
                interval="analytic",
                n_resamples=100,
                curves=False,
                **given,
                **cut,
            )
            for engine in ("stream", "memory")
        )
        assert ours.slices is not None
        assert theirs.slices is not None
        assert len(ours.slices) == len(theirs.slices)
        same(ours.slices, theirs.slices)
        assert [n for n in ours.notes if " is cut " in n or "which form a slice" in n] == [
            n for n in theirs.notes if " is cut " in n or "which form a slice" in n
        ]
        assert [e.value for e in ours] == pytest.approx([e.value for e in theirs], rel=1e-11)


def same(ours: Any, theirs: Any) -> None:
    """Names, values, errors, and what rests on them; tests of few rows deal these anew."""
    compared = 0
    for a, b in zip(ours, theirs, strict=True):
        assert (a.column, a.slice, a.estimate.system, a.estimate.measure) == (
            b.column, b.slice, b.estimate.system, b.estimate.measure
        )  # fmt: skip
        assert (a.estimate.n, a.estimate.n_total, a.vs_rest.n) == (
            b.estimate.n, b.estimate.n_total, b.vs_rest.n
        )  # fmt: skip
        near = {"rel": 1e-11, "abs": 1e-12, "nan_ok": True}
        assert a.estimate.value == pytest.approx(b.estimate.value, **near)
        assert a.vs_rest.value == pytest.approx(b.vs_rest.value, **near)
        for one, two in ((a.estimate, b.estimate), (a.vs_rest, b.vs_rest)):
            if one.method == two.method:
                limits = pytest.approx((two.low, two.high), rel=1e-6, abs=1e-9, nan_ok=True)
                assert (one.low, one.high) == limits, (a.column, a.slice, one.measure)
                compared += 1
        if a.vs_rest.test == b.vs_rest.test:
            assert a.vs_rest.p == pytest.approx(b.vs_rest.p, rel=1e-6, abs=1e-12, nan_ok=True)
    assert compared > len(ours) / 3


def test_rows_that_are_left_out_move_no_quartile(table: pa.Table) -> None:
    holes = table["q"].to_pylist()
    holes[3:200:5] = [None] * len(holes[3:200:5])
    data = table.set_column(table.schema.get_field_index("q"), "q", pa.array(holes))
    ours, theirs = (
        cal.classification(
            "y", score="q", data=data, slices=["age"], missing="drop", measures=["AUC"],
            engine=engine, interval="analytic",
        )
        for engine in ("stream", "memory")
    )  # fmt: skip
    same(ours.slices, theirs.slices)


@pytest.mark.slow
def test_a_pipe_has_slices_that_need_no_look(table: pa.Table) -> None:
    asked = {"probability": "p", "labels": [0, 1], "positive": 1, "slices": ["age"]}
    bins = {"age": [40, 60]}
    whole = cal.classification("y", data=table, slice_bins=bins, interval="analytic", **asked)
    ours = cal.classification("y", data=table.to_reader(), slice_bins=bins, **asked)
    assert ours.slices is not None
    assert whole.slices is not None
    assert [s.estimate.value for s in ours.slices] == pytest.approx(
        [s.estimate.value for s in whole.slices], rel=1e-12
    )
    with pytest.raises(InputError, match="slices require a first pass over their columns"):
        cal.classification("y", data=table.to_reader(), **asked)


@pytest.mark.parametrize(
    ("slices", "memory", "words"),
    [
        ("id", None, "slice 'id': has more than .* slices, expected at most 50"),
        ("age*site*kind*arm", None, "expected at most 50"),
        ("p", 3, "more distinct numbers than the memory holds"),
    ],
)
def test_slices_are_few(
    table: pa.Table, monkeypatch: pytest.MonkeyPatch, slices: str, memory: int | None, words: str
) -> None:
    from calipers.evaluation import stream_columns as module

    monkeypatch.setattr(module, "MIN_SCORES", 300)
    with pytest.raises(InputError, match=words):
        cal.classification(
            "y", {"a": "y"}, data=table, slices=slices, engine="stream", memory=memory
        )


@pytest.mark.parametrize("weight", [None, "w"])
def test_squares_have_the_default_of_memory_in_slices_and_pipes(weight: str | None) -> None:
    """The mean of a slice loses its variance; its median would take all rows."""
    random = np.random.default_rng(0)
    y = random.normal(size=300) + 1e3
    table = pa.table(
        {
            "y": y,
            "p": y + random.normal(size=300),
            "part": random.integers(0, 3, 300).astype(str),
            "w": random.integers(0, 3, 300) / 2,
        }
    )
    asked: dict[str, Any] = {"measures": ["RMSE", "MSE", "MAE"], "weight": weight}
    ours, theirs = (
        cal.regression("y", "p", data=table, engine=of, slices="part", **asked)
        for of in ("stream", "memory")
    )
    assert ours.slices is not None
    assert theirs.slices is not None
    for one, two in zip(ours.slices, theirs.slices, strict=True):
        a, b = one.estimate, two.estimate
        expected = np.nan if a.measure == "MAE" else b.no_skill
        assert a.no_skill == pytest.approx(expected, rel=1e-12, nan_ok=True)
    once = cal.regression("y", "p", data=table.to_reader(), **asked)
    assert once["RMSE"].no_skill == pytest.approx(theirs["RMSE"].no_skill, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("design", [{}, {"weight": "w"}, {"cluster": "user"}])
def test_systems_are_compared_within_slices(table: pa.Table, design: dict[str, Any]) -> None:
    asked = {"slices": ["site", "half"], "data": table, "measures": ["Brier", "accuracy"], **design}
    ours, theirs = (
        cal.classification("y", probability=["p", "q"], engine=engine, **asked)
        for engine in ("stream", "memory")
    )
    assert ours.slices is not None
    assert theirs.slices is not None
    assert len(ours.slices.differences) == len(theirs.slices.differences) > 0
    for one, two in zip(ours.slices.differences, theirs.slices.differences, strict=True):
        a, b = one.difference, two.difference
        assert (one.column, one.slice, a.measure, a.system) == (
            two.column,
            two.slice,
            b.measure,
            b.system,
        )
        assert a.value == pytest.approx(b.value, abs=1e-12)
        if design.get("cluster"):
            assert (a.p, a.low, a.high) == pytest.approx((b.p, b.low, b.high), abs=1e-9)
    assert not any("not compared" in note for note in ours.notes)
