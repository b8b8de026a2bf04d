"""The figures of the HTML page: each a picture, its spec, a sentence and its numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from calipers.report import calibration, charts, confusion, numbers
from calipers.report.names import labels, short, visible
from calipers.report.rows import definitions_of, difference_rows
from calipers.report.verdict import comparison_headlines, pairs
from calipers.results import Comparison, Curve, Evaluation, PerUnit

if TYPE_CHECKING:
    from markupsafe import Markup

#: More rows than these are left to the tables, more pairs to whoever asks for them.
MOST_DIFFERENCES = 60
MOST_PAIRS = 3
#: Rows of numbers beside a chart.
MOST_ROWS = 60
_POINTS = 11

#: Kinds that are left to those who open "More curves".
_MORE = frozenset({"DET", "lift", "gain", "cost", "net benefit"})
#: So many systems have a chart of their own in sight where a chart holds one system.
_MOST_IN_SIGHT = 2

_KINDS = {
    "roc": "ROC curve",
    "pr": "Precision-recall curve",
    "threshold": "Measures against the threshold",
    "density": "Scores of the classes",
    "det": "Detection error tradeoff",
    "lift": "Lift",
    "gain": "Cumulative gain",
    "cost": "Cost curve",
    "net benefit": "Net benefit",
    "pr at recall levels": "Precision at recall levels",
    "pr at ranks": "Precision and recall at ranks",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of the page. ``label`` is what a person would say who sees it."""

    title: str
    label: str
    caption: str
    spec: charts.Spec
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False
    more: bool = False

    @property
    def svg(self) -> Markup:
        """The picture that is there without JavaScript."""
        import vl_convert
        from markupsafe import Markup

        picture = vl_convert.vegalite_to_svg(charts.still(self.spec))
        return Markup(_DRAWING.sub(_rounded, picture))

    @property
    def json(self) -> Markup:
        """The spec for a ``script`` element of data, which no ``<`` can end; its data by column, as
        the page's script unpacks them."""
        from markupsafe import Markup

        spec = self.spec
        if "datasets" in spec:
            packed = {name: _packed(rows) for name, rows in spec["datasets"].items()}
            spec = {**spec, "datasets": packed}
        text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return Markup(text.replace("<", "\\u003c"))


#: Coordinates in a picture, not its text.
_DRAWING = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2)="[^"]*"')
_LONG = re.compile(r"(\d\.\d)\d+(?!\d*e)")


def _rounded(attribute: re.Match[str]) -> str:
    """Coordinates to a tenth of a pixel."""
    return _LONG.sub(r"\1", attribute[0])


