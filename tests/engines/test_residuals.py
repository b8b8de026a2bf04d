"""Findings on residuals and their curves are the same of rows in batches as of rows in memory; of
many rows, those that are looked at are the same however they come."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calipers as cal
from calipers.data import streams
from calipers.statistics import row_sample

DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "w"},
    "clustered": {"cluster": "user"},
    "dropped": {"missing": "drop"},
    "counted": {"count": "often"},
    "sliced": {"slices": ["user"], "slice_bins": {"user": [20, 40]}},
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random, n = np.random.default_rng(3), 900
    truth = random.normal(size=n)
    lacking = np.where(random.random(n) < 0.05, None, truth + random.lognormal(size=n) / 5)
    tails = truth * 1.3 + random.standard_t(2.2, size=n) * 0.3
    tails[17] = 60.0  # a row that carries the squared error
    return pa.table(
        {
            "y": truth,
            "tails": tails,
            "skewed": truth + random.lognormal(size=n) / 5,
            "lacking": pa.array(lacking, pa.float64()),
            "w": random.gamma(2, size=n),
            "user": random.integers(0, 60, n),
            "often": np.where(np.arange(n) == 17, 3, random.integers(0, 4, n)),
        }
    )


def said(of: Any) -> list[tuple[str, str]]:
    return [(finding.kind, str(finding)) for finding in of.findings]


def found(path: Path, engine: str, **asked: Any) -> Any:
    asked = {"truth": "y", "predicted": ["tails", "skewed"], **asked}
    return cal.regression(data=str(path), engine=engine, **asked)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_findings_and_curves_of_batches(
    table: pa.Table, tmp_path: Path, design: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 70)
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    asked = DESIGNS[design]
    if design == "dropped":
        asked = {**asked, "predicted": ["tails", "lacking"]}
    memory, stream = (found(path, engine, **asked) for engine in ("memory", "stream"))
    assert len(said(memory)) > 2
    assert said(stream) == said(memory)
    assert any("row 17" in sentence for _, sentence in said(stream))
    assert len(stream.curves) == len(memory.curves) == 15
    for one, other in zip(memory.curves, stream.curves, strict=True):
        assert (one.kind, one.system) == (other.kind, other.system)
        for name in ("x", "y", "low", "high", "simultaneous_low"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), nan_ok=True)


@pytest.mark.slow
def test_some_of_many_rows(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sample, "MAX_SAMPLED_ROWS", 400)
    path, made = tmp_path / "rows.parquet", []
    pq.write_table(table, path)
    for size in (70, 1000):
        monkeypatch.setattr(streams, "BATCH_ROWS", size)
        made.append(found(path, "stream"))
    one, other = made
    seen = next(note for note in one.notes if "that need rows use" in note)
    assert seen.startswith("Findings and curves that need rows use ")
    assert seen.endswith(" of 900 rows, spread evenly.")
    assert 100 < int(seen.split("need rows use ")[1].split()[0]) <= 400
    assert said(one) == said(other)
    looked = f" Estimated from {seen.split('need rows use ')[1]}"
    of_all = ("influential-rows", "no-significant-difference")
    assert [x.endswith(looked) for _, x in said(one)] == [k not in of_all for k, _ in said(one)]
    carried = [
        [x for x in said(of) if x[0] == "influential-rows"] for of in (one, found(path, "memory"))
    ]
    assert carried[0] == carried[1]  # the largest residuals are those of all rows
    assert "row 17" in carried[0][0][1]
    for a, b in zip(one.curves, other.curves, strict=True):
        assert np.array_equal(a.y, b.y)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_largest_residuals_of_batches_are_those_of_all(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sample, "MAX_LARGEST_RESIDUALS", 25)
    random = np.random.default_rng(8)
    e = random.standard_t(2, 500).round(1)  # of equal ones the first are kept
    w = random.gamma(2, size=500) if weighted else None
    cuts = [0, 3, 90, 91, 400, 500]
    parts = [
        row_sample.LargestResiduals.from_rows(
            np.arange(a, b), e[a:b], None if w is None else w[a:b]
        )
        for a, b in pairwise(cuts)
    ]
    total = parts[3] + parts[0] + parts[4] + parts[2] + parts[1]
    order = sorted(range(500), key=lambda row: (-abs(e[row]), row))[:25]
    assert total.number.tolist() == order
    assert total.size.tolist() == np.abs(e[order]).tolist()
    held = np.ones(500) if w is None else w
    assert total.row_weights.tolist() == held[order].tolist()
    assert (total.rows, total.weight) == (500, pytest.approx(held.sum()))
    assert total.squares == pytest.approx((held * e**2).sum())


def test_a_state_keeps_no_rows(table: pa.Table, tmp_path: Path) -> None:
    path, state = tmp_path / "rows.parquet", tmp_path / "rows.state"
    pq.write_table(table, path)
    cal.save_state(found(path, "stream", measures=["MSE"]), state)
    assert state.stat().st_size < 40_000
    again = cal.merge_states([state])
    assert again["tails", "MSE"].value == pytest.approx(
        np.mean(np.square(table["tails"].to_numpy() - table["y"].to_numpy()))
    )
    assert not again.curves
