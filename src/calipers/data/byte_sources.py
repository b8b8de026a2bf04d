"""Sources of the bytes of a table, and streams of text that is checked while it is read."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from calipers._core import json_depth_excess
from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

#: Path that means the standard input.
STDIN = "-"

#: First bytes of compressed files, and of tables that are not text.
COMPRESSION_BY_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
EXTENSION_BY_MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"FEA1": ".feather"}

#: Byte order marks of text that is not UTF-8. (UTF-32 begins as UTF-16 does.)
_ENCODING_BY_MARK = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}

_MARKS = (codecs.BOM_UTF8, *_ENCODING_BY_MARK)

_BLOCK_BYTES = 1 << 20

#: No line of a table is longer, so that a small compressed file without a line's end does not fill
#: the memory.
MAX_LINE_BYTES = 1 << 26


@dataclass(frozen=True)
class ByteSource:
    """File that can be read again, or the content of a source that can be read only once.

    Attributes
    ----------
    name : str
        Path of the file, or the name of the source in messages.
    content : bytes, optional
        Bytes of a pipe, the standard input or a stream; None for a file.
    """

    name: str
    content: bytes | None = None

    @classmethod
    def from_input(cls, source: ByteSource | str | os.PathLike[str] | BinaryIO) -> ByteSource:
        """Make a source from a path (``"-"``: standard input) or an object with ``read()``."""
        if isinstance(source, ByteSource):
            return source
        if not isinstance(source, str | os.PathLike):
            name = getattr(source, "name", None)
            return cls._read_once(name if isinstance(name, str) else "stream", source)
        name = os.fspath(source)
        if name == STDIN:
            return cls._read_once("stdin", sys.stdin.buffer)
        if _is_pipe(name):
            with _open_pipe(name) as stream:
                return cls._read_once(name, stream)
        return cls(name)

    @classmethod
    def _read_once(cls, name: str, stream: Any) -> ByteSource:
        blocks: list[bytes] = []
        while block := stream.read(_BLOCK_BYTES):
            if not isinstance(block, bytes):
                raise InputError(f"{name}: is a stream of text, expected one of bytes")
            if (
                not (
                    blocks
                    or block.startswith(
                        (*COMPRESSION_BY_MAGIC, *EXTENSION_BY_MAGIC, *_ENCODING_BY_MARK)
                    )
                )
                and b"\0" in block
            ):
                # A device may have no end.
                raise InputError(f"{name}:1: holds a NUL byte, expected a table")
            blocks.append(block)
        return cls(name, b"".join(blocks))

    @property
    def is_file(self) -> bool:
        """Whether the bytes are read from the file of this name."""
        return self.content is None

    @property
    def kind(self) -> str:
        """Kind of source, in a word: file or input."""
        return "file" if self.is_file else "input"

    @property
    def head(self) -> bytes:
        """First eight bytes, enough to determine the format."""
        if self.content is not None:
            return self.content[:8]
        with open(self.name, "rb") as file:
            return file.read(8)

    @property
    def compression(self) -> str | None:
        """Compression indicated by the first bytes; None if there is no compression."""
        start = self.head
        packed = next(
            (name for magic, name in COMPRESSION_BY_MAGIC.items() if start.startswith(magic)), None
        )
        if packed is None and self.is_file and self.name.lower().endswith((".gz", ".zst")):
            raise InputError(f"{self.name}: is not compressed as its name says")
        return packed

    @property
    def is_empty(self) -> bool:
        """Whether there are no bytes."""
        return not (os.path.getsize(self.name) if self.content is None else self.content)

    @cached_property
    def _stamp(self) -> tuple[int, int]:
        return file_stamp(self.name)

    @contextmanager
    def check_unchanged(self) -> Iterator[None]:
        """Check before and after reading that a file is as it was when first read.

        What a changed file may have led to is replaced by the error that says so.
        """
        if self.is_file:
            _ = self._stamp  # before reading
        try:
            yield
        finally:
            if self.is_file and file_stamp(self.name) != self._stamp:
                raise InputError(f"{self.name}: {CHANGED_MESSAGE}")

    def digest(self) -> tuple[int, str]:
        """Compute size and SHA-256."""
        import hashlib  # loads OpenSSL, which TREC text has no need of

        digest = hashlib.sha256()
        if self.content is not None:
            digest.update(self.content)
            return len(self.content), digest.hexdigest()
        with self.check_unchanged(), open(self.name, "rb") as file:
            for block in iter(lambda: file.read(_BLOCK_BYTES), b""):
                digest.update(block)
            return file.tell(), digest.hexdigest()

    def to_seekable(self) -> Any:
        """Return the path or a buffer, for a reader that needs random access."""
        import pyarrow as pa

        return self.name if self.content is None else pa.BufferReader(self.content)

    @contextmanager
    def text(self, max_line_bytes: int | None = MAX_LINE_BYTES) -> Iterator[CheckedText]:
        """Open the text, decompressed and checked, with lines of ``max_line_bytes`` at most."""
        import pyarrow as pa

        source = self.name if self.content is None else pa.py_buffer(self.content)
        with pa.input_stream(source, compression=self.compression) as stream:
            yield CheckedText(self.name, stream, max_line_bytes)

    def infer_extension(self) -> str:
        """Infer the file extension of a table from its content."""
        start = self.head
        for magic, kind in EXTENSION_BY_MAGIC.items():
            if start.startswith(magic):
                return kind
        with self.text() as text:
            line = text.read(_BLOCK_BYTES).lstrip().split(b"\n", 1)[0]
        if line.startswith(b"{"):
            return ".jsonl"
        return ".tsv" if b"\t" in line and b"," not in line else ".csv"


#: Error of a file that was written to.
CHANGED_MESSAGE = "the file changed since it was first read; expected the same rows in every pass"


def file_stamp(path: str) -> tuple[int, int]:
    """Return size and modification time of a file, by which a change of it is noticed."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return status.st_size, status.st_mtime_ns


