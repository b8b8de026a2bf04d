"""Columns of streams: which tables are read in batches, which columns, within which memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import missing_mask
from calipers.data.columns import file_origin, match_prefix, named_columns
from calipers.data.costs import Costs, cost_column_name
from calipers.data.distributed_frames import is_dask, is_spark
from calipers.data.errors import InputError, did_you_mean
from calipers.data.frequency_weights import check_counts
from calipers.data.streams import Batch, Stream, is_large, memory_budget
from calipers.engines.accumulators import DistinctValues
from calipers.engines.base import Engine, Mergeable, P, identity
from calipers.engines.local import StreamEngine
from calipers.engines.remote import RemoteEngine
from calipers.results.estimate import UNNAMED
from calipers.statistics import ClassTables, NumericRows, ScoreTable, StatisticVector
from calipers.statistics.scores import ScoreBuffer

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.data.trec import InputOrigin
    from calipers.evaluation.options import Options


#: Of the memory that may be taken, a table of scores gets this share while it is added up: two of
#: them, and the one that they make, are there at once.
_OF_TABLES = 0.15
#: The share of rows that are gathered before they are sorted, and what one takes while they are.
_OF_ROWS, _A_ROW = 0.25, 64
#: So many distinct scores are kept anyway.
LEAST_SCORES = 10_000
#: What a distinct score takes in a table: itself and four sums.
_A_SCORE = 40


@dataclass(frozen=True)
class MemoryLimit:
    """Limit of the memory of an accumulated statistic."""

    memory: int

    def __call__(self, statistic: Any) -> Any:
        """Return the statistic, compressed if it takes too much memory."""
        if isinstance(statistic, ClassTables):
            return statistic.with_tables(MemoryLimit(self.memory // max(1, len(statistic.tables))))
        if isinstance(statistic, StatisticVector):
            each = MemoryLimit(self.memory // max(len(statistic.parts), 1))
            return statistic.map_parts(each)
        if isinstance(statistic, ScoreBuffer):
            few = statistic.rows * _A_ROW <= self.memory * _OF_ROWS
            return statistic if few else self(statistic.finalize())
        if isinstance(statistic, ScoreTable):
            most = max(LEAST_SCORES, int(self.memory * _OF_TABLES) // _A_SCORE)
            return statistic.compress(most // 2) if len(statistic.scores) > most else statistic
        if isinstance(statistic, NumericRows):
            size = sum(of.nbytes for of in vars(statistic).values() if isinstance(of, np.ndarray))
            if size > self.memory / 2:
                raise InputError(
                    f"measures of ranks and medians take all rows in memory, {size / 2**30:,.1f} "
                    "GiB so far; leave them out, or allow more with memory="
                )
        return statistic


#: So many rows are written at once, however often one counts.
AT_ONCE = 1 << 19
#: A row counts no more often: each of them takes its time.
MOST = 10**9


class FrequencyWeightedRows(Engine):
    """Rows of another engine, repeated as often as a column of counts states.

    They are repeated only if that column is among those read.
    """

    def __init__(self, rows: Engine, count: str, *, drop: bool) -> None:
        self.inner, self.count, self.drop = rows, count, drop
        self.kind, self.name, self.names = rows.kind, rows.name, rows.names
        self.rows, self.is_rereadable, self.files = rows.rows, rows.is_rereadable, rows.files
        self.stamps = rows.stamps

    @property
    def schema(self) -> pa.Schema:
        """Arrow types of the columns."""
        return self.inner.schema

    def reduce(
        self,
        work: Callable[[Any], P],
        columns: Sequence[str] = (),
        kept: Callable[[P], P] = identity,
        what: str = "reading",
    ) -> P:
        """Reduce all batches, as the protocol of engines defines."""
        if self.count not in columns:
            return self.inner.reduce(work, columns, kept, what)
        written = _RepeatRows(work, self.count, self.drop)
        found: P | None = self.inner.reduce(written, columns, _BoundedResult(kept), what).result
        if found is None:
            raise InputError(f"{self.name}: count: all counts are 0")
        return found


@dataclass(frozen=True, eq=False)
class OptionalResult(Mergeable):
    """Result of a batch, or None if it has no rows."""

    result: Any

    def __add__(self, other: OptionalResult) -> OptionalResult:
        if self.result is None or other.result is None:
            return other if self.result is None else self
        return OptionalResult(self.result + other.result)


@dataclass(frozen=True, eq=False)
class _BoundedResult:
    """Function that bounds the memory of a result, if there is one."""

    limit: Callable[[Any], Any]

    def __call__(self, some: OptionalResult) -> OptionalResult:
        return some if some.result is None else OptionalResult(self.limit(some.result))


@dataclass(frozen=True, eq=False)
class _RepeatRows:
    """Task on rows that are repeated by their counts, in chunks."""

    work: Callable[[Any], Any]
    count: str
    drop: bool

    def __call__(self, batch: Batch) -> OptionalResult:
        counts = self._counts(batch)
        try:
            return OptionalResult(self._sum(map(self.work, self._repeat_batches(batch, counts))))
        except InputError:
            self.work(batch)  # which tells the row by its own number
            raise

    @staticmethod
    def _sum(parts: Iterator[Any]) -> Any:
        first = next(parts, None)
        return reduce(add, parts, first)

    def _counts(self, batch: Batch) -> npt.NDArray[np.int64]:
        column = batch.columns[self.count]
        counts = np.ones(batch.rows, np.int64)
        there = np.ones(batch.rows, bool)
        if self.drop:  # those without a count are left out where others are
            there = ~missing_mask(column, "count")
            column = column.filter(_to_arrow(there))
        try:
            counts[there] = given = check_counts(column, "count")
        except InputError as error:
            raise batch.told(error) from None
        if len(given) and given.max() > MOST:
            row = batch.first + int(np.argmax(counts))
            raise InputError(f"{batch.where}: count: is {given.max():,.0f} in row {row}, expected "
                             f"{MOST:,} at most")  # fmt: skip
        return counts

    @staticmethod
    def _repeat_batches(batch: Batch, counts: npt.NDArray[np.int64]) -> Iterator[Batch]:
        """Yield batches of rows that are repeated by their counts."""
        import pyarrow as pa

        upto = np.cumsum(counts)
        total = int(upto[-1]) if len(upto) else 0
        for start in range(0, total, AT_ONCE):
            end = min(start + AT_ONCE, total)
            first, last = np.searchsorted(upto, [start, end - 1], side="right")
            rows = np.arange(first, min(last + 1, len(upto)))
            before = upto[rows] - counts[rows]
            often = np.minimum(upto[rows], end) - np.maximum(before, start)
            places = np.repeat(rows, np.maximum(often, 0))
            taken = pa.array(places)
            columns = {name: of.take(taken) for name, of in batch.columns.items()}
            yield replace(batch, columns=columns, numbers=batch.first + places)


def _to_arrow(there: npt.NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(there)


#: The engines that a verb may be told, and what they are.
ENGINES = ("memory", "stream", "spark", "dask")
#: What each process may take where nothing is said: nobody knows how much those of others have.
_ELSEWHERE = 10**9
#: An evaluation in memory takes so many times as much as the columns that it reads: of two million
#: weighted rows 4 to 8 times with one system, 6 to 11 times with two, beside Python itself.
_OF_COLUMNS = 10


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
    if engine is None and not (is_path or _is_files(data)):
        return False
    if data is None:
        raise InputError("engine='stream' reads data=, which is not given")
    if _is_distributed(data):
        kind = "spark" if is_spark(data) else "dask"
        raise InputError(f"engine='stream' has batches in this process; leave it out, or {kind!r}")
    if engine == "stream" or not is_path or _is_several(os.fspath(data)):
        return True
    most = memory_budget(memory)
    if os.path.exists(data) and not os.path.isfile(data):  # noqa: PTH110, PTH113
        return False  # nobody knows how large a pipe is
    stream = Stream.of(data)
    asked = [name for given in columns for name in flatten_names(given)]
    # What is none of its columns is told where it is read.
    names = {name for text in asked for name in (text, *match_prefix(text, stream.names))}
    there = [name for name in stream.names if name in names]
    return bool(there) and is_large(stream, there, most // _OF_COLUMNS)


def _is_files(data: Any) -> bool:
    """Return whether data have never been in memory: several files, a dataset or a reader."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(path, str | os.PathLike) for path in data)
    kind = type(data)
    named = "Dataset" in kind.__name__ or kind.__name__ == "RecordBatchReader"
    return isinstance(data, Stream | Engine) or (
        kind.__module__.split(".")[0] == "pyarrow" and named
    )


