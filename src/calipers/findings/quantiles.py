"""Predicted quantiles: how often intervals hold the truth, all in all and by size, and quantiles
that cross."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.formatting import IntervalNumber
from calipers.findings.linear_trend import fit_line
from calipers.findings.regression import ENOUGH, quintile_means
from calipers.findings.rules import Claim, FindingDraft, Subject, rule
from calipers.measures.quantiles import inside
from calipers.report.numbers import format_count, format_percent
from calipers.statistics import FloatArray, Moments, QuantileRows
from calipers.statistics.quantiles import interval_levels
from calipers.statistics.regression import SortedValues

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex

#: Coverage goes with size where it differs by this much from one end to the other.
APART = 0.1


@dataclass(frozen=True, eq=False)
class QuantilePredictions:
    """Numbers, the quantiles that a system predicts for them, and what each row is called; nothing
    where these are some of many rows."""

    truth: FloatArray
    said: QuantileRows
    weight: FloatArray | None
    clusters: ClusterIndex | None
    named: Callable[[int], str] | None = "row {}".format


@rule("coverage-off", "caution", QuantilePredictions, cost="rows")
def coverage_off(s: Subject, of: QuantilePredictions) -> Iterator[Claim]:
    """The interval of the coverage of a central interval leaves out its nominal level."""
    for share in interval_levels(of.said.levels):
        name = f"interval-coverage@{share:.10g}"
        yield Claim(s.p(name, share), partial(_coverage_off, s, name, share))


def _coverage_off(s: Subject, name: str, share: float) -> FindingDraft:
    found = s.of(name)
    why, mend = (
        ("more often than they promise: they are wider than they need be", "narrower")
        if found.value > share
        else ("less often than they promise", "wider")
    )
    return FindingDraft(
        f"{s.who}: its {format_percent(share)} intervals hold the truth in {found} of the rows, "
        f"{why}. Make them {mend} on other rows (conformal prediction does so) before anybody "
        "relies on them.",
        {"coverage": found, "to hold": share},
        s.named(name, f"interval-score@{share:.10g}", f"mean-width@{share:.10g}"),
        about=f"{share:.10g}, {mend}",
    )


@rule("coverage-uneven", "caution", QuantilePredictions, cost="sorted rows")
def coverage_uneven(s: Subject, of: QuantilePredictions) -> Iterator[Claim]:
    """Of {ENOUGH} rows or more the coverage of the widest central interval differs by {APART:g} or
    more between the lowest and the highest fifth of the intervals by their middle, and goes with
    its rank beyond chance (a line, HC3)."""
    for share in interval_levels(of.said.levels)[:1]:
        used = slice(None) if of.weight is None else of.weight > 0
        weight = None if of.weight is None else of.weight[used]
        rows = np.arange(len(of.truth))[used]
        clusters = None if of.clusters is None else of.clusters.taken(rows)
        w = np.ones(len(rows)) if weight is None else weight
        size = Moments.from_rows(np.zeros(len(rows)), weight).effective_size
        if min(size, np.inf if clusters is None else clusters.worth) < ENOUGH:
            return
        hits = inside(of.truth, of.said, share)[used]
        ranks = SortedValues.of(np.mean(of.said.ends(share), axis=0)[used]).midranks(w)
        found = fit_line(ranks, hits, weight, clusters)
        if found is None or math.isnan(found.p):
            return
        ends = quintile_means(hits, ranks, weight, clusters, s.level, (0, 1))
        notable = abs(ends[1].value - ends[0].value) >= APART
        yield Claim(found.p if notable else 1.0, partial(_coverage_uneven, s, share, ends, found.p))


def _coverage_uneven(
    s: Subject, share: float, ends: tuple[IntervalNumber, IntervalNumber], p: float
) -> FindingDraft:
    low, high = ends
    return FindingDraft(
        f"{s.who}: its {format_percent(share)} intervals do not hold the truth equally often: in "
        f"{low} of the rows in the lowest fifth of its predictions, in {high} in the highest. "
        "Their width does not follow how uncertain a prediction is; look at the coverage by "
        "prediction.",
        {
            "coverage of the lowest fifth": low,
            "coverage of the highest fifth": high,
            "p": p,
        },
        s.named(f"interval-coverage@{share:.10g}", f"interval-score@{share:.10g}"),
        about="higher" if high.value > low.value else "lower",
    )


@rule("crossing-quantiles", "caution", QuantilePredictions, cost="rows", counts=True)
def crossing(s: Subject, of: QuantilePredictions) -> Iterator[FindingDraft]:
    """The quantile of a higher level is below that of a lower one in a row."""
    cross = (np.diff(of.said.values, axis=1) < 0).any(axis=1)
    if of.weight is not None:
        cross &= of.weight > 0
    rows = np.flatnonzero(cross)
    if len(rows):
        first = "" if of.named is None else f", first in {of.named(int(rows[0]))}"
        of_rows = f"{format_count(len(of.truth), 'rows')}{'' if first else ' that were looked at'}"
        yield FindingDraft(
            f"{s.who}: its quantiles cross in {len(rows):,} of {of_rows}{first}: one of a higher "
            "level is below one of a lower level, which cannot both be right. Sorting the "
            "quantiles of each row never makes the mean pinball loss larger.",
            {"rows that cross": len(rows)},
            s.shown,
        )
