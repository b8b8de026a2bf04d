"""Charts of validation curves, learning curves and bias-variance decompositions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calipers.lazy_dataclasses import dataclass
from calipers.report import learning, numbers
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.results import Estimate
from calipers.results.learning import (
    OVERFITS,
    UNDERFITS,
    BiasVariance,
    LearningCurve,
    LearningResult,
    ValidationCurve,
)

_WIDTH, _HEIGHT = 460, 320
#: Values that span more than this are drawn on a logarithmic scale, down to this proportion of the
#: smallest one that has to be visible.
_MIN_LOG_RATIO, _FLOOR_RATIO = 12.0, 100.0
_KINDS = {
    ValidationCurve: "validation curve",
    LearningCurve: "learning curve",
    BiasVariance: "bias and variance",
}
#: The colors of regions.
_SHADES = {UNDERFITS: vega.PALETTE[4], OVERFITS: vega.PALETTE[3]}
_SHOWN_COMPONENTS = ("error", "bias²", "bias² + noise", "bias", "variance", "noise")


@dataclass(frozen=True)
class _PlottedPoint:
    """Point of a line, with its interval."""

    x: str | float
    series: str
    estimate: Estimate

    @property
    def triple(self) -> tuple[float, float, float]:
        """Value and its limits, which are the value if there is no interval."""
        e = self.estimate
        has_interval = math.isfinite(e.low) and math.isfinite(e.high)
        return e.value, e.low if has_interval else e.value, e.high if has_interval else e.value


def figure(result: LearningResult) -> Figure:
    """Return the figure of a learning result."""
    points, y_title = _points(result)
    head, rows = learning.learning_table(result)
    kind = _KINDS[type(result)]
    scale, floor = _scale(points, _main_line(result))
    return Figure(
        title=learning.heading(result),
        kind=kind,
        alt_text=" ".join(learning.sentences(result)),
        caption=" ".join(_caption(result, points, floor)),
        spec=_spec(result, points, y_title, scale, floor),
        header=tuple(head),
        rows=tuple(map(tuple, rows)),
    )


def _points(result: LearningResult) -> tuple[list[_PlottedPoint], str]:
    """Return the points, and the title of their axis."""
    if isinstance(result, BiasVariance):
        label_by_value = unique_labels([row.value for row in result], 12)
        component_names = [name for name in _SHOWN_COMPONENTS if name in result.components]
        points = [
            _PlottedPoint(
                label_by_value[row.value] if row.value else "", name, row.components[name]
            )
            for name in component_names
            for row in result
        ]
        return points, "squared error" if result.loss == "squared" else "proportion of rows"
    if isinstance(result, ValidationCurve):
        label_by_value = unique_labels([row.value for row in result], 12)
        pairs = [(label_by_value[row.value], row) for row in result]
        points = [
            _PlottedPoint(x, series, getattr(row, series))
            for series in ("validation", "training")
            for x, row in pairs
        ]
        if result.test is not None:
            points.append(_PlottedPoint(label_by_value[result.one_se], "test", result.test))
        return points, shorten_name(result.measure)
    assert isinstance(result, LearningCurve)
    points = [
        _PlottedPoint(float(row.n), series, getattr(row, series))
        for series in ("validation", "training")
        for row in result
    ]
    return points, shorten_name(result.measure)


def _main_line(result: LearningResult) -> str:
    """Return the name of the line that has to be completely visible."""
    return "error" if isinstance(result, BiasVariance) else "validation"


def _scale(points: Sequence[_PlottedPoint], main_series: str) -> tuple[Spec, float]:
    """Return the scale of values, and its lower end, −∞ if nothing is below it."""
    values = [e for p in points for e in p.triple if math.isfinite(e)]
    main_values = [
        p.triple[0] for p in points if p.series == main_series and math.isfinite(p.triple[0])
    ]
    if (
        main_values
        and min(main_values) > 0
        and max(main_values) / min(main_values) > _MIN_LOG_RATIO
    ):
        floor = min(main_values) / _FLOOR_RATIO
        high = max(values) * 1.3
        return {
            "type": "log",
            "domain": [json_number(floor), json_number(high)],
            "nice": False,
        }, floor
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.1
    low = 0.0 if 0 <= low < 0.4 * high else low - margin
    return {
        "domain": [json_number(low), json_number(high + margin)],
        "nice": False,
        "zero": False,
    }, -math.inf


def _axis(scale: Spec) -> Spec:
    """Return the axis; on a logarithmic scale it has powers of ten, and 3 times these if few."""
    if "type" not in scale:
        return {"tickCount": 5}
    low, high = scale["domain"]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 3) if len(decades) < 5 else (1,)
    ticks = [k * 10.0**d for d in decades for k in steps]
    return {"values": [json_number(v) for v in ticks if low <= v <= high], "format": "~g"}


def _caption(
    result: LearningResult, points: Sequence[_PlottedPoint], floor: float
) -> Iterator[str]:
    if isinstance(result, ValidationCurve | BiasVariance) and result.parameter:
        parameter = learning.parameter_label(result.parameter)
        yield f"{parameter}, from the simplest model to the most capable."
    level = numbers.format_percent(result.level)
    if any(p.estimate.has_interval for p in points):
        yield f"Shaded along the lines: {level} CIs."
    if isinstance(result, ValidationCurve):
        regions = [r for r in (UNDERFITS, OVERFITS) if any(row.region == r for row in result)]
        if regions:
            yield f"Columns: where the model {' or '.join(regions)}."
        yield f"Dashed: {_selection_text(result)}."
        if result.test is not None:
            yield "Bar at the dashed line: the same on the test rows."
    if isinstance(result, LearningCurve) and result.extrapolation.reason is None:
        yield f"Bar at the right: extrapolation to {result.extrapolation.n:,} rows."
    if any(e < floor for p in points for e in p.triple):
        yield f"Values below {floor:.2g} are plotted at the lower end."


def _selection_text(curve: ValidationCurve) -> str:
    if curve.one_se == curve.best:
        return "the best; no simpler model is within one standard error"
    return "the simplest within one standard error of the best"


def _spec(
    result: LearningResult, points: Sequence[_PlottedPoint], y_title: str, scale: Spec, floor: float
) -> Spec:
    series = list(dict.fromkeys(p.series for p in points))
    hue = vega.category(
        "series", scale=vega.scale(series, vega.PALETTE),
        legend={"symbolType": "stroke", "symbolOpacity": 1, "symbolSize": 300},
    )  # fmt: skip
    dash = vega.category("series", scale=vega.scale(series, [list(d) for d in vega.DASHES]))
    x, y = _x(result), vega.quantity("y", title=y_title, scale=scale, axis=_axis(scale))
    rows = [_datum(p, floor) for p in points]
    tips = vega.tooltip(("series", "curve"), ("at", _x_title(result)), ("text", y_title))
    line = {"type": "line", "strokeWidth": 2.2}
    layers = [
        *_regions(result, x),
        *_selection_rule(result, x),
        {
            "data": {"values": rows},
            "layer": [
                vega.mark_layer({"type": "area", "opacity": 0.16}, x=x, y={**y, "field": "low"},
                           y2={"field": "high"}, color=hue),
                vega.mark_layer(line, x=x, y=y, color=hue, strokeDash=dash),
                vega.mark_layer(vega.dot(size=34), x=x, y=y, color=hue,
                           tooltip=tips),
            ],
        },
        *_test_point(points, x, y, hue),
        *_extrapolation(result, x, y, hue),
    ]  # fmt: skip
    return vega.assemble_spec(width=_WIDTH, height=_HEIGHT, layer=layers)


def _datum(p: _PlottedPoint, floor: float) -> Spec:
    value, low, high = (max(e, floor) if math.isfinite(e) else math.nan for e in p.triple)
    e = p.estimate
    text = numbers.common_rounding(*p.triple).value_with_interval(e.value, e.low, e.high)
    return {
        "x": p.x, "y": json_number(value, 4),
        "low": json_number(low, 4), "high": json_number(high, 4),
        "series": p.series, "at": f"{p.x:,g}" if isinstance(p.x, float) else p.x, "text": text,
    }  # fmt: skip


def _x_title(result: LearningResult) -> str:
    if isinstance(result, LearningCurve):
        return "training rows"
    assert isinstance(result, ValidationCurve | BiasVariance)
    return learning.parameter_label(result.parameter)


def _x(result: LearningResult) -> Spec:
    if isinstance(result, LearningCurve):
        ticks = [row.n for row in result] + [result.extrapolation.n] * (
            result.extrapolation.reason is None
        )
        axis = {"values": ticks, "format": ",", "labelOverlap": True}
        scale = {"type": "log", "nice": False}
        return vega.quantity("x", title=_x_title(result), scale=scale, axis=axis)
    scale = {"type": "band", "paddingInner": 0, "paddingOuter": 0}
    return vega.category("x", title=_x_title(result) or None, scale=scale,
                         axis={"labelAngle": 0})  # fmt: skip


def _regions(result: LearningResult, x: Spec) -> list[Spec]:
    """Return the layer of shaded columns for values that underfit or overfit."""
    if not isinstance(result, ValidationCurve):
        return []
    label_by_value = unique_labels([row.value for row in result], 12)
    # All values come first, so that those of the regions do not change the order of the axis.
    marked = [{"x": label_by_value[row.value], "region": row.region} for row in result]
    regions = [r for r in _SHADES if any(row.region == r for row in result)]
    if not regions:
        return []
    shade = vega.category(
        "region", scale={"domain": regions, "range": [_SHADES[r] for r in regions]},
        legend={"symbolType": "square", "symbolOpacity": 0.4},
    )  # fmt: skip
    visible = {
        "condition": {"test": {"field": "region", "oneOf": regions}, "value": 0.16},
        "value": 0,
    }
    mark = {"type": "rect"}
    return [vega.layer(marked, mark, x=x, fill=shade, opacity=visible)]


def _selection_rule(result: LearningResult, x: Spec) -> list[Spec]:
    if not isinstance(result, ValidationCurve):
        return []
    label_by_value = unique_labels([row.value for row in result], 12)
    rows = [
        {"x": label_by_value[row.value], "chosen": row.value == result.one_se} for row in result
    ]
    opacity = {"condition": {"test": "datum.chosen", "value": 0.7}, "value": 0}
    return [vega.layer(rows, vega.rule(strokeDash=[3, 4]), x=x, opacity=opacity)]


def _test_point(points: Sequence[_PlottedPoint], x: Spec, y: Spec, hue: Spec) -> list[Spec]:
    """Return the layers of the value on the test rows with its interval."""
    layers = []
    for p in (p for p in points if p.series == "test"):
        value, low, high = p.triple
        row = {"x": p.x, **vega.limits(value, low, high), "series": "test"}
        whisker_channels = {
            "x": x,
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "color": hue,
        }
        dot_channels = {"x": x, "y": {**y, "field": "value"}, "color": hue}
        layers += [
            vega.layer([row], {"type": "rule", "strokeWidth": 2}, **whisker_channels),
            vega.layer([row], vega.dot(size=60), **dot_channels),
        ]
    return layers


def _extrapolation(result: LearningResult, x: Spec, y: Spec, hue: Spec) -> list[Spec]:
    """Return the layers of the extrapolated value with its interval."""
    if not isinstance(result, LearningCurve) or result.extrapolation.reason is not None:
        return []
    extrapolation = result.extrapolation
    row = {
        "x": float(extrapolation.n),
        **vega.limits(extrapolation.value, extrapolation.low, extrapolation.high),
        "series": "validation",
    }
    whisker_channels = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": hue}
    dot_channels = {"x": x, "y": {**y, "field": "value"}, "color": hue}
    return [
        vega.layer(
            [row], {"type": "rule", "strokeWidth": 2, "strokeDash": [4, 3]}, **whisker_channels
        ),
        vega.layer([row], vega.dot(size=50, filled=False), **dot_channels),
    ]
