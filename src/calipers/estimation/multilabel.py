"""Point estimates of multilabel measures.

They are averages of count measures over labels, and means of row values that may be undefined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation import effective_sample_size
from calipers.estimation.losses import RowLosses
from calipers.estimation.undefined import undefined_reasons
from calipers.inference.gradients import class_gradient
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import FEW_OF_LABEL, MOST_REDRAWN
from calipers.inference.point_estimate import JointDistribution, PointEstimate
from calipers.inference.resampling import row_means
from calipers.inference.variance_estimators import Influence, VarianceEstimator
from calipers.statistics import FloatArray, LabelMatrices, Moments
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Labels of each row, true and predicted, as Boolean matrices of shape (rows, labels)."""

    truth: npt.NDArray[np.bool_]
    predicted: npt.NDArray[np.bool_]
    labels: tuple[str, ...]
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    @cached_property
    def matrices(self) -> LabelMatrices:
        """Confusion counts of each label."""
        return LabelMatrices.from_sets(self.truth, self.predicted, self.labels, self.weight)

    @property
    def statistic(self) -> LabelMatrices:
        """Confusion counts of each label."""
        return self.matrices

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no average over labels is a mean over rows."""

    @property
    def _is_slow(self) -> bool:
        """Whether resampling all labels takes too long."""
        return self.truth.size * 3 * self.settings.n_resamples > MOST_REDRAWN

    def _needs_delta_method(self, measure: Any) -> bool:
        """Return whether to use the delta method for an average of counts.

        It is used for labels with few rows, and if resampling all labels takes too long, unless the
        bootstrap is requested.
        """
        return not self.settings.is_bootstrap_requested and (
            self._is_slow or _is_scarce(measure, self.matrices)
        )

    @cached_property
    def replicates(self) -> LabelMatrices:
        """Bootstrap replicates of the counts, resampling rows."""
        columns = np.hstack([self.truth & self.predicted, self.truth, self.predicted])
        means = row_means(columns.astype(np.float64), self.weight, self.settings, self.clusters)
        hit, y, z = np.split(means, 3, axis=1)
        counts = np.stack([1 - y - z + hit, z - hit, y - hit, hit], axis=-1)
        # What is left of a margin by subtraction may be a hair off nothing.
        counts = np.where(counts < 1e-12, 0.0, counts) * float(self.matrices.one_vs_rest().total[0])
        counts = counts.reshape(*means.shape[:-1], len(self.labels), 2, 2)
        return replace(self.matrices, counts=counts, squares=counts)

    def _interval(self, measure: Any, level: float) -> Interval | None:
        """Return the interval of an average by its effective number of rows."""

        def squares(by_count: FloatArray) -> float:
            influence_values = self._row_influence(by_count)
            return (
                dot(influence_values, influence_values)
                if self.clusters is None
                else self.clusters.squares(influence_values)
            )

        return effective_sample_size.interval(
            measure, self.matrices, self._row_weights, squares, level, self.clusters
        )

    @cached_property
    def _row_weights(self) -> FloatArray:
        """Weight of a row of each label, or of a cluster of them, by Kish's effective number."""
        if self.clusters is None:
            return effective_sample_size.effective_row_weights(self.matrices)
        sums = self.clusters.sums((self.truth | self.predicted).astype(np.float64))
        return effective_sample_size.kish_weights(sums.sum(axis=0), np.square(sums).sum(axis=0))

    def _row_influence(self, by_count: FloatArray) -> FloatArray:
        """Return the influence of each row, from the derivatives by the counts of each label."""
        cell = self.truth * 2 + self.predicted
        out = np.zeros(len(cell))
        for label, of_label in enumerate(by_count.reshape(-1, 4)):
            out += of_label[cell[:, label]]
        return out if self.weight is None else out * self.weight

    def influence(self, measure: MeasureLike, total: LabelMatrices | None = None) -> Influence:
        """Return the influence values of an average of counts over labels.

        ``total`` are the counts of all rows, if these are a batch of them.
        """
        by_count = class_gradient(measure, self.matrices if total is None else total)
        return Influence(
            self._row_influence(by_count), VarianceEstimator(self.weight, self.clusters)
        )

    def second(self, measure: MeasureLike, total: LabelMatrices) -> Moments | None:
        """Return moments of the influence values with the rows that are added to each label.

        The interval needs their sum of squares. ``total`` are the counts of all rows, of which
        these are a batch.
        """
        by_count = (
            None
            if self.clusters is not None
            else effective_sample_size.count_derivatives(measure, total)
        )
        return None if by_count is None else Moments.from_rows(self._row_influence(by_count))

    @staticmethod
    def from_matrices(
        measure: MeasureLike,
        matrices: LabelMatrices,
        settings: Settings,
        rows: int,
        second: Callable[[], Any] | None = None,
    ) -> PointEstimate:
        """Estimate an average of a count measure from the counts of each label.

        ``second`` returns the merged moments of a second pass over the rows.
        """
        definition, value = measure.definition, float(measure.apply(matrices))
        undefined = undefined_reasons(measure, matrices, rows)

        def interval(level: float) -> Interval | None:
            moments = None if second is None else second()
            if moments is None:
                return None
            squares = moments.m2 + moments.weight * moments.mean**2
            units = effective_sample_size.effective_row_weights(matrices)
            return effective_sample_size.interval(
                measure, matrices, units, lambda _: squares, level
            )

        return PointEstimate(
            value=value,
            kind="average over labels",
            settings=settings,
            n=rows,
            bounds=definition.range,
            undefined=undefined,
            is_conventional=bool(undefined) and bool(np.isfinite(value)),
            higher_is_better=definition.higher_is_better,
            has_few_units=lambda: (
                not settings.is_bootstrap_requested and _is_scarce(measure, matrices)
            ),
            methods={} if second is None else {"effective rows": interval},
        )

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of an average of counts."""
        return replace(
            self.from_matrices(measure, self.matrices, self.settings, len(self.truth)),
            weight=self.weight,
            clusters=self.clusters,
            has_few_units=lambda: self._needs_delta_method(measure),
            influence=lambda: self.influence(measure),
            replicates=lambda: measure.apply(self.replicates),
            methods={"effective rows": partial(self._interval, measure)},
        )


def _is_scarce(measure: Any, matrices: LabelMatrices) -> bool:
    """Return whether a label of a macro average has few rows."""
    rows = np.where(
        measure.picked(matrices.labels), effective_sample_size.label_weights(matrices), 0.0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.square(rows) / effective_sample_size.label_weights(matrices.squared)
    return measure.average == "macro" and bool((sizes[rows > 0] < FEW_OF_LABEL).any())


@dataclass(frozen=True, eq=False)
class RowValues(JointDistribution):
    """Sample of rows with a value each, NaN if undefined.

    The estimate is a measure of the mean of the defined values. ``value_range`` is as in
    :class:`RowLosses`.
    """

    values: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings
    value_range: tuple[float, float] | None = None

    @cached_property
    def defined_mask(self) -> Any:
        """Mask of the rows with a defined value."""
        return ~np.isnan(self.values)

    @cached_property
    def present(self) -> RowLosses:
        """Sample of the rows with a defined value."""
        weight = None if self.weight is None else self.weight[self.defined_mask]
        clusters = None if self.clusters is None else self.clusters.take_rows(self.defined_mask)
        return RowLosses(
            self.values[self.defined_mask], weight, clusters, self.settings, self.value_range
        )

    @property
    def statistic(self) -> Moments:
        """Moments of the defined values."""
        return self.present.statistic

    def batch_statistic(self, measure: MeasureLike) -> Moments:
        """Return the statistic of these rows that is merged over batches."""
        return self.present.batch_statistic(measure)

    def row_values(self, measure: MeasureLike) -> FloatArray:
        """Return the value of each row."""
        return self.values

    def replicates(self) -> FloatArray:
        """Return bootstrap replicates of the mean, resampling all rows."""
        columns = np.column_stack(
            [np.where(self.defined_mask, self.values, 0.0), self.defined_mask]
        )
        means = row_means(columns, self.weight, self.settings, self.clusters)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(means[:, 0] / means[:, 1])

    def moving(self, mean: float, total: float | None = None) -> Influence:
        """Return the influence of every row on the mean.

        ``total`` is the weight of all rows with a defined value, if these are a batch of them.
        """
        weight = np.ones(len(self.values)) if self.weight is None else self.weight
        total = weight[self.defined_mask].sum() if total is None else total
        with np.errstate(divide="ignore", invalid="ignore"):  # a slice may be without weight
            influence_values = np.nan_to_num(self.values - mean) * weight / total
        return Influence(influence_values, self._space)

    @property
    def _space(self) -> VarianceEstimator:
        denominator = self.defined_mask.astype(np.float64)
        return VarianceEstimator(
            self.weight,
            self.clusters,
            denominator=denominator if self.weight is None else denominator * self.weight,
        )

    def influence(self, measure: Any, total: Moments | None = None) -> Influence | None:
        """Return the influence values of every row on a measure of the mean.

        ``total`` are the moments of all defined values, if these are a batch of the rows.
        """
        influence = self.present.influence(measure.plain, total)
        if influence is None:
            return None
        out = np.zeros(len(self.values))
        out[self.defined_mask] = influence.corrected.column
        return replace(influence, column=out, space=self._space)

    def point_estimate(self, measure: Any) -> PointEstimate:
        """Return the point estimate from the rows with a defined value."""
        is_proportion = measure.definition.counts_hits is not None and self.clusters is None
        trials = self.statistic.effective_size if is_proportion else None
        estimate = self.present.point_estimate(measure.plain, trials)
        return replace(
            _rescale_to_defined(measure, estimate, len(self.values)), joint_distribution=self
        )

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two estimates on the same rows.

        It is that of losses if all values are defined; else it is based on the influence values of
        every row on either mean.
        """
        second_rows = second.joint_distribution
        assert isinstance(second_rows, RowValues)
        if self.defined_mask.all() and second_rows.defined_mask.all():
            return replace(first, joint_distribution=None) - replace(
                second, joint_distribution=None
            )
        return first.difference(
            second,
            n=len(self.values),
            clusters=self.clusters,
            weight=self.weight,
            influence=lambda: self.moving(first.value) - second_rows.moving(second.value),
            replicates=lambda: self.replicates() - second_rows.replicates(),
        )


