"""Row-wise differences of two systems, accumulated over batches for paired tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.engines.base import Mergeable
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import RowLosses, is_mean
from calipers.estimation.multilabel import RowValues
from calipers.estimation.rater_agreement import RatingSample
from calipers.inference.multinomial_cells import MultinomialCells
from calipers.lazy_dataclasses import dataclass
from calipers.measures.rater_agreement import counted_item_mask
from calipers.statistics import (
    ClassTables,
    FloatArray,
    IntArray,
    MajorityValue,
    Moments,
    Signs,
    Statistic,
    StatisticVector,
    UnitDifferences,
    count_signs,
    subtract_values,
)
from calipers.systems.multioutput import StreamedOutputLosses

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.engines.gram_matrix import Request
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.variance_estimators import Influence
    from calipers.measures import Measure
    from calipers.systems.base import SystemOutput


#: Maximum number of weights by cluster and cell: of one system, and of all pairs of systems.
MAX_CLUSTER_CELLS = 2_000_000


@dataclass(frozen=True)
class SystemPair:
    """Two systems, of which the first is compared with the second by a measure.

    ``statistic_numbers`` are the numbers of both statistics, which are equal for measures that
    share them. ``is_row_based`` states whether the test uses the differences of rows, and
    ``is_unit_based`` whether these are differences of values of the rows; ``known_values`` are the
    most frequent differences, if they are counted in another pass. For ``has_clusters`` rows, only
    wins, ties and losses are counted, and the mean and the variance of the differences of rows are
    computed.
    """

    systems: tuple[str, str]
    measure: Measure
    statistic_numbers: tuple[int, int]
    is_row_based: bool
    is_unit_based: bool
    has_clusters: bool = False
    known_values: tuple[MajorityValue, ...] = ()

    @property
    def requests(self) -> tuple[Request, Request]:
        """System and measure of both values."""
        first, second = self.systems
        return (first, self.measure), (second, self.measure)


@dataclass(frozen=True, eq=False)
class JointConfusion(Mergeable):
    """Joint counts of the true class and the classes that two systems predict.

    ``cell_index`` are the indices of the non-empty cells of truth × first × second, ascending;
    ``cell_sums`` are their numbers of rows, weights and squared weights, shape (3, C).
    """

    cell_index: IntArray
    cell_sums: FloatArray

    @classmethod
    def from_batch(cls, first: ClassCounts, second: ClassCounts) -> JointConfusion:
        """Count the rows of a batch."""
        first_cells, k = first.cells, first.matrix.n_classes
        flat = first_cells.cross(second.cells, k)
        cells = MultinomialCells.from_flat(flat, (k, k, k), first_cells.weight)
        if first_cells.weight is None:
            return cls(cells.cell_index, np.stack([cells.counts] * 3))
        rows = np.bincount(cells.row_cell_index(), minlength=len(cells.cell_index)).astype(
            np.float64
        )
        return cls(cells.cell_index, np.stack([rows, cells.counts, cells.squares]))

    def __add__(self, other: JointConfusion) -> JointConfusion:
        cell_index, inverse = np.unique(
            np.append(self.cell_index, other.cell_index), return_inverse=True
        )
        row_counts = np.concatenate([self.cell_sums, other.cell_sums], axis=1)
        sums = [np.bincount(inverse, column, len(cell_index)) for column in row_counts]
        return JointConfusion(cell_index, np.stack(sums).astype(np.float64))

    def cells(
        self, n_classes: int, row_weight: float, *, has_unequal_weights: bool
    ) -> MultinomialCells:
        """Return the cells; if all rows have the weight ``row_weight``, it is changed to 1."""
        rows, counts, squares = self.cell_sums
        if not has_unequal_weights and row_weight != 1:
            counts = squares = rows
        empty = np.zeros(0, np.int64)
        shape = (n_classes, n_classes, n_classes)
        return MultinomialCells(
            shape,
            self.cell_index,
            counts,
            squares,
            empty,
            has_unequal_weights=has_unequal_weights,
            rows=rows,
        )


@dataclass(frozen=True, eq=False)
class PairDifferences(Mergeable):
    """Distributions of row-wise differences of pairs of systems, by index of the pair.

    It also has the joint counts of predicted classes, under the first pair that uses them; of
    clustered rows these are the weights in the cells of each cluster, shape (C, K·K·K).
    """

    unit_differences: Mapping[int, UnitDifferences]
    joint_confusions: Mapping[int, JointConfusion | FloatArray]

    @classmethod
    def from_batch(
        cls,
        pairs: Sequence[SystemPair],
        systems: Mapping[str, SystemOutput],
        influences: Mapping[Request, Influence],
        total: float,
        statistics: Mapping[Request, Statistic],
    ) -> PairDifferences:
        """Compute the differences of the rows of a batch.

        ``influences`` are the influence values of the rows, and ``statistics`` the statistics of
        all rows.
        """
        joint_confusions: dict[int, JointConfusion | FloatArray] = {}
        distinct = list(distinct_pairs(pairs))
        for index, pair in distinct:
            first, second = (_class_counts(systems[name], pair.measure) for name in pair.systems)
            if first is None or second is None:
                continue
            joint = (
                JointConfusion.from_batch(first, second)
                if first.clusters is None
                else joint_cluster_cells(first, second, MAX_CLUSTER_CELLS // len(distinct))
            )
            if joint is not None:
                joint_confusions[index] = joint
        unit_differences = {}
        for index, pair in enumerate(pairs):
            first_influence, second_influence = (
                influences.get(request) for request in pair.requests
            )
            values = [_mean_row_values(systems[name], pair.measure) for name in pair.systems]
            if values[0] is not None and values[1] is not None and not pair.is_unit_based:
                unit_differences[index] = _common_differences(pair, values[0], values[1])
                continue
            if pair.has_clusters:
                clustered = _clustered_differences(
                    pair, systems, statistics, (first_influence, second_influence), total
                )
                if clustered is not None:
                    unit_differences[index] = clustered
                continue
            if values[0] is not None and values[1] is not None:
                unit_differences[index] = _subtract_values(values[0], values[1])
                continue
            if pair.is_row_based and first_influence is not None and second_influence is not None:
                # With averages over classes, rows have no class, even if all rows of a batch are of
                # one class.
                is_average = isinstance(statistics[pair.requests[0]], ClassTables)
                item_masks = [
                    _counted_item_mask(systems[name], pair.measure) for name in pair.systems
                ]
                differences = _influence_differences(
                    pair,
                    first_influence,
                    second_influence,
                    total,
                    item_masks,
                    splits_classes=not is_average,
                )
                signs = _count_signs(pair, systems, statistics)
                unit_differences[index] = (
                    differences if signs is None else replace(differences, signs=signs)
                )
        return cls(unit_differences, joint_confusions)

    def __add__(self, other: PairDifferences) -> PairDifferences:
        joint_confusions: dict[int, Any] = dict(self.joint_confusions)
        for index, joint in other.joint_confusions.items():
            joint_confusions[index] = joint_confusions[index] + joint
        return PairDifferences(
            {k: value + other.unit_differences[k] for k, value in self.unit_differences.items()},
            joint_confusions,
        )


def cluster_cells(
    clusters: ClusterIndex,
    flat: npt.NDArray[np.integer[Any]],
    shape: tuple[int, ...],
    max_cells: int = MAX_CLUSTER_CELLS,
) -> FloatArray | None:
    """Return the weights of the rows of each cluster in each cell, or None if these are too many.

    ``flat`` is the cell of each row; the result has the shape (C, cells).
    """
    n_cells = math.prod(shape)
    if clusters.n_codes * n_cells > max_cells:
        return None
    return np.asarray(clusters.cell_weights(flat, shape), np.float64).reshape(
        clusters.n_codes, n_cells
    )


def joint_cluster_cells(
    first: ClassCounts, second: ClassCounts, max_cells: int
) -> FloatArray | None:
    """Return the weights of each cluster in the cells of truth × first × second of a batch."""
    k = first.matrix.n_classes
    flat = first.cells.cross(second.cells, k)
    assert first.clusters is not None
    return cluster_cells(first.clusters, flat, (k, k, k), max_cells)


def distinct_pairs(pairs: Sequence[SystemPair]) -> Iterator[tuple[int, SystemPair]]:
    """Yield the first pair of each two statistics, with its index."""
    visited = set()
    for index, pair in enumerate(pairs):
        if pair.statistic_numbers not in visited:
            visited.add(pair.statistic_numbers)
            yield index, pair


def _resolve_measure(system: SystemOutput, measure: Measure) -> tuple[Any, Measure]:
    """Return the sample that a measure takes, and the measure as applied to it."""
    delegate, applied_measure = system.delegate(measure)
    return delegate.sample_for(applied_measure), applied_measure


def _class_counts(system: SystemOutput, measure: Measure) -> ClassCounts | None:
    """Return the confusion counts of rows for a measure, or None."""
    sample, _ = _resolve_measure(system, measure)
    return sample if isinstance(sample, ClassCounts) else None


def _mean_row_values(system: SystemOutput, measure: Measure) -> RowValues | None:
    """Return the values of rows, some of which may be undefined, if the measure is their mean."""
    sample, applied_measure = _resolve_measure(system, measure)
    return sample if isinstance(sample, RowValues) and is_mean(applied_measure) else None


def _row_values(pair: SystemPair, system: SystemOutput, statistic: Statistic) -> FloatArray | None:
    """Return the values of rows of whose mean the measure is a function."""
    measure = pair.measure
    sample, applied_measure = _resolve_measure(system, measure)
    if pair.is_unit_based and isinstance(sample, RowValues):
        return sample.values
    if isinstance(statistic, StatisticVector):
        terms = system.delegate(measure)[0].terms(applied_measure)
        return (
            terms.combined_loss(applied_measure, statistic)
            if isinstance(terms, StreamedOutputLosses)
            else None
        )
    return sample.values if isinstance(sample, RowLosses) else None


def _rating_sample(system: SystemOutput, measure: Measure) -> RatingSample | None:
    """Return the sample of ratings for a measure, or None."""
    sample, _ = _resolve_measure(system, measure)
    return sample if isinstance(sample, RatingSample) else None


def _counted_item_mask(system: SystemOutput, measure: Measure) -> npt.NDArray[np.bool_] | None:
    """Return which items a measure of raters includes, or None."""
    sample, applied_measure = _resolve_measure(system, measure)
    return (
        counted_item_mask(applied_measure, sample.statistic)
        if isinstance(sample, RatingSample)
        else None
    )


def _value_differences(
    pair: SystemPair, systems: Mapping[str, SystemOutput], statistics: Mapping[Request, Statistic]
) -> FloatArray | None:
    """Return the differences of the values of rows, or None if rows have no values."""
    first_values, second_values = (
        _row_values(pair, systems[request[0]], statistics[request]) for request in pair.requests
    )
    if first_values is None or second_values is None:
        return None
    return subtract_values(first_values, second_values)


def _count_signs(
    pair: SystemPair, systems: Mapping[str, SystemOutput], statistics: Mapping[Request, Statistic]
) -> Signs | None:
    """Return the numbers of rows on which the first system is higher, equal and lower.

    It is None if rows have no values of their own.
    """
    first, second = (_rating_sample(systems[name], pair.measure) for name in pair.systems)
    if first is not None and second is not None:
        return first.signs(second)
    differences = _value_differences(pair, systems, statistics)
    return None if differences is None else count_signs(differences)


def _clustered_differences(
    pair: SystemPair,
    systems: Mapping[str, SystemOutput],
    statistics: Mapping[Request, Statistic],
    influences: tuple[Influence | None, Influence | None],
    total: float,
) -> UnitDifferences | None:
    """Return the signs and the moments of the differences of clustered rows, or None.

    The differences of raters are those of the influence values of the items that count for either
    set, as for independent items.
    """
    signs = _count_signs(pair, systems, statistics)
    if signs is None:
        return None
    masks = [_counted_item_mask(systems[name], pair.measure) for name in pair.systems]
    if masks[0] is None or masks[1] is None:
        differences = _value_differences(pair, systems, statistics)
    else:
        first, second = influences
        either_mask = masks[0] | masks[1]
        if first is None or second is None:
            differences = np.zeros(int(either_mask.sum()))
        else:
            differences = (first - second).unit_values(total)[either_mask]
    assert differences is not None  # as there are signs
    return UnitDifferences.from_signs(signs, Moments.from_rows(differences))


def _subtract_values(first: RowValues, second: RowValues) -> UnitDifferences:
    """Return the differences of values of which none is undefined."""
    values, weight = subtract_values(first.values, second.values), first.weight
    if weight is None:
        return UnitDifferences.from_values(values)
    return UnitDifferences.from_values(values[weight > 0], weight[weight > 0])


def _common_differences(pair: SystemPair, first: RowValues, second: RowValues) -> UnitDifferences:
    """Return the differences of the rows on which both values are defined."""
    common_mask = first.defined_mask & second.defined_mask
    if first.weight is not None:
        common_mask &= first.weight > 0
    values = subtract_values(first.values[common_mask], second.values[common_mask])
    if pair.has_clusters:
        return UnitDifferences.from_signs(count_signs(values), Moments.from_rows(values))
    weight = None if first.weight is None else first.weight[common_mask]
    return UnitDifferences.from_values(values, weight)


def _influence_differences(
    pair: SystemPair,
    first: Influence,
    second: Influence,
    total: float,
    item_masks: Sequence[npt.NDArray[np.bool_] | None],
    *,
    splits_classes: bool,
) -> UnitDifferences:
    """Return the differences of the influence values of two systems.

    For means these are differences of the values of rows; for raters, of the items that either set
    ``item_masks``.
    """
    difference = first - second
    values, weight = difference.unit_values(total), difference.variance_estimator.weight
    positive = getattr(difference.variance_estimator, "positive", None) if splits_classes else None
    rated_mask = (
        None if item_masks[0] is None or item_masks[1] is None else item_masks[0] | item_masks[1]
    )
    if weight is not None:
        used_mask = weight > 0
        weight, positive = weight[used_mask], None if positive is None else positive[used_mask]
        rated_mask = None if rated_mask is None else rated_mask[used_mask]
    if pair.is_unit_based:
        values = subtract_values(first.unit_values(total), second.unit_values(total))
        return UnitDifferences.from_values(values, weight)
    if rated_mask is None:
        return UnitDifferences.from_influence_values(
            values, weight, positive, known_values=pair.known_values
        )
    weight = None if weight is None else weight[rated_mask]
    return UnitDifferences.from_influence_values(
        values[rated_mask], weight, is_mean_of_values=True, known_values=pair.known_values
    )
