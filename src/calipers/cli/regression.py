"""``calipers regression``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.options import text, texts
from calipers.cli.slices import part_columns, part_options, row_columns, row_options
from calipers.cli.systems import Systems, join_options
from calipers.cli.tables import read


@click.command("regression", cls=Command)
@click.argument("table", type=InFile())
@text("--truth", "COL", "Column of the true numbers.", required=True)
@texts("--predicted", "[NAME=]COL", "Column of predicted numbers; repeatable.")
@join_options
@row_options
@part_options
@measure_options
@output_options
def command(table: str, truth: str, measures: tuple[str, ...], **options: Any) -> None:
    """Evaluate predicted numbers in TABLE (CSV, Parquet, Feather or JSON Lines; - is the
    standard input).

    Two systems or more are compared row by row.

    \b
    Examples:
      calipers regression patients.csv --truth progression --predicted ridge --predicted forest
      calipers regression truth.csv --truth y --id row --predicted said \\
        --system a=a.csv --system b=b.parquet --missing drop -m RMSE -m R2 -m Spearman
    """
    output = Output.take(options)
    systems = Systems.take(options, ("predicted",))
    from calipers.data.tables import column
    from calipers.evaluate.regression import regression

    rows = read(table).rows
    with systems.located(table):
        evaluation = regression(
            column(rows, truth, table),
            **systems.read(rows, table, lambda text, of, where: column(of, text, where)),
            **row_columns(rows, table, options),
            **part_columns(rows, table, options),
            data=rows,
            id=systems.by,
            measures=measures or None,
            curves=output.report is not None,
            inputs=systems.origins(table),
            **options,
        )
    output.finish(evaluation)
