"""What is asked of an evaluation: its problem, and its systems on the same rows.

A :class:`Problem` says how systems are made of rows and what an evaluation has beside their
estimates. A number and how it varies is known in one of two ways: from the rows
(:class:`~calipers.evaluation.rows.RowSystems`), or from what batches of rows add up to
(:class:`~calipers.evaluation.sums.StreamedSystems`). Everything around it, such as estimates,
differences, findings and slices, is asked of a :class:`Sample`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from calipers.data.errors import InputError
from calipers.evaluation.batch import constant_batch
from calipers.evaluation.estimates import to_estimate
from calipers.evaluation.shared import select_measures
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.evaluation.slices import too_many_systems_note
from calipers.evaluation.visible_rows import keep_some
from calipers.systems.base import NAN

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.states import EvaluationState
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Comparison, Estimate, Finding, Slices, StoredPredictions
    from calipers.statistics import FloatArray

#: What was computed: estimates, the comparison, the slices.
Told: TypeAlias = "tuple[Sequence[Estimate], Comparison | None, Slices | None]"


class Problem:
    """A kind of problem, on all rows or batch by batch.

    A problem is a frozen dataclass: its fields are what has to be known of all rows before systems
    are made of any of them, such as which classes there are. It says how systems are made of rows
    (:meth:`systems`), and what an evaluation has beside their estimates. What it says of streams,
    :meth:`template` and all below it, is for problems whose rows may come in batches; it travels to
    the processes that have them.
    """

    #: The task that it is of.
    task: str = ""
    #: What files of sums call it; nothing where rows do not come in batches.
    kind: ClassVar[str] = ""

    def systems(self, batch: Batch, settings: Settings) -> dict[str, Any]:
        """The systems by name on some rows, every column checked."""
        raise NotImplementedError

    def statistic(self, system: Any, kind: type) -> Any:
        """A statistic of this kind of the answers of a system; None where it has none."""
        return None

    # --- Measures --------------------------------------------------------------------------------

    #: Whether somebody named the classes, so that one without rows is one of them.
    is_stated: bool = False

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """The measures that are shown where none are named."""
        raise NotImplementedError

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """The measures that are asked for."""
        default = self.default_measures(systems)
        return select_measures(
            options.measures, default, self.task, undefined=options.undefined, stated=self.is_stated
        )

    def prepare(
        self, systems: Mapping[str, Any], measures: Sequence[Measure]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """The systems as these measures take them, and what a reader has to know of that."""
        return dict(systems), ()

    def auxiliary_measures(self, systems: Mapping[str, Any]) -> Sequence[tuple[str, Measure]]:
        """What a stream adds up of systems for more than the measures: nothing that is large."""
        return ()

    # --- What an evaluation has beside estimates -------------------------------------------------

    def leading(self, sample: Sample) -> Sequence[Estimate]:
        """Estimates that come before all others."""
        return ()

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """What makes the numbers reproducible."""
        return {}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """What a reader has to know."""
        return ()

    def slice_notes(self, sample: Sample) -> Sequence[str]:
        """What a reader has to know of slices."""
        return ()

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...] | None:
        """What there is to say of the data and of the systems; None where nothing is known of them
        but their numbers."""
        return None

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Curves, tables and other parts of an evaluation that have something of every system."""
        return {}

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, Any]:
        """Systems on no rows in particular, which say what is known without any, unless told
        otherwise on two whose columns are 0; of classes of these ``sizes`` what a constant answer
        gets, too."""
        if not self.kind:
            raise InputError(
                f"engine={columns.stream.kind!r}: {self.task} takes all rows in memory"
            )
        return self.systems(constant_batch(columns, np.zeros(2)), settings)

    def check_stream(self, systems: Mapping[str, Any], measures: Sequence[Measure]) -> None:
        """That the measures can be had of rows in batches."""
        for system in systems.values():
            system.check(measures)

    #: Whether some rows are looked at, of which :meth:`look` keeps what is needed.
    looks_at_rows: ClassVar[bool] = False

    def look(self, built: Any, level: int = 0) -> Any:
        """What is kept of the rows of a batch, at a level of :class:`SampledRows` at least."""
        return keep_some(built, level)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> Any:
        """What is added up of all batches besides, whatever the measures."""
        return 0

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """What the best constant answer gets, by what was added up."""
        return NAN

    @property
    def plan(self) -> dict[str, Any]:
        """What a file of sums has to say of how systems were made, in plain values."""
        return {}


