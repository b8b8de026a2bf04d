"""Files of judgments and runs: detection of their kind, and output in any format."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from calipers.data import tables
from calipers.data.byte_sources import STDIN
from calipers.data.errors import InputError
from calipers.data.ir_datasets import PREFIX
from calipers.data.plain_text import first_line, is_header
from calipers.data.tables import BINARY_FORMATS, COMPRESSION_BY_EXTENSION, TEXT_FORMATS
from calipers.data.trec_tables import EXTRA_COLUMNS, GRADE, SCORE, VALUE_COLUMNS, Kind, buffers

if TYPE_CHECKING:
    import pyarrow as pa

#: Default of the second field of TREC text.
ITERATION = {"qrels": b"0", "run": b"Q0"}

#: The columns in the order of TREC text.
TREC_FIELDS = {
    "qrels": ("topic", "iteration", "doc", "grade"),
    "run": ("topic", "iteration", "doc", "rank", "score", "tag"),
}

#: Extensions of compressed files that are not written.
_UNSUPPORTED_COMPRESSIONS = {".bz2", ".xz", ".lz4", ".zip", ".7z"}

_BATCH_ROWS = 1 << 18


def detect_kind(path: str) -> Kind | None:
    """Detect whether a file holds qrels or a run; None if it could be either.

    TREC text is identified by its number of fields, and a table by its columns; if there are only
    topics, documents and numbers, floating-point numbers indicate a run. A pipe is not read.

    Returns
    -------
    {"qrels", "run"} or None
    """
    if path == STDIN:
        return None
    if path.startswith(PREFIX):
        return "qrels"
    tables.check_file(path, "judgments or a run")
    if not os.path.isfile(path):
        return None
    suffix, _ = tables.file_extension(path)
    if suffix == ".json":
        return _detect_json_kind(tables.read_json(path))
    if suffix in BINARY_FORMATS or (
        suffix in TEXT_FORMATS and (suffix != ".tsv" or is_header(first_line(path)))
    ):
        table = tables.read_table(path)
        return _detect_column_kind({f.name: _is_floating(f.type) for f in table.schema})
    return _detect_text_kind(path)


def _is_floating(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _detect_column_kind(is_floating_by_name: dict[str, bool]) -> Kind | None:
    """Detect the kind by the names of the columns and by whether numbers are floating-point."""
    is_qrels = any(name in is_floating_by_name for name in GRADE if name not in SCORE)
    is_run = any(name in is_floating_by_name for name in ("rank", "tag")) or any(
        is_floating_by_name.get(name) for name in SCORE
    )
    if is_qrels == is_run:
        return None
    return "run" if is_run else "qrels"


def _detect_json_kind(data: Any) -> Kind | None:
    if isinstance(data, list):
        rows = [row for row in data if isinstance(row, dict)]
        names = dict.fromkeys(name for row in rows for name in row)
        return _detect_column_kind(
            {name: any(isinstance(row.get(name), float) for row in rows) for name in names}
        )
    values = data.values() if isinstance(data, dict) else ()
    floating = any(
        isinstance(value, float)
        for documents in values
        if isinstance(documents, dict)
        for value in documents.values()
    )
    return "run" if floating else None


def _detect_text_kind(path: str) -> Kind | None:
    fields = first_line(path)
    if is_header(fields):
        return _detect_column_kind({name.strip('"'): False for name in fields})
    if len(fields) == 4:
        return "qrels"
    return "run" if len(fields) >= 6 else None


def check_writable(path: str) -> None:
    """Check that the extension belongs to a format that can be written."""
    suffix, compression = tables.file_extension(path)
    if suffix in BINARY_FORMATS and compression:
        raise InputError(f"{path}: {suffix} is compressed inside; leave out {compression}")
    if suffix in _UNSUPPORTED_COMPRESSIONS:
        raise InputError(f"{path}: cannot be written; expected the compression .gz or .zst")


def unsupported_columns(table: pa.Table, kind: Kind, path: str) -> list[str]:
    """Return the columns of TREC text that the format of ``path`` cannot store."""
    if tables.file_extension(path)[0] != ".json":
        return []
    return [
        name
        for name in EXTRA_COLUMNS[kind]
        if name in table.column_names and not _is_default(table, kind, name)
    ]


def write_rows(
    table: pa.Table, kind: Kind, path: str, stream: IO[bytes], *, tag: str = "calipers"
) -> None:
    """Write the rows of ``read_rows`` in the format given by the extension of ``path``.

    Runs are written in the order of their ranks: by descending score, ties by descending id. A
    score is the shortest text that is read back as the same number. ``tag`` is the run tag of TREC
    text if the table has none.
    """
    suffix, compression = tables.file_extension(path)
    rows = _add_ranks(table) if kind == "run" else table
    if suffix not in TEXT_FORMATS and suffix not in BINARY_FORMATS and suffix != ".json":
        rows = _add_trec_fields(rows, kind, tag)
    elif "iteration" in rows.column_names and _is_default(rows, kind, "iteration"):
        rows = rows.drop_columns(["iteration"])
    rows = rows.select([name for name in TREC_FIELDS[kind] if name in rows.column_names])
    if suffix == ".json" or TEXT_FORMATS.get(suffix) == "jsonl":
        _check_finite(rows[VALUE_COLUMNS[kind][0]], path)
    with _compress_stream(stream, compression) as out:
        if suffix == ".json":
            _write_json(_to_text(rows, path), kind, out)
        elif suffix in TEXT_FORMATS:
            _write_text(_to_text(rows, path), TEXT_FORMATS[suffix], path, out)
        elif suffix in BINARY_FORMATS:
            _write_binary(_to_text(rows), BINARY_FORMATS[suffix], out)
        else:
            _write_trec(rows, path, out)


def _check_finite(values: Any, path: str) -> None:
    """Check that all numbers can be written as JSON."""
    if not np.isfinite(values.to_numpy()).all():
        raise InputError(
            f"{path}: JSON has no infinite scores; TREC text, CSV, Parquet and Feather have"
        )


def _compress_stream(stream: IO[bytes], compression: str) -> Any:
    """Return a compressing stream that writes to ``stream``, which stays open."""
    if not compression:
        return nullcontext(stream)
    if compression == ".gz":
        return gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0)
    import pyarrow as pa

    stream.flush()
    copy = os.fdopen(os.dup(stream.fileno()), "wb")  # Arrow closes what it writes to
    return pa.CompressedOutputStream(copy, COMPRESSION_BY_EXTENSION[compression])


def set_run_tag(table: pa.Table, tag: str) -> pa.Table:
    """Return a run with this tag in all rows."""
    column = _repeat_value(tag.encode(), table)
    index = table.schema.get_field_index("tag")
    if index < 0:
        return table.append_column("tag", column)
    return table.set_column(index, "tag", column)


def _repeat_value(text: bytes, table: pa.Table) -> Any:
    import pyarrow as pa

    return pa.repeat(pa.scalar(text, pa.large_binary()), table.num_rows)


def _is_default(table: pa.Table, kind: Kind, name: str) -> bool:
    """Return whether a column has its default value: iteration 0 in qrels, Q0 in runs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name != "iteration":
        return False
    default = pa.scalar(ITERATION[kind], pa.large_binary())
    return bool(pc.all(pc.equal(table[name], default)).as_py())


