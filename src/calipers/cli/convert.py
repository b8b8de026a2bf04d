"""``calipers convert``."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.files import DASH, Command, InFile, OutFile
from calipers.cli.process import say

if TYPE_CHECKING:
    from calipers.data.trec_tables import Kind


@click.command("convert", cls=Command)
@click.argument("source", metavar="IN", type=InFile())
@click.argument("target", metavar="OUT", type=OutFile())
@click.option(
    "--kind",
    type=click.Choice(["run", "qrels"]),
    help="What IN holds, where that cannot be told from it.",
)
@click.option("--tag", metavar="NAME", help="Tag of the run, in place of the one it has.")
@click.option("--force", is_flag=True, help="Write over OUT if it exists.")
def command(source: str, target: str, kind: Kind | None, tag: str | None, force: bool) -> None:
    """Convert judgments or a run from one format to another.

    The extensions say which: .json, .jsonl, .ndjson, .csv, .tsv, .parquet, .feather or .arrow, and
    anything else is TREC text; .gz or .zst behind those of text compresses. - is TREC text on the
    standard input or output. Ids, scores and grades stay exactly what they are. Runs are written in
    the order of their ranks: score descending, equal scores by descending document id.

    \b
    Examples:
      calipers convert bm25.run.gz bm25.parquet
      calipers convert qrels.json qrels.txt --kind qrels
      calipers convert dense.parquet dense.run --tag dense
    """
    if target != DASH and Path(target).is_file() and not force:
        raise click.UsageError(f"{target} exists; --force writes over it")
    from calipers.data.errors import InputError
    from calipers.data.formats import check_writable, kind_of, left_out, tagged, write_rows
    from calipers.data.trec import read_rows, run_name
    from calipers.report.output_files import replacing

    check_writable(target)
    kind = kind or kind_of(source)
    if kind is None:
        raise InputError(f"{source}: may hold judgments or a run; say --kind qrels or --kind run")
    if tag is not None and kind == "qrels":
        raise click.UsageError("--tag is for runs; judgments have none")
    rows, _ = read_rows(source, source, kind)
    if tag is not None:
        rows = tagged(rows, tag)
    with nullcontext(sys.stdout.buffer) if target == DASH else replacing(target) as stream:
        write_rows(rows, kind, target, stream, tag=run_name(source))
    for name in left_out(rows, kind, target):
        say(f"{target}: has no place for the {name}, which is left out")
