"""Means and other summaries of values per topic: intervals and tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.proportions import proportion_intervals
from calipers.inference import bayesian_bootstrap, intervals, paired_tests
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import n_randomizations
from calipers.inference.point_estimate import Limits, PointEstimate, UnitValues
from calipers.inference.resampling import weighted_means
from calipers.inference.summaries import Summary
from calipers.inference.variance_estimators import Influence, StandardError, VarianceEstimator
from calipers.statistics import Moments, count_signs, effective_size_of

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class TopicSummary:
    """Values of a measure per topic, NaN if undefined.

    ``weight`` is the weight of each topic if topics are pooled, ``importance`` how much each topic
    counts if they count unequally; ``clusters`` and ``order`` are the clusters and the time order
    of the topics.
    """

    measure: MeasureLike
    values: FloatArray
    weight: FloatArray | None
    settings: Settings
    importance: FloatArray | None = field(default=None, kw_only=True)
    clusters: ClusterIndex | None = field(default=None, kw_only=True)
    order: TimeOrder | None = field(default=None, kw_only=True)

    @property
    def summary(self) -> Summary:
        """Summary that combines the values."""
        return Summary.from_measure(self.measure.definition)

    @cached_property
    def defined_mask(self) -> Any:
        """Mask of the topics with a value."""
        return self.summary.defined_mask(self.values, self.weight)

    @cached_property
    def columns(self) -> FloatArray:
        """Columns whose means the summary uses, for the topics with a value."""
        own = np.column_stack(self.summary.columns(self.values, self.weight))
        return np.asarray(own[self.defined_mask])

    @cached_property
    def defined_weights(self) -> FloatArray | None:
        """Weights by importance of the topics with a value."""
        return None if self.importance is None else self.importance[self.defined_mask]

    @cached_property
    def first(self) -> Moments:
        """Moments of the first column."""
        return Moments.from_rows(self.columns[:, 0], self.defined_weights)

    @cached_property
    def defined_clusters(self) -> ClusterIndex | None:
        """Clusters, in which topics without a value have weight 0."""
        return (
            None
            if self.clusters is None
            else defined_clusters(self.clusters, self.importance, self.defined_mask)
        )

    @property
    def steps(self) -> FloatArray:
        """Derivative of a mean by the value of each defined topic, u/Σu.

        For independent topics it is multiplied by √(n/(n − 1)), n being Kish's number of topics.
        """
        u = np.ones(len(self.columns)) if self.defined_weights is None else self.defined_weights
        return self.steps_of(u)

    def steps_of(self, u: FloatArray) -> FloatArray:
        """Return the derivatives of a mean for topics of this importance."""
        n = effective_size_of(u)
        factor = np.sqrt(n / (n - 1) if n > 1 else np.nan) if self.clusters is None else 1.0
        return np.asarray(u / u.sum() * factor)

    def influence(self, columns: FloatArray, has: Any, value: float) -> Influence:
        """Return the influence values of a summary of the columns, over all topics.

        They are 0 for topics without a value. With clusters, the denominator of a ratio is the
        weight that they hold.
        """
        column = np.zeros(len(self.values))
        own = None if self.importance is None else self.importance[has]
        if len(columns):
            steps = self.steps_of(np.ones(len(columns)) if own is None else own)
            column[has] = topic_influence(self.summary, columns, value, own) * steps
        if self.clusters is None:
            return Influence(column, VarianceEstimator(), "Student t")
        held, ratio = None, self.summary.kind == "pooled" and self.summary.formula is None
        if ratio:
            u = np.ones(len(column)) if self.importance is None else self.importance
            held = np.zeros(len(column))
            held[has] = columns[:, 1] * u[has]
        clusters = defined_clusters(self.clusters, self.importance, has)
        return Influence(column, VarianceEstimator(None, clusters, held=held), "Student t")


def defined_clusters(
    clusters: ClusterIndex, importance: FloatArray | None, has: Any
) -> ClusterIndex:
    """Return the clusters weighted by the importance of topics, 0 for those without a value."""
    if has.all():
        return replace(clusters, weight=importance)
    u = np.ones(len(has)) if importance is None else importance
    return replace(clusters, weight=np.where(has, u, 0.0))


@dataclass(frozen=True, eq=False)
class TopicIntervals:
    """Interval methods of one summary over topics.

    They are computed for the mean of the first column, and then transformed to the sum, or by the
    exponential; for pooled topics, for the ratio of the two columns.
    """

    topics: TopicSummary
    value: float
    draw_replicates: Callable[[], tuple[FloatArray, FloatArray]]

    def replicates(self) -> FloatArray:
        """Return bootstrap replicates of the summary."""
        return self.topics.summary.summarize_means(
            self.draw_replicates()[0], len(self.topics.columns)
        )

    def influence(self) -> Influence:
        """Return the influence values of the topics; 0 for topics without a value."""
        return self.topics.influence(self.topics.columns, self.topics.defined_mask, self.value)

    def methods(self) -> dict[str, Limits]:
        """Return the interval methods by name; for one topic only those that need no variance."""
        n = len(self.topics.columns)
        if self.topics.defined_clusters is not None:  # all else is that of any clusters
            return {"student": self._clustered_t, "bayesian": self._bayesian}
        shares: dict[str, Limits] = {}
        if self.topics.measure.definition.proportion_of == "topics":
            shares = proportion_intervals(self.value, self.topics.first.effective_size)
        pooled = self.topics.summary.kind == "pooled"
        made = self._ratio_intervals() if pooled else self._mean_intervals()
        if n < 2:
            made = {
                name: lambda level: intervals.no_interval("none", "too_few_units") for name in made
            }
        return {**shares, "delta": lambda level: None, **made, "bayesian": self._bayesian}

    def _clustered_t(self, level: float) -> Interval:
        error, clusters = self.influence().error, self.topics.defined_clusters
        assert clusters is not None
        return clusters.normal(self.value, error.se, error.degrees, level, error.name)

    def _ratio_intervals(self) -> dict[str, Limits]:
        return {
            "percentile": lambda level: intervals.percentile(self.replicates(), level),
            "bca": self._pooled_bca,
            "studentised": self._pooled_t,
            "student": self._pooled_student,
        }

    def _mean_intervals(self) -> dict[str, Limits]:
        return {
            "percentile": lambda level: self._mean_interval(
                intervals.percentile(self.draw_replicates()[0][:, 0], level)
            ),
            "bca": lambda level: self._mean_interval(self._bca(level)),
            "studentised": lambda level: self._mean_interval(self._studentized_interval(level)),
            "student": lambda level: self._mean_interval(
                intervals.student(self._mean, self._se, self.topics.first.effective_size, level)
            ),
        }

    @property
    def _values(self) -> tuple[FloatArray, FloatArray | None, float]:
        """Values of the topics, their weights, and their mean."""
        topics = self.topics
        if topics.summary.kind != "pooled" or topics.weight is None:
            return self._first, topics.defined_weights, self._mean
        if topics.summary.formula is not None:  # its linear part
            moved = topic_influence(
                topics.summary, topics.columns, self.value, topics.defined_weights
            )
            return self.value + moved, topics.defined_weights, self.value
        weight = topics.weight[topics.defined_mask] * (
            1.0 if topics.defined_weights is None else topics.defined_weights
        )
        return topics.values[topics.defined_mask], weight, self.value

    @property
    def _range_limits(self) -> tuple[float, float]:
        """Range of the values on the scale of the summary; if infinite, wider than all values."""
        ends = np.array(self.topics.measure.definition.range, np.float64)
        if self.topics.summary.kind == "geometric":
            ends = self.topics.summary.columns(ends)[0]
        values = self._values[0]
        if self.topics.summary.formula is not None:
            ends = np.array([np.fmin(ends[0], values.min()), np.fmax(ends[1], values.max())])
        middle = float(np.median(values))
        most = bayesian_bootstrap.reach(values - middle)
        low, high = np.where(np.isfinite(ends), ends, (middle - most, middle + most)).tolist()
        return low, high

    def _bayesian(self, level: float) -> Interval:
        values, weight, _ = self._values
        clusters = self.topics.defined_clusters
        if clusters is not None:
            clusters = replace(clusters.take_rows(self.topics.defined_mask), weight=weight)
            if clusters.n_clusters < 2:
                return intervals.no_interval(bayesian_bootstrap.METHOD, "too_few_clusters")
            values, weight = clusters.cluster_means(values)
        made = bayesian_bootstrap.lower_tail(values, self._range_limits, level, weight)
        made = made if self.topics.summary.kind == "pooled" else self._mean_interval(made)
        return (
            made
            if clusters is None
            else replace(made, method=clusters.annotate_method(made.method))
        )

    @cached_property
    def _deviations(self) -> FloatArray:
        values, weight, mean = self._values
        return (values - mean) * (1.0 if weight is None else weight / weight.mean())

    def skewness(self) -> float:
        """Return the absolute skewness over √n; 0 if nothing varies."""
        return abs(intervals.skewness(self.influence_values))

    @property
    def influence_values(self) -> FloatArray:
        """Influence of the topics, or of the clusters of them, up to a constant factor."""
        clusters = self.topics.defined_clusters
        if clusters is None:
            return self._deviations
        return np.bincount(clusters.code[self.topics.defined_mask], self._deviations).astype(
            np.float64
        )

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

    def _mean_interval(self, made: Interval) -> Interval:
        """Transform an interval of the mean to one of the summary."""
        n, summary = len(self._first), self.topics.summary
        ends = summary.summarize_means(np.array([[made.low], [made.high]]), n)
        method = made.method + (" of logarithms" if summary.kind == "geometric" else "")
        se = made.se * summary_derivative(summary, self.value, n)
        return Interval(float(ends[0]), float(ends[1]), method, made.reason, se)

    def _studentized_interval(self, level: float) -> Interval:
        means, errors = (of[:, 0] for of in self.draw_replicates())
        return intervals.bootstrap_t(self._mean, self._se, means, errors, level)

    def _bca(self, level: float) -> Interval:
        accelerated = intervals.acceleration(self._deviations)
        return intervals.bca(self._mean, self.draw_replicates()[0][:, 0], accelerated, level)

    def _pooled_bca(self, level: float) -> Interval:
        columns, n = self._weighted_columns, len(self.topics.columns)
        rest = columns.sum(axis=0) - columns
        moved = intervals.bootstrap_bias_correction(self.topics.summary.summarize_means(rest, n))
        return intervals.bca(self.value, self.replicates(), intervals.acceleration(moved), level)

    def _pooled_t(self, level: float) -> Interval:
        return pooled_t(
            self.topics.summary, self._weighted_columns, self.value, self.topics.settings, level
        )

    def _pooled_student(self, level: float) -> Interval:
        """Return Student's t interval of the linear approximation."""
        n = self.topics.first.effective_size
        return intervals.student(self.value, self.influence().error.se, n, level)

    @property
    def _weighted_columns(self) -> FloatArray:
        """Columns multiplied by the importance of the topics."""
        own = self.topics.defined_weights
        return self.topics.columns if own is None else self.topics.columns * own[:, None]


