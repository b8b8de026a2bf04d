"""Findings on rankings: unjudged documents, tied scores, and influential topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.formatting import IntervalNumber, format_first, quote, system_name
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_mean, rule
from calipers.inference import intervals
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import shorten_name
from calipers.report.verdict import outcome

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.results import Comparison, Difference
    from calipers.statistics import FloatArray, IntArray, JudgedRankings

#: The cutoff of the judged fraction.
TOP = 10
#: A lower judged fraction is reported.
FEW_JUDGED = 0.5
#: The smallest proportion of topics without retrieved documents that is reported.
MISSING = 0.05
#: The smallest proportion of tied documents that is reported.
MOST_TIED = 0.5
#: The smallest proportion of groups of a single grade that is reported.
NOTHING_TO_ORDER = 0.05
#: The smallest proportion of tied topics that is reported.
MOST_ALIKE = 0.75
#: With fewer topics, an influential topic is to be expected.
FEW_TO_COMPARE = 10


@dataclass(frozen=True, eq=False)
class RunStatistics:
    """Judged ranking of a run.

    ``spelling`` describes how unmatched ids of ``"documents"`` or ``"topics"`` differ from judged
    ones. ``bounds`` returns a measure and its lowest and highest value over the orders of tied
    documents; ``by_id`` is whether ties are ordered by id.
    """

    rankings: JudgedRankings
    unjudged_topics: int
    spelling: Callable[[str], str]
    bounds: Callable[[], tuple[str, float, float] | None]
    by_id: bool

    @property
    def none_judged(self) -> bool:
        """Whether documents are retrieved, none of which is judged."""
        return not len(self.rankings.rank) and bool(self.rankings.retrieved.any())


@dataclass(frozen=True, eq=False)
class RunStatisticsByName:
    """All runs by name; ``judged`` is the measure of the judged fraction of the top documents."""

    by_name: Mapping[str, RunStatistics]
    judged: Measure


@dataclass(frozen=True, eq=False)
class GradedGroups:
    """Grouped rows that all have a grade."""

    rankings: JudgedRankings


@dataclass(frozen=True, eq=False)
class TopicValues:
    """Values of the leading measure that is a mean over topics, by system and topic."""

    measure: str
    topics: tuple[str, ...]
    values: Mapping[str, FloatArray]
    comparison: Comparison | None
    #: The weights of topics, if any.
    importance: FloatArray | None = None
    unit: str = "topics"

    @property
    def one(self) -> str:
        """Name of a unit, in the singular."""
        return self.unit.removesuffix("s")

    def weights(self, places: IntArray) -> FloatArray:
        """Return the weights of some of the topics."""
        return np.ones(len(places)) if self.importance is None else self.importance[places]


@rule("no-judged-documents", "warning", RunStatistics, cost="rows", counts=True)
def no_judged_documents(s: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """No document that a run retrieves for judged topics is judged."""
    if not run.none_judged:
        return
    retrieved = int(run.rankings.retrieved.sum())
    why = run.spelling("documents") or "Compare the document ids of the run and the judgments."
    yield FindingDraft(
        f"{s.title} retrieves {format_count(retrieved, 'documents')} for judged topics, but no "
        "judged one, "
        f"so every measure is 0. {why}",
        {"documents retrieved": retrieved, "judged": 0},
        s.shown_measures,
    )


@rule("missing-topics", "caution", RunStatistics, cost="rows", counts=True)
def topics_missing(s: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """At least {MISSING:g} of the judged topics have no retrieved documents in a run."""
    retrieved = run.rankings.retrieved
    missing, topics = int((retrieved == 0).sum()), len(retrieved)
    if missing < MISSING * topics:
        return
    others = ""
    if run.unjudged_topics:
        others = f" It has {format_count(run.unjudged_topics, 'topics')} without judgments."
    why = run.spelling("topics") or 'Use topics="both" to exclude topics that the run lacks.'
    yield FindingDraft(
        f"{s.title} retrieves nothing for {missing} of {topics} judged topics; its measures are 0 "
        f"there.{others} {why}",
        {"topics missing": missing, "topics": topics, "unjudged topics": run.unjudged_topics},
        s.shown_measures,
    )


@rule("low-judged-fraction", "caution", RunStatisticsByName, cost="rows", counts=True)
def low_judged_fraction(s: Subject, runs: RunStatisticsByName) -> Iterator[FindingDraft]:
    """On average, less than {FEW_JUDGED:g} of the first {TOP} documents of a run are judged.

    The mean is over the topics for which the run retrieves documents.
    """
    few = {}
    for name, run in runs.by_name.items():
        if not run.none_judged:
            own = run.rankings.take(np.flatnonzero(run.rankings.retrieved))
            judged = runs.judged.apply(own)
            share = float(judged.mean()) if len(judged) else 1.0
            if share < FEW_JUDGED:
                few[name] = share
    if few:
        listed = format_first(
            f"{share:.0%} for {shorten_name(name)}" for name, share in few.items()
        )
        yield FindingDraft(
            f"Low judged fraction in the top {TOP}: {listed}. Unjudged documents count as "
            "non-relevant, which biases scores against runs that did not contribute to the pool. "
            "Use judgment_bounds=True for bounds on each measure.",
            {f"share judged of {shorten_name(name)}": share for name, share in few.items()},
            s.shown_measures,
        )


@rule("tied-scores", "caution", RunStatistics, cost="sorted rows", counts=True)
def tied_scores(s: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """At least {MOST_TIED:g} of the judged documents that a run retrieves have tied scores.

    Their score is that of another document of the topic.
    """
    r = run.rankings
    tied = float(np.mean(r.tied_to > r.tied_from)) if len(r.rank) else 0.0
    if tied < MOST_TIED or not run.by_id:
        return
    values, also = {"share tied": tied}, ""
    if (of := run.bounds()) is not None:
        name, low, high = of
        values |= {f"{name} at worst": low, f"{name} at best": high}
        also = f" Their order does not change {shorten_name(name)} ({format_number(low)})."
        if format_number(low) != format_number(high):
            also = (
                f" Depending on their order, {shorten_name(name)} is between {format_number(low)} "
                "and "
                f"{format_number(high)}."
            )
        elif low != high:
            also = f" Their order changes {shorten_name(name)} by at most {high - low:.2g}."
    if r.averaged:
        what, order = "rows", "group. Measures are means over all orders of tied rows."
    else:
        what = "judged documents"
        order = 'topic. Ties are ordered by id; use ties="average" for the mean over all orders.'
    yield FindingDraft(
        f"{s.title}: {tied:.0%} of the {what} have the same score as others of the {order}{also}",
        values,
        s.shown_measures,
    )


@rule("single-grade-groups", "information", GradedGroups, cost="rows", counts=True)
def nothing_to_order(s: Subject, graded: GradedGroups) -> Iterator[FindingDraft]:
    """In at least {NOTHING_TO_ORDER:g} of the groups all rows have the same grade."""
    levels = np.diff(graded.rankings.judged_offsets)
    same, groups = int((levels == 1).sum()), len(levels)
    if same >= NOTHING_TO_ORDER * groups:
        yield FindingDraft(
            f"In {same} of {format_count(groups, 'groups')} all rows have the same grade. There, "
            "measures "
            "are constant or undefined for any order, so these groups do not separate systems.",
            {"groups of one grade": same, "groups": groups},
            s.shown_measures,
        )


@rule("influential-topic", "caution", TopicValues, cost="rows", counts=True)
def topic_carries(_: Subject, table: TopicValues) -> Iterator[FindingDraft]:
    """One of {FEW_TO_COMPARE} topics or more contributes more than half of a system's mean.

    The mean is that of the leading measure.
    """
    for name, values in table.values.items():
        has = np.flatnonzero(np.isfinite(values))
        n, w = len(has), table.weights(has)
        if n < FEW_TO_COMPARE or np.nanmin(values) < 0:
            continue
        part = w * values[has]
        total, most = float(part.sum()), int(np.argmax(part))
        if not 2 * part[most] > total:
            continue
        at, mean = int(has[most]), total / float(w.sum())
        left = float(np.delete(w, most).sum())  # a difference would lose small weights
        if not left > 0:
            continue
        rest = float(np.delete(part, most).sum()) / left
        yield FindingDraft(
            f"More than half of the mean {shorten_name(table.measure)} of {system_name(name)} "
            f"({format_number(mean)}) is due to {table.one} {quote(table.topics[at])}; without it "
            "the "
            f"mean is {format_number(rest)}.",
            {
                table.measure: mean,
                f"value of the {table.one}": float(values[at]),
                f"{table.measure} without it": rest,
                table.unit: n,
            },
            (table.measure,),
            systems=(name,),
            about=table.topics[at],
        )


@rule("topic-dependent-difference", "caution", TopicValues, cost="rows")
def topic_decides(s: Subject, table: TopicValues) -> Iterator[Claim]:
    """Without one topic, the comparison of two systems would have another result.

    On the leading measure the difference of two systems is not significant, or one system is
    better; and without one topic the t interval of their difference excludes 0, or lies on the
    other side of it (corrected for the number of topics).
    """
    if table.comparison is None:
        return
    pairs = [d for d in table.comparison if d.measure == table.measure]
    for d in pairs:
        apart = table.values[d.system] - table.values[d.baseline]
        has = np.flatnonzero(np.isfinite(apart))
        n = len(has)
        if n < FEW_TO_COMPARE:
            continue
        x = apart[has]
        mean, error, size = _without_each(x, table.weights(has))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(np.abs(mean) / error, posinf=0.0)
        at = int(np.argmax(t))
        found = float(mean[at]), float(error[at]), float(size[at])
        # Corrected for the choice of the topic.
        level = 1 - (1 - s.level) / n
        rest = IntervalNumber.within(found[0], intervals.student(*found, level))
        p = min(1.0, n * p_of_mean(found[0], found[1], found[2] - 1))
        if rest.value * d.value < 0 or not outcome(d).decided:
            yield Claim(
                p,
                partial(_decisive_topic_message, d, table, int(has[at]), float(x[at]), rest, level),
            )
        else:
            yield Claim(1.0)


def _without_each(x: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute leave-one-out weighted means, their standard errors, and Kish's effective sizes."""
    apart, total, square = x - np.average(x, weights=w), w.sum() - w, np.square(w)
    mean = -w * apart / total  # about the mean of all
    squares, cross, both = (
        of.sum() - of for of in (square, square * apart, square * np.square(apart))
    )
    spread = np.maximum(both - 2 * mean * cross + mean**2 * squares, 0.0)
    n = total**2 / squares
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(spread * n / np.where(n > 1, n - 1, np.nan)) / total
    return np.average(x, weights=w) + mean, error, n


