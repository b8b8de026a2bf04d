"""Processing of partitions by workers, and checks that workers are compatible."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import calipers
from calipers.data import tables
from calipers.data.errors import InputError, format_value
from calipers.engines.accumulators import PairwiseSum
from calipers.engines.base import Engine, Mergeable, deserialize, identity, serialize
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self

    from calipers.data.streams import Batch


#: Reference to the documentation on installing Calipers on workers.
_SETUP_HINT = 'see "Calipers on the workers" in docs/large.md'


class Worker(NamedTuple):
    """Process that works on rows: host, Python executable and version, Calipers version.

    ``error`` is the error if Calipers cannot be imported.
    """

    host: str
    executable: str
    python: str
    calipers: str
    error: str


def make_worker_probe() -> Callable[[], tuple[str, ...]]:
    """Return the function that a worker runs to return the fields of a :class:`Worker`.

    The function is pickled by value, because unpickling it must not need Calipers.
    """

    def probe() -> tuple[str, ...]:
        import importlib
        import platform
        import sys

        version, message = "", ""
        try:
            version = importlib.import_module("calipers").__version__
            importlib.import_module("calipers._core")
            importlib.import_module("calipers.engines.remote")
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        return platform.node(), sys.executable, platform.python_version(), version, message

    return probe


def check_workers(engine: str, workers: Iterable[Worker]) -> None:
    """Check that all workers are compatible with this process.

    Raises
    ------
    InputError
        If a worker is not; the message says which, why, and what to do.
    """
    for worker in sorted(set(workers)):
        subject = (
            f"{engine}'s worker on {worker.host} ({worker.executable}, Python {worker.python})"
        )
        if worker.error:
            is_missing = "No module named 'calipers'" in worker.error
            problem = "has no Calipers" if is_missing else f"cannot load Calipers: {worker.error}"
        elif worker.calipers != calipers.__version__:
            problem = f"has Calipers {worker.calipers}, and this process has {calipers.__version__}"
        elif not is_compatible_python(worker.python):
            python = platform.python_version()
            problem = f"has another version of Python than this process, which has {python}"
        else:
            continue
        raise InputError(f"{subject} {problem}; {remedy(engine)}")


def is_compatible_python(version: str) -> bool:
    """Return whether a Python version can unpickle functions of this one.

    Functions of another minor version cannot be unpickled.
    """
    return version.split(".")[:2] == platform.python_version().split(".")[:2]


def remedy(engine: str) -> str:
    """Return advice on how to make workers compatible."""
    python = {"Spark": "PYSPARK_PYTHON", "Dask": "the command that starts them"}[engine]
    return (
        f"have the workers take a Python {'.'.join(map(str, sys.version_info[:2]))} with Calipers "
        f"{calipers.__version__} ({python}): {_SETUP_HINT}"
    )


@dataclass(frozen=True)
class PartitionResult:
    """Serialized result of a partition, or the error in its rows."""

    data: bytes = b""
    error: str = ""


@dataclass(frozen=True, eq=False)
class PartitionTask:
    """Task for the rows of a partition.

    ``batch_rows`` is the number of rows of a batch, and ``name`` the name of the data in messages.
    ``columns`` are the names of the columns, whatever they are called in transit. If
    ``group_column`` is given, contiguous rows with one value of this column are in one batch.
    """

    work: Callable[[Any], Mergeable]
    limit_size: Callable[[Any], Any]
    batch_rows: int
    name: str
    columns: tuple[str, ...]
    group_column: str | None = None

    def process_partition(
        self, index: int, record_batches: Iterable[pa.RecordBatch]
    ) -> PartitionResult | None:
        """Process the partition with an index; return None if it has no rows."""
        sums: PairwiseSum[Any] = PairwiseSum(self.limit_size)
        has_rows = False
        try:
            for batch in self._batches(f"{self.name}, partition {index}", record_batches):
                sums.add(self.work(batch))
                has_rows = True
        except InputError as error:
            return PartitionResult(error=str(error))
        return PartitionResult(serialize(sums.total)) if has_rows else None

    def _batches(self, origin: str, record_batches: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
        """Yield batches of a suitable number of rows, whatever the record batches are."""
        pending: list[pa.RecordBatch] = []
        first = count = end = 0
        for batch in record_batches:
            if not batch.num_rows:
                continue
            end = self._n_complete_rows(pending, count, batch, end)
            pending.append(batch)
            count += batch.num_rows
            if count >= self.batch_rows and end:
                complete, pending = _split_rows(pending, end)
                yield self._concat_batches(complete, first, origin)
                first, count, end = first + end, count - end, 0
        if pending:
            yield self._concat_batches(pending, first, origin)

    def _n_complete_rows(
        self, pending: Sequence[pa.RecordBatch], count: int, batch: pa.RecordBatch, end: int
    ) -> int:
        """Return the number of leading rows whose groups (by ``group_column``) are complete.

        The rows are those held and those of one more batch.
        """
        if self.group_column is None:
            return int(count + batch.num_rows)
        import pyarrow.compute as pc

        column_index = self.columns.index(self.group_column)
        column = batch.column(column_index)
        last = _last_value(column)
        # Rows without a value are a group too, though null and NaN are not equal to themselves.
        equal_mask = (
            pc.is_null(column, nan_is_null=True) if last is None else pc.equal(column, column[-1])
        )
        n_equal = pc.sum(equal_mask).as_py() or 0
        if n_equal < batch.num_rows:
            return int(count + batch.num_rows - n_equal)
        is_continued: bool = bool(pending) and (
            _last_value(pending[-1].column(column_index)) == last
        )
        return end if is_continued else count

    def _concat_batches(self, batches: Sequence[pa.RecordBatch], first: int, origin: str) -> Batch:
        import pyarrow as pa

        from calipers.data.streams import Batch

        columns = {
            name: pa.concat_arrays([batch.column(k) for batch in batches])
            for k, name in enumerate(self.columns)
        }
        return Batch(columns, first, origin)


@dataclass(frozen=True, eq=False)
class MergeTask:
    """Task that merges the results of partitions."""

    limit_size: Callable[[Any], Any]
    name: str

    def merge(self, results: Iterable[PartitionResult]) -> PartitionResult:
        """Merge several results in order; return the first error, if any."""
        sums: PairwiseSum[Any] = PairwiseSum(self.limit_size)
        try:
            for result in results:
                if result.error:
                    return result
                sums.add(deserialize(result.data))
        except InputError as error:
            return PartitionResult(error=str(error))
        return PartitionResult(serialize(sums.total))

    def merge_all(self, results: Iterable[PartitionResult]) -> Any:
        """Merge all results, and raise the first error, if any."""
        results = list(results)
        if not results:
            raise InputError(f"{self.name}: the table has no rows")
        merged = results[0] if len(results) == 1 else self.merge(results)
        if merged.error:
            raise InputError(merged.error)
        return deserialize(merged.data)


def _last_value(column: pa.Array) -> Any:
    """Return the last value of a column, or None if it is missing."""
    value = column[-1].as_py()
    return None if value != value else value  # NaN


def _split_rows(
    batches: Sequence[pa.RecordBatch], n_rows: int
) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """Split record batches after a number of rows."""
    before: list[pa.RecordBatch] = []
    after: list[pa.RecordBatch] = []
    for batch in batches:
        if n_rows > 0:
            before.append(batch.slice(0, n_rows))
        if n_rows < batch.num_rows:
            after.append(batch.slice(max(n_rows, 0)))
        n_rows -= batch.num_rows
    return before, after


class RemoteEngineRef(Engine):
    """Reference to an engine in another process, by name."""

    def __init__(self, kind: str, name: str, names: tuple[str, ...]) -> None:
        self.kind, self.name, self.column_names = kind, name, names

    def reduce(
        self,
        map_batch: Callable[[Any], Any],
        columns: Sequence[str] = (),
        limit_size: Callable[[Any], Any] = identity,
        description: str = "reading",
    ) -> Any:
        """Raise an error, because the rows are in another process."""
        raise InputError(
            f"{self.name}: is distributed (engine={self.kind!r}), and not in this process"
        )


class RemoteEngine(Engine):
    """Engine whose rows are in other processes, to which only its name is sent."""

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteEngineRef, (self.kind, self.name, self.column_names)

    @classmethod
    def get_session(cls, frames: Sequence[Any]) -> Any:
        """Return the session in which these data frames are, to read paths and to create tables."""
        raise NotImplementedError

    @classmethod
    def from_source(
        cls, source: Any, session: Any = None, text_columns: Collection[str] = ()
    ) -> Self:
        """Create an engine from a data frame, or from the tables at some paths.

        Columns of CSV that are named in ``text_columns`` are read as text, whatever their values.
        """
        raise NotImplementedError

    @classmethod
    def from_table(cls, rows: pa.Table, session: Any = None) -> Self:
        """Create an engine from a local table."""
        raise NotImplementedError

    @classmethod
    def from_lines(cls, path: str, text_task: TextTask, session: Any = None) -> Self:
        """Create an engine from the parsed lines of text files."""
        raise NotImplementedError

    def project_columns(
        self,
        text_columns: Mapping[str, str],
        numeric_columns: Mapping[str, str],
        constants: Mapping[str, Any],
    ) -> Self:
        """Return the rows with renamed columns, cast to text or numbers, and constant columns."""
        raise NotImplementedError

    def concat(self, others: Sequence[Self], name: str) -> Self:
        """Return an engine of the concatenated rows of engines with the same columns."""
        raise NotImplementedError


@dataclass(frozen=True)
class TextTask:
    """Task that parses lines of text.

    ``read_batch`` makes columns of them, given their location and the number of the first line. All
    columns are text, except ``numeric_column``.
    """

    read_batch: Callable[[str, int, bytes], pa.RecordBatch]
    text_columns: tuple[str, ...]
    numeric_column: str

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns."""
        import pyarrow as pa

        return pa.schema(
            [
                *((name, pa.string()) for name in self.text_columns),
                (self.numeric_column, pa.float64()),
            ]
        )