def topic_influence(
    summary: Summary, columns: FloatArray, value: float, importance: FloatArray | None = None
) -> FloatArray:
    """Return the influence of each topic on a summary.

    It is multiplied by the number of topics, or divided by the topic's proportion of the
    importance.
    """
    first, mean = columns[:, 0], partial(np.average, weights=importance)
    if summary.formula is not None:
        means = np.average(columns, weights=importance, axis=0)
        return np.asarray((columns - means) @ _summary_derivatives(summary, means[None])[0])
    if summary.kind == "pooled":
        return np.asarray((first - value * columns[:, 1]) / mean(columns[:, 1]))
    return np.asarray((first - mean(first)) * summary_derivative(summary, value, len(first)))


def summary_derivative(summary: Summary, value: float, n: int) -> float:
    """Return the derivative of a summary of n topics by the mean of its column."""
    return {"sum": float(n), "geometric": value}.get(summary.kind, 1.0)


def _summary_derivatives(summary: Summary, means: FloatArray) -> FloatArray:
    """Return the derivatives of a summary by each of its means, by central differences.

    Each row of ``means`` has its own.
    """
    from calipers.inference.influence import STEP

    made, step = np.zeros(means.shape), STEP * np.maximum(means, 1e-300)
    for place in range(means.shape[1]):
        apart = np.zeros(means.shape)
        apart[:, place] = step[:, place]
        ends = (summary.summarize_means(means + sign * apart, 1) for sign in (1, -1))
        made[:, place] = np.subtract(*ends) / (2 * step[:, place])
    return np.where(means > 0, made, 0.0)


