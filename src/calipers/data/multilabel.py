"""Multilabel data: the supported forms of label sets, with all checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.data.arrays import (
    Floats,
    check_length,
    column_names,
    is_missing,
    missing_mask,
    to_matrix,
    to_numbers,
    to_probabilities,
)
from calipers.data.arrow_types import decode_dictionary
from calipers.data.class_labels import encode_labels, label_name, sort_labels
from calipers.data.class_probabilities import SUM_TOLERANCE, probability_columns
from calipers.data.errors import (
    InputError,
    did_you_mean,
    find_duplicate,
    format_names,
    format_value,
)
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt


def to_score_table(values: Any, input_name: str) -> Any:
    """Convert scores in memory to an array of shape (n, n_labels); return anything else unchanged.

    Scores are rows of numbers, or a list with an array of shape (n, 2) for each label, as returned
    by predict_proba of scikit-learn: the probabilities not to have the label, and to have it.
    """
    if isinstance(values, Mapping) and not is_label_columns(values):
        return {
            name: to_score_table(value, f"{input_name} {str(name)!r}")
            for name, value in values.items()
        }
    if not isinstance(values, list | tuple) or not values:
        return values
    if all(getattr(element, "ndim", 1) == 2 for element in values):
        return _from_class_pairs(values, input_name)
    if all(isinstance(row, list | tuple | np.ndarray) for row in values):
        lengths = {len(row) for row in values}
        if len(lengths) > 1:
            raise InputError(
                f"{input_name}: rows differ in length, expected a number for each label"
            )
        return to_matrix(values, input_name)
    return values


def _from_class_pairs(tables: Sequence[Any], input_name: str) -> Any:
    matrices = [to_matrix(table, input_name) for table in tables]
    for index, table in enumerate(matrices):
        if table.shape[1] == 1:
            raise InputError(
                f"{input_name}: the array of label {index} has one column, as predict_proba "
                "returns it if all rows that a model was fitted on agree; expected two"
            )
        if (
            table.shape != (len(matrices[0]), 2)
            or (np.abs(table.sum(axis=1) - 1) > SUM_TOLERANCE).any()
        ):
            raise InputError(
                f"{input_name}: the array of label {index} has shape {table.shape}; for a list of "
                "arrays, one for each label, expected the probabilities not to have it and to have "
                "it, which sum to 1"
            )
    return np.column_stack([table[:, 1] for table in matrices])


def is_label_columns(values: Any) -> bool:
    """Return whether a dict has a column of numbers or Booleans per label, rather than systems."""
    return isinstance(values, Mapping) and bool(values) and all(map(_is_numbers, values.values()))


def _is_numbers(values: Any) -> bool:
    if isinstance(values, Mapping) or getattr(values, "ndim", 1) != 1:
        return False
    kind = str(getattr(values, "type", getattr(values, "dtype", ""))).lower()
    if isinstance(values, list | tuple) or kind in ("object", "category"):
        first = next((value for value in values if not is_missing(value)), None)
        return isinstance(first, bool | int | float | np.number | np.bool_)
    return kind.startswith(("bool", "int", "uint", "float", "double", "half", "decimal", "null"))


def to_column(values: Any) -> Any:
    """Convert rows in memory to one column that can be indexed; return anything else unchanged."""
    if isinstance(values, Mapping) and not is_label_columns(values):
        return {name: to_column(value) for name, value in values.items()}
    if not isinstance(values, list | tuple) or not values or isinstance(values[0], str):
        return values
    if not any(isinstance(row, list | tuple | set | frozenset | np.ndarray) for row in values):
        return values
    column = np.empty(len(values), object)
    for index, row in enumerate(values):
        column[index] = tuple(row) if isinstance(row, list | np.ndarray) else row
    return column


def missing_list_mask(values: Any) -> npt.NDArray[np.bool_] | None:
    """Return the mask of the missing rows of a column of label sets; None for other columns."""
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


def labeled_rows_mask(values: Any, input_name: str) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows that have labels; the other rows are missing.

    In a table with a column for each label, all columns of a row are missing.

    Raises
    ------
    InputError
        If only some columns of a row are missing, columns differ in length, or values are neither a
        column nor a table.

    Examples
    --------
    >>> labeled_rows_mask({"sun": [1, None], "sea": [0, None]}, "human").tolist()
    [True, False]
    """
    n_dimensions = getattr(values, "ndim", 1)
    if n_dimensions not in (1, 2):
        raise InputError(
            f"{input_name}: has {n_dimensions} dimensions, expected a column of sets of labels, or "
            "a table with a column for each label"
        )
    names = probability_columns(values)
    if not names:
        mask = missing_list_mask(values)
        if mask is None and getattr(values, "ndim", 1) == 2:
            if hasattr(values, "toarray"):  # SciPy's sparse arrays hold all values
                return np.ones(values.shape[0], bool)
            return _all_or_none(np.isnan(np.asarray(values, np.float64)), None, input_name)
        if mask is None:
            return ~missing_mask(values, input_name)
        return ~(mask | _missing_lists(values))
    columns = dict(zip(names, column_names(values), strict=True))
    masks = [
        missing_mask(values[key], f"{input_name} of {name!r}") for name, key in columns.items()
    ]
    for name, mask in zip(names, masks, strict=True):
        check_length(mask, len(masks[0]), f"{input_name} of {name!r}", f"{names[0]!r} has")
    return _all_or_none(np.column_stack(masks), names, input_name)


