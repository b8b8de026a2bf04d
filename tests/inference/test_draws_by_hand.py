"""Bootstrap intervals, by formulas of weighted rows written out anew in the same draws.

How often a unit comes is asked of the core; what is made of that is computed here: each replicate,
its error, what is left out for the acceleration, the quantiles and what is done to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rows_by_hand as by_hand
from rows_by_hand import (
    DESIGNS,
    DRAWS,
    LARGER,
    Rows,
    Z,
    data,
    designs,
    drawn_means,
    ends,
    limits,
    near,
    options,
    weight_of,
    weights,
)
from scipy import stats

import calipers as cal
from calipers.estimation.counts import ClassCounts
from calipers.estimation.topics import TopicRows, estimate_over_topics
from calipers.inference.bayesian_bootstrap import mean_interval
from calipers.inference.settings import Settings
from calipers.inference.summaries import Summary


def of(rows: Rows, measure: str, design: str = "plain", **others: Any) -> Any:
    given = {**options(rows, design), "curves": False, "n_resamples": DRAWS, **others}
    made = cal.classification(rows.truth, probability=rows.a, measures=[measure], **given)
    return made[measure]


def by_score(rows: Rows, design: str) -> Any:
    """From the highest score down; among equal ones positives first, where a table says it all."""
    last = np.arange(rows.n) if design == "weighted" else 1 - rows.truth
    return weights(rows, design, np.lexsort((last, -rows.a)))


# --- Scores ---------------------------------------------------------------------------------------


@data
@designs
def test_percentiles(rows: Rows, design: str) -> None:
    formula = by_hand.precision_area(rows.truth, rows.a, "AP-DG")
    way = {"interval": "percentile"} if design in ("clustered", "both") else {}
    found = of(rows, "PR-AUC-DG", design, **way)
    drawn = formula(by_score(rows, design))
    assert limits(found) == near(*ends(drawn))
    assert found.standard_error == pytest.approx(drawn[np.isfinite(drawn)].std(ddof=1), rel=1e-9)


def spiegelhalter(y: Any, p: Any, w: Any) -> float:
    z = (w * (y - p) * (1 - 2 * p)).sum() / np.sqrt((w**2 * (1 - 2 * p) ** 2 * p * (1 - p)).sum())
    return float(2 * stats.norm.sf(abs(z)))


@data
@designs
def test_the_calibration_error_is_turned(rows: Rows, design: str) -> None:
    """By bootstrap: 2·value − replicate, cut off at 0, and 0 where a test finds nothing."""
    formula, w = by_hand.calibration_error(rows.truth, rows.a), weight_of(rows, design)
    low, high = ends(2 * formula(w) - formula(by_score(rows, design)))
    calibrated = spiegelhalter(rows.truth, rows.a, w) > 0.05
    if calibrated and design in ("plain", "weighted"):
        low = 0.0
    found = of(rows, "ECE", design, interval="bootstrap")
    assert limits(found) == near(max(low, 0.0), high)
    assert found.value == pytest.approx(formula(w), rel=1e-9)


@data
@designs
def test_the_best_threshold_is_basic_bootstrap_on_logits(rows: Rows, design: str) -> None:
    """2·logit(value) − logit(replicate), half a row of the smaller class added at either end."""
    formula, w = by_hand.youden(rows.truth, rows.a), weight_of(rows, design)
    n = min(by_hand.kish(w[rows.truth == side]) for side in (0, 1))

    def logit(x: Any) -> Any:
        inside = (n * x + 0.5) / (n + 1)
        return np.log(inside / (1 - inside))

    above, below = np.quantile(formula(by_score(rows, design)), [0.975, 0.025])
    turned = 1 / (1 + np.exp(logit(np.array([above, below])) - 2 * logit(formula(w))))
    low, high = np.clip((turned * (n + 1) - 0.5) / n, 0, 1)
    assert limits(of(rows, "KS", design)) == near(low, high, rel=1e-6)


def accelerated(value: float, drawn: Any, rest: Any) -> tuple[float, float]:
    """BCa after Efron (1987), from replicates and the values without each unit."""
    apart = drawn - value
    apart[np.abs(apart) < 1e-12] = 0
    bias = stats.norm.ppf((np.mean(apart < 0) + np.mean(apart <= 0)) / 2)
    moved = rest.mean() - rest
    a = (moved**3).sum() / (6 * (moved**2).sum() ** 1.5)
    z = bias + np.array([-Z, Z])
    low, high = np.quantile(drawn, stats.norm.cdf(bias + z / (1 - a * z)))
    return float(low), float(high)


def without(rows: Rows, design: str) -> Any:
    """The weights without each row, or cluster, in turn."""
    w = weight_of(rows, design)
    if design in ("clustered", "both"):
        return w * (rows.cluster != np.unique(rows.cluster)[:, None])
    return w * (1 - np.eye(rows.n))


def by_sums(cell: Any, w: Any, cells: int) -> Any:
    """Weights of cells: Poisson numbers of rows of the typical weight Σw²/Σw, (B, cells)."""
    sums, squares = (np.bincount(cell, of, cells) for of in (w, w**2))
    times = np.random.Generator(np.random.Philox(0)).poisson(sums**2 / squares, (DRAWS, cells))
    return times * (squares / sums)


@data
@designs
def test_accelerated_counts(rows: Rows, design: str) -> None:
    formula = by_hand.f1(rows.truth, rows.a >= 0.5)
    if design == "plain":
        generator = np.random.Generator(np.random.Philox(0))
        counts = np.array(by_hand.table(rows.truth, rows.a >= 0.5, np.ones(rows.n)))[[3, 1, 2, 0]]
        _, fp, fn, tp = generator.multinomial(rows.n, counts / rows.n, DRAWS).T
        drawn = 2 * tp / (2 * tp + fp + fn)
    elif design == "weighted":
        _, fp, fn, tp = by_sums(rows.truth * 2 + (rows.a >= 0.5), weight_of(rows, design), 4).T
        drawn = 2 * tp / (2 * tp + fp + fn)
    else:
        drawn = formula(weights(rows, design))
    expected = accelerated(formula(weight_of(rows, design)), drawn, formula(without(rows, design)))
    assert limits(of(rows, "F1", design, interval="bca")) == near(*expected, rel=1e-6)
    if design == "weighted":
        assert limits(of(rows, "F1", design)) == near(*ends(drawn))


@data
@pytest.mark.parametrize("design", ["plain", "weighted"])
def test_accelerated_areas(rows: Rows, design: str) -> None:
    """By the influence of rows."""
    formula, w = by_hand.auc(rows.truth, rows.a), weight_of(rows, design)
    moved = by_hand.moved(formula, w)
    drawn = formula(by_score(rows, design))
    expected = accelerated(float(formula(w)), drawn, -moved)
    assert limits(of(rows, "AUC", design, interval="bca")) == near(*expected, rel=1e-5)


@data
def test_studentized_areas(rows: Rows) -> None:
    """The replicates' own DeLong errors."""
    formula, y = by_hand.auc(rows.truth, rows.a), rows.truth == 1
    wins = (rows.a[y][:, None] > rows.a[~y]) + 0.5 * (rows.a[y][:, None] == rows.a[~y])

    def error(w: Any) -> Any:
        x, z = wins @ w[~y] / w[~y].sum(), w[y] @ wins / w[y].sum()
        parts = ((x, w[y]), (z, w[~y]))
        each = [(v * (u - np.average(u, weights=v)) ** 2).sum() / (v.sum() - 1) for u, v in parts]
        return np.sqrt(each[0] / w[y].sum() + each[1] / w[~y].sum())

    times = by_score(rows, "plain")
    times = times[(times[:, y].sum(axis=1) > 1) & (times[:, ~y].sum(axis=1) > 1)]
    value, se = float(formula(np.ones(rows.n))), float(error(np.ones(rows.n)))
    errors = np.array([error(w) for w in times])
    drawn = (formula(times) - value)[errors > 0] / errors[errors > 0]
    low, high = ends(np.clip(drawn, -8, 8))
    made = of(rows, "AUC", interval="studentized")
    if np.mean(errors > 0) < 0.95 or len(times) < 0.95 * DRAWS:
        assert made.interval_reason == "degenerate_replicates"
        return
    assert limits(made) == near(value - high * se, min(value - low * se, 1.0), rel=1e-6)


