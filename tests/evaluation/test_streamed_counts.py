"""Frequencies of streams: a row that counts several times is that row so many times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError
from calipers.evaluation import stream_columns

ROWS = 300


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 70)
    monkeypatch.setattr(stream_columns, "MAX_EXPANDED_ROWS", 50)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(3)
    latent = random.normal(size=ROWS)
    count = random.integers(0, 4, ROWS)
    count[40], count[130:220] = 120, 0  # more than are written at once, and a batch of none
    return pa.table(
        {
            "y": (random.random(ROWS) < 1 / (1 + np.exp(-latent))).astype(np.int8),
            "p": 1 / (1 + np.exp(-latent - random.normal(size=ROWS) / 2)),
            "q": 1 / (1 + np.exp(-latent - random.normal(size=ROWS))),
            "n": count,
            "w": random.integers(0, 4, ROWS) / 3,
            "user": random.integers(0, 30, ROWS),
            "age": random.normal(50, 10, ROWS).round(1),
            "real": latent,
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("design", [{}, {"weight": "w"}, {"cluster": "user"}])
def test_counts_are_as_in_memory(table: pa.Table, design: dict[str, Any]) -> None:
    for verb, given in (
        (cal.classification, {"truth": "y", "probability": ["p", "q"]}),
        (cal.regression, {"truth": "real", "predicted": ["p", "q"]}),
    ):
        ours, theirs = (
            verb(
                data=table, count="n", engine=engine, interval="analytic", slices=["age"],
                n_resamples=100, **given, **design,
            )
            for engine in ("stream", "memory")
        )  # fmt: skip
        for a, b in zip(ours, theirs, strict=True):
            assert (a.value, a.n) == (pytest.approx(b.value, rel=1e-11), b.n)
            if a.method == b.method:
                assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9)
        assert ours.comparison is not None
        assert theirs.comparison is not None
        for one, two in zip(
            ours.comparison.differences, theirs.comparison.differences, strict=True
        ):
            # Units of a difference, which only memory has, are n; an area has those of each class.
            near = 1e-8 if one.test == two.test else 0.005
            assert one.standard_error == pytest.approx(two.standard_error, rel=near)
        assert ours.slices is not None
        assert theirs.slices is not None
        for s, t in zip(ours.slices, theirs.slices, strict=True):
            assert (s.slice, s.estimate.n) == (t.slice, t.estimate.n)
            assert s.estimate.value == pytest.approx(t.estimate.value, rel=1e-11, nan_ok=True)


def test_rows_are_told_by_their_own_number(table: pa.Table) -> None:
    p = table["p"].to_pylist()
    p[250] = 1.5
    bad = table.set_column(1, "p", pa.array(p))
    counts = table["n"].to_pylist()
    counts[250] = 3
    data = bad.set_column(3, "n", pa.array(counts))
    with pytest.raises(InputError, match=r"probability.* row 250"):
        cal.classification("y", probability="p", count="n", data=data, engine="stream")
    counts[251] = -1
    data = table.set_column(3, "n", pa.array(counts))
    with pytest.raises(InputError, match=r"count: is -1 in row 251"):
        cal.classification("y", probability="p", count="n", data=data, engine="stream")
    counts[251] = 10**10
    data = table.set_column(3, "n", pa.array(counts))
    with pytest.raises(InputError, match=r"count: is 10,000,000,000 in row 251"):
        cal.classification("y", probability="p", count="n", data=data, engine="stream")
    data = table.set_column(3, "n", pa.array([0] * ROWS))
    with pytest.raises(InputError, match="all counts are 0"):
        cal.classification("y", probability="p", count="n", data=data, engine="stream")


def test_rows_without_a_count_may_be_left_out(table: pa.Table) -> None:
    counts = table["n"].to_pylist()
    counts[10] = None
    data = table.set_column(3, "n", pa.array(counts))
    asked = {"probability": "p", "count": "n", "data": data, "measures": ["AUC"]}
    with pytest.raises(InputError, match=r"count: .*row 10"):
        cal.classification("y", engine="stream", **asked)
    ours, theirs = (
        cal.classification("y", engine=engine, missing="drop", **asked)["AUC"]
        for engine in ("stream", "memory")
    )
    assert (ours.value, ours.n) == (pytest.approx(theirs.value, rel=1e-12), theirs.n)


def test_labels_of_a_row_of_count_zero_stay_known() -> None:
    data = pa.table(
        {
            "t": ["a", "b", "a|b", "z", "b", "a"],
            "p": ["a", "b", "a", "a", "b", "b"],
            "n": [1, 1, 2, 0, 1, 1],
        }
    )
    for engine in ("memory", "stream"):
        for missing in ("error", "drop"):
            told = cal.multilabel(
                "t", "p", separator="|", data=data, count="n", engine=engine, missing=missing,
                undefined="zero", measures=["Hamming-loss", "macro-F1", "F1[z]"],
            )  # fmt: skip
            assert [e.value for e in told] == pytest.approx([2 / 9, 10 / 21, 0])


@pytest.mark.parametrize("noise", ["cluster", "drop"])
@pytest.mark.parametrize("labels", ["a", ["a", "c"]])
def test_points_of_count_zero_have_no_cluster_and_no_class(noise: str, labels: Any) -> None:
    """Neither have dropped points of noise, which all clusterings lose."""
    data = pa.table(
        {
            "a": ["x", "y", "x", "z", "-1", "x", "y"],
            "c": ["x", "y", "x", "z", "-1", "-1", "y"],
            "t": ["x", "y", "y", "z", "k", "w", "x"],
            "n": [1, 2, 3, 1, 0, 1, 2],
        }
    )
    counted = data.filter(pa.array([n > 0 for n in data["n"].to_pylist()]))
    first, *others = (
        cal.clustering(
            None, labels, "t", data=rows, count="n", noise=noise, measures=["ARI", "AMI"],
            engine=engine,
        )
        for engine in ("memory", "stream")
        for rows in (counted, data)
    )  # fmt: skip
    for other in others:
        assert other.notes == first.notes
        assert str(other.label_tables) == str(first.label_tables)
        for a, b in zip(other, first, strict=True):
            assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9)


@pytest.mark.parametrize("slices", [None, "s"])
@pytest.mark.parametrize(
    ("verb", "arguments", "expected"),
    [
        (cal.classification, {"truth": "y", "probability": "p"}, "probability: is 1.7 in row 79"),
        (
            cal.classification, {"truth": "y", "predicted": "z", "positive": 1},
            "predicted: 2 in row 79 is not a class",
        ),
        (cal.regression, {"truth": "y", "predicted": "x"}, "predicted: is NaN in row 79"),
        (cal.multilabel, {"truth": "t", "predicted": "y", "separator": "|"}, "truth: 1 of "),
        (cal.clustering, {"features": None, "labels": "y", "truth": "t"}, "truth: 1 of "),
        (
            cal.clustering, {"features": ["x"], "labels": "y", "measures": ["WCSS"]},
            "features 'x': is NaN in row 79",
        ),
    ],
)  # fmt: skip
def test_cells_of_rows_of_count_zero_are_checked(
    verb: Any, arguments: dict[str, Any], expected: str, slices: str | None
) -> None:
    if slices and arguments.get("features"):
        return
    random = np.random.default_rng(5)
    y = random.integers(0, 2, 80)
    data = pa.table(
        {
            "y": y,
            "p": [*random.random(79), 1.7],
            "z": [*y[:79], 2],
            "x": [*random.random(79), float("nan")],
            "t": [*np.array(["a", "b"])[y[:79]], None],
            "s": ["u", "v"] * 40,
            "n": [2] * 79 + [0],
        }
    )
    for engine in ("memory", "stream"):
        with pytest.raises(InputError, match=expected):
            verb(**arguments, data=data, count="n", slices=slices, engine=engine)
