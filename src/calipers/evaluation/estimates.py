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
    point_estimate: PointEstimate,
    measure: str,
    system: str,
    no_skill: float = float("nan"),
    **auxiliary: Any,
) -> Estimate:
    """Return a point estimate as a result with its interval."""
    interval = method_selection.interval(point_estimate)
    return Estimate(
        measure=measure,
        value=point_estimate.value,
        low=interval.low,
        high=interval.high,
        level=point_estimate.settings.level,
        method=interval.method,
        n=0 if np.isnan(point_estimate.value) else point_estimate.n,
        n_total=point_estimate.n if point_estimate.n_total is None else point_estimate.n_total,
        unit=point_estimate.unit,
        undefined=point_estimate.undefined,
        interval_reason=interval.reason,
        standard_error=interval.se,
        no_skill=no_skill,
        system=system,
        **auxiliary,
    )


def estimate_measure(
    system: SystemOutput, measure: Measure, given_estimate: PointEstimate | None = None
) -> Estimate:
    """Estimate one measure of one system, from its point estimate if that is given."""
    point_estimate, no_skill = (
        given_estimate or system.point_estimate(measure),
        system.constant_value(measure),
    )
    return to_estimate(
        point_estimate, str(measure), system.name, no_skill, **system.auxiliary_values(measure)
    )
