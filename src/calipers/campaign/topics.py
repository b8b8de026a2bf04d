"""Topics from files: XML, TREC's early SGML, TSV, CSV, Parquet, JSON and JSON Lines.

XML is that of INEX, TREC, CLEF and NTCIR. The early SGML leaves tags open. JSON is a list of
topics, or of conversations as of TREC CAsT and iKAT, whose turns are the topics.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from calipers.campaign.events import check_name
from calipers.campaign.records import Topic
from calipers.campaign.store import Campaign
from calipers.campaign.xml_tree import Element, paragraphs, parse_elements, read_utf8
from calipers.data.byte_sources import STDIN
from calipers.data.errors import InputError, format_names, format_value
from calipers.data.tables import BINARY_FORMATS, TEXT_FORMATS, file_extension, read_table
from calipers.data.trec_tables import TOPIC

#: Fields of a topic, with the names that they have in files.
FIELDS = {
    "title": ("title", "query", "text", "content", "input"),
    "description": ("description", "desc", "question"),
    "narrative": ("narrative", "narr"),
    "keywords": ("keywords", "phrasetitle"),
}

#: Names of the columns and keys of tables.
_IDS = (*TOPIC, "id", "_id", "number", "num", "identifier")
_FIELD_BY_NAME = {name: field for field, names in FIELDS.items() for name in names} | {
    "kind": "kind",
    "author": "author",
    "participant": "author",
    "details": "details",
}
#: `query` is the id of a topic if there is no other one, else its text.
_SEPARATORS = re.compile(r"[\s,]*")
_ALWAYS_IDS = tuple(name for name in _IDS if name != "query")


def read_topics(source: str | os.PathLike[str]) -> list[Topic]:
    r"""Read the topics in a file.

    Formats are XML of INEX, TREC, CLEF or NTCIR, TREC's early text format with open tags, TSV
    (``id``, ``title``, and, with a header, any field), CSV, Parquet, Feather, JSON (a list of
    objects, or an object) and JSON Lines. In JSON of TREC CAsT and iKAT, a list of conversations,
    each turn of the user is a topic with the id ``CONVERSATION_TURN``; turns that several
    conversations have in common are one topic. Topics of TREC Precision Medicine have their
    disease, gene and further fields as title.

    Parameters
    ----------
    source : path
        File of topics.

    Returns
    -------
    list of Topic
        Topics, in the order of the file.

    Raises
    ------
    InputError
        If the format is unknown, XML has entities, a topic has no id or no text, or a topic is
        duplicated. The message names file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "topics.tsv")
    >>> _ = path.write_text("1\tcats and dogs\n2\tblue whales\n")
    >>> [(topic.topic, topic.title) for topic in read_topics(path)]
    [('1', 'cats and dogs'), ('2', 'blue whales')]
    """
    return [topic for _, topic in iterate_topics([os.fspath(source)])]


def add_topics(
    campaign: Campaign, sources: Iterable[str | os.PathLike[str]], *, author: str | None = None
) -> list[Topic]:
    """Add the topics of several files to a campaign, all or none.

    ``author`` is the author of topics that do not name one.
    """
    existing = {topic.topic for topic in campaign.topics()}
    added = []
    for location, topic in iterate_topics([os.fspath(source) for source in sources]):
        if topic.topic in existing:
            raise InputError(
                f"{location}: topic {format_value(topic.topic)} is in the campaign already"
            )
        added.append(replace(topic, author=topic.author or author))
    campaign.add_topics(added)
    return added


def iterate_topics(paths: Iterable[str]) -> Iterator[tuple[str, Topic]]:
    """Yield the topics of files, each with its location; a duplicate is an error."""
    location_by_topic: dict[str, str] = {}
    for path in paths:
        for line, topic in _parse_topics(path):
            location = f"{path}:{line}"
            label = f"{location}: topic"
            check_name(topic.topic, label)
            if topic.topic in location_by_topic:
                raise InputError(
                    f"{label} {format_value(topic.topic)} occurs twice, first in "
                    f"{location_by_topic[topic.topic]}"
                )
            location_by_topic[topic.topic] = location
            yield location, topic


def _parse_topics(path: str) -> Iterator[tuple[int, Topic]]:
    suffix, _ = file_extension(path)
    if path != STDIN and suffix in BINARY_FORMATS:
        return _parse_table(path)
    if path != STDIN and TEXT_FORMATS.get(suffix) == "csv":
        return _parse_table(path)
    text = read_utf8(path)
    start = text.lstrip()[:1]
    if not start:
        raise InputError(f"{path}: is empty, expected topics")
    if suffix == ".json" and start in b"[{":
        return _parse_json(path, text)
    if TEXT_FORMATS.get(suffix) == "jsonl" or start == b"{":
        return _parse_json_lines(path, text)
    if start == b"<" and TEXT_FORMATS.get(suffix) != "tsv":
        return parse_sgml(path, text) if is_sgml(text) else parse_xml(path, text)
    return _parse_tsv(path, text)


def _parse_table(path: str) -> Iterator[tuple[int, Topic]]:
    """Yield the topics of a table; lines are those of the rows, after a header."""
    from calipers.report.spreadsheets import unescape_formula

    table = read_table(path, text=(*_IDS, *_FIELD_BY_NAME))
    is_text = file_extension(path)[0] in TEXT_FORMATS
    for number, row in enumerate(table.to_pylist(), 2):
        if is_text:
            row = {n: unescape_formula(v) if isinstance(v, str) else v for n, v in row.items()}  # noqa: PLW2901
        yield number, _parse_row(f"{path}:{number}", row)


def _parse_json(path: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """Yield the topics in a list of objects, each with its first line; or in an object per line."""
    decoded = text.decode()
    if not decoded.lstrip().startswith("["):
        yield from _parse_json_lines(path, text)
        return
    try:
        rows = json.loads(decoded)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{path}: expected a list of JSON objects, is nested too deeply") from None
    decoder, offset = json.JSONDecoder(), decoded.index("[") + 1
    line = 1 + decoded.count("\n", 0, offset)
    if not rows:
        raise InputError(f"{path}:{line}: the list is empty, expected topics")
    turns = _Turns()
    for row in rows:
        before, offset = offset, _SEPARATORS.match(decoded, offset).end()  # type: ignore[union-attr]
        line += decoded.count("\n", before, offset)
        location = f"{path}:{line}"
        if not isinstance(row, dict):
            raise InputError(f"{location}: expected a JSON object, is {format_value(row)}")
        for topic in turns.to_topics(location, row):
            yield line, topic
        _, end = decoder.raw_decode(decoded, offset)
        line += decoded.count("\n", offset, end)
        offset = end


#: Names of the turns of a conversation, and of what a user said in one: as said, and in full.
_TURN_LISTS = ("turn", "turns", "responses")
_UTTERANCES = ("raw_utterance", "utterance", "user_utterance")
_RESOLVED_UTTERANCES = ("manual_rewritten_utterance", "resolved_utterance")
_TURN_NUMBERS = ("turn_id", "number")


def _pop_first(values: dict[str, Any], names: Iterable[str]) -> Any:
    """Remove the first of these names that is there, and return its value, or None."""
    return next((values.pop(name) for name in names if name in values), None)


def _find_turns(row: Mapping[str, Any]) -> list[Any] | None:
    """Return the turns of a conversation; None if the row is a topic."""
    name = next((name for name in _TURN_LISTS if isinstance(row.get(name), list)), None)
    turns = None if name is None else row[name]
    if name == "responses" and not (
        all(isinstance(turn, dict) and not turn.keys().isdisjoint(_UTTERANCES) for turn in turns)
        if turns
        else "number" in row
    ):
        return None  # a topic, which may have responses
    return turns


class _Turns:
    """Topics of the rows of a JSON file: the turns of the user in a conversation, or the row.

    Conversations that are written out for every path of their tree, as for TREC CAsT, have
    turns in common: each is one topic.
    """

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}

    def to_topics(self, location: str, row: Mapping[str, Any]) -> Iterator[Topic]:
        """Yield the topics of a row."""
        turns = _find_turns(row)
        if turns is None:
            yield _parse_row(location, row)
            return
        count = 0
        for turn_row in _user_turns(location, row, turns):
            count += 1
            topic = _parse_row(location, turn_row)
            earlier = self._topics.setdefault(topic.topic, topic)
            # A turn that says something else is reported as a topic that occurs twice.
            if earlier is topic or (earlier.title, earlier.description) != (
                topic.title,
                topic.description,
            ):
                yield topic
        if not count:
            raise InputError(
                f"{location}: conversation {format_value(row.get('number'))} has no turns of a "
                "user, expected topics"
            )


def _user_turns(
    location: str, row: Mapping[str, Any], turns: Iterable[Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield the turns of a conversation in which the user says something, as rows."""
    number = row.get("number")
    shared = {
        f"conversation {name}": value
        for name, value in row.items()
        if name not in (*_TURN_LISTS, "number")
    }
    for turn in turns:
        values = dict(turn) if isinstance(turn, dict) else {}
        turn_number = _pop_first(values, _TURN_NUMBERS)
        if number in (None, "") or turn_number in (None, ""):
            raise InputError(
                f"{location}: a turn of conversation {format_value(number)} has no number, "
                "expected number or turn_id"
            )
        if str(values.get("participant", "")).lower() == "system":
            continue
        utterances = {
            "title": _pop_first(values, _UTTERANCES),
            "description": _pop_first(values, _RESOLVED_UTTERANCES),
        }
        details = {**shared, **values}
        yield {"topic": f"{number}_{turn_number}", **utterances, "details": details}


