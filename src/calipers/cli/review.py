"""Command ``calipers review``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import option_with_default, repeatable_option, shared_options, text_option
from calipers.cli.shared_options import OutputOptions, output_options
from calipers.cli.tables import read_input_table


@click.command("review", cls=Command)
@click.argument("table", type=InputFile())
@option_with_default(
    "--relevant", "relevant", "Column of the grade of each document.", metavar="COL"
)
@option_with_default(
    "--sampled", "sampled", "Column of whether the document is in the random sample.", metavar="COL"
)
@option_with_default(
    "--rank",
    "rank",
    "Column of the position in the review, empty for documents that are only in the sample.",
    metavar="COL",
)
@text_option("--count", "COL", "Column of the number of documents that a row stands for.")
@option_with_default("--rel", 1, "Lowest relevant grade.", type=int)
@click.option(
    "--collection-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of documents of the collection. An elusion sample needs it.",
)
@repeatable_option(
    "--rule rules",
    "NAME",
    "Stopping rule to evaluate: QBCB, target, knee, budget, or all; repeatable.",
)
@option_with_default(
    "--recall",
    0.8,
    "Recall that the rule QBCB aims at.",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
)
@shared_options("level")
@output_options
def command(table: str, **options: Any) -> None:
    """Estimate the recall of a technology-assisted review in TABLE from a random sample.

    TABLE has a row for each document that was reviewed or sampled. The sample is one of the
    collection, or of the documents that were not reviewed.

    \b
    Examples:
      calipers review judged.csv --collection-size 120000 --require 'low(recall) >= 0.75'
      calipers review judged.csv --rank batch --rule QBCB --rule knee --recall 0.9
    """
    output = OutputOptions.pop_from(options)
    from calipers.data.tables import add_location
    from calipers.evaluate.review import review

    rows = read_input_table(table)
    with add_location(table):
        evaluation = review(data=rows.table, inputs=[rows.origin], **options)
    output.finish(evaluation)
