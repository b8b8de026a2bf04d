"""Streams: the rows of a table whatever the batches, and what is wrong with files of it."""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, feather, ipc, parquet

from calipers.data import batch_sources
from calipers.data.errors import InputError
from calipers.data.streams import Batch, Stream, free_memory, is_large, memory_budget
from calipers.data.tables import read_table

N = 1000
DRAWN = np.random.default_rng(1)
TABLE = pa.table(
    {
        "id": np.arange(N),
        "score": DRAWN.random(N).round(3),
        "label": pa.array(["a", "é", None, "long enough"] * (N // 4)),
        "yes": pa.array([True, False, True, None] * (N // 4)),
        "day": pa.array(["2024-01-01", "2024-02-03"] * (N // 2)),
    }
)
COLUMNS = TABLE.column_names


def stored(write: Callable[[pa.Table, Any], Any], table: pa.Table) -> bytes:
    out = io.BytesIO()
    write(table, out)
    return out.getvalue()


def as_csv(table: pa.Table, delimiter: str = ",") -> bytes:
    options = csv.WriteOptions(delimiter=delimiter)
    return stored(lambda t, out: csv.write_csv(t, out, options), table)


def as_lines(table: pa.Table) -> bytes:
    return pd.DataFrame(table.to_pylist()).to_json(orient="records", lines=True).encode()


def as_ipc(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    return out.getvalue()


def as_parquet(table: pa.Table, **options: Any) -> bytes:
    return stored(lambda t, out: parquet.write_table(t, out, **options), table)


def encoded(table: pa.Table) -> pa.Table:
    """With dictionaries that differ by chunk."""
    pieces = [table.slice(0, 2), table.slice(2, 500), table.slice(502)]
    place = table.schema.get_field_index("label")
    return pa.concat_tables(
        piece.set_column(place, "label", piece["label"].combine_chunks().dictionary_encode())
        for piece in pieces
    )


FILES = {
    "a.parquet": as_parquet(TABLE, row_group_size=77, write_page_checksum=True),
    "a.parq": as_parquet(encoded(TABLE), row_group_size=300),
    "a.feather": stored(lambda t, out: feather.write_feather(t, out, chunksize=130), TABLE),
    "a.arrow": stored(feather.write_feather, encoded(TABLE).unify_dictionaries()),
    "a.csv": as_csv(TABLE),
    "a.csv.gz": gzip.compress(as_csv(TABLE)),
    "a.tsv": as_csv(TABLE, "\t"),
    "a.jsonl": as_lines(TABLE),
}  # fmt: skip


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text in blocks of a few rows."""
    monkeypatch.setattr(batch_sources, "HEAD_BYTES", 4096)
    monkeypatch.setattr(batch_sources, "BLOCK_BYTES", 2048)


def written(folder: Path, name: str, data: bytes | pa.Table) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_parquet(data) if isinstance(data, pa.Table) else data)
    return str(path)


def plain(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def together(batches: list[Batch], name: str) -> pa.Array:
    return pa.concat_arrays([batch.columns[name] for batch in batches])


def check(stream: Stream, expected: pa.Table, rows: int, columns: list[str] | None = None) -> None:
    """That batches have the rows in order, so many each, and nothing else."""
    columns = columns or COLUMNS
    batches = list(stream.batches(columns, rows))
    total = expected.num_rows
    assert [batch.n_rows for batch in batches[:-1]] == [rows] * (len(batches) - 1)
    assert 0 < batches[-1].n_rows <= rows
    assert [batch.first_row for batch in batches] == list(range(0, total, rows))
    for name in columns:
        assert together(batches, name).equals(plain(expected[name])), name
    for batch in batches:
        assert list(batch.columns) == columns
        assert {len(array) for array in batch.columns.values()} == {batch.n_rows}


@pytest.mark.parametrize("rows", [1, 7, 77, 300, N - 1, N, N + 1])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("small_blocks")
def test_every_format_has_the_rows_of_the_table(name: str, rows: int, tmp_path: Path) -> None:
    path = written(tmp_path, name, FILES[name])
    stream = Stream.from_input(path)
    assert stream.names == tuple(COLUMNS)
    assert stream.files == (path,) == (stream.name,)
    assert stream.n_rows == (None if name.startswith(("a.csv", "a.tsv", "a.json")) else N)
    assert stream.is_rereadable
    for columns in (COLUMNS, ["label"], ["yes", "id"]):
        check(stream, read_table(path), rows, columns)


@pytest.mark.parametrize(
    "given",
    [
        TABLE,
        encoded(TABLE),
        pl.DataFrame(TABLE.to_pydict()),
        TABLE.to_pydict(),
        TABLE.to_pandas(),
        dataset.dataset(TABLE),
    ],
    ids=lambda given: type(given).__module__,
)
def test_tables_in_memory(given: Any) -> None:
    stream = Stream.from_input(given)
    assert (stream.is_rereadable, stream.files) == (True, ())
    for _ in range(2):
        for rows in (7, N):
            batches = list(stream.batches(COLUMNS, rows))
            found = {name: together(batches, name).to_pylist() for name in COLUMNS}
            assert found == TABLE.to_pydict()


def test_a_dataset_keeps_its_filter_and_its_partitions(tmp_path: Path) -> None:
    for name in ("x=1/a.parquet", "x=2/b.parquet", "x=2/a.parquet"):
        written(tmp_path, name, TABLE)
    found = dataset.dataset(tmp_path, partitioning="hive")
    columns = [*COLUMNS, "x"]
    check(Stream.from_input(found), found.to_table(), 170, columns)
    part = found.filter((dataset.field("x") == 2) & (dataset.field("id") < 7))
    check(Stream.from_input(part), part.to_table(), 5, columns)
    [batch] = Stream.from_input(part).batches(["id"])
    assert batch.origin == f"{tmp_path}/x=2/a.parquet to {tmp_path}/x=2/b.parquet"
    stream = Stream.from_input(found)
    written(tmp_path, "x=1/a.parquet", TABLE.slice(1))
    with pytest.raises(InputError, match=r"x=1/a.parquet: the file changed"):
        list(stream.batches(["id"]))


def parted(folder: Path, suffix: str = ".csv") -> list[str]:
    """Three files, in the order of their names."""
    write: Callable[[pa.Table], bytes] = as_csv if suffix == ".csv" else as_parquet
    cuts = (("b", 0, 10), ("d", 10, 500), ("e", 510, 490))
    return [written(folder, f"{n}{suffix}", write(TABLE.slice(at, k))) for n, at, k in cuts]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_several_files_in_an_order(suffix: str, tmp_path: Path) -> None:
    paths = parted(tmp_path, suffix)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".b.csv.crc").touch()
    (tmp_path / "readme.txt").touch()
    expected = read_table(written(tmp_path / "_all", f"a{suffix}", FILES[f"a{suffix}"]))
    for given in (str(tmp_path), tmp_path / f"*{suffix}", paths, tuple(map(Path, paths))):
        stream = Stream.from_input(given)
        assert stream.files == tuple(paths)
        check(stream, expected, 64)
    assert Stream.from_input(paths).name == f"{paths[0]} and 2 more"
    backwards = list(Stream.from_input(paths[::-1]).batches(["id"]))
    assert together(backwards, "id").to_pylist() == [*range(510, N), *range(10, 510), *range(10)]
    batches = [batch.origin for batch in Stream.from_input(paths).batches(["id"], rows=300)]
    assert batches == [f"{paths[0]} to {paths[1]}", f"{paths[1]} to {paths[2]}", paths[2], paths[2]]


def test_a_star_in_the_name_of_a_file_is_its_name(tmp_path: Path) -> None:
    written(tmp_path, "ab.csv", b"a\n1\n")
    path = written(tmp_path, "a*.csv", b"a\n2\n")
    assert Stream.from_input(path).files == (path,)
    with pytest.raises(InputError, match=r"x\*\.csv: no file matches"):
        Stream.from_input(tmp_path / "x*.csv")


def test_partitions_are_columns(tmp_path: Path) -> None:
    for year, lang, count in ((2023, "en", 3), (2024, "a%20b", 2), (2024, "en", 4)):
        written(tmp_path, f"year={year}/lang={lang}/0.parquet", TABLE.slice(0, count))
    expected = dataset.dataset(tmp_path, partitioning="hive").to_table().sort_by("year")
    stream = Stream.from_input(tmp_path)
    assert stream.names == (*COLUMNS, "year", "lang")
    assert stream.n_rows == 9
    batches = list(stream.batches(["year", "id", "lang"], rows=4))
    assert together(batches, "year").equals(plain(expected["year"]))
    assert together(batches, "lang").to_pylist() == ["en"] * 3 + ["a b"] * 2 + ["en"] * 4
    alone = list(stream.batches(["lang"], rows=100))
    assert together(alone, "lang").equals(together(batches, "lang"))
    assert stream.estimate_bytes(["year", "id"]) == 9 * (4 + 8)


def test_types_hold_the_values_of_all_files(tmp_path: Path) -> None:
    whole = written(tmp_path, "1.csv", b"a,b,c,d,e\n1,x,,007,\n")
    other = written(tmp_path, "2.csv", b"c,b,a,d,e\n1.5,,2.5,x,\n")
    stream = Stream.from_input([whole, other])
    [batch] = stream.batches(["a", "b", "c", "d", "e"])
    assert {name: array.to_pylist() for name, array in batch.columns.items()} == {
        "a": [1.0, 2.5], "b": ["x", None], "c": [None, 1.5], "d": ["007", "x"], "e": [None, None],
    }  # fmt: skip
    text = Stream.from_input([whole, other], text=["a"])
    assert [b.columns["a"].to_pylist() for b in text.batches(["a"])] == [["1", "2.5"]]
    narrow = written(tmp_path, "3.parquet", pa.table({"a": pa.array([3], pa.float32())}))
    [batch] = Stream.from_input([whole, narrow]).batches(["a"])
    assert batch.columns["a"].equals(pa.array([1.0, 3.0]))


def test_float32_stays_float32(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([0.1, 0.2], pa.float32()), "t": pa.array([1, 0], pa.int8())})
    [batch] = Stream.from_input(written(tmp_path, "a.parquet", table)).batches(["a", "t"])
    assert batch.columns["a"].type == pa.float32()
    assert batch.columns["t"].type == pa.int8()


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    first = written(tmp_path, "1.parquet", pa.table({"a": [1], "b": [1]}))
    second = written(tmp_path, "2.parquet", pa.table({"a": ["x"]}))
    with pytest.raises(
        InputError, match=r"2\.parquet: column 'a' is string, and int64 in .*1\.parquet; expected"
    ):
        Stream.from_input([first, second])
    third = written(tmp_path, "3.parquet", pa.table({"a": [2]}))
    stream = Stream.from_input([first, third])
    assert stream.names == ("a", "b")
    assert [batch.n_rows for batch in stream.batches(["a"])] == [2]
    with pytest.raises(InputError, match=r"3\.parquet: no column 'b', which .*1\.parquet has"):
        stream.batches(["a", "b"])
    with pytest.raises(InputError, match=r"1\.parquet: the file is given more than once"):
        Stream.from_input([first, third, str(tmp_path / "1*")])
    large = written(tmp_path, "4.parquet", pa.table({"a": [2**53 + 1]}))
    halves = written(tmp_path, "5.parquet", pa.table({"a": [0.5]}))
    with pytest.raises(InputError, match=r"4\.parquet: column 'a': Integer value 9007199254740993"):
        list(Stream.from_input([halves, large]).batches(["a"]))


def test_ordered_categories_stay_in_order(tmp_path: Path) -> None:
    levels = pd.Categorical(["low", "high", "low"], ["low", "mid", "high"], ordered=True)
    table = pa.Table.from_pandas(pd.DataFrame({"a": levels}))
    path = written(tmp_path, "a.feather", stored(feather.write_feather, table))
    for given in (path, table):
        batches = list(Stream.from_input(given).batches(["a"], rows=2))
        found = together(batches, "a")
        assert found.type.ordered
        assert found.dictionary.to_pylist() == ["low", "mid", "high"]
        assert found.to_pylist() == list(levels)
    kind = table.schema.field("a").type
    none = pa.DictionaryArray.from_arrays(
        pa.array([], kind.index_type), pa.array([], pa.string()), ordered=True
    )
    parts = [pa.record_batch({"a": none}), *table.replace_schema_metadata().to_batches()]
    [batch] = Stream.from_input(pa.RecordBatchReader.from_batches(parts[0].schema, parts)).batches(
        ["a"]
    )
    assert batch.n_rows == 3
    fewer = pa.table({"a": pa.array(pd.Categorical(["low"], ["low", "high"], ordered=True))})
    other = written(tmp_path, "b.feather", stored(feather.write_feather, fewer))
    with pytest.raises(InputError, match=r"b\.feather: column 'a' has the ordered categories"):
        list(Stream.from_input([path, other]).batches(["a"]))


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.parquet", as_parquet(TABLE)[:-20], ": cannot be read as a table: "),
        ("a.parquet", flipped(as_parquet(TABLE, write_page_checksum=True, compression="none"), 3000), "CRC checksum"),
        ("a.feather", FILES["a.feather"][:300], ": cannot be read as a table: "),
        ("a.feather", b"FEA1" + bytes(100), ": is Feather of version 1"),
        ("a.csv", b"", ": the file is empty"),
        ("a.csv", b"id,score\n", ": the table has no rows"),
        ("a.parquet", as_parquet(TABLE.slice(0, 0)), ": the table has no rows"),
        ("a.csv", b"id,score\n1,2\n3\n", "Expected 2 columns, got 1"),
        ("a.csv", b"id,score\n1,2\n\xff,3\n", ":3: the byte 0xff after '' is not UTF-8".replace(" after ''", "")),
        ("a.csv", b"id,score\n1,2\n" * 900 + b"\0,3\n", ":1801: holds a NUL byte"),
        ("a.csv", b"id,id\n1,2\n", ": column 'id' appears more than once"),
        ("a.jsonl", b'{"id": 1}\n' * 900 + b'{"id": "x"}\n', ":901: 'id' is text, and a number in line 1"),
        ("a.jsonl", b'{"id": 1}\n' * 900 + b"foo\n", ":901: expected a JSON object"),
        ("a.jsonl", b'{"id": 1}\n' * 900 + b'{"id": 0.5}\n', "couldn't parse:0.5; where text is read in batches"),
        ("a.csv", b"x,id\ny,1\n" + b"z,2\n" * 3000 + b"w,0.5\n", ": row 3001: column 'id': '0.5' is not of type int64, as"),
        ("a.csv", b"id\n" + b"1\n" * 9 + b"1" * 9000, ": a row is longer than 0 MiB"),
        ("a.csv.gz", gzip.compress(b"id\n1\n" * 9999)[:-9], ": cannot be read as a table: Truncated"),
        ("a.csv.gz", b"id\n1\n", ": is not compressed as its name says"),
        ("a.txt", b"id\n1\n", ": unknown kind of table; expected .csv"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("small_blocks")
def test_what_is_wrong_is_told_with_the_file(
    name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, data)
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        list(Stream.from_input(path).batches(["id"]))
    assert str(raised.value).startswith(path)


@pytest.mark.slow
def test_corrupt_files_are_errors_wherever_they_are(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.feather"):
        data = FILES[name]
        for at in range(9, len(data), 211):
            path = written(tmp_path, name, flipped(data, at))
            with suppress(InputError):  # or else what nobody can tell from what was meant
                list(Stream.from_input(path).batches(COLUMNS))


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_text_that_is_not_utf_8(name: str, tmp_path: Path) -> None:
    given = pa.array([b"a", b"caf\xe9"], pa.binary()).buffers()
    wrong = pa.table({"id": pa.StringArray.from_buffers(2, given[1], given[2])})
    write = parquet.write_table if name == "a.parquet" else feather.write_feather
    path = written(tmp_path, name, stored(write, wrong))
    with pytest.raises(InputError, match=f"{name}: cannot be read as a table: Invalid UTF8"):
        list(Stream.from_input(path).batches(["id"]))


def test_what_is_no_stream(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no.csv: no such file"):
        Stream.from_input(tmp_path / "no.csv")
    with pytest.raises(InputError, match="there is no table in the directory"):
        Stream.from_input(tmp_path)
    with pytest.raises(InputError, match="3 is not a table; expected the path"):
        Stream.from_input(3)
    with pytest.raises(InputError, match="is a stream of text, expected one of bytes"):
        Stream.from_input(io.StringIO("a\n1\n"))
    double = pa.table([[1], [2]], names=["id", "id"])
    for given in (double, double.to_reader(), io.BytesIO(as_ipc(double)), dataset.dataset(double)):
        with pytest.raises(InputError, match="column 'id' appears more than once"):
            Stream.from_input(given)
    stream = Stream.from_input(TABLE)
    with pytest.raises(InputError, match="the table: no column 'scor'; did you mean 'score'"):
        stream.batches(["scor"])
    for columns, rows in (([], 1), (["id"], 0)):
        with pytest.raises(ValueError, match="at least one column, and at least one row"):
            stream.batches(columns, rows)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.csv"])
def test_a_file_that_changes_between_passes(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, FILES[name])
    stream = Stream.from_input([path])
    check(stream, read_table(path), 400)
    check(stream, read_table(path), 400)
    stamp = Path(path).stat()
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    with pytest.raises(InputError, match=f"{name}: the file changed since it was first read"):
        list(stream.batches(["id"]))
    Path(path).unlink()
    with pytest.raises(InputError, match=f"{name}: No such file"):
        list(stream.batches(["id"]))


PIPED = {
    "CSV": FILES["a.csv"],
    "CSV, packed": FILES["a.csv.gz"],
    "TSV": FILES["a.tsv"],
    "JSON Lines": FILES["a.jsonl"],
    "Arrow": as_ipc(TABLE),
}


@contextmanager
def piped(folder: Path, content: bytes) -> Iterator[str]:
    """A named pipe that somebody writes to, some bytes at a time."""
    path = folder / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as pipe, suppress(BrokenPipeError):
            for begin in range(0, len(content), 4000):
                pipe.write(content[begin : begin + 4000])

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield str(path)
    writer.join(10)
    assert not writer.is_alive()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("form", PIPED)
@pytest.mark.usefixtures("small_blocks")
def test_pipes_are_read_once(form: str, tmp_path: Path) -> None:
    with piped(tmp_path, PIPED[form]) as path:
        stream = Stream.from_input(path)
        assert (stream.is_rereadable, stream.n_rows, stream.name) == (False, None, path)
        check(stream, TABLE_OF[form], 150)
    with pytest.raises(InputError, match="pipe: can be read only once, and has been"):
        stream.batches(["id"])


@pytest.mark.parametrize("form", PIPED)
def test_streams_of_bytes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(Stream.from_input(io.BytesIO(PIPED[form])), TABLE_OF[form], 150)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PIPED[form])))
    stream = Stream.from_input("-")
    assert stream.name == "stdin"
    check(stream, TABLE_OF[form], 150)


TABLE_OF = {
    form: TABLE if form == "Arrow" else read_table(io.BytesIO(data)) for form, data in PIPED.items()
}


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_what_needs_a_file_says_so(name: str) -> None:
    with pytest.raises(InputError, match="Parquet and Feather cannot be read from a pipe"):
        Stream.from_input(io.BytesIO(FILES[name]))
    with pytest.raises(InputError, match="stream: the input is empty"):
        Stream.from_input(io.BytesIO())


def test_readers_of_batches_are_read_once() -> None:
    stream = Stream.from_input(TABLE.to_reader(max_chunksize=33))
    assert not stream.is_rereadable
    check(stream, TABLE, 150)
    with pytest.raises(InputError, match="the batches: can be read only once"):
        stream.batches(["id"])


def readers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("calipers-read")]


def test_no_thread_is_left(tmp_path: Path) -> None:
    stream = Stream.from_input(written(tmp_path, "a.parquet", FILES["a.parquet"]))
    batches = stream.batches(["id"], rows=10)
    next(batches)
    assert readers()
    batches.close()  # type: ignore[attr-defined]
    assert not readers()
    for batch in stream.batches(["id"], rows=10):
        assert batch.first_row == 0
        break
    assert not readers()


def test_one_batch_is_read_ahead() -> None:
    taken: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(100):
            taken.append(number)
            yield pa.record_batch({"id": [number]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    for batch in Stream.from_input(reader).batches(["id"], rows=1):
        time.sleep(0.001)
        assert len(taken) <= batch.first_row + 3


INTERRUPTED = """
    import os, signal, sys, threading, time
    from calipers.data.streams import Stream

    def interrupt(after):
        threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()

    where = sys.argv[2]
    try:
        stream = Stream.from_input(sys.argv[1])
        for batch in stream.batches(["id"]):
            if batch.first_row == 0:
                interrupt(0.05)
            if where == "between":
                time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted")
    print([t.name for t in threading.enumerate() if "calipers" in t.name], flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("where", ["opened", "waiting", "between"])
def test_an_interrupt_ends_it_at_once(where: str, tmp_path: Path) -> None:
    """Whether one waits for a pipe that nobody writes to any more, or does something else."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(path), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            with path.open("wb", buffering=0) as pipe:
                pipe.write(b"id\n" + (b"" if where == "opened" else b"1\n" * 3_000_000))
                if where == "opened":
                    time.sleep(0.1)
                    child.send_signal(signal.SIGINT)
                out, error = child.communicate(timeout=30)  # while the pipe is open
        finally:
            child.kill()
    assert (out.decode(), error.decode()) == ("interrupted\n[]\n", "")
    assert child.returncode == 0


def test_budget() -> None:
    for given, expected in {
        "2 GB": 2 * 10**9, "512MiB": 1 << 29, "1.5g": 1_500_000_000, 7: 7, "7": 7, "7b": 7,
        "1 TiB": 1 << 40, ".5k": 500, "3gb": 3 * 10**9,
    }.items():  # fmt: skip
        assert memory_budget(given) == expected  # type: ignore[arg-type]
    for wrong in ("", "x", "-1", "0", 0, -5, True, "1 PB", "1e9", "nan", "2 GBB", "i", "1i", 1.5):
        with pytest.raises(InputError, match=r"memory is .*, expected a number of bytes such as"):
            memory_budget(wrong)  # type: ignore[arg-type]
    assert 2 * (memory_budget(None) + 1) > 1


def test_memory_of_a_container_is_what_its_limit_leaves(tmp_path: Path) -> None:
    def tell(name: str, text: str) -> None:
        written(tmp_path, name, text.encode())

    tell("proc/meminfo", "MemTotal: 16 kB\nMemAvailable:    8000000 kB\n")
    assert free_memory(str(tmp_path)) == 8_000_000 << 10
    tell("sys/fs/cgroup/memory.max", "max\n")
    tell("sys/fs/cgroup/memory.current", "5\n")
    assert free_memory(str(tmp_path)) == 8_000_000 << 10
    tell("sys/fs/cgroup/memory.max", "5000\n")
    tell("sys/fs/cgroup/memory.current", "3000\n")
    assert free_memory(str(tmp_path)) == 2000
    tell("sys/fs/cgroup/memory.stat", "anon 7\ninactive_file 500\n")
    assert free_memory(str(tmp_path)) == 2500
    tell("proc/self/cgroup", "4:cpu:/z\n0::/a/b\n")
    tell("sys/fs/cgroup/a/memory.max", "1000\n")
    tell("sys/fs/cgroup/a/memory.current", "100\n")
    assert free_memory(str(tmp_path)) == 900
    tell("sys/fs/cgroup/memory/memory.limit_in_bytes", "600\n")
    tell("sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n")
    assert free_memory(str(tmp_path)) == 500
    assert free_memory(str(tmp_path / "nothing")) > 1 << 20


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_what_is_large_by_metadata(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, FILES[name])
    for columns, size in ((["id"], 8 * N), (["id", "score"], 16 * N), (["yes"], N // 8)):
        assert is_large(path, columns, size - 1)
        assert not is_large(path, columns, size)
        assert is_large([path], columns, size - 1)
        assert is_large(Stream.from_input(path), columns, size - 1)
    text = TABLE["label"].combine_chunks().nbytes
    assert is_large(tmp_path, ["label"], text)
    assert not is_large(tmp_path, ["label"], 6 * text)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.jsonl"])
def test_what_is_large_of_text(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, FILES[name])
    held = read_table(path).nbytes
    assert is_large(path, ["id"], held)
    assert not is_large(path, ["id"], 6 * held)
    digits = b"a,b\n" + b"1,0\n" * N
    path = written(tmp_path, "b.csv", digits)
    assert is_large(path, ["a"], 16 * N - 1)
    assert not is_large(path, ["a"], 16 * (N + 1))


@pytest.mark.parametrize(("codec", "suffix"), [("gzip", "gz"), ("zstd", "zst")])
def test_a_small_file_of_much_text_is_large(codec: str, suffix: str, tmp_path: Path) -> None:
    text = b"a,b\n" + b"1,0.25\n" * 1_000_000
    path = tmp_path / f"b.csv.{suffix}"
    path.write_bytes(pa.compress(text, codec=codec, asbytes=True))
    assert path.stat().st_size < len(text) / 200
    assert is_large(path, ["a", "b"], 16_000_000 // 8)
    assert not is_large(path, ["a", "b"], 16_000_000 * 20)


def test_what_is_in_memory_is_not_large(tmp_path: Path) -> None:
    for given in (TABLE, [1, 2], [], "-", io.BytesIO(b"a\n1\n"), TABLE.to_reader()):
        assert not is_large(given, ["id"], 1)
    with pytest.raises(InputError, match="no such file"):
        is_large(tmp_path / "no.csv", ["id"], 1)
    with pytest.raises(InputError, match="no column 'x'"):
        is_large(written(tmp_path, "a.csv", FILES["a.csv"]), ["x"], 1)


def test_numbers_and_text_of_json_are_told_by_the_file_that_differs(tmp_path: Path) -> None:
    for name, value in (("a", 0.5), ("b", '"half"')):
        lines = [f'{{"y": {i % 2}, "p": {value}}}\n' for i in range(4)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with pytest.raises(InputError, match=r"b\.jsonl: column 'p' is string, and double in .*a\."):
        Stream.from_input(files)
