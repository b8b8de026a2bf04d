"""Pareto fronts of quality and cost: the systems that no other system dominates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, SupportsIndex, overload

from calipers.lazy_dataclasses import dataclass
from calipers.results.serialization import (
    JsonSerializable,
    Level,
    duplicate_names,
    find_system,
    get_item,
    unknown_names,
)
from calipers.results.tidy import TidyResult, column_types


@dataclass(frozen=True, slots=True)
class ParetoRow(JsonSerializable):
    """Quality and cost of one system, with intervals, and the systems that dominate it.

    A system is on the front unless another system is at least as good by both, and better by one of
    them.

    Attributes
    ----------
    system : str
        Name of the system.
    quality, quality_low, quality_high : float
        Quality and its confidence limits.
    cost, cost_low, cost_high : float
        Cost and its confidence limits.
    on_front : bool
        Whether the system is on the front.
    dominated_by : tuple of str
        Systems on the front that dominate this one by their point estimates.
    significantly_dominated_by : tuple of str
        Systems, on the front or not, that are significantly better by both quality and cost.
    """

    system: str
    quality: float
    quality_low: float
    quality_high: float
    cost: float
    cost_low: float
    cost_high: float
    on_front: bool
    dominated_by: tuple[str, ...] = ()
    significantly_dominated_by: tuple[str, ...] = ()


_NUMBERS = ("quality", "quality_low", "quality_high", "cost", "cost_low", "cost_high")
_COLUMNS = (
    "system",
    "measure",
    "cost_measure",
    *_NUMBERS,
    "front",
    "dominated_by",
    "significantly_dominated_by",
)


@dataclass(frozen=True, slots=True, repr=False)
class ParetoFront(JsonSerializable, TidyResult):
    """Pareto front of systems by a measure of quality and a measure of cost.

    The front consists of the systems that no other system dominates.

    Attributes
    ----------
    measure : str
        Measure of quality.
    cost_measure : str
        Measure of cost.
    all : tuple of ParetoRow
        All systems, on the front or not.
    higher_is_better : bool, default=True
        Direction of the measure of quality.
    level : float, default=0.95
        Confidence level.

    Examples
    --------
    >>> import calipers as cal
    >>> predicted = {"old": [0, 1, 0, 0], "new": [0, 1, 1, 0], "slow": [0, 1, 1, 0]}
    >>> price = {"price": {"old": 1.0, "new": 2.0, "slow": 5.0}}
    >>> ev = cal.classification([0, 1, 1, 0], predicted, measures=["accuracy"], cost=price)
    >>> front = ev.pareto_fronts[0]
    >>> front.systems, front["slow"].dominated_by
    (('old', 'new'), ('new',))
    """

    measure: str
    cost_measure: str
    all: tuple[ParetoRow, ...] = field(metadata={"as": "rows"})
    higher_is_better: bool = True
    level: Level = 0.95

    def __iter__(self) -> Iterator[ParetoRow]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> ParetoRow: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[ParetoRow, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> ParetoRow | tuple[ParetoRow, ...]:
        if not isinstance(key, str):
            return get_item(self.all, key, "a system, or an index")
        return find_system(self.all, key)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems on the front, the cheapest first."""
        front_rows = sorted((row for row in self.all if row.on_front), key=lambda row: row.cost)
        return tuple(row.system for row in front_rows)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield duplicate systems, and dominating systems that have no row.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"rows[0].dominated_by"``.
        problem : str
            What is wrong with the value of the field.
        """
        systems = [row.system for row in self.all]
        yield from duplicate_names(systems, "rows")
        names_by_path = {
            f"rows[{i}].{name}": getattr(row, name)
            for i, row in enumerate(self.all)
            for name in ("dominated_by", "significantly_dominated_by")
        }
        yield from unknown_names(names_by_path, systems)

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        return column_types(_COLUMNS)

    def rows(self) -> list[dict[str, Any]]:
        """Return the systems as tidy rows, one row for each.

        Returns
        -------
        list of dict
            Fields of each :class:`ParetoRow` by column, with both measures. ``front`` is 1 if the
            system is on the front, else 0; the names of several systems are joined by semicolons.
        """
        return [
            {
                "system": row.system,
                "measure": self.measure,
                "cost_measure": self.cost_measure,
                **{name: getattr(row, name) for name in _NUMBERS},
                "front": int(row.on_front),
                "dominated_by": "; ".join(row.dominated_by),
                "significantly_dominated_by": "; ".join(row.significantly_dominated_by),
            }
            for row in self.all
        ]
