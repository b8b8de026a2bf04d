"""Command ``calipers campaign documents``."""

from __future__ import annotations

import click

from calipers.cli.campaign.shared import backup_before_replacing
from calipers.cli.files import Command, InputFile
from calipers.cli.options import flag_option, text_option
from calipers.cli.process import write_stderr


@click.command("documents", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=InputFile())
@text_option("--id document", "COL", "Column of the ids.  [default: doc, doc_id, docno, id, …]")
@text_option("--text", "COL", "Column of plain texts.  [default: text, body, contents, …]")
@text_option("--html", "COL", "Column of HTML.  [default: html]")
@text_option("--xml", "COL", "Column of XML.  [default: xml]")
@text_option(
    "--image", "COL", "Column of images, or of paths below the table's folder.  [default: image]"
)
@text_option("--title", "COL", "Column of titles.  [default: title, name, headline]")
@flag_option("--all every", "Add every document of the sources, not only those that are pooled.")
@flag_option("--partial", "Add the documents found, even if pooled documents are missing.")
@flag_option("--replace", "Replace documents that exist already.")
def command(
    file: str, sources: tuple[str, ...], *, every: bool, partial: bool, replace: bool, **names: str
) -> None:
    """Add the content of the pooled documents for the assessors.

    A SOURCE is a folder in which each file is a document (its id is the file name, with or without
    the extension), a table with one row per document (JSON Lines, TSV, CSV, Parquet or Feather), or
    any other file, which is a single document. Text is UTF-8; HTML is displayed without scripts,
    and XML as text with the names of its elements; images are PNG, JPEG, GIF or WebP. Only pooled
    documents are stored, unless --all is given.

    \b
    Examples:
      calipers campaign documents digits.campaign images/
      calipers campaign documents web.campaign corpus.jsonl.gz --id _id
      calipers campaign documents inex.campaign articles/ extra/a1032.xml
    """
    from calipers.campaign.documents import DocumentColumns, add_documents
    from calipers.campaign.store import Campaign
    from calipers.report.numbers import format_count

    with Campaign.open(file) as campaign:
        if replace:
            backup_before_replacing(campaign, "documents")
        new, missing = add_documents(
            campaign,
            sources,
            columns=DocumentColumns(**names),
            include_unpooled=every,
            partial=partial,
            replace=replace,
        )
        total = len(campaign.documents())
    write_stderr(f"{file}: {format_count(new, 'documents')} added, {total:,} in all")
    if missing:
        first = ", ".join(f"{name} (topic {topic})" for topic, name in missing[:3])
        write_stderr(
            f"{format_count(len(missing), 'documents')} of the pool still missing: {first}"
        )
