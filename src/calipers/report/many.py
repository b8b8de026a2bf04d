"""What a page has of many systems: their ranking, and every pair for a reader to choose from."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from calipers.report import numbers
from calipers.report.grouping import grouped
from calipers.report.headlines import of_primary, systems_of
from calipers.report.names import labels, short
from calipers.report.verdict import Outcome, outcome, pairs
from calipers.report.wide import (
    CONSTANT,
    is_of_many,
    is_ranked,
    of_evaluation,
    of_many,
    ordered,
    primary_of,
)
from calipers.results import Comparison, Difference, Evaluation

if TYPE_CHECKING:
    from markupsafe import Markup

_VERDICTS = tuple(Outcome)
#: p-values are whole numbers of this many decimals.
_OF_P = 4


def ranking(
    evaluation: Evaluation, groups: Callable[[Evaluation, Sequence[str]], Any]
) -> dict[str, Any] | None:
    """Many systems in the order of the primary measure, a column a measure; ``groups`` draws the
    intervals of some measures."""
    if not is_ranked(evaluation):
        return None
    made, primary = of_evaluation(evaluation), primary_of(evaluation)
    drawn = {
        row.estimate.system: whisker
        for group in groups(evaluation, [primary])
        for row, whisker in group["rows"]
    }
    whiskers = map(drawn.get, ordered(evaluation))
    return {
        "measures": made.measures,
        "rows": list(zip(made.names, made.cells, whiskers, strict=True)),
        "primary": short(primary),
        "said": " ".join(made.said("The best values are bold.")),
        "remarks": made.remarks,
        "below": [(name.replace(CONSTANT, CONSTANT.capitalize()), row) for name, row in made.below],
        "drawn": True,
        "ids": (),
    }


def comparison_ranking(comparison: Comparison) -> dict[str, Any] | None:
    """Many systems of which every pair was compared, in the order of their lead."""
    if not len(comparison) or not is_of_many(comparison):
        return None
    made = of_many(comparison)
    return {
        "measures": made.measures,
        "rows": [(name, cells, None) for name, cells in zip(made.names, made.cells, strict=True)],
        "primary": short(of_primary(comparison)[0].measure),
        "said": " ".join(made.said("")),
        "remarks": made.remarks,
        "below": (),
        "drawn": False,
        "ids": (),
    }


def every_pair(comparison: Comparison) -> dict[str, Any]:
    """The data of which the page's script makes tables: numbers are whole, so many of their digits
    stand behind the point; a verdict is its place among the words."""
    from markupsafe import Markup

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
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Data in a script element, which no "<" can end.
    made: Markup = Markup(text.replace("<", "\\u003c"))
    return {"number": f"{len(of_pairs):,}", "json": made}


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
