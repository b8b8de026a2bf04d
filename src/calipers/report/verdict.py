"""What the numbers say, in sentences that never say more.

Two systems are told apart only when the adjusted p-value is at most 1 - level *and* the interval,
where there is one, leaves out zero. Otherwise the data do not tell them apart, which is not to say
that they are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import Enum

from calipers.report import numbers
from calipers.report.names import short
from calipers.results import Comparison, Difference, Estimate, Evaluation

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
    if not _p_is_small(d) or _contains_zero(d) or d.value == 0:
        return Outcome.NOT_TOLD_APART
    if d.higher_is_better is None:
        return Outcome.HIGHER if d.value > 0 else Outcome.LOWER
    return Outcome.BETTER if (d.value > 0) == d.higher_is_better else Outcome.WORSE


def _p_is_small(d: Difference) -> bool:
    # 1 - 0.95 is a little more than 0.05 in binary; without rounding, p = 0.05 could go either way.
    return d.p_adjusted <= round(1 - d.level, 12)


def _contains_zero(d: Difference) -> bool:
    return d.has_interval and d.low <= 0 <= d.high


def sentence(difference: Difference, *, adjusted: bool = True, show: Show = short) -> str:
    """The verdict on one difference.

    ``adjusted`` says whether the p-value accounts for other differences.
    """
    found = outcome(difference)
    if found is Outcome.UNDEFINED:
        return _undefined(difference, show)
    if found is Outcome.NOT_TOLD_APART:
        return _not_told_apart(difference, adjusted, show)
    return _told_apart(difference, found, adjusted, show)


def _undefined(d: Difference, show: Show) -> str:
    why = ", ".join(d.undefined)
    pair = f"{show(d.system)} and {show(d.baseline)}"
    return f"On {show(d.measure)} the difference between {pair} is undefined" + (
        f" ({show(why)})." if why else "."
    )


def _not_told_apart(d: Difference, adjusted: bool, show: Show) -> str:
    text = (
        f"On {show(d.measure)} the data do not tell {show(d.system)} and {show(d.baseline)} apart: "
        f"difference {_amount(d)}, {_p(d, adjusted)}"
    )
    if not d.has_interval:
        return text + "."
    if _p_is_small(d) and _contains_zero(d):
        return text + "; the p-value is small, but the interval contains 0."
    if not _p_is_small(d) and not math.isnan(d.p_adjusted) and not _contains_zero(d):
        why = "the interval, which is not adjusted," if adjusted else "the interval"
        return text + f"; {why} leaves out 0, but the p-value is not small."
    return text + "."


_WORDS = {
    # (outcome, sign of the difference > 0): the sign is part of the word wherever lower is better.
    (Outcome.BETTER, True): "is better than",
    (Outcome.WORSE, False): "is worse than",
    (Outcome.BETTER, False): "is lower (better) than",
    (Outcome.WORSE, True): "is higher (worse) than",
    (Outcome.HIGHER, True): "is higher than",
    (Outcome.LOWER, False): "is lower than",
}


def _told_apart(d: Difference, found: Outcome, adjusted: bool, show: Show) -> str:
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


def _p(d: Difference, adjusted: bool) -> str:
    sided = "" if d.alternative == "two-sided" else "one-sided "
    return numbers.p_value(d.p_adjusted, f"{'adjusted ' if adjusted else ''}{sided}p")


def is_adjusted(comparison: Comparison) -> bool:
    """Whether the p-values of ``comparison`` account for one another."""
    return len(comparison) > 1 and comparison.adjustment.lower() != "none"


def sentences(comparison: Comparison, show: Show = short) -> list[str]:
    """One verdict a difference."""
    adjusted = is_adjusted(comparison)
    return [sentence(d, adjusted=adjusted, show=show) for d in comparison]


def pairs(comparison: Comparison) -> dict[tuple[str, str], list[Difference]]:
    """The differences of each pair of systems."""
    out: dict[tuple[str, str], list[Difference]] = {}
    for d in comparison:
        out.setdefault((d.system, d.baseline), []).append(d)
    return out


def comparison_headlines(comparison: Comparison, show: Show = short) -> list[str]:
    """One short sentence a pair of systems, over all measures."""
    adjusted = is_adjusted(comparison)
    return [
        sentence(differences[0], adjusted=adjusted, show=show)
        if len(differences) == 1
        else _summary(show(system), show(baseline), [outcome(d) for d in differences])
        for (system, baseline), differences in pairs(comparison).items()
    ]


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


def estimate_verdict(estimate: Estimate, show: Show = short) -> str:
    """One estimate as a sentence, with what the best constant answer would score."""
    e = estimate
    if math.isnan(e.value):
        why = ", ".join(e.undefined)
        return f"{show(e.measure)} is undefined" + (f" ({show(why)})." if why else ".")
    digits = numbers.single(e.value, e.low, e.high)
    units = numbers.count(e.n, e.unit)
    how = f"{numbers.percent(e.level)} {show(e.method)}; {units}" if e.has_interval else units
    text = f"{show(e.measure)} is {digits.triple(e.value, e.low, e.high)} ({how})"
    if math.isnan(e.default):
        return text + "."
    return f"{text}; the best constant answer scores {digits(e.default)}."


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
    systems = f"{len(evaluation.systems)} systems"
    many = len(evaluation.measures)
    measures = f"{many} measure" + ("s" if many > 1 else "")
    return [f"{systems} on {measures}, not compared with one another."]


def _alike(evaluation: Evaluation, show: Show) -> str:
    """Which pairs of runs have most and least in common, by the leading measure."""
    measure = evaluation.measures[0]
    pairs_of_runs = [e for e in evaluation if e.measure == measure and not math.isnan(e.value)]
    if not pairs_of_runs:
        return f"{show(measure)} is undefined for every pair of runs."
    digits = numbers.rounding((e.value, e.low, e.high) for e in pairs_of_runs)
    most, least = (
        f"{show(e.system)} {digits.triple(e.value, e.low, e.high)}"
        for e in (
            max(pairs_of_runs, key=lambda e: e.value),
            min(pairs_of_runs, key=lambda e: e.value),
        )
    )
    return f"Most in common by {show(measure)}: {most}; least: {least}."


def undefined_text(undefined: Iterable[tuple[str, int]]) -> str:
    """``no_relevant: 2; nothing_retrieved: 1``."""
    return "; ".join(f"{short(reason)}: {n:,}" for reason, n in undefined)
