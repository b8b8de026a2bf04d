"""Tables that a command reads: files, pipes, and - for the standard input, each read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from calipers.cli.files import DASH

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.byte_sources import ByteSource
    from calipers.data.trec import InputOrigin

_KEY = "calipers.tables"


class InputTable(NamedTuple):
    """Table, with its source and its origin for the provenance."""

    rows: pa.Table
    source: ByteSource
    origin: InputOrigin
    #: Whether these are all its columns.
    is_complete: bool = True

    @property
    def is_csv(self) -> bool:
        """Whether the table is comma- or tab-separated text, where empty fields may be missing."""
        from calipers.data.tables import file_extension

        kind, _ = file_extension(self.source.name)
        if not self.source.is_file and not kind:
            kind = self.source.infer_extension()
        return kind in (".csv", ".tsv")


def read_input_table(
    path: str, choose: Callable[[Sequence[str]], Sequence[str]] | None = None
) -> InputTable:
    """Read the table at a path, once for each run of the command.

    If the file can be read again, only the columns are read that ``choose`` selects from the names
    of all.
    """
    from calipers.data.byte_sources import ByteSource
    from calipers.data.tables import read_table
    from calipers.data.trec import InputOrigin

    table_by_path: dict[str, InputTable] = click.get_current_context().meta.setdefault(_KEY, {})
    if path not in table_by_path or (choose is None and not table_by_path[path].is_complete):
        # A file behind it is read from where it stands, and has no extension.
        source = ByteSource.from_input(DASH if path == "/dev/stdin" else path)
        choose = choose if os.path.isfile(path) else None  # noqa: PTH113
        rows = read_table(source, choose=choose)
        size, digest = source.digest()
        origin = InputOrigin("table", path, bytes=size, sha256=digest)
        table_by_path[path] = InputTable(rows, source, origin, choose is None)
    return table_by_path[path]


def get_origin(path: str) -> InputOrigin:
    """Return the origin of the table at a path, whichever of its columns were read."""
    table_by_path: dict[str, InputTable] = click.get_current_context().meta.get(_KEY, {})
    return (table_by_path.get(path) or read_input_table(path)).origin
