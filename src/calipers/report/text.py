"""Results as plain text, on a terminal and off it, and as CSV."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from calipers.report import cutoffs, fronts, numbers, plan, tables
from calipers.report.asked import in_names_asked
from calipers.report.columns import records
from calipers.report.grid import BEST, has_signs, is_wide, signs_key, text_tables
from calipers.report.headlines import (
    MOST_PAIRS,
    comparison_headlines,
    headlines,
    left_out,
    of_primary,
    other_measures,
    others,
)
from calipers.report.names import method_text, short, visible
from calipers.report.rows import (
    bounds,
    call_of,
    finding_text,
    heading,
    judgments,
    remarks,
    told_once,
)
from calipers.report.tables import KEY, LINED, NUMBER, NUMBERS, Column, filled
from calipers.report.verdict import (
    adjustment_text,
    pairs,
    sentences,
)
from calipers.report.wide import (
    Wide,
    is_of_many,
    of_evaluation,
    of_many,
    primary_of,
)
from calipers.report.wide import of_comparison as of_pairs
from calipers.results import Comparison, Curve, Cutoffs, Estimate, Evaluation, Plan, Slices

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
    parts = [f"{short(e.system)}:"] if e.system else []
    parts += [short(e.called), digits.triple(e.value, e.low, e.high)]
    if e.has_interval:
        # After what speaks against a method comes a pause.
        parts.append(
            f"{numbers.percent(e.level)} {method_text(e.method)}" + "," * (", but " in e.method)
        )
    if not math.isnan(e.value):
        parts.append(f"over {numbers.count(e.n, short(e.unit))}")
    if judged := judgments(e, digits):
        parts.append(f"(all judged: {judged})")
    if exact := bounds(e):
        parts.append(f"(the exact value is in {exact})")
    why = remarks(e)
    return " ".join(parts) + (f" ({why})" if why else "")


def curve_sentence(curve: Curve) -> str:
    """``ROC of forest: 61 points of True positive rate against False positive rate``."""
    of = [short(name) for name in (curve.series, curve.system, curve.output) if name]
    who = f" of {', '.join(of)}" if of else ""
    axes = f"{short(curve.y_label)} against {short(curve.x_label)}"
    if curve.shape == "point" and len(curve):
        return f"{short(curve.kind)}{who}: {curve.y[0]:.4g} at {curve.x[0]:.4g}, {axes}"
    band = ""
    if len(curve.low):
        band = f", {numbers.percent(curve.level)} band by {short(curve.method)}"
    return f"{short(curve.kind)}{who}: {numbers.count(len(curve), 'points')} of {axes}{band}"


def printed(show: Callable[..., None], *what: Any, **how: Any) -> str:
    """What a function prints of something to a file that is no terminal."""
    out = io.StringIO()
    show(*what, out, **how)
    return out.getvalue().strip("\n")


def print_result(
    result: Evaluation | Comparison, file: TextIO, *, layout: str | None = None
) -> None:
    """Print an evaluation or a comparison."""
    if isinstance(result, Evaluation):
        print_evaluation(result, file, layout=layout)
    else:
        print_comparison(result, file, layout=layout)


@in_names_asked
def print_evaluation(evaluation: Evaluation, file: TextIO, *, layout: str | None = None) -> None:
    """Print everything a reader at a terminal needs: tables, verdict, notes; in colour if ``file``
    is a terminal and NO_COLOR is not set."""
    console, wide = console_of(file), is_wide(evaluation, layout)
    comparison = evaluation.comparison or None
    below = comparison is not None and len(pairs(comparison)) <= MOST_PAIRS
    print_lines([heading(evaluation)], console, style="bold")
    if evaluation.findings:
        print_lines(["", "Findings"], console, style="bold")
        found = told_once(evaluation.findings)
        print_lines((f"- {call_of(f)}{finding_text(f, alike)}" for f, alike in found), console)
    if evaluation.estimates:
        if wide:
            made = of_evaluation(evaluation)
            _print_wide(made, primary_of(evaluation), console, tests=not below)
        else:
            print_columns(tables.of_estimates(evaluation), console)
    if comparison is not None and below:
        _print_differences(comparison, console, wide=wide)
    elif comparison is not None:
        print_lines([*([] if wide else [""]), left_out(comparison)], console)
    if evaluation.costs is not None:
        _print_costs(evaluation, evaluation.costs, console, layout=layout)
    if evaluation.slices is not None:
        _print_slices(evaluation.slices, console)
    if evaluation.cutoffs is not None:
        print_cutoffs(evaluation.cutoffs, file)
    print_lines(["", *headlines(evaluation)], console, style="bold")
    print_lines(filter(None, [others(evaluation)]), console)
    print_notes(evaluation.notes, console)


def _print_costs(
    evaluation: Evaluation, costs: Evaluation, console: Console, *, layout: str | None
) -> None:
    """What the systems cost, and the fronts."""
    print_lines(["", "Costs"], console, style="bold")
    if is_wide(costs, layout):
        _print_wide(of_evaluation(costs), primary_of(costs), console)
    else:
        print_columns(tables.of_estimates(costs), console)
    for front in evaluation.fronts:
        title = f"{short(front.measure)} against {short(front.cost_measure)}"
        print_lines(["", title], console, style="bold")
        print_columns(fronts.table(front), console)
    if evaluation.fronts:
        print_lines(["", fronts.said_of(evaluation.fronts)], console)


def _print_differences(comparison: Comparison, console: Console, *, wide: bool) -> None:
    """The differences below the numbers of the systems; in the wide layout many of them have a row
    a pair."""
    if wide and len(comparison) > MOST_SENTENCES:
        _print_wide(of_pairs(comparison), "", console)
    else:
        print_columns(tables.of_differences(comparison), console)
        print_lines(["", *filter(None, [adjustment_text(comparison)])], console)


def _print_wide(
    made: Wide, measure: str, console: Console, *, tests: bool = True, first: bool = False
) -> None:
    """A wide table, and what its numbers and marks mean."""
    said = made.said(f"{BEST} the best.", tests=tests)
    parts = text_tables(made, console.width if console.is_terminal else None)
    for place, columns in enumerate(parts):
        print_columns(columns, console, first=first and not place)
        said += [signs_key(short(measure))] * has_signs(columns)
    print_lines(["", *filter(None, [" ".join(said)]), *made.remarks], console)


@in_names_asked
def print_comparison(comparison: Comparison, file: TextIO, *, layout: str | None = None) -> None:
    """Print the differences as a table and a sentence for each, or for each pair where they are
    many; many systems in the order of their lead."""
    console = console_of(file)
    many = len(comparison) > MOST_SENTENCES
    said = comparison_headlines(comparison) if many else sentences(comparison)
    said += [other_measures(comparison)] if many else []
    wide = is_wide(comparison, layout)
    if wide:
        made = of_many(comparison) if is_of_many(comparison) else of_pairs(comparison)
        _print_wide(made, of_primary(comparison)[0].measure, console, first=True)
    else:
        print_columns(tables.of_differences(comparison), console, first=True)
        said += filter(None, [adjustment_text(comparison)])
    if comparison.overall:
        print_lines(["", "All systems together"], console, style="bold")
        together = tables.of_all_systems(comparison)
        print_columns(together[:-1] if is_of_many(comparison) and wide else together, console)
    print_lines(["", *said], console)
    print_notes(comparison.notes, console)


def print_plan(planned: Plan, file: TextIO) -> None:
    """Print the sentences and the table of a plan."""
    console, columns = console_of(file), plan.columns(planned)
    print_lines(plan.lines(planned), console)
    print_columns(columns, console, [columns[0].name])


def print_changes(columns: Sequence[Column], notes: Iterable[str], file: TextIO) -> None:
    """What changed between two evaluations: a table, and what else was different."""
    console = console_of(file)
    if columns[0].cells:
        print_columns(columns, console)
        console.file.write("\n")
    print_lines(notes, console)


def print_slices(slices: Slices, file: TextIO) -> None:
    """Print the slices, a table a column that they are cut by."""
    _print_slices(slices, console_of(file))


def print_cutoffs(made: Cutoffs, file: TextIO) -> None:
    """Print the table of cut-offs of each system, and what it holds."""
    console = console_of(file)
    for own in made:
        if len(made) > 1:
            print_lines(["", f"Cut-offs of {short(own.system)}"], console, style="bold")
        print_columns(cutoffs.columns(made, own), console)
    print_lines(["", cutoffs.caption(made)], console)
    print_notes(made.notes, console)


def _print_slices(slices: Slices, console: Console) -> None:
    for title, (by_column, folded) in (
        ("Slices by", tables.of_slices(slices)),
        ("Systems compared within slices by", tables.of_systems_within(slices)),
    ):
        for name, columns in by_column.items():
            print_lines(["", f"{title} {name}"], console, style="bold")
            print_columns(columns, console)
        if folded:
            print_lines(["", folded], console)


def console_of(file: TextIO) -> Console:
    """Rich's console for a file; off a terminal, without colour and as wide as need be.

    Every console is made here. In a notebook Rich would show what is printed as outputs of the cell
    and write nothing to the file: a page and ``str(result)`` have to be the same everywhere.
    """
    from rich.console import Console

    plain: dict[str, Any] = {"markup": False, "highlight": False, "emoji": False}
    plain["force_jupyter"] = False
    if not file.isatty():
        plain.update(width=_WIDE, no_color=True, color_system=None, force_terminal=False)
    else:
        plain["no_color"] = bool(os.environ.get("NO_COLOR"))
    return Console(file=file, **plain)


def print_notes(notes: Iterable[str], console: Console) -> None:
    """Print the notes of a result."""
    print_lines((f"Note: {visible(note)}" for note in notes), console)


def print_lines(lines: Iterable[str], console: Console, style: str = "") -> None:
    """Print lines as they are."""
    from rich.text import Text

    for line in lines:
        console.print(Text(line, style=style))


def print_columns(
    columns: Iterable[Column],
    console: Console,
    keys: Sequence[str] | None = None,
    *,
    first: bool = False,
) -> None:
    """Print a table, after a blank line unless it comes ``first``, without its empty columns. Where
    a terminal is too narrow for it, each row is a block of lines: those of ``keys``, what a row is
    about, then the rest."""
    shown = filled(columns)
    widths = _widths(shown, console.width) if console.is_terminal else {}
    if widths is None:
        if keys is None:
            keys = [column.name for column in shown if column.kind is KEY]
        lines = list(records({c.name: c.cells for c in shown}, keys, console.width))
    else:
        with console.capture() as capture:
            console.print(_table(shown, widths))
        lines = capture.get().splitlines()
    if not console.is_terminal:  # there no blanks pad every line
        lines = [line.rstrip() for line in lines]
    console.file.write("\n".join([*([] if first else [""]), *lines, ""]))


#: Between two columns of a table; and how narrow names and remarks may be folded.
_GAP = 3
_NARROW = 12
_RIGHT = (NUMBER, NUMBERS)
_WHOLE = (*_RIGHT, LINED)


def _widths(columns: Sequence[Column], width: int) -> dict[str, int] | None:
    """How wide each column is where all of them are to fit; None where they cannot. Names fold,
    numbers never do."""
    from rich.cells import cell_len

    widths = {c.name: max(map(cell_len, (c.name, *c.cells))) for c in columns}
    may_fold = [c.name for c in columns if c.kind not in _WHOLE]
    room = width - _GAP * (len(widths) - 1)
    while sum(widths.values()) > room:
        folds = [name for name in may_fold if widths[name] > max(_NARROW, len(name))]
        if not folds:
            return None
        widths[max(folds, key=lambda name: widths[name])] -= 1
    return widths


def _table(columns: Sequence[Column], widths: Mapping[str, int]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        right = column.kind in _RIGHT
        out.add_column(
            Text(column.name),
            justify="right" if right else "left",
            no_wrap=column.kind in _WHOLE,
            overflow="fold",
            width=widths.get(column.name),
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        out.add_row(*map(Text, row))
    return out


# A spreadsheet takes a cell that begins so for a formula and may run it; the full-width forms
# count where the locale uses them.
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] | None = None) -> str:
    """``rows`` as CSV (RFC 4180, lines end in ``\\n``): full precision, undefined values empty.

    Numbers are written as they are. Text that a spreadsheet would take for a formula gets an
    apostrophe in front, and terminal escapes are spelled out; all other text is exact. To read a
    name back, take one leading apostrophe off where one of ``= + - @`` follows the apostrophes.
    JSON has every name exact.
    """
    data = list(rows)
    columns = list(columns or dict.fromkeys(name for row in data for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in columns])
    writer.writerows([_csv_cell(row.get(name)) for name in columns] for row in data)
    return out.getvalue()


def covered(text: str) -> str:
    """Text for a cell of a table that a spreadsheet may open: it is no formula."""
    return f"'{text}" if _is_formula(text) else text


def uncovered(text: str) -> str:
    """What a cell of :func:`csv_text` said before it got its apostrophe."""
    return text[1:] if text[:1] == "'" and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    # Apostrophes already there count as part of the start, so that no two names become one.
    return text.lstrip("' ")[:1] in _FORMULA


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):  # NumPy's float64 too, whose own repr is not a number
        return "" if math.isnan(value) else repr(float(value))
    if not isinstance(value, str):
        return str(value)
    return covered(visible(value, keep="\t\n\r"))
