"""Runs and judgments in the words of MS MARCO, BEIR, CLEF and NTCIR, and answers without order."""

from __future__ import annotations

import gzip
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import calipers as cal

QRELS = {"1": {"a": 2, "b": 0}, "2": {"c": 1, "d": 0}}
#: First the wrong document, then the right one; and the other way round.
RUN = {"1": {"b": 2.0, "a": 1.0}, "2": {"c": 9.0, "x": 1.0}}
TREC_QRELS = "1 0 a 2\n1 0 b 0\n2 0 c 1\n2 0 d 0\n"
TREC_RUN = "1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n2 Q0 c 1 9 t\n2 Q0 x 2 1 t\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def to(name: str, text: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return to


def values(qrels: Any, run: Any, *names: str) -> list[float]:
    return [e.value for e in cal.retrieval(qrels, run, measures=names, interval="none")]


EXPECTED = values(QRELS, RUN, "RR", "nDCG", "AP(rel=2)")


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "MS MARCO's own": ("qrels.dev.tsv", TREC_QRELS.replace(" ", "\t")),
        "without the iteration": ("qrels.tsv", "1\ta\t2\n1\tb\t0\n2\tc\t1\n2\td\t0\n"),
        "the same, by blanks": ("qrels", "1 a  2\n\n# b\n1 b 0\r\n2 c 1\n 2 d 0"),
        "BEIR": ("test.tsv", "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tc\t1\n2\td\t0\n"),
        "BEIR, by another name": ("x.qrels", "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tc\t1\n2\td\t0\n"),
        "JSON Lines": ("x.jsonl", '{"query-id": "1", "corpus-id": "a", "score": 2}\n{"query-id": "1", "corpus-id": "b", "score": 0}\n{"query-id": "2", "corpus-id": "c", "score": 1}\n{"query-id": "2", "corpus-id": "d", "score": 0}\n'),
        "NTCIR": ("ntcir.qrels", "1 0 a L2\n1 0 b L0\n2 0 c L1\n2 0 d L0\n"),
        "NTCIR, without the iteration": ("n", "1 a L2\n1 b L0\n2 c L1\n2 d L0\n"),
        "in a table": ("t.csv", "topic,doc,grade\n1,a,L2\n1,b,L0\n2,c,L1\n2,d,L0\n"),
        "a header over TREC's": ("h.txt", "topic iteration docno grade\n" + TREC_QRELS),
        "packed": ("q.gz", gzip.compress(b"1 a 2\n1 b 0\n2 c 1\n2 d 0\n", mtime=0)),
    }.values(),
    ids=lambda of: None,
)  # fmt: skip
def test_judgments(write: Any, name: str, text: str | bytes) -> None:
    assert values(write(name, text), RUN, "RR", "nDCG", "AP(rel=2)") == EXPECTED


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.tsv", "1\tb\t1\n1\ta\t2\n2\tc\t1\n2\tx\t2\n"),
        ("run.txt", "2 x 2\n1 b  1\n1 a 2\n2 c 1\n"),
        ("run.csv", "qid,did,rank\n1,b,1\n1,a,2\n2,c,1\n2,x,2\n"),
        ("run", "qid\tdid\trank\n1\tb\t1\n1\ta\t2\n2\tc\t1\n2\tx\t2\n"),
        ("run.gz", gzip.compress(b"1\tb\t1\n1\ta\t2\n2\tc\t1\n2\tx\t2\n", mtime=0)),
        ("beir.tsv", "query-id\tcorpus-id\tscore\n1\tb\t2\n1\ta\t1\n2\tc\t9\n2\tx\t1\n"),
    ],
)
def test_runs(write: Any, name: str, text: str | bytes) -> None:
    assert values(QRELS, write(name, text), "RR", "nDCG", "AP(rel=2)") == EXPECTED


def test_ids_stay_texts(write: Any) -> None:
    """007 is not 7, and what no UTF-8 is has its bytes."""
    qrels = write("q.tsv", b"01\t007\t1\n01\t\xff\t1\n")
    run = write("r.tsv", b"01\t7\t1\n01\t007\t2\n01\t\xff\t3\n")
    assert values(qrels, run, "RR", "R@3") == [0.5, 1.0]


