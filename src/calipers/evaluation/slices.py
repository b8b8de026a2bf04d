"""Slices: every measure on subsets of the rows, and tests against their complements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from calipers.caching import cached, cached_property
from calipers.estimation import permutation as decks
from calipers.estimation.counts import ClassCounts, evaluate_together
from calipers.estimation.losses import RowLosses, is_mean
from calipers.estimation.scores import estimate_area
from calipers.estimation.statistic_estimates import estimate_from_statistic
from calipers.evaluation.complement_clusters import ComplementClusters
from calipers.evaluation.estimates import estimate_measure
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.inference import intervals, two_samples
from calipers.inference import two_samples as unpaired
from calipers.inference.method_limits import MAX_PAIRS_WITHIN_SLICES, n_replicates_for_adjusted_p
from calipers.inference.multinomial_cells import MAX_CACHED_ELEMENTS, MultinomialCells, margins
from calipers.inference.multiplicity import ADJUSTMENTS
from calipers.inference.paired_tests import TestResult
from calipers.inference.point_estimate import NO_SPREAD, PointEstimate
from calipers.inference.settings import Settings
from calipers.inference.variance_estimators import GroupedInfluence, StandardError
from calipers.lazy_dataclasses import dataclass, replace
from calipers.measures import Measure
from calipers.progress import track
from calipers.report.verdict import significance_level
from calipers.results import Difference, Estimate, SliceEstimate, Slices
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    LabelMatrices,
    Moments,
    ScoreTable,
    SparseConfusionMatrix,
    Statistic,
    SubsetScores,
    leave_one_out_sums,
)
from calipers.statistics.base import BLOCK_ROWS
from calipers.statistics.calibration import ProbabilityLevels
from calipers.statistics.differences import subtract_values
from calipers.statistics.logits import LogitSums, RecalibrationFit, clipped_logit
from calipers.statistics.sparse_confusion import ConfusionReplicates

if TYPE_CHECKING:
    from calipers.estimation.permutation import PermutationPool, PermutationResult
    from calipers.estimation.scores import ScoredRows
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.time_order import TimeOrder
    from calipers.results import Comparison
    from calipers.statistics.scores import AreaSummary
    from calipers.systems.base import SystemOutput
    from calipers.systems.binary import BinaryOutput


#: Maximum number of values in the margins of all subsets at a time.
_MAX_BLOCK_VALUES = 4_000_000


@dataclass(frozen=True, eq=False)
class ComplementReplicates:
    """Bootstrap replicates of the complements of all subsets of the rows of a confusion matrix.

    ``cells`` holds the cell of each row, ``subset_index`` the subset of each row, out of
    ``n_subsets``.
    """

    cells: MultinomialCells
    labels: tuple[str, ...]
    subset_index: npt.NDArray[np.integer[Any]]
    n_subsets: int
    settings: Settings

    def replicates(
        self, measures: Sequence[Any], subset_indices: Sequence[int]
    ) -> dict[tuple[Any, int], FloatArray]:
        """Return bootstrap replicates of each measure on the complements of some subsets."""
        blocks: dict[tuple[Any, int], list[FloatArray]] = {
            (measure, subset_index): [] for subset_index in subset_indices for measure in measures
        }
        for times in self.draw_weights():
            matrices = self.matrices(times)
            for (measure, subset_index), values in blocks.items():
                values.append(measure.apply(matrices[subset_index]))
        return {key: np.concatenate(values) for key, values in blocks.items()}

    def draw_weights(self) -> Iterator[FloatArray]:
        """Yield the weights of rows in the replicates, in blocks of shape (b, n_rows)."""
        k = len(self.labels)
        n_near = MAX_CACHED_ELEMENTS // max(len(self.subset_index), 4 * k)
        step = max(1, min(n_near, _MAX_BLOCK_VALUES // (self.n_subsets * k)))
        for begin in range(0, self.settings.n_resamples, step):
            end = min(begin + step, self.settings.n_resamples)
            yield np.stack(
                [
                    self.cells.replicate_weights(self.settings, replicate_index)
                    for replicate_index in range(begin, end)
                ]
            )

    def matrices(self, row_counts: FloatArray) -> list[ConfusionReplicates]:
        """Return the confusion matrix of the complement of each subset, given the row weights."""
        k = len(self.labels)
        truth, predicted = np.divmod(self.cells.row_cells, k)
        offsets = self.subset_index * np.int64(k)
        sums = margins(row_counts, offsets + truth, offsets + predicted, self.n_subsets * k)
        subset_sums = [
            np.moveaxis(margin_sums.reshape(len(row_counts), self.n_subsets, k), 1, 0)
            for margin_sums in sums
        ]
        complement_sums = zip(
            *(leave_one_out_sums(list(margin_sums)) for margin_sums in subset_sums), strict=True
        )
        filled = cache(lambda: self.matrices((row_counts > 0).astype(np.float64)))
        return [
            self._complement(which, margin_sums, row_counts, filled)
            for which, margin_sums in enumerate(complement_sums)
        ]

    def _complement(
        self,
        subset_index: int,
        sums: tuple[FloatArray, FloatArray, FloatArray],
        times: FloatArray,
        filled: Callable[[], list[ConfusionReplicates]],
    ) -> ConfusionReplicates:
        def build_matrix() -> ConfusionMatrix:
            rows = self.subset_index != subset_index
            occupied_cells, inverse = np.unique(self.cells.row_cells[rows], return_inverse=True)
            sums = [
                np.bincount(inverse, row_weights, len(occupied_cells))
                for row_weights in times[:, rows]
            ]
            cell_weights = np.stack(sums).astype(np.float64)
            return SparseConfusionMatrix(cell_weights, cell_weights, occupied_cells, self.labels)

        replicates = ConfusionReplicates(
            sums, self.labels, build_matrix, lambda: filled()[subset_index]
        )
        return replicates.mark_integer_counts() if self.cells.weight is None else replicates


#: Maximum number of values in the statistics of all subsets that are stored for summation.
MAX_STORED_VALUES = 5_000_000

#: Maximum number of values in the matrices of all subsets that are evaluated at once, each with
#: every cell changed.
MAX_EVALUATED_VALUES = 1_000_000

T = TypeVar("T")


def score_output(system: SystemOutput, measure: Measure) -> BinaryOutput | None:
    """Return the binary problem whose table of scores a measure is a formula over, or None."""
    problem: BinaryOutput | None = system.binary_problem(measure)
    return problem if measure.definition.statistic is ScoreTable else None


@dataclass(frozen=True, eq=False)
class Subsets:
    """Subsets of the rows of a system."""

    system: SystemOutput
    definition: SliceDefinition
    #: The requested measures, which share replicates.
    measures: Sequence[Measure] = ()

    #: Number of tests that p-values are adjusted for.
    n_tests: int = 1

    @property
    def n_permutations(self) -> int:
        """Number of permutations, large enough for the smallest p-value to be significant."""
        return n_replicates_for_adjusted_p(self.n_tests, self.system.settings)

    def permutation_pool(self, measure: Measure) -> PermutationPool | None:
        """Return all rows as a permutation pool, or None for a measure of several statistics."""

        def make_pool() -> PermutationPool | None:
            system, delegated_measure = self.system.delegate(measure)
            sample = system.sample_for(delegated_measure)
            return cached(
                self, ("deck of", id(sample)), lambda: (sample, decks.permutation_pool(sample))
            )[1]

        return cached(self, ("deck", measure), make_pool)

    def __len__(self) -> int:
        return len(self.definition.names)

    @cached_property
    def _systems(self) -> list[SystemOutput | None]:
        return [self.system.take_rows(rows) for rows in self.definition.row_indices]

    @property
    def count_measures(self) -> tuple[Measure, ...]:
        """Measures of confusion counts."""
        return tuple(m for m in self.measures if m.definition.statistic is ConfusionMatrix)

    def subset(self, subset_index: int) -> SystemOutput:
        """Return the system on a subset."""
        system = self._systems[subset_index]
        assert system is not None
        return system

    def estimate(
        self, subset_index: int, measure: Measure, point_estimate: PointEstimate
    ) -> Estimate:
        """Return the estimate on a subset."""
        return estimate_measure(self.subset(subset_index), measure, point_estimate)

    def forget(self, subset_index: int) -> None:
        """Release the memory of a subset, in particular its replicates."""
        self._systems[subset_index] = None

    def complement(self, subset_index: int) -> Complement | None:
        """Return the complement of a subset, or None if it is empty."""
        return Complement(self, subset_index) if len(self) > 1 else None

    def complement_statistics(self, measure: Measure) -> list[Any] | None:
        """Return the statistic of the complement of each subset, or None if it is not additive."""
        key = "others", self._statistic_key(measure)
        return cached(self, key, lambda: self._complement_statistics(measure))

    def _complement_statistics(self, measure: Measure) -> list[Any] | None:
        if score_output(self.system, measure) is not None:
            return None
        statistics = self._subset_statistics(measure)
        if statistics is None:
            return None
        complement_statistics = leave_one_out_sums(statistics)
        if measure.definition.statistic is ConfusionMatrix:
            self._evaluate_counts(measure, [*statistics, *complement_statistics])
        return complement_statistics

    def _evaluate_counts(self, measure: Measure, matrices: Sequence[ConfusionMatrix]) -> None:
        """Compute all measures of the matrix that a measure is of, for all subsets at once."""
        counts = self.delegated_counts(measure)[0]
        size = len(matrices) * matrices[0].n_classes ** 4
        if type(matrices[0]) is not ConfusionMatrix or size > MAX_EVALUATED_VALUES:
            return
        delegated = map(self.delegated_counts, self.count_measures)
        evaluate_together([m for sample, m in delegated if sample is counts], matrices)

    def _subset_statistics(self, measure: Measure) -> list[Any] | None:
        key = "own", self._statistic_key(measure)
        return cached(self, key, lambda: self._statistics(measure))

    def _statistic_key(self, measure: Measure) -> Any:
        """Return a key that measures of the same statistic share.

        Measures of counts are formulas over one matrix, which the system holds.
        """
        if measure.definition.statistic is not ConfusionMatrix:
            return measure
        return id(self.delegated_counts(measure)[0])

    def _statistics(self, measure: Measure) -> list[Any] | None:
        first = self.subset(0).statistic(measure)
        if first is None or isinstance(first, ScoreTable):
            return None
        n_values = sum(np.size(value) for value in vars(first).values())
        if n_values * len(self) > MAX_STORED_VALUES:
            return None
        statistics = [first, *(self.subset(k).statistic(measure) for k in range(1, len(self)))]
        return None if isinstance(first, Moments) and self._has_gaps(statistics) else statistics

    def _has_gaps(self, statistics: list[Any]) -> bool:
        """Return whether some rows have no value, which an estimate has to report."""
        weight = self.system.weight
        rows = len(self.definition.codes) if weight is None else np.count_nonzero(weight > 0)
        return bool(sum(statistic.rows for statistic in statistics) != rows)

    def complement_cluster_counts(self, measure: Measure) -> list[FloatArray] | None:
        """Return the cell counts of each cluster in the complement of each subset, or None."""
        counts: Any = self.delegated_counts(measure)[0]
        clusters, cells = counts.clusters, len(counts.cells.cell_index)
        if clusters is None or clusters.n_codes * cells * len(self) > MAX_STORED_VALUES:
            return None
        return cached(
            self,
            ("cluster counts", id(counts)),
            lambda: leave_one_out_sums(
                counts.cluster_counts_by_subset(self.definition.byte_codes, len(self))
            ),
        )

    def delegated_counts(self, measure: Measure) -> tuple[Any, Measure]:
        """Return the counts that a measure of counts is a formula over, and that formula."""
        system, delegated_measure = self.system.delegate(measure)
        return system.sample_for(delegated_measure), delegated_measure

    def is_additive(self, measure: Measure, matrix: ConfusionMatrix) -> bool:
        """Return whether rows of all subsets can be resampled together for a complement.

        The size of a subset then differs between replicates, which must not matter if all rows
        have weight 1.
        """
        if self.system.weight is not None or self.system.clusters is not None:
            return True  # weighted or clustered rows are always resampled jointly
        single_value, doubled_value = (
            float(measure.apply(counts)) for counts in (matrix, matrix + matrix)
        )
        return math.isclose(single_value, doubled_value, rel_tol=1e-9, abs_tol=1e-12)

    def complement_replicates(
        self, subset_index: int, measure: Measure, settings: Settings
    ) -> FloatArray:
        """Return bootstrap replicates of a measure of counts on the complement of a subset.

        Rows are resampled, for the complements of all subsets at once.
        """
        replicates_by_key = cached(self, ("drawn", settings), dict)
        if (measure, subset_index) not in replicates_by_key:
            counts: Any = self.system.sample_for(measure)
            complement_sampler = ComplementReplicates(
                counts.cells, counts.matrix.labels, self.definition.codes, len(self), settings
            )
            all_measures = dict.fromkeys((measure, *self.count_measures))
            # With two subsets one difference suffices: the other is its negative.
            drawn_indices = range(len(self)) if len(self) > 2 else [subset_index]
            replicates_by_key.update(
                complement_sampler.replicates(
                    [m for m in all_measures if (m, subset_index) not in replicates_by_key],
                    drawn_indices,
                )
            )
        replicates: FloatArray = replicates_by_key[measure, subset_index]
        return replicates

    def statistic(self, subset_index: int, measure: Measure) -> Statistic | None:
        """Return the statistic that the measure is a formula over, on a subset."""
        subset_statistics = (
            None
            if self.complement_statistics(measure) is None
            else self._subset_statistics(measure)
        )
        return (
            self.subset(subset_index).statistic(measure)
            if subset_statistics is None
            else subset_statistics[subset_index]
        )

    def complement_table(self, subset_index: int, measure: Measure) -> ScoreTable | None:
        """Return the table of scores of the complement, or None if the measure does not use one."""
        rows = self._subset_scores(measure)
        return None if rows is None else ScoreTable.leave_out_subset(rows, subset_index)

    def _subset_scores(self, measure: Measure) -> SubsetScores | None:
        """Return the rows of all subsets by score, or None if the measure does not use scores."""
        problem = score_output(self.system, measure)
        if problem is None:
            return None
        return cached(
            self,
            ("rows", id(problem)),
            lambda: SubsetScores.from_rows(
                problem.score_rows.order,
                problem.score_table.scores,
                problem.labels.positive,
                problem.weight,
                self.definition.byte_codes,
            ),
        )

    def complement_area_summaries(self, measure: Measure) -> list[AreaSummary] | None:
        """Return an area of each complement of independent rows, with its standard error.

        The result is None for other measures, if an area is undefined or nothing has influence,
        and for few rows, whose tables give equal subsets equal areas to the last digit.
        """
        area = measure.definition.area
        if area is None or self.system.clusters is not None:
            return None
        rows = self._subset_scores(measure)
        if rows is None or len(rows.positive) <= BLOCK_ROWS or len(self) < 2:
            return None

        def compute_summaries() -> list[AreaSummary] | None:
            summaries = rows.complement_areas(area.name)
            terms = np.array([summary.area(area.name) for summary in summaries])
            usable = np.isfinite(terms).all() and (terms[:, 1] > NO_SPREAD).all()
            return summaries if usable else None

        return cached(self, ("summaries", id(rows), area.name), compute_summaries)

    def complement_fit(self, subset_index: int, measure: Measure) -> RecalibrationFit | None:
        """Return the recalibration fit of the complement for a measure that is a coefficient of it.

        The result is None for other measures, and if the fit has to be found from the rows.
        """
        problem = score_output(self.system, measure)
        if problem is None or measure.definition.coefficient is None:
            return None
        delta, fits_slope = measure.parameters["delta"], measure.parameters.get("slope") != "one"
        sums = cached(self, ("sums", id(problem), delta), lambda: self._logit_sums(problem, delta))
        unseparated = cached(
            self, ("mixed", id(problem), delta), lambda: self._unseparated_subsets(measure, delta)
        )
        if sums is None or not any(index != subset_index for index in unseparated):
            return None
        levels = ProbabilityLevels.from_table(problem.score_table).clip(delta)
        return sums[subset_index].fit(
            levels.recalibration_line if fits_slope else (levels.recalibration_intercept, 1.0),
            fit_slope=fits_slope,
        )

    @cached_property
    def clusters(self) -> ComplementClusters | None:
        """Sums by cluster over the complements, or None if rows are not clustered."""
        clusters = self.system.clusters
        if clusters is None or len(self) < 2:
            return None
        # For each area there is a sum of the rows of either class.
        if 8 * clusters.n_codes * len(self) > MAX_STORED_VALUES:
            return None
        return ComplementClusters(clusters, self.definition.byte_codes, len(self))

    def complement_areas(
        self, measure: Measure
    ) -> tuple[ScoredRows, FloatArray, FloatArray] | None:
        """Return rows, and an area of each complement with the influence of each cluster on it.

        The result is None for other measures, of rows that are not clustered, and if an area is
        undefined or nothing has influence: the scores separate the classes.
        """
        clusters, area, settings = self.clusters, measure.definition.area, self.system.settings
        problem = score_output(self.system, measure)
        if clusters is None or area is None or problem is None:
            return None
        if settings.interval == "none" or settings.is_bootstrap_requested:
            return None

        def compute_areas() -> tuple[ScoredRows, FloatArray, FloatArray] | None:
            values, influence = clusters.areas(problem.score_rows, area.name)
            spread = np.abs(influence).max(axis=(1, 2), initial=0.0)
            if not (np.isfinite(values).all() and (spread > NO_SPREAD).all()):
                return None
            return problem.score_rows, values, influence

        result = cached(self, ("areas", id(problem), area.name), compute_areas)
        if result is None:
            return None
        rows, values, influence = result
        return rows, area.scale * values + area.shift, influence

    def complement_residuals(self, measure: Measure) -> FloatArray | None:
        """Return the sums of residuals by cluster about the recalibration of each complement."""
        clusters, problem = self.clusters, score_output(self.system, measure)
        if clusters is None or problem is None:
            return None
        delta, slope = measure.parameters["delta"], measure.parameters.get("slope")

        def compute_sums() -> FloatArray:
            fits = [Complement(self, k).recalibration_fit(measure) for k in range(len(self))]
            return clusters.residuals(problem.score_rows, delta, fits)

        return cached(self, ("residuals", id(problem), delta, slope), compute_sums)

    def complement_means(self, measure: Measure) -> FloatArray | None:
        """Return the influence of each cluster on a mean of a value per row in each complement.

        The result is None for other measures, and if the values of a complement do not vary.
        """
        clusters = self.clusters

        def compute_influence() -> FloatArray | None:
            system, delegated_measure = self.system.delegate(measure)
            losses = system.sample_for(delegated_measure)
            moments = self.complement_statistics(measure)
            if moments is None or not (
                isinstance(losses, RowLosses) and is_mean(delegated_measure)
            ):
                return None
            if not all(m.m2 > NO_SPREAD * m.weight * m.mean**2 for m in moments):
                return None
            assert clusters is not None
            influence = clusters.mean_influence(losses)
            return influence if np.isfinite(influence).all() else None

        return None if clusters is None else cached(self, ("means", measure), compute_influence)

    def _logit_sums(self, problem: BinaryOutput, delta: float) -> list[LogitSums] | None:
        assert problem.probability is not None
        logit = clipped_logit(problem.probability, delta)
        sums = LogitSums.from_subsets(
            logit, problem.labels.positive, problem.weight, self.definition.byte_codes, len(self)
        )
        return None if sums is None else leave_one_out_sums(sums)

    def _unseparated_subsets(self, measure: Measure, delta: float) -> list[int]:
        """Return up to two subsets whose classes no threshold separates.

        If a complement contains one of them, its likelihood has a maximum too.
        """
        unseparated: list[int] = []
        for k in range(len(self)):
            problem = score_output(self.subset(k), measure)
            assert problem is not None
            levels = ProbabilityLevels.from_table(problem.score_table)
            if len(levels) and not levels.clip(delta).is_separated:
                unseparated.append(k)
            if len(unseparated) == 2:
                break
        return unseparated


def complement_settings(settings: Settings) -> Settings:
    """Return the settings under which a complement is resampled independently of its subset."""
    return replace(settings, seed=(settings.seed + 2**62) % 2**63)


@dataclass(frozen=True, eq=False)
class Complement:
    """Complement of a subset: all other rows."""

    subsets: Subsets
    subset_index: int

    @cached_property
    def estimate_source(self) -> SystemOutput:
        """System on these rows."""
        system = self.subsets.system
        complement_system: SystemOutput = system.take_rows(self._row_mask)
        return complement_system.with_settings(self.settings)

    @cached_property
    def without_intervals(self) -> SystemOutput:
        """System on these rows without intervals, unless rows are independent.

        The replicates of clustered rows are expensive, and not needed if the interval of the
        difference does not use them.
        """
        if self.subsets.system.clusters is None:
            return self.estimate_source
        return self.estimate_source.with_settings(
            replace(self.settings, interval="none", methods=())
        )

    @property
    def settings(self) -> Settings:
        """Settings under which the complement is resampled independently of the slice.

        With clusters the random numbers stay the same: a cluster in both subsets has to be drawn
        equally often in both, and one that is in one subset only is drawn independently of all
        others anyway.
        """
        settings = self.subsets.system.settings
        if self.subsets.system.clusters is not None:
            return settings
        return complement_settings(settings)

    def statistic(self, measure: Measure) -> Statistic | None:
        """Return the statistic that the measure is a formula over."""
        complement_statistics = self.subsets.complement_statistics(measure)
        if complement_statistics is not None:
            return complement_statistics[self.subset_index]  # type: ignore[no-any-return]
        problem = score_output(self.subsets.system, measure)
        if problem is None:
            return self.without_intervals.statistic(measure)
        return cached(
            self, id(problem), lambda: self.subsets.complement_table(self.subset_index, measure)
        )

    def recalibration_fit(self, measure: Measure) -> RecalibrationFit | None:
        """Return the recalibration fit that the measure is a coefficient of, if it is additive."""
        return cached(
            self.subsets,
            ("fit", measure, self.subset_index),
            lambda: self.subsets.complement_fit(self.subset_index, measure),
        )

    def permute(self, measure: Measure, value: float, max_size: int) -> PermutationResult | None:
        """Return the permutation distribution of the subset minus its complement.

        The smaller of the two is drawn at random from all rows. The result is None if it has more
        rows than ``max_size``, and if rows come in clusters.
        """
        subsets, n_rows = self.subsets, len(self.subsets.definition.byte_codes)
        inside = subsets.definition.row_indices[self.subset_index]
        smaller = decks.SmallerSubset.from_indices(inside, n_rows, max_size)
        if subsets.system.clusters is not None or smaller is None:
            return None
        pool = subsets.permutation_pool(measure)
        if pool is None:
            return None
        settings = replace(self.settings, n_resamples=subsets.n_permutations)
        random_subsets = cached(
            self, "lots", lambda: decks.draw_subsets(n_rows, len(smaller.rows), settings)
        )
        values = value, self.point_estimate(measure).value
        delegated_measure = subsets.system.delegate(measure)[1]
        return smaller.permute(pool, delegated_measure, values, random_subsets)

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure, from its statistic if possible."""
        estimate = self._statistic_estimate(measure)
        if estimate is None:
            estimate = self.without_intervals.point_estimate(measure)
        return replace(
            estimate,
            settings=self.settings,
            clusters=self._clusters,
            order=self._order,
            replicates=lambda: self.replicates(measure),  # type: ignore[arg-type,return-value]
            standalone_replicates=None,
            influence=GroupedInfluence(
                lambda: self._influence(measure), lambda: self._cluster_influence(measure)
            ),
        )

    def _influence(self, measure: Measure) -> Any:
        influence = self.without_intervals.point_estimate(measure).influence
        return None if influence is None else influence()

    def _cluster_influence(self, measure: Measure) -> tuple[FloatArray, FloatArray] | None:
        """Return the influence of each cluster on a measure, and its contribution.

        The result is None if they follow from the rows of this complement only.
        """
        subsets, k = self.subsets, self.subset_index
        if subsets.clusters is None:
            return None
        counts = self._counts(measure)
        if counts is not None:
            cluster_counts = subsets.complement_cluster_counts(measure)
            if cluster_counts is None:
                return None
            all_counts, delegated_measure = subsets.delegated_counts(measure)
            influence: tuple[FloatArray, FloatArray] | None = all_counts.cluster_influence(
                delegated_measure, cluster_counts[k], counts.matrix
            )
            return influence
        area, definition = subsets.complement_areas(measure), measure.definition
        if area is not None:
            rows, _, area_influence = area
            assert definition.area is not None
            return subsets.clusters.area_sums(
                rows,
                k,
                definition.area.scale * area_influence[k],
                pairs=definition.area.name == "AUC",
            )
        if definition.coefficient is not None:
            sums = subsets.complement_residuals(measure)
            fit = None if sums is None else self.recalibration_fit(measure)
            if sums is None or fit is None:
                return None
            row = fit.variance[definition.coefficient]
            return row @ sums[k, : len(row)], subsets.clusters.weights[k]
        means = subsets.complement_means(measure)
        return None if means is None else (means[k], subsets.clusters.weights[k])

    def _statistic_estimate(self, measure: Measure) -> PointEstimate | None:
        fit = self.recalibration_fit(measure)
        if fit is not None:
            return self._recalibration_estimate(measure, fit)
        area = self.subsets.complement_areas(measure)
        if area is not None:
            return estimate_area(
                measure, float(area[1][self.subset_index]), self.settings, self._n_rows
            )
        summaries = self.subsets.complement_area_summaries(measure)
        if summaries is not None:
            transform, summary = measure.definition.area, summaries[self.subset_index]
            assert transform is not None
            value = transform.scale * summary.area(transform.name)[0] + transform.shift
            return estimate_area(measure, value, self.settings, self._n_rows, summary)
        if measure.definition.coefficient is not None:
            return None  # its variance requires the rows
        is_additive = self.subsets.complement_statistics(measure) is not None
        if not is_additive and score_output(self.subsets.system, measure) is None:
            return None
        statistic, rows = self.statistic(measure), self._n_rows
        counts = self._counts(measure)
        delegated_measure = self.subsets.system.delegate(measure)[1]
        if counts is not None:
            return replace(counts.point_estimate(delegated_measure), n=rows)
        assert statistic is not None
        return estimate_from_statistic(delegated_measure, statistic, self.settings, rows)

    def _recalibration_estimate(self, measure: Measure, line: RecalibrationFit) -> PointEstimate:
        """Return the point estimate of a coefficient of the additive recalibration fit."""
        coefficient = measure.definition.coefficient
        assert coefficient is not None
        is_sandwich = self.subsets.system.weight is not None or len(line.variance) == 1
        return PointEstimate(
            value=(line.intercept, line.slope)[coefficient],
            kind="recalibration",
            settings=self.settings,
            n=self._n_rows,
            higher_is_better=measure.definition.higher_is_better,
            # That of clusters follows from their influence.
            compute_error=None
            if self.subsets.clusters is not None
            else lambda: StandardError(
                line.standard_error(coefficient, sandwich=is_sandwich), "Wald"
            ),
        )

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Return bootstrap replicates of the value of a measure, or None."""
        if measure.definition.statistic is ConfusionMatrix:
            counts = self._counts(measure)
            if counts is not None and self._needs_row_draws(counts):
                if self.subsets.is_additive(measure, counts.matrix):
                    return self.subsets.complement_replicates(
                        self.subset_index, measure, self.settings
                    )
            elif counts is not None and self._is_count_based(counts):
                return counts.replicates([measure])[measure]
        return self.estimate_source.point_estimate(measure).interval_replicates

    def _is_count_based(self, counts: ClassCounts) -> bool:
        """Return whether counts determine the rows, so that they can be resampled.

        Those of unequal weights are resampled by their sums.
        """
        system = self.subsets.system
        is_weighted = system.weight is not None
        return system.clusters is None and (not is_weighted or counts.cells.needs_weight_sums)

    def _needs_row_draws(self, counts: ClassCounts) -> bool:
        """Return whether rows are resampled rather than the cells of a matrix of many classes."""
        system, cells = self.subsets.system, counts.cells
        weighted_cells = replace(cells, weight=system.weight, clusters=system.clusters)
        return not cells.is_dense and weighted_cells.needs_row_draws

    def _counts(self, measure: Measure) -> ClassCounts | None:
        """Return the confusion counts, or None if they are not additive."""
        if self.subsets.complement_statistics(measure) is None:
            return None
        matrix = self.statistic(measure)
        if not isinstance(matrix, ConfusionMatrix) or isinstance(matrix, LabelMatrices):
            return None
        # The same cells are drawn for all measures of them.
        return cached(
            self,
            ("counts", matrix.labels),
            lambda: ClassCounts.from_matrix(matrix, self.settings, self.subsets.count_measures),
        )

    @property
    def _row_mask(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.subsets.definition.byte_codes != self.subset_index, np.bool_)

    @cached_property
    def _clusters(self) -> ClusterIndex | None:
        clusters = self.subsets.system.clusters
        return None if clusters is None else clusters.take_rows(self._row_mask)

    @cached_property
    def _order(self) -> TimeOrder | None:
        order = self.subsets.system.order
        return None if order is None else order.take_rows(self._row_mask)

    @property
    def _n_rows(self) -> int:
        """Number of rows."""
        return len(self.subsets.definition.codes) - len(
            self.subsets.definition.row_indices[self.subset_index]
        )


#: How p-values account for the number of slices.
HOLM = ADJUSTMENTS["holm"]


class SliceComplement(Protocol):
    """Complement of a subset of rows or topics."""

    @property
    def estimate_source(self) -> Any:
        """Source of its point estimates, with intervals."""

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure."""

    def permute(
        self, measure: Measure, value: float, max_size: int
    ) -> two_samples.PermutedDifference | None:
        """Return the permutation distribution of the subset minus the complement.

        The result is None if the smaller of the two has more units than ``max_size``, and if units
        come in clusters.
        """


