"""Paired tests of the difference between two systems on the same units.

A difference is the value of the first system minus that of the second. The alternative to no
difference is ``"two-sided"``, ``"greater"`` (the value of the first is greater) or ``"less"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import ROUNDING_TOLERANCE, Interval
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, Moments

NAN = float("nan")

#: Alternatives to no difference.
ALTERNATIVES = ("two-sided", "greater", "less")

#: Up to this many units the distribution of signed ranks is exact, beyond it is normal.
MAX_EXACT_RANKS = 100


@dataclass(frozen=True, slots=True)
class TestResult:
    """Result of a test of no difference.

    Attributes
    ----------
    p : float
        p-value.
    name : str
        Name of the test.
    alternative : str, default="two-sided"
        Alternative hypothesis.
    statistic : float
        Test statistic, if it is usually reported for this test; else NaN.

    Examples
    --------
    >>> str(TestResult(0.04, "sign test, exact", "greater"))
    'sign test, exact, one-sided (greater): p = 0.04'
    """

    p: float
    name: str
    alternative: str = "two-sided"
    statistic: float = NAN

    @property
    def alternative_text(self) -> str:
        """Alternative as text: ``two-sided``, ``one-sided (greater)`` or ``one-sided (less)``."""
        two_sided = self.alternative == "two-sided"
        return self.alternative if two_sided else f"one-sided ({self.alternative})"

    def __str__(self) -> str:
        return f"{self.name}, {self.alternative_text}: p = {self.p:.4g}"


def _side(alternative: str) -> int:
    """Return 0 for a two-sided alternative, else the sign of differences that support it."""
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative is {alternative!r}, expected one of {ALTERNATIVES}")
    return {"two-sided": 0, "greater": 1, "less": -1}[alternative]


# ---------------------------------------------------------------------------------- randomization


def randomization_test(
    differences: FloatArray,
    n_resamples: int,
    seed: int,
    alternative: str = "two-sided",
) -> list[TestResult]:
    """Compute Fisher's paired randomization test of each column of per-unit differences.

    Under the null hypothesis the sign of each unit's difference is arbitrary. All 2ⁿ patterns of
    signs are used if they are at most ``n_resamples``; otherwise p = (b + 1)/(B + 1).

    Parameters
    ----------
    differences : ndarray of shape (n, m)
        Differences on n units in m columns; NaN are excluded. All columns use the same signs.
    n_resamples : int
        Number B of randomizations.
    seed : int
        Seed of the random numbers.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.

    Returns
    -------
    list of TestResult
        One result for each column; undefined for a column without values or with an infinite one.

    References
    ----------
    Fisher 1935, The Design of Experiments, §21; Smucker, Allan and Carterette 2007.

    Examples
    --------
    >>> differences = np.array([[0.2], [0.1], [0.4], [0.3], [-0.1]])  # signs that give 0.9: 3 of 32
    >>> print(*randomization_test(differences, 1000, 0, "greater"))
    paired randomization, exact, one-sided (greater): p = 0.09375
    """
    from calipers import _core

    side, two_sided = _side(alternative), alternative == "two-sided"
    oriented = differences * (side or 1)
    defined = ~np.isnan(oriented)
    sizes, finite_mask = defined.sum(axis=0), np.asarray(~np.isinf(oriented).any(axis=0))
    is_exact = [n <= 30 and 2 ** int(n) <= n_resamples for n in sizes]
    sampled_columns = np.flatnonzero(~np.array(is_exact, bool))
    # A unit without a value adds nothing, whatever its sign.
    table = np.where(defined[:, sampled_columns], oriented[:, sampled_columns], 0.0)
    n_extreme = np.zeros(len(sizes), np.int64)
    n_extreme[sampled_columns] = _core.randomization(table, seed, n_resamples, two_sided)
    out = []
    for column, (n, exact) in enumerate(zip(sizes, is_exact, strict=True)):
        name = "paired randomization, exact" if exact and n else "paired randomization"
        if n == 0 or not finite_mask[column]:
            p = NAN
        elif exact:
            defined_differences = oriented[defined[:, column], column][:, None]
            p = float(_core.randomization_exact(defined_differences, two_sided)[0]) / 2.0**n
        else:
            p = (int(n_extreme[column]) + 1) / (n_resamples + 1)
        out.append(TestResult(p, name, alternative))
    return out


def ratio_randomization_test(
    first: FloatArray,
    second: FloatArray,
    n_resamples: int,
    seed: int,
    alternative: str = "two-sided",
    formula: Callable[[FloatArray], FloatArray] | None = None,
) -> TestResult:
    """Compute a paired randomization test that two ratios of sums are equal.

    Under the null hypothesis the two rows of a unit are exchangeable: they are swapped in all 2ⁿ
    ways if these are at most ``n_resamples``; otherwise p = (b + 1)/(B + 1). A swap that makes a
    ratio undefined counts as extreme.

    Parameters
    ----------
    first, second : ndarray of shape (n, 2)
        Contribution of each unit to the numerator and to the denominator of either ratio.
    n_resamples : int
        Number B of randomizations.
    seed : int
        Seed of the random numbers.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.
    formula : callable, optional
        Function of the sums that is compared instead of the ratio.

    Returns
    -------
    TestResult
        The result; undefined without units, or if the observed difference is.

    Examples
    --------
    >>> first = np.array([[3.0, 4.0], [2.0, 2.0]])  # 5 of 6
    >>> second = np.array([[1.0, 4.0], [1.0, 2.0]])  # 2 of 6
    >>> print(ratio_randomization_test(first, second, 1000, 0))
    paired randomization, exact, two-sided: p = 0.5
    """
    n, name, side = len(first), "paired randomization", _side(alternative)
    total, half = (first + second).sum(axis=0) / 2, (first - second) / 2
    function = formula or _ratio
    observed = float(_difference(function, total, half.sum(axis=0)))
    if n == 0 or not np.isfinite(observed):
        return TestResult(NAN, name, alternative)

    def orient(difference: FloatArray) -> FloatArray:
        return np.asarray(difference * side if side else np.abs(difference))

    bound = float(orient(np.float64(observed))) - ROUNDING_TOLERANCE * abs(observed)
    exact = n <= 30 and 2**n <= n_resamples
    n_randomizations = 2**n if exact else n_resamples
    random = np.random.Generator(np.random.Philox(seed))
    extreme, step = 0, max(1, 4_000_000 // n)
    for begin in range(0, n_randomizations, step):
        end = min(begin + step, n_randomizations)
        if exact:
            swaps = np.arange(begin, end)[:, None] >> np.arange(n) & 1
        else:
            swaps = random.integers(0, 2, (end - begin, n))
        replicates = orient(_difference(function, total, (1 - 2 * swaps) @ half))
        extreme += int(np.count_nonzero(~(replicates < bound)))
    if exact:
        return TestResult(extreme / n_randomizations, f"{name}, exact", alternative)
    return TestResult((extreme + 1) / (n_randomizations + 1), name, alternative)


def _ratio(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _difference(
    formula: Callable[[FloatArray], FloatArray], total: FloatArray, half: FloatArray
) -> FloatArray:
    """Return the difference between the formula of total + half and that of total − half."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(formula(total + half) - formula(total - half))


