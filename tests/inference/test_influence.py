"""How much rows move measures: against derivatives by weights, brute force, published values and
simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

import calipers as cal
from calipers import _core
from calipers.inference import intervals, paired_tests
from calipers.inference.clusters import ClusterIndex
from calipers.inference.gradients import cell_derivatives, class_gradient
from calipers.inference.influence import (
    MAX_JACKKNIFE_GROUPS,
    ScoreInfluence,
    group_jackknife,
    jackknife_groups,
    measure_influence,
)
from calipers.inference.point_estimate import UnitValues
from calipers.inference.score_bootstrap import ranked_rows
from calipers.inference.variance_estimators import TwoClassVariance, VarianceEstimator
from calipers.measures import parse
from calipers.statistics import ConfusionMatrix, FloatArray, Moments, ScoreTable

KNOWN = ("AUC", "Gini", "AP", "PR-AUC", "PR-AUC-DG")

#: Fawcett (2006): twenty rows by descending score.
FAWCETT = np.array([c == "p" for c in "ppnpppnnpnpnpnnnpnpn"])
_FIRST = [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505]
FAWCETT_SCORES = np.array([*_FIRST, 0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.30, 0.1])


def example(seed: int, *, weighted: bool = False) -> tuple[Any, FloatArray, FloatArray | None]:
    """Rows with few positives or many; two thirds of the examples have ties."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(5, 80))
    truth = generator.random(n) < generator.choice([0.1, 0.3, 0.5])
    truth[:4] = [True, True, False, False]
    score = truth + generator.normal(0, 1, n)
    if seed % 3:
        score = np.round(score, seed % 3 - 1)
    return truth, score, generator.uniform(0.2, 3, n) if weighted else None


def of(name: str, table: ScoreTable) -> ScoreInfluence:
    found = measure_influence(parse(name, "scores"), table)
    assert found is not None
    return found


def rows_of(name: str, truth: Any, score: FloatArray, weight: FloatArray | None) -> FloatArray:
    table = ScoreTable.from_rows(truth, score, weight)
    return of(name, table).row_values(truth, score)


def row_error(
    moved: FloatArray, weight: FloatArray | None = None, clusters: ClusterIndex | None = None
) -> float:
    return VarianceEstimator(weight, clusters).standard_error(
        moved if weight is None else moved * weight
    )


