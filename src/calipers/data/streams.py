"""Tables that are read in batches, repeatedly: files larger than memory, and pipes."""

from __future__ import annotations

import glob
import operator
import os
import re
import stat
import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from calipers.data import tables
from calipers.data.arrow_types import plain_type, to_plain
from calipers.data.batch_sources import (
    BatchSource,
    DatasetSource,
    FeatherSource,
    ParquetSource,
    PartitionedSource,
    ReaderSource,
    TableSource,
    TextColumns,
    TextFile,
    TextStream,
)
from calipers.data.byte_sources import STDIN
from calipers.data.errors import (
    InputError,
    did_you_mean,
    find_rows,
    format_value,
    input_row_numbers,
    map_rows,
)
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from calipers.data.categories import CategorySelector


def common_schema(sources: Sequence[BatchSource]) -> pa.Schema:
    """Return all columns by first occurrence, with types that fit the values of all sources.

    Raises
    ------
    InputError
        If a column has numbers in one file, and in another a declared type that is text.
    """
    import pyarrow as pa

    names = dict.fromkeys(name for source in sources for name in source.schema.names)
    return pa.schema([(name, _common_type(name, sources)) for name in names])


def _common_type(name: str, sources: Sequence[BatchSource]) -> pa.DataType:
    import pyarrow as pa

    sources_with_column = [source for source in sources if name in source.schema.names]
    schema = pa.schema([])
    for source in sources_with_column:
        field = pa.field(name, _value_type(source.schema.field(name).type))
        try:
            schema = pa.unify_schemas([schema, pa.schema([field])], promote_options="permissive")
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            if all(s.is_csv and s.has_inferred_type(name) for s in sources_with_column):
                return pa.string()  # as if all rows were in one file; JSON has types of its own
            raise InputError(
                f"{source.name}: column {name!r} is {field.type}, and {schema.field(name).type} in "
                f"{sources_with_column[0].name}; expected one kind of values in all files"
            ) from None
    data_type = schema.field(name).type
    # A column without values so far may have any type.
    is_untyped = pa.types.is_null(data_type) and any(
        source.has_inferred_type(name) for source in sources_with_column
    )
    return pa.string() if is_untyped else data_type


def _value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary, whose codes may differ between files.

    An ordered dictionary keeps its type, because its levels have to keep their order.
    """
    import pyarrow as pa

    kind = plain_type(kind)
    return kind.value_type if pa.types.is_dictionary(kind) and not kind.ordered else kind


class BatchConformer:
    """Conversion of record batches to the columns of a schema, with checks."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._levels: dict[str, Any] = {}

    def __call__(self, batch: pa.RecordBatch, origin: str) -> list[pa.Array]:
        """Return the columns in the order of the schema."""
        return [
            self._column(batch.column(batch.schema.get_field_index(field.name)), field, origin)
            for field in self._schema
        ]

    def _column(self, array: pa.Array, field: pa.Field, origin: str) -> pa.Array:
        import pyarrow as pa

        array.validate(full=True)
        array = to_plain(array)
        if pa.types.is_dictionary(array.type):
            if pa.types.is_dictionary(field.type):
                self._check_levels(array, field.name, origin)
            else:
                array = array.dictionary_decode()
        if array.type == field.type:
            return array
        try:
            return array.cast(field.type)
        except pa.ArrowInvalid as error:
            raise InputError(f"{origin}: column {field.name!r}: {error}") from None

    def _check_levels(self, array: pa.DictionaryArray, name: str, origin: str) -> None:
        levels = self._levels.setdefault(name, array.dictionary)
        if not levels.equals(array.dictionary):
            raise InputError(
                f"{origin}: column {name!r} has the ordered categories "
                f"{array.dictionary.to_pylist()}, and {levels.to_pylist()} before; expected the "
                "same ones throughout, or text"
            )


