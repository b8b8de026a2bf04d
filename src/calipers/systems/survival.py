"""Survival: systems that predict a time to an event, as a risk or as probabilities to survive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.estimation.survival import SurvivalSample
from calipers.lazy_dataclasses import dataclass, replace
from calipers.statistics import FloatArray, SurvivalRows
from calipers.systems.base import NAN, SystemOutput

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class SurvivalOutput(SystemOutput):
    """Predicted risks of one system, or its probabilities to survive stated times, or both.

    Attributes
    ----------
    name : str
        Name of the system.
    time : array of shape (n,)
        Time of the event, or of censoring.
    event : array of shape (n,)
        Whether the event was observed.
    risk : array of shape (n,)
        Predicted risk.
    survival : array of shape (n, n_times)
        Predicted probabilities to survive each of ``times``; no columns if there are none.
    times : tuple of float
        Times of these probabilities, or other times at which systems are evaluated.
    weight : array of shape (n,) or None
        Weight of each row.
    settings : Settings
        Settings of inference.
    clusters : ClusterIndex, optional
        Clusters of the rows.
    measures : tuple of Measure, optional
        Requested measures.
    """

    name: str
    time: FloatArray
    event: npt.NDArray[np.bool_]
    risk: FloatArray
    survival: FloatArray
    times: tuple[float, ...]
    weight: FloatArray | None
    settings: Settings
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None

    columns: ClassVar = ("time", "event", "risk", "survival", "weight")
    output_fields: ClassVar = {"risk": float, "survival": float}

    def shared_inputs(self) -> tuple[Any, dict[str, Any]]:
        """Return the time of each row, negative if it is censored, and the times of predictions."""
        return np.where(self.event, self.time, -self.time), {"times": list(self.times)}

    def check_measure(self, measure: Measure) -> None:
        """Check that the probabilities or times that the measure needs are known."""
        time = measure.parameters.get("time")
        if measure.definition.reads == "survival probabilities":
            if not self.survival.shape[1]:
                raise InputError(f"{self.name}: {measure} needs survival=, predicted probabilities")
            if time is not None and time not in self.times:
                times = ", ".join(f"{t:g}" for t in self.times)
                raise InputError(
                    f"{self.name}: {measure} needs survival= at {time:g}; it is at {times}"
                )
        if "no_times" in measure.definition.undefined and not self.times:
            raise InputError(f"{self.name}: {measure} needs times=, or survival= at several times")

    @cached_property
    def _sample(self) -> SurvivalSample:
        rows = SurvivalRows.from_rows(
            self.time, self.event, self.risk, self.survival, self.weight, self.times
        )
        return SurvivalSample(rows, self.weight, self.clusters, self.settings)

    def sample_for(self, measure: Measure) -> SurvivalSample:
        """Return the sample of all rows."""
        return self._sample

    def constant_value(self, measure: Measure) -> float:
        """Return the value of equal risks, or of the Kaplan-Meier probabilities of all rows."""
        no_skill = measure.definition.no_skill
        if no_skill is not None:
            return no_skill
        if measure.definition.higher_is_better is None or not self.survival.shape[1]:
            return NAN
        rows = self._sample.rows
        estimates = [rows.event_survival.values[rows.n_times_until(time)] for time in self.times]
        constant = np.broadcast_to(np.array(estimates), self.survival.shape)
        return float(measure.apply(replace(rows, survival=constant)))
