"""What a document is made of: :mod:`calipers.report.documents` says which blocks a result has, a
writer how each of them looks in its format.

Texts in blocks are plain, safe to show and of no format. In sentences of ours, names are marked
(:func:`name`), since whoever chose them may have meant anything: a writer has to take a marked part
literally, and may trust the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from calipers.report.names import short, visible
from calipers.report.tables import KEY, NUMBER, Column

if TYPE_CHECKING:
    from calipers.report.wide import Wide


class Medium(Enum):
    """What a document is read on, which decides what it has."""

    #: A terminal: what was printed last is read first, and everything else is one command away.
    SCREEN = "screen"
    #: A page that stands alone, with sections and provenance.
    PAGE = "page"
    #: A table in a paper, whose caption is all that its readers see.
    PAPER = "paper"


# What :func:`visible` spells out wherever it comes from the data.
_BEGIN, _END = "\x02\x03"
_NAME = re.compile(f"{_BEGIN}([^{_END}]*){_END}")


def name(text: object) -> str:
    """A name in a sentence, marked."""
    return f"{_BEGIN}{short(text)}{_END}"


def literal(text: object) -> str:
    """A text of any length of which nothing is known, marked."""
    return f"{_BEGIN}{visible(text)}{_END}"


def has_names(text: str) -> bool:
    """Whether parts of a text are marked."""
    return _BEGIN in text


def spoken(
    text: str, of_name: Callable[[str], str] = str, of_rest: Callable[[str], str] = str
) -> str:
    """A text without its marks, each part of it made into what a format has in its place."""
    parts = _NAME.split(text)  # every second one is a name
    return "".join((of_name if i % 2 else of_rest)(part) for i, part in enumerate(parts))


@dataclass(frozen=True)
class Heading:
    """A heading; that of level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Lines:
    """Sentences, each on a line of its own: a paragraph, or a list where they are several or it is
    ``listed``."""

    items: Sequence[str]
    listed: bool = False


@dataclass(frozen=True)
class Verdict:
    """What is to be said first; then what the ``others`` beside the primary measure say."""

    items: Sequence[str]
    others: Sequence[str] = ()


@dataclass(frozen=True)
class Findings:
    """What a statistician would say: how grave it is, as ``Warning:`` or nothing, and a
    sentence."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Terms:
    """Words, and what each means."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Notes:
    """The notes of a result."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table by column, whose cells are texts.

    ``caption`` is what is said of it where it stands alone. Text has it ``plain``, without a rule,
    or ``wrapped``: columns that do not fit beside each other in tables below each other. Where rows
    have ``bold_names``, that tells them from numbers.
    """

    columns: Sequence[Column]
    caption: Sequence[str] = ()
    plain: bool = False
    wrapped: bool = False
    bold_names: bool = False

    @classmethod
    def of(cls, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
        """A table of rows of numbers, each of which begins with a name."""
        cells = list(zip(*rows, strict=True)) or [()] * len(head)
        kinds = [KEY, *[NUMBER] * (len(head) - 1)]
        return cls(list(map(Column, head, kinds, cells)), plain=True)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells by row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


@dataclass(frozen=True)
class WideTable:
    """A row a system and a column a measure; signs beside the systems are by ``measure``."""

    made: Wide
    measure: str = ""
    #: Whether its caption says how it was tested.
    tests: bool = True


@dataclass(frozen=True)
class Fold:
    """What is shown to those who ask for it."""

    summary: str
    blocks: Sequence[Block]
    #: Of the heading, where nothing folds.
    level: int = 2


Block = Heading | Lines | Verdict | Findings | Terms | Notes | Table | WideTable | Fold
