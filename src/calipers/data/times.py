"""Times of rows: numbers, dates, or text in ISO 8601 format."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import count_others, to_array, to_numbers
from calipers.data.errors import InputError, format_value

if TYPE_CHECKING:
    import numpy.typing as npt

#: 2024, 2024-01, 2024-01-31, 2024-W05, 2024-Q1, 2024-01-31T10:30:00.5, with or without a zone.
_ISO = re.compile(
    r"\d{4}(-?(\d{2}(-?\d{2})?|W\d{2}(-?\d)?|Q[1-4]|\d{3}))?"
    r"([T ]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?"
)
_ZONE = re.compile(r"[T ].*[+-]\d{2}(:?\d{2})?$")
EXPECTED = "numbers, dates, or text in the form of ISO 8601 such as 2024-01-31"


def time_codes(values: Any, what: str = "time") -> tuple[npt.NDArray[np.intp], int]:
    """Encode the time of each row as its rank from 0, and return the number of distinct times.

    >>> codes, times = time_codes(["2024-02-01", "2024-01-31", "2024-02-01"])
    >>> codes.tolist(), times
    ([1, 0, 1], 2)
    """
    column = to_array(values, what)
    if column.dtype.kind == "f":
        column = to_numbers(column, what)  # NaN is no time
    if column.dtype.kind in "OUVST":
        column = _to_sortable(column, what)
    if column.dtype.kind not in "iufMm":
        raise InputError(f"{what}: is a column of {column.dtype}, expected {EXPECTED}")
    times, codes = np.unique(column, return_inverse=True)
    return codes.reshape(-1).astype(np.intp), len(times)


def _to_sortable(column: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """Convert text, or objects with an order, to values that sort by time."""
    values = column.tolist()
    if not any(isinstance(value, str) for value in values):
        try:
            ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
        except TypeError:
            raise InputError(f"{what}: has values without an order, expected {EXPECTED}") from None
        return np.array([ranks[value] for value in values])
    texts = [value if isinstance(value, str) else "" for value in values]
    wrong = [row for row, text in enumerate(texts) if not _ISO.fullmatch(text.strip())]
    if wrong:
        raise InputError(
            f"{what}: is {format_value(values[wrong[0]])} in row "
            f"{wrong[0]}{count_others(len(wrong))}, expected "
            f"{EXPECTED}"
        )
    stripped = [text.strip() for text in texts]
    if any(_ZONE.search(text) for text in stripped):
        return np.array([_to_seconds(text, row, what) for row, text in enumerate(stripped)])
    # Without zones, texts of one form are in the order of time as they are.
    plain = [text.replace(" ", "T") for text in stripped]
    if len({("-" in text[:8], len(text.partition("T")[0])) for text in plain}) > 1:
        raise InputError(
            f"{what}: has {format_value(stripped[0])} and texts of another form; give all times "
            "alike"
        )
    return _rank_texts(plain)


def _rank_texts(texts: list[str]) -> npt.NDArray[np.intp]:
    ranks = {text: rank for rank, text in enumerate(sorted(set(texts)))}
    return np.array([ranks[text] for text in texts], np.intp)


def _to_seconds(text: str, row: int, what: str) -> float:
    """Convert a time with a time zone to seconds."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise InputError(
            f"{what}: is {format_value(text)} in row {row}, which is not read as a time with a "
            "zone such "
            "as 2024-01-31T10:30:00+01:00"
        ) from None
    if moment.tzinfo is None:
        raise InputError(
            f"{what}: is {format_value(text)} in row {row}, without a zone as others have it"
        )
    return moment.timestamp()
