"""What every system answers: a kind says which statistic a measure takes, and on which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from calipers.caching import cached
from calipers.data.errors import InputError, did_you_mean
from calipers.measures.averages import WEIGHTS

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.inference.variance_estimators import Influence
    from calipers.measures import Measure
    from calipers.statistics import FloatArray, Statistic

NAN = float("nan")

T = TypeVar("T")


class Sample(Protocol):
    """A statistic and the rows behind it; each of :mod:`calipers.estimation` has one."""

    @property
    def statistic(self) -> Any:
        """What measures are formulas over."""

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """The value of a measure, and how it varies."""

    def row_values(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""

    def influence(self, measure: Measure, whole: Any = None) -> Influence | None:
        """By how much each row moves the value, ``whole`` being the statistic of all rows where
        these are a batch of them; None where that is not known."""


class SystemOutput:
    """What one system says of some rows, and the truth of these.

    A kind of system is a frozen dataclass with these fields that says :meth:`over` which sample a
    measure goes, and names in ``columns`` what it has for each row. All else has a default.
    """

    name: str
    settings: Settings
    weight: FloatArray | None
    clusters: ClusterIndex | None
    #: The order of the rows in time, where that is known.
    order: TimeOrder | None = None
    #: Those that are asked for, which are bootstrapped together.
    measures: tuple[Measure, ...]

    #: What its rows are.
    unit: ClassVar[str] = "rows"
    #: The fields that have an entry for each row, or are None.
    columns: ClassVar[tuple[str, ...]] = ()
    #: What the system itself says: fields, with the type of those that have an entry for each row.
    own: ClassVar[Mapping[str, Any]] = {}
    #: For what measures read: the field that has to be there, and what messages call it. A kind
    #: that says nothing here serves all measures of its task.
    needs: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def sample_for(self, measure: Measure) -> Sample | None:
        """The rows that the measure is taken over; None where it takes several statistics."""
        raise NotImplementedError

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """The reading of a measure that takes several statistics."""
        raise NotImplementedError

    def terms(self, measure: Measure) -> Any:
        """What rows that come in batches add up to where a measure takes several statistics; None
        where they do not."""
        return None

    def binary_problem(self, measure: Measure) -> Any:
        """The problem of two classes that a measure is about, where it is about one."""
        return None

    def delegate(self, measure: Measure) -> tuple[SystemOutput, Measure]:
        """Who answers: the problem of two classes that a measure is about, or the system itself."""
        one = self.binary_problem(measure)
        return (self, measure) if one is None or one is self else (one, measure.plain)

    def statistic(self, measure: Measure) -> Statistic | None:
        """What a measure is a formula over; None where it takes more than one."""
        system, own = self.delegate(measure)
        sample = system.sample_for(own)
        return None if sample is None else sample.statistic

    def batch_statistic(self, measure: Measure) -> Statistic | None:
        """What batches of rows add up to for a measure: its statistic, unless another one says more
        where rows are gone, or stays small and says the same."""
        system, own = self.delegate(measure)
        if system is not self:
            return system.batch_statistic(own)
        sample = system.sample_for(own) or system.terms(own)
        added = getattr(sample, "batch_statistic", None)
        return self.statistic(measure) if added is None else added(own)

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """The value of a measure, and how it varies."""
        system, own = self.delegate(measure)
        sample = system.sample_for(own)
        made = system.composite_estimate(own) if sample is None else sample.point_estimate(own)
        return made if self.order is None else replace(made, order=self.order)

    def row_values(self, measure: Measure) -> FloatArray | None:
        """The value of each row, where the measure is the mean of such."""
        system, own = self.delegate(measure)
        sample = system.sample_for(own)
        return None if sample is None else sample.row_values(own)

    def influence(self, measure: Measure, whole: Any) -> Influence | None:
        """By how much each row moves a measure of all rows of which these are a batch, ``whole``
        being their statistic; None where that is not known."""
        system, own = self.delegate(measure)
        sample = system.sample_for(own) or system.terms(own)
        return None if sample is None else sample.influence(own, whole)

    def second(self, measure: Measure, whole: Any) -> Any:
        """The statistic that a second look at all rows adds up for a measure, these being a batch
        of them and ``whole`` what the first one found; None where that tells all."""
        system, own = self.delegate(measure)
        sample: Any = system.sample_for(own) or system.terms(own)
        found = getattr(sample, "second", None)
        return None if found is None else found(own, whole)

    def constant_value(self, measure: Measure) -> float:
        """What the best constant answer gets, where it is known which one that is."""
        system, own = self.delegate(measure)
        return NAN if system is self else system.constant_value(own)

    def auxiliary_values(self, measure: Measure) -> Mapping[str, float]:
        """What else an estimate of the measure tells: a threshold, a value out of bag."""
        system, own = self.delegate(measure)
        return {} if system is self else system.auxiliary_values(own)

    def supports(self, reads: str) -> bool:
        """Whether it has what some measures read."""
        field, _ = self.needs.get(reads, ("", ""))
        there = getattr(self, field, None)
        return not self.needs or not (there is None or there is False)

    def check(self, measures: Iterable[Measure]) -> None:
        """That the data serve every measure asked for."""
        for measure in measures:
            self.check_measure(measure)

    def check_measure(self, measure: Measure) -> None:
        """That the data serve a measure."""
        reads = measure.definition.reads or ""
        if not self.supports(reads):
            raise InputError(f"{self.name}: {measure} needs {self.needs[reads][1]}")

    def with_measures(self, measures: Iterable[Measure]) -> Self:
        """The system that draws these measures together."""
        return self._with(measures=tuple(measures))

    def with_settings(self, settings: Settings) -> Self:
        """The system with these settings; itself, and what it has computed, where it has them."""
        return self if settings == self.settings else self._with(settings=settings)

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> Self:
        """The system on some of the rows."""
        return self._with(**self.take_columns(rows))

    def take_columns(self, rows: npt.NDArray[np.bool_ | np.intp]) -> dict[str, Any]:
        """Some of the rows of the columns that it has, and of its clusters."""
        columns = {name: getattr(self, name) for name in self.columns}
        taken = {name: column[rows] for name, column in columns.items() if column is not None}
        if self.clusters is not None:
            taken["clusters"] = self.clusters.take_rows(rows)
        return {**taken, **self.cut_order(rows)}

    def cut_order(self, rows: npt.NDArray[np.bool_ | np.intp]) -> dict[str, Any]:
        """Some of the rows of their order in time, where that is known."""
        return {} if self.order is None else {"order": self.order.take_rows(rows)}

    def with_time_order(self, order: TimeOrder | None) -> Self:
        """The system whose rows have this order in time."""
        return self if order is None else self._with(order=order)

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """What is true of each row, and what else systems have in common that are compared."""
        truth: Any = getattr(self, "truth", None)
        return truth, {}

    def output_arrays(self) -> dict[str, Any]:
        """What the system says: what :meth:`saying` takes."""
        return {name: getattr(self, name) for name in self.own}

    def output_shape(self, field: str, said: Mapping[str, Any]) -> tuple[int, ...] | None:
        """The shape of what a system that says this has for each row; None where any will do."""
        column = getattr(self, field)
        return None if column is None else np.shape(column)[1:]

    def with_outputs(self, name: str, said: Mapping[str, Any]) -> Self:
        """A system of another name that says something else of the same rows."""
        return self._with(name=name, **said)

    def _with(self, **fields: Any) -> Self:
        made: Any = self
        return replace(made, **fields)  # type: ignore[no-any-return]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        columns = (getattr(self, name) for name in self.columns)
        return next(len(column) for column in columns if column is not None)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was kept, which is made again."""
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def cached(self, key: Any, make: Callable[[], T]) -> T:
        """What is computed once for this object; a copy with other fields computes its own."""
        return cached(self, key, make)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSystem(SystemOutput):
    """A system with what every kind of them has, by name: a kind adds the columns of its own."""

    name: str
    settings: Settings
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    order: TimeOrder | None = None
    measures: tuple[Measure, ...] = ()


def check_named_classes(measure: Measure, names: Sequence[str], what: str = "class") -> None:
    """That there are the classes that a measure names."""
    how, asked = measure.among or ("", ())
    if how == WEIGHTS and len(asked) != len(names):
        raise InputError(f"{measure}: has {len(asked)} weights, there are {len(names)} outputs")
    asked = () if how == WEIGHTS else tuple(map(str, asked))
    for label in (*asked, *(() if measure.label is None else (measure.label,))):
        if label not in names:
            meant = did_you_mean(label, names)
            raise InputError(f"{measure}: {label!r} is no {what}; {meant}")


def best_constant_value(measure: Measure, constants: Statistic) -> float:
    """The value of the best constant answer: the best of the measure over a leading axis."""
    if measure.definition.higher_is_better is None:
        return NAN
    values = measure.apply(constants)
    defined = values[np.isfinite(values)]
    if defined.size == 0:
        return NAN
    return float(defined.max() if measure.definition.higher_is_better else defined.min())
