"""What a document is made of: :mod:`calipers.report.documents` says which blocks a result has, a
writer how each of them looks in its format.

Texts in blocks are plain, safe to show and of no format. In sentences of ours, names are marked
(:func:`name`), since whoever chose them may have meant anything: a writer has to take a marked part
literally, and may trust the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from calipers.report.safe_names import escape_unprintable, shorten_name
from calipers.report.tables import DRAWN, KEY, NUMBER, Column

if TYPE_CHECKING:
    from calipers.report.figures.figure import Figure
    from calipers.report.tables import Whisker
    from calipers.report.wide import WideLayout


class Medium(Enum):
    """What a document is read on, which decides what it has."""

    #: A terminal: what was printed last is read first, and everything else is one command away.
    SCREEN = "screen"
    #: A page that stands alone, with sections and provenance.
    PAGE = "page"
    #: The same in a browser, with charts and all that a reader unfolds, searches and moves.
    BROWSER = "browser"
    #: What a notebook shows below a cell: what is to be said, and the numbers.
    NOTEBOOK = "notebook"
    #: A table in a paper, whose caption is all that its readers see.
    PAPER = "paper"

    @property
    def has_sections(self) -> bool:
        """Whether there is room for whatever a result has, part by part."""
        return self in (Medium.PAGE, Medium.BROWSER)


# What :func:`escape_unprintable` spells out wherever it comes from the data.
_BEGIN, _END = "\x02\x03"
_NAME = re.compile(f"{_BEGIN}([^{_END}]*){_END}")


def name(text: object) -> str:
    """A name in a sentence, marked."""
    return f"{_BEGIN}{shorten_name(text)}{_END}"


def mark_literal(text: object) -> str:
    """A text of any length of which nothing is known, marked."""
    return f"{_BEGIN}{escape_unprintable(text)}{_END}"


def has_names(text: str) -> bool:
    """Whether parts of a text are marked."""
    return _BEGIN in text


def render_text(
    text: str, of_name: Callable[[str], str] = str, of_rest: Callable[[str], str] = str
) -> str:
    """A text without its marks, each part of it made into what a format has in its place."""
    parts = _NAME.split(text)  # every second one is a name
    return "".join((of_name if i % 2 else of_rest)(part) for i, part in enumerate(parts))


@dataclass(frozen=True)
class Heading:
    """A heading; that of level 1 is the title. ``anchor`` is what links lead to, where a format has
    such; it is the same on every page."""

    text: str
    level: int = 2
    anchor: str = ""


@dataclass(frozen=True)
class Lines:
    """Sentences, each on a line of its own: a paragraph, or a list where they are several or it is
    ``listed``. What is ``aside`` may be smaller."""

    items: Sequence[str]
    listed: bool = False
    aside: bool = False


@dataclass(frozen=True)
class Verdict:
    """What is to be said first; then what the ``others`` beside the primary measure say."""

    items: Sequence[str]
    others: Sequence[str] = ()


@dataclass(frozen=True)
class FindingText:
    """A finding: ``call`` is how grave it is, as ``Warning:`` or nothing; the ``rule`` says why it
    is said, and ``numbers`` what it rests on. Of ``measures`` there is the name and, where their
    definitions are in the document, the anchor."""

    call: str
    sentence: str
    severity: str
    rule: str
    level: str
    numbers: Sequence[tuple[str, str]] = ()
    measures: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Findings:
    """What a statistician would say."""

    items: Sequence[FindingText]


@dataclass(frozen=True)
class Term:
    """A word, what it means, and what ``more`` there is to know; between double backticks stand
    words of the code."""

    name: str
    text: str
    more: Sequence[str] = ()
    anchor: str = ""


@dataclass(frozen=True)
class Terms:
    """Words, and what each means."""

    items: Sequence[Term]


@dataclass(frozen=True)
class Notes:
    """The notes of a result."""

    items: Sequence[str]


@dataclass(frozen=True)
class Provenance:
    """Where a result came from: what is known, and what it is."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """A table by column, whose cells are texts.

    ``caption`` is what is said of it where it stands alone. Text has it ``plain``, without a rule,
    or ``wrapped``: columns that do not fit beside each other in tables below each other. Where rows
    have ``bold_names``, that tells them from numbers. ``title`` is for those who do not see the
    table, and ``rows_are`` what its rows are, where they may be so many that a page folds them.
    Rows that are ``grouped`` have their first cell in common with those beside them.
    """

    columns: Sequence[Column]
    caption: Sequence[str] = ()
    plain: bool = False
    wrapped: bool = False
    bold_names: bool = False
    title: str = "Table"
    rows_are: str = ""
    grouped: bool = False

    @classmethod
    def of(cls, head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "Table") -> Table:
        """A table of rows of numbers, each of which begins with a name."""
        cells = list(zip(*rows, strict=True)) or [()] * len(head)
        kinds = [KEY, *[NUMBER] * (len(head) - 1)]
        return cls(list(map(Column, head, kinds, cells)), plain=True, title=title)

    @property
    def shown(self) -> list[Column]:
        """The columns that are made of text."""
        return [column for column in self.columns if column.kind is not DRAWN]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells by row."""
        return list(zip(*(column.cells for column in self.shown), strict=True))


