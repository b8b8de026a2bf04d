"""What the numbers say, in sentences that never say more.

Two systems are told apart only when the adjusted p-value is at most 1 - level *and* the interval,
where there is one and the test has two sides, leaves out zero. Otherwise the data do not tell them
apart, which is not to say that they are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING

from calipers.report import numbers
from calipers.report.grouping import grouped
from calipers.report.names import short

if TYPE_CHECKING:
    from calipers.results import Comparison, Difference, Estimate, Evaluation, Overall

#: How a sentence writes the name of a system or of a measure.
Show = Callable[[str], str]


class Outcome(Enum):
    """What one difference shows."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    NOT_TOLD_APART = "not told apart"
    UNDEFINED = "undefined"

    @property
    def decided(self) -> bool:
        """Whether the data tell the two systems apart."""
        return self not in (Outcome.NOT_TOLD_APART, Outcome.UNDEFINED)


def outcome(difference: Difference) -> Outcome:
    """What ``difference`` shows, by the measure's own direction."""
    d = difference
    if math.isnan(d.value):
        return Outcome.UNDEFINED
    # A one-sided test asks about one side only.
    sides = {"two-sided": d.value != 0, "greater": d.value > 0}
    if not _p_is_small(d) or _contains_zero(d) or not sides.get(d.alternative, d.value < 0):
        return Outcome.NOT_TOLD_APART
    if d.higher_is_better is None:
        return Outcome.HIGHER if d.value > 0 else Outcome.LOWER
    return Outcome.BETTER if (d.value > 0) == d.higher_is_better else Outcome.WORSE


def most(level: float) -> float:
    """The largest p-value that is small at a level."""
    # 1 - 0.95 is a little more than 0.05 in binary; without rounding, p = 0.05 could go either way.
    return round(1 - level, 12)


def _p_is_small(d: Difference) -> bool:
    return d.p_adjusted <= most(d.level)


def _contains_zero(d: Difference) -> bool:
    # The interval has two sides; a one-sided test can be decided while it still holds 0.
    return d.alternative == "two-sided" and d.has_interval and d.low <= 0 <= d.high


#: What the p-values of Benjamini and Hochberg bound.
_FDR = "false discovery rate"


def adjusted_word(comparison: Comparison) -> str:
    """What a sentence puts before p-values; nothing where they stand alone."""
    if not is_adjusted(comparison):
        return ""
    return f"{_FDR} adjusted " if comparison.controls == _FDR else "adjusted "


def sentence(difference: Difference, *, adjusted: str = "adjusted ", show: Show = short) -> str:
    """The verdict on one difference.

    ``adjusted`` is what to call a p-value that accounts for other differences.
    """
    found = outcome(difference)
    if found is Outcome.UNDEFINED:
        return _undefined(difference, show)
    if found is Outcome.NOT_TOLD_APART:
        text = _not_told_apart(difference, adjusted, show)
    else:
        text = _told_apart(difference, found, adjusted, show)
    return text + _of_margin(difference, adjusted, show)


def _undefined(d: Difference, show: Show) -> str:
    why = f" ({show(', '.join(d.undefined))})" if d.undefined else ""
    pair = f"{show(d.system)} and {show(d.baseline)}"
    return f"On {show(d.measure)} the difference between {pair} is undefined{why}."


def _not_told_apart(d: Difference, adjusted: str, show: Show) -> str:
    if d.alternative != "two-sided":
        first, second = show(d.system), show(d.baseline)
        asked = "higher" if d.alternative == "greater" else "lower"
        if d.higher_is_better is not None:
            asked = "better" if (asked == "higher") == d.higher_is_better else "worse"
        return (
            f"That {first} is {asked} than {second} on {show(d.measure)} is not shown: difference "
            f"{_amount(d)}, {_p(d, adjusted)}."
        )
    text = (
        f"On {show(d.measure)} the data do not tell {show(d.system)} and {show(d.baseline)} apart: "
        f"difference {_amount(d)}, {_p(d, adjusted)}"
    )
    if not d.has_interval:
        return text + _detectable(d, adjusted) + "."
    if _p_is_small(d) and _contains_zero(d):
        return text + "; the p-value is small, but the interval contains 0."
    if not _p_is_small(d) and not math.isnan(d.p_adjusted) and not _contains_zero(d):
        why = "the interval, which is not adjusted," if adjusted else "the interval"
        return text + f"; {why} leaves out 0, but the p-value is not small."
    return text + _detectable(d, adjusted) + "."


