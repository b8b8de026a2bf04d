"""Shared traits of retrieval measures."""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.measures.registration import measure
from calipers.statistics import JudgedRankings

NO_RELEVANT = {"no_relevant": lambda r, p: r.n_relevant(p["rel"]) == 0}

retrieval_measure = partial(measure, family="retrieval", statistic=JudgedRankings)
#: Measures of a ranking, from 0 to 1.
ranking_measure = partial(retrieval_measure, higher_is_better=True, range=(0, 1))
#: Measures that are undefined without relevant documents, and 1 if all of these are ranked first.
relevance_measure = partial(ranking_measure, perfect=1.0, undefined=NO_RELEVANT)
#: Measures of a ranking without an upper end.
unbounded_measure = partial(ranking_measure, range=(0, inf))
#: Counts of topics and documents, added up over topics.
count_measure = partial(
    retrieval_measure, higher_is_better=None, range=(0, inf), summary="sum", ties="none"
)
