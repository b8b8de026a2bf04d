"""Definitions of slices: by the values of a column, by bins, or by crossed columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.data.arrays import check_length, missing_mask, take_rows, to_numbers
from calipers.data.class_labels import EncodedLabels, encode_labels
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.lazy_dataclasses import dataclass

#: Maximum number of slices of a column; more can be neither read nor corrected for.
MAX_SLICES = 50
#: Maximum number of distinct values of a numeric column that is not binned.
MAX_UNBINNED_VALUES = 10
#: Name of the slice of the rows without a value.
MISSING_SLICE = "missing"

#: Bin edges of a column of numbers, or the period of one of dates.
Bins = Mapping[str, Sequence[float] | str]
PERIODS = ("year", "quarter", "month", "day")
#: Year, month and day at the beginning of a date in ISO 8601.
_DATE = re.compile(r"\s*(\d{4})-?(\d{2})(?:-?(\d{2}))?(?!\d)")


@dataclass(frozen=True, eq=False)
class SliceDefinition:
    """Partition of the rows into slices: the slice of each row, as an index of the names."""

    column: str
    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]

    @cached_property
    def byte_codes(self) -> npt.NDArray[np.uint8]:
        """Codes as bytes, since there are few slices."""
        return self.codes.astype(np.uint8)

    @cached_property
    def row_indices(self) -> list[npt.NDArray[np.intp]]:
        """Row indices of each slice, in their order."""
        order = np.argsort(self.byte_codes, kind="stable")
        stops = np.cumsum(np.bincount(self.byte_codes, minlength=len(self.names)))
        return np.split(order, stops[:-1])


def parse_slice_columns(slices: Any) -> dict[str, dict[str, Any]] | None:
    """Return the columns of each slicing by name, several if they are crossed.

    A name such as ``"age*site"`` has a tuple of columns. A name, or a list of names, selects
    columns of a table.
    """
    if slices is None:
        return None
    if isinstance(slices, str):
        slices = [slices]
    if isinstance(slices, Mapping):
        return {str(name): _columns_by_name(str(name), columns) for name, columns in slices.items()}
    if not isinstance(slices, list | tuple) or not all(isinstance(name, str) for name in slices):
        raise InputError("slices: expected a dict of columns by name, or names of columns of data=")
    return {name: {factor: factor for factor in _split_factors(name)} for name in slices}


def define_slices(
    slices: Mapping[str, Mapping[str, Any]] | None,
    bins: Bins | None,
    n_rows: int,
    unit: str = "rows",
) -> tuple[list[SliceDefinition], list[str]]:
    """Return the slices that :func:`parse_slice_columns` describes, and notes on them.

    A column with more than ten distinct numbers is binned at its ``bins``, by default at its
    quartiles; a number that more than half of the rows with a value have is then a slice of its
    own. Rows with a missing value are a slice.
    """
    slices, bins, definitions, notes = slices or {}, bins_by_factor(slices, bins), [], []
    for name, columns in slices.items():
        factor_definitions = []
        for factor, column in columns.items():
            definition, note = _slice_column(factor, column, n_rows, bins.get(factor), unit)
            factor_definitions.append(definition)
            notes += note
        definition = (
            _cross_columns(name, factor_definitions)
            if len(factor_definitions) > 1
            else factor_definitions[0]
        )
        if len(definition.names) > MAX_SLICES:
            raise InputError(too_many_slices_message(name, len(definition.names)))
        definitions.append(definition)
    return definitions, list(dict.fromkeys(notes))


def bins_by_factor(
    slices: Mapping[str, Mapping[str, Any]] | None, bins: Bins | None
) -> dict[str, Any]:
    """Return the bins of each column of slices, checked to be a dict of such."""
    if bins is not None and not isinstance(bins, Mapping):
        raise InputError(
            f"slice_bins is {format_value(bins)}, expected a dict from slices to bin edges"
        )
    factors = dict.fromkeys(factor for columns in (slices or {}).values() for factor in columns)
    result = {str(name): edges for name, edges in (bins or {}).items()}
    for name in result:
        if name not in factors:
            raise InputError(
                f"bins for {name!r}, which is not a slice; {did_you_mean(name, factors)}"
            )
    return result


def too_many_slices_message(name: str, n_slices: int, qualifier: str = "") -> str:
    """Return the message that a column has too many slices."""
    return (
        f"slice {name!r}: has {qualifier}{n_slices:,} slices, expected at most {MAX_SLICES}; give "
        "a "
        "coarser column, or bins of its numbers"
    )


def _columns_by_name(name: str, columns: Any) -> dict[str, Any]:
    """Return the columns of one slicing by name, several if they are crossed."""
    factors = _split_factors(name)
    if isinstance(columns, tuple) and len(factors) > 1:
        if len(columns) != len(factors):
            raise InputError(
                f"slice {name!r}: has {len(columns)} columns, expected {len(factors)}, one for "
                f"each of {', '.join(factors)}"
            )
        return dict(zip(factors, columns, strict=True))
    return {name: columns}


def _split_factors(name: str) -> list[str]:
    return [factor.strip() for factor in name.split("*")]


def _slice_column(
    name: str, column: Any, n_rows: int, bins: Sequence[float] | str | None, unit: str
) -> tuple[SliceDefinition, list[str]]:
    """Return the slices of one column, including that of missing values, and notes on binning."""
    display_name, missing_rows = f"slice {name!r}", None
    try:
        values = encode_labels(column, display_name)
    except InputError:
        missing_rows = missing_mask(column, display_name)
        if not missing_rows.any():
            raise
        check_length(missing_rows, n_rows, display_name)
        if missing_rows.all():
            return SliceDefinition(name, (MISSING_SLICE,), np.zeros(n_rows, np.intp)), []
        values = encode_labels(take_rows(column, np.flatnonzero(~missing_rows)), display_name)
    if missing_rows is None:
        check_length(values.codes, n_rows, display_name)
    definition, note = _bin_column(name, values, bins, n_rows, unit)
    if missing_rows is None:
        return definition, note
    if MISSING_SLICE in definition.names:
        raise InputError(
            f"{display_name}: some {unit} have no value and some have {MISSING_SLICE!r}; expected "
            "another name"
        )
    codes = np.full(n_rows, len(definition.names), np.intp)
    codes[~missing_rows] = definition.codes
    return SliceDefinition(name, (*definition.names, MISSING_SLICE), codes), note


def _bin_column(
    name: str, values: EncodedLabels, bins: Sequence[float] | str | None, rows: int, unit: str
) -> tuple[SliceDefinition, list[str]]:
    """Return the slices of a column without missing values, and notes on binning.

    ``rows`` is the number of all rows, with those that have no value.
    """
    if isinstance(bins, str):
        names, codes = np.unique(period_names(name, values.labels, bins), return_inverse=True)
        codes = codes.reshape(-1)[values.codes]
        return SliceDefinition(name, tuple(names.tolist()), codes), [f"{name} is cut by {bins}."]
    is_numeric = all(
        isinstance(label, int | float | np.number) and not isinstance(label, bool)
        for label in values.labels
    )
    if bins is not None:
        edges = check_edges(name, bins)
        if not is_numeric:
            raise InputError(
                f"slice {name!r}: has the value {values.labels[0]!r}, but bins need numbers"
            )
        return _slice_at_edges(name, values, edges), [
            f"{name} is cut at the requested edges: {format_numbers(edges)}."
        ]
    if not is_numeric or values.ordered or len(values.labels) <= MAX_UNBINNED_VALUES:
        return SliceDefinition(name, values.names, values.codes), []
    counts = np.bincount(values.codes)
    mode_code = int(counts.argmax())
    if counts[mode_code] <= len(values.codes) / 2:
        edges = _quartiles(values)
        return _slice_at_edges(name, values, edges), [
            f"{name} is cut at its quartiles: {format_numbers(edges)}."
        ]
    return _slice_around_mode(name, values, mode_code, rows, unit)


def _slice_around_mode(
    name: str, values: EncodedLabels, mode_code: int, rows: int, unit: str
) -> tuple[SliceDefinition, list[str]]:
    """Return a slice for the value that most rows have, and bins of all other rows.

    These bins are at quartiles.
    """
    other_mask = values.codes != mode_code
    labels = tuple(x for k, x in enumerate(values.labels) if k != mode_code)
    codes = values.codes[other_mask]
    other_labels = EncodedLabels(labels, codes - (codes > mode_code))
    number = float(values.labels[mode_code])
    mode_name = _format_number(number)
    proportion = np.count_nonzero(~other_mask) / rows
    description = f"{name} is {mode_name} in {proportion:.0%} of the {unit}, which form a slice"
    if len(labels) <= MAX_UNBINNED_VALUES:
        definition, note = (
            SliceDefinition(name, other_labels.names, other_labels.codes),
            f"{description}.",
        )
    else:
        edges = _quartiles(other_labels)
        definition = _slice_at_edges(name, other_labels, edges)
        note = f"{description}; the others are cut at their quartiles: {format_numbers(edges)}."
        name_by_bin = dict(zip(bin_names(edges), bin_names_without(edges, number), strict=True))
        definition = SliceDefinition(
            name, tuple(name_by_bin[x] for x in definition.names), definition.codes
        )
    all_codes = np.zeros(len(values.codes), np.intp)
    all_codes[other_mask] = definition.codes + 1
    return SliceDefinition(name, (mode_name, *definition.names), all_codes), [note]


def bin_names_without(edges: Sequence[float], number: float) -> tuple[str, ...]:
    """Return the names of bins if one number is a slice of its own.

    The name of the bin that contains the number states that it is excluded.
    """
    bin_index = int(np.searchsorted(np.array(edges), number, side="right"))
    names = enumerate(bin_names(edges))
    return tuple(f"{x}, not {_format_number(number)}" if k == bin_index else x for k, x in names)


def _quartiles(values: EncodedLabels) -> list[float]:
    """Return the quartiles of a numeric column, rounded as they are written.

    The names of the slices therefore state the exact edges.
    """
    numbers = np.asarray(values.labels, np.float64)[values.codes]
    quartiles = (float(f"{x:.6g}") for x in np.quantile(numbers, [0.25, 0.5, 0.75]))
    return list(dict.fromkeys(quartiles))


def _slice_at_edges(name: str, values: EncodedLabels, edges: list[float]) -> SliceDefinition:
    """Return the bins of a numeric column that contain rows."""
    bin_indices = np.searchsorted(
        np.array(edges), np.asarray(values.labels, np.float64), side="right"
    )
    occupied = np.unique(bin_indices)
    names = bin_names(edges)
    codes = np.searchsorted(occupied, bin_indices)[values.codes]
    return SliceDefinition(name, tuple(names[k] for k in occupied), codes)


def period_names(name: str, dates: Iterable[Any], period: str) -> list[str]:
    """Return the period of each date, in ISO 8601: ``2024``, ``2024-Q1``, ``2024-01``.

    >>> period_names("when", ["2024-01-31", "2024-11-02T08:00"], "quarter")
    ['2024-Q1', '2024-Q4']
    """
    if period not in PERIODS:
        raise InputError(
            f"bins of {name!r}: {format_value(period)}, expected bin edges, or one of "
            f"{', '.join(PERIODS)}"
        )
    names = []
    for date in dates:
        match = _DATE.match(date.isoformat() if hasattr(date, "isoformat") else str(date))
        if match is None or (period == "day" and match[3] is None):
            raise InputError(
                f"slice {name!r}: has the value {format_value(date)}, but bins by {period} need "
                "dates such as 2024-01-31"
            )
        year, month, day = match.groups()
        quarter = f"{year}-Q{(int(month) + 2) // 3}"
        periods = {"year": year, "quarter": quarter, "month": f"{year}-{month}"}
        names.append(periods.get(period, f"{year}-{month}-{day}"))
    return names


def check_edges(name: str, bins: Sequence[float]) -> list[float]:
    """Return the bin edges of a column, checked."""
    edges = [float(edge) for edge in to_numbers(bins, f"bins of {name!r}")]
    if (np.diff(edges) <= 0).any():
        raise InputError(
            f"bins of {name!r}: {format_value(edges)}, expected bin edges in ascending order"
        )
    return edges


def format_numbers(edges: Sequence[float]) -> str:
    """Return bin edges as text."""
    return ", ".join(map(_format_number, edges))


def _format_number(x: float) -> str:
    return f"{int(x)}" if x.is_integer() and abs(x) < 1e15 else repr(x)


def bin_names(edges: Sequence[float]) -> list[str]:
    """Return the names of bins: ``below 40``, ``40 to below 65``, ``65 and above``."""
    edge_names = [_format_number(x) for x in edges]
    inner = [f"{low} to below {high}" for low, high in pairwise(edge_names)]
    return [f"below {edge_names[0]}", *inner, f"{edge_names[-1]} and above"]


def _cross_columns(name: str, definitions: Sequence[SliceDefinition]) -> SliceDefinition:
    """Return the combinations of slices that occur, sorted by the first column, then the next."""
    shape = tuple(len(cut.names) for cut in definitions)
    flat = np.ravel_multi_index(tuple(cut.codes for cut in definitions), shape)
    combinations, codes = np.unique(flat, return_inverse=True)
    indices_by_column = np.unravel_index(combinations, shape)
    names = tuple(
        ", ".join(cut.names[k] for cut, k in zip(definitions, combination, strict=True))
        for combination in zip(*indices_by_column, strict=True)
    )
    return SliceDefinition(name, names, codes.reshape(-1))
