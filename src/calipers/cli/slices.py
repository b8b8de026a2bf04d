"""Options of rows that come in parts: clusters and slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa

Command = Callable[..., None]


def part_options(command: Command) -> Command:
    """``--cluster-by``, ``--slice`` and ``--slice-bins``, whose columns :func:`part_columns`
    finds."""
    options = [
        click.option(
            "--cluster-by",
            "cluster",
            metavar="COL",
            help="Column of what the rows come from: users, patients, sites.",
        ),
        click.option(
            "--slice",
            "slices",
            multiple=True,
            metavar="COL",
            help="Column to cut the rows by: every measure on each part, and its difference to "
            "the rest. Repeatable; 'age*site' crosses two columns.",
        ),
        click.option(
            "--slice-bins",
            multiple=True,
            metavar="COL=X,Y,…",
            help="Where to cut a column of numbers, rather than at its quartiles; repeatable.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def part_columns(
    rows: pa.Table,
    where: str,
    cluster: str | None,
    slices: Sequence[str],
    slice_bins: Sequence[str],
) -> dict[str, Any]:
    """The keywords of an evaluation that the options stand for."""
    from calipers.data.tables import column

    return {
        "cluster": None if cluster is None else column(rows, cluster, where),
        "slices": {text: _crossed(text, rows, where) for text in slices} or None,
        "slice_bins": dict(map(_bins, slice_bins)) or None,
    }


def _bins(text: str) -> tuple[str, list[float]]:
    """The column and the numbers of ``age=40,65``."""
    name, _, numbers = text.rpartition("=")
    try:
        return name, [float(number) for number in numbers.split(",")]
    except ValueError:
        raise click.UsageError(
            f"--slice-bins {text!r}: expected a column and numbers, as in age=40,65"
        ) from None


def _crossed(text: str, rows: pa.Table, where: str) -> Any:
    """The column to cut by, or those of ``age*site``."""
    from calipers.data.tables import column

    if text in rows.column_names or "*" not in text:
        return column(rows, text, where)
    return tuple(column(rows, part.strip(), where) for part in text.split("*"))
