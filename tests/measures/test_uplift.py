"""Measures of predicted uplift, against curves that are built point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.measures.uplift import gain_changes, qini_gains, uplift_gains
from calipers.statistics import UpliftRows

Floats = Any


def curve(outcome: Floats, score: Floats, treatment: Floats, kind: str) -> tuple[Floats, Floats]:
    """Points before and after the rows of each distinct score, as scikit-uplift has them."""
    x, y = [0.0], [0.0]
    for threshold in sorted(set(score), reverse=True):
        inside = score >= threshold
        treated, control = inside & (treatment == 1), inside & (treatment == 0)
        responses = outcome[treated].sum(), outcome[control].sum()
        sizes = treated.sum(), control.sum()
        rates = [r / n if n else 0.0 for r, n in zip(responses, sizes, strict=True)]
        if kind == "uplift":
            y.append((rates[0] - rates[1]) * inside.sum())
        else:
            y.append(responses[0] - rates[1] * sizes[0])
        x.append(float(inside.sum()))
    return np.array(x), np.array(y)


def excess(outcome: Floats, score: Floats, treatment: Floats, kind: str) -> float:
    x, y = curve(outcome, score, treatment, kind)
    return float(np.trapezoid(y, x) - x[-1] * y[-1] / 2)


def value(name: str, outcome: Floats, score: Floats, treatment: Floats) -> float:
    """A measure by its definition."""
    n, n_treated = len(outcome), treatment.sum()
    signed = np.where(treatment == 1, outcome, -outcome)
    columns = (outcome, score, treatment)
    if name == "Qini":
        return excess(*columns, "Qini") / excess(outcome, signed, treatment, "Qini")
    if name == "Qini-area":
        return float(excess(*columns, "Qini") / n / n_treated)
    if name == "AUUC":
        x, y = curve(*columns, "uplift")
        return float(np.trapezoid(y, x) / n**2)
    control = ((outcome == 1) & (treatment == 0)).sum()
    others = ((outcome == 0) & (treatment == 1)).sum()
    best = 2 * (outcome == treatment) + (outcome if control > others else treatment)
    return excess(*columns, "uplift") / excess(outcome, best, treatment, "uplift")


def values_without(measure: Any) -> Any:
    """The function of a measure that leaves out each row."""
    return measure.definition.moves


AREAS = ("Qini", "Qini-area", "AUUC", "normalized-AUUC")


def rows_of(seed: int, n: int, *, tied: bool = True) -> tuple[Floats, Floats, Floats]:
    random = np.random.default_rng(seed)
    treatment = (random.random(n) < 0.4).astype(float)
    treatment[:2] = 0, 1
    score = random.integers(0, 8, n).astype(float) if tied else random.permutation(n) / n
    return (random.random(n) < 0.4 + 0.1 * treatment).astype(float), score, treatment


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_areas_are_those_of_curves_point_by_point(seed: int, tied: bool) -> None:
    rows = rows_of(seed, 40, tied=tied)
    statistic = UpliftRows.from_experiment(*rows)
    for name in AREAS:
        assert cal.measure(name).apply(statistic) == pytest.approx(value(name, *rows), abs=1e-12)


def test_areas_of_amounts() -> None:
    outcome, score, treatment = rows_of(3, 50)
    outcome = outcome * np.random.default_rng(1).lognormal(size=50)
    statistic = UpliftRows.from_experiment(outcome, score, treatment)
    for name in AREAS[:3]:
        assert cal.measure(name).apply(statistic) == pytest.approx(
            value(name, outcome, score, treatment), abs=1e-12
        )
    assert cal.measure("normalized-AUUC").reasons(statistic)["outcome_not_binary"] > 0


def test_an_example_by_hand() -> None:
    """Treated, control, treated, control in this order, of which the first and last respond."""
    rows = UpliftRows.from_experiment(
        np.array([1.0, 0.0, 0.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 0, 1, 0])
    )
    # Uplift curve: 1 of 1 treated; 1 of 1 less 0 of 1; 1 of 2 less 0; 1 of 2 less 1 of 2.
    heights = np.array([0, 0.25 * 1, 0.5 * 1, 0.75 * 0.5, 0])
    assert cal.measure("AUUC").apply(rows) == pytest.approx(heights[1:4].sum() / 4)
    # Qini curve, per treated row: 1, 1 − 0, 1 − 0, 1 − 1·2/2.
    assert cal.measure("Qini-area").apply(rows) == pytest.approx((0.5 + 0.5 + 0.5) / 4)
    assert cal.measure("Qini").apply(rows) == pytest.approx(1)
    assert cal.measure("uplift@0.5").apply(rows) == 1
    assert cal.measure("uplift@0.75").apply(rows) == 0.5
    assert cal.measure("uplift@1").apply(rows) == 0
    # Of 2½ rows the last counts half: 1 of 1½ treated rows.
    assert cal.measure("uplift@0.625").apply(rows) == pytest.approx(1 / 1.5)


def test_rows_at_the_boundary_count_in_proportion() -> None:
    """Whatever the order of tied rows, the uplift is that of drawing from them."""
    outcome, score, treatment = rows_of(2, 60)
    rows = UpliftRows.from_experiment(outcome, score, treatment)
    for volume in (0.1, 0.3, 0.5):
        k, sums = volume * 60, np.zeros((2, 2))
        for threshold in sorted(set(score), reverse=True):
            tied = score == threshold
            share = np.clip((k - (score > threshold).sum()) / tied.sum(), 0, 1)
            for arm in (0, 1):
                inside = tied & (treatment == arm)
                sums[arm] += share * np.array([inside.sum(), outcome[inside].sum()])
        expected = sums[1, 1] / sums[1, 0] - sums[0, 1] / sums[0, 0]
        assert cal.measure(f"uplift@{volume}").apply(rows) == pytest.approx(expected)
    by_group = cal.measure("uplift(strategy='by-group')@0.5").apply(
        UpliftRows.from_experiment(outcome, np.arange(60.0), treatment)
    )
    means = []
    for arm in (1, 0):
        values = outcome[treatment == arm][::-1]
        half = len(values) / 2
        weight = np.clip(half - np.arange(len(values)), 0, 1)
        means.append(values @ weight / half)
    assert by_group == pytest.approx(means[0] - means[1])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", [*AREAS, "uplift@1"])
def test_values_without_each_row_are_those_of_the_other_rows(name: str, tied: bool) -> None:
    for seed in range(4):
        outcome, score, treatment = rows_of(seed, 24, tied=tied)
        if name == "normalized-AUUC":
            kinds = (outcome == 1) & (treatment == 0), (outcome == 0) & (treatment == 1)
            if abs(kinds[0].sum() - kinds[1].sum()) < 2:
                continue  # without a row another order may be the best one
        else:
            outcome = outcome + np.random.default_rng(seed).integers(0, 3, 24)
        rows, measure = UpliftRows.from_experiment(outcome, score, treatment), cal.measure(name)
        left_out = values_without(measure)(rows, rows, **measure.parameters)
        expected = [
            float(
                measure.apply(
                    UpliftRows.from_experiment(
                        *(np.delete(c, i) for c in (outcome, score, treatment))
                    )
                )
            )
            for i in range(24)
        ]
        np.testing.assert_allclose(left_out, expected, atol=1e-12)


@pytest.mark.parametrize("name", [*AREAS, "uplift@0.3", "uplift(strategy='by-group')@0.3"])
def test_weights_change_values_as_their_derivative_says(name: str) -> None:
    """Of many rows, the value without a row is that with a slightly smaller weight, extrapolated."""
    outcome, score, treatment = rows_of(7, 4000)
    random = np.random.default_rng(0)
    score = np.round(score + 2 * random.random(4000))
    weight = random.uniform(0.5, 2, 4000)
    measure = cal.measure(name)
    rows = UpliftRows.from_experiment(outcome, score, treatment, weight)
    base = float(measure.apply(rows))
    changes = base - values_without(measure)(rows, rows, **measure.parameters)
    for i in range(0, 4000, 331):
        lighter = weight.copy()
        lighter[i] *= 1 - 1e-4
        slope = (base - float(measure.apply(rows.with_weights(lighter)))) / 1e-4
        assert changes[i] == pytest.approx(slope, rel=0.02, abs=2e-6), (name, i)


@pytest.mark.parametrize(("gains", "kind"), [(uplift_gains, "uplift"), (qini_gains, "Qini")])
def test_heights_of_curves_change_as_their_derivative_says(gains: Any, kind: str) -> None:
    outcome, score, treatment = rows_of(9, 3000)
    rows = UpliftRows.from_experiment(outcome, score, treatment)

    def height(weight: Floats, volume: float) -> float:
        targeted = rows.with_weights(weight).targeted
        x = np.append(0.0, targeted.weight / targeted.weight[-1])
        sums = [np.append(0.0, c) for c in targeted.columns]
        n_t, n_c, r_t, r_c = (float(np.interp(volume, x, c)) for c in sums)
        if kind == "uplift":
            return volume * (r_t / n_t - r_c / n_c)
        return (r_t - r_c * n_t / n_c) / float(targeted.treated[-1])

    weight = np.ones(3000)
    for volume in (0.2, 0.62, 1.0):
        changes = gain_changes(rows, rows, volume, gains)
        for i in range(0, 3000, 500):
            lighter = weight.copy()
            lighter[i] -= 1e-4
            slope = (height(weight, volume) - height(lighter, volume)) / 1e-4
            assert changes[i] == pytest.approx(slope, rel=0.02, abs=2e-6), (kind, volume, i)


def test_undefined_without_an_arm_or_a_gain() -> None:
    one = np.ones(4)
    score = np.arange(4.0)
    of_one_arm = UpliftRows.from_experiment(one, score, one)
    without_outcome = UpliftRows.from_experiment(0 * one, score, np.array([0.0, 1, 0, 1]))
    for name in (*AREAS, "uplift@0.3"):
        assert cal.measure(name).reasons(of_one_arm)["one_arm"]
    assert cal.measure("Qini").reasons(without_outcome)["no_targeting_gain"]
    assert cal.measure("AUUC").apply(without_outcome) == 0
    first = UpliftRows.from_experiment(one, score, np.array([0.0, 0, 1, 1]))
    assert cal.measure("uplift@0.5").reasons(first)["one_arm_targeted"]
