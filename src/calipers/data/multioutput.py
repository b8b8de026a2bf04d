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


def columns_by_output(given: Any, outputs: Sequence[str]) -> Any:
    """Return names of columns by output, given them in the order of the outputs.

    In a dict of systems the names of each system are converted.
    """
    if isinstance(given, Mapping):
        return {name: columns_by_output(of, outputs) for name, of in given.items()}
    if _is_names(given):
        if len(given) != len(outputs):
            raise InputError(
                f"predicted: {len(given)} columns are named for {len(outputs)} outputs: "
                f"{format_names(outputs)}"
            )
        return dict(zip(outputs, given, strict=True))
    return given


def named_outputs(truth: Any) -> tuple[str, ...]:
    """Return the outputs if the truth is a list of column names, or a dict of them."""
    if isinstance(truth, Mapping) and all(isinstance(of, str) for of in truth.values()):
        return tuple(map(str, truth))
    return tuple(truth) if _is_names(truth) else ()


def _is_names(given: Any) -> bool:
    return isinstance(given, list | tuple) and bool(given) and all(type(n) is str for n in given)


def n_columns(given: Any) -> int:
    """Return the number of columns; 0 for a column that is not a table."""
    if not is_table(given):
        return 0
    if isinstance(given, Mapping) or is_frame(given):
        return len(probability_columns(given))
    return int(np.shape(given[0] if isinstance(given, list | tuple) else given)[-1])


def only_column(given: Any) -> Any:
    """Return the column of a table with one column; return anything else unchanged."""
    if n_columns(given) != 1:
        return given
    if isinstance(given, Mapping):
        return next(iter(given.values()))
    if is_frame(given):
        return _column(given, probability_columns(given)[0])
    return np.asanyarray(given)[:, 0]


def output_names(truth: Any, outputs: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of the outputs: as given, else columns of the truth, else indices."""
    number = n_columns(truth) or 1
    own = probability_columns(truth) or tuple(map(str, range(number)))
    if outputs is not None and not isinstance(outputs, list | tuple):
        raise InputError(f"outputs: {format_value(outputs)} is no list of names")
    made = own if outputs is None else tuple(map(label_name, outputs))
    if len(set(made)) < len(made):
        raise InputError(f"outputs: {find_duplicate(made)!r} stands there more than once")
    if len(made) != number:
        raise InputError(f"outputs: {len(made)} names for {number} columns of the truth")
    return made


def to_outputs(given: Any, what: str, outputs: Sequence[str], rows: int | None = None) -> Floats:
    """Convert a table to a matrix of shape (n, n_outputs).

    Named columns are matched by name; others are in the order of the outputs.

    Raises
    ------
    InputError
        If an output has no column, a column is not an output, or values are not numbers.
    """
    names = probability_columns(given)
    if names:
        odd = sorted(set(names) ^ set(outputs))
        if odd or len(names) != len(outputs):
            first = odd[0] if odd else find_duplicate(names)
            lacking = first not in names
            why = f"the output {first!r} has no column" if lacking else f"{first!r} is no output"
            raise InputError(f"{what}: {why}; {did_you_mean(first, names if lacking else outputs)}")
        columns = [_column(given, name) for name in outputs]
    else:
        number = n_columns(given)
        if (number or 1) != len(outputs):
            have = f"{number} columns" if number > 1 else "one column"
            raise InputError(
                f"{what}: has {have} for {len(outputs)} outputs: {format_names(outputs)}"
            )
        columns = list(to_matrix(given, what).T) if number else [given]
    made = [to_quantities(c, f"{what} of {o!r}") for o, c in zip(outputs, columns, strict=True)]
    for output, column in zip(outputs, made, strict=True):
        check_length(column, len(made[0]) if rows is None else rows, f"{what} of {output!r}")
    return np.column_stack(made)


def _column(given: Any, name: str) -> Any:
    """Return the column of a dict or data frame whose name, as text, is this one."""
    own = dict(zip(probability_columns(given), column_names(given), strict=True))[name]
    return given[own]
