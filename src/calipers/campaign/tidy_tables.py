"""Tidy tables of the data of a campaign, and their output as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from calipers.campaign.storage import SECRET_KEY
from calipers.campaign.store import Campaign
from calipers.data.errors import InputError
from calipers.data.tables import BINARY_FORMATS, TEXT_FORMATS, file_extension

if TYPE_CHECKING:
    import pyarrow as pa

_GRADE_COLUMNS = (
    "assessor, topic, document, grade, time, seconds, shown AS display_position, "
    "again AS is_repeat, event"
)

#: Query of each table.
_QUERIES = {
    "about": f"SELECT key, value FROM about WHERE key <> '{SECRET_KEY}' ORDER BY key",
    "participants": "SELECT participant FROM participants ORDER BY participant",
    "topics": "SELECT topic, position, author, title, description, narrative, keywords, kind, "
    "details, source FROM topics ORDER BY position",
    "runs": "SELECT run, participant, digest, added FROM runs ORDER BY participant, run",
    "documents": "SELECT document, media, title, length(body) AS bytes, body FROM documents "
    "ORDER BY document",
    "pools": "SELECT pool, made, settings FROM pools ORDER BY pool",
    "pooled": "SELECT topic, document, pool, pooled.position, priority, stratum, sampled "
    "FROM pooled JOIN topics USING (topic) "
    "ORDER BY topics.position, pooled.position, document",
    "strata": "SELECT topic, stratum, size, sampled FROM strata ORDER BY topic, stratum",
    # (Without the hashes of tokens, from which a token could be guessed.)
    "assessors": "SELECT assessor, participant, kind, role, details FROM assessors "
    "ORDER BY assessor",
    "assignments": "SELECT assessor, topic FROM assignments ORDER BY assessor, topic",
    "judgments": f"SELECT {_GRADE_COLUMNS} FROM grades ORDER BY event",
    "preferences": f"SELECT {_GRADE_COLUMNS.replace('grade', 'other AS other_document, grade')} "
    "FROM preferences ORDER BY event",
    "adjudications": f"SELECT {_GRADE_COLUMNS} FROM adjudications ORDER BY event",
    "events": "SELECT event, id, time, assessor, topic, document, other AS other_document, kind, "
    "grade, note, seconds, shown AS display_position, again AS is_repeat, replaces "
    "FROM events ORDER BY event",
}
TABLES = (*_QUERIES, "rankings")

_INT_COLUMNS = (
    *("position", "event", "grade", "display_position", "replaces", "size", "sampled", "pool"),
    *("rank", "before", "after"),
)
_TYPES = {
    **dict.fromkeys((*_INT_COLUMNS, "bytes"), "int64"),
    **dict.fromkeys(("priority", "seconds", "score"), "float64"),
    "is_repeat": "bool",
    "body": "binary",
}


def read_tidy_table(campaign: Campaign, name: str) -> pa.Table:
    """Read a tidy table of a campaign, by its name in ``TABLES``.

    ``"rankings"`` has one row per document of each run.
    """
    if name == "rankings":
        names = ["run", "participant", "topic", "document", "rank", "score"]
        rows: list[tuple[Any, ...]] = [
            (run.run, run.participant, topic, document, rank, score)
            for run in campaign.runs().values()
            for topic, scores in run.scores.items()
            for rank, (document, score) in enumerate(scores.items(), 1)
        ]
    else:
        names = _column_names(_QUERIES[name])
        rows = campaign.read(_QUERIES[name])
    if name == "events":
        digests = campaign.event_digests()
        names, rows = [*names, "digest"], [(*row, digests.get(row[0])) for row in rows]
    return build_table(names, [dict(zip(names, row, strict=True)) for row in rows])


def build_table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Convert rows to a table with types that depend on the names of the columns."""
    import pyarrow as pa

    return pa.table(
        {
            name: pa.array([_convert_value(name, row[name]) for row in rows], _column_type(name))
            for name in names
        }
    )


