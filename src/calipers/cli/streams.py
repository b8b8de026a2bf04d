"""Options of tables that are read in batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase as fnmatch
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import DASH
from calipers.cli.options import stacked, text

if TYPE_CHECKING:
    from calipers.cli.systems import Systems

#: How rows may be read.
ENGINES = ("memory", "stream")

_STDIN = (DASH, "/dev/stdin")

#: Options that need all rows, by what they are called where they are taken.
_OF_ALL_ROWS = {
    "cost": "--cost",
    "count": "--count",
    "slices": "--slice",
    "slice_bins": "--slice-bins",
    "cells": "--cells",
    "cutoffs": "--cutoffs",
    "quantiles": "--quantiles",
}

engine_options = stacked(
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        help="Have all rows in memory, or read TABLE in batches: a file of any size, a directory "
        "or a pattern such as 'day-*.parquet'.  [default: stream where the columns would not fit]",
    ),
    text(
        "--memory", "SIZE", "Memory that may be taken, as in 2GB.  [default: half of what is free]"
    ),
)


def is_stream(table: str, truth: str, systems: Systems, options: dict[str, Any]) -> bool:
    """Whether the table is to be read in batches."""
    from calipers.evaluate.stream_columns import in_batches

    if options["engine"] is None and table in _STDIN:
        return False  # nobody knows how large it is
    specs = [truth, *(spec for of in systems.columns.values() for spec in of)]
    specs += [options[key] for key in ("weight", "cluster") if options.get(key)]
    columns = _there(table, specs) if options["engine"] is None else []
    return in_batches(options["engine"], options["memory"], table, columns)


def _there(table: str, specs: Sequence[str]) -> list[str]:
    """The columns of a file that are meant; what is none of its columns is told where it is
    read."""
    from calipers.data.streams import Stream

    if not os.path.isfile(table):  # noqa: PTH113
        return []
    names, found = Stream.of(table).names, []
    for spec in specs:
        several = [spec] if spec in names else spec.rpartition("=")[2].split(",")
        for column in several:
            found += [name for name in names if fnmatch(name, column) or name == column]
    return found


def by_name(
    table: str,
    systems: Systems,
    options: dict[str, Any],
    labels: Sequence[str] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """What a verb takes of a stream: the columns by their names."""
    from calipers.data.columns import system_name
    from calipers.data.streams import Stream

    if systems.tables:
        raise click.UsageError("--system joins tables by their ids, which takes --engine memory")
    for key, option in _OF_ALL_ROWS.items():
        if options.get(key) or others.get(key):
            raise click.UsageError(f"{option} takes all rows in memory: --engine memory")
        options.pop(key, None)
    options["engine"] = "stream"
    # A file behind it is read from where it stands, and has no extension.
    stream = Stream.of(DASH if table in _STDIN else table)
    made: dict[str, Any] = {"data": stream, "inputs": ()}
    for kind, specs in systems.columns.items():
        found: dict[str, Any] = {}
        for spec in specs:
            name, equals, column = spec.partition("=")
            if not equals or spec in stream.names:
                name, column = system_name(spec), spec
            found[name] = _of_classes(column, labels, stream.names)
        if found:
            made[kind] = found
    return made


def _of_classes(columns: str, labels: Sequence[str] | None, names: Sequence[str]) -> Any:
    """One column, or those of the classes in their order."""
    parts = columns.split(",")
    if len(parts) == 1 or columns in names:
        return columns
    if labels is None or len(labels) != len(parts):
        raise click.UsageError(f"{columns}: {len(parts)} columns go with as many --labels")
    return dict(zip(labels, parts, strict=True))
