"""``calipers campaign import``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InFile
from calipers.cli.options import switch, text, texts
from calipers.cli.process import say


@click.command("import", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InFile())
@click.argument("judgments", metavar="JUDGMENTS", type=InFile())
@text("--assessor", "NAME", "Who judged, where JUDGMENTS does not say.")
@click.option(
    "--kind",
    type=click.Choice(["qrels", "prefs", "table"]),
    help="What JUDGMENTS holds, where that cannot be told from it.",
)
@switch("--program", "A program judged, such as a language model, and no person.")
@texts(
    "--detail details",
    "KEY=VALUE",
    "What is known of a new assessor, such as model=… or date=…; repeatable.",
)
@text("--participant", "NAME", "The group that new assessors belong to.")
@switch("--only-known", "Leave out topics that the campaign does not have.")
@switch(
    "--missing",
    "Take only what is still to be judged: pooled documents, in topics of the assessor's, that "
    "the same assessor has not judged.",
)
@switch("--replace overwrite", "Take the file's grade where it differs from one that stands.")
def command(file: str, judgments: str, details: tuple[str, ...], **options: Any) -> None:
    """Add judgments that were made elsewhere: all of a file, or none.

    JUDGMENTS is a TREC file (topic, iteration, document, grade; or preferences: topic, assessor,
    part, document, level) or a table (CSV, TSV, Parquet, Feather, JSON Lines) with the columns
    topic, document and grade, and, where known, assessor, other, time, seconds, shown, again and
    note. Each judgment becomes an event of its assessor; the same judgment again does not. What
    programs judge never counts as judged by persons.

    \b
    Examples:
      calipers campaign import web.campaign ada.csv
      calipers campaign import web.campaign old.qrels --assessor nist --only-known
      calipers campaign import web.campaign ben.qrels --assessor ben --missing
      calipers campaign import web.campaign grades.parquet --assessor judge-1 --program \\
        --detail model=some-model --detail prompt=umbrela
    """
    from calipers.campaign.judgment_import import import_judgments, imported_in_words
    from calipers.campaign.store import Campaign

    known = {}
    for one in details:
        key, equals, value = one.partition("=")
        if not (key and equals):
            raise click.UsageError(f"--detail {one!r}: expected a key and a value, as in model=x")
        known[key] = value
    with Campaign.open(file) as campaign:
        done = import_judgments(campaign, judgments, details=known, **options)
    for line in imported_in_words(done):
        say(f"{file}: {line}")
