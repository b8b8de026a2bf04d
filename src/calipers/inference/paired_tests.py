"""Do two systems differ? Everything here is paired: both are measured on the same units.

A difference is the first system's value less the second's. The alternative to no difference is
``"two-sided"``, ``"greater"`` (the first's is) or ``"less"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.inference import intervals
from calipers.inference.intervals import ROUNDING, Interval
from calipers.statistics import FloatArray, Moments

Scores = npt.NDArray[np.floating[Any]]

NAN = float("nan")

#: What may be true if there is not no difference.
ALTERNATIVES = ("two-sided", "greater", "less")

#: Up to so many units the distribution of signed ranks is computed, beyond it is the normal.
EXACT_RANKS = 100


@dataclass(frozen=True, slots=True)
class TestResult:
    """A p-value of no difference, the test that made it, the alternative it speaks for, and the
    statistic where the test has one that is usually given.

    >>> str(TestResult(0.04, "sign test, exact", "greater"))
    'sign test, exact, one-sided (greater): p = 0.04'
    """

    p: float
    name: str
    alternative: str = "two-sided"
    statistic: float = NAN

    @property
    def sides(self) -> str:
        """``two-sided``, ``one-sided (greater)`` or ``one-sided (less)``."""
        two_sided = self.alternative == "two-sided"
        return self.alternative if two_sided else f"one-sided ({self.alternative})"

    def __str__(self) -> str:
        return f"{self.name}, {self.sides}: p = {self.p:.4g}"


def _side(alternative: str) -> int:
    """0 for two sides, else the sign of the differences that speak for the alternative."""
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative is {alternative!r}, expected one of {ALTERNATIVES}")
    return {"two-sided": 0, "greater": 1, "less": -1}[alternative]


# ---------------------------------------------------------------------------------- randomisation


def randomization(
    differences: FloatArray,
    n_resamples: int,
    seed: int,
    alternative: str = "two-sided",
) -> list[TestResult]:
    """Fisher's paired randomisation test of each column of per-unit differences, shape (n, m).

    Under no difference the sign of each unit's difference is arbitrary. All 2ⁿ patterns are tried
    when they are no more than ``n_resamples``; else p = (b + 1)/(B + 1). Every column sees the same
    signs. Units without a value (NaN) do not count; a column of none has no p-value, nor one with
    an infinite value.

    Sources: Fisher 1935, The Design of Experiments, §21; Smucker, Allan and Carterette 2007.

    >>> differences = np.array([[0.2], [0.1], [0.4], [0.3], [-0.1]])  # signs that give 0.9: 3 of 32
    >>> print(*randomization(differences, 1000, 0, "greater"))
    paired randomisation, exact, one-sided (greater): p = 0.09375
    """
    from calipers import _core

    side, two_sided = _side(alternative), alternative == "two-sided"
    turned = differences * (side or 1)
    defined = ~np.isnan(turned)
    sizes, sound = defined.sum(axis=0), np.asarray(~np.isinf(turned).any(axis=0))
    exactly = [n <= 30 and 2 ** int(n) <= n_resamples for n in sizes]
    drawn = np.flatnonzero(~np.array(exactly, bool))
    # A unit without a value adds nothing, whatever its sign.
    table = np.where(defined[:, drawn], turned[:, drawn], 0.0)
    counted = np.zeros(len(sizes), np.int64)
    counted[drawn] = _core.randomisation(table, seed, n_resamples, two_sided)
    out = []
    for column, (n, exact) in enumerate(zip(sizes, exactly, strict=True)):
        name = "paired randomisation, exact" if exact and n else "paired randomisation"
        if n == 0 or not sound[column]:
            p = NAN
        elif exact:
            part = turned[defined[:, column], column][:, None]
            p = float(_core.randomisation_exact(part, two_sided)[0]) / 2.0**n
        else:
            p = (int(counted[column]) + 1) / (n_resamples + 1)
        out.append(TestResult(p, name, alternative))
    return out


def swapped_ratios(
    first: FloatArray,
    second: FloatArray,
    n_resamples: int,
    seed: int,
    alternative: str = "two-sided",
    formula: Callable[[FloatArray], FloatArray] | None = None,
) -> TestResult:
    """Paired randomisation test that two ratios of sums are equal, or the same ``formula`` of both.

    ``first`` and ``second`` have a row a unit: what it adds to the numerator and to the
    denominator. Under no difference the rows of a unit can be swapped: in all 2ⁿ ways when they are
    no more than ``n_resamples``, else p = (b + 1)/(B + 1). A swap that leaves a ratio undefined
    counts against a difference.

    >>> first = np.array([[3.0, 4.0], [2.0, 2.0]])  # 5 of 6
    >>> second = np.array([[1.0, 4.0], [1.0, 2.0]])  # 2 of 6
    >>> print(swapped_ratios(first, second, 1000, 0))
    paired randomisation, exact, two-sided: p = 0.5
    """
    n, name, side = len(first), "paired randomisation", _side(alternative)
    total, half = (first + second).sum(axis=0) / 2, (first - second) / 2
    of = formula or _ratio
    observed = float(_difference(of, total, half.sum(axis=0)))
    if n == 0 or not np.isfinite(observed):
        return TestResult(NAN, name, alternative)

    def towards(difference: FloatArray) -> FloatArray:
        return np.asarray(difference * side if side else np.abs(difference))

    bound = float(towards(np.float64(observed))) - ROUNDING * abs(observed)
    exact = n <= 30 and 2**n <= n_resamples
    tried = 2**n if exact else n_resamples
    random = np.random.Generator(np.random.Philox(seed))
    extreme, step = 0, max(1, 4_000_000 // n)
    for begin in range(0, tried, step):
        end = min(begin + step, tried)
        if exact:
            swaps = np.arange(begin, end)[:, None] >> np.arange(n) & 1
        else:
            swaps = random.integers(0, 2, (end - begin, n))
        drawn = towards(_difference(of, total, (1 - 2 * swaps) @ half))
        extreme += int(np.count_nonzero(~(drawn < bound)))
    if exact:
        return TestResult(extreme / tried, f"{name}, exact", alternative)
    return TestResult((extreme + 1) / (tried + 1), name, alternative)


def _ratio(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _difference(
    of: Callable[[FloatArray], FloatArray], total: FloatArray, half: FloatArray
) -> FloatArray:
    """The difference of what is made of the sums total ± half."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(of(total + half) - of(total - half))


