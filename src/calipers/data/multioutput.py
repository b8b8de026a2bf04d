"""Multioutput data: tables of truth and predictions with one column per output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from calipers.data.class_labels import label_name
from calipers.data.class_probabilities import is_table, probability_columns
from calipers.data.errors import (
    InputError,
    did_you_mean,
    find_duplicate,
    format_names,
    format_value,
)


def columns_by_output(columns: Any, outputs: Sequence[str]) -> Any:
    """Return names of columns by output, given them in the order of the outputs.

    In a dict of systems the names of each system are converted.
    """
    if isinstance(columns, Mapping):
        return {
            name: columns_by_output(system_columns, outputs)
            for name, system_columns in columns.items()
        }
    if _is_names(columns):
        if len(columns) != len(outputs):
            raise InputError(
                f"predicted: {len(columns)} columns are named for {len(outputs)} outputs: "
                f"{format_names(outputs)}"
            )
        return dict(zip(outputs, columns, strict=True))
    return columns


def named_outputs(truth: Any) -> tuple[str, ...]:
    """Return the outputs if the truth is a list of column names, or a dict of them."""
    if isinstance(truth, Mapping) and all(isinstance(name, str) for name in truth.values()):
        return tuple(map(str, truth))
    return tuple(truth) if _is_names(truth) else ()


def _is_names(values: Any) -> bool:
    return isinstance(values, list | tuple) and bool(values) and all(type(n) is str for n in values)


def n_columns(values: Any) -> int:
    """Return the number of columns; 0 for a column that is not a table."""
    if not is_table(values):
        return 0
    if isinstance(values, Mapping) or is_frame(values):
        return len(probability_columns(values))
    return int(np.shape(values[0] if isinstance(values, list | tuple) else values)[-1])


def only_column(values: Any) -> Any:
    """Return the column of a table with one column; return anything else unchanged."""
    if n_columns(values) != 1:
        return values
    if isinstance(values, Mapping):
        return next(iter(values.values()))
    if is_frame(values):
        return _column(values, probability_columns(values)[0])
    return np.asanyarray(values)[:, 0]


def output_names(truth: Any, outputs: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of the outputs: as given, else columns of the truth, else indices."""
    n_outputs = n_columns(truth) or 1
    default_names = probability_columns(truth) or tuple(map(str, range(n_outputs)))
    if outputs is not None and not isinstance(outputs, list | tuple):
        raise InputError(f"outputs: {format_value(outputs)} is not a list of names")
    names = default_names if outputs is None else tuple(map(label_name, outputs))
    if len(set(names)) < len(names):
        raise InputError(f"outputs: {find_duplicate(names)!r} appears more than once")
    if len(names) != n_outputs:
        raise InputError(f"outputs: {len(names)} names for {n_outputs} columns of the truth")
    return names


def to_outputs(
    values: Any, input_name: str, outputs: Sequence[str], rows: int | None = None
) -> Floats:
    """Convert a table to a matrix of shape (n, n_outputs).

    Named columns are matched by name; others are in the order of the outputs.

    Raises
    ------
    InputError
        If an output has no column, a column is not an output, or values are not numbers.
    """
    names = probability_columns(values)
    if names:
        unmatched = sorted(set(names) ^ set(outputs))
        if unmatched or len(names) != len(outputs):
            first = unmatched[0] if unmatched else find_duplicate(names)
            is_missing_column = first not in names
            problem = (
                f"the output {first!r} has no column"
                if is_missing_column
                else f"{first!r} is not an output"
            )
            raise InputError(
                f"{input_name}: {problem}; "
                f"{did_you_mean(first, names if is_missing_column else outputs)}"
            )
        columns = [_column(values, name) for name in outputs]
    else:
        n_given = n_columns(values)
        if (n_given or 1) != len(outputs):
            given_text = f"{n_given} columns" if n_given > 1 else "one column"
            raise InputError(
                f"{input_name}: has {given_text} for {len(outputs)} outputs: "
                f"{format_names(outputs)}"
            )
        columns = list(to_matrix(values, input_name).T) if n_given else [values]
    converted = [
        to_quantities(c, f"{input_name} of {o!r}") for o, c in zip(outputs, columns, strict=True)
    ]
    for output, column in zip(outputs, converted, strict=True):
        check_length(
            column, len(converted[0]) if rows is None else rows, f"{input_name} of {output!r}"
        )
    return np.column_stack(converted)


def _column(table: Any, name: str) -> Any:
    """Return the column of a dict or data frame whose name, as text, is this one."""
    key = dict(zip(probability_columns(table), column_names(table), strict=True))[name]
    return table[key]