def test_cells_of_three_classes() -> None:
    """Dirichlet: 1/K more on what is right of each of K classes, as much shared by its errors."""
    counts = np.array([[21, 3, 1], [4, 18, 0], [2, 0, 15]])
    truth, said = (np.repeat(of.ravel(), counts.ravel()) for of in np.indices((3, 3)))
    prior = np.where(np.eye(3) > 0, 1 / 3, 1 / 6)
    drawn = np.random.default_rng(0).standard_gamma(counts + prior, (80_000, 3, 3))
    share = drawn / drawn.sum(axis=(1, 2), keepdims=True)
    right = np.trace(share, axis1=1, axis2=2)
    by_chance = (share.sum(axis=1) * share.sum(axis=2)).sum(axis=1)
    kappa = (right - by_chance) / (1 - by_chance)
    made = cal.classification(truth, said, measures=["kappa"], n_resamples=40_000, curves=False)
    assert limits(made["kappa"]) == pytest.approx(ends(kappa), abs=2.5e-3)


@pytest.mark.parametrize("weighs", [False, True])
def test_a_perfect_table_of_clusters(weighs: bool) -> None:
    """Kish's number of clusters are its rows; F1 is 2s/(1 + s) of a share that is Beta."""
    truth, cluster = np.repeat([1, 0], [12, 18]), np.arange(30) ** 2 // 7 % 8
    w = np.where(np.arange(30) % 3, 1.0, 2.5) if weighs else np.ones(30)
    own = np.bincount(cluster, w)
    n = own.sum() ** 2 / (own**2).sum()
    made = cal.classification(
        truth, truth, cluster=cluster, weight=w, measures=["F1"], n_resamples=40_000, curves=False
    )["F1"]
    share = stats.beta.ppf(0.025, n * w[truth == 1].sum() / w.sum() + 0.5, 1)
    assert made.low == pytest.approx(2 * share / (1 + share), abs=6e-3)
    assert made.high == 1
    assert made.method == "Jeffreys, Dirichlet posterior, effective rows"