def _missing_lists(values: Any) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows of a column of lists in which all values are missing."""
    if type(values).__module__.split(".")[0] in ("pyarrow", "polars"):
        return np.zeros(len(values), bool)
    return np.array(
        [
            isinstance(row, list | tuple | np.ndarray)
            and len(row) > 0
            and all(map(is_missing, row))
            for row in values
        ],
        bool,
    )


def _all_or_none(
    missing: npt.NDArray[np.bool_], names: Sequence[str] | None, input_name: str
) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows that are given, none of which has a missing value."""
    partial_mask = missing.any(axis=1) & ~missing.all(axis=1)
    if partial_mask.any():
        row = int(np.argmax(partial_mask))
        column = int(np.argmax(missing[row]))
        name = column if names is None else names[column]
        raise InputError(
            f"{input_name}: has no value of {name!r} in row {row}, which has values of other "
            "labels; expected all labels of a row, or none"
        )
    return np.asarray(~missing.all(axis=1))


def is_list(kind: Any) -> bool:
    """Return whether the values of an Arrow type are lists."""
    import pyarrow as pa

    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def collect_names(nested_names: Any) -> set[str]:
    """Collect names of columns from a name, or from nested lists and dicts of names."""
    if isinstance(nested_names, str):
        return {nested_names}
    inner = nested_names.values() if isinstance(nested_names, Mapping) else nested_names
    if not isinstance(nested_names, Mapping | list | tuple):
        return set()
    return {name for item in inner for name in collect_names(item)}


def empty_as_no_labels(
    table: Any, names: Iterable[str], missing_names: Collection[str] = ()
) -> Any:
    """Replace empty fields in these columns of a CSV table by rows without labels.

    Those in ``missing_names`` are missing, as nobody gave labels.
    """
    import pyarrow.compute as pc

    for name in (*names, *missing_names):
        if name in table.column_names:
            text = pc.cast(table.column(name), "string")
            if name in missing_names:
                text = pc.if_else(pc.equal(text, ""), None, text)
            else:
                text = pc.fill_null(text, "")
            table = table.set_column(table.column_names.index(name), name, text)
    return table


Indicators: TypeAlias = "npt.NDArray[np.bool_]"
_EXPECTED = "expected a set or a list of labels"


