"""Measures of rankings with binary relevance."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from calipers.lazy_imports import numpy as np
from calipers.measures.counts import multiply_ignoring_zero, precision_weight
from calipers.measures.retrieval.sets import ALL_RELEVANT, COLLECTION_TOO_SMALL
from calipers.measures.retrieval.traits import (
    NO_RELEVANT,
    ranking_measure,
    relevance_measure,
    unbounded_measure,
)
from calipers.statistics import FloatArray, IntArray, JudgedRankings

ELEVEN_RECALLS = tuple(tenth / 10 for tenth in range(11))


@ranking_measure("P", aliases=("precision", "prec"), shared_names=("precision",), ties="linear")
def precision_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Precision at k: the number of relevant documents among the first k, divided by k.

    It is divided by k even if fewer documents were retrieved. It ranges from 0 to 1.
    """
    return r.n_relevant_retrieved(rel, cutoff) / cutoff


@ranking_measure(
    "R", aliases=("recall",), shared_names=("recall",), undefined=NO_RELEVANT, ties="linear"
)
def recall_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Recall at k: the number of relevant documents among the first k, divided by R.

    R is the number of relevant documents. It ranges from 0 to 1 and is undefined without relevant
    documents.
    """
    return r.n_relevant_retrieved(rel, cutoff) / r.n_relevant(rel)


@relevance_measure("RelP", aliases=("relative_P", "R_cap", "capped_recall"), ties="linear")
def relative_precision_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Relative precision at k: relevant documents among the first k, divided by min(k, R).

    The denominator is the largest possible number. The measure is also called capped recall. It
    ranges from 0 to 1 and is undefined without relevant documents.
    """
    return r.n_relevant_retrieved(rel, cutoff) / np.minimum(r.n_relevant(rel), cutoff)


@ranking_measure(
    "F",
    shared_names=("F",),
    suffix="beta",
    hides_default=True,
    undefined=NO_RELEVANT,
    ties="linear",
    reference="van Rijsbergen 1979",
)
def f_at(
    r: JudgedRankings, cutoff: int, rel: int = 1, beta: float = 1.0, alpha: float | None = None
) -> FloatArray:
    """F_β at k: the weighted harmonic mean of P@k and R@k, (1 + β²)·TP / (β²·R + k).

    TP is the number of relevant documents among the first k. Given ``alpha`` it is TP / (α·k + (1 −
    α)·R), that is β² = (1 − α)/α. With β = ∞ it is R@k. It ranges from 0 to 1 and is undefined
    without relevant documents.
    """
    weight, n_hits = precision_weight(beta, alpha), r.n_relevant_retrieved(rel, cutoff)
    return n_hits / (multiply_ignoring_zero(1 - weight, r.n_relevant(rel)) + weight * cutoff)


