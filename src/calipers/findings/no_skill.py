"""Systems that are no better than none: turned round, like chance, like a constant answer."""

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
    below,
    in_cell,
    minus,
    of_class,
)
from calipers.findings.formatting import IntervalNumber
from calipers.findings.regression import NumericPredictions
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_level, p_of_mean, rule
from calipers.inference import intervals
from calipers.report.numbers import format_number
from calipers.report.safe_names import shorten_name
from calipers.statistics import Moments, ScoreTable, effective_size


@rule("below-diagonal", "warning", ScoreTable, cost="rows")
def auc_below_chance(s: Subject, table: ScoreTable) -> Iterator[Claim]:
    """The interval of the AUC lies below 0.5, and the rank-sum test finds it there; without
    scores, the interval of recall minus the false positive rate lies below 0."""
    area = s.of("AUC")
    if math.isnan(area.value):  # of one class there is none
        return
    p = 1.0
    if area.high < 0.5:
        # Of one, two or three positive rows the interval is too short.
        positive = effective_size(table.total_positive, table.positive_squares.sum())
        negative = effective_size(table.total_negative, table.negative_squares.sum())
        by_chance = math.sqrt((positive + negative + 1) / (12 * positive * negative))
        by_ranks = math.erfc((0.5 - area.value) / by_chance / math.sqrt(2))
        p = max(s.p("AUC", 0.5), by_ranks) / 2
    yield Claim(p, partial(_ranks_wrongly, s, area))


def _ranks_wrongly(s: Subject, area: IntervalNumber) -> FindingDraft:
    turned = IntervalNumber(1 - area.value, 1 - area.high, 1 - area.low)
    return FindingDraft(
        f"{s.who} ranks the classes the wrong way round: its AUC of {area} is below 0.5. Its "
        f"negated score would have an AUC of {turned}.",
        {"AUC": area, "AUC of the negated score": turned},
        s.named("AUC"),
    )


@rule("below-diagonal", "warning", BinaryCells, cost="sums")
def j_below_chance(s: Subject, cells: BinaryCells) -> Iterator[Claim]:
    """The interval of the AUC lies below 0.5, and the rank-sum test finds it there; without
    scores, the interval of recall minus the false positive rate lies below 0."""
    if s.get(ScoreTable) is not None:
        return
    recall, fpr = (cells.share(in_cell(code, 1), of_class(code)) for code in (1, 0))
    p = p_of_level(below(minus(recall, fpr), 0.0), s.level)
    yield Claim(p, partial(_answers_wrongly, s, recall(s.level), fpr(s.level)))


def _answers_wrongly(s: Subject, recall: IntervalNumber, fpr: IntervalNumber) -> FindingDraft:
    j, hits, alarms = recall - fpr, 1 - recall.value, 1 - fpr.value
    return FindingDraft(
        f"{s.who} lies below the diagonal: recall {format_number(recall.value)} at a false "
        "positive "
        f"rate of {format_number(fpr.value)}, a difference of {j:+}. Answering the opposite would "
        f"give recall {format_number(hits)} at {format_number(alarms)}.",
        {
            "recall": recall.value,
            "FPR": fpr.value,
            "J": j,
            "recall of the opposite": hits,
            "FPR of the opposite": alarms,
        },
        s.named("recall", "specificity", "FPR", "J"),
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
    """What a gain over the best constant answer shows, unless it shows that there is one.

    Which answer is the best is seen in the same rows, where any of so many ``answers`` could be by
    chance. That favours the constant, so the p-value of a constant that is better is multiplied by
    their number.
    """
    gain = apart(s.level)

    def said(kind: str, verb: str) -> FindingDraft:
        return FindingDraft(
            f"{s.who}: {name} {own} {verb} the {format_number(always)} that always answering "
            f"{answer} "
            f"scores; difference {gain:+}.",
            {
                name.replace(" ", "-"): own,
                f"{name} of the constant answer": always,
                "difference": gain,
            },
            s.named(name.replace(" ", "-"), "error-rate"),
            kind=f"{name.split(maxsplit=1)[0]}-{kind}-constant",
        )

    if math.isnan(gain.low):
        return
    p = min(1.0, answers * p_of_level(below(apart, 0.0), s.level))
    like = partial(said, "like", "has not been shown to beat")
    yield Claim(p, partial(said, "below", "is below"), None if gain.low > 0 else like)


#: By what the interval below a constant answer is wider.
CHOSEN = " and corrected for the choice of the {} among {}, lies below"


@rule(
    "accuracy-below-constant",
    "warning",
    ConfusionCells,
    cost="sums",
    verb=CHOSEN.format("class", "K"),
)
@rule("accuracy-like-constant", "caution", ConfusionCells, cost="sums", verb=", contains")
def accuracy_and_constant(s: Subject, cells: ConfusionCells) -> Iterator[Claim]:
    """The interval of accuracy minus that of always answering the most frequent class, paired by
    row{verb} 0."""
    if not s.named("accuracy", "error-rate"):
        return
    m = cells.matrix
    frequent = int(m.truth.argmax())
    of = ClassCellCounts(frequent)
    apart = cells.apart(of.right_elsewhere, of.missed)
    always, answer = float(m.truth[frequent] / m.total), cells.label(frequent)
    own = s.of("accuracy")
    yield from compare_with_constant(s, "accuracy", own, answer, always, apart, m.classes)


@rule(
    "error-above-constant", "warning", NumericPredictions, cost="sorted rows", verb="lies above 0"
)
@rule(
    "error-like-constant",
    "caution",
    NumericPredictions,
    cost="sorted rows",
    verb="contains 0, or they are the same",
)
def error_and_constant(s: Subject, of: NumericPredictions) -> Iterator[Claim]:
    """The interval of the mean loss minus that of the best constant prediction, paired by row,
    {verb}."""
    measure = next((m for m in s.measures if m.constant is not None), None)
    if measure is None:
        return
    best = measure.constant(of.truth, of.weight, **measure.parameters)
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
    squared = " (of the squared errors)" if measure.interval == "root_mean" else ""

    def said(kind: str, verb: str) -> FindingDraft:
        return FindingDraft(
            f"{s.who}: its {shorten_name(name)} of {format_number(own)} {verb} the "
            f"{format_number(constant)} of always "
            f"predicting {format_number(best)}; difference of the mean losses{squared} {gap:+}.",
            {
                name: own,
                f"{name} of the constant prediction": constant,
                "difference of the mean losses": gap,
            },
            (name,),
            kind=f"error-{kind}-constant",
        )

    # A system that predicts the constant loses the same on every row, and there is no interval.
    like = made.high >= 0 or bool((losses[0] == losses[1]).all())
    yield Claim(
        p_of_mean(value, se, n - 1) / 2 if gap.low > 0 else 1.0,
        partial(said, "above", "is above"),
        partial(said, "like", "has not been shown to be below") if like else None,
    )


@rule("like-chance", "caution", ScoreTable, cost="scores")
def auc_not_above_chance(s: Subject, _: ScoreTable) -> Iterator[FindingDraft]:
    """The interval of the AUC contains 0.5."""
    area = s.of("AUC")
    if area.low <= 0.5 <= area.high:
        yield FindingDraft(
            f"{s.who} has not been shown to rank better than chance: the interval of its AUC, "
            f"{area}, contains 0.5.",
            {"AUC": area},
            s.named("AUC"),
        )
