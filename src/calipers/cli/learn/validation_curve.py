"""Command ``calipers learn validation-curve``."""

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

#: Default number of repetitions. It is 1 in Python; the command is run only for the result.
DEFAULT_REPEATS = 5


@click.command("validation-curve", cls=Command)
@click.argument("table", type=InputFile())
@estimator_options
@text_option("--param-name", "NAME", "Hyperparameter, such as max_depth.", required=True)
@text_option(
    "--param-range", "V,…", "Values of the hyperparameter, the simplest model first.", required=True
)
@fold_options(10, DEFAULT_REPEATS)
@column_options
@threshold_options
@output_options
def command(table: str, param_range: str, **options: Any) -> None:
    """Compute a validation curve: errors over a hyperparameter.

    The curve has the training and validation error, the regions of underfitting and overfitting,
    and the simplest model within one standard error of the best. Features and truth are columns of
    TABLE.

    \b
    Examples:
      calipers learn validation-curve patients.csv --truth progression \\
        --estimator sklearn.tree.DecisionTreeRegressor --param-name max_depth --param-range 1,2,4,8
      calipers learn validation-curve patients.csv --truth progression --split set \\
        --estimator sklearn.tree.DecisionTreeRegressor --param-name max_depth --param-range 1,2,4,8
    """
    from calipers.learning.learning_curves import validation_curve

    options["param_range"] = parse_values(param_range)
    if options["n_repeats"] is options["split"] is options["time"] is None:
        options["n_repeats"] = DEFAULT_REPEATS
    run_learning_command(validation_curve, table, options, ("split", "group", "time", "weight"))
