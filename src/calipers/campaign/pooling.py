"""Which documents of a topic are judged: the union of what runs retrieved, down to some depth or
size, and what each run brings to it.

A pool says of each document in which place it stands. It is made of rankings
(:func:`~calipers.campaign.rankings.read_rankings`), which whoever judges must not see. Orders that
depend on the judgments made so far are in :mod:`calipers.campaign.adaptive`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, inf

from calipers.campaign.rankings import (
    Depth,
    Judgments,
    Rankings,
    checked,
    down_to,
    found_by,
    groups_of,
    topics_of,
)
from calipers.data.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Pooled:
    """A document of a pool: its place among those of its topic, from 1 on, and its weight, which a
    pool by depth has none of."""

    document: str
    position: int
    priority: float | None = None


#: By topic, in the order of the method.
Pool = dict[str, list[Pooled]]


def reciprocal_rank(rank: int, k: float) -> float:
    """The weight 1/(k + rank) of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""
    return 1 / (k + rank)


def rank_biased(rank: int, p: float) -> float:
    """The weight (1 − p) p^(rank − 1) of rank-biased precision (Moffat and Zobel 2008)."""
    return (1 - p) * p ** (rank - 1)


#: How documents are weighted: the weight of a rank, and the usual value of its parameter.
WEIGHTS: dict[str, tuple[Callable[[int, float], float], float]] = {
    "rrf": (reciprocal_rank, 60.0),
    "rbp": (rank_biased, 0.8),
}


def depth_pool(rankings: Rankings, depth: Depth) -> Pool:
    """The first ``depth`` documents of every run, or with ``"all"`` every one that it retrieved:
    for each topic their union, best ranks first.

    Documents of the same best rank stand by their ids, so that a judge who goes through them in
    order learns nothing of the runs.

    >>> pool = depth_pool({"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}, depth=1)
    >>> [one.document for one in pool["1"]]
    ['x', 'z']
    """
    first = down_to(depth)
    return {
        topic: [
            Pooled(document, place)
            for place, document in enumerate(by_best_rank(rankings, topic, first), 1)
        ]
        for topic in topics_of(rankings)
    }


def by_best_rank(rankings: Rankings, topic: str, depth: int | None = None) -> list[str]:
    """The documents of a topic by the best rank that any run gives them, equal ones by id."""
    best: dict[str, int] = {}
    for ranking in rankings.values():
        for rank, document in enumerate(ranking.get(topic, ())[:depth], 1):
            best[document] = min(rank, best.get(document, rank))
    return sorted(best, key=lambda document: (best[document], document))


def weights(
    rankings: Rankings, topic: str, weight: str = "rrf", parameter: float | None = None
) -> dict[str, float]:
    """For each document of a topic the sum over runs of a weight of its rank, highest first.

    ``weight`` is ``"rrf"``, Σ 1/(60 + rank) (reciprocal rank fusion), or ``"rbp"``,
    Σ (1 − p) p^(rank − 1) with p = 0.8, what a run whose first documents matter most would lose if
    the document were not judged. ``parameter`` replaces 60 or 0.8. Equal sums stand by ids.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["y"]}}
    >>> weights(rankings, "1", "rbp")
    {'y': 0.36, 'x': 0.2}
    """
    if weight not in WEIGHTS:
        raise InputError(f"weight is {weight!r}; {did_you_mean(weight, WEIGHTS)}")
    of_rank, usual = WEIGHTS[weight]
    own = usual if parameter is None else float(parameter)
    if not (0 < own < 1 if weight == "rbp" else 0 <= own < inf):
        expected = "more than 0 and less than 1" if weight == "rbp" else "0 or more"
        raise InputError(f"the parameter of {weight} is {own:g}, expected {expected}")
    total: dict[str, float] = {}
    for run in sorted(rankings):
        for rank, document in enumerate(rankings[run].get(topic, ()), 1):
            total[document] = total.get(document, 0.0) + of_rank(rank, own)
    total = {document: round(value, 12) for document, value in total.items()}
    return {d: total[d] for d in sorted(total, key=lambda d: (-total[d], d))}


def take(
    rankings: Rankings, number: int, weight: str = "rrf", parameter: float | None = None
) -> Pool:
    """The ``number`` documents of each topic that weigh most (see :func:`weights`): every topic
    costs the same, where pools by depth grow with how much runs differ.

    >>> pool = take({"a": {"1": ["x", "y"]}, "b": {"1": ["y"]}}, 1)
    >>> pool["1"][0].document, round(pool["1"][0].priority, 6)
    ('y', 0.032522)
    """
    checked(number, "number")
    made: Pool = {}
    for topic in topics_of(rankings):
        found = list(weights(rankings, topic, weight, parameter).items())[:number]
        made[topic] = [Pooled(d, place, value) for place, (d, value) in enumerate(found, 1)]
    return made


# --- What comes of a pool -------------------------------------------------------------------------


