"""One process, that has batches of rows one after the other.

Batches are worked on by several threads and added up in their order, so that no digit depends on
how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import from_arrow
from calipers.data.errors import InputError, format_value
from calipers.engines.accumulators import PairwiseSum, map_in_order
from calipers.engines.base import Engine, P, identity
from calipers.progress import track_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.streams import Batch, Stream

#: Threads, if there are as many processors.
MOST_THREADS = 8
#: Of more columns than these a batch has as many fewer rows.
FEW_COLUMNS = 8


class LocalEngine(Engine):
    """Batches in this process; ``batches`` gives the same ones in every pass."""

    kind = "stream"

    def __init__(self, batches: Callable[[], Iterable[Any]]) -> None:
        self._batches = batches

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = identity,
        what: str = "reading",
    ) -> P:
        """As the protocol has it, on one thread."""
        return self._sum(work, self._batches(), kept, 1)

    @staticmethod
    def _sum(
        work: Callable[[Any], P], batches: Iterable[Any], kept: Callable[[P], P], threads: int
    ) -> P:
        found: PairwiseSum[P] = PairwiseSum(kept)
        for part in map_in_order(work, batches, threads):
            found.add(part)
        return found.total


class StreamEngine(LocalEngine):
    """A stream of batches, on several threads; the rows of one value of ``by``, where that is
    given, are in one batch."""

    def __init__(self, stream: Stream, by: str | None = None) -> None:
        self.stream, self.by = stream, by
        self.name, self.names, self.rows = stream.name, stream.names, stream.rows
        self.is_rereadable, self.files, self.stamps = stream.again, stream.files, stream.stamps

    def group_batches(self, by: str) -> StreamEngine:
        """The same rows, in batches that end where a value of a column does: rows of one value come
        one after the other, and where they do not, that is an error."""
        return StreamEngine(self.stream, by)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of the columns."""
        return self.stream.schema

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = identity,
        what: str = "reading",
    ) -> P:
        """As the protocol has it."""
        from calipers.data import streams

        wide = max(len(columns), FEW_COLUMNS)
        found = self.stream.batches(columns, max(1, streams.ROWS * FEW_COLUMNS // wide))
        watched = track_rows(found, what, self.rows, lambda batch: batch.rows)
        watched = watched if self.by is None else _align_batches(watched, self.by)
        return self._sum(work, watched, kept, min(os.cpu_count() or 1, MOST_THREADS))


def _align_batches(batches: Iterable[Batch], by: str) -> Iterator[Batch]:
    """The rows in batches that end where a value does; what is there of the last one is kept until
    the next batch has told where it ends."""
    held: list[Batch] = []
    seen: dict[Any, int] = {}
    last: Any = None
    for batch in batches:
        starts, values = _run_starts(batch.columns[by])
        for start, value in zip(starts.tolist(), values, strict=True):
            row = batch.first + start
            if start == 0 and held and value == last:
                continue
            if seen.setdefault(value, row) != row and value is not None:
                raise InputError(
                    f"{batch.where}: {by} {format_value(value)} begins in row {seen[value]} and is "
                    "there "
                    f"again in row {row}, after others; batches take the rows of a group one after "
                    f"the other: sort them by {by!r}, or take engine='memory'"
                )
        if len(starts) > 1 or (held and values[0] != last):
            yield _concat_batches([*held, _slice_batch(batch, 0, int(starts[-1]))])
            held = []
        held.append(_slice_batch(batch, int(starts[-1]) if not held else 0, batch.rows))
        last = values[-1]
    if held:
        yield _concat_batches(held)


def _run_starts(column: pa.Array) -> tuple[Any, list[Any]]:
    """Where runs of one value begin, and these."""
    encoded = column if hasattr(column, "indices") else column.dictionary_encode("encode")
    codes = from_arrow(encoded.indices.fill_null(-1))
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return starts, encoded.take(starts).to_pylist()


def _slice_batch(batch: Batch, start: int, end: int) -> Batch:
    """Some rows of a batch."""
    if (start, end) == (0, batch.rows):
        return batch
    columns = {name: of.slice(start, end - start) for name, of in batch.columns.items()}
    return replace(batch, columns=columns, first=batch.first + start)


def _concat_batches(held: Sequence[Batch]) -> Batch:
    """Batches as one."""
    held = [batch for batch in held if batch.rows]
    if len(held) == 1:
        return held[0]
    import pyarrow as pa

    names = held[0].columns
    columns = {name: pa.concat_arrays([of.columns[name] for of in held]) for name in names}
    return replace(held[0], columns=columns)
