"""Spark: the numbers of one process, from partitions of any size."""

from __future__ import annotations

import json
import sys
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

pytestmark = [
    # PySpark says so of every pandas that is newer than itself.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    # It leaves sockets for Python to close.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def frame(spark: Any, table: pa.Table) -> Any:
    """Most rows in one partition of eight, several in none."""
    made = spark.createDataFrame(table).repartition(8, "part").persist()
    rows = made.mapInArrow(sizes, "rows long").toArrow()["rows"].to_pylist()
    assert max(rows) >= 700
    assert 0 in rows
    return made


def sizes(batches: Any) -> Any:
    yield pa.record_batch([[sum(batch.num_rows for batch in batches)]], ["rows"])


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_data_frame_has_the_numbers_of_one_process(
    name: str, frame: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 130)
    ours, theirs = called(name, data=frame), called(name, data=path, engine="stream")
    same(ours, theirs)
    assert ours.provenance["conventions"]["engine"] == "spark"


def test_paths_and_the_command(spark: Any, path: Path) -> None:
    line = ["classification", str(path), "--truth", "y", "--score", "near", "-mAUC"]
    made = invoke([*line, "--engine", "spark", "--format", "json"])
    assert made.exit_code == 0, made.stderr
    theirs = cal.classification("y", score="near", data=path, engine="stream", measures=["AUC"])
    told = json.loads(made.stdout)
    estimate = told["systems"][0]["estimates"][0]
    assert estimate["value"] == theirs["AUC"].value
    assert estimate["low"] == pytest.approx(theirs["AUC"].low, rel=1e-12)
    assert told["provenance"]["inputs"][0]["path"] == str(path)
    with pytest.raises(InputError, match=r"nothing\.parquet"):
        cal.classification("y", score="near", data=path.parent / "nothing.parquet", engine="spark")


def test_what_is_wrong_with_rows_is_told_by_their_partition(spark: Any, table: pa.Table) -> None:
    """Of two partitions that are wrong the first one; and missing values are dropped on request."""
    wrong = table["near"].to_numpy().copy()
    wrong[[400, 850]] = 1.5, 1.6
    holes = pa.array(wrong, mask=np.arange(len(wrong)) % 100 == 0)
    frame = spark.createDataFrame(table.append_column("holes", holes)).repartitionByRange(3, "y")
    with pytest.raises(InputError, match=r"the data frame, partition \d: probability.* row \d+"):
        cal.classification("y", probability="holes", data=frame, missing="drop")
    ours = cal.classification("y", score="holes", data=frame, missing="drop", measures=["AUC"])
    assert ours["AUC"].n == len(wrong) - 9
    assert ours.notes[0] == "9 of 900 rows are left out because values are missing: 9 in score."


def test_a_state_of_spark_is_that_of_a_stream(frame: Any, path: Path, tmp_path: Path) -> None:
    """What was added up there is kept in a file, and added to what is added up here."""
    asked = {"score": "near", "measures": ["AUC"]}
    here = cal.classification("y", data=path, engine="stream", **asked)
    there = cal.classification("y", data=frame, **asked)
    for name, of in (("here", here), ("there", there)):
        cal.save_state(of, tmp_path / name)
    both = cal.merge_states([tmp_path / "there", tmp_path / "here"])
    assert both["AUC"].value == pytest.approx(here["AUC"].value, rel=1e-12)
    assert both["AUC"].n == 2 * here["AUC"].n


def test_nothing_is_told_of_no_rows(frame: Any) -> None:
    with pytest.raises(InputError, match="the table has no rows"):
        cal.classification("y", score="near", data=frame.where("part = 9"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"id": "user"}, "id= takes all rows in memory"),
        ({"score": "nearly"}, "no column 'nearly'; did you mean 'near'"),
        ({"interval": "bootstrap"}, "resamples rows"),
        ({"engine": "stream"}, "'spark'"),
    ],
)
def test_what_it_does_not_have(frame: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        cal.classification(**{"truth": "y", "score": "near", "data": frame, **more})
