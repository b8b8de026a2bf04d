"""Rows of the tables of estimates and differences, rounded and safe to display."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calipers.lazy_dataclasses import dataclass
from calipers.report import numbers
from calipers.report.grouping import group_by
from calipers.report.safe_names import escape_unprintable, method_text, shorten_name, unique_labels
from calipers.report.verdict import (
    Outcome,
    format_detectable,
    homogeneous_groups_text,
    outcome,
    undefined_reasons,
)
from calipers.results import (
    INTERVAL_REASONS,
    Comparison,
    Definition,
    Difference,
    Estimate,
    Evaluation,
    Finding,
)
from calipers.results.finding import find_definition

#: Units that were given scores, for some of which there may be none.
CASES = "cases"


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """Cells of one estimate."""

    estimate: Estimate
    measure: str
    system: str
    value: str
    interval: str
    judgments: str
    unscored: str
    bounds: str
    method: str
    n: str
    no_skill: str
    optimism: str
    pooled: str
    human_only: str
    judge_only: str
    worth: str
    remarks: str


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """Cells of one difference."""

    difference: Difference
    outcome: Outcome
    measure: str
    systems: str
    value: str
    interval: str
    p: str
    test: str
    effect_size: str
    counts: str
    min_detectable: str
    margin: str
    p_noninferiority: str
    p_equivalence: str
    human_only: str
    judge_only: str
    worth: str
    remarks: str


#: The headings of the table of omnibus tests.
OMNIBUS_HEADINGS = (
    "measure", "units", "Friedman F", "p", "ANOVA F", "p (ANOVA)", "ω²", "homogeneous groups",
)  # fmt: skip


def estimate_rows(evaluation: Evaluation) -> list[EstimateRow]:
    """Return the rows of all systems on the first measure, then on the second, and so on."""
    systems = unique_labels(evaluation.systems)
    rows = []
    for group in group_by(evaluation, lambda e: e.measure).values():
        digits = numbers.rounding((e.value, e.low, e.high) for e in group)
        rows += [estimate_row(e, digits, systems[e.system]) for e in group]
    return rows


def estimate_row(e: Estimate, digits: numbers.Rounding, system: str) -> EstimateRow:
    """Return the cells of one estimate, with the rounding of its group."""
    return EstimateRow(
        estimate=e,
        measure=shorten_name(e.measure),
        system=system,
        value=digits(e.value),
        interval=digits.format_interval(e.low, e.high),
        judgments="" if e.unit == CASES else judgment_bounds_text(e, digits),
        unscored=judgment_bounds_text(e, digits) if e.unit == CASES else "",
        bounds=tolerance_text(e),
        method=method_text(e.method) if e.has_interval else "",
        n=n_used_text(e.n, e.n_total),
        no_skill="" if math.isnan(e.no_skill) else digits(e.no_skill),
        optimism=optimism_text(e),
        pooled="" if math.isnan(e.pooled) else digits(e.pooled),
        human_only=human_only_text(e),
        judge_only=judge_only_text(e),
        worth=worth_text(e),
        remarks=remarks_text(e),
    )


def human_only_text(result: Estimate | Difference) -> str:
    """Return the value by the human labels alone, with its interval; empty if there are none."""
    if result.judged is None:
        return ""
    j = result.judged
    triple = j.human_only, j.human_only_low, j.human_only_high
    is_difference = isinstance(result, Difference)
    return numbers.rounding([triple], keep_sign=is_difference).value_with_interval(*triple)


def judge_only_text(result: Estimate | Difference) -> str:
    """Return the value by the judge alone; empty without human labels."""
    if result.judged is None:
        return ""
    j, is_difference = result.judged, isinstance(result, Difference)
    digits = numbers.rounding([(result.value, result.low, result.high)], keep_sign=is_difference)
    return digits(j.judge_only)


def worth_text(result: Estimate | Difference) -> str:
    """Return the number of labels that are as precise without the judge, of those there are."""
    j = result.judged
    return "" if j is None or math.isnan(j.worth) else f"{j.worth:,.0f} (of {j.n_human:,})"


def optimism_text(e: Estimate) -> str:
    """Return the optimism with its interval, such as ``0.031 [-0.020, 0.082]``.

    It is the value minus that on rows that were not used to choose the threshold; it is empty if no
    rule chose one.
    """
    low, high = e.optimism_low, e.optimism_high
    digits = numbers.rounding([(e.optimism, low, high)], keep_sign=True)
    return "" if math.isnan(e.out_of_bag) else digits.value_with_interval(e.optimism, low, high)


def judgment_bounds_text(e: Estimate, digits: numbers.Rounding) -> str:
    """Return the bounds for missing judgments or scores, such as ``[0.21, 0.57]``.

    Outer bounds, which may be wider than necessary, are marked.
    """
    if e.unit == "rows":
        return ""
    interval = digits.format_interval(e.lower_bound, e.upper_bound)
    return f"within {interval}" if interval and e.bounds_kind != "sharp" else interval


def tolerance_text(e: Estimate) -> str:
    """Return bounds of the exact value of rows, such as ``[0.912345, 0.912346]``.

    They are written to the digit in which they differ; empty if the value is exact.
    """
    if e.unit != "rows" or not e.bounds_kind:
        return ""
    return numbers.rounding([(math.nan, e.lower_bound, e.upper_bound)]).format_interval(
        e.lower_bound, e.upper_bound
    )


def n_used_text(n: int, n_total: int) -> str:
    """Return ``50``, or ``48 of 50`` if some units were not used."""
    return f"{n:,}" if n_total in (0, n) else f"{n:,} of {n_total:,}"


def unit_label(evaluation: Evaluation) -> str:
    """Return the heading of ``n``: the unit of the estimates if it is the same for all."""
    units = {e.unit for e in evaluation.estimates}
    return shorten_name(units.pop()) if len(units) == 1 else "n"


def remarks_text(result: Estimate | Difference) -> str:
    """Return the reasons why units, the value or the interval are missing."""
    reasons = [*map(escape_unprintable, undefined_reasons(result))]
    if result.interval_reason is not None and not result.has_interval:
        reason = INTERVAL_REASONS.get(result.interval_reason, result.interval_reason)
        reasons.append(f"no interval: {shorten_name(reason)}")
    if isinstance(result, Estimate):
        reasons += _threshold_texts(result)
    return "; ".join(reasons)


def _threshold_texts(e: Estimate) -> list[str]:
    """Return the threshold at which the value is attained."""
    phrases = []
    if math.isinf(e.threshold):
        phrases.append("only without positive predictions")
    elif not math.isnan(e.threshold):
        phrases.append(f"at threshold {e.threshold:.4g}")
    return phrases


def difference_rows(comparison: Comparison) -> list[DifferenceRow]:
    """Return a row per difference."""
    systems = unique_labels(name for d in comparison for name in (d.system, d.baseline))
    return [
        difference_row(
            d,
            numbers.rounding([(d.value, d.low, d.high)], keep_sign=True),
            f"{systems[d.system]} - {systems[d.baseline]}",
        )
        for d in comparison
    ]


def difference_row(d: Difference, digits: numbers.Rounding, systems: str = "") -> DifferenceRow:
    """Return the cells of one difference, with a given rounding."""
    difference_outcome, has_detectable = outcome(d), not math.isnan(d.min_detectable)
    return DifferenceRow(
        difference=d,
        outcome=difference_outcome,
        measure=shorten_name(d.measure),
        systems=systems,
        value=digits(d.value),
        interval=digits.format_interval(d.low, d.high),
        p=numbers.format_p_digits(d.p_adjusted),
        test="" if d.test == "none" else method_text(d.test),
        effect_size="" if math.isnan(d.effect_size) else f"{d.effect_size:.2f}",
        counts=_counts_text(d),
        # The minimum detectable difference, if the difference is not significant.
        min_detectable=format_detectable(d.min_detectable)
        if difference_outcome is Outcome.NOT_SIGNIFICANT and has_detectable
        else "",
        margin="" if math.isnan(d.margin) else f"±{d.margin:g}",
        p_noninferiority=""
        if math.isnan(d.margin)
        else numbers.format_p_digits(d.p_noninferiority),
        p_equivalence="" if math.isnan(d.margin) else numbers.format_p_digits(d.p_equivalence),
        human_only=human_only_text(d),
        judge_only=judge_only_text(d),
        worth=worth_text(d),
        remarks=remarks_text(d),
    )


def omnibus_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return a row of omnibus tests per measure, with homogeneous groups of systems."""
    return [
        (
            shorten_name(o.measure),
            numbers.format_count(o.n, shorten_name(o.unit)),
            _statistic(o.friedman_f),
            numbers.format_p_digits(o.friedman_p),
            _statistic(o.anova_f),
            numbers.format_p_digits(o.anova_p),
            "–" if math.isnan(o.omega_squared) else f"{o.omega_squared:.3f}",
            homogeneous_groups_text(o),
        )
        for o in comparison.omnibus
    ]


