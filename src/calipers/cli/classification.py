"""``calipers classification``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.common import Output, measure_options, output_options, undefined_option
from calipers.cli.costs import cost_option
from calipers.cli.files import Command, InFile, asked
from calipers.cli.matrices import cells as matrices
from calipers.cli.matrices import matrix_options, row_classes, whole
from calipers.cli.options import choice, switch, text, texts
from calipers.cli.output import is_page, no_tables_below, print_below, print_tables
from calipers.cli.slices import part_columns, part_options, row_columns, row_options, time_option
from calipers.cli.streams import States, engine_options, is_stream
from calipers.cli.streams import by_name as columns_of_stream
from calipers.cli.systems import Systems, join_options
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.results import AnyConfusion, Evaluation

#: Larger confusion matrices, and those of more systems, are printed where they are asked for.
MOST_CLASSES, MOST_SHOWN = 10, 3

#: Which way round a confusion matrix may be, and what its cells may be shares of.
ORIENTATIONS = ("truth-rows", "predicted-rows")
NORMALISED = ("truth", "prediction", "all")


@click.command("classification", cls=Command)
@click.argument("table", type=InFile())
@text("--truth", "COL", "Column of the true classes; needed unless TABLE is a confusion matrix.")
@texts("--score", "[NAME=]COL", "Column of scores of a system; repeatable.")
@texts(
    "--probability",
    "[NAME=]COLS",
    "Column of probabilities of the positive class; or a column for each class, as 'p_*' with the "
    "class for *, or as p_a,p_b,p_c in the order of --labels. Repeatable.",
)
@texts("--predicted", "[NAME=]COL", "Column of predicted classes; repeatable.")
@join_options
@text("--labels", "A,B,…", "The classes in the order wanted.")
@text("--positive", "VALUE", "The positive class; any other class is negative then.")
@texts(
    "--threshold",
    "[NAME=]X|RULE",
    "Scores at or above it are positive (probabilities: 0.5). Or a rule to choose it by, such as "
    "youden, 'specificity>=0.9', 'F1 where recall>=0.8' or 'cost(cost_fp=1,cost_fn=5)'; what "
    "choosing it on the same rows flatters is then estimated. Of all systems, or repeated, as in "
    "old=0.4, of each. Without one the accuracy of scores is at the best threshold.",
)
@text("--costs", "FP,FN", "What a false positive and a false negative cost, for the rule 'cost'.")
@click.option(
    "--prevalence",
    type=click.FloatRange(0, 1),
    help="Share of positives where the system will be used: for the rule 'cost', and for the "
    "precision and the NPV there, which are added to the measures.",
)
@text(
    "--cutoffs",
    "all|X,Y,…",
    "A table of these cut-offs of the scores, or of all distinct ones: the measures of counts that "
    "are asked for (else sensitivity, specificity, PPV, NPV and likelihood ratios) at each. "
    "--format csv and latex have this table alone.",
)
@row_options
@cost_option
@matrix_options
@part_options
@time_option
@click.option(
    "--confusion",
    type=click.Choice(["counts", *NORMALISED]),
    help="How to show the confusion matrix, also one of many classes: counts, or shares of the "
    "true class, of the predicted class, or of all.",
)
@choice(
    "--orientation",
    ORIENTATIONS,
    "What is a row of the confusion matrix, here, in Markdown and in the report.",
)
@switch("--by-class", "Show the table of classes too: each against the rest.")
@undefined_option
@engine_options
@measure_options
@output_options
def command(
    table: str,
    truth: str | None,
    labels: str | None,
    threshold: tuple[str, ...],
    costs: str | None,
    prevalence: float | None,
    cutoffs: str | None,
    cells: tuple[str, ...],
    rows: str | None,
    no_compare: bool,
    confusion: str | None,
    orientation: str,
    by_class: bool,
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
      calipers classification lab.csv --truth sick --score marker --cutoffs 2,4,8
      calipers classification screening.csv --truth cancer --predicted blood --count people \\
        --positive yes
      calipers classification matrix.csv --rows predicted --positive yes
    """
    output = Output.take(options)
    _check_look(output, confusion, by_class=by_class)
    given: dict[str, Any] = {
        "labels": labels,
        "rows": rows,
        "compare": not no_compare,
        "prevalence": prevalence,
        "measures": measures,
        "curves": output.page.wanted,
        **options,
    }
    if truth is None and not cells:
        if threshold or costs is not None:
            raise click.UsageError("--threshold and --costs are about --score and --probability")
        evaluation = _of_matrices(table, **given)
    elif rows is not None and not cells:
        raise click.UsageError("--rows goes with --cells, or without --truth")
    else:
        evaluation = _of_rows(table, truth, cells, cutoffs, threshold, costs, **given)
    if cutoffs is not None:
        evaluation = _with_cutoffs(evaluation, cutoffs, measures, prevalence)
    _finish(evaluation, output, confusion, orientation, by_class=by_class)


