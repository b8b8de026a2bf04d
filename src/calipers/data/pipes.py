"""Judgments and runs from pipes and the standard input, whose first bytes say what they hold.

TREC text goes on to the core, which is given these bytes back; all else is copied to a temporary
file and read as that, so that memory holds no more of it than of a file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from calipers.data.errors import InputError
from calipers.data.plain import content_line, layout_of, names_columns
from calipers.data.sources import PACKED, STDIN, TABLES
from calipers.data.trec_tables import Kind

#: So many bytes are looked at, at most.
_HEAD = 1 << 16


class Begun(str):
    """The path of a pipe that was looked into: what it begins with, what of that was taken out of
    it, and the open pipe, where the core goes on."""

    head: bytes
    begun: bytes
    file: int

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.file)


def begin(path: str) -> str:
    """The path of a pipe or of the standard input with what it begins with; any other path, and
    what cannot be read, as it is."""
    if isinstance(path, Begun) or not _is_pipe(path):
        return path
    made = Begun(path)
    try:
        made.file = os.dup(0) if path == STDIN else os.open(path, os.O_RDONLY)
        made.head = made.begun = _head(made.file)
        if stat.S_ISREG(os.fstat(made.file).st_mode):  # behind the standard input
            os.lseek(made.file, -len(made.head), os.SEEK_CUR)
            made.begun = b""
    except OSError:  # others tell
        return path
    return made


def _is_pipe(path: str) -> bool:
    if path == STDIN:
        return True
    with suppress(OSError, ValueError):
        mode = os.stat(path).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def _head(file: int) -> bytes:
    """The first bytes, with the first line that holds something."""
    head = b""
    while len(head) < _HEAD and b"\0" not in head:
        block = os.read(file, _HEAD - len(head))
        head += block
        if not block or content_line(head + b"\n") != content_line(head):
            break
    return head


def _text(head: bytes) -> bytes:
    """What the first bytes say, unpacked as far as they go."""
    packed = next((name for magic, name in PACKED.items() if head.startswith(magic)), None)
    if packed == "gzip":
        with suppress(zlib.error):
            return zlib.decompressobj(31).decompress(head)
    elif packed is not None:
        import pyarrow as pa

        with suppress(OSError), pa.CompressedInputStream(pa.BufferReader(head), packed) as stream:
            return bytes(stream.read(1 << 12))
    return head


def _extension(head: bytes, kind: Kind, path: str) -> str | None:
    """That of a file that holds this; None of TREC text."""
    for magic, suffix in TABLES.items():
        if head.startswith(magic):
            return suffix
    text = _text(head)
    line = content_line(text).decode("utf-8", "replace").strip()
    if line.startswith(("{", "[")):
        with suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict) and not all(isinstance(x, dict) for x in row.values()):
                return ".jsonl"
        return ".json"
    if names_columns(re.split(r"[,\t]", line)):
        return ".tsv" if "\t" in line else ".csv"
    fields = line.split()
    return "" if names_columns(fields) or layout_of(path, kind, fields) else None


@contextmanager
def settled(path: str, kind: Kind) -> Iterator[str]:
    """Where to read what a path stands for: of a pipe that holds no TREC text a temporary file,
    which errors call as the pipe."""
    path = begin(path)
    shown = "<stdin>" if path == STDIN else str(path)
    suffix = _extension(path.head, kind, shown) if isinstance(path, Begun) else None
    if suffix is None:
        yield path
        return
    assert isinstance(path, Begun)
    with tempfile.TemporaryDirectory(prefix="calipers-") as folder:
        copy = os.path.join(folder, "input" + suffix)
        with open(copy, "wb") as out, open(path.file, "rb", closefd=False) as rest:
            out.write(path.begun)
            shutil.copyfileobj(rest, out)
        try:
            yield copy
        except InputError as error:
            raise InputError(str(error).replace(copy, shown)) from None
