"""Differences by the interval of each of the two values (MOVER).

Two values may have units of their own in addition to those that they share, as two systems of which
one was judged on a few cases only: paired differences exist for the common units alone, and
influence values are all 0 where the few units agree, which is not certainty. The interval of each
value knows how many units it is from. MOVER (Zou and Donner 2008) combines the facing limits of
both, with the correlation that the common units give the two values; the p-value belongs to the
level of the interval that just reaches the tested difference.

If one of the values is a constant, the limits are those of the other one less the constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.procedures import LimitsProcedure, Procedure, no_procedure
from calipers.inference.variance_estimators import StandardError

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate


#: Function from an estimate and a level to its interval by the policy.
EstimateInterval = Callable[["PointEstimate", float], Interval]


def separate_procedure(
    difference: PointEstimate, compute_interval: EstimateInterval
) -> Procedure | None:
    """Return the procedure of a difference of two values that have units of their own.

    ``compute_interval`` returns the interval of either value. It is None if the covariance of the
    two values is unknown.
    """
    assert difference.operands is not None
    first, second = difference.operands
    correlation = _correlation(difference)
    if correlation is None:
        return None
    low, high = first.bounds
    n_units = min(_n_units(first), _n_units(second))
    # Common units on which two systems agree leave room for others on which they do not.
    unseen = max(correlation, 0.0) * (high - low) / n_units if math.isfinite(high - low) else 0.0

    def limits(level: float) -> Interval:
        intervals_of_both = (
            compute_interval(_without_order(first), level),
            compute_interval(_without_order(second), level),
        )
        missing = next((interval for interval in intervals_of_both if interval.reason), None)
        if missing is not None:
            return missing
        return intervals.mover_interval(
            first.value,
            intervals_of_both[0],
            second.value,
            intervals_of_both[1],
            correlation=correlation,
            margin=intervals.normal_quantile(level) * unseen,
        )

    return _limits_procedure(difference, limits, None)


def shifted_procedure(
    difference: PointEstimate, compute_interval: EstimateInterval
) -> Procedure | None:
    """Return the procedure of a difference of which one value is a constant.

    ``compute_interval`` returns the interval of the other one.
    """
    from calipers.inference.available_methods import unit_differences

    assert difference.operands is not None
    first, second = difference.operands

    def limits(level: float) -> Interval:
        if second.is_constant:
            interval, value = compute_interval(_without_order(first), level), second.value
            return replace(interval, low=interval.low - value, high=interval.high - value)
        interval, value = compute_interval(_without_order(second), level), first.value
        return replace(interval, low=value - interval.high, high=value - interval.low)

    units = unit_differences(difference)
    return _limits_procedure(difference, limits, None if units is None else units.n_differing)


def _without_order(estimate: PointEstimate) -> PointEstimate:
    """Return an estimate whose interval was requested, without what the order of rows adds to it.

    That is added to the difference.
    """
    settings = estimate.settings
    if settings.interval == "none":
        settings = replace(settings, interval="auto")
    return replace(estimate, order=None, settings=settings)


def _limits_procedure(
    difference: PointEstimate, limits: Callable[[float], Interval], n_differing: int | None
) -> Procedure:
    level = difference.settings.level
    interval = limits(level)
    if interval.reason:
        return no_procedure(interval.reason, difference.value, interval.method)
    se = (interval.high - interval.low) / 2 / intervals.normal_quantile(level)
    return LimitsProcedure(
        value=difference.value,
        bounds=difference.bounds,
        method=interval.method,
        name=interval.method,
        standard_error=StandardError(se, interval.method),
        n_differing=n_differing,
        limits=limits,
    )


def _correlation(difference: PointEstimate) -> float | None:
    """Return the correlation of the two values, from the errors of them and of their difference.

    It is 0 if one of them does not vary.
    """
    assert difference.operands is not None
    influences = [
        None if estimate.influence is None else estimate.influence()
        for estimate in (difference, *difference.operands)
    ]
    errors = [influence.standard_error.se for influence in influences if influence is not None]
    if len(errors) < len(influences):
        return None
    total, first, second = errors
    sizes = [abs(estimate.value) for estimate in difference.operands]
    if not all(
        error > intervals.ROUNDING_TOLERANCE * size
        for error, size in zip((first, second), sizes, strict=True)
    ):
        return 0.0
    return float(np.clip((first**2 + second**2 - total**2) / (2 * first * second), -1.0, 1.0))


def _n_units(estimate: PointEstimate) -> float:
    """Return the number of independent units of a value."""
    if estimate.clusters is not None:
        return float(estimate.clusters.n_clusters)
    return max(1.0, min(estimate.effective_sizes() or (float(estimate.n),)))
