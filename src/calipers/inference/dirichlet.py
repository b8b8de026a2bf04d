"""The Bayesian bootstrap with end points, without drawing.

Units count by Dirichlet(1, …, 1, ½, ½) instead of one each (Rubin 1981), half a unit at either end
of the range having been added to them. Of units that are 0 or 1 that is Jeffreys' interval. What
the (weighted) mean is over all such counts is known as exactly as numbers allow, so that neither
seeds nor replicates matter.
"""

from __future__ import annotations

import math

import numpy as np

from calipers.inference.intervals import Interval, missing
from calipers.statistics import FloatArray

METHOD = "Bayesian bootstrap"

#: More different values than these are put together with their neighbours.
MOST_VALUES = 1024

#: Nodes of the integral: their distance, how many are taken at a time, and at most; and of how many
#: units.
_STEP, _BLOCK, _MOST, _AT_ONCE = 1 / 8, 12, 360, 1024


def bayesian(
    values: FloatArray, ends: tuple[float, float], level: float, weight: FloatArray | None = None
) -> Interval:
    """The equal tails of the mean of ``values`` and half a unit at either of the ``ends``, counted
    by Dirichlet; as far as the mean itself, where that lies beyond. ``weight`` is what each of the
    values weighs.

    >>> values = np.repeat([1.0, 0.0], [20, 180])
    >>> interval = bayesian(values, (0.0, 1.0), 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)  # Jeffreys' of 20 out of 200
    (0.0642, 0.1473)
    """
    of = _Mean.of(values, ends, weight)
    if of is None:
        return missing(METHOD, "no_spread" if len(values) > 1 else "too_few_units")
    low, high = of.quantiles(np.array([1 - level, 1 + level]) / 2).tolist()
    mean = float(np.average(values, weights=weight))
    return Interval(low, high, METHOD, se=of.spread).around(mean)


def spread(
    values: FloatArray, ends: tuple[float, float], weight: FloatArray | None = None
) -> float:
    """The standard deviation of that mean, which is above 0 wherever the ends are apart."""
    of = _Mean.of(values, ends, weight)
    return 0.0 if of is None else of.spread


def differing(apart: FloatArray) -> int:
    """How many are not 0, but for rounding."""
    sizes = np.abs(apart)
    return int(np.count_nonzero(sizes > 1e-9 * sizes.max(initial=0.0)))


def reach(apart: FloatArray, most: float = math.inf) -> float:
    """How far off half units are put where the range has no end, or none that units come near, as
    of differences of two systems: farther than all those there are, the more so the fewer m are
    not 0 at all, max|x|·(1 + 2/m); and ``most`` at most, or where the units say nothing.

    >>> reach(np.array([0.0, 0.5, 0.0, -0.25]))
    1.0
    """
    different = differing(apart)
    if len(apart) < 2 or not different:
        return most
    return min(most, float(np.abs(apart).max()) * (1 + 2 / different))


