"""Curves with as many of their points as a drawing needs, and a promise of how far off it may be.

First goes what lies next to a point that stays. Then a line is simplified as Ramer (1972) and
Douglas and Peucker (1973) do: between two points that are kept the others are left out where all of
them lie near the straight line, else the farthest is kept too. Every point of the whole curve is
then near the drawn one; and every point drawn is near the whole curve, since between two points
that both have in common the whole curve passes over each place of the straight line.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from calipers.results import Curve
from calipers.statistics.base import FloatArray

#: Thinning keeps the whole curve and what is drawn this close, in shares of what the axes span.
TOLERANCE = 0.005

#: A pointer finds a point of the curve within half of this, along the path.
NEAR = 0.05


def downsample_curve(curve: Curve) -> Curve:
    """The curve, and its bands, with as many of its points as a drawing needs.

    What is then drawn lies within :data:`TOLERANCE` of the whole curve, and the whole curve as near
    to what is drawn, in shares of what the axes span; so do both edges of each band. What has no
    value, or no place in the drawing, is as it was: the ends of each piece stay. Steps become
    straight lines along them where these take fewer points.
    """
    own_limits = len(curve.band_x) > 0 and np.array_equal(curve.band_x, curve.x)
    if curve.shape == "bars" or own_limits or len(curve) < 3:
        return curve
    return _thin_bands(_thin_points(curve), curve)


def _thin_points(curve: Curve) -> Curve:
    """The curve at fewer places."""
    from calipers import _core

    corners = curve.shape == "step"
    if curve.scale == "deviate":
        shares = ((0.0, 1.0), (0.0, 1.0))
        line = _deviates(curve.x), _deviates(curve.y), shares, math.nan
    else:
        line = curve.x, curve.y, _axes(curve), curve.bottom
    keep = _core.simplified_curve(*line, corners, TOLERANCE, NEAR)
    if len(keep) >= len(curve):
        return curve
    column, row = (keep // 2, (keep + 1) // 2) if corners else (keep, keep)
    at = curve.threshold[column] if len(curve.threshold) else curve.threshold
    return replace(
        curve, x=curve.x[column], y=curve.y[row], threshold=at, shape="line", tolerance=TOLERANCE
    )


def _thin_bands(curve: Curve, whole: Curve) -> Curve:
    """The bands of ``curve`` at fewer places; ``whole`` tells what the axes span."""
    from calipers import _core

    names = [
        name
        for name in ("low", "high", "simultaneous_low", "simultaneous_high")
        if len(getattr(curve, name))
    ]
    if len(curve.band_x) < 3 or not names:
        return curve
    edges = [
        _unit_coordinates(whole, curve.band_x, _edge(whole, getattr(curve, name))) for name in names
    ]
    keep = _core.simplified_lines(np.stack(edges, axis=1), TOLERANCE)
    if len(keep) == len(curve.band_x):
        return curve
    fewer = {name: getattr(curve, name)[keep] for name in ("band_x", *names)}
    return replace(curve, tolerance=TOLERANCE, **fewer)


def _edge(whole: Curve, y: FloatArray) -> FloatArray:
    """The edge of a band; beyond the drawing it runs along its border."""
    from calipers.report.figures.curve_chart import RAREST

    if whole.scale == "deviate":
        return np.clip(y, RAREST, 1 - RAREST)
    return np.where(y < whole.bottom, whole.bottom, y)


def _unit_coordinates(curve: Curve, x: FloatArray, y: FloatArray) -> FloatArray:
    """Points as shares of what the axes span, ``(n, 2)``; NaN where nothing is drawn."""
    if curve.scale == "deviate":
        return np.column_stack([_deviates(x), _deviates(y)])
    y = np.where(y < curve.bottom, np.nan, y)
    pairs = zip((x, y), _axes(curve), strict=True)
    return np.column_stack([(values - start) / span for values, (start, span) in pairs])


def _deviates(rates: FloatArray) -> FloatArray:
    """Rates as shares of an axis in normal deviates; NaN where they have no place there."""
    from scipy.special import ndtri

    from calipers.report.figures.curve_chart import RAREST

    end = float(ndtri(1 - RAREST))
    out = np.full(len(rates), np.nan)
    drawn = (rates >= RAREST) & (rates <= 1 - RAREST)
    out[drawn] = (ndtri(rates[drawn]) + end) / (2 * end)
    return out


def _axes(curve: Curve) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where each axis begins, and what it spans."""
    return _axis(curve.x, np.nan), _axis(curve.y, curve.bottom)


def _axis(values: FloatArray, bottom: float) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)) or low < bottom:
        defined = values[np.isfinite(values) & ~(values < bottom)]
        if not len(defined):
            return 0.0, math.nan
        low, high = float(defined.min()), float(defined.max())
    if low >= 0 and high <= 1:  # such axes are drawn from 0 to 1
        return 0.0, 1.0
    return low, high - low if high > low else 1.0
