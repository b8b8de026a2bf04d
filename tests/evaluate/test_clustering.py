"""Clusters against true classes: values by brute force, and intervals that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.data.errors import InputError
from calipers.evaluate.clustering import TRUTH_MEASURES
from calipers.inference.independence import independence_test, sums_of_squares
from calipers.measures import definitions
from calipers.statistics import ContingencyTable

RANDOM = np.random.default_rng(3)
ALL = [d.name for d in definitions("partitions")]
FEW: dict[str, Any] = {"n_resamples": 400}
CLASSES = RANDOM.integers(0, 3, 150)
NOISY = np.where(RANDOM.random(150) < 0.25, RANDOM.integers(0, 4, 150), CLASSES)
CHANCE = RANDOM.integers(0, 4, 150)


def table(truth: Any, cluster: Any) -> ContingencyTable:
    codes = [np.unique(of, return_inverse=True)[1] for of in (truth, cluster)]
    names = [tuple(map(str, np.unique(of))) for of in (truth, cluster)]
    return ContingencyTable.from_codes(*codes, *names)


# ------------------------------------------------------------------------------------------ values


def test_measures_of_pairs_by_counting_pairs() -> None:
    truth, cluster = [0, 0, 0, 1, 1, 2, 2, 2], [5, 5, 6, 6, 6, 6, 7, 7]
    pairs = list(combinations(range(8), 2))
    same = [(truth[i] == truth[j], cluster[i] == cluster[j]) for i, j in pairs]
    both, apart = same.count((True, True)), same.count((False, False))
    only_truth, only_cluster = same.count((True, False)), same.count((False, True))
    ev = cal.clustering(None, cluster, truth, measures=ALL, interval="none")
    assert ev["Rand"].value == pytest.approx((both + apart) / 28)
    assert ev["pair-F1"].value == pytest.approx(2 * both / (2 * both + only_truth + only_cluster))
    assert ev["pair-Jaccard"].value == pytest.approx(both / (both + only_truth + only_cluster))
    root = np.sqrt((both + only_truth) * (both + only_cluster))
    assert ev["Fowlkes-Mallows"].value == pytest.approx(both / root)
    assert ev["purity"].value == pytest.approx((2 + 2 + 2) / 8)


@pytest.mark.slow
def test_what_chance_makes_is_the_mean_over_all_ways_to_deal_points() -> None:
    truth, cluster = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1, 2])
    ways = [table(truth, cluster[list(order)]) for order in permutations(range(7))]
    information = np.mean([float(way.entropies_and_information[2]) for way in ways])
    assert float(table(truth, cluster).expected_information) == pytest.approx(
        information, rel=1e-12
    )
    together = np.mean([float(way.pair_counts[0]) for way in ways])
    _, a, b, n = table(truth, cluster).pair_counts
    assert float(a * b / n) == pytest.approx(together, rel=1e-12)


def test_what_clusters_are_called_changes_nothing() -> None:
    renamed = np.array(["z", "c", "x", "a"])[NOISY]
    first, second = (
        cal.clustering(None, of, CLASSES, measures=ALL, interval="none") for of in (NOISY, renamed)
    )
    for name in ALL:
        assert first[name].value == pytest.approx(second[name].value, abs=1e-14)


def test_a_count_is_so_many_points() -> None:
    counts = RANDOM.integers(0, 4, 150)
    once = cal.clustering(None, NOISY, CLASSES, count=counts, measures=ALL, **FEW)
    twice = cal.clustering(
        None, np.repeat(NOISY, counts), np.repeat(CLASSES, counts), measures=ALL, **FEW
    )
    assert [(e.value, e.low, e.high) for e in once] == [(e.value, e.low, e.high) for e in twice]


def test_the_default_is_what_one_cluster_gets() -> None:
    ev = cal.clustering(None, NOISY, CLASSES, measures=ALL, interval="none")
    one = cal.clustering(None, np.zeros(150), CLASSES, measures=ALL, interval="none")
    for name in ALL:
        assert ev[name].no_skill == pytest.approx(one[name].value, abs=1e-12), name


# --------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize(
    "cluster",
    [CLASSES, (CLASSES + 1) % 3, NOISY, CHANCE, np.zeros(150), np.arange(150)],
    ids=["perfect", "renamed", "noisy", "by chance", "one cluster", "all alone"],
)
def test_every_value_has_an_interval_around_it(cluster: Any) -> None:
    ev = cal.clustering(None, cluster, CLASSES, measures=ALL, **FEW)
    for e in ev:
        if np.isnan(e.value):
            assert e.undefined
            continue
        low, high = cal.measure(e.measure).definition.range
        assert low <= e.low <= e.value <= e.high <= high, e
        assert e.high > e.low or len(np.unique(cluster)) in (1, 150), e


def test_a_perfect_clustering_is_perfect_of_all_points_but_for_few() -> None:
    """With no point wrong of n, up to 2.5% of Jeffreys' Beta(½, n + ½) may be: some 2.5/n; each of
    two classes has half of them."""
    from scipy.stats import beta

    truth = np.arange(200) % 2
    ev = cal.clustering(None, truth, truth, measures=["purity"], n_resamples=20_000)
    assert ev["purity"].low == pytest.approx(1 - beta(0.5, 200.5).ppf(0.975), abs=0.001)


@pytest.mark.slow
def test_clusters_by_chance_are_not_told_from_chance() -> None:
    """Where points drawn anew, some of them twice, made ARI −0.0056 one of −0.0044 to 0.0101."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        truth, cluster = random.integers(0, 3, (2, 120))
        ev = cal.clustering(None, cluster, truth, measures=["ARI", "AMI", "NMI"], **FEW)
        for e in ev:
            assert e.low <= 0 <= e.high, (seed, e)


