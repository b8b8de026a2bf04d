"""Command ``calipers check``: evaluations and their requirements, configured in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import Command, InputFile, OutputFile, check_files
from calipers.cli.options import text_option
from calipers.cli.process import EXIT_BAD_INPUT, describe_user_error, write_stderr
from calipers.cli.requirements import (
    Outcome,
    OutcomeList,
    append_summary,
    github_summary_option,
    summary_file,
    write_junit,
)

if TYPE_CHECKING:
    from calipers.data.errors import InputError

#: Files with checks, in order of priority, and the keys of their checks.
CONFIG_FILES: Mapping[str, tuple[str, ...]] = {
    "calipers.toml": ("check",),
    "pyproject.toml": ("tool", "calipers", "check"),
}

#: Options of output files, which must differ between checks.
OUTPUT_OPTIONS = ("output", "report", "junit")
#: Groups of commands that may be checks without requirements: they compare, or fail on their own.
_GROUPS_WITHOUT_REQUIREMENTS = ("compare", "learn")


@click.command("check", cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]…")
@text_option("--config", "FILE.toml", "Configuration file to read instead.", type=InputFile())
@text_option(
    "--junit",
    "FILE.xml",
    "Write the outcome of all requirements, and the errors of checks that cannot be run, to this "
    "file (JUnit XML).",
    type=OutputFile(allow_dash=False),
)
@github_summary_option
def command(
    names: tuple[str, ...], config: str | None, junit: str | None, *, github_summary: bool
) -> None:
    """Run the evaluations of calipers.toml and check their requirements.

    Checks are read from calipers.toml, or from the table tool.calipers of pyproject.toml; all
    checks are run, or those named. A check is a command with its arguments and options, by name;
    repeatable options are lists, and flags are true. Paths are as on the command line. `calipers
    init` writes such a file for data. The exit code is 1 if a requirement of any check is not met,
    and 3 if a check cannot be run; --junit and --github-summary report both.

    \b
    Example of calipers.toml:
      [check.scan]
      command = "classification"
      table = "new.csv"
      truth = "diagnosis"
      probability = "model"
      id = "patient"
      baseline = "last.json"
      require = ["AUC >= 0.9", "AUC not worse than last by 0.01"]
    """
    path, checks = _read_checks(config)
    for name in names:
        if name not in checks:
            from calipers.data.errors import did_you_mean

            raise click.UsageError(f"{path}: no check {name!r}; {did_you_mean(name, checks)}")
    selected = {name: checks[name] for name in names or checks}
    _check_outputs(path, selected)
    if junit is not None:
        check_files([(path, path), *_named_files(path, selected)], [("--junit", junit)])
    if github_summary:
        summary_file()
    outcomes = OutcomeList()
    try:
        codes = [
            _run_check_safely(path, name, check, outcomes, github_summary=github_summary)
            for name, check in selected.items()
        ]
    finally:
        if junit is not None:
            write_junit(outcomes, junit)
    if any(codes):
        raise click.exceptions.Exit(max(codes))


def _check_outputs(path: str, checks: Mapping[str, Any]) -> None:
    """Check that no two checks write to the same file."""
    check_by_file: dict[str, str] = {}
    for name, check in checks.items():
        for key in OUTPUT_OPTIONS:
            file = check.get(key) if isinstance(check, Mapping) else None
            if file is not None and check_by_file.setdefault(str(file), name) != name:
                raise _error(
                    f"{path}: check {name}: {key}: {check_by_file[str(file)]!r} writes {file} too"
                )


def _named_files(path: str, checks: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files that checks read and write, each with its name in messages."""
    for name, check in checks.items():
        for key in check if isinstance(check, Mapping) else ():
            for text in _as_list(check, key):
                for file in (text, text.partition("=")[2]):
                    if file and os.path.isfile(file):  # noqa: PTH113
                        yield f"{path}: check {name}: {key}", file


def _run_check_safely(
    path: str,
    name: str,
    check: Any,
    outcomes: OutcomeList,
    *,
    github_summary: bool,
) -> int:
    """Run a check, and return its exit code; invalid input does not prevent other checks."""
    location, results = f"{path}: check {name}", OutcomeList()
    try:
        code = _run_check(location, check, name, results, github_summary=github_summary)
    except (click.Abort, click.exceptions.Exit):
        raise
    except Exception as error:
        user_error = describe_user_error(error)
        message = f"{type(error).__name__}: {error}" if user_error is None else user_error[1]
        outcome = Outcome(name, error=message, rules=_as_list(check, "require"))
        outcomes.append(outcome)
        if github_summary:
            append_summary(outcome)
        outcome.annotate()
        if user_error is None:
            raise
        write_stderr(
            f"calipers: {'' if message.startswith(location) else f'{location}: '}{message}"
        )
        return EXIT_BAD_INPUT
    outcomes.append(Outcome(name, [result for each in results for result in each.results]))
    return code


def _as_list(check: Any, key: str) -> list[str]:
    """Return the values of a key of a check, as text."""
    value = check.get(key, []) if isinstance(check, Mapping) else []
    return list(map(str, value if isinstance(value, list) else [value]))