def _is_several(path: str) -> bool:
    # A text that is too long for a path is none, which a method of Path does not say.
    folder, there = os.path.isdir(path), os.path.exists(path)  # noqa: PTH110, PTH112
    return folder or ("*" in path and not there)


def _is_distributed(data: Any) -> bool:
    """Return whether data are a data frame of Spark or Dask."""
    return is_spark(data) or is_dask(data)


def get_engine(data: Any, engine: str | None) -> Engine:
    """Return the engine that reads the rows."""
    if isinstance(data, Engine):
        return data
    if data is None:
        raise InputError(f"engine={engine!r} reads data=, which is not given")
    if engine == "spark" or (engine is None and is_spark(data)):
        from calipers.engines.spark import SparkEngine

        return SparkEngine.from_source(data)
    if engine == "dask" or (engine is None and is_dask(data)):
        from calipers.engines.dask import DaskEngine

        return DaskEngine.from_source(data)
    return StreamEngine(Stream.of(data))


def process_memory(memory: int | str | None, rows: Engine) -> int:
    """Return the number of bytes that each process may use."""
    inner = rows.inner if isinstance(rows, FrequencyWeightedRows) else rows
    return (
        _ELSEWHERE if memory is None and isinstance(inner, RemoteEngine) else memory_budget(memory)
    )