def _add_ranks(table: pa.Table) -> pa.Table:
    """Sort a run by rank, topics by first occurrence, and add the column ``rank``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    topics = tables.combine_chunks(table["topic"]).dictionary_encode().indices
    keys = pa.table({"topic": topics, "score": table["score"], "doc": table["doc"]})
    order = pc.sort_indices(
        keys, [("topic", "ascending"), ("score", "descending"), ("doc", "descending")]
    )
    topic = topics.take(order).to_numpy()
    first = np.searchsorted(topic, np.arange(topic[-1] + 1))
    rank = pa.array(np.arange(len(topic)) - first[topic] + 1)
    if not np.array_equal(order, np.arange(len(order))):  # most runs are in order, and large
        table = table.take(order)
    return table.append_column("rank", rank)


def _to_text(table: pa.Table, path: str | None = None) -> pa.Table:
    """Convert ids to text; those that are not UTF-8 stay bytes, or raise an error with ``path``."""
    import pyarrow as pa

    for index, name in enumerate(table.column_names):
        if pa.types.is_large_binary(table.schema.field(index).type):
            try:
                text = table[name].cast(pa.large_string())
            except pa.ArrowInvalid:
                if path is None:
                    continue
                raise InputError(
                    f"{path}: column {name!r} is not UTF-8, which this format needs; "
                    "TREC text, Parquet and Feather do not"
                ) from None
            table = table.set_column(index, name, text)
    return table


def _add_trec_fields(table: pa.Table, kind: Kind, tag: str) -> pa.Table:
    """Add all columns of TREC text."""
    for name, default in (("iteration", ITERATION[kind]), ("tag", tag.encode())):
        if name in EXTRA_COLUMNS[kind] and name not in table.column_names:
            table = table.append_column(name, _repeat_value(default, table))
    return table


_IS_SEPARATOR = np.isin(np.arange(256), list(b" \t\n\v\f\r\0"))


def _check_fields(table: pa.Table, path: str) -> None:
    """Check that ids are valid in TREC text: not empty, no blanks, no line that begins with #."""
    import pyarrow as pa

    for name in table.column_names:
        column = tables.combine_chunks(table[name])
        if not pa.types.is_large_binary(column.type):
            continue
        offsets, data = buffers(column)
        invalid_mask = np.diff(offsets) == 0
        blank_positions = offsets[0] + np.flatnonzero(data[offsets[0] : offsets[-1]] <= ord(" "))
        blank_positions = blank_positions[_IS_SEPARATOR[data[blank_positions]]]
        invalid_mask[np.searchsorted(offsets, blank_positions, side="right") - 1] = True
        if name == "topic":
            invalid_mask[~invalid_mask] = data[offsets[:-1][~invalid_mask]] == ord("#")
            # At the start of a file it would be the mark of UTF-8.
            invalid_mask[0] |= column[0].as_py().startswith(b"\xef\xbb\xbf")
        if invalid_mask.any():
            text = column[int(np.argmax(invalid_mask))].as_py().decode("utf-8", "backslashreplace")
            raise InputError(
                f"{path}: TREC text has no place for the {name} {text!r}: "
                "its fields are not empty, have no blanks, and do not begin a line with #"
            )


