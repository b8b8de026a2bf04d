"""Sources of streamed data: files, pipes and tables, read in batches of Arrow."""

from __future__ import annotations

import copy
import io
import json
import os
import re
import select
import stat
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.data import tables
from calipers.data.byte_sources import (
    CHANGED_MESSAGE,
    MAX_LINE_BYTES,
    STDIN,
    ByteSource,
    CheckedText,
    JsonLines,
    file_stamp,
)
from calipers.data.categories import (
    Category,
    CategorySelector,
    Forms,
    LostTextError,
    PaddedNumbers,
    columns_of_text,
    has_forms,
    to_categories,
    written_forms,
)
from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


#: Bytes of a piece of a Parquet column; a whole row group may be larger than memory.
_BUFFER_BYTES = 1 << 20


class BatchSource:
    """File or other source of record batches in a fixed order."""

    name: str
    schema: pa.Schema
    n_rows: int | None = None
    is_rereadable = True
    #: Whether it is CSV, in which an empty field may be empty text.
    is_csv = False
    files: tuple[str, ...] = ()

    @property
    def stamp(self) -> str | None:
        """Fingerprint of the rows of a file; None if it is unknown."""
        return None

    def has_inferred_type(self, name: str) -> bool:
        """Return whether the type of a column is inferred, so that its values may all be text."""
        return False

    def with_categories(self, categories: CategorySelector) -> BatchSource:
        """Return a source of the same rows that does not lose the text of categories in CSV."""
        return self

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the rows in batches of about ``batch_rows`` rows, each with the name of its origin.

        The batches have at least the columns of ``schema``; where types are inferred, columns have
        the types of ``schema``. The name of the origin is the one used in messages.
        """
        raise NotImplementedError

    def estimate_bytes(self, columns: Sequence[str]) -> int:
        """Estimate the memory of these columns in bytes; 0 if it is unknown."""
        return 0

    def check_unchanged(self) -> None:
        """Check that the file has not been written to since it was first examined."""

    def stop(self) -> None:
        """Stop a read operation that is waiting for input."""


class FileSource(BatchSource):
    """File that must not change while it is read."""

    def __init__(self, path: str) -> None:
        self.name, self.files = path, (path,)
        self._stamp = file_stamp(path)

    @property
    def stamp(self) -> str:
        """Fingerprint of its path, size and modification time."""
        import hashlib  # loads OpenSSL

        file_state = json.dumps([os.path.realpath(self.name), *self._stamp])
        return hashlib.sha256(file_state.encode(errors="surrogateescape")).hexdigest()[:32]

    def check_unchanged(self) -> None:
        """Check that size and modification time are unchanged."""
        if file_stamp(self.name) != self._stamp:
            raise InputError(f"{self.name}: {CHANGED_MESSAGE}")


class ParquetSource(FileSource):
    """Parquet file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with self._open() as file:
            self.schema, self.n_rows = file.schema_arrow, file.metadata.num_rows

    def _open(self, **options: Any) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self.name, page_checksum_verification=True, **options)

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the row groups, one batch of rows at a time."""
        with self._open(buffer_size=_BUFFER_BYTES, pre_buffer=False) as file:
            # One thread decodes as fast as two that wait for each other.
            for batch in file.iter_batches(batch_rows, columns=schema.names, use_threads=False):
                yield self.name, batch

    def estimate_bytes(self, columns: Sequence[str]) -> int:
        """Compute the size from the types, and from the metadata of Parquet for text.

        Parquet may store text more densely than memory does.
        """
        with self._open() as file:
            unsized = [
                name for name in columns if value_bytes(self.schema.field(name).type) is None
            ]
            stored: int = sum(c.total_uncompressed_size for c in _column_chunks(file, unsized))
        return fixed_size(self.schema, columns, self.n_rows or 0) + stored


def _column_chunks(file: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the metadata of these columns in each row group."""
    metadata, requested = file.metadata, set(columns)
    leaf_indices = [
        index
        for index in range(metadata.num_columns)
        if (path := file.schema.column(index).path) in requested or path.split(".")[0] in requested
    ]
    for group in range(metadata.num_row_groups if leaf_indices else 0):
        row_group = metadata.row_group(group)
        yield from (row_group.column(index) for index in leaf_indices)


