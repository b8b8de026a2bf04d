"""Slices of a stream: every measure on each, and each against the rest, from the same passes.

Pass one adds up the statistics of all rows and of each slice; those of the rest of a slice are the
sum over the others. Where rows are independent, that is all that most differences take. Where they
come in clusters, and for what takes a second look anyway, one more pass has the influences of the
slices and of the rests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError
from calipers.engines.base import Engine, Partial, itself
from calipers.engines.pass_tasks import Bounded, Built, First, Passed, Second
from calipers.engines.passes import Passes
from calipers.evaluate.cuts import MOST_SLICES, too_many
from calipers.evaluate.stream_memory import Within
from calipers.once import cached_property

if TYPE_CHECKING:
    from calipers.data.streams import Batch
    from calipers.evaluate.stream_cuts import Slicing
    from calipers.evaluate.stream_rows import BuildSystems
    from calipers.inference.point_estimate import Reading
    from calipers.inference.settings import Settings
    from calipers.inference.two_samples import Anew
    from calipers.measures import Measure


# --- Several pieces of a batch at once -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Each(Partial):
    """What is known of several pieces."""

    parts: tuple[Any, ...]

    def __add__(self, other: Each) -> Each:
        return Each(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Systems on all rows of a batch, then on each slice; and, if asked, on the rest of each."""

    builds: BuildSystems
    cuts: Sequence[Slicing]
    rests: bool = False

    def __call__(self, batch: Batch) -> list[Built]:
        """Of a batch."""
        rows, whole = self.builds.both(batch)
        codes = [cut.codes(rows.slices)[rows.counted] for cut in self.cuts]
        insides = [
            code == k
            for cut, code in zip(self.cuts, codes, strict=True)
            for k in range(len(cut.names))
        ]
        pieces = [*insides, *(~inside for inside in insides)] if self.rests else insides
        return [whole, *(self._taken(whole, np.flatnonzero(of)) for of in pieces)]

    @staticmethod
    def _taken(whole: Built, rows: Any) -> Built:
        return Built({name: system.taken(rows) for name, system in whole.systems.items()})


@dataclass(frozen=True)
class Pick:
    """One of the pieces."""

    which: int

    def __call__(self, pieces: Sequence[Built]) -> Built:
        """Of all of them."""
        return pieces[self.which]


@dataclass(frozen=True, eq=False)
class Together:
    """Several works on the pieces of a batch, which are made once."""

    pieces: Pieces
    works: Sequence[Callable[[Sequence[Built]], Partial]]

    def __call__(self, batch: Batch) -> Each:
        """Of a batch."""
        made = self.pieces(batch)
        return Each(tuple(work(made) for work in self.works))


@dataclass(frozen=True, eq=False)
class _Kept:
    """Keeps all within the memory: half of it for all rows, half for all slices."""

    memory: int

    def __call__(self, each: Each) -> Each:
        share = self.memory // 2
        sizes = share, share // max(len(each.parts) - 1, 1)
        kept = [Bounded(Within(size)) for size in sizes]
        return Each(tuple(kept[k > 0](part) for k, part in enumerate(each.parts)))


# --- Passes over slices --------------------------------------------------------------------------


class _Made(Engine):
    """Rows of which a pass is made together with others."""

    def __init__(
        self, rows: Engine, first: Callable[[], Any], second: Callable[..., Any] | None = None
    ) -> None:
        self.kind, self.name, self.rows, self.again = rows.kind, rows.name, rows.rows, rows.again
        self._rows, self._first, self._second = rows, first, second

    def reduce(
        self,
        work: Callable[[Any], Any],
        columns: Sequence[str] = (),
        kept: Callable[[Any], Any] = itself,
        what: str = "reading",
    ) -> Any:
        """From what is made together, or by the rows themselves."""
        if isinstance(work, First):
            return self._first()
        if self._second is None:
            return self._rows.reduce(work, columns, kept, what)
        return self._second(work)


def once_made(rows: Engine) -> Engine:
    """Rows that have been read, and are not read again."""
    gone = _Made(rows, lambda: None)
    gone.again = False
    return gone


