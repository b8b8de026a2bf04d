"""Input columns of one evaluation: looked up by name, joined by id, without missing values."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import column_names, from_arrow, is_frame, missing_mask, take_rows
from calipers.data.costs import NO_COSTS, Costs
from calipers.data.errors import InputError, did_you_mean, format_first_names
from calipers.data.multilabel import missing_lists
from calipers.data.tables import column, combine_chunks, read_table, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import InputOrigin

#: What may be done about missing values.
MISSING = ("error", "drop")
#: What may have no value in a row, and still be there.
MAY_MISS = ("slices",)

Mask = npt.NDArray[np.bool_]

#: Ids of rows, as a table has them or as texts.
Ids: TypeAlias = "pa.Array | Sequence[str]"


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
    left : ndarray, optional
        Indices of the remaining rows; None if no row was dropped.
    ids : pyarrow.Array, optional
        Ids of all rows; None if rows have no ids.
    costs : Costs
        Costs of the systems.
    """

    columns: dict[str, Any]
    notes: tuple[str, ...] = ()
    left: npt.NDArray[np.intp] | None = None
    ids: pa.Array | None = None
    costs: Costs = NO_COSTS

    def names(self) -> Ids | None:
        """Return the ids of the remaining rows in the type of the table, or None if rows have none.

        :func:`row_names` converts them to text, which is rarely needed.
        """
        return self.ids if self.ids is None or self.left is None else take_rows(self.ids, self.left)

    def named(self, row: int) -> str:
        """Return the name of a row: its id, or its index in the input."""
        place = row if self.left is None else int(self.left[row])
        return f"row {place}" if self.ids is None else repr(self.ids[place].as_py())


