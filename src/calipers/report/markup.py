"""GitHub-flavoured Markdown that says what is meant: text taken literally, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calipers.report.names import short, visible
from calipers.report.rows import provenance_rows
from calipers.report.tables import NUMBER, NUMBERS, Column, filled

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|!~$]|:(?=//))")


def escape(text: str, *, punctuation: bool = True) -> str:
    """``text`` that Markdown and HTML take literally.

    Without ``punctuation``, for sentences of ours, brackets and colons stay readable.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if not punctuation:
        return re.sub(r"([\\`*_|])", r"\\\1", text)
    text = _SPECIAL.sub(r"\\\1", text)
    # What would start a list, a rule or a mention.
    text = re.sub(r"^(\d+)(?=[.)](\s|$))", r"\1\\", text)
    return re.sub(r"^[-+=@]", lambda found: f"&#{ord(found[0])};", text)


def name(text: str) -> str:
    """A name fit for a sentence."""
    return escape(short(text))


def heading(text: str) -> Iterator[str]:
    """What a page begins with."""
    yield from (f"## {escape(text, punctuation=False)}", "")


def bullets(lines: Sequence[str]) -> Iterator[str]:
    """A list; a line alone is no list."""
    if lines:
        yield from lines if len(lines) == 1 else (f"- {line}" for line in lines)
        yield ""


def notes(texts: Iterable[str]) -> Iterator[str]:
    """The notes of a result."""
    return bullets([f"**Note:** {escape(visible(text))}" for text in texts])


def details(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """What is shown to those who ask for it."""
    yield from (f"<details><summary>{summary}</summary>", "", *lines, "</details>", "")


def provenance(of: Mapping[str, Any]) -> Iterator[str]:
    """Where a result came from."""
    if of:
        rows = provenance_rows(of)
        lines = [f"{escape(key)}: {escape(value)}" for key, value in rows]
        yield from details("Provenance", bullets(lines))


def table(columns: Iterable[Column]) -> Iterator[str]:
    """A table without its empty columns."""
    shown = filled(columns)
    yield _row(escape(column.name) for column in shown)
    yield _row("---:" if column.kind is NUMBER else "---" for column in shown)
    cells = [
        [escape(cell, punctuation=column.kind not in (NUMBER, NUMBERS)) for cell in column.cells]
        for column in shown
    ]
    yield from map(_row, zip(*cells, strict=True))


def matrix(
    head: Sequence[str], rows: Iterable[Sequence[str]], mark: str = "", words: int = 1
) -> Iterator[str]:
    """A table of numbers whose rows begin with their names, between two marks, or with more
    words."""
    yield _row(map(escape, head))
    yield _row([*["---"] * words, *["---:"] * (len(head) - words)])
    yield from (_row([f"{mark}{escape(first)}{mark}", *rest]) for first, *rest in rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