def pooled_t(
    summary: Summary, columns: FloatArray, value: float, settings: Settings, level: float
) -> Interval:
    """Return the bootstrap-t interval of a ratio r = Σx/Σw of topics (x, w).

    The standard error of each replicate is that of its linear approximation, √(Σ(x − rw)²/(n(n −
    1)))/w̄. With few topics of unequal size, percentile intervals are too narrow. For another
    function of means it is √(s′Cs/(n − 1)), with derivatives s and covariances C.
    """
    from calipers import _core

    if summary.formula is not None:
        return _function_t(summary, columns, value, settings, level)
    w, n = columns[:, 1], len(columns)
    apart = columns[:, 0] - value * w
    parts = np.column_stack([w, apart, apart**2, apart * w, w**2])
    drawn, _ = _core.bootstrap_means(parts, settings.seed, settings.n_resamples)
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
    drawn, _ = _core.bootstrap_means(parts, settings.seed, settings.n_resamples)

    def errors(moved: FloatArray, products: FloatArray) -> FloatArray:
        slopes = _summary_derivatives(summary, middle + moved)
        twice = np.where(first == second, 1.0, 2.0) * slopes[:, first] * slopes[:, second]
        spread = (twice * (products - moved[:, first] * moved[:, second])).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(spread, 0.0) / (n - 1)))

    moved, products = drawn[:, :width], drawn[:, width:]
    none = np.zeros((1, width))
    se = float(errors(none, parts[:, width:].mean(axis=0)[None])[0])
    replicates = summary.summarize_means(middle + moved, n)
    return intervals.bootstrap_t(value, se, replicates, errors(moved, products), level)


