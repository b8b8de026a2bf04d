"""Files that a command reads and writes, and checks that no input is overwritten."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from calipers import plugins
from calipers.cli.process import DEBUG, EXIT_BAD_INPUT, describe_user_error
from calipers.cli.wording import options_in_errors

if TYPE_CHECKING:
    from calipers.report.output_files import OutputTarget

#: As a path, the standard input or output.
DASH = "-"

#: Key in the context of a command of the function that reports a failure by its input.
FAILURE_WRITER = "calipers.write_failure"

#: Extensions that a page does not have; they belong to -o.
NON_PAGE_SUFFIXES = (".json", ".csv", ".md", ".parquet", ".pdf")


class NamedPath(click.Path):
    """Parameter type of a path that is not empty (which would be the current folder)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if not os.fspath(value):
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)

    def files(self, value: Any) -> list[str]:
        """Return the files of a value."""
        return [os.fspath(value)]


class InputFile(NamedPath):
    """Parameter type of a file to read; ``-`` may be the standard input.

    Whether the file can be read is checked when it is read, and reported as invalid input.
    """

    def __init__(self) -> None:
        super().__init__(readable=False)


class NameableFile(InputFile):
    """Parameter type of a file to read that may have the name of its system: ``NAME=FILE``."""

    def files(self, value: Any) -> list[str]:
        """Return the file of a value."""
        return [split_name(os.fspath(value))[1]]


def split_name(text: str) -> tuple[str, str]:
    """Split ``NAME=FILE`` into a name, empty if there is none, and a file.

    >>> split_name("old=a.eval"), split_name("a.eval")
    (('old', 'a.eval'), ('', 'a.eval'))
    """
    name, equals, path = text.partition("=")
    is_named = name and equals and path and not os.path.exists(text)  # noqa: PTH110
    return (name, path) if is_named else ("", text)


def name_files(
    values: Iterable[str], default_names: Callable[[list[str]], Mapping[str, Any]]
) -> dict[str, str]:
    """Return files by name; those without one have the names that ``default_names`` gives them."""
    pairs = [split_name(value) for value in values]
    unnamed = [path for name, path in pairs if not name]
    name_by_path = {path: name for name, path in default_names(unnamed).items()} if unnamed else {}
    path_by_name: dict[str, str] = {}
    for given_name, path in pairs:
        name = given_name or name_by_path[path]
        if name in path_by_name:
            raise click.UsageError(f"{path_by_name[name]} and {path} are both called {name!r}")
        path_by_name[name] = path
    return path_by_name


class NamedFile(click.ParamType):  # type: ignore[type-arg]
    """Parameter type ``NAME=FILE`` of a named file to read."""

    name = "named file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return the name and the file."""
        if isinstance(value, tuple):
            return value
        name, equals, path = value.partition("=")
        if not (name and equals and path):
            self.fail(f"{value!r}: expected a name and a file, as in a=a.csv", param, ctx)
        return name, path

    def files(self, value: tuple[str, str]) -> list[str]:
        """Return the files of a value."""
        return [value[1]]


class BaselineName(click.ParamType):  # type: ignore[type-arg]
    """Parameter type of the name of a system, or of the file of an earlier evaluation."""

    name = "system or file"

    def files(self, value: str) -> list[str]:
        """Return the file, if the value is one."""
        path = value.rpartition(".json")
        return [path[0] + path[1]] if path[1] else []


class OutputFile(NamedPath):
    """Parameter type of a file to write; ``-`` is the standard output, if permitted."""

    def __init__(self, *, is_page: bool = False, allow_dash: bool = True) -> None:
        super().__init__(dir_okay=False, allow_dash=True)
        self._page, self._dash = is_page, allow_dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if self._page and value == DASH:
            self.fail("a page is written to a file; ./- is a file of that name", param, ctx)
        if not self._dash and value == DASH:
            self.fail("the output is a file; ./- is a file of that name", param, ctx)
        if self._page and str(value).lower().endswith(NON_PAGE_SUFFIXES):
            self.fail(
                f"{value!r} is not a name of an HTML page; -o writes other formats", param, ctx
            )
        return super().convert(value, param, ctx)


class OutputFolder(NamedPath):
    """Parameter type of a folder for output files, which is created if it does not exist."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)


class _DebugCommand:
    """Command with --debug, which :func:`calipers.cli.process.run` reads."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with --debug before --help."""
        params: list[click.Parameter] = super().get_params(ctx)  # type: ignore[misc]
        debug = click.Option(
            [DEBUG],
            is_flag=True,
            expose_value=False,
            help="Show the traceback of an error.",
        )
        return [*params[:-1], debug, *params[-1:]]


def import_command(package: str, name: str) -> click.Command:
    """Return the command of a module of a package, which has the name of the command."""
    command: click.Command = import_module(f"{package}.{name.replace('-', '_')}").command
    return command


