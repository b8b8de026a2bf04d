"""What clusters look like: the silhouettes of their points, and where the points are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.drawn import of_system
from calipers.once import Made, cached_property
from calipers.results import Curve

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray
    from calipers.systems.partitions import Clustering

#: So many clusters are drawn, those with most points.
MOST_CLUSTERS = 20
#: The silhouettes of a clustering are drawn as so many bars.
BARS = 400
#: So many points are projected.
MOST_POINTS = 1_000

SILHOUETTES, PROJECTION = "silhouettes", "projection"


@dataclass(frozen=True, eq=False)
class ClusterCurves(Made[Curve]):
    """The silhouettes of each cluster, by ``measure`` if there is one, and the points of each on
    their first two principal components; computed when they are first looked at."""

    systems: Sequence[Clustering]
    measure: Measure | None

    @cached_property
    def _made(self) -> tuple[Curve, ...]:
        made = []
        for s in self.systems:
            if self.measure is not None:
                made += silhouettes(s, self.measure)
        for s in self.systems:
            if self.projected is not None:
                made += projections(s, self.projected)
        return tuple(made)

    @cached_property
    def projected(self) -> Projection | None:
        """The points that are drawn, the same for all systems; of one feature there are none."""
        first = self.systems[0]
        if first.points is None or min(first.points.shape) < 2:
            return None
        return Projection.of(first.points, first.settings.seed, directions=first.metric == "cosine")


@dataclass(frozen=True, eq=False)
class Projection:
    """Some points on the two axes along which these vary most, and the share of their variance
    along each."""

    rows: IntArray
    at: FloatArray
    shares: tuple[float, float]
    whole: int

    @classmethod
    def of(cls, points: FloatArray, seed: int, *, directions: bool) -> Projection:
        """A sample of the points, which hangs on the seed alone; of ``directions`` their unit
        vectors."""
        n = len(points)
        random = np.random.Generator(np.random.Philox(seed))
        rows = np.sort(random.permutation(n)[:MOST_POINTS])
        unit = max(float(np.abs(points[rows]).max()), 1e-300)
        some = points[rows] / unit
        if directions:
            some, unit = some / np.sqrt(np.square(some).sum(axis=1, keepdims=True)), 1.0
        some = some - some.mean(axis=0)
        left, size, axes = np.linalg.svd(some, full_matrices=False)
        # An axis has two directions: the one in which its largest coordinate is above 0.
        largest = np.abs(axes[:2]).argmax(axis=1)
        sign = np.where(axes[np.arange(2), largest] < 0, -1.0, 1.0)
        total = float(np.square(size).sum())
        first, second = (np.square(size[:2]) / total).tolist() if total > 0 else (0.0, 0.0)
        return cls(rows, left[:, :2] * (size[:2] * sign * unit), (first, second), n)


def _drawn(system: Clustering) -> tuple[list[int], int]:
    """The clusters that are drawn, and how many there are if that is not all."""
    sizes = np.bincount(system.cluster, minlength=len(system.names))
    most = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    left_out = len(most) > MOST_CLUSTERS
    return np.sort(most[:MOST_CLUSTERS]).tolist(), len(most) if left_out else 0


def silhouettes(system: Clustering, measure: Measure) -> list[Curve]:
    """Those of the points of each cluster by size, the largest first; of many points the means of
    as many side by side. ``x`` numbers the points through all clusters."""
    of = system.over(measure)
    values = of.values
    if not np.isfinite(values).all():
        return []
    drawn, classes = _drawn(system)
    drawn = [k for k in drawn if (of.cluster == k).any()]  # of a sample there may be none
    own = [np.sort(values[of.cluster == k])[::-1] for k in drawn]
    total = sum(map(len, own))
    made, first = [], 0
    for k, sorted_values in zip(drawn, own, strict=True):
        n = len(sorted_values)
        bars = min(n, max(2, round(BARS * n / total)))
        edges = np.unique(np.linspace(0, n, bars + 1).round().astype(int))
        y = np.add.reduceat(sorted_values, edges[:-1]) / np.diff(edges)
        parts: dict[str, Any] = {"x": (first + edges).astype(np.float64), "y": np.append(y, 0.0)}
        mean = float(values.mean())
        parts["references"] = {"mean": [[0.0, mean], [float(total), mean]]}
        labels = "Point", str(measure)
        made.append(
            of_system(
                system, SILHOUETTES, *labels,
                series=system.names[k], shape="bars", classes=classes,
                areas={"points": float(len(system.cluster))}, **parts,
            )
        )  # fmt: skip
        first += n
    return made


def projections(system: Clustering, projected: Projection) -> list[Curve]:
    """The points of each cluster; those of clusters that are not drawn are a series without
    name."""
    drawn, classes = _drawn(system)
    cluster = system.cluster[projected.rows]
    labels = [
        f"{which} component, {share:.0%} of the variance"
        for which, share in zip(("First", "Second"), projected.shares, strict=True)
    ]
    series = [(system.names[k], cluster == k) for k in drawn]
    if classes:
        series.append(("", ~np.isin(cluster, drawn)))
    return [
        of_system(
            system, PROJECTION, labels[0], labels[1],
            x=projected.at[own, 0], y=projected.at[own, 1], series=name, classes=classes,
            areas={"points": float(projected.whole)},
        )
        for name, own in series
    ]  # fmt: skip
