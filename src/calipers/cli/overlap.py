"""``calipers overlap``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import MOST, SHARE, Output, inference_options, output_options
from calipers.cli.files import Command, InFile


@click.command("overlap", cls=Command)
@click.argument("runs", nargs=-1, required=True, type=InFile())
@click.option(
    "-p",
    "--p",
    type=SHARE,
    default=0.9,
    show_default=True,
    help="How much depth counts in RBO: the chance to look at one more document.",
)
@click.option(
    "--depth", type=click.IntRange(1, MOST), metavar="K", help="Look at the first K documents only."
)
@click.option(
    "-k",
    "--cutoff",
    "cutoffs",
    type=click.IntRange(1, MOST),
    multiple=True,
    default=(10, 100),
    show_default=True,
    help="A rank for overlap@k; repeatable.",
)
@click.option(
    "--ties",
    type=click.Choice(["id", "average"]),
    default="id",
    show_default=True,
    help="Order tied documents by descending id, or average RBO over all their orders.",
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
    output = Output.take(options)
    from calipers.evaluate.overlap import overlap

    output.finish(overlap(list(runs), **options))
