"""Sequential inference that is valid at every look: e-values and confidence sequences of a mean.

A confidence sequence holds the true mean at all times at once with the given probability, so that
data may be examined after every request and collection may stop at any time. It is the set of means
against which a gambler has not become rich: under the hypothesis that the mean of values in [0, 1]
is m, no strategy of betting on them multiplies the capital by 1/α, ever, with a probability above α
(Ville 1939). The capital is the e-value of the hypothesis, and 1/max E is a p-value that is valid
at any time.

The strategy is Cover's (1991) universal portfolio: a proportion π of the capital on each value is
bet on x, and all else on 1 − x, with π spread out by a Beta(g, g) distribution,

    K(m) = ∫ ∏ (x·π/m + (1 − x)·(1 − π)/(1 − m)) dBeta(π; g, g).

For values 0 and 1 it is the mixture of likelihood ratios of Robbins (1970), B(s + g, f + g)/B(g, g)
divided by mˢ(1 − m)ᶠ; for the differences −1, 0 and 1 of two systems on the same requests (mapped
to 0, ½ and 1) and m = ½, it is the e-value of the sign test, to which ties contribute nothing.
Expanded, the product is a sum of terms that are log-convex in m, and so is K: the means with
K < 1/α are an interval (Orabona and Jun 2024).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from calipers.inference.intervals import NAN, Interval, no_interval, normal_quantile
from calipers.statistics import FloatArray

#: The parameter g of the Beta(g, g) distribution of bets. In simulations (differences of 2% to 13%
#: of requests that are won and lost) 2 had more power than 10 where few requests differ.
PRIOR = 2.0

#: From this number of values there is an asymptotic confidence sequence; it is narrowest there.
ASYMPTOTIC_N = 300
#: The smallest number of values on either side of the asymptotic confidence sequence of a variable
#: that has few different values; with fewer it misses the mean far too often.
MIN_EVENTS = 30

BETTING = "confidence sequence by betting"
ASYMPTOTIC = "asymptotic confidence sequence"

#: Logarithm of the factor below the maximum of an integrand that is neglected.
_NEGLIGIBLE = 37.0
#: Nodes of the integral over bets: on each side of the maximum, and where none is known.
_SIDE_NODES, _NODES = 48, 256
#: Steps of the grid on which values are counted.
_GRID = 1 << 12
#: The number of terms that are computed at once.
_CHUNK = 1 << 17


def log_rate_e_value(
    successes: Any, failures: Any, rate: float | FloatArray = 0.5, prior: float = PRIOR
) -> FloatArray:
    """Return the logarithm of the e-value of the hypothesis that a rate has a given value.

    Parameters
    ----------
    successes, failures : int or ndarray of int
        Number of successes and of failures so far. Of two systems on the same requests these are
        the requests won and lost, with ``rate`` ½.
    rate : float or ndarray of float, default=0.5
        Rate under the hypothesis.
    prior : float, default=2.0
        Parameter g of the Beta(g, g) distribution over which likelihood ratios are averaged.

    Returns
    -------
    ndarray
        Logarithms of the e-values.

    Examples
    --------
    >>> [round(float(np.exp(log_rate_e_value(n_won, n_lost, prior=0.5))), 4)
    ...  for n_won, n_lost in ((10, 0), (15, 5))]
    [180.4258, 2.4045]
    >>> round(float(np.exp(log_rate_e_value(10, 0, prior=10))), 4)
    4.7227
    """
    from scipy.special import betaln, xlogy

    s, f = np.asarray(successes, np.float64), np.asarray(failures, np.float64)
    mixture = betaln(s + prior, f + prior) - betaln(prior, prior)
    return np.asarray(mixture - xlogy(s, rate) - xlogy(f, 1 - rate))


def log_capital(values: FloatArray, counts: FloatArray, mean: float, prior: float = PRIOR) -> float:
    """Return the logarithm of the e-value of the hypothesis that values in [0, 1] have a mean.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Different values, from 0 to 1.
    counts : ndarray of shape (n,)
        How often each of them occurred.
    mean : float
        Mean under the hypothesis, between 0 and 1.
    prior : float, default=2.0
        Parameter g ≥ 1 of the Beta(g, g) distribution of bets.

    Returns
    -------
    float
        The logarithm.

    Examples
    --------
    >>> values, counts = np.array([0.0, 0.5, 1.0]), np.array([51.0, 554.0, 87.0])
    >>> round(log_capital(values, counts, 0.5, 10), 6)
    3.119937
    >>> round(float(log_rate_e_value(87, 51, prior=10)), 6)  # ties say nothing about the sign
    3.119937
    """
    if np.isin(values, (0.0, 1.0)).all():
        s, f = (float(counts[values == end].sum()) for end in (1.0, 0.0))
        return float(log_rate_e_value(s, f, mean, prior))
    bets = _Bets(values, counts, mean, prior)
    mode = bets.mode()
    top = float(bets.log_density(np.array([mode]))[0])
    total = 0.0
    for end in (0.0, 1.0):
        bound = bets.bound(mode, top, end)
        if bound != mode:
            nodes, weights = _legendre(_SIDE_NODES)
            half = abs(bound - mode) / 2
            points = (mode + bound) / 2 + half * nodes
            total += half * float(weights @ np.exp(bets.log_density(points) - top))
    return top + math.log(total)


@functools.cache
def _legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the nodes and weights of Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes, weights


class _Bets:
    """Logarithm of the integrand of :func:`log_capital` as a function of π, which is concave."""

    def __init__(self, values: FloatArray, counts: FloatArray, mean: float, prior: float) -> None:
        from scipy.special import betaln

        self.values, self.counts, self.mean, self.prior = values, counts, mean, prior
        self.constant = float(betaln(prior, prior))

    def _factors(self, pi: FloatArray) -> FloatArray:
        """Return the factor of the capital for each π and each value."""
        up, down = pi / self.mean, (1 - pi) / (1 - self.mean)
        return np.asarray(down[:, None] + (up - down)[:, None] * self.values)

    def log_density(self, pi: FloatArray) -> FloatArray:
        """Return the logarithm of the integrand."""
        step = max(1, _CHUNK // max(len(self.values), 1))
        logs = np.concatenate(
            [
                np.log(self._factors(pi[begin : begin + step])) @ self.counts
                for begin in range(0, len(pi), step)
            ]
        )
        return np.asarray(logs + (self.prior - 1) * (np.log(pi) + np.log1p(-pi)) - self.constant)

    def slope(self, pi: float) -> float:
        """Return the derivative of the logarithm."""
        direction = self.values / self.mean - (1 - self.values) / (1 - self.mean)
        factors = self._factors(np.array([pi]))[0]
        gained = float(self.counts @ (direction / factors))
        return gained + (self.prior - 1) * (1 / pi - 1 / (1 - pi))

    def mode(self) -> float:
        """Return the π of the maximum."""
        from scipy.optimize import brentq

        edge = 1e-12
        if self.slope(edge) <= 0:
            return edge
        if self.slope(1 - edge) >= 0:
            return 1 - edge
        return float(brentq(self.slope, edge, 1 - edge, xtol=1e-13, rtol=1e-10))

    def bound(self, mode: float, top: float, end: float) -> float:
        """Return the π towards an end of the range beyond which the integrand is negligible."""
        distance = 0.05 / math.sqrt(1 + float(self.counts.sum()))
        while distance < abs(end - mode):
            point = mode + math.copysign(distance, end - mode)
            if float(self.log_density(np.array([point]))[0]) < top - _NEGLIGIBLE:
                return point
            distance *= 2
        return end


def betting_limits(
    values: FloatArray, counts: FloatArray, level: float, prior: float = PRIOR
) -> tuple[float, float]:
    """Return the limits of the confidence sequence of the mean of values in [0, 1], now.

    Parameters
    ----------
    values, counts : ndarray of shape (n,)
        Different values, and how often each of them occurred so far.
    level : float
        Confidence level of the whole sequence.
    prior : float, default=2.0
        Parameter g of :func:`log_capital`.

    Returns
    -------
    low, high : float
        The limits; 0 and 1 without values.

    Examples
    --------
    >>> low, high = betting_limits(np.array([0.0, 1.0]), np.array([20.0, 180.0]), 0.95)
    >>> round(low, 4), round(high, 4)
    (0.8067, 0.9594)
    """
    n = float(counts.sum())
    if not n:
        return 0.0, 1.0
    mean = float(values @ counts) / n
    spread = math.sqrt(max(float(np.square(values - mean) @ counts) / n, 1 / n))
    threshold = -math.log(1 - level)
    step = min(spread * math.sqrt(2 * threshold / n), 0.25)

    def excess(m: float) -> float:
        return log_capital(values, counts, m, prior) - threshold

    return _outer_root(excess, mean, 0.0, step), _outer_root(excess, mean, 1.0, step)


def _outer_root(excess: Callable[[float], float], mean: float, end: float, step: float) -> float:
    """Return where a convex function that is negative at the mean becomes positive towards an end.

    It is the end itself if the function stays negative.
    """
    from scipy.optimize import brentq

    inner, room = mean, abs(end - mean)
    distance = step
    while room:
        # Towards the end, where the function may be infinite, the remaining distance is halved.
        outer_distance = distance if distance < room / 2 else (room + abs(inner - mean)) / 2
        outer = mean + math.copysign(outer_distance, end - mean)
        if abs(end - outer) < 1e-15 or outer in (inner, end):
            break
        if excess(outer) > 0:
            return float(brentq(excess, inner, outer, xtol=1e-14, rtol=1e-9))
        inner, distance = outer, 2 * outer_distance
    return end


class ValueGrid:
    """Counts of values in [0, 1] on a grid, of bounded size whatever their number.

    A value between two points counts partly as either, with the same mean. As the logarithm of
    the capital is concave in the values, this makes e-values smaller, never larger, and confidence
    sequences wider: by some 10⁻⁹ of a value's contribution.

    Examples
    --------
    >>> grid = ValueGrid()
    >>> grid.add(np.array([1.0, 0.25, 1.0]))
    >>> grid.values, grid.counts
    (array([0.25, 1.  ]), array([1., 2.]))
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_GRID + 1)

    def add(self, values: FloatArray) -> None:
        """Count some more values."""
        position = values * _GRID
        below = np.minimum(np.floor(position), _GRID - 1).astype(np.intp)
        upper = position - below
        self._counts += np.bincount(below, 1 - upper, _GRID + 1)
        self._counts += np.bincount(below + 1, upper, _GRID + 1)

    @property
    def values(self) -> FloatArray:
        """Points that have a count."""
        return np.asarray(np.flatnonzero(self._counts) / _GRID)

    @property
    def counts(self) -> FloatArray:
        """Count of each of :attr:`values`."""
        return np.asarray(self._counts[self._counts != 0])


