"""Several systems on the same units at once: does any differ, and which from which?

Tables have a row a unit and a column a system. Units on which a system has no value (NaN) are left
out of all of it. A table's tests know no weights: every unit counts once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calipers.inference import max_statistic
from calipers.inference.intervals import ROUNDING
from calipers.statistics import FloatArray

NAN = float("nan")


@dataclass(frozen=True, eq=False)
class PairwiseTests:
    """Every pair of k systems tested: ``p`` has shape (k, k) and holds for all pairs together; its
    diagonal is 1. Differences above ``critical`` are told apart at the level."""

    name: str
    p: FloatArray
    critical: float = NAN


@dataclass(frozen=True, eq=False)
class FriedmanTest:
    """Friedman's test: ``chi_square`` on k − 1 degrees of freedom with its ``p``, and Iman and
    Davenport's ``f`` on (k − 1, (k − 1)(n − 1)) with its ``p_f``, the better of the two.

    ``mean_ranks`` has the mean rank of each system over the units, 1 the best.
    """

    mean_ranks: FloatArray
    chi_square: float
    p: float
    f: float
    p_f: float


@dataclass(frozen=True, eq=False)
class AnovaTable:
    """Analysis of variance of values by unit and system, without interaction.

    ``f`` and ``p`` are those of the systems. ω² = (SS − df·MS_residual)/(SS_total + MS_residual) is
    their effect size and may be below 0.
    """

    f: float
    p: float
    omega_squared: float


def _complete_units(values: FloatArray) -> FloatArray:
    """The units on which all systems have a value."""
    if values.ndim != 2:
        raise ValueError(f"values have shape {values.shape}, expected (units, systems)")
    if values.shape[1] < 2:
        raise ValueError("there is one system, expected at least 2")
    return values[~np.isnan(values).any(axis=1)]


# ------------------------------------------------------------------------------------------- ranks


def ranks(values: FloatArray, *, higher_is_better: bool = True) -> FloatArray:
    """The rank of each system on each unit, 1 the best; equal values share the mean of their ranks.
    Values that differ by rounding alone, relative to the largest, are equal.

    >>> ranks(np.array([[0.5, 0.7, 0.5]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    size = np.abs(values)
    hair = size.max(axis=1, initial=0.0, where=np.isfinite(size), keepdims=True) * ROUNDING
    falling = np.sort(-values if higher_is_better else values, axis=1)
    order = np.argsort(-values if higher_is_better else values, axis=1, kind="stable")
    n, k = values.shape
    fresh = np.ones((n, k), bool)
    with np.errstate(invalid="ignore"):  # infinite values are tied
        fresh[:, 1:] = np.diff(falling, axis=1) > hair
    place = np.arange(1, k + 1, dtype=np.float64)
    first = np.maximum.accumulate(np.where(fresh, place, 0), axis=1)
    ends = np.ones((n, k), bool)
    ends[:, :-1] = fresh[:, 1:]
    last = np.minimum.accumulate(np.where(ends, place, k)[:, ::-1], axis=1)[:, ::-1]
    out = np.empty((n, k))
    np.put_along_axis(out, order, (first + last) / 2, axis=1)
    return out


def friedman(values: FloatArray, *, higher_is_better: bool = True) -> FriedmanTest:
    """Friedman's test that k systems rank alike on n units, with ties.

    The spread of the mean ranks R̄ⱼ against that of all ranks, which takes ties in: χ² = n²(k − 1)
    Σ(R̄ⱼ − (k + 1)/2)² / Σᵢⱼ(rᵢⱼ − (k + 1)/2)². Iman and Davenport: F = (n − 1)χ²/(n(k − 1) − χ²),
    undefined for one unit. Undefined without a unit, or if all are tied on every
    unit. F is infinite (p 0) where all units rank the systems alike.

    Sources: Friedman 1937; Iman and Davenport 1980; Demšar 2006.

    >>> found = friedman(np.array([[1.0, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]))
    >>> found.mean_ranks.tolist(), round(found.chi_square, 4), round(found.f, 4)
    ([2.75, 2.0, 1.25], 4.5, 3.8571)
    """
    from scipy.special import chdtrc, fdtrc

    table = _complete_units(values)
    n, k = table.shape
    if n == 0:
        return FriedmanTest(np.full(k, NAN), NAN, NAN, NAN, NAN)
    ranked = ranks(table, higher_is_better=higher_is_better)
    means, middle = ranked.mean(axis=0), (k + 1) / 2
    spread = float(np.square(ranked - middle).sum())
    if spread == 0:
        return FriedmanTest(means, NAN, NAN, NAN, NAN)
    chi_square = n**2 * (k - 1) * float(np.square(means - middle).sum()) / spread
    # Rounding alone must not leave a hair of what units disagree about.
    rest = n * (k - 1) - chi_square
    rest = rest if rest > ROUNDING * chi_square else 0.0
    f = (n - 1) * chi_square / rest if rest > 0 else math.inf
    if n < 2:
        f = p_f = NAN
    else:
        p_f = float(fdtrc(k - 1, (k - 1) * (n - 1), f)) if rest > 0 else 0.0
    return FriedmanTest(means, chi_square, float(chdtrc(k - 1, chi_square)), f, p_f)


def critical_difference(systems: int, units: int, level: float = 0.95) -> float:
    """The critical difference of Nemenyi's test alone.

    >>> round(critical_difference(5, 30), 3)
    1.114
    """
    unit = math.sqrt(systems * (systems + 1) / (12 * units))
    return _range_quantile(level, systems) * unit


def homogeneous_groups(
    positions: Sequence[float] | FloatArray, critical: float
) -> list[tuple[int, ...]]:
    """Which systems cannot be told apart: the largest groups of at least 2 in which no two are
    ``critical`` or more apart, as indices by ascending position. The bars of a critical-difference
    diagram, whose positions are mean ranks.

    >>> homogeneous_groups([3.143, 2.0, 2.893, 1.964], 1.25)
    [(3, 1, 2, 0)]
    >>> homogeneous_groups([1.0, 1.8, 2.5, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    at = np.asarray(positions, np.float64)
    order = np.argsort(at, kind="stable")
    found: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = int(np.searchsorted(at[order] - at[order[start]], critical))
        if end > reached and end - start > 1:
            found.append(tuple(int(system) for system in order[start:end]))
        reached = max(reached, end)
    return found


# ------------------------------------------------------------------------------------------- means


def anova(values: FloatArray) -> AnovaTable:
    """Two-way analysis of variance, units × systems, one value each: F = MS_systems/MS_residual on
    (k − 1, (n − 1)(k − 1)) degrees of freedom.

    Of two systems it is the paired t test, F = t². Undefined below 2 units, and where a value is
    infinite; F is infinite where nothing is left over.

    Sources: Carterette 2012 for its use on topics; Hays 1963 for ω².

    >>> table = [[0.3, 0.5, 0.4], [0.1, 0.2, 0.3], [0.6, 0.6, 0.8], [0.4, 0.5, 0.5]]
    >>> round(anova(np.array(table)).f, 3)
    5.25
    """
    from scipy.special import fdtrc

    table = _complete_units(values)
    n, k = table.shape
    if n < 2 or np.isinf(table).any():
        return AnovaTable(NAN, NAN, NAN)
    means, centre = table.mean(axis=0), table.mean()
    # What rounding leaves of effects that are none is nothing.
    hair = ROUNDING * float(np.abs(table).max())
    by_system, by_unit, rest = (
        np.where(np.abs(effect) <= hair, 0.0, effect)
        for effect in (
            means - centre,
            table.mean(axis=1) - centre,
            table - means - table.mean(axis=1, keepdims=True) + centre,
        )
    )
    sums = (
        n * float(by_system @ by_system),
        k * float(by_unit @ by_unit),
        float(np.square(rest).sum()),
    )
    between, within = k - 1, (n - 1) * (k - 1)
    residual, total = sums[2] / within, sum(sums)
    if total == 0:
        return AnovaTable(NAN, NAN, NAN)
    omega_squared = (sums[0] - between * residual) / (total + residual)
    if not residual > 0:
        return AnovaTable(math.inf, 0.0, omega_squared)
    f = sums[0] / between / residual
    return AnovaTable(f, float(fdtrc(between, within, f)), omega_squared)


def _range_quantile(level: float, k: int) -> float:
    """The quantile of the range of k independent standard normals, whose distribution is
    P(q) = k·∫φ(z)(Φ(z + q) − Φ(z))^(k−1) dz over the smallest of them. Sums of equal steps are
    as good as exact of what is so smooth and dies out at both ends.

    SciPy has it too, but importing ``scipy.stats`` takes longer than comparing thirty systems.

    >>> round(_range_quantile(0.95, 3), 6)
    3.314493
    """
    from scipy.special import ndtr

    z, step = np.linspace(-10, 10, 501, retstep=True)
    weight, below = step * k * np.exp(-z * z / 2) / math.sqrt(2 * math.pi), ndtr(z)
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        enough = float((weight * (ndtr(z + middle) - below) ** (k - 1)).sum()) >= level
        low, high = (low, middle) if enough else (middle, high)
    return high


def randomised_tukey(
    values: FloatArray, n_resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> list[PairwiseTests]:
    """Randomised Tukey HSD: every pair of k systems, for each of m measures, shape (n, k, m) or
    (n, k); one result a measure.

    Were the systems the same, their values on a unit could be dealt out to them in any way. p of a
    pair is (b + 1)/(B + 1), b the number of B deals in which the largest mean less the smallest is
    at least as large as the pair's difference: a maximum over pairs, so that the chance of any
    false finding stays below the level. All (k!)ⁿ deals are tried, and p is b over their number,
    where they are no more than ``n_resamples``. Measures see the same deals, and each is a family
    of its own. Of two systems it is the paired randomisation test. Undefined without a unit, and
    where a value is infinite.

    Sources: Carterette 2012, ACM TOIS 30; Sakai 2018.

    >>> table = np.random.default_rng(0).normal(size=(50, 3)) + [0.0, 0.0, 1.0]
    >>> [found] = randomised_tukey(table, 999)
    >>> float(found.p[0, 2]), bool(found.p[0, 1] > 0.05)
    (0.001, True)
    """
    from calipers import _core

    cube = values[:, :, None] if values.ndim == 2 else values
    if cube.ndim != 3 or cube.shape[1] < 2:
        raise ValueError(
            f"values have shape {values.shape}, expected (units, at least 2 systems, measures)"
        )
    units, k, m = cube.shape
    complete = np.asarray(~np.isnan(cube).any(axis=1))
    infinite = np.asarray(np.isinf(cube).any(axis=(0, 1)))
    # Less the mean of the unit, which no deal changes; a unit left out adds nothing.
    with np.errstate(invalid="ignore"):
        centred = np.where(complete[:, None, :], cube - cube.mean(axis=1, keepdims=True), 0.0)
    tried, exact = max_statistic.permutation_count(units, k, n_resamples)
    drawn = _core.randomised_ranges(
        centred.reshape(units, k * m), k, None if exact else seed, tried
    )
    name = f"randomised Tukey HSD{', exact' * exact}"
    out = []
    for measure in range(m):
        n, ranges = int(complete[:, measure].sum()), np.sort(drawn[:, measure])
        sums = centred[:, :, measure].sum(axis=0)
        slack = ROUNDING * float(np.abs(centred[:, :, measure]).sum())
        if n == 0 or infinite[measure]:
            out.append(PairwiseTests(name, np.full((k, k), NAN)))
            continue
        extreme = tried - np.searchsorted(ranges, np.abs(sums[:, None] - sums) - slack)
        p = max_statistic.permutation_p_values(extreme, tried, exact=exact)
        np.fill_diagonal(p, 1.0)
        rank = max_statistic.permutation_rank(1 - level, tried, exact=exact)
        critical = (float(ranges[tried - rank - 1]) + slack) / n if rank >= 0 else math.inf
        out.append(PairwiseTests(name, p, critical))
    return out
