"""Typst output of documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from calipers.report.writers.base import Writer

# Markup, what would make dashes, dots or quotes of other signs, comments and links.
_SPECIAL = re.compile(r"[\\#$*_`@<>\[\]~\"']|(?<=[/:])/|/(?=[/*])|(?<=\.)\.|-(?=[-?\d])|(?<=-)-")
# What begins a heading, a list or a term.
_START = re.compile(r"^(\s*(?:\d*|=*))([-=+/.])(?=\s|$)")


class Typst(Writer):
    """Typst format; tables are Typst's own, without a package."""

    name, suffixes = "typst", (".typ",)

    def escape(self, text: str) -> str:
        return _START.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", text))

    def cell(self, text: str, *, number: bool) -> str:
        # Typst makes a minus sign of a hyphen before a digit.
        segments = re.split(r"((?<![\w.])-(?=[\d∞]))", text) if number else [text]
        return "".join(segment if segment == "-" else self.escape(segment) for segment in segments)

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield f"{'=' * level} {text}"

    def lines(self, items: Sequence[str], listed: bool) -> Iterable[str]:
        return (f"- {item}" for item in items) if listed else items

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterator[str]:
        yield from ("#table(", f"  columns: {len(head)},")
        sides = "".join("right, " if is_right else "left, " for is_right in right).rstrip()
        yield f"  align: ({sides}),"
        yield f"  table.header({', '.join(f'[{cell}]' for cell in head)}),"
        yield from (f"  {', '.join(f'[{cell}]' for cell in row)}," for row in rows)
        yield ")"

    def bold(self, text: str) -> str:
        return f"#strong[{text}]" if text else ""

    def code(self, text: str) -> str:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'#raw("{quoted}")'

    def value(self, value: str, marks: str, *, best: bool) -> str:
        text = self.bold(value) if best else value
        return f"{text}#super[{self.escape(marks)}]" if marks else text