#: What a system says of rows.
KINDS = ("score", "probability", "predicted")


def _of_rows(
    table: str,
    truth: str | None,
    cells: tuple[str, ...],
    cutoffs: str | None,
    threshold: tuple[str, ...],
    costs: str | None,
    *,
    labels: str | None,
    rows: str | None,
    prevalence: float | None,
    measures: tuple[str, ...],
    **options: Any,
) -> Evaluation:
    """The evaluation of systems on the rows of a table, or of matrices among its columns."""
    from calipers.data.columns import by_name
    from calipers.evaluate.classification import classification

    of_rows = row_classes(options, truth) if cells else None
    systems = Systems.take(options, KINDS, needed=not cells)
    states = States.take(options)
    others = systems.columns["probability"] or systems.columns["predicted"]
    if threshold and not (systems.columns["score"] or systems.columns["probability"]):
        raise click.UsageError("--threshold is about --score and --probability")
    names, positive = None if labels is None else labels.split(","), options["positive"]
    _check_classes(names, positive, systems)
    alone = cutoffs is not None and not threshold and not others
    shared = {
        "labels": _classes(labels, positive),
        "threshold": _thresholds(threshold, systems, costs, prevalence),
        "measures": _measured(measures, prevalence, alone=alone) or None,
    }
    if is_stream(table, truth or of_rows or "", systems, options):
        columns = columns_of_stream(table, systems, options, names, cells=cells, cutoffs=cutoffs)
        return states.of(classification, truth, **columns, **shared, **options)
    there = read(table).rows
    columns = systems.read(there, table, lambda text, of, at: _columns(text, of, at, names))
    if of_rows is not None:
        columns["predicted"] = by_name(there, of_rows, table)
    with systems.located(table):
        return classification(
            None if truth is None else by_name(there, truth, table),
            **columns,
            confusion=matrices(cells, there, table, labelled=bool(truth or of_rows)) or None,
            rows=rows,
            **shared,
            **row_columns(there, table, options, systems),
            **part_columns(there, table, options),
            data=there,
            id=systems.by,
            inputs=systems.origins(table),
            **options,
        )


def _of_matrices(
    table: str,
    *,
    labels: str | None,
    rows: str | None,
    prevalence: float | None,
    measures: tuple[str, ...],
    **options: Any,
) -> Evaluation:
    """The evaluation of a table that is a confusion matrix, or has several."""
    from calipers.data.tables import located
    from calipers.evaluate.classification import classification

    confusion, inputs = whole(table, rows, options, KINDS)
    with located(table):
        return classification(
            confusion=confusion,
            rows=rows,
            labels=_classes(labels, options["positive"]),
            measures=_measured(measures, prevalence, alone=False) or None,
            inputs=inputs,
            **options,
        )


def _classes(labels: str | None, positive: str | None) -> list[str] | None:
    """The classes that --labels names. Beside a positive one, the names of more than two serve to
    find columns only."""
    names = None if labels is None else labels.split(",")
    return names if positive is None or len(names or ()) == 2 else None


def _measured(
    measures: tuple[str, ...], prevalence: float | None, *, alone: bool
) -> tuple[str, ...]:
    """The measures that are asked for; where cut-offs stand ``alone``, without a threshold, those
    of counts are of the cut-offs."""
    from calipers.evaluate.shared import DEFAULT, at_prevalence

    if alone:
        of_counts = _of_counts(measures)
        rest = tuple(name for name in measures if name not in of_counts)
        return rest or (("AUC",) if of_counts else ())
    if prevalence is not None:
        return tuple(map(str, at_prevalence(measures or (DEFAULT,), prevalence)))
    return measures


