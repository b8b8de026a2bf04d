"""Command ``calipers passages``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import option_with_default, text_option
from calipers.cli.shared_options import OutputOptions, inference_options, output_options
from calipers.evaluation.task import MAX_INT


@click.command("passages", cls=Command)
@click.argument("judgments", type=InputFile())
@click.argument("runs", nargs=-1, required=True, type=InputFile())
@option_with_default(
    "--recall recalls",
    (0.01, 0.1),
    "Recall for interpolated precision; repeatable.",
    type=click.FloatRange(0, 1),
    multiple=True,
)
@option_with_default(
    "-k --cutoff cutoffs",
    (10,),
    "Number of articles for generalized precision and recall; repeatable.",
    type=click.IntRange(1, MAX_INT),
    multiple=True,
)
@option_with_default(
    "--beta", 1.0, "Weight of recall in the score of an article.", type=click.FloatRange(0)
)
@option_with_default(
    "--entry-distance L",
    500.0,
    "Number of characters from the best entry point at which an entry point is useless.",
    type=click.FloatRange(0, min_open=True),
)
@text_option("--baseline", "NAME", "Run that the others are compared with.")
@inference_options
@output_options
def command(judgments: str, runs: tuple[str, ...], **options: Any) -> None:
    """Evaluate RUNS of passages by the text that is highlighted in JUDGMENTS.

    JUDGMENTS has the lines "topic Q0 article characters length entry offset:length ...", a run the
    lines "topic Q0 article rank score tag offset length", as at INEX.

    \b
    Examples:
      calipers passages inex.qrels mine.run theirs.run --baseline theirs
      calipers passages inex.qrels mine.run --recall 0.01 -k 5 -k 10 --beta 0.25
    """
    output = OutputOptions.pop_from(options)
    from calipers.evaluate.passages import passages

    output.finish(passages(judgments, list(runs), **options))
