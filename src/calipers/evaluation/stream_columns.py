"""Columns of streams: which tables are read in batches, which columns, within which memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import missing_mask
from calipers.data.categories import CategoryColumns, CategorySelector
from calipers.data.columns import (
    check_names,
    check_system_names,
    check_types,
    file_origin,
    match_prefix,
    named_columns,
)
from calipers.data.costs import Costs, cost_column_name
from calipers.data.distributed_frames import is_dask, is_spark
from calipers.data.errors import InputError, did_you_mean, format_value, set_input_rows
from calipers.data.frequency_weights import check_counts
from calipers.data.streams import Batch, Stream, is_large, memory_budget
from calipers.engines.base import Engine, Mergeable, P, identity
from calipers.evaluation.shared import unwrap_unnamed
from calipers.evaluation.slice_definitions import bins_by_factor
from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import ClassTables, NumericRows, ScoreTable, StatisticVector
from calipers.statistics.scores import ScoreBuffer

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.data.trec import InputOrigin
    from calipers.engines.pass_tasks import MissingCounts
    from calipers.evaluation.options import Options


#: Proportion of the memory limit for a table of scores during merging, when two tables and the
#: merged one exist at the same time.
_TABLE_MEMORY_SHARE = 0.15
#: Proportion of the memory limit for rows that are collected before sorting, and bytes per row.
_BUFFER_MEMORY_SHARE, _ROW_BYTES = 0.25, 64
#: Minimum number of distinct scores that are stored, whatever the memory limit.
MIN_SCORES = 10_000
#: What a distinct score takes in a table: itself and four sums.
_SCORE_BYTES = 40


@dataclass(frozen=True)
class MemoryLimit:
    """Limit of the memory of an accumulated statistic."""

    max_bytes: int

    def __call__(self, statistic: Any) -> Any:
        """Return the statistic, compressed if it takes too much memory."""
        if isinstance(statistic, ClassTables):
            return statistic.map_tables(
                MemoryLimit(self.max_bytes // max(1, len(statistic.tables)))
            )
        if isinstance(statistic, StatisticVector):
            component_limit = MemoryLimit(self.max_bytes // max(len(statistic.components), 1))
            return statistic.map_components(component_limit)
        if isinstance(statistic, ScoreBuffer):
            fits_memory = statistic.rows * _ROW_BYTES <= self.max_bytes * _BUFFER_MEMORY_SHARE
            return statistic if fits_memory else self(statistic.finalize())
        if isinstance(statistic, ScoreTable):
            max_scores = max(MIN_SCORES, int(self.max_bytes * _TABLE_MEMORY_SHARE) // _SCORE_BYTES)
            return (
                statistic.compress(max_scores // 2)
                if len(statistic.scores) > max_scores
                else statistic
            )
        if isinstance(statistic, NumericRows):
            size = sum(
                array.nbytes for array in vars(statistic).values() if isinstance(array, np.ndarray)
            )
            if size > self.max_bytes / 2:
                raise InputError(
                    "measures of ranks, medians and uplift take all rows in memory, "
                    f"{size / 2**30:,.1f} GiB so far; leave them out, or allow more with memory="
                )
        return statistic


#: Maximum number of rows that are expanded from their counts at a time.
MAX_EXPANDED_ROWS = 1 << 19
#: Maximum count of a row, because repeated rows are evaluated one by one.
MAX_COUNT = 10**9


class SelectedRows(Engine):
    """Rows of another engine, some of which are repeated or left out."""

    def __init__(self, rows: Engine) -> None:
        self.inner_engine = rows
        self.kind, self.name, self.column_names = rows.kind, rows.name, rows.column_names
        self.n_rows, self.is_rereadable, self.files = rows.n_rows, rows.is_rereadable, rows.files
        self.file_stamps = rows.file_stamps

    @property
    def schema(self) -> pa.Schema:
        """Arrow types of the columns."""
        return self.inner_engine.schema

    def group_batches(self, group_column: str) -> Engine:
        """Return an engine for all rows, with those of a value of a column in one batch."""
        return self.inner_engine.group_batches(group_column)

    @property
    def source(self) -> Engine:
        """Engine that reads the rows."""
        return unselected_rows(self.inner_engine)


def unselected_rows(rows: Engine) -> Engine:
    """Return the engine that reads each row once, whatever its count."""
    return rows.source if isinstance(rows, SelectedRows) else rows


class CompleteRows(SelectedRows):
    """Rows of another engine, without the batches that have no complete row."""

    def reduce(
        self,
        map_batch: Callable[[Any], P],
        columns: Sequence[str] = (),
        limit_size: Callable[[P], P] = identity,
        description: str = "reading",
    ) -> P:
        """Reduce all batches, as the protocol of engines defines."""
        task = _SkipIncomplete(map_batch)
        optional = self.inner_engine.reduce(task, columns, _BoundedResult(limit_size), description)
        if optional.result is None:
            optional.missing.raise_incomplete()
        result: P = optional.result
        return result.with_dropped(optional.missing) if optional.missing.rows else result


class NoCompleteRowError(Exception):
    """All rows of a batch are incomplete; ``missing`` counts their missing values."""

    def __init__(self, missing: MissingCounts) -> None:
        super().__init__(missing)
        self.missing = missing


@dataclass(frozen=True, eq=False)
class _SkipIncomplete:
    """Task on batches, without those that have no complete row."""

    work: Callable[[Any], Any]

    def __call__(self, batch: Batch) -> OptionalResult:
        try:
            return OptionalResult(self.work(batch))
        except NoCompleteRowError as error:
            return OptionalResult(None, error.missing)

    def check(self, batch: Batch) -> None:
        """Check the cells of a batch."""
        with suppress(NoCompleteRowError):
            _check_cells(self.work, batch)


def _check_cells(work: Callable[[Any], Any], batch: Batch) -> None:
    """Check the cells of a batch, if the task does so apart from its result."""
    if hasattr(work, "check"):
        work.check(batch)


class FrequencyWeightedRows(SelectedRows):
    """Rows of another engine, repeated as often as a column of counts states.

    They are repeated only if that column is among those read.
    """

    def __init__(self, rows: Engine, count: str, *, drops_missing: bool) -> None:
        super().__init__(rows)
        self.count, self.drops_missing = count, drops_missing

    def reduce(
        self,
        map_batch: Callable[[Any], P],
        columns: Sequence[str] = (),
        limit_size: Callable[[P], P] = identity,
        description: str = "reading",
    ) -> P:
        """Reduce all batches, as the protocol of engines defines."""
        if self.count not in columns:
            return self.inner_engine.reduce(map_batch, columns, limit_size, description)
        repeat_rows = _RepeatRows(map_batch, self.count, self.drops_missing)
        result: P | None = self.inner_engine.reduce(
            repeat_rows, columns, _BoundedResult(limit_size), description
        ).result
        if result is None:
            raise InputError(f"{self.name}: count: all counts are 0")
        return result


def _no_missing() -> MissingCounts:
    """Return the counts of a batch in which no value is missing."""
    from calipers.engines.pass_tasks import MissingCounts

    return MissingCounts()


@dataclass(frozen=True, eq=False)
class OptionalResult(Mergeable):
    """Result of a batch, or None if it has no rows; ``missing`` counts those of such batches."""

    result: Any
    missing: MissingCounts = field(default_factory=_no_missing)

    def __add__(self, other: OptionalResult) -> OptionalResult:
        missing = self.missing + other.missing
        if self.result is None or other.result is None:
            return OptionalResult(other.result if self.result is None else self.result, missing)
        return OptionalResult(self.result + other.result, missing)


@dataclass(frozen=True, eq=False)
class _BoundedResult:
    """Function that bounds the memory of a result, if there is one."""

    limit: Callable[[Any], Any]

    def __call__(self, optional_result: OptionalResult) -> OptionalResult:
        return (
            optional_result
            if optional_result.result is None
            else replace(optional_result, result=self.limit(optional_result.result))
        )


@dataclass(frozen=True, eq=False)
class _RepeatRows:
    """Task on rows that are repeated by their counts, in chunks."""

    work: Callable[[Any], Any]
    count: str
    drops_missing: bool

    def __call__(self, batch: Batch) -> OptionalResult:
        counts = self._counts(batch)
        if not counts.all():  # rows of count 0 are left out, but have to be valid, as in memory
            _check_cells(self.work, batch)
        try:
            return OptionalResult(self._sum(map(self.work, self._repeat_batches(batch, counts))))
        except InputError:
            self.work(batch)  # which tells the row by its own number
            raise

    @staticmethod
    def _sum(results: Iterator[Any]) -> Any:
        first = next(results, None)
        return reduce(add, results, first)

    def _counts(self, batch: Batch) -> npt.NDArray[np.int64]:
        column = batch.columns[self.count]
        counts = np.ones(batch.n_rows, np.int64)
        present_mask = np.ones(batch.n_rows, bool)
        if self.drops_missing:  # those without a count are left out where others are
            present_mask = ~missing_mask(column, "count")
            column = column.filter(_to_arrow(present_mask))
        with batch.located_errors():
            set_input_rows(np.flatnonzero(present_mask))
            counts[present_mask] = present_counts = check_counts(column, "count")
        if len(present_counts) and present_counts.max() > MAX_COUNT:
            row, count = int(np.argmax(counts)), f"{present_counts.max():,.0f}"
            raise batch.locate_error(
                InputError(f"count: is {count} in row {row}, expected {MAX_COUNT:,} at most")
            )
        return counts

    @staticmethod
    def _repeat_batches(batch: Batch, counts: npt.NDArray[np.int64]) -> Iterator[Batch]:
        """Yield batches of rows that are repeated by their counts."""
        import pyarrow as pa

        cumulative = np.cumsum(counts)
        total = int(cumulative[-1]) if len(cumulative) else 0
        for start in range(0, total, MAX_EXPANDED_ROWS):
            end = min(start + MAX_EXPANDED_ROWS, total)
            first, last = np.searchsorted(cumulative, [start, end - 1], side="right")
            rows = np.arange(first, min(last + 1, len(cumulative)))
            before = cumulative[rows] - counts[rows]
            n_times = np.minimum(cumulative[rows], end) - np.maximum(before, start)
            row_indices = np.repeat(rows, np.maximum(n_times, 0))
            arrow_indices = pa.array(row_indices)
            columns = {name: column.take(arrow_indices) for name, column in batch.columns.items()}
            input_columns = {
                name: column if start == 0 else column.slice(0, 0)
                for name, column in batch.columns.items()
            }
            yield replace(
                batch,
                columns=columns,
                row_indices=batch.first_row + row_indices,
                input_columns=input_columns,
            )


def _to_arrow(mask: npt.NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(mask)


#: Names of the engines.
ENGINES = ("memory", "stream", "spark", "dask")
#: Default memory limit of a process of a cluster, whose memory is unknown here.
_PROCESS_MEMORY = 10**9
#: Memory of an evaluation in memory, as a multiple of the columns that it reads: 4 to 8 for two
#: million weighted rows of one system, 6 to 11 of two systems, in addition to Python itself.
_MEMORY_FACTOR = 10


def is_streamed(
    engine: str | None, memory: int | str | None, data: Any, columns: Sequence[Any]
) -> bool:
    """Return whether the rows are to be read in batches.

    They are if the engine says so, or if the columns of a file would exceed the memory limit.
    """
    if engine is not None and engine not in ENGINES:
        raise InputError(f"engine is {engine!r}; {did_you_mean(engine, ENGINES)}")
    if engine == "memory":
        return False
    if engine in ("spark", "dask") or (engine is None and _is_distributed(data)):
        return True
    is_path = isinstance(data, str | os.PathLike)
    if engine is None and not (is_path or _has_files(data)):
        return False
    if data is None:
        raise InputError("engine='stream' reads data=, which is not given")
    if _is_distributed(data):
        kind = "spark" if is_spark(data) else "dask"
        raise InputError(f"engine='stream' has batches in this process; leave it out, or {kind!r}")
    if engine == "stream" or not is_path or _names_several_files(os.fspath(data)):
        return True
    if memory is None and not os.path.exists(data):  # noqa: PTH110
        return False  # which is reported where it is read
    max_bytes = memory_budget(memory)
    if os.path.exists(data) and not os.path.isfile(data):  # noqa: PTH110, PTH113
        return False  # nobody knows how large a pipe is
    stream = Stream.from_input(data)
    requested_names = [name for column in columns for name in flatten_names(column)]
    # Names that are not columns are reported where the columns are read.
    names = {name for text in requested_names for name in (text, *match_prefix(text, stream.names))}
    present_names = [name for name in stream.names if name in names]
    return bool(present_names) and is_large(stream, present_names, max_bytes // _MEMORY_FACTOR)


def _has_files(data: Any) -> bool:
    """Return whether data have never been in memory: several files, a dataset or a reader."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(path, str | os.PathLike) for path in data)
    kind = type(data)
    is_dataset = "Dataset" in kind.__name__ or kind.__name__ == "RecordBatchReader"
    return isinstance(data, Stream | Engine) or (
        kind.__module__.split(".")[0] == "pyarrow" and is_dataset
    )


