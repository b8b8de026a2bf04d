"""Confusion matrices as input, and the orientation of their axes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import (
    check_length,
    column_names,
    is_frame,
    take_rows,
    to_array,
    to_matrix,
    to_number,
)
from calipers.data.class_labels import (
    EncodedLabels,
    encode_labels,
    find_label,
    label_index,
    label_name,
)
from calipers.data.errors import InputError, find_duplicate, format_names, format_value
from calipers.data.frequency_weights import check_counts
from calipers.lazy_dataclasses import dataclass

TRUTH, PREDICTED = "truth", "predicted"

#: Meanings that the rows of a matrix may have.
ROW_ROLES = (TRUTH, PREDICTED)

#: Words in the name of an axis that identify it.
_ROLE_WORDS = {
    TRUTH: "truth true actual actuals observed reference gold expected target targets",
    PREDICTED: "predicted predicts prediction predictions pred preds recognized recognised "
    "classified assigned estimated retrieved answered response output",
}
_ROLE_BY_WORD = {word: role for role, words in _ROLE_WORDS.items() for word in words.split()}

#: Labels that are of one axis only.
_LABEL_PATTERNS = {
    TRUTH: re.compile(r"(not |non-?|ir)?relevant"),
    PREDICTED: re.compile(r"(not[ -]|un|non-?)?retrieved"),
}

#: Separators of the names of rows and columns in one header.
_HEADER_SEPARATOR = re.compile(r"\s*[\\/|]\s*|\s+(?:vs\.?|by)\s+")

#: Names of totals.
TOTAL_NAMES = ("total", "totals", "all", "sum", "population", "Σ")


def axis_role(name: Any) -> str | None:
    """Return what an axis with this name holds, truth or predictions; None if it is unclear.

    >>> axis_role("Actual class"), axis_role("y_pred"), axis_role("cancer")
    ('truth', 'predicted', None)
    """
    words = re.findall(r"[a-z]+", str(name).lower()) if isinstance(name, str) else ()
    roles = {_ROLE_BY_WORD[word] for word in words if word in _ROLE_BY_WORD}
    return roles.pop() if len(roles) == 1 else None


def parse_header(name: Any) -> str | None:
    r"""Return what the rows are according to the header of their column, else None.

    A header is ``predicted\truth`` or ``actual``, for example.

    >>> parse_header(r"predicted\truth"), parse_header("truth / prediction"), parse_header("cancer")
    ('predicted', 'truth', None)
    """
    axis_names = _HEADER_SEPARATOR.split(str(name))
    if len(axis_names) == 2:
        rows, columns = map(axis_role, axis_names)
        return rows if rows != columns else None
    return axis_role(name)


def is_matrix_header(name: Any) -> bool:
    """Return whether a header names both rows and columns, which only that of a matrix does."""
    return len(_HEADER_SEPARATOR.split(str(name))) == 2 and parse_header(name) is not None


@dataclass(frozen=True)
class Axis:
    """Rows or columns of a confusion matrix.

    ``names`` are the names of the classes, None if there are none; ``role`` is truth or predicted,
    None if it is unknown.
    """

    names: tuple[str, ...] | None = None
    role: str | None = None

    def with_inferred_role(self) -> Axis:
        """Add what the names indicate, such as all of them beginning with "predicted"."""
        if not self.names:
            return self
        split_names = [re.split(r"[\s:_=-]+", name.strip(), maxsplit=1) for name in self.names]
        first = {axis_role(split_name[0]) for split_name in split_names}
        role = first.pop() if len(first) == 1 else None
        if role is not None and all(
            len(split_name) == 2 and split_name[1] for split_name in split_names
        ):
            return self._with_role(role, tuple(split_name[1] for split_name in split_names))
        for role, pattern in _LABEL_PATTERNS.items():
            if all(pattern.fullmatch(name.strip().lower()) for name in self.names):
                return self._with_role(role, self.names)
        return self

    def _with_role(self, role: str, names: tuple[str, ...]) -> Axis:
        return self if self.role not in (None, role) else Axis(names, role)


@dataclass(frozen=True, eq=False)
class CountTable:
    """Table of counts, with its two axes; ``input_name`` is its name in messages."""

    counts: npt.NDArray[np.float64]
    rows: Axis
    columns: Axis
    input_name: str = "confusion"

    def with_inferred_roles(self) -> CountTable:
        """Add what the names of rows and columns indicate.

        If they indicate the same for both axes, they are names of classes like any others, and
        ignored.
        """
        rows, columns = self.rows.with_inferred_role(), self.columns.with_inferred_role()
        if rows.role is not None and rows.role == columns.role:
            return self
        return replace(self, rows=rows, columns=columns)

    def row_role(self, rows: str | None) -> str | None:
        """Return what the rows are, according to the option ``rows`` and the names of both axes.

        Raises
        ------
        InputError
            If these contradict each other.
        """
        row_role, column_role = self.rows.role, self.columns.role
        if row_role is not None and row_role == column_role:
            role = _ROLE_PHRASES[row_role]
            raise InputError(f"{self.input_name}: both its rows and its columns are called {role}")
        if row_role is None and column_role is not None:
            row_role = PREDICTED if column_role == TRUTH else TRUTH
        if rows is not None and row_role not in (None, rows):
            raise InputError(
                f"{self.input_name}: rows={rows!r} contradicts the names of its rows and columns, "
                f"by which rows are {_ROLE_PHRASES[row_role or TRUTH]}; leave out rows=, or rename "
                "them"
            )
        return rows or row_role

    def transpose(self) -> CountTable:
        """Return the transposed table."""
        return replace(self, counts=self.counts.T, rows=self.columns, columns=self.rows)


_ROLE_PHRASES = {TRUTH: "the truth", PREDICTED: "predictions"}


def check_rows(rows: Any, confusion: Any) -> None:
    """Check that ``rows`` is truth or predicted, and that a confusion matrix is given."""
    if rows is not None and rows not in ROW_ROLES:
        raise InputError(f"rows is {format_value(rows)}, expected one of {', '.join(ROW_ROLES)}")
    if rows is not None and confusion is None:
        raise InputError("rows: requires confusion=; expected the matrix whose rows it describes")


def check_totals(table: CountTable) -> None:
    """Check that no row or column is the sum of all others, as the margins of a cross table are."""
    for axis, counts, kind in (
        (table.rows, table.counts, "row"),
        (table.columns, table.counts.T, "column"),
    ):
        for index, name in enumerate(axis.names or ()):
            if name.strip().lower() not in TOTAL_NAMES or len(counts) < 3:
                continue
            if np.array_equal(counts[index], np.delete(counts, index, axis=0).sum(axis=0)):
                raise InputError(
                    f"{table.input_name}: the {kind} {name!r} is the sum of the others, and not a "
                    "class; leave totals out"
                )


def orientation_error(
    names: Sequence[str], counts: Any, positive: Any, input_name: str
) -> InputError:
    """Return the error for an ambiguous orientation, with PPV and TPR under both orientations."""
    hits, rows, columns = np.diagonal(counts), counts.sum(axis=1), counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        row_rates, column_rates = hits / rows, hits / columns
    positive_name = None if positive is None else str(positive)
    if positive_name in names:
        index = list(names).index(str(positive_name))
    else:
        index = int(np.argmax(np.nan_to_num(np.abs(row_rates - column_rates), nan=-1.0)))
    first, second = _percent(row_rates[index]), _percent(column_rates[index])
    if first == second:
        first, second = _percent(row_rates[index], 2), _percent(column_rates[index], 2)
    return InputError(
        f"{input_name}: it is unknown whether its rows are the predictions or the truth. For "
        f"{names[index]!r}, rows='predicted' gives PPV {first} and TPR {second}; rows='truth', as "
        f"in scikit-learn's confusion_matrix, gives PPV {second} and TPR {first}. Set rows=, "
        "or name rows and columns in a header, such as predicted\\truth"
    )


def _percent(proportion: float, digits: int = 0) -> str:
    return "undefined" if math.isnan(proportion) else f"{proportion:.{digits}%}"


def class_order_note(table: CountTable) -> str:
    """Return the note that rows and columns, with different names, are matched by their order.

    The classes have the names of the truth.
    """
    truth, predicted = table.rows.names or (), table.columns.names or ()
    pairs = [f"{name!r} of {true_name!r}" for name, true_name in zip(predicted, truth, strict=True)]
    return f"confusion: predictions are taken in their order: {format_names(pairs)}."


class ConfusionColumns(NamedTuple):
    """Columns of an evaluation, which may be the cells of confusion matrices.

    For matrices, ``systems`` has the system of each row, and ``notes`` say what a reader has to
    know.
    """

    columns: dict[str, Any]
    systems: SystemIndex | None = None
    notes: tuple[str, ...] = ()


class SystemIndex(NamedTuple):
    """Names of the systems, and the index of the system of each row."""

    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class OrientedCounts:
    """Counts with one row per true class and one column per predicted class.

    The two sets of names may differ in size; ``note`` is what a reader has to know about them.
    """

    truth: tuple[str, ...]
    predicted: tuple[str, ...]
    counts: npt.NDArray[np.float64]
    note: str = ""


def columns_from_matrix(
    columns: Mapping[str, Any],
    labels: Sequence[Any] | None,
    rows: str | None = None,
    positive: Any = None,
) -> ConfusionColumns:
    """Return the columns of an evaluation, with the cells of a ``confusion`` among them as rows.

    Each cell becomes a row with its count as frequency weight. ``rows`` is what the rows of a
    matrix are: truth or predicted.
    """
    check_rows(rows, columns["confusion"])
    other_columns = {
        argument: values for argument, values in columns.items() if argument != "confusion"
    }
    if columns["confusion"] is None:
        if other_columns["truth"] is None:
            raise InputError("truth= is missing: the class of each row")
        return ConfusionColumns(other_columns)
    for argument in ("score", "probability", "count"):
        if other_columns[argument] is not None:
            raise InputError(
                f"confusion= already has the predictions and their counts; leave out {argument}="
            )
    if other_columns.get("time") is not None:
        raise InputError("time= requires rows in order of time, which a confusion matrix lacks")
    systems = _matrices_by_name(columns["confusion"])
    classes = {argument: other_columns[argument] for argument in (TRUTH, PREDICTED)}
    rows = _resolve_row_role(classes, rows)
    has_multiple_systems = len(systems) > 1
    matrices = [
        _read_matrix(
            matrix,
            f"confusion {name!r}" if has_multiple_systems else "confusion",
            classes,
            labels,
            rows,
            positive,
        )
        for name, matrix in systems.items()
    ]
    return _stack_matrices(dict(zip(systems, matrices, strict=True)), other_columns, rows or TRUTH)


def _resolve_row_role(classes: Mapping[str, Any], rows: str | None) -> str | None:
    """Return what the rows of a matrix are, given the columns that name their classes."""
    named_roles = [role for role, values in classes.items() if values is not None]
    if len(named_roles) == 2:
        raise InputError(
            "confusion= already has the predictions and their counts; leave out predicted=, or "
            "give it in place of truth=, to name the predicted class of each row"
        )
    if isinstance(classes[PREDICTED], Mapping):
        raise InputError(
            "confusion= already has the predictions and their counts; leave out predicted=, or "
            "give one column, the predicted class of each row"
        )
    if named_roles and rows not in (None, named_roles[0]):
        raise InputError(
            f"rows={rows!r} contradicts {named_roles[0]}=, which has the class of each row; leave "
            "out one"
        )
    return named_roles[0] if named_roles else rows


def _stack_matrices(
    matrices: Mapping[str | None, OrientedCounts], others: dict[str, Any], rows: str
) -> ConfusionColumns:
    """Concatenate the cells of all matrices as rows with frequency weights."""
    names: list[str] = []
    for name, matrix in matrices.items():
        class_names = dict.fromkeys((*matrix.predicted, *matrix.truth))
        index_by_label = label_index(names)
        new_names = [label for label in class_names if find_label(index_by_label, label) is None]
        if names and len(new_names) == len(class_names):
            raise InputError(
                f"confusion {name!r}: has the classes {format_names(list(class_names))}, others "
                f"have {format_names(names)}; expected the same classes for all systems"
            )
        names += new_names
    index_by_label, has_multiple_systems = label_index(names), len(matrices) > 1
    truth, predicted, counts, system_codes, sources = [], [], [], [], []
    for code, (name, matrix) in enumerate(matrices.items()):
        if has_multiple_systems and not matrix.counts.any():
            raise InputError(f"confusion {name!r}: all counts are 0")
        row, column = np.indices(matrix.counts.shape).reshape(2, -1)
        truth.append(np.array([find_label(index_by_label, n) for n in matrix.truth])[row])
        predicted.append(
            np.array([find_label(index_by_label, n) for n in matrix.predicted])[column]
        )
        counts.append(matrix.counts.ravel())
        system_codes.append(np.full(matrix.counts.size, code))
        sources.append(column if rows == PREDICTED else row)
    is_same_shape = len({matrix.counts.shape for matrix in matrices.values()}) == 1
    for argument in ("cluster", "slices"):
        if has_multiple_systems and others.get(argument) is not None:
            raise InputError(
                f"{argument}= requires rows that systems have in common, which matrices of several "
                "systems lack; evaluate each by itself, or give counts of rows (truth=, predicted= "
                "and count=)"
            )
    if has_multiple_systems and not is_same_shape and others.get("weight") is not None:
        raise InputError("weight= has a weight per row of a matrix; these matrices differ in shape")
    row_indices = np.concatenate(sources)
    cells = {argument: take_rows(values, row_indices) for argument, values in others.items()}
    predictions = EncodedLabels(tuple(names), np.concatenate(predicted), ordered=True)
    [only_name, *_] = matrices
    stacked = {
        **cells,
        "truth": EncodedLabels(tuple(names), np.concatenate(truth), ordered=True),
        "predicted": predictions
        if has_multiple_systems or only_name is None
        else {only_name: predictions},
        "count": np.concatenate(counts),
    }
    notes = tuple(dict.fromkeys(matrix.note for matrix in matrices.values() if matrix.note))
    return ConfusionColumns(
        stacked, SystemIndex(tuple(map(str, matrices)), np.concatenate(system_codes)), notes
    )


# --- Which matrices there are ---------------------------------------------------------------------


def _matrices_by_name(confusion: Any) -> dict[str | None, Any]:
    """Return the matrices by the names of their systems; the key is None if there is no name."""
    if isinstance(confusion, Mapping) and not confusion:
        raise InputError("confusion: an empty dict, expected a matrix")
    if (
        isinstance(confusion, Mapping)
        and not _is_nested(confusion)
        and all(map(_is_matrix, confusion.values()))
    ):
        by_name: dict[str | None, Any] = {str(name): matrix for name, matrix in confusion.items()}
        if len(by_name) < len(confusion):
            raise InputError(
                f"confusion: {find_duplicate(list(map(str, confusion)))!r} is given more than once"
            )
        return by_name
    if not _is_matrix(confusion):
        raise InputError("confusion: is not a table, expected a column of counts for each class")
    if isinstance(confusion, Mapping) or (
        is_frame(confusion) and not isinstance(confusion, CountTable)
    ):
        return _split_by_column(confusion)
    return {None: confusion}


def _is_matrix(values: Any) -> bool:
    """Return whether values have rows and columns."""
    if isinstance(values, list | tuple):
        return bool(values) and hasattr(values[0], "__len__") and not isinstance(values[0], str)
    if isinstance(values, Mapping | CountTable) or is_frame(values):
        return True
    return getattr(values, "ndim", 1) == 2


def _is_nested(matrix: Mapping[Any, Any]) -> bool:
    """Return whether a dict is one matrix, by column and row as by ``DataFrame.to_dict()``."""
    return all(
        isinstance(column, Mapping)
        and column
        and all(to_number(x) is not None for x in column.values())
        for column in matrix.values()
    )


def _split_by_column(table: Any) -> dict[str | None, Any]:
    """Split a table into its matrices by a column of system names before the names of the rows.

    Without such a column there is one matrix.
    """
    if isinstance(table, Mapping) and _is_nested(table):
        return {None: table}
    names = column_names(table)
    _, system = label_columns({name: table[name] for name in names})
    if system is None:
        return {None: table}
    column = encode_labels(table[system], "confusion: the column of systems")
    other_columns = {name: table[name] for name in names if name != system}
    matrices: dict[str | None, Any] = {}
    for code in dict.fromkeys(column.codes.tolist()):
        row_indices = np.flatnonzero(column.codes == code)
        matrices[column.names[code]] = {
            name: take_rows(values, row_indices) for name, values in other_columns.items()
        }
    return matrices


def label_columns(columns: Mapping[Any, Any]) -> tuple[Any, Any]:
    r"""Return which columns of a table have the names of its rows and those of systems, else None.

    That of rows has a header such as ``predicted\truth``, or is the last column of text; a column
    of text before it has the names of systems.
    """
    names = list(columns)
    header_columns = [name for name in names if parse_header(name) is not None]
    text_columns = [name for name in names if not _is_numeric(columns[name])]
    # A class may be called "actual"; then it has counts.
    row_label_columns = [name for name in header_columns if name in text_columns]
    first = names[0] if names else None
    if (
        not row_label_columns
        and first in header_columns
        and (is_matrix_header(first) or _has_column_names(columns, first))
    ):
        row_label_columns = [first]
    if len(row_label_columns) > 1:
        raise InputError(
            f"confusion: the columns {format_names(list(map(repr, row_label_columns)))} both name "
            "the "
            "classes of rows; expected one"
        )
    label = (
        row_label_columns[0] if row_label_columns else text_columns[-1] if text_columns else None
    )
    system_columns = [name for name in text_columns if name != label]
    if len(system_columns) > 1:
        raise InputError(
            f"confusion: the columns {format_names(list(map(repr, text_columns)))} hold text; "
            "expected counts, except in a column with the names of rows, and one before it with "
            "those of systems"
        )
    return label, system_columns[0] if system_columns else None


def is_matrix_table(table: Any) -> bool:
    r"""Return whether a table is identified as a matrix by a header.

    The header is one such as ``predicted\truth``, or one such as ``actual`` next to columns that
    hold only counts.
    """
    columns = {name: table[name] for name in column_names(table)}
    if any(map(is_matrix_header, columns)):
        return True
    text_columns = [name for name in columns if not _is_numeric(columns[name])]
    return (
        bool(text_columns)
        and len(text_columns) <= 2
        and parse_header(text_columns[-1]) is not None
        and len(columns) > 2
    )


def _has_column_names(columns: Mapping[Any, Any], label: Any) -> bool:
    """Return whether a numeric column has names of other columns, which are classes then."""
    row_names = set(map(label_name, to_array(columns[label], "confusion").tolist()))
    return any(label_name(name) in row_names for name in columns if name != label)


def _is_numeric(values: Any) -> bool:
    """Return whether a column has no text."""
    array = to_array(values, "confusion")
    return array.dtype.kind in "biuf" or not any(isinstance(x, str | bytes) for x in array)


# --- One matrix -----------------------------------------------------------------------------------


def _read_matrix(
    confusion: Any,
    input_name: str,
    classes: Mapping[str, Any],
    labels: Sequence[Any] | None,
    rows: str | None,
    positive: Any,
) -> OrientedCounts:
    """Read a matrix, and orient it with the truth in rows."""
    table = (
        confusion
        if isinstance(confusion, CountTable)
        else _to_count_table(confusion, input_name, labels)
    )
    table = replace(table, input_name=input_name)
    row_classes = next((values for values in classes.values() if values is not None), None)
    check_totals(table)
    if row_classes is not None:
        matrix = _name_rows(table, row_classes, TRUTH if classes[PREDICTED] is None else PREDICTED)
        return (
            matrix
            if rows == TRUTH
            else OrientedCounts(matrix.predicted, matrix.truth, matrix.counts.T)
        )
    table = table.with_inferred_roles()
    row_role = table.row_role(rows)
    table, is_matched_by_order = _match_axes(table, row_role)
    names, counts = table.columns.names or (), table.counts
    if row_role is None and not np.array_equal(counts, counts.T):
        raise orientation_error(names, counts, positive, input_name)
    unnamed = table.rows.names == tuple(map(str, range(len(counts))))
    table = table if row_role != PREDICTED else table.transpose()
    note = class_order_note(table) if is_matched_by_order and not unnamed else ""
    truth = table.rows.names or ()
    predicted = truth if is_matched_by_order else table.columns.names or ()
    return OrientedCounts(truth, predicted, table.counts, note)


def _to_count_table(matrix: Any, input_name: str, labels: Sequence[Any] | None) -> CountTable:
    """Convert a matrix to a table of counts with the names of its rows and columns."""
    if not _is_matrix(matrix):
        raise InputError(
            f"{input_name}: is not a table, expected a column of counts for each class"
        )
    if isinstance(matrix, Mapping) and _is_nested(matrix):
        return _from_nested(matrix, input_name)
    if isinstance(matrix, Mapping) or is_frame(matrix):
        return _from_columns(matrix, input_name)
    table = to_matrix(matrix, input_name)
    if table.ndim != 2:
        raise InputError(f"{input_name}: has shape {table.shape}, expected rows and columns")
    names = list(map(label_name, range(table.shape[1]) if labels is None else labels))
    if len(names) != table.shape[1]:
        raise InputError(
            f"{input_name}: has {table.shape[1]} columns, labels= names {len(names)} classes"
        )
    return CountTable(
        _stack_counts(dict(zip(names, table.T, strict=True)), names, input_name),
        Axis(),
        Axis(tuple(names)),
    )


def _from_nested(matrix: Mapping[Any, Mapping[Any, Any]], input_name: str) -> CountTable:
    """Convert a dict of rows by column."""
    rows = list(dict.fromkeys(label_name(row) for column in matrix.values() for row in column))
    columns = {}
    for name, column in matrix.items():
        count_by_row = {label_name(row): count for row, count in column.items()}
        absent = [row for row in rows if row not in count_by_row]
        if absent:
            raise InputError(f"{input_name}: {format_value(name)} has no count of {absent[0]!r}")
        columns[label_name(name)] = [count_by_row[row] for row in rows]
    names = list(columns)
    return CountTable(
        _stack_counts(columns, names, input_name), Axis(tuple(rows)), Axis(tuple(names))
    )


def _from_columns(matrix: Any, input_name: str) -> CountTable:
    """Convert a data frame or a dict of columns.

    Rows are named by a column of labels, or by the index of a pandas data frame.
    """
    columns = {name: matrix[name] for name in column_names(matrix)}
    label, _ = label_columns(columns)
    index = getattr(matrix, "index", None)
    rows, column_header = Axis(), None
    if index is not None and not callable(index):
        column_header = getattr(getattr(matrix, "columns", None), "name", None)
        rows = Axis(tuple(map(label_name, index)), parse_header(getattr(index, "name", None)))
    if label is not None:
        column = columns.pop(label)
        row_labels = encode_labels(column, f"{input_name}: the column {str(label)!r}")
        rows = Axis(tuple(row_labels.names[code] for code in row_labels.codes), parse_header(label))
    if not columns:
        raise InputError(f"{input_name}: has no column of counts")
    names = list(map(label_name, columns))
    counts = _stack_counts(dict(zip(names, columns.values(), strict=True)), names, input_name)
    role = None if column_header is None else parse_header(column_header)
    return CountTable(counts, rows, Axis(tuple(names), role))


def _stack_counts(
    columns: Mapping[str, Any], names: Sequence[str], input_name: str
) -> npt.NDArray[np.float64]:
    """Check the counts of all columns, and stack them."""
    if len(columns) < len(names) or len(set(names)) < len(names):
        raise InputError(f"{input_name}: {find_duplicate(list(names))!r} appears more than once")
    checked_columns = [
        check_counts(column, f"{input_name}: the column of {name!r}")
        for name, column in columns.items()
    ]
    if len({len(column) for column in checked_columns}) > 1:
        raise InputError(
            f"{input_name}: its columns are of "
            f"{format_names([str(len(c)) for c in checked_columns])} rows"
        )
    return np.column_stack(checked_columns)


def _name_rows(table: CountTable, row_classes: Any, role: str) -> OrientedCounts:
    """Name the rows of a matrix by a column of their classes.

    A class that has no column was not predicted (or is not true) for any row.
    """
    counts, names = table.counts, list(table.columns.names or ())
    column = encode_labels(row_classes, role)
    check_length(counts, len(column.codes), table.input_name, reference=f"{role} has")
    index_by_label = label_index(names)
    extra = [name for name in column.names if find_label(index_by_label, name) is None]
    column_role = PREDICTED if role == TRUTH else TRUTH
    if len(extra) == len(column.names):
        raise InputError(
            f"{table.input_name}: its columns are called {format_names(names)}, and {role} has "
            f"the classes {format_names(list(column.names))}; expected a column for each "
            f"{'predicted' if column_role == PREDICTED else 'true'} class, under its name"
        )
    return OrientedCounts(tuple(column.names[code] for code in column.codes), tuple(names), counts)


def _match_axes(table: CountTable, row_role: str | None) -> tuple[CountTable, bool]:
    """Return the matrix with one row per class, in the order of the columns.

    The second value is whether rows and columns have different names and are matched by their
    order. A class that is only a row, or only a column, is one that no row belongs to or that is
    never predicted.
    """
    counts, names = table.counts, list(table.columns.names or ())
    if table.rows.names is None:
        if len(counts) != len(names):
            raise InputError(
                f"{table.input_name}: has {len(counts)} rows and {len(names)} columns, expected "
                "one of each for every class, or truth= with the class of each row"
            )
        return replace(table, rows=replace(table.rows, names=tuple(names))), False
    rows = list(table.rows.names)
    if len(set(rows)) < len(rows):
        raise InputError(f"{table.input_name}: {find_duplicate(rows)!r} names more than one row")
    index_by_label = label_index(names)
    class_indices = [find_label(index_by_label, name) for name in rows]
    if (
        row_role is not None
        and len(rows) == len(names)
        and not any(p is not None for p in class_indices)
    ):
        return table, True
    index_by_row = label_index(rows)
    contained = None not in class_indices or all(
        find_label(index_by_row, name) is not None for name in names
    )
    if not contained or all(class_index is None for class_index in class_indices):
        raise InputError(
            f"{table.input_name}: its rows are called {format_names(rows)}, its columns "
            f"{format_names(names)}; "
            "expected the same classes, or truth= with the class of each row; or rows=, "
            "by which as many of either belong together in their order"
        )
    extra = [
        name for name, class_index in zip(rows, class_indices, strict=True) if class_index is None
    ]
    names += extra
    index_by_label, expanded = label_index(names), np.zeros((len(names), len(names)))
    row_indices = np.array([find_label(index_by_label, name) for name in rows], np.intp)
    expanded[row_indices, : counts.shape[1]] = counts
    return replace(
        table,
        counts=expanded,
        rows=replace(table.rows, names=tuple(names)),
        columns=replace(table.columns, names=tuple(names)),
    ), False
