"""Powers and half-widths: against statsmodels, by enumeration, published sizes, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower, TTestPower, normal_power
from statsmodels.stats.proportion import power_proportions_2indep

from calipers.inference import hypotheses, intervals, paired_tests, power, proportions, sample_size
from calipers.inference.procedures import WaldProcedure
from calipers.inference.sample_size_models import (
    WILCOXON_SIZE_RATIO,
    AreaVarianceModel,
    MeanVarianceModel,
    ProportionVarianceModel,
)
from calipers.inference.variance_estimators import StandardError
from calipers.statistics import ScoreTable


def agrees(hits: float, promised: float, tries: int) -> bool:
    """Whether a simulated probability is within four binomial standard errors of the promise."""
    return abs(hits - promised) <= 4 * math.sqrt(promised * (1 - promised) / tries)


# ------------------------------------------------------------------------------- means


def power_of_t(difference: float, sd: float, n: int, level: float = 0.95) -> float:
    return MeanVarianceModel(sd, is_difference=True).power(n, difference, level)


@pytest.mark.parametrize("n", [5, 20, 80])
@pytest.mark.parametrize("effect", [0.01, 0.2, 0.5])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_power_of_t_is_that_of_statsmodels(n: int, effect: float, level: float) -> None:
    known = TTestPower().power(effect, n, 1 - level)
    assert power_of_t(effect, 1.0, n, level) == pytest.approx(known, abs=1e-9)
    known = normal_power(effect, n, 1 - level)
    assert power.shift_power(effect * math.sqrt(n), level) == pytest.approx(known, abs=1e-12)


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_sizes_of_the_paired_t_that_are_in_print(effect: float, n: int) -> None:
    # G*Power's, for Cohen's small, medium and large effects.
    assert sample_size.smallest_n(lambda n: power_of_t(effect, 1, n) >= 0.8) == n


@pytest.mark.parametrize(("variance", "r", "width", "n"), [(265, 0.8, 10, 19), (5, 0.5, 2, 22)])
def test_sizes_for_a_half_width_that_are_in_print(
    variance: float, r: float, width: float, n: int
) -> None:
    # The examples of size.ci.mean.ps in R's statpsych.
    sd = sample_size.paired_sd(math.sqrt(variance), r)
    assert sample_size.smallest_n(lambda n: sample_size.mean_half_width(sd, n) <= width / 2) == n


@pytest.mark.parametrize("n", [4, 12, 60])
def test_half_width_of_a_mean_is_what_intervals_have_on_average(n: int) -> None:
    drawn = np.random.default_rng(1).normal(0, 3, (40_000, n))
    halves = stats.t.ppf(0.975, n - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(n)
    error = halves.std() / math.sqrt(len(halves))
    assert sample_size.mean_half_width(3, n) == pytest.approx(halves.mean(), abs=4 * error)


def test_the_randomization_test_needs_as_many_as_t() -> None:
    n = sample_size.smallest_n(lambda n: power_of_t(0.5, 1, n) >= 0.8)
    assert n is not None
    drawn = np.random.default_rng(2).normal(0.5, 1, (n, 2000))
    p = np.array([t.p for t in paired_tests.randomization_test(drawn, 999, 0)])
    assert agrees((p < 0.05).mean(), power_of_t(0.5, 1, n), 2000)


def test_wilcoxon_needs_a_little_more_than_t() -> None:
    n = math.ceil(100 * WILCOXON_SIZE_RATIO)
    drawn = np.random.default_rng(3).normal(0.28, 1, (4000, n))
    found = stats.wilcoxon(drawn, axis=1, method="approx").pvalue < 0.05
    assert agrees(found.mean(), power_of_t(0.28, 1, 100), 4000)


@pytest.mark.parametrize("degrees", [None, 1, 3, 24, 1000])
@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.99])
def test_what_is_detectable_has_the_power(degrees: float | None, wanted: float) -> None:
    shift = power.detectable_differences([0.02], [degrees], 0.95, wanted)[0] / 0.02
    assert power.shift_power(shift, 0.95, degrees) == pytest.approx(wanted, abs=1e-9)
    t, shares = stats.norm.ppf(0.975), (np.arange(20_000) + 0.5) / 20_000
    if degrees is not None:  # the mean over what the estimated error may be
        t = stats.t.ppf(0.975, degrees) * np.sqrt(stats.chi2.ppf(shares, degrees) / degrees)
    found = np.mean(stats.norm.sf(t - shift) + stats.norm.cdf(-t - shift))
    assert found == pytest.approx(wanted, abs=1e-5)


def test_detectable_of_many_levels_and_degrees() -> None:
    """Where the normal approximation is good or poor, as a root finder has them."""
    random = np.random.default_rng(2)
    levels = 1 - 10.0 ** -random.uniform(0.05, 6, 60)
    degrees = [None, 3.0, 5.0, 30.0, 120.0, 249.0] * 10
    for wanted in (0.3, 0.8, 0.99):
        sizes = power.detectable_differences(np.ones(60), degrees, levels, wanted)
        for size, df, level in zip(sizes, degrees, levels, strict=True):
            if size > 0:
                assert power.shift_power(float(size), level, df) == pytest.approx(wanted, abs=1e-9)
            else:
                assert wanted <= 1 - level


@pytest.mark.parametrize("degrees", [None, 3, 249])
def test_detectable_of_levels_that_are_many(degrees: int | None) -> None:
    """Interpolated they are those of one level at a time, whether near or far from it."""
    tails = 10 ** np.random.default_rng(3).uniform(-7, -0.5, 300)
    levels = [1 - 2 * tail for tail in tails.tolist()]
    together = power.detectable_differences([0.5] * 300, [degrees] * 300, levels)
    alone = [power.detectable_differences([0.5], [degrees], level)[0] for level in levels[::20]]
    assert together[::20] == pytest.approx(alone, rel=1e-12)


def test_detectable_by_simulation() -> None:
    n, random = 16, np.random.default_rng(4)
    d = power.detectable_differences([2 / math.sqrt(n)], [n - 1])[0]
    p = stats.ttest_1samp(random.normal(d, 2, (20_000, n)), 0, axis=1).pvalue
    assert agrees((p < 0.05).mean(), 0.8, 20_000)


@pytest.mark.parametrize("se", [0.0, -1.0, math.nan, math.inf])
def test_without_spread_nothing_is_detectable(se: float) -> None:
    assert math.isnan(power.detectable_differences([se], [None])[0])
    assert math.isnan(power.detectable_differences([1.0], [0])[0])


def test_power_below_the_level_asks_for_nothing() -> None:
    assert power.detectable_differences([1.0], [None], 0.95, 0.05)[0] == 0


# ------------------------------------------------------------------------------- margins


@pytest.mark.parametrize("true", [0.0, 0.1, -0.1])
@pytest.mark.parametrize("n", [8, 30])
def test_margins_by_simulation(true: float, n: int) -> None:
    tries, margin = 200_000, 0.7
    random = np.random.default_rng(5)
    mean = random.normal(true, 1 / math.sqrt(n), tries)
    se = np.sqrt(random.chisquare(n - 1, tries) / (n - 1)) / math.sqrt(n)
    reach = stats.t.ppf(0.95, n - 1) * se
    error = 1 / math.sqrt(n)
    above = (mean - reach > -margin).mean()
    assert agrees(above, power.non_inferiority_power(true, margin, error, 0.95, n - 1), tries)
    within = ((mean - reach > -margin) & (mean + reach < margin)).mean()
    assert agrees(within, power.equivalence_power(true, margin, error, 0.95, n - 1), tries)


def test_the_margin_tests_themselves_have_this_power() -> None:
    random = np.random.default_rng(6)
    values = random.normal(0.05, 1, 4000)
    error = StandardError(1.0, "normal")
    normal = [
        WaldProcedure(value=v, t_error=error, method="normal", name="normal").test for v in values
    ]
    shown = [hypotheses.non_inferiority_test(t, 2.5).p <= 0.05 for t in normal]
    assert agrees(np.mean(shown), power.non_inferiority_power(0.05, 2.5, 1.0), 4000)
    shown = [hypotheses.equivalence_test(t, 2.5).p <= 0.05 for t in normal]
    assert agrees(np.mean(shown), power.equivalence_power(0.05, 2.5, 1.0), 4000)


def test_equivalence_is_normal_in_the_limit_and_impossible_with_little() -> None:
    close = power.equivalence_power(0, 0.03, 0.01, 0.95, 1e6)
    assert close == pytest.approx(power.equivalence_power(0, 0.03, 0.01), abs=1e-5)
    assert power.equivalence_power(0, 0.01, 0.02) == 0
    assert 0 <= power.equivalence_power(0, 0.001, 1.0, 0.95, 50) < 1e-9


# ------------------------------------------------------------------------------- shares


@pytest.mark.parametrize(("share", "reference"), [(0.9, 0.8), (0.2, 0.5), (0.5, 0.5), (0.02, 0.05)])
@pytest.mark.parametrize("n", [3, 20, 108, 411])
def test_power_of_a_share_by_enumeration(share: float, reference: float, n: int) -> None:
    k = np.arange(n + 1)
    low, high = proportions.wilson_limits(k / n, np.float64(n), 0.95)
    out = (low > reference) | (high < reference)
    known = stats.binom.pmf(k, n, share)[out].sum()
    assert power.proportion_power(share, reference, n) == pytest.approx(known, abs=1e-12)


def test_from_the_size_of_a_share_on_the_power_stays() -> None:
    n = sample_size.smallest_stable_n(lambda n: power.proportion_power(0.9, 0.8, n), 0.8)
    assert n is not None
    assert power.proportion_power(0.9, 0.8, n - 1) < 0.8
    assert min(power.proportion_power(0.9, 0.8, m) for m in range(n, 2000)) >= 0.8


@pytest.mark.parametrize(
    ("first", "second", "n"), [(0.2, 0.05, 30), (0.1, 0.1, 40), (0.3, 0.0, 25), (0.5, 0.5, 12)]
)
def test_power_of_mcnemar_by_enumeration(first: float, second: float, n: int) -> None:
    known = sum(
        stats.multinomial.pmf([b, c, n - b - c], n, [first, second, 1 - first - second])
        for b in range(n + 1)
        for c in range(n + 1 - b)
        if b + c and stats.binomtest(b, b + c).pvalue <= 0.05
    )
    assert power.mcnemar_power(first, second, n) == pytest.approx(known, abs=1e-10)


def test_power_of_mcnemar_by_simulation_and_rising() -> None:
    n = sample_size.smallest_n(lambda n: power.mcnemar_power(0.06, 0.03, n) >= 0.8)
    assert n is not None
    drawn = np.random.default_rng(7).multinomial(n, [0.06, 0.03, 0.91], 3000)
    found = np.mean([paired_tests.mcnemar(b, c).p <= 0.05 for b, c, _ in drawn])
    assert agrees(float(found), power.mcnemar_power(0.06, 0.03, n), 3000)
    around = [power.mcnemar_power(0.06, 0.03, m) for m in range(n - 60, n + 60)]
    assert (np.diff(around) > 0).all()
    assert power.mcnemar_power(0.0, 0.0, 100) == 0


def test_half_width_of_a_paired_difference_by_simulation() -> None:
    drawn = np.random.default_rng(8).multinomial(700, [0.06, 0.06, 0.88], 2000)
    made = [proportions.bonett_price(b / 700, c / 700, 700, 0.95) for b, c, _ in drawn]
    mean = np.mean([(i.high - i.low) / 2 for i in made])
    assert ProportionVarianceModel(0.9, 0.12, is_difference=True).half_width(
        700, 0.95
    ) == pytest.approx(mean, rel=0.005)


@pytest.mark.parametrize(("first", "second", "n"), [(0.9, 0.85, 686), (0.3, 0.5, 80)])
def test_power_of_two_independent_shares(first: float, second: float, n: int) -> None:
    known = power_proportions_2indep(first - second, second, n, alpha=0.05, return_results=False)
    assert power.two_proportions_power(first, second, n) == pytest.approx(float(known), abs=1e-6)
    a, b = np.random.default_rng(9).binomial(n, [[first], [second]], (2, 40_000)) / n
    pooled = (a + b) / 2
    found = np.abs(a - b) > 1.96 * np.sqrt(2 * pooled * (1 - pooled) / n)
    # The formula itself is normal; counts are not.
    assert found.mean() == pytest.approx(power.two_proportions_power(first, second, n), abs=0.015)


def test_sizes_of_two_independent_shares_that_are_in_print() -> None:
    # 90% against 85% at 5% and 80%: 686 each (Fleiss, Levin and Paik, without correction).
    assert sample_size.smallest_n(lambda n: power.two_proportions_power(0.9, 0.85, n) >= 0.8) == 686


# ------------------------------------------------------------------------------- areas


@pytest.mark.parametrize(
    ("first", "second", "z", "n"),
    [(0.70, 0.75, 0.84, 652), (0.70, 0.75, 1.28, 897), (0.70, 0.75, 1.645, 1131)],
)
def test_the_error_gives_hanley_and_mcneils_table_of_sizes(
    first: float, second: float, z: float, n: int
) -> None:
    # Table III of 1982: as many positives as negatives, one-sided at 5%.
    a, b = (sample_size.hanley_mcneil_auc_se(area, 0.5, 2e7) ** 2 * 1e7 for area in (first, second))
    size = (1.645 * math.sqrt(2 * a) + z * math.sqrt(a + b)) ** 2 / (second - first) ** 2
    assert math.floor(size) == n


def exponential(random: np.random.Generator, area: float, n: int, prevalence: float) -> ScoreTable:
    """Exponential scores in both classes, for which Hanley and McNeil's variance is exact."""
    positive = np.arange(n) < round(n * prevalence)
    scores = random.exponential(np.where(positive, area / (1 - area), 1.0))
    return ScoreTable.from_rows(positive, scores)


