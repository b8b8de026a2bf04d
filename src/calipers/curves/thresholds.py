"""Measures against the threshold, and how the scores of both classes are spread."""

from __future__ import annotations

import numpy as np

from calipers.curves.scored import Scored, curve_of
from calipers.measures import parse
from calipers.results import Curve
from calipers.statistics import FloatArray, ScoreTable

#: The most bars of a histogram.
_MOST_BARS = 40


def threshold_curve(scored: Scored, measure: str = "accuracy") -> Curve:
    """A measure of counts against the threshold, ascending."""
    chosen = parse(measure, "counts")
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(chosen.apply(scored.matrix), np.float64)
    in_use = scored.in_use
    marked = None if in_use is None else (float(scored.threshold or 0.0), float(values[in_use]))
    scores = scored.table.scores[::-1]
    return curve_of(
        scored,
        "threshold",
        ("Threshold", str(chosen)),
        x=scores,
        y=values[:0:-1],
        threshold=scores,
        shape="step",
        mark=marked,
    )


def density_curve(scored: Scored, *, positive: bool) -> Curve:
    """The density of the scores of one class: a histogram whose bars have a total area of 1.

    The bars are equally wide and as many as Rice's rule has, twice the cube root of the number of
    rows, at most 40; both classes have the same. The threshold in use is a border between bars, so
    that the areas on both sides of it are exactly the rates. ``x`` are the borders.
    """
    table = scored.table
    weight = table.positive if positive else table.negative
    edges = _borders(table, scored.threshold)
    summed, _ = np.histogram(table.scores, edges, weights=weight)
    total = float(weight.sum())
    # Between scores of 1e-320 a density is beyond all numbers.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        density = summed / (total * np.diff(edges))
    areas = {}
    in_use = scored.in_use
    if in_use is not None:
        above = float(weight[:in_use].sum())
        names = ("TP", "FN") if positive else ("FP", "TN")
        areas = dict(zip(names, (above, total - above), strict=True))
    return curve_of(
        scored,
        "density",
        ("Score", "Density"),
        x=edges,
        y=np.append(density, 0.0),
        threshold=edges,
        series=scored.names[positive],
        shape="bars",
        areas=areas,
        at="",
    )


def _borders(table: ScoreTable, cut: float | None) -> FloatArray:
    """The borders of equally wide bars over all scores; the threshold is one if it is inside."""
    low, high = float(table.scores[-1]), float(table.scores[0])
    if low == high:
        low, high = low - 0.5, high + 0.5
    bars = min(_MOST_BARS, int(np.ceil(2 * np.cbrt(table.rows))))
    if cut is None or not low < cut <= high:
        return np.linspace(low, high, bars + 1)
    width = (high - low) / bars
    before, after = np.ceil((cut - low) / width), np.ceil((high - cut) / width)
    # A score at the threshold lies above it, so there is always a bar there.
    return cut + width * np.arange(-before, max(after, 1.0) + 1)
