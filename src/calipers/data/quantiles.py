"""Predictions with several columns: quantiles by level, ensembles, probabilities by time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.arrays import (
    Floats,
    check_length,
    check_values,
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
    return _numbered_columns(values, input_name, rows, "level", _level)


def _numbered_columns(
    values: Any, input_name: str, rows: int, noun: str, read_number: Callable[[Any, str], float]
) -> tuple[tuple[float, ...], Floats]:
    """Return the numbers that name columns in ascending order, and the columns in that order."""
    columns: dict[float, Any] = {}
    for name in column_names(values):
        number = read_number(name, input_name)
        if number in columns:
            raise InputError(f"{input_name}: the {noun} {number:g} appears twice")
        column = values.column(name) if hasattr(values, "column") else values[name]
        columns[number] = to_quantities(column, f"{input_name} of {name!r}")
    if not columns:
        raise InputError(f"{input_name}: no columns, expected one for each {noun}")
    numbers = tuple(sorted(columns))
    for number in numbers:
        check_length(columns[number], rows, f"{input_name} of {number:g}")
    return numbers, np.column_stack([columns[number] for number in numbers])


def to_times(
    values: Any, input_name: str, rows: int, times: Sequence[float] = ()
) -> tuple[tuple[float, ...], Floats]:
    """Return the times in ascending order, and probabilities as an array of shape (n, n_times).

    The input is a dict or a data frame with one column per time, such as ``{12: …, 24: …}``, or an
    array with a column for each of ``times``.

    Raises
    ------
    InputError
        If a time is not a positive number or is duplicated, if columns differ in length, or if they
        are not numbers from 0 to 1.
    """
    if not (isinstance(values, Mapping) or is_frame(values)):
        if not is_table(values):
            raise InputError(
                f"{input_name}: is of type {type(values).__name__}, expected a dict or a data "
                "frame with a column for each time, such as {12: …, 24: …}, or an array and times="
            )
        matrix = to_matrix(values, input_name)
        if matrix.shape[1] != len(times):
            raise InputError(
                f"{input_name}: has {matrix.shape[1]} columns, times= has {len(times)} times"
            )
        values = dict(zip(times, matrix.T, strict=True))
    numbers, table = _numbered_columns(values, input_name, rows, "time", read_time)
    for number, column in zip(numbers, table.T, strict=True):
        is_invalid = (column < 0) | (column > 1)
        expected = "expected probabilities from 0 to 1"
        check_values(column, is_invalid, f"{input_name} of {number:g}", expected)
    return numbers, table


def read_time(name: Any, input_name: str) -> float:
    """Return the time that a name, such as that of a column, stands for."""
    try:
        time = math.nan if isinstance(name, bool) else float(name)
    except (TypeError, ValueError, OverflowError):
        time = math.nan
    if not 0 < time < math.inf:
        raise InputError(
            f"{input_name}: {format_value(name)} is not a time, expected a positive number"
        )
    return time


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
