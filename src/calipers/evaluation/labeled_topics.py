"""Values per topic by the judgments of a judge, and by human judgments of some of the topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError, format_value
from calipers.estimation.human_labels import judged_sample
from calipers.estimation.topics import TopicRows, estimate_over_topics
from calipers.evaluation.topic_scores import TopicScores
from calipers.inference.human_labels import LabeledSample
from calipers.inference.point_estimate import UnitValues
from calipers.inference.variance_estimators import Influence, MeanVariance
from calipers.report.numbers import format_count

if TYPE_CHECKING:
    from calipers.data.topic_tables import UnitColumns
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray


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
        Values by human judgments, NaN on the other topics.
    target : {"like", "these"}
        What is estimated: means over topics like these, or over these topics.
    """

    human: Mapping[str, FloatArray] = field(default_factory=dict)
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
        values = {}
        for name, table in judged.values.items():
            values[name] = np.full_like(table, np.nan)
            values[name][rows] = human.values[name]
        shared = {f.name: getattr(judged, f.name) for f in fields(TopicScores)}
        return cls(**shared, human=values, target=target)

    def with_columns(self, columns: UnitColumns) -> TopicScores:
        """Return the values with weights, counts and clusters of the topics."""
        scores = super().with_columns(columns)
        assert isinstance(scores, LabeledTopicScores)
        rows = scores.topic_indices
        if rows is None:
            return scores
        return replace(scores, human={name: table[rows] for name, table in self.human.items()})

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

    def _sample(
        self, systems: tuple[str, ...], j: int, settings: Settings, indices: Any
    ) -> LabeledSample:
        """Return the sample of one system, or of the difference of two, on some of the topics.

        A difference is over the topics on which both have a value.
        """
        judged_mask = ~np.isnan([self.values[name][indices, j] for name in systems]).any(axis=0)
        human_mask = ~np.isnan([self.human[name][indices, j] for name in systems]).any(axis=0)
        labeled_mask, others_mask = judged_mask & human_mask, judged_mask & ~human_mask

        def estimate(mask: Any, source: Mapping[str, FloatArray]) -> PointEstimate:
            chosen = indices[mask]
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
            return estimates[0] if len(estimates) == 1 else estimates[0] - estimates[1]

        judge = estimate(judged_mask, self.values)
        if len(systems) == 1:
            counts = self.topic_rows(systems[0], j, settings, indices).undefined
            judge = replace(judge, undefined=counts, n_total=len(indices))

        def subtract(second: LabeledSample) -> LabeledSample:
            return self._sample((*systems, *second.source), j, settings, indices)

        return LabeledSample(
            human=estimate(labeled_mask, self.human),
            judged=estimate(labeled_mask, self.values),
            others=estimate(others_mask, self.values) if others_mask.any() else None,
            judge=judge,
            target=self.target,
            subtract=subtract,
            source=systems,
        )

    def auxiliary_fields(self, reading: PointEstimate) -> Mapping[str, Any]:
        """Return what is known of the labels behind an estimate."""
        return {"judged": judged_sample(reading)}

    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the paired difference of each pair of systems on every measure with a direction."""
        estimates = {name: self.point_estimates(name, settings) for name in self.values}
        for pair in pairs:
            for j, measure in enumerate(self.measures):
                if measure.definition.higher_is_better is not None:
                    first, second = (estimates[name][j] for name in pair)
                    yield pair, measure, first - second

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
        first, unit = next(iter(self.human.values())), self.unit
        n_human = int((~np.isnan(first)).any(axis=1).sum())
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
