"""Measures of rankings with relevant and other documents."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from calipers.lazy_imports import numpy as np
from calipers.measures.counts import precision_weight, weighted_term
from calipers.measures.retrieval.sets import ALL_RELEVANT, COLLECTION
from calipers.measures.retrieval.traits import NO_RELEVANT, of_relevant, ranking
from calipers.statistics import FloatArray, IntArray, JudgedRankings

ELEVEN = tuple(tenth / 10 for tenth in range(11))


@ranking("P", aliases=("precision", "prec"), shares=("precision",), ties="linear")
def precision_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Precision at k: relevant documents among the first k, over k, also where fewer were
    retrieved."""
    return r.relevant_retrieved(rel, cutoff) / cutoff


@ranking("R", aliases=("recall",), shares=("recall",), undefined=NO_RELEVANT, ties="linear")
def recall_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Recall at k: relevant documents among the first k, over R."""
    return r.relevant_retrieved(rel, cutoff) / r.relevant(rel)


@of_relevant("RelP", aliases=("relative_P", "R_cap", "capped_recall"), ties="linear")
def relative_precision_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Relative precision at k: relevant documents among the first k, over min(k, R), the most that
    there could be; also called capped recall."""
    return r.relevant_retrieved(rel, cutoff) / np.minimum(r.relevant(rel), cutoff)


@ranking(
    "F",
    shares=("F",),
    suffix="beta",
    hides_default=True,
    undefined=NO_RELEVANT,
    ties="linear",
    reference="van Rijsbergen 1979",
)
def f_at(
    r: JudgedRankings, cutoff: int, rel: int = 1, beta: float = 1.0, alpha: float | None = None
) -> FloatArray:
    """F_β at k: the weighted harmonic mean of P@k and R@k, (1 + β²)·found / (β²·R + k), with the
    number found among the first k.

    Given ``alpha`` it is found / (α·k + (1 − α)·R), that is β² = (1 − α)/α. At β = ∞ it is R@k.
    """
    share, found = precision_weight(beta, alpha), r.relevant_retrieved(rel, cutoff)
    return found / (weighted_term(1 - share, r.relevant(rel)) + share * cutoff)


