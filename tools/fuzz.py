"""Gives damaged files and requests to every reader, and says which are not refused as documented.

    python tools/fuzz.py --minutes 10 --seed 3
    python tools/fuzz.py --cases 200 --only csv --only campaign

A case is a small valid file with some changes: bytes of any kind, and fields, lines, values of
JSON, columns of tables and cells of databases, so that changes reach what comes after the parser.
What gave a new message is changed again. Each case is a command in a process of its own, forked
from this one, and has to end with a documented exit code and a message, without a traceback or a
warning, within ``SECONDS`` of the processor and ``MEMORY`` bytes plus ``TIMES`` the size of the
file (decompressed, if it is text in gzip or zstd). Results that it writes have to be readable.

Cases depend on the seed alone. Of each failure the first case is made smaller and kept in
``--keep``; once it is mended, it belongs to tests/fuzzing/corpus, in the folder of its kind. The
command lines that a file is given to are those of its name up to the first ``-`` or ``.``.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

# Arrow's own allocator reserves gigabytes of addresses, which the limit of a case would count.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "fuzzing" / "corpus"
#: What a case may take of the processor, and of time at all.
SECONDS, PATIENCE = 20, 120
#: What a case may take of memory: so much, and so many times its size. More than ``GRANTED`` is not
#: granted at all.
MEMORY, TIMES, GRANTED = 96 << 20, 100, 4 << 30
#: Damaged inputs are no unmet requirement (1), no internal error (70) and no lack of memory (71).
OUTCOMES = {0, 2, 3}
#: Exit codes of the child where something else than the command failed.
ESCAPED, UNREADABLE = 98, 97

ROWS = 24
TOPICS, DOCUMENTS = ("q1", "q2", "q3"), tuple("abcdef")


# --- Valid files ----------------------------------------------------------------------------------


def table(**columns: Sequence[Any]) -> dict[str, list[Any]]:
    """Columns of a table, each repeated to the number of rows."""
    return {
        name: [values[i % len(values)] for i in range(ROWS)] for name, values in columns.items()
    }


def tables() -> dict[str, dict[str, list[Any]]]:
    """A table for each command that reads one, by the stem of its files."""
    shares = [0.9, 0.2, 0.45, 0.6, 0.05, 0.7, 0.35]
    classes = ["cat", "dog", "emu", "dog", "cat"]
    return {
        "binary": table(
            y=[1, 0, 1, 1, 0, 0, 1, 0], s=shares, t=shares[::-1], w=[1.0, 2.0, 0.5],
            g=list("nnsse"),
            c=[1, 1, 2, 2, 3], day=["2024-01-05", "2024-02-06", "2024-03-07"], n=[1, 2, 3],
            id=range(ROWS),
        ),
        "classes": table(y=classes, p=classes[1:], q=classes[:3], g=list("ab"), id=range(ROWS)),
        "matrix": {"predicted": list("ab"), "a": [5, 2], "b": [1, 7]},
        "multilabel": table(y=["a|b", "a", "", "b|c"], p=["a", "a|b", "c"], g=list("xy")),
        "regression": table(
            y=[1.5, -2.0, 3.25, 0.0, 7.5], p=[1.0, 2.0, 3.0], q10=[0.0, -3.0], q90=[4.0, 8.0],
            w=[1, 2, 3], c=list("uvwxyz"),
        ),
        "clustering": table(k=[0, 1, 2, 1], y=classes, x1=shares, x2=[1, 5, 2, 8]),
        "ranking": table(g=sorted(list("uvwx") * 6), y=[0, 1, 2, 0, 3], s=shares, t=shares[::-1]),
        "survival": table(
            time=[5, 8.5, 12, 3, 20], event=[1, 0, 1, 1], r=shares, s6=shares, s12=shares[::-1],
        ),
        "agreement": table(item=range(ROWS), ann=[1, 2, 3, 2], ben=[1, 2, 2, 3, 1], eve=[3, 1, 2]),
        "ratings": table(item=sorted(list(range(8)) * 3), who=list("abc"), label=[1, 2, 2, 3, 1]),
        "scores": table(id=range(ROWS), a=[1, 0, 1, 1], b=shares, c=list("mno")),
        "judge": table(a=[1, 0, 1, 1], b=[0, 1, 1], h=[1, 0, 1, 0, 1], k=[1, 0, 0, 1, 1]),
        "uplift": table(z=[1, 0], y=[1, 0, 0, 1, 1, 0, 1], s=shares, e=[0.5, 0.4]),
        "pairs": table(
            model_a=list("mno"), model_b=list("nom"),
            winner=["model_a", "model_b", "tie", "model_b"], user=list("abcd"),
        ),
        "monitor": table(score=[1, 0, 1, 1, 1], user=range(ROWS)),
        "interleaving": table(
            impression=sorted(list(range(8)) * 3), team=list("AB"), clicked=[1, 0, 0, 1],
        ),
        "curve": {
            "precision": [1.0, 0.8, 0.6, 0.5], "recall": [0.1, 0.4, 0.7, 1.0],
        },
        "review": table(
            doc=range(ROWS), relevant=[1, 0, 1], sampled=[1, 0, 0, 1], rank=range(1, ROWS + 1),
        ),
        "split": table(y=[1, 0, 1], x=shares, text=["a b c", "d e", "f"], set=["train", "test"]),
        "points": table(topic=list("abc"), year=[2001, 2002, 2003], kind=list("xyz")),
        "qrels": {
            "topic": [t for t in TOPICS for _ in DOCUMENTS],
            "doc": [d for _ in TOPICS for d in DOCUMENTS],
            "grade": [i * 7 % 3 for i in range(18)],
        },
        "run": {
            "topic": [t for t in TOPICS for _ in DOCUMENTS],
            "doc": [d for _ in TOPICS for d in DOCUMENTS],
            "score": [float(i * 5 % 11) for i in range(18)],
        },
        "attributes": {"topic": [*TOPICS], "kind": list("xyx"), "ms": [1.5, 2.0, 9.0]},
        "decided": {"topic": ["1"], "document": ["d1"], "grade": [1]},
        "grades": {
            "topic": ["1", "1", "2"], "document": ["d1", "d2", "d1"], "grade": [1, 0, 0],
            "assessor": ["ada", "bob", "ada"], "time": ["2024-01-05T10:00:00"] * 3,
        },
        "drawn": {
            "topic": list("11112222"), "document": [f"d{i % 4}" for i in range(8)],
            "sampled": [1, 0, 1, 1] * 2, "stratum": [10, 10, 20, 20] * 2,
        },
        "preferences": {
            "topic": ["1", "1"], "document": ["d1", "d2"], "other_document": ["d2", "d3"],
            "grade": [1, 0],
        },
        "topics": {"id": ["7", "8"], "title": ["first one", "second"], "author": ["p", ""]},
        "documents": {"_id": ["d0", "d3"], "text": ["some words", "other <b>words</b>"]},
    }  # fmt: skip


def as_csv(columns: Mapping[str, Sequence[Any]], separator: str = ",") -> bytes:
    """Text with a header."""
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def as_json_lines(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """An object in each line."""
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows).encode()


def as_arrow(columns: Any, form: str) -> bytes:
    """Parquet or Feather."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    content = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    sink = io.BytesIO()
    if form == "parquet":
        pyarrow.parquet.write_table(content, sink, row_group_size=16)
    else:
        pyarrow.feather.write_feather(content, sink)
    return sink.getvalue()


