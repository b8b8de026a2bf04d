"""Multioutput regression, and averages over outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.estimation.averages import RowSummary
from calipers.estimation.losses import (
    RowLosses,
    estimate_mean_loss,
    loss_derivative,
    loss_influence,
)
from calipers.estimation.regression import MomentRows
from calipers.inference import intervals
from calipers.inference.point_estimate import PointEstimate, weighted_sum
from calipers.inference.resampling import bootstrap_means
from calipers.inference.variance_estimators import Influence
from calipers.lazy_dataclasses import dataclass
from calipers.measures.averages import WEIGHTS, AverageScope, output_weights, weighted_output_mean
from calipers.statistics import FloatArray, Moments, NumericMoments, SkewMoments, StatisticVector
from calipers.systems.base import SystemOutput
from calipers.systems.regression import RegressionOutput, check_naive_error

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class MultioutputLosses:
    """Losses of each row and output, shape (rows, outputs), for averages over outputs.

    The averaged measure is a function of the mean loss of each output, such as RMSE. Let s be the
    derivative of this function at an output, S at the average, x a loss, and k the number of
    outputs. Then the influence of a row on the average is that of a loss Σsx/(kS) of a single
    output, or Σusx/S for outputs with weights u. The mean of these losses is the loss of a single
    output whose measure is the average: for RMSE a, the mean over outputs of a·x/a_j is a².
    Intervals and tests are therefore those of a single output.
    """

    losses: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    def point_estimate(self, measure: Any) -> PointEstimate:
        """Return the point estimate of an average."""
        moments = [Moments.from_rows(column, self.weight) for column in self.losses.T]
        value, coefficients = _average_outputs(measure, moments)
        design = self.weight, self.clusters, self.settings
        estimate = estimate_mean_loss(measure.plain, self.losses @ coefficients, *design)
        if value is None:
            return estimate
        return replace(
            estimate, value=value, replicates=lambda: self._replicates(measure, moments[0])
        )

    def _replicates(self, measure: Any, template: Moments) -> FloatArray:
        means = bootstrap_means(self.losses, self.weight, self.settings, self.clusters)
        replicates: FloatArray = measure.plain.apply(replace(template, mean=means))  # type: ignore[arg-type]
        return weighted_output_mean(measure.among, replicates)


def _average_outputs(measure: Any, moments: Sequence[Moments]) -> tuple[float | None, FloatArray]:
    """Return the average over outputs, and the coefficients of the losses in the combined loss.

    ``moments`` are those of each output. The average is None if it is undefined.
    """
    plain, u = measure.plain, output_weights(measure.among)
    u = np.full(len(moments), 1 / len(moments)) if u is None else u
    values = [float(plain.apply(output)) for output in moments]
    value = float(weighted_output_mean(measure.among, np.array(values)))
    if not np.isfinite(value):
        return None, np.ones(len(moments))
    # Without any loss of an output there is no derivative, and the influence of each row is 0.
    slopes = np.array(
        [loss_derivative(plain, *output) for output in zip(values, moments, strict=True)]
    )
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    average_slope = loss_derivative(plain, value, moments[0])
    return value, u * slopes / average_slope if np.isfinite(average_slope) else u


@dataclass(frozen=True, eq=False)
class StreamedOutputLosses:
    """Losses of each row and output in batches, for averages over outputs.

    The first pass accumulates the moments of each output, the second those of the combined loss.
    """

    losses: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    def batch_statistic(self, measure: Any) -> StatisticVector:
        """Return the moments of each output."""
        return StatisticVector(
            tuple(Moments.from_rows(column, self.weight) for column in self.losses.T)
        )

    def influence(self, measure: Any, total: StatisticVector) -> Influence | None:
        """Return the influence values of the rows on the average."""
        loss_rows = self.combined_loss(measure, total), self.weight, self.clusters
        return loss_influence(measure.plain, *loss_rows, self.combined_moments(measure, total)[1])

    def second_pass_statistic(self, measure: Any, total: StatisticVector) -> Moments:
        """Return the moments of the combined loss."""
        design = self.weight, self.clusters, self.settings
        return RowLosses(self.combined_loss(measure, total), *design).batch_statistic(measure.plain)

    def combined_loss(self, measure: Any, total: StatisticVector) -> FloatArray:
        """Return the combined loss of each row."""
        return np.asarray(self.losses @ _average_outputs(measure, total.components)[1])

    @staticmethod
    def combined_moments(
        measure: Any, total: StatisticVector, moments: Moments | None = None
    ) -> tuple[float | None, Moments]:
        """Return the value, and the moments of the combined loss.

        These moments are the ``moments`` ones, or as far as the moments of the outputs determine
        them.
        """
        value, coefficients = _average_outputs(measure, total.components)
        first, means = total.components[0], np.array([output.mean for output in total.components])
        infinite = max(output.infinite for output in total.components)
        nan = float("nan")
        combined = replace(
            first, mean=float(means @ coefficients), m2=nan, v2=nan, cross=nan, infinite=infinite
        )
        return value, combined if moments is None else moments


@dataclass(frozen=True, eq=False)
class StreamedOutputAverages:
    """Averages over outputs in batches, of measures that need the rows of each output."""

    outputs: Sequence[Any]
    weight: FloatArray | None

    def batch_statistic(self, measure: Any) -> StatisticVector:
        """Return the statistics of each output."""
        return StatisticVector(tuple(output.statistic for output in self.outputs))

    def influence(self, measure: Any, total: StatisticVector) -> Influence | None:
        """Return the influence values of the rows on the average."""
        weights, average_influence = output_weights(measure.among), None
        coefficients = (
            np.full(len(self.outputs), 1 / len(self.outputs)) if weights is None else weights
        )
        for coefficient, output, statistic in zip(
            coefficients, self.outputs, total.components, strict=True
        ):
            output_influence = output.influence(measure.plain, statistic)
            if output_influence is None:
                return None
            average_influence = (
                coefficient * output_influence
                if average_influence is None
                else average_influence + coefficient * output_influence
            )
        return average_influence

    def second_pass_statistic(self, measure: Any, total: StatisticVector) -> Moments | None:
        """Return the moments that determine the skewness of the influence values."""
        average_influence = self.influence(measure, total)
        return (
            None
            if average_influence is None
            else SkewMoments.from_rows(average_influence.corrected.column)
        )

    def point_estimate(
        self,
        measure: Any,
        estimates: Sequence[PointEstimate],
        total: StatisticVector,
        row_summary: RowSummary,
    ) -> PointEstimate:
        """Return the point estimate of an average from those of the outputs."""
        return replace(
            mean_over_outputs(measure, estimates),
            compute_scaled_skewness=lambda: row_summary.skewness,
        )


def mean_over_outputs(measure: Any, terms: Sequence[PointEstimate]) -> PointEstimate:
    """Return the mean of the point estimates of the outputs.

    If any is undefined, so is the mean, for all reasons of the outputs.
    """
    weights = output_weights(measure.among)
    coefficients = [1 / len(terms)] * len(terms) if weights is None else weights.tolist()
    first, undefined = terms[0], {w: n for term in terms for w, n in term.undefined.items()}
    average = weighted_sum(
        list(zip(coefficients, terms, strict=True)),
        kind="largest" if first.kind == "largest" else "average over outputs",
        bounds=first.bounds,
        higher_is_better=first.higher_is_better,
        transform=first.transform,
        undefined=undefined,
    )
    if first.influence is None or undefined:
        return replace(average, influence=None)
    influence = average.influence

    def skewness() -> float:
        average_influence = influence() if influence is not None else None
        return (
            0.0
            if average_influence is None
            else abs(intervals.scaled_skewness(average_influence.influence_values))
        )

    return replace(average, compute_scaled_skewness=skewness)


@dataclass(frozen=True, eq=False)
class JointOutputs(RegressionOutput):
    """All outputs combined into one, whose loss is the mean over outputs of each row's loss."""

    among: AverageScope = None

    def sample_for(self, measure: Measure) -> RowLosses:
        """Return the mean loss of each row."""
        losses = weighted_output_mean(self.among, measure.losses(self.truth, self.predicted))
        return RowLosses(losses, self.weight, self.clusters, self.settings)