def test_classes_that_do_not_occur_take_nothing_of_the_prior() -> None:
    """Of two that occur each has ½ for what is right and ½ for what is wrong."""
    truth = np.array([0, 1])
    of = ClassCounts.from_codes(truth, truth, ("0", "1", "2"), Settings(n_resamples=4_000))
    drawn = []
    for cells, some in of.cells.draw_posterior(of.settings):
        matrix = cells.margin_confusion(some, of.matrix.labels)
        drawn.append(matrix.hits[:, 0] / matrix.truth_margin[:, 0])
    assert np.concatenate(drawn).mean() == pytest.approx(1.5 / 2, abs=0.012)


@pytest.mark.parametrize("classes", [5, 60])
def test_as_many_are_drawn_as_are_asked_for(classes: int) -> None:
    """Some at a time where classes are many."""
    code = np.arange(300) % classes
    of = ClassCounts.from_codes(code, np.roll(code, 7), tuple(map(str, range(classes))), Settings())
    for settings in (Settings(n_resamples=1_250), Settings(n_resamples=1_999)):
        assert sum(len(some) for some in of.cells.draw_replicates(settings)) == settings.n_resamples
        made = sum(len(some) for _, some in of.cells.draw_posterior(settings))
        assert made == settings.n_resamples


# --- Losses ---------------------------------------------------------------------------------------


def losses(rows: Rows, said: Any = None) -> Any:
    p = rows.a if said is None else said
    return -np.log(np.where(rows.truth == 1, p, 1 - p))


