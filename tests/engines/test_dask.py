"""Dask: the numbers of one process, from partitions in others."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from in_process import invoke
from same import CALLS, called, same


@pytest.fixture(scope="module")
def frame(cluster: Any, table: pa.Table) -> Any:
    """Partitions of many rows, of few and of none, more than meet at once."""
    import dask.dataframe as dd

    rows = table.to_pandas()
    cuts = [0, 700, 700, 705, 710, 720, 740, 760, 800, 810, 820, 900]
    parts = [rows.iloc[a:b] for a, b in pairwise(cuts)]
    return dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_data_frame_has_the_numbers_of_one_process(
    name: str, frame: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 130)
    ours, theirs = called(name, data=frame), called(name, data=path, engine="stream")
    same(ours, theirs)
    assert ours.provenance["conventions"]["engine"] == "dask"


def test_paths_and_the_command(cluster: Any, path: Path) -> None:
    line = ["regression", str(path), "--truth", "real", "--predicted", "guess", "-mRMSE"]
    tables = [
        invoke([*line, "--format", "csv", "--engine", engine]).stdout
        for engine in ("dask", "stream")
    ]
    assert tables[0] == tables[1]
    assert "RMSE" in tables[0]
    with pytest.raises(InputError, match=r"nothing\.parquet"):
        cal.classification("y", score="near", data=path.parent / "nothing.parquet", engine="dask")


def test_what_is_wrong_with_rows_is_told_by_their_partition(cluster: Any, table: pa.Table) -> None:
    import dask.dataframe as dd

    wrong = table["near"].to_numpy().copy()
    wrong[[400, 850]] = 1.5, 1.6
    rows = table.to_pandas()
    frame = dd.from_pandas(rows.assign(wrong=wrong), npartitions=3)
    with pytest.raises(InputError, match=r"the data frame, partition 1: probability.* row 100"):
        cal.classification("y", probability="wrong", data=frame)
    holes = np.where(np.arange(len(wrong)) % 100 == 0, np.nan, wrong)
    frame = dd.from_pandas(rows.assign(holes=holes), npartitions=3)
    ours = cal.classification("y", score="holes", data=frame, missing="drop", measures=["AUC"])
    assert ours["AUC"].n == len(wrong) - 9
    with pytest.raises(InputError, match="the table has no rows"):
        cal.classification("y", score="near", data=frame[frame["part"] == 9])


@pytest.mark.parametrize("name", ["none", "none.csv", "none.parquet"])
def test_what_is_not_there_is_told(cluster: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: .*no (such )?file"):
        cal.ranking("user", "y", "p", data=str(tmp_path / name), engine="dask")


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("empty", r"1\.{kind}: the file is empty"),
        ("text", r"score.*(is string, and double in .*0\.{kind}|holds 'unknown' in row 7)"),
        ("corrupt", r"1\.{kind}(:\d+)?: (the byte 0xff .*is not UTF-8|cannot be read as a table)"),
    ],
)
def test_the_file_that_cannot_be_read_is_named(
    cluster: Any, tmp_path: Path, kind: str, damage: str, words: str
) -> None:
    import pandas as pd

    random = np.random.default_rng(3)
    for i in range(3):
        rows = pd.DataFrame({"truth": random.integers(0, 2, 100), "score": random.random(100)})
        if (i, damage) == (1, "text"):
            rows["score"] = rows["score"].astype(str)
            rows.loc[7, "score"] = "unknown"
        file = tmp_path / f"{i}.{kind}"
        if kind == "csv":
            rows.to_csv(file, index=False)
        elif kind == "jsonl":
            rows.to_json(file, orient="records", lines=True)
        else:
            rows.to_parquet(file)
    file, content = tmp_path / f"1.{kind}", (tmp_path / f"1.{kind}").read_bytes()
    middle = len(content) // 4
    if damage == "empty":
        file.write_bytes(b"")
    elif damage == "corrupt":
        damaged = content[:middle] + b"\xff" * 40 + content[middle + 40 :]
        file.write_bytes(content[:-30] if kind == "parquet" else damaged)
    with pytest.raises(InputError, match=words.replace("{kind}", kind)):
        cal.classification(
            "truth",
            score="score",
            data=str(tmp_path / f"*.{kind}"),
            engine="dask",
            measures=["AUC"],
        )


def killer(flag: Path | None) -> Any:
    """A function that kills the worker of partition 2: once if there is a flag, else always. It
    travels by value, as workers do not import tests."""

    def run(frame: Any) -> Any:
        import os
        import signal

        if len(frame) and frame["row"].iloc[0] == 200 and not (flag and flag.exists()):
            if flag:
                flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return frame

    return run


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_worker_that_is_killed_changes_nothing_or_is_told(
    cluster: Any, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask.dataframe as dd

    rows = table.to_pandas().assign(row=range(len(table)))
    frame = dd.from_pandas(rows, npartitions=9)
    expected = cal.classification("y", score="near", data=frame)
    once = frame.map_partitions(killer(tmp_path / "flag"), meta=rows.iloc[:0])
    assert cal.classification("y", score="near", data=once).to_csv() == expected.to_csv()
    assert (tmp_path / "flag").exists()
    monkeypatch.setattr(cluster.cluster.scheduler, "allowed_failures", 0)
    always = frame.map_partitions(killer(None), meta=rows.iloc[:0])
    with pytest.raises(InputError, match=r"the data frame: Dask could not finish: .*workers died"):
        cal.classification("y", score="near", data=always)
    assert cal.classification("y", score="near", data=frame).to_csv() == expected.to_csv()
