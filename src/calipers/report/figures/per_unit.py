"""Charts of the differences between two systems on each unit, sorted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calipers.report import numbers
from calipers.report.figures import vega
from calipers.report.figures.differences import group_by_measure
from calipers.report.figures.figure import Figure
from calipers.report.figures.registry import EvaluationChart, register_chart
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import escape_unprintable, shorten_name, unique_labels
from calipers.report.verdict import group_by_pair
from calipers.report.wide import rank_systems
from calipers.results import Comparison, Difference, Evaluation, PerUnit

#: The largest number of bars in a chart; of more units some are drawn, evenly spaced.
MAX_BARS = 400
#: The largest number of bars in half the width of a page.
MAX_NARROW_BARS = 100
#: The largest number of pairs with a chart in the page of an evaluation.
MAX_PAIRS = 3
#: The largest numbers of bars and of charts in the page of a comparison.
MAX_TOTAL_BARS = 1800
MAX_CHARTS = 18
#: The differences of more units than these are not drawn.
MAX_UNITS = 50_000
#: Number of rows in the table of a chart, if it is the only one, and if it is one of many.
MAX_ROWS = 60
MAX_ROWS_OF_MANY = 24

#: Unit, value of the system, value of the baseline.
Row = tuple[str, float, float]


def unit_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Yield the figures of the leader and the others, or of the first pairs of few systems.

    Each is by the first measure that has values on the units of both systems.
    """
    per_unit, comparison = evaluation.per_unit, evaluation.comparison
    if per_unit is None or comparison is None:
        return
    pairs = list(group_by_pair(comparison).items())
    leader = next(iter(rank_systems(evaluation)), "")
    if len(pairs) > MAX_PAIRS:
        of_leader = [item for item in pairs if leader in item[0]]
        pairs = (of_leader or pairs)[: max(MAX_PAIRS, _max_charts(per_unit))]
    figures = []
    for pair, differences in pairs:
        compared = {d.measure for d in differences if _has_units(per_unit, d)}
        shared = (m for m in evaluation.measures if m in compared)
        measure = next((m for m in shared if unit_differences(per_unit, m, *pair)), None)
        if measure is not None:
            d = next(d for d in differences if d.measure == measure)
            figures.append(_figure(per_unit, d, MAX_ROWS, n_pairs=len(pairs)))
    # Adjacent figures of a selector are by the same measure.
    yield from sorted(figures, key=lambda figure: figure.chosen_from)


