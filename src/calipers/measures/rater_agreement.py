"""Inter-rater agreement on the same items: formulas over the ratings per category of each item.

The coefficients compare the disagreement of pairs of ratings of one item, D_o = Σ δ/(m − 1)/n over
the ordered pairs within items with m ratings, n in all, with that of pairs of any two ratings, D_e.
On the nominal scale δ is 1 for different categories. On the ordinal scale it is the square of the
number of ratings between both categories, including half of the ratings of each. On the interval
scale it is the squared distance, and on the ratio scale the square of the distance over the sum.

Coefficients with equally weighted items may count a disagreement in part. Its weight δ is then at
most 1, for the two categories that are farthest apart, and depends on the positions of both: their
numbers, or their ranks if they are text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, IntArray, Ratings

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
_NO_RATIOS = {
    "no_ratios": lambda r, parameters: (
        "ratio" in (parameters.get("scale"), parameters.get("weighting")) and not _has_ratios(r)
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


def _has_ratios(ratings: Ratings) -> bool:
    """Return whether the categories are numbers from 0 up, so that they have ratios."""
    return bool((ratings.values >= 0).all())


def _inner(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return Σ ab over the last axis."""
    return np.asarray(np.einsum("...i,...i->...", a, b))


class _PairDistance(NamedTuple):
    """Distances that are summed over pairs of categories: a function of the indices of both."""

    function: Callable[[IntArray, IntArray], FloatArray]

    def item_sums(self, ratings: Ratings) -> FloatArray:
        """Return Σ δ over the ordered pairs of ratings of each item."""
        item, n_distinct = ratings.entry_index, np.diff(ratings.starts)
        sums = np.zeros(len(ratings))
        for offset in range(int(n_distinct.max(initial=0))):
            first = np.flatnonzero(n_distinct[item] > offset)
            second = ratings.starts[item[first]] + offset
            distances = self.function(ratings.category[first], ratings.category[second])
            products = ratings.count[first] * ratings.count[second] * distances
            sums += np.bincount(item[first], products, len(ratings))
        return sums

    def category_sums(self, category_values: FloatArray) -> FloatArray:
        """Return Σ δ·value over all categories, for each category; in blocks, to save memory."""
        n_categories = category_values.shape[-1]
        columns, step = np.arange(n_categories), max(1, _MAX_BLOCK_ELEMENTS // n_categories)
        blocks = [
            category_values @ self.function(columns[:, None], columns[None, begin : begin + step])
            for begin in range(0, n_categories, step)
        ]
        return np.concatenate(blocks, axis=-1)


#: Number of distances of categories that are in memory at a time.
_MAX_BLOCK_ELEMENTS = 1_000_000


def _disagreement_weights(ratings: Ratings, weighting: str) -> _PairDistance | None:
    """Return the weights of disagreements, from 0 to 1; None if all have the weight 1.

    >>> r = Ratings.from_codes(np.array([[0, 1], [1, 2]]), "abc", np.array([1.0, 2.0, 4.0]))
    >>> distance = _disagreement_weights(r, "linear")
    >>> distance.category_sums(np.array([1.0, 0.0, 0.0])).round(3).tolist()
    [0.0, 0.333, 1.0]
    """
    n_categories = len(ratings.categories)
    is_undefined = n_categories < 2 or (weighting == "ratio" and not _has_ratios(ratings))
    if weighting == "identity" or is_undefined:
        return None
    x = np.arange(1.0, n_categories + 1) if np.isnan(ratings.values).any() else ratings.values
    low, high = float(x.min(initial=math.inf)), float(x.max(initial=-math.inf))
    scale = (high - low) / (high + low) if weighting == "ratio" else high - low

    def weights(first: IntArray, second: IntArray) -> FloatArray:
        if weighting == "ordinal":  # pairs of categories from one to the other, of all pairs
            n_steps = np.abs(first - second)
            return np.asarray(n_steps * (n_steps + 1) / (n_categories * (n_categories - 1)))
        distances = np.abs(x[first] - x[second])
        if weighting == "ratio":
            sums = x[first] + x[second]
            distances = distances / np.where(sums > 0, sums, 1.0)
        exponent = {"linear": 1.0, "radical": 0.5}.get(weighting, 2.0)
        return np.asarray((distances / scale) ** exponent)

    return _PairDistance(weights)


def _category_distance(ratings: Ratings, scale: str) -> FloatArray | _PairDistance | None:
    """Return the distance of categories on a scale.

    Positions are of scales with squared distances. They are relative to the mean of all ratings, so
    that sums of squares keep their precision. The nominal scale has None. Distances on the ratio
    scale are those of pairs; that they are divided by the largest has no effect.
    """
    if scale == "nominal":
        return None
    if scale == "ratio":
        return _disagreement_weights(ratings, "ratio")
    x = ratings.category_midranks if scale == "ordinal" else ratings.values
    mean = _inner(ratings.category_weights, x) / ratings.total
    return np.asarray(x - mean[..., None])


def _item_disagreement(ratings: Ratings, x: FloatArray | _PairDistance | None) -> FloatArray:
    """Compute Σ δ/(m − 1) of each item."""
    m = ratings.n_ratings
    if isinstance(x, _PairDistance):
        return np.asarray(x.item_sums(ratings) / (m - 1))
    if x is None:
        return np.asarray((m**2 - ratings.count_squares) / (m - 1))
    return np.asarray(2 * (m * ratings.item_sums(x**2) - ratings.item_sums(x) ** 2) / (m - 1))


def _expected_disagreement(ratings: Ratings, x: FloatArray | _PairDistance | None) -> FloatArray:
    """Compute Σ δ over all pairs of ratings of any items, times the weights of both."""
    if isinstance(x, _PairDistance):
        return _inner(ratings.category_weights, x.category_sums(ratings.category_weights))
    if x is None:
        return np.asarray(ratings.total**2 - np.square(ratings.category_weights).sum(axis=-1))
    return np.asarray(2 * ratings.total * _inner(ratings.category_weights, x**2))


def _chance_corrected(r: Ratings, scale: str) -> FloatArray:
    """Compute 1 − D_o/D_e, where pairs by chance are of two different ratings.

    The pairs of any two ratings have a total weight of W², of which those of a rating with itself
    have Σw².
    """
    items = r.multiply_rated_items
    x = _category_distance(items, scale)
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
    x, m, n = _category_distance(all_items, scale), items.n_ratings, all_items.total
    observed, expected = (
        float(all_items.weight @ _item_disagreement(all_items, x)),
        float(_expected_disagreement(all_items, x)),
    )
    observed_slopes = _item_disagreement(items, x)
    if x is None:
        expected_slopes = 2 * (n * m - items.item_sums(all_items.category_weights))
    elif isinstance(x, _PairDistance):
        expected_slopes = 2 * items.item_sums(x.category_sums(all_items.category_weights))
    else:
        expected_slopes = 2 * (m * (all_items.category_weights @ x**2) + n * items.item_sums(x**2))
    if scale == "ordinal":  # whose ranks move with the ratings
        assert isinstance(x, np.ndarray)

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
    undefined=_NO_ITEM | _ONE_CATEGORY | _NO_NUMBERS | _NO_RATIOS,
    depends_on_class_order=lambda _, parameters: parameters["scale"] == "ordinal",
    reference="Krippendorff 2011",
)
def krippendorff(r: Ratings, scale: str = "nominal") -> FloatArray:
    """Krippendorff's α: 1 − D_o/D_e, agreement corrected for chance.

    D_o is the observed disagreement within items, and D_e the expected disagreement of any two
    ratings. Items may have any number of ratings. The distance of two ratings depends on the
    ``scale``: ``nominal``, ``ordinal``, ``interval`` or ``ratio``. It is 1 for perfect agreement
    and 0 for agreement by chance, and ranges from −1 to 1. It is undefined if no item has two
    ratings, if all ratings are of one category, on the interval scale if ratings are text, or on
    the ratio scale if they are text or negative.
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


#: Expected agreement and its derivative, from the proportions of the categories and the weights of
#: disagreements.
_ExpectedAgreement = Callable[[FloatArray, "_PairDistance | None"], "tuple[Any, FloatArray]"]


def _pair_agreement(r: Ratings, distance: _PairDistance | None) -> FloatArray:
    """Compute the mean agreement of the pairs of ratings of each item; NaN with fewer than two."""
    if distance is None:
        return r.pair_agreement
    m = r.n_ratings
    return np.asarray(1 - distance.item_sums(r) / np.where(m > 1, m * (m - 1), np.nan))


def _item_agreement(
    r: Ratings, expected_agreement: _ExpectedAgreement, weighting: str = "identity"
) -> _ItemAgreement:
    """Compute the observed and the expected agreement.

    The observed agreement is the mean over the items with at least two ratings. The proportions of
    the categories, on which the expected agreement is based, are those of all rated items, as in
    Gwet 2014.
    """
    weight, distance = r.weight[..., r.multiply_rated_mask], _disagreement_weights(r, weighting)
    agreement = _pair_agreement(r, distance)[r.multiply_rated_mask]
    return _ItemAgreement(
        weight @ agreement / weight.sum(axis=-1),
        *expected_agreement(r.mean_category_proportions, distance),
    )


def _item_mean_derivatives(
    r: Ratings,
    all_ratings: Ratings,
    weighting: str = "identity",
    *,
    expected_agreement: _ExpectedAgreement,
) -> FloatArray:
    """Compute the derivative of such a coefficient by the weight of each rated item."""
    agreement = _item_agreement(all_ratings, expected_agreement, weighting)
    item_agreement, multiply_rated_weight = (
        _pair_agreement(r, _disagreement_weights(r, weighting))[r.rated_mask],
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


def _fleiss_chance(
    proportions: FloatArray, distance: _PairDistance | None
) -> tuple[Any, FloatArray]:
    """Compute the agreement of two random ratings, and its derivative."""
    if distance is None:
        return _inner(proportions, proportions), np.asarray(2 * proportions)
    sums = distance.category_sums(proportions)
    return 1 - _inner(proportions, sums), np.asarray(-2 * sums)


def _uniform_agreement(n_categories: int, distance: _PairDistance | None) -> float:
    """Compute the agreement of ratings by chance, if every category is as likely."""
    if not n_categories or distance is None:
        return 1 / max(n_categories, 1)
    return 1 - float(distance.category_sums(np.ones(n_categories)).sum()) / n_categories**2


def _gwet_chance(proportions: FloatArray, distance: _PairDistance | None) -> tuple[Any, FloatArray]:
    """Compute the expected agreement of Gwet's AC1 and AC2, and its derivative."""
    n_categories = proportions.shape[-1]
    factor = _uniform_agreement(n_categories, distance) * n_categories / max(n_categories - 1, 1)
    return factor * _inner(proportions, 1 - proportions), factor * (1 - 2 * proportions)


