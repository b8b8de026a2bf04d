"""Measures of a loss per row: estimates and paired differences, for probabilities and numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calipers.evaluate.shared import estimate, per_unit_counts
from calipers.inference import intervals, paired
from calipers.inference.clusters import Clusters
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
    clusters: Clusters | None = None,
) -> Estimate:
    """The measure of the mean loss, with its interval and what a constant prediction loses."""
    assert prediction is not None
    loss = measure.losses(truth, prediction)
    moments = Moments.from_rows(loss, weight)
    if moments.weight == 0:
        default = moments  # a slice without weight has no value, and no default
    elif prediction.ndim == 2:
        # A column for each class. The best constant are their shares; rows of a class lose alike.
        k = prediction.shape[1]
        of_class = np.bincount(truth.astype(np.intp, copy=False), weight, k).astype(np.float64)
        constant = np.tile(of_class / of_class.sum(), (k, 1))
        default = Moments.from_rows(
            measure.losses(np.arange(k, dtype=np.float64), constant), of_class
        )
    else:
        answer = measure.definition.constant(truth, weight)  # type: ignore[misc]
        losses = measure.losses(truth, np.full(len(truth), answer))
        default = Moments.from_rows(losses, weight)
    return estimate(
        measure,
        moments,
        lambda m, value: rows_interval(m, moments, loss, weight, value, settings, clusters),
        system=system,
        level=settings.level,
        n=len(truth),
        default=float(measure.apply(default)),
    )


def loss_replicates(
    measure: Measure,
    loss: FloatArray,
    weight: FloatArray | None,
    settings: Settings,
    clusters: Clusters | None = None,
) -> FloatArray:
    """Bootstrap replicates of a measure of the mean of a loss per row."""
    means = row_means(loss[:, None], weight, settings, clusters)[:, 0]
    moments = replace(Moments.from_rows(loss, weight), mean=means)  # type: ignore[arg-type]
    return measure.apply(moments)


def loss_difference(
    measure: Measure,
    truth: FloatArray,
    predictions: tuple[Any, Any],
    weight: FloatArray | None,
    settings: Settings,
    names: tuple[str, str],
    clusters: Clusters | None = None,
) -> Difference:
    """First minus second, paired over rows.

    The test is a paired t test of the losses. The interval is normal for a mean of losses; for a
    function of it (RMSE) by the delta method; below 100 rows, or where the bootstrap is asked for,
    the paired bootstrap. With clusters, the bootstrap of whole clusters, its p-value too; where no
    bootstrap is wanted, Student's t with the errors of clustered rows.
    """
    losses = tuple(measure.losses(truth, p) for p in predictions)
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
    se, units = of_apart.standard_error, round(of_apart.effective_size)
    if clusters is not None:
        se, units = clusters.mean_error(apart), clusters.number
    kind = "paired t" if clusters is None else "paired t, clustered"
    test = paired.student(of_apart.mean, se, units, kind)
    few = clusters is not None or of_apart.effective_size < FEW_ROWS
    bootstrap = (few and settings.interval == "auto") or settings.prefers_bootstrap
    name = "bootstrap [B]" if clusters is None else clusters.bootstrap
    if bootstrap:
        drawn = row_means(np.column_stack(losses), weight, settings, clusters)
        replicates = [measure.apply(replace(moments[j], mean=drawn[:, j])) for j in (0, 1)]  # type: ignore[arg-type]
        made = intervals.percentile(replicates[0] - replicates[1], settings.level, f"paired {name}")
    elif measure.definition.interval in ("root_mean", "exponential", "total"):
        made = _delta_difference(measure, losses, values, weight, settings.level, clusters)
    elif clusters is not None:
        made = clusters.normal(value, se, settings.level, "clustered")
    else:
        made = intervals.normal_mean(value, se, settings.level)
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


def _delta_difference(
    measure: Measure,
    losses: tuple[FloatArray, ...],
    values: list[float],
    weight: FloatArray | None,
    level: float,
    clusters: Clusters | None = None,
) -> intervals.Interval:
    """The difference of a function f of two means by the delta method: its rows vary as
    f′(mean₁)·loss₁ − f′(mean₂)·loss₂."""
    kind = measure.definition.interval
    if kind == "root_mean":
        if min(values) <= 0:
            return intervals.missing("delta", "no_spread")
        slopes = [1 / (2 * value) for value in values]
    elif kind == "exponential":
        slopes = values
    else:
        slopes = [float(len(losses[0]) if weight is None else weight.sum())] * 2
    influence = slopes[0] * losses[0] - slopes[1] * losses[1]
    if clusters is not None:
        se = clusters.mean_error(influence)
        return clusters.normal(values[0] - values[1], se, level, "delta, clustered")
    se = Moments.from_rows(influence, weight).standard_error
    made = intervals.normal_mean(values[0] - values[1], se, level)
    return replace(made, method="delta")
