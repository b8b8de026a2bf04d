"""The reader of TREC judgments and runs against a plain statement of its rules."""

import gzip
import hashlib
import random
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from calipers._core import JudgedRun, Judgments

QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
RUN = b"q1 Q0 d2 1 3.5 bm25\nq1 Q0 d3 2 2.5 bm25\nq1 Q0 d1 3 1.5 bm25\nq3 Q0 d1 1 1 bm25\n"

Qrels = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(content: bytes, name: str = "x.run") -> str:
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


@pytest.fixture
def judgments(write: Callable[..., str]) -> Judgments:
    return Judgments.from_file(write(QRELS, "q.txt"))


def rows(run: JudgedRun) -> list[list[tuple[int, int, int, int]]]:
    """Rank, grade and ranks of the tied, topic after topic."""
    flat = list(
        zip(*(a.tolist() for a in (run.rank, run.grade, run.tied_from, run.tied_to)), strict=True)
    )
    return [flat[start:end] for start, end in zip(run.offsets, run.offsets[1:], strict=False)]


def same(a: JudgedRun, b: JudgedRun) -> bool:
    return (
        a.retrieved.tolist() == b.retrieved.tolist()
        and rows(a) == rows(b)
        and a.unjudged_topics == b.unjudged_topics
        and a.unjudged_topic_names == b.unjudged_topic_names
    )


