"""Judgments and runs of every format through pipes: what a file of it gives, line by line."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import calipers as cal
from calipers.data.errors import InputError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 0}}
RUN = {"q1": {"a": 3.0, "x": 2.0, "c": 1.0}, "q2": {"d": 2.0, "a": 1.0}}
ROWS = [(q, d, g) for q, of in QRELS.items() for d, g in of.items()]
SCORED = [(q, d, s, k) for q, of in RUN.items() for k, (d, s) in enumerate(of.items(), 1)]
TREC_QRELS = "".join(f"{q} 0 {d} {g}\n" for q, d, g in ROWS)
TREC_RUN = "".join(f"{q} Q0 {d} {k} {s} t\n" for q, d, s, k in SCORED)


def table(names: str, rows: Any) -> pa.Table:
    return pa.table(dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True)))


def stored(write: Any, of: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    write(of, sink)
    return bytes(sink.getvalue())


JUDGED = {
    "TREC": TREC_QRELS,
    "TREC, a comment first": f"\n# by hand\n{TREC_QRELS}",
    "MS MARCO": "".join(f"{q}\t{d}\t{g}\n" for q, d, g in ROWS),
    "BEIR": "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in ROWS),
    "CSV": "qid,docid,label\n" + "".join(f"{q},{d},{g}\n" for q, d, g in ROWS),
    "levels": "".join(f"{q} 0 {d} L{g}\n" for q, d, g in ROWS),
    "JSON": json.dumps(QRELS),
    "JSON Lines": "".join(json.dumps({"qid": q, "doc": d, "rel": g}) + "\n" for q, d, g in ROWS),
    "Parquet": stored(parquet.write_table, table("topic doc grade", ROWS)),
    "Feather": stored(feather.write_feather, table("topic doc grade", ROWS)),
}
RETRIEVED = {
    "TREC": TREC_RUN,
    "MS MARCO": "".join(f"{q}\t{d}\t{k}\n" for q, d, _, k in SCORED),
    "JSON": json.dumps(RUN),
    "JSON Lines": "".join(json.dumps({"qid": q, "doc": d, "score": s}) + "\n" for q, d, s, _ in SCORED),
    "CSV": "qid,docid,score\n" + "".join(f"{q},{d},{s}\n" for q, d, s, _ in SCORED),
    "Parquet": stored(parquet.write_table, table("topic doc score rank", SCORED)),
}  # fmt: skip


@contextmanager
def piped(folder: Path, content: bytes, name: str = "pipe") -> Iterator[str]:
    """A named pipe that somebody writes to, some bytes at a time."""
    path = folder / name
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            for begin in range(0, len(content), 40_000):
                pipe.write(content[begin : begin + 40_000])

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield str(path)
    writer.join(10)
    assert not writer.is_alive()


def content(given: str | bytes) -> bytes:
    return given.encode() if isinstance(given, str) else given


def values(qrels: Any, run: Any) -> list[float]:
    ev = cal.retrieval(qrels, run, measures=["AP", "nDCG", "RR"], interval="none")
    return [e.value for e in ev]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", JUDGED)
def test_judgments(tmp_path: Path, form: str, packed: bool) -> None:
    if packed and form in ("Parquet", "Feather"):
        return
    given = content(JUDGED[form])
    with piped(tmp_path, gzip.compress(given) if packed else given) as path:
        assert values(path, RUN) == values(QRELS, RUN)


@pytest.mark.parametrize("form", RETRIEVED)
def test_runs(tmp_path: Path, form: str) -> None:
    with piped(tmp_path, content(RETRIEVED[form])) as path:
        assert values(QRELS, path) == values(QRELS, RUN)


def test_a_run_without_an_order(tmp_path: Path) -> None:
    sets = "".join(f"{q} {d}\n" for q, d, _, _ in SCORED)
    with piped(tmp_path, sets.encode()) as path:
        ev = cal.retrieval(QRELS, path, measures=["SetP"], interval="none")
    assert ev["SetP"].value == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_two_runs_from_pipes_at_once(tmp_path: Path) -> None:
    with (
        piped(tmp_path, content(RETRIEVED["MS MARCO"]), "one") as one,
        piped(tmp_path, content(TREC_RUN), "two") as two,
    ):
        ev = cal.retrieval(QRELS, {"one": one, "two": two}, measures=["AP"], interval="none")
    assert ev["one", "AP"].value == ev["two", "AP"].value


def test_long_pipes_keep_every_line(tmp_path: Path) -> None:
    """Longer than what is looked at, and in pieces that end within lines."""
    many = [(f"q{i // 50}", f"d{i % 50}", i % 3) for i in range(30_000)]
    run = {f"q{i}": {f"d{k}": float(k) for k in range(50)} for i in range(600)}
    forms = ("{0} 0 {1} {2}\n", "{0}\t{1}\t{2}\n")
    found = []
    for number, form in enumerate(forms):
        text = "".join(form.format(*row) for row in many).encode()
        with piped(tmp_path, text, f"long{number}") as path:
            ev = cal.retrieval(path, run, measures=["NumRel"], interval="none")
        found.append(ev["NumRel"].value)
        [origin] = [o for o in ev.provenance["inputs"] if o["name"] == "qrels"]
        assert (origin["path"], origin["bytes"]) == (path, len(text))
    assert found == [20_000, 20_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\ta\t1\nq1\tb\n", "{}:2: 2 fields, expected 3: topic doc grade"),
        ("q1 0 a 1\nq1 0 b x\n", '{}:2: grade "x"'),
        ("q1 0 a 1\nq1 0 b\n", "{}:2: 3 fields, expected 4"),
        ('{"qid": "q1", "doc": "a", "rel": 1}\n{"qid": "q1"', "{}:2"),
        ("", "{}: no judgments"),
        ("q1 Q0 a 1 3.0 t\n", "{}: 6 fields, expected 4"),
    ],
)
def test_errors_name_the_pipe_and_the_line(tmp_path: Path, text: str, message: str) -> None:
    with (
        piped(tmp_path, text.encode()) as path,
        pytest.raises(InputError, match=re.escape(message.format(path))),
    ):
        cal.retrieval(path, RUN)