def _column_names(query: str) -> list[str]:
    """Return the names of the columns that a query selects."""
    selected = query.removeprefix("SELECT ").partition(" FROM ")[0]
    return [column.rpartition(" AS ")[2].rpartition(".")[2] for column in selected.split(", ")]


def _convert_value(column: str, value: Any) -> Any:
    """Convert a value of SQLite, which has no Boolean values, to the type of its column."""
    return bool(value) if column == "is_repeat" and value is not None else value


def _column_type(column: str) -> Any:
    """Return the Arrow type of a column, by its name."""
    import pyarrow as pa

    kind = _TYPES.get(column, "string")
    return getattr(pa, {"bool": "bool_", "string": "large_string"}.get(kind, kind))()


def format_table(table: pa.Table, path: str, *, escape_formulas: bool = True) -> bytes:
    """Format a table by the extension of a path: CSV, TSV, JSON, JSON Lines, Parquet or Feather.

    In CSV and TSV, text that a spreadsheet would interpret as a formula is prefixed by an
    apostrophe; other tools need it as it is, without ``escape_formulas``. Bytes, such as the
    content of documents, are stored only in Parquet and Feather.
    """
    suffix, compression = file_extension(path)
    formatter = _FORMATS.get({".json": "json", **BINARY_FORMATS, **TEXT_FORMATS}.get(suffix, ""))
    if formatter is None or compression:
        raise InputError(f"{path}: expected .csv, .tsv, .json, .jsonl, .parquet or .feather")
    if suffix not in BINARY_FORMATS and "body" in table.column_names:
        table = table.drop_columns(["body"])
    if not escape_formulas and TEXT_FORMATS.get(suffix) in _DELIMITERS:
        return _format_unescaped(table, _DELIMITERS[TEXT_FORMATS[suffix]])
    return formatter(table)


def _csv(table: pa.Table) -> bytes:
    from calipers.report.spreadsheets import csv_text

    return csv_text(table.to_pylist(), table.column_names).encode()


_DELIMITERS = {"csv": ",", "tsv": "\t"}


def _format_unescaped(table: pa.Table, delimiter: str) -> bytes:
    from pyarrow import csv

    stream = BytesIO()
    csv.write_csv(table, stream, csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))
    return stream.getvalue()


def _tsv(table: pa.Table) -> bytes:
    names = table.column_names
    lines = [names, *([_to_plain_text(row[name]) for name in names] for row in table.to_pylist())]
    return "".join("\t".join(line) + "\n" for line in lines).encode()


def _to_plain_text(value: Any) -> str:
    from calipers.report.spreadsheets import escape_formula

    if value is None:
        return ""
    text = " ".join(str(value).split())
    return escape_formula(text) if isinstance(value, str) else text


def _jsonl(table: pa.Table) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()).encode()


def _json(table: pa.Table) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False) for row in table.to_pylist()]
    return ("[" + ",\n ".join(lines) + "]\n").encode()


def _parquet(table: pa.Table) -> bytes:
    from pyarrow import parquet

    stream = BytesIO()
    parquet.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def _feather(table: pa.Table) -> bytes:
    from pyarrow import feather

    stream = BytesIO()
    feather.write_feather(table, stream)
    return stream.getvalue()


#: Extensions of TREC's text.
_TREC_EXTENSIONS = (
    "",
    ".txt",
    ".text",
    ".trec",
    ".qrels",
    ".qrel",
    ".prefs",
    ".sample",
    ".topics",
    ".sgml",
)


def is_trec_extension(suffix: str) -> bool:
    """Return whether an extension belongs to TREC text.

    It is empty, one of the usual ones, or has a digit, as in NIST's ``topics.51-100``.
    """
    return suffix in _TREC_EXTENSIONS or any(character.isdigit() for character in suffix)


_FORMATS: Mapping[str, Callable[[Any], bytes]] = {
    "csv": _csv,
    "tsv": _tsv,
    "json": _json,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "feather": _feather,
}
