"""Predicted uplift: experiments in which the effect depends on what the predictions know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World, even_grid

MEASURES = ("Qini", "Qini-area", "AUUC", "normalized-AUUC", "uplift@0.3", "uplift@1")
#: Of outcomes that are amounts, without the measures that know the best order of 0 and 1.
OF_AMOUNTS = ("Qini-area", "AUUC", "uplift@0.3", "uplift@1")
BY_GROUP = "uplift(strategy='by-group')@0.3"


@dataclass(frozen=True)
class Design:
    """What outcomes depend on: the logit without treatment, and what treatment adds to it for a row
    of x, standard normal. `noise` is what scores have beside x, `step` what they are rounded to."""

    base: float = -1.0
    effect: Callable[[Floats], Floats] = lambda x: 0.2 + 0.5 * x
    noise: float = 0.7
    treated: float = 0.5
    step: float = 0.0
    amounts: bool = False
    propensity: bool = False
    clusters: int = 0

    def means(self, x: Floats) -> tuple[Floats, Floats]:
        """Mean outcomes without treatment and with it."""
        if self.amounts:
            none = np.full(len(x), np.exp(0.5))
            return none, none + self.effect(x)
        return expit(np.full(len(x), self.base)), expit(self.base + self.effect(x))

    def score(self, x: Floats, noise: Floats) -> Floats:
        """What a system predicts."""
        score = x + self.noise * noise
        return np.round(score / self.step) * self.step if self.step else score


DESIGNS: Mapping[str, Design] = {
    "some effect": Design(),
    "no effect": Design(effect=lambda x: 0 * x),
    "a large effect": Design(-0.5, lambda x: 3 * x),
    "one in ten treated": Design(treated=0.1),
    "tied scores": Design(step=1.0),
    "rare outcomes": Design(-4.5, lambda x: 0.5 + x),
    "amounts": Design(effect=lambda x: x, amounts=True),
    "treated by propensity": Design(propensity=True),
    "clusters": Design(clusters=40),
}


def measures_of(design: Design) -> tuple[str, ...]:
    """Those whose truth is known."""
    return (*(OF_AMOUNTS if design.amounts else MEASURES), BY_GROUP)


@cache
def truth_of(word: str, extra: float = 0.0) -> Mapping[str, float]:
    """Of rows without end; a system may have more noise."""
    design = DESIGNS[word]
    x, noise = (ndtri(u) for u in even_grid(2, 18))
    score = design.score(x, np.hypot(design.noise, extra) / design.noise * noise)
    none, treated = design.means(x)
    distinct, place = np.unique(-score, return_inverse=True)
    size = np.bincount(place, minlength=len(distinct)) / len(x)
    gain = np.cumsum(np.bincount(place, treated - none)) / len(x)
    at, height = np.append(0.0, np.cumsum(size)), np.append(0.0, gain)
    area, effect = float(np.trapezoid(height, at)), float(gain[-1])
    values = {"Qini-area": area - effect / 2, "AUUC": area, "uplift@1": effect}
    values["uplift@0.3"] = values[BY_GROUP] = float(np.interp(0.3, at, height)) / 0.3
    if design.amounts:
        return values
    share = 0.5 if design.propensity else design.treated
    p0, p1 = float(none.mean()), float(treated.mean())
    a, c = share * p1, (1 - share) * p0
    best = np.trapezoid([0, p1, p1, p1 - p0], [0, a, 1 - c, 1])
    second = a + (1 - share) * (1 - p0)
    if c > share * (1 - p1):
        third, gained = a + 1 - share, 1 - p0
    else:
        third, gained = share + (1 - share) * (1 - p0), p1
    of_order = np.trapezoid([0, a, second, third * gained, p1 - p0], [0, a, second, third, 1])
    excess = area - effect / 2
    values["Qini"] = excess / float(best - effect / 2)
    values["normalized-AUUC"] = excess / float(of_order - effect / 2)
    return values


def _drawn(
    design: Design, rows: int, random: Random
) -> tuple[Floats, Floats, Floats, dict[str, Any]]:
    """What is known of rows, who is treated, and outcomes; and columns of the call."""
    columns: dict[str, Any] = {}
    if design.clusters:
        of = random.integers(0, design.clusters, rows)
        x = np.sqrt(0.5) * (random.normal(size=design.clusters)[of] + random.normal(size=rows))
        columns["cluster"] = of
    else:
        x = random.normal(size=rows)
    share = expit(x) * 0.6 + 0.2 if design.propensity else np.full(rows, design.treated)
    treated = (random.random(rows) < share).astype(float)
    mean = np.where(treated == 1, *reversed(design.means(x)))
    if design.amounts:
        outcome = mean - np.exp(0.5) + np.exp(random.normal(size=rows))
    else:
        outcome = (random.random(rows) < mean).astype(float)
    if design.propensity:
        columns["propensity"] = share
    return x, treated, outcome, columns


def uplifts(rows: int, word: str) -> World:
    """One system."""
    design = DESIGNS[word]

    def draw(random: Random) -> Evaluate:
        x, treated, outcome, columns = _drawn(design, rows, random)
        score, measures = design.score(x, random.normal(size=rows)), measures_of(design)
        data: dict[str, Any] = {"measures": measures, "curves": False, **columns}
        return partial(cal.uplift, treated, outcome, score, **data)

    return World("uplift", word, f"{rows} rows", partial(truth_of, word), draw, rows >= 400)


def uplift_pairs(rows: int, word: str, extra: float) -> World:
    """Two systems, of which the second has more noise, or as much."""
    design, base = DESIGNS[word], DESIGNS[word].noise

    def truth() -> Mapping[str, float]:
        values = [truth_of(word, noise) for noise in (extra, 0.0)]
        return {name: values[0][name] - values[1][name] for name in measures if name != "uplift@1"}

    measures = tuple(name for name in measures_of(design) if name != "uplift@1")

    def draw(random: Random) -> Evaluate:
        x, treated, outcome, columns = _drawn(design, rows, random)
        noises = (1.0, np.hypot(base, extra) / base)
        scores = {
            name: design.score(x, noise * random.normal(size=rows))
            for name, noise in zip(("base", "new"), noises, strict=True)
        }
        data: dict[str, Any] = {"measures": measures, "curves": False, **columns}
        return partial(cal.uplift, treated, outcome, scores, **data)

    alike = "alike" if extra == 0 else "of which one has more noise"
    name = f"two systems {alike}, {word}"
    return World("uplift", name, f"{rows} rows", truth, draw, rows >= 400)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    sizes = {"rare outcomes": (1000, 4000)}
    return [
        *(uplifts(n, word) for word in DESIGNS for n in sizes.get(word, (100, 400))),
        uplifts(1000, "one in ten treated"),
        *(uplift_pairs(n, "some effect", extra) for n in (100, 400) for extra in (0.0, 2.0)),
        uplift_pairs(400, "one in ten treated", 2.0),
        uplift_pairs(400, "clusters", 2.0),
    ]
