"""Intervals against SciPy, published values, brute force and simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import calipers as cal
from calipers.estimation.scores import ScoredRows
from calipers.inference import intervals, proportions
from calipers.inference.settings import Settings
from calipers.inference.variance_estimators import StandardError
from calipers.measures import parse
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable

# ------------------------------------------------------------------------------------ proportions


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (proportions.wilson, "wilson"),
        (proportions.clopper_pearson, "beta"),
        (proportions.agresti_coull, "agresti_coull"),
        (proportions.jeffreys, "jeffreys"),
    ],
)
def test_shares_are_statsmodels(ours: Any, theirs: str, level: float) -> None:
    """All shares of 1, 2, 7, 30 and 200 trials. Jeffreys' limits at no hits and at no misses are 0
    and 1 here, as Brown, Cai and DasGupta (2001) have them."""
    for n in (1, 2, 7, 30, 200):
        for k in range(n + 1):
            made = ours(k / n, n, level)
            low, high = proportion_confint(k, n, 1 - level, theirs)
            if theirs == "jeffreys":
                low, high = 0.0 if k == 0 else low, 1.0 if k == n else high
            assert (made.low, made.high) == pytest.approx((low, high), abs=1e-10)
            assert made.low <= k / n <= made.high


@pytest.mark.parametrize(
    "method", [proportions.clopper_pearson, proportions.jeffreys, proportions.agresti_coull]
)
def test_no_trials_no_share(method: Any) -> None:
    assert method(0.5, 0.0, 0.95).reason == "too_few_rows"


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_wilson_is_scipys(level: float) -> None:
    """All shares of 1, 2, 7, 30 and 200 trials."""
    for n in (1, 2, 7, 30, 200):
        for k in range(n + 1):
            ours = proportions.wilson(k / n, n, level)
            theirs = stats.binomtest(k, n).proportion_ci(level, method="wilson")
            assert ours.low == pytest.approx(theirs.low, abs=1e-12)
            assert ours.high == pytest.approx(theirs.high, abs=1e-12)
            assert ours.low <= k / n <= ours.high


def test_wilson_of_150_in_200() -> None:
    made = proportions.wilson(0.75, 200, 0.95)
    assert (round(made.low, 4), round(made.high, 4)) == (0.6857, 0.8049)


def test_the_coverage_of_wilson_summed_exactly() -> None:
    """Over all outcomes of 100 trials, at 81 probabilities of 0.1 to 0.9."""
    made = [proportions.wilson(k / 100, 100, 0.95) for k in range(101)]
    shares = np.linspace(0.1, 0.9, 81)
    inside = np.array([[m.low <= p <= m.high for m in made] for p in shares])
    chances = np.array([stats.binom.pmf(np.arange(101), 100, p) for p in shares])
    coverage = (inside * chances).sum(axis=1)
    assert coverage.min() > 0.925
    assert coverage.mean() == pytest.approx(0.95, abs=0.005)


def test_weights_that_are_all_alike_change_no_interval() -> None:
    truth = [0, 1] * 15
    predicted = [0, 1, 1, 1, 0, 0] * 5
    names = ["accuracy", "recall", "precision"]
    plain = cal.classification(truth, predicted, measures=names)
    weighted = cal.classification(truth, predicted, weight=[2.5] * 30, measures=names)
    for a, b in zip(plain, weighted, strict=True):
        assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=1e-12)
        assert a.method == b.method == "Wilson [W]"


def test_uneven_weights_widen_an_interval() -> None:
    truth, predicted = [0, 1] * 20, [0, 1, 1, 1] * 10
    plain = cal.classification(truth, predicted, measures="accuracy")["accuracy"]
    uneven = cal.classification(
        truth, predicted, weight=[3, 3, 3, 3, 1, 1, 1, 1] * 5, measures="accuracy"
    )["accuracy"]
    assert uneven.value == plain.value
    size = (20 * 3 + 20) ** 2 / (20 * 9 + 20)
    expected = proportions.wilson(0.75, size, 0.95)
    assert (uneven.low, uneven.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert uneven.high - uneven.low > plain.high - plain.low


# -------------------------------------------------------------------------------------------- AUC

#: Hanley and McNeil 1982: ratings 1 to 5 of normal and of abnormal patients.
NORMAL, ABNORMAL = (33, 6, 6, 11, 2), (3, 2, 2, 11, 33)


def ratings() -> ScoreTable:
    score = np.repeat(np.tile(np.arange(1.0, 6.0), 2), NORMAL + ABNORMAL)
    truth = np.repeat([False, True], [sum(NORMAL), sum(ABNORMAL)])
    return ScoreTable.from_rows(truth, score)


def test_the_ratings_of_hanley_and_mcneil() -> None:
    table = ratings()
    area = float(parse("AUC").apply(table))
    assert area == pytest.approx(0.8931710615, abs=5e-11)
    assert intervals.hanley_mcneil_se(area, 51, 58) == pytest.approx(0.0324865796, abs=5e-11)
    assert intervals.delong_se(table) == pytest.approx(0.0307244084, abs=5e-11)


def test_hanley_and_mcneil_at_three_quarters() -> None:
    half = intervals.normal_quantile(0.95) * intervals.hanley_mcneil_se(0.75, 100, 100)
    assert (0.75 - half, 0.75 + half) == pytest.approx((0.682515, 0.817485), abs=5e-7)


def test_the_logit_interval_of_boyd_eng_and_page() -> None:
    made = intervals.precision_recall_logit(0.75, 100, 0.95)
    assert (made.low, made.high) == pytest.approx((0.656104, 0.825094), abs=5e-7)
    assert intervals.precision_recall_logit(1.0, 100, 0.95).reason == "area_at_its_limit"
    assert intervals.precision_recall_logit(0.0, 100, 0.95).reason == "area_at_its_limit"


def pairs(truth: FloatArray, score: FloatArray) -> FloatArray:
    """ψ of each positive against each negative: 1, ½ or 0, one pair at a time."""
    out = [[1.0 if p > n else 0.5 if p == n else 0.0 for n in score[~truth]] for p in score[truth]]
    return np.array(out)


def brute_force(truth: FloatArray, scores: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """DeLong, DeLong and Clarke-Pearson (1988) in O(mn): areas and their covariance."""
    psi = [pairs(truth, score) for score in scores]
    of_positive = np.array([p.mean(axis=1) for p in psi])
    of_negative = np.array([p.mean(axis=0) for p in psi])
    covariance = (
        np.atleast_2d(np.cov(of_positive)) / truth.sum()
        + np.atleast_2d(np.cov(of_negative)) / (~truth).sum()
    )
    return np.array([p.mean() for p in psi]), covariance


def random_scores(seed: int) -> tuple[FloatArray, list[FloatArray]]:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(6, 60))
    truth = generator.random(n) < 0.4
    truth[:4] = [True, True, False, False]
    signal = truth + generator.normal(0, 1, n)
    scores = [signal + generator.normal(0, 1, n) for _ in range(2)]
    return truth, [np.round(s, 1) if seed % 2 else s for s in scores]


def difference_error(
    truth: Any, scores: list[FloatArray], weight: FloatArray | None = None
) -> float:
    """Of the difference of two AUCs."""
    first, second = (
        ScoredRows(truth, score, weight, None, Settings()).point_estimate(parse("AUC"))
        for score in scores
    )
    found = (first - second).standard_error
    assert isinstance(found, StandardError)
    return found.se


@pytest.mark.slow
def test_delong_by_brute_force() -> None:
    """200 random data sets, half of them with ties: single and paired."""
    for seed in range(200):
        truth, scores = random_scores(seed)
        areas, covariance = brute_force(truth, scores)
        for k in range(2):
            table = ScoreTable.from_rows(truth, scores[k])
            assert float(parse("AUC").apply(table)) == pytest.approx(areas[k], abs=1e-12)
            assert intervals.delong_se(table) ** 2 == pytest.approx(covariance[k, k], abs=1e-12)
        expected = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        found = difference_error(truth, scores)
        assert found**2 == pytest.approx(expected, abs=1e-12)


def influence_error(truth: FloatArray, scores: list[FloatArray], weight: FloatArray) -> FloatArray:
    """Per score √Σ(w·influence)², by moving each row's weight a little: no formula of placements."""

    def areas(w: FloatArray) -> FloatArray:
        both = np.outer(w[truth], w[~truth])
        return np.array([(both * p).sum() / both.sum() for p in psi])

    psi = [pairs(truth, score) for score in scores]
    step = 1e-6
    slopes = []
    for i in range(len(truth)):
        up, down = weight.copy(), weight.copy()
        up[i] += step
        down[i] -= step
        slopes.append(weight[i] * (areas(up) - areas(down)) / (2 * step))
    return np.array(slopes)


