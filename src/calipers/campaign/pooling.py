"""Which documents of a topic are judged, and which of them next.

A pool is the union of what runs retrieved, down to some depth or size. It says of each document in
which place it stands, and what each run brings to it. It is made of rankings
(:func:`~calipers.campaign.runs.read_rankings`), which whoever judges must not see.

A queue is of one topic and depends on the judgments made so far. It is told each judgment and says
which document comes next, so that relevant documents come early and judging may stop sooner. What
was judged is then no random sample, and estimators for samples (infAP and its like) must not be
used on it; and judges see relevance become rarer, which moves their threshold. So judging begins
with some documents in the order of their best ranks (``burn_in``), from which a judge learns the
topic, and each topic has an end (``most``), so that the first ones do not use up the budget
(Voorhees 2018).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb, inf

import numpy as np

from calipers.campaign.runs import (
    Depth,
    Judgments,
    Rankings,
    check_min_int,
    down_to,
    group_runs,
    groups_by_document,
    list_topics,
)
from calipers.data.errors import InputError, did_you_mean
from calipers.statistics import FloatArray


@dataclass(frozen=True)
class PoolEntry:
    """A document of a pool: its place among those of its topic, from 1 on, and its weight, which a
    pool by depth has none of."""

    document: str
    position: int
    priority: float | None = None


#: By topic, in the order of the method.
Pool = dict[str, list[PoolEntry]]


def reciprocal_rank(rank: int, k: float) -> float:
    """The weight 1/(k + rank) of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""
    return 1 / (k + rank)


def rank_biased_weight(rank: int, p: float) -> float:
    """The weight (1 − p) p^(rank − 1) of rank-biased precision (Moffat and Zobel 2008)."""
    return (1 - p) * p ** (rank - 1)


#: How documents are weighted: the weight of a rank, and the usual value of its parameter.
WEIGHTS: dict[str, tuple[Callable[[int, float], float], float]] = {
    "rrf": (reciprocal_rank, 60.0),
    "rbp": (rank_biased_weight, 0.8),
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
            PoolEntry(document, place)
            for place, document in enumerate(sort_by_rank(rankings, topic, first), 1)
        ]
        for topic in list_topics(rankings)
    }


def sort_by_rank(rankings: Rankings, topic: str, depth: int | None = None) -> list[str]:
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


def select_top_documents(
    rankings: Rankings, number: int, weight: str = "rrf", parameter: float | None = None
) -> Pool:
    """The ``number`` documents of each topic that weigh most (see :func:`weights`): every topic
    costs the same, where pools by depth grow with how much runs differ.

    >>> pool = select_top_documents({"a": {"1": ["x", "y"]}, "b": {"1": ["y"]}}, 1)
    >>> pool["1"][0].document, round(pool["1"][0].priority, 6)
    ('y', 0.032522)
    """
    check_min_int(number, "number")
    made: Pool = {}
    for topic in list_topics(rankings):
        found = list(weights(rankings, topic, weight, parameter).items())[:number]
        made[topic] = [PoolEntry(d, place, value) for place, (d, value) in enumerate(found, 1)]
    return made


# --- What comes of a pool -------------------------------------------------------------------------


@dataclass(frozen=True)
class PoolGrowth:
    """Down to a depth: documents in all pools, those only this depth has, and judged relevant
    ones (None without judgments)."""

    depth: int
    documents: int
    new: int
    relevant: int | None


def growth(
    rankings: Rankings, depths: Iterable[int], judgments: Judgments | None = None, rel: int = 1
) -> list[PoolGrowth]:
    """How the pools of all topics together grow with their depth.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> [step.documents for step in growth(rankings, [1, 2])]
    [2, 3]
    """
    made, before = list[PoolGrowth](), 0
    for depth in sorted({check_min_int(depth, "depth") for depth in depths}):
        pooled = {t: sort_by_rank(rankings, t, depth) for t in list_topics(rankings)}
        documents = sum(map(len, pooled.values()))
        relevant = None if judgments is None else _relevant(pooled, judgments, rel)
        made.append(PoolGrowth(depth, documents, documents - before, relevant))
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
    of_group = group_runs(rankings, groups)
    number = len(of_group)
    times = [0] * (number + 1)
    for topic in list_topics(rankings):
        for found in groups_by_document(rankings, of_group, topic, depth).values():
            times[len(found)] += 1
    return [
        sum(n * (1 - comb(number - g, m) / comb(number, m)) for g, n in enumerate(times) if n)
        for m in range(1, number + 1)
    ]


