"""``calipers regression``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.slices import part_options
from calipers.cli.tables import evaluate_columns


@click.command("regression", cls=Command)
@click.argument("table", type=InFile())
@click.option("--truth", required=True, metavar="COL", help="Column of the true numbers.")
@click.option(
    "--predicted",
    "said",
    multiple=True,
    required=True,
    metavar="COL",
    help="Column of predicted numbers; repeatable.",
)
@click.option("--weight", metavar="COL", help="Column of weights.")
@part_options
@measure_options
@output_options
def command(**options: Any) -> None:
    """Evaluate predicted numbers in TABLE (CSV, Parquet, Feather or JSON Lines; - is the
    standard input).

    \b
    Example:
      calipers regression patients.csv --truth progression --predicted ridge --predicted forest
    """
    from calipers.evaluate.regression import regression

    evaluate_columns(regression, **options)