@dataclass(frozen=True, eq=False)
class TopicRows(TopicSummary):
    """Values per topic, with the name of their unit."""

    unit: str = "topics"
    undefined: Mapping[str, int] = field(default_factory=dict)

    def point_estimate(self, draws: TopicReplicates, place: int) -> PointEstimate:
        """Return the point estimate, whose replicates are shared with other measures."""
        definition, n = self.measure.definition, int(np.count_nonzero(self.defined_mask))
        kind = "mean over topics"
        if definition.interval == "none":
            kind = "count"
        elif definition.proportion_of == "topics":
            kind = "share of topics"
        elif self.summary.kind == "pooled":
            kind = "topics pooled"
        value = self.summary.value(self.values, self.weight, self.importance)
        of = TopicIntervals(self, value, lambda: draws.get(place))
        empty = kind == "topics pooled" and n > 0 and np.isnan(value)
        empty = empty and self.summary.formula is None  # else reasons of topics tell
        return PointEstimate(
            value=value,
            kind=kind,
            settings=self.settings,
            n=n,
            unit=self.unit,
            bounds=definition.range,
            higher_is_better=definition.higher_is_better,
            undefined={**self.undefined, "nothing_retrieved": n} if empty else self.undefined,
            n_total=len(self.values),
            weight=self.importance,
            clusters=self.defined_clusters,
            order=None if self.order is None else self.order.take_rows(self.defined_mask),
            sizes=lambda: (self.first.effective_size,),
            joint_distribution=self,
            skewness_size=of.skewness,
            influence=of.influence,
            linear=lambda: of.influence().influence_values[self.defined_mask],
            jackknife=None if self.clusters is None else lambda: (of.influence_values, None),
            replicates=of.replicates,
            methods=of.methods() if n else {},
        )

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference over the topics on which both have a value."""
        assert isinstance(second.joint_distribution, TopicRows)
        [made] = paired_differences([(first, second)], self.settings)
        return made


@dataclass(frozen=True, eq=False)
class TopicReplicates:
    """Bootstrap replicates of the means of columns, and their standard errors.

    The topics are resampled once for all columns. ``tables`` has the columns of each estimate, NaN
    if a topic has no value, and ``importance`` that of the topics for each estimate.
    """

    tables: Sequence[Sequence[FloatArray]]
    settings: Settings
    importance: Sequence[FloatArray | None]
    #: Of topics in clusters, which are drawn whole, those of each reading.
    clusters: Sequence[ClusterIndex | None] = ()

    def get(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return the replicates and the standard errors of one estimate."""
        return self._replicates[place]

    @cached_property
    def _replicates(self) -> list[tuple[FloatArray, FloatArray]]:
        from calipers import _core

        if any(of is not None for of in self.clusters):
            return [
                (of.means(np.column_stack(columns), self.settings), np.zeros(0))
                for columns, of in zip(self.tables, self.clusters, strict=True)
                if of is not None
            ]
        if any(weight is not None for weight in self.importance):
            ones = np.ones(len(self.tables[0][0]))
            return [
                weighted_means(columns, ones if weight is None else weight, self.settings)
                for columns, weight in zip(self.tables, self.importance, strict=True)
            ]
        flat = np.column_stack([column for columns in self.tables for column in columns])
        means, errors = _core.bootstrap_means(flat, self.settings.seed, self.settings.n_resamples)
        # Each column's replicates side by side, as they are read.
        tables = [np.ascontiguousarray(drawn.T).T for drawn in (means, errors)]
        ends = np.cumsum([len(columns) for columns in self.tables])[:-1]
        return list(zip(*(np.split(table, ends, axis=1) for table in tables), strict=True))


