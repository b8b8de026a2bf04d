"""``calipers regression``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.options import text, texts
from calipers.cli.tables import part_columns, part_options, read


@click.command("regression", cls=Command)
@click.argument("table", type=InFile())
@text("--truth", "COL", "Column of the true numbers.", required=True)
@texts("--predicted", "COL", "Column of predicted numbers; repeatable.", required=True)
@part_options
@measure_options
@output_options
def command(
    table: str,
    truth: str,
    predicted: tuple[str, ...],
    measures: tuple[str, ...],
    **options: Any,
) -> None:
    """Evaluate predicted numbers in TABLE (CSV, Parquet, Feather or JSON Lines; - is the
    standard input).

    \b
    Example:
      calipers regression patients.csv --truth progression --predicted ridge --predicted forest
    """
    output = Output.take(options)
    from calipers.data.tables import column, located
    from calipers.evaluate.regression import regression

    rows = read(table).rows
    with located(table):
        evaluation = regression(
            column(rows, truth, table),
            {name: column(rows, name, table) for name in predicted},
            **part_columns(rows, table, options),
            measures=measures or None,
            inputs=[read(table).origin],
            **options,
        )
    output.finish(evaluation)
