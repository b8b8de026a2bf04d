"""What is drawn of clusters, beside scikit-learn and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.curves.clusters import (
    MAX_BARS,
    MAX_CLUSTERS,
    MAX_POINTS,
    line_by_clustering,
    order_by_class,
)
from calipers.report.charts import figures
from calipers.results import Curve

RANDOM = np.random.default_rng(11)
KIND = RANDOM.integers(0, 3, 90)
POINTS = RANDOM.normal(size=(90, 3)) * [3.0, 1.0, 0.2] + KIND[:, None] * [4.0, 0.0, 0.0]


def curves(points: Any, labels: Any, truth: Any = None, **given: Any) -> dict[str, list[Curve]]:
    """By kind."""
    found: dict[str, list[Curve]] = {}
    for curve in cal.clustering(points, labels, truth, interval="none", **given).curves:
        found.setdefault(curve.kind, []).append(curve)
    return found


def test_silhouettes_are_those_of_the_points() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    drawn = curves(POINTS, KIND)["silhouettes"]
    each = metrics.silhouette_samples(POINTS, KIND)
    assert [c.series for c in drawn] == ["0", "1", "2"]
    first = 0.0
    for k, c in enumerate(drawn):
        own = np.sort(each[k == KIND])[::-1]
        assert c.y[:-1] == pytest.approx(own)
        assert c.x.tolist() == (first + np.arange(len(own) + 1)).tolist()
        assert c.references["mean"][0][1] == pytest.approx(each.mean())
        first += len(own)


def test_of_many_points_and_clusters_the_largest_are_drawn() -> None:
    """Bars keep the sum of what they stand for; the mean is that of all points."""
    n = 3 * MAX_POINTS
    label = np.arange(n) % 30 * (np.arange(n) % 4 > 0)
    points = RANDOM.normal(size=(n, 2))
    found = curves(points, label, measures=["simplified-silhouette"])
    drawn = found["silhouettes"]
    sizes = np.bincount(label)
    assert len(drawn) == MAX_CLUSTERS
    assert {c.classes for c in drawn} == {30}
    assert sum(len(c.x) - 1 for c in drawn) <= MAX_BARS + MAX_CLUSTERS
    assert [int(np.diff(c.x).sum()) for c in drawn] == [sizes[int(c.series)] for c in drawn]
    assert min(sizes[int(c.series)] for c in drawn) >= np.sort(sizes)[-MAX_CLUSTERS]
    means = cal.clustering(points, label, measures=["simplified-silhouette"], interval="none")
    (table,) = means.label_tables
    for c in drawn:
        mean = (c.y[:-1] * np.diff(c.x)).sum() / np.diff(c.x).sum()
        assert mean == pytest.approx(table.values["simplified-silhouette"][int(c.series)])
    shown = found["projection"]
    assert [c.series for c in shown] == [*(c.series for c in drawn), ""]
    assert sum(len(c.x) for c in shown) == MAX_POINTS
    assert {c.areas["points"] for c in shown} == {n}


@pytest.mark.parametrize("sample", [None, 60])
@pytest.mark.parametrize("n_clusters", [3, 25])
def test_captions_name_the_points_whose_silhouettes_are_drawn(
    n_clusters: int, sample: int | None
) -> None:
    points, labels = RANDOM.normal(size=(200, 2)), np.arange(200) % n_clusters
    evaluation = cal.clustering(points, labels, sample=sample, interval="none")
    drawn = [curve for curve in evaluation.curves if curve.kind == "silhouettes"]
    n_drawn = int(drawn[-1].x[-1])
    expected = "each point" if sample is None else f"each of {n_drawn} sampled points"
    mean = "the mean"
    if n_clusters > MAX_CLUSTERS:
        expected += f" of the {len(drawn)} largest of 25 clusters"
        mean += " of all points" if sample is None else " of all sampled points"
    else:
        assert n_drawn == (sample or 200)
    (figure,) = (x for x in figures(evaluation) if x.kind == "silhouettes")
    assert f"The silhouette of {expected}, sorted within each cluster." in figure.caption
    assert f"Dashed: {mean}, " in figure.caption


def test_points_are_on_their_principal_components() -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    pca = decomposition.PCA(2).fit(POINTS)
    at, drawn = pca.transform(POINTS), curves(POINTS, KIND)["projection"]
    for k, c in enumerate(drawn):
        for own, theirs in ((c.x, at[k == KIND, 0]), (c.y, at[k == KIND, 1])):
            assert abs(own @ theirs) == pytest.approx(float(theirs @ theirs))
    share = pca.explained_variance_ratio_
    assert drawn[0].x_label == f"First component, {share[0]:.0%} of the variance"
    again = curves(POINTS * 1e30, KIND)["projection"]
    assert again[1].y == pytest.approx(drawn[1].y * 1e30)
    assert "projection" not in curves(POINTS[:, 0], KIND)
    angle = curves(POINTS * RANDOM.uniform(1, 9, (90, 1)), KIND, metric="cosine")["projection"]
    assert angle[0].x == pytest.approx(curves(POINTS, KIND, metric="cosine")["projection"][0].x)


def test_what_is_not_known_is_not_drawn() -> None:
    assert not curves(None, KIND, KIND)
    assert set(curves(POINTS, KIND, KIND, measures=["ARI"])) == {"projection"}
    assert set(curves(POINTS, np.zeros(90))) == {"projection"}
    assert not curves(POINTS, KIND, curves=False)


def test_the_table_of_clusters_is_counted() -> None:
    label = np.where(KIND == 2, 1, KIND)
    (table,) = cal.clustering(None, label, KIND, interval="none").label_tables
    assert table.row_kind == "cluster"
    of_class = np.bincount(KIND)
    rows = table.rows()
    assert rows[1] == {
        "system": "system", "cluster": "1", "points": of_class[1] + of_class[2],
        "class 0": 0, "class 1": of_class[1], "class 2": of_class[2],
    }  # fmt: skip


@pytest.mark.slow
def test_figures_by_what_is_known() -> None:
    labels = {f"k{k}": (POINTS[:, 0] * k / 12).astype(int) % k for k in (2, 3, 4)}
    ev = cal.clustering(POINTS, labels, KIND, measures=["ARI", "silhouette"], n_resamples=100)
    drawn = figures(replace(ev, comparison=None))
    assert {f.chosen_from for f in drawn} == {
        "Silhouettes", "Sizes of clusters", "Classes and clusters", "number",
        "Points on two principal components",
    }  # fmt: skip
    by_number = [f for f in drawn if f.chosen_from == "number"]
    assert [row[1] for row in by_number[0].rows] == ["2", "3", "4"]
    text = ev.to_html()
    assert "silhouette by the number of clusters" in text
    assert cal.Evaluation.from_json(ev.to_json(details=True)).to_html() == text


def test_lines_join_clusterings_of_one_kind() -> None:
    assert set(line_by_clustering({"a": 2, "b": 3}).values()) == {""}
    both = line_by_clustering({"kmeans_2": 2, "kmeans_3": 3, "ward k=2": 2, "ward k=3": 3})
    assert both == {"kmeans_2": "kmeans", "kmeans_3": "kmeans", "ward k=2": "ward",
                    "ward k=3": "ward"}  # fmt: skip
    assert not line_by_clustering({"a": 2, "b": 3, "a1": 2})


def test_clusters_stand_below_their_classes() -> None:
    assert order_by_class(np.array([[0, 9, 5.0], [7, 1, 0.0]])) == [1, 2, 0]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "\x1b[31m", "\u202e", ""])
def test_strange_names_are_shown(name: str) -> None:
    label = np.array([name, "b"])[KIND % 2]
    text = cal.clustering(POINTS, label, label, interval="none").to_html()
    assert "<script>alert" not in text
    assert "\x1b" not in text
