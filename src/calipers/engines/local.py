"""One process: memory is one batch, a stream is many, and there is no second implementation.

Pass one adds up the statistics of the batches, which are all that values need. Pass two maps each
row to its influence, given the statistics of all rows, and keeps inner products of these, k² for k
readings, or sums by cluster where rows come in clusters. What comes out of it is influence as that
of rows in memory is, an element of a space whose norm is the standard error, and the algebra of
readings takes it as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from calipers.inference.clusters import Clusters
from calipers.inference.spaces import ByClass, Influence, Space
from calipers.once import cached_property
from calipers.readings.whole import applied, of_statistic
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.inference.reading import Reading
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, Statistic
    from calipers.systems.base import System

#: A number of a system: its name, and the measure.
Asked: TypeAlias = "tuple[str, Measure]"

#: A variance is looked for once more below this share of the parts that it is made of.
CANCELS = 1e-10

T = TypeVar("T", bound=Any)


@dataclass(eq=False)
class Sum(Generic[T]):
    """A sum of what adds up, of as many parts with as many, so that long ones meet long ones."""

    _parts: list[tuple[int, T]] = field(default_factory=list)

    def add(self, part: T) -> None:
        """One more."""
        size = 1
        while self._parts and self._parts[-1][0] <= size:
            of, before = self._parts.pop()
            size, part = size + of, before + part
        self._parts.append((size, part))

    @property
    def total(self) -> T:
        """All of them; of one part that part."""
        total = self._parts[-1][1]
        for _, part in reversed(self._parts[:-1]):
            total = part + total
        return total


@dataclass(frozen=True, eq=False)
class Local:
    """Systems by name on the same rows, of which ``batches`` gives some at a time, the same ones
    in every pass; and the measures that are asked for."""

    batches: Callable[[], Iterable[Mapping[str, System]]]
    measures: Sequence[Measure]
    #: The systems on all rows, where these are in memory.
    memory: Mapping[str, System] | None = None

    @classmethod
    def of_memory(cls, systems: Mapping[str, System], measures: Sequence[Measure]) -> Local:
        """All rows, as one batch."""
        return cls(lambda: (systems,), measures, systems)

    def reading(self, system: str, measure: Measure) -> Reading | None:
        """A number of all rows and how it varies: from the rows, where they are in memory; else
        from what was added up, for which influence is known but no replicates are."""
        if self.memory is not None:
            return self.memory[system].reading(measure)
        asked = system, measure
        if asked not in self.statistics:
            return None
        first = next(iter(self.batches()))[system]
        own = first.asked(measure)[1]
        made = of_statistic(own, self.statistics[asked], first.settings, self.rows_in_all)
        if made is None or asked not in self.influences:
            return made
        found = self.influences[asked]
        clustered = first.clusters is not None
        return replace(
            made,
            influence=lambda: found,
            error=(lambda: replace(found.error, name="delta")) if clustered else made.error,
            weight=first.weight,
            clusters=found.space.clusters,
            methods={} if clustered else made.methods,
            law=None,
            replicates=None,
            stratified=None,
            studentised=None,
            jackknife=None,
        )

    @cached_property
    def rows_in_all(self) -> int:
        """How many rows there are."""
        return sum(next(iter(batch.values())).number for batch in self.batches())

    # --- Pass one --------------------------------------------------------------------------------

    @cached_property
    def statistics(self) -> dict[Asked, Statistic]:
        """What each measure is a formula over, of all rows; nothing of measures that take more than
        one statistic."""
        sums: dict[int, Sum[Statistic]] = {}
        same: dict[Asked, int] = {}  # measures of one statistic, which is added up once
        for batch in self.batches():
            if not same:
                same = self._shared(batch)
            done = set()
            for (name, measure), number in same.items():
                if number not in done:
                    done.add(number)
                    found = batch[name].statistic(measure)
                    assert found is not None
                    sums.setdefault(number, Sum()).add(found)
        totals = {number: of.total for number, of in sums.items()}
        return {asked: totals[number] for asked, number in same.items()}

    def _shared(self, batch: Mapping[str, System]) -> dict[Asked, int]:
        """A number for the statistic of each measure, the same where measures share one."""
        asked = [(name, measure) for name in batch for measure in self.measures]
        found = [batch[name].statistic(measure) for name, measure in asked]  # and so all are alive
        pairs = zip(asked, found, strict=True)
        return {asked: id(statistic) for asked, statistic in pairs if statistic is not None}

    @cached_property
    def values(self) -> dict[Asked, float]:
        """The value of each measure."""
        first = next(iter(self.batches()))
        return {
            (name, measure): float(
                applied(first[name].asked(measure)[1], statistic).apply(statistic)
            )
            for (name, measure), statistic in self.statistics.items()
        }

    # --- Pass two --------------------------------------------------------------------------------

    def rows(self) -> Iterator[dict[Asked, Influence]]:
        """How much each row of a batch moves each number, as far as that is known."""
        for batch in self.batches():
            found = {
                (name, measure): batch[name].influence(measure, whole)
                for (name, measure), whole in self.statistics.items()
            }
            yield {asked: of for asked, of in found.items() if of is not None}

    @cached_property
    def influences(self) -> dict[Asked, Influence]:
        """How all rows move each number."""
        products: Sum[FloatArray] = Sum()
        by_cluster: dict[Asked, Sum[FloatArray]] = {}
        last: dict[Asked, Influence] = {}
        for last in self.rows():
            if any(of.space.clusters is not None for of in last.values()):
                for own, of in last.items():
                    by_cluster.setdefault(own, Sum()).add(_sums(of))
            elif last:
                columns = np.column_stack(list(_columns(last).values()))
                products.add(np.einsum("ni,nj->ij", columns, columns))
        if by_cluster or not last:
            return {own: _of_clusters(last[own], of.total) for own, of in by_cluster.items()}
        space, known = Reduced(products=products.total, again=self._again), list(last)
        return {
            own: Influence(_parts(own, known), replace(space, freedom=of.space.degrees), of.name)
            for own, of in last.items()
        }

    def _again(self, combination: FloatArray) -> float:
        """The squared norm of one combination of the columns, added up row by row in a pass of its
        own."""
        total = 0.0
        for found in self.rows():
            columns = zip(combination, _columns(found).values(), strict=True)
            of = sum(factor * column for factor, column in columns if factor)
            total += dot(np.asarray(of), np.asarray(of))
        return total


def _reference(own: Asked, asked: Iterable[Asked]) -> Asked:
    """The first system that has a number of the same measure: of all others the difference from
    it is kept, since squares know no difference of two numbers that are nearly equal."""
    return next(other for other in asked if other[1] == own[1])


def _columns(found: Mapping[Asked, Influence]) -> dict[Asked, FloatArray]:
    """The columns whose inner products are kept: of each measure one reference, and the differences
    of the others from it."""
    plain = {asked: of.plain.column for asked, of in found.items()}
    out = {}
    for asked, column in plain.items():
        reference = _reference(asked, plain)
        out[asked] = column if reference == asked else column - plain[reference]
    return out


def _parts(own: Asked, asked: Sequence[Asked]) -> FloatArray:
    """A number as a combination of these columns."""
    reference = _reference(own, asked)
    return np.array([float(other in (own, reference)) for other in asked])


@dataclass(frozen=True, eq=False)
class Reduced(Space):
    """Influence as a combination of columns of which the inner products are known."""

    products: FloatArray = field(kw_only=True)
    #: The squared norm, in another pass, where inner products say too little.
    again: Callable[[FloatArray], float] = field(kw_only=True)
    freedom: float | None = field(kw_only=True, default=None)

    @property
    def degrees(self) -> float | None:
        """Those that rows have in memory."""
        return self.freedom

    def error(self, column: FloatArray) -> float:
        """The norm."""
        parts = np.abs(column) @ np.abs(self.products) @ np.abs(column)
        squares = float(column @ self.products @ column)
        if squares < CANCELS * parts:
            squares = self.again(column)
        return math.sqrt(squares)

    def moved(self, column: FloatArray) -> FloatArray:
        """Rows are gone."""
        raise NotImplementedError("the rows of a stream are gone")

    def like(self, other: Space) -> bool:
        """Whether they are the same columns."""
        return isinstance(other, Reduced) and other.products is self.products


@dataclass(frozen=True, eq=False)
class OfClusters(ByClass):
    """Influence added up by cluster, of positive and of negative rows apart where these count
    apart: each such sum is as good as a row."""

    def corrected(self, column: FloatArray) -> FloatArray:
        """The same: what the plain norm is corrected by is the number of clusters."""
        return column

    def like(self, other: Space) -> bool:
        """Whether both are sums of the same rows, by the same classes."""
        if not isinstance(other, OfClusters) or self.clusters is None or other.clusters is None:
            return False
        return (
            self.clusters.weight is not None
            and self.pairs == other.pairs
            and np.array_equal(
                self.clusters.weight,
                other.clusters.weight,  # type: ignore[arg-type]
            )
        )


def _sums(of: Influence) -> FloatArray:
    """By cluster what its rows move, and their weight, shape (2, 2·C), of the second half of which
    are the positive rows where there are classes."""
    space, clusters = of.space, of.space.clusters
    assert clusters is not None
    split = space.positive if isinstance(space, ByClass) else np.zeros(len(clusters.code), bool)
    place = clusters.code + split * np.int64(clusters.size)
    columns = of.moved, np.ones(len(place)) if space.weight is None else space.weight
    return np.stack([np.bincount(place, column, 2 * clusters.size) for column in columns])


def _of_clusters(of: Influence, sums: FloatArray) -> Influence:
    moved, weight = sums
    size = len(moved) // 2
    place = np.arange(2 * size)
    clusters = Clusters((place % size).astype(np.uint32), size, weight)
    pairs = isinstance(of.space, ByClass) and of.space.pairs
    space = OfClusters(None, clusters, positive=place >= size, pairs=pairs)
    return replace(of, column=moved, space=space)
