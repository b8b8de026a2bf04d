"""Downsampling of curves to the points that a drawing needs, with a bound on the error.

First, points next to a point that is kept are removed. Then the line is simplified as by Ramer
(1972) and Douglas and Peucker (1973): between two points that are kept all others are removed if
all of them are near the straight line, otherwise the farthest is kept too. Every point of the whole
curve is then near the drawn one, and every drawn point is near the whole curve, since between two
common points the whole curve passes over each position of the straight line.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from calipers.curves.score_data import ODDS_GRID
from calipers.results import Curve
from calipers.statistics.base import FloatArray

#: The largest distance between the whole curve and the drawn one, as a proportion of the axes.
TOLERANCE = 0.005

#: The largest distance between drawn points, along the path, so that a pointer finds one.
MAX_POINT_DISTANCE = 0.05


def downsample_curve(curve: Curve) -> Curve:
    """Return the curve and its bands with only the points that a drawing needs.

    The drawn curve is within :data:`TOLERANCE` of the whole curve and vice versa, as a proportion
    of the ranges of the axes; so are both edges of each band. Points that are undefined or outside
    of the drawing are unchanged: the ends of each piece are kept. Steps become straight lines along
    them if these need fewer points.
    """
    # Net benefit may have its band at its points, or none; the points do not depend on that.
    grid = curve.band_x if len(curve.band_x) else ODDS_GRID
    if curve.shape == "bars" or np.array_equal(grid, curve.x) or len(curve) < 3:
        return curve
    return _thin_bands(_thin_points(curve), curve)


def _thin_points(curve: Curve) -> Curve:
    """Return the curve with fewer points."""
    from calipers import _core

    is_step = curve.shape == "step"
    if curve.scale == "deviate":
        unit_axes = ((0.0, 1.0), (0.0, 1.0))
        line = _to_deviate_axis(curve.x), _to_deviate_axis(curve.y), unit_axes, math.nan
    else:
        line = curve.x, curve.y, _axis_ranges(curve), curve.bottom
    kept_indices = _core.simplified_curve(*line, is_step, TOLERANCE, MAX_POINT_DISTANCE)
    if len(kept_indices) >= len(curve):
        return curve
    x_index, y_index = (
        (kept_indices // 2, (kept_indices + 1) // 2) if is_step else (kept_indices, kept_indices)
    )
    thresholds = curve.threshold[x_index] if len(curve.threshold) else curve.threshold
    return replace(
        curve,
        x=curve.x[x_index],
        y=curve.y[y_index],
        threshold=thresholds,
        shape="line",
        tolerance=TOLERANCE,
    )


def _thin_bands(curve: Curve, full_curve: Curve) -> Curve:
    """Return ``curve`` with fewer points of its bands.

    The ranges of the axes are those of ``full_curve``.
    """
    from calipers import _core

    names = [
        name
        for name in ("low", "high", "simultaneous_low", "simultaneous_high")
        if len(getattr(curve, name))
    ]
    if len(curve.band_x) < 3 or not names:
        return curve
    edges = [
        _unit_coordinates(full_curve, curve.band_x, _clip_edge(full_curve, getattr(curve, name)))
        for name in names
    ]
    kept_indices = _core.simplified_lines(np.stack(edges, axis=1), TOLERANCE)
    if len(kept_indices) == len(curve.band_x):
        return curve
    thinned_fields = {name: getattr(curve, name)[kept_indices] for name in ("band_x", *names)}
    return replace(curve, tolerance=TOLERANCE, **thinned_fields)


def _clip_edge(full_curve: Curve, y: FloatArray) -> FloatArray:
    """Return the edge of a band, clipped to the drawing."""
    from calipers.report.figures.curve_chart import MIN_RATE

    if full_curve.scale == "deviate":
        return np.clip(y, MIN_RATE, 1 - MIN_RATE)
    return np.where(y < full_curve.bottom, full_curve.bottom, y)


def _unit_coordinates(curve: Curve, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return points as proportions of the axes, ``(n, 2)``; NaN where nothing is drawn."""
    if curve.scale == "deviate":
        return np.column_stack([_to_deviate_axis(x), _to_deviate_axis(y)])
    y = np.where(y < curve.bottom, np.nan, y)
    pairs = zip((x, y), _axis_ranges(curve), strict=True)
    return np.column_stack([(values - start) / span for values, (start, span) in pairs])


def _to_deviate_axis(rates: FloatArray) -> FloatArray:
    """Return rates as proportions of an axis in normal deviates; NaN if outside of the axis."""
    from scipy.special import ndtri

    from calipers.report.figures.curve_chart import MIN_RATE

    max_deviate = float(ndtri(1 - MIN_RATE))
    out = np.full(len(rates), np.nan)
    inside_mask = (rates >= MIN_RATE) & (rates <= 1 - MIN_RATE)
    out[inside_mask] = (ndtri(rates[inside_mask]) + max_deviate) / (2 * max_deviate)
    return out


def _axis_ranges(curve: Curve) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the start and the length of each axis."""
    return _axis_range(curve.x, np.nan), _axis_range(curve.y, curve.bottom)


def _axis_range(values: FloatArray, bottom: float) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)) or low < bottom:
        finite_values = values[np.isfinite(values) & ~(values < bottom)]
        if not len(finite_values):
            return 0.0, math.nan
        low, high = float(finite_values.min()), float(finite_values.max())
    if low >= 0 and high <= 1:  # such axes are drawn from 0 to 1
        return 0.0, 1.0
    return low, high - low if high > low else 1.0
