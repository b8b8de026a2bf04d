"""Externally computed values per unit: tables, and the output of trec_eval -q."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calipers.data import tables
from calipers.data.arrays import MAX_QUANTITY, is_missing, missing_mask, take_rows, to_array
from calipers.data.byte_sources import ByteSource
from calipers.data.categories import Category
from calipers.data.errors import InputError, format_value
from calipers.data.trec import InputOrigin, run_name
from calipers.lazy_dataclasses import dataclass

Array = np.ndarray[Any, np.dtype[np.float64]]

#: Accepted names of the columns of a tidy table, in lower case; of several units the first counts.
SYSTEM = ("system", "run", "model", "name", "tag")
UNIT = ("topic", "unit", "query", "query_id", "qid", "id", "dataset", "split", "fold")
MEASURE = ("measure", "metric")
VALUE = ("value", "score")
REPETITION = ("repetition", "repeat")

#: The unit that trec_eval calls the average over all topics.
_AVERAGE_UNIT = "all"


@dataclass(frozen=True)
class ExternalValues:
    """Value of each measure on each unit for each system, as ``values[system][measure]``.

    Values are in the order of ``units``, NaN if missing. ``repetition`` is the repetition of each
    unit if units are splits and this is known.
    """

    units: tuple[str, ...]
    values: Mapping[str, Mapping[str, Array]]
    origins: tuple[InputOrigin, ...] = ()
    repetition: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, which are the same for all systems."""
        return tuple(next(iter(self.values.values())))


class ValueRow(NamedTuple):
    """One value, with its location in the input."""

    location: str
    system: str
    unit: str
    measure: str
    value: Any
    repetition: str = ""


def read_values(
    source: Any,
    measure: str = "value",
    *,
    repetition_names: Sequence[str] = (),
    unit: str = "topics",
) -> ExternalValues:
    """Read values from any supported container.

    A tidy table (a data frame, a dict of columns, or a path) has one row per value, with columns
    for system, unit, value and, unless all rows belong to one ``measure``, measure; if units are
    splits that may be repeated, a column with one of the names in ``repetition_names`` is used too.
    A dict by system holds for each either values in the order of the units, a dict from units to
    values, or a path: a tidy table of its own, or the output of trec_eval -q. Systems in a list of
    paths have the names of the files. The column of units may have the name of the units:
    "utterance" if ``unit`` is "utterances".
    """
    units = _unit_names(unit)
    if isinstance(source, str | os.PathLike):
        source = [source]
    if isinstance(source, list | tuple) and all(isinstance(p, str | os.PathLike) for p in source):
        source = files_by_name(source)
    if not isinstance(source, Mapping) or _is_tidy(source):
        table = _table(source)
        return _collect(
            _read_tidy_rows("values", table, None, measure, units, repeated=repetition_names)
        )
    if not source:
        raise InputError("values: an empty dict, expected at least one system")
    systems = {str(name): system_values for name, system_values in source.items()}
    forms = {_values_form(system_values) for system_values in systems.values()}
    if len(forms) > 1:
        raise InputError(
            f"values: systems are given as {' and as '.join(sorted(forms))}; expected one of these"
        )
    if forms == {"files"}:
        sources = {name: ByteSource.from_input(path) for name, path in systems.items()}
        rows = [
            row
            for name, byte_source in sources.items()
            for row in _read_file(name, byte_source, measure, units, repeated=repetition_names)
        ]
        return _collect(rows, tuple(map(_origin, sources.values())))
    if forms == {"dicts"}:
        return _collect(
            ValueRow(f"values of {name!r}, unit {unit!r}", name, _unit_label(unit), measure, value)
            for name, system_values in systems.items()
            for unit, value in system_values.items()
        )
    return _align_units(systems, measure)


def _unit_names(unit: str) -> tuple[str, ...]:
    """Return the accepted names of the column of units."""
    unit_names = unit.lower().removesuffix("s"), unit.lower()
    if not unit_names[0] or unit_names[0] in (*UNIT, *SYSTEM, *MEASURE, *VALUE, *REPETITION):
        return UNIT
    return (*dict.fromkeys(unit_names), *UNIT)


def files_by_name(paths: Sequence[str | os.PathLike[str]]) -> dict[str, Any]:
    """Return the files of systems by the names of the files."""
    if not paths:
        raise InputError("values: an empty list, expected at least one file")
    path_by_name = {run_name(path): path for path in paths}
    if len(path_by_name) < len(paths):
        raise InputError(
            "values: two files have one name; give a dict from names to files (NAME=FILE for the "
            "command)"
        )
    return path_by_name


