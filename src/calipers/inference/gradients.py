"""Derivatives of measures of counts by cells, classes and margins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.caching import cached
from calipers.inference.influence import DERIVATIVE_STEP, numerical_derivatives
from calipers.statistics import ConfusionMatrix, FloatArray, SparseConfusionMatrix

#: Maximum number of elements that are shifted at a time.
_MAX_BATCH_ELEMENTS = 1_000_000


def gradient(measure: Any, matrix: ConfusionMatrix) -> FloatArray:
    """Return :func:`cell_gradient` as an array of shape ``(K, K)``; 0 in empty cells."""
    out = np.zeros((matrix.n_classes, matrix.n_classes))
    truth, predicted, _ = matrix.nonempty_cells()
    out[truth, predicted] = cell_gradient(measure, matrix, truth, predicted)
    return out


#: Below this, the contribution of a row to a measure, times the number of rows, is rounding.
_MIN_INFLUENCE = 1e-9


def cell_gradient(
    measure: Any,
    matrix: ConfusionMatrix,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
) -> FloatArray:
    """Return the derivative of a measure by each of some non-empty cells of the matrix.

    Measures of counts do not change when all counts are doubled, so that Σ n·gradient is 0, and the
    standard error by the delta method is √(Σ n·gradient²). (For macro- and micro-F1 this is
    Takahashi et al. 2022.) Measures of one class, and averages over classes, are differentiated by
    the four counts of each class; a row of class i that is predicted as j is a false negative of i,
    a false positive of j, and a true negative of all other classes.
    """
    if not measure.has_view:
        if isinstance(matrix, SparseConfusionMatrix):
            try:
                return margin_gradient(measure, matrix, truth, predicted)
            except _NotMarginalError:
                cell_index = truth.astype(np.int64) * matrix.n_classes + predicted
                return _cell_derivatives(measure, matrix)[
                    np.searchsorted(matrix.cell_index, cell_index)
                ]
        # A matrix is in all pairs of its system with others.
        derivatives = cached(
            matrix,
            ("cell derivatives", measure),
            lambda: _partial_derivatives(measure.apply, matrix, matrix.counts),
        )
        return np.asarray(derivatives[truth, predicted])
    return cell_derivatives(class_gradient(measure, matrix), truth, predicted)


def cell_derivatives(
    gradient: FloatArray,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
) -> FloatArray:
    """Return the derivative by each cell from derivatives by the four counts of each class."""
    (tn, fp), (fn, tp) = gradient.transpose(1, 2, 0)
    off_diagonal = (fn - tn)[truth] + (fp - tn)[predicted] + tn.sum()
    return np.asarray(np.where(truth == predicted, (tn.sum() + tp - tn)[truth], off_diagonal))


def class_gradient(measure: Any, matrix: ConfusionMatrix) -> FloatArray:
    """Return the derivative by the four counts of each class or label, shape ``(K, 2, 2)``.

    The measure is one of a single class, or averaged over classes.
    """
    class_matrices, plain, picked = (
        matrix.one_vs_rest(),
        measure.plain,
        measure.picked(matrix.labels),
    )
    if measure.average == "micro":
        pooled = matrix.pool(picked)
        gradient = _partial_derivatives(plain.apply, pooled, pooled.counts)
        return np.where(picked[:, None, None], gradient, 0.0)
    if measure.label is not None:
        class_weights = np.array([label == measure.label for label in matrix.labels], np.float64)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            class_weights = measure.weights_by_class(matrix, plain.apply(class_matrices))
        with np.errstate(invalid="ignore"):  # no class may have rows
            class_weights = class_weights / class_weights.sum()
    out = np.where(
        class_weights[:, None, None] > 0, _one_vs_rest_derivatives(plain.apply, class_matrices), 0.0
    )
    out *= class_weights[:, None, None]
    if measure.average == "weighted":  # the weights too vary with the rows
        values = np.where(class_weights > 0, plain.apply(class_matrices), 0.0)
        deviations = np.where(class_weights > 0, values - (class_weights * values).sum(), 0.0)
        # Classes that undefined="omit" leaves out have no weight, whatever rows they have.
        with np.errstate(divide="ignore", invalid="ignore"):  # nor may any have true rows
            out[:, 1, :] += (deviations / class_matrices.positive[class_weights > 0].sum())[:, None]
    return out


def _partial_derivatives(
    apply: Callable[[Any], FloatArray], matrix: ConfusionMatrix, counts: FloatArray
) -> FloatArray:
    """Return central differences by each non-empty cell."""

    def evaluate(shifted_counts: FloatArray) -> FloatArray:
        shifted_counts = shifted_counts.reshape(len(shifted_counts), *counts.shape)
        return apply(replace(matrix, counts=shifted_counts, squares=shifted_counts))

    return numerical_derivatives(evaluate, counts.ravel(), _MAX_BATCH_ELEMENTS).reshape(
        counts.shape
    )


def measure_value(measure: Any, matrix: ConfusionMatrix) -> float:
    """Return the value of a measure, computed once for each matrix."""
    return cached(matrix, ("value", measure), lambda: float(measure.apply(matrix)))


def _one_vs_rest_derivatives(
    apply: Callable[[Any], FloatArray], each: ConfusionMatrix
) -> FloatArray:
    """Return central differences for a stack of two-class matrices, all of them at once."""
    out = np.zeros(each.counts.shape)
    for cell in np.ndindex(2, 2):
        index = (..., *cell)
        values = []
        for sign in (1, -1):
            shifted = each.counts.copy()
            shifted[index] += sign * shifted[index] * DERIVATIVE_STEP
            values.append(apply(replace(each, counts=shifted, squares=shifted)))
        steps = each.counts[index] * DERIVATIVE_STEP
        nonzero_mask = steps > 0
        out[index][nonzero_mask] = (values[0] - values[1])[nonzero_mask] / (2 * steps[nonzero_mask])
    return out


class _NotMarginalError(Exception):
    """Error of a measure that is not a function of the margins alone."""


class _FreeMargins(ConfusionMatrix):
    """Margins that need not belong to one matrix, for derivatives by each of them."""

    def __init__(self, matrix: ConfusionMatrix, **margins: FloatArray) -> None:
        names = ("labels", "truth_margin", "prediction_margin", "hits", "total", "correct")
        self.__dict__.update({name: getattr(matrix, name) for name in names}, **margins)

    def __getattr__(self, name: str) -> Any:
        raise _NotMarginalError(name)

    @property
    def n_classes(self) -> int:
        return len(self.labels)


def margin_gradient(
    measure: Any,
    matrix: ConfusionMatrix,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
) -> FloatArray:
    """Return the gradient by cells of a measure of all classes, through the margins.

    One more row in a cell adds one to the margin of its true class, to that of its predicted class,
    to the total and, if it is on the diagonal, to the correct rows. So the cost grows with the
    number of classes, not of cells.
    """
    derivatives_by_margin = {
        name: _margin_derivatives(measure, matrix, name)
        for name in ("truth_margin", "prediction_margin", "hits")
    }
    total, correct = (_sum_derivative(measure, matrix, name) for name in ("total", "correct"))
    diagonal_terms = np.where(
        truth == predicted, derivatives_by_margin["hits"][truth] + correct, 0.0
    )
    return np.asarray(
        derivatives_by_margin["truth_margin"][truth]
        + derivatives_by_margin["prediction_margin"][predicted]
        + total
        + diagonal_terms
    )


def _cell_derivatives(measure: Any, matrix: SparseConfusionMatrix) -> FloatArray:
    """Return central differences by each of the non-empty cells."""
    at_once = _MAX_BATCH_ELEMENTS * len(matrix.cell_counts) // matrix.n_classes**2
    return numerical_derivatives(
        lambda cell_counts: measure.apply(matrix.with_cell_counts(cell_counts)),
        matrix.cell_counts,
        at_once,
    )


def _margin_derivatives(measure: Any, matrix: ConfusionMatrix, name: str) -> FloatArray:
    """Return central differences by the non-zero entries of a margin."""
    return numerical_derivatives(
        lambda margin: measure.apply(_FreeMargins(matrix, **{name: margin})),
        getattr(matrix, name),
        _MAX_BATCH_ELEMENTS,
    )


def _sum_derivative(measure: Any, matrix: ConfusionMatrix, name: str) -> float:
    """Return the central difference by one of the sums."""
    value = getattr(matrix, name)
    if not value > 0:
        return 0.0
    shifted_values = [
        measure.apply(_FreeMargins(matrix, **{name: value * (1 + s * DERIVATIVE_STEP)}))
        for s in (1, -1)
    ]
    return float(shifted_values[0] - shifted_values[1]) / (2 * float(value) * DERIVATIVE_STEP)


def influential_mask(
    measure: Any,
    matrix: ConfusionMatrix,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
) -> npt.NDArray[np.bool_]:
    """Return a mask of the cells that have influence on a measure.

    For example, the TN have no influence on F1. If the measure is at an end of its range, where no
    cell has influence, a row is added to every cell first.
    """
    if (
        measure_value(measure, matrix) in measure.definition.range
        and type(matrix) is ConfusionMatrix
    ):
        matrix = replace(matrix, counts=matrix.counts + 1.0)
    derivatives = cell_gradient(measure, matrix, truth, predicted)
    return np.asarray(np.abs(derivatives) * float(matrix.total) > _MIN_INFLUENCE)
