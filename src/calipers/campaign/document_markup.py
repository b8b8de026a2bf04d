"""Documents that are XML, as a page shows them: their text, with the names of elements beside it.

What is shown is decided by the tree alone, since every collection has its own names: elements that
hold elements only are groups, others are paragraphs, and what stands amid text stays within it.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Any
from xml.sax.saxutils import escape

from calipers.campaign.markup import Element, parsed, unicode_of
from calipers.data.errors import InputError, shown

#: Elements whose text is a heading, and those that begin a paragraph however short it is.
_HEADINGS = frozenset(
    "title atl st article-title headline hl head heading h1 h2 h3 h4 h5 h6".split()  # noqa: SIM905
)
_PARAGRAPHS = _HEADINGS | {"p", "para", "li", "item", "text", "abs", "abstract"}

#: A group of short texts, such as the parts of a name, stands in one line of so many characters.
_LINE = 160

#: What XML itself has names for, and what may hold names that are text.
_OWN = frozenset(("amp", "lt", "gt", "quot", "apos"))
_QUOTES = {'"': "&quot;", "'": "&apos;"}
_REFERENCE = re.compile(r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|&([A-Za-z][\w.-]*);", re.DOTALL)

_ENCODING = re.compile(r"""(<\?xml\b[^>]*?encoding\s*=\s*["'])[\w.:-]+(?=["'])""")


def well_formed(where: str, body: bytes) -> bytes:
    """An XML document in UTF-8, whatever its encoding was; :class:`InputError` where it is none.

    >>> well_formed("a.xml", '<?xml version="1.0" encoding="latin-1"?><p>é</p>'.encode("latin-1"))
    b'<?xml version="1.0" encoding="UTF-8"?><p>\\xc3\\xa9</p>'
    """
    text = unicode_of(where, body)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{where}:{line}: holds a NUL byte, expected XML")
    made = _ENCODING.sub(r"\1UTF-8", text, count=1).encode()
    _parsed(where, made)
    return made


def _parsed(where: str, body: bytes) -> list[Element]:
    """The outermost elements. Characters may go by the names that HTML has for them, as documents
    write them whose type declares these elsewhere."""
    text = _REFERENCE.sub(_character, body.decode())
    found = parsed(where, text.encode(), "a document")
    # (The parser passes over names that it does not know, in attributes, if there is a type.)
    for match in _REFERENCE.finditer(text):
        if match[1] is not None and match[1] not in _OWN:
            line = text.count("\n", 0, match.start()) + 1
            raise InputError(
                f"{where}:{line}: the entity {shown(match[0])} is not known; expected the "
                "character itself"
            )
    return found


def _character(match: re.Match[str]) -> str:
    name = match[1]
    if name is None or name in _OWN:
        return match[0]
    return escape(html5[f"{name};"], _QUOTES) if f"{name};" in html5 else match[0]


def tree_of(document: str, body: bytes) -> list[dict[str, Any]]:
    """The outermost elements of an XML document, as JSON can tell a page.

    Each has its ``tag``, its ``attributes``, its ``content`` (texts and elements, in order) and a
    ``shape``: "group" and "line" hold elements only, below or beside each other, "heading" and
    "paragraph" text, with elements amid it, and "empty" nothing. Text whose blanks count is
    ``kept``.

    >>> [made] = tree_of("1", b"<au><fnm>John</fnm> <snm>Smith</snm></au>")
    >>> made["shape"], [part["content"] for part in made["content"]]
    ('line', [['John'], ['Smith']])
    """
    return [_shown(element, kept=False) for element in _parsed(document, body)]


def _shown(element: Element, *, kept: bool) -> dict[str, Any]:
    kept = {"preserve": True, "default": False}.get(element.attributes.get("xml:space", ""), kept)
    texts = [one for one in element.content if isinstance(one, str) and (kept or one.strip())]
    content = [
        one if isinstance(one, str) else _shown(one, kept=kept)
        for one in element.content
        if texts or not isinstance(one, str)
    ]
    made: dict[str, Any] = {"tag": element.tag, "shape": _shape(element, texts), "content": content}
    attributes = {
        name: value
        for name, value in element.attributes.items()
        if name != "xml:space" and name.partition(":")[0] != "xmlns"
    }
    if attributes:
        made["attributes"] = attributes
    if kept and texts:
        made["kept"] = True
    return made


def _shape(element: Element, texts: list[str]) -> str:
    name = element.tag.rpartition(":")[2].lower()
    if texts:
        return "heading" if name in _HEADINGS else "paragraph"
    inner = element.elements
    if not inner:
        return "empty"
    short = (
        not any(one.elements or one.tag.lower() in _PARAGRAPHS for one in inner)
        and sum(len(one.text) for one in inner) <= _LINE
    )
    return "line" if short else "group"
