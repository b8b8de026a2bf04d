"""Cells of a confusion matrix: proportions of its rows, with their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calipers.findings.formatting import IntervalNumber, quote
from calipers.inference import intervals, proportions
from calipers.inference.point_estimate import NO_SPREAD
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ConfusionMatrix, FloatArray, effective_size


@dataclass(frozen=True)
class CellSelection:
    """Set of cells of a confusion matrix.

    ``weight`` returns the weight of the rows in the cells (of each of several matrices), and
    ``mask`` the cells for a number of classes, shape (K, K).
    """

    weight: Callable[[ConfusionMatrix], FloatArray]
    mask: Callable[[int], FloatArray]

    def __call__(self, matrix: ConfusionMatrix) -> FloatArray:
        """Return the weight of the rows in these cells."""
        return self.weight(matrix)


#: A number with its interval at a level.
NumberAtLevel = Callable[[float], IntervalNumber]


def above_check(estimate: NumberAtLevel, limit: float) -> Callable[[float], bool]:
    """Return a function that tells whether the interval at a level lies above ``limit``."""
    return lambda level: estimate(level).low > limit


def below_check(estimate: NumberAtLevel, limit: float) -> Callable[[float], bool]:
    """Return a function that tells whether the interval at a level lies below ``limit``."""
    return lambda level: estimate(level).high < limit


def subtract(first: NumberAtLevel, second: NumberAtLevel) -> NumberAtLevel:
    """Return the difference of two independent numbers with intervals."""
    return lambda level: first(level) - second(level)


def _cell_mask(*indices: tuple[Any, Any]) -> Callable[[int], FloatArray]:
    """Return a function that makes the mask of the cells at these indices.

    The indices are pairs of truth and prediction.
    """

    def mask(classes: int) -> FloatArray:
        cells = np.zeros((classes, classes))
        for index in indices:
            cells[index] = 1.0
        return cells

    return mask


def single_cell(truth: int, predicted: int) -> CellSelection:
    """Return the cell of the rows of a class that are predicted as a class."""
    return CellSelection(lambda m: m.cell(truth, predicted), _cell_mask((truth, predicted)))


def class_cells(code: int) -> CellSelection:
    """Return the cells of the rows of a class."""
    return CellSelection(lambda m: m.truth_margin[..., code], _cell_mask((code, slice(None))))


def predicted_cells(code: int) -> CellSelection:
    """Return the cells of the rows that are predicted as a class."""
    return CellSelection(lambda m: m.prediction_margin[..., code], _cell_mask((slice(None), code)))


#: All rows.
ALL_ROWS = CellSelection(lambda m: m.truth_margin.sum(axis=-1), lambda k: np.ones((k, k)))


#: An unknown standard error and its degrees of freedom.
UNKNOWN_ERROR = (math.nan, math.nan)

#: An undefined number.
UNDEFINED = IntervalNumber(math.nan, math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class ConfusionCells:
    """Confusion matrix of a system, with intervals of proportions of its cells.

    ``n_clusters`` is the number of clusters, 0 without any. With clusters, ``compute_error``
    computes the standard error of a value, and its degrees of freedom, from the influence of a row
    in each cell, shape (K, K); NaN if it is unknown, as for classes too many for a dense matrix.
    """

    matrix: ConfusionMatrix
    n_clusters: int = 0
    compute_error: Callable[[Callable[[], FloatArray]], tuple[float, float]] = lambda _: (
        UNKNOWN_ERROR
    )

    def label(self, code: int) -> str:
        """Return the name of a class as in a sentence."""
        return quote(self.matrix.labels[code])

    def proportion(
        self, numerator: CellSelection, denominator: CellSelection, *, exact: bool = False
    ) -> NumberAtLevel:
        """Return the proportion of the rows in ``denominator`` that are in ``numerator``."""
        rows = float(denominator(self.matrix))
        if not rows > 0:
            return lambda level: UNDEFINED
        proportion = float(numerator(self.matrix)) / rows
        size = effective_size(rows, denominator(self.matrix.squared_weight_matrix))
        method = proportions.clopper_pearson if exact else proportions.wilson
        if not self.n_clusters:
            return lambda level: IntervalNumber.from_interval(
                proportion, method(proportion, size, level)
            )
        if not 0 < proportion < 1:
            # Without variation between clusters, each cluster counts as one row.
            effective_n = min(size, self.n_clusters)
            return lambda level: IntervalNumber.from_interval(
                proportion, method(proportion, effective_n, level)
            )
        se, df = self._cluster_error(
            lambda: (self._mask(numerator) - proportion * self._mask(denominator)) / rows
        )
        if not se > 0:
            return lambda level: IntervalNumber(proportion, math.nan, math.nan)
        # The number of independent rows with the same variance (Korn and Graubard 1998).
        size = min(size, proportion * (1 - proportion) / se**2)

        def interval_at(level: float) -> IntervalNumber:
            wider = intervals.t_quantile(level, df) / intervals.normal_quantile(level)
            return IntervalNumber.from_interval(
                proportion, method(proportion, size / wider**2, level)
            )

        return interval_at

    def difference(self, first: CellSelection, second: CellSelection) -> NumberAtLevel:
        """Return the proportion of all rows in the cells ``first`` minus that in ``second``.

        No cell is in both.
        """
        total = float(self.matrix.total)
        high, low = (float(cells(self.matrix)) / total for cells in (first, second))
        value = high - low
        if self.n_clusters:
            se, df = self._cluster_error(
                lambda: (self._mask(first) - self._mask(second) - value) / total
            )
            if se > 0 or math.isnan(se):
                return lambda level: _student(value, se, df, level)
            n: float = self.n_clusters  # clusters without any variation count as one row each
            return lambda level: IntervalNumber.from_interval(
                value, proportions.bonett_price(high, low, n, level)
            )

        # With weights, the effective number of rows, scaled from that of the rows in either set.
        def discordant_weight(m: ConfusionMatrix) -> FloatArray:
            return first(m) + second(m) if high + low else m.total

        weight = float(discordant_weight(self.matrix))
        n = (
            effective_size(weight, discordant_weight(self.matrix.squared_weight_matrix))
            * total
            / weight
        )
        return lambda level: IntervalNumber.from_interval(
            value, proportions.bonett_price(high, low, n, level)
        )

    def prediction_ratio(self, code: int) -> NumberAtLevel:
        """Return the ratio of predictions of a class to rows of the class (two classes).

        Both are counts of the same rows; the interval is normal for the logarithm, by the delta
        method.
        """
        return self.ratio([predicted_cells(code)], [class_cells(code)])

    def ratio(
        self, numerators: Sequence[CellSelection], denominators: Sequence[CellSelection]
    ) -> NumberAtLevel:
        """Return the product of the rows in some cells over the product of those in others.

        Its interval is normal for the logarithm, by the delta method. The ratio is undefined if a
        product in the denominator is 0.
        """
        sizes = [
            [float(cells(self.matrix)) for cells in selections]
            for selections in (numerators, denominators)
        ]
        if not math.prod(sizes[1]) > 0:
            return lambda level: UNDEFINED
        value = math.prod(sizes[0]) / math.prod(sizes[1])
        if not value > 0:
            return lambda level: IntervalNumber(value, math.nan, math.nan)
        influence = sum(
            (
                sign * self._mask(cells) / size
                for sign, selections, selection_sizes in (
                    (1, numerators, sizes[0]),
                    (-1, denominators, sizes[1]),
                )
                for cells, size in zip(selections, selection_sizes, strict=True)
            ),
            np.zeros(self.matrix.counts.shape),
        )
        if self.n_clusters:
            se, df = self._cluster_error(lambda: influence)
            if not se > 0:  # equal clusters do not show how much clusters vary
                return lambda level: IntervalNumber(value, math.nan, math.nan)
        else:
            se, df = math.sqrt(float((self.matrix.squares * influence**2).sum())), math.inf

        def interval_at(level: float) -> IntervalNumber:
            width = (
                intervals.t_quantile(level, df)
                if self.n_clusters
                else intervals.normal_quantile(level)
            ) * se
            return IntervalNumber(value, value / math.exp(width), value * math.exp(width))

        return interval_at

    def _cluster_error(self, influence: Callable[[], FloatArray]) -> tuple[float, float]:
        """Return the standard error of clustered rows, 0 if it is rounding, and its df."""
        se, df = self.compute_error(influence)
        return (0.0 if se <= NO_SPREAD else se), df

    def _mask(self, cells: CellSelection) -> FloatArray:
        """Return the mask of the selected cells, shape (K, K)."""
        return cells.mask(self.matrix.n_classes)


def _student(value: float, se: float, df: float, level: float) -> IntervalNumber:
    half_width = intervals.t_quantile(level, df) * se if df > 0 else math.nan
    return IntervalNumber(value, value - half_width, value + half_width)


class BinaryCells(ConfusionCells):
    """Cells of two classes, of which the second is the positive one."""


class MulticlassCells(ConfusionCells):
    """Cells of more than two classes."""


class ClassCellSelections:
    """Cells of the rows of a class, by their predictions."""

    def __init__(self, code: int) -> None:
        true, hit = class_cells(code), _cell_mask((code, code))
        self.true = true
        self.others = CellSelection(
            lambda m: m.one_vs_rest().negative[..., code], lambda k: 1.0 - true.mask(k)
        )
        self.hit = CellSelection(lambda m: m.hits[..., code], hit)
        self.missed = CellSelection(
            lambda m: m.one_vs_rest().fn[..., code], lambda k: true.mask(k) - hit(k)
        )
        #: Rows of other classes that are classified correctly.
        self.correct_others = CellSelection(
            lambda m: np.maximum(m.correct - m.hits[..., code], 0.0), lambda k: np.eye(k) - hit(k)
        )
