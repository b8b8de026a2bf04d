"""Topics from files: INEX and TREC markup, TSV, CSV, Parquet, JSON and JSON Lines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from calipers.campaign.events import check_name
from calipers.campaign.markup import text_of
from calipers.campaign.records import Topic
from calipers.campaign.store import Campaign
from calipers.campaign.topic_markup import FIELDS, is_sgml, made, of_sgml, of_xml
from calipers.data.errors import InputError, listed, shown
from calipers.data.sources import STDIN
from calipers.data.tables import BINARIES, TEXTS, extension, read_table
from calipers.data.trec_tables import TOPIC

#: What the columns and keys of tables are called.
_IDS = (*TOPIC, "id", "_id", "number", "num")
_NAMES = {name: field for field, names in FIELDS.items() for name in names} | {
    "kind": "kind",
    "author": "author",
    "participant": "author",
    "details": "details",
}
#: `query` names a topic where nothing else does, and is its text where something does.
_APART = re.compile(r"[\s,]*")
_ALWAYS_IDS = tuple(name for name in _IDS if name != "query")


def read_topics(source: str | os.PathLike[str]) -> list[Topic]:
    """The topics in a file: XML of INEX or TREC, TREC's text of old with open tags, TSV (``id``,
    ``title``, and, under a header, any field), CSV, Parquet, Feather, JSON (a list of objects) or
    JSON Lines.

    Raises
    ------
    InputError
        With file and line: for what is none of these, entities in XML, a topic without an id or
        without any text, and a topic that stands there twice.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "topics.tsv")
    >>> _ = path.write_text("1\\tcats and dogs\\n2\\tblue whales\\n")
    >>> [(topic.topic, topic.title) for topic in read_topics(path)]
    [('1', 'cats and dogs'), ('2', 'blue whales')]
    """
    return [topic for _, topic in located([os.fspath(source)])]


def add_topics(
    campaign: Campaign, sources: Iterable[str | os.PathLike[str]], *, author: str | None = None
) -> list[Topic]:
    """Add the topics of several files to a campaign, all or none; ``author`` is who wrote those
    that do not say."""
    there = {topic.topic for topic in campaign.topics()}
    added = []
    for where, topic in located([os.fspath(source) for source in sources]):
        if topic.topic in there:
            raise InputError(f"{where}: topic {shown(topic.topic)} is in the campaign already")
        added.append(replace(topic, author=topic.author or author))
    campaign.add_topics(added)
    return added


def located(paths: Iterable[str]) -> Iterator[tuple[str, Topic]]:
    """The topics of files, each with where it stands; none stands there twice."""
    seen: dict[str, str] = {}
    for path in paths:
        for line, topic in _topics(path):
            where = f"{path}:{line}"
            check = f"{where}: topic"
            check_name(topic.topic, check)
            if topic.topic in seen:
                raise InputError(
                    f"{check} {shown(topic.topic)} stands there twice, first in {seen[topic.topic]}"
                )
            seen[topic.topic] = where
            yield where, topic


def _topics(path: str) -> Iterator[tuple[int, Topic]]:
    suffix, _ = extension(path)
    if path != STDIN and suffix in BINARIES:
        return _of_table(path)
    if path != STDIN and TEXTS.get(suffix) == "csv":
        return _of_table(path)
    text = text_of(path)
    start = text.lstrip()[:1]
    if not start:
        raise InputError(f"{path}: is empty, expected topics")
    if suffix == ".json" and start in b"[{":
        return _of_json(path, text)
    if TEXTS.get(suffix) == "jsonl" or start == b"{":
        return _of_json_lines(path, text)
    if start == b"<" and TEXTS.get(suffix) != "tsv":
        return of_sgml(path, text) if is_sgml(text) else of_xml(path, text)
    return _of_tsv(path, text)


def _of_table(path: str) -> Iterator[tuple[int, Topic]]:
    """Of a table, where the lines are those of rows, the first being the header."""
    from calipers.report.spreadsheets import uncovered

    table = read_table(path, text=(*_IDS, *_NAMES))
    is_text = extension(path)[0] in TEXTS
    for number, row in enumerate(table.to_pylist(), 2):
        if is_text:
            row = {n: uncovered(v) if isinstance(v, str) else v for n, v in row.items()}  # noqa: PLW2901
        yield number, _of_row(f"{path}:{number}", row)


def _of_json(path: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """The objects of a list, each with the line in which it begins; or an object in each line."""
    whole = text.decode()
    if not whole.lstrip().startswith("["):
        yield from _of_json_lines(path, text)
        return
    try:
        rows = json.loads(whole)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is no JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{path}: expected a list of JSON objects, with less in each") from None
    decoder, at = json.JSONDecoder(), whole.index("[") + 1
    line = 1 + whole.count("\n", 0, at)
    for row in rows:
        before, at = at, _APART.match(whole, at).end()  # type: ignore[union-attr]
        line += whole.count("\n", before, at)
        where = f"{path}:{line}"
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected a JSON object, is {shown(row)}")
        yield line, _of_row(where, row)
        _, end = decoder.raw_decode(whole, at)
        line += whole.count("\n", at, end)
        at = end


def _of_json_lines(path: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    for number, line in enumerate(text.decode().split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = getattr(error, "msg", error)
            raise InputError(f"{where}: expected a JSON object: {why}") from None
        if not isinstance(row, dict):
            raise InputError(f"{where}: expected a JSON object, is {shown(row)}")
        yield number, replace(_of_row(where, row), source=line)


def _of_tsv(path: str, text: bytes) -> Iterator[tuple[int, Topic]]:
    """Fields apart by tabs, without quotes; a header names them, else they are id and title."""
    names: list[str] | None = None
    for number, line in enumerate(text.decode().split("\n"), 1):
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        if not any(cells):
            continue
        where = f"{path}:{number}"
        if names is None:
            names = ["topic", "title"]
            if cells[0].lower() in _IDS:
                names = [cell.lower() for cell in cells]
                continue
        if len(cells) != len(names):
            raise InputError(
                f"{where}: {len(cells)} fields, expected {len(names)}, apart by tabs: "
                f"{listed(names)}" + ("; more need a header that names them" if number == 1 else "")
            )
        row = dict(zip(names, cells, strict=True))
        yield number, replace(_of_row(where, row), source=line)


def _of_row(where: str, row: Mapping[str, Any]) -> Topic:
    """A topic of names and values."""
    given = {name.lower(): value for name, value in row.items() if value not in (None, "")}
    number = next((name for name in _ALWAYS_IDS if name in given), None)
    if number is None and "query" in given:
        number = "query"
    fields: dict[str, Any] = {}
    details: dict[str, Any] = {}
    for name, value in given.items():
        field = _NAMES.get(name)
        if name == number:
            continue
        if field is None or field in fields:
            details[name] = value
        elif field == "details":
            details |= _details(where, value)
        else:
            fields[field] = _text(where, name, value)
    kind = fields.pop("kind", None)
    if kind not in (None, "CO", "CAS"):
        raise InputError(f"{where}: kind {shown(kind)}, expected CO or CAS")
    identity = None if number is None else _text(where, number, given[number])
    author = fields.pop("author", None)
    return made(where, identity, fields, kind=kind, author=author, details=details)


def _text(where: str, name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{where}: {name} is {shown(value)}, expected text")
    return str(value).strip()


def _details(where: str, value: Any) -> dict[str, Any]:
    """What else is known, as an object; in a table as the JSON of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, dict):
        raise InputError(f"{where}: details are no JSON object")
    return value
