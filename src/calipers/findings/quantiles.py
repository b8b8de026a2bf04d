"""Findings on predicted quantiles: coverage, conditional coverage, and crossing quantiles."""

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
from calipers.measures.quantiles import covered_rows
from calipers.report.numbers import format_count, format_percent
from calipers.statistics import FloatArray, Moments, QuantileRows
from calipers.statistics.quantiles import interval_levels
from calipers.statistics.regression import midranks

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex

#: The smallest difference in coverage between extreme quintiles that is reported.
APART = 0.1


@dataclass(frozen=True, eq=False)
class QuantilePredictions:
    """Numbers, the quantiles that a system predicts for them, and the names of rows.

    The names are None if the rows are a sample.
    """

    truth: FloatArray
    said: QuantileRows
    weight: FloatArray | None
    clusters: ClusterIndex | None
    named: Callable[[int], str] | None = "row {}".format


@rule("miscoverage", "caution", QuantilePredictions, cost="rows")
def coverage_off(s: Subject, of: QuantilePredictions) -> Iterator[Claim]:
    """Coverage of a central prediction interval is not nominal: its interval excludes the level."""
    for share in interval_levels(of.said.levels):
        name = f"interval-coverage@{share:.10g}"
        yield Claim(s.p(name, share), partial(_coverage_off, s, name, share))


def _coverage_off(s: Subject, name: str, share: float) -> FindingDraft:
    found = s.estimate_of(name)
    side, mend = ("more", "narrower") if found.value > share else ("less", "wider")
    return FindingDraft(
        f"{s.title}: the {format_percent(share)} prediction intervals cover {found} of the rows, "
        f"{side} "
        "than nominal. Recalibrate them on held-out rows, for example by conformal prediction.",
        {"coverage": found, "to hold": share},
        s.shown_among(name, f"interval-score@{share:.10g}", f"mean-width@{share:.10g}"),
        about=f"{share:.10g}, {mend}",
    )


@rule("conditional-miscoverage", "caution", QuantilePredictions, cost="sorted rows")
def conditional_miscoverage(s: Subject, of: QuantilePredictions) -> Iterator[Claim]:
    """Coverage of the widest central prediction interval depends on the prediction.

    With {ENOUGH} rows or more, it differs by {APART:g} or more between the lowest and the highest
    quintile of the midpoints, and depends significantly on the rank of the midpoint (linear trend,
    HC3).
    """
    for share in interval_levels(of.said.levels)[:1]:
        used = slice(None) if of.weight is None else of.weight > 0
        weight = None if of.weight is None else of.weight[used]
        rows = np.arange(len(of.truth))[used]
        clusters = None if of.clusters is None else of.clusters.take_rows(rows)
        w = np.ones(len(rows)) if weight is None else weight
        size = Moments.from_rows(np.zeros(len(rows)), weight).effective_size
        if min(size, np.inf if clusters is None else clusters.effective_number) < ENOUGH:
            return
        hits = covered_rows(of.truth, of.said, share)[used]
        ranks = midranks(np.mean(of.said.interval_limits(share), axis=0)[used], w)
        found = fit_line(ranks, hits, weight, clusters)
        if found is None or math.isnan(found.p):
            return
        ends = quintile_means(hits, ranks, weight, clusters, s.level, (0, 1))
        notable = abs(ends[1].value - ends[0].value) >= APART
        yield Claim(
            found.p if notable else 1.0, partial(_miscoverage_message, s, share, ends, found.p)
        )


def _miscoverage_message(
    s: Subject, share: float, ends: tuple[IntervalNumber, IntervalNumber], p: float
) -> FindingDraft:
    low, high = ends
    return FindingDraft(
        f"{s.title}: the coverage of the {format_percent(share)} prediction intervals depends on "
        "the "
        f"prediction; it is {low} in the lowest quintile of the predictions and {high} in the "
        "highest. Examine the coverage by prediction, and let the width vary with the uncertainty.",
        {
            "coverage of the lowest fifth": low,
            "coverage of the highest fifth": high,
            "p": p,
        },
        s.shown_among(f"interval-coverage@{share:.10g}", f"interval-score@{share:.10g}"),
        about="higher" if high.value > low.value else "lower",
    )


@rule("crossing-quantiles", "caution", QuantilePredictions, cost="rows", counts=True)
def crossing_quantiles(s: Subject, of: QuantilePredictions) -> Iterator[FindingDraft]:
    """At least one quantile of a higher level is below one of a lower level in the same row."""
    cross = (np.diff(of.said.values, axis=1) < 0).any(axis=1)
    if of.weight is not None:
        cross &= of.weight > 0
    rows = np.flatnonzero(cross)
    if len(rows):
        first = "" if of.named is None else f", first in {of.named(int(rows[0]))}"
        of_rows = format_count(len(of.truth), "rows" if first else "examined rows")
        yield FindingDraft(
            f"{s.title}: the predicted quantiles cross in {len(rows):,} of {of_rows}{first}. Sort "
            "the quantiles of each row; this never increases the mean pinball loss.",
            {"rows that cross": len(rows)},
            s.shown_measures,
        )
