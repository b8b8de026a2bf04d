"""Intervals of calibration errors, from their bins: by how much the share of positives of each bin
is apart from its mean probability, and what chance makes of that.

Errors are made of squares or sizes of such gaps, which chance makes larger; where probabilities are
nearly right no bootstrap gets hold of that. So the distribution of Σwĝ² with gaps g is inverted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference.intervals import Interval

if TYPE_CHECKING:
    from calipers.statistics import FloatArray

#: Σwg² below this many of its units by chance goes by the noncentral χ² itself, above by a normal.
_MANY = 1e4

#: Mean absolute gaps are at most, and where gaps are alike nearly, as large as their root mean
#: square; the upper limit counts on no less than this share of it.
LEAST_RATIO = 0.9


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of probabilities: the share of the weight in each, the effective number of rows, the
    mean probability and the share of positives."""

    weight: FloatArray
    rows: FloatArray
    probability: FloatArray
    share: FloatArray

    @property
    def gap(self) -> FloatArray:
        """By how much the share of positives is above the mean probability."""
        return self.share - self.probability

    def root_mean_square(self, level: float) -> Interval:
        """Of √Σwg², by the noncentral χ².

        With the variance v of the gaps, Σwĝ²/c is about χ² with ν degrees of freedom and the
        noncentrality Σwg²/c, for c = Σw²v²/Σwv and ν = Σwv/c (Patnaik 1949). The upper limit is no
        less than that of the median of calibrated probabilities (Cowan and others 2011), so that no
        interval is [0, 0]; the lower one the lower of two, the variance being that of what was seen
        (with half a row either way) or that of calibrated probabilities.

        >>> half = np.full(2, 0.5)
        >>> bins = Bins(half, np.full(2, 100.0), np.array([0.3, 0.6]), np.array([0.4, 0.4]))
        >>> made = bins.root_mean_square(0.95)
        >>> round(made.low, 3), round(made.high, 3)
        (0.085, 0.223)
        """
        seen = (self.share * self.rows + 0.5) / (self.rows + 1)
        tail = (1 - level) / 2
        lows, high = [], 0.0
        for share, upper in ((seen, True), (self.probability, False)):
            variance = share * (1 - share) / self.rows
            expected = float(self.weight @ variance)
            squares = float(np.square(self.weight * variance).sum())
            if not squares > 0:  # of probabilities as small as numbers can be they are 0
                lows.append(float(np.sqrt(self._squares)))
                continue
            unit = squares / expected
            degrees, found = expected / unit, self._squares / unit
            lows.append(math.sqrt(unit * _noncentrality(found, degrees, 1 - tail)))
            if upper:
                least = max(found, _median(degrees))
                high = math.sqrt(unit * _noncentrality(least, degrees, tail))
        return Interval(min(lows), high, "noncentral chi-square of the bins")

    def mean_size(self, level: float) -> Interval:
        """Of Σw|g|: the limits of the root mean square times the ratio of the two that was seen,
        for the upper limit no less than :data:`LEAST_RATIO`."""
        made = self.root_mean_square(level)
        root = math.sqrt(self._squares)
        ratio = float(self.weight @ np.abs(self.gap)) / root if root > 0 else 1.0
        return Interval(made.low * ratio, made.high * max(ratio, LEAST_RATIO), made.method)

    def largest(self, level: float) -> Interval:
        """Of max|g|: the largest of the Clopper-Pearson limits of |g| of each bin, the lower ones
        divided among the bins. The upper ones need not be, as the worst bin is one of them."""
        tail = (1 - level) / 2
        low, high = self._exact(tail)
        above = np.maximum(np.abs(low - self.probability), np.abs(high - self.probability))
        low, high = self._exact(tail / len(self.rows))
        below = np.maximum(low - self.probability, self.probability - high)
        name = "Clopper-Pearson of the bins"
        return Interval(max(float(below.max()), 0.0), float(above.max()), name)

    @property
    def _squares(self) -> float:
        return float(self.weight @ np.square(self.gap))

    def _exact(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Clopper and Pearson's limits of the shares."""
        from scipy.special import betaincinv

        hits = np.clip(self.share, 0.0, 1.0) * self.rows
        misses = self.rows - hits
        none, all_ = hits <= 1e-9, misses <= 1e-9
        low = betaincinv(np.where(none, 1.0, hits), misses + 1, tail)
        high = betaincinv(hits + 1, np.where(all_, 1.0, misses), 1 - tail)
        return np.where(none, 0.0, low), np.where(all_, 1.0, high)


def _median(degrees: float) -> float:
    from scipy.special import chdtri

    return float(chdtri(degrees, 0.5))


def _noncentrality(found: float, degrees: float, below: float) -> float:
    """The λ with which χ² is below what was found with this probability; 0 where none is so."""
    from scipy.special import chdtr, chndtr, ndtri

    if chdtr(degrees, found) <= below:
        return 0.0
    if found > _MANY:  # normal with mean ν + λ and variance 2(ν + 2λ)
        z = float(ndtri(below))
        spread = math.sqrt(4 * z * z - 2 * degrees + 4 * found) - 2 * z
        return max(0.0, (spread**2 - 2 * degrees) / 4)
    low, high = 0.0, 1.0
    while chndtr(found, degrees, high) > below:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if chndtr(found, degrees, middle) > below else (low, middle)
        if high - low <= 1e-12 * high:
            break
    return (low + high) / 2
