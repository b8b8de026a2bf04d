"""``calipers multilabel``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.common import Output, join_options, measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.slices import part_columns, part_options
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa

#: What a system may say of the labels.
KINDS = ("predicted", "score", "probability")

COLUMNS = (
    "a column of lists, a column of text (see --separator), or 'p_*' for a column of 0 and 1 for "
    "each label, with the label for *"
)


@click.command("multilabel", cls=Command)
@click.argument("table", type=InFile())
@click.option("--truth", required=True, metavar="COLS", help=f"The labels of each row: {COLUMNS}.")
@click.option(
    "--predicted",
    multiple=True,
    metavar="[NAME=]COLS",
    help="The labels that a system names, in the same forms; repeatable.",
)
@click.option(
    "--score",
    multiple=True,
    metavar="[NAME=]COLS",
    help="A column of scores for each label, as 's_*'; repeatable.",
)
@click.option(
    "--probability",
    multiple=True,
    metavar="[NAME=]COLS",
    help="A column of probabilities for each label, as 'p_*'; repeatable.",
)
@click.option(
    "--separator",
    metavar="TEXT",
    help="What stands between the labels in a column of text, such as '|'. In CSV an empty field "
    "is a row without labels.",
)
@click.option("--labels", metavar="A,B,…", help="The labels in the order wanted.")
@click.option(
    "--threshold",
    metavar="X|LABEL=X,…",
    help="A row is said to have the labels whose score is at or above it (probabilities: 0.5): one "
    "number, or one for each label.",
)
@join_options
@click.option("--weight", metavar="COL", help="Column of weights.")
@part_options
@click.option("--by-label", is_flag=True, help="Show the table of labels too.")
@measure_options
@output_options
def command(
    table: str,
    truth: str,
    by: str | None,
    tables: tuple[tuple[str, str], ...],
    labels: str | None,
    separator: str | None,
    threshold: str | None,
    cluster: str | None,
    slices: tuple[str, ...],
    slice_bins: tuple[str, ...],
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
    if by_label and (output.kind != "table" or output.path):
        raise click.UsageError(
            "--by-label goes with a table on the standard output; --report has it, and the JSON of "
            "to_json(details=True)"
        )
    specs = {kind: options.pop(kind) for kind in KINDS}
    if not any(specs.values()):
        raise click.UsageError("give at least one of --predicted, --score, --probability")
    if (by is None) != (not tables):
        raise click.UsageError("--id and --system go together")
    if separator == "":
        raise click.UsageError("--separator is empty")
    from contextlib import nullcontext

    from calipers.data.columns import by_name
    from calipers.data.tables import located
    from calipers.evaluate.multilabel import multilabel

    paths = dict(tables)
    own = () if tables else [_columns_of(text) for text in specs["predicted"]]
    rows = _table(table, separator, (truth, *own))
    if tables:
        systems = _of_tables(specs, paths, by or "", separator)
    else:
        systems = {kind: _of_columns(specs[kind], rows, table) for kind in KINDS}
    if separator is not None and not tables:
        named = [by_name(rows, truth, table), *(systems["predicted"] or {}).values()]
        if all(isinstance(column, dict) for column in named):
            raise click.UsageError("--separator is about columns of text, and none is named")
    if options["weight"] is not None:
        options["weight"] = by_name(rows, options["weight"], table)
    # A message about one of several tables says itself which system it is about.
    with nullcontext() if tables else located(table):
        evaluation = multilabel(
            by_name(rows, truth, table),
            **systems,
            labels=None if labels is None else labels.split(","),
            separator=separator,
            threshold=_threshold(threshold),
            **part_columns(rows, table, cluster, slices, slice_bins),
            data=rows,
            id=by,
            measures=measures or None,
            curves=output.report is not None,
            inputs=[read(path).origin for path in (table, *paths.values())],
            **options,
        )
    try:
        output.finish(evaluation)
    finally:
        if by_label:
            from calipers.report.columns import width_of
            from calipers.report.labels import text_table
            from calipers.report.names import short

            for each in evaluation.label_tables:
                shown = text_table(each, width_of(sys.stdout))
                click.echo(f"\n{short(each.system)}\n\n{shown}")


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


def _columns_of(text: str) -> str:
    return text.rpartition("=")[2]


def _of_columns(specs: Sequence[str], rows: pa.Table, where: str) -> dict[str, Any] | None:
    """The systems whose columns stand in the table of the truth."""
    from calipers.data.columns import by_name, system_name

    made = {}
    for text in specs:
        name, equals, columns = text.partition("=")
        if not equals or text in rows.column_names:
            name, columns = system_name(text), text
        made[name] = by_name(rows, columns, where)
    return made or None


def _of_tables(
    specs: dict[str, Sequence[str]], paths: dict[str, str], by: str, separator: str | None
) -> dict[str, Any]:
    """The systems that have a table each: their columns with their ids, to be joined."""
    import pyarrow as pa

    from calipers.data.columns import by_name

    systems: dict[str, Any] = dict.fromkeys(KINDS)
    for name, path in paths.items():
        rows = _table(path, separator, specs["predicted"])
        ids = by_name(rows, by, path)
        for kind, given in specs.items():
            if len(given) > 1:
                raise click.UsageError(
                    f"--{kind}: give it once, for the columns that every --system has"
                )
            for text in given:
                found = by_name(rows, text, path)
                columns = found if isinstance(found, dict) else {kind: found}
                systems[kind] = (systems[kind] or {}) | {name: pa.table({by: ids, **columns})}
    return systems