def _covered(draw: Callable[[Any], tuple[Any, Any]], name: str, true: float) -> float:
    found = []
    for seed in range(120):
        truth, cluster = draw(np.random.default_rng(seed))
        e = cal.clustering(None, cluster, truth, measures=[name], n_resamples=200)[name]
        found.append(e.low <= true <= e.high)
    return float(np.mean(found))


@pytest.mark.slow
def test_the_limits_hold_the_truth() -> None:
    """Three equal classes, a point in the cluster of another with probability 0.3·⅔. The true ARI
    is (Σp² − ⅑)/(⅓ − ⅑) with p = 0.8/3 thrice and 0.1/3 six times."""

    def draw(random: Any) -> tuple[Any, Any]:
        truth = random.integers(0, 3, 150)
        return truth, np.where(random.random(150) < 0.3, random.integers(0, 3, 150), truth)

    true = (3 * (0.8 / 3) ** 2 + 6 * (0.1 / 3) ** 2 - 1 / 9) / (1 / 3 - 1 / 9)
    assert 0.9 <= _covered(draw, "ARI", true) <= 0.99


# ------------------------------------------------------------------------------------- differences


def test_clusterings_are_compared_point_by_point() -> None:
    random = np.random.default_rng(1)
    worse = np.where(random.random(150) < 0.1, random.integers(0, 3, 150), NOISY)
    said = {"noisy": NOISY, "worse": worse, "alone": random.permutation(NOISY)}
    ev = cal.clustering(None, said, CLASSES, measures=["ARI"], baseline="noisy", **FEW)
    near, far = (ev.comparison[name, "noisy", "ARI"] for name in ("worse", "alone"))
    alone = [ev[name, "ARI"].standard_error for name in ("noisy", "worse")]
    assert near.standard_error < 0.6 * np.hypot(*alone)
    assert far.p_adjusted < 1e-6
    assert near.low < near.value < near.high


def test_the_same_clusters_by_other_names_do_not_differ() -> None:
    said = {"a": NOISY, "b": (NOISY + 1) % 4}
    ev = cal.clustering(None, said, CLASSES, measures=["ARI", "AMI", "purity"], **FEW)
    for d in ev.comparison:
        assert d.value == pytest.approx(0, abs=1e-12)
        assert d.p > 0.99
        assert d.low < 0 < d.high


