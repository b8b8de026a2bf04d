"""Regression: one predicted number per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached
from calipers.curves.lazy_curves import ResidualCurves
from calipers.data.arrays import to_quantities
from calipers.data.training_series import TrainingSeries
from calipers.evaluation.constants import ConstantPrediction, constant_losses
from calipers.evaluation.finding_inputs import from_regression
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import read_system_columns
from calipers.evaluation.visible_rows import row_sample_notes, sample_batch_rows, visible_rows
from calipers.lazy_dataclasses import dataclass
from calipers.measures.regression import squared_error, weighted_mean
from calipers.statistics import LargestResiduals, Moments, NumericRows
from calipers.systems.base import NAN
from calipers.systems.regression import RegressionOutput

if TYPE_CHECKING:
    from typing_extensions import Self

    from calipers.engines.pass_tasks import BatchSystems
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Finding
    from calipers.statistics import FloatArray

DEFAULT_MEASURES = ("RMSE", "MAE", "R2")
SERIES_NOTE = (
    "Rows of a series are dependent: the clusters are the series. cluster= or time= states another "
    "dependence."
)


@dataclass(frozen=True, eq=False)
class RegressionProblem(Problem):
    """Prediction of a number for each row."""

    task = "regression"
    kind: ClassVar[str] = "numbers"

    #: Training series of forecasts, on which the errors of naive forecasts are known.
    training: TrainingSeries | None = None
    #: Whether rows of a series are a cluster because no other clusters, nor times, are known.
    has_series_clusters: bool = False

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> Self:
        """Build the problem of the statistics in a state, which has no row of any series."""
        if "season" not in plan:
            return cls()
        return cls(TrainingSeries((), np.ones((1, 2)), plan["season"]))

    @property
    def plan(self) -> dict[str, Any]:
        """Season of the naive forecasts, and a digest of their errors."""
        if self.training is None:
            return {}
        return {"season": self.training.season, "training": self.training.digest}

    def naive_errors(self, batch: Batch, n_rows: int) -> FloatArray | None:
        """Return the errors of the naive forecast on the training series of each row, if known."""
        if self.training is None:
            return None
        row_errors: FloatArray = batch.frequencies(
            self.training.row_errors(batch["series"], n_rows)
        )
        return row_errors

    def systems(self, batch: Batch, settings: Settings) -> dict[str, RegressionOutput]:
        """Return the systems on a batch of rows."""
        target, repeats = to_quantities(batch["truth"], "truth"), batch.frequencies
        columns = read_system_columns(batch["predicted"], "predicted", len(target), to_quantities)
        row_fields = batch.weights, settings, batch.clusters
        truth, naive_errors = repeats(target), self.naive_errors(batch, len(target))
        return {
            n: RegressionOutput(
                n, truth, repeats(predicted), *row_fields, naive_errors=naive_errors
            )
            for n, predicted in columns.items()
        }

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the default losses."""
        return DEFAULT_MEASURES

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings of predicted numbers."""
        return from_regression(sample, results)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return curves of residuals; for a long stream they are drawn from the sampled rows."""
        visible = visible_rows(sample) if options.curves else None
        return {
            "curves": ()
            if visible is None
            else ResidualCurves({"": list(visible.systems.values())})
        }

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on clusters, and on the rows that findings and curves are based on."""
        return (*self.series_notes(), *row_sample_notes(sample))

    def series_notes(self) -> Sequence[str]:
        """Return a note on the series that are clusters."""
        return (SERIES_NOTE,) if self.has_series_clusters else ()

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the season of naive forecasts."""
        return {} if self.training is None else {"season": self.training.season}

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, Any]:
        """Return systems on artificial rows, which are of no series."""
        if self.training is not None and self.training.names:
            outputs = {k: v for k, v in columns.output_columns.items() if k != "series"}
            first_series = replace(self.training, names=())
            return replace(self, training=first_series).template(
                replace(columns, output_columns=outputs), settings, sizes
            )
        return super().template(columns, settings, sizes)

    looks_at_rows = True

    def look(self, batch_systems: BatchSystems, sampling_level: int = 0) -> Any:
        """Return sampled rows, and the largest residuals of each system."""
        systems: Any = batch_systems.systems.values()
        assert batch_systems.row_indices is not None
        largest = [
            LargestResiduals.from_rows(batch_systems.row_indices, s.predicted - s.truth, s.weight)
            for s in systems
        ]
        return sample_batch_rows(batch_systems, sampling_level, largest)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> Moments:
        """Return the moments of the truth."""
        system = next(iter(systems.values()))
        return Moments.from_rows(system.truth, system.weight)

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the loss of the mean of the truth, if that is the best constant prediction.

        It takes one more pass over the truth; if rows cannot be read again, a squared loss follows
        from the variance. A median needs all rows, and is known if these are few, or stored for a
        measure that orders them.
        """
        if None in measure.parameters.values():  # errors of series are not read again
            return NAN
        if measure.definition.skill_of is not None:
            return 0.0 if np.isfinite(sample.point_estimate(system, measure).value) else NAN
        mean_measures = [
            m for m in sample.measures if m.definition.constant_prediction is weighted_mean
        ]
        if measure not in mean_measures:
            rows = _truth_in_memory(sample)
            return NAN if rows is None else float(rows.constant_value(measure))
        if not sample.is_rereadable:
            return constant_squared_loss(sample.passes.first_pass_result.auxiliary, measure)

        def compute() -> dict[Measure, float]:
            mean = sample.passes.first_pass_result.auxiliary.mean
            constants = [ConstantPrediction(m, mean) for m in mean_measures]
            losses = constant_losses(sample, constants, partial(to_quantities, input_name="truth"))
            return {
                m: float(m.apply(moments)) for m, moments in zip(mean_measures, losses, strict=True)
            }

        return cached(sample.passes, ("constant", *mean_measures), compute)[measure]


def _truth_in_memory(sample: Any) -> RegressionOutput | None:
    """Return the truth of all rows in batches, if it is in memory."""

    def find_rows() -> RegressionOutput | None:
        passes, settings = sample.passes, sample.settings
        for statistic in passes.all_statistics.values():
            if isinstance(statistic, NumericRows):
                weight = (
                    statistic.weight
                    if passes.first_pass_result.weight.has_unequal_weights
                    else None
                )
                return RegressionOutput(
                    "", statistic.truth, statistic.truth, weight, settings, None
                )
        visible = visible_rows(sample)
        if visible is None or not visible.is_complete:
            return None
        system = next(iter(visible.systems.values()))
        return RegressionOutput("", system.truth, system.truth, system.weight, settings, None)

    return cached(sample.passes, "all rows", find_rows)


def constant_squared_loss(truth: Moments, measure: Measure) -> float:
    """Return the mean loss of the mean of the truth if the loss is squared, else NaN."""
    if measure.definition.row_formula is not squared_error or not truth.weight > 0:
        return NAN
    return float(measure.apply(replace(truth, mean=truth.m2 / truth.weight)))
