"""Curves of rankings, for single topics and averaged over topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import LazySequence, cached_property
from calipers.curves.construction import empty_band
from calipers.data.errors import InputError, did_you_mean
from calipers.estimation.topics import TopicRows, estimate_over_topics
from calipers.inference import method_selection
from calipers.inference.settings import Settings
from calipers.inference.summaries import Summary
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure
from calipers.measures.registry import get_definition
from calipers.measures.retrieval.binary_relevance import interpolated_precision
from calipers.results import Curve
from calipers.statistics import FloatArray, IntArray, JudgedRankings

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.time_order import TimeOrder


#: The default positions of curves; ranks end with the longest run.
DEFAULT_RANKS = (5, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
#: A measure with a cutoff is drawn at ranks 1 to the cutoff, or to this rank if that is larger.
MIN_CURVE_DEPTH = 10
DEFAULT_RECALLS = tuple(tenth / 10 for tenth in range(11))

MEAN_CURVE_KINDS = {"recalls": "PR at recall levels", "ranks": "PR at ranks"}


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanCurves(LazySequence["Curve"]):
    """Curves whose points are means over topics, computed on first access.

    Their bands take about as long as the whole evaluation of a run with many topics.
    """

    count_undefined: bool
    settings: Settings
    #: Indices of the included topics, None for all; and their weights, None if they are equal.
    topic_indices: IntArray | None = None
    topic_weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    time_order: TimeOrder | None = None
    unit: str = "topics"

    def _band(
        self, x: FloatArray, measures: Sequence[Measure], columns: Sequence[FloatArray]
    ) -> dict[str, Any]:
        if self.settings.interval == "none":
            return empty_band()
        table = np.column_stack([self._fill_undefined(column) for column in columns])
        options = {
            "unit_weight": self.topic_weight,
            "clusters": self.clusters,
            "order": self.time_order,
        }
        estimates = estimate_over_topics(
            [
                TopicRows(m, values, None, self.settings, self.unit, **options)  # type: ignore[arg-type]
                for m, values in zip(measures, table.T, strict=True)
            ]
        )
        intervals = [method_selection.interval(estimate) for estimate in estimates]
        low, high = np.array([(i.low, i.high) for i in intervals]).T
        method = next((i.method for i in intervals if i.reason is None), "none")
        return {"band_x": x, "low": low, "high": high, "method": method}

    def _fill_undefined(self, column: FloatArray) -> FloatArray:
        return np.where(np.isnan(column), 0.0, column) if self.count_undefined else column

    def _means(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the mean of each column over the topics on which it is defined."""
        filled = [self._fill_undefined(column) for column in columns]
        mean = Summary("mean").value
        return np.array([mean(column, None, self.topic_weight) for column in filled])


@dataclass(frozen=True, eq=False, kw_only=True)
class CutoffCurves(MeanCurves):
    """Measure with a cutoff at each of the first ranks, for each system.

    The reference is the measure if all documents have equal scores, which is the same for all
    systems. ``compute_values`` is a function that returns the value of each topic at each rank, for
    the name of a system or, for equal scores, None.
    """

    measure: Measure
    systems: tuple[str, ...]
    compute_values: Callable[[str | None], FloatArray]

    def __len__(self) -> int:
        return len(self.systems)

    @property
    def kinds(self) -> list[str]:
        """Kind of each curve, known before they are computed."""
        return [f"{self._base_name} at ranks"] * len(self)

    @property
    def _base_name(self) -> str:
        return str(self.measure).rpartition("@")[0]

    @cached_property
    def _items(self) -> tuple[Curve, ...]:
        from calipers.results import Curve

        measures = measures_at_ranks(self.measure)
        x, curves = np.arange(1.0, len(measures) + 1), []
        name = self._base_name
        tied_means = self._means(self._columns(None))
        for system in self.systems:
            columns = self._columns(system)
            curves.append(
                Curve(
                    system=system,
                    kind=f"{name} at ranks",
                    x_label="Rank k",
                    y_label=f"Mean {name}@k",
                    x=x,
                    y=self._means(columns),
                    threshold=x,
                    level=self.settings.level,
                    parameter="",
                    references={"equal scores": np.column_stack([x, tied_means]).tolist()},
                    **self._band(x, measures, columns),
                )
            )
        return tuple(curves)

    def _columns(self, system: str | None) -> Sequence[FloatArray]:
        """Return the values at each rank of the included topics."""
        table = self.compute_values(system)
        return list((table if self.topic_indices is None else table[self.topic_indices]).T)


