"""Intervals of measures of association of true and predicted classes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import intervals
from calipers.inference.gradients import cell_gradient, gradient, measure_value
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import MIN_ROWS_OF_ASSOCIATION
from calipers.inference.noncentral_chi_square import norm_limits
from calipers.measures.counts import mean_square_contingency, occurring_classes
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    SparseConfusionMatrix,
    effective_size,
)

if TYPE_CHECKING:
    from calipers.inference.multinomial_cells import MultinomialCells

#: ``definition.interval`` of a measure whose square is proportional to a χ² of independence, and of
#: one that is itself.
INTERVALS = ("association", "squared_association")

#: Number of rows that are added to each row and column of the table for the standard error, so that
#: a perfect association has one as well.
_ADDED_ROWS = 0.5


def association_interval(
    measure: Any, matrix: ConfusionMatrix, cells: MultinomialCells, level: float
) -> Interval | None:
    """Return the interval by the noncentral χ² distribution; None if nothing varies."""
    value, clusters = measure_value(measure, matrix), cells.clusters
    sizes = [int(size) for size in occurring_classes(matrix)]
    df = (sizes[0] - 1) * (sizes[1] - 1)
    if not (df > 0 and value > 0):
        return None
    if clusters is not None and not clusters.df > 0:
        return intervals.no_interval("none", "too_few_clusters")
    augmented_value, se, n_rows = _error(measure, matrix, cells, math.sqrt(math.prod(sizes)))
    if not (0 < se < math.inf):
        return None
    name = "noncentral chi-square"
    if clusters is not None:
        inflation = intervals.student_se(1.0, clusters.df, level)
        se, n_rows = se * inflation, n_rows / inflation**2
        name = clusters.annotate_method(f"{name}, cluster-robust")
    is_squared = measure.definition.interval == "squared_association"
    norm, norm_se = (
        (math.sqrt(value), se / (2 * math.sqrt(augmented_value))) if is_squared else (value, se)
    )
    statistic = n_rows * float(mean_square_contingency(matrix))
    limits = norm_limits(norm, norm_se, statistic, df, level)
    low, high = (limit**2 if is_squared else limit for limit in limits)
    interval = Interval(low, high, name, se=se)
    is_sparse = n_rows < MIN_ROWS_OF_ASSOCIATION * math.prod(sizes)
    return interval.add_caution("few rows in a cell") if is_sparse else interval


def _kish_weight(weights: FloatArray) -> float:
    return float(weights @ weights / weights.sum())


def _error(
    measure: Any, matrix: ConfusionMatrix, cells: MultinomialCells, mean_classes: float
) -> tuple[float, float, float]:
    """Return the value with added rows, its standard error, and the effective number of rows.

    That is the number of independent rows with the same variance, at most Kish's.
    """
    truth, predicted = np.divmod(cells.cell_index, matrix.n_classes)
    total, clusters = float(matrix.total), cells.clusters
    # Cells of streamed clusters have rows merged: the matrix has their squared weights.
    unit = float(matrix.squared_weight_matrix.total) / total
    augmented, added_variance = matrix, 0.0
    if not isinstance(matrix, SparseConfusionMatrix):
        occurs = np.outer(matrix.truth_margin > 0, matrix.prediction_margin > 0)
        row_weight = unit if clusters is None else _kish_weight(clusters.cluster_weights)
        added = _ADDED_ROWS / mean_classes * row_weight * occurs
        counts = matrix.counts + added
        augmented = replace(matrix, counts=counts, squares=counts)
        added_variance = row_weight * float((added * np.square(gradient(measure, augmented))).sum())
    derivatives = cell_gradient(measure, augmented, truth, predicted)
    variance = cells.sum_of_squares(derivatives)
    independent = total * float(cells.counts @ np.square(derivatives))
    n_rows = min(effective_size(total, unit * total), independent / max(variance, 1e-300))
    return float(measure.apply(augmented)), math.sqrt(variance + added_variance), n_rows
