"""Judgments and runs in every format: the same numbers from all, and what bad input says."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import calipers as cal
from calipers.data import formats, trec
from calipers.data.formats import detect_kind

QRELS = {
    "007": {"a": 1, "2009-01-01": 0, "1e5": 2},
    "7": {"a": 1, "NA": 3, "é": -1},
    "x y": {"null": 1},
}
RUN = {
    "007": {"a": 0.1, "1e5": 1 / 3, "2009-01-01": 3e-7, "b": -2.0},
    "7": {"é": 5.0, "a": 5.0, "NA": 1e300},
    "x y": {"null": 2.0, "nan": 3.0},
}
MEASURES = ["AP", "nDCG", "NumRet", "NumRel", "RR"]


class Qrel(NamedTuple):
    """As ir_measures and ir_datasets have them."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


def flat(nested: dict[str, dict[str, Any]], topic: str, doc: str, value: str) -> dict[str, Any]:
    rows = [(t, d, v) for t, documents in nested.items() for d, v in documents.items()]
    return dict(zip((topic, doc, value), map(list, zip(*rows, strict=True)), strict=True))


def packed(data: bytes, suffix: str) -> bytes:
    """Compressed as the end of a file name says."""
    if suffix.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    return data


def text(columns: dict[str, Any], delimiter: str) -> bytes:
    return pd.DataFrame(columns).to_csv(sep=delimiter, index=False).encode()


def as_lines(columns: dict[str, Any]) -> bytes:
    return pd.DataFrame(columns).to_json(orient="records", lines=True).encode()


def as_bytes(write: Callable[[pa.Table, Any], Any], table: pa.Table) -> bytes:
    out = io.BytesIO()
    write(table, out)
    return out.getvalue()


def encoded(columns: dict[str, Any]) -> pa.Table:
    """With dictionaries, in several chunks."""
    table = pa.table(columns)
    for place in (0, 1):
        table = table.set_column(
            place, table.column_names[place], table.column(place).dictionary_encode()
        )
    return pa.concat_tables([table.slice(0, 2), table.slice(2)])


Nested = dict[str, dict[str, Any]]
#: The end of a file name, and how a nested dict and the names of its columns are written there.
WRITERS: dict[str, Callable[[Nested, dict[str, Any]], bytes]] = {
    ".json": lambda nested, _: json.dumps(nested).encode(),
    ".json.gz": lambda nested, _: json.dumps(nested).encode(),
    ".list.json": lambda _, columns: pd.DataFrame(columns).to_json(orient="records").encode(),
    ".columns.json": lambda _, columns: json.dumps(columns).encode(),
    ".jsonl": lambda _, columns: as_lines(columns),
    ".ndjson.gz": lambda _, columns: as_lines(columns),
    ".csv": lambda _, columns: text(columns, ","),
    ".csv.gz": lambda _, columns: text(columns, ","),
    ".tsv": lambda _, columns: b"\xef\xbb\xbf" + text(columns, "\t").replace(b"\n", b"\r\n"),
    ".parquet": lambda _, columns: as_bytes(parquet.write_table, pa.table(columns)),
    ".parq": lambda _, columns: as_bytes(parquet.write_table, encoded(columns)),
    ".feather": lambda _, columns: as_bytes(feather.write_feather, pa.table(columns)),
    ".arrow": lambda _, columns: as_bytes(feather.write_feather, encoded(columns)),
}
#: Names of the columns of qrels and of runs, as different tools write them.
NAMES = {
    "ours": (("topic", "doc", "grade"), ("topic", "doc", "score")),
    "ir_measures": (("query_id", "doc_id", "relevance"), ("query_id", "doc_id", "score")),
    "PyTerrier": (("qid", "docno", "label"), ("qid", "docno", "score")),
    "ranx": (("q_id", "doc_id", "score"), ("q_id", "doc_id", "score")),
    "BEIR": (("query-id", "corpus-id", "score"), ("query-id", "corpus-id", "score")),
}


def per_topic(qrels: Any, run: Any) -> Any:
    ev = cal.retrieval(qrels, {"run": run}, measures=MEASURES, interval="none")
    assert ev.per_unit is not None
    return ev.per_unit.to_columns()


@pytest.fixture(scope="module")
def expected() -> Any:
    return per_topic(QRELS, RUN)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("tool", NAMES)
