"""Measures of scores averaged over classes or labels, each against the rest.

The weights of the average are taken as fixed, so that a row moves it by the weighted sum of what it
moves the parts by, of all classes together: that is how its error knows that they share rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from calipers.evaluate.classification import System
from calipers.evaluate.pairs import paired_error
from calipers.inference import intervals
from calipers.inference.clusters import Clusters
from calipers.inference.contrast import Contrast, Error
from calipers.inference.estimate import Settings, normal_of, percentile
from calipers.inference.influence import influence, row_error
from calipers.inference.intervals import Interval
from calipers.inference.of_scores import asked_of_influence
from calipers.measures import Measure
from calipers.once import cached_property
from calipers.results import Estimate
from calipers.statistics import FloatArray

#: What a class or a label counts for, and its scores.
Part = tuple[float, System]


def parts_of(measure: Measure, shares: FloatArray, systems: Iterable[System]) -> Iterator[Part]:
    """The classes that have rows, by their shares of the rows or alike; weights add up to 1."""
    own = shares if measure.average == "weighted" else (shares > 0).astype(np.float64)
    own = own / own.sum() if own.any() else own
    return ((float(w), one) for w, one in zip(own, systems, strict=True) if w > 0)


@dataclass(frozen=True, eq=False)
class ScoreAverage:
    """The weighted mean of a measure of scores over parts that share their rows."""

    measure: Measure
    parts: tuple[Part, ...]
    name: str
    rows: int
    weight: FloatArray | None
    clusters: Clusters | None
    settings: Settings

    @cached_property
    def value(self) -> float:
        """The average; NaN where no class has rows."""
        if not self.parts:
            return float("nan")
        return sum(w * float(self.measure.plain.apply(part.table)) for w, part in self.parts)

    @cached_property
    def moved(self) -> FloatArray | None:
        """How much each row moves the average, times its weight; None where that is not known."""
        out = np.zeros(self.rows)
        for w, part in self.parts:
            found = influence(self.measure.plain, part.table)
            if found is None:
                return None
            of_row = found.of_rows(part.labels.positive, part.order)
            of_row *= _corrections(part)[part.labels.positive.astype(np.intp)]
            out += w * of_row.reshape(self.rows, -1).sum(axis=1)
        return out if self.weight is None else out * self.weight

    @cached_property
    def replicates(self) -> FloatArray:
        """Bootstrap replicates, the same rows drawn for every part and system."""
        if not self.parts:
            return np.full(self.settings.resamples, np.nan)
        plain = self.measure.plain
        return np.asarray(sum(w * part.drawn_by_row.of(plain) for w, part in self.parts))

    def interval(self) -> Interval:
        """That asked for by name; from the influence of rows, on the logit scale; else the
        bootstrap."""
        settings, clusters = self.settings, self.clusters
        asked = asked_of_influence(
            self.measure,
            self.value,
            settings,
            lambda: self.replicates,
            lambda: self.moved,
            clusters,
        )
        if asked is not None:
            return asked
        by_error = not settings.prefers_bootstrap and bool(np.isfinite(self.value))
        moved = self.moved if by_error else None
        refused = settings.refuses(self.value, bootstrap=moved is None)
        if refused is not None:
            return refused
        if moved is None:
            return percentile(self.replicates, settings, clusters)
        area, (low, high) = self.measure.definition.name == "AUC", self.measure.definition.range
        se = row_error(moved, clusters=clusters)
        if clusters is not None or (low, high) != (0, 1):
            name = "delta" if not area else "DeLong" if clusters is None else "Obuchowski"
            return normal_of(self.value, se, settings, clusters, name).within(low, high)
        name = "DeLong, logit" if area else "delta, logit"
        if np.isnan(se):
            return intervals.missing(name, "too_few_rows")
        if not (se > 0 and 0 < self.value < 1):
            return intervals.missing(name, "area_at_its_limit")
        return intervals.on_logit(self.value, se, settings.level, name)

    def estimate(self) -> Estimate:
        """The average with its interval."""
        plain, made = self.measure.plain, self.interval()
        why = "no_occurring_class" if not self.parts else None
        if any(where for _, part in self.parts for where in plain.reasons(part.table).values()):
            why = "class_without_value"
        constant = sum(w * float(plain.apply(part.table.constant())) for w, part in self.parts)
        return Estimate(
            measure=str(self.measure),
            value=self.value,
            low=made.low,
            high=made.high,
            level=self.settings.level,
            method=made.method,
            n=self.rows if why is None else 0,
            of=self.rows,
            undefined={} if why is None else {why: self.rows},
            no_interval=made.reason,
            default=constant if self.parts else float("nan"),
            system=self.name,
        )

    def minus(self, other: ScoreAverage) -> Contrast:
        """What is known of how the difference of two systems on the same rows varies."""
        clusters = self.clusters
        known = bool(np.isfinite(self.value)) and self.moved is not None

        def error() -> Error | Interval:
            if self.moved is None or other.moved is None:
                return intervals.missing("none", "no_analytic_interval")
            se = row_error(self.moved - other.moved, clusters=clusters)
            if self.measure.definition.name != "AUC":
                return paired_error(se, "delta, paired", clusters)
            return paired_error(se, "DeLong, paired", clusters, "Obuchowski, paired")

        return Contrast(
            value=self.value - other.value,
            n=self.rows,
            settings=self.settings,
            usual="error" if known else "replicates",
            higher_is_better=self.measure.definition.higher_is_better,
            error=error if known else None,
            replicates=lambda: self.replicates - other.replicates,
            clusters=clusters,
        )


def _corrections(part: System) -> FloatArray:
    """√(n/(n − 1)) for the effective number n of negative and of positive rows; NaN of one row,
    which says nothing of how rows vary."""
    table, out = part.table, np.full(2, np.nan)
    for at, (weight, squares) in enumerate(
        ((table.negative, table.negative_squares), (table.positive, table.positive_squares))
    ):
        n = float(weight.sum() ** 2 / squares.sum()) if weight.any() else 0.0
        out[at] = np.sqrt(n / (n - 1)) if n > 1 else np.nan
    return out
