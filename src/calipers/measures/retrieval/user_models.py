"""Measures based on user models: probabilities of continuing down a ranking, and gains."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from calipers.lazy_imports import numpy as np
from calipers.measures.grade_gains import Gains, grade_gain
from calipers.measures.retrieval.binary_relevance import cutoff_mask
from calipers.measures.retrieval.gains import ABOVE_SCALE, NO_GAIN, add_gains
from calipers.measures.retrieval.traits import ranking_measure
from calipers.statistics import FloatArray, IntArray, JudgedRankings
from calipers.statistics.rankings import IdealRankings, running_product


def persistence_weights(p: float, rank: IntArray) -> FloatArray:
    """Compute p^(rank − 1) by multiplication from rank to rank.

    This has the rounding of programs that multiply as well.
    """
    steps = np.full(int(rank.max(initial=1)), p)
    steps[0] = 1.0
    return np.asarray(np.cumprod(steps)[rank - 1])


@ranking_measure(
    "RBP",
    aliases=("rank_biased_precision",),
    ties="linear",
    reference="Moffat and Zobel 2008",
    undefined=ABOVE_SCALE,
)
def rank_biased_precision(
    r: JudgedRankings,
    p: float = 0.8,
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    gains: Gains = None,
    cutoff: int | None = None,
) -> FloatArray:
    """Rank-biased precision: (1 − p) Σ gain · p^(rank − 1).

    The user continues to the next document with probability p. ``gain`` is one of ``'binary'``, 1
    for relevant documents; ``'scale'``, the grade over ``max_grade``; ``'grade'``, the grade itself
    (or its entry in ``gains``), which can exceed 1; and ``'topic-max'``, the same, but scaled to
    [0, 1] over the grades of the topic if it leaves that range, as in trec_eval. It ranges from 0
    to 1 if gains do, and is undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """
    if gain in ("binary", "scale"):
        document_gains = _scale_gains(r, rel, gain, max_grade)
    else:
        r, document_gains = add_gains(r, gains)
        if gain == "topic-max":
            low, high = _gain_range(r, gains)
            stretch_mask = (low < 0) | (high > 1)
            low, high = np.where(stretch_mask, [low, high], [[0.0], [1.0]])[:, r.topic_index]
            has_gain_mask = (r.grade >= 0) | np.isin(r.grade, [grade for grade, _ in gains or ()])
            document_gains = np.where(
                has_gain_mask, (document_gains - low) / (high - low), document_gains
            )
    return (1 - p) * r.sum_by_topic(
        document_gains
        * r.map_ranks(lambda rank: cutoff_mask(rank, cutoff) * persistence_weights(p, rank))
    )


@ranking_measure(
    "compatibility",
    aliases=("compat",),
    perfect=1.0,
    undefined={"no_relevant": lambda r, _: r.n_relevant() == 0},
    reference="Clarke, Vtyurina and Smucker 2021",
)
def compatibility(r: JudgedRankings, cutoff: int = 1000, p: float = 0.95) -> FloatArray:
    """Compatibility: rank-biased overlap with the most similar ideal ranking, normalized.

    The overlap, down to rank k, is divided by the overlap of the ideal ranking with itself. An
    ideal ranking has the relevant documents by descending grade; documents of one grade are in the
    order of the ranking, which maximizes the overlap. A document adds to the overlap from the rank
    on where both rankings have it: Σ_i p^(i − 1)/i. It ranges from 0 to 1 and is undefined without
    relevant documents.
    """
    rank = np.arange(1, cutoff + 1)
    # From each rank on, 0 beyond the cutoff.
    tail_weights = np.append(np.cumsum((persistence_weights(p, rank) / rank)[::-1])[::-1], 0.0)
    hit_mask = r.hit_mask(1)
    ideal = r.ideal_rankings(np.maximum(r.judged_grade, 0).astype(np.float64))
    # Documents of one grade follow each other: its first place in the ideal list, and which of the
    # grade this is.
    order = np.lexsort((r.rank, -r.grade, r.topic_index))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(r.topic_index[order]) != 0) | (np.diff(r.grade[order]) != 0)
    start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    ideal_rank = np.empty(len(order), np.int64)
    ideal_rank[order] = np.arange(len(order)) - start
    base = int(r.max_grade.max(initial=0)) + 1
    topic = np.repeat(np.arange(len(r)), ideal.lengths)
    keys = topic * base + (base - 1 - ideal.gain.astype(np.int64))
    grade_offsets = np.searchsorted(keys, r.topic_index * base + (base - 1 - r.grade))
    ideal_rank += grade_offsets - ideal.offsets[r.topic_index] + 1
    joint_rank = np.minimum(np.maximum(ideal_rank, r.rank), cutoff + 1)
    return r.sum_by_topic(
        np.where(hit_mask, tail_weights[joint_rank - 1], 0.0)
    ) / ideal.sum_by_topic(tail_weights[np.minimum(ideal.rank, cutoff + 1) - 1])


def expected_reciprocal_rank_over_ties(
    r: JudgedRankings, cutoff: int | None = None, max_grade: int = 4
) -> FloatArray:
    """Compute the expected ERR over orders of tied documents.

    In a block, the probability that the user passes the first j documents is the mean of the
    product of their probabilities to be passed, over all choices of j documents. This is an
    elementary symmetric polynomial over its number of terms.
    """
    pass_probability = 1 - _stop_probability(grade_gain(r.grade), max_grade)
    out = np.zeros(len(r))
    for topic, (first, last) in enumerate(pairwise(r.offsets)):
        reach_probability = 1.0
        start = first
        while start < last:
            stop = start + int(
                np.searchsorted(r.tied_from[start:last], r.tied_from[start], "right")
            )
            size = int(r.tied_to[start] - r.tied_from[start] + 1)
            means = np.zeros(size + 1)
            means[0] = 1.0
            pass_probabilities = np.concatenate(
                [pass_probability[start:stop], np.ones(size - (stop - start))]
            )
            for n, probability in enumerate(pass_probabilities, 1):
                j = np.arange(1, n + 1)
                means[1 : n + 1] = ((n - j) * means[1 : n + 1] + j * probability * means[:n]) / n
            ranks = r.tied_from[start] + np.arange(size)
            out[topic] += reach_probability * np.sum(
                -np.diff(means) * cutoff_mask(ranks, cutoff) / ranks
            )
            reach_probability *= means[size]
            start = stop
    return out


@ranking_measure(
    "ERR",
    aliases=("expected_reciprocal_rank",),
    undefined=ABOVE_SCALE,
    ties=expected_reciprocal_rank_over_ties,
    reference="Chapelle, Metzler, Zhang and Grinspan 2009",
)
def expected_reciprocal_rank(
    r: JudgedRankings, cutoff: int | None = None, max_grade: int = 4
) -> FloatArray:
    """ERR (expected reciprocal rank): Σ θ/rank · Π (1 − θ of the documents above).

    A document satisfies the user with probability θ = (2^grade − 1) / 2^max_grade. The highest
    grade of the scale is 4 by default, as in the TREC web track; a topic with a higher grade is
    undefined. It ranges from 0 to 1. For classifiers ERR means the error rate, which is
    SetErrorRate of retrieved sets.
    """
    return _expected_reciprocal_rank(r, grade_gain(r.grade), cutoff, max_grade)


@ranking_measure(
    "nERR",
    aliases=("normalised_err",),
    perfect=1.0,
    undefined={**NO_GAIN, **ABOVE_SCALE},
    reference="ERR: Chapelle, Metzler, Zhang and Grinspan 2009",
)
def normalized_expected_reciprocal_rank(
    r: JudgedRankings, cutoff: int | None = None, max_grade: int = 4
) -> FloatArray:
    """Normalized expected reciprocal rank: ERR over that of the ideal list.

    The ideal list has all judged documents, in decreasing order of grade. It ranges from 0 to 1 and
    is undefined without relevant documents, or if a grade exceeds ``max_grade``.
    """  # noqa: D401  # a noun
    best = r.ideal_rankings(grade_gain(r.judged_grade))
    ideal_value = _expected_reciprocal_rank(best, best.gain, cutoff, max_grade)
    return expected_reciprocal_rank(r, cutoff, max_grade) / ideal_value


@ranking_measure("INST", undefined=ABOVE_SCALE, reference="Moffat, Bailey, Scholer and Thomas 2015")
def inst(
    r: JudgedRankings,
    T: float = 1.0,  # noqa: N803 - its name in the literature
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
    cutoff: int = 1000,
) -> FloatArray:
    """INST: the expected gain per document of a user who wants T relevant documents.

    The user becomes less patient as relevant documents are found and continues from rank i with
    probability ((i + T + Tᵢ − 1) / (i + T + Tᵢ))², where Tᵢ is T minus the cumulative gain down to
    i. The ranking ends at the cutoff. Gains are those of RBP. It ranges from 0 to 1 and is
    undefined if ``gain`` is ``'scale'`` and a grade exceeds ``max_grade``.
    """

    def value(gains: FloatArray, ranks: FloatArray) -> FloatArray:
        patience_terms = ranks + 2 * T - np.cumsum(gains, axis=1)
        continue_probability = ((patience_terms - 1) / patience_terms) ** 2
        view_probability = np.cumprod(
            np.concatenate(
                [np.ones((len(continue_probability), 1)), continue_probability[:, :-1]], axis=1
            ),
            axis=1,
        )
        return np.asarray((view_probability * gains).sum(axis=1) / view_probability.sum(axis=1))

    return _apply_dense(r, _scale_gains(r, rel, gain, max_grade), cutoff, value)


@ranking_measure(
    "BPM",
    aliases=("bejeweled",),
    undefined=ABOVE_SCALE,
    reference="Zhang, Liu, Li, Zhang, Xu and Ma 2017",
)
def bejeweled_player_model(
    r: JudgedRankings,
    cutoff: int,
    T: float = 1.0,  # noqa: N803 - its name in the literature
    rel: int = 1,
    gain: str = "binary",
    max_grade: int = 1,
) -> FloatArray:
    """Bejeweled player model, static: the gain per document of a user who stops at a gain of T.

    The user stops when the cumulative gain has reached T, or at rank k. Gains are those of RBP. It
    ranges from 0 to 1 and is undefined if ``gain`` is ``'scale'`` and a grade exceeds
    ``max_grade``.
    """
    document_gains = _scale_gains(r, rel, gain, max_grade)
    so_far = r.cumulative_sum(document_gains)
    reached_mask = (so_far >= T - 1e-9) & (so_far - document_gains < T - 1e-9) & (r.rank <= cutoff)
    stop = np.where(
        r.sum_by_topic(reached_mask) > 0, r.sum_by_topic(np.where(reached_mask, r.rank, 0)), cutoff
    )
    return r.sum_by_topic(document_gains * (r.rank <= stop[r.topic_index])) / stop


def _gain_range(r: JudgedRankings, gains: Gains) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest gain per topic.

    The gains are those of the grades from 0 to the highest grade of the topic, and all of
    ``gains``.
    """
    gain_by_grade = dict(gains or ())

    def next_unmapped_grade(grade: int, step: int) -> int:
        while grade in gain_by_grade:
            grade += step
        return grade

    highest = np.maximum(r.max_grade, 0)
    low, high = np.empty(len(r)), np.empty(len(r))
    for max_grade in np.unique(highest).tolist():
        extreme_grades = (next_unmapped_grade(0, 1), next_unmapped_grade(max_grade, -1))
        table = [
            *gain_by_grade.values(),
            *(grade for grade in extreme_grades if 0 <= grade <= max_grade),
        ]
        low[highest == max_grade], high[highest == max_grade] = min(table), max(table)
    return low, high