def all_unit_figures(comparison: Comparison) -> tuple[list[Figure], int]:
    """Return the figures of all pairs by all measures, and the number of omitted ones.

    A figure is omitted if a page has no room for it.
    """
    per_unit = comparison.per_unit
    if per_unit is None:
        return [], 0
    differences_by_measure = group_by_measure(d for d in comparison if _has_units(per_unit, d))
    n_requested = sum(map(len, differences_by_measure.values()))
    units = len(per_unit.ids)
    if not n_requested or not units or units > MAX_UNITS:
        return [], n_requested
    max_figures = _max_charts(per_unit)
    max_pairs = max(1, max_figures // len(differences_by_measure))
    figures: list[Figure] = []
    for differences in list(differences_by_measure.values())[:max_figures]:
        plotted = [d for d in differences[:max_pairs] if math.isfinite(d.value)]
        figures += [_figure(per_unit, d, MAX_ROWS_OF_MANY, n_pairs=len(plotted)) for d in plotted]
    return figures, n_requested - len(figures)


def _max_charts(per_unit: PerUnit) -> int:
    """Return the number of charts for which a page has room."""
    n_bars = max(1, min(len(per_unit.ids), MAX_BARS))
    return max(1, min(MAX_CHARTS, MAX_TOTAL_BARS // n_bars))


def _has_units(per_unit: PerUnit, d: Difference) -> bool:
    """Return whether both systems have values on the units."""
    return all(d.measure in per_unit.values.get(name, {}) for name in (d.system, d.baseline))


def _figure(per_unit: PerUnit, d: Difference, max_rows: int, *, n_pairs: int) -> Figure:
    """Return the figure of a pair, which the reader selects if there are several."""
    pair = (d.system, d.baseline)
    rows = unit_differences(per_unit, d.measure, *pair)
    names = unique_labels(pair)
    system, baseline = names[d.system], names[d.baseline]
    units, name = shorten_name(per_unit.unit), shorten_name(d.measure)
    sentence = _gains_sentence(
        rows, numbers.format_count(len(rows), units), f"{name} of {system} minus {baseline}"
    )
    sampling_note = (
        "" if len(rows) <= MAX_BARS else f" {MAX_BARS} of them are plotted, evenly spaced."
    )
    digits = numbers.Rounding(numbers.MAX_DECIMALS)
    common_title = f"{name} by {units.removesuffix('s')}"
    return Figure(
        kind="units",
        title=f"{common_title}: {system} minus {baseline}",
        chosen_from=common_title,
        choice=f"{system} - {baseline}" if n_pairs > 1 else "",
        chosen_by="Pair",
        alt_text=sentence,
        caption=f"{sentence}{sampling_note} Dashed: the mean difference.",
        spec=unit_chart(rows, d.value, d.higher_is_better),
        header=(units, "difference", system, baseline),
        rows=tuple(
            (escape_unprintable(unit)[:80], digits(a - b), digits(a), digits(b))
            for unit, a, b in select_extremes(rows, max_rows)
        ),
        wide=len(rows) > MAX_NARROW_BARS,
    )


def _gains_sentence(rows: Sequence[Row], units: str, subject: str) -> str:
    n_higher = sum(a > b for _, a, b in rows)
    n_lower = sum(a < b for _, a, b in rows)
    n_equal = len(rows) - n_higher - n_lower
    return (
        f"{subject} on {units}, largest first: {n_higher:,} higher, {n_equal:,} equal, "
        f"{n_lower:,} lower."
    )


def unit_differences(per_unit: PerUnit, measure: str, system: str, baseline: str) -> list[Row]:
    """Return the values of both systems, the largest difference first, without undefined ones."""
    system_values, baseline_values = (
        per_unit.values[system][measure],
        per_unit.values[baseline][measure],
    )
    rows = [
        (unit, float(a), float(b))
        for unit, a, b in zip(per_unit.ids, system_values, baseline_values, strict=True)
        if math.isfinite(a) and math.isfinite(b)
    ]
    return sorted(rows, key=lambda row: (row[2] - row[1], row[0]))


def select_extremes(rows: list[Row], max_rows: int) -> list[Row]:
    """Return at most ``max_rows`` rows, half of them from the start and half from the end."""
    return rows if len(rows) <= max_rows else rows[: max_rows // 2] + rows[-(max_rows // 2) :]


def unit_chart(rows: Sequence[Row], overall: float, higher_is_better: bool | None = None) -> Spec:
    """Return the chart of differences as bars, with the id of the unit in the tooltip.

    A dashed line is at the difference over all units, which is not their mean if units have
    weights.
    """
    data = [
        {"i": i, "unit": escape_unprintable(unit)[:80],
         "system": json_number(a, 4), "baseline": json_number(b, 4),
         "difference": json_number(a - b, 4), "sign": (a > b) - (a < b)}
        for i, (unit, a, b) in vega.sample_evenly(list(enumerate(rows)), MAX_BARS)
    ]  # fmt: skip
    signs = {"domain": [1, 0, -1], "range": vega.sign_colors(higher_is_better)}
    y = vega.quantity("difference", title="difference", axis={"tickCount": 5})
    tips = vega.tooltip(*((name, name) for name in ("unit", "difference", "system", "baseline")))
    bars = vega.mark_layer(
        {"type": "bar", "binSpacing": 0},
        x={"field": "i", "type": "ordinal", "axis": None},
        y=y,
        color={"field": "sign", "type": "ordinal", "scale": signs, "legend": None},
        tooltip=tips,
    )
    layers = [bars]
    if math.isfinite(overall):
        mark = vega.rule(strokeDash=[6, 3], opacity=0.8)
        y_overall, tip = {**y, "field": "overall"}, vega.tooltip(("overall", "over all"))
        layers.append(
            vega.layer([{"overall": json_number(overall)}], mark, y=y_overall, tooltip=tip)
        )
    return vega.assemble_spec(
        width=900 if len(data) > MAX_NARROW_BARS else 410,
        height=260,
        data={"values": data},
        layer=layers,
    )


register_chart(
    EvaluationChart(
        name="units",
        title="Differences by unit",
        draw=unit_figures,
        section="units",
    )
)
