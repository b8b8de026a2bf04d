"""Rows in clusters: errors against brute force and published formulas, the bootstrap by its laws,
coverage by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import calipers as cal
from calipers import _core
from calipers.inference import intervals, proportions
from calipers.inference.clusters import ClusterIndex, cr2
from calipers.inference.influence import ScoreInfluence, measure_influence
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable

Rows = dict[str, npt.NDArray[Any]]

COUNTS = ("accuracy", "recall", "precision", "F1", "MCC", "balanced-accuracy")
ALL = ("AUC", "PR-AUC", "AP", "log-loss", "Brier", *COUNTS)


def clustered(clusters: int, size: int, seed: int, strength: float = 1.5) -> Rows:
    """Users with ``size`` rows each, who share a shift of the score and a rate of positives."""
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(clusters), size)
    rate = stats.norm.cdf(random.normal(-0.3, 0.7, clusters))[user]
    truth = random.random(len(user)) < rate
    shift = strength * random.normal(size=clusters)[user]
    logit = 1.4 * truth - 0.7 + shift + random.normal(size=len(user))
    return {"user": user, "truth": truth, "probability": 1 / (1 + np.exp(-logit))}


def evaluated(rows: Rows, **options: Any) -> cal.Evaluation:
    return cal.classification(
        rows["truth"],
        probability=rows["probability"],
        cluster=options.pop("cluster", rows["user"]),
        curves=False,
        **options,
    )


# ------------------------------------------------------------------------------------------ errors


def pustejovsky_tipton(x: FloatArray, cluster: Any, design: FloatArray) -> tuple[float, float]:
    """CR2 of the last coefficient of a regression, and its Satterthwaite degrees of freedom, by the
    matrices of Pustejovsky and Tipton (2018) with independent rows as working model."""
    bread = np.linalg.inv(design.T @ design)
    residual = np.eye(len(x)) - design @ bread @ design.T
    e, variance, rows = residual @ x, 0.0, []
    for c in np.unique(cluster):
        own = cluster == c
        values, sides = np.linalg.eigh(residual[np.ix_(own, own)])
        root = sides @ np.diag(np.where(values > 1e-10, values, np.inf) ** -0.5) @ sides.T
        adjusted = bread[-1] @ design[own].T @ root
        variance += float(adjusted @ e[own]) ** 2
        rows.append(adjusted @ residual[own])
    gram = np.array(rows) @ np.array(rows).T
    return math.sqrt(variance), float(np.trace(gram) ** 2 / np.square(gram).sum())


@pytest.mark.parametrize(
    "sizes", [[5] * 12, [20, 1, 1, 1], [200, *[8] * 24], [3, 7, 2, 9, 30], [60, *[1] * 100]]
)
def test_the_error_of_a_mean_is_cr2(sizes: list[int]) -> None:
    random, cluster = np.random.default_rng(1), np.repeat(np.arange(len(sizes)), sizes)
    x = random.normal(size=len(cluster)) + random.normal(size=len(sizes))[cluster]
    found = ClusterIndex.from_names(cluster).mean_error(x)
    expected = pustejovsky_tipton(x, cluster, np.ones((len(x), 1)))
    assert (found.se, found.df) == pytest.approx(expected, rel=1e-9)


def test_equal_clusters_have_the_error_of_their_means() -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=(12, 5)) + random.normal(size=(12, 1))
    clusters = ClusterIndex.from_names(np.repeat(np.arange(12), 5))
    found = clusters.mean_error(values.ravel())
    assert found.se == pytest.approx(stats.sem(values.mean(axis=1)), rel=1e-12)
    assert found.df == pytest.approx(11, rel=1e-12)
    assert clusters.count_text == "12 clusters"


def test_two_parts_without_a_common_cluster_are_two_means() -> None:
    """Of clusters of one, the difference of two means has Welch's error, and his degrees of freedom
    but for the 1 that they take from each number of rows."""
    random = np.random.default_rng(4)
    x, y = random.normal(size=30), 3 * random.normal(size=12)
    f = np.concatenate([(x - x.mean()) / 30, np.zeros(12)])
    g = np.concatenate([np.zeros(30), (y - y.mean()) / 12])
    held = np.stack([f != 0, g != 0]).astype(float)
    se, degrees = cr2(np.stack([f, -g]), held)
    expected = stats.ttest_ind(x, y, equal_var=False)
    assert se == pytest.approx((x.mean() - y.mean()) / expected.statistic, rel=1e-9)
    assert degrees == pytest.approx(expected.df, rel=1e-9)


def test_the_error_of_a_mean_of_unequal_weighted_clusters() -> None:
    """The ratio estimator, written out cluster by cluster."""
    random = np.random.default_rng(2)
    code, value = random.integers(0, 7, 60), random.normal(size=60)
    weight = random.uniform(0, 3, 60)
    mean, total, variance = np.average(value, weights=weight), weight.sum(), 0.0
    for k in range(7):
        own = code == k
        residual = sum(w * (x - mean) for w, x in zip(weight[own], value[own], strict=True))
        variance += (residual / total) ** 2 / (1 - weight[own].sum() / total)
    found = ClusterIndex.from_names(code, weight).mean_error(value)
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_an_f1_is_a_ratio_of_the_rows_that_are_or_are_called_positive() -> None:
    """TN of a cluster do not make it larger."""
    truth = np.array([1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1])
    called = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1])
    cluster = np.arange(12) // 3
    among = np.bincount(cluster, (truth | called).astype(float))
    tp, wrong = int((truth & called).sum()), int((truth ^ called).sum())
    moved = 2 * (truth & called) * wrong - 2 * (truth ^ called) * tp
    f, h = np.bincount(cluster, moved / (2 * tp + wrong) ** 2), among / among.sum()
    se = math.sqrt((f**2 / (1 - h)).sum())
    ev = cal.classification(truth, called, cluster=cluster, measures="F1")
    assert ev["F1"].standard_error == pytest.approx(se, rel=1e-7)
    d = 1 / (1 - h)
    degrees = 1 / ((d * h**2).sum() ** 2 + (d**2 * h**2 * (1 - 2 * h)).sum())
    half = stats.t.ppf(0.975, degrees) * se
    assert ev["F1"].high == pytest.approx(min(1, ev["F1"].value + half), rel=1e-7)


def test_scales_of_clustered_numbers() -> None:
    """What is never negative is exponentiated, shares are Wilson's with n = p(1 − p)/V·(z/t)²."""
    random, sizes = np.random.default_rng(6), [40, 3, 5, 8, 2, 9, 13]
    cluster = np.repeat(np.arange(7), sizes)
    residual = random.normal(size=80) + random.normal(size=7)[cluster]
    e = cal.regression(np.zeros(80), residual, cluster=cluster, measures="MAE")["MAE"]
    se, degrees = pustejovsky_tipton(np.abs(residual), cluster, np.ones((80, 1)))
    factor = math.exp(stats.t.ppf(0.975, degrees) * se / e.value)
    assert (e.low, e.high) == pytest.approx((e.value / factor, e.value * factor), rel=1e-9)
    assert e.method == (
        f"Student t, log, 7 clusters, effectively {1 + degrees:.1f}, but few clusters"
    )
    right = residual < 1
    e = cal.classification(right * 0 + 1, right, cluster=cluster, measures="accuracy")["accuracy"]
    se, degrees = pustejovsky_tipton(right.astype(float), cluster, np.ones((80, 1)))
    p, ratio = right.mean(), stats.norm.ppf(0.975) / stats.t.ppf(0.975, degrees)
    size = min(80, p * (1 - p) / se**2 * 80 / 79) * ratio**2
    made = proportions.wilson(p, size, 0.95)
    assert (e.low, e.high) == pytest.approx((made.low, made.high), rel=1e-9)


