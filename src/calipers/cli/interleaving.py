"""Command ``calipers interleaving``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import option_with_default, repeatable_option, text_option
from calipers.cli.shared_options import OutputOptions, inference_options, output_options


@click.command("interleaving", cls=Command)
@click.argument("log", type=InputFile())
@option_with_default("--clicks", "clicks", "Column of the clicked documents.", metavar="COL")
@option_with_default(
    "--team", "team", "Column of the ranker that contributed each document.", metavar="COL"
)
@option_with_default(
    "--documents", "documents", "Column of the documents displayed.", metavar="COL"
)
@repeatable_option(
    "--ranking rankings",
    "COL",
    "Column of the ranking of a ranker, for probabilistic interleaving; given twice.",
)
@text_option(
    "--impression",
    "COL",
    "Column of the impression, if LOG has a row for each document; --clicks is then their number.",
)
@text_option(
    "--cluster",
    "COL",
    "Column of cluster identifiers (user, query). Intervals and tests are cluster-robust.",
)
@text_option("--baseline", "NAME", "Ranker that the other one is compared with.")
@option_with_default(
    "--tau",
    3.0,
    "Exponent of probabilistic interleaving.",
    type=click.FloatRange(0, min_open=True),
)
@inference_options
@output_options
def command(log: str, rankings: tuple[str, ...], **options: Any) -> None:
    """Compare two rankers by the clicks on interleaved rankings in LOG.

    LOG has a row for each impression with lists of documents (JSON Lines, Parquet), or for each
    document displayed. A ranker wins an impression if more clicks are on its documents.

    \b
    Examples:
      calipers interleaving log.jsonl --baseline bm25 --cluster user
      calipers interleaving clicks.csv --impression id --clicks clicked
      calipers interleaving log.jsonl --ranking bm25 --ranking dense
    """
    output = OutputOptions.pop_from(options)
    from calipers.evaluate.interleaving import interleaving

    output.finish(interleaving(log, rankings=list(rankings) or None, **options))
