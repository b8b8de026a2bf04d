"""Base classes of system outputs.

A kind of system defines which statistic a measure takes, and over which rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from calipers.caching import cached
from calipers.data.errors import InputError, did_you_mean
from calipers.lazy_dataclasses import dataclass
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


class MeasureSample(Protocol):
    """Statistic with the rows that it summarises, as implemented in :mod:`calipers.estimation`."""

    @property
    def statistic(self) -> Any:
        """Statistic of which measures are functions."""

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure, with its sampling distribution."""

    def row_values(self, measure: Measure) -> FloatArray | None:
        """Return the value of each row if the measure is a mean over rows, else None."""

    def influence(self, measure: Measure, total: Any = None) -> Influence | None:
        """Return the influence values of the rows, or None if they are unknown.

        ``total`` is the statistic of all rows if these rows are a batch of them.
        """


class SystemOutput:
    """Output of one system on some rows, with the truth of these rows.

    A kind of system is a frozen dataclass with these fields. It defines in :meth:`sample_for` the
    sample that a measure takes, and in ``columns`` the fields with an entry for each row. All other
    methods have a default.

    Attributes
    ----------
    name : str
        Name of the system.
    settings : Settings
        Settings of inference.
    weight : array of shape (n,) or None
        Weight of each row.
    clusters : ClusterIndex or None
        Clusters of the rows.
    order : TimeOrder or None
        Time order of the rows, if it is known.
    measures : tuple of Measure
        Requested measures, which are bootstrapped together.
    unit : str
        Name of the rows.
    columns : tuple of str
        Fields that have an entry for each row, or are None.
    output_fields : dict
        Fields of the predictions of the system, with the type of those that have an entry for each
        row, else None.
    needs : dict of tuple of str
        For each kind of input that measures read, the field that is required, and its name in
        messages. If it is empty, the system serves all measures of its task.
    """

    name: str
    settings: Settings
    weight: FloatArray | None
    clusters: ClusterIndex | None
    #: Time order of the rows, if it is known.
    order: TimeOrder | None = None
    #: Requested measures, which are bootstrapped together.
    measures: tuple[Measure, ...]

    #: Name of its rows, in the plural.
    unit: ClassVar[str] = "rows"
    #: Fields that have an entry for each row, or are None.
    columns: ClassVar[tuple[str, ...]] = ()
    #: Fields with the output of the system, and the type of those that have an entry for each row.
    output_fields: ClassVar[Mapping[str, Any]] = {}
    #: Required field by what measures read, and its name in messages. A kind of system without
    #: entries supports all measures of its task.
    needs: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def sample_for(self, measure: Measure) -> MeasureSample | None:
        """Return the sample that a measure takes.

        Parameters
        ----------
        measure : Measure
            Plain measure, which is not one of a binary problem of the system.

        Returns
        -------
        Sample or None
            Statistic and rows; None if the measure takes several statistics (see
            :meth:`composite_estimate`).
        """
        raise NotImplementedError

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure that takes several statistics.

        Parameters
        ----------
        measure : Measure
            Measure for which :meth:`sample_for` returns None.

        Returns
        -------
        PointEstimate
            Value with its sampling distribution.
        """
        raise NotImplementedError

    def terms(self, measure: Measure) -> Any:
        """Return what batches of rows accumulate for a measure that takes several statistics.

        It is None if the measure is not of this kind.
        """
        return None

    def binary_problem(self, measure: Measure) -> Any:
        """Return the component (class, label, output or cost) that a measure is about, or None."""
        return None

    def delegate(self, measure: Measure) -> tuple[SystemOutput, Measure]:
        """Return the system and the measure that are evaluated.

        These are the binary problem that a measure is about and the plain measure, or the system
        itself and the measure.
        """
        problem = self.binary_problem(measure)
        return (self, measure) if problem is None or problem is self else (problem, measure.plain)

    def statistic(self, measure: Measure) -> Statistic | None:
        """Return the statistic of which a measure is a function, or None if it takes several."""
        system, system_measure = self.delegate(measure)
        sample = system.sample_for(system_measure)
        return None if sample is None else sample.statistic

    def batch_statistic(self, measure: Measure) -> Statistic | None:
        """Return the statistic that batches of rows accumulate for a measure.

        It is the statistic of the measure, unless another statistic keeps information that is
        needed once the rows are gone, or is smaller and sufficient.
        """
        system, system_measure = self.delegate(measure)
        if system is not self:
            return system.batch_statistic(system_measure)
        sample = system.sample_for(system_measure) or system.terms(system_measure)
        accumulate = getattr(sample, "batch_statistic", None)
        return self.statistic(measure) if accumulate is None else accumulate(system_measure)

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure, with its sampling distribution."""
        system, system_measure = self.delegate(measure)
        sample = system.sample_for(system_measure)
        estimate = (
            system.composite_estimate(system_measure)
            if sample is None
            else sample.point_estimate(system_measure)
        )
        return estimate if self.order is None else replace(estimate, order=self.order)

    def row_values(self, measure: Measure) -> FloatArray | None:
        """Return the value of each row if the measure is a mean over rows, else None."""
        system, system_measure = self.delegate(measure)
        sample = system.sample_for(system_measure)
        return None if sample is None else sample.row_values(system_measure)

    def influence(self, measure: Measure, total: Any) -> Influence | None:
        """Return the influence values of the rows.

        Parameters
        ----------
        measure : Measure
            Measure of all rows.
        total : Statistic
            Statistic of all rows, of which these rows are a batch.

        Returns
        -------
        Influence or None
            Influence values; None if they are unknown.
        """
        system, system_measure = self.delegate(measure)
        sample = system.sample_for(system_measure) or system.terms(system_measure)
        return None if sample is None else sample.influence(system_measure, total)

    def second_pass_statistic(self, measure: Measure, total: Any) -> Any:
        """Return the statistic that a second pass over the rows accumulates for a measure.

        Parameters
        ----------
        measure : Measure
            Measure of all rows.
        total : Statistic
            Result of the first pass, over all rows; these rows are a batch.

        Returns
        -------
        Statistic or None
            Statistic of the batch; None if the first pass suffices.
        """
        system, system_measure = self.delegate(measure)
        sample: Any = system.sample_for(system_measure) or system.terms(system_measure)
        method = getattr(sample, "second_pass_statistic", None)
        return None if method is None else method(system_measure, total)

    def constant_value(self, measure: Measure) -> float:
        """Return the value of the best constant prediction.

        Parameters
        ----------
        measure : Measure
            Measure to compute.

        Returns
        -------
        float
            Value; NaN if the best constant prediction is unknown.
        """
        system, system_measure = self.delegate(measure)
        return NAN if system is self else system.constant_value(system_measure)

    def auxiliary_values(self, measure: Measure) -> Mapping[str, float]:
        """Return additional values of an estimate: its threshold, or its out-of-bag value.

        Parameters
        ----------
        measure : Measure
            Measure of the estimate.

        Returns
        -------
        dict of float
            Values by field of the estimate.
        """
        system, system_measure = self.delegate(measure)
        return {} if system is self else system.auxiliary_values(system_measure)

    def merged_values(self, measure: Measure, statistic: Any, weight: float) -> Mapping[str, Any]:
        """Return additional values of an estimate of rows in batches, or {}.

        Parameters
        ----------
        measure : Measure
            Measure of the estimate.
        statistic : Statistic
            Statistic of all rows.
        weight : float
            Weight of all rows, also of those that the statistic leaves out.

        Returns
        -------
        dict
            Values by field of the estimate.
        """
        return {}

    def supports(self, reads: str) -> bool:
        """Return whether the system has the input that some measures read."""
        field, _ = self.needs.get(reads, ("", ""))
        value = getattr(self, field, None)
        return not self.needs or not (value is None or value is False)

    def check(self, measures: Iterable[Measure]) -> None:
        """Check that the data suffice for every requested measure."""
        for measure in measures:
            self.check_measure(measure)

    def check_measure(self, measure: Measure) -> None:
        """Check that the data suffice for a measure.

        Parameters
        ----------
        measure : Measure
            Requested measure.

        Raises
        ------
        InputError
            If the system does not have the input that the measure reads.
        """
        reads = measure.definition.reads or ""
        if not self.supports(reads):
            raise InputError(f"{self.name}: {measure} needs {self.needs[reads][1]}")

    def with_measures(self, measures: Iterable[Measure]) -> Self:
        """Return the system with these measures, which are bootstrapped together."""
        return self._with(measures=tuple(measures))

    def with_settings(self, settings: Settings) -> Self:
        """Return the system with these settings.

        If the settings are equal, it is the system itself, with its cached results.
        """
        return self if settings == self.settings else self._with(settings=settings)

    def take_rows(self, rows: npt.NDArray[np.bool_ | np.intp]) -> Self:
        """Return the system on some of the rows."""
        return self._with(**self.take_columns(rows))

    def take_columns(self, rows: npt.NDArray[np.bool_ | np.intp]) -> dict[str, Any]:
        """Return some of the rows of its columns and clusters."""
        columns = {name: getattr(self, name) for name in self.columns}
        selected = {name: column[rows] for name, column in columns.items() if column is not None}
        if self.clusters is not None:
            selected["clusters"] = self.clusters.take_rows(rows)
        return {**selected, **self.cut_order(rows)}

    def cut_order(self, rows: npt.NDArray[np.bool_ | np.intp]) -> dict[str, Any]:
        """Return the time order of some of the rows, if it is known."""
        return {} if self.order is None else {"order": self.order.take_rows(rows)}

    def with_time_order(self, order: TimeOrder | None) -> Self:
        """Return the system with this time order of the rows."""
        return self if order is None else self._with(order=order)

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the truth of each row, and other properties that compared systems have in common.

        Returns
        -------
        array
            Truth of each row.
        dict
            Other properties, which have to agree.
        """
        truth: Any = getattr(self, "truth", None)
        return truth, {}

    def output_arrays(self) -> dict[str, Any]:
        """Return the predictions of the system, as accepted by :meth:`with_outputs`."""
        return {name: getattr(self, name) for name in self.output_fields}

    def output_shape(self, field: str, outputs: Mapping[str, Any]) -> tuple[int, ...] | None:
        """Return the required shape of an entry of a column in these predictions, or None."""
        column = getattr(self, field)
        return None if column is None else np.shape(column)[1:]

    def with_outputs(self, name: str, outputs: Mapping[str, Any]) -> Self:
        """Return a system of another name with other predictions for the same rows.

        Parameters
        ----------
        name : str
            Name of the system.
        outputs : dict
            Predictions, by the fields in ``output_fields``.

        Returns
        -------
        SystemOutput
            System of the same kind.

        Raises
        ------
        ValueError
            If the predictions are invalid.
        """
        return self._with(name=name, **outputs)

    def _with(self, **fields: Any) -> Self:
        system: Any = self
        return replace(system, **fields)  # type: ignore[no-any-return]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        columns = (getattr(self, name) for name in self.columns)
        return next(len(column) for column in columns if column is not None)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without cached results, which are computed again on demand."""
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def cached(self, key: Any, make: Callable[[], T]) -> T:
        """Return a result that is computed once for this object.

        Copies with other fields compute their own.
        """
        return cached(self, key, make)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSystem(SystemOutput):
    """System with the fields that every kind has, by keyword; a kind adds its own columns.

    Attributes
    ----------
    name : str
        Name of the system.
    settings : Settings
        Settings of inference.
    weight : array of shape (n,), optional
        Weight of each row.
    clusters : ClusterIndex, optional
        Clusters of the rows.
    order : TimeOrder, optional
        Time order of the rows.
    measures : tuple of Measure, optional
        Requested measures, which are bootstrapped together.
    """

    name: str
    settings: Settings
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    order: TimeOrder | None = None
    measures: tuple[Measure, ...] = ()


