"""Intervals of proportions, and of the difference between two paired proportions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calipers.caching import cached_property
from calipers.inference.intervals import NAN, Interval, no_interval, normal_quantile
from calipers.inference.roots import bracketed_root
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.statistics import FloatArray


def wilson(proportion: float, n: float, level: float) -> Interval:
    """Return Wilson's score interval of a proportion [W].

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = wilson(150 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.6857, 0.8049)
    """
    low, high = wilson_limits(np.float64(proportion), np.float64(n), level)
    return Interval(float(low), float(high), "Wilson [W]", se=_standard_error(proportion, n))


def _standard_error(proportion: float, n: float) -> float:
    """Return the standard error of a proportion of ``n`` trials."""
    return math.sqrt(max(proportion * (1 - proportion), 0.0) / n) if n > 0 else NAN


def wilson_limits(
    proportion: FloatArray, n: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of :func:`wilson` for arrays; NaN where there are no trials."""
    z = normal_quantile(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = 1 + z**2 / n
        center = (proportion + z**2 / (2 * n)) / shrink
        half = z / shrink * np.sqrt(proportion * (1 - proportion) / n + z**2 / (4 * n**2))
    # At 0 and at 1 the limit is exact; rounding would leave it a hair off.
    low = np.where(proportion <= 0, 0.0, center - half)
    return low, np.where(proportion >= 1, 1.0, center + half)


def clopper_pearson(proportion: float, n: float, level: float) -> Interval:
    """Return the exact interval of a proportion (Clopper and Pearson 1934).

    Its coverage is at least ``level`` for every proportion.

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = clopper_pearson(20 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0622, 0.1502)
    """
    return _beta_limits(proportion, n, level, "Clopper-Pearson", prior_counts=(0.0, 1.0))


def jeffreys(proportion: float, n: float, level: float) -> Interval:
    """Return Jeffreys' interval of a proportion.

    Its limits are the equal tails of Beta(hits + ½, misses + ½), but 0 without hits and 1 without
    misses (Brown, Cai and DasGupta 2001).

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = jeffreys(20 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0642, 0.1473)
    """
    return _beta_limits(proportion, n, level, "Jeffreys", prior_counts=(0.5, 0.5))


def _beta_limits(
    proportion: float, n: float, level: float, method: str, prior_counts: tuple[float, float]
) -> Interval:
    """Return an interval of quantiles of Beta distributions; 0 without hits, 1 without misses.

    The first number of ``prior_counts`` is added to the hits for the lower limit and to the misses
    for the upper one, the second to the other of the two.
    """
    from scipy.special import betaincinv

    if not n > 0:
        return no_interval(method, "too_few_rows")
    hits, tail, (first_added, second_added) = proportion * n, (1 - level) / 2, prior_counts
    misses = n - hits
    low = (
        0.0
        if proportion <= 0
        else float(betaincinv(hits + first_added, misses + second_added, tail))
    )
    high = (
        1.0
        if proportion >= 1
        else float(betaincinv(hits + second_added, misses + first_added, 1 - tail))
    )
    return Interval(low, high, method, se=_standard_error(proportion, n))


def agresti_coull(proportion: float, n: float, level: float) -> Interval:
    """Return Agresti and Coull's (1998) interval of a proportion.

    It is Wald's after adding z²/2 hits and z²/2 misses, clipped to [0, 1].

    Parameters
    ----------
    proportion : float
        Observed proportion.
    n : float
        Number of (effective) trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval.

    Examples
    --------
    >>> interval = agresti_coull(20 / 200, 200, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.065, 0.1501)
    """
    method = "Agresti-Coull"
    if not n > 0:
        return no_interval(method, "too_few_rows")
    z = normal_quantile(level)
    trials = n + z**2
    center = (proportion * n + z**2 / 2) / trials
    half = z * math.sqrt(center * (1 - center) / trials)
    interval = Interval(center - half, center + half, method, se=_standard_error(proportion, n))
    return interval.clip(0.0, 1.0)


def bonett_price(first: float, second: float, n: float, level: float) -> Interval:
    """Return Bonett and Price's (2012) interval of a difference between two disjoint proportions.

    It is Wald's after adding a row to each of two disjoint sets of rows. It is the difference
    between two paired proportions, such as two accuracies on the same rows, if the sets are the
    rows that only one and only the other system classifies correctly.

    Parameters
    ----------
    first, second : float
        Proportions of the rows in the two sets.
    n : float
        Number of (effective) rows.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        The interval of ``first − second``.

    Examples
    --------
    >>> interval = bonett_price(12 / 100, 4 / 100, 100, 0.95)
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.0017, 0.1585)
    """
    a, b = ((proportion * n + 1) / (n + 2) for proportion in (first, second))
    se = math.sqrt((a + b - (a - b) ** 2) / (n + 2))
    half = normal_quantile(level) * se
    return Interval(a - b - half, a - b + half, "Bonett-Price", se=se).clip(-1.0, 1.0)


def quantile_ranks(q: float, n: int, level: float) -> tuple[int, int] | None:
    """Return the ranks of the order statistics that are confidence limits of a quantile.

    They cover the quantile with a probability of at least ``level`` for every distribution, because
    the number of values below it is binomial (Thompson 1936).

    Parameters
    ----------
    q : float
        Probability of the quantile.
    n : int
        Number of values.
    level : float
        Confidence level.

    Returns
    -------
    tuple of int or None
        Ranks of the lower and the upper limit, counted from 1; None if there are too few values on
        either side.

    Examples
    --------
    >>> quantile_ranks(0.5, 20, 0.95), quantile_ranks(0.95, 50, 0.95)
    ((6, 15), None)
    """
    from scipy.special import bdtr

    tail = (1 - level) / 2
    low = _smallest_integer(0, n, lambda k: bool(bdtr(k, n, q) > tail))
    high = upper_quantile_rank(q, n, 1 - tail)
    return None if low < 1 or high is None else (low, high)


def upper_quantile_rank(q: float, n: int, confidence: float) -> int | None:
    """Return the rank of the order statistic that is an upper confidence limit of a quantile.

    Of ``n`` independent values, the value of this rank is at least the quantile with a probability
    of ``confidence`` or more.

    Parameters
    ----------
    q : float
        Probability of the quantile.
    n : int
        Number of values.
    confidence : float
        Confidence level of the one-sided limit.

    Returns
    -------
    int or None
        Rank, counted from 1; None if there are too few values.

    Examples
    --------
    >>> upper_quantile_rank(0.8, 14, 0.95), upper_quantile_rank(0.8, 13, 0.95)
    (14, None)
    """
    from scipy.special import bdtr

    rank = 1 + _smallest_integer(0, n, lambda k: bool(bdtr(k, n, q) >= confidence))
    return rank if rank <= n else None


def _smallest_integer(low: int, high: int, condition: Callable[[int], bool]) -> int:
    """Return the smallest integer from ``low`` for which a condition holds; ``high`` if none."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle + 1, high)
    return low


def hypergeometric_limits(hits: int, n: int, population: int, level: float) -> tuple[int, int]:
    """Return exact confidence limits of the number of hits in a finite population.

    They are Clopper and Pearson's for a sample without replacement: each has a tail of at most
    (1 − level)/2.

    Parameters
    ----------
    hits : int
        Number of hits in the sample.
    n : int
        Size of the sample.
    population : int
        Size of the population.
    level : float
        Confidence level.

    Returns
    -------
    tuple of int
        Smallest and largest number of hits in the population that the sample does not reject.

    Examples
    --------
    >>> hypergeometric_limits(0, 300, 10_000, 0.95), hypergeometric_limits(3, 10, 10, 0.95)
    ((0, 120), (3, 3))
    """
    return (
        _min_population_hits(hits, n, population, level),
        population - _min_population_hits(n - hits, n, population, level),
    )


def _min_population_hits(hits: int, n: int, population: int, level: float) -> int:
    """Return the lower confidence limit of the number of hits in the population."""
    from scipy.special import gammaln

    def log_choose(total: FloatArray | float, chosen: FloatArray | float) -> FloatArray:
        return np.asarray(gammaln(total + 1) - gammaln(chosen + 1) - gammaln(total - chosen + 1))

    def tail(total: int) -> float:
        """Return the probability of at least as many hits in the sample."""
        k = np.arange(hits, min(n, total) + 1, dtype=np.float64)
        k = k[n - k <= population - total]
        logs = log_choose(float(total), k) + log_choose(float(population - total), n - k)
        return float(np.exp(logs - log_choose(float(population), float(n))).sum())

    return _smallest_integer(
        hits, population - (n - hits), lambda total: tail(total) > (1 - level) / 2
    )


# --- Post-strata ----------------------------------------------------------------------------------

#: Nodes of the integrals over the proportion of a stratum and over the hits of one verdict, those
#: of the table of the hits of the other one, and the probability that is left out on either side.
_N_STRATUM_NODES, _N_HIT_NODES, _N_TABLE_NODES, _OMITTED = 32, 128, 4096, 1e-13


@dataclass(frozen=True, kw_only=True)
class PostStratifiedProportion:
    """Proportion of rows from labels of some of them, by the verdict of a judge on all.

    Attributes
    ----------
    hits : tuple of float
        Number of hits among the labeled rows of either verdict, 0 and 1.
    labels : tuple of int
        Number of labeled rows of either verdict.
    others : tuple of int
        Number of other rows of either verdict.

    Notes
    -----
    The proportions of the verdicts, and that of the hits in each, have Jeffreys priors, so that
    their posterior distributions are independent Beta distributions. Of a verdict without labels
    nothing is known but this. The limits are equal tails, computed without simulation.

    Examples
    --------
    >>> sample = PostStratifiedProportion(hits=(1.0, 6.0), labels=(3, 7), others=(25, 75))
    >>> round(sample.value, 6), [round(limit, 4) for limit in sample.limits(0.95)]
    (0.72381, [0.4465, 0.8904])
    """

    hits: tuple[float, float]
    labels: tuple[int, int]
    others: tuple[int, int]

    @property
    def totals(self) -> tuple[int, int]:
        """Number of all rows of either verdict."""
        return self.labels[0] + self.others[0], self.labels[1] + self.others[1]

    @property
    def slope(self) -> float:
        """Difference of the proportions of hits of both verdicts; 0 if one has no label."""
        if not all(self.labels):
            return 0.0
        return self.hits[1] / self.labels[1] - self.hits[0] / self.labels[0]

    @property
    def value(self) -> float:
        """Post-stratified proportion.

        If a verdict of some rows has no label, it is the mean of the posterior distribution.
        """
        pairs = list(zip(self.totals, self.hits, self.labels, strict=True))
        if any(total and not labels for total, _, labels in pairs):
            rows = sum(self.totals) + 1
            return sum((t + 0.5) / rows * (h + 0.5) / (n + 1) for t, h, n in pairs)
        return sum(t * h / n for t, h, n in pairs if t) / sum(self.totals)

    def limits(self, level: float) -> tuple[float, float]:
        """Return the limits of the proportion of rows like these."""
        mean, sd = self._moments
        limits = []
        for side, tail in ((-1, (1 - level) / 2), (1, (1 + level) / 2)):
            excess = partial(self._excess, tail)
            end, step = mean + 3 * side * sd, sd
            while 0 < end < 1 and excess(end) * side < 0:
                end, step = end + side * step, 2 * step
            low, high = sorted((mean, min(max(end, 0.0), 1.0)))
            if excess(mean) * side > 0:  # of few labels, far from normal
                low, high = 0.0, 1.0
            limits.append(bracketed_root(excess, low, high, xtol=1e-8))
        return limits[0], limits[1]

    def _excess(self, tail: float, x: float) -> float:
        return self._distribution(x) - tail

    @property
    def _moments(self) -> tuple[float, float]:
        """Mean of the posterior distribution, and about its standard deviation."""
        rows, mean, variance, between = sum(self.totals) + 1, 0.0, 0.0, []
        for t, h, n in zip(self.totals, self.hits, self.labels, strict=True):
            proportion, hit = (t + 0.5) / rows, (h + 0.5) / (n + 1)
            mean += proportion * hit
            variance += proportion**2 * hit * (1 - hit) / (n + 2)
            between.append(hit)
        proportion = (self.totals[1] + 0.5) / rows
        spread = proportion * (1 - proportion) / (rows + 1)
        variance += (between[1] - between[0]) ** 2 * spread
        return mean, math.sqrt(variance)

    def limits_of_these(self, level: float) -> tuple[float, float]:
        """Return the limits of the proportion of these rows, of which the labels are known."""
        from scipy.stats import betabinom

        counts = [
            betabinom.pmf(np.arange(m + 1), m, h + 0.5, n - h + 0.5)
            for m, h, n in zip(self.others, self.hits, self.labels, strict=True)
        ]
        distribution = np.cumsum(np.convolve(counts[0], counts[1]))
        tails = (1 - level) / 2, (1 + level) / 2
        n_hits = [float(np.searchsorted(distribution, tail)) + sum(self.hits) for tail in tails]
        low, high = (min(n / sum(self.totals), 1.0) for n in n_hits)
        return low, high

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        """Nodes of the two outer integrals, as (proportion, hits, weight), and the inner verdict.

        The inner integral is over the hits of the verdict that has the larger part in the spread.
        """
        rows = sum(self.totals) + 1
        spreads = [
            (t + 0.5) / rows * math.sqrt((h + 0.5) * (n - h + 0.5) / (n + 2)) / (n + 1)
            for t, h, n in zip(self.totals, self.hits, self.labels, strict=True)
        ]
        inner = int(spreads[1] > spreads[0])
        outer = 1 - inner
        # The proportion of rows with the verdict of the outer integral.
        a, b = self.totals[outer] + 0.5, self.totals[inner] + 0.5
        proportion, weight = _legendre(_N_STRATUM_NODES, _angles(a, b), a, b)
        a, b = self.hits[outer] + 0.5, self.labels[outer] - self.hits[outer] + 0.5
        hits, hits_weight = _legendre(_N_HIT_NODES, _angles(a, b), a, b)
        weights = np.outer(weight, hits_weight).ravel()
        used = weights > 1e-12
        return (
            np.repeat(proportion, len(hits))[used],
            np.tile(hits, len(proportion))[used],
            weights[used] / weights[used].sum(),
            inner,
        )

    @cached_property
    def _inner_table(self) -> tuple[FloatArray, FloatArray]:
        """Angles asin √x, and the probability that the hits of the inner verdict are at most x."""
        from scipy.special import betainc

        inner = self._nodes[3]
        a, b = self.hits[inner] + 0.5, self.labels[inner] - self.hits[inner] + 0.5
        first, last = _angles(a, b).tolist()
        angles = np.linspace(first, last, _N_TABLE_NODES)
        return angles, betainc(a, b, np.square(np.sin(angles)))

    def _distribution(self, x: float) -> float:
        """Return the probability that the proportion is at most x."""
        proportion, hits, weight, _ = self._nodes
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.clip((x - proportion * hits) / (1 - proportion), 0.0, 1.0)
        angles, table = self._inner_table
        return float(weight @ np.interp(np.arcsin(np.sqrt(needed)), angles, table, 0.0, 1.0))


def _angles(a: float, b: float) -> FloatArray:
    """Return asin √x at the ends of Beta(a, b), beyond which there is next to nothing."""
    from scipy.special import betaincinv

    limits = betaincinv(a, b, _OMITTED), 1 - betaincinv(b, a, _OMITTED)
    return np.asarray(np.arcsin(np.sqrt(limits)))


def _legendre(n: int, angles: FloatArray, a: float, b: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes x of Beta(a, b) and their weights, by Gauss and Legendre in √x = sin θ.

    On this scale the density is smooth for parameters from ½ on.
    """
    nodes, weight = np.polynomial.legendre.leggauss(n)
    angle = angles[0] + (nodes + 1) / 2 * (angles[1] - angles[0])
    with np.errstate(divide="ignore"):
        log_density = (2 * a - 1) * np.log(np.sin(angle)) + (2 * b - 1) * np.log(np.cos(angle))
    weight = weight * np.exp(log_density - log_density.max())
    return np.square(np.sin(angle)), weight / weight.sum()
