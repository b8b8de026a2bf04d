"""What answers are worth: probabilities, answers to rely on, leaning, tuned thresholds, ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.confusion_cells import (
    AtLevel,
    BinaryCells,
    above,
    in_cell,
    minus,
    of_class,
    predicted_as,
)
from calipers.findings.formatting import IntervalNumber
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_level, rule
from calipers.report.numbers import format_count, format_number, format_p
from calipers.report.safe_names import join_words
from calipers.statistics import ConfusionMatrix, ScoreTable

if TYPE_CHECKING:
    from calipers.measures import Measure

#: An answer can be relied on when it is right more often than this.
RELIABLE = 0.8
#: Likelihood ratios between these move a probability a little only (Jaeschke, Guyatt and Sackett
#: 1994): a predictive value that is high all the same is that of the prevalence.
MAX_NEGATIVE_LR, MIN_POSITIVE_LR = 0.2, 5
#: Answers lean to a class when they name it this many times as often as it occurs, or more.
LEANING = 1.25
#: Ties count when at least this share of the pairs across classes is tied.
TIED = 0.05

#: The coefficients of a recalibration: what they are of calibrated probabilities, and what it means
#: to be above and below it.
RECALIBRATION = {
    "calibration-slope": (1.0, "timid", "extreme"),
    "calibration-intercept": (0.0, "low", "high"),
}


@rule("miscalibrated", "caution", ScoreTable, cost="rows")
def miscalibrated(s: Subject, table: ScoreTable) -> Iterator[Claim]:
    """The calibration slope and intercept are shown, the interval of the AUC lies above 0.5, and
    that of the slope leaves out 1 or that of the intercept leaves out 0 (corrected for there being
    two); or the probabilities separate the classes, and calibrated ones seldom would."""
    # Of a million rows a recalibration takes seconds: only where it is shown.
    if len(s.named(*RECALIBRATION)) < 2 or not (area := s.of("AUC")).low > 0.5:
        return
    p = {name: s.p(name, ideal) for name, (ideal, _, _) in RECALIBRATION.items()}
    if area.value == 1:
        p["chance of separation"] = 2 * _chance_of_separation(s, table)
    p = {name: x for name, x in p.items() if not math.isnan(x)}
    if p:
        p = {name: min(1.0, len(p) * x) for name, x in p.items()}
        yield Claim(min(p.values()), partial(_miscalibrated, s, area, p))


def _miscalibrated(s: Subject, area: IntervalNumber, p: Mapping[str, float]) -> FindingDraft:
    found: dict[str, float | IntervalNumber] = {}
    texts, about = [], []
    for name, (ideal, higher, lower) in RECALIBRATION.items():
        of = found[name] = s.of(name)
        if math.isnan(of.value):
            continue
        side = higher if of.value > ideal else lower
        off = p.get(name, 1.0) <= 1 - s.level
        about += [side] if off else []
        meaning = f" (not {ideal:g}: too {side})" if off else ""
        texts.append(f"the {name.replace('-', ' ')} is {of:{'+' if ideal == 0 else ''}}{meaning}")
    if p.get("chance of separation", 1.0) <= 1 - s.level:
        chance = found["chance of separation"] = p["chance of separation"] / (2 * len(p))
        about.append("separated")
        texts.append(
            "they are too timid for classes that they separate altogether (calibrated ones would "
            f"do so with {format_p(chance)})"
        )
    return FindingDraft(
        f"{s.who} ranks well (AUC {area}), but its probabilities are not what they say: "
        f"{join_words(texts)}.",
        {"AUC": area, **found},
        s.named("AUC", *RECALIBRATION, "ECE", "Brier", "log-loss"),
        about=", ".join(about),
    )


def _chance_of_separation(s: Subject, table: ScoreTable) -> float:
    """How probable it is that calibrated probabilities separate the classes: all rows above any
    place positive, all below it negative. NaN where rows are weighted or come in clusters."""
    cells = s.get(BinaryCells)
    if table.positive_squares is not table.positive and (
        (table.positive_squares != table.positive).any()
        or (table.negative_squares != table.negative).any()
    ):
        return math.nan
    if cells is not None and cells.clusters:
        return math.nan
    rows = table.positive + table.negative
    with np.errstate(divide="ignore"):
        above = np.cumsum(np.append(0.0, rows * np.log(table.scores)))
        below = np.cumsum(np.append(0.0, (rows * np.log1p(-table.scores))[::-1]))[::-1]
    return min(1.0, float(np.exp(above + below).sum()))


@rule("rules-out-only", "caution", BinaryCells, cost="sums", firm="NPV", loose="precision")
@rule("rules-in-only", "caution", BinaryCells, cost="sums", firm="precision", loose="NPV")
def one_sided_rule(s: Subject, cells: BinaryCells) -> Iterator[Claim]:
    """The lower limit of the {firm} is above {RELIABLE:g}, that of the {loose} is not, and the
    intervals of {firm} minus {loose} and of recall minus the false positive rate lie above 0."""
    ppv, npv = (cells.share(in_cell(code, code), predicted_as(code)) for code in (1, 0))
    recall, fpr = (cells.share(in_cell(code, 1), of_class(code)) for code in (1, 0))
    informed = p_of_level(above(minus(recall, fpr), 0.0), s.level)
    # One of the two is above the other, and the limits of one side are asked: together both
    # directions err no more often than an interval does.
    found = Claim(1.0)
    for (firm, sure), (loose, unsure), does in (
        ((npv, 0), (ppv, 1), ("out", "in")),
        ((ppv, 1), (npv, 0), ("in", "out")),
    ):
        # What is not shown to be reliable stays so on a page with more tests.
        if not loose(s.level).low > RELIABLE:
            says = partial(_rules, s, cells, (ppv, npv), (sure, unsure), does)
            p = max(
                informed,
                p_of_level(above(firm, RELIABLE), s.level),
                p_of_level(above(minus(firm, loose), 0.0), s.level),
            )
            found = min(found, Claim(p, says), key=lambda claim: claim.p)
    yield found


def _rules(
    s: Subject,
    cells: BinaryCells,
    shares: tuple[AtLevel, AtLevel],
    codes: tuple[int, int],
    does: tuple[str, str],
) -> FindingDraft:
    m, values = cells.matrix, {}
    values["precision"], values["NPV"] = (share(s.level) for share in shares)
    # The interval that is shown is that of the table; what is not there needs no rows either.
    for name, code in (("LR+", 1), ("LR-", 0)):
        over, under = [in_cell(1, code), of_class(0)], [in_cell(0, code), of_class(1)]
        values[name] = cells.ratio(over, under)(s.level)
    values |= {name: s.of(name) for name in s.named(*values)}
    right = values["NPV"], values["precision"]
    sure, unsure = codes
    weight = ", ".join(
        f"{name} {values[name]}" for name in ("LR+", "LR-") if not math.isnan(values[name].value)
    )
    prevalence = float(m.truth[1] / m.total)
    return FindingDraft(
        f"{s.who} predicts {cells.label(sure)} reliably but not {cells.label(unsure)}: "
        f"{right[sure]} of its predictions of {cells.label(sure)} are right and {right[unsure]} of "
        f"those of {cells.label(unsure)}, where {format_number(prevalence)} of the rows are "
        f"{cells.label(1)}{f' ({weight})' if weight else ''}."
        f"{_by_prevalence(cells, does[0], values)}",
        {
            "precision": values["precision"],
            "NPV": values["NPV"],
            "prevalence": prevalence,
            "LR+": values["LR+"],
            "LR-": values["LR-"],
        },
        s.named("precision", "NPV", "LR+", "LR-", "recall", "specificity"),
        kind=f"rules-{does[0]}-only",
    )


def _by_prevalence(cells: BinaryCells, does: str, values: Mapping[str, IntervalNumber]) -> str:
    """That a predictive value is high because one class is rare, and not by the evidence."""
    m, positive = cells.matrix, cells.label(1)
    if does == "out" and values["LR-"].value > MAX_NEGATIVE_LR:
        return (
            f" The NPV is high because {positive} is rare: a negative prediction is weak evidence "
            f"by itself (LR- above {MAX_NEGATIVE_LR:g}), and "
            f"{format_number(float(m.fn / m.truth[1]))} of "
            f"{positive} are missed."
        )
    if does == "in" and values["LR+"].value < MIN_POSITIVE_LR:
        return (
            f" The precision is high because {positive} is common: a positive prediction is weak "
            f"evidence by itself (LR+ below {MIN_POSITIVE_LR:g})."
        )
    return ""


@rule("leaning", "caution", BinaryCells, cost="sums")
def overpredicted_class(s: Subject, cells: BinaryCells) -> Iterator[Claim]:
    """The interval of how often a class is answered over how often it occurs lies above
    {LEANING:g}."""
    m = cells.matrix
    shares = [float(margin[1] / m.total) for margin in (m.truth, m.prediction)]
    found = Claim(1.0)
    for code in range(2):  # that lean to one class at most
        occurs, answered = shares if code else (1 - share for share in shares)
        ratio = cells.leaning(code)
        p = p_of_level(above(ratio, LEANING), s.level)
        says = partial(_leaning, s, cells.label(code), ratio(s.level), occurs, answered)
        found = min(found, Claim(p, says), key=lambda claim: claim.p)
    yield found


def _leaning(
    s: Subject, label: str, ratio: IntervalNumber, occurs: float, answered: float
) -> FindingDraft:
    return FindingDraft(
        f"{s.who} answers {label} {ratio} times as often as it occurs: "
        f"{format_number(answered)} of the answers, {format_number(occurs)} of the rows.",
        {"ratio": ratio, "share of the answers": answered, "share of the rows": occurs},
        s.named("precision", "recall", "specificity", "NPV"),
        about=label,
    )


@dataclass(frozen=True, eq=False)
class TunedThreshold:
    """A threshold chosen for the best value of a measure on the rows that it is judged on; the
    value ``out_of_bag``, of a measure of counts; and a ``note`` that says all this."""

    threshold: float
    measure: Measure
    out_of_bag: Callable[[Measure], float]
    note: Callable[[ScoreTable], str]


@rule("tuned-threshold", "warning", ScoreTable, TunedThreshold, cost="replicates", counts=True)
def tuned_threshold(s: Subject, table: ScoreTable, tuned: TunedThreshold) -> Iterator[FindingDraft]:
    """A rule chose the threshold on the rows that it is judged on."""
    values, measure = {"threshold": tuned.threshold}, tuned.measure
    if measure.on is ConfusionMatrix:
        values[f"{measure}"] = float(measure.apply(table.at(tuned.threshold)))
        outside = tuned.out_of_bag(measure)
        if not math.isnan(outside):
            values[f"{measure} out of bag"] = outside
    yield FindingDraft(tuned.note(table), values, s.named(str(measure)))


@rule("ties", "caution", ScoreTable, cost="scores", counts=True)
def ties(s: Subject, table: ScoreTable) -> Iterator[FindingDraft]:
    """At least {TIED:g} of the pairs of a positive and a negative row have equal scores."""
    pairs = float(table.total_positive * table.total_negative)
    tied = float((table.positive * table.negative).sum()) / pairs if pairs else 0.0
    if tied >= TIED:
        area, distinct = s.of("AUC"), len(table.scores)
        lost, won = area.value - tied / 2, area.value + tied / 2
        yield FindingDraft(
            f"{s.who} has {format_count(distinct, 'distinct scores')}: {format_number(tied)} of "
            "the pairs of a "
            "positive and a negative row are tied. The AUC counts them half; it could be anything "
            f"from {format_number(lost)} to {format_number(won)} if the ties were broken.",
            {
                "tied share": tied,
                "distinct scores": distinct,
                "AUC": area,
                "AUC with ties lost": lost,
                "AUC with ties won": won,
            },
            s.named("AUC", "PR-AUC", "AP"),
        )
