"""Rankings and topics: documents nobody judged, tied scores, topics that decide alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.formatting import Valued, first, quoted, who
from calipers.findings.rules import Claim, Said, Subject, p_of_mean, rule
from calipers.inference import intervals
from calipers.report.numbers import count, number
from calipers.report.safe_names import short
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
class Ranked:
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
class Runs:
    """All runs by name; ``judged`` is the measure of how many of the first documents are judged."""

    by_name: Mapping[str, Ranked]
    judged: Measure


@dataclass(frozen=True, eq=False)
class Graded:
    """Rows in groups, every one of which has a grade."""

    rankings: JudgedRankings


@dataclass(frozen=True, eq=False)
class TopicTable:
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


@rule("nothing-judged", "warning", Ranked, cost="rows", counts=True)
def nothing_judged(s: Subject, run: Ranked) -> Iterator[Said]:
    """A run retrieves documents for judged topics, and none of them is judged."""
    if not run.none_judged:
        return
    retrieved = int(run.rankings.retrieved.sum())
    why = run.spelling("documents") or "Compare the ids of documents in both."
    yield Said(
        f"None of the {count(retrieved, 'documents')} that {short(s.name or '')} retrieves for "
        f"judged topics is judged, so that every measure is 0. {why}",
        {"documents retrieved": retrieved, "judged": 0},
        s.shown,
    )


@rule("topics-missing", "caution", Ranked, cost="rows", counts=True)
def topics_missing(s: Subject, run: Ranked) -> Iterator[Said]:
    """A run retrieves nothing for at least {MISSING:g} of the judged topics."""
    retrieved = run.rankings.retrieved
    missing, topics = int((retrieved == 0).sum()), len(retrieved)
    if missing < MISSING * topics:
        return
    others = ""
    if run.unjudged_topics:
        others = f" It has {count(run.unjudged_topics, 'topics')} that nobody judged."
    why = run.spelling("topics") or 'With topics="both" the mean is over the other topics alone.'
    yield Said(
        f"{s.who} retrieves nothing for {missing} of {topics} judged topics, which count as 0 in "
        f"its means.{others} {why}",
        {"topics missing": missing, "topics": topics, "unjudged topics": run.unjudged_topics},
        s.shown,
    )


@rule("few-judged", "caution", Runs, cost="rows", counts=True)
def few_judged(s: Subject, runs: Runs) -> Iterator[Said]:
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
        listed = first(f"{share:.0%} for {short(name)}" for name, share in few.items())
        yield Said(
            f"Few of the first {TOP} documents of a topic are judged: {listed}. Unjudged documents "
            "count as not relevant, which costs a run most that finds what the judged runs did "
            "not. With the option incomplete a report tells how far judging them could move each "
            "number.",
            {f"share judged of {short(name)}": share for name, share in few.items()},
            s.shown,
        )


@rule("tied-scores", "caution", Ranked, cost="sorted rows", counts=True)
def tied_scores(s: Subject, run: Ranked) -> Iterator[Said]:
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
        also = f" Whatever their order, its {short(name)} is {number(low)}."
        if number(low) != number(high):
            also = (
                f" By their order alone its {short(name)} could be anything from {number(low)} to "
                f"{number(high)}."
            )
        elif low != high:
            also = f" By their order alone its {short(name)} differs by {high - low:.2g} at most."
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
    yield Said(f"{s.who} gives {tied:.0%} of the {what}{also}", values, s.shown)


@rule("nothing-to-order", "information", Graded, cost="rows", counts=True)
def nothing_to_order(s: Subject, graded: Graded) -> Iterator[Said]:
    """In at least {NOTHING_TO_ORDER:g} of the groups all rows have the same grade."""
    levels = np.diff(graded.rankings.judged_offsets)
    same, groups = int((levels == 1).sum()), len(levels)
    if same >= NOTHING_TO_ORDER * groups:
        yield Said(
            f"In {same} of {count(groups, 'groups')} all rows have the same grade. Every order of "
            "these is as good as any other: a measure has one value there, or none, whatever a "
            "system does.",
            {"groups of one grade": same, "groups": groups},
            s.shown,
        )


@rule("topic-carries", "caution", TopicTable, cost="rows", counts=True)
def topic_carries(_: Subject, table: TopicTable) -> Iterator[Said]:
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
        yield Said(
            f"{who(name)} owes its {short(table.measure)} of {number(mean)} mostly to {table.one} "
            f"{quoted(table.topics[at])}: without it, it would be {number(rest)}.",
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


@rule("topic-decides", "caution", TopicTable, cost="rows")
def topic_decides(s: Subject, table: TopicTable) -> Iterator[Claim]:
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
        rest = Valued.within(found[0], intervals.student(*found, level))
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
    d: Difference, table: TopicTable, at: int, own: float, rest: Valued, level: float
) -> Said:
    first_, second = short(d.system), short(d.baseline)
    ahead, behind = (first_, second) if rest.value > 0 else (second, first_)
    amount = rest if rest.value > 0 else Valued(-rest.value, -rest.high, -rest.low)
    return Said(
        f"One {table.one}, {quoted(table.topics[at])}, decides between {first_} and {second} on "
        f"{short(table.measure)}: with it the difference is {Valued.of(d):+}; without it {ahead} "
        f"is above {behind} by {amount:+}. On the {table.one} itself the difference is "
        f"{number(own)}.",
        {
            "difference": Valued.of(d),
            f"difference without the {table.one}": rest,
            f"difference on the {table.one}": own,
        },
        (table.measure,),
        level,
        systems=(d.system, d.baseline),
        about=table.topics[at],
    )


@rule("few-topics-differ", "caution", TopicTable, cost="rows", counts=True)
def few_topics_differ(_: Subject, table: TopicTable) -> Iterator[Said]:
    """On at least {MOST_ALIKE:g} of the topics, but not on all, all systems have the same value of
    the leading measure."""
    values = np.column_stack(list(table.values.values()))
    values = values[np.isfinite(values).all(axis=1)]
    if values.shape[1] < 2 or not len(values):
        return
    n, differ = len(values), int((np.ptp(values, axis=1) > 0).sum())
    if 0 < differ <= (1 - MOST_ALIKE) * n:
        them = "the two systems" if values.shape[1] == 2 else f"all {values.shape[1]} systems"
        yield Said(
            f"On {n - differ} of {n} {table.unit} {them} have the same {short(table.measure)}: "
            f"what is said of their differences rests on the other {differ}.",
            {f"{table.unit} that differ": differ, table.unit: n},
            (table.measure,),
        )
