"""Times to an event: of few rows and many, hardly and mostly censored, by chance or by what risks
depend on; predicted well, almost perfectly or too boldly."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import calipers as cal
from worlds.world import Evaluate, Floats, Random, World

#: How many rows have the true values.
TRUTH_ROWS = 200_000
#: How many rows are censored: the rate of censoring over that of events, and the times looked at.
CENSORED: Mapping[str, tuple[float, tuple[float, float, float]]] = {
    "0%": (0.0, (0.3, 0.7, 1.2)),
    "40%": (0.7, (0.2, 0.5, 0.8)),
    "80%": (5.0, (0.05, 0.1, 0.2)),
}
#: The standard deviations of log hazards and of the errors of their predictions, and by how much
#: censoring depends on the log hazard.
DESIGNS: Mapping[str, tuple[float, float, float]] = {
    "one": (0.8, 0.5, 0.0),
    "censored by risk": (0.8, 0.5, 1.0),
    "near-perfect": (8.0, 0.0, 0.0),
}


def _measures(times: tuple[float, ...]) -> list[str]:
    """They ask for what is known until the last time; before it weights are not too large."""
    middle, last = times[1:]
    return [
        *("C-index", f"Uno-C@{last:g}", f"survival-AUC@{middle:g}", "integrated-AUC"),
        *(f"survival-Brier@{middle:g}", "integrated-Brier", f"OE-ratio@{last:g}", "D-calibration"),
    ]


def _rows(
    random: Random, rows: int, design: str, censored: str, n_systems: int = 1
) -> tuple[Floats, Any, list[Floats]]:
    """Times, events, and the predicted log hazards of each system."""
    spread, error, dependence = DESIGNS[design]
    log_hazard = spread * random.normal(size=rows)
    time = random.exponential(size=rows) * np.exp(-log_hazard)
    rate = CENSORED[censored][0]
    lost = np.full(rows, np.inf)
    if rate:
        lost = random.exponential(size=rows) / rate * np.exp(-dependence * log_hazard)
    said = [log_hazard + error * random.normal(size=rows) for _ in range(n_systems)]
    return np.minimum(time, lost), time <= lost, said


def _evaluation(
    time: Floats, event: Any, said: Mapping[str, Floats], censored: str
) -> partial[Any]:
    """What they predict: the risk, and the probabilities of exponential times."""
    times = CENSORED[censored][1]
    survival = {
        name: np.exp(-np.exp(np.minimum(risk, 700))[:, None] * np.array(times))
        for name, risk in said.items()
    }
    arguments: dict[str, Any] = {"survival": survival, "times": times, "measures": _measures(times)}
    return partial(cal.survival, time, event, said, **arguments)


@cache
def _truth(design: str, censored: str) -> Mapping[str, float]:
    """Values of very many rows. What is weighted by the probability of censoring has the value of
    rows that are not censored, unless censoring depends on the risk."""
    random = np.random.default_rng(0)
    time, event, [said] = _rows(random, TRUTH_ROWS, design, censored)
    found = _evaluation(time, event, {"new": said}, censored)(interval="none")
    values = {e.measure: e.value for e in found}
    if DESIGNS[design][2] or not CENSORED[censored][0]:
        return values
    whole, seen, [said] = _rows(random, TRUTH_ROWS, design, "0%")
    of_all = _evaluation(whole, seen, {"new": said}, censored)(interval="none")
    weighted = {e.measure: e.value for e in of_all}
    return {**weighted, "C-index": values["C-index"], "D-calibration": values["D-calibration"]}


def survival(rows: int, design: str, censored: str) -> World:
    """One system."""

    def draw(random: Random) -> Evaluate:
        time, event, [said] = _rows(random, rows, design, censored)
        return _evaluation(time, event, {"new": said}, censored)

    events = rows * (1 - float(censored[:-1]) / 100)
    size = f"{rows} rows, {censored} censored"
    return World("survival", design, size, partial(_truth, design, censored), draw, events >= 40)


def pairs(rows: int, censored: str) -> World:
    """Two systems that are equally good, with errors of their own."""
    none = dict.fromkeys(_measures(CENSORED[censored][1]), 0.0)

    def draw(random: Random) -> Evaluate:
        time, event, said = _rows(random, rows, "one", censored, 2)
        return _evaluation(time, event, dict(zip(("base", "new"), said, strict=True)), censored)

    size = f"{rows} rows, {censored} censored"
    return World("survival", "two alike", size, lambda: none, draw, rows >= 200)


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [
        *(survival(n, "one", censored) for censored in CENSORED for n in (50, 200, 1000)),
        *(survival(n, "censored by risk", "40%") for n in (50, 200, 1000)),
        *(survival(n, "near-perfect", censored) for censored in ("0%", "40%") for n in (50, 200)),
        *(pairs(n, censored) for censored in ("40%", "80%") for n in (50, 200, 1000)),
    ]
