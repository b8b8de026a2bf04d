"""The figures of the HTML page: each a picture, its spec, a sentence and its numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from calipers.report import calibration, charts, comparing, confusion, numbers
from calipers.report.names import labels, short, visible
from calipers.report.pictures import drawing, packed
from calipers.report.rendering import picture
from calipers.report.rows import definitions_of, difference_rows
from calipers.report.verdict import (
    comparison_headlines,
    groups_text,
    outcome,
    overall_sentence,
    pairs,
)
from calipers.results import (
    ORIENTATIONS,
    Comparison,
    Curve,
    Definition,
    Difference,
    Evaluation,
    Overall,
    PerUnit,
)

if TYPE_CHECKING:
    from markupsafe import Markup

#: More rows than these have a chart a measure, or are left to the tables.
MOST_DIFFERENCES = 60
#: So many pairs have a chart of their units in the page of an evaluation.
MOST_PAIRS = 3
#: In the page of a comparison so many bars are drawn in all, in so many charts at most.
MOST_UNIT_BARS = 1800
MOST_UNIT_CHARTS = 18
MOST_UNIT_ROWS = 24
#: The differences of more units than these are not drawn.
MOST_UNITS = 50_000
#: Measures have charts of their own until so many pairs are drawn in all.
MOST_DRAWN = 100
#: More measures have no diagram of mean ranks; more systems no place in a chart.
MOST_MEASURES = 12
MOST_IN_MATRIX = 16
MOST_RANKED = 40
#: Rows of numbers beside a chart.
MOST_ROWS = 60
_POINTS = 11

#: Kinds that are left to those who open "More curves".
_MORE = frozenset({"DET", "lift", "gain", "cost", "net benefit"})
#: So many charts of the same kind, one a system, are all in sight.
_SIDE_BY_SIDE = 2

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
    #: The system, where a reader chooses one, and what the figures of all systems have in common.
    choice: str = ""
    chosen_from: str = ""
    chosen_by: str = "System"
    #: What the ids in the picture begin with; no two figures of a page have the same.
    name: str = "figure"
    #: The picture, where it is already being drawn.
    begun: Future[str] | None = field(default=None, compare=False, repr=False)

    @property
    def svg(self) -> Markup:
        """The picture that is there without JavaScript."""
        from markupsafe import Markup

        made = picture(charts.still(self.spec)) if self.begun is None else self.begun.result()
        return Markup(drawing(made, self.name))

    @property
    def json(self) -> Markup:
        """The spec for a ``script`` element of data, which no ``<`` can end; its data by column, as
        the page's script unpacks them."""
        from markupsafe import Markup

        spec = packed(self.spec)
        text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return Markup(text.replace("<", "\\u003c"))


@dataclass(frozen=True, slots=True)
class Choice:
    """One place of the page: a figure, or some of which the reader chooses one."""

    figures: tuple[Figure, ...]

    @property
    def more(self) -> bool:
        """Whether it is left to those who ask for more."""
        return self.figures[0].more

    @property
    def wide(self) -> bool:
        """Whether it takes the whole width."""
        return any(figure.wide for figure in self.figures)


def by_choice(drawn: Sequence[Figure]) -> list[Choice]:
    """The places of a page for figures."""
    together = groupby(drawn, lambda f: f.chosen_from if f.choice else f.name)
    return [Choice(tuple(group)) for _, group in together]


def figures(
    evaluation: Evaluation,
    orientation: str = ORIENTATIONS[0],
    begin: Callable[[charts.Spec], Future[str]] | None = None,
) -> list[Figure]:
    """The figures of a page, in order; none where there is nothing to draw.

    ``begin`` begins a picture as soon as its spec is there, while the next curves are computed.
    """

    def begun(made: Iterable[Figure]) -> Iterator[Figure]:
        for figure in made:
            yield (
                figure if begin is None else replace(figure, begun=begin(charts.still(figure.spec)))
            )

    return numbered(
        [
            *begun(_confusion_figures(evaluation, orientation)),
            *sorted(begun(_curve_figures(evaluation)), key=lambda figure: figure.more),
            *begun(_compared(evaluation)),
            *begun(_unit_figures(evaluation)),
        ]
    )


def _compared(evaluation: Evaluation) -> list[Figure]:
    if evaluation.comparison is None:
        return []
    return comparison_figures(evaluation.comparison, evaluation.definitions)


def comparison_figures(
    comparison: Comparison, definitions: Sequence[Definition] = ()
) -> list[Figure]:
    """The figures of all differences together: intervals, pairs, mean ranks."""
    return [
        *_difference_figures(comparison, definitions),
        *_matrix_figures(comparison),
        *_rank_figures(comparison),
    ]


