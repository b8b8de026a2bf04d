"""The option of what systems cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import texts

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = "or a number for the whole system. "
_MORE = (
    "Reported beside the measures, and drawn against the first of them with the Pareto front. "
    "Repeatable; one system goes without its name."
)

cost_option = texts(
    "--cost",
    "NAME=[SYSTEM:]COL|NUMBER,…",
    "What systems cost, as in 'latency (ms)=old:ms_old,new:ms_new' or 'price=old:1,new:2.5': the "
    f"column of what each row costs, {_NUMBER}{_MORE}",
)

topic_cost_option = texts(
    "--cost",
    "NAME=[RUN:]FILE|COL|NUMBER,…",
    "What runs cost, as in 'latency (ms)=bm25:bm25.ms,dense:dense.ms' or 'index (GB)=bm25:1.2,"
    "dense:24': a file with a topic and its cost in each line (or a table of them; of several runs "
    f"one with a column for each), a column of --topic-table, {_NUMBER}{_MORE}",
)


def read_costs(specs: Sequence[str], found: Callable[[str], Any]) -> dict[str, Any] | None:
    """The keyword of a verb that the options stand for; ``found`` is what stands for a text that
    is no number."""
    made: dict[str, Any] = {}
    for spec in specs:
        name, equals, rest = spec.partition("=")
        if not (name and equals and rest):
            raise click.UsageError(
                f"--cost {spec!r}: expected a name and what each system costs, as in "
                "'latency=old:ms_old,new:ms_new'"
            )
        value = _of_systems(spec, rest, found) if ":" in rest else _value(rest, found)
        before = made.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = {**before, **value}
        elif before is not None:
            raise click.UsageError(f"--cost {spec!r}: {name!r} was given already")
        made[name] = value
    return made or None


def _of_systems(spec: str, text: str, found: Callable[[str], Any]) -> dict[str, Any]:
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
    """A number, or what else the text stands for."""
    try:
        return float(text)
    except ValueError:
        return found(text)


def cost_columns(
    specs: Sequence[str], rows: pa.Table, where: str, systems: Any = None
) -> dict[str, Any] | None:
    """Of columns of a table; where each system has a table of its own, of these."""
    from calipers.data.tables import column

    if systems is not None and systems.tables:
        return read_costs(specs, lambda name: systems.joined(name, "cost"))
    return read_costs(specs, lambda name: column(rows, name, where))