@dataclass(frozen=True, eq=False)
class Group:
    """The passes over all rows and over their slices."""

    builds: BuildSystems
    plain: Passes
    cuts: Sequence[Slicing]
    memory: int

    @cached_property
    def whole(self) -> Passes:
        """Over all rows."""
        return replace(self.plain, engine=_Made(self.plain.engine, lambda: self._first[0]))

    @cached_property
    def _first(self) -> Sequence[Passed]:
        p = self.plain
        number = 1 + sum(len(cut.names) for cut in self.cuts)
        works = [First(Pick(k), p.numbers, p.beside, p.looks) for k in range(number)]
        work, kept = Together(Pieces(self.builds, self.cuts), works), _Kept(self.memory)
        found: Each = p.engine.reduce(work, p.columns, kept, "pass 1")
        return found.parts

    @cached_property
    def there(self) -> list[list[int]]:
        """Of each cut the places of the slices that hold rows."""
        out, first = [], 1
        for cut in self.cuts:
            own = [k for k in range(first, first + len(cut.names)) if self._first[k].rows]
            if len(own) > MOST_SLICES:
                raise InputError(too_many(cut.name, len(own)))
            first += len(cut.names)
            out.append(own)
        return out

    def by_cut(self) -> Iterator[tuple[Slicing, int, list[int]]]:
        """Each way to cut the rows, the place of its first slice, and of those that hold rows."""
        first = 1
        for cut, places in zip(self.cuts, self.there, strict=True):
            yield cut, first, places
            first += len(cut.names)

    def part(self, at: int) -> Passes:
        """Over a slice."""
        return self._parts[at]

    @cached_property
    def _parts(self) -> dict[int, Passes]:
        places = [at for of in self.there for at in of]
        return {at: self._passes(at, lambda at=at: self._first[at]) for at in places}  # type: ignore[misc]

    def rest(self, at: int) -> Passes:
        """Over the rest of a slice."""
        return self._rests[at] if self.takes_second else self._rest(at)

    @cached_property
    def _rests(self) -> dict[int, Passes]:
        return {at: self._rest(at) for of in self.there if len(of) > 1 for at in of}

    def _rest(self, at: int) -> Passes:
        others = next([k for k in of if k != at] for of in self.there if at in of)
        return self._passes(
            at + len(self._first) - 1,
            lambda: reduce(add, (self._first[k].settled(itself) for k in others)),
        )

    def _passes(self, at: int, first: Callable[[], Passed]) -> Passes:
        p = self.plain

        def second(work: Any) -> Any:
            if isinstance(work, Second):
                return self._second[at]
            found: Each = p.engine.reduce(Together(self._all, (work,)), p.columns)
            return found.parts[0]

        rows = _Made(p.engine, first, second)
        return replace(
            p,
            engine=rows,
            build=Pick(at),
            compared=p.compared if at < len(self._first) else (),
            unit_of_all=lambda: self.whole.unit,
            _made=[],
            _pairs={},
            _cubes={},
            _cells={},
        )

    @property
    def _all(self) -> Pieces:
        return Pieces(self.builds, self.cuts, rests=True)

    @cached_property
    def takes_second(self) -> bool:
        """Whether some interval of a slice may take a second look."""
        p, again = self.whole, self.plain.engine.again
        return again and (p.passed.clustered or any(p.lacks_error(*asked) for asked in p.numbers))

    @cached_property
    def _second(self) -> dict[int, Any]:
        """How the rows move the numbers of slices and of rests, in one pass."""
        p = self.plain
        over = {of.build.which: of for of in (*self._parts.values(), *self._rests.values())}  # type: ignore[attr-defined]
        work = Together(self._all, [of.second for of in over.values()])
        found: Each = p.engine.reduce(work, p.columns, what="pass over slices")
        return dict(zip(over, found.parts, strict=True))


# --- What comes of it ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outside:
    """What is outside of a slice: a system in the passes over it."""

    passes: Passes
    system: str
    settings: Settings

    @property
    def rows(self) -> Outside:
        """What gives its readings, with all they have."""
        return self

    def reading(self, measure: Measure) -> Reading:
        """The value of a measure there, and how it varies."""
        made = self.passes.reading(self.system, measure, self.settings)
        assert made is not None
        return made

    def dealt(self, measure: Measure, value: float, most: int) -> Anew | None:
        """Rows are gone."""
        return None
