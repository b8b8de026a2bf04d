"""Findings on systems without skill, relative to chance or to the best constant prediction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.confusion_cells import (
    BinaryCells,
    ClassCellSelections,
    ConfusionCells,
    NumberAtLevel,
    below_check,
    class_cells,
    single_cell,
    subtract,
)
from calipers.findings.formatting import IntervalNumber
from calipers.findings.regression import NumericPredictions
from calipers.findings.rules import (
    Claim,
    FindingDraft,
    Subject,
    p_from_intervals,
    rule,
    t_test_p_value,
)
from calipers.inference import intervals
from calipers.measures.regression import DIRECT_LOSSES
from calipers.report.numbers import format_number
from calipers.report.safe_names import shorten_name
from calipers.statistics import Moments, ScoreTable, effective_size
from calipers.statistics.base import row_blocks

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.statistics import FloatArray


@rule("below-chance", "warning", ScoreTable, cost="rows")
def auc_below_chance(subject: Subject, table: ScoreTable) -> Iterator[Claim]:
    """Scores or predictions are significantly worse than chance.

    The interval of the AUC lies below 0.5, and the rank-sum test finds it there; without scores,
    the interval of recall minus the false positive rate lies below 0.
    """
    area = subject.get_estimate("AUC")
    p = 1.0  # also where the area is undefined, since one class is absent
    if area.high < 0.5:
        # With fewer than four positive rows the interval is too narrow.
        positive = effective_size(table.total_positive, table.total_positive_squares)
        negative = effective_size(table.total_negative, table.total_negative_squares)
        null_sd = math.sqrt((positive + negative + 1) / (12 * positive * negative))
        rank_sum_p = math.erfc((0.5 - area.value) / null_sd / math.sqrt(2))
        p = max(subject.p("AUC", 0.5), rank_sum_p) / 2
    yield Claim(p, partial(_auc_below_chance_message, subject, area))


def _auc_below_chance_message(subject: Subject, area: IntervalNumber) -> FindingDraft:
    reversed_area = IntervalNumber(1 - area.value, 1 - area.high, 1 - area.low)
    return FindingDraft(
        f"{subject.title} ranks below chance (AUC {area}). The negated score has an AUC of "
        f"{reversed_area}; check the direction of the score and which class is positive.",
        {"AUC": area, "AUC of the negated score": reversed_area},
        subject.shown_among("AUC"),
    )


@rule("below-chance", "warning", BinaryCells, cost="sums")
def j_below_chance(subject: Subject, cells: BinaryCells) -> Iterator[Claim]:
    """Scores or predictions are significantly worse than chance.

    The interval of the AUC lies below 0.5, and the rank-sum test finds it there; without scores,
    the interval of recall minus the false positive rate lies below 0.
    """
    if subject.get(ScoreTable) is not None:
        return
    recall, fpr = (cells.proportion(single_cell(code, 1), class_cells(code)) for code in (1, 0))
    p = p_from_intervals(below_check(subtract(recall, fpr), 0.0), subject.level)
    yield Claim(
        p, partial(_j_below_chance_message, subject, recall(subject.level), fpr(subject.level))
    )


def _j_below_chance_message(
    subject: Subject, recall: IntervalNumber, fpr: IntervalNumber
) -> FindingDraft:
    j, opposite_recall, opposite_fpr = recall - fpr, 1 - recall.value, 1 - fpr.value
    return FindingDraft(
        f"{subject.title} predicts below chance: recall {format_number(recall.value)} at a false "
        f"positive rate of {format_number(fpr.value)} (difference {j:+}). The opposite predictions "
        f"have a recall of {format_number(opposite_recall)} at {format_number(opposite_fpr)}; "
        "check which class is "
        "positive.",
        {
            "recall": recall.value,
            "FPR": fpr.value,
            "J": j,
            "recall of the opposite predictions": opposite_recall,
            "FPR of the opposite predictions": opposite_fpr,
        },
        subject.shown_among("recall", "specificity", "FPR", "J"),
    )


def compare_with_constant(
    subject: Subject,
    name: str,
    value: IntervalNumber,
    constant: str,
    constant_value: float,
    difference: NumberAtLevel,
    n_constants: int,
) -> Iterator[Claim]:
    """Claim that a system is worse than the best constant prediction, or not better.

    The best constant is chosen among ``n_constants`` predictions on the same rows, which biases its
    value upwards. The p-value of a better constant is therefore multiplied by their number.
    """
    gain, measure = difference(subject.level), name.replace(" ", "-")

    def make_draft(kind: str, verb: str) -> FindingDraft:
        return FindingDraft(
            f"{subject.title}: {name} {value} {verb} {format_number(constant_value)}, the {name} "
            f"of always predicting {constant} (difference {gain:+}).",
            {
                measure: value,
                f"{name} of the best constant prediction": constant_value,
                "difference": gain,
            },
            subject.shown_among(measure, "error-rate"),
            kind=f"{measure}-{kind}-constant",
        )

    if math.isnan(gain.low):
        return
    p = min(1.0, n_constants * p_from_intervals(below_check(difference, 0.0), subject.level))
    make_not_above = partial(make_draft, "not-above", "is not significantly above")
    yield Claim(
        p, partial(make_draft, "below", "is below"), None if gain.low > 0 else make_not_above
    )


#: Clause of criteria: the interval is corrected for the choice of the constant.
SELECTION_CLAUSE = " and corrected for the choice of the {} among {}, lies below"


@rule(
    "accuracy-below-constant",
    "warning",
    ConfusionCells,
    cost="sums",
    verb=SELECTION_CLAUSE.format("class", "K"),
)
@rule("accuracy-not-above-constant", "caution", ConfusionCells, cost="sums", verb=", contains")
def accuracy_and_constant(subject: Subject, cells: ConfusionCells) -> Iterator[Claim]:
    """Accuracy is compared with that of always predicting the most frequent class.

    The interval of the difference, paired by row{verb} 0.
    """
    if not subject.shown_among("accuracy", "error-rate"):
        return
    m = cells.matrix
    frequent = int(m.truth_margin.argmax())
    counts = ClassCellSelections(frequent)
    difference = cells.difference(counts.correct_others, counts.missed)
    constant_accuracy, constant = float(m.truth_margin[frequent] / m.total), cells.label(frequent)
    accuracy = subject.get_estimate("accuracy")
    yield from compare_with_constant(
        subject, "accuracy", accuracy, constant, constant_accuracy, difference, m.n_classes
    )


@rule(
    "error-above-constant", "warning", NumericPredictions, cost="sorted rows", verb="lies above 0"
)
@rule(
    "error-not-below-constant",
    "caution",
    NumericPredictions,
    cost="sorted rows",
    verb="contains 0, or the two are equal",
)
def error_and_constant(subject: Subject, predictions: NumericPredictions) -> Iterator[Claim]:
    """Mean loss is compared with that of the best constant prediction.

    The interval of the difference, paired by row, {verb}.
    """
    measure = next(filter(_is_mean_loss, subject.measures), None)
    if measure is None:
        return
    best = measure.constant_prediction(predictions.truth, predictions.weight, **measure.parameters)
    clusters = predictions.clusters
    differences = np.empty(0 if clusters is None else len(predictions.truth))
    totals = _loss_moments(measure, predictions, best, differences)
    if totals is None:
        return
    system_value, constant_value = (float(measure.apply(each)) for each in totals[:2])
    value = float(totals[2].mean)
    if clusters is not None:
        se, df = clusters.mean_error(differences)
        interval = clusters.student_interval(value, se, df, subject.level, "cluster-robust")
        n = df + 1
    else:
        se, n = totals[2].standard_error, totals[2].effective_size
        interval = intervals.student_interval(value, se, n, subject.level)
    difference, name = IntervalNumber.from_interval(value, interval), str(measure)
    losses_name = "squared errors" if measure.interval == "root_mean" else "losses"

    def make_draft(kind: str, verb: str) -> FindingDraft:
        return FindingDraft(
            f"{subject.title}: {shorten_name(name)} {format_number(system_value)} {verb} "
            f"{format_number(constant_value)}, the {shorten_name(name)} of always predicting "
            f"{format_number(best)} (difference of the mean {losses_name} {difference:+}).",
            {
                name: system_value,
                f"{name} of the best constant prediction": constant_value,
                "difference of the mean losses": difference,
            },
            (name,),
            kind=f"error-{kind}-constant",
        )

    # A system that predicts the constant has the same losses, and so no interval.
    is_constant = value == 0 and totals[2].m2 == 0
    verb = "equals" if is_constant else "is not significantly below"
    yield Claim(
        t_test_p_value(value, se, n - 1) / 2 if difference.low > 0 else 1.0,
        partial(make_draft, "above", "is above"),
        partial(make_draft, "not-below", verb) if interval.high >= 0 or is_constant else None,
    )


def _is_mean_loss(measure: Measure) -> bool:
    """Return whether a measure is a mean of losses of which the best constant is known.

    A ratio of two means is not, nor are losses that are relative to the training series of a row.
    """
    return (
        measure.constant_prediction is not None
        and measure.definition.statistic is Moments
        and None not in measure.parameters.values()
    )


def _loss_moments(
    measure: Measure, predictions: NumericPredictions, best: float, differences: FloatArray
) -> list[Moments] | None:
    """Return the moments of the losses, of those of a constant prediction, and of the differences.

    They are None if a loss is not finite. The differences of clustered rows are stored in
    ``differences``.
    """
    truth, predicted, weight = predictions.truth, predictions.predicted, predictions.weight
    formula = measure.definition.row_formula
    squared = None if formula is None else DIRECT_LOSSES.get(formula)
    if squared is not None and weight is None and not len(differences):
        return Moments.from_error_differences(truth, predicted, best, squared=squared)
    totals: list[Moments] = []
    for rows in row_blocks(len(truth), 1):  # which stay in the cache of the processor
        columns = [measure.losses(truth[rows], x) for x in (predicted[rows], np.full(1, best))]
        if not all(np.isfinite(column).all() for column in columns):
            return None
        columns.append(columns[0] - columns[1])
        if len(differences):
            differences[rows] = columns[2]
        row_weights = None if weight is None else weight[rows]
        moments = [Moments.from_rows(column, row_weights) for column in columns]
        totals = [a + b for a, b in zip(totals, moments, strict=True)] if totals else moments
    return totals


@rule("not-above-chance", "caution", ScoreTable, cost="scores")
def auc_not_above_chance(subject: Subject, _: ScoreTable) -> Iterator[FindingDraft]:
    """AUC is not significantly different from chance: its interval contains 0.5."""
    area = subject.get_estimate("AUC")
    if area.low <= 0.5 <= area.high:
        yield FindingDraft(
            f"{subject.title} does not rank significantly better than chance (AUC {area}).",
            {"AUC": area},
            subject.shown_among("AUC"),
        )