def _uniform_chance(
    proportions: FloatArray, distance: _PairDistance | None
) -> tuple[Any, FloatArray]:
    """Compute the expected agreement of Brennan and Prediger, which is the same for any ratings."""
    return _uniform_agreement(proportions.shape[-1], distance), np.zeros_like(proportions)


def _is_weighted(_: Any, parameters: Mapping[str, Any]) -> bool:
    """Return whether disagreements have weights, by the order of the categories."""
    return bool(parameters["weighting"] != "identity")


@rater_measure(
    "Fleiss-kappa",
    aliases=("fleiss_kappa", "Scott-pi", "scotts_pi"),
    range=(-math.inf, 1),
    undefined=_NO_ITEM
    | _UNEQUAL_RATINGS
    | {"one_category": lambda r, _: np.count_nonzero(r.category_weights, axis=-1) == 1}
    | _NO_RATIOS,
    reference="Scott 1955; Fleiss 1971; Gwet 2014",
    depends_on_class_order=_is_weighted,
)
def fleiss(r: Ratings, weighting: str = "identity") -> FloatArray:
    """Fleiss' κ: agreement beyond chance, (p − p_e)/(1 − p_e) with p_e = Σ π².

    p is the proportion of pairs of ratings of an item that agree, and π the mean proportion of the
    ratings of an item in a category. Of two raters it is Scott's π. It is as Krippendorff's α, but
    pairs by chance may be of one rating with itself. With a ``weighting`` of disagreements p is the
    mean agreement 1 − δ of these pairs, and p_e = 1 − Σ δ·π·π (see AC2). All items have the same
    number m of ratings, so that κ is at least −1/(m − 1). Items with a single rating count for π
    alone; with many of these it has no lower bound. It is at most 1. It is undefined if no item has
    two ratings, if items have unequal numbers of ratings, or if all ratings are of one category.
    """
    return _item_agreement(r, _fleiss_chance, weighting).corrected


