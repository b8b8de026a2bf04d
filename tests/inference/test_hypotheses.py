"""Non-inferiority and equivalence against SciPy, statsmodels, intervals and simulation."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.inference import hypotheses, intervals
from calipers.inference.bayesian_bootstrap import AugmentedMean
from calipers.inference.intervals import Interval
from calipers.inference.procedures import (
    LimitsProcedure,
    McNemarProcedure,
    Procedure,
    RandomizationProcedure,
    ReplicateProcedure,
    SignedRankProcedure,
    WaldProcedure,
)
from calipers.inference.variance_estimators import StandardError
from calipers.statistics import FloatArray


def by_error(value: float, se: float, name: str = "t", degrees: float | None = None) -> Procedure:
    return WaldProcedure(
        value=value, method=name, name=name, t_error=StandardError(se, name, degrees)
    )


def by_units(
    d: FloatArray, test: str = "t", n_resamples: int = 10_000, weight: FloatArray | None = None
) -> Procedure:
    if test == "t":
        return by_error(d.mean(), d.std(ddof=1) / math.sqrt(len(d)), "paired t", len(d) - 1)
    shared = {"value": float(np.average(d, weights=weight)), "method": test, "name": test}
    if test == "wilcoxon":
        return SignedRankProcedure(**shared, units=d)
    return RandomizationProcedure(**shared, units=d, weight=weight, n_resamples=n_resamples)


def by_replicates(drawn: FloatArray) -> Procedure:
    there = np.sort(drawn[np.isfinite(drawn)])
    reason = None if len(there) else "degenerate_replicates"
    return ReplicateProcedure(
        value=0.0, method="bootstrap", name="bootstrap", replicates=there, reason=reason
    )


def paired_values(seed: int, n: int, shift: float) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    a = generator.normal(size=n)
    return a, a + generator.normal(-shift, 1, n)


def test_equivalence_is_statsmodels() -> None:
    """Two one-sided paired t tests."""
    from statsmodels.stats.weightstats import ttost_paired

    for seed, n, shift in ((0, 12, 0.1), (1, 40, -0.2), (2, 7, 0.9)):
        a, b = paired_values(seed, n, shift)
        theirs = ttost_paired(a, b, -0.5, 0.5)
        ours = hypotheses.equivalence_test(by_units(a - b).test, 0.5)
        assert ours.p == pytest.approx(theirs[0], rel=1e-9)
        assert ours.alternative == ("greater" if theirs[1][1] > theirs[2][1] else "less")


@pytest.mark.parametrize("better", [True, False])
def test_non_inferiority_looks_at_the_worse_side(better: bool) -> None:
    a, b = paired_values(3, 25, 0.1)
    margin = 0.4 if better else -0.4
    t = stats.ttest_1samp(a - b, -margin, alternative="greater" if better else "less")
    ours = hypotheses.non_inferiority_test(by_units(a - b).test, 0.4, higher_is_better=better)
    assert ours.p == pytest.approx(t.pvalue, rel=1e-9)
    assert ours.alternative == ("greater" if better else "less")
    # Errors are turned accuracies: the same question has the same answer.
    turned = hypotheses.non_inferiority_test(by_units(b - a).test, 0.4, higher_is_better=not better)
    assert turned.p == pytest.approx(ours.p)


def test_wilcoxon_is_scipys() -> None:
    a, b = paired_values(4, 20, 0.1)
    test = by_units(a - b, "wilcoxon").test
    for at, side in product((-0.5, 0.3), ("greater", "less")):
        theirs = stats.wilcoxon(a - b - at, alternative=side, method="exact")
        assert test(at, side).p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_randomisation_tries_all_signs_of_the_shifted_differences() -> None:
    d = np.round(np.random.default_rng(5).normal(0.1, 0.4, 9), 1)
    signs = np.array(list(product([-1, 1], repeat=9)))
    ours = hypotheses.non_inferiority_test(by_units(d, "randomization").test, 0.2)
    shifted = d + 0.2
    assert ours.p == pytest.approx((signs @ shifted >= shifted.sum() - 1e-9).mean())
    # What units count for is there beside every sign.
    weight = np.arange(1.0, 10)
    made = by_units(d, "randomization", weight=weight)
    for at, side, sign in ((-0.3, "greater", 1), (0.4, "less", -1)):
        assert (made.value - at) * sign > 0
        shifted = sign * weight * (d - at)
        expected = (signs @ shifted >= shifted.sum() - 1e-9).mean()
        assert made.p(at, side) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["randomization", "sign", "wilcoxon", "t"])
def test_systems_that_never_differ_do_not_differ(method: str) -> None:
    truth, same = np.arange(40.0), np.arange(40.0) + 1
    evaluation = cal.regression(truth, {"a": same, "b": same.copy()}, measures=["MAE"])
    [difference] = evaluation.compare(test=method)
    assert (difference.value, difference.p) == (0.0, 1.0)


def test_the_interval_that_just_reaches_the_margin() -> None:
    """Of normal limits that is the normal test, of either side."""

    def limits(level: float) -> Interval:
        return intervals.normal_interval(0.3, 0.1, level)

    test = LimitsProcedure(value=0.3, method="normal", name="normal", limits=limits).test
    for at, beyond in ((0.1, 2), (0.25, 0.5), (0.35, -0.5), (0.5, -2)):
        p = {"greater": stats.norm.sf(beyond), "less": stats.norm.cdf(beyond)}
        p["two-sided"] = 2 * min(p.values())
        for side, expected in p.items():
            made = test(at, side)
            assert (made.p, made.alternative) == (pytest.approx(expected, rel=1e-6), side)


def test_the_interval_tells_the_same() -> None:
    """At 5% by the 90% interval: within the margins, or its worse end above the margin."""
    generator = np.random.default_rng(6)
    seen = set()
    for _ in range(200):
        value, se, margin = generator.normal(0, 0.5), generator.uniform(0.1, 0.5), 0.6
        made = intervals.student_interval(value, se, 20, 0.9)
        test = by_error(value, se, "t", 19).test
        equivalent, no_worse = (
            hypotheses.equivalence_test(test, margin),
            hypotheses.non_inferiority_test(test, margin),
        )
        assert (equivalent.p <= 0.05) == (-margin < made.low and made.high < margin)
        assert (no_worse.p <= 0.05) == (made.low > -margin)
        lower = hypotheses.non_inferiority_test(test, margin, higher_is_better=False)
        assert (lower.p <= 0.05) == (made.high < margin)
        seen.add((equivalent.p <= 0.05, no_worse.p <= 0.05))
    assert len(seen) == 3


def test_replicates_are_counted_beyond_the_margin() -> None:
    replicates = np.r_[np.full(950, 0.01), np.full(40, -0.03), np.full(9, -0.2), np.nan]
    test = by_replicates(replicates).test
    assert hypotheses.non_inferiority_test(test, 0.05).p == pytest.approx(10 / 1000)
    assert hypotheses.non_inferiority_test(test, 0.02).p == pytest.approx(50 / 1000)
    assert hypotheses.equivalence_test(test, 0.05).p == pytest.approx(10 / 1000)
    assert hypotheses.equivalence_test(test, 0.005).p == pytest.approx(951 / 1000)


def test_where_there_is_no_answer() -> None:
    nothing = by_replicates(np.full(9, np.nan))
    assert math.isnan(hypotheses.equivalence_test(nothing.test, 0.2).p)
    none_discordant = McNemarProcedure(
        value=0.0, method="McNemar", name="McNemar", n_first=0, n_second=0, n_rows=9,
        reason="nothing_differs",
    )  # fmt: skip
    assert none_discordant.p() == 1
    assert math.isnan(hypotheses.equivalence_test(none_discordant.test, 0.2).p)
    # Where an error is not known, any difference that there can be is possible.
    unknown = WaldProcedure(
        value=0.1, method="t", name="t", t_error=StandardError(math.nan, "t"), bounds=(-1.0, 1.0)
    )
    assert unknown.p(-0.5, "greater") == 1
    assert (unknown.interval(0.95).low, unknown.interval(0.95).high) == (-1.0, 1.0)
    assert unknown.p(-1.1, "greater") == 0
    for margin in (0.0, -0.1, math.nan, math.inf):
        for ask in (hypotheses.equivalence_test, hypotheses.non_inferiority_test):
            with pytest.raises(ValueError, match="expected a number above 0"):
                ask(by_error(0.0, 1.0, "z").test, margin)


@pytest.mark.parametrize("kind", ["t", "wilcoxon", "randomization"])
def test_at_the_margin_one_in_twenty_is_let_through(kind: str) -> None:
    """1,000 samples of 25 whose true difference is just the margin."""
    generator = np.random.default_rng(7)
    d = generator.normal(-0.5, 1, (1000, 25))
    shown = [
        hypotheses.non_inferiority_test(by_units(x, kind, n_resamples=999).test, 0.5).p <= 0.05
        for x in d
    ]
    assert 0.03 < np.mean(shown) < 0.071
    both = [
        hypotheses.equivalence_test(by_units(x, kind, n_resamples=999).test, 0.5).p <= 0.05
        for x in d
    ]
    assert np.mean(both) <= np.mean(shown)


@pytest.mark.slow
def test_paired_shares_at_the_margin() -> None:
    """2,000 tables of 200 rows, 12% only the first's and 17% only the second's: margin 5 points."""
    generator = np.random.default_rng(8)
    counts = generator.multinomial(200, [0.12, 0.17, 0.71], 2000).astype(float)
    shown = []
    for row in counts:
        d = (row[0] - row[1]) / 200
        se = math.sqrt((row[0] + row[1] - 200 * d * d) / 200 / 199)
        values = np.array([1.0, -1.0, 0.0])
        ends = max(-1.0, d - 1), min(1.0, d + 1)
        made = WaldProcedure(
            value=d, method="", name="", t_error=StandardError(se, "t", 199.0),
            augmented_mean=AugmentedMean.from_values(values, ends, counts=row), bounds=(-1.0, 1.0),
        )  # fmt: skip
        shown.append(hypotheses.non_inferiority_test(made.test, 0.05).p <= 0.05)
    assert 0.03 < np.mean(shown) < 0.06


@pytest.mark.parametrize(("first", "second"), [(8, 0), (5, 3), (0, 8)])
@pytest.mark.parametrize("at", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_the_bounds_are_differences_that_there_can_be(first: int, second: int, at: float) -> None:
    """Against the binomial test, at the least and at the largest difference too: if all rows differ,
    eight of eight are what a difference of 1 makes for certain."""
    made = McNemarProcedure(
        value=(first - second) / 8,
        method="none",
        name="none",
        bounds=(-1.0, 1.0),
        n_first=first,
        n_second=second,
        n_rows=8,
    )
    for alternative in ("greater", "less"):
        truth = stats.binomtest(first, 8, (1 + at) / 2, alternative).pvalue
        assert made.p(at, alternative) == pytest.approx(max(truth, 0.0), abs=1e-12)