def test_delong_with_weights() -> None:
    """40 data sets: the area pair by pair, and the infinitesimal jackknife, which DeLong's formula
    exceeds by n/(n − 1) within each class."""
    for seed in range(40):
        truth, scores = random_scores(seed)
        weight = np.random.default_rng(seed).uniform(0.2, 3.0, len(truth))
        slopes = influence_error(truth, scores, weight)

        def corrected(
            column: FloatArray, truth: FloatArray = truth, weight: FloatArray = weight
        ) -> float:
            total = 0.0
            for rows in (truth, ~truth):
                n = weight[rows].sum() ** 2 / np.square(weight[rows]).sum()
                total += np.square(column[rows]).sum() * n / (n - 1)
            return math.sqrt(total)

        for k in range(2):
            table = ScoreTable.from_rows(truth, scores[k], weight)
            both = np.outer(weight[truth], weight[~truth])
            area = (both * pairs(truth, scores[k])).sum() / both.sum()
            assert float(parse("AUC").apply(table)) == pytest.approx(area, abs=1e-12)
            assert intervals.delong_se(table) == pytest.approx(corrected(slopes[:, k]), rel=1e-6)
        found = difference_error(truth, scores, weight)
        assert found == pytest.approx(corrected(slopes[:, 0] - slopes[:, 1]), rel=1e-6)


