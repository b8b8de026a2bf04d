"""``calipers multilabel``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.common import Output, measure_options, output_options, undefined_option
from calipers.cli.costs import cost_option
from calipers.cli.files import Command, InFile
from calipers.cli.options import switch, text, texts
from calipers.cli.output import no_tables_below, print_tables
from calipers.cli.slices import part_columns, part_options, row_columns, row_options
from calipers.cli.systems import Systems, join_options
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = (
    "a column of lists, a column of text (see --separator), or 'p_*' for a column of 0 and 1 for "
    "each label, with the label for *"
)


@click.command("multilabel", cls=Command)
@click.argument("table", type=InFile())
@text("--truth", "COLS", f"The labels of each row: {COLUMNS}.", required=True)
@texts(
    "--predicted",
    "[NAME=]COLS",
    "The labels that a system names, in the same forms; repeatable.",
)
@texts("--score", "[NAME=]COLS", "A column of scores for each label, as 's_*'; repeatable.")
@texts(
    "--probability",
    "[NAME=]COLS",
    "A column of probabilities for each label, as 'p_*'; repeatable.",
)
@text(
    "--separator",
    "TEXT",
    "What stands between the labels in a column of text, such as '|'. In CSV an empty field is a "
    "row without labels.",
)
@text("--labels", "A,B,…", "The labels in the order wanted.")
@text(
    "--threshold",
    "X|LABEL=X,…",
    "A row is said to have the labels whose score is at or above it (probabilities: 0.5): one "
    "number, or one for each label.",
)
@join_options
@row_options
@cost_option
@part_options
@switch("--by-label", "Show the table of labels too.")
@undefined_option
@measure_options
@output_options
def command(
    table: str,
    truth: str,
    labels: str | None,
    separator: str | None,
    threshold: str | None,
    by_label: bool,
    measures: tuple[str, ...],
    **options: Any,
) -> None:
    """Evaluate the labels of rows that may have none, one or several, in TABLE (CSV, Parquet,
    Feather or JSON Lines; - is the standard input).

    Labels are named by the cells of a column, or by the columns that hold 0 and 1, scores or
    probabilities. Two systems or more are compared row by row.

    \b
    Examples:
      calipers multilabel photos.csv --truth tags --predicted found --separator '|'
      calipers multilabel photos.parquet --truth 'y_*' --probability 'cnn_*' \\
        --probability 'vit_*' --threshold 0.4 --report photos.html
      calipers multilabel notes.csv --truth codes --separator ';' --probability 'p_*' \\
        --threshold flu=0.3,cold=0.6 -m macro-F1 -m 'recall[flu]' -m LRAP
      calipers multilabel truth.csv --truth tags --separator '|' --id row --predicted tags \\
        --system a=a.csv --system b=b.parquet
    """
    output = Output.take(options)
    if by_label:
        no_tables_below("--by-label", output.kind, output.path)
    systems = Systems.take(options, ("predicted", "score", "probability"))
    if separator == "":
        raise click.UsageError("--separator is empty")
    rows, columns = _read(systems, table, truth, separator)
    from calipers.data.columns import by_name
    from calipers.evaluate.multilabel import multilabel

    with systems.located(table):
        evaluation = multilabel(
            by_name(rows, truth, table),
            **columns,
            labels=None if labels is None else labels.split(","),
            separator=separator,
            threshold=_threshold(threshold),
            **row_columns(rows, table, options, systems),
            **part_columns(rows, table, options),
            data=rows,
            id=systems.by,
            measures=measures or None,
            curves=output.page.wanted,
            inputs=systems.origins(table),
            **options,
        )
    try:
        output.finish(evaluation)
    finally:
        if by_label:
            print_tables(evaluation)


def _read(
    systems: Systems, table: str, truth: str, separator: str | None
) -> tuple[pa.Table, dict[str, Any]]:
    """The table of the truth, and what the systems say."""
    from calipers.data.columns import by_name

    predicted = systems.columns["predicted"]
    own = () if systems.tables else [text.rpartition("=")[2] for text in predicted]
    rows = _table(table, separator, (truth, *own))
    columns = systems.read(
        rows,
        table,
        lambda text, of, where: by_name(of, text, where),
        lambda path: _table(path, separator, predicted),
        "columns",
    )
    if separator is not None and not systems.tables:
        named = [by_name(rows, truth, table), *(columns["predicted"] or {}).values()]
        if all(isinstance(column, dict) for column in named):
            raise click.UsageError("--separator is about columns of text, and none is named")
    return rows, columns


def _table(path: str, separator: str | None, columns: Sequence[str]) -> pa.Table:
    """The table in a file; where these columns of a CSV file hold text, an empty field is no
    label."""
    from calipers.data.label_columns import no_labels

    table = read(path)
    empty = separator is not None and table.is_csv
    return no_labels(table.rows, columns) if empty else table.rows


def _threshold(text: str | None) -> Any:
    """A number, or one for each label."""
    if text is None:
        return None
    try:
        if "=" not in text:
            return float(text)
        parts = [part.rpartition("=") for part in text.split(",")]
        return {label: float(number) for label, _, number in parts}
    except ValueError:
        raise click.UsageError(
            f"--threshold {text!r}: expected a number, or labels and numbers as in sun=0.3,sea=0.6"
        ) from None
