"""The table of labels or clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.report import numbers
from calipers.report.columns import aligned
from calipers.report.names import labels as told_apart
from calipers.report.names import short
from calipers.results.labels import COUNTED

if TYPE_CHECKING:
    from calipers.results import LabelTable

#: More labels than these make no table in a text.
MOST_LABELS = 50
_LABEL = 24


def grid(table: LabelTable) -> tuple[list[str], list[list[str]]]:
    """The head of the table, and its rows; a row begins with its label."""
    names = list(told_apart(table.labels, _LABEL).values())
    counted = (table.truth, *table.counts.values())
    columns = [names, *(list(map(numbers.sizes(column), column.tolist())) for column in counted)]
    digits = numbers.Rounding(2)
    for name, values in table.values.items():
        low, high = table.low[name], table.high[name]
        columns.append(
            [
                "" if np.isnan(v) else digits.triple(float(v), float(a), float(b))
                for v, a, b in zip(values, low, high, strict=True)
            ]
        )
    head = [table.of, COUNTED[table.of], *map(short, (*table.heads, *table.values))]
    return head, [list(row) for row in zip(*columns, strict=True)]


def text_table(table: LabelTable, width: int | None = None) -> str:
    """The table in columns of plain text, no wider than ``width`` where that can be."""
    head, rows = grid(table)
    return aligned(head, rows, width)


def caption(table: LabelTable) -> str:
    """What the table holds."""
    labels = numbers.count(len(table.labels), "labels")
    parts = [
        {
            "label": f"{labels}; rows: how many have the label.",
            "class": f"{numbers.count(len(table.labels), 'classes')}, each against the rest; rows: "
            "how many are of the class. PPV is the precision.",
            "cluster": "Points: how many are in the cluster; then those of each class, and means.",
            "rater": "Ratings of each rater, in all and as each category; and the value of all "
            "other raters without this one.",
            "pair": "Items: how many both raters rated.",
        }[table.of]
    ]
    if any((low == low).any() for low in table.low.values()):
        parts.append(
            f"{numbers.percent(table.level)} intervals of each {table.of} by itself; with many "
            f"{plural(table)} some of them miss."
        )
    return " ".join(parts)


def plural(table: LabelTable) -> str:
    """What the rows of the table are."""
    return "classes" if table.of == "class" else f"{table.of}s"
