"""Measures of retrieved sets, irrespective of their order, and numbers of documents."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from calipers.lazy_imports import numpy as np
from calipers.measures import counts
from calipers.measures.retrieval.traits import (
    NO_RELEVANT,
    count_measure,
    ranking_measure,
    relevance_measure,
    unbounded_measure,
)
from calipers.statistics import ConfusionMatrix, FloatArray, JudgedRankings

ALL_RELEVANT = {"all_relevant": lambda r, p: r.n_relevant(p["rel"]) >= p["collection_size"]}
NOTHING_RETRIEVED = {"nothing_retrieved": lambda r, _: r.retrieved == 0}
NOTHING_RETRIEVED_OR_RELEVANT = {
    "nothing_retrieved_or_relevant": lambda r, p: r.retrieved + r.n_relevant(p["rel"]) == 0
}
COLLECTION_TOO_SMALL = {
    "collection_too_small": lambda r, p: (
        r.confusion(p["rel"], collection_size=p["collection_size"]).tn < 0
    )
}
EVERYTHING_RETRIEVED = {"everything_retrieved": lambda r, p: r.retrieved >= p["collection_size"]}
CORRELATION_CONDITIONS = {
    **NO_RELEVANT,
    **ALL_RELEVANT,
    **NOTHING_RETRIEVED,
    **EVERYTHING_RETRIEVED,
    **COLLECTION_TOO_SMALL,
}


@count_measure("NumQ", aliases=("num_q",), interval="none")
def n_topics(r: JudgedRankings) -> FloatArray:
    """Total number of topics."""
    return np.ones(len(r))


@count_measure("NumRet", aliases=("num_ret",))
def n_retrieved(r: JudgedRankings) -> FloatArray:
    """Total number of documents retrieved, over all topics."""
    return r.retrieved.astype(np.float64)


@count_measure("NumRel", aliases=("num_rel",))
def n_relevant(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Total number of relevant documents, over all topics."""
    return r.n_relevant(rel)


@count_measure(
    "NumRelRet",
    aliases=("num_rel_ret", "hits", "SetTP", "TP", "true_positives"),
    shared_names=("TP", "true_positives"),
    higher_is_better=True,
    ties="linear",
    is_order_free=True,
)
def n_relevant_retrieved(r: JudgedRankings, rel: int = 1, cutoff: int | None = None) -> FloatArray:
    """Total number of relevant documents retrieved (within the cutoff), over all topics."""
    return r.n_relevant_retrieved(rel, cutoff)


