"""Measures of a loss per row: estimates and paired differences, for probabilities and numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calipers.evaluate.shared import estimate, per_unit_counts
from calipers.inference import intervals, paired
from calipers.inference.estimate import FEW_ROWS, Settings, row_means, rows_interval
from calipers.measures import Measure
from calipers.results import Difference, Estimate
from calipers.statistics import FloatArray, Moments


def loss_estimate(
    measure: Measure,
    truth: FloatArray,
    prediction: FloatArray | None,
    weight: FloatArray | None,
    settings: Settings,
    system: str,
) -> Estimate:
    """The measure of the mean loss, with its interval and what a constant prediction loses."""
    assert prediction is not None
    loss = measure.definition.losses(truth, prediction)
    moments = Moments.from_rows(loss, weight)
    constant = measure.definition.constant(truth, weight)  # type: ignore[misc]
    default = measure.definition.losses(truth, np.full(len(truth), constant))
    return estimate(
        measure,
        moments,
        lambda m, value: rows_interval(m, moments, loss, weight, value, settings),
        system=system,
        level=settings.level,
        n=len(truth),
        default=float(measure.apply(Moments.from_rows(default, weight))),
    )


def loss_difference(
    measure: Measure,
    truth: FloatArray,
    predictions: tuple[Any, Any],
    weight: FloatArray | None,
    settings: Settings,
    names: tuple[str, str],
) -> Difference:
    """First minus second, paired over rows.

    The test is a paired t test of the losses. The interval is normal for a mean of losses; for a
    function of it (RMSE) by the delta method; below 100 rows, or where the bootstrap is asked for,
    the paired bootstrap.
    """
    losses = tuple(measure.definition.losses(truth, p) for p in predictions)
    moments = tuple(Moments.from_rows(loss, weight) for loss in losses)
    values = [float(measure.apply(m)) for m in moments]
    value = values[0] - values[1]
    shared: dict[str, Any] = {
        "measure": str(measure),
        "system": names[0],
        "baseline": names[1],
        "value": value,
        "level": settings.level,
        "n": len(truth),
        "higher_is_better": measure.definition.higher_is_better,
    }
    if not np.isfinite(value):
        return Difference(**shared, no_interval="undefined_value")
    apart = losses[0] - losses[1]
    of_apart = Moments.from_rows(apart, weight)
    test = paired.student(of_apart.mean, of_apart.standard_error, round(of_apart.effective_size))
    few = of_apart.effective_size < FEW_ROWS and settings.interval == "auto"
    bootstrap = few or settings.prefers_bootstrap
    if bootstrap:
        drawn = row_means(np.column_stack(losses), weight, settings)
        replicates = [measure.apply(replace(moments[j], mean=drawn[:, j])) for j in (0, 1)]  # type: ignore[arg-type]
        made = intervals.percentile(
            replicates[0] - replicates[1], settings.level, "paired bootstrap [B]"
        )
    elif measure.definition.interval == "root_mean":
        made = _root_difference(losses, values, weight, settings.level)
    else:
        made = intervals.normal_mean(value, of_apart.standard_error, settings.level)
    return Difference(
        **shared,
        low=made.low,
        high=made.high,
        method=made.method if bootstrap else f"{made.method}, paired",
        p=test.p,
        test=test.name,
        effect=paired.hedges_g(apart) if weight is None else float("nan"),
        **per_unit_counts(apart, higher_is_better=bool(measure.definition.higher_is_better)),
        no_interval=made.reason,
    )


def _root_difference(
    losses: tuple[FloatArray, ...], values: list[float], weight: FloatArray | None, level: float
) -> intervals.Interval:
    """√mean₁ − √mean₂ by the delta method: its rows vary as loss₁/(2√mean₁) − loss₂/(2√mean₂)."""
    if min(values) <= 0:
        return intervals.missing("delta", "no_spread")
    influence = losses[0] / (2 * values[0]) - losses[1] / (2 * values[1])
    se = Moments.from_rows(influence, weight).standard_error
    made = intervals.normal_mean(values[0] - values[1], se, level)
    return replace(made, method="delta")
