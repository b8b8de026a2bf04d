"""A planned number of units, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, SupportsIndex, overload

from calipers.results.serialization import NAN, Count, JsonSerializable, Level, get_item
from calipers.results.tidy import TidyResult, column_types


@dataclass(frozen=True, slots=True)
class PlanRow(JsonSerializable):
    """What ``n`` units would give: the expected half-width of the interval, the power of what is
    asked, and the smallest difference found with the wanted power. NaN where it does not apply."""

    n: Count
    half_width: float = NAN
    power: float = NAN
    min_detectable: float = NAN


@dataclass(frozen=True, slots=True)
class Plan(JsonSerializable, TidyResult):
    """A number of units, and what it gives.

    ``wanted`` is what was asked for (``half_width``, ``difference``, ``margin``, ``reference``,
    ``power``, ``assurance``) and ``assumed`` the numbers it rests on. ``half_width``, ``power`` and
    ``detectable`` are what ``n`` units give, as in :class:`PlanRow`; ``of`` says what the
    half-width is of.
    ``level`` is that of all comparisons together and ``level_each`` that of one. Where a half-width
    is wanted, ``assured`` units reach it with the probability ``wanted["assurance"]``. Of a pilot:
    ``pilot`` is its size, ``cautious`` the number of units if the true spread is as large as the
    pilot leaves likely (its upper 80% limit), and ``resampled`` the half-width and the power found
    by drawing ``n`` units from the pilot itself.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    measure: str
    n: Count
    unit: str
    targets: Mapping[str, float]
    half_width: float
    power: float
    min_detectable: float
    level: Level
    level_each: Level
    half_width_of: str
    method: str
    assumed: Mapping[str, float] = field(default_factory=dict)
    table: tuple[PlanRow, ...] = ()
    n_assured: Count | None = None
    pilot: Count | None = None
    n_conservative: Count | None = None
    simulated: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer, for people."""
        from calipers.report.plan import sentence

        return sentence(self)

    def __iter__(self) -> Iterator[PlanRow]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, key: SupportsIndex) -> PlanRow: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[PlanRow, ...]: ...
    def __getitem__(self, key: SupportsIndex | slice) -> PlanRow | tuple[PlanRow, ...]:
        """A row of the table by its index, as in a list."""
        return get_item(self.table, key, "an index")

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        return column_types(
            ("measure", "unit", "planned", "n", "half_width", "power", "min_detectable")
        )

    def rows(self) -> list[dict[str, Any]]:
        """The table, tidy: ``n`` units and what they give, and of which plan: its measure, and the
        number of units that is ``planned``, which is one of those in ``n``."""
        of = {"measure": self.measure, "unit": self.unit, "planned": self.n}
        gives = ("n", "half_width", "power", "min_detectable")
        return [{**of, **{name: getattr(row, name) for name in gives}} for row in self.table]

    def to_markdown(self) -> str:
        """The sentences and the table as GitHub-flavoured Markdown."""
        return self.to_format("markdown").rstrip()

    def __str__(self) -> str:
        return self.to_format("table")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import plan

        return plan(self)