def success_over_ties(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Compute the probability of a relevant document among the first k, over orders of ties.

    It is hypergeometric in the block of tied documents that the cutoff is in.
    """
    return _first_hits(r, cutoff, rel)[1]


def _first_hits(r: JudgedRankings, cutoff: int | None, rel: int) -> tuple[FloatArray, FloatArray]:
    """Compute the expected reciprocal rank of the first relevant document, over orders of ties.

    The second array has the probability that there is one. Ranks beyond the cutoff do not count.
    """
    from calipers import _core

    r = r.within_cutoff(cutoff)
    hit_mask = r.hit_mask(rel)
    _, tied = r.count_tied_hits(rel)
    rows = np.flatnonzero(hit_mask & (r.cumulative_hits(rel) == 1))
    first = r.tied_from[rows].astype(np.float64)
    sizes = r.tied_to[rows] - first + 1
    last_rank = np.inf if cutoff is None else float(cutoff)
    columns = _core.first_hits(first, sizes, tied[rows], last_rank)
    reciprocals, probabilities = np.zeros(len(r)), np.zeros(len(r))
    topics = r.topic_index[rows]
    reciprocals[topics], probabilities[topics] = columns
    return reciprocals, probabilities


@ranking_measure(
    "Success",
    aliases=("hit_rate", "HitRate", "cv_recall", "hit", "HR", "accuracy"),
    shared_names=("accuracy", "hit_rate"),
    proportion_of="topics",
    ties=success_over_ties,
)
def success_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Success at k (hit rate): 1 if a relevant document is among the first k, 0 otherwise."""
    return (r.n_relevant_retrieved(rel, cutoff) > 0).astype(np.float64)


def average_precision_over_ties(
    r: JudgedRankings, cutoff: int | None = None, rel: int = 1, denominator: str = "R"
) -> FloatArray:
    """Compute the expected average precision over orders of tied documents.

    In a block of b tied documents from rank f on, m of them relevant, with c relevant documents
    above, the expected number of relevant documents down to a relevant document at rank i is c + 1
    + (i − f)(m − 1)/(b − 1) (McSherry and Najork 2008).
    """
    r = r.within_cutoff(cutoff)
    hit_mask = r.hit_mask(rel)
    n_above, tied = r.count_tied_hits(rel)
    tied_hit_rate = (tied - 1) / np.maximum(r.tied_to - r.tied_from, 1)
    within_cutoff = r.map_ranks(lambda rank: cutoff_mask(rank, cutoff))
    reciprocal_ranks = r.map_ranks(lambda rank: cutoff_mask(rank, cutoff) / rank)
    precision = (
        n_above + 1 - r.tied_from * tied_hit_rate
    ) * reciprocal_ranks + tied_hit_rate * within_cutoff
    return r.sum_by_topic(hit_mask * precision) / _denominator(r, cutoff, rel, denominator)


def _none_retrieved_mask(r: JudgedRankings, p: Mapping[str, Any]) -> Any:
    """Return where the denominator is 0 in spite of relevant documents."""
    if p["denominator"] != "found":
        return np.zeros(len(r), bool)
    return (r.n_relevant(p["rel"]) > 0) & (r.n_relevant_retrieved(p["rel"], p["cutoff"]) == 0)


@relevance_measure(
    "AP",
    aliases=("MAP", "map_cut", "average_precision", "mean_average_precision", "AveP"),
    undefined={**NO_RELEVANT, "no_relevant_retrieved": _none_retrieved_mask},
    ties=average_precision_over_ties,
)
def average_precision(
    r: JudgedRankings, cutoff: int | None = None, rel: int = 1, denominator: str = "R"
) -> FloatArray:
    """Average precision: the sum of the precisions at all relevant documents, divided by R.

    The precision at a relevant document is that at its rank, and R is the number of relevant
    documents. Relevant documents that were not retrieved (within the cutoff) add 0. The mean over
    topics is MAP. The parameter ``denominator`` sets the divisor: ``'R'``, as in trec_eval;
    ``'min(k,R)'``, so that a perfect ranking scores 1 at every cutoff; or ``'found'``, the number
    of relevant documents retrieved within the cutoff. It ranges from 0 to 1 and is undefined
    without relevant documents.
    """
    r = r.within_cutoff(cutoff)
    precision = np.where(r.hit_mask(rel, cutoff), r.cumulative_hits(rel) / r.rank, 0.0)
    return r.sum_by_topic(precision) / _denominator(r, cutoff, rel, denominator)


@relevance_measure(
    "gm-AP",
    aliases=("gm_map", "gmap", "gm_ap"),
    summary="geometric",
    ties=lambda r, rel: average_precision_over_ties(r, rel=rel),
    reference="Voorhees 2004, TREC Robust track; Robertson 2006",
)
def geometric_average_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Average precision, summarized by its geometric mean over topics.

    Values below 0.00001 are replaced by 0.00001, as in trec_eval: exp(mean ln max(AP, 10⁻⁵)). It
    ranges from 10⁻⁵ to 1 and is undefined without relevant documents.
    """
    return average_precision(r, rel=rel)


def reciprocal_rank_over_ties(
    r: JudgedRankings, cutoff: int | None = None, rel: int = 1
) -> FloatArray:
    """Compute the expected reciprocal rank over orders of tied documents.

    In the first block with relevant documents, m of b, the first of them has the position j,
    counted from 0, with probability m/(b − j) · Π_{i<j} (b − m − i)/(b − i).
    """
    return _first_hits(r, cutoff, rel)[0]


@ranking_measure(
    "RR",
    aliases=("MRR", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    ties=reciprocal_rank_over_ties,
)
def reciprocal_rank(r: JudgedRankings, cutoff: int | None = None, rel: int = 1) -> FloatArray:
    """Reciprocal rank: 1 / rank of the first relevant document, 0 if there is none.

    Documents beyond the cutoff do not count. The mean over topics is MRR. It ranges from 0 to 1.
    """
    r = r.within_cutoff(cutoff)
    first_hit_mask = r.hit_mask(rel, cutoff) & (r.cumulative_hits(rel) == 1)
    return r.sum_by_topic(np.where(first_hit_mask, 1 / r.rank, 0.0))


@ranking_measure(
    "Rprec",
    aliases=("R-precision", "r_precision", "Rprec_mult"),
    perfect=None,
    undefined=NO_RELEVANT,
    ties="linear",
)
def r_precision(r: JudgedRankings, rel: int = 1, multiple: float = 1.0) -> FloatArray:
    """R-precision: precision at rank R, the number of relevant documents.

    With a ``multiple`` m it is the precision at rank m·R, rounded as in trec_eval: ⌊m·R + 0.9⌋. It
    ranges from 0 to 1 and is undefined without relevant documents.
    """
    cutoff = np.trunc(multiple * r.n_relevant(rel) + 0.9)
    max_rank = cutoff[r.topic_index]
    n_hits = _n_relevant_to_rank(r, rel, max_rank)
    return np.where(cutoff > 0, n_hits / np.maximum(cutoff, 1), 0.0)


@ranking_measure(
    "break-even",
    aliases=("BEP", "break_even_point"),
    undefined={
        **NO_RELEVANT,
        "fewer_than_relevant": lambda r, p: r.retrieved < r.n_relevant(p["rel"]),
    },
    perfect=1.0,
    ties="linear",
)
def break_even(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Break-even point: the precision at the rank where it equals recall, which is rank R.

    It ranges from 0 to 1. It is undefined without relevant documents, and if fewer than R documents
    were retrieved, since precision and recall are then never equal. R-precision is the same with
    the missing documents counted as non-relevant.
    """
    return r_precision(r, rel=rel)


def n_documents_at_recall(recall: float, relevant: FloatArray, rule: str) -> FloatArray:
    """Return the number of relevant documents at which a recall is reached.

    ``relevant`` is the number of all relevant documents; if it is infinite, so is the result,
    unless the recall is 0.
    """
    target = multiply_ignoring_zero(recall, relevant)
    if rule == "nearest":
        return np.floor(target + 0.5)
    if rule == "nine-tenths":
        return np.trunc(target + 0.9)
    return np.ceil(target - 1e-9)  # a product such as 0.7 · 10 may come out just above 7


@relevance_measure("IPrec", aliases=("iprec_at_recall",), suffix_parameter="recall")
def interpolated_precision(
    r: JudgedRankings, recall: float, rel: int = 1, rule: str = "least"
) -> FloatArray:
    """Interpolated precision at a recall: the largest precision at any rank with that recall.

    Ranks with a higher recall are included. It is 0 if the recall is never reached. ``rule``
    determines the number of relevant documents at the recall: ``'least'`` is the smallest number
    whose recall is no lower, ``'nearest'`` the nearest number (trec_eval from 10 on), and
    ``'nine-tenths'`` ⌊recall·R + 0.9⌋ (trec_eval up to 9). It ranges from 0 to 1 and is undefined
    without relevant documents.
    """
    so_far = r.cumulative_hits(rel)
    reached_mask = r.hit_mask(rel) & (
        so_far >= n_documents_at_recall(recall, r.n_relevant(rel), rule)[r.topic_index]
    )
    return r.max_by_topic(np.where(reached_mask, so_far / r.rank, 0.0))


@relevance_measure("11pt-avg", aliases=("11pt_avg", "11pt"))
def eleven_point_mean(
    r: JudgedRankings,
    rel: int = 1,
    recalls: tuple[float, ...] = ELEVEN_RECALLS,
    rule: str = "least",
) -> FloatArray:
    """Eleven-point mean: the mean of interpolated precision at recall 0, 0.1, …, 1.

    ``recalls`` are other recalls, and ``rule`` is that of IPrec. It ranges from 0 to 1 and is
    undefined without relevant documents.
    """
    points = [interpolated_precision(r, recall=recall, rel=rel, rule=rule) for recall in recalls]
    return np.asarray(np.mean(points, axis=0))


def _required_count(r: JudgedRankings, recall: float, rel: int) -> FloatArray:
    """Return the number of relevant documents at that recall, at least one if it is above 0."""
    return np.maximum(n_documents_at_recall(recall, r.n_relevant(rel), "least"), np.sign(recall))


def _recall_not_reached_mask(r: JudgedRankings, p: Mapping[str, Any]) -> Any:
    """Return where the ranking ends before a recall, 1 if the measure has no other."""
    required = _required_count(r, p.get("recall", 1.0), p["rel"])
    return (r.n_relevant(p["rel"]) > 0) & (r.n_relevant_retrieved(p["rel"]) < required)


RECALL_NOT_REACHED = {**NO_RELEVANT, "recall_not_reached": _recall_not_reached_mask}


@relevance_measure("P@recall", suffix_parameter="recall", undefined=RECALL_NOT_REACHED)
def precision_at_recall(r: JudgedRankings, recall: float, rel: int = 1) -> FloatArray:
    """Precision at a recall threshold: the precision at the first rank where it is reached.

    It is undefined if the recall is never reached, as ``precision@recall`` of a classifier is, and
    without relevant documents. Interpolated precision (IPrec) is the largest precision from that
    rank on, and 0 if the recall is never reached. Recall 0 is reached at the first document. It
    ranges from 0 to 1.
    """
    reached_mask = r.hit_mask(rel) & (
        r.cumulative_hits(rel) == _required_count(r, recall, rel)[r.topic_index]
    )
    if recall == 0:
        reached_mask = r.hit_mask(rel) & (r.rank == 1)
    return r.sum_by_topic(np.where(reached_mask, r.cumulative_hits(rel) / r.rank, 0.0))


def _smaller_collection_mask(r: JudgedRankings, p: Mapping[str, Any]) -> Any:
    """Return where more was retrieved than the collection has, if its size is known."""
    size = p["collection_size"]
    return np.zeros(len(r), bool) if size is None else r.retrieved > size


@ranking_measure(
    "WSS",
    aliases=("work-saved-over-sampling",),
    suffix_parameter="recall",
    # Its ends depend on the recall; within those of all recalls intervals would be far too wide.
    range=(-1, inf),
    undefined={**RECALL_NOT_REACHED, "collection_too_small": _smaller_collection_mask},
    reference="Cohen, Hersh, Peterson and Yen 2006",
)
def work_saved_over_sampling(
    r: JudgedRankings, recall: float = 0.95, rel: int = 1, collection_size: int | None = None
) -> FloatArray:
    """Work saved over sampling: recall − k/N, where k is the first rank where a recall is reached.

    It is a measure of technology-assisted review: (TN + FN)/N at rank k, the proportion of the N
    documents that nobody has to read, less 1 − recall, the proportion that a random order would
    save. N is the number of retrieved documents, or ``collection_size``. It ranges from recall − 1
    to recall, ends that its interval does not use, and is undefined if the recall is never reached,
    without relevant documents, or if more documents are retrieved than the collection has.
    """
    n_read = _rank_of_relevant(r, _required_count(r, recall, rel), rel)
    return np.asarray(recall - n_read / (collection_size or np.maximum(r.retrieved, 1)))


@unbounded_measure(
    "last-rel",
    range=(1, inf),
    higher_is_better=False,
    undefined=RECALL_NOT_REACHED,
    reference="Kanoulas, Li, Azzopardi and Spijker 2017",
)
def last_relevant_rank(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Rank of the last relevant document: how many documents have to be read to find all of them.

    It is 1 or more and undefined if not all relevant documents are retrieved, or if there are none.
    """
    return _rank_of_relevant(r, r.n_relevant(rel), rel)


def _rank_of_relevant(r: JudgedRankings, number: FloatArray, rel: int) -> FloatArray:
    """Return the rank of the relevant document of each topic with this number, 0 if it has none."""
    reached_mask = r.hit_mask(rel) & (r.cumulative_hits(rel) == number[r.topic_index])
    return r.sum_by_topic(np.where(reached_mask, r.rank, 0))


@relevance_measure("system-efficiency", aliases=("efficiency",))
def system_efficiency(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """System efficiency: 1 − d/√2, where d is the distance of the ranking to the ideal (1, 1).

    It is the smallest distance of the points (recall, precision) of the ranking. It ranges from 0
    to 1 and is undefined without relevant documents.
    """
    so_far = r.cumulative_hits(rel)
    recall = so_far / r.n_relevant(rel)[r.topic_index]
    # Precision falls until the next relevant document, so only these can be nearest.
    distance = np.hypot(1 - recall, 1 - so_far / r.rank)
    return r.max_by_topic(np.where(r.hit_mask(rel), 1 - distance / np.sqrt(2), 0.0))


@relevance_measure("rank-PR-AUC")
def precision_recall_area(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Area under the raw precision-recall curve of the ranking, by the lower trapezoid.

    Each trapezoid goes from the precision just above a relevant document to the precision at it. At
    rank 1 nothing is above, and the curve starts horizontally. Relevant documents that were not
    retrieved add no area, since their recall was not reached. It ranges from 0 to 1 and is
    undefined without relevant documents.
    """
    so_far = r.cumulative_hits(rel)
    precision = so_far / r.rank
    precision_above = np.where(r.rank > 1, (so_far - 1) / np.maximum(r.rank - 1, 1), precision)
    return r.sum_by_topic(
        np.where(r.hit_mask(rel), (precision_above + precision) / 2, 0.0)
    ) / r.n_relevant(rel)


def roc_area_over_ties(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Compute the expected area, in which a pair of tied documents counts one half."""
    hit_mask = r.hit_mask(rel)
    n_above, tied = r.count_ties(hit_mask)
    return _roc_area(r, collection_size, rel, n_above + (tied + 1) / 2)


@ranking_measure(
    "rank-ROC-AUC",
    perfect=1.0,
    undefined={**NO_RELEVANT, **ALL_RELEVANT, **COLLECTION_TOO_SMALL},
    ties=roc_area_over_ties,
)
def roc_area(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Area under the ROC curve of the ranking in a collection of known size.

    It is the probability that a relevant document is ranked above a non-relevant one. Documents
    that were not retrieved are tied below all others. It ranges from 0 to 1. It is undefined
    without relevant or without non-relevant documents, and if the collection is smaller than the
    judged and retrieved documents imply.
    """
    return _roc_area(r, collection_size, rel, r.cumulative_hits(rel))


def _roc_area(r: JudgedRankings, collection_size: int, rel: int, so_far: FloatArray) -> FloatArray:
    relevant, n_hits = r.n_relevant(rel), r.n_relevant_retrieved(rel)
    n_nonrelevant = collection_size - relevant
    n_nonrelevant_above = r.map_ranks(lambda rank: rank) - so_far
    n_concordant = r.sum_by_topic(
        r.hit_mask(rel) * (n_nonrelevant[r.topic_index] - n_nonrelevant_above)
    )
    n_unretrieved_nonrelevant = n_nonrelevant - (r.retrieved - n_hits)
    return (n_concordant + (relevant - n_hits) * n_unretrieved_nonrelevant / 2) / (
        relevant * n_nonrelevant
    )


@ranking_measure("YAAP", aliases=("yaap",), range=(-inf, inf), reference="Robertson 2012")
def yet_another_average_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Yet another average precision: ln((1 + S) / (1 + R − S)), an unbounded transformation of AP.

    S is the sum of the precisions at the relevant documents retrieved.
    """
    total = r.sum_by_topic(np.where(r.hit_mask(rel), r.cumulative_hits(rel) / r.rank, 0.0))
    return np.log((1 + total) / (1 + r.n_relevant(rel) - total))


@relevance_measure("binG")
def binary_g(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Binary G: Σ 1/log₂(2 + n) over the relevant documents retrieved, over R.

    n is the number of non-relevant documents above. This is trec_eval's measure between AP and
    nDCG. It ranges from 0 to 1 and is undefined without relevant documents.
    """
    n_nonrelevant_above = r.rank - r.cumulative_hits(rel)
    return r.sum_by_topic(r.hit_mask(rel) / np.log2(2 + n_nonrelevant_above)) / r.n_relevant(rel)


def _n_relevant_to_rank(r: JudgedRankings, rel: int, max_rank: FloatArray) -> FloatArray:
    """Count the relevant documents down to a rank per topic."""
    if not r.averaged:
        return r.sum_by_topic(r.hit_mask(rel) & (r.rank <= max_rank))
    block_sizes = r.tied_to - r.tied_from + 1
    return r.sum_by_topic(
        r.hit_mask(rel) * np.clip(max_rank - r.tied_from + 1, 0, block_sizes) / block_sizes
    )


def cutoff_mask(rank: IntArray, cutoff: int | None) -> FloatArray:
    """Return 1 for ranks down to the cutoff, and 0 beyond."""
    return np.ones(len(rank)) if cutoff is None else (rank <= cutoff).astype(np.float64)


def _denominator(r: JudgedRankings, cutoff: int | None, rel: int, denominator: str) -> FloatArray:
    relevant = r.n_relevant(rel)
    if denominator == "found":
        return r.n_relevant_retrieved(rel, cutoff)
    if denominator == "min(k,R)" and cutoff is not None:
        return np.minimum(relevant, cutoff)
    return relevant