def test_every_file_gives_the_same_numbers(
    suffix: str, tool: str, tmp_path: Path, expected: Any
) -> None:
    paths = []
    for nested, names, file in zip((QRELS, RUN), NAMES[tool], ("q", "r"), strict=True):
        path = tmp_path / f"{file}{suffix}"
        path.write_bytes(packed(WRITERS[suffix](nested, flat(nested, *names)), suffix))
        paths.append(path)
    np.testing.assert_equal(per_topic(*paths), expected)


def test_rows_of_other_tools_are_taken(expected: Any) -> None:
    qrels = [Qrel(t, d, g) for t, documents in QRELS.items() for d, g in documents.items()]
    run = [ScoredDoc(t, d, s) for t, documents in RUN.items() for d, s in documents.items()]
    np.testing.assert_equal(per_topic(qrels, run), expected)
    np.testing.assert_equal(per_topic(iter(qrels), iter(run)), expected)
    as_dicts = [row._asdict() for row in qrels]
    np.testing.assert_equal(per_topic(as_dicts, run), expected)
    alone = cal.retrieval(qrels, run, measures=["AP"])  # a list of rows is one run
    assert alone.systems == ("run",)
    ir_measures = pytest.importorskip("ir_measures")
    theirs = [ir_measures.Qrel(*row[:3]) for row in qrels]
    docs = [ir_measures.ScoredDoc(*row) for row in run]
    np.testing.assert_equal(per_topic(theirs, docs), expected)
    value = {
        str(m): v
        for m, v in ir_measures.pytrec_eval.calc_aggregate([ir_measures.RR], theirs, docs).items()
    }
    assert cal.retrieval(theirs, docs, measures=["RR"])["RR"].value == pytest.approx(value["RR"])


def test_polars_and_decimals_are_taken(expected: Any) -> None:
    qrels = pl.DataFrame(flat(QRELS, "topic", "doc", "grade")).with_columns(
        pl.col("doc").cast(pl.Categorical)
    )
    np.testing.assert_equal(per_topic(qrels, RUN), expected)
    halves = {
        "topic": ["1", "1"],
        "doc": ["a", "b"],
        "score": pa.array([1, 2], pa.decimal128(5, 2)),
    }
    assert cal.retrieval({"1": {"a": 1}}, pa.table(halves), measures=["RR"])["RR"].value == 0.5


def extreme(scores: dict[str, float]) -> dict[str, float]:
    """The same order and ties, with infinite scores at both ends."""
    ends = {min(scores.values()): -np.inf, max(scores.values()): np.inf}
    return {document: ends.get(score, score) for document, score in scores.items()}


@pytest.mark.slow
def test_infinite_scores_are_the_lowest_and_the_highest(tmp_path: Path, expected: Any) -> None:
    run = {topic: extreme(scores) for topic, scores in RUN.items()}
    columns = flat(run, "topic", "doc", "score")
    assert np.isinf(columns["score"]).sum() > 4
    sources: list[Any] = [run, columns, pd.DataFrame(columns), pl.DataFrame(columns)]
    sources.append([ScoredDoc(*row) for row in zip(*columns.values(), strict=True)])
    for suffix in WRITERS.keys() - {
        ".list.json",
        ".jsonl",
        ".ndjson.gz",
    }:  # JSON of pandas has none
        sources.append(tmp_path / f"r{suffix}")
        sources[-1].write_bytes(packed(WRITERS[suffix](run, columns), suffix))
    for source in sources:
        np.testing.assert_equal(per_topic(QRELS, source), expected)
        [shared, *_] = cal.overlap({"a": source, "b": RUN})
        assert shared.value == cal.overlap({"a": RUN, "b": RUN})[shared.measure].value


@pytest.mark.parametrize("infinite", ["inf", "Infinity", "+INF"])
def test_infinite_scores_of_trec_text(infinite: str, tmp_path: Path) -> None:
    path = tmp_path / "r.run"
    low = "-" + infinite.removeprefix("+")
    path.write_text(f"1 Q0 a 1 {low} r\n1 Q0 b 1 {infinite} r\n1 Q0 c 1 1e308 r\n")
    run = {"1": {"a": 1.0, "b": 3.0, "c": 2.0}}
    np.testing.assert_equal(per_topic({"1": {"c": 1}}, path), per_topic({"1": {"c": 1}}, run))
    path.write_text(f"1 Q0 a 1 {low} r\n1 Q0 b 1 nan r\n")
    with pytest.raises(cal.InputError, match=r"r\.run:2: score is NaN$"):
        cal.retrieval({"1": {"c": 1}}, path)


