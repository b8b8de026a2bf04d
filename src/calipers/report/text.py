"""Results as plain text, on a terminal and off it, and as CSV."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from calipers.report import numbers
from calipers.report.columns import records
from calipers.report.names import short, visible
from calipers.report.rows import (
    MARGIN_HEAD,
    OVERALL_HEAD,
    call_of,
    difference_rows,
    estimate_rows,
    heading,
    judgments,
    margin_cells,
    overall_rows,
    remarks,
    unit_label,
)
from calipers.report.slices import MOST_IN_TEXT, left_out_text, slice_groups
from calipers.report.slices import cells as slice_cells
from calipers.report.verdict import (
    adjustment_text,
    comparison_headlines,
    headlines,
    p_heading,
    sentences,
)
from calipers.results import Comparison, Estimate, Evaluation, Slices

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Off a terminal nothing is folded: a table is as wide as its longest row.
_WIDE = 10_000
#: More differences than these are summed up, a sentence a pair of systems.
MOST_SENTENCES = 12


def estimate_sentence(estimate: Estimate) -> str:
    """``nDCG@10 0.412 [0.385, 0.439] 95% bootstrap-t over 50 topics``."""
    e = estimate
    digits = numbers.single(e.value, e.low, e.high)
    parts = [short(e.measure), digits.triple(e.value, e.low, e.high)]
    if e.system:
        parts.insert(0, f"{short(e.system)}:")
    if e.has_interval:
        parts.append(f"{numbers.percent(e.level)} {short(e.method)}")
    if not math.isnan(e.value):
        parts.append(f"over {numbers.count(e.n, short(e.unit))}")
    if e.possible:
        parts.append(f"(all judged: {judgments(e, digits)})")
    why = remarks(e)
    return " ".join(parts) + (f" ({why})" if why else "")


def table(evaluation: Evaluation) -> str:
    """Everything a reader at a terminal needs: tables, verdict, notes."""
    out = io.StringIO()
    _print(evaluation, _console(out, plain=True))
    return out.getvalue().strip("\n")


def print_table(evaluation: Evaluation, file: TextIO) -> None:
    """Print :func:`table` to ``file``, in colour if that is a terminal and NO_COLOR is not set."""
    _print(evaluation, _console(file, plain=not file.isatty()))


def comparison_table(comparison: Comparison) -> str:
    """The differences as a table and a sentence for each, or for each pair where they are many."""
    out = io.StringIO()
    _print_comparison(comparison, _console(out, plain=True))
    return out.getvalue().strip("\n")


def print_comparison(comparison: Comparison, file: TextIO) -> None:
    """Print :func:`comparison_table` to ``file``, as wide as its terminal."""
    _print_comparison(comparison, _console(file, plain=not file.isatty()))


def print_plan(lines: Iterable[str], cells: Mapping[str, Sequence[str]], file: TextIO) -> None:
    """Print sentences, and a table of numbers whose first column names the rows."""
    console = _console(file, plain=not file.isatty())
    _print_lines(lines, console)
    _print_table(cells, tuple(cells), tuple(cells)[:1], console)


def _print_comparison(comparison: Comparison, console: Console) -> None:
    _print_differences(comparison, console)
    _print_overall(comparison, console)
    many = len(comparison) > MOST_SENTENCES
    said = comparison_headlines(comparison) if many else sentences(comparison)
    _print_lines(["", *said], console)
    _print_lines(filter(None, [adjustment_text(comparison)]), console)
    _print_lines([f"Note: {visible(note)}" for note in comparison.notes], console)


def _print_overall(comparison: Comparison, console: Console) -> None:
    if not comparison.overall:
        return
    _print_lines(["", "All systems together"], console, style="bold")
    columns = zip(*overall_rows(comparison), strict=True)
    cells = {name: list(column) for name, column in zip(OVERALL_HEAD, columns, strict=True)}
    _print_table(cells, OVERALL_HEAD[2:-1], OVERALL_HEAD[:2], console)


def slices_table(slices: Slices) -> str:
    """The slices, a table a column that they are cut by."""
    out = io.StringIO()
    _print_slices(slices, _console(out, plain=True))
    return out.getvalue().strip("\n")


def _print_slices(slices: Slices, console: Console) -> None:
    groups, left_out = slice_groups(slices, MOST_IN_TEXT)
    for column in slices.columns:
        _print_lines(["", f"Slices by {short(column)}"], console, style="bold")
        shown, numeric = slice_cells([g for g in groups if g.column == short(column)], slices)
        _print_table(shown, numeric, ("measure", "slice", "system"), console)
    if left_out:
        _print_lines(["", left_out_text(left_out)], console)


def _console(file: TextIO, *, plain: bool) -> Console:
    from rich.console import Console

    if plain:
        return Console(
            file=file, width=_WIDE, no_color=True, color_system=None, force_terminal=False,
            markup=False, highlight=False, emoji=False,
        )  # fmt: skip
    no_color = bool(os.environ.get("NO_COLOR"))
    return Console(file=file, no_color=no_color, markup=False, highlight=False, emoji=False)


def _print(evaluation: Evaluation, console: Console) -> None:
    _print_lines([heading(evaluation)], console, style="bold")
    if evaluation.findings:
        _print_lines(["", "Findings"], console, style="bold")
        found = [f"- {call_of(f)}{visible(f.sentence)}" for f in evaluation.findings]
        _print_lines(found, console)
    if evaluation.estimates:
        _print_estimates(evaluation, console)
    if evaluation.comparison is not None and len(evaluation.comparison):
        _print_differences(evaluation.comparison, console)
    if evaluation.slices is not None:
        _print_slices(evaluation.slices, console)
    _print_lines(["", *headlines(evaluation)], console, style="bold")
    _print_lines([f"Note: {visible(note)}" for note in evaluation.notes], console)


def _print_lines(lines: Iterable[str], console: Console, style: str = "") -> None:
    from rich.text import Text

    for line in lines:
        console.print(Text(line, style=style))


def _print_table(
    cells: Mapping[str, Sequence[str]],
    right: Collection[str],
    keys: Sequence[str],
    console: Console,
) -> None:
    """Print a table after a blank line, without its empty columns; those of ``keys`` say what a row
    is about. Where a terminal is too narrow for it, each row is a block of lines."""
    shown = {name: column for name, column in cells.items() if any(column)}
    widths = _widths(shown, right, console.width) if console.is_terminal else {}
    if widths is None:
        lines = list(records(shown, keys, console.width))
    else:
        with console.capture() as capture:
            console.print(_table(shown, right, widths))
        lines = capture.get().splitlines()
    if not console.is_terminal:  # there no blanks pad every line
        lines = [line.rstrip() for line in lines]
    console.file.write("\n".join(["", *lines, ""]))


#: Between two columns of a table; and how narrow names and remarks may be folded.
_GAP = 3
_NARROW = 12


def _widths(
    cells: Mapping[str, Sequence[str]], right: Collection[str], width: int
) -> dict[str, int] | None:
    """How wide each column is where all of them are to fit; None where they cannot. Names fold,
    numbers never do."""
    from rich.cells import cell_len

    widths = {name: max(map(cell_len, (name, *column))) for name, column in cells.items()}
    room = width - _GAP * (len(widths) - 1)
    while sum(widths.values()) > room:
        folds = {n: w for n, w in widths.items() if n not in right and w > max(_NARROW, len(n))}
        if not folds:
            return None
        widths[max(folds, key=lambda name: folds[name])] -= 1
    return widths


def _print_estimates(evaluation: Evaluation, console: Console) -> None:
    rows = estimate_rows(evaluation)
    level, unit = numbers.percent(evaluation.level), unit_label(evaluation)
    cells = {
        "measure": [r.measure for r in rows],
        "system": [r.system for r in rows],
        "value": [r.value for r in rows],
        f"{level} interval": [r.interval for r in rows],
        "judgments": [r.judgments for r in rows],
        "method": [r.method for r in rows],
        unit: [r.n for r in rows],
        "default": [r.default for r in rows],
        "remarks": [r.remarks for r in rows],
    }
    if len(evaluation.systems) == 1:
        del cells["system"]
    right = ("value", f"{level} interval", "judgments", unit, "default")
    _print_table(cells, right, ("measure", "system"), console)


def _print_differences(comparison: Comparison, console: Console) -> None:
    rows = difference_rows(comparison)
    level = numbers.percent(comparison.level)
    p = p_heading(comparison)
    cells = {
        "measure": [r.measure for r in rows],
        "systems": [r.systems for r in rows],
        "difference": [r.value for r in rows],
        f"{level} interval": [r.interval for r in rows],
        p: [r.p for r in rows],
        "test": [r.test for r in rows],
        "effect": [r.effect for r in rows],
        "wins/ties/losses": [r.counts for r in rows],
        "detectable": [r.detectable for r in rows],
        **margin_cells(rows),
        "remarks": [r.remarks for r in rows],
    }
    right = ("difference", f"{level} interval", p, "effect", "wins/ties/losses", "detectable")
    _print_table(cells, (*right, *MARGIN_HEAD), ("measure", "systems"), console)


def _table(
    cells: Mapping[str, Sequence[str]], right: Collection[str], widths: Mapping[str, int]
) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in cells:
        numeric = name in right
        out.add_column(
            Text(name),
            justify="right" if numeric else "left",
            no_wrap=numeric,
            overflow="fold",
            width=widths.get(name),
        )
    for row in zip(*cells.values(), strict=True):
        out.add_row(*map(Text, row))
    return out


# A spreadsheet takes a cell that begins so for a formula and may run it; the full-width forms
# count where the locale uses them.
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """``rows`` as CSV (RFC 4180, lines end in ``\\n``): full precision, undefined values empty.

    Numbers are written as they are. Text that a spreadsheet would take for a formula gets an
    apostrophe in front, and terminal escapes are spelled out; all other text is exact. To read a
    name back, take one leading apostrophe off where one of ``= + - @`` follows the apostrophes.
    JSON has every name exact.
    """
    data = list(rows)
    columns = list(dict.fromkeys(name for row in data for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in columns])
    writer.writerows([_csv_cell(row.get(name)) for name in columns] for row in data)
    return out.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):  # NumPy's float64 too, whose own repr is not a number
        return "" if math.isnan(value) else repr(float(value))
    if not isinstance(value, str):
        return str(value)
    text = visible(value, keep="\t\n\r")
    # Apostrophes already there count as part of the start, so that no two names become one.
    return f"'{text}" if text.lstrip("' ")[:1] in _FORMULA else text
