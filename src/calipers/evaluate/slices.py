"""Slices: every measure on parts of the rows, and whether a part differs from the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from calipers.evaluate.cuts import Cut
from calipers.evaluate.parts import Parts
from calipers.inference import intervals, two_samples
from calipers.inference import two_samples as unpaired
from calipers.inference.method_limits import MOST_PAIRS_WITHIN
from calipers.inference.multiplicity import ADJUSTMENTS
from calipers.inference.paired_tests import Test
from calipers.measures import Measure
from calipers.progress import over
from calipers.report.verdict import most
from calipers.results import Difference, Estimate, Slice, Slices

if TYPE_CHECKING:
    from calipers.inference.point_estimate import Reading
    from calipers.inference.settings import Settings
    from calipers.results import Comparison
    from calipers.systems.base import System

#: How a slice is called that is compared with the rest, and the other way round.
REST = "the rest"
#: How p-values account for the number of slices.
HOLM = ADJUSTMENTS["holm"]


class Outside(Protocol):
    """What is outside of a part."""

    @property
    def rows(self) -> Any:
        """What gives its readings, with all they have."""

    def reading(self, measure: Measure) -> Reading:
        """The value of a measure there, and how it varies."""

    def dealt(self, measure: Measure, value: float, most: int) -> two_samples.Anew | None:
        """The part, whose value this is, less what is outside, were one of them made up by chance;
        None where both have more units than ``most``."""


class Halves(Protocol):
    """The parts that a column cuts the rows or topics of one system into."""

    @property
    def cut(self) -> Cut:
        """How they are cut."""

    def part(self, part: int) -> Any:
        """What gives the readings of a part."""

    def estimate(self, part: int, measure: Measure, reading: Reading) -> Estimate:
        """The result on a part."""

    def rest(self, part: int) -> Outside | None:
        """What is outside of it; None where nothing is."""

    def forget(self, part: int) -> None:
        """Give back its memory."""


# ------------------------------------------------------------------------------------- evaluation


def sliced(
    systems: Sequence[System], measures: Sequence[Measure], cuts: Sequence[Cut], settings: Settings
) -> Slices:
    """Every measure of every system on every slice of their rows, each against the rest."""
    asked = sum(len(cut.names) for cut in cuts)
    all_parts = over(
        (Parts(system, cut, measures, questions=asked) for cut in cuts for system in systems),
        "slicing",
        len(cuts) * len(systems),
    )
    return slices_of(all_parts, measures, settings)


def slices_of(
    all_parts: Iterable[Halves], measures: Sequence[Measure], settings: Settings
) -> Slices:
    """Every measure of all parts, each of one system by one column."""
    rows = [row for parts in all_parts for row in _of_cut(parts, measures)]
    return Slices(_adjusted(rows), settings.level, HOLM.name)


def untold(slices: Slices, comparison: Comparison | None) -> list[str]:
    """That systems are so many that they are not compared within slices."""
    if comparison is None or not len(comparison) or slices.differences:
        return []
    most = MOST_PAIRS_WITHIN
    return [f"Systems are not compared within slices: there are more than {most} pairs of them."]


def threshold_note(system: str, threshold: float, rule: object) -> str:
    """That a threshold which a rule chose on all rows is no slice's own."""
    at = "+∞" if math.isinf(threshold) else f"{threshold:.6g}"
    return (
        f"{system}: slices are measured at the threshold {at}, which {rule} chose on all rows; no "
        "slice has one of its own, and intervals take it as given."
    )


def _of_cut(parts: Halves, measures: Sequence[Measure]) -> list[Slice]:
    """One system on the slices of one column."""
    rows: list[Slice] = []
    cut = parts.cut
    for k, name in enumerate(cut.names):
        rest = parts.rest(k)
        for j, measure in enumerate(measures):
            reading = parts.part(k).reading(measure)
            own = parts.estimate(k, measure, reading)
            if len(cut.names) == 2 and k == 1 and np.isfinite(rows[j].to_rest.value):
                # The rest of the second slice is the first: one question, and one answer.
                apart = _opposite(rows[j])
            else:
                apart = _to_rest(measure, reading, rest, own)
            rows.append(Slice(cut.column, name, own, apart))
        parts.forget(k)
    return rows


def _opposite(row: Slice) -> Difference:
    d = row.to_rest
    return replace(d, value=-d.value, low=-d.high, high=-d.low, n=row.estimate.of)


def _adjusted(rows: Sequence[Slice]) -> tuple[Slice, ...]:
    """Holm over all slices of each measure of a system; a column's two slices ask one question."""
    questions: dict[tuple[str, str], dict[tuple[str, str], list[int]]] = {}
    slices_of: dict[str, set[str]] = {}
    for row in rows:
        slices_of.setdefault(row.column, set()).add(row.slice)
    for at, row in enumerate(rows):
        family = questions.setdefault((row.estimate.system, row.estimate.measure), {})
        which = row.slice if len(slices_of[row.column]) > 2 else ""
        family.setdefault((row.column, which), []).append(at)
    out = list(rows)
    for family in questions.values():
        p = HOLM.adjust(np.array([rows[at[0]].to_rest.p for at in family.values()]))
        for adjusted, places in zip(p, family.values(), strict=True):
            for at in places:
                out[at] = replace(rows[at], to_rest=_with_adjusted(rows[at].to_rest, adjusted))
    return tuple(out)


def _with_adjusted(apart: Difference, p: float) -> Difference:
    """A difference with its adjusted p-value; where that does not exclude 0, the interval beside it
    reaches as far as 0 too."""
    p = float(p)
    apart = replace(apart, p_adjusted=p)
    if not apart.has_interval or not p > most(apart.level) or apart.low <= 0 <= apart.high:
        return apart
    low, high, method = unpaired.as_far_as_zero(apart.low, apart.high, apart.method, HOLM.name)
    return replace(apart, low=low, high=high, method=method)


# -------------------------------------------------------------------------- difference to the rest


def _to_rest(measure: Measure, part: Reading, rest: Outside | None, own: Estimate) -> Difference:
    """The slice minus the rest, with an interval and a test for two independent samples."""
    other = None if rest is None else rest.reading(measure)
    value = part.value - other.value if other is not None else float("nan")
    made, test = intervals.missing("none", "undefined_value"), Test(float("nan"), "none")
    if rest is None or other is None:
        made = intervals.missing("none", "no_rest")
    elif part.settings.interval == "none":
        made = intervals.missing("none", "not_asked")
    elif np.isfinite(value):
        made, test = two_samples.compared(
            part,
            other,
            lambda: rest.rows.reading(measure),
            lambda most: rest.dealt(measure, part.value, most),
        )
        if part.order is not None:
            from calipers.inference import serial

            made, test = serial.of_parts(part, other, made, test)
        made = made.around(value)
    return Difference(
        measure=own.measure,
        system=own.system,
        baseline=REST,
        value=value,
        low=made.low,
        high=made.high,
        level=own.level,
        method=made.method,
        p=test.p,
        test=test.name,
        unit=own.unit,
        n=0 if other is None else other.n if other.of is None else other.of,
        undefined={} if other is None or own.undefined else other.undefined,
        no_interval=made.reason,
        higher_is_better=measure.definition.higher_is_better,
    )
