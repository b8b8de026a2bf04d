"""One predicted number a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from calipers.caching import kept
from calipers.curves.lazy_curves import ResidualCurves
from calipers.data.arrays import as_quantities
from calipers.evaluation.constants import Constant, lost
from calipers.evaluation.finding_inputs import of_numbers
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import columns_of
from calipers.inference.clusters import Clusters
from calipers.measures.regression import squared, weighted_mean
from calipers.statistics import Largest, LookedAt, Moments, Several
from calipers.systems.base import NAN
from calipers.systems.regression import Predictions

if TYPE_CHECKING:
    from calipers.engines.pass_tasks import Built
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import Sample, Told
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Finding

DEFAULT_MEASURES = ("RMSE", "MAE", "R2")


@dataclass(frozen=True, eq=False)
class Numbers(Problem):
    """How near predicted numbers come to the truth."""

    task = "regression"
    kind: ClassVar[str] = "numbers"

    def systems(self, batch: Batch, settings: Settings) -> dict[str, Predictions]:
        """The systems on some rows."""
        target, counted = as_quantities(batch["truth"], "truth"), batch.frequencies
        columns = columns_of(batch["predicted"], "predicted", len(target), as_quantities)
        rows = batch.weights, settings, batch.clusters
        truth = counted(target)
        return {n: Predictions(n, truth, counted(said), *rows) for n, said in columns.items()}

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """The usual losses."""
        return DEFAULT_MEASURES

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...]:
        """What there is to say of predicted numbers."""
        seen = looked_at(sample)
        return of_numbers(sample, told) if seen is None else of_numbers(sample, told, *seen)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Curves of residuals; of many rows in batches, of those that are looked at."""
        seen = sample.rows
        if options.curves and seen is None:
            found = looked_at(sample)
            seen = None if found is None else found.systems
        drawn = options.curves and seen
        return {"curves": ResidualCurves({"": list(seen.values())}) if drawn else ()}  # type: ignore[union-attr]

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Of how many rows residuals are looked at."""
        found = None if sample.rows is not None else _seen(sample)
        if found is None or found.whole:
            return ()
        number = f"{len(found.number):,} of {found.rows:,} rows"
        return (f"Findings on residuals, and their curves, look at {number}, spread evenly.",)

    # --- Streams ---------------------------------------------------------------------------------

    looks_at_rows = True

    def look(self, built: Built, level: int = 0) -> Several:
        """The numbers and the predictions of some rows, what they weigh, and their clusters; and
        the largest residuals of each system."""
        systems: list[Any] = list(built.systems.values())
        one, columns = systems[0], [system.predicted for system in systems]
        beside = [np.ones(len(one.truth)) if one.weight is None else one.weight]
        beside += [] if one.clusters is None else [one.clusters.code]
        assert built.numbers is not None
        some = LookedAt.of(built.numbers, [one.truth, *columns, *beside], level)
        apart = (column - one.truth for column in columns)
        return Several((some, *(Largest.of(built.numbers, of, one.weight) for of in apart)))

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> Moments:
        """The moments of the truth."""
        one = next(iter(systems.values()))
        return Moments.from_rows(one.truth, one.weight)

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """What the mean of the truth loses where that is the best constant answer: in one more look
        at the truth, or, of squares where there is none, as its variance has it. (A median would
        take all rows.)"""
        if measure.definition.skill_of is not None:
            return 0.0 if np.isfinite(sample.reading(system, measure).value) else NAN
        by_mean = [m for m in sample.measures if m.definition.constant is weighted_mean]
        if measure not in by_mean:
            return NAN
        if not sample.rereadable:
            return _of_squares(sample.passes.passed.beside, measure)

        def compute() -> dict[Measure, float]:
            mean = sample.passes.passed.beside.mean
            constants = [Constant(m, mean) for m in by_mean]
            found = lost(sample, constants, partial(as_quantities, what="truth"))
            return {m: float(m.apply(of)) for m, of in zip(by_mean, found, strict=True)}

        return kept(sample.passes, "constant", compute)[measure]


def _seen(sample: Any) -> LookedAt | None:
    """The rows that are looked at of those that come in batches, where there are any."""
    found = sample.passes.passed.seen
    some: LookedAt | None = found.parts[0] if isinstance(found, Several) else None
    return some if some is not None and len(some.number) else None


class Seen(NamedTuple):
    """The systems on the rows that are looked at; what these are called where they are all that
    there are; and the largest residuals of each system where they are not."""

    systems: dict[str, Predictions]
    named: Callable[[int], str] | None
    largest: dict[str, Largest]


def looked_at(sample: Any) -> Seen | None:
    """What is seen of rows in batches; None where rows are in memory, or gone."""
    found = None if sample.rows is not None else _seen(sample)
    if found is None:
        return None
    names, columns, settings = sample.systems, iter(found.columns.T), sample.settings
    truth, *said = (np.ascontiguousarray(next(columns)) for _ in range(1 + len(names)))
    given = np.ascontiguousarray(next(columns))
    weight = given if np.ptp(given) > 0 else None
    clusters = None
    if sample.columns.cluster is not None:
        code = next(columns).astype(np.uint32)
        clusters = Clusters(code, int(code.max()) + 1, weight)
    made = zip(names, said, strict=True)
    rows = weight, settings, clusters
    systems = {name: Predictions(name, truth, own, *rows) for name, own in made}
    if sample.columns.count is not None:  # rows that count often have no number of their own
        return Seen(systems, None, {})
    if found.whole:
        return Seen(systems, lambda row: f"row {found.number[row]}", {})
    largest = sample.passes.passed.seen.parts[1:]
    return Seen(systems, None, dict(zip(names, largest, strict=True)))


def _of_squares(truth: Moments, measure: Measure) -> float:
    """What its mean loses, where a loss is a square; NaN of others."""
    if measure.definition.rows is not squared or not truth.weight > 0:
        return NAN
    return float(measure.apply(replace(truth, mean=truth.m2 / truth.weight)))
