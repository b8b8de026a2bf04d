"""One process: memory is one batch, a stream is many, and there is no second implementation.

Pass one adds up the statistics of the batches, which are all that values need. Pass two maps each
row to its influence, given the statistics of all rows, and keeps inner products of these, k² for k
readings, or sums by cluster where rows come in clusters. What comes out of it is influence as that
of rows in memory is, an element of a space whose norm is the standard error, and the algebra of
readings takes it as it is. It is made when something asks for it: the error of most numbers of one
system follows from the statistics.

Batches are worked on by several threads and added up in their order, so that no digit depends on
how many there are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from calipers.inference import intervals
from calipers.inference.clusters import Clusters
from calipers.inference.spaces import ByClass, Influence, Space
from calipers.once import cached_property
from calipers.readings.whole import applied, of_statistic
from calipers.statistics.base import dot, kish

if TYPE_CHECKING:
    from calipers.inference.reading import Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, Statistic
    from calipers.systems.base import System

#: A number of a system: its name, and the measure.
Asked: TypeAlias = "tuple[str, Measure]"

#: A variance is looked for once more below this share of the parts that it is made of.
CANCELS = 1e-10

T = TypeVar("T", bound=Any)
R = TypeVar("R")


def _itself(given: Any) -> Any:
    return given


@dataclass(eq=False)
class Sum(Generic[T]):
    """A sum of what adds up, of as many parts with as many, so that long ones meet long ones."""

    #: What a sum is made of before it is kept, so that it stays within bounds.
    kept: Callable[[T], T] = _itself
    _parts: list[tuple[int, T]] = field(default_factory=list)

    def add(self, part: T) -> None:
        """One more."""
        size = 1
        while self._parts and self._parts[-1][0] <= size:
            of, before = self._parts.pop()
            size, part = size + of, self.kept(before + part)
        self._parts.append((size, part))

    @property
    def total(self) -> T:
        """All of them; of one part that part."""
        while len(self._parts) > 1:
            (size, part), (of, before) = self._parts.pop(), self._parts.pop()
            self._parts.append((size + of, self.kept(before + part)))
        return self._parts[-1][1]


def ordered(work: Callable[[Any], R], items: Iterable[Any], threads: int) -> Iterator[R]:
    """What work makes of each item, in their order; some are worked on at once, and no more are
    taken than that.

    >>> list(ordered(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    if threads < 2:
        yield from map(work, items)
        return
    pool, waiting = ThreadPoolExecutor(threads), deque[Future[R]]()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, eq=False)
class Passed:
    """What one pass finds: statistics of all rows, how many rows there are, and what they weigh.
    ``like`` are the systems without rows."""

    statistics: Mapping[Asked, Statistic]
    like: Mapping[str, System]
    rows: int
    weight: Weighed


@dataclass(frozen=True)
class Weighed:
    """Σw, Σw², the least and the largest weight of rows; of rows that count once, their number."""

    total: float
    squares: float
    least: float = 1.0
    most: float = 1.0

    @classmethod
    def of(cls, weight: FloatArray | None, rows: int) -> Weighed:
        """Of some rows."""
        if weight is None or not rows:
            return cls(float(rows), float(rows))
        ends = float(weight.min()), float(weight.max())
        return cls(float(weight.sum()), dot(weight, weight), *ends)

    def __add__(self, other: Weighed) -> Weighed:
        sums = self.total + other.total, self.squares + other.squares
        return Weighed(*sums, min(self.least, other.least), max(self.most, other.most))

    @property
    def uneven(self) -> bool:
        """Whether rows weigh differently."""
        return self.least < self.most


@dataclass(frozen=True, eq=False)
class Local:
    """Systems by name on the same rows, and the measures that are asked for.

    ``batches`` gives some rows at a time, the same ones in every pass, and ``build`` makes systems
    of them, in so many ``threads``. Where the source can be read but once, ``again`` is false, and
    there is no second pass. ``bounded`` keeps a sum of statistics from growing without end.
    """

    batches: Callable[[], Iterable[Any]]
    measures: Sequence[Measure]
    #: The systems on all rows, where these are in memory.
    memory: Mapping[str, System] | None = None
    build: Callable[[Any], Mapping[str, System]] = _itself
    threads: int = 1
    again: bool = True
    bounded: Callable[[Any], Any] = _itself

    @classmethod
    def of_memory(cls, systems: Mapping[str, System], measures: Sequence[Measure]) -> Local:
        """All rows, as one batch."""
        return cls(lambda: (systems,), measures, systems)

    def reading(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> Reading | None:
        """A number of all rows and how it varies: from the rows, where they are in memory; else
        from what was added up, for which influence is known but no replicates are."""
        if self.memory is not None:
            return self.memory[system].reading(measure)
        asked, passed = (system, measure), self.passed
        if asked not in passed.statistics:
            return None
        like, statistic = passed.like[system], passed.statistics[asked]
        own, settings = like.asked(measure)[1], settings or like.settings
        made = of_statistic(own, statistic, settings, passed.rows)
        if made is None:
            return None
        sizes = made.sizes() or (kish(passed.weight.total, passed.weight.squares),)
        clustered = like.clusters is not None
        error, clusters = made.error, None
        if clustered:
            found = self.influences.get(asked)
            clusters = None if found is None else found.space.clusters
            error = None if found is None else lambda: replace(found.error, name="delta")
        elif error is None and not self.again:
            error = partial(intervals.missing, "none", "one_pass")
        return replace(
            made,
            influence=lambda: self.influences.get(asked),
            error=error,
            uneven=passed.weight.uneven,
            clusters=clusters,
            sizes=lambda: sizes,
            methods={} if clustered else made.methods,
            reduced=True,
            law=None,
            replicates=None,
            stratified=None,
            studentised=None,
            jackknife=None,
        )

    def each(self, work: Callable[[Mapping[str, System]], R]) -> Iterator[R]:
        """What work makes of the systems on each batch, in their order."""
        return ordered(lambda batch: work(self.build(batch)), self.batches(), self.threads)

    # --- Pass one --------------------------------------------------------------------------------

    @cached_property
    def passed(self) -> Passed:
        """What the first pass finds."""
        batches = iter(self.batches())
        first = next(batches)
        systems = self.build(first)
        same = self._shared(systems)
        like = {name: system.taken(np.arange(0)) for name, system in systems.items()}
        del systems

        def work(batch: Any) -> tuple[int, Weighed, dict[int, Statistic]]:
            systems = self.build(batch)
            one = next(iter(systems.values()))
            found: dict[int, Statistic] = {}
            for (name, measure), number in same.items():
                if number not in found:
                    statistic = systems[name].added(measure)
                    assert statistic is not None
                    found[number] = statistic
            return one.number, Weighed.of(one.weight, one.number), found

        rows, weights = 0, Sum[Weighed]()
        sums: dict[int, Sum[Statistic]] = {number: Sum(self.bounded) for number in same.values()}
        for number_of_rows, weight, found in ordered(work, chain([first], batches), self.threads):
            rows += number_of_rows
            weights.add(weight)
            for number, statistic in found.items():
                sums[number].add(statistic)
        totals = {number: of.total for number, of in sums.items()}
        return Passed({asked: totals[n] for asked, n in same.items()}, like, rows, weights.total)

    @property
    def statistics(self) -> Mapping[Asked, Statistic]:
        """What each measure is a formula over, of all rows; nothing of measures that take more than
        one statistic."""
        return self.passed.statistics

    def _shared(self, batch: Mapping[str, System]) -> dict[Asked, int]:
        """A number for the statistic of each measure, the same where measures share one."""
        asked = [(name, measure) for name in batch for measure in self.measures]
        found = [batch[name].added(measure) for name, measure in asked]  # and so all are alive
        pairs = zip(asked, found, strict=True)
        return {asked: id(statistic) for asked, statistic in pairs if statistic is not None}

    @cached_property
    def values(self) -> dict[Asked, float]:
        """The value of each measure."""
        return {asked: self._value(*asked) for asked in self.statistics}

    def _value(self, system: str, measure: Measure) -> float:
        found = self.reading(system, measure)
        if found is not None:
            return found.value
        statistic = self.statistics[system, measure]
        own = self.passed.like[system].asked(measure)[1]
        return float(applied(own, statistic).apply(statistic))

    # --- Pass two --------------------------------------------------------------------------------

    def rows(self) -> Iterator[dict[Asked, Influence]]:
        """How much each row of a batch moves each number, as far as that is known."""
        return self.each(self._moved)

    def _moved(self, batch: Mapping[str, System]) -> dict[Asked, Influence]:
        found = {
            (name, measure): batch[name].influence(measure, whole)
            for (name, measure), whole in self.statistics.items()
        }
        return {asked: of for asked, of in found.items() if of is not None}

    @cached_property
    def influences(self) -> Mapping[Asked, Influence]:
        """How all rows move each number; nothing where there is no second look at them."""
        if not self.again:
            return {}
        products: Sum[FloatArray] = Sum()
        by_cluster: dict[Asked, Sum[FloatArray]] = {}
        last: dict[Asked, Influence] = {}

        def work(batch: Mapping[str, System]) -> tuple[dict[Asked, Influence], Any]:
            moved = self._moved(batch)
            if any(of.space.clusters is not None for of in moved.values()):
                return _ends(moved), {own: _sums(of) for own, of in moved.items()}
            columns = list(_columns(moved).values())
            return _ends(moved), _products(columns) if columns else None

        for last, found in self.each(work):
            if isinstance(found, dict):
                for own, sums in found.items():
                    by_cluster.setdefault(own, Sum()).add(sums)
            elif found is not None:
                products.add(found)
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

        def work(batch: Mapping[str, System]) -> float:
            columns = zip(combination, _columns(self._moved(batch)).values(), strict=True)
            of = np.asarray(sum(factor * column for factor, column in columns if factor))
            return dot(of, of)

        total: Sum[float] = Sum()
        for of in self.each(work):
            total.add(of)
        return total.total


def _ends(moved: Mapping[Asked, Influence]) -> dict[Asked, Influence]:
    """The influences without their rows, which only say what space they are of."""
    none = np.zeros(0)
    return {own: replace(of, column=none) for own, of in moved.items()}


def _products(columns: Sequence[FloatArray]) -> FloatArray:
    """Inner products of each pair, each on one thread (BLAS takes all of them)."""
    out = np.zeros((len(columns), len(columns)))
    for j, one in enumerate(columns):
        for k, other in enumerate(columns[: j + 1]):
            out[j, k] = out[k, j] = dot(one, other)
    return out


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

    def vector(self, column: FloatArray) -> FloatArray:
        """By a root of the inner products."""
        return np.asarray(column @ self._root)

    @cached_property
    def _root(self) -> FloatArray:
        values, sides = np.linalg.eigh(self.products)
        return np.asarray(sides * np.sqrt(np.maximum(values, 0.0)))

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