@dataclass(frozen=True, eq=False)
class LabelLists:
    """Labels of all rows, concatenated, with the number of labels of each row.

    ``codes`` are indices into ``labels``, the distinct labels; ``names`` are their text.
    """

    lengths: npt.NDArray[np.intp]
    codes: npt.NDArray[np.intp]
    labels: tuple[Any, ...]
    names: tuple[str, ...]

    @property
    def row_indices(self) -> npt.NDArray[np.intp]:
        """Row index of each label."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


@dataclass(frozen=True, eq=False)
class LabelMatrix:
    """Table with one column per label; ``names`` is None if the columns have no names.

    ``is_from_rows`` says that the input was rows of 0 and 1, which could also be read as sets of
    those labels.
    """

    columns: Any
    names: tuple[str, ...] | None
    n_labels: int
    is_from_rows: bool = False


LabelRows = LabelLists | LabelMatrix


def read_label_rows(
    values: Any, input_name: str, separator: str | None = None, indicators: bool | None = None
) -> LabelRows:
    """Read the labels of each row, in any supported form.

    Parameters
    ----------
    values : array-like, data frame or dict
        A list (or a column of pandas, polars or Arrow) of sets or lists of labels; a column of
        text that ``separator`` splits into labels; or one column per label: a dict, a data frame,
        or an array of shape (n, n_labels), dense or sparse. Lists of equal length that contain
        only 0 and 1 are the rows of such an array.
    input_name : str
        Name of the argument in messages.
    separator : str, optional
        Text between the labels of a row.
    indicators : bool, optional
        For a batch of a column, which may be empty: whether all rows of the column are lists of 0
        and 1 of equal length.

    Returns
    -------
    LabelLists or LabelMatrix
        Labels of each row.

    Raises
    ------
    InputError
        If a row is not a collection of labels, is missing, or has a label twice.

    Examples
    --------
    >>> read_label_rows(["sun|sea", "", "sea"], "truth", "|").names
    ('sea', 'sun')
    >>> read_label_rows([[0, 1], [1, 0]], "truth").columns
    array([[0., 1.],
           [1., 0.]])
    """
    names = probability_columns(values)
    if names:
        if len(set(names)) < len(names):
            raise InputError(f"{input_name}: two columns are called {find_duplicate(names)!r}")
        return LabelMatrix(values, names, len(names))
    if isinstance(values, Mapping) or getattr(values, "ndim", 1) == 2:
        dense = values.toarray() if hasattr(values, "toarray") else values  # SciPy's sparse arrays
        table = np.asanyarray(dense if not isinstance(dense, Mapping) else np.zeros((0, 0)))
        if table.size == 0:
            raise InputError(f"{input_name}: is empty")
        return LabelMatrix(table, None, table.shape[1])
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"{input_name}: has shape {values.shape}, expected (rows, labels)")
    lengths, flat = flatten_labels(values, input_name, separator)
    table = _rows_to_indicators(values, lengths, flat) if indicators is None or indicators else None
    if table is not None:
        return LabelMatrix(table, None, table.shape[1], is_from_rows=True)
    if len(lengths) == 0 and indicators is None:
        raise InputError(f"{input_name}: is empty")
    if len(flat) == 0:
        return LabelLists(lengths, np.zeros(0, np.intp), (), ())
    encoded = encode_labels(flat, f"labels of {input_name}")
    fractional = [
        label for label in encoded.labels if isinstance(label, float) and not label.is_integer()
    ]
    if fractional:
        raise InputError(
            f"{input_name}: holds {fractional[0]!r}, expected labels; numbers for each label are "
            "given as score= or probability="
        )
    label_lists = LabelLists(lengths, encoded.codes, encoded.labels, encoded.names)
    cell = label_lists.row_indices * len(encoded.labels) + encoded.codes
    repeated_cells = np.flatnonzero(np.bincount(cell) > 1) if len(cell) else cell
    if len(repeated_cells):
        row, code = divmod(int(repeated_cells[0]), len(encoded.labels))
        raise InputError(
            f"{input_name}: {encoded.labels[code]!r} appears twice in row {row}; expected each "
            "label once (for a column of 0 and 1 per label, use an array or a data frame)"
        )
    return label_lists


def _rows_to_indicators(rows: Any, lengths: npt.NDArray[np.intp], flat: Any) -> Floats | None:
    """Convert rows of equal length with only 0 and 1 to a table; None for sets and all else."""
    if len(flat) == 0 or (lengths != lengths[0]).any():
        return None
    if not type(rows).__module__.startswith(("polars", "pyarrow")) and any(
        isinstance(row, set | frozenset) for row in rows
    ):
        return None
    values = flat.tolist() if isinstance(flat, np.ndarray) else flat.unique().to_pylist()
    if not all(map(_is_bit, values)):
        return None
    values = values if isinstance(flat, np.ndarray) else flat.to_pylist()
    return np.array(values, np.float64).reshape(len(lengths), -1)


def empty_label_rows(distinct: Sequence[Any], length: int, input_name: str) -> LabelRows:
    """Return the labels of a column without its rows.

    ``distinct`` are the distinct labels, and ``length`` is the length of the rows if all are lists
    of equal length, else -1.
    """
    if length > 0 and distinct and all(map(_is_bit, distinct)):
        return LabelMatrix(np.zeros((0, length)), None, length, is_from_rows=True)
    empty = np.zeros(0, np.intp)
    if not distinct:
        return LabelLists(empty, empty, (), ())
    encoded = encode_labels(list(distinct), f"labels of {input_name}")
    return LabelLists(empty, empty, encoded.labels, encoded.names)


def _is_bit(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.number | np.bool_) and value in (0, 1)


def check_forms(rows: Mapping[str, LabelRows]) -> None:
    """Check that rows of 0 and 1 are not mixed with sets that contain the labels 0 or 1."""
    label_lists = [label_rows for label_rows in rows.values() if isinstance(label_rows, LabelLists)]
    if not any({"0", "1"} & set(label_rows.names) for label_rows in label_lists):
        return
    for input_name, label_rows in rows.items():
        if isinstance(label_rows, LabelMatrix) and label_rows.is_from_rows:
            raise InputError(
                f"{input_name}: its rows hold only 0 and 1, a column for each label, but others "
                "are sets of labels; expected all as arrays, or all as sets such as {0, 1}"
            )


def flatten_labels(
    values: Any, input_name: str, separator: str | None
) -> tuple[npt.NDArray[np.intp], Any]:
    """Return the number of labels of each row, and the concatenated labels."""
    column = _to_arrow(values)
    if column is None:
        rows = _check_rows(values, input_name, separator)
        if rows and isinstance(rows[0], str):
            import pyarrow as pa

            column = pa.array(rows, pa.string())
        else:
            lengths = np.fromiter(map(len, rows), np.intp, len(rows))
            return lengths, _to_flat_labels(list(chain.from_iterable(rows)))
    import pyarrow as pa
    import pyarrow.compute as pc

    is_text = not is_list(column.type)
    if is_text and separator is None:
        first_value = column[0].as_py() if len(column) else ""
        raise InputError(
            f"{input_name}: is {first_value!r} in row 0, {_EXPECTED}; for text, set the separator "
            "of the labels (separator='|')"
        )
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(
            f"{input_name}: {column.null_count} of {len(column)} values are missing, the first in "
            f"row {row}; a row without labels is an empty list, or empty text"
        )
    if is_text:
        if not pa.types.is_string(column.type):
            column = pc.cast(column, pa.string())
        column = pc.split_pattern(column, separator)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.intp)
    flat = pc.list_flatten(column)
    if is_text:
        flat = pc.utf8_trim_whitespace(flat)
        nonempty_mask = pc.not_equal(flat, "").to_numpy(zero_copy_only=False)
        row_indices = np.repeat(np.arange(len(lengths)), lengths)[nonempty_mask]
        flat, lengths = (
            flat.filter(pa.array(nonempty_mask)),
            np.bincount(row_indices, minlength=len(lengths)),
        )
    elif flat.null_count:
        null_index = int(np.argmax(flat.is_null().to_numpy(zero_copy_only=False)))
        row = int(np.searchsorted(np.cumsum(lengths), null_index, side="right"))
        raise InputError(f"{input_name}: a label is missing in row {row}")
    return lengths, flat


def _to_arrow(values: Any) -> Any:
    """Convert a column of pandas, polars or Arrow to an Arrow array; None for anything else."""
    module = type(values).__module__.split(".")[0]
    if module == "pandas" and str(values.dtype) == "object":
        return None
    if module not in ("pandas", "polars", "pyarrow"):
        return None
    import pyarrow as pa

    column = values.to_arrow() if module == "polars" else values
    column = column if module != "pandas" else pa.array(column)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column = decode_dictionary(column)
    return (
        pa.array([], pa.string()) if pa.types.is_null(column.type) and not len(column) else column
    )


def _check_rows(values: Any, input_name: str, separator: str | None) -> list[Any]:
    """Check that rows in memory are all text, or all collections of labels."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise InputError(f"{input_name}: {format_value(values)} is not a column of label sets")
    rows = list(values)
    is_text = separator is not None and any(isinstance(row, str) for row in rows)
    for row_index, row in enumerate(rows):
        if not hasattr(row, "__len__") and is_missing(row):
            raise InputError(
                f"{input_name}: is missing in row {row_index}; a row without labels is an empty "
                "list, or empty text"
            )
        if is_text and not isinstance(row, str):
            raise InputError(
                f"{input_name}: is {format_value(row)} in row {row_index}, expected text as in "
                "row 0"
            )
        if not is_text and (isinstance(row, str | bytes) or not hasattr(row, "__len__")):
            hint = "; for text, set the separator of the labels (separator='|')"
            raise InputError(
                f"{input_name}: is {format_value(row)} in row {row_index}, {_EXPECTED}"
                + (hint if isinstance(row, str) and separator is None else "")
            )
    return rows


