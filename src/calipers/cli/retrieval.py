"""``calipers retrieval``."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from calipers.cli.common import MOST, Output, measure_options, output_options
from calipers.cli.files import Command, InFile
from calipers.cli.output import FORMATS, UNIT_FORMATS


@click.command("retrieval", cls=Command)
@click.argument("qrels", type=InFile())
@click.argument("runs", nargs=-1, required=True, type=InFile())
@measure_options
@click.option(
    "--rel",
    type=click.IntRange(1, MOST),
    default=1,
    show_default=True,
    help="Lowest grade that counts as relevant.",
)
@click.option(
    "--collection",
    type=click.IntRange(1, MOST),
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
@click.option(
    "--ties",
    type=click.Choice(["id", "average", "best", "worst"]),
    default="id",
    show_default=True,
    help="Order tied documents by descending id, or take the expected, best or worst value over "
    "all their orders.",
)
@click.option(
    "--judged-only", is_flag=True, help="Take unjudged documents out first (condensed lists)."
)
@click.option(
    "--incomplete",
    is_flag=True,
    help="Also tell what judging every document could make of each number.",
)
@click.option(
    "--unfound",
    type=click.IntRange(0, MOST),
    metavar="N",
    help="With --incomplete: at most N more relevant documents a topic that the run does not "
    "retrieve; any number unless given.",
)
@click.option(
    "--max-grade",
    type=click.IntRange(1, MOST),
    metavar="N",
    help="With --incomplete: the highest grade of an unjudged document; that of the judgments "
    "unless given.",
)
@click.option(
    "--per-topic",
    is_flag=True,
    help="The value on every topic: table, csv, json, parquet, or trec for the lines of "
    "trec_eval -q.",
)
@partial(output_options, formats=tuple(dict.fromkeys((*FORMATS, *UNIT_FORMATS))))
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    *,
    per_topic: bool,
    **options: Any,
) -> None:
    """Evaluate RUNS against QRELS; two or more runs are compared, topic by topic.

    Files are told by their extensions: .json (an object of objects, or a list of objects), .jsonl,
    .ndjson, .csv, .tsv, .parquet, .feather or .arrow with columns such as topic, doc and grade or
    score. Everything else is TREC text. Text may be .gz or .zst, and - is TREC text on the standard
    input. irds:NAME is a dataset of ir_datasets that is already on this machine.

    \b
    Examples:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --baseline bm25
      calipers retrieval qrels.tsv run.parquet --per-topic -o topics.csv
      zcat bm25.run.gz | calipers retrieval qrels.txt - -m AP --per-topic --format trec
      calipers retrieval irds:vaswani run.json --require 'nDCG@10>=0.35'
    """
    output = Output.take(options, units=per_topic)
    if output.kind == "trec" and len(runs) > 1:
        raise click.UsageError("the lines of trec_eval have no place for a system; give one run")
    if not options["incomplete"] and (options["unfound"], options["max_grade"]) != (None, None):
        raise click.UsageError("--unfound and --max-grade go with --incomplete")
    if options["unfound"] is None:
        del options["unfound"]
    from calipers.evaluate.retrieval import retrieval

    evaluation = retrieval(qrels, list(runs), measures=measures or None, **options)
    output.finish(evaluation)
