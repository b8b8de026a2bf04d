"""Vega-Lite specs of charts: plain dicts, reproducible for the same results.

Lines and text are ``currentColor``, so that a chart in a page follows its light or dark theme.
Names of systems, measures and units are used as data or axis labels only, never in an expression,
and always through :func:`~calipers.report.safe_names.escape_unprintable`: the renderer aborts the
whole process on a control character. Nothing is clipped, because clip paths have ids, which would
not be unique in a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Spec = dict[str, Any]

#: Okabe and Ito's colors, which color-blind readers can distinguish, without yellow and black: one
#: is too pale on white, the other vanishes on a dark page.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: One more than there are colors, so that a repeated color has another pattern.
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4), (10, 2, 2, 2, 2, 2), (1, 3))
#: The largest length of a name in a chart, and of all names in one line of its legend.
MAX_LABEL_LENGTH = 32
MAX_LEGEND_LINE_LENGTH = 36

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
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


def assemble_spec(**properties: Any) -> Spec:
    """Return a chart with these properties."""
    # Labels are as wide as the reader's font makes them: leave them room.
    padding = {"left": 16, "top": 5, "right": 10, "bottom": 5}
    safe_properties = {key: _escape_property_names(value) for key, value in properties.items()}
    return {"$schema": _SCHEMA, "config": _CONFIG, "padding": padding, **safe_properties}


#: Properties of every JavaScript object. Vega uses names as keys of plain objects; these names
#: break it and all later charts.
JAVASCRIPT_PROPERTIES = frozenset(
    (
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "valueOf"),
        *("toLocaleString", "toString", "__defineGetter__", "__defineSetter__", "__lookupGetter__"),
        *("__lookupSetter__", "__proto__"),
    )
)
#: Zero-width non-joiner, appended to such names; the page's script removes it from saved data.
INVISIBLE_SUFFIX = "\u200c"


def _escape_property_names(node: Any) -> Any:
    """Return a node of a spec in which no name is that of a property of all JavaScript objects."""
    # The rows of data have hundreds of thousands of values, most of which are numbers.
    if isinstance(node, float | int | None):
        return node
    if isinstance(node, str):
        return f"{node}{INVISIBLE_SUFFIX}" if node in JAVASCRIPT_PROPERTIES else node
    if isinstance(node, dict):
        return {
            _escape_property_names(key): _escape_property_names(value)
            for key, value in node.items()
        }
    return (
        [_escape_property_names(item) for item in node] if isinstance(node, list | tuple) else node
    )


def layer(rows: Sequence[Spec], mark: str | Spec, **encoding: Any) -> Spec:
    """Return a layer: a mark for some rows."""
    return {"data": {"values": rows}, **mark_layer(mark, **encoding)}


def mark_layer(mark: str | Spec, **encoding: Any) -> Spec:
    """Return a layer: a mark for the rows of the enclosing spec."""
    return {"mark": {"type": mark} if isinstance(mark, str) else mark, "encoding": encoding}


def rule(**style: Any) -> Spec:
    """Return the mark of a line in the color of the text."""
    return {"type": "rule", "color": "currentColor", **style}


def quantity(field: str, **options: Any) -> Spec:
    """Return a quantitative channel."""
    return {"field": field, "type": "quantitative", **options}


def nominal(field: str, **options: Any) -> Spec:
    """Return a nominal channel."""
    return {"field": field, "type": "nominal", **options}


def category(field: str, **options: Any) -> Spec:
    """Return a nominal channel in the order of the data."""
    return nominal(field, **{"sort": None, **options})


def end_channels(*fields: str) -> dict[str, Spec]:
    """Return the channels of the ends of a mark that starts at ``x`` or ``y``."""
    return {field: {"field": field} for field in fields}


def tooltip(*pairs: tuple[str, str]) -> list[Spec]:
    """Return the tooltip of fields with their titles."""
    return [{"field": field, "title": title, "type": "nominal"} for field, title in pairs]


def scale(names: Sequence[str], values: Sequence[Any]) -> Spec:
    """Return a scale that assigns colors or patterns to names, repeated if too few."""
    picked = [values[i % len(values)] for i in range(len(names))]
    return {"domain": list(names), "range": picked}


def json_number(x: float, digits: int = 6) -> float | None:
    """Return ``x`` for JSON, with the digits that a drawing can show."""
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


def limits(value: float, low: float, high: float) -> Spec:
    """Return a number and its interval.

    One-sided intervals have an infinite limit; their whisker ends at the value.
    """
    interval = {"low": low, "high": high}
    finite_limits = {k: json_number(value if math.isinf(x) else x) for k, x in interval.items()}
    return {"value": json_number(value), **finite_limits}


def padded_scale(rows: Iterable[Spec], *extra_values: float) -> Spec:
    """Return a scale with room for the :func:`limits` in the rows and for other numbers."""
    row_values = [row[k] for row in rows for k in ("value", "low", "high") if row[k] is not None]
    values = [*row_values, *extra_values]
    if not values or min(values) == max(values):
        return {"zero": False}
    margin = 0.05 * (max(values) - min(values))
    domain = [json_number(min(values) - margin), json_number(max(values) + margin)]
    return {"domain": domain, "nice": False}


def dot(**style: Any) -> Spec:
    """Return the mark of a value."""
    return {"type": "point", "filled": True, "size": 80, "opacity": 1, **style}


def color(index: int) -> str:
    """Return the color of the system at ``index``."""
    return PALETTE[index % len(PALETTE)]


def sign_colors(higher_is_better: bool | None) -> list[str]:
    """Return the colors of higher, equal and lower values."""
    better, worse = PALETTE[0], PALETTE[1]
    up, down = (worse, better) if higher_is_better is False else (better, worse)
    return [up, "currentColor", down]


def direction(higher_is_better: bool | None) -> str:
    """Return the title of an axis of differences, with the direction that is better."""
    if higher_is_better is None:
        return "difference"
    return "← worse · better →" if higher_is_better else "← better · worse →"


#: The layer that only a pointer can see.
HOVER = "hover"


def static_spec(spec: Spec) -> Spec:
    """Return ``spec`` without interactive layers, for an image."""
    for panels in ("vconcat", "concat"):
        if panels in spec:
            return {**spec, panels: [static_spec(panel) for panel in spec[panels]]}
    if "layer" not in spec:
        return spec
    return {**spec, "layer": [layer for layer in spec["layer"] if layer.get("name") != HOVER]}


def sample_evenly(rows: list[Any], max_rows: int) -> list[Any]:
    """Return at most ``max_rows`` of ``rows``, evenly spaced, including the first and the last."""
    if len(rows) <= max_rows:
        return rows
    step = (len(rows) - 1) / (max_rows - 1)
    return [rows[round(i * step)] for i in range(max_rows)]


# --- Names next to points, each on the side where there is most room ------------------------------


#: Pixels of a letter, and of a line of text.
_LETTER, _LINE = 6.2, 13
#: To the right or the left of a point, and above or below it.
_SIDES = ((1, -1), (1, 1), (-1, -1), (-1, 1))
_Box = tuple[float, float, float, float]


def label_marks(
    names: Sequence[str],
    positions: Sequence[tuple[float, float]],
    width: int,
    height: int,
    max_overlap: float = math.inf,
) -> Iterator[tuple[Spec, list[int]]]:
    """Yield the marks of labels next to points, and the indices of the labels of each mark.

    ``positions`` are in pixels from the upper left corner. A label of which more than the
    proportion ``max_overlap`` would be on others or outside is left out.
    """
    occupied = [(x - 5, x + 5, y - 5, y + 5) for x, y in positions]
    by_side: dict[tuple[int, int], list[int]] = {}
    for index, (name, (x, y)) in enumerate(zip(names, positions, strict=True)):
        boxes = {side: _box(x, y, name, side) for side in _SIDES}
        areas = {side: _overlap_area(boxes[side], occupied, width, height) for side in _SIDES}
        best = min(areas, key=areas.__getitem__)
        if areas[best] > max_overlap * _LINE * _LETTER * len(name):
            continue
        occupied.append(boxes[best])
        by_side.setdefault(best, []).append(index)
    for (right, down), indices in by_side.items():
        yield {
            "type": "text", "align": "left" if right > 0 else "right", "baseline": "middle",
            "dx": 7 * right, "dy": 10 * down, "fontSize": 12, "color": "currentColor",
        }, indices  # fmt: skip


def name_layers(
    rows: Sequence[Spec],
    positions: Sequence[tuple[float, float]],
    field: str,
    size: tuple[int, int],
    max_overlap: float = math.inf,
    **channels: Spec,
) -> list[Spec]:
    """Return the layers of labels next to points; labels are a ``field`` of the rows.

    Labels that overlap more than ``max_overlap`` are left out, as by :func:`label_marks`.
    """
    names = [row[field] for row in rows]
    return [
        layer([rows[i] for i in indices], mark, text=nominal(field), **channels)
        for mark, indices in label_marks(names, positions, *size, max_overlap)
    ]


def _box(x: float, y: float, name: str, side: tuple[int, int]) -> _Box:
    right, down = side
    begin, middle = x + 7 * right, y + 10 * down
    end = begin + right * _LETTER * len(name)
    return min(begin, end), max(begin, end), middle - _LINE / 2, middle + _LINE / 2


def _overlap_area(box: _Box, occupied: Sequence[_Box], width: int, height: int) -> float:
    """Return the area of a box that is occupied, or outside of the drawing."""
    x_min, x_max, y_min, y_max = box
    outside = (
        max(0.0, -x_min) + max(0.0, x_max - width) + max(0.0, -y_min) + max(0.0, y_max - height)
    )
    return _LINE * outside + sum(
        max(0.0, min(x_max, b) - max(x_min, a)) * max(0.0, min(y_max, d) - max(y_min, c))
        for a, b, c, d in occupied
    )
