"""Rankings in Spark and in Dask: the values of every topic and group are those of one process."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError
from calipers.data.streams import Batch, Stream
from calipers.engines.base import Mergeable
from calipers.engines.local import StreamEngine

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from in_process import invoke

pytestmark = [
    # PySpark says so of every pandas that is newer than itself.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    # It leaves sockets for Python to close.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

MEASURES = ["nDCG@10", "AP", "P@5", "RR", "Recall@100", "NumRet"]


@pytest.fixture(params=["spark", "dask"])
def engine(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue("spark" if request.param == "spark" else "cluster")
    return str(request.param)


@pytest.fixture(params=["spark", "dask", "stream"])
def of_groups(request: pytest.FixtureRequest) -> str:
    """Also what has the rows of a group one after the other."""
    if request.param != "stream":
        request.getfixturevalue("spark" if request.param == "spark" else "cluster")
    return str(request.param)


def framed(engine: str, rows: pa.Table, request: pytest.FixtureRequest) -> Any:
    """The rows in several partitions, or sorted by their groups."""
    if engine == "stream":
        return rows.sort_by("q.id")
    if engine == "spark":
        return request.getfixturevalue("spark").createDataFrame(rows).repartition(3)
    import dask.dataframe as dd

    return dd.from_pandas(rows.to_pandas(), npartitions=3)


def told(evaluation: cal.Evaluation) -> dict[str, Any]:
    """All that is told of an evaluation, but where it was made."""
    made: dict[str, Any] = json.loads(evaluation.to_json())
    del made["provenance"]
    made.pop("findings", None)
    (made.get("costs") or {}).pop("provenance", None)
    return made


# --- Retrieval ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lists() -> dict[str, pa.Table]:
    """Judgments of 30 topics, and two runs: one topic has most rows, some have none, some are not
    judged, and scores tie."""
    random = np.random.default_rng(7)
    topics = [f"{k:03}" for k in range(30)]
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
    for name, left_out in (("bm25", "004"), ("dense", "009")):
        for topic in [*topics, "x1", "x2"]:
            if topic != left_out:
                size = 400 if topic == "000" else 40
                for doc in random.permutation(pool)[:size]:
                    made[name]["topic"].append(topic)
                    made[name]["doc"].append(doc)
                    made[name]["score"].append(float(random.integers(0, 30)) / 7)
    return {name: pa.table(columns) for name, columns in made.items()}


@pytest.fixture(scope="module")
def files(lists: dict[str, pa.Table], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same as a directory of Parquet, as CSV, and as TREC text, of which one is packed."""
    folder = tmp_path_factory.mktemp("lists")
    for name, rows in lists.items():
        (folder / name).mkdir()
        half = rows.num_rows // 2
        for part, of in enumerate((rows.slice(0, half), rows.slice(half))):
            parquet.write_table(of, folder / name / f"part-{part}.parquet")
        csv.write_csv(rows, folder / f"{name}.csv")
        columns = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        lines = [
            f"{topic} 0 {doc} {value}" if name == "qrels" else f"{topic} Q0 {doc} 1 {value} tag"
            for topic, doc, value in columns
        ]
        text = "\n".join(lines) + "\n"
        if name == "dense":
            (folder / "dense.run.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{name}.run").write_text(text)
    return {"folder": folder}


def check_retrieval(ours: cal.Evaluation, theirs: cal.Evaluation) -> None:
    assert ours.per_unit.ids == theirs.per_unit.ids
    for name, columns in theirs.per_unit.values.items():
        for measure, column in columns.items():
            np.testing.assert_array_equal(ours.per_unit.values[name][measure], column)
    assert told(ours) == told(theirs)


