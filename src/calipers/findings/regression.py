"""Numeric truth, predictions of a system, and residuals, for findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from calipers.caching import cached_property
from calipers.findings.formatting import IntervalNumber
from calipers.findings.linear_trend import LinearTrend, fit_line
from calipers.inference import intervals
from calipers.inference.variance_estimators import MeanVariance
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, LargestResiduals, Moments
from calipers.statistics.regression import midranks, quantile
from calipers.statistics.row_sample import MAX_SAMPLED_ROWS, sample_phrase, sampled_row_indices

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex

#: The smallest number of rows (effective rows, or clusters) for findings on residuals.
MIN_ROWS = 20
#: Relative rounding error of residuals.
ROUNDING_ERROR = 1e-12


@dataclass(frozen=True, eq=False)
class NumericPredictions:
    """Numeric truth, predictions of a system, and names of rows.

    The names are None if the rows are a sample; ``largest`` are then the largest residuals of all
    rows, if known, and ``sample_note`` states the size of a sample of rows that are all in memory.
    """

    truth: FloatArray
    predicted: FloatArray
    weight: FloatArray | None
    clusters: ClusterIndex | None
    row_name: Callable[[int], str] | None = "row {}".format
    largest: LargestResiduals | None = None
    sample_note: str = ""

    @cached_property
    def residuals(self) -> Residuals:
        """Residuals: prediction minus truth."""
        return Residuals(self)

    @cached_property
    def sampled(self) -> NumericPredictions:
        """A sample of the rows, if these are many, for what depends on the ranks of predictions.

        It has the rows that are sampled of a stream.
        """
        if len(self.truth) <= MAX_SAMPLED_ROWS:
            return self
        rows = sampled_row_indices(len(self.truth))
        weight = None if self.weight is None else self.weight[rows]
        clusters = None if self.clusters is None else self.clusters.take_rows(rows)
        columns = self.truth[rows], self.predicted[rows], weight, clusters
        note = sample_phrase(len(rows), len(self.truth))
        return NumericPredictions(*columns, None, sample_note=note)


class Residuals:
    """Residuals of a system, prediction minus truth, scaled by the largest absolute one."""

    def __init__(self, predictions: NumericPredictions) -> None:
        # If all rows have positive weight, no copies are needed.
        self._used: npt.NDArray[np.intp] | None = None
        if predictions.weight is not None and not predictions.weight.all():
            self._used = np.flatnonzero(predictions.weight)
        used = slice(None) if self._used is None else self._used
        self.predicted = predictions.predicted[used]
        self.weight = None if predictions.weight is None else predictions.weight[used]
        self.clusters = predictions.clusters
        if predictions.clusters is not None and self._used is not None:
            self.clusters = predictions.clusters.take_rows(self._used)
        truth = predictions.truth[used]
        residual = self.predicted - truth
        self.scale = _max_abs(residual)
        self.effective_size = 0.0
        if self.scale > ROUNDING_ERROR * _max_abs(truth):
            residual /= self.scale
            self.values: FloatArray = residual
            self.effective_size = self._moments.effective_size
            if self.clusters is not None:
                self.effective_size = min(self.effective_size, self.clusters.n_effective_clusters)

    @cached_property
    def rows(self) -> npt.NDArray[np.intp]:
        """Row indices of the residuals: rows of positive weight."""
        return np.arange(len(self.predicted)) if self._used is None else self._used

    @property
    def is_usable(self) -> bool:
        """Whether there are enough rows for findings, and residuals are not constant."""
        return (
            self.effective_size >= MIN_ROWS
            and self._moments.m2 > ROUNDING_ERROR**2 * self._moments.weight
        )

    @cached_property
    def _moments(self) -> Moments:
        return Moments.from_rows(self.values, self.weight)

    @cached_property
    def centered(self) -> FloatArray:
        """Residuals minus their mean."""
        return self.values - self._moments.mean

    @cached_property
    def _shape_sums(self) -> Sequence[float]:
        from calipers import _core

        return _core.shape_sums(self.values, self._moments.mean, self.weight)

    @property
    def shape(self) -> tuple[float, float]:
        """Mean absolute deviation from the mean, and the proportion below the mean."""
        magnitudes, below, *_ = self._shape_sums
        return magnitudes / self._moments.weight, below / self._moments.weight

    @property
    def power_sums(self) -> tuple[float, float]:
        """Weighted sums of the squares and of the fourth powers of the residuals."""
        *_, squares, fourth_powers = self._shape_sums
        return squares, fourth_powers

    @cached_property
    def sd(self) -> float:
        """Residual standard deviation."""
        return math.sqrt(self._moments.m2 / self._moments.weight)

    @cached_property
    def ranks(self) -> FloatArray:
        """Midranks of the predictions, as proportions of the rows."""
        return midranks(self.predicted, self.weight)

    @cached_property
    def trend(self) -> LinearTrend | None:
        """Linear trend of the residuals in the ranks of the predictions."""
        return fit_line(self.ranks, self.values, self.weight, self.clusters)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile of the centered residuals."""
        low, high = (
            quantile(self.centered, proportion, self.weight) for proportion in (0.25, 0.75)
        )
        return low, high

    def mean(self, values: FloatArray) -> float:
        """Compute the weighted mean of a value per row."""
        return float(np.average(values, weights=self.weight))

    def standard_error(self, values: FloatArray) -> float:
        """Compute the standard error of the weighted mean of a value per row."""
        return MeanVariance(self.weight, self.clusters).standard_error(values)

    def extreme_quintile_means(
        self, values: FloatArray, level: float
    ) -> tuple[IntervalNumber, IntervalNumber]:
        """Compute the mean of a value per row in the extreme quintiles of the predictions."""
        low, high = quintile_means(values, self.ranks, self.weight, self.clusters, level)
        return _scale_number(self.scale, low), _scale_number(self.scale, high)


def _max_abs(values: FloatArray) -> float:
    """Return the largest absolute value."""
    from calipers import _core

    low, high = _core.value_ends(values) if len(values) else (0.0, 0.0)
    return max(high, -low, 0.0)


def _scale_number(factor: float, number: IntervalNumber) -> IntervalNumber:
    return IntervalNumber(factor * number.value, factor * number.low, factor * number.high)


def quintile_means(
    values: FloatArray,
    ranks: FloatArray,
    weight: FloatArray | None,
    clusters: ClusterIndex | None,
    level: float,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[IntervalNumber, IntervalNumber]:
    """Compute the mean of a value per row in the lowest and in the highest quintile.

    ``ranks`` are from 0 to 1. The means have Student's interval, limited to the range ``limits`` of
    the value.
    """
    low, high = max(0.2, float(ranks.min())), min(0.8, float(ranks.max()))
    first, last = (
        _mean_with_interval(values, np.flatnonzero(rows), weight, clusters, level, limits)
        for rows in (ranks <= low, ranks >= high)
    )
    return first, last


def _mean_with_interval(
    column: FloatArray,
    rows: npt.NDArray[np.intp],
    weight: FloatArray | None,
    clusters: ClusterIndex | None,
    level: float,
    limits: tuple[float, float],
) -> IntervalNumber:
    values = column[rows]
    moments = Moments.from_rows(values, None if weight is None else weight[rows])
    n, se = moments.effective_size, moments.standard_error
    if clusters is not None:
        group_clusters = clusters.take_rows(rows)
        n, se = group_clusters.n_effective_clusters, group_clusters.mean_error(values).se
    interval = intervals.student_interval(moments.mean, se, n, level).clip(*limits)
    return IntervalNumber.from_interval(moments.mean, interval)