def class_error(moved: FloatArray, truth: Any, weight: FloatArray | None = None) -> float:
    return TwoClassVariance(weight, positive=truth).standard_error(
        moved if weight is None else moved * weight
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_error_of_two_classes_by_the_rows_of_each(weighted: bool) -> None:
    random = np.random.default_rng(8)
    truth, moved = random.random(500) < 0.2, random.normal(size=500) * 1e-3
    weight = random.uniform(0.5, 2, 500) if weighted else None
    expected = 0.0
    for side in (truth, ~truth):
        w = np.ones(500)[side] if weight is None else weight[side]
        n = w.sum() ** 2 / np.square(w).sum()
        expected += n / (n - 1) * np.square(moved[side] * w).sum()
    assert class_error(moved, truth, weight) == pytest.approx(np.sqrt(expected), rel=1e-12)
    assert np.isnan(class_error(moved, np.arange(500) < 1))


def test_units_of_the_rows_of_a_table_are_those_of_each() -> None:
    table = np.random.default_rng(6).choice([-0.5, -0.1, 0.0, 0.25], (40, 7))
    table[0], table[1] = 0.0, 0.3
    for units, row in zip(UnitValues.from_table(table), table, strict=True):
        assert units.signs == (int((row > 0).sum()), int((row == 0).sum()), int((row < 0).sum()))
        assert units.extremes == (row.min(), row.max())
        assert (units.signs, units.extremes) == (UnitValues(row).signs, UnitValues(row).extremes)
        assert units.mean == pytest.approx(row.mean(), abs=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", KNOWN)
def test_it_is_the_derivative_by_the_weight_of_each_row(name: str, weighted: bool) -> None:
    """15 examples of some 40 rows, five of each sort of ties, each row's weight moved by itself and the
    table built anew."""
    measure = parse(name, "scores")
    for seed in range(15):
        truth, score, weight = example(seed, weighted=weighted)
        start = np.ones(len(truth)) if weight is None else weight
        ours = rows_of(name, truth, score, weight)
        for row in range(len(truth)):
            ends = []
            for step in (1e-5, -1e-5):
                moved = start.copy()
                moved[row] += step
                ends.append(float(measure.apply(ScoreTable.from_rows(truth, score, moved))))
            assert ours[row] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-7, rel=1e-6)


@pytest.mark.parametrize("name", KNOWN)
def test_the_influence_of_all_rows_adds_up_to_nothing(name: str) -> None:
    """Doubling all weights changes no measure."""
    for seed in range(60):
        truth, score, weight = example(seed, weighted=seed % 2 == 0)
        moved = rows_of(name, truth, score, weight)
        assert (moved if weight is None else moved * weight).sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", KNOWN)
def test_a_weight_of_two_is_the_row_twice(name: str) -> None:
    for seed in range(20):
        truth, score, _ = example(seed)
        times = np.random.default_rng(seed).integers(1, 4, len(truth))
        once = rows_of(name, truth, score, times.astype(float))
        again = rows_of(name, np.repeat(truth, times), np.repeat(score, times), None)
        assert again == pytest.approx(np.repeat(once, times), abs=1e-12)


@pytest.mark.parametrize("name", KNOWN)
def test_leading_axes_are_replicates(name: str) -> None:
    truth, score, _ = example(4)
    table = ScoreTable.from_rows(truth, score)
    drawn = np.random.default_rng(0).poisson(1.0, (50, 2, len(table.scores))).astype(float)
    drawn[:, :, 0] = 1.0
    p, n = drawn[:, 0] * table.positive, drawn[:, 1] * table.negative
    p[:, -1] += 1
    n[:, -1] += 1
    stack = ScoreTable(table.scores, p, n, p, n, 0)
    together = of(name, stack)
    errors = together.standard_error(stack)
    for b in range(50):
        single = ScoreTable(table.scores, p[b], n[b], p[b], n[b], 0)
        one = of(name, single)
        for ours, theirs, there in (
            (together.positive[b], one.positive, p[b] > 0),
            (together.negative[b], one.negative, n[b] > 0),
        ):
            assert ours[there] == pytest.approx(theirs[there], abs=1e-12)
        assert errors[b] == pytest.approx(float(one.standard_error(single)), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "Gini"])
def test_the_core_finds_the_same_area_and_error(name: str) -> None:
    """Of the table in one go as of the influences of its rows, and as the catalogue's formula."""
    for seed in range(60):
        truth, score, weight = example(seed, weighted=seed % 2 == 0)
        table = ScoreTable.from_rows(truth, score, weight)
        value, error = table.area(name.replace("PR-AUC-DG", "AP-DG"))
        assert value == pytest.approx(float(parse(name, "scores").apply(table)), rel=1e-13)
        assert error == pytest.approx(
            float(of(name, table).standard_error(table)), rel=1e-11, abs=1e-15
        )


# ------------------------------------------------------------------------------- published values


def test_delong_of_fawcetts_twenty_rows() -> None:
    table = ScoreTable.from_rows(FAWCETT, FAWCETT_SCORES)
    assert float(of("AUC", table).standard_error(table)) == pytest.approx(0.1270170592, abs=5e-11)
    assert intervals.delong_se(table) == pytest.approx(0.1270170592, abs=5e-11)
    assert intervals.hanley_mcneil_se(0.68, 10, 10) == pytest.approx(0.1218626009, abs=5e-11)
    assert float(parse("AP", "scores").apply(table)) == pytest.approx(0.7357475806, abs=5e-11)


def test_delong_of_hanley_and_mcneils_ratings() -> None:
    counts = np.array([[2, 11, 6, 6, 33], [33, 11, 2, 2, 3]], float)  # ratings 5 to 1
    table = ScoreTable(np.arange(5.0, 0, -1), counts[1], counts[0], counts[1], counts[0], 109)
    assert float(of("AUC", table).standard_error(table)) == pytest.approx(0.0307244084, abs=5e-11)
    assert float(of("Gini", table).standard_error(table)) == pytest.approx(
        2 * 0.0307244084, abs=1e-10
    )


# --------------------------------------------------------------------------------- standard errors


def test_the_error_of_an_auc_is_delongs() -> None:
    for seed in range(60):
        truth, score, weight = example(seed, weighted=seed % 2 == 0)
        table = ScoreTable.from_rows(truth, score, weight)
        expected = intervals.delong_se(table)
        assert float(of("AUC", table).standard_error(table)) == pytest.approx(expected, abs=1e-12)
        moved = of("AUC", table).row_values(truth, score)
        assert class_error(moved, truth, weight) == pytest.approx(expected, abs=1e-12)


