"""How far raters agree: readings over how often items were put into each category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import dirichlet
from calipers.inference.intervals import Interval
from calipers.inference.limits import FEW_OF_CATEGORY
from calipers.inference.reading import Reading, Units, difference_of
from calipers.inference.spaces import Influence, Space
from calipers.measures.rater_agreement import counted_items, moved_by_items
from calipers.readings.undefined import reasons
from calipers.statistics import FloatArray, Ratings

if TYPE_CHECKING:
    from calipers.inference.settings import Settings


@dataclass(frozen=True, eq=False)
class Rated:
    """Items that several raters put into categories."""

    statistic: Ratings
    settings: Settings

    def per_row(self, measure: Any) -> None:
        """No item has a value of its own."""

    def influence(self, measure: Any, whole: Ratings | None = None) -> Influence | None:
        """By how much each item moves the value; those that do not count do not."""
        moved = moved_by_items(measure, self.statistic)
        if moved is None:
            return None
        column = np.zeros(len(self.statistic))
        column[counted_items(measure, self.statistic)] = moved / max(len(moved), 1)
        return Influence(column, Space(), "delta")

    def reading(self, measure: Any) -> Reading:
        """The reading of a measure of agreement."""
        r, bounds = self.statistic, measure.definition.range
        value, moved = float(measure.apply(r)), moved_by_items(measure, r)
        methods = {}
        if moved is not None:

            def bayesian(level: float) -> Interval:
                return dirichlet.bayesian(value + moved, bounds, level)

            methods = {"bayesian": bayesian}
        rare = r.shared.times.sum() - r.shared.of_category.max(initial=0) < FEW_OF_CATEGORY
        return Reading(
            value=value,
            kind="agreement of raters",
            settings=self.settings,
            n=int(counted_items(measure, r).sum()),
            of=len(r),
            unit="items",
            bounds=bounds,
            higher_is_better=measure.definition.higher_is_better,
            undefined=reasons(measure, r, len(r)),
            caution="few ratings beside the commonest" if rare else "",
            methods=methods,
            law=_Items(measure, self),
            influence=lambda: self.influence(measure),
        )


@dataclass(frozen=True, eq=False)
class _Items:
    """The law of raters: of the same items, which either set of raters may have rated twice."""

    measure: Any
    rated: Rated

    def minus(self, first: Reading, second: Reading) -> Reading:
        """The difference, by how much each item moves it."""
        assert isinstance(second.law, _Items)
        either = counted_items(self.measure, self.rated.statistic) | counted_items(
            second.law.measure, second.law.rated.statistic
        )
        n = int(either.sum())
        units, influence = None, difference_of(first.influence, second.influence)
        moved = None if influence is None else influence()
        if moved is not None:
            units = Units(first.value - second.value + n * moved.column[either])
        raw = self._raw(second.law.rated)
        return first.difference(second, n=n, units=units, influence=influence, raw=raw)

    def _raw(self, other: Rated) -> FloatArray:
        """By how much more of the pairs of its ratings agree, of each item that both rated
        twice."""
        both = self.rated.statistic.twice & other.statistic.twice
        first, second = (of.statistic.agreeing[both] for of in (self.rated, other))
        return np.asarray(first - second)
