"""Thresholds of scores, and what each of them would be worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, overload

from calipers.results.serialization import (
    BRIEF,
    FloatArray,
    JsonSerializable,
    Level,
    find_system,
    get_item,
    unknown_names,
)
from calipers.results.tidy import TidyResult, column_types

_CELLS = ("TP", "FP", "FN", "TN")


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdTable(JsonSerializable):
    """What one system would be worth at each of some thresholds; scores at or above are positive.

    ``counts`` are the rows (or their weight) in the four cells, an entry a threshold; ``values``,
    ``low`` and ``high`` are by measure, NaN where there is no value or no interval, and ``methods``
    name their intervals.
    """

    system: str
    thresholds: FloatArray
    counts: Mapping[str, FloatArray]
    values: Mapping[str, FloatArray]
    low: Mapping[str, FloatArray]
    high: Mapping[str, FloatArray]
    methods: Mapping[str, str] = field(default_factory=dict)

    @property
    def above(self) -> FloatArray:
        """How many rows (or how much weight) lie at or above each."""
        return self.counts["TP"] + self.counts["FP"]

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Not one number for each threshold, or measures without limits."""
        for of in ("counts", "values", "low", "high"):
            for name, column in getattr(self, of).items():
                if len(column) != len(self.thresholds):
                    expected = f"expected {len(self.thresholds)} numbers"
                    yield f"{of}.{name}", f"{expected}, found {len(column)}"
        yield from unknown_names({"counts": _CELLS}, self.counts, "cell")
        for end in ("low", "high"):
            if getattr(self, end).keys() != self.values.keys():
                yield end, f"expected the measures of values: {', '.join(self.values)}"


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdTables(JsonSerializable, TidyResult):
    """Thresholds of the scores of systems, and every measure at each, with its interval.

    Intervals are of each threshold alone. ``asked`` are the names of measures that people are to
    see, such as PPV, where those are not the canonical ones.

    Examples
    --------
    >>> import calipers as cal
    >>> truth, score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> made = cal.threshold_table(truth, score, at=[0.35], measures=["sensitivity"])
    >>> made.rows()[0]["sensitivity"], made.rows()[0]["above"]
    (1.0, 3.0)
    """

    tables: tuple[ThresholdTable, ...]
    level: Level = 0.95
    requested_names: Mapping[str, str] = field(default_factory=dict, metadata=BRIEF)
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ThresholdTable]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> ThresholdTable: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[ThresholdTable, ...]: ...
    def __getitem__(
        self, key: str | SupportsIndex | slice
    ) -> ThresholdTable | tuple[ThresholdTable, ...]:
        """The table of a system, or as in a list of all tables, ``cutoffs[0]``."""
        if not isinstance(key, str):
            return get_item(self.tables, key, "a system, or an index")
        return find_system(self.tables, key)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, by their canonical names."""
        return tuple(self.tables[0].values) if self.tables else ()

    def name_of(self, measure: str) -> str:
        """What people are to see a measure called."""
        return self.requested_names.get(measure, measure)

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        measures = (self.name_of(name) for name in self.measures)
        ends = (f"{name}{end}" for name in measures for end in ("", " low", " high"))
        return column_types(("system", "cutoff", "above", *_CELLS, *ends))

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one threshold of one system each."""
        return [row for table in self.tables for row in self._rows_of(table)]

    def _rows_of(self, table: ThresholdTable) -> list[dict[str, Any]]:
        columns: dict[str, FloatArray] = {"cutoff": table.thresholds, "above": table.above}
        columns |= {name: table.counts[name] for name in _CELLS}
        for name, values in table.values.items():
            shown = self.name_of(name)
            columns |= {shown: values, f"{shown} low": table.low[name]}
            columns[f"{shown} high"] = table.high[name]
        return [
            {"system": table.system, **{name: float(of[i]) for name, of in columns.items()}}
            for i in range(len(table.thresholds))
        ]

    def to_markdown(self) -> str:
        """A Markdown table a system."""
        return self.to_format("markdown")

    def to_latex(self) -> str:
        """A LaTeX table (booktabs) a system."""
        return self.to_format("latex")

    def __str__(self) -> str:
        return self.to_format("table")
