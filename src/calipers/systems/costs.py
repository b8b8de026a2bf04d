"""Costs of systems: costs per row, and single numbers per system."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calipers.data.errors import InputError
from calipers.estimation.losses import RowLosses
from calipers.estimation.regression import SortedRows
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals, proportions
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import IntervalFunction, JointDistribution, PointEstimate
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, Moments, NumericRows
from calipers.systems.base import SystemOutput, check_named_classes

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class CostRows(SortedRows, JointDistribution):
    """Sorted costs of rows, for quantiles; each cost is an error from a prediction of 0."""

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a quantile.

        It has no bootstrap replicates if too few rows lie beyond the quantile, because the same few
        rows would be resampled repeatedly.
        """
        estimate = super().point_estimate(measure)
        if not self._has_enough_rows(_proportion_below(measure)):
            estimate = replace(estimate, replicates=None)
        return replace(estimate, joint_distribution=self)

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two estimates, by paired resampling if there are enough rows."""
        estimate = replace(first, joint_distribution=None) - replace(
            second, joint_distribution=None
        )
        if first.replicates is not None:
            return estimate
        return replace(estimate, methods={"percentile": _too_few_rows})

    def _has_enough_rows(self, proportion: float) -> bool:
        """Return whether the limits of a quantile lie within the data."""
        level = self.settings.level
        return (
            proportions.quantile_ranks(proportion, math.floor(self.effective_size), level)
            is not None
        )

    def _methods(
        self, measure: MeasureLike, estimate: PointEstimate
    ) -> dict[str, IntervalFunction]:
        proportion = _proportion_below(measure)
        if not self._has_enough_rows(proportion):
            return {"woodruff": _too_few_rows, "order statistics": _too_few_rows}
        out: dict[str, IntervalFunction] = {
            "woodruff": partial(self._woodruff_interval, estimate.value, proportion=proportion)
        }
        if self.weight is None and self.clusters is None:
            out["order statistics"] = partial(self._between_ranks, proportion)
        return out

    def _between_ranks(self, proportion: float, level: float) -> Interval:
        """Return the interval between two order statistics of the costs."""
        ranks = proportions.quantile_ranks(proportion, len(self.truth), level)
        if ranks is None:
            return _too_few_rows(level)
        low, high = np.sort(np.abs(self.predicted - self.truth))[np.subtract(ranks, 1)].tolist()
        return Interval(low, high, "order statistics, binomial")


def add_quantile_limits(
    measure: MeasureLike, estimate: PointEstimate, rows: NumericRows
) -> PointEstimate:
    """Return the estimate of a quantile of independent rows in batches, with its limits."""
    weight = rows.weight if np.ptp(rows.weight) > 0 else None
    sample = CostRows(rows.truth, rows.predicted, weight, None, estimate.settings)
    return replace(estimate, methods={**estimate.methods, **sample._methods(measure, estimate)})


def _proportion_below(measure: MeasureLike) -> float:
    """Return the proportion of rows below the quantile."""
    return float(measure.parameters.get("percentile", 50)) / 100


def _too_few_rows(level: float) -> Interval:
    return intervals.no_interval("none", "too_few_for_quantile")


@dataclass(frozen=True, eq=False)
class KnownValue:
    """Value without sampling error: the sum over the rows, or the single number of a system."""

    values: FloatArray
    weight: FloatArray | None
    settings: Settings
    kind: str = "count"

    @property
    def statistic(self) -> Moments:
        """Moments, from which the sum follows as mean times weight."""
        return Moments.from_rows(self.values, self.weight)

    def batch_statistic(self, measure: MeasureLike) -> Moments | None:
        """Return the statistic that batches accumulate, or None for the number of a system."""
        return self.statistic if self.kind == "count" else None

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, because the value is not a mean over rows."""

    def influence(self, measure: MeasureLike, total: Moments | None = None) -> None:
        """Return None, because a sum over other rows is another quantity."""

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the value as a point estimate without an interval."""
        statistic, rows = self.statistic, len(self.values)
        return PointEstimate(
            value=float(measure.apply(statistic)),
            kind=self.kind,
            settings=self.settings,
            n=rows,
            bounds=measure.definition.range,
            undefined=undefined_reasons(measure, statistic, rows),
            higher_is_better=measure.definition.higher_is_better,
        )


@dataclass(frozen=True, eq=False)
class RowCost(SystemOutput):
    """One cost of one system, with a value for each row."""

    name: str
    values: FloatArray
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()

    columns: ClassVar = ("values", "weight")

    def sample_for(self, measure: Measure) -> RowLosses | CostRows | KnownValue:
        """Return the sample of the costs of the rows."""
        if measure.definition.interval == "none":
            return KnownValue(self.values, self.weight, self.settings)
        if measure.definition.statistic is Moments:
            return RowLosses(self.values, self.weight, self.clusters, self.settings)
        zeros = np.zeros(len(self.values))
        rows = zeros, self.values, self.weight, self.clusters, self.settings
        return self.cached("order", lambda: CostRows(*rows))


@dataclass(frozen=True, eq=False)
class SystemCost(RowCost):
    """Cost that is a single number of the system."""

    def sample_for(self, measure: Measure) -> KnownValue:
        """Return the single number as a known value."""
        return KnownValue(self.values, None, self.settings, "number of a system")


@dataclass(frozen=True, eq=False)
class CostOutput(SystemOutput):
    """Costs of one system, per row and as single numbers.

    Attributes
    ----------
    name : str
        Name of the system.
    cost_names : tuple of str
        Names of the costs per row.
    row_costs : array of shape (n, n_costs)
        Costs of each row.
    system_costs : dict of float
        Costs that are single numbers of the system, by name.
    weight : array of shape (n,) or None
        Weight of each row.
    settings : Settings
        Settings of inference.
    clusters : ClusterIndex, optional
        Clusters of the rows.
    row_unit : str, default='rows'
        Unit of the costs per row, such as ``"topics"``.
    measures : tuple of Measure, optional
        Requested measures.
    """

    name: str
    cost_names: tuple[str, ...]
    row_costs: FloatArray
    system_costs: Mapping[str, float]
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    row_unit: str = "rows"
    measures: tuple[Measure, ...] = ()

    columns: ClassVar = ("row_costs", "weight")

    def check_measure(self, measure: Measure) -> None:
        """Check that the cost exists, and is one of rows if the measure needs rows."""
        if measure.label is None:
            example = replace(measure, label=(*self.cost_names, *self.system_costs)[0])
            raise InputError(f"{measure}: of which cost? Ask for {example}")
        check_named_classes(measure, (*self.cost_names, *self.system_costs), "cost")
        if measure.label in self.system_costs and measure.definition.interval != "none":
            raise InputError(f"{measure}: {measure.label} is one number for each system")

    def binary_problem(self, measure: Measure) -> RowCost:
        """Return the system of one of the costs."""
        label = str(measure.label)
        return self.cached(label, lambda: self._row_cost(label))

    def _row_cost(self, label: str) -> RowCost:
        if label in self.system_costs:
            return SystemCost(self.name, np.array([self.system_costs[label]]), None, self.settings)
        column = np.ascontiguousarray(self.row_costs[:, self.cost_names.index(label)])
        return RowCost(self.name, column, self.weight, self.settings, self.clusters)

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate, with the name of its unit."""
        unit = "system" if measure.label in self.system_costs else self.row_unit
        return replace(super().point_estimate(measure), unit=unit)
