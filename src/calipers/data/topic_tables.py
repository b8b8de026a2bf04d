"""Tables of topics: categories, lengths, weights, frequencies and costs."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import check_length, invalid_weight_masks, is_missing, to_array, to_number
from calipers.data.byte_sources import ByteSource
from calipers.data.categories import ANY_COLUMN
from calipers.data.costs import NO_COSTS, ONLY_SYSTEM, Costs, cost_column_name, to_costs
from calipers.data.errors import InputError, format_names, format_value
from calipers.data.frequency_weights import MAX_ROWS
from calipers.data.tables import (
    TEXT_FORMATS,
    add_location,
    check_file,
    column,
    file_extension,
    is_table,
    read_table,
    to_arrow,
)
from calipers.data.trec import InputOrigin
from calipers.data.trec_tables import TOPIC, decode_id, find_column, id_array
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class UnitColumns:
    """Weight, count, cluster and time of the units, one column each; None if not given."""

    weight: FloatArray | None = None
    count: npt.NDArray[np.int64] | None = None
    cluster: Any = None
    time: Any = None

    @classmethod
    def from_values(
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
        """Make the columns from dicts of values by unit, or names of columns of the table."""
        from calipers.data.times import time_codes

        clusters, times = (
            None if source is None else _unit_column(source, units, table, unit, argument)
            for argument, source in (("cluster", cluster), ("time", time))
        )
        try:
            _ = None if times is None else time_codes(times)
        except InputError as error:
            raise InputError(_name_unit(str(error), units, unit)) from None
        return cls(
            unit_weights(weight, units, table, unit),
            unit_counts(count, units, table, unit),
            clusters,
            times,
        )


#: Row in a message about a column.
_ROW = re.compile(r"\bin row (\d+)")


def _name_unit(message: str, units: Sequence[str], unit: str) -> str:
    """Replace the row in a message about a column of units by the name of the unit."""
    return _ROW.sub(lambda match: f"of {unit} {units[int(match[1])]!r}", message)


def unit_counts(
    source: Any, units: Sequence[str], table: TopicTable | None = None, unit: str = "topic"
) -> npt.NDArray[np.int64] | None:
    """Return the frequency weight of each unit, some above 0; None if nothing is given."""
    if source is None:
        return None
    cells, locate = _unit_values(source, units, table, unit, f"a column of {unit}_table=", "count")
    counts = np.array([np.nan if (x := _to_float_or_none(value)) is None else x for value in cells])
    for index in np.flatnonzero(~((counts >= 0) & (counts == np.floor(counts)))).tolist():
        name = units[index]
        problem = "is missing" if is_missing(cells[index]) else f"is {format_value(cells[index])}"
        raise InputError(
            f"{locate(name)}: the count of {unit} {name!r} {problem}, expected a whole number of "
            f"{unit}s, 0 or more; weight= takes other numbers"
        )
    if not 0 < counts.sum() <= MAX_ROWS:
        raise InputError(
            f"{locate('')}: the counts of all {unit}s add up to {counts.sum():,.0f}, expected 1 to "
            f"{MAX_ROWS:,}"
        )
    return counts.astype(np.int64)


def _to_float_or_none(value: Any) -> float | None:
    """Convert a value to a number, also if it is text; None if it is not a number.

    A column with one word in it is read as text, so numbers may be text.
    """
    if isinstance(value, str):
        return float(value) if _is_numeric(value) else None
    return to_number(value)


def _unit_column(
    source: Any, units: Sequence[str], table: TopicTable | None, unit: str, argument: str
) -> list[Any]:
    """Return a value for each unit, none of them missing."""
    cells, locate = _unit_values(source, units, table, unit, f"a column of {unit}_table=", argument)
    for name, value in zip(units, cells, strict=True):
        if is_missing(value):
            raise InputError(f"{locate(name)}: the {argument} of {unit} {name!r} is missing")
    return cells


def unit_weights(
    source: Any,
    units: Sequence[str],
    table: TopicTable | None = None,
    unit: str = "topic",
    *,
    is_ordered: bool = False,
) -> FloatArray | None:
    """Return the weight of each unit; None if nothing is given, or if all weights are equal.

    At least one weight is above 0. ``source`` is a dict from units to numbers, or the name of a
    column of the table; or, if units are ``is_ordered``, a column of numbers.
    """
    if source is None:
        return None
    if is_ordered and not isinstance(source, Mapping | str):
        column = to_array(source, "weight")
        check_length(column, len(units), "weight", "the values of each system are")
        source = dict(zip(units, column.tolist(), strict=True))
    alternative = "an array in their order" if is_ordered else "a column of topic_table="
    cells, locate = _unit_values(source, units, table, unit, alternative, "weight")
    weight = np.array([np.nan if (x := to_number(value)) is None else x for value in cells])
    number = "expected a finite number, 0 or more"
    checks = [
        # A column with one word in it is read as text, so numbers may be text.
        (np.array([isinstance(x, str) and not _is_numeric(x) for x in cells]), number),
        (~np.isfinite(weight), number),
        *invalid_weight_masks(np.where(np.isfinite(weight), weight, 0.0)),
    ]
    for invalid_mask, expected in checks:
        for index in np.flatnonzero(invalid_mask)[:1]:
            name, value = units[index], cells[index]
            problem = "is missing" if value is None else f"is {format_value(value)}"
            raise InputError(f"{locate(name)}: the weight of {unit} {name!r} {problem}, {expected}")
    if not weight.any():
        raise InputError(f"{locate('')}: the weights of all {unit}s are 0")
    return None if (weight == weight[0]).all() else weight


def _is_numeric(text: str) -> bool:
    """Return whether text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _unit_values(
    source: Any,
    units: Sequence[str],
    table: TopicTable | None,
    unit: str,
    alternative: str,
    argument: str,
) -> tuple[list[Any], Callable[[str], str]]:
    """Return the value of each unit, and the function that locates it in messages."""
    locate: Callable[[str], str]
    if isinstance(source, Mapping):
        by_name = {str(name): value for name, value in source.items()}
        if len(by_name) < len(source):
            raise InputError(f"{argument}: a {unit} appears twice, as text and as another type")
        valid_units, locate = set(by_name), lambda _: argument
        values = [by_name.get(name) for name in units]
    elif isinstance(source, str) and table is not None:
        valid_units, locate = set(table.row_by_topic), table.locate
        values = table.column(source, units).to_pylist()
    else:
        raise InputError(
            f"{argument} is {format_value(source)}, expected a dict from {unit}s to {argument}s, "
            f"or {alternative}"
        )
    missing = [name for name in units if name not in valid_units]
    if missing:
        others = f" (nor have {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise InputError(
            f"{locate(missing[0])}: {unit} {missing[0]!r} has no {argument}{others}, expected one "
            f"for every {unit}{'; 0 leaves it out' if argument in ('weight', 'count') else ''}"
        )
    return values, locate


