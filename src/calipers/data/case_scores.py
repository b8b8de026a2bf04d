"""Scores of cases, as a person or a model gave them: pass or fail, grades, numbers, or none."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.data import tables
from calipers.data.arrays import (
    LARGEST,
    check_column,
    from_arrow,
    is_missing,
    missing_mask,
)
from calipers.data.categories import CategoryColumns
from calipers.data.class_labels import label_name
from calipers.data.columns import file_origin
from calipers.data.errors import InputError, did_you_mean, format_value

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import InputOrigin

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

#: Why a case has no score. The status of a score is 0 if it was given, else the position of the
#: reason here, counted from 1.
NO_SCORE = ("missing", "error", "refused")
#: Scores that are written as words, and words in place of a score, all in lower case.
_WORDS = {"pass": 1.0, "fail": 0.0, "true": 1.0, "false": 0.0}
_STATUS_BY_WORD = {"error": 2, "refused": 3}

_EXPECTED = (
    "expected a number, pass or fail, true or false; or error, refused or nothing where there is "
    "no score"
)


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """Scores of cases, 0 where none was given, and the status of each: 0, or why there is none."""

    scores: Floats
    status: Codes

    def __len__(self) -> int:
        return len(self.scores)


def read_scores(values: Any, input_name: str) -> ScoreColumn:
    """Read a column of scores: numbers, ``pass`` or ``fail``, ``true`` or ``false``.

    Where a case has no score, the column has a missing value, ``error`` or ``refused``.

    Parameters
    ----------
    values : column, or ScoreColumn
        Scores of the cases.
    input_name : str
        Name of the column in messages.

    Returns
    -------
    ScoreColumn
        Scores, and the status of each.

    Raises
    ------
    InputError
        If a value is something else, or the column is empty.

    Examples
    --------
    >>> column = read_scores(["pass", "fail", "refused", None, "0.5"], "score")
    >>> column.scores.tolist(), column.status.tolist()
    ([1.0, 0.0, 0.0, 0.0, 0.5], [0, 0, 3, 1, 0])
    """
    import pyarrow as pa

    if isinstance(values, ScoreColumn):
        return values
    _check_cells(values, input_name)
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else _to_arrow(values)
    if array is None:
        cells, indices = list(values), np.arange(len(values))
    else:
        cells, indices = _encode(array, input_name)
    if not len(indices):
        raise InputError(f"{input_name}: is empty")
    if isinstance(cells, np.ndarray):
        return _from_numbers(cells, input_name)
    pairs = [_parse(cell) for cell in cells]
    invalid = {k for k, pair in enumerate(pairs) if pair is None}
    if invalid:
        row = next(row for row, k in enumerate(indices.tolist()) if k in invalid)
        raise InputError(
            f"{input_name}: holds {format_value(cells[indices[row]])} in row {row}, {_EXPECTED}"
        )
    # A missing value of an encoded column has the index −1.
    parsed = np.array([*(pair for pair in pairs if pair is not None), (0.0, 1)], np.float64)
    return ScoreColumn(parsed[indices, 0].copy(), parsed[indices, 1].astype(np.int64))


def _check_cells(values: Any, input_name: str) -> None:
    """Check that values are one column, which may have missing values."""
    check_column(values, input_name)
    if getattr(values, "ndim", 1) != 1 or missing_mask(values, input_name).ndim != 1:
        raise InputError(f"{input_name}: {format_value(values)} is not one value for each case")


def _to_arrow(values: Any) -> pa.Array | None:
    """Return a column as an Arrow array; None if its values are of several types."""
    import pyarrow as pa

    if isinstance(values, np.ma.MaskedArray):
        return pa.array(np.ma.getdata(values), mask=np.ma.getmaskarray(values))
    if isinstance(values, list | tuple):
        kinds = set(map(type, values))
        return _numbers(values) if kinds and kinds <= {bool, int, float} else None
    if isinstance(values, np.ndarray) and values.dtype.kind not in "fiub":
        return None
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _numbers(values: Any) -> pa.Array | None:
    """Return a list of numbers as an Arrow array; None if one of them is too large."""
    import pyarrow as pa

    try:
        return pa.array(values, pa.float64())
    except (pa.ArrowException, OverflowError, TypeError):
        return None


def _encode(array: Any, input_name: str) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return the distinct values of a column and the index of each row's; or numbers as they are.

    The index of a missing value is −1.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = from_arrow(pc.cast(array, pa.float64())).astype(np.float64)
        return numbers, np.arange(len(numbers))
    if pa.types.is_null(kind):
        return [], np.full(len(array), -1)
    try:
        encoded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise InputError(f"{input_name}: is a column of {kind}, {_EXPECTED}") from None
    indices = from_arrow(encoded.indices.fill_null(-1)).astype(np.int64)
    return encoded.dictionary.to_pylist(), indices


def _from_numbers(numbers: Floats, input_name: str) -> ScoreColumn:
    missing_mask = np.isnan(numbers)
    with np.errstate(invalid="ignore"):
        invalid = np.flatnonzero(np.abs(numbers) > LARGEST)
    if len(invalid):
        raise InputError(
            f"{input_name}: is {numbers[invalid[0]]:g} in row {invalid[0]}, expected finite "
            f"numbers, at most {LARGEST:g}"
        )
    return ScoreColumn(np.where(missing_mask, 0.0, numbers), missing_mask.astype(np.int64))


def _parse(cell: Any) -> tuple[float, int] | None:
    """Return a score and its status; None if the cell is neither a score nor says why not."""
    if is_missing(cell):
        return 0.0, 1
    if isinstance(cell, str):
        text = cell.strip()
        word = text.lower()
        if not text:
            return 0.0, 1
        if word in _STATUS_BY_WORD:
            return 0.0, _STATUS_BY_WORD[word]
        if word in _WORDS:
            return _WORDS[word], 0
        if "_" in text:
            return None
        cell = text
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return (number, 0) if abs(number) <= LARGEST else None


def check_range(column: ScoreColumn, score_range: tuple[float, float], input_name: str) -> None:
    """Check that the scores that were given lie in a range."""
    low, high = score_range
    outside_mask = (column.status == 0) & ((column.scores < low) | (column.scores > high))
    if outside_mask.any():
        row = int(np.argmax(outside_mask))
        raise InputError(
            f"{input_name}: is {column.scores[row]:g} in row {row}, expected scores from {low:g} "
            f"to {high:g}, the range stated as score_range"
        )


def case_ids(cases: Any) -> tuple[str, ...]:
    """Return the names of cases with one row each, which have to be unique."""
    ids: dict[str, int] = {}
    _check_cells(cases, "case")
    values = cases.to_pylist() if hasattr(cases, "to_pylist") else list(cases)
    for row, value in enumerate(values):
        if is_missing(value):
            raise InputError(f"case: is missing in row {row}")
        first = ids.setdefault(label_name(value), row)
        if first != row:
            raise InputError(
                f"case: {format_value(value)} is in row {first} and again in row {row}; expected "
                "one row for each case, or system= for a table with one row for each score"
            )
    return tuple(ids)


# --- Tables with a row for each score -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CaseTable:
    """Scores of a table with a row for each case and system, or for each sample of these.

    Attributes
    ----------
    rows : pyarrow.Table
        First row of each case.
    scores : dict of pyarrow.Array
        Column of each system, with an entry for each case; or a list of such, one for each sample.
    costs : dict of dict
        Column of each cost that is one of the table, by system.
    ids : tuple of str
        Names of the cases.
    origins : tuple of InputOrigin
        The file that was read.
    """

    rows: pa.Table
    scores: Mapping[str, Any]
    costs: Mapping[str, Any]
    ids: tuple[str, ...]
    origins: tuple[InputOrigin, ...]


def read_case_table(
    source: Any, case: str, system: str, score: str, others: Mapping[str, str], cost: Any = None
) -> CaseTable:
    """Read a table with a row for each case and system.

    Parameters
    ----------
    source : data frame, dict of columns, or path
        The table.
    case, system, score : str
        Names of its columns.
    others : mapping of str to str
        Roles of other columns, by their names; each has one value for a case.
    cost : mapping, optional
        Columns of costs by system, by the names of the costs. The cost of a system is that of its
        own rows.

    Returns
    -------
    CaseTable
        One row for each case, in the order of their first rows. A system without a row for a case
        has a missing score.

    Raises
    ------
    InputError
        If there is no column of a name, a case or a system is missing, or a system has several
        scores of a case.
    """
    table, prefix, origins = _open(source, {case: "case", system: "system", **others}, score)
    requested = {case: "case", system: "system", score: "score", **others}
    for name, role in requested.items():
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise InputError(f"{prefix}{role}: there is no column {name!r}; {hint}")
    case_codes, cases = _codes(table.column(case), "case", prefix)
    system_codes, systems = _codes(table.column(system), "system", prefix)
    cells = case_codes * len(systems) + system_codes
    _, first_rows, cell_index = np.unique(cells, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first_rows[cell_index] != np.arange(len(cells)))
    if len(repeated):
        row = int(repeated[0])
        raise InputError(
            f"{prefix}row {row}: {format_value(systems[system_codes[row]])} has a second score "
            f"of {format_value(cases[case_codes[row]])}, the first is in row "
            f"{first_rows[cell_index[row]]}; expected one for each case and system"
        )
    first_of_case = np.unique(case_codes, return_index=True)[1]
    _check_constant(table, case_codes, cases, first_of_case, others, prefix)
    row_by_cell = np.full(len(cases) * len(systems), -1)
    row_by_cell[cells] = np.arange(len(cells))
    row_indices = row_by_cell.reshape(len(cases), len(systems))
    names = [label_name(name) for name in systems]

    def pivot(column: str) -> dict[str, Any]:
        return {n: _take(table, column, row_indices[:, k]) for k, n in enumerate(names)}

    costs = {}
    for name, by_system in (cost or {}).items():
        pivoted = {column: pivot(column) for column in dict.fromkeys(by_system.values())}
        costs[name] = (
            pivoted[by_system[""]]
            if list(by_system) == [""]
            else {n: pivoted[column][n] for n, column in by_system.items() if n in names}
        )
    return CaseTable(
        table.take(first_of_case), pivot(score), costs, tuple(map(label_name, cases)), origins
    )


def _open(
    source: Any, roles: Mapping[str, str], score: str
) -> tuple[pa.Table, str, tuple[InputOrigin, ...]]:
    """Return the table, the beginning of messages about it, and its origin if it is a file."""
    if not isinstance(source, str | os.PathLike):
        return tables.to_arrow(source), "", ()
    labels = {role: name for name, role in roles.items() if role in ("case", "system", "cluster")}
    slice_columns = [name for name, role in roles.items() if role == "slices"]
    categories = CategoryColumns({**labels, "score": score}, {"slices": slice_columns})
    path = os.fspath(source)
    table = tables.read_table(path, categories=categories.select)
    return table, f"{path}: ", (file_origin(path),)


def _codes(column: Any, role: str, prefix: str) -> tuple[Codes, list[Any]]:
    """Return the index of the name in each row, and the names in the order of their first rows."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.null_count:
        row = int(np.argmax(from_arrow(array.is_null())))
        raise InputError(f"{prefix}{role}: is missing in row {row}")
    encoded = array.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = from_arrow(encoded.indices).astype(np.int64)
    for k, name in enumerate(names):
        if is_missing(name):
            row = int(np.argmax(codes == k))
            raise InputError(f"{prefix}{role}: is missing in row {row}")
    return codes, names


