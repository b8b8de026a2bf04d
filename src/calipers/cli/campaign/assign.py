"""Command ``calipers campaign assign``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import (
    DATA_FORMATS,
    backup_before_replacing,
    format_table,
    result_options,
    write_result,
)
from calipers.cli.files import Command, InputFile
from calipers.cli.options import flag_option, option_with_default, repeatable_option
from calipers.cli.output import format_and_file
from calipers.cli.process import write_stderr

if TYPE_CHECKING:
    from calipers.report.blocks import Table


@click.command("assign", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@option_with_default(
    "--times n_judges", 1, "Number of assessors of each topic.", type=click.IntRange(1, 100)
)
@option_with_default(
    "--overlap",
    0,
    "Number of topics, evenly spread, with one more assessor, to measure agreement.",
    type=click.IntRange(0, 10**6),
)
@repeatable_option(
    "--twice", "TOPIC", "Topic with one more assessor; repeatable, in place of --overlap."
)
@repeatable_option(
    "--conflict conflicts",
    "NAME=TOPIC",
    "Assessor or participant, and a topic not to be judged by them; repeatable.",
)
@flag_option("--replace", "Replace the existing assignment.")
@flag_option("--dry-run", "Show the assignment without recording it.")
@result_options
def command(
    file: str,
    twice: tuple[str, ...],
    conflicts: tuple[str, ...],
    overlap: int,
    **options: Any,
) -> None:
    """Assign topics to assessors, with similar numbers of documents.

    No assessor judges a topic if half of its pool was found only by their own systems. Authors
    judge their own topics, unless that makes the loads too unequal. The assignment is
    deterministic.

    \b
    Examples:
      calipers campaign assign digits.campaign --overlap 3
      calipers campaign assign digits.campaign --twice 104 --conflict ann=107 --dry-run
    """
    kind, path = format_and_file(options, DATA_FORMATS, "the assignment")
    if overlap and twice:
        raise click.UsageError("--overlap and --twice exclude each other; give one")
    conflicts_by_topic = _parse_conflicts(conflicts)
    from calipers.campaign import operations
    from calipers.campaign.store import Campaign

    is_dry_run = options.pop("dry_run")
    with Campaign.open(file, readonly=is_dry_run) as campaign:
        topics = list(dict.fromkeys(entry.topic for entry in campaign.pool()))
        if options["replace"] and not is_dry_run:
            backup_before_replacing(campaign, "assignments")
        assignment = operations.assign_topics(
            campaign,
            extra_judged=operations.spread_topics(topics, overlap) if overlap else twice,
            conflicts=conflicts_by_topic,
            write=not is_dry_run,
            **options,
        )
    topics_by_judge = assignment.topics_by_judge
    lines: list[str | Table] = [
        format_table(
            ("topic", "assessors"),
            [(t, ", ".join(names)) for t, names in assignment.topics.items()],
        ),
        "",
        format_table(
            ("assessor", "topics", "documents", "found only by their own systems"),
            [
                (j, len(topics_by_judge[j]), assignment.loads[j], round(assignment.own_loads[j]))
                for j in assignment.loads
            ],
        ),
    ]
    if assignment.optimality_gap:
        lines += [
            "",
            (
                "A better assignment may exist; its objective is at most "
                f"{assignment.optimality_gap:.0f} lower."
            ),
        ]
    write_result(asdict(assignment), lines, kind, path)
    if not is_dry_run:
        write_stderr(f"next: calipers campaign judge {file}")


def _parse_conflicts(specs: tuple[str, ...]) -> dict[str, list[str]]:
    names_by_topic: dict[str, list[str]] = {}
    for spec in specs:
        name, equals, topic = spec.partition("=")
        if not (name and equals and topic):
            raise click.UsageError(
                f"--conflict {spec!r}: expected a name and a topic, as in ann=107"
            )
        names_by_topic.setdefault(topic, []).append(name)
    return names_by_topic