def _is_tidy(columns: Mapping[Any, Any]) -> bool:
    """Return whether a dict is a tidy table; a system alone may well be called "model"."""
    names = {str(name).lower() for name in columns}
    return bool(names & set(SYSTEM)) and bool(names & set(VALUE))


def _table(source: Any) -> Any:
    try:
        return tables.to_arrow(source)
    except InputError:
        if isinstance(source, Mapping):
            raise
        raise InputError(
            f"values: {type(source).__name__} has no values; expected a dict from systems to "
            "values, a data frame or dict of columns, or files"
        ) from None


def _values_form(values: Any) -> str:
    """Return in which form the values of one system are given."""
    if isinstance(values, str | os.PathLike):
        return "files"
    return "dicts" if isinstance(values, Mapping) else "columns"


def _align_units(systems: Mapping[str, Any], measure: str) -> ExternalValues:
    """Combine columns of values in one order of units, which are named by their numbers."""
    columns = {name: _numbers(values, f"values of {name!r}") for name, values in systems.items()}
    first, expected = next((name, len(column)) for name, column in columns.items())
    for name, column in columns.items():
        if len(column) != expected:
            raise InputError(
                f"values of {name!r}: has {len(column)} units, {first!r} has {expected}; give a "
                "dict from units to values where they differ"
            )
    units = tuple(str(index + 1) for index in range(expected))
    return ExternalValues(units, {name: {measure: column} for name, column in columns.items()})


def _read_file(
    system: str,
    source: ByteSource,
    measure: str,
    units: Sequence[str],
    *,
    repeated: Sequence[str],
) -> list[ValueRow]:
    """Read the rows of a file or a pipe."""
    if tables.is_table(source.name) if source.is_file else _has_table(source):
        column_names = {*SYSTEM, *MEASURE, *units, *repeated}
        table = tables.read_table(
            source,
            categories=lambda names: {n: Category() for n in names if n.lower() in column_names},
        )
        return _read_tidy_rows(source.name, table, system, measure, units, repeated=repeated)
    return _read_trec_output(source, system)


def _has_table(source: ByteSource) -> bool:
    """Return whether a pipe has a table, and not what trec_eval prints, which has no heading."""
    if source.is_empty or source.infer_extension() not in (".csv", ".tsv"):
        return True
    with source.text() as text:
        _, heading = next(text.lines())
    return bool(
        {name.strip(' "').lower() for name in re.split("[,\t]", heading.decode())} & {*VALUE}
    )


def _read_tidy_rows(
    input_name: str,
    table: Any,
    system: str | None,
    measure: str,
    units: Sequence[str],
    *,
    repeated: Sequence[str],
) -> list[ValueRow]:
    """Read the rows of a tidy table; ``system`` is the default, the name of the file."""
    locations = [f"{input_name}, row {row + 1}" for row in range(table.num_rows)]

    def column(names: Sequence[str]) -> list[Any] | None:
        name = _column_name(table.column_names, names, input_name)
        return None if name is None else tables.combine_chunks(table.column(name)).to_pylist()

    def labels(names: Sequence[str], default: str | None) -> list[str]:
        cells = column(names)
        if cells is None and default is None:
            raise _missing_column_error(input_name, table, names)
        if cells is None:
            return [str(default)] * len(locations)
        for location, value in zip(locations, cells, strict=True):
            if value is None or value != value:
                raise InputError(f"{location}: has no {names[0]}")
        return [_unit_label(value) for value in cells]

    values, default_repetition = column(VALUE), "" if tuple(repeated) in ((), REPETITION) else None
    if values is None:
        raise _missing_column_error(input_name, table, VALUE)
    return list(
        map(
            ValueRow,
            locations,
            labels(SYSTEM, system),
            labels(units, None),
            labels(MEASURE, measure),
            values,
            labels(repeated, default_repetition),
        )
    )


def _column_name(names: Sequence[str], accepted: Sequence[str], input_name: str) -> str | None:
    """Return the column that has one of the names of its kind."""
    matches = sorted(
        (n for n in names if n.lower() in accepted), key=lambda n: accepted.index(n.lower())
    )
    if len(matches) > 1 and UNIT[0] not in accepted:
        raise InputError(
            f"{input_name}: the columns {' and '.join(matches)} may both be the {accepted[0]}; "
            "leave one out"
        )
    return matches[0] if matches else None


def _missing_column_error(input_name: str, table: Any, accepted: Sequence[str]) -> InputError:
    kind = "unit" if UNIT[0] in accepted else accepted[0]
    return InputError(
        f"{input_name}: no column for the {kind}; the table has {', '.join(table.column_names)}, "
        f"expected one of {', '.join(accepted)}"
    )


