"""Charts as Vega-Lite specs: plain dicts made from results, the same every time.

Ink is ``currentColor``, so that a chart inside a page follows its light or dark theme. Names of
systems, measures and units come in as data or as axis labels only, never in an expression, and
always through :func:`~calipers.report.names.visible`: the renderer aborts the whole process on a
control character. Nothing is clipped, because clip paths carry ids, which would clash in one page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
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
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4))

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
    panels = _panels(comparison, by_measure, by_direction=True)
    rows = _row_labels(comparison)
    return _spec(vconcat=[_differences_panel(panel, rows) for panel in panels])


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
    whisker["encoding"]["x"]["title"] = _direction(panel[0])
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


def _direction(d: Difference) -> str:
    if d.higher_is_better is None:
        return "difference"
    return "← worse · better →" if d.higher_is_better else "← better · worse →"


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

    ``systems`` gives the order of the colours where not every system has a curve. The vertices are
    joined by straight lines.
    """
    names = labels(systems or [c.system for c in curves], _LABEL)
    shown = list(names.values())
    line = [row for c in curves for row in _line_data(c, names[c.system])]
    band = [row for c in curves for row in _band_data(c, names[c.system])]
    x, y = _axes(curves)
    legend: Spec = {"symbolType": "stroke", "symbolOpacity": 1, "symbolSize": 300}
    if sum(map(len, shown)) > _LEGEND_LINE:
        legend["columns"] = 1
    hue = _category("system", scale=_scale(shown, PALETTE), legend=legend)
    dashes = [list(dash) for dash in DASHES]
    dash = _category("system", scale=_scale(shown, dashes), legend=legend)
    if len(shown) == 1:
        hue, dash = {"value": PALETTE[0]}, {"value": [1, 0]}
    layers = [_chance_layer(curves, x, y)] if any(c.chance for c in curves) else []
    if band:
        layers.append(_band_layer(band, x, y, hue))
    layers += [_line_layer(line, x, y, hue, dash), _hover_layer(line, x, y, hue, curves[0])]
    if curves[0].at != "threshold":  # few points, which were chosen: show them
        layers[-2]["mark"]["point"] = {"filled": True, "size": 36, "opacity": 1}
    return _spec(width=400, height=360, layer=layers)


def _line_data(curve: Curve, system: str) -> list[Spec]:
    return [
        {"i": i, "x": _finite(x), "y": _finite(y), "system": system, "threshold": threshold_text(t)}
        for i, (x, y, t) in enumerate(zip(curve.x, curve.y, curve.threshold, strict=True))
        if math.isfinite(x) and math.isfinite(y)
    ]


def threshold_text(t: float) -> str:
    """A threshold as a tooltip or a table shows it."""
    if math.isnan(t):
        return "–"
    return f"{t:.4g}" if math.isfinite(t) else ("∞" if t > 0 else "-∞")


def _band_data(curve: Curve, system: str) -> list[Spec]:
    return [
        {"x": _finite(x), "low": _finite(low), "high": _finite(high), "system": system}
        for x, low, high in zip(curve.band_x, curve.low, curve.high, strict=True)
        if math.isfinite(x) and math.isfinite(low) and math.isfinite(high)
    ]


def _axes(curves: Sequence[Curve]) -> tuple[Spec, Spec]:
    first = curves[0]
    x = _quantity("x", title=visible(first.x_label), scale=_domain([c.x for c in curves]))
    y = _quantity("y", title=visible(first.y_label), scale=_domain([c.y for c in curves]))
    tops = [v for c in curves for v in (*c.y, *c.high) if math.isfinite(v)]
    if first.at != "threshold" and max(tops, default=1.0) <= _LOW:
        y["scale"] = {"zero": True}
    x["axis"] = y["axis"] = {"tickCount": 5}
    return x, y


