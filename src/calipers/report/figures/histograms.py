"""Histograms as step areas, below a curve or alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calipers.report.figures import vega
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import escape_unprintable
from calipers.results import Curve


def stack_panels(upper: Spec, panels: Sequence[Spec]) -> Spec:
    """Stack a chart and panels that share its axis."""
    outer_properties = {key: upper.pop(key) for key in ("$schema", "config", "padding", "datasets")}
    for layer in upper["layer"]:
        if "x" in layer["encoding"]:
            layer["encoding"]["x"] = {**layer["encoding"]["x"], "title": None}
    independent_scales = {"scale": {"color": "independent", "strokeDash": "independent"}}
    spec = vega.assemble_spec(spacing=8, vconcat=[upper, *panels], resolve=independent_scales)
    return {**outer_properties, **spec, "padding": outer_properties["padding"]}


def panel(
    curves: Sequence[Curve],
    names: Mapping[str, str],
    height: int,
    *,
    domain: Sequence[float] | None = None,
    legend: bool = False,
    color: str = vega.PALETTE[0],
) -> Spec:
    """Return the histogram of proportions of rows of each of ``names``.

    A single one has the color ``color``.
    """
    data = [
        {"x": json_number(x, 4), "y": json_number(y, 4), "system": names[c.series or c.system]}
        for c in curves
        for x, y in zip(c.x, c.y, strict=True)
    ]
    hue: Spec = {"value": color}
    if len(names) > 1:
        legend_spec = {"symbolType": "square", "symbolOpacity": 0.6} if legend else None
        scale = vega.scale(list(names.values()), vega.PALETTE)
        hue = vega.nominal("system", scale=scale, sort=None, legend=legend_spec)
    axis = {"tickCount": 2 if height < 100 else 5, "format": "%"}
    scale_option: Spec = (
        {} if domain is None else {"scale": {"domain": list(domain), "nice": False}}
    )
    x = vega.quantity(
        "x", title=escape_unprintable(curves[0].x_label), axis={"tickCount": 5}, **scale_option
    )
    y = vega.quantity("y", stack=None, title="Rows", axis=axis)
    mark = {"type": "area", "interpolate": "step-after", "opacity": 0.3, "line": True}
    return {"width": 400, "height": height, **vega.layer(data, mark, x=x, y=y, color=hue)}
