"""From a reading to an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import policy
from calipers.results import Estimate

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate
    from calipers.measures import Measure
    from calipers.systems.base import SystemOutput


def to_estimate(
    reading: PointEstimate, measure: str, system: str, default: float = float("nan"), **beside: Any
) -> Estimate:
    """A reading as a result, with its interval."""
    made = policy.interval(reading)
    return Estimate(
        measure=measure,
        value=reading.value,
        low=made.low,
        high=made.high,
        level=reading.settings.level,
        method=made.method,
        n=0 if np.isnan(reading.value) else reading.n,
        of=reading.n if reading.of is None else reading.of,
        unit=reading.unit,
        undefined=reading.undefined,
        no_interval=made.reason,
        standard_error=made.se,
        default=default,
        system=system,
        **beside,
    )


def estimate_measure(
    system: SystemOutput, measure: Measure, reading: PointEstimate | None = None
) -> Estimate:
    """One measure of one system, from its ``reading`` where that is known."""
    made, default = reading or system.reading(measure), system.constant(measure)
    return to_estimate(made, str(measure), system.name, default, **system.beside(measure))
