"""Roots between two points, against SciPy's."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from calipers.inference.roots import MIN_RELATIVE_TOLERANCE, bracketed_root


@pytest.mark.parametrize("seed", range(200))
def test_steps_are_those_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.uniform(-3, 3, 2).tolist()
    functions = (
        lambda x: math.exp(a * x) - abs(b) - 0.1,
        lambda x: (x - b) ** 3 + abs(a) * (x - b),
        lambda x: math.tanh(5 * (x - a)) + 0.1 * b,
        lambda x: 1.0 if x > a else -1.0,
        lambda x: 10**b * math.atan(x - b),
        lambda x: math.copysign(math.floor(abs(x - a) * 3), x - a) + 0.5,
        lambda x: math.inf if x > a + 1 else x - a,
    )
    low, high = -5.0, float(random.uniform(4, 9))
    for f in functions:
        if f(low) * f(high) > 0:
            continue
        for xtol, rtol in ((1e-12, MIN_RELATIVE_TOLERANCE), (1e-8, 1e-9)):
            expected = brentq(f, low, high, xtol=xtol, rtol=rtol)
            assert bracketed_root(f, low, high, xtol=xtol, rtol=rtol) == expected


def test_an_end_may_be_the_root() -> None:
    assert bracketed_root(lambda x: x, 0, 1, xtol=1e-9) == 0
    assert bracketed_root(lambda x: x - 1, 0, 1, xtol=1e-9) == 1


@pytest.mark.parametrize("value", [1.0, -1.0, math.nan])
def test_equal_signs_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="different signs"):
        bracketed_root(lambda _: value, 0, 1, xtol=1e-9)