@data
@designs
def test_losses(rows: Rows, design: str) -> None:
    x, w = losses(rows), weight_of(rows, design)
    clustered = design in ("clustered", "both")
    times = weights(rows, design) if clustered else drawn_means(rows.n) * w
    drawn = by_hand.mean(x)(times)
    assert limits(of(rows, "log-loss", design, interval="percentile")) == near(*ends(drawn))
    expected = accelerated(np.average(x, weights=w), drawn, by_hand.mean(x)(without(rows, design)))
    if design != "both":
        found = limits(of(rows, "log-loss", design, interval="bca"))
        assert found == near(*expected, rel=1e-6)
    if clustered:
        return

    def error(w: Any, of: Any) -> Any:
        """Kish's n and n − 1, of the replicate's own rows."""
        apart = x - by_hand.mean(x)(w)[..., None]
        n = w.sum(axis=-1) ** 2 / (w * of).sum(axis=-1)
        return np.sqrt((w * of * apart**2).sum(axis=-1) * n / (n - 1)) / w.sum(axis=-1)

    value, se = np.average(x, weights=w), error(w, w)
    low, high = ends(np.clip((drawn - value) / error(times, w), -8, 8))
    found = of(rows, "log-loss", design, interval="studentized")
    assert limits(found) == near(value - high * se, value - low * se, rel=1e-6)


@data
def test_stratified_counts(rows: Rows) -> None:
    """As many rows of either class as there are."""
    generator, said, parts = np.random.Generator(np.random.Philox(0)), rows.a >= 0.5, []
    for side in (0, 1):
        of_class = np.array(
            [(~said & (rows.truth == side)).sum(), (said & (rows.truth == side)).sum()]
        )
        parts.append(generator.multinomial(of_class.sum(), of_class / of_class.sum(), DRAWS))
    fp, (fn, tp) = parts[0][:, 1], parts[1].T
    found = of(rows, "F1", interval="stratified")
    assert limits(found) == near(*ends(2 * tp / (2 * tp + fp + fn)))


@data
def test_studentized_counts(rows: Rows) -> None:
    """F1 = 2tp/(2tp + fp + fn); each replicate by the delta method in its own counts."""
    generator = np.random.Generator(np.random.Philox(0))
    counts = np.array(by_hand.table(rows.truth, rows.a >= 0.5, np.ones(rows.n)))[[3, 1, 2, 0]]
    drawn = generator.multinomial(rows.n, counts / rows.n, DRAWS)

    def both(counts: Any) -> tuple[Any, Any]:
        _, fp, fn, tp = counts.T
        d = 2 * tp + fp + fn
        variance = tp * (2 * (fp + fn) / d**2) ** 2 + (fp + fn) * (2 * tp / d**2) ** 2
        return 2 * tp / d, np.sqrt(variance)

    (value, se), (values, errors) = both(counts), both(drawn)
    some = errors > 0
    low, high = ends(np.clip((values - value)[some] / errors[some], -8, 8))
    found = of(rows, "F1", interval="studentized")
    assert limits(found) == near(value - high * se, min(value - low * se, 1.0), rel=1e-6)


@data
@designs
def test_skill(rows: Rows, design: str) -> None:
    """Each replicate has its own constant answer."""
    x, y = losses(rows), rows.truth

    def skill(w: Any) -> Any:
        p = w @ y / w.sum(axis=-1)
        least = -(p * np.log(p) + (1 - p) * np.log(1 - p))
        return 1 - by_hand.mean(x)(w) / least

    found = of(rows, "log-loss-skill", design, interval="percentile")
    assert limits(found) == near(*ends(skill(by_score(rows, design))))


@pytest.mark.parametrize("design", ["clustered", "both"])
def test_a_loss_of_clusters_between_0_and_1(design: str) -> None:
    """Wilson's, of as many rows as have its spread."""
    x, w = (LARGER.truth - LARGER.a) ** 2, weight_of(LARGER, design)
    mean = float(np.average(x, weights=w))
    part = w * (x - mean) / w.sum()
    se, df = by_hand.by_cluster(part, LARGER.cluster, w)
    size = mean * (1 - mean) / se**2 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, df)) ** 2
    assert limits(of(LARGER, "Brier", design)) == near(*by_hand.wilson(mean, size))


