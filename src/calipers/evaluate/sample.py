"""The systems of an evaluation on the same rows, and all that is asked of them.

A number and how it varies is known in one of two ways: from the rows (:class:`Rows`), or from what
batches of rows add up to (:class:`~calipers.evaluate.sums.Sums`). Everything around it, such as
estimates, differences, findings and slices, is asked of a :class:`Sample`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.columns import Ids
from calipers.evaluate.cuts import Cut
from calipers.evaluate.estimates import estimate_of
from calipers.evaluate.kept import of_rows
from calipers.evaluate.problem import Problem
from calipers.evaluate.slices import sliced, untold
from calipers.inference.limits import FEW_DEGREES
from calipers.progress import over

if TYPE_CHECKING:
    from calipers.evaluate.states import State
    from calipers.inference.reading import Reading
    from calipers.inference.serial import Looked
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Comparison, Estimate, Kept, Slices
    from calipers.statistics import FloatArray


class Sample(ABC):
    """Systems on the same rows."""

    problem: Problem
    measures: Sequence[Measure]
    settings: Settings
    #: Whether each system has rows of its own.
    apart: ClassVar[bool] = False
    #: The systems on all rows by name, where the rows are in memory.
    rows: Mapping[str, Any] | None
    #: Systems that say what is known of them without their rows.
    template: Mapping[str, Any]
    #: What a row is called.
    named: Callable[[int], str] = str
    #: How the rows are cut into slices.
    cuts: Sequence[Cut]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.template)

    @property
    def directed(self) -> tuple[Measure, ...]:
        """The measures of which one value can be better than another, and vary in a known way."""
        known = ((m, m.definition) for m in self.measures)
        return tuple(m for m, d in known if d.higher_is_better is not None and d.interval != "none")

    # --- A number, and how it varies -------------------------------------------------------------

    @abstractmethod
    def reading(self, system: str, measure: Measure, settings: Settings | None = None) -> Reading:
        """A number and how it varies, whether or not it was asked for."""

    @abstractmethod
    def statistic(self, system: str, kind: type) -> Any:
        """A statistic of this kind of the answers of a system; None where there is none."""

    @abstractmethod
    def constant(self, system: str, measure: Measure) -> float:
        """What the best constant answer gets."""

    @abstractmethod
    def auxiliary(self, system: str, measure: Measure, reading: Reading) -> Mapping[str, Any]:
        """What an estimate has beside its interval."""

    def estimate(self, system: str, measure: Measure, reading: Reading | None = None) -> Estimate:
        """One measure of one system."""
        made = reading or self.reading(system, measure)
        default = self.constant(system, measure)
        beside = self.auxiliary(system, measure, made)
        return estimate_of(made, str(measure), system, default, **beside)

    @abstractmethod
    def estimates(self) -> Iterator[Estimate]:
        """All measures of all systems."""

    @abstractmethod
    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, Reading]]:
        """The first system of each pair minus the second on every measure that has a direction."""

    # --- The rows --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether rows weigh differently."""

    @property
    @abstractmethod
    def clusters(self) -> int | None:
        """How many clusters rows come in; None where they come by themselves, and where nobody
        knows."""

    @property
    def rereadable(self) -> bool:
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

    def values_of(self, measure: Measure) -> FloatArray | None:
        """The value of each row and system, shape (rows, systems), where there are such and rows
        are independent and weigh alike."""
        return None

    def importance_of(self, measure: Measure) -> FloatArray | None:
        """What each of such values counts for; None as rows that have some count once."""
        return None

    def dealt(self, measure: Measure, settings: Settings) -> FloatArray | None:
        """None, as rows are too many to be dealt out anew."""
        return None

    def to_keep(self) -> Kept | None:
        """What comparisons with later systems need; None where the rows are gone."""
        return None

    @property
    def state(self) -> State | None:
        """What a file keeps of what batches add up to; None of rows in memory."""
        return None

    # --- Slices ----------------------------------------------------------------------------------

    @abstractmethod
    def slices(self, comparison: Comparison | None) -> Slices | None:
        """Every measure of every system on every slice, and the pairs of the comparison within
        each; None where nothing is cut."""

    @abstractmethod
    def parts(self) -> Iterator[tuple[Cut, str, Sample]]:
        """Each slice that holds rows: how rows are cut, its name, and the systems on its rows."""

    def slice_notes(self, slices: Slices | None, comparison: Comparison | None) -> Sequence[str]:
        """What a reader has to know of the slices."""
        return () if slices is None else untold(slices, comparison)