def of_form(form: str) -> dict[str, bytes]:
    """All tables in a format of files."""
    made: dict[str, Callable[[Any], bytes]] = {
        "csv": as_csv,
        "tsv": partial(as_csv, separator="\t"),
        "jsonl": as_json_lines,
        "parquet": partial(as_arrow, form="parquet"),
        "feather": partial(as_arrow, form="feather"),
    }
    return {f"{stem}.{form}": made[form](columns) for stem, columns in tables().items()}


def trec() -> dict[str, bytes]:
    """Judgments and runs in text, and in JSON."""
    cells = [(t, d, i) for i, (t, d) in enumerate((t, d) for t in TOPICS for d in DOCUMENTS)]

    def lines(row: Callable[[str, str, int], str]) -> bytes:
        return "".join(row(*cell) + "\n" for cell in cells).encode()

    qrels = lines(lambda t, d, i: f"{t} 0 {d} {i * 7 % 3}")
    run = lines(lambda t, d, i: f"{t} Q0 {d} {i % 6 + 1} {6 - i % 6 + i / 100} tag")
    nested = {t: {d: i * 7 % 3 for u, d, i in cells if t == u} for t in TOPICS}
    return {
        "qrels.txt": qrels,
        "qrels.txt.gz": gzip.compress(qrels),
        "qrels.txt.zst": zstd(qrels),
        "qrels.json": json.dumps(nested).encode(),
        "qrels-marco.tsv": lines(lambda t, d, i: f"{t}\t{d}\t{i % 2}"),
        "qrels-header.txt": b"topic doc grade\n" + lines(lambda t, d, i: f"{t} {d} {i % 2}"),
        "run.txt": run,
        "run.txt.gz": gzip.compress(run),
        "run.txt.zst": zstd(run),
        "run.json": json.dumps(
            {t: {d: g / 7 for d, g in v.items()} for t, v in nested.items()}
        ).encode(),
        "run-marco.tsv": lines(lambda t, d, i: f"{t}\t{d}\t{i % 6 + 1}"),
        "run-set.txt": lines(lambda t, d, i: f"{t} {d}"),
        "subtopics.txt": lines(lambda t, d, i: f"{t} {i % 3} {d} {i * 7 % 3 - 1}"),
        "prefs.txt": lines(lambda t, d, i: f"{t} 0 {i % 2} {d} {i * 7 % 3}"),
        "judges.txt": lines(lambda t, d, i: f"{t} 0 {d} {i * 7 % 3}"),
        "sampled.txt": lines(lambda t, d, i: f"{t} 0 {d} {i % 2} {i * 7 % 4 - 1}"),
        "zscores.txt": b"map 1 0.5 0.1\nmap 2 0.2 0.3\nmap q3 0.2 0.3\n",
        "inex.txt": lines(lambda t, d, i: f"{t} Q0 {d} {20 + i} 900 5 5:{20 + i}"),
        "passages.txt": lines(
            lambda t, d, i: f"{t} Q0 {d} {i % 6 + 1} {60 - i} tag {i * 3} {9 + i}"
        ),
        "costs.txt": b"q1 1.5\nq2 2\nq3 4e0\n",
    }


def zstd(content: bytes) -> bytes:
    """One frame."""
    import pyarrow as pa

    return bytes(pa.compress(content, codec="zstd", asbytes=True))


TOPIC = """<?xml version="1.0"?>
<!DOCTYPE INEX-Topic SYSTEM "topic.dtd">
<INEX-Topic topic-id="45" query-type="CO" ct-no="056">
  <Title><cw>augmented reality</cw></Title>
  <Description>How &amp; why &#233;</Description>
  <Narrative>In <![CDATA[order]]> to be</Narrative>
</INEX-Topic>
"""
TREC_TOPIC = """<top>
<num> Number: 301
<title> Organized Crime
<desc> Description:
Identify AT&amp;T, where a < b.
<narr> Narrative:
A relevant document.
</top>
"""
TREC_XML = """<topics><topic number="1" type="single"><query>ants</query>
<subtopic number="1" type="nav">of all kinds</subtopic></topic></topics>
"""
CHECKS = """[check.binary]
command = "classification"
table = "good.csv"
truth = "y"
score = ["s", "t"]
positive = "1"
n_resamples = 100
seed = 7
measure = ["AUC", "AP"]
require = ["AUC >= 0.1"]

[check.runs]
command = "retrieval"
qrels = "good.qrels"
runs = ["good.run"]
measure = "AP"
interval = "none"
judgment-bounds = true
"""


def topics() -> dict[str, bytes]:
    """What campaigns read of topics and documents."""
    return {
        "topics.xml": TOPIC.encode(),
        "topics.txt": TREC_TOPIC.encode(),
        "topics-web.xml": TREC_XML.encode(),
        "topics.tsv": b"7\tfirst one\n8\tsecond\n",
        "topics.xml.gz": gzip.compress(TOPIC.encode()),
        "documents.xml": b"<article id='d1'><title>T</title><p>x &amp; y</p></article>",
        "documents.html": b"<!doctype html><title>T</title><script>1</script><p onclick=x>y",
        "documents.jsonl.gz": gzip.compress(of_form("jsonl")["documents.jsonl"]),
    }


