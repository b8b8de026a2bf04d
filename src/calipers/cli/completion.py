"""Command ``calipers completion``: completion of commands, options, measures and columns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

#: Where each shell looks for completions: the environment variable of the folder, its default, and
#: the file below.
SCRIPT_PATHS = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/calipers"),
    "zsh": ("ZDOTDIR", "", ".zfunc/_calipers"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/calipers.fish"),
}
#: Environment variable that the shell sets to request completions; it also identifies our scripts.
_COMPLETE_VARIABLE = "_CALIPERS_COMPLETE"

#: Prefixes of names of averages.
_AVERAGES = ("macro-", "micro-", "weighted-")


@click.command("completion")
@click.argument("shell", type=click.Choice(tuple(SCRIPT_PATHS)), required=False)
@click.option("--install", is_flag=True, help="Install the script where the shell finds it.")
def command(shell: str | None, *, install: bool) -> None:
    """Print or install shell completion.

    Commands, options, measures and columns are completed. Prints the script for SHELL (bash, zsh or
    fish; by default the current shell), or installs it.

    \b
    Example:
      calipers completion --install
    """
    from pathlib import Path

    from click.shell_completion import get_completion_class

    from calipers.cli.group import cli

    shell = shell or Path(os.environ.get("SHELL", "")).name
    completion_class = get_completion_class(shell) if shell in SCRIPT_PATHS else None
    if completion_class is None:
        raise click.UsageError(f"name a shell: {', '.join(SCRIPT_PATHS)}")
    script = completion_class(cli, {}, "calipers", _COMPLETE_VARIABLE).source()
    if not install:
        click.echo(script.rstrip())
        return
    path = _script_path(shell)
    if path.exists() and _COMPLETE_VARIABLE not in path.read_text("utf-8", "replace"):
        raise click.UsageError(
            f"{path} exists already, and is not a completion script of calipers; it was not changed"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    from calipers.report.output_files import atomic_writer

    with atomic_writer(os.fspath(path)) as stream:
        stream.write(f"{script.rstrip()}\n".encode())
    click.echo(f"written to {path}", err=True)
    if shell == "zsh":
        click.echo(f"add to ~/.zshrc, before compinit: fpath=({path.parent} $fpath)", err=True)
    click.echo("it works in the next shell", err=True)


def _script_path(shell: str) -> Path:
    from pathlib import Path

    variable, default_folder, file_name = SCRIPT_PATHS[shell]
    configured = os.environ.get(variable)
    return (Path(configured) if configured else Path.home() / default_folder) / file_name


def measure_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return completions of a measure name for the task of the command, with titles."""
    from click.shell_completion import CompletionItem

    from calipers.measures import TASKS, definitions

    average = next((a for a in _AVERAGES if incomplete.lower().startswith(a)), "")
    prefix = incomplete[len(average) :].lower()
    families = TASKS.get(
        ctx.info_name or "", [f for task_families in TASKS.values() for f in task_families]
    )
    completions = [
        CompletionItem(average + spelling, help=d.title.rstrip(":"))
        for family in families
        for d in definitions(family)
        for spelling in _complete_name(str(d.example()), d.spellings, prefix)
    ]
    return completions + [CompletionItem(a) for a in _AVERAGES if prefix and a.startswith(prefix)]


def _complete_name(name: str, spellings: tuple[str, ...], prefix: str) -> Iterator[str]:
    """Yield the name if it has the prefix, else the aliases that have it."""
    if name.lower().startswith(prefix):
        yield name
    elif prefix:
        yield from (alias for alias in spellings if alias.lower().startswith(prefix))


def column_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return completions of a column name of the table on the command line."""
    from pathlib import Path

    from click.shell_completion import CompletionItem, split_arg_string

    # Of arguments before an option that still lacks its value, click knows nothing yet.
    words = split_arg_string(os.environ.get("COMP_WORDS", ""))
    table = next((word for word in words[1:] if Path(word).is_file()), None)
    name, equals, prefix = incomplete.rpartition("=")
    return [
        CompletionItem(name + equals + column)
        for column in ([] if table is None else _read_column_names(table))
        if column.startswith(prefix)
    ]


def _read_column_names(path: str) -> list[str]:
    """Return the names of the columns of a table, or none if it cannot be read.

    The error is reported when the table is evaluated.
    """
    import pyarrow as pa
    from pyarrow import csv, dataset

    from calipers.data.tables import file_extension

    kind, _ = file_extension(path)
    formats = {
        ".csv": "csv",
        ".tsv": dataset.CsvFileFormat(csv.ParseOptions(delimiter="\t")),
        ".parquet": "parquet",
        ".feather": "feather",
        ".arrow": "ipc",
        ".jsonl": "json",
        ".ndjson": "json",
    }
    try:
        names: list[str] = dataset.dataset(path, format=formats.get(kind, "csv")).schema.names
    except (OSError, ValueError, pa.ArrowException):
        return []
    return names