# ------------------------------------------------------------------------------------------ points

FAMILIES = ("silhouettes", "dispersion")
OF_POINTS = [d.name for family in FAMILIES for d in definitions(family)]
CENTRES = np.array([[0.0, 0, 0], [3, 0, 1], [0, 3, 0]])
POINTS = CENTRES[CLASSES] + RANDOM.normal(size=(150, 3))
NEAREST = np.square(POINTS[:, None] - CENTRES).sum(axis=2).argmin(axis=1)


def test_silhouettes_of_points_by_hand() -> None:
    """0, 1 and 3 on a line and 8 alone: a = 2, 1.5 and 2.5; b = 8, 7 and 5."""
    ev = cal.clustering([[0.0], [1.0], [3.0], [8.0]], ["a", "a", "a", "b"], interval="none")
    assert ev["silhouette"].value == pytest.approx((6 / 8 + 5.5 / 7 + 2.5 / 5 + 0) / 4)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
def test_the_nearest_and_the_farthest_points(metric: str) -> None:
    from scipy.spatial.distance import cdist

    matrix = cdist(POINTS, POINTS, metric.replace("manhattan", "cityblock"))
    same = NEAREST[:, None] == NEAREST
    dunn = matrix[~same].min() / matrix[same].max()
    matrix = (matrix + matrix.T) / 2 * (1 - np.eye(150))
    for given in ({"distances": matrix}, {"metric": metric}):
        points = None if "distances" in given else POINTS
        e = cal.clustering(points, NEAREST, measures=["Dunn"], **given)["Dunn"]
        assert e.value == pytest.approx(dunn, rel=1e-9)
        assert e.interval_reason == "two_pairs"


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
def test_distances_that_are_given_make_the_same_numbers(metric: str, tmp_path: Any) -> None:
    from scipy.spatial.distance import cdist

    matrix = cdist(POINTS, POINTS, metric.replace("manhattan", "cityblock"))
    np.save(tmp_path / "d.npy", (matrix + matrix.T) / 2 * (1 - np.eye(150)))
    mapped = np.load(tmp_path / "d.npy", mmap_mode="r")
    given = cal.clustering(None, NOISY, distances=mapped)["silhouette"]
    made = cal.clustering(POINTS, NOISY, metric=metric, measures=["silhouette"])["silhouette"]
    ends = [(of.value, of.low, of.high) for of in (given, made)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_squares_need_no_distance_of_two_points() -> None:
    by_moments, by_pairs = (
        cal.clustering(POINTS, NOISY, measures=[name], metric="sqeuclidean").estimates[0]
        for name in ("squared-silhouette", "silhouette")
    )
    assert by_moments.value == pytest.approx(by_pairs.value, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        *((name, 0.94 if name == "Davies-Bouldin" else 0.998) for name in OF_POINTS),
        *((f"{name}[b]", 0.998) for name in ("silhouette", "simplified-silhouette")),
    ],
)
def test_errors_are_those_of_leaving_points_out(name: str, alike: float) -> None:
    """But for the kinks where another cluster is the worst of all."""
    from calipers.inference.settings import Settings
    from calipers.systems.clustering import Clustering

    measure, settings = cal.measure(name), Settings()

    def reading(rows: Any) -> Any:
        system = Clustering("s", NEAREST[rows], tuple("abc"), settings, points=POINTS[rows])
        return system.point_estimate(measure)

    rows = np.arange(100)
    left = np.array([reading(np.delete(rows, i)).value for i in rows])
    whole = reading(rows)
    moved = left.mean() - left
    assert np.corrcoef(moved, whole.influence().column)[0, 1] > alike
    error = np.sqrt(99 / 100 * np.square(moved).sum())
    assert whole.standard_error.se == pytest.approx(error, rel=0.05)


