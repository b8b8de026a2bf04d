"""Paired tests against SciPy, published values and brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import special, stats

import calipers as cal
from calipers.inference import paired
from calipers.statistics import FloatArray


@pytest.mark.parametrize(
    ("first", "second", "one_sided"),
    [(9, 3, 0.072998), (12, 3, 0.017578), (18, 6, 0.011328), (4, 0, 0.0625)],
)
def test_mcnemar_counts_the_observed_value_in(first: int, second: int, one_sided: float) -> None:
    """P(X ≥ observed): leaving it out (0.019287 for 9 against 3) is anticonservative."""
    for a, b in ((first, second), (second, first)):
        assert paired.mcnemar(a, b).p == pytest.approx(2 * one_sided, abs=1e-6)


def test_mcnemar_is_the_binomial_test() -> None:
    """All pairs of counts up to 25."""
    for a, b in product(range(26), repeat=2):
        expected = stats.binomtest(a, a + b).pvalue if a + b else 1.0
        assert paired.mcnemar(a, b).p == pytest.approx(expected, rel=1e-10)


def test_mcnemar_of_two_classifiers() -> None:
    """9 rows only the first gets right and 3 only the second, among rows both get right or wrong."""
    truth = [1] * 9 + [0] * 3 + [0, 1] * 10
    a = [1] * 9 + [1] * 3 + [0, 1] * 8 + [1, 0] * 2
    b = [0] * 9 + [0] * 3 + [0, 1] * 8 + [1, 0] * 2
    ev = cal.classification(truth, {"a": a, "b": b}, measures=["accuracy", "error-rate"])
    for name in ("accuracy", "error-rate"):
        d = ev.compare(baseline="b")[name]
        assert d.p == pytest.approx(2 * 0.072998, abs=2e-6)
        assert d.test == "McNemar, exact"
        assert abs(d.value) == pytest.approx(6 / 32)


def test_students_t_is_scipys() -> None:
    generator = np.random.default_rng(0)
    for n in (2, 5, 50):
        a, b = generator.normal(size=(2, n))
        d = a - b
        ours = paired.student(d.mean(), d.std(ddof=1) / math.sqrt(n), n)
        assert ours.p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-10)


def test_the_loss_difference_of_two_regressions_is_a_paired_t_test() -> None:
    generator = np.random.default_rng(1)
    truth = generator.normal(size=150)
    a, b = truth + generator.normal(size=150), truth + generator.normal(0, 1.2, size=150)
    d = cal.regression(truth, {"a": a, "b": b}, measures="MAE").compare(baseline="b")["MAE"]
    t = stats.ttest_rel(np.abs(a - truth), np.abs(b - truth))
    assert d.p == pytest.approx(t.pvalue, rel=1e-10)
    assert d.value == pytest.approx(np.abs(a - truth).mean() - np.abs(b - truth).mean())
    sign = np.abs(a - truth) < np.abs(b - truth)
    assert (d.wins, d.losses) == (sign.sum(), (~sign).sum())


def random_differences(generator: np.random.Generator, n: int) -> FloatArray:
    """Ties and zeros included."""
    return np.round(generator.normal(0.3, 1.0, n), int(generator.integers(0, 3)))


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
def test_exact_randomisation_is_scipys(n: int) -> None:
    """20 data sets of each size, all patterns of signs."""
    generator = np.random.default_rng(n)
    for _ in range(20):
        d = random_differences(generator, n)
        (ours,) = paired.randomisation(d[:, None], 10_000, 0)
        assert ours.name == "paired randomisation, exact"
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


def test_sampled_randomisation_comes_near_the_exact_one() -> None:
    generator = np.random.default_rng(8)
    table = generator.normal(0.4, 1.0, (15, 6))
    exact = paired.randomisation(table, 2**15, 0)
    drawn = paired.randomisation(table, 2**15 - 1, 0)
    assert {t.name for t in exact} == {"paired randomisation, exact"}
    assert {t.name for t in drawn} == {"paired randomisation"}
    for a, b in zip(exact, drawn, strict=True):
        assert b.p == pytest.approx(a.p, abs=4 * math.sqrt(a.p / 2**15) + 1e-4)


def test_a_sampled_p_value_is_never_0() -> None:
    (found,) = paired.randomisation(np.ones((40, 1)), 999, 0)
    assert found.p == 1 / 1000


def test_the_randomisation_test_keeps_its_level() -> None:
    """4,000 samples of 12 without a difference: 5% and 10% are rejected, as the exact test does."""
    d = np.random.default_rng(9).standard_t(3, (12, 4000))
    p = np.array([t.p for t in paired.randomisation(d, 10_000, 0)])
    for level in (0.05, 0.1):
        assert (p <= level).mean() == pytest.approx(level, abs=0.015)


def test_the_bootstrap_p_value() -> None:
    replicates = np.r_[np.full(970, 0.2), np.full(29, -0.1), np.nan]
    assert paired.bootstrap(replicates).p == pytest.approx(2 * 30 / 1000)
    assert paired.bootstrap(-replicates).p == pytest.approx(2 * 30 / 1000)
    assert paired.bootstrap(np.zeros(100)).p == 1.0
    assert math.isnan(paired.bootstrap(np.full(10, np.nan)).p)


def test_delong_paired_is_near_the_paired_bootstrap() -> None:
    generator = np.random.default_rng(10)
    truth = np.arange(300) < 120
    signal = truth + generator.normal(size=300)
    scores = {name: signal + generator.normal(0, 0.7, 300) for name in "ab"}
    d = cal.classification(truth, score=scores, measures="AUC").compare(baseline="a")["AUC"]
    order = generator.integers(0, 300, (2000, 300))
    from sklearn.metrics import roc_auc_score

    drawn = np.array(
        [
            roc_auc_score(truth[i], scores["b"][i]) - roc_auc_score(truth[i], scores["a"][i])
            for i in order[:600]
        ]
    )
    se = (d.high - d.low) / (2 * stats.norm.ppf(0.975))
    assert se == pytest.approx(drawn.std(), rel=0.12)
    assert d.p == pytest.approx(2 * stats.norm.sf(abs(d.value) / se), rel=1e-9)


@pytest.mark.parametrize("test", [paired.normal, lambda v, s, n: paired.student(v, s, 5, n)])
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
    assert not d.has_interval
    assert d.no_interval == "no_spread"
    assert math.isnan(d.p)


# --------------------------------------------------------------------------- many tests, and effect


def by_definition(p: FloatArray) -> FloatArray:
    """Holm 1979: the j-th smallest of m times (m − j + 1), never below the one before."""
    out = np.full(len(p), np.nan)
    ranked = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    highest = 0.0
    for j, (value, i) in enumerate(ranked, start=1):
        highest = max(highest, (len(ranked) - j + 1) * value)
        out[i] = min(1.0, highest)
    return out


def test_holm_by_hand_and_by_definition() -> None:
    """Holm's own kind of table, and 500 random ones with ties and undefined values."""
    np.testing.assert_allclose(
        paired.holm(np.array([0.01, 0.02, 0.03, 0.005])), [0.03, 0.04, 0.04, 0.02]
    )
    generator = np.random.default_rng(11)
    for _ in range(500):
        p = np.round(generator.random(int(generator.integers(0, 8))) ** 2, 2)
        p[generator.random(len(p)) < 0.1] = np.nan
        np.testing.assert_allclose(paired.holm(p), by_definition(p), rtol=1e-12)


