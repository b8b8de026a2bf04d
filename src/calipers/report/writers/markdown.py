"""GitHub-flavored Markdown output of documents, for pull requests, issues and job summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from calipers.report.blocks import render_text
from calipers.report.writers.base import Writer

_SPECIAL_IN_SENTENCES = re.compile(r"([\\`*_|]|\](?=\()|:(?=//))")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|!~$]|:(?=//))")


def escape(text: str, *, punctuation: bool = True) -> str:
    """Escape ``text``, so that Markdown and HTML display it literally.

    Without ``punctuation``, for sentences of this package, brackets and colons stay readable unless
    they would be a link.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if not punctuation:
        return _SPECIAL_IN_SENTENCES.sub(r"\\\1", text)
    text = _SPECIAL.sub(r"\\\1", text)
    # What would start a list, a rule or a mention.
    text = re.sub(r"^(\d+)(?=[.)](\s|$))", r"\1\\", text)
    return re.sub(r"^[-+=@]", lambda match: f"&#{ord(match[0])};", text)


class Markdown(Writer):
    """GitHub-flavored Markdown format."""

    name, suffixes = "markdown", (".md",)

    def escape(self, text: str) -> str:
        return escape(text)

    def sentence(self, text: str) -> str:
        return render_text(text, escape, partial(escape, punctuation=False))

    def cell(self, text: str, *, number: bool) -> str:
        return escape(text, punctuation=not number)

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield f"{'#' * (level + 1)} {text}"

    def lines(self, items: Sequence[str], listed: bool) -> Iterable[str]:
        return (f"- {item}" for item in items) if listed else items

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterator[str]:
        for row in (head, ["---:" if is_right else "---" for is_right in right], *rows):
            yield f"| {' | '.join(row)} |"

    def bold(self, text: str) -> str:
        return f"**{text}**" if text else ""

    def code(self, text: str) -> str:
        return self.escape(text) if "`" in text else f"`{text}`"

    def value(self, value: str, marks: str, *, best: bool) -> str:
        text = self.bold(value) if best else value
        return f"{text}<sup>{marks}</sup>" if marks else text

    def fold(self, summary: str, lines: Sequence[str], level: int) -> Iterator[str]:
        yield from (f"<details><summary>{summary}</summary>", "", *lines, "</details>")
