"""Limits by the noncentral χ² distribution, for norms that are above 0 by chance."""

from __future__ import annotations

import math

from calipers.inference.roots import bracketed_root

#: Largest statistic for which the noncentral χ² is used; above it a normal approximates it.
_MAX_CHI2 = 1e4


def chi_square_median(df: float) -> float:
    """Return the median of the χ² distribution."""
    from scipy.special import chdtri

    return float(chdtri(df, 0.5))


def noncentrality(statistic: float, df: float, probability: float) -> float:
    """Return the noncentrality λ at which P(χ² ≤ ``statistic``) is this probability, at least 0."""
    from scipy.special import chdtr, chndtr, ndtri

    if chdtr(df, statistic) <= probability:
        return 0.0
    if statistic > _MAX_CHI2:  # normal with mean ν + λ and variance 2(ν + 2λ)
        z = float(ndtri(probability))
        spread = math.sqrt(4 * z * z - 2 * df + 4 * statistic) - 2 * z
        return max(0.0, (spread**2 - 2 * df) / 4)
    low, high = 0.0, 1.0
    while chndtr(statistic, df, high) > probability:
        low, high = high, 2 * high
    return bracketed_root(lambda x: chndtr(statistic, df, x) - probability, low, high, xtol=1e-13)


def norm_limits(
    norm: float, se: float, statistic: float, df: float, level: float
) -> tuple[float, float]:
    """Return the limits of a length whose square is proportional to a χ².

    Parameters
    ----------
    norm, se : float
        The length, such as a measure of association, and its standard error.
    statistic : float
        The square of the length as a χ² if the true length is 0: Pearson's χ² of the test of
        independence.
    df : float
        Its degrees of freedom.
    level : float
        Confidence level.

    Returns
    -------
    low, high : float
        The limits. The lower one is 0 if a test of the length 0 does not reject at (1 − level)/2.

    Notes
    -----
    With the standard error s, (norm/s)² is about χ² with the noncentrality (true norm/s)². If the
    true length is 0, s is norm/√χ², whatever the error at the observed length; for the lower limit
    s² is therefore interpolated between both, linearly in the square of the limit. The upper limit
    is no less than that of the median at the length 0 (Cowan and others 2011).

    Examples
    --------
    >>> [round(limit, 4) for limit in norm_limits(0.3, 0.1, 9.0, 1, 0.95)]
    [0.104, 0.496]
    >>> [round(limit, 4) for limit in norm_limits(0.15, 0.1, 2.25, 1, 0.95)]
    [0.0, 0.346]
    """
    tail = (1 - level) / 2
    high = se * math.sqrt(noncentrality(max((norm / se) ** 2, chi_square_median(df)), df, tail))
    null_se = norm / math.sqrt(statistic)
    if noncentrality(statistic, df, 1 - tail) == 0:
        return 0.0, high
    square = (norm / null_se) ** 2, (norm / se) ** 2

    def excess(ratio: float) -> float:
        """Return λ(x) − r²x for the ratio r of the limit to the norm, where x depends on r."""
        x = 1 / ((1 - ratio**2) / square[0] + ratio**2 / square[1])
        return noncentrality(x, df, 1 - tail) - ratio**2 * x

    return norm * bracketed_root(excess, 0.0, 1.0, xtol=1e-15), high
