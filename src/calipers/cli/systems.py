"""The systems of a table: columns beside the truth, or in tables of their own that are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import NamedFile
from calipers.cli.options import choice, stacked, text, texts
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import Origin

#: What stands for a text in a table: a column, or a dict of one for each class or label.
Found = Callable[[str, "pa.Table", str], Any]

join_options = stacked(
    text(
        "--id by",
        "COL",
        "Column of ids, by which the tables of --system and rows of other days are joined.",
    ),
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
    def take(cls, options: dict[str, Any], kinds: Sequence[str], *, needed: bool = True) -> Systems:
        """Take them out of a command's options."""
        columns = {kind: options.pop(kind) for kind in kinds}
        if needed and not any(columns.values()):
            listed = ", ".join(f"--{kind}" for kind in kinds)
            raise click.UsageError(f"give at least one of {listed}")
        by, tables = options.pop("by"), dict(options.pop("tables"))
        if by is None and tables:
            raise click.UsageError("--system goes with --id")
        return cls(columns, tables, by)

    @property
    def names(self) -> tuple[str, ...]:
        """What the systems may be called; a text with = in it may be the name of a column too."""
        specs = [spec for given in self.columns.values() for spec in given]
        named = [spec.partition("=")[0] for spec in specs if "=" in spec]
        alone = [_unnamed(spec, several=True) for spec in specs]
        return tuple(dict.fromkeys(self.tables or (*named, *alone)))

    def located(self, table: str) -> AbstractContextManager[None]:
        """Says in which file a column was wrong; a message about one of several tables says itself
        which system it is about."""
        from calipers.data.tables import located

        return nullcontext() if self.tables else located(table)

    def origins(self, table: str) -> list[Origin]:
        """Where the table of the truth and those of the systems came from."""
        return [read(path).origin for path in (table, *self.tables.values())]

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

    def joined(self, name: str, kind: str) -> dict[str, Any]:
        """A column that every system's own table has, with its ids."""
        import pyarrow as pa

        from calipers.data.tables import column

        of, by = {path: read(path).rows for path in self.tables.values()}, self.by or ""
        return {
            system: pa.table({by: column(of[path], by, path), kind: column(of[path], name, path)})
            for system, path in self.tables.items()
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
    made = {}
    for spec in specs:
        name, equals, columns = spec.partition("=")
        if not equals or spec in rows.column_names:
            name, columns = _unnamed(spec, several=spec not in rows.column_names), spec
        made[name] = found(columns, rows, where)
    return made or None


def _unnamed(spec: str, *, several: bool) -> str:
    """What a system is called of which columns alone are given, perhaps several."""
    from calipers.data.columns import system_name

    prefix = commonprefix(spec.split(",")) + "*" if several and "," in spec else spec  # noqa: RUF071
    return system_name(prefix)
