"""Charts of rankings: curves averaged over topics and of single topics, with few points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from calipers.curves.ranking_curves import MEAN_CURVE_KINDS, TOPIC_CURVE_KINDS
from calipers.report.figures.curves import CurveChart, leading_systems
from calipers.report.figures.figure import Figure
from calipers.report.figures.registry import register_chart
from calipers.report.grouping import group_by
from calipers.report.safe_names import shorten_name
from calipers.results import Curve, Evaluation, curve_kinds, select_kinds
from calipers.statistics import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

#: The largest number of points of a line that is drawn at its corners.
MAX_POINTS = 200
#: With more points, only the first, the last, the lowest and the highest in each of this number of
#: segments of the width are drawn.
_N_SEGMENTS = MAX_POINTS // 4


class _RankChart(CurveChart):
    """Chart of points at ranks, which its caption lists."""

    def caption(self, curves: Sequence[Curve]) -> str:
        """Return the caption."""
        ranks = ", ".join(f"{rank:g}" for rank in curves[0].threshold)
        sentence = f"Mean precision and recall over topics, for the first {ranks} documents."
        return f"{sentence} {super().caption(curves)}".rstrip()


register_chart(
    CurveChart(
        name=MEAN_CURVE_KINDS["recalls"], title="Precision at recall levels", source="rankings"
    ),
    _RankChart(
        name=MEAN_CURVE_KINDS["ranks"], title="Precision and recall at ranks", source="rankings"
    ),
    _RankChart(
        name="interpolated PR",
        title="Interpolated precision",
        explanation="At each recall the largest precision of the points there or further on.",
        source="rankings",
    ),
)


class _TopicChart(CurveChart):
    """Chart of the curves of a topic, which the reader selects."""

    def figures(self, evaluation: Evaluation, orientation: str = "") -> Iterator[Figure]:
        """Yield the figures of an evaluation, one for each topic."""
        if self.name not in curve_kinds(evaluation.curves):
            return
        selected = select_kinds(evaluation.curves, {self.name})
        leading, note = leading_systems(evaluation, (c.system for c in selected))
        curves_by_topic = group_by((c for c in selected if len(c.x)), lambda c: c.series)
        for topic, curves in curves_by_topic.items():
            lines = [simplify_line(replace(c, series="")) for c in curves if c.system in leading]
            figure = self.figure(lines, evaluation.systems)
            yield replace(
                figure,
                title=f"{figure.title}: {shorten_name(topic)}",
                alt_text=f"Topic {shorten_name(topic)}. {figure.alt_text}",
                caption=f"{note}{figure.caption}",
                choice=shorten_name(topic) if len(curves_by_topic) > 1 else "",
                chosen_from=figure.title,
                chosen_by="Topic",
            )


def simplify_line(curve: Curve) -> Curve:
    """Remove the points of a curve that do not change its drawing.

    These are points between two others on a horizontal or vertical line. If more than
    :data:`MAX_POINTS` points remain, only those of the outline are kept.
    """
    if len(curve) < 3:
        return curve
    indices = np.flatnonzero(_corner_mask(curve.x, curve.y))
    if len(indices) > MAX_POINTS:
        indices = indices[_outline_indices(curve.x[indices], curve.y[indices])]
    if len(indices) == len(curve):
        return curve
    thresholds = curve.threshold[indices] if len(curve.threshold) else curve.threshold
    return replace(curve, x=curve.x[indices], y=curve.y[indices], threshold=thresholds)


def _corner_mask(x: FloatArray, y: FloatArray) -> BoolArray:
    """Return whether each point is an end, or is off the axis-parallel line of its neighbors."""
    horizontal = np.diff(y) == 0
    vertical = np.diff(x) == 0
    inner_mask = (horizontal[:-1] & horizontal[1:]) | (
        vertical[:-1] & vertical[1:] & _continuing_mask(y)
    )
    return np.concatenate([[True], ~inner_mask, [True]])


def _continuing_mask(y: FloatArray) -> BoolArray:
    """Return whether the line continues in its direction, rather than turning back."""
    step = np.sign(np.diff(y))
    return np.asarray(step[:-1] * step[1:] >= 0)


def _outline_indices(x: FloatArray, y: FloatArray) -> IntArray:
    """Return the indices of the points on the outline of a line from left to right."""
    segment = np.minimum(
        (x - x[0]) / ((x[-1] - x[0]) or 1.0) * _N_SEGMENTS, _N_SEGMENTS - 1
    ).astype(np.int64)
    order = np.arange(len(x))
    outline = {0, len(x) - 1}
    for segment_index in np.unique(segment):
        point_indices = order[segment == segment_index]
        outline |= {
            point_indices[0],
            point_indices[-1],
            point_indices[y[point_indices].argmin()],
            point_indices[y[point_indices].argmax()],
        }
    return np.array(sorted(int(index) for index in outline))


register_chart(
    _TopicChart(
        name=TOPIC_CURVE_KINDS["PR"],
        title="Precision and recall on a topic",
        explanation="Precision and recall of the documents down to each rank, drawn at the corners "
        f"of the line, {MAX_POINTS} at most.",
        source="rankings",
    ),
    _TopicChart(
        name=TOPIC_CURVE_KINDS["interpolated PR"],
        title="Interpolated precision on a topic",
        explanation="Highest precision at this or any higher recall; 0 beyond the largest recall "
        "of the run.",
        source="rankings",
    ),
    _TopicChart(
        name=TOPIC_CURVE_KINDS["ROC"],
        title="ROC curve of a topic",
        explanation="From nothing retrieved to the whole collection, drawn at the corners of the "
        f"line, {MAX_POINTS} at most; beyond the last document retrieved, a random order is "
        "assumed.",
        source="rankings",
    ),
)