def test_the_interval_of_an_auc_has_the_half_width_and_the_power() -> None:
    random, area, n, prevalence = np.random.default_rng(10), 0.8, 1200, 0.15
    se = sample_size.hanley_mcneil_auc_se(area, prevalence, n)
    halves, left_out, areas = [], [], []
    for _ in range(1500):
        table = exponential(random, area, n, prevalence)
        of_positive, _ = table.placements()
        a = float(np.dot(table.positive, of_positive) / table.total_positive)
        made = intervals.auc_interval(a, table, 0.95)
        halves.append((made.high - made.low) / 2)
        left_out.append(made.low > 0.76)
        areas.append(a)
    assert np.std(areas) == pytest.approx(se, rel=4 / math.sqrt(2 * 1500))
    assert AreaVarianceModel(area, lambda *_: se, "").half_width(1, 0.95) == pytest.approx(
        np.mean(halves), rel=0.01
    )
    assert abs(np.mean(left_out) - power.area_power(area, 0.76, se)) < 0.04


@pytest.mark.slow
def test_the_paired_test_of_two_aucs_has_the_power() -> None:
    random, n, prevalence = np.random.default_rng(11), 800, 0.3
    truth = np.arange(n) < n * prevalence
    areas = (0.8, 0.75)

    def pair(rows: int) -> tuple[ScoreTable, ScoreTable]:
        common = random.normal(size=(2, rows))
        shared = 0.6
        mixed = np.sqrt(shared) * random.normal(size=rows) + np.sqrt(1 - shared) * common
        uniform = stats.norm.cdf(mixed)
        positive = np.resize(truth, rows)
        return tuple(  # type: ignore[return-value]
            ScoreTable.from_rows(positive, -np.log1p(-u) * np.where(positive, a / (1 - a), 1.0))
            for u, a in zip(uniform, areas, strict=True)
        )

    def area(table: ScoreTable) -> float:
        return float(np.dot(table.positive, table.placements()[0]) / table.total_positive)

    tries = 1500
    seen = np.array([[area(t) for t in pair(n)] for _ in range(tries)])
    r = np.corrcoef(seen.T)[0, 1]
    errors = [sample_size.hanley_mcneil_auc_se(a, prevalence, n) for a in areas]
    se = sample_size.paired_difference_se(*errors, r)
    assert se == pytest.approx(np.std(seen[:, 0] - seen[:, 1]), rel=4 / math.sqrt(2 * tries))
    found = np.abs(seen[:, 0] - seen[:, 1]) > 1.96 * np.std(seen[:, 0] - seen[:, 1])
    assert agrees(found.mean(), power.shift_power(0.05 / se), tries)