class Group(_DebugCommand, click.Group):
    """Group of commands that are imported when they are run.

    ``help_by_command`` has the names of the commands and their short help, in order, and ``find``
    imports a command. ``entry_point`` is the entry point of packages that add commands; they are
    imported when commands are listed, or another command is run.
    """

    def __init__(
        self,
        *args: Any,
        help_by_command: Mapping[str, str],
        find: Callable[[str], click.Command],
        entry_point: str = "",
        **attrs: Any,
    ) -> None:
        super().__init__(*args, **attrs)
        self._lines, self._find, self._plugged = help_by_command, find, entry_point

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help, then those that were added."""
        return [*self._lines, *self._plugin_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        if cmd_name in self._lines:
            return self._find(cmd_name)
        return self.commands.get(cmd_name) or self._plugin_commands().get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in the help, without importing them except added ones."""
        added = (
            (name, command.get_short_help_str())
            for name, command in self._plugin_commands().items()
        )
        with formatter.section("Commands"):
            formatter.write_dl([*self._lines.items(), *added])

    def _plugin_commands(self) -> Mapping[str, click.Command]:
        """Return the commands that were added, also by other packages."""
        if self._plugged:
            plugins.load(self._plugged)
        return self.commands


_INPUT_TYPES = InputFile | NamedFile | BaselineName


class Command(_DebugCommand, click.Command):
    """Command that checks its files before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        """Check the files, then run the command."""
        # (Tables of --system may come from there too, together with others: they are kept.)
        dashes = [
            label for label, file in _given_files(ctx, self.params, InputFile) if file == DASH
        ]
        if len(dashes) > 1:
            raise click.UsageError(
                f"- stands for {dashes[0]} and for {dashes[1]}, and the standard input can be read "
                "only once"
            )
        check_files(
            _given_files(ctx, self.params, _INPUT_TYPES), _given_files(ctx, self.params, OutputFile)
        )
        try:
            with options_in_errors():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except Exception as error:
            write_failure = ctx.meta.get(FAILURE_WRITER)
            if write_failure is not None:
                user_error = describe_user_error(error)
                if user_error is not None and user_error[0] == EXIT_BAD_INPUT:
                    write_failure(ctx, user_error[1])
            raise


def is_given(name: str) -> bool:
    """Return whether a parameter was given on the command line, rather than by its default."""
    ctx = click.get_current_context(silent=True)
    source = None if ctx is None else ctx.get_parameter_source(name)
    return source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def _given_files(
    ctx: click.Context, params: Iterable[click.Parameter], kind: Any
) -> list[tuple[str, str]]:
    """Return the files given for parameters of a type, each with its name in messages."""
    files = []
    for param in params:
        value = ctx.params.get(param.name or "")
        if isinstance(param.type, kind) and value is not None:
            is_option = isinstance(param, click.Option)
            label = param.opts[0] if is_option else param.human_readable_name
            values = value if param.multiple or param.nargs == -1 else (value,)
            files += [(label, file) for each in values for file in param.type.files(each)]
    return files


def check_late_files(label: str, paths: Iterable[str]) -> None:
    """Check output files whose names are known only once there is a result."""
    ctx = click.get_current_context(silent=True)
    inputs = [] if ctx is None else _given_files(ctx, ctx.command.params, _INPUT_TYPES)
    outputs = [] if ctx is None else _given_files(ctx, ctx.command.params, OutputFile)
    check_files(inputs, [*outputs, *((label, path) for path in paths)])


def check_files(inputs: Iterable[tuple[str, str]], outputs: Sequence[tuple[str, str]]) -> None:
    """Check that outputs can be written, and differ from all inputs and from each other.

    Files are compared by identity, not by name. Each file comes with its name in messages.
    """
    from calipers.report.output_files import OutputTarget

    targets = []
    for label, path in outputs:
        if path != DASH:
            target = OutputTarget.from_path(path)
            target.check()
            targets.append((f"{label} {path}", target))
    to_stdout = OutputTarget.from_descriptor(1, DASH)
    if _is_file(to_stdout) and all(target.descriptor != 1 for _, target in targets):
        targets.append(("the standard output", to_stdout))
    sources = list(_input_targets(inputs))
    for name, target in targets:
        for source, second_target in sources:
            if target.is_same(second_target):
                raise click.UsageError(
                    f"{name} and {source} are the same file: the input would be overwritten"
                )
    for (name, target), (second, second_target) in combinations(targets, 2):
        if target.is_same(second_target):
            raise click.UsageError(f"{name} and {second} are the same file")


def _input_targets(inputs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, OutputTarget]]:
    """Yield the locations of the inputs; missing ones are reported when they are read."""
    from calipers.report.output_files import OutputTarget

    for label, pattern in inputs:
        for path in _list_files(pattern):
            try:
                target = (
                    OutputTarget.from_descriptor(0, DASH)
                    if path == DASH
                    else OutputTarget.from_path(path)
                )
            except OSError:
                continue
            yield f"{label} {path}", target


def _list_files(path: str) -> list[str]:
    """Return the files of an input, which are several for a directory or pattern."""
    if "*" not in path and not os.path.isdir(path):  # noqa: PTH112
        return [path]
    from calipers.data.tables import list_files

    return list_files(path)


def _is_file(target: OutputTarget) -> bool:
    return target.status is not None and stat.S_ISREG(target.status.st_mode)
