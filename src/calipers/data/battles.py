"""Pairwise battles in a table: two systems in each row, and which of them was preferred."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import is_missing, take_rows, to_quantities
from calipers.data.byte_sources import ByteSource
from calipers.data.categories import CategoryColumns
from calipers.data.class_labels import encode_labels
from calipers.data.columns import check_missing, dropped_rows_note, incomplete_rows, to_table
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.tables import column, read_table
from calipers.data.topic_tables import table_lines
from calipers.data.trec import InputOrigin
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.statistics import FloatArray

#: Name of a table in memory in messages.
IN_MEMORY = "battles"
#: Outcomes that mean that neither system was preferred, in lower case.
TIES = ("tie", "draw", "both", "neither", "tie (bothbad)", "tie (both bad)", "both_bad", "bothbad")
#: Outcomes as the score of the first system, and the code of each.
SCORES: Mapping[float, int] = {1.0: 2, 0.5: 1, 0.0: 0}
#: Suffixes of the two columns of a covariate of style.
_SUFFIXES = (("_a", "_b"), ("_1", "_2"), ("_first", "_second"), ("_left", "_right"))


@dataclass(frozen=True, eq=False)
class BattleRows:
    """Battles as they are in a table.

    Attributes
    ----------
    systems : tuple of str
        Names of the systems.
    first, second : ndarray of shape (n,)
        Systems of each battle, as indices.
    outcome : ndarray of shape (n,)
        Outcome for the first system: 2 for a win, 1 for a tie, 0 for a loss.
    columns : dict
        Columns of the other roles: cluster, weight and count.
    style : dict of ndarray
        Covariates by name, positive if the first system has more of it.
    notes : tuple of str
        Notes on the rows that were dropped.
    origins : tuple of InputOrigin
        File that was read.
    """

    systems: tuple[str, ...]
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    outcome: npt.NDArray[np.int8]
    columns: Mapping[str, Any]
    style: Mapping[str, FloatArray]
    notes: tuple[str, ...]
    origins: tuple[InputOrigin, ...]


@dataclass(frozen=True)
class _Table:
    """Table with its source, for the location of rows in messages."""

    rows: pa.Table
    name: str
    source: ByteSource | None

    def error(self, row: int, text: str) -> InputError:
        """Return an error about a row, with its line if the table is a text file."""
        lines = None if self.source is None else table_lines(self.source, self.rows.num_rows)
        location = f"{self.name}: row {row}" if lines is None else f"{self.name}:{lines[row]}"
        return InputError(f"{location}: {text}")


def read_battles(
    source: Any,
    roles: Mapping[str, str | None],
    style: Sequence[str] | Mapping[str, Any] = (),
    missing: str = "error",
) -> BattleRows:
    """Read battles from a table: a path, ``"-"``, a data frame or a dict of columns.

    Parameters
    ----------
    source : str, path, data frame or dict
        Table with a row per battle.
    roles : mapping of str to str
        Names of the columns ``first``, ``second`` and ``outcome``, and of ``cluster``, ``weight``
        and ``count``, which may be None.
    style : sequence of str, or mapping of str to pair of str
        Covariates of style: prefixes of pairs of columns, or the pairs by name.
    missing : {"error", "drop"}
        Treatment of battles with a missing value.

    Raises
    ------
    InputError
        If the table or a column does not exist, a value is missing, an outcome is not known, or a
        battle is of a system with itself. The message names the line of a text file.
    """
    check_missing(missing)
    names_by_role = {role: name for role, name in roles.items() if name is not None}
    table, origins = _open(source, names_by_role)
    for role, name in names_by_role.items():
        if name not in table.rows.column_names:
            hint = did_you_mean(name, table.rows.column_names)
            raise InputError(f"{table.name}: {role}: there is no column {name!r}; {hint}")
    style_names = _style_columns(style, table, names_by_role)
    columns = {
        name: column(table.rows, name, table.name)
        for name in (*names_by_role.values(), *(n for pair in style_names.values() for n in pair))
    }
    rows, notes = _complete_rows(table, columns, missing)
    if rows is not None:
        columns = {name: take_rows(values, rows) for name, values in columns.items()}
    systems, first, second = _systems(table, columns, names_by_role)
    if "" in systems:
        unnamed = systems.index("")
        row = int(np.argmax((first == unnamed) | (second == unnamed)))
        raise table.error(
            row if rows is None else int(rows[row]), "the name of a system is empty, expected one"
        )
    same = np.flatnonzero(first == second)
    if len(same):
        name = systems[first[same[0]]]
        row = int(same[0] if rows is None else rows[same[0]])
        raise table.error(row, f"the battle is of {name!r} with itself; expected two systems")
    outcome = _outcomes(table, columns, names_by_role, (systems, first, second), rows)
    return BattleRows(
        systems,
        first,
        second,
        outcome,
        {
            role: columns[name]
            for role, name in names_by_role.items()
            if role not in ("first", "second", "outcome")
        },
        {
            name: _relative_difference(
                table, (pair[0], columns[pair[0]]), (pair[1], columns[pair[1]]), rows
            )
            for name, pair in style_names.items()
        },
        notes,
        origins,
    )


def _open(source: Any, names_by_role: Mapping[str, str]) -> tuple[_Table, tuple[InputOrigin, ...]]:
    if not isinstance(source, str | os.PathLike):
        return _Table(to_table(source, "battles"), IN_MEMORY, None), ()
    byte_source = ByteSource.from_input(source)
    labels = {
        "systems": [names_by_role["first"], names_by_role["second"]],
        "cluster": names_by_role.get("cluster"),
    }
    # An outcome may be 1, 1.0 or 0.5, which is a number in any form.
    categories = CategoryColumns(labels, {"outcome": names_by_role["outcome"]})
    rows = read_table(byte_source, categories=categories.select)
    size, digest = byte_source.digest()
    origin = InputOrigin("battles", byte_source.name, bytes=size, sha256=digest)
    return _Table(rows, byte_source.name, byte_source), (origin,)


def _style_columns(
    style: Sequence[str] | Mapping[str, Any], table: _Table, names_by_role: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return the two columns of each covariate."""
    names = table.rows.column_names
    if isinstance(style, Mapping):
        pairs = {}
        for name, pair in style.items():
            is_pair = isinstance(pair, list | tuple) and len(pair) == 2
            if not is_pair or not all(isinstance(column_name, str) for column_name in pair):
                raise InputError(
                    f"style: {name!r} is {format_value(pair)}, expected the names of two columns"
                )
            pairs[str(name)] = (pair[0], pair[1])
    else:
        suffixes = (*_SUFFIXES, (f"_{names_by_role['first']}", f"_{names_by_role['second']}"))
        pairs = {}
        for name in style:
            candidates = [(f"{name}{first}", f"{name}{second}") for first, second in suffixes]
            present = [pair for pair in candidates if set(pair) <= set(names)]
            if not present:
                raise InputError(
                    f"{table.name}: style: there are no columns {candidates[0][0]!r} and "
                    f"{candidates[0][1]!r}; {did_you_mean(candidates[0][0], names)}"
                )
            pairs[name] = present[0]
    for pair in pairs.values():
        for name in pair:
            if name not in names:
                hint = did_you_mean(name, names)
                raise InputError(f"{table.name}: style: there is no column {name!r}; {hint}")
    return pairs


