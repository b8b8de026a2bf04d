"""The kinds of curves of scores, and how each is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from calipers.curves.calibration import (
    binned_calibration_curve,
    calibration_curve,
    probability_histogram,
)
from calipers.curves.decisions import cost_curve, gain_curve, lift_curve, net_benefit_curve
from calipers.curves.rates import det_curve, precision_recall_curve, roc_curve
from calipers.curves.thresholds import density_curve, threshold_curve
from calipers.results import Curve

#: How each kind of curve is made, in the order of a report.
KINDS: Mapping[str, Callable[..., Curve]] = {
    "ROC": roc_curve,
    "PR": precision_recall_curve,
    "threshold": threshold_curve,
    "density": density_curve,
    "DET": det_curve,
    "lift": lift_curve,
    "gain": gain_curve,
    "cost": cost_curve,
    "net benefit": net_benefit_curve,
    "calibration": calibration_curve,
    "calibration by bins": binned_calibration_curve,
    "probabilities": probability_histogram,
}
