"""Command ``calipers learn check-split``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import SHARE, option_with_default, text_option
from calipers.cli.output import format_and_file, format_options, write_document, write_output
from calipers.cli.process import EXIT_UNMET
from calipers.cli.tables import read_input_table
from calipers.cli.wording import options_in_errors

if TYPE_CHECKING:
    from calipers.learning.split_checks import SplitCheck
    from calipers.report.blocks import Block


@click.command("check-split", cls=Command)
@click.argument("table", type=InputFile())
@text_option("--truth", "COL", "Column of the target; without it no model is scored.")
@text_option("--part", "COL", "Column of the set of each row: train, validation or test.")
@option_with_default("--test", 0.25, "Without --part: the proportion of test rows.", type=SHARE)
@text_option("--features", "COL,…", "Columns of the features (default: all other columns).")
@text_option("--group", "COL", "Column of the group of each row (user, patient).")
@text_option("--time", "COL", "Column of the time of each row.")
@lambda command: format_options(command, ("json",), report=False)
@option_with_default(
    "--seed", 0, "Seed of the split and of fits.", type=click.IntRange(0, 2**31 - 1)
)
def command(table: str, **options: Any) -> None:
    """Check a train/test split for data leakage and distribution shift.

    The checks find duplicates of test rows in the training set, groups and times in both sets,
    features that reveal the truth, and distributions that differ.

    Rows of TABLE are split by --part, or else at random (by --group or --time, if given). The exit
    code is 1 if a problem was found. Requires scikit-learn (the extra learn).

    \b
    Examples:
      calipers learn check-split patients.csv --truth progression --part part
      calipers learn check-split clicks.parquet --truth clicked --group user --test 0.2
    """
    kind, path = format_and_file(options, ("json",), "what was found")
    from calipers.data.tables import add_location, column
    from calipers.learning.split import split
    from calipers.learning.split_checks import check_split

    rows = read_input_table(table).rows
    names = {name: options[name] for name in ("truth", "part", "group", "time")}
    with add_location(table), options_in_errors():
        given = {name: of and column(rows, of, table) for name, of in names.items()}
        features = options["features"]
        taken = set(filter(None, names.values()))
        own = [name for name in rows.column_names if name not in taken]
        wanted = own if features is None else [name.strip() for name in features.split(",")]
        for name in wanted:
            column(rows, name, table)
        part = given["part"]
        if part is None:
            time = given["time"]
            group = given["group"] if time is None else None
            part = split(rows, test=options["test"], group=group, time=time, seed=options["seed"])
        found = check_split(
            part,
            rows.select(wanted),
            given["truth"],
            group=given["group"],
            time=given["time"],
            seed=options["seed"],
        )
    if kind == "json":
        write_output(json.dumps(found.to_dict(), indent=2), path)
    elif kind == "table":
        write_output(str(found), path)
    else:
        write_document(_document(found), kind, path)
    if found:
        raise SystemExit(EXIT_UNMET)


def _document(found: SplitCheck) -> Iterator[Block]:
    """Yield the findings, the checks made, and notes on checks that were impossible."""
    from calipers.report.blocks import Findings, Heading, Lines, Notes, mark_literal
    from calipers.report.documents import finding_item

    yield Heading("Check of a split", 1)
    said = [finding_item(one) for one in found.findings]
    yield Findings(said) if said else Lines(["Nothing was found."])
    yield Lines([mark_literal(f"Looked for {', '.join(found.checked)}.")])
    yield Notes(list(map(mark_literal, found.notes)))
