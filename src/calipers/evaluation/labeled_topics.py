"""Values per topic by the judgments of a judge, and by human judgments of some of the topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError, format_value
from calipers.estimation.human_labels import judged_sample
from calipers.estimation.topics import TopicRows, defined_clusters, estimate_over_topics
from calipers.evaluation.topic_scores import TopicScores
from calipers.inference.human_labels import LabeledSample
from calipers.inference.point_estimate import UnitValues
from calipers.inference.variance_estimators import Influence, MeanVariance, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.topic_tables import UnitColumns
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray


def select_means(
    measures: Sequence[Measure], *, is_requested: bool, unit: str = "topics"
) -> list[Measure]:
    """Return the measures that are means over topics, which labels of some can be added to.

    Raises
    ------
    InputError
        If another measure is requested.
    """
    means = [measure for measure in measures if _is_mean(measure)]
    others = [measure for measure in measures if not _is_mean(measure)]
    if others and is_requested:
        raise InputError(
            f"human: {others[0]} is not a mean over {unit}, so human judgments of some of them "
            "cannot be combined with those of all"
        )
    return means


def _is_mean(measure: Measure) -> bool:
    return measure.definition.summary == "mean" and measure.definition.interval != "none"


@dataclass(frozen=True, eq=False)
class LabeledTopicScores(TopicScores):
    """Values by a judge on every topic, with those by people on some topics.

    Attributes
    ----------
    human : dict of ndarray of shape (n_topics, n_measures)
        Values by human judgments, NaN on the other topics, and where the measure is undefined.
    labeled_mask : ndarray of bool of shape (n_topics,)
        Mask of the topics with human judgments.
    human_reasons : dict of list of dict of ndarray
        For each measure, the reasons why it is undefined by human judgments, with masks of topics.
    target : {"like", "these"}
        What is estimated: means over topics like these, or over these topics.
    """

    human: Mapping[str, FloatArray] = field(default_factory=dict)
    labeled_mask: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    human_reasons: Mapping[str, Sequence[Mapping[str, npt.NDArray[np.bool_]]]] = field(
        default_factory=dict
    )
    target: str = "like"

    @classmethod
    def from_scores(cls, judged: TopicScores, human: TopicScores, target: str) -> TopicScores:
        """Combine the values by a judge with those by human judgments of some topics.

        Raises
        ------
        InputError
            If people judged a topic that the judge did not.
        """
        index_by_topic = {topic: j for j, topic in enumerate(judged.topics)}
        unknown = [topic for topic in human.topics if topic not in index_by_topic]
        if unknown:
            raise InputError(
                f"human: topic {format_value(unknown[0])} is not in qrels; expected human "
                "judgments of some of the topics that the judge judged"
            )
        rows = [index_by_topic[topic] for topic in human.topics]
        labeled_mask = np.isin(np.arange(len(judged.topics)), rows)
        values, reasons = {}, {}
        for name, table in judged.values.items():
            values[name] = np.full_like(table, np.nan)
            values[name][rows] = human.values[name]
            reasons[name] = [
                {
                    reason: np.isin(np.arange(len(judged.topics)), np.array(rows)[topics])
                    for reason, topics in topics_by_reason.items()
                    if topics
                }
                for topics_by_reason in human.reasons[name]
            ]
        shared = {f.name: getattr(judged, f.name) for f in fields(TopicScores)}
        return cls(
            **shared,
            human=values,
            labeled_mask=labeled_mask,
            human_reasons=reasons,
            target=target,
        )

    def with_columns(self, columns: UnitColumns) -> TopicScores:
        """Return the values with weights, counts and clusters of the topics."""
        scores = super().with_columns(columns)
        assert isinstance(scores, LabeledTopicScores)
        rows = scores.topic_indices
        if rows is None:
            return scores
        return replace(
            scores,
            human={name: table[rows] for name, table in self.human.items()},
            labeled_mask=self.labeled_mask[rows],
            human_reasons={
                name: [{r: mask[rows] for r, mask in reasons.items()} for reasons in by_measure]
                for name, by_measure in self.human_reasons.items()
            },
        )

    # --- Estimates -------------------------------------------------------------------------------

    def point_estimates(
        self, system: str, settings: Settings, indices: Any = slice(None)
    ) -> list[PointEstimate]:
        """Return the point estimate of every measure on a subset of the topics, or on all."""
        chosen = np.arange(len(self.topics))[indices]
        return [
            self._sample((system,), j, settings, chosen).point_estimate()
            for j in range(len(self.measures))
        ]

    def system_estimates(self, settings: Settings) -> Iterator[tuple[str, list[PointEstimate]]]:
        """Yield each system with the point estimate of every measure."""
        for system in self.values:
            yield system, self.point_estimates(system, settings)

    def _sample(
        self, systems: tuple[str, ...], j: int, settings: Settings, indices: Any
    ) -> LabeledSample:
        """Return the sample of one system, or of the difference of two, on some of the topics.

        A difference is over the topics on which both have a value. Means are those of the topics
        with a value by the same judgments, so that people may have none where the judge has one:
        h and j are then of different labeled topics, and each of these moves both.
        """
        labeled_mask = self.labeled_mask[indices]
        labeled, others = indices[labeled_mask], indices[~labeled_mask]

        def estimate(
            topics: IntArray, source: Mapping[str, FloatArray]
        ) -> tuple[PointEstimate, npt.NDArray[np.bool_]]:
            defined_mask = ~np.isnan([source[name][topics, j] for name in systems]).any(axis=0)
            chosen = topics[defined_mask]
            estimates = [
                _with_units(
                    replace(
                        self.topic_rows(name, j, settings, chosen),
                        values=source[name][chosen, j],
                        undefined={},
                    )
                )
                for name in systems
            ]
            result = estimates[0] if len(estimates) == 1 else estimates[0] - estimates[1]
            return result, np.asarray(defined_mask)

        (human, human_mask), (judged, judged_mask) = (
            estimate(labeled, source) for source in (self.human, self.values)
        )
        by_judge_alone, _ = estimate(others, self.values)
        # Without judgments by the judge, those by people are what there is.
        has_others = by_judge_alone.n > 0 and judged.n > 0
        proportion = None
        if has_others and not np.array_equal(human_mask, judged_mask):
            rows = self.topic_rows(systems[0], j, settings, labeled)
            human = _over_all_topics(human, human_mask, rows)
            judged = _over_all_topics(judged, judged_mask, rows)
            proportion = len(others) / len(indices)
        judge, _ = estimate(indices, self.values)
        judge = replace(judge, n=human.n + by_judge_alone.n, n_total=len(indices))
        undefined: Mapping[str, int] = {}
        if len(systems) == 1:
            counts = Counter(self.topic_rows(systems[0], j, settings, others).undefined)
            of_labeled = {
                reason: int(np.count_nonzero(mask[labeled]))
                for reason, mask in self.human_reasons[systems[0]][j].items()
            }
            undefined = {reason: n for reason, n in of_labeled.items() if n}
            judge = replace(judge, undefined=dict(counts + Counter(undefined)))

        def subtract(second: LabeledSample) -> LabeledSample:
            return self._sample((*systems, *second.source), j, settings, indices)

        return LabeledSample(
            human=human,
            judged=judged,
            others=by_judge_alone if has_others else None,
            judge=judge,
            target=self.target,
            subtract=subtract,
            source=systems,
            proportion_unlabeled=proportion,
            undefined_labels=undefined if len(labeled) else {},
        )

    def auxiliary_fields(self, reading: PointEstimate) -> Mapping[str, Any]:
        """Return what is known of the labels behind an estimate."""
        return {"judged": judged_sample(reading)}

    def differences(
        self,
        pairs: Sequence[tuple[str, str]],
        settings: Settings,
        measures: Container[Measure] | None = None,
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the paired difference of each pair of systems on every measure with a direction."""
        estimates = {name: self.point_estimates(name, settings) for name in self.values}
        for pair in pairs:
            for j, measure in enumerate(self.measures):
                is_compared = measures is None or measure in measures
                if is_compared and measure.definition.higher_is_better is not None:
                    first, second = (estimates[name][j] for name in pair)
                    yield pair, measure, first - second

    def unit_means(self, measure: Measure, settings: Settings) -> None:
        """Return None, as the values of most topics are those of the judge."""
        return

    def unit_values(self, measure: Measure) -> None:
        """Return None, as the values of most topics are those of the judge."""
        return

    def permutation_values(self, measure: Measure, settings: Settings) -> None:
        """Return None, as the values of most topics are those of the judge."""
        return

    @property
    def _conventions(self) -> dict[str, Any]:
        """Conventions of the topics, and what is estimated."""
        return {**super()._conventions, "target": self.target}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the human judgments, and on weights."""
        unit, n_human = self.unit, int(np.count_nonzero(self.labeled_mask))
        if self.labeled_mask.all():
            complete = (
                f"All {unit} have human judgments, from which values are; the judge has no part in "
                "them."
            )
            return complete, *super().notes
        target = f"these {unit}" if self.target == "these" else f"{unit} like these"
        explanation = (
            f"Means are those over {target}, from human judgments of "
            f"{format_count(n_human, unit)} and those of a judge of "
            f"{format_count(len(self.topics), unit)}: the mean by the human judgments, plus a "
            "multiple of the difference between the judge's means of the other ones and of these. "
            "They are unbiased whatever the errors of the judge, which the mean by the judge alone "
            "is not."
        )
        sampling = (
            f"The {unit} with human judgments are taken as a random sample of all {unit}. Values "
            "of single ones are those of the judge."
        )
        return explanation, sampling, *super().notes


def _with_units(topic_rows: TopicRows) -> PointEstimate:
    """Return the estimate of a mean over topics with the values as its units."""
    [estimate] = estimate_over_topics([topic_rows])
    values, importance = topic_rows.values, topic_rows.unit_weight
    clusters = topic_rows.clusters
    clusters = None if clusters is None else replace(clusters, weight=importance)
    units = UnitValues(values, importance, clusters)
    return replace(
        estimate,
        units=units,
        clusters=clusters,
        influence=lambda: Influence(values, MeanVariance(importance, clusters), "Student t"),
    )


def _over_all_topics(
    estimate: PointEstimate, defined_mask: npt.NDArray[np.bool_], topic_rows: TopicRows
) -> PointEstimate:
    """Return a mean of the topics with a value, with the influence of all topics.

    Of others it is 0, and those have no weight.
    """

    def influence() -> Influence:
        units = estimate.units
        assert isinstance(units, UnitValues)
        column = np.zeros(len(defined_mask))
        space = MeanVariance(units.weight, units.clusters)
        column[defined_mask] = Influence(units.values, space).corrected.column
        return Influence(column, VarianceEstimator(None, clusters, denominator=denominator))

    weight = topic_rows.unit_weight
    denominator = np.where(defined_mask, 1.0 if weight is None else weight, 0.0)
    clusters = topic_rows.clusters
    if clusters is not None:
        clusters = defined_clusters(clusters, weight, defined_mask)
    return replace(
        estimate,
        units=None,
        influence=influence,
        clusters=clusters,
        joint_distribution=None,
        transform="logit" if estimate.bounds == (0.0, 1.0) else None,
    )
