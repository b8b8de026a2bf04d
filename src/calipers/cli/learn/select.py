"""Command ``calipers learn select``."""

from __future__ import annotations

import warnings
from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.learn.shared import (
    column_options,
    exit_if_interrupted,
    fit_options,
    fold_options,
    parse_estimator,
    parse_threshold,
    select_features,
)
from calipers.cli.options import combine_options, repeatable_option, text_option
from calipers.cli.output import DATA_FORMATS, format_and_file, format_options, write_result
from calipers.cli.tables import label_columns, read_input_table
from calipers.cli.wording import options_in_errors

_COLUMN_OPTIONS = ("split", "group", "time", "weight")


@click.command("select", cls=Command)
@click.argument("table", type=InputFile())
@text_option("--truth", "COL", "Column of the target.", required=True)
@repeatable_option(
    "--estimator",
    "[NAME=]PATH",
    "Candidate estimator class, of scikit-learn or your own, as in "
    "sklearn.linear_model.Ridge(alpha=0.5); arguments are numbers, strings, true, false or none. "
    "Give two or more.",
    required=True,
)
@text_option(
    "--features",
    "COL,…",
    "Columns of the features, which are numeric (default: all other columns).",
)
@fold_options(10, 1)
@column_options
@combine_options(
    text_option(
        "--threshold",
        "X|RULE",
        "Scores at or above it are predicted positive. Or a rule, such as accuracy or "
        "'specificity>=0.9', that chooses it on rows outside the test set.",
    ),
    text_option(
        "--inner-folds inner_cv",
        "N",
        "Number of inner folds that compare candidates and choose thresholds (default: 5).",
        type=click.IntRange(2),
    ),
)
@fit_options
@lambda command: format_options(command, report=False)
def command(table: str, truth: str, **options: Any) -> None:
    """Select a model and estimate its performance by nested validation.

    The performance is estimated on rows that were not used for the selection: by nested
    cross-validation, or with --split by one split of the rows of TABLE into training, validation
    and test sets.

    \b
    Examples:
      calipers learn select patients.csv --truth progression -m MSE \\
        --estimator 'stiff=sklearn.linear_model.Ridge(alpha=10)' \\
        --estimator 'loose=sklearn.linear_model.Ridge(alpha=0.1)'
      calipers learn select patients.csv --truth progression --split set \\
        --estimator sklearn.linear_model.LinearRegression \\
        --estimator sklearn.tree.DecisionTreeRegressor
    """
    kind, path = format_and_file(options, DATA_FORMATS, "this result")
    from calipers.data.tables import add_location, column
    from calipers.learning.selection import select_model

    rows = read_input_table(table, categories=label_columns(options)).table
    estimators = list(map(parse_estimator, options.pop("estimator")))
    if len(estimators) < 2:
        raise click.UsageError("there is one --estimator, expected two or more to select from")
    if len(dict(estimators)) < len(estimators):
        raise click.UsageError(
            "two estimators have the same name; rename one, as in --estimator a=…"
        )
    options["threshold"] = parse_threshold(options["threshold"])
    features = options.pop("features")
    with add_location(table), options_in_errors():
        name_by_role = {name: options.pop(name) for name in _COLUMN_OPTIONS}
        used_columns = {truth, *filter(None, name_by_role.values())}
        with warnings.catch_warnings():
            # A note says so too.
            warnings.filterwarnings("ignore", ".* was interrupted", UserWarning)
            result = select_model(
                dict(estimators),
                select_features(rows, features, used_columns, table),
                column(rows, truth, table),
                **{
                    name: column_name and column(rows, column_name, table)
                    for name, column_name in name_by_role.items()
                },
                inputs=[read_input_table(table).origin],
                **options,
            )
    write_result(result, kind, path)
    exit_if_interrupted(result.notes)
