"""``calipers regression``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.costs import cost_option
from calipers.cli.files import Command, InFile
from calipers.cli.options import text, texts
from calipers.cli.slices import part_columns, part_options, row_columns, row_options, time_option
from calipers.cli.streams import States, engine_options, is_stream
from calipers.cli.streams import by_name as columns_of_stream
from calipers.cli.systems import Systems, join_options
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("regression", cls=Command)
@click.argument("table", type=InFile())
@text(
    "--truth",
    "COLS",
    "Column of the true numbers; of several outputs their columns, as in price,area or 'y_*'.",
    required=True,
)
@texts(
    "--predicted",
    "[NAME=]COLS",
    "Column of predicted numbers, or those of the outputs in their order or by what stands for *; "
    "repeatable.",
)
@texts(
    "--quantiles",
    "[NAME=]COLS",
    "Columns of predicted quantiles by their level: 'q_*' for columns such as q_0.05, or "
    "0.05:lower,0.95:upper; repeatable.",
)
@join_options
@row_options
@cost_option
@part_options
@time_option
@engine_options
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
      calipers regression homes.csv --truth price,area --predicted 'ridge_*' \\
        --predicted forest_price,forest_area -m macro-R2 -m RMSE
    """
    output = Output.take(options)
    options["quantiles"] = [_named(spec) for spec in options["quantiles"]]
    systems = Systems.take(options, ("predicted", "quantiles"))
    states = States.take(options)
    if systems.columns["predicted"] and systems.columns["quantiles"]:
        raise click.UsageError("--predicted and --quantiles are evaluated apart: give either")
    from calipers.data.outputs import width
    from calipers.evaluate.regression import regression

    if is_stream(table, truth, systems, options):
        quantiles = systems.columns["quantiles"]
        said = columns_of_stream(table, systems, options, quantiles=quantiles)
        evaluation = states.of(regression, truth, **said, measures=measures or None, **options)
        output.finish(evaluation)
        return
    rows = read(table).rows
    with systems.located(table):
        target = _columns(rows, truth, table)
        outputs = tuple(target) if width(target) > 1 else ()
        evaluation = regression(
            target,
            **systems.read(rows, table, partial(_found, outputs)),
            **row_columns(rows, table, options, systems),
            **part_columns(rows, table, options),
            data=rows,
            id=systems.by,
            measures=measures or None,
            curves=output.page.wanted,
            inputs=systems.origins(table),
            **options,
        )
    output.finish(evaluation)


def _named(spec: str) -> str:
    """Levels and columns of a system that has no name."""
    return f"system={spec}" if ":" in spec and "=" not in spec else spec


def _columns(rows: pa.Table, text: str, where: str) -> Any:
    """A column, those that begin alike, or several by their names."""
    from calipers.data.columns import by_name

    if text in rows.column_names or "," not in text:
        return by_name(rows, text, where)
    return {name: by_name(rows, name, where) for name in text.split(",")}


def _found(outputs: tuple[str, ...], text: str, rows: pa.Table, where: str) -> Any:
    """A column, those that begin alike, or a column for each output or level."""
    from calipers.data.columns import by_name

    if text in rows.column_names or ":" not in text:
        found = _columns(rows, text, where)
        if outputs and "," in text and isinstance(found, dict):
            if len(found) != len(outputs):
                raise click.UsageError(
                    f"{text!r}: {len(found)} columns for {len(outputs)} outputs: "
                    + ", ".join(outputs)
                )
            return dict(zip(outputs, found.values(), strict=True))
        return found
    levels = (part.partition(":") for part in text.split(","))
    return {level: by_name(rows, name, where) for level, _, name in levels}
