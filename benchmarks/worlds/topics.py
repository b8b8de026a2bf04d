"""Values per topic: their means, geometric means, and pooled topics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from calipers.evaluation.options import make_settings
from calipers.evaluation.topic_scores import TopicScores
from calipers.results import Evaluation
from worlds.world import SHARES, UNIFORM_GRID, Evaluate, Floats, Random, World


@dataclass(frozen=True)
class PerTopic:
    """What values per topic are drawn from, as a function of a uniform number."""

    name: str
    measure: str
    quantile: Callable[[Floats], Floats]

    @cached_property
    def mean(self) -> float:
        """Over all topics there could be."""
        return float(self.quantile(UNIFORM_GRID).mean())


def _reciprocal(u: Floats) -> Floats:
    """First ranks are geometric; on one topic of six nothing is found."""
    rank = np.floor(np.log1p(-np.minimum(u / (5 / 6), 1 - 1e-12)) / np.log(0.6)) + 1
    return np.where(u < 5 / 6, 1 / rank, 0.0)


def _gain(u: Floats) -> Floats:
    """A Beta distribution, with one topic of ten at 0 and one of twenty at 1."""
    inner = special.betaincinv(2.5, 2.0, np.clip((u - 0.1) / 0.85, 0, 1))
    return np.where(u < 0.1, 0.0, np.where(u > 0.95, 1.0, inner))


def _first_ten(u: Floats) -> Floats:
    """Tenths, as of precision at ten."""
    return np.asarray(np.floor(11 * special.betaincinv(0.8, 1.2, u)).clip(0, 10) / 10)


TOPICS = (
    PerTopic("AP, Beta(½, 1)", "AP", lambda u: special.betaincinv(0.5, 1.0, u)),
    PerTopic("RR, 1/rank or 0", "RR", _reciprocal),
    PerTopic("nDCG, Beta with 0s and 1s", "nDCG", _gain),
    PerTopic("P@10, tenths", "P@10", _first_ten),
    PerTopic("Success, rare failures", "Success@10", lambda u: np.asarray(u < 0.9, float)),
)
#: Systems that are all but perfect, or hopeless, and recalls of which most are 1.
AT_AN_END = (
    PerTopic("RR, nearly perfect", "RR", lambda u: np.where(u < 0.99, 1.0, 0.5)),
    PerTopic(
        "RR, hopeless", "RR", lambda u: np.where(u < 0.8, 0.0, 1 / np.ceil(500 * u - 399.9).clip(1))
    ),
    PerTopic("recall, mostly 1", "recall@1000", lambda u: np.where(u < 0.8, 1.0, 5 * u - 4)),
    PerTopic("AP, Beta(0.2, 8)", "AP", lambda u: special.betaincinv(0.2, 8.0, u)),
    PerTopic("AP, Beta(20, 20)", "AP", lambda u: special.betaincinv(20.0, 20.0, u)),
)
#: As high a mean as Beta(½, 1), but another spread, so that runs cannot be exchanged.
UNEQUAL = PerTopic("Beta(2, 4)", "AP", lambda u: special.betaincinv(2.0, 4.0, u))
BETTER = PerTopic("Beta(0.7, 1)", "AP", lambda u: special.betaincinv(0.7, 1.0, u))
OF_TOPICS = ("t", "percentile", "bca", "studentized", "bayesian-bootstrap")


def topics(number: int, of: PerTopic, *, weighted: bool = False) -> World:
    """The mean over topics, which may have exponential weights: half as many by Kish."""

    def draw(random: Random) -> Evaluate:
        values = of.quantile(random.random(number))
        weight = random.exponential(size=number) if weighted else None
        return partial(cal.from_values, {"one": values}, measure=of.measure, weight=weight)

    ways = (*SHARES, *OF_TOPICS) if of.measure == "Success@10" else OF_TOPICS
    return World(
        kind="topics",
        design=f"{of.name}, weighted" if weighted else of.name,
        size=f"{number} topics",
        found=lambda: {of.measure: of.mean},
        draw=draw,
        large=number >= 25,
        ways=ways,
    )


def _summed(measure: str, values: Floats, weight: Floats | None, **options: Any) -> Evaluation:
    """What the verbs make of values per topic, for summaries that are no means."""
    chosen = cal.measure(measure)
    settings = make_settings(level=0.95, **options)
    source = TopicScores(
        tuple(map(str, range(len(values)))),
        [chosen],
        {"one": values[:, None]},
        {"one": [{}]},
        {"one": {} if weight is None else {0: weight}},
        settings,
    )
    return Evaluation(task="values", level=0.95, estimates=source.estimates(), sources=source)


def geometric(number: int) -> World:
    """The geometric mean over topics."""

    def found() -> dict[str, float]:
        values = special.betaincinv(0.5, 1.0, UNIFORM_GRID)
        return {"gm-AP": float(np.exp(np.log(np.maximum(values, 1e-5)).mean()))}

    def draw(random: Random) -> Evaluate:
        return partial(_summed, "gm-AP", special.betaincinv(0.5, 1.0, random.random(number)), None)

    size = f"{number} topics"
    design = "AP, Beta(½, 1), geometric mean"
    of = ("gm-AP",)
    return World("topics", design, size, found, draw, number >= 25, ways=OF_TOPICS, measures=of)


def pooled(number: int) -> World:
    """Documents of all topics together; topics with many documents have lower precision."""

    def draw(random: Random) -> Evaluate:
        size = np.ceil(random.lognormal(2.5, 0.7, number))
        chance = random.beta(0.1 * (60 / (5 + size)) * 5, 2.5)
        return partial(
            _summed, "micro-SetP", random.binomial(size.astype(int), chance) / size, size
        )

    def found() -> dict[str, float]:
        size = np.ceil(np.exp(2.5 + 0.7 * special.ndtri(UNIFORM_GRID)))
        a = 0.1 * (60 / (5 + size)) * 5
        return {"micro-SetP": float(np.sum(size * a / (a + 2.5)) / np.sum(size))}

    ways = ("t", "percentile", "bca")
    size = f"{number} topics"
    of, large = ("micro-SetP",), number >= 25
    return World("topics", "precision pooled", size, found, draw, large, ways=ways, measures=of)


#: What `cal.ranking` shows unasked.
OF_GROUPS = ("nDCG(dcg='exp-log2')@5", "RR@5", "AP@5", "P@1")


def _graded_rows(random: Random, number: int) -> tuple[Any, Any, Any]:
    """Groups of 3 to some 25 rows with grades 0 to 4, fewer high ones in some groups than in others;
    of a tenth of the groups nothing is relevant. Scores are tied as those of a few trees are."""
    group = np.repeat(np.arange(number), 3 + random.poisson(8, number))
    share = random.beta(1, 2, number) * (random.random(number) < 0.95)
    grade = random.binomial(4, share[group])
    return group, grade, np.round(grade + random.normal(0, 1.5, len(group)))


@cache
def _of_many_groups() -> dict[str, float]:
    """The means over 60,000 groups, to within 0.002."""
    rows = _graded_rows(np.random.default_rng(2008), 60_000)
    made = cal.ranking(*rows, interval="none", curves=False)
    return {name: made[name].value for name in OF_GROUPS}


def groups(number: int) -> World:
    """The default measures of learning to rank, over groups."""

    def draw(random: Random) -> Evaluate:
        return partial(cal.ranking, *_graded_rows(random, number), curves=False)

    size, large = f"{number} groups", number >= 25
    return World("topics", "graded rows", size, _of_many_groups, draw, large, ways=OF_TOPICS)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(topics(n, of) for of in TOPICS for n in (10, 25, 50, 250)),
        *(topics(n, of) for of in AT_AN_END for n in (25, 50, 100)),
        *(topics(n, of, weighted=True) for of in (*TOPICS, AT_AN_END[2]) for n in (25, 50, 100)),
        *(geometric(n) for n in (10, 25, 50, 250)),
        *(pooled(n) for n in (10, 25, 50, 250)),
        *(groups(n) for n in (10, 25, 50, 250)),
    ]
