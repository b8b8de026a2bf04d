"""Shared constructors of curves of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.results import Curve

if TYPE_CHECKING:
    from calipers.systems.base import SystemOutput


def empty_band() -> dict[str, Any]:
    """Return the band attributes of a curve without a band."""
    empty = np.zeros(0)
    return {"band_x": empty, "low": empty, "high": empty, "method": "none"}


def make_curve(
    system: SystemOutput, kind: str, x_label: str, y_label: str, **curve_fields: Any
) -> Curve:
    """Return a curve of a system whose points have no thresholds.

    Parameters
    ----------
    system : SystemOutput
        System that the curve belongs to.
    kind : str
        Kind of the curve, which is the name of its chart.
    x_label : str
        Label of the horizontal axis.
    y_label : str
        Label of the vertical axis.
    **curve_fields
        Other attributes of :class:`calipers.results.Curve`, including ``x`` and ``y``. Without
        ``band_x``, ``low`` and ``high`` the curve has no band.

    Returns
    -------
    Curve
        The curve.

    See Also
    --------
    calipers.charts.make_score_curve : Return a curve of scores with thresholds.
    """
    defaults = {
        **empty_band(),
        "threshold": np.zeros(0),
        "parameter": "",
        "level": system.settings.level,
    }
    return Curve(system.name, kind, x_label, y_label, **{**defaults, **curve_fields})
