"""What the commands of a campaign have in common."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from calipers.cli.options import MOST, choice, texts
from calipers.cli.output import format_options, write_out

DATA = ("json",)

#: The names of ``campaign.settled.RULES``; the first is the default of all commands.
RULES = ("majority", "lowest", "median", "highest", "first")

#: Which grade a document gets where several were given.
rule_option = choice(
    "--rule",
    RULES,
    "Which grade to take where persons differ and no adjudicator has decided; of equally many the "
    "lower one.",
)


#: What participants are measured by.
measure_option = texts(
    "-m --measure measures",
    "NAME",
    "A measure; repeatable.  [default: those named by create, else those of the goal]",
)


class Depth(click.ParamType):  # type: ignore[type-arg]
    """A number of documents from the first on, or ``all``."""

    name = "depth"
    _number = click.IntRange(1, MOST)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """The number, or the word."""
        if isinstance(value, str) and value.strip().lower() == "all":
            return "all"
        try:
            return self._number.convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}; or all.", param, ctx)


def table_or_json(command: Any) -> Any:
    """Options of a result that is a table or JSON."""
    return format_options(command, DATA, report=False)


def finish(found: Any, lines: Sequence[str], kind: str, path: str | None) -> None:
    """Write a result."""
    made = json.dumps(_plain(found), indent=2, ensure_ascii=False) if kind == "json" else None
    write_out("\n".join(lines) if made is None else made, path)


def _plain(value: Any) -> Any:
    """What JSON can hold; a number that does not exist is null."""
    if isinstance(value, dict):
        return {str(key): _plain(of) for key, of in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(of) for of in value]
    return None if isinstance(value, float) and value != value else value


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as wide as the terminal."""
    import sys

    from calipers.report.columns import aligned, width_of
    from calipers.report.names import visible

    cells = [[visible(cell(one)) for one in row] for row in rows]
    return aligned(head, cells, width_of(sys.stdout))


def cell(value: Any) -> str:
    """A value in a table."""
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