def test_the_half_width_of_pr_auc_is_that_in_print() -> None:
    # Boyd, Eng and Page: 0.75 with 100 positives, (0.656104, 0.825094).
    half = AreaVarianceModel(0.75, sample_size.pr_auc_se, "").half_width(100, 0.95)
    assert half == pytest.approx((0.825094 - 0.656104) / 2, abs=1e-6)


# ------------------------------------------------------------------------------- several systems


@pytest.mark.parametrize(("m", "n", "d"), [(2, 40, 0.5), (5, 100, 0.4), (12, 30, 1.0)])
def test_one_way_analysis_of_variance_is_that_of_statsmodels(m: int, n: int, d: float) -> None:
    # All but two means halfway between: f² = D²/(2m) in units of the variance.
    known = FTestAnovaPower().power(d / math.sqrt(2 * m), n * m, 0.05, k_groups=m)
    assert power.anova_power(d, 1, m, n, paired=False) == pytest.approx(known, abs=1e-9)


def test_two_systems_are_the_paired_t() -> None:
    for n in (5, 60):
        known = power_of_t(0.3, 1, n)
        residual = 1 / math.sqrt(2)
        # SciPy's noncentral F once had six digits only.
        exact = 1e-9 if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15) else 5e-6
        assert power.anova_power(0.3, residual, 2, n) == pytest.approx(known, abs=exact)
        assert power.tukey_power(0.3, residual, 2, n) == pytest.approx(known, abs=1e-6)
        reach = stats.t.ppf(0.975, n - 1) / math.sqrt(n)
        assert sample_size.tukey_half_width(residual, 2, n) == pytest.approx(reach, abs=1e-6)


