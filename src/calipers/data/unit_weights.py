"""What is known of topics, or other units: what they count for in means, for how many each stands,
which clusters they come in, and when they were asked. By columns of a table, or by dicts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_array, as_number, is_missing, same_length, wrong_weights
from calipers.data.counts import MOST_ROWS
from calipers.data.errors import InputError, shown

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.topic_table import TopicTable
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class UnitColumns:
    """A column each of what is known of units; None of what nobody said."""

    weight: FloatArray | None = None
    count: npt.NDArray[np.int64] | None = None
    cluster: Any = None
    time: Any = None

    @classmethod
    def of(
        cls,
        units: Sequence[str],
        table: TopicTable | None = None,
        unit: str = "topic",
        *,
        weight: Any = None,
        count: Any = None,
        cluster: Any = None,
        time: Any = None,
    ) -> UnitColumns:
        """From dicts from units to values, or names of columns of the table."""
        from calipers.data.times import time_codes

        clusters, times = (
            None if given is None else _column(given, units, table, unit, what)
            for what, given in (("cluster", cluster), ("time", time))
        )
        try:
            _ = None if times is None else time_codes(times)
        except InputError as error:
            raise InputError(_named(str(error), units, unit)) from None
        return cls(
            unit_weights(weight, units, table, unit),
            unit_counts(count, units, table, unit),
            clusters,
            times,
        )


#: How messages on a column tell a row, and how many more there are.
_ROW = re.compile(r"\bin row (\d+)")


def _named(message: str, units: Sequence[str], unit: str) -> str:
    """A message on a column of units, of which it names one in the place of a row."""
    return _ROW.sub(lambda found: f"of {unit} {units[int(found[1])]!r}", message)


def unit_counts(
    given: Any, units: Sequence[str], table: TopicTable | None = None, unit: str = "topic"
) -> npt.NDArray[np.int64] | None:
    """For how many each unit stands, some above 0; None where nothing is given."""
    if given is None:
        return None
    found, at = _told(given, units, table, unit, f"a column of {unit}_table=", "count")
    counts = np.array([np.nan if (x := _number(value)) is None else x for value in found])
    for place in np.flatnonzero(~((counts >= 0) & (counts == np.floor(counts)))).tolist():
        name = units[place]
        said = "is missing" if is_missing(found[place]) else f"is {shown(found[place])}"
        raise InputError(
            f"{at(name)}: the count of {unit} {name!r} {said}, expected a whole number of {unit}s, "
            "0 or more; weight= takes other numbers"
        )
    if not 0 < counts.sum() <= MOST_ROWS:
        raise InputError(
            f"{at('')}: the counts of all {unit}s add up to {counts.sum():,.0f}, expected 1 to "
            f"{MOST_ROWS:,}"
        )
    return counts.astype(np.int64)


def _number(value: Any) -> float | None:
    """A number, also one that is written out: one word makes a column of text of all beside it."""
    if isinstance(value, str):
        return float(value) if _reads(value) else None
    return as_number(value)


def _column(
    given: Any, units: Sequence[str], table: TopicTable | None, unit: str, what: str
) -> list[Any]:
    """A value for each unit."""
    found, at = _told(given, units, table, unit, f"a column of {unit}_table=", what)
    for name, value in zip(units, found, strict=True):
        if is_missing(value):
            raise InputError(f"{at(name)}: the {what} of {unit} {name!r} is missing")
    return found


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
    found, at = _told(given, units, table, unit, else_, "weight")
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


def _told(
    given: Any, units: Sequence[str], table: TopicTable | None, unit: str, else_: str, what: str
) -> tuple[list[Any], Callable[[str], str]]:
    """The value of each unit, and what says where that stands."""
    at: Callable[[str], str]
    if isinstance(given, Mapping):
        by_name = {str(name): value for name, value in given.items()}
        if len(by_name) < len(given):
            raise InputError(f"{what}: a {unit} stands there twice, as text and otherwise")
        known, at = set(by_name), lambda _: what
        values = [by_name.get(name) for name in units]
    elif isinstance(given, str) and table is not None:
        known, at = set(table.row_of), table.at
        values = table.column(given, units).to_pylist()
    else:
        raise InputError(
            f"{what} is {shown(given)}, expected a dict from {unit}s to {what}s, or {else_}"
        )
    absent = [name for name in units if name not in known]
    if absent:
        others = f" (nor have {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise InputError(
            f"{at(absent[0])}: {unit} {absent[0]!r} has no {what}{others}, expected one for every "
            f"{unit}{'; 0 leaves it out' if what in ('weight', 'count') else ''}"
        )
    return values, at