def numbered(made: Iterable[Figure]) -> list[Figure]:
    """The figures, each with ids of its own."""
    return [replace(figure, name=f"figure-{place}") for place, figure in enumerate(made)]


# --- Confusion matrices ---------------------------------------------------------------------------


def _confusion_figures(evaluation: Evaluation, orientation: str) -> Iterator[Figure]:
    drawn = [c for c in evaluation.confusions if len(c.labels) <= confusion.MOST_DRAWN]
    order = confusion.common_order(drawn)
    for own in drawn:
        ordered = own if order is None else own.reordered(order)
        title = kind = "Confusion matrix"
        if len(evaluation.confusions) > 1:
            title = f"{title}: {short(own.system)}"
        head, rows = confusion.grid(ordered, orientation)
        yield Figure(
            title=title,
            label=f"{title}. {confusion.summary(ordered)}",
            caption=confusion.caption(ordered, own.labels, orientation),
            spec=confusion.heat_map(ordered, orientation),
            head=tuple(head),
            rows=tuple(map(tuple, rows)),
            wide=len(own.labels) > confusion.WRITTEN,
            choice=_choice(own.system, len(evaluation.confusions)),
            chosen_from=kind,
        )


# --- Curves ---------------------------------------------------------------------------------------


def _curve_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """The figures of the curves, each as soon as its curves are computed."""
    for kind, of_kind in _by_kind(evaluation.curves):
        groups: dict[str, list[Curve]] = {}
        for curve in of_kind:
            if len(curve.x) and kind not in calibration.KINDS:
                # Curves of measures and of classes share a chart by system, others by kind.
                own = curve.series or kind == "threshold"
                groups.setdefault(curve.system if own else "", []).append(curve)
        for system, curves in groups.items():
            yield _curve_figure(kind, system, curves, evaluation.systems)
    together = calibration.calibration_curves(evaluation)
    if together:
        yield _calibration_figure(together, evaluation.systems)


def _by_kind(curves: Sequence[Curve]) -> Iterator[tuple[str, Iterable[Curve]]]:
    """The curves by kind; those that are computed when they are looked at come so anyway."""
    if isinstance(curves, tuple):
        place = {kind: i for i, kind in enumerate(dict.fromkeys(c.kind for c in curves))}
        curves = sorted(curves, key=lambda curve: place[curve.kind])
    yield from groupby(curves, lambda curve: curve.kind)


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
    kind: str, system: str, curves: Sequence[Curve], systems: Sequence[str]
) -> Figure:
    first = curves[0]
    title = of_all = _KINDS.get(kind.lower(), short(kind))
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
        more=kind in _MORE,
        choice=_choice(system, len(systems)) if system else "",
        chosen_from=of_all,
    )


def _choice(system: str, systems: int) -> str:
    """What the reader chooses, where each system has a chart of its own and they are many."""
    return short(system) if systems > _SIDE_BY_SIDE else ""


def _curve_caption(curves: Sequence[Curve]) -> str:
    first, parts = curves[0], []
    if first.at == "rank":
        ranks = [f"{rank:g}" for rank in first.threshold]
        parts.append(f"Means over topics, of the first {', '.join(ranks)} documents.")
    if first.kind in _SAID:
        parts.append(_SAID[first.kind])
    if first.classes:
        parts.append(f"The {len(curves)} most frequent of {first.classes:,} classes.")
    level = numbers.percent(first.level)
    if any(math.isfinite(v) for c in curves for v in c.low):
        of = " of the thresholds chosen here" if first.kind == "cost" else ""
        parts.append(f"Shaded: {level} pointwise band{of} ({short(first.method)}).")
    if any(len(c.wide_low) for c in curves):
        parts.append(
            f"Paler: {level} band for the whole curve at once ({short(first.wide_method)}), which "
            "promises at least that much."
        )
    if charts.has_chance(curves):
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


def _difference_figures(
    comparison: Comparison, definitions: Sequence[Definition]
) -> Iterator[Figure]:
    """The intervals, in one chart where they are few; those with margins by measure."""
    of: dict[str, list[Difference]] = {}
    for d in comparison:
        if math.isfinite(d.value):
            of.setdefault(d.measure, []).append(d)
    plain = [d for own in of.values() for d in own if math.isnan(d.margin)]
    if 0 < len(plain) <= MOST_DIFFERENCES:
        together = replace(comparison, differences=tuple(plain))
        yield _difference_figure(together, definitions, "Differences")
        of = {m: own for m, own in of.items() if math.isfinite(own[0].margin)}
    shown = _fitting({m: own for m, own in of.items() if len(own) <= MOST_DIFFERENCES})
    for measure, own in shown:
        part = replace(comparison, differences=tuple(own))
        title = f"Differences: {short(measure)}"
        if math.isnan(own[0].margin):
            made = _difference_figure(part, definitions, title)
        else:
            made = _margin_figure(part, title)
        yield _of_measure(made, measure, len(shown), "differences")