def _detectable(d: Difference, adjusted: str) -> str:
    """What the data could have shown, where they did not show a difference."""
    if math.isnan(d.detectable):
        return ""
    alone = " by a test of this pair alone" if adjusted else ""
    size = detectable_text(d.detectable)
    return f"; a true difference of {size} would be found{alone} with a probability of 80%"


def detectable_text(difference: float) -> str:
    """Two digits, rounded up: a smaller difference would be found less often than is said."""
    if not difference > 0 or math.isinf(difference):
        return f"{difference:g}"
    step = 10.0 ** (math.floor(math.log10(difference)) - 1)
    return f"{math.ceil(round(difference / step, 9)) * step:#.2g}".rstrip(".")


def _of_margin(d: Difference, adjusted: str, show: Show) -> str:
    """What the data say of a margin that was stated."""
    if math.isnan(d.margin):
        return ""
    margin, small = f"{d.margin:g}", most(d.level)
    first, second = show(d.system), show(d.baseline)
    kind = f"{adjusted}one-sided p"
    worse = "lower" if d.higher_is_better is None else "worse"
    if d.p_equivalent <= small:
        p = numbers.p_value(d.p_equivalent, kind)
        return f" The two are within {margin} of each other ({p})."
    p = numbers.p_value(d.p_not_inferior, kind)
    if d.p_not_inferior <= small:
        return f" {first} is not {worse} than {second} by {margin} or more ({p})."
    return f" That {first} is not {worse} than {second} by {margin} or more is not shown ({p})."


_WORDS = {
    # (outcome, sign of the difference > 0): the sign is part of the word wherever lower is better.
    (Outcome.BETTER, True): "is better than",
    (Outcome.WORSE, False): "is worse than",
    (Outcome.BETTER, False): "is lower (better) than",
    (Outcome.WORSE, True): "is higher (worse) than",
    (Outcome.HIGHER, True): "is higher than",
    (Outcome.LOWER, False): "is lower than",
}


def _told_apart(d: Difference, found: Outcome, adjusted: str, show: Show) -> str:
    words = _WORDS[found, d.value > 0]
    amount = f" by {_amount(d)}" if d.value > 0 else f": difference {_amount(d)}"
    facts = [_p(d, adjusted), show(d.test), numbers.count(d.n, d.unit)]
    return (
        f"{show(d.system)} {words} {show(d.baseline)} on {show(d.measure)}{amount} "
        f"({', '.join(facts)})."
    )


def _amount(d: Difference) -> str:
    digits = numbers.rounding([(d.value, d.low, d.high)], keep_sign=True)
    return digits.triple(d.value, d.low, d.high)


def _p(d: Difference, adjusted: str) -> str:
    sided = "" if d.alternative == "two-sided" else "one-sided "
    return numbers.p_value(d.p_adjusted, f"{adjusted}{sided}p")


def is_adjusted(comparison: Comparison) -> bool:
    """Whether the p-values of ``comparison`` account for one another."""
    return len(comparison) > 1 and comparison.adjustment.lower() != "none"


def sentences(comparison: Comparison, show: Show = short) -> list[str]:
    """One verdict a difference."""
    adjusted = adjusted_word(comparison)
    return [sentence(d, adjusted=adjusted, show=show) for d in comparison]


def pairs(comparison: Comparison) -> dict[tuple[str, str], list[Difference]]:
    """The differences of each pair of systems."""
    return grouped(comparison, lambda d: (d.system, d.baseline))


#: Of more pairs than these, those that are told apart come first, the others in one sentence.
MANY_PAIRS = 6


