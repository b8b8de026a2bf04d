"""Means over topics, and what else sums up values per topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import paired
from calipers.inference.limits import randomisations
from calipers.inference.reading import Reading, Units
from calipers.inference.resampling import weighted_means
from calipers.inference.spaces import Error, Influence
from calipers.inference.summaries import Summary
from calipers.once import cached_property
from calipers.readings.summed import OfTopics, Summed, counting, moved_by
from calipers.statistics import Moments

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import Settings
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class Topics(Summed):
    """Values per topic, and what they are called."""

    unit: str = "topics"
    undefined: Mapping[str, int] = field(default_factory=dict)

    def reading(self, draws: Draws, place: int) -> Reading:
        """The reading, drawn with those of other measures."""
        definition, n = self.measure.definition, int(np.count_nonzero(self.has))
        kind = "mean over topics"
        if definition.interval == "none":
            kind = "count"
        elif definition.share_of == "topics":
            kind = "share of topics"
        elif self.summary.kind == "pooled":
            kind = "topics pooled"
        value = self.summary.value(self.values, self.weight, self.importance)
        of = OfTopics(self, value, lambda: draws.of(place))
        empty = kind == "topics pooled" and n > 0 and np.isnan(value)
        empty = empty and self.summary.formula is None  # else reasons of topics tell
        return Reading(
            value=value,
            kind=kind,
            settings=self.settings,
            n=n,
            unit=self.unit,
            bounds=definition.range,
            higher_is_better=definition.higher_is_better,
            undefined={**self.undefined, "nothing_retrieved": n} if empty else self.undefined,
            of=len(self.values),
            weight=self.importance,
            clusters=self.grouped,
            order=None if self.order is None else self.order.taken(self.has),
            sizes=lambda: (self.first.effective_size,),
            law=self,
            skew=of.skewness,
            influence=of.influence,
            linear=lambda: of.influence().moved[self.has],
            jackknife=None if self.clusters is None else lambda: (of.moved, None),
            replicates=of.replicates,
            methods=of.methods() if n else {},
        )

    def minus(self, first: Reading, second: Reading) -> Reading:
        """The difference over the topics on which both have a value."""
        assert isinstance(second.law, Topics)
        [made] = differences([(first, second)], self.settings)
        return made


@dataclass(frozen=True, eq=False)
class Draws:
    """Replicates of the means of columns, and their standard errors: topics are drawn once for all
    of them. ``tables`` has the columns of each reading; NaN where a topic has no value. Where
    ``importance`` has what topics count for, that is so of each reading."""

    tables: Sequence[Sequence[FloatArray]]
    settings: Settings
    importance: Sequence[FloatArray | None]
    #: Of topics in clusters, which are drawn whole, those of each reading.
    clusters: Sequence[Clusters | None] = ()

    def of(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Those of one reading."""
        return self._drawn[place]

    @cached_property
    def _drawn(self) -> list[tuple[FloatArray, FloatArray]]:
        from calipers import _core

        if any(of is not None for of in self.clusters):
            return [
                (of.means(np.column_stack(columns), self.settings), np.zeros(0))
                for columns, of in zip(self.tables, self.clusters, strict=True)
                if of is not None
            ]
        if any(weight is not None for weight in self.importance):
            ones = np.ones(len(self.tables[0][0]))
            return [
                weighted_means(columns, ones if weight is None else weight, self.settings)
                for columns, weight in zip(self.tables, self.importance, strict=True)
            ]
        flat = np.column_stack([column for columns in self.tables for column in columns])
        means, errors = _core.bootstrap_means(flat, self.settings.seed, self.settings.resamples)
        # Each column's replicates side by side, as they are read.
        tables = [np.ascontiguousarray(drawn.T).T for drawn in (means, errors)]
        ends = np.cumsum([len(columns) for columns in self.tables])[:-1]
        return list(zip(*(np.split(table, ends, axis=1) for table in tables), strict=True))


