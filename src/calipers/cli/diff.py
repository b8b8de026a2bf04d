"""Command ``calipers diff``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import flag_option
from calipers.cli.output import (
    DATA_FORMATS,
    format_and_file,
    format_options,
    write_document,
    write_output,
)

if TYPE_CHECKING:
    from calipers.evaluate.diff import MeasureChange
    from calipers.report.tables import Column
    from calipers.results import Evaluation


@click.command("diff", cls=Command)
@click.argument("before", type=InputFile())
@click.argument("after", type=InputFile())
@flag_option("--all every", "Also list the values that did not change.")
@lambda command: format_options(command, report=False)
def command(before: str, after: str, *, every: bool, **options: Any) -> None:
    """Report the changes between two saved evaluations (-o FILE.json).

    For topics and groups, each change has a paired interval and p-value, as in `calipers compare`.
    Stored confusion matrices are treated as independent samples. For rows, use `--baseline
    BEFORE.json` with the new data. Settings, files and systems that differ are listed.

    \b
    Example:
      calipers diff monday.json tuesday.json
    """
    from calipers.data.errors import FileError, InputError
    from calipers.evaluate.diff import diff_evaluations

    kind, path = format_and_file(options, DATA_FORMATS, "a difference")
    first, second = _evaluation(before), _evaluation(after)
    try:
        changes, notes = diff_evaluations(first, second)
    except InputError as error:
        raise FileError(f"{before}, {after}: {error}") from None
    listed = [change for change in changes if every or change.is_different]
    if kind == "json":
        data = {"changes": [change.row() for change in listed], "notes": notes}
        write_output(json.dumps(data, indent=2, ensure_ascii=False), path)
    elif kind == "csv":
        from calipers.report.spreadsheets import csv_text

        write_output(csv_text([change.row() for change in listed], _CSV_COLUMNS), path)
    else:
        from calipers.report.documents import changes_document as document

        all_notes = [*notes, *_unchanged_note(len(changes) - len(listed))]
        write_document(document(_columns(listed), all_notes), kind, path)


_CSV_COLUMNS = ("system", "measure", "before", "after", "change", "low", "high", "p", "test")


def _evaluation(file: str) -> Evaluation:
    from calipers.cli.show import read_result
    from calipers.data.errors import FileError
    from calipers.results import Evaluation

    result = read_result(file)
    if not isinstance(result, Evaluation):
        raise FileError(f"{file}: is not an evaluation")
    return result


def _columns(changes: list[MeasureChange]) -> list[Column]:
    """Return the changes as the columns of a table."""
    from calipers.report.numbers import common_rounding, format_p_digits, rounding
    from calipers.report.safe_names import shorten_name
    from calipers.report.tables import KEY, NUMBER, NUMBERS, Column

    cells: dict[str, list[str]] = {name: [] for name in _HEADS}
    for change in changes:
        pair = (change.before, change.after)
        digits = rounding([(e.value, e.low, e.high) for e in pair])
        difference = change.difference
        change_rounding = (
            common_rounding(change.value)
            if difference is None
            else rounding([(difference.value, difference.low, difference.high)], keep_sign=True)
        )
        row = (
            shorten_name(change.system),
            shorten_name(change.measure),
            *(digits.value_with_interval(e.value, e.low, e.high) for e in pair),
            f"{'+' if change.value > 0 else ''}{change_rounding(change.value)}",
            ""
            if difference is None
            else change_rounding.format_interval(difference.low, difference.high),
            "" if difference is None else format_p_digits(change.p),
        )
        for name, text in zip(_HEADS, row, strict=True):
            cells[name].append(text)
    column_types = (KEY, KEY, NUMBERS, NUMBERS, NUMBER, NUMBERS, NUMBER)
    return [Column(n, kind, cells[n]) for n, kind in zip(_HEADS, column_types, strict=True)]


_HEADS = ("system", "measure", "before", "after", "change", "interval", "p")


def _unchanged_note(n_unchanged: int) -> list[str]:
    """Return a note on the number of values that are not displayed because they did not change."""
    if not n_unchanged:
        return []
    stayed = (
        "1 value did not change" if n_unchanged == 1 else f"{n_unchanged:,} values did not change"
    )
    return [f"{stayed} (--all shows them)."]
