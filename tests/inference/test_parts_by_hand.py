"""The difference of two parts of the rows, by formulas written out anew."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import rows_by_hand as by_hand
from rows_by_hand import DRAWS, LARGER, Rows, limits, near
from scipy import optimize, stats

import calipers as cal
from calipers import _core
from calipers.estimation.calibration import ProbabilityRows
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import RowLosses, estimate_from_moments
from calipers.estimation.multilabel import MultilabelSample
from calipers.estimation.scores import ScoredRows
from calipers.estimation.statistic_estimates import estimate_from_statistic
from calipers.estimation.top_k import RankedClasses
from calipers.estimation.topics import TopicRows, estimate_over_topics
from calipers.inference import method_selection, paired_tests, two_samples
from calipers.inference import two_samples as unpaired
from calipers.inference.clusters import ClusterIndex, subset_difference_error
from calipers.inference.intervals import Interval
from calipers.inference.method_limits import MAX_PERMUTED_ROWS_OF_COUNTS
from calipers.inference.settings import Settings
from calipers.statistics import Moments, ScoreTable


def part(k: int, rows: Rows = LARGER, step: int = 3) -> Rows:
    """Every third row, and the others."""
    some = (np.arange(rows.n) % step == 0) == (k == 0)
    columns = rows.truth, rows.a, rows.b, rows.weight, rows.cluster
    return Rows(*(column[some] for column in columns))


PARTS = part(0), part(1)


def settings(interval: str = "auto", n_resamples: int = DRAWS) -> Settings:
    return Settings(interval, n_resamples=n_resamples)


def weight_of(rows: Rows, design: str) -> Any:
    return rows.weight if design in ("weighted", "both") else None


def clusters_of(rows: Rows, design: str) -> ClusterIndex | None:
    if design not in ("clustered", "both"):
        return None
    whole = ClusterIndex(LARGER.cluster.astype(np.uint32), int(LARGER.cluster.max()) + 1)
    return ClusterIndex(rows.cluster.astype(np.uint32), whole.n_codes, weight_of(rows, design))


def counts(rows: Rows, measure: str, design: str = "plain", **given: Any) -> Any:
    said = (rows.a >= 0.5).astype(int)
    made = ClassCounts.from_codes(
        rows.truth, said, ("0", "1"), settings(**given), weight_of(rows, design),
        clusters_of(rows, design),
    )  # fmt: skip
    return made.point_estimate(cal.measure(measure))


def scored(rows: Rows, design: str = "plain", **given: Any) -> ScoredRows:
    return ScoredRows(
        rows.truth == 1, rows.a, weight_of(rows, design), clusters_of(rows, design),
        settings(**given),
    )  # fmt: skip


def scores(rows: Rows, measure: str, design: str = "plain", **given: Any) -> Any:
    return scored(rows, design, **given).point_estimate(cal.measure(measure, family="scores"))


def test_influence_is_that_of_the_table_that_is_given() -> None:
    """Also if an earlier table is gone, in whose memory the next one may be."""
    random, auc = np.random.default_rng(0), cal.measure("AUC")
    batch = scored(LARGER)
    for _ in range(20):
        score = np.append(LARGER.a, random.random(200))
        truth = np.append(LARGER.truth == 1, random.random(200) < 0.5)
        total = ScoreTable.from_rows(truth, score, None)
        found, known = (rows.influence(auc, total) for rows in (batch, scored(LARGER)))
        np.testing.assert_array_equal(found.column, known.column)


def losses(rows: Rows, measure: str, design: str = "plain") -> Any:
    x = (rows.a - rows.b) ** 2
    of = RowLosses(x, weight_of(rows, design), clusters_of(rows, design), settings())
    return of.point_estimate(cal.measure(measure, family="regression"))


def three(rows: Rows) -> Any:
    """Probabilities of three classes, some of them equal."""
    return np.column_stack([1 - rows.a, np.round(rows.a * rows.b, 1), rows.a])


def ranks(rows: Rows, measure: str, design: str) -> Any:
    of = weight_of(rows, design), clusters_of(rows, design), settings()
    return RankedClasses(rows.truth, three(rows), *of).point_estimate(cal.measure(measure))


def sets(rows: Rows) -> tuple[Any, Any]:
    truth = np.column_stack([rows.truth == 1, rows.b > 0.6])
    return truth, np.column_stack([rows.a > 0.5, rows.a > 0.6])


def labels(rows: Rows, measure: str, design: str) -> Any:
    of = weight_of(rows, design), clusters_of(rows, design), settings()
    return MultilabelSample(*sets(rows), ("x", "y"), *of).point_estimate(cal.measure(measure))


def compared(first: Any, second: Any) -> Any:
    return two_samples.compare_samples(first, second, lambda: method_selection.interval(second))


def by_error(value: float, se: float, degrees: float = np.inf) -> tuple[tuple[float, float], float]:
    t = stats.t.ppf(0.975, degrees)
    return (value - t * se, value + t * se), float(2 * stats.t.sf(abs(value) / se, degrees))


def check(found: Any, value: float, se: float, degrees: float = np.inf) -> None:
    made, test = found
    expected, p = by_error(value, se, degrees)
    assert limits(made) == near(*expected, rel=1e-6)
    assert made.se == pytest.approx(se, rel=1e-6)
    assert test.p == pytest.approx(p, rel=1e-5)


def mover(first: float, a: Any, second: float, b: Any) -> tuple[float, float]:
    """Each side by the limits that face it."""
    low = np.hypot(first - a[0], b[1] - second)
    return first - second - low, first - second + np.hypot(a[1] - first, second - b[0])


# --- Shares and means -----------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["plain", "weighted"])
def test_shares(design: str) -> None:
    """Newcombe's interval, and Fisher's exact test; of weighted rows, which cannot be counted, the
    score test with the pooled share."""
    p, n = [], []
    for rows in PARTS:
        w = rows.weight if design == "weighted" else np.ones(rows.n)
        p.append(np.average((rows.a >= 0.5) == rows.truth, weights=w))
        n.append(by_hand.kish(w))
    made, test = compared(*(counts(rows, "accuracy", design) for rows in PARTS))
    wilson = [by_hand.wilson(*of) for of in zip(p, n, strict=True)]
    assert limits(made) == near(*mover(p[0], wilson[0], p[1], wilson[1]))
    pooled = (p[0] * n[0] + p[1] * n[1]) / sum(n)
    z = (p[0] - p[1]) / np.sqrt(pooled * (1 - pooled) * (1 / n[0] + 1 / n[1]))
    expected = 2 * stats.norm.sf(abs(z))
    if design == "plain":
        hits = np.rint(np.multiply(p, n))
        expected = stats.fisher_exact([hits, n - hits]).pvalue
    assert test.p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("design", ["plain", "weighted"])
@pytest.mark.parametrize("whole", [False, True])
def test_means(design: str, whole: bool) -> None:
    """Welch's; the rest of a slice may be known by its moments alone."""
    x = [(rows.a - rows.b) ** 2 for rows in PARTS]
    first, second = (losses(rows, "MSE", design) for rows in PARTS)
    if whole:
        moments = Moments.from_rows(x[1], weight_of(PARTS[1], design))
        measure = cal.measure("MSE", family="regression")
        second = estimate_from_moments(measure, moments, settings(), PARTS[1].n)
    made, test = compared(first, second)
    if design == "plain":
        theirs = stats.ttest_ind(*x, equal_var=False)
        assert limits(made) == near(*theirs.confidence_interval(0.95))
        assert test.p == pytest.approx(theirs.pvalue, rel=1e-9)
        return
    means, variances, sizes = [], [], []
    for values, rows in zip(x, PARTS, strict=True):
        w, n = rows.weight, by_hand.kish(rows.weight)
        means.append(np.average(values, weights=w))
        squares = ((w * (values - means[-1])) ** 2).sum()
        variances.append(squares * n / (n - 1) / w.sum() ** 2)
        sizes.append(n)
    a, b = variances
    degrees = (a + b) ** 2 / (a**2 / (sizes[0] - 1) + b**2 / (sizes[1] - 1))
    check((made, test), means[0] - means[1], float(np.sqrt(a + b)), degrees)


