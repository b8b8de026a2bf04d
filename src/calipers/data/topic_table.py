"""What a table says of topics: their kinds, their lengths, what they weigh."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError, shown
from calipers.data.sources import Source
from calipers.data.tables import (
    TEXTS,
    as_arrow,
    column,
    extension,
    file_digest,
    located,
    read_table,
)
from calipers.data.trec import Origin
from calipers.data.trec_tables import TOPIC, find, ids, text_of

if TYPE_CHECKING:
    import pyarrow as pa

#: How messages call a table in memory.
IN_MEMORY = "topic_table"


@dataclass(frozen=True, eq=False)
class TopicTable:
    """A row for each topic, found by its name."""

    origin: Origin
    rows: pa.Table
    row_of: Mapping[str, int]
    source: Source | None = None

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.origin.path or self.origin.name

    def column(self, name: str, topics: Sequence[str]) -> Any:
        """One column in the order of these topics; null where the table lacks one."""
        import pyarrow as pa

        places = pa.array([self.row_of.get(topic) for topic in topics], pa.int64())
        return column(self.rows, name, self.where).take(places)

    def at(self, topic: str) -> str:
        """Where a topic stands, in a message."""
        row = self.row_of.get(topic)
        if row is None:
            return self.where
        lines = None if self.source is None else _lines(self.source, len(self.row_of))
        return f"{self.where}: row {row}" if lines is None else f"{self.where}:{lines[row]}"

    def notes(self, topics: Sequence[str]) -> list[str]:
        """Of topics of the table that have no judgments."""
        known = set(topics)
        others = [topic for topic in self.row_of if topic not in known]
        if not others:
            return []
        named, more = ", ".join(others[:3]), ", …" if len(others) > 3 else ""
        said = f"has {len(others)} topics without judgments ({named}{more})"
        return [f"{self.where} {said}; they are left out."]


def read_topic_table(given: Any) -> TopicTable:
    """From a path (CSV, JSON Lines, Parquet, Feather), a data frame or a dict of columns, with a
    column of topics by one of its usual names."""
    if not isinstance(given, str | os.PathLike):
        with located(IN_MEMORY):
            rows = as_arrow(given)
            names = [
                text_of(name) for name in ids(rows, find(rows.column_names, TOPIC)).to_pylist()
            ]
        return TopicTable(Origin(IN_MEMORY), rows, _places(names, IN_MEMORY, None))
    path = os.fspath(given)
    source = Source.of(path)
    with located(source.name):
        rows = read_table(source, text=TOPIC)
        names = [text_of(name) for name in ids(rows, find(rows.column_names, TOPIC)).to_pylist()]
    row_of = _places(names, source.name, source)
    if not source.is_file:
        return TopicTable(Origin(IN_MEMORY, source.name), rows, row_of, source)
    size, digest = file_digest(path)
    origin = Origin(IN_MEMORY, path, bytes=size, sha256=digest)
    return TopicTable(origin, rows, row_of, source)


def _places(names: Sequence[str], where: str, source: Source | None) -> dict[str, int]:
    """The row of each topic, of which each has one."""
    out: dict[str, int] = {}
    for row, name in enumerate(names):
        first = out.setdefault(name, row)
        if first != row:
            lines = None if source is None else _lines(source, len(names))
            at = f"{where}: row {row}" if lines is None else f"{where}:{lines[row]}"
            before = f"row {first}" if lines is None else f"line {lines[first]}"
            raise InputError(f"{at}: topic {shown(name)} stands there already, in {before}")
    return out


def _lines(source: Source, rows: int) -> list[int] | None:
    """The line of each row of a file of text; None where rows are not lines."""
    kind = TEXTS.get(extension(source.name)[0])
    if kind is None:
        return None
    with source.text() as stream:
        lines = [number for number, line in stream.lines() if line.strip()]
    lines = lines[1:] if kind == "csv" else lines
    return lines if len(lines) == rows else None
