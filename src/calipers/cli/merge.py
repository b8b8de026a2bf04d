"""Command ``calipers merge``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.completion import measure_names
from calipers.cli.files import Command, InputFile
from calipers.cli.options import argument_option, combine_options, repeatable_option
from calipers.cli.shared_options import OutputOptions, output_options
from calipers.cli.streams import memory_option, state_option
from calipers.evaluation.functions import SETTINGS_OF_STATES


@click.command("merge", cls=Command)
@click.argument("states", metavar="STATE...", nargs=-1, required=True, type=InputFile())
@repeatable_option(
    "-m --measure measures",
    "NAME",
    "Measure of the saved states; repeatable.  [default: all of them]",
    shell_complete=measure_names,
)
@combine_options(*map(argument_option, SETTINGS_OF_STATES))
@memory_option
@state_option
@output_options
def command(
    states: tuple[str, ...], measures: tuple[str, ...], save_state: str | None, **options: Any
) -> None:
    """Merge saved evaluation states (of days or shards) into one evaluation.

    Each STATE was written by --save-state of `calipers classification` or `calipers regression`,
    with the same columns, classes, threshold and measures. Values are those of all rows, and so are
    the intervals that can be computed from the states; paired differences, clusters, R2 and
    correlations need a second pass over the rows, and have no interval.

    \b
    Examples:
      calipers classification monday.parquet --truth clicked --probability model \\
        --save-state monday.state
      calipers merge monday.state tuesday.state wednesday.state --report days.html
      calipers merge may/*.state --save-state may.state -m AUC -m log-loss
    """
    output = OutputOptions.pop_from(options)
    from calipers.evaluate.merge_states import merge_states
    from calipers.evaluate.merge_states import save_state as save

    evaluation = merge_states(
        list(states), measures=measures or None, curves=output.report.is_requested, **options
    )
    if save_state is not None:
        save(evaluation, save_state)
    output.finish(evaluation)
