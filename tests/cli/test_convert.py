"""``calipers convert``: nothing is lost on the way, and nothing is half-written."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import invoke

import calipers as cal
from calipers.data import formats, trec, trec_tables

QRELS = "007 0 a 1\n007 0 b -1\n1 0 a 2\n"
RUN = "2 Q0 b 1 0.1 t\n2 Q0 a 9 3e-5 t\n007 Q0 c 1 1 t\n007 Q0 d 1 1.0 t\n"
RANKED = "2 Q0 b 1 0.1 t\n2 Q0 a 2 0.00003 t\n007 Q0 d 1 1 t\n007 Q0 c 2 1 t\n"
ENDS = (
    ".json", ".json.gz", ".json.zst", ".jsonl", ".ndjson.gz", ".csv", ".csv.zst", ".tsv", ".tsv.gz",
    ".parquet", ".parq", ".feather", ".arrow", ".txt", ".gz", ".run.zst",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    return tmp_path


def convert(*arguments: str, code: int = 0) -> Result:
    done = invoke(["convert", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit | cal.InputError):
        raise done.exception
    assert (3 if isinstance(done.exception, cal.InputError) else done.exit_code) == code, (
        done.output
    )
    return done


def message(*arguments: str) -> str:
    return str(convert(*arguments, code=3).exception)


@pytest.mark.parametrize("end", ENDS)
def test_there_and_back(end: str, folder: Path) -> None:
    convert("a.run", f"b{end}")
    kind = ["--kind", "run"] if end.startswith(".json.") or end == ".json" else []
    convert(f"b{end}", "c.run", *kind)
    # JSON has no place for the tag: the name of the file takes its place.
    tag = "b" if end.startswith(".json") and not end.endswith("l") else "t"
    assert (folder / "c.run").read_text() == RANKED.replace(" t\n", f" {tag}\n")
    convert("q", f"p{end}")
    convert(f"p{end}", "p.qrels", "--kind", "qrels")
    assert (folder / "p.qrels").read_text() == QRELS


def test_a_run_in_the_order_of_its_ranks(folder: Path) -> None:
    (folder / "r.run").write_text("1 Q0 x 2 0.9 t\n1 Q0 y 1 0.1 t\n")
    told = convert("r.run", "s.run", "--order", "rank").output
    assert "r.run: documents are ordered by rank; " in told
    assert "first at r.run:2: rank 2 has a higher score than rank 1." in told
    assert (folder / "s.run").read_text() == "1 Q0 y 1 -1 t\n1 Q0 x 2 -2 t\n"
    done = convert("q", "s.qrels", "--kind", "qrels", "--order", "rank", code=2)
    assert "--order is for runs" in done.output


def test_what_is_written_reads_as_other_tools_read_it(folder: Path) -> None:
    convert("a.run", "b.json")
    run = {"2": {"b": 0.1, "a": 3e-5}, "007": {"d": 1.0, "c": 1.0}}
    assert json.loads((folder / "b.json").read_text()) == run
    assert list(json.loads((folder / "b.json").read_text())["007"]) == ["d", "c"]
    convert("a.run", "b.csv")
    assert (folder / "b.csv").read_text().splitlines()[:2] == [
        '"topic","doc","rank","score","tag"', '"2","b",1,0.1,"t"',
    ]  # fmt: skip
    convert("a.run", "b.jsonl")
    assert json.loads((folder / "b.jsonl").read_text().splitlines()[3]) == {
        "topic": "007", "doc": "c", "rank": 2, "score": 1.0, "tag": "t",
    }  # fmt: skip
    import pandas as pd

    convert("a.run", "b.parquet")
    frame = pd.read_parquet(folder / "b.parquet")
    assert frame.to_dict("list") == {
        "topic": ["2", "2", "007", "007"], "doc": ["b", "a", "d", "c"], "rank": [1, 2, 1, 2],
        "score": [0.1, 3e-5, 1.0, 1.0], "tag": ["t"] * 4,
    }  # fmt: skip


def test_what_has_no_place_is_told(folder: Path) -> None:
    assert convert("a.run", "b.json").stderr == "b.json: cannot store the tag, which is omitted\n"
    assert convert("a.run", "b.csv").stderr == ""
    (folder / "q").write_text("1 run7 a 1\n")
    assert "cannot store the iteration" in convert("q", "q.json").stderr
    convert("q", "q.parquet")
    convert("q.parquet", "q2")
    assert (folder / "q2").read_text() == "1 run7 a 1\n"


def test_a_tag_is_given(folder: Path) -> None:
    convert("a.run", "b.run", "--tag", "bm25")
    assert (folder / "b.run").read_text() == RANKED.replace(" t\n", " bm25\n")
    convert("a.run", "b.csv", "--tag", "bm25")
    assert '"bm25"' in (folder / "b.csv").read_text()
    assert "TREC text has no place for the tag 'b m'" in message("a.run", "c.run", "--tag", "b m")
    assert "--tag is for runs" in convert("q", "q.csv", "--tag", "x", code=2).stderr


def test_nothing_is_written_over_unless_forced(folder: Path) -> None:
    (folder / "b.run").write_text("kept")
    assert "b.run exists; --force overwrites it" in convert("a.run", "b.run", code=2).stderr
    assert (folder / "b.run").read_text() == "kept"
    convert("a.run", "b.run", "--force")
    assert (folder / "b.run").read_text() == RANKED
    before = (folder / "a.run").read_text()
    told = convert("a.run", "a.run", "--force", code=2).stderr
    assert "OUT a.run and IN a.run are the same file: the input would be overwritten" in told
    assert (folder / "a.run").read_text() == before


def test_a_failure_leaves_everything_as_it_was(folder: Path) -> None:
    (folder / "c.csv").write_text('topic,doc,score\n1,a,1.5\n1,"b c",2\n')
    (folder / "out").write_text("kept")
    before = sorted(folder.iterdir())
    told = message("c.csv", "out", "--force")
    assert told == (
        "out: TREC text has no place for the doc 'b c': its fields are not empty, have no blanks, "
        "and do not begin a line with #"
    )
    assert sorted(folder.iterdir()) == before
    assert (folder / "out").read_text() == "kept"


BAD = {
    "of either kind": ({"x.json": '{"1": {"a": 1}}'}, "x.json y", "x.json: may contain judgments or a run; give --kind qrels or --kind run"),
    "neither": ({"x": "1 a 1\n"}, "x y", "x: may contain judgments or a run; give --kind qrels or --kind run"),
    "missing": ({}, "nope y", "nope: no such file"),
    "a folder": ({}, ". y", ".: is a directory, expected judgments or a run"),
    "twice": ({"x": "1 Q0 a 1 2 t\n\n1 Q0 b 1 2 t\n1 Q0 a 1 2 t\n"}, "x y", "x:4: document a retrieved twice for topic 1 (first at line 1)"),
    "twice in a table": ({"x.csv": "topic,doc,grade\n1,a,1\n1,a,1\n"}, "x.csv y", "x.csv: row 1: document a judged twice for topic 1 (first at row 0) (rows count from 0, without the header)"),
    "no number": ({"x": "1 Q0 a 1 x t\n"}, "x y", 'x:1: score "x" is not a number'),
    "the other kind": ({"x": "1 Q0 a 1 2 t\n"}, "x y --kind qrels", "x: 6 fields, expected 4: topic iteration document grade; these look like a run: are the two swapped?"),
    "compressed twice": ({}, "a.run y.parquet.gz", "y.parquet.gz: .parquet is compressed inside; leave out .gz"),
    "bzip2": ({}, "a.run y.bz2", "y.bz2: cannot be written; expected the compression .gz or .zst"),
    "no UTF-8": ({"x": b"1 Q0 \xe9 1 1 t\n"}, "x y.csv", "y.csv: column 'doc' is not UTF-8, which this format needs; TREC text, Parquet and Feather do not"),
    "a comment": ({"x.csv": "topic,doc,score\n#1,a,1.5\n"}, "x.csv y", "y: TREC text has no place for the topic '#1': its fields are not empty, have no blanks, and do not begin a line with #"),
    "an empty id": ({"x.json": '{"": {"a": 1.5}}'}, "x.json y", "y: TREC text has no place for the topic '': its fields are not empty, have no blanks, and do not begin a line with #"),
    "an empty id in CSV": ({"x.json": '{"": {"a": 1.5}}'}, "x.json y.csv", "y.csv: a topic is empty, which CSV cannot distinguish from missing"),
    "NaN": ({"x.json": '{"1": {"a": NaN, "b": 1.5}}'}, "x.json y", "x.json: row 0: score is NaN (rows count from 0, without the header)"),
    "infinite in JSON": ({"x": "1 Q0 a 1 -inf r\n"}, "x y.json", "y.json: JSON has no infinite scores; TREC text, CSV, Parquet and Feather have"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str, folder: Path) -> None:
    files, arguments, told = BAD[case]
    for name, data in files.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    before = sorted(folder.iterdir())
    assert message(*arguments.split()) == told
    assert sorted(folder.iterdir()) == before


def test_stdin_and_stdout(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "calipers", "convert", "-", "-", "--kind", "run"],
        input=RUN.encode(), capture_output=True, cwd=folder, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == RANKED
    assert "give --kind" in message("-", "x.csv")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
        assert "give --kind" in message("pipe", "x.csv")  # and nothing has been read from it


def test_bytes_that_are_no_text_survive_where_they_can(folder: Path) -> None:
    (folder / "x").write_bytes(b"1 Q0 \xe9 1 1 t\n1 Q0 \xff\xfe 2 0.5 t\n")
    for end in (".parquet", ".feather"):
        convert("x", f"y{end}")
        convert(f"y{end}", "z", "--force")
        assert (folder / "z").read_bytes() == (folder / "x").read_bytes()


ID = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\v\f\r\0"),
    min_size=1,
    max_size=6,
)
#: In JSON and tables blanks, too, may be part of an id.
FREE_ID = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
)
TOPIC = ID.filter(lambda text: text[0] not in "#\ufeff")
SCORE = st.floats(allow_nan=False, allow_infinity=False)
GRADE = st.integers(-(2**31), 2**31 - 1)


def written(nested: dict[str, dict[str, Any]], kind: Any, path: Path) -> None:
    rows, _ = trec.read_rows("input", nested, kind)
    with path.open("wb") as stream:
        formats.write_rows(rows, kind, str(path), stream)


def nested(path: Path, kind: Any) -> dict[str, dict[str, Any]]:
    rows, _ = trec.read_rows("input", path, kind)
    out: dict[str, dict[str, Any]] = {}
    columns = (
        rows[name].to_pylist() for name in ("topic", "doc", trec_tables.VALUE_COLUMNS[kind][0])
    )
    for topic, doc, value in zip(*columns, strict=True):
        out.setdefault(topic.decode(), {})[doc.decode()] = value
    return out


TREC_ENDS = [end for end in ENDS if end in {".txt", ".gz", ".run.zst"}]


@pytest.mark.slow
@pytest.mark.parametrize("is_trec", [True, False])
@settings(max_examples=15)
@given(data=st.data())
def test_random_runs_and_judgments_come_back_exactly(
    is_trec: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    topic, doc = (TOPIC, ID) if is_trec else (FREE_ID, FREE_ID)
    run = data.draw(st.dictionaries(topic, st.dictionaries(doc, SCORE, min_size=1), min_size=1))
    qrels = data.draw(st.dictionaries(topic, st.dictionaries(doc, GRADE, min_size=1), min_size=1))
    for end in TREC_ENDS if is_trec else [end for end in ENDS if end not in TREC_ENDS]:
        path = tmp_path_factory.mktemp("random") / f"x{end}"
        written(run, "run", path)
        back = nested(path, "run")
        assert back == run, end
        assert list(back) == list(run), end
        for t, documents in back.items():
            ranked = sorted(run[t], key=lambda d: (run[t][d], d.encode()), reverse=True)
            assert list(documents) == ranked, end
        written(qrels, "qrels", path)
        assert nested(path, "qrels") == qrels, end


def test_every_format_evaluates_to_the_same_numbers(folder: Path) -> None:
    source = random.Random(11)
    topics = [f"{t:03d}" for t in range(12)]
    qrels = {
        t: {f"d{source.randrange(99)}": source.randrange(4) for _ in range(30)} for t in topics
    }
    run = {t: {f"d{d}": round(source.gauss(0, 1), 1) for d in range(60)} for t in topics}
    written(qrels, "qrels", folder / "q.txt")
    written(run, "run", folder / "r.txt")
    wanted = cal.retrieval(qrels, run, interval="none").per_unit
    assert wanted is not None
    for end in ENDS:
        convert("q.txt", f"same{end}")
        convert("r.txt", f"run{end}")
        got = cal.retrieval(folder / f"same{end}", {"run": folder / f"run{end}"}, interval="none")
        assert got.per_unit is not None
        assert str(got.per_unit.to_columns()) == str(wanted.to_columns()), end


def test_large_files_are_written_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_BATCH_ROWS", 3)
    for end in ENDS:
        convert("a.run", f"b{end}")
        rows, _ = trec.read_rows("b", folder / f"b{end}", "run")
        assert rows["doc"].to_pylist() == [b"b", b"a", b"d", b"c"]
    table = pa.table({"topic": ["1"] * 7, "doc": list("gfedcba"), "score": [1.0] * 7})
    rows, _ = trec.read_rows("run", table, "run")
    with (folder / "x").open("wb") as stream:
        formats.write_rows(rows, "run", "x", stream, tag="t")
    assert [line.split()[2:4] for line in (folder / "x").read_text().splitlines()] == [
        [doc, str(rank)] for rank, doc in enumerate("gfedcba", 1)
    ]
