"""Probabilities of two classes."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from worlds.world import CLASSIFICATION, Evaluate, Random, World

OF_PROBABILITIES = (
    "log-loss",
    "Brier",
    "calibration-slope",
    "calibration-intercept",
    "ECE",
    "RMSCE",
    "MCE(binning='equal-mass')",
)


RANGES = {"Brier": (0.0, 1.0)}


def probabilities(rows: int, mean: float, spread: float, slope: float, word: str) -> World:
    """Log odds η are normal and the probability given is that of η/slope: slope 1 is calibrated."""

    def found() -> dict[str, float]:
        eta = mean + spread * special.ndtri((np.arange(200_000) + 0.5) / 200_000)
        logit = eta / slope
        chance, given = special.expit(eta), special.expit(logit)
        place = np.minimum((given * 15).astype(int), 14)
        # Bins of equal mass: given ascends with η.
        gap = np.array([of.mean() for of in np.array_split(given - chance, 15)])

        def excess(a: float) -> float:
            return float(np.mean(special.expit(a + logit) - chance))

        return {
            "log-loss": float(np.mean(np.logaddexp(0, logit) - chance * logit)),
            "Brier": float(np.mean(chance * (1 - given) ** 2 + (1 - chance) * given**2)),
            "calibration-slope": slope,
            "calibration-intercept": float(optimize.brentq(excess, -5, 5)),
            "ECE": float(np.abs(np.bincount(place, (given - chance) / len(eta))).sum()),
            "RMSCE": float(np.sqrt(np.mean(np.square(gap)))),
            "MCE(binning='equal-mass')": float(np.abs(gap).max()),
        }

    def draw(random: Random) -> Evaluate:
        while True:
            x = random.normal(mean, spread, rows)
            truth = random.random(rows) < special.expit(x)
            if 2 <= truth.sum() <= rows - 2:
                p = special.expit(x / slope)
                return CLASSIFICATION(truth, probability=p, measures=OF_PROBABILITIES)

    share = float(special.expit(mean + spread * special.ndtri(np.linspace(0, 1, 999)[1:-1])).mean())
    large = rows >= 100 and rows * min(share, 1 - share) >= 20
    size = f"{rows} rows, {share:.0%} positive"
    ways = ("t", "hall", "bayesian-bootstrap", "delta", "studentized")
    return World("probabilities", word, size, found, draw, large, ways=ways, ranges=RANGES)


def near_perfect(rows: int, wrong: float) -> World:
    """Of most rows the true class is given 0.95 to 1, evenly, of some the other one is."""

    def found() -> dict[str, float]:
        right = {"Brier": 0.05**2 / 3, "log-loss": 1 + 19 * np.log(0.95)}
        missed = {"Brier": (1 - 0.95**3) / 0.15, "log-loss": 1 - np.log(0.05)}
        return {name: (1 - wrong) * right[name] + wrong * missed[name] for name in right}

    def draw(random: Random) -> Evaluate:
        while True:
            truth = random.random(rows) < 0.5
            if 0 < truth.sum() < rows:
                said = truth ^ (random.random(rows) < wrong)
                p = np.abs(random.uniform(0.0, 0.05, rows) - said)
                return CLASSIFICATION(truth, probability=p, measures=("Brier", "log-loss"))

    word, size = f"near-perfect, {wrong:.1%} wrong", f"{rows} rows"
    ways = ("t", "hall", "bayesian-bootstrap", "studentized")
    large = rows * wrong >= 20
    return World("probabilities", word, size, found, draw, large, ways=ways, ranges=RANGES)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(probabilities(n, -0.5, 1.5, 1.0, "calibrated") for n in (50, 100, 300, 1000)),
        *(probabilities(n, -2.5, 1.0, 1.0, "calibrated, rare") for n in (200, 1000)),
        *(probabilities(n, -0.5, 1.5, 0.4, "overconfident") for n in (100, 300, 1000)),
        *(probabilities(n, -0.5, 1.5, 0.8, "a little overconfident") for n in (300, 1000)),
        *(probabilities(n, 0.0, 4.0, 0.8, "sharp, a little overconfident") for n in (300, 1000)),
        *(near_perfect(n, wrong) for n in (25, 100, 1000) for wrong in (0.005, 0.03)),
    ]
