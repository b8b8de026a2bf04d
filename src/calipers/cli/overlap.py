"""``calipers overlap``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import SHARE, choice_option, option_with_default, text_option
from calipers.cli.shared_options import OutputOptions, inference_options, output_options
from calipers.evaluation.task import MOST


@click.command("overlap", cls=Command)
@click.argument("runs", nargs=-1, required=True, type=InputFile())
@option_with_default(
    "-p --p",
    0.9,
    "How much depth counts in RBO: the chance to look at one more document.",
    type=SHARE,
)
@text_option("--depth", "K", "Look at the first K documents only.", type=click.IntRange(1, MOST))
@option_with_default(
    "-k --cutoff cutoffs",
    (10, 100),
    "A rank for overlap@k; repeatable.",
    type=click.IntRange(1, MOST),
    multiple=True,
)
@choice_option(
    "--ties",
    ["id", "average"],
    "Order tied documents by descending id, or average RBO over all their orders.",
)
@inference_options
@output_options
def command(runs: tuple[str, ...], **options: Any) -> None:
    """Say how much every two of RUNS (TREC run files) have in common, topic by topic.

    Rank-biased overlap with its bounds, and the share of the first k documents that both have. No
    judgments are needed.

    \b
    Example:
      calipers overlap bm25.run dense.run -p 0.95
    """
    output = OutputOptions.take(options)
    from calipers.evaluate.overlap import overlap

    output.finish(overlap(list(runs), **options))