# ------------------------------------------------------------------------------------------ counts


def mcnemar(
    first_only: float, second_only: float, alternative: str = "two-sided", *, mid_p: bool = False
) -> TestResult:
    """Compute McNemar's exact test of discordant counts.

    Under the null hypothesis, a row that only one system classifies correctly is equally likely to
    be the first's or the second's.

    Parameters
    ----------
    first_only, second_only : float
        Number of rows that only the first, or only the second system classifies correctly.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.
    mid_p : bool, default=False
        Whether to count P(X = observed) half. The test then no longer guarantees the level, but is
        closer to it.

    Returns
    -------
    TestResult
        The result; p is 1 without discordant rows.

    Notes
    -----
    The one-sided p-value is P(X ≥ observed), X ~ Binomial(n, ½); the two-sided one is twice the
    smaller, at most 1.

    References
    ----------
    McNemar 1947; for mid-p Fagerland, Lydersen and Laake 2013.

    Examples
    --------
    >>> round(mcnemar(9, 3, "greater").p, 6)
    0.072998
    >>> print(mcnemar(9, 3, mid_p=True))
    McNemar, mid-p, two-sided: p = 0.09229
    """
    name = "McNemar, mid-p" if mid_p else "McNemar, exact"
    return _binomial_test(round(first_only), round(second_only), name, alternative, mid_p=mid_p)


