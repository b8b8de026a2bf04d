"""Chart of a sequential evaluation: the value and its confidence sequence over the requests."""

from __future__ import annotations

import math

from calipers.report import monitor, numbers
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure
from calipers.report.figures.vega import Spec, json_number
from calipers.results import MonitorLook, MonitorResult

_WIDTH, _HEIGHT = 460, 320


def figure(result: MonitorResult) -> Figure:
    """Return the figure of the looks of a sequential evaluation."""
    columns = monitor.columns(result)
    caption = (
        "Value at every look, with a confidence sequence, which covers the true value at all looks "
        "simultaneously with the stated confidence."
    )
    if not math.isnan(result.target):
        caption += f" The dashed line marks the hypothesized value, {result.target:g}."
    return Figure(
        title=monitor.heading(result),
        kind="confidence sequence",
        alt_text=" ".join(monitor.sentences(result)),
        caption=caption,
        spec=_spec(result),
        header=tuple(column.name for column in columns),
        rows=tuple(zip(*(column.cells for column in columns), strict=True)),
    )


def _spec(result: MonitorResult) -> Spec:
    looks = [*(look for look in result.looks if look.n < result.last.n), result.last]
    rows = [_datum(look) for look in looks]
    x = vega.quantity("x", title="requests", axis={"format": ",d", "tickMinStep": 1})
    name = monitor.quantity(result)
    y = vega.quantity("value", title=name, scale={"zero": False})
    tips = vega.tooltip(("requests", "requests"), ("text", name))
    main_color = {"value": vega.color(0)}
    layers = [
        {
            "data": {"values": rows},
            "layer": [
                vega.mark_layer(
                    {"type": "area", "opacity": 0.16},
                    x=x,
                    y={**y, "field": "low"},
                    y2={"field": "high"},
                    color=main_color,
                ),
                vega.mark_layer({"type": "line", "strokeWidth": 2.2}, x=x, y=y, color=main_color),
                vega.mark_layer(vega.dot(size=34), x=x, y=y, color=main_color, tooltip=tips),
            ],
        }
    ]
    if not math.isnan(result.target):
        target_rows = [{"value": json_number(result.target)}]
        layers.append(vega.layer(target_rows, vega.rule(strokeDash=[3, 4]), y=y))
    return vega.assemble_spec(width=_WIDTH, height=_HEIGHT, layer=layers)


def _datum(look: MonitorLook) -> Spec:
    rounding = numbers.common_rounding(look.value, look.low, look.high)
    return {
        "x": look.n,
        **vega.limits(look.value, look.low, look.high),
        "requests": f"{look.n:,}",
        "text": rounding.value_with_interval(look.value, look.low, look.high),
    }
