"""Untrusted XML as a small tree with line numbers.

The parser is Python's own (expat) and reads only the text: a document that defines entities, which
could grow without bounds or name local files, is rejected, and nothing is fetched.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from calipers.data.byte_sources import ByteSource
from calipers.data.errors import InputError, format_value
from calipers.data.tables import check_file, read_errors
from calipers.lazy_dataclasses import dataclass

#: Maximum depth of elements; topics and documents to be read do not have deeper ones.
_MAX_DEPTH = 100

#: Maximum size of a file, in bytes.
_MAX_BYTES = 1 << 26

_INLINE_TAGS = (
    *("a", "b", "big", "code", "em", "font", "i", "s", "small", "span", "strike", "strong", "sub"),
    *("sup", "tt", "u"),
)

_ENCODING_DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""")
_DECLARATIONS = re.compile(rb"<\?xml\b[^>]*\?>")
_JUNK_AFTER_DOCUMENT = 9  # expat's number of "junk after document element"


@dataclass
class Element:
    """Element of an XML document.

    ``content`` is text and elements in order, and ``span`` its location in ``full_text``.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    content: list[str | Element] = field(default_factory=list)
    full_text: bytes = field(default=b"", repr=False)
    span: tuple[int, int] = (0, 0)

    @property
    def source(self) -> str:
        """Original text of the element."""
        start, end = self.span
        return self.full_text[start:end].decode()

    @property
    def elements(self) -> list[Element]:
        """Direct child elements."""
        return [child for child in self.content if isinstance(child, Element)]

    def walk(self) -> Iterator[Element]:
        """Yield the element and all its descendants, in document order."""
        yield self
        for child in self.elements:
            yield from child.walk()

    @property
    def text(self) -> str:
        """All text of the element, in paragraphs.

        Paragraphs are separated by an empty line or by block elements.
        """
        return paragraphs(self._raw_text())

    def _raw_text(self) -> str:
        return "".join(
            child
            if isinstance(child, str)
            else f"\n\n{child._raw_text()}\n\n"
            if child.is_block
            else child._raw_text()
            if child.is_inline
            else f" {child._raw_text()} "
            for child in self.content
        )

    @property
    def is_block(self) -> bool:
        """Whether the element is displayed in paragraphs of its own."""
        return self.tag.lower() in ("p", "li", "ul", "ol", "div", "br")

    @property
    def is_inline(self) -> bool:
        """Whether the element marks letters of a text, which it does not separate from others."""
        return self.tag.lower() in _INLINE_TAGS


def paragraphs(text: str) -> str:
    """Normalize the white space of a text; empty lines separate paragraphs."""
    collapsed = (" ".join(paragraph.split()) for paragraph in re.split(r"\n[ \t\r]*\n", text))
    return "\n\n".join(filter(None, collapsed))


def read_utf8(path: str) -> bytes:
    """Read the text of a file and convert it to UTF-8.

    Another encoding is used only if an XML declaration names it.
    """
    source = ByteSource.from_input(path)
    if source.is_file:
        check_file(path, "topics")
    with read_errors(path, "topics"):
        declared = _ENCODING_DECLARATION.match(_read_head(source))
        if declared is not None and source.compression is None:
            return _transcode_source(source, declared[1].decode())
        with source.text() as stream:
            text = stream.read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        raise InputError(f"{path}: has more than {_MAX_BYTES >> 20} MiB, expected topics")
    return text


def _read_head(source: ByteSource) -> bytes:
    if source.content is not None:
        return source.content[:200]
    with Path(source.name).open("rb") as file:
        return file.read(200)


def _transcode_source(source: ByteSource, encoding: str) -> bytes:
    raw = Path(source.name).read_bytes() if source.content is None else source.content
    return _decode(encoding, source.name, raw).encode()


_DECLARED_REASON = "which the file says that it is"


def _decode(encoding: str, name: str, raw: bytes, reason: str = _DECLARED_REASON) -> str:
    """Decode text in an encoding; ``reason`` is the reason for it in the error message."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}:{line}: the byte 0x{raw[error.start]:02x} is not {encoding}, {reason}"
        ) from None
    except (LookupError, UnicodeError):
        raise InputError(f"{name}:1: the encoding {format_value(encoding)} is not known") from None


def decode_xml(name: str, raw: bytes) -> str:
    """Decode an XML document by its byte order mark, else by its declaration, else as UTF-8."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _decode("UTF-16", name, raw)
    raw = raw.removeprefix(codecs.BOM_UTF8)
    declared = _ENCODING_DECLARATION.match(raw)
    if declared is None:
        return _decode("UTF-8", name, raw, "which XML is that declares no other encoding")
    return _decode(declared[1].decode(), name, raw)


def parse_elements(name: str, text: bytes, expected: str = "topics") -> list[Element]:
    """Return the root elements of a text, which may consist of several documents."""
    try:
        return [_TreeBuilder(name, text, expected).root]
    except expat.ExpatError as error:
        if error.code != _JUNK_AFTER_DOCUMENT:
            raise _xml_error(name, error) from None
    # The blanks keep bytes and lines where they were.
    inner = _DECLARATIONS.sub(lambda match: b" " * len(match[0]), text)
    try:
        return _TreeBuilder(name, b"<all>" + inner + b"</all>", expected).root.elements
    except expat.ExpatError as error:
        raise _xml_error(name, error) from None


def _xml_error(name: str, error: expat.ExpatError) -> InputError:
    reason = expat.errors.messages[error.code]
    return InputError(f"{name}:{error.lineno}: is not well-formed XML: {reason}")


class _TreeBuilder:
    """Builder of a tree from the events of expat."""

    def __init__(self, name: str, text: bytes, expected: str) -> None:
        self._name, self._text, self._expected = name, text, expected
        self._open: list[tuple[Element, int]] = []
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._unknown_entity
        parser.Parse(text, True)  # noqa: FBT003

    def _error(self, message: str) -> NoReturn:
        raise InputError(f"{self._name}:{self._parser.CurrentLineNumber}: {message}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self._parser.CurrentLineNumber)
        if len(self._open) > _MAX_DEPTH:
            self._error(f"more than {_MAX_DEPTH} elements are open, expected {self._expected}")
        if self._open:
            self._open[-1][0].content.append(element)
        else:
            self.root = element
        self._open.append((element, self._parser.CurrentByteIndex))

    def _end(self, _: str) -> None:
        element, start = self._open.pop()
        end = self._parser.CurrentByteIndex
        # (Behind an empty element's only tag expat is past its end, else before the closing tag.)
        if element.content or self._text[end - 2 : end] != b"/>":
            end = self._text.index(b">", end) + 1
        element.full_text, element.span = self._text, (start, end)

    def _characters(self, text: str) -> None:
        self._open[-1][0].content.append(text)

    def _entity(self, name: str, *_: object) -> None:
        self._error(
            f"defines the entity {format_value(name)}; entities are not read, since they can grow "
            "without "
            "bounds and name files"
        )

    def _unknown_entity(self, name: str, *_: object) -> None:
        self._error(
            f"the entity {format_value(f'&{name};')} is not known; expected the character itself"
        )
