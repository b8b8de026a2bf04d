"""How far raters agree about the same items.

All of these compare pairs of ratings of one item, D_o = Σ δ/(m − 1)/n over the ordered pairs within
items that have m ratings, n in all, with pairs of any two ratings, D_e. In the nominal scale δ is 1
for different categories; in the ordinal one it is the square of how many ratings lie between them,
with half of their own; in that of intervals the square of their distance.
"""

from __future__ import annotations

from collections.abc import Callable

from calipers.lazily import numpy as np
from calipers.statistics import FloatArray
from calipers.statistics.ratings import Ratings

SCALES = ("nominal", "ordinal", "interval")


def _chance(r: Ratings, scale: str) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    """Per item Σ δ/(m − 1); Σ δ over all pairs of ratings of any items; and by how much another
    item like this one would move either sum."""
    n, m, own, all_of = r.times.sum(), r.times, r.shared, r.of_category
    if scale == "nominal":
        apart = (m**2 - np.square(own).sum(axis=1)) / (m - 1)
        total = n**2 - np.square(all_of).sum()
        return apart, float(total), apart, 2 * (n * m - own @ all_of)
    x = r.middles if scale == "ordinal" else r.values
    x = x - (all_of @ x) / n  # sums of squares keep their digits
    first, second = own @ x, own @ x**2
    apart = 2 * (m * second - first**2) / (m - 1)
    spread = float(all_of @ x**2)
    total, more = 2 * n * spread, 2 * (m * spread + n * second)
    moved = apart
    if scale == "ordinal":  # whose ranks move with the ratings
        shift = np.cumsum(own, axis=1) - own / 2
        slope = 4 * ((m / (m - 1)) @ own * x - (first / (m - 1)) @ own)
        moved, more = apart + shift @ slope, more + shift @ (4 * n * all_of * x)
    return apart, total, moved, more


def krippendorff(r: Ratings, scale: str) -> tuple[float, FloatArray]:
    """Krippendorff's α, 1 − D_o/D_e, where D_e is of pairs of different ratings; and how much each
    item moves it, times their number.

    Ratings may be missing.
    """
    n, (apart, total, moved, more) = r.times.sum(), _chance(r, scale)
    lost = apart.sum()
    value = 1 - lost * (n - 1) / total
    by_item = -(moved * (n - 1) + lost * r.times - lost * (n - 1) * more / total) / total
    return float(value), _centred(by_item)


def fleiss(r: Ratings, _: str) -> tuple[float, FloatArray]:
    """Fleiss' κ: as Krippendorff's α, but two ratings drawn by chance may be one and the same; and
    how much each item moves it, times their number."""
    n, (apart, total, moved, more) = r.times.sum(), _chance(r, "nominal")
    lost = apart.sum()
    by_item = -(moved * n + lost * r.times - lost * n * more / total) / total
    return float(1 - lost * n / total), _centred(by_item)


def percent(r: Ratings, _: str) -> tuple[float, FloatArray]:
    """The share of pairs of ratings of an item that agree, each rating counting once; and how much
    each item moves it, times their number."""
    n, apart = r.times.sum(), _chance(r, "nominal")[0]
    value = 1 - apart.sum() / n
    return float(value), len(apart) * ((1 - value) * r.times - apart) / n


def _centred(by_item: FloatArray) -> FloatArray:
    return np.asarray(len(by_item) * (by_item - by_item.mean()))


#: Measures of agreement by name, each with the range that it has.
OF_RATERS: dict[
    str, tuple[Callable[[Ratings, str], tuple[float, FloatArray]], tuple[float, float]]
] = {
    "alpha": (krippendorff, (-1.0, 1.0)),
    "Fleiss": (fleiss, (-1.0, 1.0)),
    "percent": (percent, (0.0, 1.0)),
}
