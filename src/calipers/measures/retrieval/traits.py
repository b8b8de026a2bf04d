"""What the definitions of retrieval measures share."""

from __future__ import annotations

from functools import partial
from math import inf

from calipers.measures.registration import measure
from calipers.statistics import JudgedRankings

NO_RELEVANT = {"no_relevant": lambda r, p: r.relevant(p["rel"]) == 0}

#: Measures of a ranking, from 0 to 1.
ranking = partial(
    measure, family="retrieval", on=JudgedRankings, higher_is_better=True, range=(0, 1)
)

#: Measures of a ranking without an upper end.
unbounded = partial(
    measure, family="retrieval", on=JudgedRankings, higher_is_better=True, range=(0, inf)
)

#: Counts of topics and documents, added up over topics.
number = partial(
    measure,
    family="retrieval",
    on=JudgedRankings,
    higher_is_better=None,
    range=(0, inf),
    summary="sum",
    ties="none",
)
