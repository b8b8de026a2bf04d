"""Slices that differ from the rest, and systems that cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from calipers.findings.formatting import (
    IntervalNumber,
    format_first,
    quoted,
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

#: No more pairs of systems are named one by one.
MOST_PAIRS = 6
#: No more rows or topics than this are named.
MOST_NEEDED = 1e9


@dataclass(frozen=True, eq=False)
class ComparisonResults:
    """Systems with one another, and slices with the rest, where there are any."""

    comparison: Comparison | None
    slices: Slices | None = None


@rule("slices-differ", "caution", ComparisonResults, cost="results")
def slices_differ(_: Subject, compared: ComparisonResults) -> Iterator[Claim]:
    """On the leading measure a slice differs from the rest: the p-value, adjusted for the number of
    slices, is small, and the interval of the difference leaves out 0."""
    directed = [one for one in compared.slices or () if one.to_rest.higher_is_better is not None]
    by_column: dict[tuple[str, str], list[SliceEstimate]] = {}
    for one in directed:
        if one.estimate.measure == directed[0].estimate.measure:
            by_column.setdefault((one.estimate.system, one.column), []).append(one)
    for (system, column), found in by_column.items():
        # Adjusted for the slices of the column and the measure already.
        p = {one.slice: one.to_rest.p_adjusted for one in found if outcome(one.to_rest).decided}
        known = any(not math.isnan(one.to_rest.p_adjusted) for one in found)
        differing = [one for one in found if one.slice in p]
        yield Claim(
            min(p.values(), default=1.0 if known else math.nan),
            partial(_slices_differ, system, column, differing),
        )


def _slices_differ(system: str, column: str, differing: Sequence[SliceEstimate]) -> FindingDraft:
    measure = differing[0].estimate.measure
    values: dict[str, float | IntervalNumber] = {}
    texts = []
    for one in differing:
        name, by = quoted(one.slice), IntervalNumber.of(one.to_rest)
        values |= {f"difference of {name}": by, f"adjusted p of {name}": one.to_rest.p_adjusted}
        texts.append(f"{name} by {by:+}")
    return FindingDraft(
        f"{system_name(system)} is not the same everywhere: by {shorten_name(column)}, its "
        f"{shorten_name(measure)} "
        f"differs from that of the rest for {format_first(texts)}.",
        values,
        (measure,),
        systems=(system,),
        about=column,
    )


@rule("slices-reverse", "caution", ComparisonResults, cost="results")
def slices_reverse(_: Subject, compared: ComparisonResults) -> Iterator[Claim]:
    """On the leading measure one of two systems is told to be better, but has the worse value in
    every slice of a column; and the interval of the mean difference within slices, by their
    numbers of rows and as if the two were independent, leaves out 0."""
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
                    yield _reversed(d, column, both)


def _reversed(d: Difference, column: str, both: list[tuple[str, Estimate, Estimate]]) -> Claim:
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
    # Both have to be shown: that the systems differ, and that they differ the other way within.
    p = max(d.p_adjusted, p_of_limits(inside, 0.0, both[0][1].level))
    return Claim(p, partial(_told_reversed, d, column, both, inside))


def _told_reversed(
    d: Difference, column: str, both: list[tuple[str, Estimate, Estimate]], inside: IntervalNumber
) -> FindingDraft:
    higher, lower = (d.system, d.baseline) if d.value > 0 else (d.baseline, d.system)
    listed = format_first(
        f"{quoted(name)} ({format_number(a.value)} and {format_number(b.value)})"
        for name, a, b in both
    )
    over_all = f"over all {both[0][1].unit}"
    return FindingDraft(
        f"{over_all.capitalize()} {shorten_name(higher)} has the higher {shorten_name(d.measure)}, "
        "but by "
        f"{shorten_name(column)} {shorten_name(lower)} has it in every slice: {listed} for "
        f"{shorten_name(d.system)} and "
        f"{shorten_name(d.baseline)}. What tells the two apart {over_all} is how they do between "
        "slices, "
        "not within them.",
        {"difference": IntervalNumber.of(d), "mean difference within slices": inside},
        (d.measure,),
        systems=(d.system, d.baseline),
        about=column,
    )


@rule("not-told-apart", "information", ComparisonResults, cost="results")
def not_told_apart(_: Subject, compared: ComparisonResults) -> Iterator[FindingDraft]:
    """On the leading measure the adjusted p-value of two systems is not small, or the interval of
    their difference contains 0."""
    comparison = compared.comparison
    if comparison is None:
        return
    undecided = [
        d
        for d in primary_differences(comparison)
        if outcome(d) is Outcome.NOT_TOLD_APART and d.has_interval and d.detectable > 0
    ]
    if len(list_systems(comparison)) > MANY_SYSTEMS and len(undecided) > MOST_PAIRS:
        return  # no few pairs stand for all; what ranks the systems says which are alike
    for d in undecided[:MOST_PAIRS]:
        yield _not_told_apart(d)
    if len(undecided) > MOST_PAIRS:
        more, measure = len(undecided) - MOST_PAIRS, undecided[0].measure
        yield FindingDraft(
            f"No significant difference on {shorten_name(measure)} between a further "
            f"{format_count(more, 'pairs')} of systems.",
            {"pairs": more},
            (measure,),
            undecided[0].level,
        )


def _not_told_apart(d: Difference) -> FindingDraft:
    """What difference is detectable falls with the root of the number of units."""
    reach = d.detectable
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
        more = (
            f"; to find one as small as this, about {round_count(needed)} like them would be needed"
        )
    return FindingDraft(
        f"No significant difference between {shorten_name(d.system)} and "
        f"{shorten_name(d.baseline)} on "
        f"{shorten_name(d.measure)}: {difference:+}. {format_count(d.n, d.unit)} find a difference "
        "of "
        f"{format_detectable(reach)} four times in five{more}.",
        values,
        (d.measure,),
        d.level,
        systems=(d.system, d.baseline),
    )
