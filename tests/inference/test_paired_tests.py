"""Paired tests against SciPy, published values and brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import special, stats

import calipers as cal
from calipers.inference import paired_tests
from calipers.statistics import FloatArray


@pytest.mark.parametrize(
    ("first", "second", "one_sided"),
    [(9, 3, 0.072998), (12, 3, 0.017578), (18, 6, 0.011328), (4, 0, 0.0625)],
)
def test_mcnemar_counts_the_observed_value_in(first: int, second: int, one_sided: float) -> None:
    """P(X ≥ observed): leaving it out (0.019287 for 9 against 3) is anticonservative."""
    for a, b in ((first, second), (second, first)):
        assert paired_tests.mcnemar(a, b).p == pytest.approx(2 * one_sided, abs=1e-6)


@pytest.mark.slow
def test_mcnemar_is_the_binomial_test() -> None:
    """All pairs of counts up to 25."""
    for a, b in product(range(26), repeat=2):
        expected = stats.binomtest(a, a + b).pvalue if a + b else 1.0
        assert paired_tests.mcnemar(a, b).p == pytest.approx(expected, rel=1e-10)


def test_mcnemar_of_two_classifiers() -> None:
    """9 rows only the first gets right and 3 only the second, among rows both get right or wrong."""
    truth = [1] * 9 + [0] * 3 + [0, 1] * 10
    a = [1] * 9 + [1] * 3 + [0, 1] * 8 + [1, 0] * 2
    b = [0] * 9 + [0] * 3 + [0, 1] * 8 + [1, 0] * 2
    ev = cal.classification(truth, {"a": a, "b": b}, measures=["accuracy", "error-rate"])
    for name in ("accuracy", "error-rate"):
        d = ev.compare(baseline="b", test="mcnemar")[name]
        assert d.p == pytest.approx(2 * 0.072998, abs=2e-6)
        assert d.test == "McNemar, exact"
        assert abs(d.value) == pytest.approx(6 / 32)


def test_students_t_is_scipys() -> None:
    generator = np.random.default_rng(0)
    for n in (2, 5, 50):
        a, b = generator.normal(size=(2, n))
        d = a - b
        ours = paired_tests.t_test_from_stats(d.mean(), d.std(ddof=1) / math.sqrt(n), n)
        assert ours.p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-10)


def test_the_loss_difference_of_two_regressions_is_a_paired_t_test() -> None:
    generator = np.random.default_rng(1)
    truth = generator.normal(size=150)
    a, b = truth + generator.normal(size=150), truth + generator.normal(0, 1.2, size=150)
    d = cal.regression(truth, {"a": a, "b": b}, measures="MAE").compare(baseline="b", test="t")[
        "MAE"
    ]
    t = stats.ttest_rel(np.abs(a - truth), np.abs(b - truth))
    assert d.p == pytest.approx(t.pvalue, rel=1e-10)
    assert d.value == pytest.approx(np.abs(a - truth).mean() - np.abs(b - truth).mean())
    sign = np.abs(a - truth) < np.abs(b - truth)
    assert (d.wins, d.losses) == (sign.sum(), (~sign).sum())


def random_differences(generator: np.random.Generator, n: int) -> FloatArray:
    """Ties and zeros included."""
    return np.round(generator.normal(0.3, 1.0, n), int(generator.integers(0, 3)))


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
def test_exact_randomization_is_scipys(n: int) -> None:
    """20 data sets of each size, all patterns of signs."""
    generator = np.random.default_rng(n)
    for _ in range(20):
        d = random_differences(generator, n)
        (ours,) = paired_tests.randomization_test(d[:, None], 10_000, 0)
        assert ours.name == "paired randomization, exact"
        signs = np.array(list(product([-1, 1], repeat=n)))
        extreme = np.abs(signs @ d) >= abs(d.sum()) - 1e-9
        assert ours.p == pytest.approx(extreme.mean(), abs=1e-12)
        if n > 1:
            theirs = stats.permutation_test(
                (d, np.zeros(n)),
                lambda a, b: np.mean(a - b),
                permutation_type="samples",
                n_resamples=np.inf,
                vectorized=False,
            )
            assert ours.p == pytest.approx(min(1.0, theirs.pvalue), abs=1e-12)


def test_sampled_randomization_comes_near_the_exact_one() -> None:
    generator = np.random.default_rng(8)
    table = generator.normal(0.4, 1.0, (15, 6))
    exact = paired_tests.randomization_test(table, 2**15, 0)
    drawn = paired_tests.randomization_test(table, 2**15 - 1, 0)
    assert {t.name for t in exact} == {"paired randomization, exact"}
    assert {t.name for t in drawn} == {"paired randomization"}
    for a, b in zip(exact, drawn, strict=True):
        assert b.p == pytest.approx(a.p, abs=4 * math.sqrt(a.p / 2**15) + 1e-4)


def test_a_sampled_p_value_is_never_0() -> None:
    (found,) = paired_tests.randomization_test(np.ones((40, 1)), 999, 0)
    assert found.p == 1 / 1000


def test_the_randomization_test_keeps_its_level() -> None:
    """4,000 samples of 12 without a difference: 5% and 10% are rejected, as the exact test does."""
    d = np.random.default_rng(9).standard_t(3, (12, 4000))
    p = np.array([t.p for t in paired_tests.randomization_test(d, 10_000, 0)])
    for level in (0.05, 0.1):
        assert (p <= level).mean() == pytest.approx(level, abs=0.015)


def test_the_bootstrap_p_value() -> None:
    replicates = np.r_[np.full(970, 0.2), np.full(29, -0.1), np.nan]
    assert paired_tests.bootstrap_test(replicates).p == pytest.approx(2 * 30 / 1000)
    assert paired_tests.bootstrap_test(-replicates).p == pytest.approx(2 * 30 / 1000)
    assert paired_tests.bootstrap_test(np.zeros(100)).p == 1.0
    on_zero = np.array([0.3, 0.0, 0.0, -0.1])  # three of four on either side, or on 0
    assert [paired_tests.bootstrap_test(on_zero, side).p for side in SIDES] == pytest.approx(
        [1, 0.8, 0.8]
    )
    assert math.isnan(paired_tests.bootstrap_test(np.full(10, np.nan)).p)


def test_delong_paired_is_near_the_paired_bootstrap() -> None:
    generator = np.random.default_rng(10)
    truth = np.arange(300) < 120
    signal = truth + generator.normal(size=300)
    scores = {name: signal + generator.normal(0, 0.7, 300) for name in "ab"}
    ev = cal.classification(truth, score=scores, measures="AUC")
    d = ev.compare(baseline="a", test="delong")["AUC"]
    assert d.test == d.method == "DeLong, paired"
    order = generator.integers(0, 300, (600, 300))
    positive = truth[order].sum(axis=1)
    ranks = {name: stats.rankdata(score[order], axis=1) for name, score in scores.items()}
    sums = [(ranks[name] * truth[order]).sum(axis=1) for name in "ab"]  # of the positives' ranks
    drawn = (sums[1] - sums[0]) / (positive * (300 - positive))
    se = (d.high - d.low) / (2 * stats.norm.ppf(0.975))
    assert se == pytest.approx(drawn.std(), rel=0.12)
    assert d.p == pytest.approx(2 * stats.norm.sf(abs(d.value) / se), rel=1e-9)


@pytest.mark.parametrize(
    "test",
    [paired_tests.z_test_from_stats, lambda v, s, n: paired_tests.t_test_from_stats(v, s, 5, n)],
)
def test_a_difference_without_any_error_is_no_proof(test: object) -> None:
    """Six rows, separated by one system and tied by the other: DeLong's variance is 0, and a p of
    0 would call that certain."""
    assert test(0.0, 0.0, "t").p == 1.0  # type: ignore[operator]
    assert math.isnan(test(0.5, 0.0, "t").p)  # type: ignore[operator]
    assert math.isnan(test(0.5, math.nan, "t").p)  # type: ignore[operator]
    ev = cal.classification(
        [0, 0, 0, 1, 1, 1], score={"a": [1, 2, 3, 4, 5, 6], "b": [0] * 6}, measures="AUC"
    )
    d = ev.compare(baseline="b")["AUC"]
    assert d.value == 0.5
    assert d.low < 0
    assert d.p > 0.05
    d = ev.compare(baseline="b", interval="analytic")["AUC"]
    assert not d.has_interval
    assert d.interval_reason == "no_spread"
    assert math.isnan(d.p)


def test_students_t_needs_two_units() -> None:
    """Effective ones, of which there may be one and a half."""
    assert math.isnan(paired_tests.t_test_from_stats(1.0, 0.5, 1.5).p)
    assert paired_tests.t_test_from_stats(1.0, 0.5, 2.0).p == pytest.approx(2 * stats.t.sf(2, 1))


def test_nothing_is_learnt_from_replicates_of_one_value() -> None:
    assert math.isnan(paired_tests.bootstrap_test(np.full(999, 0.4)).p)
    assert paired_tests.bootstrap_test(np.zeros(999)).p == 1
    assert math.isnan(
        paired_tests.bootstrap_test(np.append(np.linspace(1, 2, 900), np.full(99, np.nan))).p
    )
    ev = cal.classification([1], predicted={"a": [1], "b": [0]}, positive=1, measures="F1")
    assert ev.compare()["F1"].p > 0.2


@pytest.mark.parametrize("rows", [4, 30])
def test_two_systems_that_separate_may_yet_differ(rows: int) -> None:
    """Of m independent pairs that both order rightly all had to be in order: AUC^m ≥ 0.025."""
    truth, least = np.arange(2 * rows) % 2, 0.025 ** (1 / rows)
    ramp = np.arange(2 * rows) / (2 * rows)
    ev = cal.classification(
        truth, score={"a": truth + ramp / 2, "b": truth + ramp**2 / 3, "c": -truth}, measures="AUC"
    )
    d = ev.compare(baseline="b", adjust="none")["a", "b", "AUC"]
    assert (d.low, d.high, d.p) == (pytest.approx(least - 1), pytest.approx(1 - least), 1)
    # One right and one wrong on all pairs: as likely as heads each time.
    d = ev.compare(baseline="b", adjust="none")["c", "b", "AUC"]
    assert (d.low, d.high) == (-1, pytest.approx(1 - 2 * least))
    assert d.p == pytest.approx(2 * 0.5**rows, rel=1e-6)
    better = ev.compare(baseline="b", adjust="none", alternative="greater")["c", "b", "AUC"]
    assert better.p == pytest.approx(1 - 0.5**rows, rel=1e-6)


# ------------------------------------------------------------------------------------- alternatives

SIDES = ("two-sided", "greater", "less")


@pytest.mark.parametrize("side", SIDES)
def test_one_and_two_sides_are_scipys(side: str) -> None:
    """t, normal, sign, McNemar and the exact randomization, both ways."""
    generator = np.random.default_rng(20)
    for n in (3, 6, 9):
        a, b = np.round(generator.normal(0.2, 1, (2, n)), 1)
        d = a - b
        assert paired_tests.paired_t(d, side).p == pytest.approx(
            stats.ttest_rel(a, b, alternative=side).pvalue, rel=1e-9
        )
        (ours,) = paired_tests.randomization_test(d[:, None], 1000, 0, side)
        signs = np.array(list(product([-1, 1], repeat=n))) @ d
        towards = {"two-sided": np.abs, "greater": np.array, "less": np.negative}[side]
        assert ours.p == pytest.approx((towards(signs) >= towards(d.sum()) - 1e-9).mean())
        assert ours.alternative == side
        above, below = int((d > 0.05).sum()), int((d < -0.05).sum())
        expected = stats.binomtest(above, above + below, alternative=side).pvalue
        assert paired_tests.sign_test(d, side).p == pytest.approx(expected, rel=1e-10)
        assert paired_tests.mcnemar(above, below, side).p == pytest.approx(expected, rel=1e-10)
    z = stats.norm.sf(1.5)
    expected = {"two-sided": 2 * z, "greater": z, "less": 1 - z}[side]
    assert paired_tests.z_test_from_stats(0.3, 0.2, "z", side).p == pytest.approx(
        expected, rel=1e-12
    )


def test_every_result_names_its_sides() -> None:
    d = np.random.default_rng(21).normal(size=12)
    for side in SIDES:
        tests = [
            paired_tests.paired_t(d, side),
            paired_tests.wilcoxon(d, side),
            paired_tests.sign_test(d, side),
            paired_tests.mcnemar(4, 2, side),
            paired_tests.z_test_from_stats(1, 1, "z", side),
            paired_tests.bootstrap_test(d, side),
            *paired_tests.randomization_test(d[:, None], 99, 0, side),
            paired_tests.ratio_randomization_test(np.ones((5, 2)), np.ones((5, 2)), 99, 0, side),
        ]
        assert {t.alternative for t in tests} == {side}
        assert all(t.alternative_text in str(t) for t in tests)
    assert paired_tests.TestResult(0.5, "t", "less").alternative_text == "one-sided (less)"
    with pytest.raises(ValueError, match="alternative is 'larger'"):
        paired_tests.sign_test(d, "larger")


@pytest.mark.parametrize("drawn", [False, True])
def test_the_sides_of_a_randomization_meet(drawn: bool) -> None:
    """What counts for both sides lies beyond the value or on it."""
    d = np.round(np.random.default_rng(22).normal(0.2, 1, (12, 5)), 1)
    tried = 4095 if drawn else 4096
    p = {side: [t.p for t in paired_tests.randomization_test(d, tried, 3, side)] for side in SIDES}
    turned = [t.p for t in paired_tests.randomization_test(-d, tried, 3, "less")]
    np.testing.assert_allclose(turned, p["greater"])
    smaller = np.minimum(p["greater"], p["less"])
    assert (np.abs(2 * smaller - p["two-sided"]) < 0.1).all()
    assert (np.add(p["greater"], p["less"]) >= 1).all()


def test_units_without_a_value_do_not_count() -> None:
    generator = np.random.default_rng(24)
    d = generator.normal(0.3, 1, (200, 3))
    d[::3, 1] = np.nan
    d[8:, 2] = np.nan
    tests = paired_tests.randomization_test(d, 20_000, 1)
    alone = [paired_tests.randomization_test(c[~np.isnan(c)][:, None], 20_000, 1)[0] for c in d.T]
    assert tests[0] == alone[0]
    assert tests[1].p == pytest.approx(alone[1].p, abs=0.01)
    assert tests[2] == alone[2]
    assert tests[2].name == "paired randomization, exact"
    column = d[:, 1]
    for test in (paired_tests.paired_t, paired_tests.wilcoxon, paired_tests.sign_test):
        assert test(column) == test(column[~np.isnan(column)])


@pytest.mark.parametrize("n", [3, 200])
def test_no_p_value_without_finite_values(n: int) -> None:
    table = np.full((n, 3), 0.5)
    table[:, 0] = np.nan
    table[0, 1] = np.inf
    p = [t.p for t in paired_tests.randomization_test(table, 1000, 0)]
    assert np.isnan(p).tolist() == [True, True, False]
    nothing = np.full(n, np.nan)
    for test in (paired_tests.paired_t, paired_tests.wilcoxon, paired_tests.sign_test):
        assert math.isnan(test(nothing).p)


@pytest.mark.parametrize("side", SIDES)
def test_swapped_ratios_by_force(side: str) -> None:
    generator = np.random.default_rng(25)
    for n in (2, 5, 8):
        first, second = generator.integers(1, 6, (2, n, 2)).astype(float)
        pairs = np.stack([first, second])

        def difference(swap: tuple[int, ...], pairs: FloatArray = pairs, n: int = n) -> float:
            a = pairs[np.array(swap), np.arange(n)].sum(axis=0)
            b = pairs[1 - np.array(swap), np.arange(n)].sum(axis=0)
            return float(a[0] / a[1] - b[0] / b[1])

        towards = {"two-sided": abs, "greater": float, "less": lambda x: -x}[side]
        seen = towards(difference((0,) * n))
        drawn = [towards(difference(swap)) for swap in product([0, 1], repeat=n)]
        expected = np.mean([x >= seen - 1e-9 for x in drawn])
        exact = paired_tests.ratio_randomization_test(first, second, 256, 0, side)
        assert exact.p == pytest.approx(expected)
        sampled = paired_tests.ratio_randomization_test(first, second, 2**n - 1, 0, side)
        assert sampled.name == "paired randomization"
    assert math.isnan(paired_tests.ratio_randomization_test(first * [1, 0], second, 99, 0).p)


def test_swaps_that_are_drawn() -> None:
    """They come near the share of all; p counts the swap that was seen in."""
    first, second = np.random.default_rng(26).integers(1, 6, (2, 12, 2)).astype(float)
    exact = paired_tests.ratio_randomization_test(first, second, 4096, 0).p
    drawn = paired_tests.ratio_randomization_test(first, second, 4095, 0).p
    assert 0.05 < exact < 0.95
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4095))
    # None of 99 makes as much of 40 units that all say the same: one in 2³⁹ would.
    first, second = np.tile([4.0, 5.0], (40, 1)), np.tile([1.0, 5.0], (40, 1))
    assert paired_tests.ratio_randomization_test(first, second, 99, 0).p == 1 / 100
    # Of many units the swaps are drawn in turns; with equal ones all make as much.
    first = np.ones((50_000, 2))
    assert paired_tests.ratio_randomization_test(first, first, 99, 0).p == 1


@pytest.mark.parametrize("side", SIDES)
def test_the_mid_p_value(side: str) -> None:
    """Half the probability of what was seen, and all of what is more extreme (Fagerland 2013)."""
    for a, b in product(range(9), repeat=2):
        ours = paired_tests.mcnemar(a, b, side, mid_p=True)
        n = a + b
        if n == 0:
            assert ours.p == 1
            continue
        counts = np.arange(n + 1)
        chance = stats.binom.pmf(counts, n, 0.5)
        towards = {"two-sided": abs(counts - n / 2), "greater": counts, "less": -counts}[side]
        seen = towards[a]
        expected = chance[towards > seen].sum() + chance[towards == seen].sum() / 2
        assert ours.p == pytest.approx(expected, abs=1e-12)
        assert ours.name == "McNemar, mid-p"


def test_mcnemar_is_statsmodels() -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    for a, b in ((0, 4), (7, 2), (30, 41), (5, 5)):
        theirs = mcnemar([[10, a], [b, 3]], exact=True).pvalue
        assert paired_tests.mcnemar(a, b).p == pytest.approx(theirs, rel=1e-12)


# ------------------------------------------------------------------------------------- signed ranks


def signed_ranks_by_force(d: FloatArray, side: str) -> float:
    """All 2ⁿ signs of the ranks, which SciPy's rankdata makes."""
    d = d[d != 0]
    ranks, signs = stats.rankdata(np.abs(d)), (d > 0).astype(float)
    seen, sums = signs @ ranks, np.array(list(product([0, 1], repeat=len(ranks)))) @ ranks
    upper, lower = (sums >= seen).mean(), (sums <= seen).mean()
    return float(
        {"two-sided": min(1, 2 * min(upper, lower)), "greater": upper, "less": lower}[side]
    )