def test_whole_weights_and_repeated_rows_have_the_same_area() -> None:
    for seed in range(20):
        truth, (score, _) = random_scores(seed)
        times = np.random.default_rng(seed).integers(1, 4, len(truth))
        weighted = ScoreTable.from_rows(truth, score, times.astype(float))
        repeated = ScoreTable.from_rows(np.repeat(truth, times), np.repeat(score, times))
        for name in ("AUC", "PR-AUC", "AP"):
            a, b = (float(parse(name, "scores").apply(t)) for t in (weighted, repeated))
            assert a == pytest.approx(b, abs=1e-12)


def test_which_interval_an_area_gets() -> None:
    """DeLong, but the wider of it and Hanley and McNeil where fewer than two rows of a class are out
    of place; Wilson's where that is one row by itself, and not a little of 38."""

    def made(truth: list[int], score: list[float], **options: object) -> cal.Estimate:
        return cal.classification(truth, score=score, measures="AUC", **options)["AUC"]

    middling = made([0] * 20 + [1] * 20, [*range(20), *range(5, 25)])
    assert middling.method == "DeLong, logit"
    one = made([0] * 20 + [1] * 20, [*range(20), 18.5, *range(20, 39)])
    assert one.method == "Wilson [W], effective rows"
    near = made([0] * 100 + [1] * 100, [*range(100), *np.arange(80.5, 180)])
    assert near.method == "Hanley-McNeil [H] or DeLong, logit: the wider"
    assert near.high == 1.0
    assert near.low < near.value
    apart = made([0] * 20 + [1] * 20, [*range(40)])
    assert apart.method == "exact bound, separated"
    assert (apart.low, apart.high) == pytest.approx((0.025 ** (1 / 20), 1.0))


def test_weighted_classes_that_are_separated_have_an_area_of_exactly_1() -> None:
    """Fractional weights must not leave it a rounding error off, and so with an interval of no
    width from a variance of 0: 500 cases."""
    generator = np.random.default_rng(0)
    for _ in range(500):
        n = int(generator.integers(4, 60))
        truth = np.arange(n) >= n // 2
        table = ScoreTable.from_rows(truth, np.arange(float(n)), generator.random(n))
        area = float(parse("AUC").apply(table))
        assert area == 1.0
        assert intervals.auc_interval(area, table, 0.95).low < 1
        upside_down = ScoreTable.from_rows(~truth, np.arange(float(n)), generator.random(n))
        assert float(parse("AUC").apply(upside_down)) == 0.0


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("smaller", [3, 10])
def test_the_bound_for_separated_classes_holds(smaller: int, level: float) -> None:
    """At the limit itself separation is seen with probability (1 − level)/2 at most: with it
    exactly when negatives are all alike, and less often for normal scores."""
    tail = (1 - level) / 2
    limit = intervals.separated_auc_interval(1.0, smaller, level).low
    generator = np.random.default_rng(smaller)
    draws = 40_000
    noise = 4 * math.sqrt(tail / draws)
    in_order = generator.random((draws, smaller)) < limit
    assert in_order.all(axis=1).mean() == pytest.approx(tail, abs=noise)

    shift = math.sqrt(2) * stats.norm.ppf(limit)
    positive = generator.normal(shift, 1, (draws, smaller)).min(axis=1)
    negative = generator.normal(0, 1, (draws, 2 * smaller)).max(axis=1)
    assert (positive > negative).mean() <= tail + noise

    low = intervals.separated_auc_interval(0.0, smaller, level)
    assert (low.low, low.high) == (0.0, pytest.approx(1 - limit))