def _names_several_files(path: str) -> bool:
    # A text that is too long for a path is not one, but methods of Path raise an error for it.
    is_folder, is_present = os.path.isdir(path), os.path.exists(path)  # noqa: PTH110, PTH112
    return is_folder or ("*" in path and not is_present)


def check_single_file(data: Any) -> None:
    """Check that ranked rows are not in several files, unless they are to be read in batches.

    Whether the rows of each group are consecutive, as batches require, is not known beforehand.
    """
    if isinstance(data, str | os.PathLike):
        is_several = _names_several_files(os.fspath(data))
    else:
        is_several = isinstance(data, list | tuple) and _has_files(data)
    if is_several:
        raise InputError(
            f"data: {format_value(data)} is not a single file. Several files are read in batches, "
            "with engine='stream', if the rows of each group are consecutive; "
            "otherwise combine them into one file"
        )


def _is_distributed(data: Any) -> bool:
    """Return whether data are a data frame of Spark or Dask."""
    return is_spark(data) or is_dask(data)


def get_engine(data: Any, engine: str | None, categories: CategorySelector | None = None) -> Engine:
    """Return the engine that reads the rows.

    Columns of CSV that ``categories`` selects are numbers only if no text is lost.
    """
    from calipers.engines.local import StreamEngine

    if isinstance(data, Engine):
        if categories is not None and isinstance(data, StreamEngine):
            return data.with_categories(categories)
        return data  # whose types are not inferred here
    if data is None:
        raise InputError(f"engine={engine!r} reads data=, which is not given")
    if engine == "spark" or (engine is None and is_spark(data)):
        from calipers.engines.spark import SparkEngine

        return SparkEngine.from_source(data)
    if engine == "dask" or (engine is None and is_dask(data)):
        from calipers.engines.dask import DaskEngine

        return DaskEngine.from_source(data)
    return StreamEngine(Stream.from_input(data, categories=categories))


