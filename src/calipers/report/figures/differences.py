"""Charts of paired differences with their intervals, around zero or against margins."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from calipers.report import numbers
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure, measure_figure
from calipers.report.figures.registry import ComparisonChart, register_chart
from calipers.report.figures.vega import Spec, json_number
from calipers.report.grouping import group_by
from calipers.report.headlines import comparison_headlines
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.report.table_rows import difference_rows
from calipers.report.verdict import outcome
from calipers.results import Comparison, Definition, Difference

#: The largest number of rows in a chart; more are in a chart per measure, or in tables only.
MAX_CHART_ROWS = 60
#: The largest number of differences in the charts of all measures.
MAX_DRAWN_DIFFERENCES = 100

_HEAD = ("measure", "systems", "difference", "interval", "p", "verdict")


def group_by_measure(differences: Iterable[Difference]) -> dict[str, list[Difference]]:
    """Group the differences by measure."""
    return group_by(differences, lambda d: d.measure)


def select_fitting(
    differences_by_measure: Mapping[str, list[Difference]],
) -> list[tuple[str, list[Difference]]]:
    """Return the differences by measure, for as many measures as there is room for."""
    sizes = accumulate(map(len, differences_by_measure.values()))
    return [
        item
        for item, size in zip(differences_by_measure.items(), sizes, strict=True)
        if size <= MAX_DRAWN_DIFFERENCES
    ]


def select_drawn(
    comparison: Comparison,
) -> tuple[list[Difference], list[tuple[str, list[Difference]]]]:
    """Return the differences of a chart of all measures, and those of a chart per measure.

    Differences without margins share a chart if they are few.
    """
    differences_by_measure = group_by_measure(d for d in comparison if math.isfinite(d.value))
    plain = [d for group in differences_by_measure.values() for d in group if math.isnan(d.margin)]
    combined = plain if len(plain) <= MAX_CHART_ROWS else []
    return combined, select_fitting(
        {
            m: group
            for m, group in differences_by_measure.items()
            if len(group) <= MAX_CHART_ROWS and not (combined and math.isnan(group[0].margin))
        }
    )


def difference_figures(
    comparison: Comparison, definitions: Sequence[Definition]
) -> Iterator[Figure]:
    """Yield the figures of intervals, in one chart if there are few.

    Differences with margins have one chart per measure.
    """
    combined, fitting = select_drawn(comparison)
    if combined:
        shared = replace(comparison, differences=tuple(combined))
        yield _zero_figure(shared, definitions, "Differences")
    for measure, group in fitting:
        subset = replace(comparison, differences=tuple(group))
        title = f"Differences: {shorten_name(measure)}"
        if math.isnan(group[0].margin):
            figure = _zero_figure(subset, definitions, title)
        else:
            figure = _margins_figure(subset, title)
        yield measure_figure(figure, measure, len(fitting), "Differences")


def _cells(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (r.measure, r.systems, r.value, r.interval, r.p, r.outcome.value)
        for r in difference_rows(comparison)
    )


# --- Around zero ----------------------------------------------------------------------------------


def _zero_figure(
    comparison: Comparison, definitions: Sequence[Definition], title: str
) -> Figure:  # fmt: skip
    return Figure(
        title=title,
        alt_text=" ".join(comparison_headlines(comparison)),
        caption=caption_around_zero("differences", comparison.level),
        spec=differences_chart(comparison, definitions),
        header=_HEAD,
        rows=_cells(comparison),
    )


def caption_around_zero(values: str, level: float) -> str:
    """Return the caption of a chart of intervals around zero."""
    return (
        f"Filled dots: significant {values}; open dots: not significant. Whiskers: "
        f"{numbers.format_percent(level)} CIs."
    )


def differences_chart(comparison: Comparison, definitions: Iterable[Definition] = ()) -> Spec:
    """Return the chart of paired differences with intervals around zero.

    Filled dots are significant differences.
    """
    defined = [d for d in comparison if math.isfinite(d.value)]
    rows = _row_labels(comparison)
    panels = _panels(defined, {d.measure: d for d in definitions})
    return spec_around_zero([_panel(panel, rows) for panel in panels], rows.values())


def _panels(
    differences: Iterable[Difference], definitions: Mapping[str, Definition]
) -> list[list[Difference]]:
    """Group differences that can share a scale.

    These are measures with the same bounded range and direction, otherwise those of one measure.
    """

    def scale(d: Difference) -> Hashable:
        definition = definitions.get(d.measure)
        bounded = definition is not None and None not in definition.range
        return (
            (definition.range, definition.higher_is_better) if definition and bounded else d.measure
        )

    return list(group_by(differences, scale).values())


def _row_labels(comparison: Comparison) -> dict[tuple[str, str, str], str]:
    measures = unique_labels((d.measure for d in comparison), vega.MAX_LABEL_LENGTH)
    systems = unique_labels(
        (name for d in comparison for name in (d.system, d.baseline)), vega.MAX_LABEL_LENGTH // 2
    )
    keys = [(d.measure, d.system, d.baseline) for d in comparison]
    if len({key[1:] for key in keys}) == 1:
        return {key: measures[key[0]] for key in keys}
    return {k: f"{measures[k[0]]}, {systems[k[1]]} - {systems[k[2]]}" for k in keys}


def _panel(panel: list[Difference], rows: Mapping[tuple[str, str, str], str]) -> Spec:
    data = [_datum(d, rows[d.measure, d.system, d.baseline]) for d in panel]
    tips = vega.tooltip(("row", "difference of"), ("text", "difference"), ("p", "p"),
                   ("verdict", "verdict"))  # fmt: skip
    return panel_around_zero(data, vega.direction(panel[0].higher_is_better), tips)


def panel_around_zero(data: Sequence[Spec], title: str, tips: Sequence[Spec]) -> Spec:
    """Return a panel of values with intervals around zero, a row for each.

    Parameters
    ----------
    data : sequence of dict
        For each ``row`` its ``value``, ``low`` and ``high``, and whether it is significantly
        different from 0, ``told``, which fills its dot.
    title : str
        Title of the axis.
    tips : sequence of dict
        Tooltips.

    Returns
    -------
    dict
        The panel.
    """
    color = {"condition": {"test": "datum.told", "value": vega.PALETTE[0]}, "value": "currentColor"}
    # A hollow dot is filled with nothing, so the whisker shows through; that is fine at this size.
    fill = {**color, "value": "none"}
    x = vega.quantity("low", title=title, axis={"tickCount": 4}, scale=vega.padded_scale(data, 0.0))
    zero = vega.rule(strokeDash=[3, 3], opacity=0.6)
    whisker = {"type": "rule", "strokeWidth": 2}
    shared = {"y": vega.category("row", title=None), "stroke": color, "tooltip": tips}
    return {
        "width": 420,
        "height": {"step": 26},
        "data": {"values": data},
        "layer": [
            vega.mark_layer(zero, x={"datum": 0}),
            {
                "encoding": shared,
                "layer": [
                    vega.mark_layer(whisker, x=x, x2={"field": "high"}),
                    vega.mark_layer(vega.dot(filled=False), x=vega.quantity("value"), fill=fill),
                ],
            },
        ],
    }


def spec_around_zero(panels: Sequence[Spec], rows: Iterable[str]) -> Spec:
    """Return panels below each other, with room for the names of their rows."""
    spec = vega.assemble_spec(vconcat=list(panels))
    # Names as long as these may well be wider in the reader's font.
    longest = max(map(len, rows), default=0)
    return {**spec, "padding": {**spec["padding"], "left": 16 + longest}}


def _datum(d: Difference, row: str) -> Spec:
    difference_outcome = outcome(d)
    return {
        "row": row,
        **interval_datum(d.value, d.low, d.high),
        "p": numbers.format_p_digits(d.p_adjusted),
        "verdict": difference_outcome.value,
        "told": difference_outcome.is_significant,
    }


def interval_datum(value: float, low: float, high: float) -> Spec:
    """Return a difference with its interval, as numbers and as text."""
    digits = numbers.rounding([(value, low, high)], keep_sign=True)
    return {**vega.limits(value, low, high), "text": digits.value_with_interval(value, low, high)}


# --- Against margins ------------------------------------------------------------------------------


def _margins_figure(comparison: Comparison, title: str) -> Figure:
    """Return the figure of the differences of one measure against its margins."""
    first = comparison.differences[0]
    rows = difference_rows(comparison)
    has_single_baseline = len({d.baseline for d in comparison}) == 1
    systems = unique_labels(d.system for d in comparison)
    difference_by_label = {
        systems[d.system] if has_single_baseline else row.systems: d
        for d, row in zip(comparison, rows, strict=True)
    }
    baseline_text = f" to {shorten_name(first.baseline)}" if has_single_baseline else ""
    equivalence_level = numbers.format_percent(round(2 * comparison.level - 1, 12))
    return Figure(
        title=title,
        alt_text=" ".join(comparison_headlines(comparison)),
        caption=f"Differences{baseline_text}. Shaded: the margins, ±{first.margin:g}. Whiskers: "
        f"{numbers.format_percent(comparison.level)} CIs; a filled dot marks an interval within "
        "the margins, which is stricter than the equivalence test, whose intervals are at "
        f"{equivalence_level}.",
        spec=margins_chart(difference_by_label),
        header=(*_HEAD, "p (non-inferiority)", "p (equivalence)"),
        rows=tuple(
            (*cells, row.p_noninferiority, row.p_equivalence)
            for cells, row in zip(_cells(comparison), rows, strict=True)
        ),
    )


def margins_chart(differences: Mapping[str, Difference]) -> Spec:
    """Return the chart of differences of one measure, with intervals and margins.

    Filled dots have intervals within the margins.
    """
    names = unique_labels(differences, vega.MAX_LABEL_LENGTH)
    first = next(iter(differences.values()))
    data = [
        {
            "system": names[name],
            **interval_datum(d.value, d.low, d.high),
            "verdict": outcome(d).value,
            "inside": -first.margin < d.low and d.high < first.margin,
        }
        for name, d in differences.items()
        if d.value == d.value
    ]
    borders = [x for x in (-first.margin, first.margin) if math.isfinite(x)]
    scale = vega.padded_scale(data, *borders, 0.0)
    title = vega.direction(first.higher_is_better)
    x = vega.quantity("low", title=title, axis={"tickCount": 5}, scale=scale)
    layers: list[Spec] = []
    if "domain" in scale:
        low, high = scale["domain"]
        shaded = {"from": max(-first.margin, low), "to": min(first.margin, high)}
        mark = {"type": "rect", "color": "currentColor", "opacity": 0.08}
        layers.append(vega.layer([shaded], mark, x={**x, "field": "from"}, x2={"field": "to"}))
    for lines, dash in ((borders, [6, 3]), ([0.0], [2, 3])):
        rows = [{"at": json_number(limit)} for limit in lines]
        if rows:
            upright = vega.rule(strokeDash=dash, opacity=0.6)
            layers.append(vega.layer(rows, upright, x={**x, "field": "at"}))
    tips = vega.tooltip(("system", "system"), ("text", "difference"), ("verdict", "verdict"))
    y = vega.category("system", title=None, sort=list(names.values()))
    shared: Spec = {"y": y, "tooltip": tips, "stroke": {"value": vega.PALETTE[0]}}
    fill = {"condition": {"test": "datum.inside", "value": vega.PALETTE[0]}, "value": "none"}
    value = {**x, "field": "value"}
    layers += [
        vega.layer(data, {"type": "rule", "strokeWidth": 2}, **shared, x=x, x2={"field": "high"}),
        vega.layer(data, vega.dot(filled=False), **shared, x=value, fill=fill),
    ]
    return vega.assemble_spec(width=420, height={"step": 28}, layer=layers)


register_chart(ComparisonChart(name="differences", title="Differences", draw=difference_figures))
