"""Columns of labels, of lists of them and of numbers for each, before anybody reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import is_missing, table_of
from calipers.data.class_columns import SUM_TOLERANCE
from calipers.data.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt


def as_table(values: Any, what: str) -> Any:
    """Scores in memory as an array of shape (rows, labels); all else as it is.

    They are rows of numbers, or a list of an array of shape (rows, 2) for each label, as
    predict_proba of scikit-learn gives it: the probabilities not to have the label, and to have it.
    """
    if isinstance(values, Mapping) and not is_columns_of_labels(values):
        return {name: as_table(value, f"{what} {str(name)!r}") for name, value in values.items()}
    if not isinstance(values, list | tuple) or not values:
        return values
    if all(getattr(part, "ndim", 1) == 2 for part in values):
        return _of_pairs(values, what)
    if all(isinstance(row, list | tuple | np.ndarray) for row in values):
        lengths = {len(row) for row in values}
        if len(lengths) > 1:
            raise InputError(f"{what}: rows differ in length, expected a number for each label")
        return table_of(values, what)
    return values


def _of_pairs(tables: Sequence[Any], what: str) -> Any:
    made = [table_of(table, what) for table in tables]
    for place, table in enumerate(made):
        if table.shape[1] == 1:
            raise InputError(
                f"{what}: the array of label {place} has one column, as predict_proba gives it "
                "where the rows that a model was fitted on all agreed; expected two"
            )
        if (
            table.shape != (len(made[0]), 2)
            or (np.abs(table.sum(axis=1) - 1) > SUM_TOLERANCE).any()
        ):
            raise InputError(
                f"{what}: the array of label {place} has shape {table.shape}; of a list of arrays, "
                "one for each label, expected the probabilities not to have it and to have it, "
                "which sum to 1"
            )
    return np.column_stack([table[:, 1] for table in made])


def is_columns_of_labels(given: Any) -> bool:
    """Whether a dict holds a column of numbers or Booleans for each label, and not systems."""
    return isinstance(given, Mapping) and bool(given) and all(map(_is_numbers, given.values()))


def _is_numbers(values: Any) -> bool:
    if isinstance(values, Mapping) or getattr(values, "ndim", 1) != 1:
        return False
    kind = str(getattr(values, "type", getattr(values, "dtype", ""))).lower()
    if isinstance(values, list | tuple) or kind in ("object", "category"):
        first = next((value for value in values if not is_missing(value)), None)
        return isinstance(first, bool | int | float | np.number | np.bool_)
    return kind.startswith(("bool", "int", "uint", "float", "double", "half", "decimal", "null"))


def as_column(values: Any) -> Any:
    """Rows in memory as one column, so that some of them can be taken; all else as it is."""
    if isinstance(values, Mapping) and not is_columns_of_labels(values):
        return {name: as_column(value) for name, value in values.items()}
    if not isinstance(values, list | tuple) or not values or isinstance(values[0], str):
        return values
    if not any(isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in values):
        return values
    out = np.empty(len(values), object)
    for at, row in enumerate(values):
        out[at] = tuple(row) if isinstance(row, list | np.ndarray) else row
    return out


def missing_lists(values: Any) -> npt.NDArray[np.bool_] | None:
    """Which rows of a column of label sets are missing; None where it is another kind of column."""
    if type(values).__module__.startswith("pyarrow"):
        if not is_list(values.type):
            return None
        return np.asarray(values.is_null().to_numpy(zero_copy_only=False), bool)
    if str(getattr(values, "dtype", "")).startswith("List"):  # of polars
        return np.asarray(values.is_null().to_numpy(), bool)
    if str(getattr(values, "dtype", "")) != "object":
        return None
    rows = list(values)
    if not any(isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in rows):
        return None
    return np.array([not hasattr(row, "__len__") and is_missing(row) for row in rows], bool)


def is_list(kind: Any) -> bool:
    """Whether the values of a type of Arrow are lists."""
    import pyarrow as pa

    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def names_in(given: Any) -> set[str]:
    """The names of columns among what may be names, lists and dicts of names."""
    if isinstance(given, str):
        return {given}
    inner = given.values() if isinstance(given, Mapping) else given
    if not isinstance(given, Mapping | list | tuple):
        return set()
    return {name for one in inner for name in names_in(one)}


def no_labels(table: Any, names: Iterable[str]) -> Any:
    """A table of a CSV file, in which an empty field of these columns is a row without labels."""
    import pyarrow.compute as pc

    for name in names:
        if name in table.column_names:
            text = pc.fill_null(pc.cast(table.column(name), "string"), "")
            table = table.set_column(table.column_names.index(name), name, text)
    return table
