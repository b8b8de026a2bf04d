"""Do two systems differ? Everything here is paired: both are measured on the same units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.statistics import FloatArray, Moments, ScoreTable

Scores = npt.NDArray[np.floating[Any]]

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Test:
    """A p-value of no difference, two-sided, and the name of the test."""

    p: float
    name: str


def randomisation(differences: FloatArray, resamples: int, seed: int) -> list[Test]:
    """Fisher's paired randomisation test of each column of per-unit differences, shape (n, m).

    Under no difference the sign of each unit's difference is arbitrary. All 2ⁿ patterns are tried
    when they are no more than ``resamples``; else p = (b + 1)/(B + 1).
    """
    from calipers import _core

    n = len(differences)
    if n == 0:
        return [Test(NAN, "paired randomisation")] * differences.shape[1]
    if n <= 30 and 2**n <= resamples:
        extreme = _core.randomisation_exact(differences)
        return [Test(float(b) / 2**n, "paired randomisation, exact") for b in extreme]
    extreme = _core.randomisation(differences, seed, resamples)
    return [Test((int(b) + 1) / (resamples + 1), "paired randomisation") for b in extreme]


def swapped_ratios(first: FloatArray, second: FloatArray, resamples: int, seed: int) -> Test:
    """Paired randomisation test that two ratios of sums are equal.

    ``first`` and ``second`` have a row a unit: what it adds to the numerator and to the
    denominator. Under no difference the rows of a unit can be swapped: in all 2ⁿ ways when they are
    no more than ``resamples``, else p = (b + 1)/(B + 1).
    """
    n, name = len(first), "paired randomisation"
    total, half = (first + second).sum(axis=0) / 2, (first - second) / 2
    observed = abs(_ratio_difference(total, half.sum(axis=0)))
    if n == 0 or not np.isfinite(observed):
        return Test(NAN, name)
    exact = n <= 30 and 2**n <= resamples
    tried = 2**n if exact else resamples
    random = np.random.Generator(np.random.Philox(seed))
    extreme, step = 0, max(1, 4_000_000 // n)
    for begin in range(0, tried, step):
        end = min(begin + step, tried)
        if exact:
            swaps = np.arange(begin, end)[:, None] >> np.arange(n) & 1
        else:
            swaps = random.integers(0, 2, (end - begin, n))
        drawn = np.abs(_ratio_difference(total, (1 - 2 * swaps) @ half))
        extreme += int(np.count_nonzero(drawn >= observed * (1 - 1e-12)))
    if exact:
        return Test(extreme / tried, f"{name}, exact")
    return Test((extreme + 1) / (tried + 1), name)


def _ratio_difference(total: FloatArray, half: FloatArray) -> FloatArray:
    """The difference of the two ratios whose sums are total ± half."""
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = total + half, total - half
        return np.asarray(a[..., 0] / a[..., 1] - b[..., 0] / b[..., 1])


def mcnemar(first_only: float, second_only: float) -> Test:
    """McNemar's exact test: of the rows that only one system gets right, each is as likely to be
    the first's as the second's. Two-sided: twice P(X ≥ the larger), at most 1.

    >>> round(mcnemar(9, 3).p / 2, 6)
    0.072998
    """
    from scipy.special import bdtrc

    larger, discordant = max(first_only, second_only), first_only + second_only
    if discordant == 0:
        return Test(1.0, "McNemar, exact")
    # bdtrc(k, n, ½) is P(X > k), so that P(X ≥ larger) needs larger − 1.
    tail = bdtrc(round(larger) - 1, round(discordant), 0.5)
    return Test(min(1.0, 2 * float(tail)), "McNemar, exact")


def normal(value: float, se: float, name: str) -> Test:
    """Two-sided test that a normal estimate is 0; none where a difference seems to have no error,
    as two AUCs do when one system separates the classes and the other ties them all."""
    if not math.isfinite(se):
        return Test(NAN, name)
    if se == 0:
        return Test(1.0 if value == 0 else NAN, name)
    # Twice the tail; through erfc, which keeps its digits far out.
    return Test(math.erfc(abs(value) / se / math.sqrt(2)), name)


def student(value: float, se: float, n: int, name: str = "paired t") -> Test:
    """Two-sided paired t test from the mean difference and its standard error."""
    from scipy.special import stdtr

    if n < 2 or not math.isfinite(se):
        return Test(NAN, name)
    if se == 0:
        return Test(1.0 if value == 0 else NAN, name)
    return Test(2 * float(stdtr(n - 1, -abs(value) / se)), name)


def bootstrap(differences: FloatArray) -> Test:
    """Two-sided p-value from bootstrap replicates of a difference: twice the share on the far side
    of 0, each side (b + 1)/(B + 1); replicates without a value are left out."""
    defined = differences[np.isfinite(differences)]
    if len(defined) == 0:
        return Test(NAN, "paired bootstrap")
    below = (np.count_nonzero(defined <= 0) + 1) / (len(defined) + 1)
    above = (np.count_nonzero(defined >= 0) + 1) / (len(defined) + 1)
    return Test(float(min(1.0, 2 * min(below, above))), "paired bootstrap")


def delong_error(
    positive: npt.NDArray[np.bool_], scores: Sequence[Scores], weight: FloatArray | None
) -> float:
    """DeLong's standard error of the difference of two AUCs on the same rows."""
    placements = [row_placements(positive, score, weight) for score in scores]
    difference = placements[0] - placements[1]
    errors = (
        Moments.from_rows(difference[rows], None if weight is None else weight[rows]).standard_error
        for rows in (positive, ~positive)
    )
    return math.hypot(*errors)


def row_placements(
    positive: npt.NDArray[np.bool_], score: Scores, weight: FloatArray | None
) -> FloatArray:
    """Each row's placement among the rows of the other class."""
    table = ScoreTable.from_rows(positive, score, weight)
    of_positive, of_negative = table.placements()
    place = len(table.scores) - 1 - np.searchsorted(table.scores[::-1], score)
    return np.where(positive, of_positive[place], of_negative[place])


def hedges_g(differences: FloatArray) -> float:
    """Paired effect size: mean difference over its standard deviation, with Hedges' correction for
    small samples, 1 − 3/(4(n − 1) − 1)."""
    n = len(differences)
    if n < 3:
        return NAN
    spread = float(differences.std(ddof=1))
    if spread == 0:
        return NAN
    return float(differences.mean()) / spread * (1 - 3 / (4 * (n - 1) - 1))


def holm(p: FloatArray) -> FloatArray:
    """Holm's step-down adjustment of p-values; undefined ones stay so and do not count.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(len(p), NAN)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    scaled = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted
