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

One-sided, against means that are not above m, a proportion λ of the capital is bet on x at odds of
1/m, and all else is kept,

    K(m) = ∫ ∏ (1 − λ + λ·x/m) dF(λ),

which cannot grow in expectation if the mean is m or less (Waudby-Smith and Ramdas 2024). λ is
distributed as |2π − 1|, whatever m is. So K decreases in m, and its limit is a lower one; at m = ½
it is the average over the upper half of the bets above.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calipers.inference.intervals import NAN, Interval, no_interval, normal_quantile
from calipers.inference.roots import bracketed_root
from calipers.statistics import FloatArray, IntArray

#: The parameter g of the Beta(g, g) distribution of bets. In simulations (differences of 2% to 13%
#: of requests that are won and lost) 2 had more power than 10 where few requests differ.
PRIOR = 2.0

#: From this number of values there is an asymptotic confidence sequence; it is narrowest there.
ASYMPTOTIC_N = 300
#: The smallest number of values on either side of the asymptotic confidence sequence of a variable
#: that has few different values; with fewer it misses the mean far too often.
MIN_EVENTS = 30

#: Alternatives of a test, and the sides of a confidence sequence.
TWO_SIDED, GREATER, LESS = ALTERNATIVES = "two-sided", "greater", "less"

BETTING = "confidence sequence by betting"
ASYMPTOTIC = "asymptotic confidence sequence"

#: Logarithm of the factor below the maximum of an integrand beyond which nodes end, and of the one
#: above which they have to be placed again.
_NEGLIGIBLE, _NOTICEABLE = 45.0, 28.0
#: Nodes of the integral over bets, and the relative difference from the integral over every second
#: node above which they are too far from each other. (The error of all is its square, or less.)
_NODES, _RESOLUTION = 97, 1e-6
#: The largest number of different values that are counted exactly, and steps of the grid for more.
_GRID = 1 << 12
#: The distance from 0 and 1 at which bets end.
_EDGE = 1e-12
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


def log_capital(
    values: FloatArray,
    counts: FloatArray,
    mean: float,
    prior: float = PRIOR,
    alternative: str = TWO_SIDED,
) -> float:
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
    alternative : {'two-sided', 'greater', 'less'}, default='two-sided'
        With ``"greater"`` the hypothesis is that the mean is not above the given one, with
        ``"less"`` that it is not below.

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
    if alternative == TWO_SIDED and np.isin(values, (0.0, 1.0)).all():
        s, f = (float(counts[values == end].sum()) for end in (1.0, 0.0))
        return float(log_rate_e_value(s, f, mean, prior))
    bets = _bets(values, counts, mean, prior, alternative)
    nodes, log_weights = bets.nodes()
    return float(_log_sum(bets.log_density(nodes) + log_weights))


def _bets(
    values: FloatArray, counts: FloatArray, mean: float, prior: float, alternative: str
) -> _Bets:
    """Return the integrand of the capital; ``"less"`` bets on 1 − x."""
    if alternative == LESS:
        values, mean = 1 - values, 1 - mean
    return (_Bets if alternative == TWO_SIDED else _OneSidedBets)(values, counts, mean, prior)


@functools.cache
def _legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the nodes and weights of Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return nodes, weights


@functools.cache
def _clenshaw_curtis(n: int) -> tuple[FloatArray, FloatArray]:
    """Return n nodes from −1 to 1, n odd, and their weights; every second node is of the same rule.

    A weight is the integral of the polynomial that is 1 at its node and 0 at the others.
    """
    angle = np.pi * np.arange(n) / (n - 1)
    even = np.arange(0, n, 2)
    terms = np.cos(np.outer(angle, even)) * (2 / (1 - np.square(even, dtype=np.float64)))
    terms[:, [0, -1]] /= 2
    weights = 2 / (n - 1) * terms.sum(axis=1)
    weights[[0, -1]] /= 2
    return -np.cos(angle), weights


