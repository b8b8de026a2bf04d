"""ROC, precision-recall and DET curves.

Every point is a measure of counts, applied to the confusion matrices of all thresholds at once.
"""

from __future__ import annotations

from calipers.curves.scored import GRID, Scored, band_of, curve_of
from calipers.inference.bands import precision_limits
from calipers.measures.counts import false_negative_rate, false_positive_rate, precision, recall
from calipers.results import Curve


def roc_curve(scored: Scored) -> Curve:
    """TPR against FPR, from (0, 0) to (1, 1)."""
    return curve_of(
        scored,
        "ROC",
        ("False positive rate", "True positive rate"),
        x=scored.along(false_positive_rate),
        y=scored.along(recall),
        chance=((0.0, 0.0), (1.0, 1.0)),
        **scored.roc_band,
    )


def precision_recall_curve(scored: Scored) -> Curve:
    """Precision against recall; it begins where something is predicted positive."""
    return curve_of(
        scored,
        "PR",
        ("Recall", "Precision"),
        x=scored.along(recall, start=1),
        y=scored.along(precision, start=1),
        chance=((0.0, scored.prevalence), (1.0, scored.prevalence)),
        **band_of(scored, GRID, lambda: scored.replicates[1], precision_limits),
    )


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
