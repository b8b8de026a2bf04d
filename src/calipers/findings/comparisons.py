"""Findings on comparisons: differences of slices, and differences that are not significant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from calipers.findings.formatting import (
    IntervalNumber,
    format_first,
    quote,
    round_count,
    system_name,
)
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_limits, rule
from calipers.report.headlines import MANY_SYSTEMS, list_systems, primary_differences
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import shorten_name
from calipers.report.verdict import Outcome, format_detectable, outcome

if TYPE_CHECKING:
    from calipers.results import Comparison, Difference, Estimate, SliceEstimate, Slices

#: The largest number of pairs of systems that have a finding each.
MOST_PAIRS = 6
#: The largest sample size that is recommended.
MOST_NEEDED = 1e9


@dataclass(frozen=True, eq=False)
class ComparisonResults:
    """Comparison of systems, and that of slices with all other rows, if there are any."""

    comparison: Comparison | None
    slices: Slices | None = None


@rule("slices-differ", "caution", ComparisonResults, cost="results")
def slices_differ(_: Subject, compared: ComparisonResults) -> Iterator[Claim]:
    """On the leading measure, a slice differs significantly from all other rows.

    Its p-value, adjusted for the number of slices, is at most one minus the level, and the interval
    of the difference excludes 0.
    """
    directed = [one for one in compared.slices or () if one.vs_rest.higher_is_better is not None]
    by_column: dict[tuple[str, str], list[SliceEstimate]] = {}
    for one in directed:
        if one.estimate.measure == directed[0].estimate.measure:
            by_column.setdefault((one.estimate.system, one.column), []).append(one)
    for (system, column), found in by_column.items():
        # Adjusted for the slices of the column and the measure already.
        p = {one.slice: one.vs_rest.p_adjusted for one in found if outcome(one.vs_rest).decided}
        known = any(not math.isnan(one.vs_rest.p_adjusted) for one in found)
        differing = [one for one in found if one.slice in p]
        yield Claim(
            min(p.values(), default=1.0 if known else math.nan),
            partial(_slices_differ, system, column, differing),
        )


def _slices_differ(system: str, column: str, differing: Sequence[SliceEstimate]) -> FindingDraft:
    measure = differing[0].estimate.measure
    values: dict[str, float | IntervalNumber] = {}
    texts: list[str] = []
    for one in differing:
        name, by = quote(one.slice), IntervalNumber.of(one.vs_rest)
        values |= {f"difference of {name}": by, f"adjusted p of {name}": one.vs_rest.p_adjusted}
        texts.append(f"{name} {'' if texts else 'differs from all other rows '}by {by:+}")
    return FindingDraft(
        f"{shorten_name(measure)} of {system_name(system)} differs between slices of "
        f"{shorten_name(column)}: "
        f"{format_first(texts)}. Report it by {shorten_name(column)}.",
        values,
        (measure,),
        systems=(system,),
        about=column,
    )


@rule("simpsons-paradox", "caution", ComparisonResults, cost="results")
def slices_reverse(_: Subject, compared: ComparisonResults) -> Iterator[Claim]:
    """One of two systems is significantly better overall, but worse in every slice of a column.

    Overall it is better on the leading measure, in every slice it has the worse value, and the
    interval of the mean difference within slices (weighted by their numbers of rows, systems taken
    as independent) excludes 0.
    """
    if compared.comparison is None or not compared.slices:
        return
    within: dict[str, dict[str, dict[str, Estimate]]] = {}
    leading = next(iter(compared.comparison)).measure
    for one in compared.slices:
        if one.estimate.measure == leading and one.estimate.has_interval:
            of_slice = within.setdefault(one.column, {}).setdefault(one.slice, {})
            of_slice[one.estimate.system] = one.estimate
    for d in compared.comparison:
        if d.measure == leading:
            for column, by_slice in within.items():
                both = [
                    (name, of[d.system], of[d.baseline])
                    for name, of in by_slice.items()
                    if d.system in of and d.baseline in of
                ]
                if len(both) > 1:
                    yield _reversal_claim(d, column, both)


def _reversal_claim(
    d: Difference, column: str, both: list[tuple[str, Estimate, Estimate]]
) -> Claim:
    gaps = [IntervalNumber.of(first) - IntervalNumber.of(second) for _, first, second in both]
    if not (outcome(d).decided and all(gap.value * d.value < 0 for gap in gaps)):
        return Claim(1.0)
    rows = [first.n for _, first, _ in both]
    shares = [n / sum(rows) for n in rows]
    mean = sum(share * gap.value for share, gap in zip(shares, gaps, strict=True))
    below, above = (
        math.hypot(
            *(share * (x - gap.value) for share, gap, x in zip(shares, gaps, ends, strict=True))
        )
        for ends in ([gap.low for gap in gaps], [gap.high for gap in gaps])
    )
    inside = IntervalNumber(mean, mean - below, mean + above)
    # Both must be significant: the overall difference, and the opposite one within slices.
    p = max(d.p_adjusted, p_of_limits(inside, 0.0, both[0][1].level))
    return Claim(p, partial(_reversal_message, d, column, both, inside))


def _reversal_message(
    d: Difference, column: str, both: list[tuple[str, Estimate, Estimate]], inside: IntervalNumber
) -> FindingDraft:
    higher, lower = (d.system, d.baseline) if d.value > 0 else (d.baseline, d.system)
    listed = format_first(
        f"{quote(name)} ({format_number(a.value)} and {format_number(b.value)})"
        for name, a, b in both
    )
    overall = IntervalNumber.of(d)
    ahead, behind = (overall, -inside) if d.value > 0 else (-overall, inside)
    return FindingDraft(
        f"Simpson's paradox: over all {both[0][1].unit}, {shorten_name(higher)} has the higher "
        f"{shorten_name(d.measure)}, by {ahead:+}; in every slice of {shorten_name(column)}, "
        f"{shorten_name(lower)} has "
        f"the higher one, on average by {behind:+}. The values of {shorten_name(d.system)} and "
        f"{shorten_name(d.baseline)} are: {listed}. Compare the systems within slices.",
        {"difference": overall, "mean difference within slices": inside},
        (d.measure,),
        systems=(d.system, d.baseline),
        about=column,
    )


@rule("no-significant-difference", "information", ComparisonResults, cost="results")
def no_significant_difference(_: Subject, compared: ComparisonResults) -> Iterator[FindingDraft]:
    """Two systems do not differ significantly on the primary measure.

    The adjusted p-value of their difference exceeds one minus the level, or its interval contains
    0.
    """
    comparison = compared.comparison
    if comparison is None:
        return
    undecided = [
        d
        for d in primary_differences(comparison)
        if outcome(d) is Outcome.NOT_TOLD_APART and d.has_interval and d.min_detectable > 0
    ]
    if len(list_systems(comparison)) > MANY_SYSTEMS and len(undecided) > MOST_PAIRS:
        return  # a few pairs do not represent all; the ranking shows which are similar
    for d in undecided[:MOST_PAIRS]:
        yield _no_difference_message(d)
    if len(undecided) > MOST_PAIRS:
        more, measure = len(undecided) - MOST_PAIRS, undecided[0].measure
        yield FindingDraft(
            f"For {format_count(more, 'further pairs')} of systems the difference in "
            f"{shorten_name(measure)} is "
            "not significant either.",
            {"pairs": more},
            (measure,),
            undecided[0].level,
        )


def _no_difference_message(d: Difference) -> FindingDraft:
    """Return the finding that a difference is not significant, with the required sample size.

    The required number follows from a detectable difference proportional to 1/√n.
    """
    reach = d.min_detectable
    difference = IntervalNumber.of(d)
    values: dict[str, float | IntervalNumber] = {
        "difference": difference,
        d.unit: d.n,
        "difference found with 80% power": reach,
    }
    needed = d.n * (reach / abs(d.value)) ** 2 if d.value else math.inf
    more = ""
    if d.n < needed < MOST_NEEDED:
        values[f"{d.unit} needed"] = float(math.ceil(needed))
        more = f"; about {round_count(needed)} {d.unit} would be needed to detect the observed one"
    return FindingDraft(
        f"The difference in {shorten_name(d.measure)} between {shorten_name(d.system)} and "
        f"{shorten_name(d.baseline)} "
        f"is not significant ({difference:+}). With {format_count(d.n, d.unit)}, a difference of "
        f"{format_detectable(reach)} is detectable with 80% power{more}.",
        values,
        (d.measure,),
        d.level,
        systems=(d.system, d.baseline),
    )
