"""Rank correlation of two lists of values for the same items, such as systems.

Every function takes two arrays of values, higher first, with the items along the last axis, and
applies over leading axes such as the replicates of a bootstrap. Coefficients range from −1, if one
order is the reverse of the other, to 1. They are NaN for fewer than two items, and if a list that
has to be ordered is constant.
"""

from __future__ import annotations

from collections.abc import Callable

from calipers.lazy_imports import numpy as np
from calipers.statistics import FloatArray

Correlation = Callable[[FloatArray, FloatArray], FloatArray]


def kendall(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute Kendall's τ (τ_a): (concordant − discordant pairs) / all pairs.

    A pair tied in either list is neither concordant nor discordant; the denominator counts all
    pairs.

    >>> import numpy as np
    >>> float(kendall(np.array([3, 2, 1]), np.array([3, 1, 2])))
    0.3333333333333333
    """
    n = x.shape[-1]
    return _divide(_concordance(x, y), n * (n - 1) / 2)


def tau_b(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute Kendall's τ_b (Kendall 1945), which corrects for ties.

    It is (concordant − discordant pairs) / √(pairs untied in x · pairs untied in y), and NaN if all
    items of a list are tied.
    """
    return _divide(_concordance(x, y), np.sqrt(_concordance(x, x) * _concordance(y, y)))


def tau_ap(reference: FloatArray, y: FloatArray) -> FloatArray:
    """Compute the AP correlation (Yilmaz, Aslam and Robertson 2008).

    It is 2/(n − 1) · Σ C(i)/(i − 1) − 1 over ranks i ≥ 2 of y, where C(i) is the number of items
    above rank i that are above the item in the reference as well. Errors at the top of y have more
    weight, so the coefficient is not symmetric: the first list is the reference. With ties in
    either list it is the expected value over all ways to break them; if the reference has no ties,
    this is τ_AP,a of Urbano and Marrero (2017).
    """
    n_above, tied, agreed = _count_above(reference, y)
    n = y.shape[-1]
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, max(n, 2)))])
    # The mean of 1/(i − 1) over the ranks i that the group of ties takes; the top one has none.
    is_top = n_above == 0
    mean_reciprocal = (
        harmonic[n_above + tied - 1] - harmonic[np.where(is_top, 0, n_above - 1)]
    ) / tied
    return _divide((agreed * np.where(is_top, 0.0, mean_reciprocal)).sum(-1), n - 1)


def tau_ap_b(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute the symmetric AP correlation with ties, τ_AP,b of Urbano and Marrero (2017).

    It is the mean of both directions. Each direction compares an item only with those strictly
    above its group of ties, and omits the top group; a pair tied in the other list counts as a
    disagreement. Without ties it is the mean of τ_AP(x, y) and τ_AP(y, x).
    """
    return (_tau_ap_b(x, y) + _tau_ap_b(y, x)) / 2


def _tau_ap_b(reference: FloatArray, y: FloatArray) -> FloatArray:
    n_above, _, agreed = _count_above(reference, y, strict=True)
    below_top_mask = n_above > 0
    agreed_proportion = np.where(below_top_mask, agreed / np.maximum(n_above, 1), 0.0)
    return _divide(agreed_proportion.sum(-1), below_top_mask.sum(-1))


def spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute Spearman's ρ: the correlation of the ranks, with midranks for ties.

    It is NaN if all items of a list are tied.
    """
    a, b = _centered_ranks(x), _centered_ranks(y)
    return _divide((a * b).sum(-1), np.sqrt(np.square(a).sum(-1) * np.square(b).sum(-1)))


#: Correlations of orders by name; in those of AP the first list is the reference.
CORRELATIONS: dict[str, Correlation] = {
    "kendall": kendall,
    "tau-b": tau_b,
    "tau-AP": tau_ap,
    "tau-AP-b": tau_ap_b,
    "spearman": spearman,
}


def _divide(numerator: FloatArray, denominator: FloatArray | float) -> FloatArray:
    """Divide, with NaN for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / np.asarray(denominator, np.float64))


# One item after the other against all: n steps over (..., n), never n × n for each replicate.


def _concordance(x: FloatArray, y: FloatArray) -> FloatArray:
    """Count concordant minus discordant pairs.

    For a list with itself these are the pairs that are not tied.
    """
    total = np.zeros(x.shape[:-1])
    for i in range(1, x.shape[-1]):
        concordance = np.sign(x[..., i, None] - x[..., :i]) * np.sign(y[..., i, None] - y[..., :i])
        total += concordance.sum(-1)
    return total


def _count_above(
    reference: FloatArray, y: FloatArray, *, strict: bool = False
) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Count for each item those above it and those tied in y, and the agreement of the reference.

    The agreement is the sum over the items above: +1 for each that is above in the reference as
    well, −1 for each that is not, and 0 for ties in the reference, or −1 if ``strict``.
    """
    n_above, n_tied = np.zeros((2, *y.shape), np.int64)
    agreement = np.zeros(y.shape)
    for j in range(y.shape[-1]):
        higher = y[..., j, None] > y
        sign = np.sign(reference[..., j, None] - reference)
        n_above += higher
        n_tied += y[..., j, None] == y
        agreement += np.where(higher, np.where(sign > 0, 1.0, -1.0) if strict else sign, 0.0)
    return n_above, n_tied, agreement


def _centered_ranks(x: FloatArray) -> FloatArray:
    """Compute centered midranks: half the items below minus half those above."""
    out = np.zeros(x.shape)
    for j in range(x.shape[-1]):
        out += np.sign(x - x[..., j, None])
    return out / 2