def estimate_over_topics(all_topics: Sequence[TopicRows]) -> list[PointEstimate]:
    """Return the point estimates of several measures on the same topics, resampled together."""
    draws = TopicReplicates(
        [of.summary.columns(of.values, of.weight) for of in all_topics],
        all_topics[0].settings,
        [of.importance for of in all_topics],
        [of.defined_clusters for of in all_topics],
    )
    return [of.point_estimate(draws, place) for place, of in enumerate(all_topics)]


# --- Differences ----------------------------------------------------------------------------------


def paired_differences(
    pairs: Sequence[tuple[PointEstimate, PointEstimate]], settings: Settings
) -> Iterator[PointEstimate]:
    """Return the differences of pairs of point estimates, first minus second.

    Each is over the topics on which both have a value. The same resampled topics and the same
    random signs are used for all of them.
    """
    both = [_EstimatePair.from_estimates(first, second) for first, second in pairs]
    # Columns of what the summaries need: of sums and means the difference itself.
    counts = [pair.importance for pair in both]
    clusters = [pair.clusters for pair in both]
    draws = TopicReplicates([pair.drawn_columns() for pair in both], settings, counts, clusters)
    signs = _SignFlips(
        [
            pair.differences if u is None else pair.differences * u
            for pair, u in zip(both, counts, strict=True)
        ],
        settings,
    )
    for place, pair in enumerate(both):
        yield pair.difference(draws, signs, place)


