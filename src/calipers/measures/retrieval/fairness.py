"""Fairness of rankings to groups of documents, as in TREC's Fair Ranking track.

Judgments are by group of documents, such as their region: a document is listed in each of its
groups, to which it belongs in equal proportions, with its grade. Documents that are not listed have
no group. The attention at a rank is 1 / log₂ max(rank, 2).
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.retrieval.assessor_groups import NO_RELEVANT
from calipers.measures.retrieval.binary_relevance import cutoff_mask
from calipers.statistics import FloatArray, GroupedRankings
from calipers.statistics.rankings import segment_sum

if TYPE_CHECKING:
    import numpy.typing as npt

#: Smallest value of 1 − the Jensen–Shannon divergence, whose logarithm is natural.
_LOWEST = 1 - math.log(2)

fairness_measure = partial(
    measure,
    family="fairness",
    statistic=GroupedRankings,
    higher_is_better=True,
    monotone=False,
    reference="Sapiezynski et al. 2019; Ekstrand et al. 2022",
)


@fairness_measure(
    "AWRF",
    aliases=("attention-weighted-rank-fairness",),
    range=(_LOWEST, 1),
    undefined={
        "no_target": lambda g, p: _sum_target(g, p["rel"], p["target"]) == 0,
        "no_group_retrieved": lambda g, p: g.sum_by_topic(_group_attention(g, p["cutoff"])) == 0,
    },
)
def rank_fairness(
    g: GroupedRankings, cutoff: int | None = None, rel: int = 1, target: str = "relevant"
) -> FloatArray:
    """Attention-weighted rank fairness: 1 − JSD(attention by group, target).

    JSD is the Jensen–Shannon divergence with natural logarithms, and the attention is that of the
    first k documents. The ``target`` is the distribution over groups of the relevant documents, of
    all listed ones (``'judged'``), or ``'uniform'``. It ranges from 1 − ln 2 to 1.
    """
    attention = _distribution(g, _group_attention(g, cutoff))
    goal = _distribution(g, _group_target(g, rel, target))
    middle = (attention + goal) / 2
    divergence = (_relative_entropy(g, attention, middle) + _relative_entropy(g, goal, middle)) / 2
    return np.asarray(np.clip(1 - divergence, _LOWEST, 1))


@fairness_measure(
    "AWRF-nDCG",
    range=(0, 1),
    undefined=NO_RELEVANT,
)
def fair_ndcg(
    g: GroupedRankings, cutoff: int | None = None, rel: int = 1, target: str = "relevant"
) -> FloatArray:
    """AWRF times nDCG of binary relevance with the same discount, the score of the track in 2022.

    A document is relevant if it is in any of its groups. It ranges from 0 to 1, and is 0 if nothing
    relevant is retrieved.
    """
    relevant_mask = np.bincount(g.rank_index, g.level >= rel, len(g.rank)) > 0
    gain = segment_sum(np.where(relevant_mask, _attention(g.rank, cutoff), 0.0), g.documents)
    n_relevant = segment_sum(relevant_mask, g.documents).astype(np.int64)
    longest = int(n_relevant.max(initial=0))
    totals = np.cumsum(_attention(np.arange(1, longest + 1), cutoff))
    ideal = np.append(0.0, totals)[n_relevant]
    with np.errstate(invalid="ignore"):
        return np.asarray(
            np.where(gain > 0, rank_fairness(g, cutoff, rel, target), 0.0) * gain / ideal
        )


@fairness_measure(
    "group-attention",
    aliases=("group-exposure",),
    range=(0, 1),
    higher_is_better=None,
    undefined={
        "no_group_retrieved": lambda g, p: (
            g.sum_by_topic(_group_attention(g, p["cutoff"], p["patience"])) == 0
        )
    },
    reference="Sapiezynski et al. 2019",
)
def group_attention(
    g: GroupedRankings, group: str, cutoff: int | None = None, patience: float | None = None
) -> FloatArray:
    """Attention to a group: the proportion that it gets of the attention to all groups.

    The attention at a rank is that of AWRF, or γ^(rank − 1) if γ, the ``patience``, is given: the
    exposure of rank-biased precision. It ranges from 0 to 1, and is 0 in topics without the group.
    """
    proportions = _distribution(g, _group_attention(g, cutoff, patience))
    counted_mask = _group_mask(g, group) | np.isnan(proportions)
    return g.sum_by_topic(np.where(counted_mask, proportions, 0.0))


@fairness_measure(
    "attention-ratio",
    aliases=("exposure-ratio",),
    range=(0, math.inf),
    higher_is_better=None,
    undefined={
        "no_target": lambda g, p: (
            g.sum_by_topic(_group_target(g, p["rel"], p["target"]) * _group_mask(g, p["group"]))
            == 0
        ),
        "no_group_retrieved": lambda g, p: (
            g.sum_by_topic(_group_attention(g, p["cutoff"], p["patience"])) == 0
        ),
    },
    reference="Sapiezynski et al. 2019",
)
def attention_ratio(
    g: GroupedRankings,
    group: str,
    cutoff: int | None = None,
    rel: int = 1,
    target: str = "relevant",
    patience: float | None = None,
) -> FloatArray:
    """Ratio of group-attention to the proportion of the group in the target.

    The target is that of AWRF. It is 1 where attention is as it should be, more where the group is
    favored, 0 or more, and undefined in topics whose target does not have the group.
    """
    goal = _distribution(g, _group_target(g, rel, target)) * _group_mask(g, group)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(group_attention(g, group, cutoff, patience) / g.sum_by_topic(goal))


def _attention(
    rank: npt.NDArray[Any], cutoff: int | None, patience: float | None = None
) -> FloatArray:
    """Return the attention at each rank; 0 beyond the cutoff, and for rank 0, not retrieved."""
    within_mask = (rank > 0) & (cutoff_mask(rank, cutoff) > 0)
    if patience is None:
        return np.where(within_mask, 1 / np.log2(np.maximum(rank, 2)), 0.0)
    return np.where(within_mask, patience ** (np.maximum(rank, 1) - 1.0), 0.0)


def _group_mask(g: GroupedRankings, group: str) -> npt.NDArray[np.bool_]:
    """Return which groups of the topics have this name."""
    return np.array([name == group for name in g.group_names], bool)


def _group_proportions(g: GroupedRankings) -> FloatArray:
    """Return for each judgment the proportion of its group in the document."""
    return np.asarray(1 / np.bincount(g.rank_index, minlength=len(g.rank))[g.rank_index])


def _group_attention(
    g: GroupedRankings, cutoff: int | None, patience: float | None = None
) -> FloatArray:
    """Return the attention that each group gets."""
    attention = _attention(g.rank, cutoff, patience)[g.rank_index]
    return segment_sum(attention * _group_proportions(g), g.judgments)


def _group_target(g: GroupedRankings, rel: int, target: str) -> FloatArray:
    """Return what the attention of each group should be proportional to."""
    if target == "uniform":
        return np.ones(len(g.group_names))
    counted = g.level >= rel if target == "relevant" else np.ones(len(g.level))
    return segment_sum(counted * _group_proportions(g), g.judgments)


def _sum_target(g: GroupedRankings, rel: int, target: str) -> FloatArray:
    return g.sum_by_topic(_group_target(g, rel, target))


def _relative_entropy(g: GroupedRankings, first: FloatArray, second: FloatArray) -> FloatArray:
    """Compute the relative entropy of two distributions over the groups of each topic."""
    positive = np.where(first > 0, first, 1.0)
    ratio = positive / np.where(first > 0, second, 1.0)
    terms = np.where(np.isnan(first), np.nan, np.where(first > 0, first, 0.0) * np.log(ratio))
    return g.sum_by_topic(terms)


def _distribution(g: GroupedRankings, values: FloatArray) -> FloatArray:
    """Return the proportions of groups in the sum of the topic; NaN if it is 0."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values / g.sum_by_topic(values)[g.group_topic])
