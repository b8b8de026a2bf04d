"""Judgments of highlighted text, and runs of passages, in the formats of INEX's Ad Hoc track.

A line of judgments is ``topic Q0 article characters length entry offset:length …``: how many
characters of the article are highlighted, how many it has, the best entry point, and the passages.
A line of a run is ``topic Q0 article rank score tag offset length``.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.byte_sources import ByteSource
from calipers.data.errors import InputError, format_value
from calipers.data.tables import check_file
from calipers.lazy_dataclasses import dataclass

#: Fields of a line of a run, and those of judgments before the passages.
_RUN_FIELDS = "topic Q0 article rank score tag offset length"
_JUDGMENT_FIELDS = "topic Q0 article characters length entry offset:length …"
#: Offsets are below this, so that they are whole numbers as floats, too.
_MAX_OFFSET = 2**40


@dataclass(frozen=True, eq=False)
class HighlightedText:
    """Highlighted passages by topic and article, without overlap, and best entry points."""

    passages: Mapping[str, Mapping[str, Sequence[tuple[int, int]]]]
    entries: Mapping[str, Mapping[str, int]]
    n_characters: Mapping[str, int]

    def overlap(self, topic: str, article: str, begin: int, end: int) -> int:
        """Return how many characters from ``begin`` to ``end`` are highlighted."""
        passages = self.passages[topic].get(article, ())
        return sum(max(0, min(end, b) - max(begin, a)) for a, b in passages)


def read_judgments(source: Any) -> HighlightedText:
    """Read judgments of highlighted text from a file or from rows of fields."""
    passages: dict[str, dict[str, list[tuple[int, int]]]] = {}
    entries: dict[str, dict[str, int]] = {}
    n_characters: dict[str, int] = {}
    for location, fields in _rows(source, "judgments"):
        if len(fields) < 5:
            raise _wrong_fields(location, fields, _JUDGMENT_FIELDS)
        topic, _, article, characters, _, *details = fields
        highlighted: list[tuple[int, int]] = []
        for text in details[1:]:
            offset, _, length = text.partition(":")
            begin = _number(location, "offset", offset)
            highlighted.append((begin, begin + _number(location, "length", length, min_value=1)))
        of_topic = passages.setdefault(topic, {})
        if article in of_topic:
            raise InputError(f"{location}: article {article!r} of topic {topic!r} is judged twice")
        of_topic[article] = merged = _merge(highlighted)
        total = sum(end - begin for begin, end in merged)
        if total != _number(location, "characters", characters):
            raise InputError(
                f"{location}: {characters} characters are highlighted, but {total} are in the "
                "passages"
            )
        n_characters[topic] = n_characters.get(topic, 0) + total
        if details and merged and not details[0].startswith("-"):
            entries.setdefault(topic, {})[article] = _number(location, "entry", details[0])
    if not passages:
        raise InputError("judgments: there are no judgments")
    return HighlightedText(passages, entries, n_characters)


def read_run(name: str, source: Any, judgments: HighlightedText) -> dict[str, Any]:
    """Read a run of passages, and return the fields of ``RetrievedPassages``."""
    rows: dict[str, list[tuple[int, str, int, int, str]]] = {t: [] for t in judgments.passages}
    for location, fields in _rows(source, name):
        if len(fields) != 8:
            raise _wrong_fields(location, fields, _RUN_FIELDS)
        topic, _, article, rank, _, _, offset, length = fields
        begin = _number(location, "offset", offset)
        end = begin + _number(location, "length", length, min_value=1)
        row = (_number(location, "rank", rank), article, begin, end, location)
        if topic in rows:
            rows[topic].append(row)
    topics = tuple(sorted(rows, key=str.encode))
    columns = [_topic_columns(topic, sorted(rows[topic]), judgments) for topic in topics]
    passages, articles = zip(*columns, strict=True)
    length, overlap = np.concatenate(passages, axis=1)
    retrieved, highlighted, hit, distance = np.concatenate(articles, axis=1)
    n_articles = [sum(map(bool, judgments.passages[t].values())) for t in topics]
    return {
        "topics": topics,
        "n_characters": np.array([judgments.n_characters[t] for t in topics], np.float64),
        "n_articles": np.array(n_articles, np.float64),
        "passages": np.cumsum([0, *(x.shape[1] for x in passages)]),
        "length": length,
        "overlap": overlap,
        "articles": np.cumsum([0, *(x.shape[1] for x in articles)]),
        "retrieved": retrieved,
        "highlighted": highlighted,
        "hit": hit,
        "distance": distance,
    }


def _topic_columns(
    topic: str, rows: Sequence[tuple[int, str, int, int, str]], judgments: HighlightedText
) -> tuple[Any, Any]:
    """Return the columns of the passages and of the articles of a topic."""
    by_article: dict[str, list[tuple[int, int, str]]] = {}
    passages = []
    for index, (rank, article, begin, end, location) in enumerate(rows):
        if index and rank == rows[index - 1][0]:
            raise InputError(
                f"{max(location, rows[index - 1][4])}: rank {rank} occurs twice in topic {topic!r}"
            )
        by_article.setdefault(article, []).append((begin, end, location))
        passages.append((end - begin, judgments.overlap(topic, article, begin, end)))
    articles = []
    for article, of_article in by_article.items():
        ordered = sorted(of_article)
        for (_, end, _), (begin, _, location) in itertools.pairwise(ordered):
            if begin < end:
                raise InputError(
                    f"{location}: the passage overlaps with one of the same article of topic "
                    f"{topic!r}, expected passages without overlap"
                )
        text = judgments.passages[topic].get(article, ())
        entry = judgments.entries.get(topic, {}).get(article)
        articles.append(
            (
                sum(end - begin for begin, end, _ in ordered),
                sum(end - begin for begin, end in text),
                sum(judgments.overlap(topic, article, begin, end) for begin, end, _ in ordered),
                np.inf if entry is None else abs(of_article[0][0] - entry),
            )
        )
    return (
        np.array(passages, np.float64).reshape(-1, 2).T,
        np.array(articles, np.float64).reshape(-1, 4).T,
    )


def _rows(source: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of each line of a file, or of each row, with its location."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        check_file(path, "lines of fields")
        with ByteSource.from_input(source).text() as text:
            for number, line in text.lines():
                try:
                    fields = line.decode().split()
                except UnicodeDecodeError:
                    raise InputError(f"{path}:{number}: is not UTF-8") from None
                if fields:
                    yield f"{path}:{number}", fields
        return
    if isinstance(source, Mapping | bytes) or not np.iterable(source):
        raise InputError(f"{name}: is {format_value(source)}, expected a path, or rows of fields")
    for number, row in enumerate(source):
        fields = row.split() if isinstance(row, str) else row
        if isinstance(fields, Mapping | bytes) or not np.iterable(fields):
            raise InputError(f"{name} row {number}: is {format_value(row)}, expected fields")
        yield f"{name} row {number}", [str(field) for field in fields]


def _merge(passages: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of passages, in order."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(passages):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def _number(location: str, field: str, text: str, min_value: int = 0) -> int:
    if not (text.isascii() and text.isdigit() and min_value <= int(text) < _MAX_OFFSET):
        raise InputError(
            f"{location}: {field} is {text!r}, expected a whole number from {min_value} on"
        )
    return int(text)


def _wrong_fields(location: str, fields: Sequence[str], expected: str) -> InputError:
    return InputError(f"{location}: has {len(fields)} fields, expected {expected}")
