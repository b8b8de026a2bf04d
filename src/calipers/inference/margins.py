"""Is a system no worse than another by more than a margin, or as good within it?

The margin is the largest difference that would not matter, stated before the data are looked at.
Both questions are one-sided tests of the margin, asked of the procedure that the interval of the
difference comes from as well (:mod:`calipers.inference.procedures`).

A difference that is not significant does not show equivalence; these tests do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from calipers.inference.paired import Test

#: The test of a difference against a value, for an alternative.
Tests = Callable[[float, str], Test]


def non_inferiority(test: Tests, margin: float, *, higher_is_better: bool = True) -> Test:
    """Test that the first system is not worse than the second by ``margin`` or more.

    Where higher is better H₀ is difference ≤ −margin, against ``greater``; where lower is better
    difference ≥ margin, against ``less``. Undefined where the test is. Raises ValueError where the
    margin is not above 0.

    >>> from calipers.inference.procedures import Wald
    >>> from calipers.inference.spaces import Error
    >>> made = Wald(value=-0.01, t=Error(0.02, "delta"), method="delta", name="delta, paired")
    >>> print(non_inferiority(made.test, 0.05))  # z = 2
    delta, paired, one-sided (greater): p = 0.02275
    """
    _check(margin)
    return test(-margin, "greater") if higher_is_better else test(margin, "less")


def equivalence(test: Tests, margin: float) -> Test:
    """Two one-sided tests that the systems differ by less than ``margin`` either way: the less
    convincing of those against difference ≤ −margin and difference ≥ margin, and the undefined one
    if either is (Schuirmann 1987). Raises ValueError where the margin is not above 0.

    >>> from calipers.inference.procedures import Wald
    >>> from calipers.inference.spaces import Error
    >>> t = Error(0.02, "paired t", 24)
    >>> made = Wald(value=-0.01, t=t, method="Student t", name="paired t")
    >>> print(equivalence(made.test, 0.05))  # t = 2 and -3
    paired t, one-sided (greater): p = 0.02847
    """
    _check(margin)
    parts = (test(-margin, "greater"), test(margin, "less"))
    undefined = [part for part in parts if math.isnan(part.p)]
    return undefined[0] if undefined else max(parts, key=lambda part: part.p)


def _check(margin: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"the margin is {margin}, expected a number above 0")
