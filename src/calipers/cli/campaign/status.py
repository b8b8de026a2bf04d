"""Command ``calipers campaign status``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import DATA, format_table, write_result, written_options
from calipers.cli.files import Command, InputFile
from calipers.cli.output import format_and_file

if TYPE_CHECKING:
    from calipers.campaign.status import CampaignStatus
    from calipers.report.blocks import Table


@click.command("status", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@written_options
def command(file: str, **options: Any) -> None:
    """Report the contents and the progress of a campaign, by assessor and by topic.

    It can be run while assessors judge.

    \b
    Example:
      calipers campaign status digits.campaign
    """
    kind, path = format_and_file(options, DATA, "the status")
    from calipers.campaign.status import campaign_status
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        found = campaign_status(campaign)
    write_result(found.to_dict(), list(_lines(found)), kind, path)


def _lines(found: CampaignStatus) -> Iterator[str | Table]:
    from calipers.report.numbers import format_count
    from calipers.report.safe_names import escape_unprintable

    yield f"{escape_unprintable(found.name)} (goal: {escape_unprintable(found.goal)})"
    yield ", ".join(
        [
            format_count(found.topics, "topics"),
            (
                f"{format_count(found.runs, 'runs')} of "
                f"{format_count(found.participants, 'participants')}"
            ),
            format_count(found.documents, "documents"),
        ]
    )
    share = f" ({found.judged / found.to_judge:.0%})" if found.to_judge else ""
    beside = (
        f"; beside these {format_count(found.beside, 'documents')} judged" if found.beside else ""
    )
    judged = f"{found.judged} judged{share}{beside}"
    yield f"{found.pooled} pooled, {found.to_judge} to judge, {judged}"
    if found.by_assessor:
        head = "assessor", "kind", "topics", "to judge", "judged", "skipped", "minutes", "last"
        rows = [
            [of.assessor, _kind(of.kind, of.role), *of[3:7], str(of[7]), (of.last or "")[:16]]
            for of in found.by_assessor
        ]
        yield from ("", format_table(head, rows))
    if found.by_topic:
        head = "topic", "assessors", "pooled", "to judge", "judged", "twice", "relevant", "disputed"
        rows = [[of.topic, *of[2:]] for of in found.by_topic]
        yield from ("", format_table(head, rows))


def _kind(kind: str, role: str) -> str:
    return role if role == "adjudicator" else kind