@pytest.mark.parametrize("side", SIDES)
def test_signed_ranks_with_ties_and_zeros_are_exact(side: str) -> None:
    generator = np.random.default_rng(30)
    for n in (1, 2, 5, 9, 12):
        for _ in range(8):
            d = generator.integers(-3, 5, n).astype(float)
            if (d == 0).all():
                continue
            ours = paired_tests.wilcoxon(d, side)
            assert ours.p == pytest.approx(signed_ranks_by_force(d, side), abs=1e-12)
            assert "exact" in ours.name


@pytest.mark.parametrize("side", SIDES)
def test_signed_ranks_are_scipys(side: str) -> None:
    """Exact without ties up to 50, and by the normal distribution with ties beyond 100."""
    generator = np.random.default_rng(31)
    for n in (4, 15, 50):
        d = generator.normal(0.2, 1, n)
        theirs = stats.wilcoxon(d, alternative=side, method="exact")
        assert paired_tests.wilcoxon(d, side).p == pytest.approx(theirs.pvalue, rel=1e-9)
    for n in (130, 400):
        d = np.round(generator.normal(0.1, 1, n), 1)
        theirs = stats.wilcoxon(d, alternative=side, method="approx", correction=True)
        ours = paired_tests.wilcoxon(d, side)
        assert "normal" in ours.name
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_exact_signed_ranks_near_the_normal_ones() -> None:
    """Of 100 units the exact test, of 101 the normal: there is no jump."""
    d = np.random.default_rng(32).normal(0.15, 1, 101)
    exact, near = paired_tests.wilcoxon(d[:100]), stats.wilcoxon(d[:100], method="approx")
    assert "exact" in exact.name
    assert exact.p == pytest.approx(near.pvalue, rel=0.02)


