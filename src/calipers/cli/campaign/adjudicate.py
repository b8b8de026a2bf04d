"""Command ``calipers campaign adjudicate``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.campaign.shared import DATA_FORMATS, format_table, result_options, write_result
from calipers.cli.files import Command, InputFile
from calipers.cli.options import flag_option, option_with_default, text_option
from calipers.cli.output import format_and_file
from calipers.cli.process import write_stderr

if TYPE_CHECKING:
    from calipers.campaign.assessor_agreement import Disagreement
    from calipers.report.blocks import Table


@click.command("adjudicate", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@text_option(
    "--decide",
    "FILE",
    "Table (CSV, JSON Lines, Parquet) of decisions to record, with the columns topic, document, "
    "grade and optionally note.",
    type=InputFile(),
)
@text_option("--by adjudicator", "NAME", "Adjudicator who decides; not one of the assessors.")
@option_with_default(
    "--min-difference",
    1,
    "Minimum difference between the highest and the lowest grade.",
    type=click.IntRange(1, 10**6),
)
@flag_option("--all show_all", "Also list documents that are decided already.")
@flag_option("--programs", "Treat the grades of programs like those of persons.")
@result_options
def command(
    file: str,
    decide: str | None,
    adjudicator: str | None,
    min_difference: int,
    show_all: bool,
    **options: Any,
) -> None:
    """List the documents on which assessors disagree, or record decisions.

    Documents that one assessor finds relevant and another does not come first. A decision overrides
    all grades; adjudicators should read the notes of both assessors. It is recorded as an event,
    and a later decision replaces it.

    \b
    Examples:
      calipers campaign adjudicate digits.campaign -o disputed.json
      calipers campaign adjudicate digits.campaign --decide decided.csv --by eve
    """
    kind, path = format_and_file(options, DATA_FORMATS, "the list")
    if (decide is None) != (adjudicator is None):
        raise click.UsageError("--decide and --by go together")
    from calipers.campaign import operations
    from calipers.campaign.assessor_agreement import disagreements
    from calipers.campaign.store import Campaign
    from calipers.report.numbers import format_count

    with Campaign.open(file, readonly=decide is None) as campaign:
        if decide is not None and adjudicator is not None:
            n_recorded = operations.record_decisions(campaign, _decisions(decide), adjudicator)
            write_stderr(f"{format_count(n_recorded, 'decisions')} of {adjudicator} recorded")
        grades = operations.read_grades(campaign, include_programs=options["programs"])
        adjudicated = operations.adjudicated_decisions(campaign)
        disputed = disagreements(
            grades, adjudicated, min_difference=min_difference, include_adjudicated=show_all
        )
        notes = {(e.assessor, e.topic, e.document): e.note for e in campaign.events() if e.note}
    rows = [
        asdict(disagreement) | {"notes": _notes(disagreement, notes)} for disagreement in disputed
    ]
    lines: list[str | Table]
    lines = [
        _table(disputed, show_all),
        "",
        f"{format_count(len(disputed), 'documents')} to decide",
    ]
    if show_all:
        n_open = sum(disagreement.decided is None for disagreement in disputed)
        lines[-1] = (
            f"{format_count(len(disputed), 'disputed documents')}, {n_open} of them to decide"
        )
    write_result(rows, lines if disputed else ["nothing to decide"], kind, path)


def _notes(disagreement: Disagreement, notes: dict[tuple[str, str, str], str]) -> dict[str, str]:
    """Return the assessors' notes on the document."""
    assessor_notes = (
        (name, notes.get((name, disagreement.topic, disagreement.document)))
        for name in disagreement.grades
    )
    return {name: note for name, note in assessor_notes if note}


def _table(disputed: list[Disagreement], decided: bool) -> Table:
    head = ["topic", "document", "grades", "difference", "relevant"]
    rows = [
        [
            disagreement.topic,
            disagreement.document,
            ", ".join(f"{name} {grade}" for name, grade in disagreement.grades.items()),
            str(disagreement.grade_difference),
            "differ" if disagreement.crosses else "agree",
            *([disagreement.decided] if decided else []),
        ]
        for disagreement in disputed
    ]
    return format_table([*head, *(["decided"] if decided else [])], rows)


def _decisions(path: str) -> list[tuple[str, str, int, str | None]]:
    """Read the rows of a table of decisions."""
    from calipers.campaign.judgment_import import parse_int
    from calipers.data.class_labels import label_name
    from calipers.data.errors import InputError
    from calipers.data.tables import add_location, read_table

    rows = read_table(path, text=("topic", "document", "note"))
    with add_location(path):
        for name in ("topic", "document", "grade"):
            if name not in rows.column_names:
                raise InputError(f"there is no column {name!r}")
        names = ("topic", "document", "grade", *(["note"] if "note" in rows.column_names else []))
        decisions = []
        for row_number, row in enumerate(rows.select(names).to_pylist(), 1):
            location, value = f"row {row_number}", row["grade"]
            grade = None if isinstance(value, str) else parse_int(location, "the grade", value)
            if grade is None:
                raise InputError(f"{location}: the grade is {value!r}, expected a whole number")
            topic, document = label_name(row["topic"]), label_name(row["document"])
            decisions.append((topic, document, grade, row.get("note") or None))
    return decisions
