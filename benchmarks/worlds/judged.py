"""A judge of all cases or topics, and human labels of some: rates, grades, means and differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import norm

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World

#: Of each judge of verdicts how often passes and failures pass.
JUDGES: Mapping[str, tuple[float, float]] = {
    "good judge": (0.95, 0.08),
    "lenient judge": (0.98, 0.45),
    "useless judge": (0.6, 0.6),
    "judge that errs once in 200": (0.995, 0.005),
}
#: The judges of grades and of topics, by the error that they add to a latent quality.
BLURS = {"good judge": 0.5, "poor judge": 1.5}
CUTS = norm.ppf([0.05, 0.15, 0.4, 0.7])


def verdicts(rate: float, judge: str, labels: int, cases: int, groups: int = 0) -> World:
    """A system that passes at this rate; with groups, in clusters of similar cases."""
    passing = np.array(JUDGES[judge][::-1])

    def draw(random: Random) -> Evaluate:
        latent = random.normal(size=cases)
        cluster = np.arange(cases) % groups if groups else None
        if groups:
            latent = np.sqrt(0.6) * latent + np.sqrt(0.4) * random.normal(size=groups)[cluster]
        right = (latent < norm.ppf(rate)).astype(int)
        judged = (random.random(cases) < passing[right]).astype(float)
        human = np.where(random.permutation(cases) < labels, right, np.nan)
        return partial(cal.scores, judged, human=human, cluster=cluster, measures=["pass-rate"])

    return World(
        kind="judged",
        design=f"passes of {rate:.0%}, {judge}" + (f", {groups} clusters" if groups else ""),
        size=f"{labels} labels of {cases:,} cases",
        found=lambda: {"pass-rate": rate},
        draw=draw,
        large=labels >= 50,
    )


def grades(judge: str, labels: int, cases: int) -> World:
    """Grades from 1 to 5, most of them high, as the judge's, which are a grade higher where wrong."""

    def grade(latent: Floats) -> Floats:
        return np.asarray(1.0 + np.digitize(latent, CUTS), np.float64)

    def draw(random: Random) -> Evaluate:
        quality = random.normal(size=cases)
        judged = grade(quality + 0.3 + BLURS[judge] * random.normal(size=cases))
        human = np.where(random.permutation(cases) < labels, grade(quality), np.nan)
        return partial(cal.scores, judged, human=human, score_range=(1, 5), measures=["mean-score"])

    shares = np.diff(np.concatenate([[0.0], norm.cdf(CUTS), [1.0]]))
    return World(
        kind="judged",
        design=f"grades 1 to 5, {judge}",
        size=f"{labels} labels of {cases:,} cases",
        found=lambda: {"mean-score": float(shares @ np.arange(1, 6))},
        draw=draw,
        large=labels >= 50,
    )


def no_difference(lenience: float, labels: int, cases: int) -> World:
    """Two equal systems, and a judge that passes more failures of the second one."""

    def draw(random: Random) -> Evaluate:
        ease = random.normal(size=cases)
        scores: dict[str, Floats] = {}
        human: dict[str, Floats] = {}
        chosen = random.permutation(cases) < labels
        for name, extra in (("base", 0.0), ("new", lenience)):
            right = 0.8 * ease + 0.6 * random.normal(size=cases) < norm.ppf(0.7)
            judged = random.random(cases) < np.where(right, 0.95, 0.15 + extra)
            scores[name] = judged.astype(float)
            human[name] = np.where(chosen, right, np.nan)
        return partial(cal.scores, scores, human=human, measures=["pass-rate"])

    return World(
        kind="pairs",
        design=f"passes, a judge that is {'' if lenience else 'not '}lenient to one",
        size=f"{labels} labels of {cases:,} cases",
        found=lambda: {"pass-rate": 0.0},
        draw=draw,
        large=labels >= 50,
    )


DOCUMENTS = 20


def _drawn_topics(random: Random, topics: int, blur: float) -> tuple[Floats, Floats]:
    """Relevance of the ranked documents of each topic, and the judge's opinion of it."""
    ease = 0.7 * random.normal(size=(topics, 1))
    quality = random.normal(size=(topics, DOCUMENTS)) + ease - 0.06 * np.arange(DOCUMENTS) - 0.3
    opinion = quality + blur * random.normal(size=quality.shape)
    return (quality > 0).astype(float), (opinion > -0.1).astype(float)


@cache
def _true_means() -> dict[str, float]:
    """Means over very many topics."""
    relevant, _ = _drawn_topics(np.random.default_rng(0), 400_000, 0.0)
    gain = relevant / np.log2(np.arange(2, DOCUMENTS + 2))
    ideal = np.cumsum(1 / np.log2(np.arange(2, DOCUMENTS + 2)))
    total = relevant.sum(axis=1).astype(int)
    best = ideal[np.clip(np.minimum(total, 10) - 1, 0, None)]
    ndcg = np.where(total > 0, gain[:, :10].sum(axis=1) / best, 0.0)
    ranks = np.where(relevant.any(axis=1), 1 / (relevant.argmax(axis=1) + 1), 0.0)
    return {"nDCG@10": float(ndcg.mean()), "RR": float(ranks.mean())}


def topics(judge: str, labels: int, number: int) -> World:
    """Rankings of documents whose relevance people judged for some of the topics."""

    def draw(random: Random) -> Evaluate:
        relevant, judged = _drawn_topics(random, number, BLURS[judge])
        chosen = np.sort(random.permutation(number)[:labels])

        def qrels(table: Floats, rows: Any) -> dict[str, dict[str, int]]:
            return {f"q{t}": {f"d{d}": int(x) for d, x in enumerate(table[t])} for t in rows}

        ranked = {f"d{d}": -float(d) for d in range(DOCUMENTS)}
        run = {f"q{t}": ranked for t in range(number)}
        people, all_topics = qrels(relevant, chosen), qrels(judged, range(number))
        return partial(
            cal.retrieval,
            all_topics,
            run,
            human=people,
            measures=["nDCG@10", "RR"],
            undefined="zero",
        )

    return World(
        kind="judged",
        design=f"topics, {judge}",
        size=f"{labels} of {number} topics",
        found=_true_means,
        draw=draw,
        large=labels >= 25,
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    rates: list[tuple[Callable[..., World], Any]] = [
        (verdicts, (rate, judge, *sizes))
        for rate, judge, sizes in product((0.7, 0.95), JUDGES, ((30, 300), (100, 1000)))
    ]
    others = [
        *(verdicts(0.7, judge, 80, 400, 40) for judge in ("good judge", "lenient judge")),
        *(grades(judge, *sizes) for judge in BLURS for sizes in ((30, 300), (100, 1000))),
        *(topics(judge, *sizes) for judge in BLURS for sizes in ((15, 60), (40, 150))),
        *(no_difference(extra, *s) for extra in (0.0, 0.3) for s in ((30, 300), (100, 1000))),
    ]
    return [*(make(*of) for make, of in rates), *others]
