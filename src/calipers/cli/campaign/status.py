"""Command ``calipers campaign status``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import (
    DATA_FORMATS,
    format_table,
    result_options,
    write_result,
)
from calipers.cli.files import Command, InputFile
from calipers.cli.output import format_and_file

if TYPE_CHECKING:
    from calipers.campaign.status import CampaignStatus
    from calipers.report.blocks import Table


@click.command("status", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@result_options
def command(file: str, **options: Any) -> None:
    """Report the contents and the progress of a campaign.

    It can be run while assessors judge.

    \b
    Example:
      calipers campaign status digits.campaign
    """
    kind, path = format_and_file(options, DATA_FORMATS, "the status")
    from calipers.campaign.status import campaign_status, format_chain
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        status = campaign_status(campaign)
        chain = format_chain(campaign)
    write_result(status.to_dict(), [*_format_status(status), "", chain], kind, path)


def _format_status(status: CampaignStatus) -> Iterator[str | Table]:
    from calipers.report.numbers import format_count
    from calipers.report.safe_names import escape_unprintable

    yield f"{escape_unprintable(status.name)} (goal: {escape_unprintable(status.goal)})"
    yield ", ".join(
        [
            format_count(status.topics, "topics"),
            (
                f"{format_count(status.runs, 'runs')} of "
                f"{format_count(status.participants, 'participants')}"
            ),
            format_count(status.documents, "documents"),
        ]
    )
    proportion = f" ({status.judged / status.to_judge:.0%})" if status.to_judge else ""
    unpooled_note = (
        f"; in addition {format_count(status.additional_judged, 'documents')} judged"
        if status.additional_judged
        else ""
    )
    judged = f"{status.judged} judged{proportion}{unpooled_note}"
    yield f"{status.pooled} pooled, {status.to_judge} to judge, {judged}"
    if status.by_assessor:
        head = "assessor", "kind", "topics", "to judge", "judged", "skipped", "minutes", "last"
        rows = [
            [row.assessor, _kind(row.kind, row.role), *row[3:7], str(row[7]), (row.last or "")[:16]]
            for row in status.by_assessor
        ]
        yield from ("", format_table(head, rows))
    if status.by_topic:
        head = "topic", "assessors", "pooled", "to judge", "judged", "twice", "relevant", "disputed"
        rows = [[row.topic, *row[2:]] for row in status.by_topic]
        yield from ("", format_table(head, rows))


def _kind(kind: str, role: str) -> str:
    return role if role == "adjudicator" else kind
