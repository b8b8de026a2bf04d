"""Margins and gates at exactly the true difference, and whether interval, test and margin of one
difference say the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

import calipers as cal
from calipers.results import Comparison, Difference, Evaluation
from worlds.world import CLASSIFICATION, Floats, Random, Trial

RESAMPLES = 600


def contradicts(d: Difference) -> bool:
    """Whether an interval and the test beside it do not say the same."""
    if not d.has_interval or np.isnan(d.p_adjusted):
        return False
    return (d.p_adjusted <= 0.05) != (not d.low <= 0 <= d.high)


def _answers(evaluation: Evaluation, margin: float) -> dict[str, float]:
    """The p-value of the margin, which is the true difference; and 0 where something contradicts
    something. Identical outputs are a verdict of their own and show nothing."""
    found: Comparison = evaluation.compare(baseline="old", margin=margin, adjust="none")
    [d] = found
    [ninety] = evaluation.compare(baseline="old", margin=margin, adjust="none", level=0.9)
    worse = ninety.low if d.higher_is_better is not False else -ninety.high
    agrees = np.isnan(d.p_noninferiority) or (d.p_noninferiority <= 0.05) == (worse > -margin)
    return {
        "gate at the true margin": 1.0 if np.isnan(d.p_noninferiority) else d.p_noninferiority,
        "interval against test": 0.0 if contradicts(d) else 1.0,
        "interval against margin": 1.0 if agrees else 0.0,
    }


def _topics(design: str, number: int, share: float, loss: float, noise: float) -> Trial:
    """A share of the topics loses so much, which is the true difference in the mean."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        apart = np.where(random.random(number) < share, -loss, 0.0)
        apart += noise * random.normal(size=number)
        values = {"new": 0.5 + np.clip(apart, -0.5, 0.5), "old": np.full(number, 0.5)}
        made = cal.from_values(values, measure="nDCG", n_resamples=RESAMPLES, seed=seed)
        return _answers(made, share * loss)

    known = ("gate at the true margin",) if noise else ()
    return Trial("gates", design, f"{number} topics", draw, number >= 25, known_bad=known)


def _losses(number: int) -> Trial:
    """2% of the rows are missed with certainty by the new system alone."""
    worst, usual = -np.log(1e-3), -np.log(0.9)

    def draw(random: Random, seed: int) -> dict[str, float]:
        truth = random.random(number) < 0.5
        right = np.where(truth, 0.9, 0.1)
        missed = random.random(number) < 0.02
        new = np.where(missed, np.where(truth, 1e-3, 1 - 1e-3), right)
        given = {"new": new, "old": right}
        ask = CLASSIFICATION(truth, probability=given, measures=("log-loss",))
        return _answers(ask(n_resamples=RESAMPLES, seed=seed), 0.02 * float(worst - usual))

    known = ("gate at the true margin",)
    design = "log loss, 2% of the rows missed"
    return Trial("gates", design, f"{number} rows", draw, number >= 100, known_bad=known)


def _areas(number: int, positives: float, first: float, second: float) -> Trial:
    """Two areas that differ by the margin."""
    apart = [float(np.sqrt(2) * special.ndtri(area)) for area in (first, second)]

    def draw(random: Random, seed: int) -> dict[str, float]:
        truth = np.arange(number) < positives * number
        common, own = random.normal(size=number), random.normal(size=(2, number))
        noise = np.sqrt(0.5) * common + np.sqrt(0.5) * own
        score = {"old": apart[0] * truth + noise[0], "new": apart[1] * truth + noise[1]}
        ask = CLASSIFICATION(truth, score=score, measures=("AUC",))
        return _answers(ask(n_resamples=RESAMPLES, seed=seed), first - second)

    design = f"AUC {first:g} and {second:g}"
    known = ("gate at the true margin",) if first > 0.9 else ()
    size = f"{number} rows, {positives:.0%} positive"
    return Trial("gates", design, size, draw, large=True, known_bad=known)


def _effect(number: int, shift: float, shape: str) -> Trial:
    """Topics on which one system is better, or neither is: what the interval and the test say."""
    shapes: dict[str, Callable[[Random], Floats]] = {
        "normal": lambda random: 0.05 * random.normal(size=number),
        "half tied": lambda random: np.where(
            random.random(number) < 0.5, 0.2 * random.normal(size=number), 0.0
        ),
    }

    def draw(random: Random, seed: int) -> dict[str, float]:
        apart = np.clip(shapes[shape](random) + shift, -0.5, 0.5)
        values = {"new": 0.5 + apart, "old": np.full(number, 0.5)}
        made = cal.from_values(values, measure="nDCG", n_resamples=RESAMPLES, seed=seed)
        [d] = made.compare(baseline="old", adjust="none")
        missed = d.has_interval and not d.low <= shift <= d.high
        return {
            "interval of the difference": 0.0 if missed else 1.0,
            "interval against test": 0.0 if contradicts(d) else 1.0,
            "test": d.p,
        }

    power = ("test",) if shift else ()
    design = f"differences {shape}, mean {shift:g}"
    return Trial("gates", design, f"{number} topics", draw, number >= 25, power=power)


def trials() -> list[Trial]:
    """Those whose gates and contradictions are counted."""
    return [
        *(_topics("5% lose 0.4", n, 0.05, 0.4, 0.0) for n in (25, 50, 100)),
        *(_topics("5% lose 0.4, noise", n, 0.05, 0.4, 0.05) for n in (25, 50, 100)),
        *(_topics("10% lose 0.4, noise", n, 0.1, 0.4, 0.05) for n in (25, 50, 100)),
        *(_losses(n) for n in (100, 300, 1000)),
        _areas(300, 0.2, 0.99, 0.98),
        _areas(200, 0.5, 0.8, 0.75),
        *(
            _effect(n, shift, shape)
            for shape in ("normal", "half tied")
            for n in (6, 10, 25, 50)
            for shift in (0.0, 0.04)
        ),
    ]
