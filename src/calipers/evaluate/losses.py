"""Measures of a loss per row: estimates and replicates, for probabilities and numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calipers.evaluate.shared import estimate
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import Settings, row_means, rows_interval
from calipers.measures import Measure
from calipers.results import Estimate
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
    """The measure of the mean loss, with its interval, and what the best constant prediction loses,
    if the measure knows which that is."""
    assert prediction is not None
    loss = measure.losses(truth, prediction)
    moments = Moments.from_rows(loss, weight)
    constant, default = measure.definition.constant, float("nan")
    if constant is not None and moments.weight > 0:  # a slice may be without weight
        losses = measure.losses(truth, np.full(len(truth), constant(truth, weight)))
        default = float(measure.apply(Moments.from_rows(losses, weight)))
    return estimate(
        measure,
        moments,
        lambda m, value: rows_interval(m, moments, loss, weight, value, settings, clusters),
        system=system,
        level=settings.level,
        n=len(truth),
        default=default,
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


def slope(measure: Measure, value: float, moments: Moments) -> float:
    """How fast a measure of a mean loss rises with the mean, for the delta method; NaN where it has
    no slope, as √ at 0."""
    match measure.definition.interval:
        case "root_mean":
            return 1 / (2 * value) if value > 0 else float("nan")
        case "exponential":
            return value
        case "total":
            return moments.weight
    return 1.0


def loss_influence(measure: Measure, loss: FloatArray, weight: FloatArray | None) -> FloatArray:
    """How much each row moves a measure of the mean of a loss, times the row's weight:
    f′(mean)·w(loss − mean)/Σw."""
    moments = Moments.from_rows(loss, weight)
    rate = slope(measure, float(measure.apply(moments)), moments) / moments.weight
    with np.errstate(invalid="ignore"):  # a root has no slope at 0, and a loss may be infinite
        moved = (loss - moments.mean) * rate
        return moved if weight is None else np.where(weight > 0, moved * weight, 0.0)
