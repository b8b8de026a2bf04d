"""Tasks for a batch in either pass: everything that is sent to another process and back."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.engines.accumulators import WeightMoments
from calipers.engines.base import Mergeable
from calipers.engines.gram_matrix import Asked, gram_columns, inner_products, sums_by_cluster
from calipers.engines.paired_differences import Pair, PairDifferences
from calipers.estimation.counts import ClassCounts
from calipers.inference.variance_estimators import Influence, TwoClassVariance
from calipers.statistics import ClassTables, ConfusionMatrix
from calipers.statistics.base import dot
from calipers.statistics.serialization import from_bytes, to_bytes

if TYPE_CHECKING:
    from calipers.statistics import FloatArray, IntArray, Statistic
    from calipers.systems.base import SystemOutput


#: Cells of several classes are added up by cluster where they are no more than so many.
MOST_BY_CLUSTER = 2_000_000


@dataclass(frozen=True, eq=False)
class BatchSystems:
    """Systems on the rows of a batch, and the number of dropped rows."""

    systems: Mapping[str, SystemOutput]
    lost: int = 0
    #: The numbers of its rows in the whole, where somebody looks at rows.
    numbers: IntArray | None = None


@dataclass(frozen=True, eq=False)
class FirstPassResult(Mergeable):
    """Result of the first pass.

    It has the statistics of all rows, the numbers of rows and of dropped rows, and the moments of
    the weights. ``beside`` is an auxiliary result, and ``seen`` has the rows that were inspected.
    """

    statistics: Mapping[int, Statistic]
    rows: int
    lost: int
    weight: WeightMoments
    clustered: bool
    beside: Any
    seen: Any = 0

    def __add__(self, other: FirstPassResult) -> FirstPassResult:
        statistics = {k: of + other.statistics[k] for k, of in self.statistics.items()}
        return FirstPassResult(
            statistics,
            self.rows + other.rows,
            self.lost + other.lost,
            self.weight + other.weight,
            self.clustered,
            self.beside + other.beside,
            self.seen + other.seen,
        )

    def settled(self, bounded: Callable[[Any], Any]) -> FirstPassResult:
        """Return the result with final statistics, whose size is limited by ``bounded``."""
        return self._each(lambda of: bounded(of.finalize()))

    def _each(self, change: Callable[[Any], Any]) -> FirstPassResult:
        return replace(self, statistics={k: change(of) for k, of in self.statistics.items()})


@dataclass(frozen=True, eq=False)
class BoundStatistics:
    """Function that limits the size of the statistics of a pass."""

    bounded: Callable[[Any], Any]

    def __call__(self, passed: FirstPassResult) -> FirstPassResult:
        """Return the result with limited statistics."""
        return passed._each(self.bounded)


@dataclass(frozen=True, eq=False)
class FirstPass:
    """First pass: computes the statistics of a batch, under the numbers given in ``asked``."""

    build: Callable[[Any], BatchSystems]
    asked: Mapping[Asked, int]
    beside: Callable[[Mapping[str, SystemOutput]], Any]
    looks: Callable[[BatchSystems], Any] | None = None

    def __call__(self, batch: Any) -> FirstPassResult:
        """Compute the statistics of a batch."""
        built = self.build(batch)
        systems = built.systems
        one = next(iter(systems.values()))
        found: dict[int, Statistic] = {}
        for (name, measure), number in self.asked.items():
            if number not in found:
                statistic = systems[name].batch_statistic(measure)
                assert statistic is not None
                found[number] = statistic
        weight, clustered = (
            WeightMoments.from_rows(one.weight, one.n_rows),
            one.clusters is not None,
        )
        seen = 0 if self.looks is None or built.numbers is None else self.looks(built)
        beside = self.beside(systems)
        return FirstPassResult(found, one.n_rows, built.lost, weight, clustered, beside, seen)


@dataclass(frozen=True, eq=False)
class InfluenceTask:
    """Influence values of the rows of a batch, given the statistics of all rows."""

    build: Callable[[Any], BatchSystems]
    whole: Mapping[Asked, Statistic]

    def __call__(self, batch: Any) -> dict[Asked, Influence]:
        """Compute the influence values of a batch."""
        return self.of(self.build(batch).systems)

    def of(
        self, systems: Mapping[str, SystemOutput], some: Container[Asked] | None = None
    ) -> dict[Asked, Influence]:
        """Compute the influence values for the systems on a batch, or for ``some`` values only."""
        found = {
            (name, measure): systems[name].influence(measure, whole)
            for (name, measure), whole in self.whole.items()
            if some is None or (name, measure) in some
        }
        return {asked: of for asked, of in found.items() if of is not None}

    def seconds(self, systems: Mapping[str, SystemOutput]) -> dict[int, Statistic]:
        """Return the statistics that values need from a second pass, by index of the value."""
        found = (systems[name].second(measure, of) for (name, measure), of in self.whole.items())
        return {place: of for place, of in enumerate(found) if of is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        # Statistics travel as those that come back do, in a fraction of the bytes.
        return _make_influence_task, (
            self.build,
            list(self.whole),
            to_bytes(list(self.whole.values())),
        )

    def norm(self, combination: FloatArray) -> Callable[[Any], SquaredNorm]:
        """Return a function for the squared norm of a combination of the stored columns."""
        return _LinearCombination(self, combination)


def _make_influence_task(
    build: Callable[[Any], BatchSystems], asked: Sequence[Asked], whole: bytes
) -> InfluenceTask:
    return InfluenceTask(build, dict(zip(asked, from_bytes(whole), strict=True)))


@dataclass(frozen=True, eq=False)
class InfluenceKind(Mergeable):
    """Name of an influence function, and the kind of its variance estimator."""

    name: str
    degrees: float | None
    pairs: bool


@dataclass(frozen=True, eq=False)
class SecondPassResult(Mergeable):
    """Result of the second pass.

    It has the kind of influence of each value, by index; the inner products of columns, or the sums
    by cluster of each; and the row-wise differences of pairs of systems.
    """

    spaces: Mapping[int, InfluenceKind]
    products: FloatArray
    sums: Mapping[int, FloatArray]
    pairs: PairDifferences
    #: Of averages over classes, the sums of cubes of columns.
    cubes: Mapping[int, float]
    #: Of several classes what the rows of each cluster in each cell weigh, shape (C, K·K).
    cells: Mapping[int, FloatArray]
    #: What some numbers take of a second look beside it.
    seconds: Mapping[int, Statistic]

    def __add__(self, other: SecondPassResult) -> SecondPassResult:
        sums = {k: of + other.sums[k] for k, of in self.sums.items()}
        cubes = {k: of + other.cubes[k] for k, of in self.cubes.items()}
        products = self.products + other.products
        cells = {k: of + other.cells[k] for k, of in self.cells.items()}
        seconds = {k: of + other.seconds[k] for k, of in self.seconds.items()}
        pairs = self.pairs + other.pairs
        return SecondPassResult(other.spaces, products, sums, pairs, cubes, cells, seconds)


@dataclass(frozen=True, eq=False)
class SecondPass:
    """Second pass: accumulates influence values, and the differences of ``pairs`` of systems.

    ``total`` is the total weight of all rows.
    """

    moving: InfluenceTask
    pairs: Sequence[Pair] = ()
    total: float = 0.0

    def __call__(self, batch: Any) -> SecondPassResult:
        """Compute the influence values and differences of a batch."""
        systems = self.moving.build(batch).systems
        moved, seconds = self.moving.of(systems), self.moving.seconds(systems)
        pairs = PairDifferences.from_batch(
            self.pairs, systems, moved, self.total, self.moving.whole
        )
        places = {asked: k for k, asked in enumerate(self.moving.whole)}
        spaces = {places[asked]: _influence_kind(of) for asked, of in moved.items()}
        if any(of.space.clusters is not None for of in moved.values()):
            sums = {places[asked]: sums_by_cluster(of) for asked, of in moved.items()}
            cells = self._cells(systems, moved)
            return SecondPassResult(spaces, np.zeros((0, 0)), sums, pairs, {}, cells, seconds)
        cubes = {
            places[asked]: float(np.power(of.corrected.column, 3).sum())
            for asked, of in moved.items()
            if isinstance(self.moving.whole[asked], ClassTables)
        }
        products = inner_products(list(gram_columns(moved).values()))
        return SecondPassResult(spaces, products, {}, pairs, cubes, {}, seconds)

    def _cells(
        self, systems: Mapping[str, SystemOutput], moved: Mapping[Asked, Influence]
    ) -> dict[int, FloatArray]:
        """Return the weights of the rows of each cluster in each cell of a confusion matrix.

        They are computed once for all measures of a matrix, unless they need too much memory.
        """
        seen: set[int] = set()
        found: dict[int, FloatArray] = {}
        for place, (asked, whole) in enumerate(self.moving.whole.items()):
            if not isinstance(whole, ConfusionMatrix) or whole.classes < 3:
                continue
            if asked not in moved or id(whole) in seen:
                continue
            seen.add(id(whole))
            one, own = systems[asked[0]].delegate(asked[1])
            counts, k = one.sample_for(own), whole.classes
            if isinstance(counts, ClassCounts) and counts.clusters is not None:
                size = counts.clusters.size
                if size * k * k <= MOST_BY_CLUSTER:
                    cells = counts.clusters.matrices(counts.cells.flat, (k, k))
                    found[place] = np.asarray(cells, np.float64).reshape(size, k * k)
        return found


@dataclass(frozen=True, eq=False)
class PairTask:
    """Row-wise differences between systems in a batch, without other results."""

    moving: InfluenceTask
    pairs: Sequence[Pair]
    total: float

    def __call__(self, batch: Any) -> PairDifferences:
        """Compute the differences of a batch."""
        systems = self.moving.build(batch).systems
        needed = {(name, pair.measure) for pair in self.pairs for name in pair.systems}
        moved = self.moving.of(systems, needed)
        return PairDifferences.from_batch(self.pairs, systems, moved, self.total, self.moving.whole)


def _influence_kind(of: Influence) -> InfluenceKind:
    space = of.space
    return InfluenceKind(
        of.name, space.df, isinstance(space, TwoClassVariance) and space.is_pairwise
    )


@dataclass(frozen=True, eq=False)
class SquaredNorm(Mergeable):
    """Sum of squares."""

    squares: float

    def __add__(self, other: SquaredNorm) -> SquaredNorm:
        return SquaredNorm(self.squares + other.squares)


@dataclass(frozen=True, eq=False)
class _LinearCombination:
    moving: InfluenceTask
    combination: FloatArray

    def __call__(self, batch: Any) -> SquaredNorm:
        columns = zip(self.combination, gram_columns(self.moving(batch)).values(), strict=True)
        of = np.asarray(sum(factor * column for factor, column in columns if factor))
        return SquaredNorm(dot(of, of))
