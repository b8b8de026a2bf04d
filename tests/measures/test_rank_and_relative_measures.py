"""Kendall's τ, and errors relative to the truth, beside SciPy and hydroeval and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.estimation.regression import SortedRows
from calipers.inference.settings import Settings
from calipers.measures.errors import UnknownMeasureError
from calipers.statistics import NumericRows
from calipers.statistics.regression import concordance_sums

RANDOM = np.random.default_rng(5)
TRUTH = np.round(np.exp(RANDOM.normal(size=60)), 1) + 0.1  # with ties
SAID = np.round(TRUTH * np.exp(RANDOM.normal(0, 0.4, 60)), 1) + 0.1


@pytest.mark.parametrize("levels", [2, 5, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_concordance_pair_by_pair(seed: int, levels: int) -> None:
    random = np.random.default_rng(seed)
    y, p = random.integers(0, levels, (2, 37)).astype(float)
    weight = random.uniform(0, 2, (3, 37))
    rows = NumericRows(y, p, weight)
    signs = np.sign(y[:, None] - y) * np.sign(p[:, None] - p)
    np.testing.assert_allclose(concordance_sums(rows), weight @ signs, atol=1e-10)


@pytest.mark.parametrize("levels", [3, 10_000])
def test_kendall_as_in_scipy(levels: int) -> None:
    random = np.random.default_rng(levels)
    y = random.integers(0, levels, 300)
    p = y + random.integers(0, levels, 300)
    kendall = cal.measure("Kendall")
    assert kendall(y, p) == pytest.approx(stats.kendalltau(y, p).statistic, abs=1e-12)
    counts = random.integers(0, 4, 300)
    expected = stats.kendalltau(np.repeat(y, counts), np.repeat(p, counts)).statistic
    assert kendall(y, p, weight=counts) == pytest.approx(expected, abs=1e-12)
    assert cal.measure("kendalltau") == kendall


def test_how_rows_move_kendall() -> None:
    """The derivative by the weight of each row, by differences."""
    random = np.random.default_rng(1)
    y, p = random.integers(0, 9, (2, 20)).astype(float)
    weight, kendall = random.uniform(0.5, 2, 20), cal.measure("Kendall")
    sample = SortedRows(y, p, weight, None, Settings())
    influence = sample._influence(kendall)
    assert influence is not None
    for row in range(20):
        step = np.zeros(20)
        step[row] = 1e-5
        up, down = (kendall.apply(NumericRows(y, p, weight + s * step)) for s in (1, -1))
        slope = float(up - down) / 2e-5 * weight.sum()
        assert influence.column[row] == pytest.approx(slope, abs=1e-6)
    # A batch has the influence of its rows on all of them.
    batch = SortedRows(y[5:9], p[5:9], weight[5:9], None, Settings())
    part = batch._influence(kendall, NumericRows(y, p, weight))
    assert part is not None
    np.testing.assert_allclose(part.column, influence.column[5:9], atol=1e-10)


def test_kendall_of_two_systems_and_of_slices() -> None:
    half = np.where(np.arange(60) % 2, "a", "b")
    evaluation = cal.regression(
        TRUTH, {"one": SAID, "two": SAID[::-1]}, measures=["Kendall"], slices={"half": half},
        curves=False,
    )  # fmt: skip
    assert evaluation.comparison is not None
    assert evaluation.comparison["Kendall"].p < 0.001
    assert evaluation.slices is not None
    assert evaluation.slices[0].estimate.value == pytest.approx(
        stats.kendalltau(TRUTH[half == "a"], SAID[half == "a"]).statistic
    )
    [estimate, _] = evaluation
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # hydroeval 0.1.0: kge, kgeprime and nse.
        ("KGE", 0.9008059479559799), ("KGE(variant='2012')", 0.8626611101704507),
        ("NSE", 0.8904536573796967),
        ("NRMSE", np.sqrt(1 - 0.8904536573796967)),
        ("NRMSE(normalization='mean')", np.sqrt(np.mean((SAID - TRUTH) ** 2)) / TRUTH.mean()),
        ("Theil-U1", np.sqrt(np.mean((SAID - TRUTH) ** 2))
         / (np.sqrt(np.mean(TRUTH**2)) + np.sqrt(np.mean(SAID**2)))),
        ("Theil-U2(naive_rmse=0.8)", np.sqrt(np.mean((SAID - TRUTH) ** 2)) / 0.8),
    ],
)  # fmt: skip
def test_relative_errors(name: str, expected: float) -> None:
    assert cal.measure(name)(TRUTH, SAID) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("power", [-2.5, -1, 0])
def test_tweedie_deviance_of_powers_up_to_0(power: float) -> None:
    """The truth may then be negative; a deviance between the powers 0 and 1 does not exist."""
    truth = TRUTH - 1
    for name, theirs in (
        ("Tweedie-deviance", metrics.mean_tweedie_deviance),
        ("D2-Tweedie", metrics.d2_tweedie_score),
    ):
        measure = cal.measure(f"{name}(power={power})")
        assert measure(truth, SAID) == pytest.approx(theirs(truth, SAID, power=power), abs=1e-12)
        with pytest.raises(UnknownMeasureError, match="expected at most 0, or 1 or more"):
            cal.measure(f"{name}(power=0.5)")
    below = cal.measure("Tweedie-deviance(power=-1)")
    assert np.isnan(below(truth, -SAID))
    assert cal.measure("Tweedie-deviance(power=0)")(truth, -SAID) == pytest.approx(
        cal.measure("MSE")(truth, -SAID)
    )


@pytest.mark.parametrize(
    ("truth", "predicted", "name", "reason"),
    [
        ([1, 1, 1], [1, 2, 3], "Kendall", "constant_truth"),
        ([1, 2, 3], [1, 1, 1], "Kendall", "constant_prediction"),
        ([1, 1, 1], [1, 2, 3], "NRMSE", "constant_truth"),
        ([-1, 0, 1], [1, 2, 3], "NRMSE(normalization='mean')", "zero_truth_mean"),
        ([-1, 0, 1], [1, 2, 3], "KGE", "zero_truth_mean"),
        ([0, 0, 0], [0, 0, 0], "Theil-U1", "all_zero"),
    ],
)
def test_no_value(truth: Any, predicted: Any, name: str, reason: str) -> None:
    [found] = cal.regression(truth, predicted, measures=[name], curves=False)
    assert dict(found.undefined) == {reason: 3}
    assert np.isnan(found.value)


def test_the_interval_of_kge_is_that_of_the_length_of_three_errors() -> None:
    """Patnaik's χ² of their covariances by leaving out each row, written plainly."""
    from scipy import stats

    from calipers.inference.noncentral_chi_square import norm_limits

    random = np.random.default_rng(2)
    n, truth = 25, 5 + random.normal(size=25)
    predicted = truth + 0.2 * random.normal(size=25)

    def errors(rows: np.ndarray) -> np.ndarray:
        y, p = truth[rows], predicted[rows]
        r = np.corrcoef(y, p)[0, 1]
        return np.array([r, p.std() / y.std(), p.mean() / y.mean()]) - 1

    vector = errors(np.arange(n))
    left_out = np.array([errors(np.delete(np.arange(n), i)) for i in range(n)])
    changes = vector - left_out
    t = stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975)
    covariances = (n - 1) / n * changes.T @ changes * t**2
    length, trace = np.linalg.norm(vector), np.trace(covariances)
    squares = np.square(covariances).sum()
    se = np.sqrt(vector @ covariances @ vector) / length
    low, high = norm_limits(length, se, length**2 * trace / squares, trace**2 / squares, 0.95)
    [found] = cal.regression(truth, predicted, measures=["KGE"], curves=False)
    assert (found.low, found.high) == pytest.approx((1 - high, 1 - low), rel=1e-8)
    weighted = cal.regression(
        truth, predicted, measures=["KGE"], weight=np.full(n, 3.0), curves=False
    )["KGE"]
    assert (weighted.low, weighted.high) == pytest.approx((found.low, found.high), rel=1e-8)


@pytest.mark.slow
def test_intervals_of_a_kge_near_one_hold() -> None:
    held = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        truth = 5 + random.normal(size=30)
        predicted = truth + 0.1 * random.normal(size=30)
        [found] = cal.regression(truth, predicted, measures=["KGE"], curves=False)
        # r is 1/√1.01, α √1.01 and β 1.
        true = 1 - np.hypot(1 / np.sqrt(1.01) - 1, np.sqrt(1.01) - 1)
        held += found.low <= true <= found.high
    assert held >= 184


def test_relative_errors_of_heavy_tails_have_a_caution() -> None:
    random = np.random.default_rng(1)
    truth = np.exp(random.normal(size=100))
    noise = 0.3 * random.normal(size=100)
    for y, p, has_caution in (
        (truth, truth + noise, True),
        (truth, truth * np.exp(noise), True),
        (5 + np.log(truth), 5 + np.log(truth) + noise, False),
    ):
        for e in cal.regression(y, p, measures=["NRMSE", "Theil-U1"], curves=False):
            assert ("a heavy tail" in e.method) is has_caution
