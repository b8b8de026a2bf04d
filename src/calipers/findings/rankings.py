"""Findings on rankings: unjudged documents, tied scores, and influential topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.formatting import IntervalNumber, format_first, quote, system_name
from calipers.findings.rules import Claim, FindingDraft, Subject, rule, t_test_p_value
from calipers.inference import intervals
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import shorten_name
from calipers.report.verdict import outcome

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.results import Comparison, Difference
    from calipers.statistics import FloatArray, IntArray, JudgedRankings

#: The cutoff of the judged fraction.
JUDGED_CUTOFF = 10
#: A lower judged fraction is reported.
MIN_JUDGED_FRACTION = 0.5
#: The smallest proportion of topics without retrieved documents that is reported.
MIN_MISSING_PROPORTION = 0.05
#: The smallest proportion of tied documents that is reported.
MIN_TIED_PROPORTION = 0.5
#: The smallest proportion of groups of a single grade that is reported.
MIN_SINGLE_GRADE_PROPORTION = 0.05
#: The smallest proportion of tied topics that is reported.
MIN_TIED_TOPIC_PROPORTION = 0.75
#: With fewer topics, an influential topic is to be expected.
MIN_TOPICS = 10


@dataclass(frozen=True, eq=False)
class RunStatistics:
    """Judged ranking of a run.

    ``describe_id_mismatch`` describes how unmatched ids of ``"documents"`` or ``"topics"`` differ
    from judged ones. ``compute_tie_bounds`` returns a measure and its lowest and highest value over
    the orders of tied documents; ``orders_ties_by_id`` is whether ties are ordered by id.
    """

    rankings: JudgedRankings
    unjudged_topics: int
    describe_id_mismatch: Callable[[str], str]
    compute_tie_bounds: Callable[[], tuple[str, float, float] | None]
    orders_ties_by_id: bool

    @property
    def is_unjudged(self) -> bool:
        """Whether documents are retrieved, none of which is judged."""
        return not len(self.rankings.rank) and bool(self.rankings.retrieved.any())


@dataclass(frozen=True, eq=False)
class RunStatisticsByName:
    """All runs by name, and the measure of the judged fraction of the top documents."""

    by_name: Mapping[str, RunStatistics]
    judged_fraction: Measure


@dataclass(frozen=True, eq=False)
class GradedGroups:
    """Number of distinct grades of the rows of each group."""

    n_grades: IntArray


@dataclass(frozen=True, eq=False)
class TopicValues:
    """Values of the leading measure that is a mean over topics, by system and topic."""

    measure: str
    topics: tuple[str, ...]
    values: Mapping[str, FloatArray]
    comparison: Comparison | None
    #: The weights of topics, if any.
    topic_weights: FloatArray | None = None
    unit: str = "topics"

    @property
    def unit_name(self) -> str:
        """Name of a unit, in the singular."""
        return self.unit.removesuffix("s")

    def weights(self, indices: IntArray) -> FloatArray:
        """Return the weights of some of the topics."""
        return np.ones(len(indices)) if self.topic_weights is None else self.topic_weights[indices]


@rule("no-judged-documents", "warning", RunStatistics, cost="rows", counts=True)
def no_judged_documents(subject: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """No document that a run retrieves for judged topics is judged."""
    if not run.is_unjudged:
        return
    n_retrieved = int(run.rankings.retrieved.sum())
    advice = (
        run.describe_id_mismatch("documents")
        or "Compare the document ids of the run and the judgments."
    )
    yield FindingDraft(
        f"{subject.title} retrieves {format_count(n_retrieved, 'documents')} for judged topics, "
        "but "
        f"no judged one, so every measure is 0. {advice}",
        {"documents retrieved": n_retrieved, "judged": 0},
        subject.shown_measures,
    )


@rule("missing-topics", "caution", RunStatistics, cost="rows", counts=True)
def missing_topics(subject: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """At least {MIN_MISSING_PROPORTION:.0%} of the judged topics have no retrieved documents in a
    run.
    """  # noqa: D205
    retrieved = run.rankings.retrieved
    n_missing, topics = int((retrieved == 0).sum()), len(retrieved)
    if n_missing < MIN_MISSING_PROPORTION * topics:
        return
    unjudged_note = ""
    if run.unjudged_topics:
        unjudged_note = f" It has {format_count(run.unjudged_topics, 'topics')} without judgments."
    advice = (
        run.describe_id_mismatch("topics")
        or 'Use topics="both" to exclude topics that the run lacks.'
    )
    yield FindingDraft(
        f"{subject.title} retrieves nothing for {n_missing} of {topics} judged topics; its "
        "measures "
        f"are 0 there.{unjudged_note} {advice}",
        {"topics missing": n_missing, "topics": topics, "unjudged topics": run.unjudged_topics},
        subject.shown_measures,
    )


@rule("low-judged-fraction", "caution", RunStatisticsByName, cost="rows", counts=True)
def low_judged_fraction(subject: Subject, runs: RunStatisticsByName) -> Iterator[FindingDraft]:
    """On average, less than {MIN_JUDGED_FRACTION:.0%} of the first {JUDGED_CUTOFF} documents of a
    run are judged.

    The mean is over the topics for which the run retrieves documents.
    """  # noqa: D205
    low_fractions = {}
    for name, run in runs.by_name.items():
        if not run.is_unjudged:
            nonempty_rankings = run.rankings.take_topics(np.flatnonzero(run.rankings.retrieved))
            fractions = runs.judged_fraction.apply(nonempty_rankings)
            fraction = float(fractions.mean()) if len(fractions) else 1.0
            if fraction < MIN_JUDGED_FRACTION:
                low_fractions[name] = fraction
    if low_fractions:
        listed = format_first(
            f"{fraction:.0%} for {shorten_name(name)}" for name, fraction in low_fractions.items()
        )
        yield FindingDraft(
            f"Low judged fraction in the top {JUDGED_CUTOFF}: {listed}. Unjudged documents count "
            "as "
            "non-relevant, which biases scores against runs that did not contribute to the pool. "
            "Use judgment_bounds=True for bounds on each measure.",
            {
                f"judged fraction of {shorten_name(name)}": fraction
                for name, fraction in low_fractions.items()
            },
            subject.shown_measures,
        )


@rule("tied-scores", "caution", RunStatistics, cost="sorted rows", counts=True)
def tied_scores(subject: Subject, run: RunStatistics) -> Iterator[FindingDraft]:
    """At least {MIN_TIED_PROPORTION:.0%} of the judged documents that a run retrieves have tied
    scores.

    Their score is that of another document of the topic.
    """  # noqa: D205
    rankings = run.rankings
    tied = float(np.mean(rankings.tied_to > rankings.tied_from)) if len(rankings.rank) else 0.0
    if tied < MIN_TIED_PROPORTION or not run.orders_ties_by_id:
        return
    values, tie_note = {"tied proportion": tied}, ""
    if (bounds := run.compute_tie_bounds()) is not None:
        name, low, high = bounds
        values |= {f"{name} at worst": low, f"{name} at best": high}
        tie_note = f" Their order does not change {shorten_name(name)} ({format_number(low)})."
        if format_number(low) != format_number(high):
            tie_note = (
                f" Depending on their order, {shorten_name(name)} is between {format_number(low)} "
                f"and {format_number(high)}."
            )
        elif low != high:
            tie_note = f" Their order changes {shorten_name(name)} by at most {high - low:.2g}."
    if rankings.averaged:
        item_name, order = "rows", "group. Measures are means over all orders of tied rows."
    else:
        item_name = "judged documents"
        order = 'topic. Ties are ordered by id; use ties="average" for the mean over all orders.'
    yield FindingDraft(
        f"{subject.title}: {tied:.0%} of the {item_name} have the same score as others of the "
        f"{order}{tie_note}",
        values,
        subject.shown_measures,
    )


@rule("single-grade-groups", "information", GradedGroups, cost="rows", counts=True)
def single_grade_groups(subject: Subject, graded: GradedGroups) -> Iterator[FindingDraft]:
    """In at least {MIN_SINGLE_GRADE_PROPORTION:.0%} of the groups all rows have the same grade."""
    n_single_grade, groups = int((graded.n_grades == 1).sum()), len(graded.n_grades)
    if n_single_grade >= MIN_SINGLE_GRADE_PROPORTION * groups:
        yield FindingDraft(
            f"In {n_single_grade} of {format_count(groups, 'groups')} all rows have the same "
            "grade. There, "
            "measures are constant or undefined for any order, so these groups do not separate "
            "systems.",
            {"groups with a single grade": n_single_grade, "groups": groups},
            subject.shown_measures,
        )


@rule("influential-topic", "caution", TopicValues, cost="rows", counts=True)
def influential_topic(_: Subject, table: TopicValues) -> Iterator[FindingDraft]:
    """One of {MIN_TOPICS} topics or more contributes more than half of a system's mean.

    The mean is that of the leading measure.
    """
    for name, values in table.values.items():
        defined = np.flatnonzero(np.isfinite(values))
        n, w = len(defined), table.weights(defined)
        if n < MIN_TOPICS or np.nanmin(values) < 0:
            continue
        contributions = w * values[defined]
        total, max_index = float(contributions.sum()), int(np.argmax(contributions))
        if not 2 * contributions[max_index] > total:
            continue
        topic_index, mean = int(defined[max_index]), total / float(w.sum())
        # The total minus one weight would lose small weights.
        remaining_weight = float(np.delete(w, max_index).sum())
        if not remaining_weight > 0:
            continue
        remaining_mean = float(np.delete(contributions, max_index).sum()) / remaining_weight
        yield FindingDraft(
            f"More than half of the mean {shorten_name(table.measure)} of {system_name(name)} "
            f"({format_number(mean)}) is due to {table.unit_name} "
            f"{quote(table.topics[topic_index])}; without it the mean is "
            f"{format_number(remaining_mean)}.",
            {
                table.measure: mean,
                f"value on the {table.unit_name}": float(values[topic_index]),
                f"{table.measure} without it": remaining_mean,
                table.unit: n,
            },
            (table.measure,),
            systems=(name,),
            aspect=table.topics[topic_index],
        )


@rule("topic-dependent-difference", "caution", TopicValues, cost="rows")
def topic_dependent_difference(subject: Subject, table: TopicValues) -> Iterator[Claim]:
    """Without one topic, the comparison of two systems would have another result.

    On the leading measure the difference of two systems is not significant, or one system is
    better; and without one topic the t interval of their difference excludes 0, or lies on the
    other side of it (corrected for the number of topics). Where the other topics have the same
    difference, which leaves no t interval, the sign test replaces it.
    """
    if table.comparison is None:
        return
    pairs = [difference for difference in table.comparison if difference.measure == table.measure]
    for difference in pairs:
        differences = table.values[difference.system] - table.values[difference.baseline]
        defined = np.flatnonzero(np.isfinite(differences))
        n = len(defined)
        if n < MIN_TOPICS:
            continue
        x, weights = differences[defined], table.weights(defined)
        # Most differences are significant, and no topic reverses them.
        terms = x * weights
        remaining = (terms.sum() - terms) * difference.value
        is_significant = outcome(difference).is_significant
        if is_significant and remaining.min() > 0:
            yield Claim(1.0)
            continue
        mean, error, size = _leave_one_out_means(x, weights)
        # If all topics have the same difference, it depends on none of them.
        t_of_constant = (
            0.0 if np.ptp(x) <= intervals.ROUNDING_TOLERANCE * np.abs(x).max() else np.inf
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(np.abs(mean) / error, posinf=t_of_constant)
        max_index = int(np.argmax(t))
        estimate = float(mean[max_index]), float(error[max_index]), float(size[max_index])
        # Corrected for the choice of the topic.
        level = 1 - (1 - subject.level) / n
        remaining_difference = IntervalNumber.from_interval(
            estimate[0], intervals.student_interval(*estimate, level)
        )
        # The remaining topics have the same sign if they have the same difference.
        p = (
            2.0 ** (1 - np.count_nonzero(np.delete(weights, max_index)))
            if np.isinf(t[max_index])
            else t_test_p_value(estimate[0], estimate[1], estimate[2] - 1)
        )
        p = min(1.0, n * p)
        if remaining_difference.value * difference.value < 0 or not is_significant:
            yield Claim(
                p,
                partial(
                    _decisive_topic_message,
                    difference,
                    table,
                    int(defined[max_index]),
                    float(x[max_index]),
                    remaining_difference,
                    level,
                ),
            )
        else:
            yield Claim(1.0)


def _leave_one_out_means(x: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute leave-one-out weighted means, their standard errors, and Kish's effective sizes."""
    deviations, total, square = x - np.average(x, weights=w), w.sum() - w, np.square(w)
    mean = -w * deviations / total  # about the mean of all
    squares, cross, second_moments = (
        terms.sum() - terms
        for terms in (square, square * deviations, square * np.square(deviations))
    )
    spread = second_moments - 2 * mean * cross + mean**2 * squares
    # Rounding leaves a spread where all other values are equal.
    size = np.square(x).max(initial=0.0) * square.sum()
    spread = np.where(spread > intervals.ROUNDING_TOLERANCE * size, spread, 0.0)
    n = total**2 / squares
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(spread * n / np.where(n > 1, n - 1, np.nan)) / total
    return np.average(x, weights=w) + mean, error, n


