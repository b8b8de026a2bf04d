"""Command ``calipers campaign runs``."""

from __future__ import annotations

from typing import Any

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import argument_option, text_option
from calipers.cli.process import write_stderr
from calipers.evaluation.tasks import ORDER


@click.command("runs", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=InputFile())
@text_option(
    "--participant",
    "NAME",
    "Participant (group, person or team) who submitted these runs.",
    required=True,
)
@text_option("--name", "NAME", "Name of the run, if there is only one.  [default: as the file]")
@argument_option(ORDER)
def command(
    file: str, runs: tuple[str, ...], participant: str, name: str | None, order: str
) -> None:
    """Add the runs of a participant: TREC run files, JSON or tables.

    The runs of a participant are one group: a document that only they retrieved is unique to the
    participant, and leave-one-group-out excludes all of them.

    \b
    Example:
      calipers campaign runs digits.campaign pixels.run edges.run --participant basel
    """
    if name is not None and len(runs) > 1:
        raise click.UsageError(f"--name applies to one run, but there are {len(runs)}")
    from calipers.campaign.runs import add_runs
    from calipers.campaign.store import Campaign

    with Campaign.open(file) as campaign:
        for summary in add_runs(campaign, runs, participant, name=name, order=order):
            for line in _format_summary(file, summary):
                write_stderr(line)


def _format_summary(file: str, added: Any) -> list[str]:
    from calipers.data.errors import format_names
    from calipers.report.numbers import format_count

    run = added.run
    documents = sum(map(len, run.scores.values()))
    counts = f"{format_count(len(run.scores), 'topics')}, {format_count(documents, 'documents')}"
    lines = [f"{file}: {run.run} of {run.participant}: {counts}", *(f"  {n}" for n in run.notes)]
    if added.missing_topics:
        lines.append(
            f"  {run.run} has no documents for topics {format_names(added.missing_topics)}"
        )
    if added.unknown_topics:
        lines.append(
            f"  {run.run}: {format_count(len(added.unknown_topics), 'topics')} that the campaign "
            f"does not have: {format_names(added.unknown_topics)}"
        )
    if added.identical_run:
        lines.append(f"  {run.run} has the same content as {added.identical_run}")
    return lines
