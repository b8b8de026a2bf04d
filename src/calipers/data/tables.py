"""Tables: CSV, Parquet, Feather and JSON Lines files, and data frames, as Arrow tables."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

#: Extensions and what they hold.
FORMATS = (
    ".csv, .tsv, .parquet, .feather, .arrow, .jsonl or .ndjson "
    "(.csv and .jsonl also as .gz or .zst)"
)


def read_table(path: str | os.PathLike[str]) -> pa.Table:
    """The table in a file; its format is told by the extension."""
    import pyarrow as pa

    name = os.fspath(path)
    if os.path.isdir(name):
        raise InputError(f"{name}: is a directory, expected a table: {FORMATS}")
    if not os.path.exists(name):
        raise InputError(f"{name}: no such file")
    if os.path.getsize(name) == 0:
        raise InputError(f"{name}: the file is empty")
    try:
        table = _read(name)
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{name}: cannot be read as a table: {first}") from None
    if table.num_rows == 0:
        raise InputError(f"{name}: the table has no rows")
    return table


def _read(name: str) -> pa.Table:
    import pyarrow as pa

    stem = name.lower()
    for suffix in (".gz", ".zst"):
        stem = stem.removesuffix(suffix)
    extension = os.path.splitext(stem)[1]
    if extension in (".csv", ".tsv"):
        from pyarrow import csv

        delimiter = "\t" if extension == ".tsv" else ","
        with pa.input_stream(name, compression="detect") as stream:
            table = csv.read_csv(
                stream,
                parse_options=csv.ParseOptions(delimiter=delimiter),
                # Only an empty field is a missing value: NA may be a class, and nan a bad score.
                convert_options=csv.ConvertOptions(null_values=[""], strings_can_be_null=True),
            )
        repeated = {c for c in table.column_names if table.column_names.count(c) > 1}
        if repeated:
            raise InputError(f"{name}: column {min(repeated)!r} stands there more than once")
        return table
    if stem != name.lower() and extension not in (".jsonl", ".ndjson"):
        raise InputError(f"{name}: unknown kind of table; expected {FORMATS}")
    if extension == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(name)
    if extension in (".feather", ".arrow"):
        from pyarrow import feather

        return feather.read_table(name)
    if extension in (".jsonl", ".ndjson"):
        from pyarrow import json

        with pa.input_stream(name, compression="detect") as stream:
            return json.read_json(stream)
    raise InputError(f"{name}: unknown kind of table; expected {FORMATS}")


def column(table: pa.Table, name: str, where: str) -> Any:
    """One column of a table, as an Arrow array; an unknown name gets a hint."""
    if name not in table.column_names:
        raise InputError(f"{where}: no column {name!r}; {did_you_mean(name, table.column_names)}")
    return table.column(name).combine_chunks()


def as_arrow(frame: Any, what: str) -> pa.Table:
    """A data frame (pandas, polars, DuckDB, Arrow) or a dict of columns as an Arrow table."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, Mapping):
        try:
            return pa.table({str(name): pa.array(values) for name, values in frame.items()})
        except (pa.ArrowException, TypeError) as error:
            raise InputError(f"{what}: the columns make no table: {error}") from None
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    if type(frame).__module__.startswith("pandas"):
        return pa.Table.from_pandas(frame, preserve_index=False)
    raise InputError(
        f"{what}: {type(frame).__name__} is no source of judgments or a run; expected a path, "
        "a dict of dicts, or a data frame (pandas, polars, Arrow)"
    )


def file_digest(path: str | os.PathLike[str]) -> tuple[int, str]:
    """Size and SHA-256 of a file."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else None
        if digest is None:
            digest = hashlib.sha256()
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
        return file.tell(), digest.hexdigest()