def _fitting(of: Mapping[str, list[Difference]]) -> list[tuple[str, list[Difference]]]:
    """The differences by measure, as many measures as there is room for."""
    sizes = accumulate(map(len, of.values()))
    return [item for item, size in zip(of.items(), sizes, strict=True) if size <= MOST_DRAWN]


def _of_measure(figure: Figure, measure: str, of: int, kind: str) -> Figure:
    """The figure of one of so many measures, of which the reader chooses."""
    choice = short(measure) if of > _SIDE_BY_SIDE else ""
    return replace(figure, choice=choice, chosen_from=kind, chosen_by="Measure")


_HEAD = ("measure", "systems", "difference", "interval", "p", "verdict")


def _difference_numbers(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (r.measure, r.systems, r.value, r.interval, r.p, r.outcome.value)
        for r in difference_rows(comparison)
    )


def _difference_figure(
    comparison: Comparison, definitions: Sequence[Definition], title: str
) -> Figure:
    return Figure(
        title=title,
        label=" ".join(comparison_headlines(comparison)),
        caption="A full dot marks a difference that the data tell from zero, a hollow dot one that "
        f"they do not. Whiskers: {numbers.percent(comparison.level)} intervals.",
        spec=charts.differences_chart(comparison, definitions),
        head=_HEAD,
        rows=_difference_numbers(comparison),
    )


def _margin_figure(comparison: Comparison, title: str) -> Figure:
    """The differences of one measure against its margins."""
    first = comparison.differences[0]
    level = numbers.percent(comparison.level)
    rows = difference_rows(comparison)
    alone = len({d.baseline for d in comparison}) == 1
    names = labels(d.system for d in comparison)
    spec = comparing.margins_chart(
        [
            {
                "system": names[d.system] if alone else row.systems,
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "verdict": row.outcome.value,
            }
            for d, row in zip(comparison, rows, strict=True)
        ],
        (-first.margin, first.margin),
        higher_is_better=first.higher_is_better,
    )
    less = f" to {short(first.baseline)}" if alone else ""
    asked = numbers.percent(round(2 * comparison.level - 1, 12))
    return Figure(
        title=title,
        label=" ".join(comparison_headlines(comparison)),
        caption=f"Differences{less}. Shaded: the margins, ±{first.margin:g}. Whiskers: {level} "
        f"intervals; a full dot marks one that lies within the margins, which asks more than the "
        f"test of equivalence, to which {asked} intervals belong.",
        spec=spec,
        head=(*_HEAD, "p not worse", "p within"),
        rows=tuple(
            (*cells, row.not_inferior, row.equivalent)
            for cells, row in zip(_difference_numbers(comparison), rows, strict=True)
        ),
    )


def _matrix_figures(comparison: Comparison) -> Iterator[Figure]:
    """All pairs by measure, where there are three systems or more and the tests have two sides."""
    of: dict[str, list[Difference]] = {}
    for d in comparison:
        of.setdefault(d.measure, []).append(d)
    systems = {name for d in comparison for name in (d.system, d.baseline)}
    if comparison.baseline is not None or not 3 <= len(systems) <= MOST_IN_MATRIX:
        return
    two_sided = {m: own for m, own in of.items() if all(d.alternative == "two-sided" for d in own)}
    shown = _fitting(two_sided)
    for measure, own in shown:
        spec = comparing.pairs_chart(
            [
                {
                    "system": d.system,
                    "baseline": d.baseline,
                    "value": d.value,
                    "p": d.p_adjusted,
                    "told": outcome(d).decided,
                }
                for d in own
            ],
            higher_is_better=own[0].higher_is_better,
            level=comparison.level,
        )
        told = sum(outcome(d).decided for d in own)
        figure = Figure(
            title=f"Every pair: {short(measure)}",
            label=f"{short(measure)} of every pair of {len(systems)} systems: {told} of "
            f"{len(own)} pairs are told apart.",
            caption="The system of the row less that of the column. Coloured: pairs that the data "
            f"tell apart ({told} of {len(own)}), blue where the row is the better one; the smaller "
            "the p-value the stronger.",
            spec=spec,
            head=(),
            rows=(),
            wide=len(systems) > _NARROW_MATRIX,
        )
        yield _of_measure(figure, measure, len(shown), "pairs")


#: The matrix of more systems takes the whole width.
_NARROW_MATRIX = 6


