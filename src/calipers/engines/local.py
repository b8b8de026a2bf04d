"""Local engine: batches of rows in a single process.

Batches are processed by several threads and added in order, so that results do not depend on the
number of threads.
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
    """Engine of batches in this process.

    Parameters
    ----------
    batches : callable
        Function without arguments that returns an iterable of batches, the same in every pass.
    """

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
        """Apply a function to all batches and add the results, on one thread.

        See :meth:`Engine.reduce`.
        """
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
    """Engine of a stream of batches, on several threads.

    Parameters
    ----------
    stream : Stream
        Stream of batches.
    by : str, optional
        Column of which all rows with one value are in one batch.
    """

    def __init__(self, stream: Stream, by: str | None = None) -> None:
        self.stream, self.by = stream, by
        self.name, self.names, self.rows = stream.name, stream.names, stream.rows
        self.is_rereadable, self.files, self.stamps = stream.again, stream.files, stream.stamps

    def group_batches(self, by: str) -> StreamEngine:
        """Return an engine for the same rows, in batches that end where the value of a column does.

        Rows of one value have to be contiguous; otherwise an error is raised.
        """
        return StreamEngine(self.stream, by)

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns."""
        return self.stream.schema

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = identity,
        what: str = "reading",
    ) -> P:
        """Apply a function to all batches and add the results, on several threads.

        See :meth:`Engine.reduce`.
        """
        from calipers.data import streams

        wide = max(len(columns), FEW_COLUMNS)
        found = self.stream.batches(columns, max(1, streams.ROWS * FEW_COLUMNS // wide))
        watched = track_rows(found, what, self.rows, lambda batch: batch.rows)
        watched = watched if self.by is None else _align_batches(watched, self.by)
        return self._sum(work, watched, kept, min(os.cpu_count() or 1, MOST_THREADS))


def _align_batches(batches: Iterable[Batch], by: str) -> Iterator[Batch]:
    """Yield the rows in batches that end where the value of a column does.

    The rows of the last value are held back until the next batch shows where they end.
    """
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
    """Return the start of each run of equal values, and the values."""
    encoded = column if hasattr(column, "indices") else column.dictionary_encode("encode")
    codes = from_arrow(encoded.indices.fill_null(-1))
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return starts, encoded.take(starts).to_pylist()


def _slice_batch(batch: Batch, start: int, end: int) -> Batch:
    """Return a range of rows of a batch."""
    if (start, end) == (0, batch.rows):
        return batch
    columns = {name: of.slice(start, end - start) for name, of in batch.columns.items()}
    return replace(batch, columns=columns, first=batch.first + start)


def _concat_batches(held: Sequence[Batch]) -> Batch:
    """Concatenate batches."""
    held = [batch for batch in held if batch.rows]
    if len(held) == 1:
        return held[0]
    import pyarrow as pa

    names = held[0].columns
    columns = {name: pa.concat_arrays([of.columns[name] for of in held]) for name in names}
    return replace(held[0], columns=columns)