def test_differences_that_tie_but_for_rounding_tie() -> None:
    a, b = np.array([0.3, 0.2, 0.8, 0.1, 0.5]), np.array([0.2, 0.1, 0.7, 0.2, 0.1])
    rounded = np.array([1.0, 1, 1, -1, 4])
    assert paired_tests.wilcoxon(a - b) == paired_tests.wilcoxon(rounded)
    assert paired_tests.wilcoxon(np.array([0.1 + 0.2 - 0.3, 1.0, 2.0])).statistic == 3


def test_signed_ranks_of_nothing_and_of_infinity() -> None:
    assert paired_tests.wilcoxon(np.zeros(5)).p == 1
    assert math.isnan(paired_tests.wilcoxon(np.empty(0)).p)
    endless = np.array([np.inf, 1.0, -2.0, np.inf, 3.0])
    assert paired_tests.wilcoxon(endless) == paired_tests.wilcoxon(np.array([9.0, 1, -2, 9, 3]))


# ------------------------------------------------------------------------------------ levels are kept


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("law", ["normal", "ties", "tails"])
def test_tests_keep_their_level(side: str, law: str) -> None:
    """1,500 samples of 20 without a difference: no test rejects much more than 5%."""
    generator = np.random.default_rng(33)
    d = {
        "normal": generator.normal(size=(20, 1500)),
        "ties": generator.integers(-2, 3, (20, 1500)).astype(float),
        "tails": generator.standard_t(2, (20, 1500)),
    }[law]
    p = {
        "randomization": [t.p for t in paired_tests.randomization_test(d, 2000, 0, side)],
        "wilcoxon": [paired_tests.wilcoxon(x, side).p for x in d.T],
        "sign": [paired_tests.sign_test(x, side).p for x in d.T],
        "t": [paired_tests.paired_t(x, side).p for x in d.T],
    }
    share = {name: np.mean(np.array(values) <= 0.05) for name, values in p.items()}
    # Three standard errors of a share of 5% of 1,500 are 1.7 points.
    assert max(share.values()) < 0.067
    assert min(share["randomization"], share["wilcoxon"]) > 0.025


