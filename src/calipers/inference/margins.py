"""Is a system no worse than another by more than a margin, or as good within it?

The margin is the largest difference that would not matter, stated before the data are looked at.
Both questions are one-sided tests against a shifted difference, so any test that can be shifted
serves: :func:`by_error`, :func:`by_replicates`, :func:`by_units` and :func:`by_discordant` make
one, :func:`non_inferiority` and :func:`equivalence` ask it.

A difference that is not significant does not show equivalence; these tests do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from calipers.inference import paired, unpaired
from calipers.inference.intervals import Interval
from calipers.inference.paired import Test
from calipers.statistics import FloatArray

#: The test of a difference against ``at`` instead of 0, for an alternative.
Shifted = Callable[[float, str], Test]


def non_inferiority(test: Shifted, margin: float, *, higher_is_better: bool = True) -> Test:
    """Test that the first system is not worse than the second by ``margin`` or more.

    Where higher is better H₀ is difference ≤ −margin, against ``greater``; where lower is better
    difference ≥ margin, against ``less``. Undefined where the test is. Raises ValueError where the
    margin is not above 0.

    >>> print(non_inferiority(by_error(-0.01, 0.02, "DeLong, paired"), 0.05))  # z = 2
    DeLong, paired, one-sided (greater): p = 0.02275
    """
    _check(margin)
    return test(-margin, "greater") if higher_is_better else test(margin, "less")


def equivalence(test: Shifted, margin: float) -> Test:
    """Two one-sided tests that the systems differ by less than ``margin`` either way: the less
    convincing of those against difference ≤ −margin and difference ≥ margin, and the undefined one
    if either is (Schuirmann 1987). Raises ValueError where the margin is not above 0.

    >>> print(equivalence(by_error(-0.01, 0.02, "paired t", degrees=24), 0.05))  # t = 2 and -3
    paired t, one-sided (greater): p = 0.02847
    """
    _check(margin)
    parts = (test(-margin, "greater"), test(margin, "less"))
    undefined = [part for part in parts if math.isnan(part.p)]
    return undefined[0] if undefined else max(parts, key=lambda part: part.p)


def _check(margin: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"the margin is {margin}, expected a number above 0")


def by_error(value: float, se: float, name: str, degrees: float | None = None) -> Shifted:
    """By an estimate and its standard error: normal, or Student's t where there are ``degrees`` of
    freedom. Undefined where there is no standard error above 0.

    >>> print(by_error(0.03, 0.01, "DeLong, paired")(0.01, "greater"))
    DeLong, paired, one-sided (greater): p = 0.02275
    """

    def test(at: float, alternative: str) -> Test:
        if degrees is None:
            return paired.normal(value - at, se, name, alternative)
        return paired.student(value - at, se, degrees + 1, name, alternative)

    return test


def by_replicates(replicates: FloatArray) -> Shifted:
    """By bootstrap replicates of the difference: the share beyond ``at``, (b + 1)/(B + 1).

    >>> import numpy as np
    >>> print(by_replicates(np.linspace(-0.1, 0.3, 99))(-0.05, "greater"))
    paired bootstrap, one-sided (greater): p = 0.14
    """
    return lambda at, alternative: paired.bootstrap(replicates - at, alternative)


def by_limits(interval: Callable[[float], Interval], value: float) -> Shifted:
    """By the level of the interval that just reaches ``at``; of one side half of that."""

    def test(at: float, alternative: str) -> Test:
        known = interval(0.95)
        if known.reason:
            return Test(math.nan, "none", alternative)
        made = unpaired.inverted(interval, known.method, at)
        if alternative == "two-sided":
            return replace(made, alternative=alternative)
        for_it = value > at if alternative == "greater" else value < at
        return replace(made, p=made.p / 2 if for_it else 1 - made.p / 2, alternative=alternative)

    return test


def by_units(
    differences: FloatArray,
    test: str = "t",
    resamples: int = 10_000,
    seed: int = 0,
    weight: FloatArray | None = None,
) -> Shifted:
    """By per-unit differences less ``at``: ``"t"``, ``"wilcoxon"`` or ``"randomisation"``. The last
    two take the differences to be spread evenly about their centre. NaN do not count. ``weight``,
    which the randomisation knows, is what units count for.

    >>> import numpy as np
    >>> differences = np.array([0.2, 0.1, 0.4, 0.3, -0.1])
    >>> print(by_units(differences, "randomisation")(-0.15, "greater"))  # all positive but for once
    paired randomisation, exact, one-sided (greater): p = 0.03125
    """
    shifted: dict[str, Shifted] = {
        "t": lambda at, alternative: paired.paired_t(differences - at, alternative),
        "wilcoxon": lambda at, alternative: paired.wilcoxon(differences - at, alternative),
        "randomisation": lambda at, alternative: paired.randomisation(
            ((differences - at) * (1.0 if weight is None else weight))[:, None],
            *(resamples, seed, alternative),
        )[0],
    }
    if test not in shifted:
        raise ValueError(f"test is {test!r}, expected one of {tuple(shifted)}")
    return shifted[test]


def by_discordant(first_only: float, second_only: float, n: float) -> Shifted:
    """By Tango's score test of two shares on the same ``n`` rows, of which ``first_only`` count for
    the first system alone and ``second_only`` for the second.

    z = (b − c − nδ)/√(n(2p̃ + δ(1 − δ))), where p̃ is the likeliest share of rows that are the
    second's alone, were the difference δ. At δ = 0 this is McNemar's test without correction.
    Undefined where there are no rows, or the variance is 0 beside a difference.

    Source: Tango 1998, Statistics in Medicine 17.

    >>> print(by_discordant(9, 3, 100)(0.0, "two-sided"))  # z = 6/√12
    Tango, score, two-sided: p = 0.08326
    """

    def test(at: float, alternative: str) -> Test:
        name = "Tango, score"
        if not (n > 0 and -1 < at < 1):
            return Test(math.nan, name, alternative)
        b = -first_only - second_only + (2 * n - first_only + second_only) * at
        c = -second_only * at * (1 - at)
        second = (math.sqrt(max(b**2 - 8 * n * c, 0.0)) - b) / (4 * n)
        variance = max((2 * second + at * (1 - at)) / n, 0.0)
        value = (first_only - second_only) / n - at
        return paired.normal(value, math.sqrt(variance), name, alternative)

    return test
