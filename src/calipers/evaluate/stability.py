"""Whether clusters are found again where points are drawn anew (Hennig 2007)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import same_length
from calipers.data.class_labels import coded
from calipers.data.errors import InputError, did_you_mean, shown
from calipers.evaluate.clusters import NOISE
from calipers.findings.clusters import STABLE, UNSTABLE, Stability
from calipers.measures import parse
from calipers.statistics import ContingencyTable

if TYPE_CHECKING:
    from calipers.statistics import FloatArray, IntArray
    from calipers.systems.clustering import Clustering


def reclusters(given: Any, systems: Mapping[str, Any]) -> dict[str, Callable[[Any], Any]]:
    """How each clustering is made again, by name."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(systems) > 1:
            raise InputError(
                "recluster: there are several clusterings; expected a dict from their names "
                f"({', '.join(systems)}) to how each is made"
            )
        given = dict.fromkeys(systems, given)
    made = {}
    for name, how in given.items():
        if name not in systems:
            meant = did_you_mean(str(name), systems)
            raise InputError(f"recluster: {name!r} is no system; {meant}")
        if isinstance(how, type) or not (hasattr(how, "fit_predict") or callable(how)):
            raise InputError(
                f"recluster: is {shown(how)}, expected a function from points to their clusters, "
                "or an estimator with fit_predict"
            )
        made[name] = how if not hasattr(how, "fit_predict") else _fitted(how)
    return made


def _fitted(estimator: Any) -> Callable[[Any], Any]:
    return lambda points: copy.deepcopy(estimator).fit_predict(points)


def stability_of(system: Clustering, how: Callable[[Any], Any], times: int) -> Stability:
    """Points are drawn with replacement, those that are drawn clustered anew, each once. Of each
    cluster the mean, over the draws, of its largest Jaccard index with a new one among these
    points, noise left out; and of the ARI of both clusterings."""
    if times < 10:
        raise InputError(f"reclusterings is {times}, expected 10 or more")
    points, n, k = system.points, system.number, len(system.names)
    if points is None:
        raise InputError(f"{system.name}: recluster= needs {system.needs['points'][1]}")
    random = np.random.Generator(np.random.Philox(system.settings.seed))
    jaccard, rand, ari = np.full((times, k), np.nan), np.zeros(times), parse("ARI", "partitions")
    for b in range(times):
        rows = np.unique(random.integers(0, n, n))
        found = coded(np.asarray(how(points[rows])), "what recluster= gave")
        same_length(found.codes, len(rows), "what recluster= gave", "the points drawn are")
        own, code = system.cluster[rows], np.asarray(found.codes, np.int64)
        table = ContingencyTable.from_codes(own, code, system.names, found.names)
        rand[b] = ari.apply(table)
        jaccard[b] = _likest(own, code, k, found.names)
    known = np.isfinite(jaccard)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, jaccard, 0.0).sum(axis=0) / known.sum(axis=0)
    return Stability(system.names, mean, float(rand.mean()), times)


def _likest(own: IntArray, code: IntArray, clusters: int, names: Sequence[str]) -> FloatArray:
    """The largest Jaccard index of each cluster with a new one; NaN where none of its points is
    there."""
    both = np.zeros((clusters, len(names)))
    np.add.at(both, (own, code), 1.0)
    there = both.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        index = both / (there + both.sum(axis=0) - both)
    index[:, [name == NOISE for name in names]] = 0.0
    return np.where(there[:, 0] > 0, index.max(axis=1), np.nan)


def said_of(system: Clustering) -> str:
    """What stands in the notes."""
    of = system.stability
    assert of is not None
    low, high = float(np.nanmin(of.jaccard)), float(np.nanmax(of.jaccard))
    return (
        f"{system.name}: clustered anew {of.times} times, of points drawn with replacement and "
        f"used once: mean ARI with this clustering {of.rand:.2f}, mean Jaccard index of its "
        f"clusters {low:.2f} to {high:.2f}. Below {UNSTABLE} a cluster is not stable, above "
        f"{STABLE} it is (Hennig 2007)."
    )
