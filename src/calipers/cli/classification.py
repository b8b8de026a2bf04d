"""``calipers classification``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import (
    Output,
    measure_options,
    output_options,
    table_origin,
)


@click.command("classification")
@click.argument("table", type=click.Path())
@click.option("--truth", required=True, metavar="COL", help="Column of the true classes.")
@click.option("--score", multiple=True, metavar="COL", help="Column of scores; repeatable.")
@click.option(
    "--probability",
    multiple=True,
    metavar="COL",
    help="Column of probabilities of the positive class; repeatable.",
)
@click.option(
    "--predicted", multiple=True, metavar="COL", help="Column of predicted classes; repeatable."
)
@click.option("--positive", metavar="VALUE", help="The positive class.")
@click.option(
    "--threshold", type=float, help="Scores at or above it are positive (probabilities: 0.5)."
)
@click.option("--weight", metavar="COL", help="Column of weights.")
@measure_options
@output_options
def command(
    table: str,
    truth: str,
    score: tuple[str, ...],
    probability: tuple[str, ...],
    predicted: tuple[str, ...],
    weight: str | None,
    measures: tuple[str, ...],
    **options: Any,
) -> None:
    """Evaluate two-class predictions in TABLE (CSV, Parquet, Feather or JSON Lines).

    Each column of scores, probabilities or predicted classes is a system; two or more are compared
    row by row.

    \b
    Example:
      calipers classification scan.csv --truth diagnosis --positive malignant \\
        --probability p_logistic --probability p_forest --report scan.html
    """
    output = Output.take(options)
    if not (score or probability or predicted):
        raise click.UsageError("give at least one of --score, --probability, --predicted")
    from calipers.data.tables import column, located, read_table
    from calipers.evaluate.classification import classification

    rows = read_table(table)

    def columns(names: tuple[str, ...]) -> dict[str, Any] | None:
        return {name: column(rows, name, table) for name in names} or None

    with located(table):
        evaluation = classification(
            column(rows, truth, table),
            columns(predicted),
            score=columns(score),
            probability=columns(probability),
            weight=None if weight is None else column(rows, weight, table),
            measures=measures or None,
            curves=output.report is not None,
            inputs=[table_origin(table)],
            **options,
        )
    output.finish(evaluation)