def sign_test(differences: FloatArray, alternative: str = "two-sided") -> TestResult:
    """Compute the sign test: positive and negative differences are equally likely.

    Parameters
    ----------
    differences : ndarray of shape (n,)
        Differences; NaN are excluded.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.

    Returns
    -------
    TestResult
        The result; undefined without a value.

    Notes
    -----
    The p-value is the exact binomial P(X ≥ number above 0) with X ~ Binomial(n, ½), over the n
    differences that are not 0; two-sided it is twice the smaller tail. The statistic is the number
    above 0.

    Examples
    --------
    >>> print(sign_test(np.array([0.1, 0.3, 0.2, 0.4, 0.1, -0.1, 0.0]), "greater"))  # 7 of 64
    sign test, exact, one-sided (greater): p = 0.1094
    """
    signs = np.sign(defined_differences(differences))
    if len(signs) == 0:
        return TestResult(NAN, "sign test, exact", alternative)
    above, below = (int(np.count_nonzero(signs == side)) for side in (1, -1))
    return _binomial_test(above, below, "sign test, exact", alternative)


def _binomial_test(
    n_first: int, n_second: int, name: str, alternative: str, *, mid_p: bool = False
) -> TestResult:
    """Compute the exact binomial test that a coin is fair."""
    from scipy.special import bdtrc

    side, n = _side(alternative), n_first + n_second
    if n == 0:
        return TestResult(1.0, name, alternative, 0.0)
    observed = {0: max(n_first, n_second), 1: n_first, -1: n_second}[side]
    # bdtrc(k, n, ½) is P(X > k).
    beyond, inclusive_tail = (
        float(bdtrc(observed, n, 0.5)),
        float(bdtrc(observed - 1, n, 0.5) if observed else 1.0),
    )
    if side == 0 and n_first == n_second:
        # Both tails begin at the middle, which is in them once.
        return TestResult(
            1 - (inclusive_tail - beyond) / 2 if mid_p else 1.0, name, alternative, n_first
        )
    p = ((beyond + inclusive_tail) / 2 if mid_p else inclusive_tail) * (1 if side else 2)
    return TestResult(min(1.0, p), name, alternative, n_first)


# ------------------------------------------------------------------------------------------- ranks


def defined_differences(differences: FloatArray) -> FloatArray:
    """Return the defined differences, set to 0 where they are at most rounding error."""
    defined = differences[~np.isnan(differences)]
    return np.where(np.abs(defined) <= _rounding_tolerance(defined), 0.0, defined)


def _rounding_tolerance(values: FloatArray) -> float:
    """Return the tolerance within which values are equal up to rounding error."""
    size = np.abs(values)
    return ROUNDING_TOLERANCE * float(size.max(initial=0.0, where=np.isfinite(size)))


def signed_ranks(differences: FloatArray) -> FloatArray:
    """Return the mean ranks of absolute differences with their signs, without NaN and zeros."""
    values = defined_differences(differences)
    values = values[values != 0]
    size = np.abs(values)
    order = np.argsort(size, kind="stable")
    # Sizes that differ by rounding alone are tied.
    with np.errstate(invalid="ignore"):  # infinite ones are tied
        fresh = np.diff(size[order], prepend=-1.0) > _rounding_tolerance(size)
    tied = np.cumsum(fresh) - 1
    offsets = np.append(np.flatnonzero(fresh), len(size))
    ranks = np.empty(len(size))
    ranks[order] = ((offsets[1:] + offsets[:-1] + 1) / 2)[tied]
    return np.asarray(ranks * np.sign(values))


