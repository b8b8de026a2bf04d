"""One predicted number a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.curves.planned import ResidualCurves
from calipers.data.arrays import as_quantities
from calipers.evaluate.constants import Constant, lost
from calipers.evaluate.sample import Problem
from calipers.evaluate.shared import columns_of
from calipers.evaluate.subjects import of_numbers
from calipers.measures.regression import squared, weighted_mean
from calipers.once import kept
from calipers.statistics import FloatArray, Moments
from calipers.systems.base import NAN
from calipers.systems.regression import Predictions

if TYPE_CHECKING:
    from calipers.evaluate.batch import Batch
    from calipers.evaluate.sample import Sample, Told
    from calipers.evaluate.stream_columns import Columns
    from calipers.evaluation.options import Options
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
        return of_numbers(sample, told)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Curves of residuals, of rows in memory."""
        drawn = options.curves and sample.rows
        return {"curves": ResidualCurves({"": list(sample.rows.values())}) if drawn else ()}  # type: ignore[union-attr]

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: Columns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, Predictions]:
        """Systems on two rows of zeros."""
        none = np.zeros(2)
        return {name: Predictions(name, none, none, None, settings) for name in columns.systems}

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


def _of_squares(truth: Moments, measure: Measure) -> float:
    """What its mean loses, where a loss is a square; NaN of others."""
    if measure.definition.rows is not squared or not truth.weight > 0:
        return NAN
    return float(measure.apply(replace(truth, mean=truth.m2 / truth.weight)))
