"""Rows as columns by role: batches, and complete tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import to_weights
from calipers.data.columns import InputColumns
from calipers.data.costs import NO_COSTS
from calipers.data.frequency_weights import NO_ROW_INFO, RowInfo, RowRepeats
from calipers.evaluation.shared import to_clusters, to_time_order, unwrap_unnamed
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.data.confusion_matrices import SystemIndex
    from calipers.engines.pass_tasks import MissingCounts
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.statistics import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Batch:
    """Batch of rows: for each role a column, or a column for each system.

    Columns are stored as they were given, and ``frequencies`` holds the number of times that each
    of their rows counts. Weights, clusters and the order in time refer to the rows that count.

    Attributes
    ----------
    columns : mapping of str to object
        Column of each role, or the columns of the systems by name.
    frequencies : RowRepeats
        Number of times that each row of the columns counts.
    weights : ndarray of shape (n,), optional
        Weights of the n counted rows. By default all are 1.
    clusters : ClusterIndex, optional
        Clusters of the counted rows.
    order : TimeOrder, optional
        Time order of the counted rows.
    slices : mapping of str to object
        Columns that define slices, by name.
    numbers : callable, optional
        Function that returns the row number of each counted row in the complete table, if the batch
        is a subset of it.
    missing : callable, optional
        Function that returns the numbers of dropped rows and of their missing values.
    """

    columns: Mapping[str, Any]
    frequencies: RowRepeats
    weights: FloatArray | None = None
    clusters: ClusterIndex | None = None
    order: TimeOrder | None = None
    slices: Mapping[str, Any] = field(default_factory=dict)
    numbers: Callable[[], IntArray] | None = None
    missing: Callable[[], MissingCounts] | None = None

    def shared_columns(self, settings: Settings) -> dict[str, Any]:
        """Return keyword arguments that all systems share: settings, weights and clusters.

        Parameters
        ----------
        settings : Settings
            Settings of inference.

        Returns
        -------
        dict of str to object
            Keyword arguments of :class:`RowSystem`.
        """
        return {"settings": settings, "weight": self.weights, "clusters": self.clusters}

    def __getitem__(self, role: str) -> Any:
        """Return what was given for a role, or None."""
        return self.columns.get(role)

    @property
    def counted_rows(self) -> Any:
        """Index of the given rows that count."""
        indices = self.frequencies.row_indices
        return slice(None) if indices is None else indices


def constant_batch(columns: StreamColumns, values: FloatArray, *, uniform: bool = False) -> Batch:
    """Return a batch in which every column of truth and of systems consists of ``values``.

    With ``uniform``, columns of one probability for each of several classes are uniform
    instead.
    """

    def fill(names: str | Mapping[str, str]) -> Any:
        if isinstance(names, str):
            return values
        return dict.fromkeys(names, np.full(len(values), 1 / len(names)) if uniform else values)

    predictions = {
        kind: {n: fill(name) for n, name in by_system.items()}
        for kind, by_system in columns.output_columns.items()
    }
    filled_columns = {
        "truth": fill(columns.truth),
        **{kind: unwrap_unnamed(by_system) for kind, by_system in predictions.items()},
    }
    return Batch(filled_columns, RowRepeats(len(values)))


@dataclass(frozen=True, eq=False)
class RowNames:
    """Display names of the rows that count: their ids, or their indices in the input."""

    input_columns: InputColumns
    frequencies: RowRepeats

    def __call__(self, row: int) -> str:
        """Return the display name of a row."""
        return self.input_columns.row_name(self.frequencies.input_row(row))


@dataclass(frozen=True, eq=False)
class Table:
    """All rows of an evaluation in memory, with their metadata."""

    batch: Batch
    row_info: RowInfo = NO_ROW_INFO
    notes: Sequence[str] = ()
    #: What a row is called.
    row_name: Callable[[int], str] = str
    #: The system of each row, where rows are the cells of confusion matrices.
    system_index: SystemIndex | None = None

    @classmethod
    def from_columns(
        cls,
        input_columns: InputColumns,
        columns: Mapping[str, Any],
        n_rows: int,
        *,
        notes: Sequence[str] = (),
        system_index: SystemIndex | None = None,
    ) -> Table:
        """Build the table of ``n_rows`` rows from columns by role, as they were collected."""
        weight, cluster, time = map(columns.get, ("weight", "cluster", "time"))
        checked_weight = to_weights(weight, n_rows)
        frequencies = RowRepeats.from_counts(columns.get("count"), n_rows, checked_weight)
        weights = frequencies.repeat_weights(checked_weight)
        batch = Batch(
            columns,
            frequencies,
            weights,
            None if cluster is None else to_clusters(cluster, weights, frequencies),
            to_time_order(time, frequencies),
            frequencies.repeat_slices(columns.get("slices")) or {},
        )
        return cls(
            batch,
            frequencies.row_info(input_columns),
            (*input_columns.notes, *notes),
            RowNames(replace(input_columns, columns={}, costs=NO_COSTS), frequencies),
            system_index,
        )