# ------------------------------------------------------------------------------------------- effect


def test_the_effect_size_of_hedges() -> None:
    d = np.array([1.0, 2.0, 4.0, 5.0, 3.0])
    # mean 3, standard deviation √2.5, correction 1 − 3/(4·4 − 1)
    assert paired_tests.hedges_g(d) == pytest.approx(3 / math.sqrt(2.5) * 0.8)
    generator = np.random.default_rng(13)
    for n in (5, 12, 60):
        d = generator.normal(0.5, 1, n)
        exact = special.gamma((n - 1) / 2) / (math.sqrt((n - 1) / 2) * special.gamma((n - 2) / 2))
        expected = d.mean() / d.std(ddof=1) * exact
        assert paired_tests.hedges_g(d) == pytest.approx(expected, rel=0.005)
    assert math.isnan(paired_tests.hedges_g(np.array([1.0, 2.0])))
    assert paired_tests.hedges_g(np.array([1.0, 2.0, 3.0])) == pytest.approx(2 * (1 - 3 / 7))
    assert math.isnan(paired_tests.hedges_g(np.ones(9)))
    assert math.isnan(paired_tests.hedges_g(np.zeros(9)))
    assert math.isnan(paired_tests.hedges_g(1e6 + 1e-8 * np.arange(5)))  # nothing but rounding
    assert math.isnan(paired_tests.hedges_g(np.array([1.0, np.inf, 2.0, 3.0])))
