"""Intervals of a mean of values that are skewed or end somewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference.intervals import Interval, missing, spread

if TYPE_CHECKING:
    from calipers.inference.settings import Settings
    from calipers.statistics import FloatArray

#: More different values than these are put together with their neighbours before they are drawn.
MOST_VALUES = 1024


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
    from scipy.special import stdtrit

    method = "t, skewness-corrected"
    if not (degrees > 0 and math.isfinite(se)):
        return missing(method, "too_few_rows")
    if se <= 1e-12 * abs(mean):  # nothing, or what rounding left
        return missing(method, "no_spread")
    t = float(stdtrit(degrees, (1 + level) / 2))

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


def bayesian(
    values: FloatArray,
    weight: FloatArray | None,
    ends: tuple[float, float],
    level: float,
    settings: Settings,
) -> Interval:
    """Bayesian bootstrap (Rubin 1981) of a mean of values between two ends, half a unit added at
    either end: quantiles of Σgx/Σg, g being exponential for a unit and Gamma(½) for an end.

    It exists for one value as for any number of equal ones. Of values that are all at the ends, a
    share, it is Jeffreys' interval. Unequal weights multiply g, and that of an end is Σw²/Σw.
    """
    x, w = values, np.ones(len(values)) if weight is None else weight
    x, w = x[w > 0], w[w > 0]
    if not len(x):
        return missing("Bayesian bootstrap", "too_few_rows")
    if len(x) > MOST_VALUES and np.ptp(x) > 0:
        place = ((x - x.min()) / np.ptp(x) * (MOST_VALUES - 1)).astype(np.intp)
    else:
        place = np.unique(x, return_inverse=True)[1].ravel()
    # A group is drawn at once: the sum of k exponentials is Gamma(k), by Kish's number of weights.
    sums, squares, totals = (np.bincount(place, of) for of in (w, w**2, w * x))
    there = sums > 0
    sums, squares, totals = sums[there], squares[there], totals[there]
    points = np.array([*(totals / sums), *ends])
    shape = np.array([*(sums**2 / squares), 0.5, 0.5])
    scale = np.array([*(squares / sums), *[float((w**2).sum() / w.sum())] * 2])
    random = np.random.Generator(np.random.Philox(settings.seed))
    drawn = random.standard_gamma(shape, (settings.resamples, len(shape))) * scale
    means = np.einsum("ij,j->i", drawn, points) / drawn.sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    value = float((w * x).sum() / w.sum())
    made = Interval(float(low), float(high), "Bayesian bootstrap", se=spread(means))
    return made.around(value).within(*ends)