def _with_cutoffs(
    evaluation: Evaluation, text: str, measures: Sequence[str], prevalence: float | None
) -> Evaluation:
    """The evaluation with the table of cut-offs that was asked for."""
    from dataclasses import replace

    from calipers.evaluate.cutoffs import ALL, cutoffs

    try:
        at: Any = text if text == ALL else [float(part) for part in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--cutoffs {text!r}: expected all, or numbers as 0.2,0.5") from None
    made = cutoffs(evaluation, at=at, measures=_of_counts(measures) or None, prevalence=prevalence)
    return replace(evaluation, cutoffs=made)


def _of_counts(measures: Sequence[str]) -> list[str]:
    """The measures of counts among those that are named."""
    from calipers.evaluate.shared import DEFAULT
    from calipers.measures import TASKS, parse
    from calipers.statistics import ConfusionMatrix

    families, named = TASKS["classification"], (name for name in measures if name != DEFAULT)
    return [name for name in named if parse(name, families).definition.on is ConfusionMatrix]


def _check_look(output: Output, confusion: str | None, *, by_class: bool) -> None:
    """That what is said of the confusion matrix is about something that shows it."""
    if by_class:
        no_tables_below("--by-class", output.kind, output.path)
    if confusion is not None and (output.kind != "table" or output.path):
        raise click.UsageError(
            "--confusion goes with a table on the standard output; other formats have the counts"
        )
    shown = is_page(output.kind) or (output.kind == "table" and output.path is None)
    if asked("orientation") and not (shown or output.page.wanted):
        raise click.UsageError(
            "--orientation goes with a table on the standard output, Markdown or --report"
        )


def _check_classes(names: Sequence[str] | None, positive: str | None, systems: Systems) -> None:
    """That classes and a positive one are not both named, but where that says more."""
    by_class = any("," in text or "*" in text for text in systems.columns["probability"])
    if names is not None and positive is not None and not (len(names) == 2 or by_class):
        raise click.UsageError(
            "--labels and --positive: name a positive class, or all classes in their order; both "
            "only where --labels names two, or with a column for each class, as in "
            "--probability p_a,p_b,…"
        )


def _finish(
    evaluation: Evaluation,
    output: Output,
    confusion: str | None,
    orientation: str,
    *,
    by_class: bool,
) -> None:
    """Write the result, and show the confusion matrices and the tables of classes."""
    if by_class and not evaluation.label_tables:
        raise click.UsageError("--by-class is about three classes or more, 100 at most")
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
        if by_class:
            print_tables(evaluation)


def _show(confusions: Iterable[AnyConfusion], confusion: str, orientation: str) -> None:
    """The confusion matrix of every system."""
    from calipers.report.columns import width_of
    from calipers.report.confusion import text_table

    of, width = None if confusion == "counts" else confusion, width_of(sys.stdout)
    for matrix in confusions:
        print_below(matrix.system, text_table(matrix, orientation, of, width))


def _thresholds(
    given: Sequence[str], systems: Systems, costs: str | None, prevalence: float | None
) -> Any:
    """A number, or the rule with what it has to know of the place of use; or such by system."""
    from calipers.systems.thresholds import Rule

    defaults = {} if prevalence is None else {"prevalence": prevalence}
    if costs is not None:
        try:
            defaults["cost_fp"], defaults["cost_fn"] = map(float, costs.split(","))
        except ValueError:
            raise click.UsageError(f"--costs {costs!r}: expected two numbers, as in 1,5") from None
    found = dict[str | None, Any]()
    for one in given:
        name, cut = _threshold(one, systems.names, defaults)
        if name in found:
            whose = "all systems" if name is None else f"system {name!r}"
            raise click.UsageError(f"--threshold {one!r}: {whose} had one before")
        found[name] = cut
    if None in found and len(found) > 1:
        raise click.UsageError(
            "--threshold: give one of all systems, or one of each as NAME=X, not both"
        )
    if costs is not None:
        rules = [cut for cut in found.values() if isinstance(cut, Rule)]
        if not rules:
            raise click.UsageError("--costs goes with a rule for --threshold, such as 'cost'")
        if not any("cost_fp" in m.parameters for rule in rules for m in rule.measures):
            raise click.UsageError(f"--costs: the rule {given[0]!r} knows no costs; 'cost' does")
    return found.get(None) if None in found or not found else found


def _threshold(
    text: str, systems: Sequence[str], defaults: Mapping[str, Any]
) -> tuple[str | None, Any]:
    """The system that a threshold is said of, None of all; and the number, or the rule."""
    from calipers.data.errors import InputError, listed
    from calipers.systems.thresholds import Rule

    of = [name for name in systems if text.startswith(f"{name}=")]
    name = max(of, key=len, default=None)
    cut = text if name is None else text[len(name) + 1 :]
    try:
        return name, float(cut)
    except ValueError:
        pass
    try:
        return name, Rule.parse(cut, defaults)
    except InputError as error:
        if name is not None or "=" not in text:
            raise
        said = f"{error}. Of one system it is NAME=X; there are {listed(systems)}"
        raise InputError(said) from None


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
