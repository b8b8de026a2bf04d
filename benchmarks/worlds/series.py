"""Topics with several rankings: queries of sessions, and samples of a random ranker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

import numpy as np

import calipers as cal
from calipers.statistics import RankingSeries
from worlds.world import Evaluate, Random, World

#: Documents of a topic, all judged, and how many of them a ranking has.
POOL, DEPTH = 20, 10
#: Of each design the measures, and the fewest and most rankings of a topic.
DESIGNS: Mapping[str, tuple[tuple[str, ...], int, int]] = {
    "sessions of 1 to 4 queries": (("session-DCG@10", "nsDCG@10", "sRBP"), 1, 4),
    "two rankings of a topic": (("EE-L", "EE-R", "EE-D", "p-MRR"), 2, 2),
}
#: So many topics tell what all would give.
MANY = 20_000

Topic = tuple[list[list[str]], dict[str, int]]


def _topic(random: Random, low: int, high: int) -> Topic:
    """Rankings by a noisy score; topics differ in how many documents are relevant, and in noise."""
    relevant = random.random(POOL) < random.beta(2, 8)
    relevant[0] = True
    grades = relevant * random.integers(1, 4, POOL)
    noise = random.exponential(2.0)
    rankings = []
    for _ in range(random.integers(low, high + 1)):
        order = np.argsort(-grades + noise * random.normal(size=POOL))[:DEPTH]
        rankings.append([f"d{k:02}" for k in order])
    return rankings, {f"d{k:02}": int(grade) for k, grade in enumerate(grades)}


@cache
def _means(word: str) -> Mapping[str, float]:
    names, low, high = DESIGNS[word]
    random = np.random.default_rng(2026)
    topics = [_topic(random, low, high) for _ in range(MANY)]
    statistic = RankingSeries.from_rankings(*map(list, zip(*topics, strict=True)))
    return {name: float(np.nanmean(cal.measure(name).apply(statistic))) for name in names}


def series(number: int, word: str) -> World:
    """One system."""
    names, low, high = DESIGNS[word]

    def draw(random: Random) -> Evaluate:
        topics = [_topic(random, low, high) for _ in range(number)]
        qrels = {f"t{t}": grades for t, (_, grades) in enumerate(topics)}
        run = {
            f"t{t}/{place}": {d: -float(rank) for rank, d in enumerate(ranking)}
            for t, (rankings, _) in enumerate(topics)
            for place, ranking in enumerate(rankings, 1)
        }
        return partial(cal.retrieval, qrels, run, measures=names)

    return World(
        kind="topics",
        design=word,
        size=f"{number} topics",
        found=partial(_means, word),
        draw=draw,
        large=number >= 25,
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [series(n, word) for word in DESIGNS for n in (25, 50, 100)]
