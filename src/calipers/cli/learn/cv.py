"""Command ``calipers learn cv``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.columns import parse_crossing
from calipers.cli.completion import measure_names
from calipers.cli.costs import read_costs
from calipers.cli.files import Command, InputFile
from calipers.cli.learn.shared import (
    fold_options,
    is_numeric,
    parse_estimator,
    parse_threshold,
    select_features,
    threshold_options,
)
from calipers.cli.memory_limit import EXIT_INTERRUPTED
from calipers.cli.options import (
    PROPORTION,
    argument_option,
    choice_option,
    combine_options,
    flag_option,
    number_option,
    option_with_default,
    repeatable_option,
    text_option,
)
from calipers.cli.shared_options import OutputOptions, output_options
from calipers.cli.tables import label_columns, read_input_table
from calipers.cli.wording import options_in_errors
from calipers.evaluation.tasks import parse_bins
from calipers.learning.parameters import COST, GROUP, POSITIVE, SLICE_BINS, SLICES, TIME, WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa

#: Options that name one column each.
_COLUMN_OPTIONS = ("fold", "repetition", "split", "group", "time", "weight")

_estimator_options = combine_options(
    repeatable_option(
        "--estimator",
        "[NAME=]PATH",
        "Estimator class, of scikit-learn or your own, as in "
        "sklearn.linear_model.Ridge(alpha=0.5); arguments are numbers, strings, true, false or "
        "none. Repeatable: estimators are compared on the same folds.",
    ),
    text_option(
        "--features",
        "COL,…",
        "Columns of the features, which are numeric (default: all other columns).",
    ),
    fold_options(10, 1),
    argument_option(GROUP),
    argument_option(TIME),
    flag_option(
        "--stratify", "Stratify by the target of a regression; classes are always stratified."
    ),
    option_with_default(
        "--jobs n_jobs", 1, "Number of parallel fits; -1 for all processors.", type=int
    ),
)

_prediction_options = combine_options(
    click.option(
        "--on",
        type=click.Choice(["test", "validation"]),
        help="With --split: the set to evaluate (default: the test set).",
    ),
    text_option(
        "--fold", "COL", "With predictions instead of estimators: column of the fold of each row."
    ),
    text_option(
        "--repetition", "COL", "Column of the repetition, if TABLE has the rows of several."
    ),
    number_option(
        "--train", "ROWS", "Number of training rows (default: the rows of the other folds)."
    ),
    repeatable_option(
        "--predicted", "[NAME=]COL", "Column of predicted labels or values; repeatable."
    ),
    repeatable_option("--score", "[NAME=]COL", "Column of scores; repeatable."),
    repeatable_option(
        "--probability", "[NAME=]COL", "Column of probabilities of the positive class."
    ),
)


@click.command("cv", cls=Command)
@click.argument("table", type=InputFile())
@text_option("--truth", "COL", "Column of the target.", required=True)
@_estimator_options
@_prediction_options
@argument_option(WEIGHT)
@argument_option(SLICES)
@argument_option(SLICE_BINS)
@argument_option(COST)
@click.option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    help="Task, if neither estimators nor columns determine it.",
)
@argument_option(POSITIVE)
@threshold_options
@repeatable_option(
    "-m --measure measures", "NAME", "Measure to report; repeatable.", shell_complete=measure_names
)
@text_option("--baseline", "NAME", "Compare every estimator with this one instead of all pairs.")
@choice_option("--interval", ["corrected", "nested", "none"], "Interval method.")
@option_with_default("--level", 0.95, "Confidence level of the intervals.", type=PROPORTION)
@option_with_default(
    "--seed", 0, "Seed of the folds and of fits.", type=click.IntRange(0, 2**31 - 1)
)
@output_options
def command(table: str, truth: str, **options: Any) -> None:
    """Cross-validate estimators, or evaluate out-of-fold predictions.

    TABLE is CSV, Parquet, Feather or JSON Lines (- is the standard input). It has features for
    estimators, or out-of-fold predictions. Every measure is averaged over folds, with an interval
    that allows for overlapping training sets, and pooled over all rows. Estimators require
    scikit-learn (the extra learn).

    \b
    Examples:
      calipers learn cv patients.csv --truth progression -m MSE --n-repeats 5 \\
        --estimator 'ridge=sklearn.linear_model.Ridge(alpha=0.01)' \\
        --estimator ols=sklearn.linear_model.LinearRegression
      calipers learn cv tumors.csv --truth malignant --probability p_net --fold fold
      calipers learn cv tumors.csv --truth malignant --probability p_net --split set \\
        --threshold accuracy
    """
    output = OutputOptions.pop_from(options)
    from calipers.data.tables import add_location, column
    from calipers.learning.cross_validation import cross_validate

    rows = read_input_table(table, categories=label_columns(options)).table
    estimators = options.pop("estimator")
    features, stratify = options.pop("features"), options.pop("stratify")
    slice_names, cost_specs = options.pop("slices"), options.pop("cost")
    if options["slice_bins"] is not None:
        try:
            options["slice_bins"] = parse_bins(options["slice_bins"])
        except ValueError as error:
            raise click.UsageError(f"--slice-bins {error}") from None
    specs_by_kind = {kind: options.pop(kind) for kind in ("predicted", "score", "probability")}
    options["threshold"] = parse_threshold(options["threshold"])
    with add_location(table), options_in_errors():
        name_by_role = {name: options.pop(name) for name in _COLUMN_OPTIONS}
        columns = {
            name: column_name and column(rows, column_name, table)
            for name, column_name in name_by_role.items()
        }
        target = column(rows, truth, table)
        columns["cost"] = read_costs(cost_specs, str)
        columns["slices"] = {
            name: parse_crossing(name, rows.column_names) for name in slice_names
        } or None
        for kind, specs in specs_by_kind.items():
            columns[kind] = _named_columns(specs, rows, table) or None
        if estimators:
            used_columns = {truth, *filter(None, name_by_role.values())}
            used_columns.update(_other_columns(columns, rows))
            options |= {
                "estimator": dict(map(parse_estimator, estimators)),
                "X": select_features(rows, features, used_columns, table),
                "y": target,
                "stratify": stratify or None,
            }
        else:
            _check_estimator_options(features, stratify)
            options["truth"] = target
            options["stratify"] = None
        with warnings.catch_warnings():
            # A note says so too.
            warnings.filterwarnings("ignore", "interrupted:", UserWarning)
            evaluation = cross_validate(
                **columns,
                **{**options, "measures": options["measures"] or None},
                data=rows if slice_names or cost_specs else None,
                curves=output.report.is_requested,
                inputs=[read_input_table(table).origin],
            )
    output.finish(evaluation)
    if any(note.startswith("Interrupted:") for note in evaluation.notes):
        raise SystemExit(EXIT_INTERRUPTED)


def _other_columns(columns: Mapping[str, Any], rows: pa.Table) -> set[str]:
    """Return the columns of costs, and those of slices that are not numeric: no features."""
    from calipers.data.costs import Costs

    costs = Costs.from_argument(columns["cost"]).columns
    return {
        *(name for by_system in costs.values() for name in by_system.values()),
        *(
            name
            for names in (columns["slices"] or {}).values()
            for name in ((names,) if isinstance(names, str) else names)
            if name in rows.column_names and not is_numeric(rows, name)
        ),
    }


def _check_estimator_options(features: str | None, stratify: bool) -> None:
    if features is not None or stratify:
        raise click.UsageError("--features and --stratify go with --estimator")


def _named_columns(specs: tuple[str, ...], rows: pa.Table, table: str) -> dict[str, Any]:
    """Return the columns of systems, by the names of the systems."""
    from calipers.data.tables import column

    pairs = (
        (spec, "", spec) if spec in rows.column_names else spec.partition("=") for spec in specs
    )
    return {name: column(rows, column_name or name, table) for name, _, column_name in pairs}
