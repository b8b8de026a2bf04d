"""Diversity measures of rankings: coverage of several subtopics without redundancy.

Judgments are per subtopic. Grades of ``rel`` or more are relevant, and S is the number of subtopics
with a relevant document; the other subtopics are ignored. A topic without such a subtopic is
undefined. These are the conventions of ndeval, the program of TREC's Web tracks.

The gain of a document decreases with the documents ranked above it: for a subtopic that j documents
above are relevant to, a further relevant document gains (1 − α)^j. Normalized measures, with an
``n``, divide by the value of an ideal list of all judged documents. Finding the best list is
NP-complete, so the ideal list is greedy: at each rank it has the document of the largest gain
there, with ties resolved in favor of the last id, bytewise. The greedy list has at least 1 − 1/e of
the best value at any cutoff, so these measures can exceed 1, but not e/(e − 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.lazy_imports import numpy as np
from calipers.measures.grade_gains import Gains, grade_gain
from calipers.measures.registration import measure
from calipers.measures.retrieval.assessor_groups import NO_RELEVANT
from calipers.measures.retrieval.binary_relevance import cutoff_mask
from calipers.measures.retrieval.gains import p_plus, q_measure
from calipers.statistics import FloatArray, GroupedRankings, IntArray
from calipers.statistics.rankings import running_product, segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt

CLARKE = "Clarke et al. 2008"
#: End of the names of navigational intents.
NAVIGATIONAL = "/nav"
Discount: TypeAlias = "Callable[[npt.NDArray[np.int64]], FloatArray]"

diversity_measure = partial(
    measure,
    family="diversity",
    statistic=GroupedRankings,
    higher_is_better=True,
    range=(0, 1),
    undefined=NO_RELEVANT,
)
#: Measures against a greedy ideal list.
ideal_normalized_measure = partial(diversity_measure, range=(0, 1 / (1 - math.exp(-1))))


@diversity_measure("alpha-DCG", aliases=("alpha_DCG", "α_DCG", "α-DCG"), reference=CLARKE)
def alpha_dcg(g: GroupedRankings, cutoff: int, rel: int = 1, alpha: float = 0.5) -> FloatArray:
    """Novelty-biased discounted cumulative gain: Σ (1 − α)^j / log₂(rank + 1), normalized.

    The sum is over the first k documents and the subtopics that they are relevant to. It is divided
    by the value of k documents that are relevant to all S subtopics, whether or not such documents
    exist. It ranges from 0 to 1.
    """
    return _normalize_by_maximum(g, cutoff, rel, alpha, _log_discount)


@ideal_normalized_measure(
    "alpha-nDCG", aliases=("alpha_nDCG", "α_nDCG", "α-nDCG"), reference=CLARKE
)
def alpha_ndcg(
    g: GroupedRankings, cutoff: int | None = None, rel: int = 1, alpha: float = 0.5
) -> FloatArray:
    """Novelty-biased nDCG: alpha-DCG over that of the greedy ideal list, both cut at k.

    It ranges from 0 to e/(e − 1).
    """
    return _normalize_by_ideal(g, cutoff, rel, alpha, _log_discount)


@diversity_measure("ERR-IA", aliases=("ERR_IA",), reference="Chapelle et al. 2009")
def err_ia(g: GroupedRankings, cutoff: int, rel: int = 1, alpha: float = 0.5) -> FloatArray:
    """Intent-aware expected reciprocal rank: Σ (1 − α)^j / rank, normalized.

    The sum is over the first k documents and the subtopics that they are relevant to. α is the
    probability that a relevant document satisfies a user interested in the subtopic. The sum is
    divided by the value of k documents that are relevant to all S subtopics, whether or not such
    documents exist. It ranges from 0 to 1.
    """
    return _normalize_by_maximum(g, cutoff, rel, alpha, _reciprocal_discount)


@ideal_normalized_measure(
    "nERR-IA", aliases=("nERR_IA",), reference="ndeval, after Chapelle et al. 2009"
)
def nerr_ia(
    g: GroupedRankings, cutoff: int | None = None, rel: int = 1, alpha: float = 0.5
) -> FloatArray:
    """Normalized intent-aware expected reciprocal rank: ERR-IA over that of the greedy ideal list.

    Both are cut at k. It ranges from 0 to e/(e − 1).
    """  # noqa: D401  # a noun
    return _normalize_by_ideal(g, cutoff, rel, alpha, _reciprocal_discount)


@diversity_measure("NRBP", reference="Clarke, Kolla and Vechtomova 2009")
def nrbp(g: GroupedRankings, rel: int = 1, alpha: float = 0.5, patience: float = 0.5) -> FloatArray:
    """Novelty- and rank-biased precision: (1 − (1 − α)β)/S · Σ (1 − α)^j β^(rank − 1).

    The sum is over the retrieved documents and the subtopics that they are relevant to. β, the
    ``patience``, is the probability that the user continues to the next document. It ranges from 0
    to 1.
    """
    subtopics = g.n_groups_with_relevant(rel)
    total = _discounted_gain(g, None, rel, alpha, partial(_geometric_discount, patience))
    return (1 - (1 - alpha) * patience) * total / subtopics


@ideal_normalized_measure("nNRBP", reference="ndeval, after Clarke, Kolla and Vechtomova 2009")
def nnrbp(
    g: GroupedRankings, rel: int = 1, alpha: float = 0.5, patience: float = 0.5
) -> FloatArray:
    """Normalized novelty- and rank-biased precision: NRBP over that of the greedy ideal list.

    It ranges from 0 to e/(e − 1).
    """  # noqa: D401  # a noun
    return _normalize_by_ideal(g, None, rel, alpha, partial(_geometric_discount, patience))


@diversity_measure("P-IA", aliases=("P_IA",), reference="Clarke, Craswell and Soboroff 2009")
def precision_ia(g: GroupedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Intent-aware precision at k: the mean of P@k over the S subtopics.

    It ranges from 0 to 1.
    """
    retrieved = _RetrievedJudgments(g, rel, cutoff)
    return retrieved.sum(np.ones(len(retrieved.rank))) / (cutoff * g.n_groups_with_relevant(rel))


