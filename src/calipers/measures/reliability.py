"""Reliability of ratings that are numbers, from an analysis of variance of items and raters.

Of k raters of n items, MSR is the mean square of the items, MSC that of the raters, MSE that of the
residuals of both, and MSW that within items, of raters and residuals together. Only items that all
raters rated count. With unequal weights of the items, n is their effective number, (Σw)²/Σw².
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from statistics import NormalDist
from typing import Any

from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, RaterMoments

moment_measure = partial(measure, family="reliability", statistic=RaterMoments)

_DEFINED = {
    "too_few_complete_items": lambda m, _: m.effective_items < 2 * (1 - 1e-9),
    "no_distances": lambda m, _: (m.weight > 0) & np.isnan(m.mean),
}


def _has_variance(variance: Callable[[RaterMoments], FloatArray]) -> Mapping[str, Any]:
    """Return the conditions of a coefficient that divides by an estimated variance."""
    return _DEFINED | {
        "no_rating_variance": lambda m, _: (
            (m.effective_items > 1) & (variance(m) <= 1e-24 * np.square(m.mean))
        )
    }


def _rater_variance(m: RaterMoments) -> FloatArray:
    """Compute (MSC − MSE)/n, the variance of the raters beyond that of the residuals."""
    return m.rater_variance - m.residual_mean_square / m.effective_items


#: A variance of the items of at most this proportion of the mean squares is rounding error.
_ROUNDING = 1e-13


def _item_variance(m: RaterMoments) -> FloatArray:
    """Compute MSR − MSE, the variance of the items beyond that of the residuals, k times.

    It is exactly 0 where one of two raters is constant, which rounding would hide.
    """
    variance = m.item_mean_square - m.residual_mean_square
    return np.where(np.abs(variance) <= _ROUNDING * m.item_mean_square, 0.0, variance)


def _within_mean_square(m: RaterMoments) -> FloatArray:
    """Compute MSW, the mean square within items."""
    return m.residual_mean_square + _rater_variance(m)


def _one_way_variance(m: RaterMoments) -> FloatArray:
    return m.item_mean_square + (m.n_raters - 1) * _within_mean_square(m)


def _consistency_variance(m: RaterMoments) -> FloatArray:
    return m.item_mean_square + (m.n_raters - 1) * m.residual_mean_square


def _agreement_variance(m: RaterMoments) -> FloatArray:
    return _consistency_variance(m) + m.n_raters * _rater_variance(m)


def _item_mean_square(m: RaterMoments) -> FloatArray:
    return m.item_mean_square


def _mean_agreement_variance(m: RaterMoments) -> FloatArray:
    return m.item_mean_square + _rater_variance(m)


coefficient = partial(
    moment_measure, higher_is_better=True, perfect=1.0, range=(-inf, 1), interval="correlation"
)
mean_coefficient = partial(coefficient, interval="fit")


@coefficient(
    "ICC1",
    aliases=("ICC-1",),
    range=(-1, 1),
    undefined=_has_variance(_one_way_variance),
    reference="Shrout and Fleiss 1979; McGraw and Wong 1996",
)
def one_way_icc(m: RaterMoments) -> FloatArray:
    """ICC1, the intraclass correlation of single ratings if each item has raters of its own.

    It is ICC(1,1) of Shrout and Fleiss: (MSR − MSW)/(MSR + (k − 1)MSW), the proportion of the
    variance of a rating that is due to the item, where differences between raters are error. It
    ranges from −1/(k − 1) to 1. It is undefined if fewer than two items have all k ratings, if
    ratings are text, or if they do not vary.
    """
    return (m.item_mean_square - _within_mean_square(m)) / _one_way_variance(m)


@coefficient(
    "ICC2",
    aliases=("ICC-A1",),
    undefined=_has_variance(_agreement_variance),
    reference="Shrout and Fleiss 1979; McGraw and Wong 1996",
)
def agreement_icc(m: RaterMoments) -> FloatArray:
    """ICC2, the intraclass correlation of single ratings, for absolute agreement.

    It is ICC(2,1) of Shrout and Fleiss and ICC(A,1) of McGraw and Wong: (MSR − MSE)/(MSR + (k −
    1)MSE + k(MSC − MSE)/n), the proportion of the variance of a rating that is due to the item,
    where raters who are higher or lower than others on average are error as well. It is at most 1.
    It is undefined if fewer than two items have all k ratings, if ratings are text, or if they do
    not vary.
    """
    return _item_variance(m) / _agreement_variance(m)


@coefficient(
    "ICC3",
    aliases=("ICC-C1",),
    range=(-1, 1),
    undefined=_has_variance(_consistency_variance),
    reference="Shrout and Fleiss 1979; McGraw and Wong 1996",
)
def consistency_icc(m: RaterMoments) -> FloatArray:
    """ICC3, the intraclass correlation of single ratings, for consistency.

    It is ICC(3,1) of Shrout and Fleiss and ICC(C,1) of McGraw and Wong: (MSR − MSE)/(MSR + (k −
    1)MSE). Constant differences between raters do not count. It ranges from −1/(k − 1) to 1. It is
    undefined if fewer than two items have all k ratings, if ratings are text, or if items and
    residuals do not vary.
    """
    return _item_variance(m) / _consistency_variance(m)


@mean_coefficient(
    "ICC1k",
    aliases=("ICC-1k",),
    undefined=_has_variance(_item_mean_square),
    reference="Shrout and Fleiss 1979; McGraw and Wong 1996",
)
def one_way_mean_icc(m: RaterMoments) -> FloatArray:
    """ICC1k, the intraclass correlation of mean ratings if each item has raters of its own.

    It is ICC(1,k) of Shrout and Fleiss, (MSR − MSW)/MSR: the reliability of the mean of k ratings,
    where ICC1 is that of one. It is at most 1. It is undefined if fewer than two items have all k
    ratings, if ratings are text, or if the means of the items do not vary.
    """
    return 1 - _within_mean_square(m) / m.item_mean_square


@mean_coefficient(
    "ICC2k",
    aliases=("ICC-Ak",),
    undefined=_has_variance(_mean_agreement_variance),
    reference="Shrout and Fleiss 1979; McGraw and Wong 1996",
)
def agreement_mean_icc(m: RaterMoments) -> FloatArray:
    """ICC2k, the intraclass correlation of mean ratings, for absolute agreement.

    It is ICC(2,k) of Shrout and Fleiss and ICC(A,k) of McGraw and Wong: (MSR − MSE)/(MSR + (MSC −
    MSE)/n), the reliability of the mean of k ratings, where ICC2 is that of one. It is at most 1.
    It is undefined if fewer than two items have all k ratings, if ratings are text, or if the
    estimated variance of mean ratings is not positive.
    """
    return _item_variance(m) / _mean_agreement_variance(m)


@mean_coefficient(
    "ICC3k",
    aliases=("ICC-Ck", "Cronbach-alpha", "cronbach_alpha", "cronbachs_alpha"),
    undefined=_has_variance(_item_mean_square),
    reference="Cronbach 1951; Shrout and Fleiss 1979; McGraw and Wong 1996",
)
def consistency_mean_icc(m: RaterMoments) -> FloatArray:
    """ICC3k, the intraclass correlation of mean ratings, for consistency; it is Cronbach's α.

    It is ICC(3,k) of Shrout and Fleiss and ICC(C,k) of McGraw and Wong: 1 − MSE/MSR, which is
    Cronbach's α, k/(k − 1)·(1 − the sum of the variances of the raters/the variance of their sum).
    It is the reliability of the mean of k ratings, or of the sum of k questions, where ICC3 is that
    of one. It is at most 1. It is undefined if fewer than two items have all k ratings, if ratings
    are text, or if the means of the items do not vary.
    """
    return _item_variance(m) / m.item_mean_square


_difference_measure = partial(
    moment_measure,
    range=(-inf, inf),
    higher_is_better=None,
    interval="limit",
    undefined={"not_two_raters": lambda m, _: np.full(m.weight.shape, m.n_raters != 2)} | _DEFINED,
    has_units=True,
    reference="Bland and Altman 1986",
)


def _limit_of_agreement(m: RaterMoments, n_deviations: float) -> FloatArray:
    """Compute the mean difference of two raters plus a number of standard deviations."""
    mean = m.deviations[..., 0] - m.deviations[..., -1]
    return np.asarray(mean + n_deviations * np.sqrt(2 * m.residual_mean_square))


def _normal_quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


@_difference_measure("Bland-Altman-bias", interval="bias", aliases=("bland_altman_bias",))
def bland_altman_bias(m: RaterMoments) -> FloatArray:
    """Bias of two raters by Bland and Altman: the mean difference, first minus second.

    It is undefined if there are not two raters, if fewer than two items have both ratings, or if
    ratings are text.
    """
    return _limit_of_agreement(m, 0.0)


@_difference_measure("Bland-Altman-lower", aliases=("bland_altman_lower",))
def bland_altman_lower(m: RaterMoments, level: float = 0.95) -> FloatArray:
    """Lower limit of agreement of two raters by Bland and Altman: d̄ − z·s.

    d̄ is the mean and s the standard deviation of the differences, first minus second, and z the
    quantile of the normal distribution: 1.96 for a ``level`` of 0.95. If differences are normal,
    this proportion of them lies between both limits. It is undefined if there are not two raters,
    if fewer than two items have both ratings, or if ratings are text.
    """
    return _limit_of_agreement(m, -_normal_quantile(level))


@_difference_measure("Bland-Altman-upper", aliases=("bland_altman_upper",))
def bland_altman_upper(m: RaterMoments, level: float = 0.95) -> FloatArray:
    """Upper limit of agreement of two raters by Bland and Altman: d̄ + z·s.

    d̄ is the mean and s the standard deviation of the differences, first minus second, and z the
    quantile of the normal distribution: 1.96 for a ``level`` of 0.95. If differences are normal,
    this proportion of them lies between both limits. It is undefined if there are not two raters,
    if fewer than two items have both ratings, or if ratings are text.
    """
    return _limit_of_agreement(m, _normal_quantile(level))
