"""Rows of a batch: their columns by role, and the systems on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data import streams
from calipers.data.arrays import (
    check_length,
    from_arrow,
    missing_mask,
    take_rows,
    to_numbers,
    to_weights,
    unsigned_zeros,
)
from calipers.data.columns import incomplete_rows
from calipers.data.errors import InputError
from calipers.data.frequency_weights import RowRepeats
from calipers.data.multilabel import missing_list_mask
from calipers.engines.accumulators import DistinctValues
from calipers.engines.base import Mergeable
from calipers.engines.pass_tasks import BatchSystems, MissingCounts
from calipers.evaluation.batch import Batch, unwrap_unnamed
from calipers.evaluation.states import StateEngine
from calipers.evaluation.stream_columns import DistinctValuesTask, StreamColumns
from calipers.inference.clusters import ClusterIndex

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.evaluation.sample import Problem
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BatchReader:
    """Reader of the rows of batches, in this process or another."""

    columns: StreamColumns
    #: The names of all clusters.
    cluster_names: Any

    def __call__(self, batch: streams.Batch) -> Batch:
        """Return the rows of a batch by role."""
        stream_columns = self.columns
        columns, row_mask = self.drop_incomplete(batch)
        if row_mask is not None and not row_mask.true_count:
            raise InputError(
                f"all {batch.n_rows:,} rows from row 0 on are incomplete, and missing='drop' "
                "does not leave out complete batches; filter them out beforehand, or use "
                "engine='memory'"
            )
        rows, truth = (
            len(next(iter(columns.values()))),
            _select_column(columns, stream_columns.truth),
        )
        outputs = {
            k: {n: _select_column(columns, name) for n, name in by_system.items()}
            for k, by_system in stream_columns.output_columns.items()
        }
        weight, indices = batch_weights(
            None if stream_columns.weight is None else columns[stream_columns.weight], rows
        )
        frequencies = RowRepeats(rows, indices)
        weights = None if weight is None else np.asarray(frequencies(weight))
        return Batch(
            {
                "truth": truth,
                **{kind: unwrap_unnamed(by_system) for kind, by_system in outputs.items()},
            },
            frequencies,
            weights,
            None
            if stream_columns.cluster is None
            else self._clusters(columns[stream_columns.cluster], indices, weights),
            slices={name: columns[name] for name in stream_columns.slice_columns},
            numbers=lambda: frequencies(_row_numbers(batch, row_mask)),
        )

    def drop_incomplete(self, batch: streams.Batch) -> tuple[dict[str, Any], Any]:
        """Return the columns of a batch, without incomplete rows if these are dropped.

        The mask of the remaining rows is returned as well; it is None if all remain.
        """
        text_columns = {
            name: _fill_nulls(batch.columns[name]) for name in self.columns.text_columns
        }
        columns = {**batch.columns, **text_columns}
        row_mask = self._complete_mask(columns) if self.columns.missing == "drop" else None
        if row_mask is not None:
            columns = {name: column.filter(row_mask) for name, column in columns.items()}
        return columns, row_mask

    def missing(self, batch: streams.Batch) -> MissingCounts:
        """Count the rows that are dropped, as they are read, and their missing values."""
        stream_columns = self.columns
        columns = batch.columns if batch.input_columns is None else batch.input_columns
        n_rows = len(next(iter(columns.values())))
        if stream_columns.missing != "drop":
            return MissingCounts(n_rows)
        present = {name: columns[name] for name in stream_columns.required_columns}
        present |= {name: _fill_nulls(columns[name]) for name in stream_columns.text_columns}
        by_role = {"truth": stream_columns.truth}
        by_role |= {
            kind: unwrap_unnamed(by_system)
            for kind, by_system in stream_columns.output_columns.items()
        }
        row_roles = ("weight", "count", "cluster")
        by_role |= {role: name for role in row_roles if (name := getattr(stream_columns, role))}
        if stream_columns.single_row_cluster is not None:
            by_role["cluster"] = stream_columns.single_row_cluster
        by_role |= stream_columns.extra_columns
        incomplete_mask, by_column = incomplete_rows(_select_nested(present, by_role))
        n_dropped = 0 if incomplete_mask is None else int(incomplete_mask.sum())
        return MissingCounts(n_rows, n_dropped, by_column)

    def _complete_mask(self, columns: dict[str, Any]) -> Any:
        """Return the mask of rows without missing values, or None if all are complete."""
        import pyarrow as pa

        incomplete_mask = np.zeros(len(next(iter(columns.values()))), bool)
        for name in self.columns.required_columns:
            missing_lists_mask = missing_list_mask(columns[name])
            incomplete_mask |= (
                missing_mask(columns[name], name)
                if missing_lists_mask is None
                else missing_lists_mask
            )
        return pa.array(~incomplete_mask) if incomplete_mask.any() else None

    def _clusters(self, column: Any, indices: Any, weights: FloatArray | None) -> ClusterIndex:
        """Return the clusters of the rows with positive weight."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(f"cluster: is missing in row {row}")
        if pa.types.is_floating(column.type):
            to_numbers(column, "cluster")  # NaN is not a cluster
        names = self.cluster_names
        # Clusters whose rows all have weight 0 have no name.
        index = pc.index_in(unsigned_zeros(column), value_set=names).fill_null(0)
        code = from_arrow(index).astype(np.uint32)
        return ClusterIndex(code if indices is None else code[indices], len(names), weights)


