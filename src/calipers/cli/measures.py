"""``calipers measures``."""

from __future__ import annotations

import sys

import click

from calipers.cli.files import Command


@click.command("measures", cls=Command)
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the measures, or explain the one called NAME (aliases of other tools work too)."""
    from calipers.measures import TASKS, definitions, in_each_task, parse
    from calipers.report.columns import folded, width_of

    if name is None:
        room = width_of(sys.stdout)
        width = max(len(str(d.example())) for d in definitions())
        for task, families in TASKS.items():
            click.echo(f"{task}")
            for family in families:
                for definition in definitions(family):
                    title = definition.title.rstrip(":")
                    line = f"  {definition.example()!s:<{width}}  {title}"
                    click.echo("\n".join(folded(line, room)))
            click.echo()
        return
    # Of a name that no task knows, to parse it says what is wrong.
    for measure in list(in_each_task(name)) or [parse(name)]:
        lines = explanation(measure).split("\n")
        click.echo("\n".join(part for line in lines for part in folded(line, width_of(sys.stdout))))


def explanation(measure: object) -> str:
    """Everything that the catalogue knows of a measure."""
    from calipers.measures import Measure

    assert isinstance(measure, Measure)
    d = measure.definition
    better = {True: "higher is better", False: "lower is better", None: "neither"}
    parameters = ", ".join(f"{k}={v!r}" for k, v in measure.values)
    lines = [
        f"{measure}  ({d.family})",
        "",
        *(f"  {line}".rstrip() for line in d.description.splitlines()),
        "",
        f"  range       {d.range[0]:g} to {d.range[1]:g}, {better[d.higher_is_better]}",
    ]
    if parameters:
        lines.append(f"  parameters  {parameters}")
    if d.reasons:
        lines.append("  undefined   " + "; ".join(f"{r}: {why}" for r, why in d.reasons.items()))
    if d.aliases:
        lines.append("  aliases     " + ", ".join(d.aliases))
    if d.reference:
        lines.append(f"  reference   {d.reference}")
    return "\n".join(lines) + "\n"
