"""Values of units dealt out anew to the systems: how many deals there are, and what they say."""

from __future__ import annotations

import math

from calipers.statistics import FloatArray, IntArray


def number(units: int, systems: int, replicates: int) -> tuple[int, bool]:
    """How many deals are tried, and whether they are all there are: (k!)ⁿ, where these are no more
    than the replicates."""
    every = math.factorial(systems) ** units if units * systems <= 64 else math.inf
    return (int(every), True) if every <= replicates else (replicates, False)


def share(extreme: IntArray, tried: int, *, exact: bool) -> FloatArray:
    """The p-values of as many extreme deals. One that was drawn at random counts beside the one
    that was seen."""
    seen = 0 if exact else 1
    return (extreme + seen) / (tried + seen)


def rank(alpha: float, tried: int, *, exact: bool) -> int:
    """Which deal from the extreme end has the largest p-value of at most ``alpha``; 0 for none."""
    seen = 0 if exact else 1
    return math.floor(round(alpha * (tried + seen) - seen, 9))