def _decisive_topic_message(
    d: Difference, table: TopicValues, at: int, own: float, rest: IntervalNumber, level: float
) -> FindingDraft:
    first_, second = shorten_name(d.system), shorten_name(d.baseline)
    ahead, behind = (first_, second) if rest.value > 0 else (second, first_)
    amount = rest if rest.value > 0 else -rest
    return FindingDraft(
        f"The difference in {shorten_name(table.measure)} between {first_} and {second} depends on "
        "one "
        f"{table.one}, {quote(table.topics[at])}: it is {IntervalNumber.of(d):+} with this "
        f"{table.one}; "
        f"without it {ahead} scores higher than {behind} by {amount:+}. Check the {table.one}, "
        f"where the difference is {format_number(own)}.",
        {
            "difference": IntervalNumber.of(d),
            f"difference without the {table.one}": rest,
            f"difference on the {table.one}": own,
        },
        (table.measure,),
        level,
        systems=(d.system, d.baseline),
        about=table.topics[at],
    )


@rule("mostly-tied-topics", "caution", TopicValues, cost="rows", counts=True)
def few_topics_differ(_: Subject, table: TopicValues) -> Iterator[FindingDraft]:
    """On at least {MOST_ALIKE:g} of the topics, but not on all, all systems are tied.

    They have the same value of the leading measure.
    """
    values = np.column_stack(list(table.values.values()))
    values = values[np.isfinite(values).all(axis=1)]
    if values.shape[1] < 2 or not len(values):
        return
    n, differ = len(values), int((np.ptp(values, axis=1) > 0).sum())
    if 0 < differ <= (1 - MOST_ALIKE) * n:
        them = "the two systems" if values.shape[1] == 2 else f"all {values.shape[1]} systems"
        yield FindingDraft(
            f"On {n - differ} of {n} {table.unit}, {them} have the same "
            f"{shorten_name(table.measure)}; "
            f"comparisons are based on the other {differ}. A measure with a deeper cutoff or "
            "graded gains may separate them on more.",
            {f"{table.unit} that differ": differ, table.unit: n},
            (table.measure,),
        )
