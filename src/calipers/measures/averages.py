"""Averages of a measure of two classes over several, each against the rest.

With v_k the value of class k, the macro average is Σ v_k over the number of classes, the weighted
average is Σ T_k v_k / Σ T_k with T_k the weight of the rows that truly are of class k. (The micro
average needs no averaging: it is the measure of the counts of all classes added up.)

A class that occurs neither in truth nor in prediction says nothing and is left out. A class that
occurs but has no value, precision where nothing is predicted so, leaves the mean undefined;
scikit-learn takes 0 for it (``zero_division``), and counts absent classes that ``labels=`` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.lazily import numpy as np
from calipers.measures.definition import Measure
from calipers.statistics import ConfusionMatrix, FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt


def average_over_classes(measure: Measure, matrix: ConfusionMatrix) -> FloatArray:
    """The mean over classes; NaN where :func:`classes_without_value` says why."""
    weight, values = _of_each(measure, matrix)
    return np.asarray(np.where(weight > 0, weight * values, 0.0).sum(axis=-1) / weight.sum(axis=-1))


def classes_without_value(
    measure: Measure, matrix: ConfusionMatrix
) -> dict[str, npt.NDArray[np.bool_] | Any]:
    """Where the mean is undefined, by reason."""
    weight, values = _of_each(measure, matrix)
    return {
        "class_without_value": ((weight > 0) & np.isnan(values)).any(axis=-1),
        "no_occurring_class": ~(weight > 0).any(axis=-1),
    }


def _of_each(measure: Measure, matrix: ConfusionMatrix) -> tuple[FloatArray, FloatArray]:
    """What each class counts for, and its value: that is taken once for the mean, for its reasons
    and for other means of it."""
    each = matrix.one_vs_rest()
    kept = each.__dict__.setdefault("_values", {})
    if measure.plain not in kept:
        kept[measure.plain] = measure.plain.apply(each)
    return each.averaging(measure.average), kept[measure.plain]
