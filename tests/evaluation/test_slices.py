"""Slices against the evaluation of their rows alone, SciPy and brute force."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.estimation.calibration import ProbabilityRows
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import estimate_mean_loss
from calipers.estimation.scores import ScoredRows
from calipers.evaluation.slice_definitions import define_slices
from calipers.evaluation.slices import complement_settings
from calipers.inference import intervals, paired_tests, proportions, two_samples
from calipers.inference import method_limits as limits
from calipers.inference.clusters import ClusterIndex
from calipers.inference.intervals import Interval
from calipers.inference.score_bootstrap import ScoreReplicates
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.report.tables import slice_groups, slice_tables
from calipers.results import Slices
from calipers.statistics import ConfusionMatrix, ScoreTable
from calipers.statistics.sparse_confusion import SparseConfusionMatrix

ROWS = 400
MEASURES = ("AUC", "PR-AUC", "log-loss", "Brier", "accuracy", "recall", "F1", "MCC")


def data(seed: int = 0) -> dict[str, npt.NDArray[Any]]:
    random = np.random.default_rng(seed)
    truth = random.random(ROWS) < 0.4
    site = random.choice(["Bern", "Oslo", "Rome"], ROWS, p=[0.2, 0.3, 0.5])
    noise = np.where(site == "Oslo", 3.0, 1.0)
    probability = 1 / (1 + np.exp(-(2.0 * truth - 1 + noise * random.normal(size=ROWS))))
    return {
        "truth": truth,
        "probability": probability,
        "site": site,
        "sex": random.choice(["f", "m"], ROWS),
        "age": np.round(random.uniform(18, 90, ROWS), 1),
        "user": random.integers(0, 80, ROWS),
        "weight": random.uniform(0.2, 3, ROWS),
    }


def evaluated(d: dict[str, npt.NDArray[Any]], **options: Any) -> cal.Evaluation:
    options = {"measures": MEASURES, "curves": False, **options}
    return cal.classification(d["truth"], probability=d["probability"], **options)


def sliced(d: dict[str, npt.NDArray[Any]], **options: Any) -> Slices:
    found = evaluated(d, **{"slices": {"site": d["site"]}, **options}).slices
    assert found is not None
    return found


def rows_of(d: dict[str, npt.NDArray[Any]], rows: Any) -> dict[str, npt.NDArray[Any]]:
    return {name: column[rows] for name, column in d.items()}


def many() -> dict[str, npt.NDArray[Any]]:
    """Three times as many rows, so that no slice has few."""
    return rows_of(data(), np.tile(np.arange(ROWS), 3))


# ---------------------------------------------------------------------------------------- estimates


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_a_slice_is_the_evaluation_of_its_rows(weighted: bool, clustered: bool) -> None:
    d = data()
    found = sliced(
        d,
        weight=d["weight"] if weighted else None,
        cluster=d["user"] if clustered else None,
    )
    assert found.columns == ("site",)
    assert len(found) == 3 * len(MEASURES)
    for place in ("Bern", "Oslo", "Rome"):
        own = rows_of(d, d["site"] == place)
        alone = evaluated(own, weight=own["weight"] if weighted else None)
        for measure in MEASURES:
            row = found["site", place, measure]
            assert row.estimate.value == pytest.approx(alone[measure].value, abs=1e-12)
            assert row.estimate.n_total == len(own["truth"])
            assert row.vs_rest.n == ROWS - len(own["truth"])
            if not clustered:  # whose clusters are drawn by their numbers among all of them
                assert (row.estimate.low, row.estimate.high) == pytest.approx(
                    (alone[measure].low, alone[measure].high), abs=1e-12
                )


@pytest.mark.parametrize("interval", ["auto", "bootstrap", "analytic"])
@pytest.mark.parametrize("clustered", [False, True])
def test_differences_to_the_rest_hold_together(interval: str, clustered: bool) -> None:
    d = data()
    found = sliced(d, interval=interval, cluster=d["user"] if clustered else None)
    for row in found:
        rest = evaluated(rows_of(d, d["site"] != row.slice), interval="none")
        apart = row.vs_rest
        assert apart.value == pytest.approx(
            row.estimate.value - rest[row.estimate.measure].value, abs=1e-12
        )
        if apart.has_interval:
            assert apart.low < apart.value < apart.high
        else:
            assert interval == "analytic"
            assert apart.interval_reason == "no_analytic_interval"
        assert math.isnan(apart.p) == (apart.test == "none")


def test_several_systems_are_sliced_each() -> None:
    d = data()
    both = {"good": d["probability"], "even": np.full(ROWS, 0.5)}
    ev = cal.classification(
        d["truth"], probability=both, slices={"site": d["site"]}, measures=["AUC", "recall"]
    )
    assert ev.slices is not None
    assert ev.slices["site", "Bern", "even", "AUC"].estimate.value == 0.5
    with pytest.raises(KeyError, match="names 2 rows"):
        ev.slices["site", "Bern", "AUC"]
    with pytest.raises(KeyError, match="names 0 rows"):
        ev.slices["site", "Paris", "even", "AUC"]


# ----------------------------------------------------------------------------- tests, two samples


def test_shares_are_newcombes_and_the_score_test() -> None:
    d = many()
    row = sliced(d)["site", "Oslo", "accuracy"]
    right = (d["probability"] >= 0.5) == d["truth"]
    inside = d["site"] == "Oslo"
    table = [[int((right & part).sum()), int((~right & part).sum())] for part in (inside, ~inside)]
    expected = stats.chi2_contingency(table, correction=False)
    assert row.vs_rest.p == pytest.approx(expected.pvalue, rel=1e-9)
    limits = [
        stats.binomtest(hits, hits + misses).proportion_ci(method="wilson")
        for hits, misses in table
    ]
    p = [hits / (hits + misses) for hits, misses in table]
    low = p[0] - p[1] - math.hypot(p[0] - limits[0].low, limits[1].high - p[1])
    assert row.vs_rest.low == pytest.approx(low, abs=1e-12)
    assert row.vs_rest.method == "Newcombe"


def test_shares_of_few_rows_are_tested_exactly() -> None:
    truth = np.ones(52, int)
    said = np.repeat([0, 1], [3, 49])
    ev = cal.classification(
        truth, said, slices={"site": np.repeat(["a", "b"], [3, 49])}, measures="recall",
        curves=False, positive=1,
    )  # fmt: skip
    assert ev.slices is not None
    apart = ev.slices["site", "a", "recall"].vs_rest
    assert apart.p == pytest.approx(stats.fisher_exact([[0, 3], [49, 0]]).pvalue)
    assert apart.p == pytest.approx(4.5e-5, rel=0.01)
    assert apart.test == "Fisher, exact"


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(3, 49), (8, 30), (25, 60)])
def test_a_test_of_shares_is_fishers_and_says_of_0_what_the_interval_says(n: int, m: int) -> None:
    errors = {0.5: 0.0, 0.8: 0.0, 0.95: 0.0}
    for x in range(n + 1):
        for y in range(m + 1):
            test = two_samples.fisher_exact(x / n, n, y / m, m)
            assert test is not None
            if (x + y) % 5 == 0:
                expected = stats.fisher_exact([[x, n - x], [y, m - y]]).pvalue
                assert test.p == pytest.approx(expected, rel=1e-8)
            limits = (proportions.wilson(k / of, of, 0.95) for k, of in ((x, n), (y, m)))
            made = intervals.mover_interval(x / n, next(limits), y / m, next(limits))
            made, test = two_samples.align_with_test(made, test, x / n - y / m, 0.95)
            assert (test.p <= 0.05) == (not made.low <= 0 <= made.high)
            if test.p <= 0.05:
                for p in errors:
                    errors[p] += stats.binom.pmf(x, n, p) * stats.binom.pmf(y, m, p)
    # Summed over all that can be: it never errs more often than it says.
    assert max(errors.values()) <= 0.05


def test_weighted_shares_are_not_counted() -> None:
    assert two_samples.fisher_exact(0.4, 7.3, 0.5, 10) is None
    assert two_samples.fisher_exact(0.43, 7, 0.5, 10) is None


@pytest.mark.parametrize(
    ("low", "high", "p"),
    [(0.1, 0.5, 0.2), (-0.1, 0.7, 0.01), (-0.5, -0.1, 0.2), (-0.7, 0.1, 0.01), (0.1, 0.5, 0.01),
     (-0.1, 0.7, 0.2), (0.0, 0.6, 0.05)],
)  # fmt: skip
def test_an_interval_and_a_test_agree_on_0(low: float, high: float, p: float) -> None:
    value = (low + high) / 2
    made, test = two_samples.align_with_test(
        Interval(low, high, "x"), paired_tests.TestResult(p, "y"), value, 0.95
    )
    assert (test.p <= 0.05) == (not made.low <= 0 <= made.high)
    assert made.low <= low
    assert made.high >= high
    assert test.p >= p


@pytest.mark.parametrize(("hits", "of", "others", "rest"), [(5, 5, 7, 7), (0, 3, 0, 9)])
def test_equal_shares_of_nothing_or_all_are_equal(
    hits: int, of: int, others: int, rest: int
) -> None:
    assert two_samples.proportions_ztest(hits / of, of, others / rest, rest).p == 1


def test_losses_are_welchs() -> None:
    d = many()
    row = sliced(d)["site", "Oslo", "Brier"]
    loss = np.square(d["probability"] - d["truth"])
    inside = d["site"] == "Oslo"
    expected = stats.ttest_ind(loss[inside], loss[~inside], equal_var=False)
    limits = expected.confidence_interval(0.95)
    assert row.vs_rest.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (row.vs_rest.low, row.vs_rest.high) == pytest.approx(tuple(limits), rel=1e-9)


def test_aucs_are_two_independent_delongs() -> None:
    d = many()
    row = sliced(d)["site", "Oslo", "AUC"].vs_rest
    inside = d["site"] == "Oslo"
    tables = [
        ScoreTable.from_rows(d["truth"][part], d["probability"][part]) for part in (inside, ~inside)
    ]
    se = math.hypot(*map(intervals.delong_se, tables))
    assert row.p == pytest.approx(2 * stats.norm.sf(abs(row.value) / se), rel=1e-9)
    assert row.high - row.value == pytest.approx(stats.norm.ppf(0.975) * se, rel=1e-9)


def test_an_auc_of_one_differs_by_its_own_limits() -> None:
    d = data()
    inside = d["site"] == "Bern"
    d["probability"] = np.where(inside, d["truth"] * 0.8 + 0.1, d["probability"])
    row = sliced(d)["site", "Bern", "AUC"]
    assert row.estimate.value == 1
    assert row.vs_rest.method == row.vs_rest.test == "MOVER"
    assert 0 < row.vs_rest.p < 0.05
    assert row.vs_rest.low > 0
    # At the level that p belongs to, the interval reaches 0.
    there = sliced(d, level=1 - row.vs_rest.p, measures="AUC")["site", "Bern", "AUC"].vs_rest
    assert there.low == pytest.approx(0, abs=1e-6)


def test_bootstraps_of_slice_and_rest_are_independent() -> None:
    """The bootstrap's interval of a share is that of the binomials' difference."""
    d = data()
    row = sliced(d, interval="bootstrap")["site", "Rome", "accuracy"].vs_rest
    right = (d["probability"] >= 0.5) == d["truth"]
    inside = d["site"] == "Rome"
    se = math.hypot(*(right[part].std() / math.sqrt(part.sum()) for part in (inside, ~inside)))
    assert row.high - row.low == pytest.approx(2 * 1.96 * se, rel=0.1)


def test_clusters_in_both_parts_are_drawn_together() -> None:
    """Every user has two rows that are alike but for the slice: nothing can differ."""
    d = rows_of(data(), slice(0, 150))
    twice = {name: np.tile(column, 2) for name, column in d.items()}
    half = np.repeat(["first", "second"], 150)
    ev = evaluated(twice, cluster=np.tile(np.arange(150), 2), slices={"half": half})
    assert ev.slices is not None
    for row in ev.slices:
        assert row.vs_rest.value == 0
        assert row.vs_rest.interval_reason == "no_spread"


def brute_holm(p: list[float]) -> list[float]:
    """Step by step: the smallest p times all, the next times one less, never below the last."""
    out, last = [0.0] * len(p), 0.0
    for done, k in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        last = max(last, min(1.0, p[k] * (len(p) - done)))
        out[k] = last
    return out


def test_p_values_are_holms_over_the_slices_of_each_measure() -> None:
    d = data()
    found = sliced(d, slices={"site": d["site"], "age": d["age"]})
    for measure in MEASURES:
        rows = [row.vs_rest for row in found if row.estimate.measure == measure]
        assert len(rows) == 7
        expected = brute_holm([row.p for row in rows])
        assert [row.p_adjusted for row in rows] == pytest.approx(expected, rel=1e-12)


def test_two_slices_ask_one_question() -> None:
    d = data()
    found = sliced(d, slices={"sex": d["sex"]})
    for measure in MEASURES:
        f, m = (found["sex", name, measure].vs_rest for name in ("f", "m"))
        assert f.p == f.p_adjusted == m.p == m.p_adjusted
        assert (f.value, f.low, f.high) == (-m.value, -m.high, -m.low)
        assert (f.n, m.n) == ((d["sex"] == "m").sum(), (d["sex"] == "f").sum())


@pytest.mark.slow
def test_no_difference_is_found_where_there_is_none() -> None:
    """Under no difference at most 5% of evaluations should find one among their slices."""
    found = []
    for seed in range(70):
        random = np.random.default_rng(seed)
        d = data(seed)
        d["site"] = random.choice(["a", "b", "c", "d"], ROWS)
        rows = sliced(d, measures=["AUC", "accuracy", "Brier"], n_resamples=200)
        found.append(
            [
                any(r.vs_rest.p_adjusted <= 0.05 for r in rows if r.estimate.measure == measure)
                for measure in ("AUC", "accuracy", "Brier")
            ]
        )
    # 5% and three standard errors.
    assert (np.mean(found, axis=0) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 70)).all()


# ------------------------------------------------------------------------ without a bootstrap


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["AP", "PR-AUC"])
def test_precision_recall_areas_vary_as_their_bootstrap_does(measure: str) -> None:
    random = np.random.default_rng(8)
    truth = random.random(1500) < 0.3
    score = truth + random.normal(size=1500)
    site = random.choice(["a", "b", "c"], 1500, p=[0.3, 0.3, 0.4])
    options: dict[str, Any] = {"measures": measure, "curves": False}
    ev = cal.classification(truth, score=score, slices={"site": site}, **options)
    assert ev.slices is not None
    apart = ev.slices["site", "a", measure].vs_rest
    assert apart.method == apart.test == "MOVER"
    parts = site == "a", site != "a"

    def area(rows: npt.NDArray[np.intp]) -> float:
        if measure == "AP":
            return float(metrics.average_precision_score(truth[rows], score[rows]))
        return float(cal.measure(measure).apply(ScoreTable.from_rows(truth[rows], score[rows])))

    drawn = [
        [area(random.choice(np.flatnonzero(part), part.sum())) for part in parts]
        for _ in range(300)
    ]
    spread = np.subtract(*np.transpose(drawn)).std()
    # A standard deviation of 300 is off by 4%.
    assert (apart.high - apart.low) / (2 * 1.96) == pytest.approx(spread, rel=0.15)
    there = cal.classification(
        truth, score=score, slices={"site": site}, level=1 - apart.p, **options
    ).slices
    assert there is not None
    at = there["site", "a", measure].vs_rest
    assert min(abs(at.low), abs(at.high)) == pytest.approx(0, abs=1e-6)


def test_few_positives_leave_boyds_limits() -> None:
    d = rows_of(data(), slice(0, 60))
    inside = d["site"] == "Oslo"
    assert max((d["truth"] & part).sum() for part in (inside, ~inside)) < 30
    row = sliced(d, measures=["AP"])["site", "Oslo", "AP"].vs_rest
    areas, limits = [], []
    for part in (inside, ~inside):
        a = metrics.average_precision_score(d["truth"][part], d["probability"][part])
        half = 1.959964 / math.sqrt((d["truth"] & part).sum() * a * (1 - a))
        eta = math.log(a / (1 - a))
        areas.append(a)
        limits.append([1 / (1 + math.exp(-eta - sign * half)) for sign in (-1, 1)])
    value = areas[0] - areas[1]
    low = value - math.hypot(areas[0] - limits[0][0], limits[1][1] - areas[1])
    high = value + math.hypot(limits[0][1] - areas[0], areas[1] - limits[1][0])
    assert (row.value, row.low, row.high) == pytest.approx((value, low, high), rel=1e-6)


def test_functions_of_a_mean_differ_by_the_delta_method() -> None:
    d = many()
    row = sliced(d, measures=["perplexity"])["site", "Oslo", "perplexity"].vs_rest
    p, inside = d["probability"], d["site"] == "Oslo"
    loss = -np.log(np.where(d["truth"], p, 1 - p))
    parts = loss[inside], loss[~inside]
    errors = [math.exp(x.mean()) * x.std(ddof=1) / math.sqrt(len(x)) for x in parts]
    degrees = math.hypot(*errors) ** 4 / sum(
        e**4 / (len(x) - 1) for e, x in zip(errors, parts, strict=True)
    )
    value = math.exp(parts[0].mean()) - math.exp(parts[1].mean())
    assert row.value == pytest.approx(value, rel=1e-9)
    expected = 2 * stats.t.sf(abs(value) / math.hypot(*errors), degrees)
    assert row.p == pytest.approx(expected, rel=1e-6)


def test_the_usual_measures_need_no_bootstrap_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("rows are drawn")

    monkeypatch.setattr(ScoreReplicates, "evaluate", refused)
    for row in sliced(many(), measures=None):
        assert row.estimate.has_interval
        assert row.vs_rest.has_interval
        assert math.isfinite(row.vs_rest.p)


# ------------------------------------------------------------------------------------ clusters


def test_rows_that_are_their_own_clusters_are_no_clusters() -> None:
    d = data()
    with_clusters, without = (
        sliced(d, cluster=cluster, measures=["Brier"])["site", "Oslo", "Brier"].vs_rest
        for cluster in (np.arange(ROWS), None)
    )
    assert with_clusters == without


def estimate_of_rows(
    d: dict[str, npt.NDArray[Any]],
    measure: Any,
    rows: npt.NDArray[np.bool_],
    weight: npt.NDArray[np.float64] | None,
    clusters: ClusterIndex | None = None,
    settings: Settings = Settings(),  # noqa: B008
) -> Any:
    """Return the estimate of a measure of two classes from some rows alone."""
    truth, p = d["truth"][rows], d["probability"][rows]
    w = None if weight is None else weight[rows]
    of = None if clusters is None else clusters.take_rows(rows)
    if measure.definition.statistic is ConfusionMatrix:
        names = ("False", "True")
        return ClassCounts.from_codes(truth, p >= 0.5, names, settings, w, of).point_estimate(
            measure
        )
    if measure.definition.statistic is ScoreTable:
        scores = ScoredRows(truth, p, w, of, settings)
        is_probability = measure.definition.reads == "probabilities"
        return (ProbabilityRows(scores) if is_probability else scores).point_estimate(measure)
    losses = measure.losses(truth.astype(float), p)
    return estimate_mean_loss(measure, losses, w, of, settings)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_rest_of_independent_rows_is_that_of_its_rows(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Areas of all complements in one pass, and replicates of weighted ones from their sums."""
    monkeypatch.setattr("calipers.evaluation.slices.BLOCK_ROWS", 0)
    d = many()
    weight = d["weight"] if weighted else None
    names = ("AUC", "gini", "AP", "PR-AUC", "PR-AUC-DG", "recall", "balanced-accuracy", "F1", "MCC")
    found = sliced(d, weight=weight, measures=names)
    for row in found:
        measure = parse(row.estimate.measure, ("counts", "scores"))
        inside = d["site"] == row.slice
        first, second = (
            estimate_of_rows(d, measure, rows, weight, None, settings)
            for rows, settings in ((inside, Settings()), (~inside, complement_settings(Settings())))
        )
        assert row.vs_rest.value == pytest.approx(first.value - second.value, rel=1e-9, abs=1e-12)
        interval, test = two_samples.compare_samples(first, second, lambda e=second: e)
        assert (row.vs_rest.test, row.vs_rest.p) == (test.name, pytest.approx(test.p, rel=1e-9))
        if "Holm" not in row.vs_rest.method:
            limits = row.vs_rest.low, row.vs_rest.high
            assert limits == pytest.approx((interval.low, interval.high), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_of_the_rest_are_those_of_its_rows(weighted: bool) -> None:
    """Every estimate of the rest of a slice from its rows, and the two compared."""
    d = data(4)
    weight = d["weight"] if weighted else None
    names = (*MEASURES, "AP", "PR-AUC-DG", "calibration-slope", "calibration-intercept", "KS")
    found = sliced(d, cluster=d["user"], weight=weight, measures=names)
    clusters = ClusterIndex.from_names(d["user"], weight)
    for row in found:
        measure = parse(row.estimate.measure, ("counts", "scores", "probabilities", "calibration"))
        inside = d["site"] == row.slice
        first, second = (
            estimate_of_rows(d, measure, rows, weight, clusters) for rows in (inside, ~inside)
        )
        assert row.vs_rest.value == pytest.approx(first.value - second.value, rel=1e-9, abs=1e-12)
        interval, test = two_samples.compare_samples(first, second, lambda e=second: e)
        if "[B]" in interval.method:  # drawn for all measures together
            continue
        assert row.vs_rest.p == pytest.approx(test.p, rel=1e-9)
        if "Holm" not in row.vs_rest.method:
            limits = row.vs_rest.low, row.vs_rest.high
            assert limits == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_clusters_of_one_part_are_welchs() -> None:
    """Every row twice, as a cluster."""
    d = {name: np.repeat(column, 2) for name, column in data().items()}
    users = np.arange(2 * ROWS) // 2
    row = sliced(d, cluster=users, measures=["Brier"])["site", "Oslo", "Brier"].vs_rest
    loss, inside = np.square(d["probability"] - d["truth"])[::2], d["site"][::2] == "Oslo"
    expected = stats.ttest_ind(loss[inside], loss[~inside], equal_var=False)
    assert row.p == pytest.approx(expected.pvalue, rel=1e-9)
    limits = expected.confidence_interval(0.95)
    assert (row.low, row.high) == pytest.approx((limits.low, limits.high), rel=1e-9)


def test_clusters_in_both_parts_vary_together() -> None:
    """A regression of the loss on the slice with errors of clusters, every user in both parts."""
    d = data()
    half = np.where(np.random.default_rng(3).random(ROWS) < 0.4, "a", "b")
    user = np.arange(ROWS) // 10
    half[::10], half[1::10] = "a", "b"
    found = evaluated(d, cluster=user, slices={"half": half}, measures=["Brier"]).slices
    assert found is not None
    row = found["half", "a", "Brier"].vs_rest
    loss = np.square(d["probability"] - d["truth"])
    fit = sm.OLS(loss, sm.add_constant((half == "a").astype(float))).fit(
        cov_type="cluster", cov_kwds={"groups": user, "use_correction": False}
    )
    se = fit.bse[1] * math.sqrt(40 / 39)
    assert row.value == pytest.approx(fit.params[1], rel=1e-9)
    widths = (row.high - row.value) / se
    assert stats.t.ppf(0.975, 78) < widths < stats.t.ppf(0.975, 36)
    assert row.p == pytest.approx(2 * stats.t.sf(abs(row.value) / se, 60), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_no_difference_is_found_among_clusters_where_there_is_none(shared: bool) -> None:
    names = ["AUC", "AP", "Brier", "F1", "recall", "calibration-slope"]
    found = []
    for seed in range(70):
        random = np.random.default_rng(seed)
        user = random.integers(0, 100, 500)
        level = random.normal(size=100)[user] + random.normal(size=500)
        truth = random.random(500) < 1 / (1 + np.exp(-1.5 * level))
        p = 1 / (1 + np.exp(-1.5 * level - random.normal(size=500)))
        site = random.choice(list("abc"), 500) if shared else random.choice(list("abc"), 100)[user]
        rows = cal.classification(
            truth, probability=p, cluster=user, slices={"site": site}, measures=names,
            curves=False, n_resamples=100, interval="analytic",
        ).slices  # fmt: skip
        assert rows is not None
        found.append(
            [any(r.vs_rest.p_adjusted <= 0.05 for r in rows if r.estimate.measure == m)
             for m in names]
        )  # fmt: skip
    assert (np.mean(found, axis=0) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 70)).all()


@pytest.mark.parametrize("interval", ["auto", "analytic", "bootstrap", "none"])
def test_one_cluster_of_all_rows_says_nothing_and_does_not_fall_over(interval: str) -> None:
    for row in sliced(data(), cluster=np.zeros(ROWS), interval=interval, n_resamples=100):
        assert not row.estimate.has_interval
        assert row.vs_rest.has_interval == math.isfinite(row.vs_rest.low)
        assert row.vs_rest.has_interval or row.vs_rest.interval_reason


# ----------------------------------------------------------------------------------- thresholds


def test_a_threshold_chosen_on_all_rows_is_used_in_every_slice_and_said() -> None:
    d = data()
    options: dict[str, Any] = {"measures": ["recall", "F1"], "slices": {"site": d["site"]}}
    ev = evaluated(d, threshold="youden", **options)
    at = ev.provenance["conventions"]["threshold"]["system"]
    fixed = evaluated(d, threshold=at, **options)
    assert ev.slices is not None
    assert fixed.slices is not None
    assert ev.slices.to_csv() == fixed.slices.to_csv()
    own = evaluated(rows_of(d, d["site"] == "Bern"), threshold="youden", measures=["recall"])
    assert own.provenance["conventions"]["threshold"]["system"] != at
    [note] = [note for note in ev.notes if "slices are measured at the threshold" in note]
    assert f"{at:.6g}" in note
    assert not any("slices are measured" in note for note in fixed.notes)


# --------------------------------------------------------------------------------------- the cuts


def test_numbers_are_cut_at_their_quartiles_and_say_so() -> None:
    d = data()
    ev = evaluated(d, slices={"age": d["age"]}, measures="accuracy")
    assert ev.slices is not None
    q = np.quantile(d["age"], [0.25, 0.5, 0.75])
    edges = [float(f"{x:.6g}") for x in q]
    counts = np.histogram(d["age"], [-np.inf, *edges, np.inf])[0]
    assert [row.estimate.n_total for row in ev.slices] == counts.tolist()
    assert ev.notes[-1].startswith("age is cut at its quartiles: ")
    assert ev.slices.all[0].slice == f"below {edges[0]:g}"
    assert ev.slices.all[-1].slice == f"{edges[2]:g} and above"


def test_numbers_are_cut_where_asked() -> None:
    d = data()
    ev = evaluated(d, slices={"age": d["age"]}, slice_bins={"age": [40, 65.5]}, measures="accuracy")
    assert ev.slices is not None
    assert [(row.slice, row.estimate.n_total) for row in ev.slices] == [
        ("below 40", (d["age"] < 40).sum()),
        ("40 to below 65.5", ((d["age"] >= 40) & (d["age"] < 65.5)).sum()),
        ("65.5 and above", (d["age"] >= 65.5).sum()),
    ]


def test_bins_that_hold_nothing_are_no_slices() -> None:
    made, _ = define_slices({"x": {"x": np.arange(20)}}, {"x": [-5, 10, 50]}, 20)
    assert made[0].names == ("-5 to below 10", "10 to below 50")
    assert np.bincount(made[0].codes).tolist() == [10, 10]


def test_few_distinct_numbers_are_slices() -> None:
    made, notes = define_slices({"stage": {"stage": [3, 1, 2, 1]}}, None, 4)
    assert (made[0].names, made[0].codes.tolist(), notes) == (("1", "2", "3"), [2, 0, 1, 0], [])


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("kind", [list, pa.array, pd.Series, np.array])
def test_rows_without_a_value_are_a_slice(kind: Any, missing: str) -> None:
    d = data()
    column = [None if k % 10 == 0 else str(x) for k, x in enumerate(d["site"])]
    found = sliced(d, slices={"site": kind(column)}, measures="accuracy", missing=missing)
    assert [row.slice for row in found] == ["Bern", "Oslo", "Rome", "missing"]
    row, own = found["site", "missing", "accuracy"], rows_of(d, slice(0, ROWS, 10))
    assert row.estimate.n_total == ROWS // 10
    assert row.vs_rest.n == ROWS - ROWS // 10
    assert row.estimate.value == pytest.approx(
        evaluated(own, measures="accuracy")["accuracy"].value
    )


def test_numbers_may_be_missing_too() -> None:
    age = np.where(np.arange(60) < 20, np.nan, np.arange(60.0))
    [cut], notes = define_slices({"age": {"age": age}}, None, 60)
    assert cut.names[-1] == "missing"
    assert np.bincount(cut.codes).tolist() == [10, 10, 10, 10, 20]
    assert "quartiles: 29.75, 39.5, 49.25" in notes[0]
    [whole], _ = define_slices({"age": {"age": [None, None]}}, None, 2)
    assert whole.names == ("missing",)


def test_a_number_that_most_rows_have_is_a_slice() -> None:
    """Four of five did not smoke; the others are cut among themselves."""
    packs = np.where(np.arange(100) % 5 < 4, 0.0, 1 + np.arange(100.0))
    [cut], [note] = define_slices({"packs": {"packs": packs}}, None, 100)
    edges = np.quantile(packs[packs > 0], [0.25, 0.5, 0.75])
    assert cut.names == (
        "0", f"below {edges[0]:g}, not 0", f"{edges[0]:g} to below {edges[1]:g}",
        f"{edges[1]:g} to below {edges[2]:g}", f"{edges[2]:g} and above",
    )  # fmt: skip
    assert np.bincount(cut.codes).tolist() == [80, 5, 5, 5, 5]
    assert (packs[cut.codes == 0] == 0).all()
    assert note.startswith("packs is 0 in 80% of the rows, which form a slice; the others are cut")


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_the_note_on_a_common_number_counts_rows_without_one(engine: str) -> None:
    x = np.concatenate([np.zeros(80), 1 + np.arange(20.0), np.full(100, np.nan)])
    table = pa.table({"y": np.arange(200) % 2, "x": pa.array(x, from_pandas=True)})
    ev = cal.classification(
        "y", "y", data=table, slices=["x"], engine=engine, measures="accuracy", interval="none"
    )
    [note] = [note for note in ev.notes if "form a slice" in note]
    assert note.startswith("x is 0 in 40% of the rows")


def test_columns_are_crossed() -> None:
    d = data()
    found = sliced(d, slices={"sex*site": (d["sex"], d["site"])}, measures="accuracy")
    assert [row.slice for row in found] == [
        f"{sex}, {site}" for sex in "fm" for site in ("Bern", "Oslo", "Rome")
    ]
    row = found["sex*site", "m, Oslo", "accuracy"]
    assert row.estimate.n_total == ((d["sex"] == "m") & (d["site"] == "Oslo")).sum()


def test_slices_are_columns_of_a_table_by_name() -> None:
    d = data()
    by_name = cal.classification(
        "truth", probability="probability", data=d, slices=["site", "sex * site"],
        measures="accuracy", curves=False,
    )  # fmt: skip
    given = evaluated(
        d,
        slices={"site": d["site"], "sex * site": (d["sex"], d["site"])},
        measures="accuracy",
    )
    assert by_name.slices is not None
    assert given.slices is not None
    assert [s.estimate.value for s in by_name.slices] == [s.estimate.value for s in given.slices]


@pytest.mark.parametrize(
    ("slices", "bins", "message"),
    [
        ({"a": [1, 2]}, None, "slice 'a': has 2 rows, truth has 4"),
        ({"a": [None, "missing", "b", "b"]}, None, "some rows have no value and some have 'mis"),
        ({"a": list("abca")}, {"a": [1]}, "slice 'a': has the value 'a', but bins need numbers"),
        ({"a": [1, 2, 3, 4]}, {"b": [1]}, "bins for 'b', which is not a slice"),
        ({"a": [1, 2, 3, 4]}, {"a": [2, 1]}, "expected bin edges in ascending order"),
        ({"a*b": ([1, 2, 3, 4],)}, None, "slice 'a\\*b': has 1 columns, expected 2"),
        ([[1, 2, 3, 4]], None, "expected a dict of columns by name"),
    ],
)
def test_input_is_checked(slices: Any, bins: Any, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.classification([0, 1, 1, 0], [0, 1, 0, 0], slices=slices, slice_bins=bins)


def test_too_many_slices_are_refused() -> None:
    names = [f"user {k}" for k in range(60)]
    with pytest.raises(cal.InputError, match="has 60 slices, expected at most 50"):
        cal.classification([0, 1] * 30, [0, 1] * 30, slices={"user": names})


# ----------------------------------------------------------------------------------- undefined, edges


def test_a_slice_of_one_class_says_why_it_is_undefined() -> None:
    d = data()
    d["site"] = np.where(d["truth"] & (d["site"] == "Bern"), "Rome", d["site"])
    found = sliced(d)
    row = found["site", "Bern", "AUC"]
    assert math.isnan(row.estimate.value)
    assert row.estimate.undefined
    assert row.vs_rest.interval_reason == "undefined_value"
    assert math.isnan(row.vs_rest.p_adjusted)
    assert not math.isnan(found["site", "Oslo", "AUC"].vs_rest.p_adjusted)


def test_one_slice_has_no_rest() -> None:
    d = data()
    row = sliced(d, slices={"all": ["same"] * ROWS})["all", "same", "AUC"]
    assert row.estimate.value == evaluated(d)["AUC"].value
    assert row.vs_rest.interval_reason == "empty_complement"
    assert row.vs_rest.n == 0


@pytest.mark.slow
def test_a_slice_of_a_row_or_without_weight_does_not_fall_over() -> None:
    d = data()
    d["site"][0] = "Athi"
    weight = d["weight"] * (d["site"] != "Bern")
    for options in ({}, {"weight": weight}, {"weight": weight, "cluster": d["user"]}):
        found = sliced(d, **options)
        assert found["site", "Athi", "AUC"].estimate.undefined
        if options:
            assert "Bern" not in {row.slice for row in found}  # none of its rows is there


def test_no_interval_means_no_test() -> None:
    for row in sliced(data(), interval="none"):
        assert row.vs_rest.interval_reason == "not_requested"
        assert math.isnan(row.vs_rest.p)


@pytest.mark.slow
def test_the_rows_order_changes_nothing() -> None:
    d = data()
    order = np.random.default_rng(1).permutation(ROWS)
    for clustered in (False, True):
        a, b = (
            sliced(rows, cluster=rows["user"] if clustered else None)
            for rows in (d, rows_of(d, order))
        )
        assert [r.slice for r in a] == [r.slice for r in b]
        for one, other in zip(a, b, strict=True):
            assert (one.vs_rest.low, one.vs_rest.high, one.vs_rest.p) == pytest.approx(
                (other.vs_rest.low, other.vs_rest.high, other.vs_rest.p), rel=1e-6
            )


# -------------------------------------------------------------------------------- beyond two classes


def test_three_classes_are_sliced_too() -> None:
    random = np.random.default_rng(5)
    truth = random.choice(list("abc"), 300)
    predicted = np.where(random.random(300) < 0.7, truth, random.choice(list("abc"), 300))
    site = random.choice(["north", "south", "west"], 300)
    names = ["accuracy", "recall[b]", "macro-F1"]
    ev = cal.classification(truth, predicted, slices={"site": site}, measures=names)
    assert ev.slices is not None
    for place in ("north", "south", "west"):
        own = site == place
        alone = cal.classification(truth[own], predicted[own], measures=names)
        for measure in names:
            row = ev.slices["site", place, measure]
            assert row.estimate.value == pytest.approx(alone[measure].value, abs=1e-12)
            assert row.vs_rest.has_interval
    apart = ev.slices["site", "west", "recall[b]"].vs_rest
    hits = [
        [int(((predicted == "b") & part).sum()), int(((predicted != "b") & part).sum())]
        for part in ((truth == "b") & (site == "west"), (truth == "b") & (site != "west"))
    ]
    assert apart.p == pytest.approx(stats.fisher_exact(hits).pvalue, rel=1e-9)


# ---------------------------------------------------------------------------------------- results


def test_the_json_has_the_slices() -> None:
    ev = evaluated(data(), slices={"site": data()["site"]})
    again = cal.Evaluation.from_json(ev.to_json())
    assert again.to_json() == ev.to_json()
    assert again.slices is not None
    assert ev.slices is not None
    assert again.slices.to_csv() == ev.slices.to_csv()
    assert json.loads(ev.to_json())["slices"]["adjustment"] == "Holm"
    assert cal.Evaluation.from_json(evaluated(data()).to_json()).slices is None


def test_tables_have_a_row_for_each_measure_of_each_slice() -> None:
    found = sliced(data())
    frame = found.to_frame()
    assert len(frame) == found.to_arrow().num_rows == len(found) == 3 * len(MEASURES)
    assert found.to_csv().count("\n") == len(found) + 1
    assert {"slice", "difference", "p_adjusted"} <= set(frame.columns)


def test_a_scarce_label_leaves_an_average_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many rows by the errors of both parts, of which the bootstrap says nothing for a macro
    average."""
    monkeypatch.setattr(limits, "MAX_PERMUTED_ROWS_OF_LABELS", 0)
    random = np.random.default_rng(0)
    truth = random.random((1200, 3)) < [0.4, 0.3, 0.012]
    said = np.where(random.random((1200, 3)) < 0.85, truth, ~truth)
    said[:, 2] = truth[:, 2] ^ (random.random(1200) < 0.003)
    site = random.choice(["a", "b", "c"], 1200)
    options: dict[str, Any] = {"measures": ["macro-F1"]}
    columns = [{name: of[:, k] for k, name in enumerate("xyz")} for of in (truth, said)]
    found = cal.multilabel(*columns, slices={"site": site}, **options).slices
    assert found is not None
    row = found["site", "a", "macro-F1"].vs_rest
    assert row.method == "delta, two samples, but a rare label"
    parts = [
        cal.multilabel(
            *({name: of[part] for name, of in column.items()} for column in columns),
            interval="analytic", **options,
        )["macro-F1"] for part in (site == "a", site != "a")
    ]  # fmt: skip
    se = math.hypot(*((e.high - e.low) / 2 / stats.norm.ppf(0.975) for e in parts))
    assert row.high - row.value == pytest.approx(stats.norm.ppf(0.975) * se, rel=1e-6)
    assert row.p == pytest.approx(2 * stats.norm.sf(abs(row.value) / se), rel=1e-6)


@pytest.mark.slow
def test_reports_show_slices() -> None:
    d = data()
    ev = evaluated(d, slices={"<site>": d["site"]})
    assert "Slices by <site>" in str(ev)
    assert "Slices by <site>" in str(ev.slices)
    assert "### Slices by &lt;site&gt;" in ev.to_markdown()
    page = ev.to_html()
    assert '<h2 id="slices">Slices' in page
    assert '<h3 class="by">By &lt;site&gt;</h3>' in page
    assert "<site>" not in page
    assert "differs significantly from all other rows: Oslo" in page


@pytest.mark.slow
def test_a_page_of_many_slices_is_bounded() -> None:
    d = data()
    many = {f"column {k}": np.arange(ROWS) % 40 for k in range(12)}
    names = {name: [f"v{x}" for x in column] for name, column in many.items()}
    ev = evaluated(d, slices=names, measures=["accuracy", "recall"], interval="none")
    page = ev.to_html()
    assert "more rows of slices are not shown" in page
    assert "more rows of slices are not shown" in str(ev)
    assert len(page) < 2_000_000


def test_comparisons_within_slices_that_are_not_shown_are_counted() -> None:
    d = data()
    scores = {"a": d["probability"], "b": d["probability"][::-1]}
    ev = cal.classification(
        d["truth"],
        probability=scores,
        slices={"site": d["site"]},
        measures=["accuracy", "recall"],
        curves=False,
    )
    assert ev.slices is not None
    assert len(ev.slices.differences) == 6
    for text in (str(ev), str(ev.slices), ev.to_markdown()):
        assert "3 more comparisons within slices are not shown" in text
    one = cal.classification(
        d["truth"],
        probability=scores,
        slices={"site": d["site"]},
        measures=["accuracy"],
        curves=False,
    )
    assert "more comparisons within slices" not in str(one)


def test_columns_whose_names_are_shortened_alike_have_a_table_each() -> None:
    d = data()
    names = [f"{'x' * 50}{middle}{'y' * 50}" for middle in "ab"]
    by_name = dict(zip(names, (d["site"], d["sex"]), strict=True))
    ev = evaluated(d, slices=by_name, measures=["accuracy"])
    assert ev.slices is not None
    tables, _ = slice_tables(ev.slices)
    assert [len(columns[0].cells) for columns in tables.values()] == [3, 2]


@pytest.mark.slow
def test_measures_that_tell_slices_apart_come_first_where_there_is_no_room() -> None:
    d = data()
    names = {f"column {k}": d["site"] for k in range(12)}
    d["truth"] = d["truth"] & (np.arange(ROWS) % 2 == 0)
    ev = evaluated(d, slices=names, measures=["accuracy", "recall", "Brier", "AUC", "F1"])
    assert ev.slices is not None
    told = {r.estimate.measure for r in ev.slices if r.vs_rest.p_adjusted <= 0.05}
    second = next(m for m in ("recall", "Brier", "AUC", "F1") if m in told)
    assert second != "recall"
    groups, left_out = slice_groups(ev.slices, max_rows=12 * 6)
    assert left_out == 12 * 9
    assert [g.canonical_name for g in groups] == ["accuracy", second] * 12


def test_a_page_folds_measures_that_tell_no_slice_apart() -> None:
    d = data()
    page = evaluated(d, slices={"site": d["site"], "sex": d["sex"]}).to_html()
    assert "No slice differs significantly from all other rows by" in page
    assert page.count('<details class="part" open>') == 2
    assert page.count('" by site"') + page.count(' by site"') == len(MEASURES)


# ------------------------------------------------------------------------------------- regression


@pytest.mark.parametrize("clustered", [False, True])
def test_predicted_numbers_are_sliced_too(clustered: bool) -> None:
    random = np.random.default_rng(6)
    truth, site = random.normal(size=900), random.choice(["north", "south", "west"], 900)
    predicted = truth + np.where(site == "west", 2.0, 1.0) * random.normal(size=900)
    user = random.integers(0, 60, 900)
    ev = cal.regression(
        truth,
        predicted,
        slices={"site": site},
        cluster=user if clustered else None,
        measures=["RMSE", "MAE", "MSE"],
    )
    assert ev.slices is not None
    loss, west = np.square(predicted - truth), site == "west"
    row = ev.slices["site", "west", "RMSE"]
    assert row.estimate.value == pytest.approx(math.sqrt(loss[west].mean()), rel=1e-12)
    assert row.vs_rest.low > 0
    mean = ev.slices["site", "west", "MSE"].vs_rest
    expected = stats.ttest_ind(loss[west], loss[~west], equal_var=False)
    if clustered:
        fit = sm.OLS(loss, sm.add_constant(west.astype(float))).fit(
            cov_type="cluster", cov_kwds={"groups": user}
        )
        assert mean.method == row.vs_rest.method == "cluster-robust, two samples"
        assert mean.value == pytest.approx(fit.params[1], rel=1e-9)
        width = (mean.high - mean.value) / fit.bse[1]
        assert 1.95 < width < 1.05 * stats.t.ppf(0.975, 40)
    else:
        assert mean.p == pytest.approx(expected.pvalue, rel=1e-9)
        assert row.vs_rest.test == mean.test == "Welch t"
    assert row.vs_rest.p < 0.01


def test_coefficients_of_a_recalibration_differ_by_both_their_errors() -> None:
    d = data()
    found = sliced(d, measures=["calibration-slope"])["site", "Oslo", "calibration-slope"]
    rest = evaluated(rows_of(d, d["site"] != "Oslo"), measures=["calibration-slope"])
    z = stats.norm.ppf(0.975)
    errors = [(e.high - e.low) / 2 / z for e in (found.estimate, rest["calibration-slope"])]
    assert found.vs_rest.high - found.vs_rest.value == pytest.approx(z * math.hypot(*errors))
    expected = 2 * stats.norm.sf(abs(found.vs_rest.value) / math.hypot(*errors))
    assert found.vs_rest.p == pytest.approx(expected, rel=1e-6)


def test_the_interval_of_limits_has_its_test() -> None:
    """At the level 1 − p of the test the interval of the difference just reaches 0."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 300)
    probability = random.dirichlet(np.ones(3), 300) * 0.6 + 0.4 * np.eye(3)[truth]
    sides = {"side": ["x" if k % 3 else "y" for k in range(300)]}

    def of(level: float) -> Any:
        ev = cal.classification(
            truth, probability=probability, measures=["macro-AUC"], slices=sides, level=level,
            interval="analytic", curves=False,
        )  # fmt: skip
        return next(iter(ev.slices)).vs_rest

    found = of(0.95)
    assert (found.test, found.method) == ("MOVER", "MOVER")
    assert 0 < found.p < 1
    just = of(1 - found.p)
    assert min(abs(just.low), abs(just.high)) < 1e-6


def test_no_more_than_all_weight_is_right() -> None:
    for seed in range(10):
        counts = np.diag(np.random.default_rng(seed).random(5) * 50)
        held, place = counts.diagonal(), np.arange(0, 25, 6)
        for made in (
            ConfusionMatrix(counts, counts, tuple("abcde")),
            SparseConfusionMatrix(held, held, place, tuple("abcde")),
        ):
            assert 1 - 1e-15 < cal.measure("accuracy").apply(made) <= 1, seed
            assert 0 <= cal.measure("error-rate").apply(made) < 1e-15, seed
    # A share of weights that are rounded otherwise has a test all the same.
    assert (
        two_samples.proportions_ztest(math.nextafter(1, 2), 70.3, math.nextafter(1, 2), 80.2).p == 1
    )


@pytest.mark.parametrize("period", ["year", "quarter", "month", "day"])
def test_dates_are_cut_by_period(period: str, tmp_path: Path) -> None:
    """In memory and in batches, of dates, times and text, as pandas does it."""
    random = np.random.default_rng(5)
    days = pd.Timestamp("2023-11-01") + pd.to_timedelta(random.integers(0, 40, 300), unit="D")
    if period != "day":
        days = pd.Timestamp("2023-03-01") + pd.to_timedelta(random.integers(0, 500, 300), unit="D")
    frame = pd.DataFrame({"y": np.arange(300) % 2, "s": random.normal(size=300), "day": days})
    frame["stamp"] = frame["day"] + pd.Timedelta(hours=13)
    frame["text"] = frame["day"].dt.strftime("%Y-%m-%dT10:00")
    names = frame["day"].dt.to_period(
        {"year": "Y", "quarter": "Q", "month": "M", "day": "D"}[period]
    )
    expected = names.astype(str).str.replace("Q", "-Q").to_numpy()
    frame["by hand"] = expected
    frame.to_parquet(tmp_path / "t.parquet")
    columns = ["day", "stamp", "text"]
    options: dict[str, Any] = {"truth": "y", "score": "s", "measures": ["AUC"]}
    by_hand = cal.classification(data=frame, slices=["by hand"], **options).slices
    for data, engine in ((frame, "memory"), (str(tmp_path / "t.parquet"), "stream")):
        bins = dict.fromkeys(columns, period)
        found = cal.classification(
            data=data, slices=columns, slice_bins=bins, engine=engine, **options
        )
        assert f"day is cut by {period}." in found.notes
        for column in columns:
            values = {e.slice: e.estimate.value for e in found.slices if e.column == column}
            expected_values = {e.slice: e.estimate.value for e in by_hand}
            assert values == pytest.approx(expected_values, nan_ok=True)


def test_what_is_no_date_is_not_cut_by_period(tmp_path: Path) -> None:
    rows = "\n".join(["y,s,day", *(f"{i % 2},{i % 5},2024-{1 + i % 9:02}" for i in range(60))])
    (tmp_path / "t.csv").write_text(rows)
    options: dict[str, Any] = {"truth": "y", "score": "s", "measures": ["AUC"]}
    for engine in ("memory", "stream"):
        for column, period, message in (
            ("s", "month", "slice 's': has the value 0, but bins by month need dates"),
            ("day", "day", "but bins by day need dates such as 2024-01-31"),
            ("day", "week", "bins of 'day': 'week', expected bin edges, or one of year, quarter"),
        ):
            with pytest.raises(cal.InputError, match=message):
                cal.classification(
                    data=str(tmp_path / "t.csv"), slices=[column], engine=engine,
                    slice_bins={column: period}, **options,
                )  # fmt: skip
