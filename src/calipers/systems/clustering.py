"""Clusterings of points."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.class_labels import NOISE_LABEL
from calipers.data.errors import InputError
from calipers.estimation.cluster_densities import DensitySeparations
from calipers.estimation.cluster_geometry import ClusterDispersion, ClusterExtremes
from calipers.estimation.distances import DistanceMatrix, PointDistances
from calipers.estimation.partitions import PartitionRows
from calipers.estimation.silhouettes import MeanSilhouette, Silhouettes, SimplifiedSilhouettes
from calipers.lazy_dataclasses import dataclass
from calipers.systems.base import NAN, SystemOutput, best_constant_value

if TYPE_CHECKING:
    from typing_extensions import Self

    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Clustering(SystemOutput):
    """One clustering of some points.

    Attributes
    ----------
    name : str
        Name of the clustering.
    cluster : array of int of shape (n,)
        Cluster of each point, as an index of ``names``.
    names : tuple of str
        Names of the clusters.
    settings : Settings
        Settings of inference.
    truth : array of int of shape (n,), optional
        True class of each point, as an index of ``classes``.
    classes : tuple of str, optional
        Names of the classes.
    points : array of shape (n, n_features), optional
        Coordinates of the points.
    metric : str, default='euclidean'
        Distance between points.
    distances : array of shape (n, n), optional
        Distances of the points.
    sample_indices : array of int, optional
        Indices of the points whose silhouettes are computed.
    stability : Stability, optional
        Stability of the clusters under resampling.
    point_counts : array of shape (n,), optional
        Number of points of each entry; by default 1.
    cluster_totals : object, optional
        Accumulated statistics of streamed points.
    measures : tuple of Measure, optional
        Requested measures, which are bootstrapped together.
    """

    name: str
    cluster: IntArray
    names: tuple[str, ...]
    settings: Settings
    truth: IntArray | None = None
    classes: tuple[str, ...] = ()
    points: FloatArray | None = None
    metric: str = "euclidean"
    distances: Any = None
    sample_indices: IntArray | None = None
    #: Stability of its clusters, if it was computed.
    stability: Any = None
    #: Number of points of each entry; None if it is 1.
    point_counts: FloatArray | None = None
    #: Accumulated statistic of points that are not stored.
    cluster_totals: Any = None
    weight: None = None
    clusters: None = None
    measures: tuple[Measure, ...] = ()

    unit: ClassVar = "points"
    columns: ClassVar = ("cluster", "truth", "points", "point_counts")
    output_fields: ClassVar = {"cluster": np.int64, "names": None}
    needs: ClassVar = {
        "partitions": ("truth", "the true class of each point: truth="),
        "points": ("points", "the points: features="),
        "pairs": (
            "distance_source",
            "the points, or the distances of any two: features= or distances=",
        ),
        "densities": ("points", "the points: features="),
        "distances": (
            "distance_source",
            "the points, or the distances of any two: features= or distances=",
        ),
    }

    @property
    def distance_source(self) -> Any:
        """Points or matrix from which distances are computed."""
        if self.cluster_totals is not None:
            return self.cluster_totals
        return self.distances if self.points is None else self.points

    @property
    def sizes(self) -> FloatArray:
        """Number of points in each cluster."""
        return np.bincount(self.cluster, self.point_counts, len(self.names)).astype(np.float64)

    def check_measure(self, measure: Measure) -> None:
        """Check that the data suffice for a measure."""
        if self.cluster_totals is not None:
            return
        super().check_measure(measure)
        if measure.definition.reads == "distances" and self.points is None:
            parameters = measure.parameters
            if parameters["to"] != "points" or parameters["exponent"] != 1:
                raise InputError(f"{self.name}: {measure} needs {self.needs['points'][1]}")

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the class of each point, the classes, and a digest of the points."""
        points = self.points if self.points is not None else self.distances
        digest = {} if points is None else {"points": _digest(points)}
        return self.truth, {"classes": list(self.classes), **digest}

    def with_outputs(self, name: str, outputs: Mapping[str, Any]) -> Self:
        """Return another clustering of the same points."""
        names, cluster = tuple(map(str, outputs["names"])), outputs["cluster"]
        if not ((cluster >= 0) & (cluster < len(names))).all():
            raise ValueError("it has points in no cluster")
        return self._with(name=name, cluster=cluster, names=names, stability=None)

    def sample_for(self, measure: Measure) -> Any:
        """Return the contingency table of clusters and classes, or the cluster geometry."""
        reads = measure.definition.reads
        if reads == "partitions":
            return self.partition_sample
        if self.cluster_totals is not None:
            return self.cluster_totals.sample_for(measure)
        if reads == "points":
            return self.cached("dispersion", self._dispersion)
        if reads == "pairs":
            return self.cached("extremes", self._extremes)
        if reads == "densities":
            return self.cached("densities", self._densities)
        parameters, cluster_index = measure.parameters, None
        if measure.label is not None:
            cluster_index = self.names.index(measure.label) if measure.label in self.names else -1
        key = parameters["to"], parameters["exponent"]
        silhouettes = self.cached(("near", *key), lambda: self._silhouettes(*key))
        return self.cached(
            ("mean", *key, cluster_index), lambda: MeanSilhouette(silhouettes, cluster_index)
        )

    def _dispersion(self) -> ClusterDispersion:
        assert self.points is not None
        return ClusterDispersion(self.points, self.cluster, len(self.names), self.settings)

    def _extremes(self) -> ClusterExtremes:
        return ClusterExtremes(self.cluster, self._geometry(self.metric), self.settings)

    def _densities(self) -> DensitySeparations:
        assert self.points is not None
        noise = self.names.index(NOISE_LABEL) if NOISE_LABEL in self.names else None
        rows = self.points, self.cluster, len(self.names), self.metric
        return DensitySeparations(*rows, noise, self.settings)

    def _geometry(self, metric: str) -> PointDistances | DistanceMatrix:
        if self.points is None:
            return DistanceMatrix(self.distances, len(self.names))
        return PointDistances(self.points, metric, len(self.names))

    def _silhouettes(self, to: str, exponent: int) -> Silhouettes | SimplifiedSilhouettes:
        n_clusters = len(self.names)
        sizes = np.bincount(self.cluster, minlength=n_clusters).astype(np.float64)
        rows = self.cluster, sizes
        if to == "centers":
            assert self.points is not None
            return SimplifiedSilhouettes(*rows, self.points, self.settings)
        metric = "sqeuclidean" if exponent == 2 else self.metric
        is_quick = self.points is not None and metric == "sqeuclidean"
        sampled = None if is_quick else self.sample_indices
        return Silhouettes(*rows, self._geometry(metric), self.settings, sampled)

    @property
    def partition_sample(self) -> PartitionRows:
        """Sample of both partitions, resampled once for all measures of them."""
        assert self.truth is not None
        truth, partition_measures = (
            self.truth,
            tuple(m for m in self.measures if m.definition.reads == "partitions"),
        )

        def make() -> PartitionRows:
            rows = truth, self.cluster, self.classes, self.names
            influence = None if self.cluster_totals is None else self.cluster_totals.influence
            return PartitionRows(
                *rows, self.settings, partition_measures, self.point_counts, influence
            )

        return self.cached("meeting", make)

    def constant_value(self, measure: Measure) -> float:
        """Return the value of a single cluster with all points."""
        if measure.definition.reads != "partitions":
            return NAN
        return best_constant_value(measure, self.partition_sample.statistic.single_cluster())


def _digest(points: Any) -> str:
    """Return a digest that identifies points or distances, which may be mapped from a file."""
    digest = sha256()
    for row in points:
        digest.update(np.ascontiguousarray(row, np.float64).tobytes())
    return digest.hexdigest()