def test_roots_of_means() -> None:
    """The error of √ is that of the mean over twice the root."""
    errors, values = [], []
    for rows in PARTS:
        x = (rows.a - rows.b) ** 2
        values.append(np.sqrt(x.mean()))
        errors.append(x.std(ddof=1) / np.sqrt(rows.n) / 2 / values[-1])
    a, b = (e**2 for e in errors)
    n, m = (rows.n for rows in PARTS)
    degrees = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    found = compared(*(losses(rows, "RMSE") for rows in PARTS))
    check(found, values[0] - values[1], float(np.sqrt(a + b)), degrees)


def test_topics() -> None:
    values = [np.array([.31, .52, .48, .77, .12, .66, .59]), np.array([.41, .83, .25, .37, .91])]  # fmt: skip
    readings = [
        estimate_over_topics([TopicRows(cal.measure("nDCG"), x, None, settings())])[0]
        for x in values
    ]
    made, test = compared(*readings)
    theirs = stats.ttest_ind(*values, equal_var=False)
    assert limits(made) == near(*theirs.confidence_interval(0.95))
    assert test.p == pytest.approx(theirs.pvalue, rel=1e-9)


def regression(x: Any, weight: Any = None) -> Any:
    """The reading of a mean of squares."""
    of = RowLosses(np.asarray(x, float), weight, None, settings())
    return of.point_estimate(cal.measure("MSE", family="regression"))


