"""Columns named on the command line: of the truth, of each system, and shared ones.

The meaning of ``p_*``, ``a,b`` and ``NAME=COL`` is determined here only, by the names of the
existing columns, so that it is the same for rows in memory and in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.costs import read_costs
from calipers.cli.files import NamedFile
from calipers.cli.options import repeatable_option
from calipers.cli.tables import get_origin, read_input_table
from calipers.evaluation.task import Column, Task
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import InputOrigin

system_option = repeatable_option(
    "--system tables",
    "NAME=FILE",
    "System in a separate table that has the column of --id; repeatable.",
    type=NamedFile(),
)


@dataclass(frozen=True)
class Columns:
    """Column options of a command line.

    ``specs`` are the texts by role, ``tables`` the files of systems by name, and ``id_column`` is
    the column of ids that joins them.
    """

    task: Task
    specs: Mapping[str, Sequence[str]]
    tables: Mapping[str, str]
    id_column: str | None
    costs: Sequence[str] = ()
    #: Classes named by --labels, to which the columns ``p_a,p_b`` belong.
    labels: Sequence[str] | None = None

    @classmethod
    def pop_from(cls, task: Task, options: dict[str, Any], *, is_required: bool = True) -> Columns:
        """Pop the column options from the options of a command."""
        value_by_role = {c.role: options.pop(c.role) for c in task.columns if not c.is_file}
        specs = {
            role: value if isinstance(value, tuple) else () if value is None else (value,)
            for role, value in value_by_role.items()
        }
        system_columns = task.per_system
        if (
            is_required
            and system_columns
            and not any(specs[column.role] for column in system_columns)
        ):
            flags = ", ".join(column.option for column in system_columns)
            raise click.UsageError(f"give at least one of {flags}")
        separate = [
            column.option for column in system_columns if column.is_separate and specs[column.role]
        ]
        if len(separate) > 1:
            raise click.UsageError(
                f"{' and '.join(separate)} are evaluated separately: give one of them"
            )
        id_column, tables = options.pop("id", None), dict(options.pop("tables", ()))
        if id_column is None and tables:
            raise click.UsageError("--system goes with --id")
        return cls(task, specs, tables, id_column, options.pop("cost", ()))

    @property
    def all_specs(self) -> list[str]:
        """All texts that name columns which every row must have."""
        return [spec for role, specs in self.specs.items() if role != "slices" for spec in specs]

    def slice_and_cost_columns(self, names: Sequence[str]) -> list[Any]:
        """Return the columns of slices and costs, among the columns ``names`` of a table."""
        slices = [parse_crossing(text, names) for text in self.specs.get("slices", ())]
        return [*slices, read_costs(self.costs, str)]

    @property
    def system_names(self) -> tuple[str, ...]:
        """Possible names of the systems; a text with = may also be the name of a column."""
        column_specs = [(c, spec) for c in self.task.per_system for spec in self.specs[c.role]]
        names = [spec.partition("=")[0] for _, spec in column_specs if "=" in spec]
        default_names = [_default_name(column, spec, is_list=True) for column, spec in column_specs]
        return tuple(dict.fromkeys(self.tables or (*names, *default_names)))

    def has_text_lists(self, names: Sequence[str]) -> bool:
        """Return whether a column may be text with a list of labels, rather than one per label."""
        from calipers.data.columns import match_prefix

        specs = [spec for c in self.task.columns if c.has_lists for spec in self.specs[c.role]]
        patterns = [spec if spec in names else spec.rpartition("=")[2] for spec in specs]
        return bool(self.tables) or not all(match_prefix(text, names) for text in patterns)

    def add_location(self, table: str) -> AbstractContextManager[None]:
        """Add the name of the table to errors, unless systems have tables of their own."""
        from calipers.data.tables import add_location

        return nullcontext() if self.tables else add_location(table)

    def origins(self, table: str) -> list[InputOrigin]:
        """Return the origins of the table of the truth and of those of the systems."""
        return [get_origin(path) for path in (table, *self.tables.values())]

    def to_arguments(
        self, names: Sequence[str], open_table: Callable[[str], pa.Table] | None = None
    ) -> dict[str, Any]:
        """Return the arguments of an evaluation function: names of columns, by role.

        For systems with tables of their own, these are their columns with ids, to be joined.
        """
        from calipers.data.columns import match_prefix

        arguments: dict[str, Any] = {}
        for column in self.task.columns:
            if column.per_system:
                continue
            specs = self.specs[column.role]
            if column.role == "slices":
                arguments["slices"] = {text: parse_crossing(text, names) for text in specs} or None
            elif column.is_keyed_by_system:
                arguments[column.role] = _parse_by_system(column, specs, names)
            elif column.is_repeatable:
                matches = [name for text in specs for name in match_prefix(text, names) or [text]]
                arguments[column.role] = {name: name for name in matches} or None
            else:
                arguments[column.role] = resolve_columns(column, specs[0], names) if specs else None
        target_names = self._target_names(arguments, names)
        for column in self.task.per_system:
            specs = self.specs[column.role]
            if self.tables and open_table is not None:
                arguments[column.role] = self._table_columns(column, target_names, open_table)
            else:
                columns: dict[str, Any] = {}
                for spec in specs:
                    name, text = parse_spec(column, spec, names)
                    if name in columns:
                        raise click.UsageError(
                            f"{column.option} {spec!r}: a system {name!r} was given already; name "
                            "it, as in NAME=COLUMN"
                        )
                    columns[name] = resolve_columns(column, text, names, target_names)
                arguments[column.role] = columns or None
        if self.costs:
            is_joined = self.tables and open_table is not None
            arguments["cost"] = read_costs(self.costs, self._cost_tables if is_joined else str)
        return arguments

    def _target_names(
        self, arguments: Mapping[str, Any], names: Sequence[str]
    ) -> Sequence[str] | None:
        """Return the classes or outputs that the listed columns of a system refer to."""
        from calipers.data.columns import match_prefix

        truth = arguments.get("truth")
        if isinstance(truth, Mapping):
            return tuple(truth)
        if isinstance(truth, str) and (matches := match_prefix(truth, names)):
            return tuple(name[len(truth) - 1 :] for name in matches) if len(matches) > 1 else None
        return self.labels

    def _table_columns(
        self, column: Column, target_names: Sequence[str] | None, opened: Callable[[str], pa.Table]
    ) -> dict[str, Any] | None:
        """Return the columns of systems with tables of their own, with their ids."""
        import pyarrow as pa

        from calipers.data.columns import select_columns

        specs, tables = self.specs[column.role], {}
        if len(specs) > 1:
            noun = "columns" if column.wide == "pattern" else "column"
            raise click.UsageError(
                f"{column.option}: give it once, for the {noun} that every --system has"
            )
        id_column = self.id_column or ""
        for name, path in self.tables.items() if specs else ():
            rows = opened(path)
            resolved = resolve_columns(column, specs[0], rows.column_names, target_names)
            values = (
                {
                    target_name: select_columns(rows, column_name, path)
                    for target_name, column_name in resolved.items()
                }
                if isinstance(resolved, Mapping)
                else select_columns(rows, resolved, path)
            )
            ids = {id_column: select_columns(rows, id_column, path)}
            tables[name] = pa.table(
                {**ids, **(values if isinstance(values, dict) else {column.role: values})}
            )
        return tables or None

    def _cost_tables(self, name: str) -> dict[str, Any]:
        """Return a column that the table of every system has, with its ids."""
        import pyarrow as pa

        from calipers.data.tables import column

        rows_by_path, id_column = (
            {path: read_input_table(path).table for path in self.tables.values()},
            self.id_column or "",
        )
        return {
            system: pa.table(
                {
                    id_column: column(rows_by_path[path], id_column, path),
                    "cost": column(rows_by_path[path], name, path),
                }
            )
            for system, path in self.tables.items()
        }


def resolve_columns(
    column: Column, text: str, names: Sequence[str], target_names: Sequence[str] | None = None
) -> Any:
    """Resolve a text to columns: one name, a pattern, or a dict by class, output or level.

    >>> resolve_columns(Column("q", "", wide="levels"), "0.1:low,0.9:high", ["low", "high"])
    {'0.1': 'low', '0.9': 'high'}
    >>> resolve_columns(Column("p", "", wide="labels"), "p_a,p_b", ["p_a", "p_b"], ["a", "b"])
    {'a': 'p_a', 'b': 'p_b'}
    >>> resolve_columns(Column("p", "", wide="labels"), "p_a,p_b", ["p_a,p_b"])
    'p_a,p_b'
    """
    if text in names or column.wide in ("", "pattern"):
        return text
    column_names = text.split(",")
    if column.wide == "levels" and ":" in text:
        levels = (pair.partition(":") for pair in column_names)
        return {level: name for level, _, name in levels}
    if len(column_names) == 1:
        return text
    if column.wide == "labels":
        if target_names is None or len(target_names) != len(column_names):
            count = "are not given" if target_names is None else f"are {len(target_names)}"
            raise click.UsageError(
                f"{column.option} {text}: {len(column_names)} columns for the classes of --labels, "
                f"which {count}"
            )
    elif target_names is not None and len(target_names) != len(column_names):
        raise click.UsageError(
            f"{text!r}: {len(column_names)} columns for {len(target_names)} outputs: "
            f"{', '.join(target_names)}"
        )
    return dict(zip(target_names or column_names, column_names, strict=True))


def parse_spec(column: Column, spec: str, names: Sequence[str]) -> tuple[str, str]:
    """Parse ``[NAME=]COLS`` into the name of a system and the text of its columns."""
    name, equals, text = spec.partition("=")
    if equals and spec not in names:
        return name, text
    return _default_name(column, spec, is_list=spec not in names), spec


def _default_name(column: Column, spec: str, *, is_list: bool) -> str:
    """Return the name of a system that is given by its columns only."""
    from calipers.data.columns import system_name
    from calipers.results.estimate import DEFAULT_SYSTEM_NAME

    if is_list and column.wide == "levels" and ":" in spec:
        return DEFAULT_SYSTEM_NAME
    prefix = commonprefix(spec.split(",")) + "*" if is_list and "," in spec else spec  # noqa: RUF071
    return system_name(prefix)


def _parse_by_system(column: Column, specs: Sequence[str], names: Sequence[str]) -> Any:
    """Return the column of each system, or the only column.

    >>> _parse_by_system(Column("human"), ["a=x", "b=y"], ["x", "y"])
    {'a': 'x', 'b': 'y'}
    >>> _parse_by_system(Column("human"), ["x"], ["x", "y"])
    'x'
    """
    if len(specs) < 2 and not any("=" in spec and spec not in names for spec in specs):
        return specs[0] if specs else None
    columns: dict[str, str] = {}
    for spec in specs:
        name, equals, text = spec.partition("=")
        if not (name and equals and text):
            raise click.UsageError(
                f"{column.option} {spec!r}: expected the name of a system and its column, as in "
                "old=column"
            )
        if name in columns:
            raise click.UsageError(f"{column.option} {spec!r}: {name!r} was given already")
        columns[name] = text
    return columns


def parse_crossing(text: str, names: Sequence[str]) -> Any:
    """Return the column that defines slices, or those of a crossing ``age*site``."""
    if text in names or "*" not in text:
        return text
    return tuple(column.strip() for column in text.split("*"))