def success_over_ties(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """The probability of a relevant document among the first k: hypergeometric in the block of
    tied documents that the cutoff goes through."""
    hit = r.hits(rel)
    _, tied = r.count_ties(hit)
    size = r.tied_to - r.tied_from + 1
    out = np.zeros(len(r))
    for i in np.flatnonzero(hit & (r.hits_so_far(rel) == 1) & (r.tied_from <= cutoff)):
        drawn = np.arange(min(cutoff, r.tied_to[i]) - r.tied_from[i] + 1)
        out[r.topic[i]] = 1 - np.prod(np.maximum(size[i] - tied[i] - drawn, 0) / (size[i] - drawn))
    return out


@ranking(
    "Success",
    aliases=("hit_rate", "HitRate", "hit", "HR", "accuracy"),
    shares=("accuracy", "hit_rate"),
    proportion_of="topics",
    ties=success_over_ties,
)
def success_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Success at k (hit rate): 1 if a relevant document is among the first k, 0 otherwise."""
    return (r.relevant_retrieved(rel, cutoff) > 0).astype(np.float64)


def average_precision_over_ties(
    r: JudgedRankings, cutoff: int | None = None, rel: int = 1, denominator: str = "R"
) -> FloatArray:
    """The expected average precision over orders of tied documents.

    In a block of b tied documents, m of them relevant, from rank f on, with c relevant ones above,
    a relevant document at rank i has on average c + 1 + (i − f)(m − 1)/(b − 1) relevant ones down
    to it (McSherry and Najork 2008).
    """
    hit = r.hits(rel)
    before, tied = r.count_ties(hit)
    others = (tied - 1) / np.maximum(r.tied_to - r.tied_from, 1)
    inside = r.map_ranks(lambda rank: cutoff_mask(rank, cutoff))
    inverse = r.map_ranks(lambda rank: cutoff_mask(rank, cutoff) / rank)
    precision = (before + 1 - r.tied_from * others) * inverse + others * inside
    return r.sum(hit * precision) / _denominator(r, cutoff, rel, denominator)


def _unretrieved_mask(r: JudgedRankings, p: Mapping[str, Any]) -> Any:
    """Where there is nothing to divide by, of topics with relevant documents."""
    none = (r.relevant(p["rel"]) > 0) & (r.relevant_retrieved(p["rel"], p["cutoff"]) == 0)
    return none & (p["denominator"] == "found")


@of_relevant(
    "AP",
    aliases=("MAP", "map_cut", "average_precision", "mean_average_precision", "AveP"),
    undefined={**NO_RELEVANT, "no_relevant_retrieved": _unretrieved_mask},
    ties=average_precision_over_ties,
)
def average_precision(
    r: JudgedRankings, cutoff: int | None = None, rel: int = 1, denominator: str = "R"
) -> FloatArray:
    """Average precision: the precision at the rank of each relevant document retrieved (within
    the cutoff), summed and divided by R; its mean over topics is MAP.

    ``denominator`` is what the sum is divided by: ``'R'``, as trec_eval does; ``'min(k,R)'``, so
    that a perfect ranking scores 1 at every cutoff; or ``'found'``, the number of relevant
    documents retrieved within the cutoff.
    """
    precision = np.where(r.hits(rel, cutoff), r.hits_so_far(rel) / r.rank, 0.0)
    return r.sum(precision) / _denominator(r, cutoff, rel, denominator)


@of_relevant(
    "gm-AP",
    aliases=("gm_map", "gmap", "gm_ap"),
    summary="geometric",
    ties=lambda r, rel: average_precision_over_ties(r, rel=rel),
    reference="Voorhees 2004, TREC Robust track; Robertson 2006",
)
def geometric_average_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Average precision, summed up as its geometric mean over topics.

    Values below 0.00001 count as that, as trec_eval has it: exp(mean ln max(AP, 10⁻⁵)).
    """
    return average_precision(r, rel=rel)


def reciprocal_rank_over_ties(
    r: JudgedRankings, cutoff: int | None = None, rel: int = 1
) -> FloatArray:
    """The expected reciprocal rank over orders of tied documents: in the first block with relevant
    documents, m of b, the first of them is at place j with probability
    m/(b − j) · Π_{i<j} (b − m − i)/(b − i), counted from 0."""
    hit = r.hits(rel)
    _, tied = r.count_ties(hit)
    out = np.zeros(len(r))
    for i in np.flatnonzero(hit & (r.hits_so_far(rel) == 1)):
        first, size, relevant = r.tied_from[i], r.tied_to[i] - r.tied_from[i] + 1, tied[i]
        place = np.arange(size)
        left = size - place
        missed = np.cumprod(np.concatenate([[1.0], np.maximum(left - relevant, 0) / left]))[:-1]
        chance = missed * np.minimum(relevant / left, 1)
        out[r.topic[i]] = np.sum(chance * cutoff_mask(first + place, cutoff) / (first + place))
    return out


@ranking(
    "RR",
    aliases=("MRR", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    ties=reciprocal_rank_over_ties,
)
def reciprocal_rank(r: JudgedRankings, cutoff: int | None = None, rel: int = 1) -> FloatArray:
    """Reciprocal rank: 1 / rank of the first relevant document, 0 where there is none (within the
    cutoff); its mean over topics is MRR."""
    first = r.hits(rel, cutoff) & (r.hits_so_far(rel) == 1)
    return r.sum(np.where(first, 1 / r.rank, 0.0))


@ranking(
    "Rprec",
    aliases=("R-precision", "r_precision", "Rprec_mult"),
    perfect=None,
    undefined=NO_RELEVANT,
    ties="linear",
)
def r_precision(r: JudgedRankings, rel: int = 1, multiple: float = 1.0) -> FloatArray:
    """R-precision: precision at rank R, the number of relevant documents.

    With a ``multiple`` m, at rank m·R, rounded to a whole one as trec_eval does: ⌊m·R + 0.9⌋.
    """
    cutoff = np.trunc(multiple * r.relevant(rel) + 0.9)
    deepest = cutoff[r.topic]
    found = _relevant_within_depth(r, rel, deepest)
    return np.where(cutoff > 0, found / np.maximum(cutoff, 1), 0.0)


@ranking(
    "break-even",
    aliases=("BEP", "break_even_point"),
    undefined={
        **NO_RELEVANT,
        "fewer_than_relevant": lambda r, p: r.retrieved < r.relevant(p["rel"]),
    },
    perfect=1.0,
    ties="linear",
)
def break_even(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Break-even point: the precision at the rank where it equals recall, which is rank R.

    Undefined where fewer than R documents were retrieved: then the two never meet. R-precision is
    the same with the missing documents counted as not relevant.
    """
    return r_precision(r, rel=rel)


def n_documents_at_recall(recall: float, relevant: FloatArray, rule: str) -> FloatArray:
    """How many of so many relevant documents make up a recall; of infinitely many, infinitely
    many."""
    wanted = weighted_term(recall, relevant)
    if rule == "nearest":
        return np.floor(wanted + 0.5)
    if rule == "nine-tenths":
        return np.trunc(wanted + 0.9)
    return np.ceil(wanted - 1e-9)  # a product such as 0.7 · 10 may come out just above 7


@of_relevant("IPrec", aliases=("iprec_at_recall",), suffix_parameter="recall")
def interpolated_precision(
    r: JudgedRankings, recall: float, rel: int = 1, rule: str = "least"
) -> FloatArray:
    """Interpolated precision at a recall: the largest precision at any rank with at least that
    recall, 0 where it is never reached.

    ``rule`` says how many relevant documents make up the recall: ``'least'`` the smallest number
    whose recall is no lower, ``'nearest'`` the nearest number (trec_eval from 10 on),
    ``'nine-tenths'`` ⌊recall·R + 0.9⌋ (trec_eval up to 9).
    """
    so_far = r.hits_so_far(rel)
    reached = r.hits(rel) & (
        so_far >= n_documents_at_recall(recall, r.relevant(rel), rule)[r.topic]
    )
    return r.max(np.where(reached, so_far / r.rank, 0.0))


@of_relevant("11pt-avg", aliases=("11pt_avg", "11pt"))
def eleven_point_mean(
    r: JudgedRankings,
    rel: int = 1,
    recalls: tuple[float, ...] = ELEVEN,
    rule: str = "least",
) -> FloatArray:
    """Eleven-point mean: interpolated precision at recall 0, 0.1, …, 1, averaged.

    ``recalls`` are other points, ``rule`` is that of IPrec.
    """
    points = [interpolated_precision(r, recall=at, rel=rel, rule=rule) for at in recalls]
    return np.asarray(np.mean(points, axis=0))


def _required_count(r: JudgedRankings, recall: float, rel: int) -> FloatArray:
    """How many relevant documents make up that recall; above 0 one at least."""
    return np.maximum(n_documents_at_recall(recall, r.relevant(rel), "least"), np.sign(recall))


@of_relevant(
    "P@recall",
    suffix_parameter="recall",
    undefined={
        **NO_RELEVANT,
        "recall_not_reached": lambda r, p: (
            (r.relevant(p["rel"]) > 0)
            & (r.relevant_retrieved(p["rel"]) < _required_count(r, p["recall"], p["rel"]))
        ),
    },
)
def precision_at_recall(r: JudgedRankings, recall: float, rel: int = 1) -> FloatArray:
    """Precision at a recall threshold: the precision at the first rank where that recall is
    reached; undefined where it never is, as ``precision@recall`` of a classifier.

    Interpolated precision (IPrec) takes the largest precision from there on, and 0 where there is
    none. Recall 0 is reached with the first document.
    """
    there = r.hits(rel) & (r.hits_so_far(rel) == _required_count(r, recall, rel)[r.topic])
    if recall == 0:
        there = r.hits(rel) & (r.rank == 1)
    return r.sum(np.where(there, r.hits_so_far(rel) / r.rank, 0.0))


@of_relevant("system-efficiency", aliases=("efficiency",))
def system_efficiency(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """System efficiency: 1 − d/√2, where d is the smallest distance of the points
    (recall, precision) of the ranking to (1, 1)."""
    so_far = r.hits_so_far(rel)
    recall = so_far / r.relevant(rel)[r.topic]
    # Precision falls until the next relevant document, so only these can be nearest.
    distance = np.hypot(1 - recall, 1 - so_far / r.rank)
    return r.max(np.where(r.hits(rel), 1 - distance / np.sqrt(2), 0.0))


@of_relevant("rank-PR-AUC")
def precision_recall_area(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Area under the raw precision-recall curve of the ranking, by the lower trapezoid: from the
    precision just above each relevant document to the precision at it.

    At rank 1 there is nothing above, and the curve starts level. Relevant documents that were not
    retrieved add nothing: no recall beyond the last one was reached.
    """
    so_far = r.hits_so_far(rel)
    at = so_far / r.rank
    above = np.where(r.rank > 1, (so_far - 1) / np.maximum(r.rank - 1, 1), at)
    return r.sum(np.where(r.hits(rel), (above + at) / 2, 0.0)) / r.relevant(rel)


def roc_area_over_ties(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """The expected area: a pair of tied documents counts one half."""
    hit = r.hits(rel)
    before, tied = r.count_ties(hit)
    return _roc_area(r, collection_size, rel, before + (tied + 1) / 2)


@ranking(
    "rank-ROC-AUC",
    perfect=1.0,
    undefined={**NO_RELEVANT, **ALL_RELEVANT, **COLLECTION},
    ties=roc_area_over_ties,
)
def roc_area(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Area under the ROC curve of the ranking in a collection of known size: the probability that a
    relevant document stands before one that is not.

    The documents that were not retrieved stand behind the others, all at one place.
    """
    return _roc_area(r, collection_size, rel, r.hits_so_far(rel))


def _roc_area(r: JudgedRankings, collection_size: int, rel: int, so_far: FloatArray) -> FloatArray:
    relevant, found = r.relevant(rel), r.relevant_retrieved(rel)
    others = collection_size - relevant
    above = r.map_ranks(lambda rank: rank) - so_far
    ahead = r.sum(r.hits(rel) * (others[r.topic] - above))
    behind = others - (r.retrieved - found)
    return (ahead + (relevant - found) * behind / 2) / (relevant * others)


@ranking("YAAP", aliases=("yaap",), range=(-inf, inf), reference="Robertson 2012")
def yet_another_average_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Yet another average precision: ln((1 + S) / (1 + R − S)), where S is the sum of the
    precisions at the relevant documents retrieved; AP stretched so that it has no ends."""
    total = r.sum(np.where(r.hits(rel), r.hits_so_far(rel) / r.rank, 0.0))
    return np.log((1 + total) / (1 + r.relevant(rel) - total))


@of_relevant("binG")
def binary_g(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Binary G: Σ 1/log₂(2 + documents above that are not relevant) over the relevant documents
    retrieved, over R; trec_eval's measure between AP and nDCG."""
    above = r.rank - r.hits_so_far(rel)
    return r.sum(r.hits(rel) / np.log2(2 + above)) / r.relevant(rel)


def _relevant_within_depth(r: JudgedRankings, rel: int, deepest: FloatArray) -> FloatArray:
    """Relevant documents down to a rank that differs from topic to topic."""
    if not r.averaged:
        return r.sum(r.hits(rel) & (r.rank <= deepest))
    shared = r.tied_to - r.tied_from + 1
    return r.sum(r.hits(rel) * np.clip(deepest - r.tied_from + 1, 0, shared) / shared)


def cutoff_mask(rank: IntArray, cutoff: int | None) -> FloatArray:
    """1 down to the cutoff, and 0 beyond."""
    return np.ones(len(rank)) if cutoff is None else (rank <= cutoff).astype(np.float64)


def _denominator(r: JudgedRankings, cutoff: int | None, rel: int, denominator: str) -> FloatArray:
    relevant = r.relevant(rel)
    if denominator == "found":
        return r.relevant_retrieved(rel, cutoff)
    if denominator == "min(k,R)" and cutoff is not None:
        return np.minimum(relevant, cutoff)
    return relevant
