"""Command ``calipers precision-recall``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.completion import measure_names
from calipers.cli.files import Command, InputFile
from calipers.cli.options import choice_option, repeatable_option, text_option
from calipers.cli.shared_options import OutputOptions, output_options
from calipers.cli.tables import label_columns, read_input_table


@click.command("precision-recall", cls=Command)
@click.argument("table", type=InputFile(), required=False)
@text_option(
    "--precision",
    "COL|X,Y,…",
    "Column of the precision of each point (default: 'precision'); without TABLE the values.",
)
@text_option(
    "--recall",
    "COL|X,Y,…",
    "Column of the recall of each point (default: 'recall'); without TABLE the values.",
)
@text_option("--system", "COL", "Column of the system of each point, if there are several.")
@choice_option(
    "--unreached",
    ["nan", "zero"],
    "Precision beyond the largest recall given: unknown, or 0, as for a ranking that ends there.",
)
@repeatable_option(
    "-m --measure measures",
    "NAME",
    "Measure such as PR-11pt, PR-AUC or interpolated-precision@recall=0.5; repeatable.",
    shell_complete=measure_names,
)
@output_options
def command(
    table: str | None,
    precision: str | None,
    recall: str | None,
    system: str | None,
    measures: tuple[str, ...],
    **options: Any,
) -> None:
    """Evaluate a precision-recall curve from its points.

    The points are in TABLE (CSV, Parquet, Feather or JSON Lines; - is the standard input), or given
    on the command line. It is meant for curves whose rows are not available, such as published
    ones. A note reports points that no ranking can have.

    \b
    Examples:
      calipers precision-recall curve.csv -m PR-11pt -m 'interpolated-precision@recall=0.5'
      calipers precision-recall curves.csv --precision p --recall r --system model
      calipers precision-recall --precision 0.5,0.67,1 --recall 1,0.6,0.2 --report curve.html
    """
    output = OutputOptions.pop_from(options)
    from calipers.evaluate.precision_recall import precision_recall

    points: dict[str, Any]
    if table is None:
        if precision is None or recall is None or system is not None:
            raise click.UsageError(
                "without TABLE, --precision and --recall give the points, as in --precision 0.5,1 "
                "--recall 1,0.2, and --system nothing"
            )
        points = {
            "precision": _parse_numbers("--precision", precision),
            "recall": _parse_numbers("--recall", recall),
        }
        evaluation = precision_recall(**points, measures=measures or None, **options)
    else:
        from calipers.data.tables import add_location, column

        rows = read_input_table(table, categories=label_columns({"system": system})).table
        with add_location(table):
            points = {
                "precision": column(rows, precision or "precision", table),
                "recall": column(rows, recall or "recall", table),
                "system": None if system is None else column(rows, system, table),
            }
            evaluation = precision_recall(
                **points,
                measures=measures or None,
                inputs=[read_input_table(table).origin],
                **options,
            )
    output.finish(evaluation)


def _parse_numbers(option: str, text: str) -> list[float]:
    """Parse comma-separated numbers."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise click.UsageError(f"{option} {text!r}: expected numbers, as in 0.5,0.67,1") from None