@dataclass(frozen=True)
class GroupContribution:
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
) -> list[GroupContribution]:
    """What each group brings to the pool: all runs of a participant together, since runs of one
    group resemble each other, so that what one of them misses another one has.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> [(one.group, one.documents, one.unique) for one in contributions(rankings, 2)]
    [('a', 2, 1), ('b', 2, 1)]
    """
    of_group = group_runs(rankings, groups)
    has = {group: [0, 0, 0, 0] for group in of_group}
    for topic in list_topics(rankings):
        grades = (judgments or {}).get(topic, {})
        for document, found in groups_by_document(rankings, of_group, topic, depth).items():
            relevant = grades.get(document, -1) >= rel
            for group in found:
                alone = len(found) == 1
                for place, counts in enumerate((True, alone, relevant, relevant and alone)):
                    has[group][place] += counts
    none = (None, None)
    return [
        GroupContribution(
            group, runs, *has[group][:2], *(none if judgments is None else has[group][2:])
        )
        for group, runs in of_group.items()
    ]


def unique_documents(
    rankings: Rankings,
    groups: Mapping[str, str] | None = None,
    depth: Depth | None = None,
    pool: Mapping[str, Iterable[str]] | None = None,
) -> dict[str, dict[str, list[str]]]:
    """By topic and group, the documents of the pool that no other group found.

    ``pool`` has the documents of each topic; without it they are all that was retrieved down to
    ``depth``. A group without such a document is left out.

    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> unique_documents(rankings, depth=2)
    {'1': {'a': ['y'], 'b': ['z']}}
    """
    of_group, made = group_runs(rankings, groups), dict[str, dict[str, list[str]]]()
    for topic in list_topics(rankings):
        found = groups_by_document(rankings, of_group, topic, depth)
        wanted = found if pool is None else pool.get(topic, ())
        own: dict[str, list[str]] = {}
        for document in sorted(wanted):
            if len(found.get(document, ())) == 1:
                own.setdefault(next(iter(found[document])), []).append(document)
        made[topic] = dict(sorted(own.items()))
    return made


def unique_proportions(
    sizes: Mapping[str, int], own: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, dict[str, float]]:
    """By topic and group, which share of the pool no other group found.

    >>> unique_proportions({"1": 4}, {"1": {"a": ["x"], "b": ["y", "z"]}})
    {'1': {'a': 0.25, 'b': 0.5}}
    """
    return {
        topic: {group: len(of) / sizes[topic] for group, of in own.get(topic, {}).items()}
        for topic in sizes
        if sizes[topic]
    }


@dataclass
class _RunScores:
    """What is known of the runs, in the order of their names."""

    names: list[str]
    judged: FloatArray = field(init=False)
    relevant: FloatArray = field(init=False)
    priority: FloatArray = field(init=False)
    front: int = 0

    def __post_init__(self) -> None:
        self.judged, self.relevant, self.priority = np.zeros((3, len(self.names)))


#: The value of each run, of which the highest is asked next: from what is known and a generator.
_Value = Callable[[_RunScores, np.random.Generator], FloatArray]


def _move_to_front(runs: _RunScores, _: np.random.Generator) -> FloatArray:
    """The priorities; among equal ones the run that is in front stays there."""
    return np.asarray(runs.priority + 0.5 * (np.arange(len(runs.names)) == runs.front))


def _mean(runs: _RunScores, _: np.random.Generator) -> FloatArray:
    """The expected share of relevant documents, from a uniform prior."""
    return np.asarray((1 + runs.relevant) / (2 + runs.judged))


def _draw(runs: _RunScores, random: np.random.Generator) -> FloatArray:
    """A draw from what that share may be."""
    return random.beta(1 + runs.relevant, 1 + runs.judged - runs.relevant)


#: The methods: what runs are chosen by, and which part of what was known before a judgment counts
#: after it (1 all, 0 nothing).
METHODS: dict[str, tuple[_Value, float]] = {
    "move-to-front": (_move_to_front, 1.0),
    "max-mean": (_mean, 1.0),
    "max-mean-non-stationary": (_mean, 0.0),
    "thompson": (_draw, 1.0),
    "thompson-non-stationary": (_draw, 0.0),
}


