"""What answers are worth: probabilities, answers to rely on, leaning, tuned thresholds, ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.cells import TwoCells, corrected
from calipers.findings.rules import Said, Subject, rule
from calipers.findings.words import Valued
from calipers.inference import intervals
from calipers.report.names import joined
from calipers.report.numbers import count, number, p_value, percent
from calipers.statistics import ConfusionMatrix, ScoreTable

if TYPE_CHECKING:
    from calipers.measures import Measure

#: An answer can be relied on when it is right more often than this.
RELIABLE = 0.8
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


@rule("miscalibrated", "caution", ScoreTable)
def miscalibrated(s: Subject, table: ScoreTable) -> Iterator[Said]:
    """The calibration slope and intercept are shown, the interval of the AUC lies above 0.5, and
    that of the slope leaves out 1 or that of the intercept leaves out 0 (corrected for there being
    two); or the probabilities separate the classes, and calibrated ones seldom would."""
    # Of a million rows a recalibration takes seconds: only where it is shown.
    if len(s.named(*RECALIBRATION)) < 2 or not (area := s.of("AUC")).low > 0.5:
        return
    found: dict[str, float | Valued] = {}
    texts, wrong = [], False
    for name, (ideal, above, below) in RECALIBRATION.items():
        of = found[name] = widened(s.of(name), s.level, 2)
        if math.isnan(of.value):
            continue
        off = of.high < ideal or of.low > ideal
        meaning = f" (not {ideal:g}: too {above if of.value > ideal else below})" if off else ""
        wrong |= off
        texts.append(f"the {name.replace('-', ' ')} is {of:{'+' if ideal == 0 else ''}}{meaning}")
    if area.value == 1 and (chance := _chance_of_separation(s, table)) <= (1 - s.level) / 2:
        found["chance of separation"], wrong = chance, True
        texts.append(
            "they are too timid for classes that they separate altogether (calibrated ones would "
            f"do so with {p_value(chance)})"
        )
    if wrong:
        told = any(isinstance(of, Valued) and not math.isnan(of.low) for of in found.values())
        wider = percent(corrected(s.level, 2))
        yield Said(
            f"{s.who} ranks well (AUC {area}), but its probabilities are not what they say: "
            f"{joined(texts)}."
            + f" The intervals are of {wider} here, so that both hold together."
            * told,
            {"AUC": area, **found},
            s.named("AUC", *RECALIBRATION, "ECE", "Brier", "log-loss"),
            corrected(s.level, 2),
        )


def _chance_of_separation(s: Subject, table: ScoreTable) -> float:
    """How probable it is that calibrated probabilities separate the classes: all rows above any
    place positive, all below it negative. NaN where rows are weighted or come in clusters."""
    cells = s.get(TwoCells)
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


def widened(of: Valued, level: float, tests: int) -> Valued:
    """An interval made to hold together with others: each side by as much as a normal one's."""
    factor = intervals.z_of(corrected(level, tests)) / intervals.z_of(level)
    x = of.value
    return Valued(x, x - factor * (x - of.low), x + factor * (of.high - x))


@rule("rules-out-only", "caution", TwoCells, firm="NPV", loose="precision")
@rule("rules-in-only", "caution", TwoCells, firm="precision", loose="NPV")
def rules_in_or_out(s: Subject, cells: TwoCells) -> Iterator[Said]:
    """The lower limit of the {firm} is above {RELIABLE:g}, that of the {loose} is not and its
    interval lies below that of the {firm}, and the interval of recall minus the false positive rate
    lies above 0 (corrected for there being two)."""
    ppv, npv, m = s.of("precision"), s.of("NPV"), cells.matrix
    if not widened(s.of("recall") - s.of("FPR"), s.level, 2).low > 0:
        return
    for (firm, sure), (loose, unsure), does, not_does in (
        ((npv, 0), (ppv, 1), "out", "in"),
        ((ppv, 1), (npv, 0), "in", "out"),
    ):
        if not (firm.low > RELIABLE >= loose.low and loose.high < firm.low):
            continue
        ratios = {name: s.of(name) for name in ("LR+", "LR-")}
        weight = ", ".join(f"{n} {v}" for n, v in ratios.items() if not math.isnan(v.value))
        prevalence = float(m.truth[1] / m.total)
        yield Said(
            f"{s.who} can rule {cells.label(1)} {does} but not {not_does}: its answer "
            f"{cells.label(sure)} is right in {firm} of the cases, its answer "
            f"{cells.label(unsure)} in {loose}, where {number(prevalence)} of the rows are "
            f"{cells.label(1)}{f' ({weight})' if weight else ''}.",
            {"precision": ppv, "NPV": npv, "prevalence": prevalence, **ratios},
            s.named("precision", "NPV", "LR+", "LR-", "recall", "specificity"),
            kind=f"rules-{does}-only",
        )


@rule("leaning", "caution", TwoCells)
def leaning(s: Subject, cells: TwoCells) -> Iterator[Said]:
    """The interval of how often a class is answered over how often it occurs lies above
    {LEANING:g}."""
    m = cells.matrix
    shares = [float(margin[1] / m.total) for margin in (m.truth, m.prediction)]
    for code in range(2):
        occurs, answered = shares if code else (1 - share for share in shares)
        ratio = cells.leaning(code, s.level)
        if ratio.low > LEANING:
            yield Said(
                f"{s.who} answers {cells.label(code)} {ratio} times as often as it occurs: "
                f"{number(answered)} of the answers, {number(occurs)} of the rows.",
                {"ratio": ratio, "share of the answers": answered, "share of the rows": occurs},
                s.named("precision", "recall", "specificity", "NPV"),
            )


@dataclass(frozen=True, eq=False)
class Tuned:
    """A threshold chosen for the best value of a measure on the rows that it is judged on; the
    value ``out_of_bag``, of a measure of counts; and a ``note`` that says all this."""

    threshold: float
    measure: Measure
    out_of_bag: Callable[[Measure], float]
    note: Callable[[ScoreTable], str]


@rule("tuned-threshold", "warning", ScoreTable, Tuned, counts=True)
def tuned_threshold(s: Subject, table: ScoreTable, tuned: Tuned) -> Iterator[Said]:
    """A rule chose the threshold on the rows that it is judged on."""
    values, measure = {"threshold": tuned.threshold}, tuned.measure
    if measure.on is ConfusionMatrix:
        values[f"{measure}"] = float(measure.apply(table.at(tuned.threshold)))
        outside = tuned.out_of_bag(measure)
        if not math.isnan(outside):
            values[f"{measure} out of bag"] = outside
    yield Said(tuned.note(table), values, s.named(str(measure)))


@rule("ties", "caution", ScoreTable, counts=True)
def ties(s: Subject, table: ScoreTable) -> Iterator[Said]:
    """At least {TIED:g} of the pairs of a positive and a negative row have equal scores."""
    pairs = float(table.total_positive * table.total_negative)
    tied = float((table.positive * table.negative).sum()) / pairs if pairs else 0.0
    if tied >= TIED:
        area, distinct = s.of("AUC"), len(table.scores)
        lost, won = area.value - tied / 2, area.value + tied / 2
        yield Said(
            f"{s.who} has {count(distinct, 'distinct scores')}: {number(tied)} of the pairs of a "
            "positive and a negative row are tied. The AUC counts them half; it could be anything "
            f"from {number(lost)} to {number(won)} if the ties were broken.",
            {
                "tied share": tied,
                "distinct scores": distinct,
                "AUC": area,
                "AUC with ties lost": lost,
                "AUC with ties won": won,
            },
            s.named("AUC", "PR-AUC", "AP"),
        )
