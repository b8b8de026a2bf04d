"""Rankings and topics: documents nobody judged, tied scores, topics that decide alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.formatting import IntervalNumber, format_first, quoted, system_name
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_mean, rule
from calipers.inference import intervals
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import shorten_name
from calipers.report.verdict import outcome

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.results import Comparison, Difference
    from calipers.statistics import FloatArray, IntArray, JudgedRankings

#: So many of the first documents are looked at.
TOP = 10
#: Few of them are judged when fewer than this share are.
FEW_JUDGED = 0.5
#: Topics are missing when a run retrieves nothing for at least this share of them.
MISSING = 0.05
#: Most scores are tied when at least this share of the documents is.
MOST_TIED = 0.5
#: Groups without anything to order are told of when they are at least this share of all.
NOTHING_TO_ORDER = 0.05
#: Most topics tie when at least this share does.
MOST_ALIKE = 0.75
#: Of fewer topics, one that is unlike the others is to be expected.
FEW_TO_COMPARE = 10


@dataclass(frozen=True, eq=False)
class RunStatistics:
    """What a run did with judged documents. ``spelling`` tells how ids that match none differ from
    others, of ``"documents"`` or ``"topics"``. ``bounds`` are a measure, and the lowest and highest
    value that the order of tied documents can make; ``by_id`` says that ids make it."""

    rankings: JudgedRankings
    unjudged_topics: int
    spelling: Callable[[str], str]
    bounds: Callable[[], tuple[str, float, float] | None]
    by_id: bool

    @property
    def none_judged(self) -> bool:
        """Whether no document that it retrieves is judged."""
        return not len(self.rankings.rank) and bool(self.rankings.retrieved.any())


@dataclass(frozen=True, eq=False)
class RunStatisticsByName:
    """All runs by name; ``judged`` is the measure of how many of the first documents are judged."""

    by_name: Mapping[str, RunStatistics]
    judged: Measure


@dataclass(frozen=True, eq=False)
class GradedGroups:
    """Rows in groups, every one of which has a grade."""

    rankings: JudgedRankings


@dataclass(frozen=True, eq=False)
class TopicValues:
    """The leading measure that is a mean over topics, on every topic by system."""

    measure: str
    topics: tuple[str, ...]
    values: Mapping[str, FloatArray]
    comparison: Comparison | None
    #: What topics count for, if not once.
    importance: FloatArray | None = None
    unit: str = "topics"

    @property
    def one(self) -> str:
        """What a unit is called."""
        return self.unit.removesuffix("s")

    def weights(self, places: IntArray) -> FloatArray:
        """What some of the topics count for."""
        return np.ones(len(places)) if self.importance is None else self.importance[places]


@rule("nothing-judged", "warning", RunStatistics, cost="rows", counts=True)
def nothing_judged(s: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """A run retrieves documents for judged topics, and none of them is judged."""
    if not run.none_judged:
        return
    retrieved = int(run.rankings.retrieved.sum())
    why = run.spelling("documents") or "Compare the ids of documents in both."
    yield FindingDraft(
        f"None of the {format_count(retrieved, 'documents')} that {shorten_name(s.name or '')} "
        "retrieves for "
        f"judged topics is judged, so that every measure is 0. {why}",
        {"documents retrieved": retrieved, "judged": 0},
        s.shown,
    )


@rule("topics-missing", "caution", RunStatistics, cost="rows", counts=True)
def topics_missing(s: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """A run retrieves nothing for at least {MISSING:g} of the judged topics."""
    retrieved = run.rankings.retrieved
    missing, topics = int((retrieved == 0).sum()), len(retrieved)
    if missing < MISSING * topics:
        return
    others = ""
    if run.unjudged_topics:
        others = f" It has {format_count(run.unjudged_topics, 'topics')} that nobody judged."
    why = run.spelling("topics") or 'With topics="both" the mean is over the other topics alone.'
    yield FindingDraft(
        f"{s.who} retrieves nothing for {missing} of {topics} judged topics, which count as 0 in "
        f"its means.{others} {why}",
        {"topics missing": missing, "topics": topics, "unjudged topics": run.unjudged_topics},
        s.shown,
    )


@rule("few-judged", "caution", RunStatisticsByName, cost="rows", counts=True)
def few_judged(s: Subject, runs: RunStatisticsByName) -> Iterator[FindingDraft]:
    """Of the first {TOP} documents that a run retrieves for a topic, on average a smaller share
    than {FEW_JUDGED:g} is judged."""
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
            f"Few of the first {TOP} documents of a topic are judged: {listed}. Unjudged documents "
            "count as not relevant, which costs a run most that finds what the judged runs did "
            "not. With the option incomplete a report tells how far judging them could move each "
            "number.",
            {f"share judged of {shorten_name(name)}": share for name, share in few.items()},
            s.shown,
        )


@rule("tied-scores", "caution", RunStatistics, cost="sorted rows", counts=True)
def tied_scores(s: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """At least {MOST_TIED:g} of the judged documents that a run retrieves share their score with
    another document of the topic."""
    r = run.rankings
    tied = float(np.mean(r.tied_to > r.tied_from)) if len(r.rank) else 0.0
    if tied < MOST_TIED or not run.by_id:
        return
    values, also = {"share tied": tied}, ""
    if (of := run.bounds()) is not None:
        name, low, high = of
        values |= {f"{name} at worst": low, f"{name} at best": high}
        also = f" Whatever their order, its {shorten_name(name)} is {format_number(low)}."
        if format_number(low) != format_number(high):
            also = (
                f" By their order alone its {shorten_name(name)} could be anything from "
                f"{format_number(low)} to "
                f"{format_number(high)}."
            )
        elif low != high:
            most = f"{high - low:.2g}"
            also = f" By their order alone its {shorten_name(name)} differs by {most} at most."
    if r.averaged:
        what = (
            "rows a score that other rows of the group have too. What is shown is the mean over "
            "all their orders."
        )
    else:
        what = (
            "judged documents that it retrieves a score that other documents of the topic have "
            "too, and ids decide their order."
        )
    yield FindingDraft(f"{s.who} gives {tied:.0%} of the {what}{also}", values, s.shown)


@rule("nothing-to-order", "information", GradedGroups, cost="rows", counts=True)
def nothing_to_order(s: Subject, graded: GradedGroups) -> Iterator[FindingDraft]:
    """In at least {NOTHING_TO_ORDER:g} of the groups all rows have the same grade."""
    levels = np.diff(graded.rankings.judged_offsets)
    same, groups = int((levels == 1).sum()), len(levels)
    if same >= NOTHING_TO_ORDER * groups:
        yield FindingDraft(
            f"In {same} of {format_count(groups, 'groups')} all rows have the same grade. Every "
            "order of "
            "these is as good as any other: a measure has one value there, or none, whatever a "
            "system does.",
            {"groups of one grade": same, "groups": groups},
            s.shown,
        )


@rule("topic-carries", "caution", TopicValues, cost="rows", counts=True)
def topic_carries(_: Subject, table: TopicValues) -> Iterator[FindingDraft]:
    """Of {FEW_TO_COMPARE} topics or more, one alone makes more than half of a system's mean on the
    leading measure."""
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
        left = float(np.delete(w, most).sum())  # not by a difference, which loses small weights
        if not left > 0:
            continue
        rest = float(np.delete(part, most).sum()) / left
        yield FindingDraft(
            f"{system_name(name)} owes its {shorten_name(table.measure)} of {format_number(mean)} "
            f"mostly to {table.one} "
            f"{quoted(table.topics[at])}: without it, it would be {format_number(rest)}.",
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


@rule("topic-decides", "caution", TopicValues, cost="rows")
def topic_decides(s: Subject, table: TopicValues) -> Iterator[Claim]:
    """On the leading measure two systems cannot be told apart, or one is better; and without one
    topic the t interval of their difference leaves out 0, or lies on the other side of it
    (corrected for the number of topics)."""
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
        # Any of the topics could have been the one without which a difference shows.
        level = 1 - (1 - s.level) / n
        rest = IntervalNumber.within(found[0], intervals.student(*found, level))
        p = min(1.0, n * p_of_mean(found[0], found[1], found[2] - 1))
        if rest.value * d.value < 0 or not outcome(d).decided:
            yield Claim(p, partial(_deciding, d, table, int(has[at]), float(x[at]), rest, level))
        else:
            yield Claim(1.0)


def _without_each(x: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The weighted mean without each of the values, its standard error, and Kish's number of those
    that are left."""
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


