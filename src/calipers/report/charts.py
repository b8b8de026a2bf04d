"""Charts as Vega-Lite specs: plain dicts made from results, the same every time.

Ink is ``currentColor``, so that a chart inside a page follows its light or dark theme. Names of
systems, measures and units come in as data or as axis labels only, never in an expression, and
always through :func:`~calipers.report.names.visible`: the renderer aborts the whole process on a
control character. Nothing is clipped, because clip paths carry ids, which would clash in one page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from statistics import NormalDist
from typing import Any

from calipers.report import numbers
from calipers.report.names import labels, visible
from calipers.report.verdict import outcome
from calipers.results import (
    Comparison,
    Curve,
    Definition,
    Difference,
    Estimate,
    Evaluation,
    FloatArray,
    PerUnit,
)

Spec = dict[str, Any]

#: Okabe and Ito's colours, which colour-blind readers tell apart, without yellow and black: one
#: is too pale on white, the other vanishes on a dark page.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: One more than there are colours, so that a colour that comes again has another pattern.
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4), (10, 2, 2, 2, 2, 2), (1, 3))

#: The most bars that a chart of units draws; more are thinned, evenly over the sorted units.
MOST_BARS = 400
#: So many fit in half the width of a page.
FEW_BARS = 100

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_LABEL = 32
#: The letters that fit beside each other under a chart.
_LEGEND_LINE = 36
#: Precision of rankings that stays below this is drawn larger.
_LOW = 0.5
_CONFIG: Spec = {
    "aria": False,  # the figure around the chart says what it shows
    "background": None,
    # The renderer brings Liberation Sans along, so text is measured alike on every machine.
    "font": "Liberation Sans, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor", "titleColor": "currentColor", "gridColor": "currentColor",
        "labelOpacity": 0.8, "gridOpacity": 0.13, "domain": False, "ticks": False,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelPadding": 6, "titlePadding": 10, "labelLimit": 260, "labelFlush": False,
    },
    "legend": {
        "labelColor": "currentColor", "labelFontSize": 12, "labelLimit": 300,
        "orient": "bottom", "title": None, "symbolStrokeWidth": 2.5,
    },
    "concat": {"spacing": 24},
}  # fmt: skip


def _spec(**parts: Any) -> Spec:
    # Labels are as wide as the reader's font makes them: leave them room.
    padding = {"left": 16, "top": 5, "right": 10, "bottom": 5}
    return {"$schema": _SCHEMA, "config": _CONFIG, "padding": padding, **parts}


def color(index: int) -> str:
    """The colour of the system at ``index``."""
    return PALETTE[index % len(PALETTE)]


def _scale(names: Sequence[str], values: Sequence[Any]) -> Spec:
    picked = [values[i % len(values)] for i in range(len(names))]
    return {"domain": list(names), "range": picked}


def _quantity(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", **more}


def _category(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "nominal", "sort": None, **more}


def _tooltip(*pairs: tuple[str, str]) -> list[Spec]:
    return [{"field": field, "title": title, "type": "nominal"} for field, title in pairs]


def _finite(x: float, digits: int = 6) -> float | None:
    """``x`` for JSON, with the digits that a drawing can show."""
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


# --- Dots and whiskers ----------------------------------------------------------------------------


def estimates_chart(evaluation: Evaluation) -> Spec:
    """A dot and a whisker for each measure and system; measures of one range share a scale."""
    systems = labels(evaluation.systems, _LABEL)
    names = labels(evaluation.measures, _LABEL)
    definitions = {d.measure: d for d in evaluation.definitions}
    panels = _panels(evaluation.estimates, definitions)
    data = [[_estimate_datum(e, systems, names) for e in panel] for panel in panels]
    return _spec(vconcat=[_estimates_panel(rows, list(systems.values())) for rows in data])


def _estimate_datum(e: Estimate, systems: Mapping[str, str], names: Mapping[str, str]) -> Spec:
    digits = numbers.single(e.value, e.low, e.high)
    return {
        "measure": names[e.measure],
        "system": systems[e.system],
        **_numbers(e.value, e.low, e.high),
        "text": digits.triple(e.value, e.low, e.high),
    }


def _numbers(value: float, low: float, high: float) -> Spec:
    """One-sided intervals have an infinite limit; their whisker ends at the value."""
    limits = {"low": low, "high": high}
    drawn = {k: _finite(value if math.isinf(x) else x) for k, x in limits.items()}
    return {"value": _finite(value), **drawn}


def _estimates_panel(data: list[Spec], systems: list[str]) -> Spec:
    several = len(systems) > 1
    shared: Spec = {
        "y": _category("measure", title=None),
        "color": _category("system", scale=_scale(systems, PALETTE)),
        "tooltip": _tooltip(("measure", "measure"), ("system", "system"), ("text", "value")),
    }
    if several:
        shared["yOffset"] = _category("system", scale={"domain": systems})
    else:
        shared["color"] = {"value": PALETTE[0]}
    return {
        "width": 420,
        "height": {"step": 16 if several else 28},
        "data": {"values": data},
        "encoding": shared,
        "layer": [_whisker(data), _dot()],
    }


def _whisker(data: list[Spec], *also: float) -> Spec:
    """The intervals, on a scale that has room for them and for ``also``."""
    seen = [row[k] for row in data for k in ("value", "low", "high") if row[k] is not None]
    x = _quantity("low", title=None, axis={"tickCount": 4}, scale=_room([*seen, *also]))
    mark = {"type": "rule", "strokeWidth": 2}
    return {"mark": mark, "encoding": {"x": x, "x2": {"field": "high"}}}


def _room(values: Sequence[float]) -> Spec:
    if not values or min(values) == max(values):
        return {"zero": False}
    margin = 0.05 * (max(values) - min(values))
    ends = [_finite(min(values) - margin), _finite(max(values) + margin)]
    return {"domain": ends, "nice": False}


def _dot() -> Spec:
    mark = {"type": "point", "filled": True, "size": 80, "opacity": 1}
    return {"mark": mark, "encoding": {"x": _quantity("value")}}


def _panels(
    results: Iterable[Any], definitions: Mapping[str, Definition], *, by_direction: bool = False
) -> list[list[Any]]:
    """Results that one scale can hold: measures of the same bounded range, else of one measure."""
    panels: dict[Hashable, list[Any]] = {}
    for result in results:
        definition = definitions.get(result.measure)
        key: Hashable = result.measure
        if definition is not None and None not in definition.range:
            key = (definition.range, definition.higher_is_better if by_direction else None)
        panels.setdefault(key, []).append(result)
    return list(panels.values())


# --- Differences ----------------------------------------------------------------------------------


def differences_chart(comparison: Comparison, definitions: Iterable[Definition] = ()) -> Spec:
    """Each paired difference with its interval, around zero; full dots are told apart."""
    by_measure = {d.measure: d for d in definitions}
    defined = [d for d in comparison if math.isfinite(d.value)]
    panels = _panels(defined, by_measure, by_direction=True)
    rows = _row_labels(comparison)
    made = _spec(vconcat=[_differences_panel(panel, rows) for panel in panels])
    # Names as long as these may well be wider in the reader's font.
    longest = max((len(row) for row in rows.values()), default=0)
    return {**made, "padding": {**made["padding"], "left": 16 + longest}}


def _row_labels(comparison: Comparison) -> dict[tuple[str, str, str], str]:
    measures = labels((d.measure for d in comparison), _LABEL)
    systems = labels((name for d in comparison for name in (d.system, d.baseline)), _LABEL // 2)
    keys = [(d.measure, d.system, d.baseline) for d in comparison]
    if len({key[1:] for key in keys}) == 1:
        return {key: measures[key[0]] for key in keys}
    return {k: f"{measures[k[0]]}, {systems[k[1]]} - {systems[k[2]]}" for k in keys}


def _differences_panel(panel: list[Difference], rows: Mapping[tuple[str, str, str], str]) -> Spec:
    data = [_difference_datum(d, rows[d.measure, d.system, d.baseline]) for d in panel]
    told = {"condition": {"test": "datum.told", "value": PALETTE[0]}, "value": "currentColor"}
    # A hollow dot is filled with nothing, so the whisker shows through; that is fine at this size.
    fill = {"condition": {"test": "datum.told", "value": PALETTE[0]}, "value": "none"}
    whisker, dot, hollow = _whisker(data, 0.0), _dot(), {"fill": fill}
    whisker["encoding"]["x"]["title"] = _direction(panel[0].higher_is_better)
    dot["mark"]["filled"] = False
    dot["encoding"] |= hollow
    zero = {"type": "rule", "strokeDash": [3, 3], "opacity": 0.6, "color": "currentColor"}
    shared = {
        "y": _category("row", title=None),
        "stroke": told,
        "tooltip": _tooltip(("row", "difference of"), ("text", "difference"), ("p", "p"),
                            ("verdict", "verdict")),
    }  # fmt: skip
    return {
        "width": 420,
        "height": {"step": 26},
        "data": {"values": data},
        "layer": [
            {"mark": zero, "encoding": {"x": {"datum": 0}}},
            {"encoding": shared, "layer": [whisker, dot]},
        ],
    }


def _direction(higher_is_better: bool | None) -> str:
    if higher_is_better is None:
        return "difference"
    return "← worse · better →" if higher_is_better else "← better · worse →"


def _difference_datum(d: Difference, row: str) -> Spec:
    digits = numbers.rounding([(d.value, d.low, d.high)], keep_sign=True)
    found = outcome(d)
    return {
        "row": row,
        **_numbers(d.value, d.low, d.high),
        "text": digits.triple(d.value, d.low, d.high),
        "p": numbers.p_digits(d.p_adjusted),
        "verdict": found.value,
        "told": found.decided,
    }


# --- Curves ---------------------------------------------------------------------------------------


def curve_chart(curves: Sequence[Curve], systems: Sequence[str] = ()) -> Spec:
    """The curves of one kind, with bands, the line of chance, and a threshold under the pointer.

    ``systems`` gives the order of the colours where not every system has a curve. Curves that
    belong to one system and differ in their class or measure are named by that.
    """
    by, order = _told_apart(curves, systems)
    names = labels(order, _LABEL)
    shown = list(names.values())
    x, y = _axes(curves)
    legend: Spec = {"symbolType": "stroke", "symbolOpacity": 1, "symbolSize": 300}
    if sum(map(len, shown)) > _LEGEND_LINE:
        legend["columns"] = 1 if max(map(len, shown)) > _LEGEND_LINE // 3 else 3
    hue = _category("system", scale=_scale(shown, PALETTE), legend=legend)
    dashes = [list(dash) for dash in DASHES]
    dash = _category("system", scale=_scale(shown, dashes), legend=legend)
    if len(shown) == 1:
        hue, dash = {"value": PALETTE[0]}, {"value": [1, 0]}
    # The points are written once and drawn twice: as a line, and as what the pointer finds.
    line = [row for c in curves for row in _line_data(c, names[by(c)])]
    layers = [_chance_layer(curves, x, y)] if has_chance(curves) else []
    layers += _reference_layers(curves, x, y)
    for wide, opacity in ((True, 0.08), (False, 0.16)):
        band = [row for c in curves for row in _band_data(c, names[by(c)], wide=wide)]
        if band:
            layers.append(_band_layer(band, x, y, hue, opacity))
    layers.append(_line_layer(x, y, hue, dash, curves[0]))
    layers += _mark_layers(curves, {c: names[by(c)] for c in curves}, x, y, hue)
    layers.append(_hover_layer(x, y, hue, curves[0]))
    return _spec(width=400, height=360, datasets={_LINE: line}, layer=layers)


#: Of more lines of chance than these nobody could say whose they are.
_MOST_CHANCE = 3


def has_chance(curves: Sequence[Curve]) -> bool:
    """Whether the chart of some curves has the line of a system that knows nothing."""
    return 0 < len({c.chance for c in curves} - {None}) <= _MOST_CHANCE


#: The name of the data that the line and the pointer share.
_LINE = "line"


def _told_apart(
    curves: Sequence[Curve], systems: Sequence[str]
) -> tuple[Callable[[Curve], str], list[str]]:
    """What each curve is called in a legend, and the names in the order of their colours."""

    def of_class(c: Curve) -> str:
        return c.series

    def of_measure(c: Curve) -> str:
        return c.y_label

    def of_system(c: Curve) -> str:
        return c.system

    if any(c.series for c in curves):
        return of_class, [c.series for c in curves]
    if curves[0].kind == "threshold":
        return of_measure, [c.y_label for c in curves]
    return of_system, list(systems or [c.system for c in curves])


def _line_data(curve: Curve, name: str) -> list[Spec]:
    """A point a row; a row without a value breaks the line."""
    rows = []
    for place, (x, y) in enumerate(zip(*_drawn(curve), strict=True)):
        if not math.isfinite(x):
            continue
        shown = math.isfinite(y) and not y < curve.bottom
        datum = {"x": _finite(x, 4), "y": _finite(y, 4) if shown else None, "system": name}
        if curve.at and curve.threshold[place] != x:
            datum["threshold"] = threshold_text(curve.threshold[place])
        rows.append(datum)
    return rows


def _drawn(curve: Curve) -> tuple[Iterable[float], Iterable[float]]:
    """The points in the units of the drawing; a rate that has no place there is NaN."""
    if curve.scale != "deviate":
        return curve.x.tolist(), curve.y.tolist()
    return [deviate(x) for x in curve.x.tolist()], [deviate(y) for y in curve.y.tolist()]


def deviate(rate: float) -> float:
    """The normal deviate of a rate, where a drawing has room for it."""
    return NormalDist().inv_cdf(rate) if RAREST <= rate <= 1 - RAREST else float("nan")


#: Rates of a DET curve are drawn from here on.
RAREST = 0.001
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


def threshold_text(t: float) -> str:
    """A threshold as a tooltip or a table shows it."""
    if math.isnan(t):
        return "–"
    return f"{t:.4g}" if math.isfinite(t) else ("∞" if t > 0 else "-∞")


def _band_data(curve: Curve, name: str, *, wide: bool) -> list[Spec]:
    """A place a row; what lies beyond the drawing ends at its border."""
    limits = (curve.wide_low, curve.wide_high) if wide else (curve.low, curve.high)
    if not all(map(len, limits)):
        return []
    normal = curve.scale == "deviate"

    def edge(y: float) -> float:
        if normal:
            return deviate(_kept_rate(y))
        return max(y, curve.bottom)

    places = zip(*(column.tolist() for column in (curve.band_x, *limits)), strict=True)
    rows = ((deviate(x) if normal else x, edge(low), edge(high)) for x, low, high in places)
    return [
        {"x": _finite(x, 4), "low": _finite(low, 4), "high": _finite(high, 4), "system": name}
        for x, low, high in rows
        if math.isfinite(x) and math.isfinite(low) and math.isfinite(high)
    ]


def _kept_rate(rate: float) -> float:
    """``rate``, or the last on its side that has a place among normal deviates."""
    return min(max(rate, RAREST), 1 - RAREST)


def _axes(curves: Sequence[Curve]) -> tuple[Spec, Spec]:
    first = curves[0]
    y_title = "" if first.kind == "threshold" else visible(first.y_label)
    x = _quantity("x", title=visible(first.x_label))
    y = _quantity("y", title=y_title or None)
    if first.scale == "deviate":
        places = [_finite(NormalDist().inv_cdf(rate)) for rate in _RATES]
        ends = {"domain": [places[0], places[-1]], "nice": False}
        written = "format(cumulativeNormal(datum.value), '.2~%')"
        axis = {"values": places, "labelExpr": written}
        return {**x, "scale": ends, "axis": axis}, {**y, "scale": ends, "axis": axis}
    lines = [point for c in curves for line in c.references.values() for point in line]
    bottoms = [c.bottom for c in curves if math.isfinite(c.bottom)]
    x["scale"] = _domain([c.x for c in curves])
    y["scale"] = _domain([c.y[~(c.y < c.bottom)] for c in curves])
    if bottoms:
        tops = [v for c in curves for v in (*c.y, *c.high) if math.isfinite(v)]
        tops += [point[1] for point in lines]
        y["scale"] = {"domain": [_finite(min(bottoms)), _finite(max(tops))], "nice": False}
    tops = [v for c in curves for v in (*c.y, *c.high) if math.isfinite(v)]
    if first.at != "threshold" and max(tops, default=1.0) <= _LOW:
        y["scale"] = {"zero": True}
    # Asked for once a chart: every layer shares the axes.
    x["axis"] = y["axis"] = {"tickCount": 5}
    return x, y


def _domain(columns: Sequence[FloatArray]) -> Spec:
    """All of 0 to 1 for rates, else what the data span."""
    values = [float(v) for column in columns for v in column if math.isfinite(v)]
    rates = all(0 <= v <= 1 for v in values)
    return {"domain": [0, 1], "nice": False} if rates else {"zero": False}


def _chance_layer(curves: Sequence[Curve], x: Spec, y: Spec) -> Spec:
    lines = dict.fromkeys(c.chance for c in curves if c.chance is not None)
    data = []
    for start, end in lines:
        if curves[0].scale == "deviate":
            # A straight line here too: the deviate of 1 − f is minus that of f.
            rates = (map(_kept_rate, point) for point in (start, end))
            (a, b), (c, d) = (map(deviate, point) for point in rates)
        else:
            (a, b), (c, d) = start, end
        data.append({"x": _finite(a), "y": _finite(b), "x2": _finite(c), "y2": _finite(d)})
    mark = {"type": "rule", "strokeDash": [3, 3], "opacity": 0.55, "color": "currentColor"}
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    return {"data": {"values": data}, "mark": mark, "encoding": {"x": x, "y": y, **ends}}


def _reference_layers(curves: Sequence[Curve], x: Spec, y: Spec) -> list[Spec]:
    """The other lines that a curve is read against, each with its name at its highest point."""
    own = _OWN if len({c.system for c in curves}) > 1 else ""
    lines = dict.fromkeys(
        (name, tuple((a, b) for a, b in points))
        for c in curves
        for name, points in c.references.items()
        if name != own
    )
    if not lines:
        return []
    data = [
        {"x": _finite(a, 4), "y": _finite(b, 4), "line": i}
        for i, (_, points) in enumerate(lines)
        for a, b in points
    ]
    tops = {name: max(points, key=itemgetter(1)) for name, points in lines}
    mark = {"type": "line", "strokeWidth": 1, "strokeDash": [2, 3], "color": "currentColor",
            "opacity": 0.7}  # fmt: skip
    grouped = {"x": _unsorted(x), "y": y, "detail": {"field": "line", "type": "nominal"}}
    layers: list[Spec] = [{"data": {"values": data}, "mark": mark, "encoding": grouped}]
    for left in (True, False):
        named = [
            {"x": _finite(a, 4), "y": _finite(b, 4), "name": visible(name)}
            for name, (a, b) in tops.items()
            if (a < 1 / 2) is left
        ]
        text = {"type": "text", "align": "left" if left else "right", "dx": 4 if left else -4,
                "dy": -7, "color": "currentColor", "opacity": 0.8, "fontSize": 11}  # fmt: skip
        encoding = {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}}
        if named:
            layers.append({"data": {"values": named}, "mark": text, "encoding": encoding})
    return layers


#: Drawn where there is one system only: several would not be told apart.
_OWN = "threshold in use"


def _unsorted(x: Spec) -> Spec:
    """The axis of a line whose points are joined in the order of the data."""
    return {**x, "sort": None}


def _band_layer(data: list[Spec], x: Spec, y: Spec, hue: Spec, opacity: float) -> Spec:
    limits = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    mark = {"type": "area", "opacity": opacity}
    encoding = {"x": x, **limits, "color": hue}
    return {"data": {"values": data}, "mark": mark, "encoding": encoding}


def _line_layer(x: Spec, y: Spec, hue: Spec, dash: Spec, curve: Curve) -> Spec:
    encoding = {"x": _unsorted(x), "y": y, "color": hue, "strokeDash": dash}
    mark: Spec = {"type": "line", "strokeWidth": 2, "strokeJoin": "round"}
    if curve.shape == "step":
        mark["interpolate"] = "step-before"
    if curve.at != "threshold":  # few points, which were chosen: show them
        mark["point"] = {"filled": True, "size": 36, "opacity": 1}
    return {"data": {"name": _LINE}, "mark": mark, "encoding": encoding}


def _mark_layers(
    curves: Sequence[Curve], names: Mapping[Curve, str], x: Spec, y: Spec, hue: Spec
) -> list[Spec]:
    """Where the threshold in use is: an upright line against thresholds, else a dot."""
    if curves[0].kind == "threshold":
        cuts = sorted({c.cut for c in curves if math.isfinite(c.cut)})
        return [_cut_layer(cut, x) for cut in cuts]
    data = []
    for c in curves:
        if c.mark is None:
            continue
        at = [deviate(v) for v in c.mark] if c.scale == "deviate" else list(c.mark)
        if all(map(math.isfinite, at)) and not at[1] < c.bottom:
            data.append({"x": _finite(at[0], 4), "y": _finite(at[1], 4), "system": names[c]})
    if not data:
        return []
    mark = {"type": "point", "filled": True, "size": 90, "opacity": 1}
    encoding = {"x": x, "y": y, "color": hue}
    return [{"data": {"values": data}, "mark": mark, "encoding": encoding}]


def _cut_layer(cut: float, x: Spec) -> Spec:
    mark = {"type": "rule", "strokeDash": [5, 3], "opacity": 0.8, "color": "currentColor"}
    place = {**x, "field": "cut"}
    return {"data": {"values": [{"cut": _finite(cut)}]}, "mark": mark, "encoding": {"x": place}}


def _hover_layer(x: Spec, y: Spec, hue: Spec, curve: Curve) -> Spec:
    near = {"name": "near", "select": {"type": "point", "nearest": True, "on": "pointerover",
                                       "clear": "pointerout"}}  # fmt: skip
    seen = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    mark = {"type": "point", "filled": True, "size": 70, "tooltip": {"expr": _tips(curve)}}
    return {
        "name": HOVER,
        "data": {"name": _LINE},
        "params": [near],
        "mark": mark,
        "encoding": {"x": x, "y": y, "color": hue, "opacity": seen},
    }


def _tips(curve: Curve) -> str:
    """The tooltip of a curve as an expression.

    Written out because Vega-Lite 6.4 shows ``undefined`` for text in the tooltip of the nearest
    point, whose row it keeps one level deeper than that of the point itself.
    """
    row = "(datum.datum || datum)"
    x_name, y_name = (json.dumps(visible(name)) for name in (curve.x_label, curve.y_label))
    who = '"system"'
    if curve.kind == "threshold":
        who, y_name = '"measure"', '"value"'
    elif curve.series:
        who = '"class"'
    value = f"{row}.%s"
    if curve.scale == "deviate":
        value = f"cumulativeNormal({row}.%s)"
    x, y = (f"format({value % axis}, '.4~f')" for axis in "xy")
    place = ""
    if curve.at and curve.at.lower() != curve.x_label.lower() and curve.kind != "net benefit":
        place = f"{json.dumps(visible(curve.at))}: {row}.threshold, "
    if curve.kind == "threshold":
        x = f"format({row}.x, '.4~g')"
    return f"{{{who}: {row}.system, {place}{x_name}: {x}, {y_name}: {y}}}"


#: The layer that only a pointer can see.
HOVER = "hover"


def still(spec: Spec) -> Spec:
    """``spec`` without what only a pointer can see, for a picture."""
    if "vconcat" in spec:
        return {**spec, "vconcat": [still(panel) for panel in spec["vconcat"]]}
    if "layer" not in spec:
        return spec
    return {**spec, "layer": [layer for layer in spec["layer"] if layer.get("name") != HOVER]}


# --- Densities ------------------------------------------------------------------------------------


def density_chart(negative: Curve, positive: Curve) -> Spec:
    """The densities of the scores of both classes, with the threshold in use and, in the legend,
    what lies on both sides of it: errors are drawn strong, the rest pale."""
    names = labels((negative.series, positive.series), _LABEL // 2)
    of = [(c, names[c.series], pair) for c, pair in ((negative, _ORANGES), (positive, _BLUES))]
    split = math.isfinite(negative.cut)
    bars: list[Spec] = []
    outlines: list[Spec] = []
    colors: dict[str, str] = {}
    for curve, name, (pale, strong) in of:
        sides = _sides(curve, name) if split else (name, name)
        wrong = int(curve is negative)
        for side, text in enumerate(sides):
            colors[text] = strong if split and side == wrong else pale
        for x, x2, y in zip(curve.x[:-1], curve.x[1:], curve.y[:-1], strict=True):
            if math.isfinite(y):
                place = {"x": _finite(x), "x2": _finite(x2), "y": _finite(y, 4)}
                bars.append({**place, "area": sides[int(x >= curve.cut)]})
        for x, y in zip(curve.x, curve.y, strict=True):
            outlines.append({"x": _finite(x), "y": _finite(y, 4), "color": strong, "name": name})
    # What is strong lies on top, or the other class would hide it.
    strong_colors = {_ORANGES[1], _BLUES[1]}
    bars.sort(key=lambda bar: colors[bar["area"]] in strong_colors)
    domain = [float(negative.x[0]), float(negative.x[-1])]
    x = _quantity(
        "x",
        title=visible(negative.x_label),
        scale={"domain": [_finite(v) for v in domain], "nice": False},
        axis={"tickCount": 5},
    )
    y = _quantity("y", title=visible(negative.y_label), axis={"tickCount": 4})
    legend = {
        "columns": 1 if max(map(len, colors)) > _LEGEND_LINE // 2 else 2,
        "symbolType": "square",
    }
    scale = {"domain": list(colors), "range": list(colors.values())}
    area = _category("area", scale=scale, legend={**legend, "symbolOpacity": 0.75})
    ends = {"x2": {"field": "x2"}, "y2": {"datum": 0}}
    tips = _tooltip(("area", "area"), ("x", "from"), ("x2", "to"), ("y", "density"))
    layers: list[Spec] = [
        {
            "data": {"values": bars},
            "mark": {"type": "rect", "opacity": 0.6, "stroke": None},
            "encoding": {"x": x, "y": y, **ends, "color": area, "tooltip": tips},
        },
        {
            "data": {"values": outlines},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
            "encoding": {"x": _unsorted(x), "y": y, "detail": _category("name"),
                         "stroke": {"field": "color", "type": "nominal", "scale": None}},
        },
    ]  # fmt: skip
    if split and domain[0] <= negative.cut <= domain[1]:
        layers.append(_cut_layer(negative.cut, x))
    return _spec(width=400, height=260, layer=layers)


#: Pale for what is right, strong for errors: of the negatives, and of the positives.
_ORANGES = ("#F0B98D", "#D55E00")
_BLUES = ("#8FC1E3", "#0072B2")


def _sides(curve: Curve, name: str) -> tuple[str, str]:
    """What lies below the threshold and what at or above it, in words."""
    total = sum(curve.areas.values())
    below, above = (key for key in ("FN", "TN", "TP", "FP") if key in curve.areas)
    return tuple(  # type: ignore[return-value]
        f"{key} {numbers.number(curve.areas[key])} ({_percent(curve.areas[key], total)} of {name})"
        for key in (below, above)
    )


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "–"


# --- Units ----------------------------------------------------------------------------------------


def per_unit_chart(
    per_unit: PerUnit,
    measure: str,
    system: str,
    baseline: str,
    higher_is_better: bool | None = None,
) -> Spec:
    """The difference on each unit, sorted: how many units gain, how many lose, and which."""
    return unit_chart(unit_differences(per_unit, measure, system, baseline), higher_is_better)


def unit_chart(
    rows: Sequence[tuple[str, float, float]], higher_is_better: bool | None = None
) -> Spec:
    """The differences of ``rows``, as :func:`unit_differences` gives them, as bars with the id of
    the unit under the pointer, and a dashed line at their mean."""
    data = [
        {"i": i, "unit": visible(unit)[:80], "system": _finite(a, 4), "baseline": _finite(b, 4),
         "difference": _finite(a - b, 4), "sign": _sign(a - b)}
        for i, (unit, a, b) in thinned(list(enumerate(rows)), MOST_BARS)
    ]  # fmt: skip
    signs = {"domain": [1, 0, -1], "range": _sign_colors(higher_is_better)}
    y = _quantity("difference", title="difference", axis={"tickCount": 5})
    bars: Spec = {
        "mark": {"type": "bar", "binSpacing": 0},
        "encoding": {
            "x": {"field": "i", "type": "ordinal", "axis": None},
            "y": y,
            "color": {"field": "sign", "type": "ordinal", "scale": signs, "legend": None},
            "tooltip": _tooltip(("unit", "unit"), ("difference", "difference"),
                                ("system", "system"), ("baseline", "baseline")),
        },
    }  # fmt: skip
    layers = [bars]
    if rows:
        mean = math.fsum(a - b for _, a, b in rows) / len(rows)
        mark = {"type": "rule", "strokeDash": [6, 3], "color": "currentColor", "opacity": 0.8}
        layers.append(
            {
                "data": {"values": [{"mean": _finite(mean)}]},
                "mark": mark,
                "encoding": {"y": {**y, "field": "mean"}, "tooltip": _tooltip(("mean", "mean"))},
            }
        )
    return _spec(
        width=900 if len(data) > FEW_BARS else 410,
        height=260,
        data={"values": data},
        layer=layers,
    )


def unit_differences(
    per_unit: PerUnit, measure: str, system: str, baseline: str
) -> list[tuple[str, float, float]]:
    """Unit, value of the system, value of the baseline; largest difference first, undefined out."""
    ours, theirs = per_unit.values[system][measure], per_unit.values[baseline][measure]
    rows = [
        (unit, float(a), float(b))
        for unit, a, b in zip(per_unit.ids, ours, theirs, strict=True)
        if math.isfinite(a) and math.isfinite(b)
    ]
    return sorted(rows, key=lambda row: (row[2] - row[1], row[0]))


def thinned(rows: list[Any], most: int) -> list[Any]:
    """At most ``most`` of ``rows``, evenly spaced, the first and the last among them."""
    if len(rows) <= most:
        return rows
    step = (len(rows) - 1) / (most - 1)
    return [rows[round(i * step)] for i in range(most)]


def extremes(rows: list[Any], most: int) -> list[Any]:
    """At most ``most`` of ``rows``: the first half of them and the last."""
    return rows if len(rows) <= most else rows[: most // 2] + rows[-(most // 2) :]


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)


def _sign_colors(higher_is_better: bool | None) -> list[str]:
    better, worse = PALETTE[0], PALETTE[1]
    up, down = (worse, better) if higher_is_better is False else (better, worse)
    return [up, "currentColor", down]
