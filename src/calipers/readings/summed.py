"""How a summary of values per topic varies: the intervals of one system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import dirichlet, intervals
from calipers.inference.intervals import Interval
from calipers.inference.reading import Limits
from calipers.inference.spaces import Influence, Space
from calipers.inference.summaries import Summary
from calipers.once import cached_property
from calipers.readings.shares import share_methods
from calipers.statistics import Moments, kish_of

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class Summed:
    """The values of a measure per topic, NaN where there is none; with the weight of each topic
    where topics are pooled, how important each is where some are more so than others, and the
    clusters and the order in time that topics come in."""

    measure: MeasureLike
    values: FloatArray
    weight: FloatArray | None
    settings: Settings
    importance: FloatArray | None = field(default=None, kw_only=True)
    clusters: Clusters | None = field(default=None, kw_only=True)
    order: TimeOrder | None = field(default=None, kw_only=True)

    @property
    def summary(self) -> Summary:
        """How values become one."""
        return Summary.of(self.measure.definition)

    @cached_property
    def has(self) -> Any:
        """Which topics have a value."""
        return self.summary.has(self.values, self.weight)

    @cached_property
    def columns(self) -> FloatArray:
        """What the summary takes the means of, of the topics that have a value."""
        own = np.column_stack(self.summary.columns(self.values, self.weight))
        return np.asarray(own[self.has])

    @cached_property
    def own(self) -> FloatArray | None:
        """The importance of the topics that have a value."""
        return None if self.importance is None else self.importance[self.has]

    @cached_property
    def first(self) -> Moments:
        """The moments of the first column."""
        return Moments.from_rows(self.columns[:, 0], self.own)

    @cached_property
    def grouped(self) -> Clusters | None:
        """The clusters, in which a topic without a value is none."""
        return None if self.clusters is None else counting(self.clusters, self.importance, self.has)

    @property
    def steps(self) -> FloatArray:
        """How far a mean moves with each topic that has a value, u/Σu; of independent ones times
        √(n/(n − 1)), n being Kish's number of topics."""
        u = np.ones(len(self.columns)) if self.own is None else self.own
        return self.steps_of(u)

    def steps_of(self, u: FloatArray) -> FloatArray:
        """The same of some topics, by what they count for."""
        n = kish_of(u)
        factor = np.sqrt(n / (n - 1) if n > 1 else np.nan) if self.clusters is None else 1.0
        return np.asarray(u / u.sum() * factor)

    def influence(self, columns: FloatArray, has: Any, value: float) -> Influence:
        """By how much each topic moves a summary of the columns of those that have this value, as a
        vector over all topics; nothing where there is none. Of topics in clusters the denominator
        of a ratio is what they hold."""
        column = np.zeros(len(self.values))
        own = None if self.importance is None else self.importance[has]
        if len(columns):
            steps = self.steps_of(np.ones(len(columns)) if own is None else own)
            column[has] = moved_by(self.summary, columns, value, own) * steps
        if self.clusters is None:
            return Influence(column, Space(), "Student t")
        held, ratio = None, self.summary.kind == "pooled" and self.summary.formula is None
        if ratio:
            u = np.ones(len(column)) if self.importance is None else self.importance
            held = np.zeros(len(column))
            held[has] = columns[:, 1] * u[has]
        clusters = counting(self.clusters, self.importance, has)
        return Influence(column, Space(None, clusters, held=held), "Student t")


def counting(clusters: Clusters, importance: FloatArray | None, has: Any) -> Clusters:
    """The clusters of topics that count for so much, and for nothing without a value."""
    if has.all():
        return replace(clusters, weight=importance)
    u = np.ones(len(has)) if importance is None else importance
    return replace(clusters, weight=np.where(has, u, 0.0))


