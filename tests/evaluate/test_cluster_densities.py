"""Density-based validity, by all spanning edges sorted, and as hdbscan has it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import calipers as cal

RANDOM = np.random.default_rng(5)
CENTER = RANDOM.integers(0, 3, 90)
POINTS = RANDOM.normal(size=(90, 2)) * 0.6 + 2.0 * CENTER[:, None]
LABELS = np.where(RANDOM.random(90) < 0.15, -1, CENTER)


def validity(points: Any, labels: Any, metric: str = "euclidean") -> float:
    """By Kruskal: all edges, the shortest first, of equal ones that of the nearer points."""
    dimension, clusters = points.shape[1], [c for c in np.unique(labels) if c != -1]
    clusters = [c for c in clusters if (labels == c).sum() > 1]
    cores, inner, sparse = np.zeros(len(points)), {}, {}
    distance = cdist(points, points, metric)
    for c in clusters:
        rows = np.flatnonzero(labels == c)
        for i in rows:
            others = [1 / distance[i, j] ** dimension for j in rows if j != i]
            cores[i] = np.mean(others) ** (-1 / dimension)
        reach = {(i, j): max(distance[i, j], cores[i], cores[j]) for i, j in combinations(rows, 2)}
        tree, group = [], {i: i for i in rows}
        for i, j in sorted(reach, key=lambda edge: (reach[edge], distance[edge])):
            if group[i] != group[j]:
                tree.append((i, j))
                group = {k: group[i] if g == group[j] else g for k, g in group.items()}
        degree = np.bincount(np.ravel(tree), minlength=len(points))
        inner[c] = [i for i in rows if degree[i] > 1] or list(rows)
        edges = [edge for edge in tree if set(edge) <= set(inner[c])] or tree
        sparse[c] = max(reach[edge] for edge in edges)
    total = 0.0
    for c in clusters:
        apart = min(
            max(distance[i, j], cores[i], cores[j])
            for other in clusters if other != c for i in inner[c] for j in inner[other]
        )  # fmt: skip
        total += (labels == c).sum() * (apart - sparse[c]) / max(apart, sparse[c])
    return total / len(points)


def made(points: Any, labels: Any, **how: Any) -> Any:
    return cal.clustering(points, labels, measures=["DBCV"], curves=False, **how)["DBCV"]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
def test_values_are_those_of_all_edges_by_hand(metric: str) -> None:
    expected = validity(POINTS, LABELS, metric.replace("manhattan", "cityblock"))
    found = made(POINTS, LABELS, metric=metric)
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert found.interval_reason == "single_edges"
    # Without noise, n is smaller; and the order of the rows has no effect.
    kept = LABELS != -1
    dropped = made(POINTS, LABELS, metric=metric, noise="drop")
    assert dropped.value == pytest.approx(expected * 90 / kept.sum())
    order = RANDOM.permutation(90)
    assert made(POINTS[order], LABELS[order], metric=metric).value == pytest.approx(found.value)


#: By seed and size, validity_index of hdbscan 0.8.44 where the order of the rows has no effect on it.
HDBSCAN = {
    (0, 4): 0.349339390, (4, 5): 0.681544613, (5, 4): 0.308345046, (9, 4): 0.501999923,
    (29, 4): 0.828672510, (34, 5): 0.685343682, (39, 6): 0.284165846,
}  # fmt: skip


@pytest.mark.parametrize(("seed", "size"), HDBSCAN)
def test_as_hdbscan_has_it(seed: int, size: int) -> None:
    labels = np.repeat([0, 1], size)
    points = np.random.default_rng(seed).normal(size=(2 * size, 2)) + 2.5 * labels[:, None]
    found = made(points.round(2), labels).value
    assert found == pytest.approx(HDBSCAN[seed, size], abs=1e-9)


def test_clusters_of_one_place_or_one_point() -> None:
    assert made([[0, 0], [0, 0], [1, 0], [1, 0]], list("aabb")).value == 1.0
    assert made([[0, 0]] * 4, list("aabb")).value == 0.0
    alone = made([[0, 0], [0, 1], [1, 0], [5, 5]], list("aaab"))
    assert alone.undefined == {"one_cluster": 4}
    # A point of its own counts as noise.
    points, labels = np.vstack([POINTS, [[9.0, 9.0]]]), np.append(LABELS, 7)
    assert made(points, labels).value == pytest.approx(validity(POINTS, LABELS) * 90 / 91)
    with pytest.raises(cal.InputError, match="DBCV needs the points: features="):
        made(None, LABELS, distances=cdist(POINTS, POINTS))


def test_many_dimensions_do_not_overflow() -> None:
    points = RANDOM.normal(size=(40, 600)) * 1e-3 + 5e-3 * np.repeat([0, 1], 20)[:, None]
    found = made(points, np.repeat([0, 1], 20)).value
    assert 0 < found < 1
    assert made(points * 1e6, np.repeat([0, 1], 20)).value == pytest.approx(found)