@pytest.mark.parametrize(
    "run",
    [
        {"1": ["b", "a"], "2": {"c", "x", "y"}},
        {"topic": ["1", "1", "2", "2", "2"], "doc": ["a", "b", "c", "x", "y"]},
        "1 a\n1 b\n2 c\n2 x\n2 y\n",
    ],
    ids=["ids", "columns", "file"],
)
def test_an_answer_without_order(run: Any, write: Any) -> None:
    run = write("bool", run) if isinstance(run, str) else run
    name = "bool" if isinstance(run, str) else "run"
    assert values(QRELS, run, "SetP", "SetR", "TP") == pytest.approx([(1 / 2 + 1 / 3) / 2, 1, 2])
    usual = cal.retrieval(QRELS, run)
    assert {"SetP", "micro-SetR"} <= {e.measure for e in usual}
    assert not usual.curves
    assert "tied" not in " ".join(map(str, usual.findings))
    for measure in ("AP", "P@3", "SetP(judged_only=True)", "CG@2", "NumRelRet@1", "DCG"):
        if measure.startswith("SetP"):
            assert values(QRELS, run, measure) == [1 / 2 * 1 / 2 + 1 / 2]
            continue
        with pytest.raises(cal.InputError) as raised:
            cal.retrieval(QRELS, run, measures=["SetR", measure])
        assert f"{name}: its results are sets of documents without the order that {measure}" in str(
            raised.value
        )
        assert "; a ranking has a score for each document, as in " in str(raised.value)


def test_f_1_of_answers_without_an_order_says_how_it_is_called() -> None:
    with pytest.raises(cal.InputError, match=r"F₁ of the retrieved set is F1$"):
        cal.retrieval(QRELS, {"1": ["a"], "2": ["b"]}, measures=["F_1"])


def test_nothing_is_an_answer_too() -> None:
    runs = {"mute": {"1": [], "2": set()}, "some": {"1": ["a"], "2": []}}
    assert "that nobody judged" not in " ".join(map(str, cal.retrieval(QRELS, runs).findings))
    for undefined, mute, some in (("nan", (math.nan, 0), (1.0, 1)), ("zero", (0, 2), (0.5, 2))):
        ev = cal.retrieval(QRELS, runs, measures=["SetP", "SetR", "FP"], undefined=undefined)
        for system, (value, n) in (("mute", mute), ("some", some)):
            assert ev[system, "SetP"].value == pytest.approx(value, nan_ok=True)
            assert ev[system, "SetP"].n == n
        assert [ev[s, "SetR"].value for s in runs] == [0, 0.5]
        assert [ev[s, "SetFP"].value for s in runs] == [0, 0]


@pytest.mark.parametrize(
    ("qrels", "run", "says"),
    [
        (TREC_RUN, TREC_QRELS, "qrels: 6 fields, expected 4: topic iteration document grade; these look like a run: are the two swapped?"),
        (TREC_QRELS, TREC_QRELS, "run: 4 fields, expected 6: topic Q0 document rank score tag; these look like judgments: are the two swapped?"),
        (TREC_QRELS, "1 a 1\n1 b 0\n", "run: topic '1': 0 is not a rank"),
        (TREC_QRELS, "1 a 1\n1 b 1\n", "run: topic '1': 1 is not a rank"),
        (TREC_QRELS, "1 a 7\n1 b 6\n", "run: topic '1': 6 is not a rank"),
        (TREC_QRELS, "1 a 7.5\n", "run:1: 3 fields, expected 6: topic Q0 document rank score tag"),
        (TREC_QRELS, "1 a 1\n1 b two\n", "run: column 'rank' is of type"),
        (TREC_QRELS, "1 a 1\n1 b\n", "run:2: 2 fields, expected 3: topic doc rank"),
        (TREC_QRELS, "1 a\n1 a\n", "document a retrieved twice for topic 1 (first at row 0)"),
        ("1 a 1\n1 b M2\n", TREC_RUN, "qrels: column 'grade' is of type"),
        ("1 0 a L2\n1 0 b 2\n", TREC_RUN, "qrels: column 'grade' is of type"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_once(write: Any, qrels: str, run: str, says: str) -> None:
    with pytest.raises(cal.InputError) as raised:
        cal.retrieval(write("qrels", qrels), write("run", run))
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_answer_of_unjudged_documents_alone() -> None:
    """Which finding out why has to read once more."""
    run = {"1": ["A"], "2": ["zz"]}
    found = cal.retrieval(QRELS, run, measures=["SetP"])
    assert found["SetP"].value == 0
    assert "letter case" in " ".join(map(str, found.findings))
    assert cal.measure("SetP", family="retrieval")(QRELS, {"1": ["a"], "2": ["x"]}) == 0.5
    with pytest.raises(cal.InputError, match="AP needs an order"):
        cal.measure("AP", family="retrieval")(QRELS, run)


def test_ids_are_not_repeated_in_a_list() -> None:
    with pytest.raises(cal.InputError, match="topic '1' holds a document more than once"):
        cal.retrieval(QRELS, {"1": ["a", "a"]})


def test_sets_cannot_be_laid_over_one_another() -> None:
    with pytest.raises(cal.InputError, match="holds no scores"):
        cal.rbo({"topic": ["1"], "doc": ["a"]}, {"topic": ["1"], "doc": ["a"]})


def test_trec_text_needs_no_arrow(write: Any) -> None:
    """Whatever else a file may be: what is TREC text is read as fast as before."""
    code = (
        "import sys; from calipers.data.trec import read_qrels, read_run;"
        f"read_run('r', {write('r', TREC_RUN)!r}, read_qrels({write('q', TREC_QRELS)!r}));"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