@dataclass(frozen=True, eq=False)
class MultioutputRegression(SystemOutput):
    """Predictions of several outputs by one system.

    Attributes
    ----------
    name : str
        Name of the system.
    outputs : tuple of str
        Names of the outputs.
    truth, predicted : array of shape (n, n_outputs)
        True and predicted values.
    weight : array of shape (n,) or None
        Weight of each row.
    settings : Settings
        Settings of inference.
    clusters : ClusterIndex, optional
        Clusters of the rows.
    measures : tuple of Measure, optional
        Requested measures.
    order : TimeOrder, optional
        Time order of the rows.
    """

    name: str
    outputs: tuple[str, ...]
    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = ("truth", "predicted", "weight")
    output_fields: ClassVar = RegressionOutput.output_fields
    needs: ClassVar = RegressionOutput.needs

    def check_measure(self, measure: Measure) -> None:
        """Check that the measure has a number for the error of the naive forecast, if any."""
        check_naive_error(measure, None)
        super().check_measure(measure)

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the truth of each row, and the names of the outputs."""
        return self.truth, {"outputs": list(self.outputs)}

    def single_output(self, output: str) -> RegressionOutput:
        """Return the system of one output."""
        index = self.outputs.index(output)
        system: RegressionOutput = self.cached(
            output, lambda: self._select_columns(RegressionOutput, index)
        )
        return system

    def _select_columns(self, result_type: Any, indices: Any) -> Any:
        """Return some outputs as an object of a kind that takes columns or tables."""
        truth, predicted = (
            np.ascontiguousarray(table[:, indices]) for table in (self.truth, self.predicted)
        )
        if result_type is MomentRows:
            return MomentRows(truth, predicted, self.weight, self.clusters, self.settings)
        return result_type(self.name, truth, predicted, self.weight, self.settings, self.clusters)

    def _ratio_rows(self, measure: Measure) -> MomentRows:
        """Return the outputs of an average of ratios of two means."""
        picked = measure.picked(self.outputs)
        ratio = measure.ratio_columns(self.truth[:, picked], self.predicted[:, picked])
        return MomentRows(*ratio, self.weight, self.clusters, self.settings)

    def _selected_outputs(self, measure: Measure, kind: Any) -> Any:
        """Return the outputs of an average as one object."""
        picked = measure.picked(self.outputs)
        return self.cached((kind, measure.among), lambda: self._select_columns(kind, picked))

    def binary_problem(self, measure: Measure) -> RegressionOutput | None:
        """Return the system of one output, or of all combined for a mean of losses."""
        if measure.label is not None:
            return self.single_output(measure.label)
        d = measure.definition
        if d.statistic is not Moments or d.interval is not None:
            return None
        joint_outputs: JointOutputs = self._selected_outputs(measure, JointOutputs)
        if output_weights(measure.among) is None:
            return joint_outputs
        with_weights = partial(replace, joint_outputs, among=measure.among)
        return self.cached((JointOutputs, WEIGHTS, measure.among), with_weights)

    def sample_for(self, measure: Measure) -> MomentRows | None:
        """Return the moments of truth and predictions, for measures that are functions of them."""
        if measure.definition.relative_to is not None:
            return self.cached(("ratio", measure), lambda: self._ratio_rows(measure))
        return (
            self._selected_outputs(measure, MomentRows)
            if measure.definition.statistic is NumericMoments
            else None
        )

    def terms(self, measure: Measure) -> StreamedOutputLosses | StreamedOutputAverages | None:
        """Return the moments or the rows of the outputs that are averaged."""
        if measure.definition.statistic is Moments:
            picked = measure.picked(self.outputs)
            losses = measure.losses(self.truth[:, picked], self.predicted[:, picked])
            return StreamedOutputLosses(losses, self.weight, self.clusters, self.settings)
        samples = [system.sample_for(measure.plain) for system in self._single_outputs(measure)]
        return StreamedOutputAverages(samples, self.weight)

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of an average over outputs."""
        return self.cached(measure, lambda: self._average(measure))

    def _average(self, measure: Measure) -> PointEstimate:
        design = self.weight, self.clusters, self.settings
        if measure.definition.statistic is Moments:
            picked = measure.picked(self.outputs)
            losses = measure.losses(self.truth[:, picked], self.predicted[:, picked])
            return MultioutputLosses(losses, *design).point_estimate(measure)
        return mean_over_outputs(
            measure,
            [system.point_estimate(measure.plain) for system in self._single_outputs(measure)],
        )

    def _single_outputs(self, measure: Measure) -> list[RegressionOutput]:
        picked = measure.picked(self.outputs)
        return [self.single_output(o) for o, used in zip(self.outputs, picked, strict=True) if used]

    def constant_value(self, measure: Measure) -> float:
        """Return the value of the best constant predictions, one for each output."""
        if measure.label is not None:
            return super().constant_value(measure)
        output_values = [
            system.constant_value(measure.plain) for system in self._single_outputs(measure)
        ]
        if measure.average == "macro":
            return float(weighted_output_mean(measure.among, np.array(output_values)))
        return 0.0 if (np.array(output_values) == 0).any() else float("nan")
