"""Non-inferiority and equivalence against SciPy, statsmodels, intervals and simulation."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from calipers.inference import intervals, margins
from calipers.statistics import FloatArray


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
        ours = margins.equivalence(margins.by_units(a - b), 0.5)
        assert ours.p == pytest.approx(theirs[0], rel=1e-9)
        assert ours.alternative == ("greater" if theirs[1][1] > theirs[2][1] else "less")
        d = a - b
        by_error = margins.by_error(d.mean(), d.std(ddof=1) / math.sqrt(n), "paired t", n - 1)
        assert margins.equivalence(by_error, 0.5).p == pytest.approx(ours.p, rel=1e-9)


@pytest.mark.parametrize("better", [True, False])
def test_non_inferiority_looks_at_the_worse_side(better: bool) -> None:
    a, b = paired_values(3, 25, 0.1)
    margin = 0.4 if better else -0.4
    t = stats.ttest_1samp(a - b, -margin, alternative="greater" if better else "less")
    ours = margins.non_inferiority(margins.by_units(a - b), 0.4, higher_is_better=better)
    assert ours.p == pytest.approx(t.pvalue, rel=1e-9)
    assert ours.alternative == ("greater" if better else "less")
    # Errors are turned accuracies: the same question has the same answer.
    turned = margins.non_inferiority(margins.by_units(b - a), 0.4, higher_is_better=not better)
    assert turned.p == pytest.approx(ours.p)


def test_wilcoxon_is_scipys() -> None:
    a, b = paired_values(4, 20, 0.1)
    test = margins.by_units(a - b, "wilcoxon")
    for at, side in product((-0.5, 0.3), ("greater", "less")):
        theirs = stats.wilcoxon(a - b - at, alternative=side, method="exact")
        assert test(at, side).p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_randomisation_tries_all_signs_of_the_shifted_differences() -> None:
    d = np.round(np.random.default_rng(5).normal(0.1, 0.4, 9), 1)
    signs = np.array(list(product([-1, 1], repeat=9)))
    ours = margins.non_inferiority(margins.by_units(d, "randomisation"), 0.2)
    shifted = d + 0.2
    assert ours.p == pytest.approx((signs @ shifted >= shifted.sum() - 1e-9).mean())
    assert "paired randomisation, exact" in ours.name
    with pytest.raises(ValueError, match="test is 'sign'"):
        margins.by_units(d, "sign")
    # What units count for is there beside every sign.
    weight = np.arange(1.0, 10)
    for side, sign in (("greater", 1), ("less", -1)):
        ours = margins.by_units(d, "randomisation", weight=weight)(0.05, side)
        shifted = sign * weight * (d - 0.05)
        assert ours.p == pytest.approx((signs @ shifted >= shifted.sum() - 1e-9).mean())


def test_the_interval_that_just_reaches_the_margin() -> None:
    """Of normal limits that is the normal test, of either side."""
    test = margins.by_limits(lambda level: intervals.normal_mean(0.3, 0.1, level), 0.3)
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
        made = intervals.student(value, se, 20, 0.9)
        test = margins.by_error(value, se, "t", 19)
        equivalent, no_worse = (
            margins.equivalence(test, margin),
            margins.non_inferiority(test, margin),
        )
        assert (equivalent.p <= 0.05) == (-margin < made.low and made.high < margin)
        assert (no_worse.p <= 0.05) == (made.low > -margin)
        lower = margins.non_inferiority(test, margin, higher_is_better=False)
        assert (lower.p <= 0.05) == (made.high < margin)
        seen.add((equivalent.p <= 0.05, no_worse.p <= 0.05))
    assert len(seen) == 3


def test_replicates_are_counted_beyond_the_margin() -> None:
    replicates = np.r_[np.full(950, 0.01), np.full(40, -0.03), np.full(9, -0.2), np.nan]
    test = margins.by_replicates(replicates)
    assert margins.non_inferiority(test, 0.05).p == pytest.approx(10 / 1000)
    assert margins.non_inferiority(test, 0.02).p == pytest.approx(50 / 1000)
    assert margins.equivalence(test, 0.05).p == pytest.approx(10 / 1000)
    assert margins.equivalence(test, 0.005).p == pytest.approx(951 / 1000)


@pytest.mark.parametrize(("b", "c", "n"), [(9, 3, 100), (0, 0, 40), (5, 12, 30), (0, 7, 50)])
def test_tangos_score_by_numerical_likelihood(b: int, c: int, n: int) -> None:
    """The share that is only the second's is the likeliest under the stated difference."""
    test = margins.by_discordant(b, c, n)
    for at in (-0.2, -0.05, 0.1, 0.3):

        def loss(p: float, at: float = at) -> float:
            logs = [(b, p + at), (c, p), (n - b - c, 1 - 2 * p - at)]
            return -sum(count * math.log(max(share, 1e-300)) for count, share in logs if count)

        low, high = max(0.0, -at), (1 - at) / 2
        found = optimize.minimize_scalar(
            loss, bounds=(low, high), method="bounded", options={"xatol": 1e-11}
        )
        p = min((found.x, low, high), key=loss)
        z = (b - c - n * at) / math.sqrt(n * (2 * p + at * (1 - at)))
        ours = test(at, "greater")
        assert ours.statistic == pytest.approx(z, abs=1e-4)
        assert ours.p == pytest.approx(stats.norm.sf(z), abs=1e-4)