#: Name of a table in memory in messages.
IN_MEMORY_NAME = "topic_table"


@dataclass(frozen=True, eq=False)
class TopicTable:
    """Table with one row per topic, indexed by the name of the topic."""

    origin: InputOrigin
    rows: pa.Table
    row_by_topic: Mapping[str, int]
    source: ByteSource | None = None

    @property
    def input_name(self) -> str:
        """Name of the table in messages."""
        return self.origin.path or self.origin.name

    def column(self, name: str, topics: Sequence[str]) -> Any:
        """Return one column in the order of these topics, with null for topics that are absent."""
        import pyarrow as pa

        row_indices = pa.array([self.row_by_topic.get(topic) for topic in topics], pa.int64())
        return column(self.rows, name, self.input_name).take(row_indices)

    def locate(self, topic: str) -> str:
        """Return the location of a topic for a message."""
        row = self.row_by_topic.get(topic)
        if row is None:
            return self.input_name
        lines = None if self.source is None else table_lines(self.source, len(self.row_by_topic))
        return (
            f"{self.input_name}: row {row}" if lines is None else f"{self.input_name}:{lines[row]}"
        )

    def notes(self, topics: Sequence[str]) -> list[str]:
        """Return a note on topics of the table that have no judgments."""
        topic_names = set(topics)
        others = [topic for topic in self.row_by_topic if topic not in topic_names]
        if not others:
            return []
        examples, suffix = ", ".join(others[:3]), ", …" if len(others) > 3 else ""
        description = f"has {len(others)} topics without judgments ({examples}{suffix})"
        return [f"{self.input_name} {description}; they are left out."]


