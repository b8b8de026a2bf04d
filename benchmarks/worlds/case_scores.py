"""Scores that cases were given, without a truth: pass or fail, grades, shares, several samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import special, stats

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World

GRADES = np.arange(1.0, 6.0)
#: Of each design the shares of the grades 1 to 5.
GRADED: Mapping[str, tuple[float, ...]] = {
    "grades all over": (0.05, 0.15, 0.2, 0.35, 0.25),
    "mostly the best grade": (0.01, 0.02, 0.02, 0.15, 0.8),
}
#: Of each design the parameters of the Beta distribution of the chance that a sample passes.
SAMPLED: Mapping[str, tuple[float, float]] = {
    "easy": (8.0, 1.0),
    "mixed": (0.5, 0.5),
    "hard": (0.5, 4.0),
}
SAMPLES = 5
#: (A median of grades is a grade, and so are both limits of its interval, often the same one.)
OF_GRADES = ("mean-score", "pass-rate@4")
OF_SAMPLES = ("pass@1", "pass@5", "pass^3")
#: Correlation of what two systems do on a case.
SHARED = 0.6


def _large(cases: int) -> bool:
    return cases >= 100


def passed(cases: int, share: float, unscored: float) -> World:
    """Pass or fail; some cases have no score, whatever it would have been."""

    def draw(random: Random) -> Evaluate:
        scores = np.where(random.random(cases) < share, 1.0, 0.0)
        scores[random.random(cases) < unscored] = np.nan
        return partial(cal.scores, scores, measures=("pass-rate",))

    few = ", one of five without a score" if unscored else ""
    return World(
        kind="case scores",
        design=f"{share:.0%} pass{few}",
        size=f"{cases} cases",
        found=lambda: {"pass-rate": share},
        draw=draw,
        large=_large(cases) and min(share, 1 - share) * cases >= 10,
    )


def graded(cases: int, word: str) -> World:
    """Grades of one system."""
    shares = GRADED[word]

    def found() -> dict[str, float]:
        return {"mean-score": float(GRADES @ np.array(shares)), "pass-rate@4": sum(shares[3:])}

    def draw(random: Random) -> Evaluate:
        scores = random.choice(GRADES, cases, p=shares)
        return partial(cal.scores, scores, score_range=(1, 5), measures=OF_GRADES)

    return World(
        kind="case scores",
        design=word,
        size=f"{cases} cases",
        found=found,
        draw=draw,
        large=_large(cases),
        ranges={"mean-score": (1.0, 5.0)},
    )


def shares(cases: int) -> World:
    """Shares of what should be in an answer, most of which is."""
    law = stats.beta(4, 1)

    def draw(random: Random) -> Evaluate:
        return partial(
            cal.scores, random.beta(4, 1, cases), measures=("mean-score", "median-score")
        )

    return World(
        kind="case scores",
        design="numbers from 0 to 1",
        size=f"{cases} cases",
        found=lambda: {"mean-score": float(law.mean()), "median-score": float(law.median())},
        draw=draw,
        large=_large(cases),
        ranges={"mean-score": (0.0, 1.0), "median-score": (0.0, 1.0)},
    )


def nuggets(cases: int) -> World:
    """Proportions of the nuggets of topics, of which there are 4 to 12, that answers contain."""
    a, b = 2.0, 2.5

    def draw(random: Random) -> Evaluate:
        number = random.integers(4, 13, cases)
        scores = random.binomial(number, random.beta(a, b, cases)) / number
        return partial(cal.scores, scores, score_range=(0, 1), measures=("mean-score",))

    return World(
        kind="case scores",
        design="nuggets of answers",
        size=f"{cases} topics",
        found=lambda: {"mean-score": a / (a + b)},
        draw=draw,
        large=_large(cases),
        ranges={"mean-score": (0.0, 1.0)},
    )


def _of_samples(word: str, better: float = 0.0) -> dict[str, float]:
    """Expected values of the powers of the chance that a sample passes."""
    a, b = SAMPLED[word]
    a += better
    every = [float(special.beta(a + k, b) / special.beta(a, b)) for k in (1, 3)]
    none = float(special.beta(a, b + SAMPLES) / special.beta(a, b))
    return dict(zip(OF_SAMPLES, (every[0], 1 - none, every[1]), strict=True))


def _rows(passes: Sequence[npt.NDArray[np.bool_]]) -> dict[str, Floats]:
    """A table with a row for each sample, of as many systems as there are."""
    cases = np.repeat(np.arange(len(passes[0])), SAMPLES)
    return {
        "case": cases,
        **{name: of.astype(float).ravel() for name, of in zip("ab", passes, strict=False)},
    }


def _sampled(rows: dict[str, Floats]) -> Evaluate:
    names = [name for name in rows if name != "case"]
    return partial(cal.scores, names, case="case", data=rows, samples=SAMPLES, measures=OF_SAMPLES)


def sampled(cases: int, word: str) -> World:
    """Five samples of each case."""

    def draw(random: Random) -> Evaluate:
        chance = random.beta(*SAMPLED[word], cases)[:, None]
        return _sampled(_rows([random.random((cases, SAMPLES)) < chance]))

    return World(
        kind="case scores",
        design=f"five samples of {word} cases",
        size=f"{cases} cases",
        found=partial(_of_samples, word),
        draw=draw,
        large=_large(cases),
    )


def sampled_pairs(cases: int) -> World:
    """Five samples of each case by two systems: the same cases are hard for both."""

    def draw(random: Random) -> Evaluate:
        both = random.normal(size=cases)
        chances = []
        for better in (0.0, 0.5):
            z = np.sqrt(SHARED) * both + np.sqrt(1 - SHARED) * random.normal(size=cases)
            a, b = SAMPLED["mixed"]
            chances.append(special.betaincinv(a + better, b, special.ndtr(z))[:, None])
        return _sampled(_rows([random.random((cases, SAMPLES)) < p for p in chances]))

    def found() -> dict[str, float]:
        first, second = _of_samples("mixed"), _of_samples("mixed", 0.5)
        return {name: second[name] - first[name] for name in first}

    return World(
        kind="pairs",
        design="five samples of each case",
        size=f"{cases} cases",
        found=found,
        draw=draw,
        large=_large(cases),
    )


#: Where the grades of the two systems of a pair begin, on a normal scale.
STEPS = np.array([-1.5, -0.8, 0.0, 0.8])
SHIFT = 0.3


def _cells() -> Floats:
    """The chance of each pair of grades."""
    law = stats.multivariate_normal([0, SHIFT], [[1, SHARED], [SHARED, 1]])
    edges = np.array([-9.0, *STEPS, 9.0])
    below = law.cdf(np.stack(np.meshgrid(edges, edges, indexing="ij"), axis=-1))
    return np.diff(np.diff(below, axis=0), axis=1)


def graded_pairs(cases: int) -> World:
    """Grades of two systems, of which the first is the reference."""
    measures = ("mean-score", "pass-rate@4", "win-rate")

    def found() -> dict[str, float]:
        cells = _cells()
        first, second = cells.sum(axis=1), cells.sum(axis=0)
        wins = np.triu(cells, 1).sum() + np.trace(cells) / 2
        return {
            "mean-score": float(GRADES @ (second - first)),
            "pass-rate@4": float((second - first)[3:].sum()),
            "win-rate": float(wins - 0.5),
        }

    def draw(random: Random) -> Evaluate:
        both = np.sqrt(SHARED) * random.normal(size=cases)
        z = both + np.sqrt(1 - SHARED) * random.normal(size=(2, cases))
        a, b = GRADES[np.searchsorted(STEPS, z + np.array([[0.0], [SHIFT]]))]
        return partial(
            cal.scores,
            {"a": a, "b": b},
            score_range=(1, 5),
            reference_system="a",
            measures=measures,
        )

    return World(
        kind="pairs",
        design="grades from 1 to 5",
        size=f"{cases} cases",
        found=found,
        draw=draw,
        large=_large(cases),
    )


def lengths(cases: int, effect: float) -> World:
    """Preferences over a reference whose outputs are shorter; the judge likes long ones."""

    def draw(random: Random) -> Evaluate:
        longer = random.normal(150, 300, cases)
        odds = 0.1 + effect * np.tanh(longer / 300)
        won = (random.random(cases) < special.expit(odds)).astype(float)
        return partial(
            cal.scores,
            {"a": np.full(cases, 0.5), "b": won},
            score_range=(0, 1),
            reference_system="a",
            cost={"length": {"a": np.full(cases, 5000.0), "b": 5000 + longer}},
            measures=("LC-win-rate",),
        )

    return World(
        kind="pairs",
        design=f"win rate at equal length, effect of length {effect:g}",
        size=f"{cases} cases",
        found=lambda: {"LC-win-rate": float(special.expit(0.1) - 0.5)},
        draw=draw,
        large=_large(cases),
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    sizes = (30, 100, 400)
    return [
        *(passed(n, p, 0.2 * (p == 0.9)) for p in (0.5, 0.9, 0.97) for n in sizes),
        *(graded(n, word) for word in GRADED for n in sizes),
        *map(shares, sizes),
        *map(nuggets, (25, 50, 100)),
        *(sampled(n, word) for word in SAMPLED for n in sizes),
        *map(sampled_pairs, sizes[1:]),
        *map(graded_pairs, sizes[1:]),
        *(lengths(n, effect) for effect in (0.0, 1.2) for n in sizes),
    ]
