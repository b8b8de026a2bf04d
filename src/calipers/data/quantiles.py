"""Predicted quantiles, with one column per level, and ensembles, with one per member."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from calipers.data.arrays import (
    Floats,
    check_length,
    column_names,
    is_frame,
    to_matrix,
    to_quantities,
)
from calipers.data.class_probabilities import is_table
from calipers.data.errors import InputError, format_names, format_value


def is_one_system(values: Any) -> bool:
    """Return whether these are the levels of one system, rather than systems by name."""
    return not (isinstance(values, Mapping) and values and all(map(is_table, values.values())))


def to_quantiles(values: Any, input_name: str, rows: int) -> tuple[tuple[float, ...], Floats]:
    """Return the levels in ascending order, and the quantiles as an array of shape (n, n_levels).

    The input is a dict or a data frame with one column per level, such as ``{0.05: …, 0.95: …}``.

    Raises
    ------
    InputError
        If a level is not a number between 0 and 1 or is duplicated, or if columns differ in length
        or have no numbers.
    """
    if not (isinstance(values, Mapping) or is_frame(values)):
        raise InputError(
            f"{input_name}: is of type {type(values).__name__}, expected a dict or a data frame "
            "with a column for each level, such as {0.05: …, 0.95: …}"
        )
    columns_by_level: dict[float, Any] = {}
    for name in column_names(values):
        level = _level(name, input_name)
        if level in columns_by_level:
            raise InputError(f"{input_name}: the level {level:g} appears twice")
        column = values.column(name) if hasattr(values, "column") else values[name]
        columns_by_level[level] = to_quantities(column, f"{input_name} of {name!r}")
    if not columns_by_level:
        raise InputError(f"{input_name}: no columns, expected one for each level")
    levels = tuple(sorted(columns_by_level))
    for level in levels:
        check_length(columns_by_level[level], rows, f"{input_name} of {level:g}")
    return levels, np.column_stack([columns_by_level[level] for level in levels])


def to_members(values: Any, input_name: str, rows: int) -> Floats:
    """Return the members of an ensemble as an array of shape (n, n_members).

    The input is an array with a column for each member, or a dict or a data frame of columns.

    Raises
    ------
    InputError
        If there is no member, or columns differ in length or have no numbers.
    """
    if isinstance(values, Mapping) or is_frame(values):
        columns = [
            to_quantities(values[name], f"{input_name} of {name!r}")
            for name in column_names(values)
        ]
    elif is_table(values):
        columns = [to_quantities(column, input_name) for column in to_matrix(values, input_name).T]
    else:
        raise InputError(
            f"{input_name}: is of type {type(values).__name__}, expected an array of shape (n, "
            "n_members), a dict or a data frame, with a column for each member"
        )
    if not columns:
        raise InputError(f"{input_name}: no columns, expected one for each member")
    for column in columns:
        check_length(column, rows, input_name)
    return np.column_stack(columns)


def to_joint_members(values: Any, input_name: str, outputs: tuple[str, ...], rows: int) -> Floats:
    """Return the members of an ensemble of several outputs, of shape (n, n_members, n_outputs).

    The input is an array of that shape, or has a table of members for each output, by its name.

    Raises
    ------
    InputError
        If outputs differ in their numbers of members, or in their names, or are not numbers.
    """
    if isinstance(values, Mapping):
        if sorted(map(str, values)) != sorted(outputs):
            raise InputError(
                f"{input_name}: has {format_names(list(map(str, values)))}, expected the members "
                f"of each output: {format_names(outputs)}"
            )
        tables = {str(name): table for name, table in values.items()}
    else:
        array = np.asarray(values)
        if array.ndim != 3 or array.shape[2] != len(outputs):
            raise InputError(
                f"{input_name}: has the shape {array.shape}, expected one of (n, n_members, "
                f"{len(outputs)}), or a table of members for each output"
            )
        tables = {name: array[..., index] for index, name in enumerate(outputs)}
    members = [to_members(tables[name], f"{input_name} of {name!r}", rows) for name in outputs]
    sizes = {table.shape[1] for table in members}
    if len(sizes) > 1:
        raise InputError(f"{input_name}: outputs have {sorted(sizes)} members, expected as many")
    return np.stack(members, axis=2)


def _level(name: Any, input_name: str) -> float:
    try:
        level = math.nan if isinstance(name, bool) else float(name)
    except (TypeError, ValueError, OverflowError):
        level = math.nan
    if not 0 < level < 1:
        raise InputError(
            f"{input_name}: a column is called {format_value(name)}, expected a level between 0 "
            "and 1, such as 0.05; the limits of a 90% interval have the levels 0.05 and 0.95"
        )
    return level