def test_silhouettes_of_clusters_are_means_of_those_of_points() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    each = metrics.silhouette_samples(POINTS, NEAREST)
    names = ["silhouette", *(f"silhouette[{k}]" for k in range(3))]
    ev = cal.clustering(POINTS, NEAREST, measures=names, per_point=True)
    assert ev.per_unit is not None
    assert ev.per_unit.values["system"]["silhouette"] == pytest.approx(each)
    assert ev.per_unit.ids == tuple(map(str, range(150)))
    (table,) = ev.label_tables
    for k, name in enumerate(names[1:]):
        e = ev[name]
        assert e.value == pytest.approx(each[k == NEAREST].mean())
        assert e.n == np.count_nonzero(k == NEAREST)
        shown = (column["silhouette"][k] for column in (table.values, table.low, table.high))
        assert (e.value, e.low, e.high) == pytest.approx(tuple(shown))


def test_a_cluster_that_only_some_have() -> None:
    both = {"three": NEAREST, "two": np.minimum(NEAREST, 1)}
    ev = cal.clustering(POINTS, both, measures=["silhouette[2]"], per_point=True)
    assert ev["two", "silhouette[2]"].undefined == {"no_rows": 0}
    assert ev["three", "silhouette[2]"].value > 0


def test_a_sample_of_points_has_their_very_silhouettes() -> None:
    whole = cal.clustering(POINTS, NEAREST, measures=["silhouette"], per_point=True)
    some = cal.clustering(POINTS, NEAREST, measures=["silhouette"], per_point=True, sample=40)
    assert whole.per_unit is not None
    assert some.per_unit is not None
    rows = np.array(some.per_unit.ids, int)
    each = whole.per_unit.values["system"]["silhouette"]
    assert some.per_unit.values["system"]["silhouette"] == pytest.approx(each[rows])
    e = some["silhouette"]
    assert e.value == pytest.approx(each[rows].mean())
    assert (e.n, e.n_total) == (40, 150)
    assert e.method.endswith("of 40 sampled points")
    assert "40 points drawn at random from 150" in some.notes[0]
    everyone = cal.clustering(POINTS, NEAREST, measures=["silhouette"], sample=150)
    assert everyone["silhouette"] == whole["silhouette"]
    assert not everyone.notes


@pytest.mark.parametrize("name", ["silhouette", "silhouette[1]"])
@pytest.mark.parametrize("metric", ["euclidean", "given"])
def test_a_sample_adds_its_own_error(name: str, metric: str) -> None:
    """(1/m − 1/n)·s², beside that of all points."""
    from scipy.spatial.distance import cdist

    random = np.random.default_rng(8)
    kind = random.integers(0, 3, 600)
    points = CENTRES[kind] + random.normal(size=(600, 3))
    given: dict[str, Any] = {"features": points}
    if metric == "given":
        matrix = cdist(points, points)
        given = {"features": None, "distances": (matrix + matrix.T) / 2 * (1 - np.eye(600))}
    ev = cal.clustering(labels=kind, measures=[name], per_point=True, **given)
    assert ev.per_unit is not None
    each = ev.per_unit.values["system"]["silhouette"]
    each = each if name == "silhouette" else each[kind == 1]
    found = []
    for seed in range(8):
        e = cal.clustering(labels=kind, measures=[name], sample=300, seed=seed, **given)[name]
        found.append((e.standard_error**2, 1 / e.n - 1 / e.n_total))
    square, share = np.mean(found, axis=0)
    expected = ev[name].standard_error ** 2 + share * each.var(ddof=1)
    assert square == pytest.approx(expected, rel=0.12)


def test_of_very_many_points_a_sample_is_taken_and_said(monkeypatch: Any) -> None:
    monkeypatch.setattr("calipers.evaluation.cluster_tables.MAX_SILHOUETTE_POINTS", 149)
    monkeypatch.setattr("calipers.evaluation.cluster_tables.N_SAMPLED_POINTS", 50)
    ev = cal.clustering(POINTS, NEAREST, measures=["silhouette", "squared-silhouette"])
    assert ev["silhouette"].n == 50
    assert ev["squared-silhouette"].n == 150
    assert len(ev.notes) == 1
    assert ev.notes[0].startswith("silhouette: the mean over 50 points")


