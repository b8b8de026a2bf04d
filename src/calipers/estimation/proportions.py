"""Intervals of proportions of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import intervals, proportions
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import IntervalFunction
from calipers.statistics import ConfusionMatrix

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex

_PROPORTION_METHODS = {
    "wilson": proportions.wilson,
    "clopper-pearson": proportions.clopper_pearson,
    "jeffreys": proportions.jeffreys,
    "agresti-coull": proportions.agresti_coull,
}


def proportion_intervals(proportion: float, size: float) -> dict[str, IntervalFunction]:
    """Return the intervals of a proportion of ``size`` (effective) trials, by name."""
    return {
        name: lambda level, method=method: method(proportion, size, level)  # type: ignore[misc]
        for name, method in _PROPORTION_METHODS.items()
    }


def effective_trials_intervals(
    value: float, trials: Callable[[float], tuple[float, float]], clusters: ClusterIndex | None
) -> dict[str, IntervalFunction]:
    """Return the intervals of a proportion by its effective number of trials.

    With clusters, this number and its degrees of freedom depend on the level.
    """

    def limits(name: str, level: float) -> Interval:
        size, degrees = trials(level)
        interval = proportion_intervals(value, size)[name](level)
        assert interval is not None
        if clusters is None:
            return interval
        if not (degrees > 0 and math.isfinite(interval.low)):
            return intervals.no_interval("none", "too_few_clusters")
        return replace(
            interval, method=clusters.annotate_method(f"{interval.method}, cluster-robust")
        )

    return {name: partial(limits, name) for name in proportion_intervals(value, math.nan)}


def effective_trials(measure: Any, matrix: ConfusionMatrix) -> float:
    """Return the effective number of rows of which a measure is a proportion."""
    return float(matrix.effective_size(measure.definition.proportion_of))


def cluster_confusions(
    measure: Any,
    labels: tuple[str, ...],
    row_cells: npt.NDArray[np.integer[Any]],
    clusters: ClusterIndex,
) -> ConfusionMatrix:
    """Return the binary confusion matrix of each cluster for a proportion of rows.

    ``row_cells`` is the cell of truth × prediction of each row.
    """
    truth, predicted = np.divmod(row_cells, len(labels))
    if measure.label is not None:
        class_index = labels.index(measure.label)
        truth, predicted = truth == class_index, predicted == class_index
    elif measure.average is not None or len(labels) > 2:
        # In an average, a row counts once among the positives and once among the predicted ones.
        selected_mask, is_correct = measure.picked(labels), truth == predicted
        false_positive, truth = selected_mask[predicted] & ~is_correct, selected_mask[truth]
        predicted = truth & is_correct
    counts = clusters.cell_weights(2 * truth + predicted, (2, 2))
    if measure.average == "micro":
        counts[:, 0, 1] = clusters.cell_weights(1 * false_positive, (2, 2))[:, 0, 1]
    return ConfusionMatrix(counts, counts)
