"""Topics with several rankings, or whose documents are in groups."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

import numpy as np

import calipers as cal
from calipers.statistics import GroupedRankings, RankingSeries
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


FAIRNESS = ("AWRF", "AWRF-nDCG")
GROUPS = ("A", "B", "C")


def _grouped(random: Random) -> tuple[list[str], dict[str, dict[str, int]]]:
    """A ranking, and the grades of its pool by group, of which topics have unequal shares."""
    [ranking], grades = _topic(random, 1, 1)
    of_document = random.choice(GROUPS, POOL, p=random.dirichlet((4, 2, 1)))
    groups = zip(grades, of_document.tolist(), strict=True)
    by_group: dict[str, dict[str, int]] = {}
    for document, group in groups:
        by_group.setdefault(group, {})[document] = grades[document]
    return ranking, by_group


@cache
def _fairness_means() -> Mapping[str, float]:
    random = np.random.default_rng(2027)
    topics = [_grouped(random) for _ in range(MANY)]
    statistic = GroupedRankings.from_rankings(*map(list, zip(*topics, strict=True)))
    return {name: float(np.nanmean(cal.measure(name).apply(statistic))) for name in FAIRNESS}


def fairness(number: int) -> World:
    """One system; three groups of documents."""

    def draw(random: Random) -> Evaluate:
        topics = [_grouped(random) for _ in range(number)]
        qrels = {f"t{t}": groups for t, (_, groups) in enumerate(topics)}
        run = {
            f"t{t}": {d: -float(rank) for rank, d in enumerate(ranking)}
            for t, (ranking, _) in enumerate(topics)
        }
        return partial(cal.retrieval, qrels, run, measures=FAIRNESS)

    return World(
        kind="topics",
        design="three groups of documents",
        size=f"{number} topics",
        found=_fairness_means,
        draw=draw,
        large=number >= 25,
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    sizes = (25, 50, 100)
    return [*(series(n, word) for word in DESIGNS for n in sizes), *map(fairness, sizes)]