def measures_at_ranks(measure: Measure) -> list[Measure]:
    """Return a measure with a cutoff at each of the first ranks."""
    parameters, max_rank = measure.parameters, max(MIN_CURVE_DEPTH, measure.parameters["cutoff"])
    return [measure.definition.bind({**parameters, "cutoff": k}) for k in range(1, max_rank + 1)]


@dataclass(frozen=True, eq=False, kw_only=True)
class RankCurves(MeanCurves):
    """Precision-recall curves of runs, averaged over topics."""

    full_rankings: Mapping[str, JudgedRankings]
    rel: int
    judged_only: bool
    #: The topics that have curves of their own, and the size of the collection, if it is known.
    topics: tuple[str, ...] = ()
    collection_size: int | None = None

    def _select_topics(self, ranking: JudgedRankings) -> JudgedRankings:
        """Return the ranking of the included topics."""
        return ranking if self.topic_indices is None else ranking.take_topics(self.topic_indices)

    @cached_property
    def rankings(self) -> dict[str, JudgedRankings]:
        """Rankings of the runs, condensed to judged documents if requested."""
        return {n: r.condense() if self.judged_only else r for n, r in self.full_rankings.items()}

    @cached_property
    def _items(self) -> tuple[Curve, ...]:
        return (
            *self.mean_curves("recalls", interpolated=True),
            *self.mean_curves("ranks", interpolated=False),
            *topic_curves(
                self.rankings,
                self.topics,
                rel=self.rel,
                collection_size=self.collection_size,
                level=self.settings.level,
            ),
        )

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def kinds(self) -> list[str]:
        """Kind of each curve, known before they are computed."""
        topic_kinds = [
            TOPIC_CURVE_KINDS[kind]
            for kind in available_kinds(self.collection_size)
            for _ in self.topics
        ]
        return [
            kind for kind in (*MEAN_CURVE_KINDS.values(), *topic_kinds) for _ in self.full_rankings
        ]

    def mean_curves(
        self, axis: str, *, interpolated: bool, points: Sequence[float] | None = None
    ) -> tuple[Curve, ...]:
        """Return the averaged curve of each run; ``axis`` is ``"recalls"`` or ``"ranks"``."""
        if points is None:
            points = DEFAULT_RECALLS if axis == "recalls" else self._ranks()
        return tuple(
            self._mean_curve(system, axis, interpolated, points) for system in self.rankings
        )

    def curves_of_topic(
        self, topic: str, kind: str, collection_size: int | None
    ) -> tuple[Curve, ...]:
        """Return the curve of each run on one topic."""
        return tuple(
            topic_curve(
                system,
                ranking,
                topic,
                kind,
                rel=self.rel,
                collection_size=collection_size,
                level=self.settings.level,
            )
            for system, ranking in self.rankings.items()
        )

    def _ranks(self) -> list[int]:
        """Return the default ranks, down to the first that no ranking exceeds."""
        max_retrieved = max(int(r.retrieved.max(initial=0)) for r in self.rankings.values())
        return [
            k
            for previous, k in zip((0, *DEFAULT_RANKS), DEFAULT_RANKS, strict=False)
            if previous < max(max_retrieved, 1)
        ]

    def _mean_curve(
        self, system: str, axis: str, interpolated: bool, points: Sequence[float]
    ) -> Curve:
        from calipers.results import Curve

        ranking, positions = (
            self._select_topics(self.rankings[system]),
            np.asarray(points, np.float64),
        )
        axis_fields: dict[str, Any]
        if axis == "recalls":
            name = "IPrec" if interpolated else "P@recall"
            measures = [
                _bind_measure(name, recall=float(recall), rel=self.rel) for recall in points
            ]
            x, axis_fields = (
                positions,
                {"x_label": "Recall", "threshold": positions * np.nan, "parameter": ""},
            )
        else:
            measures = [_bind_measure("P", cutoff=rank, rel=self.rel) for rank in points]
            recalls = [
                _bind_measure("R", cutoff=rank, rel=self.rel).apply(ranking) for rank in points
            ]
            x = self._means(recalls)
            axis_fields = {"x_label": "Mean recall", "threshold": positions, "parameter": "rank"}
        if axis == "ranks" and interpolated:
            precisions = [_interpolated_precisions(ranking, recall, self.rel) for recall in recalls]
        else:
            precisions = [_precision_or_zero(measure, ranking) for measure in measures]
        return Curve(
            system=system,
            kind=MEAN_CURVE_KINDS[axis],
            x=x,
            y_label="Mean interpolated precision" if interpolated else "Mean precision",
            y=self._means(precisions),
            level=self.settings.level,
            **axis_fields,
            **self._band(x, measures, precisions),
        )


