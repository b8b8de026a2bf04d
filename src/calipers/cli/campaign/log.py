"""``calipers campaign log``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import finish, table
from calipers.cli.files import Command, InFile
from calipers.cli.options import text
from calipers.cli.output import format_and_file, format_options, write_out

if TYPE_CHECKING:
    from calipers.report.blocks import Table

_DATA = ("json", "csv", "parquet")


@click.command("log", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InFile())
@text("--assessor", "NAME", "Only what this assessor did.")
@text("--topic", "ID", "Only about this topic.")
@text("--document", "ID", "Only about this document.")
@lambda command: format_options(command, _DATA, report=False)
def command(
    file: str, assessor: str | None, topic: str | None, document: str | None, **options: Any
) -> None:
    """Say who did what, when, and what stood before: every event that was ever recorded, in order.

    Events are never changed or deleted; a grade that was taken back is there, and so is who took it
    back.

    \b
    Examples:
      calipers campaign log web.campaign --document d17
      calipers campaign log web.campaign -o trail.csv
    """
    kind, path = format_and_file(options, _DATA, "the log")
    from calipers.campaign.audit_log import Done, history
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        done = history(campaign, assessor=assessor, topic=topic, document=document)
    rows = [one._asdict() for one in done]
    if kind == "csv":
        from calipers.report.spreadsheets import csv_text

        write_out(csv_text(rows, Done._fields), path)
    elif kind == "parquet":
        from calipers.campaign.tidy_tables import table_of, written

        write_out(written(table_of(Done._fields, rows), "log.parquet"), path)
    else:
        finish(rows, [_table(done) if done else "nothing yet"], kind, path)


def _table(done: Any) -> Table:
    head = "event", "time", "assessor", "topic", "document", "what", "before", "after", "note"
    rows = [
        [
            one.event,
            one.time[:19],
            one.assessor,
            one.topic,
            one.document if one.other is None else f"{one.document} / {one.other}",
            f"{one.what}{' again' * one.again}",
            *("" if grade is None else grade for grade in (one.before, one.after)),
            " ".join((one.note or "").split())[:40],
        ]
        for one in done
    ]
    return table(head, rows)
