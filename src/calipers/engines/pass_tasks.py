"""Tasks for a batch in either pass: everything that is sent to another process and back."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from calipers.data.columns import dropped_rows_note
from calipers.data.errors import InputError
from calipers.engines.accumulators import WeightMoments
from calipers.engines.base import Mergeable
from calipers.engines.gram_matrix import Request, cluster_sums, gram_columns, inner_products
from calipers.engines.paired_differences import PairDifferences, SystemPair, cluster_cells
from calipers.estimation.counts import ClassCounts
from calipers.inference.variance_estimators import Influence, TwoClassVariance
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ClassTables, ConfusionMatrix, UnitSums
from calipers.statistics.base import dot
from calipers.statistics.serialization import from_bytes, to_bytes

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray, Statistic
    from calipers.systems.base import SystemOutput


@dataclass(frozen=True)
class MissingCounts(Mergeable):
    """Number of rows, of dropped rows, and of missing values in each column."""

    rows: int = 0
    n_dropped: int = 0
    by_column: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: MissingCounts) -> MissingCounts:
        by_column = {
            name: self.by_column.get(name, 0) + other.by_column.get(name, 0)
            for name in {**self.by_column, **other.by_column}
        }
        return MissingCounts(self.rows + other.rows, self.n_dropped + other.n_dropped, by_column)

    def raise_incomplete(self) -> NoReturn:
        """Raise the error that no row is complete."""
        dropped_rows_note(self.n_dropped, self.rows, self.by_column)
        raise InputError("no row is complete")  # those that are have a count of 0

    @property
    def notes(self) -> list[str]:
        """Note on dropped rows, if there are any."""
        has_dropped = self.n_dropped > 0
        return [dropped_rows_note(self.n_dropped, self.rows, self.by_column)] if has_dropped else []


@dataclass(frozen=True, eq=False)
class BatchSystems:
    """Systems on the rows of a batch, and a function that counts its missing values."""

    systems: Mapping[str, SystemOutput]
    missing: Callable[[], MissingCounts] = MissingCounts
    #: Indices of its rows among all rows, if rows are inspected.
    row_indices: IntArray | None = None


@dataclass(frozen=True, eq=False)
class FirstPassResult(Mergeable):
    """Result of the first pass.

    It has the statistics of all rows, the numbers of rows and of dropped rows, and the moments of
    the weights. ``auxiliary`` is an auxiliary result, and ``inspected_rows`` has the rows that were
    inspected. Of dropped rows, ``n_read`` is the number of rows among which they were, before these
    were repeated by their counts, and ``missing_values`` the number of missing values by column.
    """

    statistics: Mapping[int, Statistic]
    rows: int
    n_dropped: int
    weight: WeightMoments
    clustered: bool
    auxiliary: Any
    inspected_rows: Any = 0
    #: None in states that were written before it was counted.
    n_read: int | None = None
    missing_values: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> MissingCounts:
        """Counts of rows, of dropped rows, and of missing values in each column."""
        n_read = self.rows + self.n_dropped if self.n_read is None else self.n_read
        return MissingCounts(n_read, self.n_dropped, self.missing_values)

    def __add__(self, other: FirstPassResult) -> FirstPassResult:
        """Return the result for the rows of both, with the statistics that both have."""
        missing = self.missing + other.missing
        statistics = {
            k: statistic + other.statistics[k]
            for k, statistic in self.statistics.items()
            if k in other.statistics
        }
        return FirstPassResult(
            statistics,
            self.rows + other.rows,
            missing.n_dropped,
            self.weight + other.weight,
            self.clustered,
            self.auxiliary + other.auxiliary,
            self.inspected_rows + other.inspected_rows,
            missing.rows,
            missing.by_column,
        )

    def with_dropped(self, missing: MissingCounts) -> FirstPassResult:
        """Return the result with the counts of further rows, which were all dropped."""
        total = self.missing + missing
        return replace(
            self, n_dropped=total.n_dropped, n_read=total.rows, missing_values=total.by_column
        )

    def finalize(self, limit_size: Callable[[Any], Any]) -> FirstPassResult:
        """Return the result with final statistics, whose size is limited by ``limit_size``."""
        return self._map_statistics(lambda statistic: limit_size(statistic.finalize()))

    def _map_statistics(self, change: Callable[[Any], Any]) -> FirstPassResult:
        return replace(
            self, statistics={k: change(statistic) for k, statistic in self.statistics.items()}
        )


@dataclass(frozen=True, eq=False)
class LimitStatistics:
    """Function that limits the size of the statistics of a pass."""

    limit_size: Callable[[Any], Any]

    def __call__(self, result: FirstPassResult) -> FirstPassResult:
        """Return the result with limited statistics."""
        return result._map_statistics(self.limit_size)


@dataclass(frozen=True, eq=False)
class FirstPass:
    """First pass: computes the statistics of a batch, by the indices in ``statistic_numbers``."""

    build: Callable[[Any], BatchSystems]
    statistic_numbers: Mapping[Request, int]
    auxiliary_values: Callable[[Mapping[str, SystemOutput]], Any]
    inspect_rows: Callable[[BatchSystems], Any] | None = None

    def __call__(self, batch: Any) -> FirstPassResult:
        """Compute the statistics of a batch."""
        batch_systems = self.build(batch)
        systems = batch_systems.systems
        first_system = next(iter(systems.values()))
        statistics: dict[int, Statistic] = {}
        for (name, measure), statistic_number in self.statistic_numbers.items():
            if statistic_number not in statistics:
                statistic = systems[name].batch_statistic(measure)
                assert statistic is not None
                statistics[statistic_number] = statistic
        weight, has_clusters = (
            WeightMoments.from_rows(first_system.weight, first_system.n_rows),
            first_system.clusters is not None,
        )
        inspected_rows = (
            0
            if self.inspect_rows is None or batch_systems.row_indices is None
            else self.inspect_rows(batch_systems)
        )
        auxiliary, missing = self.auxiliary_values(systems), batch_systems.missing()
        return FirstPassResult(
            statistics,
            first_system.n_rows,
            missing.n_dropped,
            weight,
            has_clusters,
            auxiliary,
            inspected_rows,
            missing.rows,
            missing.by_column,
        )

    def check(self, batch: Any) -> None:
        """Check the cells of a batch, of which some rows have a count of 0."""
        self.build(batch)


@dataclass(frozen=True, eq=False)
class InfluenceTask:
    """Influence values of the rows of a batch, given the statistics of all rows."""

    build: Callable[[Any], BatchSystems]
    statistics: Mapping[Request, Statistic]

    def __call__(self, batch: Any) -> dict[Request, Influence]:
        """Compute the influence values of a batch."""
        return self.influences(self.build(batch).systems)

    def influences(
        self, systems: Mapping[str, SystemOutput], requests: Container[Request] | None = None
    ) -> dict[Request, Influence]:
        """Compute the influence values of the systems on a batch, or only the ``requests`` ones."""
        influences = {
            (name, measure): systems[name].influence(measure, statistic)
            for (name, measure), statistic in self.statistics.items()
            if requests is None or (name, measure) in requests
        }
        return {
            request: influence for request, influence in influences.items() if influence is not None
        }

    def second_pass_statistics(self, systems: Mapping[str, SystemOutput]) -> dict[int, Statistic]:
        """Return the statistics that values need from a second pass, by index of the value."""
        second_statistics = (
            systems[name].second_pass_statistic(measure, statistic)
            for (name, measure), statistic in self.statistics.items()
        )
        return {
            index: statistic
            for index, statistic in enumerate(second_statistics)
            if statistic is not None
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # Statistics are serialized as results are, which takes a fraction of the bytes.
        return _make_influence_task, (
            self.build,
            list(self.statistics),
            to_bytes(list(self.statistics.values())),
        )

    def squared_norm_task(self, combination: FloatArray) -> Callable[[Any], SquaredNorm]:
        """Return a function for the squared norm of a combination of the stored columns."""
        return _LinearCombination(self, combination)


def _make_influence_task(
    build: Callable[[Any], BatchSystems], requests: Sequence[Request], serialized: bytes
) -> InfluenceTask:
    return InfluenceTask(build, dict(zip(requests, from_bytes(serialized), strict=True)))


@dataclass(frozen=True, eq=False)
class InfluenceKind(Mergeable):
    """Name of an influence function, and the kind of its variance estimator."""

    name: str
    df: float | None
    is_pairwise: bool


@dataclass(frozen=True, eq=False)
class SecondPassResult(Mergeable):
    """Result of the second pass.

    It has the kind of influence of each value, by index; the inner products of columns, or the sums
    by cluster of each; and the row-wise differences of pairs of systems.
    """

    influence_kinds: Mapping[int, InfluenceKind]
    inner_products: FloatArray
    cluster_sums: Mapping[int, FloatArray]
    pair_differences: PairDifferences
    #: Sums of cubes of columns, for averages over classes and errors relative to the truth.
    cube_sums: Mapping[int, float]
    #: Weight of the rows of each cluster in each cell of the classes, shape (C, K·K).
    cluster_cell_weights: Mapping[int, FloatArray]
    #: Statistics of some values that need the second pass.
    second_pass_statistics: Mapping[int, Statistic]
    #: Sums of the values of all systems, by index of the measure.
    joint_sums: Mapping[int, UnitSums]

    def __add__(self, other: SecondPassResult) -> SecondPassResult:
        sums = {k: value + other.cluster_sums[k] for k, value in self.cluster_sums.items()}
        cubes = {k: value + other.cube_sums[k] for k, value in self.cube_sums.items()}
        products = self.inner_products + other.inner_products
        cells = {
            k: value + other.cluster_cell_weights[k]
            for k, value in self.cluster_cell_weights.items()
        }
        seconds = {
            k: value + other.second_pass_statistics[k]
            for k, value in self.second_pass_statistics.items()
        }
        pairs = self.pair_differences + other.pair_differences
        joint = {k: value + other.joint_sums[k] for k, value in self.joint_sums.items()}
        return SecondPassResult(
            other.influence_kinds, products, sums, pairs, cubes, cells, seconds, joint
        )


@dataclass(frozen=True, eq=False)
class SecondPass:
    """Second pass: accumulates influence values, and the differences of ``pairs`` of systems.

    ``total_weight`` is the total weight of all rows, and ``joint_measures`` are those by which
    three or more systems are tested together.
    """

    influence_task: InfluenceTask
    pairs: Sequence[SystemPair] = ()
    total_weight: float = 0.0
    joint_measures: Sequence[Measure] = ()

    def __call__(self, batch: Any) -> SecondPassResult:
        """Compute the influence values and differences of a batch."""
        systems = self.influence_task.build(batch).systems
        influences, seconds = (
            self.influence_task.influences(systems),
            self.influence_task.second_pass_statistics(systems),
        )
        pairs = PairDifferences.from_batch(
            self.pairs, systems, influences, self.total_weight, self.influence_task.statistics
        )
        index_by_request = {request: k for k, request in enumerate(self.influence_task.statistics)}
        influence_kinds = {
            index_by_request[request]: _influence_kind(influence)
            for request, influence in influences.items()
        }
        if any(
            influence.variance_estimator.clusters is not None for influence in influences.values()
        ):
            sums = {
                index_by_request[request]: cluster_sums(influence)
                for request, influence in influences.items()
            }
            cells = self._cells(systems, influences)
            return SecondPassResult(
                influence_kinds, np.zeros((0, 0)), sums, pairs, {}, cells, seconds, {}
            )
        cubes = {
            index_by_request[request]: float(np.power(influence.corrected.column, 3).sum())
            for request, influence in influences.items()
            if isinstance(self.influence_task.statistics[request], ClassTables)
            or request[1].definition.interval == "relative"
        }
        products = inner_products(list(gram_columns(influences).values()))
        joint = _joint_sums(systems, self.joint_measures)
        return SecondPassResult(influence_kinds, products, {}, pairs, cubes, {}, seconds, joint)

    def _cells(
        self, systems: Mapping[str, SystemOutput], influences: Mapping[Request, Influence]
    ) -> dict[int, FloatArray]:
        """Return the weights of the rows of each cluster in each cell of a confusion matrix.

        They are computed once for all measures of a matrix, unless they need too much memory.
        """
        visited: set[int] = set()
        cells_by_index: dict[int, FloatArray] = {}
        for index, (request, statistic) in enumerate(self.influence_task.statistics.items()):
            if not isinstance(statistic, ConfusionMatrix):
                continue
            if request not in influences or id(statistic) in visited:
                continue
            visited.add(id(statistic))
            delegate, applied_measure = systems[request[0]].delegate(request[1])
            counts, k = delegate.sample_for(applied_measure), statistic.n_classes
            if isinstance(counts, ClassCounts) and counts.clusters is not None:
                cells = cluster_cells(counts.clusters, counts.cells.row_cells, (k, k))
                if cells is not None:
                    cells_by_index[index] = cells
        return cells_by_index


def _joint_sums(
    systems: Mapping[str, SystemOutput], measures: Sequence[Measure]
) -> dict[int, UnitSums]:
    """Return the sums of the values of all systems on independent rows of equal weight."""
    sums: dict[int, UnitSums] = {}
    if any(s.clusters is not None or s.weight is not None for s in systems.values()):
        return sums
    from calipers.inference.omnibus import measure_sums

    for index, measure in enumerate(measures):
        columns = [system.row_values(measure) for system in systems.values()]
        values = [column for column in columns if column is not None]
        if len(values) == len(columns):
            sums[index] = measure_sums(measure, np.column_stack(values))
    return sums


@dataclass(frozen=True, eq=False)
class PairTask:
    """Row-wise differences between systems in a batch, without other results."""

    influence_task: InfluenceTask
    pairs: Sequence[SystemPair]
    total_weight: float

    def __call__(self, batch: Any) -> PairDifferences:
        """Compute the differences of a batch."""
        systems = self.influence_task.build(batch).systems
        requests = {(name, pair.measure) for pair in self.pairs for name in pair.systems}
        influences = self.influence_task.influences(systems, requests)
        return PairDifferences.from_batch(
            self.pairs, systems, influences, self.total_weight, self.influence_task.statistics
        )


def _influence_kind(influence: Influence) -> InfluenceKind:
    variance_estimator = influence.variance_estimator
    return InfluenceKind(
        influence.name,
        variance_estimator.df,
        isinstance(variance_estimator, TwoClassVariance) and variance_estimator.is_pairwise,
    )


@dataclass(frozen=True, eq=False)
class SquaredNorm(Mergeable):
    """Sum of squares."""

    squares: float

    def __add__(self, other: SquaredNorm) -> SquaredNorm:
        return SquaredNorm(self.squares + other.squares)


@dataclass(frozen=True, eq=False)
class _LinearCombination:
    influence_task: InfluenceTask
    combination: FloatArray

    def __call__(self, batch: Any) -> SquaredNorm:
        columns = zip(
            self.combination, gram_columns(self.influence_task(batch)).values(), strict=True
        )
        combined = np.asarray(sum(factor * column for factor, column in columns if factor))
        return SquaredNorm(dot(combined, combined))
