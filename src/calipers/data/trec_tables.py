"""Relevance judgments and runs as tables: roles of the columns, with all checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from calipers.data.arrays import from_arrow
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.ir_datasets import ROW_SOURCES
from calipers.data.tables import combine_chunks, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

Kind: TypeAlias = Literal["qrels", "run"]

#: Names under which the columns of a table are found, in this order.
TOPIC = ("topic", "query_id", "query-id", "qid", "query", "topic_id", "q_id")
DOCUMENT = ("doc", "doc_id", "corpus-id", "docno", "docid", "document", "did")
GRADE = ("grade", "relevance", "label", "rel", "score", "level")
SCORE = ("score", "sim")
VALUE_COLUMNS: dict[Kind, tuple[str, ...]] = {"qrels": GRADE, "run": SCORE}

#: Further columns that TREC text has, and other tables may have.
EXTRA_COLUMNS: dict[Kind, tuple[str, ...]] = {"qrels": ("iteration",), "run": ("iteration", "tag")}


def decode_id(raw: bytes) -> str:
    """Decode an id as UTF-8 if it is valid, else as Latin-1, which accepts any bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def has_columns(source: Mapping[Any, Any]) -> bool:
    """Return whether a dict has columns of topics and documents, not topics or runs by name."""
    return any(name in source for name in TOPIC) and any(
        name in source and not isinstance(source[name], Mapping | str) for name in DOCUMENT
    )


def to_dicts(source: Mapping[Any, Any], value: str) -> dict[Any, dict[Any, Any]]:
    """Convert nested mappings of any type to a dict of dicts, as the core requires."""
    for topic, documents in source.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                f"topic {topic!r} holds {type(documents).__name__}, "
                f"expected a dict of document to {value}"
            )
    return {
        topic: documents if isinstance(documents, dict) else dict(documents)
        for topic, documents in source.items()
    }


def id_and_value_columns(source: Any, kind: Kind) -> tuple[Any, Any, Any]:
    """Return topics and documents of a table as Arrow binary arrays, and its grades or scores.

    Scores are derived from ranks if there are only ranks; if there are neither (see
    :func:`is_unordered`), all scores are 0.
    """
    table = to_table(source, kind)
    names = table.column_names
    topic, document, *value = find_columns(names, kind)
    topics, documents = id_array(table, topic), id_array(table, document)
    if not value:
        return topics, documents, np.zeros(table.num_rows)
    if kind == "qrels":
        return (
            topics,
            documents,
            _check_grades(number_array(_strip_grade_letters(table, *value), *value)),
        )
    values = number_array(table, *value).astype(np.float64, copy=False)
    return topics, documents, _scores_from_ranks(topics, values) if value == ["rank"] else values


def is_unordered(names: Sequence[str]) -> bool:
    """Return whether a run has only columns of topics and documents, so that it has no order."""
    other_columns = set(names) - {*TOPIC, *DOCUMENT, *EXTRA_COLUMNS["run"]}
    return not other_columns and bool(names)


def find_columns(names: Sequence[str], kind: Kind) -> tuple[str, ...]:
    """Return the names of the columns of topics, documents, and grades, scores or ranks, if any."""
    id_columns = find_column(names, TOPIC), find_column(names, DOCUMENT)
    if kind == "run" and is_unordered(names):
        return id_columns
    if kind == "run" and "rank" in names and not set(SCORE) & set(names):
        return (*id_columns, "rank")
    return (*id_columns, find_column(names, VALUE_COLUMNS[kind]))