def test_a_weight_of_two_is_the_row_twice() -> None:
    rows = clustered(15, 4, 3)
    weight = np.random.default_rng(4).integers(0, 4, 60).astype(float)
    twice = {name: np.repeat(column, weight.astype(int)) for name, column in rows.items()}
    for interval in ("analytic", "bootstrap"):
        options: dict[str, Any] = {"interval": interval, "measures": ALL, "n_resamples": 200}
        both = evaluated(rows, weight=weight, **options), evaluated(twice, **options)
        for a, b in zip(*both, strict=True):
            assert a.value == pytest.approx(b.value, rel=1e-9)
            if not a.method.startswith("Wilson"):  # whose design effect compares with fewer rows
                assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-9, nan_ok=True)


def placements(truth: npt.NDArray[np.bool_], score: npt.NDArray[Any]) -> FloatArray:
    """Of each row among the rows of the other class, pair by pair."""
    wins = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    beaten, beating = wins[:, ~truth].mean(axis=1), 1 - wins[:, truth].mean(axis=1)
    return np.asarray(np.where(truth, beaten, beating))


def obuchowski(truth: npt.NDArray[np.bool_], placed: FloatArray, user: Any) -> float:
    """Her formulas, cluster by cluster: S10, S01 and S11. (Of clusters that have the same numbers of
    rows of both classes.)"""
    area, users = placed[truth].mean(), np.unique(user)
    m, n = truth.sum(), (~truth).sum()
    v10, v01 = [], []
    for u in users:
        own = user == u
        v10.append(placed[own & truth].sum() - (own & truth).sum() * area)
        v01.append(placed[own & ~truth].sum() - (own & ~truth).sum() * area)
    with_positive = len(np.unique(user[truth]))
    with_negative = len(np.unique(user[~truth]))
    s10 = with_positive / ((with_positive - 1) * m) * np.square(v10).sum()
    s01 = with_negative / ((with_negative - 1) * n) * np.square(v01).sum()
    s11 = len(users) / (len(users) - 1) * np.dot(v10, v01)
    return math.sqrt(s10 / m + s01 / n + 2 * s11 / (m * n))


