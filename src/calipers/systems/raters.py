"""Systems that are sets of raters of the same items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from calipers.readings.raters import Rated
from calipers.statistics import FloatArray, IntArray, Ratings
from calipers.systems.base import System

if TYPE_CHECKING:
    from calipers.inference.settings import Settings
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class Raters(System):
    """Raters, and the category that each put each item into (items, raters), −1 for none."""

    name: str
    raters: tuple[str, ...]
    codes: IntArray
    categories: tuple[str, ...]
    values: FloatArray
    settings: Settings
    weight: None = None
    clusters: None = None
    measures: tuple[Measure, ...] = ()

    columns: ClassVar = ("codes",)

    def over(self, measure: Measure) -> Rated:
        """How often items were put into each category."""
        return self.once("items", self._rated)

    def _rated(self) -> Rated:
        return Rated(Ratings.from_codes(self.codes, self.categories, self.values), self.settings)

    def of(self, which: list[int], name: str = "") -> Raters:
        """Some of the raters."""
        names = tuple(self.raters[k] for k in which)
        return replace(self, name=name or self.name, raters=names, codes=self.codes[:, which])