def _rank_figures(comparison: Comparison) -> Iterator[Figure]:
    """The critical-difference diagrams."""
    drawn = [o for o in comparison.overall if 3 <= len(o.systems) <= MOST_RANKED][:MOST_MEASURES]
    for overall in drawn:
        yield _of_measure(_rank_figure(overall), overall.measure, len(drawn), "ranks")


def _rank_figure(o: Overall) -> Figure:
    apart = groups_text(o)
    known = "" if not apart else f" Nemenyi's test does not tell apart: {apart}."
    if not o.groups and apart:
        known = f" By Nemenyi's test {apart}."
    digits = numbers.Rounding(numbers.MOST)
    ranked = sorted(zip(o.systems, o.means, o.mean_ranks, strict=True), key=lambda row: row[2])
    bars = (
        " Bars join systems that Nemenyi's test at "
        f"{numbers.percent(round(1 - o.level, 12))} does not tell apart, which is not to say that "
        "they are equal."
        if math.isfinite(o.critical_difference)
        else ""
    )
    return Figure(
        title=f"Mean ranks: {short(o.measure)}",
        label=f"{overall_sentence(o)}{known}",
        caption=f"{overall_sentence(o)} Mean ranks over {numbers.count(o.n, short(o.unit))}, 1 the "
        f"best.{bars}",
        spec=comparing.critical_difference_chart(
            dict(zip(o.systems, o.mean_ranks, strict=True)), o.critical_difference
        ),
        head=("system", "mean rank", f"mean {short(o.measure)}"),
        rows=tuple((short(name), f"{rank:.2f}", digits(mean)) for name, mean, rank in ranked),
    )


# --- Units ----------------------------------------------------------------------------------------


def _unit_figures(evaluation: Evaluation) -> Iterator[Figure]:
    per_unit, comparison = evaluation.per_unit, evaluation.comparison
    if per_unit is None or comparison is None:
        return
    for system, baseline in list(pairs(comparison))[:MOST_PAIRS]:
        measure = _leading_measure(evaluation, per_unit, comparison, system, baseline)
        if measure is not None:
            definition = definitions_of(evaluation).get(measure)
            better = definition.higher_is_better if definition else None
            yield _unit_figure(per_unit, measure, (system, baseline), better)


def every_unit_figure(comparison: Comparison) -> tuple[list[Figure], int]:
    """The sorted differences of every pair by every measure, as far as a page has room for them,
    and how many more there are.
    """
    per_unit = comparison.per_unit
    if per_unit is None:
        return [], 0
    of: dict[str, list[Difference]] = {}
    for d in comparison:
        there = (per_unit.values.get(name, {}) for name in (d.system, d.baseline))
        if all(d.measure in values for values in there):
            of.setdefault(d.measure, []).append(d)
    asked = sum(map(len, of.values()))
    units = len(per_unit.ids)
    if not asked or not units or units > MOST_UNITS:
        return [], asked
    room = max(1, min(MOST_UNIT_CHARTS, MOST_UNIT_BARS // min(units, charts.MOST_BARS)))
    most = max(1, room // len(of))
    made: list[Figure] = []
    for own in list(of.values())[:room]:
        shown = [d for d in own[:most] if math.isfinite(d.value)]
        for d in shown:
            pair = (d.system, d.baseline)
            figure = _unit_figure(per_unit, d.measure, pair, d.higher_is_better, MOST_UNIT_ROWS)
            names = labels(pair)
            choice = f"{names[d.system]} - {names[d.baseline]}" if len(shown) > 1 else ""
            kind = f"units of {d.measure}"
            made.append(replace(figure, choice=choice, chosen_from=kind, chosen_by="Pair"))
    return made, asked - len(made)


def _leading_measure(
    evaluation: Evaluation, per_unit: PerUnit, comparison: Comparison, system: str, baseline: str
) -> str | None:
    """The first measure that was asked for and has values on the units of both systems."""
    ours, theirs = per_unit.values.get(system, {}), per_unit.values.get(baseline, {})
    compared = {d.measure for d in comparison if (d.system, d.baseline) == (system, baseline)}
    shared = [m for m in evaluation.measures if m in ours and m in theirs and m in compared]
    return next((m for m in shared if charts.unit_differences(per_unit, m, system, baseline)), None)


def _unit_figure(
    per_unit: PerUnit,
    measure: str,
    pair: tuple[str, str],
    higher_is_better: bool | None,
    most: int = MOST_ROWS,
) -> Figure:
    rows = charts.unit_differences(per_unit, measure, *pair)
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
        caption=f"{sentence}{thin} Dashed: the mean.",
        spec=charts.unit_chart(rows, higher_is_better),
        head=(units, "difference", system, baseline),
        rows=tuple(
            (visible(unit)[:80], digits(a - b), digits(a), digits(b))
            for unit, a, b in charts.extremes(rows, most)
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