@diversity_measure("AP-IA", aliases=("AP_IA", "MAP_IA", "MAP-IA"), reference="Agrawal et al. 2009")
def average_precision_ia(g: GroupedRankings, cutoff: int | None = None, rel: int = 1) -> FloatArray:
    """Intent-aware average precision: the mean of AP over the S subtopics (within the cutoff).

    It ranges from 0 to 1.
    """
    retrieved = _RetrievedJudgments(g, rel, cutoff)
    relevant = g.n_relevant_by_group(rel)[retrieved.group]
    precision = (retrieved.n_relevant_above + 1) / retrieved.rank
    return retrieved.sum(precision / relevant) / g.n_groups_with_relevant(rel)


@diversity_measure(
    "StRecall",
    aliases=("strec", "subtopic_recall", "S-recall", "I-rec"),
    perfect=1.0,
    reference="Zhai et al. 2003",
)
def subtopic_recall(g: GroupedRankings, cutoff: int | None = None, rel: int = 1) -> FloatArray:
    """Subtopic recall: the proportion of the S subtopics with a relevant document in the first k.

    It ranges from 0 to 1.
    """
    retrieved = _RetrievedJudgments(g, rel, cutoff)
    return retrieved.sum(retrieved.n_relevant_above == 0) / g.n_groups_with_relevant(rel)


@diversity_measure("D-nDCG", aliases=("D_nDCG",), perfect=1.0, reference="Sakai and Song 2011")
def d_ndcg(
    g: GroupedRankings, cutoff: int | None = None, rel: int = 1, gains: Gains = None
) -> FloatArray:
    """D-nDCG: nDCG of global gains, a document's gains summed over the subtopics.

    The gain of a document for a subtopic is its grade, unless ``gains`` maps the grade to another
    gain, and 0 below ``rel``. All subtopics of a topic are equally probable. The discount is
    1 / log₂(rank + 1), and the ideal list has all judged documents in decreasing order of global
    gain, cut at k. It ranges from 0 to 1.
    """
    gain = _intent_gain(g, rel, gains)
    return _global_gain_ndcg(g, cutoff, gain, gain)


