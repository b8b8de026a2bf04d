"""Rows of a batch: their columns by role, and the systems on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data import streams
from calipers.data.arrays import (
    check_length,
    from_arrow,
    missing_values_error,
    null_mask,
    take_rows,
    to_numbers,
    to_weights,
    unsigned_zeros,
)
from calipers.data.arrow_types import decode_dictionary
from calipers.data.columns import incomplete_rows
from calipers.data.errors import InputError, set_input_rows
from calipers.data.frequency_weights import RowRepeats
from calipers.engines.accumulators import DistinctValues
from calipers.engines.base import Mergeable
from calipers.engines.pass_tasks import BatchSystems, MissingCounts
from calipers.evaluation.batch import Batch
from calipers.evaluation.shared import unwrap_unnamed
from calipers.evaluation.stream_columns import MAX_CLASSES, NoCompleteRowError, StreamColumns
from calipers.inference.clusters import ClusterIndex
from calipers.lazy_dataclasses import dataclass

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
    #: Names of all clusters; by default those of the batch.
    clusters: Any

    def __call__(self, batch: streams.Batch) -> Batch:
        """Return the rows of a batch by role."""
        stream_columns = self.columns
        columns, row_mask, count_missing = self.read_columns(batch)
        if row_mask is not None and not row_mask.true_count:
            raise NoCompleteRowError(count_missing())
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
            missing=count_missing,
        )

    def drop_incomplete(self, batch: streams.Batch) -> dict[str, Any]:
        """Return the columns of a batch, without incomplete rows if these are dropped.

        If no row remains, an error is raised that engines without such batches catch.
        """
        columns, row_mask, count_missing = self.read_columns(batch)
        if row_mask is not None and not row_mask.true_count:
            raise NoCompleteRowError(count_missing())
        return columns

    def read_columns(
        self, batch: streams.Batch
    ) -> tuple[dict[str, Any], Any, Callable[[], MissingCounts]]:
        """Return the columns of a batch, without incomplete rows if these are dropped.

        The mask of the remaining rows is returned as well, which is None if all remain, and a
        function that counts the missing values of the rows as they are read.
        """
        import pyarrow as pa

        columns = self._with_text(batch.columns)
        incomplete_mask, missing = self._incomplete(columns)
        count_missing = partial(self._count_missing, batch, missing)
        if not missing.n_dropped:
            return columns, None, count_missing
        set_input_rows(np.flatnonzero(~incomplete_mask))
        row_mask = pa.array(~incomplete_mask)
        complete_columns = {name: column.filter(row_mask) for name, column in columns.items()}
        return complete_columns, row_mask, count_missing

    def _count_missing(self, batch: streams.Batch, missing: MissingCounts) -> MissingCounts:
        """Return the missing values of a batch as it is read, before its rows are repeated."""
        if batch.input_columns is None:
            return missing
        return self._incomplete(self._with_text(batch.input_columns))[1]

    def _with_text(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns in which missing values of text are empty text."""
        return {**columns, **{n: _fill_nulls(columns[n]) for n in self.columns.text_columns}}

    def _incomplete(self, columns: Mapping[str, Any]) -> tuple[Any, MissingCounts]:
        """Return the mask of the rows to drop, and the numbers of their missing values."""
        n_rows = len(next(iter(columns.values())))
        if self.columns.missing != "drop":
            return None, MissingCounts(n_rows)
        mask, by_column = incomplete_rows(_select_nested(columns, self.columns.required_by_role))
        return mask, MissingCounts(n_rows, 0 if mask is None else int(mask.sum()), by_column)

    def _clusters(self, column: Any, indices: Any, weights: FloatArray | None) -> ClusterIndex:
        """Return the clusters of the rows with positive weight."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.null_count:
            raise missing_values_error("cluster", np.flatnonzero(null_mask(column)), len(column))
        if pa.types.is_floating(column.type):
            to_numbers(column, "cluster")  # NaN is not a cluster
        column = unsigned_zeros(column)
        names = column.unique() if self.clusters is None else self.clusters
        # Clusters whose rows all have weight 0 have no name.
        index = pc.index_in(column, value_set=names).fill_null(0)
        code = from_arrow(index).astype(np.uint32)
        return ClusterIndex(code if indices is None else code[indices], len(names), weights)


def _complete_columns(columns: StreamColumns, batch: streams.Batch) -> Mapping[str, Any]:
    """Return the columns of a batch, without the rows that are left out as incomplete."""
    if columns.missing != "drop":
        return batch.columns
    return BatchReader(columns, None).drop_incomplete(batch)


@dataclass(frozen=True)
class _ClassLimit:
    """Limit of the number of classes."""

    label: str

    def __call__(self, distinct: DistinctValues) -> DistinctValues:
        if len(distinct.values) > MAX_CLASSES:
            raise InputError(f"{self.label}: has more than {MAX_CLASSES:,} classes")
        return distinct


@dataclass(frozen=True, eq=False)
class _FindLabels:
    """Task that finds the distinct labels of a column in a batch."""

    columns: StreamColumns
    column: str

    def __call__(self, batch: streams.Batch) -> DistinctValues:
        return DistinctValues.from_array(_complete_columns(self.columns, batch)[self.column])


def read_distinct_labels(columns: StreamColumns, column: str, display_name: str) -> Any:
    """Return the distinct labels of a column, in a pass over the rows that are not left out.

    Those of a row of count 0 are known, as in memory; those of an incomplete row are not.
    """
    rows = columns.unrepeated_stream
    if not rows.is_rereadable:
        raise InputError(
            f"{rows.name}: can be read only once: name the classes, as in labels=[0, 1]"
        )
    distinct = rows.reduce(
        _FindLabels(columns, column),
        columns.required_columns if columns.missing == "drop" else [column],
        _ClassLimit(display_name),
        f"finding classes in {column}",
    )
    present_values = distinct.present_values  # the pass over all columns reports missing ones
    if not len(present_values):
        raise InputError(f"no row is complete; all values of {display_name} are missing")
    return present_values


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
        with batch.located_errors():
            columns = _complete_columns(self.columns, batch)
            column = columns[name]
            if weight is not None:
                indices = batch_weights(columns[weight], len(column))[1]
                column = column if indices is None else take_rows(column, indices)
        return _ClusterNames(DistinctValues.from_array(column), len(column))


def find_clusters(columns: StreamColumns) -> StreamColumns:
    """Return the columns with the names of the clusters, from a pass of its own.

    If every row is a cluster of its own, rows are independent, as in memory. Rows that can be read
    only once have values alone, for which it suffices that they have clusters.
    """
    stream, name = columns.engine, columns.cluster
    if name is None or not stream.is_rereadable:
        return columns
    read_columns = (name, columns.weight, columns.count)
    names = [column for column in read_columns if column is not None]
    if columns.missing == "drop":
        names = [*names, *columns.required_columns]
    clusters: _ClusterNames = stream.reduce(
        _FindClusters(columns), list(dict.fromkeys(names)), description="finding clusters"
    )
    cluster_names = decode_dictionary(clusters.distinct.present_values)
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
        with batch.located_errors():
            rows = self.read_batch(batch)
            plain_systems = self.problem.systems(rows, self.settings)
        systems = {
            name: system.with_measures(self.measures) for name, system in plain_systems.items()
        }
        numbers = rows.numbers() if self.problem.looks_at_rows and rows.numbers else None
        return rows, BatchSystems(systems, rows.missing or MissingCounts, numbers)


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