def test_means_of_few() -> None:
    """Two rows, and two parts that vary alike; where nothing varies p is 1 or not known."""
    for x, y in (([1.0, 3.0], [2.0, 2.5, 9.0]), ([1.0, 3.0, 4.0], [2.0, 4.0, 5.0])):
        made, test = compared(regression(x), regression(y))
        theirs = stats.ttest_ind(x, y, equal_var=False)
        assert limits(made) == near(*theirs.confidence_interval(0.95))
        assert test.p == pytest.approx(theirs.pvalue, rel=1e-9)
    for y, p in ((2.0, 1.0), (3.0, np.nan)):
        made, test = compared(regression([2.0, 2.0]), regression([y] * 3))
        assert made.reason == "no_spread"
        assert test.p == pytest.approx(p, nan_ok=True)
    assert compared(regression([1.0]), regression([1.0, 2.0]))[0].reason == "too_few_rows"
    for value, p in ((0.0, 1.0), (0.1, np.nan)):
        test = unpaired.student_result(value, 0.0, 5, 0.95, "clustered")[1]
        assert test.p == pytest.approx(p, nan_ok=True)
    right = Rows(*(np.repeat(of, 4) for of in (1, 0.9, 0.1, 1.0, 0)))
    assert compared(counts(right, "accuracy"), counts(right, "accuracy"))[1].p == 1


@dataclass(frozen=True)
class Chance:
    """What rows permuted would say."""

    p: float

    made: Interval = field(default_factory=lambda: Interval(-9.0, 9.0, "dealt"))

    def compare(self, level: float) -> tuple[Interval, paired_tests.TestResult]:
        return self.made, paired_tests.TestResult(self.p, "dealt")


def beside(
    first: Any, second: Any, p: float, *made: Interval
) -> tuple[Interval, paired_tests.TestResult]:
    return two_samples.compare_samples(
        first,
        second,
        lambda: method_selection.interval(second),
        lambda most: Chance(p, *made) if min(first.n, second.n) <= most else None,
    )


@pytest.mark.parametrize("p", [1e-6, 0.9999])
def test_the_larger_p_value_of_two_counts(p: float) -> None:
    """But that of draws says no more than that it is small where it is as small as it can be."""
    first, second = (counts(rows, "F1") for rows in PARTS)
    own = compared(first, second)[1].p
    assert 0.01 < own < 0.99
    assert beside(first, second, p)[1].p == max(p, own)
    right, wrong = (
        counts(Rows(np.repeat([1, 0], 50), said, said, np.ones(100), None), "MCC")
        for said in (np.repeat([0.9, 0.1], 50), np.tile([0.9, 0.1], 50))
    )
    assert compared(right, wrong)[1].p == pytest.approx(2 / (DRAWS + 1))
    few = replace(right, n=MAX_PERMUTED_ROWS_OF_COUNTS)
    assert beside(few, wrong, p)[1].p == p


