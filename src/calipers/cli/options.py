"""Options as the commands write them: in stacks, and the kinds that come again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from calipers.cli.completion import column_names, measure_names
from calipers.cli.files import BaselineName, InputFile
from calipers.evaluation.task import Argument, Column
from calipers.evaluation.tasks import OPTIONS

Command = Callable[..., Any]
Option = Callable[[Command], Command]

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


def combine_options(*options: Option) -> Option:
    """Options one after the other, as a decorator."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def added_parameters(options: Option) -> list[click.Parameter]:
    """What a decorator of options adds to a command."""
    return click.command()(options(lambda: None)).params


def text_option(flags: str, metavar: str, text: str, **more: Any) -> Option:
    """A text; ``flags`` may have the name of the parameter behind them."""
    return click.option(
        *flags.split(), metavar=metavar, help=text, **_completion_option(metavar), **more
    )


def repeatable_option(flags: str, metavar: str, text: str, **more: Any) -> Option:
    """Texts, one each time."""
    told = {"metavar": metavar, "help": text, **_completion_option(metavar), **more}
    return click.option(*flags.split(), multiple=True, **told)


def _completion_option(metavar: str) -> dict[str, Any]:
    """What the TAB key offers for an option of columns."""
    return {"shell_complete": column_names} if "COL" in metavar else {}


def choice_option(flags: str, values: Sequence[str], text: str) -> Option:
    """One of some words, of which the first is the default."""
    kind = click.Choice(values)
    return option_with_default(flags, values[0], text, type=kind)


def option_with_default(flags: str, default: Any, text: str, **more: Any) -> Option:
    """A value with a default that the help tells."""
    return click.option(*flags.split(), default=default, show_default=True, help=text, **more)


def number_option(flags: str, metavar: str, text: str, **more: Any) -> Option:
    """A number."""
    return click.option(*flags.split(), type=float, metavar=metavar, help=text, **more)


def flag_option(flags: str, text: str) -> Option:
    """Something that is on where it is named."""
    return click.option(*flags.split(), is_flag=True, help=text)


def column_option(column: Column) -> Option:
    """The option, or the argument, that names a column which is declared."""
    if column.is_file:
        nargs = -1 if column.many else 1
        return click.argument(column.role, nargs=nargs, required=column.required, type=InputFile())
    return click.option(
        column.option,
        column.role,
        metavar=f"[NAME=]{column.metavar}" if column.per_system else column.metavar,
        multiple=column.per_system or column.many,
        required=column.required,
        help=column.help,
        shell_complete=column_names,
    )


def argument_option(argument: Argument) -> Option:
    """The option that says an argument which is declared; of a switch that is on unless said, the
    one that turns it off."""
    if argument.kind == "switch" and argument.default:
        return flag_option(argument.option, argument.help)
    told: dict[str, Any] = {"help": argument.help, **_completion_option(argument.metavar)}
    default = argument.choices[0] if argument.choices else argument.default
    if default is not None:
        told |= {"default": default, "show_default": True}
    if argument.metavar:
        told["metavar"] = argument.metavar
    if argument.kind == "switch":
        told["is_flag"] = True
    elif argument.choices:
        told["type"] = click.Choice(argument.choices)
    elif argument.kind == "whole":
        told["type"] = click.IntRange(argument.low, argument.high)  # type: ignore[arg-type]
    elif argument.kind in _KINDS:
        told["type"] = _KINDS[argument.kind]
    elif argument.kind == "measure":
        told["shell_complete"] = measure_names
    flags = argument.flag.split() or [argument.option]
    return click.option(*flags, argument.name, multiple=argument.many, **told)


_KINDS: Mapping[str, Any] = {
    "number": click.FLOAT,
    "share": SHARE,
    "file": InputFile(),
    "earlier": BaselineName(),
}


def shared_options(*names: str) -> Option:
    """Options that tasks share, by their names."""
    return combine_options(*(argument_option(OPTIONS[name]) for name in names))
