"""Uplift and Qini curves: what targeting a proportion of the rows gains."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.construction import make_curve
from calipers.measures import parse
from calipers.measures.uplift import qini_gains, uplift_gains
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.registry import register_chart

if TYPE_CHECKING:
    from calipers.estimation.uplift import UpliftSample
    from calipers.results import Curve
    from calipers.systems.uplift import UpliftOutput

#: Number of proportions at which bands are computed, and the largest number of points of a curve.
N_VOLUMES, MAX_POINTS = 33, 1000
#: Number of targeted rows of each arm at which bands begin.
MIN_ARM_ROWS = 10

GAINS = {"uplift": uplift_gains, "Qini": qini_gains}


def gain_curve(system: UpliftOutput, kind: str) -> Curve:
    """Compute the gain of targeting a proportion of the rows, with its bands.

    The simultaneous band has as its half-width the largest deviation of the whole curve in standard
    errors, drawn from the joint normal distribution that the influence of the rows gives. Bands
    begin where ten rows of each arm are targeted.
    """
    sample = system.sample_for(parse("AUUC", "uplift"))
    gains, targeted = GAINS[kind], sample.statistic.targeted
    label = "Gain per row" if kind == "uplift" else "Gain per treated row"
    if not (targeted.treated[-1:] * targeted.control[-1:]).any():
        empty = np.zeros(0)
        return make_curve(system, kind, "Proportion targeted", label, x=empty, y=empty)
    x = np.append(0.0, targeted.weight / targeted.weight[-1:])
    y = np.append(0.0, gains(targeted))
    points = np.unique(np.linspace(0, len(x) - 1, min(len(x), MAX_POINTS)).round().astype(int))
    chance = ((0.0, 0.0), (1.0, float(y[-1])))
    band = _band(sample, gains) if system.settings.interval != "none" else {}
    return make_curve(
        system, kind, "Proportion targeted", label, x=x[points], y=y[points], chance=chance, **band
    )


def _band(sample: UpliftSample, gains: Any) -> dict[str, Any]:
    """Return the bands of a curve, as far as there are rows of both arms."""
    counts = sample.statistic.with_weights(np.ones(sample.statistic.n_rows)).targeted
    has_rows = np.minimum(counts.treated, counts.control) >= MIN_ARM_ROWS
    if not has_rows[-1:].any():
        return {}
    weight = sample.statistic.targeted.weight
    start = float(weight[int(np.argmax(has_rows))] / weight[-1])
    volumes = np.linspace(start, 1.0, N_VOLUMES)
    _, (pointwise, joint) = sample.gain_bands(gains, volumes)
    return {
        "band_x": volumes, "low": pointwise[0], "high": pointwise[1], "method": "Student t",
        "simultaneous_low": joint[0], "simultaneous_high": joint[1],
        "simultaneous_method": "largest deviation",
    }  # fmt: skip


def _gain_chart(name: str, title: str, explanation: str, **options: Any) -> CurveChart:
    return CurveChart(
        name=name,
        title=title,
        explanation=explanation,
        source="uplift",
        curve=partial(gain_curve, kind=name),
        is_conservative=False,
        **options,
    )


register_chart(
    _gain_chart(
        "uplift",
        "Uplift curve",
        "What targeting the rows with the highest predictions gains, per row of all: their "
        "proportion times the difference of the mean outcomes of both arms among them.",
    ),
    _gain_chart(
        "Qini",
        "Qini curve",
        "Outcomes of targeted treated rows beyond those expected from the targeted rows of the "
        "control group, per treated row.",
        on_request=True,
    ),
)
