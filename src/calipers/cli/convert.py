"""Command ``calipers convert``."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.files import DASH, Command, InputFile, OutputFile, is_given
from calipers.cli.options import argument_option
from calipers.cli.process import write_stderr
from calipers.evaluation.tasks import ORDER

if TYPE_CHECKING:
    from calipers.data.trec_tables import Kind


@click.command("convert", cls=Command)
@click.argument("source", metavar="IN", type=InputFile())
@click.argument("target", metavar="OUT", type=OutputFile())
@click.option(
    "--kind",
    type=click.Choice(["run", "qrels"]),
    help="Content of IN, if it cannot be detected.",
)
@click.option("--tag", metavar="NAME", help="Tag of the run, instead of its own.")
@argument_option(ORDER)
@click.option("--force", is_flag=True, help="Overwrite OUT if it exists.")
def command(
    source: str, target: str, kind: Kind | None, tag: str | None, order: str, force: bool
) -> None:
    """Convert judgments or a run from one format to another.

    The extension determines the format: .json, .jsonl, .ndjson, .csv, .tsv, .parquet, .feather or
    .arrow, and TREC text otherwise; text formats may be compressed (.gz or .zst). - is TREC text on
    the standard input or output. Ids, scores and grades are preserved exactly. Runs are written in
    rank order: by descending score, tied documents by descending id. With --order rank the ranks of
    the run order it, and its scores become the negative ranks.

    \b
    Examples:
      calipers convert bm25.run.gz bm25.parquet
      calipers convert qrels.json qrels.txt --kind qrels
      calipers convert dense.parquet dense.run --tag dense
    """
    if target != DASH and Path(target).is_file() and not force:
        raise click.UsageError(f"{target} exists; --force overwrites it")
    from calipers.data.errors import InputError
    from calipers.data.formats import (
        check_writable,
        detect_kind,
        set_run_tag,
        unsupported_columns,
        write_rows,
    )
    from calipers.data.trec import read_ordered_run, read_rows, run_name
    from calipers.report.output_files import atomic_writer

    check_writable(target)
    kind = kind or detect_kind(source)
    if kind is None:
        raise InputError(
            f"{source}: may contain judgments or a run; give --kind qrels or --kind run"
        )
    if tag is not None and kind == "qrels":
        raise click.UsageError("--tag is for runs; judgments have none")
    if is_given("order") and kind == "qrels":
        raise click.UsageError("--order is for runs; judgments have none")
    if kind == "run":
        rows, _, notes = read_ordered_run(source, source, order)
        for note in notes:
            write_stderr(note)
    else:
        rows, _ = read_rows(source, source, kind)
    if tag is not None:
        rows = set_run_tag(rows, tag)
    with nullcontext(sys.stdout.buffer) if target == DASH else atomic_writer(target) as stream:
        write_rows(rows, kind, target, stream, tag=run_name(source))
    for name in unsupported_columns(rows, kind, target):
        write_stderr(f"{target}: cannot store the {name}, which is omitted")
