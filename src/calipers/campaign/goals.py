"""Goals of the systems of a campaign, with their default pool depths and measures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from calipers.data.errors import InputError, format_value
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.measures import Measure


@dataclass(frozen=True)
class Goal:
    """Goal of a campaign, with default pool depth and measures, primary measure first."""

    name: str
    depth: int
    measures: tuple[str, ...]


_TOP_K = re.compile(r"top[- ]?([1-9]\d{0,3})")


def parse_goal(name: str) -> Goal:
    """Parse the name of a goal.

    The goals are ``"top-K"``, a good result among the first K, and ``"high recall"``, as many
    relevant documents as possible.

    Examples
    --------
    >>> parse_goal("top-10")
    Goal(name='top-10', depth=10, measures=('nDCG@10', 'RR@10', 'P@10'))
    >>> parse_goal("high recall").depth
    100
    """
    normalized = " ".join(str(name).lower().replace("_", " ").split())
    top = _TOP_K.fullmatch(normalized)
    if top is not None:
        k = int(top[1])
        return Goal(f"top-{k}", k, (f"nDCG@{k}", f"RR@{k}", f"P@{k}"))
    if normalized.replace("-", " ") == "high recall":
        return Goal("high recall", 100, ("AP", "R@100", "Rprec"))
    raise InputError(f"goal {format_value(name)}, expected top-K, such as top-10, or high recall")


def parse_measures(names: str | Iterable[str | Measure]) -> tuple[str, ...]:
    """Return the canonical names of measures; names of groups of measures are expanded.

    Names are parsed as by :func:`calipers.retrieval`. The measures have to be based on one grade
    per document, because that is the result of a campaign: on complete or sampled judgments, but
    not on subtopics or preferences.

    Examples
    --------
    >>> parse_measures(["map", "ndcg_cut_10"])
    ('AP', 'nDCG@10')
    """
    from calipers.evaluate.retrieval import expand_measure_sets
    from calipers.measures import Measure, parse
    from calipers.measures.families import TASKS
    from calipers.statistics import JudgedRankings, SampledRankings

    if not isinstance(names, str | Iterable):
        raise InputError(f"measures are {format_value(names)}, expected names such as nDCG@10")
    canonical = list[str]()
    for name in expand_measure_sets(names if isinstance(names, str) else list(names)) or ():
        measure = name if isinstance(name, Measure) else parse(name, TASKS["retrieval"])
        if measure.definition.statistic not in (JudgedRankings, SampledRankings):
            raise InputError(
                f"measures: {measure} requires judgments in groups or preferences; expected a "
                "measure of one grade per document, such as nDCG@10"
            )
        if str(measure) in canonical:
            raise InputError(f"measures: {measure} is named twice")
        canonical.append(str(measure))
    if not canonical:
        raise InputError("measures: empty; expected one or more, such as nDCG@10")
    return tuple(canonical)
