"""Tables that are read in batches, as often as asked: files larger than memory, and pipes."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from calipers.data import tables
from calipers.data.errors import InputError, did_you_mean, shown
from calipers.data.memory import free_memory
from calipers.data.parts import (
    DatasetPart,
    FeatherPart,
    ParquetPart,
    Part,
    Partition,
    ReaderPart,
    TablePart,
)
from calipers.data.schemas import Conformed, common_schema, partitions
from calipers.data.sources import STDIN
from calipers.data.text_parts import Pipe, TextFile

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch: few enough to stay near the processor, many enough to cost nothing each.
ROWS = 1 << 18

#: How messages tell a row.
_ROW = re.compile(r"(?<=\brow )\d+")

T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    """Some rows of a stream.

    Attributes
    ----------
    columns
        The columns asked for, each as one array.
    first
        The number of the first row in the whole, from 0.
    where
        What messages call the origin: the file, or the first and the last of several.
    """

    columns: dict[str, pa.Array]
    first: int
    where: str

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(next(iter(self.columns.values())))

    def told(self, error: InputError) -> InputError:
        """What is wrong with its rows, which are told by their number in the whole."""
        told = _ROW.sub(lambda found: str(int(found[0]) + self.first), str(error))
        return InputError(f"{self.where}: {told}")


class Stream:
    """A table that is read in batches, as often as asked; a pipe once.

    The order of the rows is that of the files, and in each of them as they stand there; types are
    the same in all batches. Neither depends on the number of threads.

    Attributes
    ----------
    names
        The columns there are.
    rows
        How many rows there are, where metadata tell (Parquet, Feather, memory).
    again
        Whether the rows can be read more than once.
    name
        What messages and provenance call it.
    files
        The files, in order.
    stamps
        What tells their rows from those of other files: place, size and time of each.
    csv
        Whether some of it is CSV, in which an empty field may be empty text.
    """

    def __init__(self, parts: Sequence[Part], name: str) -> None:
        self._parts, self.name = tuple(parts), name
        for part in parts:
            with tables.read_errors(part.name, "a table"):  # names that are no text
                tables.check_names(part.name, part.schema.names)
        self.schema = common_schema(self._parts)
        self.names: tuple[str, ...] = tuple(self.schema.names)
        counts = [part.rows for part in parts if part.rows is not None]
        self.rows: int | None = sum(counts) if len(counts) == len(parts) else None
        self.again = all(part.again for part in parts)
        self.files: tuple[str, ...] = tuple(path for part in parts for path in part.files)
        self.stamps = tuple(part.stamp for part in parts if part.stamp)
        self.csv = any(part.csv for part in parts)
        self._begun = False
        if self.rows == 0:
            raise InputError(f"{name}: the table has no rows")

    @classmethod
    def of(cls, given: Any, *, text: Collection[str] = ()) -> Stream:
        """A stream of what a path, a dataset or a table holds.

        Parameters
        ----------
        given
            The path of a file; one with ``*``; a directory, whose subdirectories may be partitions
            (``year=2024``); a list of those; ``"-"`` (the standard input), a named pipe or a binary
            stream, of CSV, JSON Lines or Arrow IPC; a dataset, a table or a reader of batches of
            Arrow; or a data frame. Files of a directory come sorted by their paths.
        text
            Columns of CSV and JSON Lines that are read as text, whatever they look like.

        Raises
        ------
        InputError
            When there is no such file, it is corrupt, or files do not fit together.

        Examples
        --------
        >>> import pyarrow as pa
        >>> stream = Stream.of(pa.table({"truth": [1, 0, 1], "score": [0.9, 0.4, 0.6]}))
        >>> stream.names, stream.rows
        (('truth', 'score'), 3)
        >>> [batch.columns["score"].to_pylist() for batch in stream.batches(["score"], rows=2)]
        [[0.9, 0.4], [0.6]]
        """
        if isinstance(given, Stream):
            return given
        if _is_path(given):
            parts = _found(os.fspath(given), text)
            return cls(parts, parts[0].name if given == STDIN else os.fspath(given))
        if isinstance(given, list | tuple) and given and all(map(_is_path, given)):
            return cls(_listed(list(map(os.fspath, given)), text), _name(given))
        part = _other(given, text)
        return cls([part], part.name)

    def batches(self, columns: Sequence[str], rows: int = ROWS) -> Iterator[Batch]:
        """The rows in order, ``rows`` at a time and the rest at the end.

        One batch is read ahead in a thread, which ends when the iterator is closed or fails.

        Parameters
        ----------
        columns
            At least one of ``names``; no others are read.
        rows
            How many to a batch.

        Raises
        ------
        InputError
            When there is no such column or no row, a file is corrupt or has changed since it was
            first looked at, a value is not of the type of its column, or a pipe is read again.
        """
        if rows < 1 or not columns:
            raise ValueError("expected at least one column, and at least one row to a batch")
        schema = self._wanted(columns)
        if not self.again and self._begun:
            raise InputError(
                f"{self.name}: can be read only once, and has been; what needs a second look at "
                "the rows needs them in a file"
            )
        self._begun = True
        return _ahead(self._read(schema, rows), self._stop)

    def size(self, columns: Sequence[str]) -> int:
        """About how many bytes columns take in memory, by metadata and the sizes of files; 0 of
        what nothing is known of."""
        names = self._wanted(columns).names
        return sum(part.size(names) for part in self._parts)

    def _wanted(self, columns: Sequence[str]) -> pa.Schema:
        import pyarrow as pa

        for name in columns:
            if name not in self.names:
                raise InputError(
                    f"{self.name}: no column {name!r}; {did_you_mean(name, self.names)}"
                )
            having = [part for part in self._parts if name in part.schema.names]
            for part in self._parts:
                if part not in having:
                    raise InputError(f"{part.name}: no column {name!r}, which {having[0].name} has")
        return pa.schema([self.schema.field(name) for name in dict.fromkeys(columns)])

    def _stop(self) -> None:
        for part in self._parts:
            part.stop()

    def _read(self, schema: pa.Schema, rows: int) -> Generator[Batch]:
        """Batches of exactly so many rows, but for the last."""
        held: list[tuple[str, list[pa.Array]]] = []
        first = count = 0
        for where, arrays in self._conformed(schema, rows):
            start, length = 0, len(arrays[0])
            while start < length:
                taken = min(rows - count, length - start)
                held.append((where, [array.slice(start, taken) for array in arrays]))
                start, count = start + taken, count + taken
                if count == rows:
                    yield _joined(schema.names, held, first)
                    first, count, held = first + count, 0, []
        if held:
            yield _joined(schema.names, held, first)
        elif first == 0:
            raise InputError(f"{self.name}: the table has no rows")

    def _conformed(self, schema: pa.Schema, rows: int) -> Iterator[tuple[str, list[pa.Array]]]:
        conformed = Conformed(schema)
        for part in self._parts:
            with tables.read_errors(part.name, "a table"):
                part.check_unchanged()
                for where, batch in part.batches(schema, rows):
                    if batch.num_rows:
                        yield where, conformed(batch, where)
                part.check_unchanged()


def _joined(
    names: Sequence[str], held: Sequence[tuple[str, Sequence[pa.Array]]], first: int
) -> Batch:
    import pyarrow as pa

    begin, end = held[0][0], held[-1][0]
    columns = zip(*(arrays for _, arrays in held), strict=True)
    return Batch(
        {
            name: arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
            for name, arrays in zip(names, columns, strict=True)
        },
        first,
        begin if begin == end else f"{begin} to {end}",
    )


def _ahead(made: Generator[T], stop: Callable[[], None]) -> Iterator[T]:
    """What is made, of which the next one is in the making while one is looked at.

    Whoever waits does so in Python, where an interrupt reaches them.
    """
    with ThreadPoolExecutor(1, "calipers-read") as pool:
        try:
            coming = pool.submit(next, made, None)
            while (item := coming.result()) is not None:
                coming = pool.submit(next, made, None)
                yield item
                del item
        except BaseException:
            stop()
            raise
        finally:
            pool.shutdown()
            made.close()


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)


def _name(paths: Sequence[Any]) -> str:
    first = os.fspath(paths[0])
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"


def _other(given: Any, text: Collection[str]) -> Part:
    """What is no path."""
    import pyarrow as pa
    from pyarrow import dataset

    if isinstance(given, dataset.Dataset):
        return DatasetPart(given)
    if isinstance(given, pa.RecordBatchReader):
        return ReaderPart(given, "the batches")
    if hasattr(given, "read"):
        return _piped(given, text)
    try:
        return TablePart(tables.as_arrow(given), "the table")
    except InputError as error:
        if "is no source of judgments" not in str(error):
            raise
        raise InputError(
            f"{shown(given)} is no table; expected the path of a file or a directory, a list of "
            "paths, a stream of bytes, or a table, dataset or data frame"
        ) from None


def _piped(given: Any, text: Collection[str]) -> Part:
    name = given if isinstance(given, str) else "the stream"
    with tables.read_errors(name, "a table"):
        return Pipe(given, text)


def _listed(paths: Sequence[str], text: Collection[str]) -> list[Part]:
    parts = [part for path in paths for part in _found(path, text)]
    seen: set[str] = set()
    for path in (path for part in parts for path in part.files):
        if (same := os.path.realpath(path)) in seen:
            raise InputError(f"{path}: the file is there more than once")
        seen.add(same)
    return parts


def _found(path: str, text: Collection[str]) -> list[Part]:
    """What stands under a path."""
    if path == STDIN:
        return [_piped(path, text)]
    if "*" in path and not os.path.exists(path):
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise InputError(f"{path}: no file is called so")
        return _listed(found, text)
    if path and os.path.isdir(path):
        return _in_directory(path, text)
    tables.check_file(path, f"a table: {tables.formats_text()}")
    if not stat.S_ISREG(os.stat(path).st_mode):
        return [_piped(path, text)]
    return [_file(path, text)]


def _file(path: str, text: Collection[str]) -> Part:
    kind, packed = tables.extension(path)
    found = tables.TABLE_FORMATS.get(kind)
    if found is None or (packed and not found.is_text):
        raise InputError(f"{path}: unknown kind of table; expected {tables.formats_text()}")
    with tables.read_errors(path, "a table"):
        if os.path.getsize(path) == 0:
            raise InputError(f"{path}: the file is empty")
        if kind in tables.TEXTS:
            return TextFile(path, kind, text)
        if kind not in tables.BINARIES:
            return TablePart(tables.read_table(path, text=text), path)
        return (ParquetPart if tables.BINARIES[kind] == "parquet" else FeatherPart)(path)


def _in_directory(folder: str, text: Collection[str]) -> list[Part]:
    found = tables.in_folder(folder)
    if not found:
        raise InputError(
            f"{folder}: there is no table in the directory; expected {tables.formats_text()}"
        )
    keys = partitions(folder, found)
    return [
        Partition(_file(path, text), key) if key else _file(path, text)
        for path, key in zip(found, keys, strict=True)
    ]


_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_BYTES = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)


def budget(given: int | str | None) -> int:
    """How many bytes may be taken.

    Parameters
    ----------
    given
        A number of bytes, as such or as text: ``"2 GB"``, ``"512MiB"``, ``"1.5g"``. K, M, G and T
        are powers of 1000, and KiB, MiB, GiB and TiB of 1024. None is half of the memory that is
        free.

    Raises
    ------
    InputError
        When it is no such number, or below 1.

    Examples
    --------
    >>> budget("1.5g"), budget("512 MiB")
    (1500000000, 536870912)
    """
    if given is None:
        return free_memory() // 2
    size = 0
    if isinstance(given, str) and (found := _BYTES.fullmatch(given)):
        number, unit, binary = found.groups("")
        size = int(float(number) * (1024 if binary else 1000) ** _UNITS[unit.lower()])
    elif isinstance(given, int) and not isinstance(given, bool):
        size = given
    if size < 1:
        raise InputError(
            f"memory is {shown(given)}, expected a number of bytes such as 2 GB, 512MiB or 1.5g"
        )
    return size


def is_large(given: Any, columns: Sequence[str], budget: int) -> bool:
    """Whether columns of files would take more than so many bytes of memory.

    That is told without reading them: by the metadata of Parquet and Feather, and else by the size
    of the file, of which the whole is read. False for what is in memory, and for pipes, whose size
    nobody knows.

    Raises
    ------
    InputError
        When there is no such file or column.
    """
    paths = given if isinstance(given, list | tuple) else [given]
    if not isinstance(given, Stream) and not (paths and all(map(_is_file, paths))):
        return False
    return Stream.of(given).size(columns) > budget


def _is_file(given: Any) -> bool:
    """Whether it is a path of files, and not of a pipe."""
    if not _is_path(given) or os.fspath(given) == STDIN:
        return False
    path = os.fspath(given)
    return os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)
