"""Rows by what their columns are: some of them at a time, or all that there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import to_weights
from calipers.data.columns import InputColumns
from calipers.data.costs import NO_COSTS
from calipers.data.frequency_weights import NOTHING, RowInfo, RowRepeats
from calipers.evaluation.shared import to_clusters, to_time_order
from calipers.results.estimate import UNNAMED

if TYPE_CHECKING:
    from calipers.data.confusion_matrices import SystemIndex
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.statistics import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: of each role a column, or one of each system.

    Columns are as they were given, and ``frequencies`` say how often each of their rows counts;
    weights, clusters and the order in time are of the rows that count.
    """

    columns: Mapping[str, Any]
    frequencies: RowRepeats
    weights: FloatArray | None = None
    clusters: ClusterIndex | None = None
    order: TimeOrder | None = None
    #: The columns that the rows are cut by.
    slices: Mapping[str, Any] = field(default_factory=dict)
    #: The numbers of the rows that count in the whole, of which these are some.
    numbers: Callable[[], IntArray] | None = None

    def shared_columns(self, settings: Settings) -> dict[str, Any]:
        """What every system on these rows has, whatever it says."""
        return {"settings": settings, "weight": self.weights, "clusters": self.clusters}

    def __getitem__(self, role: str) -> Any:
        """What is given of a role; None of one that is not given."""
        return self.columns.get(role)

    @property
    def counted_rows(self) -> Any:
        """The rows given that count."""
        places = self.frequencies.places
        return slice(None) if places is None else places


def constant_batch(
    columns: StreamColumns, values: FloatArray, *, probability: bool = False
) -> Batch:
    """As many rows as there are values, which every column of truth and systems has; of a
    ``probability`` for each of several classes all are alike."""

    def of(named: str | Mapping[str, str]) -> Any:
        if isinstance(named, str):
            return values
        return dict.fromkeys(named, np.full(len(values), 1 / len(named)) if probability else values)

    said = {
        kind: {n: of(name) for n, name in by.items()} for kind, by in columns.output_columns.items()
    }
    given = {"truth": of(columns.truth), **{kind: unwrap_unnamed(by) for kind, by in said.items()}}
    return Batch(given, RowRepeats(len(values)))


def unwrap_unnamed(given: Mapping[str, Any]) -> Any:
    """The column of a system without a name, as verbs are given it; else those of all systems."""
    return given[UNNAMED] if list(given) == [UNNAMED] else given


@dataclass(frozen=True, eq=False)
class RowNames:
    """What rows that count are called: by their ids, or by their places in what was given."""

    gathered: InputColumns
    frequencies: RowRepeats

    def __call__(self, row: int) -> str:
        """What a row is called."""
        return self.gathered.named(self.frequencies.place(row))


@dataclass(frozen=True, eq=False)
class Table:
    """All rows, in memory, and what is known of them."""

    batch: Batch
    about: RowInfo = NOTHING
    notes: Sequence[str] = ()
    #: What a row is called.
    row_name: Callable[[int], str] = str
    #: The system of each row, where rows are the cells of confusion matrices.
    system_index: SystemIndex | None = None

    @classmethod
    def from_columns(
        cls,
        gathered: InputColumns,
        columns: Mapping[str, Any],
        number: int,
        *,
        notes: Sequence[str] = (),
        of_systems: SystemIndex | None = None,
    ) -> Table:
        """Of columns by their roles, so many rows of them, as they were gathered."""
        weight, cluster, time = map(columns.get, ("weight", "cluster", "time"))
        checked = to_weights(weight, number)
        frequencies = RowRepeats.of(columns.get("count"), number, checked)
        weights = frequencies.of_those(checked)
        batch = Batch(
            columns,
            frequencies,
            weights,
            None if cluster is None else to_clusters(cluster, weights, frequencies),
            to_time_order(time, frequencies),
            frequencies.sliced(columns.get("slices")) or {},
        )
        return cls(
            batch,
            frequencies.about(gathered),
            (*gathered.notes, *notes),
            RowNames(replace(gathered, columns={}, costs=NO_COSTS), frequencies),
            of_systems,
        )