_TWO_CATEGORIES = _NO_ITEM | {"one_category": lambda r, _: len(r.categories) < 2}


@rater_measure(
    "Gwet-AC1",
    aliases=("AC1", "gwet_ac1", "gwets_ac1"),
    range=(-1, 1),
    undefined=_TWO_CATEGORIES,
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


@rater_measure(
    "Gwet-AC2",
    aliases=("AC2", "gwet_ac2", "gwets_ac2"),
    range=(-math.inf, 1),
    undefined=_TWO_CATEGORIES | _NO_RATIOS,
    reference="Gwet 2014",
    depends_on_class_order=_is_weighted,
)
def weighted_gwet(r: Ratings, weighting: str = "quadratic") -> FloatArray:
    """Gwet's AC2: AC1 with a weight for each disagreement, by the distance of both categories.

    The agreement of two ratings is 1 − δ, of which p is the mean over pairs of ratings of an item,
    then over items. By chance it is p_e = t·q/(q − 1)·Σ π(1 − π), where t is the mean of 1 − δ over
    all q² pairs of categories; AC2 is (p − p_e)/(1 − p_e). Of categories at x and y, d apart of at
    most D, δ is d/D for the ``weighting`` ``linear``, (d/D)² for ``quadratic``, √(d/D) for
    ``radical``, and 1 for ``identity``, which is AC1. For ``ratio`` d is |x − y|/(x + y), and δ =
    (d/D)². For ``ordinal`` it is the proportion of the pairs of categories that lie between both,
    these included. x and y are numbers, or the ranks of text in the order of the categories. It is
    at most 1. It is undefined if no item has two ratings, if there is only one category, or for
    ``ratio`` if ratings are text or negative.
    """
    return _item_agreement(r, _gwet_chance, weighting).corrected


@rater_measure(
    "Brennan-Prediger",
    aliases=("brennan_prediger", "Bennett-S", "PABAK", "free-marginal-kappa"),
    range=(-math.inf, 1),
    undefined=_TWO_CATEGORIES | _NO_RATIOS,
    reference="Bennett, Alpert and Goldstein 1954; Brennan and Prediger 1981; Gwet 2014",
    depends_on_class_order=_is_weighted,
)
def brennan_prediger(r: Ratings, weighting: str = "identity") -> FloatArray:
    """Brennan–Prediger coefficient: (p − 1/q)/(1 − 1/q), if all q categories are as likely.

    p is the mean proportion of the pairs of ratings of an item that agree. It is Bennett's S, and
    of two categories the prevalence-adjusted bias-adjusted kappa (PABAK), 2p − 1. Categories are
    those of all ratings in the data. With a ``weighting`` of disagreements (see AC2) p is the mean
    of 1 − δ over these pairs, and 1/q its mean over all q² pairs of categories. It is at most 1,
    and without weights at least −1/(q − 1). It is undefined if no item has two ratings, if there is
    only one category, or for ``ratio`` if ratings are text or negative.
    """
    return _item_agreement(r, _uniform_chance, weighting).corrected


def _brennan_prediger_derivatives(r: Ratings, all_ratings: Ratings, weighting: str) -> FloatArray:
    """Compute the derivative by the weight of each item with two ratings or more."""
    derivatives = _item_mean_derivatives(
        r, all_ratings, weighting, expected_agreement=_uniform_chance
    )
    return derivatives[r.multiply_rated_mask[r.rated_mask]]


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
    weighted_gwet: partial(_item_mean_derivatives, expected_agreement=_gwet_chance),
    brennan_prediger: _brennan_prediger_derivatives,
}
#: Formulas whose proportions of categories include items with a single rating.
_SINGLE_RATING_FORMULAS = (fleiss, gwet, weighted_gwet)
#: Formulas in which items have equal weight, whatever the number of their ratings.
_ITEM_MEAN_FORMULAS = (*_SINGLE_RATING_FORMULAS, brennan_prediger)


def lowest_value(measure: Measure, r: Ratings) -> float:
    """Return a finite lower bound of a measure of these categories.

    Fleiss' κ has none if items have a single rating. It is then the value of ratings that never
    agree, with the observed category proportions, but at most −1; without such items it is −1, as
    weights of disagreements are metrics or squares of these. Other coefficients are lowest if
    nothing agrees and all categories are as frequent.
    """
    low = measure.definition.range[0]
    if math.isfinite(low):
        return low
    distance = _disagreement_weights(r, measure.parameters["weighting"])
    if measure.definition.formula is fleiss:
        chance = float(_fleiss_chance(r.mean_category_proportions, distance)[0])
        return (
            min(-1.0, -chance / (1 - chance)) if (r.n_ratings == 1).any() and chance < 1 else -1.0
        )
    chance = _uniform_agreement(len(r.categories), distance)
    return -chance / (1 - chance) if chance < 1 else -1.0


def counted_item_mask(measure: Measure, r: Ratings) -> npt.NDArray[np.bool_]:
    """Return the mask of the items that count for the value of a measure."""
    counts_single = measure.definition.formula in _SINGLE_RATING_FORMULAS
    return r.rated_mask if counts_single else r.multiply_rated_mask


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
