"""The rows of a batch: their columns by what they are, and the systems on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_numbers, as_weights, missing_rows, of_arrow, same_length
from calipers.data.errors import InputError
from calipers.data.streams import Batch
from calipers.engines.work import Built
from calipers.evaluate.stream_columns import Columns
from calipers.inference.clusters import Clusters

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray
    from calipers.systems.base import System


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of the columns: Arrow arrays, and the cluster of each row."""

    truth: Any
    said: Mapping[str, Mapping[str, Any]]
    weight: Any
    clusters: tuple[Any, int] | None
    rows: int
    #: The columns that the rows are cut by.
    cuts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counted(self) -> Any:
        """Which rows weigh anything."""
        places = weights_of(self.weight, self.rows)[1]
        return slice(None) if places is None else places


@dataclass(frozen=True, eq=False)
class Read:
    """Makes parts of batches, here or in another process."""

    columns: Columns
    #: The names of all clusters.
    clusters: Any

    def __call__(self, batch: Batch) -> Part:
        """The rows of a batch, by what they are."""
        c = self.columns
        columns = self._complete(batch) if c.missing == "drop" else batch.columns
        truth = columns[c.truth]
        return Part(
            truth,
            {k: {n: _found(columns, name) for n, name in of.items()} for k, of in c.said.items()},
            None if c.weight is None else columns[c.weight],
            None if c.cluster is None else self._clusters(columns[c.cluster]),
            len(truth),
            {name: columns[name] for name in c.of_slices},
        )

    def _complete(self, batch: Batch) -> dict[str, Any]:
        """The rows without missing values."""
        import pyarrow as pa

        lost = np.zeros(batch.rows, bool)
        for name in self.columns.needed:
            lost |= missing_rows(batch.columns[name], name)
        if not lost.any():
            return batch.columns
        kept = pa.array(~lost)
        return {name: column.filter(kept) for name, column in batch.columns.items()}

    def _clusters(self, column: Any) -> tuple[Any, int]:
        import pyarrow.compute as pc

        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(f"cluster: is missing in row {row}")
        names = self.clusters
        return of_arrow(pc.index_in(column, value_set=names)).astype(np.uint32), len(names)


@dataclass(frozen=True, eq=False)
class Builds:
    """Makes systems of batches, here or in another process."""

    read: Read
    build: Callable[[Part], Mapping[str, System]]

    def __call__(self, batch: Batch) -> Built:
        """Of a batch."""
        return self.both(batch)[1]

    def both(self, batch: Batch) -> tuple[Part, Built]:
        """The rows of a batch, and the systems on them."""
        try:
            part = self.read(batch)
            return part, Built(self.build(part), batch.rows - part.rows)
        except InputError as error:
            raise batch.told(error) from None


def _found(columns: Mapping[str, Any], named: str | Mapping[str, str]) -> Any:
    """One column, or one for each class."""
    if isinstance(named, str):
        return columns[named]
    return {name: columns[column] for name, column in named.items()}


def weights_of(values: Any, rows: int) -> tuple[FloatArray | None, npt.NDArray[np.intp] | None]:
    """The weights of a batch, checked, and the rows that weigh anything where not all do; all of
    them may weigh nothing."""
    if values is not None and not np.any(given := as_numbers(values, "weight")):
        same_length(given, rows, "weight")
        return np.zeros(rows), np.zeros(0, np.intp)
    weight = as_weights(values, rows, batch=True)
    return weight, None if weight is None or weight.all() else np.flatnonzero(weight > 0)


def clusters_of(part: Part, kept: Any, weight: FloatArray | None) -> Clusters | None:
    """The clusters of the rows of a batch that are kept."""
    if part.clusters is None:
        return None
    code, size = part.clusters
    return Clusters(code if kept is None else code[kept], size, weight)
