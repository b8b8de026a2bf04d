"""``calipers learn``: how models do on data that they were not trained on."""

from __future__ import annotations

from importlib import import_module

import click

from calipers.cli.files import Group

#: Sub-commands, and their lines in the help.
COMMANDS = {
    "check": "Look for what makes a test score too good.",
    "cv": "Cross-validate an estimator, or predictions of folds, in a table.",
    "select": "Choose among models, and say what the chosen one is worth on other rows.",
    "capacity": "Say where a model underfits and overfits, over a parameter.",
    "growth": "Say how errors go with the number of rows, and what more would bring.",
    "bias": "Take the errors of a model apart: bias, variance and noise.",
}


def _imported(name: str) -> click.Command:
    command: click.Command = import_module(f"calipers.cli.learn.{name}").command
    return command


@click.group("learn", cls=Group, lines=COMMANDS, find=_imported)
def command() -> None:
    """Say how models do on data that they were not trained on."""
