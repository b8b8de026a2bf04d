"""``calipers campaign report``."""

from __future__ import annotations

import click

from calipers.cli.campaign.shared import measure_option
from calipers.cli.files import Command, InFile, OutFile
from calipers.cli.options import SHARE, preset, switch
from calipers.cli.output import show_page, write_out
from calipers.cli.process import say


@click.command("report", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InFile())
@click.argument("page", metavar="FILE.html", type=OutFile(page=True))
@measure_option
@preset("--level", 0.95, "Level of intervals and tests.", type=SHARE)
@preset("--draws", 20, "How often sparse judgments are drawn.", type=click.IntRange(1, 10_000))
@preset("--seed", 0, "Seed of the draws.", type=click.IntRange(0, 2**31 - 1))
@switch("--open opens", "Open the page in the browser.")
def command(
    file: str,
    page: str,
    measures: tuple[str, ...],
    level: float,
    draws: int,
    seed: int,
    opens: bool,
) -> None:
    """Write the page of a campaign: one HTML file that needs no network.

    It has what participants and their systems score, with recall-precision graphs, the topics, how
    the pool grows and who brings what, how far judging is, how far assessors agree, and whether the
    collection is good enough.

    \b
    Examples:
      calipers campaign report digits.campaign digits.html
      calipers campaign report inex.campaign inex.html -m AP -m P@10
    """
    from calipers.campaign import report
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=True) as campaign:
        made = report.page(campaign, measures=measures, level=level, draws=draws, seed=seed)
    write_out(made, page)
    say(f"wrote {page}")
    if opens:
        show_page(page)
