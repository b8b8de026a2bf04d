"""Findings on the order of rows: autocorrelation of neighbouring rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from calipers.findings.rules import Claim, FindingDraft, Subject, rule
from calipers.statistics import FloatArray

#: The smallest number of rows, and the smallest lag-1 autocorrelation, that are reported.
ENOUGH, LEAST = 50, 0.2


@dataclass(frozen=True, eq=False)
class UnorderedInfluence:
    """Influence of each row on a measure, in the order of the rows, and the number of all rows."""

    measure: str
    influence: Callable[[], FloatArray | None]
    rows: int


@rule("neighbours-alike", "caution", UnorderedInfluence, cost="some rows")
def neighbouring_rows(s: Subject, of: UnorderedInfluence) -> Iterator[Claim]:
    """Rows next to each other are correlated, and neither times nor clusters of rows are given.

    The influence of rows on the first measure has a lag-1 autocorrelation of {LEAST:g} or more,
    with at least {ENOUGH} rows (tests of the lag-1 autocorrelation and of the sum of the first
    ten).
    """
    moved = of.influence()
    if moved is None or len(moved) < ENOUGH:
        return
    from calipers.inference import serial

    if serial.autocorrelations(moved, 1)[0] < LEAST:
        yield Claim(1.0)
    else:
        yield Claim(serial.p_value(moved), partial(_neighbor_message, s, of, moved))


def _neighbor_message(s: Subject, of: UnorderedInfluence, moved: FloatArray) -> FindingDraft:
    from calipers.inference import serial

    found = serial.dependence(moved)
    count = of.rows * found.effective / found.periods
    return FindingDraft(
        f"{s.title}: neighbouring rows are correlated; the lag-1 autocorrelation of their "
        "influence "
        f"on {of.measure} is {found.lag_one:.2f}. If rows are in temporal order, the effective "
        f"sample size is about {count:,.0f} instead of {of.rows:,}, and intervals are too narrow. "
        "Pass time= or cluster=.",
        {"lag-1 autocorrelation": found.lag_one, "rows": of.rows, "independent rows": count},
        (of.measure,),
    )