def _to_flat_labels(labels: list[Any]) -> Any:
    """Return labels as an Arrow column of text, or as an object array if they have other types."""
    out = np.empty(len(labels), object)
    out[:] = labels
    if labels and all(type(label) is str for label in labels):
        import pyarrow as pa

        return pa.array(labels, pa.string())
    return out


def label_names(rows: Sequence[LabelRows], labels: Sequence[Any] | None = None) -> tuple[str, ...]:
    """Return the names of the labels in order.

    They are the given labels, else the columns of the first table with names, else all labels that
    occur; for arrays, they are the column indices.
    """
    if labels is not None:
        names = tuple(encode_labels([label], "labels").names[0] for label in labels)
        if len(set(names)) < len(names):
            raise InputError(f"labels: {find_duplicate(names)!r} appears more than once")
        return names
    for label_rows in rows:
        if isinstance(label_rows, LabelMatrix) and label_rows.names is not None:
            return label_rows.names
    label_lists = [label_rows for label_rows in rows if isinstance(label_rows, LabelLists)]
    by_name = {
        name: label
        for label_rows in label_lists
        for name, label in zip(label_rows.names, label_rows.labels, strict=True)
    }
    if by_name:
        return tuple(map(label_name, sort_labels(by_name.values())))
    for label_rows in rows:
        if isinstance(label_rows, LabelMatrix):
            return tuple(map(str, range(label_rows.n_labels)))
    raise InputError("truth: no label occurs anywhere")


