"""What systems cost on each topic: by files, columns of a table of topics, or dicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_number
from calipers.data.costs import ALONE, NO_COSTS, Costs, as_costs, called
from calipers.data.errors import InputError, listed, shown
from calipers.data.sources import Source
from calipers.data.tables import check_file, is_table
from calipers.data.topic_table import TopicTable, read_topic_table
from calipers.data.trec import Origin

if TYPE_CHECKING:
    from calipers.statistics import FloatArray


def costs_of_topics(
    given: Any,
    topics: Sequence[str],
    systems: Sequence[str],
    table: TopicTable | None = None,
    unit: str = "topic",
) -> tuple[Costs, list[Any]]:
    """What each system costs on each of these topics, and where files of that came from. A column
    is a dict from topics to numbers, the name of a column of the ``table``, a file, or numbers in
    the order of the topics."""
    if given is None:
        return NO_COSTS, []
    if isinstance(given, Mapping):
        given = {cost: _of_one(value, systems) for cost, value in given.items()}
        shared = {cost for cost, value in given.items() if _is_file(value, table)}
        given |= {cost: dict.fromkeys(systems, given[cost]) for cost in shared}
    costs = Costs.of(given).by_system(systems)
    origins: list[Any] = []
    columns: dict[str, dict[str, FloatArray]] = {}
    for cost, by in costs.columns.items():
        columns[cost] = {}
        for name, value in by.items():
            at = _where(called(cost, name if len(systems) > 1 else ALONE))
            found = value
            if _is_file(value, table):
                alone = len(systems) == 1 or cost not in shared
                usual = (cost, "cost", "value") if alone else ()
                found, at, origin = _file(os.fspath(value), (name, *usual), unit)
                origins += [] if origin in origins else [origin]
            elif isinstance(value, str | os.PathLike) and table is not None:
                cells = table.column(os.fspath(value), list(table.row_of)).to_pylist()
                found, at = dict(zip(table.row_of, cells, strict=True)), table.at
            columns[cost][name] = _of_units(found, at, topics, unit)
    return Costs(columns, costs.numbers), origins


def _of_one(value: Any, systems: Sequence[str]) -> Any:
    """A dict from topics to numbers is that of the only system."""
    alone = isinstance(value, Mapping) and len(systems) == 1
    return {systems[0]: value} if alone and systems[0] not in map(str, value) else value


def _is_file(value: Any, table: TopicTable | None) -> bool:
    """Whether it is the name of a file, and of no column."""
    named = isinstance(value, str | os.PathLike)
    return named and (table is None or os.fspath(value) not in table.rows.column_names)


def _where(what: str) -> Callable[[str], str]:
    return lambda _: what


def _of_units(found: Any, at: Callable[[str], str], units: Sequence[str], unit: str) -> FloatArray:
    """A cost for each unit, from a dict; or in their order."""
    if not isinstance(found, Mapping):
        return as_costs(found, at(""), len(units))
    by_name = {str(name): value for name, value in found.items()}
    made = np.empty(len(units))
    for place, name in enumerate(units):
        if by_name.get(name) is None:
            absent = sum(by_name.get(other) is None for other in units)
            others = f" (nor have {absent - 1} more)" if absent > 1 else ""
            raise InputError(
                f"{at(name)}: {unit} {name!r} has no cost{others}, expected one for every {unit}"
            )
        number = _read(by_name[name])
        if not 0 <= number < np.inf:
            raise InputError(
                f"{at(name)}: the cost of {unit} {name!r} is {shown(by_name[name])}, expected a "
                "number, 0 or more"
            )
        made[place] = number
    return as_costs(made, at(""), len(units))


def _read(value: Any) -> float:
    """A number, also one that is written out: one word makes a column of text of all beside it."""
    try:
        found = float(value) if isinstance(value, str) else as_number(value)
    except ValueError:
        found = None
    return np.nan if found is None else found


def _file(
    path: str, names: Sequence[str], unit: str
) -> tuple[dict[str, Any], Callable[[str], str], Origin]:
    """The costs in a file by topic, what says where one stands, and where they came from; in a
    table they are the column that has the first of these names."""
    check_file(path, "a file of costs")
    if is_table(path):
        table = read_topic_table(path)
        there = table.rows.column_names
        name = next((own for own in names if own in there), None)
        if name is None:
            raise InputError(
                f"{path}: has the columns {listed(there)}; expected one that is called "
                + " or ".join(map(repr, names))
            )
        cells = table.column(name, list(table.row_of)).to_pylist()
        return dict(zip(table.row_of, cells, strict=True)), table.at, table.origin
    if len(names) == 1:
        raise InputError(
            f"{path}: has a {unit} and its cost in a line, and there are several systems; expected "
            "a file for each, or a table (CSV, JSON Lines, Parquet, Feather) with a column for each"
        )
    source = Source.of(path)
    found: dict[str, float] = {}
    lines: dict[str, int] = {}
    for number, topic, value in _lines(source, unit):
        if topic in found:
            raise InputError(
                f"{path}:{number}: {unit} {topic!r} stands there already, in line {lines[topic]}"
            )
        found[topic], lines[topic] = value, number
    size, digest = source.digest()
    origin = Origin("cost", path, bytes=size, sha256=digest)
    return found, lambda topic: f"{path}:{lines[topic]}" if topic in lines else path, origin


def _lines(source: Source, unit: str) -> Iterator[tuple[int, str, float]]:
    """Number, topic and cost of each line of text."""
    with source.text() as stream:
        for number, line in stream.lines():
            if not line.strip():
                continue
            parts = line.decode("utf-8", "replace").split()
            try:
                topic, value = parts[0], float(parts[-1])
            except ValueError:
                value = float("nan")
            if len(parts) != 2 or not 0 <= value < np.inf:
                raise InputError(
                    f"{source.name}:{number}: is {shown(' '.join(parts))}, expected a {unit} "
                    "and its cost, a number of 0 or more"
                )
            yield number, topic, value
