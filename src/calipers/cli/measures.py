"""``calipers measures``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from calipers.cli.completion import measure_names
from calipers.cli.files import Command
from calipers.cli.options import text, texts

if TYPE_CHECKING:
    from calipers.measures import Definition, Measure


@click.command("measures", cls=Command)
@click.argument("name", required=False, shell_complete=measure_names)
@text("--task", "TASK", "Only those of a task, such as retrieval.")
@text("--statistic", "NAME", "Only those over a statistic, such as ConfusionMatrix.")
@texts(
    "--find words",
    "WORD",
    "Only those whose name, alias, description or source has this word; repeatable.",
)
def command(
    name: str | None, task: str | None, statistic: str | None, words: tuple[str, ...]
) -> None:
    """List the measures, or explain the one called NAME (aliases of other tools work too, and
    words such as "hit rate").

    \b
    Example:
      calipers measures --task classification --find calibration
    """
    from calipers.report.columns import folded, width_of

    room = width_of(sys.stdout)
    if name is None:
        for line in _listed(task, statistic, words):
            click.echo("\n".join(folded(line, room)))
        return
    if task or statistic or words:
        raise click.UsageError("--task, --statistic and --find choose from the list; NAME is one")
    for measure in _meant(name):
        for line in explanation(measure).split("\n"):
            click.echo("\n".join(folded(line, room)))


def _meant(name: str) -> list[Measure]:
    """What a name means in each task; where it lacks a parameter, all that it may be of."""
    from calipers.measures import TASKS, in_each_task, parse
    from calipers.measures.names import senses

    found = list(in_each_task(name))
    for task in [task for task in TASKS if task not in {m.definition.task for m in found}]:
        found += [d.example() for d in senses(name, TASKS[task]) if d.required]
    # Of a name that no task knows, to parse it says what is wrong.
    return found or [parse(name)]


def _listed(task: str | None, statistic: str | None, words: tuple[str, ...]) -> Iterator[str]:
    """The lines of those measures that were asked for, task by task."""
    from calipers.measures import TASKS, definitions

    every = list(definitions())
    _known("--task", task, TASKS)
    _known("--statistic", statistic, {d.on.__name__ for d in every})
    chosen = [
        d
        for d in every
        if statistic in (None, d.on.__name__) and all(_has(d, word) for word in words)
    ]
    tasks = {
        each: [d for family in families for d in chosen if d.family == family]
        for each, families in TASKS.items()
        if task in (None, each)
    }
    shown = [d for of in tasks.values() for d in of]
    if not shown:
        raise click.UsageError("no measure is like that; `calipers measures` lists all")
    width = max(len(str(d.example())) for d in shown)
    for each, of in tasks.items():
        if of:
            yield each
            yield from (f"  {d.example()!s:<{width}}  {d.title.rstrip(':')}" for d in of)
            yield ""


def _known(option: str, given: str | None, there: object) -> None:
    """That what an option names is there."""
    from calipers.data.errors import did_you_mean

    names = sorted(map(str, there))  # type: ignore[call-overload]
    if given is not None and given not in names:
        raise click.UsageError(f"{option}: there is no {given!r}; {did_you_mean(given, names)}")


def _has(definition: Definition, word: str) -> bool:
    """Whether a word stands anywhere in what is known of a measure."""
    said = (*definition.spellings, definition.description, definition.reference)
    return word.casefold() in "\n".join(said).casefold()


def explanation(measure: Measure) -> str:
    """Everything that the catalogue knows of a measure."""
    d = measure.definition
    better = {True: "higher is better", False: "lower is better", None: "neither"}
    parameters = ", ".join(f"{k}={v!r}" for k, v in measure.values)
    lines = [
        f"{measure}  ({d.family})",
        "",
        *(f"  {line}".rstrip() for line in d.description.splitlines()),
        "",
        f"  range       {d.range[0]:g} to {d.range[1]:g}, {better[d.higher_is_better]}",
        f"  statistic   {d.on.__name__}",
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