def _deciding(
    d: Difference, table: TopicValues, at: int, own: float, rest: IntervalNumber, level: float
) -> FindingDraft:
    first_, second = shorten_name(d.system), shorten_name(d.baseline)
    ahead, behind = (first_, second) if rest.value > 0 else (second, first_)
    amount = rest if rest.value > 0 else IntervalNumber(-rest.value, -rest.high, -rest.low)
    return FindingDraft(
        f"One {table.one}, {quoted(table.topics[at])}, decides between {first_} and {second} on "
        f"{shorten_name(table.measure)}: with it the difference is {IntervalNumber.of(d):+}; "
        f"without it {ahead} "
        f"is above {behind} by {amount:+}. On the {table.one} itself the difference is "
        f"{format_number(own)}.",
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


@rule("few-topics-differ", "caution", TopicValues, cost="rows", counts=True)
def few_topics_differ(_: Subject, table: TopicValues) -> Iterator[FindingDraft]:
    """On at least {MOST_ALIKE:g} of the topics, but not on all, all systems have the same value of
    the leading measure."""
    values = np.column_stack(list(table.values.values()))
    values = values[np.isfinite(values).all(axis=1)]
    if values.shape[1] < 2 or not len(values):
        return
    n, differ = len(values), int((np.ptp(values, axis=1) > 0).sum())
    if 0 < differ <= (1 - MOST_ALIKE) * n:
        them = "the two systems" if values.shape[1] == 2 else f"all {values.shape[1]} systems"
        yield FindingDraft(
            f"On {n - differ} of {n} {table.unit} {them} have the same "
            f"{shorten_name(table.measure)}: "
            f"what is said of their differences rests on the other {differ}.",
            {f"{table.unit} that differ": differ, table.unit: n},
            (table.measure,),
        )
