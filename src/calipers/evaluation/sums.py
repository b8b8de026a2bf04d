"""Systems whose rows come in batches, known by their accumulated statistics."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached, cached_property
from calipers.data.errors import InputError
from calipers.engines.base import Engine
from calipers.engines.passes import TwoPassEvaluation
from calipers.estimation.averages import class_weights
from calipers.estimation.statistic_estimates import estimate_from_statistic
from calipers.evaluation.options import inference_provenance
from calipers.evaluation.sample import Sample
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.evaluation.slices import complement_settings, slice_estimates
from calipers.evaluation.states import EvaluationState, StateEngine
from calipers.evaluation.stream_columns import (
    MemoryLimit,
    StreamColumns,
    file_origins,
)
from calipers.evaluation.stream_rows import BatchReader, SystemBuilder
from calipers.evaluation.stream_slices import (
    ComplementSystem,
    SlicePasses,
    StreamSliceDefinition,
    define_stream_slices,
    single_use_engine,
)
from calipers.inference.method_limits import MIN_CLUSTER_DF
from calipers.inference.method_selection import RESAMPLING_METHODS
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.progress import track
from calipers.statistics import (
    ClassTables,
    ConfusionMatrix,
    FloatArray,
    Moments,
    ScoreTable,
    StatisticVector,
    UnitSums,
)
from calipers.statistics.row_sample import sampling_level
from calipers.statistics.scores import DEFAULT_AREAS
from calipers.systems.terms import AveragedScores

if TYPE_CHECKING:
    from calipers.data.trec import InputOrigin
    from calipers.evaluation.sample import Problem
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Comparison, Estimate, Slices


@dataclass(frozen=True, eq=False)
class StreamedSample(Sample):
    """Sample of systems on the rows of a stream, of Spark or of Dask.

    ``template_systems`` holds systems of the same types on artificial rows.
    """

    problem: Problem
    columns: StreamColumns
    settings: Settings
    measures: Sequence[Measure]
    template_systems: Mapping[str, Any]
    memory: int
    #: The pairs of systems that are compared, the first less the second.
    compared_pairs: Sequence[tuple[str, str]] = ()
    #: Passes that have been made already, as for the rows of a slice; None to make them.
    known_passes: TwoPassEvaluation | None = None
    #: The joint passes over all rows and their slices, where they are known.
    known_slice_passes: SlicePasses | None = None
    optional_measures: Sequence[Measure] = ()
    _bounds: dict[tuple[str, Measure], tuple[float, ...]] = field(default_factory=dict)

    in_memory_systems = None

    # --- How rows are read -----------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """Engine that reads the rows."""
        return self.columns.engine

    @cached_property
    def passes(self) -> TwoPassEvaluation:
        """Both passes over the rows."""
        if self.known_passes is not None:
            return self.known_passes
        return self._row_passes if self.slice_passes is None else self.slice_passes.all_rows

    @cached_property
    def build_systems(self) -> SystemBuilder:
        """Builder of the systems of batches."""
        return SystemBuilder(self.read_batch, self.problem, self.settings, tuple(self.measures))

    @cached_property
    def _row_passes(self) -> TwoPassEvaluation:
        return TwoPassEvaluation(
            self.engine,
            self.template_systems,
            self.measures,
            self.build_systems,
            self.columns.column_names,
            MemoryLimit(self.memory),
            self.problem.summary,
            self.compared_pairs,
            partial(self.problem.look, sampling_level=sampling_level(self.engine.n_rows))
            if self.problem.looks_at_rows
            else None,
            self._auxiliary_measures,
        )

    @property
    def _auxiliary_measures(self) -> list[tuple[str, Measure]]:
        """Pairs (system, measure) that are accumulated although they were not requested.

        Of a state, those that it has.
        """
        pairs = [
            (name, measure)
            for name, measure in self.problem.auxiliary_measures(self.template_systems)
            if measure not in self.measures
        ]
        if not isinstance(self.engine, StateEngine):
            return pairs
        state = self.engine.state
        saved = {*state.request_numbers, *state.auxiliary_numbers}
        return [(name, measure) for name, measure in pairs if (name, str(measure)) in saved]

    @cached_property
    def slice_passes(self) -> SlicePasses | None:
        """Joint passes over all rows and their slices, or None without slices."""
        if self.known_slice_passes is not None:
            return self.known_slice_passes
        if not self.columns.slices or self.known_passes is not None:
            return None
        return SlicePasses(
            self.build_systems, self._row_passes, self._slices_and_notes[0], self.memory
        )

    @cached_property
    def _slices_and_notes(self) -> tuple[list[StreamSliceDefinition], list[str]]:
        return define_stream_slices(self.columns, self.memory)

    @cached_property
    def read_batch(self) -> BatchReader:
        """Reader of the rows of a batch, with the names of all clusters."""
        return BatchReader(self.columns, self.columns.cluster_names)

    # --- Point estimates -------------------------------------------------------------------------

    def point_estimate(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> PointEstimate:
        """Return the point estimate of a measure, from the accumulated statistics."""
        used_settings = settings or self.settings
        estimate = self.passes.point_estimate(
            system, measure, used_settings
        ) or self._derived_estimate(system, measure, used_settings)
        if estimate is None and self.problem.task == "costs":  # one number, which no row has
            estimate = self.template_systems[system].point_estimate(measure)
        if estimate is None:
            raise InputError(
                f"{measure} takes all rows in memory, but engine={self.engine.kind!r} has them in "
                "batches; leave the measure out, or take engine='memory'"
            )
        return estimate

    def _derived_estimate(
        self, system: str, measure: Measure, settings: Settings
    ) -> PointEstimate | None:
        """Return the point estimate from a statistic accumulated for another measure, or None."""
        if (system, measure) in self.passes.statistics:
            return None
        delegate, delegated_measure = self.template_systems[system].delegate(measure)
        statistic, first_pass = (
            self._common_statistic(system, delegated_measure),
            self.passes.first_pass_result,
        )
        if statistic is None or delegate is not self.template_systems[system]:
            return None
        estimate = estimate_from_statistic(
            delegated_measure, statistic, settings, first_pass.rows, uses_compiled_areas=True
        )
        if estimate is None or not first_pass.clustered:
            return estimate
        sample = self.with_measures([system], [measure]) if self.is_rereadable else None
        if sample is not None:  # sums by cluster, in passes of their own
            return sample.passes.point_estimate(system, measure, settings)
        return replace(
            estimate,
            methods={},
            compute_error=None,
            joint_distribution=None,
            replicates=None,
            is_reduced=True,
        )

    def _common_statistic(self, system: str, measure: Measure) -> Any:
        """Return an accumulated statistic of which a measure is a function, or None.

        Moments are those of the values that one measure gives to the rows, and serve no other one.
        """
        kind, statistic = (
            measure.definition.statistic,
            self.passes.all_statistics.get((system, measure)),
        )
        if statistic is not None or kind is Moments:
            return statistic
        return self.statistic(system, kind)

    def statistic(self, system: str, statistic_type: type) -> Any:
        """Return a statistic that was accumulated for a system, or None."""
        system_output = self.template_systems[system]
        for (name, measure), statistic in self.passes.all_statistics.items():
            # The statistic of one of several classes is that of the class against all others.
            if (
                name == system
                and isinstance(statistic, statistic_type)
                and system_output.delegate(measure)[0] is system_output
            ):
                return statistic
        return None

    def score_table(self, system: str, label: str | None = None) -> ScoreTable | None:
        """Return the table of scores of a system, or of one class or label against all others.

        The result is None unless some measure has accumulated it.
        """
        template = self.template_systems[system]
        delegate = template.delegate(replace(parse("AUC", "scores"), label=label))[0]
        for (name, measure), statistic in self.passes.all_statistics.items():
            tables_by_label: Mapping[Any, ScoreTable] = {}
            if name != system:
                continue
            if isinstance(statistic, ClassTables):
                tables_by_label = dict(zip(statistic.labels, statistic.tables, strict=True))
            elif isinstance(statistic, StatisticVector) and label is not None:
                terms = template.terms(measure)
                if isinstance(terms, AveragedScores) and not terms.is_pooled:
                    tables_by_label = dict(zip(terms.labels, statistic.components, strict=True))
            elif isinstance(statistic, ScoreTable) and template.delegate(measure)[0] is delegate:
                return statistic
            if label in tables_by_label:
                return tables_by_label[label]
        return None

    def is_available(self, system: str, measure: Measure) -> bool:
        """Return whether a value follows from the accumulated statistics."""
        delegate, delegated_measure = self.template_systems[system].delegate(measure)
        derived = (
            delegate is self.template_systems[system]
            and delegated_measure.definition.statistic is not ScoreTable
        )
        has_statistic = derived and self._common_statistic(system, delegated_measure) is not None
        return (system, measure) in self.passes.statistics or has_statistic

    def with_measures(
        self, systems: Sequence[str], measures: Sequence[Measure]
    ) -> StreamedSample | None:
        """Return a sample of some of the systems with other measures.

        If their values are not known, the sample has passes of its own, which are made when a
        value is first needed. The result is None if the rows cannot be read again.
        """

        def make_sample(**passes: Any) -> StreamedSample:
            return replace(
                self,
                columns=replace(self.columns, slices={}),
                measures=measures,
                template_systems={name: self.template_systems[name] for name in systems},
                compared_pairs=(),
                known_slice_passes=None,
                **passes,
            )

        # With clusters, a value that is derived from another statistic has no standard error.
        if self.columns.cluster is None or not self.is_rereadable:
            if all(self.is_available(name, measure) for name in systems for measure in measures):
                return make_sample(known_passes=self.passes)
            if not self.is_rereadable:
                return None
        tables = len(systems) * len({measure.label for measure in measures})
        memory = self.memory // max(1, tables)
        make = partial(make_sample, memory=memory, known_passes=None, _bounds={})
        return cached(self, ("also", *systems, *measures), make)

    def omit_measures(self, measures: Sequence[Measure]) -> StreamedSample:
        """Return the sample with some of its measures; its passes are those of all of them.

        A state therefore has the statistics of the others too, which other rows may need.
        """
        return replace(
            self, measures=measures, known_passes=self.passes, known_slice_passes=self.slice_passes
        )

    def with_settings(self, settings: Settings) -> StreamedSample:
        """Return the sample with other settings of inference."""
        templates = {
            name: system.with_settings(settings) for name, system in self.template_systems.items()
        }
        return replace(
            self,
            settings=settings,
            template_systems=templates,
            known_passes=self.passes,
            known_slice_passes=None,
        )

    def constant_value(self, system: str, measure: Measure) -> float:
        """Return the value of the best constant prediction."""
        return self.problem.constant(self, system, measure)

    def auxiliary_fields(
        self, system: str, measure: Measure, point_estimate: PointEstimate
    ) -> Mapping[str, Any]:
        """Return the threshold of an operating point, and bounds of a value of merged scores.

        Other fields are those that the systems know from the statistic.
        """
        statistic = self.passes.statistics.get((system, measure))
        tables: Sequence[ScoreTable] = ()
        if isinstance(statistic, ScoreTable):
            tables = (statistic,)
        elif isinstance(statistic, StatisticVector):
            tables = [table for table in statistic.components if isinstance(table, ScoreTable)]
        elif isinstance(statistic, ClassTables):
            weights = class_weights(measure, statistic.labels, statistic.proportions)
            labeled_tables = zip(statistic.labels, statistic.tables, strict=True)
            tables = [table for label, table in labeled_tables if label in weights]
        if not tables:
            weight = self.passes.first_pass_result.weight.total / self.passes.common_weight
            template = self.template_systems[system]
            return {} if statistic is None else template.merged_values(measure, statistic, weight)
        area, fields = measure.definition.area, dict[str, Any]()
        if any(table.shift for table in tables):
            if area is None or area.name not in DEFAULT_AREAS:
                raise InputError(
                    f"{measure} takes every distinct score, of which there are more than the "
                    "memory holds; leave it out, or allow more with memory="
                )
            bounds: Any = np.zeros(2)
            if isinstance(statistic, ScoreTable):
                bounds = statistic.area_bounds(area.name)
            elif isinstance(statistic, StatisticVector):
                bounds = (
                    self.template_systems[system].terms(measure).value_bounds(measure, statistic)
                )
            elif isinstance(statistic, ClassTables):
                for weight, table in zip(weights.values(), tables, strict=True):
                    bounds = bounds + weight * np.array(table.area_bounds(area.name))
            limits = (area.scale * float(limit) + area.shift for limit in bounds)
            low, high = self._bounds[system, measure] = tuple(sorted(limits))
            value = point_estimate.value
            fields |= {"lower_bound": min(low, value), "upper_bound": max(high, value)}
            fields["bounds_kind"] = "sharp" if area.name == "AUC" else "outer"
        if measure.definition.threshold_index is not None and isinstance(statistic, ScoreTable):
            fields["threshold"] = float(measure.plain.threshold(statistic))
        return fields

    def estimates(self) -> Iterator[Estimate]:
        """Yield the estimates of all measures of all systems."""
        pairs = [(name, measure) for name in self.systems for measure in self.measures]
        for name, measure in track(pairs, "measuring"):
            yield self.estimate(name, measure)

    def differences(
        self,
        pairs: Sequence[tuple[str, str]],
        settings: Settings,
        measures: Container[Measure] | None = None,
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the difference of each pair of systems on every measure that has a direction."""
        self.check_no_resampling(settings)
        self.passes.compare_pairs(pairs)
        compared_measures = self.compared_measures(measures)
        for pair in pairs:
            for measure in compared_measures:
                difference = self.passes.difference(pair, measure, settings)
                if difference is not None:
                    yield pair, measure, difference

    def unit_sums(self, measure: Measure) -> UnitSums | None:
        """Return the sums of the values of all systems that tests of all of them need, or None."""
        return self.passes.joint_sums(measure)

    def check_no_resampling(self, settings: Settings) -> None:
        """Check that no interval is requested that resamples rows, which are not in memory."""
        if settings.is_bootstrap_requested or any(
            name in RESAMPLING_METHODS for name in settings.methods
        ):
            raise InputError(
                f"interval={settings.requested_text!r} resamples rows, which requires "
                "engine='memory'; "
                "expected 'auto', 'analytic', 'none' or an analytic method for a stream"
            )

    # --- The rows --------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.passes.first_pass_result.rows)

    @property
    def has_weights(self) -> bool:
        """Whether rows have weights."""
        return self.columns.weight is not None

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters of rows, or None without clusters or if it is unknown."""
        is_countable = self.columns.cluster is not None and self.is_rereadable
        return len(self.read_batch.clusters) if is_countable else None

    @property
    def is_clustered(self) -> bool:
        """Whether rows come in clusters, the number of which states and pipes do not know."""
        return self.passes.first_pass_result.clustered

    @property
    def is_rereadable(self) -> bool:
        """Whether the rows can be read again."""
        return self.engine.is_rereadable

    def cluster_cells(self, system: str) -> FloatArray | None:
        """Return the weight of the rows of each cluster in each cell of the confusion matrix.

        It is None if rows cannot be read again, and if there are too many clusters and classes. If
        no measure takes the matrix, it has passes of its own.
        """
        if not self.is_rereadable:
            return None
        cells = self.passes.cluster_cell_weights(system)
        if cells is None and not any(
            m.definition.statistic is ConfusionMatrix for m in self.measures
        ):
            sample = self.with_measures([system], [parse("accuracy", "counts")])
            cells = None if sample is None else sample.passes.cluster_cell_weights(system)
        return cells

    def row_properties(self) -> dict[str, Any]:
        """Return the properties of the rows for the provenance."""
        n_clusters = self.n_clusters
        return {
            "weighted": self.has_weights,
            "engine": self.engine.kind,
            **({} if n_clusters is None else {"clusters": n_clusters}),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the rows were read, and on dropped rows and merged scores."""
        stream = self.engine
        origin = stream.origin_note if isinstance(stream, StateEngine) else "was read in batches"
        read_note = f"{stream.name} {origin}: intervals and tests are those of large samples."
        max_width = max((high - low for low, high in self._bounds.values()), default=None)
        merged_note = (
            "There are more distinct scores than the memory holds: those that agree in their first "
            f"digits are taken together, and areas are known to {max_width or 0:.1g}."
        )
        absent = " and ".join(stream.state.absent) if isinstance(stream, StateEngine) else ""
        absent_note = f"{absent.capitalize()} are absent: states have statistics of all rows only."
        return (
            *self.passes.first_pass_result.missing.notes,
            read_note,
            *((absent_note,) if absent else ()),
            *((merged_note,) if self._bounds else ()),
        )

    def row_notes(self) -> Sequence[str]:
        """Return notes on clusters and on the definition of slices."""
        clusters = self.passes.clusters
        cluster_notes = () if clusters is None else clusters.few_clusters_notes(MIN_CLUSTER_DF)
        return (*cluster_notes, *(() if self.slice_passes is None else self._slices_and_notes[1]))

    @property
    def origins(self) -> Sequence[InputOrigin]:
        """Origins of the rows, for the provenance."""
        stream = self.engine
        return stream.state.origins if isinstance(stream, StateEngine) else file_origins(stream)

    @cached_property
    def state(self) -> EvaluationState:
        """State of the first pass, to be stored in a file."""
        columns, stream, passes = self.columns, self.engine, self.passes
        if isinstance(stream, StateEngine):
            return stream.state
        output_columns = {
            kind: dict(by_system) for kind, by_system in columns.output_columns.items()
        }
        plan: dict[str, Any] = {
            "truth": columns.truth,
            "said": output_columns,
            "weight": columns.weight,
            "cluster": columns.cluster or columns.single_row_cluster,
        }
        plan |= {
            "task": self.problem.kind,
            "settings": inference_provenance(self.settings),
            "optional": [str(measure) for measure in self.optional_measures],
            **self.problem.plan,
        }
        request_numbers = {
            (name, str(m)): number for (name, m), number in passes.statistic_numbers.items()
        }
        auxiliary_numbers = {
            (name, str(m)): passes.all_statistic_numbers[name, m]
            for name, m in self._auxiliary_measures
            if (name, m) in passes.all_statistic_numbers
        }
        # Rows stay where they are, and other states may have rows of the same clusters.
        first_pass = replace(
            passes.first_pass_result, inspected_rows=0, clustered=plan["cluster"] is not None
        )
        state = EvaluationState(
            plan,
            request_numbers,
            first_pass,
            self.origins,
            location=stream.name,
            auxiliary_numbers=auxiliary_numbers,
        )
        return replace(state, batch_names=stream.file_stamps) if stream.file_stamps else state

    # --- Slices ----------------------------------------------------------------------------------

    @cached_property
    def slice_definitions(self) -> Sequence[SliceDefinition]:  # type: ignore[override]
        """Definitions of the non-empty slices."""
        if self.slice_passes is None:
            return ()
        return [
            SliceDefinition(
                definition.name,
                tuple(definition.names[index - first] for index in indices),
                np.zeros(0, np.intp),
            )
            for definition, first, indices in self.slice_passes.iterate_definitions()
        ]

    def slices(self, comparison: Comparison | None) -> Slices | None:
        """Estimate every measure on every slice, and compare the pairs of systems within each.

        Each slice is compared with its complement.
        """
        if self.slice_passes is None:
            return None
        indices = [indices for _, _, indices in self.slice_passes.iterate_definitions()]
        stream_subsets = (
            _StreamSubsets(self, system, definition, slice_indices)
            for definition, slice_indices in zip(self.slice_definitions, indices, strict=True)
            for system in self.systems
        )
        slices = slice_estimates(stream_subsets, self.measures, self.settings)
        if comparison is None:
            return slices
        from calipers.evaluation.within_slices import compare_within_slices

        return replace(slices, differences=compare_within_slices(self, comparison))

    def iterate_slices(self) -> Iterator[tuple[SliceDefinition, str, StreamedSample]]:
        """Yield the sample on each slice."""
        if self.slice_passes is None:
            return
        for definition, (_, _, indices) in zip(
            self.slice_definitions, self.slice_passes.iterate_definitions(), strict=True
        ):
            for name, index in zip(definition.names, indices, strict=True):
                yield definition, name, self.slice_sample(index)

    def slice_sample(self, index: int) -> StreamedSample:
        """Return the sample on a slice, for which no further pass is made."""
        assert self.slice_passes is not None
        columns = replace(self.columns, engine=single_use_engine(self.engine))
        passes = self.slice_passes.subset(index)
        return replace(self, columns=columns, known_passes=passes, known_slice_passes=None)


