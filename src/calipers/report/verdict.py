"""Verdicts on differences, in sentences that claim no more than was shown.

A difference is significant only if the adjusted p-value is at most 1 - level *and* the interval, if
there is one and the test is two-sided, excludes zero. A difference that is not significant does not
show that the systems are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from calipers.report import numbers
from calipers.report.grouping import group_by
from calipers.report.safe_names import method_text, shorten_name
from calipers.results.name_lookup import is_measure, needs_classes

if TYPE_CHECKING:
    from calipers.results import Comparison, Difference, Estimate, OmnibusTest

#: Formats the name of a system or of a measure in a sentence.
NameFormatter = Callable[[str], str]


class Outcome(Enum):
    """The outcome of the test of one difference."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    NOT_SIGNIFICANT = "not significant"
    NOT_TESTED = "not tested"
    UNDEFINED = "undefined"

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant."""
        return self.is_tested and self is not Outcome.NOT_SIGNIFICANT

    @property
    def is_tested(self) -> bool:
        """Whether there was a test."""
        return self not in (Outcome.NOT_TESTED, Outcome.UNDEFINED)


def outcome(difference: Difference) -> Outcome:
    """Return the outcome of ``difference``, by the direction of the measure."""
    d = difference
    if math.isnan(d.value):
        return Outcome.UNDEFINED
    if math.isnan(d.p_adjusted):
        return Outcome.NOT_TESTED
    # A one-sided test has one direction only.
    sides = {"two-sided": d.value != 0, "greater": d.value > 0}
    if (
        not _has_significant_p(d)
        or _has_zero_in_interval(d)
        or not sides.get(d.alternative, d.value < 0)
    ):
        return Outcome.NOT_SIGNIFICANT
    if d.higher_is_better is None:
        return Outcome.HIGHER if d.value > 0 else Outcome.LOWER
    return Outcome.BETTER if (d.value > 0) == d.higher_is_better else Outcome.WORSE


def significance_level(level: float) -> float:
    """Return the largest significant p-value at a level."""
    # 1 - 0.95 is a little more than 0.05 in binary; without rounding, p = 0.05 could go either way.
    return round(1 - level, 12)


def _has_significant_p(d: Difference) -> bool:
    return d.p_adjusted <= significance_level(d.level)


def _has_zero_in_interval(d: Difference) -> bool:
    # The interval is two-sided; a one-sided test can be significant while it contains 0.
    return d.alternative == "two-sided" and d.has_interval and d.low <= 0 <= d.high


#: The error rate that Benjamini and Hochberg's adjustment controls.
_FDR = "false discovery rate"


def adjusted_word(comparison: Comparison, measure: str) -> str:
    """Return the word before p-values of a measure; empty if they are not adjusted."""
    if comparison.adjustment == "none" or family_size(comparison, measure) < 2:
        return ""
    return f"{_FDR} adjusted " if comparison.error_rate == _FDR else "adjusted "


def family_size(comparison: Comparison, measure: str) -> int:
    """Return the number of differences that are adjusted together with those of a measure."""
    n_pairs, measures = len(group_by_pair(comparison)), {d.measure for d in comparison}
    if comparison.primary in (None, measure):
        return n_pairs
    return n_pairs * len(measures - {comparison.primary})


def difference_sentence(
    difference: Difference, *, adjusted: str = "adjusted ", show: NameFormatter = shorten_name
) -> str:
    """Return the verdict on one difference.

    ``adjusted`` is the word before a p-value that is adjusted for other differences.
    """
    difference_outcome = outcome(difference)
    if difference_outcome is Outcome.UNDEFINED:
        return _undefined_sentence(difference, show)
    if difference_outcome is Outcome.NOT_TESTED:
        return _untested_sentence(difference, show) + _margin_sentence(difference, adjusted, show)
    if difference_outcome is Outcome.NOT_SIGNIFICANT:
        text = _nonsignificant_sentence(difference, adjusted, show)
    else:
        text = _significant_sentence(difference, difference_outcome, adjusted, show)
    return text + _further_sentences(difference, adjusted, show)


def _further_sentences(d: Difference, adjusted: str, show: NameFormatter) -> str:
    margin_sentence = _margin_sentence(d, adjusted, show)
    return f"{_reassigned_points_text(d)}{margin_sentence}{_judge_sentence(d)}"


def difference_facts(
    difference: Difference,
    *,
    adjusted: str = "adjusted ",
    show: NameFormatter = shorten_name,
    subject: str = "Difference",
) -> str:
    """Return the numbers of a difference whose outcome was stated: its interval, p and test.

    An example is ``Difference 0.021 [0.011, 0.032] (p < 0.001, paired t, 50 topics).``
    """
    d, difference_outcome = difference, outcome(difference)
    if not difference_outcome.is_tested:
        return difference_sentence(d, adjusted=adjusted, show=show)
    remark = "" if difference_outcome.is_significant else _nonsignificant_remark(d, adjusted)
    facts = f"{subject} {_amount(d)} ({_test_text(d, adjusted, show)}){remark}."
    return facts + _further_sentences(d, adjusted, show)


def _undefined_sentence(d: Difference, show: NameFormatter) -> str:
    reasons = f" ({show(', '.join(d.undefined))})" if d.undefined else ""
    pair = f"{show(d.system)} and {show(d.baseline)}"
    return f"On {show(d.display_name)} the difference between {pair} is undefined{reasons}."


def _untested_sentence(d: Difference, show: NameFormatter) -> str:
    pair = f"{show(d.system)} and {show(d.baseline)}"
    return f"The difference between {pair} on {show(d.display_name)} is not tested: {_amount(d)}."


def _nonsignificant_sentence(d: Difference, adjusted: str, show: NameFormatter) -> str:
    if d.alternative != "two-sided":
        first, second = show(d.system), show(d.baseline)
        direction = "higher" if d.alternative == "greater" else "lower"
        if d.higher_is_better is not None:
            direction = "better" if (direction == "higher") == d.higher_is_better else "worse"
        return (
            f"{first} is not significantly {direction} than {second} on {show(d.display_name)}: "
            f"difference {_amount(d)}, {_p_text(d, adjusted)}."
        )
    return (
        f"No significant difference between {show(d.system)} and {show(d.baseline)} on "
        f"{show(d.display_name)}: {_amount(d)}, {_p_text(d, adjusted)}"
        f"{_nonsignificant_remark(d, adjusted)}."
    )


def _nonsignificant_remark(d: Difference, adjusted: str) -> str:
    """Return the minimum detectable difference, or how the p-value and the interval disagree."""
    if d.has_interval and d.alternative == "two-sided":
        if _has_significant_p(d) and _has_zero_in_interval(d):
            return "; the p-value is significant, but the interval contains 0"
        if not _has_significant_p(d) and not _has_zero_in_interval(d):
            which = "the unadjusted interval" if adjusted else "the interval"
            return f"; {which} excludes 0, but the p-value is not significant"
    return _detectable_sentence(d)


def _detectable_sentence(d: Difference) -> str:
    """Return the minimum detectable difference, if it is known."""
    if math.isnan(d.min_detectable):
        return ""
    return f"; minimum detectable difference {format_detectable(d.min_detectable)} (80% power)"


def format_detectable(difference: float) -> str:
    """Format with two digits, rounded up, since smaller differences have less power."""
    if not difference > 0 or math.isinf(difference):
        return f"{difference:g}"
    step = 10.0 ** (math.floor(math.log10(difference)) - 1)
    if not step > 0:  # subnormal numbers
        return f"{difference:.2g}"
    rounded = math.ceil(round(difference / step, 9)) * step
    return f"{rounded:,.0f}" if 10 <= rounded < 1e7 else f"{rounded:#.2g}".rstrip(".")


def is_identical(d: Difference) -> bool:
    """Return whether the two do not differ on any unit."""
    return d.value == 0 and d.n > 0 and (d.differing == 0 or d.interval_reason == "nothing_differs")


def rule_of_three_text(d: Difference) -> str:
    """Return the rule of three: an upper limit of the proportion of units with a difference.

    Without an event on n units, the upper 95% limit of its proportion is 3/n (Hanley and
    Lippman-Hand 1983).
    """
    if not d.n:
        return ""
    units = numbers.format_count(d.n, d.unit)
    rare = _rare_proportion(d.n)
    return f" With {units}, differences on up to {rare} of other {d.unit} are not excluded."


def _rare_proportion(n: int) -> str:
    percentage = 100 * min(1.0, 3 / n)
    return f"{percentage:.0f}%" if percentage >= 10 else f"{percentage:.2g}%"


def _identical_sentence(d: Difference, show: NameFormatter) -> str:
    return (
        f" The outputs of {show(d.system)} and {show(d.baseline)} are identical on all "
        f"{numbers.format_count(d.n, d.unit)}; differences on up to {_rare_proportion(d.n)} of "
        f"other {d.unit} are not excluded."
    )


def _reassigned_points_text(d: Difference) -> str:
    """Return the number of points that two clusterings assign to different clusters.

    It is known for internal measures. Those of agreement with classes count the points that
    contribute differently.
    """
    if d.unit != "points" or d.differing is None or not d.n:
        return ""
    if needs_classes(d.measure):
        return ""
    verb = "is" if d.differing == 1 else "are"
    points = numbers.format_count(d.n, d.unit)
    return f" {d.differing:,} of {points} {verb} assigned to a different cluster."


def _judge_sentence(d: Difference) -> str:
    """Return the difference by the judge alone, if there are human labels."""
    if d.judged is None or math.isnan(d.judged.judge_only):
        return ""
    digits = numbers.rounding([(d.value, d.low, d.high)], keep_sign=True)
    p = d.judged.judge_only_p
    p_text = "" if math.isnan(p) else f" ({numbers.format_p(p)})"
    return (
        f" By the judge alone it would be {digits(d.judged.judge_only)}{p_text}, which ignores "
        "the errors of the judge."
    )


def _margin_sentence(d: Difference, adjusted: str, show: NameFormatter) -> str:
    """Return the result of a test of non-inferiority or equivalence, if a margin was given."""
    if math.isnan(d.margin) or math.isnan(d.p_noninferiority):
        return ""
    if is_identical(d):
        return _identical_sentence(d, show)
    margin, alpha = f"{d.margin:g}", significance_level(d.level)
    first, second = show(d.system), show(d.baseline)
    kind = f"{adjusted}one-sided p"
    if d.p_equivalence <= alpha:
        p = numbers.format_p(d.p_equivalence, kind)
        return f" The two are equivalent within a margin of {margin} ({p}).{rule_of_three_text(d)}"
    p = numbers.format_p(d.p_noninferiority, kind)
    is_noninferior = d.p_noninferiority <= alpha
    if d.higher_is_better is None:  # no direction is inferior
        text = f"A difference of -{margin} or less is{'' if is_noninferior else ' not'} excluded"
    else:
        text = f"{first} is{'' if is_noninferior else ' not shown to be'} non-inferior to {second}"
        text += f" within a margin of {margin}"
    return f" {text} ({p}).{rule_of_three_text(d) if is_noninferior else ''}"


_WORDS = {
    # (outcome, sign of the difference > 0): the sign is part of the word wherever lower is better.
    (Outcome.BETTER, True): "is better than {baseline} on {measure} by {amount}",
    (Outcome.WORSE, False): "is worse than {baseline} on {measure}: difference {amount}",
    (Outcome.BETTER, False): "has a lower (better) {measure} than {baseline}: difference {amount}",
    (Outcome.WORSE, True): "has a higher (worse) {measure} than {baseline}: difference {amount}",
    (Outcome.HIGHER, True): "has a higher {measure} than {baseline}: difference {amount}",
    (Outcome.LOWER, False): "has a lower {measure} than {baseline}: difference {amount}",
}


def _significant_sentence(
    d: Difference, difference_outcome: Outcome, adjusted: str, show: NameFormatter
) -> str:
    claim = _WORDS[difference_outcome, d.value > 0].format(
        baseline=show(d.baseline), measure=show(d.display_name), amount=_amount(d)
    )
    return f"{show(d.system)} {claim} ({_test_text(d, adjusted, show)})."


def _test_text(d: Difference, adjusted: str, show: NameFormatter) -> str:
    facts = [_p_text(d, adjusted), show(method_text(d.test)), numbers.format_count(d.n, d.unit)]
    return ", ".join(facts)


def _amount(d: Difference) -> str:
    digits = numbers.rounding([(d.value, d.low, d.high)], keep_sign=True)
    return digits.value_with_interval(d.value, d.low, d.high)


def _p_text(d: Difference, adjusted: str) -> str:
    sided = "" if d.alternative == "two-sided" else "one-sided "
    return numbers.format_p(d.p_adjusted, f"{adjusted}{sided}p")


def is_adjusted(comparison: Comparison) -> bool:
    """Return whether p-values of ``comparison`` are adjusted for one another."""
    return any(adjusted_word(comparison, measure) for measure in {d.measure for d in comparison})


def difference_sentences(comparison: Comparison, show: NameFormatter = shorten_name) -> list[str]:
    """Return a verdict for each difference."""
    measures = {d.measure for d in comparison}
    adjusted = {measure: adjusted_word(comparison, measure) for measure in measures}
    return [difference_sentence(d, adjusted=adjusted[d.measure], show=show) for d in comparison]


def group_by_pair(comparison: Comparison) -> dict[tuple[str, str], list[Difference]]:
    """Return the differences of each pair of systems."""
    return group_by(comparison, lambda d: (d.system, d.baseline))


def p_heading(comparison: Comparison) -> str:
    """Return the heading of a column of p-values."""
    sided = all(d.alternative != "two-sided" for d in comparison) and len(comparison)
    p = "one-sided p" if sided else "p"
    # With two systems the primary measure is not adjusted, which the note below the table says.
    if not all(adjusted_word(comparison, measure) for measure in {d.measure for d in comparison}):
        return p
    rate = ", FDR" if comparison.error_rate == _FDR else ""
    return f"{p} ({shorten_name(comparison.adjustment)}{rate})"


def adjustment_text(comparison: Comparison) -> str:
    """Return what p-values and intervals are adjusted for; empty if there is one difference."""
    measures = {d.measure for d in comparison}
    if len(comparison) < 2 or not any(d.has_interval or outcome(d).is_tested for d in comparison):
        return ""
    if not is_adjusted(comparison):
        if comparison.primary is not None and comparison.adjustment != "none":
            return ""
        return (
            "p-values and intervals are not adjusted for the number of differences "
            f"({len(comparison):,}); some small p-values are expected by chance."
        )
    subject = "p-values and intervals" if _has_simultaneous(comparison) else "p-values"
    rate = shorten_name(comparison.error_rate)
    method = f"{shorten_name(comparison.adjustment)}, which controls the {rate}"
    text = f"{subject} {_families_text(comparison, measures, method)}."
    if comparison.error_rate == _FDR:
        false_percent = numbers.format_percent(significance_level(comparison.level))
        text += (
            f" Up to {false_percent} of the significant differences are expected to be false "
            "discoveries."
        )
    if not _has_simultaneous(comparison) and any(d.has_interval for d in comparison):
        text += " Intervals are not adjusted: each holds for one difference."
    return text


def _has_simultaneous(comparison: Comparison) -> bool:
    """Return whether any interval is adjusted for the others."""
    return any(d.method.startswith(("simultaneous", "false coverage")) for d in comparison)


def _families_text(comparison: Comparison, measures: set[str], method: str) -> str:
    """Return which p-values are adjusted together, and by which method."""
    n_pairs, primary = len(group_by_pair(comparison)), comparison.primary
    pairs_text, n_other_measures = f"the {n_pairs:,} pairs of systems", len(measures) - 1
    if primary is None or (n_other_measures and comparison.adjustment.endswith("HSD")):
        scope = " within each measure, not across measures" if n_other_measures else ""
        return f"are adjusted for {pairs_text}{scope} ({method})"
    if not n_other_measures:
        return f"are adjusted jointly for {pairs_text} ({method})"
    others = f"{n_other_measures} other measure{'s' * (n_other_measures > 1)}"
    primary_text = f"{shorten_name(primary)}, the primary measure"
    if n_pairs == 1:
        return (
            f"of the {others} are adjusted jointly ({method}); those of {primary_text}, are not "
            "adjusted"
        )
    return (
        f"are adjusted jointly for the {n_pairs:,} pairs on {primary_text}, and separately for the "
        f"{n_pairs * n_other_measures:,} differences on {others} ({method})"
    )


def omnibus_sentence(omnibus_test: OmnibusTest, show: NameFormatter = shorten_name) -> str:
    """Return the result of Friedman's test of all systems."""
    o = omnibus_test
    units = numbers.format_count(o.n, o.unit)
    p = numbers.format_p(o.friedman_p)
    if math.isnan(o.friedman_p):
        return f"On {show(o.measure)}, Friedman's test of {len(o.systems)} systems is undefined."
    differ = "do not differ" if o.friedman_p > significance_level(o.level) else "differ"
    test = f"(Friedman, {p}, {units})"
    return f"On {show(o.measure)}, the {len(o.systems)} systems {differ} significantly {test}."


