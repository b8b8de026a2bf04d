"""Evaluation of clusterings, and of their stability under resampling (Hennig 2007)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import check_length
from calipers.data.class_labels import NOISE_LABEL, EncodedLabels, encode_labels
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.frequency_weights import RowRepeats
from calipers.data.points import to_distances, to_points
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.cluster_tables import (
    clustering_notes,
    sample_points,
    treat_noise,
)
from calipers.evaluation.evaluator import assign_measures, evaluate_systems
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.clustering import ClusteringProblem, evaluate_cluster_stream
from calipers.evaluation.shared import column_name, named_systems, select_measures
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.tasks import CLUSTERING
from calipers.findings.clusters import MAX_UNSTABLE_JACCARD, MIN_STABLE_JACCARD, Stability
from calipers.measures import Measure, parse
from calipers.results import Evaluation
from calipers.statistics import ContingencyTable
from calipers.systems.base import check_named_classes
from calipers.systems.clustering import Clustering

if TYPE_CHECKING:
    from calipers.evaluation.problems.labeled_rows import HumanTruth
    from calipers.statistics import FloatArray, IntArray
    from calipers.systems.labeled import LabeledOutput


def clustering_functions(
    recluster: Any, systems: Mapping[str, Any]
) -> dict[str, Callable[[Any], Any]]:
    """Return the clustering function of each system, by name."""
    if recluster is None:
        return {}
    if not isinstance(recluster, Mapping):
        if len(systems) > 1:
            raise InputError(
                "recluster: there are several clusterings; expected a dict from their names "
                f"({', '.join(systems)}) to functions or estimators"
            )
        recluster = dict.fromkeys(systems, recluster)
    functions = {}
    for name, function in recluster.items():
        if name not in systems:
            suggestion = did_you_mean(str(name), systems)
            raise InputError(f"recluster: {name!r} is not a system; {suggestion}")
        if isinstance(function, type) or not (
            hasattr(function, "fit_predict") or callable(function)
        ):
            raise InputError(
                f"recluster: is {format_value(function)}, expected a function from points to their "
                "clusters, "
                "or an estimator with fit_predict"
            )
        functions[name] = (
            function if not hasattr(function, "fit_predict") else _make_refit(function)
        )
    return functions


def _make_refit(estimator: Any) -> Callable[[Any], Any]:
    return lambda points: copy.deepcopy(estimator).fit_predict(points)


def bootstrap_stability(
    system: Clustering, recluster: Callable[[Any], Any], n_reclusterings: int
) -> Stability:
    """Compute the bootstrap stability of the clusters of a system (Hennig 2007).

    Points are resampled with replacement, and the distinct points of each sample are re-clustered.
    The stability of a cluster is the mean over samples of its largest Jaccard index with a new
    cluster on these points (noise is not a cluster). The mean ARI of the two clusterings is
    returned as well.
    """
    if n_reclusterings < 10:
        raise InputError(f"n_reclusterings is {n_reclusterings}, expected 10 or more")
    points, n, k = system.points, system.n_rows, len(system.names)
    if points is None:
        raise InputError(f"{system.name}: recluster= needs {system.needs['points'][1]}")
    rng = np.random.Generator(np.random.Philox(system.settings.seed))
    jaccard, ari_values, ari = (
        np.full((n_reclusterings, k), np.nan),
        np.zeros(n_reclusterings),
        parse("ARI", "partitions"),
    )
    for b in range(n_reclusterings):
        rows = np.unique(rng.integers(0, n, n))
        encoded = encode_labels(np.asarray(recluster(points[rows])), "what recluster= gave")
        check_length(encoded.codes, len(rows), "what recluster= gave", "the points drawn are")
        original, code = system.cluster[rows], np.asarray(encoded.codes, np.int64)
        table = ContingencyTable.from_codes(original, code, system.names, encoded.names)
        ari_values[b] = ari.apply(table)
        jaccard[b] = _max_jaccard(original, code, k, encoded.names)
    defined_mask = np.isfinite(jaccard)
    with np.errstate(invalid="ignore"):
        mean = np.where(defined_mask, jaccard, 0.0).sum(axis=0) / defined_mask.sum(axis=0)
    return Stability(system.names, mean, float(ari_values.mean()), n_reclusterings)


def _max_jaccard(
    original: IntArray, code: IntArray, clusters: int, names: Sequence[str]
) -> FloatArray:
    """Return the largest Jaccard index of each cluster with any new cluster.

    It is NaN if no point of the cluster is in the sample.
    """
    overlaps = np.zeros((clusters, len(names)))
    np.add.at(overlaps, (original, code), 1.0)
    original_sizes = overlaps.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        index = overlaps / (original_sizes + overlaps.sum(axis=0) - overlaps)
    index[:, [name == NOISE_LABEL for name in names]] = 0.0
    return np.where(original_sizes[:, 0] > 0, index.max(axis=1), np.nan)


def stability_note(system: Clustering) -> str:
    """Return the note that reports the stability of a clustering."""
    stability = system.stability
    assert stability is not None
    low, high = float(np.nanmin(stability.mean_jaccard)), float(np.nanmax(stability.mean_jaccard))
    return (
        f"{system.name}: re-clustered {stability.n_resamples} times on resampled points, "
        f"duplicates removed: mean ARI with this clustering {stability.mean_ari:.2f}, mean "
        f"Jaccard index of its clusters {low:.2f} to {high:.2f}. Below {MAX_UNSTABLE_JACCARD} a "
        f"cluster is not stable, above {MIN_STABLE_JACCARD} it is (Hennig 2007)."
    )


METRICS = ("euclidean", "sqeuclidean", "manhattan", "cosine")

TRUTH_MEASURES = ("ARI", "AMI", "homogeneity", "completeness", "V-measure", "purity")
#: Those with human labels of some points: others are biased in few points.
LABELED_MEASURES = ("ARI", "pair-F1")
POINT_MEASURES = ("silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS")


@validate_arguments
def clustering(
    features: Any,
    labels: Any,
    truth: Any = None,
    *,
    human: Any = None,
    distances: Any = None,
    count: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    per_point: bool = False,
    recluster: Any = None,
    n_reclusterings: int = 100,
    metric: str = "euclidean",
    noise: str = "cluster",
    sample: int | None = None,
    target: str = "like",
    measures: MeasureNames | None = None,
    conventions: str | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate clusterings against known classes, or by internal measures of cluster geometry.

    The no-skill value of each measure is that of a single cluster with all points.

    Parameters
    ----------
    features : array-like of shape (n, n_features), or None
        The points: an array or a data frame with a column for each feature, or None. With ``data``,
        ``"x_*"`` stands for all columns that begin so.
    labels : array-like of shape (n,), or dict of such
        Cluster of each point; for several clusterings of the same points a dict from their names to
        columns.
    truth : array-like of shape (n,), optional
        True class of each point, if known.
    human : array-like of shape (n,), optional
        Class by people of some points, if ``truth`` is that of a judge, such as a language model:
        with a missing value where a point has none. Measures of pairs of points then rest on these
        labels, and on what the judge adds to them; purity and measures of information, which are
        biased in few points, do not take them. The points should be selected at random.
    distances : array-like of shape (n, n), optional
        Distances of the points, in place of ``features`` and ``metric``: a square matrix that may
        be mapped from a file; it is never copied.
    count : array-like of shape (n,), optional
        Frequency weight of each point, an integer: a row of count 20 is the same as that row 20
        times, in every value, interval and test. A row of count 0 is left out.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do. They apply to measures against ``truth``.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs`` and compared with quality in
        ``evaluation.pareto_fronts``.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name. Columns may also be passed as NumPy
        arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or DLPack.
    id : str, optional
        Name of a column of ids in ``data``. A system may then be a data frame or path of its own
        that has this column, whose rows are put in the order of ``data``.
    missing : {'error', 'drop'}, default='error'
        ``"error"`` raises an error on missing values. ``"drop"`` drops rows with a missing value,
        or whose id is missing from one of the tables; a note reports how many and why.
    per_point : bool, default=False
        Whether ``per_unit`` contains the silhouette of every point.
    recluster : callable or estimator, or dict of such, optional
        Clustering algorithm: a function from points to clusters or an estimator with
        ``fit_predict``, or a dict of such by system. Resampled points are re-clustered; the table
        of clusters and a note report the stability of each cluster.
    n_reclusterings : int, default=100
        Number of re-clusterings of resampled points.
    metric : {'euclidean', 'sqeuclidean', 'manhattan', 'cosine'}, default='euclidean'
        Distance between points, for silhouettes. Centres and sums of squares are Euclidean.
    noise : {'cluster', 'drop'}, default='cluster'
        Treatment of points labeled −1 (noise): ``"cluster"`` treats them as a cluster, as
        scikit-learn does; ``"drop"`` drops points that are noise in any of the clusterings.
    sample : int, optional
        Number of points whose silhouettes are computed, from their distances to all points. By
        default all of them, or 5,000 above 100,000 points.
    target : {'like', 'these'}, default='like'
        What is estimated with human labels: the value of points ``like`` these, or of ``these``
        points, of which those with a label are known.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these. ``silhouette[c]`` is the mean of the
        cluster called c.
    conventions : str, optional
        Conventions of another tool: ``"trec_eval"``, ``"ir_measures"``, ``"beir"``, ``"mteb"``,
        ``"msmarco"``, ``"ntcireval"``, ``"sklearn"`` or ``"ydf"``. It sets the options in which the
        tool differs, its default measures and the meaning of its names; options that are given take
        precedence. A note states what was set.
    primary : str, optional
        Primary measure, by default the first. p-values of the other measures are adjusted as a
        separate family.
    baseline : str, path or Evaluation, optional
        Reference system. By default all pairs are compared, the later minus the earlier. It may be
        a system of an earlier evaluation: the evaluation, or the path of a file with its stored
        predictions; ``"FILE.json:NAME"`` selects one of several systems.
    compare : bool, default=True
        Whether several systems are compared; ``evaluation.compare()`` can also compare them later.
    curves : bool, default=True
        Whether the evaluation has curves. Each is computed on first access.
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"`` loads all rows. ``"stream"`` reads ``data`` in batches and stores only the
        statistics of the measures: Parquet, CSV, Feather or JSON Lines, one file, several or a
        directory, of any size; columns are then given by name. By default a file is streamed if its
        columns do not fit into memory. ``"spark"`` and ``"dask"`` read paths with Spark or Dask;
        their data frames are recognised as ``data``. A stream supports measures against the truth
        and measures of cluster centers.
    memory : int or str, optional
        Memory limit, in bytes or as ``"2 GB"``. By default half of the free memory; with Spark and
        Dask, 1 GB in each process.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Estimates of all measures with intervals, paired comparisons of several clusterings, tables
        of their clusters, curves of silhouettes and points, and findings.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    Notes
    -----
    Intervals generalise to other points of the same population that are assigned to clusters by the
    same rule. There are no ``weight`` and ``cluster``: pairs of points have no weights, and the
    influence of a group of points on a clustering is unknown. ``count`` takes frequency weights.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = ["a", "a", "b", "b", "a", "c"]
    >>> ev = cal.clustering(None, [0, 0, 1, 1, 1, 2], truth, measures=["Rand"])
    >>> round(ev["Rand"].value, 7)
    0.7333333
    """
    arguments = locals()
    if human is not None:
        from calipers.evaluation.problems.labeled_rows import check_label_options

        check_label_options(
            {**arguments, "human_weight": None},
            {"per_point": "silhouettes take no truth", "recluster": "clusters take no truth"},
        )
        if truth is None:
            raise InputError("human: requires truth=, the classes of all points by the judge")
    roles = ("features", "labels") if truth is None else ("features", "labels", "truth")
    roles = roles if human is None else (*roles, "human")
    source = open_source(arguments, *roles, wide=("features",), categories=CLUSTERING.categories)
    options, settings = source.options, source.options.settings
    if source.stream_columns is not None:
        return evaluate_cluster_stream(
            source.stream_columns,
            options,
            _check_measures,
            against_truth=TRUTH_MEASURES,
            noise=noise,
            metric=metric,
        )
    if distances is not None and missing != "error":
        raise InputError("distances= has all points; missing='drop' requires features=")
    columns = source.memory_columns.columns
    truth, columns_by_slice = columns.get("truth"), columns["slices"]
    encoded, rows = _encode_clusterings(columns["labels"], noise, baseline)
    repeats, notes, clusters = treat_noise(
        encoded, noise, RowRepeats.from_counts(columns["count"], rows)
    )
    geometry = _read_geometry(columns["features"], distances, metric, rows, repeats)
    truth_fields: dict[str, Any] = {}
    human_truth: HumanTruth | None = None
    if truth is not None:
        classes = encode_labels(truth, "truth")
        check_length(classes.codes, rows, "truth")
        if human is not None:
            from calipers.evaluation.problems.labeled_rows import read_human_classes

            classes, human_truth, _ = read_human_classes(columns["human"], classes)
            classes = replace(classes, codes=repeats(classes.codes))  # also those of people
        else:
            classes = classes.take(repeats.row_indices)
        truth_fields = {
            "truth": np.asarray(classes.codes, np.int64),
            "classes": classes.names,
        }
    default_names = (
        *(TRUTH_MEASURES if truth_fields else ()),
        *(POINT_MEASURES if "points" in geometry else ()),
    )
    if "distances" in geometry:
        default_names = (*default_names, "silhouette")
    default_names = TRUTH_MEASURES if columns_by_slice else default_names or TRUTH_MEASURES
    default_names = default_names if human_truth is None else LABELED_MEASURES
    selected_measures = select_measures(measures, default_names, "clustering")
    _check_measures(
        selected_measures,
        {name for _, names in clusters.values() for name in names},
        has_slices=bool(columns_by_slice),
    )
    shared = {
        **truth_fields,
        **geometry,
        "sample_indices": sample_points(sample, repeats.n_repeated, seed),
    }
    clusterings = {
        n: Clustering(n, *cluster_fields, settings, **shared)
        for n, cluster_fields in clusters.items()
    }
    if human_truth is not None:
        from calipers.evaluation.problems.labeled_rows import LabeledProblem

        labeled_systems = _add_labels(clusterings, human_truth, repeats, target)
        problem = ClusteringProblem(noise if notes else None)
        return evaluate_systems(
            LabeledProblem(problem, target, task=problem.task),
            assign_measures(labeled_systems, selected_measures),
            selected_measures,
            options,
            slices=repeats.repeat_slices(columns_by_slice),
            row_info=repeats.row_info(source.memory_columns),
            notes=[*source.memory_columns.notes, *notes],
        )
    systems = assign_measures(clusterings, selected_measures)
    for name, function in clustering_functions(recluster, systems).items():
        stability = bootstrap_stability(systems[name], function, n_reclusterings)
        systems[name] = replace(systems[name], stability=stability)
        notes.append(stability_note(systems[name]))
    silhouette_measures = dict.fromkeys(
        m.plain for m in selected_measures if m.definition.reads == "distances"
    )
    problem = ClusteringProblem(noise if notes else None, tuple(silhouette_measures), per_point)
    return evaluate_systems(
        problem,
        systems,
        selected_measures,
        options,
        slices=repeats.repeat_slices(columns_by_slice),
        row_info=repeats.row_info(source.memory_columns),
        notes=[
            *source.memory_columns.notes,
            *notes,
            *clustering_notes(systems, silhouette_measures),
        ],
    )


