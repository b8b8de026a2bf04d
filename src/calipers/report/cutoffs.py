"""The table of cut-offs."""

from __future__ import annotations

import math

from calipers.report import numbers
from calipers.report.names import short
from calipers.report.tables import KEY, NUMBER, NUMBERS, VALUE, Column
from calipers.results import Cutoffs, CutoffTable


def columns(made: Cutoffs, own: CutoffTable) -> list[Column]:
    """A row a cut-off: how many rows are above it, and each measure with its interval."""
    sizes = numbers.sizes(own.above)
    out = [
        Column("cut-off", KEY, [f"{x:.6g}" for x in own.cutoffs.tolist()], VALUE),
        Column("rows above", NUMBER, list(map(sizes, own.above.tolist()))),
    ]
    for name, values in own.values.items():
        triples = list(
            zip(values.tolist(), own.low[name].tolist(), own.high[name].tolist(), strict=True)
        )
        # Each row with its own digits: likelihood ratios go from hundreds to thousandths.
        cells = [
            numbers.UNDEFINED if math.isnan(t[0]) else numbers.single(*t).triple(*t)
            for t in triples
        ]
        out.append(Column(short(made.name_of(name)), NUMBERS, cells))
    return out


def caption(made: Cutoffs) -> str:
    """What the table holds."""
    methods: dict[str, list[str]] = {}
    for name, method in (pair for own in made for pair in own.methods.items()):
        methods.setdefault(method, []).append(short(made.name_of(name)))
    how = "; ".join(f"{short(way)}: {', '.join(dict.fromkeys(of))}" for way, of in methods.items())
    level = numbers.percent(made.level)
    intervals = f"{level} intervals ({how}) are of each cut-off by itself, " * bool(how)
    return (
        f"A score at or above the cut-off is positive. {intervals}"
        f"{'taken' if how else 'Each is taken'} as one that was fixed before these rows were seen."
    )
