"""What a process does with a partition of rows that lies with it, and whether it can."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import calipers
from calipers.data import tables
from calipers.data.errors import InputError, format_value
from calipers.engines.accumulators import PairwiseSum
from calipers.engines.base import Engine, Mergeable, deserialize, identity, serialize

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self

    from calipers.data.streams import Batch


#: Where the documentation says how Calipers gets there.
_HOW = 'see "Calipers on the workers" in docs/large.md'


class Worker(NamedTuple):
    """A process that works on rows: on which machine, with which Python of which version, and the
    version of its Calipers, or what is wrong where it has none."""

    host: str
    executable: str
    python: str
    calipers: str
    wrong: str


def describe_worker() -> Callable[[], tuple[str, ...]]:
    """What a worker is asked; it answers with the fields of a :class:`Worker`. The function travels
    whole: nothing of Calipers may be needed to take it apart."""

    def ask() -> tuple[str, ...]:
        import importlib
        import platform
        import sys

        version, wrong = "", ""
        try:
            version = importlib.import_module("calipers").__version__
            importlib.import_module("calipers._core")
            importlib.import_module("calipers.engines.remote")
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        return platform.node(), sys.executable, platform.python_version(), version, wrong

    return ask


def check_workers(engine: str, workers: Iterable[Worker]) -> None:
    """That all of them can work for this process.

    Raises
    ------
    InputError
        It says which cannot, why, and what to do.
    """
    for one in sorted(set(workers)):
        where = f"{engine}'s worker on {one.host} ({one.executable}, Python {one.python})"
        if one.wrong:
            missing = "No module named 'calipers'" in one.wrong
            what = "has no Calipers" if missing else f"cannot load Calipers: {one.wrong}"
        elif one.calipers != calipers.__version__:
            what = f"has Calipers {one.calipers}, and this process has {calipers.__version__}"
        elif not same_python(one.python):
            what = f"has another Python than this process, which has {platform.python_version()}"
        else:
            continue
        raise InputError(f"{where} {what}; {remedy(engine)}")


def same_python(version: str) -> bool:
    """Whether a version of Python takes apart what this one pickles: functions of another minor
    version it does not."""
    return version.split(".")[:2] == platform.python_version().split(".")[:2]


def remedy(engine: str) -> str:
    """What makes workers able to work."""
    python = {"Spark": "PYSPARK_PYTHON", "Dask": "the command that starts them"}[engine]
    return (
        f"have the workers take a Python {'.'.join(map(str, sys.version_info[:2]))} with Calipers "
        f"{calipers.__version__} ({python}): {_HOW}"
    )


@dataclass(frozen=True)
class PartitionResult:
    """What is known of a partition, as bytes; or what is wrong with its rows."""

    data: bytes = b""
    wrong: str = ""


@dataclass(frozen=True, eq=False)
class PartitionTask:
    """What is done with the rows of a partition: ``rows`` make a batch, and ``name`` is what
    messages call all of them. ``columns`` are the names of their columns, whatever these are called
    on the way. Rows of one value of ``by``, which come one after the other, are all in one
    batch."""

    work: Callable[[Any], Mergeable]
    limit: Callable[[Any], Any]
    rows: int
    name: str
    columns: tuple[str, ...]
    group_column: str | None = None

    def partition(self, place: int, given: Iterable[pa.RecordBatch]) -> PartitionResult | None:
        """Of the partition at a place; None where it has no rows."""
        sums: PairwiseSum[Any] = PairwiseSum(self.limit)
        found = False
        try:
            for batch in self._batches(f"{self.name}, partition {place}", given):
                sums.add(self.work(batch))
                found = True
        except InputError as error:
            return PartitionResult(wrong=str(error))
        return PartitionResult(serialize(sums.total)) if found else None

    def _batches(self, where: str, given: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
        """As many rows to a batch as a process works on best, whatever they come in."""
        held: list[pa.RecordBatch] = []
        first = count = end = 0
        for batch in given:
            if not batch.num_rows:
                continue
            end = self._end(held, count, batch, end)
            held.append(batch)
            count += batch.num_rows
            if count >= self.rows and end:
                done, held = _split_rows(held, end)
                yield self._concat_batches(done, first, where)
                first, count, end = first + end, count - end, 0
        if held:
            yield self._concat_batches(held, first, where)

    def _end(
        self, held: Sequence[pa.RecordBatch], count: int, batch: pa.RecordBatch, end: int
    ) -> int:
        """How many of the rows held, and of one batch more, are of values of ``by`` that are there
        with all their rows."""
        if self.group_column is None:
            return int(count + batch.num_rows)
        import pyarrow.compute as pc

        place = self.columns.index(self.group_column)
        column = batch.column(place)
        last = column[-1]
        same = pc.sum(pc.equal(column, last)).as_py() or 0
        if same < batch.num_rows:
            return int(count + batch.num_rows - same)
        goes_on: bool = bool(held) and held[-1].column(place)[-1] == last
        return end if goes_on else count

    def _concat_batches(self, held: Sequence[pa.RecordBatch], first: int, where: str) -> Batch:
        import pyarrow as pa

        from calipers.data.streams import Batch

        columns = {
            name: pa.concat_arrays([of.column(k) for of in held])
            for k, name in enumerate(self.columns)
        }
        return Batch(columns, first, where)


@dataclass(frozen=True, eq=False)
class MergeTask:
    """What is done with what comes of partitions."""

    limit: Callable[[Any], Any]
    name: str

    def merge(self, parts: Iterable[PartitionResult]) -> PartitionResult:
        """Of several, in their order; what is wrong with the first that is."""
        sums: PairwiseSum[Any] = PairwiseSum(self.limit)
        try:
            for part in parts:
                if part.wrong:
                    return part
                sums.add(deserialize(part.data))
        except InputError as error:
            return PartitionResult(wrong=str(error))
        return PartitionResult(serialize(sums.total))

    def total(self, parts: Iterable[PartitionResult]) -> Any:
        """Of all, where it was asked for."""
        parts = list(parts)
        if not parts:
            raise InputError(f"{self.name}: the table has no rows")
        all_of_them = parts[0] if len(parts) == 1 else self.merge(parts)
        if all_of_them.wrong:
            raise InputError(all_of_them.wrong)
        return deserialize(all_of_them.data)


def _split_rows(
    held: Sequence[pa.RecordBatch], rows: int
) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """So many rows, and the others."""
    before: list[pa.RecordBatch] = []
    after: list[pa.RecordBatch] = []
    for batch in held:
        if rows > 0:
            before.append(batch.slice(0, rows))
        if rows < batch.num_rows:
            after.append(batch.slice(max(rows, 0)))
        rows -= batch.num_rows
    return before, after


class RemoteEngineRef(Engine):
    """An engine as it is known in another process: by its name."""

    def __init__(self, kind: str, name: str, names: tuple[str, ...]) -> None:
        self.kind, self.name, self.names = kind, name, names

    def reduce(
        self,
        work: Callable[[Any], Any],
        columns: Sequence[str] = (),
        kept: Callable[[Any], Any] = identity,
        what: str = "reading",
    ) -> Any:
        """Not here."""
        raise InputError(f"{self.name}: is where engine={self.kind!r} has it, and not here")


class RemoteEngine(Engine):
    """An engine whose rows lie in other processes. What it sends there knows of it no more than its
    name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteEngineRef, (self.kind, self.name, self.names)

    @classmethod
    def session(cls, frames: Sequence[Any]) -> Any:
        """What reads paths and takes tables, so that they are where these data frames are."""
        raise NotImplementedError

    @classmethod
    def from_source(cls, given: Any, session: Any = None, text: Collection[str] = ()) -> Self:
        """The engine that has a data frame, or the tables under paths. Columns of CSV that are
        named in ``text`` are read as text, whatever they look like."""
        raise NotImplementedError

    @classmethod
    def from_table(cls, rows: pa.Table, session: Any = None) -> Self:
        """The engine that gets a table from here."""
        raise NotImplementedError

    @classmethod
    def from_lines(cls, path: str, read: TextTask, session: Any = None) -> Self:
        """The engine that has what is read of the lines of text files."""
        raise NotImplementedError

    def select_columns(
        self, texts: Mapping[str, str], numbers: Mapping[str, str], constants: Mapping[str, Any]
    ) -> Self:
        """The same rows with columns by new names: as text, as numbers, and with one value in all
        of them."""
        raise NotImplementedError

    def concat(self, others: Sequence[Self], name: str) -> Self:
        """The rows of all, which have the same columns."""
        raise NotImplementedError


