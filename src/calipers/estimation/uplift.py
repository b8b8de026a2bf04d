"""Measures of predicted uplift: point estimates from the rows of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.caching import cached_property
from calipers.estimation import regression
from calipers.estimation.regression import SortedRows
from calipers.inference.bands import BandLimits, normal_bands
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
    estimate = regression.estimate_from_statistic(measure, rows, settings, n_rows)
    return replace(estimate, effective_sizes=partial(_targeted_sizes, measure, rows))


def _targeted_sizes(measure: MeasureLike, rows: UpliftRows) -> tuple[float, float]:
    """Return the effective number of rows of each arm among which outcomes are compared."""
    volume = measure.parameters.get("volume", 1.0)
    treated, control = rows.effective_arm_sizes
    return treated * volume, control * volume


@dataclass(frozen=True, eq=False)
class UpliftSample(SortedRows):
    """Sample of rows of an experiment; ``truth`` is the outcome.

    Attributes
    ----------
    treatment : ndarray of shape (n,)
        1 for a treated row, 0 for a row of the control group.
    """

    treatment: FloatArray

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure."""
        sizes = partial(_targeted_sizes, measure, self.statistic)
        return replace(super().point_estimate(measure), effective_sizes=sizes)

    def _methods(
        self, measure: MeasureLike, estimate: PointEstimate
    ) -> dict[str, IntervalFunction]:
        return {}

    @cached_property
    def statistic(self) -> UpliftRows:
        """Rows by predicted uplift."""
        columns = self.truth, self.predicted, self.treatment, self.weight
        return UpliftRows.from_experiment(*columns)

    def _influence(self, measure: MeasureLike, total: Any = None) -> Influence | None:
        """Return the jackknife influence: the change of the value if each row is left out."""
        rows: UpliftRows = self.statistic if total is None else total
        left_out, value = measure.definition.moves, float(measure.apply(rows))
        if left_out is None or not np.isfinite(value):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # without the only row of an arm
            column = value - left_out(self._batch, rows, **measure.parameters)
        return Influence(column, self._variance_estimator(rows), "jackknife")

    @property
    def _batch(self) -> UpliftRows:
        """All rows, also those whose weight is 0."""
        weight = np.ones(len(self.truth)) if self.weight is None else self.weight
        return UpliftRows(self.truth, self.predicted, weight, self.treatment)

    def _variance_estimator(self, rows: UpliftRows) -> JackknifeVariance:
        size = effective_size_from_weights(rows.weight)
        return JackknifeVariance(self.weight, self.clusters, effective_size=size)

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
        vectors = [
            estimator.covariance_vector(gain_changes(batch, rows, volume, gains))
            for volume in volumes.tolist()
        ]
        table, level = np.stack(vectors), self.settings.level
        df = min(rows.effective_arm_sizes) - 1
        if self.clusters is not None:
            df = self.clusters.n_effective_clusters - 1
        return heights, normal_bands(heights, table @ table.T, df, level, self.settings.seed)
