"""Output of topics: XML of INEX and TREC, TREC's early text format, TSV, CSV, JSON and Parquet."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from calipers.campaign.records import Topic
from calipers.campaign.tidy_tables import is_trec_extension
from calipers.campaign.topics import FIELDS
from calipers.data.errors import InputError, format_value
from calipers.data.tables import BINARY_FORMATS, TEXT_FORMATS, file_extension

#: Formats of topics.
FORMATS = ("inex", "trec", "xml", "tsv", "csv", "json", "jsonl", "parquet")

_LINE_WIDTH = 80

#: Characters that XML 1.0 does not allow.
_INVALID_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)

#: Tags of TREC's first format, and the label that follows each.
_TREC_TAGS = {
    "title": ("title", "{}"),
    "description": ("desc", "Description:\n{}"),
    "narrative": ("narr", "Narrative:\n{}"),
    "keywords": ("keywords", "{}"),
}
_TREC_DETAIL_LABELS = {"dom": "Domain: ", "con": "Concept(s):\n", "smry": "Summary:\n", "head": ""}


def detect_format(path: str, topics: Sequence[Topic]) -> str:
    """Return the format given by the extension of a path.

    For ``.xml`` it is that of INEX if all topics are CO or CAS, else that of TREC. Without an
    extension it is TREC text.

    Raises
    ------
    InputError
        If topics cannot be written with this extension.
    """
    suffix, _ = file_extension(path)
    if suffix == ".xml":
        return "inex" if topics and all(topic.kind for topic in topics) else "xml"
    kind = {".json": "json", **TEXT_FORMATS, **BINARY_FORMATS}.get(suffix, "trec")
    if kind not in FORMATS or (kind == "trec" and not is_trec_extension(suffix)):
        raise InputError(
            f"{path}: topics are not written as {suffix}; expected .xml, .tsv, .csv, .json, "
            ".jsonl, .parquet, or .txt or none for TREC's text (--topics-format says otherwise)"
        )
    return kind


def format_topics(topics: Sequence[Topic], kind: str) -> tuple[bytes, list[str]]:
    """Format topics, and return the names of the fields that the format cannot store."""
    if not topics:
        raise InputError("there are no topics")
    formatter_by_kind: dict[str, Callable[[Sequence[Topic], set[str]], str]] = {
        "inex": _inex,
        "trec": _trec,
        "xml": _xml,
        "tsv": _tsv,
        "csv": _csv,
        "json": _json_array,
        "jsonl": _jsonl,
    }
    omitted: set[str] = set()
    if kind == "parquet":
        return _parquet(topics), []
    return formatter_by_kind[kind](topics, omitted).encode(), sorted(omitted)


# --------------------------------------------------------------------------------------------- XML


def _inex(topics: Sequence[Topic], omitted: set[str]) -> str:
    body = "\n".join(_inex_topic(topic, omitted) for topic in topics)
    if len(topics) == 1:
        return f"{body}\n"
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f"{head}\n<INEX-Topics>\n{body}\n</INEX-Topics>\n"


def _inex_topic(topic: Topic, omitted: set[str]) -> str:
    number = topic.details.get("ct-no")
    attribute_values = {"topic-id": topic.topic, "query-type": topic.kind, "ct-no": number}
    attributes = "".join(
        f" {name}={_attribute(topic, str(value))}"
        for name, value in attribute_values.items()
        if value
    )
    omitted |= {*topic.details} - {"ct-no", "parts"}
    author = [f"  <Author>{_text(topic, topic.author)}</Author>"] if topic.author else []
    lines = [f"<INEX-Topic{attributes}>", *author, "  <Title>"]
    title_components = topic.details.get("parts", [{"cw": topic.title}] if topic.title else [])
    lines += [
        "    "
        + " ".join(f"<{tag}>{_text(topic, content)}</{tag}>" for tag, content in component.items())
        for component in title_components
    ]
    lines.append("  </Title>")
    for tag, text in (
        ("Description", topic.description),
        ("Narrative", topic.narrative),
        ("Keywords", topic.keywords),
    ):
        lines += (
            [f"  <{tag}>", *_fold_text(_text(topic, text), "    "), f"  </{tag}>"] if text else []
        )
    return "\n".join([*lines, "</INEX-Topic>"])


def _xml(topics: Sequence[Topic], omitted: set[str]) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<topics>"]
    for topic in topics:
        kind = f' query-type="{topic.kind}"' if topic.kind else ""
        lines.append(f"<topic number={_attribute(topic, topic.topic)}{kind}>")
        for field in FIELDS:
            lines += _element(topic, field, {}, getattr(topic, field))
        lines += _element(topic, "author", {}, topic.author or "")
        for name, value in topic.details.items():
            elements = _details(topic, name, value)
            if elements is None:
                omitted.add(name)
            lines += elements or []
        lines.append("</topic>")
    return "\n".join([*lines, "</topics>", ""])


def _details(topic: Topic, name: str, value: Any) -> list[str] | None:
    """Return the elements of further details; None if they cannot be represented."""
    values = value if isinstance(value, list) else [value]
    lines = []
    for item in values:
        attributes = dict(item) if isinstance(item, Mapping) else {"text": item}
        text = attributes.pop("text", "")
        names = [name, *attributes]
        if not all(map(_XML_NAME.fullmatch, names)) or name.lower() in FIELDS:
            return None
        if not all(isinstance(each, str) for each in (text, *attributes.values())):
            return None
        lines += _element(topic, name, attributes, text)
    return lines


def _element(topic: Topic, tag: str, attributes: Mapping[str, str], text: str) -> list[str]:
    if not text and not attributes:
        return []
    attribute_text = "".join(
        f" {name}={_attribute(topic, value)}" for name, value in attributes.items()
    )
    return [f"  <{tag}{attribute_text}>", *_fold_text(_text(topic, text), "    "), f"  </{tag}>"]


def _fold_text(text: str, indent: str) -> Iterator[str]:
    for index, paragraph in enumerate(text.split("\n\n")):
        if index:
            yield ""
        yield from textwrap.wrap(
            paragraph,
            _LINE_WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _text(topic: Topic, text: str) -> str:
    match = _INVALID_XML.search(text)
    if match is not None:
        raise InputError(
            f"topic {format_value(topic.topic)}: contains the character {match[0]!r}, which XML "
            "does not allow"
        )
    return escape(text)


def _attribute(topic: Topic, text: str) -> str:
    _text(topic, text)
    return quoteattr(text, {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


# -------------------------------------------------------------------------------------------- TREC

#: Text that would be read as a tag or an entity.
_AMBIGUOUS = re.compile(r"<(?=/?[a-z])|&(?=(amp|lt|gt|quot|apos|#\w{1,7});)", re.IGNORECASE)


def _trec(topics: Sequence[Topic], omitted: set[str]) -> str:
    blocks = []
    for topic in topics:
        lines = ["<top>", "", f"<num> Number: {_escape_markup(topic.topic)}"]
        for field, (tag, form) in _TREC_TAGS.items():
            text = getattr(topic, field)
            if tag == "title" and text.lower().startswith("topic"):
                form = "Topic: {}"  # noqa: PLW2901
            if text:
                body = (
                    _escape_markup(text)
                    if tag == "title"
                    else "\n".join(_fold_text(_escape_markup(text), ""))
                )
                lines += [f"<{tag}> {form.format(body)}", ""]
        for name, value in topic.details.items():
            if name in _TREC_DETAIL_LABELS and isinstance(value, str):
                folded = "\n".join(_fold_text(_escape_markup(value), ""))
                lines += [f"<{name}> {_TREC_DETAIL_LABELS[name]}{folded}", ""]
            else:
                omitted.add(name)
        omitted |= {name for name in ("kind", "author") if getattr(topic, name)}
        blocks.append("\n".join([*lines, "</top>", ""]))
    return "\n".join(blocks)


def _escape_markup(text: str) -> str:
    return _AMBIGUOUS.sub(lambda match: "&lt;" if match[0] == "<" else "&amp;", text)


# ------------------------------------------------------------------------------------------ tables

_COLUMNS = ("topic", *FIELDS, "kind", "author")


def _row(topic: Topic) -> dict[str, Any]:
    return {name: getattr(topic, name) for name in _COLUMNS}


def _tsv(topics: Sequence[Topic], omitted: set[str]) -> str:
    """Format topics as TSV without quoting; tabs and line ends are replaced by blanks."""
    names = [name for name in _COLUMNS if any(getattr(topic, name) for topic in topics)]
    omitted |= {name for topic in topics for name in topic.details}
    rows = [[" ".join((getattr(topic, name) or "").split()) for name in names] for topic in topics]
    return "".join("\t".join(row) + "\n" for row in [names, *rows])


def _csv(topics: Sequence[Topic], omitted: set[str]) -> str:
    from calipers.report.spreadsheets import csv_text

    return csv_text(_row(topic) | {"details": _json(topic)} for topic in topics)


def _json(topic: Topic) -> str | None:
    return json.dumps(topic.details, ensure_ascii=False) if topic.details else None


def _jsonl(topics: Sequence[Topic], omitted: set[str]) -> str:
    return "".join(f"{line}\n" for line in _objects(topics))


def _json_array(topics: Sequence[Topic], omitted: set[str]) -> str:
    return "[" + ",\n ".join(_objects(topics)) + "]\n"


def _objects(topics: Sequence[Topic]) -> Iterator[str]:
    """Yield a JSON object of each topic with its non-empty fields."""
    for topic in topics:
        row = _row(topic) | {"details": dict(topic.details)}
        non_empty = {name: value for name, value in row.items() if value}
        yield json.dumps(non_empty, ensure_ascii=False)


def _parquet(topics: Sequence[Topic]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    names = (*_COLUMNS, "details")
    schema = pa.schema([(name, pa.string()) for name in names])
    rows = [_row(topic) | {"details": _json(topic)} for topic in topics]
    stream = BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), stream)
    return stream.getvalue()
