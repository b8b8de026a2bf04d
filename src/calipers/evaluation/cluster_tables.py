"""Tables of clusterings in addition to estimates: per cluster and per point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluation.estimates import estimate_measure
from calipers.findings.clusters import ENOUGH, Bisections, bisection_gain
from calipers.inference.method_limits import MOST_POINTS, SAMPLED_POINTS
from calipers.report.numbers import format_count
from calipers.report.safe_names import join_words
from calipers.results import LabelTable, PerUnit

if TYPE_CHECKING:
    from calipers.data.class_labels import EncodedLabels
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray
    from calipers.systems.clustering import Clustering

#: Of more clusters, or more classes, nobody would read a table.
MOST_CLUSTERS, MOST_CLASSES = 1_000, 100
#: So many points of a cluster are looked at for two groups in it.
MOST_CUT = 1_000
#: The intervals of a table may take so many numbers, points × clusters.
MOST_NUMBERS = 20_000_000


#: What algorithms call points that are in no cluster, and what may become of these.
NOISE, NOISE_MAY_BE = "-1", ("cluster", "drop")


def drop_noise(
    given: Mapping[str, EncodedLabels],
    noise: str,
    repeats: RowRepeats,
    held: FloatArray | None = None,
) -> tuple[RowRepeats, list[str], dict[str, tuple[IntArray, tuple[str, ...]]]]:
    """Handle points labelled −1 as a cluster or drop them.

    Parameters
    ----------
    given : mapping of str to EncodedLabels
        Encoded labels of each clustering.
    noise : {'cluster', 'drop'}
        ``"cluster"`` treats −1 as a cluster, ``"drop"`` removes points that are noise in any
        clustering.
    repeats : RowRepeats
        Frequencies of the points.
    held : ndarray, optional
        Number of equal points that each row represents.

    Returns
    -------
    repeats : RowRepeats
        Frequencies of the remaining points.
    notes : list of str
        Notes on what was done.
    clusters : dict
        For each clustering the cluster of each of these points, and the names of the clusters.
    """
    if noise not in NOISE_MAY_BE:
        raise InputError(f"noise is {noise!r}, expected one of {', '.join(NOISE_MAY_BE)}")
    found = {name: of.names.index(NOISE) for name, of in given.items() if NOISE in of.names}
    lost = np.zeros(repeats.rows, bool)
    for name, place in found.items():
        lost |= given[name].codes == place
    number = np.ones(repeats.rows) if held is None else held
    who, rows = join_words([*found] or [""]), int(repeats(number * lost).sum())
    notes = []
    if found and noise == "cluster":
        notes.append(
            f"{who}: the {format_count(rows, 'points')} called −1 are a cluster here, as in "
            "scikit-learn; "
            "noise='drop' leaves them out."
        )
    elif found:
        whole = int(repeats(number).sum())
        places = np.arange(repeats.rows) if repeats.places is None else repeats.places
        repeats = RowRepeats(repeats.rows, places[~lost[places]])
        if not repeats.number:
            raise InputError(f"{who}: all points are called −1, and noise is to be dropped")
        notes.append(
            f"Left out: {rows:,} of {format_count(whole, 'points')} that are noise in {who}."
        )
    made = {}
    for name, of in given.items():
        code, names = np.asarray(repeats(of.codes), np.int64), of.names
        if noise == "drop" and name in found:
            place = found[name]
            code, names = code - (code > place), (*names[:place], *names[place + 1 :])
        made[name] = code, names
    return repeats, notes, made


def sample_points(sample: int | None, points: int, seed: int) -> Any:
    """Return the sorted indices of sampled points for silhouettes, or None for all points."""
    if sample is not None and sample < 2:
        raise InputError(f"sample is {sample}, expected 2 points or more")
    if sample is None:
        sample = points if points <= MOST_POINTS else SAMPLED_POINTS
    if sample >= points:
        return None
    return np.sort(np.random.Generator(np.random.Philox(seed)).permutation(points)[:sample])


def clustering_notes(systems: Mapping[str, Clustering], near: Iterable[Measure]) -> list[str]:
    """Return notes on silhouettes of sampled points and on tables that were omitted."""
    notes, first = [], next(iter(systems.values()))
    for measure in near:
        of = first.sample_for(measure).silhouettes
        if of.sample_indices is not None:
            notes.append(
                f"{measure}: the mean over {len(of.point_indices):,} points drawn at random from "
                f"{len(of.cluster):,}, each with its distances to all; sample= says how many."
            )
    for name, system in systems.items():
        if len(system.names) > MOST_CLUSTERS:
            notes.append(
                f"{name}: there is no table of its {len(system.names):,} clusters, as of more than "
                f"{MOST_CLUSTERS:,}."
            )
    return notes


def cluster_table(systems: Iterable[Clustering], near: Iterable[Measure]) -> tuple[LabelTable, ...]:
    """Return a table for each clustering: size, classes and silhouette of each cluster."""
    near = list(near)
    return tuple(_table(s, near) for s in systems if len(s.names) <= MOST_CLUSTERS)


def _table(system: Clustering, near: Sequence[Measure]) -> LabelTable:
    number, counts = len(system.names), {}
    if system.truth is not None and len(system.classes) <= MOST_CLASSES:
        for at, name in enumerate(system.classes):
            counts[name] = system.take_rows(system.truth == at).sizes
    parts: dict[str, dict[str, Any]] = {"values": {}, "low": {}, "high": {}}
    for measure in near:
        found = np.array(list(_cluster_rows(system, measure))).T
        for part, column in zip(parts.values(), found, strict=True):
            part[str(measure)] = column
    if system.stability is not None:
        none = np.full(number, np.nan)
        for part, column in zip(
            parts.values(), (system.stability.jaccard, none, none), strict=True
        ):
            part["Jaccard"] = column
    level, name = system.settings.level, system.name
    return LabelTable(name, system.names, system.sizes, counts, **parts, level=level, of="cluster")


def _cluster_rows(system: Clustering, measure: Measure) -> Iterator[tuple[float, float, float]]:
    """Yield the value of each cluster with the limits of its interval."""
    if len(system.names) * system.n_rows > MOST_NUMBERS:
        system = system.with_settings(replace(system.settings, interval="none", methods=()))
    for name in system.names:
        own = replace(measure, label=name)
        e = estimate_measure(system, own, system.point_estimate(own))
        yield e.value, e.low, e.high


def point_silhouettes(systems: Mapping[str, Clustering], near: Sequence[Measure]) -> PerUnit:
    """Return the silhouette of each (sampled) point by row number."""
    if not near:
        raise InputError("per_point= is about silhouettes, and none is among the measures")
    first = next(iter(systems.values()))
    at = min((first.sample_for(measure).silhouettes.point_indices for measure in near), key=len)
    values, undefined = {}, {}
    for name, system in systems.items():
        found = {str(measure): system.sample_for(measure) for measure in near}
        values[name] = {
            m: of.values[np.searchsorted(of.silhouettes.point_indices, at)]
            for m, of in found.items()
        }
        if not np.isfinite(next(iter(values[name].values()))).all():
            why = {"one_cluster": tuple(range(len(at)))}
            undefined[name] = dict.fromkeys(found, why)
    return PerUnit("points", tuple(map(str, at.tolist())), values, undefined=undefined)


def bisect_clusters(system: Clustering) -> Bisections:
    """Compute the gain of bisecting each cluster; large clusters are subsampled."""
    number = len(system.names)
    points, shares = np.zeros(number), np.zeros(number)
    random = np.random.Generator(np.random.Philox(system.settings.seed))
    assert system.points is not None
    for k in range(number):
        rows = np.flatnonzero(system.cluster == k)
        if len(rows) > MOST_CUT:
            rows = rows[random.permutation(len(rows))[:MOST_CUT]]
        points[k] = len(rows)
        if len(rows) >= ENOUGH:
            some = system.points[rows] - system.points[rows].mean(axis=0)
            some = some / max(float(np.abs(some).max()), 1e-300)
            left = np.linalg.svd(some, full_matrices=False)[0]
            shares[k] = bisection_gain(left[:, 0])
    return Bisections(system.names, points, shares)
