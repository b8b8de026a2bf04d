"""What a stream is read from: files, pipes and tables, each in batches of Arrow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from calipers.data import tables
from calipers.data.errors import InputError
from calipers.data.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of Parquet are read in pieces of so many bytes: row groups may be larger than memory.
_PIECE = 1 << 20

_CHANGED = "the file changed since it was first read, so its rows are not those of the first time"


class Part:
    """A file, or what else has record batches in an order."""

    name: str
    schema: pa.Schema
    rows: int | None = None
    again = True
    #: Whether it is CSV, in which an empty field may be empty text.
    csv = False
    files: tuple[str, ...] = ()

    @property
    def stamp(self) -> str | None:
        """What tells the rows of a file from others, where that is known."""
        return None

    def guesses(self, name: str) -> bool:
        """Whether the type of a column is guessed, so that all of it may be text."""
        return False

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows in batches of about so many, each with what messages call its origin. They have
        at least the columns of ``schema``; where types are guessed, of the types that it says."""
        raise NotImplementedError

    def size(self, columns: Sequence[str]) -> int:
        """About how many bytes these columns take in memory; 0 where nothing tells."""
        return 0

    def check_unchanged(self) -> None:
        """That nobody wrote to a file since it was first looked at."""

    def stop(self) -> None:
        """End reading that waits for somebody to write."""


class FilePart(Part):
    """A file that has to stay as it is."""

    def __init__(self, path: str) -> None:
        self.name, self.files = path, (path,)
        self._stamp = _stamp(path)

    @property
    def stamp(self) -> str:
        """Its place, size and time."""
        import hashlib  # loads OpenSSL

        told = json.dumps([os.path.realpath(self.name), *self._stamp])
        return hashlib.sha256(told.encode(errors="surrogateescape")).hexdigest()[:32]

    def check_unchanged(self) -> None:
        """By size and time."""
        if _stamp(self.name) != self._stamp:
            raise InputError(f"{self.name}: {_CHANGED}")


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return found.st_size, found.st_mtime_ns


class ParquetPart(FilePart):
    """A Parquet file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with self._open() as file:
            self.schema, self.rows = file.schema_arrow, file.metadata.num_rows

    def _open(self, **options: Any) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self.name, page_checksum_verification=True, **options)

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The row groups, a batch of rows at a time."""
        with self._open(buffer_size=_PIECE, pre_buffer=False) as file:
            # One thread decodes as fast as two that wait for each other.
            for batch in file.iter_batches(rows, columns=schema.names, use_threads=False):
                yield self.name, batch

    def size(self, columns: Sequence[str]) -> int:
        """By the types, and what Parquet says of text, which it may hold more densely."""
        with self._open() as file:
            other = [name for name in columns if width(self.schema.field(name).type) is None]
            stored: int = sum(c.total_uncompressed_size for c in _chunks(file, other))
        return fixed_size(self.schema, columns, self.rows or 0) + stored


def _chunks(file: Any, columns: Sequence[str]) -> Iterator[Any]:
    """What is known of the columns of each row group."""
    metadata, wanted = file.metadata, set(columns)
    leaves = [
        place
        for place in range(metadata.num_columns)
        if (path := file.schema.column(place).path) in wanted or path.split(".")[0] in wanted
    ]
    for group in range(metadata.num_row_groups if leaves else 0):
        of = metadata.row_group(group)
        yield from (of.column(place) for place in leaves)


def width(kind: pa.DataType) -> float | None:
    """Bytes of a value, where all have as many."""
    with suppress(ValueError, AttributeError):
        return float(kind.bit_width) / 8
    return None


def fixed_size(schema: pa.Schema, columns: Sequence[str], rows: int) -> int:
    """Bytes of so many rows. Of text, what any value takes beside its letters, and a few."""
    widths = (width(schema.field(name).type) for name in columns)
    return round(sum(16.0 if width is None else width for width in widths) * rows)