class SystemSubsets(Protocol):
    """Subsets of the rows or topics of one system by a column."""

    @property
    def definition(self) -> SliceDefinition:
        """Definition of the slices."""

    def subset(self, subset_index: int) -> Any:
        """Return the source of the point estimates on a subset."""

    def estimate(self, subset_index: int, measure: Measure, reading: PointEstimate) -> Estimate:
        """Return the estimate on a subset."""

    def complement(self, subset_index: int) -> SliceComplement | None:
        """Return the complement of a subset, or None if it is empty."""

    def forget(self, subset_index: int) -> None:
        """Release the memory of a subset."""


# ------------------------------------------------------------------------------------- evaluation


#: Called with a definition of slices, the index of a slice, and the system outputs on its rows and
#: their point estimates, by system and by system and measure.
SliceVisitor = Callable[
    [
        SliceDefinition,
        int,
        Mapping[str, "SystemOutput"],
        Mapping[tuple[str, Measure], PointEstimate],
    ],
    None,
]


def slice_systems(
    systems: Sequence[SystemOutput],
    measures: Sequence[Measure],
    definitions: Sequence[SliceDefinition],
    settings: Settings,
    visit: SliceVisitor,
) -> Slices:
    """Estimate every measure on every slice of all systems, and compare it with the complement.

    ``visit`` is called for each slice while its rows and estimates are in memory.
    """
    n_slices = sum(len(cut.names) for cut in definitions)
    tables: list[list[list[SliceEstimate]]] = []  # by column, system and slice
    slices = track(
        ((cut, k) for cut in definitions for k in range(len(cut.names))), "slicing", n_slices
    )
    for cut, k in slices:
        if k == 0:
            all_subsets = [Subsets(system, cut, measures, n_tests=n_slices) for system in systems]
            tables.append([[] for _ in systems])
        point_estimates: dict[tuple[str, Measure], PointEstimate] = {}
        for subsets, slice_rows in zip(all_subsets, tables[-1], strict=True):
            estimates = _estimate_slice(subsets, k, measures, slice_rows)
            point_estimates |= {(subsets.system.name, m): e for m, e in estimates.items()}
        visit(
            cut,
            k,
            {subsets.system.name: subsets.subset(k) for subsets in all_subsets},
            point_estimates,
        )
        for subsets in all_subsets:
            subsets.forget(k)
    rows = [row for table in tables for slice_rows in table for row in slice_rows]
    return Slices(_adjust_p(rows), settings.level, HOLM.name)


