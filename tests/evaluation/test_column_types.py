"""Columns of pandas, polars and Arrow: the same results in memory and in batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data import streams

ROWS = 60
LETTERS = np.array(list("abc"))[np.arange(ROWS) % 3]
PERIODS = pd.PeriodIndex(np.array(["2024-03", "2024-01", "2024-02"])[np.arange(ROWS) % 3], freq="M")
#: Columns, and the names of their slices.
COLUMNS: dict[str, tuple[Any, list[str]]] = {
    "ordered": (pd.Categorical(LETTERS, ["c", "a", "b", "d"], ordered=True), ["c", "a", "b"]),
    "period": (PERIODS, ["2024-01", "2024-02", "2024-03"]),
    "categories of periods": (pd.Categorical(PERIODS), ["2024-01", "2024-02", "2024-03"]),
    "intervals in order": (
        pd.cut(np.arange(ROWS) % 3, [-1, 0, 1, 15]), ["(-1, 0]", "(0, 1]", "(1, 15]"],
    ),
    "interval": (
        pd.IntervalIndex.from_breaks([0, 1, 2, 3])[np.arange(ROWS) % 3],
        ["(0, 1]", "(1, 2]", "(2, 3]"],
    ),
    "half": ((np.arange(ROWS) % 3 / 2).astype(np.float16), ["0", "0.5", "1"]),
    "text of polars": (pl.Series(LETTERS), ["a", "b", "c"]),
    "bytes of polars": (pl.Series([bytes(x, "ascii") for x in LETTERS]), ["a", "b", "c"]),
    "categories of polars": (pl.Series(LETTERS, dtype=pl.Categorical), ["a", "b", "c"]),
    "enumeration of polars": (pl.Series(LETTERS, dtype=pl.Enum(["c", "a", "b"])), ["c", "a", "b"]),
    "views": (pa.array(LETTERS, pa.string_view()), ["a", "b", "c"]),
    "stored": (
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array(np.arange(ROWS) % 2, pa.int8())),
        ["0", "1"],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 25)


def _table(column: Any) -> Any:
    """Return a table of the package that the column is from."""
    numbers = {"y": np.arange(ROWS) % 2, "p": np.arange(ROWS) % 5 % 2}
    if isinstance(column, pl.Series):
        return pl.DataFrame({**numbers, "x": column})
    if isinstance(column, pa.Array):
        return pa.table({**numbers, "x": column})
    return pd.DataFrame({**numbers, "x": column})


def _slices(result: cal.Evaluation) -> list[tuple[str, str]]:
    return [] if result.slices is None else [(x.slice, str(x)) for x in result.slices.all]


def _both(task: Any, *names: Any, **options: Any) -> cal.Evaluation:
    """Return the results in batches, compared with those in memory."""
    memory: cal.Evaluation
    stream: cal.Evaluation
    memory, stream = (task(*names, engine=e, **options) for e in ("memory", "stream"))
    assert list(map(str, stream.estimates)) == list(map(str, memory.estimates))
    for limits in ("value", "low", "high"):
        expected = [getattr(x, limits) for x in memory.estimates]
        assert [getattr(x, limits) for x in stream.estimates] == pytest.approx(
            expected, nan_ok=True
        )
    assert _slices(stream) == _slices(memory)
    return stream


@pytest.mark.parametrize("kind", COLUMNS)
def test_any_type_defines_slices_and_clusters(kind: str) -> None:
    column, names = COLUMNS[kind]
    options = {"data": _table(column), "measures": ["accuracy"]}
    result = _both(cal.classification, "y", "p", slices=["x"], **options)
    assert [name for name, _ in _slices(result)] == names
    _both(cal.classification, "y", "p", cluster="x", **options)


@pytest.mark.parametrize("kind", COLUMNS)
def test_any_type_has_classes(kind: str) -> None:
    result = _both(cal.classification, "x", "x", data=_table(COLUMNS[kind][0]), labels=None)
    assert list(result.confusions[0].labels) == COLUMNS[kind][1]


def test_slices_by_name_and_by_column_have_the_same_names() -> None:
    for column, names in COLUMNS.values():
        result = cal.classification(
            np.arange(ROWS) % 2, np.arange(ROWS) % 2, slices={"x": column}, measures=["accuracy"]
        )
        assert [name for name, _ in _slices(result)] == names


def test_periods_order_rows() -> None:
    weeks = pd.period_range("2024-01-01", periods=ROWS, freq="W")
    table = pd.DataFrame({"y": np.arange(ROWS) ** 1.1, "p": np.arange(ROWS), "t": weeks})
    by_name = cal.regression("y", "p", data=table, time="t")
    assert str(by_name) == str(cal.regression(table["y"], table["p"], time=np.arange(ROWS)))
    with pytest.raises(cal.InputError, match="2024/01/31"):
        cal.regression([1, 2], [1, 3], time=["2024/01/31", "2024/02/01"])


@pytest.mark.slow
def test_text_of_polars_in_other_tasks() -> None:
    table = pl.DataFrame(
        {"y": ["n", "y", "y", "n"] * 5, "p": ["n", "y", "n", "n"] * 5, "q": [None, *"yn" * 9, "y"]}
    )
    categories = table.cast(pl.Categorical)
    whole = cal.agreement(raters=["y", "p"], data=table.to_pandas())
    by_category = _both(cal.agreement, raters=["y", "p"], data=categories)
    assert list(map(str, by_category.estimates)) == list(map(str, whole.estimates))
    for frame in (table, categories):
        _both(cal.multilabel, "y", "q", separator="|", data=frame, missing="drop")
        _both(cal.clustering, None, "p", "q", data=frame, missing="drop")
        _both(cal.classification, "y", "q", data=frame, missing="drop", positive="y")
    lists = pl.DataFrame({"y": [["a"], ["b", "c"], []] * 9, "p": [["a"], ["b"], ["c"]] * 9})
    _both(cal.multilabel, "y", "p", data=lists)
    groups = {
        "g": [1, 1, 2, 2],
        "t": [0, 1, 0, 1],
        "z": [1.0, 2, 3, 1],
        "s": ["a", "a", None, None],
    }
    for kind in (pl.String, pl.Categorical):
        frame = pl.DataFrame(groups).cast({"s": kind})
        _both(cal.ranking, "g", "t", "z", data=frame, slices="s")


@pytest.mark.slow
def test_files_of_polars(tmp_path: Path) -> None:
    table = _table(COLUMNS["enumeration of polars"][0])
    newest = pl.CompatLevel.newest()
    table.write_ipc(tmp_path / "a.feather", compat_level=newest)
    table.write_parquet(tmp_path / "a.parquet")
    for path in tmp_path.iterdir():
        _both(cal.classification, "y", "p", data=path, slices="x", cluster="x")
