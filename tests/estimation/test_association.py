"""Intervals of Cramér's V and Theil's U: by the noncentral χ², and beside its inversion in SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import calipers as cal
from calipers.inference.noncentral_chi_square import norm_limits

V, U = "Cramer-V", "uncertainty-coefficient"


def intervals(truth: Any, predicted: Any, **options: Any) -> dict[str, Any]:
    evaluation = cal.classification(truth, predicted, measures=[V, U], curves=False, **options)
    return {estimate.measure: estimate for estimate in evaluation}


def inverted(statistic: float, df: int, probability: float) -> float:
    """The noncentrality by SciPy's distribution and a root."""
    return float(
        optimize.brentq(
            lambda x: stats.ncx2.cdf(statistic, df, x) - probability, 1e-9, 10 * statistic + 100
        )
    )


@pytest.mark.parametrize(("statistic", "df"), [(12.0, 2), (30.0, 4), (400.0, 9)])
def test_limits_are_those_of_the_inverted_distribution(statistic: float, df: int) -> None:
    """With the standard error of independence they are those of effectsize and DescTools."""
    norm, n = 0.4, statistic / 0.16
    low, high = norm_limits(norm, norm / statistic**0.5, statistic, df, 0.95)
    expected = [(inverted(statistic, df, p) / n) ** 0.5 for p in (0.975, 0.025)]
    assert (low, high) == pytest.approx(expected, rel=1e-6)


def test_cramers_v_of_a_two_by_two_table() -> None:
    """The error of |MCC| with rows added, by its derivatives, in the same formula."""
    table = np.array([[60, 40], [30, 70]])
    truth, predicted = (np.repeat(code, table.ravel()) for code in ([0, 0, 1, 1], [0, 1, 0, 1]))
    found = intervals(truth, predicted)[V]
    x2 = stats.chi2_contingency(table, correction=False).statistic
    added = table + 0.25

    def phi(cells: np.ndarray) -> float:
        t = cells.reshape(2, 2)
        d = t[0, 0] * t[1, 1] - t[0, 1] * t[1, 0]
        return float(d / np.sqrt(np.prod(t.sum(0)) * np.prod(t.sum(1))))

    gradient = optimize.approx_fprime(added.ravel(), phi, 1e-5)
    se = float(np.sqrt(added.ravel() @ gradient**2))
    assert (found.low, found.high) == pytest.approx(
        norm_limits((x2 / 200) ** 0.5, se, x2, 1, 0.95), rel=1e-4
    )


def test_perfect_association_has_a_lower_limit_below_one() -> None:
    truth = np.arange(300) % 3
    for estimate in intervals(truth, (truth + 1) % 3).values():
        assert estimate.value == 1 == estimate.high
        assert 0.8 < estimate.low < 0.99


def test_weights_and_clusters_of_one_row_are_rows() -> None:
    random = np.random.default_rng(3)
    truth = random.integers(0, 3, 240)
    predicted = np.where(random.random(240) < 0.5, truth, random.integers(0, 3, 240))
    plain = intervals(truth, predicted)
    heavy = intervals(truth, predicted, weight=np.full(240, 2.5))
    alone = intervals(truth, predicted, cluster=np.arange(240))
    for name, estimate in plain.items():
        for other in (heavy[name], alone[name]):
            assert (other.low, other.high) == pytest.approx((estimate.low, estimate.high), abs=4e-3)
        assert heavy[name].low == pytest.approx(estimate.low, rel=1e-6)
    # Rows that occur four times each in a cluster are worth no more than one of them.
    repeated = intervals(
        np.repeat(truth, 4), np.repeat(predicted, 4), cluster=np.repeat(np.arange(240), 4)
    )
    for name, estimate in plain.items():
        assert repeated[name].low == pytest.approx(estimate.low, abs=6e-3)
        assert repeated[name].high == pytest.approx(estimate.high, abs=6e-3)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["rows", "weights", "clusters"])
def test_the_lower_limit_is_0_for_independent_classes(design: str) -> None:
    """In at least 95 of 100 data sets; a multinomial posterior's was above 0 in nearly all."""
    n_above, n_sets = dict.fromkeys((V, U), 0), 200
    for seed in range(n_sets):
        random = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(40), 5)
        truth, predicted = (
            np.where(random.random(200) < 0.6, random.integers(0, 3, 40)[cluster], code)
            if design == "clusters"
            else code
            for code in random.integers(0, 3, (2, 200))
        )
        options = {
            "rows": {},
            "weights": {"weight": random.exponential(size=200) + 0.01},
            "clusters": {"cluster": cluster},
        }[design]
        for name, estimate in intervals(truth, predicted, **options).items():
            n_above[name] += estimate.low > 0
            assert estimate.low <= estimate.value <= estimate.high
    assert max(n_above.values()) <= 0.05 * n_sets + 3
