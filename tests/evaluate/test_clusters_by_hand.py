"""What points move clusters' measures by, and how far intervals reach: by hand, and by leaving
points out where that is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.estimation.partitions import OccupiedCells, PosteriorDraws
from calipers.inference.settings import Settings
from calipers.statistics import FloatArray
from calipers.systems.clustering import Clustering

SETTINGS = Settings(n_resamples=200)
RANDOM = np.random.default_rng(11)
CLUSTER = np.repeat([0, 1, 2], [3, 5, 8])
CENTRES = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
POINTS = CENTRES[CLUSTER] + RANDOM.normal(size=(16, 2))


def clustering(cluster: Any = CLUSTER, **given: Any) -> Clustering:
    names = tuple("abcdefgh"[: int(np.max(cluster)) + 1])
    return Clustering("s", np.asarray(cluster), names, SETTINGS, **given)


def moved_by(name: str, **given: Any) -> tuple[Any, FloatArray]:
    """The reading of a measure, and how much each point moves it."""
    reading = clustering(**given).point_estimate(cal.measure(name))
    found = reading.influence()
    return reading, np.asarray(found.column)


def of_a_mean(slopes: FloatArray) -> FloatArray:
    """What points move from the derivatives by the number of times each is there: about their mean,
    and wider by √(n/(n − 1))."""
    n = len(slopes)
    return np.asarray((slopes - slopes.mean()) * np.sqrt(n / (n - 1)))


# ------------------------------------------------------------------------------------- silhouettes


def test_silhouettes_that_no_other_point_moves_vary_as_a_mean_does() -> None:
    """Distances within a cluster are all the same, and those between two."""
    within, between = np.array([1.0, 2.0, 3.0]), np.array([[0, 8, 9], [8, 0, 10], [9, 10, 0]])
    apart = (between + np.diag(within))[CLUSTER[:, None], CLUSTER] * (1 - np.eye(16))
    each = np.array([7 / 8, 6 / 8, 6 / 9])[CLUSTER]
    reading, moved = moved_by("silhouette", distances=apart)
    assert reading.value == pytest.approx(each.mean())
    assert moved == pytest.approx(of_a_mean(each / 16))
    assert reading.standard_error.se == pytest.approx(each.std(ddof=1) / 4)
    assert reading.standard_error.df == 15


@pytest.mark.parametrize("name", ["silhouette", "silhouette[b]"])
@pytest.mark.parametrize("given", ["points", "distances"])
def test_leaving_points_of_far_clusters_out(name: str, given: str) -> None:
    """Of clusters that are far from each other a silhouette is 1 − a/b with a b that stays, so that
    leaving points out is exact: the jackknife's error."""
    from scipy.spatial.distance import cdist

    points = 1e6 * CENTRES[CLUSTER] + RANDOM.normal(size=(16, 2))
    each = cdist(points, points)

    def reading(rows: Any) -> Any:
        known = {"points": points[rows], "distances": each[np.ix_(rows, rows)]}
        return clustering(CLUSTER[rows], **{given: known[given]}).point_estimate(cal.measure(name))

    rows = np.arange(16)
    inside = rows if name == "silhouette" else np.flatnonzero(CLUSTER == 1)
    left = np.array([reading(np.delete(rows, i)).value for i in inside])
    m = len(inside)
    error = np.sqrt((m - 1) / m * np.square(left - left.mean()).sum())
    assert reading(rows).standard_error.se == pytest.approx(error, rel=1e-4)