def test_several_systems_by_simulation() -> None:
    m, n, d, sd, tries = 4, 25, 0.6, 0.7, 6000
    means = np.array([d / 2, 0, 0, -d / 2])
    topics = np.random.default_rng(12).normal(0, 2, (tries, n, 1))
    x = topics + means + np.random.default_rng(13).normal(0, sd, (tries, n, m))
    of_system = x.mean(axis=1)
    rest = (
        x - of_system[:, None] - x.mean(axis=2, keepdims=True) + x.mean(axis=(1, 2))[:, None, None]
    )
    residual = (rest**2).sum(axis=(1, 2)) / ((m - 1) * (n - 1))
    f = n * of_system.var(axis=1, ddof=1) / residual
    found = f > stats.f.ppf(0.95, m - 1, (m - 1) * (n - 1))
    assert agrees(found.mean(), power.anova_power(d, sd, m, n), tries)
    reach = stats.studentized_range.ppf(0.95, m, (m - 1) * (n - 1)) * np.sqrt(residual / n)
    found = np.abs(of_system[:, 0] - of_system[:, -1]) > reach
    assert agrees(found.mean(), power.tukey_power(d, sd, m, n), tries)
    assert reach.mean() == pytest.approx(sample_size.tukey_half_width(sd, m, n), rel=0.01)


