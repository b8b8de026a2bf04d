"""Base class of all writers of documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from calipers.report.blocks import (
    Block,
    Findings,
    Fold,
    Heading,
    Lines,
    Medium,
    Notes,
    Table,
    Term,
    Terms,
    Verdict,
    WideTable,
    render_text,
    simplify,
)
from calipers.report.safe_names import escape_unprintable, shorten_name
from calipers.report.tables import NUMBER, NUMBERS
from calipers.report.wide import SIGNS_HEADING, WideCell, signs_key


class Writer(ABC):
    """Output format of documents: its escaping, headings, lines and tables.

    All blocks are written with these four methods; a format that supports more, such as folding,
    overrides other methods. Texts that these receive are already in the format.

    Attributes
    ----------
    name : str
        Name by which the format is requested.
    suffixes : tuple of str
        Suffixes of its files.
    medium : Medium
        Medium that its documents are read on.

    Examples
    --------
    >>> import calipers as cal
    >>> from calipers.report.documents import DisplayOptions, document
    >>> from calipers.report.writers.base import Writer
    >>> class Tabs(Writer):
    ...     name, suffixes = "tabs", (".tabs",)
    ...     def escape(self, text): return text.replace("\\t", " ")
    ...     def heading(self, text, level): yield text.upper()
    ...     def lines(self, items, listed): yield from items
    ...     def table(self, head, rows, right): yield from map("\\t".join, (head, *rows))
    >>> ev = cal.regression([1, 2, 4], [1, 2, 3], measures=["MAE"])
    >>> print(Tabs().write(document(ev, DisplayOptions(Tabs.medium))).splitlines()[0])
    REGRESSION: SYSTEM, 1 MEASURE
    """

    #: Name by which the format is requested, and suffixes of its files.
    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    medium: ClassVar[Medium] = Medium.PAGE

    @abstractmethod
    def escape(self, text: str) -> str:
        """Escape ``text``, so that the format displays it literally."""

    @abstractmethod
    def heading(self, text: str, level: int) -> Iterable[str]:
        """Return the lines of a heading.

        Parameters
        ----------
        text : str
            Text of the heading, in the format.
        level : int
            Level of the heading; 1 is the title.
        """

    @abstractmethod
    def lines(self, items: Sequence[str], listed: bool) -> Iterable[str]:
        """Return the lines of a list, or of one paragraph per item.

        Parameters
        ----------
        items : sequence of str
            Items, in the format.
        listed : bool
            Whether they are a list.
        """

    @abstractmethod
    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterable[str]:
        """Return the lines of a table.

        Parameters
        ----------
        head : sequence of str
            Headings of the columns, in the format.
        rows : sequence of sequence of str
            Cells by row, in the format.
        right : sequence of bool
            Whether each column is right-aligned.
        """

    def sentence(self, text: str) -> str:
        """Return a text of a block, in which names may be marked."""
        return self.escape(render_text(text))

    def cell(self, text: str, *, number: bool) -> str:
        """Return the content of a table cell."""
        return self.escape(text)

    def bold(self, text: str) -> str:
        """Return ``text`` in bold."""
        return text

    def code(self, text: str) -> str:
        """Return code, which is not escaped yet, in a monospaced font."""
        return self.escape(text)

    def value(self, value: str, marks: str, *, best: bool) -> str:
        """Return a number of a wide table with its marks, in bold if it is the best."""
        text = self.bold(value) if best else value
        return f"{text} ({marks})" if marks else text

    def fold(self, summary: str, lines: Sequence[str], level: int) -> Iterable[str]:
        """Return the lines of a folded part, or under a heading of that level if nothing folds."""
        return (*self.heading(summary, level), "", *lines[:-1])

    # --- Documents ------------------------------------------------------------------------------

    def write(self, blocks: Iterable[Block]) -> str:
        """Return a document."""
        return "\n".join(self._format_blocks(blocks))

    def _format_blocks(self, blocks: Iterable[Block]) -> Iterator[str]:
        for block in simplify(blocks):
            lines = list(self.block(block))
            yield from lines
            if lines and lines != [""]:  # which is a blank line already
                yield ""

    def block(self, block: Block) -> Iterable[str]:
        """Return the lines of a block."""
        match block:
            case Heading():
                return self.heading(self.sentence(block.text), block.level)
            case Lines():
                return self._lines(block.items, listed=block.is_list)
            case Verdict():
                return self._lines([*block.items, *block.others])
            case Findings():
                items = [
                    (item.severity_prefix, self.sentence(item.message)) for item in block.items
                ]
                return self._format_list(items, " ")
            case Terms():
                return self._format_list(
                    [(item.name, self._meaning(item)) for item in block.items], ": "
                )
            case Notes():
                note = self.bold(self.sentence("Note:"))
                return self._format_items([f"{note} {self.sentence(text)}" for text in block.items])
            case Table():
                return self.table_block(block)
            case WideTable():
                return self.wide_table_block(block)
            case Fold():
                inner = list(self._format_blocks(block.blocks))
                return self.fold(self.sentence(block.summary), inner, block.level)
            case _:  # blocks that this format omits, or that simplify() has replaced
                return ()

    def _lines(self, items: Sequence[str], *, listed: bool = False) -> Iterable[str]:
        return self._format_items(list(map(self.sentence, items)), listed=listed)

    def _format_list(self, items: Sequence[tuple[str, str]], separator: str) -> Iterable[str]:
        """Return a list of formatted sentences, with their subjects, if any, in bold."""
        entries = [
            f"{self.bold(self.sentence(subject))}{separator}{text}".removeprefix(separator)
            for subject, text in items
        ]
        return self._format_items(entries, listed=True)

    def _meaning(self, term: Term) -> str:
        segments = " ".join([term.text, *term.details]).split("``")  # every second one is code
        return "".join(
            self.code(escape_unprintable(segment)) if i % 2 else self.sentence(segment)
            for i, segment in enumerate(segments)
        )

    def _format_items(self, items: Sequence[str], *, listed: bool = False) -> Iterable[str]:
        return self.lines(items, listed or len(items) > 1) if items else ()

    def table_block(self, block: Table) -> Iterator[str]:
        """Yield the lines of a table."""
        numbers = [column.kind in (NUMBER, NUMBERS) for column in block.text_columns]
        rows = [
            [
                self.cell(text, number=is_number)
                for text, is_number in zip(row, numbers, strict=True)
            ]
            for row in block.rows
        ]
        if block.bold_names:
            rows = [[self.bold(name), *cells] for name, *cells in rows]
        right = [column.kind is NUMBER for column in block.text_columns]
        yield from self.table([self.escape(c.name) for c in block.text_columns], rows, right)
        if block.caption:
            yield from ("", *self._lines([" ".join(block.caption)]))

    def wide_table_block(self, block: WideTable) -> Iterator[str]:
        """Yield the lines of a wide table, and explanations of its numbers and marks."""
        layout = block.layout
        heads, names = [layout.row_heading, *layout.measures], list(layout.names)
        rows = [list(map(self._wide_cell, row)) for row in layout.cells]
        if layout.signs:
            heads.append(f"{SIGNS_HEADING}{len(names)}")
            rows = [[*row, self.code(signs)] for row, signs in zip(rows, layout.signs, strict=True)]
        for name, extra_cells in layout.below:
            names.append(name)
            rows.append([*map(self._wide_cell, extra_cells), *[""] * bool(layout.signs)])
        rows = [[self.escape(name), *row] for name, row in zip(names, rows, strict=True)]
        n_text_columns = 1 + layout.is_ranked
        if layout.is_ranked:
            heads = ["#", *heads]
            n_systems = len(layout.names)
            rows = [[str(i + 1) if i < n_systems else "", *row] for i, row in enumerate(rows)]
        right = [index >= n_text_columns for index in range(len(heads))]
        yield from self.table(list(map(self.escape, heads)), rows, right)
        key = [signs_key(shorten_name(block.measure))] * bool(layout.signs)
        sentences = [*layout.caption("The best values are bold.", tests=block.shows_tests), *key]
        yield from ("", self.escape(" ".join(sentences)))
        if layout.remarks:
            yield from ("", *self._format_items(list(map(self.escape, layout.remarks))))

    def _wide_cell(self, cell: WideCell | None) -> str:
        if cell is None:
            return ""
        value = self.value(self.cell(cell.value, number=True), cell.marks, best=cell.is_best)
        return f"{value} {self.cell(cell.interval, number=True)}".rstrip()