def test_the_coverage_of_the_default_interval_of_the_area() -> None:
    """1,000 samples of 30 positives and 50 negatives with normal scores of AUC 0.80."""
    generator = np.random.default_rng(3)
    shift = math.sqrt(2) * stats.norm.ppf(0.8)
    truth = np.arange(80) < 30
    inside = 0
    for _ in range(1000):
        table = ScoreTable.from_rows(truth, generator.normal(size=80) + shift * truth)
        made = intervals.auc_interval(float(parse("AUC").apply(table)), table, 0.95)
        inside += made.low <= 0.8 <= made.high
    assert 0.93 <= inside / 1000 <= 0.975


def test_the_coverage_where_only_some_samples_are_near_the_limit() -> None:
    """1,000 samples of 50 and 50 rows with AUC 0.921, one in twenty of them near 1, where Hanley
    and McNeil's interval alone does not reach down that far."""
    generator = np.random.default_rng(7)
    truth, area = np.arange(100) < 50, float(stats.norm.cdf(math.sqrt(2)))
    inside = wider = 0
    for _ in range(1000):
        table = ScoreTable.from_rows(truth, 2 * truth + generator.normal(size=100))
        made = intervals.auc_interval(float(parse("AUC").apply(table)), table, 0.95)
        inside += made.low <= area <= made.high
        wider += made.method.endswith("the wider")
    assert 20 <= wider <= 100
    assert 0.935 <= inside / 1000 <= 0.97


# ------------------------------------------------------------------------------------------ means


def test_normal_student_and_root_mean() -> None:
    value = np.random.default_rng(4).normal(3.0, 2.0, 40)
    mean, se = value.mean(), value.std(ddof=1) / math.sqrt(40)
    for ours, theirs in (
        (intervals.normal_interval(mean, se, 0.9), stats.norm.interval(0.9, mean, se)),
        (intervals.student_interval(mean, se, 40, 0.9), stats.t.interval(0.9, 39, mean, se)),
    ):
        assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-12)
    # ln √m has the standard error se/(2m) by the delta method.
    made = intervals.root_mean_interval(4.0, 0.5, 0.95)
    expected = np.exp(stats.norm.interval(0.95, math.log(2.0), 0.5 / 8))
    assert (made.low, made.high) == pytest.approx(tuple(expected), rel=1e-12)


@pytest.mark.parametrize("level", [0.2, 0.5, 0.95, 0.99, 0.99999])
@pytest.mark.parametrize("degrees", [3.5, 99_999.0, 1e5, 123_456.7, 1e6, 1e9, math.inf])
def test_the_quantile_of_student_at_any_number_of_degrees(level: float, degrees: float) -> None:
    theirs = stats.t.ppf((1 + level) / 2, degrees)
    assert intervals.t_quantile(level, degrees) == pytest.approx(theirs, rel=2e-14)


def test_the_coverage_of_the_root_of_a_mean_square() -> None:
    """2,000 samples of 400 residuals, normal and Laplace: no shape is assumed."""
    generator = np.random.default_rng(5)
    for draw, second_moment in ((generator.normal, 1.0), (generator.laplace, 2.0)):
        squares = np.square(draw(size=(2000, 400)))
        mean, se = squares.mean(axis=1), squares.std(axis=1, ddof=1) / 20
        made = [intervals.root_mean_interval(m, s, 0.95) for m, s in zip(mean, se, strict=True)]
        inside = np.mean([m.low <= math.sqrt(second_moment) <= m.high for m in made])
        assert 0.92 <= inside <= 0.97