def _scale_gains(r: JudgedRankings, rel: int, gain: str, max_grade: int) -> FloatArray:
    """Return the gain of each document, from 0 to 1."""
    if gain == "binary":
        return (r.grade >= rel).astype(np.float64)
    return grade_gain(r.grade) / max_grade


def _stop_probability(gain: FloatArray, max_grade: int) -> FloatArray:
    """Return the probability that a document satisfies the user."""
    return (np.exp2(gain) - 1) / 2.0**max_grade


def _expected_reciprocal_rank(
    r: JudgedRankings | IdealRankings, gain: FloatArray, cutoff: int | None, max_grade: int
) -> FloatArray:
    """Compute the expected reciprocal rank of the document that satisfies the user."""
    stop_probability = _stop_probability(gain, max_grade)
    reach_probability = running_product(1 - stop_probability, r.offsets) / (1 - stop_probability)
    return r.sum_by_topic(
        stop_probability * reach_probability * cutoff_mask(r.rank, cutoff) / r.rank
    )


def _apply_dense(
    r: JudgedRankings,
    document_gains: FloatArray,
    depth: int,
    function: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Apply a function to the gains at ranks 1 to ``depth``, in blocks of topics."""
    ranks = np.arange(1.0, depth + 1)
    step = max(1, 1_000_000 // depth)
    out = np.zeros(len(r))
    for first in range(0, len(r), step):
        last = min(first + step, len(r))
        rows = slice(r.offsets[first], r.offsets[last])
        within_mask = r.rank[rows] <= depth
        gains = np.zeros((last - first, depth))
        gains[r.topic_index[rows][within_mask] - first, r.rank[rows][within_mask] - 1] = (
            document_gains[rows][within_mask]
        )
        out[first:last] = function(gains, ranks)
    return out
