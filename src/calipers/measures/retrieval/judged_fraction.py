"""Measures that look at which documents were judged."""

from __future__ import annotations

from calipers.lazy_imports import numpy as np
from calipers.measures.retrieval.sets import NOTHING_RETRIEVED
from calipers.measures.retrieval.traits import NO_RELEVANT, of_relevant, ranking
from calipers.measures.retrieval.user_models import persistence_weights
from calipers.statistics import FloatArray, JudgedRankings

#: What smooths shares of relevant documents, so that there is one of none.
EPSILON = 1e-5
BPREF = "Buckley and Voorhees 2004, as corrected in trec_eval 8"


def bpref_over_ties(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """The expected bpref over orders of tied documents: of the n judged documents of a block that
    are not relevant, any number from 0 to n is equally likely to stand above a relevant one."""
    hit = r.hits(rel)
    relevant, cap = _preferences(r, rel)
    above, tied = r.count_ties((r.grade >= 0) & ~hit)
    cap, most = cap[r.topic], relevant[r.topic]
    # Σ min(above + i, R) for i from 0 to n: an arithmetic series until R is reached.
    rising = np.clip(most - above, 0, tied + 1)
    total = rising * above + rising * (rising - 1) / 2 + (tied + 1 - rising) * most
    mean = total / (tied + 1)
    lost = np.where(cap > 0, mean / np.maximum(cap, 1), 0.0)
    return r.sum(np.where(hit, 1 - lost, 0.0)) / relevant


@of_relevant("Bpref", ties=bpref_over_ties, reference=BPREF)
def bpref(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Binary preference: (1/R) Σ 1 − min(n, R)/min(N, R) over the relevant documents retrieved,
    where n judged documents that are not relevant stand above, of N that there are.

    Unjudged documents are passed over.
    """
    hit = r.hits(rel)
    relevant, cap = _preferences(r, rel)
    above = np.minimum(r.so_far((r.grade >= 0) & ~hit), relevant[r.topic])
    lost = above / np.maximum(cap[r.topic], 1)
    return r.sum(np.where(hit, 1 - lost, 0.0)) / relevant


@of_relevant("gm-Bpref", aliases=("gm_bpref",), summary="geometric", ties=bpref_over_ties)
def geometric_bpref(r: JudgedRankings, rel: int = 1) -> FloatArray:
    """Binary preference, summed up as its geometric mean over topics, as that of AP."""
    return bpref(r, rel=rel)


@ranking(
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

    A negative grade marks a pooled document that was not drawn; the judgments have to list these,
    as without them this is AP. A relevant document at rank i adds
    1/i + (d/i)(r + ε)/(r + s + cε), where d pooled documents stand above it, r judged relevant and
    s judged not, ε = 10⁻⁵; the first rank adds 1. Documents outside the pool count as not relevant.
    The ``smoothing`` c is 2 as in trec_eval; sample_eval has 3.
    """
    hit = r.hits(rel)
    relevant = r.so_far(hit) - hit
    others = r.so_far((r.grade >= 0) & ~hit)
    pooled = r.so_far(np.ones(len(r.rank), bool)) - 1
    share = (relevant + EPSILON) / (relevant + others + smoothing * EPSILON)
    precision = (1 + np.where(r.rank > 1, pooled * share, 0.0)) / r.rank
    return r.sum(np.where(hit, precision, 0.0)) / r.relevant(rel)


@ranking(
    "Judged",
    higher_is_better=None,
    undefined=NOTHING_RETRIEVED,
    ties="linear",
    is_order_free=True,
)
def judged_at(r: JudgedRankings, cutoff: int | None = None) -> FloatArray:
    """Share of judged documents among the first k, or among all where fewer were retrieved."""
    depth = r.retrieved if cutoff is None else np.minimum(r.retrieved, cutoff)
    return _judged_within(r, cutoff) / depth


@ranking("Unjudged", aliases=("unj", "hole"), higher_is_better=None, ties="linear")
def unjudged_at(r: JudgedRankings, cutoff: int) -> FloatArray:
    """Unjudged documents among the first k, over k; where fewer were retrieved, the rest counts as
    judged."""
    return (np.minimum(r.retrieved, cutoff) - _judged_within(r, cutoff)) / cutoff


@ranking(
    "RBP-residual",
    aliases=("rbp_residual",),
    higher_is_better=None,
    ties="linear",
    reference="Moffat and Zobel 2008",
)
def rbp_residual(r: JudgedRankings, p: float = 0.8, tail: str = "always") -> FloatArray:
    """Residual of rank-biased precision: how much RBP would gain if every unjudged document, and
    every one behind the ranking's end, were relevant.

    It is pⁿ for what stands behind the n documents of the ranking, and (1 − p) p^(rank − 1) for
    each unjudged one among them. With ``tail='with-unjudged'`` it is 0 where there is none, as
    trec_eval has it.
    """
    judged = r.grade >= 0
    known = r.sum(judged * r.map_ranks(lambda rank: persistence_weights(p, rank)))
    everything = np.concatenate(
        [[0.0], np.cumsum(persistence_weights(p, np.arange(1, r.retrieved.max(initial=0) + 1)))]
    )
    some = r.sum(judged) < r.retrieved
    within = np.where(some, np.maximum((1 - p) * (everything[r.retrieved] - known), 0.0), 0.0)
    behind = persistence_weights(p, r.retrieved + 1)
    return within + (np.where(some, behind, 0.0) if tail == "with-unjudged" else behind)


def _judged_within(r: JudgedRankings, cutoff: int | None) -> FloatArray:
    deepest = np.inf if cutoff is None else cutoff
    return r.sum((r.grade >= 0) * r.map_ranks(lambda rank: rank <= deepest))


def _preferences(r: JudgedRankings, rel: int) -> tuple[FloatArray, FloatArray]:
    """Per topic R and min(N, R)."""
    relevant = r.relevant(rel)
    return relevant, np.minimum(relevant, r.relevant(0) - relevant)
