"""Values of measures in groups of rows that scores order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.curves.ranking_curves import CutoffCurves
from calipers.evaluate.kept import Common
from calipers.evaluate.shared import Statistics
from calipers.evaluate.topics import TopicScores
from calipers.measures import Measure
from calipers.report.numbers import count
from calipers.statistics import JudgedRankings

if TYPE_CHECKING:
    from calipers.inference.settings import Settings
    from calipers.results import Curve
    from calipers.statistics import FloatArray


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
    known = [j for j, m in enumerate(chosen) if knows_ties(m)]
    constant = np.full((len(groups), len(chosen)), np.nan)
    if known:
        own = TopicScores.of(groups, same, [chosen[j] for j in known], settings, zero=zero)
        constant[:, known] = own.values[""]
    return replace(made, constant=constant)


def drawn(measures: Sequence[Measure]) -> Measure | None:
    """The measure that is drawn at each rank: the first with a cutoff of which a mean is shown, and
    it is known what equal scores get."""
    for measure in measures:
        cut = measure.parameters.get("cutoff") is not None
        if cut and measure.definition.summary == "mean" and knows_ties(measure):
            return measure
    return None


def curves_of(
    source: TopicScores,
    measure: Measure | None,
    values: Callable[[str | None], FloatArray],
    *,
    zero: bool,
) -> Sequence[Curve]:
    """That measure at each rank; ``values`` are those of each group, of a system or of equal
    scores."""
    if measure is None:
        return ()
    of = source.of_curves(zero=zero)
    return CutoffCurves(**of, measure=measure, systems=source.systems, values=values)


def notes_of(none: int, number: int, rel: int, *, zero: bool) -> list[str]:
    """How many groups have nothing relevant."""
    if not none:
        return []
    groups = count(number, "groups")
    them = f"{none} of {groups} {'have' if none > 1 else 'has'} no row of grade {rel} or more."
    what = "score 0" if zero else "have no value"
    return [f"{them} Measures of what is relevant {what} there."]