def balanced(clusters: int, seed: int) -> Rows:
    """Users who have two positive and three negative rows each."""
    random = np.random.default_rng(seed)
    truth, user = np.tile([True, True, False, False, False], clusters), np.arange(5 * clusters) // 5
    score = 1.2 * truth + random.normal(size=clusters)[user] + random.normal(size=5 * clusters)
    return {"user": user, "truth": truth, "probability": 1 / (1 + np.exp(-score))}


def auc_error(truth: npt.NDArray[np.bool_], score: FloatArray, clusters: ClusterIndex) -> float:
    """By how much rows move the AUC, put together by clusters."""
    found = measure_influence(parse("AUC"), ScoreTable.from_rows(truth, score, clusters.weight))
    assert found is not None
    moved = found.row_values(truth, score)
    moved = moved if clusters.weight is None else moved * clusters.weight
    return clusters.two_class_error(moved, truth, pairs=True).se


@pytest.mark.parametrize("seed", range(5))
def test_the_error_of_an_auc_is_obuchowskis(seed: int) -> None:
    rows = balanced(14, seed)
    score = np.round(rows["probability"], 1)  # ties
    placed = placements(rows["truth"], score)
    of_score = ScoreInfluence(*ScoreTable.from_rows(rows["truth"], score).placements())
    assert of_score.row_values(rows["truth"], score) == pytest.approx(placed, abs=1e-12)
    expected = obuchowski(rows["truth"], placed, rows["user"])
    found = auc_error(rows["truth"], score, ClusterIndex.from_names(rows["user"]))
    assert found == pytest.approx(expected, rel=1e-12)


def test_every_row_its_own_cluster_is_delong() -> None:
    rows = clustered(80, 1, 6)
    truth, score = rows["truth"], rows["probability"]
    weight = np.random.default_rng(0).uniform(0.5, 2, 80)
    own = ClusterIndex.from_names(np.arange(80))
    found = auc_error(truth, score, own)
    assert found == pytest.approx(
        intervals.delong_se(ScoreTable.from_rows(truth, score)), rel=1e-12
    )
    # With weights the two differ by what they divide by: 1 − share of the weight, or Kish's size.
    weighted = ClusterIndex.from_names(np.arange(80), weight)
    found = auc_error(truth, score, weighted)
    expected = intervals.delong_se(ScoreTable.from_rows(truth, score, weight))
    assert found == pytest.approx(expected, rel=0.02)


def test_a_share_has_the_size_that_its_design_effect_leaves() -> None:
    """Rows copied five times over: five times the rows, and no more information."""
    truth, called = np.array([0, 1] * 30), np.array([0, 1, 1, 1, 0, 0] * 10)
    once = cal.classification(truth, called, interval="analytic", measures=COUNTS[:3])
    copied = cal.classification(
        np.repeat(truth, 5), np.repeat(called, 5), cluster=np.repeat(np.arange(60), 5),
        interval="analytic", measures=COUNTS[:3],
    )  # fmt: skip
    for a, b in zip(once, copied, strict=True):
        assert b.method.startswith("Wilson [W], cluster-robust, 60 clusters")
        assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=0.04)
    size = 60 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 59)) ** 2
    expected = stats.binomtest(40, 60).proportion_ci(method="wilson")
    made = proportions.wilson(40 / 60, 60, 0.95)
    assert (made.low, made.high) == pytest.approx(tuple(expected), abs=1e-12)
    narrowed = proportions.wilson(copied["accuracy"].value, size * 59 / 60 * 300 / 299, 0.95)
    assert copied["accuracy"].low == pytest.approx(narrowed.low, abs=1e-9)


