"""Multi-output regression: several predicted numbers per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached
from calipers.curves.lazy_curves import ResidualCurves
from calipers.data.class_probabilities import is_table, probability_columns
from calipers.data.errors import InputError
from calipers.data.multioutput import output_names, to_outputs
from calipers.evaluation.constants import ConstantPrediction, constant_losses
from calipers.evaluation.finding_inputs import from_multioutput
from calipers.evaluation.problems.regression import constant_squared_loss
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, expand_defaults, named_systems
from calipers.evaluation.visible_rows import row_sample_notes, visible_rows
from calipers.lazy_dataclasses import dataclass
from calipers.measures import TASKS, Measure, parse
from calipers.measures.averages import weighted_output_mean
from calipers.measures.regression import weighted_mean
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import Moments, StatisticVector
from calipers.systems.base import NAN, check_named_classes

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import MeasureNames, Options
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.inference.settings import Settings
    from calipers.results import Finding
    from calipers.statistics import FloatArray
    from calipers.systems.multioutput import MultioutputRegression

#: R² comes first as it has no unit: a mean of RMSEs in euros and in metres says nothing.
DEFAULT_MEASURES = ("macro-R2", "R2", "RMSE", "MAE")

#: Of more outputs there are no curves and findings of each, and only averages are shown where no
#: measures are named.
MAX_SHOWN_OUTPUTS = 10
AVERAGE_MEASURES = ("macro-R2", "variance-weighted-R2")


@dataclass(frozen=True, eq=False)
class MultioutputProblem(Problem):
    """Prediction of several numbers for each row."""

    task = "regression"
    kind: ClassVar[str] = "several outputs"

    names: tuple[str, ...]

    @classmethod
    def from_columns(cls, truth: Any, names: Sequence[Any] | None) -> MultioutputProblem:
        """Build the problem from the columns of the truth, under these names if given."""
        return cls(output_names(truth, names))

    @property
    def shown_outputs(self) -> tuple[str, ...]:
        """Outputs that are examined one by one."""
        return () if len(self.names) > MAX_SHOWN_OUTPUTS else self.names

    def systems(self, batch: Batch, settings: Settings) -> dict[str, MultioutputRegression]:
        """Return the systems on a batch of rows."""
        from calipers.systems.multioutput import MultioutputRegression

        target, repeats = to_outputs(batch["truth"], "truth", self.names), batch.frequencies
        predictions, rows = batch["predicted"], (batch.weights, settings, batch.clusters)
        predictions = (
            {DEFAULT_SYSTEM_NAME: predictions}
            if _is_one_system(predictions, self.names)
            else predictions
        )
        truth, systems = repeats(target), {}
        for name, table in named_systems(predictions, "predicted").items():
            predicted = to_outputs(table, column_name("predicted", name), self.names, len(target))
            systems[name] = MultioutputRegression(
                name, self.names, truth, repeats(predicted), *rows
            )
        return systems

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """Return the requested measures, of each output unless they name one."""
        return select_output_measures(
            options.measures,
            self.names,
            DEFAULT_MEASURES if self.shown_outputs else AVERAGE_MEASURES,
        )

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the outputs."""
        return {"outputs": list(self.names)}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on the units of averages and on the rows of findings and curves."""
        return (
            *_unit_notes(sample.measures),
            *(row_sample_notes(sample) if self.shown_outputs else ()),
        )

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings of predictions of several outputs."""
        return from_multioutput(self.shown_outputs, sample, results)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return curves of the residuals of each output."""
        visible = visible_rows(sample) if options.curves and self.shown_outputs else None
        if visible is None:
            return {"curves": ()}
        systems = visible.systems.values()
        return {
            "curves": ResidualCurves(
                {o: [s.single_output(o) for s in systems] for o in self.shown_outputs}
            )
        }

    # --- Streams ---------------------------------------------------------------------------------

    looks_at_rows = True

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> StatisticVector:
        """Return the moments of the truth of each output."""
        system = next(iter(systems.values()))
        return StatisticVector(
            tuple(Moments.from_rows(column, system.weight) for column in system.truth.T)
        )

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the loss of the means of the truth, if these are the best constant predictions.

        It takes one more pass over the truth; if rows cannot be read again, squared losses follow
        from the variances. A skill score is 0. (Medians would need all rows.)
        """
        if measure.definition.skill_of is not None:
            return 0.0 if np.isfinite(sample.point_estimate(system, measure).value) else NAN
        mean_measures = dict.fromkeys(
            m.plain for m in sample.measures if m.definition.constant_prediction is weighted_mean
        )
        if measure.plain not in mean_measures:
            return NAN

        def compute() -> dict[Measure, FloatArray]:
            outputs = sample.passes.first_pass_result.auxiliary.components
            means = [moments.mean for moments in outputs]
            if not sample.is_rereadable:
                return {
                    m: np.array([constant_squared_loss(moments, m) for moments in outputs])
                    for m in mean_measures
                }
            constants = [
                ConstantPrediction(m, mean, output_index)
                for m in mean_measures
                for output_index, mean in enumerate(means)
            ]
            truth = partial(to_outputs, input_name="truth", outputs=self.names)
            losses = iter(constant_losses(sample, constants, truth))
            return {
                m: np.array([float(m.apply(next(losses))) for _ in means]) for m in mean_measures
            }

        key = ("constant", *mean_measures)
        output_losses = cached(sample.passes, key, compute)[measure.plain]
        if measure.label is not None:
            return float(output_losses[self.names.index(measure.label)])
        return float(weighted_output_mean(measure.among, output_losses[measure.picked(self.names)]))

    @property
    def plan(self) -> dict[str, Any]:
        """Parameters of the problem: its outputs."""
        return {"classes": self.names}


def _is_one_system(predictions: Any, outputs: Sequence[str]) -> bool:
    """Return whether these are the columns of one system rather than systems by name."""
    if not isinstance(predictions, Mapping) or any(map(is_table, predictions.values())):
        return not isinstance(predictions, Mapping)
    return len(outputs) > 1 or set(probability_columns(predictions)) == set(outputs)


def select_output_measures(
    requested: MeasureNames | None, outputs: Sequence[str], default: Sequence[str]
) -> list[Measure]:
    """Return the requested measures without duplicates, for every output unless they name one."""
    measures = [
        name if isinstance(name, Measure) else parse(name, TASKS["regression"])
        for name in expand_defaults(requested, default)
    ]
    return list(dict.fromkeys(m for measure in measures for m in _expand_outputs(measure, outputs)))


def _expand_outputs(measure: Measure, outputs: Sequence[str]) -> Iterator[Measure]:
    if measure.definition.task != "regression":
        raise InputError(f"{measure} is a measure of {measure.definition.family}, not of outputs")
    if measure.definition.reads != "numbers":
        raise InputError(f"{measure} is of predicted quantiles, which are of one output")
    check_named_classes(measure, outputs, "output")
    if measure.has_view:
        yield measure
    else:
        yield from (replace(measure, label=output) for output in outputs)


def _unit_notes(measures: Sequence[Measure]) -> Iterator[str]:
    """Yield a note that averages of measures with a unit depend on the largest outputs."""
    unit_measures = [str(m) for m in measures if m.average is not None and m.definition.has_units]
    if unit_measures:
        has, it = ("has", "it is") if len(unit_measures) == 1 else ("have", "they are")
        yield (
            f"{', '.join(unit_measures)} {has} the units of the outputs: where these differ, {it} "
            "decided by the output of the largest numbers. macro-R2 has no unit."
        )
