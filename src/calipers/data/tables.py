"""Tables: CSV, Parquet, Feather, JSON and JSON Lines files, and data frames, as Arrow tables."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

#: Extensions and what they hold.
FORMATS = (
    ".csv, .tsv, .parquet, .feather, .arrow, .jsonl or .ndjson "
    "(.csv and .jsonl also as .gz or .zst)"
)

#: Extensions of compressed files.
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}

#: Which format an extension means; those of text may have one of ``COMPRESSED`` behind them.
TEXTS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
BINARIES = {".parquet": "parquet", ".parq": "parquet", ".feather": "feather", ".arrow": "feather"}


def extension(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The extension of a file and that of its compression, in lower case: ``(".csv", ".gz")``."""
    stem, suffix = os.path.splitext(os.fspath(path).lower())
    return (os.path.splitext(stem)[1], suffix) if suffix in COMPRESSED else (suffix, "")


def read_table(
    path: str | os.PathLike[str],
    *,
    text: Collection[str] = (),
    choose: Callable[[Sequence[str]], Sequence[str]] | None = None,
) -> pa.Table:
    """The table in a file; its format is told by the extension.

    Columns of CSV named in ``text`` are read as text, whatever they look like. ``choose`` picks
    the columns to read from the names of all.
    """
    name = os.fspath(path)
    check_file(name, f"a table: {FORMATS}")
    if os.path.getsize(name) == 0:
        raise InputError(f"{name}: the file is empty")
    with read_errors(name, "a table"):
        table = _read(name, text, choose or (lambda names: names))
    if table.num_rows == 0:
        raise InputError(f"{name}: the table has no rows")
    return table


def check_file(name: str, expected: str) -> None:
    """That there is a file, as far as one may look."""
    if os.path.isdir(name):
        raise InputError(f"{name}: is a directory, expected {expected}")
    try:
        os.stat(name)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None


@contextmanager
def read_errors(name: str, expected: str) -> Iterator[None]:
    """Says of which file it was that a library could not make sense."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{name}: cannot be read as {expected}: {first}") from None


def _read(
    name: str, text: Collection[str], choose: Callable[[Sequence[str]], Sequence[str]]
) -> pa.Table:
    kind, compressed = extension(name)
    if kind not in TEXTS and (compressed or kind not in BINARIES):
        raise InputError(f"{name}: unknown kind of table; expected {FORMATS}")
    if BINARIES.get(kind) == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(name) as file:
            names = file.schema_arrow.names
            _check_names(name, names)
            return file.read(columns=list(choose(names)))
    if kind in BINARIES:
        from pyarrow import feather

        table = feather.read_table(name)
    elif TEXTS[kind] == "jsonl":
        table = _read_json_lines(name)
    else:
        table = _read_csv(name, "\t" if kind == ".tsv" else ",", text)
    _check_names(name, table.column_names)
    return table.select(choose(table.column_names))


def _read_csv(name: str, delimiter: str, text: Collection[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    with pa.input_stream(name, compression="detect") as stream:
        return csv.read_csv(
            stream,
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                # Only an empty field is a missing value: NA may be a class, and nan a bad score.
                null_values=[""],
                strings_can_be_null=True,
                column_types=dict.fromkeys(text, pa.string()),
            ),
        )


def _read_json_lines(name: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    def read(texts: Sequence[str]) -> pa.Table:
        schema = pa.schema([(column, pa.string()) for column in texts])
        options = arrow_json.ParseOptions(explicit_schema=schema)
        with pa.input_stream(name, compression="detect") as stream:
            return arrow_json.read_json(stream, parse_options=options)

    table = read([])
    # Text that looks like a date was text all the same.
    dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    return read(dates) if dates else table


def _check_names(where: str, names: Sequence[str]) -> None:
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"{where}: column {min(repeated)!r} stands there more than once")


def read_json(path: str | os.PathLike[str]) -> Any:
    """What a JSON file holds; a key that stands twice in one object is an error."""
    import pyarrow as pa

    name = os.fspath(path)
    check_file(name, "a JSON file")
    with read_errors(name, "JSON"), pa.input_stream(name, compression="detect") as stream:
        return json.loads(stream.read(), object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {twice!r} stands more than once in one object")
    return made


def column(table: pa.Table, name: str, where: str) -> Any:
    """One column of a table, as an Arrow array; an unknown name gets a hint."""
    if name not in table.column_names:
        raise InputError(f"{where}: no column {name!r}; {did_you_mean(name, table.column_names)}")
    return table.column(name).combine_chunks()


def joined(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array; Arrow's own ``combine_chunks`` copies even a single chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def as_arrow(frame: Any) -> pa.Table:
    """A data frame (pandas, polars, DuckDB, Arrow) or a dict of columns as an Arrow table."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, Mapping):
        try:
            return pa.table({str(name): pa.array(values) for name, values in frame.items()})
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"the columns make no table: {error}") from None
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    if type(frame).__module__.startswith("pandas"):
        return pa.Table.from_pandas(frame, preserve_index=False)
    raise InputError(
        f"{type(frame).__name__} is no source of judgments or a run; expected a path, "
        "a dict of dicts, a data frame (pandas, polars, Arrow), or rows with query_id and doc_id"
    )


@contextmanager
def located(path: str) -> Iterator[None]:
    """Says in which file a column was wrong."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(path):
            raise
        counted = " (rows count from 0, without the header)" if _ROW.search(str(error)) else ""
        raise InputError(f"{path}: {error}{counted}") from None


_ROW = re.compile(r"\brows? \d")


def file_digest(path: str | os.PathLike[str]) -> tuple[int, str]:
    """Size and SHA-256 of a file."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else None
        if digest is None:
            digest = hashlib.sha256()
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
        return file.tell(), digest.hexdigest()