def column(texts: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [text.encode() for text in texts]
    lengths = np.array([0, *map(len, encoded)], dtype=np.int64)
    return np.cumsum(lengths), np.frombuffer(b"".join(encoded), dtype=np.uint8)


def message(read: Callable[[], object]) -> str:
    with pytest.raises(ValueError) as caught:
        read()
    return str(caught.value)


# --- what a good file gives ---


def test_judgments(judgments: Judgments) -> None:
    assert judgments.topics == [b"q1", b"q2"]
    offsets, grades, counts = judgments.grades()
    assert offsets.tolist() == [0, 2, 3]
    assert grades.tolist() == [1, 0, 2]
    assert counts.tolist() == [1, 1, 1]
    assert {a.dtype for a in (offsets, grades, counts)} == {np.dtype(np.int64)}
    assert judgments.source == {
        "lines": 3,
        "bytes": len(QRELS),
        "sha256": hashlib.sha256(QRELS).hexdigest(),
    }


def test_grades_descend_and_include_negative_ones(write: Callable[..., str]) -> None:
    text = b"q 0 a -1\nq 0 b +2\nq 0 c -1\nq 0 d 0\nq 0 e -2147483648\nq 0 f 2147483647\n"
    offsets, grades, counts = Judgments.from_file(write(text)).grades()
    assert offsets.tolist() == [0, 5]
    assert grades.tolist() == [2**31 - 1, 2, 0, -1, -(2**31)]
    assert counts.tolist() == [1, 1, 1, 2, 1]


def test_run(judgments: Judgments, write: Callable[..., str]) -> None:
    run = judgments.read_run(write(RUN))
    assert run.retrieved.tolist() == [3, 0]
    assert rows(run) == [[(1, 0, 1, 1), (3, 1, 3, 3)], []]
    assert (run.unjudged_topics, run.unjudged_topic_names) == (1, [b"q3"])
    assert run.tag == b"bm25"
    assert run.source == {
        "lines": 4,
        "bytes": len(RUN),
        "sha256": hashlib.sha256(RUN).hexdigest(),
    }
    for array in (run.retrieved, run.offsets, run.rank, run.grade, run.tied_from, run.tied_to):
        assert array.dtype == np.int64
    assert run.rank is run.rank


def test_only_the_first_ten_unjudged_topics_are_named(
    judgments: Judgments, write: Callable[..., str]
) -> None:
    run = judgments.read_run(
        write(b"".join(b"x%02d Q0 d 1 1 t\n" % i for i in reversed(range(12))))
    )
    assert run.unjudged_topics == 12
    assert run.unjudged_topic_names == [b"x%02d" % i for i in range(10)]


@pytest.mark.parametrize(
    "text",
    [
        RUN.replace(b" ", b"\t"),
        RUN.replace(b" ", b" \t  "),
        RUN.replace(b"\n", b"\r\n"),
        RUN.rstrip(b"\n"),
        RUN.replace(b"\n", b" \n"),
        RUN.replace(b"\n", b" more fields\n"),
        b"\xef\xbb\xbf" + RUN,
        b"# comment\n\n \t\n" + RUN.replace(b"\n", b"\n  # another\n\r\n"),
        b"".join(sorted(RUN.splitlines(keepends=True), key=lambda line: line[6:8])),
    ],
    ids=[
        "tabs",
        "blanks",
        "crlf",
        "no end",
        "trailing",
        "ignored",
        "bom",
        "comments",
        "interleaved",
    ],
)
def test_variants_of_the_format(
    judgments: Judgments, write: Callable[..., str], text: bytes
) -> None:
    assert same(judgments.read_run(write(text)), judgments.read_run(write(RUN)))


def test_ids_are_bytes(write: Callable[..., str]) -> None:
    judgments = Judgments.from_file(write(b"caf\xe9 0 \xff\xfe 1\ncaf\xc3\xa9 0 d 1\n"))
    assert judgments.topics == [b"caf\xc3\xa9", b"caf\xe9"]
    run = judgments.read_run(write(b"caf\xe9 Q0 \xff\xfe 1 1 \xe9\n"))
    assert rows(run) == [[], [(1, 1, 1, 1)]]
    assert run.tag == b"\xe9"


def test_numbers_a_score_may_be(judgments: Judgments, write: Callable[..., str]) -> None:
    scores = ["1e3", "+17", "16.", "1.5E1", ".5", "1e-400", "-0", "-.5", "-1e3"]
    text = "".join(f"q1 Q0 {'d1' if i == 8 else f'x{i}'} 0 {s} t\n" for i, s in enumerate(scores))
    assert rows(judgments.read_run(write(text.encode())))[0] == [(9, 1, 9, 9)]


def test_ties_go_by_document_descending(judgments: Judgments, write: Callable[..., str]) -> None:
    text = b"q1 Q0 d1 1 0 t\nq1 Q0 d10 2 -0.0 t\nq1 Q0 d2 3 0.0 t\nq1 Q0 e 4 7 t\n"
    assert rows(judgments.read_run(write(text)))[0] == [(2, 0, 2, 4), (4, 1, 2, 4)]


def test_single_precision(judgments: Judgments, write: Callable[..., str]) -> None:
    path = write(b"q1 Q0 d1 1 1.00000001 t\nq1 Q0 d2 2 1 t\n")
    assert rows(judgments.read_run(path))[0] == [(1, 1, 1, 1), (2, 0, 2, 2)]
    assert rows(judgments.read_run(path, float32=True))[0] == [(1, 0, 1, 2), (2, 1, 1, 2)]


def test_a_path_may_be_a_path(write: Callable[..., str]) -> None:
    judgments = Judgments.from_file(Path(write(QRELS, "q")))
    assert judgments.read_run(Path(write(RUN))).tag == b"bm25"


# --- compressed files ---


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


SKIPPABLE = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
HALF = len(RUN) // 2


@pytest.mark.parametrize(
    "stored",
    [
        gzip.compress(RUN, mtime=0),
        gzip.compress(RUN[:HALF], mtime=0)
        + gzip.compress(b"", mtime=0)
        + gzip.compress(RUN[HALF:], mtime=0),
        zstd(RUN),
        zstd(RUN[:HALF]) + zstd(b"") + zstd(RUN[HALF:]),
        SKIPPABLE + zstd(RUN[:HALF]) + SKIPPABLE + zstd(RUN[HALF:]) + SKIPPABLE,
    ],
    ids=["gzip", "members", "zstd", "frames", "skippable"],
)
def test_compressed(judgments: Judgments, write: Callable[..., str], stored: bytes) -> None:
    run = judgments.read_run(write(stored))
    assert same(run, judgments.read_run(write(RUN, "plain")))
    assert run.source == {
        "lines": 4,
        "bytes": len(stored),
        "sha256": hashlib.sha256(stored).hexdigest(),
    }


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_large_compressed(
    judgments: Judgments, write: Callable[..., str], compress: Callable[[bytes], bytes]
) -> None:
    lines = [b"q%d Q0 d%d %d %d t\n" % (t, d, d, -d) for t in range(100) for d in range(2000)]
    text = b"".join(lines)
    assert len(text) > 2**21
    run = judgments.read_run(write(compress(text)))
    assert rows(run) == [[(2, 1, 2, 2), (3, 0, 3, 3)], [(2, 2, 2, 2)]]
    assert run.retrieved.tolist() == [2000, 2000]
    assert run.unjudged_topics == 98


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_damaged(
    judgments: Judgments, write: Callable[..., str], compress: Callable[[bytes], bytes]
) -> None:
    stored = compress(RUN)
    path = write(stored[:-6])
    assert message(lambda: judgments.read_run(path)).startswith(f"{path}: cannot be decompressed: ")


# --- bad files ---


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"q1 Q0 d9 1 1.5", "5 fields, expected 6: topic Q0 document rank score tag"),
        (b"q1", "1 field, expected 6: topic Q0 document rank score tag"),
        (b"q1 Q0 d9 1 abc t", 'score "abc" is not a number'),
        (b"q1 Q0 d9 1 1,5 t", 'score "1,5" is not a number'),
        (b"q1 Q0 d9 1 0x10 t", 'score "0x10" is not a number'),
        (b"q1 Q0 d9 1 nan t", "score is NaN"),
        (b"q1 Q0 d9 1 -NaN t", "score is NaN"),
        (b"q1 Q0 d9 1 infinit t", 'score "infinit" is not a number'),
        (b"q1 Q0 d9 1 -1e999 t", 'score "-1e999" is too large'),
        (b"q1 Q0 d9 1 1e999 t", 'score "1e999" is too large'),
        (b"q1 Q0 d9 1 \x1b[1m\xff t", 'score "\\u{1b}[1m\ufffd" is not a number'),
        (b"q1 Q0 d9 1 " + b"y" * 50 + b" t", 'score "' + "y" * 40 + '…" is not a number'),
        (b"q1 Q0 d2 9 0.5 t", "document d2 retrieved twice for topic q1 (first at line 2)"),
        (b"q3 Q0 d1 9 0.5 t", "document d1 retrieved twice for topic q3 (first at line 5)"),
        (b"q1 Q0 d9 1 1 \0", "not a TREC file (binary data)"),
    ],
)
def test_bad_line_of_a_run(
    judgments: Judgments, write: Callable[..., str], line: bytes, wrong: str
) -> None:
    path = write(b"# comment\n" + RUN + line + b"\n")
    assert message(lambda: judgments.read_run(path)) == f"{path}:6: {wrong}"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"q1 0 d9", "3 fields, expected 4: topic iteration document grade"),
        (b"q1 0 d9 1 1", "5 fields, expected 4: topic iteration document grade"),
        (b"q1 0 d9 1.5", 'grade "1.5" is not an integer'),
        (b"q1 0 d9 +", 'grade "+" is not an integer'),
        (
            b"q1 0 d9 2147483648",
            'grade "2147483648" is out of range, expected -2147483648 to 2147483647',
        ),
        (b"q1 0 d1 1", "document d1 judged twice for topic q1 (first at line 1)"),
        (b"q\0 0 d9 1", "not a TREC file (binary data)"),
    ],
)
def test_bad_line_of_judgments(write: Callable[..., str], line: bytes, wrong: str) -> None:
    path = write(QRELS + line + b"\r\n")
    assert message(lambda: Judgments.from_file(path)) == f"{path}:4: {wrong}"