def comparison_headlines(comparison: Comparison, show: Show = short) -> list[str]:
    """One short sentence a pair of systems, over all measures; where there are many pairs, one for
    all those that are told apart by no measure."""
    adjusted = adjusted_word(comparison)
    said: list[str] = []
    untold: list[tuple[str, str]] = []
    of = pairs(comparison)
    for (system, baseline), own in of.items():
        found = [outcome(d) for d in own]
        plain = all(math.isnan(d.margin) for d in own)
        if plain and len(of) > MANY_PAIRS and set(found) == {Outcome.NOT_TOLD_APART}:
            untold.append((show(system), show(baseline)))
        elif len(own) == 1:
            said.append(sentence(own[0], adjusted=adjusted, show=show))
        else:
            text = _summary(show(system), show(baseline), found)
            said.append(text + _within_margins(own))
    if untold:
        said.append(_untold(untold, {show(d.measure): None for d in comparison}))
    return said


def _within_margins(own: list[Difference]) -> str:
    """On how many measures a margin that was stated is kept."""
    stated = [d for d in own if not math.isnan(d.margin)]
    if not stated:
        return ""
    within = sum(d.p_equivalent <= most(d.level) for d in stated)
    of = f"{len(stated)} measure{'s' * (len(stated) > 1)}"
    return f" They are shown to be within the margin on {within} of {of}."


def _untold(untold: list[tuple[str, str]], measures: Iterable[str]) -> str:
    """The pairs that no measure tells apart."""
    names = list(measures)
    on = f"On none of {len(names)} measures do the data"
    if len(names) == 1:
        on = f"On {names[0]} the data do not"
    listed = list(map(" and ".join, untold))
    if len(listed) == 1:
        return f"{on} tell {listed[0]} apart."
    return f"{on} tell these {len(listed)} pairs apart: {'; '.join(listed)}."


def _summary(system: str, baseline: str, outcomes: list[Outcome]) -> str:
    of = len(outcomes)
    if not any(o.decided for o in outcomes) and Outcome.UNDEFINED not in outcomes:
        return f"On none of {of} measures do the data tell {system} and {baseline} apart."
    n = {o: outcomes.count(o) for o in Outcome}
    parts = _won_and_lost(n, of, system, baseline)
    if n[Outcome.NOT_TOLD_APART]:
        them = "them" if parts else f"{system} and {baseline}"
        parts.append(f"on {n[Outcome.NOT_TOLD_APART]} the data do not tell {them} apart")
    if n[Outcome.UNDEFINED]:
        parts.append(f"on {n[Outcome.UNDEFINED]} the difference is undefined")
    text = "; ".join(parts) + "."
    return text if text.startswith((system, baseline)) else text[0].upper() + text[1:]


def _won_and_lost(n: dict[Outcome, int], of: int, system: str, baseline: str) -> list[str]:
    won, lost = n[Outcome.BETTER], n[Outcome.WORSE]
    differs = n[Outcome.HIGHER] + n[Outcome.LOWER]
    parts = []
    if won:
        parts.append(f"{system} beats {baseline} on {_share(won, of)}")
    if lost:
        alone = f"{baseline} beats {system} on {_share(lost, of)}"
        parts.append(f"is beaten on {lost}" if won else alone)
    if won and lost:
        parts = [" and ".join(parts)]
    if differs:
        who = "they" if parts else f"{system} and {baseline}"
        parts.append(f"on {differs} {who} differ, without a better or a worse")
    return parts


def _share(n: int, of: int) -> str:
    return f"all {of} measures" if n == of else f"{n} of {of} measures"


def p_heading(comparison: Comparison) -> str:
    """What stands above a column of p-values."""
    sided = all(d.alternative != "two-sided" for d in comparison) and len(comparison)
    p = "one-sided p" if sided else "p"
    if not is_adjusted(comparison):
        return p
    rate = ", FDR" if comparison.controls == _FDR else ""
    return f"{p} ({short(comparison.adjustment)}{rate})"


