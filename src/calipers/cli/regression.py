"""``calipers regression``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.options import text, texts
from calipers.cli.slices import part_options, row_options
from calipers.cli.tables import evaluate_columns


@click.command("regression", cls=Command)
@click.argument("table", type=InFile())
@text("--truth", "COL", "Column of the true numbers.", required=True)
@texts("--predicted said", "COL", "Column of predicted numbers; repeatable.", required=True)
@row_options
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

    evaluate_columns(regression, options)
