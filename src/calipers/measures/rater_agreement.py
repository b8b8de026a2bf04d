"""How far raters agree about the same items: formulas over how often items are put into categories.

All of these compare pairs of ratings of one item, D_o = Σ δ/(m − 1)/n over the ordered pairs within
items that have m ratings, n in all, with pairs of any two ratings, D_e. In the nominal scale δ is 1
for different categories; in the ordinal one it is the square of how many ratings lie between them,
with half of their own; in that of intervals the square of their distance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.lazily import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, Ratings

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.measures.definition import Measure

of_raters = partial(measure, family="agreement", on=Ratings, higher_is_better=True, perfect=1.0)

_NO_ITEM = {"no_shared_item": lambda r, _: len(r.shared) == 0}
_ONE_CATEGORY = {"one_category": lambda r, _: np.count_nonzero(r.shared.of_category) == 1}
_NO_NUMBERS = {
    "no_distances": lambda r, own: own["scale"] == "interval" and bool(np.isnan(r.values).any())
}
_UNEQUAL = {"unequal_ratings": lambda r, _: len(r.shared) > 0 and np.ptp(r.shared.times) > 0}


class _Pairs(NamedTuple):
    """Per item Σ δ/(m − 1); Σ δ over all pairs of ratings of any items; and by how much another
    item like this one would move either sum."""

    apart: FloatArray
    total: float
    moved: FloatArray
    more: FloatArray

    @property
    def lost(self) -> float:
        """N times D_o."""
        return float(self.apart.sum())


def _pairs(r: Ratings, scale: str) -> _Pairs:
    own = r.shared
    m, all_of = own.times, own.of_category
    n = m.sum()
    if scale == "nominal":
        apart = (m**2 - own.squares) / (m - 1)
        total = n**2 - np.square(all_of).sum()
        return _Pairs(apart, float(total), apart, 2 * (n * m - own.by_item(all_of)))
    x = own.middles if scale == "ordinal" else r.values
    x = x - (all_of @ x) / n  # sums of squares keep their digits
    first, second = own.by_item(x), own.by_item(x**2)
    apart = 2 * (m * second - first**2) / (m - 1)
    spread = float(all_of @ x**2)
    total, more = 2 * n * spread, 2 * (m * spread + n * second)
    moved = apart
    if scale == "ordinal":  # whose ranks move with the ratings

        def shifted(slope: FloatArray) -> FloatArray:
            """What it makes of each item that its ratings move all middles above them by 1, and
            their own by a half."""
            return own.by_item(slope[::-1].cumsum()[::-1] - slope / 2)

        slope = 4 * (own.by_category(m / (m - 1)) * x - own.by_category(first / (m - 1)))
        moved, more = apart + shifted(slope), more + shifted(4 * n * all_of * x)
    return _Pairs(apart, total, moved, more)


def _beyond_chance(r: Ratings, scale: str) -> FloatArray:
    """1 − D_o/D_e, where chance does not draw one rating twice."""
    pairs = _pairs(r, scale)
    return np.asarray(1 - pairs.lost * (r.shared.times.sum() - 1) / pairs.total)


def _moves(r: Ratings, scale: str) -> FloatArray:
    """By how much each item moves that."""
    lost, (_, total, moved, more) = (pairs := _pairs(r, scale)).lost, pairs
    m = r.shared.times
    n = m.sum() - 1
    return np.asarray(-(moved * n + lost * m - lost * n * more / total) / total)


@of_raters(
    "Krippendorff-alpha",
    aliases=("krippendorff_alpha", "krippendorffs_alpha"),
    range=(-1, 1),
    undefined=_NO_ITEM | _ONE_CATEGORY | _NO_NUMBERS,
    ordered=lambda _, parameters: parameters["scale"] == "ordinal",
    reference="Krippendorff 2011",
)
def krippendorff(r: Ratings, scale: str = "nominal") -> FloatArray:
    """Krippendorff's α, 1 − D_o/D_e: by how much less ratings of one item differ than any two
    different ratings do. 1 is agreement, 0 what chance makes.

    Items may have any number of ratings. How far two ratings are apart is a matter of the scale,
    ``nominal``, ``ordinal`` or ``interval``."""
    return _beyond_chance(r, scale)


class _ByItem(NamedTuple):
    """Of coefficients to which each item counts alike: what agrees, what does so by chance, and how
    fast that grows with the share of a category."""

    agreed: Any
    chance: Any
    slope: FloatArray

    @property
    def beyond(self) -> FloatArray:
        """The share of what agrees beyond chance."""
        return np.asarray((self.agreed - self.chance) / (1 - self.chance))


def _by_item(r: Ratings, chance_of: Callable[[FloatArray], tuple[Any, FloatArray]]) -> _ByItem:
    """What agrees is the mean over the items that were rated twice; shares of categories, of which
    chance is made, are those of all items that were rated, as in Gwet 2014."""
    agreed = r.agreeing[r.twice].sum() / np.float64(len(r.shared))
    return _ByItem(agreed, *chance_of(r.share_of_category))


def _moves_by_item(
    r: Ratings, chance_of: Callable[[FloatArray], tuple[Any, FloatArray]]
) -> FloatArray:
    """By how much each item that was rated moves that."""
    of = _by_item(r, chance_of)
    agreeing = r.agreeing[r.rated]
    apart = np.where(np.isnan(agreeing), 0.0, agreeing - of.agreed) / len(r.shared)
    own = (r.by_item(of.slope) / np.maximum(r.times, 1))[r.rated]
    more = (own - own.mean()) / len(own)
    return np.asarray(apart / (1 - of.chance) + (of.agreed - 1) / (1 - of.chance) ** 2 * more)


def _both_alike(share: FloatArray) -> tuple[Any, FloatArray]:
    """The chance that two ratings drawn by the shares of categories are equal."""
    return share @ share, np.asarray(2 * share)


def _one_guessed(share: FloatArray) -> tuple[Any, FloatArray]:
    """The chance of Gwet's AC1."""
    others = max(len(share) - 1, 1)
    return share @ (1 - share) / others, np.asarray((1 - 2 * share) / others)