@pytest.mark.parametrize("measure", ["accuracy", "recall", "specificity"])
def test_shares_of_one_count_clusters_as_rows(measure: str) -> None:
    """Where nothing varies, clusters of equal size are all that is sure to be independent."""
    truth = np.tile([0, 1], 40)
    ev = cal.classification(truth, truth, cluster=np.repeat(np.arange(20), 4), measures=measure)
    size = 20 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 19)) ** 2
    assert ev[measure].low == pytest.approx(proportions.wilson(1.0, size, 0.95).low, abs=1e-12)
    assert ev[measure].high == 1


def test_an_auc_of_one_has_the_bound_of_pairs_of_clusters() -> None:
    truth = np.tile([0, 1], 40)
    ev = cal.classification(
        truth, score=truth + 0.0, cluster=np.repeat(np.arange(20), 4), measures="AUC"
    )
    assert ev["AUC"].low == pytest.approx(0.025 ** (1 / 10), abs=1e-12)
    assert ev["AUC"].method == "exact bound, separated, 20 clusters"


# --------------------------------------------------------------------------------------- bootstrap


def brute_force(rows: Rows, compute: Callable[[Rows], float], seed: int, draws: int) -> FloatArray:
    """A measure of rows repeated as often as the core draws their cluster."""
    users, code = np.unique(rows["user"], return_inverse=True)
    out = []
    for b in range(draws):
        times = _core.poisson_counts(seed, b, len(users))[code]
        out.append(compute({name: np.repeat(column, times) for name, column in rows.items()}))
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ALL)
def test_replicates_are_those_of_clusters_repeated(measure: str) -> None:
    rows = clustered(9, 5, 8)

    def value(some: Rows) -> float:
        if some["truth"].all() or not some["truth"].any():
            return float("nan")
        ev = cal.classification(
            some["truth"], probability=some["probability"], interval="none", measures=measure
        )
        return ev[measure].value

    source = evaluated(rows, measures=measure, n_resamples=100, seed=5).sources
    system = source.systems_by_name["system"]
    found = system.point_estimate(source.measures[0]).interval_replicates
    expected = brute_force(rows, value, 5, 100)
    both = np.isfinite(expected) & np.isfinite(found)
    assert both.mean() > 0.9
    assert found[both] == pytest.approx(expected[both], abs=1e-9)


def test_the_order_of_rows_changes_nothing() -> None:
    rows = clustered(25, 4, 9)
    order = np.random.default_rng(0).permutation(100)
    mixed = {name: column[order] for name, column in rows.items()}
    for interval in ("auto", "analytic"):
        a, b = (evaluated(r, interval=interval, measures=ALL) for r in (rows, mixed))
        for one, other in zip(a, b, strict=True):
            assert (one.value, one.low, one.high) == pytest.approx(
                (other.value, other.low, other.high), abs=1e-12, nan_ok=True
            )


def test_the_names_of_clusters_change_nothing() -> None:
    rows = clustered(60, 4, 10)
    in_order = [f"user {u:03}" for u in rows["user"]]
    shuffled = np.random.default_rng(0).permutation(60)[rows["user"]]
    plain = evaluated(rows, measures=ALL)
    renamed = evaluated(rows, cluster=in_order, measures=ALL)
    assert [(e.low, e.high) for e in plain] == [(e.low, e.high) for e in renamed]
    # Names in another order are other draws; without draws nothing changes.
    for a, b in zip(plain, evaluated(rows, cluster=shuffled, measures=ALL), strict=True):
        assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.15)
    first, second = (
        evaluated(rows, cluster=c, interval="analytic", measures=ALL)
        for c in (rows["user"], shuffled)
    )
    for one, other in zip(first, second, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high), nan_ok=True)


@pytest.mark.parametrize("interval", ["auto", "analytic", "bootstrap"])
def test_every_row_its_own_cluster_is_no_clusters(interval: str) -> None:
    rows = clustered(250, 1, 11)
    asked = {"interval": interval, "measures": ALL, "curves": False, "n_resamples": 200}
    by_row = cal.classification(rows["truth"], probability=rows["probability"], **asked)
    by_cluster = evaluated(rows, interval=interval, measures=ALL, n_resamples=200)
    for a, b in zip(by_row, by_cluster, strict=True):
        assert (a.low, a.high, a.method) == (b.low, b.high, b.method)