def _write_trec(table: pa.Table, path: str, stream: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    _check_fields(table, path)
    binary = pa.large_binary()
    blank, end, empty = (pa.scalar(text, binary) for text in (b" ", b"\n", b""))
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        fields = [
            column if column.type == binary else column.cast(pa.large_string()).cast(binary)
            for column in batch.columns
        ]
        lines = pc.binary_join_element_wise(*fields, blank)
        offsets, data = buffers(pc.binary_join_element_wise(lines, empty, end))
        stream.write(data[offsets[0] : offsets[-1]])


def _write_text(table: pa.Table, format_: str, path: str, stream: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    if format_ == "jsonl":
        encode = json.JSONEncoder(ensure_ascii=False).encode
        for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
            stream.write("".join(f"{encode(row)}\n" for row in batch.to_pylist()).encode())
        return
    for field in table.schema:
        if pa.types.is_large_string(field.type) and pc.any(pc.equal(table[field.name], "")).as_py():
            raise InputError(
                f"{path}: a {field.name} is empty, which CSV cannot distinguish from missing"
            )
    options = csv.WriteOptions(delimiter="\t" if format_ == "tsv" else ",", quoting_style="needed")
    csv.write_csv(table, stream, options)


def _write_binary(table: pa.Table, format_: str, stream: IO[bytes]) -> None:
    if format_ == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, stream, compression="zstd")
    else:
        from pyarrow import feather

        feather.write_feather(table, stream)


def _write_json(table: pa.Table, kind: Kind, stream: IO[bytes]) -> None:
    """Write ``{topic: {document: value}}``, one topic per line."""
    codes = tables.combine_chunks(table["topic"]).dictionary_encode()
    topics, code = codes.dictionary.to_pylist(), codes.indices.to_numpy()
    rows = table.take(np.argsort(code, kind="stable"))
    stops = np.cumsum(np.bincount(code)).tolist()
    separator, start = b"{\n", 0
    for topic, end in zip(topics, stops, strict=True):
        chunk = rows.slice(start, end - start)
        documents = chunk["doc"].to_pylist()
        values = chunk[VALUE_COLUMNS[kind][0]].to_pylist()
        text = json.dumps(dict(zip(documents, values, strict=True)), ensure_ascii=False)
        stream.write(separator + f"{json.dumps(topic, ensure_ascii=False)}: {text}".encode())
        separator, start = b",\n", end
    stream.write(b"\n}\n")