def logs() -> dict[str, bytes]:
    """Logs of tools that evaluate language models."""
    import zipfile

    sample = {
        "id": 1, "epoch": 1, "input": "x", "target": "y", "model": "m",
        "scores": {"match": {"value": "C", "answer": "y"}},
    }  # fmt: skip
    head = {"version": 2, "status": "success", "eval": {"model": "m", "task": "t", "run_id": "r"}}
    samples = [{**sample, "id": i, "scores": {"match": {"value": "CI"[i % 2]}}} for i in range(6)]
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(head))
        for each in samples:
            archive.writestr(f"samples/{each['id']}_epoch_1.json", json.dumps(each))
    harness = [
        {
            "doc_id": i,
            "target": "y",
            "filter": "none",
            "resps": [["y"]],
            "acc": float(i % 2),
            "doc": {"q": "x"},
        }
        for i in range(6)
    ]
    promptfoo = {
        "results": {
            "version": 3,
            "results": [
                {"success": i % 2 == 0, "score": i % 2, "provider": {"id": "m"}, "testIdx": i,
                 "promptIdx": 0, "namedScores": {"a": 0.5}, "vars": {}} for i in range(6)
            ],
        }
    }  # fmt: skip
    return {
        "log.json": json.dumps({**head, "samples": samples}).encode(),
        "log.eval": sink.getvalue(),
        "samples_x.jsonl": "".join(json.dumps(row) + "\n" for row in harness).encode(),
        "log-promptfoo.json": json.dumps(promptfoo).encode(),
    }


def outputs(*lines: str) -> dict[str, bytes]:
    """What commands write, by the last word of each line."""
    found = {}
    for line in lines:
        ended = run_line(line)
        path = Path(line.split()[-1])
        if ended.code or not path.exists():
            raise RuntimeError(f"{line}: {ended}")
        found[path.name] = path.read_bytes()
        path.unlink()
    return found


def results() -> dict[str, bytes]:
    """Results in JSON, of commands whose results differ in kind."""
    few = "--n-resamples 100"
    return outputs(
        f"classification good.csv --truth y --score s --score t --id id -m AUC --slice g {few} "
        "--keep-predictions -o result.json",
        f"compare retrieval good.qrels good.run bad=worse.run -m AP {few} -o result-compared.json",
        f"regression regression.csv --truth y --predicted p -m MAE {few} -o result-errors.json",
        "plan recall --value 0.9 --half-width 0.03 --prevalence 0.1 -o result-plan.json",
        "pairs pairs.csv -o result-pairs.json",
    )


def states() -> dict[str, bytes]:
    """Saved states."""
    return outputs(
        "classification good.csv --truth y --score s --score t -m AUC -m recall --threshold 0.5 "
        "--save-state state.state",
        "regression regression.csv --truth y --predicted p --cluster c --save-state state-r.state",
        "multilabel multilabel.csv --truth y --predicted p --separator | "
        "--save-state state-m.state",
        "agreement agreement.csv --raters ann,ben,eve --save-state state-a.state",
    )


def pages() -> dict[str, bytes]:
    """A report, which has its results in it."""
    return outputs(
        "classification classes.csv --truth y --predicted p -m accuracy --interval none "
        "--report page.html"
    )


def campaigns() -> dict[str, bytes]:
    """A campaign file with something in each table."""
    from calipers.campaign import storage

    pragmas = storage.PRAGMAS
    storage.PRAGMAS = {**pragmas, "synchronous": 0}  # nothing waits for the disk
    try:
        return {"collection.campaign": campaign_file().read_bytes()}
    finally:
        storage.PRAGMAS = pragmas


def campaign_file() -> Path:
    """Two topics, three assessors, runs, a pool, documents and judgments."""
    import calipers as cal
    from calipers.campaign.records import Assessor, Document, Event, Topic

    path = Path("out.campaign")
    path.unlink(missing_ok=True)
    with cal.Campaign.create(path, name="a") as campaign:
        with campaign.write() as connection:
            campaign.add_topics([Topic("1", "first", author="p"), Topic("2", "second")])
            for name in ("ada", "bob"):
                campaign.add_assessor(Assessor(name))
            campaign.add_assessor(Assessor("eve", role="adjudicator"))
            connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
            connection.executemany(
                "INSERT INTO pooled(topic, document, pool, position) VALUES (?, ?, 1, ?)",
                [(topic, f"d{i}", i) for topic in "12" for i in range(4)],
            )
        for name, step in (("r", 1), ("s", 3)):
            scores = {t: {f"d{i}": float(i * step % 5) for i in range(4)} for t in "12"}
            campaign.add_run(name, scores, "p")
        campaign.add_documents([Document("d1", b"some words"), Document("d2", b"<a>b</a>")])
        for number, (who, topic, document) in enumerate(
            (who, topic, f"d{i}") for who in ("ada", "bob") for topic in "12" for i in range(3)
        ):
            campaign.record(
                Event(
                    id=f"e{number}", kind="grade", assessor=who, topic=topic, document=document,
                    grade=number % 2,
                )
            )  # fmt: skip
    return path


def requests() -> dict[str, bytes]:
    """Requests to the judging page: ``KEY`` becomes the key of a document to judge."""
    event = {
        "id": "00000000-0000-4000-8000-000000000001",
        "task": "KEY",
        "kind": "grade",
        "grade": 1,
    }
    asked: list[tuple[str, str, Any]] = [
        ("POST", "events", event),
        ("POST", "events", {**event, "note": "why", "seconds": 2.5, "replaces": None}),
        ("POST", "events", {**event, "kind": "reject", "reason": "unreadable"}),
        ("POST", "events", [event]),
        ("POST", "enter", {"token": "x" * 43}),
        ("GET", "tasks?keys=KEY", None),
        ("GET", "list?topic=1&offset=0", None),
        ("GET", "session", None),
        ("GET", "queue", None),
        ("GET", "image/KEY/0", None),
    ]
    headers = {
        "host": "127.0.0.1:8321", "cookie": "TOKEN", "origin": "http://127.0.0.1:8321",
        "content-type": "application/json",
    }  # fmt: skip
    return {
        f"request-{number}.json": json.dumps(
            {"method": method, "path": f"/a/ada/api/{path}", "headers": headers, "body": body}
        ).encode()
        for number, (method, path, body) in enumerate(asked)
    }


# --- What is done with them -----------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Files, and what they are given to: lines by the stem of a file, with IN for its name."""

    files: Callable[[], dict[str, bytes]]
    lines: Mapping[str, tuple[str, ...]]