def wilcoxon(differences: FloatArray, alternative: str = "two-sided") -> TestResult:
    """Compute Wilcoxon's signed-rank test that differences are symmetric about 0.

    Parameters
    ----------
    differences : ndarray of shape (n,)
        Differences; NaN are excluded.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.

    Returns
    -------
    TestResult
        The result, whose name says whether it is exact. It is undefined without a value, and p is 1
        if all differences are 0.

    Notes
    -----
    The statistic is W⁺, the sum of the (mean) ranks of the absolute values of positive differences.
    Zeros are excluded before ranking, as by Wilcoxon. With up to 100 units p is exact, with or
    without ties: P(W⁺ ≥ w) over all 2ⁿ signs of the observed ranks. With more units W⁺ is normal
    with mean Σr/2 and variance Σr²/4, which accounts for ties, after a continuity correction of ½.
    The two-sided p-value is twice the smaller tail.

    References
    ----------
    Wilcoxon 1945.

    Examples
    --------
    >>> darwin = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])
    >>> print(wilcoxon(darwin))
    Wilcoxon signed rank, exact, two-sided: p = 0.04126
    >>> wilcoxon(darwin).statistic
    96.0
    """
    side = _side(alternative)
    ranks = signed_ranks(differences)
    exact = len(ranks) <= MAX_EXACT_RANKS
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
        deviation = upper - total / 2 - 0.5
        z = (max(deviation, 0.0) if side == 0 else deviation) / math.sqrt(float(ranks @ ranks) / 4)
        tail = math.erfc(z / math.sqrt(2)) / 2
    return TestResult(min(1.0, tail * (1 if side else 2)), name, alternative, positive)


def _signed_rank_tail(ranks: FloatArray, statistic: float) -> float:
    """Return P(W⁺ ≥ ``statistic``) if each rank is included with probability ½."""
    return float(signed_rank_tails(ranks)[round(2 * statistic)])


def signed_rank_tails(ranks: FloatArray) -> FloatArray:
    """Return P(2W⁺ ≥ 0, 1, 2, …) if each rank is included with probability ½.

    It is computed by dynamic programming over the sums of doubled ranks, which are integers even
    with ties.
    """
    doubled = np.rint(2 * np.sort(ranks)).astype(np.int64)
    probabilities = np.zeros(int(doubled.sum()) + 1)
    probabilities[0] = 1.0
    reached = 0
    for rank in doubled:
        reached += int(rank)
        previous = probabilities[: reached + 1].copy()
        probabilities[rank : reached + 1] += previous[: reached + 1 - rank]
        probabilities[: reached + 1] /= 2
    return np.asarray(np.cumsum(probabilities[::-1])[::-1])


# ------------------------------------------------------------------------------ estimate and error


def _test_from_stats(
    value: float,
    se: float,
    name: str,
    alternative: str,
    survival_function: Callable[[float], float],
) -> TestResult:
    """Compute the test of value/se by a symmetric distribution.

    It is undefined if the standard error is 0 but the value is not, as for two AUCs when one system
    separates the classes and the other gives all rows the same score.
    """
    side = _side(alternative)
    if not math.isfinite(se):
        return TestResult(NAN, name, alternative)
    if se <= ROUNDING_TOLERANCE * abs(value):
        return TestResult(1.0 if value == 0 else NAN, name, alternative)
    ratio = value / se
    p = survival_function(ratio * side) if side else 2 * survival_function(abs(ratio))
    return TestResult(p, name, alternative, ratio)


def z_test_from_stats(
    value: float, se: float, name: str, alternative: str = "two-sided"
) -> TestResult:
    """Test that a normal estimate is 0, by z = value/se.

    The statistic is z. The result is undefined if the standard error is, or if it is 0 but the
    value is not.

    Examples
    --------
    >>> print(z_test_from_stats(0.0196, 0.01, "DeLong, paired"))
    DeLong, paired, two-sided: p = 0.05
    """
    # Through erfc, which keeps its digits far out.
    return _test_from_stats(value, se, name, alternative, lambda z: math.erfc(z / math.sqrt(2)) / 2)