@dataclass(frozen=True, eq=False)
class OfTopics:
    """The intervals of one reading: of the mean of the first column, before a sum is made of it or
    a logarithm undone; of topics pooled, of the ratio of both."""

    topics: Summed
    value: float
    drawn: Callable[[], tuple[FloatArray, FloatArray]]

    def replicates(self) -> FloatArray:
        """Of the summary."""
        return self.topics.summary.of_means(self.drawn()[0], len(self.topics.columns))

    def influence(self) -> Influence:
        """By how much each topic moves the summary; nothing where it has no value."""
        return self.topics.influence(self.topics.columns, self.topics.has, self.value)

    def methods(self) -> dict[str, Limits]:
        """By name; of one topic, what needs no spread alone."""
        n = len(self.topics.columns)
        if self.topics.grouped is not None:  # all else is that of any clusters
            return {"student": self._clustered_t, "bayesian": self._bayesian}
        shares: dict[str, Limits] = {}
        if self.topics.measure.definition.share_of == "topics":
            shares = share_methods(self.value, self.topics.first.effective_size)
        pooled = self.topics.summary.kind == "pooled"
        made = self._of_ratio() if pooled else self._of_the_mean()
        if n < 2:
            made = {name: lambda level: intervals.missing("none", "too_few_units") for name in made}
        return {**shares, "delta": lambda level: None, **made, "bayesian": self._bayesian}

    def _clustered_t(self, level: float) -> Interval:
        error, clusters = self.influence().error, self.topics.grouped
        assert clusters is not None
        return clusters.normal(self.value, error.se, error.degrees, level, error.name)

    def _of_ratio(self) -> dict[str, Limits]:
        return {
            "percentile": lambda level: intervals.percentile(self.replicates(), level),
            "bca": self._pooled_bca,
            "studentised": self._pooled_t,
            "student": self._pooled_student,
        }

    def _of_the_mean(self) -> dict[str, Limits]:
        return {
            "percentile": lambda level: self._of_mean(
                intervals.percentile(self.drawn()[0][:, 0], level)
            ),
            "bca": lambda level: self._of_mean(self._bca(level)),
            "studentised": lambda level: self._of_mean(self._studentised(level)),
            "student": lambda level: self._of_mean(
                intervals.student(self._mean, self._se, self.topics.first.effective_size, level)
            ),
        }

    @property
    def _values(self) -> tuple[FloatArray, FloatArray | None, float]:
        """What the topics have, what they weigh, and the mean of it."""
        topics = self.topics
        if topics.summary.kind != "pooled" or topics.weight is None:
            return self._first, topics.own, self._mean
        if topics.summary.formula is not None:  # its linear part
            moved = moved_by(topics.summary, topics.columns, self.value, topics.own)
            return self.value + moved, topics.own, self.value
        weight = topics.weight[topics.has] * (1.0 if topics.own is None else topics.own)
        return topics.values[topics.has], weight, self.value

    @property
    def _ends(self) -> tuple[float, float]:
        """Those of the range, as the summary takes them; else beyond all values."""
        ends = np.array(self.topics.measure.definition.range, np.float64)
        if self.topics.summary.kind == "geometric":
            ends = self.topics.summary.columns(ends)[0]
        values = self._values[0]
        if self.topics.summary.formula is not None:
            ends = np.array([np.fmin(ends[0], values.min()), np.fmax(ends[1], values.max())])
        middle = float(np.median(values))
        most = dirichlet.reach(values - middle)
        low, high = np.where(np.isfinite(ends), ends, (middle - most, middle + most)).tolist()
        return low, high

    def _bayesian(self, level: float) -> Interval:
        values, weight, _ = self._values
        clusters = self.topics.grouped
        if clusters is not None:
            clusters = replace(clusters.taken(self.topics.has), weight=weight)
            if clusters.number < 2:
                return intervals.missing(dirichlet.METHOD, "too_few_clusters")
            values, weight = clusters.by_mean(values)
        made = dirichlet.bayesian(values, self._ends, level, weight)
        made = made if self.topics.summary.kind == "pooled" else self._of_mean(made)
        return made if clusters is None else replace(made, method=clusters.named(made.method))

    @cached_property
    def _apart(self) -> FloatArray:
        values, weight, mean = self._values
        return (values - mean) * (1.0 if weight is None else weight / weight.mean())

    def skewness(self) -> float:
        """The size of the skewness over √n; 0 where nothing varies."""
        return abs(intervals.skewness(self.moved))

    @property
    def moved(self) -> FloatArray:
        """By how much the topics, or the clusters of them, move the summary, but for a factor."""
        clusters = self.topics.grouped
        if clusters is None:
            return self._apart
        return np.bincount(clusters.code[self.topics.has], self._apart).astype(np.float64)

    @property
    def _first(self) -> FloatArray:
        first: FloatArray = self.topics.columns[:, 0]
        return first

    @property
    def _mean(self) -> float:
        return float(self.topics.first.mean)

    @property
    def _se(self) -> float:
        return self.topics.first.standard_error

    def _of_mean(self, made: Interval) -> Interval:
        """An interval of the mean as one of the summary."""
        n, summary = len(self._first), self.topics.summary
        ends = summary.of_means(np.array([[made.low], [made.high]]), n)
        method = made.method + (" of logarithms" if summary.kind == "geometric" else "")
        se = made.se * rate(summary, self.value, n)
        return Interval(float(ends[0]), float(ends[1]), method, made.reason, se)

    def _studentised(self, level: float) -> Interval:
        means, errors = (of[:, 0] for of in self.drawn())
        return intervals.bootstrap_t(self._mean, self._se, means, errors, level)

    def _bca(self, level: float) -> Interval:
        accelerated = intervals.acceleration(self._apart)
        return intervals.bca(self._mean, self.drawn()[0][:, 0], accelerated, level)

    def _pooled_bca(self, level: float) -> Interval:
        columns, n = self._counted, len(self.topics.columns)
        rest = columns.sum(axis=0) - columns
        moved = intervals.left_out(self.topics.summary.of_means(rest, n))
        return intervals.bca(self.value, self.replicates(), intervals.acceleration(moved), level)

    def _pooled_t(self, level: float) -> Interval:
        return pooled_t(self.topics.summary, self._counted, self.value, self.topics.settings, level)

    def _pooled_student(self, level: float) -> Interval:
        """Of its linear part."""
        n = self.topics.first.effective_size
        return intervals.student(self.value, self.influence().error.se, n, level)

    @property
    def _counted(self) -> FloatArray:
        """The columns, each topic as much as it counts for."""
        own = self.topics.own
        return self.topics.columns if own is None else self.topics.columns * own[:, None]