@pytest.mark.parametrize("name", ["silhouette", "silhouette[b]"])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_points_move_the_mean_distances_of_others(name: str, metric: str) -> None:
    """A mean a of m distances becomes a + (a − d)/(m − 1) when d is left out; some points are in
    clusters that are farther from them than another one."""
    from scipy.spatial.distance import cdist

    cluster = CLUSTER.copy()
    cluster[[5, 9, 14]] = [2, 1, 0]
    apart, sizes = cdist(POINTS, POINTS, metric), np.bincount(cluster)
    means = apart @ np.eye(3)[cluster] / sizes
    own = means[np.arange(16), cluster] * (sizes / (sizes - 1))[cluster]
    means[np.arange(16), cluster] = np.inf
    nearest, other = means.argmin(axis=1), means.min(axis=1)
    assert (own > other).sum() >= 3
    inside = cluster >= 0 if name == "silhouette" else cluster == 1

    def each(own: FloatArray, other: FloatArray) -> FloatArray:
        return np.asarray((other - own) / np.maximum(own, other))

    value = each(own, other)[inside].mean()
    expected = np.where(inside, each(own, other) - value, 0.0) / inside.sum()
    for i, k in enumerate(cluster):
        less_own = (own - apart[i]) / (sizes[k] - 2) * (cluster == k)
        less_own[i] = 0.0
        less_other = (other - apart[i]) / (sizes[k] - 1) * (nearest == k)
        ends = [each(own + h * less_own, other + h * less_other) for h in (1e-6, -1e-6)]
        expected[i] -= (ends[0] - ends[1])[inside].mean() / 2e-6
    m = inside.sum()
    expected = (expected - expected.mean()) * np.sqrt(m / (m - 1))
    system = clustering(cluster, points=POINTS, metric=metric)
    moved = np.asarray(system.point_estimate(cal.measure(name)).influence().column)
    assert moved == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", ["simplified-silhouette", "simplified-silhouette[b]"])
def test_points_move_the_centre_of_their_cluster(name: str) -> None:
    """By (x − c)/(n − 1) when they are left out."""
    cluster = np.maximum(CLUSTER, np.arange(16) > 1)
    centers = np.array([POINTS[k == cluster].mean(axis=0) for k in range(3)])
    inside = cluster >= 0 if name == "simplified-silhouette" else cluster == 1

    def each(centers: FloatArray) -> FloatArray:
        far = np.sqrt(np.square(POINTS[:, None] - centers).sum(axis=2))
        own = far[np.arange(16), cluster]
        far[np.arange(16), cluster] = np.inf
        other = far.min(axis=1)
        return np.asarray((other - own) / np.maximum(own, other))

    sizes, value = np.bincount(cluster), each(centers)[inside].mean()
    expected = np.where(inside, each(centers) - value, 0.0) / inside.sum()
    for i, k in enumerate(cluster):
        ends = []
        for step in (1e-6, -1e-6):
            at = centers.copy()
            at[k] += step * (POINTS[i] - centers[k]) / (sizes[k] - 1)
            ends.append(each(at)[inside].mean())
        expected[i] += (ends[0] - ends[1]) / 2e-6
    m = inside.sum()
    reading, moved = moved_by(name, cluster=cluster, points=POINTS)
    assert reading.value == pytest.approx(value)
    assert moved == pytest.approx(
        (expected - expected.mean()) * np.sqrt(m / (m - 1)), rel=1e-6, abs=1e-9
    )


def test_centres_of_one_point_and_of_two() -> None:
    """0 and 2 about 1; 9 alone, whose silhouette is 0; 19 and 23 about 21."""
    ev = cal.clustering(
        np.array([[0.0], [2], [9], [19], [23]]),
        list("aabcc"),
        measures=["simplified-silhouette"],
        interval="none",
    )
    each = [1 - 1 / 9, 1 - 1 / 7, 0, 1 - 2 / 10, 1 - 2 / 14]
    assert ev["simplified-silhouette"].value == pytest.approx(np.mean(each))


def test_of_how_many_points_those_of_a_sample_are() -> None:
    asked = [f"silhouette[{k}]" for k in "abc"]
    said = {"three": np.array(list("abc"))[CLUSTER], "two": np.array(list("aac"))[CLUSTER]}
    ev = cal.clustering(POINTS, said, measures=asked, sample=12)
    assert [ev["three", name].n_total for name in asked] == [3, 5, 8]
    assert [ev["two", name].n_total for name in asked] == [8, 0, 8]


# --------------------------------------------------------------------------------------- dispersion


