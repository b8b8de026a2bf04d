"""Every pair of many systems, for a reader of a page to choose from."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from calipers.report import numbers
from calipers.report.grouping import grouped
from calipers.report.headlines import systems_of
from calipers.report.names import labels, short
from calipers.report.verdict import Outcome, outcome, pairs
from calipers.results import Comparison, Difference

_VERDICTS = tuple(Outcome)
#: p-values are whole numbers of this many decimals.
_OF_P = 4


def every_pair(comparison: Comparison) -> str:
    """The data of which the page's script makes tables, as JSON: numbers are whole, so many of
    their digits stand behind the point; a verdict is its place among the words."""
    systems = systems_of(comparison)
    place = {name: i for i, name in enumerate(systems)}
    of_pairs = list(pairs(comparison))
    data = {
        "systems": list(labels(systems).values()),
        "pairs": [(place[a], place[b]) for a, b in of_pairs],
        "verdicts": [verdict.value for verdict in _VERDICTS],
        "measures": {
            short(measure): _columns(own, of_pairs)
            for measure, own in grouped(comparison, lambda d: d.measure).items()
        },
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _columns(own: Sequence[Difference], of_pairs: Sequence[tuple[str, str]]) -> list[Any]:
    """Decimals, values, low and high limits, p-values and verdicts, pair by pair; and what is known
    of a margin."""
    digits = numbers.rounding(((d.value, d.low, d.high) for d in own), keep_sign=True)
    decimals = 12 if digits.scientific else digits.decimals
    found = {(d.system, d.baseline): d for d in own}
    missing = Difference(own[0].measure, "", "", numbers.NAN)
    rows = [found.get(pair, missing) for pair in of_pairs]
    return [
        decimals,
        *([_whole(getattr(d, of), decimals) for d in rows] for of in ("value", "low", "high")),
        [_whole(d.p_adjusted, _OF_P) for d in rows],
        [_VERDICTS.index(outcome(d)) for d in rows],
        *_of_margin(rows),
    ]


def _of_margin(rows: Sequence[Difference]) -> list[Any]:
    """The margin, where one was stated, and the p-values of being worse by less and of differing by
    less."""
    stated = [d.margin for d in rows if not math.isnan(d.margin)]
    if not stated:
        return []
    return [
        stated[0],
        *([_whole(getattr(d, p), _OF_P) for d in rows] for p in ("p_not_inferior", "p_equivalent")),
    ]


def _whole(x: float, decimals: int) -> int | None:
    return round(x * 10**decimals) if math.isfinite(x) else None
