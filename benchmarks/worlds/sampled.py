"""Judgments of a sample of each pool: what is estimated is what judging whole pools would give."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

import numpy as np
import numpy.typing as npt

import calipers as cal
from worlds.world import Evaluate, Random, World

Whole = npt.NDArray[np.int64]

MEASURES = ("statAP", "infNDCG@1000", "xinfAP", "HT-AP", "infP@10", "statP@10", "statRprec")
#: Sums over topics.
COUNTS = ("infNumRel", "infNumRelRet")

#: How many documents the strata of a pool have, and what share of each is relevant.
STRATA, SHARES = (10, 20, 30), (0.5, 0.2, 0.05)
POOL, DEPTH = sum(STRATA), 40
#: How many of each stratum are drawn.
DRAWN: Mapping[str, tuple[int, ...]] = {
    "46 of 60 judged": (10, 16, 20),
    "28 of 60 judged": (10, 8, 10),
    "25 of 60 judged": (5, 10, 10),
}
#: So many topics tell what the whole pools of all would give.
MANY = 40_000


def _topics(random: Random, number: int) -> tuple[Whole, Whole]:
    """The grades of pools, and the order in which a run retrieves their documents."""
    relevant = random.random((number, POOL)) < np.repeat(SHARES, STRATA)
    grades = relevant * random.integers(1, 3, (number, POOL))
    grades[:, 0] = 1
    noise = random.normal(0, 1.5, (number, POOL))
    return grades, np.argsort(np.arange(POOL) / 15 - grades + noise, axis=1)[:, :DEPTH]


@cache
def whole_pools(topics: int) -> Mapping[str, float]:
    """Values with all judged: means over many topics, and counts of so many ``topics``."""
    grades, order = _topics(np.random.default_rng(2026), MANY)
    found = np.take_along_axis(grades, order, axis=1)
    hit, rank = found > 0, np.arange(1, DEPTH + 1)
    ap = (hit * np.cumsum(hit, axis=1) / rank).sum(axis=1) / (grades > 0).sum(axis=1)
    ideal = -np.sort(-grades, axis=1) / np.log2(np.arange(2, POOL + 2))
    ndcg = (found / np.log2(rank + 1)).sum(axis=1) / ideal.sum(axis=1)
    total = (grades > 0).sum(axis=1)
    r_precision = (hit * (rank <= total[:, np.newaxis])).sum(axis=1) / total
    return {
        **dict.fromkeys(("statAP", "xinfAP", "HT-AP"), float(ap.mean())),
        **dict.fromkeys(("infP@10", "statP@10"), float(hit[:, :10].mean())),
        "infNDCG@1000": float(ndcg.mean()),
        "statRprec": float(r_precision.mean()),
        "infNumRel": float(topics * total.mean()),
        "infNumRelRet": float(topics * hit.sum(axis=1).mean()),
    }


def _judged(random: Random, grades: Whole, drawn: tuple[int, ...]) -> dict[str, dict[str, int]]:
    """The strata of one pool, as judgments."""
    starts, made = np.cumsum([0, *STRATA]), {}
    for place, (size, number) in enumerate(zip(STRATA, drawn, strict=True)):
        own = np.full(size, -1)
        kept = random.choice(size, number, replace=False)
        own[kept] = grades[starts[place] : starts[place] + size][kept]
        documents = range(starts[place], starts[place] + size)
        made[str(place)] = {f"d{d}": int(g) for d, g in zip(documents, own, strict=True)}
    return made


def sampled(topics: int, word: str, systems: int = 1) -> World:
    """One run, or two that are alike."""

    def draw(random: Random) -> Evaluate:
        grades, first = _topics(random, topics)
        orders = [first]
        if systems == 2:  # the same documents, by another noise
            noise = random.normal(0, 1.5, grades.shape)
            orders.append(np.argsort(np.arange(POOL) / 15 - grades + noise, axis=1)[:, :DEPTH])
        judgments = {f"t{t}": _judged(random, of, DRAWN[word]) for t, of in enumerate(grades)}
        runs = {
            name: {
                f"t{t}": {f"d{d}": -float(place) for place, d in enumerate(of.tolist())}
                for t, of in enumerate(order)
            }
            for name, order in zip(("base", "new"), orders, strict=False)
        }
        return partial(cal.retrieval, judgments, runs, measures=(*MEASURES, *COUNTS))

    none = dict.fromkeys((*MEASURES, *COUNTS), 0.0)
    return World(
        kind="sampled",
        design=word if systems == 1 else f"{word}, two runs alike",
        size=f"{topics} topics",
        found=partial(whole_pools, topics) if systems == 1 else lambda: none,
        draw=draw,
        large=topics >= 25 and (systems == 2 or word.startswith("46")),
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(sampled(n, word) for word in DRAWN for n in (25, 50)),
        *(sampled(n, "25 of 60 judged", systems=2) for n in (25, 50)),
    ]
