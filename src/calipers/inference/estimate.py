"""From a measure and a statistic to a value with its interval: which method for which kind.

The table of defaults stands here, and only here:

    shares of a margin, shares of topics     Wilson
    other measures of counts                 bootstrap by multinomial draws of the cells
    AUC                                      DeLong on the logit scale; Hanley-McNeil near 0 and 1
    Gini                                     that of the AUC
    PR-AUC, AP of scores                     logit (Boyd, Eng and Page)
    other measures of scores                 bootstrap of rows
    means of a value per row                 normal; bootstrap below 100 rows
    RMSE                                     log-delta; bootstrap below 100 rows
    means over topics                        bootstrap-t
    geometric means over topics              bootstrap-t of the logarithms
    topics pooled                            bootstrap
    rows in clusters, any measure            bootstrap of whole clusters; where shares and the AUC
                                             are 0 or 1, Wilson by design effect, exact bound
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from calipers.inference import intervals
from calipers.inference.clusters import Clusters
from calipers.inference.intervals import Interval
from calipers.inference.summaries import Summary
from calipers.statistics import ConfusionMatrix, FloatArray, Moments, ScoreTable, Statistic

INTERVALS = ("auto", "bootstrap", "analytic", "none")

#: Below this many rows the mean of a loss per row is bootstrapped.
FEW_ROWS = 100


class MeasureLike(Protocol):
    """What inference reads of a measure."""

    @property
    def definition(self) -> Any:
        """The traits."""

    def apply(self, statistic: Statistic) -> FloatArray:
        """The formula over a statistic, with its leading axes."""


@dataclass(frozen=True)
class Settings:
    """How intervals are to be made."""

    interval: str = "auto"
    level: float = 0.95
    resamples: int = 2000
    seed: int = 0

    @property
    def prefers_bootstrap(self) -> bool:
        """Whether a bootstrap was asked for where another method would be the default."""
        return self.interval == "bootstrap"

    def refuses(self, value: float, *, bootstrap: bool) -> Interval | None:
        """The absent interval, where none is wanted or none can be."""
        if self.interval == "none":
            return intervals.missing("none", "not_asked")
        if not np.isfinite(value):
            return intervals.missing("none", "undefined_value")
        if bootstrap and self.interval == "analytic":
            return intervals.missing("none", "no_analytic_interval")
        return None


@dataclass(frozen=True)
class Counts:
    """A confusion matrix and, when it is weighted, the rows that its bootstrap has to redraw."""

    matrix: ConfusionMatrix
    settings: Settings
    cell: npt.NDArray[np.uint32] | None = None
    weight: FloatArray | None = None
    clusters: Clusters | None = None

    @cached_property
    def replicates(self) -> ConfusionMatrix:
        """Bootstrap replicates of the matrix, as a leading axis."""
        settings = self.settings
        if self.clusters is not None:
            counts = self.clusters.redrawn(self._by_cluster.counts, settings)
            return replace(self.matrix, counts=counts, squares=counts)
        if not self.matrix.weighted:
            return self.matrix.resample(settings.resamples, settings.seed)
        from calipers import _core

        assert self.cell is not None
        assert self.weight is not None
        shape = self.matrix.counts.shape
        cells = _core.bootstrap_cells(
            self.cell, self.weight, int(np.prod(shape)), settings.seed, settings.resamples
        )
        counts = np.asarray(cells).reshape(settings.resamples, *shape)
        return replace(self.matrix, counts=counts, squares=counts)

    @cached_property
    def _by_cluster(self) -> ConfusionMatrix:
        """The matrix of each cluster, as a leading axis."""
        assert self.cell is not None
        assert self.clusters is not None
        counts = self.clusters.matrices(self.cell, self.matrix.counts.shape)
        return replace(self.matrix, counts=counts, squares=counts)

    def interval(self, measure: MeasureLike, value: float) -> Interval:
        """Wilson for shares of a margin, else the bootstrap."""
        margin = measure.definition.share_of
        wilson = margin is not None and not self.settings.prefers_bootstrap
        if self.clusters is not None and self.settings.interval == "auto":
            # Clusters that agree altogether leave the bootstrap nothing to draw.
            wilson = wilson and value in (0.0, 1.0)
        refused = self.settings.refuses(value, bootstrap=not wilson)
        if refused is not None:
            return refused
        if wilson:
            size = float(self.matrix.effective_size(margin))
            if self.clusters is not None:
                return self.clusters.share_interval(
                    value, self._by_cluster, measure, size, self.settings.level
                )
            return intervals.wilson(value, size, self.settings.level)
        return _percentile(measure.apply(self.replicates), self.settings, self.clusters)


@dataclass(frozen=True)
class Scores:
    """A score table and how to bootstrap it: ``replicates`` are those of a measure."""

    table: ScoreTable
    settings: Settings
    replicates: Callable[[MeasureLike], FloatArray]
    clusters: Clusters | None = None
    clustered_area: Callable[[float], Interval] | None = None

    def interval(self, measure: MeasureLike, value: float) -> Interval:
        """The analytic interval that the measure names, or the bootstrap."""
        named = measure.definition.interval
        if self.settings.prefers_bootstrap:
            named = None
        if self.clusters is not None:
            separated = value in (0.0, 1.0)  # so is every replicate
            if named != "auc" or (self.settings.interval == "auto" and not separated):
                named = None
        refused = self.settings.refuses(value, bootstrap=named is None)
        if refused is not None:
            return refused
        level = self.settings.level
        if named == "auc" and self.clustered_area is not None and self.clusters is not None:
            return self.clustered_area(value)
        if named == "auc":
            return intervals.auc_interval(value, self.table, level)
        if named == "gini":
            area = intervals.auc_interval((value + 1) / 2, self.table, level)
            return replace(area, low=2 * area.low - 1, high=2 * area.high - 1)
        if named == "pr_logit":
            positive = self.table.total_positive
            size = float(positive**2 / self.table.positive_squares.sum())
            return intervals.precision_recall_logit(value, size, level)
        return _percentile(self.replicates(measure), self.settings, self.clusters)


def rows_interval(
    measure: MeasureLike,
    moments: Moments,
    loss: FloatArray,
    weight: FloatArray | None,
    value: float,
    settings: Settings,
    clusters: Clusters | None = None,
) -> Interval:
    """Interval of a measure of the mean of a value per row."""
    few = clusters is not None or moments.effective_size < FEW_ROWS
    bootstrap = (few and settings.interval == "auto") or settings.prefers_bootstrap
    refused = settings.refuses(value, bootstrap=bootstrap)
    if refused is not None:
        return refused
    if bootstrap:
        means = row_means(loss[:, None], weight, settings, clusters)[:, 0]
        replicates = measure.apply(replace(moments, mean=means))  # type: ignore[arg-type]
        return _percentile(replicates, settings, clusters)
    if clusters is None:
        return _of_mean(measure, moments, moments.standard_error, settings.level)
    se = clusters.widened(clusters.mean_error(loss), settings.level)
    made = _of_mean(measure, moments, se, settings.level)
    return replace(made, method=clusters.named(f"{made.method}, clustered"))


def _of_mean(measure: MeasureLike, moments: Moments, se: float, level: float) -> Interval:
    """Interval of a measure of a mean from the standard error of the mean."""
    kind = measure.definition.interval
    if kind == "root_mean":
        return intervals.root_mean(moments.mean, se, level)
    made = intervals.normal_mean(moments.mean, se, level)
    if kind not in ("total", "exponential") or made.reason is not None:
        return made
    ends = np.maximum([made.low, made.high], 0.0)  # what a mean loss can be
    low, high = measure.apply(replace(moments, mean=ends)).tolist()  # type: ignore[arg-type]
    return Interval(low, high, "normal, of the mean")


def _percentile(
    replicates: FloatArray, settings: Settings, clusters: Clusters | None = None
) -> Interval:
    """The percentile interval, by the name of its bootstrap."""
    if clusters is None:
        return intervals.percentile(replicates, settings.level)
    if clusters.number < 2:
        return intervals.missing(clusters.bootstrap, "too_few_clusters")
    return intervals.percentile(replicates, settings.level, clusters.bootstrap)


def row_means(
    values: FloatArray,
    weight: FloatArray | None,
    settings: Settings,
    clusters: Clusters | None = None,
) -> FloatArray:
    """Bootstrap replicates of the (weighted) mean of each column; what is drawn with replacement
    are rows, or clusters of them."""
    from calipers import _core

    if clusters is not None:
        return clusters.means(values, settings)
    if weight is None:
        return np.asarray(_core.bootstrap_means(values, settings.seed, settings.resamples)[0])
    values, weight = values[weight > 0], weight[weight > 0]
    columns = np.column_stack([values * weight[:, None], weight])
    means = np.asarray(_core.bootstrap_means(columns, settings.seed, settings.resamples)[0])
    return means[:, :-1] / means[:, -1:]


def unit_intervals(
    measures: Sequence[MeasureLike],
    values: FloatArray,
    settings: Settings,
    weights: Mapping[int, FloatArray] | None = None,
) -> list[Interval]:
    """Intervals of the summary over units (topics) of each column of ``values``; NaN is undefined.

    ``weights`` holds those of the columns whose units are pooled.
    """
    summaries = [Summary(measure.definition.summary) for measure in measures]
    columns: list[FloatArray] = []
    places: list[slice] = []
    for j, summary in enumerate(summaries):
        of = summary.columns(values[:, j], (weights or {}).get(j))
        places.append(slice(len(columns), len(columns) + len(of)))
        columns += of
    table = np.column_stack(columns) if columns else values
    means = errors = np.zeros((0, table.shape[1]))
    if settings.interval in ("auto", "bootstrap") and len(values):
        from calipers import _core

        means, errors = _core.bootstrap_means(table, settings.seed, settings.resamples)
    return [
        _unit_interval(measure, table[:, at], means[:, at], errors[:, at], settings)
        for measure, at in zip(measures, places, strict=True)
    ]


def _unit_interval(
    measure: MeasureLike, columns: FloatArray, means: FloatArray, errors: FloatArray, s: Settings
) -> Interval:
    columns = columns[~np.isnan(columns[:, 0])]
    n, definition = len(columns), measure.definition
    summary = Summary(definition.summary)
    value = float(summary.of_means(columns.mean(axis=0), n)) if n else float("nan")
    if definition.interval == "none":
        return intervals.missing("count", "exact_count")
    refused = s.refuses(value, bootstrap=False)
    if refused is not None:
        return refused
    if definition.share_of == "topics" and not s.prefers_bootstrap:
        return intervals.wilson(value, n, s.level)
    low, high = definition.range
    if summary.kind == "pooled":
        return _pooled_interval(columns, value, means, s).within(low, high)
    interval = mean_interval(columns[:, 0], means[:, 0], errors[:, 0], s)
    ends = summary.of_means(np.array([[interval.low], [interval.high]]), n)
    method = interval.method + (" of logarithms" if summary.kind == "geometric" else "")
    return Interval(float(ends[0]), float(ends[1]), method, interval.reason).within(low, high)


def _pooled_interval(columns: FloatArray, value: float, means: FloatArray, s: Settings) -> Interval:
    """Of a ratio of two means: percentile bootstrap, or Student's t of its linear part."""
    n = len(columns)
    if n < 2:
        return intervals.missing("none", "too_few_units")
    if s.interval == "analytic":
        part = value + (columns[:, 0] - value * columns[:, 1]) / columns[:, 1].mean()
        return intervals.student(value, float(part.std(ddof=1)) / np.sqrt(n), n, s.level)
    return intervals.percentile(Summary("pooled").of_means(means, n), s.level)


def mean_interval(
    column: FloatArray, means: FloatArray, errors: FloatArray, settings: Settings
) -> Interval:
    """Interval of a mean over units: bootstrap-t, or Student's t where bootstraps are unwanted."""
    n = len(column)
    if n < 2:
        return intervals.missing("none", "too_few_units")
    se = float(column.std(ddof=1)) / np.sqrt(n)
    if settings.interval == "analytic":
        return intervals.student(float(column.mean()), se, n, settings.level)
    return intervals.bootstrap_t(float(column.mean()), se, means, errors, settings.level)
