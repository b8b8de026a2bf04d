"""Top-k accuracy: point estimates from the ranks of the true classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.estimation.proportions import proportion_intervals
from calipers.estimation.undefined import undefined_reasons
from calipers.inference.multinomial_cells import POISSON_BOOTSTRAP_NAME, MultinomialCells
from calipers.inference.point_estimate import JointDistribution, PointEstimate, lazy_difference
from calipers.inference.variance_estimators import Influence, StandardError, VarianceEstimator
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ClassRanks, FloatArray, rank_cells

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import MeasureLike, Settings


@dataclass(frozen=True, eq=False)
class RankedClasses:
    """Sample of rows with a score for each class."""

    truth: npt.NDArray[np.intp]
    score: npt.NDArray[np.floating[Any]]
    weight: FloatArray | None
    clusters: ClusterIndex | None
    settings: Settings

    @cached_property
    def cells(self) -> MultinomialCells:
        """Cells of rows by the numbers of classes ranked above the true one, and tied with it."""
        k, cell = self.score.shape[1], rank_cells(self.truth, self.score)
        return MultinomialCells.from_codes(
            [cell // k, cell % k], (k, k), self.weight, self.clusters
        )

    @cached_property
    def statistic(self) -> ClassRanks:
        """Distribution of the ranks of the true classes."""
        counts, squares = (
            self.cells.marginal_counts((0, 1), sums)
            for sums in (self.cells.counts, self.cells.squares)
        )
        return ClassRanks(counts, counts if self.weight is None else squares, len(self.truth))

    def row_values(self, measure: MeasureLike) -> FloatArray:
        """Return the credit of each row: 1 if right, 0 if wrong, and between them for ties."""
        return np.asarray(self._credit(measure)[self.cells.row_cell_index()])

    def _credit(self, measure: Any) -> FloatArray:
        """Return the credit of the rows of each cell."""
        above, tied = np.unravel_index(self.cells.cell_index, self.cells.shape)
        credit: FloatArray = measure.losses(above, tied)
        return credit

    def influence(self, measure: MeasureLike, total: ClassRanks | None = None) -> Influence:
        """Return the influence values of a measure.

        ``total`` are the ranks in all rows, if these are a batch of them.
        """
        ranks = self.statistic if total is None else total
        influence_values = (self.row_values(measure) - float(measure.apply(ranks))) / float(
            ranks.total
        )
        influence_values = (
            influence_values if self.weight is None else influence_values * self.weight
        )
        return Influence(influence_values, VarianceEstimator(self.weight, self.clusters))

    def _standard_error(self, cell_influence: FloatArray) -> StandardError:
        return cell_standard_error(self.cells, cell_influence)

    def point_estimate(self, measure: MeasureLike) -> PointEstimate:
        """Return the point estimate of a measure.

        It is a proportion if every row is right or wrong, and a mean if ties give partial credit.
        """
        ranks, credit = self.statistic, self._credit(measure)
        estimate = estimate_from_statistic(measure, ranks, self.settings, len(self.truth))

        def replicates() -> FloatArray:
            batches = self.cells.draw_replicates(self.settings)
            with np.errstate(divide="ignore", invalid="ignore"):  # of no rows, or without a weight
                return np.concatenate([(n * credit).sum(axis=-1) / n.sum(axis=-1) for n in batches])

        return replace(
            estimate,
            weight=self.weight,
            clusters=self.clusters,
            joint_distribution=_CreditDistribution(measure, self),
            influence=lambda: self.influence(measure),
            compute_error=lambda: self._standard_error(
                (credit - estimate.value) / float(ranks.total)
            ),
            replicates=replicates,
            resampling_name=POISSON_BOOTSTRAP_NAME if self.cells.needs_weight_sums else "",
            methods=estimate.methods if self.clusters is None else {},
        )


def estimate_from_statistic(
    measure: Any, ranks: ClassRanks, settings: Settings, n_rows: int
) -> PointEstimate:
    """Estimate a measure from the ranks of the true classes.

    A proportion, where every row is right or wrong, has the limits of independent rows.
    """
    value, definition = float(measure.apply(ranks)), measure.definition
    above, tied = np.nonzero(ranks.counts)
    credit = measure.losses(above, tied)
    is_proportion = not ((credit > 0) & (credit < 1)).any()
    size = float(ranks.total**2 / ranks.squares.sum()) if is_proportion and len(above) else 0.0
    return PointEstimate(
        value=value,
        kind="top-k proportion",
        settings=settings,
        n=n_rows,
        bounds=definition.range,
        undefined=undefined_reasons(measure, ranks, n_rows),
        higher_is_better=definition.higher_is_better,
        methods=proportion_intervals(value, size) if is_proportion else {},
    )


def cell_standard_error(cells: MultinomialCells, cell_influence: FloatArray) -> StandardError:
    """Compute the standard error by the delta method."""
    if cells.clusters is None:
        return StandardError(cells.standard_error(cell_influence), "delta")
    influence_values = cell_influence[cells.row_cell_index()]
    influence_values = influence_values if cells.weight is None else influence_values * cells.weight
    se, degrees = cells.clusters.sum_error(influence_values)
    return StandardError(se, "delta", degrees)


@dataclass(frozen=True, eq=False)
class _CreditDistribution(JointDistribution):
    """Joint distribution of the credits of two systems on the same rows.

    Their differences take few distinct values, and the counts of these are resampled.
    """

    measure: MeasureLike
    rows: RankedClasses

    def difference(self, first: PointEstimate, second: PointEstimate) -> PointEstimate:
        """Return the difference of two point estimates, from the differences of credits."""
        assert isinstance(second.joint_distribution, _CreditDistribution)
        rows, value = self.rows, first.value - second.value
        differences = rows.row_values(self.measure) - second.joint_distribution.rows.row_values(
            self.measure
        )
        distinct, code = np.unique(differences, return_inverse=True)
        cells = MultinomialCells.from_codes([code], (len(distinct),), rows.weight, rows.clusters)

        def error() -> StandardError:
            return cell_standard_error(
                cells, (distinct - value)[cells.cell_index] / float(rows.statistic.total)
            )

        def replicates() -> FloatArray:
            batches = cells.draw_replicates(rows.settings)
            with np.errstate(invalid="ignore"):  # a replicate may be without weight
                return np.concatenate(
                    [n @ distinct[cells.cell_index] / n.sum(axis=-1) for n in batches]
                )

        return first.difference(
            second,
            influence=lazy_difference(first.influence, second.influence),
            compute_error=error,
            replicates=replicates,
            resampling_name=POISSON_BOOTSTRAP_NAME if cells.needs_weight_sums else "",
            jackknife=lambda: None,
        )
