"""Adjustment of p-values for multiple testing.

An undefined p-value (NaN) remains undefined and does not count as a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Method of adjustment of p-values.

    Attributes
    ----------
    name : str
        Display name.
    controlled_rate : str
        Error rate that is at most α if hypotheses with an adjusted p-value ≤ α are rejected:
        ``"family-wise error rate"`` (the probability of any false rejection),
        ``"false discovery rate"`` (the expected proportion of false rejections) or ``"nothing"``.
    adjust : callable
        Function from p-values to adjusted p-values.
    """

    name: str
    controlled_rate: str
    adjust: Callable[[FloatArray], FloatArray]


def holm(p: FloatArray) -> FloatArray:
    """Return p-values adjusted by Holm's step-down method (1979).

    The j-th smallest of m p-values is multiplied by m − j + 1, and is at least the one before and
    at most 1. The method is valid under any dependence between the tests.

    Parameters
    ----------
    p : ndarray of shape (m,)
        p-values.

    Returns
    -------
    ndarray of shape (m,)
        Adjusted p-values.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjust_sorted(
        p, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1, dtype=np.float64))
    )


def bonferroni(p: FloatArray) -> FloatArray:
    """Return p-values adjusted by Bonferroni's method.

    Each of m p-values is multiplied by m, and is at most 1. The result is never smaller than
    Holm's.

    Parameters
    ----------
    p : ndarray of shape (m,)
        p-values.

    Returns
    -------
    ndarray of shape (m,)
        Adjusted p-values.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.12, 0.09]
    """
    return _adjust_sorted(p, lambda p: p * len(p))


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Return p-values adjusted by Benjamini and Hochberg's step-up method (1995).

    The j-th smallest of m p-values is multiplied by m / j, and is at most the one after and at most
    1. The method controls the false discovery rate if the tests are independent or positively
    dependent: of the rejections at 5%, one in twenty is expected to be false. The number of false
    rejections is not bounded.

    Parameters
    ----------
    p : ndarray of shape (m,)
        p-values.

    Returns
    -------
    ndarray of shape (m,)
        Adjusted p-values.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """

    def step_up(p: FloatArray) -> FloatArray:
        scaled = p * (len(p) / np.arange(1, len(p) + 1))
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjust_sorted(p, step_up)


def no_adjustment(p: FloatArray) -> FloatArray:
    """Return the p-values unchanged."""
    return _adjust_sorted(p, lambda p: p)


def _adjust_sorted(p: FloatArray, adjust: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Apply ``adjust`` to the defined p-values in ascending order, and restore their order."""
    p = np.asarray(p, np.float64)
    adjusted = np.full(len(p), np.nan)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    adjusted[order] = np.minimum(1.0, adjust(p[order]))
    return adjusted


FAMILY_WISE = "family-wise error rate"

#: Methods of adjustment, by the name of the option.
ADJUSTMENTS: Mapping[str, Adjustment] = {
    "holm": Adjustment("Holm", FAMILY_WISE, holm),
    "bonferroni": Adjustment("Bonferroni", FAMILY_WISE, bonferroni),
    "benjamini-hochberg": Adjustment(
        "Benjamini-Hochberg", "false discovery rate", benjamini_hochberg
    ),
    "none": Adjustment("none", "nothing", no_adjustment),
}