def read_topic_table(data: Any) -> TopicTable:
    """Read a table of topics from a path, a data frame or a dict of columns.

    Files are CSV, JSON Lines, Parquet or Feather. The column of topics has one of its usual names.
    """
    if not isinstance(data, str | os.PathLike):
        with add_location(IN_MEMORY_NAME):
            rows = to_arrow(data)
            names = [
                decode_id(name)
                for name in id_array(rows, find_column(rows.column_names, TOPIC)).to_pylist()
            ]
        return TopicTable(
            InputOrigin(IN_MEMORY_NAME), rows, _row_index(names, IN_MEMORY_NAME, None)
        )
    path = os.fspath(data)
    source = ByteSource.from_input(path)
    with add_location(source.name):
        rows = read_table(source, text=TOPIC, categories=ANY_COLUMN)
        names = [
            decode_id(name)
            for name in id_array(rows, find_column(rows.column_names, TOPIC)).to_pylist()
        ]
    row_of = _row_index(names, source.name, source)
    if not source.is_file:
        return TopicTable(InputOrigin(IN_MEMORY_NAME, source.name), rows, row_of, source)
    size, digest = source.digest()
    origin = InputOrigin(IN_MEMORY_NAME, path, bytes=size, sha256=digest)
    return TopicTable(origin, rows, row_of, source)


def _row_index(names: Sequence[str], input_name: str, source: ByteSource | None) -> dict[str, int]:
    """Return the row of each topic; a duplicate topic is an error."""
    row_by_topic: dict[str, int] = {}
    for row, name in enumerate(names):
        first = row_by_topic.setdefault(name, row)
        if first != row:
            lines = None if source is None else table_lines(source, len(names))
            location = f"{input_name}: row {row}" if lines is None else f"{input_name}:{lines[row]}"
            earlier = f"row {first}" if lines is None else f"line {lines[first]}"
            raise InputError(f"{location}: topic {format_value(name)} already appears in {earlier}")
    return row_by_topic


def table_lines(source: ByteSource, rows: int) -> list[int] | None:
    """Return the line of each row of a text file; None if rows are not lines."""
    extension = file_extension(source.name)[0]
    if not source.is_file and extension not in TEXT_FORMATS:
        extension = source.infer_extension()
    kind = TEXT_FORMATS.get(extension)
    if kind is None:
        return None
    with source.text() as stream:
        lines = [number for number, line in stream.lines() if line.strip()]
    lines = lines[1:] if kind == "csv" else lines
    return lines if len(lines) == rows else None


def read_topic_costs(
    argument: Any,
    topics: Sequence[str],
    systems: Sequence[str],
    table: TopicTable | None = None,
    unit: str = "topic",
) -> tuple[Costs, list[Any]]:
    """Read the costs of each system on each of these topics, and the origins of the files.

    A column is a dict from topics to numbers, the name of a column of the ``table``, a file, or
    numbers in the order of the topics.
    """
    if argument is None:
        return NO_COSTS, []
    if isinstance(argument, Mapping):
        argument = {cost: _wrap_single_system(value, systems) for cost, value in argument.items()}
        shared_costs = {cost for cost, value in argument.items() if _is_file(value, table)}
        argument |= {cost: dict.fromkeys(systems, argument[cost]) for cost in shared_costs}
    costs = Costs.from_argument(argument).by_system(systems)
    origins: list[Any] = []
    columns: dict[str, dict[str, FloatArray]] = {}
    for cost, by_system in costs.columns.items():
        columns[cost] = {}
        for name, value in by_system.items():
            locate = _constant_location(
                cost_column_name(cost, name if len(systems) > 1 else ONLY_SYSTEM)
            )
            unit_values = value
            if _is_file(value, table):
                accepts_default_names = len(systems) == 1 or cost not in shared_costs
                default_names = (cost, "cost", "value") if accepts_default_names else ()
                unit_values, locate, origin = _read_cost_file(
                    os.fspath(value), (name, *default_names), unit
                )
                origins += [] if origin in origins else [origin]
            elif isinstance(value, str | os.PathLike) and table is not None:
                cells = table.column(os.fspath(value), list(table.row_by_topic)).to_pylist()
                unit_values, locate = (
                    dict(zip(table.row_by_topic, cells, strict=True)),
                    table.locate,
                )
            columns[cost][name] = _unit_costs(unit_values, locate, topics, unit)
    return Costs(columns, costs.numbers), origins