def t_test_from_stats(
    value: float, se: float, n: float, name: str = "paired t", alternative: str = "two-sided"
) -> TestResult:
    """Compute the paired t test from the mean difference and its standard error.

    Parameters
    ----------
    value, se : float
        Mean difference and its standard error.
    n : float
        Number of (effective) units.
    name : str, default="paired t"
        Name of the test.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.

    Returns
    -------
    TestResult
        The result, with the statistic t = value/se on n − 1 degrees of freedom. It is undefined
        with fewer than two units, and if the standard error is undefined, or is 0 but the value is
        not.

    Examples
    --------
    >>> print(t_test_from_stats(2.6167, 1.2181, 15))  # Darwin's maize, as Fisher tested it
    paired t, two-sided: p = 0.04968
    """
    from scipy.special import stdtr

    if n < 2:
        return TestResult(NAN, name, alternative)
    return _test_from_stats(value, se, name, alternative, lambda t: float(stdtr(n - 1, -t)))


def paired_t(differences: FloatArray, alternative: str = "two-sided") -> TestResult:
    """Compute Student's paired t test of per-unit differences; NaN are excluded.

    Examples
    --------
    >>> print(paired_t(np.array([1.0, 2.0, 3.0])))  # t = 2√3 on 2 degrees of freedom
    paired t, two-sided: p = 0.07418
    """
    moments = Moments.from_rows(differences[~np.isnan(differences)])
    return t_test_from_stats(
        moments.mean, moments.standard_error, moments.rows, alternative=alternative
    )


def bootstrap_test(replicates: FloatArray, alternative: str = "two-sided") -> TestResult:
    """Compute a test from bootstrap replicates of a difference.

    Parameters
    ----------
    replicates : ndarray of shape (B,)
        Replicates; undefined ones are dropped.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis.

    Returns
    -------
    TestResult
        The result. If too many replicates are undefined, or all others are equal, there is no
        interval, and the test is undefined; but p is 1 if they all equal 0.

    Notes
    -----
    The p-value is the proportion of replicates at 0 or on its far side, (b + 1)/(B + 1); two-sided
    it is twice the smaller, at most 1.

    Examples
    --------
    >>> print(bootstrap_test(np.array([0.3, 0.1, 0.2, -0.1, 0.4, 0.2, 0.5, 0.1, 0.3]), "greater"))
    paired bootstrap, one-sided (greater): p = 0.2
    """
    name, side = "paired bootstrap", _side(alternative)
    defined = replicates[np.isfinite(replicates)]
    if len(defined) == 0:
        return TestResult(NAN, name, alternative)
    if isinstance(intervals.usable_replicates(replicates, name), Interval):
        return TestResult(NAN if defined.any() else 1.0, name, alternative)
    tolerance = ROUNDING_TOLERANCE * np.abs(defined).max()  # values within it count as 0
    below = (np.count_nonzero(defined <= tolerance) + 1) / (len(defined) + 1)
    above = (np.count_nonzero(defined >= -tolerance) + 1) / (len(defined) + 1)
    p = {0: min(1.0, 2 * min(below, above)), 1: below, -1: above}[side]
    return TestResult(float(p), name, alternative)


# ------------------------------------------------------------------------------------ effect sizes


def hedges_g(differences: FloatArray) -> float:
    """Return Hedges' g for paired data.

    It is the mean difference divided by its standard deviation, with the small-sample correction 1
    − 3/(4(n − 1) − 1). It is undefined with fewer than 3 units, if the standard deviation is 0, and
    if a difference is not finite.

    Examples
    --------
    >>> round(hedges_g(np.array([1.0, 2.0, 4.0, 5.0, 3.0])), 4)  # 3/√2.5 · 0.8
    1.5179
    """
    n = len(differences)
    if n < 3 or not np.isfinite(differences).all():
        return NAN
    return hedges_g_from_stats(float(differences.mean()), float(differences.std(ddof=1)), n)


def hedges_g_from_stats(mean: float, sd: float, n: int) -> float:
    """Return Hedges' g from the mean of n differences and their standard deviation."""
    if n < 3 or not math.isfinite(sd) or sd <= ROUNDING_TOLERANCE * abs(mean):
        return NAN
    return mean / sd * (1 - 3 / (4 * (n - 1) - 1))