def _strip_grade_letters(table: pa.Table, name: str) -> pa.Table:
    """Convert grades such as L2, as written by CLEF and NTCIR, to their numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column, index = table.column(name), table.column_names.index(name)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return table
    if not pc.all(pc.match_substring_regex(column, r"^L\d{1,9}$")).as_py():
        return table
    return table.set_column(index, name, pc.utf8_ltrim(column, "L").cast(pa.int64()))


def _scores_from_ranks(topics: Any, ranks: Any) -> Any:
    """Derive scores from ranks, which begin at 1 in every topic and are distinct."""
    codes = from_arrow(topics.dictionary_encode().indices)
    order = np.lexsort((ranks, codes))
    topic, rank = codes[order], ranks[order]
    first_mask = np.ones(len(topic), bool)
    first_mask[1:] = topic[1:] != topic[:-1]
    invalid_mask = first_mask & (rank != 1)
    invalid_mask[1:] |= ~first_mask[1:] & (rank[1:] == rank[:-1])
    if invalid_mask.any():
        row = int(order[np.argmax(invalid_mask)])
        raise InputError(
            f"topic {decode_id(topics[row].as_py())!r}: {ranks[row]:g} is not a rank; in a run "
            "without scores the ranks of each topic begin at 1 and differ (or are these judgments, "
            "and the two swapped?)"
        )
    return -ranks


def is_id_collection(documents: Any) -> bool:
    """Return whether the value is a list or a set of ids."""
    is_collection = isinstance(documents, list | tuple | set | frozenset)
    return is_collection and all(isinstance(item, str | int) for item in documents)


def columns_from_ids(source: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """Convert a dict from topics to lists or sets of ids to columns; None for anything else."""
    if not source or not all(map(is_id_collection, source.values())):
        return None
    for topic, documents in source.items():
        if len(set(documents)) < len(documents):
            raise InputError(f"topic {topic!r} holds a document more than once")
    return {
        "topic": [topic for topic, documents in source.items() for _ in documents],
        "doc": [document for documents in source.values() for document in documents],
    }


def find_column(names: Sequence[str], accepted: Sequence[str]) -> str:
    """Return the first of the accepted names that is present."""
    for name in accepted:
        if name in names:
            return name
    raise InputError(
        f"no column {accepted[0]!r} (nor {', '.join(accepted[1:])}); "
        + did_you_mean(accepted[0], names)
    )


def to_table(source: Any, kind: Kind) -> pa.Table:
    """Convert a data frame, columns or rows to a table."""
    iterate = getattr(source, ROW_SOURCES[kind][1], None)  # a dataset of ir_datasets
    if iterate is not None:
        source = iterate()
    elif isinstance(source, Mapping) or hasattr(source, "__arrow_c_stream__"):
        return to_arrow(source)
    if not isinstance(source, Iterable) or isinstance(source, str | bytes):
        return to_arrow(source)
    rows = list(source)
    if not rows:
        raise InputError("no rows")
    if hasattr(rows[0], "subtopic_id"):
        raise InputError("is judged by subtopic, expected one grade per document")
    if isinstance(rows[0], Mapping):
        keys = dict.fromkeys(key for row in rows for key in row)
        return to_arrow({key: [row.get(key) for row in rows] for key in keys})
    names = ("query_id", "doc_id", "relevance" if kind == "qrels" else "score")
    take = attrgetter(*names)
    try:
        values = [take(row) for row in rows]
    except AttributeError:
        raise InputError(
            f"a row is {format_value(rows[0])}, expected {', '.join(names)} of it"
        ) from None
    return to_arrow(dict(zip(names, zip(*values, strict=True), strict=True)))


def _check_present(table: pa.Table, name: str) -> Any:
    """Return a column without dictionary encoding, and check that no value is missing."""
    import pyarrow as pa

    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        kind = column.type.value_type
        if pa.types.is_string_view(kind):  # Arrow cannot take values of these
            kind = pa.large_string()
        chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(chunks, kind)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise InputError(
            f"column {name!r} is missing {column.null_count} values, the first in row {row}"
        )
    return column


def id_array(table: pa.Table, name: str) -> Any:
    """Return a column of ids as one Arrow large binary array; whole numbers become digits."""
    import pyarrow as pa

    column = _check_present(table, name)
    kind = column.type
    if pa.types.is_integer(kind):
        column = column.cast(pa.large_string())
    elif not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        raise InputError(f"column {name!r} is of type {kind}, expected text or whole numbers")
    # Cast first: together the chunks may be more than the offsets of smaller types reach.
    return combine_chunks(column.cast(pa.large_binary()))


def buffers(column: Any) -> tuple[Any, Any]:
    """Return the offsets and the bytes of a large binary array, as the core requires."""
    _, offsets, data = column.buffers()
    offset = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return offset, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def to_large_binary(offsets: Any, data: Any) -> Any:
    """Build a large binary array from its offsets and bytes, the inverse of :func:`buffers`."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def number_array(table: pa.Table, name: str) -> Any:
    """Return a column of numbers."""
    import pyarrow as pa

    column = _check_present(table, name)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        first = next((row for row, v in enumerate(column.to_pylist()) if not _is_number(v)), None)
        example = "" if first is None else f": {column[first].as_py()!r} in row {first}"
        raise InputError(f"column {name!r} is of type {column.type}, expected numbers{example}")
    return from_arrow(column)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _check_grades(grades: Any) -> Any:
    limits = np.iinfo(np.int32)
    with np.errstate(invalid="ignore"):
        for invalid_mask, text in (
            (grades != np.trunc(grades), "is not a whole number"),
            (
                ~((grades >= limits.min) & (grades <= limits.max)),
                f"is out of range, expected {limits.min} to {limits.max}",
            ),
        ):
            if invalid_mask.any():
                row = int(np.argmax(invalid_mask))
                raise InputError(f"grade {grades[row]} in row {row} {text}")
    return grades.astype(np.int64)
