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
    DATA_FORMATS,
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
    kind, path = format_and_file(options, DATA_FORMATS, "the list of measures")
    if name is not None and (task or statistic or words):
        raise click.UsageError(
            "--task, --statistic and --find filter the list, and cannot be combined with NAME"
        )
    if name is None:
        tasks = _select_measures(task, statistic, words)
        rows = [
            _measure_to_dict(d.example(), task_name)
            for task_name, definitions in tasks.items()
            for d in definitions
        ]
        lines, blocks = _format_list(tasks), _list_document(tasks)
    else:
        matches = _resolve_name(name)
        rows = [_measure_to_dict(measure, measure.definition.task) for measure in matches]
        lines = (line for measure in matches for line in explanation(measure).split("\n"))
        blocks = (block for measure in matches for block in _explanation_document(measure))
    if kind == "json":
        write_output(json.dumps(rows, indent=2, ensure_ascii=False), path)
    elif kind == "csv":
        from calipers.report.spreadsheets import csv_text

        write_output(csv_text([row | {"aliases": ", ".join(row["aliases"])} for row in rows]), path)
    elif kind == "table":
        from calipers.report.text_columns import terminal_width, wrap_line

        width = terminal_width(sys.stdout) if path is None else None
        write_output(
            "".join(
                f"{wrapped_line}\n" for line in lines for wrapped_line in wrap_line(line, width)
            ),
            path,
        )
    else:
        write_document(blocks, kind, path)


def _measure_to_dict(measure: Measure, task: str | None) -> dict[str, Any]:
    """Return a measure as data; infinite limits are null."""
    definition = measure.definition
    low, high = (end if math.isfinite(end) else None for end in definition.range)
    return {
        "measure": str(measure), "task": task, "title": definition.title.rstrip(":"),
        "statistic": definition.statistic.__name__, "low": low, "high": high,
        "higher_is_better": definition.higher_is_better, "aliases": list(definition.aliases),
        "description": definition.description, "reference": definition.reference,
    }  # fmt: skip


def _resolve_name(name: str) -> list[Measure]:
    """Return the measures that a name denotes in each task.

    If the name lacks a required parameter, all measures that it may denote are returned.
    """
    from calipers.measures import TASKS, parse, parse_by_task
    from calipers.measures.name_parsing import possible_definitions

    matches = list(parse_by_task(name))
    for task in [task for task in TASKS if task not in {m.definition.task for m in matches}]:
        matches += [d.example() for d in possible_definitions(name, TASKS[task]) if d.required]
    # Of a name that no task knows, to parse it says what is wrong.
    return matches or [parse(name)]


def _select_measures(
    task: str | None, statistic: str | None, words: tuple[str, ...]
) -> dict[str, list[Definition]]:
    """Return the requested measures, by task."""
    from calipers.measures import TASKS, definitions

    all_definitions = list(definitions())
    _check_choice("--task", task, TASKS)
    _check_choice("--statistic", statistic, {d.statistic.__name__ for d in all_definitions})
    chosen = [
        d
        for d in all_definitions
        if statistic in (None, d.statistic.__name__) and all(_is_match(d, word) for word in words)
    ]
    tasks = {
        each: [d for family in families for d in chosen if d.family == family]
        for each, families in TASKS.items()
        if task in (None, each)
    }
    if not any(tasks.values()):
        raise click.UsageError("no measure matches; `calipers measures` lists all")
    return {each: selected for each, selected in tasks.items() if selected}


def _format_list(tasks: Mapping[str, Sequence[Definition]]) -> Iterator[str]:
    """Yield the lines of the list."""
    width = max(len(str(d.example())) for definitions in tasks.values() for d in definitions)
    for each, definitions in tasks.items():
        yield each
        yield from (f"  {d.example()!s:<{width}}  {d.title.rstrip(':')}" for d in definitions)
        yield ""


def _list_document(tasks: Mapping[str, Sequence[Definition]]) -> Iterator[Block]:
    """Yield the list as a document."""
    from calipers.report.blocks import Heading, Table
    from calipers.report.tables import KEY, WORDS, Column

    yield Heading("Measures", 1)
    for each, definitions in tasks.items():
        yield Heading(each.capitalize())
        names = Column("measure", KEY, [str(d.example()) for d in definitions])
        yield Table(
            [names, Column("description", WORDS, [d.title.rstrip(":") for d in definitions])]
        )


def _check_choice(option: str, value: str | None, choices: object) -> None:
    """Check that the value of an option exists."""
    from calipers.data.errors import did_you_mean

    names = sorted(map(str, choices))  # type: ignore[call-overload]
    if value is not None and value not in names:
        raise click.UsageError(f"{option}: there is no {value!r}; {did_you_mean(value, names)}")


def _is_match(definition: Definition, word: str) -> bool:
    """Return whether names, description or reference of a measure contain a word."""
    searched = (*definition.spellings, definition.description, definition.reference)
    return word.casefold() in "\n".join(searched).casefold()


def explanation(measure: Measure) -> str:
    """Return all that the catalogue has on a measure, as text."""
    definition = measure.definition
    lines = [
        f"{measure}  ({definition.family})",
        "",
        *(f"  {line}".rstrip() for line in definition.description.splitlines()),
        "",
        *(f"  {name:<10}  {text}" for name, text in _facts(measure)),
    ]
    return "\n".join(lines) + "\n"


def _explanation_document(measure: Measure) -> Iterator[Block]:
    """Yield all that the catalogue has on a measure, as a document."""
    from calipers.report.blocks import Heading, Lines, Term, Terms, mark_literal

    definition = measure.definition
    yield Heading(mark_literal(f"{measure} ({definition.family})"))
    for paragraph in definition.description.replace("``", "").split("\n\n"):
        yield Lines([mark_literal(" ".join(paragraph.split()))])
    yield Terms([Term(name, mark_literal(text)) for name, text in _facts(measure)])


def _facts(measure: Measure) -> Iterator[tuple[str, str]]:
    definition = measure.definition
    better = {True: "higher is better", False: "lower is better", None: "neither"}
    low, high = definition.range
    yield "range", f"{low:g} to {high:g}, {better[definition.higher_is_better]}"
    yield "statistic", definition.statistic.__name__
    facts = {
        "parameters": ", ".join(f"{k}={v!r}" for k, v in measure.values),
        "undefined": "; ".join(f"{r}: {meaning}" for r, meaning in definition.reasons.items()),
        "aliases": ", ".join(definition.aliases),
        "reference": definition.reference or "",
    }
    yield from ((name, text) for name, text in facts.items() if text)