def _decisive_topic_message(
    difference: Difference,
    table: TopicValues,
    topic_index: int,
    topic_difference: float,
    remaining_difference: IntervalNumber,
    level: float,
) -> FindingDraft:
    first_, second = shorten_name(difference.system), shorten_name(difference.baseline)
    ahead, behind = (first_, second) if remaining_difference.value > 0 else (second, first_)
    amount = remaining_difference if remaining_difference.value > 0 else -remaining_difference
    return FindingDraft(
        f"The difference in {shorten_name(table.measure)} between {first_} and {second} depends on "
        f"one {table.unit_name}, {quote(table.topics[topic_index])}: it is "
        f"{IntervalNumber.from_estimate(difference):+} with this {table.unit_name}; without it "
        f"{ahead} scores higher than {behind} by {amount:+}. Check the {table.unit_name}, where "
        f"the difference is {format_number(topic_difference)}.",
        {
            "difference": IntervalNumber.from_estimate(difference),
            f"difference without the {table.unit_name}": remaining_difference,
            f"difference on the {table.unit_name}": topic_difference,
        },
        (table.measure,),
        level,
        systems=(difference.system, difference.baseline),
        aspect=table.topics[topic_index],
    )


@rule("mostly-tied-topics", "caution", TopicValues, cost="rows", counts=True)
def mostly_tied_topics(_: Subject, table: TopicValues) -> Iterator[FindingDraft]:
    """On at least {MIN_TIED_TOPIC_PROPORTION:.0%} of the topics, but not on all, all systems are
    tied.

    They have the same value of the leading measure.
    """  # noqa: D205
    values = np.column_stack(list(table.values.values()))
    values = values[np.isfinite(values).all(axis=1)]
    if values.shape[1] < 2 or not len(values):
        return
    n, n_different = len(values), int((np.ptp(values, axis=1) > 0).sum())
    if 0 < n_different <= (1 - MIN_TIED_TOPIC_PROPORTION) * n:
        systems_text = (
            "the two systems" if values.shape[1] == 2 else f"all {values.shape[1]} systems"
        )
        yield FindingDraft(
            f"On {n - n_different} of {n} {table.unit}, {systems_text} have the same "
            f"{shorten_name(table.measure)}; comparisons are based on the other {n_different}. A "
            "measure with a deeper cutoff or graded gains may separate them on more.",
            {f"{table.unit} with differences": n_different, table.unit: n},
            (table.measure,),
        )
