"""One predicted number a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

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
from calipers.statistics import LookedAt, Moments, NumberRows
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
            seen = None if found is None else found[0]
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

    def look(self, built: Built, level: int = 0) -> LookedAt:
        """The numbers and the predictions of some rows, what they weigh, and their clusters."""
        systems: list[Any] = list(built.systems.values())
        one, columns = systems[0], [system.predicted for system in systems]
        beside = [np.ones(len(one.truth)) if one.weight is None else one.weight]
        beside += [] if one.clusters is None else [one.clusters.code]
        assert built.numbers is not None
        return LookedAt.of(built.numbers, [one.truth, *columns, *beside], level)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> Moments:
        """The moments of the truth."""
        one = next(iter(systems.values()))
        return Moments.from_rows(one.truth, one.weight)

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """What the mean of the truth loses where that is the best constant answer: in one more look
        at the truth, or, of squares where there is none, as its variance has it. A median takes all
        rows, and is known where these are few, or gathered for what needs them by size."""
        if measure.definition.skill_of is not None:
            return 0.0 if np.isfinite(sample.reading(system, measure).value) else NAN
        by_mean = [m for m in sample.measures if m.definition.constant is weighted_mean]
        if measure not in by_mean:
            rows = _all_rows(sample)
            return NAN if rows is None else float(rows.constant(measure))
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
    return found if isinstance(found, LookedAt) and len(found.number) else None


def looked_at(
    sample: Any,
) -> tuple[dict[str, Predictions], Callable[[int], str] | None] | None:
    """The systems on those rows, and what these are called where they are all that there are; None
    where rows are in memory, or gone."""
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
    known = found.whole and sample.columns.count is None
    return systems, (lambda row: f"row {found.number[row]}") if known else None


def _all_rows(sample: Any) -> Predictions | None:
    """The truth of all rows in batches, where it is there."""

    def made() -> Predictions | None:
        passes, settings = sample.passes, sample.settings
        for of in passes.held.values():
            if isinstance(of, NumberRows):
                weight = of.weight if passes.passed.weight.uneven else None
                return Predictions("", of.truth, of.truth, weight, settings, None)
        seen = _seen(sample)
        if seen is None or not seen.whole:
            return None
        truth, given = seen.columns[:, 0], seen.columns[:, 1 + len(sample.systems)]
        weight = given if np.ptp(given) > 0 else None
        return Predictions("", truth, truth, weight, settings, None)

    return kept(sample.passes, "all rows", made)


def _of_squares(truth: Moments, measure: Measure) -> float:
    """What its mean loses, where a loss is a square; NaN of others."""
    if measure.definition.rows is not squared or not truth.weight > 0:
        return NAN
    return float(measure.apply(replace(truth, mean=truth.m2 / truth.weight)))
