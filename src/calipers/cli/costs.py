"""Parsing of the costs of systems on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click


def read_costs(specs: Sequence[str], found: Callable[[str], Any]) -> dict[str, Any] | None:
    """Parse cost options into the argument of an evaluation function.

    ``found`` maps a text that is not a number to its column.
    """
    made: dict[str, Any] = {}
    for spec in specs:
        name, equals, rest = spec.partition("=")
        if not (name and equals and rest):
            raise click.UsageError(
                f"--cost {spec!r}: expected a name and what each system costs, as in "
                "'latency=old:ms_old,new:ms_new'"
            )
        value = _parse_costs(spec, rest, found) if ":" in rest else _value(rest, found)
        before = made.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = {**before, **value}
        elif before is not None:
            raise click.UsageError(f"--cost {spec!r}: {name!r} was given already")
        made[name] = value
    return made or None


def _parse_costs(spec: str, text: str, found: Callable[[str], Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for part in text.split(","):
        system, colon, what = part.partition(":")
        if not (system and colon and what):
            raise click.UsageError(
                f"--cost {spec!r}: {part!r} says not what which system costs, as in old:ms_old"
            )
        if system in made:
            raise click.UsageError(f"--cost {spec!r}: {system!r} stands there twice")
        made[system] = _value(what, found)
    return made


def _value(text: str, found: Callable[[str], Any]) -> Any:
    """Parse a number, or return what the text refers to."""
    try:
        return float(text)
    except ValueError:
        return found(text)