@dataclass(frozen=True)
class Growth:
    """Down to a depth: documents in all pools, those only this depth has, and judged relevant
    ones (None without judgments)."""

    depth: int
    documents: int
    new: int
    relevant: int | None


def growth(
    rankings: Rankings, depths: Iterable[int], judgments: Judgments | None = None, rel: int = 1
) -> list[Growth]:
    """How the pools of all topics together grow with their depth.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> [step.documents for step in growth(rankings, [1, 2])]
    [2, 3]
    """
    made, before = list[Growth](), 0
    for depth in sorted({checked(depth, "depth") for depth in depths}):
        pooled = {t: by_best_rank(rankings, t, depth) for t in topics_of(rankings)}
        documents = sum(map(len, pooled.values()))
        relevant = None if judgments is None else _relevant(pooled, judgments, rel)
        made.append(Growth(depth, documents, documents - before, relevant))
        before = documents
    return made


def _relevant(pooled: Mapping[str, Iterable[str]], judgments: Judgments, rel: int) -> int:
    return sum(
        judgments.get(topic, {}).get(document, -1) >= rel
        for topic, documents in pooled.items()
        for document in documents
    )


def growth_with_groups(
    rankings: Rankings, depth: Depth | None, groups: Mapping[str, str] | None = None
) -> list[float]:
    """How large the pools of all topics together are with 1, 2, … groups: the mean over every
    choice of so many of them, Σ 1 − C(G − g, m)/C(G, m) over documents that g of G groups have.

    A curve that still rises at its end says that further systems would bring documents that nobody
    judged, and among them relevant ones.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> growth_with_groups(rankings, 2)
    [2.0, 3.0]
    """
    of_group = groups_of(rankings, groups)
    number = len(of_group)
    times = [0] * (number + 1)
    for topic in topics_of(rankings):
        for found in found_by(rankings, of_group, topic, depth).values():
            times[len(found)] += 1
    return [
        sum(n * (1 - comb(number - g, m) / comb(number, m)) for g, n in enumerate(times) if n)
        for m in range(1, number + 1)
    ]


@dataclass(frozen=True)
class Contribution:
    """What a group brings to the pools of all topics: documents, those that nobody else has, and
    the relevant ones of both (None without judgments)."""

    group: str
    runs: tuple[str, ...]
    documents: int
    unique: int
    relevant: int | None
    unique_relevant: int | None


def contributions(
    rankings: Rankings,
    depth: Depth | None,
    groups: Mapping[str, str] | None = None,
    judgments: Judgments | None = None,
    rel: int = 1,
) -> list[Contribution]:
    """What each group brings to the pool: all runs of a participant together, since runs of one
    group resemble each other, so that what one of them misses another one has.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> [(one.group, one.documents, one.unique) for one in contributions(rankings, 2)]
    [('a', 2, 1), ('b', 2, 1)]
    """
    of_group = groups_of(rankings, groups)
    has = {group: [0, 0, 0, 0] for group in of_group}
    for topic in topics_of(rankings):
        grades = (judgments or {}).get(topic, {})
        for document, found in found_by(rankings, of_group, topic, depth).items():
            relevant = grades.get(document, -1) >= rel
            for group in found:
                alone = len(found) == 1
                for place, counts in enumerate((True, alone, relevant, relevant and alone)):
                    has[group][place] += counts
    none = (None, None)
    return [
        Contribution(group, runs, *has[group][:2], *(none if judgments is None else has[group][2:]))
        for group, runs in of_group.items()
    ]


def only_found_by(
    rankings: Rankings,
    groups: Mapping[str, str] | None = None,
    depth: Depth | None = None,
    pool: Mapping[str, Iterable[str]] | None = None,
) -> dict[str, dict[str, list[str]]]:
    """By topic and group, the documents of the pool that no other group found.

    ``pool`` has the documents of each topic; without it they are all that was retrieved down to
    ``depth``. A group without such a document is left out.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> only_found_by(rankings, depth=2)
    {'1': {'a': ['y'], 'b': ['z']}}
    """
    of_group, made = groups_of(rankings, groups), dict[str, dict[str, list[str]]]()
    for topic in topics_of(rankings):
        found = found_by(rankings, of_group, topic, depth)
        wanted = found if pool is None else pool.get(topic, ())
        own: dict[str, list[str]] = {}
        for document in sorted(wanted):
            if len(found.get(document, ())) == 1:
                own.setdefault(next(iter(found[document])), []).append(document)
        made[topic] = dict(sorted(own.items()))
    return made


def own_shares(
    sizes: Mapping[str, int], own: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, dict[str, float]]:
    """By topic and group, which share of the pool no other group found.

    >>> own_shares({"1": 4}, {"1": {"a": ["x"], "b": ["y", "z"]}})
    {'1': {'a': 0.25, 'b': 0.5}}
    """
    return {
        topic: {group: len(of) / sizes[topic] for group, of in own.get(topic, {}).items()}
        for topic in sizes
        if sizes[topic]
    }
