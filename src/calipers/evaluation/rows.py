"""Systems on rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import take_rows
from calipers.data.columns import Ids
from calipers.evaluation.sample import Problem, Sample
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.evaluation.slices import slice_systems
from calipers.evaluation.stored_predictions import store_rows
from calipers.inference.method_limits import MIN_CLUSTER_DF
from calipers.lazy_dataclasses import dataclass
from calipers.progress import track

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.serial import DependenceResult
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Comparison, Estimate, Slices, StoredPredictions
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class InMemorySample(Sample):
    """Sample of systems on rows in memory."""

    systems_by_name: Mapping[str, Any]
    measures: Sequence[Measure]
    settings: Settings
    problem: Problem = field(default_factory=Problem)
    #: Ids of the rows; () if rows are identified by their indices, None if they are not identified
    #: because only counts are known.
    ids: Ids | None = ()
    slice_definitions: Sequence[SliceDefinition] = ()
    #: Notes on the definition of the slices.
    slicing_notes: Sequence[str] = ()
    #: What a row is called.
    row_name: Callable[[int], str] = str
    #: Point estimates that exist already, by system and measure.
    point_estimates: Mapping[tuple[str, Measure], PointEstimate] = field(default_factory=dict)
    _dependence_results: list[DependenceResult] = field(default_factory=list)

    @property
    def in_memory_systems(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Systems by name, with all their rows."""
        return self.systems_by_name

    @property
    def template_systems(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The same systems, because those with rows provide what is known without them, too."""
        return self.systems_by_name

    @property
    def first_system(self) -> Any:
        """First of the systems, for properties of the rows that all systems share."""
        return next(iter(self.systems_by_name.values()))

    def point_estimate(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> PointEstimate:
        """Return the point estimate of a measure, computed from the rows."""
        system_output = self.systems_by_name[system]
        estimate: PointEstimate = (
            system_output if settings is None else system_output.with_settings(settings)
        ).point_estimate(measure)
        return estimate

    def statistic(self, system: str, statistic_type: type) -> Any:
        """Return a statistic of the predictions of a system."""
        return self.problem.statistic(self.systems_by_name[system], statistic_type)

    def is_available(self, system: str, measure: Measure) -> bool:
        """Return True, because every measure can be computed from the rows."""
        return True

    def with_measures(self, systems: Sequence[str], measures: Sequence[Measure]) -> InMemorySample:
        """Return a sample of some of the systems with other measures."""
        return replace(
            self, systems_by_name={n: self.systems_by_name[n] for n in systems}, measures=measures
        )

    def with_settings(self, settings: Settings) -> InMemorySample:
        """Return the sample with other settings of inference."""
        return replace(
            self,
            systems_by_name={n: s.with_settings(settings) for n, s in self.systems_by_name.items()},
            settings=settings,
        )

    def constant_value(self, system: str, measure: Measure) -> float:
        """Return the value of the best constant prediction on these rows."""
        return float(self.systems_by_name[system].constant_value(measure))

    def auxiliary_fields(
        self, system: str, measure: Measure, point_estimate: PointEstimate
    ) -> Mapping[str, Any]:
        """Return the fields of an estimate other than its value and interval."""
        fields: Mapping[str, Any] = self.systems_by_name[system].auxiliary_values(measure)
        return fields

    def estimates(self) -> Iterator[Estimate]:
        """Yield the estimates of all measures of all systems.

        For rows in the order of time, the serial dependence of each is recorded for
        :meth:`row_notes`, which is therefore called when all estimates have been computed.
        """
        pairs = [(name, measure) for name in self.systems_by_name for measure in self.measures]
        for name, measure in track(pairs, "measuring"):
            yield self._estimate(name, measure)

    def _estimate(self, name: str, measure: Measure) -> Estimate:
        # A generator would keep the values of the rows while the next measure computes its own.
        estimate = self.point_estimate(name, measure)
        if estimate.order is not None:
            from calipers.inference import serial

            self._dependence_results.append(
                serial.DependenceResult.from_estimate(name, str(measure), estimate)
            )
        return self.estimate(name, measure, estimate)

    def differences(
        self,
        pairs: Sequence[tuple[str, str]],
        settings: Settings,
        measures: Container[Measure] | None = None,
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the difference of each pair of systems on every measure that has a direction."""
        systems = {
            name: system.with_settings(settings) for name, system in self.systems_by_name.items()
        }
        compared_measures = self.compared_measures(measures)
        # Each system is in many pairs: its estimates are made once, with what they compute.
        estimates: dict[tuple[str, int], PointEstimate] = {}
        for pair in pairs:
            for index, measure in enumerate(compared_measures):
                for name in pair:
                    if (name, index) not in estimates:
                        is_same = systems[name] is self.systems_by_name[name]
                        estimate = self.point_estimates.get((name, measure)) if is_same else None
                        estimates[name, index] = estimate or systems[name].point_estimate(measure)
                yield pair, measure, estimates[pair[0], index] - estimates[pair[1], index]

    # --- The rows --------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.first_system.n_rows)

    @property
    def has_weights(self) -> bool:
        """Whether rows have weights."""
        return self.first_system.weight is not None

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of rows, or None without clusters."""
        clusters = self.first_system.clusters
        return None if clusters is None else clusters.n_clusters

    def row_properties(self) -> dict[str, Any]:
        """Return the properties of the rows for the provenance."""
        order, n_clusters = self.first_system.order, self.n_clusters
        return {
            "weighted": self.has_weights,
            **({} if n_clusters is None else {"clusters": n_clusters}),
            **({} if order is None else {"times": order.n_times}),
        }

    def row_notes(self) -> Sequence[str]:
        """Return notes on clusters, serial dependence and slicing."""
        clusters = self.first_system.clusters
        cluster_notes = () if clusters is None else clusters.few_clusters_notes(MIN_CLUSTER_DF)
        if not self._dependence_results:
            return (*cluster_notes, *self.slicing_notes)
        from calipers.inference import serial

        return (
            *cluster_notes,
            *serial.dependence_notes(self._dependence_results),
            *self.slicing_notes,
        )

    def to_stored_predictions(self) -> StoredPredictions | None:
        """Return the predictions that comparisons with later systems need, or None."""
        return None if self.ids is None else store_rows(self.systems_by_name, self.ids)

    def unit_values(self, measure: Measure) -> FloatArray | None:
        """Return the value of each row and system, of shape (n_rows, n_systems), or None.

        Rows without a value for some system are dropped. It is None if the measure has no value per
        row, or if rows are dependent or have weights.
        """
        systems = list(self.systems_by_name.values())
        if any(s.clusters is not None or s.weight is not None for s in systems):
            return None
        columns = [s.row_values(measure) for s in systems]
        if any(column is None for column in columns):
            return None
        table = np.column_stack([column for column in columns if column is not None])
        defined_mask = ~np.isnan(table).any(axis=1)
        table, order = table[defined_mask], systems[0].order
        if order is not None:
            order = order.take_rows(defined_mask)
            from calipers.inference import serial

            deviations = table - table.mean(axis=1, keepdims=True)
            if any(serial.find_row_dependence(order, x - x.mean()) for x in deviations.T):
                return None
        return np.asarray(table)

    # --- Slices ----------------------------------------------------------------------------------

    def slices(self, comparison: Comparison | None) -> Slices | None:
        """Estimate every measure on every slice, and compare the pairs of systems within each."""
        if not self.slice_definitions:
            return None
        from calipers.evaluation.within_slices import WithinSliceComparison

        within = None if comparison is None else WithinSliceComparison(self, comparison)

        def compare(
            definition: SliceDefinition,
            index: int,
            systems: Mapping[str, Any],
            estimates: Mapping[tuple[str, Measure], PointEstimate],
        ) -> None:
            if within is not None and within.has_few_pairs:
                rows = definition.row_indices[index]
                slice_sample = replace(self._on_rows(rows, systems), point_estimates=estimates)
                within.add(definition.column, definition.names[index], slice_sample)

        slices = slice_systems(
            list(self.systems_by_name.values()),
            self.measures,
            self.slice_definitions,
            self.settings,
            compare,
        )
        return slices if within is None else replace(slices, differences=within.differences())

    def take_rows(self, rows: Any) -> InMemorySample:
        """Return the sample on a subset of the rows, which keep their ids and names."""
        return self._on_rows(rows, {n: s.take_rows(rows) for n, s in self.systems_by_name.items()})

    def _on_rows(self, rows: Any, by_name: Mapping[str, Any]) -> InMemorySample:
        """Return the sample on a subset of the rows, with its systems on them."""
        # The slices are defined by codes of all rows.
        subset = replace(self, systems_by_name=by_name, slice_definitions=())
        if self.ids is None:  # of counts, which have no rows to name
            return subset
        indices, row_name = np.arange(self.n_rows)[rows], self.row_name
        ids: Any = take_rows(self.ids, indices) if len(self.ids) else indices
        return replace(subset, ids=ids, row_name=lambda row: row_name(int(indices[row])))

    def iterate_slices(self) -> Iterator[tuple[SliceDefinition, str, InMemorySample]]:
        """Yield the sample on each slice."""
        for definition in self.slice_definitions:
            for name, rows in zip(definition.names, definition.row_indices, strict=True):
                yield definition, name, self.take_rows(rows)
