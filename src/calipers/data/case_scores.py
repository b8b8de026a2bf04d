"""Scores of cases, as a person or a model gave them: pass or fail, grades, numbers, or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.data import tables
from calipers.data.arrays import (
    MAX_QUANTITY,
    check_column,
    check_length,
    check_values,
    from_arrow,
    invalid_weight_masks,
    is_missing,
    missing_mask,
    take_rows,
    to_quantities,
)
from calipers.data.categories import CategoryColumns
from calipers.data.class_labels import label_name
from calipers.data.columns import file_origin
from calipers.data.costs import ONLY_SYSTEM, cost_column_name, match_systems
from calipers.data.errors import InputError, did_you_mean, format_value, row_numbers
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import InputOrigin

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

#: Why a case has no score. The status of a score is 0 if it was given, else the position of the
#: reason here, counted from 1.
NO_SCORE = ("missing", "error", "refused")
#: Scores that are written as words, in lower case.
SCORE_WORDS = {
    **dict.fromkeys(("pass", "passed", "true", "yes"), 1.0),
    **dict.fromkeys(("fail", "failed", "false", "no"), 0.0),
}
#: Status of the words in place of a score, in lower case.
_STATUS_BY_WORD = {"error": 2, "refused": 3}

#: How far below 1 a weight of a label may be by rounding.
MAX_WEIGHT_ROUNDING = 1e-9

_EXPECTED = (
    "expected a number, pass or fail, true or false; or error, refused or nothing where there is "
    "no score"
)


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """Scores of cases, 0 where none was given, and the status of each: 0, or why there is none.

    Both have the shape (n,), or (n, n_samples) if cases have several samples.
    """

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
    cells: Any
    cells, indices = (
        (list(values), np.arange(len(values))) if array is None else _encode(array, input_name)
    )
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
        raise InputError(
            f"{input_name}: {format_value(values)} is not one value for each case; "
            "expected a column, or samples= for several scores of a case"
        )


def _to_arrow(values: Any) -> pa.Array | None:
    """Return a column as an Arrow array; None if its values are of several types."""
    import pyarrow as pa

    if isinstance(values, np.ma.MaskedArray):
        return pa.array(np.ma.getdata(values), mask=np.ma.getmaskarray(values))
    if isinstance(values, list | tuple):
        value_types = set(map(type, values))
        return _numbers(values) if value_types and value_types <= {bool, int, float} else None
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
        numbers = from_arrow(pc.cast(array, pa.float64(), safe=False)).astype(np.float64)
        return numbers, np.arange(len(numbers))
    if pa.types.is_null(kind):
        return [], np.full(len(array), -1)
    try:
        encoded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
    except pa.ArrowNotImplementedError:
        raise InputError(f"{input_name}: is a column of {kind}, {_EXPECTED}") from None
    indices = from_arrow(encoded.indices.cast(pa.int64()).fill_null(-1))
    return encoded.dictionary.to_pylist(), indices


def _from_numbers(numbers: Floats, input_name: str) -> ScoreColumn:
    missing_mask = np.isnan(numbers)
    with np.errstate(invalid="ignore"):
        invalid = np.flatnonzero(np.abs(numbers) > MAX_QUANTITY)
    if len(invalid):
        raise InputError(
            f"{input_name}: is {numbers[invalid[0]]:g} in row {invalid[0]}, expected finite "
            f"numbers, at most {MAX_QUANTITY:g}"
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
        if word in SCORE_WORDS:
            return SCORE_WORDS[word], 0
        if "_" in text:
            return None
        cell = text
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return (number, 0) if abs(number) <= MAX_QUANTITY else None


def read_label_weights(
    values: Any, labeled_mask: npt.NDArray[np.bool_], reference: str = "truth has"
) -> Floats:
    """Read the weights of labels: 1 over the probability with which a case was selected.

    Weights of cases without a label are not used, and may be missing. None is below 1, as no
    probability is above 1: those that are were divided by a number, or are the probabilities.

    Parameters
    ----------
    values : column
        Weights of the cases.
    labeled_mask : ndarray of bool
        Mask of the cases with a label.
    reference : str, default="truth has"
        What has as many rows, in messages.

    Returns
    -------
    ndarray
        Weights, 1 for cases without a label.

    Raises
    ------
    InputError
        If a label has no weight, or one below 1.

    Examples
    --------
    >>> read_label_weights([2.0, None, 4.0], np.array([True, False, True])).tolist()
    [2.0, 1.0, 4.0]
    """
    _check_cells(values, "human_weight")
    check_length(values, len(labeled_mask), "human_weight", reference)
    expected = "expected 1 over the probability that the case was selected"
    missing = labeled_mask & missing_mask(values, "human_weight")
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(f"human_weight: is missing in row {row}, which has a label; {expected}")
    rows = np.flatnonzero(labeled_mask)
    weights = np.ones(len(labeled_mask))
    with row_numbers(rows):
        weights[rows] = to_quantities(take_rows(values, rows), "human_weight")
    is_small = weights < 1 - MAX_WEIGHT_ROUNDING
    if is_small.any():
        row = int(np.argmax(is_small))
        raise InputError(f"human_weight: {weights[row]:g} in row {row} is below 1; {expected}")
    for invalid_mask, expected_values in invalid_weight_masks(weights):
        check_values(weights, invalid_mask, "human_weight", expected_values)
    return weights


def check_range(column: ScoreColumn, score_range: tuple[float, float], input_name: str) -> None:
    """Check that the scores that were given lie in a range."""
    low, high = score_range
    outside_mask = (column.status == 0) & ((column.scores < low) | (column.scores > high))
    if outside_mask.any():
        index = tuple(np.argwhere(outside_mask)[0])
        raise InputError(
            f"{input_name}: is {column.scores[index]:g} in row {index[0]}, expected scores from "
            f"{low:g} to {high:g}, the range stated as score_range"
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


def mixed_as_text(data: Any) -> Any:
    """Return a table with columns that mix numbers and words as text.

    Arrow has no columns of several types. A table that is a path, or has none of these, is returned
    as it is.

    >>> mixed_as_text({"a": [1, "error", None], "b": [1, 2, 3]})
    {'a': ['1', 'error', None], 'b': [1, 2, 3]}
    """
    is_pandas = type(data).__module__.startswith("pandas") and hasattr(data, "assign")
    if not (isinstance(data, Mapping) or is_pandas):
        return data
    columns = {name: _cells_as_text(data[name]) for name in data}
    changed = {name: cells for name, cells in columns.items() if cells is not None}
    if not changed:
        return data
    return data.assign(**changed) if is_pandas else {**data, **changed}


def _cells_as_text(values: Any) -> list[str | None] | None:
    """Return the values of a column as text if some, but not all, of them are; else None."""
    if not (isinstance(values, list | tuple) or str(getattr(values, "dtype", "")) == "object"):
        return None
    cells = list(values)
    is_text = {isinstance(cell, str) for cell in cells if not is_missing(cell)}
    if len(is_text) < 2:
        return None
    return [None if is_missing(cell) else str(cell) for cell in cells]


# --- Tables in which cases have several rows ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CaseTable:
    """Scores of a table in which a case has a row for each system, or for each sample.

    Attributes
    ----------
    rows : pyarrow.Table
        First row of each case.
    scores : dict of ScoreColumn
        Scores of each system, with an entry for each case; of shape (n_cases, n_samples) if cases
        have several samples.
    costs : dict of dict
        Column of each cost that is one of the table, by system.
    ids : tuple of str
        Names of the cases.
    origins : tuple of InputOrigin
        The file that was read.
    notes : tuple of str
        How the table was read, where it could be read in another way.
    """

    rows: pa.Table
    scores: Mapping[str, ScoreColumn]
    costs: Mapping[str, Any]
    ids: tuple[str, ...]
    origins: tuple[InputOrigin, ...]
    notes: tuple[str, ...] = ()


def read_case_table(
    source: Any,
    case: str,
    system: str | None,
    scores: Mapping[str, str],
    others: Mapping[str, str],
    cost: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    samples: int | None = None,
    role: str = "score",
) -> CaseTable:
    """Read a table in which a case has a row for each system, or for each sample.

    Parameters
    ----------
    source : data frame, dict of columns, or path
        The table.
    case : str
        Name of the column of the cases.
    system : str or None
        Name of the column of the systems; None if each of them has a column of scores.
    scores : mapping of str to str
        Column of the scores of each system, or the one column of all scores.
    others : mapping of str to str
        Roles of other columns, by their names; each has one value for a case.
    cost : mapping, optional
        Columns of costs by system, by the names of the costs. The cost of a system is that of its
        own rows, the mean if a case has several samples.
    samples : int, optional
        Number of samples of each case; by default there are none.
    role : str, default="score"
        What the columns of scores are called in messages.

    Returns
    -------
    CaseTable
        One entry for each case, in the order of their first rows. Where a system has no row for a
        case, or fewer samples, scores are missing. If the only row of each case has the number of
        its samples that pass, there is a score of 1 or 0 for each sample.

    Raises
    ------
    InputError
        If there is no column of a name, a case or a system is missing, or a system has more scores
        of a case than samples.
    """
    labels = {case: "case", **({} if system is None else {system: "system"})}
    table, prefix, origins = _open(source, {**others, **labels}, list(scores.values()))
    requested = [*labels.items(), *((name, role) for name in scores.values()), *others.items()]
    for name, requested_role in requested:
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise InputError(f"{prefix}{requested_role}: there is no column {name!r}; {hint}")
    _check_cost_columns(table, cost, prefix)
    case_codes, cases = _codes(table.column(case), "case", prefix)
    system_codes, systems = np.zeros(len(case_codes), np.int64), [""]
    if system is not None:
        system_codes, systems = _codes(table.column(system), "system", prefix)
    cells = case_codes * len(systems) + system_codes
    sample_index = _index_in_cell(cells)
    _check_samples(table, case, system, sample_index, samples, prefix)
    first_of_case = np.unique(case_codes, return_index=True)[1]
    _check_constant(table, case_codes, cases, first_of_case, others, prefix)
    rows = np.full((len(cases), len(systems), samples or 1), -1)
    rows[case_codes, system_codes, sample_index] = np.arange(len(cells))
    rows_by_system = {label_name(name): rows[:, k] for k, name in enumerate(systems)}
    if system is None:
        rows_by_system = dict.fromkeys(scores, rows[:, 0])
    columns: dict[str, ScoreColumn] = {}
    for name, system_rows in rows_by_system.items():
        column_name = next(iter(scores.values())) if system is not None else scores[name]
        display_name = f"{role} {column_name!r}"
        if display_name not in columns:
            columns[display_name] = read_scores(table.column(column_name), display_name)
        column = columns[display_name]
        status = np.where(system_rows < 0, 1, column.status[system_rows])
        system_scores = np.where(status == 0, column.scores[system_rows], 0.0)
        shape = system_rows.shape if samples is not None else len(cases)
        columns[name] = ScoreColumn(system_scores.reshape(shape), status.reshape(shape))
    by_system = {name: columns[name] for name in rows_by_system}

    def system_costs(cost_name: str, column_by_system: Mapping[str, str]) -> dict[str, Any]:
        common = column_by_system.get(ONLY_SYSTEM)
        systems = list(rows_by_system)
        requested = (
            dict.fromkeys(systems, common)
            if common
            else match_systems(cost_name, column_by_system, systems)
        )
        return {
            name: _average(table, column, rows_by_system[name])
            for name, column in requested.items()
        }

    costs = {name: system_costs(name, column_by_system) for name, column_by_system in cost.items()}
    ids = tuple(map(label_name, cases))
    notes: tuple[str, ...] = ()
    if samples is not None and _has_pass_counts(by_system.values()):
        by_system = {name: _split_pass_counts(column) for name, column in by_system.items()}
        notes = (f"Scores are taken as the number of the {samples} samples of a case that pass.",)
    return CaseTable(table.take(first_of_case), by_system, costs, ids, origins, notes)


def _has_pass_counts(columns: Iterable[ScoreColumn]) -> bool:
    """Return whether cases have one row each, with the number of their samples that pass.

    Counts that are all 0 or 1 cannot be told from the scores of single samples, and are taken as
    these.
    """
    columns = list(columns)
    if any((column.status[:, 1:] == 0).any() for column in columns):
        return False
    counts = np.concatenate([c.scores[:, 0][c.status[:, 0] == 0] for c in columns])
    n_samples = columns[0].scores.shape[1]
    is_count = (counts >= 0) & (counts <= n_samples) & (counts == np.floor(counts))
    return bool(is_count.all() and (counts > 1).any())


def _split_pass_counts(column: ScoreColumn) -> ScoreColumn:
    """Return a score of 1 or 0 for each sample, from the number of those that pass."""
    passed = np.arange(column.scores.shape[1]) < column.scores[:, :1]
    return ScoreColumn(
        passed.astype(np.float64), np.broadcast_to(column.status[:, :1], passed.shape).copy()
    )


def _check_cost_columns(
    table: pa.Table, cost: Mapping[str, Mapping[str, str]], prefix: str
) -> None:
    """Check that costs are names of columns of the table."""
    for cost_name, column_by_system in cost.items():
        for system, column in column_by_system.items():
            input_name = f"{prefix}{cost_column_name(cost_name, system)}"
            if not isinstance(column, str):
                raise InputError(
                    f"{input_name}: is {format_value(column)}, expected the name of a column of "
                    "data=, as a case has several rows"
                )
            if column not in table.column_names:
                hint = did_you_mean(column, table.column_names)
                raise InputError(f"{input_name}: there is no column {column!r}; {hint}")


def _index_in_cell(cells: Codes) -> Codes:
    """Return how many rows before each row are of the same case and system."""
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    index = np.arange(len(cells)) - np.repeat(starts, np.diff(np.append(starts, len(cells))))
    out = np.empty(len(cells), np.int64)
    out[order] = index
    return out


def _check_samples(
    table: pa.Table,
    case: str,
    system: str | None,
    sample_index: Codes,
    samples: int | None,
    prefix: str,
) -> None:
    """Check that no system has more scores of a case than there are samples."""
    excess = np.flatnonzero(sample_index >= (samples or 1))
    if not len(excess):
        return
    row = int(excess[0])
    name = "it" if system is None else format_value(table.column(system)[row].as_py())
    named_case = format_value(table.column(case)[row].as_py())
    if samples is None:
        raise InputError(
            f"{prefix}row {row}: {name} has a second score of {named_case}; expected one for each "
            "case and system, or samples= for several samples of each"
        )
    raise InputError(
        f"{prefix}row {row}: {name} has more than {samples} scores of {named_case}, which is the "
        "number stated as samples"
    )


def _open(
    source: Any, roles: Mapping[str, str], scores: Sequence[str]
) -> tuple[pa.Table, str, tuple[InputOrigin, ...]]:
    """Return the table, the beginning of messages about it, and its origin if it is a file."""
    if not isinstance(source, str | os.PathLike):
        return tables.to_arrow(source), "", ()
    labels = {role: name for name, role in roles.items() if role in ("case", "system", "cluster")}
    slice_columns = [name for name, role in roles.items() if role == "slices"]
    categories = CategoryColumns({**labels, "score": list(scores)}, {"slices": slice_columns})
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
        if is_missing(name) or name == "":
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
    import pyarrow as pa

    for name, role in others.items():
        encoded = table.column(name).combine_chunks()
        if not str(encoded.type).startswith("dictionary"):
            encoded = encoded.dictionary_encode()
        codes = from_arrow(encoded.indices.cast(pa.int64()).fill_null(-1))
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


def _average(table: pa.Table, name: str, rows: npt.NDArray[np.int64]) -> Any:
    """Return the mean of a column over the rows of each case; missing where there is none."""
    import pyarrow as pa

    column = table.column(name).combine_chunks()
    first = column.take(pa.array(rows[:, 0], mask=rows[:, 0] < 0))
    if rows.shape[1] == 1:
        return first
    numbers = np.where(rows < 0, np.nan, to_quantities(column, f"cost {name!r}")[rows])
    counts = (rows >= 0).sum(axis=1)
    means = np.nansum(numbers, axis=1) / np.maximum(counts, 1)
    return pa.array(means, mask=counts == 0)
