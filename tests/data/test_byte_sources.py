"""Tables from files, pipes and streams: text that is none, and files that are corrupt."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from calipers.data.byte_sources import MAX_LINE_BYTES, ByteSource, CheckedText, JsonLines
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError
from calipers.data.streams import Stream
from calipers.data.tables import column, combine_chunks, read_json, read_table

MEGABYTE = 1_000_000


def written(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", b'{"a": "x"}\n{"a": "caf\xe9"}\n', ":2: the byte 0xe9 after '{\"a\": \"caf' is not UTF-8"),
        ("key.jsonl", b'{"a": 1}\n{"caf\xe9": 1}\n', ":2: the byte 0xe9"),
        ("a.csv", b"a,b\n1,2\n3,caf\xe9\n", ":3: the byte 0xe9 after '3,caf' is not UTF-8"),
        ("head.csv", b"a,caf\xe9\n1,2\n", ":1: the byte 0xe9"),
        ("a.tsv", b"a\tb\n1\t\xe9\n", ":2: the byte 0xe9"),
        ("late.csv", b"a,b\n" + b"1,2\n" * 300_000 + b"3,\xe9\n", ":300002: the byte 0xe9"),
        ("cut.csv", b"a,b\n1,\xc3", ":2: the byte 0xc3"),
        ("packed.csv.gz", gzip.compress(b"a,b\n1,\xe9\n", mtime=0), ":2: the byte 0xe9"),
        ("nul.csv", b"a,b\n1,2\n3,\0\n", ":3: holds a NUL byte"),
        ("nul.jsonl", b'{"a": 1}\n\0\n', ":2: holds a NUL byte"),
        ("16.csv", "a,b\n1,2\n".encode("utf-16"), ": is UTF-16, expected UTF-8"),
        ("16.jsonl", '{"a": 1}\n'.encode("utf-16"), ": is UTF-16, expected UTF-8"),
        ("32.csv", "a,b\n1,2\n".encode("utf-32"), ": is UTF-32, expected UTF-8"),
        ("bomless.csv", "a,b\n1,2\n".encode("utf-16-le"), ":1: holds a NUL byte"),
        ("zeros.csv.gz", gzip.compress(bytes(50 * MEGABYTE), mtime=0), ":1: holds a NUL byte"),
        ("line.csv.gz", gzip.compress(b"a\n" + b"a" * (65 << 20), 1, mtime=0), ":2: the line is longer than 64 MiB"),
        ("line.jsonl.gz", gzip.compress(b"a" * (65 << 20), 1, mtime=0), ":1: the line is longer than 64 MiB"),
        ("none.jsonl", b'{"a": 1}\n\nfoo\n', ":3: expected a JSON object: Expecting value"),
        ("list.jsonl", b'{"a": 1}\n[1]\n', ":2: expected a JSON object, is list"),
        ("kinds.jsonl", b'{"a": 1}\n{"a": null}\n{"a": "x"}\n', ":3: 'a' is text, and a number in line 1"),
        ("twice.jsonl", b'{"a": 1}\n{"b": 1, "b": 2}\n', ":2: expected a JSON object: the key 'b' appears"),
        ("fields.csv", b"a,b\n1,2\n3,4,5\n", "Row #3: Expected 2 columns, got 3"),
        ("no.csv.gz", b"a,b\n1,2\n", ": is not compressed as its name says"),
        ("half.csv.gz", gzip.compress(b"a,b\n1,2\n" * 9999, mtime=0)[:-9], ": cannot be read as a table: Truncated"),
        ("old.feather", b"FEA1" + bytes(100), ": is Feather of version 1, which is no longer read"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_told_with_its_line(
    name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, data)
    with pytest.raises(InputError) as raised:
        read_table(path)
    assert str(raised.value).startswith(path)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a":\n "caf\xe9"}', ":2: the byte 0xe9"),
        (b'{"a":\n 1,}', ":2: is not valid JSON: "),
        ('{"a": 1}'.encode("utf-16"), ": is UTF-16, expected UTF-8"),
        (b'{"a": "\0"}', ":1: holds a NUL byte"),
        (b"[" * 100_000, ": cannot be read as JSON: "),
    ],
)
def test_json_that_is_none(data: bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", data)
    with pytest.raises(InputError) as raised:
        read_json(path)
    assert str(raised.value).startswith(path + message)


def test_a_mark_of_utf_8_is_no_part_of_the_text(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    for name, data in (("a.csv", b"a,b\n1,2\n"), ("a.jsonl", b'{"a": 1, "b": 2}\n')):
        assert read_table(written(tmp_path, name, mark + data)).to_pylist() == [{"a": 1, "b": 2}]
    assert read_json(written(tmp_path, "a.json", mark + b"[1]")) == [1]


class Endless:
    """A stream of one block over and over, which counts what is taken."""

    def __init__(self, block: bytes) -> None:
        self.block, self.taken = block, 0

    def read(self, size: int) -> bytes:
        self.taken += size
        return self.block * (size // len(self.block))


@pytest.mark.parametrize("size", [-1, 1 << 31])
@pytest.mark.parametrize(("block", "most"), [(b"a", MAX_LINE_BYTES), (b"a\n\0b", 0)])
def test_what_is_no_text_is_told_before_it_fills_the_memory(
    block: bytes, most: int, size: int
) -> None:
    endless: Any = Endless(block)
    with pytest.raises(InputError):
        CheckedText("a", endless, MAX_LINE_BYTES).read(size)
    assert endless.taken <= most + (1 << 20)


@pytest.mark.slow
def test_lines_may_end_as_they_like_and_be_many(tmp_path: Path) -> None:
    for end in (b"\n", b"\r"):
        rows = (b"1," + b"x" * 1000 + end) * 70_000
        table = read_table(written(tmp_path, "a.csv", b"a,b" + end + rows))
        assert table.num_rows == 70_000


def test_json_may_be_one_line_of_any_length(tmp_path: Path) -> None:
    text = b'["' + b"a" * (MAX_LINE_BYTES + 1) + b'"]'
    assert len(read_json(written(tmp_path, "a.json", text))[0]) == MAX_LINE_BYTES + 1


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        OSError("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"),
    ],
)
def test_a_lack_of_memory_stays_one(
    name: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(*_: object) -> bytes:
        raise error

    path = written(tmp_path, name, b'{"a": 1}\n')
    monkeypatch.setattr(CheckedText, "read", lack)
    with pytest.raises(MemoryError):
        (read_json if name == "a.json" else read_table)(path)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_fields_and_headers_of_ten_megabytes(suffix: str, tmp_path: Path) -> None:
    long, between = "ü" * (5 * MEGABYTE), "\t" if suffix == ".tsv" else ","
    rows = [{"y": 1, "id": "a"}, {"y": 0, "id": long}, {"y": 1, "id": "c"}]
    named = [{"y": 1, long: 2}]
    for given in (rows, named):
        if suffix == ".jsonl":
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in given)
        else:
            lines = [given[0], *(row.values() for row in given)]
            text = "".join(between.join(map(str, line)) + "\n" for line in lines)
        assert read_table(written(tmp_path, f"a{suffix}", text.encode())).to_pylist() == given
    with pytest.raises(InputError, match="no column 'p'") as raised:
        column(read_table(str(tmp_path / f"a{suffix}")), "p", "a")
    assert len(str(raised.value)) < 1000


def parquet_bytes(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def feather_bytes(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    feather.write_feather(table, stream)
    return stream.getvalue()


TABLE = pa.table({"y": [1, 0, 1], "id": ["a", "b", None]})
STREAMS: dict[str, bytes] = {
    "CSV": b"y,id\n1,a\n0,b\n1,\n",
    "tabs": b"y\tid\n1\ta\n0\tb\n1\t\n",
    "JSON Lines": b'{"y": 1, "id": "a"}\n{"y": 0, "id": "b"}\n{"y": 1}\n',
    "CSV by gzip": gzip.compress(b"y,id\n1,a\n0,b\n1,\n", mtime=0),
    "Parquet": parquet_bytes(TABLE),
    "Feather": feather_bytes(TABLE),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_streams_pipes_and_the_standard_input(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = STREAMS[kind]
    assert read_table(io.BytesIO(data)) == TABLE
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read_table("-") == TABLE
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    source = ByteSource.from_input(pipe)
    writer.join()
    assert read_table(source) == TABLE
    assert source.digest() == (len(data), hashlib.sha256(data).hexdigest())


def test_what_streams_do_not_hold() -> None:
    for stream, message in (
        (io.BytesIO(b""), "stream: the input is empty"),
        (io.BytesIO(b"a,b\n"), "stream: the table has no rows"),
        (io.StringIO("a,b\n1,2\n"), "stream: is a stream of text, expected one of bytes"),
        ("/dev/zero", "/dev/zero:1: holds a NUL byte, expected a table"),
    ):
        with pytest.raises(InputError) as raised:
            read_table(stream)  # type: ignore[arg-type]
        assert str(raised.value) == message


# --- Corrupt files --------------------------------------------------------------------------------


def several_kinds() -> pa.Table:
    rows = range(300)
    return pa.table(
        {
            "text": pa.array([f"id {n % 37} é" for n in rows]),
            "number": pa.array([None if n % 10 == 0 else n / 7 for n in rows]),
            "kind": pa.array([f"c{n % 5}" for n in rows]).dictionary_encode(),
            "list": pa.array([[f"x{m}" for m in range(n % 3)] for n in rows]),
            "truth": pa.array([n % 2 == 0 for n in rows]),
            "time": pa.array(rows, pa.timestamp("us")),
        }
    )


def as_feather(compression: str) -> Callable[[io.BytesIO], None]:
    return lambda stream: feather.write_feather(several_kinds(), stream, compression=compression)


def as_parquet(compression: str, **options: Any) -> Callable[[io.BytesIO], None]:
    return lambda stream: parquet.write_table(
        several_kinds(), stream, compression=compression, **options
    )


def as_batches(stream: io.BytesIO) -> None:
    table = several_kinds()
    with ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


CORRUPTIBLE: dict[str, tuple[str, Callable[[io.BytesIO], None]]] = {
    "Feather": ("feather", as_feather("uncompressed")),
    "Feather in batches": ("arrow", as_batches),
    "Feather, LZ4": ("feather", as_feather("lz4")),
    "Feather, Zstandard": ("feather", as_feather("zstd")),
    "Parquet": ("parquet", as_parquet("none")),
    "Parquet, Snappy": ("parquet", as_parquet("snappy")),
    "Parquet, gzip": ("parquet", as_parquet("gzip")),
    "Parquet, Zstandard": ("parquet", as_parquet("zstd", data_page_version="2.0")),
    "Parquet, plain": ("parquet", as_parquet("none", use_dictionary=False)),
    "Parquet, checksums": ("parquet", as_parquet("snappy", write_page_checksum=True)),
}
CORRUPTIONS = 25


def corrupted(data: bytes, seed: int) -> bytes:
    """With a few bits turned, bytes replaced, or some left out, near the ends as well."""
    chance, out = random.Random(seed), bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5])):
        ends = (*range(min(2000, len(out))), *range(max(0, len(out) - 2000), len(out)))
        place = chance.randrange(len(out)) if chance.random() < 0.6 else chance.choice(ends)
        way = chance.random()
        if way < 0.7:
            out[place] ^= 1 << chance.randrange(8)
        elif way < 0.9:
            out[place] = chance.choice([0, 127, 128, 255])
        else:
            del out[place : place + chance.randrange(1, 64)]
    return bytes(out)


def read_corrupted(kind: str) -> int:
    """How many of the corrupted files are refused; the rest is used. Run in another process,
    which a crash would end."""
    suffix, write = CORRUPTIBLE[kind]
    stream = io.BytesIO()
    write(stream)
    refused = 0
    for seed in range(CORRUPTIONS):
        Path(f"a.{suffix}").write_bytes(corrupted(stream.getvalue(), seed))
        try:
            table = read_table(f"a.{suffix}")
        except InputError:
            refused += 1
            continue
        for values in table.columns:
            with contextlib.suppress(InputError):  # a list is no label
                encode_labels(combine_chunks(values), "column")
    return refused


@pytest.mark.slow
def test_a_corrupt_file_is_an_error_and_no_crash(tmp_path: Path) -> None:
    code = (
        "import runpy, warnings; warnings.simplefilter('error')\n"
        f"tests = runpy.run_path({__file__!r})\n"
        "for kind in tests['CORRUPTIBLE']: print(kind, tests['read_corrupted'](kind), sep=': ')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"after {done.stdout}\n{done.stderr}"
    refused = dict(line.split(": ") for line in done.stdout.splitlines())
    assert list(refused) == list(CORRUPTIBLE)
    assert min(map(int, refused.values())) > 0, "some corruption should be found out"


@pytest.mark.slow
def test_the_command_says_that_a_file_is_corrupt(tmp_path: Path) -> None:
    """Offsets of text that point beyond it: Arrow reads them, and crashes where they are used."""
    table = pa.table({"y": [0, 1] * 8, "word": ["some text"] * 16})
    path = tmp_path / "a.feather"
    feather.write_feather(table, path, compression="uncompressed")
    data = path.read_bytes()
    offsets = b"".join((9 * n).to_bytes(4, "little") for n in range(17))
    assert data.count(offsets) == 1
    wrong = b"".join((2**30 + 9 * n).to_bytes(4, "little") for n in range(17))
    path.write_bytes(data.replace(offsets, wrong))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "calipers", "classification", str(path)),
            *("--truth", "word", "--predicted", "word"),
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert f"{path}: cannot be read as a table: " in done.stderr


def test_reading_warns_of_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind, data in STREAMS.items():
            assert read_table(io.BytesIO(data)).num_rows == 3, kind


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'null\n{"a": 1}\n', 1),
        (b' \t\r\n \t null {"a": 1}\n', 2),
        (b'\xef\xbb\xbfnull\n', 1),
        (b'{"a": 1}\n\nnull\n{"a": 2}\n', 3),
        (b'{"a": "x"}\n' * 200_000 + b'null\n', 200_001),
    ],
)  # fmt: skip
def test_a_line_that_is_null_is_told(text: bytes, line: int, tmp_path: Path) -> None:
    # Arrow would end the process, where such a line begins a block.
    path = written(tmp_path, "x.jsonl", text)
    message = f"x.jsonl:{line}: expected a JSON object, is null"
    with pytest.raises(InputError, match=message):
        read_table(path)
    with pytest.raises(InputError, match=message):
        list(Stream.from_input(path).batches(["a"]))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_null_is_found_however_it_is_cut(size: int) -> None:
    def read(text: bytes) -> bytes:
        stream = JsonLines("x", io.BytesIO(text))
        return b"".join(iter(lambda: stream.read(size), b""))

    fine = b'{"a": null}\nnul\n{"b": "\\nnull"}  null\n\n  nil'
    assert read(fine) == fine
    for before in (b"", b"\n", b'{"a": 1}\r\n\t  '):
        line = before.count(b"\n") + 1
        with pytest.raises(InputError, match=f"x:{line}: expected a JSON object, is null"):
            read(before + b"null\n")


@pytest.mark.parametrize("level", ['[{"y": [', "["])
def test_values_that_nest_deep_are_refused(level: str, tmp_path: Path) -> None:
    """Arrow would overflow its stack, also where the column is not read."""
    closing = level.replace('"y": ', "").translate(str.maketrans("[{", "]}"))[::-1]
    n_levels = 30_000 // (level.count("[") + level.count("{"))
    row = '{"a": 1, "x": ' + level * n_levels + closing * n_levels + "}\n"
    path = written(tmp_path, "x.jsonl", b'{"a": 0, "x": []}\n' + row.encode())
    message = "x.jsonl:2: a value nests more than 100 levels deep"
    with pytest.raises(InputError, match=message):
        read_table(path)
    with pytest.raises(InputError, match=message):
        list(Stream.from_input(path).batches(["a"]))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_levels_are_counted_however_text_is_cut(size: int) -> None:
    """Brackets in strings do not count, and those of a line that is not whole end with it."""

    def read(text: bytes) -> bytes:
        stream = JsonLines("x", io.BytesIO(text))
        return b"".join(iter(lambda: stream.read(size), b""))

    fine = b'{"a": "' + b"[" * 200 + b'\\"' + b"{" * 200 + b'", "b": [{}]}\n' * 3 + b'{"a": "[[\n'
    fine += b"[" * 99 + b"\n" + b'{"c": ' + b"[" * 99 + b"]" * 99 + b"}\n"
    assert read(fine) == fine
    with pytest.raises(InputError, match="x:8: a value nests more than 100 levels deep"):
        read(fine + b"\n" + b"[" * 101)


@pytest.mark.parametrize("change", ["grows", "shrinks", "is replaced", "is gone"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".jsonl"])
def test_a_file_that_changes_while_it_is_read_is_told(
    tmp_path: Path, suffix: str, change: str
) -> None:
    """Also if it can be read, as the digest of the input would be that of other rows."""
    path = tmp_path / f"rows{suffix}"
    table = pa.table({"a": range(1000), "b": range(1000)})
    lines = {
        ".csv": ["a,b", *(f"{i},{i}" for i in range(1000))],
        ".jsonl": [f'{{"a": {i}, "b": {i}}}' for i in range(1000)],
    }
    if suffix in lines:
        path.write_text("\n".join(lines[suffix]))
    else:
        {".parquet": parquet.write_table, ".feather": feather.write_feather}[suffix](table, path)
    content = path.read_bytes()

    def select(names: Sequence[str]) -> Sequence[str]:
        if change == "is replaced":
            (tmp_path / "new").write_bytes(content)
            (tmp_path / "new").replace(path)
            os.utime(path, (1, 1))
        elif change == "is gone":
            path.unlink()
        else:
            path.write_bytes(content * 2 if change == "grows" else content[: len(content) // 2])
        return names

    words = "No such file" if change == "is gone" else "changed since it was first read"
    with pytest.raises(InputError, match=rf"rows\{suffix}: .*{words}"):
        read_table(path, select_columns=select)


def test_a_file_that_changes_after_it_was_read_is_told_with_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n2\n")
    source = ByteSource.from_input(path)
    assert read_table(source).num_rows == 2
    assert source.digest() == (6, hashlib.sha256(b"a\n1\n2\n").hexdigest())
    path.write_text("a\n1\n2\n3\n")
    with pytest.raises(InputError, match="changed since it was first read"):
        source.digest()
    assert read_table(path).num_rows == 3  # as a new source
