"""Options of what each row counts for, and of the parts that rows come in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calipers.cli.costs import cost_columns, read_costs, topic_cost_option
from calipers.cli.files import InFile
from calipers.cli.options import stacked, text, texts

if TYPE_CHECKING:
    import pyarrow as pa

_slice_bins = texts(
    "--slice-bins",
    "COL=X,Y,…",
    "Where to cut a column of numbers, rather than at its quartiles; repeatable.",
)

row_options = stacked(
    text("--weight", "COL", "Column of weights."),
    text(
        "--count",
        "COL",
        "Column of how many rows each row stands for: one of count 20 is the same as that row 20 "
        "times.",
    ),
)

slice_options = stacked(
    texts(
        "--slice slices",
        "COL",
        "Column to cut the rows by: every measure on each part, and its difference to the rest. "
        "Repeatable; 'age*site' crosses two columns.",
    ),
    _slice_bins,
)

part_options = stacked(
    text(
        "--cluster-by cluster",
        "COL",
        "Column of what the rows come from: users, patients, sites.",
    ),
    slice_options,
)

time_option = text(
    "--time",
    "COL",
    "Column of the time of each row; where neighbours in time err alike, intervals and tests allow "
    "for it.",
)


group_options = stacked(
    text("--weight", "COL", "Column of what groups count for in means; 0 for none."),
    texts(
        "--slice slices",
        "COL",
        "Column to cut the groups by, with one value for each: every mean on each part, and its "
        "difference to the rest. Repeatable; 'type*length' crosses two columns.",
    ),
    _slice_bins,
)

topic_options = stacked(
    text(
        "--topic-table",
        "FILE",
        "A table with a row a topic: a column topic, qid or query_id, and what else is known.",
        type=InFile(),
    ),
    text("--weight", "COL", "Column of --topic-table: what topics count for in means; 0 for none."),
    texts(
        "--slice slices",
        "COL",
        "Column of --topic-table to cut the topics by: every mean on each part, and its difference "
        "to the rest. Repeatable; 'type*length' crosses two columns.",
    ),
    _slice_bins,
    topic_cost_option,
)


def topic_columns(options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of an evaluation of topics, which are taken out of the options."""
    table, named = options.pop("topic_table"), bool(options["slices"] or options["weight"])
    costs = read_costs(options.pop("cost"), str)
    if table and not (named or costs):
        raise click.UsageError(
            "--topic-table is there for --weight, --slice or --cost; none of them is given"
        )
    if named and not table:
        raise click.UsageError("--weight and --slice name columns of --topic-table: give it, too")
    return {"topic_table": table, "cost": costs, **named_slices(options)}


def named_slices(options: dict[str, Any]) -> dict[str, Any]:
    """The names of the columns to cut by, which are taken out of the options."""
    slices, bins = (options.pop(key) for key in ("slices", "slice_bins"))
    return {"slices": list(slices) or None, "slice_bins": dict(map(_bins, bins)) or None}


def row_columns(
    rows: pa.Table, where: str, options: dict[str, Any], systems: Any = None
) -> dict[str, Any]:
    """The weights, counts, times and costs that the options name, which are taken out of them."""
    from calipers.data.tables import column

    named = {key: options.pop(key) for key in ("weight", "count", "time") if key in options}
    made: dict[str, Any] = {key: name and column(rows, name, where) for key, name in named.items()}
    if "cost" in options:
        made["cost"] = cost_columns(options.pop("cost"), rows, where, systems)
    return made


def part_columns(rows: pa.Table, where: str, options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of an evaluation that the options stand for, which are taken out of them."""
    from calipers.data.tables import column

    cluster = options.pop("cluster")
    named = {"cluster": None if cluster is None else column(rows, cluster, where)}
    return {**named, **slice_columns(rows, where, options)}


def slice_columns(rows: pa.Table, where: str, options: dict[str, Any]) -> dict[str, Any]:
    """The columns to cut by that the options name, which are taken out of them."""
    slices, bins = (options.pop(key) for key in ("slices", "slice_bins"))
    return {
        "slices": {text: _crossed(text, rows, where) for text in slices} or None,
        "slice_bins": dict(map(_bins, bins)) or None,
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
