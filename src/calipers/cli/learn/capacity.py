"""``calipers learn capacity``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.learn.shared import (
    divided_options,
    fitted_options,
    parse_values,
    run_learning_command,
    split_options,
    tuned_options,
    written_options,
)
from calipers.cli.options import text_option

#: More than in Python: here all that is wanted is the answer.
REPEATS = 5


@click.command("capacity", cls=Command)
@click.argument("table", type=InputFile())
@fitted_options
@text_option("--parameter", "NAME", "Hyperparameter, such as max_depth.", required=True)
@text_option(
    "--values", "V,…", "Values of the hyperparameter, the simplest model first.", required=True
)
@divided_options(10, REPEATS)
@split_options
@tuned_options
@written_options
def command(table: str, values: str, **options: Any) -> None:
    """Compute a validation curve: training and validation error over a hyperparameter, with the
    regions of underfitting and overfitting and the simplest model within one standard error of the
    best. Features and truth are columns of TABLE.

    \b
    Examples:
      calipers learn capacity patients.csv --truth progression \\
        --estimator sklearn.tree.DecisionTreeRegressor --parameter max_depth --values 1,2,4,8
      calipers learn capacity patients.csv --truth progression --part part \\
        --estimator sklearn.tree.DecisionTreeRegressor --parameter max_depth --values 1,2,4,8
    """
    from calipers.learning.learning_curves import validation_curve

    options["values"] = parse_values(values)
    if options["repeats"] is options["part"] is options["time"] is None:
        options["repeats"] = REPEATS
    run_learning_command(validation_curve, table, options, ("part", "group", "time", "weight"))
