"""Charts of quality against cost, with intervals and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calipers.report import numbers, pareto_fronts
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure, measure_figure
from calipers.report.figures.registry import EvaluationChart, register_chart
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.results import Evaluation, ParetoFront, ParetoRow

KIND = "Pareto"
#: Costs that span more decades than this are drawn on a logarithmic scale.
MAX_LINEAR_DECADES = 2
#: The largest number of systems with names in the chart; more have tooltips and the table.
MAX_NAMED_SYSTEMS = 25
_WIDTH, _HEIGHT = 400, 320


def front_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield a figure per cost."""
    fronts = [front for front in evaluation.pareto_fronts if any(map(_is_finite, front))]
    for front in fronts:
        yield measure_figure(_figure(front), front.cost_measure, len(fronts), "Quality and cost")


def _is_finite(row: ParetoRow) -> bool:
    return math.isfinite(row.quality) and math.isfinite(row.cost)


def _figure(front: ParetoFront) -> Figure:
    names = unique_labels((row.system for row in front), vega.MAX_LABEL_LENGTH)
    cells = pareto_fronts.row_texts(front)
    missing = [] if all(map(_is_finite, front)) else ["Systems without a value are not plotted."]
    explanation = (
        f"{shorten_name(front.measure)} against {shorten_name(front.cost_measure)}. The line is "
        "the Pareto front: the best quality at each cost. Pale: dominated systems."
    )
    has_missing_limits = any(math.isnan(row.cost_low) for row in front if _is_finite(row))
    bars = f"Bars: {numbers.format_percent(front.level)} CIs" + (
        "; costs without bars are constant or have no interval." if has_missing_limits else "."
    )
    return Figure(
        title=f"Quality and cost: {shorten_name(front.cost_measure)}",
        alt_text=" ".join(pareto_fronts.front_sentences(front)),
        caption=" ".join([explanation, bars, *missing]),
        spec=front_chart(front),
        header=(
            *("system", shorten_name(front.measure), "CI"),
            *(shorten_name(front.cost_measure), "CI", "Pareto front"),
        ),
        rows=tuple(
            (names[row.system], *cell, pareto_fronts.dominance_text(row))
            for row, cell in zip(front, cells, strict=True)
        ),
    )  # fmt: skip


def front_chart(front: ParetoFront) -> Spec:
    """Return the chart of points, their intervals, and the front as a step line."""
    names = unique_labels((row.system for row in front), vega.MAX_LABEL_LENGTH)
    cells = dict(zip((row.system for row in front), pareto_fronts.row_texts(front), strict=True))
    finite_rows = [row for row in front if _is_finite(row)]
    log = _spans_decades(finite_rows)
    x_scale, y_scale = (
        _scale(_axis_values(finite_rows, "cost"), log=log),
        _scale(_axis_values(finite_rows, "quality")),
    )
    x_title = f"{shorten_name(front.cost_measure)}{', logarithmic' if log else ''} · ← better"
    y_title = (
        f"{shorten_name(front.measure)} · {'better →' if front.higher_is_better else '← better'}"
    )
    x = vega.quantity("cost", title=x_title, scale=x_scale, axis={"tickCount": 5})
    y = vega.quantity("quality", title=y_title, scale=y_scale, axis={"tickCount": 6})
    rows = [_datum(row, names[row.system], cells[row.system], log=log) for row in finite_rows]
    color = {
        "condition": {"test": "datum.front", "value": vega.PALETTE[0]},
        "value": "currentColor",
    }
    pale = {"condition": {"test": "datum.front", "value": 1}, "value": 0.4}
    tips = vega.tooltip(
        ("system", "system"), ("quality text", shorten_name(front.measure)),
        ("cost text", shorten_name(front.cost_measure)), ("place", "Pareto front"),
    )  # fmt: skip
    whisker: Spec = {"type": "rule", "strokeWidth": 1.5}
    shared = {"stroke": color, "opacity": pale, "tooltip": tips}
    layers = [
        _front_layer(rows, x, y),
        {
            "data": {"values": rows},
            "layer": [
                vega.mark_layer(whisker, **shared, x={**x, "field": "cost_low"}, y=y,
                           x2={"field": "cost_high"}),
                vega.mark_layer(whisker, **shared, x=x, y={**y, "field": "quality_low"},
                           y2={"field": "quality_high"}),
                vega.mark_layer(vega.dot(filled=True), x=x, y=y, fill=color, opacity=pale,
                           tooltip=tips),
            ],
        },
    ]  # fmt: skip
    if len(rows) <= MAX_NAMED_SYSTEMS:
        layers += _name_labels(rows, x, y, x_scale, y_scale)
    return vega.assemble_spec(width=_WIDTH, height=_HEIGHT, layer=layers)