def _domain(columns: Sequence[FloatArray]) -> Spec:
    """All of 0 to 1 for rates, else what the data span."""
    values = [float(v) for column in columns for v in column if math.isfinite(v)]
    rates = all(0 <= v <= 1 for v in values)
    return {"domain": [0, 1], "nice": False} if rates else {"zero": False}


def _chance_layer(curves: Sequence[Curve], x: Spec, y: Spec) -> Spec:
    lines = dict.fromkeys(c.chance for c in curves if c.chance is not None)
    data = [
        {"x": _finite(a), "y": _finite(b), "x2": _finite(c), "y2": _finite(d)}
        for (a, b), (c, d) in lines
    ]
    mark = {"type": "rule", "strokeDash": [3, 3], "opacity": 0.55, "color": "currentColor"}
    ends = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    return {"data": {"values": data}, "mark": mark, "encoding": {"x": x, "y": y, **ends}}


def _band_layer(data: list[Spec], x: Spec, y: Spec, hue: Spec) -> Spec:
    limits = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    mark = {"type": "area", "opacity": 0.16}
    encoding = {"x": x, **limits, "color": hue}
    return {"data": {"values": data}, "mark": mark, "encoding": encoding}


def _line_layer(data: list[Spec], x: Spec, y: Spec, hue: Spec, dash: Spec) -> Spec:
    encoding = {"x": x, "y": y, "color": hue, "strokeDash": dash, "order": _quantity("i")}
    mark = {"type": "line", "strokeWidth": 2, "strokeJoin": "round"}
    return {"data": {"values": data}, "mark": mark, "encoding": encoding}


def _hover_layer(data: list[Spec], x: Spec, y: Spec, hue: Spec, curve: Curve) -> Spec:
    near = {"name": "near", "select": {"type": "point", "nearest": True, "on": "pointerover",
                                       "clear": "pointerout"}}  # fmt: skip
    seen = {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0}
    mark = {"type": "point", "filled": True, "size": 70, "tooltip": {"expr": _tips(curve)}}
    return {
        "name": HOVER,
        "data": {"values": data},
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
    place = f"{json.dumps(visible(curve.at))}: {row}.threshold, " if curve.at else ""
    return (
        f"{{'system': {row}.system, {place}"
        f"{x_name}: format({row}.x, '.4~f'), {y_name}: format({row}.y, '.4~f')}}"
    )


#: The layer that only a pointer can see.
HOVER = "hover"


def still(spec: Spec) -> Spec:
    """``spec`` without what only a pointer can see, for a picture."""
    if "layer" not in spec:
        return spec
    return {**spec, "layer": [layer for layer in spec["layer"] if layer.get("name") != HOVER]}


# --- Units ----------------------------------------------------------------------------------------


def per_unit_chart(
    per_unit: PerUnit,
    measure: str,
    system: str,
    baseline: str,
    higher_is_better: bool | None = None,
) -> Spec:
    """The difference on each unit, sorted: how many units gain, how many lose, and which."""
    rows = unit_differences(per_unit, measure, system, baseline)
    data = [
        {"i": i, "unit": visible(unit)[:80], "system": _finite(a, 4), "baseline": _finite(b, 4),
         "difference": _finite(a - b, 4), "sign": _sign(a - b)}
        for i, (unit, a, b) in thinned(list(enumerate(rows)), MOST_BARS)
    ]  # fmt: skip
    signs = {"domain": [1, 0, -1], "range": _sign_colors(higher_is_better)}
    return _spec(
        width=900 if len(data) > FEW_BARS else 410,
        height=260,
        data={"values": data},
        mark={"type": "bar", "binSpacing": 0},
        encoding={
            "x": {"field": "i", "type": "ordinal", "axis": None},
            "y": _quantity("difference", title="difference", axis={"tickCount": 5}),
            "color": {"field": "sign", "type": "ordinal", "scale": signs, "legend": None},
            "tooltip": _tooltip(("unit", "unit"), ("difference", "difference"),
                                ("system", "system"), ("baseline", "baseline")),
        },
    )  # fmt: skip


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
