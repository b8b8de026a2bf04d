"""Headlines of results: the verdict on the primary measure, or the leading estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from calipers.report import numbers
from calipers.report.grouping import group_by
from calipers.report.safe_names import MAX_NAME_LENGTH, join_words, method_text, shorten_name
from calipers.report.table_rows import (
    CASES,
    judgment_bounds_text,
    no_skill_reference,
    remarks_text,
    tolerance_text,
)
from calipers.report.verdict import (
    NameFormatter,
    Outcome,
    adjusted_word,
    difference_sentence,
    group_by_pair,
    outcome,
    undefined_reasons,
)

if TYPE_CHECKING:
    from calipers.results import Comparison, Curve, Difference, Estimate, Evaluation

#: Largest number of pairs with a sentence each; beyond it, pairs without a significant difference
#: share one sentence.
MAX_LISTED_PAIRS = 6

#: More systems than these are ranked, and their pairs are listed on request.
MAX_UNRANKED_SYSTEMS = 8

#: The largest number of differences on other measures that are named one by one.
_MAX_NAMED_DIFFERENCES = 6

#: The largest number of names in a list; more are counted.
_MAX_LISTED_NAMES = 12


def comparison_headlines(comparison: Comparison, show: NameFormatter = shorten_name) -> list[str]:
    """Return the headlines on the primary measure.

    These are a sentence per pair of systems; for many systems the best one, or how they compare
    with the baseline.
    """
    differences = primary_differences(comparison)
    if not differences:
        return []
    if len(differences) > MAX_LISTED_PAIRS and comparison.baseline is not None:
        return [_baseline_headline(differences, show)]
    if len(list_systems(comparison)) > MAX_UNRANKED_SYSTEMS:
        return [_leader_headline(differences, show)]
    adjusted = adjusted_word(comparison, differences[0].measure)
    sentences: list[str] = []
    pairs_by_outcome: dict[Outcome, list[str]] = {
        Outcome.NOT_SIGNIFICANT: [],
        Outcome.NOT_TESTED: [],
    }
    for d in differences:
        difference_outcome = outcome(d)
        if (
            len(differences) > MAX_LISTED_PAIRS
            and math.isnan(d.margin)
            and difference_outcome in pairs_by_outcome
        ):
            pairs_by_outcome[difference_outcome].append(f"{show(d.system)} and {show(d.baseline)}")
        else:
            sentences.append(difference_sentence(d, adjusted=adjusted, show=show))
    for difference_outcome, pairs in pairs_by_outcome.items():
        if pairs:
            prefix = (
                "Not tested"
                if difference_outcome is Outcome.NOT_TESTED
                else "No significant difference"
            )
            sentences.append(
                f"{prefix} on {show(differences[0].measure)} between {format_names(pairs)}."
            )
    return sentences


def primary_differences(comparison: Comparison) -> list[Difference]:
    """Return the differences on the primary measure, by default the first one."""
    measures = dict.fromkeys(d.measure for d in comparison)
    primary = comparison.primary if comparison.primary in measures else next(iter(measures), None)
    return [d for d in comparison if d.measure == primary]


def list_systems(comparison: Comparison) -> list[str]:
    """Return all systems of a comparison."""
    return list(dict.fromkeys(name for d in comparison for name in (d.baseline, d.system)))


def _baseline_headline(differences: Sequence[Difference], show: NameFormatter) -> str:
    """Return which of many systems are better or worse than the baseline."""
    differences_by_words = group_by(differences, lambda d: _WORD_BY_OUTCOME[outcome(d)])
    clauses = [
        f"{words}: {format_names([show(d.system) for d in differences_by_words[words]])}"
        for words in _WORD_BY_OUTCOME.values()
        if words in differences_by_words
    ]
    against = (
        f"{show(differences[0].measure)} against {show(differences[0].baseline)}, the baseline"
    )
    return f"{against}: {'; '.join(clauses)}."


_WORD_BY_OUTCOME = {
    Outcome.BETTER: "better",
    Outcome.HIGHER: "higher",
    Outcome.LOWER: "lower",
    Outcome.WORSE: "worse",
    Outcome.NOT_SIGNIFICANT: "no significant difference",
    Outcome.NOT_TESTED: "not tested",
    Outcome.UNDEFINED: "undefined",
}


def _leader_headline(differences: Sequence[Difference], show: NameFormatter) -> str:
    """Return the best of many systems, and those not significantly different from it."""
    measure = show(differences[0].measure)
    order = sort_by_value(mean_gains(differences), differences[0].higher_is_better)
    if all(d.value == 0 for d in differences):
        return f"All {len(order)} systems have the same {measure}."
    leader = order[0]
    difference_by_system = {
        d.baseline if d.system == leader else d.system: d
        for d in differences
        if leader in (d.system, d.baseline)
    }
    tied_systems = [
        name
        for name in order[1:]
        if name in difference_by_system and difference_by_system[name].value == 0
    ]
    outcome_by_system = {
        name: outcome(d) for name, d in difference_by_system.items() if name not in tied_systems
    }
    nonsignificant, untested = (
        [show(name) for name in order[1:] if outcome_by_system.get(name) is kind]
        for kind in (Outcome.NOT_SIGNIFICANT, Outcome.NOT_TESTED)
    )
    n_behind = sum(kind.is_significant for kind in outcome_by_system.values())
    leaders, pronoun = (
        format_names([show(name) for name in (leader, *tied_systems)]),
        "them" if tied_systems else "it",
    )
    leads = "tie for first" if tied_systems else "ranks first"
    clauses = [f"{leaders} {leads} of {len(order)} systems on {measure}"]
    if not nonsignificant and not n_behind:
        return f"{clauses[0]}; differences from {pronoun} are not tested."
    if not n_behind and not untested:
        return f"{clauses[0]}; none is significantly different from {pronoun}."
    if nonsignificant:
        clauses.append(
            f"not significantly different from {pronoun}: {format_names(nonsignificant)}"
        )
    if untested:
        clauses.append(f"not tested against {pronoun}: {format_names(untested)}")
    if not n_behind:
        return "; ".join(clauses) + "."
    others = (
        "all others" if n_behind == len(order) - 1 - len(tied_systems) else f"{n_behind} others"
    )
    word = "different" if differences[0].higher_is_better is None else "worse"
    return "; ".join([*clauses, f"significantly {word}: {others}"]) + "."


def format_names(names: Sequence[str]) -> str:
    """Format names as ``a, b and c``; of many the first ones, and the number of others."""
    if len(names) > _MAX_LISTED_NAMES:
        n_listed = _MAX_LISTED_NAMES - 1
        return f"{', '.join(names[:n_listed])} and {len(names) - n_listed} others"
    return join_words(names)


def mean_gains(differences: Sequence[Difference]) -> dict[str, float]:
    """Return the mean difference of each system to the others, on one measure."""
    gains_by_system: dict[str, list[float]] = {}
    for d in differences:
        gains_by_system.setdefault(d.system, []).append(d.value)
        gains_by_system.setdefault(d.baseline, []).append(-d.value)
    return {name: _mean(gains) for name, gains in gains_by_system.items()}


def sort_by_value(values: Mapping[str, float], higher_is_better: bool | None) -> list[str]:
    """Sort the systems, the best first and those without a value last."""
    sign = 1 if higher_is_better is False else -1
    return sorted(values, key=lambda name: (values[name] != values[name], sign * values[name]))


def _mean(values: Sequence[float]) -> float:
    defined_values = [value for value in values if not math.isnan(value)]
    return sum(defined_values) / len(defined_values) if defined_values else math.nan


def other_measures_sentence(comparison: Comparison, show: NameFormatter = shorten_name) -> str:
    """Return a sentence on the other measures, which are tested together; empty without any."""
    measure = next((d.measure for d in primary_differences(comparison)), None)
    other_differences = [d for d in comparison if d.measure != measure]
    if not other_differences:
        return ""
    measures, n_pairs = {d.measure for d in other_differences}, len(group_by_pair(comparison))
    measures_text = f"{len(measures)} other measures"
    significant = [d for d in other_differences if outcome(d).is_significant]
    tested = {d.measure for d in other_differences if outcome(d).is_tested}
    if not tested and len(measures) == 1:
        return (
            f"On {show(other_differences[0].measure)}, the other measure, no difference is tested."
        )
    if not tested:
        return f"On the {measures_text} no difference is tested."
    untested = [
        name for name in dict.fromkeys(d.measure for d in other_differences) if name not in tested
    ]
    untested_note = (
        f" Not tested: {format_names([show(name) for name in untested])}." if untested else ""
    )
    if not significant:
        if len(measures) == 1:
            prefix_text = f"On {show(other_differences[0].measure)}, the other measure,"
            return f"{prefix_text} there is no significant difference."
        return f"On the {measures_text} there is no significant difference.{untested_note}"
    first = significant[0]
    pair_text = f" ({_pair(first, show)})" if n_pairs == 1 else ""
    if len(significant) <= _MAX_NAMED_DIFFERENCES:
        descriptions = [
            _short_difference(d, show, is_single_pair=n_pairs == 1) for d in significant
        ]
        noun = "difference" if len(significant) == 1 else "differences"
        return f"Other significant {noun}{pair_text}: {', '.join(descriptions)}.{untested_note}"
    prefix = f"Significant differences{pair_text} on other measures"
    significant_by_measure = group_by(significant, lambda d: d.measure)
    if n_pairs == 1:
        names_text = format_names([show(name) for name in significant_by_measure])
        return f"{prefix}: {names_text}.{untested_note}"
    counts = [
        f"{show(name)} ({len(ds)} of {n_pairs} pairs)"
        for name, ds in significant_by_measure.items()
    ]
    counts_text = ", ".join(counts) if len(counts) <= _MAX_LISTED_NAMES else format_names(counts)
    return f"{prefix}: {counts_text}.{untested_note}"


def _short_difference(d: Difference, show: NameFormatter, *, is_single_pair: bool) -> str:
    words = [] if is_single_pair else [_pair(d, show)]
    words += [] if d.higher_is_better is None else [outcome(d).value]
    digits = numbers.rounding([(d.value, d.low, d.high)], keep_sign=True)
    remark = f" ({', '.join(words)})" if words else ""
    return f"{show(d.measure)} {digits(d.value)}{remark}"


def _pair(d: Difference, show: NameFormatter) -> str:
    return f"{show(d.system)} - {show(d.baseline)}"


def estimate_verdict(estimate: Estimate, show: NameFormatter = shorten_name) -> str:
    """Return a sentence on one estimate, with the value that needs no skill."""
    e = estimate
    if math.isnan(e.value):
        reasons = f" ({'; '.join(map(show, undefined_reasons(e)))})" if e.undefined else ""
        return f"{show(e.measure)} is undefined{reasons}."
    digits = numbers.common_rounding(e.value, e.low, e.high)
    value = digits.value_with_interval(e.value, e.low, e.high)
    details = _method_and_units(e, show)
    return f"{show(e.measure)} is {value} ({details}){_no_skill_text(e, digits)}."


def estimate_details(estimate: Estimate, show: NameFormatter = shorten_name) -> str:
    """Return the method and units of an estimate, and the value that needs no skill."""
    e = estimate
    digits = numbers.common_rounding(e.value, e.low, e.high)
    return f"{_method_and_units(e, show)}{_no_skill_text(e, digits)}."


def _method_and_units(e: Estimate, show: NameFormatter) -> str:
    units = numbers.format_count(e.n, e.unit)
    method = method_text(e.method)
    method = show(method) if len(method) <= MAX_NAME_LENGTH else method
    return f"{numbers.format_percent(e.level)} {method}; {units}" if e.has_interval else units


def _no_skill_text(e: Estimate, digits: numbers.Rounding) -> str:
    if math.isnan(e.no_skill):
        return ""
    return f"; {no_skill_reference(e.unit)}: {digits(e.no_skill)}"


def leading_estimate(evaluation: Evaluation) -> Estimate:
    """Return the first estimate that is a result; a threshold, the first in tables, is not."""
    return next((e for e in evaluation if e.measure != "threshold"), evaluation.estimates[0])


def headlines(evaluation: Evaluation, show: NameFormatter = shorten_name) -> list[str]:
    """Return the headlines: a sentence per pair of systems, or the first estimate of one."""
    if evaluation.comparison is not None and len(evaluation.comparison):
        return comparison_headlines(evaluation.comparison, show)
    if not evaluation.estimates:
        return ["No measure was requested."]
    if evaluation.judge_biases:
        from calipers.report.judge import sentences

        return sentences(evaluation, show)
    if len(evaluation.systems) == 1:
        return [estimate_verdict(leading_estimate(evaluation), show)]
    if evaluation.task == "overlap":
        return [_overlap_headline(evaluation, show)]
    measures = numbers.format_count(len(evaluation.measures), "measures")
    return [f"{len(evaluation.systems)} systems on {measures}, without pairwise comparisons."]


def secondary_headline(evaluation: Evaluation, show: NameFormatter = shorten_name) -> str:
    """Return a sentence on the comparison of systems by the measures other than the primary one.

    Of a judge it is about the biases that are not significant.
    """
    comparison = evaluation.comparison
    if evaluation.judge_biases:
        from calipers.report.judge import undetected_sentence

        return undetected_sentence(evaluation, show)
    return "" if comparison is None else other_measures_sentence(comparison, show)


#: Largest number of pairs that are listed by default: those of :data:`MAX_UNRANKED_SYSTEMS`.
MAX_SHOWN_PAIRS = MAX_UNRANKED_SYSTEMS * (MAX_UNRANKED_SYSTEMS - 1) // 2


def omitted_pairs_note(comparison: Comparison) -> str:
    """Return the number of pairs without a significant difference, and where pairs are listed."""
    differences = primary_differences(comparison)
    n_nonsignificant = sum(outcome(d) is Outcome.NOT_SIGNIFICANT for d in differences)
    n_untested = sum(not outcome(d).is_tested for d in differences)
    untested_note = (
        f" Not tested: {numbers.format_count(n_untested, 'pairs')}." if n_untested else ""
    )
    return (
        f"No significant difference on {shorten_name(differences[0].measure)} for "
        f"{n_nonsignificant:,} of {numbers.format_count(len(differences), 'pairs')} of "
        f"systems.{untested_note} All pairs are listed by `calipers compare --layout long`, in "
        "JSON and in the HTML report."
    )


def _overlap_headline(evaluation: Evaluation, show: NameFormatter) -> str:
    """Return the most and the least similar pairs of runs, by the leading measure."""
    measure = evaluation.measures[0]
    pairs_of_runs = [e for e in evaluation if e.measure == measure and not math.isnan(e.value)]
    if not pairs_of_runs:
        return f"{show(measure)} is undefined for every pair of runs."
    digits = numbers.rounding((e.value, e.low, e.high) for e in pairs_of_runs)
    highest, lowest = (
        f"{show(e.system)} {digits.value_with_interval(e.value, e.low, e.high)}"
        for e in (pick(pairs_of_runs, key=lambda e: e.value) for pick in (max, min))
    )
    return f"Most similar by {show(measure)}: {highest}; least similar: {lowest}."


def estimate_sentence(estimate: Estimate) -> str:
    """Return a sentence such as ``nDCG@10 0.412 [0.385, 0.439] 95% bootstrap-t over 50 topics``."""
    e = estimate
    digits = numbers.common_rounding(e.value, e.low, e.high)
    phrases = [f"{shorten_name(e.system)}:"] if e.system else []
    phrases += [shorten_name(e.display_name), digits.value_with_interval(e.value, e.low, e.high)]
    if e.has_interval:
        phrases.append(f"{numbers.format_percent(e.level)} {method_text(e.method)}")
    if not math.isnan(e.value):
        phrases.append(f"over {numbers.format_count(e.n, shorten_name(e.unit))}")
    if judged := judgment_bounds_text(e, digits):
        condition = "had a score" if e.unit == CASES else "were judged"
        phrases.append(f"(bounds if all {condition}: {judged})")
    if exact := tolerance_text(e):
        phrases.append(f"(bounds of the exact value: {exact})")
    remark = remarks_text(e)
    return " ".join(phrases) + (f" ({remark})" if remark else "")


def curve_sentence(curve: Curve) -> str:
    """Return a description of a curve.

    An example is ``ROC of forest: 61 points of True positive rate against False positive rate``.
    """
    names = [shorten_name(name) for name in (curve.series, curve.system, curve.output) if name]
    suffix = f" of {', '.join(names)}" if names else ""
    axes = f"{shorten_name(curve.y_label)} against {shorten_name(curve.x_label)}"
    if curve.shape == "point" and len(curve):
        return f"{shorten_name(curve.kind)}{suffix}: {curve.y[0]:.4g} at {curve.x[0]:.4g}, {axes}"
    band = ""
    if len(curve.low):
        band = f", {numbers.format_percent(curve.level)} band by {method_text(curve.method)}"
    points = numbers.format_count(len(curve), "points")
    return f"{shorten_name(curve.kind)}{suffix}: {points} of {axes}{band}"