def _read_checks(config: str | None) -> tuple[str, Mapping[str, Any]]:
    """Return the configuration file, and its checks by name."""
    paths = (
        [config] if config is not None else [name for name in CONFIG_FILES if Path(name).exists()]
    )
    if not paths:
        raise click.UsageError(
            f"there is no {' and no '.join(CONFIG_FILES)} here; --config names a file"
        )
    for path in paths:
        checks: Any = _parse_toml(path)
        for key in _check_keys(path):
            checks = checks.get(key, {}) if isinstance(checks, Mapping) else {}
        if checks and isinstance(checks, Mapping):
            return path, checks
    expected = " or ".join(f"[{'.'.join(_check_keys(path))}.NAME]" for path in paths)
    raise _error(f"{', '.join(paths)}: holds no check; expected {expected}")


def _check_keys(path: str) -> tuple[str, ...]:
    """Return the keys under which a file has its checks."""
    return CONFIG_FILES.get(Path(path).name, CONFIG_FILES["calipers.toml"])


def _parse_toml(path: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _error(f"{path}: {error}") from None


def _error(message: str) -> InputError:
    from calipers.data.errors import InputError

    return InputError(message)


def _run_check(
    location: str,
    check: Any,
    name: str,
    results: OutcomeList,
    *,
    github_summary: bool,
) -> int:
    """Run a check, add the results of its requirements, and return its exit code."""
    if not isinstance(check, Mapping) or not isinstance(check.get("command"), str):
        raise _error(f'{location}: expected command = "…", such as "classification"')
    evaluating_command = _find_command(check["command"])
    if evaluating_command is None:
        raise _error(f"{location}: there is no command {check['command']!r}")
    options, _ = _parameters(evaluating_command)
    has_requirements = "require" in options
    if not has_requirements and check["command"].split()[0] not in _GROUPS_WITHOUT_REQUIREMENTS:
        raise _error(
            f"{location}: nothing can be required of the command {check['command']!r}; expected an "
            "evaluation, a comparison, or learn check-split"
        )
    settings = {k: v for k, v in check.items() if k != "command"}
    if github_summary and "github-summary" in options:
        settings["github_summary"] = True
    line = list(_command_line(location, evaluating_command, settings))
    click.echo(f"{name}\n{'=' * len(name)}\n")
    try:
        with evaluating_command.make_context(
            f"calipers {check['command']}", line, obj=results
        ) as context:
            evaluating_command.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        raise _error(f"{location}: {error.format_message()}") from None
    finally:
        click.echo()
    if has_requirements and not _as_list(check, "require"):
        write_stderr(f"calipers: {location}: nothing is required (require); it only had to run")
    return 0


def _find_command(words: str) -> click.Command | None:
    """Return a command by its words, such as "compare retrieval"; None if there is none."""
    from calipers.cli.group import cli

    group: click.Command | None = cli
    for word in words.split():
        if not isinstance(group, click.Group) or word == "check":
            return None
        group = group.get_command(click.Context(group), word)
    return group


@cache
def _parameters(
    command: click.Command,
) -> tuple[dict[str, click.Option], dict[str, click.Argument]]:
    """Return the options of a command by their names without dashes, and its arguments."""
    options = {
        opt.lstrip("-"): p
        for p in command.params
        if isinstance(p, click.Option)
        for opt in (*p.opts, *p.secondary_opts)
        if opt.startswith("--")
    }
    return options, {str(p.name): p for p in command.params if isinstance(p, click.Argument)}


def _command_line(
    location: str, command: click.Command, settings: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the equivalent command line; arguments come last, in their order."""
    options, arguments = _parameters(command)
    for key, value in settings.items():
        if key in arguments:
            continue
        option = options.get(key.replace("_", "-"))
        if option is None:
            from calipers.data.errors import did_you_mean
            from calipers.evaluation.availability import unavailable_flag_reason

            task = str(command.name)
            reason = unavailable_flag_reason(task, key)
            if reason is not None:
                raise _error(f"{location}: {task} has no {key}{reason}")
            valid_names = [*arguments, *options]
            raise _error(
                f"{location}: {key!r} is not an argument or option; "
                f"{did_you_mean(key, valid_names)}"
            )
        for item in value if isinstance(value, list) else [value]:
            yield from _option_arguments(location, key, option, item)
    yield "--"
    for name in arguments:
        value = settings.get(name, [])
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str):
                raise _error(f"{location}: {name}: is {item!r}, expected text")
            yield item


def _option_arguments(location: str, key: str, option: click.Option, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        raise _error(f"{location}: {key}: is a table, expected a value or a list of such")
    flag = next(opt for opt in option.opts if opt.startswith("--"))
    if option.is_flag:
        if not isinstance(value, bool):
            raise _error(f"{location}: {key}: is {value!r}, expected true or false")
        if value:
            yield flag
    elif isinstance(value, bool):
        raise _error(f"{location}: {key}: is {str(value).lower()}, expected a value")
    else:
        yield f"{flag}={value}"