def of_topics(all_topics: Sequence[Topics]) -> list[Reading]:
    """The readings of several measures on the same topics, drawn together."""
    draws = Draws(
        [of.summary.columns(of.values, of.weight) for of in all_topics],
        all_topics[0].settings,
        [of.importance for of in all_topics],
        [of.grouped for of in all_topics],
    )
    return [of.reading(draws, place) for place, of in enumerate(all_topics)]


# --- Differences ----------------------------------------------------------------------------------


def differences(pairs: Sequence[tuple[Reading, Reading]], settings: Settings) -> Iterator[Reading]:
    """First minus second of pairs of readings, each over the topics on which both have a value. All
    see the same draws of topics and the same signs, made once for all of them."""
    both = [_Pair.of(first, second) for first, second in pairs]
    # Columns of what the summaries need: of sums and means the difference itself.
    counts = [pair.importance for pair in both]
    clusters = [pair.clusters for pair in both]
    draws = Draws([pair.drawn_columns() for pair in both], settings, counts, clusters)
    signs = _Signs(
        [pair.apart if u is None else pair.apart * u for pair, u in zip(both, counts, strict=True)],
        settings,
    )
    for place, pair in enumerate(both):
        yield pair.difference(draws, signs, place)


@dataclass(frozen=True, eq=False)
class _Signs:
    """Randomisation tests of the same topics: all differences see the same signs."""

    apart: list[FloatArray]
    settings: Settings
    _tests: dict[str, list[paired.Test]] = field(default_factory=dict)

    def test(self, place: int, towards: str) -> paired.Test:
        """Of one difference."""
        if towards not in self._tests:
            table, tries = np.column_stack(self.apart), randomisations(self.settings)
            found = paired.randomisation(table, tries, self.settings.seed, towards)
            self._tests[towards] = found
        return self._tests[towards][place]


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two readings of a measure, and the columns of both; NaN where one of them has no value."""

    first: Reading
    second: Reading
    summary: Summary
    a: list[FloatArray]
    b: list[FloatArray]
    importance: FloatArray | None

    @classmethod
    def of(cls, first: Reading, second: Reading) -> _Pair:
        """Topics on which either is undefined have no value."""
        ours, theirs = first.law, second.law
        assert isinstance(ours, Topics)
        assert isinstance(theirs, Topics)
        absent = ~(ours.has & theirs.has)
        a, b = (of.summary.columns(*_without(absent, of)) for of in (ours, theirs))
        return cls(first, second, ours.summary, a, b, ours.importance)

    @cached_property
    def has(self) -> Any:
        """Where both have a value."""
        return ~np.isnan(self.a[0])

    @cached_property
    def clusters(self) -> Clusters | None:
        """The clusters of topics, in which one on which either has no value is none."""
        of = self.law.clusters
        return None if of is None else counting(of, self.importance, self.has)

    @property
    def law(self) -> Topics:
        """The topics of the first."""
        assert isinstance(self.first.law, Topics)
        return self.first.law

    @property
    def apart(self) -> FloatArray:
        """First minus second of the first column."""
        return self.a[0] - self.b[0]

    def drawn_columns(self) -> list[FloatArray]:
        """What has to be drawn."""
        of_means = self.summary.kind in ("mean", "sum")
        return [self.apart] if of_means else [*self.a, *self.b]

    def difference(self, draws: Draws, signs: _Signs, place: int) -> Reading:
        """The difference, of which one place of the draws and of the signs is."""
        a, b = (np.column_stack(columns)[self.has] for columns in (self.a, self.b))
        has, n = self.has, len(a)
        own = None if self.importance is None else self.importance[has]
        ours, theirs = self.law, self.second.law
        assert isinstance(theirs, Topics)
        shared: dict[str, Any] = {
            "undefined": self.first.undefined,
            "raw": (ours.values - theirs.values)[has],
            "shares": ours.measure.definition.share_of == "topics",
            "sizes": lambda: (Moments.from_rows(a[:, 0], own).effective_size,),
            "clusters": self.clusters,
            "order": None if ours.order is None else ours.order.taken(has),
        }
        if n == 0:
            return self.first.difference(self.second, n=n, value=np.nan, **shared)
        parts: dict[str, Any]
        if self.summary.kind in ("mean", "sum"):
            parts = self._of_means(self._units(a[:, 0] - b[:, 0]), draws, signs, place)
        else:
            parts = self._of_functions(a, b, own, draws, signs, place)
        if ours.clusters is not None or ours.order is not None:
            parts |= self._of_dependent(a, b)
        return self.first.difference(self.second, n=n, **shared, **parts)

    def _units(self, values: FloatArray) -> Units:
        """Values of the topics on which both have one."""
        own = None if self.importance is None else self.importance[self.has]
        clusters = None if self.clusters is None else self.clusters.taken(self.has)
        return Units(values, own, clusters)

    def _of_dependent(self, a: FloatArray, b: FloatArray) -> dict[str, Any]:
        """What is known of topics in clusters or in an order: by how much each moves the
        difference. Where they come in clusters, no sign of a topic is as likely as the other."""
        theirs = self.second.law
        assert isinstance(theirs, Topics)

        def influence() -> Influence:
            made = [
                of.influence(columns, self.has, self._value(columns))
                for of, columns in ((self.law, a), (theirs, b))
            ]
            return made[0] - made[1]

        found = {"influence": influence, "linear": lambda: influence().moved[self.has]}
        if self.clusters is None:
            return found
        return {**found, "error": None, "studentised": None, "swapped": None}

    def _value(self, columns: FloatArray) -> float:
        """The summary of the topics on which both have a value."""
        own = None if self.importance is None else self.importance[self.has]
        means = np.average(columns, axis=0, weights=own)
        return float(self.summary.of_means(means, len(columns)))

    def _of_means(self, units: Units, draws: Draws, signs: _Signs, place: int) -> dict[str, Any]:
        """Of means, or sums."""
        scale = len(units.values) if self.summary.kind == "sum" else 1

        def studentised() -> tuple[float, FloatArray, FloatArray]:
            means, errors = draws.of(place)
            return units.error.se, means[:, 0], errors[:, 0]

        return {
            "value": units.mean * scale,
            "units": units,
            "scale": scale,
            "error": lambda: Error(units.error.se * scale, "Student t", units.error.degrees),
            "replicates": lambda: draws.of(place)[0][:, 0] * scale,
            "studentised": studentised,
            "swapped": lambda towards: signs.test(place, towards),
        }

    def _of_functions(
        self,
        a: FloatArray,
        b: FloatArray,
        own: FloatArray | None,
        draws: Draws,
        signs: _Signs,
        place: int,
    ) -> dict[str, Any]:
        """Of exponentials of means, or ratios of means."""
        summary, settings, n = self.summary, self.first.settings, len(a)
        of = [self._value(table) for table in (a, b)]

        def replicates() -> FloatArray:
            means, width = draws.of(place)[0], a.shape[1]
            first, second = means[:, :width], means[:, width:]
            return summary.of_means(first, n) - summary.of_means(second, n)

        def moved() -> FloatArray:
            return moved_by(summary, a, of[0], own) - moved_by(summary, b, of[1], own)

        value = of[0] - of[1]
        parts: dict[str, Any] = {
            "value": value,
            "linear_units": lambda: self._units(value + moved()),
            "error": lambda: replace(self._units(moved()).error, name="Student t"),
            "jackknife": lambda: (self._units(moved()).moved, None),
            "replicates": replicates,
        }
        if summary.kind == "geometric":
            return {
                **parts,
                "units": self._units(a[:, 0] - b[:, 0]),
                "units_make_value": False,
                "swapped": lambda towards: signs.test(place, towards),
            }
        tries, (first, second) = randomisations(settings), (a, b)
        if own is not None:
            first, second = (table * own[:, None] for table in (a, b))
        return {
            **parts,
            "swapped": lambda towards: paired.swapped_ratios(
                first, second, tries, settings.seed, towards, summary.formula
            ),
        }


def _without(absent: Any, of: Topics) -> tuple[FloatArray, FloatArray | None]:
    """Values and weights without those of some topics."""
    weight = of.weight
    if weight is not None and weight.ndim > 1:
        weight = np.where(absent[:, None], np.nan, weight)
    return np.where(absent, np.nan, of.values), weight
