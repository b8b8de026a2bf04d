"""The detection error tradeoff: both kinds of errors against each other, in normal deviates."""

from __future__ import annotations

from calipers.curves.scored import Scored, curve_of
from calipers.measures.counts import false_negative_rate, false_positive_rate
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.registry import register_chart
from calipers.results import Curve


def det_curve(scored: Scored) -> Curve:
    """FNR against FPR, to be drawn in normal deviates (Martin and others 1997).

    Its bands are those of the ROC curve, turned over.
    """
    band = dict(scored.roc_band)
    for low, high in (("low", "high"), ("wide_low", "wide_high")):
        if low in band:
            band[low], band[high] = 1 - band[high], 1 - band[low]
    return curve_of(
        scored,
        "DET",
        ("False positive rate", "False negative rate"),
        x=scored.along(false_positive_rate),
        y=scored.along(false_negative_rate),
        scale="deviate",
        chance=((0.0, 1.0), (1.0, 0.0)),
        **band,
    )


register_chart(
    CurveChart(
        name="DET",
        title="Detection error tradeoff",
        explanation="Both axes in normal deviates, in which normal scores give a straight line.",
        of="scores",
        curve=det_curve,
        more=True,
    )
)
