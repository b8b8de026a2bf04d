"""Judgments and runs in text formats other than TREC's.

These are the formats of MS MARCO, unordered sets of documents, columns under a header, and grades
such as L2.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from calipers.data import tables
from calipers.data.byte_sources import COMPRESSION_BY_MAGIC
from calipers.data.errors import InputError
from calipers.data.trec_tables import DOCUMENT, TOPIC, Kind

if TYPE_CHECKING:
    import pyarrow as pa

#: Names of the fields of a line, by their number.
LAYOUTS: dict[tuple[Kind, int], tuple[str, ...]] = {
    ("run", 3): ("topic", "doc", "rank"),
    ("run", 2): ("topic", "doc"),
    ("qrels", 3): ("topic", "doc", "grade"),
}
_LETTER_GRADE_LAYOUT = ("topic", "iteration", "doc", "grade")

#: Problem of a file of the other kind, by its kind.
_SWAPPED_MESSAGES = {
    "run": "4 fields, expected 6: topic Q0 document rank score tag; these look like judgments",
    "qrels": "{} fields, expected 4: topic iteration document grade; these look like a run",
}


def first_line(path: str) -> list[str]:
    """Return the fields of the first line with content of a file, compressed or not."""
    return _split_first_line(path)[0]


def _split_first_line(path: str) -> tuple[list[str], str]:
    """Return the fields of the first line with content, and the separator.

    There are no fields if the file cannot be read; other functions report that.
    """
    try:
        with _open_file(path) as stream:
            start = stream.read(1 << 16)
    except (OSError, EOFError, zlib.error):
        return [], " "
    line = content_line(start).decode("utf-8", "replace")
    return line.split(), "\t" if "\t" in line else " "


def content_line(text: bytes) -> bytes:
    """Return the first line that is neither blank nor a comment."""
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return next((line for line in lines if _is_content(line)), b"")


#: Beginning of the first line of a run of NTCIR, which describes the system.
_DESCRIPTION = b"<SYSDESC>"


def _is_content(line: bytes) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith((b"#", _DESCRIPTION))


@contextmanager
def _open_file(path: str) -> Iterator[Any]:
    with open(path, "rb") as file:
        begin = file.read(4)
    compression = next(
        (name for magic, name in COMPRESSION_BY_MAGIC.items() if begin.startswith(magic)), None
    )
    if compression == "zstd":  # so that TREC text can be read without Arrow
        import pyarrow as pa

        with pa.CompressedInputStream(path, compression) as stream:
            yield stream
    else:
        import gzip

        with (gzip.open if compression else open)(path, "rb") as stream:
            yield stream


def is_header(fields: Sequence[str]) -> bool:
    """Return whether these are names of columns, including those of topics and documents."""
    names = {field.strip('"') for field in fields}
    return not names.isdisjoint(TOPIC) and not names.isdisjoint(DOCUMENT)


def read_plain(path: str, kind: Kind) -> pa.Table | None:
    """Read the columns of such a file; None if it is, or should be, TREC text.

    Raises
    ------
    InputError
        If the file is of the other kind.
    """
    if not os.path.isfile(path):
        return None
    fields, separator = _split_first_line(path)
    has_header = is_header(fields)
    layout = (
        tuple(field.strip('"') for field in fields)
        if has_header
        else detect_layout(path, kind, fields)
    )
    if layout is None:
        return None
    import pyarrow as pa
    from pyarrow import csv

    with tables.read_errors(path, "text"), _open_file(path) as stream:
        try:
            return csv.read_csv(
                pa.PythonFile(stream, "r"),
                csv.ReadOptions(column_names=layout, skip_rows=int(has_header)),
                csv.ParseOptions(delimiter=separator, quote_char='"' if has_header else False),
                csv.ConvertOptions(
                    column_types=dict.fromkeys((*TOPIC, *DOCUMENT, "iteration"), pa.binary()),
                    null_values=[],
                ),
            )
        except pa.ArrowInvalid:
            pass  # several blanks between fields, comments, or a wrong line
    rows = list(_read_fields(path, layout, has_header=has_header))
    columns = dict(zip(layout, map(list, zip(*rows, strict=True)), strict=True))
    return pa.table(
        {
            name: values if name in (*TOPIC, *DOCUMENT, "iteration") else _to_numbers(values)
            for name, values in columns.items()
        }
    )


def detect_layout(path: str, kind: Kind, fields: list[str]) -> tuple[str, ...] | None:
    """Return the names of the fields, given those of the first line."""
    count = len(fields)
    if kind == "run" and count == 4 and re.fullmatch(r"-?\d+|L\d+", fields[3]):
        raise InputError(f"{path}: {_SWAPPED_MESSAGES[kind]}: are the two swapped?")
    if kind == "qrels" and count >= 6 and is_number(fields[4]):
        raise InputError(f"{path}: {_SWAPPED_MESSAGES[kind].format(count)}: are the two swapped?")
    if kind == "qrels" and count == 4:
        return _LETTER_GRADE_LAYOUT if re.fullmatch(r"L\d+", fields[3]) else None
    if kind == "run" and count == 3 and not re.fullmatch(r"\d+", fields[2]):
        return None
    return LAYOUTS.get((kind, count))


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_fields(path: str, layout: Sequence[str], *, has_header: bool) -> Iterator[list[bytes]]:
    """Yield the fields of each line; blank lines and comments are skipped."""
    with tables.read_errors(path, "text"), _open_file(path) as stream:
        for number, line in enumerate(stream, 1):
            content = line.removeprefix(b"\xef\xbb\xbf")
            if not _is_content(content):
                continue
            fields = content.split()
            if has_header:
                has_header = False
                continue
            if len(fields) != len(layout):
                raise InputError(
                    f"{path}:{number}: {len(fields)} field{'s' * (len(fields) > 1)}, expected "
                    f"{len(layout)}: {' '.join(layout)}"
                )
            yield fields


def _to_numbers(values: list[bytes]) -> Any:
    """Convert values to integers, floats or text, the first that fits."""
    import pyarrow as pa

    strings = pa.array([value.decode("utf-8", "replace") for value in values])
    for kind in (pa.int64(), pa.float64()):
        try:
            return strings.cast(kind)
        except pa.ArrowInvalid:
            continue
    return strings