def test_an_interval_beside_the_larger_of_two_p_values_is_what_either_test_allows() -> None:
    """Its own leaves 0 out; where the other test does not, the interval goes as far as that one's."""
    right = (np.arange(120) % 10 < np.repeat([9, 6], 60)).astype(int)
    rows = Rows(np.ones(120), right, right, np.tile([0.9, 1.1], 60), np.arange(120))
    columns = rows.truth, rows.a, rows.b, rows.weight, rows.cluster
    readings = [
        counts(Rows(*(column[half] for column in columns)), "recall", "weighted")
        for half in (slice(60), slice(60, 120))
    ]
    own, test = compared(*readings)
    assert 0 < own.low < own.high
    assert test.p < 0.01
    # Where neither interval has 0, and a test does not exclude it, the interval ends there.
    for low, p, expected in ((-0.05, 0.2, -0.05), (-0.05, 0.04, own.low), (0.2, 0.2, 0.0)):
        made, found = beside(*readings, p, Interval(low, 0.35, "dealt"))
        assert (made.low, made.high) == (expected, max(own.high, 0.35) if p >= 0.05 else own.high)
        assert found.p == p
        both = "Newcombe or dealt: the wider" + ", to 0 by the test" * (low > 0)
        assert made.method == (both if p >= 0.05 else "Newcombe")


def test_chance_alone_where_errors_say_little() -> None:
    first, second = (losses(rows, "MSE") for rows in PARTS)
    made, test = beside(first, second, 0.3)
    assert (made.method, test.p) == ("dealt", 0.3)
    reading = counts(LARGER, "MCC")  # from -1 to 1
    assert limits(two_samples._clip_to_range(Interval(-9.0, 9.0, ""), reading)) == (-2, 2)


# --- Clusters that have rows in both --------------------------------------------------------------


@pytest.mark.parametrize("design", ["clustered", "both"])
@pytest.mark.parametrize("measure", ["F1", "MSE", "RMSE", "AUC", "top-2-accuracy", "macro-F1"])
def test_clusters(measure: str, design: str) -> None:
    """Each part with shares of its own, and by the variance that it has alone."""
    moved, held, values, by_row = [], [], [], []
    for rows in PARTS:
        w = rows.weight if design == "both" else np.ones(rows.n)
        x = by_hand.mean((rows.a - rows.b) ** 2)
        own, p = three(rows)[np.arange(rows.n), rows.truth][:, None], three(rows)
        credit = np.clip((2 - (p > own).sum(axis=1)) / (p == own).sum(axis=1), 0, 1)
        y, said = sets(rows)
        each_label = [by_hand.f1(y[:, k], said[:, k]) for k in (0, 1)]
        formula = {
            "F1": by_hand.f1(rows.truth, rows.a >= 0.5),
            "MSE": x,
            "RMSE": lambda w, x=x: np.sqrt(x(w)),
            "AUC": by_hand.auc(rows.truth, rows.a),
            "top-2-accuracy": by_hand.mean(credit),
            "macro-F1": lambda w, of=each_label: (of[0](w) + of[1](w)) / 2,
        }[measure]
        each = by_hand.moved(formula, w)
        by_row.append(each)
        values.append(float(formula(w)))
        sign = 1 if len(by_row) == 1 else -1
        among = w * ((rows.truth == 1) | (rows.a >= 0.5)) if measure == "F1" else w
        for side in (rows.truth == 1, rows.truth == 0) if measure == "AUC" else (w > 0,):
            for out, of_row in ((moved, sign * each), (held, among)):
                of_side = of_row * side
                out.append(np.array([of_side[rows.cluster == c].sum() for c in range(19)]))
    se, degrees = by_hand.cr2(np.array(moved), np.array(held))
    make = {"F1": counts, "AUC": scores, "top-2-accuracy": ranks, "macro-F1": labels}
    readings = [make.get(measure, losses)(rows, measure, design) for rows in PARTS]
    found = compared(*readings)
    turned, same = compared(*readings[::-1])
    assert limits(turned) == near(-found[0].high, -found[0].low)
    assert same.p == pytest.approx(found[1].p, rel=1e-9)
    for reading, each in zip(readings, by_row, strict=True):
        np.testing.assert_allclose(reading.influence().influence_values, each, atol=1e-7)
    check(found, values[0] - values[1], float(se), degrees)


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_few_clusters_in_both(shared: int) -> None:
    """By the matrix of what the sums vary by together."""
    f, g = np.zeros((2, 6))
    f[:3], g[3 - shared : 6 - shared] = (1.0, -2.0, 1.0), (0.5, 1.5, -2.0)
    of_f, of_g = (f != 0) * 1.0, (g != 0) * np.array([1.0, 2, 3, 4, 5, 6])
    found = subset_difference_error((f, of_f), (g, of_g))
    expected = by_hand.cr2(np.array([f, -g]), np.array([of_f, of_g]))
    assert tuple(found) == pytest.approx(expected, rel=1e-12)