# ------------------------------------------------------------------------------------------ counts


def mcnemar(
    first_only: float, second_only: float, alternative: str = "two-sided", *, mid_p: bool = False
) -> TestResult:
    """McNemar's exact test: of the rows that only one system gets right, each is as likely to be
    the first's as the second's.

    One-sided P(X ≥ observed), X ~ Binomial(n, ½); two-sided twice the smaller, at most 1.
    ``mid_p`` counts half of P(X = observed): it no longer guarantees the level, and comes closer to
    it. Without a row that only one gets right, p is 1.

    Sources: McNemar 1947; for mid-p Fagerland, Lydersen and Laake 2013.

    >>> round(mcnemar(9, 3, "greater").p, 6)
    0.072998
    >>> print(mcnemar(9, 3, mid_p=True))
    McNemar, mid-p, two-sided: p = 0.09229
    """
    name = "McNemar, mid-p" if mid_p else "McNemar, exact"
    return _fair_coin(round(first_only), round(second_only), name, alternative, mid_p=mid_p)


def sign_test(differences: FloatArray, alternative: str = "two-sided") -> TestResult:
    """The sign test: as many differences are above 0 as below.

    Exact binomial, P(X ≥ number above 0) with X ~ Binomial(n, ½), over the n differences that are
    not 0; two-sided twice the smaller tail. The statistic is the number above 0. NaN do not count.

    >>> print(sign_test(np.array([0.1, 0.3, 0.2, 0.4, 0.1, -0.1, 0.0]), "greater"))  # 7 of 64
    sign test, exact, one-sided (greater): p = 0.1094
    """
    signs = np.sign(defined_differences(differences))
    if len(signs) == 0:
        return TestResult(NAN, "sign test, exact", alternative)
    above, below = (int(np.count_nonzero(signs == side)) for side in (1, -1))
    return _fair_coin(above, below, "sign test, exact", alternative)


def _fair_coin(
    heads: int, tails: int, name: str, alternative: str, *, mid_p: bool = False
) -> TestResult:
    """The exact binomial test that a coin is fair."""
    from scipy.special import bdtrc

    side, n = _side(alternative), heads + tails
    if n == 0:
        return TestResult(1.0, name, alternative, 0.0)
    seen = {0: max(heads, tails), 1: heads, -1: tails}[side]
    # bdtrc(k, n, ½) is P(X > k).
    beyond, least = float(bdtrc(seen, n, 0.5)), float(bdtrc(seen - 1, n, 0.5) if seen else 1.0)
    if side == 0 and heads == tails:
        # Both tails begin at the middle, which is in them once.
        return TestResult(1 - (least - beyond) / 2 if mid_p else 1.0, name, alternative, heads)
    p = ((beyond + least) / 2 if mid_p else least) * (1 if side else 2)
    return TestResult(min(1.0, p), name, alternative, heads)


