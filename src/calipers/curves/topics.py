"""Curves of one topic, rank by rank: precision and recall, raw and interpolated, and ROC."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.curves.drawn import no_band
from calipers.data.errors import InputError, did_you_mean
from calipers.measures.registry import found
from calipers.measures.retrieval.binary_relevance import interpolated_precision
from calipers.results import Curve
from calipers.statistics import FloatArray, JudgedRankings

#: The kinds by how they are asked for; the last takes the size of the collection.
OF_TOPICS = {
    "PR": "PR of a topic",
    "interpolated PR": "interpolated PR of a topic",
    "ROC": "ROC of a topic",
}


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
