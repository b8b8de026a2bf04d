"""Tables that a command reads: their rows, the parts that these come in, and the systems, which
are columns beside the truth or in tables of their own that are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from calipers.cli.files import DASH, NamedFile
from calipers.cli.options import choice, stacked, text, texts

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.sources import Source
    from calipers.data.trec import Origin

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


# --- Parts of the rows ----------------------------------------------------------------------------

part_options = stacked(
    text("--weight", "COL", "Column of weights."),
    text(
        "--cluster-by cluster",
        "COL",
        "Column of what the rows come from: users, patients, sites.",
    ),
    texts(
        "--slice slices",
        "COL",
        "Column to cut the rows by: every measure on each part, and its difference to the rest. "
        "Repeatable; 'age*site' crosses two columns.",
    ),
    texts(
        "--slice-bins",
        "COL=X,Y,…",
        "Where to cut a column of numbers, rather than at its quartiles; repeatable.",
    ),
)


def part_columns(rows: pa.Table, where: str, options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of an evaluation that the options stand for, which are taken out of them."""
    from calipers.data.tables import column

    named = {key: options.pop(key) for key in ("weight", "cluster")}
    slices, bins = options.pop("slices"), options.pop("slice_bins")
    return {
        **{key: None if name is None else column(rows, name, where) for key, name in named.items()},
        "slices": {text: _crossed(text, rows, where) for text in slices} or None,
        "slice_bins": dict(map(_bins, bins)) or None,
    }


def _bins(text: str) -> tuple[str, list[float]]:
    """The column and the numbers of ``age=40,65``."""
    name, _, numbers = text.rpartition("=")
    try:
        return name, [float(number) for number in numbers.split(",")]
    except ValueError:
        raise click.UsageError(
            f"--slice-bins {text!r}: expected a column and numbers, as in age=40,65"
        ) from None


def _crossed(text: str, rows: pa.Table, where: str) -> Any:
    """The column to cut by, or those of ``age*site``."""
    from calipers.data.tables import column

    if text in rows.column_names or "*" not in text:
        return column(rows, text, where)
    return tuple(column(rows, part.strip(), where) for part in text.split("*"))


# --- Systems --------------------------------------------------------------------------------------

#: What stands for a text in a table: a column, or a dict of one for each class or label.
Found = Callable[[str, "pa.Table", str], Any]

join_options = stacked(
    text("--id by", "COL", "Column of ids, by which the tables of --system are joined."),
    texts(
        "--system tables",
        "NAME=FILE",
        "A system in a table of its own, with the column of --id; repeatable.",
        type=NamedFile(),
    ),
    choice(
        "--missing",
        ["error", "drop"],
        "Refuse missing values and ids, or leave their rows out and say how many.",
    ),
)


@dataclass(frozen=True)
class Systems:
    """What a command line says of the systems: the columns by what they hold, the tables by the
    names of the systems, and the column of ids that joins these."""

    columns: dict[str, Sequence[str]]
    tables: dict[str, str]
    by: str | None

    @classmethod
    def take(cls, options: dict[str, Any], kinds: Sequence[str]) -> Systems:
        """Take them out of a command's options."""
        columns = {kind: options.pop(kind) for kind in kinds}
        if not any(columns.values()):
            listed = ", ".join(f"--{kind}" for kind in kinds)
            raise click.UsageError(f"give at least one of {listed}")
        by, tables = options.pop("by"), dict(options.pop("tables"))
        if (by is None) != (not tables):
            raise click.UsageError("--id and --system go together")
        return cls(columns, tables, by)

    def located(self, table: str) -> AbstractContextManager[None]:
        """Says in which file a column was wrong; a message about one of several tables says itself
        which system it is about."""
        from calipers.data.tables import located

        return nullcontext() if self.tables else located(table)

    def keywords(self, rows: pa.Table, table: str, options: dict[str, Any]) -> dict[str, Any]:
        """What an evaluation is told of the table of the truth beside its columns."""
        origins = [read(path).origin for path in (table, *self.tables.values())]
        parts = part_columns(rows, table, options)
        return {**parts, "data": rows, "id": self.by, "inputs": origins}

    def read(
        self,
        rows: pa.Table,
        where: str,
        found: Found,
        opened: Callable[[str], pa.Table] = lambda path: read(path).rows,
        column: str = "column",
    ) -> dict[str, Any]:
        """What each system says, by kind; None of a kind of which nothing is said."""
        if self.tables:
            return self._of_tables(found, opened, column)
        return {
            kind: _of_columns(texts, rows, where, found) for kind, texts in self.columns.items()
        }

    def _of_tables(
        self, found: Found, opened: Callable[[str], pa.Table], column: str
    ) -> dict[str, Any]:
        """Of the systems that have a table each their columns with their ids, to be joined."""
        import pyarrow as pa

        from calipers.data.columns import by_name

        systems: dict[str, Any] = dict.fromkeys(self.columns)
        by = self.by or ""
        for name, path in self.tables.items():
            rows = opened(path)
            ids = by_name(rows, by, path)
            for kind, given in self.columns.items():
                if len(given) > 1:
                    raise click.UsageError(
                        f"--{kind}: give it once, for the {column} that every --system has"
                    )
                for spec in given:
                    of = found(spec, rows, path)
                    columns = of if isinstance(of, dict) else {kind: of}
                    systems[kind] = (systems[kind] or {}) | {name: pa.table({by: ids, **columns})}
        return systems


def _of_columns(
    specs: Sequence[str], rows: pa.Table, where: str, found: Found
) -> dict[str, Any] | None:
    """The systems whose columns stand in the table of the truth."""
    from calipers.data.columns import system_name

    made = {}
    for spec in specs:
        name, equals, columns = spec.partition("=")
        if not equals or spec in rows.column_names:
            prefix = commonprefix(spec.split(",")) + "*" if "," in spec else spec  # noqa: RUF071
            name, columns = system_name(prefix), spec
        made[name] = found(columns, rows, where)
    return made or None
