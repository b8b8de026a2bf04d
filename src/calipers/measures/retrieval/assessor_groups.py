"""Measures of rankings that several assessors judged independently.

A group of judgments is those of one assessor. A measure is computed with the judgments of each
group alone, with the group's own R, and averaged over the groups of the topic. A group without
relevant documents counts as 0, as in trec_eval. A document that a group did not judge is
non-relevant for it.
"""

from __future__ import annotations

from functools import partial

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.measures.retrieval.binary_relevance import (
    average_precision,
    precision_at,
    r_precision,
)
from calipers.statistics import FloatArray, GroupedRankings

#: Where no group has a relevant document.
NO_RELEVANT = {"no_relevant": lambda g, p: g.n_groups_with_relevant(p["rel"]) == 0}

group_measure = partial(
    measure, family="groups", statistic=GroupedRankings, higher_is_better=True, range=(0, 1)
)


@group_measure("AP-jg", aliases=("map_avgjg", "AP_jg"), perfect=1.0, undefined=NO_RELEVANT)
def average_precision_by_group(g: GroupedRankings, rel: int = 1) -> FloatArray:
    """Average precision, averaged over groups of judgments: AP by each group of the topic alone.

    It ranges from 0 to 1 and is undefined if no group has a relevant document.
    """
    return _group_mean(g, average_precision(g.group_rankings, rel=rel))


@group_measure("P-jg", aliases=("P_avgjg", "P_jg"))
def precision_by_group(g: GroupedRankings, cutoff: int, rel: int = 1) -> FloatArray:
    """Precision at k, averaged over groups of judgments: P@k by each group of the topic alone.

    It ranges from 0 to 1.
    """
    return _group_mean(g, precision_at(g.group_rankings, cutoff, rel))


@group_measure("Rprec-jg", aliases=("Rprec_mult_avgjg", "Rprec_jg"), undefined=NO_RELEVANT)
def r_precision_by_group(g: GroupedRankings, rel: int = 1, multiple: float = 1.0) -> FloatArray:
    """R-precision, averaged over groups of judgments: precision at rank R by each group alone.

    With a ``multiple`` m it is the precision at rank ⌊m·R + 0.9⌋. R is that of each group. It
    ranges from 0 to 1 and is undefined if no group has a relevant document.
    """
    return _group_mean(g, r_precision(g.group_rankings, rel=rel, multiple=multiple))


def _group_mean(g: GroupedRankings, values: FloatArray) -> FloatArray:
    """Compute the mean over the groups of each topic, with undefined values as 0."""
    return g.sum_by_topic(np.nan_to_num(values)) / np.maximum(np.diff(g.groups), 1)
