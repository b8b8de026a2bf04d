"""What systems cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calipers.data.errors import InputError
from calipers.readings.costs import CostRows, Known
from calipers.readings.losses import Losses
from calipers.statistics import FloatArray, Moments
from calipers.systems.base import System, named_classes

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.reading import Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class OneCost(System):
    """One cost of one system, of each row."""

    name: str
    spent: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: Clusters | None = None
    measures: tuple[Measure, ...] = ()

    columns: ClassVar = ("spent", "weight")

    def over(self, measure: Measure) -> Losses | CostRows | Known:
        """The costs of the rows."""
        if measure.definition.interval == "none":
            return Known(self.spent, self.weight, self.settings)
        if measure.definition.on is Moments:
            return Losses(self.spent, self.weight, self.clusters, self.settings)
        nothing = np.zeros(len(self.spent))
        rows = nothing, self.spent, self.weight, self.clusters, self.settings
        return self.once("order", lambda: CostRows(*rows))


@dataclass(frozen=True, eq=False)
class OneNumber(OneCost):
    """A cost of which the system has one number."""

    def over(self, measure: Measure) -> Known:
        """The number."""
        return Known(self.spent, None, self.settings, "number of a system")


@dataclass(frozen=True, eq=False)
class CostSystem(System):
    """What one system costs: of each row, shape (rows, costs), and in numbers of its own."""

    name: str
    costs: tuple[str, ...]
    spent: FloatArray
    numbers: Mapping[str, float]
    weight: FloatArray | None
    settings: Settings
    clusters: Clusters | None = None
    called: str = "rows"
    measures: tuple[Measure, ...] = ()

    columns: ClassVar = ("spent", "weight")

    def check_one(self, measure: Measure) -> None:
        """That there is such a cost, of each row where the measure is about rows."""
        if measure.label is None:
            ask = replace(measure, label=(*self.costs, *self.numbers)[0])
            raise InputError(f"{measure}: of which cost? Ask for {ask}")
        named_classes(measure, (*self.costs, *self.numbers), "cost")
        if measure.label in self.numbers and measure.definition.interval != "none":
            raise InputError(f"{measure}: {measure.label} is one number for each system")

    def problem_of(self, measure: Measure) -> OneCost:
        """One of the costs."""
        label = str(measure.label)
        return self.once(label, lambda: self._one(label))

    def _one(self, label: str) -> OneCost:
        if label in self.numbers:
            return OneNumber(self.name, np.array([self.numbers[label]]), None, self.settings)
        column = np.ascontiguousarray(self.spent[:, self.costs.index(label)])
        return OneCost(self.name, column, self.weight, self.settings, self.clusters)

    def reading(self, measure: Measure) -> Reading:
        """The reading, of rows by what they are called."""
        unit = "system" if measure.label in self.numbers else self.called
        return replace(super().reading(measure), unit=unit)
