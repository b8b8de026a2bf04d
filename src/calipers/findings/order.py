"""Rows whose order nobody stated, and what neighbours have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from calipers.findings.rules import Claim, FindingDraft, Subject, rule
from calipers.statistics import FloatArray

#: Of fewer rows nothing is said, nor where neighbours correlate by less.
ENOUGH, LEAST = 50, 0.2


@dataclass(frozen=True, eq=False)
class Unordered:
    """How much each row moves a measure, in the order in which rows were given; and of how many
    rows in all."""

    measure: str
    influence: Callable[[], FloatArray | None]
    rows: int


@rule("neighbours-alike", "caution", Unordered, cost="some rows")
def neighbouring_rows(s: Subject, of: Unordered) -> Iterator[Claim]:
    """Neither the time of rows nor what they come from is stated, and neighbouring rows err alike:
    of at least {ENOUGH} rows, how much they move the first measure correlates with the row before
    by {LEAST:g} or more (tests of the lag-1 autocorrelation and of the sum of the first ten)."""
    moved = of.influence()
    if moved is None or len(moved) < ENOUGH:
        return
    from calipers.inference import serial

    if serial.autocorrelations(moved, 1)[0] < LEAST:
        yield Claim(1.0)
    else:
        yield Claim(serial.p_value(moved), partial(_alike, s, of, moved))


def _alike(s: Subject, of: Unordered, moved: FloatArray) -> FindingDraft:
    from calipers.inference import serial

    found = serial.dependence(moved)
    count = of.rows * found.effective / found.periods
    return FindingDraft(
        f"{s.who}: neighbouring rows err alike: by how much they move {of.measure} correlates with "
        f"the row before (r = {found.lag_one:.2f}). If rows stand in the order of time, "
        f"{of.rows:,} of them count as about {count:,.0f} independent ones, and intervals and "
        "p-values here are too optimistic: state their times (time), or what neighbours have in "
        "common (cluster).",
        {"lag-1 autocorrelation": found.lag_one, "rows": of.rows, "independent rows": count},
        (of.measure,),
    )
