"""Command ``calipers campaign backup``."""

from __future__ import annotations

import click

from calipers.cli.files import Command, InputFile, OutputFile
from calipers.cli.process import write_stderr


@click.command("backup", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@click.argument("target", metavar="OUT", type=OutputFile(allow_dash=False))
def command(file: str, target: str) -> None:
    """Copy a campaign to a new file, also while assessors judge.

    The copy is checked: its pages, its tables, and the chain of its events. An existing file is
    never overwritten. A copy by other means is sound only while nobody judges.

    \b
    Example:
      calipers campaign backup digits.campaign digits-monday.campaign
    """
    from calipers.campaign.store import Campaign
    from calipers.report.numbers import format_count

    with Campaign.open(file, readonly=True) as campaign:
        campaign.backup(target)
    with Campaign.open(target, readonly=True) as copy:
        (n_events,) = copy.read("SELECT count(*) FROM events")[0]
    write_stderr(f"{target}: {format_count(n_events, 'events')}, checked")