def test_chi_square_of_ten_residuals() -> None:
    made = intervals.chi_square_interval(4.0, 10, 3.0, 0.95)
    assert (made.low, made.high) == pytest.approx((2.794868, 7.019734), abs=5e-7)
    assert made.method == "chi-square [X2]"
    for n, level in ((3, 0.9), (50, 0.99)):
        found = intervals.chi_square_interval(2.0, n, 3.0, level)
        limits = 2.0 * np.sqrt(n / stats.chi2.ppf([(1 + level) / 2, (1 - level) / 2], n))
        assert (found.low, found.high) == pytest.approx(tuple(limits), rel=1e-10)
    assert intervals.chi_square_interval(0.0, 10, 3.0, 0.95).reason == "no_spread"
    assert intervals.chi_square_interval(1.0, 0.0, 3.0, 0.95).reason == "too_few_rows"


@pytest.mark.slow
def test_chi_square_says_when_the_residuals_are_not_normal() -> None:
    """500 residuals: of normal ones (kurtosis 3) it warns in at most 1 sample of 100, of Laplace
    ones (kurtosis 6) in at least 95."""
    generator = np.random.default_rng(1)
    flagged = {"normal": 0, "laplace": 0}
    for _ in range(200):
        for kind in flagged:
            error = getattr(generator, kind)(size=500)
            predicted = np.zeros(500)
            ev = cal.regression(error, predicted, measures="RMSE", interval="chi-square")
            flagged[kind] += "kurtosis" in ev["RMSE"].method
            value = float(np.sqrt(np.square(error).mean()))
            limits = value * np.sqrt(500 / stats.chi2.ppf([0.975, 0.025], 500))
            assert (ev["RMSE"].low, ev["RMSE"].high) == pytest.approx(tuple(limits), rel=1e-10)
    assert flagged["normal"] <= 2
    assert flagged["laplace"] >= 190


@pytest.mark.slow
def test_the_coverage_of_bootstrap_t() -> None:
    """2,000 normal samples of 20 in 40 bootstraps: about 95%, and not the 92% of the percentiles."""
    from calipers import _core

    generator = np.random.default_rng(6)
    inside = percentile = 0
    for seed in range(40):
        values = generator.normal(5.0, 2.0, (20, 50))
        means, errors = _core.bootstrap_means(values, seed, 999)
        for j in range(50):
            mean, se = values[:, j].mean(), values[:, j].std(ddof=1) / math.sqrt(20)
            made = intervals.bootstrap_t(mean, se, means[:, j], errors[:, j], 0.95)
            inside += made.low <= 5.0 <= made.high
            other = intervals.percentile(means[:, j], 0.95)
            percentile += other.low <= 5.0 <= other.high
    assert 0.93 <= inside / 2000 <= 0.975
    assert percentile < inside


# -------------------------------------------------------------------------------------- bootstrap


@pytest.mark.parametrize("cells", [(80, 20, 15, 85), (20, 5, 10, 400), (300, 30, 60, 10)])
def test_the_spread_of_f1_is_that_of_the_delta_method(cells: tuple[int, ...]) -> None:
    tp, fp, fn, tn = cells
    matrix = ConfusionMatrix.from_counts(tp, fp, fn, tn)
    f = 2 * tp / (2 * tp + fp + fn)
    expected = math.sqrt(f * (1 - f) * (2 - f) / (2 * tp + fp + fn))
    drawn = parse("F1").apply(matrix.resample(20_000, seed=2))
    assert drawn.std() == pytest.approx(expected, rel=0.05)


def test_percentiles_are_interpolated_order_statistics() -> None:
    replicates = np.arange(101.0)
    made = intervals.percentile(np.random.default_rng(0).permutation(replicates), 0.9)
    assert (made.low, made.high) == pytest.approx((5, 95))


@pytest.mark.parametrize("statistic", [np.mean, np.std], ids=["mean", "deviation"])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bca_is_scipys(statistic: Any, level: float) -> None:
    """On SciPy's own replicates, of skewed values."""
    for seed in range(10):
        values = np.random.default_rng(seed).exponential(size=25)
        theirs = stats.bootstrap(
            (values,),
            statistic,
            confidence_level=level,
            n_resamples=1999,
            method="BCa",
            random_state=np.random.default_rng(seed),
        )
        without = np.array([statistic(np.delete(values, i)) for i in range(25)])
        ours = intervals.bca(
            float(statistic(values)),
            theirs.bootstrap_distribution,
            intervals.acceleration(intervals.jackknife_influence(without)),
            level,
        )
        limits = theirs.confidence_interval
        assert (ours.low, ours.high) == pytest.approx((limits.low, limits.high), rel=1e-9)
        assert ours.method == "BCa bootstrap [B]"