def check_named_classes(measure: Measure, names: Sequence[str], term: str = "class") -> None:
    """Check that the classes named by a measure exist.

    Parameters
    ----------
    measure : Measure
        Measure that may be one of a class, or an average over some classes.
    names : sequence of str
        Names of all classes.
    term : str, default='class'
        Name of a class in messages.

    Raises
    ------
    InputError
        If a class does not exist, or the number of weights differs from the number of outputs.
    """
    kind, requested = measure.among or ("", ())
    if kind == WEIGHTS and len(requested) != len(names):
        raise InputError(f"{measure}: has {len(requested)} weights, there are {len(names)} outputs")
    requested = () if kind == WEIGHTS else tuple(map(str, requested))
    for label in (*requested, *(() if measure.label is None else (measure.label,))):
        if label not in names:
            article = "an" if term[0] in "aeiou" else "a"
            suggestion = did_you_mean(label, names)
            raise InputError(f"{measure}: {label!r} is not {article} {term}; {suggestion}")


def best_constant_value(measure: Measure, constants: Statistic) -> float:
    """Return the best value of a measure over constant predictions.

    Parameters
    ----------
    measure : Measure
        Measure to compute.
    constants : Statistic
        Statistics of the constant predictions along the leading axis.

    Returns
    -------
    float
        Best value; NaN if the measure has no direction, or is undefined for all of them.
    """
    if measure.definition.higher_is_better is None:
        return NAN
    values = measure.apply(constants)
    finite_values = values[np.isfinite(values)]
    if finite_values.size == 0:
        return NAN
    return float(
        finite_values.max() if measure.definition.higher_is_better else finite_values.min()
    )
