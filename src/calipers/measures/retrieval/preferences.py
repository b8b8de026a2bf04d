"""Measures of preferences between documents that a ranking respects: trec_eval's ``prefs_*``.

Within a part of a group, a document of a higher level is preferred to every document of a lower
level; equal levels imply no preference. The preferences of several parts of a group are closed
under transitivity. A ranking respects a preference if the preferred document is ranked higher. A
document that was not retrieved ranks below all that were, and no preference between two such
documents is respected. Unjudged documents are ignored.

Measures ending in ``-ret`` count preferences between two retrieved documents, those in ``-imp``
preferences with at least one retrieved document, and the others all preferences. A topic without
any preference is undefined. A topic with preferences, none of which the measure counts, scores 0,
as does a topic that is missing from a run.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.retrieval.user_models import compatibility
from calipers.statistics import FloatArray, GroupedRankings, IntArray

if TYPE_CHECKING:
    import numpy.typing as npt

#: How many of the columns of the counts a measure takes: documents retrieved are both, one, none.
BOTH_RETRIEVED, ANY_RETRIEVED, ALL_PAIRS = 1, 2, 3


def _no_preference(g: GroupedRankings, _: object) -> npt.NDArray[np.bool_]:
    return np.asarray(_sum_columns(g, g.preference_counts.possible, ALL_PAIRS) == 0)


preference_measure = partial(measure, family="preferences", statistic=GroupedRankings)
proportion_measure = partial(
    preference_measure,
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    undefined={"no_preference": _no_preference},
)
count_measure = partial(preference_measure, higher_is_better=None, range=(0, inf), summary="sum")


@count_measure("NumPrefsPoss", aliases=("prefs_num_prefs_poss",))
def n_preferences(g: GroupedRankings) -> FloatArray:
    """Total number of preferences, over all groups and topics."""
    return _sum_columns(g, g.preference_counts.possible, ALL_PAIRS)


@count_measure("NumPrefsFul", aliases=("prefs_num_prefs_ful",), higher_is_better=True)
def n_respected(g: GroupedRankings) -> FloatArray:
    """Total number of preferences respected, over all groups and topics."""
    return _sum_columns(g, g.preference_counts.respected, ALL_PAIRS)


@count_measure("NumPrefsFulRet", aliases=("prefs_num_prefs_ful_ret",), higher_is_better=True)
def n_respected_retrieved(g: GroupedRankings) -> FloatArray:
    """Total number of preferences between retrieved documents respected.

    It is summed over all groups and topics.
    """
    return _sum_columns(g, g.preference_counts.respected, BOTH_RETRIEVED)


@proportion_measure("prefs-simp", aliases=("prefs_simp",))
def respected_proportion(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences respected: all groups of the topic pooled.

    It ranges from 0 to 1 and is undefined for topics without preferences.
    """
    return _pooled_ratio(g, ALL_PAIRS)