def test_without_bias_and_acceleration_bca_is_the_percentile_interval() -> None:
    replicates = np.linspace(-1, 1, 2001)
    ours = intervals.bca(0.0, replicates, 0.0, 0.9)
    plain = intervals.percentile(replicates, 0.9)
    assert (ours.low, ours.high) == pytest.approx((plain.low, plain.high), abs=1e-9)


def test_bca_where_there_is_none() -> None:
    replicates = np.linspace(0.4, 0.6, 1000)
    for value in (0.3, 0.7):
        assert intervals.bca(value, replicates, 0.0, 0.95).reason == "replicates_on_one_side"
    assert intervals.bca(0.5, replicates, 5.0, 0.95).reason == "replicates_on_one_side"
    replicates[:51] = np.nan
    assert intervals.bca(0.5, replicates, 0.0, 0.95).reason == "degenerate_replicates"
    assert intervals.bca(0.5, np.full(100, 0.5), 0.0, 0.95).reason == "no_spread"


def test_acceleration_counts_units_as_often_as_they_stand() -> None:
    influence, times = np.array([-2.0, 0.5, 3.0]), np.array([3.0, 6.0, 1.0])
    once = intervals.acceleration(influence, times)
    each = intervals.acceleration(np.repeat(influence, times.astype(int)))
    assert once == pytest.approx(each, rel=1e-12)
    assert intervals.acceleration(np.zeros(4)) == 0.0
    # Of a mean it is the skewness over 6√n.
    values = np.random.default_rng(2).exponential(size=40)
    expected = stats.skew(values) / (6 * math.sqrt(40))
    assert intervals.acceleration(values - values.mean()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("without_value", "defined"), [(0, True), (50, True), (51, False)])
def test_replicates_without_a_value(without_value: int, defined: bool) -> None:
    """Left out up to 5%; beyond that there is no interval, and not one from 0."""
    replicates = np.linspace(0.4, 0.6, 1000)
    replicates[:without_value] = np.nan
    made = intervals.percentile(replicates, 0.95)
    if defined:
        assert made.reason is None
        assert made.low >= replicates[without_value]
    else:
        assert math.isnan(made.low)
        assert made.reason == "degenerate_replicates"
    assert made.method == "bootstrap [B]"


def test_three_positives_of_a_hundred_that_stand_on_top() -> None:
    """Bootstraps that draw none of the three must not stretch the interval to [0, 1], and the others,
    all perfect, must not shrink it to a point."""
    truth = np.arange(100) < 3
    ev = cal.classification(
        truth, score=-np.arange(100.0), measures=["AUC", "PR-AUC"], interval="bootstrap"
    )
    for e in ev:
        assert e.value == 1.0
        assert e.interval_reason in ("no_spread", "degenerate_replicates")
        assert math.isnan(e.low)
    auto = cal.classification(truth, score=-np.arange(100.0), measures="AUC")["AUC"]
    assert auto.low == pytest.approx(0.025 ** (1 / 3))


def test_bootstrap_t_with_units_that_are_all_alike() -> None:
    made = intervals.bootstrap_t(0.5, 0.0, np.full(100, 0.5), np.zeros(100), 0.95)
    assert made.reason == "no_spread"
    errors = np.where(np.arange(100) < 6, 0.0, 1.0)
    made = intervals.bootstrap_t(0.5, 0.1, np.full(100, 0.5), errors, 0.95)
    assert made.reason == "degenerate_replicates"


def test_what_a_measure_cannot_reach_is_cut_off() -> None:
    made = intervals.Interval(-0.2, 1.3, "x").clip(0.0, 1.0)
    assert (made.low, made.high) == (0.0, 1.0)
    none = intervals.no_interval("x", "no_spread").clip(0.0, 1.0)
    assert math.isnan(none.low)
    assert math.isnan(none.high)


# ------------------------------------------------------------------------ what is said beside limits


def test_the_standard_error_of_a_share() -> None:
    for of in (proportions.wilson, proportions.jeffreys, proportions.agresti_coull):
        assert of(0.3, 21, 0.95).se == pytest.approx(0.1, rel=1e-12)


