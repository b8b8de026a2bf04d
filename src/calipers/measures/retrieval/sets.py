"""Measures of retrieved sets, whatever their order, and how many documents there are."""

from __future__ import annotations

from math import inf

from calipers.lazily import numpy as np
from calipers.measures import counts
from calipers.measures.retrieval.traits import number, of_relevant, ranking
from calipers.statistics import FloatArray, JudgedRankings

ALL_RELEVANT = {"all_relevant": lambda r, p: r.relevant(p["rel"]) >= p["collection"]}
COLLECTION = {
    "collection_too_small": lambda r, p: r.confusion(p["rel"], collection=p["collection"]).tn < 0
}


@number("NumQ", aliases=("num_q",), interval="none")
def number_of_topics(r: JudgedRankings) -> FloatArray:
    """Number of topics."""
    return np.ones(len(r))


@number("NumRet", aliases=("num_ret",))
def number_retrieved(r: JudgedRankings) -> FloatArray:
    """Number of documents retrieved, over all topics."""
    return r.retrieved.astype(np.float64)


@number("NumRel", aliases=("num_rel",))
def number_relevant(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Number of relevant documents, over all topics."""
    return r.relevant(rel)


@number("NumRelRet", aliases=("num_rel_ret", "hits"), higher_is_better=True, ties="linear")
def number_relevant_retrieved(
    r: JudgedRankings, rel: int = 1, cutoff: int | None = None
) -> FloatArray:
    """Number of relevant documents retrieved (within the cutoff), over all topics."""
    return r.relevant_retrieved(rel, cutoff)


@number("NumNonrelJudgedRet", aliases=("num_nonrel_judged_ret",), higher_is_better=False)
def number_nonrelevant_retrieved(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Number of documents retrieved that were judged and are not relevant, over all topics."""
    return r.sum((r.grade >= 0) & ~r.hits(rel))


@ranking("SetP", aliases=("set_P", "precision"), shares=("precision",), ties="none")
def set_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Precision of the retrieved set: relevant documents retrieved, over all retrieved.

    It is 0 where nothing was retrieved, as in trec_eval: an empty answer is not told apart from a
    topic that the run leaves out, which scores 0.
    """
    return np.where(r.retrieved > 0, counts.precision(r.confusion(rel)), 0.0)


@of_relevant("SetR", aliases=("set_recall", "recall"), shares=("recall",), ties="none")
def set_recall(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Recall of the retrieved set: relevant documents retrieved, over R."""
    return counts.recall(r.confusion(rel))


@of_relevant("SetRelP", aliases=("set_relative_P",), ties="none")
def set_relative_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Relative precision of the retrieved set: relevant documents retrieved, over the most that
    there could be among as many, min(retrieved, R); 0 where nothing was retrieved."""
    most = np.minimum(r.retrieved, r.relevant(rel))
    return r.relevant_retrieved(rel) / np.maximum(most, 1)


@of_relevant("SetAP", aliases=("set_map",), ties="none")
def set_average_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Precision times recall of the retrieved set: relevant retrieved² / (retrieved · R), 0 where
    nothing was retrieved."""
    found = r.relevant_retrieved(rel)
    return found**2 / (np.maximum(r.retrieved, 1) * r.relevant(rel))


@of_relevant(
    "SetF", aliases=("set_F", "f1"), shares=("f1",), reference="van Rijsbergen 1979", ties="none"
)
def set_f(r: JudgedRankings, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """F_β of the retrieved set: (1 + β²)TP / ((1 + β²)TP + β²FN + FP).

    β is β: trec_eval's ``set_F_x`` has β² = x.
    """
    return counts.f_measure(r.confusion(rel), beta=beta)


@ranking(
    "SetJaccard",
    aliases=("set_jaccard",),
    undefined={
        "nothing_retrieved_or_relevant": lambda r, p: r.retrieved + r.relevant(p["rel"]) == 0
    },
    ties="none",
)
def set_jaccard(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Jaccard index of the retrieved and the relevant set: TP / (TP + FP + FN)."""
    return counts.jaccard(r.confusion(rel))


@ranking("SetAcc", aliases=("set_accuracy",), undefined=COLLECTION, ties="none")
def set_accuracy(r: JudgedRankings, collection: int, rel: int = 1) -> FloatArray:
    """Accuracy of the retrieved set in a collection of known size: the share of its documents that
    are retrieved and relevant, or neither."""
    return counts.accuracy(r.confusion(rel, collection=collection))


@ranking(
    "fallout",
    aliases=("fall-out",),
    higher_is_better=False,
    undefined=ALL_RELEVANT | COLLECTION,
    ties="linear",
)
def fallout(
    r: JudgedRankings, collection: int, cutoff: int | None = None, rel: int = 1
) -> FloatArray:
    """Fall-out: share of the documents that are not relevant, in a collection of known size, which
    were retrieved (within the cutoff)."""
    return counts.false_positive_rate(r.confusion(rel, cutoff, collection))


@ranking(
    "micro-SetP",
    aliases=("micro_set_P", "micro-precision"),
    summary="pooled",
    weight=lambda r, _: r.retrieved,
    ties="none",
)
def micro_set_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Micro-averaged precision of the retrieved sets: the relevant documents retrieved for all
    topics together, over all that were retrieved."""
    return set_precision(r, rel=rel)


@of_relevant(
    "micro-SetR",
    aliases=("micro_set_recall", "micro-recall"),
    summary="pooled",
    weight=lambda r, p: r.relevant(p["rel"]),
    ties="none",
)
def micro_set_recall(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Micro-averaged recall of the retrieved sets: the relevant documents retrieved for all topics
    together, over all relevant ones."""
    return set_recall(r, rel=rel)


@of_relevant(
    "micro-SetF",
    aliases=("micro_set_F", "micro-F"),
    summary="pooled",
    weight=lambda r, p: r.retrieved + p["beta"] ** 2 * r.relevant(p["rel"]),
    ties="none",
)
def micro_set_f(r: JudgedRankings, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """Micro-averaged F_β of the retrieved sets: from the counts of all topics together."""
    return set_f(r, rel=rel, beta=beta)


@ranking("utility", range=(-inf, inf), ties="none")
def utility(
    r: JudgedRankings,
    rel: int = 1,
    tp: float = 1.0,
    fp: float = -1.0,
    fn: float = 0.0,
    tn: float = 0.0,
    collection: int = 0,
) -> FloatArray:
    """Utility of the retrieved set: what each kind of document is worth, added up: tp·TP + fp·FP +
    fn·FN + tn·TN.

    TN counts in a collection of known size; with the default 0 it is negative, as in trec_eval, and
    matters only where ``tn`` is given.
    """
    m = r.confusion(rel, collection=collection)
    return tp * m.tp + fp * m.fp + fn * m.fn + tn * m.tn
