"""Clusters that are many, points that are few, or next to each other."""

import tracemalloc

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.cluster_geometry import ClusterDispersion
from calipers.inference.settings import Settings

RANDOM = np.random.default_rng(7)


def test_many_clusters_take_no_cube_of_memory() -> None:
    points, cluster = RANDOM.normal(size=(1200, 30)), np.arange(1200) % 300
    tracemalloc.start()
    measures = ["Davies-Bouldin", "Calinski-Harabasz", "WCSS"]
    made = cal.clustering(points, cluster, measures=measures, curves=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # 300³ numbers take 216 MB
    assert all(np.isfinite([e.low, e.high]).all() for e in made.estimates)


def test_influence_on_davies_bouldin_is_its_slope_by_weight() -> None:
    """By leaving a point out of many, where clusters share a worst neighbour."""
    points = np.concatenate([RANDOM.normal(size=(300, 2)) + at for at in ([0, 0], [4, 0], [0, 9])])
    cluster, measure = np.repeat([0, 1, 2], 300), cal.measure("Davies-Bouldin")
    found = ClusterDispersion(points, cluster, 3, Settings()).influence(measure)
    assert found is not None
    value = measure(points, cluster)
    for row in (0, 17, 450, 899):
        rest = np.arange(900) != row
        left_out = value - measure(points[rest], cluster[rest])
        assert found.column[row] == pytest.approx(left_out, rel=0.05, abs=2e-6)


@pytest.mark.parametrize("rows", [1, 2])
def test_of_a_point_or_two_nothing_is_warned_of(rows: int) -> None:
    points = np.array([[0.0, 1.0], [2.0, 3.0]])[:rows]
    made = cal.clustering(points, np.arange(rows), list("ab")[:rows])
    assert len(made.estimates) > 4
    assert made.to_json()


@pytest.mark.parametrize("rows", [1, 50])
def test_one_class_in_one_cluster_has_a_value_and_no_interval(rows: int) -> None:
    """No other table can be drawn, so that limits would be the value itself."""
    alike = np.zeros(rows)
    for e in cal.clustering(None, alike, alike, measures=["AMI", "purity"]):
        assert (e.value, e.interval_reason) == (1.0, "no_spread")


def test_one_cluster_is_0_without_rounding_and_has_no_difference_where_it_has_no_value() -> None:
    """Whatever its points are; draws differ from 0 by rounding."""
    points, kind = RANDOM.normal(size=(60, 2)), np.repeat(list("abc"), 20)
    made = cal.clustering(points, {"a": np.zeros(60), "b": np.ones(60)}, kind)
    for name in ("ARI", "AMI", "homogeneity", "V-measure"):
        assert (made["a", name].value, made["a", name].low, made["a", name].high) == (0, 0, 0)
    assert made.comparison is not None
    for d in made.comparison:
        assert np.isnan(d.value) == np.isnan(d.p) == np.isnan(d.p_adjusted)


def test_points_a_hair_apart_have_values_without_intervals() -> None:
    points, cluster = 1e-160 * RANDOM.normal(size=(40, 2)), np.arange(40) % 2
    made = cal.clustering(points, cluster, measures=["Calinski-Harabasz", "silhouette"])
    assert made["Calinski-Harabasz"].value > 0
    assert np.isfinite(made["silhouette"].low)


def test_a_clustering_of_another_length_is_refused() -> None:
    points, cluster = RANDOM.normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(cal.InputError, match="gave: has 1 rows, the points drawn are"):
        cal.clustering(points, cluster, recluster=lambda some: [0])