def slice_estimates(
    subset_pairs: Iterable[SystemSubsets], measures: Sequence[Measure], settings: Settings
) -> Slices:
    """Estimate every measure on all subsets, each of one system by one column."""
    rows: list[SliceEstimate] = []
    for subsets in subset_pairs:
        subset_rows: list[SliceEstimate] = []
        for k in range(len(subsets.definition.names)):
            _estimate_slice(subsets, k, measures, subset_rows)
            subsets.forget(k)
        rows += subset_rows
    return Slices(_adjust_p(rows), settings.level, HOLM.name)


def too_many_systems_note(slices: Slices, comparison: Comparison | None) -> list[str]:
    """Return a note if there are too many systems to compare them within slices."""
    if comparison is None or not len(comparison) or slices.differences:
        return []
    max_pairs = MAX_PAIRS_WITHIN_SLICES
    return [
        f"Systems are not compared within slices: there are more than {max_pairs} pairs of them."
    ]


def threshold_note(system: str, threshold: float, rule: object) -> str:
    """Return a note that a threshold chosen on all rows is not tuned for each slice."""
    threshold_text = "+∞" if math.isinf(threshold) else f"{threshold:.6g}"
    return (
        f"{system}: slices are measured at the threshold {threshold_text}, which {rule} chose on "
        "all rows; no slice has one of its own, and intervals treat it as fixed."
    )


