"""Many differences at once: how often any of them is called real, or an interval leaves out what
is true, among systems that are alike or of which one is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.options import make_settings
from calipers.evaluation.topic_scores import TopicScores
from calipers.results import Evaluation
from worlds.pages import dearness, errors
from worlds.topics import TOPICS
from worlds.world import UNIFORM_GRID, Floats, Random, Trial

MEASURES = ("AP", "nDCG", "RR", "P@10", "Rprec", "Success@10")
TESTS = ("t", "wilcoxon", "sign", "randomization", "bootstrap", "normal")
ADJUSTMENTS = ("holm", "bonferroni", "benjamini-hochberg", "tukey", "none")
RESAMPLES = 600


def _rare(u: Floats) -> Floats:
    """1 on nearly all topics."""
    return np.where(u < 0.03, u / 0.03, 1.0)


#: What values are drawn from, by measure.
SHAPES: dict[str, Sequence[Callable[[Floats], Floats]]] = {
    "usual": [TOPICS[j].quantile for j in (0, 2, 1, 3, 0, 4)],
    "tied": [TOPICS[j].quantile for j in (0, 2, 1, 3, 0, 4)],
    "copies": [TOPICS[j].quantile for j in (0, 2, 1, 3, 0, 4)],
    "skewed": [lambda u: u**8] * 5 + [TOPICS[4].quantile],
    "near-constant": [_rare] * 5 + [lambda u: np.asarray(u > 0.03, float)],
}
#: How often a topic tells the systems apart at all.
APART = {"tied": 0.1}


def normals(random: Random, topics: int, systems: int, measures: int, shape: str) -> Floats:
    """What values are functions of, (topics, systems, measures): measures and systems go together;
    of copies, every second system is nearly the one before it."""

    def drawn(number: int) -> Floats:
        shared, own = random.normal(size=(topics, number, 1)), (topics, number, measures)
        return np.asarray(np.sqrt(0.8) * shared + np.sqrt(0.2) * random.normal(size=own))

    topic, own = drawn(1), drawn(systems)
    if shape == "copies":
        again = random.random((topics, 1, 1)) < 0.9
        own[:, 1::2] = np.where(again, own[:, : systems - 1 : 2], own[:, 1::2])
    if shape in APART:
        own = np.where(random.random((topics, 1, 1)) < APART[shape], own, own[:, :1])
    return np.asarray(np.sqrt(0.7) * topic + np.sqrt(0.3) * own)


@cache
def gained(shape: str, measures: int, better: float) -> tuple[float, ...]:
    """By how much the better system is better, by measure."""
    if better == 0:
        return (0.0,) * measures
    moved = special.ndtr(special.ndtri(UNIFORM_GRID) + better)
    return tuple(float((q(moved) - q(UNIFORM_GRID)).mean()) for q in SHAPES[shape][:measures])


def table(values: Floats, seed: int) -> Evaluation:
    """What the verbs make of values of shape (topics, systems, measures)."""
    measures = [cal.measure(name, family="retrieval") for name in MEASURES[: values.shape[2]]]
    names = [f"system {j}" for j in range(values.shape[1])]
    source = TopicScores(
        tuple(map(str, range(len(values)))),
        measures,
        {name: values[:, j] for j, name in enumerate(names)},
        {name: [{} for _ in measures] for name in names},
        {name: {} for name in names},
        make_settings("auto", level=0.95, n_resamples=RESAMPLES, seed=seed),
    )
    comparison = default_comparison(source, None, source.settings)
    return source.to_evaluation("values", {}, [], comparison=comparison)


def family(topics: int, systems: int, measures: int, shape: str, better: float = 0.0) -> Trial:
    """Systems on topics; the last is better by so many standard deviations, or none is."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        z = normals(random, topics, systems, measures, shape)
        z[:, -1] += better
        values = np.stack([SHAPES[shape][j](special.ndtr(z[:, :, j])) for j in range(measures)], 2)
        best = f"system {systems - 1}"
        gain = dict(zip(MEASURES, gained(shape, measures, better), strict=False))
        return errors(table(values, seed), best if better else None, gain)

    design = f"{systems} systems, {measures} measures, {shape}" + (", one better" if better else "")
    return Trial(
        kind="families",
        design=design,
        size=f"{topics} topics",
        draw=draw,
        large=topics >= 25,
        power=("found", "all found"),
        dear=dearness(systems),
    )


def adjusted(topics: int, systems: int, shape: str) -> Trial:
    """Every adjustment by name, of the usual test, and every test by name, adjusted by Holm."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        z = normals(random, topics, systems, 1, shape)[:, :, 0]
        evaluation = table(SHAPES[shape][0](special.ndtr(z))[:, :, None], seed)

        def least(**asked: Any) -> float:
            made = evaluation.compare(interval="none", **asked)
            return float(np.nanmin([d.p_adjusted for d in made]))

        return {
            **{f"{way}, usual test": least(adjust=way) for way in ADJUSTMENTS},
            **{f"{test}, Holm": least(test=test, adjust="holm") for test in TESTS},
        }

    design = f"{systems} systems, {shape}"
    bad = ("none, usual test",) if systems > 2 else ()
    size, dear = f"{topics} topics", 2 * dearness(systems)
    return Trial("adjustments", design, size, draw, topics >= 25, known_bad=bad, dear=dear)


def trials() -> list[Trial]:
    """Those whose false positives are counted."""
    return [
        *(
            family(n, systems, measures, shape)
            for n in (25, 50)
            for shape in SHAPES
            for systems, measures in ((2, 3), (2, 6), (6, 3), (6, 6))
        ),
        *(family(50, 33, 3, shape) for shape in ("usual", "tied")),
        *(family(n, k, 3, "usual", 0.5) for n in (25, 50) for k in (2, 6)),
        family(50, 33, 3, "usual", 0.8),
        *(adjusted(n, k, shape) for n in (25, 50) for k in (2, 6) for shape in SHAPES),
        adjusted(50, 33, "usual"),
    ]
