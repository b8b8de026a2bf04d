"""Frequencies of a stream: each row stands in its batch as often as it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import missing_rows
from calipers.data.errors import InputError
from calipers.data.frequency_weights import whole_numbers
from calipers.engines.base import Engine, P, Partial, itself

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.data.streams import Batch

#: So many rows are written at once, however often one counts.
AT_ONCE = 1 << 19
#: A row counts no more often: each of them takes its time.
MOST = 10**9


class Counted(Engine):
    """The rows of another engine, as often as a column says, where that is among those read."""

    def __init__(self, rows: Engine, count: str, *, drop: bool) -> None:
        self.inner, self.count, self.drop = rows, count, drop
        self.kind, self.name, self.names = rows.kind, rows.name, rows.names
        self.rows, self.again, self.files = rows.rows, rows.again, rows.files
        self.stamps = rows.stamps

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of the columns."""
        return self.inner.schema

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = itself,
        what: str = "reading",
    ) -> P:
        """As the protocol has it."""
        if self.count not in columns:
            return self.inner.reduce(work, columns, kept, what)
        written = _Written(work, self.count, self.drop)
        found: P | None = self.inner.reduce(written, columns, _Kept(kept), what).part
        if found is None:
            raise InputError(f"{self.name}: count: all counts are 0")
        return found


@dataclass(frozen=True, eq=False)
class Some(Partial):
    """What is known of rows, if there are any."""

    part: Any

    def __add__(self, other: Some) -> Some:
        if self.part is None or other.part is None:
            return other if self.part is None else self
        return Some(self.part + other.part)


@dataclass(frozen=True, eq=False)
class _Kept:
    """What is kept of rows, if there are any."""

    kept: Callable[[Any], Any]

    def __call__(self, some: Some) -> Some:
        return some if some.part is None else Some(self.kept(some.part))


@dataclass(frozen=True, eq=False)
class _Written:
    """Works on rows that are written as often as they count, some at a time."""

    work: Callable[[Any], Any]
    count: str
    drop: bool

    def __call__(self, batch: Batch) -> Some:
        counts = self._counts(batch)
        try:
            return Some(self._sum(map(self.work, self._some(batch, counts))))
        except InputError:
            self.work(batch)  # which tells the row by its own number
            raise

    @staticmethod
    def _sum(parts: Iterator[Any]) -> Any:
        first = next(parts, None)
        return reduce(add, parts, first)

    def _counts(self, batch: Batch) -> npt.NDArray[np.int64]:
        column = batch.columns[self.count]
        counts = np.ones(batch.rows, np.int64)
        there = np.ones(batch.rows, bool)
        if self.drop:  # those without a count are left out where others are
            there = ~missing_rows(column, "count")
            column = column.filter(_arrow(there))
        try:
            counts[there] = given = whole_numbers(column, "count")
        except InputError as error:
            raise batch.told(error) from None
        if len(given) and given.max() > MOST:
            row = batch.first + int(np.argmax(counts))
            raise InputError(f"{batch.where}: count: is {given.max():,.0f} in row {row}, expected "
                             f"{MOST:,} at most")  # fmt: skip
        return counts

    @staticmethod
    def _some(batch: Batch, counts: npt.NDArray[np.int64]) -> Iterator[Batch]:
        """Batches of rows as often as they count."""
        import pyarrow as pa

        upto = np.cumsum(counts)
        total = int(upto[-1]) if len(upto) else 0
        for start in range(0, total, AT_ONCE):
            end = min(start + AT_ONCE, total)
            first, last = np.searchsorted(upto, [start, end - 1], side="right")
            rows = np.arange(first, min(last + 1, len(upto)))
            before = upto[rows] - counts[rows]
            often = np.minimum(upto[rows], end) - np.maximum(before, start)
            places = pa.array(np.repeat(rows, np.maximum(often, 0)))
            yield replace(batch, columns={n: of.take(places) for n, of in batch.columns.items()})


def _arrow(there: npt.NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(there)