@dataclass(frozen=True, eq=False)
class _SignFlips:
    """Randomisation tests on the same topics, with the same signs for all differences."""

    differences: list[FloatArray]
    settings: Settings
    _tests: dict[str, list[paired_tests.TestResult]] = field(default_factory=dict)

    def test(self, place: int, towards: str) -> paired_tests.TestResult:
        """Return the test of one difference."""
        if towards not in self._tests:
            table, tries = np.column_stack(self.differences), n_randomizations(self.settings)
            found = paired_tests.randomization(table, tries, self.settings.seed, towards)
            self._tests[towards] = found
        return self._tests[towards][place]


@dataclass(frozen=True, eq=False)
class _EstimatePair:
    """Two point estimates of a measure, and the columns of both; NaN if either is undefined."""

    first: PointEstimate
    second: PointEstimate
    summary: Summary
    a: list[FloatArray]
    b: list[FloatArray]
    importance: FloatArray | None

    @classmethod
    def from_estimates(cls, first: PointEstimate, second: PointEstimate) -> _EstimatePair:
        """Create the pair; topics on which either is undefined have no value."""
        ours, theirs = first.joint_distribution, second.joint_distribution
        assert isinstance(ours, TopicRows)
        assert isinstance(theirs, TopicRows)
        absent = ~(ours.defined_mask & theirs.defined_mask)
        a, b = (of.summary.columns(*_drop_topics(absent, of)) for of in (ours, theirs))
        return cls(first, second, ours.summary, a, b, ours.importance)

    @cached_property
    def defined_mask(self) -> Any:
        """Mask of the topics on which both have a value."""
        return ~np.isnan(self.a[0])

    @cached_property
    def clusters(self) -> ClusterIndex | None:
        """Clusters of topics, in which topics without both values have weight 0."""
        of = self.law.clusters
        return None if of is None else defined_clusters(of, self.importance, self.defined_mask)

    @property
    def law(self) -> TopicRows:
        """Topics of the first estimate."""
        assert isinstance(self.first.joint_distribution, TopicRows)
        return self.first.joint_distribution

    @property
    def differences(self) -> FloatArray:
        """Differences of the first column, first minus second."""
        return self.a[0] - self.b[0]

    def drawn_columns(self) -> list[FloatArray]:
        """Return the columns to resample."""
        of_means = self.summary.kind in ("mean", "sum")
        return [self.differences] if of_means else [*self.a, *self.b]

    def difference(self, draws: TopicReplicates, signs: _SignFlips, place: int) -> PointEstimate:
        """Return the difference, with its replicates and its test at index ``place``."""
        a, b = (np.column_stack(columns)[self.defined_mask] for columns in (self.a, self.b))
        has, n = self.defined_mask, len(a)
        own = None if self.importance is None else self.importance[has]
        ours, theirs = self.law, self.second.joint_distribution
        assert isinstance(theirs, TopicRows)
        shared: dict[str, Any] = {
            "undefined": self.first.undefined,
            "signs": lambda: count_signs((ours.values - theirs.values)[has]),
            "is_binary": ours.measure.definition.proportion_of == "topics",
            "sizes": lambda: (Moments.from_rows(a[:, 0], own).effective_size,),
            "clusters": self.clusters,
            "order": None if ours.order is None else ours.order.take_rows(has),
        }
        if n == 0:
            return self.first.difference(self.second, n=n, value=np.nan, **shared)
        parts: dict[str, Any]
        if self.summary.kind in ("mean", "sum"):
            parts = self._mean_fields(self._units(a[:, 0] - b[:, 0]), draws, signs, place)
        else:
            parts = self._function_fields(a, b, own, draws, signs, place)
        if ours.clusters is not None or ours.order is not None:
            parts |= self._dependent_fields(a, b)
        return self.first.difference(self.second, n=n, **shared, **parts)

    def _units(self, values: FloatArray) -> UnitValues:
        """Return values of the topics on which both have one, as units."""
        own = None if self.importance is None else self.importance[self.defined_mask]
        clusters = None if self.clusters is None else self.clusters.take_rows(self.defined_mask)
        return UnitValues(values, own, clusters)

    def _dependent_fields(self, a: FloatArray, b: FloatArray) -> dict[str, Any]:
        """Return the influence values for topics in clusters or in time order.

        With clusters, the signs of topics are not exchangeable, so there is no test by them.
        """
        theirs = self.second.joint_distribution
        assert isinstance(theirs, TopicRows)

        def influence() -> Influence:
            made = [
                of.influence(columns, self.defined_mask, self._value(columns))
                for of, columns in ((self.law, a), (theirs, b))
            ]
            return made[0] - made[1]

        found = {
            "influence": influence,
            "linear": lambda: influence().influence_values[self.defined_mask],
        }
        if self.clusters is None:
            return found
        return {**found, "error": None, "studentized_replicates": None, "permutation_test": None}

    def _value(self, columns: FloatArray) -> float:
        """Evaluate the summary on the topics on which both have a value."""
        own = None if self.importance is None else self.importance[self.defined_mask]
        means = np.average(columns, axis=0, weights=own)
        return float(self.summary.summarize_means(means, len(columns)))

    def _mean_fields(
        self, units: UnitValues, draws: TopicReplicates, signs: _SignFlips, place: int
    ) -> dict[str, Any]:
        """Return the parts of a difference of means, or sums."""
        scale = len(units.values) if self.summary.kind == "sum" else 1

        def studentised() -> tuple[float, FloatArray, FloatArray]:
            means, errors = draws.get(place)
            return units.error.se, means[:, 0], errors[:, 0]

        return {
            "value": units.mean * scale,
            "units": units,
            "factor": scale,
            "error": lambda: StandardError(
                units.error.se * scale, "Student t", units.error.degrees
            ),
            "replicates": lambda: draws.get(place)[0][:, 0] * scale,
            "studentized_replicates": studentised,
            "permutation_test": lambda towards: signs.test(place, towards),
        }

    def _function_fields(
        self,
        a: FloatArray,
        b: FloatArray,
        own: FloatArray | None,
        draws: TopicReplicates,
        signs: _SignFlips,
        place: int,
    ) -> dict[str, Any]:
        """Return the parts of a difference of geometric means, or ratios of means."""
        summary, settings, n = self.summary, self.first.settings, len(a)
        of = [self._value(table) for table in (a, b)]

        def replicates() -> FloatArray:
            means, width = draws.get(place)[0], a.shape[1]
            first, second = means[:, :width], means[:, width:]
            return summary.summarize_means(first, n) - summary.summarize_means(second, n)

        def moved() -> FloatArray:
            return topic_influence(summary, a, of[0], own) - topic_influence(summary, b, of[1], own)

        value = of[0] - of[1]
        parts: dict[str, Any] = {
            "value": value,
            "linear_units": lambda: self._units(value + moved()),
            "error": lambda: replace(self._units(moved()).error, name="Student t"),
            "jackknife": lambda: (self._units(moved()).influence_values, None),
            "replicates": replicates,
        }
        if summary.kind == "geometric":
            return {
                **parts,
                "units": self._units(a[:, 0] - b[:, 0]),
                "value_is_unit_mean": False,
                "permutation_test": lambda towards: signs.test(place, towards),
            }
        tries, (first, second) = n_randomizations(settings), (a, b)
        if own is not None:
            first, second = (table * own[:, None] for table in (a, b))
        return {
            **parts,
            "permutation_test": lambda towards: paired_tests.swapped_ratios(
                first, second, tries, settings.seed, towards, summary.formula
            ),
        }


def _drop_topics(absent: Any, of: TopicRows) -> tuple[FloatArray, FloatArray | None]:
    """Return values and weights, with those of some topics set to NaN."""
    weight = of.weight
    if weight is not None and weight.ndim > 1:
        weight = np.where(absent[:, None], np.nan, weight)
    return np.where(absent, np.nan, of.values), weight