def _add_labels(
    clusterings: Mapping[str, Clustering],
    human: HumanTruth,
    repeats: RowRepeats,
    target: str,
) -> dict[str, LabeledOutput]:
    """Return the clusterings with the classes by the judge, and those by people of some points."""
    from calipers.systems.labeled import LabeledOutput

    truth = np.asarray(repeats(human.truth.codes), np.int64)
    mask = repeats(human.labeled_mask)
    return {
        name: LabeledOutput(
            name=name,
            settings=judge.settings,
            judge=judge,
            human=replace(judge, truth=truth),
            judged=judge,
            labeled_mask=mask,
            target=target,
            task="clustering",
        )
        for name, judge in clusterings.items()
    }


def _encode_clusterings(
    labels: Any, noise: str, baseline: Baseline
) -> tuple[dict[str, EncodedLabels], int]:
    """Return the encoded clusters of every clustering, and the number of points."""
    encoded = {
        n: encode_labels(values, column_name("labels", n))
        for n, values in named_systems(labels, "labels").items()
    }
    if noise == "drop" and not (baseline is None or baseline in encoded):
        raise InputError(
            "baseline: noise='drop' excludes the noise points of every clustering, which a saved "
            "evaluation does not contain; expected both clusterings in one call"
        )
    rows = len(next(iter(encoded.values())).codes)
    for name, column in encoded.items():
        check_length(column.codes, rows, column_name("labels", name))
    return encoded, rows