def test_squares_about_centres_that_move_with_the_points() -> None:
    """Without a point the sum of squares about a mean of n points is less by n/(n − 1) times its
    own. Limits are those of a logarithm, by Student's t."""
    cluster = np.maximum(CLUSTER, np.arange(16) > 1)  # two points in the first
    off = POINTS - np.array([POINTS[k == cluster].mean(axis=0) for k in range(3)])[cluster]
    sizes = np.bincount(cluster)[cluster]
    within = np.square(off).sum(axis=1) * sizes / (sizes - 1)
    value = np.square(off).sum()
    reading, moved = moved_by("WCSS", cluster=cluster, points=POINTS)
    assert moved == pytest.approx(of_a_mean(within), rel=1e-6)
    se = np.sqrt(16) * within.std(ddof=1)
    assert (reading.standard_error.se, reading.standard_error.df) == (pytest.approx(se), 15)
    ev = cal.clustering(POINTS, cluster, measures=["WCSS", "Calinski-Harabasz"])
    reach = np.exp(stats.t.ppf(0.975, 15) * se / value)
    assert (ev["WCSS"].low, ev["WCSS"].high) == pytest.approx((value / reach, value * reach))
    for i in range(16):  # and so it is where the points are left out
        rest = clustering(np.delete(cluster, i), points=np.delete(POINTS, i, axis=0))
        assert rest.point_estimate(cal.measure("WCSS")).value == pytest.approx(value - within[i])

    apart = np.square(POINTS - POINTS.mean(axis=0)).sum(axis=1)
    between = apart.sum() - value
    score = between / value * 13 / 2
    _, moved = moved_by("Calinski-Harabasz", cluster=cluster, points=POINTS)
    expected = score * ((apart * 16 / 15 - within) / between - within / value)
    assert moved == pytest.approx(of_a_mean(expected), rel=1e-6)


def test_points_that_are_there_a_little_more_often_move_davies_and_bouldins() -> None:
    def value(weight: FloatArray) -> float:
        own = [k == CLUSTER for k in range(3)]
        centers = [np.average(POINTS[k], axis=0, weights=weight[k]) for k in own]
        spread = [
            np.average(np.linalg.norm(POINTS[k] - c, axis=1), weights=weight[k])
            for k, c in zip(own, centers, strict=True)
        ]
        worst = [
            max(
                (spread[a] + spread[b]) / np.linalg.norm(centers[a] - centers[b])
                for b in range(3)
                if b != a
            )
            for a in range(3)
        ]
        return float(np.mean(worst))

    steps = 1e-6 * np.eye(16)
    slopes = np.array([(value(1 + h) - value(1 - h)) / 2e-6 for h in steps])
    reading, moved = moved_by("Davies-Bouldin", points=POINTS)
    assert reading.value == pytest.approx(value(np.ones(16)))
    assert moved == pytest.approx(of_a_mean(slopes), rel=1e-5, abs=1e-8)


# ------------------------------------------------------------------------------ against true classes

CLASSES = np.array([0, 0, 1, 0, 1, 1, 1, 1, 0, 2, 2, 2, 2, 2, 2, 1])


def _purity(share: FloatArray) -> FloatArray:
    return np.asarray(share.argmax(axis=0)[CLUSTER] == CLASSES, float)


def _information(share: FloatArray) -> FloatArray:
    out = share.sum(axis=1, keepdims=True) * share.sum(axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(share / out)[CLASSES, CLUSTER])


@pytest.mark.parametrize(("name", "each"), [("purity", _purity), ("MI", _information)])
def test_what_points_move_a_mean_over_cells_by(
    name: str, each: Callable[[FloatArray], FloatArray]
) -> None:
    """Purity is the mean of whether the class is its cluster's largest, and information that of
    log p/(qr), whose own derivatives add up to 0."""
    share = np.zeros((3, 3))
    np.add.at(share, (CLASSES, CLUSTER), 1 / 16)
    system = clustering(truth=CLASSES, classes=tuple("xyz"))
    reading = system.point_estimate(cal.measure(name))
    of_points = each(share)
    assert reading.value == pytest.approx(of_points.mean())
    moved = np.asarray(reading.influence().column)
    assert moved == pytest.approx((of_points - of_points.mean()) / 16, rel=1e-4, abs=1e-9)


def test_points_move_pairs() -> None:
    """Rand's index by how often each point is there: n of a cell are n(n − 1)/2 pairs. What all
    points move adds up to 0."""

    def rand(weight: FloatArray) -> float:
        held = np.zeros((3, 3))
        np.add.at(held, (CLASSES, CLUSTER), weight)
        both, classes, clusters, pairs = (
            (of * (of - 1) / 2).sum()
            for of in (held, held.sum(axis=1), held.sum(axis=0), held.sum())
        )
        return float(1 + (2 * both - classes - clusters) / pairs)

    slopes = np.array([(rand(1 + h) - rand(1 - h)) / 2e-5 for h in 1e-5 * np.eye(16)])
    reading = clustering(truth=CLASSES, classes=tuple("xyz")).point_estimate(cal.measure("Rand"))
    assert reading.value == pytest.approx(rand(np.ones(16)))
    moved = np.asarray(reading.influence().column)
    assert moved == pytest.approx(slopes - slopes.mean(), rel=1e-6)


