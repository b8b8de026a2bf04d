"""Curves of scores: points of systems that predict only labels, and all curves of streams.

The curves of a stream are computed from the accumulated tables of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.curves.score_curves import (
    ScoreCurves,
    most_frequent_classes,
    roc_measures,
    series_name,
)
from calipers.evaluation.per_class import MAX_TABLE_CLASSES, with_class_measures
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse

if TYPE_CHECKING:
    from calipers.curves.score_data import ScoreData
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Curve
    from calipers.statistics import ScoreTable

#: Maximum number of thresholds, and thus of points, of a curve of a stream.
MAX_CURVE_SCORES = 50_000


def stream_curves(
    sample: Any, labels: Sequence[str | None] = (None,), proportions: Sequence[float] | None = None
) -> ScoreCurves | tuple[()]:
    """Return the score curves of a stream, for each of the ``labels`` if given.

    Tables of scores that no measure has needed are accumulated in a pass of their own when a curve
    is first accessed. If rows cannot be read again, there are curves only of tables that exist.
    """
    weights = [float("nan")] * len(labels) if proportions is None else map(float, proportions)
    proportion_by_label = dict(zip(labels, weights, strict=True))
    shown_labels, is_rereadable, systems = (
        most_frequent_classes(proportion_by_label),
        sample.is_rereadable,
        sample.template_systems.items(),
    )
    scored_names = [name for name, system in systems if system.score is not None]
    pairs = [
        (name, label)
        for name in scored_names
        for label in labels
        if is_rereadable or sample.score_table(name, label) is not None
    ]
    label_systems = (
        _LabelOnlySystem(sample, name, shown_labels)
        for name, system in systems
        if system.score is None
    )
    label_only_systems = [
        system
        for system in label_systems
        if is_rereadable or sample.is_available(system.name, roc_measures(labels[0])[0])
    ]
    if not (pairs or label_only_systems):
        return ()
    series = {series_name(label): proportion for label, proportion in proportion_by_label.items()}
    return ScoreCurves(
        lambda: _score_data(sample, pairs, shown_labels, proportion_by_label),
        label_points((system, labels) for system in label_only_systems),
        {} if proportions is None else series,
    )


def label_points(
    label_only_systems: Iterable[tuple[Any, Iterable[str | None]]],
) -> dict[tuple[str, str], Callable[[], Curve]]:
    """Return the ROC points of systems that predict only labels, by system and series."""
    return {
        (system.name, series_name(label)): partial(_roc_point, system, label)
        for system, labels in label_only_systems
        for label in labels
    }


def _roc_point(system: Any, label: str | None) -> Curve:
    from calipers.curves.rates import roc_point

    return roc_point(system, label)


def _score_data(
    sample: Any,
    pairs: Sequence[tuple[str, str | None]],
    shown_labels: Sequence[str | None],
    proportion_by_label: Mapping[str | None, float],
) -> list[ScoreData]:
    """Return the data of the curves of a stream: tables of scores, thinned if they are long."""
    from calipers.curves.score_data import ScoreData

    tables = {pair: sample.score_table(*pair) for pair in pairs if pair[1] in shown_labels}
    names_without_table = [
        name for name, _ in (pair for pair, table in tables.items() if table is None)
    ]
    for name in dict.fromkeys(names_without_table):
        if None in proportion_by_label or len(proportion_by_label) > MAX_TABLE_CLASSES:
            area = parse("AUC", "scores")
            score_sample = sample.with_measures(
                [name], [replace(area, label=label) for label in shown_labels]
            )
        else:  # which tables of the classes take as well
            score_sample = with_class_measures(
                sample, name, [label for label in proportion_by_label if label is not None]
            )
        tables |= {(name, label): score_sample.score_table(name, label) for label in shown_labels}
    has_dependent_rows = sample.has_weights or sample.n_clusters is not None
    # Rows with unequal weights or in clusters cannot be resampled from a table.
    settings = replace(sample.settings, interval="none") if has_dependent_rows else sample.settings

    def make_data(name: str, label: str | None) -> ScoreData:
        template = sample.template_systems[name].delegate(
            replace(parse("AUC", "scores"), label=label)
        )[0]
        table: ScoreTable | None = tables.get((name, label))
        is_short = table is not None and len(table.scores) <= MAX_CURVE_SCORES and not table.shift

        def read() -> ScoreTable:
            assert table is not None  # of classes that are drawn
            return table if is_short else table.compress(MAX_CURVE_SCORES)

        return ScoreData(
            name,
            read,
            settings,
            threshold=template.threshold,
            # The probabilities of merged scores are unknown.
            probabilities=is_short and template.probability is not None,
            names=template.labels.names,
            series=series_name(label),
            proportion=proportion_by_label[label],
            independent=not has_dependent_rows,
        )

    return [make_data(*pair) for pair in pairs]


@dataclass(frozen=True, eq=False)
class _LabelOnlySystem:
    """System of a stream that predicts only labels, for its points in the ROC plane."""

    sample: Any
    name: str
    #: What points are drawn of.
    labels: Sequence[str | None]

    @property
    def settings(self) -> Settings:
        """Settings of inference."""
        settings: Settings = self.sample.settings
        return settings

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a rate.

        It follows from the counts if rows are independent, and takes passes of its own otherwise.
        """
        rates = [rate for label in self.labels for rate in roc_measures(label)]
        sample = self.sample.with_measures([self.name], rates)
        estimate: PointEstimate = sample.point_estimate(self.name, measure)
        return estimate
