"""Tables as Arrow tables: CSV, Parquet, Feather, JSON and JSON Lines files, and data frames."""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from calipers.data.arrays import is_missing
from calipers.data.arrow_types import to_plain_table
from calipers.data.byte_sources import ByteSource, JsonLines
from calipers.data.categories import (
    Category,
    CategorySelector,
    PaddedNumbers,
    columns_of_text,
    distinct_texts,
    encode_texts,
    has_forms,
    to_values,
    written_forms,
)
from calipers.data.errors import FileError, InputError, did_you_mean, format_value
from calipers.lazy_dataclasses import dataclass
from calipers.plugins import Registry

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv

#: Extensions of tables, as text for messages.
FORMATS_TEXT = (
    ".csv, .tsv, .parquet, .feather, .arrow, .jsonl or .ndjson "
    "(.csv and .jsonl also as .gz or .zst)"
)

#: Extensions of compressed files.
COMPRESSION_BY_EXTENSION = {".gz": "gzip", ".zst": "zstd"}

#: Format of each extension; those of text may have one of ``COMPRESSION_BY_EXTENSION`` behind them.
TEXT_FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
BINARY_FORMATS = {
    ".parquet": "parquet",
    ".parq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}


@dataclass(frozen=True)
class TableFormat:
    """Format of tables.

    Attributes
    ----------
    read : callable
        Function that reads a table. It takes the source and the names of the columns that are text
        whatever they look like, and returns an Arrow table or anything that can be converted to
        one: a data frame, a dict of columns.
    is_text : bool, default=False
        Whether a file of the format may be compressed.
    """

    read: Callable[[ByteSource, Collection[str]], Any]
    is_text: bool = False


#: The formats of tables by extension, Calipers' own and those of plug-ins.
TABLE_FORMATS: Registry[TableFormat] = Registry(
    "format of tables", "calipers.formats", ("calipers.data.tables",)
)


def register_format(
    *extensions: str,
    read: Callable[[ByteSource, Collection[str]], Any],
    is_text: bool = False,
    replace: bool = False,
) -> None:
    """Register a format of tables by the extensions of its files.

    These files are then read wherever tables are, in Python and on the command line.

    Parameters
    ----------
    *extensions : str
        Extensions such as ``".xyz"``, in lower case.
    read : callable
        Function that reads a table. It takes the source (``source.name`` is the path of a file)
        and the names of columns that are text whatever they look like, and returns an Arrow table,
        a data frame or a dict of columns.
    is_text : bool, default=False
        Whether a file may be compressed, as ``.xyz.gz``; ``source.text()`` decompresses it.
    replace : bool, default=False
        Whether to replace a format that was registered before from outside Calipers.

    Raises
    ------
    NameTakenError
        If an extension belongs to another format.
    ValueError
        If an extension is not of the form ``".xyz"``.

    Examples
    --------
    >>> from calipers.data.tables import register_format
    >>> register_format(".csv", read=lambda source, text: {})
    Traceback (most recent call last):
        ...
    calipers.plugins.NameTakenError: the format of tables '.csv' is taken by Calipers
    """
    for extension in extensions:
        if not re.fullmatch(r"\.[a-z0-9_-]+", extension) or extension in COMPRESSION_BY_EXTENSION:
            raise ValueError(
                f"{extension!r} is not an extension of a format; expected one like '.xyz'"
            )
    for extension in extensions:
        TABLE_FORMATS.register(extension, TableFormat(read, is_text), replace=replace)


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the extension of a table."""
    return file_extension(path)[0] in TABLE_FORMATS


def formats_text() -> str:
    """Return the extensions of tables as text for messages."""
    further = [
        extension
        for extension in TABLE_FORMATS
        if extension not in TEXT_FORMATS and extension not in BINARY_FORMATS
    ]
    return ", ".join([FORMATS_TEXT, *further])


def file_extension(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the extensions of a file and of its compression in lower case: ``(".csv", ".gz")``."""
    stem, suffix = os.path.splitext(os.fspath(path).lower())
    return (
        (os.path.splitext(stem)[1], suffix) if suffix in COMPRESSION_BY_EXTENSION else (suffix, "")
    )


def read_table(
    source: ByteSource | str | os.PathLike[str] | BinaryIO,
    *,
    text: Collection[str] = (),
    select_columns: Callable[[Sequence[str]], Sequence[str]] | None = None,
    categories: CategorySelector | None = None,
) -> pa.Table:
    """Read the table in a file, a pipe, the standard input (``"-"``) or a binary stream.

    The format of a file is determined by its extension, that of any other source by its first
    bytes. Columns of CSV named in ``text`` are read as text, whatever they look like; those that
    ``categories`` selects are numbers only if no text is lost. ``select_columns`` returns the names
    of the columns to read, given those of all. Every value is validated before it is used.

    Raises
    ------
    InputError
        If the file does not exist, is corrupt, or has no rows.
    """
    byte_source = ByteSource.from_input(source)
    if byte_source.is_file:
        check_file(byte_source.name, lambda: f"a table: {formats_text()}")
    with read_errors(byte_source.name, "a table"), byte_source.check_unchanged():
        if byte_source.is_empty:
            raise InputError(f"{byte_source.name}: the {byte_source.kind} is empty")
        table = _read_source(byte_source, text, select_columns or (lambda names: names), categories)
        table.validate(full=True)
    if table.num_rows == 0:
        raise InputError(f"{byte_source.name}: the table has no rows")
    _release_memory(table.nbytes)
    return table


#: Size of a table below which the memory that reading took is retained for the next one.
_MIN_RELEASED_BYTES = 1 << 24


def _release_memory(size: int) -> None:
    """Release the memory that was used to decompress and decode a table of ``size`` bytes.

    Arrow would keep it, which can be more than the table itself takes.
    """
    if size >= _MIN_RELEASED_BYTES:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()


def check_file(name: str, expected: str | Callable[[], str]) -> None:
    """Check that a file exists, as far as permissions allow.

    ``expected`` is what it should be, or a function that returns it: a list of formats asks
    plug-ins, which are not imported for files that they do not read.
    """

    def expectation() -> str:
        return expected if isinstance(expected, str) else expected()

    if not name:
        raise InputError(f"the name of a file is empty, expected {expectation()}")
    try:
        status = os.stat(name)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except ValueError:  # a NUL, or half a character
        raise InputError(f"{name!a}: is not a valid name of a file") from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{name}: is a directory, expected {expectation()}")


@contextmanager
def read_errors(name: str, expected: str) -> Iterator[None]:
    """Name the file in the error of a library that cannot read it."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, MemoryError) and not _is_corrupt_size(error):
            raise
        # Arrow raises an OSError of its own if there is no memory for a thread.
        is_without_thread = "Failed to launch worker thread" in str(error)
        if is_without_thread or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            raise MemoryError from error
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{name}: cannot be read as {expected}: {first}") from None


def _is_corrupt_size(error: MemoryError) -> bool:
    """Return whether a requested allocation is so large that only a corrupt file can specify it."""
    match = re.search(r"of size (\d+)", str(error))
    return match is not None and int(match[1]) >= 1 << 36


def _read_source(
    source: ByteSource,
    text: Collection[str],
    select_columns: Callable[[Sequence[str]], Sequence[str]],
    categories: CategorySelector | None,
) -> pa.Table:
    name = source.name
    kind, compression = file_extension(name)
    if not source.is_file and kind not in TABLE_FORMATS:
        kind, compression = source.infer_extension(), ""
    table_format = TABLE_FORMATS.get(kind)
    if table_format is None or (compression and not table_format.is_text):
        raise InputError(f"{name}: unknown kind of table; expected {formats_text()}")
    if BINARY_FORMATS.get(kind) == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(source.to_seekable(), page_checksum_verification=True) as file:
            names = file.schema_arrow.names
            check_names(name, names)
            return to_plain_table(file.read(columns=list(select_columns(names))))
    if isinstance(table_format.read, DelimitedText):
        table = table_format.read(source, text, categories)
    else:
        table = to_arrow(table_format.read(source, text))
    check_names(name, table.column_names)
    return table.select(select_columns(table.column_names))


def _read_parquet(source: ByteSource, text: Collection[str]) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(source.to_seekable())


def _read_feather(source: ByteSource, text: Collection[str]) -> pa.Table:
    from pyarrow import feather

    check_feather(source)
    return feather.read_table(source.to_seekable())


def check_feather(source: ByteSource) -> None:
    """Check that a file is Feather of a supported version."""
    if source.head.startswith(b"FEA1"):
        # Nothing in it can be checked, and a corrupt one ends the interpreter.
        raise InputError(
            f"{source.name}: is Feather of version 1, which is no longer read; write it again with "
            "pyarrow.feather.write_feather, or as Parquet"
        )


#: A row has to fit into a block. Blocks are small, so that several are read at once; where a row
#: is longer, the largest that Arrow takes does.
_BLOCK_SIZES = (1 << 20, (1 << 31) - 1)


def csv_options(
    delimiter: str, types: Mapping[str, pa.DataType], columns: Sequence[str] = ()
) -> tuple[csv.ParseOptions, csv.ConvertOptions]:
    """Return Arrow's options for reading CSV, with the types of some columns.

    All columns are read if ``columns`` is empty.
    """
    from pyarrow import csv

    return csv.ParseOptions(delimiter=delimiter, newlines_in_values=True), csv.ConvertOptions(
        # Only an empty field is a missing value: NA may be a class, and nan a bad score.
        null_values=[""],
        strings_can_be_null=True,
        column_types=dict(types),
        include_columns=list(columns),
    )


#: Bytes of text that show the columns of categories, and how many distinct values they have.
_START = 1 << 16
#: With more distinct values among the first rows, text is not encoded while it is read.
_MOST_ENCODED = 1000


@dataclass(frozen=True)
class DelimitedText:
    """Reader of CSV with a delimiter."""

    delimiter: str

    def __call__(
        self,
        source: ByteSource,
        text: Collection[str],
        categories: CategorySelector | None = None,
    ) -> pa.Table:
        """Read a table; columns named in ``text`` are text."""
        import pyarrow as pa

        types = dict.fromkeys(text, pa.string())
        start = None if categories is None else self._read_start(source, types)
        if categories is None or start is None:
            return self._read(source, types)
        selected = {
            name: category
            for name, category in categories(start.column_names).items()
            if name not in types
        }
        return self._read_categories(source, types, selected, start)

    def _read(
        self,
        source: ByteSource,
        types: Mapping[str, pa.DataType],
        columns: Sequence[str] = (),
        wrap: Callable[[Any], Any] = lambda stream: stream,
    ) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv

        parsing, converting = csv_options(self.delimiter, types, columns)

        def read(block: int) -> pa.Table:
            # Only on one thread does an error have the number of its row.
            reading = csv.ReadOptions(block_size=block, use_threads=block == _BLOCK_SIZES[0])
            with source.text() as stream:
                return csv.read_csv(
                    pa.PythonFile(wrap(stream), "r"),
                    read_options=reading,
                    parse_options=parsing,
                    convert_options=converting,
                )

        return _read_blocks(read)

    def _read_start(self, source: ByteSource, types: Mapping[str, pa.DataType]) -> pa.Table | None:
        """Read the first rows; None if the text is not CSV, which is reported when it is read."""
        import pyarrow as pa
        from pyarrow import csv

        parsing, converting = csv_options(self.delimiter, types)
        for size in (_START, *_BLOCK_SIZES):
            with source.text() as stream:
                # One byte more shows that the block is not the last.
                start = stream.read(size + 1)
            reading = csv.ReadOptions(block_size=size, use_threads=False)
            try:
                reader = csv.open_csv(pa.BufferReader(start), reading, parsing, converting)
                return pa.Table.from_batches([reader.read_next_batch()])
            except StopIteration:
                return reader.schema.empty_table()
            except pa.ArrowInvalid:
                if len(start) <= size:
                    return None
        return None

    def _read_categories(
        self,
        source: ByteSource,
        types: Mapping[str, pa.DataType],
        categories: Mapping[str, Category],
        start: pa.Table,
    ) -> pa.Table:
        """Read a table in which columns of categories are numbers only if no text is lost."""
        import pyarrow as pa

        encoded_text = pa.dictionary(pa.int32(), pa.string())
        type_by_column = {name: start.schema.field(name).type for name in categories}
        # Whole numbers are read as such, which is fast, unless one may have leading zeros.
        is_whole = {name: pa.types.is_integer(kind) for name, kind in type_by_column.items()}
        as_text = {
            name: encoded_text if len(start[name].unique()) <= _MOST_ENCODED else pa.string()
            for name, kind in type_by_column.items()
            if has_forms(kind) and not is_whole[name]
        }
        scanners: list[PaddedNumbers] = []

        def wrap(stream: Any) -> Any:
            scanners.append(PaddedNumbers(stream))
            return scanners[-1]

        # A column that begins without values may have numbers later.
        has_whole = any(is_whole.values()) or any(map(pa.types.is_null, type_by_column.values()))
        table = self._read(source, {**types, **as_text}, (), *([wrap] if has_whole else []))
        is_lossless = has_whole and not scanners[-1].has_padded
        text_by_column = {name: encode_texts(table[name]) for name in as_text}
        doubtful = [
            name
            for name in categories
            if name not in text_by_column
            and has_forms(kind := table.schema.field(name).type)
            and not (is_lossless and pa.types.is_integer(kind))
        ]
        text_by_column |= self._read_texts(source, doubtful)
        parsed = {
            name: to_values(column, parse_distinct) for name, column in text_by_column.items()
        }
        forms = {
            name: (
                column.type,
                written_forms(distinct_texts(text_by_column[name]), column.type, categories[name]),
            )
            for name, column in parsed.items()
        }
        integer_columns = {
            name: (kind, None)
            for name in categories
            if name not in forms and has_forms(kind := table.schema.field(name).type)
        }
        text_columns = columns_of_text({**integer_columns, **forms}, categories)
        text_by_column |= self._read_texts(
            source, [name for name in integer_columns if name in text_columns]
        )
        for name in {**text_by_column, **parsed}:
            column = (
                text_by_column[name].cast(pa.string()) if name in text_columns else parsed[name]
            )
            table = table.set_column(table.column_names.index(name), name, column)
        return table

    def _read_texts(self, source: ByteSource, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Read some columns as text, encoded."""
        import pyarrow as pa

        if not columns:
            return {}
        table = self._read(source, dict.fromkeys(columns, pa.string()), columns)
        return {name: encode_texts(table[name]) for name in columns}


def parse_distinct(strings: pa.Array, kind: pa.DataType | None = None) -> pa.Array:
    """Convert texts to values as a column of CSV, of the given type or of the one they have."""
    import pyarrow as pa
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(pa.table({"text": strings}), sink)
    content = sink.getvalue()
    parsing, converting = csv_options(",", {} if kind is None else {"text": kind})
    table = csv.read_csv(
        pa.BufferReader(content),
        read_options=csv.ReadOptions(block_size=max(content.size, 1), use_threads=False),
        parse_options=parsing,
        convert_options=converting,
    )
    return combine_chunks(table.column(0))


def _read_blocks(read: Callable[[int], pa.Table]) -> pa.Table:
    """Read in small blocks, or else in a single block."""
    import pyarrow as pa

    try:
        return read(_BLOCK_SIZES[0])
    except pa.ArrowInvalid:
        return read(_BLOCK_SIZES[1])


def _read_json_lines(source: ByteSource, text: Collection[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    def read(text_columns: Sequence[str], block: int) -> pa.Table:
        schema = pa.schema([(column, pa.string()) for column in text_columns])
        with source.text() as stream:
            return arrow_json.read_json(
                pa.PythonFile(JsonLines(source.name, stream), "r"),
                read_options=arrow_json.ReadOptions(block_size=block),
                parse_options=arrow_json.ParseOptions(explicit_schema=schema),
            )

    try:
        table = _read_blocks(lambda block: read([], block))
        # Arrow infers dates from text, which is text nevertheless.
        dates = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
        return _read_blocks(lambda block: read(dates, block)) if dates else table
    except pa.ArrowInvalid:
        check_json_lines(source)
        raise


#: Names of the kinds of JSON values in messages.
_KIND_BY_TYPE = {
    str: "text",
    bool: "Boolean",
    int: "number",
    float: "number",
    list: "list",
    dict: "object",
}


def check_json_lines(source: ByteSource) -> None:
    """Raise an error that names the first line that is not an object like those before it."""
    kind_by_field: dict[str, tuple[str, int]] = {}
    with source.text() as stream:
        for number, line in stream.lines():
            if not line.strip():
                continue
            location = f"{source.name}:{number}"
            try:
                row = json.loads(line, object_pairs_hook=check_unique_keys)
            except (ValueError, RecursionError) as error:
                reason = getattr(error, "msg", error)
                raise InputError(f"{location}: expected a JSON object: {reason}") from None
            if not isinstance(row, dict):
                raise InputError(
                    f"{location}: expected a JSON object, is {_KIND_BY_TYPE.get(type(row), row)}"
                )
            for name, value in row.items():
                if value is None:
                    continue
                kind = _KIND_BY_TYPE[type(value)]
                earlier_kind, first = kind_by_field.setdefault(name, (kind, number))
                if earlier_kind != kind:
                    raise InputError(
                        f"{location}: {name!r} is {_add_article(kind)}, and "
                        f"{_add_article(earlier_kind)} "
                        f"in line {first}; expected values of one kind"
                    )


def _add_article(kind: str) -> str:
    return kind if kind == "text" else f"{'an' if kind == 'object' else 'a'} {kind}"


def check_names(input_name: str, names: Sequence[str]) -> None:
    """Check that names of columns are unique."""
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"{input_name}: column {min(repeated)!r} appears more than once")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file; a duplicate key in an object is an error."""
    name = os.fspath(path)
    check_file(name, "a JSON file")
    with read_errors(name, "JSON"), ByteSource.from_input(name).text(max_line_bytes=None) as stream:
        try:
            return json.loads(stream.read(), object_pairs_hook=check_unique_keys)
        except json.JSONDecodeError as error:
            raise InputError(f"{name}:{error.lineno}: is not valid JSON: {error.msg}") from None


def check_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs in JSON; raise ValueError if a key is there twice."""
    by_key = dict(pairs)
    if len(by_key) < len(pairs):
        repeated_key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {repeated_key!r} appears more than once in an object")
    return by_key


def column(table: pa.Table, name: str, input_name: str) -> Any:
    """Return one column of a table as an Arrow array; the error for an unknown name has a hint."""
    if name not in table.column_names:
        raise InputError(
            f"{input_name}: no column {name!r}; {did_you_mean(name, table.column_names)}"
        )
    return combine_chunks(table.column(name))


def combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; Arrow's own ``combine_chunks`` copies even a single chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def to_arrow(frame: Any) -> pa.Table:
    """Convert a data frame (pandas, polars, DuckDB, Arrow) or dict of columns to an Arrow table."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return to_plain_table(frame)
    if isinstance(frame, Mapping):
        columns = {str(name): _arrow_column(str(name), values) for name, values in frame.items()}
        if len({len(values) for values in columns.values()}) > 1:
            lengths = ", ".join(f"{name!r} has {len(values)}" for name, values in columns.items())
            raise InputError(f"the columns differ in length: {lengths} rows")
        return to_plain_table(pa.table(columns))
    is_pandas = type(frame).__module__.startswith("pandas")
    try:
        if is_pandas and hasattr(frame, "columns"):  # whose stream has the index as a column
            return to_plain_table(pa.Table.from_pandas(frame, preserve_index=False))
        if hasattr(frame, "__arrow_c_stream__"):
            return to_plain_table(pa.table(frame))
    except (MemoryError, InputError):
        raise
    except Exception as error:
        # The stream of a frame of another package may raise anything.
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"{type(frame).__name__} cannot be read as a table: {first}") from error
    raise InputError(
        f"{type(frame).__name__} is not a source of judgments or a run; expected a path, a dict "
        "of dicts, a data frame (pandas, polars, Arrow), or rows with query_id and doc_id"
    )


def _arrow_column(name: str, values: Any) -> Any:
    """Convert a column in memory to an Arrow array, with null for missing values."""
    import pyarrow as pa

    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise InputError(f"column {name!r}: {format_value(values)} is not a column of values")
    if isinstance(values, list | tuple):
        other_types = {type(value) for value in values} - {str, int, float, bool, type(None)}
        if any(kind.__name__ in ("MaskedConstant", "NAType", "NaTType") for kind in other_types):
            values = [None if is_missing(value) else value for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    try:
        return pa.array(values, from_pandas=True)  # NaN among text is missing
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"column {name!r}: cannot be converted to Arrow: {error}") from None


@contextmanager
def add_location(path: str) -> Iterator[None]:
    """Add the name of the file to an error about a column."""
    try:
        yield
    except InputError as error:
        if isinstance(error, FileError) or str(error).startswith(path):
            raise
        counted = " (rows count from 0, without the header)" if _ROW.search(str(error)) else ""
        message = str(error).removeprefix("data: ")  # which is the table in that file
        raise InputError(f"{path}: {message}{counted}") from None


_ROW = re.compile(r"\brows? \d")


def list_files(path: str) -> list[str]:
    """Return the files of a path: for a directory or a pattern, those that would be read."""
    if "*" in path and not os.path.exists(path):
        return [file for match in glob.glob(path, recursive=True) for file in list_files(match)]
    return list_folder(path) if os.path.isdir(path) else [path]


def list_folder(folder: str) -> list[str]:
    """Return the tables in a directory, sorted by path.

    Names that begin with ``_`` or ``.`` are skipped; they are metadata of the program that wrote
    them.
    """
    paths: list[str] = []
    for directory, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith(("_", ".")))
        paths += (
            os.path.join(directory, name) for name in files if not name.startswith(("_", "."))
        )
    return sorted(path for path in paths if is_table(path))


def local_files(paths: Iterable[str]) -> list[str]:
    """Return the files on this machine that paths and patterns of an engine stand for.

    Directories, and names that begin with ``_`` or ``.``, are skipped.
    """
    matches = ([path] if os.path.exists(path) else sorted(glob.glob(path)) for path in paths)
    return [
        file
        for each in matches
        for file in each
        if os.path.isfile(file) and not os.path.basename(file).startswith(("_", "."))
    ]


def total_bytes(files: Iterable[str]) -> int:
    """Return the size of files in bytes."""
    return sum(map(os.path.getsize, files))


register_format(".csv", read=DelimitedText(","), is_text=True)
register_format(".tsv", read=DelimitedText("\t"), is_text=True)
register_format(".jsonl", ".ndjson", read=_read_json_lines, is_text=True)
register_format(".parquet", ".parq", read=_read_parquet)
register_format(".feather", ".arrow", read=_read_feather)
