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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from calipers.engines.adding import Sum, Weighed, itself, ordered
from calipers.engines.reduced import (
    Asked,
    Reduced,
    as_combination,
    inner_products,
    kept_columns,
    of_clusters,
    sums_by_cluster,
    without_rows,
)
from calipers.inference import intervals
from calipers.inference.spaces import Influence
from calipers.once import cached_property
from calipers.readings.whole import applied, of_statistic
from calipers.statistics import ScoreTable
from calipers.statistics.base import dot, kish

if TYPE_CHECKING:
    from calipers.inference.intervals import Interval
    from calipers.inference.reading import Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, Statistic
    from calipers.systems.base import System

#: The influence of rows is looked up in tables of so many scores at most: where there are more,
#: errors are right to a millionth or so.
MOST_CELLS = 1 << 20

R = TypeVar("R")


def _of_one_pass() -> Interval:
    """Of what needs a second look and cannot have it."""
    return intervals.missing("none", "one_pass")


@dataclass(frozen=True, eq=False)
class Passed:
    """What one pass finds: statistics of all rows, how many rows there are, and what they weigh.
    ``like`` are the systems without rows, ``beside`` what was asked for besides."""

    statistics: Mapping[Asked, Statistic]
    like: Mapping[str, System]
    rows: int
    weight: Weighed
    beside: Any


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
    build: Callable[[Any], Mapping[str, System]] = itself
    threads: int = 1
    again: bool = True
    bounded: Callable[[Any], Any] = itself
    #: What else is added up of every batch, whatever the measures.
    beside: Callable[[Mapping[str, System]], Any] = lambda systems: 0

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
            error = None if found is None else lambda: found.error
        elif error is None and not self.again:
            error = _of_one_pass
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

        def work(batch: Any) -> tuple[int, Weighed, Any, dict[int, Statistic]]:
            systems = self.build(batch)
            one = next(iter(systems.values()))
            found: dict[int, Statistic] = {}
            for (name, measure), number in same.items():
                if number not in found:
                    statistic = systems[name].added(measure)
                    assert statistic is not None
                    found[number] = statistic
            weight = Weighed.of(one.weight, one.number)
            return one.number, weight, self.beside(systems), found

        rows, weights, besides = 0, Sum[Weighed](), Sum[Any]()
        sums: dict[int, Sum[Statistic]] = {number: Sum(self.bounded) for number in same.values()}
        done = ordered(work, chain([first], batches), self.threads)
        for number_of_rows, weight, beside, found in done:
            rows += number_of_rows
            weights.add(weight)
            besides.add(beside)
            for number, statistic in found.items():
                sums[number].add(statistic)
        totals = {number: self.bounded(of.total.settled()) for number, of in sums.items()}
        statistics = {asked: totals[n] for asked, n in same.items()}
        return Passed(statistics, like, rows, weights.total, besides.total)

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

    @cached_property
    def _looked_up(self) -> Mapping[Asked, Statistic]:
        """The statistics of all rows as rows are looked up in them."""
        few: dict[int, Statistic] = {}
        for of in self.statistics.values():
            if id(of) not in few:
                few[id(of)] = of.compress(MOST_CELLS) if isinstance(of, ScoreTable) else of
        return {asked: few[id(of)] for asked, of in self.statistics.items()}

    def _moved(self, batch: Mapping[str, System]) -> dict[Asked, Influence]:
        found = {
            (name, measure): batch[name].influence(measure, whole)
            for (name, measure), whole in self._looked_up.items()
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
                return without_rows(moved), {own: sums_by_cluster(of) for own, of in moved.items()}
            columns = list(kept_columns(moved).values())
            return without_rows(moved), inner_products(columns) if columns else None

        for moved, found in self.each(work):
            last = moved
            if isinstance(found, dict):
                for own, sums in found.items():
                    by_cluster.setdefault(own, Sum()).add(sums)
            elif found is not None:
                products.add(found)
        if by_cluster or not last:
            return {own: of_clusters(last[own], of.total) for own, of in by_cluster.items()}
        space, known = Reduced(products=products.total, again=self._again), list(last)
        return {
            own: Influence(
                as_combination(own, known), replace(space, freedom=of.space.degrees), of.name
            )
            for own, of in last.items()
        }

    def _again(self, combination: FloatArray) -> float:
        """The squared norm of one combination of the columns, added up row by row in a pass of its
        own."""

        def work(batch: Mapping[str, System]) -> float:
            columns = zip(combination, kept_columns(self._moved(batch)).values(), strict=True)
            of = np.asarray(sum(factor * column for factor, column in columns if factor))
            return dot(of, of)

        total: Sum[float] = Sum()
        for of in self.each(work):
            total.add(of)
        return total.total