def _wrap_single_system(value: Any, systems: Sequence[str]) -> Any:
    """Wrap a dict from topics to numbers as that of the only system."""
    alone = isinstance(value, Mapping) and len(systems) == 1
    return {systems[0]: value} if alone and systems[0] not in map(str, value) else value


def _is_file(value: Any, table: TopicTable | None) -> bool:
    """Return whether the value is the name of a file, rather than of a column."""
    is_name = isinstance(value, str | os.PathLike)
    return is_name and (table is None or os.fspath(value) not in table.rows.column_names)


def _constant_location(location: str) -> Callable[[str], str]:
    return lambda _: location


def _unit_costs(
    values: Any, locate: Callable[[str], str], units: Sequence[str], unit: str
) -> FloatArray:
    """Return a cost for each unit, from a dict, or from values in their order."""
    if not isinstance(values, Mapping):
        return to_costs(values, locate(""), len(units))
    by_name = {str(name): value for name, value in values.items()}
    costs = np.empty(len(units))
    for index, name in enumerate(units):
        if by_name.get(name) is None:
            n_missing = sum(by_name.get(unit_name) is None for unit_name in units)
            others = f" (nor have {n_missing - 1} more)" if n_missing > 1 else ""
            raise InputError(
                f"{locate(name)}: {unit} {name!r} has no cost{others}, expected one for every "
                f"{unit}"
            )
        value = _to_float_or_none(by_name[name])
        number = np.nan if value is None else value
        if not 0 <= number < np.inf:
            raise InputError(
                f"{locate(name)}: the cost of {unit} {name!r} is {format_value(by_name[name])}, "
                "expected a "
                "number, 0 or more"
            )
        costs[index] = number
    return to_costs(costs, locate(""), len(units))


def _read_cost_file(
    path: str, names: Sequence[str], unit: str
) -> tuple[dict[str, Any], Callable[[str], str], InputOrigin]:
    """Read the costs in a file by topic, with the function that locates a topic, and the origin.

    In a table they are in the column that has the first of these names.
    """
    check_file(path, "a file of costs")
    if is_table(path):
        table = read_topic_table(path)
        columns = table.rows.column_names
        name = next((candidate for candidate in names if candidate in columns), None)
        if name is None:
            raise InputError(
                f"{path}: has the columns {format_names(columns)}; expected one that is called "
                + " or ".join(map(repr, names))
            )
        cells = table.column(name, list(table.row_by_topic)).to_pylist()
        return dict(zip(table.row_by_topic, cells, strict=True)), table.locate, table.origin
    if len(names) == 1:
        raise InputError(
            f"{path}: has a {unit} and its cost per line, but there are several systems; expected "
            "a file for each, or a table (CSV, JSON Lines, Parquet, Feather) with a column for each"
        )
    source = ByteSource.from_input(path)
    costs: dict[str, float] = {}
    lines: dict[str, int] = {}
    for number, topic, value in _read_cost_lines(source, unit):
        if topic in costs:
            raise InputError(
                f"{path}:{number}: {unit} {topic!r} already appears in line {lines[topic]}"
            )
        costs[topic], lines[topic] = value, number
    size, digest = source.digest()
    origin = InputOrigin("cost", path, bytes=size, sha256=digest)
    return costs, lambda topic: f"{path}:{lines[topic]}" if topic in lines else path, origin


def _read_cost_lines(source: ByteSource, unit: str) -> Iterator[tuple[int, str, float]]:
    """Yield number, topic and cost of each line of text."""
    with source.text() as stream:
        for number, line in stream.lines():
            if not line.strip():
                continue
            fields = line.decode("utf-8", "replace").split()
            try:
                topic, value = fields[0], float(fields[-1])
            except ValueError:
                value = float("nan")
            if len(fields) != 2 or not 0 <= value < np.inf:
                raise InputError(
                    f"{source.name}:{number}: is {format_value(' '.join(fields))}, expected a "
                    f"{unit} and its cost, a number of 0 or more"
                )
            yield number, topic, value
