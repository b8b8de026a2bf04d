"""Quality against cost: which systems no other one beats at both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, overload

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
    """One system by its quality and its cost, each with its interval.

    It is on the front unless another system is at least as good by both, and better by one of
    them; ``dominated_by`` are those on the front that are. Values vary, though: ``surely`` are the
    systems, on the front or not, that tests find to be better by both.
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


@dataclass(frozen=True, slots=True)
class ParetoFront(JsonSerializable, TidyResult):
    """The Pareto front of some systems by a measure of quality and one of cost: the systems that
    no other one beats at both.

    Examples
    --------
    >>> import calipers as cal
    >>> said = {"old": [0, 1, 0, 0], "new": [0, 1, 1, 0], "slow": [0, 1, 1, 0]}
    >>> price = {"price": {"old": 1.0, "new": 2.0, "slow": 5.0}}
    >>> ev = cal.classification([0, 1, 1, 0], said, measures=["accuracy"], cost=price)
    >>> front = ev.fronts[0]
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
        """The systems on the front, the cheapest first."""
        on = sorted((row for row in self.all if row.on_front), key=lambda row: row.cost)
        return tuple(row.system for row in on)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Systems that stand there twice, or that others are said to be beaten by and are not
        there."""
        there = [row.system for row in self.all]
        yield from duplicate_names(there, "rows")
        places = {
            f"rows[{i}].{name}": getattr(row, name)
            for i, row in enumerate(self.all)
            for name in ("dominated_by", "significantly_dominated_by")
        }
        yield from unknown_names(places, there)

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        return column_types(_COLUMNS)

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one system each."""
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
