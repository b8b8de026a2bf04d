"""Curves of one topic, rank by rank: precision and recall, raw and interpolated, and ROC; drawn at
as many points as can be seen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.curves.drawn import no_band
from calipers.data.errors import InputError, did_you_mean
from calipers.measures.registry import found
from calipers.measures.retrieval.rankings import interpolated_precision
from calipers.report.figures.curves import CurveChart, leading
from calipers.report.figures.figure import Figure
from calipers.report.figures.registry import register_chart
from calipers.report.grouping import grouped
from calipers.report.names import short
from calipers.results import Curve, Evaluation, kinds_in, of_kinds
from calipers.statistics import FloatArray, IntArray, JudgedRankings

#: The kinds by how they are asked for; the last takes the size of the collection.
OF_TOPICS = {
    "PR": "PR of a topic",
    "interpolated PR": "interpolated PR of a topic",
    "ROC": "ROC of a topic",
}

BoolArray = npt.NDArray[np.bool_]

#: The most points of a line that is drawn at its corners.
MOST = 200
#: Of the points in each of so many parts of the width the first, the last, the lowest and the
#: highest are drawn, where there are more.
_PARTS = MOST // 4


def drawn_topics(
    asked: str | Sequence[str],
    rankings: Mapping[str, JudgedRankings],
    rel: int,
    collection: int | None,
) -> tuple[str, ...]:
    """The topics that get curves of their own: those named, or "all" that can have some."""
    if asked == "all":
        first = next(iter(rankings.values()))
        has = first.relevant(rel)
        topics = tuple(t for t, number in zip(first.topics, has, strict=True) if number)
    else:
        named = (asked,) if isinstance(asked, str) else map(str, asked)
        known = set(next(iter(rankings.values())).topics)
        topics = tuple(dict.fromkeys(topic for name in named for topic in _several(name, known)))
    _check(topics, rankings, rel, collection)
    return topics


def _several(name: str, known: Collection[str]) -> list[str]:
    """The topics between commas, unless a topic has that name."""
    return [name] if name in known else name.split(",")


def _check(
    topics: Sequence[str], rankings: Mapping[str, JudgedRankings], rel: int, collection: int | None
) -> None:
    """That each of these topics has curves."""
    for name, ranking in rankings.items():
        for topic in topics:
            one = _only(ranking, topic)
            if not one.relevant(rel)[0]:
                raise InputError(f"topic {topic!r} has no relevant document")
            if collection is not None:
                _fallouts(one, topic, rel, collection, name)


def topic_curve(
    system: str,
    ranking: JudgedRankings,
    topic: str,
    kind: str,
    *,
    rel: int,
    collection: int | None,
    level: float,
) -> Curve:
    """The curve of a run on a topic; ``kind`` is a key of :data:`OF_TOPICS`."""
    _check([topic], {system: ranking}, rel, collection if kind == "ROC" else None)
    one = _only(ranking, topic)
    ranks = np.arange(1, int(one.retrieved[0]) + 1)
    recall = _along(one, "R", ranks, rel=rel)
    labels = ("Recall", "Precision")
    if kind == "ROC":
        assert collection is not None
        x = np.concatenate([[0.0], _fallouts(one, topic, rel, collection, system), [1.0]])
        y = np.concatenate([[0.0], recall, [1.0]])
        at, labels = np.array([0, *ranks, collection], np.float64), ("Fall-out", "Recall")
    elif kind == "PR":
        x, y, at = recall, _along(one, "P", ranks, rel=rel), ranks.astype(np.float64)
    else:
        x, first = np.unique(recall, return_index=True)
        # Down to a recall of 0 the precision holds that is the highest of all.
        x, at = np.append(0.0, x[x > 0]), np.append(0.0, ranks[first][x > 0])
        y = np.array([_interpolated(one, r, rel) for r in x])
    return Curve(
        system=system,
        kind=OF_TOPICS[kind],
        x_label=labels[0],
        y_label=labels[1],
        x=x,
        y=y,
        threshold=at,
        level=level,
        at="rank",
        series=topic,
        shape="step" if kind == "interpolated PR" else "line",
        **no_band(),
    )


def topic_curves(
    rankings: Mapping[str, JudgedRankings],
    topics: Sequence[str],
    *,
    rel: int,
    collection: int | None,
    level: float,
) -> Iterator[Curve]:
    """All kinds of curves of these topics, ROC where the size of the collection is known."""
    for kind in kinds_of(collection):
        for topic in topics:
            for system, ranking in rankings.items():
                yield topic_curve(
                    system, ranking, topic, kind, rel=rel, collection=collection, level=level
                )


def kinds_of(collection: int | None) -> list[str]:
    """The kinds that can be drawn."""
    return [kind for kind in OF_TOPICS if kind != "ROC" or collection is not None]


def _only(ranking: JudgedRankings, topic: str) -> JudgedRankings:
    if topic not in ranking.topics:
        raise InputError(f"no topic {topic!r}; {did_you_mean(topic, ranking.topics)}")
    return ranking.take(np.array([ranking.topics.index(topic)]))


def _along(ranking: JudgedRankings, name: str, ranks: Any, **parameters: Any) -> FloatArray:
    """A measure with a cutoff at each rank."""
    of = found("retrieval", name)
    measures = (of.bind({"cutoff": int(rank), **parameters}) for rank in ranks)
    return np.array([float(measure.apply(ranking)[0]) for measure in measures])


def _fallouts(
    ranking: JudgedRankings, topic: str, rel: int, collection: int, system: str
) -> FloatArray:
    """The fall-out at each rank."""
    ranks = range(1, int(ranking.retrieved[0]) + 1)
    made = _along(ranking, "fallout", ranks, rel=rel, collection=collection)
    if np.isnan(made).any() or ranking.relevant(rel)[0] >= collection:
        raise InputError(
            f"collection is {collection}, fewer documents than run and judgments name on topic "
            f"{topic!r} ({system})"
        )
    return made


def _interpolated(ranking: JudgedRankings, recall: float, rel: int) -> float:
    """The highest precision at any rank by which this recall is reached."""
    made = interpolated_precision(ranking, recall=np.array([recall]), rel=rel)  # type: ignore[arg-type]
    return float(made[0])


# --- The charts -----------------------------------------------------------------------------------


class _TopicChart(CurveChart):
    """The curves of each topic that has some, from which the reader chooses one."""

    def figures(self, evaluation: Evaluation, orientation: str = "") -> Iterator[Figure]:
        """Its figures of an evaluation, one a topic."""
        if self.name not in kinds_in(evaluation.curves):
            return
        found = of_kinds(evaluation.curves, {self.name})
        by_topic = grouped((c for c in found if len(c.x)), lambda c: c.series)
        for topic, curves in by_topic.items():
            own = [at_corners(replace(c, series="")) for c in curves]
            shown, of = leading(evaluation, own)
            figure = self.figure(shown, evaluation.systems)
            yield replace(
                figure,
                title=f"{figure.title}: {short(topic)}",
                label=f"Topic {short(topic)}. {figure.label}",
                caption=f"{of}{figure.caption}",
                choice=short(topic) if len(by_topic) > 1 else "",
                chosen_from=figure.title,
                chosen_by="Topic",
            )


def at_corners(curve: Curve) -> Curve:
    """The curve without the points between two others on a level or upright line, which shows
    the same; of more than :data:`MOST` those that make its outline."""
    if len(curve) < 3:
        return curve
    kept = np.flatnonzero(_turns(curve.x, curve.y))
    if len(kept) > MOST:
        kept = kept[_outline(curve.x[kept], curve.y[kept])]
    if len(kept) == len(curve):
        return curve
    at = curve.threshold[kept] if len(curve.threshold) else curve.threshold
    return replace(curve, x=curve.x[kept], y=curve.y[kept], threshold=at)


def _turns(x: FloatArray, y: FloatArray) -> BoolArray:
    """Whether each point is an end, or does not lie on the line of its neighbours along an axis."""
    level = np.diff(y) == 0
    upright = np.diff(x) == 0
    between = (level[:-1] & level[1:]) | (upright[:-1] & upright[1:] & _onwards(y))
    return np.concatenate([[True], ~between, [True]])


def _onwards(y: FloatArray) -> BoolArray:
    """Whether the line goes on in its direction, rather than turning back on itself."""
    step = np.sign(np.diff(y))
    return np.asarray(step[:-1] * step[1:] >= 0)


def _outline(x: FloatArray, y: FloatArray) -> IntArray:
    """Places of the points that make the outline of a line from left to right."""
    part = np.minimum((x - x[0]) / ((x[-1] - x[0]) or 1.0) * _PARTS, _PARTS - 1).astype(np.int64)
    order = np.arange(len(x))
    kept = {0, len(x) - 1}
    for own in np.unique(part):
        here = order[part == own]
        kept |= {here[0], here[-1], here[y[here].argmin()], here[y[here].argmax()]}
    return np.array(sorted(int(place) for place in kept))


register_chart(
    _TopicChart(
        name=OF_TOPICS["PR"],
        title="Precision and recall on a topic",
        explanation="Precision and recall of the documents down to each rank, drawn at the corners "
        f"of the line, {MOST} at most.",
        of="rankings",
    ),
    _TopicChart(
        name=OF_TOPICS["interpolated PR"],
        title="Interpolated precision on a topic",
        explanation="At each recall the highest precision that the run has there or further down; "
        "0 beyond the recall that it reaches.",
        of="rankings",
    ),
    _TopicChart(
        name=OF_TOPICS["ROC"],
        title="ROC curve of a topic",
        explanation="From nothing retrieved to the whole collection, drawn at the corners of the "
        f"line, {MOST} at most; the last stretch is drawn as if the rest came in any order.",
        of="rankings",
    ),
)
