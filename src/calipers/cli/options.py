"""Options as the commands write them: in stacks, and the kinds that come again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from calipers.cli.completion import column_names

Command = Callable[..., Any]
Option = Callable[[Command], Command]

#: More than any rank, grade or number of documents.
MOST = 2**31 - 1

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


def stacked(*options: Option) -> Option:
    """Options one after the other, as a decorator."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def parameters(options: Option) -> list[click.Parameter]:
    """What a decorator of options adds to a command."""
    return click.command()(options(lambda: None)).params


def text(flags: str, metavar: str, text: str, **more: Any) -> Option:
    """A text; ``flags`` may have the name of the parameter behind them."""
    return click.option(*flags.split(), metavar=metavar, help=text, **_of(metavar), **more)


def texts(flags: str, metavar: str, text: str, **more: Any) -> Option:
    """Texts, one each time."""
    told = {"metavar": metavar, "help": text, **_of(metavar), **more}
    return click.option(*flags.split(), multiple=True, **told)


def _of(metavar: str) -> dict[str, Any]:
    """What the TAB key offers for an option of columns."""
    return {"shell_complete": column_names} if "COL" in metavar else {}


def choice(flags: str, values: Sequence[str], text: str) -> Option:
    """One of some words, of which the first is the default."""
    kind = click.Choice(values)
    return preset(flags, values[0], text, type=kind)


def preset(flags: str, default: Any, text: str, **more: Any) -> Option:
    """A value with a default that the help tells."""
    return click.option(*flags.split(), default=default, show_default=True, help=text, **more)


def number(flags: str, metavar: str, text: str, **more: Any) -> Option:
    """A number."""
    return click.option(*flags.split(), type=float, metavar=metavar, help=text, **more)


def switch(flags: str, text: str) -> Option:
    """Something that is on where it is named."""
    return click.option(*flags.split(), is_flag=True, help=text)