FEW = "--n-resamples 100"
RESULT = f"{FEW} -o out.json"
BINARY = "classification IN --truth y --positive 1"
TABLE_LINES = {
    "binary": (
        f"{BINARY} --score s --score t -m AUC --slice g {RESULT}",
        f"{BINARY} --probability s -m log-loss --weight w --cluster c {FEW}",
        f"{BINARY} --score s --count n --time day --missing drop --interval none",
        f"{BINARY} --score s --slice day --slice-bins day=month -m recall {FEW}",
        "classification good.csv --truth y --positive 1 --score s --system x=IN --id id",
    ),
    "classes": (
        f"classification IN --truth y --predicted p --predicted q --slice g {RESULT}",
        f"classification IN --truth y --predicted p --id id --missing drop -m macro-F1 {FEW}",
    ),
    "matrix": ("classification IN --rows predicted --positive a -o out.json",),
    "multilabel": (
        f"multilabel IN --truth y --predicted p --separator | --slice g {RESULT}",
    ),
    "regression": (
        f"regression IN --truth y --predicted p --weight w --cluster c {RESULT}",
        f"regression IN --truth y --quantiles g=0.1:q10,0.9:q90 {FEW} --missing drop",
    ),
    "clustering": (f"clustering IN --labels k --truth y --features x1 --features x2 {RESULT}",),
    "ranking": (
        f"ranking IN --group g --truth y --score s --score t -m NDCG@3 -m AP {RESULT}",
    ),
    "survival": (
        f"survival IN --time time --event event --risk r {RESULT}",
        f"survival IN --time time --event event --survival m=6:s6,12:s12 {FEW}",
    ),
    "agreement": (
        f"agreement IN --raters ann,ben,eve --scale ordinal --by-rater {FEW}",
        f"agreement IN --raters ann,ben,eve --scale ratio {FEW}",
    ),
    "ratings": (f"agreement IN --item item --rater who --rating label {RESULT}",),
    "scores": (f"scores IN --score a --score b --baseline a --cluster c {RESULT}",),
    "judge": (f"judge IN --score a --score b --human a=h --human b=k {RESULT}",),
    "uplift": (f"uplift IN --treatment z --outcome y --score s {RESULT}",
               f"uplift IN --treatment z --outcome y --score s --propensity e {FEW}"),
    "pairs": ("pairs IN --cluster user -o out.json", "pairs IN"),
    "monitor": ("monitor IN --score score --target 0.5 -o out.json",
        "monitor IN --score score --cluster user"),
    "interleaving": ("interleaving IN --impression impression --clicks clicked -o out.json",),
    "curve": ("precision-recall IN -o out.json",),
    "review": ("review IN --collection-size 100 --rule all -o out.json",),
    "split": ("learn check-split IN --truth y --split set -o out.json",),
    "points": ("learn check-split IN --truth year --test 0.2",),
    "qrels": (
        f"retrieval IN good.run worse.run -m AP -m nDCG@3 {RESULT}",
        "convert IN out.txt --kind qrels",
    ),
    "run": (
        f"retrieval good.qrels IN good.run -m AP -m RBP {RESULT}",
        "convert IN out.parquet --kind run",
        "overlap IN good.run",
    ),
    "attributes": (
        f"retrieval good.qrels good.run --topic-table IN --slice kind --cost ms=ms -m AP {RESULT}",
        f"retrieval good.qrels good.run --cost ms=good:IN -m AP {FEW}",
    ),
    "decided": ("campaign adjudicate collection.campaign --decide IN --by eve",),
    "grades": ("campaign import collection.campaign IN", ),
    "drawn": ("campaign sample collection.campaign --from IN --replace",),
    "preferences": ("campaign import collection.campaign IN --assessor ada",),
    "topics": ("campaign topics collection.campaign IN",),
    "documents": ("campaign documents collection.campaign IN --id _id",),
}  # fmt: skip
TREC_LINES = {
    "qrels": (
        f"retrieval IN good.run worse.run -m AP -m nDCG@3 -m bpref {RESULT}",
        "retrieval IN good.run -m AP --per-topic --interval none --judgment-bounds",
        "convert IN out.parquet --kind qrels",
        "trec_eval -m all_trec -q IN good.run",
        "campaign import collection.campaign IN --assessor ada --only-known",
    ),
    "run": (
        f"retrieval good.qrels IN good.run -m AP -m RBP {RESULT}",
        "retrieval good.qrels IN --order rank -m P@2 --interval none",
        "convert IN out.json --kind run",
        "overlap IN good.run",
        "trec_eval -m all_trec -q good.qrels IN",
        "campaign runs collection.campaign IN --participant p",
    ),
    "subtopics": (
        f"retrieval IN good.run -m alpha-nDCG@3 -m P-IA@2 {FEW}",
        "trec_eval -R qrels_jg IN good.run",
    ),
    "prefs": ("trec_eval -R prefs -m all_prefs -q IN good.run",),
    "judges": ("trec_eval -R qrels_jg -m qrels_jg -q IN good.run",),
    "sampled": ("retrieval IN good.run -m infAP -m xinfAP --interval none",
                "trec_eval -R qrels_prefs -m all_prefs IN good.run"),
    "zscores": ("trec_eval -Z IN -m map -q good.qrels good.run",),
    "inex": (f"passages IN passages.txt {RESULT}",),
    "passages": (f"passages inex.txt IN {FEW}",),
    "costs": (f"retrieval good.qrels good.run --cost ms=good:IN -m AP {FEW}",),
}  # fmt: skip

KINDS = {
    "trec": Kind(trec, TREC_LINES),
    "csv": Kind(lambda: {**of_form("csv"), **of_form("tsv")}, TABLE_LINES),
    "jsonl": Kind(partial(of_form, "jsonl"), TABLE_LINES),
    "parquet": Kind(partial(of_form, "parquet"), TABLE_LINES),
    "feather": Kind(partial(of_form, "feather"), TABLE_LINES),
    "topics": Kind(
        topics,
        {
            "topics": (
                "campaign topics collection.campaign IN",
                "campaign topics collection.campaign IN --author x",
            ),
            "documents": ("campaign documents collection.campaign IN",),
        },
    ),
    "logs": Kind(
        logs,
        {
            "log": (f"scores IN {FEW} -o out.json", f"scores old=IN new=IN --baseline old {FEW}"),
            "samples_x": (f"scores IN --score acc {FEW} -o out.json",),
        },
    ),
    "results": Kind(
        results,
        {
            "result": (
                "show IN",
                "show IN -o out.json",
                "show IN --format csv",
                "show IN --format html",
                "diff IN result.json",
                f"classification good.csv --truth y --score s --id id --baseline IN:s {FEW}",
            )
        },
    ),
    "pages": Kind(pages, {"page": ("show IN", "show IN -o out.json")}),
    "states": Kind(
        states,
        {
            "state": (
                "merge IN -o out.json",
                "merge IN state.state",
                "merge IN --save-state out.state",
            )
        },
    ),
    "checks": Kind(lambda: {"checks.toml": CHECKS.encode()}, {"checks": ("check --config IN",)}),
    "campaign": Kind(
        campaigns,
        {
            "collection": (
                "campaign status IN",
                "campaign log IN",
                "campaign agreement IN --by-assessor",
                "campaign check IN",
                "campaign export IN --qrels out.qrels --topics out.xml --runs out",
                "campaign export IN --tables out",
                "campaign backup IN out.campaign",
                "campaign report IN out.html",
                "campaign assign IN --overlap 2",
                "campaign pool IN --depth 3",
            )
        },
    ),
    "requests": Kind(requests, {"request": ("request IN",)}),
}


