"""Command ``calipers campaign log``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import format_table, write_result
from calipers.cli.files import Command, InputFile
from calipers.cli.options import text_option
from calipers.cli.output import format_and_file, format_options, write_output

if TYPE_CHECKING:
    from calipers.report.blocks import Table

_DATA = ("json", "csv", "parquet")


@click.command("log", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@text_option("--assessor", "NAME", "List only events of this assessor.")
@text_option("--topic", "ID", "List only events of this topic.")
@text_option("--document", "ID", "List only events of this document.")
@lambda command: format_options(command, _DATA, report=False)
def command(
    file: str, assessor: str | None, topic: str | None, document: str | None, **options: Any
) -> None:
    """List all recorded events with authors, times and previous values.

    Events are never changed or deleted: a withdrawn grade remains, with the author of the
    withdrawal.

    \b
    Examples:
      calipers campaign log web.campaign --document d17
      calipers campaign log web.campaign -o trail.csv
    """
    kind, path = format_and_file(options, _DATA, "the log")
    from calipers.campaign.audit_log import AuditEntry, audit_log
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        entries = audit_log(campaign, assessor=assessor, topic=topic, document=document)
    rows = [entry._asdict() for entry in entries]
    if kind == "csv":
        from calipers.report.spreadsheets import csv_text

        write_output(csv_text(rows, AuditEntry._fields), path)
    elif kind == "parquet":
        from calipers.campaign.tidy_tables import build_table, format_table

        write_output(format_table(build_table(AuditEntry._fields, rows), "log.parquet"), path)
    else:
        write_result(rows, [_table(entries) if entries else "no events yet"], kind, path)


def _table(entries: Any) -> Table:
    head = "event", "time", "assessor", "topic", "document", "action", "before", "after", "note"
    rows = [
        [
            entry.event,
            entry.time[:19],
            entry.assessor,
            entry.topic,
            entry.document
            if entry.other_document is None
            else f"{entry.document} / {entry.other_document}",
            f"{entry.action}{' (repeat)' * entry.is_repeat}",
            *("" if grade is None else grade for grade in (entry.before, entry.after)),
            " ".join((entry.note or "").split())[:40],
        ]
        for entry in entries
    ]
    return format_table(head, rows)