# ------------------------------------------------------------------------------- the rest


def test_rows_in_clusters_count_for_less() -> None:
    random, size, rho = np.random.default_rng(14), 10, 0.2
    common = random.normal(0, math.sqrt(rho), (20_000, 30, 1))
    rows = common + random.normal(0, math.sqrt(1 - rho), (20_000, 30, size))
    variance = rows.mean(axis=(1, 2)).var() * 30 * size
    assert variance == pytest.approx(
        sample_size.design_effect(size, rho), rel=4 / math.sqrt(10_000)
    )


def test_bonferroni() -> None:
    assert sample_size.bonferroni_level(0.95, 10) == pytest.approx(1 - 0.05 / 10)
    assert sample_size.bonferroni_level(0.95, 1) == 0.95


def test_the_upper_limit_of_a_spread_holds_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(15).normal(0, 1, (20_000, 12)).std(axis=1, ddof=1)
    holds = np.array([sample_size.sd_upper_limit(s, 12) >= 1 for s in drawn[:5000]])
    assert agrees(holds.mean(), 0.8, 5000)


def test_the_search_ends() -> None:
    assert sample_size.smallest_n(lambda n: n >= 7) == 7
    assert sample_size.smallest_n(lambda n: True) == 2
    assert sample_size.smallest_n(lambda n: False) is None
    assert sample_size.smallest_stable_n(lambda n: 0.0, 0.8) is None


@pytest.mark.parametrize("degrees", [1, 2, 5, 49, 1e3, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999, 0.99999])
def test_powers_are_probabilities_that_rise(degrees: float, level: float) -> None:
    shifts = [0, 1e-6, 0.1, 1, 5, 10, 20, 40, 100, 1e3, 1e5]
    of_t = [power.shift_power(s, level, degrees) for s in shifts]
    of_margin = [power.non_inferiority_power(0, s, 1.0, level, degrees) for s in shifts]
    both = [power.equivalence_power(0, max(s, 1e-9), 1.0, level, degrees) for s in shifts]
    for found in (of_t, of_margin, both):
        assert min(found) >= 0
        assert max(found) <= 1 + 1e-9
        assert min(np.diff(found)) >= -1e-7
    assert of_t[0] == pytest.approx(1 - level, abs=1e-8)


@pytest.mark.parametrize("df", [1.0, 3.0, 10.0])
def test_detectable_differences_of_extreme_levels(df: float) -> None:
    # Student's t of extreme levels is δ over the root of χ²/df, and the search agrees below.
    critical = np.array([2e4, 2e5, 1e12])
    shifts = power._detectable_noncentrality(np.full(3, df), critical, 0.8)
    assert shifts / critical == pytest.approx(np.sqrt(stats.chi2.ppf(0.8, df) / df), rel=1e-8)