def moved_by(
    summary: Summary, columns: FloatArray, value: float, importance: FloatArray | None = None
) -> FloatArray:
    """By how much each topic moves a summary of this value, times their number, or over its share
    of the importance of all."""
    first, mean = columns[:, 0], partial(np.average, weights=importance)
    if summary.formula is not None:
        means = np.average(columns, weights=importance, axis=0)
        return np.asarray((columns - means) @ _slopes(summary, means[None])[0])
    if summary.kind == "pooled":
        return np.asarray((first - value * columns[:, 1]) / mean(columns[:, 1]))
    return np.asarray((first - mean(first)) * rate(summary, value, len(first)))


def rate(summary: Summary, value: float, n: int) -> float:
    """How fast a summary of n topics grows with the mean of its column."""
    return {"sum": float(n), "geometric": value}.get(summary.kind, 1.0)


def _slopes(summary: Summary, means: FloatArray) -> FloatArray:
    """How fast a summary grows with each of its means, by central differences, a row each."""
    from calipers.inference.influence import STEP

    made, step = np.zeros(means.shape), STEP * np.maximum(means, 1e-300)
    for place in range(means.shape[1]):
        apart = np.zeros(means.shape)
        apart[:, place] = step[:, place]
        ends = (summary.of_means(means + sign * apart, 1) for sign in (1, -1))
        made[:, place] = np.subtract(*ends) / (2 * step[:, place])
    return np.where(means > 0, made, 0.0)


def pooled_t(
    summary: Summary, columns: FloatArray, value: float, settings: Settings, level: float
) -> Interval:
    """Bootstrap-t of a ratio r = Σx/Σw of topics (x, w): the error of each replicate is that of its
    linear part, √(Σ(x − rw)²/(n(n − 1)))/w̄. Of few topics of unequal size percentiles are short. Of
    another function of means it is √(s′Cs/(n − 1)), with slopes s and covariances C."""
    from calipers import _core

    if summary.formula is not None:
        return _function_t(summary, columns, value, settings, level)
    w, n = columns[:, 1], len(columns)
    apart = columns[:, 0] - value * w
    parts = np.column_stack([w, apart, apart**2, apart * w, w**2])
    drawn, _ = _core.bootstrap_means(parts, settings.seed, settings.resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = drawn[:, 1] / drawn[:, 0]
        spread = drawn[:, 2] - 2 * moved * drawn[:, 3] + moved**2 * drawn[:, 4]
        errors = np.sqrt(np.maximum(spread, 0.0) / (n - 1)) / drawn[:, 0]
        se = float(np.sqrt(np.square(apart).mean() / (n - 1)) / w.mean())
    return intervals.bootstrap_t(value, se, value + moved, errors, level)


def _function_t(
    summary: Summary, columns: FloatArray, value: float, settings: Settings, level: float
) -> Interval:
    from calipers import _core

    n, width = columns.shape
    middle = columns.mean(axis=0)
    apart = columns - middle  # so that squares keep their digits
    first, second = np.triu_indices(width)
    parts = np.column_stack([apart, apart[:, first] * apart[:, second]])
    drawn, _ = _core.bootstrap_means(parts, settings.seed, settings.resamples)

    def errors(moved: FloatArray, products: FloatArray) -> FloatArray:
        slopes = _slopes(summary, middle + moved)
        twice = np.where(first == second, 1.0, 2.0) * slopes[:, first] * slopes[:, second]
        spread = (twice * (products - moved[:, first] * moved[:, second])).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(spread, 0.0) / (n - 1)))

    moved, products = drawn[:, :width], drawn[:, width:]
    none = np.zeros((1, width))
    se = float(errors(none, parts[:, width:].mean(axis=0)[None])[0])
    replicates = summary.of_means(middle + moved, n)
    return intervals.bootstrap_t(value, se, replicates, errors(moved, products), level)
