"""``calipers learn capacity``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InFile
from calipers.cli.learn.curves import (
    fitted_options,
    learned,
    split_options,
    values_of,
    written_options,
)
from calipers.cli.options import preset, text


@click.command("capacity", cls=Command)
@click.argument("table", type=InFile())
@fitted_options
@text("--parameter", "NAME", "The parameter, such as max_depth.", required=True)
@text("--values", "V,…", "Its values, the simplest model first.", required=True)
@preset("--folds", 10, "How many folds.", type=click.IntRange(2))
@split_options
@written_options
def command(table: str, values: str, **options: Any) -> None:
    """Training and validation errors over a parameter of a model: where it underfits, where it
    overfits, and the simplest value that is good enough. Features and truth are columns of TABLE.

    \b
    Example:
      calipers learn capacity patients.csv --truth progression \\
        --estimator sklearn.tree.DecisionTreeRegressor --parameter max_depth --values 1,2,4,8
    """
    from calipers.learning.curves import validation_curve

    options["values"] = values_of(values)
    learned(validation_curve, table, options, ("group", "weight"))
