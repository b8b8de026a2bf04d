"""Measures of predicted uplift: point estimates from the rows of an experiment."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.caching import cached, cached_property
from calipers.estimation import regression
from calipers.estimation.regression import SortedRows
from calipers.inference import intervals
from calipers.inference.bands import BandLimits, normal_bands
from calipers.inference.intervals import Interval
from calipers.inference.variance_estimators import Influence, JackknifeVariance
from calipers.lazy_dataclasses import dataclass, replace
from calipers.measures.uplift import gain_changes
from calipers.statistics import FloatArray, UpliftRows, effective_size_from_weights
from calipers.statistics.uplift import ArmSums

if TYPE_CHECKING:
    from calipers.inference.point_estimate import IntervalFunction, PointEstimate
    from calipers.inference.settings import MeasureLike, Settings

Gains: TypeAlias = Callable[[ArmSums], FloatArray]


def estimate_from_statistic(
    measure: MeasureLike, rows: UpliftRows, settings: Settings, n_rows: int
) -> PointEstimate:
    """Estimate a measure from rows, without its sampling distribution."""
    columns = rows.truth, rows.predicted, rows.weight, None, settings, rows.treatment
    sample = cached(rows, "sample", lambda: UpliftSample(*columns))
    estimate = regression.estimate_from_statistic(measure, rows, settings, n_rows)
    return replace(estimate, methods=sample._methods(measure, estimate))


@dataclass(frozen=True, eq=False)
class UpliftSample(SortedRows):
    """Sample of rows of an experiment; ``truth`` is the outcome.

    Attributes
    ----------
    treatment : ndarray of shape (n,)
        1 for a treated row, 0 for a row of the control group.
    """

    treatment: FloatArray

    @cached_property
    def statistic(self) -> UpliftRows:
        """Rows by predicted uplift."""
        columns = self.truth, self.predicted, self.treatment, self.weight
        return UpliftRows.from_experiment(*columns)

    def _influence(self, measure: MeasureLike, total: Any = None) -> Influence | None:
        """Return the jackknife influence: the change of the value if each row is left out."""
        rows: UpliftRows = self.statistic if total is None else total
        column = self._changes(measure, self._batch, rows)
        if column is None:
            return None
        return Influence(column, self._variance_estimator(rows), "jackknife")

    def _changes(
        self, measure: MeasureLike, batch: UpliftRows, rows: UpliftRows
    ) -> FloatArray | None:
        """Return the change of the value if each row is left out, or None if it is undefined."""
        values_without_rows, value = measure.definition.moves, float(measure.apply(rows))
        if values_without_rows is None or not np.isfinite(value):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # without the only row of an arm
            return np.asarray(value - values_without_rows(batch, rows, **measure.parameters))

    @property
    def _batch(self) -> UpliftRows:
        """All rows, also those whose weight is 0."""
        weight = self.weight
        if weight is None or weight.all():
            return self.statistic
        return UpliftRows(self.truth, self.predicted, weight, self.treatment)

    def _variance_estimator(self, rows: UpliftRows) -> JackknifeVariance:
        size = effective_size_from_weights(rows.weight)
        return JackknifeVariance(self.weight, self.clusters, effective_size=size)

    def _methods(
        self, measure: MeasureLike, estimate: PointEstimate
    ) -> dict[str, IntervalFunction]:
        return {} if self.clusters is not None else {"two arms": partial(self._interval, measure)}

    def _interval(self, measure: MeasureLike, level: float) -> Interval:
        """Return Student's t interval, with as many degrees of freedom as the smaller arm has rows.

        Of outcomes of 0 and 1, those that do not occur among few rows would add nothing to the
        standard error. Each arm therefore has half a row more of either outcome, whose change of
        the value is that of a row where this is large: the mean of their squares, weighted by these
        squares.
        """
        influence, rows = self.influence(measure), self.statistic
        if influence is None:
            return intervals.no_interval("Student t", "undefined_value")
        variance, is_treated = influence.standard_error.se**2, rows.treatment > 0
        is_binary = bool(((rows.truth == 0) | (rows.truth == 1)).all())
        by_outcome: list[FloatArray] = []
        if is_binary:
            actual = influence.column if self.weight is None else influence.column[self.weight > 0]
            opposite = self._changes(measure, replace(rows, truth=1 - rows.truth), rows)
            assert opposite is not None
            by_outcome = [np.where(rows.truth == x, actual, opposite) for x in (0.0, 1.0)]
        for changes in by_outcome:
            for arm in (is_treated, ~is_treated):
                squares = np.square(changes[arm])
                total = float(squares.sum())
                variance += float(np.square(squares).sum()) / total / 2 if total > 0 else 0.0
        volume = measure.parameters.get("volume", 1.0)
        size = min(rows.effective_arm_sizes) * volume + is_binary
        value = float(measure.apply(rows))
        return intervals.student_interval(value, math.sqrt(variance), size, level)

    def gain_bands(
        self, gains: Gains, volumes: FloatArray
    ) -> tuple[FloatArray, tuple[BandLimits, BandLimits]]:
        """Return the heights of a curve of gains, and pointwise and simultaneous limits of them.

        Both arms must have targeted rows at each of the proportions.
        """
        rows, batch = self.statistic, self._batch
        targeted, estimator = rows.targeted, self._variance_estimator(rows)
        x, y = (np.append(0.0, c) for c in (targeted.weight / rows.total, gains(targeted)))
        heights = np.interp(volumes, x, y)
        vectors = (
            estimator.covariance_vector(gain_changes(batch, rows, volume, gains))
            for volume in volumes.tolist()
        )
        first = next(vectors)
        table, level = np.empty((len(volumes), len(first))), self.settings.level
        for k, vector in enumerate(chain([first], vectors)):
            table[k] = vector
        df = min(rows.effective_arm_sizes) - 1
        if self.clusters is not None:
            df = self.clusters.n_effective_clusters - 1
        return heights, normal_bands(heights, table @ table.T, df, level, self.settings.seed)
