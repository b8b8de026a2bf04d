"""Uplift: predicted effects of a treatment, on the rows of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.curves.lazy_curves import UpliftCurves
from calipers.data.arrays import check_length, check_values, to_numbers, to_quantities
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import read_system_columns
from calipers.evaluation.visible_rows import row_sample_notes, visible_rows
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import UpliftRows
from calipers.systems.base import NAN
from calipers.systems.uplift import UpliftOutput, random_targeting_value

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray

#: Smallest probability of either arm, so that the weight of a row is not negligible.
MIN_PROPENSITY = 1e-9


@dataclass(frozen=True, eq=False)
class UpliftProblem(Problem):
    """Prediction of the effect of a treatment on each row."""

    task = "uplift"
    kind: ClassVar[str] = "uplift"

    def systems(self, batch: Batch, settings: Settings) -> dict[str, UpliftOutput]:
        """Return the systems on a batch of rows."""
        truth, repeats = batch["truth"], batch.frequencies
        outcome = to_quantities(truth["outcome"], "outcome")
        treatment = to_numbers(truth["treatment"], "treatment").astype(np.float64)
        check_length(treatment, len(outcome), "treatment", "outcome has")
        check_values(treatment, ~np.isin(treatment, (0, 1)), "treatment", "expected 0 or 1")
        row_fields = batch.shared_columns(settings)
        if "propensity" in truth:
            weight = repeats(_propensity_weights(truth["propensity"], treatment))
            weight = weight if batch.weights is None else weight * batch.weights
            row_fields["weight"] = weight
            if batch.clusters is not None:
                row_fields["clusters"] = replace(batch.clusters, weight=weight)
        columns = read_system_columns(batch["score"], "score", len(outcome), to_quantities)
        shared = {"truth": repeats(outcome), "treatment": repeats(treatment), **row_fields}
        return {
            name: UpliftOutput(name=name, score=repeats(score), **shared)
            for name, score in columns.items()
        }

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the areas, and the uplift among 30% of the rows."""
        return ("Qini", "AUUC", "uplift@0.3")

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return the curves; for a long stream they are drawn from the sampled rows."""
        visible = visible_rows(sample) if options.curves else None
        return {"curves": () if visible is None else UpliftCurves(list(visible.systems.values()))}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on the rows that curves are based on."""
        return row_sample_notes(sample)

    # --- Streams ---------------------------------------------------------------------------------

    looks_at_rows = True

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, Any]:
        """Return systems on two artificial rows, a treated one and one of the control group."""
        nothing, outputs = np.zeros(2), columns.output_columns["score"]
        treatment = np.array([0.0, 1.0])
        return {
            name: UpliftOutput(
                name=name, settings=settings, truth=nothing, treatment=treatment, score=nothing
            )
            for name in outputs
        }

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the value of targeting rows at random."""
        statistic = sample.passes.statistics.get((system, measure))
        is_known = isinstance(statistic, UpliftRows)
        return random_targeting_value(measure, statistic) if is_known else NAN


def _propensity_weights(values: Any, treatment: FloatArray) -> FloatArray:
    """Return one over the probability of each row to be in the arm that it is in."""
    propensity = to_numbers(values, "propensity").astype(np.float64)
    check_length(propensity, len(treatment), "propensity", "outcome has")
    is_possible = (propensity >= MIN_PROPENSITY) & (propensity <= 1 - MIN_PROPENSITY)
    expected = f"expected a probability from {MIN_PROPENSITY:g} to 1 - {MIN_PROPENSITY:g}"
    check_values(propensity, ~is_possible, "propensity", expected)
    return np.asarray(1 / np.where(treatment > 0, propensity, 1 - propensity))