def process_memory(memory: int | str | None, rows: Engine) -> int:
    """Return the number of bytes that each process may use."""
    from calipers.engines.remote import RemoteEngine

    return (
        _PROCESS_MEMORY
        if memory is None and isinstance(unselected_rows(rows), RemoteEngine)
        else memory_budget(memory)
    )


def memory_only_error(name: str, rows: Engine, reason: str = "") -> InputError:
    """Return the error that an argument does not apply to rows in batches."""
    return InputError(
        f"{name}= takes all rows in memory, but engine={rows.kind!r} has them in "
        f"batches{reason and f': {reason}'}; leave it out, or take engine='memory'"
    )


def flatten_names(names: Any) -> list[str]:
    """Return all names in nested dicts and lists."""
    return [name for name in _leaves(names) if isinstance(name, str)]


def _leaves(nested: Any) -> Iterator[Any]:
    """Yield all values in nested dicts and lists."""
    if isinstance(nested, Mapping | list | tuple):
        for value in nested.values() if isinstance(nested, Mapping) else nested:
            yield from _leaves(value)
    else:
        yield nested


@dataclass(frozen=True)
class StreamColumns:
    """Columns of a stream by role.

    Truth, weights and clusters have one column each, predictions one for each kind and system.
    """

    engine: Engine
    #: One column, or one for each class, label or output; none where nothing is known to be true.
    truth: str | Mapping[str, str]
    #: Predictions by role and system: a column, or a column for each class.
    output_columns: Mapping[str, Mapping[str, str | Mapping[str, str]]]
    weight: str | None
    cluster: str | None
    missing: str = "error"
    #: Columns of each slice definition by factor, and the bin edges by factor.
    slices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    bins: Mapping[str, Any] | None = None
    #: How many rows each stands for.
    count: str | None = None
    #: Other columns that have a value in every row that is not left out, by their display names.
    extra_columns: Mapping[str, str] = field(default_factory=dict)
    #: Columns of text of which a field without a value is empty text, and no value that is missing.
    text_columns: Sequence[str] = ()
    #: Names of the clusters, if they are known.
    cluster_names: Any = field(default=None, compare=False)
    #: Column of clusters that have one row each, which are no clusters.
    single_row_cluster: str | None = None

    @classmethod
    def from_arguments(
        cls,
        data: Any,
        roles: Mapping[str, Any],
        others: Mapping[str, Any],
        options: Options,
        categories: Collection[str] = (),
        lists: Collection[str] = (),
    ) -> StreamColumns:
        """Find the columns, which are given by name.

        ``roles`` are the truth, if there is one, and the predictions. ``others`` are the other
        arguments of the task; those that need all rows in memory raise an error. ``categories`` are
        the roles that are categories in this task, in addition to those that are in any task, and
        ``lists`` those whose columns may hold a list in each row.
        """
        from calipers.evaluation.availability import ROW_REASONS

        row_columns = {role: others.get(role) for role in ("weight", "count", "cluster", "slices")}
        requested_columns = {**row_columns, **roles}
        requested_columns["cost"] = Costs.from_argument(options.cost).columns
        category_columns = CategoryColumns.from_roles(requested_columns, categories)
        stream, missing = get_engine(data, options.engine, category_columns.select), options.missing
        for name, reason in ROW_REASONS.items():
            if not (others.get(name) is None or others[name] is False):
                raise memory_only_error(name, stream, reason)
        check_types(requested_columns, stream.schema, lists)
        columns = {
            kind: _resolve_system_columns(requested, kind, stream)
            for kind, requested in roles.items()
            if kind != "truth" and requested is not None
        }
        weight, cluster, count = (
            _find_column(others.get(role), role, stream) for role in ("weight", "cluster", "count")
        )
        truth = roles.get("truth", {})
        _check_list(truth, "truth")
        if isinstance(truth, list | tuple):
            truth = {column: column for column in truth}
        truth_columns = _resolve_names(truth, "truth", stream)
        if "truth" in roles and not truth_columns:
            raise InputError("truth: does not name a column of data=")
        cuts: dict[str, dict[str, str]] = {}
        for name, columns_by_factor in (others.get("slices") or {}).items():
            factor_columns = {
                factor: _find_column(requested, f"slice {factor!r}", stream)
                for factor, requested in columns_by_factor.items()
            }
            cuts[name] = {
                factor: column for factor, column in factor_columns.items() if column is not None
            }
        if count is not None:
            stream = FrequencyWeightedRows(stream, count, drops_missing=missing == "drop")
        if missing == "drop":
            stream = CompleteRows(stream)
        extra_columns = {
            display_name: column
            for name, by_system in Costs.from_argument(options.cost).columns.items()
            for system, requested in by_system.items()
            for display_name in (cost_column_name(name, system),)
            if (column := _find_column(requested, display_name, stream)) is not None
        }
        slice_options = cuts, bins_by_factor(cuts, options.slice_bins)
        return cls(
            stream,
            truth_columns,
            columns,
            weight,
            cluster,
            missing,
            *slice_options,
            count,
            extra_columns,
        )

    @property
    def unrepeated_stream(self) -> Engine:
        """Engine that reads each row once, whatever its count."""
        rows = unselected_rows(self.engine)
        return CompleteRows(rows) if self.missing == "drop" else rows

    @property
    def column_names(self) -> list[str]:
        """Names of all columns that are read, without duplicates."""
        return list(dict.fromkeys([*self.required_columns, *self.slice_columns]))

    @property
    def slice_columns(self) -> list[str]:
        """Names of the columns that define slices."""
        return list(
            dict.fromkeys(
                column for by_factor in self.slices.values() for column in by_factor.values()
            )
        )

    @property
    def required_by_role(self) -> dict[str, Any]:
        """Names of the columns that need a value in every row, by their names in messages."""
        outputs = {
            kind: unwrap_unnamed(by_system) for kind, by_system in self.output_columns.items()
        }
        cluster = self.single_row_cluster if self.cluster is None else self.cluster
        row_columns = {"weight": self.weight, "count": self.count, "cluster": cluster}
        return {
            "truth": self.truth,
            **outputs,  # those of ranking have roles such as weights, too
            **{role: name for role, name in row_columns.items() if name is not None},
            **(self.extra_columns if self.missing == "drop" else {}),
        }

    @property
    def required_columns(self) -> list[str]:
        """Names of the columns that need a value in every row."""
        return list(dict.fromkeys(flatten_names(self.required_by_role)))

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return list(
            dict.fromkeys(name for by_system in self.output_columns.values() for name in by_system)
        )


