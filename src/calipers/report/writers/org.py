"""Org mode output of documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from calipers.report.writers.base import Writer

# The manual's escape: it follows a character that has a meaning, or begins the text.
_ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
_SPECIAL = re.compile(r"[\[<{@^]|[_:](?=\S)|-(?=-)|\.(?=\.)|(?<![^\s(\-–'\"])[*/=~+](?=\S)")
_START = re.compile(r"^(?=[*#|:+\-!/^_$=]|\d+[.)]|[A-Za-z][.)]\s)")
# There is no entity of a backslash.
_REPLACEMENTS = {"|": r"\vert{}", "$": r"\dollar{}", "\\": r"=\="}


class Org(Writer):
    """Org format, of Emacs and of plain-text notebooks."""

    name, suffixes = "org", (".org",)

    def escape(self, text: str) -> str:
        text = _START.sub(
            _ZERO_WIDTH_SPACE, _SPECIAL.sub(lambda match: match[0] + _ZERO_WIDTH_SPACE, text)
        )
        return re.sub(
            r"[|$\\]",
            lambda match: f"{_ZERO_WIDTH_SPACE}{_REPLACEMENTS[match[0]]}{_ZERO_WIDTH_SPACE}",
            text,
        )

    def cell(self, text: str, *, number: bool) -> str:
        return text.replace("|", _REPLACEMENTS["|"]) if number else self.escape(text)

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield f"{'*' * level} {text}"

    def lines(self, items: Sequence[str], listed: bool) -> Iterable[str]:
        return (f"- {item}" for item in items) if listed else items

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterator[str]:
        yield f"| {' | '.join(head)} |"
        yield f"|{'+'.join('-' * (len(cell) + 2) for cell in head)}|"
        yield from (f"| {' | '.join(row)} |" for row in rows)

    def bold(self, text: str) -> str:
        return f"*{text}*" if text else ""

    def code(self, text: str) -> str:
        return f"~{text}~"

    def value(self, value: str, marks: str, *, best: bool) -> str:
        # Inside the stars: what follows them must not be a sign.
        text = f"{value}^{{{marks}}}" if marks else value
        return self.bold(text) if best else text