def _precision_or_zero(measure: Measure, ranking: JudgedRankings) -> FloatArray:
    """Return the precision of each topic, 0 at a recall that the ranking does not reach.

    If these topics were excluded, the mean would rise towards the end.
    """
    unreached_mask = measure.reasons(ranking).get("recall_not_reached", False)
    return np.where(unreached_mask, 0.0, measure.apply(ranking))


def _interpolated_precisions(ranking: JudgedRankings, recall: FloatArray, rel: int) -> FloatArray:
    """Return IPrec at a recall that differs between topics."""
    precision = interpolated_precision(ranking, recall=recall, rel=rel)  # type: ignore[arg-type]
    return np.where(np.isnan(recall), np.nan, precision)


def _bind_measure(name: str, **parameters: Any) -> Measure:
    return get_definition("retrieval", name).bind(parameters)


#: The kinds by their requested names; the last needs the size of the collection.
TOPIC_CURVE_KINDS = {
    "PR": "PR of a topic",
    "interpolated PR": "interpolated PR of a topic",
    "ROC": "ROC of a topic",
}


def select_topics(
    requested: str | Sequence[str],
    rankings: Mapping[str, JudgedRankings],
    rel: int,
    collection_size: int | None,
) -> tuple[str, ...]:
    """Return the topics that get separate curves.

    These are the named topics, or for "all" those that have relevant documents.
    """
    if requested == "all":
        first = next(iter(rankings.values()))
        n_relevant = first.n_relevant(rel)
        topics = tuple(t for t, n in zip(first.topics, n_relevant, strict=True) if n)
    else:
        names = (requested,) if isinstance(requested, str) else map(str, requested)
        all_topics = set(next(iter(rankings.values())).topics)
        topics = tuple(
            dict.fromkeys(topic for name in names for topic in _split_topics(name, all_topics))
        )
    _check_topics(topics, rankings, rel, collection_size)
    return topics


def _split_topics(name: str, all_topics: Collection[str]) -> list[str]:
    """Return the topics between commas, unless a topic has that name."""
    return [name] if name in all_topics else name.split(",")


def _check_topics(
    topics: Sequence[str],
    rankings: Mapping[str, JudgedRankings],
    rel: int,
    collection_size: int | None,
) -> None:
    """Raise InputError unless each of these topics has curves."""
    for name, ranking in rankings.items():
        for topic in topics:
            topic_ranking = _select_topic(ranking, topic)
            if not topic_ranking.n_relevant(rel)[0]:
                raise InputError(f"topic {topic!r} has no relevant document")
            if collection_size is not None:
                _fallouts(topic_ranking, topic, rel, collection_size, name)


