"""CSV and JSON Lines in batches, from files and pipes; their types are those of the first rows."""

from __future__ import annotations

import io
import os
import re
import select
import stat
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from calipers.data import tables
from calipers.data.errors import InputError
from calipers.data.parts import FilePart, Part, fixed_size, width
from calipers.data.sources import LONGEST, STDIN, Objects, Source, Text

if TYPE_CHECKING:
    import pyarrow as pa

#: The types of the columns are those that so much text shows.
HEAD = 1 << 22

#: Arrow reads some thirty blocks ahead.
BLOCK = 1 << 20

#: So many seconds a thread of Arrow gets to let go of what it reads.
_PATIENCE = 1.0

#: Numbers as text hardly take less than a quarter when they are compressed.
_PACKED = 4

#: How an Arrow IPC stream begins.
IPC_STREAM = b"\xff\xff\xff\xff"

#: How Arrow says which field of CSV it could not convert.
_MISFIT = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (.+?): invalid value '(.*)'",
    re.DOTALL,
)

_ADVICE = (
    "where text is read in batches, types are those of its first rows; write Parquet, which names "
    "its types, or read the column as text"
)

#: Makes a file of Arrow.
_Lent: TypeAlias = "Callable[[], Any]"


class Format:
    """A kind of text, by its extension."""

    def __init__(self, name: str, kind: str, text: Collection[str]) -> None:
        self.name, self.kind, self.text = name, kind, text
        self.names: list[str] = []

    def schema(self, head: bytes) -> pa.Schema:
        """The columns of a text that begins so. Where there is more of it, the head has to be
        longer than ``HEAD``."""
        import pyarrow as pa

        with _lent(self._checked(io.BytesIO(head))) as lent, self._errors():
            found = self._open(lent, HEAD, None).schema
        self.names = found.names
        return pa.schema([field.with_type(self._type(field)) for field in found])

    def _type(self, field: pa.Field) -> pa.DataType:
        import pyarrow as pa

        # Text of JSON that looks like a date was text all the same.
        is_date = tables.TEXTS[self.kind] == "jsonl" and pa.types.is_timestamp(field.type)
        return pa.string() if is_date or field.name in self.text else field.type

    def batches(self, stream: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a text, with columns of these types."""
        with _lent(self._checked(stream)) as lent, self._errors():
            yield from self._open(lent, BLOCK, schema)

    def _checked(self, stream: Any) -> Any:
        is_json = tables.TEXTS[self.kind] == "jsonl"
        return Objects(self.name, stream) if is_json else stream

    def _open(self, lent: _Lent, block: int, schema: pa.Schema | None) -> Any:
        if tables.TEXTS[self.kind] == "jsonl":
            return self._open_json(lent, block, schema)
        from pyarrow import csv

        types = {} if schema is None else {field.name: field.type for field in schema}
        parsing, converting = tables.csv_options(
            "\t" if self.kind == ".tsv" else ",", types, list(types)
        )
        # On one thread an error tells the number of its row.
        reading = csv.ReadOptions(block_size=block, use_threads=False)
        return csv.open_csv(lent(), reading, parsing, converting)

    def _open_json(self, lent: _Lent, block: int, schema: pa.Schema | None) -> Any:
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
        """Says where a value is of another type than those of the first rows."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            text = str(error)
            if "straddl" in text:
                raise InputError(
                    f"{self.name}: a row is longer than {BLOCK >> 20} MiB, the most that one may "
                    "have where rows are read in batches"
                ) from None
            if found := _MISFIT.match(text):
                place, row, kind, value = found.groups()
                raise InputError(
                    f"{self.name}: row {int(row) - 2}: column {self.names[int(place)]!r}: "
                    f"{value!r} is no {kind}, as the values before it are (rows count from 0, "
                    f"without the header); {_ADVICE}"
                ) from None
            if text.startswith("Failed to convert JSON"):
                raise InputError(f"{self.name}: {text}; {_ADVICE}") from None
            raise


class TextFile(FilePart):
    """A file of CSV or JSON Lines."""

    def __init__(self, path: str, kind: str, text: Collection[str]) -> None:
        super().__init__(path)
        self._source, self._format = Source(path), Format(path, kind, text)
        self.csv = tables.TEXTS[kind] != "jsonl"
        with self._source.text() as stream:
            # One byte more, which says that the block is not the last.
            head = stream.read(HEAD + 1)
        self.schema = self._format.schema(head)
        self._length = len(head) / max(head.count(b"\n"), 1)  # of a row

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """A block at a time."""
        import pyarrow as pa

        try:
            with self._source.text() as stream:
                for batch in self._format.batches(stream, schema):
                    yield self.name, batch
        except pa.ArrowInvalid:
            if tables.TEXTS[self._format.kind] == "jsonl":
                tables.check_json_lines(self._source)
            raise

    def guesses(self, name: str) -> bool:
        """Always."""
        return True

    def size(self, columns: Sequence[str]) -> int:
        """Of all columns, since all are read at once where they are not read in batches."""
        size = os.path.getsize(self.name) * (_PACKED if self._source.packed else 1)
        text = [
            name
            for name, kind in zip(self.schema.names, self.schema.types, strict=True)
            if width(kind) is None
        ]
        return fixed_size(self.schema, self.schema.names, round(size / self._length)) + (
            size if text else 0
        )


class Pipe(Part):
    """Text or an Arrow IPC stream that can be read once: a pipe, the standard input, a stream."""

    again = False

    def __init__(self, given: Any, text: Collection[str]) -> None:
        self._waiting = _Waiting(given)
        self._reader: Any = None
        self.name, self.files = self._waiting.name, (self._waiting.name,)
        try:
            self._begin(text)
        except BaseException:
            self._waiting.close()
            raise

    def _begin(self, text: Collection[str]) -> None:
        """Read as much as tells the columns."""
        import pyarrow as pa

        start = self._waiting.read(8)
        begun = Source(self.name, start)
        if begun.is_empty:
            raise InputError(f"{self.name}: the input is empty")
        raw = _Resumed(start, self._waiting)
        if start.startswith(IPC_STREAM):
            self._reader = pa.ipc.open_stream(pa.PythonFile(raw, "r"))
            self.schema = self._reader.schema
            return
        packed = begun.packed
        if packed is None and start.startswith((b"PAR1", b"ARROW1", b"FEA1")):
            raise InputError(
                f"{self.name}: Parquet and Feather are read from a file, whose end says what is in "
                "it; through a pipe come CSV, JSON Lines, or an Arrow IPC stream"
            )
        unpacked = pa.input_stream(pa.PythonFile(raw, "r"), compression=packed)
        stream = Text(self.name, unpacked, LONGEST)
        head = stream.read(HEAD + 1)
        kind = tables.extension(self.name)[0]
        if kind not in tables.TEXTS:
            kind = Source(self.name, head[: head.find(b"\n")]).guessed()
        self._format = Format(self.name, kind, text)
        self.csv = tables.TEXTS[kind] != "jsonl"
        self.schema = self._format.schema(head)
        self._text = _Resumed(head, stream)

    def batches(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, pa.RecordBatch]]:
        """What has come so far, block by block."""
        try:
            for batch in self._reader or self._format.batches(self._text, schema):
                yield self.name, batch
        finally:
            self._waiting.close()

    def guesses(self, name: str) -> bool:
        """Of text alone."""
        return self._reader is None

    def stop(self) -> None:
        """At the next look."""
        self._waiting.stopped.set()


