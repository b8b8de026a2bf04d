"""Evaluation of clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.data.arrays import same_length
from calipers.data.classes import Coded, coded
from calipers.data.columns import gather
from calipers.data.counts import Repeats
from calipers.data.errors import InputError
from calipers.data.points import as_distances, as_points
from calipers.evaluate.arguments import verb
from calipers.evaluate.clusters import notes_of, sampled, without_noise
from calipers.evaluate.cuts import Bins, slice_columns
from calipers.evaluate.evaluator import evaluate_systems, serving
from calipers.evaluate.kept import Baseline
from calipers.evaluate.problems.clusters import Clusters, evaluate_cells
from calipers.evaluate.shared import choose_measures, column_name, named_systems
from calipers.evaluate.stability import reclusters, said_of, stability_of
from calipers.evaluate.stream_columns import Columns, flat, in_batches
from calipers.evaluation.options import MeasureNames, Options
from calipers.measures import Measure
from calipers.results import Evaluation
from calipers.systems.base import named_classes
from calipers.systems.clustering import Clustering

METRICS = ("euclidean", "sqeuclidean", "manhattan", "cosine")

AGAINST_TRUTH = ("ARI", "AMI", "homogeneity", "completeness", "V-measure", "purity")
OF_POINTS = ("silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS")


@verb
def clustering(
    features: Any,
    labels: Any,
    truth: Any = None,
    *,
    metric: str = "euclidean",
    distances: Any = None,
    count: Any = None,
    noise: str = "cluster",
    slices: Any = None,
    slice_bins: Bins | None = None,
    sample: int | None = None,
    cost: Any = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    measures: MeasureNames | None = None,
    baseline: Baseline = None,
    primary: str | None = None,
    curves: bool = True,
    per_point: bool = False,
    recluster: Any = None,
    reclusterings: int = 100,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well points are put into clusters.

    ``labels`` is the cluster of each point, or a dict from the names of several clusterings of the
    same points to theirs. ``features`` are the points, an array or a data frame with a column for
    each feature, or None; ``truth`` the class of each point, where it is known. Points are apart by
    the ``metric``, "euclidean", "sqeuclidean", "manhattan" or "cosine", or by ``distances``, a
    square matrix that may be mapped from a file; it is never copied. (Centres and sums of squares
    are Euclidean.) A cluster called −1 is noise: ``noise="cluster"`` counts it as any other, as
    scikit-learn does, ``noise="drop"`` leaves out the points that are so in any of the clusterings.
    ``slices`` cut measures against the truth. There are no ``weight`` and no ``cluster``: pairs of
    points have no weights, and of points that come in groups nothing here knows how much a group
    moves; ``count`` takes frequencies. Silhouettes are those of all points, or of ``sample`` of
    them, each by its distances to all: above 100,000 points of 5,000 unless said. ``silhouette[c]``
    is the mean of the cluster called c; ``per_point`` keeps each in ``per_unit``. ``recluster`` is
    how a clustering was made, a function from points to their clusters or an estimator with
    ``fit_predict``, or a dict of such by system: it is made again ``reclusterings`` times of points
    drawn anew, and the table of clusters and a note say how well each is found again. ``curves``
    says whether silhouettes and points are drawn. Columns may be named of ``data``, a data frame or
    the path of a table, with ``"x_*"`` for all features that begin so; one that is too large for
    ``memory``, or that an ``engine`` has ("stream", "spark", "dask"), is looked at in batches, for
    measures against the truth, slices of these among them, and of centres. The remaining options
    are those of :func:`calipers.classification`, ``id`` and ``missing`` among them. Intervals are
    about all points like these, put into clusters by the same rule. What all points in one cluster
    get stands beside each value.

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
    options = Options.of(locals())
    settings = options.settings
    named = {"features": features, "labels": labels, "truth": truth, "count": count}
    cut_by = slice_columns(slices)
    if in_batches(engine, memory, data, (features, labels, truth)):
        # There is always a column of labels, if not of classes.
        first = next(iter(flat(labels)), None) if truth is None else truth
        refused = {"distances": distances, "cost": cost, "id": id, "sample": sample}
        refused |= {"recluster": recluster, "per_point": per_point or None}
        cut = cut_by, slice_bins, count
        said = {"labels": labels, "features": features}
        columns = Columns.of(data, first, said, None, None, missing, refused, engine, *cut)
        return evaluate_cells(
            columns, options, _check, against_truth=AGAINST_TRUTH, truth=truth is not None,
            noise=noise, metric=metric)  # fmt: skip
    if distances is not None and missing != "error":
        raise InputError("distances= are of all points: missing='drop' goes with features=")
    gathered = {**named, "slices": cut_by}
    wide = ("features",)
    rows_of = gather(gathered, data=data, by=id, missing=missing, cost=cost, wide=wide)
    features, labels, truth, count, cut_by = rows_of.columns.values()
    given, rows = _given(labels, noise, baseline)
    repeats, notes, clusters = without_noise(given, noise, Repeats.of(count, rows))
    near = _near(features, distances, metric, rows, repeats)
    known: dict[str, Any] = {}
    if truth is not None:
        classes = coded(truth, "truth")
        same_length(classes.codes, rows, "truth")
        known = {"truth": np.asarray(repeats(classes.codes), np.int64), "classes": classes.names}
    usual = (*(AGAINST_TRUTH if known else ()), *(OF_POINTS if "points" in near else ()))
    if "distances" in near:
        usual = (*usual, "silhouette")
    usual = AGAINST_TRUTH if cut_by else usual or AGAINST_TRUTH
    chosen = choose_measures(measures, usual, "clustering")
    _check(chosen, {name for _, names in clusters.values() for name in names}, sliced=bool(cut_by))
    shared = {**known, **near, "sampled": sampled(sample, repeats.number, seed)}
    systems = serving(
        {n: Clustering(n, *of, settings, **shared) for n, of in clusters.items()}, chosen
    )
    for name, how in reclusters(recluster, systems).items():
        found = stability_of(systems[name], how, reclusterings)
        systems[name] = replace(systems[name], stability=found)
        notes.append(said_of(systems[name]))
    plain = dict.fromkeys(m.plain for m in chosen if m.definition.reads == "distances")
    problem = Clusters(noise if notes else None, tuple(plain), per_point)
    return evaluate_systems(
        problem,
        systems,
        chosen,
        options,
        slices=repeats.sliced(cut_by),
        about=repeats.about(rows_of),
        notes=[*rows_of.notes, *notes, *notes_of(systems, plain)],
    )


def _given(labels: Any, noise: str, baseline: Baseline) -> tuple[dict[str, Coded], int]:
    """The cluster of each point in every clustering, and how many points there are."""
    given = {
        n: coded(of, column_name("labels", n)) for n, of in named_systems(labels, "labels").items()
    }
    if noise == "drop" and not (baseline is None or baseline in given):
        raise InputError(
            "noise='drop' leaves out what is noise in any clustering, which is not known of one of "
            "another day; give both together"
        )
    rows = len(next(iter(given.values())).codes)
    for name, column in given.items():
        same_length(column.codes, rows, column_name("labels", name))
    return given, rows


def _check(measures: Iterable[Measure], clusters: Collection[str], *, sliced: bool) -> None:
    """That there are the clusters that measures are asked of, in some clustering, and no slices of
    measures of points."""
    for measure in measures:
        named_classes(measure, sorted(clusters), "cluster")
        if sliced and measure.definition.reads != "partitions":
            raise InputError(
                f"{measure}: how points lie is told of all of them, and a slice would leave out "
                "those that they are near to; slices= are for measures against truth="
            )


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
        raise InputError(
            "distances= are of single points, which have no count=, and of all that there are: "
            "leave noise out of the matrix yourself"
        )
    return {"distances": matrix}
