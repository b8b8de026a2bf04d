"""``calipers clustering``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.costs import cost_option
from calipers.cli.files import Command, InFile
from calipers.cli.options import choice, switch, text, texts
from calipers.cli.output import no_tables_below, print_tables
from calipers.cli.slices import row_columns, slice_columns, slice_options
from calipers.cli.streams import batch_options, by_name, is_stream
from calipers.cli.systems import Systems
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa


@click.command("clustering", cls=Command)
@click.argument("table", type=InFile())
@texts("--labels", "COL", "Column of the cluster of each point; repeatable.", required=True)
@text("--truth", "COL", "Column of the true class of each point.")
@texts(
    "--features", "COL", "Column of a coordinate of the points; repeatable, or 'x_*' for several."
)
@choice(
    "--metric",
    ("euclidean", "sqeuclidean", "manhattan", "cosine"),
    "How far apart points are, for silhouettes.",
)
@text("--count", "COL", "Column of how many points each row stands for.")
@choice(
    "--noise",
    ("cluster", "drop"),
    "What points called -1 are: a cluster as any other, or left out, where any clustering calls "
    "them so.",
)
@slice_options
@cost_option
@text(
    "--sample",
    "N",
    "Take silhouettes of so many points, each by its distances to all; above 100,000 points of "
    "5,000 unless said.",
    type=click.IntRange(min=2),
)
@batch_options
@switch("--per-point", "Show the silhouette of every point, by its row.")
@switch("--by-cluster", "Show the table of clusters too.")
@measure_options
@output_options
def command(
    table: str,
    labels: tuple[str, ...],
    truth: str | None,
    features: tuple[str, ...],
    per_point: bool,
    by_cluster: bool,
    **options: Any,
) -> None:
    """Evaluate clusters of the points in TABLE (CSV, Parquet, Feather or JSON Lines; - is the
    standard input).

    Two clusterings or more are compared point by point.

    \b
    Example:
      calipers clustering iris.csv --labels kmeans --labels ward --truth species \\
        --features 'petal_*' --features 'sepal_*'
    """
    output = Output.take(options, units=per_point)
    if output.kind == "trec" and len(labels) > 1:
        raise click.UsageError("the lines of trec_eval have no place for a system; give one")
    if by_cluster and per_point:
        raise click.UsageError("--by-cluster and --per-point: give one")
    if by_cluster:
        no_tables_below("--by-cluster", output.kind, output.path)
    from calipers.data.tables import column, located
    from calipers.evaluate.clustering import clustering

    systems = Systems({"labels": labels, "features": features}, {}, None)
    if is_stream(table, truth or labels[0], systems, options):
        said = {"features": None, **by_name(table, systems, options)}
        asked = {"measures": options.pop("measures") or None, "per_point": per_point, **options}
        output.finish(clustering(truth=truth, **said, **asked))
        return
    del options["engine"], options["memory"]
    rows = read(table).rows
    with located(table):
        evaluation = clustering(
            _points(rows, features, table),
            {name: column(rows, name, table) for name in labels},
            None if truth is None else column(rows, truth, table),
            **row_columns(rows, table, options),
            **slice_columns(rows, table, options),
            measures=options.pop("measures") or None,
            curves=output.page.wanted,
            per_point=per_point,
            inputs=[read(table).origin],
            **options,
        )
    try:
        output.finish(evaluation)
    finally:
        if by_cluster:
            print_tables(evaluation)


def _points(rows: pa.Table, features: tuple[str, ...], table: str) -> dict[str, Any] | None:
    """The columns that are named, or whose names begin as is said."""
    from calipers.data.tables import column

    names = []
    for name in features:
        begun = name.endswith("*") and name not in rows.column_names
        found = [own for own in rows.column_names if begun and own.startswith(name[:-1])]
        names += found or [name]
    return {name: column(rows, name, table) for name in names} or None
