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
@text_option("--assessor", "NAME", "Assessor, if JUDGMENTS does not name one.")
@click.option(
    "--kind",
    type=click.Choice(["qrels", "prefs", "table"]),
    help="Content of JUDGMENTS, if it cannot be detected.",
)
@flag_option(
    "--program is_program", "The assessor is a program, such as a language model, not a person."
)
@repeatable_option(
    "--detail details",
    "KEY=VALUE",
    "Detail of a new assessor, such as model=… or date=…; repeatable.",
)
@text_option("--participant", "NAME", "Group that new assessors belong to.")
@flag_option("--only-known skip_unknown_topics", "Skip topics that the campaign does not have.")
@flag_option(
    "--missing only_missing",
    "Import only what is still to be judged: pooled documents of topics assigned to the assessor, "
    "which the same assessor has not judged.",
)
@flag_option("--replace overwrite", "Replace existing grades that differ from those of the file.")
def command(file: str, judgments: str, details: tuple[str, ...], **options: Any) -> None:
    """Import existing judgments: all of a file, or none.

    JUDGMENTS is a TREC file (topic, iteration, document, grade; or preferences: topic, assessor,
    part, document, level) or a table (CSV, TSV, Parquet, Feather, JSON Lines) with the columns
    topic, document and grade, and, where known, assessor, other_document, time, seconds,
    display_position, is_repeat and note. Each judgment becomes an event of its assessor, unless it
    is recorded already. Judgments of programs never count as judgments of persons.

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