class FeatherPart(FilePart):
    """A Feather file of version 2, which is an Arrow IPC file."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa
        from pyarrow import dataset, fs, ipc

        super().__init__(path)
        tables.check_feather(Source(path))
        with pa.OSFile(path) as file, ipc.open_file(file) as reader:
            self.schema = reader.schema
        fragment = dataset.IpcFileFormat().make_fragment(path, filesystem=fs.LocalFileSystem())
        self.rows = fragment.count_rows()

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Batches as they were written."""
        import pyarrow as pa
        from pyarrow import ipc

        options = ipc.IpcReadOptions(included_fields=places(self.schema, schema))
        with pa.OSFile(self.name) as file, ipc.open_file(file, options=options) as reader:
            for number in range(reader.num_record_batches):
                yield self.name, reader.get_batch(number)

    def size(self, columns: Sequence[str]) -> int:
        """By the types; of text there is only a guess."""
        return fixed_size(self.schema, columns, self.rows or 0)


def places(schema: pa.Schema, wanted: pa.Schema) -> list[int]:
    """Where the wanted columns stand, in their order there."""
    return sorted(schema.get_field_index(name) for name in wanted.names)


class TablePart(Part):
    """A table in memory."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name, self.schema, self.rows = name, table.schema, table.num_rows
        self._table = table

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Parts of the chunks of memory."""
        for batch in self._table.select(schema.names).to_batches(max_chunksize=rows):
            yield self.name, batch


class ReaderPart(Part):
    """Batches of Arrow that somebody hands out once."""

    again = False

    def __init__(self, reader: pa.RecordBatchReader, name: str) -> None:
        self.name, self.schema, self._reader = name, reader.schema, reader

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Whatever comes."""
        for batch in self._reader:
            yield self.name, batch


class DatasetPart(Part):
    """A dataset of Arrow, with the filter and the partitions that it has."""

    def __init__(self, dataset: Any) -> None:
        self.name, self.schema, self._dataset = "dataset", dataset.schema, dataset
        self.files = tuple(getattr(dataset, "files", ()))
        self._stamps = self._stamped()

    def _stamped(self) -> dict[str, tuple[int, int]]:
        return {path: _stamp(path) for path in self.files if os.path.exists(path)}

    def check_unchanged(self) -> None:
        """Of files on this machine, by size and time."""
        now = self._stamped()
        changed = [path for path, stamp in self._stamps.items() if now.get(path) != stamp]
        if changed:
            raise InputError(f"{changed[0]}: {_CHANGED}")

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """In the order of the files."""
        from pyarrow import dataset

        options: dict[str, Any] = {}
        if isinstance(getattr(self._dataset, "format", None), dataset.ParquetFileFormat):
            # Its own read-ahead takes memory and makes nothing faster here.
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                pre_buffer=False, page_checksum_verification=True
            )
        scanner = self._dataset.scanner(
            columns=schema.names,
            batch_size=rows,
            batch_readahead=1,
            fragment_readahead=1,
            **options,
        )
        for tagged in scanner.scan_batches():
            yield getattr(tagged.fragment, "path", None) or self.name, tagged.record_batch


class Partition(Part):
    """A file with columns that the names of its directories tell, whatever it has of that name."""

    def __init__(self, part: Part, keys: Mapping[str, pa.Scalar]) -> None:
        import pyarrow as pa

        self.name, self.rows, self.files, self.csv = part.name, part.rows, part.files, part.csv
        self._part, self._keys = part, keys
        own = [field for field in part.schema if field.name not in keys]
        self.schema = pa.schema([*own, *((name, value.type) for name, value in keys.items())])

    @property
    def stamp(self) -> str | None:
        """That of the file."""
        return self._part.stamp

    def guesses(self, name: str) -> bool:
        """Of what the file holds alone."""
        return name not in self._keys and self._part.guesses(name)

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Those of the file, with the further columns."""
        import pyarrow as pa

        own = [field for field in schema if field.name not in self._keys]
        keys = {name: self._keys[name] for name in schema.names if name in self._keys}
        # A file of which nothing else is wanted tells how many rows it has by any column.
        asked = pa.schema(own or [self._part.schema.field(0)])
        for where, batch in self._part.batches(asked, rows):
            arrays = [batch.column(batch.schema.get_field_index(field.name)) for field in own]
            arrays += (pa.repeat(value, batch.num_rows) for value in keys.values())
            names = [*(field.name for field in own), *keys]
            yield where, pa.RecordBatch.from_arrays(arrays, names)

    def size(self, columns: Sequence[str]) -> int:
        """That of both."""
        own = [name for name in columns if name not in self._keys]
        keys = [name for name in columns if name in self._keys]
        return self._part.size(own) + fixed_size(self.schema, keys, self.rows or 0)

    def check_unchanged(self) -> None:
        """As for the file."""
        self._part.check_unchanged()
