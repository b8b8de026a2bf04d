"""Tables of thresholds of scores, with the measures at each threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, SupportsIndex, overload

from calipers.lazy_dataclasses import dataclass
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
    """Measures of one system at each of several thresholds.

    Scores at or above a threshold are predicted positive.

    Attributes
    ----------
    system : str
        Name of the system.
    thresholds : ndarray of shape (K,)
        Thresholds.
    counts : mapping of str to ndarray of shape (K,)
        Number of rows (or their total weight) in the cells ``"TP"``, ``"FP"``, ``"FN"`` and
        ``"TN"``.
    values, low, high : mapping of str to ndarray of shape (K,)
        Values and confidence limits, by measure; NaN where there is no value or no interval.
    methods : mapping of str to str
        Method of the intervals, by measure.
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
        """Number of rows (or their total weight) with a score at or above each threshold."""
        return self.counts["TP"] + self.counts["FP"]

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield columns of the wrong length, and limits of other measures than ``values``.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"values.recall"``.
        problem : str
            What is wrong with the value of the field.
        """
        for field_name in ("counts", "values", "low", "high"):
            for name, column in getattr(self, field_name).items():
                if len(column) != len(self.thresholds):
                    expected = f"expected {len(self.thresholds)} numbers"
                    yield f"{field_name}.{name}", f"{expected}, found {len(column)}"
        yield from unknown_names({"counts": _CELLS}, self.counts, "cell")
        for end in ("low", "high"):
            if getattr(self, end).keys() != self.values.keys():
                yield end, f"expected the measures of values: {', '.join(self.values)}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ThresholdTables(JsonSerializable, TidyResult):
    """Tables of thresholds of several systems, with every measure and its interval at each.

    The intervals hold for each threshold separately.

    Attributes
    ----------
    tables : tuple of ThresholdTable
        Tables of the systems.
    level : float, default=0.95
        Confidence level.
    requested_names : mapping of str to str
        Display names, such as PPV, of measures that were requested by another name than the
        canonical one.
    notes : tuple of str
        Notes about the computation.

    Examples
    --------
    >>> import calipers as cal
    >>> truth, score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    >>> tables = cal.threshold_table(truth, score, thresholds=[0.35], measures=["sensitivity"])
    >>> tables.rows()[0]["sensitivity"], tables.rows()[0]["above"]
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
        """Return the table of a system, or index the tables as a list."""
        if not isinstance(key, str):
            return get_item(self.tables, key, "a system, or an index")
        return find_system(self.tables, key)

    @property
    def measures(self) -> tuple[str, ...]:
        """Canonical names of the measures."""
        return tuple(self.tables[0].values) if self.tables else ()

    def display_name(self, measure: str) -> str:
        """Return the display name of a measure.

        Parameters
        ----------
        measure : str
            Canonical name of the measure.

        Returns
        -------
        str
            Name by which the measure was requested.
        """
        return self.requested_names.get(measure, measure)

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        measures = (self.display_name(name) for name in self.measures)
        value_columns = (f"{name}{suffix}" for name in measures for suffix in ("", " low", " high"))
        return column_types(("system", "cutoff", "above", *_CELLS, *value_columns))

    def rows(self) -> list[dict[str, Any]]:
        """Return tidy rows, one for each threshold of each system.

        Returns
        -------
        list of dict
            Columns of a row: ``system``, the threshold (``cutoff``), the number of rows at or above
            it (``above``), the counts ``TP`` to ``TN``, and each measure by its display name,
            followed by its limits ``… low`` and ``… high``.
        """
        return [row for table in self.tables for row in self._table_rows(table)]

    def _table_rows(self, table: ThresholdTable) -> list[dict[str, Any]]:
        columns: dict[str, FloatArray] = {"cutoff": table.thresholds, "above": table.above}
        columns |= {name: table.counts[name] for name in _CELLS}
        for name, values in table.values.items():
            display_name = self.display_name(name)
            columns |= {display_name: values, f"{display_name} low": table.low[name]}
            columns[f"{display_name} high"] = table.high[name]
        return [
            {"system": table.system, **{name: float(column[i]) for name, column in columns.items()}}
            for i in range(len(table.thresholds))
        ]

    def to_markdown(self) -> str:
        """Return a Markdown table for each system.

        Returns
        -------
        str
            The Markdown text.
        """
        return self.to_format("markdown")

    def to_latex(self) -> str:
        """Return a LaTeX table (booktabs) for each system.

        Returns
        -------
        str
            The LaTeX source.
        """
        return self.to_format("latex")
