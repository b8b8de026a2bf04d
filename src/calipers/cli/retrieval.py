"""``calipers retrieval``."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from calipers.cli.common import Output, measure_options, output_options
from calipers.cli.files import Command, InFile, OutFolder
from calipers.cli.options import MOST, choice, preset, switch, text, texts
from calipers.cli.output import UNIT_DATA, write_trec_files
from calipers.cli.slices import topic_columns, topic_options
from calipers.cli.streams import connect, is_elsewhere, whole_engine_options


@click.command("retrieval", cls=Command)
@click.argument("qrels", type=InFile())
@click.argument("runs", nargs=-1, required=True, type=InFile())
@measure_options
@preset("--rel", 1, "Lowest grade that counts as relevant.", type=click.IntRange(1, MOST))
@text(
    "--collection", "N", "Documents in the collection, for fall-out.", type=click.IntRange(1, MOST)
)
@choice("--topics", ["qrels", "both"], "All judged topics, or only those that every run has too.")
@texts(
    "--topic-curves",
    "TOPIC",
    "Draw the curves of this topic in the report: precision and recall, raw and interpolated, and "
    "ROC where --collection is given. Repeatable, or q1,q2; 'all' draws each topic's.",
)
@topic_options
@whole_engine_options
@choice(
    "--undefined",
    ["nan", "zero"],
    "Leave topics without a value out of the mean, or let them score 0.",
)
@switch("--float32", "Round scores to 32 bits, as trec_eval up to 9 does.")
@choice(
    "--ties",
    ["id", "average", "best", "worst"],
    "Order tied documents by descending id, or take the expected, best or worst value over all "
    "their orders.",
)
@switch("--judged-only", "Take unjudged documents out first (condensed lists).")
@switch("--incomplete", "Also tell what judging every document could make of each number.")
@text(
    "--unfound",
    "N",
    "With --incomplete: at most N more relevant documents a topic that the run does not retrieve; "
    "any number unless given.",
    type=click.IntRange(0, MOST),
)
@text(
    "--max-grade",
    "N",
    "With --incomplete: the highest grade of an unjudged document; that of the judgments unless "
    "given.",
    type=click.IntRange(1, MOST),
)
@switch(
    "--per-topic",
    "The value on every topic: table, csv, json, parquet, or trec for the lines of trec_eval -q.",
)
@text(
    "--per-topic-dir",
    "DIR",
    "Write the lines of trec_eval -q of every run into DIR as well, a file RUN.eval each.",
    type=OutFolder(),
)
@partial(output_options, data=UNIT_DATA)
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    *,
    per_topic: bool,
    per_topic_dir: str | None,
    **options: Any,
) -> None:
    """Evaluate RUNS against QRELS; two or more runs are compared, topic by topic.

    Files are told by their extensions: .json (an object of objects, or a list of objects), .jsonl,
    .ndjson, .csv, .tsv, .parquet, .feather or .arrow with columns such as topic, doc and grade or
    score. Everything else is TREC text, MS MARCO's (qid pid rank; qid pid grade), text under a
    header of such names, or answers without an order (topic doc). Text may be .gz or .zst, and - is
    TREC text on the standard input. irds:NAME is a dataset of ir_datasets that is already on this
    machine.

    \b
    Examples:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --baseline bm25
      calipers retrieval qrels.tsv run.parquet --per-topic -o topics.csv
      calipers retrieval qrels.txt *.run -m AP --per-topic-dir topics
      zcat bm25.run.gz | calipers retrieval qrels.txt - -m AP --per-topic --format trec
      calipers retrieval irds:vaswani run.json --require 'nDCG@10>=0.35'
      calipers retrieval qrels.parquet runs/bm25 runs/dense --engine spark --master 'local[8]'
    """
    output = Output.take(options, units=per_topic)
    if output.kind == "trec" and len(runs) > 1:
        raise click.UsageError(
            "the lines of trec_eval have no place for a system; give one run, or "
            "--per-topic-dir for a file each"
        )
    if not options["incomplete"] and (options["unfound"], options["max_grade"]) != (None, None):
        raise click.UsageError("--unfound and --max-grade go with --incomplete")
    if options["unfound"] is None:
        del options["unfound"]
    if options["topic_curves"] and not output.page.wanted:
        raise click.UsageError("--topic-curves goes with --report, --open or --charts")
    if options["topic_curves"] == ("all",):
        options["topic_curves"] = "all"
    about = topic_columns(options)
    from calipers.evaluate.retrieval import retrieval

    if is_elsewhere(options):
        connect(options)
    evaluation = retrieval(qrels, list(runs), measures=measures or None, **about, **options)
    if per_topic_dir is not None:
        write_trec_files(evaluation, per_topic_dir, [qrels, *runs])
    output.finish(evaluation)
