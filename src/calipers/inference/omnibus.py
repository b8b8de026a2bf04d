"""Omnibus tests and all-pairs comparisons of several systems on the same units.

Tables have a row for each unit and a column for each system. Units on which a system has no value
(NaN) are excluded. The tests of a table are unweighted: every unit counts once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from calipers.inference import max_statistic
from calipers.inference.intervals import ROUNDING_TOLERANCE
from calipers.inference.sample_size import studentized_range_quantile
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, UnitSums

NAN = float("nan")


#: Name of the parametric test.
TUKEY_HSD = "two-way Tukey HSD"


@dataclass(frozen=True, eq=False)
class PairwiseTests:
    """Tests of every pair of k systems.

    Attributes
    ----------
    name : str
        Name of the method.
    p : ndarray of shape (k, k)
        p-values, adjusted for all pairs together; the diagonal is 1.
    critical_difference : float
        Critical difference: larger differences are significant at the level.
    """

    name: str
    p: FloatArray
    critical_difference: float = NAN


@dataclass(frozen=True, eq=False)
class FriedmanTest:
    """Result of Friedman's test.

    Attributes
    ----------
    mean_ranks : ndarray of shape (k,)
        Mean rank of each system over the units; 1 is the best.
    chi_square, p : float
        Friedman's statistic on k − 1 degrees of freedom, and its p-value.
    f, p_f : float
        Iman and Davenport's statistic on (k − 1, (k − 1)(n − 1)) degrees of freedom, and its
        p-value; this is the more accurate of the two.
    """

    mean_ranks: FloatArray
    chi_square: float
    p: float
    f: float
    p_f: float


@dataclass(frozen=True, eq=False)
class AnovaTable:
    """Analysis of variance of values by unit and system, without interaction.

    Attributes
    ----------
    f, p : float
        F statistic of the systems and its p-value.
    omega_squared : float
        Effect size of the systems, ω² = (SS − df·MS_residual)/(SS_total + MS_residual), which may
        be below 0.
    """

    f: float
    p: float
    omega_squared: float


def _drop_incomplete_units(values: FloatArray) -> FloatArray:
    """Return the units on which all systems have a value."""
    if values.ndim != 2:
        raise ValueError(f"values have shape {values.shape}, expected (units, systems)")
    if values.shape[1] < 2:
        raise ValueError("there is one system, expected at least 2")
    return values[~np.isnan(values).any(axis=1)]


# ------------------------------------------------------------------------------------------- ranks


def ranks(values: FloatArray, *, higher_is_better: bool = True) -> FloatArray:
    """Return the rank of each system on each unit.

    1 is the best; tied values have the mean of their ranks. Values that differ only by rounding
    error, relative to the largest, are tied.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Values of k systems on n units.
    higher_is_better : bool, default=True
        Direction of the measure.

    Returns
    -------
    ndarray of shape (n, k)
        The ranks.

    Examples
    --------
    >>> ranks(np.array([[0.5, 0.7, 0.5]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    size = np.abs(values)
    tolerance = (
        size.max(axis=1, initial=0.0, where=np.isfinite(size), keepdims=True) * ROUNDING_TOLERANCE
    )
    sorted_values = np.sort(-values if higher_is_better else values, axis=1)
    order = np.argsort(-values if higher_is_better else values, axis=1, kind="stable")
    n, k = values.shape
    starts_mask = np.ones((n, k), bool)
    with np.errstate(invalid="ignore"):  # infinite values are tied
        starts_mask[:, 1:] = np.diff(sorted_values, axis=1) > tolerance
    rank = np.arange(1, k + 1, dtype=np.float64)
    first = np.maximum.accumulate(np.where(starts_mask, rank, 0), axis=1)
    last_mask = np.ones((n, k), bool)
    last_mask[:, :-1] = starts_mask[:, 1:]
    last = np.minimum.accumulate(np.where(last_mask, rank, k)[:, ::-1], axis=1)[:, ::-1]
    out = np.empty((n, k))
    np.put_along_axis(out, order, (first + last) / 2, axis=1)
    return out


def friedman(values: FloatArray, *, higher_is_better: bool = True) -> FriedmanTest:
    """Test by Friedman's test that k systems have equal mean ranks on n units, with ties.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Values of k systems on n units.
    higher_is_better : bool, default=True
        Direction of the measure.

    Returns
    -------
    FriedmanTest
        The result. It is undefined if there is no unit, or if all systems are tied on every unit. F
        is infinite if all units rank the systems alike; p is then that of the permutations.

    Notes
    -----
    The variance of the mean ranks R̄ⱼ is compared with that of all ranks, which accounts for ties:
    χ² = n²(k − 1) Σ(R̄ⱼ − (k + 1)/2)² / Σᵢⱼ(rᵢⱼ − (k + 1)/2)². Iman and Davenport: F = (n −
    1)χ²/(n(k − 1) − χ²), undefined for one unit.

    References
    ----------
    Friedman 1937; Iman and Davenport 1980; Demšar 2006.

    Examples
    --------
    >>> result = friedman(np.array([[1.0, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]))
    >>> result.mean_ranks.tolist(), round(result.chi_square, 4), round(result.f, 4)
    ([2.75, 2.0, 1.25], 4.5, 3.8571)
    """
    return friedman_of_sums(unit_sums(values, higher_is_better=higher_is_better))


def unit_sums(values: FloatArray, *, higher_is_better: bool = True) -> UnitSums:
    """Return the sums that both tests need, over the units on which all systems have a value."""
    table = _drop_incomplete_units(values)
    return UnitSums.from_values(table, ranks(table, higher_is_better=higher_is_better))


def measure_sums(measure: Any, values: FloatArray) -> UnitSums:
    """Return the sums of the values of a measure, of which the better ones have the lower ranks."""
    return unit_sums(values, higher_is_better=measure.definition.higher_is_better is not False)


def friedman_of_sums(sums: UnitSums) -> FriedmanTest:
    """Test by Friedman's test as :func:`friedman`, from sums over the units."""
    from scipy.special import chdtrc, fdtrc

    n, k = sums.n_units, sums.n_systems
    if n == 0:
        return FriedmanTest(np.full(k, NAN), NAN, NAN, NAN, NAN)
    means, middle, spread = sums.rank_sums / n, (k + 1) / 2, sums.rank_squares
    if spread == 0:
        return FriedmanTest(means, NAN, NAN, NAN, NAN)
    chi_square = n**2 * (k - 1) * float(np.square(means - middle).sum()) / spread
    # A residual within rounding error is 0.
    residual = n * (k - 1) - chi_square
    residual = residual if residual > ROUNDING_TOLERANCE * chi_square else 0.0
    f = (n - 1) * chi_square / residual if residual > 0 else math.inf
    if n < 2:
        f = p_f = NAN
    elif residual > 0:
        p_f = float(fdtrc(k - 1, (k - 1) * (n - 1), f))
    else:
        p_f = _agreement_probability(means, n)
    return FriedmanTest(means, chi_square, float(chdtrc(k - 1, chi_square)), f, p_f)


def _agreement_probability(effects: FloatArray, n_units: int) -> float:
    """Return the probability that all units have the same order of the systems by chance.

    Of m orders of these effects, each equally likely on each unit, it is m^(1 − n). The F
    distribution would give 0, however few units there are.
    """
    tolerance = ROUNDING_TOLERANCE * float(np.abs(effects).max())
    tie_starts = np.flatnonzero(np.diff(np.sort(effects), prepend=-math.inf) > tolerance)
    tie_sizes = np.diff(np.append(tie_starts, len(effects)))
    log_orders = math.lgamma(len(effects) + 1) - sum(math.lgamma(t + 1) for t in tie_sizes)
    return max(math.exp((1 - n_units) * log_orders), sys.float_info.min)


def critical_difference(n_systems: int, n_units: int, level: float = 0.95) -> float:
    """Return the critical difference of Nemenyi's test.

    Parameters
    ----------
    n_systems, n_units : int
        Numbers of systems and of units.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    float
        The critical difference between mean ranks.

    Examples
    --------
    >>> round(critical_difference(5, 30), 3)
    1.114
    """
    rank_se = math.sqrt(n_systems * (n_systems + 1) / (12 * n_units))
    return _range_quantile(level, n_systems) * rank_se


def homogeneous_groups(
    positions: Sequence[float] | FloatArray, critical_distance: float
) -> list[tuple[int, ...]]:
    """Return the homogeneous groups: maximal sets of systems without a significant difference.

    These are the bars of a critical-difference diagram, in which positions are mean ranks.

    Parameters
    ----------
    positions : sequence of float
        Position of each system.
    critical_distance : float
        Critical difference; two systems with at least this distance differ significantly.

    Returns
    -------
    list of tuple of int
        Groups of at least 2 systems, as indices by ascending position.

    Examples
    --------
    >>> homogeneous_groups([3.143, 2.0, 2.893, 1.964], 1.25)
    [(3, 1, 2, 0)]
    >>> homogeneous_groups([1.0, 1.8, 2.5, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    values = np.asarray(positions, np.float64)
    order = np.argsort(values, kind="stable")
    groups: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = int(np.searchsorted(values[order] - values[order[start]], critical_distance))
        if end > reached and end - start > 1:
            groups.append(tuple(int(system) for system in order[start:end]))
        reached = max(reached, end)
    return groups


# ------------------------------------------------------------------------------------------- means


def anova(values: FloatArray) -> AnovaTable:
    """Compute a two-way analysis of variance, units × systems, with one value in each cell.

    F = MS_systems/MS_residual has (k − 1, (n − 1)(k − 1)) degrees of freedom. For two systems it is
    the paired t test, F = t².

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Values of k systems on n units.

    Returns
    -------
    AnovaTable
        The result. It is undefined with fewer than 2 units, if a value is infinite, and if each
        unit has the same value for all systems. F is infinite if the residuals alone are 0, and p
        is then that of the permutations.

    References
    ----------
    Carterette 2012 for its use on topics; Hays 1963 for ω².

    Examples
    --------
    >>> table = [[0.3, 0.5, 0.4], [0.1, 0.2, 0.3], [0.6, 0.6, 0.8], [0.4, 0.5, 0.5]]
    >>> round(anova(np.array(table)).f, 3)
    5.25
    """
    return anova_of_sums(unit_sums(values))


def anova_of_sums(sums_of_units: UnitSums) -> AnovaTable:
    """Compute a two-way analysis of variance as :func:`anova`, from sums over the units."""
    from scipy.special import fdtrc

    n, k = sums_of_units.n_units, sums_of_units.n_systems
    if n < 2 or not math.isfinite(sums_of_units.max_value):
        return AnovaTable(NAN, NAN, NAN)
    # Effects of the size of rounding error count as 0.
    tolerance = ROUNDING_TOLERANCE * sums_of_units.max_value
    system_effects = np.where(np.abs(sums_of_units.means) <= tolerance, 0.0, sums_of_units.means)
    squares = k * sums_of_units.unit_squares, float(sums_of_units.squares.sum())
    unit_squares, residual_squares = (x if x > n * k * tolerance**2 else 0.0 for x in squares)
    sums = n * float(system_effects @ system_effects), unit_squares, residual_squares
    df_systems, df_residual = k - 1, (n - 1) * (k - 1)
    residual, total = sums[2] / df_residual, sum(sums)
    if total == 0:
        return AnovaTable(NAN, NAN, NAN)
    omega_squared = (sums[0] - df_systems * residual) / (total + residual)
    if not residual > 0 and sums[0] == 0:  # all systems have the same values
        return AnovaTable(NAN, NAN, omega_squared)
    if not residual > 0:
        return AnovaTable(math.inf, _agreement_probability(system_effects, n), omega_squared)
    f = sums[0] / df_systems / residual
    return AnovaTable(f, float(fdtrc(df_systems, df_residual, f)), omega_squared)


def tukey_hsd(values: FloatArray, level: float = 0.95) -> PairwiseTests:
    """Compare every pair of k systems by Tukey's HSD test, with the units as blocks.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Values of k systems on n units. Units with a missing value are omitted.
    level : float, default=0.95
        Level of the critical difference.

    Returns
    -------
    PairwiseTests
        The result. It is undefined with fewer than 2 units, if a value is infinite, and if the
        residuals are 0.

    Notes
    -----
    s² is the residual mean square of the two-way analysis of variance without interaction. The
    p-value of a difference d is P(Q ≥ d·√n/s), where Q is the studentized range of k means with
    (n − 1)(k − 1) degrees of freedom. Residuals are assumed to be normal, of equal variance for all
    systems; :func:`randomized_tukey` assumes neither normality nor independence of the systems.

    References
    ----------
    Tukey 1953; Carterette 2012, ACM TOIS 30.

    Examples
    --------
    >>> table = np.random.default_rng(0).normal(size=(50, 3)) + [0.0, 0.0, 1.0]
    >>> tests = tukey_hsd(table)
    >>> bool(tests.p[0, 2] < 1e-4), bool(tests.p[0, 1] > 0.05)
    (True, True)
    """
    from scipy.stats import studentized_range

    table = values[~np.isnan(values).any(axis=1)]
    n, k = table.shape
    undefined = PairwiseTests(TUKEY_HSD, np.full((k, k), NAN))
    if n < 2 or not np.isfinite(table).all():
        return undefined
    means = table.mean(axis=0)
    residuals = table - table.mean(axis=1, keepdims=True) - means + table.mean()
    df = (n - 1) * (k - 1)
    tolerance = ROUNDING_TOLERANCE * float(np.abs(table).max())
    residual_sd = math.sqrt(float((residuals**2).sum()) / df)
    if not residual_sd > tolerance:
        return undefined
    standard_error = residual_sd / math.sqrt(n)
    p = np.ones((k, k))
    rows, columns = np.triu_indices(k, 1)
    ranges = np.abs(means[rows] - means[columns]) / standard_error
    p[rows, columns] = p[columns, rows] = np.clip(studentized_range.sf(ranges, k, df), 0.0, 1.0)
    critical = studentized_range_quantile(level, k, df) * standard_error
    return PairwiseTests(TUKEY_HSD, p, critical)


def _range_quantile(level: float, k: int) -> float:
    """Return the quantile of the range of k independent standard normals.

    The distribution function is P(q) = k·∫φ(z)(Φ(z + q) − Φ(z))^(k−1) dz over the smallest of them.
    Equidistant sums are practically exact for an integrand that is so smooth and vanishes at both
    ends.

    SciPy has this distribution as well, but importing ``scipy.stats`` takes longer than comparing
    thirty systems.

    Examples
    --------
    >>> round(_range_quantile(0.95, 3), 6)
    3.314493
    """
    from scipy.special import ndtr

    z, step = np.linspace(-10, 10, 501, retstep=True)
    weight, cdf = step * k * np.exp(-z * z / 2) / math.sqrt(2 * math.pi), ndtr(z)
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        is_enough = float((weight * (ndtr(z + middle) - cdf) ** (k - 1)).sum()) >= level
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def randomized_tukey(
    values: FloatArray, n_resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> list[PairwiseTests]:
    """Compare every pair of k systems by the randomized Tukey HSD test.

    Parameters
    ----------
    values : ndarray of shape (n, k) or (n, k, m)
        Values of k systems on n units, for each of m measures.
    n_resamples : int, default=10_000
        Number B of permutations; all (k!)ⁿ are used if they are not more.
    seed : int, default=0
        Seed of the random numbers.
    level : float, default=0.95
        Level of the critical difference.

    Returns
    -------
    list of PairwiseTests
        One result for each measure. It is undefined if there is no unit, and if a value is
        infinite.

    Raises
    ------
    ValueError
        If there are fewer than two systems, or ``values`` has another shape.

    Notes
    -----
    Under the null hypothesis, the values of the systems on a unit are exchangeable. The p-value of
    a pair is (b + 1)/(B + 1), where b is the number of permutations in which the largest minus the
    smallest mean is at least as large as the difference between the pair: a maximum over pairs, so
    that the familywise error rate is at most 1 − level. If all permutations are used, p is b
    divided by their number. All measures use the same permutations, and each is a family of its
    own. For two systems this is the paired randomization test.

    References
    ----------
    Carterette 2012, ACM TOIS 30; Sakai 2018.

    Examples
    --------
    >>> table = np.random.default_rng(0).normal(size=(50, 3)) + [0.0, 0.0, 1.0]
    >>> [tests] = randomized_tukey(table, 999)
    >>> float(tests.p[0, 2]), bool(tests.p[0, 1] > 0.05)
    (0.001, True)
    """
    from calipers import _core

    cube = values[:, :, None] if values.ndim == 2 else values
    if cube.ndim != 3 or cube.shape[1] < 2:
        raise ValueError(
            f"values have shape {values.shape}, expected (units, at least 2 systems, measures)"
        )
    units, k, m = cube.shape
    complete_mask = np.asarray(~np.isnan(cube).any(axis=1))
    infinite_mask = np.asarray(np.isinf(cube).any(axis=(0, 1)))
    # Center each unit, since permutation does not change its mean; incomplete units contribute 0.
    with np.errstate(invalid="ignore"):
        centered = np.where(complete_mask[:, None, :], cube - cube.mean(axis=1, keepdims=True), 0.0)
    n_permutations, exact = max_statistic.permutation_count(units, k, n_resamples)
    permuted_ranges = _core.randomized_ranges(
        centered.reshape(units, k * m), k, None if exact else seed, n_permutations
    )
    name = f"randomized Tukey HSD{', exact' * exact}"
    out = []
    for measure in range(m):
        n, ranges = int(complete_mask[:, measure].sum()), np.sort(permuted_ranges[:, measure])
        sums = centered[:, :, measure].sum(axis=0)
        tolerance = ROUNDING_TOLERANCE * float(np.abs(centered[:, :, measure]).sum())
        if n == 0 or infinite_mask[measure]:
            out.append(PairwiseTests(name, np.full((k, k), NAN)))
            continue
        extreme = n_permutations - np.searchsorted(ranges, np.abs(sums[:, None] - sums) - tolerance)
        p = max_statistic.permutation_p_values(extreme, n_permutations, exact=exact)
        np.fill_diagonal(p, 1.0)
        rank = max_statistic.permutation_rank(1 - level, n_permutations, exact=exact)
        critical = (
            (float(ranges[n_permutations - rank - 1]) + tolerance) / n if rank >= 0 else math.inf
        )
        out.append(PairwiseTests(name, p, critical))
    return out
