"""Point estimates of multilabel measures.

They are averages of count measures over labels, and means of row values that may be undefined.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation import effective_sample_size
from calipers.estimation.losses import RowLosses
from calipers.estimation.undefined import undefined_reasons
from calipers.inference.gradients import class_gradient
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import MAX_RESAMPLED_VALUES, MIN_LABEL_ROWS
from calipers.inference.point_estimate import JointDistribution, PointEstimate, lazy_difference
from calipers.inference.resampling import bootstrap_means
from calipers.inference.variance_estimators import Influence, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, LabelMatrices, Moments
from calipers.statistics.base import dot, row_blocks
from calipers.statistics.differences import count_signs

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings


@dataclass(frozen=True, eq=False)
class MultilabelSample:
    """Sample of rows with sets of labels: Boolean matrices of shape (n_rows, n_labels)."""

    truth: npt.NDArray[np.bool_]
    predicted: npt.NDArray[np.bool_]
    labels: tuple[str, ...]
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    @cached_property
    def statistic(self) -> LabelMatrices:
        """Confusion counts of each label."""
        return LabelMatrices.from_sets(self.truth, self.predicted, self.labels, self.weight)

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as no average over labels is a mean over rows."""

    @property
    def _is_slow(self) -> bool:
        """Whether resampling all labels takes too long."""
        return self.truth.size * 3 * self.settings.n_resamples > MAX_RESAMPLED_VALUES

    def _is_bootstrap_unsuitable(self, measure: Any) -> bool:
        """Return whether an average of counts should not be resampled, unless it is requested.

        This is so if a label has few rows, or if resampling all labels takes too long; the interval
        is then that of the effective number of rows, or of the delta method.
        """
        return not self.settings.is_bootstrap_requested and (
            self._is_slow or _has_scarce_label(measure, self.statistic)
        )

    @cached_property
    def replicates(self) -> LabelMatrices:
        """Bootstrap replicates of the counts, resampling rows."""
        columns = np.hstack([self.truth & self.predicted, self.truth, self.predicted])
        means = bootstrap_means(
            columns.astype(np.float64), self.weight, self.settings, self.clusters
        )
        hit, true_proportion, predicted_proportion = np.split(means, 3, axis=1)
        counts = np.stack(
            [
                1 - true_proportion - predicted_proportion + hit,
                predicted_proportion - hit,
                true_proportion - hit,
                hit,
            ],
            axis=-1,
        )
        # What is left of a margin by subtraction may be a hair off nothing.
        counts = np.where(counts < 1e-12, 0.0, counts) * float(
            self.statistic.one_vs_rest().total[0]
        )
        counts = counts.reshape(*means.shape[:-1], len(self.labels), 2, 2)
        return replace(self.statistic, counts=counts, squares=counts)

    def _interval(self, measure: Any, level: float) -> Interval | None:
        """Return the interval of an average by its effective number of rows."""

        def sum_of_squares(gradient: FloatArray) -> float:
            influence_values = self._row_influence(gradient)
            return (
                dot(influence_values, influence_values)
                if self.clusters is None
                else self.clusters.corrected_sum_of_squares(influence_values)
            )

        return effective_sample_size.label_average_interval(
            measure, self.statistic, self._row_weights, sum_of_squares, level, self.clusters
        )

    @cached_property
    def _row_weights(self) -> FloatArray:
        """Typical weight of a row of each label: Σw²/Σw, the total by Kish's effective number.

        With clusters it is the same ratio of the numbers of the label in each cluster.
        """
        if self.clusters is None:
            return effective_sample_size.effective_row_weights(self.statistic)
        sums = self.clusters.weighted_sums((self.truth | self.predicted).astype(np.float64))
        return effective_sample_size.kish_weights(sums.sum(axis=0), np.square(sums).sum(axis=0))

    def _row_influence(self, gradient: FloatArray) -> FloatArray:
        """Return the influence of each row on a function of the counts with this gradient.

        ``gradient`` has the derivatives by the counts of each label, of shape (n_labels, 2, 2).
        """
        neither, false_positive, missed, hit = gradient.reshape(-1, 4).T
        out = np.empty(len(self.truth))
        for rows in row_blocks(*self.truth.shape):
            truth, predicted = (
                matrix[rows].astype(np.float64) for matrix in (self.truth, self.predicted)
            )
            out[rows] = truth @ (missed - neither) + predicted @ (false_positive - neither)
            truth *= predicted
            out[rows] += truth @ (hit - missed - false_positive + neither)
        out += neither.sum()
        return out if self.weight is None else out * self.weight

    def influence(self, measure: MeasureLike, total: LabelMatrices | None = None) -> Influence:
        """Return the influence values of an average of counts over labels.

        ``total`` are the counts of all rows, if these are a batch of them.
        """
        gradient = class_gradient(measure, self.statistic if total is None else total)
        return Influence(
            self._row_influence(gradient), VarianceEstimator(self.weight, self.clusters)
        )

    def second_pass_statistic(self, measure: MeasureLike, total: LabelMatrices) -> Moments | None:
        """Return moments of the influence values, whose sum of squares the interval needs.

        They are the influence on the average with the rows that the interval adds to each label.
        ``total`` are the counts of all rows, of which these are a batch. The result is None for
        clusters, and if the interval is not defined.
        """
        gradient = (
            None
            if self.clusters is not None
            else effective_sample_size.count_derivatives(measure, total)
        )
        return None if gradient is None else Moments.from_rows(self._row_influence(gradient))

    @staticmethod
    def estimate_from_counts(
        measure: MeasureLike,
        matrices: LabelMatrices,
        settings: Settings,
        n_rows: int,
        second_pass_statistic: Callable[[], Any] | None = None,
    ) -> PointEstimate:
        """Return the point estimate of an average of counts, from the counts of each label alone.

        ``second_pass_statistic`` returns the moments of :meth:`second_pass_statistic`, merged over
        all batches of rows.
        """
        definition, value = measure.definition, float(measure.apply(matrices))
        undefined = undefined_reasons(measure, matrices, n_rows)

        def interval(level: float) -> Interval | None:
            moments = None if second_pass_statistic is None else second_pass_statistic()
            if moments is None:
                return None
            sum_of_squares = moments.m2 + moments.weight * moments.mean**2
            units = effective_sample_size.effective_row_weights(matrices)
            return effective_sample_size.label_average_interval(
                measure, matrices, units, lambda _: sum_of_squares, level
            )

        return PointEstimate(
            value=value,
            kind="average over labels",
            settings=settings,
            n=n_rows,
            bounds=definition.range,
            undefined=undefined,
            is_conventional=bool(undefined) and bool(np.isfinite(value)),
            higher_is_better=definition.higher_is_better,
            has_few_units=lambda: (
                not settings.is_bootstrap_requested and _has_scarce_label(measure, matrices)
            ),
            methods={} if second_pass_statistic is None else {"effective rows": interval},
        )

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of an average of counts."""
        return replace(
            self.estimate_from_counts(measure, self.statistic, self.settings, len(self.truth)),
            weight=self.weight,
            clusters=self.clusters,
            has_few_units=lambda: self._is_bootstrap_unsuitable(measure),
            influence=lambda: self.influence(measure),
            replicates=lambda: measure.apply(self.replicates),
            methods={"effective rows": partial(self._interval, measure)},
        )


def _has_scarce_label(measure: Any, matrices: LabelMatrices) -> bool:
    """Return whether a label of a macro average has few rows."""
    rows = np.where(
        measure.picked(matrices.labels), effective_sample_size.label_weights(matrices), 0.0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.square(rows) / effective_sample_size.label_weights(
            matrices.squared_weight_matrix
        )
    return measure.average == "macro" and bool((sizes[rows > 0] < MIN_LABEL_ROWS).any())


@dataclass(frozen=True, eq=False)
class RowValues(JointDistribution):
    """Sample of rows with a value each, NaN if undefined.

    A measure of it is the mean of the defined values, or a function of this mean, such as its
    complement. ``value_range`` is as in :class:`RowLosses`.
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
    def defined_rows(self) -> RowLosses:
        """Sample of the rows with a defined value."""
        weight = None if self.weight is None else self.weight[self.defined_mask]
        clusters = None if self.clusters is None else self.clusters.take_rows(self.defined_mask)
        return RowLosses(
            self.values[self.defined_mask], weight, clusters, self.settings, self.value_range
        )

    @property
    def statistic(self) -> Moments:
        """Moments of the defined values."""
        return self.defined_rows.statistic

    def batch_statistic(self, measure: MeasureLike) -> Moments:
        """Return the statistic of these rows that is merged over batches."""
        return self.defined_rows.batch_statistic(measure)

    def row_values(self, measure: MeasureLike) -> FloatArray:
        """Return the value of each row."""
        return self.values

    def replicates(self) -> FloatArray:
        """Return bootstrap replicates of the mean, resampling all rows."""
        columns = np.column_stack(
            [np.where(self.defined_mask, self.values, 0.0), self.defined_mask]
        )
        means = bootstrap_means(columns, self.weight, self.settings, self.clusters)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(means[:, 0] / means[:, 1])

    def mean_influence(self, mean: float, total: float | None = None) -> Influence:
        """Return the influence of every row on the mean.

        ``total`` is the weight of all rows with a defined value, if these are a batch of them.
        """
        weight = np.ones(len(self.values)) if self.weight is None else self.weight
        total = weight[self.defined_mask].sum() if total is None else total
        with np.errstate(divide="ignore", invalid="ignore"):  # a slice may be without weight
            influence_values = np.nan_to_num(self.values - mean) * weight / total
        return Influence(influence_values, self._variance_estimator)

    @property
    def _variance_estimator(self) -> VarianceEstimator:
        """Variance estimator of the influence of every row, where only defined rows have weight."""
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
        influence = self.defined_rows.influence(measure.plain, total)
        if influence is None:
            return None
        out = np.zeros(len(self.values))
        out[self.defined_mask] = influence.corrected.column
        return replace(influence, column=out, variance_estimator=self._variance_estimator)

    def point_estimate(self, measure: Any) -> PointEstimate:
        """Return the point estimate from the rows with a defined value."""
        is_proportion = measure.definition.counts_hits is not None and self.clusters is None
        trials = self.statistic.effective_size if is_proportion else None
        estimate = self.defined_rows.point_estimate(measure.plain, trials)
        return replace(
            _add_undefined_rows(measure, estimate, len(self.values)), joint_distribution=self
        )

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two estimates on the same rows.

        If the same values are defined, it is the mean of the paired differences. Otherwise the two
        means have rows of their own, and it has the limits of both.
        """
        second_rows = second.joint_distribution
        assert isinstance(second_rows, RowValues)

        def influence() -> Influence:
            return self.all_rows_influence() - second_rows.all_rows_influence()

        if np.array_equal(self.defined_mask, second_rows.defined_mask):
            difference = replace(first, joint_distribution=None) - replace(
                second, joint_distribution=None
            )
            if self.defined_mask.all():
                return difference
            # Other differences of these systems may be of more rows.
            of_defined_rows = difference.influence
            assert of_defined_rows is not None
            return replace(
                difference,
                influence=influence,
                compute_error=lambda: of_defined_rows().standard_error,  # type: ignore[union-attr]
            )
        common_rows = self.defined_mask & second_rows.defined_mask
        return separate_difference(
            first,
            second,
            clusters=self.clusters,
            weight=self.weight,
            influence=influence,
            signs=lambda: count_signs((self.values - second_rows.values)[common_rows]),
            replicates=lambda: self.replicates() - second_rows.replicates(),
        )

    def all_rows_influence(self) -> Influence:
        """Return the influence of every row on the mean, 0 if it has no value.

        It has the n/(n − 1) of the rows with a value.
        """
        statistic = self.statistic
        influence = self.mean_influence(float(statistic.mean), float(statistic.weight))
        size = statistic.effective_size
        if self.clusters is not None or not size > 1:
            return influence
        return float(np.sqrt(size / (size - 1))) * influence


def separate_difference(
    first: PointEstimate, second: PointEstimate, **fields: Any
) -> PointEstimate:
    """Return the difference of two means that have rows of their own in addition to common ones.

    It is from as many rows as the mean that has fewer, as more rows of one of them tell nothing
    about the other.
    """
    shared = {
        "kind": "units of their own",
        "n": min(first.n, second.n),
        "effective_sizes": lambda: (min(*first.effective_sizes(), *second.effective_sizes()),),
        "influence": lazy_difference(first.influence, second.influence),
    }
    return first.difference(second, **{**shared, **fields})


def _add_undefined_rows(measure: Any, estimate: PointEstimate, n_rows: int) -> PointEstimate:
    """Add the rows without a value to the point estimate of the others, and why they have none."""
    undefined = dict.fromkeys(estimate.undefined, n_rows)
    if 0 < n_rows - estimate.n < n_rows:
        undefined[next(iter(measure.definition.undefined))] = n_rows - estimate.n
    return replace(estimate, n_total=n_rows, undefined=undefined)


def reweight_clusters(influence: Influence) -> Influence:
    """Return influence values whose clusters have the weight of their rows with a defined value.

    Without this, a cluster has the weight of all its rows.
    """
    space = influence.variance_estimator
    assert space.clusters is not None
    clusters = replace(space.clusters, weight=space.denominator)
    return replace(influence, variance_estimator=replace(space, clusters=clusters))


def complete_streamed_estimate(
    measure: Any, estimate: PointEstimate, moments: Moments, n_rows: int
) -> PointEstimate:
    """Add the rows without a value to the estimate of streamed rows, of which there are ``n_rows``.

    ``moments`` are those of the defined values.
    """
    distribution = _StreamedJointDistribution(is_complete=moments.rows == n_rows)
    return replace(
        _add_undefined_rows(measure, replace(estimate, n=moments.rows), n_rows),
        joint_distribution=distribution,
    )


@dataclass(frozen=True, eq=False)
class _StreamedJointDistribution(JointDistribution):
    """Joint distribution of the means of two systems on streamed rows, as :class:`RowValues`."""

    is_complete: bool

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two estimates on the same streamed rows.

        If all values are defined, it is the mean of the paired differences. Otherwise the two means
        have rows of their own, and it has the limits of both.
        """
        second_distribution = second.joint_distribution
        assert isinstance(second_distribution, _StreamedJointDistribution)
        if self.is_complete and second_distribution.is_complete:
            return replace(first, joint_distribution=None) - replace(
                second, joint_distribution=None
            )
        return separate_difference(first, second)