@dataclass(frozen=True)
class WideTable:
    """A row a system and a column a measure; signs beside the systems, and ``whiskers`` of each
    where they are drawn, are by ``measure``."""

    made: WideLayout
    measure: str = ""
    #: Whether its caption says how it was tested.
    tests: bool = True
    whiskers: Sequence[Whisker | None] = ()


@dataclass(frozen=True)
class Fold:
    """What is shown to those who ask for it, or to everybody at once where it is ``open``."""

    summary: str
    blocks: Sequence[Block]
    #: Of the heading, where nothing folds.
    level: int = 2
    open: bool = False


@dataclass(frozen=True)
class Part:
    """One of several parts alike, such as that of each system: under a heading, or folded where
    the others can be unfolded. ``remark`` says beside its title what is found inside."""

    title: str
    blocks: Sequence[Block]
    level: int = 2
    open: bool = False
    remark: str = ""


@dataclass(frozen=True)
class Figures:
    """Charts. Where they are not ``live`` they are pictures, which do not answer to the pointer; a
    format without charts has their captions and numbers."""

    items: Sequence[Figure]
    live: bool = True


@dataclass(frozen=True)
class Pairs:
    """Every pair of many systems, for a reader to choose from: ``data`` is JSON for the script of a
    page, and stands beside what the table of all of them would be headed by."""

    count: str
    data: str
    level: str
    p: str


@dataclass(frozen=True)
class Explorer:
    """Thresholds that a reader moves: ``data`` is JSON for the script of a page."""

    data: str
    about: str


@dataclass(frozen=True)
class Downloads:
    """The result itself as texts, by the names of files."""

    files: Mapping[str, str]


Block = (
    Heading
    | Lines
    | Verdict
    | Findings
    | Terms
    | Notes
    | Provenance
    | Table
    | WideTable
    | Fold
    | Part
    | Figures
    | Pairs
    | Explorer
    | Downloads
)


def simplify(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks that every format has: parts under headings, charts by their captions and numbers;
    what needs a browser is left out."""
    for block in blocks:
        match block:
            case Part():
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
            case Pairs() | Explorer() | Downloads():
                pass
            case _:
                yield block


def figure_table(figure: Figure) -> Table:
    """The numbers of a chart."""
    head, rows = (
        map(escape_unprintable, figure.head),
        [tuple(map(escape_unprintable, row)) for row in figure.rows],
    )
    made = Table.of(list(head), rows, f"Numbers: {figure.title}")
    return replace(made, plain=False)