def collect_columns(
    columns: Mapping[str, Any],
    *,
    data: Any = None,
    by: str | None = None,
    missing: str = "error",
    wide: Collection[str] = ("probability",),
    cost: Any = None,
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
    by : str, optional
        Column of ids in ``data``, by which tables among the columns (data frames or paths) are
        joined to it.
    missing : {"error", "drop"}, default="error"
        Treatment of missing values. ``"drop"`` removes every row that has a missing value, or
        whose id is absent from another table or occurs there twice.
    wide : collection of str, default=("probability",)
        Arguments that may have several columns in a table of their own.
    cost : object, optional
        Costs of the systems, as accepted by :meth:`Costs.of`. Its columns are looked up, joined
        and filtered as the others are.

    Returns
    -------
    InputColumns
        Columns, with notes on the rows that were dropped.

    Raises
    ------
    InputError
        If a name is unknown, or if ids are missing, unknown or duplicated.
    """
    if missing not in MISSING:
        raise InputError(f"missing is {missing!r}, expected one of {', '.join(MISSING)}")
    costs, notes = Costs.of(cost), []
    made: dict[str, Any] = {**columns, "cost": costs.columns or None}
    left = ids = None
    if data is not None:
        table = _table(data, "data", partial(columns_read, (made, by)))
        join = None if by is None else _IdJoin(table, by, drop=missing == "drop", wide=wide)
        made = {what: _resolve(values, table, what, join) for what, values in made.items()}
        if join is not None and join.lost.any():
            left = np.flatnonzero(~join.lost)
            made = {what: take_rows(values, left) for what, values in made.items()}
        if join is not None:
            notes, ids = join.notes(), join.ids
    elif by is not None:
        raise InputError("id names a column of data=, which is not given")
    if missing == "drop":
        made, note, complete = _complete_rows(made)
        notes += note
        if complete is not None:
            left = complete if left is None else left[complete]
    costs = replace(costs, columns=made.pop("cost") or {})
    return InputColumns(made, tuple(notes), left, ids, costs)


def file_origin(path: str) -> InputOrigin:
    """Return the origin of the rows of a file, as recorded in the provenance."""
    from calipers.data.trec import InputOrigin

    # Pipes have no size, and neither do datasets that are elsewhere.
    size = os.path.getsize(path) if os.path.isfile(path) else None
    return InputOrigin("table", path, bytes=size)


def add_files(
    inputs: Sequence[InputOrigin], data: Any, columns: Mapping[str, Any] = MappingProxyType({})
) -> list[InputOrigin]:
    """Add the files of a table and of the tables of columns to the inputs, each once."""
    beside = _paths(columns)
    given = [os.fspath(of) for of in (data, *beside) if isinstance(of, str | os.PathLike)]
    known = {of.path for of in inputs}
    return [*inputs, *(file_origin(path) for path in dict.fromkeys(given) if path not in known)]


def _paths(columns: Any) -> Iterator[os.PathLike[str]]:
    """Yield the paths that are given in place of columns."""
    if isinstance(columns, Mapping):
        for of in columns.values():
            yield from _paths(of)
    elif isinstance(columns, os.PathLike):
        yield columns


def columns_read(given: Any, names: Sequence[str]) -> Sequence[str]:
    """Return the columns of a table that are named, so that only they are read.

    If a text names no column, all columns are returned, because the error message lists them.

    >>> columns_read({"truth": "y", "probability": ["p_*"]}, ["id", "y", "p_a", "p_b"])
    ['y', 'p_a', 'p_b']
    """
    wanted: set[str] = set()
    for name in _texts(given, len(names)):
        start = None if name in names or not name.endswith("*") else name[:-1]
        found = [n for n in names if n == name or (start is not None and n.startswith(start))]
        if not found:
            return names
        wanted.update(found)
    return [name for name in names if name in wanted] or names


def _texts(given: Any, most: int) -> Iterator[str]:
    """Yield all texts that may name one of ``most`` columns; longer lists hold values."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, Mapping):
        for value in given.values():
            yield from _texts(value, most)
    elif isinstance(given, tuple) or (isinstance(given, list) and len(given) <= most):
        for value in given:
            yield from _texts(value, most)


def _table(
    data: Any, what: str, choose: Callable[[Sequence[str]], Sequence[str]] | None = None
) -> pa.Table:
    if isinstance(data, str | os.PathLike):
        return read_table(data, choose=choose)
    try:
        return to_arrow(data)
    except InputError as error:
        if "is no source of judgments" in str(error):
            raise InputError(
                f"{what}: {type(data).__name__} is no table; expected a path, a dict of columns, "
                "or a data frame (pandas, polars, Arrow)"
            ) from None
        raise InputError(f"{what}: {error}") from error.__cause__


def _resolve(values: Any, table: pa.Table, what: str, join: _IdJoin | None) -> Any:
    """Replace names of columns by the columns themselves."""
    names = table.column_names
    if isinstance(values, str):
        return _columns(table, named_columns(values, names, "data"))
    if isinstance(values, Mapping):
        return {
            name: _resolve(value, table, f"{what} {name!r}", join) for name, value in values.items()
        }
    if isinstance(values, list | tuple) and values and isinstance(values[0], str):
        unknown = [name for name in values if not (name in names or name.endswith("*"))]
        if not unknown:
            return _columns(table, named_columns(values, names, "data"))
        if len(values) != table.num_rows:
            raise InputError(f"data: no column {unknown[0]!r}; {did_you_mean(unknown[0], names)}")
    if join is not None and (isinstance(values, os.PathLike) or is_frame(values)):
        return join.column(_table(values, what), what)
    return values


def _columns(table: pa.Table, names: Any) -> Any:
    """Return the columns with these names, under the names assigned to them."""
    if isinstance(names, Mapping):
        return {name: _columns(table, of) for name, of in names.items()}
    return column(table, names, "data")


def select_columns(table: pa.Table, name: str, where: str) -> Any:
    """Return a column of a table; for ``p_*``, a dict of all columns with that prefix."""
    found = named_columns(name, table.column_names, where)
    if isinstance(found, str):
        return column(table, found, where)
    return {part: column(table, of, where) for part, of in found.items()}


def named_columns(given: Any, names: Sequence[str], where: str) -> Any:
    """Resolve names of columns among those that exist.

    A name stands for itself; ``p_*`` stands for all columns with that prefix, named by what
    follows it; a list stands for systems, named as by :func:`system_name`.

    >>> named_columns(["y", "p_*"], ["y", "p_a", "p_b"], "data")
    {'y': 'y', 'p': {'a': 'p_a', 'b': 'p_b'}}
    """
    if isinstance(given, Mapping):
        return {str(name): named_columns(of, names, where) for name, of in given.items()}
    if isinstance(given, list | tuple):
        return {system_name(name): named_columns(name, names, where) for name in given}
    if isinstance(given, str) and given not in names:
        found = match_prefix(given, names)
        if not found:
            start = given.removesuffix("*")
            no = f"column begins with {start!r}" if start != given else f"column {given!r}"
            raise InputError(f"{where}: no {no}; {did_you_mean(start, names)}")
        return {name[len(given) - 1 :]: name for name in found}
    return given


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

    def __init__(self, table: pa.Table, by: str, *, drop: bool, wide: Collection[str]) -> None:
        if by not in table.column_names:
            raise InputError(
                f"data: no column {by!r} of ids; {did_you_mean(by, table.column_names)}"
            )
        self.by, self.drop, self.wide = by, drop, wide
        self.ids = combine_chunks(table.column(by))
        self.lost = np.zeros(table.num_rows, bool)
        self._said: list[str] = []
        self._refuse_twice(self.ids, "data")

    def _refuse_twice(self, ids: pa.Array, where: str) -> None:
        if ids.null_count:
            row = int(np.argmax(from_arrow(ids.is_null())))
            raise InputError(f"{where}: {ids.null_count} ids are missing, the first in row {row}")
        twice = _repeated_ids(ids)
        if len(twice):
            raise InputError(f"{where}: {_format_ids(twice, 'id')} there more than once")

    def column(self, table: pa.Table, what: str) -> Any:
        """Return the values of another table, in the order of the first."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.by not in table.column_names:
            raise InputError(
                f"{what}: no column {self.by!r} of ids; {did_you_mean(self.by, table.column_names)}"
            )
        ids, wanted = combine_chunks(table.column(self.by)), self.ids
        if ids.type != wanted.type:  # 7 of a CSV file is the id '7' of another table
            ids, wanted = pc.cast(ids, pa.string()), pc.cast(wanted, pa.string())
        twice = _repeated_ids(ids)
        if not self.drop:
            self._refuse_twice(ids, what)
        found = pc.index_in(wanted, value_set=ids)
        absent = from_arrow(found.is_null())
        extra = pc.unique(ids.filter(pc.invert(pc.is_in(ids, value_set=wanted))))
        if not self.drop and absent.any():
            raise InputError(
                f"{what}: {_format_ids(wanted.filter(pa.array(absent)), 'id')} missing"
            )
        if not self.drop and len(extra):
            raise InputError(f"{what}: {_format_ids(extra, 'id')} there that data do not have")
        if len(twice):
            absent |= from_arrow(pc.is_in(wanted, value_set=twice))
        for ids_of, said in (
            (wanted.filter(pa.array(absent)), "missing or there more than once"),
            (extra, "there that data do not have"),
        ):
            if len(ids_of):
                self._said.append(f"{what}: {_format_ids(ids_of, 'id')} {said}.")
        self.lost |= absent
        taken = table.drop_columns([self.by]).take(pc.fill_null(found, 0))
        return _values(taken, what, self.wide)

    def notes(self) -> list[str]:
        """Return a note on the rows that were dropped, and why."""
        if not self._said:
            return []
        lost = int(self.lost.sum())
        return [
            f"{lost} of {len(self.lost)} rows are left out by their ids. {' '.join(self._said)}"
        ]


def _repeated_ids(ids: pa.Array) -> pa.Array:
    """Return the ids that occur more than once, in the order of their first row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = pc.value_counts(ids)
    if len(counted) == len(ids):
        return ids.slice(0, 0)
    return counted.field("values").filter(pc.greater(counted.field("counts"), pa.scalar(1)))


def _format_ids(ids: Any, what: str) -> str:
    """Format ids as ``the ids 'a', 'b', 'c' and 4 more are``."""
    named = format_first_names(ids.to_pylist())
    return f"the {what} {named} is" if len(ids) == 1 else f"the {what}s {named} are"


def _values(table: pa.Table, what: str, wide: Collection[str]) -> Any:
    """Return the columns of a table other than its ids.

    These are its only column, the column that has the name of the argument, or several columns if
    the argument may have them.
    """
    kind = what.split(" ", maxsplit=1)[0]
    if table.num_columns == 1:
        return combine_chunks(table.column(0))
    if kind in table.column_names:
        return combine_chunks(table.column(kind))
    if kind in wide and table.num_columns > 1:
        return table
    shown = ", ".join(map(repr, table.column_names)) or "none"
    raise InputError(
        f"{what}: beside its ids the table has the columns {shown}; expected one, or one called "
        f"{kind!r}"
    )


def _leaves(values: Any, what: str) -> Iterator[tuple[str, Any]]:
    """Yield every column with its name in messages."""
    if isinstance(values, Mapping):
        for name, value in values.items():
            inner = f"{what} of" if "'" in what else what
            again = what.endswith(f" {str(name)!r}")  # as a slice by one column has it
            yield from _leaves(value, what if again else f"{inner} {str(name)!r}")
    elif is_frame(values):
        for name in column_names(values):
            yield f"{what} of {str(name)!r}", values[name]
    elif values is not None:
        yield what, values


def _complete_rows(
    columns: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str], npt.NDArray[np.intp] | None]:
    """Drop the rows with a missing value; return the columns, notes, and the remaining indices."""
    lost, said = incomplete_rows(columns)
    if lost is None or not lost.any():
        return dict(columns), [], None
    note = drop_incomplete(int(lost.sum()), len(lost), said)
    complete = np.flatnonzero(~lost)
    return {what: take_rows(values, complete) for what, values in columns.items()}, [note], complete


def incomplete_rows(columns: Mapping[str, Any]) -> tuple[Mask | None, dict[str, int]]:
    """Return the mask of the incomplete rows, and the number of missing values per column."""
    lost: Mask | None = None
    said: dict[str, int] = {}
    for what, values in columns.items():
        for name, leaf in _leaves(values, what):
            listed = missing_lists(leaf)
            mask = missing_mask(leaf, name) if listed is None else listed
            if what in MAY_MISS:
                mask = np.zeros_like(mask)
            if lost is not None and len(mask) != len(lost):
                raise InputError(f"{name}: has {len(mask)} rows, truth has {len(lost)}")
            said[name] = int(mask.sum())
            lost = mask if lost is None else lost | mask
    return lost, said


def drop_incomplete(lost: int, rows: int, missing: Mapping[str, int]) -> str:
    """Return the note on dropped rows, with the number of missing values per column.

    Raises
    ------
    InputError
        If no row is complete.
    """
    said = ", ".join(f"{number} in {name}" for name, number in missing.items() if number)
    if lost == rows:
        raise InputError(f"no row is complete; values are missing: {said}")
    return f"{lost} of {rows} rows are left out because values are missing: {said}."