def takes_all_rows(name: str, rows: Engine, why: str = "") -> InputError:
    """Return the error that an argument does not apply to rows in batches."""
    return InputError(
        f"{name}= takes all rows in memory, which engine={rows.kind!r} does not "
        f"have{why and f': {why}'}; leave it out, or take engine='memory'"
    )


def flatten_names(given: Any) -> list[str]:
    """Return all names in nested dicts and lists."""
    return [name for name in _leaves(given) if isinstance(name, str)]


def _leaves(given: Any) -> Iterator[Any]:
    """Yield all values in nested dicts and lists."""
    if isinstance(given, Mapping | list | tuple):
        for value in given.values() if isinstance(given, Mapping) else given:
            yield from _leaves(value)
    else:
        yield given


@dataclass(frozen=True)
class StreamColumns:
    """Columns of a stream by role.

    Truth, weights and clusters have one column each, predictions one for each kind and system.
    """

    stream: Engine
    #: One column, or one for each class, label or output; none where nothing is known to be true.
    truth: str | Mapping[str, str]
    #: Of each kind the column of each system, or a column for each class.
    output_columns: Mapping[str, Mapping[str, str | Mapping[str, str]]]
    weight: str | None
    cluster: str | None
    missing: str = "error"
    #: The columns of each way to cut the rows, and where those of numbers are cut.
    slices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    bins: Mapping[str, Any] | None = None
    #: How many rows each stands for.
    count: str | None = None
    #: Other columns that have a value in every row that is not left out.
    extra_columns: Sequence[str] = ()
    #: Columns of text of which a field without a value is empty text, and no value that is missing.
    texts: Sequence[str] = ()

    @classmethod
    def from_arguments(
        cls,
        data: Any,
        roles: Mapping[str, Any],
        others: Mapping[str, Any],
        options: Options,
    ) -> StreamColumns:
        """Find the columns, which are given by name.

        ``roles`` are the truth, if there is one, and the predictions. ``others`` are the other
        arguments of the task; those that need all rows in memory raise an error.
        """
        from calipers.evaluation.availability import ROW_REASONS

        stream, missing = get_engine(data, options.engine), options.missing
        for name, why in ROW_REASONS.items():
            if not (others.get(name) is None or others[name] is False):
                raise takes_all_rows(name, stream, why)
        columns = {
            kind: _columns_by_system(given, kind, stream)
            for kind, given in roles.items()
            if kind != "truth" and given is not None
        }
        weight, cluster, count = (
            _find_column(others.get(role), role, stream) for role in ("weight", "cluster", "count")
        )
        truth = roles.get("truth", {})
        if isinstance(truth, list | tuple):
            truth = {str(column): column for column in truth}
        of_truth = _resolve_names(truth, "truth", stream)
        if "truth" in roles and not of_truth:
            raise InputError("truth: names no column of data=")
        cuts: dict[str, dict[str, str]] = {}
        for name, of in (others.get("slices") or {}).items():
            found = {
                part: _find_column(given, f"slice {part!r}", stream) for part, given in of.items()
            }
            cuts[name] = {part: column for part, column in found.items() if column is not None}
        if count is not None:
            stream = FrequencyWeightedRows(stream, count, drop=missing == "drop")
        also = tuple(
            column
            for name, by in Costs.of(options.cost).columns.items()
            for system, given in by.items()
            if (column := _find_column(given, cost_column_name(name, system), stream)) is not None
        )
        cut_by = cuts, options.slice_bins
        return cls(stream, of_truth, columns, weight, cluster, missing, *cut_by, count, also)

    @property
    def names(self) -> list[str]:
        """Names of all columns that are read, without duplicates."""
        return list(dict.fromkeys([*self.required_columns, *self.slice_columns]))

    @property
    def slice_columns(self) -> list[str]:
        """Names of the columns that define slices."""
        return list(dict.fromkeys(column for of in self.slices.values() for column in of.values()))

    @property
    def required_columns(self) -> list[str]:
        """Names of the columns that need a value in every row."""
        said = [column for of in self.output_columns.values() for column in of.values()]
        also = self.extra_columns if self.missing == "drop" else ()
        others = (
            *flatten_names(self.truth),
            *flatten_names(said),
            self.weight,
            self.cluster,
            self.count,
            *also,
        )
        return list(dict.fromkeys(name for name in others if name is not None))

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return list(dict.fromkeys(name for of in self.output_columns.values() for name in of))