def value_bytes(kind: pa.DataType) -> float | None:
    """Return the number of bytes of a value of a type; None if it varies."""
    with suppress(ValueError, AttributeError):
        return float(kind.bit_width) / 8
    return None


def fixed_size(schema: pa.Schema, columns: Sequence[str], rows: int) -> int:
    """Estimate the number of bytes of ``rows`` rows.

    A text value counts 16 bytes: the overhead of any value, and a few characters.
    """
    widths = (value_bytes(schema.field(name).type) for name in columns)
    return round(sum(16.0 if width is None else width for width in widths) * rows)


class FeatherSource(FileSource):
    """Feather file of version 2, which is an Arrow IPC file."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa
        from pyarrow import dataset, fs, ipc

        super().__init__(path)
        tables.check_feather(ByteSource(path))
        with pa.OSFile(path) as file, ipc.open_file(file) as reader:
            self.schema = reader.schema
        fragment = dataset.IpcFileFormat().make_fragment(path, filesystem=fs.LocalFileSystem())
        self.n_rows = fragment.count_rows()

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches as they were written."""
        import pyarrow as pa
        from pyarrow import ipc

        options = ipc.IpcReadOptions(included_fields=column_indices(self.schema, schema))
        with pa.OSFile(self.name) as file, ipc.open_file(file, options=options) as reader:
            for number in range(reader.num_record_batches):
                yield self.name, reader.get_batch(number)

    def estimate_bytes(self, columns: Sequence[str]) -> int:
        """Compute the size from the types; that of text is only a guess."""
        return fixed_size(self.schema, columns, self.n_rows or 0)


def column_indices(schema: pa.Schema, requested: pa.Schema) -> list[int]:
    """Return the sorted indices of the wanted columns in a schema."""
    return sorted(schema.get_field_index(name) for name in requested.names)


class TableSource(BatchSource):
    """Table in memory."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name, self.schema, self.n_rows = name, table.schema, table.num_rows
        self._table = table

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield slices of the chunks in memory."""
        for batch in self._table.select(schema.names).to_batches(max_chunksize=batch_rows):
            yield self.name, batch


class ReaderSource(BatchSource):
    """Arrow record batches that can be read only once."""

    is_rereadable = False

    def __init__(self, reader: pa.RecordBatchReader, name: str) -> None:
        self.name, self.schema, self._reader = name, reader.schema, reader

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches as they arrive."""
        for batch in self._reader:
            yield self.name, batch


class DatasetSource(BatchSource):
    """Arrow dataset, with its filter and its partitions."""

    def __init__(self, dataset: Any) -> None:
        self.name, self.schema, self._dataset = "dataset", dataset.schema, dataset
        self.files = tuple(getattr(dataset, "files", ()))
        self._stamps = self._current_stamps()

    def _current_stamps(self) -> dict[str, tuple[int, int]]:
        return {path: file_stamp(path) for path in self.files if os.path.exists(path)}

    def check_unchanged(self) -> None:
        """Check size and modification time of the files that are on this machine."""
        current = self._current_stamps()
        changed = [path for path, stamp in self._stamps.items() if current.get(path) != stamp]
        if changed:
            raise InputError(f"{changed[0]}: {CHANGED_MESSAGE}")

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches in the order of the files."""
        from pyarrow import dataset

        options: dict[str, Any] = {}
        if isinstance(getattr(self._dataset, "format", None), dataset.ParquetFileFormat):
            # The read-ahead of Arrow takes memory, and reading is not faster with it here.
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                pre_buffer=False, page_checksum_verification=True
            )
        scanner = self._dataset.scanner(
            columns=schema.names,
            batch_size=batch_rows,
            batch_readahead=1,
            fragment_readahead=1,
            **options,
        )
        for tagged in scanner.scan_batches():
            yield getattr(tagged.fragment, "path", None) or self.name, tagged.record_batch


