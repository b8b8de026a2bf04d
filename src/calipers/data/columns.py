"""Input columns of one evaluation: looked up by name, joined by id, without missing values."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import column_names, from_arrow, is_frame, missing_mask, take_rows
from calipers.data.categories import (
    LABEL_ROLES,
    QUANTITY_ROLES,
    CategoryColumns,
    CategorySelector,
    candidate_names,
    matching_names,
)
from calipers.data.costs import NO_COSTS, Costs
from calipers.data.errors import (
    InputError,
    did_you_mean,
    format_first_names,
    format_value,
    set_input_rows,
)
from calipers.data.multilabel import is_list, missing_list_mask
from calipers.data.tables import column, combine_chunks, read_table, to_arrow
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import InputOrigin

#: Treatments of missing values.
MISSING = ("error", "drop")
#: Arguments whose missing values do not make a row incomplete.
OPTIONAL_ARGUMENTS = ("slices", "human", "human_weight")

Mask = npt.NDArray[np.bool_]

#: Ids of rows: an Arrow array, or a sequence of str.
Ids: TypeAlias = "pa.Array | Sequence[str]"


def check_missing(missing: str) -> None:
    """Check the option for missing values."""
    if missing not in MISSING:
        raise InputError(f"missing is {missing!r}, expected one of {', '.join(MISSING)}")


def row_names(ids: Ids) -> list[str]:
    """Return the names of rows as text."""
    return [str(name) for name in (ids.to_pylist() if hasattr(ids, "to_pylist") else ids)]


@dataclass(frozen=True)
class InputColumns:
    """Columns of an evaluation, with the rows that were dropped from them and why.

    Attributes
    ----------
    columns : dict
        Columns by argument name.
    notes : tuple of str
        Notes on the rows that were dropped.
    remaining_rows : ndarray, optional
        Indices of the remaining rows; None if no row was dropped.
    ids : pyarrow.Array, optional
        Ids of all rows; None if rows have no ids.
    costs : Costs
        Costs of the systems.
    """

    columns: dict[str, Any]
    notes: tuple[str, ...] = ()
    remaining_rows: npt.NDArray[np.intp] | None = None
    ids: pa.Array | None = None
    costs: Costs = NO_COSTS

    def remaining_ids(self) -> Ids | None:
        """Return the ids of the remaining rows in the type of the table, or None if rows have none.

        :func:`row_names` converts them to text, which is rarely needed.
        """
        return (
            self.ids
            if self.ids is None or self.remaining_rows is None
            else take_rows(self.ids, self.remaining_rows)
        )

    def row_name(self, row: int) -> str:
        """Return the name of a row: its id, or its index in the input."""
        index = row if self.remaining_rows is None else int(self.remaining_rows[row])
        return f"row {index}" if self.ids is None else repr(self.ids[index].as_py())


def collect_columns(
    columns: Mapping[str, Any],
    *,
    data: Any = None,
    id_column: str | None = None,
    missing: str = "error",
    table_arguments: Collection[str] = ("probability",),
    cost: Any = None,
    categories: Collection[str] = (),
    lists: Collection[str] = (),
) -> InputColumns:
    """Collect the columns of an evaluation, with equal length and order of rows.

    Parameters
    ----------
    columns : mapping of str to column
        Columns by argument name: ``truth``, ``score`` and so on. Each is None, a column, the name
        of a column of ``data``, or a list or dict of these. ``"p_*"`` selects all columns that
        begin with ``p_``, named by what follows the prefix.
    data : data frame or path, optional
        Table to which names of columns refer.
    id_column : str, optional
        Column of ids in ``data``, by which tables among the columns (data frames or paths) are
        joined to it.
    missing : {"error", "drop"}, default="error"
        Treatment of missing values. ``"drop"`` removes every row that has a missing value, or
        whose id is absent from another table or occurs there twice.
    table_arguments : collection of str, default=("probability",)
        Arguments that may have several columns in a table of their own.
    cost : object, optional
        Costs of the systems, as accepted by :meth:`Costs.from_argument`. Its columns are looked up,
        joined and filtered as the others are.
    categories : collection of str, default=()
        Arguments that are categories in this task, in addition to those that are in any task. In
        CSV they are numbers only if no text is lost.
    lists : collection of str, default=()
        Arguments whose columns may hold a list in each row.

    Returns
    -------
    InputColumns
        Columns, with notes on the rows that were dropped.

    Raises
    ------
    InputError
        If a name is unknown, or if ids are missing, unknown or duplicated.
    """
    check_missing(missing)
    costs, notes = Costs.from_argument(cost), []
    collected: dict[str, Any] = {**columns, "cost": costs.columns or None}
    remaining_rows = ids = None
    if data is not None:
        category_columns = CategoryColumns.from_roles(collected, categories, id_column)
        table = to_table(
            data,
            "data",
            partial(select_named, (collected, id_column)),
            categories=category_columns.select,
        )
        check_types({**collected, "id": id_column}, table.schema, lists)
        join = (
            None
            if id_column is None
            else _IdJoin(
                table,
                id_column,
                drop=missing == "drop",
                wide=table_arguments,
                categories=categories,
                lists=lists,
            )
        )
        collected = {
            argument: _resolve(values, table, argument, join)
            for argument, values in collected.items()
        }
        if join is not None and join.dropped_mask.any():
            remaining_rows = np.flatnonzero(~join.dropped_mask)
            collected = {
                argument: take_rows(values, remaining_rows)
                for argument, values in collected.items()
            }
        if join is not None:
            notes, ids = join.notes(), join.ids
    elif id_column is not None:
        raise InputError("id: requires data=; expected the table that has this column")
    if missing == "drop":
        collected, note, complete = _complete_rows(collected)
        notes += note
        if complete is not None:
            remaining_rows = complete if remaining_rows is None else remaining_rows[complete]
    if remaining_rows is not None:
        set_input_rows(remaining_rows)
    costs = replace(costs, columns=collected.pop("cost") or {})
    return InputColumns(collected, tuple(notes), remaining_rows, ids, costs)


def check_types(columns: Mapping[str, Any], schema: pa.Schema, lists: Collection[str] = ()) -> None:
    """Check that columns of a table have a single value in each row.

    Parameters
    ----------
    columns : mapping
        Names of the columns by argument: a name, a pattern, or nested lists and dicts of these.
    schema : pyarrow.Schema
        Names and types of the columns of the table.
    lists : collection of str, default=()
        Arguments whose columns may hold a list in each row.

    Raises
    ------
    InputError
        If a column is of lists, structs or maps, which have no kernels in Arrow to group by.
    """
    import pyarrow as pa

    nested_types = {field.name: field.type for field in schema if pa.types.is_nested(field.type)}
    for argument, requested in columns.items() if nested_types else ():
        for name in matching_names(requested, schema.names):
            kind = nested_types.get(name)
            if kind is not None and not (argument in lists and is_list(kind)):
                raise InputError(
                    f"{argument}: the column {name!r} is of the type {kind}, expected a single "
                    "value in each row"
                )


def file_origin(path: str) -> InputOrigin:
    """Return the origin of the rows of a file, as recorded in the provenance."""
    from calipers.data.trec import InputOrigin

    # Pipes have no size, and neither do remote datasets.
    size = os.path.getsize(path) if os.path.isfile(path) else None
    return InputOrigin("table", path, bytes=size)


def add_files(
    inputs: Sequence[InputOrigin], data: Any, columns: Mapping[str, Any] = MappingProxyType({})
) -> list[InputOrigin]:
    """Add the files of a table and of the tables of columns to the inputs, each once."""
    column_paths = _paths(columns)
    paths = [
        os.fspath(source)
        for source in (data, *column_paths)
        if isinstance(source, str | os.PathLike)
    ]
    input_paths = {source.path for source in inputs}
    return [
        *inputs,
        *(file_origin(path) for path in dict.fromkeys(paths) if path not in input_paths),
    ]


def _paths(columns: Any) -> Iterator[os.PathLike[str]]:
    """Yield the paths that are given in place of columns."""
    if isinstance(columns, Mapping):
        for value in columns.values():
            yield from _paths(value)
    elif isinstance(columns, os.PathLike):
        yield columns


def select_named(requested: Any, names: Sequence[str]) -> Sequence[str]:
    """Return the columns of a table that are named, so that only they are read.

    If a text names no column, all columns are returned, because the error message lists them.

    >>> select_named({"truth": "y", "probability": ["p_*"]}, ["id", "y", "p_a", "p_b"])
    ['y', 'p_a', 'p_b']
    """
    selected: set[str] = set()
    for name in candidate_names(requested, len(names)):
        prefix = None if name in names or not name.endswith("*") else name[:-1]
        matches = [n for n in names if n == name or (prefix is not None and n.startswith(prefix))]
        if not matches:
            return names
        selected.update(matches)
    return [name for name in names if name in selected] or names


def to_table(
    data: Any,
    input_name: str,
    select_columns: Callable[[Sequence[str]], Sequence[str]] | None = None,
    categories: CategorySelector | None = None,
) -> pa.Table:
    """Return a table from a path, a dict of columns or a data frame."""
    if isinstance(data, str | os.PathLike):
        return read_table(data, select_columns=select_columns, categories=categories)
    try:
        return to_arrow(data)
    except InputError as error:
        if "is not a source of judgments" in str(error):
            raise InputError(
                f"{input_name}: {type(data).__name__} is not a table; expected a path, a dict of "
                "columns, or a data frame (pandas, polars, Arrow)"
            ) from None
        raise InputError(f"{input_name}: {error}") from error.__cause__


def _resolve(values: Any, table: pa.Table, input_name: str, join: _IdJoin | None) -> Any:
    """Replace names of columns by the columns themselves."""
    names = table.column_names
    if isinstance(values, str):
        return _columns(table, named_columns(values, names, "data"))
    if isinstance(values, Mapping):
        return {
            name: _resolve(value, table, f"{input_name} {name!r}", join)
            for name, value in values.items()
        }
    if isinstance(values, list | tuple) and values and isinstance(values[0], str):
        unknown = [
            name
            for name in values
            if not isinstance(name, str) or not (name in names or name.endswith("*"))
        ]
        if not unknown:
            return _columns(table, named_columns(values, names, "data"))
        if len(values) != table.num_rows:
            check_names(values, input_name)
            raise InputError(f"data: no column {unknown[0]!r}; {did_you_mean(unknown[0], names)}")
    if join is not None and (isinstance(values, os.PathLike) or is_frame(values)):
        table = to_table(values, input_name, categories=join.category_columns(input_name).select)
        return join.column(table, input_name)
    return values


def _columns(table: pa.Table, names: Any) -> Any:
    """Return the columns with these names, under the names assigned to them."""
    if isinstance(names, Mapping):
        return {name: _columns(table, inner_names) for name, inner_names in names.items()}
    return column(table, names, "data")


def select_columns(table: pa.Table, name: str, input_name: str) -> Any:
    """Return a column of a table; for ``p_*``, a dict of all columns with that prefix."""
    selected = named_columns(name, table.column_names, input_name)
    if isinstance(selected, str):
        return column(table, selected, input_name)
    return {key: column(table, column_name, input_name) for key, column_name in selected.items()}


def named_columns(requested: Any, names: Sequence[str], input_name: str) -> Any:
    """Resolve names of columns among those that exist.

    A name stands for itself; ``p_*`` stands for all columns with that prefix, named by what
    follows it; a list stands for systems, named as by :func:`system_name`.

    >>> named_columns(["y", "p_*"], ["y", "p_a", "p_b"], "data")
    {'y': 'y', 'p': {'a': 'p_a', 'b': 'p_b'}}
    """
    if isinstance(requested, Mapping):
        return {
            str(name): named_columns(inner, names, input_name) for name, inner in requested.items()
        }
    if isinstance(requested, list | tuple):
        check_names(requested, input_name)
        check_system_names([system_name(name) for name in requested], input_name)
        return {system_name(name): named_columns(name, names, input_name) for name in requested}
    if isinstance(requested, str) and requested not in names:
        matches = match_prefix(requested, names)
        if not matches:
            prefix = requested.removesuffix("*")
            missing_text = (
                f"column begins with {prefix!r}" if prefix != requested else f"column {requested!r}"
            )
            raise InputError(f"{input_name}: no {missing_text}; {did_you_mean(prefix, names)}")
        return {name[len(requested) - 1 :]: name for name in matches}
    return requested


def check_names(requested: Iterable[Any], input_name: str) -> None:
    """Check that each of several columns is given by its name."""
    for name in requested:
        if not isinstance(name, str):
            raise InputError(f"{input_name}: {format_value(name)} is not the name of a column")


def check_system_names(names: Sequence[Any], input_name: str) -> None:
    """Check that systems have names, and none that of another one.

    >>> check_system_names(["a", "b"], "score")
    """
    previous_names: set[str] = set()
    for name in map(str, names):
        if not name:
            raise InputError(f"{input_name}: the name of a system is empty, expected one for each")
        if name in previous_names:
            raise InputError(f"{input_name}: {name!r} names two systems, expected one")
        previous_names.add(name)


def match_prefix(text: str, names: Sequence[str]) -> list[str]:
    """Return the columns that match a prefix ``p_*``; none if the text is the name of a column.

    >>> match_prefix("p_*", ["y", "p_a", "p_b"])
    ['p_a', 'p_b']
    """
    if not text.endswith("*") or text in names:
        return []
    return [name for name in names if name.startswith(text[:-1]) and name != text[:-1]]


def system_name(columns: str) -> str:
    """Return the name of a system given by its columns: ``forest`` for ``forest_*``."""
    return columns[:-1].rstrip("_-.:/ ") or "system" if columns.endswith("*") else columns


class _IdJoin:
    """Join of other tables with the first table, by the ids of rows.

    The rows of the other tables are put into the order of the ids of the first.
    """

    def __init__(
        self,
        table: pa.Table,
        id_column: str,
        *,
        drop: bool,
        wide: Collection[str],
        categories: Collection[str] = (),
        lists: Collection[str] = (),
    ) -> None:
        if id_column not in table.column_names:
            hint = did_you_mean(id_column, table.column_names)
            raise InputError(f"data: no column {id_column!r} of ids; {hint}")
        self.id_column, self.drop, self.table_arguments = id_column, drop, wide
        self._categories, self._lists = categories, lists
        self.ids = combine_chunks(table.column(id_column))
        self.dropped_mask = np.zeros(table.num_rows, bool)
        self._problems: list[str] = []
        self._check_unique(self.ids, "data")

    def _check_unique(self, ids: pa.Array, input_name: str) -> None:
        if ids.null_count:
            row = int(np.argmax(from_arrow(ids.is_null())))
            raise InputError(
                f"{input_name}: {ids.null_count} ids are missing, the first in row {row}"
            )
        repeated_ids = _repeated_ids(ids)
        if len(repeated_ids):
            raise InputError(f"{input_name}: {_format_ids(repeated_ids, 'id')} duplicated")

    def category_columns(self, input_name: str) -> CategoryColumns:
        """Return the categories among the columns of another table: its ids, maybe all."""
        role = input_name.split(" ", maxsplit=1)[0]
        is_label = role in self._categories or role in LABEL_ROLES
        return CategoryColumns(
            {**({role: "*"} if is_label else {}), "id": self.id_column},
            {role: "*"} if role in QUANTITY_ROLES else {},
        )

    def column(self, table: pa.Table, input_name: str) -> Any:
        """Return the values of another table, in the order of the first."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.id_column not in table.column_names:
            hint = did_you_mean(self.id_column, table.column_names)
            raise InputError(f"{input_name}: no column {self.id_column!r} of ids; {hint}")
        role = input_name.split(" ", maxsplit=1)[0]
        check_types({role: "*", "id": self.id_column}, table.schema, self._lists)
        ids, target_ids = combine_chunks(table.column(self.id_column)), self.ids
        if ids.type != target_ids.type:  # 7 of a CSV file is the id '7' of another table
            ids, target_ids = pc.cast(ids, pa.string()), pc.cast(target_ids, pa.string())
        repeated_ids = _repeated_ids(ids)
        if not self.drop:
            self._check_unique(ids, input_name)
        indices = pc.index_in(target_ids, value_set=ids)
        absent_mask = from_arrow(indices.is_null())
        extra = pc.unique(ids.filter(pc.invert(pc.is_in(ids, value_set=target_ids))))
        if not self.drop and absent_mask.any():
            raise InputError(
                f"{input_name}: {_format_ids(target_ids.filter(pa.array(absent_mask)), 'id')} "
                "missing"
            )
        if not self.drop and len(extra):
            raise InputError(f"{input_name}: {_format_ids(extra, 'id')} not in data")
        if len(repeated_ids):
            absent_mask |= from_arrow(pc.is_in(target_ids, value_set=repeated_ids))
        for affected_ids, problem in (
            (target_ids.filter(pa.array(absent_mask)), "missing or duplicated"),
            (extra, "not in data"),
        ):
            if len(affected_ids):
                self._problems.append(f"{input_name}: {_format_ids(affected_ids, 'id')} {problem}.")
        self.dropped_mask |= absent_mask
        joined = table.drop_columns([self.id_column]).take(pc.fill_null(indices, 0))
        return _joined_values(joined, input_name, self.table_arguments)

    def notes(self) -> list[str]:
        """Return a note on the rows that were dropped, and why."""
        if not self._problems:
            return []
        n_dropped = int(self.dropped_mask.sum())
        return [
            f"{n_dropped} of {len(self.dropped_mask)} rows are left out because of their ids. "
            + " ".join(self._problems)
        ]