@pytest.mark.slow
def test_retrieval_has_the_values_of_every_topic(
    engine: str,
    lists: dict[str, pa.Table],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bit for bit, and with them all that follows; judgments may be here or there. Weights, slices
    and baselines are of topics, which are here."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 100)
    frames = {name: framed(engine, of, request) for name, of in lists.items()}
    qrels, runs = lists["qrels"], {name: lists[name] for name in ("bm25", "dense")}
    there = {name: frames[name] for name in runs}
    names = [f"{k:03}" for k in range(30)]
    asked: dict[str, Any] = {
        "measures": MEASURES,
        "weight": {name: 1 + int(name) % 4 for name in names},
        "slices": {"kind": {name: "even" if int(name) % 2 == 0 else "odd" for name in names}},
        "baseline": "bm25",
        "topics": "both",
    }
    check_retrieval(
        cal.retrieval(frames["qrels"], there, **asked), cal.retrieval(qrels, runs, **asked)
    )
    check_retrieval(
        cal.retrieval(qrels, there, measures=MEASURES),
        cal.retrieval(qrels, runs, measures=MEASURES),
    )


@pytest.mark.slow
def test_retrieval_from_paths(
    engine: str, files: dict[str, Path], lists: dict[str, pa.Table], tmp_path: Path
) -> None:
    """Tables of several kinds and TREC text, all in one call, whose ids stay text."""
    folder = files["folder"]
    theirs = cal.retrieval(
        lists["qrels"], {name: lists[name] for name in ("bm25", "dense")}, measures=MEASURES
    )
    for qrels, *runs in (
        ("qrels", "bm25", "dense"),
        ("qrels.run", "bm25.run", "dense.run.gz"),
        ("qrels.csv", "bm25.csv", "dense.csv"),
    ):
        paths = [str(folder / run) for run in runs]
        ours = cal.retrieval(folder / qrels, paths, measures=MEASURES, engine=engine)
        check_retrieval(ours, theirs)
    origins = ours.provenance["inputs"]
    assert [of["path"] for of in origins] == [str(folder / qrels), *paths]
    line = ["retrieval", str(folder / "qrels.run"), *paths, "-mAP", "--per-topic"]
    made = [invoke([*line, "--format", "csv", *more]) for more in ((), ("--engine", engine))]
    assert made[1].exit_code == 0, made[1].stderr
    assert made[0].stdout == made[1].stdout


@pytest.mark.slow
def test_what_is_wrong_with_text(engine: str, tmp_path: Path) -> None:
    """It is told by the line, or where it stands in its partition."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("1 0 d1 1\n1 0 d2 0\n")
    for text, words in (
        (b"1 Q0 d1 1 0.5 t\n1 Q0 d2 2 t\n", r"a\.run, part\w* \d+, line 2: .*5 fields"),
        (b"1 Q0 d1 1 0.5 t\n1 Q0 d2 2 high t\n", r"a\.run, part\w* \d+, line 2: .*high"),
        (b"1 Q0 \xff 1 0.5 t\n", r"a\.run, part\w* \d+: has bytes that are not UTF-8"),
        (b"1 Q0 d1 1 0.5 t\n1 Q0 d1 2 0.4 t\n", r"document d1 retrieved twice"),
    ):
        run.write_bytes(text)
        with pytest.raises(InputError, match=words):
            cal.retrieval(qrels, run, measures=["AP"], engine=engine)
    with pytest.raises(InputError, match="nothing"):
        cal.retrieval(qrels, tmp_path / "nothing.run", measures=["AP"], engine=engine)
    with pytest.raises(InputError, match="expected one of memory, spark, dask"):
        cal.retrieval(qrels, run, measures=["AP"], engine="stream")


def test_what_is_wrong_with_runs(
    engine: str, lists: dict[str, pa.Table], request: pytest.FixtureRequest
) -> None:
    bm25 = lists["bm25"]
    qrels = framed(engine, lists["qrels"], request)
    words: Mapping[str, pa.Table] = {
        r"bm25: row \d+: document d\d+ retrieved twice for topic 000": pa.concat_tables(
            [bm25, bm25.slice(0, 1)]
        ),
        "holds no scores": bm25.drop_columns("score"),
        "bm25: no column 'doc'": bm25.drop_columns("doc"),
        "expected numbers": bm25.set_column(2, "score", bm25["doc"]),
        "column 'topic' is missing 1 values": bm25.set_column(
            0, "topic", pa.array([None, *bm25["topic"].to_pylist()[1:]])
        ),
    }
    for said, given in words.items():
        with pytest.raises(InputError, match=said):
            cal.retrieval(qrels, {"bm25": framed(engine, given, request)}, measures=["AP"])
    with pytest.raises(InputError, match=f"and not engine='{engine}'"):
        cal.retrieval(qrels, qrels, measures=["alpha-nDCG@5"])


# --- Learning to rank -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clicks() -> pa.Table:
    """Groups of any size, some of which have nothing relevant, with ties; what is known of groups,
    and rows without a value."""
    random = np.random.default_rng(3)
    group = np.concatenate([np.zeros(200, int), random.integers(1, 40, 500)])
    truth = np.where(group % 7 == 0, 0, random.integers(0, 4, 700))
    kind = np.array(["short", "long", "odd", None], object)[np.minimum(group % 5, 3)]
    return pa.table(
        {
            "q.id": pa.array([f"q{k}" for k in group]),
            "grade": truth,
            "old": random.integers(0, 9, 700) + truth,
            "new": random.normal(size=700) + truth,
            "holes": pa.array(random.normal(size=700), mask=random.random(700) < 0.1),
            "w": group % 4 / 2,
            "often": group % 3,
            "user": np.char.add("u", (group % 9).astype(str)),
            "day": (np.datetime64("2024-01-01") + group * 5 % 31).astype("datetime64[ms]"),
            "kind": pa.array(kind.tolist(), pa.string()),
            "age": (group * 37 % 101).astype(float),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {"score": ["old", "new"], "baseline": "old"},
        {"score": {"a": "new"}, "weight": "w", "slices": ["kind", "age", "kind*age"]},
        {
            "score": ["old", "new"],
            "weight": "w",
            "count": "often",
            "cluster": "user",
            "time": "day",
            "slices": "kind",
            "cost": {"ms": {"old": "age", "new": "w"}, "GB": {"old": 1, "new": 2.5}},
        },
        {
            "score": ["new", "holes"],
            "missing": "drop",
            "slices": "age",
            "slice_bins": {"age": [40]},
        },
    ],
    ids=["compared", "weighted slices", "all that is known", "dropped"],
)
def test_ranking_has_the_values_of_every_group(
    of_groups: str,
    more: dict[str, Any],
    clicks: pa.Table,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 60)
    asked = {"measures": ["nDCG@5", "RR@5", "P@1", "AP@5"], **more}
    engine = "stream" if of_groups == "stream" else None
    ours, theirs = (
        cal.ranking("q.id", "grade", data=data, engine=how, **asked)
        for data, how in ((framed(of_groups, clicks, request), engine), (clicks, None))
    )
    assert told(ours) == told(theirs)
    assert ours.provenance["conventions"]["engine"] == of_groups
    assert [c.kind for c in ours.curves] == ["nDCG(dcg='exp-log2') at ranks"] * len(ours.systems)
    for one, other in zip(ours.curves, theirs.curves, strict=True):
        assert one.system == other.system
        assert one.references == other.references
        np.testing.assert_array_equal([one.y, one.low, one.high], [other.y, other.low, other.high])


@pytest.mark.slow
def test_ranking_from_paths(engine: str, clicks: pa.Table, tmp_path: Path) -> None:
    folder = tmp_path / "clicks"
    folder.mkdir()
    for part in range(3):
        parquet.write_table(clicks.slice(part * 250, 250), folder / f"{part}.parquet")
    parquet.write_table(clicks, tmp_path / "clicks.parquet")
    line = ["--group", "q.id", "--truth", "grade", "--score", "a=old", "--score", "new"]
    line += ["--weight", "w", "--slice", "kind", "-mAP@5", "--format", "csv"]
    line += [
        "--count",
        "often",
        "--cluster",
        "user",
        "--time",
        "day",
        "--cost",
        "ms=a:w,new:age",
    ]
    made = [
        invoke(["ranking", *given, *line])
        for given in ((str(tmp_path / "clicks.parquet"),), (str(folder), "--engine", engine))
    ]
    assert made[1].exit_code == 0, made[1].stderr
    assert made[0].stdout == made[1].stdout
    ours = cal.ranking("q.id", "grade", "old", data=[folder / "0.parquet"], engine=engine)
    assert ours.provenance["inputs"][0]["path"] == str(folder / "0.parquet")


@pytest.mark.slow
def test_what_ranking_does_not_have(
    engine: str, clicks: pa.Table, request: pytest.FixtureRequest
) -> None:
    frame = framed(engine, clicks, request)
    for more, words in (
        ({"cost": {"ms": "old"}}, "cost 'ms' of 'system': group 'q.*' has .* in row"),
        ({"cluster": "old"}, "cluster: group 'q.*' has .* in row"),
        ({"count": [1, 2]}, "count: 1 is not the name of a column"),
        ({"time": ["day"]}, "time: has a value for each group, expected the name of one column"),
        ({"id": "w"}, "id= takes all rows in memory"),
        ({"weight": "new"}, "weight: group 'q.*' has .* in row"),
        ({"slices": "new"}, "slice 'new': group 'q.*' has .* in row"),
        ({"score": "holes"}, r"score: \d+ of \d+ values are missing"),
        ({"truth": "new"}, r"partition \d+: truth: grade"),
        ({"score": "nearly"}, "no column 'nearly'"),
        ({"engine": "stream"}, f"has batches in this process; leave it out, or '{engine}'"),
        ({"baseline": "yesterday.json"}, "yesterday"),
    ):
        asked = {"group": "q.id", "truth": "grade", "score": "old", "data": frame, **more}
        with pytest.raises(InputError, match=words):
            cal.ranking(**asked)
    for given, words in (([], "an empty list"), (None, "data=, which is not given")):
        with pytest.raises(InputError, match=words):
            cal.ranking("q.id", "grade", "old", data=given, engine=engine)


# --- Groups in batches ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 50, 333, 5000])
def test_batches_end_where_groups_do(
    size: int, clicks: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rows are read at once: one group has 200."""
    monkeypatch.setattr(streams, "BATCH_ROWS", size)
    rows = clicks.sort_by("q.id")
    found = StreamEngine(Stream.from_input(rows)).group_batches("q.id")
    batches: list[Batch] = []

    def seen(batch: Batch) -> Sizes:
        batches.append(batch)
        return Sizes(batch.n_rows)

    assert found.reduce(seen, ["q.id", "new"]).rows == 700
    batches.sort(key=lambda batch: batch.first_row)
    assert [b.first_row for b in batches] == [0, *np.cumsum([b.n_rows for b in batches])[:-1]]
    names = [set(batch.columns["q.id"].to_pylist()) for batch in batches]
    assert sum(map(len, names)) == len(set().union(*names))
    joined = pa.concat_arrays([batch.columns["new"] for batch in batches])
    assert joined.to_pylist() == rows["new"].to_pylist()


@dataclass(frozen=True)
class Sizes(Mergeable):
    """Of batches."""

    rows: int

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(self.rows + other.rows)


@pytest.mark.parametrize("size", [4, 300, 1000])
def test_a_group_that_comes_back_is_named(
    size: int, clicks: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", size)
    rows = clicks.sort_by("q.id")
    names = rows["q.id"].to_pylist()
    again = pa.concat_tables([rows.slice(0, 600), rows.slice(names.index("q12"), 1)])
    words = (
        rf"q.id 'q12' begins in row {names.index('q12')} and occurs again in row 600, after "
        r"others; .* sort them by 'q.id', or use engine='memory'"
    )
    with pytest.raises(InputError, match=words):
        cal.ranking("q.id", "grade", "old", data=again, engine="stream")


def test_groups_may_be_left_out_with_their_batch(
    clicks: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all of its rows lack a value; where all rows do, nothing is left."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 20)
    rows = clicks.sort_by("q.id")
    new = rows["new"].to_pylist()
    for k, name in enumerate(rows["q.id"].to_pylist()):
        new[k] = None if name in ("q0", "q12", "q9") else new[k]
    holes = rows.set_column(rows.column_names.index("new"), "new", pa.array(new))
    asked = {"data": holes, "missing": "drop", "count": "often", "time": "day"}
    ours, theirs = (
        cal.ranking("q.id", "grade", "new", engine=engine, **asked) for engine in ("stream", None)
    )
    assert told(ours) == told(theirs)
    none = rows.set_column(rows.column_names.index("new"), "new", pa.nulls(700, pa.float64()))
    with pytest.raises(InputError, match="no row is complete; values are missing: 700 in score"):
        cal.ranking("q.id", "grade", "new", data=none, missing="drop", engine="stream")


def test_the_command_reads_sorted_groups_in_batches(clicks: pa.Table, tmp_path: Path) -> None:
    rows = clicks.sort_by("q.id")
    for part in range(3):
        parquet.write_table(rows.slice(part * 250, 250), tmp_path / f"{part}.parquet")
    parquet.write_table(clicks, tmp_path / "all.parquet")
    line = ["--group", "q.id", "--truth", "grade", "--score", "a=old", "--score", "new", "-mAP@5"]
    line += ["--cluster", "user", "--format", "csv"]
    there = str(tmp_path / "[0-9]*.parquet"), "--engine", "stream"
    made = [
        invoke(["ranking", *given, *line]) for given in ((str(tmp_path / "all.parquet"),), there)
    ]
    assert made[1].exit_code == 0, made[1].stderr
    assert made[0].stdout == made[1].stdout
    parquet.write_table(clicks, tmp_path / "2.parquet")
    failed = invoke(["ranking", *there, *line])
    assert isinstance(failed.exception, InputError)
    assert "occurs again in row" in str(failed.exception)