# --- Cases ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a case ended."""

    code: int
    message: str
    seconds: float
    memory: int


def run_line(line: str, name: str = "") -> Ended:
    """What a command does in a process of its own, in this folder."""
    words = [name if word == "IN" else word.replace("IN", name) for word in line.split()]
    before = memory()
    started = time.monotonic()
    child = os.fork()
    if not child:
        enter(words)
    _, status, used = os.wait4(child, 0)
    message = Path("stderr").read_text("utf-8", "replace")
    code = os.waitstatus_to_exitcode(status)
    taken = used.ru_utime + used.ru_stime
    if code == -signal.SIGALRM:
        taken = time.monotonic() - started
    return Ended(code, message, taken, max(used.ru_maxrss * 1024 - before, 0))


def memory() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def enter(words: list[str]) -> None:
    """The child: never returns."""
    code = ESCAPED
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (GRANTED, GRANTED))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 1, SECONDS + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGALRM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(os.open("stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, mode in enumerate("rww")
        )
        warnings.resetwarnings()
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            code = answer(words[1]) if words[0] == "request" else command(words)
            if code == 0 and Path("out.json").exists() and words[0] not in {"convert", "learn"}:
                code = read_back()
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def command(words: list[str]) -> int:
    """The exit code of the command."""
    from calipers.cli import main

    sys.argv = ["calipers", *words]
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def read_back() -> int:
    """Whether the result that was written is one."""
    import calipers as cal

    try:
        text = Path("out.json").read_text("utf-8")
        str(cal.from_json(text))
    except BaseException:
        traceback.print_exc()
        return UNREADABLE
    return 0


def answer(name: str) -> int:
    """The judging page's answer to a request, and whether it works afterwards."""
    import asyncio

    import calipers as cal
    from calipers.campaign.server import application, list_origins
    from calipers.campaign.sessions import SessionManager, create_token
    from calipers.campaign.workflow import DisplaySettings

    try:
        asked = json.loads(Path(name).read_bytes())
        method, path, headers = asked["method"], asked["path"], asked["headers"]
        pairs = [(str(k), str(v)) for k, v in headers.items()]
        [text.encode("latin-1") for text in (method, path, *(x for pair in pairs for x in pair))]
        body = asked["body"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        print("no request", file=sys.stderr)
        return 2
    shutil.copyfile("collection.campaign", "served.campaign")
    with cal.Campaign.open("served.campaign") as campaign:
        token = create_token(campaign, "ada")
        sessions = SessionManager(campaign, ["ada", "bob"], DisplaySettings(repeats=0))
        app = application(sessions, list_origins("127.0.0.1", 8321))

        def ask(
            method: str, path: str, headers: list[tuple[str, str]], body: bytes
        ) -> tuple[int, bytes]:
            path, _, query = path.partition("?")
            scope = {
                "type": "http", "method": method, "path": path, "raw_path": path.encode("latin-1"),
                "query_string": query.encode("latin-1"), "scheme": "http", "http_version": "1.1",
                "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8321),
                "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers],
            }  # fmt: skip
            sent: list[Any] = []

            async def receive() -> Any:
                return {"type": "http.request", "body": body, "more_body": False}

            async def send(message: Any) -> None:
                sent.append(message)

            asyncio.run(app(scope, receive, send))
            return sent[0]["status"], b"".join(m.get("body", b"") for m in sent[1:])

        cookie = f"calipers-{sessions.id}={token}"
        usual = [("host", "127.0.0.1:8321"), ("cookie", cookie)]
        status, content = ask("GET", "/a/ada/api/queue", usual, b"")
        key = json.loads(content)["queue"][0]
        text = (body if isinstance(body, str) else json.dumps(body)).replace("KEY", key)
        pairs = [(k, v.replace("TOKEN", cookie)) for k, v in pairs]
        status, content = ask(
            method, path.replace("KEY", key), pairs, text.encode("utf-8", "surrogatepass")
        )
        print(f"{status}: {content[:200]!r}", file=sys.stderr)
        if status >= 500:
            return ESCAPED
        for after in ("session", "queue", f"tasks?keys={key}", "list"):
            if ask("GET", f"/a/ada/api/{after}", usual, b"")[0] >= 500:
                print(f"then {after} fails", file=sys.stderr)
                return ESCAPED
        return 0 if status < 400 else 3


def size_of(name: str, content: bytes) -> int:
    """Bytes of a file, decompressed if it is text that is compressed."""
    size = len(content)
    with contextlib.suppress(Exception):
        if name.endswith(".gz"):
            size += len(gzip.decompress(content))
        elif name.endswith(".zst"):
            size *= 20
    return size


def verdict(line: str, name: str, content: bytes, ended: Ended) -> str:
    """What is wrong with how a case ended, without what differs between cases; else nothing."""
    outcomes = OUTCOMES
    if line.startswith("trec_eval"):
        outcomes = {0, 2, 4, 255}
    elif line.startswith(("check", "learn")):  # (a requirement, a finding)
        outcomes = OUTCOMES | {1}
    last = (ended.message.strip().splitlines() or [""])[-1]
    if ended.code not in outcomes:
        return f"exit code {ended.code}: {skeleton(last)}"
    if "Traceback" in ended.message or "Warning:" in ended.message:
        return f"traceback or warning: {skeleton(last)}"
    if ended.code > 1 and not last and not Path("stdout").stat().st_size:
        return f"exit code {ended.code} without a message"
    if ended.seconds > SECONDS:
        return f"{SECONDS} s"
    if ended.memory > MEMORY + TIMES * size_of(name, content):
        return "memory"
    return ""


def skeleton(message: str) -> str:
    """A message without names and numbers."""
    message = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'…'", message[:400])
    return re.sub(r"[-+]?\d[\d.e+-]*", "0", message)


# --- Changes --------------------------------------------------------------------------------------

NUMBERS = (
    "0", "-1", "1", "2", "0.5", "nan", "NaN", "inf", "-inf", "1e400", "-0.0", "1e-320", "1e308",
    "-1e308", "1e45", "1e46", "1e60", "2147483647", "2147483648", "-2147483649",
    "9223372036854775807", "9223372036854775808", "1" + "0" * 400, "0x10", "1_0", "١", "1,5", "+1",
    " 1 ", "1.", ".5", "1e", "4294967296", "16777217", "1e-12", "99999999999999999999",
)  # fmt: skip
WORDS = (
    "", " ", "NA", "null", "None", "true", "False", "\ufeff", "\u2028", "\u00a0", "é", "e\u0301",
    "x" * 3000, "\x00", "\x1b[31m", "\r", "\r\n", "\n\n", "\t", ",", '"', "'", '""', "\\", "|", "#",
    "=1+1", "..", "/", "/etc/passwd", "~", "*", "[", "]", "{", "}", "<", ">", "&", "%s", "{0}",
    "\\u0000", "\\ud800", "&x;", "<!ENTITY x SYSTEM 'file:///etc/passwd'>", "<![CDATA[", "-->",
    "2024-02-30", "1970-01-01T00:00:00Z", "9999-12-31", "all", "average", "Q0",
)  # fmt: skip
RAW = (b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80", b"\x80", b"\x1f\x8b\x08",
       b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04", b"ARROW1", b"\x00" * 9)  # fmt: skip


class Mutator:
    """Changes of files, drawn at random."""

    def __init__(self, seed: int | str, stock: Sequence[bytes] = ()) -> None:
        self.random = random.Random(seed)
        self.stock = stock

    def change(self, name: str, content: bytes) -> bytes:
        """The content after one change, or a few."""
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 6))):
            content = self.change_once(name, content)
        return content

    def change_once(self, name: str, content: bytes) -> bytes:
        """One change that suits the format, if the content has it, or else of bytes."""
        choice = self.random.random()
        with contextlib.suppress(Exception):
            if name.endswith(".gz") and choice < 0.7:
                return gzip.compress(self.change_once(name[:-3], gzip.decompress(content)))
            if name.endswith(".zst") and choice < 0.7:
                return zstd(self.change_once(name[:-4], unzstd(content)))
            if choice < 0.75:
                if name.startswith("request") and choice < 0.6:
                    asked = json.loads(content)
                    asked["body"] = json.loads(self.in_json(json.dumps(asked["body"]).encode()))
                    return json.dumps(asked).encode()
                if name.endswith(".json") or content[:1] == b"{":
                    return self.in_json(content)
                if name.endswith(".jsonl"):
                    return self.in_lines(content, self.in_json)
                if name.endswith((".parquet", ".feather")):
                    return self.in_table(name, content)
                if name.endswith(".campaign"):
                    return self.in_database(content)
                if name.endswith(".eval"):
                    return self.in_archive(content)
                if name.endswith(".html"):
                    return self.in_page(content)
        if choice < 0.9 and b"\x00" not in content[:64]:
            return self.in_text(content)
        return self.in_bytes(content)

    def value(self) -> str:
        """A word that programs stumble over."""
        return self.random.choice(NUMBERS if self.random.random() < 0.5 else WORDS)

    def in_bytes(self, content: bytes) -> bytes:
        """A change of bytes, whatever they mean."""
        pick = self.random
        data = bytearray(content)
        begin = pick.randrange(len(data) + 1)
        end = min(len(data), begin + pick.choice((1, 1, 2, 4, 8, 64, 1024)))
        match pick.randrange(8):
            case 0 if begin < len(data):
                data[begin] ^= 1 << pick.randrange(8)
            case 1 if begin < len(data):
                data[begin] = pick.choice((0, 1, 127, 128, 255, pick.randrange(256)))
            case 2:
                del data[begin:end]
            case 3:
                data[begin:begin] = data[begin:end] * pick.choice((1, 2, 50))
            case 4:
                del data[begin:]
            case 5:
                data[begin:begin] = pick.choice(RAW)
            case 6:
                value = pick.choice(
                    (0, 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
                )
                width = pick.choice((2, 4, 8))
                data[begin : begin + width] = (value % 256**width).to_bytes(
                    width, pick.choice(("little", "big"))
                )
            case _:
                other = pick.choice(self.stock) if self.stock else content
                cut = pick.randrange(len(other) + 1)
                data[begin:end] = other[cut : cut + 256]
        return bytes(data)

    def in_text(self, content: bytes) -> bytes:
        """A change of a line or a field."""
        pick = self.random
        lines = content.splitlines(keepends=True)
        if not lines:
            return self.value().encode()
        at, choice = pick.randrange(len(lines)), pick.randrange(10)
        if choice == 0:
            lines[at] *= pick.choice((0, 2, 2, 40))
        elif choice == 1:
            pick.shuffle(lines)
        elif choice == 2:
            lines.insert(at, pick.choice(lines))
        elif choice == 3:
            lines = [line.replace(b"\n", b"\r\n") for line in lines]
        elif choice == 4:
            lines[at] = lines[at].rstrip(b"\n") + lines[(at + 1) % len(lines)]
        else:
            fields = re.split(rb"([\s,|\"=<>{}\[\]:]+)", lines[at])
            place = pick.randrange(0, len(fields), 2)
            if choice == 5:
                del fields[place : place + 2]
            elif choice == 6:
                fields[place:place] = [pick.choice(fields), b" "]
            elif choice == 7 and len(fields) > 2:
                fields[pick.randrange(1, len(fields), 2)] = self.value().encode("utf-8", "replace")
            else:
                fields[place] = self.value().encode("utf-8", "replace")
            lines[at] = b"".join(fields)
        return b"".join(lines)

    def in_lines(self, content: bytes, change: Callable[[bytes], bytes]) -> bytes:
        """A change within one line, or of all of them alike."""
        lines = content.splitlines()
        at = self.random.randrange(len(lines))
        lines[at] = change(lines[at])
        if self.random.random() < 0.1:
            lines = [lines[at]] * len(lines)
        return b"\n".join(lines) + b"\n"

    def in_json(self, content: bytes) -> bytes:
        """A change of one value, at any depth."""
        pick = self.random
        data = json.loads(content)
        places = [place for place in inner_places(data) if isinstance(place[0], dict | list)]
        if not places or pick.random() < 0.02:
            return json.dumps(self.json_value(data)).encode()
        inside, key = pick.choice(places)
        choice = pick.random()
        if choice < 0.2:
            del inside[key]
        elif choice < 0.3 and isinstance(inside, dict):
            inside[self.value()] = inside.pop(key)
        elif choice < 0.4 and isinstance(inside, list):
            inside.insert(key, pick.choice(inside))
        elif choice < 0.5:
            inside[key] = pick.choice(places)[0]
        else:
            inside[key] = self.json_value(inside[key])
        try:
            text = json.dumps(data)
        except ValueError:  # an object within itself
            return content
        return text.replace('"LONG"', "1" * 401).encode()

    def json_value(self, old: Any) -> Any:
        """A value in place of an older one."""
        pick = self.random
        deep: Any = 0
        for _ in range(pick.choice((2, 99, 101))):
            deep = [deep] if pick.random() < 0.5 else {"a": deep}
        near = old
        if isinstance(old, int | float) and not isinstance(old, bool):
            near = pick.choice((-old, old + 1, old * 1e6, old + 0.5, old - 1))
        return pick.choice((
            None, True, False, 0, -1, 1, 0.5, 2**31, 2**63, -(2**63), 2**64, 1e308, math.nan,
            math.inf, "LONG", "", "nan", "\ud800", "\x00", [], {}, [None], [[]], {"": None}, deep,
            str(old), [old], near, near, self.value(),
        ))  # fmt: skip

    def in_table(self, name: str, content: bytes) -> bytes:
        """Another column in a table, written anew."""
        import pyarrow as pa
        import pyarrow.feather
        import pyarrow.parquet

        pick, form = self.random, name.rpartition(".")[2]
        read = pyarrow.parquet.read_table if form == "parquet" else pyarrow.feather.read_table
        content_table = read(pa.BufferReader(content))
        at = pick.randrange(content_table.num_columns)
        column = content_table.column(at).combine_chunks()
        label, rows = content_table.schema.names[at], content_table.num_rows
        if isinstance(column, pa.ChunkedArray):
            column = pa.array(column.to_pylist(), column.type)
        choice = pick.randrange(10)
        if choice == 0:
            return as_arrow(content_table.slice(0, pick.choice((0, 1, 2))), form)
        if choice == 1:
            return as_arrow(content_table.append_column(label, column), form)
        if choice == 2:
            return as_arrow(content_table.remove_column(at), form)
        if choice == 3:
            column = column.dictionary_encode()
        elif choice == 4:
            mask = pa.array([pick.random() < 0.3 for _ in range(rows)])
            column = pa.compute.if_else(mask, None, column)
        elif choice == 5:
            column = pa.nulls(rows, pick.choice((pa.null(), column.type)))
        elif choice == 6:
            kinds = (
                pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.string(), pa.large_string(),
                pa.binary(), pa.bool_(), pa.timestamp("ns"), pa.date32(), pa.decimal128(30, 5),
                pa.string_view(), pa.duration("s"), pa.time32("s"),
            )  # fmt: skip
            column = column.cast(pick.choice(kinds), safe=False)
        elif choice == 7:
            column = pa.array([[value] for value in column.to_pylist()])
        elif choice == 8:
            column = pa.array([{"a": value} for value in column.to_pylist()])
        else:
            values = column.to_pylist()
            old = values[pick.randrange(rows)]
            new: Any = self.value()
            if isinstance(old, int):
                new = pick.choice((0, -1, 2**31, 2**63 - 1, -(2**63)))
            elif isinstance(old, float):
                new = pick.choice((math.nan, math.inf, -math.inf, 1e308, 1e-320, -1.0))
            values[pick.randrange(rows)] = new
            column = pa.array(values)
        return as_arrow(content_table.set_column(at, label, column), form)

    def in_database(self, content: bytes) -> bytes:
        """Another cell in a table, or another table."""
        pick = self.random
        path = Path("changed.campaign")
        path.write_bytes(content)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            schema = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            triggers = [(name, sql) for kind, name, sql in schema if kind == "trigger"]
            table = pick.choice([name for kind, name, _ in schema if kind == "table"])
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            count = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
            row = f'(SELECT rowid FROM "{table}" LIMIT 1 OFFSET {pick.randrange(max(count, 1))})'
            for name, _ in triggers:
                connection.execute(f'DROP TRIGGER "{name}"')
            match pick.randrange(6):
                case 0:
                    connection.execute(f'DELETE FROM "{table}" WHERE rowid = {row}')
                case 1:
                    connection.execute(f'DROP TABLE "{table}"')
                case 2:
                    connection.execute(f"PRAGMA user_version = {pick.choice((0, 1, 99, -1))}")
                case _:
                    value = pick.choice((self.value(), None, 2**62, -1, 1e308, b"\x00\xff"))
                    change = f'UPDATE "{table}" SET "{pick.choice(columns)}" = ?'
                    connection.execute(f"{change} WHERE rowid = {row}", [value])
            for _, sql in triggers:
                connection.execute(sql)
            connection.commit()
        return path.read_bytes()

    def in_archive(self, content: bytes) -> bytes:
        """Another member of an archive."""
        import zipfile

        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = self.random.choice(list(members))
        changed = self.change_once("x.json", members[name])
        if self.random.random() < 0.2:
            members[self.value() or "x"] = members.pop(name)
        else:
            members[name] = changed
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, member in members.items():
                archive.writestr(name, member)
        return sink.getvalue()

    def in_page(self, content: bytes) -> bytes:
        """A change within a script of a page, where its data are."""
        scripts = list(re.finditer(rb"<script[^>]*json[^>]*>(.*?)</script>", content, re.DOTALL))
        script = self.random.choice(scripts)
        begin, end = script.span(1)
        return content[:begin] + self.change_once("x.json", content[begin:end]) + content[end:]


def unzstd(content: bytes) -> bytes:
    """Text in zstd."""
    import pyarrow as pa

    return bytes(pa.input_stream(pa.BufferReader(content), compression="zstd").read())


def inner_places(data: Any) -> Iterator[tuple[Any, Any]]:
    """What holds a value, and its key, at any depth."""
    stack = [data]
    while stack:
        inside = stack.pop()
        keys = (
            inside
            if isinstance(inside, dict)
            else range(len(inside))
            if isinstance(inside, list)
            else ()
        )
        for key in list(keys):
            yield inside, key
            stack.append(inside[key])


# --- Campaigns of fuzzing -------------------------------------------------------------------------


@dataclass
class Failure:
    """The first case of a failure."""

    kind: str
    name: str
    line: str
    content: bytes
    told: str
    message: str
    number: int = 1


@dataclass
class Tally:
    """What was tried of a kind."""

    cases: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    seconds: float = 0
    memory: int = 0
    messages: set[str] = field(default_factory=set)


class Fuzzer:
    """Cases of all kinds, in the folder that is current."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.tallies: dict[str, Tally] = {}
        self.failures: dict[str, Failure] = {}
        self.stock: dict[str, list[tuple[str, bytes]]] = {}
        prepare()

    def seeds(self, kind: str) -> list[tuple[str, bytes]]:
        """The valid files of a kind, and what has been interesting."""
        if kind not in self.stock:
            self.stock[kind] = sorted({**KINDS[kind].files(), **corpus(kind)}.items())
            for name, content in self.stock[kind]:
                if name in {"state.state", "result.json", "collection.campaign"}:
                    Path(name).write_bytes(content)
        return self.stock[kind]

    def lines(self, kind: str, name: str) -> tuple[str, ...]:
        """What a file is given to."""
        return KINDS[kind].lines.get(re.split(r"[-.]", name)[0], ())

    def check(self, kind: str, name: str, line: str, content: bytes) -> str:
        """What is wrong with a case, if anything; and it is counted."""
        tally = self.tallies.setdefault(kind, Tally())
        told, ended = tried(name, line, content)
        tally.cases += 1
        tally.codes[ended.code] += 1
        tally.seconds += ended.seconds
        tally.memory = max(tally.memory, ended.memory)
        if told:
            last = self.failures.get(f"{kind} {told}")
            if last is None:
                print(f"{kind} {name}: {line}: {told}", file=sys.stderr, flush=True)
                self.failures[f"{kind} {told}"] = Failure(
                    kind, name, line, content, told, ended.message
                )
            else:
                last.number += 1
        else:
            note = f"{line} {ended.code} {skeleton(ended.message)}"
            if note not in tally.messages and len(tally.messages) < 2000:
                tally.messages.add(note)
                if len(content) < 200_000:
                    self.stock[kind].append((name, content))
        return told

    def run_corpus(self, kind: str) -> None:
        """Every valid file, and what failed once, with all of its lines."""
        for name, content in list(self.seeds(kind)):
            for line in self.lines(kind, name):
                self.check(kind, name, line, content)

    def run_cases(self, kind: str, first: int, last: int) -> None:
        """Cases by their numbers."""
        stock = self.seeds(kind)
        for number in range(first, last):
            pick = random.Random(f"{self.seed} {kind} {number}")
            name, content = pick.choice(stock)
            mutator = Mutator(f"{self.seed} {kind} {number}", [c for _, c in stock[:60]])
            lines = self.lines(kind, name)
            line = "IN" if pick.random() < 0.05 or not lines else pick.choice(lines)
            if kind == "requests":
                line = lines[0]
            self.check(kind, name, line, mutator.change(name, content))


def tried(name: str, line: str, content: bytes) -> tuple[str, Ended]:
    """One case: what is wrong, if anything, and how it ended."""
    clear()
    Path("case").mkdir()
    case = f"case/{name}"
    Path(case).write_bytes(content)
    if "collection.campaign" in line:
        shutil.copyfile("collection.campaign", "copy.campaign")
        line = line.replace("collection.campaign", "copy.campaign")
    ended = run_line(line, case)
    told = verdict(line, case, content, ended)
    return told, ended


def clear() -> None:
    """Without what the last case wrote."""
    for path in Path().iterdir():
        if path.name.startswith(("out", "case", "copy.", "served.")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def corpus(kind: str) -> dict[str, bytes]:
    """What failed once."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / kind).glob("*"))}


@cache
def load() -> None:
    """Import what commands import, once."""
    import pkgutil
    from importlib import import_module

    import calipers

    skipped = ("__main__", "ir_measures", "integrations", "dask", "spark")
    for module in pkgutil.walk_packages(calipers.__path__, "calipers."):
        if not any(word in module.name for word in skipped):
            with contextlib.suppress(ImportError):
                import_module(module.name)
    for name in (
        "jinja2",
        "pyarrow.csv",
        "pyarrow.json",
        "pyarrow.parquet",
        "rich.table",
        "scipy.special",
        "asyncio",
    ):
        import_module(name)
    with contextlib.suppress(ImportError):
        import_module("starlette.applications")


def prepare() -> None:
    """Write what stands beside a case into this folder."""
    load()
    files, texts = of_form("csv"), trec()
    Path("good.csv").write_bytes(files["binary.csv"])
    for stem in ("regression", "multilabel", "ranking", "pairs", "classes", "agreement"):
        Path(f"{stem}.csv").write_bytes(files[f"{stem}.csv"])
    Path("good.qrels").write_bytes(texts["qrels.txt"])
    Path("good.run").write_bytes(texts["run.txt"])
    Path("worse.run").write_bytes(b"".join(texts["run.txt"].splitlines(keepends=True)[::2]))
    for name in ("inex.txt", "passages.txt"):
        Path(name).write_bytes(texts[name])
    Path("collection.campaign").write_bytes(next(iter(campaigns().values())))


def smaller(failure: Failure, tries: int = 300) -> bytes:
    """A case with the same failure and fewer bytes: chunks are left out as long as it stays."""
    content = failure.content
    step = max(len(content) // 2, 1)
    while tries > 0 and step:
        begin, left_out = 0, False
        while begin < len(content) and tries > 0:
            less = content[:begin] + content[begin + step :]
            tries -= 1
            if tried(failure.name, failure.line, less)[0] == failure.told:
                content, left_out = less, True
            else:
                begin += step
        step = step if left_out and step < len(content) else step // 2
    return content


def report(fuzzer: Fuzzer, keep: Path) -> None:
    """Print the counts, and keep what failed."""
    for kind, tally in fuzzer.tallies.items():
        accepted = tally.codes[0]
        print(
            f"{kind}: {tally.cases} cases, {accepted} accepted, {tally.cases - accepted} refused, "
            f"{len(tally.messages)} different messages, {tally.seconds:.0f} s of the processor, "
            f"{tally.memory >> 20} MiB at most"
        )
    for failure in fuzzer.failures.values():
        content = smaller(failure)
        digest = hashlib.sha256(content).hexdigest()[:8]
        stem, rest = re.split(r"[-.]", failure.name)[0], failure.name.partition(".")[2]
        path = keep / failure.kind / f"{stem}-{digest}.{rest}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        line = failure.line + ("" if failure.kind == "requests" else " --debug")
        message = tried(failure.name, line, content)[1].message
        path.with_name(path.name + ".txt").write_text(
            f"{failure.line}\n{failure.told}\n{failure.number} cases\n{message}"
        )
        print(f"FAILED {failure.number} times: {failure.line}: {failure.told}\n  {path}")


def main(arguments: Sequence[str] | None = None) -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, help="time at all; by default there is --cases")
    parser.add_argument("--cases", type=int, default=100, help="cases of each kind (100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=list(KINDS), help="kinds")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for failures")
    options = parser.parse_args(arguments)
    keep = options.keep.resolve()
    kinds = options.only or list(KINDS)
    end = time.monotonic() + 60 * options.minutes if options.minutes else math.inf
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        fuzzer = Fuzzer(options.seed)
        for kind in kinds:
            fuzzer.run_corpus(kind)
        first, step = 0, 50
        while time.monotonic() < end and (options.minutes or first < options.cases):
            last = first + step if options.minutes else min(first + step, options.cases)
            for kind in kinds:
                fuzzer.run_cases(kind, first, last)
                if time.monotonic() > end:
                    break
            first = last
        report(fuzzer, keep)
        os.chdir("/")
    return 1 if fuzzer.failures else 0


if __name__ == "__main__":
    sys.exit(main())
