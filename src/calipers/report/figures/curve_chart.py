"""Charts of curves with bands, the chance line, reference lines and tooltips."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from statistics import NormalDist

from calipers.report.figures import plane, vega
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import escape_unprintable, unique_labels
from calipers.results import Curve, FloatArray

#: Pixels of the drawing.
_WIDTH, _HEIGHT = 400, 360

#: Precision of rankings that stays below this is drawn larger.
_MAX_LOW_PRECISION = 0.5


def curve_chart(
    curves: Sequence[Curve],
    systems: Sequence[str] = (),
    *,
    by_measure: bool = False,
    x_is_threshold: bool = False,
    series_name: str = "class",
) -> Spec:
    """Return the chart of curves of one kind, with bands, the chance line and tooltips.

    Parameters
    ----------
    curves : sequence of Curve
        Curves of one kind. Those of one system that differ in their class or, with ``by_measure``,
        in their measure are named by that.
    systems : sequence of str, optional
        Systems in the order of their colors, including those without a curve.
    by_measure : bool, default=False
        Whether curves are of different measures.
    x_is_threshold : bool, default=False
        Whether the horizontal axis is the threshold, which tooltips then show once.
    series_name : str, default="class"
        Name of the ``series`` of curves in tooltips.

    Returns
    -------
    dict
        Vega-Lite spec.
    """
    get_label, order = _legend_labels(curves, systems, by_measure=by_measure)
    names = unique_labels(order, vega.MAX_LABEL_LENGTH)
    labels = list(names.values())
    x, y = _axes(curves, by_measure=by_measure)
    legend: Spec = {"symbolType": "stroke", "symbolOpacity": 1, "symbolSize": 300}
    if sum(map(len, labels)) > vega.MAX_LEGEND_LINE_LENGTH:
        legend["columns"] = 1 if max(map(len, labels)) > vega.MAX_LEGEND_LINE_LENGTH // 3 else 3
    has_point_labels = plane.has_only_points(curves) and len(curves) <= plane.MAX_NAMED_POINTS
    shown_legend = None if has_point_labels else legend  # its labels are next to the curves
    hue = vega.category("system", scale=vega.scale(labels, vega.PALETTE), legend=shown_legend)
    dashes = [list(dash) for dash in vega.DASHES]
    dash = vega.category("system", scale=vega.scale(labels, dashes), legend=shown_legend)
    if len(labels) == 1:
        hue, dash = {"value": vega.PALETTE[0]}, {"value": [1, 0]}
    if all(map(is_point, curves)):
        dash = {"value": [1, 0]}  # otherwise the legend would dash the outlines of dots
    # The points are written once and drawn twice: as a line, and as what the pointer finds.
    line = [row for c in curves for row in _line_data(c, names[get_label(c)])]
    if is_point(curves[0]):
        legend |= {"symbolType": "circle", "symbolSize": 80}
    layers = [_chance_layer(curves, x, y)] if has_chance(curves) else []
    layers += _reference_layers(curves, x, y)
    for wide, opacity in ((True, 0.08), (False, 0.16)):
        band = [
            row for c in curves for row in _band_data(c, names[get_label(c)], is_simultaneous=wide)
        ]
        if band:
            area = {"type": "area", "opacity": opacity}
            limits = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
            layers.append(vega.layer(band, area, x=x, **limits, color=hue))
    layers.append(_line_layer(x, y, hue, dash, curves))
    if by_measure:
        thresholds = sorted(
            {c.threshold_in_use for c in curves if math.isfinite(c.threshold_in_use)}
        )
        layers += [threshold_layer(cut, x) for cut in thresholds]
    else:
        layers += _mark_layers(curves, {c: names[get_label(c)] for c in curves}, x, y, hue)
    if plane.has_only_points(curves):
        layers += plane.layers(curves, lambda c: names[get_label(c)], x, y, hue, (_WIDTH, _HEIGHT))
    tips = _tooltip(
        curves[0], by_measure=by_measure, x_is_threshold=x_is_threshold, series_name=series_name
    )
    layers.append(_hover_layer(x, y, hue, tips))
    return vega.assemble_spec(width=_WIDTH, height=_HEIGHT, datasets={_LINE: line}, layer=layers)


def is_point(curve: Curve) -> bool:
    """Return whether a curve is a point, of a system with predicted labels but no scores."""
    return curve.shape == "point"


#: The largest number of chance lines: more could not be assigned to their curves.
_MAX_CHANCE_LINES = 3


def has_chance(curves: Sequence[Curve]) -> bool:
    """Return whether the chart of some curves has a chance line."""
    return 0 < len({c.chance for c in curves} - {None}) <= _MAX_CHANCE_LINES


#: The name of the data that the line and the pointer share.
_LINE = "line"


def _legend_labels(
    curves: Sequence[Curve], systems: Sequence[str], *, by_measure: bool
) -> tuple[Callable[[Curve], str], list[str]]:
    """Return the function that names a curve in a legend, and the names by color."""
    if any(c.series for c in curves):
        get_label = attrgetter("series")
    elif by_measure:
        get_label = attrgetter("y_label")
    else:
        return attrgetter("system"), list(systems or [c.system for c in curves])
    return get_label, [get_label(c) for c in curves]


def _line_data(curve: Curve, name: str) -> list[Spec]:
    """Return a row per point; a row without a value breaks the line."""
    rows = []
    for index, (x, y) in enumerate(zip(*_drawing_points(curve), strict=True)):
        if not math.isfinite(x):
            continue
        is_visible = math.isfinite(y) and not y < curve.bottom
        datum = {
            "x": json_number(x, 4),
            "y": json_number(y, 4) if is_visible else None,
            "system": name,
        }
        if is_point(curve):
            datum["threshold"] = threshold_text(math.nan)
        elif curve.parameter and curve.threshold[index] != x:
            datum["threshold"] = threshold_text(curve.threshold[index])
        rows.append(datum)
    return rows


def _drawing_points(curve: Curve) -> tuple[Iterable[float], Iterable[float]]:
    """Return the points in the units of the drawing; rates outside of the axes are NaN."""
    if curve.scale != "deviate":
        return curve.x.tolist(), curve.y.tolist()
    return [to_normal_deviate(x) for x in curve.x.tolist()], [
        to_normal_deviate(y) for y in curve.y.tolist()
    ]


def to_normal_deviate(rate: float) -> float:
    """Return the normal deviate of a rate, NaN if it is outside of the drawing."""
    return NormalDist().inv_cdf(rate) if MIN_RATE <= rate <= 1 - MIN_RATE else float("nan")


#: Rates of a DET curve are drawn from here on.
MIN_RATE = 0.001
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


def threshold_text(t: float) -> str:
    """Format a threshold for a tooltip or a table."""
    if math.isnan(t):
        return "–"
    return f"{t:.4g}" if math.isfinite(t) else ("∞" if t > 0 else "-∞")


def _band_data(curve: Curve, name: str, *, is_simultaneous: bool) -> list[Spec]:
    """Return a row per point of a band, clipped to the drawing."""
    limits = (
        (curve.simultaneous_low, curve.simultaneous_high)
        if is_simultaneous
        else (curve.low, curve.high)
    )
    if not all(map(len, limits)):
        return []
    is_deviate = curve.scale == "deviate"

    def edge(y: float) -> float:
        return to_normal_deviate(_clip_rate(y)) if is_deviate else max(y, curve.bottom)

    points = zip(*(column.tolist() for column in (curve.band_x, *limits)), strict=True)
    rows = (
        (to_normal_deviate(x) if is_deviate else x, edge(low), edge(high))
        for x, low, high in points
    )
    return [
        {
            "x": json_number(x, 4),
            "low": json_number(low, 4),
            "high": json_number(high, 4),
            "system": name,
        }
        for x, low, high in rows
        if math.isfinite(x) and math.isfinite(low) and math.isfinite(high)
    ]


def _clip_rate(rate: float) -> float:
    """Return ``rate``, limited to the range of an axis in normal deviates."""
    return min(max(rate, MIN_RATE), 1 - MIN_RATE)


def _axes(curves: Sequence[Curve], *, by_measure: bool) -> tuple[Spec, Spec]:
    first = curves[0]
    y_title = "" if by_measure else escape_unprintable(first.y_label)
    x = vega.quantity("x", title=escape_unprintable(first.x_label))
    y = vega.quantity("y", title=y_title or None)
    if first.scale == "deviate":
        ticks = [json_number(NormalDist().inv_cdf(rate)) for rate in _RATES]
        axis_scale = {"domain": [ticks[0], ticks[-1]], "nice": False}
        label_expression = "format(cumulativeNormal(datum.value), '.2~%')"
        axis = {"values": ticks, "labelExpr": label_expression}
        return {**x, "scale": axis_scale, "axis": axis}, {**y, "scale": axis_scale, "axis": axis}
    lines = [point for c in curves for line in c.references.values() for point in line]
    bottoms = [c.bottom for c in curves if math.isfinite(c.bottom)]
    tops = [v for c in curves for v in (*c.y, *c.high) if math.isfinite(v)]
    x["scale"] = _domain([c.x for c in curves])
    y["scale"] = _domain([c.y[~(c.y < c.bottom)] for c in curves])
    if bottoms:
        highest = max([*tops, *(point[1] for point in lines)])
        y["scale"] = {"domain": [json_number(min(bottoms)), json_number(highest)], "nice": False}
    if (
        first.parameter != "threshold"
        and not is_point(first)
        and max(tops, default=1.0) <= _MAX_LOW_PRECISION
    ):
        y["scale"] = {"zero": True}
    # Set once per chart; all layers share the axes.
    x["axis"] = y["axis"] = {"tickCount": 5}
    return x, y


def _domain(columns: Sequence[FloatArray]) -> Spec:
    """Return the domain of a scale: from 0 to 1 for rates, otherwise that of the data."""
    values = [float(v) for column in columns for v in column if math.isfinite(v)]
    rates = all(0 <= v <= 1 for v in values)
    return {"domain": [0, 1], "nice": False} if rates else {"zero": False}


def _chance_layer(curves: Sequence[Curve], x: Spec, y: Spec) -> Spec:
    lines = dict.fromkeys(c.chance for c in curves if c.chance is not None)
    data = []
    for start, end in lines:
        if curves[0].scale == "deviate":
            # A straight line here too: the deviate of 1 − f is minus that of f.
            rates = (map(_clip_rate, point) for point in (start, end))
            (a, b), (c, d) = (map(to_normal_deviate, point) for point in rates)
        else:
            (a, b), (c, d) = start, end
        data.append(
            {"x": json_number(a), "y": json_number(b), "x2": json_number(c), "y2": json_number(d)}
        )
    return vega.layer(
        data, vega.rule(strokeDash=[3, 3], opacity=0.55), x=x, y=y, **vega.end_channels("x2", "y2")
    )


#: Labels of reference lines, whose names are keys of results, that differ from these.
_REFERENCE_LABELS = {"act on all": "treat all", "act on none": "treat none"}


def _reference_label(name: str) -> str:
    return escape_unprintable(_REFERENCE_LABELS.get(name, name))


def _reference_layers(curves: Sequence[Curve], x: Spec, y: Spec) -> list[Spec]:
    """Return the layers of reference lines, each with its name at its highest point.

    The name of a horizontal line is at the end from which it extends inwards.
    """
    skipped_name = _THRESHOLD_LINE if len({c.system for c in curves}) > 1 else ""
    lines = dict.fromkeys(
        (name, tuple((a, b) for a, b in points))
        for c in curves
        for name, points in c.references.items()
        if name != skipped_name
    )
    if not lines:
        return []
    data = [
        {"x": json_number(a, 4), "y": json_number(b, 4), "line": i}
        for i, (_, points) in enumerate(lines)
        for a, b in points
    ]
    tops = {name: max(points, key=itemgetter(1)) for name, points in lines}
    for name, points in lines:
        if tops[name][0] >= 1 / 2:
            tops[name] = max(points, key=itemgetter(1, 0))
    mark = {"type": "line", "strokeWidth": 1, "strokeDash": [2, 3], "color": "currentColor",
            "opacity": 0.7}  # fmt: skip
    layers = [vega.layer(data, mark, x=keep_data_order(x), y=y, detail=vega.nominal("line"))]
    for is_left in (True, False):
        name_rows = [
            {"x": json_number(a, 4), "y": json_number(b, 4), "name": _reference_label(name)}
            for name, (a, b) in tops.items()
            if (a < 1 / 2) is is_left
        ]
        text = {"type": "text", "align": "left" if is_left else "right", "dx": 4 if is_left else -4,
                "dy": -7, "color": "currentColor", "opacity": 0.8, "fontSize": 12}  # fmt: skip
        if name_rows:
            layers.append(vega.layer(name_rows, text, x=x, y=y, text=vega.nominal("name")))
    return layers


#: Drawn only if there is one system: those of several would look the same.
_THRESHOLD_LINE = "threshold in use"


def keep_data_order(x: Spec) -> Spec:
    """Return the axis of a line whose points are joined in the order of the data."""
    return {**x, "sort": None}


#: The largest number of points that are drawn as dots: more would hide the line.
_MAX_DOTS = 25


def _line_layer(x: Spec, y: Spec, hue: Spec, dash: Spec, curves: Sequence[Curve]) -> Spec:
    curve, has_few_points = curves[0], max(map(len, curves)) <= _MAX_DOTS
    encoding = {"x": keep_data_order(x), "y": y, "color": hue, "strokeDash": dash}
    mark: Spec = {"type": "line", "strokeWidth": 2, "strokeJoin": "round"}
    if curve.shape == "step":
        mark["interpolate"] = "step-before"
    if curve.shape == "bars":
        mark["interpolate"] = "step-after"
    if (
        curve.parameter != "threshold" and not is_point(curve) and has_few_points
    ):  # they were chosen: show them
        mark["point"] = {"filled": True, "size": 36, "opacity": 1}
    return {"data": {"name": _LINE}, "mark": mark, "encoding": encoding}


def _mark_layers(
    curves: Sequence[Curve], names: Mapping[Curve, str], x: Spec, y: Spec, hue: Spec
) -> list[Spec]:
    """Return the layer of dots at the threshold in use."""
    data = []
    for c in curves:
        if c.operating_point is None:
            continue
        point = (
            [to_normal_deviate(v) for v in c.operating_point]
            if c.scale == "deviate"
            else list(c.operating_point)
        )
        if all(map(math.isfinite, point)) and not point[1] < c.bottom:
            data.append(
                {"x": json_number(point[0], 4), "y": json_number(point[1], 4), "system": names[c]}
            )
    if not data:
        return []
    return [vega.layer(data, vega.dot(size=90), x=x, y=y, color=hue)]


def threshold_layer(cut: float, x: Spec) -> Spec:
    """Return the layer of a vertical line at a threshold."""
    mark = vega.rule(strokeDash=[5, 3], opacity=0.8)
    return vega.layer([{"cut": json_number(cut)}], mark, x={**x, "field": "cut"})


def _hover_layer(x: Spec, y: Spec, hue: Spec, tips: str) -> Spec:
    near = {"name": "near", "select": {"type": "point", "nearest": True, "on": "pointerover",
                                       "clear": "pointerout"}}  # fmt: skip
    opacity = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    mark = {"type": "point", "filled": True, "size": 70, "tooltip": {"expr": tips}}
    return {
        "name": vega.HOVER,
        "data": {"name": _LINE},
        "params": [near],
        "mark": mark,
        "encoding": {"x": x, "y": y, "color": hue, "opacity": opacity},
    }


def _tooltip(curve: Curve, *, by_measure: bool, x_is_threshold: bool, series_name: str) -> str:
    """Return the tooltip of a curve as an expression.

    It is an expression because Vega-Lite 6.4 shows ``undefined`` for text in the tooltip of the
    nearest point, whose row is nested one level deeper than that of the point itself.
    """
    row = "(datum.datum || datum)"
    x_name, y_name = (
        json.dumps(escape_unprintable(name)) for name in (curve.x_label, curve.y_label)
    )
    name_label = '"system"'
    if by_measure:
        name_label, y_name = '"measure"', '"value"'
    elif curve.series:
        name_label = json.dumps(series_name)
    value = f"{row}.%s"
    if curve.scale == "deviate":
        value = f"cumulativeNormal({row}.%s)"
    x, y = (f"format({value % axis}, '.4~f')" for axis in "xy")
    threshold_entry = ""
    if curve.parameter and curve.parameter.lower() != curve.x_label.lower() and not x_is_threshold:
        threshold_entry = f"{json.dumps(escape_unprintable(curve.parameter))}: {row}.threshold, "
    if by_measure:
        x = f"format({row}.x, '.4~g')"
    return f"{{{name_label}: {row}.system, {threshold_entry}{x_name}: {x}, {y_name}: {y}}}"
