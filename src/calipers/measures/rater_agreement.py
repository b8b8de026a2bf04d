"""Inter-rater agreement on the same items: formulas over the ratings per category of each item.

The coefficients compare the disagreement of pairs of ratings of one item, D_o = Σ δ/(m − 1)/n over
the ordered pairs within items with m ratings, n in all, with that of pairs of any two ratings, D_e.
On the nominal scale δ is 1 for different categories. On the ordinal scale it is the square of the
number of ratings between both categories, including half of the ratings of each. On the interval
scale it is the squared distance.
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

rater_measure = partial(
    measure, family="agreement", statistic=Ratings, higher_is_better=True, perfect=1.0
)

_NO_ITEM = {"no_shared_item": lambda r, _: ~(r.multiply_rated_items.weight > 0).any(axis=-1)}
_ONE_CATEGORY = {
    "one_category": lambda r, _: (
        np.count_nonzero(r.multiply_rated_items.category_weights, axis=-1) == 1
    )
}
_NO_NUMBERS = {
    "no_distances": lambda r, parameters: (
        parameters["scale"] == "interval" and bool(np.isnan(r.values).any())
    )
}
_UNEQUAL_RATINGS = {"unequal_ratings": lambda r, _: _has_unequal_ratings(r.multiply_rated_items)}


def _has_unequal_ratings(ratings: Ratings) -> Any:
    """Return whether the items that have a weight have unequal numbers of ratings."""
    has_weight = ratings.weight > 0
    largest = np.where(has_weight, ratings.n_ratings, 0.0).max(axis=-1, initial=0.0)
    return largest > np.where(has_weight, ratings.n_ratings, math.inf).min(
        axis=-1, initial=math.inf
    )


def _inner(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return Σ ab over the last axis."""
    return np.asarray(np.einsum("...i,...i->...", a, b))


def _centered_categories(ratings: Ratings, scale: str) -> FloatArray | None:
    """Return the positions of the categories on a scale with squared distances, centered.

    They are relative to the mean of all ratings, so that sums of squares keep their precision. They
    are None for the nominal scale, which has no positions.
    """
    if scale == "nominal":
        return None
    x = ratings.category_midranks if scale == "ordinal" else ratings.values
    mean = _inner(ratings.category_weights, x) / ratings.total
    return np.asarray(x - mean[..., None])


def _item_disagreement(ratings: Ratings, x: FloatArray | None) -> FloatArray:
    """Compute Σ δ/(m − 1) of each item."""
    m = ratings.n_ratings
    if x is None:
        return np.asarray((m**2 - ratings.count_squares) / (m - 1))
    return np.asarray(2 * (m * ratings.item_sums(x**2) - ratings.item_sums(x) ** 2) / (m - 1))


def _expected_disagreement(ratings: Ratings, x: FloatArray | None) -> FloatArray:
    """Compute Σ δ over all pairs of ratings of any items, times the weights of both."""
    if x is None:
        return np.asarray(ratings.total**2 - np.square(ratings.category_weights).sum(axis=-1))
    return np.asarray(2 * ratings.total * _inner(ratings.category_weights, x**2))


def _chance_corrected(r: Ratings, scale: str) -> FloatArray:
    """Compute 1 − D_o/D_e, where pairs by chance are of two different ratings.

    The pairs of any two ratings have a total weight of W², of which those of a rating with itself
    have Σw².
    """
    items = r.multiply_rated_items
    x = _centered_categories(items, scale)
    disagreement = _inner(items.weight, _item_disagreement(items, x))
    return np.asarray(
        1 - disagreement * _other_ratings_weight(items) / _expected_disagreement(items, x)
    )


def _other_ratings_weight(ratings: Ratings) -> Any:
    """Return the weight of the ratings other than one: their number minus 1 for unit weights."""
    return ratings.total - ratings.total_squares / ratings.total


def _krippendorff_derivatives(r: Ratings, all_ratings: Ratings, scale: str) -> FloatArray:
    """Compute the derivative of Krippendorff's α by the weight of each item."""
    items, all_items = r.multiply_rated_items, all_ratings.multiply_rated_items
    x, m, n = _centered_categories(all_items, scale), items.n_ratings, all_items.total
    observed, expected = (
        float(all_items.weight @ _item_disagreement(all_items, x)),
        float(_expected_disagreement(all_items, x)),
    )
    observed_slopes = _item_disagreement(items, x)
    if x is None:
        expected_slopes = 2 * (n * m - items.item_sums(all_items.category_weights))
    else:
        expected_slopes = 2 * (m * (all_items.category_weights @ x**2) + n * items.item_sums(x**2))
    if scale == "ordinal":  # whose ranks move with the ratings
        assert x is not None

        def shift_effects(slope: FloatArray) -> FloatArray:
            """Compute the effect of each item if its ratings shift the positions above them by 1.

            They shift their own positions by a half.
            """
            return items.item_sums(slope[::-1].cumsum()[::-1] - slope / 2)

        n_ratings = all_items.n_ratings
        slope = all_items.category_sums(n_ratings / (n_ratings - 1)) * x
        slope = 4 * (slope - all_items.category_sums(all_items.item_sums(x) / (n_ratings - 1)))
        observed_slopes, expected_slopes = (
            observed_slopes + shift_effects(slope),
            expected_slopes + shift_effects(4 * n * all_items.category_weights * x),
        )
    # An additional item also changes the weight of pairs of a rating with itself.
    other_weight_slopes = m * (1 + (all_items.total_squares / n - items.item_weight) / n)
    other_weight = _other_ratings_weight(all_items)
    return np.asarray(
        -(
            observed_slopes * other_weight
            + observed * other_weight_slopes
            - observed * other_weight * expected_slopes / expected
        )
        / expected
    )


