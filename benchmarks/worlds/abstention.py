"""How well a confidence tells when to abstain, of topics without end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from calipers.results import Evaluation, PerUnit
from worlds.world import Evaluate, Floats, Random, World

#: How many topics have the true values.
TRUTH_TOPICS = 100_000
Draw = Callable[[Random, int], tuple[Floats, Floats]]


def _usual(random: Random, topics: int) -> tuple[Floats, Floats]:
    """Values with some at both ends, and a confidence that knows a little."""
    ease = random.normal(size=topics)
    return np.clip(0.45 + 0.3 * ease, 0, 1), 0.5 * ease + random.normal(size=topics)


def _first_rank(random: Random, topics: int) -> tuple[Floats, Floats]:
    """Reciprocal ranks, of which the confidence says more."""
    ease = random.normal(size=topics)
    rank = random.geometric(special.expit(0.3 + ease))
    return np.where(rank < 11, 1 / rank, 0.0), ease + random.normal(size=topics)


def _success(random: Random, topics: int) -> tuple[Floats, Floats]:
    """0 and 1, and a confidence of few values."""
    ease = random.normal(size=topics)
    success = random.random(topics) < special.expit(0.7 + ease)
    return success.astype(float), np.round(ease + random.normal(size=topics))


def _certain(random: Random, topics: int) -> tuple[Floats, Floats]:
    """A confidence that orders topics nearly as their values do."""
    ease = random.normal(size=topics)
    return special.ndtr(ease), ease + 0.2 * random.normal(size=topics)


def _unknown(random: Random, topics: int) -> tuple[Floats, Floats]:
    """A confidence that knows nothing of low values."""
    return random.beta(0.5, 2, topics), random.normal(size=topics)


DESIGNS: Mapping[str, Draw] = {
    "nDCG": _usual,
    "RR": _first_rank,
    "success, tied confidence": _success,
    "nearly certain": _certain,
    "no relation": _unknown,
}


def _area(values: Floats, confidence: Floats, **options: Any) -> Mapping[str, cal.Estimate]:
    topics = tuple(map(str, range(len(values))))
    estimate = cal.Estimate("nDCG", float(values.mean()), system="run")
    per_unit = PerUnit("topics", topics, {"run": {"nDCG": values}})
    evaluation = Evaluation("retrieval", (estimate,), per_unit=per_unit)
    by_topic = dict(zip(topics, confidence.tolist(), strict=True))
    return {"nAUC": cal.abstention(evaluation, by_topic, "nDCG", **options)}


@cache
def _truth(design: str) -> Mapping[str, float]:
    values, confidence = DESIGNS[design](np.random.default_rng(0), TRUTH_TOPICS)
    return {"nAUC": _area(values, confidence, n_resamples=100)["nAUC"].value}


def abstention(topics: int, design: str) -> World:
    """The area of one system."""

    def draw(random: Random) -> Evaluate:
        values, confidence = DESIGNS[design](random, topics)
        return lambda interval, **options: _area(values, confidence, **options)

    size, large = f"{topics} topics", topics >= 25
    return World("abstention", design, size, partial(_truth, design), draw, large)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [abstention(n, design) for design in DESIGNS for n in (25, 50, 200)]
