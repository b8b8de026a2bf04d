"""Measures of times that may be censored, by hand: pair by pair, and row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from calipers.measures import Measure, parse
from calipers.statistics import SurvivalRows

TIMES = (2.0, 4.0, 6.0)
FAMILIES = ("survival", "survival-probabilities")
NAMES = (
    *("C-index", "Uno-C", "Uno-C@6", "survival-AUC@4", "survival-AUC@5", "integrated-AUC"),
    *("survival-Brier@4", "integrated-Brier", "OE-ratio@6", "D-calibration"),
)


def measure(name: str) -> Measure:
    return parse(name, FAMILIES)


def random_rows(
    seed: int, n: int = 60, *, tied: bool = True, weighted: bool = True
) -> SurvivalRows:
    """Rows with ties between times, between risks, and between events and censoring."""
    random = np.random.default_rng(seed)
    risk = random.normal(size=n)
    event_time, censored = random.exponential(5 * np.exp(-risk)), random.exponential(8, n)
    time = np.minimum(event_time, censored)
    # Somebody is observed for longer than all times.
    time[0], event = 12.0, event_time <= censored
    if tied:
        time, risk = np.ceil(time), risk.round(1)
    noisy = risk + random.normal(size=n)
    survival = np.exp(-np.outer(np.exp(noisy), TIMES) / 5).round(2)
    weight = random.choice([0.0, 0.5, 1.0, 2.0], n) if weighted else None
    return SurvivalRows.from_rows(time, event, risk, survival, weight, TIMES)


def not_censored(rows: SurvivalRows, time: float, *, before: bool) -> float:
    """Kaplan and Meier's G just before a time, or at it; an event precedes what is censored then."""
    value = 1.0
    for at in np.unique(rows.time):
        if at < time or (at == time and not before):
            censored = rows.weight[(rows.time == at) & ~rows.event].sum()
            at_risk = censored + rows.weight[rows.time > at].sum()
            value *= 1 - censored / at_risk if at_risk > 0 else 1.0
    return value


def survived(rows: SurvivalRows, time: float) -> float:
    value = 1.0
    for at in np.unique(rows.time[rows.time <= time]):
        at_risk = rows.weight[rows.time >= at].sum()
        events = rows.weight[(rows.time == at) & rows.event].sum()
        value *= 1 - events / at_risk if at_risk > 0 else 1.0
    return value


def concordance(rows: SurvivalRows, tau: float = np.inf, *, inverse: bool) -> float:
    known = right = 0.0
    for first in np.flatnonzero(rows.event & (rows.time < tau) & (rows.weight > 0)):
        chance = not_censored(rows, rows.time[first], before=True) if inverse else 1.0
        for second in range(rows.n_rows):
            is_later = rows.time[second] > rows.time[first] or (
                rows.time[second] == rows.time[first] and not rows.event[second]
            )
            if is_later:
                weight = rows.weight[first] * rows.weight[second] / chance**2
                known += weight
                right += weight * (np.sign(rows.risk[first] - rows.risk[second]) + 1) / 2
    return right / known


def area(rows: SurvivalRows, time: float) -> float:
    risk = 1 - rows.survival[:, TIMES.index(time)] if time in TIMES else rows.risk
    known = right = 0.0
    for case in np.flatnonzero(rows.event & (rows.time <= time) & (rows.weight > 0)):
        chance = not_censored(rows, rows.time[case], before=True)
        for control in np.flatnonzero(rows.time > time):
            weight = rows.weight[case] / chance * rows.weight[control]
            known += weight
            right += weight * (np.sign(risk[case] - risk[control]) + 1) / 2
    return right / known


def brier(rows: SurvivalRows, time: float) -> float:
    total = 0.0
    for row in np.flatnonzero(rows.weight > 0):
        said = rows.survival[row, TIMES.index(time)]
        if rows.time[row] > time:
            total += rows.weight[row] * (1 - said) ** 2 / not_censored(rows, time, before=False)
        elif rows.event[row]:
            chance = not_censored(rows, rows.time[row], before=True)
            total += rows.weight[row] * said**2 / chance
    return total / float(rows.weight.sum())