@proportion_measure("prefs-simp-ret", aliases=("prefs_simp_ret",))
def respected_retrieved(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences between retrieved documents respected: all groups pooled.

    It ranges from 0 to 1 and is undefined for topics without preferences.
    """
    return _pooled_ratio(g, BOTH_RETRIEVED)


@proportion_measure("prefs-simp-imp", aliases=("prefs_simp_imp",))
def respected_implied(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences with a retrieved document respected: all groups pooled.

    It ranges from 0 to 1 and is undefined for topics without preferences.
    """
    return _pooled_ratio(g, ANY_RETRIEVED)


@proportion_measure("prefs-pair", aliases=("prefs_pair",))
def respected_by_pair(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences respected, averaged over pairs of documents.

    For a pair on which groups disagree, it is the proportion of the groups that the ranking agrees
    with. It ranges from 0 to 1 and is undefined for topics without preferences.
    """
    return _pair_ratio(g, ALL_PAIRS)


@proportion_measure("prefs-pair-ret", aliases=("prefs_pair_ret",))
def respected_by_pair_retrieved(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences respected, averaged over pairs of retrieved documents.

    It ranges from 0 to 1 and is undefined for topics without preferences.
    """
    return _pair_ratio(g, BOTH_RETRIEVED)


@proportion_measure("prefs-pair-imp", aliases=("prefs_pair_imp",))
def respected_by_pair_implied(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences respected, averaged over pairs with a retrieved document.

    It ranges from 0 to 1 and is undefined for topics without preferences.
    """
    return _pair_ratio(g, ANY_RETRIEVED)


@proportion_measure("prefs-avgjg", aliases=("prefs_avgjg",))
def respected_by_group(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences respected, averaged over groups.

    A group without preferences counts as 0. It ranges from 0 to 1 and is undefined for topics
    without preferences.
    """
    return _group_mean(g, ALL_PAIRS)


@proportion_measure("prefs-avgjg-ret", aliases=("prefs_avgjg_ret",))
def respected_by_group_retrieved(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences between retrieved documents respected, averaged over groups.

    A group without such preferences counts as 0. It ranges from 0 to 1 and is undefined for topics
    without preferences.
    """
    return _group_mean(g, BOTH_RETRIEVED)


@proportion_measure("prefs-avgjg-imp", aliases=("prefs_avgjg_imp",))
def respected_by_group_implied(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences with a retrieved document respected, averaged over groups.

    A group without such preferences counts as 0. It ranges from 0 to 1 and is undefined for topics
    without preferences.
    """
    return _group_mean(g, ANY_RETRIEVED)


@proportion_measure(
    "prefs-avgjg-Rnonrel",
    aliases=("prefs_avgjg_Rnonrel",),
    perfect=None,
    undefined={
        "no_preference": lambda g, _: _sum_columns(g, g.preference_counts.balanced[:, 1:], 1) == 0
    },
)
def respected_balanced(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences respected with as many irrelevant as relevant documents.

    It is averaged over groups. Let a group have R documents above level 0 and N at level 0. If N <
    R, R − N irrelevant documents are added below all others. If N > R, only the first R irrelevant
    documents in rank order are used. In a group of one part these are also compared with all N, so
    that a perfect ranking does not reach 1. This is an error of trec_eval that the measure
    reproduces, since its values are defined by it. A topic scores 0 if there is nothing to count in
    one of its groups. The measure ranges from 0 to 1 and is undefined for topics without
    preferences.
    """
    return _balanced_group_mean(g, g.preference_counts.balanced)


@proportion_measure(
    "prefs-avgjg-Rnonrel-ret",
    aliases=("prefs_avgjg_Rnonrel_ret",),
    perfect=None,
    undefined={
        "no_preference": lambda g, _: (
            _sum_columns(
                g, (g.preference_counts.balanced + g.preference_counts.balanced_retrieved)[:, 1:], 1
            )
            == 0
        )
    },
)
def respected_balanced_retrieved(g: GroupedRankings) -> FloatArray:
    """Proportion of preferences respected with as many irrelevant as relevant documents retrieved.

    It counts preferences between retrieved documents and is averaged over groups. R and N count
    retrieved documents. It differs from prefs-avgjg-Rnonrel in two other ways: relevant documents
    that were not retrieved do not respect preferences over added documents, and in a group of
    several parts the number of irrelevant documents used is that of its relevant documents,
    retrieved or not. It ranges from 0 to 1 and is undefined for topics without preferences.
    """
    return _balanced_group_mean(g, g.preference_counts.balanced_retrieved)


@preference_measure(
    "prefs-compatibility",
    aliases=("prefs_compatibility", "prefs-compat"),
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
    undefined={"no_relevant": lambda g, _: g.sum_by_topic(_n_relevant(g) > 0) == 0},
    reference="Clarke, Vtyurina and Smucker 2021",
)
def preference_compatibility(g: GroupedRankings, cutoff: int = 1000, p: float = 0.95) -> FloatArray:
    """Compatibility with preferences: that with the most similar ranking that respects them.

    It is ``compatibility``, with grades that follow from the preferences of a group: the grade of a
    document is 1 more than the highest grade of those that it is preferred to. Documents of level 0
    are not relevant. The value of a topic is the mean over its groups with a relevant document. It
    ranges from 0 to 1 and is undefined without relevant documents.
    """
    has_relevant = _n_relevant(g) > 0
    values = np.where(has_relevant, compatibility(g.preference_rankings, cutoff, p), 0.0)
    return g.sum_by_topic(values) / g.sum_by_topic(has_relevant)


def _n_relevant(g: GroupedRankings) -> FloatArray:
    return g.preference_rankings.n_relevant()


def _sum_columns(g: GroupedRankings, counts: IntArray, n_columns: int) -> FloatArray:
    return g.sum_by_topic(counts[:, :n_columns].sum(axis=1))


def _ratio(numerator: npt.NDArray[Any], denominator: npt.NDArray[Any]) -> FloatArray:
    return np.where(denominator > 0, numerator / np.maximum(denominator, 1), 0.0)


def _pooled_ratio(g: GroupedRankings, n_columns: int) -> FloatArray:
    c = g.preference_counts
    return _ratio(_sum_columns(g, c.respected, n_columns), _sum_columns(g, c.possible, n_columns))


def _pair_ratio(g: GroupedRankings, n_columns: int) -> FloatArray:
    c = g.preference_counts
    return _ratio(
        c.respected_pair_sums[:, :n_columns].sum(axis=1), c.pair_counts[:, :n_columns].sum(axis=1)
    )


def _group_mean(g: GroupedRankings, n_columns: int) -> FloatArray:
    c = g.preference_counts
    proportions = _ratio(
        c.respected[:, :n_columns].sum(axis=1), c.possible[:, :n_columns].sum(axis=1)
    )
    return g.sum_by_topic(proportions) / np.maximum(np.diff(g.groups), 1)


def _balanced_group_mean(g: GroupedRankings, counts: IntArray) -> FloatArray:
    empty_mask = g.sum_by_topic(counts[:, 1] == 0) > 0
    proportion_sums = g.sum_by_topic(_ratio(counts[:, 0], counts[:, 1]))
    return np.where(empty_mask, 0.0, proportion_sums / np.maximum(np.diff(g.groups), 1))