class JudgingQueue:
    """The order in which the documents of one topic are judged, as it follows from the judgments.

    Parameters
    ----------
    rankings
        What each run retrieved for the topic, best first. Runs are asked for their first document
        that is not judged yet.
    method
        ``"move-to-front"`` (Cormack, Palmer and Clarke 1998): stay with a run while its documents
        are relevant; one that is not takes 1 off its priority, and the run of the highest priority
        is next. ``"max-mean"`` (Losada, Parapar and Barreiro 2016): the run with the largest
        (1 + relevant)/(2 + judged), where each judgment counts for every run that has the document.
        ``"thompson"``: the run with the largest draw from Beta(1 + relevant, 1 + judged −
        relevant). With ``-non-stationary`` behind, the last judgment of a run alone counts. Of
        equal runs the first by name is next.
    topic, seed
        Draws depend on these and on the number of judgments alone, so that a queue that is made
        anew from the judgments goes on as the first one would have.
    burn_in
        So many documents come first in the order of their best ranks, equal ones by id.
    most
        No more documents than these are judged.
    judged
        Judgments made before: pairs of a document and whether it is relevant, in their order.

    Raises
    ------
    InputError
        For an unknown method, no run, and numbers that are none.

    Examples
    --------
    >>> queue = JudgingQueue({"a": ["x", "y"], "b": ["z", "x"]}, "move-to-front")
    >>> queue.next()
    'x'
    >>> queue.judge("x", relevant=False)
    >>> queue.next()
    'z'
    """

    def __init__(
        self,
        rankings: Mapping[str, Sequence[str]],
        method: str = "move-to-front",
        *,
        topic: str = "",
        seed: int = 0,
        burn_in: int = 0,
        most: int | None = None,
        judged: Iterable[tuple[str, bool]] = (),
    ) -> None:
        if method not in METHODS:
            raise InputError(f"method is {method!r}; {did_you_mean(method, METHODS)}")
        if not rankings:
            raise InputError(f"topic {topic!r}: there is no run, of which its documents could be")
        check_min_int(burn_in, "burn_in", 0)
        self.most = None if most is None else check_min_int(most, "most")
        self._value, self._kept = METHODS[method]
        names = sorted(rankings)
        self._rankings: list[list[str]] = [list(rankings[name]) for name in names]
        self._has = [set(ranking) for ranking in self._rankings]
        self._first = [0] * len(names)
        self._runs = _RunScores(names)
        self._seed = [check_min_int(seed, "seed", 0), zlib.crc32(topic.encode())]
        every = {name: {"": self._rankings[k]} for k, name in enumerate(names)}
        self._burn_in = sort_by_rank(every, "")[:burn_in]
        self.judged: dict[str, bool] = {}
        for document, relevant in judged:
            self.judge(document, relevant=relevant)

    def next(self, besides: Collection[str] = ()) -> str | None:
        """The document to be judged next, None where there is none or the topic has its end.

        ``besides`` are documents that are not to be asked for: skipped, or shown already.
        """
        if self.most is not None and len(self.judged) >= self.most:
            return None
        left_out = {*self.judged, *besides}
        if len(self.judged) < len(self._burn_in):
            for document in self._burn_in:
                if document not in left_out:
                    return document
        random = np.random.default_rng([*self._seed, len(self.judged)])
        values = self._value(self._runs, random)
        order: list[int] = np.argsort(-values, kind="stable").tolist()
        for run in order:
            for document in self._rankings[run][self._first[run] :]:
                if document not in left_out:
                    return document
        return None

    def judge(self, document: str, *, relevant: bool) -> None:
        """Take a judgment; one of a document that was judged before changes nothing."""
        if document in self.judged:
            return
        runs = self._runs
        if len(self.judged) >= len(self._burn_in):
            self._move(document, relevant=relevant)
        for run, has in enumerate(self._has):
            if document in has:
                runs.judged[run] = self._kept * runs.judged[run] + 1
                runs.relevant[run] = self._kept * runs.relevant[run] + relevant
        self.judged[document] = relevant
        for run, ranking in enumerate(self._rankings):
            while self._first[run] < len(ranking) and ranking[self._first[run]] in self.judged:
                self._first[run] += 1

    def _move(self, document: str, *, relevant: bool) -> None:
        """Which run is in front, and what it loses."""
        runs = self._runs
        asked = np.array(
            [first < len(of) for first, of in zip(self._first, self._rankings, strict=True)]
        )
        if not asked.any():
            return
        values = np.where(asked, _move_to_front(runs, np.random.default_rng(0)), -np.inf)
        runs.front = int(np.argmax(values))
        # (A document that was skipped, and is judged later, may be another run's.)
        if document in self._has[runs.front] and not relevant:
            runs.priority[runs.front] -= 1


def order(queue: JudgingQueue, relevant: Collection[str]) -> list[str]:
    """The documents in the order in which the queue asks for them, where these are the relevant
    ones: what a method would have done with judgments that are there.

    >>> order(JudgingQueue({"a": ["x", "y"], "b": ["z", "x"]}), {"y"})
    ['x', 'z', 'y']
    """
    made = list[str]()
    while (document := queue.next()) is not None:
        queue.judge(document, relevant=document in relevant)
        made.append(document)
    return made