def _complete_rows(
    table: _Table, columns: Mapping[str, Any], missing: str
) -> tuple[npt.NDArray[np.intp] | None, tuple[str, ...]]:
    """Return the rows without a missing value, None for all of them, and a note."""
    incomplete, missing_counts = incomplete_rows(columns, optional=())
    if incomplete is None or not incomplete.any():
        return None, ()
    if missing == "error":
        row = int(np.argmax(incomplete))
        name = next(name for name in columns if is_missing(columns[name][row].as_py()))
        raise table.error(row, f"{name} is missing; missing='drop' omits such battles")
    note = dropped_rows_note(int(incomplete.sum()), len(incomplete), missing_counts)
    return np.flatnonzero(~incomplete), (note,)


def _systems(
    table: _Table, columns: Mapping[str, Any], names_by_role: Mapping[str, str]
) -> tuple[tuple[str, ...], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the names of the systems, sorted, and the systems of each battle."""
    encoded = [
        encode_labels(columns[name], f"{table.name}: {name}")
        for name in (names_by_role["first"], names_by_role["second"])
    ]
    systems = tuple(sorted({name for labels in encoded for name in labels.names}))
    index_by_name = {name: index for index, name in enumerate(systems)}
    first, second = (
        np.array([index_by_name[name] for name in labels.names], np.int32)[labels.codes]
        for labels in encoded
    )
    return systems, first, second


def _outcomes(
    table: _Table,
    columns: Mapping[str, Any],
    names_by_role: Mapping[str, str],
    battles: tuple[tuple[str, ...], npt.NDArray[np.int32], npt.NDArray[np.int32]],
    rows: npt.NDArray[np.intp] | None,
) -> npt.NDArray[np.int8]:
    """Return the outcome of each battle for its first system."""
    name = names_by_role["outcome"]
    encoded = encode_labels(columns[name], f"{table.name}: {name}")
    systems, first, second = battles
    sides = {names_by_role["first"]: 2, names_by_role["second"]: 0, "a": 2, "b": 0}
    index_by_name = {system: index for index, system in enumerate(systems)}
    values = [_outcome_of_side(label, sides) for label in encoded.labels]
    # A system may have the name of a column, or that of a tie.
    by_side = np.array([-1 if value is None else value for value in values], np.int8)
    by_side = by_side[encoded.codes]
    by_system = np.int8(-1)
    if any(label in index_by_name for label in encoded.names):
        system_index = np.array([index_by_name.get(n, -1) for n in encoded.names], np.int32)
        system_index = system_index[encoded.codes]
        by_system = np.where(system_index == first, 2, np.where(system_index == second, 0, -1))
    outcome = np.where(by_side < 0, by_system, by_side)
    conflict = np.flatnonzero((by_side >= 0) & (by_system >= 0) & (by_side != by_system))
    invalid = np.flatnonzero(outcome < 0)
    if len(invalid):
        row = int(invalid[0])
        value = encoded.labels[encoded.codes[row]]
        expected = [names_by_role["first"], names_by_role["second"], "tie", "tie (bothbad)"]
        numbers = "; or the name of one of its systems, or 1, 0.5 or 0"
        raise table.error(
            int(row if rows is None else rows[row]),
            f"{name} is {format_value(value)}, expected {', '.join(expected)}{numbers}",
        )
    if len(conflict):
        row = int(conflict[0])
        value = encoded.names[encoded.codes[row]]
        raise table.error(
            int(row if rows is None else rows[row]),
            f"{name} is {value!r}, which is the name of a system but also means the other one; "
            f"write {names_by_role['first']} or {names_by_role['second']}",
        )
    return outcome.astype(np.int8)


def _outcome_of_side(label: Any, sides: Mapping[str, int]) -> int | None:
    """Return the outcome of a value for the first system, or None if it is not an outcome."""
    if not isinstance(label, str):
        try:
            return SCORES.get(float(label))
        except (TypeError, ValueError):
            return None
    if label in sides:
        return sides[label]
    plain = label.strip().lower()
    if plain in TIES:
        return 1
    if plain in sides:
        return sides[plain]
    try:
        return SCORES.get(float(plain))
    except ValueError:
        return None


def _relative_difference(
    table: _Table,
    first: tuple[str, Any],
    second: tuple[str, Any],
    rows: npt.NDArray[np.intp] | None,
) -> FloatArray:
    """Return (a − b)/(a + b) for each battle, 0 if both are 0."""
    a, b = (to_quantities(values, f"{table.name}: {name}") for name, values in (first, second))
    for (name, _), values in ((first, a), (second, b)):
        negative = np.flatnonzero(values < 0)
        if len(negative):
            row = int(negative[0])
            raise table.error(
                int(row if rows is None else rows[row]),
                f"{name} is {values[row]:g}, expected a number of 0 or more",
            )
    total = a + b
    return np.divide(a - b, total, out=np.zeros(len(a)), where=total > 0)
