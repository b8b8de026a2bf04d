"""Findings on comparisons: differences of slices, and differences that are not significant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from calipers.findings.formatting import (
    IntervalNumber,
    format_first,
    quote,
    round_count,
    system_name,
)
from calipers.findings.rules import Claim, FindingDraft, Subject, p_from_interval, rule
from calipers.lazy_dataclasses import dataclass
from calipers.report.headlines import MAX_UNRANKED_SYSTEMS, list_systems, primary_differences
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import shorten_name
from calipers.report.verdict import Outcome, format_detectable, outcome

if TYPE_CHECKING:
    from calipers.results import Comparison, Difference, Estimate, SliceEstimate, Slices

#: The largest number of pairs of systems that have a finding each.
MAX_PAIRS = 6
#: The largest sample size that is recommended, and its largest ratio to that of the data: beyond
#: it, the observed difference says nothing about the true one.
MAX_RECOMMENDED_N, MAX_RECOMMENDED_RATIO = 1e9, 1000


@dataclass(frozen=True, eq=False)
class ComparisonResults:
    """Comparison of systems, and that of slices with all other rows, if there are any."""

    comparison: Comparison | None
    slices: Slices | None = None


@rule("slices-differ", "caution", ComparisonResults, cost="results")
def slices_differ(_: Subject, results: ComparisonResults) -> Iterator[Claim]:
    """On the leading measure, a slice differs significantly from all other rows.

    Its p-value, adjusted for the number of slices, is at most one minus the level, and the interval
    of the difference excludes 0.
    """
    directed = [
        slice_estimate
        for slice_estimate in results.slices or ()
        if slice_estimate.vs_rest.higher_is_better is not None
    ]
    by_column: dict[tuple[str, str], list[SliceEstimate]] = {}
    for slice_estimate in directed:
        if slice_estimate.estimate.measure == directed[0].estimate.measure:
            by_column.setdefault(
                (slice_estimate.estimate.system, slice_estimate.column), []
            ).append(slice_estimate)
    for (system, column), estimates in by_column.items():
        # Adjusted for the slices of the column and the measure already.
        p = {
            slice_estimate.slice: slice_estimate.vs_rest.p_adjusted
            for slice_estimate in estimates
            if outcome(slice_estimate.vs_rest).is_significant
        }
        has_p_values = any(
            not math.isnan(slice_estimate.vs_rest.p_adjusted) for slice_estimate in estimates
        )
        differing = [slice_estimate for slice_estimate in estimates if slice_estimate.slice in p]
        yield Claim(
            min(p.values(), default=1.0 if has_p_values else math.nan),
            partial(_slices_message, system, column, differing),
        )


def _slices_message(system: str, column: str, differing: Sequence[SliceEstimate]) -> FindingDraft:
    measure = differing[0].estimate.measure
    values: dict[str, float | IntervalNumber] = {}
    clauses: list[str] = []
    for slice_estimate in differing:
        name, difference = (
            quote(slice_estimate.slice),
            IntervalNumber.from_estimate(slice_estimate.vs_rest),
        )
        values |= {
            f"difference of {name}": difference,
            f"adjusted p of {name}": slice_estimate.vs_rest.p_adjusted,
        }
        clauses.append(
            f"{name} {'' if clauses else 'differs from all other rows '}by {difference:+}"
        )
    return FindingDraft(
        f"{shorten_name(measure)} of {system_name(system)} differs between slices of "
        f"{shorten_name(column)}: {format_first(clauses)}. Report it by {shorten_name(column)}.",
        values,
        (measure,),
        systems=(system,),
        aspect=column,
    )


@rule("simpsons-paradox", "caution", ComparisonResults, cost="results")
def simpsons_paradox(_: Subject, compared: ComparisonResults) -> Iterator[Claim]:
    """One of two systems is significantly better overall, but worse in every slice of a column.

    Overall it is better on the leading measure, in every slice it has the worse value, and the
    interval of the mean difference within slices (those with intervals, weighted by their numbers
    of rows, systems taken as independent) excludes 0.
    """
    if not compared.comparison or not compared.slices:
        return
    estimates_by_column: dict[str, dict[str, dict[str, Estimate]]] = {}
    leading = next(iter(compared.comparison)).measure
    for slice_estimate in compared.slices:
        estimate = slice_estimate.estimate
        if estimate.measure == leading and not math.isnan(estimate.value):
            estimate_by_system = estimates_by_column.setdefault(
                slice_estimate.column, {}
            ).setdefault(slice_estimate.slice, {})
            estimate_by_system[estimate.system] = estimate
    for difference in compared.comparison:
        if difference.measure == leading:
            for column, by_slice in estimates_by_column.items():
                pairs = [
                    (name, by_system[difference.system], by_system[difference.baseline])
                    for name, by_system in by_slice.items()
                    if difference.system in by_system and difference.baseline in by_system
                ]
                if (
                    sum(first.has_interval and second.has_interval for _, first, second in pairs)
                    > 1
                ):
                    yield _reversal_claim(difference, column, pairs)


def _reversal_claim(
    difference: Difference, column: str, pairs: list[tuple[str, Estimate, Estimate]]
) -> Claim:
    if not (
        outcome(difference).is_significant
        and all((first.value - second.value) * difference.value < 0 for _, first, second in pairs)
    ):
        return Claim(1.0)
    with_intervals = [
        (first, second) for _, first, second in pairs if first.has_interval and second.has_interval
    ]
    contrasts = [
        IntervalNumber.from_estimate(first) - IntervalNumber.from_estimate(second)
        for first, second in with_intervals
    ]
    rows = [first.n for first, _ in with_intervals]
    proportions = [n / sum(rows) for n in rows]
    mean = sum(
        proportion * contrast.value
        for proportion, contrast in zip(proportions, contrasts, strict=True)
    )
    below, above = (
        math.hypot(
            *(
                proportion * (x - contrast.value)
                for proportion, contrast, x in zip(proportions, contrasts, limits, strict=True)
            )
        )
        for limits in (
            [contrast.low for contrast in contrasts],
            [contrast.high for contrast in contrasts],
        )
    )
    mean_difference = IntervalNumber(mean, mean - below, mean + above)
    # Both must be significant: the overall difference, and the opposite one within slices.
    p = max(
        difference.p_adjusted, p_from_interval(mean_difference, 0.0, with_intervals[0][0].level)
    )
    return Claim(p, partial(_reversal_message, difference, column, pairs, mean_difference))


def _reversal_message(
    difference: Difference,
    column: str,
    pairs: list[tuple[str, Estimate, Estimate]],
    mean_difference: IntervalNumber,
) -> FindingDraft:
    higher, lower = (
        (difference.system, difference.baseline)
        if difference.value > 0
        else (difference.baseline, difference.system)
    )
    listed = format_first(
        f"{quote(name)} ({format_number(a.value)} and {format_number(b.value)})"
        for name, a, b in pairs
    )
    overall = IntervalNumber.from_estimate(difference)
    ahead, behind = (
        (overall, -mean_difference) if difference.value > 0 else (-overall, mean_difference)
    )
    return FindingDraft(
        f"Simpson's paradox: over all {pairs[0][1].unit}, {shorten_name(higher)} has the higher "
        f"{shorten_name(difference.measure)}, by {ahead:+}; in every slice of "
        f"{shorten_name(column)}, {shorten_name(lower)} has the higher one, on average by "
        f"{behind:+}. The values of {shorten_name(difference.system)} and "
        f"{shorten_name(difference.baseline)} are: {listed}. Compare the systems within slices.",
        {"difference": overall, "mean difference within slices": mean_difference},
        (difference.measure,),
        systems=(difference.system, difference.baseline),
        aspect=column,
    )


@rule("no-significant-difference", "information", ComparisonResults, cost="results")
def no_significant_difference(_: Subject, compared: ComparisonResults) -> Iterator[FindingDraft]:
    """Two systems do not differ significantly on the primary measure.

    The p-value of the difference (adjusted, if there are several pairs) exceeds the significance
    level, or the confidence interval of the difference contains 0.
    """
    comparison = compared.comparison
    if comparison is None:
        return
    nonsignificant = [
        difference
        for difference in primary_differences(comparison)
        if outcome(difference) is Outcome.NOT_SIGNIFICANT
        and difference.has_interval
        and difference.min_detectable > 0
    ]
    if len(list_systems(comparison)) > MAX_UNRANKED_SYSTEMS and len(nonsignificant) > MAX_PAIRS:
        return  # a few pairs do not represent all; the ranking shows which are similar
    for difference in nonsignificant[:MAX_PAIRS]:
        yield _no_difference_message(difference)
    if len(nonsignificant) > MAX_PAIRS:
        n_others, measure = len(nonsignificant) - MAX_PAIRS, nonsignificant[0].measure
        yield FindingDraft(
            f"For {format_count(n_others, 'further pairs')} of systems the difference in "
            f"{shorten_name(measure)} is not significant either.",
            {"pairs": n_others},
            (measure,),
            nonsignificant[0].level,
        )


def _no_difference_message(difference: Difference) -> FindingDraft:
    """Return the finding that a difference is not significant, with the required sample size.

    The required number follows from a detectable difference proportional to 1/√n.
    """
    from calipers.inference.fixed_cases import METHOD

    detectable = difference.min_detectable
    observed = IntervalNumber.from_estimate(difference)
    values: dict[str, float | IntervalNumber] = {
        "difference": observed,
        difference.unit: difference.n,
        "detectable difference (80% power)": detectable,
    }
    required_n = (
        difference.n * (detectable / abs(difference.value)) ** 2 if difference.value else math.inf
    )
    size_note, judged = "", difference.judged
    labels = "" if judged is None else f", {judged.n_human:,} of them with human labels,"
    ratio = required_n / difference.n
    if difference.method == METHOD:
        # Of fixed cases there are no more; more samples of each shorten the interval as well.
        if 1 < ratio < MAX_RECOMMENDED_RATIO:
            values["samples needed, as a multiple"] = ratio
            size_note = (
                f"; if the true difference equaled the observed one, about {ratio:.2g} times as "
                "many samples of each case would be needed for 80% power"
            )
    elif difference.n < required_n < min(MAX_RECOMMENDED_N, MAX_RECOMMENDED_RATIO * difference.n):
        values[f"{difference.unit} needed"] = float(math.ceil(required_n))
        in_proportion = "" if judged is None else ", with as many labels in proportion,"
        size_note = (
            f"; if the true difference equaled the observed one, about {round_count(required_n)} "
            f"{difference.unit}{in_proportion} would be needed for 80% power"
        )
    return FindingDraft(
        f"The difference in {shorten_name(difference.measure)} between "
        f"{shorten_name(difference.system)} and {shorten_name(difference.baseline)} is not "
        f"significant ({observed:+}). With {format_count(difference.n, difference.unit)}"
        f"{labels or ','} a difference of {format_detectable(detectable)} is detectable with 80% "
        f"power{size_note}.",
        values,
        (difference.measure,),
        difference.level,
        systems=(difference.system, difference.baseline),
    )
