"""Topics as INEX and TREC write them: XML, and the SGML of old, which leaves tags open."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from calipers.campaign.markup import Element, paragraphs, parsed
from calipers.campaign.records import Topic
from calipers.data.errors import InputError, shown

#: Elements that are topics; of those that are called otherwise, all of one name within another.
_TOPICS = ("inex-topic", "inex_topic", "topic", "top")
_OTHERWISE = ("query", "doc")

#: What the fields of a topic are called, and what of each is its number.
FIELDS = {
    "title": ("title", "query", "text"),
    "description": ("description", "desc", "question"),
    "narrative": ("narrative", "narr"),
    "keywords": ("keywords", "phrasetitle"),
}
_FIELD = {name: field for field, names in FIELDS.items() for name in names}
_NUMBERS = ("topic-id", "topic_id", "topicid", "id", "number", "num", "qid")
_KINDS = ("query-type", "query_type", "type")

#: The parts of an INEX title: target elements, words, and elements that hold the words.
_PARTS = ("te", "cw", "ce")


def is_sgml(text: bytes) -> bool:
    """Whether a text looks like topics of TREC as they were first written."""
    return re.search(rb"<top>", text, re.IGNORECASE) is not None and not re.match(
        rb"\s*<\?xml", text
    )


# --------------------------------------------------------------------------------------------- XML


def of_xml(name: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """The topics of an XML text, each with its line."""
    every = [one for root in parsed(name, text) for one in root.walk()]
    for tags in (_TOPICS, _OTHERWISE):
        found = [one for one in every if one.tag.lower() in tags]
        if found:
            break
    else:
        seen = ", ".join(dict.fromkeys(f"<{one.tag}>" for one in every[:10]))
        raise InputError(f"{name}: holds no <topic>, <INEX-Topic> or <top>, but {seen}")
    within = {id(inner) for one in found for inner in list(one.walk())[1:]}
    for element in found:
        if id(element) not in within:
            yield element.line, _of_element(f"{name}:{element.line}", element)


def _of_element(where: str, element: Element) -> Topic:
    fields: dict[str, str] = {}
    details: dict[str, Any] = {}
    number = kind = None
    for key, value in element.attributes.items():
        if key.lower() in _NUMBERS and number is None:
            number = value.strip()
        elif key.lower() in _KINDS and value.strip().upper() in ("CO", "CAS"):
            kind = value.strip().upper()
        else:
            details[key] = value
    author = None
    for child in element.elements:
        tag = child.tag.lower()
        if tag in ("num", "number") and number is None:
            number = _without_label("num", child.text)
        elif tag in ("author", "participant") and author is None:
            author = child.text or None
        elif _FIELD.get(tag, tag) in FIELDS and _FIELD[tag] not in fields:
            fields[_FIELD[tag]] = _title(child, details) if tag == "title" else child.text
        else:
            details.setdefault(child.tag, []).append(_as_data(child))
    if not element.elements:
        fields["title"] = element.text
    details = {
        key: value[0] if isinstance(value, list) and len(value) == 1 and key != "parts" else value
        for key, value in details.items()
    }
    return made(where, number, fields, kind=_kind(kind), author=author, details=details,
                source=element.source)  # fmt: skip


def _kind(text: str | None) -> Literal["CO", "CAS"] | None:
    return "CO" if text == "CO" else "CAS" if text == "CAS" else None


def _title(element: Element, details: dict[str, Any]) -> str:
    """The words of a title; its parts, if it has several, go to the details: ``{"te": target}``, or
    ``{"cw": words, "ce": the element that has them}``."""
    parts: list[dict[str, str]] = []
    for one in element.elements:
        tag = one.tag.lower()
        if tag not in _PARTS:
            return element.text
        if tag == "ce" and parts and "cw" in parts[-1] and "ce" not in parts[-1]:
            parts[-1]["ce"] = one.text
        else:
            parts.append({tag: one.text})
    if not parts:
        return element.text
    if parts != [{"cw": parts[0].get("cw")}]:
        details["parts"] = parts
    return ", ".join(part["cw"] for part in parts if "cw" in part)


def _as_data(element: Element) -> Any:
    """Text, or what a tree holds, as JSON can."""
    if not element.attributes and not element.elements:
        return element.text
    return element.attributes | ({"text": element.text} if element.text else {})


# -------------------------------------------------------------------------------------------- SGML

_TOP = re.compile(r"<top>(.*?)(</top>|(?=<top>)|\Z)", re.IGNORECASE | re.DOTALL)
_KNOWN = "num title query desc narr con cons smry dom fac def head nat time keywords toc"
_TAG = re.compile(
    rf"</?(?P<known>{'|'.join(_KNOWN.split())})>|^[ \t]*</?(?P<other>[a-z][\w-]*)>",
    re.IGNORECASE | re.MULTILINE,
)

#: What stands again behind a tag.
_LABELS = {
    "num": r"(topic\s+)?number", "title": "topic", "desc": "description", "narr": "narrative",
    "con": r"concepts?(\(s\))?", "cons": r"concepts?(\(s\))?", "smry": "summary", "dom": "domain",
    "fac": r"factors?(\(s\))?", "def": r"definitions?(\(s\))?", "time": "time",
    "nat": "nationality",
}  # fmt: skip

_REFERENCE = re.compile(r"&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)


def _without_label(tag: str, text: str) -> str:
    label = _LABELS.get(tag, "")
    return re.sub(rf"\A\s*{label}\s*:\s*", "", text, flags=re.IGNORECASE) if label else text


def of_sgml(name: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """The topics of TREC's first text format, in which a tag ends where the next one begins."""
    whole = text.decode()
    line, counted = 1, 0
    for match in _TOP.finditer(whole):
        line, counted = line + whole.count("\n", counted, match.start()), match.start()
        fields: dict[str, str] = {}
        for tag, content in _tagged(match[1]):
            if tag in fields:
                raise InputError(f"{name}:{line}: the topic has <{tag}> twice")
            fields[tag] = paragraphs(_without_label(tag, _REFERENCE.sub(_character, content)))
        number = fields.pop("num", None)
        known = {_FIELD[tag]: fields.pop(tag) for tag in list(fields) if tag in _FIELD}
        yield line, made(f"{name}:{line}", number, known, details=fields, source=match[0].strip())


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """Of a topic each tag with what stands behind it."""
    tag, start = "", 0
    for match in _TAG.finditer(text):
        if tag:
            yield tag, _until_closed(tag, text[start : match.start()])
        opens = not match[0].lstrip().startswith("</")
        tag, start = (match["known"] or match["other"]).lower() if opens else "", match.end()
    if tag:
        yield tag, _until_closed(tag, text[start:])


def _until_closed(tag: str, text: str) -> str:
    return re.split(rf"</{tag}>", text, maxsplit=1, flags=re.IGNORECASE)[0]


def _character(match: re.Match[str]) -> str:
    return html.unescape(match[0])


# ------------------------------------------------------------------------------------------- both


def made(
    where: str,
    number: str | None,
    fields: Mapping[str, str],
    **more: Any,
) -> Topic:
    """A topic of its fields, which has a number and says something."""
    if not number:
        raise InputError(f"{where}: the topic has no number, expected an id")
    if not any(fields.get(field) for field in ("title", "description", "narrative")):
        raise InputError(f"{where}: topic {shown(number)} has no title, description or narrative")
    title, description, narrative, keywords = (fields.get(field, "") for field in FIELDS)
    return Topic(number, title, description, narrative, keywords, **more)