@of_raters(
    "Fleiss-kappa",
    aliases=("fleiss_kappa",),
    range=(-1, 1),
    undefined=_NO_ITEM
    | _UNEQUAL
    | {"one_category": lambda r, _: np.count_nonzero(r.of_category) == 1},
    reference="Fleiss 1971; Gwet 2014",
)
def fleiss(r: Ratings) -> FloatArray:
    """Fleiss' κ: the share of pairs of ratings of an item that agree beyond chance, (p − p_e)/(1 −
    p_e) with p_e = Σ π², π being the mean share of the ratings of an item that are of a category.
    As Krippendorff's α, but two ratings drawn by chance may be one and the same.

    All items have the same number of ratings; those that one rater rated count for π alone."""
    return _by_item(r, _both_alike).beyond


@of_raters(
    "Gwet-AC1",
    aliases=("AC1", "gwet_ac1", "gwets_ac1"),
    range=(-1, 1),
    undefined=_NO_ITEM | {"one_category": lambda r, _: len(r.categories) < 2},
    reference="Gwet 2008; Gwet 2014",
)
def gwet(r: Ratings) -> FloatArray:
    """Gwet's AC1: the mean share of the pairs of ratings of an item that agree beyond chance, (p −
    p_e)/(1 − p_e) with p_e = Σ π(1 − π)/(q − 1) over the q categories, π being the mean share of
    the ratings of an item that are of one.

    Where nearly all ratings are of one category it stays near p, where κ and α go to 0. Categories
    are those of all ratings in the data. Items have any number of ratings and count alike; those
    that one rater rated count for π alone."""
    return _by_item(r, _one_guessed).beyond


@of_raters("percent-agreement", range=(0, 1), undefined=_NO_ITEM, reference="Fleiss 1971")
def percent(r: Ratings) -> FloatArray:
    """Share of the pairs of ratings of an item that agree, by chance or not; each rating counts
    once."""
    return np.asarray(1 - _pairs(r, "nominal").lost / r.shared.times.sum())


def _moves_percent(r: Ratings) -> FloatArray:
    m, pairs = r.shared.times, _pairs(r, "nominal")
    n = m.sum()
    return np.asarray((pairs.lost / n * m - pairs.apart) / n)


_MOVES: dict[Callable[..., Any], Callable[..., FloatArray]] = {
    krippendorff: _moves,
    fleiss: partial(_moves_by_item, chance_of=_both_alike),
    percent: _moves_percent,
    gwet: partial(_moves_by_item, chance_of=_one_guessed),
}
#: What takes the shares of categories from items that one rater rated, too.
_OF_RATED = (fleiss, gwet)


def counted_items(measure: Measure, r: Ratings) -> npt.NDArray[np.bool_]:
    """Which items the value of a measure is made of."""
    return r.rated if measure.definition.formula in _OF_RATED else r.twice


def moved_by_items(measure: Measure, r: Ratings) -> FloatArray | None:
    """By how much each item that counts (:func:`counted_items`) moves the value of a measure, times
    their number; None of a measure that has no derivative here."""
    moves = _MOVES.get(measure.definition.formula)
    if moves is None or not len(r.shared):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # where there is no value
        by_item = moves(r, **measure.parameters)
    return np.asarray(len(by_item) * (by_item - by_item.mean()))
