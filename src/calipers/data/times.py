"""Times of rows: numbers, dates, or text in ISO 8601 format."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import format_other_rows, to_array, to_numbers
from calipers.data.errors import InputError, format_value

if TYPE_CHECKING:
    import numpy.typing as npt

#: 2024, 2024-01, 2024-01-31, 2024-W05, 2024-Q1, 2024-01-31T10:30:00.5, with or without a zone.
_ISO = re.compile(
    r"\d{4}(-?(\d{2}(-?\d{2})?|W\d{2}(-?\d)?|Q[1-4]|\d{3}))?"
    r"([T ]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?"
)
#: Several days, as pandas writes a week: the first day is the time.
_DAYS = re.compile(r"\A\s*(\d{4}-\d{2}-\d{2})/\d{4}-\d{2}-\d{2}\s*\Z")
_ZONE = re.compile(r"[T ].*(Z|[+-]\d{2}(:?\d{2})?)$")
_FRACTION = re.compile(r"[.,](\d+)")
EXPECTED = "numbers, dates, or text in the form of ISO 8601 such as 2024-01-31"


def time_codes(values: Any, input_name: str = "time") -> tuple[npt.NDArray[np.intp], int]:
    """Encode the time of each row as its rank from 0, and return the number of distinct times.

    >>> codes, times = time_codes(["2024-02-01", "2024-01-31", "2024-02-01"])
    >>> codes.tolist(), times
    ([1, 0, 1], 2)
    """
    column = to_array(values, input_name)
    if column.dtype.kind == "f":
        column = to_numbers(column, input_name)  # NaN is not a time
    if column.dtype.kind in "OUVST":
        column = _to_sortable(column, input_name)
    if column.dtype.kind not in "iufMm":
        raise InputError(f"{input_name}: is a column of {column.dtype}, expected {EXPECTED}")
    times, codes = np.unique(column, return_inverse=True)
    return codes.reshape(-1).astype(np.intp), len(times)


def _to_sortable(column: npt.NDArray[Any], input_name: str) -> npt.NDArray[Any]:
    """Convert text, or objects with an order, to values that sort by time."""
    values = column.tolist()
    if not any(isinstance(value, str) for value in values):
        try:
            return _to_ranks(values)
        except TypeError:
            raise InputError(
                f"{input_name}: has values without an order, expected {EXPECTED}"
            ) from None
    strings = [_DAYS.sub(r"\1", value) if isinstance(value, str) else "" for value in values]
    invalid_rows = [row for row, text in enumerate(strings) if not _ISO.fullmatch(text.strip())]
    if invalid_rows:
        raise InputError(
            f"{input_name}: is {format_value(values[invalid_rows[0]])} in row "
            f"{invalid_rows[0]}{format_other_rows(len(invalid_rows))}, "
            f"expected {EXPECTED}"
        )
    stripped = [text.strip() for text in strings]
    if any(_ZONE.search(text) for text in stripped):
        return _to_ranks([_to_sort_key(text, row, input_name) for row, text in enumerate(stripped)])
    # Without zones, the order of texts in the same format is that of time.
    normalized = [text.replace(" ", "T") for text in stripped]
    if len({("-" in text[:8], len(text.partition("T")[0])) for text in normalized}) > 1:
        raise InputError(
            f"{input_name}: has {format_value(stripped[0])} and texts of another form; expected "
            "all times in one form"
        )
    return _to_ranks(normalized)


def _to_ranks(values: list[Any]) -> npt.NDArray[np.intp]:
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.array([ranks[value] for value in values], np.intp)


def _to_sort_key(text: str, row: int, input_name: str) -> tuple[float, str]:
    """Convert a time with a time zone to whole seconds, and the digits of their fraction."""
    fraction = _FRACTION.search(text)
    try:
        moment = datetime.fromisoformat(_FRACTION.sub("", text).replace("Z", "+00:00"))
    except ValueError:
        raise InputError(
            f"{input_name}: is {format_value(text)} in row {row}, expected a time with a zone such "
            "as 2024-01-31T10:30:00+01:00"
        ) from None
    if moment.tzinfo is None:
        raise InputError(
            f"{input_name}: is {format_value(text)} in row {row}, without a zone as others have it"
        )
    return moment.timestamp(), "" if fraction is None else fraction[1].rstrip("0")
