"""Findings on the data: class imbalance, and small numbers of rows or topics."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from calipers.findings.confusion_cells import (
    ALL_ROWS,
    ClassCellSelections,
    ConfusionCells,
    below_check,
)
from calipers.findings.formatting import IntervalNumber, format_first, format_proportions
from calipers.findings.rules import Claim, FindingDraft, Subject, p_from_intervals, rule
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import join_words
from calipers.results import Estimate
from calipers.statistics import effective_size

#: Fewer rows of a class, and fewer topics, than these are reported.
MIN_CLASS_ROWS = 20
MIN_TOPICS = 25
#: A class is rare if its proportion is below this fraction of the one that K equal classes have.
MAX_RARE_FRACTION = 0.2
MAX_RARE_PROPORTION_OF_TWO = MAX_RARE_FRACTION / 2

#: Measures to report instead of accuracy if a class is rare.
IMBALANCE_MEASURES = ("precision", "recall", "balanced-accuracy", "MCC", "PR-AUC", "AP")


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """Number of rows of each class, from the predictions of one system or from the truth."""

    cells: ConfusionCells


@dataclass(frozen=True, eq=False)
class TopicEstimates:
    """Estimates over topics."""

    estimates: tuple[Estimate, ...]
    #: The effective number of topics, if weights make it smaller than their number.
    effective_size: float = math.inf
    unit: str = "topics"


@rule("class-imbalance", "information", ClassSizes, cost="sums")
def class_imbalance(subject: Subject, classes: ClassSizes) -> Iterator[Claim]:
    """One or more classes are rare: the interval of the proportion of the rows is below
    {MAX_RARE_FRACTION:g}/K.

    K is the number of classes, so that the limit is {MAX_RARE_PROPORTION_OF_TWO:g} for two. The
    interval is corrected for the number of classes.
    """  # noqa: D205
    cells, weight = classes.cells, classes.cells.matrix.truth_margin
    k = len(weight)
    # Of two classes one at most can be rare.
    tests = 1 if k == 2 else k
    proportions, p = {}, {}
    for code in range(k):
        proportion = cells.proportion(ClassCellSelections(code).true, ALL_ROWS)
        proportions[cells.label(code)] = proportion(subject.level)
        p_value = p_from_intervals(below_check(proportion, MAX_RARE_FRACTION / k), subject.level)
        p[cells.label(code)] = min(1.0, tests * p_value)
    rare = {
        label: proportions[label] for label, p_value in p.items() if p_value <= 1 - subject.level
    }
    yield Claim(min(p.values()), partial(_imbalance_message, subject, cells, rare))


def _imbalance_message(
    subject: Subject, cells: ConfusionCells, rare: Mapping[str, IntervalNumber]
) -> FindingDraft:
    weight = cells.matrix.truth_margin
    if len(rare) == 1:
        ((label, proportion),) = rare.items()
        claim = f"{proportion} of the rows are {label}"
    else:
        claim = f"{len(rare)} of {len(weight)} classes are rare, {format_proportions(rare.items())}"
    frequent = int(weight.argmax())
    constant_accuracy = float(weight[frequent] / float(weight.sum()))
    reported = subject.shown_among(*IMBALANCE_MEASURES)
    advice = f"; report {join_words(reported)} rather than accuracy" if reported else ""
    return FindingDraft(
        f"Class imbalance: {claim}. Always predicting {cells.label(frequent)} has an accuracy of "
        f"{format_number(constant_accuracy)}{advice}.",
        {
            **{f"proportion of {label}": proportion for label, proportion in rare.items()},
            "accuracy of the best constant prediction": constant_accuracy,
        },
        subject.shown_among("accuracy", *IMBALANCE_MEASURES),
    )


@rule("few-rows", "caution", ClassSizes, cost="sums", counts=True)
def few_rows(subject: Subject, classes: ClassSizes) -> Iterator[FindingDraft]:
    """At least one class (or label) has fewer than {MIN_CLASS_ROWS} rows.

    Weighted rows count by their effective number.
    """
    cells, m = classes.cells, classes.cells.matrix
    sizes = map(effective_size, m.truth_margin, m.squared_weight_matrix.truth_margin)
    small_classes = {cells.label(code): n for code, n in enumerate(sizes) if 0 < n < MIN_CLASS_ROWS}
    if small_classes:
        step = 1 / min(small_classes.values())
        number = len(small_classes)
        subject_text = "One class has" if number == 1 else f"{number} classes have"
        listed = format_first(f"{label} (n = {n:.3g})" for label, n in small_classes.items())
        yield FindingDraft(
            f"{subject_text} few rows: {listed}. A single row changes measures of such a class by "
            f"up to {step:.2g}; interpret them by their intervals.",
            {**{f"rows of {label}": n for label, n in small_classes.items()}, "step": step},
            subject.shown_measures,
        )


@rule("few-topics", "caution", TopicEstimates, cost="results", counts=True)
def few_topics(_: Subject, topics: TopicEstimates) -> Iterator[FindingDraft]:
    """There are fewer than {MIN_TOPICS} topics (effective topics if topics are weighted)."""
    topic_estimates = [e for e in topics.estimates if e.interval_reason != "exact_count"]
    unit, n = topics.unit, max((e.n for e in topic_estimates), default=0)
    if 0 < min(n, topics.effective_size) < MIN_TOPICS:
        effective = (
            f" (effective number {topics.effective_size:.3g})" if topics.effective_size < n else ""
        )
        has_multiple_systems = len({e.system for e in topic_estimates}) > 1
        yield FindingDraft(
            f"The means are based on {format_count(n, unit)}{effective}; "
            f"{'the ranking of systems' if has_multiple_systems else 'they'} may not generalise to "
            f"other {unit}.",
            {
                unit: n,
                **(
                    {f"effective {unit}": topics.effective_size}
                    if topics.effective_size < n
                    else {}
                ),
            },
            tuple(dict.fromkeys(e.measure for e in topic_estimates)),
        )
