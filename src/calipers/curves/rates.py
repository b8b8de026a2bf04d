"""ROC, precision-recall and detection-error-tradeoff curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.curves.construction import empty_band, make_curve
from calipers.curves.score_curves import roc_measures, series_name
from calipers.curves.score_data import GRID, ScoreData, make_band, make_score_curve
from calipers.inference import method_selection
from calipers.inference.bands import precision_limits
from calipers.measures.counts import false_negative_rate, false_positive_rate, precision, recall
from calipers.report.figures.curves import CurveChart
from calipers.report.figures.registry import register_chart
from calipers.results import Curve

#: The axes of the ROC plane, and the line of chance there.
_ROC_LABELS = ("False positive rate", "True positive rate")
_CHANCE = ((0.0, 0.0), (1.0, 1.0))


def roc_curve(score_data: ScoreData) -> Curve:
    """Compute the ROC curve: TPR against FPR, from (0, 0) to (1, 1)."""
    return make_score_curve(
        score_data,
        "ROC",
        _ROC_LABELS,
        x=score_data.along(false_positive_rate),
        y=score_data.along(recall),
        chance=_CHANCE,
        **score_data.roc_band,
    )


def roc_point(system: Any, label: str | None = None) -> Curve:
    """Compute the point of predicted labels in the ROC plane, FPR and TPR with their intervals.

    The labels are of two classes, or of one of several classes against all others. Intervals are
    those of tables. There is no point if a rate is undefined.
    """
    estimates = [system.point_estimate(measure) for measure in roc_measures(label)]
    intervals = [method_selection.interval(estimate) for estimate in estimates]
    rates = np.array([[estimate.value] for estimate in estimates])
    x, y = rates if np.isfinite(rates).all() else rates[:, :0]
    limits = np.array([[interval.low, interval.high] for interval in intervals])
    band = empty_band()
    if len(x) and np.isfinite(limits).all():
        (low, high), method = (
            limits[1],
            " and ".join(dict.fromkeys(interval.method for interval in intervals)),
        )
        band = {"band_x": limits[0], "low": np.full(2, low), "high": np.full(2, high)}
        band["method"] = method
    operating_point = (float(x[0]), float(y[0])) if len(x) else None
    if label is not None:
        band["series"] = series_name(label)
    return make_curve(
        system,
        "ROC",
        *_ROC_LABELS,
        x=x,
        y=y,
        shape="point",
        chance=_CHANCE,
        operating_point=operating_point,
        **band,
    )


def precision_recall_curve(score_data: ScoreData) -> Curve:
    """Compute precision against recall, from the first threshold with positive predictions."""
    return make_score_curve(
        score_data,
        "PR",
        ("Recall", "Precision"),
        x=score_data.along(recall, start=1),
        y=score_data.along(precision, start=1),
        chance=((0.0, score_data.prevalence), (1.0, score_data.prevalence)),
        **make_band(score_data, GRID, lambda: score_data.replicates[1], precision_limits),
    )


register_chart(
    CurveChart(name="ROC", title="ROC curve", source="scores", curve=roc_curve, by_class=True),
    CurveChart(
        name="PR",
        title="Precision-recall curve",
        source="scores",
        curve=precision_recall_curve,
        by_class=True,
    ),
)


def det_curve(score_data: ScoreData) -> Curve:
    """Compute the DET curve: FNR against FPR, to be plotted in normal deviates.

    Its bands are those of the ROC curve, reflected.

    References
    ----------
    Martin, Doddington, Kamm, Ordowski and Przybocki (1997). The DET curve in assessment of
    detection task performance. Eurospeech.
    """
    band = dict(score_data.roc_band)
    for low, high in (("low", "high"), ("simultaneous_low", "simultaneous_high")):
        if low in band:
            band[low], band[high] = 1 - band[high], 1 - band[low]
    return make_score_curve(
        score_data,
        "DET",
        ("False positive rate", "False negative rate"),
        x=score_data.along(false_positive_rate),
        y=score_data.along(false_negative_rate),
        scale="deviate",
        chance=((0.0, 1.0), (1.0, 0.0)),
        **band,
    )


register_chart(
    CurveChart(
        name="DET",
        title="Detection error tradeoff",
        explanation="Both axes are on the normal-deviate (probit) scale, on which normally "
        "distributed scores give a straight line.",
        source="scores",
        curve=det_curve,
        on_request=True,
    )
)
