"""Measures of predicted uplift against the outcomes of a randomized experiment.

Rows are targeted in the order of the predicted uplift. Rows of equal scores are targeted together:
a curve is straight between its points before and after them. Without a treated row, or without one
of the control group, among the targeted rows, the mean outcome of that arm counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Any

from calipers.caching import cached
from calipers.lazy_imports import numpy as np
from calipers.measures.registration import measure
from calipers.statistics import FloatArray, UpliftRows
from calipers.statistics.uplift import ArmSums, divide_or_zero

#: Smallest fraction of the rows of a score that counts as targeted; less is rounding error.
_MIN_FRACTION = 1e-9
#: Half of the rows about the last targeted one from which outcomes at the boundary are estimated,
#: as a proportion of the targeted rows, or of the others if these are fewer.
_BOUNDARY_WIDTH = 0.1


# --- Areas ----------------------------------------------------------------------------------------


def uplift_gains(targeted: ArmSums) -> FloatArray:
    """Return the targeted proportion times the uplift in it, for each point of a curve."""
    weight = targeted.weight
    return np.asarray(weight / weight[..., -1:] * targeted.uplift)


def qini_gains(targeted: ArmSums) -> FloatArray:
    """Return the outcomes of targeted treated rows beyond those expected, over all treated."""
    _, control = targeted.means
    gained = targeted.treated_outcome - targeted.treated * np.where(
        targeted.control > 0, control, 0.0
    )
    return divide_or_zero(gained, np.broadcast_to(targeted.treated[..., -1:], np.shape(gained)))


def _area(rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]) -> FloatArray:
    """Return the area under the curve of gains, over the proportion that is targeted."""
    heights = gains(rows.targeted)
    lower = np.concatenate([np.zeros((*heights.shape[:-1], 1)), heights[..., :-1]], axis=-1)
    return np.asarray((rows.sums.weight * (heights + lower)).sum(axis=-1) / (2 * rows.total))


def _suffix_sums(values: FloatArray) -> FloatArray:
    return np.cumsum(values[::-1])[::-1]


def _area_influence(
    batch: UpliftRows, rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]
) -> FloatArray:
    """Return the derivative of an area by the weights of rows, times the total weight.

    The weight of a row adds to the sums at its own score and at all lower ones, so that its effect
    is that of sums from the end of the curve.
    """
    sums, targeted, total = rows.sums.weight, rows.targeted, float(rows.total)
    heights, area = gains(targeted), float(_area(rows, gains))
    base = heights + np.append(0.0, heights[:-1])
    lengths = sums + np.append(sums[1:], 0.0)
    means = targeted.means
    inverse = [
        divide_or_zero(np.ones(len(sums)), arm) for arm in (targeted.treated, targeted.control)
    ]
    if gains is uplift_gains:
        base = base + _suffix_sums(lengths * targeted.uplift) / total
        slopes = [_suffix_sums(lengths * targeted.weight * x) / total for x in inverse]
        offsets = [
            _suffix_sums(lengths * targeted.weight * x * mean) / total
            for x, mean in zip(inverse, means, strict=True)
        ]
        scale, of_treated = 2 * area, 0.0
    else:
        n_treated = float(targeted.treated[-1])
        ratio = targeted.treated * inverse[1]
        slopes = [_suffix_sums(lengths) / n_treated, _suffix_sums(lengths * ratio) / n_treated]
        offsets = [_suffix_sums(lengths * factor * means[1]) / n_treated for factor in (1.0, ratio)]
        scale, of_treated = area, area * total / n_treated
    index, is_treated = rows.score_index(batch.predicted), batch.treatment > 0
    of_arm = np.where(
        is_treated,
        batch.truth * slopes[0][index] - offsets[0][index],
        offsets[1][index] - batch.truth * slopes[1][index],
    )
    return np.asarray((base[index] + of_arm) / 2 - scale - of_treated * is_treated)


def _excess(rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]) -> FloatArray:
    """Return the area between a curve and the line of targeting at random."""
    return np.asarray(_area(rows, gains) - gains(rows.targeted)[..., -1:].sum(axis=-1) / 2)


def _excess_influence(
    batch: UpliftRows, rows: UpliftRows, gains: Callable[[ArmSums], FloatArray]
) -> FloatArray:
    at_random = _area_influence(batch.without_order, rows.without_order, gains)
    return np.asarray(_area_influence(batch, rows, gains) - at_random)


def _signed_outcomes(rows: UpliftRows) -> UpliftRows:
    """Return the rows by their outcome, which counts negative in the control group."""
    scores = np.where(rows.treatment > 0, rows.truth, -rows.truth)
    return cached(rows, "signed", lambda: rows.with_scores(scores))


def _responders(rows: UpliftRows, *, control_first: bool) -> UpliftRows:
    """Return the rows in the order of the best uplift curve of outcomes of 0 and 1.

    Treated responders are first, others of the control group second. Whether responders of the
    control group precede others that are treated depends on which are more.
    """
    is_right = rows.truth == rows.treatment
    scores = 2.0 * is_right + (rows.truth if control_first else rows.treatment)
    return cached(rows, ("responders", control_first), lambda: rows.with_scores(scores))


def _has_control_first(rows: UpliftRows) -> Any:
    """Return whether responders of the control group are more than other treated rows."""
    is_control, responds = rows.treatment == 0, rows.truth == 1
    counts = (
        (rows.weight * mask).sum(axis=-1)
        for mask in (is_control & responds, ~is_control & ~responds)
    )
    n_control_responders, n_other_treated = counts
    return n_control_responders > n_other_treated


def _ratio_influence(
    batch: UpliftRows,
    rows: UpliftRows,
    best: Callable[[UpliftRows], UpliftRows],
    gains: Callable[[ArmSums], FloatArray],
) -> FloatArray:
    """Return the influence of rows on an excess over that of the best order."""
    best_rows = best(rows)
    excess, largest = (float(_excess(ordered, gains)) for ordered in (rows, best_rows))
    own, of_best = (
        _excess_influence(*ordered, gains) for ordered in ((batch, rows), (best(batch), best_rows))
    )
    return np.asarray((own - excess / largest * of_best) / largest)


# --- The targeted rows ----------------------------------------------------------------------------


def _target(rows: UpliftRows, volume: float, strategy: str) -> tuple[FloatArray, FloatArray]:
    """Return the part of the rows of each score that is targeted, treated and control."""

    def fraction(sums: FloatArray, targeted: FloatArray) -> FloatArray:
        reach = volume * targeted[..., -1:] - (targeted - sums)
        share = np.clip(np.divide(reach, sums, out=np.zeros(np.shape(sums)), where=sums > 0), 0, 1)
        return np.where(share < _MIN_FRACTION, 0.0, share)

    sums, targeted = rows.sums, rows.targeted
    if strategy == "overall":
        of_all = fraction(sums.weight, targeted.weight)
        return of_all, of_all
    return fraction(sums.treated, targeted.treated), fraction(sums.control, targeted.control)


def _targeted_arms(rows: UpliftRows, volume: float, strategy: str) -> ArmSums:
    treated, control = (rows.sums.weighted(factors) for factors in _target(rows, volume, strategy))
    return ArmSums(
        treated.treated, control.control, treated.treated_outcome, control.control_outcome
    )


def _boundary(rows: UpliftRows, volume: float, cumulated: FloatArray, sums: FloatArray) -> ArmSums:
    """Return the sums over the rows about the last targeted one."""
    total = cumulated[-1]
    reach, width = volume * total, _BOUNDARY_WIDTH * min(volume, 1 - volume) * total
    near = (cumulated >= reach - width) & (cumulated - sums <= reach + width)
    return rows.sums.weighted(near.astype(np.float64))


def targeted_influence(
    batch: UpliftRows, rows: UpliftRows, volume: float = 0.3, strategy: str = "overall"
) -> FloatArray:
    """Return the influence of rows on the uplift among the targeted ones.

    A targeted row moves the mean of its arm, and every row moves the boundary, whose rows have
    other outcomes than those above. These are estimated from the rows about it.
    """
    fractions = _target(rows, volume, strategy)
    arms = _targeted_arms(rows, volume, strategy)
    index, is_treated = rows.score_index(batch.predicted), batch.treatment > 0
    weights = [float(column[0]) for column in (arms.treated, arms.control)]
    means = [float(column[0]) for column in arms.means]
    inside = [fraction[index] for fraction in fractions]
    own = np.where(
        is_treated,
        inside[0] * (batch.truth - means[0]) / weights[0],
        -inside[1] * (batch.truth - means[1]) / weights[1],
    )
    sums, targeted = rows.sums, rows.targeted
    if strategy == "overall":
        edge = _boundary(rows, volume, targeted.weight, sums.weight)
        n = float(edge.weight[0])
        pairs = zip((edge.treated, edge.control), edge.means, means, weights, (1, -1), strict=True)
        rate = sum(
            sign * float(arm[0]) / n * (float(mean[0]) - above) / weight
            for arm, mean, above, weight, sign in pairs
            if float(arm[0]) > 0
        )
        return np.asarray((own + (volume - inside[0]) * rate) * float(rows.total))
    edges = (
        _boundary(rows, volume, targeted.treated, sums.treated).means[0],
        _boundary(rows, volume, targeted.control, sums.control).means[1],
    )
    rates = [
        (volume - share) * (float(mean[0]) - above) / weight
        for share, mean, above, weight in zip(inside, edges, means, weights, strict=True)
    ]
    return np.asarray((own + np.where(is_treated, rates[0], -rates[1])) * float(rows.total))


def gain_influence(
    batch: UpliftRows, rows: UpliftRows, volume: float, gains: Callable[[ArmSums], FloatArray]
) -> FloatArray:
    """Return the influence of rows on the height of a curve where a proportion is targeted."""
    of_uplift = targeted_influence(batch, rows, volume)
    if gains is uplift_gains:
        return volume * of_uplift
    arms = _targeted_arms(rows, volume, "overall")
    sums, targeted = rows.sums, rows.targeted
    n_treated = float(targeted.treated[-1])
    share, inside = float(arms.treated[0]) / n_treated, _target(rows, volume, "overall")[0]
    edge = _boundary(rows, volume, targeted.weight, sums.weight)
    of_edge = float(edge.treated[0] / edge.weight[0])
    fraction = inside[rows.score_index(batch.predicted)]
    of_share = (batch.treatment * (fraction - share) + (volume - fraction) * of_edge) * (
        float(rows.total) / n_treated
    )
    return np.asarray(share * of_uplift + float(arms.uplift[0]) * of_share)


# --- The measures ---------------------------------------------------------------------------------


def _lacks_arm(rows: UpliftRows, _: Mapping[str, Any]) -> Any:
    """Return whether there is no treated row, or none of the control group."""
    treated = (rows.weight * rows.treatment).sum(axis=-1)
    return ((treated == 0) | (treated == rows.total)) & (rows.total > 0)


def _lacks_targeted_arm(rows: UpliftRows, parameters: Mapping[str, Any]) -> Any:
    if not rows.n_rows:
        return np.zeros(np.shape(rows.total), bool)
    arms = _targeted_arms(rows, **parameters)
    has_arms = (arms.treated > 0) & (arms.control > 0)
    return ~has_arms[..., 0] & ~np.asarray(_lacks_arm(rows, parameters)) & (rows.total > 0)


def _n_not_binary(rows: UpliftRows, _: Mapping[str, Any]) -> Any:
    return (~np.isin(rows.truth, (0, 1)) & (rows.weight > 0)).sum(axis=-1)


def _lacks_gain(largest: Callable[[UpliftRows], FloatArray]) -> Any:
    """Return the condition that no order gains more than the average one."""

    def condition(rows: UpliftRows, parameters: Mapping[str, Any]) -> Any:
        if not rows.n_rows:
            return np.zeros(np.shape(rows.total), bool)
        size = np.abs(rows.truth).max() * _MIN_FRACTION
        return ~(largest(rows) > size) & ~np.asarray(_lacks_arm(rows, parameters))

    return condition


_UNDEFINED = {"no_rows": lambda rows, _: rows.total == 0, "one_arm": _lacks_arm}

uplift_measure = partial(
    measure,
    family="uplift",
    statistic=UpliftRows,
    higher_is_better=True,
    range=(-inf, inf),
    undefined=_UNDEFINED,
    interval="uplift",
)


def _largest_qini(rows: UpliftRows) -> FloatArray:
    return _excess(_signed_outcomes(rows), qini_gains)


def _largest_uplift(rows: UpliftRows) -> FloatArray:
    """Return the largest area between an uplift curve and the line of random targeting."""
    areas = [
        _excess(_responders(rows, control_first=first), uplift_gains) for first in (True, False)
    ]
    return np.where(_has_control_first(rows), *areas)


def _qini_influence(batch: UpliftRows, rows: UpliftRows) -> FloatArray:
    return _ratio_influence(batch, rows, _signed_outcomes, qini_gains)


@uplift_measure(
    "Qini",
    aliases=("qini_auc_score", "Qini-coefficient"),
    no_skill=0.0,
    undefined=_UNDEFINED | {"no_gain": _lacks_gain(_largest_qini)},
    moves=_qini_influence,
    reference="Radcliffe 2007",
)
def qini(rows: UpliftRows) -> FloatArray:
    """Qini coefficient: the area between the Qini curve and the line of targeting at random, over
    that of the best order.

    The Qini curve has, against the proportion of rows that are targeted in the order of the
    predicted uplift, the outcomes of treated rows beyond those expected from the control group,
    R_T − R_C·n_T/n_C. The best order has treated rows by descending outcome, then those of the
    control group by ascending outcome, so that negative effects count. It is 0 for targeting at
    random and 1 for the best order, which no model reaches, as outcomes are not known beforehand;
    it is below 0 if the order is worse than random. It is undefined if there are no rows, if all
    rows or none were treated, or if no order gains anything.
    """
    return np.asarray(_excess(rows, qini_gains) / _largest_qini(rows))


@uplift_measure(
    "Qini-area",
    no_skill=0.0,
    moves=partial(_excess_influence, gains=qini_gains),
)
def qini_area(rows: UpliftRows) -> FloatArray:
    """Area between the Qini curve and the line of targeting at random, in outcomes per row.

    The heights of the curve are outcomes gained per treated row, (R_T − R_C·n_T/n_C)/N_T, and its
    abscissa is the proportion of rows that are targeted. It is 0 for targeting at random, and
    negative for a worse order. It is undefined if there are no rows, or if all rows or none were
    treated.
    """
    return _excess(rows, qini_gains)


@uplift_measure(
    "AUUC",
    moves=partial(_area_influence, gains=uplift_gains),
    reference="Rzepakowski and Jaroszewicz 2012",
)
def area_under_uplift_curve(rows: UpliftRows) -> FloatArray:
    """Area under the uplift curve (AUUC), in outcomes per row.

    The height of the curve is what targeting a proportion of the rows gains per row: this
    proportion times the difference of the mean outcomes of treated and other targeted rows. The
    area is the mean gain over all proportions, and half of the average effect for targeting at
    random. It is undefined if there are no rows, or if all rows or none were treated.
    """
    return _area(rows, uplift_gains)


def _normalized_influence(batch: UpliftRows, rows: UpliftRows) -> FloatArray:
    best = partial(_responders, control_first=bool(_has_control_first(rows)))
    return _ratio_influence(batch, rows, best, uplift_gains)


@uplift_measure(
    "normalized-AUUC",
    aliases=("uplift_auc_score",),
    no_skill=0.0,
    undefined=_UNDEFINED
    | {"outcome_not_binary": _n_not_binary, "no_gain": _lacks_gain(_largest_uplift)},
    moves=_normalized_influence,
    reference="Devriendt, Guns and Verbeke 2020",
)
def normalized_area(rows: UpliftRows) -> FloatArray:
    """Area between the uplift curve and the line of targeting at random, over that of the best
    order of outcomes of 0 and 1.

    The best order has treated rows with the outcome 1 first, then rows of the control group with
    the outcome 0, and the other two kinds of rows last, of which those that are fewer are the last
    ones. It is 0 for targeting at random, and negative for a worse order. It is undefined if there
    are no rows, if all rows or none were treated, if an outcome is neither 0 nor 1, or if no order
    gains anything.
    """
    return np.asarray(_excess(rows, uplift_gains) / _largest_uplift(rows))


@uplift_measure(
    "uplift",
    aliases=("uplift_at_k",),
    suffix_parameter="volume",
    undefined=_UNDEFINED | {"one_arm_targeted": _lacks_targeted_arm},
    moves=targeted_influence,
)
def uplift(rows: UpliftRows, volume: float = 0.3, strategy: str = "overall") -> FloatArray:
    """Uplift among the rows with the highest predictions: the difference of the mean outcomes of
    treated rows and of those of the control group.

    ``uplift@0.3`` is that of the 30% of the rows with the highest predicted uplift, or of each arm
    with the ``strategy`` ``"by-group"``. Of rows of equal predictions at the boundary each counts
    in part. ``uplift@1`` is the average effect of the treatment. It is undefined if there are no
    rows, or if all targeted rows or none were treated.
    """
    return _targeted_arms(rows, volume, strategy).uplift[..., 0]