def homogeneous_groups_text(overall: OmnibusTest, show: NameFormatter = shorten_name) -> str:
    """Return the homogeneous groups of systems by Nemenyi's test."""
    if math.isnan(overall.critical_difference):
        return ""
    if not overall.homogeneous_groups:
        return "all pairs differ significantly"
    return "; ".join(", ".join(map(show, group)) for group in overall.homogeneous_groups)


#: Parameters of measures that make them defined, by the reason why they are undefined.
REMEDIES = {"zero_probability": ("delta", "{measure} clips probabilities")}


def undefined_reasons(result: Estimate | Difference) -> list[str]:
    """Return why units or the value are missing, of how many, and what to use instead.

    An example is ``zero_probability: 7 of 2,547 rows``,
    ``log-loss(delta=1e-15) clips probabilities``.
    """
    n_total, reasons = getattr(result, "n_total", 0), []
    for reason, n in result.undefined.items():
        is_partial = math.isnan(result.value) and 0 < n < n_total
        reasons.append(
            f"{shorten_name(reason)}: {n:,}"
            + f" of {numbers.format_count(n_total, result.unit)}" * is_partial
        )
        if math.isnan(result.value):
            reasons += _remedy(result.measure, reason)
    return reasons


def _remedy(measure: str, reason: str) -> list[str]:
    """Return the parameter of the measure that makes the reason inapplicable, if there is one."""
    if reason not in REMEDIES:
        return []
    parameter, text = REMEDIES[reason]
    name = f"{measure}({parameter}=1e-15)"
    # Others that may be undefined for this reason, such as the Brier skill, have no such parameter.
    return [text.format(measure=name)] if is_measure(name) else []