def _find_column(given: Any, what: str, stream: Engine) -> str | None:
    """Return the name of a column if it is given; raise an error if it does not exist."""
    if given is None:
        return None
    if not isinstance(given, str):
        raise InputError(f"{what}: a stream takes the name of a column, not values")
    if given not in stream.names:
        raise InputError(f"{stream.name}: no column {given!r}; {did_you_mean(given, stream.names)}")
    return given


def _resolve_names(given: Any, what: str, stream: Engine) -> Any:
    """Return the columns that names stand for, after expansion of patterns."""
    for name in _leaves(given):
        if not (isinstance(name, str) and name.endswith("*")):
            _find_column(name, what, stream)
    return named_columns(given, stream.names, stream.name)


def _columns_by_system(given: Any, kind: str, stream: Engine) -> dict[str, str | Mapping[str, str]]:
    """Return the column of each system, or its columns by class."""
    several = isinstance(given, Mapping | list | tuple)
    columns = _resolve_names(given if several else {UNNAMED: given}, kind, stream)
    if not columns:
        raise InputError(f"{kind}: no system is named")
    for name, of in columns.items():
        if isinstance(of, Mapping):
            columns[name] = {part: column for part, column in of.items() if column is not None}
    return {name: of for name, of in columns.items() if of is not None}


def wrap_unnamed(
    given: Mapping[str, str | Mapping[str, str]],
) -> Mapping[str, str | Mapping[str, str]]:
    """Return columns by system, or as columns of one unnamed system.

    Where systems take several columns and each name has only one, the names are those of the
    classes, labels, outputs or levels of one system.
    """
    one = {name: column for name, column in given.items() if isinstance(column, str)}
    return {UNNAMED: one} if len(one) == len(given) and list(given) != [UNNAMED] else given


#: Of more distinct values, a column is none of classes.
MOST_CLASSES = 10_000


@dataclass(frozen=True)
class _ClassLimit:
    """Limit of the number of classes."""

    label: str

    def __call__(self, found: DistinctValues) -> DistinctValues:
        if len(found.values) > MOST_CLASSES:
            raise InputError(f"{self.label}: has more than {MOST_CLASSES:,} classes")
        return found


@dataclass(frozen=True)
class DistinctLabels:
    """Task that finds the distinct values of a column."""

    column: str

    def __call__(self, batch: Batch) -> DistinctValues:
        """Return the distinct values of a batch."""
        return DistinctValues.from_array(batch.columns[self.column])


def distinct_labels(rows: Engine, column: str, what: str) -> Any:
    """Return the distinct labels of a column, in a pass over it alone."""
    if not rows.is_rereadable:
        raise InputError(
            f"{rows.name}: can be read only once: name the classes, as in labels=[0, 1]"
        )
    found = rows.reduce(
        DistinctLabels(column), [column], _ClassLimit(what), f"finding classes in {column}"
    )
    values = found.values
    return values.drop_null() if values.null_count else values


def file_origins(stream: Engine) -> list[InputOrigin]:
    """Return the origins of the rows, for the provenance."""
    return [file_origin(name) for name in stream.files or (stream.name,)]
