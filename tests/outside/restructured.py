"""reStructuredText: a format of documents from the outside, in one file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from calipers.report.writers.base import Writer


class ReStructuredText(Writer):
    """reStructuredText, as Sphinx and docutils read it."""

    name, suffixes = "rst", (".rst",)

    def escape(self, text: str) -> str:
        text = re.sub(r"([\\`*_|])", r"\\\1", text)
        return re.sub(r"^(?=[-+•‣⁃#=~^:>[\"'.]|\(?\w+[.)])", r"\\", text)

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield from (text, "=-~^"[level - 1] * (2 * len(text)))

    def lines(self, items: Sequence[str], listed: bool) -> Iterator[str]:
        for item in items:
            yield f"* {item}" if listed else item

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterator[str]:
        yield from (".. list-table::", "   :header-rows: 1", "")
        for row in (head, *rows):
            marks = ["   * -", *["     -"] * (len(row) - 1)]
            yield from (f"{mark} {cell}".rstrip() for mark, cell in zip(marks, row, strict=True))

    def bold(self, text: str) -> str:
        return f"**{text}**" if text else ""
