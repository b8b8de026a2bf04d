"""Ratings in batches have the comparisons, tables and findings of memory, with weights and clusters
too; so have measures of counts of weighted rows, and the effect sizes of clustered rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calipers as cal
from calipers.data import streams
from calipers.statistics import ratings

ITEMS = 120
MEASURES = ["Krippendorff-alpha", "Gwet-AC1", "percent-agreement"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(5)
    kind = random.integers(0, 3, ITEMS)

    def rated(right: float) -> pa.Array:
        codes = np.where(random.random(ITEMS) < right, kind, random.integers(0, 3, ITEMS))
        return pa.array(np.array(["ja", "nein", "3"])[codes], mask=random.random(ITEMS) < 0.1)

    columns = {"ann": rated(0.8), "ben": rated(0.7), "eve": rated(0.5)}
    return pa.table(
        {
            **columns,
            "w": np.round(random.random(ITEMS) * 3, 2) + 0.1,
            "even": np.full(ITEMS, 0.5),
            "often": random.integers(1, 4, ITEMS),
            "document": random.integers(0, 25, ITEMS),
            "half": np.where(random.random(ITEMS) < 0.5, "u", "v"),
        }
    )


@pytest.fixture
def path(table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(streams, "BATCH_ROWS", 7)
    pq.write_table(table, tmp_path / "ratings.parquet", row_group_size=7)
    return str(tmp_path / "ratings.parquet")


def numbers(value: Any, name: str = "") -> dict[str, Any]:
    """All values of JSON by their place."""
    if isinstance(value, dict):
        items = [(f"{name}.{key}", each) for key, each in value.items()]
    elif isinstance(value, list):
        items = [(f"{name}[{place}]", each) for place, each in enumerate(value)]
    else:
        return {name: value}
    return {place: x for key, each in items for place, x in numbers(each, key).items()}


def shown(evaluation: cal.Evaluation) -> dict[str, Any]:
    document = json.loads(evaluation.to_json(details=True))
    if document.get("comparison"):
        document["comparison"].pop("notes", None)
        document["comparison"].pop("provenance", None)
    parts = ("systems", "comparison", "slices", "findings", "label_tables")
    return numbers({part: document.get(part) for part in parts})


DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "w"},
    "counted": {"count": "often"},
    "clustered": {"cluster": "document"},
    "even clusters": {"cluster": "document", "weight": "even"},
    "weighted clusters": {"cluster": "document", "weight": "w"},
    "counted clusters": {"cluster": "document", "count": "often"},
    "slices of clusters": {"cluster": "document", "slices": "half"},
    "analytic": {"interval": "analytic"},
    "analytic and weighted": {"interval": "analytic", "weight": "w"},
    "ordinal": {"scale": "ordinal", "order": ["3", "nein", "ja"], "cluster": "document"},
}
SETS: dict[str, Any] = {
    "one set": ["ann", "ben", "eve"],
    "two sets": {"x": ["ann", "ben"], "y": ["ann", "eve"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("raters", SETS)
@pytest.mark.parametrize("design", DESIGNS)
def test_ratings_in_batches_are_those_of_memory(
    table: pa.Table, path: str, design: str, raters: str
) -> None:
    given = {"raters": SETS[raters], "measures": MEASURES, "n_resamples": 200, **DESIGNS[design]}
    memory = shown(cal.agreement(data=table, **given))
    stream = shown(cal.agreement(data=path, engine="stream", **given))
    assert list(stream) == list(memory)
    for place, value in memory.items():
        if isinstance(value, float):
            assert stream[place] == pytest.approx(value, rel=1e-8, abs=1e-11, nan_ok=True), place
        else:
            assert stream[place] == value, place


def test_a_difference_of_raters_has_the_error_of_a_paired_mean(table: pa.Table) -> None:
    """The pairs that agree, of the items with ratings of all, by Student's t by hand."""
    complete = table.select(["ann", "ben", "eve"]).drop_null()
    ann, ben, eve = (np.array(column) for column in complete.columns)
    apart = (ann == eve).astype(float) - (ann == ben)
    error = apart.std(ddof=1) / np.sqrt(len(apart))
    for interval in ("auto", "analytic"):
        for engine in ("memory", "stream"):
            found = cal.agreement(
                data=complete, raters=SETS["two sets"], measures=["percent-agreement"],
                interval=interval, engine=engine,
            ).compare()[0]  # fmt: skip
            assert found.value == pytest.approx(apart.mean())
            assert found.standard_error == pytest.approx(error, rel=1e-9)
            assert found.effect_size == pytest.approx(
                apart.mean() / apart.std(ddof=1) * (1 - 3 / (4 * (len(apart) - 1) - 1))
            )


def test_too_many_combinations_of_ratings_are_named(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ratings, "MAX_DISTINCT_ITEMS", 30)
    evaluation = cal.agreement(
        data=path, raters=SETS["one set"], cluster="document", engine="stream"
    )
    assert not evaluation.label_tables
    assert any("distinct combinations of ratings and clusters" in note for note in evaluation.notes)