@pytest.mark.parametrize("ties", ["average", "best", "worst"])
def test_infinite_scores_tie_with_each_other(ties: str) -> None:
    qrels, measures = {"1": {"b": 1, "e": 2}}, ["RR", "nDCG@2", "P@2"]
    scores = {"a": np.inf, "b": np.inf, "c": 0.0, "d": -np.inf, "e": -np.inf}
    finite = {document: min(max(score, -7.0), 7.0) for document, score in scores.items()}
    found, wanted = (
        [e.value for e in cal.retrieval(qrels, {"1": run}, measures=measures, ties=ties)]
        for run in (scores, finite)
    )
    assert found == wanted


def test_infinite_scores_go_from_file_to_file_where_they_can(tmp_path: Path) -> None:
    run = {"1": {"a": np.inf, "b": 0.1, "c": -np.inf}}
    table, _ = trec.read_rows("run", run, "run")
    for suffix in (".run", ".run.gz", ".csv", ".tsv", ".parquet", ".feather"):
        path = tmp_path / f"r{suffix}"
        with path.open("wb") as stream:
            formats.write_rows(table, "run", str(path), stream)
        again, _ = trec.read_rows("run", path, "run")
        assert again["score"].to_pylist() == [np.inf, 0.1, -np.inf]
    for suffix in (".json", ".jsonl"):
        with pytest.raises(cal.InputError, match="JSON has no infinite scores; TREC text, CSV"):
            formats.write_rows(table, "run", f"r{suffix}", io.BytesIO())


def test_large_binary_chunks_are_joined_behind_an_offset() -> None:
    table = pa.table(flat(RUN, "topic", "doc", "score"))
    sliced = pa.concat_tables([table.slice(5), table.slice(0, 5)]).slice(1)
    rows, _ = trec.read_rows("run", sliced, "run")
    assert rows.to_pydict() == {
        name: [v.encode() if isinstance(v, str) else v for v in values]
        for name, values in sliced.to_pydict().items()
    }


@pytest.mark.slow
def test_ranx_files_are_read(tmp_path: Path) -> None:
    ranx = pytest.importorskip("ranx")
    qrels = {"q_1": {"d_12": 5, "d_25": 3}, "q_2": {"d_11": 6, "d_22": 1}}
    run = {"q_1": {"d_12": 0.9, "d_23": 0.8, "d_25": 0.7}, "q_2": {"d_12": 0.9, "d_11": 0.8}}
    theirs, ranked = ranx.Qrels(qrels), ranx.Run(run)
    for suffix in ("json", "parquet", "trec"):
        theirs.save(str(tmp_path / f"q.{suffix}"), kind=suffix)
        ranked.save(str(tmp_path / f"r.{suffix}"), kind=suffix)
        ev = cal.retrieval(
            tmp_path / f"q.{suffix}", tmp_path / f"r.{suffix}", measures=["RR", "AP"]
        )
        assert ev["RR"].value == pytest.approx((1 + 1 / 2) / 2)
        assert ev["AP"].value == pytest.approx(((1 + 2 / 3) / 2 + (1 / 2) / 2) / 2)


def test_a_tsv_without_header_is_trec_text(tmp_path: Path) -> None:
    (tmp_path / "qrels.dev.tsv").write_text("300674\t0\t7067032\t1\n125705\t0\t7067056\t1\n")
    run = {"300674": {"7067032": 1.0}, "125705": {"7067032": 1.0, "7067056": 0.5}}
    assert cal.retrieval(tmp_path / "qrels.dev.tsv", run, measures=["RR"])["RR"].value == 0.75


def test_integer_ids_are_their_digits(tmp_path: Path) -> None:
    parquet.write_table(
        pa.table({"query-id": [1, 2], "corpus-id": [10, 20], "score": [1, 1]}),
        tmp_path / "q.parquet",
    )
    run = {"1": {"10": 1.0}, "2": {"20": 1.0}}
    assert cal.retrieval(tmp_path / "q.parquet", run, measures=["RR"])["RR"].value == 1


def test_provenance_has_the_digest_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps(QRELS))
    inputs = cal.retrieval(tmp_path / "q.json", RUN).provenance["inputs"]
    data = (tmp_path / "q.json").read_bytes()
    assert inputs[0]["sha256"] == hashlib.sha256(data).hexdigest()
    assert inputs[0]["bytes"] == len(data)
    assert inputs[0]["lines"] == sum(map(len, QRELS.values()))