def test_biases_by_leaving_points_out() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    system = clustering(truth=CLASSES, classes=tuple("xyz"))
    reading = system.point_estimate(cal.measure("NMI"))
    score = metrics.normalized_mutual_info_score
    left = [score(np.delete(CLASSES, i), np.delete(CLUSTER, i)) for i in range(16)]
    partition = reading.joint_distribution.partition
    found = partition.posterior_draws(cal.measure("NMI")).jackknife_bias
    assert found == pytest.approx(15 * (np.mean(left) - score(CLASSES, CLUSTER)), rel=1e-9)


def test_limits_reach_farther_down_by_one_and_a_half_of_the_bias() -> None:
    draws = np.linspace(0.0, 1.0, 1001)
    low, high = PosteriorDraws(draws, 0.04, (0.02, 0.05)).limits(0.9)
    assert (low, high) == pytest.approx((0.05 - 0.06, 0.95))
    assert PosteriorDraws(draws, 0.04, (0.02, 0.07)).limits(0.9)[0] == pytest.approx(0.05 - 0.07)
    low, high = PosteriorDraws(draws, -0.04, (-0.02, -0.05)).limits(0.9)
    assert (low, high) == pytest.approx((0.05 + 0.03, 0.95 + 0.04))
    assert PosteriorDraws(draws, -0.04, ()).limits(0.9) == pytest.approx((0.05, 0.95 + 0.04))


def test_fewer_than_four_points_a_cell_are_said() -> None:
    """Three classes by two clusters are six cells."""
    truth, cluster = np.arange(24) % 3, np.arange(24) // 2 % 2
    for n, few in ((24, False), (23, True)):
        [e] = cal.clustering(None, cluster[:n], truth[:n], measures=["MI"], n_resamples=100)
        assert ("few points a cell" in e.method) == few


@pytest.mark.parametrize("draws", [None, 4000])
def test_likely_contents_are_as_many_points_as_there_are(draws: int | None) -> None:
    """Dirichlet(counts + ⅑ for each of nine cells), times 16; without the prior where the number of
    draws is said."""
    held = np.zeros((3, 3))
    np.add.at(held, (CLASSES, CLUSTER), 1)
    expected = held.ravel() if draws else (held.ravel() + 1 / 9) * 16 / 17
    cells = OccupiedCells.from_codes((CLASSES, CLUSTER), (3, 3))
    found = np.zeros((4000, 3, 3))
    for (row, column), some in cells.draw_posterior(Settings(n_resamples=4000), draws):
        found[:, row, column] += some
    assert found.sum(axis=(1, 2)) == pytest.approx(np.full(4000, 16))
    share = expected / 16
    spread = 16 * np.sqrt(share * (1 - share) / (17 if draws else 18))
    flat = found.reshape(4000, 9)
    assert (np.abs(flat.mean(axis=0) - expected) <= 4.5 * spread / np.sqrt(4000)).all()
    assert flat.std(axis=0)[expected > 1] == pytest.approx(spread[expected > 1], rel=0.06)


def worlds_behind(held: Any) -> list[FloatArray]:
    table = np.array(held)
    codes = np.nonzero(table)
    return OccupiedCells(table.shape, codes, table[codes].astype(float)).plausible_proportions()


def test_worlds_on_the_way_to_independence() -> None:
    """By (1 − Σp²)/((n − 1)·Σ(q − p)²) of it (Hausser and Strimmer 2009, equation 8): of nine and
    one of 20 points each twice by 0.59/(19·0.16); all the way where chance may have made it all."""
    share, _ = worlds_behind([[9, 1], [1, 9]])
    off = 0.2 * 0.59 / (19 * 0.16)
    assert share == pytest.approx(np.array([[0.45 - off, 0.05 + off], [0.05 + off, 0.45 - off]]))
    share, _ = worlds_behind([[6, 2], [12, 4]])  # which are independent already
    assert share == pytest.approx(np.array([[6, 2], [12, 4]]) / 24)
    share, _ = worlds_behind([[3, 2], [1, 2]])
    assert share == pytest.approx(np.array([[20, 20], [12, 12]]) / 64)


def test_worlds_of_classes_that_may_be_equal() -> None:
    """Those that the largest class of a cluster is not above by two standard deviations √(a + b):
    of 12 and 4 points they are just equal to the difference."""
    held = np.array([[12, 9, 20], [4, 5, 3], [0, 1, 0]])
    expected = np.array([[8, 7, 20], [8, 7, 3], [0, 1, 0]])
    assert worlds_behind(held)[1] == pytest.approx(expected / 54)