@diversity_measure(
    "D#-nDCG",
    aliases=("D♯-nDCG", "D_sharp_nDCG"),
    perfect=1.0,
    reference="Sakai and Song 2011",
)
def d_sharp_ndcg(
    g: GroupedRankings,
    cutoff: int | None = None,
    rel: int = 1,
    gamma: float = 0.5,
    gains: Gains = None,
) -> FloatArray:
    """D♯-nDCG: γ·I-rec + (1 − γ)·D-nDCG, the diversity and the relevance of the first k documents.

    I-rec is subtopic recall, StRecall. It ranges from 0 to 1.
    """
    diversity, relevance = subtopic_recall(g, cutoff, rel), d_ndcg(g, cutoff, rel, gains)
    return gamma * diversity + (1 - gamma) * relevance


@diversity_measure("DIN-nDCG", aliases=("DIN_nDCG",), monotone=False, reference="Sakai 2012")
def din_ndcg(
    g: GroupedRankings, cutoff: int | None = None, rel: int = 1, gains: Gains = None
) -> FloatArray:
    """DIN-nDCG: D-nDCG in which a navigational intent is satisfied by its first document.

    Subtopics whose name ends in ``/nav`` are navigational: of the documents that are relevant to
    one, only that with the highest rank gains. All other subtopics are informational, and have the
    gains of D-nDCG. The ideal list is that of D-nDCG, so that the value is at most D-nDCG, and may
    be less than 1 for every ranking. It ranges from 0 to 1.
    """
    gain, rank = _intent_gain(g, rel, gains), g.rank[g.rank_index]
    hit_mask = (rank > 0) & (g.level >= rel)
    first_rank = np.full(len(g.group_names), np.iinfo(np.int64).max)
    np.minimum.at(first_rank, g.judgment_group[hit_mask], rank[hit_mask])
    redundant_mask = _navigational_mask(g)[g.judgment_group] & (rank > first_rank[g.judgment_group])
    return _global_gain_ndcg(g, cutoff, np.where(redundant_mask, 0.0, gain), gain)


@diversity_measure(
    "DIN#-nDCG",
    aliases=("DIN♯-nDCG", "DIN_sharp_nDCG"),
    monotone=False,
    reference="Sakai 2012",
)
def din_sharp_ndcg(
    g: GroupedRankings,
    cutoff: int | None = None,
    rel: int = 1,
    gamma: float = 0.5,
    gains: Gains = None,
) -> FloatArray:
    """DIN♯-nDCG: γ·I-rec + (1 − γ)·DIN-nDCG, for navigational and informational intents.

    I-rec is subtopic recall, StRecall. It ranges from 0 to 1.
    """
    diversity, relevance = subtopic_recall(g, cutoff, rel), din_ndcg(g, cutoff, rel, gains)
    return gamma * diversity + (1 - gamma) * relevance


@diversity_measure("P+Q", aliases=("P_plus_Q",), monotone=False, reference="Sakai 2012")
def p_plus_q(
    g: GroupedRankings,
    cutoff: int | None = None,
    rel: int = 1,
    beta: float = 1.0,
    gains: Gains = None,
) -> FloatArray:
    """P+Q: the mean over the subtopics of Q-measure, or of P⁺ for navigational intents.

    Subtopics whose name ends in ``/nav`` are navigational, with users who stop at the best document
    that is retrieved; those of all others read on. Both are cut at k, and documents below ``rel``
    gain nothing. All S subtopics are equally probable. It ranges from 0 to 1.
    """
    counted_mask = g.n_relevant_by_group(rel) > 0
    rankings = replace(g, level=np.where(g.level >= rel, g.level, 0.0)).group_rankings
    if cutoff is not None:
        rankings = rankings.truncate(cutoff)
    value = np.zeros(len(g.group_names))
    is_navigational = _navigational_mask(g)
    for mask, formula in (
        (counted_mask & is_navigational, partial(p_plus, beta=beta, gains=gains)),
        (
            counted_mask & ~is_navigational,
            partial(q_measure, cutoff=cutoff, beta=beta, gains=gains),
        ),
    ):
        # Without a gain, as of grades that ``gains`` maps to 0, a subtopic has 0.
        value[mask] = np.nan_to_num(formula(rankings.take_topics(mask)))
    return g.sum_by_topic(value) / g.n_groups_with_relevant(rel)