def test_the_error_of_a_difference_of_aucs_is_delongs() -> None:
    for seed in range(20):
        truth, score, weight = example(seed, weighted=seed % 2 == 0)
        other = score + np.random.default_rng(seed).normal(0, 1, len(score))
        moved = rows_of("AUC", truth, score, weight) - rows_of("AUC", truth, other, weight)
        placed = []
        for s in (score, other):
            of_score = ScoreInfluence(*ScoreTable.from_rows(truth, s, weight).placements())
            placed.append(of_score.row_values(truth, s))
        apart = placed[0] - placed[1]
        errors = [
            Moments.from_rows(apart[rows], None if weight is None else weight[rows]).standard_error
            for rows in (truth, ~truth)
        ]
        assert class_error(moved, truth, weight) == pytest.approx(math.hypot(*errors), abs=1e-12)


def test_clusters_of_one_row_each() -> None:
    truth, score, weight = example(7, weighted=True)
    moved = rows_of("AP", truth, score, weight)
    n = len(truth)
    alone = ClusterIndex(np.arange(n, dtype=np.uint32), n, weight)
    of_rows = np.square(moved * weight) / (1 - weight / weight.sum())
    assert row_error(moved, weight, alone) == pytest.approx(math.sqrt(of_rows.sum()))
    one = ClusterIndex(np.zeros(n, np.uint32), 1, weight)
    assert math.isnan(row_error(moved, weight, one))


def test_rows_that_come_several_times_over() -> None:
    """As clusters of copies they say as much as once."""
    truth, score, _ = example(8)
    n = len(truth)
    four = [np.repeat(column, 4) for column in (truth, score)]
    clusters = ClusterIndex(np.repeat(np.arange(n, dtype=np.uint32), 4), n)
    for name in KNOWN:
        once = row_error(rows_of(name, truth, score, None)) * math.sqrt(n / (n - 1))
        copied = row_error(rows_of(name, *four, None), clusters=clusters)
        assert copied == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize("decimals", [None, 0], ids=["untied", "tied"])
@pytest.mark.parametrize("name", ["AP", "PR-AUC", "PR-AUC-DG", "KS", "PRG-AUC"])
def test_the_error_is_the_spread_of_samples(name: str, decimals: int | None) -> None:
    """720 samples of 300 rows, a quarter of them positive, scores continuous or a dozen values: the
    mean error found comes within 8% of the standard deviation over samples, three of its errors."""
    generator = np.random.default_rng(11)
    measure = parse(name, "scores")
    samples = 720 if name in KNOWN else 150
    values, errors = [], []
    for _ in range(samples):
        truth = generator.random(300) < 0.25
        score = 1.2 * truth + generator.normal(0, 1, 300)
        if decimals is not None:
            score = np.round(2 * score)
        table = ScoreTable.from_rows(truth, score)
        values.append(float(measure.apply(table)))
        errors.append(float(of(name, table).standard_error(table)))
    noise = 3 / math.sqrt(2 * samples)  # three standard errors of a standard deviation
    assert np.mean(errors) == pytest.approx(np.std(values), rel=max(0.08, noise))


def test_a_paired_test_of_two_average_precisions_keeps_its_level() -> None:
    """500 samples of 400 rows and two systems that are equally good, correlated, tied in part."""
    generator, measure = np.random.default_rng(5), parse("AP", "scores")
    rejected = 0
    for _ in range(500):
        truth = generator.random(400) < 0.3
        common = truth + generator.normal(0, 0.7, 400)
        scores = [np.round(common + generator.normal(0, 0.7, 400), 1) for _ in range(2)]
        tables = [ScoreTable.from_rows(truth, s) for s in scores]
        moved = [of("AP", t).row_values(truth, s) for t, s in zip(tables, scores, strict=True)]
        values = [float(measure.apply(t)) for t in tables]
        test = paired_tests.z_test_from_stats(
            values[0] - values[1], class_error(moved[0] - moved[1], truth), "x"
        )
        rejected += test.p < 0.05
    assert 0.021 <= rejected / 500 <= 0.079  # three standard errors about 0.05