def _is_pipe(name: str) -> bool:
    """Return whether a path is that of a pipe or a device, which can be read only once."""
    return os.path.exists(name) and not (os.path.isfile(name) or os.path.isdir(name))


@contextmanager
def _open_pipe(name: str) -> Iterator[BinaryIO]:
    try:
        with open(name, "rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from None


@contextmanager
def open_log(path: str) -> Iterator[CheckedText]:
    """Open text whose lines are read as they arrive: the standard input, a pipe, or a file."""
    if path in (STDIN, "/dev/stdin"):
        yield CheckedText("stdin", ArrivingBytes(sys.stdin.buffer), MAX_LINE_BYTES)
    elif _is_pipe(path):
        with _open_pipe(path) as stream:
            yield CheckedText(path, ArrivingBytes(stream), MAX_LINE_BYTES)
    else:
        with ByteSource(path).text() as text:
            yield text


@dataclass(frozen=True)
class ArrivingBytes:
    """Stream of which a block is what has arrived, without waiting for more."""

    stream: Any

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; none at the end."""
        block: bytes = self.stream.read1(size)
        return block


class CheckedText(io.RawIOBase):
    """Stream of UTF-8 text, read in blocks; invalid text raises an error that names the line."""

    def __init__(
        self, name: str, stream: pa.NativeFile | ArrivingBytes, longest: int | None
    ) -> None:
        super().__init__()
        self.name, self._stream, self._longest = name, stream, longest
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._tail, self._line, self._has_begun = b"", 1, False
        self._line_bytes = 0  # of the line, so far

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read the next ``size`` bytes, without a byte order mark; fewer if the text ends."""
        blocks, remaining = [], sys.maxsize if size < 0 else size
        # Errors are raised before the whole text is in memory.
        while remaining and (block := self._next(min(remaining, _BLOCK_BYTES))):
            blocks.append(block)
            remaining -= len(block)
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def _next(self, size: int) -> bytes:
        block: bytes = self._stream.read(size)
        # A pipe may give part of a byte order mark, or no more than the mark.
        while not self._has_begun and block and any(mark.startswith(block) for mark in _MARKS):
            next_block = self._stream.read(max(size - len(block), 1))
            if not next_block:
                break
            block += next_block
        first, self._has_begun = not self._has_begun, True
        for mark, name in _ENCODING_BY_MARK.items() if first else ():
            if block.startswith(mark):
                raise InputError(f"{self.name}: is {name}, expected UTF-8")
        self._check(block)
        return block.removeprefix(codecs.BOM_UTF8) if first else block

    def _check(self, block: bytes) -> None:
        nul = block.find(b"\0")
        if block and nul < 0 and block.isascii() and not self._decoder.getstate()[0]:
            self._advance(block)
            return
        text = block if nul < 0 else block[:nul]
        try:
            self._decoder.decode(text, final=not block)
        except UnicodeDecodeError as error:
            data, offset = error.object, error.start
            n_buffered = len(data) - len(
                text
            )  # bytes of the block before, the first of a character
            ahead = self._tail[: len(self._tail) - n_buffered] + data[:offset]
            line = self._line + data[n_buffered:offset].count(b"\n")
            context = ahead.rsplit(b"\n", 1)[-1][-20:].decode("utf-8", "ignore")
            behind = f" after {context!r}" if context else ""
            raise InputError(
                f"{self.name}:{line}: the byte 0x{data[offset]:02x}{behind} is not UTF-8; save the "
                "file as UTF-8"
            ) from None
        if nul >= 0:
            line = self._line + text.count(b"\n")
            raise InputError(f"{self.name}:{line}: holds a NUL byte, expected text in UTF-8")
        self._advance(block)

    def _advance(self, block: bytes) -> None:
        self._measure(block)
        self._line += block.count(b"\n")
        self._tail = block[-64:] if len(block) >= 64 else (self._tail + block)[-64:]

    def _measure(self, block: bytes) -> None:
        """Check that no line is too long; all but the last begin or end in the block."""
        if self._longest is None:
            return
        end = b"\n" if b"\n" in block else b"\r"
        first, last = block.find(end), block.rfind(end)
        self._line_bytes += len(block) if first < 0 else first
        if self._line_bytes > self._longest:
            raise InputError(
                f"{self.name}:{self._line}: the line is longer than {self._longest >> 20} MiB, the "
                "most that a line may have"
            )
        if first >= 0:
            self._line_bytes = len(block) - last - 1

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line with its number, counted from 1."""
        for block in self.line_blocks():
            yield from block

    def line_blocks(self) -> Iterator[list[tuple[int, bytes]]]:
        """Yield lines with their numbers: those of each block that is read, once they end."""
        pieces: list[bytes] = []  # of a line that has not ended
        number = 1
        while block := self._next(_BLOCK_BYTES):
            pieces.append(block)
            if b"\n" in block:
                *lines, partial_line = b"".join(pieces).split(b"\n")
                yield list(enumerate(lines, number))
                pieces, number = [partial_line], number + len(lines)
        if last_line := b"".join(pieces):
            yield [(number, last_line)]


#: Number of lists and objects within each other that a value of JSON may have.
MAX_JSON_DEPTH = 100

#: A line that is null, and the beginning of a line that may be null.
_NULL = re.compile(rb"\n[ \t\r]*null")
_MAYBE_NULL = re.compile(rb"\n[ \t\r]*(n|nu|nul)?\Z")


class JsonLines(io.RawIOBase):
    """Stream of JSON Lines for Arrow in which no line is null and no value nests too deep.

    Arrow would abort the whole process on a block that begins with null, and overflow its stack on
    thousands of lists within each other.
    """

    def __init__(self, name: str, stream: Any) -> None:
        super().__init__()
        self._name, self._stream = name, stream
        self._line, self._partial_line = 1, b"\n"  # the beginning of a line that may be null
        self._position = (0, False, False)  # within the line: depth, in a string, after a backslash

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes, and check that no line is null or nests too deep."""
        block: bytes = self._stream.read(size)
        excess, self._position = json_depth_excess(block, self._position, MAX_JSON_DEPTH)
        if excess is not None:
            line = self._line + block[:excess].count(b"\n")
            raise InputError(
                f"{self._name}:{line}: a value nests more than {MAX_JSON_DEPTH} levels deep"
            )
        text = self._partial_line + block
        match = _NULL.search(text)
        if match is not None:
            line = self._line + text.count(b"\n", len(self._partial_line), match.start() + 1)
            raise InputError(f"{self._name}:{line}: expected a JSON object, is null")
        self._line += block.count(b"\n")
        maybe = _MAYBE_NULL.match(text, max(text.rfind(b"\n"), 0))
        self._partial_line = b"" if maybe is None else b"\n" + (maybe[1] or b"")
        return block