@diversity_measure(
    "P+Q#", aliases=("P+Q♯", "P_plus_Q_sharp"), monotone=False, reference="Sakai 2012"
)
def p_plus_q_sharp(
    g: GroupedRankings,
    cutoff: int | None = None,
    rel: int = 1,
    gamma: float = 0.5,
    beta: float = 1.0,
    gains: Gains = None,
) -> FloatArray:
    """P+Q♯: γ·I-rec + (1 − γ)·P+Q, the diversity and the relevance of the first k documents.

    I-rec is subtopic recall, StRecall. It ranges from 0 to 1.
    """
    diversity, relevance = subtopic_recall(g, cutoff, rel), p_plus_q(g, cutoff, rel, beta, gains)
    return gamma * diversity + (1 - gamma) * relevance


@diversity_measure(
    "RBU",
    aliases=("rank-biased-utility",),
    # Its ends depend on the parameters; intervals within those of all would be far too wide.
    range=(-1, math.inf),
    reference="Amigó, Spina and Carrillo-de-Albornoz 2018",
)
def rank_biased_utility(
    g: GroupedRankings,
    cutoff: int | None = None,
    rel: int = 1,
    p: float = 0.8,
    effort: float = 0.03,
) -> FloatArray:
    """Rank-biased utility: (1 − p) Σ p^(rank − 1) · (utility of the document − effort).

    The sum is over the retrieved documents. The utility of a document is the mean over the S
    subtopics of θ·Π (1 − θ of the documents above), where θ = (2^grade − 1) / 2^m for the highest
    grade m of the subtopic, so that what a user has seen is useless. The effort of reading a
    document counts against rankings that go on without use. It ranges from −effort to 1 − p,
    and is 0 if nothing is retrieved.
    """
    highest = np.zeros(len(g.group_names))
    np.maximum.at(highest, g.judgment_group, g.level)
    level = np.where(g.level >= rel, np.maximum(g.level, 0.0), 0.0)
    theta = (np.exp2(level) - 1) / np.exp2(highest[g.judgment_group])
    rank, rows = g.rank[g.rank_index], np.lexsort((g.rank[g.rank_index], g.judgment_group))
    rows = rows[rank[rows] > 0]
    offsets = np.searchsorted(g.judgment_group[rows], np.arange(len(g.group_names) + 1))
    passed = running_product(1 - theta[rows], offsets) / (1 - theta[rows])
    within_mask = cutoff_mask(rank[rows], cutoff)
    utility = theta[rows] * passed * within_mask * p ** (rank[rows] - 1.0)
    subtopics = g.n_groups_with_relevant(rel)
    total = g.sum_by_topic(segment_sum(utility, offsets)) / subtopics
    n_read = g.retrieved if cutoff is None else np.minimum(g.retrieved, cutoff)
    return np.asarray((1 - p) * total - effort * (1 - p**n_read))


class _RetrievedJudgments:
    """Relevant judgments of retrieved documents, within the cutoff.

    For each judgment these are the rank, the group, and ``n_relevant_above``, the number of
    relevant documents of the group that are ranked above.
    """

    def __init__(self, g: GroupedRankings, rel: int, cutoff: int | None) -> None:
        rank, group = g.rank[g.rank_index], g.judgment_group
        rows = np.flatnonzero((g.level >= rel) & (rank > 0))
        rows = rows[np.lexsort((rank[rows], group[rows]))]
        self.rank, self.group = rank[rows], group[rows]
        position = np.arange(len(rows))
        self.n_relevant_above = position - np.searchsorted(self.group, self.group)
        if cutoff is not None:
            within_mask = self.rank <= cutoff
            self.rank, self.group, self.n_relevant_above = (
                a[within_mask] for a in (self.rank, self.group, self.n_relevant_above)
            )
        self._rankings = g

    def sum(self, values: npt.NDArray[np.generic]) -> FloatArray:
        """Sum a value per judgment within each topic."""
        group_sums = np.bincount(self.group, values, minlength=len(self._rankings.group_names))
        return self._rankings.sum_by_topic(group_sums)


def _navigational_mask(g: GroupedRankings) -> npt.NDArray[np.bool_]:
    """Return which groups are navigational intents, by their names."""
    return np.array([name.endswith(NAVIGATIONAL) for name in g.group_names], bool)


