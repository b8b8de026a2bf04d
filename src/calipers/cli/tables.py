"""Tables that a command reads: files, pipes, and - for the standard input, each of them once."""

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
    """A table, what it was read from, and that for the provenance."""

    rows: pa.Table
    source: ByteSource
    origin: InputOrigin
    #: Whether these are all its columns.
    whole: bool = True

    @property
    def is_csv(self) -> bool:
        """Whether it is text between commas or tabs, in which an empty field may mean nothing."""
        from calipers.data.tables import file_extension

        kind, _ = file_extension(self.source.name)
        if not self.source.is_file and not kind:
            kind = self.source.guessed()
        return kind in (".csv", ".tsv")


def read_input_table(
    path: str, choose: Callable[[Sequence[str]], Sequence[str]] | None = None
) -> InputTable:
    """The table at a path, or, where it can be read again, the columns that ``choose`` picks by the
    names of all. What was read is kept while the command runs."""
    from calipers.data.byte_sources import ByteSource
    from calipers.data.tables import read_table
    from calipers.data.trec import InputOrigin

    known: dict[str, InputTable] = click.get_current_context().meta.setdefault(_KEY, {})
    if path not in known or (choose is None and not known[path].whole):
        # A file behind it is read from where it stands, and has no extension.
        source = ByteSource.of(DASH if path == "/dev/stdin" else path)
        choose = choose if os.path.isfile(path) else None  # noqa: PTH113
        rows = read_table(source, choose=choose)
        size, digest = source.digest()
        origin = InputOrigin("table", path, bytes=size, sha256=digest)
        known[path] = InputTable(rows, source, origin, choose is None)
    return known[path]


def get_origin(path: str) -> InputOrigin:
    """Where the table at a path came from, whatever columns of it were read."""
    known: dict[str, InputTable] = click.get_current_context().meta.get(_KEY, {})
    return (known.get(path) or read_input_table(path)).origin