def _packed(rows: Sequence[charts.Spec]) -> dict[str, Any]:
    """Rows of one kind by column: a list, or runs of equal values where that is shorter."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        runs = [[value, len(list(run))] for value, run in groupby(values)]
        columns[name] = {"runs": runs} if 2 * len(runs) < len(values) else values
    return columns


def figures(evaluation: Evaluation) -> list[Figure]:
    """The figures of a page, in order; none where there is nothing to draw."""
    return [
        *_confusion_figures(evaluation),
        *_curve_figures(evaluation),
        *_difference_figures(evaluation),
        *_unit_figures(evaluation),
    ]


# --- Confusion matrices ---------------------------------------------------------------------------


def _confusion_figures(evaluation: Evaluation) -> Iterator[Figure]:
    order = confusion.common_order(evaluation.confusions)
    for place, own in enumerate(evaluation.confusions):
        if len(own.labels) > confusion.MOST_DRAWN:
            continue
        ordered = own if order is None else own.reordered(order)
        title = "Confusion matrix"
        if len(evaluation.confusions) > 1:
            title = f"{title}: {short(own.system)}"
        head, rows = confusion.grid(ordered)
        yield Figure(
            title=title,
            label=f"{title}. {confusion.summary(ordered)}",
            caption=confusion.caption(ordered, own.labels),
            spec=confusion.heat_map(ordered),
            head=tuple(head),
            rows=tuple(map(tuple, rows)),
            wide=len(own.labels) > confusion.WRITTEN,
            more=place >= _MOST_IN_SIGHT,
        )


# --- Curves ---------------------------------------------------------------------------------------


def _curve_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """The figures of the curves, those in sight first."""
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in evaluation.curves:
        if len(curve.x) and curve.kind not in calibration.KINDS:
            # Curves of measures and of classes share a chart by system, others by kind.
            own = curve.series or curve.kind == "threshold"
            groups.setdefault((curve.kind, curve.system if own else ""), []).append(curve)
    order = list(dict.fromkeys(system for _, system in groups if system))
    made = [
        _curve_figure(kind, system, curves, evaluation.systems, order)
        for (kind, system), curves in groups.items()
    ]
    together = calibration.calibration_curves(evaluation)
    if together:
        made.append(_calibration_figure(together, evaluation.systems))
    yield from sorted(made, key=lambda figure: figure.more)


def _calibration_figure(curves: Mapping[str, Sequence[Curve]], systems: Sequence[str]) -> Figure:
    head, rows = calibration.calibration_table(curves)
    return Figure(
        title="Calibration",
        label=calibration.calibration_label(curves),
        caption=calibration.calibration_caption(curves),
        spec=calibration.calibration_chart(curves, systems),
        head=head,
        rows=rows,
    )


def _curve_figure(
    kind: str, system: str, curves: Sequence[Curve], systems: Sequence[str], order: Sequence[str]
) -> Figure:
    first = curves[0]
    title = _KINDS.get(kind.lower(), short(kind))
    if system and len(systems) > 1:
        title = f"{title}: {short(system)}"
    against = "Measures" if kind == "threshold" else visible(first.y_label)
    named = dict.fromkeys(short(c.system) for c in curves if c.system)
    who = f", for {' and '.join(named)}" if named else ""
    if kind == "density":
        spec = charts.density_chart(*curves)
        head, rows = _density_table(curves)
    else:
        spec = charts.curve_chart(curves, [s for s in systems if s in {c.system for c in curves}])
        head, rows = _curve_table(curves)
    return Figure(
        title=title,
        label=f"{title}: {against} against {visible(first.x_label)}{who}.",
        caption=_curve_caption(curves),
        spec=spec,
        head=head,
        rows=rows,
        more=kind in _MORE or (bool(system) and order.index(system) >= _MOST_IN_SIGHT),
    )


def _curve_caption(curves: Sequence[Curve]) -> str:
    first, parts = curves[0], []
    if first.at == "rank":
        ranks = [f"{rank:g}" for rank in first.threshold]
        parts.append(f"Means over topics, of the first {', '.join(ranks)} documents.")
    if first.kind in _SAID:
        parts.append(_SAID[first.kind])
    level = numbers.percent(first.level)
    if any(math.isfinite(v) for c in curves for v in c.low):
        parts.append(f"Shaded: {level} pointwise band ({short(first.method)}).")
    if any(len(c.wide_low) for c in curves):
        parts.append(
            f"Paler: {level} band for the whole curve at once ({short(first.wide_method)}), which "
            "promises at least that much."
        )
    if any(c.chance for c in curves):
        parts.append("Dashed: chance.")
    if any(math.isfinite(c.cut) for c in curves):
        if first.kind in ("threshold", "density"):
            parts.append(f"Upright line: the threshold in use, {charts.threshold_text(first.cut)}.")
        elif any(c.mark for c in curves):
            parts.append("Dot: the threshold in use.")
    tolerance = max(c.tolerance for c in curves)
    if tolerance > 0:
        parts.append(f"Drawn to within {tolerance:.2g} of the exact curve, in widths of the axes.")
    return " ".join(parts)


#: What has to be known to read a kind of curve.
_SAID = {
    "threshold": "Volume: the share predicted positive.",
    "density": "A histogram of each class, scaled to an area of 1, so that a rare class is seen as "
    "well as a common one. Strong colours: errors.",
    "DET": "Both axes in normal deviates, in which normal scores give a straight line.",
    "cost": "The lowest expected cost that any threshold reaches, chosen on these very rows, "
    "against the share of the cost that the positives would cause if all were wrong.",
    "net benefit": "True positives a row, less the false positives at their price: to act from a "
    "probability p on is to take p/(1 − p) true positives for one false positive.",
}


def _curve_table(curves: Sequence[Curve]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The heading and the rows of the numbers beside curves: a few points of each."""
    first = curves[0]
    name, of = ("measure", "value") if first.kind == "threshold" else ("system", first.y_label)
    if first.series:
        name = "class"
    against = first.at.lower() == first.x_label.lower() or first.kind == "net benefit"
    at = "" if against else first.at
    rows = [
        (
            short(c.y_label if first.kind == "threshold" else c.series or c.system),
            charts.threshold_text(c.x[i]) if first.kind == "threshold" else f"{c.x[i]:.4f}",
            "–" if math.isnan(c.y[i]) else f"{c.y[i]:.4f}",
            *((charts.threshold_text(c.threshold[i]),) if at else ()),
        )
        for c in curves
        for i in charts.thinned(list(range(len(c.x))), _POINTS)
    ]
    return (name, first.x_label, of, *filter(None, [at])), tuple(rows)


