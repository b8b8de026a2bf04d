"""Simple charts of few numbers: lines, bars and ranges by name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calipers.report.figures import vega
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import unique_labels

#: The largest number of integers that all have a tick.
_MAX_TICKS = 15

#: The rows of a line: its name, x and y.
Points = Sequence[tuple[str, float, float]]


def line_chart(points: Points, x: str, y: str, *, is_proportion: bool = False) -> Spec:
    """Return a chart with a line per name; ``is_proportion`` sets the range from 0 to 1."""
    names = unique_labels(list(dict.fromkeys(name for name, _, _ in points)), vega.MAX_LABEL_LENGTH)
    rows = [
        {"name": names[name], "x": json_number(x_value), "y": json_number(value)}
        for name, x_value, value in points
    ]
    labels = list(names.values())
    legend = {"symbolType": "stroke", "symbolOpacity": 1, "symbolSize": 300, "columns": 3}
    hue: Spec = {"value": vega.PALETTE[0]}
    dash: Spec = {"value": [1, 0]}
    if len(labels) > 1:
        hue = vega.category("name", scale=vega.scale(labels, vega.PALETTE), legend=legend)
        dashes = [list(pattern) for pattern in vega.DASHES]
        dash = vega.category("name", scale=vega.scale(labels, dashes), legend=legend)
    exact = {"zero": False, "nice": False}
    x_channel = vega.quantity("x", title=x, scale=exact, axis=_whole_ticks(points))
    y_channel = vega.quantity(
        "y", title=y, scale={"domain": [0, 1]} if is_proportion else {"zero": True}
    )
    line = {"type": "line", "strokeWidth": 2, "point": False}
    return vega.assemble_spec(
        width=400,
        height=240,
        layer=[
            vega.layer(rows, line, x=x_channel, y=y_channel, color=hue, strokeDash=dash),
            vega.layer(rows, vega.dot(size=40), x=x_channel, y=y_channel, color=hue),
        ],
    )


def _whole_ticks(points: Points) -> Spec:
    """Return ticks at integers, at all of them if they are few; none of other numbers."""
    if any(x != int(x) for _, x, _ in points):
        return {}
    first, last = (f((x for _, x, _ in points), default=0) for f in (min, max))
    if last - first > _MAX_TICKS:
        return {"tickMinStep": 1}
    return {"values": list(range(math.ceil(first), math.floor(last) + 1)), "format": "d"}


def bar_chart(bars: Points, x: str) -> Spec:
    """Return a chart of two bars per name, to the first number and, darker, to the second."""
    names = unique_labels([name for name, _, _ in bars], vega.MAX_LABEL_LENGTH)
    rows = [
        {"name": names[name], "whole": json_number(total), "part": json_number(subtotal)}
        for name, total, subtotal in bars
    ]
    up = vega.category("name", title=None)
    return vega.assemble_spec(
        width=400,
        height={"step": 30},
        layer=[
            vega.layer(
                rows, {"type": "bar", "opacity": opacity, "color": vega.PALETTE[0], "height": 18},
                y=up, x=vega.quantity(field, title=x, axis={"tickMinStep": 1}),
            )
            for field, opacity in (("whole", 0.35), ("part", 1.0))
        ],
    )  # fmt: skip


def range_chart(ranges: Sequence[tuple[str, float, float, float]], x: str) -> Spec:
    """Return a chart of the range for each name, with the mean."""
    names = unique_labels([name for name, *_ in ranges], vega.MAX_LABEL_LENGTH)
    rows = [
        {
            "name": names[name],
            "low": json_number(low),
            "mean": json_number(mean),
            "high": json_number(high),
        }
        for name, low, mean, high in ranges
    ]
    up = vega.category("name", title=None)
    across = vega.quantity("low", title=x, scale={"zero": True})
    line = vega.rule(strokeWidth=2, opacity=0.6)
    dot = vega.dot(size=50, color=vega.PALETTE[0])
    return vega.assemble_spec(
        width=400,
        height={"step": 16},
        layer=[
            vega.layer(rows, line, y=up, x=across, x2={"field": "high"}),
            vega.layer(rows, dot, y=up, x=vega.quantity("mean", title=x)),
        ],
    )
