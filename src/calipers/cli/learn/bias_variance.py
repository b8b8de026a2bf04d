"""Command ``calipers learn bias-variance``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.learn.shared import (
    estimator_options,
    output_options,
    parse_values,
    run_learning_command,
)
from calipers.cli.options import combine_options, flag_option, number_option, text_option


@click.command("bias-variance", cls=Command)
@click.argument("table", type=InputFile())
@estimator_options
@combine_options(
    text_option("--param-name", "NAME", "Hyperparameter, such as max_depth."),
    text_option("--param-range", "V,…", "Values of the hyperparameter, the simplest model first."),
    text_option(
        "--training-sets", "N", "Number of training sets (default: 10 disjoint ones).", type=int
    ),
    flag_option("--bootstrap", "Use bootstrap samples as training sets, with a note."),
    number_option(
        "--noise", "S²", "Noise variance: that of the truth about its expected value, if known."
    ),
)
@output_options
def command(table: str, param_range: str | None, **options: Any) -> None:
    """Decompose the expected error of a model into bias, variance and noise.

    The training sets are disjoint subsets of the rows of TABLE; a third of the rows is the test
    set.

    \b
    Example:
      calipers learn bias-variance patients.csv --truth progression \\
        --estimator sklearn.tree.DecisionTreeRegressor --param-name max_depth --param-range 1,2,4,8
    """
    from calipers.learning.bias_variance import bias_variance

    options["param_range"] = None if param_range is None else parse_values(param_range)
    run_learning_command(bias_variance, table, options, ())