def test_ten_problems_are_told(judgments: Judgments, write: Callable[..., str]) -> None:
    path = write(RUN + b"q1 Q0 d2 9 0.5 t\n" + b"bad\n" * 12)
    told = message(lambda: judgments.read_run(path)).split("\n")
    assert told[0] == f"{path}:5: document d2 retrieved twice for topic q1 (first at line 1)"
    assert told[1:10] == [
        f"{path}:{line}: 1 field, expected 6: topic Q0 document rank score tag"
        for line in range(6, 15)
    ]
    assert told[10:] == ["… and 3 more"]


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)]
)
def test_empty(judgments: Judgments, write: Callable[..., str], content: bytes) -> None:
    path = write(content)
    assert message(lambda: judgments.read_run(path)) == f"{path}: no lines"
    assert message(lambda: Judgments.from_file(path)) == f"{path}: no judgments"


def test_errors_of_the_system(judgments: Judgments, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    for read in (Judgments.from_file, judgments.read_run):
        with pytest.raises(FileNotFoundError) as caught:
            read(missing)
        assert caught.value.filename == missing
        with pytest.raises(OSError) as refused:
            read(str(tmp_path))
        assert refused.value.filename == str(tmp_path)


# --- from memory ---


def test_dicts(judgments: Judgments, write: Callable[..., str]) -> None:
    by_dict = Judgments.from_dict({"q2": {"d1": 2}, b"q1": {b"d1": np.int32(1), "d2": np.uint8(0)}})
    assert by_dict.topics == judgments.topics
    assert [a.tolist() for a in by_dict.grades()] == [a.tolist() for a in judgments.grades()]
    assert by_dict.source == {"lines": 3, "bytes": None, "sha256": None}
    run = by_dict.rank_dict({"q3": {"d1": 1}, "q1": {"d1": np.float32(1.5), "d2": 3.5, b"d3": 2.5}})
    assert same(run, judgments.read_run(write(RUN)))
    assert run.tag is None


@pytest.mark.parametrize(
    ("grade", "error", "wrong"),
    [
        (True, TypeError, "grade True is of type bool, expected an integer"),
        (1.0, TypeError, "grade 1.0 is of type float, expected an integer"),
        ("1", TypeError, "grade 1 is of type str, expected an integer"),
        (2**40, ValueError, f"grade {2**40} is out of range, expected {-(2**31)} to {2**31 - 1}"),
    ],
)
def test_bad_grade_of_a_dict(grade: object, error: type[Exception], wrong: str) -> None:
    with pytest.raises(error) as caught:
        Judgments.from_dict({"q1": {"d1": grade}})
    assert str(caught.value) == f"topic q1, document d1: {wrong}"


@pytest.mark.parametrize(
    ("score", "error", "wrong"),
    [
        (float("nan"), ValueError, "score is NaN"),
        ("1", TypeError, "score 1 is of type str, expected a number"),
    ],
)
def test_bad_score_of_a_dict(
    judgments: Judgments, score: object, error: type[Exception], wrong: str
) -> None:
    with pytest.raises(error) as caught:
        judgments.rank_dict({"q1": {"d1": score}})
    assert str(caught.value) == f"topic q1, document d1: {wrong}"


def test_bad_keys_of_a_dict(judgments: Judgments) -> None:
    with pytest.raises(TypeError, match="topic 1 is of type int, expected str or bytes"):
        judgments.rank_dict({1: {}})
    with pytest.raises(TypeError, match="document 1 is of type int, expected str or bytes"):
        judgments.rank_dict({"q": {1: 1.0}})
    with pytest.raises(TypeError, match="topic q is of type list, expected a dict"):
        judgments.rank_dict({"q": ["d"]})


def test_nothing_in_memory(judgments: Judgments) -> None:
    assert message(lambda: Judgments.from_dict({})) == "no judgments"
    assert message(lambda: judgments.rank_dict({"q1": {}})) == "no rows"


def test_bad_rows(judgments: Judgments) -> None:
    scores = np.array([1.0, np.nan, 2.0])
    read = lambda: judgments.rank_columns(column("aaa"), column("xyx"), scores)  # noqa: E731
    assert (
        message(read)
        == "row 1: score is NaN\nrow 2: document x retrieved twice for topic a (first at row 0)"
    )
    grades = np.array([1, 2**31, 0])
    read = lambda: Judgments.from_columns(column("aaa"), column("xyx"), grades)  # noqa: E731
    assert message(read) == (
        "row 1: grade 2147483648 is out of range, expected -2147483648 to 2147483647\n"
        "row 2: document x judged twice for topic a (first at row 0)"
    )


def test_columns_that_do_not_fit(judgments: Judgments) -> None:
    read = lambda: judgments.rank_columns(column("aa"), column("xyz"), np.ones(3))  # noqa: E731
    assert message(read) == "2 topics, 3 documents and 3 values, expected equally many"
    outside = np.array([0, 5]), np.zeros(2, dtype=np.uint8)
    read = lambda: judgments.rank_columns(outside, column("x"), np.ones(1))  # noqa: E731
    assert message(read) == "topics: offsets must not fall and must stay in 0 to 2"


# --- random cases ---


def expected(qrels: Qrels, scores: Scores) -> list[list[tuple[int, int, int, int]]]:
    """What the conventions say, without any regard to speed."""
    topics = []
    for topic in sorted(qrels):
        found = scores.get(topic, {})
        order = sorted(found, key=lambda doc: (found[doc], doc), reverse=True)
        values = list(found.values())
        topics.append(
            [
                (
                    rank,
                    qrels[topic][doc],
                    sum(v > found[doc] for v in values) + 1,
                    sum(v >= found[doc] for v in values),
                )
                for rank, doc in enumerate(order, start=1)
                if doc in qrels[topic]
            ]
        )
    return topics


@pytest.mark.parametrize("seed", range(30))
def test_random(write: Callable[..., str], seed: int) -> None:
    rng = random.Random(seed)
    qrels: Qrels = {}
    scores: Scores = {}
    for _ in range(rng.randrange(1, 200)):
        topic, doc = f"q{rng.randrange(20)}", f"d{rng.randrange(60)}"
        qrels.setdefault(topic, {})[doc] = rng.randrange(-2, 4)
    for _ in range(rng.randrange(1, 2000)):
        topic, doc = f"q{rng.randrange(25)}", f"d{rng.randrange(100)}"
        scores.setdefault(topic, {})[doc] = rng.choice(
            [rng.random(), float(rng.randrange(3)), np.inf, -np.inf]
        )
    judged = [(t, d, g) for t, docs in qrels.items() for d, g in docs.items()]
    retrieved = [(t, d, s) for t, docs in scores.items() for d, s in docs.items()]
    if seed % 2:
        rng.shuffle(judged)
        rng.shuffle(retrieved)

    lines = "".join(f"{t} 0 {d} {g}\n" for t, d, g in judged)
    from_file = Judgments.from_file(write(lines.encode(), "q.txt"))
    from_dict = Judgments.from_dict(qrels)
    topics, docs, grades = zip(*judged, strict=True)
    from_columns = Judgments.from_columns(column(topics), column(docs), np.array(grades))
    for judgments in (from_dict, from_columns):
        assert judgments.topics == from_file.topics
        assert [a.tolist() for a in judgments.grades()] == [a.tolist() for a in from_file.grades()]

    lines = "".join(f"{t} Q0 {d} 0 {s!r} t\n" for t, d, s in retrieved)
    topics, docs, values = zip(*retrieved, strict=True)
    run = from_file.read_run(write(lines.encode()))
    assert rows(run) == expected(qrels, scores)
    assert run.retrieved.tolist() == [len(scores.get(topic, {})) for topic in sorted(qrels)]
    unjudged = sorted(topic.encode() for topic in scores.keys() - qrels.keys())
    assert (run.unjudged_topics, run.unjudged_topic_names) == (len(unjudged), unjudged[:10])
    assert same(run, from_file.rank_dict(scores))
    assert same(run, from_dict.rank_columns(column(topics), column(docs), np.array(values)))

    rounded = {t: {d: float(np.float32(s)) for d, s in docs.items()} for t, docs in scores.items()}
    single = from_file.read_run(write(lines.encode()), float32=True)
    assert rows(single) == expected(qrels, rounded)
    assert same(single, from_columns.rank_dict(scores, float32=True))


def test_threads_share_judgments(judgments: Judgments, write: Callable[..., str]) -> None:
    path = write(RUN)
    runs: list[JudgedRun] = []
    threads = [
        threading.Thread(target=lambda: runs.append(judgments.read_run(path))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 8
    assert all(same(run, runs[0]) for run in runs)
