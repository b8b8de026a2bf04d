"""Quantile regression: predicted quantiles of each row, and the intervals between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.curves.lazy_curves import QuantileCurves
from calipers.data.arrays import to_quantities
from calipers.data.errors import InputError
from calipers.data.multioutput import to_outputs
from calipers.data.quantiles import (
    is_one_system,
    to_joint_members,
    to_members,
    to_quantiles,
)
from calipers.evaluation.finding_inputs import from_quantiles
from calipers.evaluation.problems.regression import RegressionProblem
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, named_systems
from calipers.evaluation.visible_rows import visible_rows
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import EnsembleRows
from calipers.systems.base import NAN

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Finding
    from calipers.systems.quantiles import EnsembleOutput, JointEnsembleOutput, QuantileOutput


@dataclass(frozen=True, eq=False)
class QuantileProblem(RegressionProblem):
    """Prediction of quantiles of a number, evaluated by accuracy and coverage."""

    kind: ClassVar[str] = "quantiles"

    def systems(self, batch: Batch, settings: Settings) -> dict[str, QuantileOutput]:  # type: ignore[override]
        """Return the systems on a batch of rows, all with the same levels."""
        from calipers.systems.quantiles import QuantileOutput

        target, repeats = to_quantities(batch["truth"], "truth"), batch.frequencies
        outputs, row_fields = batch["quantiles"], (batch.weights, settings, batch.clusters)
        systems: dict[str, QuantileOutput] = {}
        naive_errors = self.naive_errors(batch, len(target))
        outputs = {DEFAULT_SYSTEM_NAME: outputs} if is_one_system(outputs) else outputs
        for name, columns in named_systems(outputs, "quantiles").items():
            levels, values = to_quantiles(columns, column_name("quantiles", name), len(target))
            systems[name] = QuantileOutput(
                name,
                repeats(target),
                levels,
                repeats(values),
                *row_fields,
                naive_errors=naive_errors,
            )
        _check_levels(systems)
        return systems

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the default measures; of prediction intervals those of the widest."""
        levels = next(iter(systems.values())).levels
        interval_measures = _interval_measures(systems)
        return [
            "mean-pinball",
            *(interval_measures or [f"quantile-coverage@{a:.10g}" for a in levels[:3]]),
        ]

    def auxiliary_measures(self, systems: Mapping[str, Any]) -> Sequence[tuple[str, Measure]]:
        """Return the pairs (system, coverage of a central interval), which findings are about."""
        return [
            (name, parse(f"interval-coverage@{level:.10g}", "quantiles"))
            for name, system in systems.items()
            for level in system.quantile_rows.nominal_coverages
        ]

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the levels of the quantiles."""
        levels = next(iter(sample.template_systems.values())).levels
        return {"levels": list(levels), **super().conventions(sample)}

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings of predicted quantiles."""
        return from_quantiles(sample, results)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return curves of calibration and sharpness."""
        visible = visible_rows(sample) if options.curves else None
        return {"curves": () if visible is None else QuantileCurves(list(visible.systems.values()))}

    # --- Streams ---------------------------------------------------------------------------------

    look = Problem.look  # quantiles leave no residuals

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the loss of the mean of the truth for measures of a number, else NaN.

        Quantiles of the truth would need all rows.
        """
        is_point_measure = measure.definition.reads == "numbers"
        return super().constant(sample, system, measure) if is_point_measure else NAN


@dataclass(frozen=True, eq=False)
class EnsembleProblem(QuantileProblem):
    """Prediction of a number by the members of an ensemble, or samples of a distribution."""

    kind: ClassVar[str] = "ensembles"

    def systems(self, batch: Batch, settings: Settings) -> dict[str, EnsembleOutput]:  # type: ignore[override]
        """Return the systems on a batch of rows."""
        from calipers.systems.quantiles import EnsembleOutput

        target, repeats = to_quantities(batch["truth"], "truth"), batch.frequencies
        outputs, row_fields = batch["ensemble"], (batch.weights, settings, batch.clusters)
        outputs = {DEFAULT_SYSTEM_NAME: outputs} if is_one_system(outputs) else outputs
        naive_errors, truth = self.naive_errors(batch, len(target)), repeats(target)
        systems = {}
        for name, table in named_systems(outputs, "ensemble").items():
            members = to_members(table, column_name("ensemble", name), len(target))
            rows = EnsembleRows.from_members(repeats(members))
            systems[name] = EnsembleOutput(
                name, truth, rows.levels, rows.values, *row_fields, naive_errors=naive_errors
            )
        return systems

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the default measures; of prediction intervals those of the widest."""
        return ["CRPS", *_interval_measures(systems)]

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the number of members of each system."""
        sizes = {name: len(s.levels) for name, s in sample.template_systems.items()}
        return {"members": sizes, **RegressionProblem.conventions(self, sample)}


def _interval_measures(systems: Mapping[str, Any]) -> list[str]:
    """Return the measures of the widest central prediction interval of all systems, if any."""
    first, *others = (system.quantile_rows.nominal_coverages for system in systems.values())
    widest = [level for level in first if all(level in reached for reached in others)][:1]
    kinds = ("interval-score", "interval-coverage", "mean-width")
    return [f"{kind}@{level:.10g}" for level in widest for kind in kinds]


def _check_levels(systems: Mapping[str, QuantileOutput]) -> None:
    """Check that all systems predict quantiles at the same levels."""
    first, *others = systems.values()
    for system in others:
        if system.levels != first.levels:
            a, b = (", ".join(f"{x:g}" for x in s.levels) for s in (first, system))
            raise InputError(
                f"quantiles: {first.name} has the levels {a}, {system.name} has {b}; systems are "
                "compared at the same levels"
            )


@dataclass(frozen=True, eq=False)
class JointEnsembleProblem(Problem):
    """Prediction of several outputs together, by the members of an ensemble."""

    task = "regression"
    names: tuple[str, ...]

    def systems(self, batch: Batch, settings: Settings) -> dict[str, JointEnsembleOutput]:
        """Return the systems on rows in memory."""
        from calipers.systems.quantiles import JointEnsembleOutput

        target, repeats = to_outputs(batch["truth"], "truth", self.names), batch.frequencies
        outputs = batch["ensemble"]
        is_single = not isinstance(outputs, Mapping) or set(map(str, outputs)) == set(self.names)
        systems = {}
        by_system = {DEFAULT_SYSTEM_NAME: outputs} if is_single else outputs
        for name, table in named_systems(by_system, "ensemble").items():
            input_name = column_name("ensemble", name)
            members = to_joint_members(table, input_name, self.names, len(target))
            systems[name] = JointEnsembleOutput(
                name=name,
                outputs=self.names,
                truth=repeats(target),
                members=repeats(members),
                **batch.shared_columns(settings),
            )
        return systems

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the scores of all outputs together."""
        return ("energy-score", "variogram-score")

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the outputs, and the number of members of each system."""
        sizes = {name: s.members.shape[1] for name, s in sample.template_systems.items()}
        return {"outputs": list(self.names), "members": sizes}