def _put_together(x: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Equal values as one, and neighbours where there are many: of each group its mean, what a unit
    of it weighs, and how many there are by Kish's number, which is what the sum of their Gamma
    numbers has for a shape."""
    distinct, place = np.unique(x, return_inverse=True)
    place = place.reshape(-1)
    if len(distinct) > MOST_VALUES:
        place = ((x - x.min()) / np.ptp(x) * (MOST_VALUES - 1)).astype(np.intp)
    sums, squares, totals = (np.bincount(place, of) for of in (w, w**2, w * x))
    there = sums > 0
    sums, squares, totals = sums[there], squares[there], totals[there]
    return totals / sums, squares / sums, sums**2 / squares


class _Mean:
    """Σgwx/Σgw of numbers x with weights w, where the g are independent Gamma of these shapes.
    Within, x goes from 0 to 1."""

    def __init__(self, x: FloatArray, weight: FloatArray, mass: FloatArray) -> None:
        self.low, self.length = float(x.min()), float(np.ptp(x))
        self.x, self.weight = ((x - self.low) / self.length)[:, None], weight[:, None]
        self.mass = mass[:, None]
        total, heavy = float(self.mass.sum()), float((self.mass * self.weight).sum())
        self.mean = float((self.mass * self.weight * self.x).sum()) / heavy
        apart = float((self.mass * np.square(self.weight * (self.x - self.mean))).sum())
        #: The standard deviation within; of unequal weights by the linear part.
        self.within = math.sqrt(apart * total / (total + 1)) / heavy
        self.spread = self.within * self.length

    @classmethod
    def of(
        cls, values: FloatArray, ends: tuple[float, float], weight: FloatArray | None = None
    ) -> _Mean | None:
        """Of values and half a unit at either end; None where all of them are one number, or an end
        is not known."""
        w = np.ones(len(values)) if weight is None else weight
        x, w = values[w > 0], w[w > 0]
        if not 0 < np.ptp(np.append(x, ends)) < math.inf:
            return None
        # An end weighs what a unit does of as many as there are by Kish's number.
        end = np.square(w).sum() / w.sum() if len(w) else 1.0
        mass = np.ones(len(x))
        if weight is None or len(x) > MOST_VALUES:
            x, w, mass = _put_together(x, w)
        return cls(np.append(x, ends), np.append(w / end, [1.0, 1.0]), np.append(mass, [0.5, 0.5]))

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """By the secant of the logit of the share below, which is nearly straight. (The score of a
        normal is straighter, but its library loads for longer than most evaluations take.)"""
        z = np.log(shares / (1 - shares))
        low, high = np.zeros(len(z)), np.ones(len(z))
        at = np.clip(
            self.mean + z * self.within / 1.8, self.mean * 1e-3, 1 - (1 - self.mean) * 1e-3
        )
        last, slope = (at, z), np.full(len(z), 1.8 / self.within)
        for _ in range(80):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                below = self.below(at)
                score = np.log(below / (1 - below))
                secant = (score - last[1]) / (at - last[0])
                slope = np.where(np.isfinite(secant) & (secant > 0), secant, slope)
                new = at - (score - z) / slope
            low, high = np.where(below < shares, at, low), np.where(below > shares, at, high)
            done = (np.abs(score - z) <= 1e-11) | (high - low <= 1e-15)
            if done.all():
                break
            last = at, score
            at = np.where(done, at, np.where((low < new) & (new < high), new, (low + high) / 2))
        return np.asarray(self.low + self.length * at)

    def below(self, at: FloatArray) -> FloatArray:
        """The share below each of some numbers.

        The mean is below t where Q = Σgw(x − t) is below 0. With K(s) = −Σa·log(1 − sw(x − t)),
        a being the shapes of the g, P(Q > 0) is ∫exp(K(s))/s ds/2πi along any upright line to the
        right of 0 on which K is defined, and to the left of it −P(Q < 0). On a line through the
        saddle point of K, bent by its skewness there, hardly anything oscillates (Daniels 1987),
        and the trapezoidal rule gives all digits.
        """
        c = self.weight * (self.x - at)
        s, tilted, variance = self._saddle(c)
        width = 1 / np.sqrt(variance)
        bend = 2 / 3 * (self.mass * tilted**3).sum(axis=0) * width**3
        total = np.zeros(len(at))
        for begin in range(0, _MOST, _BLOCK):
            v = _STEP * np.arange(begin, begin + _BLOCK)[:, None]
            away = width * (bend * (np.cosh(v) - 1) + 1j * np.sinh(v))
            slope = width * (bend * np.sinh(v) + 1j * np.cosh(v))
            terms = (slope / (s + away) * self._fall(away, tilted)).imag
            terms[0] *= 1 if begin else 0.5
            total += terms.sum(axis=0)
            if (np.abs(terms[-1]) <= 1e-17 * np.abs(total)).all():
                break
        height = np.exp(-(self.mass * np.log1p(-s * c)).sum(axis=0))
        tail = height * total * _STEP / np.pi
        return np.asarray(np.where(s > 0, 1 - tail, -tail), np.float64)

    def _fall(self, away: FloatArray, tilted: FloatArray) -> FloatArray:
        """exp(K) so far away from the saddle, over what it is there."""
        alone = self.mass[:, 0] == 1
        several = np.log(1 - away * tilted[~alone, None])
        rise = np.exp(np.einsum("i,ijk->jk", self.mass[~alone, 0], several))
        for some in np.split(tilted[alone], range(_AT_ONCE, int(alone.sum()), _AT_ONCE)):
            rise = rise * np.prod(1 - away * some[:, None], axis=0)
        return np.asarray(1 / rise)

    def _saddle(self, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Where K′(s) = Σa·c/(1 − sc) is 0, or near it, c/(1 − sc) there, and K″."""
        low, high = 1 / c.min(axis=0), 1 / c.max(axis=0)
        s = np.zeros(c.shape[1])
        least = 0.5 / np.sqrt((self.mass * c * c).sum(axis=0))
        least = np.where((self.mass * c).sum(axis=0) > 0, -least, least)
        for _ in range(60):
            tilted = c / (1 - s * c)
            slope = (self.mass * tilted).sum(axis=0)
            curve = (self.mass * tilted * tilted).sum(axis=0)
            low, high = np.where(slope < 0, s, low), np.where(slope > 0, s, high)
            new = s - slope / curve
            new = np.where((low < new) & (new < high), new, (low + high) / 2)
            near = np.abs(new - s) <= 1e-3 / np.sqrt(curve)
            s = new
            if near.all():
                break
        # Where it is all but 0, 1/s would be too steep along the line through it.
        s = np.where(np.abs(s) < np.abs(least), least, s)
        tilted = c / (1 - s * c)
        return s, tilted, (self.mass * tilted * tilted).sum(axis=0)