def test_two_shares_differ_by_one_at_most() -> None:
    for first, second in ((1.0, 0.0), (0.0, 1.0)):
        made = proportions.bonett_price(first, second, 1, 0.95)
        low, high = 1 / 3 - stats.norm.ppf(0.975) * math.sqrt(8 / 27), 1.0  # a, b = 2/3, 1/3
        expected = (low, high) if first else (-high, -low)
        assert (made.low, made.high) == pytest.approx(expected, rel=1e-12)


def test_standard_errors_of_roots() -> None:
    assert intervals.root_mean_interval(9.0, 0.6, 0.95).se == pytest.approx(0.1, rel=1e-12)
    assert intervals.chi_square_interval(4.0, 8, 3.0, 0.95).se == pytest.approx(1.0, rel=1e-12)


def test_a_kurtosis_is_far_from_3_at_three_of_its_standard_errors() -> None:
    for kurtosis, far in ((5.99, False), (6.01, True)):  # √(24/24) = 1
        assert ("but" in intervals.chi_square_interval(4.0, 24, kurtosis, 0.95).method) is far


def test_two_misplaced_rows_are_enough_for_delong() -> None:
    truth = [1, 0, 0, 1, 1, 0, 0, 1]  # wins of the positives: 4, 2, 2, 0 of 16
    score = np.arange(8, 0, -1) / 9
    made = cal.classification(truth, probability=score, measures=["AUC"], curves=False)["AUC"]
    assert made.value == 0.5
    assert made.method == "DeLong, logit"
    truth = [1, 1, 1, 0, 1, 0, 0, 0]
    made = cal.classification(
        truth, probability=score, measures=["AUC"], curves=False, interval="delong"
    )["AUC"]
    assert made.high == 1.0


def test_turned_replicates_end_at_1() -> None:
    replicates = np.linspace(0.4, 0.6, 41)
    assert (
        intervals.basic_bootstrap_on_logit(1.0, replicates, 10, 0.95, "basic bootstrap").high == 1.0
    )


def test_the_spread_of_replicates_of_any_magnitude() -> None:
    for scale in (1.0, 1e-200, 1e200):  # of 1, 2 and 6: (4 + 1 + 9)/2 = 7
        found = intervals.standard_deviation(np.array([1.0, 2.0, 6.0]) * scale)
        assert found == pytest.approx(math.sqrt(7) * scale, rel=1e-12)


def test_replicates_that_are_all_0_do_not_vary() -> None:
    assert intervals.percentile(np.zeros(50), 0.95).reason == "no_spread"


def test_bca_ends_where_the_correction_turns_back() -> None:
    """1 − a(z₀ ± z) has to stay above 0; here z₀ is 1, and z₀ + z is 2.96."""
    replicates = np.linspace(0.0, 1.0, 2001)
    value = float(stats.norm.cdf(1.0))
    assert intervals.bca(value, replicates, 0.4, 0.95).reason == "replicates_on_one_side"
    found = intervals.bca(value, replicates, -0.5, 0.95)
    bias = stats.norm.ppf((replicates < value).mean())
    ends = bias + np.array([-1, 1]) * stats.norm.ppf(0.975)
    expected = stats.norm.cdf(bias + ends / (1 + 0.5 * ends))
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-9)


def test_intervals_of_areas_end_at_their_limits() -> None:
    """Three positives of which one lies below one of three negatives: an AUC of 8/9."""
    truth, score = np.array([1, 1, 1, 0, 0, 0], bool), np.array([6.0, 5.0, 3.0, 4.0, 2.0, 1.0])
    for of, area in ((score, 8 / 9), (-score, 1 / 9)):
        table = ScoreTable.from_rows(truth, of)
        for made in (
            intervals.delong_interval(area, table, 0.95),
            intervals.hanley_interval(area, table, 0.95),
        ):
            assert (made.low, made.high)[int(area > 0.5)] == float(area > 0.5)
    above = intervals.separated_auc_interval(1.0, 4, 0.9)
    assert (above.low, above.high) == (pytest.approx(0.05**0.25), 1.0)
    below = intervals.separated_auc_interval(0.0, 4, 0.9)
    assert (below.low, below.high) == (0.0, pytest.approx(1 - 0.05**0.25))


def test_no_replicates_are_not_studentized() -> None:
    assert intervals.studentize(0.5, np.zeros(0), np.zeros(0)) is None
