"""One process: memory is one batch, a stream is many, and there is no second implementation.

Batches are worked on by several threads and added up in their order, so that no digit depends on
how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from calipers.engines.adding import Sum, ordered
from calipers.engines.base import Engine, P, itself
from calipers.progress import over_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.streams import Stream

#: Threads, if there are as many processors.
MOST_THREADS = 8
#: Of more columns than these a batch has as many fewer rows.
FEW_COLUMNS = 8


class Local(Engine):
    """Batches in this process; ``batches`` gives the same ones in every pass."""

    kind = "stream"

    def __init__(self, batches: Callable[[], Iterable[Any]]) -> None:
        self._batches = batches

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = itself,
        what: str = "reading",
    ) -> P:
        """As the protocol has it, on one thread."""
        return self._sum(work, self._batches(), kept, 1)

    @staticmethod
    def _sum(
        work: Callable[[Any], P], batches: Iterable[Any], kept: Callable[[P], P], threads: int
    ) -> P:
        found: Sum[P] = Sum(kept)
        for part in ordered(work, batches, threads):
            found.add(part)
        return found.total


class Streams(Local):
    """A stream of batches, on several threads."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.name, self.names, self.rows = stream.name, stream.names, stream.rows
        self.again, self.files, self.stamps = stream.again, stream.files, stream.stamps

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of the columns."""
        return self.stream.schema

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = itself,
        what: str = "reading",
    ) -> P:
        """As the protocol has it."""
        from calipers.data import streams

        wide = max(len(columns), FEW_COLUMNS)
        found = self.stream.batches(columns, max(1, streams.ROWS * FEW_COLUMNS // wide))
        watched = over_rows(found, what, self.rows, lambda batch: batch.rows)
        return self._sum(work, watched, kept, min(os.cpu_count() or 1, MOST_THREADS))
