"""The curves of each kind: which share a chart, what is said of them, and some of their points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from calipers.report import numbers
from calipers.report.figures import calibration, clusters, histograms, plane, residuals, vega
from calipers.report.figures.corners import MOST, at_corners
from calipers.report.figures.curve_chart import curve_chart, has_chance, is_point, threshold_text
from calipers.report.figures.densities import density_chart, density_table
from calipers.report.figures.figure import Figure, Numbers, choice_of
from calipers.report.figures.vega import thinned
from calipers.report.grouping import grouped
from calipers.report.names import labels, short, visible
from calipers.report.wide import is_ranked, ordered, primary_of
from calipers.results import Curve, Evaluation, kinds_in, of_kinds

#: Kinds that are left to those who open "More curves".
_MORE = frozenset({"DET", "lift", "gain", "cost", "net benefit"})
#: Of more systems those that lead are drawn.
MOST_CURVES = 12
#: So many points of a curve stand beside its chart.
_POINTS = 11

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
    "interpolated pr": "Interpolated precision",
    "pr of a topic": "Precision and recall on a topic",
    "interpolated pr of a topic": "Interpolated precision on a topic",
    "roc of a topic": "ROC curve of a topic",
    "quantile coverage": "Coverage of quantiles",
    "coverage given prediction": "Coverage of intervals by prediction",
    "coverage given truth": "Coverage of intervals by truth",
}

#: Kinds of which there is one for each topic.
_OF_TOPICS = frozenset({"PR of a topic", "interpolated PR of a topic", "ROC of a topic"})

#: What ROC curves are called where there are points only: they come behind the curves.
_POINTS_ONLY = "Predicted labels in the ROC plane"

#: Kinds that have figures of another sort.
_APART = calibration.KINDS | clusters.KINDS | residuals.KINDS


def curve_figures(evaluation: Evaluation) -> Iterator[Figure]:
    """The figures of the curves, each as soon as its curves are computed."""
    drawn_here = dict.fromkeys(k for k in kinds_in(evaluation.curves) if k not in _APART)
    for kind in drawn_here:
        if kind in _OF_TOPICS:
            yield from _topic_figures(evaluation, kind)
            continue
        # Curves of measures and of classes share a chart by system, others by kind.
        drawn = (c for c in of_kinds(evaluation.curves, {kind}) if len(c.x))
        groups = grouped(drawn, lambda c: c.system if c.series or c.kind == "threshold" else "")
        for system, curves in groups.items():
            shown, of = _leading(evaluation, curves) if not system else (curves, "")
            figure = _curve_figure(kind, system, shown, evaluation.systems)
            yield replace(figure, caption=f"{of}{figure.caption}")
    together = calibration.calibration_curves(evaluation)
    if together:
        yield calibration.calibration_figure(together, evaluation.systems)
    yield from residuals.residual_figures(evaluation)


def _topic_figures(evaluation: Evaluation, kind: str) -> Iterator[Figure]:
    """The curves of each topic that has some, from which the reader chooses one."""
    found = of_kinds(evaluation.curves, {kind})
    by_topic = grouped((c for c in found if len(c.x)), lambda c: c.series)
    for topic, curves in by_topic.items():
        own = [at_corners(replace(c, series="")) for c in curves]
        shown, of = _leading(evaluation, own)
        figure = _curve_figure(kind, "", shown, evaluation.systems)
        yield replace(
            figure,
            title=f"{figure.title}: {short(topic)}",
            label=f"Topic {short(topic)}. {figure.label}",
            caption=f"{of}{figure.caption}",
            choice=short(topic) if len(by_topic) > 1 else "",
            chosen_from=figure.title,
            chosen_by="Topic",
        )


def _leading(evaluation: Evaluation, curves: Sequence[Curve]) -> tuple[Sequence[Curve], str]:
    """The curves of the systems that lead, where more than can be told apart would share a chart;
    and whose they are."""
    if len(curves) <= MOST_CURVES or not is_ranked(evaluation):
        return curves, ""
    leading = ordered(evaluation)[:MOST_CURVES]
    of = f"The first {MOST_CURVES} of {len(curves)} systems by {short(primary_of(evaluation))}. "
    return [c for c in curves if c.system in leading], of


def _curve_figure(
    kind: str, system: str, curves: Sequence[Curve], systems: Sequence[str]
) -> Figure:
    first = curves[0]
    title = of_all = _POINTS_ONLY if is_point(first) else _KINDS.get(kind.lower(), short(kind))
    if system and len(systems) > 1:
        title = f"{title}: {short(system)}"
    against = "Measures" if kind == "threshold" else visible(first.y_label)
    named = dict.fromkeys(short(c.system) for c in curves if c.system)
    who = f", for {' and '.join(named)}" if named else ""
    if kind == "density" and len(curves) == 2:
        spec = density_chart(*curves)
        head, rows = density_table(curves)
    elif first.shape == "bars" and kind != "density":
        names = labels([c.series or c.system for c in curves], vega.LABEL)
        spec = vega.whole(**histograms.panel(curves, names, 260, legend=True))
        head, rows = _curve_table(curves)
    else:
        spec = curve_chart(curves, [s for s in systems if s in {c.system for c in curves}])
        head, rows = _curve_table(curves)
    return Figure(
        title=title,
        label=f"{title}: {against} against {visible(first.x_label)}{who}.",
        caption=_curve_caption(curves),
        spec=spec,
        head=head,
        rows=rows,
        kind=kind,
        more=kind in _MORE,
        choice=choice_of(system, len(systems)) if system else "",
        chosen_from=of_all,
    )


def plain_figure(curves: Sequence[Curve], systems: Sequence[str]) -> Figure:
    """Curves of a kind that the page draws together with others."""
    return _curve_figure(curves[0].kind, "", curves, systems)


def _curve_caption(curves: Sequence[Curve]) -> str:
    first, parts = curves[0], []
    if first.at == "rank" and first.kind not in _OF_TOPICS:
        ranks = [f"{rank:g}" for rank in first.threshold]
        parts.append(f"Means over topics, of the first {', '.join(ranks)} documents.")
    if first.kind in _SAID:
        parts.append(_SAID[first.kind])
    if first.kind == "density" and any(math.isfinite(c.cut) for c in curves):
        parts.append("Strong colours: errors.")
    if first.classes:
        parts.append(f"The {len(curves)} most frequent of {first.classes:,} classes.")
    level = numbers.percent(first.level)
    if any(math.isfinite(v) for c in curves if not is_point(c) for v in c.low):
        of = " of the thresholds chosen here" if first.kind == "cost" else ""
        parts.append(f"Shaded: {level} pointwise band{of} ({short(first.method)}).")
    if any(len(c.wide_low) for c in curves):
        parts.append(
            f"Paler: {level} band for the whole curve at once ({short(first.wide_method)}), which "
            "promises at least that much."
        )
    parts += _points_said([c for c in curves if is_point(c)], len(curves), level)
    parts += plane.caption(curves) if plane.is_plane(curves) else []
    if has_chance(curves):
        parts.append("Dashed: chance.")
    if any(math.isfinite(c.cut) for c in curves):
        if first.kind in ("threshold", "density"):
            parts.append(f"Upright line: the threshold in use, {threshold_text(first.cut)}.")
        elif any(c.mark for c in curves):
            parts.append("Dot: the threshold in use.")
    return " ".join([*parts, *calibration.drawn_within(curves)])


def _points_said(points: Sequence[Curve], of: int, level: str) -> Iterator[str]:
    """What has to be known to read the points of systems that predict labels."""
    if not points:
        return
    where = "Dots" if len(points) == of else "Dots without a curve"
    boxes = list(dict.fromkeys(short(c.method) for c in points if len(c.low)))
    who = "systems that predict labels"
    if points[0].series:
        who = "what is predicted of each class or label, against the rest"
    said = f", in boxes of the {level} intervals of each rate by itself" if boxes else ""
    by = f" ({' and '.join(boxes)})" if boxes else ""
    yield f"{where}: {who}{said}{by}."


#: What has to be known to read a kind of curve.
_SAID = {
    "PR of a topic": "Precision and recall of the documents down to each rank, drawn at the "
    f"corners of the line, {MOST} at most.",
    "interpolated PR of a topic": "At each recall the highest precision that the run has there or "
    "further down; 0 beyond the recall that it reaches.",
    "interpolated PR": "At each recall the largest precision of the points there or further on.",
    "ROC of a topic": "From nothing retrieved to the whole collection, drawn at the corners of the "
    f"line, {MOST} at most; the last stretch is drawn as if the rest came in any order.",
    "threshold": "Volume: the share predicted positive.",
    "density": "A histogram of each class, scaled to an area of 1, so that a rare class is seen as "
    "well as a common one.",
    "DET": "Both axes in normal deviates, in which normal scores give a straight line.",
    "cost": "The lowest expected cost that any threshold reaches, chosen on these very rows, "
    "against the share of the cost that the positives would cause if all were wrong.",
    "quantile coverage": "Below the line truth exceeds the quantile more often than it should, "
    "above it less often.",
    "coverage given prediction": "Shares of tenths of the rows, or fewer parts of few rows. They "
    "should lie on the line whatever is predicted.",
    "coverage given truth": "Shares of tenths of the rows, or fewer parts of few rows. Even the "
    "best intervals hold the smallest and the largest truth less often than the rest.",
    "net benefit": "True positives a row, less the false positives at their price: to act from a "
    "probability p on is to take p/(1 − p) true positives for one false positive.",
}


def _curve_table(curves: Sequence[Curve]) -> Numbers:
    """The heading and the rows of the numbers beside curves: a few points of each."""
    first = curves[0]
    name, of = ("measure", "value") if first.kind == "threshold" else ("system", first.y_label)
    if first.series:
        name = "interval" if first.kind.startswith("coverage") else "class"
    if plane.is_plane(curves):
        points = tuple(map(tuple, plane.rows(curves, lambda c: _written(c, 0))))
        return (name, first.x_label, of, plane.DISTANCE), points
    against = first.at.lower() == first.x_label.lower() or first.kind == "net benefit"
    at = "" if against else first.at
    rows = [
        (
            short(c.y_label if first.kind == "threshold" else c.series or c.system),
            *_written(c, i),
            *((threshold_text(math.nan if is_point(c) else c.threshold[i]),) if at else ()),
        )
        for c in curves
        for i in thinned(list(range(len(c.x))), _POINTS)
    ]
    return (name, first.x_label, of, *filter(None, [at])), tuple(rows)


def _written(curve: Curve, i: int) -> tuple[str, str]:
    """A point in numbers; one that stands by itself with its intervals."""
    if is_point(curve) and len(curve.low):
        rates = [
            (float(curve.x[0]), *curve.band_x.tolist()),
            (float(curve.y[0]), float(curve.low[0]), float(curve.high[0])),
        ]
        digits = numbers.rounding(rates)
        fpr, tpr = (digits.triple(*rate) for rate in rates)
        return fpr, tpr
    x = threshold_text(curve.x[i]) if curve.kind == "threshold" else f"{curve.x[i]:.4f}"
    return x, "–" if math.isnan(curve.y[i]) else f"{curve.y[i]:.4f}"