@pytest.mark.slow
def test_clustered_rows_vary_as_their_clusters_do() -> None:
    """600 samples of 60 users with 5 rows each that share their luck."""
    generator = np.random.default_rng(3)
    values, clustered, naive = [], [], []
    code = np.repeat(np.arange(60, dtype=np.uint32), 5)
    for _ in range(600):
        luck = np.repeat(generator.normal(0, 1, 60), 5)
        truth = np.repeat(generator.random(60) < 0.4, 5)
        score = 1.5 * truth + luck + generator.normal(0, 0.5, 300)
        moved = rows_of("AP", truth, score, None)
        values.append(average_precision_score(truth, score))
        clustered.append(row_error(moved, clusters=ClusterIndex(code, 60)))
        naive.append(row_error(moved))
    spread = np.std(values)
    assert np.mean(clustered) == pytest.approx(spread, rel=0.12)
    assert np.mean(naive) < 0.6 * spread


@pytest.mark.parametrize(
    ("name", "average", "labels"),
    [
        ("macro-F1(labels=['a','c'])", "macro", [0, 2]),
        ("weighted-F1(without=['b'])", "weighted", [0, 2, 3]),
        ("micro-F1(labels=['a','c'])", "micro", [0, 2]),
    ],
)
def test_averages_over_some_classes_rise_as_scikit_learns(
    name: str, average: str, labels: list[int]
) -> None:
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 4, (2, 80))
    said = np.where(random.random(80) < 0.5, truth, said)
    matrix, measure = ConfusionMatrix.from_codes(truth, said, tuple("abcd")), cal.measure(name)

    def value(weight: FloatArray) -> float:
        found = f1_score(truth, said, labels=labels, average=average, sample_weight=weight)
        return float(found)

    steps = 1e-5 * np.eye(80)
    slopes = np.array([(value(1 + h) - value(1 - h)) / 2e-5 for h in steps])
    ours = cell_derivatives(class_gradient(measure, matrix), truth, said)
    assert float(measure.apply(matrix)) == pytest.approx(value(np.ones(80)))
    assert ours == pytest.approx(slopes, abs=1e-9)


# -------------------------------------------------------------------------------------- jackknife


@pytest.mark.parametrize("weighted", [False, True])
def test_the_jackknife_of_few_rows_leaves_out_one_at_a_time(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "calipers.inference.influence._MAX_BATCH_ELEMENTS", 60
    )  # three rows at a time
    truth, score, weight = example(10, weighted=weighted)
    for name in ("AUC", "KS", "recall@FPR=0.2", "EER"):
        measure = parse(name, "scores")
        table = ScoreTable.from_rows(truth, score, weight)
        rows = None if weight is None else (truth, score, weight, None)
        ours = group_jackknife(measure, table, ranked_rows(table, rows))
        without = []
        for row in range(len(truth)):
            keep = np.arange(len(truth)) != row
            own = None if weight is None else weight[keep]
            without.append(
                float(measure.apply(ScoreTable.from_rows(truth[keep], score[keep], own)))
            )
        expected = np.mean(without) - np.array(without)
        assert np.sort(ours) == pytest.approx(np.sort(expected), abs=1e-12)


def test_the_jackknife_of_many_rows_leaves_out_groups_of_equal_size() -> None:
    assert jackknife_groups(MAX_JACKKNIFE_GROUPS).tolist() == list(range(MAX_JACKKNIFE_GROUPS))
    sizes = np.bincount(jackknife_groups(1050), minlength=MAX_JACKKNIFE_GROUPS)
    assert len(sizes) == MAX_JACKKNIFE_GROUPS
    assert set(sizes.tolist()) == {5, 6}
    assert (jackknife_groups(1050) == jackknife_groups(1050)).all()
    generator = np.random.default_rng(0)
    truth = generator.random(4000) < 0.3
    score = truth + generator.normal(0, 1, 4000)
    table = ScoreTable.from_rows(truth, score)
    measure = parse("AP", "scores")
    left_out = group_jackknife(measure, table, ranked_rows(table))
    # Groups vary as rows do: Σ of squares, up to the chance of which rows come together.
    assert len(left_out) == MAX_JACKKNIFE_GROUPS
    assert np.square(left_out).sum() == pytest.approx(
        float(of("AP", table).standard_error(table)) ** 2, rel=0.35
    )


