"""Blocks of documents.

:mod:`calipers.report.documents` defines which blocks a result has, and a writer how they look in
its format. Texts in blocks are plain and independent of the format. Names in sentences are marked
(:func:`mark_name`), so that a writer can escape all their punctuation. Other text may come from a
file of results as well: :func:`render_text` escapes its control characters, and a writer what is
markup in its format.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from calipers.lazy_dataclasses import dataclass
from calipers.report.safe_names import escape_unprintable, shorten_name
from calipers.report.tables import DRAWING, KEY, NUMBER, Column, select_rows

if TYPE_CHECKING:
    from calipers.report.figures.figure import Figure
    from calipers.report.tables import Whisker
    from calipers.report.wide import WideLayout


class Medium(Enum):
    """Medium that a document is read on, which determines its contents."""

    #: A terminal: the end is read first, and everything else is one command away.
    SCREEN = "screen"
    #: A page that stands alone, with sections and provenance.
    PAGE = "page"
    #: The same in a browser, with charts and interactive parts.
    BROWSER = "browser"
    #: The output of a notebook cell: the main sentences, a plot and the first numbers.
    NOTEBOOK = "notebook"
    #: The same in a few lines of text, where Python shows a value.
    CONSOLE = "console"
    #: A table in a paper, with everything in its caption.
    PAPER = "paper"

    @property
    def has_sections(self) -> bool:
        """Whether there is room for all parts of a result."""
        return self in (Medium.PAGE, Medium.BROWSER)

    @property
    def is_summary(self) -> bool:
        """Whether there is room for the main parts of a result only."""
        return self in _MAX_ROWS

    @property
    def max_rows(self) -> int:
        """Largest number of rows of a table."""
        return _MAX_ROWS.get(self, sys.maxsize)


_MAX_ROWS = {Medium.NOTEBOOK: 30, Medium.CONSOLE: 8}


# What :func:`escape_unprintable` spells out wherever it comes from the data.
_BEGIN, _END = "\x02\x03"
_NAME = re.compile(f"{_BEGIN}([^{_END}]*){_END}")


def mark_name(text: object) -> str:
    """Return a name in a sentence, marked."""
    return f"{_BEGIN}{shorten_name(text)}{_END}"


def mark_literal(text: object) -> str:
    """Return a text of any length from the data, marked."""
    return f"{_BEGIN}{escape_unprintable(text)}{_END}"


def render_text(
    text: str, convert_name: Callable[[str], str] = str, convert_text: Callable[[str], str] = str
) -> str:
    """Return a text without its marks, with names and other parts converted to a format.

    Unprintable characters are escaped, such as those of a unit that a file states.
    """
    segments = _NAME.split(text)  # every second one is a name
    return "".join(
        (convert_name if i % 2 else convert_text)(escape_unprintable(segment))
        for i, segment in enumerate(segments)
    )


@dataclass(frozen=True)
class Heading:
    """Heading; that of level 1 is the title.

    ``anchor`` is the target of links, for formats that have them; it is the same on every page.
    """

    text: str
    level: int = 2
    anchor: str = ""


@dataclass(frozen=True)
class Lines:
    """Sentences, each on its own line.

    They are a paragraph, or a list if there are several or it is ``is_list``. Lines that are
    ``aside`` may be smaller.
    """

    items: Sequence[str]
    is_list: bool = False
    aside: bool = False


@dataclass(frozen=True)
class Verdict:
    """Main sentences of a result, and ``others`` on measures other than the primary one."""

    items: Sequence[str]
    others: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """Value and interval in a plot, with positions in percent of its width."""

    value: str
    low: str
    high: str

    @property
    def width(self) -> str:
        """Length of the interval."""
        return f"{float(self.high[:-1]) - float(self.low[:-1]):.2f}%"


@dataclass(frozen=True, slots=True)
class Tick:
    """Labeled position on the axis of a plot."""

    position: str
    label: str


@dataclass(frozen=True, slots=True)
class PlotRow:
    """System in an estimation plot: its value, and its difference from the leader or baseline."""

    rank: str
    name: str
    value: str
    interval: str
    bar: Bar | None
    difference: str
    difference_interval: str
    difference_bar: Bar | None
    letters: str
    is_significant: bool
    color: str


@dataclass(frozen=True)
class EstimationPlot:
    """Plot of the primary measure: values with intervals, and differences with theirs.

    It is drawn from positions in percent, as a table whose numbers are text. ``shade`` is the
    interval of the leader.
    """

    measure: str
    direction: str
    rows: Sequence[PlotRow]
    difference_heading: str
    ticks: Sequence[Tick]
    difference_ticks: Sequence[Tick]
    zero: str
    no_skill: str
    shade: Bar | None
    caption: Sequence[str]


@dataclass(frozen=True)
class FindingText:
    """Finding of a document.

    ``severity_prefix`` is its severity, such as ``Warning:``, or empty; the ``criterion`` is its
    criterion, and ``values`` its values. ``measures`` have their names and, if their definitions
    are in the document, the anchors of these.
    """

    severity_prefix: str
    message: str
    severity: str
    criterion: str
    level: str
    values: Sequence[tuple[str, str]] = ()
    measures: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Findings:
    """Findings of a result; those that ``are_cards`` are the most important ones."""

    items: Sequence[FindingText]
    are_cards: bool = False


@dataclass(frozen=True)
class Term:
    """Term with its definition and ``details`` information; code is in double backticks."""

    name: str
    text: str
    details: Sequence[str] = ()
    anchor: str = ""


@dataclass(frozen=True)
class Terms:
    """Terms with their definitions."""

    items: Sequence[Term]


@dataclass(frozen=True)
class Notes:
    """Notes of a result."""

    items: Sequence[str]


@dataclass(frozen=True)
class Provenance:
    """Provenance of a result, as pairs of name and value."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """Table by column, whose cells are texts.

    ``caption`` is shown if the table is alone. In text it may be ``is_plain``, without a rule, or
    ``is_wrapped``: columns that do not fit next to each other are in tables below each other.
    ``bold_names`` distinguish names from numbers. ``title`` is for screen readers, and
    ``row_description`` describes the rows, of which a page may fold many. Rows that are
    ``is_grouped`` have their first cell in common with adjacent rows.
    """

    columns: Sequence[Column]
    caption: Sequence[str] = ()
    is_plain: bool = False
    is_wrapped: bool = False
    bold_names: bool = False
    title: str = "Table"
    row_description: str = ""
    is_grouped: bool = False

    @classmethod
    def from_rows(
        cls, head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "Table"
    ) -> Table:
        """Return a table from rows of numbers, each of which begins with a name."""
        cells = list(zip(*rows, strict=True)) or [()] * len(head)
        column_types = [KEY, *[NUMBER] * (len(head) - 1)]
        return cls(list(map(Column, head, column_types, cells)), is_plain=True, title=title)

    @property
    def text_columns(self) -> list[Column]:
        """Columns of text, without unprintable characters."""
        return [
            column._replace(
                name=escape_unprintable(column.name),
                cells=list(map(escape_unprintable, column.cells)),
            )
            for column in self.columns
            if column.kind is not DRAWING
        ]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Cells by row."""
        return list(zip(*(column.cells for column in self.text_columns), strict=True))