def test_clusterings_of_the_same_points_are_compared() -> None:
    ev = cal.clustering(
        POINTS, {"near": NEAREST, "far": CHANCE, "same": NEAREST}, measures=OF_POINTS, **FEW
    )
    for name in OF_POINTS:
        better = ev.comparison["far", "near", name]
        assert (better.value < 0) == (cal.measure(name).higher_is_better is True)
        # They divide by the distance of centers, which is hardly above 0 where clusters are random.
        assert better.p_adjusted < 1e-4 or name in ("Davies-Bouldin", "Xie-Beni")
        alike = ev.comparison["same", "near", name]
        assert (alike.value, alike.p) == (0, 1)


def test_noise_is_a_cluster_unless_it_is_dropped() -> None:
    noisy = np.where(RANDOM.random(150) < 0.1, -1, NEAREST)
    kept, both = noisy >= 0, {"noisy": noisy, "all": NEAREST}
    ev = cal.clustering(POINTS, both, CLASSES, noise="drop", **FEW)
    alone = cal.clustering(
        POINTS[kept], {n: of[kept] for n, of in both.items()}, CLASSES[kept], **FEW
    )
    assert [(e.system, e.measure, e.value, e.low) for e in ev] == [
        (e.system, e.measure, e.value, e.low) for e in alone
    ]
    assert ev.notes[0] == f"Left out: {(~kept).sum()} of 150 points that are noise in noisy."
    assert [table.labels for table in ev.label_tables] == [("0", "1", "2")] * 2
    ev = cal.clustering(POINTS, noisy, CLASSES, **FEW)
    metrics = pytest.importorskip("sklearn.metrics")
    assert ev["silhouette"].value == pytest.approx(metrics.silhouette_score(POINTS, noisy))
    assert ev["ARI"].value == pytest.approx(metrics.adjusted_rand_score(CLASSES, noisy))
    assert "are a cluster here, as in scikit-learn" in ev.notes[0]
    assert not cal.clustering(POINTS, NEAREST, CLASSES, noise="drop", **FEW).notes


@pytest.mark.slow
def test_slices_of_measures_against_the_truth() -> None:
    site = np.where(np.arange(150) % 3 > 0, "north", "south")
    ev = cal.clustering(POINTS, {"a": NOISY, "b": CHANCE}, CLASSES, slices={"site": site}, **FEW)
    own = site == "south"
    alone = cal.clustering(None, NOISY[own], CLASSES[own], measures=["ARI"], **FEW)["ARI"]
    assert ev.slices is not None
    found = next(
        row.estimate
        for row in ev.slices
        if (row.slice, row.estimate.system, row.estimate.measure) == ("south", "a", "ARI")
    )
    assert found.value == pytest.approx(alone.value)
    assert (found.n, ev.measures) == (own.sum(), (*TRUTH_MEASURES,))


def test_points_have_no_value_in_one_cluster() -> None:
    ev = cal.clustering(POINTS, np.zeros(150), measures=OF_POINTS)
    for name in OF_POINTS:
        if name != "WCSS":
            assert ev[name].undefined == {"one_cluster": 150}


# ---------------------------------------------------------------------------------------- findings


def found(*columns: Any, **options: Any) -> dict[str, Any]:
    return {f.kind: f for f in cal.clustering(*columns, **FEW, **options).findings}


def test_clusters_by_chance_are_told() -> None:
    assert "clusters-not-above-chance" not in found(None, NOISY, CLASSES)
    finding = found(None, CHANCE[::-1], CLASSES)["clusters-not-above-chance"]
    assert finding.values["p"] > 0.05


@pytest.mark.slow
def test_points_dealt_anew_are_all_ways_to_deal_them() -> None:
    truth, cluster = np.array([0, 0, 0, 1, 1, 1, 2]), np.array([0, 0, 1, 1, 2, 2, 2])
    pairs = [float(table(truth, cluster[list(o)]).pair_counts[0]) for o in permutations(range(7))]
    exact = np.mean(np.array(pairs) >= float(table(truth, cluster).pair_counts[0]) - 1e-9)
    p = independence_test(truth, cluster, 20_000, 1)
    assert p == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000))


