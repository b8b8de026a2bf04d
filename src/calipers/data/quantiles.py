"""Predicted quantiles, with one column per level."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from calipers.data.arrays import Floats, check_length, column_names, is_frame, to_quantities
from calipers.data.class_probabilities import is_table
from calipers.data.errors import InputError, format_value


def one_system(given: Any) -> bool:
    """Return whether these are the levels of one system, rather than systems by name."""
    return not (isinstance(given, Mapping) and given and all(map(is_table, given.values())))


def to_quantiles(given: Any, what: str, rows: int) -> tuple[tuple[float, ...], Floats]:
    """Return the levels in ascending order, and the quantiles as an array of shape (n, n_levels).

    The input is a dict or a data frame with one column per level, such as ``{0.05: …, 0.95: …}``.

    Raises
    ------
    InputError
        If a level is not a number between 0 and 1 or is duplicated, or if columns differ in length
        or have no numbers.
    """
    if not (isinstance(given, Mapping) or is_frame(given)):
        raise InputError(
            f"{what}: {type(given).__name__}, expected a dict or a data frame with a column for "
            "each level, such as {0.05: …, 0.95: …}"
        )
    found: dict[float, Any] = {}
    for name in column_names(given):
        level = _level(name, what)
        if level in found:
            raise InputError(f"{what}: the level {level:g} is there twice")
        column = given.column(name) if hasattr(given, "column") else given[name]
        found[level] = to_quantities(column, f"{what} of {name!r}")
    if not found:
        raise InputError(f"{what}: no columns, expected one for each level")
    levels = tuple(sorted(found))
    for level in levels:
        check_length(found[level], rows, f"{what} of {level:g}")
    return levels, np.column_stack([found[level] for level in levels])


def _level(name: Any, what: str) -> float:
    try:
        level = math.nan if isinstance(name, bool) else float(name)
    except (TypeError, ValueError, OverflowError):
        level = math.nan
    if not 0 < level < 1:
        raise InputError(
            f"{what}: a column is called {format_value(name)}, expected a level between 0 and 1, "
            "such as "
            "0.05; an interval that is to hold 0.9 lies between the levels 0.05 and 0.95"
        )
    return level
