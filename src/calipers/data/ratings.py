"""Ratings of items by several raters, some of them missing."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from calipers.data import tables
from calipers.data.arrays import is_missing
from calipers.data.errors import InputError, did_you_mean, shown


def read_ratings(
    source: Any, raters: Sequence[str] | None, order: Sequence[Any] | None
) -> tuple[tuple[str, ...], Any, Any]:
    """The categories in their order, their numbers (NaN where they are text), and of each item how
    often it was put into each of them.

    ``source`` has a column a rater and a row an item.
    """
    path = isinstance(source, str | os.PathLike)
    table = tables.read_table(os.fspath(source)) if path else tables.as_arrow(source)
    where = f"{os.fspath(source)}: " if path else ""
    names = table.column_names if raters is None else list(raters)
    for name in names:
        if name not in table.column_names:
            told = did_you_mean(name, table.column_names)
            raise InputError(f"{where}raters: there is no column {name!r}; {told}")
    if len(set(names)) < 2:
        raise InputError(f"{where}there is one rater only; agreement takes two columns or more")
    columns = [table.column(name).to_pylist() for name in names]
    found = {value for column in columns for value in column if not is_missing(value)}
    for value in found:
        if not isinstance(value, str | int | float) or value in (math.inf, -math.inf):
            raise InputError(f"{where}a rating is {shown(value)}, expected text or a finite number")
    values = _ordered(found, order, where)
    place = {value: k for k, value in enumerate(values)}
    counts = np.zeros((table.num_rows, len(values)), np.int64)
    for column in columns:
        for item, value in enumerate(column):
            if not is_missing(value):
                counts[item, place[value]] += 1
    is_text = any(isinstance(value, str) for value in values)
    numbers = np.array([math.nan if is_text else float(value) for value in values])
    return tuple(str(value) for value in values), numbers, counts


def _ordered(found: set[Any], order: Sequence[Any] | None, where: str) -> list[Any]:
    if order is not None:
        order = [value.item() if isinstance(value, np.generic) else value for value in order]
        odd = [value for value in order if not isinstance(value, str | int | float)]
        if odd:
            raise InputError(f"order holds {shown(odd[0])}, expected the categories in their order")
        lacking = sorted(str(value) for value in found - set(order))
        if lacking:
            raise InputError(f"{where}order: it lacks the category {lacking[0]!r}")
        return list(dict.fromkeys(order))
    if len({isinstance(value, str) for value in found}) > 1:
        text = next(value for value in found if isinstance(value, str))
        raise InputError(
            f"{where}ratings are numbers and text, such as {text!r}; expected one kind"
        )
    return sorted(found)
