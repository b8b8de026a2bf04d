"""Each measure averaged over the folds, beside its value of all rows together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers import findings
from calipers.data.values import Values
from calipers.evaluate.folds import Folds
from calipers.evaluate.splits import over_splits
from calipers.findings.compared import Compared
from calipers.inference import intervals, splits
from calipers.inference.intervals import Interval
from calipers.inference.settings import Settings
from calipers.learning.designs import Design
from calipers.learning.fitting import Places
from calipers.measures import Measure
from calipers.results import SEVERITIES, Comparison, Estimate, Evaluation, Finding, PerUnit
from calipers.statistics import FloatArray

#: By system and measure.
Columns = Mapping[str, Mapping[str, FloatArray]]
Reasons = Mapping[str, Mapping[str, Mapping[str, list[int]]]]
#: The interval of a measure of a system, where it is not the corrected t of the folds.
Others = Callable[[str, str], Interval]

CORRECTED = "corrected resampled t"


def widened(level: float, design: Design) -> float:
    """The level at which an interval of the rows of one repetition is as much longer as the
    corrected t is than the plain one over its folds: z grows by √(1 + J · n_test/n_train)."""
    train, test = design.sizes
    z = intervals.z_of(level) * math.sqrt(1 + len(design.first) * test / train)
    return min(math.erf(z / math.sqrt(2)), 1 - 1e-9)


@dataclass(frozen=True, eq=False)
class Averages:
    """The value of each measure of each system on each fold of a design, read off the evaluation
    ``pooled`` of all rows together; ``where`` are the places there of the rows of each fold."""

    pooled: Evaluation
    design: Design
    values: Columns
    reasons: Reasons

    @classmethod
    def of(cls, pooled: Evaluation, design: Design, where: Sequence[Places]) -> Averages:
        """All measures on all folds."""
        source = pooled.sources
        plain = replace(source.settings, interval="none", methods=())
        names = [str(measure) for measure in source.measures]
        values = {s: {m: np.full(len(where), math.nan) for m in names} for s in source.by_name}
        reasons: dict[str, dict[str, dict[str, list[int]]]] = {
            s: {m: {} for m in names} for s in source.by_name
        }
        for system, whole in source.by_name.items():
            under = whole.under(plain)
            for fold, places in enumerate(where):
                mask = np.zeros(whole.number, np.bool_)
                mask[places] = True
                part = under.taken(mask)
                for measure, name in zip(source.measures, names, strict=True):
                    reading = part.reading(measure)
                    values[system][name][fold] = reading.value
                    if math.isnan(reading.value):
                        for why in reading.undefined or {"undefined": 1}:
                            reasons[system][name].setdefault(why, []).append(fold)
        return cls(pooled, design, values, reasons)

    def estimates(self, level: float, other: Others | None, *, wanted: bool) -> list[Estimate]:
        """Each measure averaged over the folds, every one of which has to have a value, with the
        interval of the corrected t unless there is an ``other``; without any unless ``wanted``."""
        bounds = {str(m): m.definition.range for m in self.pooled.sources.measures}
        return [
            self._estimate(e, level, bounds[e.measure], other, wanted=wanted)
            for e in self.pooled
            if e.measure in bounds
        ]

    def _estimate(
        self, pooled: Estimate, level: float, bounds: Any, other: Others | None, *, wanted: bool
    ) -> Estimate:
        column = self.values[pooled.system][pooled.measure]
        # (A mean of the others would leave out the very folds where a model fails.)
        value = float(column.mean())
        if not wanted:
            made = intervals.missing("none", "not_asked")
        elif math.isnan(value):
            made = intervals.missing("none", "undefined_value")
        elif other is not None:
            made = other(pooled.system, pooled.measure)
        elif len(column) < 2:
            made = intervals.missing(CORRECTED, "too_few_folds")
        else:
            train, test = self.design.sizes
            made = splits.corrected_t(column, train, test, level=level).interval
        made = made.within(*map(float, bounds))
        why = self.reasons[pooled.system][pooled.measure]
        return Estimate(
            measure=pooled.measure,
            value=value,
            low=made.low,
            high=made.high,
            level=level,
            method=made.method,
            n=0 if math.isnan(value) else len(column),
            of=len(column),
            unit="folds",
            undefined={reason: len(folds) for reason, folds in why.items()},
            no_interval=made.reason,
            standard_error=made.se,
            default=pooled.default,
            system=pooled.system,
            pooled=pooled.value,
        )

    @property
    def per_fold(self) -> PerUnit:
        """The values of the folds."""
        return PerUnit("folds", self.design.names, self.values, undefined=self.reasons)

    def folds(self, settings: Settings) -> Folds:
        """What comparisons read."""
        directed: Sequence[Measure] = self.pooled.sources.directed
        repetition = tuple(str(part.repetition + 1) for part in self.design.parts)
        return Folds.of(
            Values(self.design.names, self.values, repetition=repetition),
            directed,
            {(e.system, e.measure): e.value for e in self.pooled},
            design=self.design.kind,
            sizes=self.design.sizes,
            settings=settings,
            measures=self.pooled.sources.measures,
            by=compared,
        )


def compared(of: Folds, **asked: Any) -> Comparison:
    """The systems compared over folds."""
    return over_splits(of.read, of.better, of.pooled, of.notes, of.design, *of.sizes, **asked)


def found(
    of_rows: Sequence[Finding], comparison: Comparison | None, level: float
) -> tuple[Finding, ...]:
    """The findings of rows; of comparisons those of the comparison over folds in their place."""
    own = {one.kind for one in findings.RULES.values() if Compared in one.needs}
    made = [finding for finding in of_rows if finding.kind not in own]
    if comparison is not None:
        made += findings.of([findings.Subject(None, level, (Compared(comparison),))])
    return tuple(sorted(made, key=lambda finding: SEVERITIES.index(finding.severity)))
