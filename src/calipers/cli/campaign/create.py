"""Command ``calipers campaign create``."""

from __future__ import annotations

import click

from calipers.cli.files import Command, NamedPath
from calipers.cli.options import repeatable_option, text_option
from calipers.cli.process import write_stderr


@click.command("create", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=NamedPath(dir_okay=False))
@text_option("--name", "NAME", "Name of the collection.  [default: as the file]")
@text_option(
    "--goal",
    "GOAL",
    "Goal of the systems: top-K, such as top-10, or 'high recall'. It determines the default depth "
    "of pools and the default measures.",
    default="top-10",
    show_default=True,
)
@repeatable_option(
    "--grade grades",
    "N=MEANING",
    "Grade and its meaning, such as '2=relevant'; repeatable.  [default: 0=not relevant, "
    "1=marginally relevant, 2=relevant, 3=highly relevant]",
)
@repeatable_option(
    "-m --measure measures",
    "NAME",
    "Measure of the participants, the primary measure first; repeatable.  [default: those of the "
    "goal]",
)
def command(
    file: str, name: str | None, goal: str, grades: tuple[str, ...], measures: tuple[str, ...]
) -> None:
    """Create an empty campaign file.

    An existing file is never overwritten.

    \b
    Examples:
      calipers campaign create digits.campaign
      calipers campaign create patents.campaign --goal 'high recall' \\
        --grade '0=not relevant' --grade '1=relevant'
      calipers campaign create inex.campaign -m AP -m 'P@recall=0.2' -m F1
    """
    from calipers.campaign.operations import select_measures
    from calipers.campaign.store import Campaign

    meaning_by_grade = _parse_grades(grades)
    with Campaign.create(
        file, name=name, goal=goal, grades=meaning_by_grade, measures=measures or None
    ) as campaign:
        info = campaign.info
        measure_names = info.measures or select_measures(campaign).names
    grade_list = ", ".join(f"{grade} {meaning}" for grade, meaning in info.grades.items())
    write_stderr(f"{file}: {info.name}, goal {info.goal}; grades: {grade_list}")
    write_stderr(f"{file}: measured by {', '.join(measure_names)}")
    write_stderr(f"next: calipers campaign topics {file} TOPICS")


def _parse_grades(specs: tuple[str, ...]) -> dict[int, str] | None:
    meaning_by_grade: dict[int, str] = {}
    for spec in specs:
        number, equals, meaning = spec.partition("=")
        try:
            grade = int(number)
        except ValueError:
            equals = ""
        if not equals or not meaning.strip():
            raise click.UsageError(
                f"--grade {spec!r}: expected a number and its meaning, as in 2=relevant"
            )
        if grade in meaning_by_grade:
            raise click.UsageError(f"--grade: {grade} is given twice")
        meaning_by_grade[grade] = meaning.strip()
    return meaning_by_grade or None
