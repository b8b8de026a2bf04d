"""Error messages about arguments, in terms of command-line options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

#: Arguments without an option of their own name, and the option that they come from.
_FLAG_BY_ARGUMENT = {"y": "--truth", "X": "--features", "measure": "--measure"}
_VALUE = r"""(?:'[^']*'|"[^"]*"|\d[\w.]*|True|False|None|…|\[…\])"""
#: What stands for any value, which an option needs no word for.
_ANY_VALUE = ("…", "[…]")


@contextmanager
def options_in_errors() -> Iterator[None]:
    """Name the options of the running command in errors about arguments."""
    from calipers.data.errors import InputError

    try:
        yield
    except InputError as error:
        message = name_options(str(error), _flags_by_parameter())
        if message == str(error):
            raise
        raise type(error)(message) from None


def _flags_by_parameter() -> dict[str, str]:
    """Return the options of the running command, by the names of their parameters."""
    ctx = click.get_current_context(silent=True)
    options = [] if ctx is None else [p for p in ctx.command.params if isinstance(p, click.Option)]
    flag_by_name = {
        str(p.name): next((o for o in p.opts if o.startswith("--")), p.opts[0]) for p in options
    }
    flags = set(flag_by_name.values())
    return flag_by_name | {
        name: flag
        for name, flag in _FLAG_BY_ARGUMENT.items()
        if flag in flags and name not in flag_by_name
    }


def name_options(message: str, options: Mapping[str, str]) -> str:
    """Replace the names of arguments in a message by the options of the command.

    >>> name_options("split= determines the folds: it excludes cv=", {"cv": "--folds"})
    'split= determines the folds: it excludes --folds'
    >>> name_options("inner goes with threshold='F1'", {"inner": "--inner", "threshold": "--cut"})
    'inner goes with --cut F1'
    >>> name_options("name one (positive=…)", {"positive": "--positive"})
    'name one (--positive)'
    >>> name_options("n_jobs is 0, expected 1 or more", {"n_jobs": "--jobs"})
    '--jobs is 0, expected 1 or more'
    """

    def replace_argument(match: re.Match[str]) -> str:
        flag = options.get(match["name"])
        if flag is None:
            return match[0]
        value = "" if match["value"] in _ANY_VALUE else (match["value"] or "").strip("'\"")
        quoted = f"'{value}'" if re.search(r"[\s<>&*()]", value) else value
        return f"{flag} {quoted}" if value else flag

    text = re.sub(
        rf"(?<![\w.-])(?P<name>[A-Za-z_]\w*)=(?P<value>{_VALUE})?(?!=)", replace_argument, message
    )
    text = text.replace("(estimator, X, y)", options.get("estimator", "(estimator, X, y)"))
    head = re.match(r"(?P<name>\w+)(?P<after>: | is )", text)
    if head is not None and head["name"] in options:
        text = options[head["name"]] + text[head.end("name") :]
    return text