def _statistic(f: float) -> str:
    if math.isnan(f):
        return "–"
    return f"{f:.2f}" if math.isfinite(f) else "∞"


def _counts_text(d: Difference) -> str:
    if d.wins is None or d.ties is None or d.losses is None:
        return ""
    return f"{d.wins:,}/{d.ties:,}/{d.losses:,}"


def direction_arrow(definition: Definition | None) -> str:
    """Return ``↑`` if higher is better, ``↓`` if lower is better, and nothing otherwise."""
    if definition is None or definition.higher_is_better is None:
        return ""
    return "↑" if definition.higher_is_better else "↓"


def severity_prefix(finding: Finding) -> str:
    """Return ``Warning: ``, ``Caution: ``, or nothing."""
    return "" if finding.severity == "information" else f"{finding.severity.capitalize()}: "


#: The largest number of similar findings on pairs of systems that are reported separately.
MAX_SIMILAR = 3
#: The largest number of findings of a kind, about different aspects, with a sentence each.
MAX_FINDINGS_OF_KIND = 6


def deduplicate_findings(findings: Sequence[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """Return the findings, each with similar ones of other systems.

    Findings are similar if they are about the same class or the same column of slices, in the same
    direction.
    """
    result: list[tuple[Finding, list[Finding]]] = []
    for kind in group_by(findings, lambda f: (f.kind, len(f.systems))).values():
        groups: list[tuple[Finding, list[Finding]]] = []
        for similar in group_by(kind, lambda f: f.aspect).values():
            n_systems = len(similar[0].systems)
            if n_systems == 1 or (n_systems and len(similar) > MAX_SIMILAR):
                groups.append((similar[0], similar[1:]))
            else:
                groups += [(finding, []) for finding in similar]
        if kind[0].systems and kind[0].aspect and len(groups) > MAX_FINDINGS_OF_KIND:
            groups, others = groups[:MAX_SIMILAR], groups[MAX_SIMILAR:]
            groups[-1][1].extend(
                finding for first, similar in others for finding in (first, *similar)
            )
        result += groups
    index_by_id = {id(finding): i for i, finding in enumerate(findings)}
    return sorted(result, key=lambda pair: index_by_id[id(pair[0])])


#: The largest number of systems listed for one finding; more are counted.
MAX_LISTED_SYSTEMS = 12


def finding_text(
    finding: Finding, similar: Sequence[Finding], max_listed: int = MAX_LISTED_SYSTEMS
) -> str:
    """Return the sentence of a finding, and the systems that a similar finding is about."""
    if not similar:
        return escape_unprintable(finding.message)
    subjects = [
        " and ".join(map(shorten_name, similar_finding.systems))
        + (f" on '{shorten_name(similar_finding.output)}'" if similar_finding.output else "")
        + (
            f" ({shorten_name(similar_finding.aspect)})"
            if similar_finding.aspect != finding.aspect
            else ""
        )
        for similar_finding in similar
    ]
    separator = "; " if len(similar[0].systems) > 1 else ", "
    remainder = (
        f"{separator}and {len(subjects) - max_listed} more" if len(subjects) > max_listed else ""
    )
    listed = separator.join(subjects[:max_listed])
    return f"{escape_unprintable(finding.message)} Likewise: {listed}{remainder}."


def finding_values(finding: Finding) -> list[tuple[str, str]]:
    """Return the values of a finding, each with the digits that its interval supports."""
    out = []
    for name, value in finding.values.items():
        low, high = finding.intervals.get(name, (math.nan, math.nan))
        digits = numbers.rounding([(value, low, high)], keep_sign=True)
        text = digits.value_with_interval(value, low, high)
        if name.startswith("detectable difference"):
            text = format_detectable(value)  # as in the sentence
        out.append((escape_unprintable(name), text))
    return out


#: What has no skill, by the unit of the values; of others, the best constant prediction.
_NO_SKILL_REFERENCES = {"groups": "equal scores of all rows", "points": "a single cluster"}


def no_skill_reference(unit: str) -> str:
    """Return what a value is compared with that any system should exceed."""
    return _NO_SKILL_REFERENCES.get(unit, "best constant prediction")


def no_skill_explanation(unit: str) -> str:
    """Return the explanation of a column of values without skill."""
    explanations = {
        "groups": "Value for equal scores of all rows (the mean over all orders)",
        "points": "Value for a single cluster of all points",
    }
    return f"{explanations.get(unit, 'Value of the best constant prediction')}; dashed in the plot"


def definitions_by_measure(evaluation: Evaluation) -> dict[str, Definition]:
    """Return the definitions of measures that have one.

    A result that was read without its details has those of the measures with these names.
    """
    if evaluation.definitions:
        return {d.measure: d for d in evaluation.definitions}
    task = evaluation.provenance.get("task")
    definitions = {name: find_definition(name, task) for name in evaluation.measures}
    return {name: d for name, d in definitions.items() if d is not None}


def range_text(definition: Definition) -> str:
    """Return the range of a measure: ``0 to 1``, ``from 0 up``, ``any number``."""
    low, high = definition.range
    if low is None and high is None:
        return "any number"
    if high is None:
        return f"from {low:g} up"
    if low is None:
        return f"up to {high:g}"
    return f"{low:g} to {high:g}"


def direction_text(definition: Definition) -> str:
    """Return the direction of a measure, such as ``higher is better``."""
    if definition.higher_is_better is None:
        return "neither higher nor lower is better"
    return "higher is better" if definition.higher_is_better else "lower is better"


def provenance_rows(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the provenance as rows, with nested keys joined by a middle dot."""
    return list(_flatten("", provenance))


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and len(value) > 1 and _are_equal_numbers(value.values()):
        value = f"{next(iter(value.values()))} (all {len(value)})"
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            name = shorten_name(key)
            yield from _flatten(f"{prefix} · {name}" if prefix else name, inner)
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        for record in value:  # the inputs: each by its name
            name = shorten_name(record.get("name", ""))
            facts = (f"{key} {inner}" for key, inner in record.items() if key != "name")
            yield f"{prefix} · {name}", escape_unprintable(", ".join(facts)) or "from memory"
    elif isinstance(value, list | tuple):
        yield prefix, ", ".join(escape_unprintable(v) for v in value) or "none"
    else:
        yield prefix, "none" if value is None else escape_unprintable(value)


def _are_equal_numbers(values: Iterable[Any]) -> bool:
    """Return whether values are the same number, such as the threshold of all systems."""
    first, *others = values
    is_number = isinstance(first, float | int) and not isinstance(first, bool)
    return is_number and all(type(v) is type(first) and v == first for v in others)


def report_heading(evaluation: Evaluation) -> str:
    """Return the heading of a report, such as ``Retrieval: 2 systems, 8 measures``."""
    if evaluation.judge_biases:  # of each system, and of all of them if there are several
        n_systems = numbers.format_count(max(len(evaluation.systems) - 1, 1), "systems")
        n_labels = numbers.format_count(max(e.n for e in evaluation), "labels")
        return f"Judge: {n_systems}, {n_labels}"
    systems, measures = evaluation.systems, len(evaluation.measures)
    kind = "pairs of runs" if evaluation.task == "overlap" else "systems"
    systems_text = f"{len(systems)} {kind}" if len(systems) != 1 else shorten_name(systems[0])
    measures_text = f"{measures} measure" + ("" if measures == 1 else "s")
    task = escape_unprintable(evaluation.task)
    return f"{task[:1].upper()}{task[1:]}: {', '.join(filter(None, (systems_text, measures_text)))}"


def comparison_heading(comparison: Comparison) -> str:
    """Return the heading of a comparison: ``Comparison: 5 systems, 2 measures, against bm25``."""
    systems = {name for d in comparison for name in (d.system, d.baseline)}
    measures = {d.measure for d in comparison}
    phrases = [
        numbers.format_count(len(systems), "systems"),
        numbers.format_count(len(measures), "measures"),
    ]
    if comparison.baseline is not None:
        phrases.append(f"against {shorten_name(comparison.baseline)}")
    units = {d.unit for d in comparison}
    if units == {"splits"}:
        phrases.append("over test splits")
    return f"Comparison: {', '.join(phrases)}"