def test_many_points_are_dealt_by_their_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, columns = np.array([3, 3, 1]), np.array([2, 2, 3])
    random = np.random.Generator(np.random.Philox(3))
    drawn = sums_of_squares(rows, columns, 20_000, random)
    truth, cluster = np.repeat(np.arange(3), rows), np.repeat(np.arange(3), columns)
    exact = Counter(
        float(np.square(np.bincount(truth * 3 + cluster[list(o)])).sum())
        for o in permutations(range(7))
    )
    ways = sum(exact.values())
    for value, times in exact.items():
        share = times / ways
        error = np.sqrt(share * (1 - share) / len(drawn))
        assert np.mean(drawn == value) == pytest.approx(share, abs=5 * error)
    assert set(drawn) <= set(exact)
    # The same p by points and by margins, but for chance.
    few = np.array([0, 0, 1, 1, 0, 1, 0, 1, 1, 1] * 3), np.array([0, 0, 1, 0, 1, 1] * 5)
    by_points = independence_test(*few, 20_000, 1)
    monkeypatch.setattr("calipers.inference.independence.MIN_POINTS_FOR_TABLES", 10)
    by_margins = independence_test(*few, 20_000, 1)
    assert 0.05 < by_points < 0.95
    assert by_margins == pytest.approx(by_points, abs=0.02)


def test_points_that_were_seen_count_as_one_way_to_deal_them() -> None:
    """None of 199 deals is as good as what is perfect, and all are as good as one cluster."""
    truth = np.arange(60) % 3
    assert independence_test(truth, truth, 199, 0) == 1 / 200
    assert independence_test(truth, np.zeros(60, int), 199, 0) == 1
    assert independence_test(truth, truth, 10, 0) == 1 / 100  # no fewer than 99 are dealt


def test_what_lies_elsewhere_or_alone_is_told() -> None:
    points = np.array([0.0, 1, 2, 3, 0.5, 9.5, 10, 11, 12, 50])[:, None]
    told = found(points, list("aaaabbcccd"), measures=["silhouette"])
    assert told["negative-mean-silhouette"].values["clusters"] == 1
    assert "'b'" in told["negative-mean-silhouette"].message
    assert told["negative-silhouettes"].values["proportion"] == pytest.approx(0.2)
    assert told["negative-silhouettes"].values["points of this pair"] == 1
    assert "singleton-clusters" not in told  # clusters are of 2.5 points
    many = np.append(POINTS, [[99.0, 99, 99]], axis=0)
    told = found(many, np.append(NEAREST, 3), measures=["silhouette"])
    assert told["singleton-clusters"].values["clusters"] == 1
    assert "negative-mean-silhouette" not in told


def test_measures_that_disagree_about_the_number_of_clusters_are_told() -> None:
    two = np.minimum(NEAREST, 1)
    asked = ["silhouette", "Calinski-Harabasz", "WCSS"]
    near = POINTS + [[0, 0, 0]] * 150
    near[NEAREST == 2] = POINTS[NEAREST == 2] * 0.2 + [0.4, 0.6, 0.0]
    values = cal.clustering(near, {"two": two, "three": NEAREST}, measures=asked, **FEW)
    best = {name: max(("two", "three"), key=lambda s: values[s, name].value) for name in asked[:2]}
    kinds = {f.kind for f in values.findings}
    assert ("disagreement-on-k" in kinds) == (len(set(best.values())) > 1)
    iris = found(POINTS, {"two": two, "same": (two + 1) % 2}, measures=asked)
    assert "disagreement-on-k" not in iris


