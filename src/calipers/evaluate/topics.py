"""The values of measures per topic, of each system, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.evaluate.shared import per_unit_counts
from calipers.inference import intervals, paired
from calipers.inference.estimate import Settings, mean_interval, unit_intervals
from calipers.inference.intervals import Interval
from calipers.inference.summaries import Summary
from calipers.measures import Measure
from calipers.results import Difference, Estimate, PerUnit
from calipers.statistics import FloatArray, Statistic

#: Of a run, the statistic of each kind that the measures read.
Statistics = Mapping[type[Statistic], Any]


@dataclass(frozen=True, eq=False)
class TopicScores:
    """The value of every measure on every topic, for each system; topics are the same for all."""

    topics: tuple[str, ...]
    measures: list[Measure]
    values: dict[str, FloatArray]
    reasons: dict[str, list[dict[str, list[int]]]]
    weights: dict[str, dict[int, FloatArray]]
    settings: Settings

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
                        unit="topics",
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
            "topics",
            self.topics,
            {name: dict(zip(names, table.T, strict=True)) for name, table in self.values.items()},
            undefined={
                name: {measure: why for measure, why in zip(names, reasons, strict=True) if why}
                for name, reasons in self.reasons.items()
            },
        )

    def differences(self, system: str, baseline: str, settings: Settings) -> list[Difference]:
        """Paired over topics, for the measures that have a direction."""
        judged = [
            j for j, m in enumerate(self.measures) if m.definition.higher_is_better is not None
        ]
        both = [self._pair(system, baseline, j) for j in judged]
        if not both:
            return []
        # Columns of what the summaries need: of sums and means the difference itself.
        tables = [
            [a[0] - b[0]] if kind in ("mean", "sum") else [*a, *b]
            for (a, b), kind in zip(both, map(self._kind, judged), strict=True)
        ]
        replicates = _replicates(tables, settings)
        tests = self._tests(np.column_stack([a[0] - b[0] for a, b in both]), settings)
        out = []
        for place, j in enumerate(judged):
            measure = self.measures[j]
            d = self.values[system][:, j] - self.values[baseline][:, j]
            d = d[~np.isnan(d)]
            value, made, test, effect = self._difference(
                j, both[place], *replicates[place], tests[place], settings
            )
            better = bool(measure.definition.higher_is_better)
            out.append(
                Difference(
                    measure=str(measure),
                    system=system,
                    baseline=baseline,
                    value=value,
                    low=made.low,
                    high=made.high,
                    level=settings.level,
                    method=made.method,
                    p=test.p,
                    test=test.name,
                    effect=effect,
                    **per_unit_counts(d, higher_is_better=better),
                    n=len(d),
                    unit="topics",
                    undefined=self._counts(system, j),
                    no_interval=made.reason,
                    higher_is_better=better,
                )
            )
        return out

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

    def _difference(
        self,
        j: int,
        pair: tuple[list[FloatArray], list[FloatArray]],
        means: FloatArray,
        errors: FloatArray,
        test: paired.Test,
        settings: Settings,
    ) -> tuple[float, Interval, paired.Test, float]:
        """Value, interval, test and effect size of one difference."""
        summary = self._summary(j)
        a, b = (np.column_stack(columns) for columns in pair)
        a, b = a[~np.isnan(a[:, 0])], b[~np.isnan(b[:, 0])]
        n = len(a)
        if n == 0:
            return np.nan, intervals.missing("none", "too_few_units"), test, np.nan
        if summary.kind in ("mean", "sum"):
            d = a[:, 0] - b[:, 0]
            made = mean_interval(d, means[:, 0], errors[:, 0], settings)
            scale = n if summary.kind == "sum" else 1
            made = Interval(made.low * scale, made.high * scale, made.method, made.reason)
            return float(d.mean()) * scale, made, test, paired.hedges_g(d)
        value = float(summary.of_means(a.mean(axis=0), n) - summary.of_means(b.mean(axis=0), n))
        width = a.shape[1]
        drawn = summary.of_means(means[:, :width], n) - summary.of_means(means[:, width:], n)
        made = intervals.percentile(drawn, settings.level)
        if summary.kind == "geometric":
            return value, made, test, paired.hedges_g(a[:, 0] - b[:, 0])
        swapped = paired.swapped_ratios(a, b, _randomisations(settings), settings.seed)
        return value, made, swapped, np.nan

    @staticmethod
    def _tests(table: FloatArray, settings: Settings) -> list[paired.Test]:
        """A randomisation test of each column; columns undefined on the same topics go together,
        so that they see the same signs."""
        resamples = _randomisations(settings)
        defined = ~np.isnan(table)
        out: list[paired.Test] = [paired.Test(np.nan, "none")] * table.shape[1]
        for pattern in np.unique(defined, axis=1).T:
            columns = np.flatnonzero((defined == pattern[:, None]).all(axis=0))
            part = np.ascontiguousarray(table[pattern][:, columns])
            tests = paired.randomisation(part, resamples, settings.seed)
            for column, test in zip(columns, tests, strict=True):
                out[column] = test
        return out


def _randomisations(settings: Settings) -> int:
    return max(settings.resamples, 10_000)


def _replicates(
    tables: Sequence[Sequence[FloatArray]], settings: Settings
) -> list[tuple[FloatArray, FloatArray]]:
    """Bootstrap replicates of the means of columns, and their standard errors, by measure; all from
    the same draws of topics."""
    from calipers import _core

    flat = np.column_stack([column for columns in tables for column in columns])
    means, errors = _core.bootstrap_means(flat, settings.seed, settings.resamples)
    ends = np.cumsum([len(columns) for columns in tables])[:-1]
    return list(zip(np.split(means, ends, axis=1), np.split(errors, ends, axis=1), strict=True))
