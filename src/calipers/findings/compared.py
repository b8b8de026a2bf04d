"""Slices that differ from the rest, and systems that cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.findings.cells import corrected
from calipers.findings.rules import Said, Subject, rule
from calipers.findings.words import Valued, first, quoted, rough, who
from calipers.inference import intervals
from calipers.report.names import short
from calipers.report.numbers import count, number
from calipers.report.verdict import Outcome, outcome, pairs

if TYPE_CHECKING:
    from calipers.results import Comparison, Difference, Slice, Slices

#: The power at which a number of rows or topics is named.
POWER = 0.8
#: No more pairs of systems are named one by one.
MOST_PAIRS = 6
#: No more rows or topics than this are named.
MOST_NEEDED = 1e9


@dataclass(frozen=True, eq=False)
class Compared:
    """Systems with one another, and slices with the rest, where there are any."""

    comparison: Comparison | None
    slices: Slices | None = None


@rule("slices-differ", "caution", Compared)
def slices_differ(_: Subject, compared: Compared) -> Iterator[Said]:
    """On the leading measure a slice differs from the rest: the p-value, adjusted for the number of
    slices, is small, and the interval of the difference leaves out 0."""
    directed = [one for one in compared.slices or () if one.to_rest.higher_is_better is not None]
    differing: dict[tuple[str, str], list[Slice]] = {}
    for one in directed:
        leading = one.estimate.measure == directed[0].estimate.measure
        if leading and outcome(one.to_rest).decided:
            differing.setdefault((one.estimate.system, one.column), []).append(one)
    for (system, column), found in differing.items():
        measure = directed[0].estimate.measure
        values: dict[str, float | Valued] = {}
        texts = []
        for one in found:
            name, by = quoted(one.slice), Valued.of(one.to_rest)
            values |= {f"difference of {name}": by, f"adjusted p of {name}": one.to_rest.p_adjusted}
            texts.append(f"{name} by {by:+}")
        yield Said(
            f"{who(system)} is not the same everywhere: by {short(column)}, its {short(measure)} "
            f"differs from that of the rest for {first(texts)}.",
            values,
            (measure,),
            systems=(system,),
        )


@rule("not-told-apart", "information", Compared)
def not_told_apart(_: Subject, compared: Compared) -> Iterator[Said]:
    """On the leading measure the adjusted p-value of two systems is not small, or the interval of
    their difference contains 0."""
    comparison = compared.comparison
    if comparison is None:
        return
    undecided = [
        d
        for d, *_ in pairs(comparison).values()  # of each pair that on the leading measure
        if outcome(d) is Outcome.NOT_TOLD_APART and d.has_interval and d.standard_error > 0
    ]
    adjusted = comparison.adjustment != "none"
    for d in undecided[:MOST_PAIRS]:
        tests = sum(other.measure == d.measure for other in comparison)
        yield _not_told_apart(d, tests if adjusted else 1)
    if len(undecided) > MOST_PAIRS:
        more, measure = len(undecided) - MOST_PAIRS, undecided[0].measure
        yield Said(
            f"A further {count(more, 'pairs')} of systems cannot be told apart on "
            f"{short(measure)}.",
            {"pairs": more},
            (measure,),
            undecided[0].level,
        )


def _not_told_apart(d: Difference, tests: int) -> Said:
    """A difference of (z + z_power)·se is found with that power, and se falls with the root of the
    number of units."""
    of_power = intervals.z_of(2 * POWER - 1)  # leaves 1 − POWER above
    reach = (intervals.z_of(corrected(d.level, tests)) + of_power) * d.standard_error
    difference = Valued.of(d)
    values: dict[str, float | Valued] = {
        "difference": difference,
        d.unit: d.n,
        "difference found with 80% power": reach,
    }
    needed = d.n * (reach / abs(d.value)) ** 2 if d.value else math.inf
    more = ""
    if d.n < needed < MOST_NEEDED:
        values[f"{d.unit} needed"] = float(math.ceil(needed))
        more = f"; to find one as small as this, about {rough(needed)} like them would be needed"
    return Said(
        f"{short(d.system)} and {short(d.baseline)} cannot be told apart on {short(d.measure)}: "
        f"difference {difference:+}. {count(d.n, d.unit)} find a difference of {number(reach)} "
        f"four times in five{more}.",
        values,
        (d.measure,),
        d.level,
        systems=(d.system, d.baseline),
    )