@dataclass(frozen=True, eq=False)
class _SubsetSystem:
    """System on a slice."""

    sample: StreamedSample
    system: str

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure."""
        return self.sample.point_estimate(self.system, measure)


@dataclass(frozen=True, eq=False)
class _StreamSubsets:
    """Subsets of the rows of one system by one column, with their complements."""

    sample: StreamedSample
    system: str
    definition: SliceDefinition
    slice_indices: Sequence[int]

    def subset(self, subset_index: int) -> _SubsetSystem:
        """Return the source of the point estimates on a slice."""
        return _SubsetSystem(
            self.sample.slice_sample(self.slice_indices[subset_index]), self.system
        )

    def estimate(
        self, subset_index: int, measure: Measure, point_estimate: PointEstimate
    ) -> Estimate:
        """Return the estimate on a slice."""
        return self.sample.slice_sample(self.slice_indices[subset_index]).estimate(
            self.system, measure, point_estimate
        )

    def complement(self, subset_index: int) -> ComplementSystem | None:
        """Return the complement of a slice, or None if it is empty."""
        if len(self.slice_indices) < 2:
            return None
        # Its replicates are independent of those of the slice.
        settings = complement_settings(self.sample.settings)
        assert self.sample.slice_passes is not None
        return ComplementSystem(
            self.sample.slice_passes.complement(self.slice_indices[subset_index]),
            self.system,
            settings,
        )

    def forget(self, subset_index: int) -> None:
        """Do nothing, because the tables of slices are needed for the complements of others."""
