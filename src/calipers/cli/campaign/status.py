"""``calipers campaign status``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import Command, InFile
from calipers.cli.output import format_and_file, format_options, write_out

if TYPE_CHECKING:
    from calipers.campaign.status import Status

_DATA = ("json",)


@click.command("status", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InFile())
@lambda command: format_options(command, _DATA, report=False)
def command(file: str, **options: Any) -> None:
    """Say what a campaign has, and how far judging is, by assessor and by topic.

    It may be asked for while others judge.

    \b
    Example:
      calipers campaign status digits.campaign
    """
    kind, path = format_and_file(options, _DATA, "the status")
    from calipers.campaign.status import status
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        found = status(campaign)
    if kind == "json":
        write_out(json.dumps(found.to_dict(), indent=2, ensure_ascii=False), path)
    else:
        write_out("\n".join(_lines(found)), path)


def _lines(found: Status) -> Iterator[str]:
    from calipers.report.columns import aligned
    from calipers.report.numbers import count

    yield f"{found.name} (goal: {found.goal})"
    yield ", ".join(
        [
            count(found.topics, "topics"),
            f"{count(found.runs, 'runs')} of {count(found.participants, 'participants')}",
            count(found.documents, "documents"),
        ]
    )
    share = f" ({found.judged / found.to_judge:.0%})" if found.to_judge else ""
    beside = f"; beside these {count(found.beside, 'documents')} judged" if found.beside else ""
    judged = f"{found.judged} judged{share}{beside}"
    yield f"{found.pooled} pooled, {found.to_judge} to judge, {judged}"
    if found.by_assessor:
        head = "assessor", "kind", "topics", "to judge", "judged", "skipped", "minutes", "last"
        rows = [
            [of.assessor, _kind(of.kind, of.role), *map(str, of[3:8]), (of.last or "")[:16]]
            for of in found.by_assessor
        ]
        yield from ("", aligned(head, rows))
    if found.by_topic:
        head = "topic", "assessors", "pooled", "to judge", "judged", "twice", "relevant", "disputed"
        rows = [[of.topic, *map(str, of[2:])] for of in found.by_topic]
        yield from ("", aligned(head, rows))


def _kind(kind: str, role: str) -> str:
    return role if role == "adjudicator" else kind
