"""Tests over several splits: by hand, by SciPy's distributions, and on simulated cross-validation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from calipers.inference import resampled_tests

#: Differences of error rates in ten folds, five repetitions of two.
TABLE = np.array([[0.04, 0.02], [0.03, 0.05], [0.01, 0.03], [0.02, -0.02], [0.05, 0.02]])


def test_dietterichs_t_by_hand() -> None:
    """Variances of the repetitions: .0002, .0002, .0002, .0008 and .00045, mean .00037."""
    t = 0.04 / math.sqrt(0.00037)
    found = resampled_tests.five_by_two_t(TABLE)
    assert found.test.statistic == pytest.approx(t)
    assert found.test.p == pytest.approx(2 * stats.t.sf(t, 5))
    assert found.mean == pytest.approx(0.025)
    assert found.mean_description == "averaged over 10 splits"
    assert found.caution
    assert resampled_tests.five_by_two_t(TABLE, "greater").test.p == pytest.approx(stats.t.sf(t, 5))
    assert resampled_tests.five_by_two_t(TABLE, "less").test.p == pytest.approx(stats.t.cdf(t, 5))


def test_alpaydins_f_by_hand() -> None:
    """Squares sum to .0101, the variances to .00185."""
    f = 0.0101 / (2 * 0.00185)
    found = resampled_tests.five_by_two_f(TABLE)
    assert found.test.statistic == pytest.approx(f)
    assert found.test.p == pytest.approx(stats.f.sf(f, 10, 5))
    assert found.interval.reason == "no_interval_of_test"
    # The folds of a repetition may stand in any order.
    assert found.mean_description == "averaged over 10 splits"
    assert resampled_tests.five_by_two_f(TABLE[::-1, ::-1]).test.p == pytest.approx(found.test.p)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_nadeau_and_bengio_by_scipy(side: str) -> None:
    """The plain t over splits, its variance times 1 + J · test/train."""
    d = np.random.default_rng(0).normal(0.02, 0.03, 10)
    plain = stats.ttest_1samp(d, 0, alternative=side)
    assert resampled_tests.uncorrected_t(d, side).test.p == pytest.approx(plain.pvalue, rel=1e-9)
    corrected = resampled_tests.corrected_t(d, 900, 100, side)
    t = plain.statistic / math.sqrt(1 + 10 / 9)
    towards = {"two-sided": 2 * stats.t.sf(abs(t), 9), "greater": stats.t.sf(t, 9)}
    assert corrected.test.p == pytest.approx(towards.get(side, stats.t.cdf(t, 9)), rel=1e-9)
    assert corrected.test.alternative == side


def test_two_splits_by_hand() -> None:
    """(1/2 + 1/4)·s², on 1 degree of freedom."""
    found = resampled_tests.corrected_t(np.array([0.02, 0.05]), n_train=80, n_test=20)
    t = 0.035 / np.sqrt(0.75 * 0.00045)
    assert found.test.p == pytest.approx(2 * stats.t.sf(t, 1), rel=1e-9)
    assert found.mean_description == "averaged over 2 splits"


def test_intervals_and_tests_agree() -> None:
    generator = np.random.default_rng(1)
    for _ in range(50):
        found = resampled_tests.corrected_t(generator.normal(0.5, 1, 10), 90, 10)
        assert (found.interval.low > 0 or found.interval.high < 0) == (found.test.p < 0.05)
        assert found.interval.method == found.test.name == "corrected resampled t"


def test_the_plain_t_carries_a_caution() -> None:
    assert "too often" in str(resampled_tests.uncorrected_t(TABLE[0]).caution)
    assert resampled_tests.corrected_t(TABLE[0], 9, 1).caution is None
    for test in (resampled_tests.five_by_two_t, resampled_tests.five_by_two_f):
        assert str(test(TABLE).caution).endswith("rejects too often")


def test_where_there_is_no_test() -> None:
    assert math.isnan(resampled_tests.corrected_t(np.array([0.1]), 9, 1).test.p)
    assert math.isnan(resampled_tests.corrected_t(np.empty(0), 9, 1).mean)
    same = resampled_tests.uncorrected_t(np.full(5, 0.1))
    assert math.isnan(same.test.p)
    assert same.interval.reason == "no_spread"
    assert resampled_tests.uncorrected_t(np.zeros(5)).test.p == 1
    agree = np.repeat([[0.1], [0.3], [0.2], [0.1], [0.7]], 2, axis=1)
    assert math.isnan(resampled_tests.five_by_two_f(agree).test.p)
    assert math.isnan(resampled_tests.five_by_two_t(agree).test.p)
    assert resampled_tests.five_by_two_f(np.zeros((5, 2))).test.p == 1
    # What rounding leaves between folds that agree is no spread.
    rounded = np.tile([0.1 + 0.2, 0.3], (5, 1))
    assert rounded[0, 0] != rounded[0, 1]
    assert math.isnan(resampled_tests.five_by_two_f(rounded).test.p)
    assert math.isnan(resampled_tests.five_by_two_t(rounded).test.p)


def test_what_goes_in_is_checked() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 5\), expected \(5, 2\)"):
        resampled_tests.five_by_two_f(TABLE.T)
    with pytest.raises(ValueError, match=r"split \(1,\) is nan"):
        resampled_tests.uncorrected_t(np.array([0.1, np.nan]))
    with pytest.raises(ValueError, match="sizes are 0 and 10 rows"):
        resampled_tests.corrected_t(TABLE[0], 0, 10)


@pytest.mark.slow
def test_the_correction_keeps_the_level_and_the_plain_test_does_not() -> None:
    """Two rules as good as each other, 30 random hold-outs of a tenth of 200 rows: each
    predicts from one of two features that tell the same of the target."""
    generator = np.random.default_rng(2)
    rejected = {"plain": 0, "corrected": 0}
    for _ in range(400):
        features = generator.normal(size=(200, 2))
        target = features.sum(axis=1) + generator.normal(size=200)
        differences = []
        for _ in range(30):
            test, train = np.split(generator.permutation(200), [20])
            errors = []
            for feature in features.T:
                slope = feature[train] @ target[train] / (feature[train] @ feature[train])
                errors.append(np.square(target[test] - slope * feature[test]).mean())
            differences.append(errors[0] - errors[1])
        d = np.array(differences)
        rejected["plain"] += resampled_tests.uncorrected_t(d).test.p <= 0.05
        rejected["corrected"] += resampled_tests.corrected_t(d, 180, 20).test.p <= 0.05
    assert rejected["plain"] / 400 > 0.2
    assert rejected["corrected"] / 400 < 0.1
