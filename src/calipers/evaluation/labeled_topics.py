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


def is_mean_over_topics(measure: Measure) -> bool:
    """Return whether a measure is a mean over topics, which labels of some can be added to."""
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
        return [
            self._sample(system, j, settings, np.arange(len(self.topics))[indices]).point_estimate()
            for j in range(len(self.measures))
        ]

    def system_estimates(self, settings: Settings) -> Iterator[tuple[str, list[PointEstimate]]]:
        """Yield each system with the point estimate of every measure."""
        for system in self.values:
            yield system, self.point_estimates(system, settings)

    def _sample(self, system: str, j: int, settings: Settings, indices: Any) -> LabeledSample:
        judged, human = self.values[system][indices, j], self.human[system][indices, j]
        judged_mask = ~np.isnan(judged)
        labeled_mask = judged_mask & ~np.isnan(human)

        def rows(mask: Any, source: Mapping[str, FloatArray]) -> PointEstimate:
            chosen = indices[mask]
            topic_rows = self.topic_rows(system, j, settings, chosen)
            topic_rows = replace(topic_rows, values=source[system][chosen, j], undefined={})
            return _with_units(topic_rows)

        others_mask = judged_mask & ~labeled_mask
        judge = rows(judged_mask, self.values)
        counts = self.topic_rows(system, j, settings, indices).undefined
        return LabeledSample(
            human=rows(labeled_mask, self.human),
            judged=rows(labeled_mask, self.values),
            others=rows(others_mask, self.values) if others_mask.any() else None,
            judge=replace(judge, undefined=counts, n_total=len(indices)),
            target=self.target,
            subtract=lambda second: self._difference_sample(j, settings, system, second.source),
            source=system,
        )

    def _difference_sample(
        self, j: int, settings: Settings, first: str, second: str
    ) -> LabeledSample:
        """Return the sample of a difference, over the topics on which both have a value."""
        pair = first, second
        judged_mask = ~np.isnan([self.values[name][:, j] for name in pair]).any(axis=0)
        human_mask = ~np.isnan([self.human[name][:, j] for name in pair]).any(axis=0)
        labeled_mask, others_mask = judged_mask & human_mask, judged_mask & ~human_mask

        def rows(mask: Any, source: Mapping[str, FloatArray]) -> PointEstimate:
            chosen = np.flatnonzero(mask)
            estimates = [
                replace(
                    self.topic_rows(name, j, settings, chosen),
                    values=source[name][chosen, j],
                    undefined={},
                )
                for name in pair
            ]
            a, b = (estimate_over_topics([topic_rows])[0] for topic_rows in estimates)
            return a - b

        return LabeledSample(
            human=rows(labeled_mask, self.human),
            judged=rows(labeled_mask, self.values),
            others=rows(others_mask, self.values) if others_mask.any() else None,
            judge=rows(judged_mask, self.values),
            target=self.target,
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
