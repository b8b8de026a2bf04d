"""How far raters agree about the same items: formulas over how often items are put into categories.

All of these compare pairs of ratings of one item, D_o = Σ δ/(m − 1)/n over the ordered pairs within
items that have m ratings, n in all, with pairs of any two ratings, D_e. In the nominal scale δ is 1
for different categories; in the ordinal one it is the square of how many ratings lie between them,
with half of their own; in that of intervals the square of their distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, Ratings

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.measures.definition import Measure

of_raters = partial(
    measure, family="agreement", statistic=Ratings, higher_is_better=True, perfect=1.0
)

_NO_ITEM = {"no_shared_item": lambda r, _: len(r.shared_items) == 0}
_ONE_CATEGORY = {
    "one_category": lambda r, _: np.count_nonzero(r.shared_items.category_weights) == 1
}
_NO_NUMBERS = {
    "no_distances": lambda r, own: own["scale"] == "interval" and bool(np.isnan(r.values).any())
}
_UNEQUAL = {
    "unequal_ratings": lambda r, _: len(r.shared_items) > 0 and np.ptp(r.shared_items.times) > 0
}


def _centered_categories(own: Ratings, scale: str) -> FloatArray | None:
    """Where categories stand on a scale whose distances are squared, about the mean of all ratings
    so that sums of squares keep their digits; None of the nominal one, which has no places."""
    if scale == "nominal":
        return None
    x = own.middles if scale == "ordinal" else own.values
    return np.asarray(x - (own.category_weights @ x) / own.total)


def _item_disagreement(own: Ratings, x: FloatArray | None) -> FloatArray:
    """Of each item Σ δ/(m − 1)."""
    m = own.times
    if x is None:
        return np.asarray((m**2 - own.squares) / (m - 1))
    return np.asarray(2 * (m * own.item_sums(x**2) - own.item_sums(x) ** 2) / (m - 1))


def _expected_disagreement(own: Ratings, x: FloatArray | None) -> float:
    """Σ δ over all pairs of ratings of any items, times what both weigh."""
    if x is None:
        return float(own.total**2 - np.square(own.category_weights).sum())
    return float(2 * own.total * (own.category_weights @ x**2))


def _beyond_chance(r: Ratings, scale: str) -> FloatArray:
    """1 − D_o/D_e, where chance does not draw one rating twice: of all pairs of ratings, which
    weigh W² in all, those of one with itself weigh Σw²."""
    own = r.shared_items
    x = _centered_categories(own, scale)
    lost = own.weight @ _item_disagreement(own, x)
    return np.asarray(1 - lost * _other_ratings_weight(own) / _expected_disagreement(own, x))


def _other_ratings_weight(own: Ratings) -> Any:
    """What ratings other than one weigh: their number less 1, where all weigh 1."""
    return own.total - own.total_squares / own.total


def _item_derivatives(r: Ratings, whole: Ratings, scale: str) -> FloatArray:
    """By how much each item moves that, by its weight."""
    own, every = r.shared_items, whole.shared_items
    x, m, n = _centered_categories(every, scale), own.times, every.total
    lost, total = (
        float(every.weight @ _item_disagreement(every, x)),
        _expected_disagreement(every, x),
    )
    moved = _item_disagreement(own, x)
    if x is None:
        more = 2 * (n * m - own.item_sums(every.category_weights))
    else:
        more = 2 * (m * (every.category_weights @ x**2) + n * own.item_sums(x**2))
    if scale == "ordinal":  # whose ranks move with the ratings
        assert x is not None

        def shifted(slope: FloatArray) -> FloatArray:
            """What it makes of each item that its ratings move all middles above them by 1, and
            their own by a half."""
            return own.item_sums(slope[::-1].cumsum()[::-1] - slope / 2)

        times = every.times
        slope = every.category_sums(times / (times - 1)) * x
        slope = 4 * (slope - every.category_sums(every.item_sums(x) / (times - 1)))
        moved, more = moved + shifted(slope), more + shifted(4 * n * every.category_weights * x)
    # One more item like this one is one more that ratings are not compared with themselves.
    beside = m * (1 + (every.total_squares / n - own.unit) / n)
    others = _other_ratings_weight(every)
    return np.asarray(-(moved * others + lost * beside - lost * others * more / total) / total)


@of_raters(
    "Krippendorff-alpha",
    aliases=("krippendorff_alpha", "krippendorffs_alpha"),
    range=(-1, 1),
    undefined=_NO_ITEM | _ONE_CATEGORY | _NO_NUMBERS,
    depends_on_class_order=lambda _, parameters: parameters["scale"] == "ordinal",
    reference="Krippendorff 2011",
)
def krippendorff(r: Ratings, scale: str = "nominal") -> FloatArray:
    """Krippendorff's α: 1 − D_o/D_e, with the observed disagreement D_o within items and the
    expected disagreement D_e of any two ratings. 1 is perfect agreement, 0 agreement by chance.

    Items may have any number of ratings. How far two ratings are apart is a matter of the scale,
    ``nominal``, ``ordinal`` or ``interval``.
    """
    return _beyond_chance(r, scale)


class _ItemAgreement(NamedTuple):
    """Of coefficients to which each item counts alike: what agrees, what does so by chance, and how
    fast that grows with the share of a category."""

    agreed: Any
    chance: Any
    slope: FloatArray

    @property
    def beyond(self) -> FloatArray:
        """The share of what agrees beyond chance."""
        return np.asarray((self.agreed - self.chance) / (1 - self.chance))


def _item_agreement(
    r: Ratings, chance_of: Callable[[FloatArray], tuple[Any, FloatArray]]
) -> _ItemAgreement:
    """What agrees is the mean over the items that were rated twice; shares of categories, of which
    chance is made, are those of all items that were rated, as in Gwet 2014."""
    weight = r.weight[r.twice]
    agreed = weight @ r.agreeing[r.twice] / np.float64(weight.sum())
    return _ItemAgreement(agreed, *chance_of(r.share_of_category))


def _moves_by_item(
    r: Ratings, whole: Ratings, chance_of: Callable[[FloatArray], tuple[Any, FloatArray]]
) -> FloatArray:
    """By how much each item that was rated moves that, by its weight."""
    of = _item_agreement(whole, chance_of)
    agreeing, twice = r.agreeing[r.rated_mask], float(whole.weight[whole.twice].sum())
    apart = np.where(np.isnan(agreeing), 0.0, agreeing - of.agreed) / twice
    own = (r.item_sums(of.slope) / np.maximum(r.times, 1))[r.rated_mask]
    more = (own - of.slope @ whole.share_of_category) / float(whole.weight[whole.rated_mask].sum())
    return np.asarray(apart / (1 - of.chance) + (of.agreed - 1) / (1 - of.chance) ** 2 * more)


def _fleiss_chance(share: FloatArray) -> tuple[Any, FloatArray]:
    """The chance that two ratings drawn by the shares of categories are equal."""
    return share @ share, np.asarray(2 * share)


def _gwet_chance(share: FloatArray) -> tuple[Any, FloatArray]:
    """The chance of Gwet's AC1."""
    others = max(len(share) - 1, 1)
    return share @ (1 - share) / others, np.asarray((1 - 2 * share) / others)


