"""Values of each measure on each unit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.lazy_dataclasses import dataclass
from calipers.results.schema_1 import rename_parameters
from calipers.results.serialization import (
    BRIEF,
    NAN,
    Count,
    FloatArray,
    JsonSerializable,
    codec_for,
    dump_json,
    duplicate_names,
    input_error,
    load_json,
    unexpected_value_error,
)
from calipers.results.tidy import NUMBER, TEXT, TidyResult

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PerUnit(JsonSerializable, TidyResult):
    """Values of each measure on each unit, for example on each topic.

    As a table it has a row for each value, in full precision: system, unit (for example ``topic``),
    measure, value, and the reason if it is undefined; unit by unit, as trec_eval -q prints them.

    Attributes
    ----------
    unit : str
        What the units are, in the plural.
    ids : tuple of str
        Identifiers of the units.
    values : mapping of str to mapping of str to ndarray
        ``values[system][measure]`` are the values on the units.
    bounds : mapping of str to mapping of str to tuple of ndarray
        ``bounds[system][measure]`` are the lower and upper bounds of the values over all possible
        judgments of the unjudged documents, if they were requested.
    undefined : mapping
        ``undefined[system][measure][reason]`` are the indices into ``ids`` of the units whose value
        is undefined for this reason.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0}}
    >>> run = {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 1.0}}
    >>> print(cal.retrieval(qrels, run, measures=["AP"]).per_unit.to_csv())
    system,topic,measure,value,undefined
    run,1,AP,0.5,
    run,2,AP,,no_relevant
    <BLANKLINE>
    """

    unit: str
    ids: tuple[str, ...]
    values: Mapping[str, Mapping[str, FloatArray]]
    bounds: Mapping[str, Mapping[str, tuple[FloatArray, FloatArray]]] = field(
        default_factory=dict, metadata=BRIEF
    )
    undefined: Mapping[str, Mapping[str, Mapping[str, Sequence[Count]]]] = field(
        default_factory=dict
    )

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the table by column; undefined values are NaN.

        Returns
        -------
        dict of str to list
            Columns by name: ``system``, the unit (such as ``topic``), ``measure``, ``value``,
            ``undefined``; and ``lower_bound`` and ``upper_bound``, if bounds were requested.
        """
        out: dict[str, list[Any]] = {name: [] for name in self.kinds()}
        systems, units, measures, values, undefined, *_ = out.values()
        for system, entries in self.values.items():
            systems += [system] * (len(self.ids) * len(entries))
            units += [name for name in self.ids for _ in entries]
            measures += list(entries) * len(self.ids)
            values += _interleave_units(entries.values())
            reason_columns = [self._reasons(system, measure) for measure in entries]
            undefined += [
                entries.get(index, "")
                for index in range(len(self.ids))
                for entries in reason_columns
            ]
        if self.bounds:
            undefined_bounds = np.full((2, len(self.ids)), NAN)
            for end, name in enumerate(("lower_bound", "upper_bound")):
                out[name] = [
                    value
                    for system, entries in self.values.items()
                    for value in _interleave_units(
                        self.bounds[system].get(measure, undefined_bounds)[end]
                        for measure in entries
                    )
                ]
        return out

    def _reasons(self, system: str, measure: str) -> dict[int, str]:
        """Return the reasons for undefined values by unit index; several reasons are joined."""
        out: dict[int, str] = {}
        for reason, indices in self.undefined.get(system, {}).get(measure, {}).items():
            for index in indices:
                out[index] = f"{out[index]}; {reason}" if index in out else reason
        return out

    def rows(self) -> list[dict[str, Any]]:
        """Return the table by row.

        Returns
        -------
        list of dict
            Rows with the columns of :meth:`columns`.
        """
        columns = self.to_columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def kinds(self) -> dict[str, str]:
        """Return the columns of the table and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        unit = self.unit.removesuffix("s")
        type_by_column = {
            "system": TEXT,
            unit: TEXT,
            "measure": TEXT,
            "value": NUMBER,
            "undefined": TEXT,
        }
        return type_by_column | (dict.fromkeys(_BOUND_FIELDS, NUMBER) if self.bounds else {})

    def columns_of_rows(self) -> dict[str, list[Any]]:
        """Return the table by column.

        Returns
        -------
        dict of str to list
            Columns as in :meth:`columns`.
        """
        return self.to_columns()

    def to_json(self, *, details: bool = False) -> str:
        """Return the table as JSON.

        Parameters
        ----------
        details : bool, default=False
            If true, return the object that an evaluation has in its JSON. By default return a list
            of objects, with one table row on each line and ``null`` for undefined values.

        Returns
        -------
        str
            The JSON text.
        """
        if details:
            return dump_json(self.to_dict())
        form = codec_for(Any)
        lines = (
            json.dumps(form.to_plain(row, details=False), ensure_ascii=False) for row in self.rows()
        )
        return "[\n" + ",\n".join(lines) + "\n]"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote, in either form.

        Parameters
        ----------
        text : str or bytes
            JSON text, as UTF-8 if it is bytes.

        Returns
        -------
        PerUnit
            The values.

        Raises
        ------
        InputError
            If the text is not JSON, or does not have one of the two forms.
        """
        data = load_json(text)
        return cls.from_rows(data) if isinstance(data, list) else cls.from_dict(data)

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """Read the rows that :meth:`rows` returns, in any order.

        Parameters
        ----------
        rows : sequence of mapping
            Rows of the table.

        Returns
        -------
        PerUnit
            The values.

        Raises
        ------
        InputError
            If a row is missing, duplicate or invalid, or if there is not exactly one column of unit
            identifiers.
        """
        row_by_key, unit = _index_rows(rows)
        ids = tuple(dict.fromkeys(key[1] for key in row_by_key))
        names = dict.fromkeys((key[0], key[2]) for key in row_by_key)
        for system, measure in names:
            for name in ids:
                if (system, name, measure) not in row_by_key:
                    raise input_error(
                        "", f"there is no row of {system!r}, {name!r} and {measure!r}"
                    )
        columns = {pair: [row_by_key[pair[0], name, pair[1]] for name in ids] for pair in names}

        def nest_columns(make: Callable[[list[PerUnitRow]], Any]) -> dict[str, dict[str, Any]]:
            out: dict[str, dict[str, Any]] = {}
            for (system, measure), cells in columns.items():
                out.setdefault(system, {})[measure] = make(cells)
            return out

        def column_reader(name: str) -> Callable[[list[PerUnitRow]], FloatArray]:
            return lambda cells: np.array([getattr(cell, name) for cell in cells], np.float64)

        def reason_indices(cells: list[PerUnitRow]) -> dict[str, tuple[int, ...]]:
            names = dict.fromkeys(reason for cell in cells for reason in cell.reasons)
            return {
                reason: tuple(i for i, cell in enumerate(cells) if reason in cell.reasons)
                for reason in names
            }

        low, high = (column_reader(name) for name in _BOUND_FIELDS)
        has_bounds = any(name in row for row in rows for name in _BOUND_FIELDS)
        return cls(
            f"{unit}s",
            ids,
            nest_columns(column_reader("value")),
            nest_columns(lambda cells: (low(cells), high(cells))) if has_bounds else {},
            nest_columns(reason_indices),
        )

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield columns of the wrong length, and entries that have no column in ``values``.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"values.forest.AP"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from duplicate_names(self.ids, "ids")
        size = len(self.ids)
        columns = {
            f"values.{system}.{measure}": column
            for system, entries in self.values.items()
            for measure, column in entries.items()
        } | {
            f"bounds.{system}.{measure}[{end}]": column
            for system, bounds_by_measure in self.bounds.items()
            for measure, limits in bounds_by_measure.items()
            for end, column in enumerate(limits)
        }
        for name, column in columns.items():
            if len(column) != size:
                yield name, f"expected {size} numbers, one for each of ids, found {len(column)}"
        for name, by_system in (("bounds", self.bounds), ("undefined", self.undefined)):
            for system, by_measure in by_system.items():
                for measure in by_measure:
                    if measure not in self.values.get(system, {}):
                        yield f"{name}.{system}.{measure}", "there is no such column in values"
        for system in self.values if self.bounds else ():
            if system not in self.bounds:
                yield f"bounds.{system}", "is missing"
        for system, reasons in self.undefined.items():
            for measure, indices_by_reason in reasons.items():
                for reason, entries in indices_by_reason.items():
                    if max(entries, default=0) >= max(size, 1):
                        yield (
                            f"undefined.{system}.{measure}.{reason}",
                            f"there are {size} units only",
                        )