def test_limits_of_losses_that_are_cut_off() -> None:
    """√ of a mean square has no lower limit below 0, and one cluster says nothing."""
    x = np.array([0.1, 0.2, 0.1, 9.0, 0.3, 0.2, 8.5])
    given: dict[str, Any] = {"measures": ["RMSE"], "n_resamples": DRAWS}
    found = cal.regression(x * 0, x, interval="studentized", **given)["RMSE"]
    assert found.low == 0
    found = cal.regression(x * 0, x, cluster=["a"] * 7, interval="hall", **given)["RMSE"]
    assert found.interval_reason == "too_few_clusters"
    normal = 10 * stats.norm.ppf((np.arange(200) + 0.5) / 200)
    found = cal.regression(normal * 0, normal, interval="chi-square", **given)["RMSE"]
    assert found.method == "chi-square [X2]"


def test_one_cluster_says_nothing() -> None:
    truth, p = np.array([1, 1, 1, 0, 0, 1]), np.array([0.2, 0.1, 0.4, 0.3, 0.2, 0.3])
    measures = ["recall", "F1", "AUC", "AP", "KS", "Brier", "log-loss", "ECE", "calibration-slope"]
    for said in (p, np.where(truth, 0.9, p)):
        made = cal.classification(
            truth, probability=said, cluster=["a"] * 6, measures=measures, curves=False
        )
        assert {e.interval_reason for e in made if np.isfinite(e.value)} <= {"too_few_clusters"}
    for interval in ("percentile", "bca"):
        made = cal.classification(
            truth, probability=p, measures=["PR-AUC-DG"], cluster=["a"] * 6, interval=interval
        )
        assert made["PR-AUC-DG"].interval_reason == "too_few_clusters"
    made = cal.classification(truth, probability=truth * 0.9, measures=["AUC"], interval="delta")
    assert made["AUC"].interval_reason == "area_at_its_limit"
    given: dict[str, Any] = {"interval": "delta", "cluster": ["a"] * 6, "curves": False}
    [found] = cal.classification(truth, probability=p, measures=["calibration-slope"], **given)
    assert found.interval_reason == "too_few_clusters"


def test_how_few_clusters_are_few() -> None:
    for clusters, said in ((4, 1), (5, 0)):
        made = cal.classification(
            np.arange(40) % 2, np.arange(40) % 3 % 2, cluster=np.arange(40) * clusters // 40
        )
        assert sum("clusters: with fewer than 5" in note for note in made.notes) == said
        assert ("few clusters" in made["accuracy"].method) == said


# --- Labels ---------------------------------------------------------------------------------------


@data
@pytest.mark.parametrize("design", DESIGNS[1:])
def test_ties_of_the_true_class(rows: Rows, design: str) -> None:
    """They make parts of rows."""
    k = np.arange(rows.n)
    truth, p = k * k % 3, np.column_stack([rows.a, rows.a, 1 - rows.a])
    own = p[k, truth][:, None]
    credit = np.clip((1 - (p > own).sum(axis=1)) / (p == own).sum(axis=1), 0, 1)
    made = cal.classification(
        truth, score=p, labels=[0, 1, 2], measures=["top-1-accuracy"], n_resamples=DRAWS,
        curves=False, **options(rows, design),
    )  # fmt: skip
    found = made["top-1-accuracy"]
    if design in ("clustered", "both"):
        w = weight_of(rows, design)
        p, n = float(np.average(credit, weights=w)), by_hand.kish(w)
        se, df = by_hand.by_cluster(w * (credit - p) / w.sum(), rows.cluster, w)
        size = min(n, p * (1 - p) / se**2 * n / (n - 1))
        size *= (stats.norm.ppf(0.975) / stats.t.ppf(0.975, df)) ** 2
        assert limits(found) == near(*by_hand.wilson(p, size))
        return
    ranks = (p > own).sum(axis=1) * 10 + (p == own).sum(axis=1)  # rows of a rank have one credit
    _, first, cell = np.unique(ranks, return_index=True, return_inverse=True)
    drawn = by_sums(cell, weight_of(rows, design), len(first))
    assert limits(found) == near(*ends(drawn @ credit[first] / drawn.sum(axis=1)))


