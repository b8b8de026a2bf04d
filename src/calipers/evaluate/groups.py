"""Values of measures in groups of rows that scores order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.evaluate.kept import Common
from calipers.evaluate.shared import Statistics
from calipers.evaluate.topics import TopicScores
from calipers.measures import Measure
from calipers.report.numbers import count
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    from calipers.inference.settings import Settings


def knows_ties(measure: Measure) -> bool:
    """Whether it is quickly told what equal scores for all rows get, and that is good or bad."""
    d, ties = measure.definition, measure.parameters.get("ties")
    exact = d.ties is not None if ties in ("id", "average") else d.monotone
    return exact and d.higher_is_better is not None and d.weight is None


def scores_of(
    groups: tuple[str, ...],
    systems: Mapping[str, JudgedRankings],
    chosen: list[Measure],
    settings: Settings,
    common: Common = dict,
    *,
    zero: bool,
) -> TopicScores:
    """The values of each group, and those of a system that tells no row from another."""
    statistics: dict[str, Statistics] = {n: {JudgedRankings: of} for n, of in systems.items()}
    made = TopicScores.of(
        groups, statistics, chosen, settings, zero=zero, unit="groups", common=common
    )
    same: dict[str, Statistics] = {"": {JudgedRankings: next(iter(systems.values())).unordered()}}
    known = [m for m in chosen if knows_ties(m)]
    constant = np.full((len(groups), len(chosen)), np.nan)
    if known:
        own = TopicScores.of(groups, same, known, settings, zero=zero)
        constant[:, [chosen.index(m) for m in known]] = own.values[""]
    return replace(made, constant=constant)


def notes_of(none: int, number: int, rel: int, *, zero: bool) -> list[str]:
    """How many groups have nothing relevant."""
    if not none:
        return []
    groups = count(number, "groups")
    them = f"{none} of {groups} {'have' if none > 1 else 'has'} no row of grade {rel} or more."
    what = "score 0" if zero else "have no value"
    return [f"{them} Measures of what is relevant {what} there."]
