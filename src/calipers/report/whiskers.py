"""Intervals as a page draws them beside their numbers, on the scale of their measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from calipers.report import numbers
from calipers.report.figures.vega import color
from calipers.results import Definition, Estimate

_WIDTH = 150  # in the units of the view box
_MARGIN = 6

#: Where a drawn scale begins and ends.
Domain = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Whisker:
    """One interval drawn on the scale of its measure; positions in the units of the view box. The
    last of those that share a scale says where it ``ends``."""

    at: str
    low: str
    high: str
    default: str
    possible: tuple[str, str] | None
    color: str
    ends: tuple[str, str] | None = None


def whiskers(
    estimates: Sequence[Estimate], definition: Definition | None, systems: Sequence[str]
) -> list[Whisker | None]:
    """The intervals of some estimates on one scale; None where there is none to draw."""
    domain = _domain(estimates, definition)
    if domain is None:
        return [None] * len(estimates)
    # Two digits of the span say where the scale ends; the exact numbers stand beside it.
    decimals = max(0, min(6, 1 - math.floor(math.log10(domain[1] - domain[0]))))
    if all(float(x).is_integer() for x in domain):
        decimals = 0
    low, high = map(numbers.Rounding(decimals), domain)
    made = [_whisker(e, domain, systems) for e in estimates]
    last = max((i for i, one in enumerate(made) if one is not None), default=None)
    return [
        replace(one, ends=(low, high)) if one is not None and i == last else one
        for i, one in enumerate(made)
    ]


def _domain(estimates: Sequence[Estimate], definition: Definition | None) -> Domain | None:
    """What a drawn scale spans.

    One system is placed within all that the measure could be; several are spread over what they
    cover, so that they can be told from one another.
    """
    seen = [x for e in estimates for x in (e.value, e.low, e.high, e.possible_low, e.possible_high)]
    if len(estimates) == 1:
        if definition is not None and None not in definition.range:
            seen += [x for x in definition.range if x is not None]
        seen.append(estimates[0].default)
    finite = [x for x in seen if math.isfinite(x)]
    if not finite or min(finite) == max(finite):
        return None
    return min(finite), max(finite)


def _whisker(e: Estimate, domain: Domain, systems: Sequence[str]) -> Whisker | None:
    if not math.isfinite(e.value):
        return None

    def place(x: float) -> str:
        share = (min(max(x, domain[0]), domain[1]) - domain[0]) / (domain[1] - domain[0])
        return f"{_MARGIN + share * (_WIDTH - 2 * _MARGIN):.1f}"

    low, high = (e.low, e.high) if e.has_interval else (e.value, e.value)
    return Whisker(
        at=place(e.value),
        low=place(low),
        high=place(high),
        default=place(e.default) if domain[0] <= e.default <= domain[1] else "",
        possible=(place(e.possible_low), place(e.possible_high)) if e.possible else None,
        color=color(systems.index(e.system)),
    )
