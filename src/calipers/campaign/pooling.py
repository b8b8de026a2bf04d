"""Pooling: the documents of a topic to be judged, and their order.

A pool is the union of the documents that runs retrieved, down to some depth or size. It has the
position of each document, and the contribution of each run. It is made from rankings
(:func:`~calipers.campaign.runs.read_rankings`), which assessors must not see.

A queue belongs to one topic and depends on the judgments so far. Given each judgment, it returns
the document to judge next, so that relevant documents come early and judging may stop sooner. The
judged documents are then not a random sample, so estimators for samples (infAP and the like) must
not be used; and assessors see relevant documents become rarer, which shifts their threshold.
Therefore judging begins with some documents in the order of their best ranks (``burn_in``), by
which an assessor gets to know the topic, and each topic has a limit (``max_documents``), so that
the first ones do not use up the budget (Voorhees 2018).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from math import comb, inf

import numpy as np

from calipers.campaign.runs import (
    Depth,
    Judgments,
    Rankings,
    check_min_int,
    group_runs,
    groups_by_document,
    list_topics,
    parse_depth,
)
from calipers.data.errors import InputError, did_you_mean
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray


@dataclass(frozen=True)
class PoolEntry:
    """Document of a pool, with its position in the topic, from 1.

    ``priority`` is the value by which the documents are in descending order, such as the sum of the
    weights of their ranks; None in a pool by depth, whose order is that of best ranks.
    """

    document: str
    position: int
    priority: float | None = None


#: Pool of each topic, in the order of the method.
Pool = dict[str, list[PoolEntry]]


def reciprocal_rank_weight(rank: int, k: float) -> float:
    """Return the weight 1/(k + rank) of reciprocal rank fusion.

    Reference: Cormack, Clarke and Büttcher (2009).
    """
    return 1 / (k + rank)


def rank_biased_weight(rank: int, p: float) -> float:
    """Return the weight (1 − p) p^(rank − 1) of rank-biased precision (Moffat and Zobel 2008)."""
    return (1 - p) * p ** (rank - 1)


#: Weight functions of ranks, each with the default of its parameter.
WEIGHTS: dict[str, tuple[Callable[[int, float], float], float]] = {
    "rrf": (reciprocal_rank_weight, 60.0),
    "rbp": (rank_biased_weight, 0.8),
}


def depth_pool(rankings: Rankings, depth: Depth) -> Pool:
    """Pool the first ``depth`` documents of every run.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs (:func:`~calipers.campaign.runs.read_rankings`).
    depth : int or "all"
        Number of documents of each run and topic, or every retrieved document.

    Returns
    -------
    dict of str to list of PoolEntry
        For each topic the union of the documents, sorted by best rank. Documents with the same
        best rank are sorted by their ids, so that an assessor who judges them in order learns
        nothing about the runs.

    Examples
    --------
    >>> pool = depth_pool({"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}, depth=1)
    >>> [item.document for item in pool["1"]]
    ['x', 'z']
    """
    max_rank = parse_depth(depth)
    return {
        topic: [
            PoolEntry(document, position)
            for position, document in enumerate(sort_by_best_rank(rankings, topic, max_rank), 1)
        ]
        for topic in list_topics(rankings)
    }


def sort_by_best_rank(rankings: Rankings, topic: str, depth: int | None = None) -> list[str]:
    """Sort the documents of a topic by their best rank in any run, ties by id."""
    best: dict[str, int] = {}
    for ranking in rankings.values():
        for rank, document in enumerate(ranking.get(topic, ())[:depth], 1):
            best[document] = min(rank, best.get(document, rank))
    return sorted(best, key=lambda document: (best[document], document))


def document_weights(
    rankings: Rankings, topic: str, weight: str = "rrf", parameter: float | None = None
) -> dict[str, float]:
    """Compute for each document of a topic the sum over runs of a weight of its rank.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs.
    topic : str
        Topic.
    weight : {"rrf", "rbp"}, default="rrf"
        ``"rrf"`` is reciprocal rank fusion, Σ 1/(60 + rank). ``"rbp"`` is Σ (1 − p) p^(rank − 1)
        with p = 0.8: the loss in rank-biased precision if the document were not judged.
    parameter : float, optional
        Value in place of 60 or 0.8.

    Returns
    -------
    dict of str to float
        Sum for each document, in descending order, ties by id.

    Raises
    ------
    InputError
        If the weight is unknown, or its parameter is out of range.

    Examples
    --------
    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["y"]}}
    >>> document_weights(rankings, "1", "rbp")
    {'y': 0.36, 'x': 0.2}
    """
    if weight not in WEIGHTS:
        raise InputError(f"weight is {weight!r}; {did_you_mean(weight, WEIGHTS)}")
    rank_weight, default = WEIGHTS[weight]
    parameter_value = default if parameter is None else float(parameter)
    if not (0 < parameter_value < 1 if weight == "rbp" else 0 <= parameter_value < inf):
        expected = "more than 0 and less than 1" if weight == "rbp" else "0 or more"
        raise InputError(f"the parameter of {weight} is {parameter_value:g}, expected {expected}")
    total: dict[str, float] = {}
    for run in sorted(rankings):
        for rank, document in enumerate(rankings[run].get(topic, ()), 1):
            total[document] = total.get(document, 0.0) + rank_weight(rank, parameter_value)
    total = {document: round(value, 12) for document, value in total.items()}
    return {d: total[d] for d in sorted(total, key=lambda d: (-total[d], d))}


def select_top_documents(
    rankings: Rankings, n_documents: int, weight: str = "rrf", parameter: float | None = None
) -> Pool:
    """Pool the documents of each topic with the highest weights.

    All topics have the same cost, whereas pools by depth grow with the differences between runs.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs.
    n_documents : int
        Number of documents of each topic.
    weight, parameter
        See :func:`document_weights`.

    Returns
    -------
    dict of str to list of PoolEntry
        Documents of each topic, by descending weight.

    Examples
    --------
    >>> pool = select_top_documents({"a": {"1": ["x", "y"]}, "b": {"1": ["y"]}}, 1)
    >>> pool["1"][0].document, round(pool["1"][0].priority, 6)
    ('y', 0.032522)
    """
    check_min_int(n_documents, "n_documents")
    pool: Pool = {}
    for topic in list_topics(rankings):
        top_documents = list(document_weights(rankings, topic, weight, parameter).items())[
            :n_documents
        ]
        pool[topic] = [
            PoolEntry(d, position, value) for position, (d, value) in enumerate(top_documents, 1)
        ]
    return pool


# --- Size of a pool and contributions -------------------------------------------------------------


@dataclass(frozen=True)
class PoolGrowth:
    """Size of all pools down to a depth.

    ``n_documents`` is the number of documents, ``n_new`` that of those added by this depth, and
    ``n_relevant`` that of those judged relevant (None without judgments).
    """

    depth: int
    n_documents: int
    n_new: int
    n_relevant: int | None


def pool_growth(
    rankings: Rankings, depths: Iterable[int], judgments: Judgments | None = None, rel: int = 1
) -> list[PoolGrowth]:
    """Compute the total size of the pools of all topics by depth.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs.
    depths : iterable of int
        Pool depths.
    judgments : mapping, optional
        Grades by topic and document, to count relevant documents.
    rel : int, default=1
        Lowest relevant grade.

    Returns
    -------
    list of PoolGrowth
        Size for each depth, in ascending order.

    Examples
    --------
    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> [step.n_documents for step in pool_growth(rankings, [1, 2])]
    [2, 3]
    """
    steps, before = list[PoolGrowth](), 0
    for depth in sorted({check_min_int(depth, "depth") for depth in depths}):
        pooled = {t: sort_by_best_rank(rankings, t, depth) for t in list_topics(rankings)}
        documents = sum(map(len, pooled.values()))
        relevant = None if judgments is None else _count_relevant(pooled, judgments, rel)
        steps.append(PoolGrowth(depth, documents, documents - before, relevant))
        before = documents
    return steps


def _count_relevant(pooled: Mapping[str, Iterable[str]], judgments: Judgments, rel: int) -> int:
    """Count the relevant documents of the pools of all topics."""
    return sum(
        judgments.get(topic, {}).get(document, -1) >= rel
        for topic, documents in pooled.items()
        for document in documents
    )


def expected_pool_sizes(
    rankings: Rankings, depth: Depth | None, groups: Mapping[str, str] | None = None
) -> list[float]:
    """Compute the expected total size of the pools with 1, 2, … groups.

    A curve that still rises at its end indicates that further systems would retrieve documents
    that nobody judged, some of them relevant.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs.
    depth : int, "all" or None
        Pool depth; None for all documents.
    groups : mapping of str to str, optional
        Group of each run. By default each run is a group.

    Returns
    -------
    list of float
        Expected number of documents with 1, 2, … groups.

    Notes
    -----
    The value for m groups is the mean over all choices of m of the G groups, Σ 1 − C(G − g,
    m)/C(G, m), where the sum is over documents that g groups have.

    Examples
    --------
    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> expected_pool_sizes(rankings, 2)
    [2.0, 3.0]
    """
    runs_by_group = group_runs(rankings, groups)
    n_groups = len(runs_by_group)
    counts = [0] * (n_groups + 1)
    for topic in list_topics(rankings):
        for document_groups in groups_by_document(rankings, runs_by_group, topic, depth).values():
            counts[len(document_groups)] += 1
    return [
        sum(n * (1 - comb(n_groups - g, m) / comb(n_groups, m)) for g, n in enumerate(counts) if n)
        for m in range(1, n_groups + 1)
    ]


@dataclass(frozen=True)
class GroupContribution:
    """Contribution of a group to the pools of all topics.

    It is the number of documents, the number that no other group has, and the numbers of relevant
    ones of both (None without judgments).
    """

    group: str
    runs: tuple[str, ...]
    n_documents: int
    n_unique: int
    relevant: int | None
    unique_relevant: int | None


def contributions(
    rankings: Rankings,
    depth: Depth | None,
    groups: Mapping[str, str] | None = None,
    judgments: Judgments | None = None,
    rel: int = 1,
) -> list[GroupContribution]:
    """Compute the contribution of each group to the pool.

    All runs of a participant are a group, because they resemble each other, so that a document
    that one of them misses is found by another.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs.
    depth : int, "all" or None
        Pool depth; None for all documents.
    groups : mapping of str to str, optional
        Group of each run. By default each run is a group.
    judgments : mapping, optional
        Grades by topic and document, to count relevant documents.
    rel : int, default=1
        Lowest relevant grade.

    Returns
    -------
    list of GroupContribution
        Contribution of each group.

    Examples
    --------
    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> [(item.group, item.n_documents, item.n_unique) for item in contributions(rankings, 2)]
    [('a', 2, 1), ('b', 2, 1)]
    """
    runs_by_group = group_runs(rankings, groups)
    totals = {group: [0, 0, 0, 0] for group in runs_by_group}
    for topic in list_topics(rankings):
        grades = (judgments or {}).get(topic, {})
        for document, document_groups in groups_by_document(
            rankings, runs_by_group, topic, depth
        ).items():
            relevant = grades.get(document, -1) >= rel
            for group in document_groups:
                is_unique = len(document_groups) == 1
                for index, counts in enumerate((True, is_unique, relevant, relevant and is_unique)):
                    totals[group][index] += counts
    unknown = (None, None)
    return [
        GroupContribution(
            group, runs, *totals[group][:2], *(unknown if judgments is None else totals[group][2:])
        )
        for group, runs in runs_by_group.items()
    ]


def unique_documents(
    rankings: Rankings,
    groups: Mapping[str, str] | None = None,
    depth: Depth | None = None,
    pool: Mapping[str, Iterable[str]] | None = None,
) -> dict[str, dict[str, list[str]]]:
    """Return, by topic and group, the documents of the pool that no other group found.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs.
    groups : mapping of str to str, optional
        Group of each run. By default each run is a group.
    depth : int or "all", optional
        Pool depth. By default all documents.
    pool : mapping of str to iterable of str, optional
        Documents of each topic. By default all documents retrieved down to ``depth``.

    Returns
    -------
    dict of str to dict of str to list of str
        Documents by topic and group. A group without such a document is omitted.

    Examples
    --------
    >>> rankings = {"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}
    >>> unique_documents(rankings, depth=2)
    {'1': {'a': ['y'], 'b': ['z']}}
    """
    runs_by_group, unique_by_topic = group_runs(rankings, groups), dict[str, dict[str, list[str]]]()
    for topic in list_topics(rankings):
        document_groups = groups_by_document(rankings, runs_by_group, topic, depth)
        documents = document_groups if pool is None else pool.get(topic, ())
        unique_by_group: dict[str, list[str]] = {}
        for document in sorted(documents):
            if len(document_groups.get(document, ())) == 1:
                unique_by_group.setdefault(next(iter(document_groups[document])), []).append(
                    document
                )
        unique_by_topic[topic] = dict(sorted(unique_by_group.items()))
    return unique_by_topic


def unique_proportions(
    sizes: Mapping[str, int], unique_by_topic: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, dict[str, float]]:
    """Return, by topic and group, the proportion of the pool that no other group found.

    >>> unique_proportions({"1": 4}, {"1": {"a": ["x"], "b": ["y", "z"]}})
    {'1': {'a': 0.25, 'b': 0.5}}
    """
    return {
        topic: {
            group: len(documents) / sizes[topic]
            for group, documents in unique_by_topic.get(topic, {}).items()
        }
        for topic in sizes
        if sizes[topic]
    }


@dataclass
class _RunStates:
    """State of the runs, in the order of their names.

    ``n_judged`` and ``n_relevant`` are the numbers of judged and of relevant documents of each run,
    in which earlier judgments may be discounted; ``priority`` and ``front`` (an index) are those of
    move-to-front.
    """

    names: list[str]
    n_judged: FloatArray = field(init=False)
    n_relevant: FloatArray = field(init=False)
    priority: FloatArray = field(init=False)
    front: int = 0

    def __post_init__(self) -> None:
        self.n_judged, self.n_relevant, self.priority = np.zeros((3, len(self.names)))


#: Function that returns the priority of each run, given the state and a random generator; the run
#: of highest priority is next.
_PriorityFunction = Callable[[_RunStates, np.random.Generator], FloatArray]


def _move_to_front_priorities(runs: _RunStates, _: np.random.Generator) -> FloatArray:
    """Return the priorities of move-to-front; in a tie the run in front stays there."""
    return np.asarray(runs.priority + 0.5 * (np.arange(len(runs.names)) == runs.front))


def _mean_priorities(runs: _RunStates, _: np.random.Generator) -> FloatArray:
    """Return the posterior mean of the proportion of relevant documents, with a uniform prior."""
    return np.asarray((1 + runs.n_relevant) / (2 + runs.n_judged))


def _thompson_priorities(runs: _RunStates, rng: np.random.Generator) -> FloatArray:
    """Draw from the posterior distribution of the proportion of relevant documents."""
    return rng.beta(1 + runs.n_relevant, 1 + runs.n_judged - runs.n_relevant)


#: Methods: the function that returns priorities, and the factor by which earlier counts are
#: multiplied at each judgment (1 keeps all of them, 0 none).
QUEUE_METHODS: dict[str, tuple[_PriorityFunction, float]] = {
    "move-to-front": (_move_to_front_priorities, 1.0),
    "max-mean": (_mean_priorities, 1.0),
    "max-mean-non-stationary": (_mean_priorities, 0.0),
    "thompson": (_thompson_priorities, 1.0),
    "thompson-non-stationary": (_thompson_priorities, 0.0),
}


class _RankTable:
    """Ranks of the documents of a topic in each run, documents in the order of their best ranks.

    ``ranks`` has shape (n_runs, n_documents); it is infinite if a run has not retrieved a document.
    """

    def __init__(self, rankings: Mapping[str, Sequence[str]]) -> None:
        self.documents = sort_by_best_rank({n: {"": list(r)} for n, r in rankings.items()}, "")
        position = {document: k for k, document in enumerate(self.documents)}
        self.ranks = np.full((len(rankings), len(self.documents)), np.inf)
        for run, name in enumerate(sorted(rankings)):
            for rank, document in enumerate(rankings[name], 1):
                self.ranks[run, position[document]] = rank

    def grades(self, judged: Mapping[str, bool]) -> FloatArray:
        """Return 1 and 0 for relevant and non-relevant documents, NaN for unjudged ones."""
        return np.array([float(judged.get(d, np.nan)) for d in self.documents])


#: Base of the weights of runs in Hedge: a loss of 1 multiplies the weight by it.
_HEDGE_BASE = 0.1


def _hedge_priorities(table: _RankTable, judged: Mapping[str, bool]) -> FloatArray:
    """Return the loss of the weighted runs if each document were not relevant.

    A document at rank r of a list of length Z has the loss ½(1/r + … + 1/Z) if it is not relevant,
    and minus that if it is.
    """
    longest = int(table.ranks[np.isfinite(table.ranks)].max(initial=1))
    tails = np.append(np.cumsum(1 / np.arange(longest, 0, -1.0))[::-1], 0.0) / 2
    losses = tails[np.minimum(table.ranks - 1, longest).astype(np.intp)]
    grades = table.grades(judged)
    total = losses @ np.where(np.isnan(grades), 0.0, 1 - 2 * grades)
    weights = _HEDGE_BASE ** (total - total.min())
    return np.asarray(weights / weights.sum() @ losses)


def _mtc_priorities(table: _RankTable, judged: Mapping[str, bool]) -> FloatArray:
    """Return by how much each judgment changes the expected differences of the runs in AP.

    With x the relevance of documents, the sum of precisions of a run is the sum over i ≤ j of
    x_i x_j / max(r_i, r_j). Its expectation, where documents that are not judged are relevant with
    probability 1/2, changes by 1/r_i + Σ_{j ≠ i} x_j / max(r_i, r_j) with x_i. The priority is the
    sum over pairs of runs of the absolute differences between these changes.
    """
    grades = table.grades(judged)
    expected = np.where(np.isnan(grades), 0.5, grades)
    changes = np.empty_like(table.ranks)
    for run, ranks in enumerate(table.ranks):
        order = np.argsort(ranks, kind="stable")
        reciprocal, relevance = 1 / ranks[order], expected[order]
        before = np.cumsum(relevance) - relevance
        after = np.cumsum((relevance * reciprocal)[::-1])[::-1] - relevance * reciprocal
        retrieved = np.isfinite(ranks[order])
        changes[run, order] = np.where(retrieved, reciprocal * (1 + before) + after, 0.0)
    # Σ over pairs |a − b| from the sorted values.
    n_runs = len(changes)
    multiples = 2 * np.arange(n_runs) - n_runs + 1
    return np.asarray(multiples @ np.sort(changes, axis=0))


#: Methods that rank documents, not runs.
_DOCUMENT_METHODS: dict[str, Callable[[_RankTable, Mapping[str, bool]], FloatArray]] = {
    "hedge": _hedge_priorities,
    "mtc": _mtc_priorities,
}
#: Names of all methods.
JUDGING_METHODS = (*QUEUE_METHODS, *_DOCUMENT_METHODS)


class JudgingQueue:
    """Order in which the documents of one topic are judged, depending on the judgments.

    Parameters
    ----------
    rankings : mapping of str to sequence of str
        Documents that each run retrieved for the topic, best first. A run contributes its first
        document that is not judged yet.
    method : str, default="move-to-front"
        Method that selects the next run. ``"move-to-front"`` (Cormack, Palmer and Clarke 1998)
        stays with a run while its documents are relevant; a non-relevant one reduces its priority
        by 1, and the run of highest priority is next. ``"max-mean"`` (Losada, Parapar and
        Barreiro 2016) selects the run with the largest (1 + relevant)/(2 + judged), where each
        judgment counts for every run that has the document. ``"thompson"`` selects the run with
        the largest draw from Beta(1 + relevant, 1 + judged − relevant). With the suffix
        ``-non-stationary`` only the last judgment of a run counts. Ties are resolved by name.
        ``"hedge"`` (Aslam, Pavlu and Savell 2003) selects the document at the highest ranks of the
        runs that have been right so far: each run has a weight, which is multiplied by 0.1 to the
        power of its losses, ½(1/r + … + 1/Z) for a non-relevant document at rank r of Z, and minus
        that for a relevant one. ``"mtc"`` selects the document whose judgment changes the expected
        differences in AP between all pairs of runs most, where unjudged documents are relevant with
        probability ½: minimal test collections (Carterette, Allan and Sitaraman 2006). It needs two
        runs or more, and finds differences between runs rather than relevant documents.
    topic : str, default=""
        Topic. Random draws depend only on topic, seed and number of judgments, so that a queue
        that is rebuilt from the judgments continues as the first one would have.
    seed : int, default=0
        Seed of the random draws.
    burn_in : int, default=0
        Number of documents that come first in the order of their best ranks, ties by id.
    max_documents : int, optional
        Maximum number of documents to judge.
    judged : iterable of (str, bool), default=()
        Earlier judgments in their order: pairs of a document and whether it is relevant.

    Raises
    ------
    InputError
        If the method is unknown, there is no run, or a number is invalid.

    Examples
    --------
    >>> queue = JudgingQueue({"a": ["x", "y"], "b": ["z", "x"]}, "move-to-front")
    >>> queue.next_document()
    'x'
    >>> queue.judge("x", relevant=False)
    >>> queue.next_document()
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
        max_documents: int | None = None,
        judged: Iterable[tuple[str, bool]] = (),
    ) -> None:
        if method not in JUDGING_METHODS:
            raise InputError(f"method is {method!r}; {did_you_mean(method, JUDGING_METHODS)}")
        if not rankings:
            raise InputError(
                f"topic {topic!r}: has no rankings; expected those of one or more runs"
            )
        check_min_int(burn_in, "burn_in", 0)
        self.max_documents = (
            None if max_documents is None else check_min_int(max_documents, "max_documents")
        )
        self._priorities, self._retention = QUEUE_METHODS.get(method, (_mean_priorities, 1.0))
        self._document_priorities = _DOCUMENT_METHODS.get(method)
        self._rank_table = _RankTable(rankings) if self._document_priorities is not None else None
        names = sorted(rankings)
        self._rankings: list[list[str]] = [list(rankings[name]) for name in names]
        self._document_sets = [set(ranking) for ranking in self._rankings]
        self._first_unjudged = [0] * len(names)
        self._runs = _RunStates(names)
        self._seed = [check_min_int(seed, "seed", 0), zlib.crc32(topic.encode())]
        ranking_by_name = {name: {"": self._rankings[k]} for k, name in enumerate(names)}
        self._burn_in = sort_by_best_rank(ranking_by_name, "")[:burn_in]
        self.judged: dict[str, bool] = {}
        for document, relevant in judged:
            self.judge(document, relevant=relevant)

    def next_document(self, exclude: Collection[str] = ()) -> str | None:
        """Return the document to be judged next, or None if there is none or the limit is reached.

        ``exclude`` are documents not to be returned: skipped, or shown already.
        """
        return next((d for d in self._candidates() if d not in exclude), None)

    def upcoming(self, exclude: Collection[str] = ()) -> Iterator[str]:
        """Yield the documents to be judged if each next one was excluded after it was shown."""
        excluded = set(exclude)
        for document in self._candidates():
            if document not in excluded:
                excluded.add(document)
                yield document

    def _candidates(self) -> Iterator[str]:
        """Yield documents without a judgment in the order of their priority, some repeatedly."""
        if self.max_documents is not None and len(self.judged) >= self.max_documents:
            return
        if len(self.judged) < len(self._burn_in):
            yield from (d for d in self._burn_in if d not in self.judged)
        if self._document_priorities is not None and self._rank_table is not None:
            values = np.round(self._document_priorities(self._rank_table, self.judged), 12)
            positions: list[int] = np.argsort(-values, kind="stable").tolist()
            documents = (self._rank_table.documents[position] for position in positions)
            yield from (d for d in documents if d not in self.judged)
            return
        rng = np.random.default_rng([*self._seed, len(self.judged)])
        priorities = self._priorities(self._runs, rng)
        run_order: list[int] = np.argsort(-priorities, kind="stable").tolist()
        for run in run_order:
            ranking = islice(self._rankings[run], self._first_unjudged[run], None)
            yield from (d for d in ranking if d not in self.judged)

    def judge(self, document: str, *, relevant: bool) -> None:
        """Add a judgment; a repeated one of a document is ignored."""
        if document in self.judged:
            return
        runs = self._runs
        if len(self.judged) >= len(self._burn_in):
            self._update_front_run(document, relevant=relevant)
        for run, documents in enumerate(self._document_sets):
            if document in documents:
                runs.n_judged[run] = self._retention * runs.n_judged[run] + 1
                runs.n_relevant[run] = self._retention * runs.n_relevant[run] + relevant
        self.judged[document] = relevant
        for run, ranking in enumerate(self._rankings):
            while (
                self._first_unjudged[run] < len(ranking)
                and ranking[self._first_unjudged[run]] in self.judged
            ):
                self._first_unjudged[run] += 1

    def _update_front_run(self, document: str, *, relevant: bool) -> None:
        """Update the run in front and its priority."""
        runs = self._runs
        remaining_mask = np.array(
            [
                first < len(ranking)
                for first, ranking in zip(self._first_unjudged, self._rankings, strict=True)
            ]
        )
        if not remaining_mask.any():
            return
        values = np.where(
            remaining_mask, _move_to_front_priorities(runs, np.random.default_rng(0)), -np.inf
        )
        runs.front = int(np.argmax(values))
        # (A document that was skipped and is judged later may belong to another run.)
        if document in self._document_sets[runs.front] and not relevant:
            runs.priority[runs.front] -= 1


def simulate_judging(queue: JudgingQueue, relevant: Collection[str]) -> list[str]:
    """Simulate a method on existing judgments: return the documents in the order of its queue.

    >>> simulate_judging(JudgingQueue({"a": ["x", "y"], "b": ["z", "x"]}), {"y"})
    ['x', 'z', 'y']
    """
    documents = list[str]()
    while (document := queue.next_document()) is not None:
        queue.judge(document, relevant=document in relevant)
        documents.append(document)
    return documents
