"""Findings on predicted quantiles: coverage, conditional coverage, and crossing quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.findings.formatting import IntervalNumber
from calipers.findings.linear_trend import fit_line
from calipers.findings.regression import MIN_ROWS, quintile_means
from calipers.findings.rules import Claim, FindingDraft, Subject, rule
from calipers.lazy_dataclasses import dataclass
from calipers.measures.quantiles import coverage_indicator
from calipers.report.numbers import format_count, format_percent
from calipers.statistics import FloatArray, Moments, QuantileRows
from calipers.statistics.regression import midranks

if TYPE_CHECKING:
    from calipers.inference.clusters import ClusterIndex

#: The smallest difference in coverage between extreme quintiles that is reported.
MIN_DIFFERENCE = 0.1


@dataclass(frozen=True)
class PredictionIntervals:
    """Nominal levels of the central prediction intervals whose coverage is known."""

    levels: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class QuantilePredictions:
    """Numbers, the quantiles that a system predicts for them, and the names of rows.

    The names are None if the rows are a sample.
    """

    truth: FloatArray
    quantiles: QuantileRows
    weight: FloatArray | None
    clusters: ClusterIndex | None
    row_name: Callable[[int], str] | None = "row {}".format


@rule("miscoverage", "caution", PredictionIntervals, cost="rows")
def miscoverage(subject: Subject, intervals: PredictionIntervals) -> Iterator[Claim]:
    """Coverage of a central prediction interval is not nominal: its interval excludes the level."""
    for nominal in intervals.levels:
        name = f"interval-coverage@{nominal:.10g}"
        yield Claim(subject.p(name, nominal), partial(_miscoverage_message, subject, name, nominal))


def _miscoverage_message(subject: Subject, name: str, nominal: float) -> FindingDraft:
    coverage = subject.get_estimate(name)
    side, remedy = ("more", "narrower") if coverage.value > nominal else ("less", "wider")
    return FindingDraft(
        f"{subject.title}: the {format_percent(nominal)} prediction intervals cover {coverage} of "
        f"the rows, {side} than nominal. Recalibrate them on held-out rows, for example by "
        "conformal prediction.",
        {"coverage": coverage, "nominal coverage": nominal},
        subject.shown_among(name, f"interval-score@{nominal:.10g}", f"mean-width@{nominal:.10g}"),
        aspect=f"{nominal:.10g}, {remedy}",
        of_all_rows=True,
    )


@rule("conditional-miscoverage", "caution", QuantilePredictions, cost="sorted rows")
def conditional_miscoverage(subject: Subject, predictions: QuantilePredictions) -> Iterator[Claim]:
    """Coverage of the widest central prediction interval depends on the prediction.

    With {MIN_ROWS} rows or more, it differs by {MIN_DIFFERENCE:g} or more between the lowest and
    the highest quintile of the midpoints, and depends significantly on the rank of the midpoint
    (linear trend, HC3).
    """
    for nominal in predictions.quantiles.nominal_coverages[:1]:
        has_weight = slice(None) if predictions.weight is None else predictions.weight > 0
        weight = None if predictions.weight is None else predictions.weight[has_weight]
        rows = np.arange(len(predictions.truth))[has_weight]
        clusters = None if predictions.clusters is None else predictions.clusters.take_rows(rows)
        w = np.ones(len(rows)) if weight is None else weight
        size = Moments.from_rows(np.zeros(len(rows)), weight).effective_size
        if min(size, np.inf if clusters is None else clusters.n_effective_clusters) < MIN_ROWS:
            return
        is_covered = coverage_indicator(predictions.truth, predictions.quantiles, nominal)[
            has_weight
        ]
        ranks = midranks(
            np.mean(predictions.quantiles.interval_limits(nominal), axis=0)[has_weight], w
        )
        trend = fit_line(ranks, is_covered, weight, clusters)
        if trend is None or math.isnan(trend.p):
            return
        extreme_means = quintile_means(is_covered, ranks, weight, clusters, subject.level, (0, 1))
        is_notable = abs(extreme_means[1].value - extreme_means[0].value) >= MIN_DIFFERENCE
        yield Claim(
            trend.p if is_notable else 1.0,
            partial(_conditional_miscoverage_message, subject, nominal, extreme_means, trend.p),
        )


def _conditional_miscoverage_message(
    subject: Subject, nominal: float, extreme_means: tuple[IntervalNumber, IntervalNumber], p: float
) -> FindingDraft:
    low, high = extreme_means
    return FindingDraft(
        f"{subject.title}: the coverage of the {format_percent(nominal)} prediction intervals "
        f"depends on the prediction; it is {low} in the lowest quintile of the predictions and "
        f"{high} in the highest. Examine the coverage by prediction, and let the width vary with "
        "the uncertainty.",
        {
            "coverage in the lowest quintile": low,
            "coverage in the highest quintile": high,
            "p": p,
        },
        subject.shown_among(f"interval-coverage@{nominal:.10g}", f"interval-score@{nominal:.10g}"),
        aspect="higher" if high.value > low.value else "lower",
    )


@rule("crossing-quantiles", "caution", QuantilePredictions, cost="rows", counts=True)
def crossing_quantiles(
    subject: Subject, predictions: QuantilePredictions
) -> Iterator[FindingDraft]:
    """At least one quantile of a higher level is below one of a lower level in the same row."""
    is_crossing = (np.diff(predictions.quantiles.values, axis=1) < 0).any(axis=1)
    if predictions.weight is not None:
        is_crossing &= predictions.weight > 0
    rows = np.flatnonzero(is_crossing)
    if len(rows):
        first = (
            ""
            if predictions.row_name is None
            else f", first in {predictions.row_name(int(rows[0]))}"
        )
        rows_text = format_count(len(predictions.truth), "rows" if first else "examined rows")
        yield FindingDraft(
            f"{subject.title}: the predicted quantiles cross in {len(rows):,} of "
            f"{rows_text}{first}. "
            "Sort the quantiles of each row; this never increases the mean pinball loss.",
            {"rows that cross": len(rows)},
            subject.shown_measures,
        )
