"""Logs of requests: every form of a line, and what is wrong with it."""

from __future__ import annotations

import io
import math
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from calipers.data.errors import InputError
from calipers.data.request_log import parse_outcome, parse_score, read_requests


def rows(data: Any, *columns: str) -> list[tuple[Any, ...]]:
    return [request.values for block in read_requests(data, columns) for request in block]


class Pipe:
    """A standard input that gives what has arrived, in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.buffer, self.pieces = self, list(pieces)

    def read1(self, size: int) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0), (0.25, 0.25), (True, 1.0), ("pass", 1.0), (" Failed ", 0.0), ("0.5", 0.5),
        ("TRUE", 1.0), ("no", 0.0), ("1e-3", 0.001),
    ],
)  # fmt: skip
def test_scores(value: Any, expected: float) -> None:
    assert parse_score(value, "log:1") == expected


@pytest.mark.parametrize("value", [None, "", "  ", float("nan")])
def test_missing_scores(value: Any) -> None:
    assert math.isnan(parse_score(value, "log:1"))
    assert math.isnan(parse_outcome(value, "log:1"))


@pytest.mark.parametrize(
    "value", ["maybe", "nan", "inf", float("inf"), [1], {"a": 1}, b"1", 10**400]
)
def test_what_is_no_score(value: Any) -> None:
    with pytest.raises(InputError, match=r"^log:1: .* is not a score; expected a number"):
        parse_score(value, "log:1")


def test_outcomes() -> None:
    values = [parse_outcome(x, "log:1") for x in ("won", "Tie", "LOSS", 1, 0, -1, "-1", "draw")]
    assert values == [1, 0, -1, 1, 0, -1, -1, 0]
    with pytest.raises(InputError, match=r"log:1: the outcome is 2, expected won, lost or tied"):
        parse_outcome(2, "log:1")


def test_lines_of_a_pipe_are_read_as_they_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = (b'{"score": 1}\n{"sc', b'ore": 0}', b"\n", b'{"score": 0.5}')
    monkeypatch.setattr(sys, "stdin", Pipe(*pieces))
    blocks = [[r.values for r in block] for block in read_requests("-")]
    assert [block for block in blocks if block] == [[(1,)], [(0,)], [(0.5,)]]
    monkeypatch.setattr(sys, "stdin", Pipe(b"1\n0\nx\n"))
    locations = [r.location for block in read_requests("-") for r in block]
    assert locations == ["stdin:1", "stdin:2", "stdin:3"]


def test_a_line_of_a_pipe_may_be_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calipers.data.byte_sources.MAX_LINE_BYTES", 10)
    monkeypatch.setattr(sys, "stdin", Pipe(b"1\n" + b"2" * 20))
    with pytest.raises(InputError, match="stdin:2: the line is longer than"):
        rows("-")


@pytest.mark.parametrize(
    "pieces",
    [
        (b"1\n0", b"\n0.5\xe9\n"), (b"1\n", b"0\0\n"), (b"1\n0\n\xc3",), (b"\xff", b"\xfe1\0"),
        (b'{"score": 1}\n{"sc', b'\xc3\xa9": 0}\n'),
    ],
)  # fmt: skip
def test_a_pipe_has_the_messages_of_a_file(
    pieces: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"".join(pieces))
    monkeypatch.setattr(sys, "stdin", Pipe(*pieces))
    messages = []
    for name in ("-", str(file)):
        with pytest.raises(InputError) as error:
            rows(name)
        messages.append(str(error.value).replace(str(file), "stdin"))
    assert messages[0] == messages[1]
    assert messages[0].startswith("stdin:")


def test_a_byte_order_mark_may_arrive_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for pieces in ([b"\xef", b"\xbb\xbf", b"1\n"], [b"\xef\xbb\xbf", b"1\n"]):
        monkeypatch.setattr(sys, "stdin", Pipe(*pieces, b"0\n"))
        assert rows("-") == [("1",), ("0",)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_lines_of_a_named_pipe_are_read_as_they_arrive(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    has_first = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as stream:
            stream.write(b"1\n0\n")
            assert has_first.wait(20)
            stream.write(b"1\n")

    writer = threading.Thread(target=write)
    writer.start()
    blocks = read_requests(str(pipe))
    assert [request.values for request in next(blocks)] == [("1",), ("0",)]
    has_first.set()
    assert [request.values for block in blocks for request in block] == [("1",)]
    writer.join()


def test_standard_input_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,x\n\n0,y")))
    assert rows("-", "b", "a") == [("x", "1"), ("y", "0")]


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        (b"\xef\xbb\xbf1\r\n0\r\n", (), [("1",), ("0",)]),
        (b"score\n1\n", (), [("1",)]),
        (b"score\tarm\n1\ta,b\n", ("arm",), [("a,b",)]),
        (b'id,score\n"a,b",1\n', ("id",), [("a,b",)]),
        (b'"won"\nnull\n', (), [("won",), (None,)]),
        (b'{"outcome": "won", "id": 3}\n\n{"id": 4, "outcome": null}', (), [("won",), (None,)]),
        (b'{"only": 2}\n', (), [(2,)]),
        (b"", (), []),
    ],
)
def test_forms_of_lines(
    content: bytes, columns: tuple[str, ...], expected: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(content)
    assert rows(path, *columns) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\n\xff\n", "byte 0xff"),
        (b"1\n1\0\n", "holds a NUL byte"),
        (b"a,b\n1,2,3\n", "log.txt:2: has 3 fields, expected 2: a, b"),
        (b'a,b\n1,"2\n', "log.txt:2: is not a line of CSV"),
        (b'{"a": 1}\n{"a": 1,}\n', "log.txt:2: expected a JSON object"),
        (b'{"a": 1}\nnull\n', "log.txt:2: expected a JSON object, found None"),
        (b'{"a": 1}\n{"b": 1}\n', "log.txt:2: no column 'a'"),
        (b"a,a\n1,2\n", "log.txt:1: column 'a' appears more than once"),
    ],
)
def test_broken_lines(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        rows(path, "a")
    assert message in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: no such file"):
        rows(tmp_path / "none.csv", "a")
    with pytest.raises(InputError, match="is a directory"):
        rows(tmp_path, "a")


def test_rows_in_memory() -> None:
    assert rows([1, 0]) == [(1,), (0,)]
    assert rows(iter([{"a": 1}, {"a": 2}])) == [(1,), (2,)]
    assert rows({"a": [1, None], "b": ["x", "y"]}, "b", "a") == [("x", 1), ("y", None)]
    with pytest.raises(InputError, match="data: row 0: 3 is a single value, expected the columns"):
        rows([3], "a", "b")
    with pytest.raises(InputError, match="no column 'c'"):
        rows({"a": [1]}, "c")
