"""Confusion matrices as input, and the orientation of their axes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

TRUTH, PREDICTED = "truth", "predicted"

#: What rows may be.
ROWS = (TRUTH, PREDICTED)

#: Words that say what an axis is.
_WORDS = {
    TRUTH: "truth true actual actuals observed reference gold expected target targets",
    PREDICTED: "predicted predicts prediction predictions pred preds recognized recognised "
    "classified assigned estimated retrieved answered response output",
}
_MEANINGS = {word: what for what, words in _WORDS.items() for word in words.split()}

#: Labels that are of one axis only.
_LABELS = {
    TRUTH: re.compile(r"(not |non-?|ir)?relevant"),
    PREDICTED: re.compile(r"(not[ -]|un|non-?)?retrieved"),
}

#: What stands between the names of the rows and of the columns in one header.
_BETWEEN = re.compile(r"\s*[\\/|]\s*|\s+(?:vs\.?|by)\s+")

#: What totals are called.
TOTALS = ("total", "totals", "all", "sum", "population", "Σ")


def meaning(name: Any) -> str | None:
    """Return what an axis with this name holds, truth or predictions; None if it is unclear.

    >>> meaning("Actual class"), meaning("y_pred"), meaning("cancer")
    ('truth', 'predicted', None)
    """
    words = re.findall(r"[a-z]+", str(name).lower()) if isinstance(name, str) else ()
    found = {_MEANINGS[word] for word in words if word in _MEANINGS}
    return found.pop() if len(found) == 1 else None


def parse_header(name: Any) -> str | None:
    r"""Return what the rows are according to the header of their column, else None.

    A header is ``predicted\truth`` or ``actual``, for example.

    >>> parse_header(r"predicted\truth"), parse_header("truth / prediction"), parse_header("cancer")
    ('predicted', 'truth', None)
    """
    parts = _BETWEEN.split(str(name))
    if len(parts) == 2:
        rows, columns = map(meaning, parts)
        return rows if rows != columns else None
    return meaning(name)


def names_both(name: Any) -> bool:
    """Return whether a header names both rows and columns, which only that of a matrix does."""
    return len(_BETWEEN.split(str(name))) == 2 and parse_header(name) is not None


@dataclass(frozen=True)
class Axis:
    """Rows or columns of a confusion matrix.

    ``names`` are the names of the classes, None if there are none; ``what`` is truth or predicted,
    None if it is unknown.
    """

    names: tuple[str, ...] | None = None
    what: str | None = None

    def told(self) -> Axis:
        """Add what the names indicate, such as all of them beginning with "predicted"."""
        if not self.names:
            return self
        parts = [re.split(r"[\s:_=-]+", name.strip(), maxsplit=1) for name in self.names]
        first = {meaning(part[0]) for part in parts}
        what = first.pop() if len(first) == 1 else None
        if what is not None and all(len(part) == 2 and part[1] for part in parts):
            return self._known(what, tuple(part[1] for part in parts))
        for what, known in _LABELS.items():
            if all(known.fullmatch(name.strip().lower()) for name in self.names):
                return self._known(what, self.names)
        return self

    def _known(self, what: str, names: tuple[str, ...]) -> Axis:
        return self if self.what not in (None, what) else Axis(names, what)


@dataclass(frozen=True, eq=False)
class CountTable:
    """Table of counts, with its two axes; ``where`` is its name in messages."""

    counts: npt.NDArray[np.float64]
    rows: Axis
    columns: Axis
    where: str = "confusion"

    def told(self) -> CountTable:
        """Add what the names of rows and columns indicate.

        If they indicate the same for both axes, they are names of classes like any others, and
        ignored.
        """
        rows, columns = self.rows.told(), self.columns.told()
        if rows.what is not None and rows.what == columns.what:
            return self
        return replace(self, rows=rows, columns=columns)

    def said(self, rows: str | None) -> str | None:
        """Return what the rows are, according to the option ``rows`` and the names of both axes.

        Raises
        ------
        InputError
            If these contradict each other.
        """
        own, other = self.rows.what, self.columns.what
        if own is not None and own == other:
            raise InputError(f"{self.where}: both its rows and its columns are called {_OF[own]}")
        if own is None and other is not None:
            own = PREDICTED if other == TRUTH else TRUTH
        if rows is not None and own not in (None, rows):
            raise InputError(
                f"{self.where}: rows={rows!r} contradicts what its rows and columns are called, by "
                f"which rows are {_OF[own or TRUTH]}; leave out rows=, or rename them"
            )
        return rows or own

    def turned(self) -> CountTable:
        """Return the transposed table."""
        return replace(self, counts=self.counts.T, rows=self.columns, columns=self.rows)


_OF = {TRUTH: "the truth", PREDICTED: "predictions"}


def check_rows(rows: Any, confusion: Any) -> None:
    """Check that ``rows`` is truth or predicted, and that a confusion matrix is given."""
    if rows is not None and rows not in ROWS:
        raise InputError(f"rows is {format_value(rows)}, expected one of {', '.join(ROWS)}")
    if rows is not None and confusion is None:
        raise InputError("rows= says what the rows of confusion= are, which is not given")


def check_totals(square: CountTable) -> None:
    """Check that no row or column is the sum of all others, as the margins of a cross table are."""
    for axis, counts, what in (
        (square.rows, square.counts, "row"),
        (square.columns, square.counts.T, "column"),
    ):
        for place, name in enumerate(axis.names or ()):
            if name.strip().lower() not in TOTALS or len(counts) < 3:
                continue
            if np.array_equal(counts[place], np.delete(counts, place, axis=0).sum(axis=0)):
                raise InputError(
                    f"{square.where}: the {what} {name!r} adds up the others, and is no class; "
                    "leave totals out"
                )


def either_way(names: Sequence[str], counts: Any, positive: Any, where: str) -> InputError:
    """Return the error for an ambiguous orientation, with PPV and TPR under both orientations."""
    hits, rows, columns = np.diagonal(counts), counts.sum(axis=1), counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_rows, of_columns = hits / rows, hits / columns
    known = None if positive is None else str(positive)
    if known in names:
        at = list(names).index(str(known))
    else:
        at = int(np.argmax(np.nan_to_num(np.abs(of_rows - of_columns), nan=-1.0)))
    first, second = _percent(of_rows[at]), _percent(of_columns[at])
    if first == second:
        first, second = _percent(of_rows[at], 2), _percent(of_columns[at], 2)
    return InputError(
        f"{where}: nothing says whether its rows are the predictions or the truth. Of "
        f"{names[at]!r} rows='predicted' makes PPV {first} and TPR {second}; rows='truth', as "
        f"scikit-learn's confusion_matrix has it, makes PPV {second} and TPR {first}. Say which "
        "(--rows in the command), or call the rows so: a header predicted\\truth, or the other way "
        "round"
    )


def _percent(share: float, digits: int = 0) -> str:
    return "undefined" if math.isnan(share) else f"{share:.{digits}%}"


def class_order_note(square: CountTable) -> str:
    """Return the note that rows and columns, with different names, are matched by their order.

    The classes have the names of the truth.
    """
    truth, said = square.rows.names or (), square.columns.names or ()
    pairs = [f"{name!r} of {own!r}" for name, own in zip(said, truth, strict=True)]
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
class Matrix:
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
    others = {what: values for what, values in columns.items() if what != "confusion"}
    if columns["confusion"] is None:
        if others["truth"] is None:
            raise InputError("truth= is missing: the class of each row")
        return ConfusionColumns(others)
    for what in ("score", "probability", "count"):
        if others[what] is not None:
            raise InputError(f"confusion= says what is predicted, and how often: leave out {what}=")
    if others.get("time") is not None:
        raise InputError("time= is that of rows, of which a confusion matrix has none")
    systems = _matrices_by_name(columns["confusion"])
    classes = {what: others[what] for what in (TRUTH, PREDICTED)}
    rows = _row_meaning(classes, rows)
    many = len(systems) > 1
    found = [
        _read(one, f"confusion {name!r}" if many else "confusion", classes, labels, rows, positive)
        for name, one in systems.items()
    ]
    return _stack_matrices(dict(zip(systems, found, strict=True)), others, rows or TRUTH)


def _row_meaning(classes: Mapping[str, Any], rows: str | None) -> str | None:
    """Return what the rows of a matrix are, given the columns that name their classes."""
    given = [what for what, values in classes.items() if values is not None]
    if len(given) == 2:
        raise InputError(
            "confusion= says what is predicted, and how often: leave out predicted=, or give it in "
            "place of truth=, where it names the predicted class of each row"
        )
    if isinstance(classes[PREDICTED], Mapping):
        raise InputError(
            "confusion= says what is predicted, and how often: leave out predicted=, or give one "
            "column, the predicted class of each row"
        )
    if given and rows not in (None, given[0]):
        raise InputError(
            f"rows={rows!r}, and {given[0]}= names the {given[0]} of each row: leave out one"
        )
    return given[0] if given else rows


def _stack_matrices(
    found: Mapping[str | None, Matrix], others: dict[str, Any], rows: str
) -> ConfusionColumns:
    """Concatenate the cells of all matrices as rows with frequency weights."""
    names: list[str] = []
    for name, one in found.items():
        own = dict.fromkeys((*one.predicted, *one.truth))
        known = label_index(names)
        new = [label for label in own if find_label(known, label) is None]
        if names and len(new) == len(own):
            raise InputError(
                f"confusion {name!r}: has the classes {format_names(list(own))}, others have "
                f"{format_names(names)}; systems are evaluated on the same classes"
            )
        names += new
    known, many = label_index(names), len(found) > 1
    truth, said, counts, systems, sources = [], [], [], [], []
    for code, (name, one) in enumerate(found.items()):
        if many and not one.counts.any():
            raise InputError(f"confusion {name!r}: all counts are 0")
        row, column = np.indices(one.counts.shape).reshape(2, -1)
        truth.append(np.array([find_label(known, n) for n in one.truth])[row])
        said.append(np.array([find_label(known, n) for n in one.predicted])[column])
        counts.append(one.counts.ravel())
        systems.append(np.full(one.counts.size, code))
        sources.append(column if rows == PREDICTED else row)
    alike = len({one.counts.shape for one in found.values()}) == 1
    for what in ("cluster", "slices"):
        if many and others.get(what) is not None:
            raise InputError(
                f"{what}= is of rows that systems have in common; matrices of several systems have "
                "none: evaluate each by itself, or give counts of rows (truth=, predicted= and "
                "count=)"
            )
    if many and not alike and others.get("weight") is not None:
        raise InputError("weight= is of the rows of a matrix, and these have rows in other numbers")
    places = np.concatenate(sources)
    cells = {what: take_rows(values, places) for what, values in others.items()}
    called = EncodedLabels(tuple(names), np.concatenate(said), ordered=True)
    [only, *_] = found
    made = {
        **cells,
        "truth": EncodedLabels(tuple(names), np.concatenate(truth), ordered=True),
        "predicted": called if many or only is None else {only: called},
        "count": np.concatenate(counts),
    }
    notes = tuple(dict.fromkeys(one.note for one in found.values() if one.note))
    return ConfusionColumns(
        made, SystemIndex(tuple(map(str, found)), np.concatenate(systems)), notes
    )


# --- Which matrices there are ---------------------------------------------------------------------


def _matrices_by_name(given: Any) -> dict[str | None, Any]:
    """Return the matrices by the names of their systems; the key is None if there is no name."""
    if isinstance(given, Mapping) and not given:
        raise InputError("confusion: an empty dict, expected a matrix")
    if (
        isinstance(given, Mapping)
        and not _is_nested(given)
        and all(map(_is_matrix, given.values()))
    ):
        named: dict[str | None, Any] = {str(name): of for name, of in given.items()}
        if len(named) < len(given):
            raise InputError(
                f"confusion: {find_duplicate(list(map(str, given)))!r} is there more than once"
            )
        return named
    if not _is_matrix(given):
        raise InputError("confusion: is no table, expected a column of counts for each class")
    if isinstance(given, Mapping) or (is_frame(given) and not isinstance(given, CountTable)):
        return _split_by_column(given)
    return {None: given}


def _is_matrix(values: Any) -> bool:
    """Return whether values have rows and columns."""
    if isinstance(values, list | tuple):
        return bool(values) and hasattr(values[0], "__len__") and not isinstance(values[0], str)
    if isinstance(values, Mapping | CountTable) or is_frame(values):
        return True
    return getattr(values, "ndim", 1) == 2


def _is_nested(given: Mapping[Any, Any]) -> bool:
    """Return whether a dict is one matrix, by column and row as by ``DataFrame.to_dict()``."""
    return all(
        isinstance(of, Mapping) and of and all(to_number(x) is not None for x in of.values())
        for of in given.values()
    )


def _split_by_column(given: Any) -> dict[str | None, Any]:
    """Split a table into its matrices by a column of system names before the names of the rows.

    Without such a column there is one matrix.
    """
    if isinstance(given, Mapping) and _is_nested(given):
        return {None: given}
    names = column_names(given)
    _, system = label_columns({name: given[name] for name in names})
    if system is None:
        return {None: given}
    column = encode_labels(given[system], "confusion: the column of systems")
    rest = {name: given[name] for name in names if name != system}
    found: dict[str | None, Any] = {}
    for code in dict.fromkeys(column.codes.tolist()):
        own = np.flatnonzero(column.codes == code)
        found[column.names[code]] = {name: take_rows(values, own) for name, values in rest.items()}
    return found


def label_columns(columns: Mapping[Any, Any]) -> tuple[Any, Any]:
    r"""Return which columns of a table have the names of its rows and those of systems, else None.

    That of rows has a header such as ``predicted\truth``, or is the last column of text; a column
    of text before it has the names of systems.
    """
    names = list(columns)
    headed = [name for name in names if parse_header(name) is not None]
    texts = [name for name in names if not _is_numeric(columns[name])]
    # A class may be called "actual"; then it has counts.
    of_rows = [name for name in headed if name in texts]
    first = names[0] if names else None
    if not of_rows and first in headed and (names_both(first) or _names_others(columns, first)):
        of_rows = [first]
    if len(of_rows) > 1:
        raise InputError(
            f"confusion: the columns {format_names(list(map(repr, of_rows)))} both name the "
            "classes of "
            "rows; expected one"
        )
    label = of_rows[0] if of_rows else texts[-1] if texts else None
    before = [name for name in texts if name != label]
    if len(before) > 1:
        raise InputError(
            f"confusion: the columns {format_names(list(map(repr, texts)))} hold text; expected "
            "counts, "
            "but for a column with the names of rows, and one before it with those of systems"
        )
    return label, before[0] if before else None


def is_matrix_table(table: Any) -> bool:
    r"""Return whether a table is identified as a matrix by a header.

    The header is one such as ``predicted\truth``, or one such as ``actual`` next to columns that
    hold only counts.
    """
    columns = {name: table[name] for name in column_names(table)}
    if any(map(names_both, columns)):
        return True
    texts = [name for name in columns if not _is_numeric(columns[name])]
    return (
        bool(texts) and len(texts) <= 2 and parse_header(texts[-1]) is not None and len(columns) > 2
    )


def _names_others(columns: Mapping[Any, Any], label: Any) -> bool:
    """Return whether a numeric column has names of other columns, which are classes then."""
    called = set(map(label_name, to_array(columns[label], "confusion").tolist()))
    return any(label_name(name) in called for name in columns if name != label)


def _is_numeric(values: Any) -> bool:
    """Return whether a column has no text."""
    array = to_array(values, "confusion")
    return array.dtype.kind in "biuf" or not any(isinstance(x, str | bytes) for x in array)


# --- One matrix -----------------------------------------------------------------------------------


def _read(
    given: Any,
    where: str,
    classes: Mapping[str, Any],
    labels: Sequence[Any] | None,
    rows: str | None,
    positive: Any,
) -> Matrix:
    """Read a matrix, and orient it with the truth in rows."""
    square = given if isinstance(given, CountTable) else _to_count_table(given, where, labels)
    square = replace(square, where=where)
    of_rows = next((values for values in classes.values() if values is not None), None)
    check_totals(square)
    if of_rows is not None:
        made = _name_rows(square, of_rows, TRUTH if classes[PREDICTED] is None else PREDICTED)
        return made if rows == TRUTH else Matrix(made.predicted, made.truth, made.counts.T)
    square = square.told()
    what = square.said(rows)
    square, apart = _match_axes(square, what)
    names, counts = square.columns.names or (), square.counts
    if what is None and not np.array_equal(counts, counts.T):
        raise either_way(names, counts, positive, where)
    unnamed = square.rows.names == tuple(map(str, range(len(counts))))
    square = square if what != PREDICTED else square.turned()
    note = class_order_note(square) if apart and not unnamed else ""
    of_truth = square.rows.names or ()
    said = of_truth if apart else square.columns.names or ()
    return Matrix(of_truth, said, square.counts, note)


def _to_count_table(matrix: Any, where: str, labels: Sequence[Any] | None) -> CountTable:
    """Convert a matrix to a table of counts with the names of its rows and columns."""
    if not _is_matrix(matrix):
        raise InputError(f"{where}: is no table, expected a column of counts for each class")
    if isinstance(matrix, Mapping) and _is_nested(matrix):
        return _from_nested(matrix, where)
    if isinstance(matrix, Mapping) or is_frame(matrix):
        return _from_columns(matrix, where)
    table = to_matrix(matrix, where)
    if table.ndim != 2:
        raise InputError(f"{where}: has shape {table.shape}, expected rows and columns")
    names = list(map(label_name, range(table.shape[1]) if labels is None else labels))
    if len(names) != table.shape[1]:
        raise InputError(
            f"{where}: has {table.shape[1]} columns, labels= names {len(names)} classes"
        )
    return CountTable(_counts(dict(zip(names, table.T, strict=True)), names, where), Axis(),
                  Axis(tuple(names)))  # fmt: skip


def _from_nested(matrix: Mapping[Any, Mapping[Any, Any]], where: str) -> CountTable:
    """Convert a dict of rows by column."""
    rows = list(dict.fromkeys(label_name(row) for of in matrix.values() for row in of))
    columns = {}
    for name, of in matrix.items():
        own = {label_name(row): count for row, count in of.items()}
        absent = [row for row in rows if row not in own]
        if absent:
            raise InputError(f"{where}: {format_value(name)} has no count of {absent[0]!r}")
        columns[label_name(name)] = [own[row] for row in rows]
    names = list(columns)
    return CountTable(_counts(columns, names, where), Axis(tuple(rows)), Axis(tuple(names)))


def _from_columns(matrix: Any, where: str) -> CountTable:
    """Convert a data frame or a dict of columns.

    Rows are named by a column of labels, or by the index of a pandas data frame.
    """
    given = {name: matrix[name] for name in column_names(matrix)}
    label, _ = label_columns(given)
    index = getattr(matrix, "index", None)
    rows, what_columns = Axis(), None
    if index is not None and not callable(index):
        what_columns = getattr(getattr(matrix, "columns", None), "name", None)
        rows = Axis(tuple(map(label_name, index)), parse_header(getattr(index, "name", None)))
    if label is not None:
        column = given.pop(label)
        called = encode_labels(column, f"{where}: the column {str(label)!r}")
        rows = Axis(tuple(called.names[code] for code in called.codes), parse_header(label))
    if not given:
        raise InputError(f"{where}: has no column of counts")
    names = list(map(label_name, given))
    counts = _counts(dict(zip(names, given.values(), strict=True)), names, where)
    known = None if what_columns is None else parse_header(what_columns)
    return CountTable(counts, rows, Axis(tuple(names), known))


def _counts(
    columns: Mapping[str, Any], names: Sequence[str], where: str
) -> npt.NDArray[np.float64]:
    """Check the counts of all columns, and stack them."""
    if len(columns) < len(names) or len(set(names)) < len(names):
        raise InputError(f"{where}: {find_duplicate(list(names))!r} stands there more than once")
    made = [
        check_counts(column, f"{where}: the column of {name!r}") for name, column in columns.items()
    ]
    if len({len(column) for column in made}) > 1:
        raise InputError(
            f"{where}: its columns are of {format_names([str(len(c)) for c in made])} rows"
        )
    return np.column_stack(made)


def _name_rows(square: CountTable, of_rows: Any, what: str) -> Matrix:
    """Name the rows of a matrix by a column of their classes.

    A class that has no column was not predicted (or is not true) for any row.
    """
    counts, names = square.counts, list(square.columns.names or ())
    column = encode_labels(of_rows, what)
    check_length(counts, len(column.codes), square.where, of=f"{what} has")
    known = label_index(names)
    extra = [name for name in column.names if find_label(known, name) is None]
    other = PREDICTED if what == TRUTH else TRUTH
    if len(extra) == len(column.names):
        raise InputError(
            f"{square.where}: its columns are called {format_names(names)}, and {what} has the "
            f"classes {format_names(list(column.names))}; expected a column for each "
            f"{'predicted' if other == PREDICTED else 'true'} class, under its name"
        )
    return Matrix(tuple(column.names[code] for code in column.codes), tuple(names), counts)


def _match_axes(square: CountTable, what: str | None) -> tuple[CountTable, bool]:
    """Return the matrix with one row per class, in the order of the columns.

    The second value is whether rows and columns have different names and are matched by their
    order. A class that is only a row, or only a column, is one that no row belongs to or that is
    never predicted.
    """
    counts, names = square.counts, list(square.columns.names or ())
    if square.rows.names is None:
        if len(counts) != len(names):
            raise InputError(
                f"{square.where}: has {len(counts)} rows and {len(names)} columns, expected one of "
                "each for every class, or truth= with the class of each row"
            )
        return replace(square, rows=replace(square.rows, names=tuple(names))), False
    rows = list(square.rows.names)
    if len(set(rows)) < len(rows):
        raise InputError(f"{square.where}: {find_duplicate(rows)!r} names more than one row")
    known = label_index(names)
    found = [find_label(known, name) for name in rows]
    if what is not None and len(rows) == len(names) and not any(p is not None for p in found):
        return square, True
    of_rows = label_index(rows)
    contained = None not in found or all(find_label(of_rows, name) is not None for name in names)
    if not contained or all(place is None for place in found):
        raise InputError(
            f"{square.where}: its rows are called {format_names(rows)}, its columns "
            f"{format_names(names)}; "
            "expected the same classes, or truth= with the class of each row; or rows= (--rows), "
            "by which as many of either belong together in their order"
        )
    extra = [name for name, place in zip(rows, found, strict=True) if place is None]
    names += extra
    known, made = label_index(names), np.zeros((len(names), len(names)))
    at = np.array([find_label(known, name) for name in rows], np.intp)
    made[at, : counts.shape[1]] = counts
    return replace(
        square,
        counts=made,
        rows=replace(square.rows, names=tuple(names)),
        columns=replace(square.columns, names=tuple(names)),
    ), False
