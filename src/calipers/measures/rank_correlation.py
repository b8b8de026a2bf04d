"""How far two lists of values order the same items alike: the systems of an evaluation, say.

Every function takes two arrays of values, higher first, with the items along the last axis, and
works over leading axes such as the replicates of a bootstrap. Values run from −1 (one order is the
reverse of the other) to 1; they are NaN for fewer than two items, and where a list that must order
something holds one value only.
"""

from __future__ import annotations

from collections.abc import Callable

from calipers.lazy_imports import numpy as np
from calipers.statistics import FloatArray

Correlation = Callable[[FloatArray, FloatArray], FloatArray]


def kendall(x: FloatArray, y: FloatArray) -> FloatArray:
    """Kendall's τ (τ_a): (concordant − discordant pairs) / all pairs.

    A pair tied in either list is neither; all tied pairs still count below.

    >>> import numpy as np
    >>> float(kendall(np.array([3, 2, 1]), np.array([3, 1, 2])))
    0.3333333333333333
    """
    n = x.shape[-1]
    return _divide(_pairs(x, y), n * (n - 1) / 2)


def tau_b(x: FloatArray, y: FloatArray) -> FloatArray:
    """Kendall's τ_b: (concordant − discordant pairs) / √(pairs untied in x · pairs untied in y).

    Undefined where all items are tied in a list (Kendall 1945).
    """
    return _divide(_pairs(x, y), np.sqrt(_pairs(x, x) * _pairs(y, y)))


def tau_ap(reference: FloatArray, y: FloatArray) -> FloatArray:
    """AP correlation: over all items of y but its first, the mean share of the items above that the
    reference puts above as well, from which twice that minus 1 is made.

    2/(n − 1) · Σ C(i)/(i − 1) − 1 over ranks i ≥ 2 of y, with C(i) the items above rank i that the
    reference has above it too (Yilmaz, Aslam and Robertson 2008). Errors at the top of y weigh
    more, so the two lists do not change places: the first is the reference. With ties, in either
    list, it is the expected value over all ways to break them; if the reference has none, that is
    τ_AP,a of Urbano and Marrero 2017.
    """
    above, tied, agreed = _count_above(reference, y)
    n = y.shape[-1]
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, max(n, 2)))])
    # The mean of 1/(i − 1) over the ranks i that the group of ties takes; the top one has none.
    top = above == 0
    share = (harmonic[above + tied - 1] - harmonic[np.where(top, 0, above - 1)]) / tied
    return _divide((agreed * np.where(top, 0.0, share)).sum(-1), n - 1)


def tau_ap_b(x: FloatArray, y: FloatArray) -> FloatArray:
    """Symmetric AP correlation, with ties: τ_AP,b of Urbano and Marrero 2017.

    The mean of both directions. Each compares an item with those strictly above its group of ties
    only, and leaves out the top group; a pair tied in the other list counts as not agreed on.
    Without ties it is the mean of τ_AP(x, y) and τ_AP(y, x).
    """
    return (_tau_ap_b(x, y) + _tau_ap_b(y, x)) / 2


def _tau_ap_b(reference: FloatArray, y: FloatArray) -> FloatArray:
    above, _, agreed = _count_above(reference, y, strict=True)
    below_top = above > 0
    share = np.where(below_top, agreed / np.maximum(above, 1), 0.0)
    return _divide(share.sum(-1), below_top.sum(-1))


def spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """Spearman's ρ: the correlation of the ranks, ties sharing the mean of theirs.

    Undefined where all items are tied in a list.
    """
    a, b = _centred_ranks(x), _centred_ranks(y)
    return _divide((a * b).sum(-1), np.sqrt(np.square(a).sum(-1) * np.square(b).sum(-1)))


#: Correlations of orders by name; in those of AP the first list is the reference.
CORRELATIONS: dict[str, Correlation] = {
    "kendall": kendall,
    "tau-b": tau_b,
    "tau-AP": tau_ap,
    "tau-AP-b": tau_ap_b,
    "spearman": spearman,
}


def _divide(part: FloatArray, whole: FloatArray | float) -> FloatArray:
    """The quotient, NaN for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(part / np.asarray(whole, np.float64))


# One item after the other against all: n steps over (..., n), never n × n for each replicate.


def _pairs(x: FloatArray, y: FloatArray) -> FloatArray:
    """Concordant minus discordant pairs; of a list with itself, the pairs that are not tied."""
    total = np.zeros(x.shape[:-1])
    for i in range(1, x.shape[-1]):
        both = np.sign(x[..., i, None] - x[..., :i]) * np.sign(y[..., i, None] - y[..., :i])
        total += both.sum(-1)
    return total


def _count_above(
    reference: FloatArray, y: FloatArray, *, strict: bool = False
) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Of each item: how many stand above it in y, how many share its place, and the agreement of
    the reference with those above: +1 for each that it has above as well, −1 for each that it has
    not; 0 where it ties them, or −1 if ``strict``."""
    above, tied = np.zeros((2, *y.shape), np.int64)
    agreed = np.zeros(y.shape)
    for j in range(y.shape[-1]):
        higher = y[..., j, None] > y
        sign = np.sign(reference[..., j, None] - reference)
        above += higher
        tied += y[..., j, None] == y
        agreed += np.where(higher, np.where(sign > 0, 1.0, -1.0) if strict else sign, 0.0)
    return above, tied, agreed


def _centred_ranks(x: FloatArray) -> FloatArray:
    """Half the items below minus half those above: the rank less the mean of all ranks."""
    out = np.zeros(x.shape)
    for j in range(x.shape[-1]):
        out += np.sign(x - x[..., j, None])
    return out / 2
