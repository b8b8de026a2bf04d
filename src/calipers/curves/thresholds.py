"""Measures against the threshold, and densities of the scores of both classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from calipers.curves.score_data import ScoreData, make_score_curve
from calipers.measures import parse
from calipers.report import numbers
from calipers.report.figures import vega
from calipers.report.figures.curve_chart import curve_chart, keep_data_order, threshold_layer
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.figure import FigureTable
from calipers.report.figures.registry import register_chart
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import escape_unprintable, shorten_name, unique_labels
from calipers.results import Curve
from calipers.statistics import FloatArray, ScoreTable

#: The measures of counts that are drawn by default; any other can be requested.
DEFAULT_MEASURES = ("accuracy", "precision", "recall", "F1", "MCC", "detection-prevalence")

#: The largest number of bars of a histogram.
_MAX_BARS = 40


def threshold_curve(score_data: ScoreData, measure: str = "accuracy") -> Curve:
    """Compute a measure of the confusion matrix against the threshold, ascending."""
    parsed_measure = parse(measure, "counts")
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(parsed_measure.apply(score_data.confusion_matrices), np.float64)
    threshold_index = score_data.threshold_index
    operating_point = (
        None
        if threshold_index is None
        else (float(score_data.threshold or 0.0), float(values[threshold_index]))
    )
    scores = score_data.table.scores[::-1]
    return make_score_curve(
        score_data,
        "threshold",
        ("Threshold", str(parsed_measure)),
        x=scores,
        y=values[:0:-1],
        threshold=scores,
        shape="step",
        operating_point=operating_point,
    )


def density_curve(score_data: ScoreData, series: str) -> Curve:
    """Compute the density of the scores of one class: a histogram with a total area of 1.

    Bars have equal width; their number is that of Rice's rule, twice the cube root of the number of
    rows, at most 40, and the same for both classes. The threshold in use is a border between bars,
    so that the areas on both sides of it are exactly the rates. ``x`` are the borders.
    """
    table, is_positive = score_data.table, series == score_data.names[1]
    weight = table.positive if is_positive else table.negative
    edges = _bar_edges(table, score_data.threshold)
    bar_weights, _ = np.histogram(table.scores, edges, weights=weight)
    total = float(weight.sum())
    # Between scores of 1e-320 a density is beyond all numbers.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        density = bar_weights / (total * np.diff(edges))
    areas = {}
    threshold_index = score_data.threshold_index
    if threshold_index is not None:
        weight_above = float(weight[:threshold_index].sum())
        names = ("TP", "FN") if is_positive else ("FP", "TN")
        areas = dict(zip(names, (weight_above, total - weight_above), strict=True))
    return make_score_curve(
        score_data,
        "density",
        ("Score", "Density"),
        x=edges,
        y=np.append(density, 0.0),
        threshold=edges,
        series=series,
        shape="bars",
        areas=areas,
        parameter="",
    )


def _bar_edges(table: ScoreTable, threshold: float | None) -> FloatArray:
    """Return the borders of bars of equal width; the threshold is one of them if it is inside."""
    low, high = float(table.scores[-1]), float(table.scores[0])
    if low == high:
        low, high = low - 0.5, high + 0.5
    bars = min(_MAX_BARS, int(np.ceil(2 * np.cbrt(table.rows))))
    if threshold is None or not low < threshold <= high:
        return np.linspace(low, high, bars + 1)
    width = (high - low) / bars
    n_below, n_above = np.ceil((threshold - low) / width), np.ceil((high - threshold) / width)
    # A score at the threshold is predicted positive, so there is always a bar above it.
    return threshold + width * np.arange(-n_below, max(n_above, 1.0) + 1)


# --- Densities ------------------------------------------------------------------------------------


def _density_spec(curves: Sequence[Curve], systems: Sequence[str]) -> Spec:
    """Return the chart of the score densities of both classes, with the threshold in use.

    The legend has the counts on both sides of the threshold. Errors are drawn in strong colors,
    correct predictions in pale ones. A single curve is drawn as a plain curve.
    """
    if len(curves) != 2:
        return curve_chart(curves, systems)
    negative, positive = curves
    names = unique_labels((negative.series, positive.series), vega.MAX_LABEL_LENGTH // 2)
    class_curves = [
        (c, names[c.series], pair) for c, pair in ((negative, _ORANGES), (positive, _BLUES))
    ]
    is_split = math.isfinite(negative.threshold_in_use)
    bars: list[Spec] = []
    outlines: list[Spec] = []
    colors: dict[str, str] = {}
    for curve, name, (pale, strong) in class_curves:
        sides = _side_labels(curve, name) if is_split else (name, name)
        error_side = int(curve is negative)
        for side, text in enumerate(sides):
            colors[text] = strong if is_split and side == error_side else pale
        for x, x2, y in zip(curve.x[:-1], curve.x[1:], curve.y[:-1], strict=True):
            if math.isfinite(y):
                coordinates = {"x": json_number(x), "x2": json_number(x2), "y": json_number(y, 4)}
                bars.append({**coordinates, "area": sides[int(x >= curve.threshold_in_use)]})
        for x, y in zip(curve.x, curve.y, strict=True):
            outlines.append(
                {"x": json_number(x), "y": json_number(y, 4), "color": strong, "name": name}
            )
    # Strong colors are drawn last, or the other class would hide them.
    strong_colors = {_ORANGES[1], _BLUES[1]}
    bars.sort(key=lambda bar: colors[bar["area"]] in strong_colors)
    domain = [float(negative.x[0]), float(negative.x[-1])]
    x = vega.quantity(
        "x",
        title=escape_unprintable(negative.x_label),
        scale={"domain": [json_number(v) for v in domain], "nice": False},
        axis={"tickCount": 5},
    )
    y = vega.quantity("y", title=escape_unprintable(negative.y_label), axis={"tickCount": 4})
    columns = 1 if max(map(len, colors)) > vega.MAX_LEGEND_LINE_LENGTH // 2 else 2
    legend = {"columns": columns, "symbolType": "square", "symbolOpacity": 0.75}
    scale = {"domain": list(colors), "range": list(colors.values())}
    area = vega.category("area", scale=scale, legend=legend)
    end_encodings = {"x2": {"field": "x2"}, "y2": {"datum": 0}}
    tips = vega.tooltip(("area", "area"), ("x", "from"), ("x2", "to"), ("y", "density"))
    bar = {"type": "rect", "opacity": 0.6, "stroke": None}
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}
    stroke = vega.nominal("color", scale=None)
    layers = [
        vega.layer(bars, bar, x=x, y=y, **end_encodings, color=area, tooltip=tips),
        vega.layer(
            outlines, line, x=keep_data_order(x), y=y, detail=vega.category("name"), stroke=stroke
        ),
    ]
    if is_split and domain[0] <= negative.threshold_in_use <= domain[1]:
        layers.append(threshold_layer(negative.threshold_in_use, x))
    return vega.assemble_spec(width=400, height=260, layer=layers)


#: Pale for correct predictions, strong for errors: of negatives, and of positives.
_ORANGES = ("#F0B98D", "#D55E00")
_BLUES = ("#8FC1E3", "#0072B2")


def _side_labels(curve: Curve, name: str) -> tuple[str, str]:
    """Return descriptions of the counts below the threshold, and of those at or above it."""
    total = sum(curve.areas.values())
    key_below, key_above = (key for key in ("FN", "TN", "TP", "FP") if key in curve.areas)

    def describe(key: str) -> str:
        percentage = f"{100 * curve.areas[key] / total:.1f}%" if total else "–"
        return f"{key} {numbers.format_number(curve.areas[key])} ({percentage} of {name})"

    return describe(key_below), describe(key_above)


def _density_table(curves: Sequence[Curve]) -> FigureTable:
    """Return the bars of both classes as a table; for a single curve some of its points."""
    if len(curves) != 2:
        return CurveChart(name="density", title="").points(curves)
    rows = [
        (shorten_name(c.series), f"{start:.4g}", f"{end:.4g}", f"{y:.4f}")
        for c in curves
        for start, end, y in zip(c.x[:-1], c.x[1:], c.y[:-1], strict=True)
    ]
    return ("class", "from", "to", "density"), tuple(rows)


def _density_notes(curves: Sequence[Curve]) -> Iterator[str]:
    if any(math.isfinite(c.threshold_in_use) for c in curves):
        yield "Strong colors: errors."


register_chart(
    CurveChart(
        name="threshold",
        title="Measures against the threshold",
        explanation="detection-prevalence: the proportion predicted positive.",
        source="scores",
        curve=threshold_curve,
        variants=lambda _: [{"measure": name} for name in DEFAULT_MEASURES],
        by_measure=True,
        has_upright_threshold=True,
    ),
    CurveChart(
        name="density",
        title="Scores of the classes",
        explanation="Histogram of the scores of each class, normalized to an area of 1 regardless "
        "of class frequency.",
        source="scores",
        curve=density_curve,
        variants=lambda scored: [{"series": name} for name in scored.names],
        draw=_density_spec,
        table=_density_table,
        notes=_density_notes,
        has_upright_threshold=True,
        curves_of_system=2,
    ),
)
