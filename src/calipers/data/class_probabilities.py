"""Class probabilities and scores, with one column per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.data.arrays import (
    Floats,
    check_length,
    column_names,
    format_other_rows,
    is_frame,
    to_matrix,
    to_numbers,
)
from calipers.data.class_labels import ClassLabels, Codes, find_label, label_index, label_name
from calipers.data.errors import InputError, did_you_mean, format_names

if TYPE_CHECKING:
    import numpy.typing as npt

#: See :func:`probability_matrix`.
ClassTable: TypeAlias = "tuple[npt.NDArray[np.floating[Any]], Codes, Floats, Floats]"

#: How far the probabilities of a row may be from a sum of one.
SUM_TOLERANCE = 1e-6


def has_class_columns(outputs: Any, names: Sequence[str] | None = None) -> bool:
    """Return whether a dict has one column per class of one system, not several systems.

    The values may be columns or their names. Of two classes, the columns are named after them.
    Without ``names`` several classes have one column each, however many there are.
    """
    if not isinstance(outputs, Mapping) or any(map(is_table, outputs.values())):
        return False
    return names is None or len(names) > 2 or {label_name(key) for key in outputs} == set(names)


def is_one_column(values: Any, names: Sequence[str]) -> bool:
    """Return whether scores or probabilities have one column per system, rather than per class."""
    if isinstance(values, Mapping):
        return not (has_class_columns(values, names) or any(map(is_table, values.values())))
    return not is_table(values)


def is_table(values: Any) -> bool:
    """Return whether values have several columns."""
    if isinstance(values, Mapping) or is_frame(values):
        return True
    if isinstance(values, list | tuple):
        return bool(values) and np.ndim(values[0]) == 1
    return getattr(values, "ndim", 1) == 2


def is_distribution(truth: Any) -> bool:
    """Return whether a truth has one column for each of several classes."""
    if not is_table(truth):
        return False
    names = column_names(truth)
    if names or isinstance(truth, Mapping) or is_frame(truth):
        return len(names) > 1
    first = truth[0] if isinstance(truth, list | tuple) else truth
    return bool(np.shape(first)[-1] > 1)


def probability_columns(probability: Any) -> tuple[str, ...]:
    """Return the classes that the columns are named after; empty if columns have no names."""
    return tuple(map(label_name, column_names(probability)))


def probability_matrix(
    values: Any,
    classes: ClassLabels,
    input_name: str = "probability",
    *,
    distribution: bool = True,
) -> ClassTable:
    """Convert probabilities of K classes to an array of shape (n, K), in the order of the classes.

    The pass that checks the rows also computes three values of each row: the class of the highest
    probability (the first in a tie), the probability of its own class, and the sum of the squares
    of all others. An array of single or double precision is not copied, whatever its memory order.

    Parameters
    ----------
    values : dict, data frame or array of shape (n, K)
        One column per class: a dict or a data frame, matched by name, or an array in the order of
        the classes.
    classes : ClassLabels
        Classes, and the class of each row.
    input_name : str, default="probability"
        Name of the values in messages.
    distribution : bool, default=True
        Whether the values are probabilities. Otherwise they are scores, which may be any finite
        numbers.

    Returns
    -------
    tuple of ndarray
        Table, class of the highest value, value of the own class, and sum of the squares of the
        others.

    Raises
    ------
    InputError
        If a class has no column or a column no class, if a value is missing or outside [0, 1], or
        if a row does not sum to one within 1e-6; the first such row is named.

    Examples
    --------
    >>> from calipers.data.class_labels import encode_classes
    >>> by_class = {"b": [0.75, 0.5], "a": [0.25, 0.5]}
    >>> true_classes = encode_classes(["b", "a"])
    >>> table, highest, p_of_class, _ = probability_matrix(by_class, true_classes)
    >>> table
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> highest, p_of_class
    (array([1, 0]), array([0.75, 0.5 ]))
    """
    from calipers import _core

    names, rows = classes.names, len(classes.codes)
    columns = probability_columns(values)
    if columns:
        table = _from_columns(
            _match_columns(values, columns, names, input_name), names, rows, input_name
        )
    else:
        table = to_matrix(values, input_name)
        if table.ndim != 2 or table.shape[1] != len(names):
            if table.ndim == 1:
                raise _class_columns_error("has one column", names, input_name)
            raise InputError(
                f"{input_name}: has shape {table.shape}, expected a column for each of the "
                f"{len(names)} classes: {format_names(names)}"
            )
        check_length(table, rows, input_name)
    highest, own_class_values, squares, invalid, off_sum = _core.class_rows(
        table, np.asarray(classes.codes, np.int64), SUM_TOLERANCE if distribution else None
    )
    if invalid[0]:
        raise _invalid_value_error(
            table[invalid[1]], names, input_name, *invalid, distribution=distribution
        )
    if off_sum[0]:
        raise InputError(
            f"{input_name}: sum to {table[off_sum[1]].sum(dtype=np.float64):.7g} in row "
            f"{off_sum[1]}{format_other_rows(off_sum[0])}, expected 1 within {SUM_TOLERANCE:g}"
        )
    return table, highest, own_class_values, squares


def check_columns(values: Any, classes: ClassLabels, input_name: str) -> None:
    """Check that at least one named column is that of a class with rows.

    Otherwise the columns are most likely systems, each with one column for one class.
    """
    columns = probability_columns(values)
    if not columns or len(set(columns)) == len(classes.names):
        return
    present_mask = np.bincount(classes.codes, minlength=len(classes.names)) > 0
    names = [name for name, rows in zip(classes.names, present_mask, strict=True) if rows]
    index_by_label = label_index(names)
    if all(find_label(index_by_label, column) is None for column in columns):
        problem = f"has no column of a class, but {format_names(columns)}"
        # If the classes were not named, those columns were taken to be classes.
        misread_columns = set(map(label_name, columns)) - set(names)
        raise _class_columns_error(
            problem, [name for name in classes.names if name not in misread_columns], input_name
        )


def _class_columns_error(problem: str, names: Sequence[str], input_name: str) -> InputError:
    return InputError(
        f"{input_name}: {problem}; with {len(names)} class{'es' if len(names) > 1 else ''} "
        f"({format_names(names)}) a column for each of them is needed, or a positive class "
        "(positive=…)"
    )


def _match_columns(
    table: Any, columns: Sequence[str], names: Sequence[str], input_name: str
) -> list[tuple[int, Any]]:
    """Pair each column of a dict or data frame with the index of its class."""
    index_by_label = label_index(names)
    column_by_class: dict[int, Any] = {}
    for key, name in zip(column_names(table), columns, strict=True):
        class_index = find_label(index_by_label, name)
        if class_index is None:
            raise InputError(f"{input_name}: {name!r} is not a class; {did_you_mean(name, names)}")
        column_by_class[class_index] = table[key]
    for class_index, name in enumerate(names):
        if class_index not in column_by_class:
            raise InputError(
                f"{input_name}: the class {name!r} has no column; {did_you_mean(name, columns)}"
            )
    return sorted(column_by_class.items(), key=lambda item: item[0])


def _from_columns(
    columns: list[tuple[int, Any]], names: Sequence[str], rows: int, input_name: str
) -> npt.NDArray[np.floating[Any]]:
    """Build a matrix from separate columns."""
    indexed_columns = [
        (class_index, to_numbers(column, f"{input_name} of {names[class_index]!r}"))
        for class_index, column in columns
    ]
    for class_index, values in indexed_columns:
        check_length(values, rows, f"{input_name} of {names[class_index]!r}")
    table = np.empty(
        (rows, len(names)), np.result_type(*(v for _, v in indexed_columns)), order="F"
    )
    for class_index, values in indexed_columns:
        table[:, class_index] = values
    return table


def _invalid_value_error(
    row: npt.NDArray[np.floating[Any]],
    names: Sequence[str],
    input_name: str,
    count: int,
    row_index: int,
    *,
    distribution: bool,
) -> InputError:
    """Return the error for the first invalid value of a row."""
    valid_mask = (row >= 0) & (row <= 1) if distribution else np.isfinite(row)
    class_index = int(np.argmin(valid_mask))
    expected = "probabilities between 0 and 1" if distribution else "finite numbers"
    value = "missing" if np.isnan(row[class_index]) else f"{row[class_index]:g}"
    return InputError(
        f"{input_name} of {names[class_index]!r}: is {value} in row {row_index}"
        f"{format_other_rows(count)}, expected {expected}"
    )
