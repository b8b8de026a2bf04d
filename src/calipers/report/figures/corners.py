"""Long lines at as many points as a drawing can show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from calipers.results import Curve, FloatArray

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

#: The most points of a line that is drawn at its corners.
MOST = 200
#: Of the points in each of so many parts of the width the first, the last, the lowest and the
#: highest are drawn, where there are more.
_PARTS = MOST // 4


def at_corners(curve: Curve) -> Curve:
    """The curve without the points between two others on a level or upright line, which shows
    the same; of more than :data:`MOST` those that make its outline."""
    if len(curve) < 3:
        return curve
    kept = np.flatnonzero(_turns(curve.x, curve.y))
    if len(kept) > MOST:
        kept = kept[_outline(curve.x[kept], curve.y[kept])]
    if len(kept) == len(curve):
        return curve
    at = curve.threshold[kept] if len(curve.threshold) else curve.threshold
    return replace(curve, x=curve.x[kept], y=curve.y[kept], threshold=at)


def _turns(x: FloatArray, y: FloatArray) -> BoolArray:
    """Whether each point is an end, or does not lie on the line of its neighbours along an axis."""
    level = np.diff(y) == 0
    upright = np.diff(x) == 0
    between = (level[:-1] & level[1:]) | (upright[:-1] & upright[1:] & _onwards(y))
    return np.concatenate([[True], ~between, [True]])


def _onwards(y: FloatArray) -> BoolArray:
    """Whether the line goes on in its direction, rather than turning back on itself."""
    step = np.sign(np.diff(y))
    return np.asarray(step[:-1] * step[1:] >= 0)


def _outline(x: FloatArray, y: FloatArray) -> IntArray:
    """Places of the points that make the outline of a line from left to right."""
    part = np.minimum((x - x[0]) / ((x[-1] - x[0]) or 1.0) * _PARTS, _PARTS - 1).astype(np.int64)
    order = np.arange(len(x))
    kept = {0, len(x) - 1}
    for own in np.unique(part):
        here = order[part == own]
        kept |= {here[0], here[-1], here[y[here].argmin()], here[y[here].argmax()]}
    return np.array(sorted(int(place) for place in kept))
