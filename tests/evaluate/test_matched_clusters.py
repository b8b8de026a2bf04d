"""Clustering accuracy and the Xie–Beni index, beside all assignments and the sums themselves."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.cluster_geometry import ClusterDispersion
from calipers.inference.settings import Settings
from calipers.statistics import ClusterMoments, ContingencyTable


def drawn(seed: int, points: int, classes: int, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, points)
    own = (truth * 2 + 1) % clusters
    return truth, np.where(random.random(points) < 0.6, own, random.integers(0, clusters, points))


def by_all_assignments(truth: np.ndarray, cluster: np.ndarray) -> float:
    counts = np.zeros((truth.max() + 1, cluster.max() + 1))
    np.add.at(counts, (truth, cluster), 1)
    counts = counts if counts.shape[0] <= counts.shape[1] else counts.T
    columns = range(counts.shape[1])
    best = max(
        sum(counts[row, column] for row, column in enumerate(order))
        for order in permutations(columns, counts.shape[0])
    )
    return float(best / len(truth))


@pytest.mark.parametrize(("classes", "clusters"), [(3, 3), (4, 6), (6, 4), (1, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_accuracy_by_all_assignments(seed: int, classes: int, clusters: int) -> None:
    truth, cluster = drawn(seed, 60, classes, clusters)
    expected = by_all_assignments(truth, cluster)
    measure = cal.measure("cluster-accuracy")
    assert measure(truth, cluster) == pytest.approx(expected)
    names = tuple("abcdef"[:classes]), tuple("uvwxyz"[:clusters])
    table = ContingencyTable.from_codes(truth, cluster, *names)
    # Leading axes are tables of their own.
    stack = ContingencyTable.from_cells(
        np.stack([table.cell_counts, table.cell_counts[::-1]]),
        table.class_of, table.cluster_of, table,
    )  # fmt: skip
    assert measure.apply(stack)[0] == pytest.approx(expected)
    left_out = [
        by_all_assignments(np.delete(truth, i), np.delete(cluster, i)) for i in range(len(truth))
    ]
    sums = sum(
        float((measure.apply(tables) * points).sum())
        for tables, points in table.leave_one_out(separates_matched=True)
    )
    assert sums == pytest.approx(sum(left_out), abs=1e-9)


def test_accuracy_of_two_clusterings() -> None:
    truth, weak = drawn(1, 200, 3, 4)
    evaluation = cal.clustering(
        None, {"weak": weak, "exact": (truth + 1) % 3}, truth, measures=["cluster-accuracy"]
    )
    weak_estimate, exact = evaluation
    assert (exact.value, exact.high) == (1, 1)
    assert weak_estimate.low < weak_estimate.value < weak_estimate.high < 1
    assert evaluation.comparison is not None
    assert evaluation.comparison["cluster-accuracy"].p < 0.001


def clusters_of_points(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    cluster = random.integers(0, 4, 120)
    centers = np.array([[0, 0, 0], [3, 0, 1], [0, 4, 2], [9, 9, 9]], float)
    return random.normal(size=(120, 3)) + centers[cluster], cluster


@pytest.mark.parametrize("seed", range(3))
def test_xie_beni(seed: int) -> None:
    points, cluster = clusters_of_points(seed)
    centers = np.array([points[cluster == k].mean(axis=0) for k in range(4)])
    within = np.square(points - centers[cluster]).sum()
    nearest = min(np.square(centers[a] - centers[b]).sum() for a in range(4) for b in range(a))
    measure = cal.measure("Xie-Beni")
    assert measure(points, cluster) == pytest.approx(within / 120 / nearest, rel=1e-12)


def test_points_move_xie_beni_by_what_it_is_without_them() -> None:
    """The jackknife, of points that move the nearest centers, or none of these."""
    points, cluster = clusters_of_points(5)
    measure = cal.measure("Xie-Beni")
    influence = ClusterDispersion(points, cluster, 4, Settings()).influence(measure)
    assert influence is not None
    whole = measure(points, cluster)
    left_out = np.array([
        whole - measure(np.delete(points, i, axis=0), np.delete(cluster, i)) for i in range(120)
    ])  # fmt: skip
    changes = left_out - left_out.mean()
    assert influence.column == pytest.approx(changes, abs=0.1 * np.abs(changes).max())
    jackknife = np.sqrt(119 / 120 * np.square(changes).sum())
    assert influence.standard_error.se == pytest.approx(jackknife, rel=0.05)


def test_no_value() -> None:
    [one] = cal.clustering(np.eye(3), np.zeros(3), measures=["Xie-Beni"])
    assert dict(one.undefined) == {"one_cluster": 3}
    square = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    [same] = cal.clustering(square, np.array([0, 0, 1, 1]), measures=["Xie-Beni"])
    assert dict(same.undefined) == {"same_center": 4}
    empty = ClusterMoments.from_rows(np.zeros((0, 2)), np.zeros(0, int), 2)
    assert np.isnan(cal.measure("Xie-Beni").apply(empty))
