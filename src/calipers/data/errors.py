"""Errors raised for invalid input, and the formatting of their messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Longer values are cut where messages show them.
MAX_VALUE_LENGTH = 80

#: Longer words are cut in messages: a column may have a name of 10 MB.
_LONG_WORD = re.compile(r"(\S{80})\S{400,}")


class InputError(ValueError):
    """Invalid input; the message says what is wrong, where, and what was expected.

    Parameters
    ----------
    message : str, default=""
        Description of the problem. Very long words, such as ids, are shortened.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_LONG_WORD.sub(r"\1…", message))


class FileError(InputError):
    """Invalid content of a file other than the data, which the message names."""


#: Number of a row, or of several, in messages.
_ROWS = re.compile(r"\brow \d+|\brows \d+(?:, \d+)*")
_NUMBER = re.compile(r"\d+")

#: Index in the input of each row that is left of the input of a call; None if all rows are.
_INPUT_ROWS: ContextVar[npt.NDArray[np.intp] | None] = ContextVar("input_rows", default=None)


def find_rows(message: str) -> list[int]:
    """Return the numbers of rows in a message."""
    return [int(row) for rows in _ROWS.findall(message) for row in _NUMBER.findall(rows)]


def map_rows(message: str, index: Callable[[int], int]) -> str:
    """Return a message in which ``index`` has replaced the numbers of rows."""
    return _ROWS.sub(
        lambda rows: _NUMBER.sub(lambda row: str(index(int(row[0]))), rows[0]), message
    )


def set_input_rows(rows: npt.NDArray[np.intp]) -> None:
    """State which rows of the input are left, for later errors within :func:`input_row_numbers`."""
    _INPUT_ROWS.set(rows)


@contextmanager
def input_row_numbers() -> Iterator[None]:
    """Give rows in errors their numbers in the input, even if incomplete rows were dropped."""
    token = _INPUT_ROWS.set(None)
    try:
        yield
    except FileError:
        raise
    except InputError as error:
        rows = _INPUT_ROWS.get()
        if rows is None:
            raise
        message = map_rows(str(error), lambda row: int(rows[row]) if row < len(rows) else row)
        raise InputError(message) from None
    finally:
        _INPUT_ROWS.reset(token)


@contextmanager
def row_numbers(indices: npt.NDArray[np.intp]) -> Iterator[None]:
    """Give rows in errors their numbers among all rows, of which these are some.

    >>> import numpy as np
    >>> with row_numbers(np.array([4, 7])):
    ...     raise InputError("human: is NaN in row 1")
    Traceback (most recent call last):
    calipers.data.errors.InputError: human: is NaN in row 7
    """
    try:
        yield
    except InputError as error:
        message = map_rows(str(error), lambda row: int(indices[row]) if row < len(indices) else row)
        raise InputError(message) from None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a hint for a name that is not among the known ones."""
    import difflib

    names = list(dict.fromkeys(candidates))
    name = name[: 2 * MAX_VALUE_LENGTH]  # comparing takes as long as both are long, multiplied
    lowered = {n.lower(): n for n in names}
    short_names = [n for n in lowered if len(n) <= 4 * MAX_VALUE_LENGTH]
    matches = difflib.get_close_matches(name.lower(), short_names, n=1, cutoff=0.6)
    if matches:
        return f"did you mean {lowered[matches[0]]!r}?"
    return f"there are {format_names(list(map(repr, names)))}" if names else "there are none"


def format_names(names: Sequence[str]) -> str:
    """Format the first ten names."""
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def format_first_names(names: Sequence[Any]) -> str:
    """Format the first three names and the number of others: ``'a', 'b', 'c' and 4 more``."""
    first, n_others = ", ".join(map(repr, names[:3])), len(names) - 3
    return first + (f" and {n_others} more" if n_others > 0 else "")


def find_duplicate(names: Sequence[str]) -> str:
    """Return the first name that occurs more than once."""
    return next(name for name in names if names.count(name) > 1)


def format_value(value: Any) -> str:
    """Format a value for a message: its repr, truncated if it is long."""
    text = _repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"


def _repr(value: Any) -> str:
    if isinstance(value, str | bytes):
        return repr(value[:MAX_VALUE_LENGTH])
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
    try:
        text = " ".join(repr(value.item() if is_scalar else value).split())
    except Exception:  # __repr__ of a user-defined type may raise anything
        text = " object at "
    return f"<{type(value).__name__}>" if " object at " in text else text
