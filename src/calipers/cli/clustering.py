"""``calipers clustering``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.options import text, texts
from calipers.cli.slices import row_columns
from calipers.cli.tables import read


@click.command("clustering", cls=Command)
@click.argument("table", type=InFile())
@texts("--labels", "COL", "Column of the cluster of each point; repeatable.", required=True)
@text("--truth", "COL", "Column of the true class of each point.")
@text("--count", "COL", "Column of how many points each row stands for.")
@measure_options
@output_options
def command(table: str, labels: tuple[str, ...], truth: str | None, **options: Any) -> None:
    """Evaluate clusters of the points in TABLE (CSV, Parquet, Feather or JSON Lines; - is the
    standard input).

    Two clusterings or more are compared point by point.

    \b
    Example:
      calipers clustering iris.csv --truth species --labels kmeans --labels ward
    """
    output = Output.take(options)
    from calipers.data.tables import column, located
    from calipers.evaluate.clustering import clustering

    rows = read(table).rows
    with located(table):
        evaluation = clustering(
            None,
            {name: column(rows, name, table) for name in labels},
            None if truth is None else column(rows, truth, table),
            **row_columns(rows, table, options),
            measures=options.pop("measures") or None,
            inputs=[read(table).origin],
            **options,
        )
    output.finish(evaluation)