# ------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.clustering(None, [0, 1]), "needs the true class of each point: truth="),
        (lambda: cal.clustering(None, [0, 1], measures=["WCSS"]), "needs the points: features="),
        (lambda: cal.clustering(None, [0, 1], measures=["silhouette"]), "or the distances of any"),
        (lambda: cal.clustering([[0.0], [1.0]], [0, 1, 1]), "features: has 2 rows"),
        (lambda: cal.clustering([[0.0], [np.nan]], [0, 1]), "features: is nan in row 1, column 0"),
        (
            lambda: cal.clustering({"x": [0, 1]}, [0, 1], metric="cosine"),
            "row 0 is 0, which has no",
        ),
        (lambda: cal.clustering([[0], [1]], [0, 1], metric="chess"), "metric is 'chess'"),
        (lambda: cal.clustering([[0], [1]], [0, 1], distances=np.zeros((2, 2))), "both given"),
        (lambda: cal.clustering(None, [0, 1], distances=[[0, 1], [2, 0]]), "in both directions"),
        (lambda: cal.clustering(None, [0, 1], distances=[[0, -1], [-1, 0]]), "is -1.0 in row 0"),
        (lambda: cal.clustering(None, [0, 1], distances=[[1, 1], [1, 0]]), "from itself"),
        (lambda: cal.clustering(None, [0, 1], distances=[[0, 1]]), "expected a square matrix"),
        (lambda: cal.clustering(None, [0, 1], [0, 1, 1]), "truth: has 3 rows"),
        (lambda: cal.clustering(None, {"a": [0, 1], "b": [1]}, [0, 1]), "labels 'b': has 1 row"),
        (lambda: cal.clustering(None, [0.0, np.nan], [0, 1]), "labels"),
        (lambda: cal.clustering(None, [0, 1], [0, 1], measures=["AUC"]), "AUC"),
        (
            lambda: cal.clustering([[0], [1]], ["a", "b"], measures=["silhouette[c]"]),
            "'c' is not a cluster",
        ),
        (
            lambda: cal.clustering([[0], [1]], [0, 1], measures=["macro-silhouette"]),
            "macro-silhouette",
        ),
        (lambda: cal.clustering([[0], [1]], [0, 1], measures=["Dunn[0]"]), "Dunn"),
        (lambda: cal.clustering([[0], [1]], [0, 1], noise="gone"), "one of cluster, drop"),
        (lambda: cal.clustering(None, [-1, -1], [0, 1], noise="drop"), "all points are labeled"),
        (
            lambda: cal.clustering(
                [[0], [1]], [0, 1], measures=["silhouette"], slices={"s": [1, 2]}
            ),
            "a slice would leave out",
        ),
        (
            lambda: cal.plan("WCSS", cal.clustering(POINTS, NEAREST), half_width=1),
            "grows with the number of points",
        ),
        (lambda: cal.clustering([[0], [1]], [0, 1], sample=1), "expected 2 points or more"),
        (lambda: cal.clustering(None, [0, 1], [0, 1], per_point=True), "requires a silhouette"),
    ],
)
def test_what_is_wrong_is_told(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((InputError, cal.measures.UnknownMeasureError), match=message):
        call()


def test_two_clusterings_differ_by_the_points_that_are_elsewhere() -> None:
    """Names of clusters do not matter, a cluster that is cut in two has a half of its points
    elsewhere. However few they are, the interval is no shorter than Student's of all points."""
    random = np.random.default_rng(2)
    first = np.repeat([0, 1, 2], 20)
    points = random.normal(size=(60, 2)) + 4.0 * np.eye(3, 2)[first]
    second = first.copy()
    second[[1, 22, 45]] = [1, 2, 0]
    cut = np.where(np.arange(60) < 7, 3, first)
    two = np.where(np.arange(60) < 2, 1, first)
    for other, elsewhere in ((second, 3), ((second + 1) % 3, 3), (two, 2), (cut, 7)):
        ev = cal.clustering(points, {"a": first, "b": other}, measures=["WCSS"])
        assert ev.comparison is not None
        [found] = ev.comparison
        assert found.differing == elsewhere
        [t] = ev.compare(interval="analytic")
        assert t.method == "Student t, paired"
        reach = stats.t.ppf(0.975, 59) * t.standard_error
        assert (t.low, t.high) == pytest.approx((t.value - reach, t.value + reach))
        assert found.low <= t.low < t.high <= found.high
        assert found.p >= max(t.p, 2.0 ** (1 - elsewhere))
