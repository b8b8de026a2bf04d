"""Adjustment of p-values where many tests are made at once.

An undefined p-value (NaN) stays so and does not count as a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from calipers.statistics import FloatArray


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A way to adjust, and what stays below the level when adjusted p-values are compared with it.

    ``controls`` is ``"family-wise error rate"`` (the chance of any false finding), ``"false
    discovery rate"`` (the expected share of findings that are false) or ``"nothing"``.
    """

    name: str
    controls: str
    adjust: Callable[[FloatArray], FloatArray]


def holm(p: FloatArray) -> FloatArray:
    """Holm's step-down adjustment (1979): the j-th smallest of m p-values times m − j + 1, and
    never below the one before; at most 1. Holds whatever the tests have to do with each other.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjust_sorted(
        p, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1, dtype=np.float64))
    )


def bonferroni(p: FloatArray) -> FloatArray:
    """Bonferroni's adjustment: each of m p-values times m, at most 1. Never smaller than Holm's.

    >>> bonferroni(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.12, 0.09]
    """
    return _adjust_sorted(p, lambda p: p * len(p))


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Benjamini and Hochberg's step-up adjustment (1995): the j-th smallest of m p-values times
    m / j, and never above the one after; at most 1.

    Controls the false discovery rate, where the tests are independent or positively dependent: of
    the findings at 5%, one in twenty is expected to be false. Their number is not bounded.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """

    def step_up(p: FloatArray) -> FloatArray:
        scaled = p * (len(p) / np.arange(1, len(p) + 1))
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjust_sorted(p, step_up)


def no_adjustment(p: FloatArray) -> FloatArray:
    """The p-values themselves."""
    return _adjust_sorted(p, lambda p: p)


def _adjust_sorted(p: FloatArray, adjust: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """``adjust`` applied to the defined p-values in ascending order, each back in its place."""
    p = np.asarray(p, np.float64)
    adjusted = np.full(len(p), np.nan)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    adjusted[order] = np.minimum(1.0, adjust(p[order]))
    return adjusted


FAMILY_WISE = "family-wise error rate"

#: The ways to adjust, by the names they are asked for.
ADJUSTMENTS: Mapping[str, Adjustment] = {
    "holm": Adjustment("Holm", FAMILY_WISE, holm),
    "bonferroni": Adjustment("Bonferroni", FAMILY_WISE, bonferroni),
    "benjamini-hochberg": Adjustment(
        "Benjamini-Hochberg", "false discovery rate", benjamini_hochberg
    ),
    "none": Adjustment("none", "nothing", no_adjustment),
}