@of_raters(
    "Fleiss-kappa",
    aliases=("fleiss_kappa",),
    range=(-math.inf, 1),
    undefined=_NO_ITEM
    | _UNEQUAL
    | {"one_category": lambda r, _: np.count_nonzero(r.category_weights) == 1},
    reference="Fleiss 1971; Gwet 2014",
)
def fleiss(r: Ratings) -> FloatArray:
    """Fleiss' κ: the share of pairs of ratings of an item that agree beyond chance, (p − p_e)/(1 −
    p_e) with p_e = Σ π², π being the mean share of the ratings of an item that are of a category.
    As Krippendorff's α, but two ratings drawn by chance may be one and the same.

    All items have the same number m of ratings, so that κ is −1/(m − 1) or more; those that one
    rater rated count for π alone, and where there are many of these nothing bounds it below."""
    return _item_agreement(r, _fleiss_chance).beyond


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
    return _item_agreement(r, _gwet_chance).beyond


@of_raters("percent-agreement", range=(0, 1), undefined=_NO_ITEM, reference="Fleiss 1971")
def percent(r: Ratings) -> FloatArray:
    """Percent agreement: the proportion of pairs of ratings of an item that agree, without
    correction for chance; each rating counts once.
    """
    return np.asarray(
        1
        - r.shared_items.weight
        @ _item_disagreement(r.shared_items, None)
        / np.float64(r.shared_items.total)
    )


def _moves_percent(r: Ratings, whole: Ratings) -> FloatArray:
    own, every = r.shared_items, whole.shared_items
    lost = float(every.weight @ _item_disagreement(every, None)) / every.total
    return np.asarray((lost * own.times - _item_disagreement(own, None)) / every.total)


_MOVES: dict[Callable[..., Any], Callable[..., FloatArray]] = {
    krippendorff: _item_derivatives,
    fleiss: partial(_moves_by_item, chance_of=_fleiss_chance),
    percent: _moves_percent,
    gwet: partial(_moves_by_item, chance_of=_gwet_chance),
}
#: What takes the shares of categories from items that one rater rated, too.
_OF_RATED = (fleiss, gwet)


def counted_items(measure: Measure, r: Ratings) -> npt.NDArray[np.bool_]:
    """Which items the value of a measure is made of."""
    return r.rated_mask if measure.definition.formula in _OF_RATED else r.twice


def weight_of_items(measure: Measure, r: Ratings) -> FloatArray:
    """What each item holds of the denominator of a measure: of a mean over items its weight, of one
    over ratings that of these; 0 of what does not count."""
    counted = counted_items(measure, r)
    by_item = measure.definition.formula in _OF_RATED
    return np.where(counted, r.weight if by_item else r.weight * r.times, 0.0)


def item_influence(measure: Measure, r: Ratings, whole: Ratings | None = None) -> FloatArray | None:
    """By how much each item that counts (:func:`counted_items`) moves the value of a measure by its
    weight, times what they weigh in all: values whose mean is 0, so weighted. None of a measure
    that has no derivative here. ``whole`` is the statistic of all items, if not ``r``."""
    moves, every = _MOVES.get(measure.definition.formula), r if whole is None else whole
    if moves is None or not len(every.shared_items):
        return None
    weight = every.weight[counted_items(measure, every)]
    with np.errstate(divide="ignore", invalid="ignore"):  # where there is no value
        of_all = moves(every, every, **measure.parameters)
        by_item = of_all if r is every else moves(r, every, **measure.parameters)
        return np.asarray(weight.sum() * (by_item - np.average(of_all, weights=weight)))
