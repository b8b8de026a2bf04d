"""Measures for incomplete judgments, and the judged fraction of rankings."""

from __future__ import annotations

from calipers.lazy_imports import numpy as np
from calipers.measures.retrieval.sets import NOTHING_RETRIEVED
from calipers.measures.retrieval.traits import NO_RELEVANT, ranking_measure, relevance_measure
from calipers.measures.retrieval.user_models import persistence_weights
from calipers.statistics import FloatArray, JudgedRankings

#: Smoothing constant of proportions of relevant documents, so that 0/0 is defined.
EPSILON = 1e-5
BPREF = "Buckley and Voorhees 2004, as corrected in trec_eval 8"


def bpref_over_ties(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Compute the expected bpref over orders of tied documents.

    Among the n judged non-relevant documents of a block, each number from 0 to n is equally likely
    to be ranked above a relevant document.
    """
    hit_mask = r.hit_mask(rel)
    relevant, min_n_r = _bpref_counts(r, rel)
    n_nonrelevant_above, tied = r.count_ties((r.grade >= 0) & ~hit_mask)
    min_n_r, n_relevant = min_n_r[r.topic_index], relevant[r.topic_index]
    # Σ min(above + i, R) for i from 0 to n: an arithmetic series until R is reached.
    n_below_limit = np.clip(n_relevant - n_nonrelevant_above, 0, tied + 1)
    total = (
        n_below_limit * n_nonrelevant_above
        + n_below_limit * (n_below_limit - 1) / 2
        + (tied + 1 - n_below_limit) * n_relevant
    )
    mean = total / (tied + 1)
    penalty = np.where(min_n_r > 0, mean / np.maximum(min_n_r, 1), 0.0)
    return r.sum_by_topic(np.where(hit_mask, 1 - penalty, 0.0)) / relevant


@relevance_measure("Bpref", ties=bpref_over_ties, reference=BPREF)
def bpref(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Binary preference: (1/R) Σ 1 − min(n, R)/min(N, R) over the relevant documents retrieved.

    n is the number of judged non-relevant documents ranked above, and N the number of all judged
    non-relevant documents. Unjudged documents are ignored. It ranges from 0 to 1 and is undefined
    without relevant documents.
    """
    hit_mask = r.hit_mask(rel)
    relevant, min_n_r = _bpref_counts(r, rel)
    n_nonrelevant_above = np.minimum(
        r.cumulative_sum((r.grade >= 0) & ~hit_mask), relevant[r.topic_index]
    )
    penalty = n_nonrelevant_above / np.maximum(min_n_r[r.topic_index], 1)
    return r.sum_by_topic(np.where(hit_mask, 1 - penalty, 0.0)) / relevant


@relevance_measure("gm-Bpref", aliases=("gm_bpref",), summary="geometric", ties=bpref_over_ties)
def geometric_bpref(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Binary preference, summarized by its geometric mean over topics.

    Values below 0.00001 are replaced by 0.00001, as for gm-AP. It is undefined without relevant
    documents.
    """
    return bpref(r, rel=rel)


@ranking_measure(
    "infAP",
    aliases=("inferred_AP",),
    undefined=NO_RELEVANT,
    monotone=False,
    needs_pool=True,
    reference="Yilmaz and Aslam 2006",
)
def inferred_average_precision(
    r: JudgedRankings, rel: int = 1, smoothing: float = 2.0
) -> FloatArray:
    """Inferred average precision: AP estimated from a random sample of judgments.

    A negative grade marks a pooled document that was not sampled. The judgments have to list these,
    since the measure is AP without them. A relevant document at rank i adds 1/i + (d/i)(r + ε)/(r +
    s + cε): d pooled documents are ranked above it, r judged relevant and s judged non-relevant, ε
    = 10⁻⁵; at the first rank it adds 1. The sum is divided by R. Documents outside the pool count
    as non-relevant. The ``smoothing`` c is 2 as in trec_eval; sample_eval has 3. It ranges from 0
    to 1 and is undefined without relevant documents.
    """
    hit_mask = r.hit_mask(rel)
    n_relevant_above = r.cumulative_sum(hit_mask) - hit_mask
    n_nonrelevant = r.cumulative_sum((r.grade >= 0) & ~hit_mask)
    n_pooled_above = r.cumulative_sum(np.ones(len(r.rank), bool)) - 1
    relevant_proportion = (n_relevant_above + EPSILON) / (
        n_relevant_above + n_nonrelevant + smoothing * EPSILON
    )
    precision = (1 + np.where(r.rank > 1, n_pooled_above * relevant_proportion, 0.0)) / r.rank
    return r.sum_by_topic(np.where(hit_mask, precision, 0.0)) / r.n_relevant(rel)


@ranking_measure(
    "Judged",
    higher_is_better=None,
    undefined=NOTHING_RETRIEVED,
    ties="linear",
    is_order_free=True,
)
def judged_fraction(r: JudgedRankings, cutoff: int | None = None) -> FloatArray:
    """Judged fraction, the proportion of judged documents among the first k.

    If fewer documents were retrieved, it is the proportion among these. It ranges from 0 to 1 and
    is undefined if nothing was retrieved.
    """
    depth = r.retrieved if cutoff is None else np.minimum(r.retrieved, cutoff)
    return _n_judged_within(r, cutoff) / depth


@ranking_measure("Unjudged", aliases=("unj", "hole"), higher_is_better=None, ties="linear")
def unjudged_fraction(r: JudgedRankings, cutoff: int) -> FloatArray:
    """Unjudged documents among the first k, divided by k.

    If fewer documents were retrieved, the missing documents count as judged. It ranges from 0 to 1.
    """
    return (np.minimum(r.retrieved, cutoff) - _n_judged_within(r, cutoff)) / cutoff


@ranking_measure(
    "RBP-residual",
    aliases=("rbp_residual",),
    higher_is_better=None,
    ties="linear",
    reference="Moffat and Zobel 2008",
)
def rbp_residual(r: JudgedRankings, p: float = 0.8, tail: str = "always") -> FloatArray:
    """Residual of rank-biased precision: the possible increase of RBP.

    It is how much RBP would increase if all unjudged documents, and all documents below the end of
    the ranking, were relevant: pⁿ for those below the n documents of the ranking, and (1 − p)
    p^(rank − 1) for each unjudged document of the ranking. With ``tail='with-unjudged'`` it is 0 if
    no document is unjudged, as in trec_eval. It ranges from 0 to 1.
    """
    judged = r.grade >= 0
    judged_weight = r.sum_by_topic(judged * r.map_ranks(lambda rank: persistence_weights(p, rank)))
    cumulative_weights = np.concatenate(
        [[0.0], np.cumsum(persistence_weights(p, np.arange(1, r.retrieved.max(initial=0) + 1)))]
    )
    has_unjudged = r.sum_by_topic(judged) < r.retrieved
    ranked_residual = np.where(
        has_unjudged,
        np.maximum((1 - p) * (cumulative_weights[r.retrieved] - judged_weight), 0.0),
        0.0,
    )
    tail_weight = persistence_weights(p, r.retrieved + 1)
    return ranked_residual + (
        np.where(has_unjudged, tail_weight, 0.0) if tail == "with-unjudged" else tail_weight
    )


def _n_judged_within(r: JudgedRankings, cutoff: int | None) -> FloatArray:
    max_rank = np.inf if cutoff is None else cutoff
    return r.sum_by_topic((r.grade >= 0) * r.map_ranks(lambda rank: rank <= max_rank))


def _bpref_counts(r: JudgedRankings, rel: int) -> tuple[FloatArray, FloatArray]:
    """Return R and min(N, R) per topic."""
    relevant = r.n_relevant(rel)
    return relevant, np.minimum(relevant, r.n_relevant(0) - relevant)
