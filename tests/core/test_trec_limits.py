"""What is no TREC file: it is refused at once, whatever its size."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from calipers._core import Judgments, read_rows

Read = Callable[[str], object]

JUDGMENTS = Judgments.from_dict({"q": {"d": 1}})
#: Every way to read a file, and the first line of one that is good so far.
READERS: dict[str, tuple[Read, bytes]] = {
    "judgments": (Judgments.from_file, b"q 0 d 1\n"),
    "lenient judgments": (lambda path: Judgments.from_file(path, lenient=True), b"q 0 d 1\n"),
    "run": (JUDGMENTS.read_run, b"q Q0 d 1 1 t\n"),
    "lenient run": (lambda path: JUDGMENTS.read_run(path, lenient=True), b"q Q0 d 1 1 t\n"),
    "rows of a run": (lambda path: read_rows(path, "run"), b"q Q0 d 1 1 t\n"),
    "groups": (lambda path: read_rows(path, "groups or prefs"), b"q g d 1\n"),
    "preferences": (lambda path: read_rows(path, "prefs"), b"q g p d 1\n"),
    "z-scores": (lambda path: read_rows(path, "zscores", lenient=True), b"q map 0.5 0.1\n"),
}
MEGABYTE = 1 << 20


def zstd(content: bytes) -> bytes:
    stored: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return stored


def wrong(read: Read, path: str) -> str:
    with pytest.raises(ValueError) as caught:
        read(path)
    return str(caught.value)


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> tuple[Read, bytes]:
    return READERS[request.param]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd])
def test_a_null_byte_in_the_beginning(
    reader: tuple[Read, bytes], tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    read, line = reader
    path = tmp_path / "file"
    for before, number in ((b"", 1), (b"nonsense\n" * 10, 11), (b"\xef\xbb\xbf", 1)):
        path.write_bytes(compress(before + b"PK\x03\x04\0\0\n" + b"\0\n" * 100))
        assert wrong(read, str(path)) == f"{path}:{number}: not a TREC file (binary data)"
    # Later it is a bad line like others.
    path.write_bytes(compress(b"q\n" + b"#" * 70_000 + b"\n" + line + b"\0\n"))
    assert f"{path}:4: not a TREC file (binary data)" in wrong(read, str(path)).split("\n")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd])
def test_a_line_has_a_limit(
    reader: tuple[Read, bytes], tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    read, line = reader
    path = tmp_path / "file"
    told = f"{path}:2: the line is longer than 1 MiB, the most that a line may have"
    for end in (b"", b"\n", b"\n" + line):
        path.write_bytes(compress(line + b"x" * (MEGABYTE + 1) + end))
        assert wrong(read, str(path)).split("\n")[0] == told
    topic = b"y" * (MEGABYTE + 2 - len(line))
    path.write_bytes(compress(line + topic + line[1:]))
    read(str(path))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no /dev/zero")
def test_a_device_without_an_end(reader: tuple[Read, bytes]) -> None:
    assert wrong(reader[0], "/dev/zero") == "/dev/zero:1: not a TREC file (binary data)"


CODE = """
import resource, sys
from calipers._core import Judgments, read_rows
judgments = Judgments.from_dict({"q": {"d": 1}})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for read in (Judgments.from_file, judgments.read_run, lambda path: read_rows(path, "run")):
    try:
        read(sys.argv[1])
    except ValueError as error:
        print(str(error).splitlines()[-1])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


def told_in_megabytes(path: str, **how: Any) -> tuple[list[str], int]:
    """What three ways to read a file say of it, and how much memory they took."""
    command = [sys.executable, "-c", CODE, path]
    done = subprocess.run(command, capture_output=True, check=True, **how)
    *told, megabytes = done.stdout.decode().splitlines()
    return told, int(megabytes)


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the memory used is that of Linux")
@pytest.mark.parametrize("compress", [gzip.compress, zstd])
@pytest.mark.parametrize(
    ("start", "byte", "told"),
    [
        (b"", b"\0", ":1: not a TREC file (binary data)"),
        (b"q Q0 d 1 1 t\n", b"x", ":2: the line is longer than 1 MiB, the most that a line may have"),
        (b"# nothing yet" + b"." * 70_000, b"\0", ":1: not a TREC file (binary data)"),
    ],
)  # fmt: skip
def test_ten_gigabytes_in_a_small_file(
    tmp_path: Path, compress: Callable[[bytes], bytes], start: bytes, byte: bytes, told: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(compress(start) + compress(byte * 16 * MEGABYTE) * 640)
    found, megabytes = told_in_megabytes(str(path))
    assert found == [f"{path}{told}"] * 3
    assert megabytes < 100


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the memory used is that of Linux")
def test_standard_input_without_an_end() -> None:
    with Path("/dev/zero").open("rb") as zeros:
        found, megabytes = told_in_megabytes("-", stdin=zeros)
    assert set(found) == {"<stdin>:1: not a TREC file (binary data)"}
    assert megabytes < 100


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_without_an_end(reader: tuple[Read, bytes], tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def fill() -> None:
        try:
            with path.open("wb") as pipe:
                while True:
                    pipe.write(b"x" * MEGABYTE)
        except BrokenPipeError:
            pass

    filling = threading.Thread(target=fill)
    filling.start()
    assert re.fullmatch(
        rf"{path}:1: the line is longer than 1 MiB, .*", wrong(reader[0], str(path))
    )
    filling.join()
