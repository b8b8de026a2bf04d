"""Values of measures per topic for each system, and the evaluation computed from them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.costs import NO_COSTS, Costs
from calipers.data.frequency_weights import RowRepeats
from calipers.estimation.topics import TopicRows, estimate_over_topics, paired_differences
from calipers.evaluation import stored_predictions as keeping
from calipers.evaluation.estimates import to_estimate
from calipers.evaluation.shared import (
    glossary,
    measure_name_notes,
    provenance,
    requested_names,
    to_clusters,
    to_time_order,
)
from calipers.inference.method_limits import MIN_CLUSTER_DF
from calipers.inference.summaries import Summary
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure
from calipers.progress import track
from calipers.report.numbers import format_count
from calipers.results import Estimate, Evaluation, PerUnit, StoredPredictions
from calipers.statistics import JudgedRankings, effective_size_from_weights

if TYPE_CHECKING:
    from calipers.data.topic_tables import UnitColumns
    from calipers.evaluation.shared import StatisticsByType
    from calipers.evaluation.slice_definitions import SliceDefinition
    from calipers.evaluation.stored_predictions import CommonProperties
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.serial import DependenceResult
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.inference.unit_procedures import UnitMeans
    from calipers.statistics import FloatArray, IntArray, UnitSums
    from calipers.statistics.base import Statistic

#: Number of values that are drawn at a time.
_MAX_DRAWN_VALUES = 8_000_000

#: How the documents of a run are ordered, as provenance records it.
DOCUMENT_ORDERS = {
    "score": "score descending, ties by document id descending",
    "rank": "rank ascending",
}


def used_unit_columns(*evaluations: Evaluation) -> list[str]:
    """Return which columns of topics (weights, counts, clusters, times) evaluations used.

    With these, topics do not have equal weight, or are not independent.
    """
    conventions = [entry.provenance.get("conventions", {}) for entry in evaluations]
    names = {"weighted": "weights", "counted": "counts", "clusters": "clusters", "times": "times"}
    return [name for key, name in names.items() if any(entry.get(key) for entry in conventions)]


def _measure_topics(
    statistics: StatisticsByType, measures: Sequence[Measure], *, zero: bool
) -> tuple[FloatArray, list[dict[str, list[int]]], dict[int, FloatArray]]:
    """Compute the measures of a system on each topic.

    All measures of a block of topics are computed before those of the next block. The result has
    the values, the topics without a value by measure and reason, and the weights of topics by the
    index of the measure.
    """
    columns: list[list[FloatArray]] = [[] for _ in measures]
    weights: dict[int, list[FloatArray]] = {}
    reasons: list[dict[str, list[int]]] = [{} for _ in measures]
    conventional_measures = [m.where_undefined("zero" if zero else "nan") for m in measures]
    indices_by_type: dict[type[Statistic], list[int]] = {}
    for j, measure in enumerate(measures):
        indices_by_type.setdefault(measure.definition.statistic, []).append(j)
    for statistic_type, measure_indices in indices_by_type.items():
        statistic = statistics[statistic_type]
        blocks = (
            statistic.blocks()
            if isinstance(statistic, JudgedRankings)
            else [(slice(0, None), statistic)]
        )
        for topics, block in blocks:
            for j in measure_indices:
                column, masks = conventional_measures[j].apply_with_reasons(block)
                columns[j].append(column)
                for reason, mask in masks.items():
                    undefined_topics = (topics.start + np.flatnonzero(mask)).tolist()
                    reasons[j].setdefault(reason, []).extend(undefined_topics)
                weight = measures[j].definition.weight
                if weight is not None:
                    weights.setdefault(j, []).append(
                        np.asarray(weight(block, measures[j].parameters), np.float64)
                    )
    return (
        np.column_stack([np.concatenate(blocks) for blocks in columns]),
        [
            {reason: topics for reason, topics in by_reason.items() if topics}
            for by_reason in reasons
        ],
        {j: np.concatenate(weights[j]) for j in sorted(weights)},
    )


@dataclass(frozen=True, eq=False)
class TopicScores:
    """Value of every measure on every topic for each system; all systems have the same topics."""

    topics: tuple[str, ...]
    measures: list[Measure]
    values: dict[str, FloatArray]
    reasons: dict[str, list[dict[str, list[int]]]]
    measure_weights: dict[str, dict[int, FloatArray]]
    settings: Settings
    unit: str = "topics"
    #: Weight of each topic in means; None if all weights are equal.
    topic_weights: FloatArray | None = None
    #: Clusters of the topics, such as users, and the order in time.
    clusters: ClusterIndex | None = None
    order: TimeOrder | None = None
    #: No-skill values: the expected value of each measure on each topic under random order, of
    #: shape (topics, measures); None if it is unknown.
    no_skill_values: FloatArray | None = None
    #: With weights or counts: all given topics, once each, the indices of these topics among them,
    #: and the number of topics that are left out because their weight is 0.
    all_topics: TopicScores | None = None
    topic_indices: IntArray | None = None
    n_zero_weight: int | None = None
    has_counts: bool = False
    #: Slices of the topics, of which `iterate_slices` yields the values.
    slice_definitions: Sequence[SliceDefinition] = ()
    #: What the values came from, by system.
    statistics: Mapping[str, StatisticsByType] = field(default_factory=dict)
    #: Returns the properties that systems of an earlier evaluation must have in common with these.
    get_common: CommonProperties = dict
    _dependence_results: list[DependenceResult] = field(default_factory=list, repr=False)

    @classmethod
    def from_systems(
        cls,
        topics: tuple[str, ...],
        systems: Mapping[str, StatisticsByType],
        measures: list[Measure],
        settings: Settings,
        *,
        zero: bool,
        unit: str = "topics",
        common: CommonProperties = dict,
    ) -> TopicScores:
        """Compute the measures of all systems.

        ``zero`` replaces undefined values by 0.
        """
        values, reasons, weights = {}, {}, {}
        for name, statistics in systems.items():
            values[name], reasons[name], weights[name] = _measure_topics(
                statistics, measures, zero=zero
            )
        scores = cls(topics, measures, values, reasons, weights, settings, unit)
        return replace(scores, statistics=systems, get_common=common)

    def with_columns(self, columns: UnitColumns) -> TopicScores:
        """Return the values with weights, counts, clusters and times of the topics.

        A weight multiplies the contribution of a topic to a mean, a count repeats the topic.
        Topics of weight or count 0 are dropped from everything but the values per topic.
        """
        weight = columns.weight
        repeats = RowRepeats.from_counts(columns.count, len(self.topics), weight)
        topic_indices = (
            np.arange(len(self.topics)) if repeats.row_indices is None else repeats.row_indices
        )
        importance = None if weight is None else weight[topic_indices]
        importance = (
            None if importance is None or (importance == importance[0]).all() else importance
        )
        cluster = columns.cluster
        scores = replace(
            self,
            clusters=None if cluster is None else to_clusters(cluster, importance, repeats),
            order=to_time_order(columns.time, repeats),
        )
        if weight is None and repeats.row_indices is None:
            return scores
        return replace(
            scores,
            topics=tuple(self.topics[j] for j in topic_indices),
            values={name: table[topic_indices] for name, table in self.values.items()},
            reasons={
                name: [
                    {
                        reason: np.flatnonzero(np.isin(topic_indices, entry)).tolist()
                        for reason, entry in reasons.items()
                    }
                    for reasons in all_reasons
                ]
                for name, all_reasons in self.reasons.items()
            },
            measure_weights={
                name: {j: weight[topic_indices] for j, weight in entry.items()}
                for name, entry in self.measure_weights.items()
            },
            topic_weights=importance,
            no_skill_values=None
            if self.no_skill_values is None
            else self.no_skill_values[topic_indices],
            all_topics=self,
            topic_indices=topic_indices,
            n_zero_weight=None if weight is None else int(np.count_nonzero(weight == 0)),
            has_counts=columns.count is not None and bool((columns.count != 1).any()),
        )

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.values)

    def topic_rows(
        self, system: str, j: int, settings: Settings, indices: Any = slice(None)
    ) -> TopicRows:
        """Return the values of one measure on a subset of the topics, given by index, or on all."""
        weight, importance = (
            self.measure_weights[system].get(j),
            self.unit_weights(self.measures[j]),
        )
        counted_topics = all_topics = np.arange(len(self.topics))[indices]
        summary, values = (
            Summary.from_definition(self.measures[j].definition),
            self.values[system][indices, j],
        )
        topic_weight = None if weight is None else weight[indices]
        if summary.formula is not None and np.isfinite(summary.value(values, topic_weight)):
            counted_topics = counted_topics[
                ~summary.defined_mask(values, topic_weight)
            ]  # others count without a value
        counts = {
            reason: int(np.isin(topics, counted_topics).sum())
            for reason, topics in self.reasons[system][j].items()
        }
        return TopicRows(
            self.measures[j],
            values,
            topic_weight,
            settings,
            self.unit,
            {reason: n for reason, n in counts.items() if n},
            unit_weight=None if importance is None else importance[indices],
            clusters=None if self.clusters is None else self.clusters.take_rows(all_topics),
            order=None if self.order is None else self.order.take_rows(all_topics),
        )

    def estimates(self) -> tuple[Estimate, ...]:
        """Return the estimate of each measure over topics, such as its mean, with its interval."""
        out = []
        estimates = self.system_estimates(self.settings)
        for system, point_estimates in track(estimates, "measuring", len(self.values)):
            self._record_dependence(system, point_estimates)
            out += [
                to_estimate(
                    reading,
                    str(measure),
                    system,
                    self.no_skill(j),
                    **self.auxiliary_fields(reading),
                )
                for j, (measure, reading) in enumerate(
                    zip(self.measures, point_estimates, strict=True)
                )
            ]
        return tuple(out)

    def point_estimates(
        self, system: str, settings: Settings, indices: Any = slice(None)
    ) -> list[PointEstimate]:
        """Return the point estimate of every measure on a subset of the topics, or on all."""
        measure_indices = range(len(self.measures))
        return estimate_over_topics(
            [self.topic_rows(system, j, settings, indices) for j in measure_indices]
        )

    def system_estimates(self, settings: Settings) -> Iterator[tuple[str, list[PointEstimate]]]:
        """Yield each system with the point estimate of every measure.

        Many systems are resampled together, as drawing takes longer than adding up.
        """
        systems, n_measures = list(self.values), len(self.measures)
        step = max(1, _MAX_DRAWN_VALUES // max(1, len(self.topics) * n_measures))
        for begin in range(0, len(systems), step):
            batch = systems[begin : begin + step]
            estimates = estimate_over_topics(
                [self.topic_rows(name, j, settings) for name in batch for j in range(n_measures)]
            )
            for index, name in enumerate(batch):
                yield name, estimates[index * n_measures : (index + 1) * n_measures]

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters, or None if topics are independent."""
        return None if self.clusters is None else self.clusters.n_clusters

    @property
    def is_clustered(self) -> bool:
        """Whether topics come in clusters."""
        return self.clusters is not None

    def iterate_slices(self) -> Iterator[tuple[SliceDefinition, str, TopicSubset]]:
        """Yield each non-empty slice: its definition, its name, and the values of its topics."""
        for definition in self.slice_definitions:
            for name, indices in zip(definition.names, definition.row_indices, strict=True):
                yield definition, name, TopicSubset(self, indices)

    def auxiliary_fields(self, reading: PointEstimate) -> Mapping[str, Any]:
        """Return the fields of an estimate other than its value and interval."""
        return {}

    def _record_dependence(self, system: str, point_estimates: Sequence[PointEstimate]) -> None:
        """Record whether consecutive topics are dependent."""
        if self.order is None:
            return
        from calipers.inference.serial import DependenceResult

        pairs = zip(self.measures, point_estimates, strict=True)
        self._dependence_results.extend(
            DependenceResult.from_estimate(system, str(measure), reading)
            for measure, reading in pairs
            if reading.kind != "count" and np.isfinite(reading.value)
        )

    def no_skill(self, j: int, indices: Any = slice(None)) -> float:
        """Return the expected value if all orders of documents are equally likely, or NaN."""
        if self.no_skill_values is None:
            return float("nan")
        measure = self.measures[j]
        importance = self.unit_weights(measure)
        return Summary.from_definition(measure.definition).value(
            self.no_skill_values[indices, j],
            None,
            None if importance is None else importance[indices],
        )

    def per_unit(self) -> PerUnit:
        """Return the values per topic."""
        if self.all_topics is not None:
            return self.all_topics.per_unit()
        names = [str(measure) for measure in self.measures]
        return PerUnit(
            self.unit,
            self.topics,
            {name: dict(zip(names, table.T, strict=True)) for name, table in self.values.items()},
            undefined={
                name: {
                    measure: undefined_topics
                    for measure, undefined_topics in zip(names, reasons, strict=True)
                    if undefined_topics
                }
                for name, reasons in self.reasons.items()
            },
        )

    def to_stored_predictions(self) -> StoredPredictions | None:
        """Return the rankings that comparisons with later systems need, or None."""
        if self.all_topics is not None:
            return self.all_topics.to_stored_predictions()
        if not self.statistics:
            return None
        return keeping.store_rankings(self.unit, self.topics, self.statistics, self.get_common())

    def curve_options(self, *, zero: bool) -> dict[str, Any]:
        """Return the arguments that curves of means over these topics take."""
        return {
            "count_undefined": zero,
            "settings": self.settings,
            "topic_indices": self.topic_indices,
            "topic_weight": self.topic_weights,
            "clusters": self.clusters,
            "time_order": self.order,
            "unit": self.unit,
        }

    def to_evaluation(
        self,
        task: str,
        conventions: Mapping[str, Any],
        inputs: Sequence[Any],
        *,
        costs: Costs = NO_COSTS,
        slice_definitions: Sequence[SliceDefinition] = (),
        **fields: Any,
    ) -> Evaluation:
        """Return the evaluation of these values, with the costs of systems on each topic.

        ``fields`` holds the other fields of the evaluation.
        """
        shared: dict[str, Any] = {"definitions": glossary(self.measures), **fields}
        estimates = self.estimates()
        notes = *measure_name_notes(self.measures), *shared.get("notes", ()), *self._row_notes()
        shared["notes"] = *self.notes, *notes
        conventions = {**conventions, **self._conventions}
        evaluation = Evaluation(
            task=task,
            level=self.settings.level,
            estimates=estimates,
            per_unit=self.per_unit(),
            provenance=provenance(task, self.settings, conventions, inputs),
            sources=replace(self, slice_definitions=slice_definitions),
            requested_names=requested_names(self.measures),
            **shared,
        )
        if not costs:
            return evaluation
        from calipers.evaluation.costs import add_costs

        costs = costs if self.topic_indices is None else costs.take(self.topic_indices)
        rows = self.settings, self.topic_weights, self.clusters
        return add_costs(
            evaluation,
            costs,
            costs.systems,
            *rows,
            slice_definitions=slice_definitions,
            unit=self.unit,
        )

    @property
    def _conventions(self) -> dict[str, Any]:
        """Weights, counts, clusters and times of the topics, for the provenance."""
        return {
            **({} if self.n_zero_weight is None else {"weighted": True}),
            **({"counted": True} if self.has_counts else {}),
            **({} if self.clusters is None else {"clusters": self.clusters.n_clusters}),
            **({} if self.order is None else {"times": self.order.n_times}),
        }

    def _row_notes(self) -> list[str]:
        """Return notes on clusters and serial dependence."""
        cluster_notes = (
            []
            if self.clusters is None
            else self.clusters.few_clusters_notes(MIN_CLUSTER_DF, self.unit)
        )
        if not self._dependence_results:
            return cluster_notes
        from calipers.inference import serial

        return [*cluster_notes, *serial.dependence_notes(self._dependence_results, self.unit)]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on weights, and on tests that are omitted with clusters or weights."""
        out, unit = [], self.unit
        if self.n_zero_weight:
            out.append(
                f"Left out because their weight is 0: {format_count(self.n_zero_weight, unit)}."
            )
        if self.topic_weights is None:
            if self.clusters is not None and len(self.values) > 2:
                out.append(
                    f"Friedman's test and the analysis of variance assume independent {unit} and "
                    "are omitted."
                )
            return tuple(out)
        size = effective_size_from_weights(self.topic_weights)
        out.append(
            f"{unit.capitalize()} are weighted: a mean is Σwx/Σw over {len(self.topics):,} {unit}, "
            f"which is equivalent to {size:,.1f} of equal weight (Kish)."
        )
        sums = [str(m) for m in self.measures if m.definition.summary == "sum"]
        if sums:
            out.append(f"Sums ignore weights: {', '.join(sums)}.")
        if len(self.values) > 2:
            out.append(
                f"Friedman's test and the analysis of variance give all {unit} the same weight and "
                "are omitted."
            )
        return tuple(out)

    def differences(
        self,
        pairs: Sequence[tuple[str, str]],
        settings: Settings,
        measures: Container[Measure] | None = None,
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the paired difference of each pair of systems on every measure with a direction."""
        directed_indices = [
            j
            for j, m in enumerate(self.measures)
            if m.definition.higher_is_better is not None and (measures is None or m in measures)
        ]
        if not directed_indices:
            return
        point_estimates = {
            system: dict(
                zip(
                    directed_indices,
                    estimate_over_topics(
                        [self.topic_rows(system, j, settings) for j in directed_indices]
                    ),
                    strict=True,
                )
            )
            for system in self.values
        }
        values_per_replicate = 4 if self.topic_weights is None else 8
        step = max(
            1,
            _MAX_DRAWN_VALUES
            // (values_per_replicate * len(directed_indices) * settings.n_resamples),
        )
        for begin in range(0, len(pairs), step):
            requests = [(pair, j) for pair in pairs[begin : begin + step] for j in directed_indices]
            estimate_pairs = [
                (point_estimates[a][j], point_estimates[b][j]) for (a, b), j in requests
            ]
            for (pair, j), difference in zip(
                requests, paired_differences(estimate_pairs, settings), strict=True
            ):
                yield pair, self.measures[j], difference

    def unit_means(self, measure: Measure, settings: Settings) -> UnitMeans | None:
        """Return the systems, if all have a value on all topics, which count equally, or None."""
        from calipers.inference.unit_procedures import UnitMeans

        j = self.measures.index(measure)
        topic_rows = [self.topic_rows(system, j, settings) for system in self.values]
        if not all(topics.is_simple_mean for topics in topic_rows):
            return None
        estimates = [estimate_over_topics([topics])[0] for topics in topic_rows]
        return UnitMeans(
            dict(zip(self.values, estimates, strict=True)),
            np.stack([topics.all_columns[0] for topics in topic_rows]),
        )

    def unit_values(self, measure: Measure) -> FloatArray | None:
        """Return the value of each topic and system, of shape (n_topics, n_systems), or None.

        It is None if topics are not independent.
        """
        table = self.value_table(measure)
        return None if self._is_dependent(table) else table

    def value_table(self, measure: Measure) -> FloatArray:
        """Return the value of each topic and system, whether or not topics are independent."""
        j = self.measures.index(measure)
        return np.column_stack([table[:, j] for table in self.values.values()])

    def _is_dependent(self, table: FloatArray) -> bool:
        """Return whether topics come in clusters, or consecutive differences are dependent."""
        if self.clusters is not None or self.order is None:
            return self.clusters is not None
        from calipers.inference import serial

        defined_indices = np.flatnonzero(~np.isnan(table).any(axis=1))
        deviations, order = (
            table[defined_indices] - table[defined_indices].mean(axis=1, keepdims=True),
            self.order.take_rows(defined_indices),
        )
        return any(
            serial.find_row_dependence(order, x - x.mean()) is not None for x in deviations.T
        )

    def unit_sums(self, measure: Measure) -> UnitSums | None:
        """Return the sums of these values that tests of all systems need, or None."""
        values = self.unit_values(measure)
        if values is None:
            return None
        from calipers.inference.omnibus import measure_sums

        return measure_sums(measure, values)

    def unit_weights(self, measure: Measure) -> FloatArray | None:
        """Return the weight of each topic, or None if all weights are 1, as in sums."""
        return None if measure.definition.summary == "sum" else self.topic_weights

    def permutation_values(self, measure: Measure, settings: Settings) -> FloatArray | None:
        """Return values whose mean is the summary, from the influence of each topic on it.

        They have shape (n_topics, n_systems). The result is None if topics are not independent.
        """
        if self._is_dependent(self.value_table(measure)):
            return None
        j = self.measures.index(measure)
        columns = []
        for system, table in self.values.items():
            topic_rows = self.topic_rows(system, j, settings)
            [estimate] = estimate_over_topics([topic_rows])
            assert estimate.influence is not None
            influence = estimate.influence()
            assert influence is not None
            column = np.full(len(table), np.nan)
            column[topic_rows.defined_mask] = (
                estimate.value
                + influence.column[topic_rows.defined_mask] / topic_rows.mean_derivatives
            )
            columns.append(column)
        return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class TopicSubset:
    """Values of all systems on some of the topics."""

    source: TopicScores
    indices: IntArray
    _estimates: dict[str, dict[Measure, PointEstimate]] = field(default_factory=dict, repr=False)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters, or None if topics are independent."""
        clusters = self.source.clusters
        return None if clusters is None else clusters.take_rows(self.indices).n_clusters

    def is_available(self, system: str, measure: Measure) -> bool:
        """Return whether the values of a measure are known."""
        return measure in self.source.measures

    def point_estimate(self, system: str, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure over these topics."""
        source = self.source
        if system not in self._estimates:
            estimates = source.point_estimates(system, source.settings, self.indices)
            self._estimates[system] = dict(zip(source.measures, estimates, strict=True))
        return self._estimates[system][measure]
