"""What topics, or other units, count for: by a column of a table, or by a dict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_array, as_number, same_length, wrong_weights
from calipers.data.errors import InputError, shown

if TYPE_CHECKING:
    from calipers.data.topic_table import TopicTable
    from calipers.statistics import FloatArray


def unit_weights(
    given: Any,
    units: Sequence[str],
    table: TopicTable | None = None,
    unit: str = "topic",
    *,
    in_order: bool = False,
) -> FloatArray | None:
    """The weight of each unit, some above 0; None where nothing is given, or all weigh the same.

    ``given`` is a dict from units to numbers, or the name of a column of the table; or, of units
    ``in_order``, a column of numbers.
    """
    if given is None:
        return None
    if in_order and not isinstance(given, Mapping | str):
        column = as_array(given, "weight")
        same_length(column, len(units), "weight", "the values of each system are")
        given = dict(zip(units, column.tolist(), strict=True))
    else_ = "an array in their order" if in_order else "a column of topic_table="
    found, at = _told(given, units, table, unit, else_)
    weight = np.array([np.nan if (x := as_number(value)) is None else x for value in found])
    number = "expected a finite number, 0 or more"
    wrong = [
        # One word makes a column of text of all numbers beside it.
        (np.array([isinstance(x, str) and not _reads(x) for x in found]), number),
        (~np.isfinite(weight), number),
        *wrong_weights(np.where(np.isfinite(weight), weight, 0.0)),
    ]
    for where, expected in wrong:
        for place in np.flatnonzero(where)[:1]:
            name, value = units[place], found[place]
            said = "is missing" if value is None else f"is {shown(value)}"
            raise InputError(f"{at(name)}: the weight of {unit} {name!r} {said}, {expected}")
    if not weight.any():
        raise InputError(f"{at('')}: the weights of all {unit}s are 0")
    return None if (weight == weight[0]).all() else weight


def _reads(text: str) -> bool:
    """Whether it is a number, written out."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _anywhere(_: str) -> str:
    """Where what stands in no table is."""
    return "weight"


def _told(
    given: Any, units: Sequence[str], table: TopicTable | None, unit: str, else_: str
) -> tuple[list[Any], Callable[[str], str]]:
    """The value of each unit, and what says where that stands."""
    at: Callable[[str], str]
    if isinstance(given, Mapping):
        by_name = {str(name): value for name, value in given.items()}
        if len(by_name) < len(given):
            raise InputError(f"weight: a {unit} stands there twice, as text and otherwise")
        known, at = set(by_name), _anywhere
        values = [by_name.get(name) for name in units]
    elif isinstance(given, str) and table is not None:
        known, at = set(table.row_of), table.at
        values = table.column(given, units).to_pylist()
    else:
        raise InputError(
            f"weight is {shown(given)}, expected a dict from {unit}s to weights, or {else_}"
        )
    absent = [name for name in units if name not in known]
    if absent:
        others = f" (nor have {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise InputError(
            f"{at(absent[0])}: {unit} {absent[0]!r} has no weight{others}, expected one for every "
            f"{unit}; 0 leaves it out"
        )
    return values, at
