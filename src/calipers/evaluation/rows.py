"""Systems on rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.columns import Ids
from calipers.evaluation.sample import Problem, Sample
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.evaluation.slices import slice_systems
from calipers.evaluation.stored_predictions import row_predictions
from calipers.inference.method_limits import FEW_DEGREES
from calipers.progress import track

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.serial import DependenceResult
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Comparison, Estimate, Slices, StoredPredictions
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class RowSystems(Sample):
    """Systems on rows in memory."""

    by_name: Mapping[str, Any]
    measures: Sequence[Measure]
    settings: Settings
    problem: Problem = field(default_factory=Problem)
    #: The ids of the rows; () where they are told by their places, None of those that only counts
    #: are known of.
    ids: Ids | None = ()
    cuts: Sequence[SliceDefinition] = ()
    #: How the rows were cut.
    origin_notes: Sequence[str] = ()
    #: What a row is called.
    row_name: Callable[[int], str] = str
    _serial: list[DependenceResult] = field(default_factory=list)

    @property
    def rows(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The systems on the rows."""
        return self.by_name

    @property
    def template(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The systems themselves."""
        return self.by_name

    @property
    def first_system(self) -> Any:
        """One of the systems: what is known of rows is the same of all."""
        return next(iter(self.by_name.values()))

    def point_estimate(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> PointEstimate:
        """A number and how it varies, from the rows."""
        own = self.by_name[system]
        made: PointEstimate = (
            own if settings is None else own.with_settings(settings)
        ).point_estimate(measure)
        return made

    def statistic(self, system: str, kind: type) -> Any:
        """A statistic of this kind of the answers of a system, as the system has it."""
        return self.problem.statistic(self.by_name[system], kind)

    def is_known(self, system: str, measure: Measure) -> bool:
        """All is."""
        return True

    def with_measures(self, systems: Sequence[str], measures: Sequence[Measure]) -> RowSystems:
        """Some of the systems, which answer whatever they are asked."""
        return replace(self, by_name={n: self.by_name[n] for n in systems}, measures=measures)

    def with_settings(self, settings: Settings) -> RowSystems:
        """The same with other intervals."""
        return replace(
            self, by_name={n: s.with_settings(settings) for n, s in self.by_name.items()}
        )

    def constant(self, system: str, measure: Measure) -> float:
        """What the best constant answer gets on these rows."""
        return float(self.by_name[system].constant_value(measure))

    def auxiliary(self, system: str, measure: Measure, reading: PointEstimate) -> Mapping[str, Any]:
        """What an estimate has beside its interval."""
        found: Mapping[str, Any] = self.by_name[system].auxiliary_values(measure)
        return found

    def estimates(self) -> Iterator[Estimate]:
        """All measures of all systems."""
        asked = [(name, measure) for name in self.by_name for measure in self.measures]
        for name, measure in track(asked, "measuring"):
            reading = self.point_estimate(name, measure)
            if reading.order is not None:
                from calipers.inference import serial

                self._serial.append(
                    serial.DependenceResult.from_estimate(name, str(measure), reading)
                )
            yield self.estimate(name, measure, reading)

    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """The first system of each pair minus the second on every measure that has a direction."""
        under = {name: system.with_settings(settings) for name, system in self.by_name.items()}
        for pair in pairs:
            for measure in self.directed_measures:
                first, second = (under[name].point_estimate(measure) for name in pair)
                yield pair, measure, first - second

    # --- The rows --------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return int(self.first_system.n_rows)

    @property
    def has_weights(self) -> bool:
        """Whether rows weigh differently."""
        return self.first_system.weight is not None

    @property
    def clusters(self) -> int | None:
        """How many clusters rows come in."""
        of = self.first_system.clusters
        return None if of is None else of.n_clusters

    def conventions(self) -> dict[str, Any]:
        """What provenance says of the rows."""
        order, clusters = self.first_system.order, self.clusters
        return {
            "weighted": self.has_weights,
            **({} if clusters is None else {"clusters": clusters}),
            **({} if order is None else {"times": order.size}),
        }

    def row_notes(self) -> Sequence[str]:
        """What a reader has to know of clusters, of serial dependence, and of how rows are cut."""
        clusters = self.first_system.clusters
        found = () if clusters is None else clusters.notes(FEW_DEGREES)
        if not self._serial:
            return (*found, *self.origin_notes)
        from calipers.inference import serial

        return (*found, *serial.notes(self._serial), *self.origin_notes)

    def to_stored_predictions(self) -> StoredPredictions | None:
        """What comparisons with later systems need."""
        return None if self.ids is None else row_predictions(self.by_name, self.ids)

    def unit_values(self, measure: Measure) -> FloatArray | None:
        """The value of each row and system, shape (rows, systems), where there are such and rows
        are independent and weigh alike."""
        systems = list(self.by_name.values())
        if any(s.clusters is not None or s.weight is not None for s in systems):
            return None
        columns = [s.row_values(measure) for s in systems]
        if any(column is None for column in columns):
            return None
        table = np.column_stack([column for column in columns if column is not None])
        order = systems[0].order
        if order is not None:
            from calipers.inference import serial

            apart = table - table.mean(axis=1, keepdims=True)
            if any(serial.row_dependence(order, x - x.mean()) for x in apart.T):
                return None
        return np.asarray(table[~np.isnan(table).any(axis=1)])

    # --- Slices ----------------------------------------------------------------------------------

    def slices(self, comparison: Comparison | None) -> Slices | None:
        """Every measure of every system on every slice, and the pairs of the comparison within
        each."""
        if not self.cuts:
            return None
        slices = slice_systems(list(self.by_name.values()), self.measures, self.cuts, self.settings)
        if comparison is None:
            return slices
        from calipers.evaluation.within_slices import compare_within_slices

        return replace(slices, differences=compare_within_slices(self, comparison))

    def take_rows(self, rows: Any) -> RowSystems:
        """The systems on some of the rows."""
        return replace(self, by_name={n: s.take_rows(rows) for n, s in self.by_name.items()})

    def iterate_slices(self) -> Iterator[tuple[SliceDefinition, str, RowSystems]]:
        """Each slice."""
        for cut in self.cuts:
            for name, rows in zip(cut.names, cut.rows, strict=True):
                yield cut, name, self.take_rows(rows)