def _spans_decades(rows: Sequence[ParetoRow]) -> bool:
    costs = [row.cost for row in rows]
    return min(costs) > 0 and max(costs) / min(costs) > 10**MAX_LINEAR_DECADES


def _axis_values(rows: Sequence[ParetoRow], field: str) -> list[float]:
    """Return all numbers of one axis."""
    values = (getattr(row, f"{field}{suffix}") for row in rows for suffix in ("", "_low", "_high"))
    return [x for x in values if math.isfinite(x)]


def _scale(values: Sequence[float], *, log: bool = False) -> Spec:
    """Return a scale with room for all values and labels."""
    values = [math.log10(x) for x in values if x > 0] if log else values
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - margin, high + margin
    if log:
        return {
            "type": "log",
            "domain": [json_number(10**low), json_number(10**high)],
            "nice": False,
        }
    low = max(low, 0.0) if min(values) >= 0 else low
    return {"domain": [json_number(low), json_number(high)], "nice": False}


def _datum(row: ParetoRow, name: str, cell: Sequence[str], *, log: bool) -> Spec:
    """Return the row of a system.

    Limits that are unknown, or that a logarithmic scale cannot show, are replaced by the value.
    """
    limits: Spec = {}
    for field in ("quality", "cost"):
        value = getattr(row, field)
        for side in ("low", "high"):
            limit = getattr(row, f"{field}_{side}")
            is_drawable = math.isfinite(limit) and not (log and field == "cost" and limit <= 0)
            limits[f"{field}_{side}"] = json_number(limit if is_drawable else value)
        limits[field] = json_number(value)
    return {
        "system": name,
        **limits,
        "front": row.on_front,
        "quality text": f"{cell[0]} {cell[1]}".strip(),
        "cost text": f"{cell[2]} {cell[3]}".strip(),
        "place": pareto_fronts.dominance_text(row),
    }


def _front_layer(rows: Sequence[Spec], x: Spec, y: Spec) -> Spec:
    """Return the layer of the front: steps from each system to the next more expensive one."""
    front_rows = sorted((row for row in rows if row["front"]), key=lambda row: row["cost"])
    points = [{"cost": row["cost"], "quality": row["quality"]} for row in front_rows]
    mark = {"type": "line", "interpolate": "step-after", "color": vega.PALETTE[0],
            "strokeWidth": 1.5, "opacity": 0.6}  # fmt: skip
    return vega.layer(points, mark, x=x, y=y)


# --- Names ----------------------------------------------------------------------------------------


def _name_labels(
    rows: Sequence[Spec], x: Spec, y: Spec, x_scale: Spec, y_scale: Spec
) -> list[Spec]:
    """Return the layers of names next to points."""
    positions = [
        (
            _relative_position(row["cost"], x_scale) * _WIDTH,
            (1 - _relative_position(row["quality"], y_scale)) * _HEIGHT,
        )
        for row in rows
    ]
    pale = {"condition": {"test": "datum.front", "value": 1}, "value": 0.65}
    return vega.name_layers(rows, positions, "system", (_WIDTH, _HEIGHT), x=x, y=y, opacity=pale)


def _relative_position(value: float, scale: Spec) -> float:
    """Return the position of a value on an axis, from 0 to 1."""
    low, high = scale["domain"]
    if scale.get("type") == "log":
        value, low, high = math.log10(value), math.log10(low), math.log10(high)
    return float((value - low) / (high - low))


register_chart(EvaluationChart(name=KIND, title="Quality and cost", draw=front_figures))
