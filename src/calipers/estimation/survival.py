"""Measures of times that may be censored: point estimates with the influence of each row."""

from __future__ import annotations

import math
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.caching import cached
from calipers.estimation.regression import influence_length_interval, pairwise_interval
from calipers.estimation.undefined import undefined_reasons
from calipers.inference import intervals, proportions
from calipers.inference.intervals import Interval, no_interval
from calipers.inference.point_estimate import IntervalFunction, PointEstimate
from calipers.inference.resampling import poisson_weights
from calipers.inference.variance_estimators import Influence, MeanVariance
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, SurvivalRows, effective_size_from_weights

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings

#: Kind and transformation of a point estimate, by ``definition.interval``.
_KIND_BY_INTERVAL = {
    "pairs": ("proportion of pairs", "logit"),
    "relative": ("weighted by censoring", "log"),
    "length": ("weighted by censoring", "log"),
    "none": ("p-value", None),
}


def estimate_from_statistic(
    measure: MeasureLike, rows: SurvivalRows, settings: Settings, n_rows: int
) -> PointEstimate:
    """Estimate a measure from the rows, without its sampling distribution."""
    definition = measure.definition
    kind, transform = _KIND_BY_INTERVAL[definition.interval or "none"]
    return PointEstimate(
        value=float(measure.apply(rows)),
        kind=kind,
        settings=settings,
        n=n_rows,
        bounds=definition.range,
        undefined=undefined_reasons(measure, rows, n_rows),
        higher_is_better=definition.higher_is_better,
        transform=transform,
    )


@dataclass(frozen=True, eq=False)
class EventVariance(MeanVariance):
    """Variance estimator of rows of which those with an event matter most, with Student's t.

    Of 50 rows with 10 events normal limits held C, Uno's C and AUCs 88 to 91 times of 100.
    """

    #: Effective number of events.
    n_events: float = field(kw_only=True)

    @property
    def df(self) -> float | None:
        """Degrees of freedom, the number of events less 1."""
        return max(self.n_events - 1, 1.0)


@dataclass(frozen=True, eq=False)
class SurvivalSample:
    """Sample of rows with a time that may be censored, and what was predicted of it."""

    rows: SurvivalRows
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    @property
    def statistic(self) -> SurvivalRows:
        """Statistic of which measures are formulas."""
        return self.rows

    def row_values(self, measure: MeasureLike) -> None:
        """Return None, as none of the measures is a mean over independent rows."""

    def _n_events(self, measure: MeasureLike) -> float:
        """Return the effective number of events that a measure is about."""
        parameters = measure.parameters
        last = parameters.get("tau", parameters.get("time"))
        if {"no_times", "one_time"} & measure.definition.undefined.keys() and self.rows.times:
            last = self.rows.times[-1]
        return self._n_events_until(math.inf if last is None else last)

    def _n_events_until(self, last: float) -> float:
        """Return Kish's effective number of events until a time, or their clusters."""
        is_counted = self.rows.event & (self.rows.time <= last)
        if self.clusters is not None:
            return float(len(np.unique(self.clusters.codes[is_counted])))
        return effective_size_from_weights(self.rows.weight[is_counted])

    def observed_risk(self, time: float) -> tuple[float, Interval]:
        """Return Kaplan and Meier's risk of an event until a time, and its limits.

        They are on the scale of log(−log S), with an error that includes clusters and weights. If
        nobody had an event, or everybody, they are those of Wilson, of the rows that are known to
        have none until the time or of the events. The risk is NaN if there are no such rows and not
        all had their event. (If it were NaN only where the last row is censored, the groups that
        have a risk would be a selection of those with an event at the end.)
        """
        rows, level = self.rows, self.settings.level
        number, n_events = np.array([rows.n_times_until(time)]), self._n_events_until(time)
        survived = float(rows.event_survival.values[number[0]])
        is_free = (rows.time > time) | ((rows.time == time) & ~rows.event)
        n_free = effective_size_from_weights(rows.weight[is_free])
        if n_free == 0 and not rows.event[rows.weight > 0].all():
            return math.nan, no_interval("none", "undefined_value")
        if survived in (0.0, 1.0):
            return 1 - survived, proportions.wilson(1 - survived, n_free or n_events, level)
        column = float(rows.total) * rows.event_survival.log_derivative(np.ones(1), number)
        error = Influence(column, MeanVariance(self.weight, self.clusters)).standard_error
        hazard = -math.log(survived)
        half_width = intervals.t_quantile(level, error.df or math.inf) * error.se / hazard
        low, high = (1 - math.exp(-hazard * math.exp(x)) for x in (-half_width, half_width))
        return 1 - survived, Interval(low, high, "log-minus-log")

    def influence(self, measure: MeasureLike, total: SurvivalRows | None = None) -> Influence:
        """Return the influence values of a measure, which include the estimate of censoring.

        These rows are never a batch of others, as the order of all times is needed.
        """
        return cached(self, ("influence", measure), lambda: self._influence(measure))

    def _influence(self, measure: MeasureLike) -> Influence:
        influence_function = measure.definition.moves
        assert influence_function is not None
        if not np.isfinite(measure.apply(self.rows)):
            column = np.full(self.rows.n_rows, np.nan)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                column = influence_function(self.rows, **measure.parameters)
        n_events = self._n_events(measure)
        estimator = EventVariance(self.weight, self.clusters, n_events=n_events)
        return Influence(column, estimator, "delta")

    def _replicates(self, measure: MeasureLike) -> FloatArray:
        size = self.rows.n_rows
        batches = poisson_weights(size, self.weight, self.settings, self.clusters)
        values = [measure.apply(self.rows.with_weights(weight)) for weight in batches]
        return np.concatenate(values)

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure."""
        estimate = estimate_from_statistic(measure, self.rows, self.settings, self.rows.n_rows)

        def skewness() -> float:
            return abs(intervals.scaled_skewness(self.influence(measure).influence_values))

        def replicates() -> FloatArray:
            values: FloatArray = cached(
                self, ("replicates", measure), lambda: self._replicates(measure)
            )
            return values

        if measure.definition.moves is None:
            return estimate
        return replace(
            estimate,
            weight=self.weight,
            clusters=self.clusters,
            effective_sizes=lambda: (self._n_events(measure),),
            compute_scaled_skewness=skewness,
            influence=lambda: self.influence(measure),
            replicates=replicates,
            methods=self._methods(measure, estimate),
        )

    def _methods(
        self, measure: MeasureLike, estimate: PointEstimate
    ) -> dict[str, IntervalFunction]:
        match measure.definition.interval:
            case "pairs":
                size = self._n_events(measure)
                limits = partial(pairwise_interval, estimate, size, self.clusters)
                return {"of rows": limits}
            case "length":
                return {"noncentral chi-square": partial(self._length_interval, measure)}
            case _:
                return {}

    def _length_interval(self, measure: MeasureLike, level: float) -> Interval | None:
        """Return the interval of the root mean square of how far bins are from their size."""
        proportions, rows = self.rows.reached_bins(**measure.parameters), self.rows
        bins = proportions.shape[1]
        deviations = math.sqrt(bins) * (proportions - 1 / bins)
        estimator = MeanVariance(self.weight, self.clusters)
        return influence_length_interval(
            rows.weight @ deviations / rows.total, deviations.T, estimator, level
        )
