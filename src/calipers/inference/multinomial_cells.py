"""Rows determined by the cell they are in: truth × prediction, or × a second prediction.

The counts of the cells contain all information about such rows, so that resampling cells is
resampling rows. Only non-empty cells are stored, so that hundreds of classes are affordable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.inference import intervals
from calipers.inference.clusters import ClusterIndex
from calipers.inference.influence import jackknife_groups
from calipers.inference.intervals import Interval
from calipers.inference.resampling import replicate_weights
from calipers.inference.variance_estimators import StandardError
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    IntArray,
    SparseConfusionMatrix,
    effective_size,
    effective_size_from_weights,
)
from calipers.statistics.base import BLOCK_ROWS, row_blocks
from calipers.statistics.sparse_confusion import MAX_DENSE_CLASSES, ConfusionReplicates

if TYPE_CHECKING:
    from calipers.inference.settings import Settings

#: Maximum number of elements that are drawn at a time.
_MAX_DRAWN_ELEMENTS = 4_000_000

#: Maximum number of elements per batch of sparse cells, to fit the processor cache.
MAX_CACHED_ELEMENTS = 500_000

#: The prior of likely contents goes to all cells if there are at most this many; otherwise to a
#: different subset in each of ``_N_PRIOR_SUBSETS`` turns.
_MAX_PRIOR_CELLS = 125
_N_PRIOR_SUBSETS = 40

#: Relative size of the rounding error of a numerical derivative that is 0.
DERIVATIVE_ROUNDING = 1e-9

#: With more cells than this, rows are drawn instead of cells, unless each cell has many rows.
_MAX_DRAWN_CELLS = 2500
_MIN_ROWS_PER_CELL = 8

#: What replicates of cells by sums of weights are called. Those of rows with unequal weights are
#: drawn in this way, in time that does not grow with the number of rows, and in batches too, where
#: the rows are gone. In 400 sets of 20,400 rows with lognormal weights (σ = 1), equal or three
#: times as large for errors, of which 0.2 or 2% are positive, they covered the truth of F1, MCC,
#: LR+, LR- and balanced accuracy as often as rows drawn one by one, but for 0.8 of 100: 90 to 95
#: times of 100 with 40 positive rows, 92 to 95 with 400. In 400 sets of 60 and 200 rows of three
#: classes, 75 or 93% of which are right, with lognormal weights, larger ones for errors, or a fifth
#: for one class, they did so of kappa and F1, but for 1.3 of 100 (F1 of 60 rows, 93% right: 2.3).
#: Rows drawn one by one did so 86 to 94 times, tables as likely as Kish's number of rows makes them
#: 86 to 100 times.
POISSON_BOOTSTRAP_NAME = "Poisson bootstrap [B]"


@dataclass(frozen=True, eq=False)
class MultinomialCells:
    """Non-empty cells of a contingency table of rows.

    Attributes
    ----------
    shape : tuple of int
        Shape of the table.
    cell_index : ndarray of int, shape (C,)
        Flat indices of the non-empty cells, ascending.
    counts, squares : ndarray of shape (C,)
        Sums of weights and of squared weights in each cell.
    row_cells : ndarray of int, shape (n,)
        Flat index of the cell of each row.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    clusters : ClusterIndex or None
        Clusters of the rows.
    has_unequal_weights : bool
        Whether the rows have unequal weights that are no longer available.
    rows : ndarray of shape (C,) or None
        Number of rows in each cell, if the rows are no longer available.
    """

    shape: tuple[int, ...]
    cell_index: IntArray
    counts: FloatArray
    squares: FloatArray
    row_cells: npt.NDArray[np.integer[Any]]
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    #: Whether weights were unequal, if rows and weights were not kept.
    has_unequal_weights: bool = False
    #: Number of rows in each cell, if rows were not kept.
    rows: FloatArray | None = None

    @classmethod
    def from_codes(
        cls,
        codes: Sequence[npt.NDArray[np.integer[Any] | np.bool_]],
        shape: tuple[int, ...],
        weight: FloatArray | None = None,
        clusters: ClusterIndex | None = None,
    ) -> MultinomialCells:
        """Create the cells from the codes of the rows along each axis of ``shape``."""
        # The smallest signed type of these indices; eight bytes each are more than the predictions.
        flat = np.asarray(codes[0]).astype(np.min_scalar_type(-math.prod(shape)))
        for code, size in zip(codes[1:], shape[1:], strict=True):
            flat *= flat.dtype.type(size)
            flat += code.astype(flat.dtype, copy=False)
        return cls.from_flat(flat, shape, weight, clusters)

    @classmethod
    def from_flat(
        cls,
        flat: npt.NDArray[np.integer[Any]],
        shape: tuple[int, ...],
        weight: FloatArray | None = None,
        clusters: ClusterIndex | None = None,
    ) -> MultinomialCells:
        """Create the cells from the flat indices of the rows in an array of this shape."""
        if (size := math.prod(shape)) <= 4 * len(flat) + 10_000:
            rows = _count(flat, size)
            cell_index = np.flatnonzero(rows)
            sums = [rows[cell_index].astype(np.float64)]
            if weight is not None:
                sums = [_sums(flat, w, size)[cell_index] for w in _weight_powers(weight)]
        else:
            cell_index, inverse = np.unique(flat, return_inverse=True)
            sums = [_sums(inverse, w, len(cell_index)) for w in _weight_powers(weight)]
        return cls(shape, cell_index, sums[0], sums[-1], flat, weight, clusters)

    def cross(self, second: MultinomialCells, n_classes: int) -> npt.NDArray[np.int64]:
        """Return the flat index of each row in truth × first × second, of two systems' cells."""
        flat = self.row_cells.astype(np.int64)
        flat *= n_classes
        flat += second.row_cells % n_classes
        return flat

    def row_cell_index(self) -> npt.NDArray[np.uint32]:
        """Return the index of the cell of each row."""
        if (size := math.prod(self.shape)) > 4 * len(self.row_cells) + 10_000:
            return np.searchsorted(self.cell_index, self.row_cells).astype(np.uint32)
        index_by_cell = np.zeros(size, np.uint32)
        index_by_cell[self.cell_index] = np.arange(len(self.cell_index), dtype=np.uint32)
        return np.asarray(index_by_cell[self.row_cells])

    def against_rest(self, class_index: int) -> MultinomialCells:
        """Return the cells of one class against all others, in every coordinate.

        Sums are enough for it: rows in batches are gone.
        """
        codes = [code == class_index for code in np.unravel_index(self.cell_index, self.shape)]
        shape = (2,) * len(self.shape)
        target = np.ravel_multi_index([code.astype(np.intp) for code in codes], shape)
        cell_index, inverse = np.unique(target, return_inverse=True)
        counts, squares = (
            np.asarray(np.bincount(inverse, sums, len(cell_index)), np.float64)
            for sums in (self.counts, self.squares)
        )
        return replace(self, shape=shape, cell_index=cell_index, counts=counts, squares=squares)

    def marginal_counts(self, axes: Sequence[int], counts: FloatArray) -> FloatArray:
        """Return cell counts (..., C) summed over all but the given axes, as an array."""
        shape = tuple(self.shape[axis] for axis in axes)
        # With the values of a cell side by side, as formulas read them.
        out = np.zeros((math.prod(shape), *counts.shape[:-1]))
        self._project_by_cell(axes, np.moveaxis(counts, -1, 0), out)
        return np.moveaxis(out, 0, -1).reshape(*counts.shape[:-1], *shape)

    def _project_by_cell(self, axes: Sequence[int], counts: FloatArray, out: FloatArray) -> None:
        """Write counts (C, ...) summed over all but the given axes into those of all cells."""
        distinct, order, start = self._group_cells(axes)
        if len(distinct):
            out[distinct] = np.add.reduceat(counts[order], start, axis=0)

    def _group_cells(self, axes: Sequence[int]) -> tuple[IntArray, IntArray, IntArray]:
        """Return the non-empty marginal cells, the cells in their order, and where each begins."""
        coordinates = np.unravel_index(self.cell_index, self.shape)
        shape = tuple(self.shape[axis] for axis in axes)
        target = np.ravel_multi_index([coordinates[axis] for axis in axes], shape)
        order = np.argsort(target, kind="stable")
        distinct, start = np.unique(target[order], return_index=True)
        return distinct, order, start

    def _project(self, axes: Sequence[int], counts: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the non-empty marginal cells and their counts."""
        distinct, order, start = self._group_cells(axes)
        if not len(distinct):
            return distinct, np.zeros((*counts.shape[:-1], 0))
        return distinct, np.add.reduceat(counts[..., order], start, axis=-1)

    def matrix(
        self, counts: FloatArray, labels: tuple[str, ...], axes: Sequence[int] = (0, 1)
    ) -> ConfusionMatrix:
        """Return the confusion matrix of two axes from cell counts (..., C)."""
        if self.is_dense:
            dense = self.marginal_counts(axes, counts)
            return ConfusionMatrix(dense, dense, labels)
        if len(self.shape) == len(axes):
            return SparseConfusionMatrix(counts, counts, self.cell_index, labels)
        cell_index, cell_counts = self._project(axes, counts)
        return SparseConfusionMatrix(cell_counts, cell_counts, cell_index, labels)

    def replicate_matrices(
        self, replicates: FloatArray, labels: tuple[str, ...], axes: Sequence[int] = (0, 1)
    ) -> ConfusionMatrix:
        """Return the confusion matrices of replicates."""
        has_whole_counts = self.weight is None and not self.has_unequal_weights
        if not self.is_dense and (
            has_whole_counts or self.needs_row_draws or self.needs_weight_sums
        ):
            margin_replicates = self._margin_replicates(replicates, labels, axes)
            return (
                margin_replicates.mark_integer_counts() if has_whole_counts else margin_replicates
            )
        matrix = self.matrix(replicates, labels, axes)
        return matrix.mark_integer_counts() if has_whole_counts else matrix

    def paired_matrices(
        self, replicates: FloatArray, labels: tuple[str, ...]
    ) -> ConfusionMatrix | None:
        """Return the replicates of two systems, which are the leading axis, or None if sparse.

        A formula is applied to both at once.
        """
        if not self.is_dense:
            return None
        # With the values of a cell side by side, as formulas read them.
        by_cell = np.zeros((math.prod(self.shape[:2]), 2, len(replicates)))
        cell_counts = np.ascontiguousarray(replicates.T)
        for index, axes in enumerate(((0, 1), (0, 2))):
            self._project_by_cell(axes, cell_counts, by_cell[:, index])
        counts = np.moveaxis(by_cell, 0, -1).reshape(2, len(replicates), *self.shape[:2])
        matrix = ConfusionMatrix(counts, counts, labels)
        has_whole_counts = self.weight is None and not self.has_unequal_weights
        return matrix.mark_integer_counts() if has_whole_counts else matrix

    def margin_confusion(
        self, replicates: FloatArray, labels: tuple[str, ...], axes: Sequence[int] = (0, 1)
    ) -> ConfusionMatrix:
        """Return the confusion matrices of non-integer counts, by margins if this is cheaper."""
        return (
            self.matrix(replicates, labels, axes)
            if self.is_dense
            else self._margin_replicates(replicates, labels, axes)
        )

    def _margin_replicates(
        self, replicates: FloatArray, labels: tuple[str, ...], axes: Sequence[int]
    ) -> ConfusionReplicates:
        coordinates = np.unravel_index(self.cell_index, self.shape)
        truth, predicted = (coordinates[axis] for axis in axes)
        return ConfusionReplicates(
            margins(replicates, truth, predicted, len(labels)),
            labels,
            lambda: self.matrix(replicates, labels, axes),
            lambda: self._margin_replicates((replicates > 0).astype(np.float64), labels, axes),
        )

    @property
    def is_unweighted(self) -> bool:
        """Whether rows are independent and unweighted."""
        return self.weight is None and self.clusters is None and not self.has_unequal_weights

    @property
    def has_equal_weights(self) -> bool:
        """Whether rows are independent and of equal weight, which need not be 1.

        If rows are no longer available, the weights in the cells decide.
        """
        if self.clusters is not None:
            return False
        if self.squares is self.counts:
            return not self.has_unequal_weights
        if self.weight is not None:
            return not np.ptp(self.weight) > 0
        row_weights = self.squares / self.counts
        return bool(np.ptp(row_weights) <= DERIVATIVE_ROUNDING * row_weights.max(initial=0.0))

    @property
    def is_dense(self) -> bool:
        """Whether matrices are stored as dense arrays."""
        return max(self.shape[:2]) <= MAX_DENSE_CLASSES

    @property
    def batch_size(self) -> int:
        """Number of replicates to compute at a time, by memory."""
        if self.is_dense:
            return max(1, _MAX_DRAWN_ELEMENTS // math.prod(self.shape[:2]))
        return max(1, MAX_CACHED_ELEMENTS // max(len(self.cell_index), 4 * max(self.shape[:2])))

    def draw_replicates(self, settings: Settings) -> Iterator[FloatArray]:
        """Yield bootstrap replicates of the counts, in batches of shape (b, C).

        They are multinomial if rows are unweighted, and Poisson numbers of typical rows of each
        cell if they have weights; clusters are resampled one by one, and so are rows in many cells.
        """
        if self.needs_weight_sums:
            yield from self._draw_by_sums(settings)
        elif self.needs_row_draws:
            yield from self._draw_rows(settings)
        else:
            generator = np.random.Generator(np.random.Philox(settings.seed))
            probabilities = self.counts / self.counts.sum()
            rows = round(float(self.counts.sum()))
            for size in self._batch_sizes(settings):
                yield generator.multinomial(rows, probabilities, size=size).astype(np.float64)

    @property
    def needs_row_draws(self) -> bool:
        """Whether rows are resampled rather than cells."""
        if self.clusters is not None:
            return True
        if self.needs_weight_sums:
            return False
        many_rows = self.weight is None and self.counts.sum() > _MIN_ROWS_PER_CELL * len(
            self.cell_index
        )
        return len(self.cell_index) > _MAX_DRAWN_CELLS and not many_rows

    @property
    def needs_weight_sums(self) -> bool:
        """Whether cells are resampled by the sums of the weights and of the squared weights.

        This is done for rows of unequal weight.
        """
        return self.clusters is None and (self.has_unequal_weights or self.weight is not None)

    def _draw_by_sums(self, settings: Settings) -> Iterator[FloatArray]:
        """Yield replicates from sums of weights, for the Poisson bootstrap.

        If each row occurs a Poisson number of times, the weight of a cell has mean Σw and variance
        Σw²; so does Σw²/Σw times a Poisson variable with mean (Σw)²/Σw².
        """
        generator = np.random.Generator(np.random.Philox(settings.seed))
        scale = self.squares / np.where(self.counts > 0, self.counts, 1.0)
        mean = np.divide(self.counts, scale, out=np.zeros_like(scale), where=scale > 0)
        for size in self._batch_sizes(settings):
            yield generator.poisson(mean, (size, len(mean))) * scale

    def _batch_sizes(self, settings: Settings) -> Iterator[int]:
        """Yield the number of replicates in each batch."""
        for begin in range(0, settings.n_resamples, self.batch_size):
            yield min(self.batch_size, settings.n_resamples - begin)

    def _draw_rows(self, settings: Settings) -> Iterator[FloatArray]:
        """Yield replicates that are resampled row by row.

        Either n rows are drawn with replacement, or each row (each cluster) occurs a Poisson number
        of times that depends only on the seed, the replicate and the row.
        """
        generator = np.random.Generator(np.random.Philox(settings.seed))
        cell, cells, rows = (
            self.row_cell_index().astype(np.int64),
            len(self.cell_index),
            len(self.row_cells),
        )
        replicate = 0
        for size in self._batch_sizes(settings):
            out = np.empty((size, cells))
            for sums in out:
                if self.clusters is None and self.weight is None:
                    row_indices = generator.integers(0, rows, rows, np.uint32)
                    sums[:] = np.bincount(cell[row_indices], minlength=cells)
                else:
                    sums[:] = np.bincount(cell, self.replicate_weights(settings, replicate), cells)
                replicate += 1
            yield out

    def replicate_weights(self, settings: Settings, replicate: int) -> FloatArray:
        """Return the weight of each row in a replicate of the Poisson bootstrap."""
        return replicate_weights(
            len(self.row_cells), self.weight, settings, replicate, self.clusters
        )

    def draw_posterior(
        self, settings: Settings, *, adds_errors: bool = True
    ) -> Iterator[tuple[MultinomialCells, FloatArray]]:
        """Yield draws of the cell contents from their posterior distribution, and their cells.

        Batches have shape (b, C). The distribution is Dirichlet(counts + prior), times the number
        of rows. Weighted rows count by Kish's number, and clusters as one row each. Unless the
        prior ``adds_errors``, it is only on the correct cells.

        Notes
        -----
        The prior of each of K classes is 1/K on the correct cell, and 1/K in total on the wrong
        ones, divided equally between the other classes; for several predictions it is the product.
        For two classes this is Jeffreys' prior. So it adds two rows in all: with a half for each
        class, intervals of macro-F1 with 3 classes covered the true value 92 to 94 times in 100,
        with 10 classes 77 to 91 times and with 20 classes 73 times; with 1/K they did 94, 92 to 94
        and 92 times (±1).

        Cells in which two predictions differ have twice as much: for two classes a half, as
        Jeffreys' prior of all cells of a class. Where 0.5 to 20% of 60, 200 and 1,000 rows differ,
        in favor of either system or of one, intervals of the differences of precision, recall,
        NPV, F1, MCC and balanced accuracy covered the true value 91 to 100 times in 100 (±1.3),
        without the factor 84 to 100 times. They are at most 1.2 times as long if ten rows differ.

        If there are many cells, the prior of the wrong cells of a class is given
        to one other class, a different one in every batch.
        """
        generator = np.random.Generator(np.random.Philox(settings.seed))
        total, effective = float(self.counts.sum()), self._effective_rows
        turns = 1 if self._has_full_prior else _N_PRIOR_SUBSETS
        size = max(1, min(self.batch_size, -(-settings.n_resamples // turns)))
        for begin in range(0, settings.n_resamples, size):
            cell_index, added = self._prior(generator)
            if not adds_errors:
                truth, *predicted = np.unravel_index(cell_index, self.shape)
                added = np.where(np.all(truth == np.array(predicted), axis=0), added, 0.0)
            cell_index, inverse = np.unique(
                np.append(self.cell_index, cell_index), return_inverse=True
            )
            pseudo_counts = np.append(self.counts * (effective / total), added)
            shape = _sums(inverse, pseudo_counts, len(cell_index))
            n_draws = min(size, settings.n_resamples - begin)
            draws = generator.standard_gamma(shape, (n_draws, len(cell_index)))
            draws *= total / draws.sum(axis=1, keepdims=True)
            yield (
                replace(self, cell_index=cell_index, counts=shape, squares=shape, weight=None),
                draws,
            )

    @property
    def _effective_rows(self) -> float:
        """Effective number of independent rows, a lower bound."""
        if self.clusters is not None:
            return effective_size_from_weights(np.bincount(self.clusters.codes, self.weight))
        return effective_size(self.counts.sum(), self.squares.sum())

    @property
    def _has_full_prior(self) -> bool:
        """Whether the prior is given to all cells."""
        return math.prod(self.shape) <= _MAX_PRIOR_CELLS

    def _prior(self, generator: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Return cells and the prior of each."""
        k, n_predictions = self.shape[0], len(self.shape) - 1
        coordinates = np.unravel_index(self.cell_index, self.shape)
        class_codes = np.unique(np.concatenate(coordinates)) if k > 2 else np.arange(k)
        class_codes = class_codes if len(class_codes) > 1 else np.arange(k)
        n_classes = len(class_codes)
        # Offsets of the predicted class: 0 is correct, the others are wrong.
        shift = np.array([0, generator.integers(1, n_classes)])
        if self._has_full_prior:
            shift = np.arange(n_classes)
        predicted = class_codes[(np.arange(n_classes)[:, None] + shift) % n_classes]
        proportions = np.append(0.5, np.full(len(shift) - 1, 0.5 / (len(shift) - 1)))
        cell_index, added = class_codes[:, None], np.full((n_classes, 1), 2 / n_classes)
        for _ in range(n_predictions):
            cell_index = (cell_index[:, :, None] * k + predicted[:, None, :]).reshape(n_classes, -1)
            added = (added[:, :, None] * proportions).reshape(n_classes, -1)
        if n_predictions == 2:
            first, second = np.unravel_index(cell_index, self.shape)[1:]
            added = np.where(first == second, added, 2 * added)
        return cell_index.ravel(), added.ravel()

    def stratified_replicates(self, settings: Settings) -> Iterator[FloatArray] | None:
        """Yield stratified replicates, in which every true class keeps its number of rows.

        Return None if rows are clustered or weighted.
        """
        if self.clusters is not None or self.weight is not None:
            return None
        return self._draw_stratified(settings)

    def _draw_stratified(self, settings: Settings) -> Iterator[FloatArray]:
        generator = np.random.Generator(np.random.Philox(settings.seed))
        # Indices ascend, so that the cells of a class are adjacent.
        starts = np.unique(np.unravel_index(self.cell_index, self.shape)[0], return_index=True)[1]
        for size in self._batch_sizes(settings):
            out = np.empty((size, len(self.cell_index)))
            for begin, end in zip(starts, [*starts[1:], len(self.cell_index)], strict=True):
                counts = self.counts[begin:end]
                rows = round(float(counts.sum()))
                out[:, begin:end] = generator.multinomial(rows, counts / counts.sum(), size)
            yield out

    def jackknife_counts(self) -> FloatArray:
        """Return the counts without each row or cluster in turn, or without groups of them."""
        unit = np.arange(len(self.row_cells))
        if self.clusters is not None:
            unit = np.unique(self.clusters.codes, return_inverse=True)[1]
        group = jackknife_groups(int(unit.max()) + 1)[unit]
        cell_index = group * len(self.cell_index) + self.row_cell_index()
        size = (int(group.max()) + 1) * len(self.cell_index)
        out = _sums(cell_index, self.weight, size).reshape(-1, len(self.cell_index))
        # With weights, rounding may leave a small positive weight where no row remains.
        return np.where(out >= self.counts * (1 - 1e-12), 0.0, self.counts - out)

    def standard_error(self, influence: FloatArray, value: float = 0.0) -> float:
        """Return the standard error of a sum over rows of weight times the influence of their cell.

        ``influence`` is an array of ``shape``, or has a value for each non-empty cell. The error is
        0 if it is at most rounding error for values of this ``value``, as that of derivatives at a
        perfect value.
        """
        se = self._error(influence)
        return 0.0 if se <= DERIVATIVE_ROUNDING * abs(value) else se

    def _error(self, influence: FloatArray) -> float:
        cell_influence = (
            influence.ravel()[self.cell_index] if influence.shape == self.shape else influence
        )
        if self.clusters is None:
            return math.sqrt(self.sum_of_squares(cell_influence))
        return self.clusters.sum_error(self._cell_influence(cell_influence)).se

    def sum_of_squares(self, influence: FloatArray) -> float:
        """Return the sum of squares, over rows or clusters, of the influence of their cell."""
        if self.clusters is None:
            return float(np.dot(self.squares, np.square(influence)))
        return self.clusters.corrected_sum_of_squares(self._cell_influence(influence))

    def _cell_influence(self, influence: FloatArray) -> FloatArray:
        """Return the influence of each row, times its weight."""
        row = self.row_cell_index()
        return influence[row] if self.weight is None else influence[row] * self.weight

    def squares_by_class(self) -> FloatArray:
        """Return, by class, the sum over clusters of the squared weight of its rows.

        Rows of a class are those whose true or predicted class it is.
        """
        assert self.clusters is not None
        k = self.shape[0]
        truth, predicted = np.divmod(self.row_cells, k)
        cluster_offset, wrong_mask = self.clusters.codes.astype(np.int64) * k, truth != predicted
        pair_index = np.concatenate(
            [cluster_offset + truth, (cluster_offset + predicted)[wrong_mask]]
        )
        weight = None if self.weight is None else np.append(self.weight, self.weight[wrong_mask])
        pair, inverse = np.unique(pair_index, return_inverse=True)
        return _sums(pair % k, np.square(_sums(inverse, weight, len(pair))), k)


def zero_rounding_error(error: StandardError, size: float) -> StandardError:
    """Return the error, set to 0 if it is at most rounding error for values of this size."""
    return replace(error, se=0.0) if error.se <= DERIVATIVE_ROUNDING * abs(size) else error


def margins(
    replicates: FloatArray,
    truth: npt.NDArray[np.integer[Any]],
    predicted: npt.NDArray[np.integer[Any]],
    n_classes: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the margins of truth and of prediction, and the diagonal, of replicates (b, C).

    ``truth`` and ``predicted`` are the classes of the C cells or rows. Each result has shape (b,
    classes).
    """
    from calipers import _core

    diagonal_indices = np.flatnonzero(truth == predicted)
    true_margin, predicted_margin, hits = (
        np.asarray(_core.sum_columns(columns, code.astype(np.uint32), n_classes))
        for columns, code in (
            (replicates, truth),
            (replicates, predicted),
            (np.take(replicates, diagonal_indices, axis=1), truth[diagonal_indices]),
        )
    )
    return true_margin, predicted_margin, hits


def posterior_interval(
    draws: FloatArray, measure: Any, cells: MultinomialCells, level: float
) -> Interval:
    """Return the equal-tailed interval of posterior draws."""
    if cells.clusters is not None and cells.clusters.n_clusters < 2:
        return intervals.no_interval("none", "too_few_clusters")
    is_binary = cells.shape[0] == 2 or measure.label is not None
    name = "Jeffreys, Dirichlet posterior" if is_binary else "Dirichlet posterior"
    return intervals.percentile(
        draws, level, name if cells.has_equal_weights else f"{name}, effective rows"
    )


def _weight_powers(weight: FloatArray | None) -> tuple[FloatArray | None, ...]:
    return (None,) if weight is None else (weight, np.square(weight))


def _count(index: npt.NDArray[np.integer[Any]], size: int) -> npt.NDArray[np.intp]:
    """Count each index; in blocks, as ``np.bincount`` makes a copy of eight bytes an index."""
    if size > BLOCK_ROWS:
        return np.bincount(index, minlength=size)
    counts = np.zeros(size, np.intp)
    for rows in row_blocks(len(index), 1):
        counts += np.bincount(index[rows], minlength=size)
    return counts


def _sums(index: npt.NDArray[np.integer[Any]], weight: FloatArray | None, size: int) -> FloatArray:
    return np.bincount(index, weight, minlength=size).astype(np.float64)
