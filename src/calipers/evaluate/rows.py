"""Several systems on the same rows: their estimates, and what comparisons read of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.columns import Ids
from calipers.engines.passes import Passes
from calipers.evaluate.estimates import estimate
from calipers.evaluate.kept import of_rows
from calipers.progress import over

if TYPE_CHECKING:
    from calipers.inference.reading import Reading
    from calipers.inference.serial import Looked
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Estimate, Kept
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Several systems on the same rows."""

    by_name: Mapping[str, Any]
    measures: Sequence[Measure]
    settings: Settings
    notes: tuple[str, ...] = ()
    #: The ids of the rows; () where they are told by their places, None of those that only counts
    #: are known of.
    ids: Ids | None = ()
    _serial: list[Looked] = field(default_factory=list)

    #: Whether each system has rows of its own.
    apart: ClassVar[bool] = False

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.by_name)

    @property
    def directed(self) -> tuple[Measure, ...]:
        """The measures of which one value can be better than another, and vary in a known way."""
        known = ((m, m.definition) for m in self.measures)
        return tuple(m for m, d in known if d.higher_is_better is not None and d.interval != "none")

    def estimates(self) -> Iterator[Estimate]:
        """All measures of all systems."""
        engine = Passes.of_memory(self.by_name, self.measures)
        asked = [(name, measure) for name in self.by_name for measure in self.measures]
        for name, measure in over(asked, "measuring"):
            reading = engine.reading(name, measure)
            if reading is not None and reading.order is not None:
                from calipers.inference import serial

                self._serial.append(serial.Looked.at(name, str(measure), reading))
            yield estimate(self.by_name[name], measure, reading)

    def serial_notes(self) -> tuple[str, ...]:
        """Whether the estimates, where rows have an order, are serially dependent."""
        if not self._serial:
            return ()
        from calipers.inference import serial

        return serial.notes(self._serial)

    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, Reading]]:
        """The first system of each pair minus the second on every measure that has a direction."""
        under = {name: system.under(settings) for name, system in self.by_name.items()}
        engine = Passes.of_memory(under, self.directed)
        for pair in pairs:
            for measure in self.directed:
                first, second = (engine.reading(name, measure) for name in pair)
                if first is not None and second is not None:
                    yield pair, measure, first - second

    def to_keep(self) -> Kept | None:
        """What comparisons with later systems need."""
        return None if self.ids is None else of_rows(self.by_name, self.ids)

    def values_of(self, measure: Measure) -> FloatArray | None:
        """The value of each row and system, shape (rows, systems), where there are such and rows
        are independent and weigh alike."""
        systems = list(self.by_name.values())
        if any(s.clusters is not None or s.weight is not None for s in systems):
            return None
        columns = [s.per_row(measure) for s in systems]
        if any(column is None for column in columns):
            return None
        table = np.column_stack([column for column in columns if column is not None])
        order = systems[0].order
        if order is not None:
            from calipers.inference import serial

            apart = table - table.mean(axis=1, keepdims=True)
            if any(serial.of_rows(order, x - x.mean()) for x in apart.T):
                return None
        return np.asarray(table[~np.isnan(table).any(axis=1)])

    def importance_of(self, measure: Measure) -> None:
        """Rows that have values here count once."""

    def dealt(self, measure: Measure, settings: Settings) -> None:
        """Rows are too many to be dealt out anew."""
