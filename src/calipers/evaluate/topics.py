"""The values of measures per topic, of each system, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.evaluate.shared import glossary, provenance
from calipers.inference.estimate import unit_intervals
from calipers.inference.summaries import Summary
from calipers.measures import Measure
from calipers.once import cached_property
from calipers.results import Estimate, Evaluation, PerUnit

if TYPE_CHECKING:
    from calipers.inference import paired
    from calipers.inference.contrast import Contrast
    from calipers.inference.estimate import Settings
    from calipers.statistics import FloatArray, Statistic

#: So many numbers are drawn at a time.
_AT_ONCE = 8_000_000

#: How the documents of a run are ordered, as provenance records it.
ORDER = "score descending, ties by document id descending"

#: Of a run, the statistic of each kind that the measures read.
Statistics: TypeAlias = "Mapping[type[Statistic], Any]"


@dataclass(frozen=True, eq=False)
class TopicScores:
    """The value of every measure on every topic, for each system; topics are the same for all."""

    topics: tuple[str, ...]
    measures: list[Measure]
    values: dict[str, FloatArray]
    reasons: dict[str, list[dict[str, list[int]]]]
    weights: dict[str, dict[int, FloatArray]]
    settings: Settings
    unit: str = "topics"

    @classmethod
    def of(
        cls,
        topics: tuple[str, ...],
        systems: Mapping[str, Statistics],
        measures: list[Measure],
        settings: Settings,
        *,
        zero: bool,
    ) -> TopicScores:
        """Measure the systems; ``zero`` puts 0 where a value is undefined."""
        values, reasons, weights = {}, {}, {}
        for name, statistics in systems.items():
            of = [statistics[measure.definition.on] for measure in measures]
            table = np.column_stack([m.apply(s) for m, s in zip(measures, of, strict=True)])
            values[name] = np.where(np.isnan(table), 0.0, table) if zero else table
            reasons[name] = [
                {
                    reason: np.flatnonzero(where).tolist()
                    for reason, where in m.reasons(s).items()
                    if np.any(where)
                }
                for m, s in zip(measures, of, strict=True)
            ]
            weights[name] = {
                j: np.asarray(m.definition.weight(s, m.parameters), np.float64)
                for j, (m, s) in enumerate(zip(measures, of, strict=True))
                if m.definition.weight is not None
            }
        return cls(topics, measures, values, reasons, weights, settings)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.values)

    def estimates(self) -> tuple[Estimate, ...]:
        """The mean (or what the measure says) over topics of each measure, with its interval."""
        out = []
        for system, values in self.values.items():
            weights = self.weights[system]
            made = unit_intervals(self.measures, values, self.settings, weights)
            for j, measure in enumerate(self.measures):
                out.append(
                    Estimate(
                        measure=str(measure),
                        value=self._summary(j).value(values[:, j], weights.get(j)),
                        low=made[j].low,
                        high=made[j].high,
                        level=self.settings.level,
                        method=made[j].method,
                        n=int(np.count_nonzero(~np.isnan(values[:, j]))),
                        of=len(values),
                        unit=self.unit,
                        undefined=self._counts(system, j),
                        no_interval=made[j].reason,
                        system=system,
                    )
                )
        return tuple(out)

    def _summary(self, measure: int) -> Summary:
        return Summary(self.measures[measure].definition.summary)

    def _counts(self, system: str, measure: int) -> dict[str, int]:
        """How many topics have no value, by reason."""
        return {reason: len(topics) for reason, topics in self.reasons[system][measure].items()}

    def per_unit(self) -> PerUnit:
        """The values themselves."""
        names = [str(measure) for measure in self.measures]
        return PerUnit(
            self.unit,
            self.topics,
            {name: dict(zip(names, table.T, strict=True)) for name, table in self.values.items()},
            undefined={
                name: {measure: why for measure, why in zip(names, reasons, strict=True) if why}
                for name, reasons in self.reasons.items()
            },
        )

    def evaluation(
        self, task: str, conventions: Mapping[str, Any], inputs: Sequence[Any], **more: Any
    ) -> Evaluation:
        """The evaluation of these values; ``more`` are what else it has."""
        shared = {"definitions": glossary(self.measures), **more}
        return Evaluation(
            task=task,
            level=self.settings.level,
            estimates=self.estimates(),
            per_unit=self.per_unit(),
            provenance=provenance(task, self.settings, conventions, inputs),
            sources=self,
            **shared,
        )

    def contrasts(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, Contrast]]:
        """Paired over topics, for the measures that have a direction."""
        judged = [
            j for j, m in enumerate(self.measures) if m.definition.higher_is_better is not None
        ]
        drawn = max(1, 4 * len(judged)) * settings.resamples
        step = max(1, _AT_ONCE // drawn)
        for begin in range(0, len(pairs), step):
            yield from self._contrasts(pairs[begin : begin + step], judged, settings)

    def _contrasts(
        self, pairs: Sequence[tuple[str, str]], judged: Sequence[int], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, Contrast]]:
        """Of pairs that see the same draws of topics, made once for all of them."""
        asked = [(pair, j) for pair in pairs for j in judged]
        both = [self._pair(*pair, j) for pair, j in asked]
        together = Together(
            # Columns of what the summaries need: of sums and means the difference itself.
            [
                [a[0] - b[0]] if self._kind(j) in ("mean", "sum") else [*a, *b]
                for (a, b), (_, j) in zip(both, asked, strict=True)
            ],
            [a[0] - b[0] for a, b in both],
            settings,
        )
        for place, (pair, j) in enumerate(asked):
            made = self._contrast(*pair, j, both[place], together, place)
            yield pair, self.measures[j], made

    def values_of(self, measure: Measure) -> FloatArray:
        """The value of each topic and system, shape (topics, systems)."""
        j = self.measures.index(measure)
        return np.column_stack([table[:, j] for table in self.values.values()])

    def _kind(self, measure: int) -> str:
        return self._summary(measure).kind

    def _pair(
        self, system: str, baseline: str, j: int
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """The columns that the summary of a measure needs, of both systems; topics on which either
        is undefined have no value."""
        first, second = self.values[system][:, j], self.values[baseline][:, j]
        absent = np.isnan(first) | np.isnan(second)
        a, b = (
            self._summary(j).columns(np.where(absent, np.nan, values), self.weights[name].get(j))
            for name, values in ((system, first), (baseline, second))
        )
        return a, b

    def _contrast(
        self,
        system: str,
        baseline: str,
        j: int,
        pair: tuple[list[FloatArray], list[FloatArray]],
        together: Together,
        place: int,
    ) -> Contrast:
        """One measure of two runs."""
        from calipers.inference import paired
        from calipers.inference.contrast import Contrast, Error, Units, randomisations

        summary, settings = self._summary(j), together.settings
        better = self.measures[j].definition.higher_is_better
        a, b = (np.column_stack(columns) for columns in pair)
        has = ~np.isnan(a[:, 0])
        a, b, n = a[has], b[has], int(has.sum())
        shared: dict[str, Any] = {
            "n": n,
            "settings": settings,
            "higher_is_better": better,
            "unit": self.unit,
            "undefined": self._counts(system, j),
            "raw": (self.values[system][:, j] - self.values[baseline][:, j])[has],
        }
        if n == 0:
            return Contrast(value=np.nan, usual="units", **shared)
        units = Units(a[:, 0] - b[:, 0])
        if summary.kind in ("mean", "sum"):
            scale = n if summary.kind == "sum" else 1

            def resampled() -> tuple[FloatArray, FloatArray]:
                means, errors = together.replicates(place)
                return means[:, 0], errors[:, 0]

            return Contrast(
                value=units.mean * scale,
                usual="units",
                units=units,
                scale=scale,
                shares=self.measures[j].definition.share_of == "topics",
                error=lambda: Error(units.error.se * scale, "Student t", n - 1),
                resampled_units=resampled,
                swapped=lambda towards: together.randomised(place, towards),
                **shared,
            )
        width = a.shape[1]

        def drawn() -> FloatArray:
            means, _ = together.replicates(place)
            first, second = means[:, :width], means[:, width:]
            return summary.of_means(first, n) - summary.of_means(second, n)

        of = [summary.of_means(table.mean(axis=0), n) for table in (a, b)]
        value = float(of[0] - of[1])

        def moved() -> FloatArray:
            """How much each topic moves the exponential of a mean, or a ratio of means."""
            if summary.kind == "geometric":
                parts = [
                    x * (table[:, 0] - table[:, 0].mean())
                    for x, table in zip(of, (a, b), strict=True)
                ]
            else:
                parts = [
                    (table[:, 0] - x * table[:, 1]) / table[:, 1].mean()
                    for x, table in zip(of, (a, b), strict=True)
                ]
            return np.asarray(parts[0] - parts[1])

        def error() -> Error:
            """By the delta method."""
            return Error(Units(moved()).error.se, "Student t", n - 1)

        if summary.kind == "geometric":
            return Contrast(
                value=value,
                usual="replicates",
                units=units,
                units_make_value=False,
                error=error,
                moved=lambda: (moved(), None),
                replicates=drawn,
                swapped=lambda towards: together.randomised(place, towards),
                **shared,
            )
        return Contrast(
            value=value,
            usual="replicates",
            error=error,
            moved=lambda: (moved(), None),
            replicates=drawn,
            swapped=lambda towards: paired.swapped_ratios(
                a, b, randomisations(settings), settings.seed, towards
            ),
            **shared,
        )


@dataclass(frozen=True, eq=False)
class Together:
    """What the measures of pairs of runs share: draws of topics, and signs of randomisations.

    ``tables`` are the columns that each summary needs, ``apart`` the differences.
    """

    tables: list[list[FloatArray]]
    apart: list[FloatArray]
    settings: Settings
    _tests: dict[str, list[paired.Test]] = field(default_factory=dict)

    def replicates(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Bootstrap replicates of the means of a summary's columns, and their standard errors."""
        return self._drawn[place]

    @cached_property
    def _drawn(self) -> list[tuple[FloatArray, FloatArray]]:
        from calipers import _core

        flat = np.column_stack([column for columns in self.tables for column in columns])
        means, errors = _core.bootstrap_means(flat, self.settings.seed, self.settings.resamples)
        # Each column's replicates side by side, as they are read.
        tables = [np.ascontiguousarray(drawn.T).T for drawn in (means, errors)]
        ends = np.cumsum([len(columns) for columns in self.tables])[:-1]
        return list(zip(*(np.split(table, ends, axis=1) for table in tables), strict=True))

    def randomised(self, place: int, towards: str) -> paired.Test:
        """A randomisation test; all differences see the same signs."""
        if towards not in self._tests:
            self._tests[towards] = self._randomised(towards)
        return self._tests[towards][place]

    def _randomised(self, towards: str) -> list[paired.Test]:
        from calipers.inference import paired
        from calipers.inference.contrast import randomisations

        table = np.column_stack(self.apart)
        tries = randomisations(self.settings)
        return paired.randomisation(table, tries, self.settings.seed, towards)
