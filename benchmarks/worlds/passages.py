"""Passages retrieved from articles of which assessors highlighted some text, as at INEX."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import calipers as cal
from worlds.world import Evaluate, Random, World

#: How many topics have the true values.
TRUTH_TOPICS = 10_000


def _rows(random: Random, topics: int, extra: tuple[float, ...]) -> tuple[list[str], Any]:
    """Topics of 1 to 15 relevant articles among 20, highlighted in one place; systems retrieve from
    each some text near it, and order articles by noisy scores. `extra` is the noise of each beyond
    that of the first."""
    judgments: list[str] = []
    runs: dict[str, list[str]] = {f"s{k}": [] for k in range(len(extra))}
    for topic in range(topics):
        hard = random.normal()
        relevant = random.permutation(20) < 1 + random.binomial(14, random.beta(1, 3))
        length = np.ceil(random.lognormal(7.5, 0.8, 20)).astype(int) + 50
        size = np.maximum(1, (length * random.beta(1, 3, 20)).astype(int))
        offset = (random.random(20) * (length - size)).astype(int)
        for article in range(20):
            text, at = size[article] * relevant[article], offset[article]
            entry = f"{at} {at}:{text}" if text else "-1"
            judgments.append(f"{topic} Q0 a{article} {text} {length[article]} {entry}")
        for (name, lines), noise in zip(runs.items(), extra, strict=True):
            score = 1.2 * relevant + (1 + noise) * random.normal(size=20) - 0.3 * hard * relevant
            start = np.clip(
                offset + length * random.normal(0, 0.1 + 0.1 * noise, 20), 0, length - 2
            )
            stop = np.clip(start + size * random.lognormal(0, 0.5, 20), start + 1, length)
            retrieved = np.argsort(-score)[: random.integers(8, 16)]
            lines += [
                f"{topic} Q0 a{a} {rank} {-rank} {name} {int(start[a])} "
                f"{max(1, int(stop[a]) - int(start[a]))}"
                for rank, a in enumerate(retrieved, 1)
            ]
    return judgments, runs


@cache
def _truth(extra: float) -> Mapping[str, float]:
    """Means of very many topics."""
    found = cal.passages(*_rows(np.random.default_rng(0), TRUTH_TOPICS, (extra,)), interval="none")
    return {e.measure: e.value for e in found}


def passages(topics: int) -> World:
    """One system."""

    def draw(random: Random) -> Evaluate:
        return partial(cal.passages, *_rows(random, topics, (0.0,)))

    return World(
        "passages", "one system", f"{topics} topics", partial(_truth, 0.0), draw, topics >= 25
    )


def pairs(topics: int, extra: float) -> World:
    """Two systems, as good as each other or the second worse."""

    def truth() -> Mapping[str, float]:
        second, first = _truth(extra), _truth(0.0)
        return (
            {name: second[name] - first[name] for name in first}
            if extra
            else dict.fromkeys(first, 0.0)
        )

    def draw(random: Random) -> Evaluate:
        return partial(cal.passages, *_rows(random, topics, (0.0, extra)))

    design = "two systems, the second worse" if extra else "two systems alike"
    return World("passages", design, f"{topics} topics", truth, draw, topics >= 25)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(passages(n) for n in (10, 25, 50, 100)),
        *(pairs(n, extra) for n in (25, 50) for extra in (0.0, 0.5)),
    ]
