"""Provenance has the files that columns were read from, in memory as in batches, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal

ROWS = 60
CALLS: dict[str, dict[str, Any]] = {
    "classification": {"truth": "y", "probability": "p"},
    "regression": {"truth": "x", "predicted": "p"},
    "multilabel": {"truth": "y_*", "predicted": "p_*"},
    "clustering": {"features": None, "truth": "y", "labels": "y_a"},
    "agreement": {"raters": ["y", "y_a"]},
    "scores": {"score": ["y", "p"]},
    "ranking": {"group": "group", "truth": "y", "score": "p"},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random, found = np.random.default_rng(2), tmp_path_factory.mktemp("rows") / "rows.parquet"
    bits = {f"{of}_{label}": random.integers(0, 2, ROWS) for of in "yp" for label in "ab"}
    table = {
        "y": random.integers(0, 2, ROWS),
        "p": random.random(ROWS),
        "x": random.random(ROWS),
        "group": np.arange(ROWS) // 6,
        "row": np.arange(ROWS),
        **bits,
    }
    parquet.write_table(pa.table(table), found)
    return found


def said(evaluation: Any) -> list[tuple[Any, ...]]:
    return [tuple(of.get(k) for k in ("name", "path", "bytes", "lines"))
            for of in evaluation.provenance["inputs"]]  # fmt: skip


def named(path: Path) -> tuple[Any, ...]:
    size = path.stat().st_size
    return ("table", str(path), size, None)


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("verb", CALLS)
def test_a_file_is_an_input(verb: str, engine: str, path: Path) -> None:
    for given in (path, str(path)):
        ev = getattr(cal, verb)(**CALLS[verb], data=given, engine=engine, interval="none")
        assert [of[1:3] for of in said(ev)] == [(str(path), path.stat().st_size)]


def test_a_table_in_memory_is_none(path: Path) -> None:
    ev = cal.regression("x", "p", data=parquet.read_table(path))
    assert said(ev) == []


def test_files_that_ids_join_are_inputs(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    rows = "\n".join(f"{k},{k / ROWS}" for k in range(ROWS))
    other.write_text(f"row,q\n{rows}\n", "utf-8")
    ev = cal.regression("x", {"a": "p", "b": other}, data=path, id="row")
    assert said(ev) == [named(path), named(other)]


def test_an_input_that_is_given_is_not_said_twice(path: Path) -> None:
    from calipers.data.columns import file_origin

    known = file_origin(str(path))
    ev = cal.regression("x", "p", data=path, inputs=[known])
    assert said(ev) == [named(path)]