@dataclass(frozen=True)
class WideTable:
    """Table with a row per system and a column per measure.

    Rows of signs, and ``whiskers`` if intervals are drawn, are by ``measure``.
    """

    layout: WideLayout
    measure: str = ""
    #: Whether its caption says how it was tested.
    shows_tests: bool = True
    whiskers: Sequence[Whisker | None] = ()
    title: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks that the reader can unfold, or that are unfolded at first if it is ``open``."""

    summary: str
    blocks: Sequence[Block]
    #: Of the heading, where nothing folds.
    level: int = 2
    open: bool = False


@dataclass(frozen=True)
class Subsection:
    """One of several similar subsections, such as that of each system.

    It is under a heading, or folded if the others can be unfolded. ``remark``, next to the title,
    says what it contains.
    """

    title: str
    blocks: Sequence[Block]
    level: int = 2
    open: bool = False
    remark: str = ""


@dataclass(frozen=True)
class Figures:
    """Charts.

    If they are not ``is_interactive`` they are images without interaction. A format without charts
    has their captions and tables.
    """

    items: Sequence[Figure]
    is_interactive: bool = True


@dataclass(frozen=True)
class Pairs:
    """Selector of pairs of many systems: ``data`` is JSON for the script of a page."""

    n_pairs_text: str
    data: str
    level: str
    p_heading: str


@dataclass(frozen=True)
class Explorer:
    """Threshold explorer: ``data`` is JSON for the script of a page."""

    data: str
    note: str


@dataclass(frozen=True)
class Downloads:
    """Files of the result, by file name."""

    files: Mapping[str, str]


Block = (
    Heading
    | Lines
    | Verdict
    | EstimationPlot
    | Findings
    | Terms
    | Notes
    | Provenance
    | Table
    | WideTable
    | Fold
    | Subsection
    | Figures
    | Pairs
    | Explorer
    | Downloads
)


def simplify(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks that every format has.

    Subsections are under headings, charts become captions and tables, and interactive blocks are
    omitted.
    """
    for block in blocks:
        match block:
            case Subsection():
                yield Heading(block.title, block.level)
                yield from simplify(block.blocks)
            case Provenance():
                facts = [
                    f"{mark_literal(key)}: {mark_literal(value)}" for key, value in block.items
                ]
                yield Fold("Provenance", [Lines(facts)])
            case Figures():
                for figure in block.items:
                    yield Heading(mark_literal(figure.title), 3)
                    yield Lines([mark_literal(figure.caption)])
                    yield Fold("Numbers", [figure_table(figure)], level=4)
            case Pairs() | Explorer() | Downloads() | EstimationPlot():
                pass
            case _:
                yield block


def shorten(blocks: Iterable[Block], max_rows: int) -> Iterator[Block]:
    """Yield the blocks with the first rows of long tables, and how many rows were left out.

    A plot has its last row too.
    """
    for block in blocks:
        n_rows = 0
        match block:
            case Table() if block.columns:
                n_rows = len(block.columns[0].cells)
                indices = range(min(n_rows, max_rows))
                yield replace(block, columns=select_rows(block.columns, indices))
            case WideTable():
                n_rows = len(block.layout.names)
                layout, whiskers = block.layout.head(max_rows), block.whiskers[:max_rows]
                yield replace(block, layout=layout, whiskers=whiskers)
            case EstimationPlot() if len(block.rows) > max_rows:
                yield replace(block, rows=[*block.rows[: max_rows - 1], block.rows[-1]])
            case Fold() | Subsection():
                yield replace(block, blocks=list(shorten(block.blocks, max_rows)))
            case _:
                yield block
        if n_rows > max_rows:
            rows = "row" if n_rows == max_rows + 1 else "rows"
            yield Lines([f"{n_rows - max_rows:,} more {rows}: print() shows all."], aside=True)


def figure_table(figure: Figure) -> Table:
    """Return the table of a chart."""
    head, rows = (
        map(escape_unprintable, figure.header),
        [tuple(map(escape_unprintable, row)) for row in figure.rows],
    )
    table = Table.from_rows(list(head), rows, f"Numbers: {figure.title}")
    return replace(table, is_plain=False)
