"""``calipers agreement``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.options import choice, switch, text, texts
from calipers.cli.output import no_tables_below, print_tables
from calipers.cli.slices import named_slices, slice_options
from calipers.cli.tables import read


@click.command("agreement", cls=Command)
@click.argument("table", type=InFile())
@texts(
    "--raters",
    "[NAME=]A,B,…",
    "The raters: columns, or what stands in --rater; all unless said. Repeatable: sets of raters "
    "with names are compared.",
)
@text("--item", "COL", "Column of the items, which is no rater.")
@text("--rater", "COL", "Of a table with a row a rating: column of who rated.")
@text("--rating", "COL", "Of such a table: column of the ratings.")
@choice("--scale", ("nominal", "ordinal", "interval"), "How far apart two ratings are.")
@text("--order", "A,B,…", "The categories in their order, unless of numbers or letters.")
@slice_options
@switch("--by-rater", "Show the tables of raters and of their pairs too.")
@measure_options
@output_options
def command(
    table: str,
    raters: tuple[str, ...],
    order: str | None,
    by_rater: bool,
    **options: Any,
) -> None:
    """Say how far raters agree about the items in TABLE (CSV, Parquet, Feather or JSON Lines; - is
    the standard input): a column a rater and a row an item, or a row a rating.

    \b
    Examples:
      calipers agreement grades.csv --raters ann,ben,eve --scale ordinal --by-rater
      calipers agreement labels.csv --item doc --rater who --rating label
      calipers agreement grades.csv --raters experts=ann,ben --raters crowd=w1,w2,w3
    """
    output = Output.take(options)
    if by_rater:
        no_tables_below("--by-rater", output.kind, output.path)
    from calipers.data.tables import located
    from calipers.evaluate.raters import agreement

    rows = read(table).rows
    with located(table):
        evaluation = agreement(
            rows,
            _sets(raters),
            order=None if order is None else order.split(","),
            **named_slices(options),
            measures=options.pop("measures") or None,
            inputs=[read(table).origin],
            **options,
        )
    try:
        output.finish(evaluation)
    finally:
        if by_rater:
            print_tables(evaluation)


def _sets(given: tuple[str, ...]) -> Any:
    """Sets of raters by name, the raters of the only one, or None for all."""
    sets = {}
    for one in given:
        name, mark, listed = one.rpartition("=")
        if not mark and len(given) > 1:
            raise click.UsageError(
                f"--raters {one!r}: of several sets each needs a name, as in experts=ann,ben"
            )
        if name in sets:
            raise click.UsageError(f"--raters: {name!r} is there twice")
        sets[name] = listed.split(",")
    return sets.get("", sets) or None