@count_measure(
    "SetFP",
    aliases=("FP", "false_positives"),
    shared_names=("FP", "false_positives"),
    higher_is_better=False,
)
def set_false_positives(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Total number of documents retrieved that are not relevant, judged or not, over all topics."""
    return r.confusion(rel).fp


@count_measure(
    "SetFN",
    aliases=("FN", "false_negatives"),
    shared_names=("FN", "false_negatives"),
    higher_is_better=False,
)
def set_false_negatives(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Total number of relevant documents not retrieved, over all topics."""
    return r.confusion(rel).fn


@count_measure(
    "SetTN",
    aliases=("TN", "true_negatives"),
    shared_names=("TN", "true_negatives"),
    higher_is_better=True,
    undefined=COLLECTION_TOO_SMALL,
)
def set_true_negatives(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Total number of documents neither retrieved nor relevant, over all topics.

    It needs a collection of known size, and is undefined if the collection is smaller than the
    retrieved and relevant documents.
    """
    return r.confusion(rel, collection_size=collection_size).tn


@unbounded_measure("mean-SetTP", aliases=("mean-TP", "mean_TP"), ties="none")
def mean_true_positives(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Mean number of relevant documents retrieved per topic."""
    return r.confusion(rel).tp


@unbounded_measure(
    "mean-SetFP", aliases=("mean-FP", "mean_FP"), higher_is_better=False, perfect=0.0, ties="none"
)
def mean_false_positives(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Mean number of documents retrieved per topic that are not relevant, judged or not."""
    return r.confusion(rel).fp


@unbounded_measure(
    "mean-SetFN", aliases=("mean-FN", "mean_FN"), higher_is_better=False, perfect=0.0, ties="none"
)
def mean_false_negatives(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Mean number of relevant documents not retrieved per topic."""
    return r.confusion(rel).fn


@unbounded_measure(
    "mean-SetTN", aliases=("mean-TN", "mean_TN"), undefined=COLLECTION_TOO_SMALL, ties="none"
)
def mean_true_negatives(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Mean number of documents neither retrieved nor relevant per topic.

    It needs a collection of known size, and is undefined if the collection is smaller than the
    retrieved and relevant documents.
    """
    return r.confusion(rel, collection_size=collection_size).tn


@ranking_measure(
    "SetGenerality",
    aliases=("generality",),
    shared_names=("generality",),
    higher_is_better=None,
    undefined=COLLECTION_TOO_SMALL,
    ties="none",
)
def set_generality(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Generality: the proportion of the documents of the collection that are relevant to the topic.

    It is R over ``collection_size``, the number of documents. Some lectures call it total recall.
    It ranges from 0 to 1 and is undefined if the collection is smaller than the retrieved and
    relevant documents.
    """
    return r.n_relevant(rel) / collection_size


@count_measure("NumNonrelJudgedRet", aliases=("num_nonrel_judged_ret",), higher_is_better=False)
def n_nonrelevant_retrieved(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Total number of documents retrieved that were judged non-relevant, over all topics."""
    return r.sum_by_topic((r.grade >= 0) & ~r.hit_mask(rel))


@ranking_measure(
    "SetP",
    aliases=("set_P", "precision"),
    shared_names=("precision",),
    undefined=NOTHING_RETRIEVED,
    ties="none",
)
def set_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Precision of the retrieved set: the proportion of retrieved documents that are relevant.

    It ranges from 0 to 1 and is undefined if nothing was retrieved. trec_eval has 0 there, as
    ``undefined="zero"`` does.
    """
    return counts.precision(r.confusion(rel))


@relevance_measure("SetR", aliases=("set_recall", "recall"), shared_names=("recall",), ties="none")
def set_recall(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Recall of the retrieved set: the proportion of relevant documents that are retrieved.

    It ranges from 0 to 1 and is undefined without relevant documents.
    """
    return counts.recall(r.confusion(rel))


@relevance_measure("SetRelP", aliases=("set_relative_P",), ties="none")
def set_relative_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Relative precision of the retrieved set: relevant retrieved documents over min(retrieved, R).

    The denominator is the largest possible number; the measure is 0 if nothing was retrieved. It
    ranges from 0 to 1 and is undefined without relevant documents.
    """
    max_hits = np.minimum(r.retrieved, r.n_relevant(rel))
    return r.n_relevant_retrieved(rel) / np.maximum(max_hits, 1)


@relevance_measure("SetAP", aliases=("set_map",), ties="none")
def set_average_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Precision times recall of the retrieved set: (relevant retrieved)² / (retrieved · R).

    It is 0 if nothing was retrieved. It ranges from 0 to 1 and is undefined without relevant
    documents.
    """
    n_hits = r.n_relevant_retrieved(rel)
    return n_hits**2 / (np.maximum(r.retrieved, 1) * r.n_relevant(rel))


@relevance_measure(
    "SetF",
    aliases=("set_F", "F"),
    shared_names=("F",),
    suffix="beta",
    hides_default=True,
    undefined={
        **NO_RELEVANT,
        "nothing_retrieved": lambda r, p: p["from_rates"] & (r.retrieved == 0),
    },
    reference="van Rijsbergen 1979",
    ties="none",
)
def set_f(
    r: JudgedRankings,
    rel: int = 1,
    beta: float = 1.0,
    alpha: float | None = None,
    *,
    from_rates: bool = False,
) -> FloatArray:
    """F_β of the retrieved set: (1 + β²)TP / ((1 + β²)TP + β²FN + FP).

    trec_eval's ``set_F_x`` has β² = x. Given ``alpha``, β² = (1 − α)/α. With β = ∞ it is recall. It
    is 0 if nothing was retrieved; with ``from_rates`` it is undefined there, as precision is. It
    ranges from 0 to 1 and is undefined without relevant documents.
    """
    return counts.f_measure(r.confusion(rel), beta, alpha)


@ranking_measure(
    "SetJaccard",
    aliases=("set_jaccard", "Jaccard", "JI"),
    shared_names=("Jaccard", "JI"),
    undefined=NOTHING_RETRIEVED_OR_RELEVANT,
    ties="none",
)
def set_jaccard(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Jaccard index of the retrieved and the relevant set: TP / (TP + FP + FN).

    It ranges from 0 to 1; multiply by 100 for a percentage. It is undefined if nothing is retrieved
    or relevant.
    """
    return counts.jaccard(r.confusion(rel))


@ranking_measure(
    "SetMCC",
    aliases=("MCC",),
    shared_names=("MCC",),
    range=(-1, 1),
    perfect=1.0,
    undefined=CORRELATION_CONDITIONS,
    reference="Matthews 1975",
    ties="none",
)
def set_matthews_correlation(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Matthews correlation of the retrieved and the relevant set in a collection of known size.

    It is (TP·TN − FP·FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)). It ranges from −1 to 1 and is undefined
    if no or all documents are relevant or retrieved, or the collection is smaller than the
    retrieved and relevant documents.
    """
    return _correlation(r.confusion(rel, collection_size=collection_size))


def _correlation(c: ConfusionMatrix) -> FloatArray:
    # As the geometric mean of these it keeps its digits in a collection of a billion documents.
    informedness, markedness = counts.informedness(c), counts.markedness(c)
    return np.sign(informedness) * np.sqrt(np.maximum(informedness * markedness, 0))


def _confusion_cells(r: JudgedRankings, p: Mapping[str, Any]) -> FloatArray:
    """Return TP, FP, FN and TN of each topic, shape (n_topics, 4).

    They are NaN if the collection is too small.
    """
    c = r.confusion(p["rel"], collection_size=p["collection_size"])
    cells = np.stack([c.tp, c.fp, c.fn, c.tn], axis=-1)
    return np.where(c.tn[:, None] < 0, np.nan, cells)


def _correlation_from_cells(cells: FloatArray) -> FloatArray:
    tp, fp, fn, tn = np.moveaxis(cells, -1, 0)
    return _correlation(ConfusionMatrix.from_counts(tp=tp, fp=fp, fn=fn, tn=tn))


@ranking_measure(
    "SetAcc",
    aliases=("set_accuracy", "accuracy"),
    shared_names=("accuracy",),
    undefined=COLLECTION_TOO_SMALL,
    ties="none",
)
def set_accuracy(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Accuracy of the retrieved set in a collection of known size.

    It is the proportion of documents that are retrieved and relevant, or neither. It ranges from 0
    to 1 and is undefined if the collection is smaller than the retrieved and relevant documents.
    """
    return counts.accuracy(r.confusion(rel, collection_size=collection_size))


@ranking_measure(
    "SetErrorRate",
    aliases=("set_error_rate", "error-rate"),
    shared_names=("error-rate",),
    higher_is_better=False,
    undefined=COLLECTION_TOO_SMALL,
    ties="none",
)
def set_error_rate(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Error rate of the retrieved set in a collection of known size: 1 − SetAcc.

    It is the proportion of documents that are retrieved and non-relevant, or relevant and not
    retrieved. It is also written ERR, which is expected reciprocal rank here. It ranges from 0 to 1
    and is undefined if the collection is smaller than the retrieved and relevant documents.
    """
    return counts.error_rate(r.confusion(rel, collection_size=collection_size))


@ranking_measure(
    "SetSpecificity",
    aliases=("set_specificity", "specificity"),
    shared_names=("specificity",),
    undefined=ALL_RELEVANT | COLLECTION_TOO_SMALL,
    ties="none",
)
def set_specificity(r: JudgedRankings, collection_size: int, rel: int = 1) -> FloatArray:
    """Specificity of the retrieved set: the proportion of non-relevant documents not retrieved.

    It is 1 − fallout and needs a collection of known size. It ranges from 0 to 1. It is undefined
    if all documents are relevant, or the collection is smaller than the retrieved and relevant
    documents.
    """
    return counts.specificity(r.confusion(rel, collection_size=collection_size))


@ranking_measure(
    "SetNPV",
    aliases=("set_NPV", "NPV"),
    shared_names=("NPV",),
    undefined=EVERYTHING_RETRIEVED | COLLECTION_TOO_SMALL,
    ties="none",
)
def set_negative_predictive_value(
    r: JudgedRankings, collection_size: int, rel: int = 1
) -> FloatArray:
    """NPV of the retrieved set: the proportion of documents not retrieved that are not relevant.

    It needs a collection of known size. It ranges from 0 to 1. It is undefined if all documents are
    retrieved, or the collection is smaller than the retrieved and relevant documents.
    """
    return counts.negative_predictive_value(r.confusion(rel, collection_size=collection_size))


@ranking_measure(
    "fallout",
    aliases=("fall-out", "FPR"),
    shared_names=("fall-out", "FPR"),
    higher_is_better=False,
    undefined=ALL_RELEVANT | COLLECTION_TOO_SMALL,
    ties="linear",
    is_order_free=True,
)
def fallout(
    r: JudgedRankings, collection_size: int, cutoff: int | None = None, rel: int = 1
) -> FloatArray:
    """Fall-out: the proportion of non-relevant documents that are retrieved (within the cutoff).

    It needs a collection of known size. It ranges from 0 to 1. It is undefined if all documents are
    relevant, or the collection is smaller than the retrieved and relevant documents.
    """
    return counts.false_positive_rate(r.confusion(rel, cutoff, collection_size))


@ranking_measure(
    "micro-SetP",
    aliases=("micro_set_P", "micro-precision"),
    summary="pooled",
    undefined=NOTHING_RETRIEVED,
    weight=lambda r, _: r.retrieved,
    ties="none",
)
def micro_set_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Micro-averaged precision of the retrieved sets: from the summed counts of all topics.

    It is the number of relevant documents retrieved over the number of documents retrieved. It
    ranges from 0 to 1 and is undefined if nothing was retrieved.
    """
    return set_precision(r, rel=rel)


@relevance_measure(
    "micro-SetR",
    aliases=("micro_set_recall", "micro-recall"),
    summary="pooled",
    weight=lambda r, p: r.n_relevant(p["rel"]),
    ties="none",
)
def micro_set_recall(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Micro-averaged recall of the retrieved sets: from the summed counts of all topics.

    It is the number of relevant documents retrieved over the number of relevant documents. It
    ranges from 0 to 1 and is undefined without relevant documents.
    """
    return set_recall(r, rel=rel)


def _f_denominator(r: JudgedRankings, p: Mapping[str, Any]) -> FloatArray:
    weight = counts.precision_weight(p["beta"], p["alpha"])
    return np.asarray(weight * r.retrieved + (1 - weight) * r.n_relevant(p["rel"]))


@relevance_measure(
    "micro-SetF",
    aliases=("micro_set_F", "micro-F"),
    summary="pooled",
    suffix="beta",
    hides_default=True,
    weight=_f_denominator,
    ties="none",
)
def micro_set_f(
    r: JudgedRankings, rel: int = 1, beta: float = 1.0, alpha: float | None = None
) -> FloatArray:
    """Micro-averaged F_β of the retrieved sets: from the summed counts of all topics.

    It ranges from 0 to 1 and is undefined without relevant documents.
    """
    return set_f(r, rel, beta, alpha)


@ranking_measure(
    "micro-SetJaccard",
    aliases=("micro-Jaccard",),
    summary="pooled",
    undefined=NOTHING_RETRIEVED_OR_RELEVANT,
    weight=lambda r, p: r.retrieved + r.confusion(p["rel"]).fn,
    ties="none",
)
def micro_set_jaccard(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Micro-averaged Jaccard index of the retrieved and the relevant sets: from the summed counts.

    It ranges from 0 to 1 and is undefined if nothing is retrieved or relevant.
    """
    return set_jaccard(r, rel=rel)


@ranking_measure(
    "micro-SetMCC",
    aliases=("micro_set_MCC", "micro-MCC"),
    summary="pooled",
    range=(-1, 1),
    perfect=1.0,
    undefined=CORRELATION_CONDITIONS,
    weight=_confusion_cells,
    pooled=_correlation_from_cells,
    ties="none",
)
def micro_set_matthews_correlation(
    r: JudgedRankings, collection_size: int, rel: int = 1
) -> FloatArray:
    """Micro-averaged Matthews correlation of the retrieved and the relevant sets.

    It is computed from the summed counts of all topics, including topics for which it is undefined.
    It needs a collection of known size and ranges from −1 to 1.
    """
    return set_matthews_correlation(r, collection_size, rel)


@ranking_measure(
    "micro-fallout",
    aliases=("micro-fall-out",),
    summary="pooled",
    higher_is_better=False,
    undefined=ALL_RELEVANT | COLLECTION_TOO_SMALL,
    weight=lambda r, p: p["collection_size"] - r.n_relevant(p["rel"]),
    ties="linear",
    is_order_free=True,
)
def micro_fallout(
    r: JudgedRankings, collection_size: int, cutoff: int | None = None, rel: int = 1
) -> FloatArray:
    """Micro-averaged fall-out: from the summed counts of all topics.

    It needs a collection of known size. It ranges from 0 to 1.
    """
    return fallout(r, collection_size, cutoff, rel)


@ranking_measure("utility", range=(-inf, inf), ties="none")
def utility(
    r: JudgedRankings,
    rel: int = 1,
    tp: float = 1.0,
    fp: float = -1.0,
    fn: float = 0.0,
    tn: float = 0.0,
    collection_size: int = 0,
) -> FloatArray:
    """Linear utility of the retrieved set: tp·TP + fp·FP + fn·FN + tn·TN.

    The parameters are the utilities of each kind of document. TN needs a collection of known size;
    with the default 0 it is negative, as in trec_eval, which matters only if ``tn`` is given.
    """
    m = r.confusion(rel, collection_size=collection_size)
    return tp * m.tp + fp * m.fp + fn * m.fn + tn * m.tn
