"""LaTeX output of documents, for papers; tables need the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from calipers.report.blocks import Block, Medium, Table, WideTable
from calipers.report.numbers import UNDEFINED
from calipers.report.safe_names import escape_unprintable
from calipers.report.tables import BETTER, WORSE
from calipers.report.wide import WideCell
from calipers.report.writers.base import Writer

#: Characters that LaTeX interprets, or that its default fonts lack.
_REPLACEMENTS = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "†": r"$\dagger$", "‡": r"$\ddagger$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "∞": r"$\infty$", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$",
    "≤": r"$\leq$", "≥": r"$\geq$", "²": "$^2$", "½": "$1/2$", "–": "--", "…": r"\ldots{}",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "κ": r"$\kappa$", "λ": r"$\lambda$",
    "ν": r"$\nu$", "θ": r"$\theta$",
    "ρ": r"$\rho$", "τ": r"$\tau$", "χ": r"$\chi$", "ω": r"$\omega$",
}  # fmt: skip


#: Hyphen of a negative number, at the start of a text or after a space, bracket or comma.
_HYPHEN_MINUS = re.compile(r"(?<![^\s\[(,])-(?=[\d∞])")

#: Commands of headings by level; there is no lower section.
_HEADINGS = ("section", "subsection", "subsubsection", "paragraph")


class LaTeX(Writer):
    """LaTeX format: for most results only tables, whose captions have all that is needed."""

    name, suffixes, medium = "latex", (".tex",), Medium.PAPER

    def escape(self, text: str) -> str:
        with_minus = _HYPHEN_MINUS.sub("−", escape_unprintable(text))
        escaped = "".join(_REPLACEMENTS.get(character, character) for character in with_minus)
        return escaped.replace("--", "-{}-") if "--" in text else escaped

    def write(self, blocks: Iterable[Block]) -> str:
        return super().write(blocks).replace("\n\n% needs", "\n% needs")

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield rf"\{_HEADINGS[min(level, len(_HEADINGS)) - 1]}*{{{text}}}"

    def lines(self, items: Sequence[str], listed: bool) -> Iterator[str]:
        if listed:
            items = [
                r"\begin{itemize}",
                *(rf"\item {{}}{item}" for item in items),
                r"\end{itemize}",
            ]
        yield from items

    def cell(self, text: str, *, number: bool) -> str:
        if not number:
            return self.escape(text)
        # The interval behind a number is small.
        value, separator, limits_text = text.partition(" [")
        if value.strip() in ("", UNDEFINED):
            return "--"
        limits = f"[{limits_text}".replace("[ ", "[") if separator else ""
        return _cell(WideCell(self.escape(value.strip()), self.escape(limits)))

    def bold(self, text: str) -> str:
        return rf"\textbf{{{text}}}" if text else ""

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterator[str]:
        return _table_environment("", head, rows)

    def table_block(self, block: Table) -> Iterator[str]:
        comment, *rows = super().table_block(Table(block.columns, bold_names=block.bold_names))
        caption = self.sentence(" ".join(block.caption))
        yield from (comment, *rows[:2], *_caption(caption), *rows[2:])

    def wide_table_block(self, block: WideTable) -> Iterator[str]:
        layout = block.layout
        rows = [
            [self.escape(name), *map(_cell, cells)]
            for name, cells in zip(layout.names, layout.cells, strict=True)
        ]
        # The caption of a table in a paper has to be complete, with the number of units.
        sentences = [*layout.caption("The best values are bold."), *layout.remarks]
        head = [layout.row_heading, *layout.measures]
        return _table_environment(
            " ".join(map(self.escape, sentences)), list(map(self.escape, head)), rows
        )


def _caption(text: str) -> list[str]:
    return [rf"\caption{{{text}}}"] if text else []


def _table_environment(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]
) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "% needs \\usepackage{booktabs}"
    yield from (r"\begin{table}", r"\centering", *_caption(caption))
    yield rf"\begin{{tabular}}{{{'l' * len(head)}}}"
    yield r"\toprule"
    yield _row(head)
    yield r"\midrule"
    yield from map(_row, rows)
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")


def _row(cells: Sequence[str]) -> str:
    """Return a row, protected from being read as an argument of the end of the previous row."""
    row = f"{' & '.join(cells)} \\\\"
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def _cell(cell: WideCell | None) -> str:
    """Return a number, bold if it is the best, with superscript marks and a small interval."""
    if cell is None or cell.value == UNDEFINED:
        return "--"
    text = _number(cell.value)
    text = rf"\textbf{{{text}}}" if cell.is_best else text
    if cell.marks:
        daggers = cell.marks.replace(BETTER, r"\dagger").replace(WORSE, r"\ddagger")
        letters = rf"\textsuperscript{{{cell.marks.replace('–', '--')}}}"
        text += letters if "–" in cell.marks else f"$^{{{daggers}}}$"
    if cell.interval:
        limits = ", ".join(map(_number, cell.interval.strip("[]").split(", ")))
        text += rf" {{\scriptsize [{limits}]}}"
    return text


def _number(text: str) -> str:
    """Return a number with a minus sign, and powers of ten as they are printed."""
    text = text.replace("∞", r"$\infty$")
    text = re.sub(r"e([+-]\d+)$", lambda e: rf"$\times10^{{{int(e[1])}}}$", text)
    return f"$-${text[1:]}" if text.startswith("-") else text