# ------------------------------------------------------------------------------------------- ranks


def defined_differences(differences: FloatArray) -> FloatArray:
    """The defined differences, 0 where they are so but for rounding."""
    defined = differences[~np.isnan(differences)]
    return np.where(np.abs(defined) <= _rounding_tolerance(defined), 0.0, defined)


def _rounding_tolerance(values: FloatArray) -> float:
    """By how much values may differ and be equal but for rounding."""
    size = np.abs(values)
    return ROUNDING * float(size.max(initial=0.0, where=np.isfinite(size)))


def signed_ranks(differences: FloatArray) -> FloatArray:
    """The mean ranks of the sizes with the signs of the differences; NaN and zeros are left out."""
    values = defined_differences(differences)
    values = values[values != 0]
    size = np.abs(values)
    order = np.argsort(size, kind="stable")
    # Sizes that differ by rounding alone are tied.
    with np.errstate(invalid="ignore"):  # infinite ones are tied
        fresh = np.diff(size[order], prepend=-1.0) > _rounding_tolerance(size)
    tied = np.cumsum(fresh) - 1
    ends = np.append(np.flatnonzero(fresh), len(size))
    ranks = np.empty(len(size))
    ranks[order] = ((ends[1:] + ends[:-1] + 1) / 2)[tied]
    return np.asarray(ranks * np.sign(values))


def wilcoxon(differences: FloatArray, alternative: str = "two-sided") -> TestResult:
    """Wilcoxon's signed-rank test that differences are spread evenly about 0.

    The statistic is W⁺, the sum of the (mean) ranks of the sizes of positive differences. Zeros
    are left out before ranking, as Wilcoxon did. Up to 100 units p is exact, with ties as without:
    P(W⁺ ≥ w) over all 2ⁿ signs of the ranks at hand. Beyond that W⁺ is normal with mean Σr/2 and
    variance Σr²/4, which ties have been reckoned in, after a continuity correction of ½. Two-sided
    is twice the smaller tail. The name says which. NaN do not count; undefined without a value; 1
    if all differences are 0.

    Source: Wilcoxon 1945.

    >>> darwin = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])
    >>> print(wilcoxon(darwin))
    Wilcoxon signed rank, exact, two-sided: p = 0.04126
    >>> wilcoxon(darwin).statistic
    96.0
    """
    side = _side(alternative)
    ranks = signed_ranks(differences)
    exact = len(ranks) <= EXACT_RANKS
    name = "Wilcoxon signed rank, exact" if exact else "Wilcoxon signed rank, normal"
    if np.isnan(differences).all():
        return TestResult(NAN, name, alternative)
    positive, total = float(ranks[ranks > 0].sum()), float(np.abs(ranks).sum())
    if len(ranks) == 0:
        return TestResult(1.0, name, alternative, 0.0)
    # The distribution is symmetric: the lower tail of W⁺ is the upper tail of W⁻.
    upper = {0: max(positive, total - positive), 1: positive, -1: total - positive}[side]
    if exact:
        tail = _signed_rank_tail(np.abs(ranks), upper)
    else:
        apart = upper - total / 2 - 0.5
        z = (max(apart, 0.0) if side == 0 else apart) / math.sqrt(float(ranks @ ranks) / 4)
        tail = math.erfc(z / math.sqrt(2)) / 2
    return TestResult(min(1.0, tail * (1 if side else 2)), name, alternative, positive)


def _signed_rank_tail(ranks: FloatArray, least: float) -> float:
    """P(W⁺ ≥ least) when each rank counts with probability ½."""
    return float(signed_rank_tails(ranks)[round(2 * least)])


def signed_rank_tails(ranks: FloatArray) -> FloatArray:
    """P(2W⁺ ≥ 0, 1, 2, …) when each rank counts with probability ½, by dynamic programming over the
    sums of doubled ranks, which are whole numbers even where ranks are tied."""
    doubled = np.rint(2 * np.sort(ranks)).astype(np.int64)
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    reached = 0
    for rank in doubled:
        reached += int(rank)
        without = chance[: reached + 1].copy()
        chance[rank : reached + 1] += without[: reached + 1 - rank]
        chance[: reached + 1] /= 2
    return np.asarray(np.cumsum(chance[::-1])[::-1])


# ------------------------------------------------------------------------------ estimate and error


