"""``calipers learn bias``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.learn.shared import (
    fitted_options,
    parse_values,
    run_learning_command,
    written_options,
)
from calipers.cli.options import combine_options, flag_option, number_option, text_option


@click.command("bias", cls=Command)
@click.argument("table", type=InputFile())
@fitted_options
@combine_options(
    text_option("--parameter", "NAME", "A parameter, such as max_depth."),
    text_option("--values", "V,…", "Its values, the simplest model first."),
    text_option("--training-sets", "N", "How many: 10 disjoint ones unless given.", type=int),
    flag_option("--bootstrap", "Draw training sets from the rows with replacement, and say so."),
    number_option("--noise", "S²", "The variance of the truth about its expected value, if known."),
)
@written_options
def command(table: str, values: str | None, **options: Any) -> None:
    """Bias and variance of a model, from disjoint training sets into which the rows of TABLE are
    cut; a third of the rows is tested on.

    \b
    Example:
      calipers learn bias patients.csv --truth progression \\
        --estimator sklearn.tree.DecisionTreeRegressor --parameter max_depth --values 1,2,4,8
    """
    from calipers.learning.bias_variance import bias_variance

    options["values"] = None if values is None else parse_values(values)
    run_learning_command(bias_variance, table, options, ())
