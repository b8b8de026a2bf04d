"""What rows cost: lognormal, as latencies are, of two systems that share half of the variance."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import calipers as cal
from worlds.world import Evaluate, Random, World

#: How far logarithms of costs are spread.
SIGMAS = (0.5, 1.0)
SIZES = (20, 100, 500)
#: The second system costs so many times as much.
TIMES = 1.3
MEASURES = ("mean-cost[ms]", "median-cost[ms]", "p95-cost[ms]")


def _quantities(sigma: float, times: float = 1.0) -> dict[str, float]:
    of = stats.lognorm(sigma, scale=times)
    return dict(zip(MEASURES, map(float, (of.mean(), of.median(), of.ppf(0.95))), strict=True))


def _drawn(random: Random, rows: int, sigma: float) -> dict[str, Any]:
    both = random.normal(size=rows)
    own = random.normal(size=(2, rows))
    made = np.exp(sigma * (both + own) / np.sqrt(2)) * np.array([[1.0], [TIMES]])
    return {"a": made[0], "b": made[1]}


def _costs(rows: int, costs: dict[str, Any], **how: Any) -> Any:
    """The evaluation of the costs of as many systems as there are."""
    right = np.ones(rows)
    ev = cal.from_values(dict.fromkeys(costs, right), measure="accuracy", cost={"ms": costs}, **how)
    return ev.costs


def costs(rows: int, sigma: float) -> World:
    """The costs of one system."""

    def draw(random: Random) -> Evaluate:
        return partial(_costs, rows, {"a": _drawn(random, rows, sigma)["a"]})

    return World(
        kind="costs",
        design=f"lognormal, σ = {sigma:g}",
        size=f"{rows} rows",
        found=partial(_quantities, sigma),
        draw=draw,
        large=rows >= 100,
        ways=("woodruff", "percentile", "t"),
        measures=MEASURES,
    )


def cost_pairs(rows: int, sigma: float) -> World:
    """The costs of two systems on the same rows."""

    def draw(random: Random) -> Evaluate:
        return partial(_costs, rows, _drawn(random, rows, sigma))

    def found() -> dict[str, float]:
        a, b = _quantities(sigma), _quantities(sigma, TIMES)
        return {name: b[name] - a[name] for name in a}

    return World(
        kind="pairs",
        design=f"costs, lognormal, σ = {sigma:g}",
        size=f"{rows} rows",
        found=found,
        draw=draw,
        large=rows >= 100,
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [make(rows, sigma) for make in (costs, cost_pairs) for sigma in SIGMAS for rows in SIZES]