def _ratio_test(
    value: float, se: float, name: str, alternative: str, upper: Callable[[float], float]
) -> TestResult:
    """The test of value/se by a symmetric distribution; none where a difference seems to have no
    error, as two AUCs do when one system separates the classes and the other ties them all."""
    side = _side(alternative)
    if not math.isfinite(se):
        return TestResult(NAN, name, alternative)
    if se <= ROUNDING * abs(value):
        return TestResult(1.0 if value == 0 else NAN, name, alternative)
    ratio = value / se
    p = upper(ratio * side) if side else 2 * upper(abs(ratio))
    return TestResult(p, name, alternative, ratio)


def normal(value: float, se: float, name: str, alternative: str = "two-sided") -> TestResult:
    """Test that a normal estimate is 0, by z = value/se; the statistic is z.

    Undefined where the standard error is, or is 0 beside a value that is not.

    >>> print(normal(0.0196, 0.01, "DeLong, paired"))
    DeLong, paired, two-sided: p = 0.05
    """
    # Through erfc, which keeps its digits far out.
    return _ratio_test(value, se, name, alternative, lambda z: math.erfc(z / math.sqrt(2)) / 2)


def student(
    value: float, se: float, n: float, name: str = "paired t", alternative: str = "two-sided"
) -> TestResult:
    """Paired t test from the mean difference and its standard error over ``n`` (effective) units;
    the statistic is t = value/se, on n − 1 degrees of freedom.

    Undefined below two units, and where the standard error is, or is 0 beside a value that is not.

    >>> print(student(2.6167, 1.2181, 15))  # Darwin's maize, as Fisher tested it
    paired t, two-sided: p = 0.04968
    """
    from scipy.special import stdtr

    if n < 2:
        return TestResult(NAN, name, alternative)
    return _ratio_test(value, se, name, alternative, lambda t: float(stdtr(n - 1, -t)))


def paired_t(differences: FloatArray, alternative: str = "two-sided") -> TestResult:
    """Student's paired t test of per-unit differences; NaN do not count.

    >>> print(paired_t(np.array([1.0, 2.0, 3.0])))  # t = 2√3 on 2 degrees of freedom
    paired t, two-sided: p = 0.07418
    """
    moments = Moments.from_rows(differences[~np.isnan(differences)])
    return student(moments.mean, moments.standard_error, moments.rows, alternative=alternative)


def bootstrap(differences: FloatArray, alternative: str = "two-sided") -> TestResult:
    """Test from bootstrap replicates of a difference: the share on the far side of 0, or on 0,
    (b + 1)/(B + 1); two-sided twice the smaller, at most 1. Replicates without a value are left
    out. Where these are too many, or all that is left has one value, replicates have no interval
    and say nothing of chance: undefined, but 1 where that value is 0.

    >>> print(bootstrap(np.array([0.3, 0.1, 0.2, -0.1, 0.4, 0.2, 0.5, 0.1, 0.3]), "greater"))
    paired bootstrap, one-sided (greater): p = 0.2
    """
    name, side = "paired bootstrap", _side(alternative)
    defined = differences[np.isfinite(differences)]
    if len(defined) == 0:
        return TestResult(NAN, name, alternative)
    if isinstance(intervals.usable_replicates(differences, name), Interval):
        return TestResult(NAN if defined.any() else 1.0, name, alternative)
    hair = ROUNDING * np.abs(defined).max()  # what only rounding holds apart from 0 is on it
    below = (np.count_nonzero(defined <= hair) + 1) / (len(defined) + 1)
    above = (np.count_nonzero(defined >= -hair) + 1) / (len(defined) + 1)
    p = {0: min(1.0, 2 * min(below, above)), 1: below, -1: above}[side]
    return TestResult(float(p), name, alternative)


# ------------------------------------------------------------------------------------ effect sizes


def hedges_g(differences: FloatArray) -> float:
    """Paired effect size: mean difference over its standard deviation, with Hedges' correction for
    small samples, 1 − 3/(4(n − 1) − 1). Undefined below 3 units, without any spread, and where a
    difference is no finite number.

    >>> round(hedges_g(np.array([1.0, 2.0, 4.0, 5.0, 3.0])), 4)  # 3/√2.5 · 0.8
    1.5179
    """
    n = len(differences)
    if n < 3 or not np.isfinite(differences).all():
        return NAN
    return hedges_g_from_stats(float(differences.mean()), float(differences.std(ddof=1)), n)


def hedges_g_from_stats(mean: float, spread: float, n: int) -> float:
    """The same from the mean of n differences and their standard deviation."""
    if n < 3 or not math.isfinite(spread) or spread <= ROUNDING * abs(mean):
        return NAN
    return mean / spread * (1 - 3 / (4 * (n - 1) - 1))
