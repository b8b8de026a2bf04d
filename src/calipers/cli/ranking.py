"""``calipers ranking``."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.costs import cost_option
from calipers.cli.files import Command, InFile
from calipers.cli.options import MOST, choice, preset, switch, text, texts
from calipers.cli.output import UNIT_DATA
from calipers.cli.slices import group_options, row_columns, slice_columns
from calipers.cli.streams import by_name as columns_of_stream
from calipers.cli.streams import is_elsewhere, whole_engine_options
from calipers.cli.systems import Systems, join_options
from calipers.cli.tables import read


@click.command("ranking", cls=Command)
@click.argument("table", type=InFile())
@text(
    "--group", "COL", "Column of the groups whose rows are ordered: queries, users.", required=True
)
@text("--truth", "COL", "Column of the grades: 0, 1, 2 and so on.", required=True)
@texts("--score", "[NAME=]COL", "Column of scores of a system; repeatable.", required=True)
@join_options
@preset("--rel", 1, "Lowest grade that counts as relevant.", type=click.IntRange(1, MOST))
@choice(
    "--dcg",
    ["exp-log2", "log2", "log-base"],
    "Gain and discount of DCG and nDCG: exp-log2 has the gain 2^grade - 1, the others the grade.",
)
@choice(
    "--ties",
    ["average", "best", "worst"],
    "Of rows of equal score, the mean, the best or the worst value over all their orders.",
)
@choice(
    "--undefined",
    ["nan", "zero"],
    "Leave groups without a value out of the mean, or let them score 0.",
)
@group_options
@cost_option
@whole_engine_options
@switch(
    "--per-group",
    "The value on every group: table, csv, json, parquet, or trec for the lines of trec_eval -q.",
)
@measure_options
@partial(output_options, data=UNIT_DATA)
def command(
    table: str,
    group: str,
    truth: str,
    measures: tuple[str, ...],
    *,
    per_group: bool,
    **options: Any,
) -> None:
    """Evaluate scores that order the rows of each group, in TABLE (CSV, Parquet, Feather or JSON
    Lines; - is the standard input).

    A row is a document with the grade that it has for its group. Two systems or more are compared,
    group by group.

    \b
    Examples:
      calipers ranking clicks.parquet --group query --truth grade --score mart --score bm25
      calipers ranking clicks.csv --group query --truth grade --score mart -m NDCG@10 -m MAP \\
        --slice market --report clicks.html
      calipers ranking truth.csv --group query --truth grade --id row --score score \\
        --system a=a.csv --system b=b.parquet
      calipers ranking 'hdfs://logs/clicks' --group query --truth grade --score mart \\
        --engine spark --master 'spark://head:7077'
    """
    output = Output.take(options, units=per_group)
    systems = Systems.take(options, ("score",))
    if output.kind == "trec" and len(systems.columns["score"]) + len(systems.tables) > 1:
        raise click.UsageError("the lines of trec_eval have no place for a system; give one score")
    from calipers.data.tables import column
    from calipers.evaluate.ranking import ranking

    if is_elsewhere(options):
        said = columns_of_stream(table, systems, options)
        evaluation = ranking(group, truth, **said, measures=measures or None, **options)
        output.finish(evaluation)
        return
    rows = read(table).rows
    columns = systems.read(rows, table, lambda text, of, where: column(of, text, where))
    with systems.located(table):
        evaluation = ranking(
            column(rows, group, table),
            column(rows, truth, table),
            **columns,
            **row_columns(rows, table, options, systems),
            **slice_columns(rows, table, options),
            data=rows,
            id=systems.by,
            measures=measures or None,
            curves=output.page.wanted,
            inputs=systems.origins(table),
            **options,
        )
    output.finish(evaluation)
