"""Conversion of point estimates to estimates with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import method_selection
from calipers.results import Estimate

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate
    from calipers.measures import Measure
    from calipers.systems.base import SystemOutput


def to_estimate(
    reading: PointEstimate,
    measure: str,
    system: str,
    default: float = float("nan"),
    **auxiliary: Any,
) -> Estimate:
    """Return a point estimate as a result with its interval."""
    interval = method_selection.interval(reading)
    return Estimate(
        measure=measure,
        value=reading.value,
        low=interval.low,
        high=interval.high,
        level=reading.settings.level,
        method=interval.method,
        n=0 if np.isnan(reading.value) else reading.n,
        n_total=reading.n if reading.n_total is None else reading.n_total,
        unit=reading.unit,
        undefined=reading.undefined,
        interval_reason=interval.reason,
        standard_error=interval.se,
        no_skill=default,
        system=system,
        **auxiliary,
    )


def estimate_measure(
    system: SystemOutput, measure: Measure, reading: PointEstimate | None = None
) -> Estimate:
    """Estimate one measure of one system, from its point estimate if that is given."""
    point_estimate, no_skill = (
        reading or system.point_estimate(measure),
        system.constant_value(measure),
    )
    return to_estimate(
        point_estimate, str(measure), system.name, no_skill, **system.auxiliary_values(measure)
    )