def adjustment_text(comparison: Comparison) -> str:
    """What the p-values account for and what they do not; empty where there is nothing to say."""
    number, measures = len(pairs(comparison)), {d.measure for d in comparison}
    if number < 2:
        text = "p-values are not adjusted for the number of measures."
        return text if len(measures) > 1 else ""
    if not is_adjusted(comparison):
        return (
            f"p-values are not adjusted, neither for the {number} pairs of systems nor for the "
            "number of measures: some small ones are to be expected by chance."
        )
    within = " within each measure, not for the number of measures" if len(measures) > 1 else ""
    text = (
        f"p-values are adjusted for the {number} pairs of systems{within} "
        f"({short(comparison.adjustment)}, which controls the {short(comparison.controls)})."
    )
    if comparison.controls == _FDR:
        rest = numbers.percent(most(comparison.level))
        text += f" Up to {rest} of the differences called real are expected to be none."
    if any(d.has_interval for d in comparison):
        text += " Intervals hold for one pair each and are not adjusted."
    return text


def overall_sentence(overall: Overall, show: Show = short) -> str:
    """What is said of all systems together, by the ranks."""
    o = overall
    units = numbers.count(o.n, o.unit)
    p = numbers.p_value(o.friedman_p)
    if math.isnan(o.friedman_p):
        return f"On {show(o.measure)} Friedman's test of {len(o.systems)} systems is undefined."
    said = f"the {len(o.systems)} systems do not all rank alike"
    if o.friedman_p > most(o.level):
        said = f"the data do not show that any of {len(o.systems)} systems ranks unlike the others"
    return f"On {show(o.measure)} {said} (Friedman, {p}, {units})."


def groups_text(overall: Overall, show: Show = short) -> str:
    """Which systems Nemenyi's test cannot tell apart."""
    if math.isnan(overall.critical_difference):
        return ""
    if not overall.groups:
        return "every two are told apart"
    return "; ".join(", ".join(map(show, group)) for group in overall.groups)


def estimate_verdict(estimate: Estimate, show: Show = short) -> str:
    """One estimate as a sentence, with what the best constant answer would score."""
    e = estimate
    if math.isnan(e.value):
        why = f" ({show(', '.join(e.undefined))})" if e.undefined else ""
        return f"{show(e.measure)} is undefined{why}."
    digits = numbers.single(e.value, e.low, e.high)
    units = numbers.count(e.n, e.unit)
    how = f"{numbers.percent(e.level)} {show(e.method)}; {units}" if e.has_interval else units
    scores = f"; the best constant answer scores {digits(e.default)}"
    known = "" if math.isnan(e.default) else scores
    return f"{show(e.measure)} is {digits.triple(e.value, e.low, e.high)} ({how}){known}."


def headlines(evaluation: Evaluation, show: Show = short) -> list[str]:
    """What to say first: a sentence a pair of systems, or the leading estimate of the only one."""
    if evaluation.comparison is not None and len(evaluation.comparison):
        return comparison_headlines(evaluation.comparison, show)
    if not evaluation.estimates:
        return ["There is nothing to show: no measure was asked for."]
    if len(evaluation.systems) == 1:
        return [estimate_verdict(evaluation.estimates[0], show)]
    if evaluation.task == "overlap":
        return [_alike(evaluation, show)]
    measures = numbers.count(len(evaluation.measures), "measures")
    return [f"{len(evaluation.systems)} systems on {measures}, not compared with one another."]


def _alike(evaluation: Evaluation, show: Show) -> str:
    """Which pairs of runs have most and least in common, by the leading measure."""
    measure = evaluation.measures[0]
    pairs_of_runs = [e for e in evaluation if e.measure == measure and not math.isnan(e.value)]
    if not pairs_of_runs:
        return f"{show(measure)} is undefined for every pair of runs."
    digits = numbers.rounding((e.value, e.low, e.high) for e in pairs_of_runs)
    highest, lowest = (
        f"{show(e.system)} {digits.triple(e.value, e.low, e.high)}"
        for e in (pick(pairs_of_runs, key=lambda e: e.value) for pick in (max, min))
    )
    return f"Most in common by {show(measure)}: {highest}; least: {lowest}."


def undefined_text(undefined: Iterable[tuple[str, int]]) -> str:
    """``no_relevant: 2; nothing_retrieved: 1``."""
    return "; ".join(f"{short(reason)}: {n:,}" for reason, n in undefined)
