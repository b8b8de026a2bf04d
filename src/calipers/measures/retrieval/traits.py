"""Shared traits of retrieval measures."""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.measures.registration import measure
from calipers.statistics import JudgedRankings

NO_RELEVANT = {"no_relevant": lambda r, p: r.relevant(p["rel"]) == 0}

on_rankings = partial(measure, family="retrieval", statistic=JudgedRankings)
#: Measures of a ranking, from 0 to 1.
ranking = partial(on_rankings, higher_is_better=True, range=(0, 1))
#: Measures that are undefined without relevant documents, and 1 if all of these are ranked first.
of_relevant = partial(ranking, perfect=1.0, undefined=NO_RELEVANT)
#: Measures of a ranking without an upper end.
unbounded = partial(ranking, range=(0, inf))
#: Counts of topics and documents, added up over topics.
number = partial(on_rankings, higher_is_better=None, range=(0, inf), summary="sum", ties="none")