def _check_measures(
    measures: Iterable[Measure], clusters: Collection[str], *, has_slices: bool
) -> None:
    """Check that clusters named by measures exist, and that measures of points are not sliced."""
    for measure in measures:
        check_named_classes(measure, sorted(clusters), "cluster")
        if has_slices and measure.definition.reads != "partitions":
            raise InputError(
                f"{measure}: is defined on all points, and a slice would leave out their "
                "neighbors; slices= applies to measures against truth="
            )


def _read_geometry(
    features: Any, distances: Any, metric: str, rows: int, repeats: RowRepeats
) -> dict[str, Any]:
    """Read the coordinates of the points, or their distances."""
    if metric not in METRICS:
        raise InputError(f"metric is {metric!r}, expected one of {', '.join(METRICS)}")
    if features is not None and distances is not None:
        raise InputError("features= and distances= are both given; expected one of them")
    if features is not None:
        points = to_points(features, "features", as_directions=metric == "cosine")
        check_length(points, rows, "features")
        return {"points": repeats(points), "metric": metric}
    if distances is None:
        return {}
    matrix = to_distances(distances, "distances")
    check_length(matrix, rows, "distances")
    if repeats.row_indices is not None:
        raise InputError(
            "distances= has single points, which have no count=, and all of them; remove noise "
            "points from the matrix"
        )
    return {"distances": matrix}
