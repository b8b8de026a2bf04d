"""Curves with as many of their points as a drawing needs, and a promise of how far off it may be.

A line is simplified as Ramer (1972) and Douglas and Peucker (1973) do: between two points that are
kept the others are left out where all of them lie near the straight line, else the farthest is kept
too. Every point of the whole curve is then near the drawn one; and every point drawn is near the
whole curve, since between two points that both have in common the whole curve passes over each
place of the straight line.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.report.charts import RAREST
from calipers.results import Curve
from calipers.statistics.base import FloatArray

#: Thinning keeps the whole curve and what is drawn this close, in shares of what the axes span.
TOLERANCE = 0.005

#: A pointer finds a point of the curve within half of this, along the path.
NEAR = 0.05

#: The share of the tolerance that a first pass takes, which leaves out what lies next to a point.
_FIRST = 0.25


def thinned(curve: Curve) -> Curve:
    """The curve, and its bands, with as many of its points as a drawing needs.

    What is then drawn lies within :data:`TOLERANCE` of the whole curve, and the whole curve as near
    to what is drawn, in shares of what the axes span; so do both edges of each band. What has no
    value, or no place in the drawing, is as it was: the ends of each piece stay. Steps become
    straight lines along them where these take fewer points.
    """
    own_limits = len(curve.band_x) > 0 and np.array_equal(curve.band_x, curve.x)
    if curve.shape == "bars" or own_limits or len(curve) < 3:
        return curve
    points = cornered(curve) if curve.shape == "step" else curve
    keep = simplified(drawn_places(points)[:, None, :], TOLERANCE, NEAR)
    if len(keep) < len(curve):
        at = points.threshold[keep] if len(points.threshold) else points.threshold
        curve = replace(points, x=points.x[keep], y=points.y[keep], threshold=at,
                        tolerance=TOLERANCE)  # fmt: skip
    return _thin_bands(curve, points)


def _thin_bands(curve: Curve, whole: Curve) -> Curve:
    """The bands of ``curve`` at fewer places; ``whole`` tells what the axes span."""
    names = [name for name in ("low", "high", "wide_low", "wide_high") if len(getattr(curve, name))]
    if len(curve.band_x) < 3 or not names:
        return curve
    edges = [_places(whole, curve.band_x, _edge(whole, getattr(curve, name))) for name in names]
    keep = simplified(np.stack(edges, axis=1), TOLERANCE)
    if len(keep) == len(curve.band_x):
        return curve
    fewer = {name: getattr(curve, name)[keep] for name in ("band_x", *names)}
    return replace(curve, tolerance=TOLERANCE, **fewer)


def _edge(whole: Curve, y: FloatArray) -> FloatArray:
    """The edge of a band; beyond the drawing it runs along its border."""
    if whole.scale == "deviate":
        return np.clip(y, RAREST, 1 - RAREST)
    return np.where(y < whole.bottom, whole.bottom, y)


def cornered(curve: Curve) -> Curve:
    """Steps as a line: each point, and before it the corner where its step begins."""
    x = np.repeat(curve.x, 2)[:-1]
    return replace(
        curve, x=x, y=np.repeat(curve.y, 2)[1:], threshold=np.repeat(curve.threshold, 2)[:-1],
        shape="line",
    )  # fmt: skip


def drawn_places(curve: Curve) -> FloatArray:
    """The points as shares of what the axes span, ``(n, 2)``; NaN where nothing is drawn."""
    return _places(curve, curve.x, curve.y)


def _places(curve: Curve, x: FloatArray, y: FloatArray) -> FloatArray:
    if curve.scale == "deviate":
        from scipy.special import ndtri

        rates = np.column_stack([x, y])
        rates[(rates < RAREST) | (rates > 1 - RAREST)] = np.nan
        end = float(ndtri(1 - RAREST))
        return np.asarray((ndtri(rates) + end) / (2 * end))
    y = np.where(y < curve.bottom, np.nan, y)
    return np.column_stack([_shares(x, curve.x), _shares(y, curve.y, curve.bottom)])


def _shares(values: FloatArray, axis: FloatArray, bottom: float = np.nan) -> FloatArray:
    """``values`` as shares of what an axis spans that has room for ``axis``."""
    defined = axis[np.isfinite(axis) & ~(axis < bottom)]
    if not len(defined):
        return np.full(len(values), np.nan)
    low, high = float(defined.min()), float(defined.max())
    if low >= 0 and high <= 1:  # such axes are drawn from 0 to 1
        low, high = 0.0, 1.0
    return (values - low) / (high - low) if high > low else values - low


def simplified(lines: FloatArray, tolerance: float, near: float = np.inf) -> npt.NDArray[np.intp]:
    """The places to keep of lines that are thinned together.

    Parameters
    ----------
    lines
        Shape ``(n, L, 2)``: the same places of ``L`` lines. NaN breaks a line, and the places on
        both sides of a break are kept.
    tolerance
        The largest distance of any line from what is left of it, and the other way round.
    near
        At least one point is kept in each stretch of this length of the path.

    Returns
    -------
    array of int
        Ascending.

    Examples
    --------
    >>> simplified(np.array([[[0, 0]], [[1, 0.01]], [[2, 0]], [[3, 1]]]), 0.02).tolist()
    [0, 2, 3]
    """
    defined = np.asarray(np.isfinite(lines).all(axis=2))
    keep = np.zeros(len(lines), bool)
    keep[[0, -1]] = True
    borders = np.flatnonzero((defined[1:] != defined[:-1]).any(axis=1))
    keep[borders] = keep[borders + 1] = True
    # Between two borders a line is there or it is not; where it is not, it stands still.
    filled = np.where(defined[..., None], lines, 0.0)
    step = np.sqrt((np.diff(filled, axis=0) ** 2).sum(axis=2))
    path = np.append(0.0, np.cumsum((step * (defined[1:] & defined[:-1])).max(axis=1)))
    if np.isfinite(near):
        keep |= _enters(path, near)
    first = _FIRST * tolerance
    places = np.flatnonzero(keep | _enters(path, first))
    chosen = _split(filled[places], np.flatnonzero(keep[places]), tolerance - first)
    return np.asarray(places[chosen])


def _enters(path: FloatArray, stretch: float) -> npt.NDArray[np.bool_]:
    """Whether a point is the first of its stretch of the path."""
    number = np.floor(path / stretch)
    return np.append(True, number[1:] != number[:-1])


def _split(lines: FloatArray, fixed: npt.NDArray[np.intp], most: float) -> npt.NDArray[np.bool_]:
    """Which points to keep beside those that are ``fixed``, so that none of the others is farther
    than ``most`` from the line."""
    keep = np.zeros(len(lines), bool)
    keep[fixed] = True
    ahead: list[tuple[Any, Any]] = list(pairwise(fixed))
    while ahead:
        a, b = ahead.pop()
        if b - a < 2:
            continue
        gap = _distance(lines[a + 1 : b], lines[a], lines[b]).max(axis=1)
        worst = int(gap.argmax())
        if gap[worst] > most:
            middle = a + 1 + worst
            keep[middle] = True
            ahead += [(a, middle), (middle, b)]
    return keep


def _distance(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """How far points are from the straight lines from ``start`` to ``end``, which end there."""
    way = end - start
    length = np.maximum((way**2).sum(axis=-1), np.finfo(float).tiny)
    at = np.clip(((points - start) * way).sum(axis=-1) / length, 0.0, 1.0)
    return np.asarray(np.sqrt(((points - start - at[..., None] * way) ** 2).sum(axis=-1)))