def _repeated_ids(ids: pa.Array) -> pa.Array:
    """Return the ids that occur more than once, in the order of their first row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = pc.value_counts(ids)
    if len(counted) == len(ids):
        return ids.slice(0, 0)
    return counted.field("values").filter(pc.greater(counted.field("counts"), pa.scalar(1)))


def _format_ids(ids: Any, noun: str) -> str:
    """Format ids as ``the ids 'a', 'b', 'c' and 4 more are``."""
    names = format_first_names(ids.to_pylist())
    return f"the {noun} {names} is" if len(ids) == 1 else f"the {noun}s {names} are"


def _joined_values(table: pa.Table, input_name: str, wide: Collection[str]) -> Any:
    """Return the columns of a table other than its ids.

    These are its only column, the column that has the name of the argument, or several columns if
    the argument may have them.
    """
    kind = input_name.split(" ", maxsplit=1)[0]
    if table.num_columns == 1:
        return combine_chunks(table.column(0))
    if kind in table.column_names:
        return combine_chunks(table.column(kind))
    if kind in wide and table.num_columns > 1:
        return table
    names = ", ".join(map(repr, table.column_names)) or "none"
    raise InputError(
        f"{input_name}: in addition to its ids the table has the columns {names}; expected one, or "
        f"one called {kind!r}"
    )


def _iterate_columns(values: Any, input_name: str) -> Iterator[tuple[str, Any]]:
    """Yield every column with its name in messages."""
    if isinstance(values, Mapping):
        for name, value in values.items():
            inner = f"{input_name} of" if "'" in input_name else input_name
            # As a slice by one column has it, or the costs of a single system.
            is_repeated = input_name.endswith(f" {str(name)!r}") or name == ""
            yield from _iterate_columns(
                value, input_name if is_repeated else f"{inner} {str(name)!r}"
            )
    elif is_frame(values):
        for name in column_names(values):
            yield f"{input_name} of {str(name)!r}", values[name]
    elif values is not None:
        yield input_name, values


def _complete_rows(
    columns: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str], npt.NDArray[np.intp] | None]:
    """Drop the rows with a missing value; return the columns, notes, and the remaining indices."""
    incomplete_mask, missing_counts = incomplete_rows(columns)
    if incomplete_mask is None or not incomplete_mask.any():
        return dict(columns), [], None
    note = dropped_rows_note(int(incomplete_mask.sum()), len(incomplete_mask), missing_counts)
    complete = np.flatnonzero(~incomplete_mask)
    return (
        {argument: take_rows(values, complete) for argument, values in columns.items()},
        [note],
        complete,
    )


def incomplete_rows(
    columns: Mapping[str, Any], optional: Collection[str] = OPTIONAL_ARGUMENTS
) -> tuple[Mask | None, dict[str, int]]:
    """Return the mask of the incomplete rows, and the number of missing values per column.

    ``optional`` are the arguments whose values may be missing.
    """
    incomplete_mask: Mask | None = None
    missing_counts: dict[str, int] = {}
    for argument, values in columns.items():
        for name, leaf in _iterate_columns(values, argument):
            list_mask = missing_list_mask(leaf)
            mask = missing_mask(leaf, name) if list_mask is None else list_mask
            if argument in optional:
                mask = np.zeros_like(mask)
            if incomplete_mask is not None and len(mask) != len(incomplete_mask):
                raise InputError(f"{name}: has {len(mask)} rows, truth has {len(incomplete_mask)}")
            missing_counts[name] = int(mask.sum())
            incomplete_mask = mask if incomplete_mask is None else incomplete_mask | mask
    return incomplete_mask, missing_counts


def dropped_rows_note(n_dropped: int, n_rows: int, missing_counts: Mapping[str, int]) -> str:
    """Return the note on dropped rows, with the number of missing values per column.

    Raises
    ------
    InputError
        If no row is complete.
    """
    details = ", ".join(
        f"{number:,} in {name}" for name, number in missing_counts.items() if number
    )
    if n_dropped == n_rows:
        raise InputError(f"no row is complete; values are missing: {details}")
    reason = f"values are missing: {details}" if details else "values are missing"
    return f"{n_dropped:,} of {n_rows:,} rows are left out because {reason}."
