"""Files that a command reads and writes, and that no output is written over an input."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from calipers import plugins
from calipers.cli.process import DEBUG

if TYPE_CHECKING:
    from calipers.report.output_files import OutputTarget

#: As a path, the standard input or output.
DASH = "-"

#: What a page is not called: whoever does so means -o.
NO_PAGES = (".json", ".csv", ".md", ".parquet", ".pdf")


class NamedPath(click.Path):
    """A path that is not empty: that would be the current folder, or nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if not os.fspath(value):
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)

    def files(self, value: Any) -> list[str]:
        """The files of a value."""
        return [os.fspath(value)]


class InputFile(NamedPath):
    """A file that is read; ``-`` may be the standard input. Whether it can be read is told by
    whoever reads it, as bad input."""

    def __init__(self) -> None:
        super().__init__(readable=False)


class NamedFile(click.ParamType):  # type: ignore[type-arg]
    """``NAME=FILE``, a file that is read under a name."""

    name = "named file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The name and the file."""
        if isinstance(value, tuple):
            return value
        name, equals, path = value.partition("=")
        if not (name and equals and path):
            self.fail(f"{value!r}: expected a name and a file, as in a=a.csv", param, ctx)
        return name, path

    def files(self, value: tuple[str, str]) -> list[str]:
        """The files of a value."""
        return [value[1]]


class BaselineName(click.ParamType):  # type: ignore[type-arg]
    """The name of a system, or the file of an earlier evaluation."""

    name = "system or file"

    def files(self, value: str) -> list[str]:
        """The file, if it is one."""
        path = value.rpartition(".json")
        return [path[0] + path[1]] if path[1] else []


class OutputFile(NamedPath):
    """A file that is written; ``-`` is the standard output, where that may be."""

    def __init__(self, *, page: bool = False, dash: bool = True) -> None:
        super().__init__(dir_okay=False, allow_dash=True)
        self._page, self._dash = page, dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if self._page and value == DASH:
            self.fail("a page goes to a file; ./- is one of that name", param, ctx)
        if not self._dash and value == DASH:
            self.fail("it goes to a file; ./- is one of that name", param, ctx)
        if self._page and str(value).lower().endswith(NO_PAGES):
            self.fail(f"{value!r} is no name of an HTML page; -o writes other formats", param, ctx)
        return super().convert(value, param, ctx)


class OutputFolder(NamedPath):
    """A folder for files that are written; it is made where it is not there."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)


class _DebugCommand:
    """A command with --debug, which :func:`calipers.cli.process.run` looks for."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with --debug before --help."""
        own: list[click.Parameter] = super().get_params(ctx)  # type: ignore[misc]
        debug = click.Option(
            [DEBUG],
            is_flag=True,
            expose_value=False,
            help="Show the traceback of an error.",
        )
        return [*own[:-1], debug, *own[-1:]]


class Group(_DebugCommand, click.Group):
    """A group of commands: their names with their lines in the help, in order, and what finds one,
    which is imported when it is run, not when it is listed. ``plugged`` are the entry points of
    packages that add commands, which are imported when commands are listed, or another is run."""

    def __init__(
        self,
        *args: Any,
        lines: Mapping[str, str],
        find: Callable[[str], click.Command],
        plugged: str = "",
        **how: Any,
    ) -> None:
        super().__init__(*args, **how)
        self._lines, self._find, self._plugged = lines, find, plugged

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of the lines; then those that were added."""
        return [*self._lines, *self._added()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name in self._lines:
            return self._find(cmd_name)
        return self.commands.get(cmd_name) or self._added().get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, from the lines alone; what was added says its own."""
        added = ((name, own.get_short_help_str()) for name, own in self._added().items())
        with formatter.section("Commands"):
            formatter.write_dl([*self._lines.items(), *added])

    def _added(self) -> Mapping[str, click.Command]:
        """The commands that were added, by packages as well."""
        if self._plugged:
            plugins.load(self._plugged)
        return self.commands


_INPUTS = InputFile | NamedFile | BaselineName


class Command(_DebugCommand, click.Command):
    """A command that looks at its files before it does anything."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs it."""
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
            _given_files(ctx, self.params, _INPUTS), _given_files(ctx, self.params, OutputFile)
        )
        return super().invoke(ctx)


def is_given(name: str) -> bool:
    """Whether the command line says something of a parameter, rather than its default."""
    ctx = click.get_current_context(silent=True)
    source = None if ctx is None else ctx.get_parameter_source(name)
    return source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def _given_files(
    ctx: click.Context, params: Iterable[click.Parameter], kind: Any
) -> list[tuple[str, str]]:
    """The files that were given for parameters of a kind, each with how messages call it."""
    found = []
    for param in params:
        value = ctx.params.get(param.name or "")
        if isinstance(param.type, kind) and value is not None:
            is_option = isinstance(param, click.Option)
            label = param.opts[0] if is_option else param.human_readable_name
            values = value if param.multiple or param.nargs == -1 else (value,)
            found += [(label, file) for each in values for file in param.type.files(each)]
    return found


def check_late_files(label: str, paths: Iterable[str]) -> None:
    """The same of files whose names are known only when there is a result."""
    ctx = click.get_current_context(silent=True)
    inputs = [] if ctx is None else _given_files(ctx, ctx.command.params, _INPUTS)
    outputs = [] if ctx is None else _given_files(ctx, ctx.command.params, OutputFile)
    check_files(inputs, [*outputs, *((label, path) for path in paths)])


def check_files(inputs: Iterable[tuple[str, str]], outputs: Sequence[tuple[str, str]]) -> None:
    """That every output can be written, and is no input and no other output under any name.

    Each file comes with what it is called in a message.
    """
    from calipers.report.output_files import OutputTarget

    written = []
    for label, path in outputs:
        if path != DASH:
            place = OutputTarget.of(path)
            place.check()
            written.append((f"{label} {path}", place))
    to_stdout = OutputTarget.opened(1, DASH)
    if _is_file(to_stdout) and all(place.descriptor != 1 for _, place in written):
        written.append(("the standard output", to_stdout))
    read = list(_input_targets(inputs))
    for name, place in written:
        for source, other in read:
            if place.is_same(other):
                raise click.UsageError(
                    f"{name} and {source} are the same file: the input would be written over"
                )
    for (name, place), (second, other) in combinations(written, 2):
        if place.is_same(other):
            raise click.UsageError(f"{name} and {second} are the same file")


def _input_targets(inputs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, OutputTarget]]:
    """Where the inputs are; what cannot be found is told when it is read."""
    from calipers.report.output_files import OutputTarget

    for label, given in inputs:
        for path in _list_files(given):
            try:
                place = OutputTarget.opened(0, DASH) if path == DASH else OutputTarget.of(path)
            except OSError:
                continue
            yield f"{label} {path}", place


def _list_files(path: str) -> list[str]:
    """The files that an input is: many, where it is a directory or a pattern."""
    if "*" not in path and not os.path.isdir(path):  # noqa: PTH112
        return [path]
    from calipers.data.tables import list_files

    return list_files(path)


def _is_file(place: OutputTarget) -> bool:
    return place.state is not None and stat.S_ISREG(place.state.st_mode)
