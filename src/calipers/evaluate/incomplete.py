"""What further judgments could make of an evaluation's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from calipers.data.errors import InputError
from calipers.measures import Measure, parse
from calipers.measures.judgment_bounds import MOST_UNFOUND, possible_mean, possible_values
from calipers.report.names import joined
from calipers.results import Evaluation
from calipers.statistics import FloatArray, JudgedRankings

if TYPE_CHECKING:
    from calipers.evaluate.topics import TopicScores

#: How many unretrieved documents may turn out relevant, where nobody knows.
OPEN = "open"


@dataclass(frozen=True)
class Unknown:
    """What is assumed of documents without a judgment."""

    unfound: str | int
    max_grade: int | None
    collection: int | None

    def __post_init__(self) -> None:
        number = isinstance(self.unfound, int) and 0 <= self.unfound <= MOST_UNFOUND
        if self.unfound != OPEN and not number:
            raise InputError(
                f"unfound is {self.unfound!r}, expected a whole number from 0 to "
                f"{MOST_UNFOUND:,}, or {OPEN!r} for any number"
            )
        if self.max_grade is not None and self.max_grade < 1:
            raise InputError(f"max_grade is {self.max_grade!r}, expected a whole number from 1 up")

    def bounded(
        self,
        evaluation: Evaluation,
        rankings: Mapping[str, JudgedRankings],
        scores: TopicScores,
        *,
        zero: bool,
    ) -> Evaluation:
        """The evaluation with what any completion of the judgments could make of each number."""
        measures = [m for m in scores.measures if m.definition.on is JudgedRankings]
        kept = slice(None) if scores.kept is None else scores.kept
        known = max(int(r.judged_grade.max(initial=1)) for r in rankings.values())
        top = known if self.max_grade is None else self.max_grade
        estimates = {(e.system, e.measure): e for e in evaluation}
        topics: dict[str, dict[str, tuple[FloatArray, FloatArray]]] = {}
        kinds: dict[str, str] = {}
        for system, ranking in rankings.items():
            found = possible_values(
                ranking,
                measures,
                unfound=inf if self.unfound == OPEN else float(self.unfound),
                max_grade=top,
                collection=self.collection,
            )
            topics[system] = {}
            for measure, possible in zip(measures, found, strict=True):
                if possible is None:
                    continue
                name, summary = str(measure), measure.definition.summary
                low, high = possible_mean(
                    measure.apply(ranking)[kept],
                    replace(possible, low=possible.low[kept], high=possible.high[kept]),
                    summary,
                    zero=zero,
                    importance=scores.importance,
                )
                now = estimates[system, name]
                estimates[system, name] = replace(
                    now,
                    # Sums in another order may differ in their last digit.
                    possible_low=float(np.fmin(low, now.value)),
                    possible_high=float(np.fmax(high, now.value)),
                    possible=possible.kind,
                )
                topics[system][name] = (possible.low, possible.high)
                kinds[name] = possible.kind
        assert evaluation.per_unit is not None
        conventions = {
            **evaluation.provenance["conventions"],
            "unknown documents": {"unfound": self.unfound, "max_grade": top},
        }
        return replace(
            evaluation,
            estimates=tuple(estimates.values()),
            per_unit=replace(evaluation.per_unit, possible=topics),
            notes=(*evaluation.notes, *_notes(rankings, measures, kinds, self.unfound, top)),
            provenance={**evaluation.provenance, "conventions": conventions},
        )


def _notes(
    rankings: Mapping[str, JudgedRankings],
    measures: Sequence[Measure],
    kinds: Mapping[str, str],
    unfound: str | int,
    top: int,
) -> list[str]:
    """How many documents are judged, and what the intervals mean and do not mean."""
    judged = parse("Judged@10", "retrieval")
    within = {name: judged.apply(r)[r.retrieved > 0] for name, r in rankings.items()}
    shares = [f"{found.mean():.3f} for {name}" for name, found in within.items() if len(found)]
    said = f"Judged@10, the share of judged documents among the first 10, is {joined(shares)}."
    elsewhere = {
        OPEN: "any number of relevant documents (unfound sets a limit)",
        0: "no further relevant document",
        1: "one further relevant document",
    }
    missed = elsewhere.get(unfound, f"up to {unfound} further relevant documents")
    meaning = (
        "Judgments: what judging every document could make of the value, whatever grades from 0 to "
        f"{top} the unjudged ones turn out to have, with {missed} of a topic outside what was "
        "retrieved. Not enough judgments and not enough topics are different problems: more topics "
        "do not narrow this interval, and more judgments do not narrow the one beside it."
    )
    if "bound" in kinds.values():
        meaning += " Where it says “within”, the true ends may be closer together."
    without = [
        str(m)
        for m in measures
        if m.definition.higher_is_better is not None and str(m) not in kinds
    ]
    return [
        *([said] if shares else []),
        meaning,
        *([f"What judging could make of {joined(without)} is not known."] if without else []),
    ]
