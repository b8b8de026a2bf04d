"""What the largest of many differences is by chance, against all deals and other programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers import _core
from calipers.estimation.scores import ScoredRows
from calipers.inference import max_statistic, paired_tests
from calipers.inference.method_limits import VARIANCE_FLOOR
from calipers.inference.procedures import PValueProcedure
from calipers.inference.settings import Settings
from calipers.report.verdict import outcome
from calipers.results import Comparison


def largest(table: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """The largest |t|, t and −t of a table (units, systems, measures), by definition."""
    found = []
    for measure in range(table.shape[2]):
        apart = np.array([table[:, a, measure] - table[:, b, measure] for a, b in pairs])
        variance = apart.var(axis=1, ddof=1) / len(table)
        found.append(apart.mean(axis=1) / np.sqrt(variance + VARIANCE_FLOOR * variance.mean()))
    t = np.concatenate(found)
    return np.array([np.abs(t).max(), t.max(), -t.min()])


@pytest.mark.parametrize("baseline", [None, 1])
def test_all_deals_are_tried_where_they_are_few(baseline: int | None) -> None:
    table = np.random.default_rng(1).normal(size=(3, 3, 2))
    pairs = [(1, 0), (2, 0), (2, 1)] if baseline is None else [(0, 1), (2, 1)]
    orders = list(itertools.permutations(range(3)))
    every = [
        largest(np.stack([table[u][list(order)] for u, order in enumerate(deal)]), pairs)
        for deal in itertools.product(orders, repeat=3)
    ]
    found = max_statistic.permuted_maxima(table, baseline, 216, 0)
    assert found.is_exact
    assert found.n_tests == 2 * len(pairs)
    np.testing.assert_allclose(
        np.sort(found.replicates, axis=1), np.sort(every, axis=0).T, rtol=1e-9
    )
    seen = largest(table, pairs)
    for side, t in zip((0, 1, -1), (seen[0], seen[1], -seen[2]), strict=True):
        own = np.array([max(row[side], row[side] * side) for row in every])
        [p] = found.p(np.array([t]), np.array([2.0]), side)
        assert p == np.mean(own >= abs(t) * (1 - 1e-9))
    sampled = max_statistic.permuted_maxima(np.concatenate([table] * 3), baseline, 4_000, 0)
    assert not sampled.is_exact


def test_two_systems_are_swapped() -> None:
    """The largest of one difference is that of the paired randomization test, as |t| grows with the
    size of the mean."""
    apart = np.random.default_rng(2).normal(0.3, 1, 12)
    table = np.column_stack([apart, np.zeros(12)])[:, :, None]
    found = max_statistic.permuted_maxima(table, 1, 4096, 0)
    signs = np.array(list(itertools.product((1, -1), repeat=12)))
    means = np.abs((signs * apart).mean(axis=1))
    own = apart.mean() / np.sqrt(apart.var(ddof=1) / 12 * (1 + VARIANCE_FLOOR))
    assert found.p(np.array([own]), np.array([11.0]))[0] == np.mean(
        means >= abs(apart.mean()) - 1e-12
    )


def test_critical_values_and_p_values_agree() -> None:
    random = np.random.default_rng(3)
    for maxima in (
        max_statistic.permuted_maxima(random.normal(size=(20, 4, 2)), None, 2_000, 0),
        max_statistic.gaussian_maxima(list(random.normal(size=(6, 200))), 0),
    ):
        for level in (0.9, 0.95, 0.99):
            if maxima.is_normal:  # of one test's own p-value
                p = 2 * maxima.single_test_tail((1 - level) / 2)
                beyond, within = (maxima.adjust_p(p * by) for by in (0.999, 1.001))
            else:
                t = maxima.critical_value((1 - level) / 2)
                beyond, within = maxima.p(t * np.array([1 + 1e-6, 1 - 1e-6]), np.ones(2))
            assert beyond <= 1 - level + 1e-10 < within


def test_vectors_that_vary_together() -> None:
    """Against the multivariate normal of SciPy, for tests whose correlation is ½."""
    random = np.random.default_rng(4)
    basis, _ = np.linalg.qr(random.normal(size=(300, 4)))
    vectors = [(basis[:, 0] + basis[:, j]) * scale for j, scale in ((1, 1.0), (2, 9.0), (3, 0.1))]
    found = max_statistic.gaussian_maxima(vectors, 0)
    correlation = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    normal = stats.multivariate_normal(np.zeros(3), correlation)
    many = np.array([1e9])
    for z in (1.5, 2.0, 2.5):
        inside = normal.cdf(np.full(3, z), lower_limit=np.full(3, -z))
        assert found.p(np.array([z]), many)[0] == pytest.approx(1 - inside, abs=0.01)
    # Independent ones, and such as have no vector, are larger together; the same one is one test.
    alone = max_statistic.gaussian_maxima([None, None, None], 0).p(np.array([2.0]), many)[0]
    assert alone == pytest.approx(1 - (1 - 2 * stats.norm.sf(2.0)) ** 3, abs=0.01)
    same = max_statistic.gaussian_maxima([vectors[0], -vectors[0], 2 * vectors[0]], 0)
    assert same.p(np.array([2.0]), many)[0] == pytest.approx(2 * stats.norm.sf(2.0), abs=0.005)
    # Far out no draw reaches, and Bonferroni's bound holds, by Student's t.
    [far] = found.p(np.array([9.0]), np.array([20.0]))
    assert far == pytest.approx(3 * 2 * stats.t.sf(9.0, 20), rel=1e-9)


def test_what_is_kept_has_the_inner_products() -> None:
    """To rounding while the tests are few; of too many numbers, to the error of a sketch."""
    random = np.random.default_rng(5)
    a = random.normal(size=50_000)
    b = 0.6 * a + 0.8 * random.normal(size=50_000)
    b[:40] += 100  # a few rows that count
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    most = max_statistic.MAX_SINGLE_VALUES // len(a)
    for tests, kind, within in ((2, np.float64, 1e-15), (most, np.float32, 1e-8)):
        one, other = (
            of.astype(float)
            for of in (max_statistic.sketch_vector(a, tests), max_statistic.sketch_vector(b, tests))
        )
        assert max_statistic.sketch_vector(a, tests).dtype == kind
        correlation = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        assert correlation == pytest.approx(a @ b / norms, abs=within)
    one, other = max_statistic.sketch_vector(a, most + 1), max_statistic.sketch_vector(b, most + 1)
    assert len(one) == max_statistic.SKETCH_SIZE
    assert abs(one @ other - a @ b) / norms < 0.05
    assert one @ one == pytest.approx(a @ a, rel=0.1)
    np.testing.assert_allclose(max_statistic.sketch_vector(a - b, most + 1), one - other, atol=1e-9)
    assert (max_statistic.sketch_vector(a[:100], most + 1) == a[:100]).all()


def test_maxima_of_differences_of_draws_are_those_of_all_tests() -> None:
    random = np.random.default_rng(3)
    draws = random.normal(size=(5, 300))
    first = np.array([0, 3, 4, 2, 1])
    second = np.array([1, -1, 2, 0, -1])
    scale = np.array([0.5, -2.0, 1.0, -0.3, 0.0])
    tests = scale[:, None] * np.array(
        [draws[a] - (draws[b] if b >= 0 else 0.0) for a, b in zip(first, second, strict=True)]
    )
    found = _core.difference_maxima(draws, first, second, scale)
    np.testing.assert_allclose(found, [tests.max(axis=0), -tests.min(axis=0)], rtol=1e-15)
    with pytest.raises(ValueError, match="a row outside the 5 rows"):
        _core.difference_maxima(draws, first, second + 5, scale)


def test_many_systems_are_drawn_by_system_as_by_pair() -> None:
    """Two measures of ten systems; the tests of all pairs, directly and as differences."""
    random = np.random.default_rng(4)
    n_systems, n_rows = 10, 400
    common = random.normal(size=n_rows)
    influence = {
        measure: common + scale * random.standard_t(5, size=(n_systems, n_rows))
        for measure, scale in (("AUC", 0.3), ("Brier", 2.0))
    }
    influence["Brier"][7] = influence["Brier"][6] + 1e-7 * random.normal(size=n_rows)
    pairs = [(f"s{b}", f"s{a}") for a, b in itertools.combinations(range(n_systems), 2)]
    made = max_statistic.PairVectors.for_pairs(pairs, 2)
    assert made is not None
    assert max_statistic.PairVectors.for_pairs(pairs[:9], 2) is None
    directly: list[max_statistic.TestVector] = [None]
    reduced: list[max_statistic.TestVector] = [None]
    for system, baseline in pairs:
        for measure, table in influence.items():
            vector = table[int(system[1:])] - table[int(baseline[1:])]
            directly.append(vector)
            reduced.append(made.reduce(vector, measure, system, baseline))
    n_differences = sum(isinstance(of, max_statistic.VectorDifference) for of in reduced)
    assert n_differences == 2 * (45 - 9) - 1  # the pair that hardly differs is by itself
    one, other = (
        max_statistic.gaussian_maxima(vectors, 0, signs=[1.0, -1.0] * 45 + [1.0])
        for vectors in (directly, reduced)
    )
    assert one.n_tests == other.n_tests == 91
    for tail in (0.25, 0.05, 0.025):
        assert other.critical_value(tail) == pytest.approx(one.critical_value(tail), abs=0.04)
    for side in (0, 1, -1):
        for p in (0.01, 1e-3):
            assert other.adjust_p(p, side) == pytest.approx(one.adjust_p(p, side), abs=0.02)


def test_a_pair_is_a_difference_of_what_is_stored_if_its_length_says_so() -> None:
    rows = np.random.default_rng(5).normal(size=(4, 500))
    vectors = max_statistic.PairVectors(n_vectors=3)
    for j in (1, 2, 3):
        column = rows[j] - rows[0]
        vectors.reduce(column, "AUC", f"s{j}", "s0", 2 * float(np.linalg.norm(column)))
    column = rows[3] - rows[1]
    length = float(np.linalg.norm(column))
    pair = vectors.difference("AUC", "s3", "s1", 2 * length)
    assert pair is not None
    assert pair.norm == pytest.approx(length)
    assert np.allclose(pair.first - pair.second, column)
    for se in (2 * length * (1 + 1e-5), length, np.nan, 0.0):  # of a vector of its own
        assert vectors.difference("AUC", "s3", "s1", se) is None
    assert vectors.difference("AUC", "s3", "s0", 2 * length) is None  # stored itself
    assert vectors.difference("Brier", "s3", "s1", 2 * length) is None


@pytest.mark.parametrize("n_rows", [60, 5000])
def test_vectors_of_a_table_are_those_of_its_pairs(n_rows: int) -> None:
    table = np.random.default_rng(6).normal(size=(n_rows, 11))
    table[:, 5] = table[:, 4] + 1e-6 * table[:, 0]
    pairs = [(b, a) for a, b in itertools.combinations(range(11), 2)]
    by_pair, by_table = (max_statistic.PairVectors(n_vectors=10) for _ in range(2))
    singly = [by_pair.reduce(table[:, a] - table[:, b], "AP", str(a), str(b)) for a, b in pairs]
    at_once = by_table.reduce_table(table, pairs)
    for first, second in zip(singly, at_once, strict=True):
        assert type(first) is type(second)
        if isinstance(first, max_statistic.VectorDifference):
            assert isinstance(second, max_statistic.VectorDifference)
            assert second.norm == pytest.approx(first.norm, rel=1e-12)
            assert np.allclose(first.first, second.first, rtol=1e-12, atol=1e-15)
        else:
            assert np.allclose(first, second, rtol=1e-12, atol=1e-15)
    kept = {id(of.first) for of in at_once if isinstance(of, max_statistic.VectorDifference)}
    assert len(kept) <= 10  # one array for each system


def test_large_and_small_influences_are_kept_alike() -> None:
    """Single precision has no room for numbers beyond 1e38, which a factor mends."""
    column = np.random.default_rng(6).normal(size=5_000)
    tests = max_statistic.MAX_DOUBLE_VALUES // len(column) + 1
    for scale in (1e-60, 1.0, 1e60):
        found = max_statistic.gaussian_maxima(
            [max_statistic.sketch_vector(scale * column, tests), column], 0
        )
        same = found.p(np.array([2.0]), np.full(1, np.inf))
        assert same == pytest.approx(2 * stats.norm.sf(2.0), abs=0.005)
    assert (max_statistic.sketch_vector(np.zeros(5_000), tests) == 0).all()


def test_clusters_are_the_units_of_vectors() -> None:
    random = np.random.default_rng(6)
    truth = random.random(120) < 0.5
    from calipers.inference.clusters import ClusterIndex

    clusters = ClusterIndex.from_names(np.repeat(np.arange(12), 10), None)
    rows = ScoredRows(truth, truth + random.normal(size=120), None, clusters, Settings())
    reading = rows.point_estimate(cal.measure("AP", family="scores"))
    assert reading.influence is not None
    vector = max_statistic.influence_vector(reading.influence)
    assert vector is not None
    assert len(vector) == 12


# --- What a comparison makes of it ----------------------------------------------------------------


def contradictions(comparison: Comparison) -> list[str]:
    return [
        f"{d.measure} {d.system} {d.baseline}"
        for d in comparison
        if d.has_interval and (d.p_adjusted <= 0.05) != (not d.low <= 0 <= d.high)
    ]


def runs(systems: int, topics: int = 50, better: float = 0.5) -> dict[str, dict[str, np.ndarray]]:
    random = np.random.default_rng(7)
    topic = random.beta(2, 3, (topics, 1)) * 0.5
    of = np.clip(topic + random.normal(0, 0.05, (topics, systems)), 0, 1)
    of[:, -1] = np.clip(of[:, -1] + better, 0, 1)
    return {f"run{j}": of[:, j] for j in range(systems)}


@pytest.mark.slow
@pytest.mark.parametrize("adjust", ["max-t", "tukey", "holm", "bonferroni", "benjamini-hochberg"])
def test_among_17_runs_one_that_is_better_everywhere_is_found(adjust: str) -> None:
    ev = cal.from_values(runs(17), measure="AP", interval="none", n_resamples=200)
    made = ev.compare(adjust=adjust, interval="auto")
    of_best = [d for d in made if "run16" in (d.system, d.baseline)]
    assert len(of_best) == 16
    assert all(outcome(d).is_significant for d in of_best)
    assert sum(outcome(d).is_significant for d in made) <= 16 + 1
    assert contradictions(made) == []
    assert all(d.min_detectable > 2 * d.standard_error for d in made)


@pytest.mark.slow
def test_p_values_at_their_floor_are_asked_for_again() -> None:
    ev = cal.from_values(runs(6), measure="AP", interval="none", n_resamples=200)
    for test, floor in (("randomization", 1e-4), ("bootstrap", 2 / 201)):
        plain, again = (ev.compare(adjust=way, test=test) for way in ("none", "bonferroni"))
        d = "run5", "run0", "AP"
        assert plain[d].p == pytest.approx(floor, rel=0.01)
        assert again[d].p < floor
        assert again[d].p_adjusted <= 0.05


def test_the_primary_measure_is_a_family_of_its_own() -> None:
    random = np.random.default_rng(8)
    truth = random.random(400) < 0.4
    score = {s: np.clip(0.4 + 0.2 * truth + random.normal(0, 0.2, 400), 0.01, 0.99) for s in "ab"}
    ev = cal.classification(truth, probability=score, n_resamples=200, curves=False)
    usual, alone = ev.compare(), ev.compare(adjust="none")
    assert usual.primary == usual.differences[0].measure
    assert usual[usual.primary] == alone[usual.primary]
    for d in usual.differences[1:]:
        own = alone[d.measure]
        assert d.p_adjusted >= own.p
        assert d.low <= own.low <= own.high <= d.high
        assert d.method == "simultaneous, max-t"
    turned = ev.compare(primary="f1")
    assert turned.primary == "F1"
    assert turned["F1"] == alone["F1"]
    assert turned["AUC"] != alone["AUC"]
    assert contradictions(usual) == contradictions(turned) == []
    with pytest.raises(cal.InputError, match="primary: 'F7' is not a compared measure"):
        ev.compare(primary="F7")


def test_systems_that_never_differ_are_the_same() -> None:
    random = np.random.default_rng(9)
    values = random.random(30)
    given = {"a": values, "b": values, "c": random.random(30)}
    made = cal.from_values(given, measure="AP", n_resamples=200).comparison
    assert made is not None
    d = made["b", "a", "AP"]
    assert (d.value, d.p_adjusted) == (0.0, 1.0)
    assert d.low < 0 < d.high


def on_thirty_topics() -> dict[str, np.ndarray]:
    """Four systems, a copy of the first to nine digits, and one that is above it by as much
    everywhere."""
    random = np.random.default_rng(3)
    topic = random.normal(0, 1, 30)
    means = {"a": 0.0, "b": 0.0, "c": 0.6, "d": 1.2}
    made = {s: topic + random.normal(m, 0.5, 30) for s, m in means.items()}
    return {**made, "copy": made["a"] + 1e-9 * random.normal(size=30), "above": made["a"] + 0.3}


def test_limits_of_a_family_are_no_narrower_than_those_of_a_difference_alone() -> None:
    ev = cal.from_values(on_thirty_topics(), measure="x")
    together, alone = ev.compare(), ev.compare(adjust="none")
    for d, own in zip(together, alone, strict=True):
        assert d.low <= own.low <= own.high <= d.high
    of_copy = together["copy", "a", "x"]
    # That hardly differs is held to what others differ by, and hardly a smaller one is seen.
    far = of_copy.high - of_copy.value
    assert far > 1e6 * of_copy.standard_error
    assert far <= of_copy.min_detectable <= far * (1 + 1e-6)
    # Nothing varies, so that no maximum is at hand: Bonferroni's, of 15 pairs.
    above = together["above", "a", "x"]
    assert above.p_adjusted == pytest.approx(min(1.0, 15 * above.p))
    assert (above.low > 0) == (above.p_adjusted <= 0.05)


def test_limits_that_bound_the_rate_of_false_coverage() -> None:
    """Of R found among m, t at 1 - R/m of what is left (Benjamini and Yekutieli 2005)."""
    values = {s: v for s, v in on_thirty_topics().items() if s in "abcd"}
    made = cal.from_values(values, measure="x").compare(adjust="benjamini-hochberg", test="t")
    found = sum(d.p_adjusted <= 0.05 for d in made)
    assert (found, len(made)) == (5, 6)
    for d in made:
        apart = values[d.system] - values[d.baseline]
        half = stats.t.ppf(1 - 0.05 * found / (2 * 6), 29) * stats.sem(apart)
        assert (d.value - d.low, d.high - d.value) == pytest.approx((half, half), rel=1e-9)
        assert d.method == "false coverage rate"


def test_one_sided_tests_look_the_way_that_is_better() -> None:
    random = np.random.default_rng(10)
    y = random.normal(size=200)
    said = {s: y + random.normal(0, 1 + 0.4 * (s == "a"), 200) for s in "abc"}
    ev = cal.regression(y, said, measures=["RMSE", "MAE", "MSE"])
    better = ev.compare(alternative="better")
    for d in better:
        if "a" in (d.system, d.baseline):
            assert (d.p_adjusted < 0.01) == (d.baseline == "a"), d
    both = ev.compare()
    for d, own in zip(both, better, strict=True):
        assert d.alternative == "two-sided"
        if d.baseline == "a":
            assert own.p_adjusted <= d.p_adjusted


@pytest.mark.parametrize("systems", [1, 3])
def test_maxima_ask_for_tables_that_fit(systems: int) -> None:
    with pytest.raises(ValueError, match="are not 2 measures of"):
        _core.randomized_maxima(np.ones((4, 2)), [4.0, 4.0], systems, None, 0.1, 0, 10)


def test_maxima_counted_by_hand() -> None:
    drawn = np.tile(np.arange(1.0, 41.0), (3, 1))
    degrees = np.array([9.0])
    some = max_statistic.MaxStatistic(drawn[:, :4], 3)
    assert some.p(np.array([0.5, 3.0, 4.0, 5.0]), degrees).tolist() == [1.0, 0.6, 0.4, 0.2]
    every = max_statistic.MaxStatistic(drawn[:, :4], 3, is_exact=True)
    assert every.p(np.array([0.5, 3.0, 4.0, 5.0]), degrees).tolist() == [1.0, 0.5, 0.25, 0.0]
    # One of 20 may be as large, and of 39 drawn one beside that which was seen; of 19 and of 18 none
    # that is there is so rare, so that any t is within.
    for number, exact, expected in (
        (20, True, 19.0), (19, True, 19.0), (39, False, 38.0), (38, False, 38.0), (18, False, np.inf)
    ):  # fmt: skip
        found = max_statistic.MaxStatistic(drawn[:, :number], 3, exact)
        assert found.critical_value(0.025) == pytest.approx(expected, rel=1e-6)
        if np.isfinite(expected):
            beyond, within = found.p(np.array([expected + 0.1, expected]), degrees)
            assert beyond <= 0.05 < within


def test_a_system_without_a_value_takes_the_mean_of_the_others() -> None:
    table = np.random.default_rng(3).normal(5.0, 1.0, size=(12, 3, 1))
    table[4, 1] = np.nan
    filled = table.copy()
    filled[4, 1] = (table[4, 0] + table[4, 2]) / 2
    first, second = (
        max_statistic.permuted_maxima(of, None, 500, seed=1).replicates for of in (table, filled)
    )
    assert first == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_deals_of_weighted_units_with_gaps(weighted: bool) -> None:
    """A gap is filled with the mean of the others; the last unit, with one value, says nothing."""
    table = np.random.default_rng(11).normal(5.0, 1.0, size=(4, 3, 1))
    table[1, 2] = table[3, :2] = np.nan
    weight = np.array([0.5, 2.0, 1.25, 7.0]) if weighted else np.ones(4)
    x, w = table[:3, :, 0].copy(), weight[:3] / weight[:3].sum()
    x[1, 2] = (x[1, 0] + x[1, 1]) / 2
    n = 1 / (w**2).sum()  # Kish's
    every = []
    for deal in itertools.product(itertools.permutations(range(3)), repeat=3):
        dealt = np.stack([row[list(order)] for row, order in zip(x, deal, strict=True)])
        apart = dealt[:, [1, 2, 2]] - dealt[:, [0, 0, 1]]
        means = w @ apart
        variance = w**2 @ (apart - means) ** 2 * n / (n - 1)
        t = means / np.sqrt(variance + VARIANCE_FLOOR * variance.mean())
        every.append([np.abs(t).max(), t.max(), -t.min()])
    own = weight[:, None] * 3 if weighted else None
    found = max_statistic.permuted_maxima(table, None, 6**4, 0, own)
    assert found.is_exact
    expected = np.repeat(np.sort(every, axis=0), 6, axis=0).T
    np.testing.assert_allclose(np.sort(found.replicates, axis=1), expected, rtol=1e-9)


def test_errors_with_a_share_of_their_mean() -> None:
    errors = np.array([0.1, 0.3, np.nan])
    found = max_statistic.floored_standard_errors(
        np.array([0.2, -0.4, 0.1]), errors, np.array([9.0, 9.0, 9.0])
    )
    expected = np.sqrt(np.square(errors) + VARIANCE_FLOOR * (0.01 + 0.09) / 2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isnan(
        max_statistic.floored_standard_errors(np.array([0.2]), np.array([np.nan]), np.ones(1))
    ).all()


def test_errors_that_rounding_leaves_of_constant_differences() -> None:
    """As the deals have them, of which the first deals every unit as it is. Values that differ by
    half everywhere have variance 0, and 10⁻¹² of their mean square for it."""
    table = np.stack([np.full((3, 1), 0.5), np.zeros((3, 1))], axis=1)
    [seen] = max_statistic.permuted_maxima(table, 1, 8, 0).replicates[:1, :1][0]
    [error] = max_statistic.floored_standard_errors(np.array([0.5]), np.zeros(1), np.array([3.0]))
    assert error == pytest.approx(np.sqrt(1e-12 * 0.25 / 2 * (1 + VARIANCE_FLOOR)), rel=1e-9)
    assert 0.5 / error == pytest.approx(seen, rel=1e-9)


def test_sketches_add_with_signs() -> None:
    """Numbers of one sign, added up without signs of their own, would be longer by far."""
    ones = np.ones(4 * max_statistic.SKETCH_SIZE)
    other = np.tile([1.0, 3.0], 2 * max_statistic.SKETCH_SIZE)
    found = max_statistic.sketch_vector(ones, 10_000), max_statistic.sketch_vector(other, 10_000)
    for a, b, expected in ((0, 0, 4.0), (0, 1, 8.0), (1, 1, 20.0)):
        assert found[a] @ found[b] / max_statistic.SKETCH_SIZE == pytest.approx(expected, rel=0.15)


def test_the_share_of_the_mean_variance_is_a_tenth() -> None:
    """Of one difference of many topics the variance becomes 1.1 times itself, and the largest |t|
    that of a normal over √1.1; with a fifth it would be 1.789."""
    table = np.random.default_rng(3).normal(size=(1500, 2, 1))
    found = max_statistic.permuted_maxima(table, 1, 10_000, 0)
    assert found.critical_value(0.025) == pytest.approx(1.959964 / np.sqrt(1.1), abs=0.035)
    assert abs(found.critical_value(0.025) - 1.959964 / np.sqrt(1.2)) > 0.04


@pytest.mark.parametrize("dependent", [False, True])
def test_the_same_replicates_are_drawn_whatever_the_last_digits(dependent: bool) -> None:
    """In another basis of the units the inner products have other digits in the last place, and
    of vectors that are alike no eigenvector is unique."""
    random = np.random.default_rng(3)
    a, b, c = np.linalg.qr(random.normal(size=(60, 3)))[0].T
    vectors = [a, b, c]
    if dependent:  # as differences of three systems, and of measures that say nearly the same
        vectors += [a - b, a - c, b - c, 2 * (a - b), a - b + 1e-4 * c, np.zeros(60)]
    turn = np.linalg.qr(random.normal(size=(60, 60)))[0]
    found = max_statistic.gaussian_maxima(vectors, seed=0)
    turned = max_statistic.gaussian_maxima([vector @ turn for vector in vectors], seed=0)
    np.testing.assert_allclose(turned.replicates, found.replicates, rtol=0, atol=1e-6)
    # P(largest |z| > 2) of one normal, and of three that are independent.
    expected = {1: 0.0455, 3: 1 - (1 - 0.0455) ** 3}
    for number, share in expected.items():
        largest = max_statistic.gaussian_maxima([a, b, c][:number], seed=0).replicates[0]
        assert np.mean(largest > 2) == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize("tests", [1, 4])
def test_independent_tests_of_a_side_are_adjusted_as_sidak_says(tests: int) -> None:
    """A one-sided test is held against the largest of its side, a two-sided one against the largest
    on both: either way 1 − (1 − p)ᵏ of tests that vary apart."""
    maxima = max_statistic.gaussian_maxima([None] * tests, seed=0)
    for side, both in ((0, 2), (1, 1), (-1, 1)):
        for own in (0.2, 0.02):
            truth = 1 - (1 - own) ** tests
            error = np.sqrt(truth * (1 - truth) / maxima.replicates.shape[1])
            t = stats.norm.isf(own / both) * (side or 1)
            [p] = maxima.p(np.array([t]), np.array([1e12]), side)
            for found in (maxima.adjust_p(own, side), p):
                assert found == pytest.approx(truth, abs=5 * error)
        # Farther out than anything drawn, Bonferroni's bound is all that is left.
        [p] = maxima.p(np.array([7.0 * (side or 1)]), np.array([1e12]), side)
        assert p == pytest.approx(tests * both * stats.norm.sf(7.0), rel=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_difference_is_held_against_all_deals_of_its_side(sign: int, alternative: str) -> None:
    """One difference alone: |t| and t grow with the mean, so that of all signs those count whose
    mean is as far out, whichever values of the measure are the better ones."""
    apart = np.random.default_rng(8).normal(0.5, 1, 7)
    every = np.array(list(itertools.product((1, -1), repeat=7))) @ apart / 7
    seen = every[0]
    truth = {
        "two-sided": np.mean(np.abs(every) >= abs(seen) - 1e-12),
        "greater": np.mean(every >= seen - 1e-12),
        "less": np.mean(every <= seen + 1e-12),
    }
    assert len({round(p, 6) for p in truth.values()}) == 3
    own = PValueProcedure(
        value=seen,
        method="none",
        name="none",
        compute_test=lambda _: paired_tests.TestResult(0.0, "none"),
    )
    together = max_statistic.MaxTProcedure(
        value=seen,
        method="none",
        name="none",
        procedure=own,
        maxima=max_statistic.permuted_maxima(
            np.column_stack([apart, np.zeros(7)])[:, :, None], 1, 128, 0
        ),
        sign=sign,
        se=float(np.sqrt(apart.var(ddof=1) / 7 * (1 + VARIANCE_FLOOR))),
    )
    assert together.p(0.0, alternative) == truth[alternative]
