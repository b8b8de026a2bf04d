"""Logs of requests: values of each request in the order of the log, as they arrive.

A log is a file, the standard input, a data frame, columns in memory or any iterable. Lines of text
are JSON objects, rows of CSV with a heading, or single values; they are read one by one, so that an
error names its line and a pipe need not end.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from calipers.data.arrays import is_frame, is_missing
from calipers.data.byte_sources import STDIN, open_log
from calipers.data.case_scores import SCORE_WORDS
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.tables import (
    TEXT_FORMATS,
    check_file,
    check_unique_keys,
    file_extension,
    is_table,
    read_table,
    to_arrow,
)

#: Words for the outcome of a system on a request, compared with another one.
OUTCOME_WORDS = {
    **dict.fromkeys(("won", "win"), 1.0),
    **dict.fromkeys(("lost", "loss", "lose"), -1.0),
    **dict.fromkeys(("tied", "tie", "draw"), 0.0),
}
#: Names of the column of values, of which one is used if no column is named.
_DEFAULT_NAMES = ("score", "outcome")

#: Number of requests of a block of what is in memory.
_ROWS = 1 << 12


class Request(NamedTuple):
    """Values of a request, and its place in the log for messages."""

    location: str
    values: tuple[Any, ...]


def parse_score(value: Any, location: str) -> float:
    """Return a score as a number; NaN if it is missing."""
    return _parse(value, location, SCORE_WORDS, "a number, or pass or fail")


def parse_outcome(value: Any, location: str) -> float:
    """Return the outcome of a paired request: 1 won, 0 tied, −1 lost; NaN if it is missing."""
    expected = "won, lost or tied, or 1, -1 or 0"
    outcome = _parse(value, location, OUTCOME_WORDS, expected)
    if not math.isnan(outcome) and outcome not in (-1.0, 0.0, 1.0):
        raise InputError(f"{location}: the outcome is {format_value(value)}, expected {expected}")
    return outcome


def _parse(value: Any, location: str, words: Mapping[str, float], expected: str) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, str):
        text = value.strip().lower()
        if not text:
            return math.nan
        number = words.get(text)
        if number is not None:
            return number
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    elif is_missing(value):
        return math.nan
    elif isinstance(value, bool | int | float) or hasattr(value, "__float__"):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
        if math.isfinite(number):
            return number
    raise InputError(f"{location}: {format_value(value)} is not a score; expected {expected}")


def read_requests(
    data: Any, columns: Sequence[str] = (), optional: Sequence[str] = ()
) -> Iterator[list[Request]]:
    """Read the requests of a log in blocks, each as soon as it has arrived.

    Parameters
    ----------
    data : path, data frame, dict of columns, or iterable
        Log: a file of CSV, JSON Lines, Parquet or Feather, ``"-"`` for the standard input, a table,
        or an iterable of values or of mappings from names to values.
    columns : sequence of str, optional
        Names of the columns. Without names, the log has a single column, or one named ``score`` or
        ``outcome``.
    optional : sequence of str, optional
        Names of further columns, whose values are None if the log does not have them.

    Yields
    ------
    list of Request
        Requests with the values of the columns.

    Raises
    ------
    InputError
        If a line is invalid or lacks a column; the message names the line.

    Examples
    --------
    >>> rows = [{"score": 1, "arm": "a"}, {"score": 0, "arm": "b"}]
    >>> [request.values for block in read_requests(rows, ["arm", "score"]) for request in block]
    [('a', 1), ('b', 0)]
    """
    name = os.fspath(data) if isinstance(data, str | os.PathLike) else "data"
    fields = _Fields(name, columns, optional)
    if isinstance(data, str | os.PathLike):
        if name not in (STDIN, "/dev/stdin") and _is_other_table(name):
            yield _table_requests(read_table(name), fields)
        else:
            yield from _text_requests(name, fields)
    elif isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__") or is_frame(data):
        yield _table_requests(to_arrow(data), fields)
    elif isinstance(data, Iterable) and getattr(data, "ndim", 1) != 0:
        # What is in memory need not be waited for.
        size = _ROWS if hasattr(data, "__len__") else 1
        block: list[Request] = []
        for index, row in enumerate(data):
            block.append(fields.request(f"data: row {index}", row))
            if len(block) >= size:
                yield block
                block = []
        yield block
    else:
        raise InputError(
            f"data is {format_value(data)}, expected a path, a data frame, a dict of columns, or "
            "an iterable of requests"
        )


def _is_other_table(name: str) -> bool:
    """Return whether a file is a table that is not text by lines."""
    return is_table(name) and file_extension(name)[0] not in TEXT_FORMATS


def _table_requests(table: Any, fields: _Fields) -> list[Request]:
    column_names = table.column_names
    lists = [
        table.column(column).to_pylist() if column in column_names else [None] * len(table)
        for column in fields.select(column_names, fields.name)
    ]
    return [
        Request(f"{fields.name}: row {index}", values)
        for index, values in enumerate(zip(*lists, strict=True))
    ]


class _Fields:
    """Columns that are read, which the first request determines if they are not named."""

    def __init__(self, name: str, columns: Sequence[str], optional: Sequence[str] = ()) -> None:
        self.name, self.columns, self.optional = name, (*columns, *optional), optional

    def select(self, names: Sequence[str], location: str) -> tuple[str, ...]:
        """Return the columns to be read of those that there are."""
        if not self.columns:
            matching = [name for name in _DEFAULT_NAMES if name in names]
            if len(names) != 1 and len(matching) != 1:
                raise InputError(
                    f"{location}: name the column of the scores; there are "
                    f"{', '.join(map(repr, names))}"
                )
            self.columns = (names[0] if len(names) == 1 else matching[0],)
        for column in self.columns:
            if column not in names and column not in self.optional:
                raise InputError(f"{location}: no column {column!r}; {did_you_mean(column, names)}")
        return self.columns

    def request(self, location: str, row: Any) -> Request:
        """Return the request of a row: a mapping, or the value of the only column."""
        if isinstance(row, Mapping):
            columns = self.select(list(row), location)
            return Request(location, tuple(row.get(column) for column in columns))
        if len(self.columns) > 1:
            raise InputError(
                f"{location}: {format_value(row)} is a single value, expected the columns "
                f"{', '.join(map(repr, self.columns))}"
            )
        return Request(location, (row,))


# --- Text -----------------------------------------------------------------------------------------


def _text_requests(path: str, fields: _Fields) -> Iterator[list[Request]]:
    if path not in (STDIN, "/dev/stdin"):
        check_file(path, "a log of requests: CSV, JSON Lines, or a value in each line")
    with open_log(path) as text:
        fields.name = text.name
        reader = _LineReader(fields)
        for lines in text.line_blocks():
            yield [request for line in lines for request in reader.read(*line)]


class _LineReader:
    """Reader of lines, whose format the first of them determines."""

    def __init__(self, fields: _Fields) -> None:
        self._name, self._fields = fields.name, fields
        self._heading: list[str] | None = None
        self._is_json = self._is_single = False
        self._delimiter = ","

    def read(self, number: int, line: bytes) -> Iterator[Request]:
        """Yield the request of a line; none for an empty line or the heading."""
        location, text = f"{self._name}:{number}", line.decode().strip("\r\n")
        if not text.strip():
            return
        if self._is_json:
            yield self._fields.request(location, self._json(location, text))
        elif self._is_single:
            yield self._fields.request(location, self._single_value(text))
        elif self._heading is not None:
            yield self._fields.request(location, self._cells(location, text))
        elif text.lstrip().startswith("{"):
            self._is_json = True
            yield self._fields.request(location, self._json(location, text))
        elif not self._fields.columns and _is_value(text):
            self._is_single = True
            yield self._fields.request(location, self._single_value(text))
        else:
            self._delimiter = "\t" if "\t" in text and "," not in text else ","
            self._heading = [name.strip() for name in self._split(location, text)]
            repeated = {name for name in self._heading if self._heading.count(name) > 1}
            if repeated:
                raise InputError(f"{location}: column {min(repeated)!r} appears more than once")
            self._fields.select(self._heading, location)

    def _json(self, location: str, text: str) -> Mapping[str, Any]:
        try:
            row = json.loads(text, object_pairs_hook=check_unique_keys)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", error)
            raise InputError(f"{location}: expected a JSON object: {reason}") from None
        if not isinstance(row, dict):
            raise InputError(f"{location}: expected a JSON object, found {format_value(row)}")
        return row

    @staticmethod
    def _single_value(text: str) -> Any:
        value = text.strip().strip('"')
        return None if value == "null" else value

    def _cells(self, location: str, text: str) -> Mapping[str, str]:
        assert self._heading is not None
        cells = self._split(location, text)
        if len(cells) != len(self._heading):
            raise InputError(
                f"{location}: has {len(cells)} fields, expected {len(self._heading)}: "
                f"{', '.join(self._heading)}"
            )
        return dict(zip(self._heading, cells, strict=True))

    def _split(self, location: str, text: str) -> list[str]:
        try:
            (cells,) = csv.reader([text], delimiter=self._delimiter, strict=True)
        except (csv.Error, ValueError) as error:
            raise InputError(f"{location}: is not a line of CSV: {error}") from None
        return cells


def _is_value(text: str) -> bool:
    """Return whether a line is a single value, rather than the heading of a table."""
    word = text.strip().strip('"').lower()
    if word in SCORE_WORDS or word in OUTCOME_WORDS or word == "null":
        return True
    try:
        float(word)
    except ValueError:
        return False
    return True