def _parse_json_lines(path: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    turns = _Turns()
    for number, line, row in _json_objects(path, text.decode()):
        location = f"{path}:{number}"
        if not isinstance(row, dict):
            raise InputError(f"{location}: expected a JSON object, is {format_value(row)}")
        for topic in turns.to_topics(location, row):
            yield number, replace(topic, source=line)


def _json_objects(path: str, text: str) -> Iterator[tuple[int, str, Any]]:
    """Yield the objects of JSON Lines, or the only object if it spans several lines.

    Each comes with its line and its text.
    """
    lines = text.split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip())
    is_spread = not lines[first].rstrip().endswith("}")
    if is_spread:
        lines[first:] = ["\n".join(lines[first:])]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            location = f"{path}:{number + getattr(error, 'lineno', 1) - 1}"
            reason = getattr(error, "msg", error)
            raise InputError(f"{location}: expected a JSON object: {reason}") from None
        yield number, line, row


def _parse_tsv(path: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """Yield the topics of a TSV file without quoting; without a header, fields are id and title."""
    names: list[str] | None = None
    for number, line in enumerate(text.decode().split("\n"), 1):
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        if not any(cells):
            continue
        location = f"{path}:{number}"
        if names is None:
            names = ["topic", "title"]
            if cells[0].lower() in _IDS:
                names = [cell.lower() for cell in cells]
                continue
        if len(cells) != len(names):
            raise InputError(
                f"{location}: {len(cells)} fields, expected {len(names)}, separated by tabs: "
                f"{format_names(names)}"
                + ("; more need a header that names them" if number == 1 else "")
            )
        row = dict(zip(names, cells, strict=True))
        yield number, replace(_parse_row(location, row), source=line)


def _parse_row(location: str, row: Mapping[str, Any]) -> Topic:
    """Convert names and values to a topic."""
    values = {name.lower(): value for name, value in row.items() if value not in (None, "")}
    id_column = next((name for name in _ALWAYS_IDS if name in values), None)
    if id_column is None and "query" in values:
        id_column = "query"
    fields: dict[str, Any] = {}
    details: dict[str, Any] = {}
    for name, value in values.items():
        field = _FIELD_BY_NAME.get(name)
        if name == id_column:
            continue
        if field is None or field in fields:
            details[name] = value
        elif field == "details":
            details |= _details(location, value)
        else:
            fields[field] = _text(location, name, value)
    kind = fields.pop("kind", None)
    if kind not in (None, "CO", "CAS"):
        raise InputError(f"{location}: kind {format_value(kind)}, expected CO or CAS")
    identity = None if id_column is None else _text(location, id_column, values[id_column])
    author = fields.pop("author", None)
    return build_topic(location, identity, fields, kind=kind, author=author, details=details)


def _text(location: str, name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{location}: {name} is {format_value(value)}, expected text")
    return str(value).strip()


def _details(location: str, value: Any) -> dict[str, Any]:
    """Return further details as a dict; in a table they are a JSON object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, dict):
        raise InputError(f"{location}: details are not a JSON object")
    return value


#: Names of elements that are topics, and names of those that are topics within another element.
_TOPIC_TAGS = ("inex-topic", "inex_topic", "topic", "top")
_FALLBACK_TOPIC_TAGS = ("query", "doc")

_FIELD_BY_TAG = {name: field for field, names in FIELDS.items() for name in names}
_ID_ATTRIBUTES = ("topic-id", "topic_id", "topicid", "id", "number", "num", "qid")
_KIND_ATTRIBUTES = ("query-type", "query_type", "type")

_ID_TAGS = ("num", "number", "identifier", "qid", "id")
#: The text of a query of CLEF eHealth in a language: ``<en>``.
_LANGUAGE = re.compile(r"[a-z]{2}")
#: The language of a field of CLEF: ``<EN-title>``.
_LANGUAGE_PREFIX = re.compile(r"^[a-z]{2}-(?=(title|desc|narr)$)")
#: Fields of TREC Precision Medicine, which has no titles.
_MEDICAL_TAGS = ("disease", "gene", "variant", "treatment", "demographic", "other")

#: The parts of an INEX title: target elements, words, and elements that hold the words.
_TITLE_ELEMENTS = ("te", "cw", "ce")


def is_sgml(text: bytes) -> bool:
    """Return whether a text looks like topics in TREC's early format."""
    return re.search(rb"<top[\s>]", text, re.IGNORECASE) is not None and not re.match(
        rb"\s*<\?xml", text
    )


# --------------------------------------------------------------------------------------------- XML


def parse_xml(name: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """Yield the topics of an XML text, each with its line."""
    nodes = [node for root in parse_elements(name, text) for node in root.walk()]
    for tags in (_TOPIC_TAGS, _FALLBACK_TOPIC_TAGS):
        topic_elements = [node for node in nodes if node.tag.lower() in tags]
        if topic_elements:
            break
    else:
        present_tags = ", ".join(dict.fromkeys(f"<{node.tag}>" for node in nodes[:10]))
        raise InputError(f"{name}: holds no <topic>, <INEX-Topic> or <top>, but {present_tags}")
    nested_ids = {id(descendant) for node in topic_elements for descendant in list(node.walk())[1:]}
    for element in topic_elements:
        if id(element) not in nested_ids:
            yield element.line, _parse_element(f"{name}:{element.line}", element)


def _parse_element(location: str, element: Element) -> Topic:
    fields: dict[str, str] = {}
    details: dict[str, Any] = {}
    number = kind = None
    for key, value in element.attributes.items():
        if key.lower() in _ID_ATTRIBUTES and number is None:
            number = value.strip()
        elif key.lower() in _KIND_ATTRIBUTES and value.strip().upper() in ("CO", "CAS"):
            kind = value.strip().upper()
        else:
            details[key] = value
    author = None
    medical: list[str] = []
    for child in element.elements:
        tag = _LANGUAGE_PREFIX.sub("", child.tag.lower())
        if tag in _ID_TAGS and number is None:
            number = _without_label("num", child.text)
        elif tag in ("author", "participant") and author is None:
            author = child.text or None
        elif _FIELD_BY_TAG.get(tag, tag) in FIELDS and _FIELD_BY_TAG[tag] not in fields:
            fields[_FIELD_BY_TAG[tag]] = (
                _parse_title(child, details) if tag == "title" else child.text
            )
        else:
            details.setdefault(child.tag, []).append(_to_data(child))
            medical += [child.text] if tag in _MEDICAL_TAGS and child.text else []
    if not element.elements:
        fields["title"] = element.text
    if not fields and not medical:
        # Of several languages the first is that of the topic.
        language = next((tag for tag in details if _LANGUAGE.fullmatch(tag.lower())), None)
        if language is not None and len(details[language]) == 1:
            fields["title"] = str(details.pop(language)[0])
    if medical and "title" not in fields:
        fields["title"] = ", ".join(medical)
    details = {
        key: value[0] if isinstance(value, list) and len(value) == 1 and key != "parts" else value
        for key, value in details.items()
    }
    return build_topic(
        location,
        number,
        fields,
        kind=_parse_kind(kind),
        author=author,
        details=details,
        source=element.source,
    )


def _parse_kind(text: str | None) -> Literal["CO", "CAS"] | None:
    return "CO" if text == "CO" else "CAS" if text == "CAS" else None


def _parse_title(element: Element, details: dict[str, Any]) -> str:
    """Return the words of a title, and add its parts, if there are several, to the details.

    A part is ``{"te": target}``, or ``{"cw": words, "ce": element that contains them}``.
    """
    components: list[dict[str, str]] = []
    for child in element.elements:
        tag = child.tag.lower()
        if tag not in _TITLE_ELEMENTS:
            return element.text
        if tag == "ce" and components and "cw" in components[-1] and "ce" not in components[-1]:
            components[-1]["ce"] = child.text
        else:
            components.append({tag: child.text})
    if not components:
        return element.text
    if components != [{"cw": components[0].get("cw")}]:
        details["parts"] = components
    return ", ".join(component["cw"] for component in components if "cw" in component)


def _to_data(element: Element) -> Any:
    """Convert an element to text, or to a dict that can be serialized as JSON."""
    if not element.attributes and not element.elements:
        return element.text
    return element.attributes | ({"text": element.text} if element.text else {})


# -------------------------------------------------------------------------------------------- SGML

_TOP_ELEMENT = re.compile(
    r"<top(?:\s[^>]*)?>(.*?)(</top>|(?=<top[\s>])|\Z)", re.IGNORECASE | re.DOTALL
)
_SGML_TAGS = "num title query desc narr con cons smry dom fac def head nat time keywords toc"
_TAG = re.compile(
    rf"</?(?P<sgml>(?:[a-z]{{2}}-(?=title|desc|narr))?(?:{'|'.join(_SGML_TAGS.split())}))>"
    r"|^[ \t]*</?(?P<unlisted>[a-z][\w-]*)>",
    re.IGNORECASE | re.MULTILINE,
)

#: Labels that repeat the meaning of a tag after it.
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


def parse_sgml(name: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """Yield the topics of TREC's early text format, where a tag ends at the next one."""
    decoded = text.decode()
    line, last_start = 1, 0
    for match in _TOP_ELEMENT.finditer(decoded):
        line, last_start = line + decoded.count("\n", last_start, match.start()), match.start()
        fields: dict[str, str] = {}
        for full_tag, content in _split_tags(match[1]):
            # Of several languages the first is that of the topic.
            tag = _LANGUAGE_PREFIX.sub("", full_tag)
            tag = full_tag if tag in fields else tag
            if tag in fields:
                raise InputError(f"{name}:{line}: the topic has <{tag}> twice")
            fields[tag] = paragraphs(_without_label(tag, _REFERENCE.sub(_unescape, content)))
        number = fields.pop("num", None) or fields.pop("identifier", None)
        topic_fields = {
            _FIELD_BY_TAG[tag]: fields.pop(tag) for tag in list(fields) if tag in _FIELD_BY_TAG
        }
        yield (
            line,
            build_topic(
                f"{name}:{line}", number, topic_fields, details=fields, source=match[0].strip()
            ),
        )


def _split_tags(text: str) -> Iterator[tuple[str, str]]:
    """Yield each tag of a topic with the text after it."""
    tag, start = "", 0
    for match in _TAG.finditer(text):
        if tag:
            yield tag, _tag_content(tag, text[start : match.start()])
        is_opening = not match[0].lstrip().startswith("</")
        tag, start = (match["sgml"] or match["unlisted"]).lower() if is_opening else "", match.end()
    if tag:
        yield tag, _tag_content(tag, text[start:])


def _tag_content(tag: str, text: str) -> str:
    return re.split(rf"</{tag}>", text, maxsplit=1, flags=re.IGNORECASE)[0]


def _unescape(match: re.Match[str]) -> str:
    return html.unescape(match[0])


def build_topic(
    location: str,
    number: str | None,
    fields: Mapping[str, str],
    **extra_fields: Any,
) -> Topic:
    """Make a topic from its fields, and check that it has a number and text."""
    if not number:
        raise InputError(f"{location}: the topic has no number, expected an id")
    if not any(fields.get(field) for field in ("title", "description", "narrative")):
        raise InputError(
            f"{location}: topic {format_value(number)} has no title, description or narrative"
        )
    title, description, narrative, keywords = (fields.get(field, "") for field in FIELDS)
    return Topic(number, title, description, narrative, keywords, **extra_fields)
