"""Evaluation of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.curves.clusters import ClusterCurves
from calipers.data.arrays import same_length
from calipers.data.classes import coded
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.data.points import as_distances, as_points
from calipers.evaluate.arguments import verb
from calipers.evaluate.shared import (
    MeasureNames,
    choose_measures,
    column_name,
    make_settings,
    named_systems,
)
from calipers.evaluate.skeleton import asked_of, evaluated
from calipers.evaluate.subjects import of_clusters
from calipers.measures import Measure
from calipers.results import Evaluation, LabelTable
from calipers.systems.partitions import Clustering

METRICS = ("euclidean", "sqeuclidean", "manhattan", "cosine")

AGAINST_TRUTH = ("ARI", "AMI", "homogeneity", "completeness", "V-measure", "purity")
OF_POINTS = ("silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS")

#: Of more clusters, or more classes, nobody would read a table.
MOST_CLUSTERS, MOST_CLASSES = 1_000, 100


@verb
def clustering(
    features: Any,
    labels: Any,
    truth: Any = None,
    *,
    metric: str = "euclidean",
    distances: Any = None,
    count: Any = None,
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    primary: str | None = None,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well points are put into clusters.

    ``labels`` is the cluster of each point, or a dict from the names of several clusterings of the
    same points to theirs. ``features`` are the points, an array or a data frame with a column for
    each feature, or None; ``truth`` the class of each point, where it is known. Points are apart by
    the ``metric``, "euclidean", "sqeuclidean", "manhattan" or "cosine", or by ``distances``, a
    square matrix that may be mapped from a file; it is never copied. (Centres and sums of squares
    are Euclidean.) ``curves`` says whether silhouettes and points are drawn. The remaining options
    are those of :func:`calipers.classification`. Intervals are about all points like these, put
    into clusters by the same rule. What all points in one cluster get stands beside each value.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = ["a", "a", "b", "b", "a", "c"]
    >>> ev = cal.clustering(None, [0, 0, 1, 1, 1, 2], truth, measures=["Rand"])
    >>> round(ev["Rand"].value, 7)
    0.7333333
    """
    settings = make_settings(interval, level, resamples, seed)
    given = {
        n: coded(of, column_name("labels", n)) for n, of in named_systems(labels, "labels").items()
    }
    rows = len(next(iter(given.values())).codes)
    for name, column in given.items():
        same_length(column.codes, rows, column_name("labels", name))
    repeats = Repeats.of(count, rows)
    near = _near(features, distances, metric, rows, repeats)
    classes = None if truth is None else coded(truth, "truth")
    known: dict[str, Any] = {}
    if classes is not None:
        same_length(classes.codes, rows, "truth")
        known = {"truth": np.asarray(repeats(classes.codes), np.int64), "classes": classes.names}
    usual = (*(AGAINST_TRUTH if known else ()), *(OF_POINTS if "points" in near else ()))
    if "distances" in near:
        usual = (*usual, "silhouette")
    chosen = choose_measures(measures, usual or AGAINST_TRUTH, "clustering")
    systems = {
        name: Clustering(
            name, np.asarray(repeats(of.codes), np.int64), of.names, settings, **known, **near
        )
        for name, of in given.items()
    }
    systems = asked_of(systems, chosen)
    near_by = next((m for m in chosen if m.definition.reads == "distances"), None)
    told = [name for name, s in systems.items() if len(s.names) <= MOST_CLUSTERS]
    return evaluated(
        "clustering",
        systems,
        chosen,
        baseline=baseline,
        primary=primary,
        inputs=inputs,
        findings=of_clusters,
        notes=_left_out(systems),
        curves=ClusterCurves(list(systems.values()), near_by) if curves else (),
        label_tables=tuple(by_cluster(systems[name], near_by) for name in told),
    )


def by_cluster(system: Clustering, measure: Measure | None) -> LabelTable:
    """How many points each cluster has, of which classes, and how near they lie."""
    number = len(system.names)
    counts, values = {}, {}
    if system.truth is not None and len(system.classes) <= MOST_CLASSES:
        for at, name in enumerate(system.classes):
            own = system.cluster[system.truth == at]
            counts[name] = np.bincount(own, minlength=number).astype(np.float64)
    sizes = np.bincount(system.cluster, minlength=number).astype(np.float64)
    if measure is not None:
        sums = np.bincount(system.cluster, system.over(measure).values, number)
        values[str(measure)] = sums / np.where(sizes > 0, sizes, np.nan)
    none = {name: np.full(number, np.nan) for name in values}
    return LabelTable(
        system.name, system.names, sizes, counts, values, none, none,
        level=system.settings.level, of="cluster",
    )  # fmt: skip


def _left_out(systems: Mapping[str, Clustering]) -> list[str]:
    """What has no table."""
    return [
        f"{name}: there is no table of its {len(s.names):,} clusters, of more than "
        f"{MOST_CLUSTERS:,} of which nobody would read one."
        for name, s in systems.items()
        if len(s.names) > MOST_CLUSTERS
    ]


def _near(
    features: Any, distances: Any, metric: str, rows: int, repeats: Repeats
) -> dict[str, Any]:
    """Where points are, or how far apart."""
    if metric not in METRICS:
        raise InputError(f"metric is {metric!r}, expected one of {', '.join(METRICS)}")
    if features is not None and distances is not None:
        raise InputError("features= and distances= are both given; silhouettes are of either")
    if features is not None:
        points = as_points(features, "features", directions=metric == "cosine")
        same_length(points, rows, "features")
        return {"points": repeats(points), "metric": metric}
    if distances is None:
        return {}
    matrix = as_distances(distances, "distances")
    same_length(matrix, rows, "distances")
    if repeats.places is not None:
        raise InputError("distances= are of single points, which have no count=")
    return {"distances": matrix}
