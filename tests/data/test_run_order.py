"""Runs by the ranks that are stated in them, against the order of the ranks written plainly."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.campaign.runs import read_rankings
from calipers.data.run_order import rank_array
from calipers.data.trec import read_ordered_run

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1, "d": 0}}
#: Distances: the nearest document is the best one.
FAISS = """\
1 Q0 c 1 0.1 r
1 Q0 b 2 0.5 r
1 Q0 a 3 0.9 r
2 Q0 d 0 0.4 r
2 Q0 a 1 0.7 r
"""


def write(folder: Path, text: str, name: str = "x.run") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def random_run(seed: int) -> tuple[dict[str, dict[str, int]], list[tuple[str, str, int, float]]]:
    """Judgments, and rows in any order whose ranks have nothing to do with their scores."""
    generator = np.random.default_rng([5, seed])
    qrels = {
        f"t{t}": {f"d{d}": int(generator.integers(0, 3)) for d in range(12)} | {"d0": 1}
        for t in range(8)
    }
    rows = [
        (topic, f"d{d}", int(rank), float(generator.integers(0, 5)))
        for topic in qrels
        for d, rank in enumerate(generator.permutation(15))
    ]
    generator.shuffle(rows)
    return qrels, [(str(t), str(d), int(r), float(s)) for t, d, r, s in rows]


@pytest.mark.parametrize("form", ["trec", "frame", "csv", "text ranks", "parquet", "dask"])
@pytest.mark.parametrize("seed", range(2))
def test_documents_are_in_the_order_of_the_ranks(form: str, seed: int, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    qrels, rows = random_run(seed)
    topics, documents, ranks, scores = (list(column) for column in zip(*rows, strict=True))
    columns = {"topic": topics, "doc": documents, "rank": ranks, "score": scores}
    run: Any = columns
    options: dict[str, Any] = {}
    if form == "trec":
        lines = [f"{t} Q0 {d} {r} {s} tag\n" for t, d, r, s in rows]
        run = write(tmp_path, "".join(lines))
    elif form == "text ranks":
        run = {**columns, "rank": [f"{rank:03}" for rank in ranks]}
    elif form == "csv":
        lines = [",".join(map(str, row)) + "\n" for row in rows]
        run = write(tmp_path, "topic,doc,rank,score\n" + "".join(lines), "x.csv")
    elif form == "parquet":
        run = tmp_path / "x.parquet"
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), run)
    elif form == "dask":
        frame = pytest.importorskip("dask.dataframe")
        run = frame.from_pandas(pytest.importorskip("pandas").DataFrame(columns), npartitions=3)
        options = {"engine": "dask"}
    plain = {t: {d: -r for u, d, r, _ in rows if u == t} for t in qrels}
    arguments: dict[str, Any] = {"measures": ["AP", "nDCG@5", "RR"], "interval": "none"}
    expected = cal.retrieval(qrels, plain, **arguments)
    evaluation = cal.retrieval(qrels, run, order="rank", **options, **arguments)
    assert [e.value for e in evaluation] == pytest.approx([e.value for e in expected], rel=1e-12)
    assert evaluation.provenance["conventions"]["order"] == "rank ascending"
    if form == "trec":
        by_score = {t: {d: s for u, d, _, s in rows if u == t} for t in qrels}
        expected = cal.retrieval(qrels, by_score, **arguments)
        again = cal.retrieval(qrels, run, **arguments)
        assert [e.value for e in again] == [e.value for e in expected]
        assert [e.value for e in again] != [e.value for e in evaluation]


def find_plainly(rows: list[tuple[str, str, int, float]]) -> list[tuple[int, int, int]]:
    """Rows that contradict the row before: their index, and both ranks, the larger one first."""
    return [
        (k, max(rank, other), min(rank, other))
        for k, ((before, _, other, high), (topic, _, rank, score)) in enumerate(pairwise(rows), 1)
        if before == topic and (rank - other) * (score - high) > 0
    ]


@pytest.mark.parametrize("seed", range(4))
def test_contradictions_are_noted(seed: int, tmp_path: Path) -> None:
    qrels, rows = random_run(seed)
    rows = sorted(rows, key=lambda row: row[0])[:40]
    found = find_plainly(rows)
    assert len(found) > 1
    row, rank, other = found[0]
    text = "".join(f"{t} Q0 {d} {r} {s} tag\n" for t, d, r, s in rows)
    path = write(tmp_path, text)
    topics, documents, ranks, scores = (list(column) for column in zip(*rows, strict=True))
    columns = {"topic": topics, "doc": documents, "rank": ranks, "score": scores}
    for run, location in ((path, f"{path}:{row + 1}"), (columns, f"row {row}")):
        for order in ("score", "rank"):
            evaluation = cal.retrieval(qrels, {"x": run}, order=order, interval="none")
            [note] = [note for note in evaluation.notes if "contradict each other" in note]
            assert note.startswith(
                f"x: documents are ordered by {order}; ranks and scores contradict each other "
                f"{len(found)} times, first at {location}: rank {rank} has a higher score than "
                f"rank {other}."
            )
            assert ("order='rank' ranks as stated" in note) == (order == "score")


def test_no_contradiction_without_one(tmp_path: Path) -> None:
    for text in (
        "1 0 a 1 3 r\n1 0 b 2 3 r\n1 0 c 2 1 r\n2 0 a 1 9 r\n",  # ties, and another topic
        "1 0 a - 1 r\n1 0 b - 3 r\n1 0 c Q0 2 r\n2 0 a -1 9 r\n",  # no ranks
        "1 0 a 1 1 r\n1 0 b 1 3 r\n1 0 c 1 2 r\n2 0 a 1 9 r\n",  # all ranks are 1
    ):
        rows = [line.split() for line in text.splitlines()]
        topics, _, documents, ranks, scores, _ = zip(*rows, strict=True)
        columns = {"topic": topics, "doc": documents, "rank": ranks}
        columns |= {"score": [float(score) for score in scores]}
        for run in (write(tmp_path, text), columns):
            evaluation = cal.retrieval(QRELS, {"x": run}, interval="none")
            assert not any("contradict each other" in note for note in evaluation.notes)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1 0 c 1 1 r\n1 0 b 2 1 r\n1 0 a 2 1 r\n1 0 d 2 1 r\n",
         "x.run:3: rank 2 of topic '1' occurs twice, first at .*x.run:2; so do 1 more; order="),
        ("1 0 c 1 1 r\n# 2\n1 0 b x 1 r\n", "x.run:3: rank 'x' is not a whole number, which order="),
        ("1 0 c -1 1 r\n", "x.run:1: rank '-1' is not a whole number"),
        ("1 0 c 1.5 1 r\n", "x.run:1: rank '1.5' is not a whole number"),
        ("1 0 c 1 1 r\n1 0 c 2 1 r\n", "x.run:2: document c retrieved twice for topic 1"),
    ],
)  # fmt: skip
def test_ranks_that_order_nothing(rows: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, rows)
    with pytest.raises(cal.InputError, match=message):
        cal.retrieval(QRELS, path, order="rank")
    with pytest.raises(cal.InputError, match=message):
        read_rankings({"x": path}, order="rank")


def test_runs_without_ranks() -> None:
    for run in ({"1": {"a": 1.0}}, {"topic": ["1"], "doc": ["a"], "score": [1.0]}):
        with pytest.raises(cal.InputError, match="run: order='rank': there are no ranks; expected"):
            cal.retrieval(QRELS, run, order="rank")
    with pytest.raises(cal.InputError, match="order is 'ranks'; did you mean 'rank'"):
        cal.retrieval(QRELS, {"1": {"a": 1.0}}, order="ranks")
    columns = {"topic": ["1", "1"], "doc": ["a", "b"], "score": [1.0, 2.0], "rank": [1, None]}
    with pytest.raises(cal.InputError, match="run: row 1: rank None is not a whole number"):
        cal.retrieval(QRELS, columns, order="rank")


def test_gaps_are_noted(tmp_path: Path) -> None:
    text = "2 0 a 5 1 r\n1 0 c 0 9 r\n1 0 b 1 8 r\n1 0 a 4 7 r\n"
    path = write(tmp_path, text)
    evaluation = cal.retrieval(QRELS, {"x": path}, order="rank", measures=["RR"], interval="none")
    assert evaluation["RR"].value == 1
    assert evaluation.notes[0] == (
        f"x: the ranks have 2 gaps, the first at {path}:1, where rank 5 of topic '2' is the first. "
        "Documents are ranked without gaps."
    )
    _, _, notes = read_ordered_run("x", write(tmp_path, text[12:]), "rank")
    assert f"a gap, the first at {path}:3, where rank 4 of topic '1' follows rank 1." in notes[0]
    assert read_ordered_run("x", write(tmp_path, FAISS), "rank")[2][0].startswith("x: documents")


def test_ranks_of_any_type() -> None:
    pa = pytest.importorskip("pyarrow")
    columns: list[tuple[Any, list[int]]] = [
        (["1", "x", None, "0012"], [1, -1, -1, 12]),
        ([1, 2, None], [1, 2, -1]),
        ([1.0, 2.5, -1.0, float("nan"), 1e300], [1, -1, -1, -1, -1]),
        ([b"3", b"-1", b""], [3, -1, -1]),
        ([True, False], [-1, -1]),
        (pa.array(["2", "1"]).dictionary_encode(), [2, 1]),
        (["9" * 19, "9" * 18], [-1, 10**18 - 1]),
    ]
    for values, expected in columns:
        column = values if isinstance(values, pa.Array) else pa.array(values)
        assert rank_array(pa.chunked_array([column])).tolist() == expected


def test_pools_and_overlap(tmp_path: Path) -> None:
    path = write(tmp_path, FAISS)
    assert read_rankings({"x": path}, 2, order="rank") == {"x": {"1": ["c", "b"], "2": ["d", "a"]}}
    assert read_rankings({"x": path}, 2) == {"x": {"1": ["a", "b"], "2": ["a", "d"]}}
    other = {"topic": [1, 1, 1, 2, 2], "doc": list("cbada"), "rank": [1, 2, 3, 1, 2]}
    evaluation = cal.overlap({"x": path, "y": other}, order="rank", cutoffs=[1], interval="none")
    assert evaluation["overlap@1"].value == 1
    assert any(note.startswith("x: documents are ordered by rank") for note in evaluation.notes)
    evaluation = cal.overlap({"x": path, "y": other}, cutoffs=[1], interval="none")
    assert evaluation["overlap@1"].value == 0


def test_measures_of_groups_and_human_judgments(tmp_path: Path) -> None:
    path = write(tmp_path, FAISS)
    plain = {"1": {"c": -1, "b": -2, "a": -3}, "2": {"d": 0, "a": -1}}
    groups = {"1": {"g": {"a": 1}, "h": {"c": 1}}, "2": {"g": {"a": 1}}}
    arguments: dict[str, Any] = {"measures": ["alpha-nDCG@2"], "interval": "none"}
    values = [
        cal.retrieval(groups, run, order=order, **arguments)["alpha-nDCG@2"].value
        for run, order in ((path, "rank"), (plain, "score"), (path, "score"))
    ]
    assert values[0] == values[1] != values[2]


def test_the_description_of_a_run_of_ntcir(tmp_path: Path) -> None:
    for description in ("BM25 of titles", "BM25 with b and k of, titles", "BM25"):
        path = write(tmp_path, f"<SYSDESC>{description}</SYSDESC>\n{FAISS}")
        evaluation = cal.retrieval(QRELS, {"x": path}, conventions="ntcireval", measures=["RR"])
        assert evaluation["RR"].value == 0.75
        assert any(f"{path}:3: rank 2 has a higher score than" in n for n in evaluation.notes)
        path.write_text(f"<SYSDESC>{description}</SYSDESC>\n1\ta\t1\n1\tb\t2\n")
        assert cal.retrieval(QRELS, path, measures=["RR"], interval="none")["RR"].value == 0.5
