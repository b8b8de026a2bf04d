"""Command ``calipers pairs``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile, OutputFile
from calipers.cli.options import (
    choice_option,
    column_parameter,
    combine_options,
    flag_option,
    option_with_default,
    repeatable_option,
    shared_options,
    text_option,
)
from calipers.cli.output import DATA_FORMATS, format_and_file, format_options, write_with_report
from calipers.cli.wording import options_in_errors
from calipers.evaluation.tasks import CLUSTER, COUNT, WEIGHT

_columns = combine_options(
    option_with_default("--first", "model_a", "Column of the first system.", metavar="COL"),
    option_with_default("--second", "model_b", "Column of the second system.", metavar="COL"),
    option_with_default(
        "--outcome",
        "winner",
        "Column of the outcome: the name of one of these two columns, a or b, the name of the "
        "winner, the score of the first system (1, 0.5, 0), or a tie (tie, draw, both_bad).",
        metavar="COL",
    ),
)


@click.command("pairs", cls=Command)
@click.argument("table", type=InputFile())
@_columns
@choice_option(
    "--ties",
    ["davidson", "rao-kupper", "half"],
    "Model of ties; half counts a tie as half a win and half a loss.",
)
@repeatable_option(
    "--style",
    "NAME[=COL,COL]",
    "Covariate of style whose effect is removed, from the columns NAME_a and NAME_b, or the two "
    "that are given; repeatable.",
)
@flag_option("--position", "Remove the advantage of the first system of a battle.")
@text_option(
    "--reference", "SYSTEM", "System whose rating is 1000 (default: the mean of all is 1000)."
)
@combine_options(*map(column_parameter, (WEIGHT, COUNT, CLUSTER)))
@shared_options("missing", "level", "seed")
@text_option(
    "--report", "FILE.html", "Write an HTML report as well.", type=OutputFile(is_page=True)
)
@flag_option("--open open_", "Open the report in a browser.")
@lambda command: format_options(command, report=False)
def command(table: str, style: tuple[str, ...], **options: Any) -> None:
    """Rate systems from pairwise battles in TABLE, which has a row per battle.

    Reports ratings on the Elo scale with intervals, the ranks that each system may have, and
    expected scores. A system that has won or lost all of its battles has no rating, but a limit.

    \b
    Examples:
      calipers pairs battles.csv --cluster user
      calipers pairs battles.jsonl --style length --position --reference gpt-4o
    """
    report, opens_report = options.pop("report"), options.pop("open_")
    if opens_report and report is None:
        raise click.UsageError("--open goes with --report FILE.html")
    kind, path = format_and_file(options, DATA_FORMATS, "this result")
    from calipers.evaluate.pairs import pairs

    with options_in_errors():
        board = pairs(table, style=_parse_style(style), **options)
    write_with_report(board, kind, path, report, opens_report=opens_report)


def _parse_style(specs: tuple[str, ...]) -> Any:
    """Return the names of covariates, or a dict of their columns if any of these are given."""
    if not any("=" in spec for spec in specs):
        return list(specs) or None
    pairs: dict[str, tuple[str, ...]] = {}
    for spec in specs:
        name, _, columns = spec.partition("=")
        pairs[name] = tuple(columns.split(",")) if columns else (f"{name}_a", f"{name}_b")
        if len(pairs[name]) != 2:
            raise click.UsageError(f"--style {spec}: expected NAME, or NAME=COL,COL")
    return pairs