def test_a_comparison_is_adjusted_over_its_pairs() -> None:
    generator = np.random.default_rng(12)
    truth = generator.normal(size=120)
    predicted = {str(s): truth + generator.normal(0, s, 120) for s in (1.0, 1.1, 1.3, 2.0)}
    comparison = cal.regression(truth, predicted, measures=["MAE", "RMSE"]).compare()
    for name in ("MAE", "RMSE"):
        rows = [d for d in comparison if d.measure == name]
        assert len(rows) == 6
        expected = by_definition(np.array([d.p for d in rows]))
        np.testing.assert_allclose([d.p_adjusted for d in rows], expected, rtol=1e-12)


def test_the_effect_size_of_hedges() -> None:
    d = np.array([1.0, 2.0, 4.0, 5.0, 3.0])
    # mean 3, standard deviation √2.5, correction 1 − 3/(4·4 − 1)
    assert paired.hedges_g(d) == pytest.approx(3 / math.sqrt(2.5) * 0.8)
    generator = np.random.default_rng(13)
    for n in (5, 12, 60):
        d = generator.normal(0.5, 1, n)
        exact = special.gamma((n - 1) / 2) / (math.sqrt((n - 1) / 2) * special.gamma((n - 2) / 2))
        expected = d.mean() / d.std(ddof=1) * exact
        assert paired.hedges_g(d) == pytest.approx(expected, rel=0.005)
    assert math.isnan(paired.hedges_g(np.array([1.0, 2.0])))
    assert math.isnan(paired.hedges_g(np.ones(9)))