def partition_keys(folder: str, paths: Sequence[str]) -> list[dict[str, pa.Scalar]]:
    """Return the partition keys of each file, from its directories: ``year=2024`` is a column.

    Values are whole numbers if all of them are, as in Arrow, or else text. They are text also if
    two of them would be one number: ``id=01`` and ``id=1``.
    """
    import pyarrow as pa
    from pyarrow import dataset

    inner = [os.path.dirname(os.path.relpath(path, folder)).replace(os.sep, "/") for path in paths]
    names = dict.fromkeys(
        step.partition("=")[0]
        for directory in inner
        for step in directory.split("/")
        if "=" in step
    )
    partitioning = dataset.partitioning(pa.schema([(n, pa.string()) for n in names]), flavor="hive")
    keys = [
        _order_keys(dataset.get_partition_keys(partitioning.parse(f"/{directory}/")), names)
        for directory in inner
    ]
    for name in names:
        strings = values = pa.array([key.get(name) for key in keys], pa.string())
        with suppress(pa.ArrowInvalid):
            values = strings.cast(pa.int32())
        if len(values.unique()) < len(strings.unique()):
            values = strings
        for key, value in zip(keys, values, strict=True):
            if name in key:
                key[name] = value
    return keys


def _order_keys(keys: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Sort partition keys, which Arrow returns in any order."""
    return {name: keys[name] for name in names if name in keys}


#: Available memory in bytes, if it is unknown.
_DEFAULT_MEMORY = 4 << 30

#: Files with the limit of a container and its usage, and the entry of the memory that can be
#: reclaimed.
_CGROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory(root: str = "/") -> int:
    """Return the available bytes of memory: of the machine, or of a container that may have less.

    ``root`` is the root of the file system.
    """
    base = Path(root)
    return max(min([_machine_memory(base), *_container_memory(base)]), 1)


def _machine_memory(root: Path) -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = (root / "proc/meminfo").read_text("utf-8").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(line.split()[1]) << 10
    with suppress(OSError, ValueError, AttributeError):  # not Linux: all memory
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return _DEFAULT_MEMORY


def _container_memory(root: Path) -> Iterator[int]:
    """Yield the remaining memory of each control group that this process belongs to."""
    groups = root / "sys/fs/cgroup"
    group_paths = {""}
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text("utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "memory"):
                inner = Path(path.strip("/"))
                group_paths.update(str(group_path) for group_path in (inner, *inner.parents))
    for base in (groups, groups / "memory"):
        for group_path in sorted(group_paths):
            for limit, usage, cached in _CGROUP_FILES:
                with suppress(OSError, ValueError):  # "max" is not a number
                    max_bytes = _read_int(base / group_path / limit)
                    yield (
                        max_bytes
                        - _read_int(base / group_path / usage)
                        + _cached_memory(base / group_path, cached)
                    )


def _read_int(path: Path) -> int:
    return int(path.read_text("utf-8"))


def _cached_memory(folder: Path, name: str) -> int:
    """Return the used memory that holds cached files, which is reclaimed first."""
    with suppress(OSError, ValueError):
        lines = (folder / "memory.stat").read_text("utf-8").splitlines()
        return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)
    return 0


#: Rows of a batch: few enough to stay near the processor, many enough to cost nothing each.
BATCH_ROWS = 1 << 18

T = TypeVar("T")


@dataclass(frozen=True)
class FileSpan:
    """Consecutive rows of a file: indices of the first in the whole stream and in the file."""

    first: int
    first_in_file: int
    name: str


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a stream.

    Attributes
    ----------
    columns : dict of str to pyarrow.Array
        Requested columns, each as one array.
    first_row : int
        Index of the first row in the whole stream, from 0.
    origin : str
        Name of the origin in messages: the file, or the first and the last of several.
    row_indices : ndarray, optional
        Indices of its rows in the whole stream; None if they are consecutive from ``first_row``.
    spans : tuple of FileSpan, default=()
        Spans of files that its rows are from; () if they are from a single source.
    input_columns : dict of str to pyarrow.Array, optional
        Columns before rows were repeated by their counts: in the first of the batches made of one
        batch all of its rows, and in the others none. By default they are ``columns``.
    """

    columns: dict[str, pa.Array]
    first_row: int
    origin: str
    row_indices: npt.NDArray[np.int64] | None = None
    spans: tuple[FileSpan, ...] = ()
    input_columns: dict[str, pa.Array] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    @contextmanager
    def located_errors(self) -> Iterator[None]:
        """Give rows in errors about the batch their numbers in their file, and name this."""
        try:
            with input_row_numbers():
                yield
        except InputError as error:
            raise self.locate_error(error) from None

    def locate_error(self, error: InputError) -> InputError:
        """Return an error about its rows, with their file and their indices in it.

        An error about rows of several files has their indices in the whole stream.
        """
        indices = [self._stream_index(row) for row in find_rows(str(error))]
        spans = {span.name: span for span in map(self._span, indices) if span is not None}
        origin, shift = self.origin, 0
        if len(spans) == 1:
            ((origin, span),) = spans.items()
            shift = span.first_in_file - span.first
        message = map_rows(str(error), lambda row: self._stream_index(row) + shift)
        return InputError(f"{origin}: {message}")

    def _stream_index(self, row: int) -> int:
        return self.first_row + row if self.row_indices is None else int(self.row_indices[row])

    def _span(self, index: int) -> FileSpan | None:
        """Return the span of a file with a row of the whole stream."""
        return next((span for span in reversed(self.spans) if span.first <= index), None)


class Stream:
    """Table that is read in batches, as often as needed; a pipe is read only once.

    The order of the rows is that of the files, and within a file that of its rows. Types are the
    same in all batches. Neither depends on the number of threads.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    n_rows : int or None
        Number of rows, if it is known from metadata (Parquet, Feather, memory).
    is_rereadable : bool
        Whether the rows can be read more than once.
    name : str
        Name in messages and in the provenance.
    files : tuple of str
        Files, in order.
    stamps : tuple of str
        Fingerprints of the files, from the path, size and modification time of each.
    is_csv : bool
        Whether some of it is CSV, in which an empty field may be empty text.
    """

    def __init__(self, sources: Sequence[BatchSource], name: str) -> None:
        self._sources, self.name = tuple(sources), name
        for source in sources:
            with tables.read_errors(source.name, "a table"):  # names that are not text
                tables.check_names(source.name, source.schema.names)
        self.schema = common_schema(self._sources)
        self.names: tuple[str, ...] = tuple(self.schema.names)
        counts = [source.n_rows for source in sources if source.n_rows is not None]
        self.n_rows: int | None = sum(counts) if len(counts) == len(sources) else None
        self.is_rereadable = all(source.is_rereadable for source in sources)
        self.files: tuple[str, ...] = tuple(path for source in sources for path in source.files)
        self.stamps = tuple(source.stamp for source in sources if source.stamp)
        self.is_csv = any(source.is_csv for source in sources)
        #: Whether the rows were read, which streams of the same pipe share.
        self._has_been_read = threading.Event()
        if self.n_rows == 0:
            raise InputError(f"{name}: the table has no rows")

    @classmethod
    def from_input(
        cls,
        source: Any,
        *,
        text: Collection[str] = (),
        categories: CategorySelector | None = None,
    ) -> Stream:
        """Make a stream from a path, a dataset or a table.

        Parameters
        ----------
        source : path, list of paths, stream, dataset, table or data frame
            The path of a file; a path with ``*``; a directory, whose subdirectories may be
            partitions (``year=2024``); a list of these; ``"-"`` (the standard input), a named pipe
            or a binary stream, of CSV, JSON Lines or Arrow IPC; a dataset, a table or a reader of
            batches of Arrow; or a data frame. Files of a directory are sorted by their paths.
        text : collection of str, default=()
            Columns of CSV and JSON Lines that are read as text, whatever they look like.
        categories : callable, optional
            Function that selects the columns of categories, by the names of all columns. In CSV
            they are numbers only if no text is lost.

        Returns
        -------
        Stream
            Stream of the rows.

        Raises
        ------
        InputError
            If there is no such file, it is corrupt, or files have different columns.

        Examples
        --------
        >>> import pyarrow as pa
        >>> stream = Stream.from_input(pa.table({"truth": [1, 0, 1], "score": [0.9, 0.4, 0.6]}))
        >>> stream.names, stream.n_rows
        (('truth', 'score'), 3)
        >>> [batch.columns["score"].to_pylist() for batch in stream.batches(["score"], rows=2)]
        [[0.9, 0.4], [0.6]]
        """
        if isinstance(source, Stream):
            return source if categories is None else source.with_categories(categories)
        columns = TextColumns(text, categories)
        if _is_path(source):
            sources = _from_path(os.fspath(source), columns)
            return cls(sources, sources[0].name if source == STDIN else os.fspath(source))
        if isinstance(source, list | tuple) and source and all(map(_is_path, source)):
            return cls(_from_paths(list(map(os.fspath, source)), columns), _paths_name(source))
        batch_source = _from_object(source, columns)
        return cls([batch_source], batch_source.name)

    def with_categories(self, categories: CategorySelector) -> Stream:
        """Return a stream of the same rows that does not lose the text of categories in CSV.

        Parameters
        ----------
        categories : callable
            Function that selects the columns of categories, by the names of all columns.

        Returns
        -------
        Stream
            Stream of the rows. Of a pipe, only one of the two can be read.
        """
        sources = [source.with_categories(categories) for source in self._sources]
        if all(map(operator.is_, sources, self._sources)):
            return self
        stream = Stream(sources, self.name)
        stream._has_been_read = self._has_been_read
        return stream

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[Batch]:
        """Yield the rows in order, ``rows`` at a time, and all remaining rows at the end.

        One batch is prefetched in a thread, which ends when the iterator is closed or fails.

        Parameters
        ----------
        columns : sequence of str
            At least one of ``names``; no other columns are read.
        rows : int, default=262144
            Number of rows of a batch.

        Yields
        ------
        Batch
            Next rows.

        Raises
        ------
        InputError
            If there is no such column or no row, if a file is corrupt or has changed since it was
            first examined, if a value does not have the type of its column, or if a pipe is read
            again.
        """
        if rows < 1 or not columns:
            raise ValueError("expected at least one column, and at least one row to a batch")
        schema = self._select_schema(columns)
        if not self.is_rereadable and self._has_been_read.is_set():
            raise InputError(
                f"{self.name}: can be read only once, and has been; a second pass over the rows "
                "requires a file"
            )
        self._has_been_read.set()
        return _prefetch(self._read(schema, rows), self._stop)

    def estimate_bytes(self, columns: Sequence[str]) -> int:
        """Estimate the memory of columns in bytes from metadata and file sizes; 0 if unknown."""
        names = self._select_schema(columns).names
        return sum(source.estimate_bytes(names) for source in self._sources)

    def _select_schema(self, columns: Sequence[str]) -> pa.Schema:
        import pyarrow as pa

        for name in columns:
            if name not in self.names:
                raise InputError(
                    f"{self.name}: no column {name!r}; {did_you_mean(name, self.names)}"
                )
            sources_with_column = [
                source for source in self._sources if name in source.schema.names
            ]
            for source in self._sources:
                if source not in sources_with_column:
                    raise InputError(
                        f"{source.name}: no column {name!r}, which "
                        f"{sources_with_column[0].name} has"
                    )
        return pa.schema([self.schema.field(name) for name in dict.fromkeys(columns)])

    def _stop(self) -> None:
        for source in self._sources:
            source.stop()

    def _read(self, schema: pa.Schema, rows: int) -> Generator[Batch]:
        """Yield batches of exactly ``rows`` rows, except for the last."""
        pieces: list[tuple[FileSpan, list[pa.Array]]] = []
        first = count = 0
        n_read: Counter[str] = Counter()  # rows of each file
        for origin, arrays in self._conform_sources(schema, rows):
            start, length = 0, len(arrays[0])
            while start < length:
                slice_length = min(rows - count, length - start)
                span = FileSpan(first + count, n_read[origin], origin)
                pieces.append((span, [array.slice(start, slice_length) for array in arrays]))
                n_read[origin] += slice_length
                start, count = start + slice_length, count + slice_length
                if count == rows:
                    yield _combine_pieces(schema.names, pieces, first)
                    first, count, pieces = first + count, 0, []
        if pieces:
            yield _combine_pieces(schema.names, pieces, first)
        elif first == 0:
            raise InputError(f"{self.name}: the table has no rows")

    def _conform_sources(
        self, schema: pa.Schema, rows: int
    ) -> Iterator[tuple[str, list[pa.Array]]]:
        conformed = BatchConformer(schema)
        for source in self._sources:
            with tables.read_errors(source.name, "a table"):
                source.check_unchanged()
                for origin, batch in source.batches(schema, rows):
                    if batch.num_rows:
                        yield origin, conformed(batch, origin)
                source.check_unchanged()


def _combine_pieces(
    names: Sequence[str], pieces: Sequence[tuple[FileSpan, Sequence[pa.Array]]], first: int
) -> Batch:
    import pyarrow as pa

    spans = tuple(span for span, _ in pieces)
    begin, end = spans[0].name, spans[-1].name
    columns = zip(*(arrays for _, arrays in pieces), strict=True)
    return Batch(
        {
            name: arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
            for name, arrays in zip(names, columns, strict=True)
        },
        first,
        begin if begin == end else f"{begin} to {end}",
        spans=spans,
    )


def _prefetch(items: Generator[T], stop: Callable[[], None]) -> Iterator[T]:
    """Yield items while the next one is computed in a thread.

    The caller waits in Python code, where an interrupt can be handled.
    """
    with ThreadPoolExecutor(1, "calipers-read") as pool:
        try:
            future = pool.submit(next, items, None)
            while (item := future.result()) is not None:
                future = pool.submit(next, items, None)
                yield item
                del item
        except BaseException:
            stop()
            raise
        finally:
            pool.shutdown()
            items.close()


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _paths_name(paths: Sequence[Any]) -> str:
    first = os.fspath(paths[0])
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"


def _from_object(source: Any, columns: TextColumns) -> BatchSource:
    """Make a source from an object that is not a path."""
    import pyarrow as pa
    from pyarrow import dataset

    if isinstance(source, dataset.Dataset):
        return DatasetSource(source)
    if isinstance(source, pa.RecordBatchReader):
        return ReaderSource(source, "the batches")
    if hasattr(source, "read"):
        return _from_pipe(source, columns)
    try:
        return TableSource(tables.to_arrow(source), "the table")
    except InputError as error:
        if "is not a source of judgments" not in str(error):
            raise
        raise InputError(
            f"{format_value(source)} is not a table; expected the path of a file or a directory, a "
            "list of paths, a stream of bytes, or a table, dataset or data frame"
        ) from None


def _from_pipe(source: Any, columns: TextColumns) -> BatchSource:
    name = source if isinstance(source, str) else "the stream"
    with tables.read_errors(name, "a table"):
        return TextStream(source, columns)


def _from_paths(paths: Sequence[str], columns: TextColumns) -> list[BatchSource]:
    sources = [source for path in paths for source in _from_path(path, columns)]
    visited: set[str] = set()
    for path in (path for source in sources for path in source.files):
        if (real_path := os.path.realpath(path)) in visited:
            raise InputError(f"{path}: the file is given more than once")
        visited.add(real_path)
    return sources


def _from_path(path: str, columns: TextColumns) -> list[BatchSource]:
    """Make the sources of the files that a path stands for."""
    if path == STDIN:
        return [_from_pipe(path, columns)]
    if "*" in path and not os.path.exists(path):
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise InputError(f"{path}: no file matches this pattern")
        return _from_paths(matches, columns)
    if path and os.path.isdir(path):
        return _from_directory(path, columns)
    tables.check_file(path, lambda: f"a table: {tables.formats_text()}")
    if not stat.S_ISREG(os.stat(path).st_mode):
        return [_from_pipe(path, columns)]
    return [_from_file(path, columns)]


def _from_file(path: str, columns: TextColumns) -> BatchSource:
    kind, packed = tables.file_extension(path)
    table_format = tables.TABLE_FORMATS.get(kind)
    if table_format is None or (packed and not table_format.is_text):
        raise InputError(f"{path}: unknown kind of table; expected {tables.formats_text()}")
    with tables.read_errors(path, "a table"):
        if os.path.getsize(path) == 0:
            raise InputError(f"{path}: the file is empty")
        if kind in tables.TEXT_FORMATS:
            return TextFile(path, kind, columns)
        if kind not in tables.BINARY_FORMATS:
            return TableSource(tables.read_table(path, text=columns.text), path)
        return (ParquetSource if tables.BINARY_FORMATS[kind] == "parquet" else FeatherSource)(path)


def _from_directory(folder: str, columns: TextColumns) -> list[BatchSource]:
    paths = tables.list_folder(folder)
    if not paths:
        raise InputError(
            f"{folder}: there is no table in the directory; expected {tables.formats_text()}"
        )
    keys = partition_keys(folder, paths)
    return [
        PartitionedSource(_from_file(path, columns), key) if key else _from_file(path, columns)
        for path, key in zip(paths, keys, strict=True)
    ]


_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_BYTES_PATTERN = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)


