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
