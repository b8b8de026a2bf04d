"""Documents to be judged: text, HTML, XML and images, from files, folders and tables.

The display of XML is determined by its tree alone, because every collection has its own names:
elements that contain only elements are groups, others are paragraphs, and elements within text are
inline.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from html.entities import html5
from pathlib import Path, PurePosixPath
from typing import Any
from xml.sax.saxutils import escape

from calipers.campaign.records import Document
from calipers.campaign.store import Campaign
from calipers.campaign.xml_tree import Element, decode_xml, parse_elements
from calipers.data.byte_sources import ByteSource
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.tables import (
    BINARY_FORMATS,
    TEXT_FORMATS,
    check_file,
    file_extension,
    read_errors,
)
from calipers.data.trec_tables import DOCUMENT
from calipers.lazy_dataclasses import dataclass

#: Media types by extension; other files are text if they are valid UTF-8.
_MEDIA_BY_EXTENSION = {
    ".htm": "text/html",
    ".html": "text/html",
    ".xhtml": "text/html",
    ".xml": "text/xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}

#: Media types of images, with the tests that detect them by the first bytes.
_IMAGE_SIGNATURES: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("image/png", lambda body: body.startswith(b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", lambda body: body.startswith(b"\xff\xd8\xff")),
    ("image/gif", lambda body: body.startswith((b"GIF87a", b"GIF89a"))),
    ("image/webp", lambda body: body[:4] == b"RIFF" and body[8:12] == b"WEBP"),
)

#: Default names of columns and keys, in order of priority.
_IDS = (*DOCUMENT, "docno", "id", "_id", "pid")
_TEXT_COLUMNS = ("text", "body", "contents", "content", "passage")
_HTML = ("html",)
_XML = ("xml",)
_IMAGES = ("image", "picture", "png")
_TITLES = ("title", "name", "headline")

#: Maximum size of a document, in bytes.
_MAX_BYTES = 1 << 26

_BATCH_ROWS = 4096


@dataclass(frozen=True)
class DocumentColumns:
    """Names of the columns of a table of documents; None for the usual names."""

    document: str | None = None
    text: str | None = None
    html: str | None = None
    image: str | None = None
    title: str | None = None
    xml: str | None = None


def read_documents(
    source: str | os.PathLike[str],
    ids: Collection[str] | None = None,
    columns: DocumentColumns | None = None,
) -> Iterator[Document]:
    """Read the documents in a folder, a table or a file, one after the other.

    In a folder each file is a document; its id is the name of the file with or without extension
    (in subfolders, the path relative to the folder). A table (JSON Lines, TSV, CSV, Parquet,
    Feather) has a column of ids and a column of text, of HTML, of XML, or of images: bytes, or
    paths below its own folder. Any other file is a single document.

    Parameters
    ----------
    source : path
        Folder, table or file.
    ids : collection of str, optional
        Ids of the documents to read. By default all are read.
    columns : DocumentColumns, optional
        Names of the columns of a table.

    Yields
    ------
    Document
        Next document.

    Raises
    ------
    InputError
        If a document is duplicated, text is not UTF-8, XML is not well-formed or defines entities,
        an image is invalid, a file is outside the folder, or a single file is not wanted. The
        message names file and line or row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a1.xml")
    >>> _ = path.write_text("<article><bdy>On belief revision</bdy></article>")
    >>> [(item.document, item.media) for item in read_documents(path)]
    [('a1', 'text/xml')]
    """
    location_by_id: dict[str, str] = {}
    for location, document in _iterate_documents(
        os.fspath(source), ids, columns or DocumentColumns()
    ):
        if document.document in location_by_id:
            raise InputError(
                f"{location}: document {format_value(document.document)} occurs twice, first in "
                f"{location_by_id[document.document]}"
            )
        location_by_id[document.document] = location
        yield document


def add_documents(
    campaign: Campaign,
    sources: Iterable[str | os.PathLike[str]],
    *,
    columns: DocumentColumns | None = None,
    include_unpooled: bool = False,
    partial: bool = False,
    replace: bool = False,
) -> tuple[int, list[tuple[str, str]]]:
    """Add the pooled documents in the sources to a campaign.

    Parameters
    ----------
    campaign : Campaign
        Campaign that the documents are added to.
    sources : iterable of path
        Folders, tables or files (:func:`read_documents`).
    columns : DocumentColumns, optional
        Names of the columns of tables.
    include_unpooled : bool, default=False
        Whether to add all documents rather than only pooled ones.
    partial : bool, default=False
        Whether pooled documents may be missing; otherwise they are an error, and nothing is added.
    replace : bool, default=False
        Whether to replace documents that exist already with different content.

    Returns
    -------
    new : int
        Number of new documents.
    missing : list of tuple of str
        Pooled documents that are still missing, as (topic, document) with one of their topics.

    Raises
    ------
    InputError
        If nothing is pooled yet, documents are missing, or a source is invalid.
    """
    pooled = {entry.document: entry.topic for entry in reversed(campaign.pool())}
    if not pooled and not include_unpooled:
        raise InputError(
            f"{campaign.path}: nothing is pooled yet, so no document is needed; pool first, or add "
            "all documents (--all)"
        )
    ids = None if include_unpooled else pooled.keys()
    paths = [os.fspath(source) for source in sources]
    named_columns = [
        name for name, column in vars(columns or DocumentColumns()).items() if column is not None
    ]
    if named_columns and not any(map(_is_table, paths)):
        raise InputError(
            f"{paths[0] if paths else 'documents'}: is not a table, so columns cannot be named "
            f"({', '.join(named_columns)})"
        )
    with campaign.write():
        new = 0
        for path in paths:
            documents = read_documents(path, ids, columns)
            new += campaign.add_documents(documents, replace=replace)
        stored = set(campaign.documents())
        missing = [(topic, name) for name, topic in pooled.items() if name not in stored]
        if missing and not partial:
            (topic, name), multiple = missing[0], len(missing) > 1
            raise InputError(
                f"{len(missing)} of {len(pooled)} pooled documents {'are' if multiple else 'is'} "
                f"not in the sources, {'the first' if multiple else 'which is'} "
                f"{format_value(name)} of topic {format_value(topic)}; nothing was added "
                "(--partial adds the others)"
            )
    return new, missing


def _iterate_documents(
    path: str, ids: Collection[str] | None, columns: DocumentColumns
) -> Iterator[tuple[str, Document]]:
    if Path(path).is_dir():
        yield from _read_folder(Path(path), ids)
        return
    check_file(path, "documents: a folder, a table, or one document")
    suffix, _ = file_extension(path)
    if not _is_table(path):
        yield path, _read_single_document(Path(path), ids)
        return
    with read_errors(path, "documents"):
        rows = (
            _parse_json_lines(path)
            if TEXT_FORMATS.get(suffix) == "jsonl"
            else _parse_tsv(path, columns)
            if TEXT_FORMATS.get(suffix) == "tsv"
            else _parse_table_rows(path)
        )
        yield from _parse_rows(path, rows, ids, columns)


def _is_table(path: str) -> bool:
    suffix, _ = file_extension(path)
    return (suffix in TEXT_FORMATS or suffix in BINARY_FORMATS) and not Path(path).is_dir()


# ------------------------------------------------------------------------------- files and folders


def _read_single_document(path: Path, ids: Collection[str] | None) -> Document:
    """Read a file that is a single document."""
    relative_path = PurePosixPath(path.name)
    document_id = _match_name(relative_path, ids)
    if path.suffix.lower() == ".json" and (ids is None or document_id is None):
        raise InputError(
            f"{path}: is not a table of documents; expected .jsonl (an object per line), .tsv, "
            ".csv, .parquet or .feather"
        )
    if document_id is None:
        names = dict.fromkeys(_possible_names(relative_path))
        raise InputError(
            f"{path}: is not pooled: {' and '.join(map(format_value, names))} "
            f"{'is' if len(names) == 1 else 'are'} not in any pool (--all adds it nevertheless)"
        )
    return _read_file(document_id, path)


def _possible_names(relative_path: PurePosixPath) -> list[str]:
    """Return the possible ids of a file: its name, with or without extension and path."""
    return [
        str(relative_path),
        str(relative_path.with_suffix("")),
        relative_path.name,
        relative_path.stem,
    ]


def _match_name(relative_path: PurePosixPath, ids: Collection[str] | None) -> str | None:
    names = _possible_names(relative_path)
    return names[1] if ids is None else next((n for n in names if n in ids), None)


def _read_folder(folder: Path, ids: Collection[str] | None) -> Iterator[tuple[str, Document]]:
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        relative_path = PurePosixPath(path.relative_to(folder).as_posix())
        if (
            any(component.startswith(".") for component in relative_path.parts)
            or not path.is_file()
        ):
            continue
        document_id = _match_name(relative_path, ids)
        if document_id is None:
            continue
        if not path.resolve().is_relative_to(root):
            raise InputError(f"{path}: is a link to a file outside of the folder")
        yield str(path), _read_file(document_id, path)


def _read_file(document: str, path: Path) -> Document:
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"{path}: has more than {_MAX_BYTES >> 20} MiB")
    media = _MEDIA_BY_EXTENSION.get(path.suffix.lower(), "text/plain")
    return check_document(str(path), Document(document, path.read_bytes(), media))


def check_document(location: str, document: Document) -> Document:
    """Check that a document matches its media type, and normalize it.

    A text document with the content of an image becomes an image, and XML is converted to UTF-8.
    """
    body = document.body
    image_media = next((media for media, begins in _IMAGE_SIGNATURES if begins(body)), None)
    if document.media.startswith("image/") and image_media is None:
        raise InputError(f"{location}: is not a PNG, JPEG, GIF or WebP image")
    if image_media is not None:
        return replace(document, media=image_media)
    if document.media == "text/xml":
        return replace(document, body=check_well_formed(location, body))
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{location}:{line}: the byte 0x{body[error.start]:02x} is not UTF-8, and the document "
            "is not an image"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{location}:{line}: contains a NUL byte, expected text")
    return replace(document, body=body)


# ------------------------------------------------------------------------------------------ tables

_Rows = Iterator[tuple[str, Mapping[str, Any]]]


def _parse_json_lines(path: str) -> _Rows:
    with ByteSource.from_input(path).text() as stream:
        for number, line in stream.lines():
            if line.strip():
                location = f"{path}:{number}"
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    reason = getattr(error, "msg", error)
                    raise InputError(f"{location}: expected a JSON object: {reason}") from None
                if not isinstance(row, dict):
                    raise InputError(f"{location}: expected a JSON object, is {format_value(row)}")
                yield location, row


def _parse_tsv(path: str, columns: DocumentColumns) -> _Rows:
    """Yield the rows of a TSV file without quoting.

    If no header names a column of ids, the columns are id and text, or id, title and text.
    """
    names: list[str] | None = None
    with ByteSource.from_input(path).text() as stream:
        for number, line in stream.lines():
            cells = line.rstrip(b"\r").decode().split("\t")
            if cells == [""]:
                continue
            if names is None:
                names = {2: ["id", "text"], 3: ["id", "title", "text"]}.get(len(cells))
                if columns.document in cells or any(cell in _IDS for cell in cells):
                    names = cells
                    continue
            if names is None or len(cells) != len(names):
                expected = 2 if names is None else len(names)
                raise InputError(f"{path}:{number}: {len(cells)} fields, expected {expected}")
            yield f"{path}:{number}", dict(zip(names, cells, strict=True))


def _parse_table_rows(path: str) -> _Rows:
    from calipers.data.streams import Stream

    stream = Stream.from_input(path, text=(*_IDS, *_TEXT_COLUMNS, *_TITLES))
    for batch in stream.batches(stream.names, rows=_BATCH_ROWS):
        columns = {name: column.to_pylist() for name, column in batch.columns.items()}
        for index, values in enumerate(zip(*columns.values(), strict=True)):
            yield f"{path}: row {batch.first_row + index}", dict(zip(columns, values, strict=True))


def _parse_rows(
    path: str, rows: _Rows, ids: Collection[str] | None, columns: DocumentColumns
) -> Iterator[tuple[str, Document]]:
    for location, row in rows:
        document_id = _document_id(location, row, columns.document)
        if ids is not None and document_id not in ids:
            continue
        title = _get_field(location, row, columns.title, _TITLES)
        if title is not None and not isinstance(title, str):
            raise InputError(f"{location}: the title is {format_value(title)}, expected text")
        body, media = _body(location, row, columns, Path(path).parent)
        if len(body) > _MAX_BYTES:
            raise InputError(f"{location}: the document has more than {_MAX_BYTES >> 20} MiB")
        yield location, check_document(location, Document(document_id, body, media, title or ""))


def _get_field(
    location: str, row: Mapping[str, Any], column: str | None, default_columns: Iterable[str]
) -> Any:
    """Return the value of a column, or None; a column that was named by the user has to exist."""
    if column is not None:
        if column not in row:
            raise InputError(f"{location}: no column {column!r}; {did_you_mean(column, row)}")
        return row[column]
    return next((row[name] for name in default_columns if row.get(name) is not None), None)


def _document_id(location: str, row: Mapping[str, Any], column: str | None) -> str:
    value = _get_field(location, row, column, _IDS)
    if value is None:
        raise InputError(f"{location}: has no id; expected a column {column or ', '.join(_IDS)}")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(
            f"{location}: the id is {format_value(value)}, expected text or a whole number"
        )
    return str(value)


def _body(
    location: str, row: Mapping[str, Any], columns: DocumentColumns, folder: Path
) -> tuple[bytes, str]:
    named_columns = columns.text, columns.html, columns.xml, columns.image
    for media, column, default_columns in (
        ("text/html", columns.html, _HTML),
        ("text/xml", columns.xml, _XML),
        ("image/png", columns.image, _IMAGES),
        ("text/plain", columns.text, _TEXT_COLUMNS),
    ):
        if column is None and any(named_columns):
            continue
        value = _get_field(location, row, column, default_columns)
        if value is None:
            continue
        if media.startswith("image/"):
            return _image_bytes(location, value, folder), media
        if not isinstance(value, str):
            raise InputError(f"{location}: the text is {format_value(value)}, expected text")
        try:
            return value.encode(), media
        except UnicodeEncodeError:
            raise InputError(f"{location}: the text contains an invalid character") from None
    column_names = ", ".join((*_TEXT_COLUMNS, *_HTML, *_XML, *_IMAGES))
    raise InputError(
        f"{location}: has no content; expected a column {column_names}, or one named by an option"
    )


def _image_bytes(location: str, value: Any, folder: Path) -> bytes:
    """Return the bytes of an image: the value, those of a record, or those of a file below."""
    if isinstance(value, Mapping):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise InputError(
            f"{location}: the image is {format_value(value)}, expected bytes or a path"
        )
    path = folder / value
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{location}: {value} is outside of the folder of the table")
    if not path.is_file():
        raise InputError(f"{location}: {path}: no such file")
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"{path}: has more than {_MAX_BYTES >> 20} MiB")
    return path.read_bytes()


#: Elements whose text is a heading, and those that begin a paragraph however short it is.
_HEADINGS = frozenset(
    "title atl st article-title headline hl head heading h1 h2 h3 h4 h5 h6".split()  # noqa: SIM905
)
_PARAGRAPHS = _HEADINGS | {"p", "para", "li", "item", "text", "abs", "abstract"}

#: Maximum length of a group of short texts, such as the parts of a name, on one line.
_MAX_LINE_LENGTH = 160

#: Entities that XML itself defines, and sections in which references are plain text.
_XML_ENTITIES = frozenset(("amp", "lt", "gt", "quot", "apos"))
_QUOTES = {'"': "&quot;", "'": "&apos;"}
_REFERENCE = re.compile(r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|&([A-Za-z][\w.-]*);", re.DOTALL)

_ENCODING = re.compile(r"""(<\?xml\b[^>]*?encoding\s*=\s*["'])[\w.:-]+(?=["'])""")


def check_well_formed(location: str, body: bytes) -> bytes:
    r"""Convert an XML document to UTF-8 from any encoding, and check that it is well-formed.

    Raises
    ------
    InputError
        If the document is not well-formed XML.

    Examples
    --------
    >>> document = '<?xml version="1.0" encoding="latin-1"?><p>é</p>'.encode("latin-1")
    >>> check_well_formed("a.xml", document)
    b'<?xml version="1.0" encoding="UTF-8"?><p>\xc3\xa9</p>'
    """
    text = decode_xml(location, body)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{location}:{line}: contains a NUL byte, expected XML")
    utf8_body = _ENCODING.sub(r"\1UTF-8", text, count=1).encode()
    _parse_elements(location, utf8_body)
    return utf8_body


def _parse_elements(location: str, body: bytes) -> list[Element]:
    """Parse the root elements.

    Characters may be written as the entities of HTML, as in documents whose document type declares
    these elsewhere.
    """
    text = _REFERENCE.sub(_expand_entity, body.decode())
    elements = parse_elements(location, text.encode(), "a document")
    # (With a document type, the parser ignores unknown entities in attributes.)
    for match in _REFERENCE.finditer(text):
        if match[1] is not None and match[1] not in _XML_ENTITIES:
            line = text.count("\n", 0, match.start()) + 1
            raise InputError(
                f"{location}:{line}: the entity {format_value(match[0])} is not known; expected "
                "the character itself"
            )
    return elements


def _expand_entity(match: re.Match[str]) -> str:
    name = match[1]
    if name is None or name in _XML_ENTITIES:
        return match[0]
    return escape(html5[f"{name};"], _QUOTES) if f"{name};" in html5 else match[0]


def parse_tree(document: str, body: bytes) -> list[dict[str, Any]]:
    """Return the root elements of an XML document in a form that can be serialized as JSON.

    Each has its ``tag``, its ``attributes``, its ``content`` (text and elements, in order) and a
    ``shape``: "group" and "line" contain only elements, as blocks or inline; "heading" and
    "paragraph" contain text, with inline elements; and "empty" contains nothing. Text with
    significant white space is ``preformatted``.

    >>> [element] = parse_tree("1", b"<au><fnm>John</fnm> <snm>Smith</snm></au>")
    >>> element["shape"], [child["content"] for child in element["content"]]
    ('line', [['John'], ['Smith']])
    """
    return [
        _element_to_json(element, preserve=False) for element in _parse_elements(document, body)
    ]


def _element_to_json(element: Element, *, preserve: bool) -> dict[str, Any]:
    preserve = {"preserve": True, "default": False}.get(
        element.attributes.get("xml:space", ""), preserve
    )
    text_parts = [
        child for child in element.content if isinstance(child, str) and (preserve or child.strip())
    ]
    content = [
        child if isinstance(child, str) else _element_to_json(child, preserve=preserve)
        for child in element.content
        if text_parts or not isinstance(child, str)
    ]
    node: dict[str, Any] = {
        "tag": element.tag,
        "shape": _shape(element, text_parts),
        "content": content,
    }
    attributes = {
        name: value
        for name, value in element.attributes.items()
        if name != "xml:space" and name.partition(":")[0] != "xmlns"
    }
    if attributes:
        node["attributes"] = attributes
    if preserve and text_parts:
        node["preformatted"] = True
    return node


def _shape(element: Element, text_parts: list[str]) -> str:
    name = element.tag.rpartition(":")[2].lower()
    if text_parts:
        return "heading" if name in _HEADINGS else "paragraph"
    children = element.elements
    if not children:
        return "empty"
    is_short = (
        not any(child.elements or child.tag.lower() in _PARAGRAPHS for child in children)
        and sum(len(child.text) for child in children) <= _MAX_LINE_LENGTH
    )
    return "line" if is_short else "group"