def test_tango_without_a_difference_is_mcnemars_chi_square() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    theirs = mcnemar([[40, 9], [3, 48]], exact=False, correction=False)
    assert margins.by_discordant(9, 3, 100)(0, "two-sided").p == pytest.approx(theirs.pvalue)


def test_where_there_is_no_answer() -> None:
    assert math.isnan(margins.equivalence(margins.by_error(0.1, math.nan, "z"), 0.2).p)
    assert math.isnan(margins.equivalence(margins.by_error(0.1, 0.0, "z"), 0.2).p)
    assert math.isnan(margins.by_discordant(0, 0, 0)(0.1, "greater").p)
    assert math.isnan(margins.by_discordant(3, 2, 10)(1.0, "greater").p)
    undefined = margins.equivalence(margins.by_replicates(np.full(9, np.nan)), 0.2)
    assert math.isnan(undefined.p)
    assert not undefined.p <= 0.05
    for margin in (0.0, -0.1, math.nan, math.inf):
        for ask in (margins.equivalence, margins.non_inferiority):
            with pytest.raises(ValueError, match="expected a number above 0"):
                ask(margins.by_error(0.0, 1.0, "z"), margin)


@pytest.mark.parametrize("kind", ["t", "wilcoxon", "randomisation"])
def test_at_the_margin_one_in_twenty_is_let_through(kind: str) -> None:
    """1,000 samples of 25 whose true difference is just the margin."""
    generator = np.random.default_rng(7)
    d = generator.normal(-0.5, 1, (1000, 25))
    shown = [
        margins.non_inferiority(margins.by_units(x, kind, resamples=999), 0.5).p <= 0.05 for x in d
    ]
    assert 0.03 < np.mean(shown) < 0.071
    both = [margins.equivalence(margins.by_units(x, kind, resamples=999), 0.5).p <= 0.05 for x in d]
    assert np.mean(both) <= np.mean(shown)


def test_paired_shares_at_the_margin() -> None:
    """2,000 tables of 200 rows, 12% only the first's and 17% only the second's: margin 5 points."""
    generator = np.random.default_rng(8)
    counts = generator.multinomial(200, [0.12, 0.17, 0.71], 2000)
    shown = [
        margins.non_inferiority(margins.by_discordant(b, c, 200), 0.05).p <= 0.05
        for b, c, _ in counts
    ]
    assert 0.035 < np.mean(shown) < 0.065
