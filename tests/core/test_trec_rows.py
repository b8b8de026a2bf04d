"""Rows of a file as columns against a plain reading of its lines."""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers._core import read_rows

Write = Callable[[bytes], str]

NAMES = {
    "run": ["topic", "iteration", "doc", "rank", "score", "tag"],
    "qrels": ["topic", "iteration", "doc", "grade"],
    "groups": ["topic", "group", "doc", "level"],
    "prefs": ["topic", "group", "part", "doc", "level"],
}
TYPES: dict[str, type] = {"score": np.float64, "grade": np.int64, "level": np.float64}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: bytes) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.txt"
        path.write_bytes(content)
        return str(path)

    return write


def texts(column: tuple[np.ndarray, np.ndarray]) -> list[bytes]:
    offsets, data = column
    assert [offsets.dtype, data.dtype] == [np.dtype(np.int64), np.dtype(np.uint8)]
    raw = data.tobytes()
    return [raw[a:b] for a, b in pairwise(offsets.tolist())]


def table(kind: Any, path: str, **how: Any) -> list[tuple[Any, ...]]:
    """Rows with their lines."""
    columns = read_rows(path, kind, **how)
    assert list(columns["line"].dtype.descr) == [("", "<i8")]
    assert columns.keys() == {*NAMES[kind], "line", "source"}
    for name, wanted in TYPES.items():
        assert name not in columns or columns[name].dtype == wanted
    by_name = [
        columns[name].tolist() if name in TYPES else texts(columns[name]) for name in NAMES[kind]
    ]
    return list(zip(*by_name, columns["line"].tolist(), strict=True))