def memory_budget(memory: int | str | None) -> int:
    """Parse the number of bytes of memory that may be used.

    Parameters
    ----------
    memory : int or str, optional
        A number of bytes, or text: ``"2 GB"``, ``"512MiB"``, ``"1.5g"``. K, M, G and T are powers
        of 1000, and KiB, MiB, GiB and TiB of 1024. By default half of the available memory.

    Returns
    -------
    int
        Number of bytes.

    Raises
    ------
    InputError
        If it is not such a number, or is below 1.

    Examples
    --------
    >>> memory_budget("1.5g"), memory_budget("512 MiB")
    (1500000000, 536870912)
    """
    if memory is None:
        return free_memory() // 2
    size = 0
    if isinstance(memory, str) and (match := _BYTES_PATTERN.fullmatch(memory)):
        number, unit, binary = match.groups("")
        size = int(float(number) * (1024 if binary else 1000) ** _UNITS[unit.lower()])
    elif isinstance(memory, int) and not isinstance(memory, bool):
        size = memory
    if size < 1:
        raise InputError(
            f"memory is {format_value(memory)}, expected a number of bytes such as 2 GB, 512MiB "
            "or 1.5g"
        )
    return size


def is_large(source: Any, columns: Sequence[str], budget: int) -> bool:
    """Return whether columns of files would take more than ``budget`` bytes of memory.

    The files are not read: the size is known from the metadata of Parquet and Feather, and
    otherwise estimated from the size of the file, all of which would be read. The result is False
    for data in memory, and for pipes, whose size is unknown.

    Raises
    ------
    InputError
        If there is no such file or column.
    """
    paths = source if isinstance(source, list | tuple) else [source]
    if not isinstance(source, Stream) and not (paths and all(map(_is_file, paths))):
        return False
    return Stream.from_input(source).estimate_bytes(columns) > budget


def _is_file(source: Any) -> bool:
    """Return whether the argument is a path of files rather than of a pipe."""
    if not _is_path(source) or os.fspath(source) == STDIN:
        return False
    path = os.fspath(source)
    return os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)