def _estimate_slice(
    subsets: SystemSubsets, k: int, measures: Sequence[Measure], rows: list[SliceEstimate]
) -> dict[Measure, PointEstimate]:
    """Estimate one system on a slice of one column, and add to the rows of the slices before it.

    The point estimates are returned.
    """
    cut, complement = subsets.definition, subsets.complement(k)
    point_estimates: dict[Measure, PointEstimate] = {}
    for j, measure in enumerate(measures):
        point_estimate = subsets.subset(k).point_estimate(measure)
        estimate = subsets.estimate(k, measure, point_estimate)
        if len(cut.names) == 2 and k == 1 and np.isfinite(rows[j].vs_rest.value):
            # The complement of the second slice is the first, so their tests are the same.
            difference = _negate(rows[j])
        else:
            difference = _compare_with_complement(measure, point_estimate, complement, estimate)
        rows.append(SliceEstimate(cut.column, cut.names[k], estimate, difference))
        point_estimates[measure] = point_estimate
    return point_estimates


def _negate(row: SliceEstimate) -> Difference:
    d = row.vs_rest
    return replace(d, value=-d.value, low=-d.high, high=-d.low, n=row.estimate.n_total)


def _adjust_p(rows: Sequence[SliceEstimate]) -> tuple[SliceEstimate, ...]:
    """Adjust p-values by Holm over all slices, for each measure of a system.

    The two slices of a column with two values are one hypothesis.
    """
    families: dict[tuple[str, str], dict[tuple[str, str], list[int]]] = {}
    slices_by_column: dict[str, set[str]] = {}
    for row in rows:
        slices_by_column.setdefault(row.column, set()).add(row.slice)
    for index, row in enumerate(rows):
        family = families.setdefault((row.estimate.system, row.estimate.measure), {})
        slice_key = row.slice if len(slices_by_column[row.column]) > 2 else ""
        family.setdefault((row.column, slice_key), []).append(index)
    out = list(rows)
    for family in families.values():
        p = HOLM.adjust(np.array([rows[index[0]].vs_rest.p for index in family.values()]))
        for adjusted, indices in zip(p, family.values(), strict=True):
            for index in indices:
                out[index] = replace(
                    rows[index], vs_rest=_adjust_difference(rows[index].vs_rest, adjusted)
                )
    return tuple(out)


