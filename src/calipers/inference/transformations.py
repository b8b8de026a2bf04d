"""Transformations to scales on which estimates are closer to normal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calipers.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class Transformation:
    """Transformation of an interval of values: the function, its derivative and its inverse."""

    name: str
    domain: tuple[float, float]
    forward: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    inverse: Callable[[float], float]

    def is_defined(self, value: float) -> bool:
        """Check whether the value is inside the domain."""
        return self.domain[0] < value < self.domain[1]

    def symmetric_limits(self, value: float, original_half_width: float) -> tuple[float, float]:
        """Return the limits at a half-width about the value, symmetric on this scale.

        ``original_half_width`` is the half-width on the original scale, which the derivative
        converts.
        """
        middle, half_width = (
            float(self.forward(value)),
            original_half_width * self.derivative(value),
        )
        return self.inverse(middle - half_width), self.inverse(middle + half_width)


def expit(x: float) -> float:
    """Return 1/(1 + e⁻ˣ)."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _exp(x: float) -> float:
    """Return eˣ, infinite if it is too large for a number."""
    return math.exp(x) if x < 709 else math.inf


def _one_minus_exp(x: float) -> float:
    """Return 1 − e⁻ˣ."""
    return -math.expm1(-x) if x > -700 else -math.inf


#: Transformations of proportions, correlations, positive values, and 1 − a ratio of two sums.
TRANSFORMATIONS: Mapping[str, Transformation] = {
    "logit": Transformation(
        "logit", (0, 1), lambda v: math.log(v / (1 - v)), lambda v: 1 / (v * (1 - v)), expit
    ),
    "fisher": Transformation(
        "Fisher z", (-1, 1), np.arctanh, lambda v: 1 / ((1 - v) * (1 + v)), math.tanh
    ),
    "log": Transformation("log", (0, math.inf), np.log, lambda v: 1 / v, _exp),
    "rest": Transformation(
        "log of 1 − value",
        (-math.inf, 1),
        lambda v: -np.log1p(-v),
        lambda v: 1 / (1 - v),
        _one_minus_exp,
    ),
}
