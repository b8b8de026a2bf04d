"""Clusters made again of points drawn anew, and clusters that seem to be two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.data.errors import InputError
from calipers.findings.clusters import bisection_gain

RANDOM = np.random.default_rng(6)
KIND = np.arange(90) % 3
POINTS = np.array([[0.0, 0], [9, 0], [0, 9]])[KIND] + RANDOM.normal(size=(90, 2))
QUICK: dict[str, Any] = {"measures": ["simplified-silhouette"], "curves": False}


def by_x(points: Any) -> Any:
    return np.where(points[:, 0] > 4.5, "right", np.where(points[:, 1] > 4.5, "up", "low"))


def test_clusters_that_are_made_alike_are_found_again() -> None:
    ev = cal.clustering(POINTS, KIND, recluster=by_x, n_reclusterings=10, **QUICK)
    (table,) = ev.label_tables
    assert table.values["Jaccard"].tolist() == [1, 1, 1]
    assert "mean ARI with this clustering 1.00" in ev.notes[-1]
    assert not ev.findings


def test_jaccard_indices_by_hand() -> None:
    """Each draw by its own rows, and sets of points."""
    seen: list[np.ndarray] = []

    def split(points: np.ndarray) -> Any:
        seen.append(points)
        return np.where(points[:, 0] > 4.5, 1, np.where(np.arange(len(points)) % 2, -1, 0))

    ev = cal.clustering(POINTS, KIND, recluster=split, n_reclusterings=12, seed=3, **QUICK)
    place = {tuple(p): i for i, p in enumerate(POINTS.tolist())}
    means = []
    for points in tuple(seen):
        rows = [place[tuple(p)] for p in points.tolist()]
        assert len(set(rows)) == len(rows)  # each is used once
        assert 0.5 < len(rows) / 90 < 0.75
        found = split(points)
        new = [{r for r, f in zip(rows, found, strict=True) if f == k} for k in (0, 1)]
        own = [{r for r in rows if KIND[r] == k} for k in range(3)]
        means.append([max(len(a & b) / len(a | b) for b in new) for a in own])
    assert len(means) == 12
    (table,) = ev.label_tables
    assert table.values["Jaccard"] == pytest.approx(np.mean(means, axis=0))
    told = {f.kind: f for f in ev.findings}["unstable-clusters"]
    assert told.values["clusters"] == np.count_nonzero(np.mean(means, axis=0) < 0.6)


def test_an_estimator_is_copied() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    made = cluster.KMeans(3, n_init=2, random_state=0)
    label = made.fit_predict(POINTS)
    ev = cal.clustering(POINTS, {"k": label}, recluster={"k": made}, n_reclusterings=10, **QUICK)
    assert made.labels_ is not None
    assert len(made.labels_) == 90
    assert (ev.label_tables[0].values["Jaccard"] > 0.95).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recluster": 3}, "expected a function from points to their clusters"),
        ({"recluster": {"b": by_x}}, "'b' is not a system"),
        ({"recluster": by_x, "n_reclusterings": 3}, "expected 10 or more"),
        ({"recluster": lambda points: [1]}, "what recluster= gave"),
        ({"recluster": by_x, "features": None, "measures": ["ARI"]}, "needs the points"),
    ],
)
def test_what_cannot_be_made_again_is_told(options: dict[str, Any], message: str) -> None:
    given = {"features": POINTS, "labels": KIND, "truth": KIND, **QUICK, **options}
    with pytest.raises(InputError, match=message):
        cal.clustering(**given)


def test_several_clusterings_are_named() -> None:
    with pytest.raises(InputError, match="several clusterings; expected a dict"):
        cal.clustering(POINTS, {"a": KIND, "b": KIND}, recluster=by_x, **QUICK)


def test_cutting_in_two_by_brute_force() -> None:
    numbers = RANDOM.normal(size=30)
    ordered, total = np.sort(numbers), numbers.var() * 30
    cuts = [
        1 - (ordered[:i].var() * i + ordered[i:].var() * (30 - i)) / total for i in range(6, 25)
    ]
    assert bisection_gain(numbers) == pytest.approx(max(cuts))
    assert bisection_gain(np.linspace(0, 1, 1001)) == pytest.approx(0.75, abs=1e-3)
    assert bisection_gain(np.ones(50)) == 0


def test_two_groups_in_one_cluster_are_told() -> None:
    random = np.random.default_rng(1)
    points = random.normal(size=(200, 3))
    apart = points + 20 * (np.arange(200) % 2)[:, None] * [1, 0, 0]
    label = np.arange(200) % 2
    assert not cal.clustering(apart, label, **QUICK).findings
    apart[:, 1] += np.where(np.arange(200) % 4 == 0, 6, 0)
    told = {f.kind: f for f in cal.clustering(apart, label, **QUICK).findings}["bimodal-cluster"]
    assert "'0'" in told.message
    assert told.values["clusters"] == 1
