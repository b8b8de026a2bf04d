"""The figures of the HTML page: each a picture, its spec, a sentence and its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.report import charts, numbers
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

_KINDS = {
    "roc": "ROC curve",
    "pr": "Precision-recall curve",
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

    @property
    def svg(self) -> Markup:
        """The picture that is there without JavaScript."""
        import vl_convert
        from markupsafe import Markup

        return Markup(vl_convert.vegalite_to_svg(charts.still(self.spec)))

    @property
    def json(self) -> Markup:
        """The spec for a ``script`` element of data, which no ``<`` can end."""
        from markupsafe import Markup

        text = json.dumps(self.spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return Markup(text.replace("<", "\\u003c"))


def figures(evaluation: Evaluation) -> list[Figure]:
    """The figures of a page, in order; none where there is nothing to draw."""
    return [
        *_curve_figures(evaluation),
        *_difference_figures(evaluation),
        *_unit_figures(evaluation),
    ]


# --- Curves ---------------------------------------------------------------------------------------


def _curve_figures(evaluation: Evaluation) -> Iterator[Figure]:
    kinds = dict.fromkeys(c.kind for c in evaluation.curves)
    for kind in kinds:
        curves = [c for c in evaluation.curves if c.kind == kind and len(c.x)]
        if curves:
            yield _curve_figure(kind, curves, evaluation.systems)


def _curve_figure(kind: str, curves: Sequence[Curve], systems: Sequence[str]) -> Figure:
    first = curves[0]
    title = _KINDS.get(kind.lower(), short(kind))
    axes = f"{visible(first.y_label)} against {visible(first.x_label)}"
    named = [short(c.system) for c in curves if c.system]
    who = f", for {' and '.join(named)}" if named else ""
    return Figure(
        title=title,
        label=f"{title}: {axes}{who}.",
        caption=_curve_caption(curves),
        spec=charts.curve_chart(curves, [s for s in systems if s in {c.system for c in curves}]),
        head=("system", first.x_label, first.y_label, *filter(None, [first.at])),
        rows=tuple(row for c in curves for row in _curve_rows(c)),
    )


def _curve_caption(curves: Sequence[Curve]) -> str:
    first, parts = curves[0], []
    if first.at == "rank":
        ranks = [f"{rank:g}" for rank in first.threshold]
        parts.append(f"Means over topics, of the first {', '.join(ranks)} documents.")
    if any(len(c.band_x) for c in curves):
        parts.append(
            f"Shaded: {numbers.percent(first.level)} pointwise band ({short(first.method)})."
        )
    if any(c.chance for c in curves):
        parts.append("Dashed: chance.")
    tolerance = max(c.tolerance for c in curves)
    if tolerance > 0:
        parts.append(f"Drawn to within {tolerance:.2g} of the exact curve.")
    return " ".join(parts)


def _curve_rows(curve: Curve) -> list[tuple[str, ...]]:
    points = list(zip(curve.x, curve.y, curve.threshold, strict=True))
    return [
        (
            short(curve.system),
            f"{x:.4f}",
            f"{y:.4f}",
            *(charts.threshold_text(t),)[: bool(curve.at)],
        )
        for x, y, t in charts.thinned(points, _POINTS)
    ]


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
