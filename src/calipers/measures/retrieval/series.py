"""Measures of several rankings of a topic: of sessions, of random rankers, of two instructions.

A run has the topics ``topic/1``, ``topic/2``, …, all of which have the judgments of the topic.
Documents of equal score are ordered by id. A topic without rankings counts as if nothing had been
retrieved.

Measures of sessions add up what a user gains over the queries, whose numbers are their positions in
the session. A query that is missing before another one has retrieved nothing. A document that is
retrieved again gains again, as in the definitions. Measures of exposure are of the mean attention
that each document gets over the rankings: at rank r it is γ^(r − 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.measures.grade_gains import Gains, grade_gain
from calipers.measures.registration import measure
from calipers.measures.retrieval.binary_relevance import cutoff_mask
from calipers.measures.retrieval.gains import rank_discount
from calipers.statistics import FloatArray, IntArray, RankingSeries

if TYPE_CHECKING:
    import numpy.typing as npt

KANOULAS = "Järvelin et al. 2008; Kanoulas et al. 2011"
DIAZ = "Diaz et al. 2020"

session_measure = partial(
    measure, family="sessions", statistic=RankingSeries, higher_is_better=True
)
exposure_measure = partial(measure, family="exposure", statistic=RankingSeries, range=(0, math.inf))


@session_measure(
    "session-DCG", aliases=("session_DCG",), range=(0, math.inf), monotone=False, reference=KANOULAS
)
def session_dcg(
    s: RankingSeries,
    cutoff: int | None = None,
    dcg: str = "exp-log2",
    gains: Gains = None,
    base: float = 2.0,
    query_base: float = 4.0,
) -> FloatArray:
    """Session discounted cumulative gain (sDCG): Σ DCG of the j-th query / log_bq(j + bq − 1).

    Each DCG is cut at k, and bq is the ``query_base``. Gains and discounts are those of ``DCG``,
    with 2^grade − 1 by default, as in TREC's Session track. With ``dcg='log-base'`` also the
    discount of queries is that of Järvelin et al. 2008, 1 / (1 + log_bq j). It is 0 or more, and
    grows with the number of queries.
    """
    gain = grade_gain(s.grade, gains, dcg)[s.cell_document]
    rank = np.maximum(s.rank, 1)
    discount = np.where(s.rank > 0, rank_discount(rank, cutoff, dcg, base), 0.0)
    dcg_by_ranking = s.sum_by_ranking(gain * discount)
    return s.sum_by_topic(dcg_by_ranking * _query_discount(s.position, dcg, query_base))


def _no_gain_mask(s: RankingSeries, p: Mapping[str, Any]) -> Any:
    """Return where no judged document has a positive gain."""
    return s.sum_documents(grade_gain(s.grade, p["gains"], p["dcg"]) > 0) == 0


@session_measure(
    "nsDCG",
    aliases=("session-nDCG",),
    range=(0, 1),
    perfect=1.0,
    monotone=False,
    undefined={"no_gain": _no_gain_mask},
    reference=KANOULAS,
)
def normalized_session_dcg(
    s: RankingSeries,
    cutoff: int | None = None,
    dcg: str = "exp-log2",
    gains: Gains = None,
    base: float = 2.0,
    query_base: float = 4.0,
) -> FloatArray:
    """Normalized session DCG: session-DCG over that of the ideal ranking for every query.

    The ideal session has as many queries as the number of the last one. It ranges from 0 to 1.
    """  # noqa: D401  # a noun
    ideal_gain, ideal_rank = s.ideal_gains(np.maximum(grade_gain(s.grade, gains, dcg), 0))
    ideal = s.sum_documents(ideal_gain * rank_discount(ideal_rank, cutoff, dcg, base))
    last = _last_positions(s)
    weights = _query_discount(np.arange(1, int(last.max(initial=1)) + 1), dcg, query_base)
    total = np.cumsum(weights)[last - 1]
    return session_dcg(s, cutoff, dcg, gains, base, query_base) / (ideal * total)


@session_measure(
    "sRBP", aliases=("session-RBP",), range=(0, 1), reference="Lipani, Carterette and Yilmaz 2019"
)
def session_rbp(
    s: RankingSeries,
    cutoff: int | None = None,
    rel: int = 1,
    p: float = 0.8,
    balance: float = 0.5,
) -> FloatArray:
    """Session rank-biased precision: (1 − p) Σ q^(j − 1) (bp)^(r − 1) over relevant documents.

    j is the query and r the rank. After a document the user goes on to the next one with
    probability bp, where b is the ``balance``, else to the next query with probability
    q = (p − bp)/(1 − bp). With b = 1 it is RBP of the first query, with b = 0 only first documents
    count. It ranges from 0 to 1.
    """
    within = balance * p
    between = (p - within) / (1 - within)
    hit_mask = (s.grade >= rel)[s.cell_document] & (s.rank > 0)
    exponent = np.maximum(s.rank, 1) - 1.0
    utility = np.where(hit_mask, within**exponent, 0.0) * cutoff_mask(np.maximum(s.rank, 1), cutoff)
    return (1 - p) * s.sum_by_topic(s.sum_by_ranking(utility) * between ** (s.position - 1.0))


@exposure_measure("EE-D", aliases=("EE_D", "disparity"), higher_is_better=None, reference=DIAZ)
def exposure_disparity(s: RankingSeries, patience: float = 0.5) -> FloatArray:
    """Disparity of expected exposure: the sum of its squares over the judged documents.

    The expected exposure of a document is the mean of γ^(rank − 1) over the rankings, and γ is the
    ``patience``. It is smallest if all documents are equally exposed, and from 0 to 1/(1 − γ²).
    """
    return s.sum_documents(_exposure(s, patience) ** 2)


@exposure_measure("EE-R", aliases=("EE_R",), higher_is_better=True, reference=DIAZ)
def exposure_relevance(s: RankingSeries, patience: float = 0.5) -> FloatArray:
    """Relevance of expected exposure: the sum over documents of exposure · target exposure.

    The target is the expected exposure under all rankings of the judged documents in descending
    order of grades, so that documents of equal grade share their ranks. It is from 0 to 1/(1 − γ²).
    """
    return s.sum_documents(_exposure(s, patience) * _target_exposure(s, patience))


@exposure_measure(
    "EE-L", aliases=("EE_L", "expected-exposure-loss"), higher_is_better=False, perfect=0.0,
    reference=DIAZ,
)  # fmt: skip
def exposure_loss(s: RankingSeries, patience: float = 0.5) -> FloatArray:
    """Expected exposure loss: the squared distance of the exposure of documents to its target.

    It is EE-D − 2·EE-R plus the sum of the squares of the target exposure, and 0 or more. A single
    ranking has a loss wherever documents of equal grade share the target.
    """  # noqa: D401  # a noun
    return s.sum_documents((_exposure(s, patience) - _target_exposure(s, patience)) ** 2)


@measure(
    "p-MRR",
    family="instructions",
    statistic=RankingSeries,
    higher_is_better=True,
    range=(-1, 1),
    undefined={
        "no_relevant": lambda s, p: s.sum_documents(s.grade >= p["rel"]) == 0,
        "not_two_rankings": lambda s, p: ~_two_rankings_mask(s),
    },
    monotone=False,
    reference="Weller et al. 2025",
)
def pairwise_mrr(s: RankingSeries, rel: int = 1) -> FloatArray:
    """Pairwise MRR: how much lower documents rank once an instruction excludes them.

    Ranking 1 is by the original instruction and ranking 2 by the changed one; documents with a
    grade of ``rel`` or more are those that the change made irrelevant. Of a document with the ranks
    a and b it is 1 − a/b if b is lower, else b/a − 1; it is averaged over the documents. One that
    is not retrieved has the rank below all others. It ranges from −1 to 1, and 0 means that
    the instruction changes nothing.
    """
    sizes = np.diff(s.cells)
    below = np.repeat(s.length + 1, sizes)
    rank = np.where(s.rank > 0, s.rank, below).astype(np.float64)
    counted = np.repeat(_two_rankings_mask(s)[s.ranking_topic], sizes)
    position = np.repeat(s.position, sizes)
    first, second = np.ones(len(s.grade)), np.ones(len(s.grade))
    for number, target in ((1, first), (2, second)):
        mask = counted & (position == number)
        target[s.cell_document[mask]] = rank[mask]
    change = np.where(second > first, 1 - first / second, second / first - 1)
    relevant_mask = s.grade >= rel
    return s.sum_documents(change * relevant_mask) / s.sum_documents(relevant_mask)


def _two_rankings_mask(s: RankingSeries) -> npt.NDArray[np.bool_]:
    """Return which topics have the rankings 1 and 2 and no other one."""
    sums = s.sum_by_topic(s.position) == 3
    return np.asarray((s.n_rankings == 2) & sums)


def _query_discount(position: IntArray, dcg: str, query_base: float) -> FloatArray:
    """Return the discount of queries by their position in the session, from 1."""
    if dcg == "log-base":
        return np.asarray(1 / (1 + np.log(position) / np.log(query_base)))
    return np.asarray(np.log(query_base) / np.log(position + query_base - 1))


def _last_positions(s: RankingSeries) -> IntArray:
    """Return the number of the last ranking of each topic; 1 without rankings."""
    last = np.append(s.position, 1)[s.rankings[1:] - 1]
    return np.where(s.n_rankings > 0, last, 1)


def _exposure(s: RankingSeries, patience: float) -> FloatArray:
    """Return the expected exposure of each judged document."""
    exponent = np.maximum(s.rank, 1) - 1.0
    return s.mean_by_document(np.where(s.rank > 0, patience**exponent, 0.0))


def _target_exposure(s: RankingSeries, patience: float) -> FloatArray:
    """Return the target exposure of each judged document: the mean over the ranks of its grade."""
    grade = np.maximum(s.grade, 0)
    keys = s.document_topic * (int(grade.max(initial=0)) + 1) + (grade.max(initial=0) - grade)
    groups, group = np.unique(keys, return_inverse=True)
    order = np.argsort(keys, kind="stable")
    rank = np.arange(len(order)) - s.documents[s.document_topic]
    exposure = patience ** rank.astype(np.float64)
    means = np.bincount(group[order], exposure, len(groups)) / np.bincount(
        group, minlength=len(groups)
    )
    return np.asarray(means[group], np.float64)
