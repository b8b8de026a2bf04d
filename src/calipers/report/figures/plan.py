"""Chart of a sample size plan: the power, or else the half-width, by the number of units."""

from __future__ import annotations

import math

from calipers.report import numbers, plan
from calipers.report.blocks import Table
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure
from calipers.report.figures.vega import json_number
from calipers.results import Plan

_WIDTH, _HEIGHT = 460, 280


def figure(result: Plan) -> Figure:
    """Return the figure of the table of a plan."""
    has_power = not math.isnan(result.power)
    name = "power" if has_power else "half_width"
    title = "power" if has_power else f"{numbers.format_percent(result.level)} half-width"
    rows = [
        {"n": row.n, "value": json_number(value), "text": f"{value:.3g}"}
        for row in result
        if not math.isnan(value := getattr(row, name))
    ]
    sizes = [row["n"] for row in rows]
    x = vega.quantity(
        "n",
        title=result.unit,
        scale={"type": "log", "nice": False},
        axis={"values": sizes, "format": ",d", "labelOverlap": True},
    )
    format_ = {"format": ".0%"} if has_power else {}
    y = vega.quantity("value", title=title, scale={"zero": True}, axis=format_)
    tips = vega.tooltip(("n", result.unit), ("text", title))
    main_color = {"value": vega.color(0)}
    curve = {
        "data": {"values": rows},
        "layer": [
            vega.mark_layer({"type": "line", "strokeWidth": 2.2}, x=x, y=y, color=main_color),
            vega.mark_layer(vega.dot(size=44), x=x, y=y, color=main_color, tooltip=tips),
        ],
    }
    planned = vega.layer([{"n": result.n}], vega.rule(strokeDash=[3, 4]), x=x)
    table = Table(plan.columns(result))
    return Figure(
        title=f"Plan: {title}",
        kind="plan",
        alt_text=plan.plan_sentence(result),
        caption=f"{plan.plan_sentence(result)} The dashed line marks this number.",
        spec=vega.assemble_spec(width=_WIDTH, height=_HEIGHT, layer=[curve, planned]),
        header=tuple(column.name for column in table.text_columns),
        rows=tuple(table.rows),
    )
