"""The densities of the scores of both classes, and what a threshold makes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calipers.report import numbers
from calipers.report.figures import vega
from calipers.report.figures.curve_chart import cut_layer, unsorted
from calipers.report.figures.figure import Numbers
from calipers.report.figures.vega import Spec, finite
from calipers.report.names import labels, short, visible
from calipers.results import Curve


def density_chart(negative: Curve, positive: Curve) -> Spec:
    """The densities of the scores of both classes, with the threshold in use and, in the legend,
    what lies on both sides of it: errors are drawn strong, the rest pale."""
    names = labels((negative.series, positive.series), vega.LABEL // 2)
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
                place = {"x": finite(x), "x2": finite(x2), "y": finite(y, 4)}
                bars.append({**place, "area": sides[int(x >= curve.cut)]})
        for x, y in zip(curve.x, curve.y, strict=True):
            outlines.append({"x": finite(x), "y": finite(y, 4), "color": strong, "name": name})
    # What is strong lies on top, or the other class would hide it.
    strong_colors = {_ORANGES[1], _BLUES[1]}
    bars.sort(key=lambda bar: colors[bar["area"]] in strong_colors)
    domain = [float(negative.x[0]), float(negative.x[-1])]
    x = vega.quantity(
        "x",
        title=visible(negative.x_label),
        scale={"domain": [finite(v) for v in domain], "nice": False},
        axis={"tickCount": 5},
    )
    y = vega.quantity("y", title=visible(negative.y_label), axis={"tickCount": 4})
    columns = 1 if max(map(len, colors)) > vega.LEGEND_LINE // 2 else 2
    legend = {"columns": columns, "symbolType": "square", "symbolOpacity": 0.75}
    scale = {"domain": list(colors), "range": list(colors.values())}
    area = vega.category("area", scale=scale, legend=legend)
    ends = {"x2": {"field": "x2"}, "y2": {"datum": 0}}
    tips = vega.tooltip(("area", "area"), ("x", "from"), ("x2", "to"), ("y", "density"))
    bar = {"type": "rect", "opacity": 0.6, "stroke": None}
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}
    stroke = vega.nominal("color", scale=None)
    layers = [
        vega.layer(bars, bar, x=x, y=y, **ends, color=area, tooltip=tips),
        vega.layer(outlines, line, x=unsorted(x), y=y, detail=vega.category("name"), stroke=stroke),
    ]
    if split and domain[0] <= negative.cut <= domain[1]:
        layers.append(cut_layer(negative.cut, x))
    return vega.whole(width=400, height=260, layer=layers)


#: Pale for what is right, strong for errors: of the negatives, and of the positives.
_ORANGES = ("#F0B98D", "#D55E00")
_BLUES = ("#8FC1E3", "#0072B2")


def _sides(curve: Curve, name: str) -> tuple[str, str]:
    """What lies below the threshold and what at or above it, in words."""
    total = sum(curve.areas.values())
    below, above = (key for key in ("FN", "TN", "TP", "FP") if key in curve.areas)

    def said(key: str) -> str:
        share = f"{100 * curve.areas[key] / total:.1f}%" if total else "–"
        return f"{key} {numbers.number(curve.areas[key])} ({share} of {name})"

    return said(below), said(above)


def density_table(curves: Sequence[Curve]) -> Numbers:
    """The bars in numbers."""
    rows = [
        (short(c.series), f"{start:.4g}", f"{end:.4g}", f"{y:.4f}")
        for c in curves
        for start, end, y in zip(c.x[:-1], c.x[1:], c.y[:-1], strict=True)
    ]
    return ("class", "from", "to", "density"), tuple(rows)