def topic_curve(
    system: str,
    ranking: JudgedRankings,
    topic: str,
    kind: str,
    *,
    rel: int,
    collection_size: int | None,
    level: float,
) -> Curve:
    """Return the curve of a run on a topic; ``kind`` is a key of :data:`TOPIC_CURVE_KINDS`."""
    _check_topics([topic], {system: ranking}, rel, collection_size if kind == "ROC" else None)
    topic_ranking = _select_topic(ranking, topic)
    ranks = np.arange(1, int(topic_ranking.retrieved[0]) + 1)
    recall = _values_at_ranks(topic_ranking, "R", ranks, rel=rel)
    labels = ("Recall", "Precision")
    if kind == "ROC":
        assert collection_size is not None
        x = np.concatenate(
            [[0.0], _fallouts(topic_ranking, topic, rel, collection_size, system), [1.0]]
        )
        y = np.concatenate([[0.0], recall, [1.0]])
        thresholds, labels = (
            np.array([0, *ranks, collection_size], np.float64),
            ("Fall-out", "Recall"),
        )
    elif kind == "PR":
        x, y, thresholds = (
            recall,
            _values_at_ranks(topic_ranking, "P", ranks, rel=rel),
            ranks.astype(np.float64),
        )
    else:
        x, first_index = np.unique(recall, return_index=True)
        # At recall 0 the interpolated precision is the highest precision of all.
        x, thresholds = np.append(0.0, x[x > 0]), np.append(0.0, ranks[first_index][x > 0])
        y = np.array([_precision_at_recall(topic_ranking, r, rel) for r in x])
    return Curve(
        system=system,
        kind=TOPIC_CURVE_KINDS[kind],
        x_label=labels[0],
        y_label=labels[1],
        x=x,
        y=y,
        threshold=thresholds,
        level=level,
        parameter="rank",
        series=topic,
        shape="step" if kind == "interpolated PR" else "line",
        **empty_band(),
    )


def topic_curves(
    rankings: Mapping[str, JudgedRankings],
    topics: Sequence[str],
    *,
    rel: int,
    collection_size: int | None,
    level: float,
) -> Iterator[Curve]:
    """Yield all kinds of curves of these topics.

    ROC curves need the size of the collection.
    """
    for kind in available_kinds(collection_size):
        for topic in topics:
            for system, ranking in rankings.items():
                yield topic_curve(
                    system,
                    ranking,
                    topic,
                    kind,
                    rel=rel,
                    collection_size=collection_size,
                    level=level,
                )


def available_kinds(collection_size: int | None) -> list[str]:
    """Return the kinds of curves that can be computed."""
    return [kind for kind in TOPIC_CURVE_KINDS if kind != "ROC" or collection_size is not None]


def _select_topic(ranking: JudgedRankings, topic: str) -> JudgedRankings:
    if topic not in ranking.topics:
        raise InputError(f"no topic {topic!r}; {did_you_mean(topic, ranking.topics)}")
    return ranking.take_topics(np.array([ranking.topics.index(topic)]))


def _values_at_ranks(
    ranking: JudgedRankings, name: str, ranks: Any, **parameters: Any
) -> FloatArray:
    """Return a measure with a cutoff at each rank."""
    definition = get_definition("retrieval", name)
    measures = (definition.bind({"cutoff": int(rank), **parameters}) for rank in ranks)
    return np.array([float(measure.apply(ranking)[0]) for measure in measures])


def _fallouts(
    ranking: JudgedRankings, topic: str, rel: int, collection_size: int, system: str
) -> FloatArray:
    """Return the fall-out at each rank."""
    ranks = range(1, int(ranking.retrieved[0]) + 1)
    fallouts = _values_at_ranks(ranking, "fallout", ranks, rel=rel, collection_size=collection_size)
    if np.isnan(fallouts).any() or ranking.n_relevant(rel)[0] >= collection_size:
        raise InputError(
            f"collection_size is {collection_size}, fewer documents than run and judgments name on "
            f"topic {topic!r} ({system})"
        )
    return fallouts


def _precision_at_recall(ranking: JudgedRankings, recall: float, rel: int) -> float:
    """Return the highest precision at any rank at which this recall is reached."""
    precisions = interpolated_precision(ranking, recall=np.array([recall]), rel=rel)  # type: ignore[arg-type]
    return float(precisions[0])
