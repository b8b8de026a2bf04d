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


@pytest.mark.parametrize("name", CALLS)
def test_a_data_frame_has_the_numbers_of_one_process(
    name: str, frame: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "ROWS", 130)
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
    assert ours.notes[0] == "9 of 900 rows are left out because values are missing."


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
        ({"interval": "bootstrap"}, "draws rows anew"),
        ({"engine": "stream"}, "'spark'"),
    ],
)
def test_what_it_does_not_have(frame: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        cal.classification(**{"truth": "y", "score": "near", "data": frame, **more})


# --- Rankings -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lists() -> dict[str, pa.Table]:
    """Judgments of 30 topics, and two runs: one topic has most rows, some have none, some are not
    judged, and scores tie."""
    random = np.random.default_rng(7)
    topics = [f"q{k}" for k in range(30)]
    pool = [f"d{k}" for k in range(400)]
    made: dict[str, dict[str, list[Any]]] = {
        "qrels": {"query_id": [], "doc_id": [], "relevance": []},
        "bm25": {"topic": [], "doc": [], "score": []},
        "dense": {"topic": [], "doc": [], "score": []},
    }
    for topic in topics:
        grades = random.integers(0, 3, 12)
        rows = zip(random.permutation(pool)[:12], grades, strict=True)
        for doc, grade in rows:
            made["qrels"]["query_id"].append(topic)
            made["qrels"]["doc_id"].append(doc)
            made["qrels"]["relevance"].append(int(grade))
    for name, left_out in (("bm25", "q4"), ("dense", "q9")):
        for topic in [*topics, "x1", "x2"]:
            if topic != left_out:
                size = 400 if topic == "q0" else 40
                for doc in random.permutation(pool)[:size]:
                    made[name]["topic"].append(topic)
                    made[name]["doc"].append(doc)
                    made[name]["score"].append(float(random.integers(0, 30)))
    return {name: pa.table(columns) for name, columns in made.items()}


def test_retrieval_has_the_values_of_every_topic(
    spark: Any, lists: dict[str, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, and with them all that follows; judgments may be here or there."""
    monkeypatch.setattr(streams, "ROWS", 100)
    frames = {name: spark.createDataFrame(of).repartition(3) for name, of in lists.items()}
    measures = ["nDCG@10", "AP", "P@5", "RR", "Recall@100", "NumRet"]
    qrels, runs = lists["qrels"], {name: lists[name] for name in ("bm25", "dense")}
    theirs = cal.retrieval(qrels, runs, measures=measures)
    there = {name: frames[name] for name in runs}
    for given in (frames["qrels"], qrels):
        ours = cal.retrieval(given, there, measures=measures)
        assert ours.per_unit.ids == theirs.per_unit.ids
        for name, columns in theirs.per_unit.values.items():
            for measure, column in columns.items():
                np.testing.assert_array_equal(ours.per_unit.values[name][measure], column)
        told = [json.loads(of.to_json()) for of in (ours, theirs)]
        assert all(of.pop("provenance") for of in told)
        assert told[0] == told[1]


def test_what_is_wrong_with_runs(spark: Any, lists: dict[str, pa.Table]) -> None:
    qrels = spark.createDataFrame(lists["qrels"])
    twice = pa.concat_tables([lists["bm25"], lists["bm25"].slice(0, 1)])
    for given, words in (
        (spark.createDataFrame(twice), r"bm25: row \d+: document d\d+ retrieved twice for topic q"),
        (spark.createDataFrame(lists["bm25"]).drop("score"), "holds no scores"),
        (spark.createDataFrame(lists["bm25"]).drop("doc"), "bm25: no column 'doc'"),
        (
            spark.createDataFrame(lists["bm25"]).selectExpr("topic", "doc", "'x' AS score"),
            "numbers",
        ),
    ):
        with pytest.raises(InputError, match=words):
            cal.retrieval(qrels, {"bm25": given}, measures=["AP"])
    with pytest.raises(InputError, match="not data frames of Spark"):
        cal.retrieval(qrels, qrels, measures=["alpha-nDCG@5"])


def test_ranking_has_the_values_of_every_group(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of any size, some of which have nothing relevant, with ties."""
    monkeypatch.setattr(streams, "ROWS", 60)
    random = np.random.default_rng(3)
    group = np.concatenate([np.zeros(200, int), random.integers(1, 40, 500)])
    truth = np.where(group % 7 == 0, 0, random.integers(0, 4, 700))
    rows = pa.table(
        {
            "q.id": pa.array([f"q{k}" for k in group]),
            "grade": truth,
            "old": random.integers(0, 9, 700) + truth,
            "new": random.normal(size=700) + truth,
        }
    )
    frame = spark.createDataFrame(rows).repartition(3)
    asked: dict[str, Any] = {"measures": ["nDCG@5", "RR@5", "P@1", "AP@5"], "curves": False}
    ours, theirs = (
        cal.ranking("q.id", "grade", ["old", "new"], data=data, **asked) for data in (frame, rows)
    )
    told = [json.loads(of.to_json()) for of in (ours, theirs)]
    for of in told:
        del of["provenance"]
        of.pop("findings", None)
    assert told[0] == told[1]
    with pytest.raises(InputError, match="weight= takes all rows in memory"):
        cal.ranking("q.id", "grade", "old", data=frame, weight="new")
    with pytest.raises(InputError, match=r"partition \d+: truth: grade -1 in row"):
        cal.ranking("q", "grade", "old", data=frame.selectExpr("`q.id` AS q", "-1 AS grade", "old"))