class CapitalPath:
    """Logarithm of the e-value after each of the values in [0, 1], which come in batches.

    Parameters
    ----------
    mean : float
        Mean under the hypothesis, strictly between 0 and 1.
    prior : float
        Parameter g of the Beta(g, g) distribution of bets.

    Notes
    -----
    Where there is no formula in closed form, bets are spread over 256 proportions. As these are
    fixed beforehand, the e-value is valid whatever the integral that they approximate.

    Examples
    --------
    >>> path = CapitalPath(0.5, 2.0)
    >>> path.update(np.array([1.0, 1.0, 0.5])).round(4), path.update(np.array([0.0])).round(4)
    (array([-0.    ,  0.1823,  0.1823]), array([-0.2231]))
    """

    def __init__(self, mean: float, prior: float) -> None:
        self.mean, self.prior = mean, prior
        self._end_counts = np.zeros(2)  # how many values were 0 and 1
        self._log_capitals: FloatArray | None = None
        self._n_ties = 0

    def update(self, values: FloatArray) -> FloatArray:
        """Return the logarithm of the e-value after each of some more values."""
        if self._log_capitals is None:
            is_end = [values == end for end in (0.0, 1.0)]
            # A tie is bet at even odds where the hypothesis is that nobody wins more often.
            is_known = is_end[0] | is_end[1] | ((values == 0.5) & (self.mean == 0.5))
            if is_known.all():
                f, s = (
                    n + np.cumsum(mask) for n, mask in zip(self._end_counts, is_end, strict=True)
                )
                self._n_ties += len(values) - int(is_end[0].sum() + is_end[1].sum())
                if len(values):
                    self._end_counts = np.array([f[-1], s[-1]], np.float64)
                return log_rate_e_value(s, f, self.mean, self.prior)
            self._log_capitals = self._start()
        n = max(1, _CHUNK // _NODES)
        return np.concatenate(
            [np.zeros(0)]
            + [self._step(values[begin : begin + n]) for begin in range(0, len(values), n)]
        )

    def _start(self) -> FloatArray:
        """Return the capital of each bet so far, weighted by the distribution of bets."""
        from scipy.special import betaln

        nodes, weights = _legendre(_NODES)
        angle = np.pi / 4 * (nodes + 1)
        self._pi = np.sin(angle) ** 2
        power = 2 * self.prior - 1
        density = power * (np.log(np.sin(angle)) + np.log(np.cos(angle)))
        start = np.log(weights) + density - betaln(self.prior, self.prior)
        start -= _log_sum(start)
        past = np.array([0.0, 1.0, 0.5]), np.array([*self._end_counts, self._n_ties])
        return np.asarray(start + self._log_factors(past[0]).T @ past[1])

    def _log_factors(self, values: FloatArray) -> FloatArray:
        up, down = self._pi / self.mean, (1 - self._pi) / (1 - self.mean)
        return np.asarray(np.log(down + (up - down) * values[:, None]))

    def _step(self, values: FloatArray) -> FloatArray:
        assert self._log_capitals is not None
        path = self._log_capitals + np.cumsum(self._log_factors(values), axis=0)
        self._log_capitals = path[-1]
        return np.asarray(_log_sum(path))


def _log_sum(logs: FloatArray) -> Any:
    """Return the logarithm of the sum over the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    return (top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))[..., 0]


# --- Asymptotic -----------------------------------------------------------------------------------


def tuning(level: float, n: float = ASYMPTOTIC_N) -> float:
    """Return the ρ of the asymptotic confidence sequence that is narrowest at ``n`` values.

    Examples
    --------
    >>> round(tuning(0.95), 6)
    0.162646
    """
    log_alpha = math.log(1 - level)
    return math.sqrt((-2 * log_alpha + math.log(1 - 2 * log_alpha)) / n)


def asymptotic_half_width(sd: float, n: float, level: float) -> float:
    """Return the half-width of the asymptotic confidence sequence of a mean.

    It is s·√(2(nρ² + 1)/(n²ρ²)·log(√(nρ² + 1)/α)), with the ρ of :func:`tuning` (Waudby-Smith et
    al. 2024).

    Examples
    --------
    >>> [round(asymptotic_half_width(1.0, n, 0.95), 6) for n in (100, 300, 1000)]
    [0.31684, 0.175238, 0.098263]
    """
    size = n * tuning(level) ** 2
    return sd * math.sqrt(2 * (size + 1) / (n * size) * math.log(math.sqrt(size + 1) / (1 - level)))


def log_asymptotic_e_value(sums: Any, sd: Any, n: Any, level: float) -> FloatArray:
    """Return the logarithm of the asymptotic e-value of the hypothesis that a mean is 0.

    It is the normal mixture that :func:`asymptotic_half_width` inverts: it exceeds −log(1 − level)
    exactly where 0 is outside of the interval.
    """
    size = np.asarray(n, np.float64) * tuning(level) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.asarray(sums, np.float64) / (np.asarray(sd) * np.sqrt(n))
    return np.asarray(np.square(z) * size / (2 * (size + 1)) - np.log(size + 1) / 2)


def asymptotic_interval(
    mean: float, sd: float, n: int, level: float, n_events: int | None = None
) -> Interval:
    """Return the asymptotic confidence sequence of a mean, now, or the reason why there is none.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation of the values so far.
    n : int
        Number of values.
    level : float
        Confidence level.
    n_events : int, optional
        Smaller number of values on either side, such as the successes or the failures, for values
        of which most are the same.

    Returns
    -------
    Interval
        The interval; absent for fewer than 300 values, or fewer than 30 on either side.
    """
    if n < ASYMPTOTIC_N or (n_events is not None and n_events < MIN_EVENTS):
        return no_interval(ASYMPTOTIC, "too_few_for_asymptotics")
    if not sd > 0:
        return no_interval(ASYMPTOTIC, "no_spread")
    half = asymptotic_half_width(sd, n, level)
    return Interval(mean - half, mean + half, ASYMPTOTIC, se=sd / math.sqrt(n))


# --- Repeated tests -------------------------------------------------------------------------------

#: The largest number of looks for which the error of repeated tests is computed.
MAX_LOOKS = 500


def repeated_test_error(n_looks: int, level: float = 0.95) -> float:
    """Return the type I error of a test of fixed size that is repeated at equally spaced looks.

    It is the probability that a normal test at level 1 − ``level`` is significant at any of the
    looks, by the recursion of Armitage, McPherson and Rowe (1969). Beyond 500 looks it is that of
    500, which is a lower bound.

    Examples
    --------
    >>> [round(repeated_test_error(n), 3) for n in (1, 2, 5, 10, 50)]
    [0.05, 0.083, 0.142, 0.193, 0.32]
    """
    n_looks, z = min(n_looks, MAX_LOOKS), normal_quantile(level)
    if n_looks < 1:
        return NAN
    width = 0.02 if n_looks <= 100 else 0.05
    edge = math.ceil(z * math.sqrt(n_looks) / width)
    grid = np.asarray(width * np.arange(-edge, edge + 1), np.float64)
    reach = round(8 / width)
    kernel = _normal_density(np.asarray(width * np.arange(-reach, reach + 1), np.float64))
    density, inside = np.zeros(len(grid)), 1.0
    for look in range(1, n_looks + 1):
        if look == 1:
            density = _normal_density(grid)
        else:
            full = np.convolve(density, kernel) * width
            density = full[reach : reach + len(grid)]
        limit = z * math.sqrt(look)
        # The cell in which the limit lies counts by its proportion below the limit.
        proportion = np.clip((limit - np.abs(grid)) / width + 0.5, 0.0, 1.0)
        density = density * proportion
        inside = float(density.sum() * width)
    return 1 - inside


def _normal_density(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi))