@pytest.mark.parametrize(("right", "wrong", "few"), [(4, 3, True), (4, 4, False), (9, 6, False)])
def test_how_few_rows_of_a_label_are_few(right: int, wrong: int, few: bool) -> None:
    """Those that have it, or are said to have it: 8."""
    k = np.arange(40)
    truth = np.column_stack([k % 2 == 0, k < right])
    said = np.column_stack([k % 3 == 0, (k > 0) & (k < right + wrong)])
    systems = {"a": said, "b": np.column_stack([k % 5 == 0, said[:, 1]])}
    made = cal.multilabel(truth, systems, measures=["macro-F1"], n_resamples=DRAWS)
    assert ("Bayesian" in made.comparison["macro-F1"].method) is few


# --- Topics ---------------------------------------------------------------------------------------

RETRIEVED = np.array([5, 3, 8, 4, 6, 2, 7, 5])
HITS = np.array([2, 3, 3, 1, 4, 0, 2, 3])
VALUES = np.array([.31, .52, .48, .37, .42, .66, .59, .41, .53, .35, .37, .61])  # fmt: skip


def errors_of(values: Any, times: Any) -> tuple[Any, Any]:
    """Means of replicates, and the standard error of each, with n − 1."""
    n = len(values)
    mean = times @ values / n
    apart = (times * (values - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(apart / (n - 1) / n)


def studentized(values: Any) -> tuple[float, float]:
    n = len(values)
    mean, errors = errors_of(values, drawn_means(n))
    some = errors > 0
    low, high = ends(np.clip((mean - values.mean())[some] / errors[some], -8, 8))
    se = values.std(ddof=1) / np.sqrt(n)
    return values.mean() - high * se, values.mean() - low * se


@pytest.mark.parametrize("values", [VALUES, VALUES[:7]], ids=["12", "7"])
def test_topics(values: Any) -> None:
    def found(measure: str, **others: Any) -> Any:
        made = cal.from_values({"a": values}, measure=measure, n_resamples=DRAWS, **others)
        return made["a", measure]

    n, mean = len(values), values.mean()
    own = mean_interval(values, (0.0, 1.0), 0.95)
    assert limits(found("AP")) == near(own.low, own.high)
    assert limits(found("AP", interval="studentized")) == near(*studentized(values))
    assert found("likes").method == "bootstrap-t"
    assert limits(found("likes")) == near(*studentized(values))
    drawn = drawn_means(n) @ values / n
    assert limits(found("AP", interval="percentile")) == near(*ends(drawn))
    rest = (values.sum() - values) / (n - 1)
    assert limits(found("AP", interval="bca")) == near(*accelerated(mean, drawn, rest))


# Where the one relevant document stands, so that AP is 1/rank; 0 where it is not retrieved.
RANKS = {"a": [2, 1, 3, 5, 2, 9, 4, 1, 2, 3], "b": [3, 1, 4, 5, 3, 8, 0, 2, 2, 4]}


def of_ranks(measure: str, topics: int = 10, **others: Any) -> Any:
    qrels = {f"q{t}": {"right": 1} for t in range(topics)}
    runs = {
        name: {
            f"q{t}": {"right" if d + 1 == rank else f"d{d}": 9.0 - d for d in range(9)}
            for t, rank in enumerate(ranks[:topics])
        }
        for name, ranks in RANKS.items()
    }
    return cal.retrieval(qrels, runs, measures=[measure], n_resamples=DRAWS, **others)


def logs(name: str, topics: int = 10) -> Any:
    return np.log([1 / rank if rank else 1e-5 for rank in RANKS[name][:topics]])


@pytest.mark.parametrize("topics", [10, 6])
def test_geometric_means(topics: int) -> None:
    x = logs("a", topics)
    value, se = np.exp(x.mean()), x.std(ddof=1) / np.sqrt(topics)
    found = of_ranks("gm-AP", topics, interval="studentized")["a", "gm-AP"]
    low, high = np.exp(studentized(x))
    assert limits(found) == near(low, min(high, 1.0))
    assert found.standard_error == pytest.approx(value * se, rel=1e-9)
    student = of_ranks("gm-AP", topics, interval="t")["a", "gm-AP"]
    low, high = np.exp(x.mean() + np.array([-1, 1]) * stats.t.ppf(0.975, topics - 1) * se)
    assert limits(student) == near(low, min(high, 1.0))
    # By default half a topic stands at 1 and at trec_eval's floor.
    expected = mean_interval(logs("b"), (float(np.log(1e-5)), 0.0), 0.95)
    made = of_ranks("gm-AP")["b", "gm-AP"]
    assert limits(made) == near(np.exp(expected.low), np.exp(expected.high))


def test_a_sum_is_as_many_means() -> None:
    assert Summary("sum").summarize_means(np.array([[0.5], [2.0]]), 8).tolist() == [4, 16]


def test_a_share_of_topics() -> None:
    for hits, n in ((7, 9), (2, 12)):
        x = np.repeat([1.0, 0.0], [hits, n - hits])
        found = cal.from_values({"a": x}, measure="Success@1")["a", "Success@1"]
        assert limits(found) == near(*by_hand.wilson(hits / n, n))


def test_values_without_a_range() -> None:
    """Half a topic stands farther from the median than any of the values."""
    x = VALUES[:7] * 40
    middle = np.median(x)
    end = np.abs(x - middle).max() * (1 + 2 / 6)  # six differ from the median
    expected = mean_interval(x, (middle - end, middle + end), 0.95)
    made = cal.from_values({"a": x}, measure="likes", interval="bayesian-bootstrap")["a", "likes"]
    assert limits(made) == near(expected.low, expected.high)


@pytest.mark.parametrize("topics", [2, 8])
@pytest.mark.parametrize("measure", ["AP", "gm-AP", "micro-SetP"])
def test_what_a_reading_of_topics_knows(measure: str, topics: int) -> None:
    """Its influence and its skewness."""
    values, w = HITS[:topics] / RETRIEVED[:topics], RETRIEVED[:topics].astype(float)
    weight = w if measure == "micro-SetP" else None
    [reading] = estimate_over_topics(
        [TopicRows(cal.measure(measure, family="retrieval"), values, weight, Settings())]
    )
    x, value = values, values.mean()
    if measure == "gm-AP":
        x = np.log(np.maximum(values, 1e-5))
        value = np.exp(x.mean())
    elif measure == "micro-SetP":
        value = (w * values).sum() / w.sum()
    centre = value if measure == "micro-SetP" else x.mean()
    apart = (x - centre) * (1 if weight is None else w / w.mean())
    rate = value if measure == "gm-AP" else 1.0
    se = np.sqrt((apart**2).sum() / topics / (topics - 1)) * rate
    moved = reading.influence()
    assert reading.value == pytest.approx(value, rel=1e-12)
    assert moved.standard_error.se == pytest.approx(se, rel=1e-12)
    skewness = abs((apart**3).sum()) / (apart**2).sum() ** 1.5
    assert reading.scaled_skewness == pytest.approx(skewness, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("topics", [8, 6])
def test_topics_pooled(topics: int) -> None:
    w, x = RETRIEVED[:topics], HITS[:topics]
    qrels = {f"q{t}": {f"d{d}": int(d < x[t]) for d in range(9)} for t in range(topics)}
    run = {f"q{t}": {f"d{d}": 9.0 - d for d in range(w[t])} for t in range(topics)}

    def found(interval: str) -> Any:
        made = cal.retrieval(
            qrels, run, measures=["micro-SetP"], interval=interval, n_resamples=DRAWS
        )
        return made["micro-SetP"]

    times, value = drawn_means(topics), x.sum() / w.sum()
    drawn = times @ x / (times @ w)
    assert limits(found("percentile")) == near(*ends(drawn))
    rest = (x.sum() - x) / (w.sum() - w)
    assert limits(found("bca")) == near(*accelerated(value, drawn, rest))
    parts = (times * (x - drawn[:, None] * w) ** 2).sum(axis=1)
    errors = np.sqrt(parts / topics / (topics - 1)) / (times @ w / topics)
    se = np.sqrt(((x - value * w) ** 2).sum() / topics / (topics - 1)) / w.mean()
    low, high = ends(np.clip((drawn - value) / errors, -8, 8))
    expected = near(max(value - high * se, 0.0), min(value - low * se, 1.0))
    assert limits(found("studentized")) == expected
