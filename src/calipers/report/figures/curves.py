"""Charts of curves: how their curves are computed, grouped into figures and captioned."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.lazy_dataclasses import dataclass
from calipers.report import numbers
from calipers.report.figures import histograms, plane, vega
from calipers.report.figures.curve_chart import curve_chart, has_chance, is_point, threshold_text
from calipers.report.figures.figure import Figure, FigureTable, selector_label
from calipers.report.figures.registry import CHARTS, ChartDefinition
from calipers.report.figures.vega import Spec, sample_evenly
from calipers.report.grouping import group_by
from calipers.report.safe_names import (
    escape_unprintable,
    method_text,
    shorten_name,
    unique_labels,
)
from calipers.report.wide import is_ranked, order_systems, primary_measure, rank_systems
from calipers.results import Curve, Evaluation, curve_kinds, plan_of, select_kinds
from calipers.results.name_lookup import match_case_insensitive

#: The largest number of systems that are drawn: the best ones.
MAX_CURVES = 12
#: The largest number of systems whose bands are drawn together at first.
MAX_OVERLAID = 4
#: Number of points of a curve in the table of its chart.
_N_TABLE_POINTS = 11

#: Title of the ROC chart if it has only points, which come after curves.
_POINTS_ONLY = "Predicted labels in the ROC plane"

#: Sources of curves: scores of two classes, or of one of several against all others; probabilities;
#: predicted numbers, quantiles, survival or uplift; rankings of topics; the points of clusterings.
SOURCES = (
    *("scores", "probabilities", "numbers", "quantiles", "survival", "uplift"),
    *("rankings", "clusters"),
)


def _single_facet(_: Any) -> Sequence[Mapping[str, Any]]:
    """Return the options of the only curve of a system.

    Parameters
    ----------
    _ : object
        Output of the system.

    Returns
    -------
    sequence of mapping
        One empty mapping.
    """
    return ({},)


@dataclass(frozen=True, kw_only=True, eq=False)
class CurveChart(ChartDefinition):
    """Chart of curves of one kind, whose ``kind`` is the name of the chart.

    Parameters
    ----------
    name : str
        Name by which the chart is requested, and the ``kind`` of its curves.
    title : str
        Title of the chart.
    explanation : str, default=""
        Explanation that a reader needs, at the start of the caption.
    section : {"evaluation", "comparison", "units"}, default="evaluation"
        Section of the page in which the chart is placed.
    source : str
        Source that curves are computed from: one of :data:`SOURCES`.
    curve : callable, optional
        Function that computes the curve of one system from its output; for scores this is a
        :class:`calipers.charts.ScoreData`. It may have the keywords ``measure``, ``series``,
        ``bins`` and ``binning`` of :func:`calipers.curve`. None if ``plan`` is given, or other
        parts of an evaluation have the curves.
    variants : callable
        Function that returns the options of each curve of a system on a page; by default there is
        one curve without options.
    plan : callable, optional
        Function that returns the planned curves of several systems, if these are computed together.
    draw : callable, optional
        Function that returns the Vega-Lite spec of curves, for systems in the order of their
        colors. By default curves are lines with their bands, or bars.
    table : callable, optional
        Function that returns the table of the chart; by default a few points of each curve.
    notes : callable, optional
        Function that returns additional sentences on the curves.
    by_class : bool, default=False
        Whether a page has a curve of each of several classes against all others.
    by_measure : bool, default=False
        Whether the curves of a system are of different measures, against the threshold.
    x_is_threshold : bool, default=False
        Whether ``x`` is the threshold under another name.
    has_upright_threshold : bool, default=False
        Whether a vertical line shows the threshold in use.
    curves_of_system : int, default=0
        Number of curves of a system in the chart, if it is not drawn with fewer.
    series_name : str, default="class"
        Name of the ``series`` of curves.
    band_note : str, default=""
        Note on the band, if it is not that of the curve at fixed thresholds.
    is_conservative : bool, default=True
        Whether simultaneous bands contain the whole curve more often than the level says.
    needs : tuple of str
        Other kinds of curves that the chart includes.
    part_of : str
        Chart that includes these curves, if they have no chart of their own on a page.
    on_request : bool, default=False
        Whether a page shows it only under "More curves".

    Examples
    --------
    >>> from calipers.charts import CurveChart, make_score_curve
    >>> from calipers.measures.counts import false_positive_rate, recall
    >>> def distance(scored):
    ...     tpr, fpr = scored.along(recall, start=1), scored.along(false_positive_rate, start=1)
    ...     axes = "Threshold", "TPR − FPR"
    ...     return make_score_curve(scored, "KS", axes, x=scored.table.scores, y=tpr - fpr)
    >>> CurveChart(name="KS", title="Kolmogorov-Smirnov", source="scores", curve=distance).options
    frozenset()
    """

    source: str = ""
    curve: Callable[..., Curve] | None = None
    variants: Callable[[Any], Sequence[Mapping[str, Any]]] = _single_facet
    plan: Callable[[Sequence[Any]], Iterable[Any]] | None = None
    draw: Callable[[Sequence[Curve], Sequence[str]], Spec] | None = None
    table: Callable[[Sequence[Curve]], FigureTable] | None = None
    notes: Callable[[Sequence[Curve]], Iterable[str]] | None = None
    by_class: bool = False
    by_measure: bool = False
    x_is_threshold: bool = False
    has_upright_threshold: bool = False
    curves_of_system: int = 0
    series_name: str = "class"
    band_note: str = ""
    is_conservative: bool = True
    needs: tuple[str, ...] = ()
    part_of: str = ""
    on_request: bool = False

    def __post_init__(self) -> None:
        if self.source and self.source not in SOURCES:
            expected = ", ".join(SOURCES)
            raise ValueError(f"{self.name}: source is {self.source!r}, expected one of {expected}")

    @property
    def options(self) -> frozenset[str]:
        """Options that ``curve`` takes."""
        if self.curve is None:
            return frozenset()
        return frozenset(list(inspect.signature(self.curve).parameters)[1:])

    def compute(self, source: Any, **options: Any) -> Curve:
        """Compute the curve of one system.

        Parameters
        ----------
        source : object
            Output of the system, as ``curve`` takes it; for scores a :class:`ScoreData`.
        **options
            Options of ``curve``, out of :attr:`options`.

        Returns
        -------
        Curve
            Curve of the system.

        Raises
        ------
        ValueError
            If the curve is of another kind than the name of the chart.
        """
        assert self.curve is not None
        curve = self.curve(source, **options)
        if curve.kind != self.name:
            raise ValueError(
                f"the chart {self.name!r} has a curve of the kind {curve.kind!r}, expected its name"
            )
        return curve

    def figures(self, evaluation: Evaluation, orientation: str = "") -> Iterator[Figure]:
        """Yield the figures of an evaluation, each as soon as its curves are computed.

        Parameters
        ----------
        evaluation : Evaluation
            Evaluation whose figures are drawn.
        orientation : {"truth-rows", "predicted-rows"}, optional
            Orientation of confusion matrices; other charts ignore it.

        Yields
        ------
        Figure
            Figure of all systems; or of each system, if there are curves of several classes or
            measures.
        """
        if self.part_of or self.name not in curve_kinds(evaluation.curves):
            return
        # Curves of measures and of classes share a chart by system, others by kind.
        planned = [c for c in plan_of(evaluation.curves) if c.kind == self.name]
        leading, note = leading_systems(evaluation, [c.system for c in planned])
        if self.variants is not _single_facet or any(c.series for c in planned):
            leading = evaluation.systems
        selected = select_kinds(evaluation.curves, {self.name}, leading)
        groups = group_by(
            (c for c in selected if len(c.x)),
            lambda c: c.system if c.series or self.by_measure else "",
        )
        rank = {name: i for i, name in enumerate(evaluation.systems)}
        for system, curves in sorted(groups.items(), key=lambda item: rank.get(item[0], 0)):
            if system:
                yield self.figure(curves, evaluation.systems, system)
                continue
            yield from overlay_figures(
                evaluation, curves, lambda lines: self.figure(lines, evaluation.systems), note
            )

    def figure(self, curves: Sequence[Curve], systems: Sequence[str], system: str = "") -> Figure:
        """Return the figure of some curves, possibly those of one ``system``.

        Parameters
        ----------
        curves : sequence of Curve
            Curves of this kind.
        systems : sequence of str
            Names of all systems, in the order of their colors.
        system : str, default=""
            System that all curves are of; empty if they are of several systems.

        Returns
        -------
        Figure
            Figure with its caption, spec and table.
        """
        first = curves[0]
        title = common_title = _POINTS_ONLY if is_point(first) else self.title
        if system and len(systems) > 1:
            title = f"{title}: {shorten_name(system)}"
        y_text = "Measures" if self.by_measure else escape_unprintable(first.y_label)
        system_names = dict.fromkeys(shorten_name(c.system) for c in curves if c.system)
        systems_text = f", for {' and '.join(system_names)}" if system_names else ""
        drawn_systems = [s for s in systems if s in {c.system for c in curves}]
        head, rows = (self.table or self.points)(curves)
        return Figure(
            title=title,
            alt_text=f"{title}: {y_text} against {escape_unprintable(first.x_label)}"
            f"{systems_text}.",
            caption=self.caption(curves),
            spec=(self.draw or self.lines)(curves, drawn_systems),
            header=head,
            rows=rows,
            kind=self.name,
            on_request=self.on_request,
            choice=selector_label(system, len(systems)) if system else "",
            chosen_from=common_title,
        )

    def lines(self, curves: Sequence[Curve], systems: Sequence[str]) -> Spec:
        """Return the spec of curves as lines with their bands, and of histograms as steps.

        Parameters
        ----------
        curves : sequence of Curve
            Curves of this kind.
        systems : sequence of str
            Names of the drawn systems, in the order of their colors.

        Returns
        -------
        dict
            Vega-Lite spec.
        """
        if curves[0].shape == "bars" and self.draw is None:
            names = unique_labels([c.series or c.system for c in curves], vega.MAX_LABEL_LENGTH)
            return vega.assemble_spec(**histograms.panel(curves, names, 260, legend=True))
        return curve_chart(
            curves,
            systems,
            by_measure=self.by_measure,
            x_is_threshold=self.x_is_threshold,
            series_name=self.series_name,
        )

    def caption(self, curves: Sequence[Curve]) -> str:
        """Return the caption of a figure of curves.

        Parameters
        ----------
        curves : sequence of Curve
            Curves of this kind.

        Returns
        -------
        str
            Explanation of the chart, its bands and its marks, in sentences.
        """
        first, sentences = curves[0], [self.explanation] if self.explanation else []
        sentences += self.notes(curves) if self.notes is not None else ()
        if first.classes:
            sentences.append(f"The {len(curves)} most frequent of {first.classes:,} classes.")
        level = numbers.format_percent(first.level)
        if any(math.isfinite(v) for c in curves if not is_point(c) for v in c.low):
            band_note = f" {self.band_note}" if self.band_note else ""
            sentences.append(
                f"Shaded: {level} pointwise band{band_note} ({method_text(first.method)})."
            )
        if any(len(c.simultaneous_low) for c in curves):
            sentences.append(
                f"Paler: {level} simultaneous band ({method_text(first.simultaneous_method)})"
                f"{', which is conservative' if self.is_conservative else ''}."
            )
        sentences += _points_caption([c for c in curves if is_point(c)], len(curves), level)
        sentences += plane.extra_sentences(curves) if plane.has_only_points(curves) else []
        if has_chance(curves):
            sentences.append("Dashed: chance.")
        if any(math.isfinite(c.threshold_in_use) for c in curves):
            if self.has_upright_threshold:
                threshold = threshold_text(first.threshold_in_use)
                sentences.append(f"Vertical line: the threshold in use, {threshold}.")
            elif any(c.operating_point for c in curves):
                sentences.append("Dot: the threshold in use.")
        return " ".join([*sentences, *tolerance_note(curves)])

    def points(self, curves: Sequence[Curve]) -> FigureTable:
        """Return the heading and the rows of the table of curves: a few points of each.

        Parameters
        ----------
        curves : sequence of Curve
            Curves of this kind.

        Returns
        -------
        head : tuple of str
            Headings of the table.
        rows : tuple of tuple of str
            Formatted cells, row by row.
        """
        first = curves[0]
        name_label, value_label = (
            ("measure", "value") if self.by_measure else ("system", first.y_label)
        )
        if first.series:
            name_label = self.series_name
        if plane.has_only_points(curves):
            points = tuple(map(tuple, plane.rows(curves, lambda c: self._format_point(c, 0))))
            return (name_label, first.x_label, value_label, plane.DISTANCE_HEADING), points
        x_is_parameter = first.parameter.lower() == first.x_label.lower() or self.x_is_threshold
        parameter = "" if x_is_parameter else first.parameter
        rows = [
            (
                shorten_name(c.y_label if self.by_measure else c.series or c.system),
                *self._format_point(c, i),
                *(
                    (threshold_text(math.nan if is_point(c) else c.threshold[i]),)
                    if parameter
                    else ()
                ),
            )
            for c in curves
            for i in sample_evenly(list(range(len(c.x))), _N_TABLE_POINTS)
        ]
        return (name_label, first.x_label, value_label, *filter(None, [parameter])), tuple(rows)

    def _format_point(self, curve: Curve, i: int) -> tuple[str, str]:
        """Format a point; a single point has its intervals."""
        if is_point(curve) and len(curve.low):
            rates = [
                (float(curve.x[0]), *curve.band_x.tolist()),
                (float(curve.y[0]), float(curve.low[0]), float(curve.high[0])),
            ]
            digits = numbers.rounding(rates)
            fpr, tpr = (digits.value_with_interval(*rate) for rate in rates)
            return fpr, tpr
        x = threshold_text(curve.x[i]) if self.by_measure else f"{curve.x[i]:.4f}"
        return x, "–" if math.isnan(curve.y[i]) else f"{curve.y[i]:.4f}"


def curve_charts(sources: Collection[str] = SOURCES) -> list[CurveChart]:
    """Return the charts whose curves are computed from these sources, in the order of a page."""
    charts = CHARTS.values()
    return [chart for chart in charts if isinstance(chart, CurveChart) and chart.source in sources]


def get_chart(kind: str) -> CurveChart:
    """Return the chart of a kind of curves; a default one if the kind is unknown.

    A kind is unknown if the result was written by another version.
    """
    chart = CHARTS.get(match_case_insensitive(kind, CHARTS) or "")
    if not isinstance(chart, CurveChart):
        return CurveChart(name=kind, title=shorten_name(kind))
    return chart if chart.name == kind else replace(chart, name=kind)


def tolerance_note(curves: Sequence[Curve]) -> list[str]:
    """Return a sentence on the deviation of the drawn from the exact curve, if there is any."""
    tolerance = max(c.tolerance for c in curves)
    sentence = (
        f"The plotted curve is within {100 * tolerance:.2g}% of each axis range of the exact curve."
    )
    return [sentence] if tolerance > 0 else []


def without_band(curve: Curve) -> Curve:
    """Return the curve without its bands."""
    empty = np.zeros(0)
    return replace(
        curve, band_x=empty, low=empty, high=empty, method="none",
        simultaneous_low=empty, simultaneous_high=empty, simultaneous_method="none",
    )  # fmt: skip


def overlay_figures(
    evaluation: Evaluation,
    leading: Sequence[Curve],
    draw: Callable[[Sequence[Curve]], Figure],
    note: str,
) -> Iterator[Figure]:
    """Yield the figure that ``draw`` makes of the curves of all systems, or the ``leading`` ones.

    Bands of many systems would hide each other: on a page the first of the charts to select from is
    that of the leader and the runner-up, and the second one has no bands.
    """
    figure = draw(leading)
    figure = replace(figure, caption=f"{note}{figure.caption}")
    best = [s for s in rank_systems(evaluation) if s in {c.system for c in leading}]
    if len(best) <= MAX_OVERLAID:
        yield figure
        return
    subject = f"the best {len(best)}" if note else f"all {len(best)}"
    selector: Any = {"chosen_from": figure.title, "chosen_by": "Systems"}
    pair = draw([c for c in leading if c.system in best[:2]])
    label = " and ".join(unique_labels(best[:2]).values())
    yield replace(pair, choice=label, on_page=True, **selector)
    if any(len(c.low) for c in leading if not is_point(c)):
        bare = draw(list(map(without_band, leading)))
        yield replace(
            bare, caption=f"{note}{bare.caption}", choice=subject, on_page=True, **selector
        )
        subject = f"{subject}, with bands"
    yield replace(figure, choice=subject, **selector)


def leading_systems(evaluation: Evaluation, names: Iterable[str]) -> tuple[Sequence[str], str]:
    """Return the best of the systems if one chart cannot show all, and a note.

    It takes names, so that curves of systems that are not drawn need not be computed.
    """
    systems = list(dict.fromkeys(names))
    if len(systems) <= MAX_CURVES or not is_ranked(evaluation):
        return systems, ""
    primary = shorten_name(primary_measure(evaluation))
    note = f"The best {MAX_CURVES} of {len(systems)} systems by {primary}. "
    return [s for s in order_systems(evaluation) if s in systems][:MAX_CURVES], note


def _points_caption(points: Sequence[Curve], n_curves: int, level: str) -> Iterator[str]:
    """Yield the caption of the points of systems that predict labels."""
    if not points:
        return
    dots = "Dots" if len(points) == n_curves else "Dots without a curve"
    boxes = list(dict.fromkeys(method_text(c.method) for c in points if len(c.low)))
    subject = "systems that predict labels"
    if points[0].series:
        subject = "predicted labels of each class or label, against all others"
    boxes_text = f"; boxes: {level} CI of each rate" if boxes else ""
    methods_text = f" ({' and '.join(boxes)})" if boxes else ""
    yield f"{dots}: {subject}{boxes_text}{methods_text}."
