"""Shared parts of the commands of a campaign."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import choice_option, repeatable_option
from calipers.cli.output import format_options, write_document, write_output
from calipers.cli.process import write_stderr
from calipers.evaluation.task import MAX_INT

if TYPE_CHECKING:
    from calipers.campaign.store import Campaign
    from calipers.report.blocks import Block, Table

#: Data formats of results, in addition to documents.
DATA_FORMATS = ("json",)

#: The names of ``campaign.adjudication.RULES``; the first is the default of all commands.
RULES = (
    *("majority", "majority-lowest", "majority-highest", "majority-unjudged"),
    *("lowest", "median", "highest", "first"),
)

#: Option of the rule that combines grades.
rule_option = choice_option(
    "--rule",
    RULES,
    "Grade of documents on which persons disagree and no adjudicator has decided. Without a "
    "majority, as between two assessors, majority is an error, and the rules after it use the "
    "lowest or the highest of the most frequent grades, or none.",
)


#: Option of the measures of participants.
measure_option = repeatable_option(
    "-m --measure measures",
    "NAME",
    "Measure; repeatable.  [default: those named by create, else those of the goal]",
)


class Depth(click.ParamType):  # type: ignore[type-arg]
    """Parameter type of a depth: a number of documents, or ``all``."""

    name = "depth"
    _number = click.IntRange(1, MAX_INT)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Return the number of documents, or the word ``all``."""
        if isinstance(value, str) and value.strip().lower() == "all":
            return "all"
        try:
            return self._number.convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}; or all.", param, ctx)


def backup_before_replacing(campaign: Campaign, table: str) -> None:
    """Copy a campaign before rows of a table are replaced, if it has any, and say where it is."""
    if campaign.read(f"SELECT 1 FROM {table} LIMIT 1"):
        path = campaign.backup()
        write_stderr(f"{path}: the campaign before this replacement")


def result_options(command: Any) -> Any:
    """Add the options of a result that is written as a document or as JSON."""
    return format_options(command, DATA_FORMATS, report=False)


def write_result(result: Any, lines: Sequence[str | Table], kind: str, path: str | None) -> None:
    """Write a result as JSON data, or as lines and tables.

    A line that ends in a colon is the heading of what follows.
    """
    if kind == "json":
        write_output(json.dumps(_to_json_value(result), indent=2, ensure_ascii=False), path)
    elif kind == "table":
        write_output(
            "\n".join(line if isinstance(line, str) else render_table(line) for line in lines), path
        )
    else:
        write_document(_to_blocks(lines), kind, path)


def _to_blocks(lines: Sequence[str | Table]) -> Iterator[Block]:
    from calipers.report.blocks import Heading, Lines, mark_literal

    for line in lines:
        if not isinstance(line, str):
            yield line
        elif not line:
            continue
        elif line.endswith(":"):
            yield Heading(mark_literal(line.removesuffix(":")))
        else:
            yield Lines([mark_literal(line)])


def _to_json_value(value: Any) -> Any:
    """Convert a value to one that JSON supports; NaN becomes null."""
    if isinstance(value, dict):
        return {str(key): _to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_to_json_value(item) for item in value]
    return None if isinstance(value, float) and value != value else value


def format_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Build a table, with right-aligned columns of numbers."""
    from calipers.report.blocks import Table
    from calipers.report.safe_names import escape_unprintable
    from calipers.report.tables import KEY, NUMBER, WORDS, Column

    cells = [[escape_unprintable(format_cell(value)) for value in row] for row in rows]
    column_types = [
        NUMBER if any(isinstance(row[k], int | float) for row in rows) else WORDS
        for k in range(1, len(head))
    ]
    columns = [[row[k] for row in cells] for k in range(len(head))]
    return Table(list(map(Column, head, [KEY, *column_types], columns)), is_plain=True)


def render_table(table: Table) -> str:
    """Render a table as text of the terminal's width."""
    import sys

    from calipers.report.text_columns import align_table, terminal_width

    return align_table(
        [column.name for column in table.columns], table.rows, terminal_width(sys.stdout)
    )


def format_cell(value: Any) -> str:
    """Format a value as a cell of a table."""
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