class Sample(ABC):
    """Systems on the same rows."""

    problem: Problem
    measures: Sequence[Measure]
    settings: Settings
    #: Whether each system has rows of its own.
    has_separate_rows: ClassVar[bool] = False
    #: The systems on all rows by name, where the rows are in memory.
    rows: Mapping[str, Any] | None
    #: Systems that say what is known of them without their rows.
    template: Mapping[str, Any]
    #: What a row is called.
    row_name: Callable[[int], str] = str
    #: How the rows are cut into slices.
    cuts: Sequence[SliceDefinition]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.template)

    @property
    def directed_measures(self) -> tuple[Measure, ...]:
        """The measures of which one value can be better than another, and vary in a known way."""
        known = ((m, m.definition) for m in self.measures)
        return tuple(m for m, d in known if d.higher_is_better is not None and d.interval != "none")

    # --- A number, and how it varies -------------------------------------------------------------

    @abstractmethod
    def point_estimate(
        self, system: str, measure: Measure, settings: Settings | None = None
    ) -> PointEstimate:
        """A number and how it varies, whether or not it was asked for."""

    @abstractmethod
    def statistic(self, system: str, kind: type) -> Any:
        """A statistic of this kind of the answers of a system; None where there is none."""

    @abstractmethod
    def is_known(self, system: str, measure: Measure) -> bool:
        """Whether a number is known without another look at the rows."""

    @abstractmethod
    def with_measures(self, systems: Sequence[str], measures: Sequence[Measure]) -> Sample | None:
        """Some of the systems, of which other measures are asked; None where rows are gone that
        this takes."""

    @abstractmethod
    def with_settings(self, settings: Settings) -> Sample:
        """The same with other intervals."""

    @abstractmethod
    def constant(self, system: str, measure: Measure) -> float:
        """What the best constant answer gets."""

    @abstractmethod
    def auxiliary(self, system: str, measure: Measure, reading: PointEstimate) -> Mapping[str, Any]:
        """What an estimate has beside its interval."""

    def estimate(
        self, system: str, measure: Measure, reading: PointEstimate | None = None
    ) -> Estimate:
        """One measure of one system."""
        made = reading or self.point_estimate(system, measure)
        default = self.constant(system, measure)
        beside = self.auxiliary(system, measure, made)
        return to_estimate(made, str(measure), system, default, **beside)

    @abstractmethod
    def estimates(self) -> Iterator[Estimate]:
        """All measures of all systems."""

    @abstractmethod
    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """The first system of each pair minus the second on every measure that has a direction."""

    # --- The rows --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many there are."""

    @property
    @abstractmethod
    def has_weights(self) -> bool:
        """Whether rows weigh differently."""

    @property
    @abstractmethod
    def clusters(self) -> int | None:
        """How many clusters rows come in; None where they come by themselves, and where nobody
        knows."""

    @property
    def is_rereadable(self) -> bool:
        """Whether the rows can be looked at again."""
        return True

    @abstractmethod
    def conventions(self) -> dict[str, Any]:
        """What provenance says of the rows."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of comparisons has to know of the rows."""
        return ()

    def row_notes(self) -> Sequence[str]:
        """What a reader of an evaluation has to know of the rows."""
        return ()

    def unit_values(self, measure: Measure) -> FloatArray | None:
        """The value of each row and system, shape (rows, systems), where there are such and rows
        are independent and weigh alike."""
        return None

    def unit_weights(self, measure: Measure) -> FloatArray | None:
        """What each of such values counts for; None as rows that have some count once."""
        return None

    def permutation_values(self, measure: Measure, settings: Settings) -> FloatArray | None:
        """None, as rows are too many to be dealt out anew."""
        return None

    def to_stored_predictions(self) -> StoredPredictions | None:
        """What comparisons with later systems need; None where the rows are gone."""
        return None

    @property
    def state(self) -> EvaluationState | None:
        """What a file keeps of what batches add up to; None of rows in memory."""
        return None

    # --- Slices ----------------------------------------------------------------------------------

    @abstractmethod
    def slices(self, comparison: Comparison | None) -> Slices | None:
        """Every measure of every system on every slice, and the pairs of the comparison within
        each; None where nothing is cut."""

    @abstractmethod
    def iterate_slices(self) -> Iterator[tuple[SliceDefinition, str, Sample]]:
        """Each slice that holds rows: how rows are cut, its name, and the systems on its rows."""

    def slice_notes(self, slices: Slices | None, comparison: Comparison | None) -> Sequence[str]:
        """What a reader has to know of the slices."""
        return () if slices is None else too_many_systems_note(slices, comparison)