class _Bets:
    """Logarithm of the integrand of :func:`log_capital` as a function of π, which is concave."""

    def __init__(self, values: FloatArray, counts: FloatArray, mean: float, prior: float) -> None:
        self.values, self.counts, self.mean, self.prior = values, counts, mean, prior
        self.direction = self._factors(np.ones(1))[0] - self._factors(np.zeros(1))[0]

    def _factors(self, pi: FloatArray) -> FloatArray:
        """Return the factor of the capital for each π and each value."""
        return bet_factors(pi, self.values, self.mean, TWO_SIDED)

    def _log_prior(self, pi: FloatArray) -> FloatArray:
        """Return the logarithm of the density of π."""
        from scipy.special import betaln

        logs = (self.prior - 1) * (np.log(pi) + np.log1p(-pi))
        return np.asarray(logs - betaln(self.prior, self.prior))

    def _prior_slope(self, pi: float) -> float:
        """Return the derivative of the logarithm of the density."""
        return (self.prior - 1) * (1 / pi - 1 / (1 - pi))

    def log_density(self, pi: FloatArray) -> FloatArray:
        """Return the logarithm of the integrand."""
        step = max(1, _CHUNK // max(len(self.values), 1))
        logs = np.concatenate(
            [
                np.log(self._factors(pi[begin : begin + step])) @ self.counts
                for begin in range(0, len(pi), step)
            ]
        )
        return np.asarray(logs + self._log_prior(pi))

    def slope(self, pi: float) -> float:
        """Return the derivative of the logarithm."""
        factors = self._factors(np.array([pi]))[0]
        return float(self.counts @ (self.direction / factors)) + self._prior_slope(pi)

    def mode(self) -> float:
        """Return the π of the maximum."""
        if self.slope(_EDGE) <= 0:
            return _EDGE
        if self.slope(1 - _EDGE) >= 0:
            return 1 - _EDGE
        return bracketed_root(self.slope, _EDGE, 1 - _EDGE, xtol=1e-13, rtol=1e-10)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Return π from low to high, and logarithms of the weights of the integrand there.

        π is the square of a sine, as the density has singularities at 0 and 1, and nodes are
        between the π beyond which the integrand is negligible.
        """
        mode = self.mode()
        top = float(self.log_density(np.array([mode]))[0])
        limits = [self.bound(mode, top, end) for end in (0.0, 1.0)]
        low, high = np.arcsin(np.sqrt(np.clip(limits, _EDGE**2, 1 - _EDGE)))
        nodes, weights = _clenshaw_curtis(_NODES)
        half = (high - low) / 2
        angle = low + half * (1 + nodes)
        return np.square(np.sin(angle)), np.log(half * weights * np.sin(2 * angle))

    def bound(self, mode: float, top: float, end: float) -> float:
        """Return the π towards an end of the range beyond which the integrand is negligible."""
        direction = math.copysign(1, end - mode)

        def is_negligible(distance: float) -> bool:
            point = np.array([mode + direction * distance])
            return float(self.log_density(point)[0]) < top - _NEGLIGIBLE

        inner, outer = 0.0, 0.05 / math.sqrt(1 + float(self.counts.sum()))
        while outer < abs(end - mode) and not is_negligible(outer):
            inner, outer = outer, 2 * outer
        if outer >= abs(end - mode):
            return end
        for _ in range(4):
            middle = (inner + outer) / 2
            inner, outer = (inner, middle) if is_negligible(middle) else (middle, outer)
        return mode + direction * outer


class _OneSidedBets(_Bets):
    """The same as a function of λ, the proportion of the capital that is bet on large values."""

    def _factors(self, pi: FloatArray) -> FloatArray:
        return bet_factors(pi, self.values, self.mean, GREATER)

    def _log_prior(self, pi: FloatArray) -> FloatArray:
        from scipy.special import betaln

        logs = (self.prior - 1) * (np.log1p(-pi) + np.log1p(pi))
        return np.asarray(logs - betaln(0.5, self.prior) + math.log(2))

    def _prior_slope(self, pi: float) -> float:
        return -2 * (self.prior - 1) * pi / (1 - pi**2)


def bet_factors(bets: FloatArray, values: FloatArray, mean: float, alternative: str) -> FloatArray:
    """Return the factor of the capital for each bet and each value, against a mean."""
    if alternative == TWO_SIDED:
        up, down = bets / mean, (1 - bets) / (1 - mean)
    else:
        up, down = 1 - bets + bets / mean, 1 - bets
    return np.asarray(down[:, None] * (1 - values) + up[:, None] * values)


def betting_limits(
    values: FloatArray,
    counts: FloatArray,
    level: float,
    prior: float = PRIOR,
    alternative: str = TWO_SIDED,
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
    alternative : {'two-sided', 'greater', 'less'}, default='two-sided'
        Whether there is only a lower limit, with ``"greater"``, or an upper one, with ``"less"``.

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
        return log_capital(values, counts, m, prior, alternative) - threshold

    low = 0.0 if alternative == LESS else _outer_root(excess, mean, 0.0, step)
    return low, 1.0 if alternative == GREATER else _outer_root(excess, mean, 1.0, step)


def _outer_root(excess: Callable[[float], float], mean: float, end: float, step: float) -> float:
    """Return where a convex function that is negative at the mean becomes positive towards an end.

    It is the end itself if the function stays negative.
    """
    inner, room = mean, abs(end - mean)
    distance = step
    while room:
        # Towards the end, where the function may be infinite, the remaining distance is halved.
        outer_distance = distance if distance < room / 2 else (room + abs(inner - mean)) / 2
        outer = mean + math.copysign(outer_distance, end - mean)
        if abs(end - outer) < 1e-15 or outer in (inner, end):
            break
        if excess(outer) > 0:
            return bracketed_root(excess, inner, outer, xtol=1e-14, rtol=1e-9)
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

    def __init__(self, n_steps: int = _GRID) -> None:
        self._n_steps = n_steps
        self._counts = np.zeros(n_steps + 1)

    def add(self, values: FloatArray, counts: FloatArray | float = 1.0) -> None:
        """Count some more values, each once or as often as ``counts`` says."""
        n = self._n_steps
        below, upper = self._split(values)
        self._counts += np.bincount(below, counts * (1 - upper), n + 1)
        self._counts += np.bincount(below + 1, counts * upper, n + 1)

    def points(self, values: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return the points below and above values, and how much either counts, as a column."""
        below, upper = self._split(values)
        return [
            (below / self._n_steps, 1 - upper[:, None]),
            ((below + 1) / self._n_steps, upper[:, None]),
        ]

    def _split(self, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the number of the point below each value, and how much the one above counts."""
        position = values * self._n_steps
        below = np.minimum(np.floor(position), self._n_steps - 1).astype(np.intp)
        return below, position - below

    @property
    def values(self) -> FloatArray:
        """Points that have a count."""
        return np.asarray(np.flatnonzero(self._counts) / self._n_steps)

    @property
    def all_counts(self) -> FloatArray:
        """Count of each point, also of those without one."""
        return np.array(self._counts)

    @property
    def counts(self) -> FloatArray:
        """Count of each of :attr:`values`."""
        return np.asarray(self._counts[self._counts != 0])


class ValueCounts:
    """Counts of different values in [0, 1], from which tests and intervals are computed.

    They are exact up to 4,096 different values, and on a :class:`ValueGrid` with more.

    Examples
    --------
    >>> counts = ValueCounts()
    >>> counts.add(np.array([1.0, 0.3, 1.0]))
    >>> counts.values, counts.counts
    (array([0.3, 1. ]), array([1., 2.]))
    """

    def __init__(self) -> None:
        self._values, self._counts = np.zeros(0), np.zeros(0)
        self._grid: ValueGrid | None = None

    @property
    def is_exact(self) -> bool:
        """Whether values are counted exactly, rather than on a grid."""
        return self._grid is None

    def reserve(self, values: FloatArray) -> None:
        """Make room for values: those before move to the grid if it is too little."""
        if self._grid is not None:
            return
        indices = np.searchsorted(self._values, values)
        is_present = np.append(self._values, np.nan)[indices] == values
        new = np.unique(values[~is_present])
        if len(self._values) + len(new) > _GRID:
            self._grid = ValueGrid()
            self._grid.add(self._values, self._counts)
        elif len(new):
            indices = np.searchsorted(self._values, new)
            self._values = np.insert(self._values, indices, new)
            self._counts = np.insert(self._counts, indices, 0.0)

    def add(self, values: FloatArray) -> None:
        """Count some more values."""
        self.reserve(values)
        if self._grid is None:
            indices = np.searchsorted(self._values, values)
            self._counts += np.bincount(indices, minlength=len(self._values))
        else:
            self._grid.add(values)

    def points(self, values: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return the values that are counted in place of values, and how much, as a column."""
        if self._grid is None:
            return [(values, np.ones((1, 1)))]
        return self._grid.points(values)

    @property
    def values(self) -> FloatArray:
        """Values that have a count."""
        if self._grid is not None:
            return self._grid.values
        return np.asarray(self._values[self._counts != 0])

    @property
    def counts(self) -> FloatArray:
        """Count of each of :attr:`values`."""
        if self._grid is not None:
            return self._grid.counts
        return np.asarray(self._counts[self._counts != 0])


class CapitalPath:
    """Logarithm of the e-value after each of the values in [0, 1], which come in batches.

    Parameters
    ----------
    mean : float
        Mean under the hypothesis, strictly between 0 and 1.
    prior : float
        Parameter g of the Beta(g, g) distribution of bets.
    alternative : {'two-sided', 'greater', 'less'}, default='two-sided'
        Alternative, as of :func:`log_capital`.

    Attributes
    ----------
    past : ValueCounts
        Counts of the values so far. :func:`log_capital` of them is the last e-value.

    Notes
    -----
    Where there is no formula in closed form, the integral is over nodes that are placed for the
    values so far, and placed again, from their counts, as soon as values that follow move the
    integrand away from them or make it too narrow for them. So its relative error is below 10⁻⁷
    after any number of values.

    Examples
    --------
    >>> path = CapitalPath(0.5, 2.0)
    >>> path.update(np.array([1.0, 1.0, 0.5])).round(4), path.update(np.array([0.0])).round(4)
    (array([-0.    ,  0.1823,  0.1823]), array([-0.2231]))
    """

    def __init__(self, mean: float, prior: float, alternative: str = TWO_SIDED) -> None:
        self.mean, self.prior, self.alternative = mean, prior, alternative
        self.past = ValueCounts()
        self._has_formula = alternative == TWO_SIDED
        self._end_counts = np.zeros(2)  # how many values were 0 and 1
        self._log_capitals: FloatArray | None = None

    def update(self, values: FloatArray, stop_at: float = math.inf) -> FloatArray:
        """Return the logarithm of the e-value after each of some more values.

        They end with the first that reaches ``stop_at``; values after it are not counted.
        """
        is_end = [values == end for end in (0.0, 1.0)]
        # A tie is bet at even odds where the hypothesis is that nobody wins more often.
        is_known = is_end[0] | is_end[1] | ((values == 0.5) & (self.mean == 0.5))
        self._has_formula = self._has_formula and bool(is_known.all())
        if self._has_formula:
            f, s = (n + np.cumsum(mask) for n, mask in zip(self._end_counts, is_end, strict=True))
            path = _until(log_rate_e_value(s, f, self.mean, self.prior), stop_at)
            if len(path):
                self._end_counts = np.array([f[len(path) - 1], s[len(path) - 1]], np.float64)
            self.past.add(values[: len(path)])
            return path
        path = np.zeros(0)
        step = max(1, _CHUNK // _NODES)
        while len(values) and not (len(path) and path[-1] >= stop_at):
            block = self._step(values[:step], stop_at)
            path, values = np.concatenate([path, block]), values[len(block) :]
        return path

    def _step(self, values: FloatArray, stop_at: float) -> FloatArray:
        """Return the logarithms after the first values, of which there is at least one."""
        was_exact = self.past.is_exact
        self.past.reserve(values)
        if was_exact and not self.past.is_exact:
            self._log_capitals = None
        is_new = self._log_capitals is None
        if is_new:
            self._place_nodes()
        factors = sum(
            count * self._log_factors(points) for points, count in self.past.points(values)
        )
        logs = self._log_capitals + np.cumsum(factors, axis=0)
        top = logs.max(axis=-1)
        terms = np.exp(logs - top[:, None])
        total, coarse = terms.sum(axis=-1), terms[:, ::2] @ self._coarse
        error = np.abs(coarse / total - 1)
        is_exact = error < max(_RESOLUTION, 10 * error[0] if is_new else 0.0)
        for end in (0, -1):
            if not self._is_limit[end]:
                is_exact &= logs[:, end] < top - _NOTICEABLE
        n = len(values) if is_exact.all() else max(int(np.argmin(is_exact)), int(is_new))
        if not n:
            self._log_capitals = None
            return np.zeros(0)
        path = _until(top[:n] + np.log(total[:n]), stop_at)
        self.past.add(values[: len(path)])
        self._log_capitals = None if n < len(values) else logs[-1]
        return path

    def _place_nodes(self) -> None:
        """Place nodes where the integrand is, with the capital of each of them so far."""
        bets = _bets(self.past.values, self.past.counts, self.mean, self.prior, self.alternative)
        self._nodes, log_weights = bets.nodes()
        self._log_capitals = bets.log_density(self._nodes) + log_weights
        self._is_limit = self._nodes[0] < 2 * _EDGE, self._nodes[-1] > 1 - 2 * _EDGE
        #: Weights of every second node, relative to those among all nodes.
        self._coarse = _clenshaw_curtis(_NODES // 2 + 1)[1] / _clenshaw_curtis(_NODES)[1][::2]

    def _log_factors(self, values: FloatArray) -> FloatArray:
        different, indices = np.unique(values, return_inverse=True)
        mean = self.mean
        if self.alternative == LESS:
            different, mean = 1 - different, 1 - mean
        side = TWO_SIDED if self.alternative == TWO_SIDED else GREATER
        return np.asarray(np.log(bet_factors(self._nodes, different, mean, side)).T[indices])


def _until(path: FloatArray, stop_at: float) -> FloatArray:
    """Return a path up to the first value that reaches a limit."""
    above = np.flatnonzero(path >= stop_at)
    return path[: above[0] + 1] if len(above) else path


def _log_sum(logs: FloatArray) -> Any:
    """Return the logarithm of the sum over the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    return (top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))[..., 0]


# --- Change ---------------------------------------------------------------------------------------

#: The first number of values after which a change is possible, and the factor of the next one.
_FIRST_CHANGE, _CHANGE_RATIO = 20, 1.2
#: Steps of the grid on which values before and after a change are counted.
_CHANGE_GRID = 1 << 8
#: The parameter g of bets on a change, by which most of them are small, and their number.
_CHANGE_PRIOR, _CHANGE_NODES = 5.0, 128


class Change(NamedTuple):
    """Evidence of a change of a mean, the likeliest place, and the means on both sides of it."""

    log_e: float
    n_before: int
    mean_before: float
    mean_after: float


class ChangeTest:
    """e-value of the hypothesis that the mean of values in [0, 1] stays the same.

    Against each mean m, values are bet on twice, up to a change and from there on, with one half of
    the capital on large values and one half on small ones; and the capital is averaged over points
    of the change that are fixed beforehand. Under the hypothesis with mean m that average does not
    grow in expectation, and so its minimum over m is an e-value at any time (Ramdas, Grünwald, Vovk
    and Shafer 2023). For values 0 and 1 it is a form of universal inference (Wasserman, Ramdas and
    Balakrishnan 2020): a mixture over changes, relative to the likelihood without one. It needs no
    mean from before, and it errs with a probability that is limited for the whole sequence, unlike
    detectors that limit the mean time to an error (Shin, Ramdas and Rinaldo 2024).

    Examples
    --------
    >>> test = ChangeTest()
    >>> test.add(np.repeat([1.0, 0.0], [60, 60]))
    >>> change = test.change()
    >>> change.n_before, round(change.mean_before, 2), change.log_e > 20
    (60, 1.0, True)
    """

    def __init__(self) -> None:
        self._grid, self._n = ValueGrid(_CHANGE_GRID), 0
        self._past: list[tuple[int, FloatArray]] = []
        nodes, weights = _legendre(_CHANGE_NODES)
        angle = np.pi / 4 * (nodes + 1)
        self._bets = np.sin(angle) ** 2
        logs = np.log(weights * np.sin(angle) * np.cos(angle))
        logs += (_CHANGE_PRIOR - 1) * np.log1p(-np.square(self._bets))
        logs = np.tile(logs, 2)  # of bets on large and on small values
        self._log_weights = logs - _log_sum(logs)

    def add(self, values: FloatArray) -> None:
        """Add some more values."""
        while len(values):
            n_before = math.ceil(_FIRST_CHANGE * _CHANGE_RATIO ** len(self._past))
            block, values = np.split(values, [n_before - self._n])
            self._grid.add(block)
            self._n += len(block)
            if self._n == n_before:
                self._past.append((n_before, self._grid.all_counts))

    def change(self) -> Change:
        """Return the evidence of a change so far."""
        from scipy.optimize import minimize_scalar

        grid, total = np.linspace(0, 1, _CHANGE_GRID + 1), self._grid.all_counts
        points = [(n, counts) for n, counts in self._past if n < self._n]
        if not points:
            mean = float(grid @ total) / self._n if self._n else NAN
            return Change(0.0, self._n, mean, NAN)
        before = np.array([counts for _, counts in points])
        after = np.maximum(total - before, 0.0)  # (Parts of a value are nearly the same.)
        values = grid[total > 0]
        counts = np.concatenate([before, after, total[None]])[:, total > 0].T
        k = len(points)
        # The changes that lie ahead have the rest of the weight.
        log_weights = -np.log(np.append((np.arange(k) + 1.0) * (np.arange(k) + 2.0), k + 1.0))

        def log_capitals(mean: float) -> FloatArray:
            up = bet_factors(self._bets, values, mean, GREATER)
            down = bet_factors(self._bets, 1 - values, 1 - mean, GREATER)
            logs = np.log(np.concatenate([up, down])) @ counts
            logs = _log_sum(logs.T + self._log_weights)
            return np.asarray(log_weights + np.append(logs[:k] + logs[k : 2 * k], logs[-1]))

        # It is convex, as each factor is log-convex in the mean.
        minimum = minimize_scalar(
            lambda mean: float(_log_sum(log_capitals(mean))),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        j = int(np.argmax(log_capitals(float(minimum.x))[:-1]))
        means = (float(grid @ c) / float(c.sum()) for c in (before[j], after[j]))
        return Change(float(minimum.fun), points[j][0], *means)


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


def log_asymptotic_e_value(
    sums: Any, sd: Any, n: Any, level: float, alternative: str = TWO_SIDED
) -> FloatArray:
    """Return the logarithm of the asymptotic e-value of the hypothesis that a mean is 0.

    It is the normal mixture that :func:`asymptotic_half_width` inverts: it exceeds −log(1 − level)
    exactly where 0 is outside of the interval. One-sided, the mixture is over one half of the
    normal distribution.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.asarray(sums, np.float64) / (np.asarray(sd) * np.sqrt(n))
        return _log_mixture(z, np.asarray(n, np.float64) * tuning(level) ** 2, alternative)


def _log_mixture(z: Any, size: Any, alternative: str) -> FloatArray:
    from scipy.special import log_ndtr

    logs = np.square(z) * size / (2 * (size + 1)) - np.log(size + 1) / 2
    if alternative == TWO_SIDED:
        return np.asarray(logs)
    sign = 1 if alternative == GREATER else -1
    return np.asarray(logs + math.log(2) + log_ndtr(sign * z * np.sqrt(size / (size + 1))))


def asymptotic_limit_distance(sd: float, n: float, level: float) -> float:
    """Return the distance of the limit of a one-sided asymptotic confidence sequence from the mean.

    Examples
    --------
    >>> asymptotic_limit_distance(1.0, 1000, 0.95) < asymptotic_half_width(1.0, 1000, 0.95)
    True
    """
    size = n * tuning(level) ** 2

    def excess(z: float) -> float:
        return float(_log_mixture(z, size, GREATER)) + math.log(1 - level)

    # The mixture over one half is larger above 0, so its limit is nearer.
    largest = asymptotic_half_width(1.0, n, level) * math.sqrt(n)
    return sd * bracketed_root(excess, 0.0, largest, xtol=1e-13) / math.sqrt(n)


def asymptotic_interval(
    mean: float,
    sd: float,
    n: int,
    level: float,
    n_events: int | None = None,
    alternative: str = TWO_SIDED,
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
    alternative : {'two-sided', 'greater', 'less'}, default='two-sided'
        Whether there is only a lower limit, with ``"greater"``, or an upper one, with ``"less"``.

    Returns
    -------
    Interval
        The interval; absent for fewer than 300 values, or fewer than 30 on either side.
    """
    if n < ASYMPTOTIC_N or (n_events is not None and n_events < MIN_EVENTS):
        return no_interval(ASYMPTOTIC, "too_few_for_asymptotics")
    if not sd > 0:
        return no_interval(ASYMPTOTIC, "no_spread")
    se = sd / math.sqrt(n)
    if alternative == TWO_SIDED:
        half = asymptotic_half_width(sd, n, level)
        return Interval(mean - half, mean + half, ASYMPTOTIC, se=se)
    distance = asymptotic_limit_distance(sd, n, level)
    if alternative == GREATER:
        return Interval(mean - distance, math.inf, ASYMPTOTIC, se=se)
    return Interval(-math.inf, mean + distance, ASYMPTOTIC, se=se)


# --- Repeated tests -------------------------------------------------------------------------------

#: The largest number of looks for which the error of repeated tests is computed.
MAX_LOOKS = 500


def repeated_test_error(n_looks: int, level: float = 0.95, *, is_one_sided: bool = False) -> float:
    """Return the type I error of a test of fixed size that is repeated at equally spaced looks.

    It is the probability that a normal test at level 1 − ``level`` is significant at any of the
    looks, by the recursion of Armitage, McPherson and Rowe (1969). Beyond 500 looks it is that of
    500, which is a lower bound.

    Examples
    --------
    >>> [round(repeated_test_error(n), 3) for n in (1, 2, 5, 10, 50)]
    [0.05, 0.083, 0.142, 0.193, 0.32]
    """
    n_looks, z = min(n_looks, MAX_LOOKS), fixed_quantile(level, is_one_sided=is_one_sided)
    if n_looks < 1:
        return NAN
    width = 0.02 if n_looks <= 100 else 0.05
    reach = round(8 / width)
    edge = math.ceil(abs(z) * math.sqrt(n_looks) / width)
    lowest = reach * math.ceil(math.sqrt(n_looks)) if is_one_sided else edge
    grid = np.asarray(width * np.arange(-lowest, edge + 1), np.float64)
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
        distances = grid if is_one_sided else np.abs(grid)
        proportion = np.clip((limit - distances) / width + 0.5, 0.0, 1.0)
        density = density * proportion
        inside = float(density.sum() * width)
    return 1 - inside


def fixed_quantile(level: float, *, is_one_sided: bool = False) -> float:
    """Return the quantile of a normal test for a fixed number of values, of one or two sides."""
    from scipy.special import ndtri

    return float(ndtri(level)) if is_one_sided else normal_quantile(level)


def _normal_density(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi))
