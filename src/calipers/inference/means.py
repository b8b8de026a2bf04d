"""The interval of a mean of skewed values."""

from __future__ import annotations

import math

import numpy as np

from calipers.inference.intervals import ROUNDING, Interval, missing, t_of
from calipers.statistics import FloatArray
from calipers.statistics.histogram import MOST_OF_TAIL


def skewed_t(
    mean: float, se: float, skewness: float, degrees: float, level: float, *, positive: bool
) -> Interval:
    """Student's t interval of a mean, corrected for skewness (Hall 1992).

    With T = (mean − μ)/se and s the skewness over √n, T + aT² + a²T³/3 + s/6 is nearly normal for
    a = s/3; it rises with T, and its inverse takes Student's quantiles to those of T. However large
    one value is, T stays above −7 or so. The lower limit of a mean of what is never negative is
    found on the log scale, where a = s/3 − se/(2·mean).

    >>> interval = skewed_t(2.0, 0.5, 0.0, 9, 0.95, positive=False)
    >>> round(interval.low, 4), round(interval.high, 4)  # Student's
    (0.8689, 3.1311)
    """
    method = "t, skewness-corrected"
    if not (degrees > 0 and math.isfinite(se)):
        return missing(method, "too_few_rows")
    if se <= ROUNDING * abs(mean):  # nothing, or what rounding left
        return missing(method, "no_spread")
    t = t_of(level, degrees)

    def turned(y: float, a: float) -> float:
        root = float(np.cbrt(1 + 3 * a * (y - skewness / 6)))
        return 3 * (y - skewness / 6) / (root**2 + root + 1)

    high = mean - se * turned(-t, skewness / 3)
    if positive and mean > 0:
        relative = se / mean
        low = mean * math.exp(-relative * turned(t, skewness / 3 - relative / 2))
    else:
        low = mean - se * turned(t, skewness / 3)
    return Interval(low, high, method, se=se)


#: Of squares whose tail is heavier than this index of their roots there is no variance; half a row
#: stands at no more than so many times the largest.
LEAST_INDEX, MOST_BEYOND = 2.2, 25.0

#: Few values are taken for the tail, but at least so many.
FEWEST_OF_TAIL = 5


def unseen_square(squares: FloatArray, rows: int | None = None) -> float:
    """What a row beyond the largest of squares has in the mean, if the tail of their roots goes on
    as that of the largest √n does: x·α/(α − 2) of a Pareto tail from x on, with Hill's index α
    (1975). Of so many ``rows``, where the largest of them are enough.

    >>> round(unseen_square(np.square(np.linspace(0.01, 1, 100))), 3)  # next to no tail
    1.133
    """
    n, most = len(squares), float(squares.max(initial=0.0))
    few = max(int(math.sqrt(n if rows is None else rows)), FEWEST_OF_TAIL)
    few = min(few, MOST_OF_TAIL - 1, n - 1)
    index = LEAST_INDEX
    if few > 0:
        tail = np.partition(squares, n - 1 - few)[n - 1 - few :]
        least = float(tail[0])
        if least > 0:
            mean = float(np.log(tail[1:] / least).sum()) / few / 2
            index = max(LEAST_INDEX, 1 / mean) if mean > 0 else math.inf
    beyond = index / (index - 2) if math.isfinite(index) else 1.0
    return most * min(beyond, MOST_BEYOND)
