"""Systems that predict several numbers of each row, and averages over these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.estimation.averages import RowSummary
from calipers.estimation.losses import RowLosses, estimate_mean_loss, influence, loss_derivative
from calipers.estimation.regression import MomentRows
from calipers.inference import intervals
from calipers.inference.point_estimate import PointEstimate, weighted_sum
from calipers.inference.resampling import row_means
from calipers.inference.variance_estimators import Influence
from calipers.measures.averages import WEIGHTS, Among, output_weights, weighted_output_mean
from calipers.statistics import FloatArray, Moments, NumericMoments, SkewMoments, StatisticVector
from calipers.systems.base import SystemOutput
from calipers.systems.regression import RegressionOutput

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class MultioutputLosses:
    """A loss for each row and output, shape (rows, outputs); a number is the mean over outputs of a
    function of the mean loss of each, as RMSE is.

    With slopes s of the outputs and S of one output at the average, a row moves the average as a
    loss of Σsx/(kS) moves one, or Σusx/S where outputs count for u. The mean of these is what one
    output would lose that has the average: of RMSE a the mean of a·x/a_j over outputs j is a². So
    its intervals and tests are those of one output.
    """

    values: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    def point_estimate(self, measure: Any) -> PointEstimate:
        """The reading of an average."""
        moments = [Moments.from_rows(column, self.weight) for column in self.values.T]
        value, share = _average_outputs(measure, moments)
        rest = self.weight, self.clusters, self.settings
        made = estimate_mean_loss(measure.plain, self.values @ share, *rest)
        if value is None:
            return made
        return replace(made, value=value, replicates=lambda: self._replicates(measure, moments[0]))

    def _replicates(self, measure: Any, near: Moments) -> FloatArray:
        means = row_means(self.values, self.weight, self.settings, self.clusters)
        drawn: FloatArray = measure.plain.apply(replace(near, mean=means))  # type: ignore[arg-type]
        return weighted_output_mean(measure.among, drawn)


def _average_outputs(measure: Any, moments: Sequence[Moments]) -> tuple[float | None, FloatArray]:
    """The average over outputs of which these are the moments, and what the loss of each counts for
    in that of one; None of an average that has no value."""
    plain, u = measure.plain, output_weights(measure.among)
    u = np.full(len(moments), 1 / len(moments)) if u is None else u
    each = [float(plain.apply(of)) for of in moments]
    value = float(weighted_output_mean(measure.among, np.array(each)))
    if not np.isfinite(value):
        return None, np.ones(len(moments))
    # Where an output has no loss at all, there is no slope, and no row moves it.
    slopes = np.array([loss_derivative(plain, *of) for of in zip(each, moments, strict=True)])
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    one = loss_derivative(plain, value, moments[0])
    return value, u * slopes / one if np.isfinite(one) else u


@dataclass(frozen=True, eq=False)
class StreamedOutputs:
    """The same of rows that are added up: the moments of each output in the first look at them, in
    the second those of the one loss."""

    values: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    def batch_statistic(self, measure: Any) -> StatisticVector:
        """The moments of each output."""
        return StatisticVector(
            tuple(Moments.from_rows(column, self.weight) for column in self.values.T)
        )

    def influence(self, measure: Any, whole: StatisticVector) -> Influence | None:
        """By how much each row moves the average."""
        rest = self.combined_loss(measure, whole), self.weight, self.clusters
        return influence(measure.plain, *rest, self.combined_moments(measure, whole)[1])

    def second(self, measure: Any, whole: StatisticVector) -> Moments:
        """The moments of the one loss."""
        rest = self.weight, self.clusters, self.settings
        return RowLosses(self.combined_loss(measure, whole), *rest).batch_statistic(measure.plain)

    def combined_loss(self, measure: Any, whole: StatisticVector) -> FloatArray:
        """The one loss of each row."""
        return np.asarray(self.values @ _average_outputs(measure, whole.parts)[1])

    @staticmethod
    def combined_moments(
        measure: Any, whole: StatisticVector, found: Moments | None = None
    ) -> tuple[float | None, Moments]:
        """The value, and the moments of the one loss as they were ``found``, or as far as those of
        each output tell them."""
        value, share = _average_outputs(measure, whole.parts)
        first, means = whole.parts[0], np.array([of.mean for of in whole.parts])
        infinite = max(of.infinite for of in whole.parts)
        none = float("nan")
        known = replace(
            first, mean=float(means @ share), m2=none, v2=none, cross=none, infinite=infinite
        )
        return value, known if found is None else found


@dataclass(frozen=True, eq=False)
class StreamedOutputAverages:
    """Averages over outputs whose rows are added up, of measures that take the rows of each."""

    outputs: Sequence[Any]
    weight: FloatArray | None

    def batch_statistic(self, measure: Any) -> StatisticVector:
        """The rows of each output."""
        return StatisticVector(tuple(one.statistic for one in self.outputs))

    def influence(self, measure: Any, whole: StatisticVector) -> Influence | None:
        """By how much each row moves the average."""
        weights, total = output_weights(measure.among), None
        shares = np.full(len(self.outputs), 1 / len(self.outputs)) if weights is None else weights
        for share, one, of in zip(shares, self.outputs, whole.parts, strict=True):
            found = one.influence(measure.plain, of)
            if found is None:
                return None
            total = share * found if total is None else total + share * found
        return total

    def second(self, measure: Any, whole: StatisticVector) -> Moments | None:
        """What tells how skewed that is."""
        found = self.influence(measure, whole)
        return None if found is None else SkewMoments.from_rows(found.corrected.column)

    def point_estimate(
        self, measure: Any, each: Sequence[PointEstimate], whole: StatisticVector, seen: RowSummary
    ) -> PointEstimate:
        """The reading of an average, of the readings of each."""
        return replace(mean_over_outputs(measure, each), skewness_size=lambda: seen.skewness)


def mean_over_outputs(measure: Any, terms: Sequence[PointEstimate]) -> PointEstimate:
    """The mean of the readings of the outputs; undefined for the reasons of all that have none."""
    weights = output_weights(measure.among)
    shares = [1 / len(terms)] * len(terms) if weights is None else weights.tolist()
    first, undefined = terms[0], {w: n for of in terms for w, n in of.undefined.items()}
    made = weighted_sum(
        list(zip(shares, terms, strict=True)),
        kind="largest" if first.kind == "largest" else "average over outputs",
        bounds=first.bounds,
        higher_is_better=first.higher_is_better,
        transform=first.transform,
        undefined=undefined,
    )
    if first.influence is None or undefined:
        return replace(made, influence=None)
    influence = made.influence

    def skewness() -> float:
        found = influence() if influence is not None else None
        return 0.0 if found is None else abs(intervals.skewness(found.influence_values))

    return replace(made, skewness_size=skewness)


@dataclass(frozen=True, eq=False)
class JointOutputs(RegressionOutput):
    """All outputs of a row as one: a row loses the mean of what it loses by each."""

    among: Among = None

    def sample_for(self, measure: Measure) -> RowLosses:
        """The mean loss of each row."""
        losses = weighted_output_mean(self.among, measure.losses(self.truth, self.predicted))
        return RowLosses(losses, self.weight, self.clusters, self.settings)


@dataclass(frozen=True, eq=False)
class MultioutputRegression(SystemOutput):
    """One system's predictions, shape (rows, outputs)."""

    name: str
    outputs: tuple[str, ...]
    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = RegressionOutput.columns
    own: ClassVar = RegressionOutput.own
    needs: ClassVar = RegressionOutput.needs

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """The truth of each row, and what the outputs are called."""
        return self.truth, {"outputs": list(self.outputs)}

    def single_output(self, output: str) -> RegressionOutput:
        """One output."""
        place = self.outputs.index(output)
        made: RegressionOutput = self.cached(
            output, lambda: self._select_columns(RegressionOutput, place)
        )
        return made

    def _select_columns(self, kind: Any, places: Any) -> Any:
        """Some outputs, as what takes columns or tables."""
        truth, predicted = (
            np.ascontiguousarray(table[:, places]) for table in (self.truth, self.predicted)
        )
        if kind is MomentRows:
            return MomentRows(truth, predicted, self.weight, self.clusters, self.settings)
        return kind(self.name, truth, predicted, self.weight, self.settings, self.clusters)

    def _selected_outputs(self, measure: Measure, kind: Any) -> Any:
        """The outputs that an average is of, together."""
        picked = measure.picked(self.outputs)
        return self.cached((kind, measure.among), lambda: self._select_columns(kind, picked))

    def binary_problem(self, measure: Measure) -> RegressionOutput | None:
        """One output, or all as one for the mean of what rows lose."""
        if measure.label is not None:
            return self.single_output(measure.label)
        d = measure.definition
        if d.statistic is not Moments or d.interval is not None:
            return None
        together: JointOutputs = self._selected_outputs(measure, JointOutputs)
        if output_weights(measure.among) is None:
            return together
        weighed = partial(replace, together, among=measure.among)
        return self.cached((JointOutputs, WEIGHTS, measure.among), weighed)

    def sample_for(self, measure: Measure) -> MomentRows | None:
        """Truth and prediction, where their moments tell all."""
        return (
            self._selected_outputs(measure, MomentRows)
            if measure.definition.statistic is NumericMoments
            else None
        )

    def terms(self, measure: Measure) -> StreamedOutputs | StreamedOutputAverages | None:
        """The moments or the rows of the outputs, of which an average is taken."""
        if measure.definition.statistic is Moments:
            picked = measure.picked(self.outputs)
            losses = measure.losses(self.truth[:, picked], self.predicted[:, picked])
            return StreamedOutputs(losses, self.weight, self.clusters, self.settings)
        each = [one.sample_for(measure.plain) for one in self._single_outputs(measure)]
        return StreamedOutputAverages(each, self.weight)

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """An average over outputs of another measure."""
        return self.cached(measure, lambda: self._average(measure))

    def _average(self, measure: Measure) -> PointEstimate:
        rest = self.weight, self.clusters, self.settings
        if measure.definition.statistic is Moments:
            picked = measure.picked(self.outputs)
            losses = measure.losses(self.truth[:, picked], self.predicted[:, picked])
            return MultioutputLosses(losses, *rest).point_estimate(measure)
        return mean_over_outputs(
            measure, [one.point_estimate(measure.plain) for one in self._single_outputs(measure)]
        )

    def _single_outputs(self, measure: Measure) -> list[RegressionOutput]:
        picked = measure.picked(self.outputs)
        return [self.single_output(o) for o, used in zip(self.outputs, picked, strict=True) if used]

    def constant_value(self, measure: Measure) -> float:
        """What the best constant predictions get, one for each output."""
        if measure.label is not None:
            return super().constant_value(measure)
        each = [one.constant_value(measure.plain) for one in self._single_outputs(measure)]
        if measure.average == "macro":
            return float(weighted_output_mean(measure.among, np.array(each)))
        return 0.0 if (np.array(each) == 0).any() else float("nan")
