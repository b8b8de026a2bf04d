"""The slices of an evaluation as its page has them."""

from __future__ import annotations

from typing import Any

from calipers.report import numbers
from calipers.report.names import short
from calipers.report.rows import arrow, definitions_of
from calipers.report.slices import (
    MOST_ON_A_PAGE,
    WITHIN_P,
    left_out_text,
    p_label,
    slice_groups,
    within_left_out_text,
    within_rows,
)
from calipers.report.whiskers import whiskers
from calipers.results import Evaluation


def slice_tables(evaluation: Evaluation) -> dict[str, Any] | None:
    """The slices by the column that cuts them, measure by measure."""
    slices = evaluation.slices
    if slices is None:
        return None
    groups, left_out = slice_groups(slices, MOST_ON_A_PAGE)
    columns: dict[str, list[dict[str, Any]]] = {}
    for group in groups:
        definition = definitions_of(evaluation).get(group.name)
        estimates = [row.of.estimate for row in group.rows]
        ends, drawn = whiskers(estimates, definition, evaluation.systems)
        columns.setdefault(group.column, []).append(
            {
                "measure": group.measure,
                "arrow": arrow(definition),
                "told_apart": group.told_apart,
                "tested": group.tested,
                "ends": ends,
                "rows": list(zip(group.rows, drawn, strict=True)),
                "remarks": any(row.remarks for row in group.rows),
            }
        )
    share = MOST_ON_A_PAGE // max(1, len(slices.columns))
    tables = {short(name): within_rows(slices, name, share).values() for name in slices.columns}
    within = {
        name: [(rows, any(row.of.remarks for row in rows)) for rows in own]
        for name, own in tables.items()
        if own
    }
    shown = sum(len(rows) for own in tables.values() for rows in own)
    return {
        "columns": columns,
        "unit": slices.unit,
        "within": within,
        "within_left_out": within_left_out_text(len(slices.differences) - shown),
        "level": numbers.percent(slices.level),
        "p": p_label(slices),
        "within_p": WITHIN_P,
        "left_out": left_out_text(left_out) if left_out else "",
    }
