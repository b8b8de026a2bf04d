"""Measures of counts: point estimates from a confusion matrix and the rows behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.estimation import association, effective_sample_size
from calipers.estimation.proportions import (
    cluster_confusions,
    effective_trials,
    effective_trials_intervals,
)
from calipers.estimation.undefined import count_undefined, undefined_reasons
from calipers.inference import intervals
from calipers.inference.clusters import cr2
from calipers.inference.gradients import cell_gradient, influential_mask, measure_value
from calipers.inference.influence import (
    DERIVATIVE_STEP,
    MAX_JACKKNIFE_GROUPS,
    difference_beyond_rounding,
)
from calipers.inference.intervals import Interval
from calipers.inference.multinomial_cells import (
    DERIVATIVE_ROUNDING,
    POISSON_BOOTSTRAP_NAME,
    MultinomialCells,
    posterior_interval,
    zero_rounding_error,
)
from calipers.inference.point_estimate import (
    IntervalFunction,
    JointDistribution,
    PointEstimate,
    UnitGroups,
    lazy_difference,
)
from calipers.inference.variance_estimators import (
    GroupedInfluence,
    Influence,
    StandardError,
    VarianceEstimator,
    has_same_values,
)
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import ConfusionMatrix, FloatArray, SparseConfusionMatrix
from calipers.statistics.base import BLOCK_ROWS

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings

_MAX_CELLS_FOR_ERRORS = 25  # replicates of more have no standard errors of their own
#: With more rows of unequal weight than this, the differences of rows are grouped by cell, which
#: changes limits of the Bayesian bootstrap by some ten-thousandths of their distance.
MAX_UNGROUPED_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Confusion matrix of any number of classes, with the cells that are resampled.

    The measures in ``joint_measures`` are evaluated in one pass over the replicates.
    """

    matrix: ConfusionMatrix
    cells: MultinomialCells
    settings: Settings
    joint_measures: tuple[Any, ...] = ()
    #: Class of each row, if rows are available.
    truth: npt.NDArray[np.integer[Any] | np.bool_] | None = field(default=None, repr=False)
    _replicate_cache: dict[Any, FloatArray] = field(default_factory=dict, repr=False)
    _posterior_cache: dict[Any, FloatArray] = field(default_factory=dict, repr=False)
    _pair_cache: list[PairedCounts] = field(default_factory=list, repr=False)

    @classmethod
    def from_codes(
        cls,
        truth: npt.NDArray[np.integer[Any] | np.bool_],
        predicted: npt.NDArray[np.integer[Any] | np.bool_],
        labels: tuple[str, ...],
        settings: Settings,
        weight: FloatArray | None = None,
        clusters: ClusterIndex | None = None,
        joint_measures: tuple[Any, ...] = (),
    ) -> ClassCounts:
        """Count rows whose classes are given as indices into ``labels``."""
        k = len(labels)
        cells = MultinomialCells.from_codes([truth, predicted], (k, k), weight, clusters)
        if not cells.is_dense:
            squares = cells.counts if weight is None else cells.squares
            matrix: ConfusionMatrix = SparseConfusionMatrix(
                cells.counts, squares, cells.cell_index, labels, len(truth)
            )
            return cls(matrix, cells, settings, joint_measures, truth)
        counts = cells.marginal_counts((0, 1), cells.counts)
        squares = counts if weight is None else cells.marginal_counts((0, 1), cells.squares)
        matrix = ConfusionMatrix(counts, squares, labels, len(truth))
        return cls(matrix, cells, settings, joint_measures, truth)

    @classmethod
    def from_matrix(
        cls, matrix: ConfusionMatrix, settings: Settings, joint_measures: tuple[Any, ...] = ()
    ) -> ClassCounts:
        """Create the counts of independent rows from their confusion matrix alone.

        ``cells.needs_row_draws`` must be false for them. The rows have weight 1 each, unless the
        sums of their squared weights differ from their sums.
        """
        truth, predicted, counts = matrix.nonempty_cells()
        cell_index, no_rows = truth * matrix.n_classes + predicted, np.zeros(0, np.int64)
        shape, squares = (
            (matrix.n_classes, matrix.n_classes),
            matrix.squared_weight_matrix.nonempty_cells()[2],
        )
        has_unequal_weights = not np.allclose(squares, counts, rtol=DERIVATIVE_ROUNDING)
        cells = MultinomialCells(
            shape, cell_index, counts, squares, no_rows, has_unequal_weights=has_unequal_weights
        )
        return cls(matrix, cells, settings, joint_measures)

    @property
    def statistic(self) -> ConfusionMatrix:
        """Confusion matrix of the rows."""
        return self.matrix

    def row_values(self, measure: Any) -> FloatArray | None:
        """Return 1 for each row that is classified correctly, else 0, or None.

        None is returned for measures that are not the proportion of these rows.
        """
        if not measure.definition.counts_hits or measure.has_view:
            return None
        truth, predicted = np.divmod(self.cells.row_cells, self.matrix.n_classes)
        return np.asarray(truth == predicted, np.float64)

    def point_estimate(self, measure: Any) -> PointEstimate:
        """Return the point estimate of a measure of counts."""
        value, definition = measure_value(measure, self.matrix), measure.definition
        undefined = undefined_counts(measure, self.matrix)
        proportion_matrix, cells = self.proportion_matrix(measure), self.cells
        methods: dict[str, IntervalFunction] = {
            "Jeffreys, Dirichlet posterior": partial(self._posterior_interval, measure)
        }
        if proportion_matrix is not None:
            size = partial(self._effective_trials, measure, proportion_matrix, value)
            methods |= effective_trials_intervals(value, size, self.clusters)
        if self.matrix.n_classes > 2 and effective_sample_size.is_class_average(measure):
            methods["effective rows"] = partial(
                effective_sample_size.class_average_interval, measure, self.matrix, cells
            )
        if definition.interval in association.INTERVALS:
            methods["noncentral chi-square"] = partial(
                association.association_interval, measure, self.matrix, cells
            )
        kind = "measure of counts" if proportion_matrix is None else "proportion of rows"
        return PointEstimate(
            value=value,
            kind="p-value" if definition.interval == "none" else kind,
            settings=self.settings,
            n=self.matrix.rows,
            bounds=definition.range,
            undefined=undefined,
            is_conventional=bool(undefined) and bool(np.isfinite(value)),
            higher_is_better=definition.higher_is_better,
            weight=cells.weight,
            has_unequal_weights=cells.has_unequal_weights and not cells.has_equal_weights,
            clusters=self.clusters,
            effective_sizes=lambda: (
                () if proportion_matrix is None else (effective_trials(measure, proportion_matrix),)
            ),
            joint_distribution=_CountsDistribution(measure, self),
            influence=GroupedInfluence(
                lambda: self.influence(measure), lambda: self.cluster_influence(measure)
            ),
            compute_error=lambda: self._standard_error(measure, value),
            replicates=lambda: self.replicates([measure])[measure],
            resampling_name=POISSON_BOOTSTRAP_NAME if cells.needs_weight_sums else "",
            posterior_draws=(lambda: self.posterior_draws(measure))
            if cells.is_unweighted and cells.shape[0] == 2
            else None,
            stratified_replicates=lambda: self._stratified_replicates(measure),
            studentized_replicates=lambda: self._studentized_replicates(measure),
            jackknife=lambda: self._jackknife(measure),
            methods=methods,
        )

    @cached_property
    def constant_matrices(self) -> ConfusionMatrix:
        """Confusion matrices of the constant predictions, one for each class."""
        return self.matrix.constant_predictions()

    @property
    def clusters(self) -> ClusterIndex | None:
        """Clusters of the rows, if any."""
        return self.cells.clusters

    def posterior_draws(self, measure: Any) -> FloatArray:
        """Evaluate the measure on confusion matrices drawn from the posterior.

        (Where a cell has few rows, the bootstrap replicates of it vary too little, and those of an
        empty cell are all empty.)
        """
        if measure.label is not None and self.matrix.n_classes > 2:
            return self._class_counts(measure.label).posterior_draws(measure.plain)

        def matrices() -> Iterator[ConfusionMatrix]:
            for cells, counts in self.cells.draw_posterior(self.settings):
                yield cells.margin_confusion(counts, self.matrix.labels)

        measures = (measure, *self.measures_of_table)
        return _cached_values(self._posterior_cache, measures, matrices)[measure]

    @property
    def measures_of_table(self) -> list[Any]:
        """Measures that are computed together and need the table of all classes."""
        return [m for m in self.joint_measures if m.label is None or self.matrix.n_classes == 2]

    def _class_counts(self, label: str) -> ClassCounts:
        """Return the counts of one class against all others."""
        matrix = self.matrix.class_matrix(label)
        cell_sums = matrix.counts.ravel(), matrix.squares.ravel()
        cells = replace(
            self.cells,
            shape=(2, 2),
            cell_index=np.arange(4),
            counts=cell_sums[0],
            squares=cell_sums[1],
        )
        return replace(self, matrix=matrix, cells=cells, joint_measures=(), _posterior_cache={})

    def _posterior_interval(self, measure: MeasureLike, level: float) -> Interval:
        """Return the posterior interval of independent rows of equal weight.

        Other rows are replaced by an effective number of such rows. Of measures with their "own
        end", the limit at the end of no errors is that of a prior without errors.
        """
        posterior = partial(posterior_interval, measure=measure, cells=self.cells, level=level)
        interval = posterior(self.posterior_draws(measure))
        if measure.definition.interval != "own_end" or interval.reason:
            return interval
        names = self.matrix.labels
        draws = [
            measure.apply(cells.margin_confusion(counts, names))
            for cells, counts in self.cells.draw_posterior(self.settings, adds_errors=False)
        ]
        without_errors = posterior(np.concatenate(draws))
        if without_errors.reason:  # there is no error
            return interval
        if measure.definition.higher_is_better:
            return replace(interval, high=without_errors.high)
        return replace(interval, low=without_errors.low)

    def proportion_matrix(
        self, measure: Any, matrix: ConfusionMatrix | None = None
    ) -> ConfusionMatrix | None:
        """Return the matrix of whose margin the measure is a proportion of rows, or None.

        ``matrix`` is used in place of that of these rows, if given. Micro averages are proportions
        of rows only if they are taken over what is positive, or predicted positive, where every row
        counts once; as a negative it counts K − 1 times.
        """
        margin = measure.definition.proportion_of
        if margin is None or measure.average in ("macro", "weighted"):
            return None
        full_matrix = self.matrix if matrix is None else matrix
        result: ConfusionMatrix | None = full_matrix
        if measure.label is not None:
            result = full_matrix.class_matrix(measure.label)
        elif measure.average == "micro":
            counts_rows = margin in ("positive", "predicted_positive")
            result = full_matrix.pool(measure.picked(full_matrix.labels)) if counts_rows else None
        return result

    def _effective_trials(
        self, measure: Any, proportion_matrix: ConfusionMatrix, value: float, level: float
    ) -> tuple[float, float]:
        """Return the effective number of trials of a proportion, and its degrees of freedom.

        The number is divided by the design effect of clusters; it is NaN if there are too few of
        them.
        """
        size = effective_trials(measure, proportion_matrix)
        if self.clusters is None:
            return size, math.inf
        cluster_matrices = cluster_confusions(
            measure, self.matrix.labels, self.cells.row_cells, self.clusters
        )
        return self.clusters.effective_trials(value, cluster_matrices, measure.plain, size, level)

    def _gradient(self, measure: Any, total: ConfusionMatrix | None = None) -> FloatArray:
        """Return the derivatives of the measure by the cells."""
        truth, predicted = np.unravel_index(self.cells.cell_index, self.cells.shape)
        return cell_gradient(measure, self.matrix if total is None else total, truth, predicted)

    def _influential_cells(self, measure: Any, total: ConfusionMatrix | None = None) -> FloatArray:
        """Return 1 for each of the cells of which the measure is a ratio, 0 for the others."""
        codes = np.unravel_index(self.cells.cell_index, self.cells.shape)
        among = influential_mask(measure, self.matrix if total is None else total, *codes)
        return among.astype(np.float64)

    @cached_property
    def _row_cell_index(self) -> npt.NDArray[np.uint32]:
        """Index of the cell of each row."""
        return self.cells.row_cell_index()

    @cached_property
    def _cluster_counts(self) -> FloatArray | None:
        """Cell counts of each cluster, (clusters, C), or None if they are many."""
        clusters, cells = self.clusters, len(self.cells.cell_index)
        if clusters is None or not _has_few_counts(clusters, cells):
            return None
        return clusters.cell_weights(self._row_cell_index, (cells,))

    def cluster_counts_by_subset(
        self, subset_codes: npt.NDArray[np.integer[Any]], n_subsets: int
    ) -> list[FloatArray]:
        """Return the cell counts of each cluster, (clusters, C), in each subset of the rows."""
        assert self.clusters is not None
        shape = n_subsets, len(self.cells.cell_index)
        cell_index = subset_codes.astype(np.int64) * shape[1] + self._row_cell_index
        return list(self.clusters.cell_weights(cell_index, shape).swapaxes(0, 1))

    def cluster_influence(
        self,
        measure: Any,
        cluster_counts: FloatArray | None = None,
        total: ConfusionMatrix | None = None,
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return the influence of each cluster and its contribution to the denominator.

        ``cluster_counts`` are the cell counts of each cluster in a subset of the rows, whose matrix
        is ``total``. The result is None if counts are not known, or if nothing has influence.
        """
        if cluster_counts is None:
            return self._own_cluster_influence(measure)
        occupied_mask = cluster_counts.any(axis=0)
        derivatives = np.where(occupied_mask, self._gradient(measure, total), 0.0)
        if not derivatives.any():
            return None
        denominator = cluster_counts @ self._influential_cells(measure, total)
        return (
            cluster_counts @ derivatives,
            denominator if denominator.any() else cluster_counts.sum(axis=1),
        )

    def _own_cluster_influence(self, measure: Any) -> tuple[FloatArray, FloatArray] | None:
        """Return the result of :meth:`cluster_influence` of all rows.

        That of the last measure is kept: its interval and its tests need it one after the other.
        """
        if self._cluster_counts is None:
            return None
        last = next(iter(self._last_cluster_influence), None)
        if last is None or last[0] != measure:
            last = measure, self.cluster_influence(measure, self._cluster_counts)
            self._last_cluster_influence[:] = [last]
        return last[1]

    @cached_property
    def _last_cluster_influence(
        self,
    ) -> list[tuple[Any, tuple[FloatArray, FloatArray] | None]]:
        return []

    def influence(self, measure: Any, total: ConfusionMatrix | None = None) -> Influence:
        """Return the influence values of a measure, times the weights of the rows.

        ``total`` is the matrix of all rows, if these are a batch of them.
        """
        weight, derivatives = self.cells.weight, self._gradient(measure, total)
        influence_values = derivatives[self._row_cell_index]
        influence_values, denominator = (
            influence_values if weight is None else influence_values * weight,
            None,
        )
        if self.clusters is not None:
            denominator = self._influential_cells(measure, total)[self._row_cell_index]
            denominator = denominator if weight is None else denominator * weight
        return Influence(
            influence_values, VarianceEstimator(weight, self.clusters, denominator=denominator)
        )

    def _standard_error(self, measure: Any, value: float) -> StandardError:
        """Compute the standard error by the delta method."""
        if self.clusters is not None:
            sums = self.cluster_influence(measure)
            if sums is None:
                return zero_rounding_error(self.influence(measure).standard_error, value)
            error = cr2(*sums)
            return zero_rounding_error(StandardError(error.se, "delta", error.df), value)
        return StandardError(self.cells.standard_error(self._gradient(measure), value), "delta")

    def _apply(self, measure: Any, counts: FloatArray) -> FloatArray:
        """Evaluate the measure on an array of cell counts (m, C)."""
        step, out = self.cells.batch_size, []
        for begin in range(0, len(counts), step):
            batch = self.cells.matrix(counts[begin : begin + step], self.matrix.labels)
            out.append(measure.apply(batch))
        return np.concatenate(out)

    def _stratified_replicates(self, measure: Any) -> FloatArray | None:
        """Return replicates drawn class by class, for independent rows of equal weight."""
        count_batches = self.cells.stratified_replicates(self.settings)
        if count_batches is None:
            return None
        return np.concatenate([self._apply(measure, counts) for counts in count_batches])

    def _jackknife(self, measure: Any) -> tuple[FloatArray, FloatArray | None]:
        """Return jackknife values, leaving out a row of each cell in turn, and the counts of cells.

        For clusters and rows of unequal weight, and if there are many cells, clusters, rows or
        groups of them are left out one after the other, and there are no counts.
        """
        cells = self.cells
        if cells.is_unweighted and len(cells.cell_index) <= MAX_JACKKNIFE_GROUPS:
            remaining_counts = cells.counts - np.eye(len(cells.cell_index))
            return intervals.jackknife_influence(
                self._apply(measure, remaining_counts), cells.counts
            ), cells.counts
        return intervals.jackknife_influence(self._apply(measure, cells.jackknife_counts())), None

    def _studentized_replicates(self, measure: Any) -> tuple[float, FloatArray, FloatArray] | None:
        """Return the standard error, the replicates and their standard errors by the delta method.

        Only a matrix of few cells has them, of independent rows of equal weight.
        """
        cells = self.cells
        if len(cells.cell_index) > _MAX_CELLS_FOR_ERRORS or not cells.is_unweighted:
            return None
        replicate_counts = np.concatenate(list(cells.draw_replicates(self.settings)))
        variance = np.zeros(len(replicate_counts))
        for cell in range(replicate_counts.shape[1]):
            steps, shifted_values = replicate_counts[:, cell] * DERIVATIVE_STEP, []
            for sign in (1, -1):
                shifted_counts = replicate_counts.copy()
                shifted_counts[:, cell] += sign * steps
                shifted_values.append(self._apply(measure, shifted_counts))
            occupied_mask = steps > 0
            slope = (shifted_values[0][occupied_mask] - shifted_values[1][occupied_mask]) / (
                2 * steps[occupied_mask]
            )
            variance[occupied_mask] += replicate_counts[occupied_mask, cell] * np.square(slope)
        se = cells.standard_error(self._gradient(measure))
        return se, self._apply(measure, replicate_counts), np.sqrt(variance)

    def replicates(self, measures: Iterable[MeasureLike]) -> dict[Any, FloatArray]:
        """Return bootstrap replicates of each measure, all from the same resamples."""

        def matrices() -> Iterator[ConfusionMatrix]:
            for counts in self.cells.draw_replicates(self.settings):
                yield self.cells.replicate_matrices(counts, self.matrix.labels)

        return _cached_values(self._replicate_cache, (*measures, *self.joint_measures), matrices)

    def pair_with(self, second: ClassCounts) -> PairedCounts:
        """Return these counts paired with those of a second system on the same rows.

        The pair is cached until that of another system is requested.
        """
        if not self._pair_cache or self._pair_cache[0].second is not second:
            self._pair_cache[:] = [PairedCounts(self, second)]
        return self._pair_cache[0]


def _has_few_counts(clusters: ClusterIndex, n_cells: int) -> bool:
    """Return whether the counts of all cells in each cluster take little memory.

    A slice has the codes of all clusters, most of which may have few rows in it.
    """
    return clusters.n_codes * n_cells <= max(len(clusters.codes), BLOCK_ROWS)


def _cached_values(
    cache: dict[Any, FloatArray],
    measures: Iterable[Any],
    matrices: Callable[[], Iterable[ConfusionMatrix]],
) -> dict[Any, FloatArray]:
    """Return the values of measures on batches of matrices, using and extending the cache."""
    missing = [m for m in dict.fromkeys(measures) if m not in cache]
    if missing:
        batch_values = [[m.apply(batch) for m in missing] for batch in matrices()]
        cache.update(
            zip(missing, map(np.concatenate, zip(*batch_values, strict=True)), strict=True)
        )
    return cache


def undefined_counts(measure: Any, matrix: ConfusionMatrix) -> dict[str, int]:
    """Return the reasons why a measure is undefined, determined once for each matrix."""
    return cached(
        matrix, ("undefined", measure), lambda: undefined_reasons(measure, matrix, matrix.rows)
    )


def evaluate_together(measures: Sequence[Any], matrices: Sequence[ConfusionMatrix]) -> None:
    """Compute measures of several matrices of the same few classes, and their derivatives, at once.

    They are stored with each matrix, as :func:`measure_value`, :func:`undefined_counts` and
    :func:`cell_gradient` store them when each is computed by itself.
    """
    counts = np.stack([matrix.counts for matrix in matrices])
    cells = list(np.ndindex(counts.shape[1:]))
    steps = counts * DERIVATIVE_STEP
    shifted = np.repeat(counts[None], 1 + 2 * len(cells), axis=0)
    for position, cell in enumerate(cells):
        index = (slice(None), *cell)
        for side, sign in enumerate((1, -1)):
            shifted[1 + 2 * position + side][index] += sign * steps[index]
    squares = shifted.copy()
    squares[0] = [matrix.squares for matrix in matrices]
    stack = ConfusionMatrix(shifted, squares, matrices[0].labels)
    for measure in measures:
        values, conditions = measure.apply_with_reasons(stack)
        values = np.broadcast_to(values, shifted.shape[:2])
        conditions = {
            reason: np.broadcast_to(condition, shifted.shape[:2])[0]
            for reason, condition in conditions.items()
        }
        derivatives = np.zeros(counts.shape)
        if not measure.has_view:
            for position, cell in enumerate(cells):
                index = (slice(None), *cell)
                upper, lower = values[1 + 2 * position], values[2 + 2 * position]
                np.divide(
                    difference_beyond_rounding(upper, lower),
                    2 * steps[index],
                    out=derivatives[index],
                    where=steps[index] > 0,
                )
        for k, matrix in enumerate(matrices):
            undefined = count_undefined(
                {reason: condition[k] for reason, condition in conditions.items()}, matrix.rows
            )
            _store(matrix, ("value", measure), float(values[0, k]))
            _store(matrix, ("undefined", measure), undefined)
            if not measure.has_view:
                _store(matrix, ("cell derivatives", measure), derivatives[k])


def _store(matrix: ConfusionMatrix, key: tuple[str, Any], result: Any) -> None:
    cached(matrix, key, lambda: result)


@dataclass(frozen=True, eq=False)
class PairedCounts:
    """Confusion matrices of two systems on the same rows, resampled together.

    The cells of truth × first × second are sufficient for the rows, so that resampling the cells is
    resampling the rows.
    """

    first: ClassCounts
    second: ClassCounts
    #: The cells of truth × first × second, of rows that are gone.
    joint_cells: MultinomialCells | None = None

    @cached_property
    def cells(self) -> MultinomialCells:
        """Cells of truth × first × second."""
        if self.joint_cells is not None:
            return self.joint_cells
        first_cells, k = self.first.cells, self.first.matrix.n_classes
        flat = first_cells.cross(self.second.cells, k)
        return MultinomialCells.from_flat(flat, (k, k, k), first_cells.weight, first_cells.clusters)

    def standard_error(self, measure: Any) -> StandardError:
        """Compute the standard error of the difference by the delta method."""
        size = max(
            abs(measure_value(measure, counts.matrix)) for counts in (self.first, self.second)
        )
        if self.cells.clusters is not None:
            sums = self._cluster_influence(measure)
            if sums is None:
                influence = self.first.influence(measure) - self.second.influence(measure)
                return zero_rounding_error(influence.standard_error, size)
            error = cr2(*sums)
            return zero_rounding_error(StandardError(error.se, "delta", error.df), size)
        return StandardError(
            self.cells.standard_error(self.cell_influence(measure)[0], size), "delta"
        )

    def cell_influence(self, measure: Any) -> tuple[FloatArray, FloatArray]:
        """Return the influence of a row of each cell on the difference, and the cell counts."""
        truth, first, second = np.unravel_index(self.cells.cell_index, self.cells.shape)
        first_gradient, second_gradient = (
            cell_gradient(measure, counts.matrix, truth, predicted)
            for counts, predicted in ((self.first, first), (self.second, second))
        )
        return first_gradient - second_gradient, self.cells.counts

    @cached_property
    def _cluster_counts(self) -> FloatArray | None:
        """Cell counts of each cluster, (clusters, C), or None if they are many."""
        clusters, cells = self.cells.clusters, len(self.cells.cell_index)
        if clusters is None or not _has_few_counts(clusters, cells):
            return None
        return clusters.cell_weights(self.cells.row_cell_index(), (cells,))

    def _cluster_influence(self, measure: Any) -> tuple[FloatArray, FloatArray] | None:
        """Return the influence of each cluster on the difference, and its contribution.

        It contributes to the denominators of both what its rows do, relative to the totals.
        """
        key = "cluster influence", measure
        return cached(self, key, lambda: self._compute_cluster_influence(measure))

    def _compute_cluster_influence(self, measure: Any) -> tuple[FloatArray, FloatArray] | None:
        cluster_counts = self._cluster_counts
        if cluster_counts is None:
            return None
        truth, *predicted = np.unravel_index(self.cells.cell_index, self.cells.shape)
        denominator = np.zeros(len(cluster_counts))
        for counts, codes in zip((self.first, self.second), predicted, strict=True):
            among = influential_mask(measure, counts.matrix, truth, codes).astype(np.float64)
            contributions = cluster_counts @ among
            if not contributions.any():
                contributions = cluster_counts.sum(axis=1)
            total = contributions.sum()
            denominator += contributions / total if total > 0 else 0.0
        return cluster_counts @ self.cell_influence(measure)[0], denominator

    @cached_property
    def _row_counts(self) -> FloatArray:
        """Row counts of the cells, without rows of weight 0."""
        if self.cells.rows is not None:
            return self.cells.rows
        row_cells, weight = self.cells.row_cell_index(), self.cells.weight
        if weight is not None and not (weighted_mask := weight > 0).all():
            row_cells = row_cells[weighted_mask]
        return np.bincount(row_cells, minlength=len(self.cells.cell_index)).astype(np.float64)

    @property
    def _is_grouped(self) -> bool:
        """Whether the differences of rows of unequal weight are grouped by cell."""
        return self.cells.needs_weight_sums and self._row_counts.sum() > MAX_UNGROUPED_ROWS

    def unit_groups(self, measure: Any) -> UnitGroups:
        """Return the influence of rows of weight 1 in each cell, times the total weight."""
        occupied_mask, cells = self._row_counts > 0, self.cells
        values = self.cell_influence(measure)[0] * cells.counts.sum()
        columns = (values, self._row_counts, cells.counts, cells.squares)
        return UnitGroups(*(column[occupied_mask] for column in columns))

    def difference(
        self, measure: Any, first: PointEstimate, second: PointEstimate
    ) -> PointEstimate:
        """Return the difference of two point estimates, the first minus the second."""
        is_row_proportion = measure.definition.counts_hits is not None and not measure.has_view
        is_defined = bool(np.isfinite(first.value - second.value))

        def error() -> StandardError | Interval:
            return (
                self.standard_error(measure)
                if is_defined
                else intervals.no_interval("none", "undefined_value")
            )

        def posterior_limits(level: float) -> Interval:
            return posterior_interval(self.posterior_draws(measure), measure, self.cells, level)

        def cluster_sums() -> tuple[FloatArray, FloatArray] | None:
            sums = self._cluster_influence(measure)
            return None if sums is None or not sums[0].any() else sums

        cells, row_influence = self.cells, lazy_difference(first.influence, second.influence)
        return first.difference(
            second,
            influence=row_influence and GroupedInfluence(row_influence, cluster_sums),
            compute_error=error,
            methods={"Jeffreys, Dirichlet posterior": posterior_limits} if is_defined else {},
            replicates=lambda: self.replicate_differences(measure),
            resampling_name=POISSON_BOOTSTRAP_NAME if cells.needs_weight_sums else "",
            unit_groups=(lambda: self.unit_groups(measure)) if self._is_grouped else None,
            posterior_draws=lambda: self.posterior_draws(measure),
            stratified_replicates=(lambda: self.stratified_differences(measure))
            if cells.is_unweighted
            else None,
            jackknife=lambda: self.cell_influence(measure) if cells.is_unweighted else None,
            discordant_proportions=(lambda: self.count_discordant(measure))
            if is_row_proportion and cells.is_unweighted
            else None,
        )

    def replicate_differences(self, measure: Any) -> FloatArray:
        """Return bootstrap replicates of the difference, computed for all measures at once."""
        return (
            self._cached_replicates[measure]
            if measure in self._cached_replicates
            else self._compute_replicates([measure])[measure]
        )

    @cached_property
    def _cached_replicates(self) -> dict[Any, FloatArray]:
        return self._compute_replicates(self.first.joint_measures)

    def _compute_replicates(self, measures: Sequence[Any]) -> dict[Any, FloatArray]:
        if self._has_shared_draws:
            first, second = (counts.replicates(measures) for counts in (self.first, self.second))
            return {measure: first[measure] - second[measure] for measure in measures}
        return self._apply_to_replicates(self.cells.draw_replicates(self.first.settings), measures)

    @property
    def _has_shared_draws(self) -> bool:
        """Whether the pair is resampled by the same rows (or clusters) as each system alone.

        The replicates of the systems are then those of the pair.
        """
        single_cells = (self.first.cells, self.second.cells)
        return all(cells.needs_row_draws for cells in (self.cells, *single_cells)) and (
            self.cells.weight is None or not self.cells.is_dense
        )

    def posterior_draws(self, measure: Any) -> FloatArray:
        """Evaluate the difference on cells drawn from the posterior, of all measures at once."""
        names = self.first.matrix.labels
        if measure.label is not None and len(names) > 2:
            cells = self.cells.against_rest(names.index(measure.label))
            [draws] = self._posterior_differences(cells, ("rest", measure.label), [measure.plain])
            return draws
        if measure in self._cached_posterior:
            return self._cached_posterior[measure]
        [draws] = self._posterior_differences(self.cells, names, [measure])
        return draws

    @cached_property
    def _cached_posterior(self) -> dict[Any, FloatArray]:
        measures, names = self.first.measures_of_table, self.first.matrix.labels
        draws = self._posterior_differences(self.cells, names, measures) if measures else ()
        return dict(zip(measures, draws, strict=True))

    def _posterior_differences(
        self, cells: MultinomialCells, names: tuple[str, ...], measures: Sequence[Any]
    ) -> Iterable[FloatArray]:
        batches = []
        for posterior_cells, counts in cells.draw_posterior(self.first.settings):
            first, second = (
                posterior_cells.margin_confusion(counts, names, axes) for axes in ((0, 1), (0, 2))
            )
            batches.append([m.apply(first) - m.apply(second) for m in measures])
        return np.concatenate(batches, axis=1)

    def stratified_differences(self, measure: Any) -> FloatArray | None:
        """Return replicates of the difference drawn class by class, or None."""
        replicates = self.cells.stratified_replicates(self.first.settings)
        return (
            None
            if replicates is None
            else self._apply_to_replicates(replicates, [measure])[measure]
        )

    def _apply_to_replicates(
        self, replicates: Iterable[FloatArray], measures: Sequence[Any]
    ) -> dict[Any, FloatArray]:
        batches_by_measure: dict[Any, list[FloatArray]] = {m: [] for m in measures}
        names = self.first.matrix.labels
        for counts in replicates:
            matrices = self.cells.paired_matrices(counts, names)
            if matrices is not None:
                for measure, batches in batches_by_measure.items():
                    batches.append(np.subtract(*measure.apply(matrices)))
                continue
            first, second = (
                self.cells.replicate_matrices(counts, names, axes) for axes in ((0, 1), (0, 2))
            )
            for measure, batches in batches_by_measure.items():
                batches.append(measure.apply(first) - measure.apply(second))
        return {measure: np.concatenate(batches) for measure, batches in batches_by_measure.items()}

    def count_discordant(self, measure: Any) -> tuple[float, float]:
        """Count the discordant rows in favour of the first, and of the second system.

        For accuracy these are the rows that only the first, and only the second system classifies
        correctly; for the error rate the other way round.
        """
        truth, first, second = np.unravel_index(self.cells.cell_index, self.cells.shape)
        counts = self.cells.counts
        only_first = float(counts[(first == truth) & (second != truth)].sum())
        only_second = float(counts[(first != truth) & (second == truth)].sum())
        if measure.definition.higher_is_better:
            return only_first, only_second
        return only_second, only_first


@dataclass(frozen=True, eq=False)
class _CountsDistribution(JointDistribution):
    """Joint distribution of the counts of two systems on the same rows.

    Their cells are resampled together. The difference of proportions of all rows depends only on
    the discordant cells, in which just one of the two is right.
    """

    measure: Any
    counts: ClassCounts

    def is_joint_with(self, second: JointDistribution) -> bool:
        """Check whether the counts are of rows with the same truth."""
        return isinstance(second, _CountsDistribution) and has_same_values(
            self.counts.truth, second.counts.truth
        )

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference, from the cells of truth × first × second."""
        assert isinstance(second.joint_distribution, _CountsDistribution)
        return self.counts.pair_with(second.joint_distribution.counts).difference(
            self.measure, first, second
        )
