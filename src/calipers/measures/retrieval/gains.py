"""Measures of rankings with graded relevance.

The gain of a document is its grade, unless ``gains`` maps the grade to another gain. Negative
grades and unjudged documents have no gain. If ``gains`` has an entry for −1, it is the gain of
unjudged documents, and an entry for −2 is the gain of documents that are judged with a negative
grade, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.measures.grade_gains import Gains, grade_gain
from calipers.measures.retrieval.binary_relevance import cutoff_mask
from calipers.measures.retrieval.traits import ranking_measure, unbounded_measure
from calipers.statistics import FloatArray, IntArray, JudgedRankings
from calipers.statistics.rankings import IdealRankings, segment_offsets, segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt

JARVELIN = "Järvelin and Kekäläinen 2002; Burges et al. 2005"


def _no_gain_mask(r: JudgedRankings, p: Mapping[str, Any]) -> Any:
    """Return where no judged document has a positive gain."""
    gain = grade_gain(r.judged_grade, p.get("gains"), p.get("dcg", "log2"), p.get("min_grade"))
    return r.ideal_lengths(gain) == 0


NO_GAIN = {"no_gain": _no_gain_mask}

#: Measures against an ideal list.
gain_measure = partial(ranking_measure, perfect=1.0, undefined=NO_GAIN)


def _above_scale_mask(r: JudgedRankings, p: Mapping[str, Any]) -> Any:
    """Return where a grade exceeds the given scale, if the measure depends on it."""
    return (p.get("gain", "scale") == "scale") & (r.max_grade > p["max_grade"])


ABOVE_SCALE = {"grade_above_scale": _above_scale_mask}


@unbounded_measure("CG", aliases=("cumulative_gain",), ties="linear", is_order_free=True)
def cumulative_gain(
    r: JudgedRankings, cutoff: int | None = None, gains: Gains = None
) -> FloatArray:
    """Cumulative gain: the sum of the gains of the first k documents.

    It is 0 or more.
    """
    r, gain = add_gains(r, gains)
    return r.sum_by_topic(gain * r.map_ranks(lambda rank: cutoff_mask(rank, cutoff)))


@ranking_measure("nCG", aliases=("normalised_cg",), ties="linear", undefined=ABOVE_SCALE)
def normalized_cumulative_gain(r: JudgedRankings, cutoff: int, max_grade: int) -> FloatArray:
    """Cumulative gain over k times the highest grade of the scale; P@k when grades are 0 and 1.

    It ranges from 0 to 1 and is undefined if a grade exceeds ``max_grade``.
    """
    return cumulative_gain(r, cutoff) / (cutoff * max_grade)


@unbounded_measure(
    "DCG",
    aliases=("discounted_cumulative_gain", "dcg_score"),
    ties="linear",
    reference=JARVELIN,
)
def discounted_cumulative_gain(
    r: JudgedRankings,
    cutoff: int | None = None,
    dcg: str = "log2",
    gains: Gains = None,
    min_grade: int | None = None,
    base: float = 2.0,
) -> FloatArray:
    """Discounted cumulative gain: Σ gain · discount over the first k documents.

    With ``dcg='log2'`` the gain is the grade and the discount is 1 / log₂(rank + 1). With
    ``'exp-log2'`` the gain is 2^grade − 1. With ``'log-base'`` the discount is Järvelin and
    Kekäläinen's own, 1 / max(1, log_b rank), with b given as ``base``. ``gains`` maps grades to
    other gains; grades below ``min_grade`` have no gain. It is 0 or more if no gain is negative.
    """
    # Below the cutoff the discount is 0, whatever is there.
    r, gain = add_gains(r.within_cutoff(cutoff), gains, dcg, min_grade)
    return r.sum_by_topic(gain * r.map_ranks(lambda rank: rank_discount(rank, cutoff, dcg, base)))


@unbounded_measure(
    "IDCG", aliases=("ideal_dcg",), higher_is_better=None, ties="none", reference=JARVELIN
)
def ideal_dcg(
    r: JudgedRankings,
    cutoff: int | None = None,
    dcg: str = "log2",
    gains: Gains = None,
    min_grade: int | None = None,
    base: float = 2.0,
) -> FloatArray:
    """Ideal DCG: the DCG of the ideal list.

    The ideal list has all judged documents of the topic with a positive gain, in decreasing order
    of gain. It is 0 or more.
    """
    ideal = r.ideal_rankings(grade_gain(r.judged_grade, gains, dcg, min_grade))
    return ideal.sum_by_topic(ideal.gain * rank_discount(ideal.rank, cutoff, dcg, base))


_dcg = discounted_cumulative_gain


def _empty_ideal_mask(r: JudgedRankings, p: Mapping[str, Any]) -> Any:
    """Return where only the ideal list of the retrieved documents is empty."""
    if p["ideal"] != "retrieved":
        return np.zeros(len(r), bool)
    full_rankings, gain = add_gains(r, p["gains"], p["dcg"], p["min_grade"])
    return (full_rankings.sum_by_topic(gain > 0) == 0) & ~_no_gain_mask(r, p)


@gain_measure(
    "nDCG",
    aliases=("MSnDCG", "ndcg_cut", "ndcg_score", "normalised_dcg", "normalized_dcg"),
    undefined={**NO_GAIN, "no_relevant_retrieved": _empty_ideal_mask},
    ties="linear",
    reference=JARVELIN,
)
def ndcg(
    r: JudgedRankings,
    cutoff: int | None = None,
    dcg: str = "log2",
    gains: Gains = None,
    min_grade: int | None = None,
    base: float = 2.0,
    ideal: str = "judged",
) -> FloatArray:
    """Normalized discounted cumulative gain: DCG over the DCG of the ideal list.

    The ideal list has all judged documents of the topic, in decreasing order of gain, and is cut at
    k. With ``ideal='uncut'`` it is not cut; with ``'retrieved'`` it has the retrieved documents
    only, as in libraries that see only the retrieved documents. Gain and discount are those of DCG.
    It ranges from 0 to 1 and is undefined if no judged document has a positive gain.
    """  # noqa: D401  # a noun
    dcg_value = _dcg(r, cutoff, dcg, gains, min_grade, base)
    if ideal == "retrieved":
        full_rankings, gain = add_gains(r, gains, dcg, min_grade)
        sorted_gain = np.maximum(gain[np.lexsort((-gain, full_rankings.topic_index))], 0)
        ideal_rank = np.arange(len(gain)) - full_rankings.offsets[full_rankings.topic_index] + 1
        ideal_dcg_value = full_rankings.sum_by_topic(
            sorted_gain * rank_discount(ideal_rank, cutoff, dcg, base)
        )
        return dcg_value / ideal_dcg_value
    depth = None if ideal == "uncut" else cutoff
    return dcg_value / ideal_dcg(r, depth, dcg, gains, min_grade, base)


@ranking_measure(
    "SDCG",
    aliases=("scaled_dcg",),
    undefined=ABOVE_SCALE,
    ties="linear",
    reference="Järvelin and Kekäläinen 2002; scaled as in cwl_eval",
)
def scaled_dcg(r: JudgedRankings, cutoff: int, max_grade: int = 1) -> FloatArray:
    """Scaled DCG: DCG at k over that of k documents of the highest grade of the scale.

    The denominator does not depend on the number of documents of the highest grade. It ranges from
    0 to 1 and is undefined if a grade exceeds ``max_grade``.
    """
    return _dcg(r, cutoff) / (max_grade * np.sum(1 / np.log2(np.arange(cutoff) + 2)))


@gain_measure("nDCG-rel", aliases=("ndcg_rel",), monotone=False)
def ndcg_at_relevant(r: JudgedRankings, gains: Gains = None) -> FloatArray:
    """NDCG averaged over the documents with a gain: trec_eval's ``ndcg_rel``.

    A retrieved document contributes nDCG at its rank, and a document that was not retrieved
    contributes nDCG of the whole ranking. It ranges from 0 to 1 and is undefined if no judged
    document has a positive gain.
    """
    r, gain = add_gains(r, gains)
    best = r.ideal_rankings(grade_gain(r.judged_grade, gains))
    ideal = best.gain / np.log2(best.rank + 1)
    gained = gain / np.log2(r.rank + 1)
    ndcg_at_rank = r.cumulative_sum(gained) / best.sum_to_rank(ideal, r.topic_index, r.rank)
    n_missed = best.lengths - r.sum_by_topic(gain > 0)
    full_ndcg = r.sum_by_topic(gained) / best.sum_by_topic(ideal)
    return (
        r.sum_by_topic(np.where(gain > 0, ndcg_at_rank, 0.0)) + n_missed * full_ndcg
    ) / best.lengths


@gain_measure("RnDCG", aliases=("Rndcg",), monotone=False)
def ndcg_at_levels(r: JudgedRankings, gains: Gains = None) -> FloatArray:
    """NDCG averaged over the ranks where the gain of the ideal list falls: trec_eval's ``Rndcg``.

    These are the last rank of each gain of the ideal list, and the end of the ranking if it is at
    least two ranks longer than the ideal list. It ranges from 0 to 1 and is undefined if no judged
    document has a positive gain.
    """
    r, gain = add_gains(r, gains)
    best = r.ideal_rankings(grade_gain(r.judged_grade, gains))
    ideal = best.gain / np.log2(best.rank + 1)
    topic = np.repeat(np.arange(len(r)), best.lengths)
    is_last_of_level = np.ones(len(topic), bool)
    is_last_of_level[:-1] = (np.diff(best.gain) != 0) | (np.diff(topic) != 0)
    topic, rank = topic[is_last_of_level], best.rank[is_last_of_level]
    gained = gain / np.log2(r.rank + 1)
    at_levels = r.sum_to_rank(gained, topic, rank) / best.sum_to_rank(ideal, topic, rank)
    is_longer = r.retrieved >= best.lengths + 2
    n_levels = np.bincount(topic, minlength=len(r))
    total = segment_sum(at_levels, segment_offsets(n_levels))
    at_end = np.where(is_longer, r.sum_by_topic(gained) / best.sum_by_topic(ideal), 0.0)
    return (total + at_end) / (n_levels + is_longer)


@gain_measure("G", aliases=("normalised_gain",), monotone=False)
def normalized_gain(r: JudgedRankings, gains: Gains = None) -> FloatArray:
    """Normalized gain: Σ gain / log₂(2 + C − S) over the sum of the gains of the ideal list.

    S is the cumulative gain of the ranking down to and including the document, and C is that of the
    ideal list, in which every rank counts at least 1. This is trec_eval's measure between AP and
    nDCG. It ranges from 0 to 1 and is undefined if no judged document has a positive gain.
    """  # noqa: D401  # a noun
    r, gain = add_gains(r, gains)
    best = r.ideal_rankings(grade_gain(r.judged_grade, gains))
    ideal_cumulative_gain = best.sum_to_rank(np.maximum(best.gain, 1), r.topic_index, r.rank)
    cost = ideal_cumulative_gain + np.maximum(r.rank - best.lengths[r.topic_index], 0)
    # What gains nothing adds nothing, also where other gains leave no discount.
    return r.sum_by_topic(
        np.where(gain == 0, 0, gain / np.log2(2 + cost - r.cumulative_sum(gain)))
    ) / best.sum_by_topic(best.gain)


#: Undefined without a positive gain, where negative gains count as none.
NO_POSITIVE_GAIN = {
    "no_gain": lambda r, p: (
        r.ideal_lengths(np.maximum(grade_gain(r.judged_grade, p["gains"]), 0)) == 0
    )
}
blended_measure = partial(ranking_measure, perfect=1.0, undefined=NO_POSITIVE_GAIN)


@blended_measure("Q", aliases=("Q-measure", "QMeasure"), reference="Sakai 2007")
def q_measure(
    r: JudgedRankings, cutoff: int | None = None, beta: float = 1.0, gains: Gains = None
) -> FloatArray:
    """Q-measure: average precision for graded relevance, by the blended ratio.

    At the rank i of each document with a gain the blended ratio is (C + β·G) / (i + β·G*), where C
    is the number of documents with a gain down to rank i, G the sum of their gains, and G* that of
    the ideal list. The ratios are summed and divided by R, the number of judged documents with a
    gain, or by min(k, R) if cut at k. With β = 0 it is AP, and with β = ∞ only gains count. It
    ranges from 0 to 1 and is undefined if no judged document has a positive gain.
    """
    r, gain, best = positive_gains(r, gains)
    counted_mask = (gain > 0) & (cutoff_mask(r.rank, cutoff) > 0)
    length = best.lengths if cutoff is None else np.minimum(best.lengths, cutoff)
    ratio = blended_ratio(r, gain, best, beta)
    return r.sum_by_topic(np.where(counted_mask, ratio, 0.0)) / length


@blended_measure("O-measure", aliases=("OMeasure",), reference="Sakai 2006")
def o_measure(r: JudgedRankings, beta: float = 1.0, gains: Gains = None) -> FloatArray:
    """O-measure: the blended ratio of Q-measure at the first document with a gain.

    It is reciprocal rank for graded relevance, (1 + β·g) / (i + β·G*) for a document of gain g at
    rank i, where G* is the sum of the gains of the ideal list down to i; with β = 0 it is RR. It
    ranges from 0 to 1 and is undefined if no judged document has a positive gain.
    """
    r, gain, best = positive_gains(r, gains)
    first_mask = _first_mask(r, gain > 0)
    return r.sum_by_topic(np.where(first_mask, blended_ratio(r, gain, best, beta), 0.0))


@blended_measure("P-measure", aliases=("PMeasure",), monotone=False, reference="Sakai 2006")
def p_measure(r: JudgedRankings, beta: float = 1.0, gains: Gains = None) -> FloatArray:
    """P-measure: the blended ratio of Q-measure at the preferred rank.

    It is the rank of the first of the retrieved documents with the largest gain among these: the
    user looks for the best document. It ranges from 0 to 1 and is undefined if no judged document
    has a positive gain.
    """
    r, gain, best = positive_gains(r, gains)
    preferred_mask = _first_mask(r, (gain > 0) & (gain == r.max_by_topic(gain)[r.topic_index]))
    return r.sum_by_topic(np.where(preferred_mask, blended_ratio(r, gain, best, beta), 0.0))


@blended_measure("P+", aliases=("P-plus", "PPlusMeasure"), monotone=False, reference="Sakai 2006")
def p_plus(r: JudgedRankings, beta: float = 1.0, gains: Gains = None) -> FloatArray:
    """P⁺: the mean blended ratio of Q-measure over documents with a gain, to the preferred rank.

    The preferred rank is that of P-measure, at which the user stops. It ranges from 0 to 1 and is
    undefined if no judged document has a positive gain.
    """
    r, gain, best = positive_gains(r, gains)
    preferred_mask = _first_mask(r, (gain > 0) & (gain == r.max_by_topic(gain)[r.topic_index]))
    preferred_rank = r.sum_by_topic(np.where(preferred_mask, r.rank, 0))[r.topic_index]
    counted_mask = (gain > 0) & (r.rank <= preferred_rank)
    total = r.sum_by_topic(np.where(counted_mask, blended_ratio(r, gain, best, beta), 0.0))
    return np.asarray(total / np.maximum(r.sum_by_topic(counted_mask), 1))


@blended_measure("NCU", monotone=False, reference="Sakai and Robertson 2008")
def normalized_cumulative_utility(
    r: JudgedRankings,
    stopping: str = "rank-biased",
    beta: float = 1.0,
    gamma: float = 0.95,
    gains: Gains = None,
    stops: Gains = None,
) -> FloatArray:
    """Normalized cumulative utility: the expected blended ratio where users stop, Σ Pr·BR.

    Users stop at documents with a gain: with ``stopping='uniform'`` at each of the R judged ones
    with the same probability Pr (as in Q-measure), with ``'graded-uniform'`` in proportion to the
    gain, or to ``stops`` by grade, and with ``'rank-biased'`` at the jth of them with a probability
    proportional to γ^(j − 1). The utility is the blended ratio of Q-measure, which with β = 0 is
    precision. It ranges from 0 to 1 and is undefined if no judged document has a positive gain.
    """  # noqa: D401  # a noun
    r, gain, best = positive_gains(r, gains)
    if stopping == "rank-biased":
        weight = gamma ** (np.maximum(r.cumulative_sum(gain > 0), 1) - 1)
        powers = np.concatenate([[0.0], np.cumsum(gamma ** np.arange(best.lengths.max(initial=0)))])
        total = powers[best.lengths]
    elif stopping == "graded-uniform":
        weight, judged_weight = (
            grade_gain(grade, gains if stops is None else stops)
            for grade in (r.grade, r.judged_grade)
        )
        judged_gain = grade_gain(r.judged_grade, gains)
        total = segment_sum(
            np.where(judged_gain > 0, judged_weight * r.judged_count, 0.0), r.judged_offsets
        )
    else:
        weight, total = np.ones(len(r.rank)), best.lengths.astype(np.float64)
    utility = np.where(gain > 0, weight * blended_ratio(r, gain, best, beta), 0.0)
    return np.asarray(r.sum_by_topic(utility) / total)


def positive_gains(
    r: JudgedRankings, gains: Gains
) -> tuple[JudgedRankings, FloatArray, IdealRankings]:
    """Return the rankings, the gain of each document, at least 0, and the ideal rankings."""
    r, gain = add_gains(r, gains)
    best = r.ideal_rankings(np.maximum(grade_gain(r.judged_grade, gains), 0))
    return r, np.maximum(gain, 0), best


def blended_ratio(
    r: JudgedRankings, gain: FloatArray, best: IdealRankings, beta: float
) -> FloatArray:
    """Return the blended ratio of Q-measure at each document."""
    count_weight = 1 / (1 + beta)
    blended_sum = count_weight * r.cumulative_sum(gain > 0) + (1 - count_weight) * r.cumulative_sum(
        gain
    )
    ideal_blended = count_weight * r.rank + (1 - count_weight) * best.sum_to_rank(
        best.gain, r.topic_index, r.rank
    )
    return np.asarray(blended_sum / ideal_blended)


def _first_mask(r: JudgedRankings, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which document is the first of the marked ones of its topic."""
    return np.asarray(mask & (r.cumulative_sum(mask) == 1))


def add_gains(
    r: JudgedRankings, gains: Gains, dcg: str = "log2", min_grade: int | None = None
) -> tuple[JudgedRankings, FloatArray]:
    """Return the rankings and the gain of each of their documents.

    The rankings include all documents if unjudged documents have a gain as well.
    """
    if any(level < 0 for level, _ in gains or ()):
        r = r.with_unjudged()
    return r, grade_gain(r.grade, gains, dcg, min_grade)


def rank_discount(rank: IntArray, cutoff: int | None, dcg: str, base: float) -> FloatArray:
    """Return the discount of each rank, 0 beyond the cutoff."""
    within_mask = cutoff_mask(rank, cutoff)
    if dcg == "log-base":
        return np.asarray(within_mask / np.maximum(np.log(rank) / np.log(base), 1))
    return np.asarray(within_mask / np.log2(rank + 1))
