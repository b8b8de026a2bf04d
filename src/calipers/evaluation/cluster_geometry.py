"""Cluster geometry of a stream: dispersion, silhouettes and influence values in three passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.data.arrow_types import decode_dictionary
from calipers.data.points import to_points
from calipers.engines.base import Engine, Mergeable
from calipers.engines.gram_matrix import (
    GramInfluence,
    Request,
    as_linear_combination,
    gram_columns,
    inner_products,
)
from calipers.engines.pass_tasks import SquaredNorm
from calipers.estimation.cluster_geometry import ClusterDispersion, estimate_geometry
from calipers.estimation.partitions import PartitionRows
from calipers.estimation.silhouettes import MeanSilhouette, SimplifiedSilhouettes
from calipers.inference.variance_estimators import Influence
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ClusterMoments, MajorityValue, Moments, UnitDifferences
from calipers.statistics.base import dot

if TYPE_CHECKING:
    from calipers.data.streams import Batch
    from calipers.evaluation.stream_rows import BatchReader
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, IntArray
    from calipers.systems.clustering import Clustering


@dataclass(frozen=True, eq=False)
class CenteredMoments(Mergeable):
    """Cluster moments, directions from the centers, and silhouettes of each clustering.

    ``direction_sums`` are the sums, by cluster, of the unit vectors from the center to the points;
    ``center_gradients`` are the derivatives of the sum of silhouettes by the positions of the
    centers.
    """

    moments: Mapping[str, ClusterMoments]
    direction_sums: Mapping[str, FloatArray]
    silhouettes: Mapping[str, Moments]
    center_gradients: Mapping[str, FloatArray]

    def __add__(self, other: CenteredMoments) -> CenteredMoments:
        field_pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return CenteredMoments(
            *({name: first[name] + second[name] for name in first} for first, second in field_pairs)
        )


@dataclass(frozen=True, eq=False)
class InfluenceProducts(Mergeable):
    """Inner products of influence columns, sums of their cubes, and distributions of differences.

    ``unit_differences`` has the distribution of the differences of two columns, by their positions.
    """

    products: FloatArray
    cubes: FloatArray
    unit_differences: Mapping[tuple[int, int], UnitDifferences]

    def __add__(self, other: InfluenceProducts) -> InfluenceProducts:
        differing = {
            k: differences + other.unit_differences[k]
            for k, differences in self.unit_differences.items()
        }
        return InfluenceProducts(
            self.products + other.products, self.cubes + other.cubes, differing
        )


@dataclass(frozen=True, eq=False)
class _PointReader:
    """Reader of the points of a batch and of their cluster in every clustering.

    Points of noise are skipped if noise is dropped.
    """

    labels: Mapping[str, str]
    features: tuple[str, ...]
    codes: Mapping[str, tuple[Any, IntArray]]
    truth: tuple[str, Any, IntArray] | None
    #: Reads the rows that are complete, where others are left out.
    read_batch: BatchReader | None = None

    def __call__(self, batch: Batch) -> tuple[FloatArray, dict[str, IntArray], IntArray | None]:
        """Return the points of a batch, their cluster in each clustering, and their class."""
        columns, points = self.read_points(batch)
        clusters_by_name = {}
        for name, column in self.labels.items():
            clusters_by_name[name] = _label_codes(columns[column], *self.codes[name])
        truth = (
            None if self.truth is None else _label_codes(columns[self.truth[0]], *self.truth[1:])
        )
        clustered_mask = np.logical_and.reduce([codes >= 0 for codes in clusters_by_name.values()])
        if clustered_mask.all():
            return points, clusters_by_name, truth
        selected_clusters = {
            name: codes[clustered_mask] for name, codes in clusters_by_name.items()
        }
        return (
            points[clustered_mask],
            selected_clusters,
            None if truth is None else truth[clustered_mask],
        )

    def read_points(self, batch: Batch) -> tuple[Mapping[str, Any], FloatArray]:
        """Return the columns of a batch, and its points."""
        with batch.located_errors():
            columns = (
                batch.columns if self.read_batch is None else self.read_batch.drop_incomplete(batch)
            )
            features = {name: columns[name] for name in self.features}
            n_rows = len(next(iter(features.values())))
            points = to_points(features, "features") if n_rows else np.zeros((0, len(features)))
        return columns, points


def _label_codes(column: Any, values: Any, codes: IntArray) -> IntArray:
    import pyarrow.compute as pc

    indices = pc.index_in(decode_dictionary(column).cast(values.type), value_set=values)
    return np.asarray(codes[indices.to_numpy()], np.int64)


@dataclass(frozen=True, eq=False)
class _PointTask:
    """Pass over the points: base of the tasks that use the results of earlier passes."""

    read_points: _PointReader
    #: The number of points of each cluster.
    sizes: Mapping[str, FloatArray]
    settings: Settings
    centers: Mapping[str, FloatArray] | None = None
    total_moments: CenteredMoments | None = None

    def samples(
        self, batch: Batch
    ) -> tuple[
        dict[str, tuple[ClusterDispersion, MeanSilhouette]], IntArray | None, dict[str, IntArray]
    ]:
        """Return the samples of dispersion and silhouettes of a batch for each clustering."""
        points, clusters_by_name, truth = self.read_points(batch)
        samples_by_name = {}
        for name, cluster in clusters_by_name.items():
            sizes, totals = self.sizes[name], self.total_moments
            # Moments of any centers add up if these are the same.
            centers = np.zeros((len(sizes), points.shape[1]))
            if self.centers is not None:
                centers = self.centers[name]
            direction_sums = None if totals is None else totals.direction_sums[name]
            center_gradients = None if totals is None else totals.center_gradients[name]
            dispersion = ClusterDispersion(
                points, cluster, len(sizes), self.settings, centers, direction_sums
            )
            silhouettes = SimplifiedSilhouettes(
                cluster, sizes, points, self.settings, centers, center_gradients
            )
            samples_by_name[name] = dispersion, MeanSilhouette(silhouettes)
        return samples_by_name, truth, clusters_by_name


class _MomentsTask(_PointTask):
    """First pass: the moments of clusters."""

    def __call__(self, batch: Batch) -> CenteredMoments:
        """Return the cluster moments of a batch."""
        moments = {
            name: dispersion.statistic for name, (dispersion, _) in self.samples(batch)[0].items()
        }
        return CenteredMoments(moments, {}, {}, {})

    def check(self, batch: Batch) -> None:
        """Check the features of a batch, of which some rows have a count of 0."""
        self.read_points(batch)


class _CenterTask(_PointTask):
    """Second pass: statistics that depend on the positions of the centers."""

    def __call__(self, batch: Batch) -> CenteredMoments:
        """Return the moments, directions and silhouettes of a batch about the known centers."""
        samples_by_name = self.samples(batch)[0]
        return CenteredMoments(
            {name: dispersion.statistic for name, (dispersion, _) in samples_by_name.items()},
            {
                name: dispersion.batch_unit_vector_sums
                for name, (dispersion, _) in samples_by_name.items()
            },
            {name: silhouette.statistic for name, (_, silhouette) in samples_by_name.items()},
            {
                name: silhouette.silhouettes.center_derivatives(None)  # type: ignore[union-attr]
                for name, (_, silhouette) in samples_by_name.items()
            },
        )


@dataclass(frozen=True, eq=False)
class _InfluenceTask(_PointTask):
    """Third pass: the influence of each point on the values of measures, given the totals."""

    requests: tuple[Request, ...] = ()
    #: All points by class and cluster, of each clustering.
    partitions: Mapping[str, PartitionRows] | None = None
    #: The most frequent differences of points, if another pass counts them.
    known_values: Mapping[tuple[int, int], tuple[MajorityValue, ...]] = field(default_factory=dict)

    def influence_columns(self, batch: Batch) -> dict[Request, FloatArray]:
        """Return the influence columns whose inner products are accumulated."""
        return gram_columns(self._influences(batch))

    def _influences(self, batch: Batch) -> dict[Request, Influence]:
        samples_by_name, truth, clusters = self.samples(batch)
        influences = {}
        for name, measure in self.requests:
            influence = self._influence(name, measure, samples_by_name[name], truth, clusters[name])
            assert influence is not None
            influences[name, measure] = influence
        return influences

    def _influence(
        self,
        name: str,
        measure: Measure,
        samples: tuple[ClusterDispersion, MeanSilhouette],
        truth: IntArray | None,
        cluster: IntArray,
    ) -> Influence | None:
        assert self.total_moments is not None
        dispersion, silhouette = samples
        if measure.definition.reads == "points":
            return dispersion.influence(measure, self.total_moments.moments[name])
        if measure.definition.reads == "distances":
            return silhouette.influence(measure, self.total_moments.silhouettes[name])
        assert self.partitions is not None
        assert truth is not None
        all_points = self.partitions[name]
        batch_points = replace(all_points, truth=truth, cluster=cluster, point_counts=None)
        return batch_points.influence(measure, all_points.statistic)

    def __call__(self, batch: Batch) -> InfluenceProducts:
        """Return the inner products of the influence columns of a batch."""
        influences = self._influences(batch)
        cubes = np.array([float((influence.column**3).sum()) for influence in influences.values()])
        products = inner_products(list(gram_columns(influences).values()))
        return InfluenceProducts(products, cubes, self._unit_differences(list(influences.items())))

    def _unit_differences(
        self, influences: Sequence[tuple[Request, Influence]]
    ) -> dict[tuple[int, int], UnitDifferences]:
        """Return the unit differences of every two clusterings for each measure of points."""
        number = float(next(iter(self.sizes.values())).sum())
        return {
            (j, k): UnitDifferences.from_influence_values(
                (later - earlier).unit_values(number),
                known_values=self.known_values.get((j, k), ()),
            )
            for j, ((_, measure), later) in enumerate(influences)
            for k, ((_, other_measure), earlier) in enumerate(influences[:j])
            if measure == other_measure and measure.definition.reads != "partitions"
        }


@dataclass(frozen=True, eq=False)
class _InfluenceCombination:
    """Task for the squared norm of a linear combination of influence columns."""

    influence_task: _InfluenceTask
    combination: FloatArray

    def __call__(self, batch: Batch) -> SquaredNorm:
        """Return the squared norm over a batch."""
        columns = zip(
            self.combination, self.influence_task.influence_columns(batch).values(), strict=True
        )
        combined_column = np.asarray(sum(factor * column for factor, column in columns if factor))
        return SquaredNorm(dot(combined_column, combined_column))


@dataclass(frozen=True, eq=False)
class StreamedClusterGeometry:
    """Cluster geometry of clusterings whose points are read by an engine.

    ``labels`` and ``features`` are the columns to read, ``codes`` the distinct labels with the
    cluster of each, and ``systems`` the clusterings with their contingency tables.
    """

    engine: Engine
    labels: Mapping[str, str]
    features: tuple[str, ...]
    codes: Mapping[str, tuple[Any, IntArray]]
    systems: Mapping[str, Clustering]
    measures: tuple[Measure, ...]
    truth: tuple[str, Any, IntArray] | None
    #: What else has to be read.
    extra_columns: tuple[str, ...] = ()
    #: Reads the rows that are complete, where others are left out.
    read_batch: BatchReader | None = None

    def with_totals(self) -> dict[str, Clustering]:
        """Return the clusterings, each with the totals of its points."""
        return {
            name: replace(clustering, cluster_totals=ClusterTotals(self, name))
            for name, clustering in self.systems.items()
        }

    def _reduce(self, work: Any, description: str) -> Any:
        truth = () if self.truth is None else (self.truth[0],)
        names = (*self.labels.values(), *self.features, *truth, *self.extra_columns)
        return self.engine.reduce(work, list(dict.fromkeys(names)), description=description)

    @cached_property
    def _moments_pass(self) -> _MomentsTask:
        points = _PointReader(self.labels, self.features, self.codes, self.truth, self.read_batch)
        first_system = next(iter(self.systems.values()))
        return _MomentsTask(
            points,
            {name: clustering.sizes for name, clustering in self.systems.items()},
            first_system.settings,
        )

    @cached_property
    def total_moments(self) -> CenteredMoments:
        """Totals of all points, from the first and second pass."""
        first_result = self._reduce(self._moments_pass, "finding centers")
        centers = {name: moments.mean for name, moments in first_result.moments.items()}
        moments_pass = self._moments_pass
        center_pass = _CenterTask(
            moments_pass.read_points, moments_pass.sizes, moments_pass.settings, centers
        )
        totals: CenteredMoments = self._reduce(center_pass, "measuring points")
        return totals

    @cached_property
    def requests(self) -> list[Request]:
        """Pairs (clustering, measure) with a finite value, whose influence values are computed."""
        return [
            (name, measure)
            for name in self.systems
            for measure in self.measures
            if np.isfinite(self._value(name, measure))
        ]

    def _value(self, name: str, measure: Measure) -> float:
        return float(measure.plain.apply(self.statistic(name, measure)))

    def statistic(self, name: str, measure: Measure) -> Any:
        """Return the statistic that a measure of one clustering is a formula over."""
        reads = measure.definition.reads
        if reads == "partitions":
            return self.systems[name].partition_sample.statistic
        return (
            self.total_moments.moments if reads == "points" else self.total_moments.silhouettes
        )[name]

    @cached_property
    def _influence_task(self) -> _InfluenceTask:
        first, totals = self._moments_pass, self.total_moments
        centers = {name: entry.centers for name, entry in totals.moments.items()}
        meetings = None
        if self.truth is not None:
            meetings = {name: entry.partition_sample for name, entry in self.systems.items()}
        pass_fields = first.read_points, first.sizes, first.settings, centers, totals
        return _InfluenceTask(*pass_fields, tuple(self.requests), meetings)

    @cached_property
    def influence_products(self) -> InfluenceProducts:
        """Inner products of the influence of points on all values, from the third pass."""
        products: InfluenceProducts = self._reduce(
            self._influence_task, "computing influence values"
        )
        if all(differences.is_certain for differences in products.unit_differences.values()):
            return products
        known_values = {
            pair: differences.classes for pair, differences in products.unit_differences.items()
        }
        exact_products: InfluenceProducts = self._reduce(
            replace(self._influence_task, known_values=known_values), "counting points"
        )
        return exact_products

    def _squared_norm(self, combination: FloatArray) -> float:
        norm: SquaredNorm = self._reduce(
            _InfluenceCombination(self._influence_task, combination), "combining influence values"
        )
        return norm.squares

    @cached_property
    def _gram_influence(self) -> GramInfluence:
        return GramInfluence(
            inner_products=self.influence_products.products, recompute_norm=self._squared_norm
        )

    def influence(self, name: str, measure: Measure) -> Influence | None:
        """Return the influence of points on a value, as a combination of columns not stored."""
        if (name, measure) not in self.requests or not self.engine.is_rereadable:
            return None
        method = "Student t"
        return Influence(
            as_linear_combination((name, measure), self.requests), self._gram_influence, method
        )

    def unit_differences(self, measure: Measure, first: str, second: str) -> UnitDifferences | None:
        """Return the differences of influence of points on the values of two clusterings."""
        requests = (first, measure), (second, measure)
        if not self.engine.is_rereadable or not all(
            request in self.requests for request in requests
        ):
            return None
        j, k = map(self.requests.index, requests)
        differences = self.influence_products.unit_differences.get((max(j, k), min(j, k)))
        if differences is None or j > k:
            return differences
        return replace(differences, spread=differences.spread.transform(0.0, factor=-1.0))

    def skewness(self, name: str, measure: Measure) -> float:
        """Return the skewness of the influence of points on a value, divided by √n."""
        influence = self.influence(name, measure)
        if influence is None:
            return 0.0
        cubes = float(self.influence_products.cubes[self.requests.index((name, measure))])
        error = influence.standard_error.se
        return abs(cubes) / error**3 if error > 0 else 0.0


@dataclass(frozen=True, eq=False)
class ClusterTotals:
    """Totals of the points of one clustering."""

    geometry: StreamedClusterGeometry
    name: str

    def sample_for(self, measure: Measure) -> _TotalsSample:
        """Return the sample of a measure of points."""
        return _TotalsSample(self.geometry, self.name, measure)

    def influence(self, measure: Measure) -> Influence | None:
        """Return the influence of points on the value of a measure."""
        return self.geometry.influence(self.name, measure)


@dataclass(frozen=True, eq=False)
class _TotalsSample:
    """Sample of a measure of points that are not in memory: its statistic."""

    geometry: StreamedClusterGeometry
    name: str
    measure: Measure

    @property
    def statistic(self) -> Any:
        """Statistic that the measure is a formula over."""
        return self.geometry.statistic(self.name, self.measure)

    @property
    def cluster(self) -> IntArray:
        """Cluster of each combination of equal points."""
        return self.geometry.systems[self.name].cluster

    @property
    def point_counts(self) -> FloatArray | None:
        """Number of points of each combination."""
        return self.geometry.systems[self.name].point_counts

    def row_values(self, measure: Measure) -> None:
        """Return None, because points are not in memory."""

    def influence(self, measure: Measure, total: Any = None) -> Influence | None:
        """Return the influence of points on the value."""
        return self.geometry.influence(self.name, self.measure)

    def skewness(self, measure: Measure) -> float:
        """Return the skewness of the influence values, divided by √n."""
        return self.geometry.skewness(self.name, self.measure)

    def unit_differences(self, second: _TotalsSample) -> UnitDifferences | None:
        """Return the distribution of the differences from another clustering."""
        return self.geometry.unit_differences(self.measure, self.name, second.name)

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of the measure."""
        settings = self.geometry.systems[self.name].settings
        n = int(self.geometry.systems[self.name].sizes.sum())
        return estimate_geometry(measure.plain, self.statistic, n, settings, self)
