"""Command ``calipers measures``."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.completion import measure_names
from calipers.cli.files import Command
from calipers.cli.options import repeatable_option, text_option
from calipers.cli.output import (
    DATA,
    format_and_file,
    format_options,
    write_document,
    write_output,
)

if TYPE_CHECKING:
    from calipers.measures import Definition, Measure
    from calipers.report.blocks import Block


@click.command("measures", cls=Command)
@click.argument("name", required=False, shell_complete=measure_names)
@text_option("--task", "TASK", "List the measures of this task only, such as retrieval.")
@text_option(
    "--statistic", "NAME", "List the measures of this statistic only, such as ConfusionMatrix."
)
@repeatable_option(
    "--find words",
    "WORD",
    "List the measures whose name, alias, description or source has this word; repeatable.",
)
@lambda command: format_options(command, report=False)
def command(
    name: str | None,
    task: str | None,
    statistic: str | None,
    words: tuple[str, ...],
    **options: Any,
) -> None:
    """List the measures, or explain the one called NAME.

    NAME may be an alias of another tool, or words such as "hit rate".

    \b
    Example:
      calipers measures --task classification --find calibration
      calipers measures nDCG --format markdown
    """
    kind, path = format_and_file(options, DATA, "the list of measures")
    if name is not None and (task or statistic or words):
        raise click.UsageError("--task, --statistic and --find choose from the list; NAME is one")
    if name is None:
        tasks = _select_measures(task, statistic, words)
        rows = [_row(d.example(), each) for each, of in tasks.items() for d in of]
        lines, blocks = _format_list(tasks), _list_document(tasks)
    else:
        meant = _resolve_name(name)
        rows = [_row(measure, measure.definition.task) for measure in meant]
        lines = (line for measure in meant for line in explanation(measure).split("\n"))
        blocks = (block for measure in meant for block in _explanation_document(measure))
    if kind == "json":
        write_output(json.dumps(rows, indent=2, ensure_ascii=False), path)
    elif kind == "csv":
        from calipers.report.spreadsheets import csv_text

        write_output(csv_text([row | {"aliases": ", ".join(row["aliases"])} for row in rows]), path)
    elif kind == "table":
        from calipers.report.text_columns import terminal_width, wrap_line

        room = terminal_width(sys.stdout) if path is None else None
        write_output("".join(f"{part}\n" for line in lines for part in wrap_line(line, room)), path)
    else:
        write_document(blocks, kind, path)


def _row(measure: Measure, task: str | None) -> dict[str, Any]:
    """Return a measure as data; infinite limits are null."""
    d = measure.definition
    low, high = (end if math.isfinite(end) else None for end in d.range)
    return {
        "measure": str(measure), "task": task, "title": d.title.rstrip(":"),
        "statistic": d.statistic.__name__, "low": low, "high": high,
        "higher_is_better": d.higher_is_better, "aliases": list(d.aliases),
        "description": d.description, "reference": d.reference,
    }  # fmt: skip


def _resolve_name(name: str) -> list[Measure]:
    """Return the measures that a name denotes in each task.

    If the name lacks a required parameter, all measures that it may denote are returned.
    """
    from calipers.measures import TASKS, parse, parse_by_task
    from calipers.measures.name_parsing import senses

    found = list(parse_by_task(name))
    for task in [task for task in TASKS if task not in {m.definition.task for m in found}]:
        found += [d.example() for d in senses(name, TASKS[task]) if d.required]
    # Of a name that no task knows, to parse it says what is wrong.
    return found or [parse(name)]


def _select_measures(
    task: str | None, statistic: str | None, words: tuple[str, ...]
) -> dict[str, list[Definition]]:
    """Return the requested measures, by task."""
    from calipers.measures import TASKS, definitions

    every = list(definitions())
    _check_known("--task", task, TASKS)
    _check_known("--statistic", statistic, {d.statistic.__name__ for d in every})
    chosen = [
        d
        for d in every
        if statistic in (None, d.statistic.__name__) and all(_is_match(d, word) for word in words)
    ]
    tasks = {
        each: [d for family in families for d in chosen if d.family == family]
        for each, families in TASKS.items()
        if task in (None, each)
    }
    if not any(tasks.values()):
        raise click.UsageError("no measure is like that; `calipers measures` lists all")
    return {each: of for each, of in tasks.items() if of}


def _format_list(tasks: Mapping[str, Sequence[Definition]]) -> Iterator[str]:
    """Yield the lines of the list."""
    width = max(len(str(d.example())) for of in tasks.values() for d in of)
    for each, of in tasks.items():
        yield each
        yield from (f"  {d.example()!s:<{width}}  {d.title.rstrip(':')}" for d in of)
        yield ""


def _list_document(tasks: Mapping[str, Sequence[Definition]]) -> Iterator[Block]:
    """Yield the list as a document."""
    from calipers.report.blocks import Heading, Table
    from calipers.report.tables import KEY, WORDS, Column

    yield Heading("Measures", 1)
    for each, of in tasks.items():
        yield Heading(each.capitalize())
        names = Column("measure", KEY, [str(d.example()) for d in of])
        yield Table([names, Column("what it is", WORDS, [d.title.rstrip(":") for d in of])])


def _check_known(option: str, given: str | None, there: object) -> None:
    """Check that the value of an option exists."""
    from calipers.data.errors import did_you_mean

    names = sorted(map(str, there))  # type: ignore[call-overload]
    if given is not None and given not in names:
        raise click.UsageError(f"{option}: there is no {given!r}; {did_you_mean(given, names)}")


def _is_match(definition: Definition, word: str) -> bool:
    """Return whether names, description or reference of a measure contain a word."""
    said = (*definition.spellings, definition.description, definition.reference)
    return word.casefold() in "\n".join(said).casefold()


def explanation(measure: Measure) -> str:
    """Return all that the catalogue has on a measure, as text."""
    d = measure.definition
    lines = [
        f"{measure}  ({d.family})",
        "",
        *(f"  {line}".rstrip() for line in d.description.splitlines()),
        "",
        *(f"  {name:<10}  {text}" for name, text in _facts(measure)),
    ]
    return "\n".join(lines) + "\n"


def _explanation_document(measure: Measure) -> Iterator[Block]:
    """Yield all that the catalogue has on a measure, as a document."""
    from calipers.report.blocks import Heading, Lines, Term, Terms, mark_literal

    d = measure.definition
    yield Heading(mark_literal(f"{measure} ({d.family})"))
    for paragraph in d.description.replace("``", "").split("\n\n"):
        yield Lines([mark_literal(" ".join(paragraph.split()))])
    yield Terms([Term(name, mark_literal(text)) for name, text in _facts(measure)])


def _facts(measure: Measure) -> Iterator[tuple[str, str]]:
    d = measure.definition
    better = {True: "higher is better", False: "lower is better", None: "neither"}
    yield "range", f"{d.range[0]:g} to {d.range[1]:g}, {better[d.higher_is_better]}"
    yield "statistic", d.statistic.__name__
    found = {
        "parameters": ", ".join(f"{k}={v!r}" for k, v in measure.values),
        "undefined": "; ".join(f"{r}: {why}" for r, why in d.reasons.items()),
        "aliases": ", ".join(d.aliases),
        "reference": d.reference or "",
    }
    yield from ((name, text) for name, text in found.items() if text)