# --- Areas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["plain", "weighted"])
@pytest.mark.parametrize("measure", ["AUC", "Gini"])
def test_areas(measure: str, design: str) -> None:
    """By the sum of DeLong's two variances; the rest of a slice may be known by its table alone."""
    poor = np.round(LARGER.b + 2 * (np.arange(LARGER.n) * 0.3819660113 % 1), 2)
    blurred = Rows(LARGER.truth, poor, LARGER.b, LARGER.weight, LARGER.cluster)
    parts = [part(k, blurred, 2) for k in (0, 1)]
    scale, values, variances = 2 if measure == "Gini" else 1, [], []
    for rows in parts:
        w = rows.weight if design == "weighted" else np.ones(rows.n)
        formula = by_hand.auc(rows.truth, rows.a)
        values.append(scale * float(formula(w)))
        se = scale * by_hand.by_class(by_hand.moved(formula, w), rows.truth, w)
        variances.append(se**2)
    variance = sum(variances)
    first, second = (scores(rows, measure, design) for rows in parts)
    check(compared(first, second), values[0] - values[1], float(np.sqrt(variance)))
    table = scored(parts[1], design).table
    rest = estimate_from_statistic(cal.measure(measure), table, settings(), parts[1].n)
    check(compared(first, rest), values[0] - values[1], float(np.sqrt(variance)))
    assert method_selection.interval(first).se ** 2 == pytest.approx(variances[0], rel=1e-6)


def inverted(at: Any) -> float:
    """1 − the level at which an interval just reaches 0."""

    def nearest(log: float) -> float:
        low, high = at(1 - np.exp(log))
        return float(low if low + high > 0 else high)

    return float(np.exp(optimize.brentq(nearest, np.log(1e-9), -1e-9, xtol=1e-13)))


def test_areas_of_precision() -> None:
    """The limits of either on the logit scale: Boyd's of fewer than 30 positives, else by how much
    rows move it."""
    few, kept = part(0), (np.cumsum(LARGER.truth) <= 30) | (LARGER.truth == 0)
    columns = LARGER.truth, LARGER.a, LARGER.b, LARGER.weight, LARGER.cluster
    many = Rows(*(column[kept] for column in columns))
    values, errors = [], []
    for rows in (few, many):
        formula, w = by_hand.precision_area(rows.truth, rows.a, "AP"), np.ones(rows.n)
        value, positives = float(formula(w)), int(rows.truth.sum())
        se = np.sqrt(value * (1 - value) / positives)
        if positives >= 30:
            se = by_hand.by_class(by_hand.moved(formula, w), rows.truth, w)
        values.append(value)
        errors.append(se)

    def at(level: float) -> tuple[float, float]:
        z = stats.norm.ppf((1 + level) / 2)
        a, b = (by_hand.on_logit(*of, z) for of in zip(values, errors, strict=True))
        return mover(values[0], a, values[1], b)

    made, test = compared(scores(few, "AP"), scores(many, "AP"))
    assert limits(made) == near(*at(0.95), rel=1e-6)
    assert test.p == pytest.approx(inverted(at), rel=1e-5)


def test_an_interval_about_0_at_any_level_has_a_p_value_of_1() -> None:
    assert unpaired.inversion_test(lambda level: Interval(-level, level, "even"), "even").p == 1.0


