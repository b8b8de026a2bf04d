"""Critical-difference diagrams of mean ranks (Demšar 2006).

Bars join systems that do not differ significantly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from calipers.report import numbers
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure, measure_figure
from calipers.report.figures.registry import ComparisonChart, register_chart
from calipers.report.figures.vega import Spec, json_number
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.report.verdict import homogeneous_groups_text, omnibus_sentence, significance_level
from calipers.results import Comparison, Definition, OmnibusTest

#: The largest number of measures with a diagram.
MAX_MEASURES = 12
#: The largest number of systems in all diagrams.
MAX_TOTAL_SYSTEMS = 120
#: The largest number of systems in a diagram.
MAX_SYSTEMS = 40
#: The largest number of systems in half the width of a page.
MAX_NARROW_SYSTEMS = 12


def rank_figures(
    comparison: Comparison, definitions: Sequence[Definition] = ()
) -> Iterator[Figure]:
    """Yield the critical-difference diagrams."""
    fitting = [o for o in comparison.omnibus if 3 <= len(o.systems) <= MAX_SYSTEMS][:MAX_MEASURES]
    sizes = accumulate(len(o.systems) for o in fitting)
    tests = [o for o, size in zip(fitting, sizes, strict=True) if size <= MAX_TOTAL_SYSTEMS]
    for test in tests:
        yield measure_figure(_figure(test), test.measure, len(tests), "Mean ranks")


def _figure(o: OmnibusTest) -> Figure:
    groups_text, sentence = homogeneous_groups_text(o), omnibus_sentence(o)
    groups_note = (
        "" if not groups_text else f" No significant difference by Nemenyi's test: {groups_text}."
    )
    if not o.homogeneous_groups and groups_text:
        groups_note = f" By Nemenyi's test {groups_text}."
    digits = numbers.Rounding(numbers.MAX_DECIMALS)
    ranked = sorted(zip(o.systems, o.means, o.mean_ranks, strict=True), key=lambda row: row[2])
    bars = (
        " Bars join systems that Nemenyi's test at "
        f"{numbers.format_percent(significance_level(o.level))} does not find significantly "
        "different, which does not imply that they are equal."
        if math.isfinite(o.critical_difference)
        else ""
    )
    ranks = dict(zip(o.systems, o.mean_ranks, strict=True))
    return Figure(
        title=f"Mean ranks: {shorten_name(o.measure)}",
        alt_text=f"{sentence}{groups_note}",
        caption=f"{sentence} Mean ranks over {numbers.format_count(o.n, shorten_name(o.unit))}; "
        f"rank 1 is the best.{bars}",
        spec=critical_difference_chart(ranks, o.critical_difference),
        header=("system", "mean rank", f"mean {shorten_name(o.measure)}"),
        rows=tuple(
            (shorten_name(name), f"{rank:.2f}", digits(mean)) for name, mean, rank in ranked
        ),
        wide=len(ranked) > MAX_NARROW_SYSTEMS,
    )


def homogeneous_runs(ranks: Mapping[str, float], critical: float) -> list[tuple[str, ...]]:
    """Return the longest runs of systems, ordered by mean rank, without significant differences.

    The ranks of the ends of a run differ by less than ``critical``. Runs of one system, and those
    contained in another, are omitted.

    Examples
    --------
    >>> homogeneous_runs({"a": 1.2, "b": 2.0, "c": 2.1, "d": 3.4}, 1.0)
    [('a', 'b', 'c')]
    """
    order = sorted(ranks, key=lambda name: (ranks[name], name))
    runs: list[tuple[int, int]] = []
    for i, name in enumerate(order):
        last = i + sum(ranks[following] - ranks[name] < critical for following in order[i + 1 :])
        if last > i and (not runs or last > runs[-1][1]):
            runs.append((i, last))
    return [tuple(order[i : j + 1]) for i, j in runs]


def critical_difference_chart(ranks: Mapping[str, float], critical_difference: float) -> Spec:
    """Return the diagram of the mean rank of each system, 1 being the best.

    ``critical_difference`` is the smallest significant difference of mean ranks by Nemenyi's test.
    Its length is drawn below; if it is infinite or undefined no systems are joined.
    """
    order = sorted(ranks, key=lambda name: (ranks[name], name))
    names = unique_labels(order, vega.MAX_LABEL_LENGTH)
    is_finite = math.isfinite(critical_difference)
    bars = homogeneous_runs(ranks, critical_difference) if is_finite else []
    half = (len(order) + 1) // 2
    first = 0.8 + 0.5 * len(bars)
    depth = first + max(half - 1, 0) + 0.4
    start = float(math.floor(ranks[order[0]]))
    end = float(max(math.ceil(ranks[order[-1]]), start + 1))
    x, y = _axes(start, end, depth + is_finite)
    lines: list[Spec] = []
    label_rows: dict[bool, list[Spec]] = {True: [], False: []}
    for index, name in enumerate(order):
        is_left = index < half
        # The names of the innermost systems are the lowest, so that no line crosses another.
        level = first + (index if is_left else len(order) - 1 - index)
        x_rank, side = json_number(ranks[name]), start if is_left else end
        fields = {"system": names[name], "rank": f"{ranks[name]:.2f}"}
        lines += [
            {"x": x_rank, "y": 0.0, "x2": x_rank, "y2": level, **fields},
            {"x": x_rank, "y": level, "x2": side, "y2": level, **fields},
        ]
        label_rows[is_left].append(
            {"x": side, "y": level, "text": f"{names[name]}  {fields['rank']}"}
        )
    tips = vega.tooltip(("system", "system"), ("rank", "mean rank"))
    layers = [
        vega.layer(
            lines, vega.rule(opacity=0.6), x=x, y=y, **vega.end_channels("x2", "y2"), tooltip=tips
        )
    ]
    layers += _bars(bars, ranks, names, x, y)
    for is_left, rows in label_rows.items():
        if rows:
            at_left: Spec = {"align": "right", "dx": -6} if is_left else {"align": "left", "dx": 6}
            layers.append(_text_layer(rows, x, y, **at_left))
    if is_finite:
        x_end = json_number(min(start + critical_difference, end))
        length = {"x": start, "x2": x_end, "y": depth + 0.5}
        layers.append(
            vega.layer([length], vega.rule(strokeWidth=2), x=x, **vega.end_channels("x2"), y=y)
        )
        overflow_note = ", longer than the axis" if start + critical_difference > end else ""
        text = f"critical difference {critical_difference:.3g}{overflow_note}"
        label_row = {"x": length["x2"], "y": depth + 0.5, "text": text}
        layers.append(_text_layer([label_row], x, y, align="left", dx=6))
    width = 420 if len(order) <= MAX_NARROW_SYSTEMS else 780
    return vega.assemble_spec(width=width, height=24 * (depth + is_finite), layer=layers)


def _axes(start: float, end: float, bottom: float) -> tuple[Spec, Spec]:
    """Return an axis of the ranks at the top, and a hidden axis of depths."""
    ink = {"domainColor": "currentColor", "tickColor": "currentColor"}
    axis = {"orient": "top", "tickMinStep": 1, "grid": False, "domain": True, "ticks": True, **ink}
    exact = {"nice": False, "zero": False}
    x = vega.quantity("x", title="mean rank", scale={"domain": [start, end], **exact}, axis=axis)
    return x, vega.quantity("y", axis=None, scale={"domain": [bottom, 0.0], **exact})


def _bars(
    runs: list[tuple[str, ...]], ranks: Mapping[str, float], names: Mapping[str, str],
    x: Spec, y: Spec,
) -> list[Spec]:  # fmt: skip
    """Return the layer of bars over systems that do not differ significantly."""
    rows = [
        {
            "x": json_number(ranks[run[0]]),
            "x2": json_number(ranks[run[-1]]),
            "y": 0.4 + 0.5 * index,
            "systems": ", ".join(names[name] for name in run),
        }
        for index, run in enumerate(runs)
    ]
    mark = {"type": "rule", "strokeWidth": 5, "strokeCap": "round", "color": vega.PALETTE[0]}
    tips = vega.tooltip(("systems", "homogeneous groups"))
    return (
        [vega.layer(rows, mark, x=x, **vega.end_channels("x2"), y=y, tooltip=tips)] if rows else []
    )


def _text_layer(rows: list[Spec], x: Spec, y: Spec, **mark: Any) -> Spec:
    style = {"type": "text", "color": "currentColor", "fontSize": 12, "baseline": "middle", **mark}
    return vega.layer(rows, style, x=x, y=y, text=vega.nominal("text"))


register_chart(ComparisonChart(name="ranks", title="Mean ranks", draw=rank_figures))
