"""Several systems at once against SciPy, statsmodels, scikit-posthocs and Demšar's example."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from calipers import _core
from calipers.inference import omnibus, paired_tests

#: Demšar 2006, table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets. In the last but
#: one, the paper ranks 0.975 above 0.975.
DEMSAR = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.97501, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_demsars_worked_example() -> None:
    """Mean ranks, and the statistics, which he computes without regard to ties."""
    found = omnibus.friedman(DEMSAR)
    np.testing.assert_allclose(found.mean_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    ties = [np.unique(row, return_counts=True)[1] for row in DEMSAR]
    share = 1 - sum((t**3 - t).sum() for t in ties) / (14 * 4 * 15)
    plain = found.chi_square * share
    assert plain == pytest.approx(9.28, abs=5e-3)
    assert 13 * plain / (14 * 3 - plain) == pytest.approx(3.69, abs=5e-3)
    assert found.p_f < 0.05  # the critical value of F(3, 39) is 2.85
    for level, critical in ((0.95, 1.25), (0.90, 1.12)):
        assert omnibus.critical_difference(4, 14, level) == pytest.approx(critical, abs=5e-3)
    # The worst and the best differ at 10%, not at 5%.
    assert 1.12 < np.ptp(found.mean_ranks) < 1.25


def test_critical_values_of_nemenyi() -> None:
    """Demšar 2006, table 5: q of 2 to 10 systems at 5% and 10%, from tables of three decimals."""
    q05 = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    q10 = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]
    for k, five, ten in zip(range(2, 11), q05, q10, strict=True):
        unit = math.sqrt(k * (k + 1) / (6 * 20))
        assert omnibus.critical_difference(k, 20) / unit == pytest.approx(five, abs=1e-3)
        assert omnibus.critical_difference(k, 20, 0.9) / unit == pytest.approx(ten, abs=1e-3)


def test_ranks_are_scipys() -> None:
    generator = np.random.default_rng(0)
    for n, k in ((1, 2), (7, 3), (30, 6)):
        table = generator.integers(0, 5, (n, k)) / 10
        np.testing.assert_array_equal(omnibus.ranks(-table), stats.rankdata(table, axis=1))
        np.testing.assert_array_equal(
            omnibus.ranks(table, higher_is_better=False), stats.rankdata(table, axis=1)
        )
    nearly = np.array([[0.1 + 0.2, 0.3, 0.4]])
    assert omnibus.ranks(nearly).tolist() == [[2.5, 2.5, 1.0]]


def test_friedman_is_scipys() -> None:
    generator = np.random.default_rng(1)
    for decimals in (0, 1, 8):
        table = np.round(generator.normal(size=(12, 5)) + 0.3 * np.arange(5), decimals)
        found, theirs = omnibus.friedman(table), stats.friedmanchisquare(*table.T)
        assert found.chi_square == pytest.approx(theirs.statistic, rel=1e-10)
        assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
        # Iman and Davenport's F is the F of the analysis of variance of the ranks.
        if decimals == 8:
            of_ranks = omnibus.anova(stats.rankdata(table, axis=1))
            assert found.f == pytest.approx(of_ranks.f, rel=1e-9)
            assert found.p_f == pytest.approx(stats.f.sf(found.f, 4, 44), rel=1e-9)


def test_what_is_critical_is_significant_to_scikit_posthocs() -> None:
    scikit_posthocs = pytest.importorskip("scikit_posthocs")

    generator = np.random.default_rng(2)
    table = generator.normal(size=(15, 5)) + np.array([0, 0, 1, 2, 3])
    p = scikit_posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    for better in (True, False):
        means = omnibus.friedman(table, higher_is_better=better).mean_ranks
        apart = np.abs(means[:, None] - means) >= omnibus.critical_difference(5, 15)
        assert ((p <= 0.05) == apart).all()
        assert apart.any()


def test_all_alike_and_all_tied() -> None:
    alike = omnibus.friedman(np.tile([1.0, 2.0, 3.0], (6, 1)))
    assert (alike.f, alike.p_f) == (math.inf, pytest.approx(6.0**-5))
    assert alike.chi_square == pytest.approx(12)
    tied = omnibus.friedman(np.ones((4, 3)))
    assert math.isnan(tied.p)
    assert math.isnan(tied.p_f)
    assert tied.mean_ranks.tolist() == [2, 2, 2]
    alone = omnibus.friedman(np.array([[1.0, 2.0]]))
    assert alone.chi_square == pytest.approx(1)
    assert math.isnan(alone.p_f)


def test_units_with_a_missing_value_are_left_out() -> None:
    table = np.random.default_rng(3).normal(size=(20, 3))
    holes = table.copy()
    holes[[3, 8], [0, 2]] = np.nan
    kept = np.delete(table, [3, 8], axis=0)
    a, b = omnibus.friedman(holes), omnibus.friedman(kept)
    assert (a.chi_square, a.p_f) == (b.chi_square, b.p_f)
    assert omnibus.anova(holes).f == omnibus.anova(kept).f
    [c], [d] = omnibus.randomized_tukey(holes, 4000), omnibus.randomized_tukey(kept, 4000)
    np.testing.assert_allclose(c.p, d.p, atol=0.05)


def test_no_units_and_no_systems() -> None:
    empty = np.empty((0, 3))
    assert math.isnan(omnibus.friedman(empty).p)
    assert math.isnan(omnibus.anova(empty).p)
    assert np.isnan(omnibus.randomized_tukey(empty)[0].p).all()
    with pytest.raises(ValueError, match="one system"):
        omnibus.friedman(np.ones((5, 1)))
    with pytest.raises(ValueError, match=r"shape \(5,\), expected \(units, systems\)"):
        omnibus.anova(np.ones(5))
    with pytest.raises(ValueError, match=r"at least 2 systems"):
        omnibus.randomized_tukey(np.ones((5, 1)))


# -------------------------------------------------------------------------------------------- groups


def test_groups_are_the_largest_that_hold_together() -> None:
    """By force: all sets of systems within less than the critical difference, the largest kept."""
    generator = np.random.default_rng(4)
    for _ in range(100):
        at = np.round(generator.uniform(1, 6, int(generator.integers(1, 8))), 1)
        critical = float(generator.uniform(0.1, 2))
        order = np.argsort(at, kind="stable")
        runs = [
            set(order[i:j].tolist())
            for i in range(len(at))
            for j in range(i + 2, len(at) + 1)
            if at[order[j - 1]] - at[order[i]] < critical
        ]
        expected = [run for run in runs if not any(run < other for other in runs)]
        assert [set(group) for group in omnibus.homogeneous_groups(at, critical)] == expected


# ----------------------------------------------------------------------------------------------- anova


def test_the_analysis_of_variance_is_that_of_statsmodels() -> None:
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import AnovaRM, anova_lm

    generator = np.random.default_rng(5)
    n, k = 12, 4
    table = (
        generator.normal(size=(n, k))
        + 2 * generator.normal(size=(n, 1))
        + np.array([0, 0.2, 0.4, 1])
    )
    ours = omnibus.anova(table)
    unit, system = np.indices((n, k))
    rows = pd.DataFrame({"unit": unit.ravel(), "system": system.ravel(), "y": table.ravel()})
    repeated = AnovaRM(rows, "y", "unit", within=["system"]).fit().anova_table
    assert ours.f == pytest.approx(repeated["F Value"].iloc[0], rel=1e-9)
    assert ours.p == pytest.approx(repeated["Pr > F"].iloc[0], rel=1e-9)
    linear = anova_lm(ols("y ~ C(system) + C(unit)", rows).fit())
    residual = linear["mean_sq"].iloc[2]
    assert ours.f == pytest.approx(linear["F"].iloc[0], rel=1e-9)
    assert ours.p == pytest.approx(linear["PR(>F)"].iloc[0], rel=1e-8)
    total = float(np.square(table - table.mean()).sum())
    omega = 3 * (ours.f - 1) * residual / (total + residual)
    assert ours.omega_squared == pytest.approx(omega)


def test_of_two_systems_it_is_the_paired_t_test() -> None:
    generator = np.random.default_rng(6)
    table = generator.normal(size=(9, 2)) + np.array([0.0, 0.7])
    t = stats.ttest_rel(table[:, 1], table[:, 0])
    assert omnibus.anova(table).f == pytest.approx(t.statistic**2, rel=1e-9)
    assert omnibus.anova(table).p == pytest.approx(t.pvalue, rel=1e-9)


def test_without_a_residual_there_is_no_test() -> None:
    table = np.array([[0.1], [0.4], [0.3]]) + np.array([0.0, 0.1, 0.3])
    found = omnibus.anova(table)
    assert (found.f, found.p) == (math.inf, pytest.approx(6.0**-2))
    assert math.isnan(omnibus.anova(np.full((4, 3), 0.7)).p)
    same = omnibus.anova(np.repeat([[0.2], [0.9], [0.4]], 3, axis=1))
    assert math.isnan(same.f)
    assert math.isnan(same.p)
    assert same.omega_squared == 0
    assert math.isnan(omnibus.anova(table[:1]).f)


@pytest.mark.parametrize("row", [(1.0, 2.0, 4.0), (1.0, 1.0, 3.0)])
def test_an_infinite_f_has_the_p_of_the_permutations(row: tuple[float, ...]) -> None:
    table = np.tile(row, (3, 1)) + np.array([[0.0], [5.0], [9.0]])
    orders = [np.array(order) for order in product(permutations(range(3)), repeat=3)]
    f = [omnibus.anova(np.take_along_axis(table, order, axis=1)).f for order in orders]
    p = np.mean(np.isinf(f))
    assert omnibus.anova(table).p == pytest.approx(p)
    assert omnibus.friedman(table).p_f == pytest.approx(p)
    assert omnibus.friedman(np.tile(row, (5000, 1))).p_f > 0


# ------------------------------------------------------------------------------------- randomized Tukey


def test_randomized_tukey_nears_all_deals() -> None:
    generator = np.random.default_rng(8)
    table = generator.normal(size=(4, 3)) + np.array([0.0, 0.5, 1.5])
    deals = product(permutations(range(3)), repeat=4)
    sums = np.array([sum(table[u, list(d)] for u, d in enumerate(deal)) for deal in deals])
    ranges = np.ptp(sums, axis=1)
    [ours] = omnibus.randomized_tukey(np.vstack([table, np.zeros((4, 3))]), 40_000)
    observed = table.sum(axis=0)
    for a, b in product(range(3), repeat=2):
        expected = (ranges >= abs(observed[a] - observed[b]) - 1e-9).mean() if a != b else 1.0
        assert ours.p[a, b] == pytest.approx(expected, abs=5 * 0.5 / math.sqrt(40_000))


@pytest.mark.parametrize("values", ["any", "tenths"])
def test_randomized_tukey_is_exact_where_it_can_be(values: str) -> None:
    """4 units × 3 systems: 1,296 deals; tenths tie, though not in floating point."""
    generator = np.random.default_rng(13)
    table = generator.normal(size=(4, 3)) + np.array([0.0, 0.5, 1.5])
    table = np.round(table, 1) if values == "tenths" else table
    deals = product(permutations(range(3)), repeat=4)
    sums = np.array([sum(table[u, list(d)] for u, d in enumerate(deal)) for deal in deals])
    ranges, observed = np.ptp(sums, axis=1), table.sum(axis=0)
    [ours] = omnibus.randomized_tukey(table, 1296)
    assert ours.name == "randomized Tukey HSD, exact"
    for a, b in product(range(3), repeat=2):
        expected = (ranges >= abs(observed[a] - observed[b]) - 1e-9).mean() if a != b else 1.0
        assert ours.p[a, b] == pytest.approx(expected, abs=1e-12)
    for level in (0.8, 0.95):
        [found] = omnibus.randomized_tukey(table, 1296, level=level)
        least = min(r for r in ranges if (ranges > r + 1e-9).mean() <= 1 - level)
        assert found.critical_difference == pytest.approx(least / 4, rel=1e-9)
    assert omnibus.randomized_tukey(table, 1295)[0].name == "randomized Tukey HSD"
    again = omnibus.randomized_tukey(np.stack([table, table[:, ::-1]], axis=2), 1296)
    np.testing.assert_allclose(again[1].p, ours.p[::-1, ::-1], atol=1e-12)


def test_what_is_critical_has_the_smallest_p_value_that_is_not_small() -> None:
    """Of deals drawn at random, the one that was seen counts as well."""
    table = np.random.default_rng(15).normal(size=(12, 3))
    for level in (0.9, 0.95):
        # Each of 400 pairs of systems at such a distance, by the deals of the same table.
        [found] = omnibus.randomized_tukey(table, 400, level=level)
        sums = _core.randomized_ranges(table - table.mean(axis=1, keepdims=True), 3, 0, 400)
        p = [((sums >= r - 1e-12).sum() + 1) / 401 for r in sums]
        most = max(float(r[0]) for r, of in zip(sums, p, strict=True) if of > 1 - level)
        assert found.critical_difference == pytest.approx(most / 12, rel=1e-9)


def test_infinite_values() -> None:
    """Ranks take them, means do not."""
    table = np.random.default_rng(14).normal(size=(10, 3))
    endless = table.copy()
    endless[4, 1] = np.inf
    large = table.copy()
    large[4, 1] = 1e9
    assert omnibus.friedman(endless).p == omnibus.friedman(large).p
    assert math.isnan(omnibus.anova(endless).p)
    both = omnibus.randomized_tukey(np.stack([table, endless], axis=2), 500)
    assert [bool(np.isnan(found.p).any()) for found in both] == [False, True]


def test_of_two_systems_it_is_fishers_randomization() -> None:
    generator = np.random.default_rng(9)
    table = generator.normal(size=(14, 2, 3)) + np.array([[0.0], [0.6]])
    fishers = paired_tests.randomization_test(table[:, 0] - table[:, 1], 2**14, 0)
    for ours, exact in zip(omnibus.randomized_tukey(table, 40_000), fishers, strict=True):
        assert exact.name.endswith("exact")
        assert ours.p[0, 1] == pytest.approx(exact.p, abs=5 * 0.5 / math.sqrt(40_000))


def test_many_measures_are_many_tables() -> None:
    values = np.random.default_rng(10).normal(size=(30, 4, 5))
    together = omnibus.randomized_tukey(values, 500, seed=3)
    for measure, found in enumerate(together):
        [alone] = omnibus.randomized_tukey(values[:, :, measure], 500, seed=3)
        np.testing.assert_array_equal(found.p, alone.p)
        np.testing.assert_allclose(found.p, found.p.T)


def test_the_chance_of_any_false_finding() -> None:
    """400 tables of 5 equal systems with heavy tails: 5% have any pair significant, or fewer."""
    generator = np.random.default_rng(12)
    tables = generator.standard_t(3, (20, 5, 400)) + 2 * generator.normal(size=(20, 1, 400))
    rates = {
        "randomized": [f.p.min() <= 0.05 for f in omnibus.randomized_tukey(tables, 999)],
        "friedman": [omnibus.friedman(table).p_f <= 0.05 for table in np.moveaxis(tables, 2, 0)],
        "anova": [omnibus.anova(table).p <= 0.05 for table in np.moveaxis(tables, 2, 0)],
    }
    critical = omnibus.critical_difference(5, 20)
    ranked = [omnibus.ranks(table).mean(axis=0) for table in np.moveaxis(tables, 2, 0)]
    rates["nemenyi"] = [np.ptp(means) >= critical for means in ranked]
    for name, found in rates.items():
        assert 0.015 < np.mean(found) < 0.085, name


# --- Tukey's HSD of the two-way analysis of variance ----------------------------------------------


def test_two_way_tukey_is_that_of_statsmodels() -> None:
    import pandas as pd
    import statsmodels.formula.api as smf
    from statsmodels.stats.libqsturng import psturng

    random = np.random.default_rng(3)
    table = random.normal(size=(20, 4)) + 0.7 * random.normal(size=(20, 1)) + [0, 0.2, 0.4, 1.5]
    long = pd.DataFrame(table).melt(ignore_index=False, var_name="system").reset_index()
    fit = smf.ols("value ~ C(system) + C(index)", long).fit()
    tests = omnibus.tukey_hsd(table)
    error = np.sqrt(fit.mse_resid / 20)
    assert fit.df_resid == 19 * 3
    for i in range(4):
        for j in range(4):
            q = abs(table[:, i].mean() - table[:, j].mean()) / error
            expected = 1.0 if i == j else stats.studentized_range.sf(q, 4, 57)
            assert tests.p[i, j] == pytest.approx(expected, rel=1e-8, abs=1e-12)
            if i != j and 0.001 < expected < 0.1:  # the range of the tables it interpolates
                assert tests.p[i, j] == pytest.approx(
                    float(np.squeeze(psturng(q, 4, 57))), abs=0.002
                )
    # Table of the studentized range: q(0.05; 4, 60) is 3.737.
    assert tests.critical_difference / error == pytest.approx(3.743, abs=0.003)


def test_two_systems_have_the_paired_t_test() -> None:
    table = np.random.default_rng(4).normal([0.0, 0.5], size=(15, 2))
    tests = omnibus.tukey_hsd(np.vstack([table, [[np.nan, 1.0]]]))
    paired = stats.ttest_rel(table[:, 0], table[:, 1])
    assert tests.p[0, 1] == pytest.approx(paired.pvalue, rel=1e-7)
    half_width = np.diff(paired.confidence_interval(0.95))[0] / 2
    assert tests.critical_difference == pytest.approx(half_width, rel=1e-6)


@pytest.mark.parametrize(
    "table", [np.ones((5, 3)), np.zeros((1, 3)), [[0.1, np.inf], [0.2, 0.4]], [[0, 1.0]] * 4]
)
def test_two_way_tukey_is_undefined_without_residuals(table) -> None:
    tests = omnibus.tukey_hsd(np.array(table, float))
    assert np.isnan(tests.p).all()
    assert np.isnan(tests.critical_difference)
