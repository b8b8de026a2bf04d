"""``calipers retrieval``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.common import Output, measure_options, output_options


@click.command("retrieval")
@click.argument("qrels", type=click.Path())
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@measure_options
@click.option(
    "--rel",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Lowest grade that counts as relevant.",
)
@click.option(
    "--collection",
    type=click.IntRange(min=1),
    metavar="N",
    help="Documents in the collection, for fall-out.",
)
@click.option(
    "--topics",
    type=click.Choice(["qrels", "both"]),
    default="qrels",
    show_default=True,
    help="All judged topics, or only those that every run has too.",
)
@click.option(
    "--undefined",
    type=click.Choice(["nan", "zero"]),
    default="nan",
    show_default=True,
    help="Leave topics without a value out of the mean, or let them score 0.",
)
@click.option("--float32", is_flag=True, help="Round scores to 32 bits, as trec_eval up to 9 does.")
@output_options
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    **options: Any,
) -> None:
    """Evaluate RUNS (TREC run files) against QRELS (TREC judgments).

    Files may be plain, .gz or .zst. Two or more runs are compared, topic by topic.

    \b
    Example:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --baseline bm25
    """
    output = Output.take(options)
    from calipers.evaluate.retrieval import retrieval

    evaluation = retrieval(qrels, list(runs), measures=measures or None, **options)
    output.finish(evaluation)