class PartitionedSource(BatchSource):
    """File with additional columns, the values of which are in the names of its directories.

    These columns replace those of the same name in the file.
    """

    def __init__(self, source: BatchSource, keys: Mapping[str, pa.Scalar]) -> None:
        import pyarrow as pa

        self.name, self.n_rows, self.files, self.is_csv = (
            source.name,
            source.n_rows,
            source.files,
            source.is_csv,
        )
        self._source, self._keys = source, keys
        file_fields = [field for field in source.schema if field.name not in keys]
        self.schema = pa.schema(
            [*file_fields, *((name, value.type) for name, value in keys.items())]
        )

    @property
    def stamp(self) -> str | None:
        """Fingerprint of the file."""
        return self._source.stamp

    def has_inferred_type(self, name: str) -> bool:
        """Return whether the type of a column of the file itself is inferred."""
        return name not in self._keys and self._source.has_inferred_type(name)

    def with_categories(self, categories: CategorySelector) -> BatchSource:
        """Return a source whose file does not lose the text of categories."""
        source = self._source.with_categories(categories)
        return self if source is self._source else PartitionedSource(source, self._keys)

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the batches of the file, with the additional columns."""
        import pyarrow as pa

        file_fields = [field for field in schema if field.name not in self._keys]
        keys = {name: self._keys[name] for name in schema.names if name in self._keys}
        # If no column of the file is needed, any column gives the number of its rows.
        file_schema = pa.schema(file_fields or [self._source.schema.field(0)])
        for origin, batch in self._source.batches(file_schema, batch_rows):
            arrays = [
                batch.column(batch.schema.get_field_index(field.name)) for field in file_fields
            ]
            arrays += (pa.repeat(value, batch.num_rows) for value in keys.values())
            names = [*(field.name for field in file_fields), *keys]
            yield origin, pa.RecordBatch.from_arrays(arrays, names)

    def estimate_bytes(self, columns: Sequence[str]) -> int:
        """Estimate the size of the columns of the file and of the additional ones."""
        file_columns = [name for name in columns if name not in self._keys]
        keys = [name for name in columns if name in self._keys]
        return self._source.estimate_bytes(file_columns) + fixed_size(
            self.schema, keys, self.n_rows or 0
        )

    def check_unchanged(self) -> None:
        """Check that the file is unchanged."""
        self._source.check_unchanged()


#: Number of bytes of text from which the types of the columns are inferred.
HEAD_BYTES = 1 << 22

#: Number of bytes of a block of text; Arrow reads about thirty blocks ahead.
BLOCK_BYTES = 1 << 20

#: Seconds to wait until a thread of Arrow has released what it reads.
_MAX_WAIT_SECONDS = 1.0

#: Compression ratio that is assumed of text at least, an upper bound for numbers.
_COMPRESSION_RATIO = 4.0

#: How an Arrow IPC stream begins.
IPC_STREAM = b"\xff\xff\xff\xff"

#: Message of Arrow on a field of CSV that it could not convert.
_CONVERSION_ERROR = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (.+?): invalid value '(.*)'",
    re.DOTALL,
)

_ADVICE = (
    "where text is read in batches, types are those of its first rows; write Parquet, which names "
    "its types, or read the column as text"
)

#: Advice where a value of a column of categories would lose its text.
_CATEGORY_ADVICE = (
    "where text is read in batches, types are those of its first rows; write Parquet, which names "
    "its types, or use engine='memory'"
)

#: Function that returns a new ``pyarrow.PythonFile`` of a lent stream.
_FileFactory: TypeAlias = "Callable[[], Any]"


@dataclass(frozen=True)
class TextColumns:
    """Columns of a text that are read as text, and those of categories.

    Attributes
    ----------
    text : collection of str, default=()
        Columns that are text, whatever they look like.
    categories : callable, optional
        Function that selects the columns of categories, which are numbers only if no text is lost.
    """

    text: Collection[str] = ()
    categories: CategorySelector | None = None

    def select_categories(self, names: Sequence[str]) -> dict[str, Category]:
        """Return the columns of categories that may hold numbers."""
        selected = {} if self.categories is None else self.categories(names)
        return {name: category for name, category in selected.items() if name not in self.text}


class TextFormat:
    """Text format of a table, identified by its extension."""

    def __init__(self, name: str, kind: str, columns: TextColumns) -> None:
        self.name, self.kind, self.columns = name, kind, columns
        self.names: list[str] = []
        self._categories: dict[str, Category] = {}

    def schema(self, head: bytes) -> pa.Schema:
        """Infer the schema of a text from its first bytes.

        If the text is longer than its head, the head has to be longer than ``HEAD_BYTES``.
        """
        import pyarrow as pa

        with _lend_stream(self._check_stream(io.BytesIO(head))) as lent, self._errors():
            inferred = self._open(lent, HEAD_BYTES, None).schema
        self.names = inferred.names
        schema = pa.schema([field.with_type(self._type(field)) for field in inferred])
        if tables.TEXT_FORMATS[self.kind] == "jsonl":
            return schema
        self._categories = self.columns.select_categories(self.names)
        text = self._text_categories(schema, head)
        return pa.schema(
            [field.with_type(pa.string()) if field.name in text else field for field in schema]
        )

    def _text_categories(self, schema: pa.Schema, head: bytes) -> set[str]:
        """Return the columns of categories whose texts in the first rows would be lost."""
        import pyarrow as pa

        type_by_column = self._possibly_lossy(schema)
        if not type_by_column:
            return set()
        text_schema = pa.schema([(name, pa.string()) for name in type_by_column])
        with _lend_stream(io.BytesIO(head)) as lent, self._errors():
            batch = next(iter(self._open(lent, HEAD_BYTES, text_schema)), None)
        if batch is None:
            return set()
        forms = {
            name: (kind, written_forms(batch[name].unique(), kind, self._categories[name]))
            for name, kind in type_by_column.items()
        }
        return columns_of_text(forms, self._categories)

    def _possibly_lossy(self, schema: pa.Schema) -> dict[str, pa.DataType]:
        """Return the types of the categories of which several texts may be one value."""
        return {
            field.name: field.type
            for field in schema
            if field.name in self._categories and has_forms(field.type)
        }

    def _type(self, field: pa.Field) -> pa.DataType:
        import pyarrow as pa

        # Arrow infers dates from JSON text, which is text nevertheless.
        is_date = tables.TEXT_FORMATS[self.kind] == "jsonl" and pa.types.is_timestamp(field.type)
        return pa.string() if is_date or field.name in self.columns.text else field.type

    def batches(
        self,
        stream: Any,
        schema: pa.Schema,
        reopen: Callable[[], AbstractContextManager[Any]] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a text, with columns of the given types.

        ``reopen`` opens the text once more, if that is possible.

        Raises
        ------
        InputError
            If a value has another type, or is a category that would lose its text.
        """
        import pyarrow as pa

        type_by_column = self._possibly_lossy(schema)
        if not type_by_column:
            yield from self._read(stream, schema)
        elif reopen is None or not all(map(pa.types.is_integer, type_by_column.values())):
            yield from self._read_categories(stream, schema, type_by_column)
        else:
            # Reading whole numbers is fast, and loses nothing unless one may have leading zeros.
            scanner, n_rows = PaddedNumbers(stream), 0
            with closing(self._read(scanner, schema)) as batches:
                for batch in batches:
                    if scanner.has_padded:
                        break
                    n_rows += batch.num_rows
                    yield batch
            if scanner.has_padded:
                with reopen() as reopened:
                    for batch in self._read_categories(reopened, schema, type_by_column):
                        n_repeated = min(n_rows, batch.num_rows)
                        n_rows -= n_repeated
                        yield batch.slice(n_repeated)

    def _read_categories(
        self, stream: Any, schema: pa.Schema, type_by_column: Mapping[str, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, of which categories are read as text and converted."""
        import pyarrow as pa

        text_schema = pa.schema(
            [
                field.with_type(pa.string()) if field.name in type_by_column else field
                for field in schema
            ]
        )
        forms: dict[str, Forms] = dict.fromkeys(type_by_column)
        n_rows = 0
        for batch in self._read(stream, text_schema):
            arrays = {name: batch[name] for name in schema.names}
            for name, kind in type_by_column.items():
                try:
                    arrays[name], forms[name] = to_categories(
                        arrays[name],
                        kind,
                        self._categories[name],
                        forms[name],
                        tables.parse_distinct,
                    )
                except LostTextError as error:
                    raise InputError(
                        f"{self.name}: row {n_rows + error.row}: column {name!r}: {error} (rows "
                        f"count from 0, without the header); {_CATEGORY_ADVICE}"
                    ) from None
            n_rows += batch.num_rows
            yield pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)

    def _read(self, stream: Any, schema: pa.Schema) -> Generator[pa.RecordBatch]:
        with _lend_stream(self._check_stream(stream)) as lent, self._errors():
            yield from self._open(lent, BLOCK_BYTES, schema)

    def _check_stream(self, stream: Any) -> Any:
        is_json = tables.TEXT_FORMATS[self.kind] == "jsonl"
        return JsonLines(self.name, stream) if is_json else stream

    def _open(self, lent: _FileFactory, block: int, schema: pa.Schema | None) -> Any:
        if tables.TEXT_FORMATS[self.kind] == "jsonl":
            return self._open_json(lent, block, schema)
        from pyarrow import csv

        types = {} if schema is None else {field.name: field.type for field in schema}
        parsing, converting = tables.csv_options(
            "\t" if self.kind == ".tsv" else ",", types, list(types)
        )
        # Only on one thread does an error have the number of its row.
        reading = csv.ReadOptions(block_size=block, use_threads=False)
        return csv.open_csv(lent(), reading, parsing, converting)

    def _open_json(self, lent: _FileFactory, block: int, schema: pa.Schema | None) -> Any:
        from pyarrow import json as arrow_json

        if not hasattr(arrow_json, "open_json"):
            raise InputError(
                f"{self.name}: JSON Lines are read in batches by pyarrow 20 or later; update it, "
                "or write the table as Parquet"
            )
        parsing = None
        if schema is not None:
            parsing = arrow_json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            )
        reading = arrow_json.ReadOptions(block_size=block, use_threads=False)
        return arrow_json.open_json(lent(), reading, parsing)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Report where a value has a type other than that of the first rows."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            text = str(error)
            if "straddl" in text:
                raise InputError(
                    f"{self.name}: a row is longer than {BLOCK_BYTES >> 20} MiB, the limit for "
                    "rows that "
                    "are read in batches"
                ) from None
            if match := _CONVERSION_ERROR.match(text):
                column, row, kind, value = match.groups()
                raise InputError(
                    f"{self.name}: row {int(row) - 2}: column {self.names[int(column)]!r}: "
                    f"{value!r} is not of type {kind}, as the values before it are (rows count "
                    f"from 0, without the header); {_ADVICE}"
                ) from None
            if text.startswith("Failed to convert JSON"):
                raise InputError(f"{self.name}: {text}; {_ADVICE}") from None
            raise


class TextFile(FileSource):
    """CSV or JSON Lines file."""

    def __init__(self, path: str, kind: str, columns: TextColumns) -> None:
        super().__init__(path)
        self._source = ByteSource(path)
        self.is_csv = tables.TEXT_FORMATS[kind] != "jsonl"
        self._infer_types(TextFormat(path, kind, columns))

    def _infer_types(self, text_format: TextFormat) -> None:
        self._format = text_format
        with self._source.text() as stream:
            # One byte more shows that the block is not the last.
            head = stream.read(HEAD_BYTES + 1)
        self.schema = self._format.schema(head)
        self._row_bytes = len(head) / max(head.count(b"\n"), 1)  # of a row
        self._ratio = _estimate_expansion(head) if self._source.compression else 1.0

    def with_categories(self, categories: CategorySelector) -> BatchSource:
        """Return a source of the same file that does not lose the text of categories in CSV."""
        if not self.is_csv:
            return self
        source = copy.copy(self)
        columns = TextColumns(self._format.columns.text, categories)
        source._infer_types(TextFormat(self.name, self._format.kind, columns))
        return source

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield one block at a time."""
        import pyarrow as pa

        try:
            with self._source.text() as stream:
                for batch in self._format.batches(stream, schema, self._source.text):
                    yield self.name, batch
        except pa.ArrowInvalid:
            if tables.TEXT_FORMATS[self._format.kind] == "jsonl":
                tables.check_json_lines(self._source)
            raise

    def has_inferred_type(self, name: str) -> bool:
        """Return True: all types are inferred."""
        return True

    def estimate_bytes(self, columns: Sequence[str]) -> int:
        """Estimate the size of all columns, since all are read unless they are read in batches."""
        size = round(os.path.getsize(self.name) * self._ratio)
        text = [
            name
            for name, kind in zip(self.schema.names, self.schema.types, strict=True)
            if value_bytes(kind) is None
        ]
        return fixed_size(self.schema, self.schema.names, round(size / self._row_bytes)) + (
            size if text else 0
        )


def _estimate_expansion(head: bytes) -> float:
    """Estimate how many bytes a compressed one stands for, which are thousands of repeated text."""
    import pyarrow as pa

    compressed = pa.compress(head, codec="zstd", asbytes=True) if head else b""
    return max(_COMPRESSION_RATIO, len(head) / max(len(compressed), 1))


class TextStream(BatchSource):
    """Text or Arrow IPC stream that can be read once: a pipe, the standard input, a stream."""

    is_rereadable = False

    def __init__(self, source: Any, columns: TextColumns) -> None:
        self._stream = _InterruptibleStream(source)
        self._reader: Any = None
        self._head = b""
        self.name, self.files = self._stream.name, (self._stream.name,)
        try:
            self._begin(columns)
        except BaseException:
            self._stream.close()
            raise

    def _begin(self, columns: TextColumns) -> None:
        """Read enough of the stream to infer the columns."""
        import pyarrow as pa

        start = self._stream.read(8)
        head_source = ByteSource(self.name, start)
        if head_source.is_empty:
            raise InputError(f"{self.name}: the input is empty")
        raw = _ResumedStream(start, self._stream)
        if start.startswith(IPC_STREAM):
            self._reader = pa.ipc.open_stream(pa.PythonFile(raw, "r"))
            self.schema = self._reader.schema
            return
        packed = head_source.compression
        if packed is None and start.startswith((b"PAR1", b"ARROW1", b"FEA1")):
            raise InputError(
                f"{self.name}: Parquet and Feather cannot be read from a pipe; expected a file, or "
                "CSV, JSON Lines or an Arrow IPC stream"
            )
        unpacked = pa.input_stream(pa.PythonFile(raw, "r"), compression=packed)
        stream = CheckedText(self.name, unpacked, MAX_LINE_BYTES)
        head = stream.read(HEAD_BYTES + 1)
        kind = tables.file_extension(self.name)[0]
        if kind not in tables.TEXT_FORMATS:
            kind = ByteSource(self.name, head[: head.find(b"\n")]).infer_extension()
        self._format = TextFormat(self.name, kind, columns)
        self.is_csv = tables.TEXT_FORMATS[kind] != "jsonl"
        self.schema = self._format.schema(head)
        self._head, self._text = head, _ResumedStream(head, stream)

    def with_categories(self, categories: CategorySelector) -> BatchSource:
        """Return a source of the same stream that does not lose the text of categories in CSV."""
        if not self.is_csv or not self._head:
            return self
        source = copy.copy(self)
        columns = TextColumns(self._format.columns.text, categories)
        source._format = TextFormat(self.name, self._format.kind, columns)
        source.schema = source._format.schema(self._head)
        return source

    def batches(self, schema: pa.Schema, batch_rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the data that have arrived, block by block."""
        self._head = b""
        try:
            for batch in self._reader or self._format.batches(self._text, schema):
                yield self.name, batch
        finally:
            self._stream.close()

    def has_inferred_type(self, name: str) -> bool:
        """Return whether the stream is text, of which all types are inferred."""
        return self._reader is None

    def stop(self) -> None:
        """Stop at the next check for input."""
        self._stream.stopped.set()


@contextmanager
def _lend_stream(stream: Any) -> Iterator[_FileFactory]:
    """Lend a stream to threads of Arrow, which may still read it after their reader is gone.

    The interpreter could crash if it exited in the meantime. The context manager therefore waits
    on exit until no thread holds the stream any more; nothing else may keep a reference to the
    file that the function returns.
    """
    import pyarrow as pa

    ended = threading.Event()
    lent_refs: list[weakref.ref[_StoppableStream]] = []

    def file() -> Any:
        lent = _StoppableStream(stream, ended)
        lent_refs.append(weakref.ref(lent))
        return pa.PythonFile(lent, "r")

    try:
        yield file
    finally:
        ended.set()
        deadline = time.monotonic() + _MAX_WAIT_SECONDS
        while any(ref() is not None for ref in lent_refs) and time.monotonic() < deadline:
            time.sleep(0.001)


class _StoppableStream(io.RawIOBase):
    """Stream that ends once an event is set."""

    def __init__(self, stream: Any, ended: threading.Event) -> None:
        super().__init__()
        self._stream, self._ended = stream, ended

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._ended.is_set():
            return b""
        stream = self._stream
        del self  # which the traceback of an error would keep
        read: bytes = stream.read(size)
        return read


class _ResumedStream(io.RawIOBase):
    """Stream that replays the bytes that were already read, followed by all others."""

    def __init__(self, head: bytes, tail: Any) -> None:
        super().__init__()
        self._head, self._tail = head, tail

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        replayed, self._head = self._head[:size], self._head[size:]
        tail: bytes = self._tail.read(size - len(replayed)) if len(replayed) < size else b""
        return replayed + tail


class _InterruptibleStream:
    """Stream of bytes with interruptible reads, as nothing may have been written to it yet."""

    def __init__(self, source: Any) -> None:
        self.stopped = threading.Event()
        self._file: Any = source
        if isinstance(source, str):
            self.name = "stdin" if source == STDIN else source
            try:
                self._file = sys.stdin.buffer if source == STDIN else io.FileIO(source)
            except OSError as error:
                raise InputError(f"{source}: cannot be read: {error.strerror}") from None
        else:
            name = getattr(source, "name", None)
            self.name = name if isinstance(name, str) else "stream"
        self._is_own = isinstance(source, str) and source != STDIN
        self._is_pollable = isinstance(source, str) and _can_poll(self._file)

    def read(self, size: int) -> bytes:
        """Read ``size`` bytes, or fewer if the stream ends."""
        blocks: list[bytes] = []
        while size > 0 and (block := self._read_block(size)):
            blocks.append(block)
            size -= len(block)
        return b"".join(blocks)

    def close(self) -> None:
        """Close the file if it was opened by this object."""
        if self._is_own:
            self._file.close()

    def _read_block(self, size: int) -> bytes:
        if not self._is_pollable:
            block = self._file.read(size)
            if not isinstance(block, bytes):
                raise InputError(f"{self.name}: is a stream of text, expected one of bytes")
            return block
        descriptor = self._file.fileno()
        while not select.select([descriptor], [], [], 0.05)[0]:
            if self.stopped.is_set() or not threading.main_thread().is_alive():
                raise InputError(f"{self.name}: reading was stopped")
        return os.read(descriptor, size)


def _can_poll(file: Any) -> bool:
    """Return whether a file can be polled for input."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return os.name == "posix" and not stat.S_ISREG(mode)