def to_indicators(rows: LabelRows, names: tuple[str, ...], input_name: str) -> Indicators:
    """Convert labels to an indicator matrix of shape (n, n_labels).

    Raises
    ------
    InputError
        If a label is not among ``names``, or a column has values other than Booleans, 0 and 1.
    """
    if isinstance(rows, LabelMatrix):
        if _is_indicator_matrix(rows, names):
            return np.array(rows.columns, bool)
        table = _ordered_matrix(rows, names, input_name, to_numbers)
        invalid_mask = (table != 0) & (table != 1)
        if invalid_mask.any():
            row, label = (int(x[0]) for x in np.nonzero(invalid_mask))
            raise InputError(
                f"{input_name}: is {table[row, label]:g} in row {row} of {names[label]!r}, "
                "expected Booleans, or 0 and 1"
            )
        return table.astype(bool)
    index_by_name = {name: index for index, name in enumerate(names)}
    label_indices = np.empty(len(rows.names), np.intp)
    for code, name in enumerate(rows.names):
        if name not in index_by_name:
            index = int(rows.row_indices[np.argmax(rows.codes == code)])
            raise InputError(
                f"{input_name}: {rows.labels[code]!r} in row {index} is not a label; "
                + did_you_mean(name, names)
            )
        label_indices[code] = index_by_name[name]
    indicators = np.zeros((len(rows.lengths), len(names)), bool)
    indicators[rows.row_indices, label_indices[rows.codes]] = True
    return indicators


