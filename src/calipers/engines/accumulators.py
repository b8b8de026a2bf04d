"""Accumulators of batches, with results that do not depend on the number of threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from calipers.data.arrays import from_arrow, unsigned_zeros
from calipers.data.arrow_types import decode_dictionary
from calipers.engines.base import Mergeable, identity
from calipers.lazy_dataclasses import dataclass
from calipers.statistics.base import dot

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.statistics import FloatArray

T = TypeVar("T", bound=Any)
R = TypeVar("R")

#: Maximum number of distinct integers for which they are counted one by one.
MAX_DISTINCT_INTEGERS = 16


@dataclass(eq=False)
class PairwiseSum(Generic[T]):
    """Pairwise sum of addable parts.

    Partial sums of similar numbers of parts are added, which limits rounding errors and cost.
    """

    #: Function that limits the size of a part before it is stored.
    limit_size: Callable[[T], T] = identity
    _partial_sums: list[tuple[int, T]] = field(default_factory=list)

    def add(self, summand: T) -> None:
        """Add one part."""
        size, summand = 1, self.limit_size(summand)
        while self._partial_sums and self._partial_sums[-1][0] <= size:
            previous_size, previous = self._partial_sums.pop()
            size, summand = size + previous_size, self.limit_size(previous + summand)
        self._partial_sums.append((size, summand))

    @property
    def total(self) -> T:
        """Sum of all parts."""
        while len(self._partial_sums) > 1:
            (size, partial_sum), (previous_size, previous) = (
                self._partial_sums.pop(),
                self._partial_sums.pop(),
            )
            self._partial_sums.append(
                (size + previous_size, self.limit_size(previous + partial_sum))
            )
        return self._partial_sums[-1][1]


def map_in_order(work: Callable[[Any], R], items: Iterable[Any], n_threads: int) -> Iterator[R]:
    """Yield the result of ``work`` for each item, in order, using several threads.

    No more items are taken than are processed at the same time.

    >>> list(map_in_order(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    if n_threads < 2:
        yield from map(work, items)
        return
    pool, futures = ThreadPoolExecutor(n_threads), deque[Future[R]]()
    try:
        for item in items:
            futures.append(pool.submit(work, item))
            if len(futures) > n_threads:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class WeightMoments(Mergeable):
    """Σw, Σw², and the smallest and largest weight of rows; unweighted rows have weight 1."""

    total: float
    squares: float
    min_weight: float = 1.0
    max_weight: float = 1.0

    @classmethod
    def from_rows(cls, weight: FloatArray | None, n_rows: int) -> WeightMoments:
        """Compute the moments of some rows."""
        if weight is None or not n_rows:
            return cls(float(n_rows), float(n_rows))
        extremes = float(weight.min()), float(weight.max())
        return cls(float(weight.sum()), dot(weight, weight), *extremes)

    def __add__(self, other: WeightMoments) -> WeightMoments:
        sums = self.total + other.total, self.squares + other.squares
        return WeightMoments(
            *sums, min(self.min_weight, other.min_weight), max(self.max_weight, other.max_weight)
        )

    @property
    def has_unequal_weights(self) -> bool:
        """Whether the weights differ."""
        return self.min_weight < self.max_weight


@dataclass(frozen=True, eq=False)
class DistinctValues(Mergeable):
    """Distinct values of a column in order of appearance, stored as Arrow IPC bytes."""

    buffer: npt.NDArray[np.uint8]

    @classmethod
    def from_array(cls, values: Any) -> DistinctValues:
        """Find the distinct values of an Arrow array."""
        import pyarrow as pa

        distinct = _distinct_integers(values)
        if distinct is None:
            import pyarrow.compute as pc

            distinct = pc.unique(unsigned_zeros(values))
        # The order of ordered categories is kept.
        if pa.types.is_dictionary(distinct.type) and not distinct.type.ordered:
            distinct = distinct.dictionary_decode()
        return cls(_serialize_table(pa.table({"values": distinct})))

    @property
    def values(self) -> Any:
        """Distinct values as an Arrow array."""
        return _deserialize_table(self.buffer)["values"].combine_chunks()

    @property
    def present_values(self) -> Any:
        """Distinct values other than missing ones and NaN."""
        import pyarrow as pa

        values = self.values
        values = values.drop_null() if values.null_count else values
        if not pa.types.is_floating(values.type):
            return values
        import pyarrow.compute as pc

        return values.filter(pc.invert(pc.is_nan(values)))

    def __add__(self, other: DistinctValues) -> DistinctValues:
        import pyarrow as pa

        pieces = [self.values, other.values]
        if pieces[0].type != pieces[1].type:  # other categories in another process
            pieces = [decode_dictionary(piece) for piece in pieces]
        return DistinctValues.from_array(pa.concat_arrays(pieces))


def _distinct_integers(values: Any) -> Any:
    """Return the distinct values of an Arrow array if these are a few integers, else None.

    This takes less time than importing `pyarrow.compute`.
    """
    import pyarrow as pa

    if not pa.types.is_integer(values.type) or values.null_count:
        return None
    remaining, distinct = from_arrow(values), list[Any]()
    while len(remaining):
        if len(distinct) == MAX_DISTINCT_INTEGERS:
            return None
        distinct.append(remaining[0])
        remaining = remaining[remaining != remaining[0]]
    # `pa.array` would import pandas.
    buffer = pa.py_buffer(np.array(distinct, remaining.dtype))
    return pa.Array.from_buffers(values.type, len(distinct), [None, buffer])


@dataclass(frozen=True, eq=False)
class RowTable(Mergeable):
    """Table of properties of a few rows; tables are appended. Stored as Arrow IPC bytes."""

    buffer: npt.NDArray[np.uint8]

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> RowTable:
        """Build the table from columns of equal length."""
        import pyarrow as pa

        return cls(_serialize_table(pa.table(columns)))

    @property
    def table(self) -> pa.Table:
        """Table of all rows."""
        return _deserialize_table(self.buffer)

    def __add__(self, other: RowTable) -> RowTable:
        import pyarrow as pa

        tables = [self.table, other.table]
        # The type of a column without any value is unknown.
        return RowTable(_serialize_table(pa.concat_tables(tables, promote_options="permissive")))


def _serialize_table(table: pa.Table) -> npt.NDArray[np.uint8]:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _deserialize_table(buffer: npt.NDArray[np.uint8]) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.py_buffer(buffer)).read_all()