def test_the_jackknife_leaves_out_clusters() -> None:
    truth, score, _ = example(12)
    code = (np.arange(len(truth)) // 3).astype(np.uint32)
    table = ScoreTable.from_rows(truth, score)
    rows = (truth, score, None, code)
    ours = group_jackknife(parse("AUC"), table, ranked_rows(table, rows))
    without = [
        roc_auc_score(truth[code != c], score[code != c])
        for c in np.unique(code)
        if len(set(truth[code != c])) == 2
    ]
    assert len(ours) == len(np.unique(code))
    expected = np.mean(without) - np.array(without)
    assert ours[np.isfinite(ours)] == pytest.approx(expected, abs=1e-12)


def test_what_is_not_known() -> None:
    truth, score, _ = example(1)
    table = ScoreTable.from_rows(truth, score)
    assert measure_influence(parse("recall@FPR=0.1", "scores"), table) is None
    assert measure_influence(parse("EER", "scores"), table) is None
    many = np.linspace(0, 1, 2000)
    long = ScoreTable.from_rows(many > stats.uniform.rvs(size=2000, random_state=0), many)
    assert measure_influence(parse("KS", "scores"), long) is not None
    assert measure_influence(parse("AP", "scores"), long) is not None


# --------------------------------------------------------------------------------- work, not time


def test_the_scores_of_a_system_are_sorted_once_and_searched_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two systems, compared and in clusters: a row's place among the scores comes from one sort."""
    sorted_rows, searched = [], []
    sort, search = _core.order_descending, np.searchsorted

    def counted_sort(score: Any) -> Any:
        sorted_rows.append(len(score))
        return sort(score)

    def counted_search(among: Any, values: Any, *given: Any, **named: Any) -> Any:
        searched.append(np.size(values))
        return search(among, values, *given, **named)

    monkeypatch.setattr(_core, "order_descending", counted_sort)
    monkeypatch.setattr(np, "searchsorted", counted_search)
    random = np.random.default_rng(0)
    truth = random.random(3000) < 0.3
    both = {name: np.clip(random.random(3000) * 0.8 + 0.1 * truth, 0.01, 0.99) for name in "ab"}
    clustered: dict[str, Any] = {"cluster": random.integers(0, 300, 3000), "interval": "analytic"}
    for given in ({}, clustered):
        sorted_rows.clear()
        searched.clear()
        cal.classification(truth, probability=both, curves=False, n_resamples=100, **given)
        # The finding on duplicates sorts a sample of independent rows, which here are all.
        assert sorted_rows == [3000, 3000] + [3000] * ("cluster" not in given)
        assert sum(size for size in searched if size >= 3000) == 0


@pytest.mark.parametrize("undefined", ["omit", "zero"])
@pytest.mark.parametrize("name", ["weighted-precision", "weighted-F1", "macro-precision"])
def test_averages_without_a_class_have_the_error_of_the_others(name: str, undefined: str) -> None:
    """The class d is never predicted, so that "omit" leaves it out; by finite differences in the
    weights of ten rows, which come five times each."""
    truth, predicted = np.array(list("aabbccccdd") * 5), np.array(list("abbbccacab") * 5)
    options = {"measures": [name], "undefined": undefined}
    found = cal.classification(truth, predicted, interval="analytic", **options)[name]

    def value(weight: FloatArray) -> float:
        given = {"interval": "none", "weight": weight}
        return cal.classification(truth, predicted, **given, **options)[name].value

    steps = 1e-4 * np.eye(10, len(truth))
    slopes = [(value(1 + step) - value(1 - step)) / 2e-4 for step in steps]
    assert found.standard_error == pytest.approx(np.sqrt(5 * np.square(slopes).sum()), rel=1e-6)


def test_the_denominators_of_sums_of_columns_do_not_depend_on_their_order() -> None:
    random = np.random.default_rng(0)
    clusters = ClusterIndex.from_names(np.arange(12) // 3, None)
    a, b, c = (
        VarianceEstimator(None, clusters, denominator=denominator)
        for denominator in (None, random.random(12), random.random(12))
    )
    orders = [a.combine(b).combine(c), c.combine(b).combine(a), c.combine(a.combine(b))]
    for space in (*orders, a.combine(a).combine(b)):
        assert space.denominator is not None
        assert space.denominator.sum() == pytest.approx(3)
    for space in orders[1:]:
        assert space.denominator == pytest.approx(orders[0].denominator)