def _is_indicator_matrix(rows: LabelMatrix, names: tuple[str, ...]) -> bool:
    """Return whether a matrix of labels in this order holds Booleans, or integers 0 and 1."""
    matrix = rows.columns
    if rows.names is not None or rows.n_labels != len(names) or not isinstance(matrix, np.ndarray):
        return False
    if isinstance(matrix, np.ma.MaskedArray) or not matrix.size:
        return False
    kind = matrix.dtype.kind
    return kind == "b" or (kind in "iu" and matrix.min() >= 0 and bool(matrix.max() <= 1))


def to_scores(
    rows: LabelRows, names: tuple[str, ...], input_name: str, *, probability: bool
) -> Floats:
    """Convert scores to a matrix of shape (n, n_labels)."""
    if not isinstance(rows, LabelMatrix):
        raise InputError(
            f"{input_name}: expected a column of numbers for each label, not sets of labels"
        )
    return _ordered_matrix(rows, names, input_name, to_probabilities if probability else to_numbers)


def _ordered_matrix(
    rows: LabelMatrix, names: tuple[str, ...], input_name: str, convert: Any
) -> Floats:
    """Return the columns in the order of ``names``, each checked."""
    if rows.names is None:
        if rows.n_labels != len(names):
            raise InputError(
                f"{input_name}: has {rows.n_labels} columns for {len(names)} labels: "
                f"{format_names(names)}; name "
                "them in the order of the columns (labels=…)"
            )
        matrix = rows.columns
        if matrix.dtype.kind in "biuf":
            return _check_matrix(matrix, names, input_name, convert)
        columns: Iterable[Any] = matrix.T
    else:
        unmatched = sorted(set(rows.names) ^ set(names))
        if unmatched:
            candidates = rows.names if unmatched[0] in names else names
            problem = (
                "the label {!r} has no column" if unmatched[0] in names else "{!r} is not a label"
            )
            raise InputError(
                f"{input_name}: {problem.format(unmatched[0])}; "
                f"{did_you_mean(unmatched[0], candidates)}"
            )
        by_name = dict(zip(rows.names, column_names(rows.columns), strict=True))
        columns = (rows.columns[by_name[name]] for name in names)
    converted = []
    for name, column in zip(names, columns, strict=True):
        converted.append(convert(column, f"{input_name} of {name!r}"))
        check_length(converted[-1], len(converted[0]), f"{input_name} of {name!r}")
    return np.column_stack(converted).astype(np.float64)


def _check_matrix(
    table: npt.NDArray[Any], names: Sequence[str], input_name: str, convert: Any
) -> Floats:
    """Check a whole array; if it has an invalid value, check column by column to locate it."""
    out = table.astype(np.float64)
    try:
        convert(out.ravel(), input_name)
    except InputError:
        for name, column in zip(names, out.T, strict=True):
            convert(column, f"{input_name} of {name!r}")
        raise
    return out
