"""Measures of given points of precision and recall.

They have the names, aliases and parameters of the measures of scores in the catalogue, from which
names are parsed. They are not in the catalogue themselves, since such points have no rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.lazy_imports import numpy as np
from calipers.measures.definition import Definition, Measure
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.name_parsing import parse
from calipers.measures.registry import external_definition
from calipers.measures.scores import PROPORTION_TOLERANCE
from calipers.statistics import FloatArray
from calipers.statistics.precision_recall import PrecisionRecallPoints

if TYPE_CHECKING:
    import numpy.typing as npt

#: The task of an evaluation of such points, behind which no rows are known.
TASK = "precision-recall"
FAMILY = "precision-recall points"


def _is_truncated(points: PrecisionRecallPoints, parameters: Mapping[str, Any]) -> bool:
    """Return whether the points end before the requested recall, which is 1 unless given."""
    return bool(points.max_recall < parameters.get("recall", 1.0) - PROPORTION_TOLERANCE)


_RECALL_NOT_REACHED = {"recall_not_reached": _is_truncated}
_define = partial(
    external_definition,
    family=FAMILY,
    statistic=PrecisionRecallPoints,
    higher_is_better=True,
    range=(0, 1),
    perfect=1.0,
)


def interpolated_precision(points: PrecisionRecallPoints, recall: float) -> FloatArray:
    """Interpolated precision at a recall: the largest precision of all points with recall ≥ r.

    It ranges from 0 to 1 and is undefined if the points end before the recall.
    """
    reached_mask = points.recall >= recall - PROPORTION_TOLERANCE
    return np.asarray(np.where(reached_mask, points.precision, 0.0).max())


def eleven_point_precision(points: PrecisionRecallPoints) -> FloatArray:
    """Eleven-point mean: the mean of interpolated precision at recall 0, 0.1, …, 1.

    It ranges from 0 to 1 and is undefined if the points end before recall 1.
    """
    precisions = [interpolated_precision(points, tenths / 10) for tenths in range(11)]
    return np.asarray(np.mean(precisions))


def trapezoid_area(points: PrecisionRecallPoints) -> FloatArray:
    """Area under the precision-recall curve: the trapezoidal rule.

    The points are joined by straight lines, and the curve is horizontal from recall 0 to the first
    point. It ranges from 0 to 1 and is undefined if the points end before recall 1.
    """
    precision, recall = points.arrays_from_zero()
    return np.asarray(np.sum((precision[1:] + precision[:-1]) / 2 * np.diff(recall)))


def step_area(points: PrecisionRecallPoints) -> FloatArray:
    """Average precision by the step rule: Σ pₖ(rₖ − rₖ₋₁) over the points by recall, from 0 on.

    It ranges from 0 to 1 and is undefined if the points end before recall 1.
    """
    return np.asarray(np.sum(points.precision * np.diff(points.recall, prepend=0.0)))


def _excess(points: PrecisionRecallPoints) -> FloatArray:
    """Return precision − recall at each point, from recall 0 on."""
    precision, recall = points.arrays_from_zero()
    return precision - recall


def break_even_precision(points: PrecisionRecallPoints) -> FloatArray:
    """Break-even point: the precision where it equals recall.

    The points are joined by straight lines. It ranges from 0 to 1 and is undefined if recall stays
    below precision.
    """
    precision, excess = points.arrays_from_zero()[0], _excess(points)
    after_index = int((excess <= 0).argmax())
    if after_index == 0:
        return np.asarray(precision[0])
    fraction = excess[after_index - 1] / (excess[after_index - 1] - excess[after_index])
    return np.asarray(
        precision[after_index - 1]
        + fraction * (precision[after_index] - precision[after_index - 1])
    )


def precision_at_recall(points: PrecisionRecallPoints, recall: float) -> FloatArray:
    """Precision at a recall: the precision of the first point with recall ≥ r.

    Nothing is interpolated. It ranges from 0 to 1 and is undefined if the points end before the
    recall.
    """
    return np.asarray(points.precision[(points.recall >= recall - PROPORTION_TOLERANCE).argmax()])


def recall_at_precision(points: PrecisionRecallPoints, precision: float) -> FloatArray:
    """Recall at a precision: the largest recall of a point with precision ≥ p.

    Nothing is interpolated, and a point at recall 0 does not count, since nothing relevant is
    retrieved there. It ranges from 0 to 1 and is undefined if no point has that precision.
    """
    return np.asarray(points.recall[_precision_mask(points, precision)].max(initial=0.0))


def _precision_mask(points: PrecisionRecallPoints, precision: float) -> npt.NDArray[np.bool_]:
    return (points.precision >= precision - PROPORTION_TOLERANCE) & (points.recall > 0)


def best_f_measure(points: PrecisionRecallPoints, beta: float = 1.0) -> FloatArray:
    """Largest F_β of all points, the weighted harmonic mean of precision and recall.

    It ranges from 0 to 1.
    """
    weight = beta**2
    denominator = weight * points.precision + points.recall
    numerator = (1 + weight) * points.precision * points.recall
    return np.asarray(
        np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0).max()
    )


#: By the names that they have among the measures of scores.
POINT_MEASURES: Mapping[str, Definition] = {
    definition.name: definition
    for definition in (
        _define(
            name="interpolated-precision@recall",
            formula=interpolated_precision,
            suffix_parameter="recall",
            undefined=_RECALL_NOT_REACHED,
        ),
        _define(name="PR-11pt", formula=eleven_point_precision, undefined=_RECALL_NOT_REACHED),
        _define(name="PR-AUC", formula=trapezoid_area, undefined=_RECALL_NOT_REACHED),
        _define(name="AP", formula=step_area, undefined=_RECALL_NOT_REACHED),
        _define(
            name="PR-break-even",
            formula=break_even_precision,
            undefined={"recall_not_reached": lambda p, _: (_excess(p) > 0).all()},
        ),
        _define(
            name="precision@recall",
            formula=precision_at_recall,
            suffix_parameter="recall",
            undefined=_RECALL_NOT_REACHED,
        ),
        _define(
            name="recall@precision",
            formula=recall_at_precision,
            suffix_parameter="precision",
            undefined={
                "precision_not_reached": lambda p, parameters: (
                    not _precision_mask(p, parameters["precision"]).any()
                )
            },
        ),
        _define(name="max-F", formula=best_f_measure, suffix="beta"),
    )
}

#: Those that are shown if none is named.
DEFAULT_MEASURES = ("PR-11pt", "PR-AUC", "AP")


def point_measures(names: Sequence[str | Measure]) -> list[Measure]:
    """Return the measures of points that these names mean."""
    return [_get_point_measure(name) for name in names]


def _get_point_measure(name: str | Measure) -> Measure:
    measure_names = ", ".join(POINT_MEASURES)
    try:
        measure = parse(name, ("scores",)) if isinstance(name, str) else name
    except UnknownMeasureError as error:
        raise UnknownMeasureError(
            f"{error}; points of precision and recall have {measure_names}"
        ) from None
    if measure.definition.family == FAMILY:
        return measure
    if measure.definition.name not in POINT_MEASURES or measure.has_view:
        raise UnknownMeasureError(
            f"{measure} cannot be had from points of precision and recall, which have "
            f"{measure_names}"
        )
    return POINT_MEASURES[measure.definition.name].bind(measure.parameters)
