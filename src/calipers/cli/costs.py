"""Parsing of the costs of systems on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click


def read_costs(specs: Sequence[str], get_column: Callable[[str], Any]) -> dict[str, Any] | None:
    """Parse cost options into the argument of an evaluation function.

    ``get_column`` maps a text that is not a number to its column.
    """
    costs: dict[str, Any] = {}
    for spec in specs:
        name, equals, text = spec.partition("=")
        if not (name and equals and text):
            raise click.UsageError(
                f"--cost {spec!r}: expected a name and the cost of each system, as in "
                "'latency=old:ms_old,new:ms_new'"
            )
        value = (
            _parse_costs(spec, text, get_column) if ":" in text else _parse_cost(text, get_column)
        )
        earlier = costs.get(name)
        if isinstance(earlier, Mapping) and isinstance(value, Mapping):
            value = {**earlier, **value}
        elif earlier is not None:
            raise click.UsageError(f"--cost {spec!r}: {name!r} was given already")
        costs[name] = value
    return costs or None


def _parse_costs(spec: str, text: str, get_column: Callable[[str], Any]) -> dict[str, Any]:
    cost_by_system: dict[str, Any] = {}
    for item in text.split(","):
        system, colon, cost = item.partition(":")
        if not (system and colon and cost):
            raise click.UsageError(
                f"--cost {spec!r}: {item!r} is not the cost of a system, as in old:ms_old"
            )
        if system in cost_by_system:
            raise click.UsageError(f"--cost {spec!r}: {system!r} is given twice")
        cost_by_system[system] = _parse_cost(cost, get_column)
    return cost_by_system


def _parse_cost(text: str, get_column: Callable[[str], Any]) -> Any:
    """Parse a number, or return what the text refers to."""
    try:
        return float(text)
    except ValueError:
        return get_column(text)
