"""Command ``calipers campaign import``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import flag_option, repeatable_option, text_option
from calipers.cli.process import write_stderr


@click.command("import", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@click.argument("judgments", metavar="JUDGMENTS", type=InputFile())
@text_option("--assessor", "NAME", "Who judged, where JUDGMENTS does not say.")
@click.option(
    "--kind",
    type=click.Choice(["qrels", "prefs", "table"]),
    help="What JUDGMENTS holds, where that cannot be told from it.",
)
@flag_option("--program", "A program judged, such as a language model, and no person.")
@repeatable_option(
    "--detail details",
    "KEY=VALUE",
    "What is known of a new assessor, such as model=… or date=…; repeatable.",
)
@text_option("--participant", "NAME", "The group that new assessors belong to.")
@flag_option("--only-known", "Leave out topics that the campaign does not have.")
@flag_option(
    "--missing",
    "Take only what is still to be judged: pooled documents, in topics of the assessor's, that "
    "the same assessor has not judged.",
)
@flag_option("--replace overwrite", "Take the file's grade where it differs from one that stands.")
def command(file: str, judgments: str, details: tuple[str, ...], **options: Any) -> None:
    """Import existing judgments: all of a file, or none.

    JUDGMENTS is a TREC file (topic, iteration, document, grade; or preferences: topic, assessor,
    part, document, level) or a table (CSV, TSV, Parquet, Feather, JSON Lines) with the columns
    topic, document and grade, and, where known, assessor, other, time, seconds, shown, again and
    note. Each judgment becomes an event of its assessor, unless it is recorded already. Judgments
    of programs never count as judgments of persons.

    \b
    Examples:
      calipers campaign import web.campaign ada.csv
      calipers campaign import web.campaign old.qrels --assessor nist --only-known
      calipers campaign import web.campaign ben.qrels --assessor ben --missing
      calipers campaign import web.campaign grades.parquet --assessor judge-1 --program \\
        --detail model=some-model --detail prompt=umbrela
    """
    from calipers.campaign.judgment_import import format_import_summary, import_judgments
    from calipers.campaign.store import Campaign

    detail_by_key = {}
    for detail in details:
        key, equals, value = detail.partition("=")
        if not (key and equals):
            raise click.UsageError(
                f"--detail {detail!r}: expected a key and a value, as in model=x"
            )
        detail_by_key[key] = value
    with Campaign.open(file) as campaign:
        summary = import_judgments(campaign, judgments, details=detail_by_key, **options)
    for line in format_import_summary(summary):
        write_stderr(f"{file}: {line}")
