"""Calibration of predicted survival at a time: observed against predicted risk of groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.construction import make_curve
from calipers.curves.lazy_curves import LazyCurve
from calipers.curves.residuals import equal_weight_bins
from calipers.measures import parse
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.registry import register_chart

if TYPE_CHECKING:
    from calipers.results import Curve
    from calipers.systems.survival import SurvivalOutput

SURVIVAL_CALIBRATION = "survival calibration"

#: The largest number of groups of rows, of equal weight.
MAX_GROUPS = 10


def survival_calibration(system: SurvivalOutput, time: float, series: str = "") -> Curve:
    """Compute the observed risk of an event until a time, in groups by the predicted risk.

    The observed risk is 1 − S of Kaplan and Meier's estimate on the rows of the group. Groups in
    which no row is observed until the time are omitted, unless all had their event.
    """
    predicted = 1 - system.survival[:, system.times.index(time)]
    weight = np.ones(len(predicted)) if system.weight is None else system.weight
    measure, points = parse(f"OE-ratio@{time!r}", "survival-probabilities"), []
    for rows in equal_weight_bins(predicted, weight, MAX_GROUPS) if weight.any() else ():
        observed, limits = system.take_rows(rows).sample_for(measure).observed_risk(time)
        if np.isfinite(observed):
            x = float(np.average(predicted[rows], weights=weight[rows]))
            points.append((x, observed, limits.low, limits.high))
    x, y, low, high = np.array(points).reshape(-1, 4).T
    band: dict[str, Any] = {}
    if system.settings.interval != "none":
        band = {"band_x": x, "low": low, "high": high, "method": "log-minus-log"}
    labels = "Mean predicted risk", "Observed risk"
    line = {"calibrated": [[0.0, 0.0], [1.0, 1.0]]}
    return make_curve(
        system, SURVIVAL_CALIBRATION, *labels, x=x, y=y, references=line, series=series, **band
    )


def _plan(systems: Sequence[SurvivalOutput]) -> list[LazyCurve]:
    """Return the planned curves of each system that predicts probabilities, and of each time."""
    curves = []
    for system in systems:
        for time in system.times if system.survival.shape[1] else ():
            series = f"{time:g}" if len(system.times) > 1 else ""
            make = partial(survival_calibration, system, time, series)
            curves.append(LazyCurve(make, SURVIVAL_CALIBRATION, system.name, series))
    return curves


register_chart(
    CurveChart(
        name=SURVIVAL_CALIBRATION,
        title="Calibration of predicted risks",
        explanation="The risk of an event until a time in groups of equal numbers of rows, by the "
        "predicted risk: that of Kaplan and Meier's estimate against the mean prediction. On the "
        "line, predictions are calibrated; above it they are too low.",
        source="survival",
        plan=_plan,
        series_name="time",
    )
)