def _find_column(name: Any, role: str, stream: Engine) -> str | None:
    """Return the name of a column if it is given; raise an error if it does not exist."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"{role}: a stream takes the name of a column, not values")
    if name not in stream.column_names:
        raise InputError(
            f"{stream.name}: no column {name!r}; {did_you_mean(name, stream.column_names)}"
        )
    return name


def _resolve_names(names: Any, role: str, stream: Engine) -> Any:
    """Return the columns that names stand for, after expansion of patterns."""
    for name in _leaves(names):
        if not (isinstance(name, str) and name.endswith("*")):
            _find_column(name, role, stream)
    return named_columns(names, stream.column_names, stream.name)


def _check_list(requested: Any, role: str) -> None:
    """Check that a list, if it is one, has the names of columns."""
    if isinstance(requested, list | tuple):
        check_names(requested, role)
        if not requested:
            raise InputError(f"{role}: is empty")


def _resolve_system_columns(
    requested: Any, kind: str, stream: Engine
) -> dict[str, str | Mapping[str, str]]:
    """Return the column of each system, or its columns by class."""
    _check_list(requested, kind)
    if isinstance(requested, Mapping):
        if not requested:
            raise InputError(f"{kind}: an empty dict, expected at least one system")
        check_system_names(list(requested), kind)
    is_nested = isinstance(requested, Mapping | list | tuple)
    columns = _resolve_names(
        requested if is_nested else {DEFAULT_SYSTEM_NAME: requested}, kind, stream
    )
    for name, system_columns in columns.items():
        if isinstance(system_columns, Mapping):
            columns[name] = {
                label: column for label, column in system_columns.items() if column is not None
            }
    return {
        name: system_columns
        for name, system_columns in columns.items()
        if system_columns is not None
    }


def wrap_unnamed(
    by_system: Mapping[str, str | Mapping[str, str]],
) -> Mapping[str, str | Mapping[str, str]]:
    """Return columns by system, or as columns of one unnamed system.

    Where systems take several columns and each name has only one, the names are those of the
    classes, labels, outputs or levels of one system.
    """
    single_columns = {name: column for name, column in by_system.items() if isinstance(column, str)}
    return (
        {DEFAULT_SYSTEM_NAME: single_columns}
        if len(single_columns) == len(by_system) and list(by_system) != [DEFAULT_SYSTEM_NAME]
        else by_system
    )


def systems_by_name(
    by_system: Mapping[str, str | Mapping[str, str]],
) -> Mapping[str, str | Mapping[str, str]]:
    """Return columns by system, of which several of one unnamed system are systems by name."""
    names = by_system.get(DEFAULT_SYSTEM_NAME)
    return (
        names
        if list(by_system) == [DEFAULT_SYSTEM_NAME] and isinstance(names, Mapping)
        else by_system
    )


#: A column with more distinct values is not a column of classes.
MAX_CLASSES = 10_000


def file_origins(stream: Engine) -> list[InputOrigin]:
    """Return the origins of the rows, for the provenance."""
    return [file_origin(name) for name in stream.files or (stream.name,)]
