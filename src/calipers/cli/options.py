"""Helpers to define options of commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from calipers.cli.completion import column_names, measure_names
from calipers.cli.files import BaselineName, InputFile, NameableFile
from calipers.evaluation.former_values import current_value
from calipers.evaluation.task import Argument, Column
from calipers.evaluation.tasks import OPTIONS

Command = Callable[..., Any]
Option = Callable[[Command], Command]

PROPORTION = click.FloatRange(0, 1, min_open=True, max_open=True)


def combine_options(*options: Option) -> Option:
    """Combine options into a single decorator, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def added_parameters(options: Option) -> list[click.Parameter]:
    """Return the parameters that a decorator of options adds to a command."""
    return click.command()(options(lambda: None)).params


def text_option(flags: str, metavar: str, help_text: str, **attrs: Any) -> Option:
    """Return a text option; ``flags`` may end with the name of the parameter."""
    return click.option(
        *flags.split(), metavar=metavar, help=help_text, **_completion_attrs(metavar), **attrs
    )


def repeatable_option(flags: str, metavar: str, help_text: str, **attrs: Any) -> Option:
    """Return a text option that may be repeated."""
    settings = {"metavar": metavar, "help": help_text, **_completion_attrs(metavar), **attrs}
    return click.option(*flags.split(), multiple=True, **settings)


def _completion_attrs(metavar: str) -> dict[str, Any]:
    """Return the click attributes that complete column names, if the value is one."""
    return {"shell_complete": column_names} if "COL" in metavar else {}


class _ChoiceWithFormerNames(click.Choice):  # type: ignore[type-arg]
    """Choice that also accepts the former names of its values."""

    def __init__(self, values: Sequence[str], option: str) -> None:
        super().__init__(values)
        self.option = option

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | None:
        choice: str | None = super().convert(current_value(self.option, value), param, ctx)
        return choice


def choice_option(flags: str, values: Sequence[str], help_text: str) -> Option:
    """Return an option with one of several values, the first of which is the default."""
    choice_type = _ChoiceWithFormerNames(values, flags.split(maxsplit=1)[0].removeprefix("--"))
    return option_with_default(flags, values[0], help_text, type=choice_type)


def option_with_default(flags: str, default: Any, help_text: str, **attrs: Any) -> Option:
    """Return an option with a default that is shown in the help."""
    return click.option(*flags.split(), default=default, show_default=True, help=help_text, **attrs)


def number_option(flags: str, metavar: str, help_text: str, **attrs: Any) -> Option:
    """Return a numeric option."""
    return click.option(*flags.split(), type=float, metavar=metavar, help=help_text, **attrs)


def flag_option(flags: str, help_text: str) -> Option:
    """Return an option that is true if it is given."""
    return click.option(*flags.split(), is_flag=True, help=help_text)


def column_parameter(column: Column) -> Option:
    """Return the option for a declared column, or the positional argument for a file."""
    if column.is_file:
        if column.is_repeatable:
            return click.argument(
                column.role, nargs=-1, required=column.required, type=NameableFile()
            )
        return click.argument(column.role, required=column.required, type=InputFile())
    return click.option(
        column.option,
        column.role,
        metavar=f"[NAME=]{column.metavar}"
        if column.per_system or column.is_keyed_by_system
        else column.metavar,
        multiple=column.per_system or column.is_repeatable or column.is_keyed_by_system,
        required=column.required,
        help=column.help,
        shell_complete=column_names,
    )


def argument_option(argument: Argument) -> Option:
    """Return the option for a declared argument.

    For a switch that is on by default, the option turns it off.
    """
    if argument.kind == "switch" and argument.default:
        return flag_option(argument.option, argument.help)
    attrs: dict[str, Any] = {"help": argument.help, **_completion_attrs(argument.metavar)}
    default = argument.choices[0] if argument.choices else argument.default
    if default is not None:
        attrs |= {"default": default, "show_default": True}
    if argument.metavar:
        attrs["metavar"] = argument.metavar
    if argument.kind == "switch":
        attrs["is_flag"] = True
    elif argument.choices:
        attrs["type"] = click.Choice(argument.choices)
    elif argument.kind == "integer":
        attrs["type"] = click.IntRange(argument.low, argument.high)  # type: ignore[arg-type]
    elif argument.kind in _TYPE_BY_KIND:
        attrs["type"] = _TYPE_BY_KIND[argument.kind]
    elif argument.kind == "measure":
        attrs["shell_complete"] = measure_names
    flags = argument.flag.split() or [argument.option]
    return click.option(*flags, argument.name, multiple=argument.is_repeatable, **attrs)


_TYPE_BY_KIND: Mapping[str, Any] = {
    "number": click.FLOAT,
    "proportion": PROPORTION,
    "file": InputFile(),
    "baseline": BaselineName(),
}


def shared_options(*names: str) -> Option:
    """Return the options of these names, which tasks share."""
    return combine_options(*(argument_option(OPTIONS[name]) for name in names))