@rater_measure(
    "Krippendorff-alpha",
    aliases=("krippendorff_alpha", "krippendorffs_alpha"),
    range=(-1, 1),
    undefined=_NO_ITEM | _ONE_CATEGORY | _NO_NUMBERS,
    depends_on_class_order=lambda _, parameters: parameters["scale"] == "ordinal",
    reference="Krippendorff 2011",
)
def krippendorff(r: Ratings, scale: str = "nominal") -> FloatArray:
    """Krippendorff's α: 1 − D_o/D_e, agreement corrected for chance.

    D_o is the observed disagreement within items, and D_e the expected disagreement of any two
    ratings. Items may have any number of ratings. The distance of two ratings depends on the
    ``scale``: ``nominal``, ``ordinal`` or ``interval``. It is 1 for perfect agreement and 0 for
    agreement by chance, and ranges from −1 to 1. It is undefined if no item has two ratings, if all
    ratings are of one category, or on the interval scale if ratings are text.
    """
    return _chance_corrected(r, scale)


class _ItemAgreement(NamedTuple):
    """Observed and expected agreement of coefficients with equally weighted items.

    ``expected_slope`` is the derivative of the expected agreement by the proportion of each
    category.
    """

    observed: Any
    expected: Any
    expected_slope: FloatArray

    @property
    def corrected(self) -> FloatArray:
        """Agreement beyond chance, as a proportion."""
        return np.asarray((self.observed - self.expected) / (1 - self.expected))


def _item_agreement(
    r: Ratings, expected_agreement: Callable[[FloatArray], tuple[Any, FloatArray]]
) -> _ItemAgreement:
    """Compute the observed and the expected agreement.

    The observed agreement is the mean over the items with at least two ratings. The proportions of
    the categories, on which the expected agreement is based, are those of all rated items, as in
    Gwet 2014.
    """
    weight = r.weight[..., r.multiply_rated_mask]
    observed = weight @ r.pair_agreement[r.multiply_rated_mask] / weight.sum(axis=-1)
    return _ItemAgreement(observed, *expected_agreement(r.mean_category_proportions))


def _item_mean_derivatives(
    r: Ratings,
    all_ratings: Ratings,
    expected_agreement: Callable[[FloatArray], tuple[Any, FloatArray]],
) -> FloatArray:
    """Compute the derivative of such a coefficient by the weight of each rated item."""
    agreement = _item_agreement(all_ratings, expected_agreement)
    item_agreement, multiply_rated_weight = (
        r.pair_agreement[r.rated_mask],
        float(all_ratings.weight[all_ratings.multiply_rated_mask].sum()),
    )
    observed_slopes = (
        np.where(np.isnan(item_agreement), 0.0, item_agreement - agreement.observed)
        / multiply_rated_weight
    )
    item_slopes = (r.item_sums(agreement.expected_slope) / np.maximum(r.n_ratings, 1))[r.rated_mask]
    expected_slopes = (
        item_slopes - agreement.expected_slope @ all_ratings.mean_category_proportions
    ) / float(all_ratings.weight[all_ratings.rated_mask].sum())
    return np.asarray(
        observed_slopes / (1 - agreement.expected)
        + (agreement.observed - 1) / (1 - agreement.expected) ** 2 * expected_slopes
    )


def _fleiss_chance(proportions: FloatArray) -> tuple[Any, FloatArray]:
    """Compute the probability that two random ratings are equal, and its derivative."""
    return _inner(proportions, proportions), np.asarray(2 * proportions)


def _gwet_chance(proportions: FloatArray) -> tuple[Any, FloatArray]:
    """Compute the expected agreement of Gwet's AC1, and its derivative."""
    n_others = max(proportions.shape[-1] - 1, 1)
    slopes = np.asarray((1 - 2 * proportions) / n_others)
    return _inner(proportions, 1 - proportions) / n_others, slopes


