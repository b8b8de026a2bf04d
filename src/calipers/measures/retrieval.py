"""Measures of rankings, one value per topic.

R is the number of documents of the topic judged ``rel`` or better; unjudged documents count as not
relevant. A topic that a run leaves out scores 0, as one for which it retrieves nothing. Where a
measure needs a relevant document and the topic has none, it is undefined there.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from calipers.measures import counts
from calipers.measures.definition import INFINITY, FloatArray, JudgedRankings, measure
from calipers.statistics import IntArray

NO_RELEVANT = {"no_relevant": lambda r, p: r.relevant(p["rel"]) == 0}
NO_GAIN = {"no_gain": lambda r, _: _ideal_gain(r) == 0}

ranking = partial(
    measure, family="retrieval", on=JudgedRankings, higher_is_better=True, range=(0, 1)
)
number = partial(
    measure,
    family="retrieval",
    on=JudgedRankings,
    higher_is_better=None,
    range=(0, INFINITY),
    summary="sum",
)


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


@number("NumRelRet", aliases=("num_rel_ret",), higher_is_better=True)
def number_relevant_retrieved(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Number of relevant documents retrieved, over all topics."""
    return r.relevant_retrieved(rel)


@ranking("P", aliases=("precision",))
def precision_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Precision at k: relevant documents among the first k, over k, also where fewer were
    retrieved."""
    return r.relevant_retrieved(rel, cutoff) / cutoff


@ranking("R", aliases=("recall",), undefined=NO_RELEVANT)
def recall_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Recall at k: relevant documents among the first k, over R."""
    return r.relevant_retrieved(rel, cutoff) / r.relevant(rel)


