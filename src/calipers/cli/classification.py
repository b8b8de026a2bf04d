"""``calipers classification``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.common import (
    Output,
    join_options,
    measure_options,
    output_options,
)
from calipers.cli.files import Command, InFile, asked
from calipers.cli.slices import part_columns, part_options
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.results import AnyConfusion

#: Larger confusion matrices, and those of more systems, are printed where they are asked for.
MOST_CLASSES, MOST_SHOWN = 10, 3

#: Which way round a confusion matrix may be, and what its cells may be shares of.
ORIENTATIONS = ("truth-rows", "predicted-rows")
NORMALISED = ("truth", "prediction", "all")

#: What a system may say of the rows.
KINDS = ("predicted", "score", "probability")


@click.command("classification", cls=Command)
@click.argument("table", type=InFile())
@click.option("--truth", required=True, metavar="COL", help="Column of the true classes.")
@click.option(
    "--score", multiple=True, metavar="[NAME=]COL", help="Column of scores of a system; repeatable."
)
@click.option(
    "--probability",
    multiple=True,
    metavar="[NAME=]COLS",
    help="Column of probabilities of the positive class; or a column for each class, as 'p_*' with "
    "the class for *, or as p_a,p_b,p_c in the order of --labels. Repeatable.",
)
@click.option(
    "--predicted",
    multiple=True,
    metavar="[NAME=]COL",
    help="Column of predicted classes; repeatable.",
)
@join_options
@click.option("--labels", metavar="A,B,…", help="The classes in the order wanted.")
@click.option(
    "--positive", metavar="VALUE", help="The positive class; any other class is negative then."
)
@click.option(
    "--threshold",
    metavar="X|RULE",
    help="Scores at or above it are positive (probabilities: 0.5). Or a rule to choose it by, such "
    "as youden, 'specificity>=0.9', 'F1 where recall>=0.8' or 'cost(cost_fp=1,cost_fn=5)'; what "
    "choosing it on the same rows flatters is then estimated.",
)
@click.option(
    "--costs",
    metavar="FP,FN",
    help="What a false positive and a false negative cost, for the rule 'cost'.",
)
@click.option(
    "--prevalence",
    type=click.FloatRange(0, 1),
    help="Share of positives where the system will be used: for the rule 'cost', and for the "
    "precision and the NPV there, which are added to the measures.",
)
@click.option("--weight", metavar="COL", help="Column of weights.")
@part_options
@click.option(
    "--confusion",
    type=click.Choice(["counts", *NORMALISED]),
    help="How to show the confusion matrix, also one of many classes: counts, or shares of the "
    "true class, of the predicted class, or of all.",
)
@click.option(
    "--orientation",
    type=click.Choice(ORIENTATIONS),
    default=ORIENTATIONS[0],
    show_default=True,
    help="What is a row of the confusion matrix, here, in Markdown and in the report.",
)
@measure_options
@output_options
def command(
    table: str,
    truth: str,
    by: str | None,
    tables: tuple[tuple[str, str], ...],
    labels: str | None,
    threshold: str | None,
    costs: str | None,
    prevalence: float | None,
    cluster: str | None,
    slices: tuple[str, ...],
    slice_bins: tuple[str, ...],
    confusion: str | None,
    orientation: str,
    measures: tuple[str, ...],
    **options: Any,
) -> None:
    """Evaluate predictions of classes in TABLE (CSV, Parquet, Feather or JSON Lines; - is the
    standard input).

    Each column of scores, probabilities or predicted classes is a system; two or more are compared
    row by row.

    \b
    Examples:
      calipers classification scan.csv --truth diagnosis --positive malignant \\
        --probability p_logistic --probability p_forest --report scan.html
      calipers classification photos.parquet --truth label --probability 'p_*' \\
        -m macro-F1 -m 'recall[child]'
      calipers classification truth.csv --truth y --id row --score s \\
        --system a=a.csv --system b=b.parquet -m AUC -m 'precision@recall=0.9'
      calipers classification scan.csv --truth y --score s --threshold youden \\
        -m recall -m specificity --slice site --cluster-by patient --missing drop
      calipers classification scan.csv --truth y --score s --threshold cost \\
        --costs 1,20 --prevalence 0.01
    """
    output = Output.take(options)
    if confusion is not None and (output.kind != "table" or output.path):
        raise click.UsageError(
            "--confusion goes with a table on the standard output; other formats have the counts"
        )
    specs = {kind: options.pop(kind) for kind in KINDS}
    if not any(specs.values()):
        raise click.UsageError("give at least one of --score, --probability, --predicted")
    shown = output.kind == "markdown" or (output.kind == "table" and output.path is None)
    if asked("orientation") and not (shown or output.report):
        raise click.UsageError(
            "--orientation goes with a table on the standard output, Markdown or --report"
        )
    if threshold is not None and not (specs["score"] or specs["probability"]):
        raise click.UsageError("--threshold is about --score and --probability")
    names = None if labels is None else labels.split(",")
    both = names is not None and len(names) == 2
    if names is not None and options["positive"] is not None and not (both or _by_class(specs)):
        raise click.UsageError(
            "--labels and --positive: name a positive class, or all classes in their order; both "
            "only where --labels names two, or with a column for each class, as in "
            "--probability p_a,p_b,…"
        )
    if (by is None) != (not tables):
        raise click.UsageError("--id and --system go together")
    from contextlib import nullcontext

    from calipers.data.columns import by_name
    from calipers.data.tables import located
    from calipers.evaluate.classification import classification
    from calipers.evaluate.shared import DEFAULT

    if prevalence is not None:
        there = (f"precision@prevalence={prevalence}", f"NPV@prevalence={prevalence}")
        measures = (*(measures or (DEFAULT,)), *there)
    rows = read(table).rows
    paths = dict(tables)
    if tables:
        systems = _of_tables(specs, paths, by or "", names)
    else:
        systems = {kind: _of_columns(specs[kind], rows, table, names) for kind in KINDS}
    if options["weight"] is not None:
        options["weight"] = by_name(rows, options["weight"], table)
    # A message about one of several tables says itself which system it is about.
    with nullcontext() if tables else located(table):
        evaluation = classification(
            by_name(rows, truth, table),
            systems.pop("predicted"),
            **systems,
            # Beside a positive class, the names of more than two serve to find columns only.
            labels=names if both or options["positive"] is None else None,
            threshold=_threshold(threshold, costs, prevalence),
            **part_columns(rows, table, cluster, slices, slice_bins),
            data=rows,
            id=by,
            measures=measures or None,
            curves=output.report is not None,
            inputs=[read(path).origin for path in (table, *paths.values())],
            **options,
        )
    if not evaluation.confusions and output.then is None:
        for name in filter(asked, ("confusion", "orientation")):
            raise click.UsageError(
                f"--{name}: there is no confusion matrix; it takes --predicted, --probability or "
                "--threshold"
            )
    try:
        output.finish(evaluation, orientation=orientation)
    finally:
        on_terminal = output.kind == "table" and output.path is None and output.then is None
        if confusion is not None:
            _show(evaluation.confusions, confusion, orientation)
        elif on_terminal and len(evaluation.confusions) <= MOST_SHOWN:
            few = [own for own in evaluation.confusions if len(own.labels) <= MOST_CLASSES]
            _show(few, "counts", orientation)


def _show(confusions: Iterable[AnyConfusion], confusion: str, orientation: str) -> None:
    """The confusion matrix of every system."""
    from calipers.report.columns import width_of
    from calipers.report.confusion import text_table
    from calipers.report.names import short

    of, width = None if confusion == "counts" else confusion, width_of(sys.stdout)
    for matrix in confusions:
        shown = text_table(matrix, orientation, of, width)
        click.echo(f"\n{short(matrix.system)}\n\n{shown}")


def _by_class(specs: dict[str, Sequence[str]]) -> bool:
    """Whether there are columns of single classes, which go by the labels."""
    return any("," in text or "*" in text for text in specs["probability"])


def _threshold(text: str | None, costs: str | None, prevalence: float | None) -> Any:
    """A number, or the rule with what it has to know of the place of use."""
    try:
        number = None if text is None else float(text)
    except ValueError:
        number = None
    if text is None or number is not None:
        if costs is not None:
            raise click.UsageError("--costs goes with a rule for --threshold, such as 'cost'")
        return number
    from calipers.systems.thresholds import Rule

    defaults = {} if prevalence is None else {"prevalence": prevalence}
    if costs is not None:
        try:
            defaults["cost_fp"], defaults["cost_fn"] = map(float, costs.split(","))
        except ValueError:
            raise click.UsageError(f"--costs {costs!r}: expected two numbers, as in 1,5") from None
    rule = Rule.parse(text, defaults)
    used = {
        name for m in (rule.measure, *(b.measure for b in rule.bounds)) for name in m.parameters
    }
    if costs is not None and "cost_fp" not in used:
        raise click.UsageError(f"--costs: the rule {text!r} knows no costs; 'cost' does")
    return rule


def _of_columns(
    specs: Sequence[str], rows: pa.Table, where: str, labels: Sequence[str] | None
) -> dict[str, Any] | None:
    """The systems whose columns stand in the table of the truth."""
    from calipers.data.columns import system_name

    made = {}
    for text in specs:
        name, equals, columns = text.partition("=")
        if not equals or text in rows.column_names:
            prefix = commonprefix(text.split(",")) + "*" if "," in text else text  # noqa: RUF071
            name, columns = system_name(prefix), text
        made[name] = _columns(columns, rows, where, labels)
    return made or None


def _columns(text: str, rows: pa.Table, where: str, labels: Sequence[str] | None) -> Any:
    """One column, or a dict of one for each class."""
    from calipers.data.columns import by_name

    parts = text.split(",")
    if len(parts) == 1 or text in rows.column_names:
        return by_name(rows, text, where)
    if labels is None or len(labels) != len(parts):
        count = "are not given" if labels is None else f"are {len(labels)}"
        raise click.UsageError(
            f"--probability {text}: {len(parts)} columns for the classes of --labels, which {count}"
        )
    return {label: by_name(rows, part, where) for label, part in zip(labels, parts, strict=True)}


def _of_tables(
    specs: dict[str, Sequence[str]], paths: dict[str, str], by: str, labels: Sequence[str] | None
) -> dict[str, Any]:
    """The systems that have a table each: their columns with their ids, to be joined."""
    import pyarrow as pa

    from calipers.data.columns import by_name

    systems: dict[str, Any] = dict.fromkeys(KINDS)
    for name, path in paths.items():
        rows = read(path).rows
        ids = by_name(rows, by, path)
        for kind, given in specs.items():
            if len(given) > 1:
                raise click.UsageError(
                    f"--{kind}: give it once, for the column that every --system has"
                )
            for text in given:
                columns = _columns(text, rows, path, labels)
                columns = columns if isinstance(columns, dict) else {kind: columns}
                systems[kind] = (systems[kind] or {}) | {name: pa.table({by: ids, **columns})}
    return systems