@rater_measure(
    "Fleiss-kappa",
    aliases=("fleiss_kappa",),
    range=(-math.inf, 1),
    undefined=_NO_ITEM
    | _UNEQUAL_RATINGS
    | {"one_category": lambda r, _: np.count_nonzero(r.category_weights, axis=-1) == 1},
    reference="Fleiss 1971; Gwet 2014",
)
def fleiss(r: Ratings) -> FloatArray:
    """Fleiss' κ: agreement beyond chance, (p − p_e)/(1 − p_e) with p_e = Σ π².

    p is the proportion of pairs of ratings of an item that agree, and π the mean proportion of the
    ratings of an item in a category. It is as Krippendorff's α, but pairs by chance may be of one
    rating with itself. All items have the same number m of ratings, so that κ is at least −1/(m −
    1). Items with a single rating count for π alone; with many of these it has no lower bound. It
    is at most 1. It is undefined if no item has two ratings, if items have unequal numbers of
    ratings, or if all ratings are of one category.
    """
    return _item_agreement(r, _fleiss_chance).corrected


@rater_measure(
    "Gwet-AC1",
    aliases=("AC1", "gwet_ac1", "gwets_ac1"),
    range=(-1, 1),
    undefined=_NO_ITEM | {"one_category": lambda r, _: len(r.categories) < 2},
    reference="Gwet 2008; Gwet 2014",
)
def gwet(r: Ratings) -> FloatArray:
    """Gwet's AC1: agreement beyond chance, (p − p_e)/(1 − p_e) with p_e = Σ π(1 − π)/(q − 1).

    p is the mean proportion of the pairs of ratings of an item that agree, q the number of
    categories, and π the mean proportion of the ratings of an item in a category. If nearly all
    ratings are of one category it stays near p, while κ and α go to 0. Categories are those of all
    ratings in the data. Items may have any number of ratings and have equal weight; those with a
    single rating count for π alone. It ranges from −1 to 1. It is undefined if no item has two
    ratings, or if there is only one category.
    """
    return _item_agreement(r, _gwet_chance).corrected


@rater_measure("percent-agreement", range=(0, 1), undefined=_NO_ITEM, reference="Fleiss 1971")
def percent_agreement(r: Ratings) -> FloatArray:
    """Percent agreement: the proportion of pairs of ratings of an item that agree.

    It is not corrected for chance, and each rating counts once. It ranges from 0 to 1 and is
    undefined if no item has two ratings.
    """
    return np.asarray(
        1
        - r.multiply_rated_items.weight
        @ _item_disagreement(r.multiply_rated_items, None)
        / r.multiply_rated_items.total
    )


def _percent_derivatives(r: Ratings, all_ratings: Ratings) -> FloatArray:
    items, all_items = r.multiply_rated_items, all_ratings.multiply_rated_items
    mean_disagreement = (
        float(all_items.weight @ _item_disagreement(all_items, None)) / all_items.total
    )
    return np.asarray(
        (mean_disagreement * items.n_ratings - _item_disagreement(items, None)) / all_items.total
    )


_DERIVATIVES: dict[Callable[..., Any], Callable[..., FloatArray]] = {
    krippendorff: _krippendorff_derivatives,
    fleiss: partial(_item_mean_derivatives, expected_agreement=_fleiss_chance),
    percent_agreement: _percent_derivatives,
    gwet: partial(_item_mean_derivatives, expected_agreement=_gwet_chance),
}
#: Formulas whose proportions of categories include items with a single rating.
_ITEM_MEAN_FORMULAS = (fleiss, gwet)


def counted_item_mask(measure: Measure, r: Ratings) -> npt.NDArray[np.bool_]:
    """Return the mask of the items that count for the value of a measure."""
    return (
        r.rated_mask if measure.definition.formula in _ITEM_MEAN_FORMULAS else r.multiply_rated_mask
    )


def weight_of_items(measure: Measure, r: Ratings) -> FloatArray:
    """Return the weight of each item in the denominator of a measure.

    For a mean over items it is the weight of the item, for a mean over ratings that of its ratings,
    and 0 for items that do not count.
    """
    counted = counted_item_mask(measure, r)
    is_item_mean = measure.definition.formula in _ITEM_MEAN_FORMULAS
    return np.where(counted, r.weight if is_item_mean else r.weight * r.n_ratings, 0.0)


def item_influence(
    measure: Measure, r: Ratings, all_ratings: Ratings | None = None
) -> FloatArray | None:
    """Compute the influence of the counted items on the value of a measure.

    The influence is the derivative by the weight of an item (see :func:`counted_item_mask`) times
    the total weight, so that the weighted mean is 0. It is None for a measure without a derivative
    here. ``all_ratings`` is the statistic of all items, if not ``r``.
    """
    derivative, full_sample = (
        _DERIVATIVES.get(measure.definition.formula),
        r if all_ratings is None else all_ratings,
    )
    if derivative is None or not len(full_sample.multiply_rated_items):
        return None
    weight = full_sample.weight[counted_item_mask(measure, full_sample)]
    with np.errstate(divide="ignore", invalid="ignore"):  # where there is no value
        all_derivatives = derivative(full_sample, full_sample, **measure.parameters)
        derivatives = (
            all_derivatives
            if r is full_sample
            else derivative(r, full_sample, **measure.parameters)
        )
        return np.asarray(
            weight.sum() * (derivatives - np.average(all_derivatives, weights=weight))
        )
