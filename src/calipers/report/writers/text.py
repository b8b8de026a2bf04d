"""Plain-text output of documents, on terminals and in files."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from calipers.report.blocks import (
    Block,
    Findings,
    Fold,
    Heading,
    Lines,
    Medium,
    Notes,
    Table,
    Terms,
    Verdict,
    WideTable,
    render_text,
    simplify,
)
from calipers.report.safe_names import escape_unprintable, shorten_name
from calipers.report.tables import KEY, LINED, METHOD, NUMBER, NUMBERS, VALUE, Column
from calipers.report.text_columns import align_table, record_lines, split_columns, wrap_line
from calipers.report.wide import BEST_MARK, has_signs, signs_key, text_tables
from calipers.report.writers.base import Writer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

# Off a terminal nothing is folded: a table is as wide as its longest row.
_UNLIMITED_WIDTH = 10_000


class Text(Writer):
    """Text in columns, fitted to the width of a terminal, in color unless NO_COLOR is set."""

    name, suffixes, medium = "table", (".txt",), Medium.SCREEN

    def escape(self, text: str) -> str:
        return escape_unprintable(text)

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield text

    def lines(self, items: Sequence[str], listed: bool) -> Iterable[str]:
        return items

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterator[str]:
        yield align_table(head, rows)

    def write(self, blocks: Iterable[Block]) -> str:
        """Return the document as it is printed to a file that is not a terminal."""
        out = io.StringIO()
        self.print(blocks, out)
        return out.getvalue().strip("\n")

    def print(self, blocks: Iterable[Block], file: TextIO, *, is_plain: bool = False) -> None:
        """Print a document; ``is_plain`` without colors, rules and line breaks for a terminal."""
        if is_plain:
            out = io.StringIO()
            _print(blocks, make_console(out), first=True)
            lines = (line for line in out.getvalue().splitlines() if not _is_rule(line))
            file.write("".join(f"{line}\n" for line in lines))
        else:
            _print(blocks, make_console(file), first=True)


def _is_rule(line: str) -> bool:
    """Return whether a line is the rule below the heading of a table."""
    return bool(line) and not line.strip("─")


def _print(blocks: Iterable[Block], console: Console, *, first: bool = False) -> None:
    for block in simplify(blocks):
        blank = [] if first else [""]
        match block:
            case Heading():
                _print_lines([*blank, block.text], console, style="bold")
            case Lines():
                _print_lines([*blank, *block.items], console)
            case Verdict():
                _print_lines([*blank, *block.items], console, style="bold")
                _print_lines(block.others, console)
            case Findings():
                items = ((item.severity_prefix, item.message) for item in block.items)
                _print_lines((" ".join(filter(None, ("-", *item))) for item in items), console)
            case Terms():
                terms = ((item.name, " ".join([item.text, *item.details])) for item in block.items)
                _print_lines((f"- {term}: {text}" for term, text in terms), console)
            case Notes():
                _print_lines((f"Note: {note}" for note in block.items), console)
            case Table():
                _print_table(block, console, first=first)
            case WideTable():
                _print_wide_table(block, console, first=first)
            case Fold():
                _print([Heading(block.summary), *block.blocks], console, first=first)
        first = False


def make_console(file: TextIO) -> Console:
    """Return Rich's console for a file; without a terminal it has no color and no width limit.

    Every console is made here. In a notebook Rich would display printed text as outputs of the cell
    and write nothing to the file: a page and ``str(result)`` have to be the same everywhere.
    """
    from rich.console import Console

    options: dict[str, Any] = {"markup": False, "highlight": False, "emoji": False}
    options["force_jupyter"] = False
    if not file.isatty():
        options.update(
            width=_UNLIMITED_WIDTH, no_color=True, color_system=None, force_terminal=False
        )
    else:
        options["no_color"] = bool(os.environ.get("NO_COLOR"))
    return Console(file=file, **options)


def _print_lines(lines: Iterable[str], console: Console, style: str = "") -> None:
    """Print lines without changes."""
    from rich.text import Text as RichText

    for line in lines:
        console.print(RichText(render_text(line), style=style))


def _print_wide_table(block: WideTable, console: Console, *, first: bool) -> None:
    """Print a wide table, and explanations of its numbers and marks."""
    sentences = block.layout.caption(f"{BEST_MARK} best value.", tests=block.shows_tests)
    tables = text_tables(block.layout, console.width if console.is_terminal else None)
    for index, columns in enumerate(tables):
        _print_columns(columns, console, first=first and not index)
        sentences += [signs_key(shorten_name(block.measure))] * has_signs(columns)
    _print_lines(["", *filter(None, [" ".join(sentences)]), *block.layout.remarks], console)


def _print_table(block: Table, console: Console, *, first: bool) -> None:
    columns = block.text_columns
    # On a terminal, tables of numbers only keep their rule.
    if block.is_plain and not (console.is_terminal and columns[0].kind is NUMBER):
        _print_plain_table(columns, console, first=first)
    elif block.is_wrapped:
        keys = [column for column in columns if column.kind is KEY]
        other_columns = columns[len(keys) :]
        keys_width = sum(map(_width, keys)) + _RICH_COLUMN_SPACING * (len(keys) - 1)
        widths = [keys_width, *map(_width, other_columns)]
        for column_indices in split_columns(widths, console.width, _RICH_COLUMN_SPACING):
            _print_columns(
                [*keys, *(other_columns[index - 1] for index in column_indices)],
                console,
                first=first,
            )
            first = False
    else:
        _print_columns(columns, console, first=first)
    if block.caption:
        _print_lines(["", " ".join(block.caption)], console)


def _print_plain_table(columns: Sequence[Column], console: Console, *, first: bool) -> None:
    """Print a table without a rule, with left-aligned names of rows."""
    if not columns:
        return
    head, rows = [column.name for column in columns], zip(*(c.cells for c in columns), strict=True)
    if columns[0].kind is NUMBER:
        number_width = max(map(len, (head[0], *columns[0].cells)))
        head[0] = head[0].rjust(number_width)
        rows = ((row[0].rjust(number_width), *row[1:]) for row in rows)  # type: ignore[assignment]
    width = console.width if console.is_terminal else None
    console.file.write("\n" * (not first) + align_table(head, list(rows), width) + "\n")


def _width(column: Column) -> int:
    """Return the width of a column on a terminal, where some characters take two cells."""
    from rich.cells import cell_len

    return max(map(cell_len, (column.name, *column.cells)))


def _print_columns(columns: Sequence[Column], console: Console, *, first: bool = False) -> None:
    """Print a table, after a blank line unless it comes ``first``.

    If a terminal is too narrow, columns of details are left out; if that is not enough, each row is
    a block of lines: its keys, then all other cells.
    """
    widths = _widths(columns, console.width) if console.is_terminal else {}
    omitted: list[str] = []
    if widths is None and (narrow := _without_details(columns, console.width)):
        omitted = [column.name for column in columns if column not in narrow]
        columns, widths = narrow, _widths(narrow, console.width)
    if widths is None:
        keys = [c.name for c in columns if c.kind is KEY] or [columns[0].name]
        lines = list(record_lines({c.name: c.cells for c in columns}, keys, console.width))
    else:
        with console.capture() as capture:
            console.print(_to_rich(columns, widths))
        lines = capture.get().splitlines()
    if not console.is_terminal:  # there no blanks pad every line
        lines = [line.rstrip() for line in lines]
    if omitted:
        note = f"Columns that do not fit: {', '.join(omitted)}."
        lines += ["", *wrap_line(note, console.width, hanging=0)]
    console.file.write("\n".join([*([] if first else [""]), *lines, ""]))


def _without_details(columns: Sequence[Column], width: int) -> list[Column]:
    """Return the columns that fit without details, such as effects and tests; empty if none do.

    A table is about the numbers in the column of its value, which stays with its interval, p-value
    and verdict.
    """
    if not any(column.role is VALUE for column in columns):
        return []
    # The last ones go first, before them the methods.
    details = [c for c in columns[::-1] if c.role in (METHOD, None) and c.kind is not KEY]
    remaining = list(columns)
    for column in sorted(details, key=lambda c: c.role is not METHOD):
        remaining.remove(column)
        if _widths(remaining, width) is not None:
            return remaining
    return []


#: Between two columns of a table; and how narrow names and remarks may be folded.
_RICH_COLUMN_SPACING = 3
_MIN_FOLDED_WIDTH = 12
_RIGHT_ALIGNED_KINDS = (NUMBER, NUMBERS)
_NO_WRAP_KINDS = (*_RIGHT_ALIGNED_KINDS, LINED)


def _widths(columns: Sequence[Column], width: int) -> dict[str, int] | None:
    """Return the column widths that fit a total width, or None if there are none.

    Names are folded, numbers are not.
    """
    widths = {c.name: _width(c) for c in columns}
    foldable = [c.name for c in columns if c.kind not in _NO_WRAP_KINDS]
    available_width = width - _RICH_COLUMN_SPACING * (len(widths) - 1)
    while sum(widths.values()) > available_width:
        folds = [name for name in foldable if widths[name] > max(_MIN_FOLDED_WIDTH, len(name))]
        if not folds:
            return None
        widths[max(folds, key=lambda name: widths[name])] -= 1
    return widths


def _to_rich(columns: Sequence[Column], widths: Mapping[str, int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    out = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        right = column.kind in _RIGHT_ALIGNED_KINDS
        out.add_column(
            RichText(column.name),
            justify="right" if right else "left",
            no_wrap=column.kind in _NO_WRAP_KINDS,
            overflow="fold",
            width=widths.get(column.name),
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        out.add_row(*map(RichText, row))
    return out