@dataclass(frozen=True, eq=False)
class Rows(Sample):
    """Systems on rows in memory."""

    by_name: Mapping[str, Any]
    measures: Sequence[Measure]
    settings: Settings
    problem: Problem = field(default_factory=Problem)
    #: The ids of the rows; () where they are told by their places, None of those that only counts
    #: are known of.
    ids: Ids | None = ()
    cuts: Sequence[Cut] = ()
    #: How the rows were cut.
    how: Sequence[str] = ()
    #: What a row is called.
    named: Callable[[int], str] = str
    _serial: list[Looked] = field(default_factory=list)

    @property
    def rows(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The systems on the rows."""
        return self.by_name

    @property
    def template(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The systems themselves."""
        return self.by_name

    @property
    def first(self) -> Any:
        """One of the systems: what is known of rows is the same of all."""
        return next(iter(self.by_name.values()))

    def reading(self, system: str, measure: Measure, settings: Settings | None = None) -> Reading:
        """A number and how it varies, from the rows."""
        own = self.by_name[system]
        made: Reading = (own if settings is None else own.under(settings)).reading(measure)
        return made

    def statistic(self, system: str, kind: type) -> Any:
        """A statistic of this kind of the answers of a system, as the system has it."""
        return self.problem.statistic(self.by_name[system], kind)

    def constant(self, system: str, measure: Measure) -> float:
        """What the best constant answer gets on these rows."""
        return float(self.by_name[system].constant(measure))

    def auxiliary(self, system: str, measure: Measure, reading: Reading) -> Mapping[str, Any]:
        """What an estimate has beside its interval."""
        found: Mapping[str, Any] = self.by_name[system].beside(measure)
        return found

    def estimates(self) -> Iterator[Estimate]:
        """All measures of all systems."""
        asked = [(name, measure) for name in self.by_name for measure in self.measures]
        for name, measure in over(asked, "measuring"):
            reading = self.reading(name, measure)
            if reading.order is not None:
                from calipers.inference import serial

                self._serial.append(serial.Looked.at(name, str(measure), reading))
            yield self.estimate(name, measure, reading)

    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, Reading]]:
        """The first system of each pair minus the second on every measure that has a direction."""
        under = {name: system.under(settings) for name, system in self.by_name.items()}
        for pair in pairs:
            for measure in self.directed:
                first, second = (under[name].reading(measure) for name in pair)
                yield pair, measure, first - second

    # --- The rows --------------------------------------------------------------------------------

    @property
    def weighted(self) -> bool:
        """Whether rows weigh differently."""
        return self.first.weight is not None

    @property
    def clusters(self) -> int | None:
        """How many clusters rows come in."""
        of = self.first.clusters
        return None if of is None else of.number

    def conventions(self) -> dict[str, Any]:
        """What provenance says of the rows."""
        order, clusters = self.first.order, self.clusters
        return {
            "weighted": self.weighted,
            **({} if clusters is None else {"clusters": clusters}),
            **({} if order is None else {"times": order.size}),
        }

    def row_notes(self) -> Sequence[str]:
        """What a reader has to know of clusters, of serial dependence, and of how rows are cut."""
        clusters = self.first.clusters
        found = () if clusters is None else clusters.notes(FEW_DEGREES)
        if not self._serial:
            return (*found, *self.how)
        from calipers.inference import serial

        return (*found, *serial.notes(self._serial), *self.how)

    def to_keep(self) -> Kept | None:
        """What comparisons with later systems need."""
        return None if self.ids is None else of_rows(self.by_name, self.ids)

    def values_of(self, measure: Measure) -> FloatArray | None:
        """The value of each row and system, shape (rows, systems), where there are such and rows
        are independent and weigh alike."""
        systems = list(self.by_name.values())
        if any(s.clusters is not None or s.weight is not None for s in systems):
            return None
        columns = [s.per_row(measure) for s in systems]
        if any(column is None for column in columns):
            return None
        table = np.column_stack([column for column in columns if column is not None])
        order = systems[0].order
        if order is not None:
            from calipers.inference import serial

            apart = table - table.mean(axis=1, keepdims=True)
            if any(serial.of_rows(order, x - x.mean()) for x in apart.T):
                return None
        return np.asarray(table[~np.isnan(table).any(axis=1)])

    # --- Slices ----------------------------------------------------------------------------------

    def slices(self, comparison: Comparison | None) -> Slices | None:
        """Every measure of every system on every slice, and the pairs of the comparison within
        each."""
        return sliced(self, comparison)

    def taken(self, rows: Any) -> Rows:
        """The systems on some of the rows."""
        return replace(self, by_name={n: s.taken(rows) for n, s in self.by_name.items()})

    def parts(self) -> Iterator[tuple[Cut, str, Rows]]:
        """Each slice."""
        for cut in self.cuts:
            for name, rows in zip(cut.names, cut.rows, strict=True):
                yield cut, name, self.taken(rows)