#: Kinds of tables that workers read.
_TABLE_KINDS = ("parquet", "csv", "tsv", "jsonl")


def check_unique(name: str, columns: Sequence[str]) -> None:
    """Check that column names are unique."""
    if len(set(columns)) < len(columns):
        raise InputError(f"{name}: columns share a name: {', '.join(columns)}")


def resolve_paths(source: Any, engine: str) -> tuple[list[str], str]:
    """Return the paths, and their name in messages.

    ``engine`` is the name of the engine in messages.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(paths, list | tuple) or not all(
        isinstance(path, str | os.PathLike) for path in paths
    ):
        raise InputError(
            f"{format_value(source)} is not a table of {engine}; expected a data frame of "
            f"{engine}, a path, or a list of paths"
        )
    if not paths:
        raise InputError("data: an empty list, expected at least one path")
    files = [os.fspath(path) for path in paths]
    for file in tables.local_files(files):
        # Spark and Dask take an empty file of text for one without rows.
        if tables.total_bytes([file]) == 0:
            raise InputError(f"{file}: the file is empty")
    return files, files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def first_message(error: Exception) -> str:
    """Return the first line of an error with text, and the causes that it names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # The line after the call that failed, which begins with a colon, has the error itself.
    causes = [line for line in lines[1:] if line.startswith((": ", "Caused by:"))]
    return " ".join([*lines[:1], *dict.fromkeys(causes)]) or type(error).__name__


def table_kind(files: Sequence[str], name: str, engine: str) -> str:
    """Return the kind of the tables at some paths; without an extension it is Parquet."""
    extensions = {tables.file_extension(path)[0] for path in files}
    kind = tables.TEXT_FORMATS.get(
        extension := extensions.pop(), tables.BINARY_FORMATS.get(extension, "parquet")
    )
    if extensions or kind not in _TABLE_KINDS:
        raise InputError(
            f"{name}: {engine} reads paths of one kind: Parquet, CSV, TSV or JSON Lines"
        )
    return kind