LINES = {
    "run": b"q1 Q0 d\xff 1 3.5 tag\n\n# c\n q2\t0\td2  07 -1e3 other and more\r\n",
    "qrels": b"q1 0 d\xff 1\n\n# c\n q2\tx\td2  -3\r\n",
    "groups": b"q1 0 d\xff 1\n\n# c\n q2\tx\td2  -2.5e1\r\n",
    "prefs": b"q1 0 p d\xff 1\n\n# c\n q2\tx\ty\td2  0.5\r\n",
}
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "run": [
        (b"q1", b"Q0", b"d\xff", b"1", 3.5, b"tag", 1),
        (b"q2", b"0", b"d2", b"07", -1000.0, b"other", 4),
    ],
    "qrels": [(b"q1", b"0", b"d\xff", 1, 1), (b"q2", b"x", b"d2", -3, 4)],
    "groups": [(b"q1", b"0", b"d\xff", 1.0, 1), (b"q2", b"x", b"d2", -25.0, 4)],
    "prefs": [(b"q1", b"0", b"p", b"d\xff", 1.0, 1), (b"q2", b"x", b"y", b"d2", 0.5, 4)],
}


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("stored", [bytes, gzip.compress, lambda text: b"\xef\xbb\xbf" + text])
def test_rows(write: Write, kind: Any, stored: Callable[[bytes], bytes]) -> None:
    path = write(stored(LINES[kind]))
    assert table(kind, path) == ROWS[kind]
    content = Path(path).read_bytes()
    assert read_rows(Path(path), kind)["source"] == {
        "lines": 4,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def test_many_rows(write: Write) -> None:
    """More than a block, and lines that blocks cut."""
    count = 300_000
    text = b"".join(b"q%d Q0 doc-%d %d %d.25 t\n" % (i % 7, i, i, -i) for i in range(count))
    assert len(text) > 2 * 2**22
    columns = read_rows(write(b"#\n" + text), "run")
    assert columns["line"].tolist() == list(range(2, count + 2))
    assert columns["score"].tolist() == [-i - 0.25 if i else 0.25 for i in range(count)]
    assert texts(columns["doc"]) == [b"doc-%d" % i for i in range(count)]
    assert texts(columns["topic"]) == [b"q%d" % (i % 7) for i in range(count)]


def test_lenient(write: Write) -> None:
    assert table("qrels", write(b"q 0 d 1.9\nq 0 d x\n"), lenient=True) == [
        (b"q", b"0", b"d", 1, 1),
        (b"q", b"0", b"d", 0, 2),
    ]
    assert table("groups", write(b"q\v0 d 1.9x\n"), lenient=True) == [(b"q", b"0", b"d", 1.9, 1)]
    assert table("prefs", write(b"#\nq 0 0 d inf\n"), lenient=True) == [
        (b"q", b"0", b"0", b"d", np.inf, 2)
    ]
    kinds: list[Any] = ["qrels", "groups", "prefs"]
    for kind in kinds:
        with pytest.raises(ValueError, match=r":1: 0 fields \(a blank line\), expected"):
            read_rows(write(b"\n"), kind, lenient=True)


def test_the_first_line_tells_groups_from_preferences(write: Write) -> None:
    both: Any = "groups or prefs"
    for first in (b"", b"\xef\xbb\xbf", b"# one two three\n\n", b"#\n" * 50_000):
        groups = read_rows(write(first + b"q g d 1\n"), both)
        assert ("part" in groups, groups["level"].tolist()) == (False, [1.0])
    for first in (b"", b"\xef\xbb\xbf", b"# one two three\n\n"):
        prefs = read_rows(write(first + b"q g p d 1\n"), both)
        assert (texts(prefs["part"]), prefs["level"].tolist()) == ([b"p"], [1.0])


def test_means_and_deviations(write: Write) -> None:
    rows = read_rows(write(b"q map 0.5 0.1\n# x 1 2\n"), "zscores", lenient=True)
    names = ("topic", "measure", "mean", "deviation")
    columns = [texts(rows[name]) for name in names]
    assert list(zip(*columns, strict=True)) == [
        (b"q", b"map", b"0.5", b"0.1"),
        (b"#", b"x", b"1", b"2"),
    ]
    for line in (b"q map 0.5", b"q map 0.5 0.1 1", b""):
        with pytest.raises(ValueError, match=r":1: . fields?.*expected 4: topic measure mean"):
            read_rows(write(line + b"\n"), "zscores", lenient=True)


@pytest.mark.parametrize(
    ("kind", "line", "wrong"),
    [
        ("run", b"q Q0 d 1 nan t", "score is NaN"),
        ("run", b"q Q0 d 1 1", "5 fields, expected 6: topic Q0 document rank score tag"),
        ("qrels", b"q 0 d 1.5", 'grade "1.5" is not an integer'),
        ("qrels", b"q 0 d 3000000000", 'grade "3000000000" is out of range'),
        ("groups", b"q 0 d", "3 fields, expected 4: topic group document level"),
        ("groups", b"q 0 0 d 1", "5 fields, expected 4: topic group document level"),
        ("groups", b"q 0 d x", 'level "x" is not a number'),
        ("groups", b"q 0 d -inf", "level is infinite"),
        ("groups", b"q 0 d 1e999", 'level "1e999" is too large'),
        ("prefs", b"q 0 d 1", "4 fields, expected 5: topic group part document level"),
        ("prefs", b"q 0 p d NaN", "level is NaN"),
    ],
)
def test_bad_lines(write: Write, kind: Any, line: bytes, wrong: str) -> None:
    path = write(LINES[kind] + line + b"\n" + line)
    with pytest.raises(ValueError) as caught:
        read_rows(path, kind)
    told = str(caught.value).split("\n")
    assert [text.startswith(f"{path}:{at}: {wrong}") for at, text in enumerate(told, 5)] == [
        True
    ] * 2


def test_nothing_to_read(write: Write, tmp_path: Path) -> None:
    for content in (b"", b"\n\n", b"# only\n"):
        path = write(content)
        with pytest.raises(ValueError, match=f"^{re.escape(path)}: no lines$"):
            read_rows(path, "run")
    with pytest.raises(FileNotFoundError) as caught:
        read_rows(tmp_path / "missing", "run")
    assert caught.value.filename == str(tmp_path / "missing")
    with pytest.raises(ValueError, match=r'^kind is "rows", expected "run", "qrels", "groups", '):
        read_rows(tmp_path, "rows")  # type: ignore[arg-type]


def test_standard_input(write: Write) -> None:
    code = (
        "import sys; from calipers._core import read_rows\n"
        "rows = read_rows('-', 'qrels'); print(rows['grade'].tolist(), rows['source']['bytes'])"
    )
    command = [sys.executable, "-c", code]
    text = LINES["qrels"]
    piped = subprocess.run(command, input=text, capture_output=True, check=True)
    assert piped.stdout.split() == [b"[1,", b"-3]", str(len(text)).encode()]
    with Path(write(text)).open("rb") as file:
        redirected = subprocess.run(command, stdin=file, capture_output=True, check=True)
    assert redirected.stdout == piped.stdout
    wrong = subprocess.run(command, input=b"q 0 d\n", capture_output=True, check=False)
    assert b"ValueError: <stdin>:1: 3 fields, expected 4" in wrong.stderr