def test_a_system_is_not_told_apart_from_itself() -> None:
    rows = clustered(30, 4, 12)
    for interval in ("auto", "analytic"):
        ev = cal.classification(
            rows["truth"],
            probability={"one": rows["probability"], "other": rows["probability"].copy()},
            cluster=rows["user"],
            interval=interval,
            measures=ALL,
            curves=False,
        )
        assert ev.comparison is not None
        for d in ev.comparison:
            assert d.value == 0
            assert math.isnan(d.p) or d.p == 1


def test_paired_differences_have_obuchowskis_error() -> None:
    rows = balanced(40, 13)
    other = np.random.default_rng(3).permutation(rows["probability"])
    ev = cal.classification(
        rows["truth"], probability={"a": rows["probability"], "b": other}, cluster=rows["user"],
        measures=("AUC", "Brier"), interval="analytic", baseline="b", curves=False,
    )  # fmt: skip
    assert ev.comparison is not None
    d = ev.comparison["AUC"]
    apart = placements(rows["truth"], rows["probability"]) - placements(rows["truth"], other)
    se = obuchowski(rows["truth"], apart, rows["user"])
    assert d.p == pytest.approx(2 * stats.t.sf(d.value / se, 39), rel=1e-9)
    assert d.high - d.value == pytest.approx(stats.t.ppf(0.975, 39) * se, rel=1e-9)
    losses = [np.square(p - rows["truth"]) for p in (rows["probability"], other)]
    by_user = (losses[0] - losses[1]).reshape(40, 5).mean(axis=1)
    expected = stats.ttest_1samp(by_user, 0)
    assert ev.comparison["Brier"].p == pytest.approx(expected.pvalue, rel=1e-9)
    assert ev.comparison["Brier"].test == "Student t, paired"


# ------------------------------------------------------------------------------------------- input


def test_few_clusters_are_noted_and_one_has_no_interval() -> None:
    rows = clustered(4, 20, 14)
    assert evaluated(rows).notes[0].startswith("The rows come in 4 clusters: with fewer than 5,")
    assert all(e.method.endswith("but few clusters") for e in evaluated(rows, measures=ALL))
    for interval in ("auto", "analytic", "bootstrap"):
        alone = evaluated(rows, cluster=["all"] * 80, interval=interval, measures=ALL)
        for e in alone:
            assert not e.has_interval
            assert e.interval_reason in ("too_few_clusters", "no_analytic_interval", "too_few_rows")


def test_clusters_are_checked() -> None:
    with pytest.raises(cal.InputError, match="cluster: has 2 rows, truth has 3"):
        cal.classification([0, 1, 1], [0, 1, 0], cluster=["a", "b"])
    with pytest.raises(cal.InputError, match="cluster: 1 of 3 values are missing"):
        cal.classification([0, 1, 1], [0, 1, 0], cluster=["a", None, "b"])


def test_clusters_of_no_weight_do_not_count() -> None:
    found = ClusterIndex.from_names(np.array([0, 0, 1, 2]), np.array([1.0, 1.0, 1.0, 0.0]))
    assert found.n_clusters == 2
    assert found.take_rows(np.array([True, True, False, True])).n_clusters == 1


def test_sums_are_redrawn_by_the_core() -> None:
    clusters = ClusterIndex.from_names(np.array(["b", "a", "b", "c"]))
    sums = clusters.weighted_sums(np.array([[1.0, -1.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.5]]))
    assert sums.tolist() == [[2.0, 0.0], [4.0, -1.0], [4.0, 0.5]]
    drawn = clusters.bootstrap_sums(sums, Settings(n_resamples=100, seed=3))
    for b in range(100):
        assert drawn[b] == pytest.approx(_core.poisson_counts(3, b, 3) @ sums)


def test_matrices_add_up_to_the_whole() -> None:
    rows = clustered(10, 6, 15)
    called = rows["probability"] > 0.5
    cell = rows["truth"] * 2 + called
    split = ClusterIndex.from_names(rows["user"]).cell_weights(cell, (2, 2))
    whole = ConfusionMatrix.from_codes(rows["truth"], called)
    assert (split.sum(axis=0) == whole.counts).all()


# ---------------------------------------------------------------------------------------- coverage


