"""``calipers regression``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.options import text, texts
from calipers.cli.slices import part_columns, part_options, row_columns, row_options
from calipers.cli.systems import Systems, join_options
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("regression", cls=Command)
@click.argument("table", type=InFile())
@text("--truth", "COL", "Column of the true numbers.", required=True)
@texts("--predicted", "[NAME=]COL", "Column of predicted numbers; repeatable.")
@texts(
    "--quantiles",
    "[NAME=]COLS",
    "Columns of predicted quantiles by their level: 'q_*' for columns such as q_0.05, or "
    "0.05:lower,0.95:upper; repeatable.",
)
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
      calipers regression patients.csv --truth progression --quantiles 'gbm=gbm_*' \\
        --quantiles 'conformal=0.05:lower,0.95:upper' -m default -m 'pinball(alpha=0.95)'
    """
    output = Output.take(options)
    options["quantiles"] = [_named(spec) for spec in options["quantiles"]]
    systems = Systems.take(options, ("predicted", "quantiles"))
    if systems.columns["predicted"] and systems.columns["quantiles"]:
        raise click.UsageError("--predicted and --quantiles are evaluated apart: give either")
    from calipers.data.tables import column
    from calipers.evaluate.regression import regression

    rows = read(table).rows
    with systems.located(table):
        evaluation = regression(
            column(rows, truth, table),
            **systems.read(rows, table, _found),
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


def _named(spec: str) -> str:
    """Levels and columns of a system that has no name."""
    return f"system={spec}" if ":" in spec and "=" not in spec else spec


def _found(text: str, rows: pa.Table, where: str) -> Any:
    """A column, those that begin alike, or a column for each level."""
    from calipers.data.columns import by_name

    if text in rows.column_names or ":" not in text:
        return by_name(rows, text, where)
    levels = (part.partition(":") for part in text.split(","))
    return {level: by_name(rows, name, where) for level, _, name in levels}
