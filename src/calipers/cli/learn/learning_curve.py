"""Command ``calipers learn learning-curve``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.learn.shared import (
    column_options,
    estimator_options,
    fold_options,
    output_options,
    parse_values,
    run_learning_command,
    threshold_options,
)
from calipers.cli.options import text_option


@click.command("learning-curve", cls=Command)
@click.argument("table", type=InputFile())
@estimator_options
@text_option(
    "--train-sizes",
    "N,…",
    "Sizes of the training sets, as numbers or proportions of rows (default: six from 1/8).",
)
@text_option(
    "--extrapolate-to",
    "N",
    "Size of the training set to extrapolate to, at most twice the largest.",
    type=int,
)
@fold_options(5, 5)
@column_options
@threshold_options
@output_options
def command(table: str, train_sizes: str | None, **options: Any) -> None:
    """Compute a learning curve and extrapolate it to larger training sets.

    The curve has the training and validation error over the size of the training set. Features and
    truth are columns of TABLE.

    \b
    Example:
      calipers learn learning-curve patients.csv --truth progression \\
        --estimator sklearn.linear_model.LinearRegression
    """
    from calipers.learning.learning_curves import learning_curve

    options["train_sizes"] = None if train_sizes is None else parse_values(train_sizes)
    run_learning_command(learning_curve, table, options, ("split", "group", "time", "weight"))
