"""Tables that a command reads: files, pipes, and - for the standard input, each of them once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from calipers.cli.common import Output
from calipers.cli.files import DASH
from calipers.cli.slices import part_columns, row_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.sources import Source
    from calipers.data.trec import Origin
    from calipers.results import Evaluation

_KEY = "calipers.tables"


class Table(NamedTuple):
    """A table, what it was read from, and that for the provenance."""

    rows: pa.Table
    source: Source
    origin: Origin

    @property
    def is_csv(self) -> bool:
        """Whether it is text between commas or tabs, in which an empty field may mean nothing."""
        from calipers.data.tables import extension

        kind, _ = extension(self.source.name)
        if not self.source.is_file and not kind:
            kind = self.source.guessed()
        return kind in (".csv", ".tsv")


def evaluate_columns(verb: Callable[..., Evaluation], options: dict[str, Any]) -> None:
    """What a command does whose systems are columns of one table, ``said`` of what the column of
    the truth holds."""
    output = Output.take(options)
    from calipers.data.tables import column, located

    keys = "table", "truth", "said", "measures"
    table, truth, said, measures = (options.pop(key) for key in keys)
    rows = read(table).rows
    with located(table):
        evaluation = verb(
            column(rows, truth, table),
            {name: column(rows, name, table) for name in said},
            **row_columns(rows, table, options),
            **part_columns(rows, table, options),
            measures=measures or None,
            inputs=[read(table).origin],
            **options,
        )
    output.finish(evaluation)


def read(path: str) -> Table:
    """The table at a path. What can be read only once is kept while the command runs."""
    from calipers.data.sources import Source
    from calipers.data.tables import read_table
    from calipers.data.trec import Origin

    known: dict[str, Any] = click.get_current_context().meta.setdefault(_KEY, {})
    if path not in known:
        # A file behind it is read from where it stands, and has no extension.
        source = Source.of(DASH if path == "/dev/stdin" else path)
        rows = read_table(source)
        size, digest = source.digest()
        known[path] = Table(rows, source, Origin("table", path, bytes=size, sha256=digest))
    made: Table = known[path]
    return made