def _check_constant(
    table: pa.Table,
    case_codes: Codes,
    cases: Sequence[Any],
    first_of_case: npt.NDArray[np.intp],
    others: Mapping[str, str],
    prefix: str,
) -> None:
    """Check that columns other than the scores have one value for each case."""
    for name, role in others.items():
        encoded = table.column(name).combine_chunks()
        if not str(encoded.type).startswith("dictionary"):
            encoded = encoded.dictionary_encode()
        codes = from_arrow(encoded.indices.fill_null(-1)).astype(np.int64)
        differing = np.flatnonzero(codes != codes[first_of_case][case_codes])
        if len(differing):
            row = int(differing[0])
            first = int(first_of_case[case_codes[row]])
            values = [format_value(table.column(name)[r].as_py()) for r in (row, first)]
            raise InputError(
                f"{prefix}{role}: {name!r} of {format_value(cases[case_codes[row]])} is "
                f"{values[0]} in row {row} and {values[1]} in row {first}; expected one "
                "value for each case"
            )


def _take(table: pa.Table, name: str, rows: npt.NDArray[np.intp]) -> Any:
    """Return the values of a column in some rows; none where the row is −1."""
    import pyarrow as pa

    column = table.column(name).combine_chunks()
    return column.take(pa.array(rows, mask=rows < 0))