@pytest.mark.parametrize("within", [0.0, 0.5])
def test_unequal_clusters_cover(within: float) -> None:
    """One cluster of 200 rows and 24 of 8, 4,000 sets at a time: the mean, and the test of it."""
    random, sizes = np.random.default_rng(17), np.r_[200, np.full(24, 8)]
    common = np.sqrt(within) * random.normal(size=(4000, 25))
    own = common + np.sqrt((1 - within) / sizes) * random.normal(size=(4000, 25))
    h = sizes / sizes.sum()
    moved = h * (own - (own @ h)[:, None])
    t = [mean / cr2(f, sizes.astype(float))[0] for mean, f in zip(own @ h, moved, strict=True)]
    degrees = cr2(moved[0], sizes.astype(float))[1]
    error = float(np.mean(np.abs(t) > stats.t.ppf(0.975, degrees)))
    # By C/(C − 1) and 24 degrees of freedom it is 0.11 and 0.29.
    assert 0.01 < error < 0.062


@pytest.mark.slow
def test_clusters_cover_where_rows_do_not() -> None:
    """60 users with 10 rows each, whose scores are shifted by user."""
    measures = ["accuracy", "AUC", "Brier"]
    big = clustered(40_000, 10, 99)
    true = [e.value for e in evaluated(big, measures=measures, interval="none")]
    inside: dict[str, list[list[bool]]] = {"rows": [], "bootstrap": [], "analytic": []}
    for seed in range(160):
        rows = clustered(60, 10, 1000 + seed)
        by = {
            "bootstrap": evaluated(rows, measures=measures, n_resamples=400),
            "analytic": evaluated(rows, measures=measures, interval="analytic"),
        }
        if seed < 80:  # enough for what is far off
            by["rows"] = cal.classification(
                rows["truth"], probability=rows["probability"], measures=measures, curves=False
            )
        for kind, ev in by.items():
            inside[kind].append([e.low <= t <= e.high for e, t in zip(ev, true, strict=True)])
    coverage = {kind: np.mean(hits, axis=0) for kind, hits in inside.items()}
    assert (coverage["rows"] < 0.85).all(), coverage
    # Three standard errors of 160 trials are 5.2%; the bootstrap of 60 clusters lacks 1 or 2%.
    assert ((coverage["bootstrap"] > 0.89) & (coverage["bootstrap"] < 0.99)).all(), coverage
    assert ((coverage["analytic"] > 0.898) & (coverage["analytic"] < 0.999)).all(), coverage


def test_an_average_of_aucs_is_corrected_once_for_its_clusters() -> None:
    """C/(C − 1), and no n/(n − 1) of classes beside it; on the logit scale as one AUC is."""
    random = np.random.default_rng(11)
    truth, cluster = random.permutation(np.repeat([0, 1, 2], [6, 14, 20])), np.arange(40) // 4
    score = random.random((40, 3)) + 0.5 * np.eye(3)[truth]
    probability = score / score.sum(axis=1, keepdims=True)
    ev = cal.classification(
        truth, probability=probability, measures=["macro-AUC"], cluster=cluster, curves=False
    )
    moved = np.zeros(40)
    for k, s in enumerate(probability.T):
        own = truth == k
        wins = s[own][:, None] > s[~own][None, :]
        moved[own] += (wins.mean(axis=1) - wins.mean()) / own.sum() / 3
        moved[~own] += (wins.mean(axis=0) - wins.mean()) / (~own).sum() / 3
    se = np.sqrt(10 / 9 * np.square(np.bincount(cluster, moved)).sum())
    e = ev["macro-AUC"]
    logits = [np.log(x / (1 - x)) for x in (e.low, e.value, e.high)]
    half = stats.t.ppf(0.975, 9) * se / (e.value * (1 - e.value))
    assert logits == pytest.approx([logits[1] - half, logits[1], logits[1] + half], rel=1e-9)
    assert e.method == "Obuchowski, logit, 10 clusters"


def test_gini_is_as_sure_as_the_auc_that_it_is_made_of() -> None:
    random = np.random.default_rng(12)
    truth, cluster = random.random(120) < 0.4, np.arange(120) // 6
    for given in (None, cluster):
        ev = cal.classification(
            truth, score=truth + random.normal(size=120), measures=["AUC", "Gini"], cluster=given
        )
        auc, gini = ev["AUC"], ev["Gini"]
        assert gini.method == auc.method
        assert (gini.low, gini.high) == pytest.approx((2 * auc.low - 1, 2 * auc.high - 1))
        assert gini.standard_error == pytest.approx(2 * auc.standard_error)
