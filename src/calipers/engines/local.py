"""Local engine: batches of rows in a single process.

Batches are processed by several threads and added in order, so that results do not depend on the
number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
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

    from calipers.data.categories import CategorySelector
    from calipers.data.streams import Batch, Stream

#: Threads, if there are as many processors.
MAX_THREADS = 8
#: Number of columns above which batches have proportionally fewer rows.
MAX_FULL_BATCH_COLUMNS = 8


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
        map_batch: Callable[[Any], P],
        columns: Sequence[str] = (),
        limit_size: Callable[[P], P] = identity,
        description: str = "reading",
    ) -> P:
        """Apply a function to all batches and add the results, on one thread.

        See :meth:`Engine.reduce`.
        """
        return self._sum_batches(map_batch, self._batches(), limit_size, 1)

    @staticmethod
    def _sum_batches(
        map_batch: Callable[[Any], P],
        batches: Iterable[Any],
        limit_size: Callable[[P], P],
        n_threads: int,
    ) -> P:
        sums: PairwiseSum[P] = PairwiseSum(limit_size)
        for result in map_in_order(map_batch, batches, n_threads):
            sums.add(result)
        return sums.total


class StreamEngine(LocalEngine):
    """Engine of a stream of batches, on several threads.

    Parameters
    ----------
    stream : Stream
        Stream of batches.
    group_column : str, optional
        Column of which all rows with one value are in one batch.
    """

    def __init__(self, stream: Stream, group_column: str | None = None) -> None:
        self.stream, self.group_column = stream, group_column
        self.name, self.column_names, self.n_rows = stream.name, stream.names, stream.n_rows
        self.is_rereadable, self.files, self.file_stamps = (
            stream.is_rereadable,
            stream.files,
            stream.stamps,
        )

    def with_categories(self, categories: CategorySelector) -> StreamEngine:
        """Return an engine of the same rows that does not lose the text of categories in CSV."""
        return StreamEngine(self.stream.with_categories(categories), self.group_column)

    def group_batches(self, group_column: str) -> StreamEngine:
        """Return an engine for the same rows, in batches that end where the value of a column does.

        Rows of one value have to be contiguous; otherwise an error is raised.
        """
        return StreamEngine(self.stream, group_column)

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns."""
        return self.stream.schema

    def reduce(
        self,
        map_batch: Callable[[Any], P],
        columns: Sequence[str] = (),
        limit_size: Callable[[P], P] = identity,
        description: str = "reading",
    ) -> P:
        """Apply a function to all batches and add the results, on several threads.

        See :meth:`Engine.reduce`.
        """
        from calipers.data import streams

        n_columns = max(len(columns), MAX_FULL_BATCH_COLUMNS)
        batches = self.stream.batches(
            columns, max(1, streams.BATCH_ROWS * MAX_FULL_BATCH_COLUMNS // n_columns)
        )
        tracked = track_rows(batches, description, self.n_rows, lambda batch: batch.n_rows)
        with closing(tracked):  # an error would leave its stage open until garbage is collected
            aligned = (
                tracked if self.group_column is None else _align_batches(tracked, self.group_column)
            )
            return self._sum_batches(
                map_batch, aligned, limit_size, min(os.cpu_count() or 1, MAX_THREADS)
            )


def _align_batches(batches: Iterable[Batch], group_column: str) -> Iterator[Batch]:
    """Yield the rows in batches that end where the value of a column does.

    The rows of the last value are held back until the next batch shows where they end.
    """
    pending: list[Batch] = []
    first_row_by_value: dict[Any, int] = {}
    last_value: Any = None
    for batch in batches:
        starts, values = _run_starts(batch.columns[group_column])
        for start, value in zip(starts.tolist(), values, strict=True):
            row = batch.first_row + start
            if start == 0 and pending and value == last_value:
                continue
            if first_row_by_value.setdefault(value, row) != row and value is not None:
                raise InputError(
                    f"{batch.origin}: {group_column} {format_value(value)} begins in row "
                    f"{first_row_by_value[value]} and occurs again in row {row}, after others; "
                    "expected "
                    "the rows of a group one after the other: sort them by "
                    f"{group_column!r}, or use engine='memory'"
                )
        if len(starts) > 1 or (pending and values[0] != last_value):
            yield _concat_batches([*pending, _slice_batch(batch, 0, int(starts[-1]))])
            pending = []
        pending.append(_slice_batch(batch, int(starts[-1]) if not pending else 0, batch.n_rows))
        last_value = values[-1]
    if pending:
        yield _concat_batches(pending)


def _run_starts(column: pa.Array) -> tuple[Any, list[Any]]:
    """Return the start of each run of equal values, and the values."""
    import pyarrow as pa

    encoded = column if hasattr(column, "indices") else column.dictionary_encode("encode")
    codes = from_arrow(encoded.indices.cast(pa.int64()).fill_null(-1))
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return starts, encoded.take(starts).to_pylist()


def _slice_batch(batch: Batch, start: int, end: int) -> Batch:
    """Return a range of rows of a batch."""
    if (start, end) == (0, batch.n_rows):
        return batch
    columns = {name: column.slice(start, end - start) for name, column in batch.columns.items()}
    return replace(batch, columns=columns, first_row=batch.first_row + start)


def _concat_batches(batches: Sequence[Batch]) -> Batch:
    """Concatenate batches."""
    batches = [batch for batch in batches if batch.n_rows]
    if len(batches) == 1:
        return batches[0]
    import pyarrow as pa

    names = batches[0].columns
    columns = {name: pa.concat_arrays([batch.columns[name] for batch in batches]) for name in names}
    spans = tuple(span for batch in batches for span in batch.spans)
    return replace(batches[0], columns=columns, spans=spans)
