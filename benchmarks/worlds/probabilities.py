"""Probabilities of two classes."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from worlds.world import CLASSIFICATION, Evaluate, Random, World

OF_PROBABILITIES = ("log-loss", "Brier", "calibration-slope", "calibration-intercept", "ECE")


def probabilities(rows: int, mean: float, spread: float, slope: float, word: str) -> World:
    """Log odds η are normal and the probability given is that of η/slope: slope 1 is calibrated."""

    def found() -> dict[str, float]:
        eta = mean + spread * special.ndtri((np.arange(200_000) + 0.5) / 200_000)
        logit = eta / slope
        chance, given = special.expit(eta), special.expit(logit)
        place = np.minimum((given * 15).astype(int), 14)

        def excess(a: float) -> float:
            return float(np.mean(special.expit(a + logit) - chance))

        return {
            "log-loss": float(np.mean(np.logaddexp(0, logit) - chance * logit)),
            "Brier": float(np.mean(chance * (1 - given) ** 2 + (1 - chance) * given**2)),
            "calibration-slope": slope,
            "calibration-intercept": float(optimize.brentq(excess, -5, 5)),
            "ECE": float(np.abs(np.bincount(place, (given - chance) / len(eta))).sum()),
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
    ways = ("student", "delta", "studentised")
    return World("probabilities", word, size, found, draw, large, ways=ways)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(probabilities(n, -0.5, 1.5, 1.0, "calibrated") for n in (50, 100, 300, 1000)),
        *(probabilities(n, -2.5, 1.0, 1.0, "calibrated, rare") for n in (200, 1000)),
        *(probabilities(n, -0.5, 1.5, 0.4, "overconfident") for n in (100, 300, 1000)),
    ]
