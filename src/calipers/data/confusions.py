"""Confusion matrices as input: a row for each true class, and a column for each predicted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.arrays import column_names, is_frame, same_length, table_of, taken
from calipers.data.classes import Coded, coded, name_of, place_of, positions
from calipers.data.counts import whole_numbers
from calipers.data.errors import InputError, listed, twice


def of_cells(columns: Mapping[str, Any], labels: Sequence[Any] | None) -> dict[str, Any]:
    """The columns of an evaluation; where a ``confusion`` is among them, its cells as rows that
    count."""
    others = {what: values for what, values in columns.items() if what != "confusion"}
    if columns["confusion"] is None:
        if others["truth"] is None:
            raise InputError("truth= is missing: the class of each row")
        return others
    for what in ("predicted", "score", "probability", "count"):
        if others[what] is not None:
            raise InputError(f"confusion= says what is predicted, and how often: leave out {what}=")
    if others.get("time") is not None:
        raise InputError("time= is that of rows, of which a confusion matrix has none")
    name, matrix = _only(columns["confusion"])
    truth, names, counts = _read(matrix, others["truth"], labels)
    rows, classes = np.indices(counts.shape).reshape(2, -1)
    cells = {what: taken(values, rows) for what, values in others.items()}
    said = Coded(names, classes, ordered=True)
    return {
        **cells,
        "truth": Coded(names, truth[rows], ordered=True),
        "predicted": said if name is None else {name: said},
        "count": counts.ravel(),
    }


def _only(given: Any) -> tuple[str | None, Any]:
    """The name of the system, where it has one, and its matrix."""
    if not isinstance(given, Mapping) or not all(map(_is_matrix, given.values())):
        return None, given
    if not given:
        raise InputError("confusion: an empty dict, expected a matrix")
    if len(given) > 1:
        raise InputError(
            f"confusion: there are {len(given)} systems, {listed(list(map(str, given)))}, with a "
            "matrix each, which do not say on which rows one is right and the other wrong, and so "
            "cannot be compared; give one table that counts them together (a column for what each "
            "says, and count=), or evaluate each by itself"
        )
    [(name, matrix)] = given.items()
    return str(name), matrix


def _is_matrix(values: Any) -> bool:
    """Whether it has rows and columns."""
    if isinstance(values, list | tuple):
        return bool(values) and hasattr(values[0], "__len__") and not isinstance(values[0], str)
    return isinstance(values, Mapping) or is_frame(values) or getattr(values, "ndim", 1) == 2


def _read(matrix: Any, truth: Any, labels: Sequence[Any] | None) -> tuple[Any, Any, Any]:
    """The class of each row, as a position, the classes, and the counts."""
    if not _is_matrix(matrix):
        raise InputError("confusion: is no table, expected a column of counts for each class")
    names, table = _table(matrix, labels)
    if len(set(names)) < len(names):
        raise InputError(f"confusion: {twice(names)!r} stands there more than once")
    counts = np.column_stack(
        [
            whole_numbers(column, f"confusion: the column of {name!r}")
            for name, column in zip(names, table, strict=True)
        ]
    )
    if truth is not None:
        column = coded(truth, "truth")
        same_length(counts, len(column.codes), "confusion")
        known = positions(names)
        extra = [name for name in column.names if place_of(known, name) is None]
        if len(extra) == len(column.names):
            raise InputError(
                f"confusion: its columns are called {listed(list(names))}, and truth has the "
                f"classes {listed(list(column.names))}; expected a column for each predicted "
                "class, under its name"
            )
        known = positions([*names, *extra])
        to = np.array([place_of(known, name) for name in column.names])
        return to[column.codes], (*names, *extra), counts
    if len(counts) != len(names):
        raise InputError(
            f"confusion: has {len(counts)} rows and {len(names)} columns, expected one of each for "
            "every class, or truth= with the class of each row"
        )
    return _order(matrix, names), tuple(names), counts


def _table(matrix: Any, labels: Sequence[Any] | None) -> tuple[list[str], list[Any]]:
    """The predicted classes, and their columns."""
    if isinstance(matrix, Mapping) or is_frame(matrix):
        return list(map(name_of, column_names(matrix))), [matrix[c] for c in column_names(matrix)]
    table = table_of(matrix, "confusion")
    if table.ndim != 2:
        raise InputError(f"confusion: has shape {table.shape}, expected rows and columns")
    names = list(map(name_of, range(table.shape[1]) if labels is None else labels))
    if len(names) != table.shape[1]:
        raise InputError(
            f"confusion: has {table.shape[1]} columns, labels= names {len(names)} classes"
        )
    return names, list(table.T)


def _order(matrix: Any, names: Sequence[str]) -> Any:
    """Which class each row is of: that of its name, else the classes in their order."""
    index = getattr(matrix, "index", None)
    if index is None or callable(index):
        return np.arange(len(names))
    of_rows, known = list(map(name_of, index)), positions(names)
    found = [place_of(known, name) for name in of_rows]
    if None in found or len(set(found)) < len(names):
        raise InputError(
            f"confusion: its rows are called {listed(of_rows)}, its columns {listed(list(names))}; "
            "expected the same classes, or truth= with the class of each row"
        )
    return np.array(found)
