"""Command ``calipers learn check-split``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import PROPORTION, option_with_default, text_option
from calipers.cli.output import format_and_file, format_options, write_document, write_output
from calipers.cli.process import EXIT_UNMET
from calipers.cli.tables import label_columns, read_input_table
from calipers.cli.wording import options_in_errors

if TYPE_CHECKING:
    from calipers.learning.split_checks import SplitCheck
    from calipers.report.blocks import Block


@click.command("check-split", cls=Command)
@click.argument("table", type=InputFile())
@text_option("--truth", "COL", "Column of the target; without it no model is scored.")
@text_option("--split", "COL", "Column of the set of each row: train, validation or test.")
@option_with_default(
    "--test", 0.25, "Without --split: the proportion of test rows.", type=PROPORTION
)
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

    Rows of TABLE are divided by --split, or else at random (by --group or --time, if given). The
    exit code is 1 if a problem was found. Requires scikit-learn (the extra learn).

    \b
    Examples:
      calipers learn check-split patients.csv --truth progression --split set
      calipers learn check-split clicks.parquet --truth clicked --group user --test 0.2
    """
    kind, path = format_and_file(options, ("json",), "the result")
    from calipers.data.tables import add_location, column
    from calipers.learning.split import split
    from calipers.learning.split_checks import check_split

    rows = read_input_table(table, categories=label_columns(options)).table
    names = {name: options[name] for name in ("truth", "split", "group", "time")}
    with add_location(table), options_in_errors():
        column_by_role = {
            name: column_name and column(rows, column_name, table)
            for name, column_name in names.items()
        }
        features = options["features"]
        used_columns = set(filter(None, names.values()))
        other_columns = [name for name in rows.column_names if name not in used_columns]
        feature_names = (
            other_columns if features is None else [name.strip() for name in features.split(",")]
        )
        for name in feature_names:
            column(rows, name, table)
        division = column_by_role["split"]
        if division is None:
            time = column_by_role["time"]
            group = column_by_role["group"] if time is None else None
            division = split(
                rows, test=options["test"], group=group, time=time, seed=options["seed"]
            )
        result = check_split(
            division,
            rows.select(feature_names),
            column_by_role["truth"],
            group=column_by_role["group"],
            time=column_by_role["time"],
            seed=options["seed"],
        )
    if kind == "json":
        write_output(json.dumps(result.to_dict(), indent=2), path)
    elif kind == "table":
        write_output(str(result), path)
    else:
        write_document(_document(result), kind, path)
    if result:
        raise SystemExit(EXIT_UNMET)


def _document(result: SplitCheck) -> Iterator[Block]:
    """Yield the findings, the checks made, and notes on checks that were impossible."""
    from calipers.report.blocks import Findings, Heading, Lines, Notes, mark_literal
    from calipers.report.documents import finding_item

    yield Heading("Check of a split", 1)
    items = [finding_item(finding) for finding in result.findings]
    yield Findings(items) if items else Lines(["No problems were found."])
    yield Lines([mark_literal(f"Checks: {', '.join(result.checked)}.")])
    yield Notes(list(map(mark_literal, result.notes)))