@ranking("Success", aliases=("hit_rate", "hits"), share_of="topics")
def success_at(r: JudgedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Whether a relevant document stands among the first k."""
    return (r.relevant_retrieved(rel, cutoff) > 0).astype(np.float64)


@ranking("AP", aliases=("MAP", "map_cut", "average_precision"), perfect=1.0, undefined=NO_RELEVANT)
def average_precision(r: JudgedRankings, cutoff: int | None = None, rel: int = 1) -> FloatArray:
    """Average precision: the precision at the rank of each relevant document retrieved (within
    the cutoff), summed and divided by R; its mean over topics is MAP."""
    precision = np.where(r.hits(rel, cutoff), r.hits_so_far(rel) / r.rank, 0.0)
    return r.sum(precision) / r.relevant(rel)


@ranking("RR", aliases=("MRR", "recip_rank", "reciprocal_rank"))
def reciprocal_rank(r: JudgedRankings, cutoff: int | None = None, rel: int = 1) -> FloatArray:
    """Reciprocal rank: 1 / rank of the first relevant document, 0 where there is none (within the
    cutoff); its mean over topics is MRR."""
    first = r.hits(rel, cutoff) & (r.hits_so_far(rel) == 1)
    return r.sum(np.where(first, 1 / r.rank, 0.0))


@ranking("Rprec", aliases=("R-precision", "r_precision"), perfect=1.0, undefined=NO_RELEVANT)
def r_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """R-precision: precision at rank R."""
    relevant = r.relevant(rel)
    return r.sum(r.hits(rel) & (r.rank <= relevant[r.topic])) / relevant


@ranking("IPrec", aliases=("iprec_at_recall",), at="recall", perfect=1.0, undefined=NO_RELEVANT)
def interpolated_precision(r: JudgedRankings, recall: float, rel: int = 1) -> FloatArray:
    """Interpolated precision at a recall: the largest precision at any rank with at least that
    recall, 0 where it is never reached."""
    so_far = r.hits_so_far(rel)
    # A product such as 0.7 · 10 may come out just above 7.
    reached = r.hits(rel) & (so_far >= recall * r.relevant(rel)[r.topic] - 1e-9)
    return r.max(np.where(reached, so_far / r.rank, 0.0))


@ranking("11pt-avg", aliases=("11pt_avg", "11pt"), perfect=1.0, undefined=NO_RELEVANT)
def eleven_point_mean(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Eleven-point mean: interpolated precision at recall 0, 0.1, …, 1, averaged."""
    levels = [interpolated_precision(r, recall=tenth / 10, rel=rel) for tenth in range(11)]
    return np.asarray(np.mean(levels, axis=0))


@ranking("efficiency", aliases=("system_efficiency",), perfect=1.0, undefined=NO_RELEVANT)
def system_efficiency(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """System efficiency: 1 − d/√2, where d is the smallest distance of the points
    (recall, precision) of the ranking to (1, 1)."""
    so_far = r.hits_so_far(rel)
    recall = so_far / r.relevant(rel)[r.topic]
    # Precision falls until the next relevant document, so only these can be nearest.
    distance = np.hypot(1 - recall, 1 - so_far / r.rank)
    return r.max(np.where(r.hits(rel), 1 - distance / np.sqrt(2), 0.0))


@ranking("SetP", aliases=("set_P",))
def set_precision(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Precision of the retrieved set: relevant documents retrieved, over all retrieved.

    It is 0 where nothing was retrieved: a run cannot say "nothing", and a topic that it leaves out
    scores 0.
    """
    return np.where(r.retrieved > 0, counts.precision(r.confusion(rel)), 0.0)


@ranking("SetR", aliases=("set_recall",), perfect=1.0, undefined=NO_RELEVANT)
def set_recall(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Recall of the retrieved set: relevant documents retrieved, over R."""
    return counts.recall(r.confusion(rel))


@ranking(
    "SetF",
    aliases=("set_F",),
    perfect=1.0,
    undefined=NO_RELEVANT,
    reference="van Rijsbergen 1979",
)
def set_f(r: JudgedRankings, rel: int = 1, beta: float = 1.0) -> FloatArray:
    """F_β of the retrieved set: (1 + β²)TP / ((1 + β²)TP + β²FN + FP).

    β is β: trec_eval's ``set_F_x`` has β² = x.
    """
    return counts.f_measure(r.confusion(rel), beta=beta)


@ranking(
    "fallout",
    aliases=("fall-out",),
    higher_is_better=False,
    undefined={
        "all_relevant": lambda r, p: r.relevant(p["rel"]) >= p["collection"],
        "collection_too_small": lambda r, p: (
            r.confusion(p["rel"], collection=p["collection"]).tn < 0
        ),
    },
)
def fallout(
    r: JudgedRankings, collection: int, cutoff: int | None = None, rel: int = 1
) -> FloatArray:
    """Fall-out: share of the documents that are not relevant, in a collection of known size, which
    were retrieved (within the cutoff)."""
    return counts.false_positive_rate(r.confusion(rel, cutoff, collection))


@measure(
    "CG",
    family="retrieval",
    on=JudgedRankings,
    higher_is_better=True,
    range=(0, INFINITY),
    aliases=("cumulative_gain",),
)
def cumulative_gain(r: JudgedRankings, cutoff: int | None = None) -> FloatArray:
    """Cumulative gain: the sum of the grades of the first k documents; negative grades count 0."""
    return r.sum(_within(r.rank, cutoff) * _gain(r.grade))


@ranking("nCG", aliases=("normalised_cg",))
def normalised_cumulative_gain(r: JudgedRankings, cutoff: int, max_grade: int) -> FloatArray:
    """Cumulative gain over k times the highest grade of the scale; P@k when grades are 0 and 1.

    Grades above the stated highest one would push it beyond 1.
    """
    return cumulative_gain(r, cutoff) / (cutoff * max_grade)


@measure(
    "DCG",
    family="retrieval",
    on=JudgedRankings,
    higher_is_better=True,
    range=(0, INFINITY),
    aliases=("discounted_cumulative_gain",),
    reference="Järvelin and Kekäläinen 2002; Burges et al. 2005",
)
def dcg(r: JudgedRankings, cutoff: int | None = None, dcg: str = "log2") -> FloatArray:
    """Discounted cumulative gain: Σ gain / log₂(rank + 1) over the first k documents.

    The gain is the grade (``dcg='log2'``) or 2^grade − 1 (``dcg='exp-log2'``).
    """
    return r.sum(_discounted(r.grade, r.rank, cutoff, dcg))


@ranking(
    "nDCG",
    aliases=("ndcg_cut", "ndcg_score", "normalised_dcg"),
    perfect=1.0,
    undefined=NO_GAIN,
    reference="Järvelin and Kekäläinen 2002; Burges et al. 2005",
)
def ndcg(r: JudgedRankings, cutoff: int | None = None, dcg: str = "log2") -> FloatArray:
    """Normalised discounted cumulative gain: DCG over the DCG of the ideal list, which holds all
    judged documents of the topic, best grade first, cut at k.

    Gain and discount are those of DCG.
    """
    _, grades, ranks = r.ideal
    gained = r.sum(_discounted(r.grade, r.rank, cutoff, dcg))
    return gained / r.ideal_sum(_discounted(grades, ranks, cutoff, dcg))


def _gain(grade: IntArray, dcg: str = "log2") -> FloatArray:
    linear = np.maximum(grade, 0).astype(np.float64)
    return linear if dcg == "log2" else np.exp2(linear) - 1


def _within(rank: IntArray, cutoff: int | None) -> FloatArray:
    return np.ones(len(rank)) if cutoff is None else (rank <= cutoff).astype(np.float64)


def _discounted(grade: IntArray, rank: IntArray, cutoff: int | None, dcg: str) -> FloatArray:
    return _within(rank, cutoff) * _gain(grade, dcg) / np.log2(rank + 1)


def _ideal_gain(r: JudgedRankings) -> FloatArray:
    return r.ideal_sum(_gain(r.ideal[1]))