@contextmanager
def _lent(stream: Any) -> Iterator[_Lent]:
    """A stream that threads of Arrow read, and may still read after its reader is gone.

    An interpreter that ends meanwhile would end badly. So whoever leaves waits until no thread has
    it any more; nothing else may keep what the function makes.
    """
    import pyarrow as pa

    ended = threading.Event()
    held: list[weakref.ref[_Until]] = []

    def file() -> Any:
        made = _Until(stream, ended)
        held.append(weakref.ref(made))
        return pa.PythonFile(made, "r")

    try:
        yield file
    finally:
        ended.set()
        last = time.monotonic() + _PATIENCE
        while any(made() is not None for made in held) and time.monotonic() < last:
            time.sleep(0.001)


class _Until(io.RawIOBase):
    """A stream until somebody says that it ends."""

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


class _Resumed(io.RawIOBase):
    """What was read of a stream, and the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        super().__init__()
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        taken, self._head = self._head[:size], self._head[size:]
        rest: bytes = self._rest.read(size - len(taken)) if len(taken) < size else b""
        return taken + rest


class _Waiting:
    """A stream of bytes that somebody may not yet have written to; waiting for it can be ended."""

    def __init__(self, given: Any) -> None:
        self.stopped = threading.Event()
        self._file: Any = given
        if isinstance(given, str):
            self.name = "stdin" if given == STDIN else given
            try:
                self._file = sys.stdin.buffer if given == STDIN else io.FileIO(given)
            except OSError as error:
                raise InputError(f"{given}: cannot be read: {error.strerror}") from None
        else:
            name = getattr(given, "name", None)
            self.name = name if isinstance(name, str) else "stream"
        self._is_own = isinstance(given, str) and given != STDIN
        self._waits = isinstance(given, str) and _can_wait(self._file)

    def read(self, size: int) -> bytes:
        """As many bytes as asked for, unless the stream ends."""
        blocks: list[bytes] = []
        while size > 0 and (block := self._some(size)):
            blocks.append(block)
            size -= len(block)
        return b"".join(blocks)

    def close(self) -> None:
        """Close what was opened here."""
        if self._is_own:
            self._file.close()

    def _some(self, size: int) -> bytes:
        if not self._waits:
            block = self._file.read(size)
            if not isinstance(block, bytes):
                raise InputError(f"{self.name}: is a stream of text, expected one of bytes")
            return block
        number = self._file.fileno()
        while not select.select([number], [], [], 0.05)[0]:
            if self.stopped.is_set() or not threading.main_thread().is_alive():
                raise InputError(f"{self.name}: reading was stopped")
        return os.read(number, size)


def _can_wait(file: Any) -> bool:
    """Whether one can ask if there is something to read."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return os.name == "posix" and not stat.S_ISREG(mode)
