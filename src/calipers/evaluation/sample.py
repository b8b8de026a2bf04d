"""Abstract problems and samples, the interfaces of an evaluation.

A :class:`Problem` defines how systems are made from rows and what an evaluation has in addition to
their estimates. A :class:`Sample` is a set of systems on the same rows. It provides point
estimates in one of two ways: from the rows (:class:`~calipers.evaluation.rows.InMemorySample`), or
from the totals of batches of rows (:class:`~calipers.evaluation.sums.StreamedSample`). Estimates,
differences, findings and slices are computed from a sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from calipers.data.errors import InputError
from calipers.evaluation.batch import constant_batch
from calipers.evaluation.estimates import to_estimate
from calipers.evaluation.shared import select_measures
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.evaluation.slices import too_many_systems_note
from calipers.evaluation.visible_rows import sample_batch_rows
from calipers.systems.base import NAN

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.states import EvaluationState
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.unit_procedures import UnitMeans
    from calipers.measures import Measure
    from calipers.results import Comparison, Estimate, Finding, Slices, StoredPredictions
    from calipers.statistics import FloatArray, UnitSums

#: Estimates, comparison and slices of an evaluation; the latter two may be None.
EvaluationResults: TypeAlias = "tuple[Sequence[Estimate], Comparison | None, Slices | None]"


class Problem:
    """Problem, evaluated on all rows in memory or batch by batch.

    A problem is a frozen dataclass. Its fields are what has to be known of all rows before systems
    are made from any of them, such as the classes. It defines how systems are made from rows
    (:meth:`systems`) and what an evaluation has in addition to their estimates. The methods for
    streams, :meth:`template` and all below it, are for problems whose rows may come in batches;
    such a problem is sent to the processes that read the rows.
    """

    #: Name of the task.
    task: str = ""
    #: Name of the problem in state files; empty if it cannot be evaluated in batches.
    kind: ClassVar[str] = ""

    def systems(self, batch: Batch, settings: Settings) -> dict[str, Any]:
        """Return the systems by name on a batch of rows, with every column checked.

        Parameters
        ----------
        batch : Batch
            Rows with their columns by role, weights and clusters.
        settings : Settings
            Settings of inference.

        Returns
        -------
        dict of str to object
            The systems, such as instances of :class:`~calipers.systems.base.RowSystem`.

        Raises
        ------
        InputError
            If a column is invalid. The message names the column.
        """
        raise NotImplementedError

    def statistic(self, system: Any, kind: type) -> Any:
        """Return a statistic of the predictions of a system, or None if it does not have it.

        Parameters
        ----------
        system : object
            One of the results of :meth:`systems`.
        kind : type
            Class of the statistic, such as ``ConfusionMatrix``.

        Returns
        -------
        object or None
            The statistic.
        """
        return None

    # --- Measures --------------------------------------------------------------------------------

    #: Whether the user named the classes; classes without rows are then evaluated too.
    is_stated: bool = False

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the names of the measures that are evaluated by default.

        Parameters
        ----------
        systems : mapping of str to object
            The systems, on rows or on those of :meth:`template`.

        Returns
        -------
        sequence of str
            Names of measures that all systems serve.
        """
        raise NotImplementedError

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """Return the requested measures.

        Parameters
        ----------
        systems : mapping of str to object
            The systems, on rows or on those of :meth:`template`.
        options : Options
            Options of the evaluation.

        Returns
        -------
        list of Measure
            The measures, in order and without duplicates.
        """
        default = self.default_measures(systems)
        return select_measures(
            options.measures,
            default,
            self.task,
            undefined=options.undefined,
            has_stated_classes=self.is_stated,
        )

    def prepare(
        self, systems: Mapping[str, Any], measures: Sequence[Measure]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """Return the systems as these measures need them, and notes on what was changed.

        Parameters
        ----------
        systems : mapping of str to object
            The systems on rows in memory.
        measures : sequence of Measure
            The requested measures.

        Returns
        -------
        systems : dict of str to object
            The systems.
        notes : sequence of str
            Notes for the reader of the evaluation.
        """
        return dict(systems), ()

    def shown_measures(
        self, sample: Sample, options: Options
    ) -> tuple[Sequence[Measure], Sequence[str]]:
        """Return the measures of a sample that are shown, and notes on those that are not.

        Parameters
        ----------
        sample : Sample
            Sample with the requested measures.
        options : Options
            Options of the evaluation.

        Returns
        -------
        measures : sequence of Measure
            The measures, without default ones that are undefined on these rows.
        notes : sequence of str
            Notes on the omitted ones.
        """
        return sample.measures, ()

    def optional_measures(self, systems: Mapping[str, Any], options: Options) -> Sequence[Measure]:
        """Return the default measures that :meth:`shown_measures` may omit from those of a stream.

        Parameters
        ----------
        systems : mapping of str to object
            The systems of :meth:`template`.
        options : Options
            Options of the evaluation.

        Returns
        -------
        sequence of Measure
            The measures, without those that are requested by name.
        """
        return ()

    def auxiliary_measures(self, systems: Mapping[str, Any]) -> Sequence[tuple[str, Measure]]:
        """Return measures that a stream accumulates in addition to the requested ones.

        They must not need much memory.

        Parameters
        ----------
        systems : mapping of str to object
            Systems by name, on rows or on those of :meth:`template`.

        Returns
        -------
        sequence of tuple of str and Measure
            Name of a system and a measure of it.
        """
        return ()

    # --- What an evaluation has in addition to estimates ------------------------------------------

    def leading(self, sample: Sample) -> Sequence[Estimate]:
        """Return estimates that are listed before all others.

        Parameters
        ----------
        sample : Sample
            Systems that are evaluated, with the requested measures.

        Returns
        -------
        sequence of Estimate
            Estimates of quantities that are not measures, such as a chosen threshold.
        """
        return ()

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the conventions that are needed to reproduce the values.

        Parameters
        ----------
        sample : Sample
            Systems that are evaluated, with the requested measures.

        Returns
        -------
        mapping of str to object
            Entries of the provenance by name, such as the positive class.
        """
        return {}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on the evaluation.

        Parameters
        ----------
        sample : Sample
            Systems that are evaluated, with the requested measures.
        options : Options
            Options of the evaluation.

        Returns
        -------
        sequence of str
            Notes, each one or more sentences.
        """
        return ()

    def slice_notes(self, sample: Sample) -> Sequence[str]:
        """Return notes on slices.

        Parameters
        ----------
        sample : Sample
            Systems that are evaluated, with the requested measures.

        Returns
        -------
        sequence of str
            Notes, each one or more sentences.
        """
        return ()

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...] | None:
        """Return the findings of the data and of the systems.

        Parameters
        ----------
        sample : Sample
            The systems.
        results : tuple
            Estimates, comparison and slices; the latter two may be None.

        Returns
        -------
        tuple of Finding or None
            The findings; None if only those apply that need no more than the estimates of each
            system.
        """
        return None

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return curves, tables and other parts of an evaluation.

        Parameters
        ----------
        sample : Sample
            The systems.
        options : Options
            Options of the evaluation.

        Returns
        -------
        mapping of str to object
            Fields of :class:`~calipers.results.Evaluation` by name.
        """
        return {}

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, Any]:
        """Return systems on artificial rows, which provide what is known without the data.

        By default these are two rows whose columns are 0.

        Parameters
        ----------
        columns : StreamColumns
            Columns of the stream, with the names of the systems.
        settings : Settings
            Settings of inference.
        sizes : ndarray, optional
            Sizes of classes, from :meth:`summary`. If given, the systems also have the value of
            the best constant prediction.

        Returns
        -------
        dict of str to object
            The systems.

        Raises
        ------
        InputError
            If the problem needs all rows in memory.
        """
        if not self.kind:
            raise InputError(
                f"engine={columns.engine.kind!r}: {self.task} takes all rows in memory"
            )
        return self.systems(constant_batch(columns, np.zeros(2)), settings)

    def check_stream(self, systems: Mapping[str, Any], measures: Sequence[Measure]) -> None:
        """Check that the measures can be computed from rows in batches.

        Parameters
        ----------
        systems : mapping of str to object
            Systems by name, on rows or on those of :meth:`template`.
        measures : sequence of Measure
            Requested measures.

        Raises
        ------
        InputError
            If a measure needs all rows in memory.
        """
        for system in systems.values():
            system.check(measures)

    #: Whether the first pass samples rows, by :meth:`look`.
    looks_at_rows: ClassVar[bool] = False

    def look(self, batch_systems: Any, sampling_level: int = 0) -> Any:
        """Return the sampled rows of a batch, as in :class:`SampledRows`.

        Parameters
        ----------
        batch_systems : BatchSystems
            Systems on one batch of rows.
        sampling_level : int, default=0
            Smallest level of the sample: 1 row in 2^level is kept.

        Returns
        -------
        Statistic
            Sampled rows, which can be merged with those of other batches.
        """
        return sample_batch_rows(batch_systems, sampling_level)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> Any:
        """Return statistics of the rows that are accumulated whatever the measures.

        Parameters
        ----------
        systems : mapping of str to object
            The systems on a batch.

        Returns
        -------
        object
            A value that supports addition, such as the weight of the rows of each class.
        """
        return 0

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """Return the value of the best constant prediction, from the accumulated statistics.

        Parameters
        ----------
        sample : StreamedSample
            The systems on a stream.
        system : str
            Name of the system.
        measure : Measure
            The measure.

        Returns
        -------
        float
            The value, or NaN if it is unknown.
        """
        return NAN

    @property
    def plan(self) -> dict[str, Any]:
        """Parameters from which systems are made, as plain values for a file of a state."""
        return {}


class Sample(ABC):
    """Systems on the same rows."""

    problem: Problem
    measures: Sequence[Measure]
    #: Those of them that are omitted if they are undefined on all rows of a stream.
    optional_measures: Sequence[Measure] = ()
    settings: Settings
    #: Whether each system has rows of its own.
    has_separate_rows: ClassVar[bool] = False
    #: Systems by name, with all their rows; None if the rows are not in memory.
    in_memory_systems: Mapping[str, Any] | None
    #: Systems by name, for what is known without their rows; the rows may be artificial.
    template_systems: Mapping[str, Any]
    #: What a row is called.
    row_name: Callable[[int], str] = str
    #: Definitions of the slices.
    slice_definitions: Sequence[SliceDefinition]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.template_systems)

    @property
    def directed_measures(self) -> tuple[Measure, ...]:
        """Measures that have a direction and a known sampling distribution."""
        definitions = ((m, m.definition) for m in self.measures)
        return tuple(
            m for m, d in definitions if d.higher_is_better is not None and d.interval != "none"
        )

    def compared_measures(self, measures: Container[Measure] | None) -> tuple[Measure, ...]:
        """Return those of some measures that are compared, or all of them for None."""
        return tuple(m for m in self.directed_measures if measures is None or m in measures)

    # --- Point estimates -------------------------------------------------------------------------

    @abstractmethod
    def point_estimate(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> PointEstimate:
        """Return the point estimate of a measure, which need not be one of ``measures``."""

    @abstractmethod
    def statistic(self, system: str, statistic_type: type) -> Any:
        """Return a statistic of the predictions of a system, or None if it does not have it."""

    @abstractmethod
    def is_available(self, system: str, measure: Measure) -> bool:
        """Return whether a value can be computed without another pass over the rows."""

    @abstractmethod
    def with_measures(self, systems: Sequence[str], measures: Sequence[Measure]) -> Sample | None:
        """Return a sample of some of the systems with other measures.

        The result is None if this needs rows that cannot be read again.
        """

    @abstractmethod
    def with_settings(self, settings: Settings) -> Sample:
        """Return the sample with other settings of inference."""

    @abstractmethod
    def constant_value(self, system: str, measure: Measure) -> float:
        """Return the value of the best constant prediction."""

    @abstractmethod
    def auxiliary_fields(
        self, system: str, measure: Measure, point_estimate: PointEstimate
    ) -> Mapping[str, Any]:
        """Return the fields of an estimate other than its value and interval."""

    def estimate(
        self, system: str, measure: Measure, given_estimate: PointEstimate | None = None
    ) -> Estimate:
        """Return the estimate of one measure of one system."""
        point_estimate = given_estimate or self.point_estimate(system, measure)
        no_skill = self.constant_value(system, measure)
        auxiliary = self.auxiliary_fields(system, measure, point_estimate)
        return to_estimate(point_estimate, str(measure), system, no_skill, **auxiliary)

    @abstractmethod
    def estimates(self) -> Iterator[Estimate]:
        """Yield the estimates of all measures of all systems.

        Notes and findings may depend on them, and are therefore requested after the last one.
        """

    @abstractmethod
    def differences(
        self,
        pairs: Sequence[tuple[str, str]],
        settings: Settings,
        measures: Container[Measure] | None = None,
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the difference of each pair of systems on every measure that has a direction.

        They are only those of the ``measures``, if these are passed.
        """

    def unit_means(self, measure: Measure, settings: Settings) -> UnitMeans | None:
        """Return None, because rows are too many for a table of their differences."""
        return None

    # --- The rows --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def has_weights(self) -> bool:
        """Whether rows have weights."""

    @property
    @abstractmethod
    def n_clusters(self) -> int | None:
        """Number of clusters of rows, or None without clusters or if it is unknown."""

    @property
    def is_clustered(self) -> bool:
        """Whether rows come in clusters, the number of which may be unknown."""
        return self.n_clusters is not None

    def omit_measures(self, measures: Sequence[Measure]) -> Sample:
        """Return the sample with some of its measures."""
        raise NotImplementedError

    def cluster_cells(self, system: str) -> FloatArray | None:
        """Return the weight of the rows of each cluster in each cell of the confusion matrix.

        It is for samples without rows in memory; the result has shape ``(n_clusters, K * K)`` for K
        classes, and is None if it is not known.
        """
        return None

    @property
    def is_rereadable(self) -> bool:
        """Whether the rows can be read again."""
        return True

    @abstractmethod
    def row_properties(self) -> dict[str, Any]:
        """Return the properties of the rows for the provenance."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the rows for comparisons."""
        return ()

    def row_notes(self) -> Sequence[str]:
        """Return notes on the rows for an evaluation."""
        return ()

    def unit_values(self, measure: Measure) -> FloatArray | None:
        """Return the value of each row and system, of shape (n_rows, n_systems), or None.

        Rows without a value for some system are dropped. It is None if the measure has no value per
        row, or if rows are dependent or have weights.
        """
        return None

    def unit_sums(self, measure: Measure) -> UnitSums | None:
        """Return the sums of these values that tests of all systems need, or None."""
        values = self.unit_values(measure)
        if values is None:
            return None
        from calipers.inference.omnibus import measure_sums

        return measure_sums(measure, values)

    def unit_weights(self, measure: Measure) -> FloatArray | None:
        """Return the weight of each of these values, or None if all weights are 1."""
        return None

    def permutation_values(self, measure: Measure, settings: Settings) -> FloatArray | None:
        """Return None, because there are too many rows for permutations."""
        return None

    def to_stored_predictions(self) -> StoredPredictions | None:
        """Return the predictions that comparisons with later systems need, or None."""
        return None

    @property
    def state(self) -> EvaluationState | None:
        """State to store in a file, the totals of batches; None for rows in memory."""
        return None

    # --- Slices ----------------------------------------------------------------------------------

    @abstractmethod
    def slices(self, comparison: Comparison | None) -> Slices | None:
        """Estimate every measure on every slice, and compare the pairs of systems within each.

        The result is None without slices.
        """

    @abstractmethod
    def iterate_slices(self) -> Iterator[tuple[SliceDefinition, str, Sample]]:
        """Yield each non-empty slice: its definition, its name, and the systems on its rows."""

    def slice_notes(self, slices: Slices | None, comparison: Comparison | None) -> Sequence[str]:
        """Return notes on slices."""
        return () if slices is None else too_many_systems_note(slices, comparison)