@dataclass(frozen=True)
class TextTask:
    """What is done with lines of text: ``read`` makes columns of them, given where they stand and
    the number of the first. The columns hold text, but for one of ``numbers``."""

    read_batch: Callable[[str, int, bytes], pa.RecordBatch]
    texts: tuple[str, ...]
    numbers: str

    @property
    def schema(self) -> pa.Schema:
        """Of the columns."""
        import pyarrow as pa

        return pa.schema(
            [*((name, pa.string()) for name in self.texts), (self.numbers, pa.float64())]
        )


#: The kinds of tables that are read where the rows are.
_KINDS = ("parquet", "csv", "tsv", "jsonl")


def check_unique(name: str, columns: Sequence[str]) -> None:
    """That no two columns are called alike."""
    if len(set(columns)) < len(columns):
        raise InputError(f"{name}: columns share a name: {', '.join(columns)}")


def resolve_paths(given: Any, engine: str) -> tuple[list[str], str]:
    """One path or several, and what messages call them; ``engine`` as messages call it."""
    paths = [given] if isinstance(given, str | os.PathLike) else given
    if not isinstance(paths, list | tuple) or not all(
        isinstance(path, str | os.PathLike) for path in paths
    ):
        raise InputError(
            f"{format_value(given)} is no table of {engine}; expected a data frame of {engine}, a "
            "path, "
            "or a list of paths"
        )
    if not paths:
        raise InputError("data: an empty list, expected at least one path")
    files = [os.fspath(path) for path in paths]
    return files, files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def table_kind(files: Sequence[str], name: str, engine: str) -> str:
    """The kind of the tables under paths; without an extension it is Parquet."""
    kinds = {tables.file_extension(path)[0] for path in files}
    kind = tables.TEXTS.get(extension := kinds.pop(), tables.BINARIES.get(extension, "parquet"))
    if kinds or kind not in _KINDS:
        raise InputError(
            f"{name}: {engine} reads paths of one kind: Parquet, CSV, TSV or JSON Lines"
        )
    return kind
