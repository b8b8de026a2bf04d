"""Findings on predictions: calibration, predictive values, over-prediction, thresholds, ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.confusion_cells import (
    BinaryCells,
    NumberAtLevel,
    above_check,
    class_cells,
    predicted_cells,
    single_cell,
    subtract,
)
from calipers.findings.formatting import IntervalNumber
from calipers.findings.rules import Claim, FindingDraft, Subject, p_from_intervals, rule
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count, format_number, format_p
from calipers.report.safe_names import join_words
from calipers.statistics import ConfusionMatrix, ScoreTable
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.measures import Measure

#: A prediction is reliable if its predictive value exceeds this.
MIN_PREDICTIVE_VALUE = 0.8
#: Likelihood ratios between these are weak evidence (Jaeschke, Guyatt and Sackett 1994): a high
#: predictive value is then due to the prevalence.
MAX_NEGATIVE_LR, MIN_POSITIVE_LR = 0.2, 5
#: A class is over-predicted if predictions of it are this many times as frequent as its rows.
MIN_OVERPREDICTION_RATIO = 1.25
#: The smallest proportion of tied pairs of a positive and a negative row that is reported.
MIN_TIED_PROPORTION = 0.05

#: Recalibration coefficients: the value under calibration, and what larger and smaller ones mean.
RECALIBRATION = {
    "calibration-slope": (1.0, "too moderate", "too extreme"),
    "calibration-intercept": (0.0, "too low", "too high"),
}


@rule("miscalibrated", "caution", ScoreTable, cost="rows")
def miscalibration(subject: Subject, table: ScoreTable) -> Iterator[Claim]:
    """Scores discriminate between the classes, but probabilities are significantly miscalibrated.

    The calibration slope and intercept are reported, the interval of the AUC lies above 0.5, and
    the interval of the slope excludes 1 or that of the intercept excludes 0 (corrected for the two
    tests); or the probabilities separate the classes, which is improbable under calibration.
    """
    # Fitting a recalibration takes seconds at 10⁶ rows, so do it only if it is reported.
    if (
        len(subject.shown_among(*RECALIBRATION)) < 2
        or not (area := subject.get_estimate("AUC")).low > 0.5
    ):
        return
    p = {name: subject.p(name, ideal) for name, (ideal, _, _) in RECALIBRATION.items()}
    if area.value == 1:
        p["chance of separation"] = 2 * _chance_of_separation(subject, table)
    p = {name: x for name, x in p.items() if not math.isnan(x)}
    if p:
        p = {name: min(1.0, len(p) * x) for name, x in p.items()}
        yield Claim(min(p.values()), partial(_miscalibration_message, subject, area, p))


def _miscalibration_message(
    subject: Subject, area: IntervalNumber, p: Mapping[str, float]
) -> FindingDraft:
    values: dict[str, float | IntervalNumber] = {}
    clauses, aspects = [], []
    for name, (ideal, higher, lower) in RECALIBRATION.items():
        estimate = values[name] = subject.get_estimate(name)
        if math.isnan(estimate.value):
            continue
        side = higher if estimate.value > ideal else lower
        is_off = p.get(name, 1.0) <= 1 - subject.level
        aspects += [side] if is_off else []
        relation = "above" if estimate.value > ideal else "below"
        meaning = f" ({relation} {ideal:g}: predictions {side})" if is_off else ""
        clauses.append(f"{name.replace('-', ' ')} {estimate:{'+' if ideal == 0 else ''}}{meaning}")
    if p.get("chance of separation", 1.0) <= 1 - subject.level:
        chance = values["chance of separation"] = p["chance of separation"] / (2 * len(p))
        aspects.append("separated")
        clauses.append(
            "the probabilities are too moderate for perfectly separated classes (under calibration "
            f"{format_p(chance)})"
        )
    return FindingDraft(
        f"{subject.title} discriminates (AUC {area}) but is miscalibrated: {join_words(clauses)}. "
        "Recalibrate the probabilities on other rows.",
        {"AUC": area, **values},
        subject.shown_among("AUC", *RECALIBRATION, "ECE", "Brier", "log-loss"),
        aspect=", ".join(aspects),
    )


def _chance_of_separation(subject: Subject, table: ScoreTable) -> float:
    """Compute the probability that calibrated probabilities separate the classes.

    The classes may be separated at any threshold. NaN if rows are weighted or clustered.
    """
    cells = subject.get(BinaryCells)
    if table.positive_squares is not table.positive and (
        (table.positive_squares != table.positive).any()
        or (table.negative_squares != table.negative).any()
    ):
        return math.nan
    if cells is not None and cells.n_clusters:
        return math.nan
    rows = table.positive + table.negative
    with np.errstate(divide="ignore"):
        above = np.cumsum(np.append(0.0, rows * np.log(table.scores)))
        below = np.cumsum(np.append(0.0, (rows * np.log1p(-table.scores))[::-1]))[::-1]
    return min(1.0, float(np.exp(above + below).sum()))


@rule("rules-out-only", "caution", BinaryCells, cost="sums", firm="NPV", loose="precision")
@rule("rules-in-only", "caution", BinaryCells, cost="sums", firm="precision", loose="NPV")
def one_sided_rule(subject: Subject, cells: BinaryCells) -> Iterator[Claim]:
    """Predictions of one class are reliable (high {firm}), but not those of the other ({loose}).

    The lower limit of the {firm} exceeds {MIN_PREDICTIVE_VALUE:g}, that of the {loose} does not,
    and the intervals of {firm} minus {loose} and of recall minus the false positive rate lie above
    0.
    """
    ppv, npv = (cells.proportion(single_cell(code, code), predicted_cells(code)) for code in (1, 0))
    recall, fpr = (cells.proportion(single_cell(code, 1), class_cells(code)) for code in (1, 0))
    informedness_p = p_from_intervals(above_check(subtract(recall, fpr), 0.0), subject.level)
    # Only one of the two can be larger, and the tests are one-sided, so both directions together
    # have the error rate of an interval.
    strongest = Claim(1.0)
    for (reliable, sure), (unreliable, unsure), actions in (
        ((npv, 0), (ppv, 1), ("out", "in")),
        ((ppv, 1), (npv, 0), ("in", "out")),
    ):
        # The limit of the less reliable one is not adjusted for other tests.
        if not unreliable(subject.level).low > MIN_PREDICTIVE_VALUE:
            says = partial(_one_sided_message, subject, cells, (ppv, npv), (sure, unsure), actions)
            p = max(
                informedness_p,
                p_from_intervals(above_check(reliable, MIN_PREDICTIVE_VALUE), subject.level),
                p_from_intervals(above_check(subtract(reliable, unreliable), 0.0), subject.level),
            )
            strongest = min(strongest, Claim(p, says), key=lambda claim: claim.p)
    yield strongest


def _one_sided_message(
    subject: Subject,
    cells: BinaryCells,
    estimates: tuple[NumberAtLevel, NumberAtLevel],
    codes: tuple[int, int],
    actions: tuple[str, str],
) -> FindingDraft:
    m, values = cells.matrix, {}
    values["precision"], values["NPV"] = (estimate(subject.level) for estimate in estimates)
    # Use the intervals of the table where the measure is reported.
    for name, code in (("LR+", 1), ("LR-", 0)):
        numerators, denominators = (
            [single_cell(1, code), class_cells(0)],
            [single_cell(0, code), class_cells(1)],
        )
        values[name] = cells.ratio(numerators, denominators)(subject.level)
    values |= {name: subject.get_estimate(name) for name in subject.shown_among(*values)}
    reliable, unreliable = ("NPV", "precision") if codes[0] == 0 else ("precision", "NPV")
    predictive = (
        f"{reliable} is high ({values[reliable]}), but {unreliable} is not ({values[unreliable]}),"
    )
    ratio_text = ", ".join(
        f"{name} {values[name]}" for name in ("LR+", "LR-") if not math.isnan(values[name].value)
    )
    prevalence = float(m.truth_margin[1] / m.total)
    note = _prevalence_note(cells, actions[0], values)
    return FindingDraft(
        f"{subject.title}: {predictive} at a prevalence of "
        f"{format_number(prevalence)}{f' ({ratio_text})' if ratio_text else ''}.{note}",
        {
            "precision": values["precision"],
            "NPV": values["NPV"],
            "prevalence": prevalence,
            "LR+": values["LR+"],
            "LR-": values["LR-"],
        },
        subject.shown_among("precision", "NPV", "LR+", "LR-", "recall", "specificity"),
        kind=f"rules-{actions[0]}-only",
    )


def _prevalence_note(cells: BinaryCells, does: str, values: Mapping[str, IntervalNumber]) -> str:
    """Return a note if a predictive value is high because of the prevalence, not the evidence."""
    m, positive = cells.matrix, cells.label(1)
    if does == "out" and values["LR-"].value > MAX_NEGATIVE_LR:
        return (
            f" The NPV is high because {positive} is rare: with LR- above {MAX_NEGATIVE_LR:g} a "
            "negative prediction is weak evidence, and "
            f"{float(m.fn / m.truth_margin[1]):.0%} of the {positive} rows are missed."
        )
    if does == "in" and values["LR+"].value < MIN_POSITIVE_LR:
        return (
            f" The precision is high because {positive} is common: with LR+ below "
            f"{MIN_POSITIVE_LR:g} a positive prediction is weak evidence."
        )
    return ""


@rule("overpredicted-class", "caution", BinaryCells, cost="sums")
def overpredicted_class(subject: Subject, cells: BinaryCells) -> Iterator[Claim]:
    """Predictions of a class are significantly more frequent than its rows.

    The interval of the ratio of predictions of the class to rows of the class lies above
    {MIN_OVERPREDICTION_RATIO:g}.
    """
    m = cells.matrix
    proportions = [float(margin[1] / m.total) for margin in (m.truth_margin, m.prediction_margin)]
    strongest = Claim(1.0)
    for code in range(2):  # at most one of which is over-predicted
        prevalence, predicted_proportion = (
            proportions if code else (1 - proportion for proportion in proportions)
        )
        ratio = cells.prediction_ratio(code)
        p = p_from_intervals(above_check(ratio, MIN_OVERPREDICTION_RATIO), subject.level)
        says = partial(
            _overprediction_message,
            subject,
            cells.label(code),
            ratio(subject.level),
            prevalence,
            predicted_proportion,
        )
        strongest = min(strongest, Claim(p, says), key=lambda claim: claim.p)
    yield strongest


def _overprediction_message(
    subject: Subject, label: str, ratio: IntervalNumber, occurs: float, answered: float
) -> FindingDraft:
    return FindingDraft(
        f"{subject.title} over-predicts {label}: {format_number(answered)} of the predictions "
        f"against {format_number(occurs)} of the rows (ratio {ratio}).",
        {
            "ratio": ratio,
            "proportion of the predictions": answered,
            "proportion of the rows": occurs,
        },
        subject.shown_among("precision", "recall", "specificity", "NPV"),
        aspect=label,
    )


@dataclass(frozen=True, eq=False)
class OptimizedThreshold:
    """Threshold that optimizes a measure on the rows that it is evaluated on.

    ``compute_out_of_bag`` returns the out-of-bag value of a measure of counts, and ``make_note``
    reports both values.
    """

    threshold: float
    measure: Measure
    compute_out_of_bag: Callable[[Measure], float]
    make_note: Callable[[ScoreTable], str]


@rule("tuned-threshold", "warning", ScoreTable, OptimizedThreshold, cost="replicates", counts=True)
def tuned_threshold(
    subject: Subject, table: ScoreTable, tuned: OptimizedThreshold
) -> Iterator[FindingDraft]:
    """Thresholds were optimised on the rows that they are evaluated on."""
    values, measure = {"threshold": tuned.threshold}, tuned.measure
    if measure.statistic is ConfusionMatrix:
        values[f"{measure}"] = float(measure.apply(table.confusion_at(tuned.threshold)))
        out_of_bag = tuned.compute_out_of_bag(measure)
        if not math.isnan(out_of_bag):
            values[f"{measure} out of bag"] = out_of_bag
    yield FindingDraft(tuned.make_note(table), values, subject.shown_among(str(measure)))


@rule("tied-class-scores", "caution", ScoreTable, cost="scores", counts=True)
def tied_class_scores(subject: Subject, table: ScoreTable) -> Iterator[FindingDraft]:
    """At least {MIN_TIED_PROPORTION:.0%} of the pairs of a positive and a negative row are tied."""
    pairs = float(table.total_positive * table.total_negative)
    tied = dot(table.positive, table.negative) / pairs if pairs else 0.0
    if tied >= MIN_TIED_PROPORTION:
        area, distinct = subject.get_estimate("AUC"), len(table.scores)
        auc_if_lost, auc_if_won = area.value - tied / 2, area.value + tied / 2
        yield FindingDraft(
            f"{subject.title} has {format_count(distinct, 'distinct scores')}; "
            f"{format_number(tied)} of the pairs of a positive and a negative row are tied. The "
            "AUC counts a tie as one half; with all ties broken it would be between "
            f"{format_number(auc_if_lost)} and {format_number(auc_if_won)}.",
            {
                "tied proportion": tied,
                "distinct scores": distinct,
                "AUC": area,
                "AUC with ties lost": auc_if_lost,
                "AUC with ties won": auc_if_won,
            },
            subject.shown_among("AUC", "PR-AUC", "AP"),
        )
