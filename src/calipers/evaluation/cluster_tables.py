"""Tables of clusterings in addition to estimates: per cluster and per point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.class_labels import NOISE_LABEL
from calipers.data.errors import InputError
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluation.estimates import estimate_measure
from calipers.findings.clusters import MIN_CLUSTER_SIZE, Bisections, bisection_gain
from calipers.inference.method_limits import MAX_SILHOUETTE_POINTS, N_SAMPLED_POINTS
from calipers.report.numbers import format_count
from calipers.report.safe_names import join_words
from calipers.results import LabelTable, PerUnit

if TYPE_CHECKING:
    from calipers.data.class_labels import EncodedLabels
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray
    from calipers.systems.clustering import Clustering

#: Of more clusters, or more classes, nobody would read a table.
MAX_TABLE_CLUSTERS, MAX_TABLE_CLASSES = 1_000, 100
#: Maximum number of points of a cluster in the search for two groups in it.
MAX_BISECTED_POINTS = 1_000
#: Maximum number of values (points × clusters) for the intervals of a table.
MAX_INTERVAL_VALUES = 20_000_000


#: Possible treatments of noise points.
NOISE_TREATMENTS = ("cluster", "drop")


def treat_noise(
    encoded_labels: Mapping[str, EncodedLabels],
    noise: str,
    repeats: RowRepeats,
    point_counts: FloatArray | None = None,
) -> tuple[RowRepeats, list[str], dict[str, tuple[IntArray, tuple[str, ...]]]]:
    """Treat points labeled −1 as a cluster, or drop them.

    Parameters
    ----------
    encoded_labels : mapping of str to EncodedLabels
        Encoded labels of each clustering.
    noise : {'cluster', 'drop'}
        ``"cluster"`` treats −1 as a cluster, ``"drop"`` removes points that are noise in any
        clustering.
    repeats : RowRepeats
        Frequencies of the points.
    point_counts : ndarray, optional
        Number of equal points that each row represents.

    Returns
    -------
    repeats : RowRepeats
        Frequencies of the remaining points.
    notes : list of str
        Notes on what was done.
    clusters : dict
        For each clustering the cluster of each of these points, and the names of the clusters that
        have some of them.
    """
    if noise not in NOISE_TREATMENTS:
        raise InputError(f"noise is {noise!r}, expected one of {', '.join(NOISE_TREATMENTS)}")
    counted_labels = {
        name: labels.take(repeats.row_indices) for name, labels in encoded_labels.items()
    }
    noise_codes = {
        name: labels.names.index(NOISE_LABEL)
        for name, labels in counted_labels.items()
        if NOISE_LABEL in labels.names
    }
    noise_mask = np.zeros(repeats.n_repeated, bool)
    for name, noise_code in noise_codes.items():
        noise_mask |= counted_labels[name].codes == noise_code
    n_equal = np.ones(repeats.n_repeated) if point_counts is None else repeats(point_counts)
    clustering_names, n_noise = (
        join_words([*noise_codes] or [""]),
        int((n_equal * noise_mask).sum()),
    )
    notes = []
    if noise_codes and noise == "cluster":
        notes.append(
            f"{clustering_names}: the {format_count(n_noise, 'points')} labeled −1 are a cluster "
            "here, as in scikit-learn; noise='drop' leaves them out."
        )
    elif noise_codes:
        n_points = int(n_equal.sum())
        indices = np.arange(repeats.n_rows) if repeats.row_indices is None else repeats.row_indices
        repeats = RowRepeats(repeats.n_rows, indices[~noise_mask])
        if not repeats.n_repeated:
            raise InputError(
                f"{clustering_names}: all points are labeled −1, and noise='drop' leaves none"
            )
        notes.append(
            f"Left out: {n_noise:,} of {format_count(n_points, 'points')} that are noise in "
            f"{clustering_names}."
        )
        counted_labels = {
            name: labels.take(repeats.row_indices) for name, labels in encoded_labels.items()
        }
    clusters = {
        name: (np.asarray(labels.codes, np.int64), labels.names)
        for name, labels in counted_labels.items()
    }
    return repeats, notes, clusters


def sample_points(n_sampled: int | None, n_points: int, seed: int) -> Any:
    """Return the sorted indices of sampled points for silhouettes, or None for all points."""
    if n_sampled is not None and n_sampled < 2:
        raise InputError(f"sample is {n_sampled}, expected 2 points or more")
    if n_sampled is None:
        n_sampled = n_points if n_points <= MAX_SILHOUETTE_POINTS else N_SAMPLED_POINTS
    if n_sampled >= n_points:
        return None
    return np.sort(np.random.Generator(np.random.Philox(seed)).permutation(n_points)[:n_sampled])


def clustering_notes(
    systems: Mapping[str, Clustering], silhouette_measures: Iterable[Measure]
) -> list[str]:
    """Return notes on silhouettes of sampled points and on tables that were omitted."""
    notes, first = [], next(iter(systems.values()))
    for measure in silhouette_measures:
        silhouettes = first.sample_for(measure).silhouettes
        if silhouettes.sample_indices is not None:
            notes.append(
                f"{measure}: the mean over {len(silhouettes.point_indices):,} points drawn at "
                f"random from {len(silhouettes.cluster):,}, each with its distances to all; "
                "sample= sets their number."
            )
    for name, system in systems.items():
        if len(system.names) > MAX_TABLE_CLUSTERS:
            notes.append(
                f"{name}: its {len(system.names):,} clusters are not tabulated, because they are "
                f"more than {MAX_TABLE_CLUSTERS:,}."
            )
    return notes


def cluster_tables(
    systems: Iterable[Clustering], silhouette_measures: Iterable[Measure]
) -> tuple[LabelTable, ...]:
    """Return a table for each clustering: size, classes and silhouette of each cluster."""
    silhouette_measures = list(silhouette_measures)
    return tuple(
        _cluster_table(system, silhouette_measures)
        for system in systems
        if len(system.names) <= MAX_TABLE_CLUSTERS
    )


def _cluster_table(system: Clustering, silhouette_measures: Sequence[Measure]) -> LabelTable:
    number, counts = len(system.names), {}
    if system.truth is not None and len(system.classes) <= MAX_TABLE_CLASSES:
        for class_index, name in enumerate(system.classes):
            counts[name] = system.take_rows(system.truth == class_index).sizes
    columns_by_field: dict[str, dict[str, Any]] = {"values": {}, "low": {}, "high": {}}
    for measure in silhouette_measures:
        columns = np.array(list(_cluster_rows(system, measure))).T
        for columns_by_name, column in zip(columns_by_field.values(), columns, strict=True):
            columns_by_name[str(measure)] = column
    if system.stability is not None:
        none = np.full(number, np.nan)
        for columns_by_name, column in zip(
            columns_by_field.values(), (system.stability.mean_jaccard, none, none), strict=True
        ):
            columns_by_name["Jaccard"] = column
    level, name = system.settings.level, system.name
    return LabelTable(
        name,
        system.names,
        system.sizes,
        counts,
        **columns_by_field,
        level=level,
        row_kind="cluster",
    )


def _cluster_rows(system: Clustering, measure: Measure) -> Iterator[tuple[float, float, float]]:
    """Yield the value of each cluster with the limits of its interval."""
    if len(system.names) * system.n_rows > MAX_INTERVAL_VALUES:
        system = system.with_settings(replace(system.settings, interval="none", methods=()))
    for name in system.names:
        cluster_measure = replace(measure, label=name)
        estimate = estimate_measure(system, cluster_measure, system.point_estimate(cluster_measure))
        yield estimate.value, estimate.low, estimate.high


def point_silhouettes(
    systems: Mapping[str, Clustering], silhouette_measures: Sequence[Measure]
) -> PerUnit:
    """Return the silhouette of each (sampled) point by row number."""
    if not silhouette_measures:
        raise InputError("per_point= requires a silhouette among the measures")
    first = next(iter(systems.values()))
    point_indices = min(
        (first.sample_for(measure).silhouettes.point_indices for measure in silhouette_measures),
        key=len,
    )
    values, undefined = {}, {}
    for name, system in systems.items():
        samples = {str(measure): system.sample_for(measure) for measure in silhouette_measures}
        values[name] = {
            m: sample.values[np.searchsorted(sample.silhouettes.point_indices, point_indices)]
            for m, sample in samples.items()
        }
        if not np.isfinite(next(iter(values[name].values()))).all():
            point_reasons = {"one_cluster": tuple(range(len(point_indices)))}
            undefined[name] = dict.fromkeys(samples, point_reasons)
    return PerUnit("points", tuple(map(str, point_indices.tolist())), values, undefined=undefined)


def bisect_clusters(system: Clustering) -> Bisections:
    """Compute the gain of bisecting each cluster; large clusters are subsampled."""
    n_clusters = len(system.names)
    points, gains = np.zeros(n_clusters), np.zeros(n_clusters)
    rng = np.random.Generator(np.random.Philox(system.settings.seed))
    assert system.points is not None
    for k in range(n_clusters):
        rows = np.flatnonzero(system.cluster == k)
        if len(rows) > MAX_BISECTED_POINTS:
            rows = rows[rng.permutation(len(rows))[:MAX_BISECTED_POINTS]]
        points[k] = len(rows)
        if len(rows) >= MIN_CLUSTER_SIZE:
            centered_points = system.points[rows] - system.points[rows].mean(axis=0)
            centered_points = centered_points / max(float(np.abs(centered_points).max()), 1e-300)
            left_vectors = np.linalg.svd(centered_points, full_matrices=False)[0]
            gains[k] = bisection_gain(left_vectors[:, 0])
    return Bisections(system.names, points, gains)