@dataclass(frozen=True, eq=False)
class _ClusterNames(Mergeable):
    """Names of the clusters of the rows that count, and the number of these rows."""

    distinct: DistinctValues
    n_rows: int

    def __add__(self, other: _ClusterNames) -> _ClusterNames:
        return _ClusterNames(self.distinct + other.distinct, self.n_rows + other.n_rows)


@dataclass(frozen=True, eq=False)
class _FindClusters:
    """Task that finds the clusters of the rows of a batch that count."""

    columns: StreamColumns

    def __call__(self, batch: streams.Batch) -> _ClusterNames:
        name, weight = self.columns.cluster, self.columns.weight
        assert name is not None
        try:
            columns = batch.columns
            if self.columns.missing == "drop":
                columns = BatchReader(self.columns, None).drop_incomplete(batch)[0]
            column = columns[name]
            if weight is not None:
                indices = batch_weights(columns[weight], len(column))[1]
                column = column if indices is None else take_rows(column, indices)
        except InputError as error:
            raise batch.locate_error(error) from None
        distinct = DistinctValuesTask(name)(replace(batch, columns={name: column}))
        return _ClusterNames(distinct, len(column))


def find_clusters(columns: StreamColumns) -> StreamColumns:
    """Return the columns with the names of the clusters, from a pass of its own.

    If every row is a cluster of its own, rows are independent, as in memory.
    """
    stream, name = columns.engine, columns.cluster
    if name is None or isinstance(stream, StateEngine):
        return columns
    read_columns = (name, columns.weight, columns.count)
    names = [column for column in read_columns if column is not None]
    if columns.missing == "drop":
        names = [*names, *columns.required_columns]
    clusters: _ClusterNames = stream.reduce(
        _FindClusters(columns), list(dict.fromkeys(names)), description="finding clusters"
    )
    cluster_names = clusters.distinct.present_values
    if len(cluster_names) == clusters.n_rows > 1:
        return replace(columns, cluster=None, single_row_cluster=name)
    return replace(columns, cluster_names=cluster_names)


@dataclass(frozen=True, eq=False)
class SystemBuilder:
    """Builder of the systems of batches, in this process or another."""

    read_batch: BatchReader
    problem: Problem
    settings: Settings
    measures: tuple[Measure, ...]

    def __call__(self, batch: streams.Batch) -> BatchSystems:
        """Return the systems on a batch."""
        return self.rows_and_systems(batch)[1]

    def rows_and_systems(self, batch: streams.Batch) -> tuple[Batch, BatchSystems]:
        """Return the rows of a batch, and the systems on them."""
        try:
            rows = self.read_batch(batch)
            plain_systems = self.problem.systems(rows, self.settings)
        except InputError as error:
            raise batch.locate_error(error) from None
        systems = {
            name: system.with_measures(self.measures) for name, system in plain_systems.items()
        }
        numbers = rows.numbers() if self.problem.looks_at_rows and rows.numbers else None
        return rows, BatchSystems(systems, partial(self.read_batch.missing, batch), numbers)


def _row_numbers(batch: streams.Batch, row_mask: Any) -> IntArray:
    """Return the numbers of the remaining rows in the whole stream."""
    all_numbers = (
        batch.first_row + np.arange(batch.n_rows)
        if batch.row_indices is None
        else batch.row_indices
    )
    return all_numbers if row_mask is None else all_numbers[np.asarray(row_mask)]


def _fill_nulls(column: Any) -> Any:
    """Return a text column with missing values replaced by empty text."""
    import pyarrow.compute as pc

    return pc.fill_null(pc.cast(column, "string"), "")


def _select_column(columns: Mapping[str, Any], names: str | Mapping[str, str]) -> Any:
    """Return one column, or one for each class."""
    if isinstance(names, str):
        return columns[names]
    return {name: columns[column] for name, column in names.items()}


def _select_nested(columns: Mapping[str, Any], names: Any) -> Any:
    """Return the columns in place of their names in nested dicts."""
    if isinstance(names, str):
        return columns[names]
    return {key: _select_nested(columns, inner) for key, inner in names.items()}


def batch_weights(values: Any, rows: int) -> tuple[FloatArray | None, npt.NDArray[np.intp] | None]:
    """Return the weights of a batch, checked, and the rows of positive weight if not all are.

    All weights of a batch may be 0.
    """
    if values is not None and not np.any(numbers := to_numbers(values, "weight")):
        check_length(numbers, rows, "weight")
        return np.zeros(rows), np.zeros(0, np.intp)
    weight = to_weights(values, rows, is_batch=True)
    return weight, None if weight is None or weight.all() else np.flatnonzero(weight > 0)