def by_hand(name: str, rows: SurvivalRows) -> float:
    match name:
        case "C-index":
            return concordance(rows, inverse=False)
        case "Uno-C":
            return concordance(rows, inverse=True)
        case "Uno-C@6":
            return concordance(rows, 6.0, inverse=True)
        case "survival-AUC@4":
            return area(rows, 4.0)
        case "survival-AUC@5":
            return area(rows, 5.0)
        case "integrated-AUC":
            steps = -np.diff([1.0, *(survived(rows, time) for time in TIMES)])
            return float(np.average([area(rows, time) for time in TIMES], weights=steps))
        case "survival-Brier@4":
            return brier(rows, 4.0)
        case "integrated-Brier":
            scores = [brier(rows, time) for time in TIMES]
            return float(np.trapezoid(scores, TIMES)) / (TIMES[-1] - TIMES[0])
        case "OE-ratio@6":
            expected = np.average(1 - rows.survival[:, 2], weights=rows.weight)
            return (1 - survived(rows, 6.0)) / float(expected)
    raise AssertionError(name)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "D-calibration"])
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_by_hand(name: str, seed: int) -> None:
    rows = random_rows(seed, tied=seed < 3, weighted=seed > 0)
    assert float(measure(name).apply(rows)) == pytest.approx(by_hand(name, rows), rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_the_influence_of_a_row_is_the_derivative_by_its_weight(name: str, seed: int) -> None:
    """Also of a row of weight 0, and through the estimate of the censoring."""
    rows, step = random_rows(seed, 40), 1e-6
    influence = measure(name).definition.moves
    assert influence is not None
    found = influence(rows, **measure(name).parameters)
    for row in range(rows.n_rows):
        changed = []
        for sign in (1, -1) if rows.weight[row] > 0 else (1, 0):
            weight = rows.weight.copy()
            weight[row] += sign * step
            changed.append(float(measure(name).apply(rows.with_weights(weight))))
        width = 2 * step if rows.weight[row] > 0 else step
        slope = (changed[0] - changed[1]) / width
        assert found[row] == pytest.approx(slope * float(rows.total), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_of_two_is_the_row_twice_and_replicates_are_the_values_of_each(name: str) -> None:
    rows = random_rows(7, weighted=False)
    counts = np.random.default_rng(1).integers(0, 3, (4, rows.n_rows)).astype(float)
    replicates = measure(name).apply(rows.with_weights(counts))
    for value, count in zip(replicates, counts, strict=True):
        repeated = np.repeat(np.arange(rows.n_rows), count.astype(int))
        time, event, risk = rows.time[repeated], rows.event[repeated], rows.risk[repeated]
        survival = rows.survival[repeated]
        drawn = SurvivalRows.from_rows(time, event, risk, survival, times=TIMES)
        assert value == pytest.approx(float(measure(name).apply(drawn)), rel=1e-12, nan_ok=True)


def test_d_calibration_by_hand() -> None:
    """Of ten bins: an event at a probability of 0.75; censored at 0.25; beyond the last time, at 0.1."""
    rows = SurvivalRows.from_rows(
        np.array([1.0, 3.0, 9.0]),
        np.array([True, False, True]),
        np.zeros(3),
        np.array([[0.5, 0.2, 0.1], [0.6, 0.3, 0.2], [0.9, 0.5, 0.1]]),
        times=(2.0, 3.0 - 0.5, 3.5),
    )
    # Between 2.5, where it is 0.3, and 3.5, where it is 0.2.
    first, second, third = np.zeros(10), np.zeros(10), np.zeros(10)
    first[7] = 1.0
    second[:3] = [0.1 / 0.25, 0.1 / 0.25, 0.05 / 0.25]
    third[0] = 1.0
    expected = (first + second + third) / 3
    np.testing.assert_allclose(rows.reached_bins(10).mean(axis=0), expected, atol=1e-12)
    deviation = np.sqrt(np.square(10 * expected - 1).mean())
    assert float(measure("D-calibration").apply(rows)) == pytest.approx(deviation)
    tail = float(measure("D-calibration-p").apply(rows))
    assert tail == pytest.approx(chi2.sf(3 * deviation**2, 9))