COUNTED = " (rows count from 0, without the header)"
#: The name of a file of judgments or a run, what it holds, and what is said of it.
BAD: dict[str, tuple[str, bytes, str]] = {
    "a document given twice": (
        "r.csv",
        b"topic,doc,score\n1,a,1\n1,b,2\n1,a,3\n",
        "r.csv: row 2: document a retrieved twice for topic 1 (first at row 0)" + COUNTED,
    ),
    "a missing id": (
        "r.csv",
        b"topic,doc,score\n1,a,1\n1,,2\n",
        "r.csv: column 'doc' is missing 1 values, the first in row 1" + COUNTED,
    ),
    "a missing score": (
        "r.jsonl",
        b'{"topic": "1", "doc": "a", "score": null}\n{"topic": "1", "doc": "b", "score": 1}\n',
        "r.jsonl: column 'score' is missing 1 values, the first in row 0" + COUNTED,
    ),
    "a missing key": (
        "r.json",
        b'[{"topic": "1", "doc": "a", "score": 1}, {"topic": "1", "doc": "b"}]',
        "r.json: column 'score' is missing 1 values, the first in row 1" + COUNTED,
    ),
    "a word for a score": (
        "r.csv",
        b"topic,doc,score\n1,a,1\n1,b,high\n",
        "r.csv: column 'score' is of type string, expected numbers: 'high' in row 1" + COUNTED,
    ),
    "a score that is no number": (
        "r.csv",
        b"topic,doc,score\n1,a,1\n1,b,nan\n",
        "r.csv: row 1: score is NaN" + COUNTED,
    ),
    "a score that is no number, in JSON": (
        "r.json",
        b'{"1": {"a": 1.0, "b": NaN}}',
        "r.json: topic 1, document b: score is NaN",
    ),
    "a grade with a fraction": (
        "q.csv",
        b"topic,doc,grade\n1,a,1\n1,b,0.5\n",
        "q.csv: grade 0.5 in row 1 is not a whole number" + COUNTED,
    ),
    "a grade out of range": (
        "q.csv",
        b"topic,doc,grade\n1,a,1\n1,b,1e300\n",
        "q.csv: grade 1e+300 in row 1 is out of range, expected -2147483648 to 2147483647" + COUNTED,
    ),
    "a grade that is text": (
        "q.json",
        b'{"1": {"a": "1"}}',
        "q.json: topic 1, document a: grade 1 is of type str, expected an integer",
    ),
    "a boolean grade": (
        "q.jsonl",
        b'{"topic": "1", "doc": "a", "grade": true}\n',
        "q.jsonl: column 'grade' is of type bool, expected numbers",
    ),
    "a column that is not there": (
        "r.csv",
        b"topic,document_id,score\n1,a,1\n",
        "r.csv: no column 'doc' (nor doc_id, corpus-id, docno, docid, document, did); "
        "there are 'topic', 'document_id', 'score'",
    ),
    "a column that stands there twice": (
        "r.csv",
        b"topic,doc,score,score\n1,a,1,2\n",
        "r.csv: column 'score' appears more than once",
    ),
    "a key that stands there twice": (
        "r.json",
        b'{"1": {"a": 1, "b": 2, "a": 3}}',
        "r.json: cannot be read as JSON: the key 'a' appears more than once in an object",
    ),
    "JSON that is broken": (
        "r.json",
        b'{"1": {"a": 1}',
        "r.json:1: is not valid JSON: Expecting ',' delimiter",
    ),
    "JSON that is something else": (
        "r.json",
        b"3",
        "r.json: holds int, expected an object {topic: {document: value}} or a list of objects",
    ),
    "JSON that is not deep enough": (
        "r.json",
        b'{"1": 3}',
        "r.json: topic '1' holds int, expected a dict of document to score",
    ),
    "JSON that is too deep": ("r.json", b"[" * 100_000, "r.json: cannot be read as JSON: "),
    "JSON of nothing": ("r.json", b"{}", "r.json: no rows"),
    "a list of nothing": ("r.json", b"[]", "r.json: no rows"),
    "a list of numbers": ("r.json", b"[1, 2]", "r.json: a row is 1, expected query_id, doc_id, score of it"),
    "an id that is a fraction": (
        "r.jsonl",
        b'{"topic": 1.5, "doc": "a", "score": 1}\n',
        "r.jsonl: column 'topic' is of type double, expected text or whole numbers",
    ),
    "ids that are now numbers, now text": (
        "r.jsonl",
        b'{"topic": 1, "doc": "a", "score": 1}\n{"topic": "b", "doc": "a", "score": 1}\n',
        "r.jsonl:2: 'topic' is text, and a number in line 1; expected values of one kind",
    ),
    "a score beyond all numbers": (
        "r.json",
        b'[{"topic": "1", "doc": "a", "score": 1' + b"0" * 400 + b"}]",
        "r.json: column 'score': cannot be converted to Arrow: ",
    ),
    "half a character": (
        "r.json",
        b'{"1": {"\\ud800": 1.0}}',
        "r.json: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed",
    ),
    "rubbish for Parquet": ("r.parquet", b"\x93\x00 rubbish" * 20, "r.parquet: cannot be read as a table: "),
    "rubbish for gzip": ("r.csv.gz", b"topic,doc,score\n", "r.csv.gz: is not compressed as its name says"),
    "a file of nothing": ("r.parquet", b"", "r.parquet: the file is empty"),
    "a header alone": ("r.csv", b"topic,doc,score\n", "r.csv: the table has no rows"),
    "bytes that are not UTF-8": (
        "r.csv",
        b"topic,doc,score\n1,\xe9,1\n",
        "r.csv:2: the byte 0xe9 after '1,' is not UTF-8; save the file as UTF-8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_told_clearly(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, data, message = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    with pytest.raises(cal.InputError) as raised:
        cal.retrieval(name, RUN) if name.startswith("q") else cal.retrieval(QRELS, name)
    told = str(raised.value).replace("large_string", "string")
    assert (
        told.startswith(message)
        if message.endswith((": ", "from", "attribute"))
        else told == message
    )


def test_a_null_in_a_dictionary_is_missing() -> None:
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(
        cal.InputError, match="column 'doc' is missing 1 values, the first in row 1"
    ):
        cal.retrieval(QRELS, pa.table({"topic": ["1", "1"], "doc": ids, "score": [1.0, 2.0]}))


def test_judgments_by_subtopic_are_no_grades() -> None:
    class Sub(NamedTuple):
        query_id: str
        doc_id: str
        relevance: int
        subtopic_id: str

    with pytest.raises(cal.InputError, match="qrels: is judged by subtopic"):
        cal.retrieval([Sub("1", "a", 1, "1")], RUN)


def test_the_first_bad_run_is_told_whichever_is_read_first(tmp_path: Path) -> None:
    runs = []
    for i in range(12):
        path = tmp_path / f"{i}.run"
        lines = "".join(f"7 Q0 d{n} 1 {n} t\n" for n in range(20_000 if i < 6 else 1))
        path.write_text(lines + ("7 Q0 z\n" if i >= 5 else ""))
        runs.append(path)
    with pytest.raises(cal.InputError, match=r"5\.run:20001: 3 fields"):
        cal.retrieval(QRELS, runs)


def test_many_runs_at_once_are_the_same_as_one_by_one(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    qrels = {str(t): {f"d{d}": int(generator.integers(3)) for d in range(20)} for t in range(9)}
    runs = {}
    for i in range(17):
        run = {t: {f"d{d}": float(generator.normal()) for d in range(30)} for t in qrels}
        path = tmp_path / f"{i}.run"
        path.write_text(
            "".join(
                f"{t} Q0 {d} 0 {s!r} x\n"
                for t, documents in run.items()
                for d, s in documents.items()
            )
        )
        runs[str(path)] = run
    measures = ["AP", "nDCG@5", "RR"]
    together = cal.retrieval(qrels, list(runs), measures=measures, interval="none")
    assert together.systems == tuple(str(i) for i in range(17))
    for name, run in zip(together.systems, runs.values(), strict=True):
        alone = cal.retrieval(qrels, run, measures=measures, interval="none")
        assert [together[name, m].value for m in measures] == [alone[m].value for m in measures]


@pytest.mark.slow
def test_stdin_is_one_source(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("1 0 a 1\n")
    code = "import calipers as cal, sys; print(cal.retrieval(sys.argv[1], sys.argv[2], measures=['RR'])['RR'].value)"

    def run(qrels: str, run: str, given: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, qrels, run],
            cwd=tmp_path, input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert run("q.txt", "-", "1 Q0 a 1 1 t\n").stdout == "1.0\n"
    (tmp_path / "a.run").write_text("1 Q0 a 1 1 t\n")
    assert run("-", "a.run", "1 0 a 1\n").stdout == "1.0\n"
    if Path("/dev/stdin").exists():
        assert run("q.txt", "/dev/stdin", "1 Q0 a 1 1 t\n").stdout == "1.0\n"
    assert "- (the standard input) is given more than once" in run("-", "-", "").stderr
    assert cal.InputError.__name__ in run("q.txt", "-", "").stderr


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a", b"# comment\n\n1 0 a 1\n", "qrels"),
        ("a", b"1\tQ0\ta\t1\t1\tt\n", "run"),
        ("a", b"1 Q0 a 1 1 two words\n", "run"),
        ("a", b"1 a 1\n", None),
        ("a", gzip.compress(b"1 0 a 1\n", mtime=0), "qrels"),
        ("a.tsv", b"1\t0\ta\t1\n", "qrels"),
        ("a.tsv", b"query-id\tcorpus-id\tscore\n1\ta\t1\n", None),
        ("a.csv", b"qid,docno,label\n1,a,1\n", "qrels"),
        ("a.csv", b"qid,docno,score\n1,a,1\n", None),
        ("a.csv", b"qid,docno,score\n1,a,1.5\n", "run"),
        ("a.csv", b"qid,docno,score,rank\n1,a,1,1\n", "run"),
        ("a.csv", b"qid,docno,score,label\n1,a,1.5,1\n", None),
        ("a.json", b'{"1": {"a": 1, "b": 2}}', None),
        ("a.json", b'{"1": {"a": 1, "b": 2.0}}', "run"),
        ("a.json", b'[{"topic": "1", "doc": "a", "grade": 1}]', "qrels"),
        ("a.jsonl", b'{"topic": "1", "doc": "a", "score": 1.5}\n', "run"),
    ],
)
def test_what_a_file_holds(name: str, data: bytes, kind: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    assert detect_kind(str(tmp_path / name)) == kind


IRDS = """
    import sys
    import calipers as cal

    run = {"1": {"184": 2.0, "x": 1.0}, "2": {"12": 1.0}}
    try:
        ev = cal.retrieval(sys.argv[1], run, measures=["RR", "NumRel"])
        print(ev["RR"].value, ev["NumRel"].value, ev.provenance["inputs"][0]["path"])
    except cal.InputError as error:
        print(error)
"""


@pytest.mark.slow
def test_ir_datasets_are_read_where_they_are_and_never_fetched(tmp_path: Path) -> None:
    pytest.importorskip("ir_datasets")
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"

        def run(dataset: str) -> str:
            return subprocess.run(
                [sys.executable, "-c", textwrap.dedent(IRDS), dataset],
                env={**os.environ, "IR_DATASETS_HOME": str(tmp_path)}
                | dict.fromkeys(("http_proxy", "https_proxy"), address),
                capture_output=True, text=True, check=True, timeout=60,
            ).stdout.strip()  # fmt: skip

        assert run("irds:vaswani") == (
            "irds:vaswani: the qrels are not on this machine, and Calipers downloads nothing; "
            "`ir_datasets export vaswani qrels` fetches and prints them"
        )
        assert run("irds:vaswanni") == (
            "irds:vaswanni: ir_datasets does not have 'vaswanni'; did you mean 'vaswani'?"
        )
        assert not list(tmp_path.rglob("*qrels*"))
        (tmp_path / "vaswani" / "qrels.txt").write_text("1\n184 29\n   /\n2\n12\n   /\n")
        assert run("irds:vaswani") == "1.0 3.0 irds:vaswani"
        assert run("irds:wikir/en1k") == "irds:wikir/en1k: this dataset has no qrels"
        proxy.settimeout(0.01)
        with pytest.raises(TimeoutError):  # nobody has called
            proxy.accept()


def test_a_dataset_object_is_read() -> None:
    class Dataset:
        def qrels_iter(self) -> Any:
            return iter([Qrel("1", "a", 1)])

        def scoreddocs_iter(self) -> Any:
            return iter([ScoredDoc("1", "b", 2.0), ScoredDoc("1", "a", 1.0)])

    dataset = Dataset()
    assert cal.retrieval(dataset, dataset, measures=["RR"])["RR"].value == 0.5
