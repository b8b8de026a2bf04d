"""Chart of a leaderboard: ratings with their intervals."""

from __future__ import annotations

import math

from calipers.report import leaderboard, numbers
from calipers.report.blocks import Table
from calipers.report.figures import vega
from calipers.report.figures.figure import Figure
from calipers.report.safe_names import unique_labels
from calipers.results import Leaderboard

_WIDTH, _ROW_HEIGHT = 460, 20
#: The largest number of systems in the chart; more are in the table.
MOST_SYSTEMS = 60


def figure(board: Leaderboard) -> Figure:
    """Return the chart of the ratings, best first."""
    rated = board.rated[:MOST_SYSTEMS]
    labels = unique_labels((row.system for row in rated), vega.MAX_LABEL_LENGTH)
    digits = numbers.rounding((r.rating.value, r.rating.low, r.rating.high) for r in rated)
    rows = []
    for row in rated:
        low, high = (
            row.rating.value if math.isnan(limit) else limit
            for limit in (row.rating.low, row.rating.high)
        )
        text = leaderboard.format_rating(row.rating, digits)
        rows.append(
            {
                "system": labels[row.system],
                **vega.limits(row.rating.value, low, high),
                "text": text,
                "rank": f"{row.rank_low} to {row.rank_high}",
            }
        )
    scale = vega.padded_scale(rows)
    y = vega.category("system", title=None)
    x = vega.quantity("value", title="Elo", scale=scale, axis={"format": "d", "tickCount": 6})
    tips = vega.tooltip(("system", "system"), ("text", "Elo"), ("rank", "rank"))
    whisker = vega.layer(
        rows, vega.rule(strokeWidth=2), y=y, x={**x, "field": "low"}, x2={"field": "high"}
    )
    dots = vega.layer(rows, vega.dot(color=vega.color(0)), y=y, x=x, tooltip=tips)
    table = Table(leaderboard.columns(board))
    omitted = len(board.rated) - len(rated)
    caption = f"Whiskers: {numbers.format_percent(board.level)} CIs of each rating."
    if omitted:
        caption += f" {omitted} systems with lower ratings are in the table."
    return Figure(
        title="Ratings",
        kind="leaderboard",
        alt_text=" ".join(leaderboard.sentences(board)),
        caption=caption,
        spec=vega.assemble_spec(
            width=_WIDTH, height=_ROW_HEIGHT * len(rows), layer=[whisker, dots]
        ),
        header=tuple(column.name for column in table.text_columns),
        rows=tuple(table.rows),
    )