def _rescale_to_defined(measure: Any, estimate: PointEstimate, rows: int) -> PointEstimate:
    """Extend the point estimate of the rows with a defined value to all rows."""
    undefined = dict.fromkeys(estimate.undefined, rows)
    if 0 < rows - estimate.n < rows:
        undefined[next(iter(measure.definition.undefined))] = rows - estimate.n
    return replace(estimate, n_total=rows, undefined=undefined)


def reweighted_influence(influence: Influence) -> Influence:
    """Weight the clusters of influence values by the weight of their rows with a defined value."""
    space = influence.space
    assert space.clusters is not None
    clusters = replace(space.clusters, weight=space.denominator)
    return replace(influence, space=replace(space, clusters=clusters))


def estimate_defined_rows(
    measure: Any, estimate: PointEstimate, moments: Moments, rows: int
) -> PointEstimate:
    """Extend a point estimate of the defined values to all ``rows``, for streamed rows."""
    distribution = _StreamedDistribution(
        rows, moments.effective_size, is_complete=moments.rows == rows
    )
    return replace(
        _rescale_to_defined(measure, replace(estimate, n=moments.rows), rows),
        joint_distribution=distribution,
    )


@dataclass(frozen=True, eq=False)
class _StreamedDistribution(JointDistribution):
    """Joint distribution of two :class:`RowValues` whose rows are streamed."""

    rows: int
    #: Kish's number of those that have a value.
    size: float
    is_complete: bool

    def _uncorrected_influence(self, estimate: PointEstimate) -> Influence | None:
        """Return the influence values of a mean, without the n/(n − 1) of its own variance."""
        influence = None if estimate.influence is None else estimate.influence()
        if influence is None or estimate.clusters is not None or not self.size > 1:
            return influence
        return float(np.sqrt(1 - 1 / self.size)) * influence

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two estimates on the same rows.

        It is that of losses if all values are defined; else it is based on the influence values of
        every row on either mean.
        """
        second_distribution = second.joint_distribution
        assert isinstance(second_distribution, _StreamedDistribution)
        if self.is_complete and second_distribution.is_complete:
            return replace(first, joint_distribution=None) - replace(
                second, joint_distribution=None
            )

        def influence() -> Influence | None:
            first_influence, second_influence = (
                self._uncorrected_influence(first),
                second_distribution._uncorrected_influence(second),
            )
            return (
                None
                if first_influence is None or second_influence is None
                else replace(first_influence - second_influence, name="delta")
            )

        return first.difference(second, n=self.rows, influence=influence)