@pytest.mark.slow
def test_how_flattering_a_world_is() -> None:
    """The mean of what is found in draws from it, less what it has itself: there ARI is of shares
    rather than of pairs of points, and AMI is information over the mean of both entropies."""
    metrics = pytest.importorskip("sklearn.metrics")
    share = np.array([[0.2, 0.1, 0.05], [0.1, 0.2, 0.05], [0.1, 0.1, 0.1]])
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    both, a, b = (np.square(of).sum() for of in (share, rows, columns))
    information = (share * np.log(share / np.outer(rows, columns))).sum()
    entropies = [-(of * np.log(of)).sum() for of in (rows, columns)]
    true = [
        (both - a * b) / ((a + b) / 2 - a * b),
        information / np.mean(entropies),
        information,
    ]

    scores = (
        metrics.adjusted_rand_score,
        metrics.adjusted_mutual_info_score,
        metrics.mutual_info_score,
    )
    random, cells = np.random.default_rng(4), np.indices((3, 3)).reshape(2, 9)
    drawn = [np.repeat(cells, random.multinomial(16, share.ravel()), axis=1) for _ in range(150)]
    asked = [cal.measure("ARI"), cal.measure("AMI"), cal.measure("MI")]
    partition = (
        clustering(truth=CLASSES, classes=tuple("xyz"))
        .point_estimate(asked[0])
        .joint_distribution.partition
    )
    held = OccupiedCells.from_codes((CLASSES, CLUSTER), (3, 3))
    found = partition._simulated_biases(asked, held, share)
    for measure, score, value in zip(asked, scores, true, strict=True):
        each = [score(*of) - value for of in drawn]
        assert found[measure] == pytest.approx(np.mean(each), abs=5 * np.std(each) / np.sqrt(150))
        assert found[measure] != 0  # as what has no true value has


def test_two_clusterings_of_the_same_points_differ_as_their_points_do() -> None:
    """Purity with a clear majority in every cluster is a mean over points, and so is a
    difference."""
    random = np.random.default_rng(7)
    truth = random.integers(0, 3, 400)
    wrong = random.random((2, 400)) < [[0.1], [0.25]]
    wrong[1, :200] = wrong[0, :200]
    said = [np.where(of, (truth + 1) % 3, truth) for of in wrong]
    settings = Settings(n_resamples=4000)
    first, second = (
        Clustering("s", of, tuple("abc"), settings, truth=truth, classes=tuple("xyz"))
        for of in said
    )
    measure = cal.measure("purity")
    a, b = first.point_estimate(measure), second.point_estimate(measure)
    apart = a.joint_distribution.difference(a, b)
    each = wrong[1].astype(float) - wrong[0]
    assert apart.value == pytest.approx(each.mean())
    assert apart.standard_error.se == pytest.approx(each.std() / 20, rel=0.06)
    moved = np.asarray(apart.influence().column)
    assert moved == pytest.approx((each - each.mean()) / 400, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("biases", "reach"),
    [
        ((0.0, 0.0), 0.3),  # up, where the draws reach farther than down
        ((0.0, 0.1), 0.45),  # the other is too high by 1.5·0.1: up
        ((0.2, 0.0), 0.5),  # this one is too high by 1.5·0.2: down
    ],
)
def test_differences_reach_as_far_as_draws_and_biases_do(
    biases: tuple[float, float], reach: float
) -> None:
    measure = cal.measure("ARI")
    readings = [
        clustering(of, truth=CLASSES, classes=tuple("xyz")).point_estimate(measure)
        for of in (CLUSTER, (CLUSTER + CLASSES) % 3)
    ]
    ours, theirs = (of.joint_distribution.partition for of in readings)
    for of, bias in zip((ours, theirs), biases, strict=True):
        of._posterior_cache[measure] = PosteriorDraws(np.zeros(3), bias, (0.0, 0.0))
    value = readings[0].value - readings[1].value
    # 2.5% and 97.5% of these are −0.2 and 0.3 from the value.
    ours._pair_cache[theirs, measure] = value - 0.2 + 0.5 * (np.linspace(0, 1, 39) - 0.025) / 0.95
    found = readings[0].joint_distribution.difference(*readings).standard_error
    assert found.se == pytest.approx(reach / stats.norm.ppf(0.975))
