"""Command ``calipers overlap``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, NameableFile, name_files
from calipers.cli.options import (
    PROPORTION,
    argument_option,
    choice_option,
    option_with_default,
    text_option,
)
from calipers.cli.shared_options import OutputOptions, inference_options, output_options
from calipers.evaluation.task import MAX_INT
from calipers.evaluation.tasks import ORDER


@click.command("overlap", cls=Command)
@click.argument("runs", nargs=-1, required=True, type=NameableFile())
@option_with_default(
    "-p --p",
    0.9,
    "Persistence p of RBO: the probability of examining the next document.",
    type=PROPORTION,
)
@text_option(
    "--depth", "K", "Evaluate the first K documents only.", type=click.IntRange(1, MAX_INT)
)
@option_with_default(
    "-k --cutoff cutoffs",
    (10, 100),
    "Cutoff k of overlap@k; repeatable.",
    type=click.IntRange(1, MAX_INT),
    multiple=True,
)
@choice_option(
    "--ties",
    ["id", "average"],
    "Order tied documents by descending id, or average RBO over all orders of ties.",
)
@argument_option(ORDER)
@inference_options
@output_options
def command(runs: tuple[str, ...], **options: Any) -> None:
    """Measure the overlap of every pair of RUNS (TREC run files) by topic.

    Reports rank-biased overlap with its bounds, and the proportion of the first k documents that
    both runs share. No judgments are needed. Runs have the names of their files, or NAME=FILE.

    \b
    Example:
      calipers overlap bm25.run dense.run -p 0.95
    """
    output = OutputOptions.pop_from(options)
    from calipers.data.run_names import named_runs
    from calipers.evaluate.overlap import overlap

    output.finish(overlap(name_files(runs, named_runs), **options))
