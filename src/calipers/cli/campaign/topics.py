"""Command ``calipers campaign topics``."""

from __future__ import annotations

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import text_option
from calipers.cli.process import write_stderr


@click.command("topics", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@click.argument("topics", metavar="TOPICS...", nargs=-1, required=True, type=InputFile())
@text_option("--author", "AUTHOR", "Author of topics that do not name one.")
def command(file: str, topics: tuple[str, ...], author: str | None) -> None:
    """Add topics from one or more files; if any is invalid, none is added.

    TOPICS are files in INEX XML (<INEX-Topic>), TREC XML (<topic>), classic TREC text with unclosed
    tags (<top> <num> <title> <desc> <narr>), TSV (id and title, or columns named by a header), CSV,
    Parquet or JSON Lines. Fields are title, description, narrative, keywords, kind (CO or CAS) and
    author; other fields are stored as details. XML that defines entities is
    rejected.

    \b
    Examples:
      calipers campaign topics inex.campaign topics.xml
      calipers campaign topics trec.campaign topics.301-350.txt --author nist
      calipers campaign topics web.campaign queries.tsv
    """
    from calipers.campaign.store import Campaign
    from calipers.campaign.topics import add_topics
    from calipers.data.errors import format_names
    from calipers.report.numbers import format_count

    with Campaign.open(file) as campaign:
        added = add_topics(campaign, topics, author=author)
        total = len(campaign.topics())
    write_stderr(f"{file}: {format_count(len(added), 'topics')} added, {total:,} in all")
    without_text = [topic.topic for topic in added if not (topic.narrative or topic.description)]
    if without_text:
        write_stderr(
            f"{format_count(len(without_text), 'topics')} with neither a description nor a "
            f"narrative: {format_names(without_text)}; assessors need one to judge relevance"
        )