@pytest.mark.parametrize("classes", [2, 3])
def test_limits_of_weighted_counts_are_those_of_memory(classes: int) -> None:
    random = np.random.default_rng(3)
    truth = random.integers(0, classes, 150)
    systems = {
        name: np.where(random.random(150) < right, truth, random.integers(0, classes, 150))
        for name, right in (("a", 0.8), ("b", 0.6))
    }
    data = {"y": truth, **systems, "w": random.gamma(2.0, size=150)}
    measures = ["F1", "MCC", "kappa"] if classes == 2 else ["macro-F1", "MCC", "kappa", "F1[1]"]
    memory, stream = (
        cal.classification("y", [*systems], data=data, weight="w", measures=measures, engine=engine)
        for engine in ("memory", "stream")
    )
    pairs = [*zip(memory, stream, strict=True)]
    assert memory.comparison is not None
    assert stream.comparison is not None
    pairs += zip(memory.comparison.differences, stream.comparison.differences, strict=True)
    for one, other in pairs:
        assert (other.measure, other.method) == (one.measure, one.method)
        assert (other.low, other.high) == pytest.approx((one.low, one.high), rel=1e-9)
    for first, second in zip(memory.label_tables, stream.label_tables, strict=True):
        for limits in ("low", "high"):
            for name, column in getattr(first, limits).items():
                np.testing.assert_allclose(getattr(second, limits)[name], column, rtol=1e-9)


@pytest.mark.parametrize("weight", [None, "even", "w"])
def test_effect_sizes_of_clustered_rows_are_those_of_memory(weight: str | None) -> None:
    random = np.random.default_rng(6)
    truth = random.normal(size=200)
    data = {
        "y": truth,
        "a": truth + random.normal(size=200),
        "b": truth + 0.8 * random.normal(size=200),
        "even": np.full(200, 2.0),
        "w": random.random(200) + 0.5,
        "user": random.integers(0, 30, 200),
    }
    apart = np.square(data["b"] - truth) - np.square(data["a"] - truth)
    by_hand = apart.mean() / apart.std(ddof=1) * (1 - 3 / (4 * 199 - 1))
    for engine in ("memory", "stream"):
        found = cal.regression(
            "y", ["a", "b"], data=data, cluster="user", weight=weight, measures=["RMSE"],
            engine=engine,
        ).compare()[0]  # fmt: skip
        expected = np.nan if weight == "w" else by_hand
        assert found.effect_size == pytest.approx(expected, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("task", ["several labels", "quantiles", "quantiles by RMSE", "outputs"])
def test_states_have_the_findings_that_sums_determine(task: str, tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    x = random.normal(size=300)
    has = random.random((300, 3)) < (0.5, 0.3, 0.04)
    data: dict[str, Any] = {"y": x + random.normal(size=300), "z": random.normal(size=300)}
    data |= {f"q@{level}": x + shift for level, shift in ((0.1, -0.4), (0.5, 0.0), (0.9, 0.4))}
    data |= {f"is_{k}": has[:, k] for k in range(3)}
    data |= {f"said_{k}": has[:, k] ^ (random.random(300) < 0.1) for k in range(3)}
    data |= {"out_y": x, "out_z": np.zeros(300)}
    call, kind = {
        "several labels": (
            lambda rows: cal.multilabel("is_*", "said_*", data=rows, engine="stream"),
            "few-rows",
        ),
        "quantiles": (
            lambda rows: cal.regression("y", quantiles="q@*", data=rows, engine="stream"),
            "miscoverage",
        ),
        "quantiles by RMSE": (
            lambda rows: cal.regression(
                "y", quantiles="q@*", data=rows, engine="stream", measures=["RMSE"]
            ),
            "miscoverage",
        ),
        "outputs": (
            lambda rows: cal.regression(
                ["y", "z"], "out_*", data=rows, engine="stream", measures=["RMSE", "macro-RMSE"]
            ),
            None,
        ),
    }[task]
    whole, parts = call(data), []
    for place, rows in enumerate((slice(0, 110), slice(110, 300))):
        parts.append(tmp_path / f"{place}.state")
        cal.save_state(call({name: column[rows] for name, column in data.items()}), parts[-1])
    merged = cal.merge_states(parts)
    assert "Findings and curves that need single rows are absent: states have no rows." in (
        merged.notes
    )
    for one, other in zip(whole, merged, strict=True):
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.no_skill == pytest.approx(one.no_skill, rel=1e-9, nan_ok=True)
    if kind is not None:
        expected = [str(f) for f in whole.findings if f.kind == kind]
        assert expected
        assert [str(f) for f in merged.findings if f.kind == kind] == expected


@pytest.mark.parametrize("even", [False, True])
def test_few_clusters_have_the_intervals_of_memory(even: bool) -> None:
    """One has none; of two with the same agreement the clusters are resampled."""
    data = {
        "ann": [0, 1, 0, 1, 1, 0, 1],
        "ben": [0, 1, 1, 1, 0, 0, None],
        "one": [0] * 6 + [1],  # the other one has no item with two ratings
        "two": [0] * 3 + [1] * 4,
        "w": [0.5] * 7 if even else [1.0, 2.0, 3.0, 1.0, 3.0, 2.0, 1.0],
    }
    measures = ["percent-agreement", "Krippendorff-alpha"]
    for column, reason in (("one", "too_few_clusters"), ("two", None)):
        of = {"raters": ["ann", "ben"], "data": data, "weight": "w", "cluster": column}
        memory, stream = (
            cal.agreement(**of, measures=measures, order=[0, 1], engine=engine)
            for engine in ("memory", "stream")
        )
        for a, b in zip(memory, stream, strict=True):
            assert a.interval_reason == b.interval_reason == reason
            assert a.method == b.method
            assert a.method.startswith("none" if reason else "Bayesian bootstrap, 2 clusters")
            assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9, nan_ok=True)