def _read_trec_output(source: ByteSource, system: str) -> list[ValueRow]:
    """Read the output of trec_eval -q, a measure, topic and value per line, without averages."""
    path = source.name
    if source.is_file:
        tables.check_file(path, "a table, or what trec_eval -q printed")
    rows: list[ValueRow] = []
    with tables.read_errors(path, "text"), source.text() as text:
        for number, raw in text.lines():
            line = raw.decode()
            fields = line.split()
            if not fields or (len(fields) >= 2 and fields[1] == _AVERAGE_UNIT):
                continue
            if len(fields) != 3:
                raise InputError(
                    f"{path}:{number}: {format_value(line.strip())} has {len(fields)} fields, "
                    "expected measure, topic and value as trec_eval -q prints them"
                )
            rows.append(ValueRow(f"{path}:{number}", system, fields[1], fields[0], fields[2]))
    if not rows:
        raise InputError(f"{path}: no values of single topics; trec_eval prints them with -q")
    return rows


def _collect(rows: Iterable[ValueRow], origins: tuple[InputOrigin, ...] = ()) -> ExternalValues:
    """Arrange rows by system and measure, all in one order of units.

    A duplicate is an error.
    """
    units: dict[tuple[str, str], int] = {}
    cells: dict[str, dict[str, dict[tuple[str, str], tuple[float, str]]]] = {}
    for row in rows:
        unit = (row.repetition, row.unit)
        units.setdefault(unit, len(units))
        entries = cells.setdefault(row.system, {}).setdefault(row.measure, {})
        if unit in entries:
            raise InputError(
                f"{row.location}: {row.measure} of {row.system!r} on {_unit(unit)!r} is given "
                f"twice; the first is {entries[unit][1]}"
            )
        entries[unit] = _number(row.value, row.location), row.location
    if not units:
        raise InputError("values: there are none")
    measures = tuple(dict.fromkeys(measure for entries in cells.values() for measure in entries))
    for system, columns in cells.items():
        _check_complete(system, columns, measures, list(units))
    return ExternalValues(
        tuple(map(_unit, units)),
        {
            system: {
                m: np.array([columns[m][unit][0] for unit in units], np.float64) for m in measures
            }
            for system, columns in cells.items()
        },
        origins,
        tuple(repetition for repetition, _ in units) if any(r for r, _ in units) else (),
    )


def _check_complete(
    system: str,
    columns: Mapping[str, Mapping[tuple[str, str], Any]],
    measures: Sequence[str],
    units: Sequence[tuple[str, str]],
) -> None:
    """Check that a system has every measure on every unit."""
    for measure in measures:
        if measure not in columns:
            raise InputError(f"{system!r} has no values of {measure}, other systems do")
        missing = [_unit(unit) for unit in units if unit not in columns[measure]]
        if missing:
            examples = ", ".join(map(repr, missing[:3])) + (", …" if len(missing) > 3 else "")
            raise InputError(
                f"{system!r} has no {measure} on {len(missing)} of {len(units)} units "
                f"({examples}); expected one on each, or an empty one if it is missing"
            )


def _unit(unit: tuple[str, str]) -> str:
    """Return the name of a unit, with that of its repetition if there is one."""
    return "/".join(component for component in unit if component) if unit[0] else unit[1]


def _unit_label(name: Any) -> str:
    """Convert a name to text; whole numbers are the same with and without a decimal point."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _number(value: Any, location: str) -> float:
    if is_missing(value) or (isinstance(value, str) and not value):
        return float("nan")
    try:
        number = float("" if isinstance(value, str) and "_" in value else value)
    except (TypeError, ValueError):
        raise InputError(
            f"{location}: the value is {format_value(value)}, expected a number"
        ) from None
    if abs(number) > MAX_QUANTITY:
        raise InputError(
            f"{location}: the value is {format_value(value)}, expected a finite number, no larger "
            f"than {MAX_QUANTITY:g}"
        )
    return number


def _numbers(values: Any, input_name: str) -> Array:
    """Convert a column to numbers, with NaN for missing values."""
    missing = missing_mask(values, input_name)
    numbers = np.full(len(missing), np.nan)
    if len(missing) and missing.all():
        return numbers
    present_indices = np.flatnonzero(~missing)
    cells = to_array(take_rows(values, present_indices), input_name)
    if cells.dtype.kind in "biuf":
        numbers[present_indices] = cells
        if not np.nanmax(np.abs(numbers)) > MAX_QUANTITY:
            return numbers
    numbers[present_indices] = [
        _number(value, f"{input_name}, unit {index + 1}")
        for index, value in zip(present_indices, cells.tolist(), strict=True)
    ]
    return numbers


def _origin(source: ByteSource) -> InputOrigin:
    size, digest = source.digest()
    return InputOrigin("values", source.name, bytes=size, sha256=digest)
