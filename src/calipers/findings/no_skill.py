"""Findings on systems without skill, relative to chance or to the best constant prediction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from calipers.findings.confusion_cells import (
    AtLevel,
    BinaryCells,
    ClassCellCounts,
    ConfusionCells,
    class_cells,
    is_below,
    single_cell,
    subtract,
)
from calipers.findings.formatting import IntervalNumber
from calipers.findings.regression import NumericPredictions
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_level, p_of_mean, rule
from calipers.inference import intervals
from calipers.report.numbers import format_number
from calipers.report.safe_names import shorten_name
from calipers.statistics import Moments, ScoreTable, effective_size


@rule("below-chance", "warning", ScoreTable, cost="rows")
def auc_below_chance(s: Subject, table: ScoreTable) -> Iterator[Claim]:
    """Scores or predictions are significantly worse than chance.

    The interval of the AUC lies below 0.5, and the rank-sum test finds it there; without scores,
    the interval of recall minus the false positive rate lies below 0.
    """
    area = s.estimate_of("AUC")
    if math.isnan(area.value):  # undefined if one class is absent
        return
    p = 1.0
    if area.high < 0.5:
        # With fewer than four positive rows the interval is too narrow.
        positive = effective_size(table.total_positive, table.positive_squares.sum())
        negative = effective_size(table.total_negative, table.negative_squares.sum())
        by_chance = math.sqrt((positive + negative + 1) / (12 * positive * negative))
        by_ranks = math.erfc((0.5 - area.value) / by_chance / math.sqrt(2))
        p = max(s.p("AUC", 0.5), by_ranks) / 2
    yield Claim(p, partial(_ranks_wrongly, s, area))


def _ranks_wrongly(s: Subject, area: IntervalNumber) -> FindingDraft:
    turned = IntervalNumber(1 - area.value, 1 - area.high, 1 - area.low)
    return FindingDraft(
        f"{s.title} ranks below chance (AUC {area}). The negated score has an AUC of {turned}; "
        "check "
        "the direction of the score and which class is positive.",
        {"AUC": area, "AUC of the negated score": turned},
        s.shown_among("AUC"),
    )


@rule("below-chance", "warning", BinaryCells, cost="sums")
def j_below_chance(s: Subject, cells: BinaryCells) -> Iterator[Claim]:
    """Scores or predictions are significantly worse than chance.

    The interval of the AUC lies below 0.5, and the rank-sum test finds it there; without scores,
    the interval of recall minus the false positive rate lies below 0.
    """
    if s.get(ScoreTable) is not None:
        return
    recall, fpr = (cells.share(single_cell(code, 1), class_cells(code)) for code in (1, 0))
    p = p_of_level(is_below(subtract(recall, fpr), 0.0), s.level)
    yield Claim(p, partial(_answers_wrongly, s, recall(s.level), fpr(s.level)))


def _answers_wrongly(s: Subject, recall: IntervalNumber, fpr: IntervalNumber) -> FindingDraft:
    j, hits, alarms = recall - fpr, 1 - recall.value, 1 - fpr.value
    return FindingDraft(
        f"{s.title} predicts below chance: recall {format_number(recall.value)} at a false "
        "positive "
        "rate of "
        f"{format_number(fpr.value)} (difference {j:+}). The opposite predictions have a recall of "
        f"{format_number(hits)} at {format_number(alarms)}; check which class is positive.",
        {
            "recall": recall.value,
            "FPR": fpr.value,
            "J": j,
            "recall of the opposite": hits,
            "FPR of the opposite": alarms,
        },
        s.shown_among("recall", "specificity", "FPR", "J"),
    )


def compare_with_constant(
    s: Subject,
    name: str,
    own: IntervalNumber,
    answer: str,
    always: float,
    apart: AtLevel,
    answers: int,
) -> Iterator[Claim]:
    """Claim that a system is worse than the best constant prediction, or not better.

    The best constant is chosen among ``answers`` predictions on the same rows, which favours it.
    The p-value of a better constant is therefore multiplied by their number.
    """
    gain, measure = apart(s.level), name.replace(" ", "-")

    def said(kind: str, verb: str) -> FindingDraft:
        return FindingDraft(
            f"{s.title}: {name} {own} {verb} {format_number(always)}, the {name} of always "
            "predicting "
            f"{answer} (difference {gain:+}).",
            {
                measure: own,
                f"{name} of the constant answer": always,
                "difference": gain,
            },
            s.shown_among(measure, "error-rate"),
            kind=f"{measure}-{kind}-constant",
        )

    if math.isnan(gain.low):
        return
    p = min(1.0, answers * p_of_level(is_below(apart, 0.0), s.level))
    like = partial(said, "not-above", "is not significantly above")
    yield Claim(p, partial(said, "below", "is below"), None if gain.low > 0 else like)


#: The correction of the interval for the choice of the constant.
CHOSEN = " and corrected for the choice of the {} among {}, lies below"


@rule(
    "accuracy-below-constant",
    "warning",
    ConfusionCells,
    cost="sums",
    verb=CHOSEN.format("class", "K"),
)
@rule("accuracy-not-above-constant", "caution", ConfusionCells, cost="sums", verb=", contains")
def accuracy_and_constant(s: Subject, cells: ConfusionCells) -> Iterator[Claim]:
    """Accuracy is compared with that of always predicting the most frequent class.

    The interval of the difference, paired by row{verb} 0.
    """
    if not s.shown_among("accuracy", "error-rate"):
        return
    m = cells.matrix
    frequent = int(m.truth.argmax())
    of = ClassCellCounts(frequent)
    apart = cells.apart(of.right_elsewhere, of.missed)
    always, answer = float(m.truth[frequent] / m.total), cells.label(frequent)
    own = s.estimate_of("accuracy")
    yield from compare_with_constant(s, "accuracy", own, answer, always, apart, m.classes)


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
def error_and_constant(s: Subject, of: NumericPredictions) -> Iterator[Claim]:
    """Mean loss is compared with that of the best constant prediction.

    The interval of the difference, paired by row, {verb}.
    """
    measure = next((m for m in s.measures if m.constant_prediction is not None), None)
    if measure is None:
        return
    best = measure.constant_prediction(of.truth, of.weight, **measure.parameters)
    losses = [measure.losses(of.truth, x) for x in (of.predicted, np.full(len(of.truth), best))]
    if not all(np.isfinite(x).all() for x in losses):
        return
    apart = Moments.from_rows(losses[0] - losses[1], of.weight)
    value = float(apart.mean)
    if of.clusters is not None:
        se, degrees = of.clusters.mean_error(losses[0] - losses[1])
        made, n = of.clusters.normal(value, se, degrees, s.level, "clustered"), degrees + 1
    else:
        se, n = apart.standard_error, apart.effective_size
        made = intervals.student(value, se, n, s.level)
    gap, name = IntervalNumber.within(value, made), str(measure)
    own, constant = (float(measure.apply(Moments.from_rows(x, of.weight))) for x in losses)
    losses_name = "squared errors" if measure.interval == "root_mean" else "losses"

    def said(kind: str, verb: str) -> FindingDraft:
        return FindingDraft(
            f"{s.title}: {shorten_name(name)} {format_number(own)} {verb} "
            f"{format_number(constant)}, "
            f"the {shorten_name(name)} of "
            f"always predicting {format_number(best)} (difference of the mean {losses_name} "
            f"{gap:+}).",
            {
                name: own,
                f"{name} of the constant prediction": constant,
                "difference of the mean losses": gap,
            },
            (name,),
            kind=f"error-{kind}-constant",
        )

    # A system that predicts the constant has the same losses, and so no interval.
    same = bool((losses[0] == losses[1]).all())
    verb = "equals" if same else "is not significantly below"
    yield Claim(
        p_of_mean(value, se, n - 1) / 2 if gap.low > 0 else 1.0,
        partial(said, "above", "is above"),
        partial(said, "not-below", verb) if made.high >= 0 or same else None,
    )


@rule("not-above-chance", "caution", ScoreTable, cost="scores")
def auc_not_above_chance(s: Subject, _: ScoreTable) -> Iterator[FindingDraft]:
    """AUC is not significantly different from chance: its interval contains 0.5."""
    area = s.estimate_of("AUC")
    if area.low <= 0.5 <= area.high:
        yield FindingDraft(
            f"{s.title} does not rank significantly better than chance (AUC {area}).",
            {"AUC": area},
            s.shown_among("AUC"),
        )
