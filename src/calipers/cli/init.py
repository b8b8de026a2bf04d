"""Command ``calipers init``: a file of checks for the data at hand."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from calipers.cli.files import Command, InputFile, OutputFile
from calipers.cli.options import option_with_default
from calipers.cli.process import write_stderr
from calipers.cli.suggestions import Suggestion, list_data_files, suggest_commands

_HEADING = """\
# Checks that `calipers check` runs, written by `calipers init`. The keys of a check are the
# arguments and options of its command, without dashes: `calipers COMMAND --help` lists them. Lines
# that begin with # have no effect.
"""


@click.command("init", cls=Command)
@click.argument("files", nargs=-1, type=InputFile())
@option_with_default(
    "-o --output",
    "calipers.toml",
    "File of the checks.",
    metavar="FILE.toml",
    type=OutputFile(),
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def command(files: tuple[str, ...], output: str, *, force: bool) -> None:
    """Write calipers.toml, with a check for the data at hand.

    Looks at FILES, by default those of the current folder: tables, judgments and runs. The file has
    a check for each evaluation that they permit, with comments on requirements, which are yours to
    make. `calipers check` runs it, and `calipers FILE…` shows the same commands without writing.

    \b
    Examples:
      calipers init
      calipers init qrels.txt bm25.run dense.run
      calipers init predictions.csv -o -
    """
    from calipers.cli.output import write_output
    from calipers.data.errors import InputError

    if output != "-" and os.path.exists(output) and not force:  # noqa: PTH110
        raise click.UsageError(f"{output} exists; --force overwrites it")
    paths = list(files) or list_data_files(".")
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110
            raise InputError(f"{path}: no such file")
    suggestions, questions = suggest_commands(paths)
    checks = [each for each in suggestions if each.requirement]
    for question in questions if files else ():
        write_stderr(question)
    if not checks:
        subject = "these files" if files else "the files of this folder"
        raise InputError(
            f"nothing in {subject} can be evaluated as it is; name others, as in "
            "calipers init data.csv"
        )
    names = _check_names(checks)
    blocks = [
        _HEADING,
        *("\n".join(_lines(n, each)) for n, each in zip(names, checks, strict=True)),
    ]
    write_output("\n".join(blocks), None if output == "-" else output)
    if output != "-":
        write_stderr(f"{output}: {', '.join(names)}; `calipers check` runs what it has")


def _check_names(checks: Sequence[Suggestion]) -> list[str]:
    """Return a name for each check, made of that of its last file."""
    names: list[str] = []
    for check in checks:
        path = next(iter(check.arguments.values()))[0]
        stem = re.sub(r"[^A-Za-z0-9]+", "-", Path(path).name.partition(".")[0]).strip("-")
        name = check.command if check.command in ("retrieval", "overlap") else stem or "data"
        while name in names:
            name += "-2"
        names.append(name)
    return names


def _lines(name: str, check: Suggestion) -> Iterator[str]:
    """Yield the lines of a check."""
    yield f"[check.{name}]"
    yield f"# {check.reason}."
    yield f"command = {_format(check.command)}"
    for key, values in (*check.arguments.items(), *check.options.items()):
        is_single = len(values) == 1 and key != "runs"
        yield f"{key} = {_format(values[0]) if is_single else _format(list(values))}"
    measure = re.split(r" [<>]=? ", check.requirement)[0]
    yield f"# measure = [{_format(measure)}]  # `calipers measures` lists them"
    if len(check.systems) > 1:
        yield f'# baseline = {_format(check.systems[0])}  # or an earlier evaluation: "last.json"'
    yield f"# require = [{_format(check.requirement)}]  # without it, the check only has to run"
    yield f"# report = {_format(f'{name}.html')}"
    yield ""


def _format(value: str | list[str]) -> str:
    """Return a value as TOML, of which such JSON is a part."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
