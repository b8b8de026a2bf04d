"""The value of each measure on each unit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.results.written import NAN, FloatArray, clean

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class PerUnit:
    """The value of each measure on each unit, say each topic: ``values[system][measure]``.

    ``possible[system][measure]`` are the low and the high ends of what judging the rest could make
    of them, where that was asked for. ``undefined[system][measure][reason]`` are the places in
    ``ids`` where there is no value for that reason.

    As a table it has a row a value, in full precision: system, unit (``topic``, say), measure,
    value and why there is none, unit by unit as trec_eval -q prints them.

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
    possible: Mapping[str, Mapping[str, tuple[FloatArray, FloatArray]]] = field(
        default_factory=dict
    )
    undefined: Mapping[str, Mapping[str, Mapping[str, Sequence[int]]]] = field(default_factory=dict)

    def columns(self) -> dict[str, list[Any]]:
        """The table by column; a value that is undefined is NaN."""
        out: dict[str, list[Any]] = {
            name: []
            for name in ("system", self.unit.removesuffix("s"), "measure", "value", "undefined")
        }
        systems, units, measures, values, undefined = out.values()
        for system, of in self.values.items():
            systems += [system] * (len(self.ids) * len(of))
            units += [name for name in self.ids for _ in of]
            measures += list(of) * len(self.ids)
            values += _by_unit(of.values())
            why = [self._reasons(system, measure) for measure in of]
            undefined += [of.get(place, "") for place in range(len(self.ids)) for of in why]
        if self.possible:
            nothing = np.full((2, len(self.ids)), NAN)
            for end, name in enumerate(("possible_low", "possible_high")):
                out[name] = [
                    value
                    for system, of in self.values.items()
                    for value in _by_unit(
                        self.possible[system].get(measure, nothing)[end] for measure in of
                    )
                ]
        return out

    def _reasons(self, system: str, measure: str) -> dict[int, str]:
        """Why there is no value, by place; several reasons are joined."""
        out: dict[int, str] = {}
        for reason, places in self.undefined.get(system, {}).get(measure, {}).items():
            for place in places:
                out[place] = f"{out[place]}; {reason}" if place in out else reason
        return out

    def rows(self) -> list[dict[str, Any]]:
        """The table by row."""
        columns = self.columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_arrow(self) -> pa.Table:
        """The table as an Arrow table; an undefined value is null."""
        import pyarrow as pa

        table = pa.table(self.columns())
        for place, column in enumerate(table.schema):
            if pa.types.is_floating(column.type):
                values = pa.array(table.column(place).to_numpy(), from_pandas=True)
                table = table.set_column(place, column.name, values)
        return table

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame; ``polars.DataFrame(per_unit.to_arrow())`` for polars."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.columns())
        return frame

    def to_csv(self) -> str:
        """The table as CSV, undefined values empty."""
        from calipers.report.text import csv_text

        return csv_text(self.rows())

    def to_json(self) -> str:
        """The table as a JSON list of objects, a row a line, undefined values ``null``."""
        lines = (json.dumps(clean(row), ensure_ascii=False) for row in self.rows())
        return "[\n" + ",\n".join(lines) + "\n]"


def _by_unit(columns: Iterable[FloatArray]) -> list[float]:
    """The values of the first unit, one of each column, then those of the second, and so on."""
    values: list[float] = np.array(list(columns), np.float64).T.ravel().tolist()
    return values