def _intent_gain(g: GroupedRankings, rel: int, gains: Gains) -> FloatArray:
    """Return the gain of each judgment, 0 below the lowest relevant grade."""
    return np.where(g.level >= rel, np.maximum(grade_gain(g.level, gains), 0), 0.0)


def _global_gain_ndcg(
    g: GroupedRankings, cutoff: int | None, gain: FloatArray, ideal_gain: FloatArray
) -> FloatArray:
    """Compute nDCG of gains of judgments, summed by document, by an ideal list of its own gains."""
    topic = np.repeat(np.arange(len(g)), np.diff(g.documents))
    global_gain, ideal_global_gain = (
        np.bincount(g.rank_index, x, minlength=len(g.rank)) for x in (gain, ideal_gain)
    )
    order = np.lexsort((-ideal_global_gain, topic))
    ideal_rank = np.arange(len(order)) - g.documents[topic] + 1

    def discounted(gain: npt.NDArray[Any], rank: IntArray) -> FloatArray:
        within_mask = (rank > 0) & (cutoff_mask(rank, cutoff) > 0)
        discount = np.where(within_mask, _log_discount(np.maximum(rank, 1)), 0.0)
        return segment_sum(gain * discount, g.documents)

    return discounted(global_gain, g.rank) / discounted(ideal_global_gain[order], ideal_rank)


def _discounted_gain(
    g: GroupedRankings, cutoff: int | None, rel: int, alpha: float, discount: Discount
) -> FloatArray:
    """Compute the discounted gain of the retrieved documents per topic."""
    retrieved = _RetrievedJudgments(g, rel, cutoff)
    return retrieved.sum((1.0 - alpha) ** retrieved.n_relevant_above * discount(retrieved.rank))


def _normalize_by_maximum(
    g: GroupedRankings, cutoff: int, rel: int, alpha: float, discount: Discount
) -> FloatArray:
    ranks = np.arange(1, cutoff + 1)
    max_gain = np.sum((1.0 - alpha) ** (ranks - 1) * discount(ranks))
    return _discounted_gain(g, cutoff, rel, alpha, discount) / (
        g.n_groups_with_relevant(rel) * max_gain
    )


def _normalize_by_ideal(
    g: GroupedRankings, cutoff: int | None, rel: int, alpha: float, discount: Discount
) -> FloatArray:
    ideal_rankings = replace(g, rank=_greedy_ideal_ranks(g, cutoff, rel, alpha))
    return _discounted_gain(g, cutoff, rel, alpha, discount) / _discounted_gain(
        ideal_rankings, cutoff, rel, alpha, discount
    )


def _greedy_ideal_ranks(g: GroupedRankings, cutoff: int | None, rel: int, alpha: float) -> IntArray:
    """Return the rank of each judged document in the greedy ideal list, 0 beyond the cutoff."""
    rank = np.zeros(len(g.rank), np.int64)
    relevant_mask = g.level >= rel
    for t in range(len(g)):
        rows = slice(g.judgments[g.groups[t]], g.judgments[g.groups[t + 1]])
        hits = np.flatnonzero(relevant_mask[rows]) + rows.start
        documents, document_index = np.unique(g.rank_index[hits], return_inverse=True)
        coverage = np.zeros((len(documents), g.groups[t + 1] - g.groups[t]))
        coverage[document_index, g.judgment_group[hits] - g.groups[t]] = 1.0
        subtopic_weight, remaining_mask = np.ones(coverage.shape[1]), np.ones(len(documents), bool)
        for next_rank in range(1, 1 + min(len(documents), cutoff or len(documents))):
            gain = np.where(remaining_mask, coverage @ subtopic_weight, -1.0)
            # Sums of the same terms can differ in their last bits.
            best = np.flatnonzero(gain >= gain.max() * (1 - 1e-12))[-1]
            rank[documents[best]] = next_rank
            remaining_mask[best] = False
            subtopic_weight[coverage[best] > 0] *= 1.0 - alpha
    return rank


def _log_discount(rank: IntArray) -> FloatArray:
    return 1 / np.log2(rank + 1)


def _reciprocal_discount(rank: IntArray) -> FloatArray:
    return 1 / rank


def _geometric_discount(patience: float, rank: IntArray) -> FloatArray:
    return np.asarray(patience ** (rank - 1.0), np.float64)