def _adjust_difference(difference: Difference, p: float) -> Difference:
    """Return a difference with its adjusted p-value.

    If that is not significant, the interval is extended to include 0.
    """
    p = float(p)
    difference = replace(difference, p_adjusted=p)
    if (
        not difference.has_interval
        or not p > significance_level(difference.level)
        or difference.low <= 0 <= difference.high
    ):
        return difference
    low, high, method = unpaired.extend_to_zero(
        difference.low, difference.high, difference.method, HOLM.name
    )
    return replace(difference, low=low, high=high, method=method)


# -------------------------------------------------------------------- difference to the complement


def _compare_with_complement(
    measure: Measure,
    subset_estimate: PointEstimate,
    complement: SliceComplement | None,
    estimate: Estimate,
) -> Difference:
    """Return the slice minus its complement, with interval and test for two independent samples."""
    complement_estimate = None if complement is None else complement.point_estimate(measure)
    value = float("nan")
    if complement_estimate is not None:
        values = np.float64(subset_estimate.value), np.float64(complement_estimate.value)
        value = float(subtract_values(*values))
    interval, test = (
        intervals.no_interval("none", "undefined_value"),
        TestResult(float("nan"), "none"),
    )
    if complement is None or complement_estimate is None:
        interval = intervals.no_interval("none", "empty_complement")
    elif subset_estimate.settings.interval == "none":
        interval = intervals.no_interval("none", "not_requested")
    elif np.isfinite(value):
        interval, test = two_samples.compare_samples(
            subset_estimate,
            complement_estimate,
            lambda: complement.estimate_source.point_estimate(measure),
            lambda max_size: complement.permute(measure, subset_estimate.value, max_size),
        )
        if subset_estimate.order is not None:
            from calipers.inference import serial

            interval, test = serial.widen_subset_difference(
                subset_estimate, complement_estimate, interval, test
            )
        interval = interval.extend_to_value(value)
    return Difference(
        measure=estimate.measure,
        system=estimate.system,
        baseline=f"all other {estimate.unit}",
        value=value,
        low=interval.low,
        high=interval.high,
        level=estimate.level,
        method=interval.method,
        p=test.p,
        test=test.name,
        unit=estimate.unit,
        n=0
        if complement_estimate is None
        else complement_estimate.n
        if complement_estimate.n_total is None
        else complement_estimate.n_total,
        undefined={}
        if complement_estimate is None or estimate.undefined
        else complement_estimate.undefined,
        interval_reason=interval.reason,
        higher_is_better=measure.definition.higher_is_better,
    )