def _density_table(curves: Sequence[Curve]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    rows = [
        (short(c.series), f"{start:.4g}", f"{end:.4g}", f"{y:.4f}")
        for c in curves
        for start, end, y in zip(c.x[:-1], c.x[1:], c.y[:-1], strict=True)
    ]
    return ("class", "from", "to", "density"), tuple(rows)


# --- Differences ----------------------------------------------------------------------------------


def _difference_figures(evaluation: Evaluation) -> Iterator[Figure]:
    comparison = evaluation.comparison
    if comparison is None or not 0 < len(comparison) <= MOST_DIFFERENCES:
        return
    yield Figure(
        title="Differences",
        label=" ".join(comparison_headlines(comparison)),
        caption="A full dot marks a difference that the data tell from zero, a hollow dot one that "
        f"they do not. Whiskers: {numbers.percent(comparison.level)} intervals.",
        spec=charts.differences_chart(comparison, evaluation.definitions),
        head=("measure", "systems", "difference", "interval", "p", "verdict"),
        rows=tuple(
            (r.measure, r.systems, r.value, r.interval, r.p, r.outcome.value)
            for r in difference_rows(comparison)
        ),
    )


# --- Units ----------------------------------------------------------------------------------------


def _unit_figures(evaluation: Evaluation) -> Iterator[Figure]:
    per_unit, comparison = evaluation.per_unit, evaluation.comparison
    if per_unit is None or comparison is None:
        return
    for system, baseline in list(pairs(comparison))[:MOST_PAIRS]:
        measure = _leading_measure(evaluation, per_unit, comparison, system, baseline)
        if measure is not None:
            yield _unit_figure(evaluation, per_unit, measure, (system, baseline))


def _leading_measure(
    evaluation: Evaluation, per_unit: PerUnit, comparison: Comparison, system: str, baseline: str
) -> str | None:
    """The first measure that was asked for and has values on the units of both systems."""
    ours, theirs = per_unit.values.get(system, {}), per_unit.values.get(baseline, {})
    compared = {d.measure for d in comparison if (d.system, d.baseline) == (system, baseline)}
    shared = [m for m in evaluation.measures if m in ours and m in theirs and m in compared]
    return next((m for m in shared if charts.unit_differences(per_unit, m, system, baseline)), None)


def _unit_figure(
    evaluation: Evaluation, per_unit: PerUnit, measure: str, pair: tuple[str, str]
) -> Figure:
    rows = charts.unit_differences(per_unit, measure, *pair)
    definition = definitions_of(evaluation).get(measure)
    names = labels(pair)
    system, baseline = names[pair[0]], names[pair[1]]
    units, name = short(per_unit.unit), short(measure)
    sentence = _gains(rows, numbers.count(len(rows), units), name, system, baseline)
    drawn = len(rows) <= charts.MOST_BARS
    thin = "" if drawn else f" {charts.MOST_BARS} of them are drawn, evenly spaced."
    digits = numbers.Rounding(numbers.MOST)
    return Figure(
        title=f"{name} by {units.removesuffix('s')}",
        label=sentence,
        caption=sentence + thin,
        spec=charts.per_unit_chart(
            per_unit, measure, *pair, definition.higher_is_better if definition else None
        ),
        head=(units, "difference", system, baseline),
        rows=tuple(
            (visible(unit)[:80], digits(a - b), digits(a), digits(b))
            for unit, a, b in charts.extremes(rows, MOST_ROWS)
        ),
        wide=len(rows) > charts.FEW_BARS,
    )


def _gains(
    rows: Sequence[tuple[str, float, float]], units: str, name: str, system: str, baseline: str
) -> str:
    up = sum(a > b for _, a, b in rows)
    down = sum(a < b for _, a, b in rows)
    level = len(rows) - up - down
    return (
        f"{name} of {system} minus {baseline} on {units}, largest first: "
        f"{up:,} higher, {level:,} equal, {down:,} lower."
    )