_BOUND_FIELDS = ("lower_bound", "upper_bound")


@dataclass(frozen=True)
class PerUnitRow:
    """Row of the table of values: one measure of one system on one unit.

    One more key names the unit, for example ``topic``.
    """

    system: str
    measure: str
    value: float
    undefined: str = ""
    lower_bound: float = NAN
    upper_bound: float = NAN

    @property
    def reasons(self) -> list[str]:
        """Reasons why the value is undefined."""
        return [reason for reason in self.undefined.split("; ") if reason]


def _index_rows(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[dict[tuple[str, str, str], PerUnitRow], str]:
    """Return the rows by system, unit and measure, and the name of the column of units."""
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise unexpected_value_error(f"[{i}]", "an object", row)
    # A list of rows does not state its schema; names of schema 1 are not names of units.
    codec = codec_for(PerUnitRow)
    rows = [rename_parameters(codec.upgrade(row)) for row in rows]
    field_names = {f.name for f in fields(PerUnitRow)}
    columns = dict.fromkeys(name for row in rows for name in row)
    others = [name for name in columns if name not in field_names]
    if len(others) != 1:
        raise input_error(
            "", f"expected one column that names the units, found {', '.join(others) or 'none'}"
        )
    out: dict[tuple[str, str, str], PerUnitRow] = {}
    for i, row in enumerate(rows):
        row_fields = {name: value for name, value in row.items() if name in field_names}
        cell: PerUnitRow = codec.read(row_fields, f"[{i}]")
        if others[0] not in row:
            raise input_error(f"[{i}].{others[0]}", "is missing")
        key = (cell.system, codec_for(str).read(row[others[0]], f"[{i}].{others[0]}"), cell.measure)
        if key in out:
            raise input_error(f"[{i}]", f"a second row of {key[0]!r}, {key[1]!r} and {key[2]!r}")
        out[key] = cell
    return out, others[0]


def _interleave_units(columns: Iterable[FloatArray]) -> list[float]:
    """Return the values of the first unit in every column, then those of the second, and so on."""
    values: list[float] = np.array(list(columns), np.float64).T.ravel().tolist()
    return values
