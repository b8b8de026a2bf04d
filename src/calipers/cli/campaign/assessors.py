"""Command ``calipers campaign assessors``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import flag_option, repeatable_option, text_option
from calipers.cli.process import write_stderr

if TYPE_CHECKING:
    from calipers.campaign.store import Campaign


@click.command("assessors", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@click.argument("names", metavar="[NAME]...", nargs=-1)
@text_option(
    "--participant",
    "P",
    "Group that the assessors belong to; others judge the documents that only it found.",
)
@flag_option(
    "--adjudicator",
    "Adjudicators, who see the grades of the assessors and decide if these disagree.",
)
@flag_option("--program", "Programs, whose judgments are imported.")
@repeatable_option(
    "--detail details",
    "KEY=VALUE",
    "Detail of a program, such as model=… or prompt=…; repeatable.",
)
def command(
    file: str,
    names: tuple[str, ...],
    participant: str | None,
    adjudicator: bool,
    program: bool,
    details: tuple[str, ...],
) -> None:
    """Add assessors, or list them without a NAME.

    `calipers campaign judge` creates the links of persons, and adds new assessors as well. Use this
    command for assessors with attributes: participants, adjudicators and programs.

    \b
    Examples:
      calipers campaign assessors digits.campaign ann ben --participant basel
      calipers campaign assessors digits.campaign eve --adjudicator
      calipers campaign assessors digits.campaign gpt --program --detail model=gpt-5
    """
    if not names and (participant or adjudicator or program or details):
        raise click.UsageError("give one or more NAMEs")
    if program and adjudicator:
        raise click.UsageError("a program is not an adjudicator")
    if details and not program:
        raise click.UsageError("--detail goes with --program")
    parsed_details = dict(_parse_detail(detail) for detail in details)
    from calipers.campaign.records import Assessor
    from calipers.campaign.store import Campaign

    with Campaign.open(file, readonly=not names) as campaign:
        with campaign.write() if names else nullcontext():  # all of them or none
            for name in names:
                campaign.add_assessor(
                    Assessor(
                        name,
                        participant,
                        "program" if program else "person",
                        "adjudicator" if adjudicator else "assessor",
                        details=parsed_details,
                    )
                )
        click.echo("\n".join(_format_assessors(campaign)))
    if not names:
        return
    command = "import" if program else "adjudicate" if adjudicator else "judge"
    write_stderr(f"next: calipers campaign {command} {file}")


def _parse_detail(detail: str) -> tuple[str, str]:
    key, equals, value = detail.partition("=")
    if not (key and equals):
        raise click.UsageError(f"--detail {detail!r}: expected KEY=VALUE")
    return key, value


def _format_assessors(campaign: Campaign) -> Iterator[str]:
    from calipers.report.text_columns import align_table

    assessors, assigned = campaign.assessors(), campaign.assignments()
    if not assessors:
        yield "no assessors yet"
        return
    rows = [
        [
            name,
            assessor.role if assessor.role == "adjudicator" else assessor.kind,
            assessor.participant or "",
            ", ".join(assigned.get(name, ())) if assigned else "all",
            ", ".join(f"{key}={value}" for key, value in assessor.details.items()),
        ]
        for name, assessor in assessors.items()
    ]
    yield align_table(("assessor", "kind", "participant", "topics", "details"), rows)
