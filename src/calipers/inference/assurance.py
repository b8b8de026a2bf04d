"""How often an interval is as short as was planned: half-widths vary from sample to sample, and of
samples that have the right one on average some half have a longer one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calipers.inference.intervals import z_of
from calipers.statistics.base import IntArray

#: Of an area so many quantiles stand for what may be observed.
QUANTILES = 400

#: Beyond so many standard errors no count is looked at.
FURTHEST = 9.0


def of_mean(sd: float, n: float, width: float, level: float, degrees: float) -> float:
    """P(t·s/√n ≤ width) of Student's interval: of normal units s²·f/sd² is χ² with f degrees of
    freedom (Kupper and Hafner 1989).

    >>> round(of_mean(0.25, 50, 0.0707, 0.95, 49), 3), round(of_mean(0.25, 60, 0.0707, 0.95, 59), 3)
    (0.507, 0.859)
    """
    from scipy.special import stdtrit

    if degrees < 1:
        return 0.0
    return of_spread(sd, width * math.sqrt(n) / float(stdtrit(degrees, (1 + level) / 2)), degrees)


def of_spread(sd: float, most: float, degrees: float) -> float:
    """P(s ≤ most)."""
    from scipy.special import chdtr

    return float(chdtr(degrees, degrees * (most / sd) ** 2))


def of_share(share: float, n: float, width: float, level: float) -> float:
    """P(Wilson's half-width ≤ width), by the binomial distribution of the observed share: it is the
    shorter the further that is from ½.

    >>> round(of_share(0.9, 388, 0.03, 0.95), 3), round(of_share(0.9, 421, 0.03, 0.95), 3)
    (0.489, 0.766)
    """
    n, z = math.floor(n), z_of(level)
    # z/(1 + z²/n)·√(p(1 − p)/n + z²/4n²) ≤ width, solved for p(1 − p).
    most = n * ((width * (1 + z * z / n) / z) ** 2 - (z / (2 * n)) ** 2)
    return _outside(share, n, most)


def _outside(share: float, n: int, most: float) -> float:
    """P(p(1 − p) ≤ most) of an observed share p of ``n``."""
    from scipy.special import bdtr, bdtrc

    if most < 0:
        return 0.0
    if most >= 0.25:
        return 1.0
    last = math.floor(n * (0.5 - math.sqrt(0.25 - most)) + 1e-9)
    return float(bdtr(last, n, share) + bdtrc(n - last - 1, n, share))


def of_paired_shares(discordant: float, n: float, width: float, level: float) -> float:
    """The same of Bonett and Price's interval of two systems that differ on a share ``discordant``
    of the rows, where neither is better: by the number of discordant rows, and given these by how
    many of them are the one's."""
    from scipy.special import bdtr
    from scipy.stats import binom

    n = math.floor(n)
    rows = _around(n, discordant)
    chance = binom.pmf(rows, n, discordant)
    # z·√((a + b − (a − b)²)/(n + 2)) ≤ width, a + b = (rows + 2)/(n + 2).
    least = (rows + 2) / (n + 2) - (n + 2) * (width / z_of(level)) ** 2
    apart = np.ceil(np.sqrt(np.maximum(least, 0)) * (n + 2) - 1e-9)
    last = np.floor((rows - apart) / 2)
    tail = np.where(last >= 0, bdtr(np.maximum(last, 0), rows, 0.5), 0.0)
    return float(np.sum(chance * np.minimum(2 * tail, 1.0)))


def of_two_shares(share: float, n: float, width: float, level: float) -> float:
    """The same of Wald's interval of two equal shares of ``n`` rows each."""
    from scipy.stats import binom

    n = math.floor(n)
    counts = _around(n, share)
    observed = counts / n
    most = n * (width / z_of(level)) ** 2 - observed * (1 - observed)
    short = np.array([_outside(share, n, float(m)) for m in most])
    return float(np.sum(binom.pmf(counts, n, share) * short))


def _around(n: int, share: float) -> IntArray:
    """The counts that have any probability to speak of."""
    reach = FURTHEST * math.sqrt(n * share * (1 - share)) + FURTHEST
    low, high = max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach))
    return np.arange(low, high + 1)


def of_area(
    area: float, error: Callable[[float], float], half_width: Callable[[float], float], width: float
) -> float:
    """The same of an area: what is observed is taken to be normal on the logit scale, and its
    interval to be as long as that of this area."""
    from scipy.special import expit, logit, ndtri

    steps = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
    observed = expit(logit(area) + steps * error(area) / (area * (1 - area)))
    # The last that have a logit: of few rows a perfect system is what may well be observed.
    observed = np.clip(observed, np.finfo(float).tiny, np.nextafter(1.0, 0.0))
    return float(np.mean([half_width(float(a)) <= width for a in observed]))