def test_p_values_near_1_do_not_depend_on_intervals_without_a_width() -> None:
    """At levels near 0 rounding leaves no interval, and that of another method takes its place."""

    def interval(level: float) -> Interval:
        half = stats.norm.ppf((1 + level) / 2) if level > 1e-9 else 1.0
        return Interval(0.01 - half, 0.01 + half, "normal")

    test = unpaired.inversion_test(interval, "normal")
    assert test.p == pytest.approx(2 * stats.norm.sf(0.01))


# --- Draws ----------------------------------------------------------------------------------------


def test_counts() -> None:
    """F1 is 2s/(1 + s) of a share s that is Beta(tp + ½, fp + fn + 1)."""
    random, drawn = np.random.default_rng(0), []
    for rows in PARTS:
        tp, fp, fn, _ = by_hand.table(rows.truth, rows.a >= 0.5, np.ones(rows.n))
        share = random.beta(tp + 0.5, fp + fn + 1, 400_000)
        drawn.append(2 * share / (1 + share))
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    made, test = compared(*(counts(rows, "F1", n_resamples=100_000) for rows in PARTS))
    assert "Jeffreys" in made.method
    assert limits(made) == pytest.approx((low, high), abs=3e-3)
    p = 2 * min(np.mean(drawn[0] <= drawn[1]), np.mean(drawn[0] >= drawn[1]))
    assert test.p == pytest.approx(p, abs=0.01)


def test_calibration_errors_are_turned() -> None:
    values, drawn = [], []
    for rows in PARTS:
        formula = by_hand.calibration_error(rows.truth, rows.a)
        times = np.zeros((DRAWS, rows.n))
        order = np.lexsort((1 - rows.truth, -rows.a))
        times[:, order] = [_core.poisson_counts(0, b, rows.n) for b in range(DRAWS)]
        values.append(formula(np.ones(rows.n)))
        drawn.append(formula(times))
    apart = 2 * (values[0] - values[1]) - (drawn[0] - drawn[1])
    readings = [ProbabilityRows(scored(rows)).point_estimate(cal.measure("ECE")) for rows in PARTS]
    made, test = compared(*readings)
    assert limits(made) == near(*np.quantile(apart, [0.025, 0.975]))
    sides = np.count_nonzero(apart <= 0), np.count_nonzero(apart >= 0)
    assert test.p == pytest.approx(min(1, 2 * (min(sides) + 1) / (DRAWS + 1)), rel=1e-12)


def test_calibration_slopes() -> None:
    """By the inverses of two Fisher informations."""
    values, variance = [], 0.0
    for rows in PARTS:
        x = np.column_stack([np.ones(rows.n), np.log(rows.a / (1 - rows.a))])
        w = np.ones(rows.n)
        beta = np.array([by_hand.line(rows.truth, rows.a, place)(w) for place in (0, 1)])
        p = 1 / (1 + np.exp(-x @ beta))
        values.append(beta[1])
        variance += np.linalg.inv((x.T * p * (1 - p)) @ x)[1, 1]
    readings = [
        ProbabilityRows(scored(r)).point_estimate(cal.measure("calibration-slope")) for r in PARTS
    ]
    check(compared(*readings), values[0] - values[1], float(np.sqrt(variance)))


def test_a_slice_of_two_clusters_has_the_degrees_of_freedom_of_equal_ones() -> None:
    """The variance of two clusters that happen to be alike does not give those of the others."""
    random = np.random.default_rng(0)
    cluster = np.repeat(np.arange(40), 6)
    score = np.clip(random.random(40)[cluster] + random.normal(0, 0.05, 240), 0, 1)
    score[cluster < 2] = 0.9 + 0.01 * random.random(12)
    ev = cal.scores(
        score,
        cluster=cluster,
        slices={"g": np.where(cluster < 2, "x", "y")},
        measures=["mean-score"],
    )
    difference = ev.slices["g", "x", "mean-score"].vs_rest
    assert difference is not None
    means = score.reshape(40, 6).mean(axis=1)
    t = difference.value / np.sqrt(means[:2].var(ddof=1) / 2 + means[2:].var(ddof=1) / 38)
    df = (1 / 2 + 1 / 38) ** 2 / ((1 / 2) ** 2 / 1 + (1 / 38) ** 2 / 37)
    assert difference.p == pytest.approx(2 * stats.t.sf(t, df))
